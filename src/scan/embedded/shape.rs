//! Shapes: how tyran's own rules write down what a credential looks like.
//!
//! Promise: a shape gives a pattern in RE2's syntax that finds it, keywords that each find holds,
//! and examples that the pattern must find; so a rule is written once, in the words of the
//! documentation of its format, and cannot contradict its own tests.
//!
//! A shape is a template of `super::example` of which only the random parts, `{one:}` and `{uuid}`
//! are used: `key_{base62:24}`, `{hex:32}`, `{one:prod|test}-{uuid}`. Each sample of it is an example.
//! It stands alone, bounded on both sides, or, in a rule with `names`, where one of them is given a value
//! (`NAME=value`, `"name": "value"`, a table, an attribute, prose, a YAML pair on two lines). Names are
//! words: `datadog api key` is written in any case and with any of `_ - .`, a blank or nothing between
//! the words; `datadog *` is the word, then anything short that holds a word for a credential; of
//! `access|auth token` any of the first words will do.

use std::fmt::Write as _;

use super::alphabet;

/// What is wrong with a shape or a name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeFault {
    /// A brace without its partner.
    #[error("a brace is not closed in {0:?}")]
    Brace(String),
    /// A class that is not known.
    #[error("no class {0:?}")]
    Class(String),
    /// A count that is not a number, or a range that is empty or above 1000.
    #[error("no count {0:?}")]
    Count(String),
    /// Nothing to look for.
    #[error("empty")]
    Empty,
    /// No keyword of four letters can be taken from it; the rule must give its own.
    #[error("no keyword can be taken from {0:?}")]
    Keyword(String),
}

/// The largest count that RE2 takes.
const MAX_COUNT: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Run { ranges: String, least: usize, most: usize },
    Choice(Vec<String>),
    Uuid,
}

/// A shape that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(Vec<Piece>);

impl Shape {
    /// Reads a shape.
    ///
    /// # Errors
    /// When it is empty, a brace is not closed, or a class or count is not known.
    pub fn parse(text: &str) -> Result<Self, ShapeFault> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                pieces.push(Piece::Literal(before.to_owned()));
            }
            let (inside, after) = after.split_once('}').ok_or_else(|| ShapeFault::Brace(text.to_owned()))?;
            // `{}` splits what must not stand in the tree in one piece.
            if !inside.is_empty() {
                pieces.push(Piece::parse(inside)?);
            }
            rest = after;
        }
        if rest.contains('}') {
            return Err(ShapeFault::Brace(text.to_owned()));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        if pieces.is_empty() { Err(ShapeFault::Empty) } else { Ok(Self(join_literals(pieces))) }
    }

    /// The shape alone, in RE2's syntax.
    pub fn pattern(&self) -> String {
        let mut pattern = String::new();
        for piece in &self.0 {
            piece.push_pattern(&mut pattern);
        }
        pattern
    }

    /// What must not follow a text of this shape: a longer run would be something else.
    fn bound(&self) -> &'static str {
        let last = match self.0.last() {
            Some(Piece::Run { ranges, .. }) => ranges.as_str(),
            Some(Piece::Literal(text)) => text.as_str(),
            // A choice of paddings, or of words.
            Some(Piece::Choice(choice)) => choice.last().map_or("", String::as_str),
            Some(Piece::Uuid) => "-",
            None => "",
        };
        if last.contains(['+', '=']) {
            r"[^0-9A-Za-z_+/=\-]"
        } else if last.contains('~') {
            r"[^0-9A-Za-z_~\-]"
        } else if last.ends_with('-') {
            r"[^0-9A-Za-z_\-]"
        } else {
            r"\b"
        }
    }

    /// Whether it begins with a character of a word.
    fn begins_with_word(&self) -> bool {
        let is_word = |text: &String| text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
        match self.0.first() {
            Some(Piece::Literal(text)) => is_word(text),
            Some(Piece::Choice(choice)) => choice.iter().all(is_word),
            Some(Piece::Run { ranges, .. }) => !ranges.contains(['+', '=', '.']) && !ranges.ends_with('-'),
            Some(Piece::Uuid) => true,
            None => false,
        }
    }

    /// The longest literal, in lower case: every find holds it.
    fn longest_literal(&self) -> Option<String> {
        let literals = self.0.iter().filter_map(|piece| match piece {
            Piece::Literal(text) => Some(text.to_ascii_lowercase()),
            Piece::Run { .. } | Piece::Choice(_) | Piece::Uuid => None,
        });
        literals.max_by_key(String::len).filter(|literal| literal.len() >= MIN_KEYWORD)
    }
}

