//! Text inside of strings: quotes and line breaks that were escaped once or twice.
//!
//! Promise: near every escaped quote the text is also read with its escapes undone, so that a value in
//! JSON inside of JSON, in a notebook or in a string of code stands between quotes as it does elsewhere.

use super::matcher::Span;
use super::rewritten::{self, Rewritten};

/// What is read on either side of an escaped quote.
const AROUND: usize = 400;

/// Undoes one level of escapes in a part of `text`.
pub(super) fn undone(text: &[u8], part: Span) -> Rewritten {
    let mut undone = Rewritten::default();
    undone.text.reserve(part.1 - part.0);
    let mut at = part.0;
    undone.go_on(at, 1);
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
                undone.go_on(at, 1);
            }
            None => {
                undone.text.push(b'\\');
                at += 1;
            }
        }
    }
    undone
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
    let is_quote = |at: &usize| matches!(text.get(at + 1), Some(b'"' | b'\''));
    let quotes = memchr::memchr_iter(b'\\', text).filter(is_quote).map(|at| (at, at + 2));
    rewritten::islands(quotes, AROUND, text.len())
}
