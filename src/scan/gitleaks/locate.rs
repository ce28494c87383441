//! From gitleaks' lines and columns to places in the payload.
//!
//! Promise: a finding is told only at a place where the payload holds exactly the match that gitleaks
//! reported; a report of anything else is a fault, since it was not made from what we sent. What is
//! only an artefact of a window's edge is left to the window that sees the same bytes whole.

use std::ops::Range;
use std::sync::Arc;

use bstr::ByteSlice;

use crate::scan::engine::EngineFaultKind;
use crate::scan::{Confidence, EngineFault, Finding, Secret, Severity};
use crate::text::SafeText;

use super::report::{Entry, fault};
use super::windows::{BlockView, Layout, Window};

/// Most bytes of a line that a finding carries.
const LINE_LIMIT: usize = 4096;

/// A finding, and the bytes around it as gitleaks saw them.
#[derive(Debug)]
pub struct Hit<'a> {
    /// The finding.
    pub finding: Finding,
    /// The window it stands in.
    pub window: &'a [u8],
    /// Where its match stands in the window.
    pub span: Range<usize>,
    /// Whether match and secret were decoded, so that the window does not hold them as they are.
    pub decoded: bool,
    /// Whether the window is the whole item.
    pub whole: bool,
    /// The item, and where in it the window begins.
    pub place: (u64, u64),
}

/// Where an entry stands.
pub enum Located<'a> {
    /// In the payload.
    Hit(Box<Hit<'a>>),
    /// In the first (0) or last block, which are ours.
    Ours(usize),
    /// At a window's edge, where another window sees the same bytes whole.
    LeftToOther,
}

/// Finds an entry's place.
///
/// # Errors
/// When the payload does not hold the match there.
pub fn locate<'a>(layout: &'a Layout, entry: &Entry) -> Result<Located<'a>, EngineFault> {
    let outside = || {
        let rule = SafeText::quoted(entry.rule.as_bytes(), 80);
        let what = format!(
            "it reports {rule} at line {}, column {}, where its input does not hold it",
            entry.start_line, entry.start_column
        );
        fault(EngineFaultKind::Broken, what)
    };
    let (block, first) = layout.block_of_line(entry.start_line).ok_or_else(outside)?;
    let lines = entry.end_line.checked_sub(entry.start_line).and_then(|lines| usize::try_from(lines).ok());
    let last = lines.and_then(|lines| first.checked_add(lines)).ok_or_else(outside)?;
    let span = span(&block, first, last, entry).ok_or_else(outside)?;
    if block.is_ours {
        return if holds(&block, &span, entry) { Ok(Located::Ours(block.place)) } else { Err(outside()) };
    }
    let decoded = entry.tags.iter().any(|tag| tag.starts_with("decode-depth:"));
    let window = block.window_at(span.start).ok_or_else(outside)?;
    let edge = window.at + window.length;
    // A decoded match's span is widened by gitleaks around the encoded text, so it may stick out.
    let span = if decoded { span.start..span.end.min(edge) } else { span };
    if span.end > edge || (!decoded && !holds(&block, &span, entry)) {
        return Err(outside());
    }
    let within = span.start - window.at..span.end - window.at;
    if is_artefact(window, &within) {
        return Ok(Located::LeftToOther);
    }
    Ok(Located::Hit(Box::new(hit(&block, window, within, entry, decoded))))
}

/// The bytes of a block that an entry speaks of. Columns are counted from the line feed before the
/// line; where line feeds were trimmed from a match's front, gitleaks still tells the place before
/// them, and the end moved by as much (facts 6.3).
fn span(block: &BlockView<'_>, first: usize, last: usize, entry: &Entry) -> Option<Range<usize>> {
    let feed_before = |line: usize| memchr::memchr_iter(b'\n', block.bytes).nth(line.checked_sub(1)?);
    let start = feed_before(first)?.checked_add(usize::try_from(entry.start_column).ok()?)?.checked_sub(1)?;
    let end = feed_before(last)?.checked_add(usize::try_from(entry.end_column).ok()?)?;
    let trimmed = block.bytes.get(start..)?.iter().take_while(|byte| **byte == b'\n').count();
    let (start, end) = (start + trimmed, end + trimmed);
    (start < end && end <= block.bytes.len()).then_some(start..end)
}

/// Whether these bytes are the match that was reported.
fn holds(block: &BlockView<'_>, span: &Range<usize>, entry: &Entry) -> bool {
    block.bytes.get(span.clone()).is_some_and(|bytes| as_reported(bytes) == entry.matched)
}

