//! Text inside of strings: quotes and line breaks that were escaped once or twice.
//!
//! Promise: near every escaped quote the text is also read with its escapes undone, so that a value in
//! JSON inside of JSON, in a notebook or in a string of code stands between quotes as it does elsewhere.

use super::matcher::Span;

/// What is read on either side of an escaped quote.
const AROUND: usize = 400;

/// A part of a text with its escapes undone.
#[derive(Debug)]
pub(super) struct Unescaped {
    pub(super) text: Vec<u8>,
    /// In the text and in the copy: where both go on behind an escape.
    steps: Vec<(usize, usize)>,
}

impl Unescaped {
    /// Undoes one level of escapes in a part of `text`.
    pub(super) fn new(text: &[u8], part: Span) -> Self {
        let mut undone = Self { text: Vec::with_capacity(part.1 - part.0), steps: vec![(part.0, 0)] };
        let mut at = part.0;
        while let Some(rest) = text.get(at..part.1).filter(|rest| !rest.is_empty()) {
            let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            undone.text.extend_from_slice(rest.get(..plain).unwrap_or_default());
            at += plain;
            let Some(escape) = rest.get(plain..plain + 2) else {
                undone.text.extend_from_slice(rest.get(plain..).unwrap_or_default());
                break;
            };
            match escape.get(1).copied().and_then(meaning) {
                Some(byte) => {
                    undone.text.push(byte);
                    at += 2;
                    undone.steps.push((at, undone.text.len()));
                }
                None => {
                    undone.text.push(b'\\');
                    at += 1;
                }
            }
        }
        undone
    }

    /// Where a place of the copy is in the text.
    pub(super) fn original(&self, place: usize) -> usize {
        let step = self.steps.partition_point(|step| step.1 <= place).saturating_sub(1);
        self.steps.get(step).map_or(place, |step| step.0 + (place - step.1))
    }
}

fn meaning(escaped: u8) -> Option<u8> {
    match escaped {
        b'"' | b'\'' | b'\\' | b'/' => Some(escaped),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

/// The parts of a text near escaped quotes.
pub(super) fn parts(text: &[u8]) -> Vec<Span> {
    let mut parts: Vec<Span> = Vec::new();
    for at in memchr::memchr_iter(b'\\', text) {
        if !matches!(text.get(at + 1), Some(b'"' | b'\'')) {
            continue;
        }
        let (start, end) = (at.saturating_sub(AROUND), (at + 2 + AROUND).min(text.len()));
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => parts.push((start, end)),
        }
    }
    parts
}
