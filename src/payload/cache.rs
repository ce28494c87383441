//! What was read before and found clean, so that it need not be read again.
//!
//! Promise: an entry is made only from a [`Coverage`], and only for items in which that scan found
//! nothing; it holds for the same object at the same path under the same rules and engines and no
//! other. A cache that is damaged, foreign or not there remembers nothing, and costs only time. It is
//! for the gate's own superset: what pre-push or CI would read is never looked up here, since those
//! callers pass no cache.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use sha1::Digest;

use super::{Elsewhere, Item, ObjectId};
use crate::scan::{Coverage, Finding, Identity};

mod blocks;
mod segments;

use blocks::{BLOCK_LEN, Key, Table};
use segments::Segments;

/// Length of an entry: half a SHA-256 id or most of a SHA-1 id, and a hash of the path.
const KEY_LEN: usize = 24;
const ID_PART: usize = 16;

/// The most entries that are kept for one set of rules, in bytes.
const CLEAN_BYTES: usize = 32 << 20;

/// Length of a remembered tip: how long its id is, and the id.
const TIP_LEN: usize = 33;

/// How many tips are kept.
const TIPS: usize = 256;

/// How many sets of rules are remembered side by side.
const KEPT_SETS: usize = 8;

/// What one set of rules and engines has found clean.
#[derive(Debug)]
pub struct Cache {
    engines: Vec<Identity>,
    clean: Segments,
    tips: Segments,
    /// Opened when it is asked first; `None` when there is none.
    known: OnceLock<Option<Mutex<Table>>>,
}

impl Cache {
    /// The cache below tyran's state directory for these engines; `None` where there is no safe place
    /// for one.
    pub fn open(state_dir: &Path, engines: &[Identity]) -> Option<Self> {
        let folder = private_folder(state_dir)?;
        let mut engines = engines.to_vec();
        engines.sort_by(|one, other| one.name.cmp(&other.name));
        let set = set_name(&engines);
        let clean = Segments::new(folder.join(format!("clean-{set}")), BLOCK_LEN, CLEAN_BYTES);
        let tips = Segments::new(folder.join(format!("tips-{set}")), TIP_LEN, TIPS * TIP_LEN);
        Some(Self { engines, clean, tips, known: OnceLock::new() })
    }

    /// Whether this item was found clean before.
    pub fn remembers(&self, item: &Item) -> bool {
        let mut keys = Keys::default();
        keys.of(item).is_some_and(|key| self.holds(&key))
    }

    /// Leaves out of `items` those that were found clean before and that `may_go` lets go.
    pub fn retain_unknown(&self, items: &mut Vec<Item>, may_go: impl Fn(&Item) -> bool) {
        let mut keys = Keys::default();
        items.retain(|item| !(may_go(item) && keys.of(item).is_some_and(|key| self.holds(&key))));
    }

    /// Tips of which everything they reach was found clean, newest first.
    pub fn clean_tips(&self) -> Vec<ObjectId> {
        let bodies = self.tips.load();
        let records = bodies.iter().rev().flat_map(|body| body.rchunks_exact(TIP_LEN));
        let ids = records.filter_map(|record| {
            let (len, id) = record.split_first()?;
            ObjectId::try_from(id.get(..usize::from(*len))?).ok()
        });
        ids.take(TIPS).collect()
    }

    /// Remembers what a scan has proven: the items in which nothing was found, and, when nothing was
    /// found at all, `tips`, whose whole reach the caller knows to be read now or remembered. `false`
    /// when nothing was written, which is never an error: the next run reads again.
    pub fn record(&self, proof: &Coverage, read: &[Item], found: &[Finding], tips: &[ObjectId]) -> bool {
        let mut engines: Vec<_> = proof.engines().iter().map(|engine| engine.identity.clone()).collect();
        engines.sort_by(|one, other| one.name.cmp(&other.name));
        if engines != self.engines || proof.tally().objects < read.len() as u64 {
            return false;
        }
        let unclean: HashSet<_> = found.iter().filter_map(|finding| finding.item.oid).collect();
        let mut keys = Keys::default();
        let clean = read.iter().filter(|item| item.oid.is_some_and(|id| !unclean.contains(&id)));
        let mut new: Vec<_> = clean.filter_map(|item| keys.of(item)).filter(|key| !self.holds(key)).collect();
        new.sort_unstable();
        new.dedup();
        let written = self.clean.append(&blocks::written(&new), merge_sorted);
        if !written || !found.is_empty() || tips.is_empty() {
            return written;
        }
        let known: HashSet<_> = self.clean_tips().into_iter().collect();
        let records: Vec<u8> = tips.iter().filter(|tip| !known.contains(*tip)).flat_map(tip_record).collect();
        self.forget_old_sets();
        self.tips.append(&records, <[Vec<u8>]>::concat)
    }

