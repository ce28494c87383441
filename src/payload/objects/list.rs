//! The manifest: what a walk marked, with kind and size from object headers, in reading order.
//!
//! Reading order is by chains of deltas: an object, then what is made from it, so that every base is
//! at hand when it is needed.

use std::collections::HashMap;

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::decode::Decoder;
use super::delta::Broken;
use super::pack::{Pack, Packed};
use super::store::{ObjectStore, Place};
use super::table::{self, Node, Number};
use super::walk::Walk;
use crate::payload::{Elsewhere, Fault, Item, ItemKind};

impl ObjectStore {
    /// Every object that `tips` reach and `boundary` does not, with sizes from object headers, in the
    /// order in which reading is cheapest. Boundary ids that are not here exclude nothing.
    ///
    /// # Errors
    /// When an object that is to be sent is missing or cannot be followed, or the store may lie.
    pub fn reachable(&self, tips: &[ObjectId], boundary: &[ObjectId]) -> Result<Vec<Item>, Fault> {
        self.hints.readable()?;
        let mut walk = Walk::new(self);
        walk.run(tips, boundary)?;
        let items = self.manifest(walk)?;
        if let Some(asker) = &self.asker {
            let here: Vec<ObjectId> = boundary.iter().filter(|id| self.has(id)).copied().collect();
            self.hints.bitmaps_agree(asker, tips, &here, &items)?;
        }
        Ok(items)
    }

    /// The items for objects that are named one by one: nothing is followed.
    ///
    /// # Errors
    /// When one is missing or its header cannot be read.
    pub fn items(&self, ids: &[ObjectId]) -> Result<Vec<Item>, Fault> {
        let mut decoder = Decoder::new();
        ids.iter()
            .map(|id| {
                let (kind, size) = self.header(id, &mut decoder)?;
                Ok(Item {
                    kind: item_kind(kind),
                    oid: Some(*id),
                    size,
                    path: None,
                    commit: None,
                    elsewhere: Elsewhere::Nowhere,
                })
            })
            .collect()
    }

    /// Kind and size of an object from its header.
    ///
    /// # Errors
    /// When it is not here or its header cannot be read.
    pub(super) fn header(&self, id: &ObjectId, decoder: &mut Decoder) -> Result<(Kind, u64), Fault> {
        let place = self.locate(id)?.ok_or_else(|| self.missing(id))?;
        match place {
            Place::Loose(number) => self.loose_header(id, number),
            Place::Packed(packed) => {
                let pack = self.pack(packed)?;
                let sizes = Chains::default().resolve(pack, packed.offset, &mut decoder.inflate);
                sizes.map(|(link, size)| (link.kind, size)).map_err(|broken| self.broken(id, place, &broken))
            }
        }
    }

