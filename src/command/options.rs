//! How a program reads its own words as options, operands and values.
//!
//! Promise: what git's `parse-options` would take for an option is taken for one here, in every
//! spelling that it accepts: unique prefixes, `--no-` forms and their opposites, bundles, attached
//! and detached values, `--`; a word that is not known is said to be one. Whether an option matters
//! is decided by others. (Read from parse-options.c of git 2.47, and compared with git itself in
//! the tests.)

use bstr::{BStr, BString, ByteSlice};

/// A word as it stands where an option reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Exactly these bytes.
    Known(BString),
    /// One word or several, or none, of which only the first bytes are known.
    Unknown {
        /// What it begins with; empty when not even that is known.
        prefix: BString,
        /// What it ends with, where that is known.
        suffix: BString,
    },
}

impl Arg {
    /// The bytes, when they are known.
    pub fn known(&self) -> Option<&BStr> {
        match self {
            Self::Known(bytes) => Some(bytes.as_bstr()),
            Self::Unknown { .. } => None,
        }
    }

    /// One word or several, or none, of which nothing is known.
    pub fn nothing_known() -> Self {
        Self::Unknown { prefix: BString::default(), suffix: BString::default() }
    }

    /// Whether it might be, or bring along, the word `word`.
    pub fn may_be(&self, word: &str) -> bool {
        match self {
            Self::Known(bytes) => bytes == word,
            Self::Unknown { prefix, .. } => word.as_bytes().starts_with(prefix) || may_split(prefix),
        }
    }
}

/// Whether an unknown word with this beginning may bring further words along; the reader keeps no
/// more of it than the beginning, so it may.
fn may_split(_prefix: &BString) -> bool {
    true
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Never.
    Nothing,
    /// Always: attached, or the next word.
    Value,
    /// Only an attached one.
    Maybe,
}

/// One option of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known<'g> {
    short: Option<u8>,
    long: Option<&'g str>,
    takes: Takes,
    /// Listed as `no-…`: the plain form is its opposite.
    listed_negated: bool,
    /// Whether `--no-` may stand before it.
    negatable: bool,
}

/// The options of a program: entries of the form `s/long=`, apart by blanks. Either half may be
/// missing (`s`, `/long`); `=` takes a value, `?` may have an attached one; a `no-long` is one that
/// git lists that way; `!` at the end is an option without a `--no-` form.
#[derive(Clone, Copy, Debug)]
pub struct Grammar(pub &'static str);

/// An option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its long name without `no-`, or its letter when it has only that.
    pub name: String,
    /// Whether it is switched on; `--no-verify` is `verify`, off.
    pub on: bool,
    /// Its value.
    pub value: Option<Arg>,
}

/// Words after they were read as options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Options in the order of the line.
    pub given: Vec<Given>,
    /// What is not an option.
    pub operands: Vec<Arg>,
    /// How many operands stand before a `--`; `None` when there is none.
    pub before_dashes: Option<usize>,
    /// Words that look like options and are none, or are ambiguous: the program would refuse.
    pub unrecognised: Vec<BString>,
    /// Whether a word that is not known may hold any option at all.
    pub unknown: bool,
}

impl Grammar {
    /// Reads words as options. With `permute`, options may stand after operands, as nearly all of
    /// git's commands allow.
    pub fn read(self, words: &[Arg], permute: bool) -> Options {
        let known = self.entries();
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = match word {
                Arg::Known(text) => text,
                Arg::Unknown { prefix, .. } => {
                    options.unknown |= prefix.is_empty() || prefix.starts_with(b"-");
                    options.operands.push(word.clone());
                    continue;
                }
            };
            if text == "--" || text == "--end-of-options" {
                options.before_dashes = Some(options.operands.len());
                options.operands.extend(words.cloned());
                break;
            }
            if let Some(long) = text.strip_prefix(b"--") {
                read_long(&known, long, &mut words, &mut options);
            } else if text.len() > 1 && text.starts_with(b"-") {
                read_bundle(&known, text.get(1..).unwrap_or_default(), &mut words, &mut options);
            } else {
                options.operands.push(word.clone());
                if !permute {
                    options.operands.extend(words.cloned());
                    break;
                }
            }
        }
        options
    }

    fn entries(self) -> Vec<Known<'static>> {
        self.0.split_ascii_whitespace().map(entry).collect()
    }
}

