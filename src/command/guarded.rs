//! Places that hold a control: tyran's own state, what hosts take hooks from, git's hooks and settings.
//!
//! Promise: a path is judged by where it leads, not by how it is spelled; a folder that is moved or
//! removed as a whole counts when a control lies in it now. What a command does there is
//! [`super::tamper`]'s.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use bstr::{BStr, ByteSlice};

use crate::scan::suppress;
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
    // Qwen Code takes from it where its own folder is.
    ".qwen/.env",
    ".gemini/.env",
    ".augment/settings.json",
    ".augment/settings.local.json",
    ".windsurf/hooks.json",
    ".codeium/windsurf/hooks.json",
    ".factory/hooks.json",
    ".factory/settings.json",
    ".factory/settings.local.json",
    ".agents/hooks.json",
    ".kimi-code/config.toml",
    ".junie/config.json",
    ".vibe/hooks.toml",
    ".vibe/config.toml",
    ".copilot/config.json",
    ".copilot/settings.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
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

/// Variables that name another folder for what a host keeps at home, and where it is without them.
const MOVED: &[(&str, &str)] = &[
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("QWEN_HOME", ".qwen"),
    ("COPILOT_HOME", ".copilot"),
    ("VIBE_HOME", ".vibe"),
    ("KILO_CONFIG_DIR", ".config/kilo"),
    ("OPENCODE_CONFIG_DIR", ".config/opencode"),
    ("XDG_CONFIG_HOME", ".config"),
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
    /// A file by which findings are accepted; taking it away accepts less.
    Suppression,
}

/// A path without `.` and `..`, as the words say it; links are followed where they exist.
pub(super) fn clean(path: &Path) -> PathBuf {
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
    of_clean(world, &cleaned).or_else(|| {
        let real = cleaned.parent()?.canonicalize().ok()?;
        let real = match cleaned.file_name() {
            Some(name) => real.join(name),
            None => real,
        };
        if real == cleaned { None } else { of_clean(world, &real) }
    })
}

fn of_clean(world: &World, path: &Path) -> Option<Guarded> {
    let homes = homes(world);
    if states(&homes).any(|state| path.starts_with(&state)) {
        return Some(Guarded::State);
    }
    if is_own_program(path) {
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
    let is_host = is_of_host(path)
        || SYSTEM_FOLDERS.iter().any(|folder| text.starts_with(folder.as_bytes()) && path.starts_with(folder))
        || homes.iter().any(|home| path == home.join(".claude") || path == home.join(".codex"))
        || homes.iter().any(|home| path == home.join(".env"))
        || moved(world, path).any(|usual| is_of_host(&usual));
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
    if is_configuration {
        return Some(Guarded::Configuration);
    }
    // They count at the top of a repository; where nobody knows the directory, the path is relative.
    let is_at_top = || path.is_relative() || path.parent().is_some_and(|top| top.join(".git").exists());
    (suppress::NAMES.contains(&name) && is_at_top()).then_some(Guarded::Suppression)
}

/// Whether a host takes hooks from a file of that name.
fn is_of_host(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    HOST_FILES.iter().any(|file| text.ends_with(file.as_bytes()) && path.ends_with(file))
        || is_in_host_folder(text)
        // A profile of Codex, laid over its configuration.
        || text.ends_with(b".config.toml") && path.parent().is_some_and(|folder| folder.ends_with(".codex"))
}

/// A path below a folder that a variable names, as it would be without the variable.
fn moved<'a>(world: &'a World, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    MOVED.iter().filter_map(move |(name, usual)| {
        let folder = world.var(name).filter(|folder| !folder.is_empty())?;
        Some(Path::new(usual).join(path.strip_prefix(world.cwd.join(folder)).ok()?))
    })
}

/// Whether one of the folders of hosts is among those that a path leads through.
fn is_in_host_folder(path: &[u8]) -> bool {
    let begins = std::iter::once(0).chain(memchr::memchr_iter(b'/', path).map(|at| at + 1));
    begins.filter_map(|at| path.get(at..)).any(|rest| {
        HOST_FOLDERS.iter().any(|folder| {
            rest.strip_prefix(folder.as_bytes()).is_some_and(|after| after.is_empty() || after.starts_with(b"/"))
        })
    })
}

