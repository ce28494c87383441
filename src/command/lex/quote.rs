//! Quotes: `'…'`, `"…"`, `$'…'`, backquotes.

use std::rc::Rc;

use bstr::BString;

use super::word::Parts;
use super::{Read, Reader};
use crate::command::ast::{Part, Substitution};

impl Reader {
    /// The text up to the closing `'`, which is consumed.
    pub(super) fn single_quoted(&mut self) -> Read<BString> {
        let rest = self.text.get(self.pos..self.end).unwrap_or_default();
        let Some(length) = memchr::memchr(b'\'', rest) else { return self.syntax("closing `'`") };
        let text = BString::from(rest.get(..length).unwrap_or_default());
        self.spend_many(length / 8)?;
        self.pos += length + 1;
        Ok(text)
    }

    /// The whole text as if it stood in double quotes, a `"` in it a character like others.
    ///
    /// # Errors
    /// When an expansion in it has no end, or a limit is reached.
    pub fn whole_as_quoted(mut self) -> Result<Vec<Part>, super::Stop> {
        self.expanding_text(None)
    }

    /// The parts up to the closing `"`, which is consumed.
    pub(super) fn double_quoted(&mut self) -> Read<Vec<Part>> {
        self.descend()?;
        let parts = self.expanding_text(Some(b'"'))?;
        self.ascend();
        Ok(parts)
    }

    /// Text in which only `$`, backquotes and some backslashes mean something: double quotes (up to
    /// `close`), here-documents and operands inside double quotes (up to the end of the region).
    pub(super) fn expanding_text(&mut self, close: Option<u8>) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        loop {
            self.spend()?;
            let byte = self.peek();
            match byte {
                0 if close.is_none() => return Ok(parts.finish()),
                0 => return self.syntax("closing `\"`"),
                b'"' if close == Some(b'"') => {
                    self.pos += 1;
                    return Ok(parts.finish());
                }
                b'\\' => {
                    let next = self.byte(self.pos + 1);
                    let escapes = matches!(next, b'$' | b'`' | b'\\') || (next == b'"' && close.is_some());
                    if !escapes {
                        parts.byte(b'\\');
                        self.pos += 1;
                        continue;
                    }
                    parts.byte(next);
                    self.pos += 2;
                }
                b'$' => self.dollar(&mut parts, true)?,
                b'`' => {
                    let part = self.backquoted(close.is_some())?;
                    parts.part(part);
                }
                _ => {
                    let rest = self.text.get(self.pos..self.end).unwrap_or_default();
                    let length = rest.iter().position(|byte| matches!(byte, b'$' | b'`' | b'"' | b'\\'));
                    let length = length.unwrap_or(rest.len()).max(1);
                    self.spend_many(length / 8)?;
                    parts.bytes(self.text.get(self.pos..self.pos + length).unwrap_or_default());
                    self.pos += length;
                }
            }
        }
    }

    /// An operand within double quotes, read again because a `'` in it quotes nothing.
    pub(super) fn operand_in_quotes(&mut self) -> Read<Vec<Part>> {
        let mut parts = Parts::default();
        loop {
            self.spend()?;
            match self.peek() {
                0 => return Ok(parts.finish()),
                b'"' => {
                    self.pos += 1;
                    let inner = self.double_quoted()?;
                    parts.part(Part::DoubleQuoted(inner));
                }
                b'\\' => {
                    let next = self.byte(self.pos + 1);
                    if matches!(next, b'$' | b'`' | b'\\' | b'"' | b'}') {
                        parts.byte(next);
                        self.pos += 2;
                    } else {
                        parts.byte(b'\\');
                        self.pos += 1;
                    }
                }
                b'$' => self.dollar(&mut parts, true)?,
                b'`' => {
                    let part = self.backquoted(true)?;
                    parts.part(part);
                }
                byte => {
                    parts.byte(byte);
                    self.pos += 1;
                }
            }
        }
    }

    /// A text in backquotes. It ends at the first backquote that no backslash quotes, whatever stands
    /// between; what is left after backslashes are taken off is read as commands of its own.
    pub(super) fn backquoted(&mut self, double_quotes: bool) -> Read<Part> {
        let start = self.pos;
        self.pos += 1;
        let mut code = Vec::new();
        loop {
            match self.peek() {
                0 => return self.syntax("closing backquote"),
                b'`' => break,
                b'\\' => {
                    let next = self.byte(self.pos + 1);
                    let strips = matches!(next, b'$' | b'`' | b'\\') || (double_quotes && next == b'"');
                    if !strips {
                        code.push(b'\\');
                    }
                    if next != 0 {
                        code.push(next);
                    }
                    self.pos += 2;
                }
                byte => {
                    code.push(byte);
                    self.pos += 1;
                }
            }
        }
        self.pos += 1;
        self.spend_many(code.len())?;
        self.descend()?;
        let span = self.span_from(start);
        let (lines, broken) = self.nested(code, span).script()?;
        self.ascend();
        Ok(Part::Substitution(Rc::new(Substitution { lines, broken, span })))
    }

    /// `$'…'`, its closing quote consumed.
    pub(super) fn ansi_quoted(&mut self) -> Read<BString> {
        let start = self.pos;
        loop {
            self.spend()?;
            match self.byte(self.pos) {
                0 => return self.syntax("closing `'`"),
                b'\\' => self.pos += 2,
                b'\'' => break,
                _ => self.pos += 1,
            }
        }
        let text = decode_ansi(self.text.get(start..self.pos).unwrap_or_default(), Ansi::Quote);
        self.pos += 1;
        Ok(text)
    }
}

