//! The report that a person reads.
//!
//! Promise: it says what was read, where each finding stands, and one next command. "Could not
//! check" never looks like "found something", and nothing looks like a pass but a pass.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use anstyle::Style;

use crate::scan::finding::{count_secrets, secret_of};
use crate::scan::{Confidence, Finding};
use crate::text::SafeText;
use crate::verdict::{Class, Verdict};

use super::terminal::{ASIDE, CLEAN, FOUND, PLACE, Terminal, UNCHECKED};
use super::{Judgement, Reported, place};

/// Most refs of one destination that are named.
const REFS_SHOWN: usize = 5;

/// Most findings of a kind that are shown whole: who must read more reads another format.
const FINDINGS_SHOWN: usize = 50;

/// Most other places of a secret that are named.
const PLACES_SHOWN: usize = 3;

/// Most characters of a rule's description.
const DESCRIPTION_LIMIT: usize = 160;

pub(super) fn write(judgement: &Judgement<'_>, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
    let (style, headline) = headline(judgement);
    writeln!(out, "{}", terminal.paint(style, &headline))?;
    writeln!(out, "read:  {}", summary(judgement))?;
    for destination in judgement.destinations {
        writeln!(out, "to:    {}", destination_words(destination))?;
    }
    let (refusing, notes): (Vec<_>, Vec<_>) = judgement.findings.iter().partition(|reported| reported.refuses);
    let (refusing, notes) = (grouped(&refusing), grouped(&notes));
    let (refusing_left, notes_left) = (left(&refusing), left(&notes));
    for (reported, others) in refusing.into_iter().take(FINDINGS_SHOWN) {
        writeln!(out)?;
        finding(judgement, reported.finding, &others, FOUND, out, terminal)?;
        writeln!(
            out,
            "    {}",
            terminal.paint(ASIDE, &format!("fingerprint {}", SafeText::new(&reported.fingerprint)))
        )?;
    }
    for (reported, others) in notes.into_iter().take(FINDINGS_SHOWN) {
        writeln!(out)?;
        let why = match reported.finding.confidence {
            Confidence::Note => "a note: looks broken or redacted; it does not refuse",
            Confidence::Low | Confidence::Medium | Confidence::High => "unsure; it does not refuse",
        };
        finding(judgement, reported.finding, &others, UNCHECKED, out, terminal)?;
        writeln!(out, "    {}", terminal.paint(ASIDE, why))?;
    }
    if refusing_left + notes_left > 0 {
        writeln!(
            out,
            "\n{} and {} more; `--format json` tells all",
            counted(refusing_left, "secret"),
            counted(notes_left, "note")
        )?;
    }
    others(judgement, out, terminal)?;
    let Some(refusal) = judgement.refusal() else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "what:  {}", refusal.what)?;
    writeln!(out, "do:    {}", refusal.remedy)
}

/// Of which findings the report tells the fingerprint; each comes with whether it refuses.
pub fn tells_fingerprint<'f>(findings: impl Iterator<Item = (&'f Finding, bool)>) -> Vec<bool> {
    let mut known = HashSet::new();
    let tells = |(finding, refuses)| refuses && known.len() < FINDINGS_SHOWN && known.insert(secret_of(finding));
    findings.map(tells).collect()
}

/// The first finding of each secret, with the others of the same secret.
fn grouped<'r>(findings: &[&'r Reported<'r>]) -> Vec<(&'r Reported<'r>, Vec<&'r Finding>)> {
    let mut groups: Vec<(&'r Reported<'r>, Vec<&'r Finding>)> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::new();
    for reported in findings {
        let place = *known.entry(secret_of(reported.finding)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, others)) => others.push(reported.finding),
            None => groups.push((reported, Vec::new())),
        }
    }
    groups
}

fn left<T>(findings: &[T]) -> u64 {
    findings.len().saturating_sub(FINDINGS_SHOWN) as u64
}

/// Suppressions that were used, and notes.
fn others(judgement: &Judgement<'_>, out: &mut dyn Write, terminal: &Terminal) -> io::Result<()> {
    if !judgement.suppressed.is_empty() || !judgement.notes.is_empty() {
        writeln!(out)?;
    }
    for suppressed in judgement.suppressed.iter().take(FINDINGS_SHOWN) {
        let reason =
            if suppressed.reason.as_str().is_empty() { String::new() } else { format!(" ({})", suppressed.reason) };
        let line = format!(
            "suppressed: {}  {}  by {}{reason}",
            position(judgement, suppressed.finding),
            SafeText::new(&suppressed.finding.rule),
            suppressed.by
        );
        writeln!(out, "{}", terminal.paint(ASIDE, &line))?;
    }
    if left(judgement.suppressed) > 0 {
        writeln!(out, "suppressed: {} more; `--format json` tells all", left(judgement.suppressed))?;
    }
    for note in judgement.notes {
        writeln!(out, "note:  {note}")?;
    }
    Ok(())
}

