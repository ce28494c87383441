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

/// The bytes of a text without those that shells take off, and where each stood.
fn stripped(text: &[u8]) -> impl Iterator<Item = (u8, usize)> + '_ {
    text.iter().copied().enumerate().filter_map(|(at, byte)| {
        // A line continuation joins, so its line end goes with its backslash.
        let continued = byte == b'\n' && at > 0 && text.get(at - 1) == Some(&b'\\');
        (!continued && !matches!(byte, b'\'' | b'"' | b'\\' | b'`')).then_some((byte, at))
    })
}

/// Where a publishing program is followed by a publishing word in the same line of the text.
fn places(text: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut word: Vec<u8> = Vec::with_capacity(16);
    let mut begins = 0;
    let mut program = false;
    let mut end_of_word = |word: &mut Vec<u8>, begins: usize, program: &mut bool| {
        if is_one_of(word, PROGRAMS) {
            *program = true;
        } else if *program && is_one_of(word, VERBS) {
            found.push(u32::try_from(begins).unwrap_or(u32::MAX));
            *program = false;
        }
        word.clear();
    };
    for (byte, at) in stripped(text) {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') || byte >= 0x80 {
            if word.is_empty() {
                begins = at;
            }
            word.push(byte);
            continue;
        }
        end_of_word(&mut word, begins, &mut program);
        if matches!(byte, b'\n' | b';') {
            program = false;
        }
    }
    end_of_word(&mut word, begins, &mut program);
    found
}

#[inline]
fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    let Some(first) = word.first() else { return false };
    list.iter().any(|known| known.as_bytes().first() == Some(first) && known.as_bytes() == word)
}

/// Whether text that could not be read holds something that publishes.
pub(super) fn may_publish(text: &[u8]) -> bool {
    !places(text).is_empty()
        || (text.find(b"git").is_some() && (text.find(b"push").is_some() || text.find(b"commit").is_some()))
}

/// Whether a publishing program stands in a text by its name.
pub(super) fn names_program(text: &[u8]) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.split(|byte| !is_part(*byte)).any(|word| is_one_of(word, PROGRAMS))
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
