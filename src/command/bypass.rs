//! What switches a control off: hooks left out, another hooks path, an environment that hides git's
//! configuration.
//!
//! Promise: every spelling that git itself would follow is seen, wherever it stands among the words
//! (unique prefixes, `-n` of a commit, `-c`, `--config-env`, `GIT_CONFIG_*`, `HOME=…`, `env -i`), and
//! only on commands that publish or commit; reading a setting is innocent, and so is the same text in
//! a message. (publish facts 2.1 and 2.9; bypass facts 1 to 3, 10 and 11.)

use std::ffi::OsStr;

use bstr::{BStr, ByteSlice};

use super::alias::{self, Alias};
use super::git::Call;
use super::git_globals::{self, Next, Setting};
use super::git_table::grammar;
use super::git_verbs::args;
use super::meaning::Scene;
use super::simple::{EnvChange, FileSeen, Seen, Value};
use crate::text::SafeText;

const WITHOUT_IT: &str = "the same command without it, so that the hooks run";
const LEAVE_CONFIGURATION: &str = "the same command with git's configuration as it is";

/// Variables that decide which configuration files git reads.
const CONFIGURATION: &[&str] = &[
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG",
    "GIT_EXEC_PATH",
];

/// Variables by which hook managers are told to stand aside, and the values that do it; an empty
/// list is any value. (The managers' own documentation.)
const MANAGERS: &[(&str, &[&str])] = &[
    ("HUSKY", &["0"]),
    ("HUSKY_SKIP_HOOKS", &["1", "true"]),
    ("LEFTHOOK", &["0", "false"]),
    ("LEFTHOOK_EXCLUDE", &[]),
    ("SKIP", &[]),
    ("PRE_COMMIT_ALLOW_NO_CONFIG", &["1"]),
    ("OVERCOMMIT_DISABLE", &["1"]),
    ("SKIP_SIMPLE_GIT_HOOKS", &["1"]),
    ("GITHOOKS_DISABLE", &[]),
];

/// Whether a key chooses which hooks run.
pub(super) fn is_control(key: &BStr) -> bool {
    let is_hook =
        key.starts_with(b"hook.") && [".enabled", ".event", ".command"].iter().any(|end| key.ends_with(end.as_bytes()));
    key == "core.hookspath" || is_hook
}

/// Whether a section holds a key that chooses which hooks run.
pub(super) fn holds_control(section: &BStr) -> bool {
    section.eq_ignore_ascii_case(b"core") || section.to_ascii_lowercase().starts_with(b"hook.")
}

/// Everything that a publishing git command switches off.
pub(super) fn of_publish(scene: &mut Scene<'_, '_>, call: &Call) {
    of_environment(scene);
    for setting in &call.settings {
        of_setting(scene, setting);
    }
    if skips_hooks(&call.verb, &call.args) {
        scene.bypass(format!("git {} --no-verify", call.verb), WITHOUT_IT);
    }
}

/// Whether words after a verb tell git to leave hooks out.
fn skips_hooks(verb: &str, words: &[Value]) -> bool {
    match verb {
        "push" | "commit" | "merge" | "pull" | "rebase" | "am" => {
            grammar(verb).read(&args(words), true).is_off("verify")
        }
        _ => false,
    }
}

/// A setting that stays: an alias that leaves hooks out, or a file that chooses them.
pub(super) fn of_kept_setting(scene: &mut Scene<'_, '_>, key: &BStr, value: &BStr) {
    let is_include = key == "include.path" || key.starts_with(b"includeif.") && key.ends_with(b".path");
    if is_include {
        of_include(scene, value);
    }
    if key.starts_with(b"alias.") && alias_skips_hooks(scene, value) {
        scene
            .bypass(format!("{} would leave hooks out", SafeText::quoted(key, 60)), "an alias that lets the hooks run");
    }
}

fn alias_skips_hooks(scene: &Scene<'_, '_>, value: &BStr) -> bool {
    let words = match alias::read(value) {
        Alias::Refused => return false,
        Alias::Shell(text) => return chooses_hooks(&text),
        Alias::Words(words) => words,
    };
    let line: Vec<Value> = std::iter::once("git".into()).chain(words).map(Value::Known).collect();
    let globals = git_globals::read(&line, &scene.command.env);
    let Next::Verb(at) = globals.next else { return false };
    let verb = line.get(at).and_then(Value::known).map(|verb| verb.to_str_lossy().into_owned()).unwrap_or_default();
    globals.settings.iter().any(|setting| is_control(setting.key.as_bstr()))
        || skips_hooks(&verb, line.get(at + 1..).unwrap_or_default())
}

