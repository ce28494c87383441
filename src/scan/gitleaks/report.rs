//! What one gitleaks said: its log and its report.
//!
//! Promise: a run counts only when gitleaks ended as it ends after finding something, logged that it
//! read exactly the bytes it was given, logged no trouble, and wrote a whole report with as many
//! entries as it logged. Everything else is an [`EngineFault`].

use serde::Deserialize;

use crate::scan::EngineFault;
use crate::scan::engine::EngineFaultKind;
use crate::text::SafeText;
use crate::world::child::{ChildFault, Done};

/// The exit code we ask for when something is found, so that 1 always means an error (facts 2.1).
pub const FOUND_EXIT: i32 = 77;

/// One entry of gitleaks' JSON report; what we do not use is left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Entry {
    /// The rule's id.
    #[serde(rename = "RuleID")]
    pub rule: String,
    /// The rule's description.
    pub description: String,
    /// Line of the input on which the match begins, from 1.
    pub start_line: u64,
    /// Line on which it ends.
    pub end_line: u64,
    /// Column of its first byte, counted from the line feed before the line.
    pub start_column: u64,
    /// Column of its last byte, counted so too.
    pub end_column: u64,
    /// The match, each byte that is no UTF-8 as U+FFFD.
    #[serde(rename = "Match")]
    pub matched: String,
    /// The secret in it.
    pub secret: String,
    /// Shannon entropy of the secret.
    pub entropy: f32,
    /// Tags, of the rule and of decoding.
    pub tags: Vec<String>,
}

/// A fault of this engine.
pub fn fault(kind: EngineFaultKind, what: impl Into<SafeText>) -> EngineFault {
    EngineFault { engine: super::NAME, what: what.into(), kind }
}

/// A child that could not be run to its end.
pub fn child_fault(error: ChildFault) -> EngineFault {
    let kind = match &error {
        ChildFault::NotStarted { .. } => EngineFaultKind::Absent,
        ChildFault::TimedOut { .. }
        | ChildFault::Flooded { .. }
        | ChildFault::Cancelled { .. }
        | ChildFault::Pipe { .. } => EngineFaultKind::Broken,
    };
    fault(kind, error.to_string())
}

/// The entries of a run that was given `sent` bytes.
///
/// # Errors
/// When the run proves nothing.
pub fn entries(done: &Done, sent: u64) -> Result<Vec<Entry>, EngineFault> {
    let log = Log::read(&done.stderr);
    match done.status.code() {
        Some(FOUND_EXIT) => {}
        Some(0) => return Err(fault(EngineFaultKind::SelfTest, "it found nothing, not even its self-test secret")),
        // Go's panics exit with 2; with a configuration of ours the known cause is an expression
        // that its engine does not take.
        Some(2) if log.text.contains("regexp: Compile") => {
            return Err(fault(EngineFaultKind::Rules, format!("it does not take a rule: {}", log.first_trouble())));
        }
        Some(code) => {
            return Err(fault(EngineFaultKind::Broken, format!("exit code {code}: {}", log.first_trouble())));
        }
        None => return Err(fault(EngineFaultKind::Broken, format!("ended by a signal ({})", done.status))),
    }
    let (read, found) = log.summary()?;
    if read != sent {
        return Err(fault(EngineFaultKind::ShortRead, format!("read {read} of {sent} bytes")));
    }
    let entries: Vec<Entry> = serde_json::from_slice(&done.stdout).map_err(|error| {
        // The error's own text could quote the report, so only its place is told.
        let what = format!(
            "its report of {} bytes is not whole: line {}, column {}",
            done.stdout.len(),
            error.line(),
            error.column()
        );
        fault(EngineFaultKind::Broken, what)
    })?;
    if entries.len() as u64 != found {
        let what = format!("it logged {found} findings and reported {}", entries.len());
        return Err(fault(EngineFaultKind::Broken, what));
    }
    Ok(entries)
}

/// gitleaks' log, without colour.
struct Log {
    text: String,
}

impl Log {
    fn read(stderr: &[u8]) -> Self {
        Self { text: without_colour(&String::from_utf8_lossy(stderr)) }
    }

    /// The first line that tells of trouble, or the first line at all, for a refusal's text.
    fn first_trouble(&self) -> SafeText {
        let trouble = |line: &&str| ["panic:", " FTL ", " ERR ", " WRN "].iter().any(|word| line.contains(word));
        let line = self.text.lines().find(trouble).or_else(|| self.text.lines().next()).unwrap_or("it said nothing");
        SafeText::quoted(line.as_bytes(), 200)
    }

    /// Bytes read and findings, from the two lines that a clean end has and no other.
    fn summary(&self) -> Result<(u64, u64), EngineFault> {
        let (mut read, mut found) = (None, None);
        for line in self.text.lines().filter(|line| !line.trim().is_empty()) {
            let message = line.split_once(' ').and_then(|(_, rest)| rest.split_once(' '));
            match message {
                Some(("INF", text)) if read.is_none() && bytes_read(text).is_some() => read = bytes_read(text),
                Some(("WRN", text)) if found.is_none() && leaks_found(text).is_some() => found = leaks_found(text),
                Some(_) | None => {
                    let what = format!("it logged trouble: {}", SafeText::quoted(line.as_bytes(), 200));
                    return Err(fault(EngineFaultKind::Broken, what));
                }
            }
        }
        read.zip(found).ok_or_else(|| fault(EngineFaultKind::Broken, "it did not log what it read and found"))
    }
}

/// `scanned ~N bytes (ROUNDED) in DURATION`; a partial scan's line has no "in".
fn bytes_read(text: &str) -> Option<u64> {
    let (count, rest) = text.strip_prefix("scanned ~")?.split_once(" bytes (")?;
    rest.contains(") in ").then(|| count.parse().ok())?
}

fn leaks_found(text: &str) -> Option<u64> {
    text.strip_prefix("leaks found: ")?.trim().parse().ok()
}

/// Text without the terminal's `ESC[…m`; gitleaks colours its first lines whatever it was told.
fn without_colour(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, tail)| tail);
    }
    plain.push_str(rest);
    plain
}
