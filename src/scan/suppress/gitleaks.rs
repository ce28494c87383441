//! gitleaks' forms of accepting a finding: `.gitleaksignore` and a baseline.
//!
//! Promise: an entry accepts no more than it does for gitleaks 8.30.1: a place (path, rule, line, with a
//! commit or without), or a finding of an earlier report. They hold positions, so they die when lines
//! move; `.tyran-allow` does not. A rule of tyran's counts as gitleaks' when both speak of the same
//! issuer. Fields of a baseline that say who committed are not compared: an accepted secret stays
//! accepted in its file.

use bstr::{BStr, BString, ByteSlice};
use serde_json::Value;

use crate::scan::Finding;
use crate::text::SafeText;

use super::same_rule;

/// The ignore file's name, at the repository's top.
pub const IGNORE_NAME: &str = ".gitleaksignore";

/// The baseline's name, at the repository's top.
pub const BASELINE_NAME: &str = ".gitleaks-baseline.json";

/// The configuration's name, at the repository's top.
pub const CONFIG_NAME: &str = ".gitleaks.toml";

/// An ignore file, read.
#[derive(Debug, Default)]
pub struct IgnoreFile {
    entries: Vec<IgnoreEntry>,
}

#[derive(Debug)]
struct IgnoreEntry {
    number: usize,
    /// The commit, where the entry names one.
    commit: Option<BString>,
    path: BString,
    rule: BString,
    line: u64,
}

impl IgnoreFile {
    /// Reads a file's bytes. Lines that are no entry accept nothing, as with gitleaks.
    pub fn read(bytes: &[u8]) -> Self {
        let lines = bytes.lines().enumerate();
        Self { entries: lines.filter_map(|(place, line)| IgnoreEntry::read(line.trim(), place + 1)).collect() }
    }

    /// Which entry accepts a finding.
    pub fn grant(&self, finding: &Finding) -> Option<SafeText> {
        let path = finding.item.path.as_ref()?;
        let commit = finding.item.commit.map(|commit| commit.to_string());
        self.entries
            .iter()
            .find(|entry| {
                entry.path == *path
                    && entry.line == finding.line
                    && same_rule(&finding.rule, &entry.rule)
                    && entry.commit.as_ref().is_none_or(|own| commit.as_ref().is_some_and(|commit| own == commit))
            })
            .map(IgnoreEntry::name)
    }

    /// Every entry's name and path. Entries that name a commit speak of history, which does not change.
    pub fn places(&self) -> impl Iterator<Item = (SafeText, &BStr)> {
        let of_now = self.entries.iter().filter(|entry| entry.commit.is_none());
        of_now.map(|entry| (entry.name(), entry.path.as_bstr()))
    }

    /// What the file accepts, as comparable lines.
    pub(super) fn accepted(bytes: &[u8]) -> impl Iterator<Item = BString> {
        bytes.lines().map(|line| BString::from(line.trim())).filter(|line| !line.is_empty() && !line.starts_with(b"#"))
    }
}

impl IgnoreEntry {
    /// `[COMMIT:]PATH:RULE:LINE`; a path may hold colons itself, a commit is 40 or 64 digits.
    fn read(text: &[u8], number: usize) -> Option<Self> {
        if text.is_empty() || text.starts_with(b"#") {
            return None;
        }
        let (rest, line) = text.rsplit_once_str(":")?;
        let (rest, rule) = rest.rsplit_once_str(":")?;
        let commit = rest
            .split_once_str(":")
            .filter(|(commit, _)| matches!(commit.len(), 40 | 64) && commit.iter().all(u8::is_ascii_hexdigit));
        let (commit, path) = match commit {
            Some((commit, path)) => (Some(BString::from(commit.to_ascii_lowercase())), path),
            None => (None, rest),
        };
        let line = line.to_str().ok()?.parse().ok()?;
        // gitleaks turns backslashes of the path into slashes.
        Some(Self { number, commit, path: path.replace("\\", "/").into(), rule: rule.into(), line })
    }

    fn name(&self) -> SafeText {
        SafeText::new(&format!("{IGNORE_NAME}:{}", self.number))
    }
}

/// A baseline, read.
#[derive(Debug, Default)]
pub struct Baseline {
    entries: Vec<BaselineEntry>,
}

#[derive(Debug)]
struct BaselineEntry {
    rule: String,
    path: String,
    commit: String,
    place: [u64; 4],
    secret: String,
}

impl BaselineEntry {
    fn read(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| entry.get(name).and_then(Value::as_u64);
        Some(Self {
            rule: text("RuleID")?,
            path: text("File")?,
            commit: text("Commit").unwrap_or_default(),
            place: [number("StartLine")?, number("EndLine")?, number("StartColumn")?, number("EndColumn")?],
            secret: text("Secret")?,
        })
    }

    /// A redacted entry knows no secret, so only its exact place counts.
    fn accepts(&self, finding: &Finding) -> bool {
        let path = finding.item.path.as_ref().is_some_and(|path| *path == self.path);
        if !path || !same_rule(&finding.rule, self.rule.as_bytes()) {
            return false;
        }
        let redacted = self.secret.contains("REDACTED") || self.secret.ends_with("...");
        if !redacted {
            return finding.secret.expose() == self.secret.as_bytes();
        }
        let commit = finding.item.commit.map(|commit| commit.to_string()).unwrap_or_default();
        commit == self.commit && self.place == [finding.line, finding.end_line, finding.column, finding.end_column]
    }
}

impl Baseline {
    /// Reads a report of gitleaks' in JSON; `None` when it is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let Value::Array(entries) = serde_json::from_slice(bytes).ok()? else { return None };
        Some(Self { entries: entries.iter().map(BaselineEntry::read).collect::<Option<_>>()? })
    }

    /// Which entry accepts a finding.
    pub fn grant(&self, finding: &Finding) -> Option<SafeText> {
        let place = self.entries.iter().position(|entry| entry.accepts(finding))?;
        Some(SafeText::new(&format!("{BASELINE_NAME}, entry {}", place + 1)))
    }

    /// What the file accepts, as comparable texts; `None` when it cannot be read.
    pub(super) fn accepted(bytes: &[u8]) -> Option<Vec<String>> {
        let Value::Array(entries) = serde_json::from_slice(bytes).ok()? else { return None };
        Some(entries.iter().map(Value::to_string).collect())
    }
}
