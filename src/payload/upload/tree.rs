//! The files of a folder that a build could take as input.
//!
//! Promise: every regular file below it but git's own and what git ignores; without a repository, every
//! one. Ignored files are build output and local settings: they enter a package only where a client's
//! rules name them, which is for the client's own room to read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
        return walk(dir, &|_, _| true);
    }
    let mut files = BTreeSet::new();
    for path in nul_separated(&listed.stdout) {
        let path = dir.join(Path::new(OsStr::from_bytes(&path)));
        if path.is_dir() {
            // A repository within: its files are packed like any other.
            files.extend(walk(&path, &|_, _| true)?);
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

/// Regular files below `dir`; folders are entered when `enters(path, name)` says so. `.git` never is,
/// links are not followed.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn walk(dir: &Path, enters: &dyn Fn(&Path, &OsStr) -> bool) -> Result<BTreeSet<PathBuf>, Fault> {
    walk_all(dir, &|path, name| name != ".git" && enters(path, name))
}

/// The same, git's own folder not excepted.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn walk_all(dir: &Path, enters: &dyn Fn(&Path, &OsStr) -> bool) -> Result<BTreeSet<PathBuf>, Fault> {
    let fault = |path: &Path, error: &io::Error| Fault::File { path: shown(path), what: error.to_string().into() };
    let mut files = BTreeSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| fault(&folder, &error))? {
            let entry = entry.map_err(|error| fault(&folder, &error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| fault(&path, &error))?;
            if kind.is_file() {
                files.insert(path);
            } else if kind.is_dir() && enters(&path, &entry.file_name()) {
                folders.push(path);
            }
        }
    }
    Ok(files)
}