fn join_literals(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

/// Shorter keywords would occur on nearly every page; such a rule must give its own.
const MIN_KEYWORD: usize = 4;

impl Piece {
    fn parse(inside: &str) -> Result<Self, ShapeFault> {
        if inside == "uuid" {
            return Ok(Self::Uuid);
        }
        if let Some(choices) = inside.strip_prefix("one:") {
            return Ok(Self::Choice(choices.split('|').map(str::to_owned).collect()));
        }
        let (name, count) = inside.rsplit_once(':').ok_or_else(|| ShapeFault::Class(inside.to_owned()))?;
        let ranges = alphabet::ranges(name).ok_or_else(|| ShapeFault::Class(name.to_owned()))?;
        let number = |text: &str| text.parse::<usize>().ok().filter(|&number| number <= MAX_COUNT);
        let (least, most) = count.split_once('-').unwrap_or((count, count));
        match (number(least), number(most)) {
            (Some(least), Some(most)) if least <= most && most > 0 => {
                Ok(Self::Run { ranges: ranges.to_owned(), least, most })
            }
            _ => Err(ShapeFault::Count(count.to_owned())),
        }
    }

    fn push_pattern(&self, pattern: &mut String) {
        match self {
            Self::Literal(text) => push_escaped(pattern, text),
            Self::Run { ranges, least, most } => {
                let set = match ranges.strip_suffix('-') {
                    Some(ranges) => format!("{ranges}\\-"),
                    None => ranges.clone(),
                };
                let _ = if most == least {
                    write!(pattern, "[{set}]{{{least}}}")
                } else {
                    write!(pattern, "[{set}]{{{least},{most}}}")
                };
            }
            Self::Choice(choice) => {
                pattern.push_str("(?:");
                for (place, text) in choice.iter().enumerate() {
                    if place > 0 {
                        pattern.push('|');
                    }
                    push_escaped(pattern, text);
                }
                pattern.push(')');
            }
            Self::Uuid => {
                pattern.push_str("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");
            }
        }
    }
}

fn push_escaped(pattern: &mut String, text: &str) {
    for character in text.chars() {
        if !character.is_ascii_alphanumeric() && !matches!(character, '_' | ' ' | '/' | ':' | '=' | '@' | '%' | ',') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
}

/// The pattern of tokens that are known by themselves. The first group is the token.
///
/// The left bound may also be a line break that was written `\n`: in JSON and in code a token
/// often begins right after one.
pub fn token_pattern(shapes: &[Shape]) -> String {
    let mut pattern = String::new();
    if shapes.iter().all(Shape::begins_with_word) {
        pattern.push_str(r"(?:\b|\\[nrt])");
    }
    push_shapes(&mut pattern, shapes);
    pattern
}

/// What stands between a name and its value: quotes, assignment signs, brackets, line breaks. Together
/// with [`LINKS`] this covers assignments of all languages, tables, attributes, prose, and YAML's pairs
/// of a name and a value on two lines. One class, since a pattern of hundreds of rules must be small.
const JUNK: &str = r##"[ \t\r\n"'`=:,>|()\[\]{}<\\#*~?+/%$.!-]"##;

/// Words between a name and its value, in prose, in code and in markup; entities and escapes.
const LINKS: &str = "(?i:is|was|to|as|value|default|string|bearer|basic|token|apikey|key|content|data|&[a-z]{2,4};|&#[0-9]{2};|u00[0-9a-f]{2})";

/// What stands between a name and a value of any kind: nothing that the value could begin with, or that
/// marks a variable.
const NARROW_JUNK: &str = r##"[ \t"'`=:,>|(\[\])\\*?]"##;

/// Words of a name which say that its value is a credential.
const CREDENTIAL: &str = "(?i:key|token|secret|passw|pwd|auth|cred|license|bearer|signature|pat\\b|psk)";

/// A type between a name and its value: `token: &'static str = "…"`, `key: string = "…"`.
const TYPED: &str = r"(?:[ \t]?:[ \t]?&?(?:'[a-z]{1,8} )?[A-Za-z][0-9A-Za-z_:<>?]{1,16}[ \t]?=)?";

/// The pattern of values that are known by the name they are given to. The first group is the value.
///
/// # Errors
/// When a name is empty.
pub fn named_pattern(names: &[String], shapes: &[Shape]) -> Result<String, ShapeFault> {
    let mut pattern = String::new();
    push_names(&mut pattern, names)?;
    let _ = write!(pattern, "{JUNK}{{1,24}}(?:{LINKS}{JUNK}{{1,8}}){{0,2}}");
    push_shapes(&mut pattern, shapes);
    Ok(pattern)
}

/// The same for values of any kind, of which only a pattern of the characters is known.
///
/// # Errors
/// When a name is empty.
pub fn named_value_pattern(names: &[String], value: &str) -> Result<String, ShapeFault> {
    let mut pattern = String::new();
    push_names(&mut pattern, names)?;
    let _ = write!(
        pattern,
        r#"(?:{NARROW_JUNK}{{1,10}}(?:{LINKS}{NARROW_JUNK}{{1,8}})?|{NARROW_JUNK}{{0,4}}\r?\n[ \t]{{0,24}}["'<-]{{0,2}}(?i:value|default|string|content){NARROW_JUNK}{{1,8}}|["']?:[ \t]{{1,3}}[|>][+-]?\r?\n[ \t]{{1,40}})"#
    );
    let _ = write!(pattern, r#"({value})(?:["'`\s<>,;&\\|)\]}}]|$)"#);
    Ok(pattern)
}

/// The names, what an identifier goes on with, and a type. Names with the same first word are told apart
/// behind it, so that each place of the word is looked at once.
fn push_names(pattern: &mut String, names: &[String]) -> Result<(), ShapeFault> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for name in names {
        let (first, rest) = split_name(name)?;
        match groups.iter_mut().find(|(other, _)| *other == first) {
            Some((_, rests)) => rests.push(rest),
            None => groups.push((first, vec![rest])),
        }
    }
    pattern.push_str("(?:");
    for (place, (first, rests)) in groups.iter().enumerate() {
        if place > 0 {
            pattern.push('|');
        }
        push_first_word(pattern, first);
        let _ = match rests.as_slice() {
            [only] => write!(pattern, "{only}"),
            several => write!(pattern, "(?:{})", several.join("|")),
        };
    }
    let _ = write!(pattern, r")[0-9A-Za-z_.\-]{{0,24}}?{TYPED}");
    Ok(())
}

/// The first word of a name, and a pattern of the rest. A word that is too short to be looked for takes
/// the next one with it.
fn split_name(name: &str) -> Result<(&str, String), ShapeFault> {
    let bare = bare(name);
    let end = match bare.find(' ') {
        Some(at) if at < MIN_KEYWORD => bare[at + 1..].find(' ').map_or(bare.len(), |next| at + 1 + next),
        Some(at) => at,
        None => bare.len(),
    };
    let (first, words) = bare.split_at(end);
    if first.is_empty() {
        return Err(ShapeFault::Empty);
    }
    let mut rest = String::new();
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        rest.push_str(r"[ _.\-]?");
        push_any_case(&mut rest, word);
    }
    if name.ends_with('*') {
        let _ = write!(rest, r#"[0-9A-Za-z_.\-:"'={{>(\[ \t\r\n]{{0,32}}?{CREDENTIAL}"#);
    }
    Ok((first, rest))
}

fn push_shapes(pattern: &mut String, shapes: &[Shape]) {
    let mut bounds: Vec<&str> = shapes.iter().map(Shape::bound).collect();
    bounds.dedup();
    if let [bound] = bounds[..] {
        pattern.push('(');
        for (place, shape) in shapes.iter().enumerate() {
            if place > 0 {
                pattern.push('|');
            }
            pattern.push_str(&shape.pattern());
        }
        let _ = write!(pattern, ")(?:{bound}|$)");
        return;
    }
    pattern.push_str("(?:");
    for (place, shape) in shapes.iter().enumerate() {
        if place > 0 {
            pattern.push('|');
        }
        let _ = write!(pattern, "({})(?:{}|$)", shape.pattern(), shape.bound());
    }
    pattern.push(')');
}

/// A word in any letter case, or one of several: `access|auth`.
fn push_any_case(pattern: &mut String, word: &str) {
    pattern.push_str("(?i:");
    for (place, one) in word.split('|').enumerate() {
        if place > 0 {
            pattern.push('|');
        }
        push_escaped(pattern, one);
    }
    pattern.push(')');
}

/// Shorter words are parts of others (`ably` of `probably`), so they must begin a word.
const DISTINCT_WORD: usize = 6;

/// The first word of a name: if it is short, at the beginning of a word, or as one in an identifier like
/// `myAblyKey`.
fn push_first_word(pattern: &mut String, word: &str) {
    if let Some((short, next)) = word.split_once(' ') {
        pattern.push_str(r"(?:\b|_)");
        push_any_case(pattern, short);
        pattern.push_str(r"[ _.\-]?");
        return push_any_case(pattern, next);
    }
    if word.len() >= DISTINCT_WORD || word.contains('|') {
        return push_any_case(pattern, word);
    }
    pattern.push_str(r"(?:(?:\b|_)(?i:");
    push_escaped(pattern, word);
    pattern.push(')');
    let mut letters = word.chars();
    if let Some(first) = letters.next().filter(char::is_ascii_alphabetic) {
        pattern.push_str("|[0-9a-z]");
        pattern.push(first.to_ascii_uppercase());
        push_escaped(pattern, &letters.as_str().to_ascii_lowercase());
    }
    pattern.push(')');
}

/// Keywords for [`token_pattern`]: the longest literal of each shape.
///
/// # Errors
/// When a shape holds no literal that is long enough.
pub fn token_keywords(shapes: &[Shape]) -> Result<Vec<String>, ShapeFault> {
    let mut keywords = Vec::new();
    for shape in shapes {
        keywords.push(shape.longest_literal().ok_or_else(|| ShapeFault::Keyword(shape.pattern()))?);
    }
    keywords.sort();
    keywords.dedup();
    Ok(keywords)
}

/// Keywords for [`named_pattern`]: the first word of each name, or with the second where it is short.
///
/// # Errors
/// When a name is too short.
pub fn named_keywords(names: &[String]) -> Result<Vec<String>, ShapeFault> {
    let mut keywords = Vec::new();
    for name in names {
        let mut words = bare(name).split(' ');
        let first = words.next().unwrap_or_default().to_ascii_lowercase();
        if first.len() >= MIN_KEYWORD {
            keywords.push(first);
            continue;
        }
        match words.next() {
            Some(second) => {
                let second = second.to_ascii_lowercase();
                keywords.extend(["", " ", "_", ".", "-"].map(|gap| format!("{first}{gap}{second}")));
            }
            None if first.len() >= 2 && name.ends_with('*') => {
                let next = ["_", "-", ".", " ", "\"", "api", "key", "token", "secret", "auth", "access", "pass"];
                keywords.extend(next.map(|next| format!("{first}{next}")));
            }
            None => return Err(ShapeFault::Keyword(name.clone())),
        }
    }
    keywords.sort();
    keywords.dedup();
    Ok(keywords)
}

/// What an identifier may go on with behind a name that is written as `acme_` in a keyword.
const GOES_ON: &[&str] = &["api", "key", "token", "secret", "auth", "access", "client", "pass", "pwd", "app"];

/// The keywords of a rule with names, each with every sign that may join words: `cf_api` is also looked for as
/// `cf-api`, `cf.api`, `cf api` and `cfapi`, and `cf_` as `cfkey` too.
pub fn joined_keywords(keywords: &[String]) -> Vec<String> {
    let is_joint = |one: char| matches!(one, '_' | '-' | '.' | ' ');
    let mut all = Vec::new();
    for keyword in keywords {
        let lower = keyword.to_ascii_lowercase();
        let Some(words) = lower.strip_suffix(is_joint) else {
            all.extend(["_", "-", ".", " ", ""].map(|joint| lower.split(is_joint).collect::<Vec<_>>().join(joint)));
            continue;
        };
        if words.contains(is_joint) || words.is_empty() {
            all.push(lower.clone());
            continue;
        }
        all.extend(["_", "-", ".", " "].map(|joint| format!("{words}{joint}")));
        all.extend(GOES_ON.iter().map(|next| format!("{words}{next}")));
    }
    all.retain(|keyword| keyword.len() >= 3);
    all.sort();
    all.dedup();
    all
}

/// The words of a name without what marks it as open.
fn bare(name: &str) -> &str {
    name.trim_matches('*').trim()
}

/// One text in which the name is given the value, for examples; `place` chooses the form.
pub fn named_example(name: &str, value: &str, place: usize) -> String {
    let words: Vec<&str> = bare(name).split(' ').map(|word| word.split('|').next().unwrap_or(word)).collect();
    let mut snake = words.join("_");
    if name.ends_with('*') {
        snake.push_str("_api_key");
    }
    let upper = snake.to_ascii_uppercase();
    match place % 6 {
        0 => format!("{upper}={value}\n"),
        1 => format!("  \"{snake}\": \"{value}\",\n"),
        2 => format!("{snake}: {value}\n"),
        3 => format!("    \"os.environ[\\\"{upper}\\\"] = \\\"{value}\\\"\\n\",\n"),
        4 => format!("The {} is `{value}`.\n", snake.replace('_', " ")),
        _ => format!("        - name: {upper}\n          value: \"{value}\"\n"),
    }
}
