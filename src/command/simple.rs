//! One simple command as bash would run it: the seam between the walk and the meaning of commands.
//!
//! Promise: the walk ([`super::shell`]) calls [`Verbs::simple`] for every external command that bash
//! could run from the text, in the order of the line, once for each directory it could run in, with
//! its words expanded, its environment and its input as far as they are known. What is not known is a
//! [`Value::Unknown`], an [`EnvChange::Unknown`] or [`Stdin::Unknown`], never left out.
//!
//! The walk owns shell builtins (`cd`, `export`, `eval`, `echo` …), functions, aliases, wrappers
//! (`env`, `sudo`, `xargs`, `find -exec` …), programs that run code given in their arguments (`awk`,
//! `sed` with `e`, `python -c` …) and scripts that can be read (shell scripts, `make`, `npm run` …);
//! an implementation of [`Verbs`] never sees those, only what they run. It owns all other meaning:
//! git, aliases of git, forges, package managers, inert programs, bypass, tampering.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::plan::{Content, Plan, WrittenFile};
use crate::text::SafeText;
use crate::world::{Environment, World};

/// A word after expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Exactly these bytes.
    Known(BString),
    /// It cannot be known which.
    Unknown(UnknownValue),
}

/// A word of which something is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownValue {
    /// The construct that is not known and why, short.
    pub why: SafeText,
    /// Where it stands, in bytes of the text.
    pub span: Range<usize>,
    /// What is known between its beginning and its end, where several parts are not known, in order.
    pub between: BString,
    /// What it begins with at least; empty when nothing is known. When `many`, the first word does.
    pub prefix: BString,
    /// What it ends with at least. When `many`, the last word does.
    pub suffix: BString,
    /// Whether it may be no word, or several.
    pub many: bool,
}

impl Value {
    /// The bytes, when they are known.
    pub fn known(&self) -> Option<&BStr> {
        match self {
            Self::Known(text) => Some(text.as_bstr()),
            Self::Unknown(_) => None,
        }
    }

    /// Whether it may be no word, or several.
    pub fn is_many(&self) -> bool {
        matches!(self, Self::Unknown(value) if value.many)
    }

    /// The same where it is known how what is not known begins.
    #[must_use]
    pub fn beginning_with(self, prefix: BString) -> Self {
        match self {
            Self::Unknown(value) => Self::Unknown(UnknownValue { prefix, ..value }),
            known @ Self::Known(_) => known,
        }
    }

    /// As an argument for the plan: `None` when not known.
    pub fn to_argument(&self) -> Option<OsString> {
        self.known().map(to_os_string)
    }
}

/// Bytes of a word as an operating-system string.
pub fn to_os_string(text: impl AsRef<[u8]>) -> OsString {
    text.as_ref().to_os_str_lossy().into_owned()
}

/// One simple command that bash would run.
#[derive(Debug)]
pub struct SimpleCommand<'w> {
    /// Its words, the name first; never empty. The name may be unknown.
    pub words: Vec<Value>,
    /// What the name resolves to.
    pub program: Program,
    /// Its redirections, those of surrounding groups not included.
    pub redirections: Vec<Redirection>,
    /// What it reads.
    pub stdin: Stdin,
    /// What its standard input is made of, where that alone is known of it.
    pub input_made_of: Option<Content>,
    /// Where it stands, in bytes of the text; for nested text, the construct that holds it.
    pub span: Range<usize>,
    /// Where it runs.
    pub dir: Dir,
    /// What it would see of the environment, its own assignments and wrappers applied.
    pub env: Env<'w>,
    /// Whether it runs whenever the line does.
    pub certainty: Certainty,
    /// Tells lists joined by `&&` apart: of two commands with the same number the later one runs only when
    /// the earlier one succeeded. 0 stands for itself alone.
    pub chain: u64,
    /// Files whose text its words paste in (`$(cat FILE)`).
    pub pasted: Vec<PathBuf>,
    /// Wrappers it is run through, outermost first (`sudo`, `env`, `xargs` …).
    pub wrappers: Vec<&'static str>,
}

/// What a command's name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Looked up nowhere: the name is one that [`Verbs::knows`], on a PATH that this line leaves alone.
    ByName,
    /// This file, which is not a script that the walk could read.
    File(PathBuf),
    /// There is no such program now, and nothing on the line makes one.
    Absent,
    /// The name or the PATH is not known.
    Unknown,
}

/// Where a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Here. Absolute, lexically cleaned as bash keeps `$PWD`.
    Known(PathBuf),
    /// Not known, and why.
    Unknown(SafeText),
}

