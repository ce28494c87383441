//! One file of one commit, and one object whole: for looking things up, not for payloads.
//!
//! Promise: bytes re-hash to the id they were asked by, in the copy that is read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BStr, BString, ByteSlice};
use gix::hash::ObjectId;
use gix::objs::Kind;

use super::decode::{Decoder, Object};
use super::parse::{self, EntryKind};
use super::store::ObjectStore;
use crate::payload::Fault;
use crate::text::SafeText;

impl ObjectStore {
    /// The kind and bytes of an object of at most `limit` bytes.
    ///
    /// # Errors
    /// When it is missing, larger, damaged, or not what its id says.
    pub fn whole(&self, id: &ObjectId, limit: u64) -> Result<(Kind, Vec<u8>), Fault> {
        let object = self.checked(id, limit, &mut Decoder::new())?;
        Ok((object.kind, object.bytes.to_vec()))
    }

    /// The blob at `path` in the tree of a commit; `None` when there is none.
    ///
    /// # Errors
    /// When an object on the way is missing, damaged, or not what its id says.
    pub fn blob_at(&self, commit: &ObjectId, path: &BStr) -> Result<Option<ObjectId>, Fault> {
        let mut decoder = Decoder::new();
        let Some(mut tree) = self.tree_of(commit, &mut decoder)? else { return Ok(None) };
        let mut names = path.split_str("/").peekable();
        while let Some(name) = names.next() {
            let object = self.checked(&tree, TREE_LIMIT, &mut decoder)?;
            let mut found = None;
            for entry in parse::tree(&object.bytes, b"", self.format()) {
                let entry = entry.map_err(|what| malformed(&tree, what))?;
                if entry.name == name {
                    found = Some((entry.kind, ObjectId::try_from(entry.id).ok()));
                }
            }
            match (found, names.peek().is_some()) {
                (Some((EntryKind::Tree, Some(id))), true) => tree = id,
                (Some((EntryKind::Blob, Some(id))), false) => return Ok(Some(id)),
                (Some(_) | None, true | false) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Where the trees of `commits` hold any of these blobs: a path for each that is found. More than
    /// [`MOST_TREES`] trees are not looked through, and what cannot be read is passed over: an answer is a
    /// help for people, or to be checked.
    ///
    /// # Errors
    /// When the time is up.
    pub fn where_blobs_are(
        &self,
        commits: &[ObjectId],
        blobs: &BTreeSet<ObjectId>,
    ) -> Result<BTreeMap<ObjectId, BString>, Fault> {
        let mut decoder = Decoder::new();
        let (mut found, mut seen) = (BTreeMap::new(), HashSet::new());
        let mut open: Vec<(ObjectId, BString)> = Vec::new();
        for commit in commits {
            if let Ok(Some(tree)) = self.tree_of(commit, &mut decoder) {
                open.push((tree, BString::default()));
            }
        }
        while let Some((tree, path)) = open.pop() {
            if found.len() == blobs.len() || seen.len() == MOST_TREES {
                break;
            }
            self.in_time()?;
            if !seen.insert(tree) {
                continue;
            }
            let Ok(object) = self.checked(&tree, TREE_LIMIT, &mut decoder) else { continue };
            for entry in parse::tree(&object.bytes, b"", self.format()).map_while(Result::ok) {
                let Ok(id) = ObjectId::try_from(entry.id) else { continue };
                let below = || {
                    let mut below = path.clone();
                    if !below.is_empty() {
                        below.push(b'/');
                    }
                    below.extend_from_slice(entry.name);
                    below
                };
                match entry.kind {
                    EntryKind::Tree => open.push((id, below())),
                    EntryKind::Blob if blobs.contains(&id) => {
                        found.entry(id).or_insert_with(below);
                    }
                    EntryKind::Blob | EntryKind::Gitlink => {}
                }
            }
        }
        Ok(found)
    }

    /// The tree of a commit, tags peeled; `None` for anything else.
    fn tree_of(&self, id: &ObjectId, decoder: &mut Decoder) -> Result<Option<ObjectId>, Fault> {
        let mut id = *id;
        for _ in 0..TAG_DEPTH {
            let object = self.checked(&id, TREE_LIMIT, decoder)?;
            match object.kind {
                Kind::Commit => {
                    let commit = parse::commit(&object.bytes, self.format()).map_err(|what| malformed(&id, what))?;
                    return Ok(Some(commit.tree));
                }
                Kind::Tag => id = parse::tag(&object.bytes, self.format()).map_err(|what| malformed(&id, what))?,
                Kind::Tree => return Ok(Some(id)),
                Kind::Blob => return Ok(None),
            }
        }
        Err(malformed(&id, "tags of tags do not end"))
    }

    fn checked(&self, id: &ObjectId, limit: u64, decoder: &mut Decoder) -> Result<Object, Fault> {
        let place = self.locate(id)?.ok_or_else(|| self.missing(id))?;
        let object = self.object_at(id, place, decoder, limit)?.map_err(|broken| self.broken(id, place, &broken))?;
        if self.format().matches(id, object.kind, &object.bytes) { Ok(object) } else { Err(self.lies(id, place)) }
    }
}

/// The most bytes of a commit, tag or tree.
const TREE_LIMIT: u64 = 1 << 30;

/// How many trees are looked through for where blobs are.
const MOST_TREES: usize = 50_000;

/// How many tags may stand before a commit.
const TAG_DEPTH: usize = 64;

fn malformed(id: &ObjectId, what: &'static str) -> Fault {
    Fault::Malformed { oid: id.to_string(), what: SafeText::new(what) }
}
