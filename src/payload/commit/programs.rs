//! The programs that staging would run, and how they are kept from running.
//!
//! Promise: in the gate no filter, file-system monitor, hook or trailer command that configuration
//! names is started by us (design principle 11); the content that a filter would have made is then not
//! known, and the caller scans what goes into it instead.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

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
    /// Whether configuration alone (`core.autocrlf`) converts files that no attribute names.
    pub converts_all: bool,
    /// Commands of trailers, as configured.
    pub trailer_commands: Vec<BString>,
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
        let listed = world.git(context, ["config", "--list", "-z", "--includes"]).stdout()?;
        let mut programs = Self::default();
        // A split index would write its shared half into the repository, not into our scratch folder.
        programs.switch("core.splitIndex", "false");
        programs.switch("core.untrackedCache", "false");
        // Scratch objects are read once and thrown away.
        programs.switch("core.looseCompression", "0");
        programs.switch("core.fsync", "none");
        programs.switch("advice.addIgnoredFile", "false");
        let mut hooks_paths = Vec::new();
        for entry in listed.split(|byte| *byte == 0) {
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            if key == b"core.autocrlf" {
                programs.converts_all = !matches!(value, b"false" | b"no" | b"off" | b"0");
            }
            if key == b"core.hookspath" {
                hooks_paths.push(BString::from(value));
            }
            programs.note(key.as_bstr(), value.as_bstr(), world.caution);
        }
        if world.caution == Caution::Gate && listed.contains_str("submodule.") {
            programs.switch_off_in_submodules(world, context)?;
        }
        // The last one is ours, which keeps hooks from running in this very call.
        hooks_paths.pop();
        programs.hooks_path = hooks_paths.pop();
        Ok(programs)
    }

    /// git looks into submodules with their own configuration, but with our settings over it. Which
    /// filters they name is read from their folders below `modules`.
    fn switch_off_in_submodules(&mut self, world: &World, context: &GitContext) -> Result<(), Fault> {
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
                    for entry in listed.split(|byte| *byte == 0) {
                        let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
                        if key.starts_with(b"filter.") {
                            self.note(key.as_bstr(), value.as_bstr(), Caution::Gate);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, key: &bstr::BStr, value: &bstr::BStr, caution: Caution) {
        let Some((section, rest)) = key.split_once_str(".") else { return };
        let (name, variable) = rest.rsplit_once_str(".").unwrap_or((b"", rest));
        match (section, variable) {
            (b"filter", b"clean" | b"process" | b"smudge") if caution == Caution::Gate && !value.is_empty() => {
                if variable != b"smudge" {
                    self.filters.insert(name.into());
                }
                self.switch_named("filter", name, variable, &NOTHING);
                self.switch_named("filter", name, b"required", &FALSE);
            }
            // git 2.54 and later run hooks that configuration names, whatever core.hooksPath says.
            (b"hook", b"command") => self.switch_named("hook", name, b"enabled", &FALSE),
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
    fn switch_named(&mut self, section: &str, name: &[u8], variable: &[u8], value: &Value) {
        let mut setting = b"--config-env=".to_vec();
        for piece in [section.as_bytes(), b".", name, b".", variable, b"=", value.variable.as_bytes()] {
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

/// The variables that [`Programs::off`] refers to.
pub fn variables() -> [(&'static str, &'static str); 2] {
    [NOTHING, FALSE].map(|value| (value.variable, value.value))
}
