//! Brace expansion: `{a,b}`, `{1..3}`, before anything else and whatever the words mean.

use bstr::BString;

use crate::command::ast::Part;

/// Most words that one word may become.
pub const MAX_WORDS: usize = 1024;

/// An unquoted byte, or something that braces do not look into.
#[derive(Clone)]
enum Token {
    Byte(u8),
    Atom(Part),
}

/// The words that a word's parts become; `None` when they are too many. A word without braces comes
/// back alone.
pub fn expand(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let candidate = parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains(&b'{')));
    if !candidate {
        return Some(vec![parts.to_vec()]);
    }
    let mut tokens = Vec::new();
    for part in parts {
        match part {
            Part::Literal(text) => tokens.extend(text.iter().map(|byte| Token::Byte(*byte))),
            other @ (Part::Quoted(_)
            | Part::DoubleQuoted(_)
            | Part::Parameter(_)
            | Part::Substitution(_)
            | Part::Process(_)
            | Part::Arithmetic(_)) => tokens.push(Token::Atom(other.clone())),
        }
    }
    let words = words_of(&tokens, 0)?;
    Some(words.into_iter().map(parts_of).collect())
}

fn words_of(tokens: &[Token], depth: u32) -> Option<Vec<Vec<Token>>> {
    if depth > 64 {
        return None;
    }
    let mut from = 0;
    while let Some(open) = position(tokens, from, b'{') {
        let Some((close, commas)) = closing(tokens, open) else {
            from = open + 1;
            continue;
        };
        let inner = tokens.get(open + 1..close).unwrap_or_default();
        let alternatives = if commas.is_empty() {
            match sequence(inner) {
                Some(sequence) => sequence?,
                None => {
                    from = open + 1;
                    continue;
                }
            }
        } else {
            alternatives(tokens, open, close, &commas, depth)?
        };
        let prefix = tokens.get(..open).unwrap_or_default();
        let rest = words_of(tokens.get(close + 1..).unwrap_or_default(), depth + 1)?;
        if alternatives.len().saturating_mul(rest.len()) > MAX_WORDS {
            return None;
        }
        let mut words = Vec::with_capacity(alternatives.len() * rest.len());
        for alternative in &alternatives {
            for tail in &rest {
                words.push([prefix, alternative, tail].concat());
            }
        }
        return Some(words);
    }
    Some(vec![tokens.to_vec()])
}

fn alternatives(tokens: &[Token], open: usize, close: usize, commas: &[usize], depth: u32) -> Option<Vec<Vec<Token>>> {
    let mut all = Vec::new();
    let mut start = open + 1;
    for end in commas.iter().copied().chain([close]) {
        all.extend(words_of(tokens.get(start..end).unwrap_or_default(), depth + 1)?);
        if all.len() > MAX_WORDS {
            return None;
        }
        start = end + 1;
    }
    Some(all)
}

fn position(tokens: &[Token], from: usize, byte: u8) -> Option<usize> {
    (from..tokens.len()).find(|at| matches!(tokens.get(*at), Some(Token::Byte(found)) if *found == byte))
}

/// The brace that closes the one at `open`, and the commas between them at the same level.
fn closing(tokens: &[Token], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut nesting = 0_u32;
    let mut commas = Vec::new();
    for at in open + 1..tokens.len() {
        match tokens.get(at) {
            Some(Token::Byte(b'{')) => nesting += 1,
            Some(Token::Byte(b'}')) if nesting == 0 => return Some((at, commas)),
            Some(Token::Byte(b'}')) => nesting -= 1,
            Some(Token::Byte(b',')) if nesting == 0 => commas.push(at),
            _ => {}
        }
    }
    None
}

/// `{1..5}`, `{a..e}`, with a step; the inner `None` when it makes too many words.
fn sequence(inner: &[Token]) -> Option<Option<Vec<Vec<Token>>>> {
    let text: Vec<u8> = inner
        .iter()
        .map(|token| match token {
            Token::Byte(byte) => Some(*byte),
            Token::Atom(_) => None,
        })
        .collect::<Option<_>>()?;
    let text = std::str::from_utf8(&text).ok()?;
    let mut pieces = text.split("..");
    let (first, last, step) = (pieces.next()?, pieces.next()?, pieces.next());
    if pieces.next().is_some() {
        return None;
    }
    let step: i64 = step.map_or(Some(1), |step| step.parse().ok())?;
    let step = step.unsigned_abs().max(1);
    if let (Ok(first_number), Ok(last_number)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded = [first, last].iter().any(|text| text.trim_start_matches('-').starts_with('0') && text.len() > 1);
        let width = if padded { first.len().max(last.len()) } else { 0 };
        let count = first_number.abs_diff(last_number) / step;
        if count >= MAX_WORDS as u64 {
            return Some(None);
        }
        let words =
            numbers(first_number, last_number, step).map(|number| bytes(format!("{number:0width$}").as_bytes()));
        return Some(Some(words.collect()));
    }
    let ([first], [last]) = (first.as_bytes(), last.as_bytes()) else { return None };
    if !first.is_ascii_alphabetic() || !last.is_ascii_alphabetic() {
        return None;
    }
    let letters = numbers(i64::from(*first), i64::from(*last), step);
    Some(Some(letters.filter_map(|letter| u8::try_from(letter).ok()).map(|letter| bytes(&[letter])).collect()))
}

fn numbers(first: i64, last: i64, step: u64) -> impl Iterator<Item = i64> {
    let count = first.abs_diff(last) / step;
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    let sign = if last < first { -1 } else { 1 };
    (0..=count).map(move |index| first.wrapping_add(sign * step.wrapping_mul(index as i64)))
}

fn bytes(text: &[u8]) -> Vec<Token> {
    text.iter().map(|byte| Token::Byte(*byte)).collect()
}

fn parts_of(tokens: Vec<Token>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = Vec::new();
    for token in tokens {
        match token {
            Token::Byte(byte) => literal.push(byte),
            Token::Atom(part) => {
                if !literal.is_empty() {
                    parts.push(Part::Literal(BString::new(std::mem::take(&mut literal))));
                }
                parts.push(part);
            }
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(BString::new(literal)));
    }
    parts
}
