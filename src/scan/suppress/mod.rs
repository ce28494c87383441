//! Which findings a reviewed suppression takes away.
//!
//! Promise (design principle 6): a suppression counts only where it stands on the remote side of the
//! part that the finding is in, on every destination of it; on a first push, and for what has no remote
//! side, nothing does. An inline comment counts only where the identical line is there. What was accepted in a
//! file is accepted where the very same file moves to. Whoever uses one is told which and why. What adds or widens one is a question for a person ([`widened`]).
//!
//! Forms: tyran's own `.tyran-allow` ([`allow_file`]); gitleaks' `.gitleaksignore` and a baseline in
//! `.gitleaks-baseline.json` ([`gitleaks`]), and the allowlists of `.gitleaks.toml`; the comments `tyran:allow` and `gitleaks:allow`. All of
//! them at the repository's top.

pub mod allow_file;
pub mod gitleaks;
pub mod widened;

use bstr::{BStr, ByteSlice};

use crate::payload::{Fault, Item, ItemKind, Payload, RemoteSide};
use crate::text::SafeText;

use super::embedded::Accepted;
use super::fingerprint::{self, Fingerprint};
use super::{Finding, Secret};
use allow_file::AllowFile;
use gitleaks::{Baseline, IgnoreFile};

pub use widened::{Widened, widened};

/// Files at a repository's top by which findings are accepted, or rules loosened.
pub const NAMES: [&str; 5] =
    [allow_file::NAME, gitleaks::IGNORE_NAME, gitleaks::BASELINE_NAME, gitleaks::CONFIG_NAME, ".tyran.toml"];

/// Comments that accept the line they stand in.
const COMMENTS: [&str; 2] = ["tyran:allow", "gitleaks:allow"];

/// Findings, parted.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Those that count, in their order, each with its fingerprint where a side had to be asked for it;
    /// the others are for whoever shows them to make, since each costs some milliseconds.
    pub kept: Vec<(Finding, Option<Fingerprint>)>,
    /// Those that a suppression takes away.
    pub suppressed: Vec<Suppressed>,
    /// Suppressions that cannot be read, and so do not count.
    pub notes: Vec<SafeText>,
}

/// A finding that a suppression takes away.
#[derive(Debug)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// What `tyran allow` takes, where it was made for the answer.
    pub fingerprint: Option<Fingerprint>,
    /// Which suppression: file and line, or kind.
    pub by: SafeText,
    /// The reason recorded with it; empty where there is none.
    pub reason: SafeText,
}

/// Parts findings by what the sides of the payload hold. Suppressions on the command line's or the
/// user's own side do not exist.
///
/// # Errors
/// When a side cannot be read.
pub fn apply(findings: Vec<Finding>, payload: &Payload) -> Result<Outcome, Fault> {
    let mut outcome = Outcome::default();
    if payload.sides.is_empty() {
        outcome.kept = findings.into_iter().map(|finding| (finding, None)).collect();
        return Ok(outcome);
    }
    let mut grants: Vec<Option<Grants>> = payload.sides.iter().map(|_| None).collect();
    let mut answers = Vec::with_capacity(findings.len());
    for finding in &findings {
        answers.push(answer(finding, payload, &mut grants, &mut outcome.notes)?);
    }
    let moved = moved(&findings, &answers, payload)?;
    for (answer, moved) in answers.iter_mut().zip(&moved) {
        if let Some(moved) = moved {
            *answer = self::answer(moved, payload, &mut grants, &mut outcome.notes)?;
        }
    }
    // Only where an entry speaks of such a finding at its place does the slow hash decide. There can be made more
    // of those than can be hashed in time, but no more than there are entries are accepted.
    let entries: usize = grants.iter().flatten().map(Grants::entries).sum();
    let judged = findings.iter().zip(&moved).map(|(finding, moved)| moved.as_ref().unwrap_or(finding));
    let asked: Vec<&Finding> =
        judged.zip(&answers).filter(|(_, answer)| **answer == Answer::ByHash).map(|(one, _)| one).collect();
    let mut hashed = Fingerprint::of_first(&asked, entries + fingerprint::MOST).into_iter();
    let mut again = 0;
    for ((finding, moved), answer) in findings.into_iter().zip(moved).zip(answers) {
        let (granted, fingerprint) = match answer {
            Answer::No => (None, None),
            Answer::Yes(by) => (Some((by, SafeText::new(""))), None),
            Answer::ByHash => match hashed.next().flatten() {
                Some(fingerprint) => {
                    let granted = by_hash(moved.as_ref().unwrap_or(&finding), &fingerprint, payload, &grants)?;
                    // That of another path is of no use to whoever wants to accept this one.
                    (granted, moved.is_none().then_some(fingerprint))
                }
                None => (None, None),
            },
        };
        again += usize::from(granted.is_none() && moved.is_some());
        match granted {
            Some((by, reason)) => outcome.suppressed.push(Suppressed { finding, fingerprint, by, reason }),
            None => outcome.kept.push((finding, fingerprint)),
        }
    }
    if again > 0 {
        outcome.notes.push(SafeText::new(&format!(
            "{again} of the findings stand in files that the other side has already under another name: git sends these again"
        )));
    }
    outcome.notes.sort();
    outcome.notes.dedup();
    Ok(outcome)
}

