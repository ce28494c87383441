//! Which bytes can stand at which distance behind a text.
//!
//! Promise: where the bytes behind a text are not such as its [`Profile`] admits, no match goes on there.

use super::class::{ByteSet, CodeSet};
use super::translate::Node;

/// So many bytes behind a text are checked one by one before a regex is started.
pub(super) const PROFILE: usize = 32;
/// So many bytes of a part are checked before it is walked.
const ENTRY: usize = 3;
/// Positions 0 to [`PROFILE`] as bits.
const WITHIN: u64 = (1 << (PROFILE + 1)) - 1;

/// Which bytes can stand at which distance behind a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    /// For each distance that is bound.
    pub(super) places: Vec<ByteSet>,
}

impl Profile {
    /// Of what stands behind a text.
    pub(super) fn of<'n>(parts: impl Iterator<Item = &'n Node>) -> Self {
        let mut profile = Self { places: vec![ByteSet::NONE; PROFILE] };
        let mut ends = 1_u64;
        for node in parts {
            ends = profile.walk(node, ends);
        }
        // Where the pattern can end, anything may follow.
        profile.places.truncate((ends | 1 << PROFILE).trailing_zeros() as usize);
        profile
    }

    /// Of the first bytes of a part that is more than a class.
    pub(super) fn entry(node: &Node) -> Self {
        let class = |node: &Node| matches!(node, Node::Set(_));
        let is_class = class(node) || matches!(node, Node::Repeat { node, .. } if class(node));
        let mut entry = if is_class { Self { places: Vec::new() } } else { Self::of(std::iter::once(node)) };
        entry.places.truncate(ENTRY);
        entry
    }

    /// Adds what `node` can hold when it starts at one of the distances `starts`; where it can end.
    fn walk(&mut self, node: &Node, starts: u64) -> u64 {
        if starts == 0 {
            return 0;
        }
        match node {
            Node::Empty | Node::Look(_) => starts,
            Node::AnyByte => {
                self.allow(ByteSet::ALL, starts);
                starts << 1 & WITHIN
            }
            Node::Set(set) => self.walk_set_repeated(set, starts, 1, Some(1)),
            Node::Group(_, node) => self.walk(node, starts),
            Node::Concat(nodes) => nodes.iter().fold(starts, |starts, node| self.walk(node, starts)),
            Node::Either(nodes) => nodes.iter().fold(0, |ends, node| ends | self.walk(node, starts)),
            Node::Repeat { node, least, most, .. } => {
                if let Node::Set(set) = &**node {
                    return self.walk_set_repeated(set, starts, *least, *most);
                }
                let mut ends = if *least == 0 { starts } else { 0 };
                let mut round = starts;
                let rounds = most.unwrap_or(u32::MAX).min(*least + PROFILE as u32 + 1);
                for count in 1..=rounds {
                    round = self.walk(node, round);
                    if count >= *least {
                        if ends | round == ends && round != 0 {
                            break;
                        }
                        ends |= round;
                    }
                    if round == 0 {
                        break;
                    }
                }
                ends
            }
        }
    }

    /// The most frequent case, in one step instead of one per round.
    fn walk_set_repeated(&mut self, set: &CodeSet, starts: u64, least: u32, most: Option<u32>) -> u64 {
        let (shortest, longest) = set.lengths();
        let mut ends = if least == 0 { starts } else { 0 };
        let (mut round, mut held) = (starts, 0);
        for count in 1..=most.unwrap_or(u32::MAX).min(least.saturating_add(PROFILE as u32 + 1)) {
            (0..longest).for_each(|offset| held |= round << offset);
            round = (shortest..=longest).fold(0, |ends, length| ends | round << length) & WITHIN;
            if count >= least {
                ends |= round;
            }
            if round == 0 {
                break;
            }
        }
        self.allow(set.byte_set(), held);
        ends
    }

    fn allow(&mut self, bytes: ByteSet, at: u64) {
        for (place, allowed) in self.places.iter_mut().enumerate() {
            if at >> place & 1 == 1 {
                *allowed = allowed.union(bytes);
            }
        }
    }

    /// Whether the bytes behind a text are such as the pattern wants.
    #[inline]
    pub(super) fn admits(&self, behind: &[u8]) -> bool {
        // A text that ends before the pattern can has no match.
        let Some(behind) = behind.get(..self.places.len()) else { return false };
        for (place, allowed) in self.places.iter().enumerate() {
            if !behind.get(place).is_some_and(|&byte| allowed.contains(byte)) {
                return false;
            }
        }
        true
    }
}
