//! What a git alias stands for.
//!
//! Promise: an alias is taken apart as git takes it apart (alias.c, `split_cmdline`), or it is an
//! error on which git would stop too.

use bstr::{BStr, BString};

/// An alias, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alias {
    /// Further words of git.
    Words(Vec<BString>),
    /// A command line for the shell (`!…`).
    Shell(BString),
    /// git would complain and stop.
    Refused,
}

/// Takes the value of an alias apart.
pub fn read(value: &BStr) -> Alias {
    match value.strip_prefix(b"!") {
        Some(text) => Alias::Shell(text.into()),
        None => split(value).filter(|words| !words.is_empty()).map_or(Alias::Refused, Alias::Words),
    }
}

/// git's own splitting: blanks part words, both quotes hold them together, a backslash takes the
/// next byte as it is, except within single quotes. `None` on an open quote or a lone backslash.
fn split(text: &BStr) -> Option<Vec<BString>> {
    let mut words = Vec::new();
    let mut word = Vec::new();
    let mut quote = None;
    let mut started = false;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n' | b'\r') => {
                if started {
                    words.push(std::mem::take(&mut word).into());
                    started = false;
                }
                continue;
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (_, b'\\') if quote != Some(b'\'') => word.push(bytes.next()?),
            _ => word.push(byte),
        }
        started = true;
    }
    if quote.is_some() {
        return None;
    }
    if started {
        words.push(word.into());
    }
    Some(words)
}

/// The command line that `sh -c` gets for an alias of the form `!…` (run-command.c): the words that
/// follow the alias become `"$@"`.
pub fn shell_text(alias: &BStr, has_arguments: bool) -> BString {
    let mut text = BString::from(alias.to_vec());
    if has_arguments {
        text.extend_from_slice(b" \"$@\"");
    }
    text
}
