//! Which words of a command line are tyran's own and which are git's.
//!
//! Promise: `tyran scan-push` takes git's arguments as git takes them, in any order beside our own.
//! Our options are known by their full spelling only; a word after `--`, or one that is the value of
//! a git option before it, is git's.

use std::ffi::{OsStr, OsString};

/// Our options that take a value, wherever they stand.
const WITH_VALUE: &[&str] =
    &["--format", "--engine", "--config", "--rules", "--deadline", "--color", "--base", "--threads", "--report"];

/// Our options without a value.
const FLAGS: &[&str] = &["--airlock", "--no-network", "--quiet-notes"];

/// git's options whose value is the next word: that word is never ours.
const GIT_WITH_VALUE: &[&str] = &[
    "-o",
    "--push-option",
    "--repo",
    "--receive-pack",
    "--exec",
    "-m",
    "--message",
    "-F",
    "--file",
    "-c",
    "-C",
    "--reuse-message",
    "--reedit-message",
    "--author",
    "--date",
    "-t",
    "--template",
    "--trailer",
    "--cleanup",
    "--fixup",
    "--squash",
    "--pathspec-from-file",
];

/// Puts our options before git's arguments and separates both by `--`, for the subcommands that take
/// git's arguments. Other subcommands are left as they are.
pub fn arrange(args: Vec<OsString>) -> Vec<OsString> {
    let is = |place: usize, word: &str| args.get(place).is_some_and(|arg| arg == word);
    let head = match () {
        () if is(1, "scan-push") || is(1, "scan-commit") => 2,
        () if is(1, "payload") && (is(2, "push") || is(2, "commit")) => 3,
        () => return args,
    };
    let (mut ours, mut theirs) = (args[..head].to_vec(), Vec::new());
    let mut rest = args[head..].iter().cloned().peekable();
    while let Some(word) = rest.next() {
        let leading = theirs.is_empty();
        if word == "--" {
            theirs.push(word);
            theirs.extend(rest.by_ref());
        } else if is_one_of(&word, WITH_VALUE) || (leading && word == "-C") {
            ours.push(word);
            ours.extend(rest.next());
        } else if is_flag(&word) || has_value(&word) || (leading && is_leading_flag(&word)) {
            ours.push(word);
        } else {
            let takes_value = is_one_of(&word, GIT_WITH_VALUE);
            theirs.push(word);
            if takes_value {
                theirs.extend(rest.next());
            }
        }
    }
    ours.push("--".into());
    ours.extend(theirs);
    ours
}

fn is_one_of(word: &OsStr, list: &[&str]) -> bool {
    list.iter().any(|entry| word == OsStr::new(entry))
}

fn is_flag(word: &OsStr) -> bool {
    is_one_of(word, FLAGS)
}

/// `--format=json` and the like.
fn has_value(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    WITH_VALUE
        .iter()
        .any(|option| bytes.strip_prefix(option.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'=')))
}

/// Short words that git has too are ours only before the first of git's.
fn is_leading_flag(word: &OsStr) -> bool {
    is_one_of(word, &["-q", "--quiet", "-h", "--help"])
}
