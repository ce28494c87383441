//! git's configuration as a judged command would see it: aliases, and programs that it names.
//!
//! Promise: the settings come from git's own `config --list`, or where the files are plain from reading
//! them ([`super::git_files`]), so every scope, include and condition counts as git counts it; what the same line sets before is laid over. Which program a command
//! runs because of a setting is read from one table; the programs are only named here, never run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::git_files;
use super::git_globals::{self, Setting, normal_key};
use super::plan::GitContext;
use crate::world::World;
use crate::world::git::FIXED_CONFIG;

/// Where a setting comes from, as far as that matters: whoever wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The system's or the user's own file.
    User,
    /// The repository's files, the environment, or the line.
    Line,
}

/// One setting in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Where it comes from.
    pub scope: Scope,
    /// Its key, normal.
    pub key: BString,
    /// Its value; `None` when not known.
    pub value: Option<BString>,
}

/// All settings in force, later ones first to count.
#[derive(Clone, Debug, Default)]
pub struct Config {
    settings: Vec<InForce>,
    /// Whether there may be settings that nobody could list.
    pub incomplete: bool,
}

/// Settings that the line has made by `git config` and the like before.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    settings: Vec<Setting>,
    /// Whether a configuration file was changed in a way that is not understood.
    pub incomplete: bool,
}

impl Overlay {
    /// Records `git config KEY VALUE`.
    pub fn set(&mut self, setting: Setting) {
        self.settings.push(setting);
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && !self.incomplete
    }
}

/// Lists the settings in force. Where git cannot list them (a file that does not parse), a command
/// that reads its configuration ends with the same complaint; only built-in ones that do not need it
/// go on, so the answer is an empty list that says so.
pub fn list(world: &World, context: &GitContext, overlay: &Overlay) -> Config {
    let mut context = context.clone();
    // An include that the line has just configured is followed by git itself.
    for setting in &overlay.settings {
        if let (true, Some(value)) = (is_include(setting.key.as_bstr()), &setting.value) {
            let pair = [setting.key.as_slice(), b"=", value.as_slice()].concat();
            context.globals.extend(["-c".into(), super::simple::to_os_string(pair)]);
        }
    }
    let mut config = match git_files::read(world, &context) {
        Some(settings) => Config { settings, incomplete: overlay.incomplete },
        None => match listed(world, &context) {
            Some(settings) => Config { settings, incomplete: overlay.incomplete },
            None => Config { settings: Vec::new(), incomplete: true },
        },
    };
    for setting in &overlay.settings {
        config.settings.push(InForce { scope: Scope::Line, key: setting.key.clone(), value: setting.value.clone() });
    }
    config
}

/// The settings as git itself lists them; `None` where it cannot.
pub fn listed(world: &World, context: &GitContext) -> Option<Vec<InForce>> {
    world.settings(context).ok().map(|listed| parse(&listed))
}

/// Whether git would read one of these files as configuration: by its place, by a variable, or because a
/// setting in force includes a file of that name.
pub fn reads_any(context: &GitContext, config: &Config, written: &[PathBuf]) -> bool {
    let variable = |name: &str| context.env.get(OsStr::new(name)).map(PathBuf::from);
    let home = variable("HOME");
    let mut read: Vec<PathBuf> = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(variable).collect();
    read.extend(home.iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]));
    read.extend(variable("XDG_CONFIG_HOME").map(|folder| folder.join("git/config")));
    if let Some(place) = git_globals::find(context) {
        read.extend([place.common_dir().join("config"), place.common_dir().join("config.worktree")]);
    }
    let included = config.settings.iter().filter(|setting| is_include(setting.key.as_bstr()));
    let names: Vec<Option<OsString>> = included
        .map(|setting| {
            let value = super::simple::to_os_string(setting.value.as_ref()?);
            Path::new(&value).file_name().map(OsStr::to_owned)
        })
        .collect();
    written.iter().any(|path| {
        read.iter().any(|file| context.dir.join(file) == *path)
            || names.iter().any(|name| name.is_none() || name.as_deref() == path.file_name())
    })
}

fn is_include(key: &BStr) -> bool {
    key == "include.path" || (key.starts_with(b"includeif.") && key.ends_with(b".path"))
}

/// The settings without those that our own call brings along.
fn parse(listed: &[(Vec<u8>, Vec<u8>)]) -> Vec<InForce> {
    let mut settings = Vec::new();
    for (scope, entry) in listed {
        let (key, value) = match entry.find_byte(b'\n') {
            Some(at) => (entry.get(..at).unwrap_or_default(), entry.get(at + 1..).unwrap_or_default()),
            None => (entry.as_slice(), b"true".as_slice()),
        };
        let scope = if matches!(scope.as_slice(), b"system" | b"global") { Scope::User } else { Scope::Line };
        settings.push(InForce { scope, key: normal_key(key.as_bstr()), value: Some(value.into()) });
    }
    settings.truncate(settings.len().saturating_sub(FIXED_CONFIG.len()));
    settings
}

