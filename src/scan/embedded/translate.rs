//! RE2's syntax, read as RE2 reads it.
//!
//! Promise: a pattern that gitleaks' release build accepts gives a tree of the same meaning, and one
//! that it refuses is refused here. What differs from the regex crate: Perl classes and `\b` are ASCII
//! and `\s` has no vertical tab; a `{` that starts no counter is itself, as are `[`, `&&`, `--` and
//! `~~` in a class; counters end at 1000, nested ones too; `\Q…\E`, `\C` and octal escapes exist;
//! `(?x)`, `\Z` and look-around do not. The tree is lowered to bytes by [`Node::hir`], either whole or
//! for text that is known to be ASCII, which needs far smaller automata.

use regex_syntax::hir::{self, Capture, Class, ClassBytes, ClassBytesRange, Hir, Repetition};

use super::class::{ByteSet, CodeSet, LAST};

/// A regular expression over code points.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Empty,
    Set(CodeSet),
    AnyByte,
    Look(Look),
    Repeat { node: Box<Node>, least: u32, most: Option<u32>, greedy: bool },
    Concat(Vec<Node>),
    Either(Vec<Node>),
    Group(u32, Box<Node>),
}

/// What asks for a place and takes no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    Word,
    NotWord,
}

/// All of them.
pub(super) const LOOKS: [Look; 6] =
    [Look::TextStart, Look::TextEnd, Look::LineStart, Look::LineEnd, Look::Word, Look::NotWord];

impl Look {
    /// Whether it holds between two bytes, where there are any.
    pub(super) fn holds(self, before: Option<u8>, behind: Option<u8>) -> bool {
        let is_word = |byte: Option<u8>| byte.is_some_and(|byte| ByteSet::WORD.contains(byte));
        match self {
            Self::TextStart => before.is_none(),
            Self::TextEnd => behind.is_none(),
            Self::LineStart => before.is_none_or(|byte| byte == b'\n'),
            Self::LineEnd => behind.is_none_or(|byte| byte == b'\n'),
            Self::Word => is_word(before) != is_word(behind),
            Self::NotWord => is_word(before) == is_word(behind),
        }
    }
}

/// Why a pattern is refused; the byte at which reading stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {at})")]
pub struct PatternFault {
    /// What is wrong.
    pub what: &'static str,
    /// Where.
    pub at: usize,
}

/// A pattern that has been read.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) node: Node,
    /// How many capture groups it has.
    pub(super) groups: u32,
}

/// The highest counter that RE2 takes, alone or as a product of nested ones.
const MOST: u32 = 1000;
/// Deeper nesting is refused, so that no pattern can exhaust the stack (RE2 stops at 1000).
const DEPTH: usize = 200;

