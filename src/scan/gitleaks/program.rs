//! Which gitleaks is run.
//!
//! Promise: the gate and the net run only the build that `tyran ensure-gitleaks` placed, whose digest
//! is checked at every use; a person by hand may name another. Only a version whose way of reading
//! was established is driven: another could cut windows where ours does not, and nobody would see it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::install::{pins, place};
use crate::scan::EngineFault;
use crate::scan::engine::EngineFaultKind;
use crate::text::SafeText;
use crate::world::child::Job;
use crate::world::{Caution, Environment, World, look_up, state_dir};

use super::report::{child_fault, fault};

/// How long `gitleaks version` may take; it takes 0.2 s (facts 10).
const VERSION_TIME: Duration = Duration::from_secs(20);

/// SHA-256 of programs whose version is known without asking them: Linux x86-64, built as the release is.
const KNOWN_PROGRAMS: &[&str] = &["88f91962aa2f93ac6ab281d553b9e125f5197bbbce38f9f2437f7299c32e5509"];

/// A gitleaks that may be driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitleaksProgram {
    /// Where it is. Absolute.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
}

/// The gitleaks that must be there, since it was asked for.
///
/// # Errors
/// When there is none, or as [`present`].
pub fn locate(world: &World) -> Result<GitleaksProgram, EngineFault> {
    present(world)?.ok_or_else(|| fault(EngineFaultKind::Absent, "there is none that could be driven"))
}

/// The gitleaks that is there: `TYRAN_GITLEAKS_BIN` and PATH only by hand, then the placed build. `None`
/// when there is none that can be driven.
///
/// # Errors
/// When the one that was named, or placed, is not what it should be.
pub fn present(world: &World) -> Result<Option<GitleaksProgram>, EngineFault> {
    if world.caution == Caution::ByHand {
        if let Some(named) = world.var("TYRAN_GITLEAKS_BIN").filter(|named| !named.is_empty()) {
            return of_path(&world.cwd.join(named)).map(Some);
        }
        let found = look_up(OsStr::new("gitleaks"), world.var("PATH"), &world.cwd);
        // One that merely lies on PATH was not asked for, so an unsuitable one is passed over.
        if let Some(program) = found.and_then(|path| of_path(&path).ok()) {
            return Ok(Some(program));
        }
    }
    let Some(state) = state_dir() else { return Ok(None) };
    let placed = place::placed(&state).map_err(|error| fault(EngineFaultKind::Absent, error.to_string()))?;
    Ok(placed.map(|placed| GitleaksProgram { path: placed.path, version: placed.version }))
}

/// A program at a path, when it is of the established version.
///
/// # Errors
/// When it cannot be run, or is of another version.
pub fn of_path(path: &Path) -> Result<GitleaksProgram, EngineFault> {
    let version = if is_known(path) { pins::VERSION.to_owned() } else { asked_version(path)? };
    if version == pins::VERSION {
        return Ok(GitleaksProgram { path: path.to_owned(), version });
    }
    let what = format!(
        "{} is version {}, and only {} was established",
        SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200),
        SafeText::quoted(version.as_bytes(), 40),
        pins::VERSION
    );
    Err(fault(EngineFaultKind::Absent, what))
}

fn is_known(path: &Path) -> bool {
    let mut digest = Sha256::new();
    let read = std::fs::File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut digest));
    read.is_ok() && KNOWN_PROGRAMS.contains(&hex::encode(digest.finalize()).as_str())
}

/// What the program itself says.
fn asked_version(path: &Path) -> Result<String, EngineFault> {
    let job = Job {
        program: path.to_owned(),
        args: vec!["version".into()],
        env: Environment::new(),
        dir: PathBuf::from("/"),
        input: Vec::new(),
        output_limit: 1 << 16,
        time_limit: VERSION_TIME,
    };
    let done = job.run().map_err(child_fault)?;
    let version = String::from_utf8_lossy(&done.stdout).trim().trim_start_matches('v').to_owned();
    if done.status.success() && !version.is_empty() {
        return Ok(version);
    }
    let what = format!("{} did not say its version", SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200));
    Err(fault(EngineFaultKind::Absent, what))
}
