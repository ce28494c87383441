//! `.tyran-allow`: what a person has reviewed and accepted, one a line.
//!
//! Promise: an entry accepts one secret of one rule at one path, whatever commit and line it stands in;
//! it holds a salted hash of the (slow) fingerprint and nothing of the secret; lines do not depend on
//! each other, so that two branches' entries merge as lines do; a reviewer sees what, where, when and why.
//!
//! ```text
//! # reviewed findings, see `tyran allow --help`
//! salt 8c1f…(32 digits)
//! 3fd0…(32 digits) 2026-11-30 private-key tests/key.pem # made for the tests of the parser
//! ```

use bstr::{BStr, BString, ByteSlice};
use sha2::{Digest, Sha256};

use crate::scan::Finding;
use crate::scan::fingerprint::{self, Fingerprint, escaped, unescaped};
use crate::text::SafeText;

/// Its name, at the repository's top.
pub const NAME: &str = ".tyran-allow";

/// The first line of a new file.
const HEADER: &str = "# Findings that a person has reviewed and accepted, one a line; see `tyran allow --help`.\n";

/// Lengths in bytes.
const SALT_LEN: usize = 16;
const HASH_LEN: usize = 16;

/// A file, read.
#[derive(Debug, Default)]
pub struct AllowFile {
    salts: Vec<[u8; SALT_LEN]>,
    entries: Vec<Entry>,
    /// Lines that are no entry; they accept nothing.
    pub unreadable: Vec<SafeText>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    hash: [u8; HASH_LEN],
    rule: String,
    place: BString,
    reason: SafeText,
}

impl AllowFile {
    /// Reads a file's bytes.
    pub fn read(bytes: &[u8]) -> Self {
        let mut file = Self::default();
        for (place, line) in bytes.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if let Some(salt) = line.strip_prefix(b"salt ").and_then(digits) {
                file.salts.push(salt);
            } else if let Some(entry) = Entry::read(line, place + 1) {
                file.entries.push(entry);
            } else {
                file.unreadable
                    .push(SafeText::new(&format!("{NAME}:{} cannot be read and accepts nothing", place + 1)));
            }
        }
        file
    }

    /// Whether an entry speaks of findings of this rule at this place; the secret decides.
    pub(super) fn may_grant(&self, finding: &Finding) -> bool {
        let place = fingerprint::place(finding);
        self.entries.iter().any(|entry| *entry.rule == *finding.rule && entry.place == place)
    }

    /// Which entry accepts this fingerprint, and why.
    pub fn grant(&self, fingerprint: &Fingerprint) -> Option<(SafeText, SafeText)> {
        self.entries
            .iter()
            .filter(|entry| entry.rule == fingerprint.rule && entry.place == fingerprint.place)
            .find(|entry| self.salts.iter().any(|salt| salted(salt, fingerprint) == entry.hash))
            .map(|entry| (entry.name(), entry.reason.clone()))
    }

    /// Every entry's name and path.
    pub fn places(&self) -> impl Iterator<Item = (SafeText, &BStr)> {
        self.entries.iter().map(|entry| (entry.name(), entry.place.as_bstr()))
    }

    /// The hashes of all entries: what a file accepts, whatever its comments say.
    pub(super) fn accepted(&self) -> impl Iterator<Item = [u8; HASH_LEN]> {
        self.entries.iter().map(|entry| entry.hash)
    }
}

impl Entry {
    fn read(line: &[u8], number: usize) -> Option<Self> {
        let (entry, reason) = line.split_once_str(" # ")?;
        let mut words = entry.fields();
        let (hash, date, rule, place) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let dated = date.len() == 10 && date.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
        if !dated || words.next().is_some() || reason.trim().is_empty() {
            return None;
        }
        Some(Self {
            line: number,
            hash: digits(hash)?,
            rule: rule.to_str().ok()?.to_owned(),
            place: unescaped(place),
            reason: SafeText::quoted(reason.trim(), 200),
        })
    }

    fn name(&self) -> SafeText {
        SafeText::new(&format!("{NAME}:{}", self.line))
    }
}

/// Why an entry could not be added.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AddFault {
    /// It is there.
    #[error("{NAME} accepts it already, in line {0}")]
    There(usize),
    /// No reason was given.
    #[error("a reason is needed, in one line")]
    NoReason,
    /// The system gave no random bytes.
    #[error("the system gives no random bytes for a salt")]
    NoRandom,
}

/// The file's new bytes with one more entry. `before` is empty for a new file; `date` is `YYYY-MM-DD`.
///
/// # Errors
/// When the entry is there, or lacks a reason.
pub fn add(before: &[u8], fingerprint: &Fingerprint, reason: &str, date: &str) -> Result<Vec<u8>, AddFault> {
    let reason = reason.trim();
    if reason.is_empty() || reason.contains(['\n', '\r']) {
        return Err(AddFault::NoReason);
    }
    let file = AllowFile::read(before);
    let accepted = |entry: &&Entry| {
        entry.rule == fingerprint.rule
            && entry.place == fingerprint.place
            && file.salts.iter().any(|salt| salted(salt, fingerprint) == entry.hash)
    };
    if let Some(entry) = file.entries.iter().find(accepted) {
        return Err(AddFault::There(entry.line));
    }
    let mut after = before.to_vec();
    if after.is_empty() {
        after.extend_from_slice(HEADER.as_bytes());
    } else if !after.ends_with(b"\n") {
        after.push(b'\n');
    }
    let salt = match file.salts.first() {
        Some(salt) => *salt,
        None => {
            let mut salt = [0; SALT_LEN];
            getrandom::fill(&mut salt).map_err(|_| AddFault::NoRandom)?;
            after.extend_from_slice(format!("salt {}\n", hex::encode(salt)).as_bytes());
            salt
        }
    };
    let hash = hex::encode(salted(&salt, fingerprint));
    let place = escaped(&fingerprint.place);
    after.extend_from_slice(format!("{hash} {date} {} {place} # {reason}\n", fingerprint.rule).as_bytes());
    Ok(after)
}

/// The fingerprint's hash is the slow one already; the salt of the file makes its entries of no use for
/// looking a secret up in another file.
fn salted(salt: &[u8; SALT_LEN], fingerprint: &Fingerprint) -> [u8; HASH_LEN] {
    let hash = Sha256::new().chain_update(salt).chain_update(fingerprint.hash).finalize();
    let mut short = [0; HASH_LEN];
    for (to, from) in short.iter_mut().zip(hash) {
        *to = from;
    }
    short
}

fn digits<const LEN: usize>(text: &[u8]) -> Option<[u8; LEN]> {
    let mut bytes = [0; LEN];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}
