//! UTF-7: text in which signs stand as `+`, base64 of two bytes a character, and mostly `-`.
//!
//! Promise: near every such run that holds a printable ASCII character the text is also read with its
//! runs decoded. A byte of the decoded text that is no ASCII becomes a question mark.

use super::matcher::Span;
use super::rewritten::{self, Rewritten};

/// What is read on either side of a run.
const AROUND: usize = 400;
/// The shortest run: one character.
const SHORTEST: usize = 3;
/// A longer run is not a few signs in a text, but most likely base64, which is decoded elsewhere; there
/// every 64th character is a `+`.
const LONGEST: usize = 96;

/// Every part of a text that has such runs.
pub(super) fn parts(text: &[u8]) -> Vec<Rewritten> {
    let mut runs = Vec::new();
    let mut free_from = 0;
    for at in memchr::memchr_iter(b'+', text) {
        if at < free_from {
            continue;
        }
        if let Some(run) = Run::at(text, at).filter(Run::is_text) {
            free_from = run.end;
            runs.push((run.start, run.end));
        }
    }
    rewritten::islands(runs, AROUND, text.len()).into_iter().map(|island| decoded(text, island)).collect()
}

/// A run and what it says.
struct Run {
    start: usize,
    end: usize,
    text: Vec<u8>,
}

impl Run {
    fn at(text: &[u8], start: usize) -> Option<Self> {
        let behind = text.get(start + 1..)?;
        let window = behind.get(..LONGEST.min(behind.len()))?;
        let length = window.iter().position(|&byte| digit(byte).is_none()).unwrap_or(window.len());
        // Whole characters of 16 bits, and less than a digit's worth of bits left.
        if length < SHORTEST || !matches!(length % 8, 0 | 3 | 6) {
            return None;
        }
        let text = units(window.get(..length)?)?;
        let closed = usize::from(window.get(length) == Some(&b'-'));
        Some(Self { start, end: start + 1 + length + closed, text })
    }

    fn is_text(&self) -> bool {
        self.text.iter().any(|&byte| byte != b'?')
    }
}

/// The characters of a run; `None` when the bits that are left are not zero, or one is a control character.
fn units(digits: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(digits.len() / 2);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for &byte in digits {
        bits = bits << 6 | digit(byte)?;
        held += 6;
        if held >= 16 {
            held -= 16;
            text.push(narrow(bits >> held)?);
            bits &= (1 << held) - 1;
        }
    }
    (bits == 0).then_some(text)
}

fn narrow(unit: u32) -> Option<u8> {
    match u8::try_from(unit) {
        Ok(byte @ (b'\t' | b'\n' | b'\r' | b' '..=b'~')) => Some(byte),
        Ok(0x00..=0x1F | 0x7F) => None,
        Ok(_) | Err(_) => Some(b'?'),
    }
}

/// What each byte is as a digit of base64; above 63: it is none.
const DIGITS: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut table = [u8::MAX; 256];
    let mut at = 0;
    while at < digits.len() {
        table[digits[at] as usize] = at as u8;
        at += 1;
    }
    table
};

fn digit(byte: u8) -> Option<u32> {
    let digit = DIGITS[usize::from(byte)];
    (digit < 64).then_some(u32::from(digit))
}

/// An island with its runs decoded.
fn decoded(text: &[u8], island: Span) -> Rewritten {
    let mut copy = Rewritten::default();
    let mut at = island.0;
    copy.go_on(at, 1);
    while let Some(rest) = text.get(at..island.1).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'+', rest).unwrap_or(rest.len());
        copy.text.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        if plain == rest.len() {
            break;
        }
        copy.go_on(at, 0);
        if text.get(at + 1) == Some(&b'-') {
            copy.text.push(b'+');
            at += 2;
        } else if let Some(run) = Run::at(text, at).filter(|run| run.is_text() && run.end <= island.1) {
            copy.text.extend_from_slice(&run.text);
            at = run.end;
        } else {
            copy.text.push(b'+');
            at += 1;
        }
        copy.go_on(at, 1);
    }
    copy
}
