//! Messages of commits that programs print when the line runs.
//!
//! Promise: a message of which a part is not known is said to be, unless the part comes from a program whose output
//! holds nothing of a file or of an object: a date, a name, a number, a hash.

use bstr::{BStr, ByteSlice};

use super::meaning::Scene;
use super::simple::{Stdin, UnknownValue, Value};
use crate::text::SafeText;

/// What prints nothing but dates, names, numbers and hashes.
const PLAIN: &[&str] = &[
    "date",
    "hostname",
    "whoami",
    "id",
    "uname",
    "arch",
    "nproc",
    "wc",
    "seq",
    "uuidgen",
    "pwd",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "logname",
    "tty",
    "groups",
    "uptime",
    "expr",
    "bc",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "shasum",
    "cksum",
    "ls",
    "tree",
    "stat",
    "du",
    "df",
    "cal",
    "sha512sum",
    "b2sum",
    "a path's part",
    "git describe",
    "git rev-parse",
    "git branch",
    "git symbolic-ref",
    "git rev-list",
    "git tag",
    "git remote",
    "git ls-files",
    "git status",
    "git hash-object",
    "git write-tree",
    "git commit-tree",
    "git merge-base",
    "git show-ref",
    "git's names and numbers",
    "git --version",
    "git version",
];

/// Why the message of a commit cannot be read before the line runs.
pub(super) fn unread(scene: &Scene<'_, '_>) -> Option<SafeText> {
    let words = &scene.command.words;
    let mut takes_input = false;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).and_then(Value::known);
        match word {
            Value::Unknown(value) if is_message(before, value) && !is_plain(&value.why) => {
                return Some(SafeText::new(&format!("a commit's message, {}", value.why)));
            }
            Value::Known(word) => {
                takes_input |= word == "-F-" || word == "--file=-" || word == "-" && before.is_some_and(names_file);
            }
            Value::Unknown(_) => {}
        }
    }
    match &scene.command.stdin {
        Stdin::Unknown(why) | Stdin::Names { why, .. } if takes_input && !is_plain(why) => {
            Some(SafeText::new(&format!("a commit's message, {why}")))
        }
        Stdin::Unknown(_) | Stdin::Names { .. } | Stdin::Inherited | Stdin::Empty | Stdin::Text(_) | Stdin::File(_) => {
            None
        }
    }
}

/// Whether a word is a message, or goes on with one.
fn is_message(before: Option<&BStr>, value: &UnknownValue) -> bool {
    let own = value.prefix.as_bstr();
    before.is_some_and(|before| takes_message(before) && !before.contains(&b'='))
        || own.starts_with(b"--") && own.contains(&b'=') && takes_message(own)
        || is_cluster(own) && own.contains(&b'm')
}

/// `-m`, `-am`, `--message`, `--trailer`, and their beginnings.
fn takes_message(word: &BStr) -> bool {
    let name = word.split_str("=").next().unwrap_or(word);
    match name.strip_prefix(b"--") {
        Some(long) => ["message", "trailer"].iter().any(|full| long.len() > 1 && full.as_bytes().starts_with(long)),
        None => is_cluster(word) && word.ends_with(b"m"),
    }
}

fn names_file(word: &BStr) -> bool {
    is_cluster(word) && word.ends_with(b"F")
        || word.strip_prefix(b"--").is_some_and(|long| long.len() > 1 && b"file".starts_with(long))
}

fn is_cluster(word: &BStr) -> bool {
    word.len() > 1 && word.starts_with(b"-") && !word.starts_with(b"--")
}

/// Whether what is not known comes from a program that prints nothing of interest.
pub(in crate::command) fn is_plain(why: &SafeText) -> bool {
    why.as_str().strip_prefix("output of ").is_some_and(|program| {
        let program = program.rsplit('/').next().unwrap_or(program);
        PLAIN.contains(&program)
    })
}