const DIGIT: &[(u32, u32)] = &[(0x30, 0x39)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
const SPACE: &[(u32, u32)] = &[(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)];

pub(super) fn parse(pattern: &str) -> Result<Tree, PatternFault> {
    let mut reader = Reader { text: pattern, at: 0, groups: 0, names: Vec::new(), depth: 0 };
    let mut flags = Flags::default();
    let node = reader.alternation(&mut flags)?;
    match reader.peek() {
        None => Ok(Tree { node, groups: reader.groups }),
        Some(_) => Err(reader.fault("a `)` closes nothing")),
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    many_lines: bool,
    dot_is_all: bool,
    swap_greed: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    groups: u32,
    names: Vec<&'a str>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn fault(&self, what: &'static str) -> PatternFault {
        PatternFault { what, at: self.at }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn take(&mut self, literal: &str) -> bool {
        let there = self.rest().starts_with(literal);
        if there {
            self.at += literal.len();
        }
        there
    }

    /// Alternatives up to the end of the group. Flags set inside hold to that end, over `|` too.
    fn alternation(&mut self, flags: &mut Flags) -> Result<Node, PatternFault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.fault("groups are nested too deeply"));
        }
        let mut branches = vec![self.concatenation(flags)?];
        while self.take("|") {
            branches.push(self.concatenation(flags)?);
        }
        self.depth -= 1;
        Ok(match <[Node; 1]>::try_from(branches) {
            Ok([only]) => only,
            Err(branches) => Node::Either(branches),
        })
    }

    fn concatenation(&mut self, flags: &mut Flags) -> Result<Node, PatternFault> {
        let mut parts = Vec::new();
        let mut repeated = false;
        while let Some(character) = self.peek() {
            let counter = match character {
                '|' | ')' => break,
                '*' | '+' | '?' => {
                    self.next();
                    Some(match character {
                        '*' => (0, None),
                        '+' => (1, None),
                        _ => (0, Some(1)),
                    })
                }
                '{' => self.counter()?,
                _ => None,
            };
            if let Some((least, most)) = counter {
                let lazy = self.take("?");
                if repeated {
                    return Err(self.fault("repetition operators cannot be stacked"));
                }
                let Some(node) = parts.pop() else { return Err(self.fault("nothing to repeat")) };
                let node = Node::Repeat { node: Box::new(node), least, most, greedy: lazy == flags.swap_greed };
                if (least >= 2 || most.is_some_and(|most| most >= 2)) && !fits(&node, MOST) {
                    return Err(self.fault("counters multiply to more than 1000"));
                }
                parts.push(node);
                repeated = true;
                continue;
            }
            repeated = false;
            self.atom(flags, &mut parts)?;
        }
        Ok(match <[Node; 1]>::try_from(parts) {
            Ok([only]) => only,
            Err(parts) if parts.is_empty() => Node::Empty,
            Err(parts) => Node::Concat(parts),
        })
    }

    /// `{n}`, `{n,}` or `{n,m}`; anything else that starts with `{` is text.
    fn counter(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternFault> {
        let inside = |text: &'a str| text.strip_prefix('{')?.split_once('}').map(|(inside, _)| inside);
        let Some(inside) = inside(self.rest()) else { return Ok(None) };
        let (least, most) = match inside.split_once(',') {
            None => (number(inside), number(inside).map(Some)),
            Some((least, "")) => (number(least), Some(None)),
            Some((least, most)) => (number(least), number(most).map(Some)),
        };
        let (Some(least), Some(most)) = (least, most) else { return Ok(None) };
        if least > MOST || most.is_some_and(|most| most > MOST || most < least) {
            return Err(self.fault("a counter is above 1000, or its ends are swapped"));
        }
        self.at += inside.len() + 2;
        Ok(Some((least, most)))
    }

    fn atom(&mut self, flags: &mut Flags, parts: &mut Vec<Node>) -> Result<(), PatternFault> {
        let Some(character) = self.next() else { return Ok(()) };
        let node = match character {
            '(' => match self.group(flags)? {
                Some(node) => node,
                None => return Ok(()),
            },
            '[' => self.class(*flags)?,
            '.' if flags.dot_is_all => Node::Set(CodeSet::of(&[(0, LAST)])),
            '.' => Node::Set(CodeSet::of(&[(0, 9), (11, LAST)])),
            '^' => Node::Look(if flags.many_lines { Look::LineStart } else { Look::TextStart }),
            '$' => Node::Look(if flags.many_lines { Look::LineEnd } else { Look::TextEnd }),
            '\\' if self.take("Q") => {
                let quoted = self.rest().split("\\E").next().unwrap_or_default();
                self.at += quoted.len();
                self.take("\\E");
                parts.extend(quoted.chars().map(|character| literal(character, *flags)));
                return Ok(());
            }
            '\\' => self.escape(*flags)?,
            _ => literal(character, *flags),
        };
        parts.push(node);
        Ok(())
    }

    /// What follows `(`; `None` for flags alone, which change `flags`.
    fn group(&mut self, flags: &mut Flags) -> Result<Option<Node>, PatternFault> {
        let mut inner = *flags;
        let mut index = None;
        if self.take("?P<") || self.take("?<") {
            let name = self.rest().split('>').next().unwrap_or_default();
            let valid =
                !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_');
            self.at += name.len();
            if !valid || !self.take(">") || self.names.contains(&name) {
                return Err(self.fault("a group's name is missing, twice there or not a word"));
            }
            self.names.push(name);
            index = Some(self.open_group());
        } else if self.take("?") {
            if !self.flags(&mut inner)? {
                *flags = inner;
                return Ok(None);
            }
        } else {
            index = Some(self.open_group());
        }
        let node = self.alternation(&mut inner)?;
        if !self.take(")") {
            return Err(self.fault("a `(` is not closed"));
        }
        Ok(Some(match index {
            Some(index) => Node::Group(index, Box::new(node)),
            // Kept together: a counter behind it is for all of it.
            None => Node::Concat(vec![node]),
        }))
    }

    fn open_group(&mut self) -> u32 {
        self.groups += 1;
        self.groups
    }

    /// Flags after `(?`; whether a group follows (`:`) or nothing (`)`).
    fn flags(&mut self, flags: &mut Flags) -> Result<bool, PatternFault> {
        let (mut on, mut seen) = (true, false);
        loop {
            let flag = match self.next() {
                Some('i') => &mut flags.ignore_case,
                Some('m') => &mut flags.many_lines,
                Some('s') => &mut flags.dot_is_all,
                Some('U') => &mut flags.swap_greed,
                Some('-') if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                Some(end @ (':' | ')')) if on || seen => return Ok(end == ':'),
                _ => return Err(self.fault("what follows `(?` is not known to RE2")),
            };
            *flag = on;
            seen = true;
        }
    }

    /// What follows a `\` outside of a class.
    fn escape(&mut self, flags: Flags) -> Result<Node, PatternFault> {
        let fold = |set: CodeSet| Node::Set(if flags.ignore_case { set.folded() } else { set });
        let look = match self.peek() {
            Some('A') => Some(Look::TextStart),
            Some('z') => Some(Look::TextEnd),
            Some('b') => Some(Look::Word),
            Some('B') => Some(Look::NotWord),
            _ => None,
        };
        if let Some(look) = look {
            self.next();
            return Ok(Node::Look(look));
        }
        if self.take("C") {
            return Ok(Node::AnyByte);
        }
        if let Some(set) = self.named_class(flags)? {
            return Ok(Node::Set(set));
        }
        let code = self.escaped_code()?;
        Ok(fold(CodeSet::of(&[(code, code)])))
    }

    /// `d D s S w W pX p{…} P…`, folded where the flags say so; nothing is read when it is none.
    fn named_class(&mut self, flags: Flags) -> Result<Option<CodeSet>, PatternFault> {
        let (ranges, negated) = match self.peek() {
            Some('d') => (DIGIT, false),
            Some('D') => (DIGIT, true),
            Some('s') => (SPACE, false),
            Some('S') => (SPACE, true),
            Some('w') => (WORD, false),
            Some('W') => (WORD, true),
            Some('p' | 'P') => return self.property(flags).map(Some),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(sign(CodeSet::of(ranges), negated, flags)))
    }

    fn property(&mut self, flags: Flags) -> Result<CodeSet, PatternFault> {
        let mut negated = self.next() == Some('P');
        let name = if self.take("{") {
            let name = self.rest().split('}').next().unwrap_or_default();
            self.at += name.len();
            if !self.take("}") {
                return Err(self.fault("a property's name is not closed"));
            }
            name
        } else {
            let start = self.at;
            self.next();
            self.text.get(start..self.at).unwrap_or_default()
        };
        let name = match name.strip_prefix('^') {
            Some(name) => {
                negated = !negated;
                name
            }
            None => name,
        };
        if name == "Any" {
            return Ok(sign(CodeSet::of(&[(0, LAST)]), negated, flags));
        }
        // RE2 knows general categories by their short names, and scripts; both are case-sensitive.
        let known = match name.len() {
            1 => "CLMNPSZ".contains(name),
            2 => true,
            _ => name.starts_with(|first: char| first.is_ascii_uppercase()) && !name.contains(['=', ':', ' ']),
        };
        let parsed = if known {
            regex_syntax::parse(&format!("\\p{{{name}}}"))
        } else {
            return Err(self.fault("unknown property"));
        };
        let set = parsed.ok().and_then(|hir| match hir.into_kind() {
            hir::HirKind::Class(Class::Unicode(class)) => Some(CodeSet::of(
                &class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect::<Vec<_>>(),
            )),
            _ => None,
        });
        let set = set.ok_or_else(|| self.fault("unknown property"))?;
        Ok(sign(set, negated, flags))
    }

    /// A single character after `\`, in a class or outside.
    fn escaped_code(&mut self) -> Result<u32, PatternFault> {
        let Some(character) = self.next() else { return Err(self.fault("a `\\` at the end")) };
        let bad = self.fault("an escape that RE2 does not know");
        Ok(match character {
            '0'..='7' => {
                let follows = self.peek().and_then(|next| next.to_digit(8));
                // One digit other than zero would be a back reference.
                if character != '0' && follows.is_none() {
                    return Err(bad);
                }
                let mut code = character.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|next| next.to_digit(8)) else { break };
                    if code * 8 + digit > 0xFF {
                        break;
                    }
                    code = code * 8 + digit;
                    self.next();
                }
                code
            }
            'x' if self.take("{") => {
                let digits = self.rest().split('}').next().unwrap_or_default();
                self.at += digits.len();
                let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().filter(|&code| hexadecimal && code <= LAST);
                match code {
                    Some(code) if self.take("}") => code,
                    _ => return Err(bad),
                }
            }
            'x' => {
                let digits = self.rest().get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or(bad)?;
                self.at += 2;
                code
            }
            'a' => 0x07,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            _ if character.is_ascii() && !character.is_ascii_alphanumeric() && character != '_' => u32::from(character),
            _ => return Err(bad),
        })
    }

    /// What follows `[`.
    fn class(&mut self, flags: Flags) -> Result<Node, PatternFault> {
        let negated = self.take("^");
        let mut set = CodeSet::default();
        let mut first = true;
        loop {
            match self.peek() {
                None => return Err(self.fault("a `[` is not closed")),
                Some(']') if !first => {
                    self.next();
                    break;
                }
                Some(_) => {}
            }
            first = false;
            if let Some(named) = self.posix_class(flags)? {
                set.extend(&named);
                continue;
            }
            if self.rest().starts_with('\\') {
                let start = self.at;
                self.next();
                if let Some(named) = self.named_class(flags)? {
                    set.extend(&named);
                    continue;
                }
                self.at = start;
            }
            let low = self.class_code()?;
            let mut high = low;
            let mut ahead = self.rest().chars();
            if ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']') {
                self.next();
                high = self.class_code()?;
                if high < low {
                    return Err(self.fault("a range's ends are swapped"));
                }
            }
            let range = CodeSet::of(&[(low, high)]);
            set.extend(&if flags.ignore_case { range.folded() } else { range });
        }
        set.settle();
        Ok(Node::Set(if negated { set.negated() } else { set }))
    }

    fn class_code(&mut self) -> Result<u32, PatternFault> {
        match self.next() {
            None => Err(self.fault("a `[` is not closed")),
            Some('\\') => self.escaped_code(),
            Some(character) => Ok(u32::from(character)),
        }
    }

    /// `[:name:]` or `[:^name:]` in a class.
    fn posix_class(&mut self, flags: Flags) -> Result<Option<CodeSet>, PatternFault> {
        let Some((name, _)) = self.rest().strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(None);
        };
        let (plain, negated) = name.strip_prefix('^').map_or((name, false), |plain| (plain, true));
        let ranges: &[(u32, u32)] = match plain {
            "alnum" => &[(0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)],
            "alpha" => &[(0x41, 0x5A), (0x61, 0x7A)],
            "ascii" => &[(0x00, 0x7F)],
            "blank" => &[(0x09, 0x09), (0x20, 0x20)],
            "cntrl" => &[(0x00, 0x1F), (0x7F, 0x7F)],
            "digit" => DIGIT,
            "graph" => &[(0x21, 0x7E)],
            "lower" => &[(0x61, 0x7A)],
            "print" => &[(0x20, 0x7E)],
            "punct" => &[(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
            "space" => &[(0x09, 0x0D), (0x20, 0x20)],
            "upper" => &[(0x41, 0x5A)],
            "word" => WORD,
            "xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
            _ => return Err(self.fault("unknown class between `[:` and `:]`")),
        };
        self.at += name.len() + 4;
        Ok(Some(sign(CodeSet::of(ranges), negated, flags)))
    }
}

