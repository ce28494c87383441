//! What would change tyran itself, the hooks of a host, or git's hooks (design principle 12).
//!
//! Promise: a path is judged by where it leads, not by how it is spelled; reading one is innocent.
//! The places are those that hosts read their hooks from (facts of hosts), git's hook folders and
//! configuration files, and tyran's own state.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::guarded::{self, Guarded, guarded};
use super::meaning::{Changes, Meaning, Scene, inert};
use super::options::Arg;
use super::plan::{Bypass, Plan};
use super::simple::{Dir, Effect, ShellState, Value, to_os_string};
use super::startup;
use crate::text::SafeText;
use crate::world::World;

fn words_of(guarded: Guarded, path: &Path) -> (SafeText, SafeText) {
    let shown = SafeText::quoted(path.as_os_str().as_encoded_bytes(), 120);
    match guarded {
        Guarded::State => (
            SafeText::new(&format!("tyran's own state would change: {shown}")),
            "ask the person who installed tyran".into(),
        ),
        Guarded::Host => (
            SafeText::new(&format!("the hooks of a host would change: {shown}")),
            "ask the person, who can edit that file".into(),
        ),
        Guarded::Hook => (
            SafeText::new(&format!("one of git's hooks would change: {shown}")),
            "ask the person, who can edit that hook".into(),
        ),
        Guarded::Configuration => (
            SafeText::new(&format!("git's configuration would be rewritten: {shown}")),
            "`git config KEY VALUE`, which says what it sets".into(),
        ),
        Guarded::Suppression => (
            SafeText::new(&format!("what accepts findings would change: {shown}")),
            "ask the person, who can edit that file or run `tyran allow`".into(),
        ),
    }
}

fn note(plan: &mut Plan, what: SafeText, instead: SafeText) {
    if !plan.tamper.iter().any(|known| known.what == what) {
        plan.tamper.push(Bypass { what, instead });
    }
}

/// What a tool that writes `path` (absolute) would tamper with; `None` when that is nothing of ours.
pub fn written(world: &World, path: &Path) -> Option<Bypass> {
    guarded(world, path).map(|found| {
        let (what, instead) = words_of(found, path);
        Bypass { what, instead }
    })
}

/// A path that a command moves or removes with all that is below it.
pub(super) fn of_tree(scene: &mut Scene<'_, '_>, path: &Path) -> bool {
    if taken_away(scene, path) {
        return true;
    }
    let Some((found, below)) = guarded::below(scene.shell.world(), path) else { return false };
    let (what, instead) = words_of(found, &below);
    note(scene.plan, what, instead);
    true
}

/// A path that a command removes, or makes unusable.
fn taken_away(scene: &mut Scene<'_, '_>, path: &Path) -> bool {
    match guarded(scene.shell.world(), path) {
        None | Some(Guarded::Suppression) => false,
        Some(found) => {
            let (what, instead) = words_of(found, path);
            note(scene.plan, what, instead);
            true
        }
    }
}

/// A word of which only the beginning is known, as a path that is written, moved or removed.
pub(super) fn of_beginning(scene: &mut Scene<'_, '_>, beginning: &BStr) {
    of_ends(scene, beginning, BStr::new(""));
}

fn of_ends(scene: &mut Scene<'_, '_>, beginning: &BStr, end: &BStr) {
    if let Some(path) = opened(&scene.command.dir, beginning)
        && let Some((found, path)) = guarded::beginning(scene.shell.world(), &path, end)
    {
        let (what, instead) = words_of(found, &path);
        note(scene.plan, what, instead);
    }
}

/// A folder into which files are written that nobody can list.
pub(super) fn of_folder(scene: &mut Scene<'_, '_>, folder: &BStr) {
    of_word(scene, &Arg::Known(folder.to_owned()));
    of_beginning(scene, [folder.as_bytes(), b"/"].concat().as_bstr());
}

/// A word as a path that is written: absolute, or relative where nobody knows where the command runs.
pub(super) fn of_word(scene: &mut Scene<'_, '_>, word: &Arg) {
    match word {
        Arg::Known(word) => {
            if let Some(path) = begun(&scene.command.dir, word.as_bstr()) {
                of_path(scene, &path);
            }
        }
        Arg::Unknown { prefix, suffix } => of_ends(scene, prefix.as_bstr(), suffix.as_bstr()),
    }
}

/// A word as a path that is removed or moved away, perhaps with all that is below it.
pub(super) fn of_word_taken(scene: &mut Scene<'_, '_>, word: &Arg, whole_tree: bool) {
    match word {
        Arg::Known(word) => {
            let Some(path) = begun(&scene.command.dir, word.as_bstr()) else { return };
            if whole_tree {
                of_tree(scene, &path)
            } else {
                taken_away(scene, &path)
            };
        }
        Arg::Unknown { prefix, suffix } => of_ends(scene, prefix.as_bstr(), suffix.as_bstr()),
    }
}