/// This very program, which hosts and git's hooks start by its path; `None` where the system does not tell.
fn own_program() -> Option<&'static Path> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || std::env::current_exe().and_then(|program| program.canonicalize()).ok();
    OWN.get_or_init(find).as_deref()
}

/// Whether a path, or the link that stands there, leads to this very program.
pub(super) fn is_own_program(path: &Path) -> bool {
    own_program()
        .is_some_and(|own| path == own || path.is_symlink() && path.canonicalize().is_ok_and(|real| real == own))
}

fn homes(world: &World) -> Vec<PathBuf> {
    [crate::world::user_home(), world.var("HOME").map(PathBuf::from)].into_iter().flatten().collect()
}

fn states(homes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    state_dir().into_iter().chain(homes.iter().map(|home| home.join(".tyran")))
}

/// A path of which only the beginning and the end are known: a control when every file in that folder is one of
/// ours or may be, or when the end alone says so.
pub(super) fn beginning(world: &World, path: &Path, end: &BStr) -> Option<(Guarded, PathBuf)> {
    if let Some(found) = guarded(world, path) {
        return Some((found, path.to_owned()));
    }
    let text = path.as_os_str().as_encoded_bytes();
    let folder = if text.ends_with(b"/") { path } else { path.parent()? };
    let stem = if text.ends_with(b"/") { None } else { path.file_name().and_then(|name| name.to_str()) };
    let stem = stem.unwrap_or_default();
    let fits =
        |name: &str| name.starts_with(stem) && name.as_bytes().ends_with(end) && name.len() >= stem.len() + end.len();
    let real = folder.canonicalize().unwrap_or_else(|_| clean(folder));
    let is_git = real.ends_with(".git");
    let is_of_hooks = ["hooks", ".husky", ".githooks"].iter().any(|name| real.ends_with(name));
    let in_hooks = GIT_HOOKS.iter().filter(|_| is_of_hooks).map(|hook| (*hook).to_owned());
    let in_git = GIT_HOOKS.iter().map(|hook| format!("hooks/{hook}")).chain(["config".to_owned()]);
    let names = in_hooks.chain(in_git.filter(|_| is_git)).filter(|name| fits(name));
    let may_be = |name: String| {
        let path = folder.join(name);
        guarded(world, &path)
            .filter(|found| matches!(found, Guarded::Hook | Guarded::Configuration))
            .map(|found| (found, path))
    };
    let mut names = names;
    names.find_map(may_be).or_else(|| by_its_end(world, text.is_empty() || stem.is_empty(), end))
}

/// A path of which only the end is known, behind a slash.
fn by_its_end(world: &World, of_any_folder: bool, end: &BStr) -> Option<(Guarded, PathBuf)> {
    let (_, tail) = end.split_once_str("/")?;
    let path = PathBuf::from(super::simple::to_os_string(tail));
    let name = tail.strip_prefix(b"hooks/").unwrap_or(tail);
    let is_hook = of_any_folder && name.to_str().is_ok_and(|name| GIT_HOOKS.contains(&name));
    let found = match guarded(world, &path) {
        Some(Guarded::Suppression) => None,
        None if is_hook => Some(Guarded::Hook),
        None if path.starts_with(".tyran") => Some(Guarded::State),
        found => found,
    };
    found.map(|found| (found, path))
}

/// Controls that a folder holds, by their names below it, as a copy of the folder would put them elsewhere.
pub(super) fn held(folder: &Path) -> Vec<PathBuf> {
    let folders =
        ["", "hooks", ".git/hooks", ".husky", ".githooks"].into_iter().filter(|name| folder.join(name).is_dir());
    let hooks = folders.flat_map(|above| GIT_HOOKS.iter().map(move |hook| Path::new(above).join(hook)));
    let files = ["config", ".git/config"].iter().chain(HOST_FILES).chain(&suppress::NAMES).map(PathBuf::from);
    hooks.chain(files).filter(|name| folder.join(name).is_file()).collect()
}

/// A control that lies below a folder now, so that moving or removing the folder takes it along. The
/// whole work tree does not count: with it goes everything that could be pushed from there.
pub(super) fn below(world: &World, path: &Path) -> Option<(Guarded, PathBuf)> {
    let path = clean(path);
    let homes = homes(world);
    let fixed = states(&homes)
        .chain(own_program().map(Path::to_owned))
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
