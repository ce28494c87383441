//! Where git says that a repository's objects are.
//!
//! One child of git answers for discovery, linked work trees, `GIT_DIR`, `GIT_OBJECT_DIRECTORY`,
//! ownership and object format, so that none of it is guessed here.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use gix::hash::ObjectId;

use super::hash::Format;
use super::pack::unreadable;
use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;
use crate::world::answers::Location;
use crate::world::git::GitFault;

/// How deep alternates may be nested before git ignores them (git 2.47 `link_alt_odb_entries`).
const ALTERNATES_DEPTH: usize = 5;

/// Where things are.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) format: Format,
    /// Object directories in the order in which git asks them: its own, then the alternates.
    pub(super) objects: Vec<PathBuf>,
    /// Commits whose parents are cut off.
    pub(super) shallow: HashSet<ObjectId>,
}

impl Places {
    /// Asks git.
    pub(super) fn find(world: &World, context: &GitContext) -> Result<Self, Fault> {
        let found = ask(world, context)?;
        refuse_grafts(&found.grafts)?;
        if let Some(named) = context.env.get(OsStr::new("GIT_GRAFT_FILE")) {
            refuse_grafts(&context.dir.join(named))?;
        }
        let shallow = match context.env.get(OsStr::new("GIT_SHALLOW_FILE")) {
            Some(named) => context.dir.join(named),
            None => found.shallow,
        };
        Ok(Self {
            git_dir: found.git_dir,
            common_dir: found.common_dir,
            format: Format::from_name(&found.format)?,
            objects: object_dirs(found.objects, context)?,
            shallow: ids_in(&shallow)?,
        })
    }
}

fn ask(world: &World, context: &GitContext) -> Result<Location, Fault> {
    match world.location(context) {
        Ok(Some(location)) => Ok(location),
        Ok(None) => {
            Err(Fault::Repository("git's answer has not a line for each question; a path with a line break?".into()))
        }
        Err(GitFault::Failed { message, .. }) => Err(Fault::Repository(SafeText::quoted(message.as_bytes(), 300))),
        Err(other @ (GitFault::NoGit | GitFault::Child(_))) => Err(Fault::from(other)),
    }
}

/// git honours grafts while it walks, and sends what they add; the walk here does not.
fn refuse_grafts(path: &Path) -> Result<(), Fault> {
    let Some(text) = read_if_there(path)? else { return Ok(()) };
    if text.lines().any(|line| !line.trim().is_empty() && !line.starts_with(b"#")) {
        return Err(Fault::Store("grafts change the parents of its commits".into()));
    }
    Ok(())
}

fn ids_in(path: &Path) -> Result<HashSet<ObjectId>, Fault> {
    let Some(text) = read_if_there(path)? else { return Ok(HashSet::new()) };
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| ObjectId::from_hex(line).map_err(|_| Fault::Store("its shallow file cannot be read".into())))
        .collect()
}

/// A file's bytes; `None` when there is none. `/dev/null` reads as empty.
fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Fault> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The object directory, those that the environment adds, and the alternates of each.
fn object_dirs(own: PathBuf, context: &GitContext) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Found::default();
    found.add(own, 0)?;
    if let Some(listed) = context.env.get(OsStr::new("GIT_ALTERNATE_OBJECT_DIRECTORIES")) {
        let listed = <[u8]>::from_os_str(listed).ok_or_else(|| Fault::Store("its alternates cannot be read".into()))?;
        for entry in entries(listed, if cfg!(windows) { b';' } else { b':' })? {
            // git takes relative ones from the top of the work tree. Asking more places than git
            // does adds copies to compare, nothing else.
            for base in context.dir.ancestors() {
                found.add(base.join(&entry), 1)?;
                if entry.is_absolute() {
                    break;
                }
            }
        }
    }
    Ok(found.dirs)
}

#[derive(Default)]
struct Found {
    dirs: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
}

impl Found {
    fn add(&mut self, dir: PathBuf, depth: usize) -> Result<(), Fault> {
        // A directory that is not there is passed over, as git does with a warning; what it would
        // have held is then missing.
        let Ok(real) = dir.canonicalize() else { return Ok(()) };
        if !self.seen.insert(real.clone()) {
            return Ok(());
        }
        self.dirs.push(dir);
        if depth > ALTERNATES_DEPTH {
            return Ok(());
        }
        let Some(listed) = read_if_there(&real.join("info").join("alternates"))? else { return Ok(()) };
        for entry in entries(&listed, b'\n')? {
            self.add(real.join(entry), depth + 1)?;
        }
        Ok(())
    }
}

/// Paths in a list, of which those that start with a double quote are written as in C.
fn entries(list: &[u8], separator: u8) -> Result<Vec<PathBuf>, Fault> {
    let as_lines: Vec<u8> = list.iter().map(|byte| if *byte == separator { b'\n' } else { *byte }).collect();
    gix::odb::alternate::parse(&as_lines)
        .map_err(|error| Fault::Store(SafeText::new(&format!("its alternates cannot be read: {error}"))))
}
