//! Annotations of GitHub's workflow log (`::error file=…,line=…::…`).
//!
//! Promise: nothing that a repository controls can end an annotation or begin another workflow
//! command: values are escaped as GitHub's own toolkit does (percent, CR and LF everywhere; colon
//! and comma in properties).

use std::io::{self, Write};

use crate::scan::Finding;
use crate::text::SafeText;
use crate::verdict::{Class, Verdict};

use super::{Judgement, human, place};

pub(super) fn write(judgement: &Judgement<'_>, out: &mut dyn Write) -> io::Result<()> {
    for reported in judgement.findings {
        let command = if reported.refuses { "error" } else { "warning" };
        let message = format!("{} ({})", reported.finding.description, reported.fingerprint);
        annotate(judgement, command, reported.finding, &message, out)?;
    }
    for suppressed in judgement.suppressed {
        let message = format!("suppressed by {}: {}", suppressed.by, suppressed.finding.description);
        annotate(judgement, "notice", suppressed.finding, &message, out)?;
    }
    for note in judgement.notes {
        writeln!(out, "::notice title=tyran::{}", data(note.as_str()))?;
    }
    match (judgement.verdict, judgement.refusal()) {
        (Verdict::Pass(_), _) | (_, None) => {
            writeln!(out, "::notice title=tyran::{}", data(&human::summary(judgement)))
        }
        (Verdict::Ask(_) | Verdict::Refuse(_), Some(refusal)) => {
            let title = if refusal.class == Class::Finding {
                "tyran: refused".to_owned()
            } else {
                format!("tyran: refused ({})", refusal.class.word())
            };
            let message = format!("{}\n{}\ndo: {}", refusal.what, human::summary(judgement), refusal.remedy);
            writeln!(out, "::error title={}::{}", property(&title), data(&message))
        }
    }
}

fn annotate(
    judgement: &Judgement<'_>,
    command: &str,
    finding: &Finding,
    message: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut properties = Vec::new();
    if let Some(path) = place::path_of(finding, judgement.directory) {
        properties.push(format!("file={}", property(&String::from_utf8_lossy(path))));
        properties.push(format!("line={}", finding.line));
        properties.push(format!("endLine={}", finding.end_line));
        // GitHub takes columns only where both ends are on one line.
        if finding.line == finding.end_line {
            properties.push(format!("col={}", place::column(finding)));
            properties.push(format!("endColumn={}", place::end_column(finding)));
        }
    }
    properties.push(format!("title={}", property(&format!("tyran: {}", finding.rule))));
    let at = finding.item.commit.map(|id| format!(" in commit {}", id.to_hex_with_len(12))).unwrap_or_default();
    let message = format!("{message} at {}{at}", human::position(judgement, finding));
    writeln!(out, "::{command} {}::{}", properties.join(","), data(&message))
}

fn data(text: &str) -> String {
    SafeText::new(text).as_str().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    // A line feed in a path would be lost by the visible form, so it is escaped before.
    let escaped = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    SafeText::new(&escaped.replace(':', "%3A").replace(',', "%2C")).to_string()
}