/// A file that git would read as configuration.
fn of_include(scene: &mut Scene<'_, '_>, file: &BStr) {
    let home = || match scene.command.env.var("HOME") {
        Seen::Known(home) => Some(home.as_encoded_bytes().to_vec()),
        Seen::Unset | Seen::Unknown(_) => None,
    };
    let file = match file.strip_prefix(b"~/") {
        Some(rest) => home().map(|home| [home.as_slice(), b"/", rest].concat()),
        None => Some(file.to_vec()),
    };
    let path = file.and_then(|file| scene.path(file.as_bstr()));
    let Some(path) = path.map(|path| super::guarded::clean(&path)) else { return };
    let on_disk = || match (crate::world::read_plain(&path), path.metadata()) {
        (Ok(text), _) => chooses_hooks(&text),
        // What cannot be read now may be by then; what is not there is left out by git, as is a device.
        (Err(_), Ok(found)) => found.is_file(),
        (Err(_), Err(error)) => error.kind() != std::io::ErrorKind::NotFound,
    };
    let names_it =
        || scene.shell.written().iter().any(|file| file.path == path) || scene.shell.edited().contains(&path);
    let controls = match scene.shell.file(&path) {
        FileSeen::Written(text) => chooses_hooks(&text),
        FileSeen::AsOnDisk => on_disk(),
        FileSeen::Changed(_) => names_it() || on_disk(),
    };
    if controls {
        scene.bypass("a file that git would read as configuration may choose its hooks", LEAVE_CONFIGURATION);
    }
}

/// Whether text of configuration, or a line of shell, speaks of which hooks run.
fn chooses_hooks(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    ["hookspath", "[hook", "--no-veri"].iter().any(|part| text.contains_str(part))
}

fn of_setting(scene: &mut Scene<'_, '_>, setting: &Setting) {
    if is_control(setting.key.as_bstr()) {
        let key = SafeText::quoted(&setting.key, 60);
        scene.bypass(format!("{key} is set for this command"), WITHOUT_IT);
    }
    if let (true, Some(value)) = (setting.key == "include.path", &setting.value) {
        of_include(scene, value.as_bstr());
    }
    if setting.key.is_empty() {
        scene.unknown("git gets a setting that is not known");
    }
}

/// What the environment of a publishing command hides.
pub(super) fn of_environment(scene: &mut Scene<'_, '_>) {
    let (env, world) = (&scene.command.env, scene.shell.world());
    let mut hidden = Vec::new();
    for name in CONFIGURATION {
        let same = match (env.var(name), world.var(name)) {
            (Seen::Known(seen), Some(usual)) => seen == usual,
            (Seen::Unset, None) => true,
            (Seen::Known(_) | Seen::Unknown(_), None) | (Seen::Unset | Seen::Unknown(_), Some(_)) => false,
        };
        let becomes = scene.command.wrappers.iter().find(|name| matches!(**name, "sudo" | "doas" | "su" | "runuser"));
        if let (false, Some(wrapper)) = (same, becomes) {
            let what = format!("{wrapper} gives git another user's configuration, and other hooks with it");
            hidden.push((what, "the same command as the user who set git up, without changing users"));
        } else if !same {
            hidden.push((format!("{name} is changed for git, and its configuration with it"), LEAVE_CONFIGURATION));
        }
    }
    for (name, _) in MANAGERS {
        let change = env.changes().get(OsStr::new(name));
        if change.is_some_and(|change| stands_aside(name, change)) {
            hidden.push((format!("{name} switches hooks off"), WITHOUT_IT));
        }
    }
    for (what, instead) in hidden {
        scene.bypass(what, instead);
    }
}

/// Whether a change of this variable tells a hook manager to leave hooks out.
pub(super) fn stands_aside(name: &str, change: &EnvChange) -> bool {
    let Some((_, values)) = MANAGERS.iter().find(|(manager, _)| *manager == name) else { return false };
    match change {
        EnvChange::Set(value) => match value.to_str() {
            Some("") => false,
            Some(value) => values.is_empty() || values.contains(&value),
            None => true,
        },
        EnvChange::Unset => false,
        EnvChange::Unknown(_) => true,
    }
}

/// Words of a git command whose verb is not known.
pub(super) fn of_words(scene: &mut Scene<'_, '_>, words: &[Value]) {
    of_environment(scene);
    let skips = words.iter().filter_map(Value::known).any(|word| word.starts_with(b"--no-veri"));
    if skips {
        scene.bypass("git … --no-verify", WITHOUT_IT);
    }
}

/// A program that cannot be read and is told to skip hooks, or names the setting that does.
pub(super) fn of_opaque(scene: &mut Scene<'_, '_>) {
    let words: Vec<&BStr> = scene.command.words.iter().filter_map(Value::known).collect();
    let speaks_of_git = words.iter().any(|word| {
        word.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| matches!(part, b"git" | b"push" | b"commit"))
    });
    let skips = words
        .iter()
        .any(|word| word.contains_str("--no-veri") || word.to_ascii_lowercase().contains_str("core.hookspath"));
    if speaks_of_git && skips {
        scene.bypass("a program that cannot be read is told to leave hooks out", WITHOUT_IT);
    }
}