/// Which escapes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ansi {
    /// `$'…'`.
    Quote,
    /// `echo -e`: octal needs a leading 0; `\c` ends the output.
    Echo,
    /// `printf`'s format.
    Printf,
}

/// Text with the backslash escapes of `$'…'`, `echo -e` or `printf` replaced by what they stand for.
pub fn decode_ansi(text: &[u8], ansi: Ansi) -> BString {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at).copied() {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(escape) = text.get(at).copied() else {
            out.push(b'\\');
            break;
        };
        at += 1;
        match escape {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' | b'E' => out.push(27),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'\\' => out.push(b'\\'),
            b'\'' | b'"' | b'?' if ansi != Ansi::Echo => out.push(escape),
            b'c' if ansi == Ansi::Quote => {
                let control = text.get(at).copied().unwrap_or(b'@');
                at += 1;
                out.push(control.to_ascii_uppercase() & 0x1F);
            }
            b'c' if ansi == Ansi::Echo => break,
            b'x' => push_number(&mut out, text, &mut at, 2, 16, escape),
            b'u' => push_code_point(&mut out, text, &mut at, 4, escape),
            b'U' => push_code_point(&mut out, text, &mut at, 8, escape),
            b'0' if ansi != Ansi::Quote => push_number(&mut out, text, &mut at, 3, 8, 0),
            b'0'..=b'7' if ansi != Ansi::Echo => {
                at -= 1;
                push_number(&mut out, text, &mut at, 3, 8, escape);
            }
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
    // bash ends such a text at a NUL; none can be an argument.
    if ansi == Ansi::Quote
        && let Some(end) = memchr::memchr(0, &out)
    {
        out.truncate(end);
    }
    BString::new(out)
}

/// Reads up to `most` digits; `escape` is kept as text where there are none (0: then a NUL).
fn push_number(out: &mut Vec<u8>, text: &[u8], at: &mut usize, most: usize, radix: u32, escape: u8) {
    match digits(text, at, most, radix) {
        Some(value) => out.push((value & 0xFF) as u8),
        None if escape == 0 => out.push(0),
        None => out.extend_from_slice(&[b'\\', escape]),
    }
}

fn push_code_point(out: &mut Vec<u8>, text: &[u8], at: &mut usize, most: usize, escape: u8) {
    match digits(text, at, most, 16) {
        Some(value) => match char::from_u32(value) {
            Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(b'?'),
        },
        None => out.extend_from_slice(&[b'\\', escape]),
    }
}

fn digits(text: &[u8], at: &mut usize, most: usize, radix: u32) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = text.get(*at).and_then(|byte| char::from(*byte).to_digit(radix)) else { break };
        value = Some(value.unwrap_or(0u32).wrapping_mul(radix).wrapping_add(digit));
        *at += 1;
    }
    value
}
