//! Files that the line itself writes, copies, moves or removes before it stages them.
//!
//! Promise: after [`Stage::lay_written`] every path of the work tree that the line has changed so far is laid
//! with what it will hold, as staging would convert it; what a branch of the line decides is laid with
//! every content that it may have. Copies are read from where they come from.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::command::plan::{Content, WrittenFile};
use crate::payload::Fault;
use crate::payload::upload::walk;
use crate::text::SafeText;

use super::site::below;
use super::stage::{Laid, Stage, nul_separated};

/// The most files of a copied folder that are laid one by one; of a larger one only the bytes are read.
const FILES_OF_A_FOLDER: usize = 2000;

/// What a path may hold besides what is laid.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// Contents, in the order in which the line could leave them.
    pub(super) contents: Vec<Laid>,
    /// Or what the disk holds.
    pub(super) or_as_on_disk: bool,
}

impl Stage<'_> {
    /// Lays the files that the line has written since this was last done.
    ///
    /// # Errors
    /// When a copied folder cannot be listed, or the scratch objects cannot be written.
    pub fn lay_written(&mut self, written: &[WrittenFile]) -> Result<(), Fault> {
        let until = self.laid_until;
        let mut new: Vec<&WrittenFile> = written.iter().filter(|file| Some(file.serial) > until).collect();
        new.sort_by_key(|file| file.serial);
        for file in new {
            self.laid_until = self.laid_until.max(Some(file.serial));
            self.written.insert(file.path.clone(), file.clone());
            let Some(path) = below(&self.top, &file.path) else { continue };
            if !path.as_os_str().is_empty() {
                self.lay_one(file, &path)?;
            }
        }
        Ok(())
    }

    fn lay_one(&mut self, file: &WrittenFile, path: &Path) -> Result<(), Fault> {
        let name = BString::from(path.as_os_str().as_bytes());
        self.others.remove(&name);
        let Some((last, before)) = file.contents.split_last() else { return Ok(()) };
        let mut others = Others { contents: Vec::new(), or_as_on_disk: file.or_as_on_disk };
        for content in before {
            others.contents.extend(self.content(content, path, &name, false)?);
        }
        match self.content(last, path, &name, file.or_as_on_disk)? {
            Some(laid) => {
                self.laid.insert(name.clone(), laid);
            }
            None => {
                self.laid.remove(&name);
            }
        }
        if !others.contents.is_empty() || others.or_as_on_disk {
            self.others.insert(name, others);
        }
        Ok(())
    }

    /// What is laid for a content; `None` for a folder, whose files are laid by themselves.
    fn content(&mut self, content: &Content, path: &Path, name: &BString, maybe: bool) -> Result<Option<Laid>, Fault> {
        match content {
            Content::Bytes(bytes) => Ok(Some(Laid::Blob(self.hash(bytes.clone(), name)?))),
            Content::Appended(bytes) => match before_appending(&self.top.join(path)) {
                Some(before) => Ok(Some(Laid::Blob(self.hash([before.as_slice(), bytes].concat(), name)?))),
                None => Ok(Some(Laid::Unknown)),
            },
            Content::MadeOf { text, files } => {
                self.exact = false;
                self.notes.push("a file that the line makes of others is read in those".into());
                self.files.extend(files.iter().filter(|file| file.is_file()).cloned());
                Ok(Some(Laid::Blob(self.hash(text.clone(), name)?)))
            }
            Content::Unknown => Ok(Some(Laid::Unknown)),
            Content::Gone => {
                self.gone_below(name, maybe)?;
                self.nested_no_more(path)?;
                Ok(Some(Laid::Gone))
            }
            Content::CopyOf(source) if source.is_dir() => {
                self.copied_folder(source, path)?;
                Ok(None)
            }
            Content::CopyOf(source) => self.copied_file(source, name).map(Some),
        }
    }

    /// What lies below a folder that is gone: tracked files, and others that would be staged.
    fn gone_below(&mut self, folder: &BString, maybe: bool) -> Result<(), Fault> {
        let prefix = [folder.as_bytes(), b"/"].concat();
        let laid: Vec<BString> = self.laid.keys().filter(|path| path.starts_with(&prefix)).cloned().collect();
        let pathspec = [b":(top,literal)".as_slice(), folder].concat();
        let args = ["ls-files", "-z", "-c", "-o", "--exclude-standard", "--"].map(OsString::from);
        let listed = self.git(args.into_iter().chain([os(&pathspec)])).stdout()?;
        let below = nul_separated(&listed).into_iter().filter(|path| path.starts_with(&prefix));
        for path in below.chain(laid).collect::<Vec<_>>() {
            if maybe {
                let before = self.laid.get(&path).cloned();
                let others = self.others.entry(path.clone()).or_default();
                others.or_as_on_disk |= before.is_none();
                others.contents.extend(before);
            }
            self.laid.insert(path, Laid::Gone);
        }
        Ok(())
    }

    fn copied_file(&mut self, source: &Path, name: &BString) -> Result<Laid, Fault> {
        if !source.is_file() {
            return Ok(Laid::Unknown);
        }
        let mut option = OsString::from("--path=");
        option.push(name.to_os_str_lossy());
        let args = [OsString::from("hash-object"), "-w".into(), option, "--".into(), source.into()];
        let made = self.git(args).stdout()?;
        Ok(Laid::Blob(made.trim().to_str_lossy().into_owned()))
    }

    /// The files of a folder of the disk, below another name. Those that staging could convert are staged one by
    /// one, as they would be at their new place; the others hold their bytes as they are.
    pub(super) fn copied_folder(&mut self, source: &Path, to: &Path) -> Result<(), Fault> {
        let found: Vec<PathBuf> = walk(source)?.into_iter().collect();
        let plain = found.iter().all(|path| !path.as_os_str().as_bytes().contains(&b'\n'));
        self.exact = false;
        if found.len() > FILES_OF_A_FOLDER || !plain {
            self.notes.push("a folder that is copied is read whole, where it lies".into());
            self.files.extend(found);
            return Ok(());
        }
        let named = found.iter().filter_map(|path| {
            let name = to.join(path.strip_prefix(source).ok()?);
            Some((path, BString::from(name.into_os_string().into_vec())))
        });
        let named: Vec<(&PathBuf, BString)> = named.collect();
        let filtered = self.filtered(&named)?;
        let (mut as_it_is, mut blobs) = (Vec::new(), Vec::new());
        for (path, name) in named {
            if filtered.contains(&name) || has_line_ends(path)? {
                blobs.push((self.copied_file(path, &name)?, name));
            } else {
                as_it_is.push((path, name));
            }
        }
        let list: Vec<u8> =
            as_it_is.iter().flat_map(|(path, _)| [path.as_os_str().as_bytes(), b"\n"].concat()).collect();
        if !list.is_empty() {
            let made = self.git(["hash-object", "-w", "--no-filters", "--stdin-paths"]).input(list).stdout()?;
            let made: Vec<&[u8]> = made.lines().collect();
            if made.len() != as_it_is.len() {
                return Err(Fault::Plumbing("git hash-object did not answer for each file".into()));
            }
            let made = made.iter().map(|oid| Laid::Blob(oid.to_str_lossy().into_owned()));
            blobs.extend(made.zip(as_it_is.into_iter().map(|(_, name)| name)));
        }
        for (laid, name) in blobs {
            self.others.remove(&name);
            self.laid.insert(name, laid);
        }
        Ok(())
    }

    /// Which of the names have a filter or an encoding.
    fn filtered(&self, named: &[(&PathBuf, BString)]) -> Result<BTreeSet<BString>, Fault> {
        let list: Vec<u8> = named.iter().flat_map(|(_, name)| name.iter().copied().chain([0])).collect();
        if list.is_empty() {
            return Ok(BTreeSet::new());
        }
        let args = ["check-attr", "-z", "--stdin", "filter", "working-tree-encoding"];
        let listed = self.git(args).input(list).stdout()?;
        let mut fields = listed.split(|byte| *byte == 0);
        let mut found = BTreeSet::new();
        while let (Some(name), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
            if value != b"unspecified" && value != b"unset" {
                found.insert(BString::from(name));
            }
        }
        Ok(found)
    }
}

