//! An archive unpacked and its program put in place.
//!
//! Promise: only an archive with the pinned digest is opened, only the one member is taken, and it
//! appears whole or not at all, in a directory that only its user can read; its own digest is recorded
//! and checked again by [`placed`] at every later use.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::text::SafeText;

use super::pins::Pin;

/// Most bytes that an archive may unpack to, all members together; the release's is 22 MB.
const UNPACKED_LIMIT: u64 = 256 << 20;

/// Most members that an archive may have; the release's has 3.
const MEMBERS_LIMIT: usize = 64;

/// The record beside the program.
const RECORD: &str = "gitleaks.json";

/// Why a program could not be put in place, or is not what was recorded.
#[derive(Debug, thiserror::Error)]
pub enum PlaceFault {
    /// The archive is not the pinned one.
    #[error("the archive of {bytes} bytes has SHA-256 {found}, and {expected} is pinned")]
    Digest {
        /// Its size.
        bytes: usize,
        /// What it has.
        found: String,
        /// What is pinned.
        expected: String,
    },
    /// The archive is not as the release's are.
    #[error("the archive is malformed: {0}")]
    Archive(SafeText),
    /// A file could not be written or read.
    #[error("{what} failed: {error}")]
    Files {
        /// What was done.
        what: &'static str,
        /// The system's reason.
        error: io::Error,
    },
    /// The record cannot be read.
    #[error("the record of the placed gitleaks cannot be read: {0}")]
    Record(SafeText),
    /// What was placed does not run here.
    #[error("the program in {archive} does not run here: {what}")]
    DoesNotRun {
        /// The archive it came in.
        archive: String,
        /// What happened.
        what: SafeText,
    },
    /// The program is not the recorded one.
    #[error("the placed gitleaks has SHA-256 {found}, and {recorded} was recorded")]
    Changed {
        /// What it has.
        found: String,
        /// What was recorded.
        recorded: String,
    },
}

/// A program that is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where. Absolute.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Its digest, as it is now.
    pub sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    version: String,
    program: String,
    program_sha256: String,
    archive: String,
    archive_sha256: String,
}

fn files(what: &'static str) -> impl FnOnce(io::Error) -> PlaceFault {
    move |error| PlaceFault::Files { what, error }
}

/// The program that is in place below a state directory, its digest checked; `None` when none was placed.
///
/// # Errors
/// When the record or the program is not as it was left.
pub fn placed(state: &Path) -> Result<Option<Placed>, PlaceFault> {
    let folder = state.join("bin");
    let record = match fs::read(folder.join(RECORD)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(files("reading the record")(error)),
    };
    let record: Record =
        serde_json::from_slice(&record).map_err(|error| PlaceFault::Record(error.to_string().into()))?;
    if !is_plain_name(&record.program) {
        return Err(PlaceFault::Record("it names a program elsewhere".into()));
    }
    let path = folder.join(&record.program);
    let mut digest = Sha256::new();
    let mut program = File::open(&path).map_err(files("opening the placed gitleaks"))?;
    io::copy(&mut program, &mut digest).map_err(files("reading the placed gitleaks"))?;
    let found = hex::encode(digest.finalize());
    if found != record.program_sha256 {
        return Err(PlaceFault::Changed { found, recorded: record.program_sha256 });
    }
    Ok(Some(Placed { path, version: record.version, sha256: found }))
}

fn is_plain_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    matches!((components.next(), components.next()), (Some(std::path::Component::Normal(_)), None))
}

/// Holds the right to change what is in place; others wait.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else changes what is in place.
    ///
    /// # Errors
    /// When the directory or the lock cannot be made.
    pub fn take(state: &Path) -> Result<Self, PlaceFault> {
        make_folder(state)?;
        make_folder(&state.join("bin"))?;
        let path = state.join("bin").join("lock");
        let file = File::options().create(true).append(true).open(path).map_err(files("opening the lock"))?;
        file.lock().map_err(files("taking the lock"))?;
        Ok(Self { _file: file })
    }
}

/// Checks an archive's digest, then takes its program out of it.
///
/// # Errors
/// When it is not the pinned archive, or not as the release's are.
pub fn unpack(pin: &Pin, archive: &[u8]) -> Result<Vec<u8>, PlaceFault> {
    let found = hex::encode(Sha256::digest(archive));
    if found != pin.sha256 {
        return Err(PlaceFault::Digest { bytes: archive.len(), found, expected: pin.sha256.clone() });
    }
    if pin.archive.ends_with(".zip") { from_zip(archive, pin) } else { from_tar(archive, pin) }
}

