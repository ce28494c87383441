//! The files that words of an upload name.
//!
//! Promise: a word that may name a file counts as naming it, where the file is there, where the line writes it, and, in
//! the place of a file, where a program that nobody can read may make it. What the files hold is [`crate::payload`]'s.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::forge::widest_here;
use super::incoming;
use super::meaning::{Meaning, Scene};
use super::plan::{Content, WrittenFile};
use super::shell::builtin_dir::cleaned;
use super::simple::Value;

/// Options of the clients that take a file.
pub(super) fn names_file_option(word: &BStr) -> bool {
    ["-F", "--body-file", "--notes-file", "--input", "--description-file", "--file", "-T", "--template", "--asset"]
        .iter()
        .any(|option| word.starts_with(option.as_bytes()))
        || word.contains_str("=@")
}

/// Options of these clients that take no value and stand before operands.
const SWITCHES: &[&str] = &[
    "-d",
    "--draft",
    "-p",
    "--prerelease",
    "--public",
    "--generate-notes",
    "--latest",
    "--verify-tag",
    "--fail-on-no-commits",
    "--notes-from-tag",
    "--clobber",
    "-w",
    "--web",
    "--use-package-registry",
];

/// Files that a word may name of which only the beginning is known: by a folder.
pub(super) fn files_begun(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, args: &[Value]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for value in args {
        let Value::Unknown(value) = value else { continue };
        let names_folder =
            value.prefix.contains(&b'/') && !value.prefix.starts_with(b"-") && !value.prefix.contains_str("://");
        let Some(start) = scene.path(value.prefix.as_bstr()).filter(|_| names_folder) else { continue };
        let own = scene.shell.written().into_iter().filter(|file| incoming::is_at(&file.path, &start));
        for content in own.flat_map(|file| file.contents).collect::<Vec<_>>() {
            if content == Content::Unknown {
                scene.later("a file that the line writes before");
            }
            incoming::take_content(scene, content);
        }
        match incoming::files_below(&start, value.suffix.as_bstr()) {
            Some(found) => files.extend(found.into_iter().filter(|path| incoming::is_at(path, &start))),
            None if start.is_dir() => widest_here(meaning, scene, "which files it sends is not known"),
            None => {}
        }
    }
    files
}

/// Files that are named where a file is expected, and are not there now, since a program that nobody can read makes
/// them first. A word that could be anything else is no file for that.
pub(super) fn files_to_come(scene: &Scene<'_, '_>, args: &[Value], operands: bool) -> Vec<PathBuf> {
    if !scene.shell.anything_may_have_changed() {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut before = BStr::new("");
    for word in args.iter().map(|value| value.known().unwrap_or(BStr::new(""))) {
        let value = word.split_once_str("=").map(|(_, value)| BStr::new(value)).filter(|_| names_file_option(word));
        let attached = value.map(|value| BStr::new(value.strip_prefix(b"@").unwrap_or(value)));
        let is_operand = operands
            && !word.starts_with(b"-")
            && (!before.starts_with(b"-") || SWITCHES.iter().any(|switch| before == *switch))
            && (word.contains(&b'/') || Path::new(&*word.to_str_lossy()).extension().is_some_and(is_of_letters))
            && !word.contains_str("://");
        let named = is_operand || (names_file_option(before) && !before.contains(&b'=') && !word.starts_with(b"-"));
        let path = attached.or(named.then_some(word)).and_then(|word| {
            let bare = word.split_once_str("#").map_or(word.as_bytes(), |(path, _)| path);
            scene.path(BStr::new(bare.strip_prefix(b"@").unwrap_or(bare)))
        });
        files.extend(path.filter(|path| !path.exists() && !path.as_os_str().as_encoded_bytes().contains(&b'*')));
        before = word;
    }
    files
}

fn is_of_letters(extension: &std::ffi::OsStr) -> bool {
    extension.as_encoded_bytes().first().is_some_and(u8::is_ascii_alphabetic)
}

/// Files that a word may name: itself, behind `=`, `@`, `=@`, an option's letter, before `#LABEL`,
/// or by a pattern in its last part.
pub(super) fn named_files(scene: &Scene<'_, '_>, word: &BStr) -> Vec<PathBuf> {
    let mut candidates: Vec<&[u8]> = vec![word];
    if let Some((_, value)) = word.split_once_str("=") {
        candidates.push(value);
        candidates.extend(value.strip_prefix(b"@"));
    }
    candidates.extend(word.strip_prefix(b"@"));
    if word.starts_with(b"-") && !word.starts_with(b"--") {
        candidates.extend(word.get(2..));
    }
    if let Some((path, _)) = word.split_once_str("#") {
        candidates.push(path);
    }
    let mut files = Vec::new();
    for candidate in candidates.into_iter().filter(|candidate| !candidate.is_empty()) {
        let Some(path) = scene.path(candidate.as_bstr()) else { continue };
        if path.is_file() || is_written(scene, &path) {
            files.push(path);
        } else if candidate.contains(&b'*') || candidate.contains(&b'?') {
            files.extend(matching(&path));
        }
    }
    files
}

/// Whether the line itself writes just this file.
fn is_written(scene: &Scene<'_, '_>, path: &Path) -> bool {
    let path = cleaned(path);
    let is_it = |own: &Path| cleaned(own) == path;
    let is_left = |file: &WrittenFile| is_it(&file.path) && file.contents.iter().any(|one| *one != Content::Gone);
    scene.shell.written().iter().any(is_left) || scene.shell.edited().iter().any(|edited| is_it(edited))
}

/// Files whose last part matches a pattern of `*` and `?`.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| matches(name.as_encoded_bytes(), entry.file_name().as_encoded_bytes()))
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect()
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), None) => matches(rest, name),
        (Some((b'*', rest)), Some((_, after))) => matches(rest, name) || matches(pattern, after),
        (Some((b'?', rest)), Some((_, after))) => matches(rest, after),
        (Some((one, rest)), Some((other, after))) => one == other && matches(rest, after),
        (None, Some(_)) | (Some(_), None) => false,
    }
}
