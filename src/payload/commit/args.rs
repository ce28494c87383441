//! The arguments of `git commit`.
//!
//! Promise: what selects the content of the commit and what makes its message is read as git reads it
//! (git 2.47, `builtin/commit.c`); a word or option that is not known sets [`CommitArgs::doubtful`],
//! and the payload widens.

use std::ffi::OsString;

use super::options::{Argument, Spec, Takes, read, spec};

/// Every option of `git commit`.
const TABLE: &[Spec] = &[
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("verbose", Some(b'v'), Takes::Nothing),
    spec("file", Some(b'F'), Takes::Value),
    spec("author", None, Takes::Value),
    spec("date", None, Takes::Value),
    spec("message", Some(b'm'), Takes::Value),
    spec("reedit-message", Some(b'c'), Takes::Value),
    spec("reuse-message", Some(b'C'), Takes::Value),
    spec("fixup", None, Takes::Value),
    spec("squash", None, Takes::Value),
    spec("reset-author", None, Takes::Nothing),
    spec("trailer", None, Takes::Value),
    spec("signoff", Some(b's'), Takes::Nothing),
    spec("template", Some(b't'), Takes::Value),
    spec("edit", Some(b'e'), Takes::Nothing),
    spec("cleanup", None, Takes::Value),
    spec("status", None, Takes::Nothing),
    spec("gpg-sign", Some(b'S'), Takes::Attached),
    spec("all", Some(b'a'), Takes::Nothing),
    spec("include", Some(b'i'), Takes::Nothing),
    spec("interactive", None, Takes::Nothing),
    spec("patch", Some(b'p'), Takes::Nothing),
    spec("unified", Some(b'U'), Takes::Value),
    spec("inter-hunk-context", None, Takes::Value),
    spec("only", Some(b'o'), Takes::Nothing),
    spec("no-verify", Some(b'n'), Takes::Nothing),
    spec("dry-run", None, Takes::Nothing),
    spec("short", None, Takes::Nothing),
    spec("branch", None, Takes::Nothing),
    spec("ahead-behind", None, Takes::Nothing),
    spec("porcelain", None, Takes::Nothing),
    spec("long", None, Takes::Nothing),
    spec("null", Some(b'z'), Takes::Nothing),
    spec("amend", None, Takes::Nothing),
    spec("no-post-rewrite", None, Takes::Nothing),
    spec("untracked-files", Some(b'u'), Takes::Attached),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
    spec("allow-empty", None, Takes::Nothing),
    spec("allow-empty-message", None, Takes::Nothing),
    spec("help", Some(b'h'), Takes::Nothing),
];

/// Where the content of the commit comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// The index; with paths, `HEAD`'s tree and the work tree of the paths.
    #[default]
    IndexOrOnly,
    /// `-a`: the work tree of all tracked files.
    All,
    /// `-i`: the index and the work tree of the paths.
    Include,
    /// `-o`: `HEAD`'s tree and the work tree of the paths.
    Only,
    /// `-p`, `--interactive`: chosen hunks.
    Hunks,
}

/// The arguments, understood.
#[derive(Debug, Default)]
pub struct CommitArgs {
    /// Where the content comes from.
    pub select: Select,
    /// `--amend`.
    pub amend: bool,
    /// `--dry-run`.
    pub dry_run: bool,
    /// A status form (`--short`, `--porcelain`, `--long`), which makes a dry run whatever else is there.
    pub status_form: bool,
    /// Paragraphs of `-m`.
    pub messages: Vec<OsString>,
    /// `-F`.
    pub file: Option<OsString>,
    /// `-C`, `-c`, `--fixup`, `--squash`: whose message is taken over.
    pub reused: Vec<OsString>,
    /// `-t`.
    pub template: Option<OsString>,
    /// Further words that enter the commit: author, date, trailers.
    pub words: Vec<OsString>,
    /// `--author`.
    pub author: Option<OsString>,
    /// `--trailer`.
    pub trailers: Vec<OsString>,
    /// `--cleanup`.
    pub cleanup: Option<OsString>,
    /// An editor is asked for by name.
    pub edit: bool,
    /// No editor by name.
    pub no_edit: bool,
    /// Paths as written.
    pub paths: Vec<OsString>,
    /// `--pathspec-from-file`.
    pub paths_from: Option<OsString>,
    /// Its entries end in NUL.
    pub paths_nul: bool,
    /// `-S`, or its opposite.
    pub signed: Option<bool>,
    /// A word or option is not known.
    pub doubtful: bool,
}

