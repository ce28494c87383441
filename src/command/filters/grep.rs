//! `grep`: lines of one file, or of its input, that match.

use bstr::{BStr, BString, ByteSlice};

use super::pattern::{Syntax, compile, depends_on_locale};
use super::{Reader, has, options, split, value, whole};

pub(super) fn output(base: &BStr, words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, mut operands) = options(words, b"EFGvixnchsa", b"e")?;
    let pattern = match value(&options, b'e') {
        Some(pattern) => pattern,
        None if operands.is_empty() => return None,
        None => operands.remove(0),
    };
    if operands.len() > 1 || options.iter().filter(|(letter, _)| *letter == b'e').count() > 1 {
        return None;
    }
    let text = whole(&operands, read)?;
    if text.contains(&0) || !text.is_ascii() && depends_on_locale(pattern) {
        return None;
    }
    let ignores_case = has(&options, b'i');
    if ignores_case && !text.is_ascii() {
        return None;
    }
    let fixed = has(&options, b'F') || base == "fgrep";
    let patterns: Vec<BString> = pattern
        .split(|byte| *byte == b'\n')
        .map(|pattern| if fixed { escaped(pattern) } else { pattern.into() })
        .collect();
    let extended = !fixed && (has(&options, b'E') || base == "egrep");
    let syntax = Syntax { extended, ignores_case, only_whether: true };
    let compiled: Option<Vec<_>> = patterns.iter().map(|pattern| compile(pattern, syntax)).collect();
    let compiled = compiled?;
    // A whole line matches where one way of matching takes it whole; the engine gives only one of them.
    let (whole_line, inverted) = (has(&options, b'x'), has(&options, b'v'));
    if whole_line && !fixed {
        return None;
    }
    let is_match = |line: &[u8]| {
        compiled.iter().any(|pattern| match whole_line {
            true => pattern.find(line).is_some_and(|found| found.len() == line.len()),
            false => pattern.is_match(line),
        }) != inverted
    };
    let (lines, _) = split(&text);
    let found: Vec<(usize, &[u8])> =
        lines.into_iter().enumerate().filter(|(_, line)| is_match(line)).map(|(at, line)| (at + 1, line)).collect();
    if has(&options, b'c') {
        return Some(format!("{}\n", found.len()).into_bytes());
    }
    let numbered = has(&options, b'n');
    let line = |(at, line): &(usize, &[u8])| {
        let number = if numbered { format!("{at}:") } else { String::new() };
        [number.as_bytes(), line, b"\n"].concat()
    };
    Some(found.iter().flat_map(line).collect())
}

/// A text as a basic expression that matches it.
fn escaped(text: &[u8]) -> BString {
    let mut pattern = BString::default();
    for byte in text {
        if b".*[]^$\\".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern.as_bstr().to_owned()
}
