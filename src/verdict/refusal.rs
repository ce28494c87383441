//! What a person reads when the answer is no. The only place where errors become words.
//!
//! Promise: a refusal has a class, what happened, and one next action that works when pasted; it
//! holds no secret, and nothing that a repository controls unless escaped and shortened.

use std::fmt;

use crate::install::fetch::FetchFault;
use crate::install::gitleaks::EnsureFault;
use crate::install::pins::Pin;
use crate::install::place::PlaceFault;
use crate::payload::Fault;
use crate::scan::suppress::Widened;
use crate::scan::{EngineFault, ScanFault, engine::EngineFaultKind};
use crate::text::SafeText;

/// What a person reads when the gate says no. All three parts, or it cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Scripts rely on it.
    pub class: Class,
    /// The step and the numbers, never the secret.
    pub what: SafeText,
    /// One next action, a template of ours.
    pub remedy: SafeText,
}

/// Classes of refusal; `docs/refusals.md` has a section for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A secret was found.
    Finding,
    /// A suppression is added or widened; a person decides.
    Suppression,
    /// A ref would be replaced by what does not contain it, and the configuration refuses that.
    ForcePush,
    /// The arguments make no sense.
    Usage,
    /// The counts do not agree.
    NotCovered,
    /// A construct that is not modelled.
    Unmodelled,
    /// What a command line would publish cannot be known or bounded.
    Unknowable,
    /// A control is switched off.
    Bypass,
    /// tyran, a host's hooks or git's hooks would be changed.
    Tamper,
    /// An object is missing.
    MissingObject,
    /// An object is not what its id says, or cannot be parsed.
    CorruptObject,
    /// The object store may lie.
    UntrustedStore,
    /// A partial clone lacks objects.
    PartialClone,
    /// A shallow clone lacks history.
    ShallowClone,
    /// No usable repository.
    Repository,
    /// git's plumbing failed.
    Plumbing,
    /// The destination could not be asked.
    Destination,
    /// A file could not be read.
    File,
    /// The command line could not be parsed within limits.
    Unreadable,
    /// An engine is not there or not the recorded one.
    EngineAbsent,
    /// The rules or the configuration are not usable.
    Rules,
    /// An engine failed.
    EngineFailed,
    /// An archive or other container goes past its bounds.
    Content,
    /// The deadline passed.
    Deadline,
    /// The configuration is not usable.
    Configuration,
    /// The host's event could not be read.
    Event,
    /// The installation is not as recorded.
    Installation,
    /// A defect of ours.
    Internal,
}

impl Class {
    /// Every class, in the order of the documentation.
    pub const ALL: &[Self] = &[
        Self::Finding,
        Self::Suppression,
        Self::ForcePush,
        Self::Usage,
        Self::NotCovered,
        Self::Unmodelled,
        Self::Unknowable,
        Self::Bypass,
        Self::Tamper,
        Self::MissingObject,
        Self::CorruptObject,
        Self::UntrustedStore,
        Self::PartialClone,
        Self::ShallowClone,
        Self::Repository,
        Self::Plumbing,
        Self::Destination,
        Self::File,
        Self::Unreadable,
        Self::EngineAbsent,
        Self::Rules,
        Self::EngineFailed,
        Self::Content,
        Self::Deadline,
        Self::Configuration,
        Self::Event,
        Self::Installation,
        Self::Internal,
    ];

    /// Scripts rely on these. No `_` arm: a new class has to choose its own code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Finding | Self::Suppression | Self::ForcePush => 1,
            Self::Usage => 2,
            Self::NotCovered
            | Self::Unmodelled
            | Self::Unknowable
            | Self::Bypass
            | Self::Tamper
            | Self::MissingObject
            | Self::CorruptObject
            | Self::UntrustedStore
            | Self::PartialClone
            | Self::ShallowClone
            | Self::Repository
            | Self::Plumbing
            | Self::Destination
            | Self::File
            | Self::Unreadable
            | Self::EngineAbsent
            | Self::Rules
            | Self::EngineFailed
            | Self::Content
            | Self::Deadline
            | Self::Configuration
            | Self::Event
            | Self::Installation
            | Self::Internal => 3,
        }
    }

    /// The class of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.word() == word)
    }

    /// As written in JSON and in `docs/refusals.md`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Suppression => "suppression",
            Self::ForcePush => "force-push",
            Self::Usage => "usage",
            Self::NotCovered => "not-covered",
            Self::Unmodelled => "unmodelled",
            Self::Unknowable => "unknowable",
            Self::Bypass => "bypass",
            Self::Tamper => "tamper",
            Self::MissingObject => "missing-object",
            Self::CorruptObject => "corrupt-object",
            Self::UntrustedStore => "untrusted-store",
            Self::PartialClone => "partial-clone",
            Self::ShallowClone => "shallow-clone",
            Self::Repository => "repository",
            Self::Plumbing => "plumbing",
            Self::Destination => "destination",
            Self::File => "file",
            Self::Unreadable => "unreadable",
            Self::EngineAbsent => "engine-absent",
            Self::Rules => "rules",
            Self::EngineFailed => "engine-failed",
            Self::Content => "content",
            Self::Deadline => "deadline",
            Self::Configuration => "configuration",
            Self::Event => "event",
            Self::Installation => "installation",
            Self::Internal => "internal",
        }
    }
}

