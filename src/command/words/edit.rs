//! What `${v/…}`, `${v:…}` and `${v^}` make of a value.

use bstr::{BString, ByteSlice};

use super::pattern::{Unit, prefix_length, suffix_start};
use crate::command::ast::Part;

/// An operand of `/` before and after the first unquoted slash (not counting one that stands first).
pub(super) fn split_at_slash(operand: &[Part]) -> (Vec<Part>, Vec<Part>) {
    let mut pattern = Vec::new();
    for (index, part) in operand.iter().enumerate() {
        if let Part::Literal(text) = part {
            let from = usize::from(index == 0 && text.first() == Some(&b'/'));
            if let Some(found) = text.get(from..).and_then(|rest| rest.find_byte(b'/')) {
                let cut = from + found;
                pattern.push(Part::Literal(BString::from(text.get(..cut).unwrap_or_default())));
                let mut replacement = vec![Part::Literal(BString::from(text.get(cut + 1..).unwrap_or_default()))];
                replacement.extend_from_slice(operand.get(index + 1..).unwrap_or_default());
                return (pattern, replacement);
            }
        }
        pattern.push(part.clone());
    }
    (pattern, Vec::new())
}

pub(super) fn replace(pattern: &[Unit], text: &[u8], replacement: &[u8], everywhere: bool) -> BString {
    let mut edited = Vec::new();
    let mut at = 0;
    let mut done = false;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        match prefix_length(pattern, rest, true).filter(|length| *length > 0 && !done) {
            Some(length) => {
                edited.extend_from_slice(replacement);
                at += length;
                done = !everywhere;
            }
            None => {
                edited.extend(rest.first());
                at += 1;
            }
        }
    }
    edited.into()
}

pub(super) fn replace_anchored(pattern: &[Unit], text: &[u8], replacement: &[u8], at_start: bool) -> BString {
    if at_start {
        return match prefix_length(pattern, text, true) {
            Some(length) => [replacement, text.get(length..).unwrap_or_default()].concat().into(),
            None => text.into(),
        };
    }
    match suffix_start(pattern, text, true) {
        Some(start) => [text.get(..start).unwrap_or_default(), replacement].concat().into(),
        None => text.into(),
    }
}

pub(super) fn slice(text: &BString, (offset, length): (i64, Option<i64>)) -> Option<BString> {
    if !text.is_ascii() {
        return None;
    }
    let size = i64::try_from(text.len()).ok()?;
    let start = if offset < 0 { size + offset } else { offset };
    if start < 0 || start > size {
        return Some(BString::default());
    }
    let end = match length {
        None => size,
        Some(length) if length < 0 => size + length,
        Some(length) => (start + length).min(size),
    };
    text.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?).map(BString::from)
}

pub(super) fn recased(text: &BString, upper: bool, all: bool) -> BString {
    let change = |text: &[u8]| if upper { text.to_uppercase() } else { text.to_lowercase() };
    if all {
        return change(text).into();
    }
    let first = text.chars().next().map_or(0, |character| character.len_utf8());
    let (first, rest) = text.split_at(first.min(text.len()));
    [change(first), rest.to_vec()].concat().into()
}
