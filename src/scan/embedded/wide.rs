//! Text of two or four bytes a character: UTF-16 and UTF-32, whole files of it or parts of binaries.
//!
//! Promise: ASCII characters with zero bytes between them are also read without these, in either byte
//! order, with a byte order mark or without, wherever they begin; other characters among them become
//! question marks, since no credential is made of them.

use super::rewritten::Rewritten;

/// So many characters in a row are taken for text.
const SHORTEST: usize = 8;
/// So many others in a row end it.
const MOST_OTHERS: usize = 256;

/// Every part of a text that has wide characters, with one byte for each of them.
pub(super) fn parts(text: &[u8]) -> Vec<Rewritten> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(zero) = text.get(from..).and_then(|rest| memchr::memchr(0, rest)).map(|at| from + at) {
        // The character before the zero is the first one; earlier ones would have had zeros too.
        let begin = zero.saturating_sub(1).max(from.saturating_sub(1));
        let found = [4, 2].into_iter().find(|&stride| characters(text, begin, stride) >= SHORTEST);
        from = match found {
            Some(stride) => {
                let part = narrow(text, begin, stride);
                let end = part.original(part.text.len());
                parts.push(part);
                end.max(zero + 1)
            }
            None => zero + 1,
        };
    }
    parts
}

fn is_character(text: &[u8], at: usize, stride: usize) -> bool {
    let Some((&first, zeros)) =
        text.get(at..).and_then(|rest| rest.get(..stride.min(rest.len()))).and_then(<[u8]>::split_first)
    else {
        return false;
    };
    // At the very end of big-endian text the zeros stand before.
    matches!(first, b'\t' | b'\n' | b'\r' | b' '..=b'~') && zeros.iter().all(|&byte| byte == 0)
}

/// How many ASCII characters stand in a row, up to [`SHORTEST`].
fn characters(text: &[u8], begin: usize, stride: usize) -> usize {
    (0..SHORTEST).take_while(|count| is_character(text, begin + count * stride, stride)).count()
}

fn narrow(text: &[u8], begin: usize, stride: usize) -> Rewritten {
    let mut part = Rewritten::default();
    part.go_on(begin, stride);
    let mut others = 0;
    let mut at = begin;
    while at < text.len() && others < MOST_OTHERS {
        let is_whole = at + stride <= text.len();
        // No text holds zeros; another kind of text can follow, of more bytes a character.
        if is_whole && text.get(at..at + stride).is_some_and(|unit| unit.iter().all(|&byte| byte == 0)) {
            break;
        }
        if (is_whole || others == 0) && is_character(text, at, stride) {
            others = 0;
            part.text.extend(text.get(at));
        } else {
            others += 1;
            part.text.push(b'?');
        }
        at += stride;
    }
    part.text.truncate(part.text.len() - others);
    part
}
