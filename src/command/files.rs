//! Programs that write, copy, move or remove the files that they are given.
//!
//! Promise: files that the line itself puts in place are known to later commands (a script that is
//! copied and run, a file that is staged and committed), and a control that is written over or
//! removed is named. What such a program does to files nobody can list is said to change any file.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::git_verbs::{args, file_text};
use super::meaning::{Meaning, Scene, inert};
use super::options::{Arg, Grammar, Options};
use super::plan::Content;
use super::simple::{Effect, FileSeen, Stdin, Value};
use super::tamper;

/// Larger files are not carried along in memory; they count as changed.
const MAX_CARRIED_BYTES: u64 = 1 << 20;

/// One of the programs of [`super::programs::Class::Files`].
pub(super) fn command(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, words: &[Value]) -> Effect {
    let words = args(words);
    match name.as_bytes() {
        b"cp" | b"install" => copy(meaning, scene, &words, Kind::Copy),
        b"mv" => copy(meaning, scene, &words, Kind::Move),
        b"ln" => copy(meaning, scene, &words, Kind::Link),
        b"tee" => tee(scene, &words),
        b"touch" => touch(scene, &words),
        b"mkdir" => inert(),
        b"rm" | b"unlink" | b"rmdir" | b"shred" => remove(scene, &words),
        b"chmod" | b"chown" | b"chattr" | b"setfacl" | b"chgrp" => permissions(scene, &words),
        b"rsync" => synchronized(scene, &words),
        b"dd" => converted(scene, &words),
        _ => operands_written(scene, &words, Some),
    }
}

/// `dd if=FROM of=TO`: as it is, or a part of it, unless bytes change their places.
fn converted(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let value = |name: &[u8]| words.iter().filter_map(Arg::known).find_map(|word| word.strip_prefix(name));
    let from = value(b"if=").and_then(|from| scene.path(from.as_bstr()));
    let from = from.filter(|from| scene.shell.file(from) == FileSeen::AsOnDisk && from.is_file());
    let mut effect = operands_written(scene, words, |word| word.strip_prefix(b"of=").map(ByteSlice::as_bstr));
    if let (Some(from), None) = (from, value(b"conv=")) {
        effect.writes.iter_mut().for_each(|(_, content)| *content = Content::CopyOf(from.clone()));
    }
    effect
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Copy,
    Move,
    Link,
}

impl Kind {
    fn options(self) -> Grammar {
        Grammar(match self {
            Self::Copy => {
                "a/archive /attributes-only b /backup? /copy-contents d f/force i/interactive H l/link L/dereference \
                 /parents n/no-clobber P /no-dereference p /preserve? R/recursive r /reflink? /remove-destination /sparse= \
                 /strip-trailing-slashes s/symbolic-link S/suffix= t/target-directory= T/no-target-directory u/update? \
                 v/verbose x/one-file-system Z /context? D m/mode= o/owner= g/group= C/compare c /strip"
            }
            Self::Move => {
                "b /backup? f/force i/interactive n/no-clobber /strip-trailing-slashes S/suffix= t/target-directory= \
                 T/no-target-directory u/update? v/verbose Z/context /no-copy /exchange"
            }
            Self::Link => {
                "b /backup? d F /directory f/force i/interactive L/logical n/no-dereference P/physical r/relative \
                 s/symbolic S/suffix= t/target-directory= T/no-target-directory v/verbose h"
            }
        })
    }
}

fn copy(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, words: &[Arg], kind: Kind) -> Effect {
    let options = kind.options().read(words, true);
    let Some(pairs) = pairs(scene, &options) else {
        let (last, first) = options.operands.split_last().map_or((None, &[][..]), |(last, first)| (Some(last), first));
        for word in last.into_iter().chain(options.value("target-directory")) {
            tamper::of_word(scene, word);
            if let Arg::Known(folder) = word {
                // What goes there is not known: it may be a hook.
                tamper::of_beginning(scene, [folder.as_slice(), b"/"].concat().as_bstr());
            }
        }
        for word in first.iter().filter(|_| kind == Kind::Move) {
            tamper::of_word_taken(scene, word, true);
        }
        let into = options.value("target-directory").or(last).and_then(Arg::known).and_then(|to| scene.path(to));
        let from = if options.value("target-directory").is_some() { options.operands.as_slice() } else { first };
        meaning.brings_unnamed(scene, from, into.as_deref());
        return Effect { changes_files: true, ..inert() };
    };
    let mut effect = inert();
    for (at, (from, to)) in pairs.into_iter().enumerate() {
        tamper::of_path(scene, &to);
        if kind == Kind::Move {
            tamper::of_tree(scene, &from);
        }
        if kind == Kind::Link {
            // What is changed through the link is changed there.
            tamper::of_path(scene, &from);
            tamper::of_tree(scene, &from);
        } else if from.is_dir() {
            tamper::of_copied_tree(scene, &from, &to);
        }
        let source = match kind {
            // What it says is read from where it lies.
            Kind::Link if options.is_on("symbolic") => match options.operands.get(at).and_then(Arg::known) {
                Some(word) => to.parent().unwrap_or(Path::new("/")).join(super::simple::to_os_string(word)),
                None => from.clone(),
            },
            Kind::Link | Kind::Copy | Kind::Move => from.clone(),
        };
        let is_folder = source.is_dir();
        effect.changes_files |= is_folder;
        if source.exists() || !scene.shell.is_folder(&source) {
            effect.writes.push((to.clone(), carried(scene, &source)));
        }
        effect.writes.extend(carried_below(scene, &source, &to, kind));
        if kind == Kind::Move {
            effect.writes.push((from, Content::Gone));
        }
        if !is_folder {
            meaning.copied(source, to);
        }
    }
    effect
}

