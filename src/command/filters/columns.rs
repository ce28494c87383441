//! Programs that take, change or join columns and characters: `cut`, `tr`, `paste`, `fold`.

use bstr::{BStr, ByteSlice};

use super::{Reader, has, joined, number, options, split, unescaped, value, whole};

/// Ranges of a list: `1,3-5,7-`; `usize::MAX` for no end.
fn ranges(list: &BStr) -> Option<Vec<(usize, usize)>> {
    let range = |part: &[u8]| {
        let (first, last) = match part.split_once_str("-") {
            None => (number(part.as_bstr())?, number(part.as_bstr())?),
            Some((first, last)) => {
                let first = if first.is_empty() { 1 } else { number(first.as_bstr())? };
                (first, if last.is_empty() { usize::MAX } else { number(last.as_bstr())? })
            }
        };
        (first > 0 && first <= last).then_some((first, last))
    };
    list.split_str(",").map(range).collect()
}

pub(super) fn cut(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, operands) = options(words, b"s", b"bcfd")?;
    let text = whole(&operands, read)?;
    let (lines, _) = split(&text);
    let picks = |list: &BStr| {
        let ranges = ranges(list)?;
        Some(move |at: usize| ranges.iter().any(|(first, last)| (*first..=*last).contains(&at)))
    };
    let cut: Vec<Vec<u8>> = match (value(&options, b'b').or(value(&options, b'c')), value(&options, b'f')) {
        (Some(list), None) if text.is_ascii() => {
            let picked = picks(list)?;
            let taken = |line: &&[u8]| {
                line.iter().enumerate().filter(|(at, _)| picked(at + 1)).map(|(_, byte)| *byte).collect::<Vec<u8>>()
            };
            lines.iter().map(taken).collect()
        }
        (None, Some(list)) => {
            let delimiter = value(&options, b'd').unwrap_or(BStr::new("\t"));
            if delimiter.len() != 1 {
                return None;
            }
            let picked = picks(list)?;
            let taken = |line: &&[u8]| {
                if !line.contains_str(delimiter) {
                    return (!has(&options, b's')).then(|| line.to_vec());
                }
                let fields = line.split_str(delimiter).enumerate().filter(|(at, _)| picked(at + 1));
                Some(bstr::join(delimiter, fields.map(|(_, field)| field)))
            };
            lines.iter().filter_map(taken).collect()
        }
        _ => return None,
    };
    Some(joined(&cut, true))
}

/// The characters of a set, its ranges and classes written out.
fn set(text: &BStr) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'['
            && after.starts_with(b":")
            && let Some(end) = after.find(":]")
        {
            let is_in: fn(&u8) -> bool = match after.get(1..end)? {
                b"upper" => u8::is_ascii_uppercase,
                b"lower" => u8::is_ascii_lowercase,
                b"digit" => u8::is_ascii_digit,
                b"alpha" => u8::is_ascii_alphabetic,
                b"alnum" => u8::is_ascii_alphanumeric,
                b"punct" => u8::is_ascii_punctuation,
                b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 11 | 12),
                _ => return None,
            };
            found.extend((0..=127).filter(is_in));
            rest = after.get(end + 2..)?;
            continue;
        }
        let one = |rest: &[u8]| -> Option<(u8, usize)> {
            match rest {
                [b'\\', letter, ..] => Some((*unescaped(&[b'\\', *letter])?.first()?, 2)),
                [byte, ..] if byte.is_ascii() => Some((*byte, 1)),
                _ => None,
            }
        };
        if *byte == b'[' && (after.starts_with(b"=") || after.windows(2).any(|pair| pair == b"*]")) {
            return None;
        }
        let (first, length) = one(rest)?;
        rest = rest.get(length..)?;
        match rest.strip_prefix(b"-").filter(|end| !end.is_empty()) {
            Some(end) => {
                let (last, length) = one(end)?;
                if last < first {
                    return None;
                }
                found.extend(first..=last);
                rest = end.get(length..)?;
            }
            None => found.push(first),
        }
    }
    Some(found)
}

pub(super) fn tr(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, operands) = options(words, b"dsc", b"")?;
    let sets: Vec<Vec<u8>> = operands.iter().map(|operand| set(operand)).collect::<Option<_>>()?;
    let text = read(super::Source::Input)?;
    let (deletes, squeezes, complements) = (has(&options, b'd'), has(&options, b's'), has(&options, b'c'));
    let squeezed = |text: Vec<u8>, set: &[u8]| {
        let mut out: Vec<u8> = Vec::new();
        for byte in text {
            if out.last() != Some(&byte) || set.contains(&byte) == complements {
                out.push(byte);
            }
        }
        out
    };
    match (sets.as_slice(), deletes, squeezes) {
        ([set], true, false) => Some(text.into_iter().filter(|byte| set.contains(byte) == complements).collect()),
        ([set], false, true) => Some(squeezed(text, set)),
        ([from, to], false, _) if !complements && !to.is_empty() => {
            let changed = text.into_iter().map(|byte| match from.iter().rposition(|other| *other == byte) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(byte),
                None => byte,
            });
            let changed: Vec<u8> = changed.collect();
            Some(if squeezes { squeezed(changed, to) } else { changed })
        }
        _ => None,
    }
}

pub(super) fn paste(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, operands) = options(words, b"s", b"d")?;
    let delimiters = unescaped(value(&options, b'd').unwrap_or(BStr::new("\t")))?;
    let [delimiter] = delimiters.as_slice() else { return None };
    let mut texts = Vec::new();
    for operand in if operands.is_empty() { vec![BStr::new("-")] } else { operands } {
        texts.push(whole(&[operand], &mut *read)?);
    }
    let columns: Vec<Vec<&[u8]>> = texts.iter().map(|text| split(text).0).collect();
    let lines: Vec<Vec<u8>> = if has(&options, b's') {
        columns.iter().map(|lines| bstr::join([*delimiter], lines)).collect()
    } else {
        let height = columns.iter().map(Vec::len).max().unwrap_or_default();
        let row = |at| bstr::join([*delimiter], columns.iter().map(|lines| lines.get(at).copied().unwrap_or_default()));
        (0..height).map(row).collect()
    };
    Some(joined(&lines, true))
}

pub(super) fn fold(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let old = words.first().and_then(|word| number(word.strip_prefix(b"-")?.as_bstr()));
    let words = if old.is_some() { words.get(1..)? } else { words };
    let (options, operands) = options(words, b"b", b"w")?;
    let width = match (value(&options, b'w'), old) {
        (Some(width), _) => number(width)?,
        (None, old) => old.unwrap_or(80),
    };
    let text = whole(&operands, read)?;
    if width == 0 || text.iter().any(|byte| !byte.is_ascii() || matches!(byte, b'\t' | b'\r' | 8)) {
        return None;
    }
    let (lines, ends) = split(&text);
    let folded = |line: &&[u8]| {
        let parts: Vec<&[u8]> = line.chunks(width).collect();
        bstr::join("\n", parts)
    };
    Some(joined(&lines.iter().map(folded).collect::<Vec<_>>(), ends))
}
