//! All objects that a walk has met, each once, with what is known of it.

use std::collections::HashMap;
use std::num::NonZeroU32;

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::paths::PathId;
use crate::payload::Fault;

/// An object's number in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(u32);

impl Number {
    /// No object.
    pub(super) const NONE: Self = Self(u32::MAX);

    /// The number of the object at a place of the table.
    pub(super) fn of(place: u32) -> Self {
        Self(place)
    }
}

/// What a walk knows of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) id: ObjectId,
    /// As the place says from which it was reached; headers are asked later.
    pub(super) kind: Kind,
    /// Reachable from the boundary.
    pub(super) excluded: bool,
    /// Reachable from the tips.
    pub(super) listed: bool,
    /// Where it was met first.
    pub(super) path: PathId,
    /// The commit in which it was met first.
    pub(super) commit: Number,
    /// For a commit that has been read: its place in the walk's own list.
    pub(super) visit: Option<NonZeroU32>,
}

/// All objects.
#[derive(Default)]
pub(super) struct Table {
    index: HashMap<ObjectId, Number, foldhash::fast::RandomState>,
    nodes: Vec<Node>,
}

impl Table {
    /// The number of an object; it is added when it is new.
    pub(super) fn number(&mut self, id: ObjectId, kind: Kind) -> Result<Number, Fault> {
        let next = u32::try_from(self.nodes.len()).ok().filter(|next| *next != u32::MAX);
        let next = Number(next.ok_or_else(|| Fault::Plumbing("there are more than 2^32 objects".into()))?);
        Ok(*self.index.entry(id).or_insert_with(|| {
            let path = PathId::TOP;
            self.nodes.push(Node { id, kind, excluded: false, listed: false, path, commit: Number::NONE, visit: None });
            next
        }))
    }

    /// What is known of an object. Numbers are this table's own, so there is always a node.
    pub(super) fn node(&self, number: Number) -> &Node {
        &self.nodes[number.0 as usize]
    }

    /// The same, to be changed.
    pub(super) fn node_mut(&mut self, number: Number) -> &mut Node {
        &mut self.nodes[number.0 as usize]
    }

    /// The objects alone, to be listed.
    pub(super) fn into_nodes(self) -> Vec<Node> {
        let mut nodes = self.nodes;
        nodes.shrink_to_fit();
        nodes
    }
}

/// The object of this number among a table's nodes.
pub(super) fn at(nodes: &[Node], number: Number) -> Option<&Node> {
    nodes.get(number.0 as usize)
}
