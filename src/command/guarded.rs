//! Places that hold a control: tyran's own state, what hosts take hooks from, git's hooks and settings.
//!
//! Promise: a path is judged by where it leads, not by how it is spelled; a folder that is moved or
//! removed as a whole counts when a control lies in it now. What a command does there is
//! [`super::tamper`]'s.

use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice;

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
    ".copilot/settings.json",
    ".github/copilot/settings.json",
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
    "/etc/qwen-code",
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
pub(super) enum Guarded {
    /// tyran itself, or what it keeps.
    State,
    /// What a host takes its hooks from.
    Host,
    /// One of git's hooks, or the folder of them.
    Hook,
    /// A file of git's configuration.
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

/// What the control at a path is, when there is one or would be.
pub(super) fn guarded(world: &World, path: &Path) -> Option<Guarded> {
    let cleaned = clean(path);
    let real = cleaned.parent().and_then(|parent| parent.canonicalize().ok()).map(|parent| match cleaned.file_name() {
        Some(name) => parent.join(name),
        None => parent,
    });
    [Some(cleaned), real].into_iter().flatten().find_map(|path| of_clean(world, &path))
}

fn of_clean(world: &World, path: &Path) -> Option<Guarded> {
    let homes = homes(world);
    if states(&homes).any(|state| path.starts_with(&state)) {
        return Some(Guarded::State);
    }
    let is_program = path.file_name().is_some_and(|name| name == "tyran")
        && world.var("PATH").is_some_and(|folders| {
            std::env::split_paths(folders).any(|folder| path.parent() == Some(folder.as_path()))
        });
    if is_program {
        return Some(Guarded::State);
    }
    // Bytes first: they rule nearly every path out, and comparing by parts takes its time.
    let text = path.as_os_str().as_encoded_bytes();
    let is_host = HOST_FILES.iter().any(|file| text.ends_with(file.as_bytes()) && path.ends_with(file))
        || SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || HOST_FOLDERS
            .iter()
            .any(|folder| text.contains_str(folder) && path.ancestors().any(|above| above.ends_with(folder)))
        || homes.iter().any(|home| path == home.join(".claude") || path == home.join(".codex"));
    if is_host {
        return Some(Guarded::Host);
    }
    let name = path.file_name()?.to_str()?;
    let parent = path.parent()?.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let above = path.parent().and_then(Path::parent);
    // A folder that only looks like a repository, as tests make them, has no hooks that git would run. Where
    // nobody knows the directory, the path is relative.
    let is_repository = |above: &Path| above.ends_with(".git") && (above.is_relative() || above.is_dir());
    let in_git = above.is_some_and(|above| is_repository(above) || above.join("objects").is_dir());
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

fn homes(world: &World) -> Vec<PathBuf> {
    [crate::world::user_home(), world.var("HOME").map(PathBuf::from)].into_iter().flatten().collect()
}

fn states(homes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    state_dir().into_iter().chain(homes.iter().map(|home| home.join(".tyran")))
}

/// A path of which only the beginning is known: a control when every file in that folder is one of ours,
/// or may be.
pub(super) fn beginning(world: &World, path: &Path) -> Option<(Guarded, PathBuf)> {
    if let Some(found) = guarded(world, path) {
        return Some((found, path.to_owned()));
    }
    let text = path.as_os_str().as_encoded_bytes();
    let folder = if text.ends_with(b"/") { path } else { path.parent()? };
    let stem = if text.ends_with(b"/") { None } else { path.file_name().and_then(|name| name.to_str()) };
    let hook = GIT_HOOKS.iter().find(|hook| stem.is_none_or(|stem| hook.starts_with(stem)))?;
    let hook = folder.join(hook);
    guarded(world, &hook).filter(|found| *found == Guarded::Hook).map(|found| (found, hook))
}

/// A control that lies below a folder now, so that moving or removing the folder takes it along. The
/// whole work tree does not count: with it goes everything that could be pushed from there.
pub(super) fn below(world: &World, path: &Path) -> Option<(Guarded, PathBuf)> {
    let path = clean(path);
    let homes = homes(world);
    let fixed = states(&homes)
        .map(|state| (Guarded::State, state))
        .chain(homes.iter().map(|home| (Guarded::Configuration, home.join(".gitconfig"))))
        .chain(homes.iter().map(|home| (Guarded::Configuration, home.join(".config/git/config"))));
    let hosts = homes.iter().flat_map(|home| HOST_FILES.iter().map(|file| (Guarded::Host, home.join(file))));
    if let Some(found) = fixed.chain(hosts).find(|(_, file)| file.starts_with(&path) && file.exists()) {
        return Some(found);
    }
    let name = path.file_name()?.to_str()?;
    let in_folder = |folder: PathBuf| GIT_HOOKS.iter().map(move |hook| folder.join(hook)).find(|hook| hook.is_file());
    if matches!(name, ".husky" | ".githooks") {
        return in_folder(path).map(|hook| (Guarded::Hook, hook));
    }
    if name == ".git" {
        let config = path.join("config");
        let chooses_hooks =
            std::fs::read(&config).is_ok_and(|text| text.to_ascii_lowercase().contains_str("hookspath"));
        return in_folder(path.join("hooks"))
            .map(|hook| (Guarded::Hook, hook))
            .or_else(|| chooses_hooks.then_some((Guarded::Configuration, config)));
    }
    let of_project = HOST_FILES.iter().filter_map(|file| file.split_once('/').filter(|(folder, _)| *folder == name));
    of_project.map(|(_, rest)| path.join(rest)).find(|file| file.is_file()).map(|file| (Guarded::Host, file))
}
