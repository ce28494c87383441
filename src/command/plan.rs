//! What a command line would publish, as data: the hand-over from the reader to the payload.
//!
//! Promise: a [`Publish`] holds all that is needed to assemble its bytes without reading the command
//! text again. What the reader could not know is `None` in a word, a [`State`] that is not as now, or
//! an entry of [`Plan::unknown`]; it is never left out.

use std::ffi::OsString;
use std::path::PathBuf;

use bstr::BString;

use crate::text::SafeText;
use crate::world::Environment;

/// What tyran understands of a command line.
#[derive(Debug)]
pub struct Plan {
    /// The whole in one word.
    pub outcome: Outcome,
    /// How much of the text could be read.
    pub parsed: Parsed,
    /// Every simple command the walk found, nested ones too; an unknown word is `None`.
    pub commands: Vec<Vec<Option<BString>>>,
    /// What would be published, in the order of the line.
    pub publishes: Vec<Publish>,
    /// What cannot be known, each with the construct and its place.
    pub unknown: Vec<Unknown>,
    /// What switches a control off.
    pub bypass: Vec<Bypass>,
    /// What would change tyran, a host's hooks or git's hooks (design principle 12).
    pub tamper: Vec<Bypass>,
    /// Programs that might publish and cannot be read; the net, or the widest payload, answers for them.
    pub opaque: Vec<Opaque>,
    /// Files whose text the line would paste into a publishing command.
    pub pasted: Vec<PathBuf>,
    /// Texts that publishing commands read from their standard input, where these are known.
    pub inputs: Vec<Vec<u8>>,
    /// Bytes that something published takes, and that are there only once the line runs: they are for git's own
    /// hooks to read, and nothing passes where these are not in place.
    pub later: Vec<SafeText>,
}

impl Plan {
    /// A plan of nothing yet.
    pub fn empty() -> Self {
        Self {
            outcome: Outcome::Inert,
            parsed: Parsed::Whole,
            commands: Vec::new(),
            publishes: Vec::new(),
            unknown: Vec::new(),
            bypass: Vec::new(),
            tamper: Vec::new(),
            opaque: Vec::new(),
            pasted: Vec::new(),
            inputs: Vec::new(),
            later: Vec::new(),
        }
    }

    /// Says the whole in one word, from what is listed. Tampering with a control switches it off; a
    /// program that cannot be read may publish, and is bounded by the net or by everything here. A request that
    /// stands in the plan twice, in the same state, has the same payload: it is asked for once.
    pub fn conclude(&mut self) {
        let mut once: Vec<Publish> = Vec::with_capacity(self.publishes.len());
        for publish in self.publishes.drain(..) {
            if !once.contains(&publish) {
                once.push(publish);
            }
        }
        self.publishes = once;
        let may_publish = !self.publishes.is_empty() || !self.opaque.is_empty();
        self.outcome = if !self.bypass.is_empty() || !self.tamper.is_empty() {
            Outcome::Bypass
        } else if !self.unknown.is_empty() {
            Outcome::Unknowable
        } else if may_publish {
            Outcome::Publishes
        } else {
            Outcome::Inert
        };
    }
}

/// A command line in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is published.
    Inert,
    /// Something is, and its payload is known or bounded.
    Publishes,
    /// Something may be, and it cannot be bounded.
    Unknowable,
    /// A control is switched off.
    Bypass,
}

/// How much of the text could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// All of it.
    Whole,
    /// Up to a syntax error; bash would run what stands before it.
    Partial,
    /// Nothing: a limit was reached.
    Refused,
}

/// Something the reader could not know.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The construct and why it is not known.
    pub what: SafeText,
    /// Where it stands, in bytes of the text.
    pub span: std::ops::Range<usize>,
    /// Whether it is the text's size or depth that keeps it from being read, whatever it publishes.
    pub is_limit: bool,
}

impl Unknown {
    /// What lets the line be understood.
    pub fn remedy(&self) -> &'static str {
        let what = self.what.as_str();
        let says = |parts: &[&str]| parts.iter().any(|part| what.contains(part));
        if self.is_limit {
            return "write it shorter: long text into a file, by the tool for that; many commands into a script file";
        }
        if says(&["nobody can say"]) {
            return "name the directory in plain words, as in `git -C /path/to/repository push origin main`";
        }
        if says(&["syntax error", "cannot be read", "no command was found", "too long or holds a NUL"]) {
            return "close what is open there (a quote, a parenthesis, a here-document), or run the rest as a command of its own";
        }
        if says(&["alias"]) {
            return "write the git command out in place of the alias, as in `git push origin main`";
        }
        if says(&["setting", "hooks path"]) {
            return "give git's setting in plain words, or leave it out";
        }
        "write the push with a plain remote and branch, as in `git push origin main`"
    }
}

