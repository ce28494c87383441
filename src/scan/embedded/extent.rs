//! How much text the parts of a pattern take, and which bytes.
//!
//! Promise: a match of a part is never shorter, longer or made of other bytes than its extent says.

use super::class::ByteSet;
use super::translate::Node;

/// How much text a part of a pattern takes, and which bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) least: usize,
    /// In any text; `None` without bound.
    pub(super) most: Option<usize>,
    /// In ASCII text; `None` without bound.
    pub(super) most_ascii: Option<usize>,
    pub(super) bytes: ByteSet,
}

impl Extent {
    pub(super) const NOTHING: Self = Self { least: 0, most: Some(0), most_ascii: Some(0), bytes: ByteSet::NONE };

    pub(super) fn then(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: add(self.most, other.most),
            most_ascii: add(self.most_ascii, other.most_ascii),
            bytes: self.bytes.union(other.bytes),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: larger(self.most, other.most),
            most_ascii: larger(self.most_ascii, other.most_ascii),
            bytes: self.bytes.union(other.bytes),
        }
    }

    fn times(self, least: u32, most: Option<u32>) -> Self {
        let count = |times: u32| usize::try_from(times).unwrap_or(usize::MAX);
        let bound = |one: Option<usize>| match (one, most) {
            (Some(0), _) => Some(0),
            (Some(one), Some(most)) => Some(one.saturating_mul(count(most))),
            (None, Some(0)) => Some(0),
            (None, _) | (_, None) => None,
        };
        Self {
            least: self.least.saturating_mul(count(least)),
            most: bound(self.most),
            most_ascii: bound(self.most_ascii),
            bytes: self.bytes,
        }
    }

    /// What several parts in a row take.
    pub(super) fn sum(extents: impl IntoIterator<Item = Self>) -> Self {
        extents.into_iter().fold(Self::NOTHING, Self::then)
    }
}

fn add(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    Some(one?.saturating_add(other?))
}

fn larger(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    Some(one?.max(other?))
}

/// What a part of a pattern takes.
pub(super) fn extent(node: &Node) -> Extent {
    match node {
        Node::Empty | Node::Look(_) => Extent::NOTHING,
        Node::AnyByte => Extent { least: 1, most: Some(1), most_ascii: Some(1), bytes: ByteSet::ALL },
        Node::Set(set) => {
            let (least, most) = set.lengths();
            Extent { least, most: Some(most), most_ascii: Some(1), bytes: set.byte_set() }
        }
        Node::Group(_, node) => extent(node),
        Node::Concat(nodes) => Extent::sum(nodes.iter().map(extent)),
        Node::Either(nodes) => nodes.iter().map(extent).reduce(Extent::or).unwrap_or(Extent::NOTHING),
        Node::Repeat { node, least, most, .. } => extent(node).times(*least, *most),
    }
}