/// A named class as the flags want it: folded first, then negated.
fn sign(set: CodeSet, negated: bool, flags: Flags) -> CodeSet {
    let set = if flags.ignore_case { set.folded() } else { set };
    if negated { set.negated() } else { set }
}

fn literal(character: char, flags: Flags) -> Node {
    let set = CodeSet::of(&[(u32::from(character), u32::from(character))]);
    Node::Set(if flags.ignore_case { set.folded() } else { set })
}

/// A counter's number: no sign, no leading zero.
fn number(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    (plain && !leading_zero).then(|| text.parse().unwrap_or(u32::MAX))
}

/// Whether the counters of every path through the tree multiply to at most `budget`.
fn fits(node: &Node, budget: u32) -> bool {
    match node {
        Node::Empty | Node::Set(_) | Node::AnyByte | Node::Look(_) => true,
        Node::Group(_, node) => fits(node, budget),
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().all(|node| fits(node, budget)),
        Node::Repeat { node, least, most, .. } => {
            // `*`, `+` and `?` are no counters to RE2.
            let counted = *least >= 2 || most.is_some_and(|most| most >= 2);
            let times = if counted { most.unwrap_or(*least) } else { 1 };
            let left = budget / times.max(1);
            left > 0 && fits(node, left)
        }
    }
}

