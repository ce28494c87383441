//! Programs of other languages whose text is known, searched for what no reading of them would show.
//!
//! Promise: a program that tells git to leave its hooks out, or that writes where a control lies, is
//! named, as far as it says so in plain text: the spellings themselves, and paths in its strings. A
//! program that puts them together is a known gap.

use bstr::{BStr, BString, ByteSlice};

use crate::command::shell::Walk;
use crate::command::shell::state::{Shell, known, unknown};

/// How far from a switch the command that it belongs to may stand, in bytes.
const NEAR_BYTES: usize = 160;

/// Words by which programs write, move or remove files.
const WRITING: &[&str] = &[
    "write",
    "Write",
    "unlink",
    "remove",
    "rename",
    "rmtree",
    "rmSync",
    "rm(",
    "rmdir",
    "delete",
    "chmod",
    "copy",
    "move",
    "truncate",
    "symlink",
    "replace(",
    "'w",
    "\"w",
    "'a'",
    "\"a\"",
    "File.open",
    "O_WRONLY",
    "O_RDWR",
    "O_TRUNC",
    "O_CREAT",
    "touch",
    "'>",
    "\">",
    "rm -",
    "rm_",
    "mv ",
];

/// Parts of the paths where controls lie.
const PLACES: &[&str] =
    &[".git", ".tyran", ".claude", ".codex", ".cursor", ".gemini", ".husky", "hooks", "settings", ".json"];

/// Most strings of a program that are looked at.
const MAX_STRINGS: usize = 512;

impl Walk<'_, '_> {
    /// Searches the text of a program for switches that leave hooks out.
    pub(in crate::command) fn switches(&mut self, code: &[u8]) {
        if !self.is_probing() && leaves_hooks_out(code) {
            self.bypass(
                "a program is told to leave hooks out",
                "the same program without `--no-verify` and without another hooks path, so that the hooks run",
            );
        }
    }

    /// Searches the text of a program; one that starts no other only speaks of git.
    pub(super) fn searched(&mut self, code: &[u8], starts_others: bool, shell: &Shell) {
        if self.is_probing() {
            return;
        }
        if starts_others {
            self.switches(code);
        }
        let writes = WRITING.iter().any(|word| code.find(word).is_some());
        if !writes || !PLACES.iter().any(|place| code.find(place).is_some()) {
            return;
        }
        let strings = strings(code);
        for at in 0..strings.len() {
            // Neighbours may be the parts of one path.
            let mut path = BString::default();
            for part in strings.get(at..).unwrap_or_default().iter().take(4) {
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend_from_slice(part);
                self.look_at_path(path.as_bstr(), shell);
            }
        }
    }

    fn look_at_path(&mut self, path: &BStr, shell: &Shell) {
        if !path.contains(&b'/') || path.len() > 512 || path.contains(&b'\n') {
            return;
        }
        let path = match (path.strip_prefix(b"~"), shell.env_text(self.world, "HOME")) {
            (Some(rest), Some(home)) if rest.starts_with(b"/") => BString::from([home.as_slice(), rest].concat()),
            // `process.env.HOME + "/.tyran/…"`.
            (None, Some(home)) if path.starts_with(b"/.") => BString::from([home.as_slice(), path].concat()),
            _ => path.to_owned(),
        };
        // `glob(".git/hooks/*")`: any file of that folder.
        let path = match path.find_byteset(b"*?") {
            Some(at) => unknown("a pattern", 0..0).beginning_with(path.get(..at).unwrap_or_default().into()),
            None => known(path),
        };
        self.look_at_write(&path, shell);
    }
}

/// Whether a text that speaks of git holds a spelling that leaves hooks out.
pub(in crate::command) fn leaves_hooks_out(code: &[u8]) -> bool {
    let lower = joined(code).to_ascii_lowercase();
    for switch in ["--no-veri", "core.hookspath"] {
        let mut from = 0;
        while let Some(at) = lower.get(from..).and_then(|rest| rest.find(switch)) {
            let at = from + at;
            let near = lower.get(at.saturating_sub(NEAR_BYTES)..(at + NEAR_BYTES).min(lower.len())).unwrap_or_default();
            let speaks_of_git = words(near).any(|word| word == b"git");
            let publishes = words(near).any(|word| matches!(word, b"push" | b"commit" | b"merge" | b"config"));
            if speaks_of_git && publishes {
                return true;
            }
            from = at + switch.len();
        }
    }
    false
}

/// The text with strings that stand in a row, or are put together by a sign, as one string.
fn joined(code: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(code.len());
    let mut rest = code;
    while let Some((first, after)) = rest.split_first() {
        let next = after.trim_start();
        let next = next.strip_prefix(b"+").or_else(|| next.strip_prefix(b".")).unwrap_or(next).trim_start();
        let begins = |text: &[u8]| text.first().is_some_and(|first| matches!(first, b'\'' | b'"' | b'`'));
        // A string ends here and another begins: what is between them is no part of either.
        if begins(rest) && begins(next) && !after.starts_with(b"\n") {
            rest = next.get(1..).unwrap_or_default();
            continue;
        }
        text.push(*first);
        rest = after;
    }
    text
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// What stands between quotes, up to the end of the line.
fn strings(code: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find_byteset(b"'\"`").filter(|_| found.len() < MAX_STRINGS) {
        let Some(quote) = rest.get(at).copied() else { break };
        let inner = rest.get(at + 1..).unwrap_or_default();
        let end = inner.find_byteset([quote, b'\n']).unwrap_or(inner.len());
        if inner.get(end) == Some(&quote) {
            found.extend(inner.get(..end).filter(|text| !text.is_empty()));
            rest = inner.get(end + 1..).unwrap_or_default();
        } else {
            rest = inner;
        }
    }
    found
}