/// The first line: the outcome in its own words and colour.
fn headline(judgement: &Judgement<'_>) -> (Style, String) {
    let refusing = judgement.findings.iter().filter(|reported| reported.refuses);
    let refusing = count_secrets(refusing.map(|reported| reported.finding));
    match judgement.verdict {
        Verdict::Pass(clearance) if clearance.coverage().is_none() => {
            (CLEAN, "tyran: nothing would be published".into())
        }
        Verdict::Pass(_) => (CLEAN, "tyran: no secrets found".into()),
        Verdict::Ask(question) => {
            (UNCHECKED, format!("tyran: a person must decide ({})", question.refusal.class.word()))
        }
        Verdict::Refuse(refusal) => match refusal.class {
            Class::Finding => (FOUND, format!("tyran: refused, {} found", counted(refusing as u64, "secret"))),
            Class::Suppression | Class::ForcePush | Class::Bypass | Class::Tamper | Class::Usage => {
                (FOUND, format!("tyran: refused ({})", refusal.class.word()))
            }
            Class::NotCovered
            | Class::Unmodelled
            | Class::Unknowable
            | Class::MissingObject
            | Class::CorruptObject
            | Class::UntrustedStore
            | Class::PartialClone
            | Class::ShallowClone
            | Class::Repository
            | Class::Plumbing
            | Class::Destination
            | Class::File
            | Class::Unreadable
            | Class::EngineAbsent
            | Class::Rules
            | Class::EngineFailed
            | Class::Content
            | Class::Deadline
            | Class::Configuration
            | Class::Event
            | Class::Installation
            | Class::Internal => (UNCHECKED, format!("tyran: could not check ({})", refusal.class.word())),
        },
    }
}

/// What was read, by which engines; or that nothing is proven.
pub(super) fn summary(judgement: &Judgement<'_>) -> String {
    let millis = judgement.elapsed.as_millis();
    let Some(coverage) = judgement.coverage else {
        if judgement.payload.is_empty() {
            return format!("nothing, in {millis} ms");
        }
        return format!(
            "nothing is proven of {}, {}, in {millis} ms",
            counted(judgement.payload.objects, "object"),
            counted(judgement.payload.bytes, "byte")
        );
    };
    let engines: Vec<String> = coverage
        .engines()
        .iter()
        .map(|engine| {
            let identity = &engine.identity;
            format!("{} {} ({})", identity.name, identity.version, counted(identity.rules as u64, "rule"))
        })
        .collect();
    let tally = coverage.tally();
    format!(
        "{}, {}, in {millis} ms, with {}",
        counted(tally.objects, "object"),
        counted(tally.bytes, "byte"),
        engines.join(" and ")
    )
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn destination_words(destination: &crate::payload::Destination) -> String {
    let mut refs: Vec<&str> = destination.refs.iter().take(REFS_SHOWN).map(SafeText::as_str).collect();
    let more = destination.refs.len().saturating_sub(REFS_SHOWN);
    let more_words = format!("{more} more");
    if more > 0 {
        refs.push(&more_words);
    }
    if refs.is_empty() { destination.url.to_string() } else { format!("{} ({})", destination.url, refs.join(", ")) }
}

/// `path:line:col`, with what it stands in where there is no path.
pub(super) fn position(judgement: &Judgement<'_>, finding: &Finding) -> String {
    let place = place::words(finding, judgement.directory);
    let within = match finding.within.as_slice() {
        [] => String::new(),
        layers => format!(" (in {})", SafeText::quoted(layers.join(", ").as_bytes(), DESCRIPTION_LIMIT)),
    };
    // A path finding has no line: gitleaks' path rules report line 0.
    if finding.line == 0 {
        return format!("{place}{within}");
    }
    format!("{place}:{}:{}{within}", finding.line, place::column(finding))
}

/// One finding: place, rule and commit; the line with its secret masked; what to do.
fn finding(
    judgement: &Judgement<'_>,
    finding: &Finding,
    others: &[&Finding],
    style: Style,
    out: &mut dyn Write,
    terminal: &Terminal,
) -> io::Result<()> {
    let place = terminal.paint(PLACE, &position(judgement, finding));
    let rule = terminal.paint(style, SafeText::new(&finding.rule).as_str());
    match finding.item.commit {
        Some(commit) => writeln!(out, "{place}  {rule}  {}", commit.to_hex_with_len(12))?,
        None => writeln!(out, "{place}  {rule}")?,
    }
    let description = SafeText::quoted(finding.description.as_bytes(), DESCRIPTION_LIMIT);
    match place::masked_line(finding, judgement) {
        Some(line) => {
            writeln!(out, "    {}", line.text)?;
            writeln!(out, "    {} {description}", terminal.paint(style, &line.carets))?;
        }
        None => writeln!(out, "    {description}, {}", finding.secret.redacted())?,
    }
    if let Some(facts) = judgement.facts_of(finding) {
        let who = SafeText::quoted(&facts.author, 60);
        let when = facts.date.map(|date| format!(", {date}")).unwrap_or_default();
        writeln!(out, "    {}", terminal.paint(ASIDE, &format!("by {who}{when}")))?;
    }
    if !others.is_empty() {
        let mut places: Vec<String> = others.iter().take(PLACES_SHOWN).map(|other| spot(other)).collect();
        if others.len() > PLACES_SHOWN {
            places.push(format!("{} more", others.len() - PLACES_SHOWN));
        }
        writeln!(out, "    {}", terminal.paint(ASIDE, &format!("also at {}", places.join(", "))))?;
    }
    if let Some(remedy) = &finding.remedy {
        writeln!(out, "    {}", SafeText::new(remedy))?;
    }
    Ok(())
}

/// `line:col` of another version of the same file.
fn spot(finding: &Finding) -> String {
    let commit = finding.item.commit.map(|commit| format!(" in {}", commit.to_hex_with_len(12))).unwrap_or_default();
    format!("{}:{}{commit}", finding.line, place::column(finding))
}