impl Dir {
    /// The directory, when it is known.
    pub fn known(&self) -> Option<&Path> {
        match self {
            Self::Known(path) => Some(path),
            Self::Unknown(_) => None,
        }
    }
}

/// Whether a command runs whenever the line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// It does, unless bash or an earlier command fails.
    Always,
    /// Only in a branch, a loop, a trap, a function nobody may call, or in one of several directories.
    Maybe,
}

/// What a command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// What the shell reads: nothing that the line says.
    Inherited,
    /// Nothing (`</dev/null`, `<&-`).
    Empty,
    /// These bytes: a here-document, a here-string, a pipe whose text is known.
    Text(Vec<u8>),
    /// This file.
    File(PathBuf),
    /// Names of which only the beginning is known (what `find` prints), and why.
    Names {
        /// How each begins.
        prefix: BString,
        /// Why the rest is not known.
        why: SafeText,
    },
    /// Something that is not known, and why.
    Unknown(SafeText),
}

/// One redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The descriptor; `None` for `{name}>`.
    pub fd: Option<u32>,
    /// What is done.
    pub kind: RedirectionKind,
    /// The file; for here-documents and here-strings the text, for `<&` and `>&` the descriptor.
    pub target: Value,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionKind {
    /// `<`.
    Read,
    /// `>`, `>|`.
    Write,
    /// `>>`.
    Append,
    /// `&>`, `>&FILE`: output and errors.
    WriteBoth,
    /// `&>>`.
    AppendBoth,
    /// `<>`.
    ReadWrite,
    /// `<&`.
    DuplicateInput,
    /// `>&`.
    DuplicateOutput,
    /// `<<`, `<<-`.
    HereDocument,
    /// `<<<`.
    HereString,
}

impl RedirectionKind {
    /// Whether it opens a file for writing.
    pub fn writes(self) -> bool {
        match self {
            Self::Write | Self::Append | Self::WriteBoth | Self::AppendBoth | Self::ReadWrite => true,
            Self::Read | Self::DuplicateInput | Self::DuplicateOutput | Self::HereDocument | Self::HereString => false,
        }
    }
}

/// The environment that a command would see: the world's, with the changes the line makes.
#[derive(Clone, Debug)]
pub struct Env<'w> {
    /// What it starts from; empty after `env -i`.
    base: Option<&'w Environment>,
    changes: BTreeMap<OsString, EnvChange>,
}

/// What a line does to one variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChange {
    /// Set to this.
    Set(OsString),
    /// Taken out.
    Unset,
    /// Set to something that is not known, or perhaps set.
    Unknown(SafeText),
}

/// One variable as a command would see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen<'e> {
    /// It has this value.
    Known(&'e OsStr),
    /// It is not there.
    Unset,
    /// It is not known.
    Unknown(&'e SafeText),
}

impl<'w> Env<'w> {
    /// The environment of `world`, unchanged.
    pub fn of_world(world: &'w World) -> Self {
        Self { base: Some(&world.env), changes: BTreeMap::new() }
    }

    /// One variable.
    pub fn var(&self, name: impl AsRef<OsStr>) -> Seen<'_> {
        match self.changes.get(name.as_ref()) {
            Some(EnvChange::Set(value)) => Seen::Known(value),
            Some(EnvChange::Unset) => Seen::Unset,
            Some(EnvChange::Unknown(why)) => Seen::Unknown(why),
            None => match self.base.and_then(|base| base.get(name.as_ref())) {
                Some(value) => Seen::Known(value),
                None => Seen::Unset,
            },
        }
    }

    /// What the line changes, by name.
    pub fn changes(&self) -> &BTreeMap<OsString, EnvChange> {
        &self.changes
    }

    /// Whether the line empties the environment first (`env -i`, `sudo` without `-E` does not count).
    pub fn is_cleared(&self) -> bool {
        self.base.is_none()
    }

    /// Makes one change.
    pub fn change(&mut self, name: impl Into<OsString>, change: EnvChange) {
        self.changes.insert(name.into(), change);
    }

    /// Empties it (`env -i`).
    pub fn clear(&mut self) {
        self.base = None;
        self.changes.clear();
    }

    /// Everything that is known of it, for the plan; unknown variables are left out, so ask
    /// [`Env::unknown`] as well.
    pub fn known(&self) -> Environment {
        let mut known = self.base.cloned().unwrap_or_default();
        for (name, change) in &self.changes {
            match change {
                EnvChange::Set(value) => drop(known.insert(name.clone(), value.clone())),
                EnvChange::Unset | EnvChange::Unknown(_) => drop(known.remove(name)),
            }
        }
        known
    }

    /// The variables whose value is not known.
    pub fn unknown(&self) -> impl Iterator<Item = (&OsStr, &SafeText)> {
        self.changes.iter().filter_map(|(name, change)| match change {
            EnvChange::Unknown(why) => Some((name.as_os_str(), why)),
            EnvChange::Set(_) | EnvChange::Unset => None,
        })
    }
}