/// Something that switches a control off, or tampers with one.
#[derive(Clone, Debug)]
pub struct Bypass {
    /// The construct as written.
    pub what: SafeText,
    /// What to write instead.
    pub instead: SafeText,
}

/// A program that cannot be read.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// Its name as written.
    pub program: SafeText,
    /// Where it would run.
    pub dir: PathBuf,
    /// What it would see.
    pub env: Environment,
}

/// Where a git command runs and what it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitContext {
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// The whole environment it would see; filtered before any of it reaches our children.
    pub env: Environment,
    /// git's global options as written between `git` and the verb (`-C`, `--git-dir`, `-c` …), one
    /// word each; options that run programs (`--exec-path=…`) are not among them.
    pub globals: Vec<OsString>,
}

impl GitContext {
    /// A path of a setting that begins at the home of the user whom git sees (`~/…`); `None` for any other.
    pub fn below_home(&self, path: &[u8]) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let home = self.env.get(std::ffi::OsStr::new("HOME"))?;
        Some(PathBuf::from(home).join(std::ffi::OsStr::from_bytes(path.strip_prefix(b"~/")?)))
    }
}

/// Whether refs, configuration and files are still as they are now when the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing earlier on the line changes them.
    AsNow,
    /// Something earlier may change refs, the current branch, objects, the index or files, but no
    /// configuration and no other repository (`add`, `commit`, `checkout`, `merge`, `rebase`, `tag`,
    /// a program that writes files): what leaves widens to every local ref, the index and the work
    /// tree; where it goes is still known. What an earlier command of the line commits is a request
    /// of its own, so after `add`, `commit` and the like alone a push stays [`State::AsNow`].
    ContentChanged,
    /// Nothing earlier changes refs, and the words name only refs that are there now; but it is not known where they
    /// go (a new remote, a repository that the line makes), so nothing counts as published before.
    Elsewhere,
    /// Something earlier may change anything, configuration and remotes included: where it goes is
    /// not known either, so nothing counts as published before.
    Changed,
}

/// One thing that would be published.
#[derive(Debug, PartialEq, Eq)]
pub enum Publish {
    /// `git push` and what works like it.
    Push(PushRequest),
    /// `git commit` and what works like it.
    Commit(CommitRequest),
    /// Files and texts which leave another way.
    Upload(UploadRequest),
    /// It is not known what: everything unpublished in a repository.
    Widest(WidestRequest),
}

/// A push that is to be resolved.
#[derive(Debug, PartialEq, Eq)]
pub struct PushRequest {
    /// Where it runs.
    pub git: GitContext,
    /// The arguments as for `git push`; `None` is one or more words that are not known.
    pub args: Vec<Option<OsString>>,
    /// Whether the repository is as now.
    pub state: State,
    /// How the bytes would leave.
    pub via: PushVia,
    /// Where earlier commands of the line leave the current branch.
    pub moved_to: MovedTo,
}

/// Where the line leaves the current branch. What it records is a publish of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedTo {
    /// Revisions that the branch stands on; nothing when it is as now.
    pub revisions: Vec<OsString>,
    /// Whether it is not known which branch that is, so that any may bring them along.
    pub any_branch: bool,
    /// The full name of the branch that is checked out by then; `None` when it is the one of now.
    pub branch: Option<BString>,
}

/// How a push would leave; they differ in refspecs, hooks and boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushVia {
    /// `git push`.
    Push,
    /// `git send-pack`: plumbing, no hook runs.
    SendPack,
    /// `git lfs push`: content of Git LFS alone, of all history of the refs.
    Lfs,
    /// The other side fetches or clones from here: every ref.
    OtherSide,
}

/// A commit that is to be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRequest {
    /// Where it runs.
    pub git: GitContext,
    /// What makes the commit.
    pub verb: CommitVerb,
    /// The arguments after the verb; `None` is one or more words that are not known.
    pub args: Vec<Option<OsString>>,
    /// Staging commands that stand before it on the line, in order.
    pub steps: Vec<StagingStep>,
    /// Files that the line itself writes before, with their bytes where these are known.
    pub written: Vec<WrittenFile>,
    /// Whether the rest of the repository is as now.
    pub state: State,
}

