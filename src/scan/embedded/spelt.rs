//! Characters that are written as numbers or behind a backslash, where strings, markup and mails write them so.
//!
//! Promise: where letters of a value are written as `\x67`, `\147`, `\u{67}`, `&#103;`, `&#x67;`, `&lowbar;`, `\_` or
//! (in a mail, with its soft line breaks) `=5F`, the text round them is also read with these as what they mean. What is
//! written so by chance, as bytes of a table are, is hardly ever many printable characters in a row.

use memchr::memmem;

use super::matcher::Span;
use super::rewritten::{self, Rewritten};

/// What is read on either side.
const AROUND: usize = 400;
/// So many in a row are text.
const IN_A_ROW: usize = 6;
/// Behind one alone a value goes on for so many characters.
const GOES_ON: usize = 16;
/// Lines of a mail are broken when they would be longer than 76.
const BROKEN_LINE: std::ops::RangeInclusive<usize> = 70..=76;

/// Every part of a text with such characters, in their plain form.
pub(super) fn parts(text: &[u8]) -> Vec<Rewritten> {
    let numbers = rewritten::islands(numbers(text), AROUND, text.len());
    let mail = rewritten::islands(mail(text), AROUND, text.len());
    let numbers = numbers.into_iter().map(|part| undone(text, part, |sign| character(sign).map(some)));
    numbers.chain(mail.into_iter().map(|part| undone(text, part, of_mail))).collect()
}

/// Where such characters stand as a value's would.
fn numbers(text: &[u8]) -> impl Iterator<Item = Span> {
    let mut row: (usize, usize, usize) = (0, 0, 0);
    memchr::memchr2_iter(b'\\', b'&', text).filter_map(move |at| {
        if at < row.1 {
            return None;
        }
        let (byte, length) = character(text.get(at..)?)?;
        let end = at + length;
        row = if at == row.1 && row.2 > 0 { (row.0, end, row.2 + 1) } else { (at, end, 1) };
        (row.2 >= IN_A_ROW || is_in_a_value(text, (at, end), byte)).then_some((row.0, end))
    })
}

/// Whether one sign joins parts of a value: before it is a word, behind it what no word looks like.
fn is_in_a_value(text: &[u8], (start, end): Span, byte: u8) -> bool {
    let joins = matches!(byte, b'_' | b'-' | b'=' | b'&' | b':' | b'.' | b'/' | b'+' | b'~');
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    if !joins || !before.is_some_and(u8::is_ascii_alphanumeric) {
        return false;
    }
    let behind = text.get(end..text.len().min(end + 4 * GOES_ON)).unwrap_or_default();
    let is_value =
        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'\\' | b'&' | b'#' | b';');
    let length = behind.iter().take_while(is_value).count();
    length >= GOES_ON && behind.iter().take(length).any(u8::is_ascii_digit)
}

/// A printable character that is written as a number or escaped, at the beginning of a text; and its length.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    let (byte, length) = match text {
        [b'\\', ..] => escaped(text)?,
        [b'&', b'#', digits @ ..] => {
            let (digits, radix, front) = match digits {
                [b'x' | b'X', digits @ ..] => (digits, 16, 3),
                _ => (digits, 10, 2),
            };
            let length = digits.iter().take(8).position(|&byte| byte == b';')?;
            (number(digits.get(..length)?, radix)?, front + length + 1)
        }
        [b'&', b'l', ..] if text.starts_with(b"&lowbar;") => (b'_', 8),
        _ => return None,
    };
    (b' '..=b'~').contains(&byte).then_some((byte, length))
}

/// The same behind one or more backslashes.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    let slashes = text.iter().take(4).take_while(|&&byte| byte == b'\\').count();
    Some(match text.get(slashes..)? {
        [b'x' | b'X', high, low, ..] => (number(&[*high, *low], 16)?, slashes + 3),
        [b'u', b'{', digits @ ..] => {
            let length = digits.iter().take(7).position(|&byte| byte == b'}')?;
            (number(digits.get(..length)?, 16)?, slashes + length + 3)
        }
        [first @ (b'0' | b'1'), second, third, ..] => (number(&[*first, *second, *third], 8)?, slashes + 3),
        [sign @ (b'_' | b'-'), ..] => (*sign, slashes + 1),
        _ => return None,
    })
}

fn number(digits: &[u8], radix: u32) -> Option<u8> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_alphanumeric);
    std::str::from_utf8(digits).ok().filter(|_| all).and_then(|digits| u8::from_str_radix(digits, radix).ok())
}

/// Where a mail's text has signs as numbers inside of words, and where it breaks a long word.
fn mail(text: &[u8]) -> impl Iterator<Item = Span> {
    let signs = [b"=3D", b"=5F"].into_iter().flat_map(|sign| memmem::find_iter(text, sign).map(|at| (at, at + 3)));
    let breaks = memmem::find_iter(text, b"=\n").map(|at| (at, at + 2));
    let breaks = breaks.chain(memmem::find_iter(text, b"=\r\n").map(|at| (at, at + 3)));
    let is_word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let breaks = breaks.filter(move |&(at, end)| {
        let front = text.get(at.saturating_sub(*BROKEN_LINE.end())..at).unwrap_or_default();
        let line = memchr::memrchr(b'\n', front).map_or(at, |feed| front.len() - feed);
        BROKEN_LINE.contains(&line)
            && is_word(at.checked_sub(1))
            && (is_word(Some(end)) || text.get(end) == Some(&b'='))
    });
    let mut all: Vec<Span> = signs
        .filter(move |&(at, _)| at.checked_sub(1).is_none_or(|at| is_word(Some(at)) || text.get(at) == Some(&b'\n')))
        .chain(breaks)
        .collect();
    all.sort_unstable();
    all.into_iter()
}

fn some((byte, length): (u8, usize)) -> (Option<u8>, usize) {
    (Some(byte), length)
}

/// A character of a mail's text that is written as a number, or a soft line break, which is none.
fn of_mail(text: &[u8]) -> Option<(Option<u8>, usize)> {
    match text {
        [b'=', b'\n', ..] => Some((None, 2)),
        [b'=', b'\r', b'\n', ..] => Some((None, 3)),
        [b'=', high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            number(&[*high, *low], 16).filter(|byte| (b' '..=b'~').contains(byte)).map(|byte| (Some(byte), 3))
        }
        _ => None,
    }
}

/// A part of the text with its characters in plain form. `meaning`: what stands for what at the beginning of a text.
fn undone(text: &[u8], part: Span, meaning: impl Fn(&[u8]) -> Option<(Option<u8>, usize)>) -> Rewritten {
    let mut undone = Rewritten::default();
    undone.text.reserve(part.1 - part.0);
    let mut at = part.0;
    undone.go_on(at, 1);
    while let Some(rest) = text.get(at..part.1).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().position(|byte| matches!(byte, b'\\' | b'&' | b'=')).unwrap_or(rest.len());
        undone.text.extend_from_slice(rest.get(..plain).unwrap_or_default());
        at += plain;
        let Some(sign @ [first, ..]) = rest.get(plain..) else { break };
        match meaning(sign) {
            Some((byte, length)) => {
                undone.text.extend(byte);
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