/// Puts a program in place, and records it once `runs` is content with it.
///
/// # Errors
/// As [`PlaceFault`] tells; then what was recorded before still is.
pub fn put(
    state: &Path,
    pin: &Pin,
    program: &[u8],
    _lock: &Lock,
    runs: &dyn Fn(&Path) -> Result<(), PlaceFault>,
) -> Result<Placed, PlaceFault> {
    let folder = state.join("bin");
    let sha256 = hex::encode(Sha256::digest(program));
    // Its name holds its digest, so that replacing it never takes the recorded one away.
    let name = format!("gitleaks-{}-{}", pin.version, sha256.get(..12).unwrap_or_default());
    let record = Record {
        version: pin.version.clone(),
        program: name.clone(),
        program_sha256: sha256.clone(),
        archive: pin.archive.clone(),
        archive_sha256: pin.sha256.clone(),
    };
    let text = serde_json::to_vec_pretty(&record).map_err(|error| PlaceFault::Record(error.to_string().into()))?;
    let path = folder.join(&name);
    write_whole(&folder, &name, program, 0o700)?;
    if let Err(fault) = runs(&path) {
        let _ = fs::remove_file(&path);
        return Err(fault);
    }
    write_whole(&folder, RECORD, &text, 0o600)?;
    Ok(Placed { path, version: record.version, sha256 })
}

/// Makes a directory that only its user can use.
fn make_folder(path: &Path) -> Result<(), PlaceFault> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(files("making the directory"))
}

/// Writes a file beside its place and renames it there, so that nobody ever sees a part of it.
fn write_whole(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> Result<(), PlaceFault> {
    let mut file = tempfile::Builder::new().prefix(".new.").tempfile_in(folder).map_err(files("making a file"))?;
    file.write_all(bytes).map_err(files("writing a file"))?;
    #[cfg(unix)]
    file.as_file()
        .set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
        .map_err(files("setting permissions"))?;
    #[cfg(not(unix))]
    let _ = mode;
    file.as_file().sync_all().map_err(files("writing a file"))?;
    file.persist(folder.join(name)).map_err(|error| files("renaming a file")(error.error))?;
    Ok(())
}

fn malformed(what: impl Into<SafeText>) -> PlaceFault {
    PlaceFault::Archive(what.into())
}

fn from_tar(archive: &[u8], pin: &Pin) -> Result<Vec<u8>, PlaceFault> {
    let broken = |error: io::Error| malformed(error.to_string());
    let unpacked = || flate2::read::GzDecoder::new(archive).take(UNPACKED_LIMIT + 1);
    // Measured before it is read, so that a bomb is told as one and not as a member cut short.
    if io::copy(&mut unpacked(), &mut io::sink()).map_err(broken)? > UNPACKED_LIMIT {
        return Err(malformed(format!("it unpacks to more than {UNPACKED_LIMIT} bytes")));
    }
    let mut tar = tar::Archive::new(unpacked());
    let mut program = None;
    for (count, entry) in tar.entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= MEMBERS_LIMIT {
            return Err(malformed(format!("it has more than {MEMBERS_LIMIT} members")));
        }
        let name = entry.path_bytes().into_owned();
        let kind = entry.header().entry_type();
        check_member(&name, kind.is_file() || kind.is_dir())?;
        if name != pin.member.as_bytes() {
            continue;
        }
        if !kind.is_file() || program.is_some() {
            return Err(malformed("its program is no single plain file"));
        }
        program = Some(read_member(&mut entry)?);
    }
    program.ok_or_else(|| malformed("its program is not in it"))
}

fn from_zip(archive: &[u8], pin: &Pin) -> Result<Vec<u8>, PlaceFault> {
    let broken = |error: zip::result::ZipError| malformed(error.to_string());
    let mut zip = zip::ZipArchive::new(io::Cursor::new(archive)).map_err(broken)?;
    if zip.len() > MEMBERS_LIMIT {
        return Err(malformed(format!("it has more than {MEMBERS_LIMIT} members")));
    }
    let mut program = None;
    for place in 0..zip.len() {
        let mut entry = zip.by_index(place).map_err(broken)?;
        let name = entry.name_raw().to_vec();
        check_member(&name, !entry.is_symlink())?;
        if name != pin.member.as_bytes() {
            continue;
        }
        if !entry.is_file() || program.is_some() {
            return Err(malformed("its program is no single plain file"));
        }
        program = Some(read_member(&mut entry)?);
    }
    program.ok_or_else(|| malformed("its program is not in it"))
}

/// A release holds plain files with plain names. Nothing but the program is ever written, so other
/// members could do no harm; that one is there says that the archive is not what it should be.
fn check_member(name: &[u8], is_plain: bool) -> Result<(), PlaceFault> {
    let shown = || SafeText::quoted(name, 80);
    let climbs = name.split(|byte| *byte == b'/' || *byte == b'\\').any(|piece| piece == b"..");
    if climbs || name.starts_with(b"/") || name.contains(&0) {
        return Err(malformed(format!("member {} leads out of it", shown())));
    }
    if !is_plain {
        return Err(malformed(format!("member {} is no plain file", shown())));
    }
    Ok(())
}

fn read_member(member: &mut dyn Read) -> Result<Vec<u8>, PlaceFault> {
    let mut bytes = Vec::new();
    member.take(UNPACKED_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| malformed(error.to_string()))?;
    if bytes.len() as u64 > UNPACKED_LIMIT {
        return Err(malformed(format!("its program unpacks to more than {UNPACKED_LIMIT} bytes")));
    }
    if bytes.is_empty() {
        return Err(malformed("its program is empty"));
    }
    Ok(bytes)
}
