//! SARIF 2.1.0, as code scanning services take it.
//!
//! Promise: the log is valid against the OASIS schema, file places are relative URIs, results keep
//! their identity across runs by a partial fingerprint, and a run that could not check says so
//! (`executionSuccessful` false) instead of showing no results.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bstr::BStr;
use serde_json::{Map, Value, json};

use crate::scan::{Confidence, Finding, Severity};
use crate::verdict::Class;

use super::{Judgement, human, json as json_report, place};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The name under which services match results of different runs.
const FINGERPRINT: &str = "tyranFingerprint/v1";

pub(super) fn write(judgement: &Judgement<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rules = Rules::of(judgement);
    let mut results = Vec::new();
    for reported in judgement.findings {
        results.push(result(judgement, &rules, reported.finding, &reported.fingerprint, reported.refuses, None));
    }
    for suppressed in judgement.suppressed {
        let reason = format!("{} {}", suppressed.by, suppressed.reason);
        results.push(result(
            judgement,
            &rules,
            suppressed.finding,
            &suppressed.fingerprint,
            true,
            Some(reason.trim_end()),
        ));
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tyran",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.told,
            }},
            "invocations": [invocation(judgement)],
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the repository."}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    writeln!(out, "{}", json_report::harmless(&format!("{log:#}")))
}

/// The rules that found something, each once, and where each stands in the list.
struct Rules {
    told: Vec<Value>,
    places: BTreeMap<String, usize>,
}

impl Rules {
    fn of(judgement: &Judgement<'_>) -> Self {
        let mut rules = Self { told: Vec::new(), places: BTreeMap::new() };
        let told = judgement.findings.iter().map(|reported| reported.finding);
        for finding in told.chain(judgement.suppressed.iter().map(|suppressed| suppressed.finding)) {
            if rules.places.contains_key(&*finding.rule) {
                continue;
            }
            rules.places.insert(finding.rule.to_string(), rules.told.len());
            let tags: Vec<&str> = std::iter::once("security").chain(finding.tags.iter().map(String::as_str)).collect();
            rules.told.push(json!({
                "id": &*finding.rule,
                "name": &*finding.rule,
                "shortDescription": {"text": text(&finding.description, &finding.rule)},
                "help": {"text": finding.remedy.as_deref().unwrap_or("Revoke the secret, then remove it from what is published.")},
                "defaultConfiguration": {"level": "error"},
                "properties": {
                    "tags": tags,
                    "security-severity": security_severity(finding.severity),
                    "precision": precision(finding.confidence),
                },
            }));
        }
        rules
    }
}

/// SARIF wants texts that are not empty.
fn text<'t>(text: &'t str, instead: &'t str) -> &'t str {
    if text.trim().is_empty() { instead } else { text }
}

/// GitHub sorts alerts by these numbers: above 9 is critical, above 7 high, above 4 medium.
fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "3.0",
        Severity::Medium => "5.5",
        Severity::High => "8.0",
        Severity::Critical => "9.5",
    }
}