fn entry(text: &'static str) -> Known<'static> {
    let (text, negatable) = text.strip_suffix('!').map_or((text, true), |text| (text, false));
    let (text, takes) = match (text.strip_suffix('='), text.strip_suffix('?')) {
        (Some(text), _) => (text, Takes::Value),
        (None, Some(text)) => (text, Takes::Maybe),
        (None, None) => (text, Takes::Nothing),
    };
    let (short, long) = text.split_once('/').unwrap_or((text, ""));
    let listed_negated = long.starts_with("no-");
    let long = long.strip_prefix("no-").unwrap_or(long);
    Known {
        short: short.bytes().next(),
        long: (!long.is_empty()).then_some(long),
        takes,
        listed_negated,
        negatable: negatable || listed_negated,
    }
}

type Words<'a> = std::slice::Iter<'a, Arg>;

fn read_long(known: &[Known<'_>], text: &[u8], words: &mut Words<'_>, options: &mut Options) {
    let (name, attached) = match text.find_byte(b'=') {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    };
    let Some((option, on)) = find_long(known, name) else {
        options.unrecognised.push([b"--", text].concat().into());
        return;
    };
    let value = match (option.takes, attached) {
        (_, Some(value)) => Some(Arg::Known(value.into())),
        (Takes::Value, None) if on != option.listed_negated => words.next().cloned(),
        (Takes::Value | Takes::Nothing | Takes::Maybe, None) => None,
    };
    options.given.push(Given { name: option.long.unwrap_or_default().to_owned(), on, value });
}

/// The option that a long name or a unique prefix of one stands for, and whether it is switched on.
fn find_long<'k, 'g>(known: &'k [Known<'g>], name: &[u8]) -> Option<(&'k Known<'g>, bool)> {
    let (bare, unset, twice) = match name.strip_prefix(b"no-") {
        Some(rest) => match rest.strip_prefix(b"no-") {
            Some(rest) => (rest, false, true),
            None => (rest, true, false),
        },
        None => (name, false, false),
    };
    let mut found: Option<(&Known<'_>, bool)> = None;
    let mut ambiguous = false;
    for option in known {
        let Some(long) = option.long else { continue };
        if twice && !option.listed_negated {
            continue;
        }
        if unset != option.listed_negated && !option.negatable {
            continue;
        }
        let on = !unset;
        if long.as_bytes() == bare {
            return Some((option, on));
        }
        let mut register = |on: bool| match found {
            Some((other, as_on)) if other.long != option.long || as_on != on => ambiguous = true,
            _ => found = Some((option, on)),
        };
        if long.as_bytes().starts_with(bare) {
            register(on);
        }
        if option.negatable && b"no-".starts_with(name) {
            register(false);
        }
    }
    found.filter(|_| !ambiguous)
}

fn read_bundle(known: &[Known<'_>], letters: &[u8], words: &mut Words<'_>, options: &mut Options) {
    for (at, letter) in letters.iter().enumerate() {
        let Some(option) = known.iter().find(|option| option.short == Some(*letter)) else {
            options.unrecognised.push([b"-", letters].concat().into());
            return;
        };
        let name = option.long.map_or_else(|| char::from(*letter).to_string(), str::to_owned);
        let on = !option.listed_negated;
        let rest = letters.get(at + 1..).unwrap_or_default();
        let value = match option.takes {
            Takes::Nothing => {
                options.given.push(Given { name, on, value: None });
                continue;
            }
            Takes::Value if rest.is_empty() => words.next().cloned(),
            Takes::Maybe if rest.is_empty() => None,
            Takes::Value | Takes::Maybe => Some(Arg::Known(rest.into())),
        };
        options.given.push(Given { name, on, value });
        return;
    }
}

impl Options {
    /// Whether an option ends up switched on; the last one given decides.
    pub fn is_on(&self, name: &str) -> bool {
        self.last(name).is_some_and(|given| given.on)
    }

    /// Whether an option is given as its `--no-` form, and last.
    pub fn is_off(&self, name: &str) -> bool {
        self.last(name).is_some_and(|given| !given.on)
    }

    /// The last value of an option.
    pub fn value(&self, name: &str) -> Option<&Arg> {
        self.last(name).and_then(|given| given.value.as_ref())
    }

    /// All values of an option, in order.
    pub fn values<'o>(&'o self, name: &'o str) -> impl Iterator<Item = &'o Arg> {
        self.given.iter().filter(move |given| given.name == name).filter_map(|given| given.value.as_ref())
    }

    fn last(&self, name: &str) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.name == name)
    }
}
