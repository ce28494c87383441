//! The JSON report of gitleaks 8.30.1, field for field.
//!
//! Promise: a program that reads gitleaks' report reads this one: the same names, order, indent and
//! escapes, secrets whole. It exists to be compared and fed on, not to be shown. gitleaks knows no notes, and
//! every entry of its report is a leak: so only findings that refuse are listed.

use std::io::{self, Write};
use std::path::Path;

use crate::scan::Finding;
use crate::verdict::Class;

use super::Judgement;

pub(super) fn write(judgement: &Judgement<'_>, out: &mut dyn Write) -> io::Result<()> {
    // gitleaks leaves no report when it fails, and an empty list would say that nothing was found.
    if judgement.refusal().is_some_and(|refusal| refusal.class != Class::Finding) && judgement.findings.is_empty() {
        return Ok(());
    }
    let refusing: Vec<_> = judgement.findings.iter().filter(|reported| reported.refuses).collect();
    if refusing.is_empty() {
        return out.write_all(b"[]\n");
    }
    for (place, reported) in refusing.into_iter().enumerate() {
        out.write_all(if place == 0 { b"[\n" } else { b",\n" })?;
        one(judgement, reported.finding, out)?;
    }
    out.write_all(b"\n]\n")
}

fn one(judgement: &Judgement<'_>, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let facts = judgement.facts_of(finding);
    // gitleaks tells a file as it was named, so nothing is made relative to the directory here.
    let file = super::place::path_of(finding, Path::new("")).unwrap_or_default();
    let commit = finding.item.commit.map(|id| id.to_string()).unwrap_or_default();
    let (author, email, date, message) = facts
        .map(|facts| (facts.author, facts.email, facts.date.unwrap_or_default(), facts.message))
        .unwrap_or_default();
    let tags = match finding.tags.as_ref() {
        [] => "[]".to_owned(),
        some => {
            let each: Vec<String> = some.iter().map(|tag| format!("   {}", string(tag.as_bytes()))).collect();
            format!("[\n{}\n  ]", each.join(",\n"))
        }
    };
    let fields = [
        ("RuleID", string(finding.rule.as_bytes())),
        ("Description", string(finding.description.as_bytes())),
        ("StartLine", finding.line.to_string()),
        ("EndLine", finding.end_line.to_string()),
        ("StartColumn", finding.column.to_string()),
        ("EndColumn", finding.end_column.to_string()),
        ("Match", string(finding.matched.expose())),
        ("Secret", string(finding.secret.expose())),
        ("File", string(file)),
        ("SymlinkFile", string(b"")),
        ("Commit", string(commit.as_bytes())),
        ("Entropy", float(finding.entropy)),
        ("Author", string(&author)),
        ("Email", string(&email)),
        ("Date", string(date.as_bytes())),
        ("Message", string(&message)),
        ("Tags", tags),
        ("Fingerprint", string(&fingerprint(file, &commit, finding))),
    ];
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
    write!(out, " {{\n{}\n }}", lines.join(",\n"))
}

/// gitleaks' fingerprint: `COMMIT:FILE:RULE:STARTLINE`, without the commit where there is none.
fn fingerprint(file: &[u8], commit: &str, finding: &Finding) -> Vec<u8> {
    let mut print = Vec::new();
    if !commit.is_empty() {
        print.extend_from_slice(commit.as_bytes());
        print.push(b':');
    }
    print.extend_from_slice(file);
    print.extend_from_slice(format!(":{}:{}", finding.rule, finding.line).as_bytes());
    print
}

/// A string as Go's encoder writes it: HTML characters and U+2028/9 escaped, each invalid byte one
/// U+FFFD (written as the escape `\ufffd`).
fn string(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                    text.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                _ => text.push(character),
            }
        }
        for _ in chunk.invalid() {
            text.push_str("\\ufffd");
        }
    }
    text.push('"');
    text
}

/// A 32-bit float in the shortest decimal form; an entropy is never so small that Go's encoder
/// would use an exponent.
fn float(value: f32) -> String {
    if value.is_finite() { value.to_string() } else { "0".to_owned() }
}