    /// Every object that its packs name, with path and commit where these are among them.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(in crate::payload) fn everything(&self) -> Result<Vec<Item>, Fault> {
        let mut walk = Walk::new(self);
        walk.run_over(&self.all_ids()?)?;
        self.manifest(walk)
    }

    fn manifest(&self, walk: Walk<'_>) -> Result<Vec<Item>, Fault> {
        let tolerant = walk.is_tolerant();
        let (nodes, paths, others) = walk.finish();
        let mut rows = Vec::with_capacity(nodes.iter().filter(|node| node.listed && !node.excluded).count());
        for (number, node) in (0_u32..).zip(&nodes) {
            if node.listed && !node.excluded {
                let place = match self.locate(&node.id)? {
                    Some(place) => place,
                    None if tolerant => continue,
                    None => return Err(self.missing(&node.id)),
                };
                rows.push(Row { place, chain: 0, depth: 0, size: 0, node: number, kind: node.kind });
            }
        }
        // Bases stand before what is made from them: then each chain is followed one step only.
        rows.sort_unstable_by_key(|row| row.place);
        self.read_headers(&nodes, &mut rows)?;
        rows.sort_unstable_by_key(Row::key);
        let item = |row: Row| {
            let node = &nodes[row.node as usize];
            let commit = table::at(&nodes, node.commit).map(|commit| commit.id);
            let elsewhere = others.of(Number::of(row.node), node.path, &paths);
            let (path, oid) = (paths.whole(node.path), Some(node.id));
            Item { kind: item_kind(row.kind), oid, size: row.size, path, commit, elsewhere }
        };
        Ok(rows.into_iter().map(item).collect())
    }

    fn read_headers(&self, nodes: &[Node], rows: &mut [Row]) -> Result<(), Fault> {
        let mut decoder = Decoder::new();
        let (mut chains, mut of_pack) = (Chains::default(), None);
        for row in rows {
            let id = &nodes[row.node as usize].id;
            match row.place {
                Place::Loose(number) => (row.kind, row.size) = self.loose_header(id, number)?,
                Place::Packed(packed) => {
                    if of_pack.replace(packed.pack) != Some(packed.pack) {
                        chains = Chains::default();
                    }
                    let pack = self.pack(packed)?;
                    let (link, size) = chains
                        .resolve(pack, packed.offset, &mut decoder.inflate)
                        .map_err(|broken| self.broken(id, row.place, &broken))?;
                    (row.kind, row.size) = (link.kind, size);
                    (row.chain, row.depth) = (link.root, link.depth);
                }
            }
        }
        Ok(())
    }
}

/// An object that is to be listed.
struct Row {
    place: Place,
    /// The offset of the first object of its chain of deltas.
    chain: u64,
    size: u64,
    /// How far it stands from that.
    depth: u32,
    node: u32,
    kind: Kind,
}

impl Row {
    /// Loose ones last; packed ones by pack, chain, depth and offset.
    fn key(&self) -> (bool, u32, u64, u32, u64) {
        match self.place {
            Place::Packed(Packed { pack, offset }) => (false, pack, self.chain, self.depth, offset),
            Place::Loose(number) => (true, number, 0, 0, u64::from(self.node)),
        }
    }
}

/// Where an entry stands among the deltas of its pack.
#[derive(Clone, Copy)]
pub(super) struct Link {
    root: u64,
    depth: u32,
    kind: Kind,
}

/// Follows chains of deltas by headers alone, each step once.
#[derive(Default)]
pub(super) struct Chains {
    known: HashMap<u64, Link, foldhash::fast::RandomState>,
    open: Vec<u64>,
}

impl Chains {
    /// How long a chain may be; this ends a circle.
    const LIMIT: usize = 1 << 14;

    /// Where the entry at `offset` stands, and the size of its object.
    fn resolve(&mut self, pack: &Pack, offset: u64, inflate: &mut gix::zlib::Inflate) -> Result<(Link, u64), Broken> {
        let entry = pack.entry(offset)?;
        let size = pack.object_size(&entry, inflate)?;
        self.open.clear();
        let (mut at, mut entry) = (offset, entry);
        let mut link = loop {
            if let Some(link) = self.known.get(&at) {
                break *link;
            }
            if let Some(kind) = entry.header.as_kind() {
                let link = Link { root: at, depth: 0, kind };
                self.known.insert(at, link);
                break link;
            }
            if self.open.len() >= Self::LIMIT {
                return Err(Broken::Corrupt("a chain of deltas does not end"));
            }
            self.open.push(at);
            at = pack.base_offset(&entry)?.ok_or(Broken::Corrupt("a pack entry has no kind"))?;
            entry = pack.entry(at)?;
        };
        while let Some(at) = self.open.pop() {
            link.depth += 1;
            self.known.insert(at, link);
        }
        Ok((link, size))
    }
}

/// An object's kind as that of an item.
pub(super) fn item_kind(kind: Kind) -> ItemKind {
    match kind {
        Kind::Blob => ItemKind::Blob,
        Kind::Commit => ItemKind::Commit,
        Kind::Tree => ItemKind::Tree,
        Kind::Tag => ItemKind::Tag,
    }
}
