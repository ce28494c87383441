//! The tripwire: raw text that could publish, where no structure accounts for it, widens the answer.
//!
//! Promise: it only ever adds doubt. Text that could not be parsed is looked at with quotes,
//! backslashes and continuations taken off; and every place of the text given where a publishing pair
//! of words stands must lie in a command, a comment or a here-document that the walk has seen.

use bstr::ByteSlice;

use super::ast::Span;
use super::lex::Reader;
use super::shell::Walk;

/// Programs that publish.
const PROGRAMS: &[&str] =
    &["git", "gh", "glab", "hub", "jj", "gt", "npm", "pnpm", "yarn", "cargo", "twine", "uv", "hg", "svn"];

/// Words after which a program publishes.
const VERBS: &[&str] = &[
    "push",
    "commit",
    "send-pack",
    "publish",
    "upload",
    "send-email",
    "create",
    "submit",
    "merge",
    "rebase",
    "am",
    "cherry-pick",
    "revert",
    "pull",
    "release",
    "dcommit",
    "svn",
    "stash",
    "notes",
    "tag",
    "fast-import",
];

/// A piece of text without the bytes that shells take off, and where each byte stood.
fn stripped(text: &[u8]) -> Vec<(u8, u32)> {
    let mut plain = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().copied().enumerate() {
        if matches!(byte, b'\'' | b'"' | b'\\' | b'`') {
            // A line continuation joins, so its line end goes with its backslash.
            continue;
        }
        if byte == b'\n' && at > 0 && text.get(at - 1) == Some(&b'\\') {
            continue;
        }
        plain.push((byte, at as u32));
    }
    plain
}

/// Words of stripped text with the place where each begins; a line end is a word of its own.
fn words(plain: &[(u8, u32)]) -> Vec<(Vec<u8>, u32)> {
    let mut words: Vec<(Vec<u8>, u32)> = Vec::new();
    let mut open = false;
    for (byte, at) in plain {
        let joins = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') || *byte >= 0x80;
        if joins {
            match words.last_mut().filter(|_| open) {
                Some((word, _)) => word.push(*byte),
                None => words.push((vec![*byte], *at)),
            }
            open = true;
        } else {
            open = false;
            if *byte == b'\n' || *byte == b';' {
                words.push((vec![b'\n'], *at));
            }
        }
    }
    words
}

/// Where a publishing program is followed by a publishing word in the same line of the text.
fn places(text: &[u8]) -> Vec<u32> {
    // Most texts hold no verb at all.
    if !VERBS.iter().any(|verb| text.find(verb.get(..2).unwrap_or(verb)).is_some()) {
        return Vec::new();
    }
    let words = words(&stripped(text));
    let mut found = Vec::new();
    let mut program = false;
    for (word, at) in &words {
        if word == b"\n" {
            program = false;
        } else if is_one_of(word, PROGRAMS) {
            program = true;
        } else if program && is_one_of(word, VERBS) {
            found.push(*at);
            program = false;
        }
    }
    found
}

fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|known| known.as_bytes() == word)
}

/// Whether text that could not be read holds something that publishes.
pub(super) fn may_publish(text: &[u8]) -> bool {
    !places(text).is_empty()
        || (text.find(b"git").is_some() && (text.find(b"push").is_some() || text.find(b"commit").is_some()))
}

impl Walk<'_, '_> {
    /// Notes that the walk accounts for a span of the text given.
    pub(super) fn account(&mut self, span: Span) {
        if self.in_given_text {
            self.accounted.push(span);
        }
    }

    /// Looks for publishing words of the text given that nothing accounts for.
    pub(super) fn tripwire(&mut self, text: &[u8], reader: &Reader) {
        let whole = reader.text_is_as_given(text);
        if !whole || self.plan.parsed != super::plan::Parsed::Whole {
            return;
        }
        let unaccounted = places(text).into_iter().find(|at| {
            let holds = |span: &Span| span.start <= *at && *at < span.end;
            !self.accounted.iter().any(holds) && !reader.data.iter().any(holds)
        });
        if let Some(at) = unaccounted {
            let at = at as usize;
            self.unknown("words that publish stand where no command was found", at..at + 1);
        }
    }
}
