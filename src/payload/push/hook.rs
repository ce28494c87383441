//! Whether git's pre-push hook would run, and git's own list of updates as the hook gets it.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;

use super::refs::object_id;
use super::repository::Repository;
use super::resolve::Update;

/// What of git's own check would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutlook {
    /// Whether the command skips it: `--no-verify`, or plumbing that knows no hooks.
    pub skipped: bool,
    /// The hook file that would run, when there is one.
    pub file: Option<PathBuf>,
    /// Commands of `hook.NAME.event=pre-push` (git 2.54 and later).
    pub commands: Vec<BString>,
}

impl HookOutlook {
    /// The outlook in a repository.
    pub fn of(repository: &Repository, skipped: bool) -> Self {
        let file = hooks_dir(repository).join("pre-push");
        let is_there = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Self { skipped, file: is_there.then_some(file), commands: configured(repository) }
    }
}

/// The directory that hooks are taken from.
fn hooks_dir(repository: &Repository) -> PathBuf {
    let Some(path) = repository.config.last("core.hookspath").filter(|path| !path.is_empty()) else {
        return repository.place.common_dir.join("hooks");
    };
    repository.git.below_home(path).unwrap_or_else(|| repository.place.dir.join(os(path)))
}

fn os(bytes: &[u8]) -> std::ffi::OsString {
    std::ffi::OsString::from_vec(bytes.to_vec())
}

fn configured(repository: &Repository) -> Vec<BString> {
    let config = &repository.config;
    let mut names: Vec<&BStr> = Vec::new();
    for (name, variable, setting) in config.named("hook") {
        if variable == "event" {
            // An empty value clears the events of a hook.
            names.retain(|known| !(setting.text().is_empty() && *known == name));
            if setting.text() == "pre-push" && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let last = |wanted: &BStr, key: &str| {
        config
            .named("hook")
            .filter(|(name, variable, _)| *name == wanted && *variable == key)
            .last()
            .map(|(.., setting)| setting)
    };
    names.retain(|name| last(name, "enabled").is_none_or(super::config::Setting::truth));
    names.iter().filter_map(|name| last(name, "command").map(|setting| setting.text().into())).collect()
}

/// One line of what git hands to its pre-push hook.
///
/// # Errors
/// When a line is not `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`.
pub fn updates_from_lines(lines: &[u8]) -> Result<Vec<Update>, Fault> {
    lines.lines().filter(|line| !line.is_empty()).map(update_from_line).collect()
}

fn update_from_line(line: &[u8]) -> Result<Update, Fault> {
    let unreadable = || {
        Fault::Plumbing(format!("git gave the hook a line that is not known: {}", SafeText::quoted(line, 120)).into())
    };
    // A source may be an expression with blanks in it (`:/some text`), so the fields count from the end.
    let mut fields = line.rsplitn_str(4, " ");
    let (Some(old), Some(destination), Some(new), Some(source)) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(unreadable());
    };
    let some = |oid: ObjectId| (!oid.is_null()).then_some(oid);
    Ok(Update {
        source: source.into(),
        new: some(object_id(new)?),
        destination: destination.into(),
        old: some(object_id(old)?),
    })
}
