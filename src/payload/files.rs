//! Files as they are on disk, and standard input.
//!
//! Promise: every regular file below the named paths is an item, with the size that the file system
//! tells; a file that changes, shrinks or grows while it is read is a fault, not a short read.
//! Symbolic links below a directory are not followed (they could lead anywhere, and round); one that
//! is named is. `.git` folders are git's own and are left to the git payloads; a note says so.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use bstr::BString;

use crate::text::SafeText;
use crate::world::open_plain;

use super::objects::{Format, Hasher};
use super::source::Sink;
use super::{Content, Destination, Elsewhere, Fault, Item, ItemKind, ObjectId, Part, Payload, Reader, Source};

/// Files up to this size are handed over whole; larger ones are streamed. In bytes.
const WHOLE_BYTES: u64 = 8 << 20;

/// Standard input up to this size is kept in memory; more goes to an unlinked temporary file.
const INPUT_IN_MEMORY_BYTES: usize = 8 << 20;

/// The payload of the named files and directories; paths in it are as named, joined with what is
/// found below them. `base` is the directory that relative ones start from.
///
/// # Errors
/// When a path does not exist or a directory cannot be listed.
pub fn payload(base: &Path, paths: &[PathBuf]) -> Result<Payload, Fault> {
    let mut found = Walk::default();
    for path in paths {
        found.named(base, path)?;
    }
    let part = Part { items: found.items, source: Box::new(Files { base: base.to_owned() }) };
    let mut notes = Vec::new();
    if found.git_folders > 0 {
        notes.push(SafeText::new(&format!(
            "{} .git folder(s) left out; `tyran scan-push` reads what git would send",
            found.git_folders
        )));
    }
    if found.links > 0 {
        notes.push(SafeText::new(&format!("{} symbolic link(s) not followed", found.links)));
    }
    if found.special > 0 {
        notes.push(SafeText::new(&format!("{} socket(s), pipe(s) or device(s) left out", found.special)));
    }
    let url = paths
        .iter()
        .map(|path| SafeText::quoted(path.as_os_str().as_bytes(), 200).to_string())
        .collect::<Vec<_>>()
        .join(" ");
    Ok(Payload {
        parts: vec![part],
        destinations: vec![Destination { url: url.into(), refs: Vec::new() }],
        notes,
        unseen: Vec::new(),
        sides: Vec::new(),
        replaces: Vec::new(),
        exact: true,
    })
}

/// Chosen files alone: an upload's, a pasted one. Each must be a regular file.
///
/// # Errors
/// When one does not exist or is not a regular file.
pub fn part(files: &[PathBuf]) -> Result<Part, Fault> {
    let mut items = Vec::new();
    for file in files {
        let metadata = fs::metadata(file).map_err(|error| fault(file, &error))?;
        if !metadata.is_file() {
            return Err(Fault::File { path: shown(file), what: "it is not a regular file".into() });
        }
        items.push(item(file, metadata.len()));
    }
    Ok(Part { items, source: Box::new(Files { base: PathBuf::from("/") }) })
}

/// The item of a regular file, with the id that its bytes have as a blob: they are read for it once
/// more than for the scan.
///
/// # Errors
/// When it cannot be read, or changes while it is.
pub(super) fn identified(path: &Path, name: BString, format: Format) -> Result<Item, Fault> {
    let fault = |error: io::Error| fault(path, &error);
    let mut file = open_plain(path).map_err(fault)?;
    let size = file.metadata().map_err(fault)?.len();
    let mut hasher = format.hasher(gix::objs::Kind::Blob, size);
    let mut buffer = vec![0; 1 << 17];
    let mut read_bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(fault)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        read_bytes += read as u64;
        hasher.update(bytes);
    }
    if read_bytes != size {
        return Err(changed(path));
    }
    Ok(Item {
        kind: ItemKind::File,
        oid: Some(hasher.id()),
        size,
        path: Some(name),
        commit: None,
        elsewhere: Elsewhere::Nowhere,
    })
}

/// Where files below a directory are read whose items a caller lists itself, by paths from there.
pub fn below(base: &Path) -> Box<dyn Source> {
    Box::new(Files { base: base.to_owned() })
}