    fn holds(&self, key: &Key) -> bool {
        let open = || self.clean.places().map(|(file, places)| Mutex::new(Table::new(file, places)));
        let Some(table) = self.known.get_or_init(open) else { return false };
        table.lock().unwrap_or_else(PoisonError::into_inner).holds(key)
    }

    /// Rules change with every release; what no set in use needs goes.
    fn forget_old_sets(&self) {
        let Some(folder) = self.clean.path().parent() else { return };
        let Ok(listing) = std::fs::read_dir(folder) else { return };
        let mut files: Vec<_> = listing
            .filter_map(|file| {
                let file = file.ok()?;
                let name = file.file_name();
                let ours =
                    name.as_encoded_bytes().starts_with(b"clean-") || name.as_encoded_bytes().starts_with(b"tips-");
                ours.then_some((file.metadata().ok()?.modified().ok()?, file.path()))
            })
            .collect();
        files.sort_by(|one, other| other.cmp(one));
        for (_, path) in files.into_iter().skip(2 * KEPT_SETS) {
            // Another run may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Makes keys; the hash of the last paths is kept, since items of one file follow each other.
#[derive(Default)]
struct Keys {
    paths: Option<(Vec<u8>, Elsewhere)>,
    hash: [u8; KEY_LEN - ID_PART],
}

impl Keys {
    /// Rules and allowlists look at paths, so an object that was clean at one need not be at another.
    fn of(&mut self, item: &Item) -> Option<Key> {
        let id = item.oid?;
        let path = item.path.as_ref().map_or(&[][..], |path| path.as_slice());
        if !self.paths.as_ref().is_some_and(|(first, others)| first == path && *others == item.elsewhere) {
            let digest = sha1::Sha1::digest(all_paths(path, &item.elsewhere));
            self.hash.copy_from_slice(digest.get(..KEY_LEN - ID_PART)?);
            self.paths = Some((path.to_owned(), item.elsewhere.clone()));
        }
        let mut key = [0; KEY_LEN];
        let (id_part, path_part) = key.split_at_mut(ID_PART);
        id_part.copy_from_slice(id.as_slice().get(..ID_PART)?);
        path_part.copy_from_slice(&self.hash);
        Some(key)
    }
}

/// Paths as one text. None of them holds a zero byte.
fn all_paths(first: &[u8], others: &Elsewhere) -> Vec<u8> {
    let mut all = first.to_vec();
    let (others, more): (&[bstr::BString], &[u8]) = match others {
        Elsewhere::Nowhere => (&[], b""),
        Elsewhere::At(others) => (others, b""),
        Elsewhere::Anywhere(others) => (others, b"\0\0"),
    };
    let mut others: Vec<_> = others.iter().collect();
    others.sort_unstable();
    for other in others {
        all.push(0);
        all.extend_from_slice(other);
    }
    all.extend_from_slice(more);
    all
}

/// One piece of several, of keys that are sorted in each.
fn merge_sorted(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut keys: Vec<Key> = pieces.iter().flat_map(|piece| blocks::keys(piece)).copied().collect();
    // The stable sort knows runs.
    keys.sort();
    keys.dedup();
    blocks::written(&keys)
}

fn tip_record(tip: &ObjectId) -> [u8; TIP_LEN] {
    let mut record = [0; TIP_LEN];
    let id = tip.as_slice();
    record[0] = u8::try_from(id.len()).unwrap_or(0);
    record[1..=id.len()].copy_from_slice(id);
    record
}

/// A name for these engines and rules, and for the version of tyran that drove them.
fn set_name(engines: &[Identity]) -> String {
    let mut hash = sha2::Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    for engine in engines {
        for part in [&engine.name, &engine.version, &engine.rules.to_string(), &engine.digest] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
    }
    hex::encode(hash.finalize().as_slice().get(..16).unwrap_or_default())
}

/// `cache` below the state directory, for its owner alone.
#[cfg(unix)]
fn private_folder(state_dir: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    let folder = state_dir.join("cache");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    let metadata = std::fs::symlink_metadata(&folder).ok()?;
    if !metadata.is_dir() || metadata.uid() != nix::unistd::Uid::effective().as_raw() {
        return None;
    }
    if metadata.mode() & 0o077 != 0 {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).ok()?;
    }
    Some(folder)
}

/// Not established on this system: no cache.
#[cfg(not(unix))]
fn private_folder(_: &Path) -> Option<PathBuf> {
    None
}