impl Refusal {
    /// A refusal from its three parts.
    pub fn new(class: Class, what: impl Into<SafeText>, remedy: impl Into<SafeText>) -> Self {
        Self { class, what: what.into(), remedy: remedy.into() }
    }

    /// A payload that adds or widens suppressions: what a question about them becomes where nobody can
    /// be asked.
    pub fn suppression(widened: &[Widened]) -> Self {
        let each: Vec<String> = widened.iter().map(|widened| format!("{} {}", widened.path, widened.what)).collect();
        Self::new(
            Class::Suppression,
            format!("it would suppress findings: {}", each.join("; ")),
            "have a person read the change of that file; one who agrees publishes it from a terminal of their own, past \
             git's hooks (`git push --no-verify`) once `tyran scan-push` names nothing else",
        )
    }

    /// A push that replaces a ref, where `force_push = "refuse"`.
    pub fn force_push(name: &SafeText, why: &str) -> Self {
        Self::new(
            Class::ForcePush,
            format!("a force push, which the configuration refuses: {name} {why}"),
            "merge or rebase onto what is there and push without force; or have a person push it",
        )
    }

    /// When `count` findings refuse.
    pub fn found(count: usize) -> Self {
        let what = if count == 1 {
            "1 secret would be published".to_owned()
        } else {
            format!("{count} secrets would be published")
        };
        Self::new(
            Class::Finding,
            what,
            "take it out of every commit that would be sent (`git rebase -i`), and revoke it if it was ever used; \
             for a reviewed false alarm run `tyran allow FINGERPRINT --reason TEXT`",
        )
    }

    /// When `count` findings stand in files that were looked at, published or not.
    pub fn found_in_files(count: usize) -> Self {
        let what = if count == 1 {
            "1 secret stands in these files".to_owned()
        } else {
            format!("{count} secrets stand in these files")
        };
        Self::new(
            Class::Finding,
            what,
            "move it out of the files (an environment variable, a secret store), and revoke it if it was ever published; \
             for a reviewed false alarm run `tyran allow FINGERPRINT --reason TEXT`",
        )
    }

    /// When a defect of ours ended the run.
    pub fn internal(what: impl Into<SafeText>) -> Self {
        Self::new(
            Class::Internal,
            what,
            "report this with the command that caused it; `tyran doctor` shows what still works",
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "tyran: refused ({})", self.class.word())?;
        writeln!(formatter, "what:  {}", self.what)?;
        writeln!(formatter, "do:    {}", self.remedy)
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let what = SafeText::new(&fault.to_string());
        match fault {
            Fault::Unmodelled(_) => Self::new(
                Class::Unmodelled,
                what,
                "write the push with a plain remote and branch, as in `git push origin main`",
            ),
            Fault::Image(_) => Self::new(
                Class::Unmodelled,
                what,
                "read the files that the image is built from with `tyran scan-files .`, then push the image yourself",
            ),
            Fault::GitRefuses(_) => Self::new(
                Class::Unmodelled,
                what,
                "run `git push --dry-run` to see git's own message, and correct the command",
            ),
            Fault::Missing { .. } => {
                Self::new(Class::MissingObject, what, "run `git fsck --connectivity-only` and fetch what is missing")
            }
            Fault::Corrupt { .. } | Fault::Malformed { .. } => {
                Self::new(Class::CorruptObject, what, "run `git fsck --full` and repair the object it names")
            }
            Fault::Store(_) => {
                Self::new(Class::UntrustedStore, what, "run `tyran scan-push --airlock` with the same arguments")
            }
            Fault::Partial(_) => Self::new(
                Class::PartialClone,
                what,
                "run `git fetch --refetch --filter=blob:limit=1t` to fetch all objects, then try again",
            ),
            Fault::Shallow(_) => Self::new(
                Class::ShallowClone,
                what,
                "run `git fetch --unshallow`; in GitHub Actions set `fetch-depth: 0`, in GitLab CI set `GIT_DEPTH: 0`",
            ),
            Fault::Repository(_) => {
                Self::new(Class::Repository, what, "run it inside a git repository, or name one with `-C DIR`")
            }
            Fault::Plumbing(_) => {
                Self::new(Class::Plumbing, what, "run `tyran doctor`, which tries git's plumbing and names what fails")
            }
            Fault::Destination(_) => {
                Self::new(Class::Destination, what, "check the remote with `git ls-remote`, then try again")
            }
            Fault::File { .. } => {
                Self::new(Class::File, what, "make the file readable, or leave it out, then try again")
            }
            Fault::Deadline(_) => Self::deadline(what),
        }
    }
}