/// Whether a file holds what end-of-line rules or `ident` would change.
fn has_line_ends(path: &Path) -> Result<bool, Fault> {
    let bytes = fs::read(path).map_err(|error| Fault::File {
        path: SafeText::quoted(path.as_os_str().as_bytes(), 200),
        what: error.to_string().into(),
    })?;
    Ok(bytes.contains_str("\r\n") || bytes.contains_str("$Id"))
}

/// A file as the line leaves it: its bytes where they are known for certain, else why they are not.
pub(super) enum AsLeft {
    /// The line leaves it as it is on disk.
    OnDisk,
    /// These texts, one of which it will hold.
    Texts(Vec<Vec<u8>>),
    /// Nobody knows.
    Unknown,
}

/// What a file that is read as a whole (a message, a list) may hold.
pub(super) fn as_left(written: &[WrittenFile], is_it: impl Fn(&Path) -> bool) -> AsLeft {
    let Some(file) = written.iter().rev().find(|file| is_it(&file.path)) else { return AsLeft::OnDisk };
    let mut texts = Vec::new();
    if file.or_as_on_disk {
        match fs::read(&file.path) {
            Ok(bytes) => texts.push(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return AsLeft::Unknown,
        }
    }
    for content in &file.contents {
        match content {
            Content::Bytes(bytes) => texts.push(bytes.clone()),
            Content::Appended(bytes) => match before_appending(&file.path) {
                Some(before) => texts.push([before.as_slice(), bytes].concat()),
                None => return AsLeft::Unknown,
            },
            Content::CopyOf(source) => match fs::read(source) {
                Ok(bytes) => texts.push(bytes),
                Err(_) => return AsLeft::Unknown,
            },
            Content::MadeOf { text, files } => {
                texts.push(text.clone());
                for file in files {
                    match fs::read(file) {
                        Ok(bytes) => texts.push(bytes),
                        Err(_) => return AsLeft::Unknown,
                    }
                }
            }
            Content::Gone => {}
            Content::Unknown => return AsLeft::Unknown,
        }
    }
    AsLeft::Texts(texts)
}

/// What a file holds that bytes are added to: nothing where there is none; `None` where it cannot be read.
pub(super) fn before_appending(path: &Path) -> Option<Vec<u8>> {
    match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}

fn os(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}
