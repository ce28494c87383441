//! Shell patterns: `*`, `?`, `[…]`, matched against bytes.
//!
//! Extended patterns (`@(…)` and its kin) are not modelled: callers ask [`has_extended`] first and
//! treat the outcome as not known.

/// One position of a pattern or of a field before file name expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub byte: u8,
    pub quoted: bool,
}

/// Units of unquoted or quoted text.
pub fn units(text: &[u8], quoted: bool) -> impl Iterator<Item = Unit> + '_ {
    text.iter().map(move |byte| Unit { byte: *byte, quoted })
}

/// Whether any unit makes a pattern.
pub fn is_pattern(units: &[Unit]) -> bool {
    units.iter().enumerate().any(|(at, unit)| {
        !unit.quoted
            && match unit.byte {
                b'*' | b'?' => true,
                // Without an end it stands for itself, as in `[ -f x ]`.
                b'[' => units.get(at + 1..).is_some_and(|rest| rest.iter().any(|unit| unit.byte == b']')),
                _ => false,
            }
    })
}

/// Whether it holds `X(`, an extended pattern.
pub fn has_extended(units: &[Unit]) -> bool {
    units.windows(2).any(|pair| match pair {
        [first, second] => {
            !first.quoted
                && !second.quoted
                && second.byte == b'('
                && matches!(first.byte, b'?' | b'*' | b'+' | b'@' | b'!')
        }
        _ => false,
    })
}

/// Whether the whole text matches. Time is bounded by the product of both lengths.
pub fn matches(pattern: &[Unit], text: &[u8]) -> bool {
    let (mut at, mut position) = (0, 0);
    // Where to go back to: after the last `*`, and the text it has swallowed so far.
    let mut star: Option<(usize, usize)> = None;
    loop {
        let matched = match (pattern.get(at), text.get(position)) {
            (None, None) => return true,
            (Some(Unit { byte: b'*', quoted: false }), _) => {
                star = Some((at + 1, position));
                at += 1;
                continue;
            }
            (Some(unit), Some(byte)) => one(pattern, at, *unit, *byte),
            (None, Some(_)) | (Some(_), None) => None,
        };
        match (matched, star) {
            (Some(next), _) => {
                at = next;
                position += 1;
            }
            (None, Some((after, swallowed))) if swallowed < text.len() => {
                star = Some((after, swallowed + 1));
                at = after;
                position = swallowed + 1;
            }
            (None, _) => return false,
        }
    }
}

/// Where the pattern goes on when its unit at `at` matches `byte`.
fn one(pattern: &[Unit], at: usize, unit: Unit, byte: u8) -> Option<usize> {
    if unit.quoted {
        return (unit.byte == byte).then_some(at + 1);
    }
    match unit.byte {
        b'?' => Some(at + 1),
        b'[' => match bracket(pattern, at, byte) {
            Some((matched, next)) => matched.then_some(next),
            None => (byte == b'[').then_some(at + 1),
        },
        other => (other == byte).then_some(at + 1),
    }
}

/// A bracket expression at `at`: whether `byte` is in it, and where the pattern goes on. `None` when
/// it has no end.
fn bracket(pattern: &[Unit], at: usize, byte: u8) -> Option<(bool, usize)> {
    let mut next = at + 1;
    let negated = matches!(pattern.get(next), Some(Unit { byte: b'!' | b'^', quoted: false }));
    next += usize::from(negated);
    let first = next;
    let mut found = false;
    loop {
        let unit = *pattern.get(next)?;
        if unit.byte == b']' && !unit.quoted && next > first {
            return Some((found != negated, next + 1));
        }
        if unit.byte == b'['
            && !unit.quoted
            && let Some((matched, after)) = class(pattern, next, byte)
        {
            found |= matched;
            next = after;
            continue;
        }
        let range = matches!(pattern.get(next + 1), Some(Unit { byte: b'-', quoted: false }));
        match pattern.get(next + 2) {
            Some(end) if range && (end.byte != b']' || end.quoted) => {
                found |= (unit.byte..=end.byte).contains(&byte);
                next += 3;
            }
            _ => {
                found |= unit.byte == byte;
                next += 1;
            }
        }
    }
}

/// `[:class:]` at `at`.
fn class(pattern: &[Unit], at: usize, byte: u8) -> Option<(bool, usize)> {
    if pattern.get(at + 1)?.byte != b':' {
        return None;
    }
    let rest = pattern.get(at + 2..)?;
    let length = rest.windows(2).position(|pair| matches!(pair, [a, b] if a.byte == b':' && b.byte == b']'))?;
    let name: Vec<u8> = rest.get(..length)?.iter().map(|unit| unit.byte).collect();
    let matched = match name.as_slice() {
        b"alpha" => byte.is_ascii_alphabetic(),
        b"digit" => byte.is_ascii_digit(),
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"upper" => byte.is_ascii_uppercase(),
        b"lower" => byte.is_ascii_lowercase(),
        b"space" => byte.is_ascii_whitespace() || byte == 11,
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"punct" => byte.is_ascii_punctuation(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        b"word" => byte.is_ascii_alphanumeric() || byte == b'_',
        b"cntrl" => byte.is_ascii_control(),
        b"print" => (b' '..0x7F).contains(&byte),
        b"graph" => byte.is_ascii_graphic(),
        _ => false,
    };
    Some((matched, at + 2 + length + 2))
}

/// How many bytes at the beginning of `text` match, the most or the fewest.
pub fn prefix_length(pattern: &[Unit], text: &[u8], longest: bool) -> Option<usize> {
    let fits = |length: &usize| text.get(..*length).is_some_and(|prefix| matches(pattern, prefix));
    if longest { (0..=text.len()).rev().find(fits) } else { (0..=text.len()).find(fits) }
}

/// Where a matching end of `text` begins, the longest or the shortest.
pub fn suffix_start(pattern: &[Unit], text: &[u8], longest: bool) -> Option<usize> {
    let fits = |start: &usize| text.get(*start..).is_some_and(|suffix| matches(pattern, suffix));
    if longest { (0..=text.len()).find(fits) } else { (0..=text.len()).rev().find(fits) }
}
