//! What would change tyran itself, the hooks of a host, or git's hooks (design principle 12).
//!
//! Promise: a path is judged by where it leads, not by how it is spelled; reading one is innocent.
//! The places are those that hosts read their hooks from (facts of hosts), git's hook folders and
//! configuration files, and tyran's own state.

use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice;

use super::meaning::{Changes, Meaning, Scene, inert};
use super::plan::{Bypass, Plan};
use super::simple::{Dir, Effect, ShellState, Value, to_os_string};
use crate::text::SafeText;
use crate::world::{World, state_dir};

/// Files below a project or a home from which a host takes its hooks.
const HOST_FILES: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/cowork_settings.json",
    ".claude/hooks/hooks.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".gemini/trusted_hooks.json",
    ".gemini/config/hooks.json",
    ".qwen/settings.json",
    ".augment/settings.json",
    ".augment/settings.local.json",
    ".windsurf/hooks.json",
    ".codeium/windsurf/hooks.json",
    ".factory/hooks.json",
    ".factory/settings.json",
    ".agents/hooks.json",
    ".kimi-code/config.toml",
    ".junie/config.json",
    ".vibe/hooks.toml",
    ".copilot/config.json",
    ".amp/settings.json",
    ".config/devin/config.json",
    ".devin/config.json",
    ".devin/config.local.json",
    ".devin/hooks.v1.json",
    ".config/crush/crush.json",
    "crush.json",
    ".crush.json",
];

/// Folders of which every file counts.
const HOST_FOLDERS: &[&str] = &[
    ".github/hooks",
    ".copilot/hooks",
    ".agents/plugins",
    ".opencode/plugin",
    ".opencode/plugins",
    ".config/opencode/plugin",
    ".config/opencode/plugins",
    ".kilo/plugin",
    ".kilo/plugins",
    ".config/kilo/plugin",
    ".config/kilo/plugins",
    ".amp/plugins",
    ".config/amp/plugins",
    ".cline/hooks",
    ".clinerules/hooks",
    "Cline/Hooks",
    ".kiro/hooks",
    ".kiro/agents",
    ".grok/hooks",
];

/// Folders of the system in which hosts keep managed settings.
const SYSTEM_FOLDERS: &[&str] = &[
    "/etc/claude-code",
    "/etc/cursor",
    "/etc/augment",
    "/etc/gemini-cli",
    "/etc/codex",
    "/Library/Application Support/ClaudeCode",
    "/Library/Application Support/Cursor",
];

/// git's hooks (githooks(5) of git 2.47, those of the client side).
const GIT_HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "reference-transaction",
    "post-rewrite",
    "sendemail-validate",
    "post-index-change",
    "fsmonitor-watchman",
    "push-to-checkout",
    "pre-auto-gc",
];

/// What a path is to tyran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guarded {
    State,
    Host,
    Hook,
    Configuration,
}

/// A path without `.` and `..`, as the words say it; links are followed where they exist.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(cleaned.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => cleaned.push(part),
        }
    }
    cleaned
}

fn guarded(world: &World, path: &Path) -> Option<Guarded> {
    let cleaned = clean(path);
    let real = cleaned.parent().and_then(|parent| parent.canonicalize().ok()).map(|parent| match cleaned.file_name() {
        Some(name) => parent.join(name),
        None => parent,
    });
    [Some(cleaned), real].into_iter().flatten().find_map(|path| of_clean(world, &path))
}

fn of_clean(world: &World, path: &Path) -> Option<Guarded> {
    let homes: Vec<PathBuf> =
        [crate::world::user_home(), world.var("HOME").map(PathBuf::from)].into_iter().flatten().collect();
    let states = state_dir().into_iter().chain(homes.iter().map(|home| home.join(".tyran")));
    if states.into_iter().any(|state| path.starts_with(&state)) {
        return Some(Guarded::State);
    }
    let is_program = path.file_name().is_some_and(|name| name == "tyran")
        && world.var("PATH").is_some_and(|folders| {
            std::env::split_paths(folders).any(|folder| path.parent() == Some(folder.as_path()))
        });
    if is_program {
        return Some(Guarded::State);
    }
    let is_host = HOST_FILES.iter().any(|file| path.ends_with(file))
        || SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || HOST_FOLDERS.iter().any(|folder| path.ancestors().any(|above| above.ends_with(folder)))
        || homes.iter().any(|home| path == home.join(".claude") || path == home.join(".codex"));
    if is_host {
        return Some(Guarded::Host);
    }
    let name = path.file_name()?.to_str()?;
    let parent = path.parent()?.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let above = path.parent().and_then(Path::parent);
    let in_git = above.is_some_and(|above| above.ends_with(".git") || above.join("objects").is_dir());
    if (parent == "hooks" && in_git || parent == ".husky" || parent == ".githooks") && GIT_HOOKS.contains(&name) {
        return Some(Guarded::Hook);
    }
    if name == "hooks" && path.parent().is_some_and(|parent| parent.ends_with(".git")) {
        return Some(Guarded::Hook);
    }
    let is_configuration = path.ends_with(".git/config")
        || path.ends_with(".git/config.worktree")
        || homes.iter().any(|home| path == home.join(".gitconfig") || path == home.join(".config/git/config"))
        || path == Path::new("/etc/gitconfig");
    is_configuration.then_some(Guarded::Configuration)
}

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

/// A file that a redirection writes.
pub(super) fn of_write(
    meaning: &mut Meaning,
    path: &Value,
    dir: &Dir,
    _bytes: Option<&[u8]>,
    shell: &dyn ShellState,
    plan: &mut Plan,
) {
    let Some(word) = path.known() else { return };
    let path = PathBuf::from(to_os_string(word));
    let path = match dir {
        Dir::Known(dir) => dir.join(path),
        Dir::Unknown(_) => path,
    };
    let Some(found) = guarded(shell.world(), &path) else { return };
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
