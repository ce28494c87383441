//! Signs of several bytes that are letters in another case, and copies of their surroundings in which
//! they are plain letters.
//!
//! Promise: a keyword or text that holds such a sign stands, as plain ASCII, in one of the copies.

use super::matcher::Span;

/// The signs, and what they count as: the Kelvin sign, the capital I with a dot, the long s.
pub(super) const SIGNS: [(&str, u8); 3] = [("\u{212A}", b'k'), ("\u{0130}", b'i'), ("\u{017F}", b's')];

/// What is kept on either side of a sign: the longest text that a pattern is looked for by, every
/// letter of it a sign of three bytes.
const AROUND: usize = 128;

/// A part of a text with plain letters for its signs.
#[derive(Debug)]
pub(super) struct PlainPart {
    pub(super) text: Vec<u8>,
    signs: Vec<Sign>,
    /// Where the part begins in the text.
    start: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sign {
    /// In the copy.
    at: usize,
    letter: u8,
    /// Where the text goes on behind it.
    behind: usize,
}

impl PlainPart {
    /// Where a place of the copy is in the text.
    pub(super) fn original(&self, place: usize) -> usize {
        let passed = self.signs.partition_point(|sign| sign.at < place);
        match passed.checked_sub(1).and_then(|last| self.signs.get(last)) {
            Some(sign) => sign.behind + (place - sign.at - 1),
            None => self.start + place,
        }
    }

    /// Whether one of the signs counts as this letter of a keyword.
    pub(super) fn holds_keyword_letter(&self, letter: u8) -> bool {
        self.signs.iter().any(|sign| sign.letter == letter && letter != b's')
    }

    /// Whether a long s stands there: a regex that ignores case takes it for an `s`, a keyword does not.
    pub(super) fn holds_long_s(&self, span: Span) -> bool {
        self.signs.iter().any(|sign| sign.letter == b's' && (span.0..span.1).contains(&sign.at))
    }
}

/// Where the signs stand.
pub(super) fn places(text: &[u8]) -> Vec<usize> {
    let is_sign = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        SIGNS.iter().any(|(sign, _)| rest.starts_with(sign.as_bytes()))
    };
    let mut places: Vec<usize> = memchr::memchr2_iter(0xC4, 0xC5, text).filter(is_sign).collect();
    let before = places.len();
    places.extend(memchr::memmem::find_iter(text, SIGNS[0].0));
    if before > 0 && places.len() > before {
        places.sort_unstable();
    }
    places
}

/// Copies of the surroundings of the signs at `places` (ascending), which may be as long as `longest`.
pub(super) fn parts(text: &[u8], places: &[usize], longest: usize) -> Vec<PlainPart> {
    let around = AROUND.max(longest * 3);
    let mut parts = Vec::new();
    let mut places = places.iter().copied().peekable();
    while let Some(first) = places.next() {
        let start = first.saturating_sub(around);
        let mut end = first + around;
        while let Some(next) = places.next_if(|&next| next.saturating_sub(around) <= end) {
            end = next + around;
        }
        parts.push(copy(text, start, end.min(text.len())));
    }
    parts
}

fn copy(text: &[u8], start: usize, end: usize) -> PlainPart {
    let mut part = PlainPart { text: Vec::with_capacity(end - start), signs: Vec::new(), start };
    let mut at = start;
    while let Some(rest) = text.get(at..end).filter(|rest| !rest.is_empty()) {
        match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign.as_bytes())) {
            Some(&(sign, letter)) => {
                at += sign.len();
                part.signs.push(Sign { at: part.text.len(), letter, behind: at });
                part.text.push(letter);
            }
            None => {
                part.text.extend(rest.first());
                at += 1;
            }
        }
    }
    part
}