impl Config {
    /// The last value of a key; the outer `None` when it is not set, the inner when it is not known.
    pub fn value(&self, key: &str) -> Option<Option<&BStr>> {
        let found = self.settings.iter().rev().find(|setting| setting.key == key)?;
        Some(found.value.as_ref().map(|value| value.as_bstr()))
    }

    /// What an alias stands for. Names compare without case in `alias.NAME`, as they are in
    /// `alias.NAME.command` (git 2.53 and later).
    pub fn alias(&self, name: &BStr) -> Option<Option<&BStr>> {
        let found = self.settings.iter().rev().find(|setting| {
            setting.key.strip_prefix(b"alias.").is_some_and(|rest| {
                rest.eq_ignore_ascii_case(name) || rest.strip_suffix(b".command").is_some_and(|rest| rest == name)
            })
        })?;
        Some(found.value.as_ref().map(|value| value.as_bstr()))
    }

    /// The names of all aliases.
    pub fn aliases(&self) -> impl Iterator<Item = &BStr> {
        self.settings.iter().filter_map(|setting| setting.key.strip_prefix(b"alias.")).map(ByteSlice::as_bstr)
    }

    /// Every setting in force.
    pub fn iter(&self) -> impl Iterator<Item = &InForce> {
        self.settings.iter()
    }

    /// The folder of hooks that is in force, when a setting names one.
    pub fn hooks_path(&self) -> Option<Option<PathBuf>> {
        self.path("core.hookspath")
    }

    /// A setting that is a path; the inner `None` is a value that is not known.
    pub fn path(&self, key: &str) -> Option<Option<PathBuf>> {
        self.value(key).map(|value| value.map(|value| super::simple::to_os_string(value).into()))
    }
}

/// What a git command does that may start a program named by a setting or a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Compares index and work tree (file-system monitor, clean filters).
    Refreshes,
    /// Shows differences (external diff, textconv).
    Diffs,
    /// Writes files or blobs through filters.
    Filters,
    /// Merges contents (merge drivers).
    Merges,
    /// Reaches another repository (ssh, proxies, upload-pack, credentials).
    Connects,
    /// May open an editor.
    Edits,
    /// May open the editor of a list of commits.
    Sequences,
    /// May sign or verify.
    Signs,
    /// Writes trailers.
    Trails,
    /// Opens a merge or diff tool, a browser, a viewer.
    Opens,
    /// Writes an archive.
    Archives,
    /// Sends mail.
    Mails,
}

/// Variables that name a program, and what makes git start it.
pub const VARIABLES: &[(&str, Does)] = &[
    ("GIT_EXTERNAL_DIFF", Does::Diffs),
    ("GIT_SSH_COMMAND", Does::Connects),
    ("GIT_SSH", Does::Connects),
    ("GIT_PROXY_COMMAND", Does::Connects),
    ("GIT_ASKPASS", Does::Connects),
    ("SSH_ASKPASS", Does::Connects),
    ("GIT_EDITOR", Does::Edits),
    ("VISUAL", Does::Edits),
    ("EDITOR", Does::Edits),
    ("GIT_SEQUENCE_EDITOR", Does::Sequences),
];

/// What makes git start the program that a key names; `None` when it names none.
pub fn runs(key: &BStr) -> Option<Does> {
    let (section, name) = (key.split_str(".").next()?, key.rsplit_str(".").next()?);
    let key = key.to_str().ok()?;
    Some(match (section, name) {
        (b"core", b"fsmonitor") => Does::Refreshes,
        (b"diff", b"external" | b"command" | b"textconv") => Does::Diffs,
        (b"interactive", b"difffilter") => Does::Diffs,
        (b"filter", b"clean" | b"smudge" | b"process") => Does::Filters,
        (b"merge", b"driver") => Does::Merges,
        (b"core", b"sshcommand" | b"gitproxy" | b"askpass") => Does::Connects,
        (b"remote", b"uploadpack" | b"receivepack") => Does::Connects,
        (b"credential", b"helper") => Does::Connects,
        (b"core", b"editor") => Does::Edits,
        (b"sequence", b"editor") => Does::Sequences,
        (b"gpg", b"program" | b"defaultkeycommand") => Does::Signs,
        (b"trailer", b"command" | b"cmd") => Does::Trails,
        (b"difftool" | b"mergetool", b"cmd") => Does::Opens,
        (b"browser" | b"man" | b"guitool", b"cmd") => Does::Opens,
        (b"tar", b"command") => Does::Archives,
        (b"sendemail", b"tocmd" | b"cccmd" | b"headercmd" | b"sendmailcmd" | b"smtpserver") => Does::Mails,
        (b"imap", b"tunnel") => Does::Mails,
        _ if key == "core.alternaterefscommand" => Does::Connects,
        _ => return None,
    })
}
