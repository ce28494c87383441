//! The programs that staging would run, and how they are kept from running.
//!
//! Promise: in the gate no filter, file-system monitor, hook or trailer command that configuration
//! names is started by us (design principle 11); the content that a filter would have made is then not
//! known, and the caller scans what goes into it instead. The one exception is git-crypt: where the command
//! would run the git-crypt that `setup` recorded, that one is run by its recorded path and with words of ours,
//! since what is committed is its output. Should it fail, git stages what it was given.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::world::{Caution, World};

/// How deep submodules of submodules, and slashes in their names, are followed.
const MODULES_DEPTH: usize = 12;

/// Configuration that decides what staging runs.
#[derive(Debug, Default)]
pub struct Programs {
    /// Settings that switch programs off; put before the sub-command.
    pub off: Vec<OsString>,
    /// Names of clean filters that are switched off.
    pub filters: BTreeSet<BString>,
    /// Variables that `off` refers to beside the fixed ones.
    commands: Vec<(String, OsString)>,
    /// Whether configuration alone (`core.autocrlf`) converts files that no attribute names.
    pub converts_all: bool,
    /// Commands of trailers, as configured.
    pub trailer_commands: Vec<BString>,
    /// Whether author and committer may have names of their own (`author.*`, `committer.*`).
    pub names_roles: bool,
    /// `commit.gpgSign`.
    pub signs: bool,
    /// Programs that would sign.
    pub signers: Vec<BString>,
    /// `core.hooksPath`.
    pub hooks_path: Option<BString>,
    /// `commit.template`.
    pub template: Option<BString>,
    /// `commit.cleanup`.
    pub cleanup: Option<BString>,
}

impl Programs {
    /// Reads the configuration that `context` sees.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(world: &World, context: &GitContext) -> Result<Self, Fault> {
        let listed = world.settings(context)?;
        let mut programs = Self::default();
        // A split index would write its shared half into the repository, not into our scratch folder.
        programs.switch("core.splitIndex", "false");
        programs.switch("core.untrackedCache", "false");
        // Scratch objects are read once and thrown away.
        programs.switch("core.looseCompression", "0");
        programs.switch("core.fsync", "none");
        programs.switch("advice.addIgnoredFile", "false");
        let mut hooks_paths = Vec::new();
        let mut filters = BTreeMap::new();
        for (_, entry) in &listed {
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            programs.names_roles |= key.starts_with(b"author.") || key.starts_with(b"committer.");
            if key == b"core.autocrlf" {
                programs.converts_all = !matches!(value, b"false" | b"no" | b"off" | b"0");
            }
            if key == b"core.hookspath" {
                hooks_paths.push(BString::from(value));
            }
            programs.note(key.as_bstr(), value.as_bstr());
            note_filter(&mut filters, key, value);
        }
        if world.caution == Caution::Gate {
            if listed.iter().any(|(_, entry)| entry.contains_str("submodule.")) {
                in_submodules(world, context, &mut filters)?;
            }
            for (name, filter) in &filters {
                programs.hold(name, filter, world, context);
            }
        }
        // The last one is ours, which keeps hooks from running in this very call.
        hooks_paths.pop();
        programs.hooks_path = hooks_paths.pop();
        Ok(programs)
    }

    /// Keeps a filter from running, but for git-crypt.
    fn hold(&mut self, name: &BString, filter: &Filter, world: &World, context: &GitContext) {
        if !filter.is_set {
            return;
        }
        let encrypts = if filter.process.is_empty() { git_crypt(&filter.clean, world, context) } else { None };
        match encrypts {
            Some(command) => {
                let variable = format!("TYRAN_SET_COMMAND_{}", self.commands.len());
                self.switch_named("filter", name, b"clean", &variable);
                self.commands.push((variable, command));
            }
            None => {
                if !filter.clean.is_empty() || !filter.process.is_empty() {
                    self.filters.insert(name.clone());
                }
                self.switch_named("filter", name, b"clean", NOTHING.variable);
            }
        }
        // To git an empty one is a process that fails: it is named only where there is one to be held.
        if !filter.process.is_empty() {
            self.switch_named("filter", name, b"process", NOTHING.variable);
        }
        self.switch_named("filter", name, b"smudge", NOTHING.variable);
        self.switch_named("filter", name, b"required", FALSE.variable);
    }

    /// The variables that [`Programs::off`] refers to.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        let fixed = [NOTHING, FALSE].map(|value| (value.variable, OsStr::new(value.value)));
        fixed.into_iter().chain(self.commands.iter().map(|(name, value)| (name.as_str(), value.as_os_str())))
    }

    fn note(&mut self, key: &bstr::BStr, value: &bstr::BStr) {
        let Some((section, rest)) = key.split_once_str(".") else { return };
        let (name, variable) = rest.rsplit_once_str(".").unwrap_or((b"", rest));
        match (section, variable) {
            // git 2.54 and later run hooks that configuration names, whatever core.hooksPath says.
            (b"hook", b"command") => self.switch_named("hook", name, b"enabled", FALSE.variable),
            (b"trailer", b"cmd" | b"command") => self.trailer_commands.push(value.into()),
            (b"gpg", b"program") => self.signers.push(value.into()),
            (b"commit", b"gpgsign") => self.signs = !matches!(value.as_bytes(), b"false" | b"no" | b"off" | b"0"),
            (b"commit", b"template") => self.template = Some(value.into()),
            (b"commit", b"cleanup") => self.cleanup = Some(value.into()),
            _ => {}
        }
    }

    fn switch(&mut self, key: &str, value: &str) {
        self.off.extend([OsString::from("-c"), OsString::from(format!("{key}={value}"))]);
    }

    /// By way of a variable, since `-c` would split a name that holds an equals sign.
    fn switch_named(&mut self, section: &str, name: &[u8], variable: &[u8], from: &str) {
        let mut setting = b"--config-env=".to_vec();
        for piece in [section.as_bytes(), b".", name, b".", variable, b"=", from.as_bytes()] {
            setting.extend_from_slice(piece);
        }
        self.off.push(OsString::from_vec(setting));
    }
}

