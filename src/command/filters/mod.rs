//! What programs that only transform text print, worked out from what they read.
//!
//! Promise: the bytes are those that the program prints for these words and these bytes; wherever a locale, a rarely
//! used option or a construct that is not modelled could make another answer, there is none. Nothing is run.
//! (POSIX.1-2017 and the manuals of GNU coreutils 9, sed 4.9, grep 3 and awk.)

mod awk;
mod columns;
mod grep;
mod lines;
mod pattern;
pub(in crate::command) mod sed;
pub(in crate::command) mod variables;

use bstr::{BStr, BString, ByteSlice};

/// Where a program reads.
pub(in crate::command) enum Source<'a> {
    /// Its standard input.
    Input,
    /// A file that it names.
    File(&'a BStr),
}

/// What gives the bytes of a source, where they are known.
pub(in crate::command) type Reader<'r> = &'r mut dyn FnMut(Source<'_>) -> Option<Vec<u8>>;

/// Whether a program of this name is one of these.
pub(in crate::command) fn is_one(base: &BStr) -> bool {
    matches!(
        base.as_bytes(),
        b"sed"
            | b"gsed"
            | b"awk"
            | b"gawk"
            | b"mawk"
            | b"nawk"
            | b"grep"
            | b"egrep"
            | b"fgrep"
            | b"cut"
            | b"tr"
            | b"rev"
            | b"tac"
            | b"nl"
            | b"paste"
            | b"fold"
            | b"head"
            | b"tail"
            | b"base64"
            | b"envsubst"
    )
}

/// What the program prints.
pub(in crate::command) fn output(base: &BStr, words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    match base.as_bytes() {
        b"sed" | b"gsed" => sed::output(words, read),
        b"awk" | b"gawk" | b"mawk" | b"nawk" => awk::output(words, read),
        b"grep" | b"egrep" | b"fgrep" => grep::output(base, words, read),
        b"cut" => columns::cut(words, read),
        b"tr" => columns::tr(words, read),
        b"paste" => columns::paste(words, read),
        b"fold" => columns::fold(words, read),
        b"rev" => lines::rev(words, read),
        b"tac" => lines::tac(words, read),
        b"nl" => lines::nl(words, read),
        b"head" => lines::head(words, read),
        b"tail" => lines::tail(words, read),
        b"base64" => lines::base64(words, read),
        _ => None,
    }
}

/// The bytes of the files that are named, one after another; those of the standard input where none is.
fn whole(files: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    if files.is_empty() {
        return read(Source::Input);
    }
    let mut bytes = Vec::new();
    for file in files {
        let source = if *file == "-" { Source::Input } else { Source::File(file) };
        bytes.extend(read(source)?);
    }
    Some(bytes)
}

/// Lines without their ends, and whether the last one has an end.
fn split(text: &[u8]) -> (Vec<&[u8]>, bool) {
    let ends = text.ends_with(b"\n");
    let body = if ends { text.get(..text.len() - 1).unwrap_or_default() } else { text };
    let lines = if text.is_empty() { Vec::new() } else { body.split(|byte| *byte == b'\n').collect() };
    (lines, ends || text.is_empty())
}

/// Options, each a letter and its value.
type Options<'a> = Vec<(u8, &'a BStr)>;

/// Options and operands. A letter of `with_value` takes the rest of its word or the next word;
/// `None` for any other letter than those named, and for long options.
fn options<'a>(words: &[&'a BStr], plain: &[u8], with_value: &[u8]) -> Option<(Options<'a>, Vec<&'a BStr>)> {
    let (mut found, mut operands) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if *word == "--" {
            operands.extend(rest.by_ref());
            break;
        }
        let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.is_empty()) else {
            operands.push(*word);
            continue;
        };
        for (at, letter) in letters.iter().enumerate() {
            if with_value.contains(letter) {
                let own = letters.get(at + 1..).filter(|own| !own.is_empty()).map(ByteSlice::as_bstr);
                found.push((*letter, own.or_else(|| rest.next().copied())?));
                break;
            }
            if !plain.contains(letter) {
                return None;
            }
            found.push((*letter, BStr::new("")));
        }
    }
    Some((found, operands))
}

fn number(text: &BStr) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) { None } else { text.to_str().ok()?.parse().ok() }
}

/// The lines again, each with its end; the last one as it was.
fn joined(lines: &[impl AsRef<[u8]>], ends: bool) -> Vec<u8> {
    let mut text = lines.iter().flat_map(|line| line.as_ref().iter().copied().chain([b'\n'])).collect::<Vec<u8>>();
    if !ends {
        text.pop();
    }
    text
}

/// A value that is given once, or the usual one.
fn value<'a>(options: &[(u8, &'a BStr)], letter: u8) -> Option<&'a BStr> {
    options.iter().rev().find(|(name, _)| *name == letter).map(|(_, value)| *value)
}

fn has(options: &[(u8, &BStr)], letter: u8) -> bool {
    options.iter().any(|(name, _)| *name == letter)
}

/// `\n`, `\t`, `\\` and the like.
fn unescaped(text: &[u8]) -> Option<BString> {
    let mut bytes = BString::default();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            byte => *byte,
        });
    }
    Some(bytes)
}
