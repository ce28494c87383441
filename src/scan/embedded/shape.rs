//! Shapes: how tyran's own rules write down what a credential looks like.
//!
//! Promise: a shape gives a pattern in RE2's syntax that finds it, keywords that each find holds,
//! and examples that the pattern must find; so a rule is written once, in the words of the
//! documentation of its format, and cannot contradict its own tests.
//!
//! A shape is text with classes in braces: `sk_live_{b62:24}`, `glsa_{b62:32}_{hex:8}`,
//! `{low:20..40}`, `{uuid}`, `{prod|test}`. It stands alone (`shape`), bounded on both sides, or
//! where one of `names` is given a value (`NAME=value`, `"name": "value"`, a table, an attribute,
//! prose, a YAML pair on two lines). Names are words: `datadog api key` is written in any case and with
//! any of `_ - .`, a blank or nothing between the words; `datadog *` is the word, then anything short
//! that holds a word for a credential.

use std::fmt::Write as _;

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

/// A set of characters that formats use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    name: &'static str,
    /// As it stands between the brackets of a character class.
    set: &'static str,
    members: &'static str,
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const CLASSES: &[Class] = &[
    Class { name: "dig", set: "0-9", members: "0123456789" },
    Class { name: "hex", set: "0-9a-f", members: "0123456789abcdef" },
    Class { name: "HEX", set: "0-9A-F", members: "0123456789ABCDEF" },
    Class { name: "xdig", set: "0-9a-fA-F", members: "0123456789abcdefABCDEF" },
    Class { name: "lower", set: "a-z", members: LOWER },
    Class { name: "upper", set: "A-Z", members: UPPER },
    Class {
        name: "alpha",
        set: "A-Za-z",
        members: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    },
    Class { name: "low", set: "0-9a-z", members: "0123456789abcdefghijklmnopqrstuvwxyz" },
    Class { name: "up", set: "0-9A-Z", members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" },
    Class { name: "b32", set: "2-7A-Z", members: "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ" },
    Class { name: "lb32", set: "2-7a-z", members: "234567abcdefghijklmnopqrstuvwxyz" },
    Class {
        name: "b58",
        set: "1-9A-HJ-NP-Za-km-z",
        members: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    },
    Class {
        name: "b62",
        set: "0-9A-Za-z",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    },
    Class {
        name: "word",
        set: "0-9A-Za-z_",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz",
    },
    Class {
        name: "b64u",
        set: "0-9A-Za-z_\\-",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-",
    },
    Class {
        name: "b64",
        set: "0-9A-Za-z+/",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+abcdefghijklmnopqrstuvwxyz/",
    },
    Class {
        name: "b64any",
        set: "0-9A-Za-z+/_=\\-",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    },
    Class {
        name: "url",
        set: "0-9A-Za-z_.~\\-",
        members: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz.~-",
    },
    Class { name: "hexdash", set: "0-9a-f\\-", members: "0123456789abcdef" },
    Class { name: "pad", set: "=", members: "=" },
];

/// The largest count that RE2 takes.
const MAX_COUNT: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Run { class: Class, least: usize, most: Option<usize> },
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
            pieces.push(Piece::parse(inside)?);
            rest = after;
        }
        if rest.contains('}') {
            return Err(ShapeFault::Brace(text.to_owned()));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        if pieces.is_empty() { Err(ShapeFault::Empty) } else { Ok(Self(pieces)) }
    }

    /// The shape alone, in RE2's syntax.
    pub fn pattern(&self) -> String {
        let mut pattern = String::new();
        for piece in &self.0 {
            piece.push_pattern(&mut pattern);
        }
        pattern
    }

    /// One text of this shape, the same for the same `seed`.
    pub fn sample(&self, seed: u64) -> String {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut sample = String::new();
        for piece in &self.0 {
            piece.push_sample(&mut sample, &mut random);
        }
        sample
    }

    /// What must not follow a text of this shape: a longer run would be something else.
    fn bound(&self) -> &'static str {
        match self.0.last() {
            Some(Piece::Run { class, .. }) => match class.name {
                "b64u" | "hexdash" => "[^0-9A-Za-z_\\-]",
                "url" => "[^0-9A-Za-z_~\\-]",
                "b64" => "[^0-9A-Za-z+/=_\\-]",
                "b64any" | "pad" => "[^0-9A-Za-z+/=_\\-]",
                _ => "[^0-9A-Za-z_]",
            },
            Some(Piece::Literal(text)) if text.ends_with('=') => "[^0-9A-Za-z+/=_\\-]",
            Some(Piece::Uuid) => "[^0-9A-Za-z_\\-]",
            Some(Piece::Literal(_) | Piece::Choice(_)) | None => "[^0-9A-Za-z_]",
        }
    }

    /// Whether it begins with a character of a word.
    fn begins_with_word(&self) -> bool {
        match self.0.first() {
            Some(Piece::Literal(text)) => text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_'),
            Some(Piece::Choice(choice)) => {
                choice.iter().all(|text| text.starts_with(|first: char| first.is_ascii_alphanumeric()))
            }
            Some(Piece::Run { class, .. }) => !class.set.contains(['+', '-', '=']) || class.set == "0-9",
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

/// Shorter keywords would occur on nearly every page; such a rule must give its own.
const MIN_KEYWORD: usize = 4;

impl Piece {
    fn parse(inside: &str) -> Result<Self, ShapeFault> {
        if inside == "uuid" {
            return Ok(Self::Uuid);
        }
        if inside.contains('|') {
            return Ok(Self::Choice(inside.split('|').map(str::to_owned).collect()));
        }
        let (name, count) = inside.split_once(':').ok_or_else(|| ShapeFault::Class(inside.to_owned()))?;
        let class = CLASSES.iter().find(|class| class.name == name).copied();
        let class = class.ok_or_else(|| ShapeFault::Class(name.to_owned()))?;
        let number = |text: &str| {
            let number = text.parse::<usize>().map_err(|_| ShapeFault::Count(count.to_owned()))?;
            if number > MAX_COUNT { Err(ShapeFault::Count(count.to_owned())) } else { Ok(number) }
        };
        let (least, most) = match count.split_once("..") {
            None => (number(count)?, Some(number(count)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        if most.is_some_and(|most| most < least || most == 0) {
            return Err(ShapeFault::Count(count.to_owned()));
        }
        Ok(Self::Run { class, least, most })
    }

    fn push_pattern(&self, pattern: &mut String) {
        match self {
            Self::Literal(text) => push_escaped(pattern, text),
            Self::Run { class, least, most } => {
                let _ = match most {
                    Some(most) if most == least => write!(pattern, "[{}]{{{least}}}", class.set),
                    Some(most) => write!(pattern, "[{}]{{{least},{most}}}", class.set),
                    None => write!(pattern, "[{}]{{{least},}}", class.set),
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

    fn push_sample(&self, sample: &mut String, random: &mut Random) {
        match self {
            Self::Literal(text) => sample.push_str(text),
            Self::Run { class, least, most } => {
                let most = most.unwrap_or(least + 8);
                let count = least + random.below(most - least + 1);
                for _ in 0..count {
                    sample.push(random.of(class.members));
                }
            }
            Self::Choice(choice) => {
                let place = random.below(choice.len());
                sample.push_str(choice.get(place).map_or("", String::as_str));
            }
            Self::Uuid => {
                for (place, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
                    if place > 0 {
                        sample.push('-');
                    }
                    for _ in 0..count {
                        sample.push(random.of("0123456789abcdef"));
                    }
                }
            }
        }
    }
}

/// A small generator for examples; not for secrets of anybody.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn of(&mut self, members: &str) -> char {
        let place = self.below(members.len());
        members.chars().nth(place).unwrap_or('0')
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

/// Between a name and its value: quotes (escaped or as entities), assignment signs, brackets.
const JUNK: &str =
    r##"(?:[ \t"'`=:,>|()\[\]{}<\\#*~?+/%$@.!-]|&[a-z]{2,4};|&#x?[0-9a-fA-F]{2,3};|\\u00[0-9a-fA-F]{2}|[“”‘’])"##;

/// Words that stand between a name and its value, in prose, in code and in markup.
const LINKS: &str = "(?i:is|was|are|to|as|value|default|string|bearer|basic|token|apikey|key|content|data)";

/// Words of a name which say that its value is a credential.
const CREDENTIAL: &str = "(?i:key|token|secret|passw|pwd|auth|cred|license|bearer|signature|pat\\b|psk)";

/// The pattern of values that are known by the name they are given to. The first group is the value.
///
/// # Errors
/// When a name is empty.
pub fn named_pattern(names: &[String], shapes: &[Shape]) -> Result<String, ShapeFault> {
    let mut pattern = String::from("(?:");
    for (place, name) in names.iter().enumerate() {
        if place > 0 {
            pattern.push('|');
        }
        push_name(&mut pattern, name)?;
    }
    let _ = write!(
        pattern,
        r#")[0-9A-Za-z_.\-]{{0,24}}?(?:{JUNK}{{1,12}}(?:{LINKS}{JUNK}{{1,8}})?|{JUNK}{{0,6}}\r?\n[ \t]{{0,24}}["'<{{-]{{0,2}}(?i:value|default|string|content|data){JUNK}{{1,12}})"#
    );
    push_shapes(&mut pattern, shapes);
    Ok(pattern)
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

fn push_name(pattern: &mut String, name: &str) -> Result<(), ShapeFault> {
    let (words, open) = match name.strip_suffix('*') {
        Some(words) => (words.trim(), true),
        None => (name.trim(), false),
    };
    let first = words.split(' ').next().unwrap_or_default();
    if first.is_empty() {
        return Err(ShapeFault::Empty);
    }
    if first.len() < MIN_KEYWORD {
        pattern.push_str(r"(?:\b|_)");
    }
    pattern.push_str("(?i:");
    for (place, word) in words.split(' ').enumerate() {
        if place > 0 {
            pattern.push_str(r"[ _.\-]?");
        }
        push_escaped(pattern, word);
    }
    pattern.push(')');
    if open {
        let _ = write!(pattern, r#"[0-9A-Za-z_.\-:"'={{>(\[ \t\r\n]{{0,32}}?{CREDENTIAL}"#);
    }
    Ok(())
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
        let mut words = name.trim_end_matches('*').trim().split(' ');
        let first = words.next().unwrap_or_default().to_ascii_lowercase();
        if first.len() >= MIN_KEYWORD {
            keywords.push(first);
            continue;
        }
        let second = words.next().ok_or_else(|| ShapeFault::Keyword(name.clone()))?.to_ascii_lowercase();
        keywords.extend(["", " ", "_", ".", "-"].map(|gap| format!("{first}{gap}{second}")));
    }
    keywords.sort();
    keywords.dedup();
    Ok(keywords)
}

/// One text in which the name is given the value, for examples; `place` chooses the form.
pub fn named_example(name: &str, value: &str, place: usize) -> String {
    let words: Vec<&str> = name.trim_end_matches('*').trim().split(' ').collect();
    let mut snake = words.join("_");
    if name.ends_with('*') {
        snake.push_str("_key");
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