/// A value that a setting gets by way of an environment variable.
struct Value {
    variable: &'static str,
    value: &'static str,
}

const NOTHING: Value = Value { variable: "TYRAN_SET_NOTHING", value: "" };
const FALSE: Value = Value { variable: "TYRAN_SET_FALSE", value: "false" };

/// What configuration says of one filter; the last word counts.
#[derive(Debug, Default)]
struct Filter {
    clean: BString,
    process: BString,
    /// Whether anything of it is a program.
    is_set: bool,
}

fn note_filter(filters: &mut BTreeMap<BString, Filter>, key: &[u8], value: &[u8]) {
    let Some((name, variable)) = key.strip_prefix(b"filter.").and_then(|rest| rest.rsplit_once_str(".")) else {
        return;
    };
    if !matches!(variable, b"clean" | b"process" | b"smudge") {
        return;
    }
    let filter = filters.entry(name.into()).or_default();
    filter.is_set |= !value.is_empty();
    match variable {
        b"clean" => filter.clean = value.into(),
        b"process" => filter.process = value.into(),
        _ => {}
    }
}

/// git looks into submodules with their own configuration, but with our settings over it. Which
/// filters they name is read from their folders below `modules`.
fn in_submodules(world: &World, context: &GitContext, filters: &mut BTreeMap<BString, Filter>) -> Result<(), Fault> {
    let asked = ["rev-parse", "--path-format=absolute", "--git-path", "modules"];
    let modules = world.git(context, asked).stdout()?;
    let mut folders = vec![(PathBuf::from(OsString::from_vec(modules.trim_end().to_vec())), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && depth < MODULES_DEPTH && entry.file_name() != "objects" {
                folders.push((path, depth + 1));
            } else if entry.file_name() == "config" {
                let args = ["config".into(), "--list".into(), "-z".into(), "--file".into(), path.into_os_string()];
                let listed = world.git(context, args).stdout()?;
                let mut theirs = BTreeMap::new();
                for entry in listed.split(|byte| *byte == 0) {
                    let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
                    note_filter(&mut theirs, key, value);
                }
                // A filter that is known here is held already, but for a process that only a submodule names.
                for (name, filter) in theirs {
                    let known = filters.entry(name).or_default();
                    if !known.is_set || !filter.process.is_empty() {
                        *known = filter;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The command by which the recorded git-crypt makes what `clean` would, when `clean` is nothing but a call of
/// that same program.
fn git_crypt(clean: &BString, world: &World, context: &GitContext) -> Option<OsString> {
    let recorded = world.git_crypt()?;
    let words = shell_words::split(clean.to_str().ok()?).ok()?;
    let mut words = words.iter().map(String::as_str);
    let program = words.next()?;
    let path = context.env.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let found = crate::world::look_up(OsStr::new(program), path, &context.dir)?;
    if Path::new(program).file_name()? != "git-crypt" || found.canonicalize().ok()? != recorded.canonicalize().ok()? {
        return None;
    }
    if words.next()? != "clean" {
        return None;
    }
    let mut command = crate::text::shell_word(recorded.as_os_str().as_bytes());
    command.extend_from_slice(b" clean");
    if let Some(option) = words.next() {
        let key = option.strip_prefix("--key-name=")?;
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return None;
        }
        command.extend_from_slice(format!(" --key-name={key}").as_bytes());
    }
    words.next().is_none().then(|| OsString::from_vec(command))
}