/// What makes the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitVerb {
    /// `git commit`.
    Commit,
    /// `merge`, `cherry-pick`, `revert`, `rebase`, `am`, `pull`, `stash`, `notes`, `tag -a` …: the
    /// word as written.
    Other(OsString),
}

/// A staging command that runs before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagingStep {
    /// Where it runs.
    pub git: GitContext,
    /// `add`, `rm`, `mv`, `restore`, `reset`, `checkout`, `apply`, `update-index`, `stage` …
    pub verb: OsString,
    /// Its arguments; `None` is one or more words that are not known.
    pub args: Vec<Option<OsString>>,
    /// Files as the line has left them when it runs.
    pub written: Vec<WrittenFile>,
    /// Whether it runs whenever the commit does.
    pub certain: bool,
    /// Whether an earlier command may have made files that nobody can list.
    pub files_may_appear: bool,
}

/// A file that the command line itself writes, or takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its path, absolute.
    pub path: PathBuf,
    /// What it may hold: one content, or several where a branch of the line decides; the last is the
    /// likeliest.
    pub contents: Vec<Content>,
    /// Whether it may also be as it is on disk.
    pub or_as_on_disk: bool,
    /// Counts the writes of the line, so that a later one can be told from an earlier one.
    pub serial: u64,
}

/// What a file holds that the line writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What the file holds when the line comes to it, as the disk shows it now, and then these bytes.
    Appended(Vec<u8>),
    /// What this file or folder of the disk holds.
    CopyOf(PathBuf),
    /// Bytes that are not known, all of which come from this text and these files of the disk, or are dates, names
    /// and numbers.
    MadeOf {
        /// What the line itself says of it.
        text: Vec<u8>,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Nobody knows.
    Unknown,
    /// It is not there any more, nor what was below it.
    Gone,
}

impl Content {
    /// Bytes, where they are known.
    pub fn of(bytes: Option<Vec<u8>>) -> Self {
        bytes.map_or(Self::Unknown, Self::Bytes)
    }
}

impl WrittenFile {
    /// A file that surely holds this.
    pub fn certainly(path: PathBuf, content: Content) -> Self {
        Self { path, contents: vec![content], or_as_on_disk: false, serial: 0 }
    }

    /// The one content that it surely has.
    pub fn certain(&self) -> Option<&Content> {
        match self.contents.as_slice() {
            [only] if !self.or_as_on_disk => Some(only),
            _ => None,
        }
    }
}

/// Files and texts that leave by another way than git's pack protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct UploadRequest {
    /// The program and verb (`gh release create`, `npm publish`, `git send-email`).
    pub tool: SafeText,
    /// Where it runs.
    pub dir: PathBuf,
    /// Files named on the line, absolute.
    pub files: Vec<PathBuf>,
    /// Texts on the line (titles, bodies, notes).
    pub texts: Vec<BString>,
    /// Files that the line itself writes before: those that are named, all of them where a package is made.
    pub written: Vec<WrittenFile>,
    /// A package to be packed by its client's own rules.
    pub package: Option<PackageRequest>,
    /// Commits, trees or patches it takes from a repository.
    pub revisions: Option<RevisionRequest>,
    /// Whether it only writes a local file (`bundle`, `archive`, `format-patch`): scanned, never
    /// refused merely for being unmodelled.
    pub local_only: bool,
}

/// A package to be packed.
#[derive(Debug, PartialEq, Eq)]
pub struct PackageRequest {
    /// `npm`, `pnpm`, `yarn`, `cargo`, `twine`, `uv`, `docker` …
    pub client: String,
    /// The client's own arguments.
    pub args: Vec<Option<OsString>>,
    /// Whether the files are as now: what an earlier command of the line builds is not there yet.
    pub state: State,
}

/// Revisions of a repository which a command takes.
#[derive(Debug, PartialEq, Eq)]
pub struct RevisionRequest {
    /// Where it runs.
    pub git: GitContext,
    /// The verb (`bundle`, `archive`, `format-patch`, `send-email`, `fast-export` …).
    pub verb: OsString,
    /// Its arguments.
    pub args: Vec<Option<OsString>>,
}

/// Everything unpublished in a repository: local refs, index, work tree, untracked files.
#[derive(Debug, PartialEq, Eq)]
pub struct WidestRequest {
    /// Where.
    pub git: GitContext,
    /// Why nothing narrower is known.
    pub because: SafeText,
}
