//! Text inside of strings: quotes and line breaks that were escaped once or twice.
//!
//! Promise: near every escaped quote, and every one that is an entity of XML, the text is also read with its
//! escapes undone, so that a value in JSON inside of JSON or of XML, in a notebook or in a string of code stands
//! between quotes as it does elsewhere.

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
        let plain = memchr::memchr2(b'\\', b'&', rest).unwrap_or(rest.len());
        undone.text.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        let Some(escape @ [first, second, ..]) = rest.get(plain..).filter(|escape| escape.len() >= 2) else {
            undone.text.extend_from_slice(rest.get(plain..).unwrap_or_default());
            break;
        };
        let meant = if *first == b'&' { entity(escape) } else { meaning(*second).map(|byte| (byte, 2)) };
        match meant {
            Some((byte, length)) => {
                undone.text.push(byte);
                at += length;
                undone.go_on(at, 1);
            }
            None => {
                undone.text.push(*first);
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

/// What an entity at the beginning of a text stands for, and its length.
fn entity(text: &[u8]) -> Option<(u8, usize)> {
    const ENTITIES: &[(&[u8], u8)] = &[
        (b"&quot;", b'"'),
        (b"&#34;", b'"'),
        (b"&#x22;", b'"'),
        (b"&apos;", b'\''),
        (b"&#39;", b'\''),
        (b"&#x27;", b'\''),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&amp;", b'&'),
    ];
    ENTITIES.iter().find(|(entity, _)| text.starts_with(entity)).map(|(entity, byte)| (*byte, entity.len()))
}

/// The parts of a text near escaped quotes. Apostrophes stand in prose, where no value is near.
pub(super) fn parts(text: &[u8]) -> Vec<Span> {
    let quotes = memchr::memchr2_iter(b'\\', b'&', text).filter_map(|at| {
        let escape = text.get(at..).unwrap_or_default();
        let length = match escape {
            [b'\\', b'"' | b'\'', ..] => 2,
            [b'&', b'q' | b'#', ..] => entity(escape).filter(|(byte, _)| *byte == b'"')?.1,
            _ => return None,
        };
        Some((at, at + length))
    });
    rewritten::islands(quotes, AROUND, text.len())
}