fn precision(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Note | Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

fn result(
    judgement: &Judgement<'_>,
    rules: &Rules,
    finding: &Finding,
    fingerprint: &str,
    refuses: bool,
    suppressed_by: Option<&str>,
) -> Value {
    let at = human::position(judgement, finding);
    let commit = finding.item.commit.map(|id| format!(" in commit {id}")).unwrap_or_default();
    let message = format!("{} at {at}{commit}", text(&finding.description, &finding.rule));
    let mut result = json!({
        "ruleId": &*finding.rule,
        "ruleIndex": rules.places.get(&*finding.rule),
        "level": if refuses { "error" } else { "note" },
        "message": {"text": crate::text::SafeText::new(&message).as_str()},
        "locations": [location(judgement, finding)],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {
            "where": finding.item.kind,
            "engine": finding.engine,
            "redacted": finding.secret.redacted(),
            "commit": finding.item.commit.map(|id| id.to_string()),
            "oid": finding.item.oid.map(|id| id.to_string()),
        },
    });
    if let (Some(reason), Value::Object(fields)) = (suppressed_by, &mut result) {
        fields.insert("suppressions".into(), json!([{"kind": "external", "justification": reason}]));
    }
    result
}

/// A place in a file; a name for what is no file.
fn location(judgement: &Judgement<'_>, finding: &Finding) -> Value {
    let Some(path) = place::path_of(finding, judgement.directory) else {
        let name = place::words(finding, judgement.directory);
        return json!({"logicalLocations": [{"name": name.as_str(), "fullyQualifiedName": name.as_str()}]});
    };
    let mut artifact = json!({"uri": relative_uri(path)});
    if let (Value::Object(fields), false) = (&mut artifact, path.starts_with(b"/")) {
        fields.insert("uriBaseId".into(), "%SRCROOT%".into());
    }
    let mut physical = Map::new();
    physical.insert("artifactLocation".into(), artifact);
    if finding.line > 0 {
        physical.insert("region".into(), region(finding));
    }
    json!({"physicalLocation": physical})
}

/// Lines always; columns, which SARIF counts in characters, where the line before them is known.
fn region(finding: &Finding) -> Value {
    let mut region = Map::new();
    region.insert("startLine".into(), finding.line.into());
    region.insert("endLine".into(), finding.end_line.max(finding.line).into());
    if finding.line == finding.end_line
        && holds_match(finding)
        && let (Some(start), Some(end)) =
            (characters(finding, place::column(finding)), characters(finding, place::end_column(finding)))
        && start < end
    {
        region.insert("startColumn".into(), start.into());
        region.insert("endColumn".into(), end.into());
    }
    Value::Object(region)
}

/// Whether the line that a finding carries begins where its columns are counted from: a very long one is
/// cut. A decoded match is not in the line, so there it cannot be told.
fn holds_match(finding: &Finding) -> bool {
    let line = finding.line_text.expose();
    let line = line.strip_prefix(b"\n").unwrap_or(line);
    let start = usize::try_from(place::column(finding).saturating_sub(1)).unwrap_or(usize::MAX);
    let is_there = line.get(start..).is_some_and(|rest| rest.starts_with(finding.matched.expose()));
    is_there || !finding.within.is_empty()
}

/// A byte column as a character column, both from 1.
fn characters(finding: &Finding, byte_column: u64) -> Option<u64> {
    let line = finding.line_text.expose();
    let line = line.strip_prefix(b"\n").unwrap_or(line);
    let before = line.get(..usize::try_from(byte_column).ok()?.checked_sub(1)?)?;
    u64::try_from(String::from_utf8_lossy(before).chars().count() + 1).ok()
}

/// A path as a relative URI reference (RFC 3986): unreserved characters and slashes as they are,
/// every other byte percent-encoded, a colon too since a first segment may not hold one.
fn relative_uri(path: &BStr) -> String {
    let mut uri = String::with_capacity(path.len());
    for &byte in path.iter() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    // Two slashes at the start would name a host.
    if uri.starts_with("//") { format!("/.{uri}") } else { uri }
}

fn invocation(judgement: &Judgement<'_>) -> Value {
    let checked = judgement.refusal().is_none_or(|refusal| refusal.class == Class::Finding);
    let mut notifications: Vec<Value> =
        judgement.notes.iter().map(|note| json!({"level": "note", "message": {"text": note.as_str()}})).collect();
    if let Some(refusal) = judgement.refusal() {
        let message = format!("{}: {}. {}", refusal.class.word(), refusal.what, refusal.remedy);
        let level = if checked { "note" } else { "error" };
        notifications.push(json!({"level": level, "message": {"text": message}}));
    }
    notifications.push(json!({"level": "note", "message": {"text": human::summary(judgement)}}));
    json!({"executionSuccessful": checked, "toolExecutionNotifications": notifications})
}
