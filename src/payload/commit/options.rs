//! git's option syntax: abbreviations, negations, bundles, operands between options.
//!
//! Promise: [`read`] splits words as git's parse-options does for a table of options (git 2.47,
//! `parse-options.c`), and says so where it cannot: a word that is not known, an option that is not in
//! the table, an abbreviation of several. What an option means is the caller's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// A value: attached, or the next word.
    Value,
    /// A value only when it is attached.
    Attached,
}

/// One option of a table.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its long name without dashes; for options that exist only short, a name of ours in brackets.
    pub long: &'static str,
    /// Its short form.
    pub short: Option<u8>,
    /// What it takes.
    pub takes: Takes,
}

/// A row of a table.
pub const fn spec(long: &'static str, short: Option<u8>, takes: Takes) -> Spec {
    Spec { long, short, takes }
}

/// One argument, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An option. The value is `None` where it takes none or none is attached.
    Option {
        /// Its long name.
        name: &'static str,
        /// Whether it was written with `no-`.
        negated: bool,
        /// Its value.
        value: Option<OsString>,
    },
    /// A word that is no option.
    Operand(OsString),
    /// `--`: what follows are operands.
    Dashes,
}

/// Arguments, as far as they could be understood.
#[derive(Debug, Default)]
pub struct Arguments {
    /// In the order of the line.
    pub known: Vec<Argument>,
    /// Whether a word is not known, or an option is not in the table: then `known` is a part.
    pub doubtful: bool,
}

/// Splits `words` by `table`. An unknown word may be an option's value, options, operands or several
/// of these: it makes the whole doubtful.
pub fn read(words: &[Option<OsString>], table: &[Spec]) -> Arguments {
    let mut out = Arguments::default();
    let mut words = words.iter();
    let mut options_end = false;
    while let Some(word) = words.next() {
        let Some(word) = word else {
            out.doubtful = true;
            continue;
        };
        let bytes = word.as_bytes();
        if options_end || bytes.len() < 2 || !bytes.starts_with(b"-") {
            out.known.push(Argument::Operand(word.clone()));
        } else if bytes == b"--" || bytes == b"--end-of-options" {
            options_end = true;
            out.known.push(Argument::Dashes);
        } else if let Some(long) = bytes.strip_prefix(b"--") {
            long_option(long, &mut words, table, &mut out);
        } else {
            bundle(bytes.get(1..).unwrap_or_default(), &mut words, table, &mut out);
        }
    }
    out
}

/// `--name`, `--name=value`, `--no-name`, and unique prefixes of each.
fn long_option<'w>(
    long: &[u8],
    words: &mut impl Iterator<Item = &'w Option<OsString>>,
    table: &[Spec],
    out: &mut Arguments,
) {
    let mut halves = long.splitn(2, |byte| *byte == b'=');
    let name = halves.next().unwrap_or_default();
    let attached = halves.next().map(|value| OsString::from_vec(value.to_vec()));
    let Some((spec, negated)) = resolve(name, table) else {
        out.doubtful = true;
        return;
    };
    let value = match (spec.takes, negated, attached) {
        (Takes::Value, false, None) => match words.next() {
            Some(Some(value)) => Some(value.clone()),
            Some(None) => {
                out.doubtful = true;
                None
            }
            None => {
                out.doubtful = true;
                None
            }
        },
        (_, _, attached) => attached,
    };
    out.known.push(Argument::Option { name: spec.long, negated, value });
}

/// The option that `name` spells or abbreviates, and whether it negates it. An option whose own name
/// starts with `no-` is negated by leaving that out.
fn resolve<'t>(name: &[u8], table: &'t [Spec]) -> Option<(&'t Spec, bool)> {
    let mut found: Option<(&Spec, bool)> = None;
    for spec in table.iter().filter(|spec| !spec.long.starts_with('(')) {
        let opposite = match spec.long.strip_prefix("no-") {
            Some(rest) => rest.to_owned(),
            None => format!("no-{}", spec.long),
        };
        for (form, negated) in [(spec.long.as_bytes(), false), (opposite.as_bytes(), true)] {
            if form == name {
                return Some((spec, negated));
            }
            if form.starts_with(name) && !name.is_empty() {
                // Two meanings for one abbreviation: git refuses, and which of them is not ours to guess.
                if found.is_some_and(|(other, other_negated)| other.long != spec.long || other_negated != negated) {
                    return found_by_exact(name, table);
                }
                found = Some((spec, negated));
            }
        }
    }
    found
}

/// An abbreviation of several may still be the whole name of one that stands later in the table.
fn found_by_exact<'t>(name: &[u8], table: &'t [Spec]) -> Option<(&'t Spec, bool)> {
    table.iter().find_map(|spec| {
        if spec.long.as_bytes() == name {
            return Some((spec, false));
        }
        let opposite = match spec.long.strip_prefix("no-") {
            Some(rest) => rest.to_owned(),
            None => format!("no-{}", spec.long),
        };
        (opposite.as_bytes() == name).then_some((spec, true))
    })
}

/// `-am text`, `-mtext`, `-uno`.
fn bundle<'w>(
    letters: &[u8],
    words: &mut impl Iterator<Item = &'w Option<OsString>>,
    table: &[Spec],
    out: &mut Arguments,
) {
    for (place, letter) in letters.iter().enumerate() {
        let Some(spec) = table.iter().find(|spec| spec.short == Some(*letter)) else {
            out.doubtful = true;
            return;
        };
        let rest = letters.get(place + 1..).filter(|rest| !rest.is_empty());
        let rest = rest.map(|rest| OsStr::from_bytes(rest).to_owned());
        let value = match spec.takes {
            Takes::Nothing => None,
            Takes::Attached => rest.clone(),
            Takes::Value => match rest.clone() {
                Some(value) => Some(value),
                None => match words.next() {
                    Some(Some(value)) => Some(value.clone()),
                    Some(None) => {
                        out.doubtful = true;
                        None
                    }
                    None => {
                        out.doubtful = true;
                        None
                    }
                },
            },
        };
        out.known.push(Argument::Option { name: spec.long, negated: false, value });
        if spec.takes != Takes::Nothing {
            return;
        }
    }
}
