//! The programs that `setup` recorded: where they are, and their digests.
//!
//! Promise: once recorded, gate and net run that git and no other, wherever PATH leads; a git that is
//! not as it was recorded is a refusal until `setup` is run again. A git-crypt that is not is not run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::verdict::{Class, Refusal};
use crate::world::{World, look_up};

use super::keep::{cannot, digest, private_dir, read_if_there, replace, shown, state};

/// A program as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Where it is. Absolute.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The git that gate and net run.
    pub git: Program,
    /// This program.
    pub tyran: Program,
    /// The git-crypt that the gate may run, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_crypt: Option<Program>,
}

impl Program {
    fn of(path: &Path) -> Result<Self, Refusal> {
        let bytes = read_if_there(path)?.ok_or_else(|| changed(path, "is not there"))?;
        Ok(Self { path: path.to_owned(), sha256: digest(&bytes) })
    }

    /// Whether it is still what was recorded.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self) -> Result<(), Refusal> {
        if Self::of(&self.path)? == *self { Ok(()) } else { Err(changed(&self.path, "is not as it was recorded")) }
    }
}

impl Recorded {
    fn path() -> Result<PathBuf, Refusal> {
        Ok(state()?.join("pins.json"))
    }

    /// What is recorded; `None` before the first `setup`.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn read() -> Result<Option<Self>, Refusal> {
        // Without a home there is no place where anything could have been recorded.
        let Ok(path) = Self::path() else { return Ok(None) };
        let Some(bytes) = read_if_there(&path)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Refusal::new(Class::Installation, format!("{} is damaged: {error}", shown(&path)), "run `tyran setup`")
        })
    }

    /// What there is to record now.
    ///
    /// # Errors
    /// When there is no git, or a program cannot be read.
    pub fn now(world: &World, program: &Path) -> Result<Self, Refusal> {
        let git = world
            .git_program()
            .ok_or_else(|| Refusal::new(Class::Installation, "no git was found", "install git, then run it again"))?;
        let git_crypt = look_up(OsStr::new("git-crypt"), world.var("PATH"), &world.cwd);
        Ok(Self {
            git: Program::of(git)?,
            tyran: Program::of(program)?,
            git_crypt: git_crypt.map(|program| Program::of(&program)).transpose()?,
        })
    }

    /// Forgets what was recorded.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget() -> Result<(), Refusal> {
        let path = Self::path()?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot("remove", &path, &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Records it, for this user alone to read.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self) -> Result<(), Refusal> {
        private_dir(&state()?)?;
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| Refusal::internal(error.to_string()))?;
        replace(&Self::path()?, &bytes)
    }
}

/// The same world with the recorded git, which must be as it was recorded; as it is before the first
/// `setup`.
///
/// # Errors
/// When it is not as recorded, or the record cannot be read.
pub fn with_recorded_git(world: World) -> Result<World, Refusal> {
    match Recorded::read()? {
        None => Ok(world),
        Some(recorded) => {
            recorded.git.check()?;
            // Another git-crypt than was recorded is not run: what would be encrypted is read as it is.
            let git_crypt = recorded.git_crypt.filter(|program| program.check().is_ok());
            Ok(world.with_git(recorded.git.path).with_git_crypt(git_crypt.map(|program| program.path)))
        }
    }
}

fn changed(path: &Path, how: &str) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!("{} {how}", shown(path)),
        "if you updated or moved it, run `tyran setup` in a terminal",
    )
}