/// What goes where; `None` when a word is not known.
fn pairs(scene: &Scene<'_, '_>, options: &Options) -> Option<Vec<(PathBuf, PathBuf)>> {
    let paths: Vec<PathBuf> = options.operands.iter().map(|arg| scene.path(arg.known()?)).collect::<Option<_>>()?;
    if let Some(folder) = options.value("target-directory") {
        let folder = scene.path(folder.known()?)?;
        return Some(paths.into_iter().map(|path| into(&folder, path)).collect());
    }
    let (to, from) = paths.split_last()?;
    if options.is_on("parents") {
        // The way as it is written goes along.
        let ways =
            options.operands.iter().filter_map(Arg::known).map(|word| word.trim_start_with(|c| c == '/').to_vec());
        return Some(from.iter().cloned().zip(ways.map(|way| to.join(super::simple::to_os_string(way)))).collect());
    }
    let ends_in_slash = to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let is_folder = scene.shell.is_folder(to) && !options.is_on("no-target-directory")
        || from.len() > 1
        || (ends_in_slash && !from.iter().any(|from| scene.shell.is_folder(from)));
    Some(from.iter().map(|path| if is_folder { into(to, path.clone()) } else { (path.clone(), to.clone()) }).collect())
}

fn into(folder: &Path, path: PathBuf) -> (PathBuf, PathBuf) {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/.") {
        // What is in it, without the folder itself.
        return (path, folder.to_owned());
    }
    let to = path.file_name().map_or_else(|| folder.to_owned(), |name| folder.join(name));
    (path, to)
}

/// What the line itself has put into a folder goes along.
fn carried_below(scene: &Scene<'_, '_>, from: &Path, to: &Path, kind: Kind) -> Vec<(PathBuf, Content)> {
    let mut writes = Vec::new();
    for file in scene.shell.written() {
        let Ok(way) = file.path.strip_prefix(from) else { continue };
        if way.as_os_str().is_empty() {
            continue;
        }
        let content = file.certain().cloned().unwrap_or(Content::Unknown);
        writes.push((to.join(way), content));
        if kind == Kind::Move {
            writes.push((file.path.clone(), Content::Gone));
        }
    }
    writes
}

/// What a copy of a file or folder holds. What is as it was on disk is named, not carried along, when it
/// is large.
fn carried(scene: &Scene<'_, '_>, path: &Path) -> Content {
    let small = path.metadata().map_or(true, |data| data.is_file() && data.len() <= MAX_CARRIED_BYTES);
    match scene.shell.file(path) {
        FileSeen::AsOnDisk if !small => Content::CopyOf(path.to_owned()),
        FileSeen::AsOnDisk if !path.exists() => Content::Gone,
        FileSeen::Changed(_) if path.exists() && !scene.shell.written().iter().any(|file| file.path == path) => {
            // What an unread program may have done to it is not known; what it holds now is.
            Content::CopyOf(path.to_owned())
        }
        FileSeen::Changed(_) => made_of(scene, path).unwrap_or_else(|| Content::of(file_text(scene, path))),
        FileSeen::AsOnDisk | FileSeen::Written(_) => Content::of(file_text(scene, path)),
    }
}

/// What a file of the line is made of, where that alone is known of it.
fn made_of(scene: &Scene<'_, '_>, path: &Path) -> Option<Content> {
    if scene.shell.edited().iter().any(|edited| edited == path) {
        return None;
    }
    let written = scene.shell.written().into_iter().find(|file| file.path == path)?;
    written.certain().filter(|content| matches!(content, Content::MadeOf { .. })).cloned()
}

