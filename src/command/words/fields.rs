//! Fields being put together: known text, quoted or not, and holes where something is not known.

use std::ops::Range;

use bstr::BString;

use super::pattern::{Unit, units};
use crate::command::message::is_plain;
use crate::command::simple::{UnknownValue, Value};
use crate::text::SafeText;

/// Longest text that is kept for one word, in bytes: values may double each other in size.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// A piece of a field.
#[derive(Clone, Debug)]
pub enum Piece {
    Text { bytes: Vec<u8>, quoted: bool },
    Hole { why: SafeText, span: Range<usize>, many: bool },
}

/// The fields of one word.
#[derive(Default)]
pub struct Fields {
    done: Vec<Vec<Piece>>,
    current: Vec<Piece>,
    /// Whether the current field exists although it may be empty (`""`).
    open: bool,
}

impl Fields {
    pub fn open(&mut self) {
        self.open = true;
    }

    pub fn text(&mut self, bytes: &[u8], quoted: bool) {
        if !bytes.is_empty() {
            self.current.push(Piece::Text { bytes: bytes.to_vec(), quoted });
            self.open = true;
        }
    }

    /// A word that is known, or a hole where it is not.
    pub fn value(&mut self, value: &Value, quoted: bool) {
        match value {
            Value::Known(text) => self.text(text, quoted),
            Value::Unknown(unknown) => {
                self.text(&unknown.prefix, true);
                let many = !quoted || unknown.many;
                let hole = Piece::Hole { why: unknown.why.clone(), span: unknown.span.clone(), many };
                self.current.push(hole.clone());
                self.open = true;
                if !unknown.between.is_empty() {
                    self.text(&unknown.between, true);
                    self.current.push(hole);
                }
                self.text(&unknown.suffix, true);
            }
        }
    }

    /// Ends the current field.
    pub fn end(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }

    /// Unquoted text, cut at the bytes of `separators`.
    pub fn split(&mut self, text: &[u8], separators: &[u8]) {
        let is_space = |byte: &u8| separators.contains(byte) && matches!(byte, b' ' | b'\t' | b'\n');
        let mut rest = text;
        while let Some(first) = rest.first() {
            if separators.contains(first) {
                let spaces = rest.iter().take_while(|byte| is_space(byte)).count();
                rest = rest.get(spaces..).unwrap_or_default();
                if rest.first().is_some_and(|byte| separators.contains(byte) && !is_space(byte)) {
                    self.open = true;
                    rest = rest.get(1..).unwrap_or_default();
                    let spaces = rest.iter().take_while(|byte| is_space(byte)).count();
                    rest = rest.get(spaces..).unwrap_or_default();
                }
                self.end();
                continue;
            }
            let length = rest.iter().position(|byte| separators.contains(byte)).unwrap_or(rest.len());
            self.text(rest.get(..length).unwrap_or_default(), false);
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    pub fn finish(mut self) -> Vec<Vec<Piece>> {
        self.end();
        self.done
    }
}

/// The units of a field without holes, for patterns.
pub fn units_of(field: &[Piece]) -> Option<Vec<Unit>> {
    let mut all = Vec::new();
    for piece in field {
        match piece {
            Piece::Text { bytes, quoted } => all.extend(units(bytes, *quoted)),
            Piece::Hole { .. } => return None,
        }
    }
    Some(all)
}

/// The word that a field makes.
pub fn value_of(field: &[Piece]) -> Value {
    let mut prefix = Vec::new();
    let mut suffix: Vec<u8> = Vec::new();
    let mut between: Vec<u8> = Vec::new();
    let mut hole: Option<(SafeText, Range<usize>)> = None;
    let mut any_many = false;
    for piece in field {
        match piece {
            Piece::Text { bytes, .. } if hole.is_none() => prefix.extend_from_slice(bytes),
            Piece::Text { bytes, .. } => suffix.extend_from_slice(bytes),
            Piece::Hole { why, span, many } => {
                // Of several, one whose text matters is told.
                if hole.as_ref().is_none_or(|(known, _)| is_plain(known)) {
                    hole = Some((why.clone(), span.clone()));
                }
                any_many |= *many;
                if !suffix.is_empty() && !between.is_empty() {
                    between.push(b'\n');
                }
                between.append(&mut suffix);
            }
        }
    }
    if prefix.len() + between.len() + suffix.len() > MAX_VALUE_BYTES {
        prefix.clear();
        between.clear();
        suffix.clear();
        hole = Some(("a very long text".into(), 0..0));
    }
    match hole {
        None => Value::Known(BString::new(prefix)),
        Some((why, span)) => Value::Unknown(UnknownValue {
            why,
            span,
            between: BString::new(between),
            prefix: BString::new(prefix),
            suffix: BString::new(suffix),
            many: any_many,
        }),
    }
}
