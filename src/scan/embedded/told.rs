//! What is found, as reports tell it: with its place in the item.
//!
//! Promise: places are those of the item, however it was cut into texts.

use std::sync::Arc;

use super::detect::Hit;
use super::rules::Rule;
use super::session::NAME;
use super::subject::{Seen, Subject, item_at};
use super::windows::Window;
use crate::scan::finding::Secret;
use crate::scan::{Confidence, Finding};

/// Where a text begins in its item, and which of what is found there counts.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) offset: u64,
    /// 0-based.
    pub(super) line: u64,
    /// What columns on its first line lack.
    pub(super) column: u64,
    /// Where matches begin that count.
    pub(super) core: (usize, usize),
    /// A file that is a finding by its path is told with the first text only.
    pub(super) is_first: bool,
}

impl Base {
    /// A text that counts as a whole.
    pub(super) fn whole(offset: u64, line: u64) -> Self {
        Self { offset, line, column: 0, core: (0, usize::MAX), is_first: true }
    }
}

/// A line is kept up to so many bytes.
const LONGEST_LINE: usize = 16 << 10;
/// Something that a rule without a bound began, and that did not end within the longest span.
pub(super) fn unterminated(rule: &Rule, subject: Subject<'_>, window: Window<'_>, start: usize) -> Finding {
    let end =
        memchr::memchr(b'\n', window.text.get(start..).unwrap_or_default()).map_or(window.text.len(), |at| start + at);
    let text = window.text.get(start..end.min(start + 256)).unwrap_or_default();
    let before = window.text.get(..start).unwrap_or_default();
    let line = window.lines + memchr::memchr_iter(b'\n', before).count() as u64 + 1;
    let column = memchr::memrchr(b'\n', before).map_or(window.column + start as u64, |at| (start - at) as u64);
    Finding {
        rule: Arc::clone(&rule.id),
        description: Arc::clone(&rule.description),
        engine: NAME,
        item: subject.item.clone(),
        part: subject.part,
        start: if subject.within.is_empty() { window.offset + start as u64 } else { 0 },
        end: if subject.within.is_empty() { window.offset + (start + text.len()) as u64 } else { subject.item.size },
        line,
        end_line: line,
        column: column + 1,
        end_column: column + text.len() as u64,
        matched: Secret::new(text),
        secret: Secret::new(text),
        line_text: Secret::new(text),
        entropy: 0.0,
        tags: [rule.tags.as_ref(), &["unterminated".to_owned()]].concat().into(),
        severity: rule.severity,
        confidence: rule.confidence.min(Confidence::Low),
        within: subject.within.to_vec(),
        remedy: rule.remedy.clone(),
    }
}

/// The line of a hit, cut to a bound. Hits of one line share it.
pub(super) fn line_text(text: &[u8], hit: &Hit) -> Secret {
    let end = hit.line.1.min(hit.line.0 + LONGEST_LINE);
    Secret::new(text.get(hit.line.0..end).unwrap_or_default())
}

/// A hit in a text, as it is told.
pub(super) fn finding(
    rule: &Rule,
    (subject, seen): (Subject<'_>, Seen<'_>),
    line_text: Secret,
    base: Base,
    hit: &Hit,
) -> Finding {
    let line = |line: usize| if hit.is_file { 0 } else { base.line + line as u64 + 1 };
    let mut tags: Vec<String> = rule.tags.to_vec();
    let mut within = subject.within.to_vec();
    let column = |column: usize, line: usize| column as u64 + if line == 0 && column > 0 { base.column } else { 0 };
    if let Some((kinds, depth)) = hit.decoded {
        tags.extend(kinds.names().map(|name| format!("decoded:{name}")));
        tags.push(format!("decode-depth:{depth}"));
        within.extend(kinds.names().map(str::to_owned));
    }
    Finding {
        rule: Arc::clone(&rule.id),
        description: Arc::clone(&rule.description),
        engine: NAME,
        item: item_at(subject.item, seen),
        part: subject.part,
        // Of a member of an archive the whole archive is told, and the line in the member.
        start: if subject.within.is_empty() { base.offset + hit.span.0 as u64 } else { 0 },
        end: if subject.within.is_empty() { base.offset + hit.span.1 as u64 } else { subject.item.size },
        line: line(hit.location.line),
        end_line: line(hit.location.end_line),
        column: column(hit.location.column, hit.location.line),
        end_column: column(hit.location.end_column, hit.location.end_line),
        matched: Secret::new(hit.matched.clone()),
        secret: Secret::new(hit.secret.clone()),
        line_text,
        entropy: hit.entropy as f32,
        tags: if hit.decoded.is_some() { tags.into() } else { Arc::clone(&rule.tags) },
        severity: rule.severity,
        confidence: hit.confidence,
        within,
        remedy: rule.remedy.clone(),
    }
}