/// The payload of standard input. A regular file is read in place; anything else is taken in first,
/// so that its size is known before an engine reads it.
///
/// # Errors
/// When it cannot be read, or not be kept.
pub fn standard_input() -> Result<Payload, Fault> {
    let broken = |error: io::Error| Fault::File { path: "standard input".into(), what: error.to_string().into() };
    let (kept, size) = in_place().map_or_else(taken_in, Ok).map_err(broken)?;
    let item = Item { kind: ItemKind::File, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
    let part = Part { items: vec![item], source: Box::new(Input { kept: Mutex::new(kept) }) };
    Ok(Payload {
        parts: vec![part],
        destinations: vec![Destination { url: "standard input".into(), refs: Vec::new() }],
        notes: Vec::new(),
        unseen: Vec::new(),
        sides: Vec::new(),
        replaces: Vec::new(),
        exact: true,
    })
}

#[derive(Default)]
struct Walk {
    items: Vec<Item>,
    git_folders: usize,
    links: usize,
    special: usize,
}

impl Walk {
    /// A path that was named: a link is followed here, and only here. `./` in it names nothing, and
    /// would make other fingerprints of the same file's findings.
    fn named(&mut self, base: &Path, path: &Path) -> Result<(), Fault> {
        let path: &Path = &path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        let metadata = fs::metadata(base.join(path)).map_err(|error| fault(path, &error))?;
        if metadata.is_dir() {
            return self.below(base, path);
        }
        if metadata.is_file() {
            self.items.push(item(path, metadata.len()));
        } else {
            return Err(Fault::File { path: shown(path), what: "it is neither a file nor a directory".into() });
        }
        Ok(())
    }

    /// Every file below a directory, in the order of names, without recursion: depth is the
    /// adversary's to choose.
    fn below(&mut self, base: &Path, top: &Path) -> Result<(), Fault> {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            let mut entries = fs::read_dir(base.join(&folder))
                .and_then(Iterator::collect::<io::Result<Vec<_>>>)
                .map_err(|error| fault(&folder, &error))?;
            entries.sort_by_key(fs::DirEntry::file_name);
            let mut inner = Vec::new();
            for entry in entries {
                let path = folder.join(entry.file_name());
                let kind = entry.file_type().map_err(|error| fault(&path, &error))?;
                if kind.is_dir() {
                    if entry.file_name() == ".git" {
                        self.git_folders += 1;
                    } else {
                        inner.push(path);
                    }
                } else if kind.is_file() {
                    let metadata = entry.metadata().map_err(|error| fault(&path, &error))?;
                    self.items.push(item(&path, metadata.len()));
                } else if kind.is_symlink() {
                    self.links += 1;
                } else {
                    self.special += 1;
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        Ok(())
    }
}

fn item(path: &Path, size: u64) -> Item {
    Item {
        kind: ItemKind::File,
        oid: None,
        size,
        path: Some(BString::from(path.as_os_str().as_bytes())),
        commit: None,
        elsewhere: Elsewhere::Nowhere,
    }
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_bytes(), 200)
}

fn fault(path: &Path, error: &io::Error) -> Fault {
    Fault::File { path: shown(path), what: error.to_string().into() }
}

fn changed(path: &Path) -> Fault {
    Fault::File { path: shown(path), what: "it changed while it was read".into() }
}

/// Files below a directory.
#[derive(Debug)]
struct Files {
    base: PathBuf,
}

impl Source for Files {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(FileReader { base: &self.base, buffer: Vec::new() }))
    }
}

struct FileReader<'a> {
    base: &'a Path,
    buffer: Vec<u8>,
}

impl Reader for FileReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let path = item.path.as_ref().map(|path| Path::new(std::ffi::OsStr::from_bytes(path))).unwrap_or(Path::new(""));
        let mut file = File::open(self.base.join(path)).map_err(|error| fault(path, &error))?;
        let identity = item.oid.and_then(|id| Some((id, Format::of(&id)?)));
        if item.size > WHOLE_BYTES {
            let Some((id, format)) = identity else { return sink(Content::Stream(&mut file)) };
            let hasher = Some(format.hasher(gix::objs::Kind::Blob, item.size));
            return sink(Content::Stream(&mut Rehashed { file, hasher, id }));
        }
        self.buffer.clear();
        // One byte more than promised, so that a file that grew is noticed by the count.
        file.take(item.size + 1).read_to_end(&mut self.buffer).map_err(|error| fault(path, &error))?;
        if identity.is_some_and(|(id, format)| !format.matches(&id, gix::objs::Kind::Blob, &self.buffer)) {
            return Err(changed(path));
        }
        sink(Content::Whole(&self.buffer))
    }
}

/// A file whose id was told in the manifest: other bytes must not be remembered under it, so its last
/// read fails when they are not the same.
struct Rehashed {
    file: File,
    hasher: Option<Hasher>,
    id: ObjectId,
}

impl Read for Rehashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(buffer.get(..read).unwrap_or_default());
        }
        if read == 0 && !buffer.is_empty() && self.hasher.take().is_some_and(|hasher| !hasher.is(&self.id)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it changed while it was read"));
        }
        Ok(read)
    }
}

/// Standard input as a regular file, and its size from where it stands.
fn in_place() -> Option<(Kept, u64)> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let start = file.stream_position().ok()?;
    // Files of the kernel say that they are empty, and are not.
    let size = metadata.len().checked_sub(start).filter(|size| *size > 0)?;
    Some((Kept::File(file, start), size))
}

/// Standard input, copied.
fn taken_in() -> io::Result<(Kept, u64)> {
    let mut copy = tempfile::SpooledTempFile::new(INPUT_IN_MEMORY_BYTES);
    let size = io::copy(&mut io::stdin().lock(), &mut copy)?;
    copy.rewind()?;
    Ok((Kept::Copy(copy), size))
}

/// What is read again for each engine.
#[derive(Debug)]
enum Kept {
    Copy(tempfile::SpooledTempFile),
    /// And where it begins.
    File(File, u64),
}

/// Standard input.
#[derive(Debug)]
struct Input {
    kept: Mutex<Kept>,
}

impl Source for Input {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(InputReader { kept: &self.kept }))
    }
}

struct InputReader<'a> {
    kept: &'a Mutex<Kept>,
}

impl Reader for InputReader<'_> {
    fn read(&mut self, _item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let broken = |error: io::Error| Fault::File { path: "standard input".into(), what: error.to_string().into() };
        match &mut *kept {
            Kept::Copy(copy) => {
                copy.rewind().map_err(broken)?;
                sink(Content::Stream(copy))
            }
            Kept::File(file, start) => {
                file.seek(io::SeekFrom::Start(*start)).map_err(broken)?;
                sink(Content::Stream(file))
            }
        }
    }
}
