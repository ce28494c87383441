//! What is needed at a place where one of a pattern's texts occurs, to tell whether a match can be there.
//!
//! Promise: it follows from the pattern and the rule's words alone, so that of tyran's own rules the build can
//! work it out (see [`super::compiled`]).

use super::class::ByteSet;
use super::extent::Extent;
use super::factor::Factor;
use super::lead::Lead;
use super::profile::Profile;
use super::runs::Run;
use super::translate::Node;

/// Texts one of which is in every match, in the same place of the pattern, and what stands round them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    /// The texts, in lower case.
    pub(super) texts: Vec<Vec<u8>>,
    /// What stands before the text in a match.
    pub(super) before: Extent,
    /// What stands behind it.
    pub(super) after: Extent,
    /// What can stand directly before the text.
    pub(super) lead: Lead,
    /// A run of bytes that must stand behind the text, not far from it.
    pub(super) run: Option<Run>,
    /// For each of the first bytes behind the text: which can stand there.
    pub(super) profile: Profile,
    pub(super) tail: Tail,
    pub(super) front: Front,
}

/// A text and what stands behind it, as far as that has a bound.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    /// The text, as a pattern.
    pub(super) text: Vec<Piece>,
    pub(super) behind: Vec<Piece>,
    /// How many bytes of ASCII text it can reach.
    pub(super) reach: usize,
}

/// What stands before a text, as far as that has a bound, written from right to left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Front {
    pub(super) pieces: Vec<Piece>,
    /// How many bytes it can take.
    pub(super) reach: usize,
}

/// A part of a pattern, and the bytes it can hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) node: Node,
    pub(super) bytes: ByteSet,
    /// What its first bytes can be, where it is more than a class.
    pub(super) entry: Profile,
}

/// A text relative to a word in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) spot: u16,
    pub(super) text: u16,
    pub(super) offset: u16,
}

/// The spots of a pattern that is searched near its texts.
#[derive(Debug, PartialEq)]
pub(super) struct Spots {
    pub(super) all: Vec<Spot>,
    /// For each word where texts stand relative to it; `None` when some text holds none.
    pub(super) sites: Option<Vec<Vec<Site>>>,
}

impl Spots {
    /// Of factors, when the places of `words` will be known.
    pub(super) fn of(factors: &[Factor], words: &[String]) -> Self {
        Self { all: factors.iter().map(Factor::spot).collect(), sites: sites(factors, words) }
    }
}

/// For each word where the factors' texts stand relative to it; `None` when some text holds none.
pub(super) fn sites(factors: &[Factor], words: &[String]) -> Option<Vec<Vec<Site>>> {
    let mut sites = vec![Vec::new(); words.len()];
    for (factor_place, factor) in factors.iter().enumerate() {
        for (text_place, text) in factor.texts.iter().enumerate() {
            let (word, offset) = words.iter().enumerate().find_map(|(place, word)| {
                let offset = (!word.is_empty()).then(|| memchr::memmem::find(text, word.as_bytes()))??;
                Some((place, offset))
            })?;
            sites.get_mut(word)?.push(Site {
                spot: u16::try_from(factor_place).ok()?,
                text: u16::try_from(text_place).ok()?,
                offset: u16::try_from(offset).ok()?,
            });
        }
    }
    Some(sites)
}

/// A part of a pattern, written from right to left.
pub(super) fn reversed(node: &Node) -> Node {
    match node {
        Node::Group(_, node) => reversed(node),
        Node::Concat(nodes) => Node::Concat(nodes.iter().rev().map(reversed).collect()),
        Node::Either(nodes) => Node::Either(nodes.iter().map(reversed).collect()),
        Node::Repeat { node, least, most, greedy } => {
            Node::Repeat { node: Box::new(reversed(node)), least: *least, most: *most, greedy: *greedy }
        }
        leaf @ (Node::Empty | Node::Set(_) | Node::AnyByte | Node::Look(_)) => leaf.clone(),
    }
}
