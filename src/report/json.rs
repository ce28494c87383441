//! One JSON object with stable keys, as scripts and agents read it.
//!
//! Promise: keys are only ever added. What is exact when parsed is harmless when shown: code points
//! that could move, hide or speak are written as escapes.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::scan::{Coverage, Finding};
use crate::text;

use super::{Judgement, place};

pub(super) fn write(judgement: &Judgement<'_>, out: &mut dyn Write) -> io::Result<()> {
    let findings: Vec<Value> = judgement
        .findings
        .iter()
        .map(|reported| {
            let mut told = told(judgement, reported.finding, &reported.fingerprint);
            told.insert("refuses".into(), reported.refuses.into());
            Value::Object(told)
        })
        .collect();
    let suppressed: Vec<Value> = judgement
        .suppressed
        .iter()
        .map(|suppressed| {
            let mut told = told(judgement, suppressed.finding, &suppressed.fingerprint);
            told.insert("by".into(), suppressed.by.as_str().into());
            told.insert("reason".into(), suppressed.reason.as_str().into());
            Value::Object(told)
        })
        .collect();
    let refusal = judgement.refusal().map(
        |refusal| json!({"class": refusal.class.word(), "what": refusal.what.as_str(), "do": refusal.remedy.as_str()}),
    );
    let destinations: Vec<Value> = judgement
        .destinations
        .iter()
        .map(|destination| {
            let refs: Vec<&str> = destination.refs.iter().map(text::SafeText::as_str).collect();
            json!({"url": destination.url.as_str(), "refs": refs})
        })
        .collect();
    let notes: Vec<&str> = judgement.notes.iter().map(text::SafeText::as_str).collect();
    let report = json!({
        "verdict": judgement.verdict.word(),
        "class": judgement.class(),
        "findings": findings,
        "suppressed": suppressed,
        "coverage": judgement.coverage.map(coverage),
        "refusal": refusal,
        "payload": {"objects": judgement.payload.objects, "bytes": judgement.payload.bytes},
        "destinations": destinations,
        "notes": notes,
        "millis": u64::try_from(judgement.elapsed.as_millis()).unwrap_or(u64::MAX),
    });
    writeln!(out, "{}", harmless(&report.to_string()))
}

/// A finding in the keys of the contract, then those that were added.
fn told(judgement: &Judgement<'_>, finding: &Finding, fingerprint: &str) -> Map<String, Value> {
    let facts = judgement.facts_of(finding);
    let path = place::path_of(finding, judgement.directory).map(ToString::to_string);
    let told = json!({
        "rule": &*finding.rule,
        "description": &*finding.description,
        "where": finding.item.kind,
        "path": path,
        "line": finding.line,
        "column": place::column(finding),
        "commit": finding.item.commit.map(|id| id.to_string()),
        "oid": finding.item.oid.map(|id| id.to_string()),
        "author": facts.as_ref().map(|facts| format!("{} <{}>", facts.author, facts.email)),
        "date": facts.and_then(|facts| facts.date),
        "fingerprint": fingerprint,
        "redacted": finding.secret.redacted(),
        "end_line": finding.end_line,
        "end_column": place::end_column(finding),
        "severity": finding.severity,
        "confidence": finding.confidence,
        "engine": finding.engine,
        "within": finding.within,
    });
    match told {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn coverage(coverage: &Coverage) -> Value {
    let engines: Vec<Value> = coverage
        .engines()
        .iter()
        .map(|engine| {
            json!({
                "name": engine.identity.name,
                "version": engine.identity.version,
                "rules": engine.identity.rules,
                "bytes": engine.consumed.bytes,
                "millis": engine.millis,
            })
        })
        .collect();
    json!({"objects": coverage.tally().objects, "bytes": coverage.tally().bytes, "engines": engines})
}

/// JSON text whose forbidden code points are `\u` escapes: the same value, but harmless to look at.
pub(super) fn harmless(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && character != '\t' && text::is_forbidden(character) {
            let mut units = [0u16; 2];
            for unit in character.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(character);
        }
    }
    safe
}
