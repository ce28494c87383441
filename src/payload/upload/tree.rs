//! The files of a folder that a build could take as input.
//!
//! Promise: every regular file below it but git's own and what git ignores, and what links that git does
//! not ignore lead to; without a repository, every one. Ignored files are build output and local settings: they enter a package only where a client's
//! rules name them, which is for the client's own room to read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::payload::commit::stage::nul_separated;
use crate::world::World;

use super::shown;

/// Files below `dir` that git tracks, or would with `git add`; all of them where there is no repository.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn inputs(world: &World, dir: &Path) -> Result<BTreeSet<PathBuf>, Fault> {
    let git = GitContext { dir: dir.to_owned(), env: world.env.clone(), globals: Vec::new() };
    let listed = world.git(&git, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).run()?;
    if !listed.status.success() {
        return walk_through(dir, &|_, name| name != ".git");
    }
    let mut files = BTreeSet::new();
    for path in nul_separated(&listed.stdout) {
        let path = dir.join(Path::new(OsStr::from_bytes(&path)));
        if path.is_symlink() && path.is_dir() {
            files.extend(walk_through(&path, &|_, _| true)?);
        } else if path.is_dir() {
            // A repository within: its files are packed like any other.
            files.extend(walk_through(&path, &|_, name| name != ".git")?);
        } else if path.is_file() {
            files.insert(path);
        }
    }
    Ok(files)
}

/// Whether git tracks a file.
///
/// # Errors
/// When git cannot be run.
pub(super) fn is_tracked(world: &World, dir: &Path, name: &str) -> Result<bool, Fault> {
    let git = GitContext { dir: dir.to_owned(), env: world.env.clone(), globals: Vec::new() };
    Ok(world.git(&git, ["ls-files", "--error-unmatch", "--", name]).run()?.status.success())
}

/// Whether git would leave a file out of `git add`, whether it is there or not.
///
/// # Errors
/// When git cannot be run.
pub(super) fn is_ignored(world: &World, dir: &Path, path: &Path) -> Result<bool, Fault> {
    let git = GitContext { dir: dir.to_owned(), env: world.env.clone(), globals: Vec::new() };
    let words = [OsStr::new("check-ignore"), OsStr::new("--quiet"), OsStr::new("--"), path.as_os_str()];
    Ok(world.git(&git, words).run()?.status.success())
}

/// Regular files below `dir`; folders are entered when `enters(path, name)` says so. `.git` never is,
/// links are not followed.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn walk(dir: &Path, enters: &dyn Fn(&Path, &OsStr) -> bool) -> Result<BTreeSet<PathBuf>, Fault> {
    walk_all(dir, Links::Left, &|path, name| name != ".git" && enters(path, name))
}

/// The same, git's own folder not excepted and links followed: clients that pack what a link leads to
/// name it as if it lay in the link's place. A link that leads back to a folder around it is not entered.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn walk_through(dir: &Path, enters: &dyn Fn(&Path, &OsStr) -> bool) -> Result<BTreeSet<PathBuf>, Fault> {
    walk_all(dir, Links::Followed, enters)
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    Left,
    Followed,
}

/// A folder's place on its file system.
type Place = (u64, u64);

fn walk_all(dir: &Path, links: Links, enters: &dyn Fn(&Path, &OsStr) -> bool) -> Result<BTreeSet<PathBuf>, Fault> {
    let fault = |path: &Path, error: &io::Error| Fault::File { path: shown(path), what: error.to_string().into() };
    let mut files = BTreeSet::new();
    let mut folders: Vec<(PathBuf, Vec<Place>)> = vec![(dir.to_owned(), Vec::new())];
    while let Some((folder, mut around)) = folders.pop() {
        if links == Links::Followed {
            let place = fs::metadata(&folder).map(|found| (found.dev(), found.ino()));
            let place = place.map_err(|error| fault(&folder, &error))?;
            if around.contains(&place) {
                continue;
            }
            around.push(place);
        }
        for entry in fs::read_dir(&folder).map_err(|error| fault(&folder, &error))? {
            let entry = entry.map_err(|error| fault(&folder, &error))?;
            let path = entry.path();
            let mut kind = entry.file_type().map_err(|error| fault(&path, &error))?;
            if kind.is_symlink() && links == Links::Followed {
                kind = match fs::metadata(&path) {
                    Ok(found) => found.file_type(),
                    // It leads nowhere: there is nothing to be packed.
                    Err(error) if error.kind() == ErrorKind::NotFound || is_loop(&error) => continue,
                    Err(error) => return Err(fault(&path, &error)),
                };
            }
            if kind.is_file() {
                files.insert(path);
            } else if kind.is_dir() && enters(&path, &entry.file_name()) {
                folders.push((path, around.clone()));
            }
        }
    }
    Ok(files)
}

/// A link that leads to itself.
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error().map(Errno::from_raw) == Some(Errno::ELOOP)
}
