//! The one-line programs of `awk` that choose lines and fields.

use bstr::{BStr, ByteSlice};

use super::pattern::{Syntax, compile, depends_on_locale};
use super::{Reader, number, options, split, unescaped, value, whole};

/// Which lines.
enum Chosen {
    All,
    Matching(regex::bytes::Regex),
    At(std::ops::RangeInclusive<usize>),
    NotEmpty,
    New,
}

pub(super) fn output(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let (options, operands) = options(words, b"", b"F")?;
    let (program, files) = operands.split_first()?;
    let separator = match value(&options, b'F') {
        None => None,
        Some(text) => match unescaped(text)?.as_slice() {
            [byte] if *byte != b' ' && (!byte.is_ascii_punctuation() || b",:;/=-\"'@#%&_!".contains(byte)) => {
                Some(*byte)
            }
            _ => return None,
        },
    };
    if files.iter().any(|file| file.contains(&b'=')) {
        return None;
    }
    let program = program.trim();
    let (pattern, action) = match program.find_byte(b'{') {
        Some(at) => (program.get(..at)?.trim(), Some(program.get(at..)?)),
        None => (program, None),
    };
    let fields = match action {
        None => Vec::new(),
        Some(action) => printed(action)?,
    };
    let text = whole(files, read)?;
    let chosen = chosen(pattern, &text)?;
    let (lines, _) = split(&text);
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut out = Vec::new();
    for (at, line) in lines.into_iter().enumerate() {
        let is_chosen = match &chosen {
            Chosen::All => true,
            Chosen::Matching(pattern) => pattern.is_match(line),
            Chosen::At(range) => range.contains(&(at + 1)),
            Chosen::NotEmpty => line.fields().next().is_some(),
            Chosen::New => !seen.contains(&line),
        };
        if !is_chosen {
            continue;
        }
        if matches!(chosen, Chosen::New) {
            seen.push(line);
        }
        let parts: Vec<&[u8]> = match separator {
            Some(separator) => line.split(|byte| *byte == separator).collect(),
            None => line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|part| !part.is_empty()).collect(),
        };
        let picked: Vec<&[u8]> = match fields.is_empty() {
            true => vec![line],
            false => fields
                .iter()
                .map(|at| if *at == 0 { line } else { parts.get(at - 1).copied().unwrap_or_default() })
                .collect(),
        };
        out.extend(bstr::join(" ", picked));
        out.push(b'\n');
    }
    Some(out)
}

/// The fields of `{print}`, `{print $1, $3}`; none for the whole line.
fn printed(action: &[u8]) -> Option<Vec<usize>> {
    let inside = action.strip_prefix(b"{")?.strip_suffix(b"}")?.trim();
    let inside = inside.strip_suffix(b";").unwrap_or(inside).trim();
    let rest = inside.strip_prefix(b"print")?.trim();
    if rest.is_empty() {
        return Some(Vec::new());
    }
    rest.split_str(",").map(|field| number(field.trim().strip_prefix(b"$")?.as_bstr())).collect()
}

fn chosen(pattern: &[u8], text: &[u8]) -> Option<Chosen> {
    if pattern.is_empty() || pattern == b"1" {
        return Some(Chosen::All);
    }
    if pattern == b"NF" {
        return Some(Chosen::NotEmpty);
    }
    if pattern.starts_with(b"!") && pattern.ends_with(b"[$0]++") {
        let name = pattern.get(1..pattern.len() - 6)?;
        return (!name.is_empty() && name.iter().all(u8::is_ascii_alphabetic)).then_some(Chosen::New);
    }
    if let Some(inside) = pattern.strip_prefix(b"/").and_then(|rest| rest.strip_suffix(b"/")) {
        if inside.contains(&b'/') || !text.is_ascii() && depends_on_locale(inside) {
            return None;
        }
        let syntax = Syntax { extended: true, ignores_case: false, only_whether: true };
        return Some(Chosen::Matching(compile(inside, syntax)?));
    }
    let rest = pattern.strip_prefix(b"NR")?.trim();
    let bound = |sign: &[u8]| number(rest.strip_prefix(sign)?.trim().as_bstr());
    let range = if let Some(at) = bound(b"==") {
        at..=at
    } else if let Some(at) = bound(b">=") {
        at..=usize::MAX
    } else if let Some(at) = bound(b"<=") {
        1..=at
    } else if let Some(at) = bound(b">") {
        at.checked_add(1)?..=usize::MAX
    } else {
        1..=bound(b"<")?.checked_sub(1)?
    };
    Some(Chosen::At(range))
}