impl CommitArgs {
    /// Reads the words after `git commit`.
    pub fn read(words: &[Option<OsString>]) -> Self {
        let arguments = read(words, TABLE);
        let mut args = Self { doubtful: arguments.doubtful, ..Self::default() };
        for argument in arguments.known {
            match argument {
                Argument::Operand(path) => args.paths.push(path),
                Argument::Dashes => {}
                Argument::Option { name, negated, value } => args.option(name, negated, value),
            }
        }
        args
    }

    /// Whether it is known that nothing is recorded.
    pub fn records_nothing(&self) -> bool {
        (self.dry_run || self.status_form) && !self.doubtful
    }

    /// Whether git would start an editor on the message.
    pub fn asks_editor(&self) -> bool {
        self.edit || (!self.gives_message() && !self.no_edit)
    }

    /// Whether the words give a message.
    pub fn gives_message(&self) -> bool {
        !self.messages.is_empty() || self.file.is_some() || !self.reused.is_empty()
    }

    fn option(&mut self, name: &'static str, negated: bool, value: Option<OsString>) {
        match name {
            "message" => value.into_iter().for_each(|value| self.messages.push(value)),
            "file" => self.file = value,
            "template" => self.template = value,
            "reuse-message" => self.reused.extend(value),
            "reedit-message" => {
                self.reused.extend(value);
                self.edit = true;
            }
            "fixup" => self.fixup(value),
            "squash" => {
                self.reused.extend(value);
                self.edit = true;
            }
            "author" => {
                self.words.extend(value.clone());
                self.author = value;
            }
            "date" => self.words.extend(value),
            "trailer" => self.trailers.extend(value),
            "cleanup" => self.cleanup = value,
            "gpg-sign" => self.signed = Some(!negated),
            "edit" if negated => self.no_edit = true,
            "edit" => self.edit = true,
            "all" => self.choose(Select::All, negated),
            "include" => self.choose(Select::Include, negated),
            "only" => self.choose(Select::Only, negated),
            "patch" | "interactive" => self.choose(Select::Hunks, negated),
            "amend" => self.amend = !negated,
            "dry-run" => self.dry_run = !negated,
            "short" | "porcelain" | "long" if !negated => self.status_form = true,
            "help" => self.status_form = true,
            "pathspec-from-file" => self.paths_from = value,
            "pathspec-file-nul" => self.paths_nul = !negated,
            _ => {}
        }
    }

    /// `--fixup=REV`, `--fixup=amend:REV`, `--fixup=reword:REV`; the latter two ask an editor.
    fn fixup(&mut self, value: Option<OsString>) {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let Some(value) = value else { return };
        let bytes = value.as_bytes();
        let kind = [&b"amend:"[..], b"reword:"].into_iter().find(|kind| bytes.starts_with(kind));
        match kind {
            Some(kind) => {
                self.edit = true;
                self.reused.push(OsString::from_vec(bytes.get(kind.len()..).unwrap_or_default().to_vec()));
            }
            None => self.reused.push(value),
        }
    }

    fn choose(&mut self, select: Select, negated: bool) {
        if negated {
            if self.select == select {
                self.select = Select::IndexOrOnly;
            }
        } else if self.select == Select::IndexOrOnly {
            self.select = select;
        } else if self.select != select {
            // Two at once: git refuses most pairs, and which it lets through depends on its version.
            self.doubtful = true;
        }
    }
}
