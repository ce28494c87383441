//! The delimiter of a here-document: its word with the quotes taken off.

use bstr::BString;

use super::quote::{Ansi, decode_ansi};

/// The delimiter that a raw word stands for, and whether any of it is quoted.
pub(super) fn delimiter_text(raw: &[u8]) -> (BString, bool) {
    let mut text = Vec::with_capacity(raw.len());
    let mut quoted = false;
    let mut at = 0;
    while let Some(byte) = raw.get(at).copied() {
        at += 1;
        match byte {
            b'\\' if raw.get(at) == Some(&b'\n') => at += 1,
            b'\\' => {
                quoted = true;
                text.extend(raw.get(at));
                at += 1;
            }
            b'\'' => {
                quoted = true;
                let inner = until(raw, &mut at, b'\'', false);
                text.extend_from_slice(inner);
            }
            b'$' if raw.get(at) == Some(&b'\'') => {
                quoted = true;
                at += 1;
                let inner = until(raw, &mut at, b'\'', true);
                text.extend_from_slice(&decode_ansi(inner, Ansi::Quote));
            }
            b'$' if raw.get(at) == Some(&b'"') => {}
            b'"' => {
                quoted = true;
                let inner = until(raw, &mut at, b'"', true);
                push_double_quoted(&mut text, inner);
            }
            _ => text.push(byte),
        }
    }
    (BString::new(text), quoted)
}

/// What stands before the next `close`, which is passed over.
fn until<'t>(raw: &'t [u8], at: &mut usize, close: u8, escapes: bool) -> &'t [u8] {
    let start = *at;
    while let Some(byte) = raw.get(*at).copied() {
        if byte == close {
            break;
        }
        *at += if escapes && byte == b'\\' { 2 } else { 1 };
    }
    let end = (*at).min(raw.len());
    *at = end + 1;
    raw.get(start..end).unwrap_or_default()
}

fn push_double_quoted(text: &mut Vec<u8>, inner: &[u8]) {
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match bytes.peek() {
            Some(b'\n') if byte == b'\\' => drop(bytes.next()),
            Some(next @ (b'$' | b'`' | b'"' | b'\\')) if byte == b'\\' => {
                text.push(*next);
                bytes.next();
            }
            _ => text.push(byte),
        }
    }
}