fn tee(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let options = Grammar("a/append i/ignore-interrupts p /output-error?").read(words, true);
    let text = match &scene.command.stdin {
        Stdin::Text(text) => Some(text.clone()),
        Stdin::Empty => Some(Vec::new()),
        Stdin::Inherited | Stdin::File(_) | Stdin::Names { .. } | Stdin::Unknown(_) => None,
    };
    let content = match text {
        Some(bytes) if options.is_on("append") => Content::Appended(bytes),
        text => Content::of(text),
    };
    let mut effect = Effect { changes_files: options.operands.iter().any(|arg| arg.known().is_none()), ..inert() };
    for word in &options.operands {
        tamper::of_word(scene, word);
    }
    for path in known_paths(scene, &options) {
        effect.writes.push((path, content.clone()));
    }
    effect.output = match &scene.command.stdin {
        Stdin::Text(text) => Some(text.clone()),
        Stdin::Empty => Some(Vec::new()),
        Stdin::Inherited | Stdin::File(_) | Stdin::Names { .. } | Stdin::Unknown(_) => None,
    };
    effect
}

fn known_paths(scene: &Scene<'_, '_>, options: &Options) -> Vec<PathBuf> {
    options.operands.iter().filter_map(|arg| scene.path(arg.known()?)).collect()
}

/// A file that is touched is empty when it was not there.
fn touch(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let options = Grammar("a c/no-create d/date= f h/no-dereference m r/reference= t= /time=").read(words, true);
    let mut effect = inert();
    for path in known_paths(scene, &options) {
        if file_text(scene, &path).is_none() && !path.exists() {
            tamper::of_path(scene, &path);
            effect.writes.push((path, Content::Bytes(Vec::new())));
        }
    }
    effect
}

fn remove(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let options = Grammar("f/force i I /interactive? /one-file-system /no-preserve-root /preserve-root? r R/recursive d/dir v/verbose u z n= s=")
        .read(words, true);
    let recursive = options.is_on("r") || options.is_on("recursive");
    for word in &options.operands {
        tamper::of_word_taken(scene, word, recursive);
    }
    let paths = known_paths(scene, &options);
    // With a repository goes what later commands are planned for.
    let changes_files = options.unknown
        || paths.len() != options.operands.len()
        || recursive && paths.iter().any(|path| holds_repository(path));
    Effect { changes_files, writes: paths.into_iter().map(|path| (path, Content::Gone)).collect(), ..inert() }
}

/// Whether a path is a repository's own directory, lies in one, or has one in it.
fn holds_repository(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git") || path.join(".git").symlink_metadata().is_ok()
}

/// Permissions decide whether a hook runs.
fn permissions(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let makes_usable = words.first().and_then(Arg::known).is_some_and(|mode| {
        matches!(mode.as_bytes(), b"+x" | b"a+x" | b"u+x" | b"ug+x" | b"755" | b"0755" | b"775" | b"700" | b"777")
    });
    if makes_usable {
        return inert();
    }
    let recursive = words.iter().filter_map(Arg::known).any(|word| word == "-R" || word == "--recursive");
    for word in words {
        if !word.known().is_some_and(|word| word.starts_with(b"-")) {
            tamper::of_word_taken(scene, word, recursive);
        }
    }
    inert()
}

/// `rsync FROM… TO`: what lies in a folder goes into the other.
fn synchronized(scene: &mut Scene<'_, '_>, words: &[Arg]) -> Effect {
    let operands: Vec<&Arg> =
        words.iter().filter(|word| !word.known().is_some_and(|word| word.starts_with(b"-"))).collect();
    let is_remote = |word: &BStr| word.contains(&b':');
    let Some((to, from)) = operands.split_last() else { return inert() };
    let Some(to) = to.known().filter(|to| !is_remote(to)).and_then(|to| scene.path(to)) else {
        // What goes to another machine changes nothing here; an unknown word may be anywhere.
        let goes_away = to.known().is_some_and(is_remote);
        return if goes_away { inert() } else { operands_written(scene, words, Some) };
    };
    tamper::of_path(scene, &to);
    let mut effect = Effect { changes_files: true, ..inert() };
    for from in from {
        let local = from.known().filter(|from| !is_remote(from)).and_then(|from| scene.path(from));
        let Some(from) = local else {
            effect.writes.push((to.clone(), Content::Unknown));
            continue;
        };
        let of_content = from.as_os_str().as_encoded_bytes().ends_with(b"/");
        let place = match of_content || (!to.is_dir() && !from.is_dir() && operands.len() == 2) {
            true => to.clone(),
            false => into(&to, from.clone()).1,
        };
        tamper::of_copied_tree(scene, &from, &place);
        effect.writes.push((place, carried(scene, &from)));
    }
    effect
}

fn operands_written<'a>(
    scene: &mut Scene<'_, '_>,
    words: &'a [Arg],
    path_of: impl Fn(&'a BStr) -> Option<&'a BStr>,
) -> Effect {
    let mut effect = Effect { changes_files: true, ..inert() };
    for word in words.iter().filter_map(Arg::known).filter_map(path_of).filter(|word| !word.starts_with(b"-")) {
        tamper::of_word(scene, &Arg::Known(word.to_owned()));
        effect.writes.extend(scene.path(word).map(|path| (path, Content::Unknown)));
    }
    effect
}