/// Which text an expression is lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// ASCII only: everything else is left out, which makes small automata.
    Ascii,
    /// Any bytes.
    Any,
}

impl Node {
    /// The expression over bytes.
    pub(super) fn hir(&self, text: Text) -> Hir {
        match self {
            Self::Empty => Hir::empty(),
            Self::Set(set) => match text {
                Text::Ascii => set.ascii_hir(),
                Text::Any => set.hir(),
            },
            Self::AnyByte => Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(0, 0xFF)]))),
            Self::Look(look) => Hir::look(match look {
                Look::TextStart => hir::Look::Start,
                Look::TextEnd => hir::Look::End,
                Look::LineStart => hir::Look::StartLF,
                Look::LineEnd => hir::Look::EndLF,
                Look::Word => hir::Look::WordAscii,
                Look::NotWord => hir::Look::WordAsciiNegate,
            }),
            Self::Repeat { node, least, most, greedy } => {
                Hir::repetition(Repetition { min: *least, max: *most, greedy: *greedy, sub: Box::new(node.hir(text)) })
            }
            Self::Concat(nodes) => Hir::concat(nodes.iter().map(|node| node.hir(text)).collect()),
            Self::Either(nodes) => Hir::alternation(nodes.iter().map(|node| node.hir(text)).collect()),
            Self::Group(index, node) => {
                Hir::capture(Capture { index: *index, name: None, sub: Box::new(node.hir(text)) })
            }
        }
    }

    /// The same without capture groups, lists in lists joined.
    pub(super) fn flat(&self) -> Self {
        match self {
            Self::Group(_, node) => node.flat(),
            Self::Concat(nodes) => {
                let mut joined = Vec::with_capacity(nodes.len());
                for node in nodes {
                    match node.flat() {
                        Self::Concat(inner) => joined.extend(inner),
                        Self::Empty => {}
                        other => joined.push(other),
                    }
                }
                match <[Self; 1]>::try_from(joined) {
                    Ok([only]) => only,
                    Err(joined) => Self::Concat(joined),
                }
            }
            Self::Either(nodes) => Self::Either(nodes.iter().map(Self::flat).collect()),
            Self::Repeat { node, least, most, greedy } => {
                Self::Repeat { node: Box::new(node.flat()), least: *least, most: *most, greedy: *greedy }
            }
            leaf @ (Self::Empty | Self::Set(_) | Self::AnyByte | Self::Look(_)) => leaf.clone(),
        }
    }
}
