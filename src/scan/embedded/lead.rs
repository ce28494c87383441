//! What can stand directly before a text.
//!
//! Promise: where the byte before a text is none that its [`Lead`] admits, no match has the text there.

use super::class::ByteSet;
use super::translate::{Look, Node};

/// Which bytes can stand directly before a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lead {
    pub(super) bytes: ByteSet,
    /// Nothing can, at the beginning of everything.
    pub(super) nothing: bool,
}

impl Lead {
    /// Anything.
    pub(super) const ANY: Self = Self { bytes: ByteSet::ALL, nothing: true };
    const NEVER: Self = Self { bytes: ByteSet::NONE, nothing: false };

    /// Of texts before which these parts of a pattern stand, the innermost sequence first.
    pub(super) fn of<'n>(fronts: impl DoubleEndedIterator<Item = &'n [Node]>, texts: &[Vec<u8>]) -> Self {
        let begins = Begins::of(texts);
        fronts.rev().fold(Self::ANY, |outer, nodes| begins.behind(nodes, outer))
    }

    /// Whether what stands before a place of a text is such.
    #[inline]
    pub(super) fn admits(&self, text: &[u8], place: usize) -> bool {
        match place.checked_sub(1).and_then(|before| text.get(before)) {
            Some(&byte) => self.bytes.contains(byte),
            None => self.nothing,
        }
    }

    /// What either of the two admits.
    pub(super) fn or(self, other: Self) -> Self {
        Self { bytes: self.bytes.union(other.bytes), nothing: self.nothing || other.nothing }
    }

    fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes.intersection(other.bytes), nothing: self.nothing && other.nothing }
    }
}

/// With what texts begin.
#[derive(Clone, Copy)]
struct Begins {
    /// Whether that is a word's byte, where it is the same for all.
    is_word: Option<bool>,
}

impl Begins {
    fn of(texts: &[Vec<u8>]) -> Self {
        let mut words = texts.iter().map(|text| text.first().is_some_and(|&byte| is_word(byte)));
        let first = words.next();
        Self { is_word: first.filter(|&first| words.all(|one| one == first)) }
    }

    /// What stands before a text behind some parts. `outer`: what can stand before these.
    fn behind(self, nodes: &[Node], outer: Lead) -> Lead {
        nodes.iter().fold(outer, |before, node| self.behind_one(node, before))
    }

    fn behind_one(self, node: &Node, before: Lead) -> Lead {
        match node {
            Node::Empty => before,
            Node::Look(look) => before.and(self.behind_look(*look)),
            Node::AnyByte => Lead { bytes: ByteSet::ALL, nothing: false },
            Node::Set(set) => Lead { bytes: set.byte_set(), nothing: false },
            Node::Group(_, node) => self.behind_one(node, before),
            Node::Concat(nodes) => self.behind(nodes, before),
            Node::Either(nodes) => nodes.iter().map(|node| self.behind_one(node, before)).fold(Lead::NEVER, Lead::or),
            // What a round admits beyond the first is what a part of it that takes text ends with.
            Node::Repeat { node, least, .. } => {
                let round = self.behind_one(node, before);
                if *least == 0 { round.or(before) } else { round }
            }
        }
    }

    fn behind_look(self, look: Look) -> Lead {
        let words = |wanted: bool| {
            let bytes = if wanted { ByteSet::WORD } else { ByteSet::WORD.negated() };
            Lead { bytes, nothing: !wanted }
        };
        match (look, self.is_word) {
            (Look::TextStart, _) => Lead { bytes: ByteSet::NONE, nothing: true },
            (Look::LineStart, _) => {
                let mut bytes = ByteSet::NONE;
                bytes.insert(b'\n');
                Lead { bytes, nothing: true }
            }
            (Look::Word, Some(is_word)) => words(!is_word),
            (Look::NotWord, Some(is_word)) => words(is_word),
            // What is looked at is the text itself, or it is not known.
            (Look::TextEnd | Look::LineEnd, _) | (Look::Word | Look::NotWord, None) => Lead::ANY,
        }
    }
}

fn is_word(byte: u8) -> bool {
    ByteSet::WORD.contains(byte)
}