/// A file as the line has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSeen {
    /// The line has written it, with these bytes.
    Written(Vec<u8>),
    /// The line has written, changed or removed it, or may have; its bytes are not known.
    Changed(SafeText),
    /// The line leaves it as it is on disk.
    AsOnDisk,
}

/// What a line puts into files that it edits in place.
#[derive(Clone, Debug, Default)]
pub struct PutIn {
    /// The words that say it.
    pub texts: Vec<Vec<u8>>,
    /// Files of which something is put in.
    pub files: Vec<PathBuf>,
}

/// What the walk knows besides the command itself.
pub trait ShellState {
    /// The outside.
    fn world(&self) -> &World;
    /// A file (absolute) as the line has left it.
    fn file(&self, path: &Path) -> FileSeen;
    /// All files that the line has written or removed so far.
    fn written(&self) -> Vec<WrittenFile>;
    /// What went into them.
    fn put_in(&self) -> PutIn {
        PutIn::default()
    }
    /// Files that the line has edited in place.
    fn edited(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Whether a path is a folder as the line leaves it: one of the disk, or one that it makes.
    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }
    /// Whether something may have changed any file (an opaque program, `git checkout`, `make` …).
    fn anything_may_have_changed(&self) -> bool;
}

/// What a command does to the walk.
#[derive(Debug, Default)]
pub struct Effect {
    /// Code that it runs in turn (`!alias`, `submodule foreach`, `rebase --exec`, editors, hooks …).
    pub run: Vec<Nested>,
    /// The same where the code lies in files that the command itself does not change, so that it can be read.
    pub run_as_now: Vec<Nested>,
    /// Files (absolute) that it writes or removes.
    pub writes: Vec<(PathBuf, Content)>,
    /// Whether it may change any file besides those, so that scripts read later cannot be relied on.
    pub changes_files: bool,
    /// How it ends.
    pub exit: Exit,
    /// What it prints, where that is known.
    pub output: Option<Vec<u8>>,
}

/// How a command ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// It is not known.
    #[default]
    Unknown,
    /// With 0.
    Success,
    /// With another status.
    Failure,
}

/// Code that a command runs in turn; the walk goes on in it.
#[derive(Clone, Debug)]
pub struct Nested {
    /// What is run.
    pub code: Code,
    /// Where, when it is not where the command itself runs.
    pub dir: Option<Dir>,
    /// What it sees differently.
    pub env: Vec<(OsString, EnvChange)>,
    /// Whether it runs whenever the command does.
    pub certainty: Certainty,
    /// What makes it run, for people (`alias x`, `rebase --exec` …).
    pub because: SafeText,
}

/// What is run.
#[derive(Clone, Debug)]
pub enum Code {
    /// A command line for `sh -c`, with its `$0 $1 …` (or bash: the walk reads it as bash).
    Shell {
        /// The text; unknown text makes the nested code opaque.
        text: Value,
        /// `$0` and the positional parameters.
        args: Vec<Value>,
    },
    /// A program and its arguments, run without a shell.
    Argv(Vec<Value>),
}

/// The meaning of simple commands.
pub trait Verbs {
    /// Whether a program of this name (no slash) has a meaning here, so that it need not be looked up
    /// and read. Names that are not known are looked up along PATH, and walked when they are scripts.
    fn knows(&self, name: &BStr) -> bool;

    /// Whether a program of this name publishes nothing by itself, so that a project's own copy of it is
    /// taken for what its name says.
    fn is_harmless(&self, _name: &BStr) -> bool {
        false
    }

    /// One command. What it publishes, switches off, tampers with, and what cannot be known goes into
    /// `plan`; what the walk needs comes back.
    fn simple(&mut self, command: &SimpleCommand<'_>, shell: &dyn ShellState, plan: &mut Plan) -> Effect;

    /// A file that a redirection, `tee` and the like writes or may write, before it is recorded:
    /// for tampering and for hooks and configuration that later commands run.
    fn write(&mut self, path: &Value, dir: &Dir, bytes: Option<&[u8]>, shell: &dyn ShellState, plan: &mut Plan);
}
