//! Which matches of a rule count for its keywords.
//!
//! Promise: a match counts where a keyword stands so near that gitleaks could have both in one fragment.

use super::allowlist;
use super::matcher::Span;

/// How far from a match a keyword of its rule still counts, as far as one fragment of gitleaks reaches.
const KEYWORD_REACH: usize = 125_000;

/// Where keywords of a rule occurred: a bit for each block of a text, the last one for all that follow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gate(u128);

/// Bytes of a block. Longer texts than 128 of them are read in windows.
const BLOCK: usize = 32 << 10;

impl Gate {
    /// Every match counts.
    pub(super) const OPEN: Self = Self(u128::MAX);

    /// A keyword begins here.
    pub(super) fn at(place: usize) -> Self {
        Self(1 << (place / BLOCK).min(127))
    }

    /// No keyword occurred.
    pub(super) fn is_shut(self) -> bool {
        self.0 == 0
    }

    /// Whether a keyword occurred so near that gitleaks could have both in one fragment.
    pub(super) fn is_near(self, span: Span) -> bool {
        let first = span.0.saturating_sub(KEYWORD_REACH) / BLOCK;
        let last = (span.1 + KEYWORD_REACH) / BLOCK;
        self.0 == u128::MAX || self.0 & (u128::MAX << first.min(127)) & (u128::MAX >> (127 - last.min(127))) != 0
    }

    /// The parts of a text of this length that hold every match that counts, with so many bytes round it.
    pub(super) fn near(self, length: usize, around: usize) -> Vec<Span> {
        let mut near: Vec<Span> = Vec::new();
        if self.0 == u128::MAX {
            near.push((0, length));
            return near;
        }
        for block in (0..128).filter(|block| self.0 >> block & 1 == 1) {
            let begin = block * BLOCK;
            let start = begin.saturating_sub(KEYWORD_REACH + around).min(length);
            let end = if block == 127 { length } else { (begin + BLOCK + KEYWORD_REACH + around).min(length) };
            match near.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => near.push((start, end)),
            }
        }
        near
    }

    /// A keyword occurred there too.
    pub(super) fn widen(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Keywords of a rule that is found by other words: looked for once it has found something.
pub(super) struct Nearby<'t> {
    keywords: &'t [String],
    text: &'t [u8],
    /// Where they occur, once that was asked.
    gate: Option<Gate>,
}

/// Most matches hold a keyword, or have one so near.
const CLOSE: usize = 256;

impl<'t> Nearby<'t> {
    pub(super) fn new(keywords: &'t [String], text: &'t [u8]) -> Self {
        Self { keywords, text, gate: None }
    }

    /// Whether one of them stands so near that gitleaks could have both in one fragment.
    pub(super) fn stand_near(&mut self, span: Span) -> bool {
        let close = self.text.get(span.0.saturating_sub(CLOSE)..(span.1 + CLOSE).min(self.text.len()));
        if self.keywords.is_empty() || close.is_some_and(|close| self.stand_in(&close.to_ascii_lowercase())) {
            return true;
        }
        let gate = self.gate.unwrap_or_else(|| self.look());
        self.gate = Some(gate);
        gate.is_near(span)
    }

    /// Looks through the whole text.
    fn look(&self) -> Gate {
        let lower = self.text.to_ascii_lowercase();
        let places = self.keywords.iter().flat_map(|keyword| memchr::memmem::find_iter(&lower, keyword.as_bytes()));
        let mut gate = Gate::default();
        places.for_each(|place| gate.widen(Gate::at(place)));
        // Signs that are letters in another case move what stands behind them: then it is near anywhere.
        let is_odd = gate.is_shut() && !self.text.is_ascii() && self.stand_in(&allowlist::lower(self.text));
        if is_odd { Gate::OPEN } else { gate }
    }

    fn stand_in(&self, lower: &[u8]) -> bool {
        self.keywords.iter().any(|keyword| memchr::memmem::find(lower, keyword.as_bytes()).is_some())
    }
}