/// Findings in files that the other side has already at another path, as they stand there: git sends a file
/// again that moves to another folder, and what was accepted in it is accepted still. Only findings that nothing
/// accepts where they are.
fn moved(findings: &[Finding], answers: &[Answer], payload: &Payload) -> Result<Vec<Option<Finding>>, Fault> {
    let blob = |finding: &Finding| finding.item.oid.filter(|_| finding.item.kind == ItemKind::Blob);
    let open = || findings.iter().zip(answers).filter(|(_, answer)| **answer == Answer::No).map(|(one, _)| one);
    let mut moved: Vec<Option<Finding>> = findings.iter().map(|_| None).collect();
    for side in payload.sides.iter().filter(|side| side.side.is_found()) {
        let blobs = open().filter(|finding| side.parts.contains(&finding.part)).filter_map(blob).collect();
        let there = side.side.has_already(&blobs)?;
        for ((finding, answer), moved) in findings.iter().zip(answers).zip(&mut moved) {
            let is_here = *answer == Answer::No && side.parts.contains(&finding.part);
            let path = blob(finding).filter(|_| is_here).and_then(|blob| there.get(&blob));
            if let Some(path) = path.filter(|path| finding.item.path.as_ref() != Some(path)) {
                let mut there = finding.clone();
                there.item.path = Some(path.clone());
                *moved = Some(there);
            }
        }
    }
    Ok(moved)
}

/// What the sides say of a finding as far as that costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// A side has nothing that could accept it, or nobody has a say.
    No,
    /// Every side accepts it, the last one by this.
    Yes(SafeText),
    /// On some side an entry of [`AllowFile`] may accept it.
    ByHash,
}

fn answer(
    finding: &Finding,
    payload: &Payload,
    grants: &mut [Option<Grants>],
    notes: &mut Vec<SafeText>,
) -> Result<Answer, Fault> {
    let mut answer = Answer::No;
    let sides = payload.sides.iter().zip(grants);
    for (side, known) in sides.filter(|(side, _)| side.parts.contains(&finding.part)) {
        let known = match known {
            Some(known) => known,
            None => known.insert(Grants::read(side.side.as_ref(), notes)?),
        };
        match known.grant_by_place(finding, side.side.as_ref())? {
            Some(by) if answer != Answer::ByHash => answer = Answer::Yes(by),
            Some(_) => {}
            None if known.allow.iter().any(|file| file.may_grant(finding)) => answer = Answer::ByHash,
            None => return Ok(Answer::No),
        }
    }
    Ok(answer)
}

/// Which suppression of the last side takes a finding away, when each side has one.
fn by_hash(
    finding: &Finding,
    fingerprint: &Fingerprint,
    payload: &Payload,
    grants: &[Option<Grants>],
) -> Result<Option<(SafeText, SafeText)>, Fault> {
    let mut granted = None;
    let sides = payload.sides.iter().zip(grants);
    for (side, known) in sides.filter(|(side, _)| side.parts.contains(&finding.part)) {
        let Some(known) = known else { return Ok(None) };
        granted = match known.grant_by_place(finding, side.side.as_ref())? {
            Some(by) => Some((by, SafeText::new(""))),
            None => known.allow.iter().find_map(|file| file.grant(fingerprint)),
        };
        if granted.is_none() {
            break;
        }
    }
    Ok(granted)
}

/// Suppressions on the remote side which accept something in a file of this payload that is not found
/// there any more. Files that the payload does not hold are not spoken of, nor is a side that nothing has asked
/// for so far: a commit is told of it when it is pushed.
///
/// # Errors
/// When a side cannot be read.
pub fn stale(payload: &Payload, outcome: &Outcome) -> Result<Vec<SafeText>, Fault> {
    let used: Vec<&str> = outcome.suppressed.iter().map(|suppressed| suppressed.by.as_str()).collect();
    let mut stale = Vec::new();
    for side in payload.sides.iter().filter(|side| side.side.is_found()) {
        let grants = Grants::read(side.side.as_ref(), &mut Vec::new())?;
        let parts = payload.parts.get(side.parts.clone()).unwrap_or_default();
        let paths: std::collections::BTreeSet<&BStr> =
            parts.iter().flat_map(|part| &part.items).flat_map(Item::known_paths).collect();
        for (by, place) in grants.places() {
            if paths.contains(place) && !used.contains(&by.as_str()) {
                stale.push(SafeText::new(&format!("{by} accepts nothing any more")));
            }
        }
    }
    stale.sort();
    stale.dedup();
    Ok(stale)
}

