//! Files as the line leaves them: what it writes itself is known, what its programs may change is not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use bstr::BString;

use crate::command::plan::{Content, WrittenFile};
use crate::command::simple::{FileSeen, PutIn, ShellState};
use crate::command::words::glob::Places;
use crate::world::{World, open_plain};

/// Largest file that is read as code or pasted into a word, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// What the line does to files.
#[derive(Debug, Default)]
pub struct Disk {
    written: BTreeMap<PathBuf, WrittenFile>,
    /// How many writes there were.
    writes: u64,
    /// Files whose bytes have been edited in place.
    edited: BTreeSet<PathBuf>,
    /// Folders that it makes.
    folders: BTreeSet<PathBuf>,
    /// Whether something may have changed any file.
    pub anything: bool,
    /// What goes into the files that are edited in place.
    pub put_in: PutIn,
}

/// The content of a file at one point of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// Its bytes.
    Known(Vec<u8>),
    /// It is not there, and the line makes none.
    Absent,
    /// Its bytes are not known, and why.
    Unknown(&'static str),
}

impl Disk {
    /// Notes that a file has been written or removed; where that is not certain, what was there before
    /// may still be.
    pub fn write(&mut self, path: PathBuf, content: Content, certain: bool) {
        let content = match content {
            Content::Bytes(bytes) if bytes.len() as u64 > 4 * MAX_FILE_BYTES => Content::Unknown,
            content => content,
        };
        self.edited.remove(&path);
        self.writes += 1;
        let (mut contents, mut or_as_on_disk) = (Vec::new(), !certain);
        if !certain && let Some(before) = self.written.get(&path) {
            contents.extend(before.contents.iter().filter(|other| **other != content).cloned());
            or_as_on_disk = before.or_as_on_disk;
        }
        contents.push(content);
        let written = WrittenFile { path: path.clone(), contents, or_as_on_disk, serial: self.writes };
        self.written.insert(path, written);
    }

    /// Notes that a folder has been made.
    pub fn make_folder(&mut self, path: PathBuf) {
        self.folders.insert(path);
    }

    /// Whether the line has made this folder, or one below it.
    pub fn has_made(&self, path: &Path) -> bool {
        self.folders.iter().any(|made| made.starts_with(path))
    }

    /// Whether the line has written a file whose name ends so.
    pub fn has_written_kind(&self, endings: &[&str]) -> bool {
        self.written.keys().chain(&self.edited).any(|path| {
            let name = path.as_os_str().as_encoded_bytes();
            endings.iter().any(|ending| name.ends_with(ending.as_bytes()))
        })
    }

    /// What a file holds once these bytes are added to it. What it held before may not be known to be as the disk
    /// shows it, when a program ran that may change files.
    pub fn appended(&self, path: &Path, mut bytes: Vec<u8>) -> Content {
        let before = match self.text(path) {
            FileText::Known(before) => return Content::Bytes([before, bytes].concat()),
            FileText::Absent => return Content::Bytes(bytes),
            FileText::Unknown(_) => self.written.get(path).map(WrittenFile::certain),
        };
        let plain = || path.metadata().map_or(true, |metadata| metadata.is_file());
        match before {
            Some(Some(Content::Appended(before))) => {
                bytes.splice(0..0, before.iter().copied());
                Content::Appended(bytes)
            }
            None if plain() && !self.went_with_its_folder(path) => Content::Appended(bytes),
            Some(_) | None => Content::Unknown,
        }
    }

    /// The text and the files that a file of the line is made of, where its bytes are not known.
    pub fn made_of(&self, path: &Path) -> Option<(Vec<u8>, Vec<PathBuf>)> {
        match self.written.get(path)?.certain()? {
            Content::MadeOf { text, files } if !self.edited.contains(path) => Some((text.clone(), files.clone())),
            Content::MadeOf { .. }
            | Content::Bytes(_)
            | Content::Appended(_)
            | Content::CopyOf(_)
            | Content::Unknown
            | Content::Gone => None,
        }
    }

    /// Notes that a file has been edited in place.
    pub fn edit(&mut self, path: PathBuf) {
        self.edited.insert(path);
    }

    /// What the line has done to a file.
    pub fn seen(&self, path: &Path) -> FileSeen {
        if self.edited.contains(path) {
            return FileSeen::Changed("edited by this line".into());
        }
        if self.went_with_its_folder(path) {
            return FileSeen::Changed("removed by this line, with its folder".into());
        }
        match self.written.get(path).map(WrittenFile::certain) {
            Some(Some(Content::Bytes(bytes))) => FileSeen::Written(bytes.clone()),
            Some(_) => FileSeen::Changed("written by this line".into()),
            None if self.anything => FileSeen::Changed("an earlier program of this line may have changed it".into()),
            None => FileSeen::AsOnDisk,
        }
    }

