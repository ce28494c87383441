//! What was asked and answered: append-only JSON lines, without secrets and without the command's text.
//!
//! Promise: the journal can never change a verdict. Whatever goes wrong with it (no home, full disk,
//! damaged file, another writer) is passed over in silence by whoever judges; only `tyran log` speaks
//! of it. A record is written whole under a lock, and old ones go when the file is rotated.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::world::state_dir;

/// A file that is larger is put aside before the next record.
const ROTATE_BYTES: u64 = 4 << 20;

/// How many files that were put aside are kept.
const KEPT: usize = 4;

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Seconds since 1970.
    pub at: u64,
    /// `gate`, `net` or `scan`.
    pub by: String,
    /// The host (gate) or the hook (net); empty by hand.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The host's surface, `unknown` where it is not told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub surface: String,
    /// The native event.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// The host's session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// `pass`, `ask` or `refuse`.
    pub decision: String,
    /// Why: a class of `docs/refusals.md`, `clean` or `nothing-published`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The directory it was about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// Ids that a push sent past the net.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tips: Vec<String>,
    /// Milliseconds from the start to the answer.
    pub millis: u64,
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Appends a record. `false` when it could not be written, which nobody who judges looks at.
pub fn append(record: &Record) -> bool {
    folder().is_some_and(|folder| append_in(&folder, record).is_ok())
}

/// Every record that is kept, oldest first; a line that cannot be read is passed over.
///
/// # Errors
/// When a file is there and cannot be opened.
pub fn records() -> io::Result<Vec<Record>> {
    match folder() {
        Some(folder) => records_in(&folder),
        None => Ok(Vec::new()),
    }
}

fn folder() -> Option<PathBuf> {
    Some(state_dir()?.join("journal"))
}

fn current(folder: &Path) -> PathBuf {
    folder.join("journal.jsonl")
}

fn aside(folder: &Path, place: usize) -> PathBuf {
    folder.join(format!("journal.{place}.jsonl"))
}

fn append_in(folder: &Path, record: &Record) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.join("lock"))?;
    // Whoever waits for a stuck writer would be late with an answer.
    lock.try_lock()?;
    if fs::metadata(current(folder)).is_ok_and(|metadata| metadata.len() > ROTATE_BYTES) {
        rotate(folder)?;
    }
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(current(folder))?;
    file.write_all(&line)
}

fn rotate(folder: &Path) -> io::Result<()> {
    for place in (1..KEPT).rev() {
        if aside(folder, place).exists() {
            fs::rename(aside(folder, place), aside(folder, place + 1))?;
        }
    }
    fs::rename(current(folder), aside(folder, 1))
}

fn records_in(folder: &Path) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    let files = (1..=KEPT).rev().map(|place| aside(folder, place)).chain([current(folder)]);
    for path in files {
        match File::open(&path) {
            Ok(file) => {
                let lines = BufReader::new(file).split(b'\n');
                records.extend(lines.map_while(Result::ok).filter_map(|line| serde_json::from_slice(&line).ok()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(records)
}