/// What one side grants.
#[derive(Debug, Default)]
struct Grants {
    allow: Vec<AllowFile>,
    ignore: Vec<IgnoreFile>,
    baselines: Vec<Baseline>,
    lists: Vec<Accepted>,
}

impl Grants {
    fn read(side: &dyn RemoteSide, notes: &mut Vec<SafeText>) -> Result<Self, Fault> {
        let mut grants = Self::default();
        for version in side.versions(allow_file::NAME.into())? {
            let file = AllowFile::read(&version);
            notes.extend(file.unreadable.iter().cloned());
            grants.allow.push(file);
        }
        grants.ignore.extend(side.versions(gitleaks::IGNORE_NAME.into())?.iter().map(|bytes| IgnoreFile::read(bytes)));
        for version in side.versions(gitleaks::BASELINE_NAME.into())? {
            match Baseline::read(&version) {
                Some(baseline) => grants.baselines.push(baseline),
                None => notes.push(SafeText::new(&format!("{} cannot be read", gitleaks::BASELINE_NAME))),
            }
        }
        for version in side.versions(gitleaks::CONFIG_NAME.into())? {
            match version.to_str().ok().and_then(|text| Accepted::read(text, gitleaks::CONFIG_NAME).ok()) {
                Some(lists) => grants.lists.push(lists),
                None => notes.push(SafeText::new(&format!("{} cannot be read", gitleaks::CONFIG_NAME))),
            }
        }
        Ok(grants)
    }

    /// Which suppression that needs no fingerprint takes a finding away.
    fn grant_by_place(&self, finding: &Finding, side: &dyn RemoteSide) -> Result<Option<SafeText>, Fault> {
        if let Some(by) = self.ignore.iter().find_map(|file| file.grant(finding)) {
            return Ok(Some(by));
        }
        if let Some(by) = self.baselines.iter().find_map(|baseline| baseline.grant(finding)) {
            return Ok(Some(by));
        }
        let same = |rule: &str| same_rule(&finding.rule, rule.as_bytes());
        // A pattern that cannot be tried takes nothing away.
        if let Some(number) = self.lists.iter().find_map(|lists| lists.grant(finding, same).ok().flatten()) {
            return Ok(Some(SafeText::new(&format!("{}, allowlist {number}", gitleaks::CONFIG_NAME))));
        }
        inline(finding, side)
    }

    /// How many entries of [`AllowFile`] there are.
    fn entries(&self) -> usize {
        self.allow.iter().map(|file| file.places().count()).sum()
    }

    /// Every entry with a path: what it is called, and the path.
    fn places(&self) -> Vec<(SafeText, &BStr)> {
        let allow = self.allow.iter().flat_map(AllowFile::places);
        allow.chain(self.ignore.iter().flat_map(IgnoreFile::places)).collect()
    }
}

/// An inline comment, where the identical line (and a match of several lines as a whole) is on the
/// other side at the same path.
fn inline(finding: &Finding, side: &dyn RemoteSide) -> Result<Option<SafeText>, Fault> {
    let line = finding.line_text.expose();
    let Some(comment) = COMMENTS.into_iter().find(|comment| line.contains_str(comment)) else { return Ok(None) };
    let (ItemKind::Blob | ItemKind::File, Some(path)) = (finding.item.kind, &finding.item.path) else {
        return Ok(None);
    };
    let there = side.versions(path.as_bstr())?.iter().any(|version| holds(version, line, &finding.matched));
    Ok(there.then(|| SafeText::new(&format!("the comment {comment} in its line"))))
}

fn holds(version: &[u8], line: &[u8], matched: &Secret) -> bool {
    let line = line.trim_end_with(|character| character == '\n' || character == '\r');
    version.lines().any(|other| other == line) && version.contains_str(matched.expose())
}

/// Whether two rule ids speak of the same kind of secret: the same id, or the same first word, since
/// gitleaks and tyran name rules of one issuer differently (`gitlab-pat`, `gitlab-personal-access-token`).
fn same_rule(own: &str, other: &[u8]) -> bool {
    let first = |id: &[u8]| id.split(|byte| *byte == b'-').next().unwrap_or_default().to_ascii_lowercase();
    own.as_bytes() == other || first(own.as_bytes()) == first(other)
}
