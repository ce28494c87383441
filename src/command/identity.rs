//! Which program a command really runs, whatever it is called.
//!
//! Promise: a copy of git, or a link to it, is git under any name; a name is what it says only where the
//! system, its package manager or the host's own PATH put the program; a git that is not the one in
//! use is said to be another.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::guarded::is_own_program;
use super::meaning::{Meaning, Scene};
use super::programs;
use super::simple::{Program, Value};

impl Meaning {
    /// Which of the programs that have a meaning here a command runs.
    pub(super) fn identity(&self, scene: &Scene<'_, '_>) -> Identity {
        let Some(name) = scene.command.words.first().and_then(Value::known) else { return Identity::Unknown };
        let base = base_name(name);
        match &scene.command.program {
            Program::ByName => Identity::Named(base.into()),
            Program::Absent => Identity::Absent,
            Program::Unknown => Identity::Unknown,
            Program::File(path) => self.identity_of_file(scene, path, base),
        }
    }

    fn identity_of_file(&self, scene: &Scene<'_, '_>, path: &Path, base: &BStr) -> Identity {
        let original = self.copies.get(path).map_or(path, PathBuf::as_path);
        let real = original.canonicalize().unwrap_or_else(|_| original.to_owned());
        let is_git = scene.shell.world().git_program().is_some_and(|git| is_same_program(git, &real));
        let name = real.file_name().map_or_else(BString::default, |name| name.as_encoded_bytes().into());
        if is_own_program(&real) {
            return Identity::Named("tyran".into());
        }
        if is_git {
            // git looks at the name it was called by only for `git-…`.
            let dashed = base.starts_with(b"git-");
            return Identity::Named(if dashed { base.into() } else { "git".into() });
        }
        if is_of_the_system(&real) || is_on_path(scene, path) {
            let called = if programs::knows(base) { base.to_owned() } else { name };
            return Identity::Named(called);
        }
        if name == "git" || name.starts_with(b"git-") || base == "git" {
            return Identity::OtherGit(base.into());
        }
        Identity::File
    }
}

/// What a command runs.
pub(super) enum Identity {
    /// A program of this name, which is what the name says.
    Named(BString),
    /// A git that is not the one in use: it means what git means, and may do more.
    OtherGit(BString),
    /// Some other file.
    File,
    /// Nothing that could run.
    Absent,
    /// Nobody knows.
    Unknown,
}

fn base_name(name: &BStr) -> &BStr {
    name.rsplit_str("/").next().unwrap_or(name).as_bstr()
}

/// Whether two paths lead to the same program: one file, or one beside the other in git's own
/// folders (`git-push` is git).
pub(super) fn is_same_program(git: &Path, other: &Path) -> bool {
    let git = git.canonicalize().unwrap_or_else(|_| git.to_owned());
    git == other || same_file(&git, other) || same_bytes(&git, other)
}

#[cfg(unix)]
fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => one.dev() == other.dev() && one.ino() == other.ino(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_one: &Path, _other: &Path) -> bool {
    false
}

/// A copy of git is git under another name. Only files of the same size are read.
fn same_bytes(one: &Path, other: &Path) -> bool {
    let sizes = (one.metadata().map(|data| data.len()), other.metadata().map(|data| data.len()));
    match sizes {
        (Ok(one_size), Ok(other_size)) if one_size == other_size => {
            matches!((std::fs::read(one), std::fs::read(other)), (Ok(one), Ok(other)) if one == other)
        }
        _ => false,
    }
}

/// Whether a program lies in a folder of the PATH that the host itself has: then it is what a bare name
/// would have found as well.
fn is_on_path(scene: &Scene<'_, '_>, path: &Path) -> bool {
    let Some(folders) = scene.shell.world().var("PATH") else { return false };
    std::env::split_paths(folders).any(|folder| folder.is_absolute() && path.parent() == Some(folder.as_path()))
}

/// Whether a program lies where the system or its package manager puts programs, not a project.
pub(super) fn is_of_the_system(path: &Path) -> bool {
    const FOLDERS: &[&str] = &[
        "/bin",
        "/sbin",
        "/usr",
        "/opt/homebrew",
        "/opt/local",
        "/nix/store",
        "/run/current-system",
        "/snap",
        "/System",
        "/Library/Developer",
        "/Applications",
        "/home/linuxbrew/.linuxbrew",
        "/lib",
        "/etc/alternatives",
    ];
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}
