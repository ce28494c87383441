//! A finished judgement for people and programs: human, json, sarif, github, gitleaks.
//!
//! Promise: every format tells the same findings, and none but [`Format::Gitleaks`] holds a secret
//! or text of a repository that could pass for something else. Which stream a report goes to, and
//! the exit code, are left to [`crate::cli`].

mod commit;
mod github;
mod gitleaks;
mod human;
mod json;
mod place;
mod sarif;
mod terminal;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::payload::{Destination, ObjectId, Tally};
use crate::scan::{Coverage, Finding};
use crate::text::SafeText;
use crate::verdict::{Refusal, Verdict};

pub use commit::CommitFacts;
pub use human::tells_fingerprint;
pub use terminal::{Colour, Terminal};

/// In which form a judgement is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a person at a terminal.
    #[default]
    Human,
    /// One object with stable keys.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub's workflow log.
    Github,
    /// The JSON report of gitleaks 8.30.1, field for field; the only one that holds secrets whole,
    /// as gitleaks' does.
    Gitleaks,
}

/// Everything that is told of one judgement.
pub struct Judgement<'a> {
    /// The answer.
    pub verdict: &'a Verdict,
    /// What was found and counts, sorted by place; those that do not refuse are among them.
    pub findings: &'a [Reported<'a>],
    /// What was found and does not count.
    pub suppressed: &'a [Suppressed<'a>],
    /// The proof of what was read; `None` when there is none.
    pub coverage: Option<&'a Coverage>,
    /// Where the bytes would go.
    pub destinations: &'a [Destination],
    /// What a person should know beside it: a widened payload, stale suppressions, what windows
    /// could not hold.
    pub notes: &'a [SafeText],
    /// Objects and bytes that the manifest promised.
    pub payload: Tally,
    /// From the start until the answer.
    pub elapsed: Duration,
    /// The directory that absolute paths are told relative to.
    pub directory: &'a Path,
    /// A commit's raw bytes, to tell author and date; `None` where they cannot be had.
    pub commits: &'a dyn Fn(&ObjectId) -> Option<Vec<u8>>,
}

/// A finding that is told.
pub struct Reported<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Whether it refuses by itself.
    pub refuses: bool,
    /// What `tyran allow` takes.
    pub fingerprint: String,
}

/// A finding that a suppression took away.
pub struct Suppressed<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// What `tyran allow` takes.
    pub fingerprint: String,
    /// Which suppression: file and line, or kind.
    pub by: SafeText,
    /// The reason recorded with it; empty where there is none.
    pub reason: SafeText,
}

impl Judgement<'_> {
    /// The refusal, or the one that a question becomes where nobody can be asked.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self.verdict {
            Verdict::Pass(_) => None,
            Verdict::Ask(question) => Some(&question.refusal),
            Verdict::Refuse(refusal) => Some(refusal),
        }
    }

    /// The class in one word; of a pass, what it rests on.
    pub fn class(&self) -> &'static str {
        match self.verdict {
            Verdict::Pass(clearance) if clearance.coverage().is_none() => "nothing-published",
            Verdict::Pass(_) => "clean",
            Verdict::Ask(question) => question.refusal.class.word(),
            Verdict::Refuse(refusal) => refusal.class.word(),
        }
    }

    fn facts_of(&self, finding: &Finding) -> Option<CommitFacts> {
        (self.commits)(finding.item.commit.as_ref()?).and_then(|raw| CommitFacts::of_raw(&raw))
    }
}

/// Writes a judgement. [`Format::Gitleaks`] has no place for a refusal which is not a finding: then
/// nothing is written, as gitleaks writes no report when it fails, and standard error and the exit
/// code tell it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(judgement: &Judgement<'_>, format: Format, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
    // Many findings may stand in one commit, and each look-up may be a process.
    let known = RefCell::new(HashMap::new());
    let commits = |id: &ObjectId| -> Option<Vec<u8>> {
        known.borrow_mut().entry(*id).or_insert_with(|| (judgement.commits)(id)).clone()
    };
    let judgement = &Judgement { commits: &commits, ..*judgement };
    match format {
        Format::Human => human::write(judgement, out, terminal),
        Format::Json => json::write(judgement, out),
        Format::Sarif => sarif::write(judgement, out),
        Format::Github => github::write(judgement, out),
        Format::Gitleaks => gitleaks::write(judgement, out),
    }
}