impl Refusal {
    fn deadline(what: SafeText) -> Self {
        Self::new(
            Class::Deadline,
            what,
            "run `tyran scan-push` with the same arguments and no deadline; what it reads is remembered",
        )
    }
}

impl From<ScanFault> for Refusal {
    fn from(fault: ScanFault) -> Self {
        match fault {
            ScanFault::Payload(fault) => Self::from(fault),
            ScanFault::Engine(fault) => Self::from(fault),
            ScanFault::Gap(gap) => Self::new(
                Class::NotCovered,
                gap.to_string(),
                "run `tyran doctor`, repair the engine it names, then push again",
            ),
            ScanFault::Deadline(..) => Self::deadline(SafeText::new(&fault.to_string())),
        }
    }
}

impl From<EngineFault> for Refusal {
    fn from(fault: EngineFault) -> Self {
        let what = fault.to_string();
        match fault.kind {
            EngineFaultKind::Absent => {
                Self::new(Class::EngineAbsent, what, "run `tyran ensure-gitleaks`, or use `--engine embedded`")
            }
            EngineFaultKind::Rules => {
                Self::new(Class::Rules, what, "run `tyran rules check` and correct the place it names")
            }
            EngineFaultKind::Broken | EngineFaultKind::SelfTest => {
                Self::new(Class::EngineFailed, what, "run `tyran doctor`, repair the engine it names, then try again")
            }
            EngineFaultKind::ShortRead => {
                Self::new(Class::NotCovered, what, "run `tyran doctor`, repair the engine it names, then try again")
            }
            EngineFaultKind::Content => {
                Self::new(Class::Content, what, "publish the container's content as plain files, or leave the file out")
            }
        }
    }
}

impl From<EnsureFault> for Refusal {
    fn from(fault: EnsureFault) -> Self {
        let what = fault.to_string();
        let archive = Pin::here().map_or_else(|| "the archive".to_owned(), |pin| pin.url());
        let by_hand = format!("fetch {archive} by other means, then run `tyran ensure-gitleaks --from FILE` with it");
        match fault {
            EnsureFault::Fetch(FetchFault::Origin(_)) => {
                Self::new(Class::Usage, what, "name an http or https URL, or a file, after `--from`")
            }
            EnsureFault::Fetch(FetchFault::Proxy { .. }) => {
                Self::new(Class::Usage, what, "correct the variable that names the proxy, or unset it")
            }
            EnsureFault::Fetch(FetchFault::File { .. }) => {
                Self::new(Class::File, what, "name a file that can be read after `--from`")
            }
            EnsureFault::Fetch(
                FetchFault::Status { .. }
                | FetchFault::Redirects { .. }
                | FetchFault::NotHttps { .. }
                | FetchFault::TooSlow { .. }
                | FetchFault::TooLarge { .. }
                | FetchFault::Connection { .. },
            ) => Self::new(Class::EngineAbsent, what, by_hand),
            EnsureFault::Place(PlaceFault::Digest { .. } | PlaceFault::Archive(_)) => {
                Self::new(Class::EngineAbsent, what, by_hand)
            }
            EnsureFault::Place(PlaceFault::Changed { .. } | PlaceFault::Record(_)) => {
                Self::new(Class::Installation, what, "run `tyran ensure-gitleaks`, which replaces it")
            }
            EnsureFault::Place(PlaceFault::Files { .. }) => {
                Self::new(Class::Installation, what, "make `~/.tyran/bin` writable, then run `tyran ensure-gitleaks`")
            }
            EnsureFault::Place(PlaceFault::DoesNotRun { .. }) => {
                Self::new(Class::EngineAbsent, what, "use `--engine embedded`, which needs no other program")
            }
            EnsureFault::NoArchive { .. } | EnsureFault::NoState => {
                Self::new(Class::EngineAbsent, what, "use `--engine embedded`, which needs no other program")
            }
        }
    }
}