    /// A file's bytes as the line would find them.
    pub fn text(&self, path: &Path) -> FileText {
        if self.edited.contains(path) {
            return FileText::Unknown("edited earlier on this line");
        }
        match self.written.get(path).map(WrittenFile::certain) {
            Some(Some(Content::Bytes(bytes))) => return FileText::Known(bytes.clone()),
            Some(_) => return FileText::Unknown("written earlier on this line"),
            None => {}
        }
        if self.went_with_its_folder(path) {
            return FileText::Unknown("removed earlier on this line, with its folder");
        }
        // A pipe or a device would block or never end.
        let Ok(file) = open_plain(path) else {
            let absent = path.symlink_metadata().is_err();
            return if absent && !self.anything {
                FileText::Absent
            } else {
                FileText::Unknown("cannot be read, or is no regular file")
            };
        };
        if self.anything {
            return FileText::Unknown("an earlier program of this line may have changed it");
        }
        let mut bytes = Vec::new();
        match file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes) {
            Ok(length) if length as u64 <= MAX_FILE_BYTES => FileText::Known(bytes),
            Ok(_) => FileText::Unknown("larger than 256 KiB"),
            Err(_) => FileText::Unknown("cannot be read"),
        }
    }

    /// Whether a path has been removed, or may hold anything else now.
    fn is_gone(&self, path: &Path) -> bool {
        self.written.get(path).is_some_and(|file| {
            !matches!(file.certain(), Some(Content::Bytes(_) | Content::Appended(_) | Content::MadeOf { .. }))
        })
    }

    /// Whether the line has removed a folder that the path lies in, or replaced it.
    fn went_with_its_folder(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.is_gone(above))
    }

    /// Whether the line has written any file below a directory, so that listings of it may differ.
    pub fn changes_below(&self, dir: &Path) -> bool {
        let gone = self.is_gone(dir) || self.went_with_its_folder(dir);
        self.anything || gone || self.edited.iter().chain(self.written.keys()).any(|path| path.starts_with(dir))
    }

    /// Whether the line names no file that it writes or edits.
    pub fn names_nothing(&self) -> bool {
        self.written.is_empty() && self.edited.is_empty()
    }

    /// Whether a file that the line writes or edits is such a one.
    pub fn names_any(&self, is_such: impl Fn(&Path) -> bool) -> bool {
        self.written.keys().chain(&self.edited).any(|path| is_such(path))
    }

    fn all_edited(&self) -> Vec<PathBuf> {
        self.edited.iter().cloned().collect()
    }

    fn all_written(&self) -> Vec<WrittenFile> {
        self.written.values().cloned().collect()
    }
}

impl Places for Disk {
    fn names(&self, folder: &Path, mut names: Vec<BString>) -> Option<Vec<BString>> {
        if self.is_gone(folder) || self.went_with_its_folder(folder) {
            return None;
        }
        let below =
            |path: &Path| path.strip_prefix(folder).ok().map(Path::to_owned).filter(|below| below != Path::new(""));
        for file in self.written.values() {
            let Some(way) = below(&file.path) else { continue };
            let mut parts = way.components();
            let name = match parts.next()? {
                Component::Normal(name) => BString::from(name.as_encoded_bytes()),
                _ => return None,
            };
            let is_here = parts.next().is_none();
            match (is_here && file.contents.contains(&Content::Gone), file.or_as_on_disk) {
                (true, false) if file.contents.len() == 1 => names.retain(|known| *known != name),
                (false, false) if !names.contains(&name) => names.push(name),
                (false, _) if names.contains(&name) => {}
                (true | false, _) => return None,
            }
        }
        for made in self.folders.iter().filter_map(|made| below(made)) {
            let Some(Component::Normal(name)) = made.components().next() else { return None };
            let name = BString::from(name.as_encoded_bytes());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(names)
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir() || self.has_made(path) || self.names_any(|own| own != path && own.starts_with(path))
    }

    fn is_there(&self, path: &Path) -> bool {
        let is_gone = self.written.get(path).is_some_and(|file| file.certain() == Some(&Content::Gone));
        !is_gone && (path.symlink_metadata().is_ok() || self.written.contains_key(path) || self.is_folder(path))
    }
}

/// The walk's knowledge, as the meaning of commands may ask for it.
pub(super) struct View<'a> {
    pub world: &'a World,
    pub disk: &'a Disk,
}

impl ShellState for View<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn file(&self, path: &Path) -> FileSeen {
        self.disk.seen(path)
    }

    fn written(&self) -> Vec<WrittenFile> {
        self.disk.all_written()
    }

    fn edited(&self) -> Vec<PathBuf> {
        self.disk.all_edited()
    }

    fn put_in(&self) -> PutIn {
        self.disk.put_in.clone()
    }

    fn is_folder(&self, path: &Path) -> bool {
        Places::is_folder(self.disk, path)
    }

    fn anything_may_have_changed(&self) -> bool {
        self.disk.anything
    }
}