/// Bytes as gitleaks' report shows them: each byte that is no UTF-8 is U+FFFD.
fn as_reported(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Whether a match touches an edge that cuts its item, while the neighbouring window holds all of it
/// and more: what touches an edge may be cut short, or match only because the text ends there.
fn is_artefact(window: &Window, within: &Range<usize>) -> bool {
    let (start, end) = (window.start + within.start as u64, window.start + within.end as u64);
    let cut_behind = window.next_start.is_some_and(|next| end == window.end() && start > next);
    let cut_before = window.previous_end.is_some_and(|previous| within.start == 0 && end < previous);
    cut_behind || cut_before
}

fn hit<'a>(block: &BlockView<'a>, window: &'a Window, within: Range<usize>, entry: &Entry, decoded: bool) -> Hit<'a> {
    let bytes = block.bytes.get(window.at..window.at + window.length).unwrap_or_default();
    let matched = bytes.get(within.clone()).unwrap_or_default();
    let (secret, matched) = if decoded {
        (entry.secret.as_bytes().to_vec(), entry.matched.as_bytes().to_vec())
    } else {
        (secret_bytes(matched, entry), matched.to_vec())
    };
    let (line, column) = position(window, bytes, within.start);
    let (end_line, end_column) = position(window, bytes, within.end.saturating_sub(1));
    let finding = Finding {
        rule: Arc::from(entry.rule.as_str()),
        description: Arc::from(entry.description.as_str()),
        engine: super::NAME,
        item: window.origin.item.clone(),
        part: window.origin.part,
        start: window.start + within.start as u64,
        end: window.start + within.end as u64,
        line,
        end_line,
        column,
        end_column,
        matched: Secret::new(matched),
        secret: Secret::new(secret),
        line_text: Secret::new(line_text(bytes, within.start)),
        entropy: entry.entropy,
        tags: entry.tags.clone().into(),
        severity: Severity::default(),
        confidence: Confidence::default(),
        within: entry.tags.iter().filter_map(|tag| tag.strip_prefix("decoded:")).map(str::to_owned).collect(),
        remedy: None,
    };
    let whole = window.previous_end.is_none() && window.next_start.is_none();
    Hit { finding, window: bytes, span: within, decoded, whole, place: (window.origin.id, window.start) }
}

/// The secret's own bytes: where the report shows U+FFFD for some of them, they are taken from the match.
fn secret_bytes(matched: &[u8], entry: &Entry) -> Vec<u8> {
    if let Some(at) = matched.find(entry.secret.as_bytes()) {
        return matched.get(at..at + entry.secret.len()).unwrap_or_default().to_vec();
    }
    let shown_from = |from: usize| matched.get(from..).map(as_reported).unwrap_or_default();
    let from = (0..matched.len()).find(|from| shown_from(*from).starts_with(&entry.secret)).unwrap_or(0);
    let to = (from..=matched.len())
        .find(|to| matched.get(from..*to).is_some_and(|bytes| as_reported(bytes) == entry.secret))
        .unwrap_or(matched.len());
    matched.get(from..to).unwrap_or_default().to_vec()
}

/// Line and column of a byte of a window, as gitleaks counts them in a whole file: from 1, and one
/// too high on every line but the first.
fn position(window: &Window, bytes: &[u8], offset: usize) -> (u64, u64) {
    let before = bytes.get(..offset).unwrap_or_default();
    let line = window.line + memchr::memchr_iter(b'\n', before).count() as u64;
    let in_line = match memchr::memrchr(b'\n', before) {
        Some(feed) => (offset - feed - 1) as u64,
        None => window.before + offset as u64,
    };
    (line, in_line + if line == 1 { 1 } else { 2 })
}

/// The line around a byte, its beginning cut when it is longer than [`LINE_LIMIT`].
fn line_text(bytes: &[u8], offset: usize) -> &[u8] {
    let from = memchr::memrchr(b'\n', bytes.get(..offset).unwrap_or_default()).map_or(0, |feed| feed + 1);
    let to = memchr::memchr(b'\n', bytes.get(offset..).unwrap_or_default()).map_or(bytes.len(), |feed| offset + feed);
    let from = if to - from <= LINE_LIMIT { from } else { offset.saturating_sub(LINE_LIMIT / 4).max(from) };
    bytes.get(from..to.min(from + LINE_LIMIT)).unwrap_or_default()
}
