//! Base64 that is wrapped in lines: as `base64` writes it, in block scalars of YAML, mails and adjacent strings.
//!
//! Promise: each such block is also read as one line, where it is decoded as a whole; a credential across two of its
//! lines is found. What a PEM block says is bytes, and is not text when it is decoded.

use super::matcher::Span;
use super::rewritten::Rewritten;

/// The shortest line that is wrapped: `base64` of 24 bytes.
const SHORTEST_LINE: usize = 32;
/// The most that stands between two lines: an indent, quotes and the sign that joins strings.
const WIDEST_GAP: usize = 100;

/// Every block of a text; `runs` are its long runs of value characters, in order.
pub(super) fn parts(text: &[u8], runs: &[Span]) -> Vec<Rewritten> {
    let mut parts = Vec::new();
    let mut lines: Vec<Span> = Vec::new();
    for &run in runs {
        if run.1 - run.0 < SHORTEST_LINE {
            continue;
        }
        let Some(line) = digits(text, run).filter(|line| line.1 - line.0 >= SHORTEST_LINE) else { continue };
        let goes_on = lines.last().is_some_and(|last| {
            lines.first().is_some_and(|first| last.1 - last.0 == first.1 - first.0)
                && line.1 - line.0 <= last.1 - last.0
                && is_gap(text.get(last.1..line.0).unwrap_or_default())
        });
        if !goes_on {
            parts.extend(joined(text, &lines));
            lines.clear();
        }
        lines.push(line);
    }
    parts.extend(joined(text, &lines));
    parts
}

/// The digits of base64 in a run of value characters, without a name before them.
pub(super) fn digits(text: &[u8], run: Span) -> Option<Span> {
    let bytes = text.get(run.0..run.1)?;
    let end = bytes.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    let mut start = end;
    // Many at once, while all of them are digits.
    for block in bytes.get(..end)?.rchunks(BLOCK) {
        if block.iter().fold(true, |all, &byte| all & is_digit(byte)) {
            start -= block.len();
            continue;
        }
        start -= block.len() - block.iter().rposition(|&byte| !is_digit(byte)).map_or(0, |at| at + 1);
        break;
    }
    Some((run.0 + start, run.1))
}

/// So many bytes are judged at once.
const BLOCK: usize = 32;

/// A digit of base64, in either alphabet.
pub(super) const fn is_digit(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26)
        | (byte.wrapping_sub(b'0') < 10)
        | (byte == b'+')
        | (byte == b'/')
        | (byte == b'-')
        | (byte == b'_')
}

/// Whether nothing but a line break, an indent, quotes and what joins strings stands there.
fn is_gap(between: &[u8]) -> bool {
    let is_joint = |byte: &u8| {
        matches!(
            byte,
            b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'+' | b',' | b'\\' | b'n' | b'.' | b'>' | b'#' | b'*'
        )
    };
    (1..=WIDEST_GAP).contains(&between.len())
        && between.iter().all(is_joint)
        && (between.contains(&b'\n') || between.starts_with(b"\\n"))
}

/// Some lines as one, with the digits behind the last break, too few for a line of their own.
fn joined(text: &[u8], lines: &[Span]) -> Option<Rewritten> {
    let last = lines.last()?;
    let tail = tail(text, *last).filter(|_| {
        lines.first().is_some_and(|first| last.1 - last.0 == first.1 - first.0) && (last.1 - last.0).is_multiple_of(4)
    });
    if lines.len() + usize::from(tail.is_some()) < 2 {
        return None;
    }
    let mut copy = Rewritten::default();
    for line in lines.iter().chain(&tail) {
        copy.go_on(line.0, 1);
        copy.text.extend_from_slice(text.get(line.0..line.1)?);
    }
    Some(copy)
}

/// The last, short line of a block.
fn tail(text: &[u8], last: Span) -> Option<Span> {
    let start = gap(text, last.1)?;
    let digits = text.get(start..)?;
    let length = digits.iter().position(|byte| !is_digit(*byte) && *byte != b'=').unwrap_or(digits.len());
    (length <= last.1 - last.0).then_some((start, start + length))
}

/// Where the digits of the next line begin, if nothing but a gap stands before them.
pub(super) fn gap(text: &[u8], end: usize) -> Option<usize> {
    let behind = text.get(end..)?;
    let window = behind.get(..behind.len().min(WIDEST_GAP + 1))?;
    let start = window.iter().position(|byte| is_digit(*byte) && !matches!(byte, b'+' | b'-'))?;
    is_gap(window.get(..start)?).then_some(end + start)
}
