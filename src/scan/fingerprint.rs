//! A finding's stable id: what reports print and `tyran allow` takes.
//!
//! Promise: the same secret of the same rule at the same path has the same fingerprint wherever it is
//! found, whatever commit or line it stands in; and it gives nothing of the secret away: guessing
//! it costs one argon2id (8 MiB, one pass) for each try, and rule and path are in the salt, so that work
//! for one place is of no use for another.
//!
//! Form: `PATH:RULE:HASH`, HASH being 32 hexadecimal digits. What has no path (a message, a ref name)
//! has its kind in that place.

use std::collections::HashMap;
use std::thread;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use bstr::{BString, ByteSlice};
use sha2::{Digest, Sha256};

use crate::payload::ItemKind;

use super::Finding;

/// Memory of one hash, in KiB. With one pass that is some 5 ms, so that a thousand findings do not
/// hold a verdict up.
const MEMORY_KIB: u32 = 8 << 10;

/// So many different findings of one scan have fingerprints: a file can be made that holds a hundred thousand, and
/// an answer that comes too late is none. The others are told without. Those that a reviewed entry could speak
/// of are compared beyond that, as many as there are entries.
pub const MOST: usize = 1000;

/// Length of the hash in bytes.
const HASH_LEN: usize = 16;

/// Separates this use from any other of the same secrets.
const PURPOSE: &[u8] = b"tyran fingerprint 1";

/// A finding's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    /// Path, or the kind of what has none.
    pub place: BString,
    /// The rule.
    pub rule: String,
    /// The slow hash of the secret.
    pub hash: [u8; HASH_LEN],
}

impl Fingerprint {
    /// The fingerprint of one finding.
    pub fn of(finding: &Finding) -> Self {
        let place = place(finding);
        let hash = slow_hash(&place, &finding.rule, finding.secret.expose(), &mut Vec::new());
        Self { hash, rule: finding.rule.to_string(), place }
    }

    /// Those of many, in their order; each secret once, on all processors. `None` for those that would be more
    /// than `most` different ones.
    pub fn of_first(findings: &[&Finding], most: usize) -> Vec<Option<Self>> {
        let mut hashes: HashMap<_, Option<[u8; HASH_LEN]>> = HashMap::new();
        for finding in findings {
            if hashes.len() >= most {
                break;
            }
            hashes.entry(Job::of(finding)).or_default();
        }
        let mut jobs: Vec<_> = hashes.iter_mut().collect();
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = jobs.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for jobs in jobs.chunks_mut(share) {
                scope.spawn(move || {
                    let mut memory = Vec::new();
                    for (job, hash) in jobs {
                        **hash = Some(slow_hash(&job.place, job.rule, job.secret, &mut memory));
                    }
                });
            }
        });
        findings
            .iter()
            .map(|finding| {
                let hash = hashes.get(&Job::of(finding)).copied().flatten()?;
                Some(Self { hash, rule: finding.rule.to_string(), place: place(finding) })
            })
            .collect()
    }

    /// Reads what [`Fingerprint::fmt`] wrote; `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (rest, hash) = text.rsplit_once_str(":")?;
        let (place, rule) = rest.rsplit_once_str(":")?;
        let mut bytes = [0; HASH_LEN];
        hex::decode_to_slice(hash, &mut bytes).ok()?;
        let rule = rule.to_str().ok().filter(|rule| !rule.is_empty())?;
        (!place.is_empty()).then(|| Self { place: unescaped(place), rule: rule.to_owned(), hash: bytes })
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}:{}", escaped(&self.place), self.rule, hex::encode(self.hash))
    }
}

/// What one slow hash is made of.
#[derive(PartialEq, Eq, Hash)]
struct Job<'a> {
    place: BString,
    rule: &'a str,
    secret: &'a [u8],
}

impl<'a> Job<'a> {
    fn of(finding: &'a Finding) -> Self {
        Self { place: place(finding), rule: &finding.rule, secret: finding.secret.expose() }
    }
}

/// Where a finding stands, without commit and line.
pub(super) fn place(finding: &Finding) -> BString {
    match finding.item.kind {
        ItemKind::Blob | ItemKind::Tree | ItemKind::File | ItemKind::Lfs => match &finding.item.path {
            Some(path) => path.clone(),
            None => "file".into(),
        },
        ItemKind::Commit => "commit".into(),
        ItemKind::Tag => "tag".into(),
        ItemKind::Ref => "ref".into(),
        ItemKind::Option => "option".into(),
        ItemKind::Message => "message".into(),
        ItemKind::Command => "command".into(),
    }
}

/// `memory` is kept from one hash to the next: to be given fresh pages each time costs as much as hashing.
fn slow_hash(place: &BString, rule: &str, secret: &[u8], memory: &mut Vec<Block>) -> [u8; HASH_LEN] {
    let salt = Sha256::new()
        .chain_update(PURPOSE)
        .chain_update((place.len() as u64).to_le_bytes())
        .chain_update(place)
        .chain_update(rule)
        .finalize();
    let mut hash = [0; HASH_LEN];
    Params::new(MEMORY_KIB, 1, 1, Some(HASH_LEN))
        .and_then(|params| {
            memory.resize(params.block_count(), Block::default());
            Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into_with_memory(
                secret,
                &salt,
                &mut hash,
                memory.as_mut_slice(),
            )
        })
        // All lengths are ours but the secret's, which may have 4 GiB. No hash must never be taken for one.
        .expect("argon2 takes these lengths");
    hash
}

/// Bytes that are not plain are written `%XX`: a fingerprint is one word, and pastes as it is.
pub(super) fn escaped(place: &[u8]) -> String {
    let mut text = String::with_capacity(place.len());
    for byte in place {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'/' | b'.' | b'_' | b'-' | b'+' | b'@' | b',' | b':' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// The opposite of [`escaped`].
pub(super) fn unescaped(text: &[u8]) -> BString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let decoded = after.get(..2).filter(|_| *first == b'%').and_then(|digits| hex::decode(digits).ok());
        match decoded {
            Some(byte) => {
                bytes.extend(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes.into()
}
