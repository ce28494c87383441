//! Programs that take, turn or number whole lines: `head`, `tail`, `tac`, `rev`, `nl`; and `base64`.

use base64::Engine;
use bstr::{BStr, ByteSlice};

use super::{Reader, joined, number, options, split, value, whole};

pub(super) fn rev(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (_, operands) = options(words, b"", b"")?;
    let text = whole(&operands, read)?;
    if !text.is_ascii() {
        return None;
    }
    let (lines, ends) = split(&text);
    let turned: Vec<Vec<u8>> = lines.iter().map(|line| line.iter().rev().copied().collect()).collect();
    Some(joined(&turned, ends))
}

pub(super) fn tac(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (_, operands) = options(words, b"", b"")?;
    let mut text = Vec::new();
    for operand in if operands.is_empty() { vec![BStr::new("-")] } else { operands } {
        let own = whole(&[operand], &mut *read)?;
        let (mut lines, ends) = split(&own);
        if !ends {
            return None;
        }
        lines.reverse();
        text.extend(joined(&lines, true));
    }
    Some(text)
}

pub(super) fn nl(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, operands) = options(words, b"", b"b")?;
    let all = match value(&options, b'b').map(|style| style.as_bytes()) {
        None | Some(b"t") => false,
        Some(b"a") => true,
        Some(_) => return None,
    };
    let text = whole(&operands, read)?;
    let (lines, ends) = split(&text);
    if !ends || lines.iter().any(|line| line.starts_with(b"\\:")) {
        return None;
    }
    let mut at = 0;
    let numbered = lines.iter().map(|line| {
        if line.is_empty() && !all {
            return b"       ".to_vec();
        }
        at += 1;
        [format!("{at:6}\t").as_bytes(), line].concat()
    });
    Some(joined(&numbered.collect::<Vec<_>>(), true))
}

/// `-n N`, `-c N`, `-N`; a sign changes what is meant.
fn amount<'a>(words: &[&'a BStr]) -> Option<(Unit, &'a BStr, Vec<&'a BStr>)> {
    if let Some((first, rest)) = words.split_first()
        && let Some(digits) = first.strip_prefix(b"-").filter(|digits| number(digits.as_bstr()).is_some())
    {
        let (_, operands) = options(rest, b"", b"")?;
        return Some((Unit::Lines, digits.as_bstr(), operands));
    }
    let (options, operands) = options(words, b"q", b"nc")?;
    Some(match (value(&options, b'c'), value(&options, b'n')) {
        (Some(amount), None) => (Unit::Bytes, amount, operands),
        (None, amount) => (Unit::Lines, amount.unwrap_or(BStr::new("10")), operands),
        (Some(_), Some(_)) => return None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Lines,
    Bytes,
}

pub(super) fn head(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (unit, amount, operands) = amount(words)?;
    if operands.len() > 1 {
        return None;
    }
    let text = whole(&operands, read)?;
    let (amount, from_end) = match amount.strip_prefix(b"-") {
        Some(amount) => (number(amount.as_bstr())?, true),
        None => (number(amount)?, false),
    };
    let pieces: Vec<&[u8]> = match unit {
        Unit::Lines => text.split_inclusive(|byte| *byte == b'\n').collect(),
        Unit::Bytes => text.chunks(1).collect(),
    };
    let end = if from_end { pieces.len().saturating_sub(amount) } else { amount.min(pieces.len()) };
    Some(pieces.get(..end)?.concat())
}

pub(super) fn tail(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (unit, amount, operands) = amount(words)?;
    if operands.len() > 1 {
        return None;
    }
    let text = whole(&operands, read)?;
    let pieces: Vec<&[u8]> = match unit {
        Unit::Lines => text.split_inclusive(|byte| *byte == b'\n').collect(),
        Unit::Bytes => text.chunks(1).collect(),
    };
    let start = match amount.strip_prefix(b"+") {
        Some(amount) => number(amount.as_bstr())?.saturating_sub(1).min(pieces.len()),
        None => pieces.len().saturating_sub(number(amount.strip_prefix(b"-").unwrap_or(amount).as_bstr())?),
    };
    Some(pieces.get(start..)?.concat())
}

/// What base64 decodes to; encoding is no code.
pub(super) fn base64(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (decoding, operands): (Vec<&BStr>, Vec<&BStr>) = words.iter().copied().partition(|word| word.starts_with(b"-"));
    if decoding.is_empty() || operands.len() > 1 {
        return None;
    }
    if !decoding.iter().all(|word| matches!(word.as_bytes(), b"-d" | b"-D" | b"--decode" | b"-di" | b"-id")) {
        return None;
    }
    let text = whole(&operands, read)?;
    let packed: Vec<u8> = text.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    base64::engine::general_purpose::STANDARD.decode(packed).ok()
}