fn begun(dir: &Dir, word: &BStr) -> Option<PathBuf> {
    if word.is_empty() {
        return None;
    }
    let path = PathBuf::from(to_os_string(word));
    Some(match dir {
        Dir::Known(dir) => dir.join(path),
        Dir::Unknown(_) => path,
    })
}

/// A path of which only the beginning is known; of nothing at all, some file of the folder.
fn opened(dir: &Dir, beginning: &BStr) -> Option<PathBuf> {
    if beginning.is_empty() { Some(dir.known()?.join("")) } else { begun(dir, beginning) }
}

/// A path that a command writes, moves, removes or makes unusable.
pub(super) fn of_path(scene: &mut Scene<'_, '_>, path: &Path) -> bool {
    match guarded(scene.shell.world(), path) {
        Some(found) => {
            let (what, instead) = words_of(found, path);
            note(scene.plan, what, instead);
            true
        }
        None => false,
    }
}

/// tyran's own state among the words of a program that may write what it is given.
pub(super) fn of_words(scene: &mut Scene<'_, '_>) {
    let paths: Vec<PathBuf> = scene
        .command
        .words
        .iter()
        .skip(1)
        .filter_map(Value::known)
        .filter(|word| word.contains_str(".tyran"))
        .filter_map(|word| scene.path(word))
        .filter(|path| guarded(scene.shell.world(), path) == Some(Guarded::State))
        .collect();
    for path in paths {
        of_path(scene, &path);
    }
}

/// A manager of git's hooks that is told to take them out.
pub(super) fn of_hook_manager(scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) {
    let takes_out = args.iter().filter_map(Value::known).find(|word| !word.starts_with(b"-"));
    if matches!(name.as_bytes(), b"pre-commit" | b"prek" | b"lefthook" | b"husky")
        && takes_out == Some(BStr::new("uninstall"))
    {
        let shown = SafeText::quoted(name, 40);
        note(
            scene.plan,
            SafeText::new(&format!("{shown} would take git's hooks out")),
            "ask the person, who can run it".into(),
        );
    }
}

/// Files of a folder that is copied to another place.
pub(super) fn of_copied_tree(scene: &mut Scene<'_, '_>, from: &Path, to: &Path) {
    // Where nothing is yet, a copy has no hooks that git would run here.
    if !to.is_dir() {
        return;
    }
    for path in guarded::held(from).into_iter().map(|name| to.join(name)) {
        if path.parent().is_some_and(Path::is_dir) {
            of_path(scene, &path);
        }
    }
}

/// A file that a redirection writes.
pub(super) fn of_write(
    meaning: &mut Meaning,
    path: &Value,
    dir: &Dir,
    bytes: Option<&[u8]>,
    shell: &dyn ShellState,
    plan: &mut Plan,
) {
    if let (Value::Known(word), Some(bytes)) = (path, bytes)
        && let Some(bypass) = begun(dir, word.as_bstr()).and_then(|path| startup::written(shell.world(), &path, bytes))
        && !plan.bypass.iter().any(|known| known.what == bypass.what)
    {
        plan.bypass.push(bypass);
    }
    let found = match path {
        Value::Known(word) => {
            begun(dir, word.as_bstr()).and_then(|path| guarded(shell.world(), &path).map(|found| (found, path)))
        }
        Value::Unknown(value) => {
            let path = opened(dir, value.prefix.as_bstr());
            path.and_then(|path| guarded::beginning(shell.world(), &path, value.suffix.as_bstr()))
        }
    };
    let Some((found, path)) = found else { return };
    let (what, instead) = words_of(found, &path);
    note(plan, what, instead);
    if found == Guarded::Configuration {
        meaning.overlay.incomplete = true;
        meaning.changes(Changes::Configuration);
    }
}

/// tyran called from a command line: only what takes it out or widens what it lets pass.
pub(super) fn tyran(scene: &mut Scene<'_, '_>, args: &[Value]) -> Effect {
    let word = args.iter().find(|value| !value.known().is_some_and(|word| word.starts_with(b"-")));
    let verb = word.map(|value| value.known().map(|word| word.to_str_lossy().into_owned()));
    match verb {
        None => {}
        Some(None) => scene.tamper("tyran with a command that is not known", "the command in plain words"),
        Some(Some(verb)) => {
            if matches!(verb.as_str(), "uninstall" | "allow" | "setup" | "install") {
                let what = format!("tyran {verb}");
                scene.tamper(what, "ask the person, who can run it in a terminal");
            }
        }
    }
    inert()
}
