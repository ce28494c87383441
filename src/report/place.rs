//! Where a finding stands, and its line with every secret masked.
//!
//! Promise: a [`MaskedLine`] holds no byte of any secret of the judgement, no long unbroken run that
//! could be one, and nothing that speaks to a terminal. A line in which the secret itself cannot be
//! made out is not shown at all.

use std::path::Path;

use bstr::{BStr, ByteSlice};

use crate::payload::ItemKind;
use crate::scan::Finding;
use crate::text::SafeText;

use super::Judgement;

/// Most characters of a path that are shown.
const PATH_LIMIT: usize = 200;

/// Most bytes of a line that are shown on either side of the secret.
const CONTEXT_BYTES: usize = 48;

/// How much of a line is looked at on either side of the secret.
const NEAR_BYTES: usize = 8192;

/// Longest unbroken run of a line that is shown: names are shorter, keys are longer.
const RUN_LIMIT: usize = 24;

/// Longest row of carets.
const CARET_LIMIT: usize = 40;

/// The path of a finding as it is told, where its item has one that names a file: relative to
/// `directory` where it lies below. Texts (ref names, messages, command lines) have none.
pub(super) fn path_of<'f>(finding: &'f Finding, directory: &Path) -> Option<&'f BStr> {
    match finding.item.kind {
        ItemKind::Blob | ItemKind::Tree | ItemKind::File | ItemKind::Lfs => {}
        ItemKind::Commit | ItemKind::Tag | ItemKind::Ref | ItemKind::Option | ItemKind::Message | ItemKind::Command => {
            return None;
        }
    }
    let path = finding.item.path.as_ref()?.as_bstr();
    let directory = directory.as_os_str().as_encoded_bytes();
    let below = path.strip_prefix(directory).and_then(|rest| rest.strip_prefix(b"/"));
    Some(below.filter(|_| !directory.is_empty()).map_or(path, ByteSlice::as_bstr))
}

/// A finding's place for people: a path, or what else it stands in.
pub(super) fn words(finding: &Finding, directory: &Path) -> SafeText {
    if let Some(path) = path_of(finding, directory) {
        return SafeText::quoted(path, PATH_LIMIT);
    }
    let what = match finding.item.kind {
        ItemKind::Blob => "blob",
        ItemKind::Commit => "commit object",
        ItemKind::Tag => "tag object",
        ItemKind::Tree => "entry names of tree",
        ItemKind::Ref => "ref name",
        ItemKind::Option => "push option",
        ItemKind::Message => "commit message",
        ItemKind::File => "file",
        ItemKind::Lfs => "LFS content",
        ItemKind::Command => "command line",
    };
    match finding.item.oid {
        Some(oid) => SafeText::new(&format!("{what} {}", oid.to_hex_with_len(12))),
        None => SafeText::new(what),
    }
}

/// 1-based column of the first byte. gitleaks counts from the line feed before a line, so that on
/// every line but the first its columns are one too high; what we tell is not.
pub(super) fn column(finding: &Finding) -> u64 {
    if finding.line <= 1 { finding.column } else { finding.column.saturating_sub(1).max(1) }
}

/// 1-based column one past the last byte. gitleaks' own is the last byte's, shifted as above; it is
/// 0 where the match ends on a last line without line feed, then the width of the match is taken.
pub(super) fn end_column(finding: &Finding) -> u64 {
    if finding.end_column == 0 {
        return column(finding) + finding.matched.expose().len() as u64;
    }
    if finding.end_line <= 1 { finding.end_column + 1 } else { finding.end_column }
}

/// A line with its secrets masked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MaskedLine {
    /// The line, cut around the secret.
    pub text: SafeText,
    /// Carets below the masked secret.
    pub carets: String,
}

/// One byte of a line that is to be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Shown,
    Other,
    Own,
}

/// The first line of a finding with every secret of the judgement masked; `None` when the finding's
/// own secret cannot be made out in it, as after decoding.
pub(super) fn masked_line(finding: &Finding, judgement: &Judgement<'_>) -> Option<MaskedLine> {
    let whole = finding.line_text.expose();
    let line = near(whole.strip_prefix(b"\n").unwrap_or(whole).lines().next()?, finding);
    let mut marks = vec![Mark::Shown; line.len()];
    let told = judgement.findings.iter().map(|reported| reported.finding);
    for other in told.chain(judgement.suppressed.iter().map(|suppressed| suppressed.finding)) {
        mark(line, other, Mark::Other, &mut marks);
    }
    mark(line, finding, Mark::Own, &mut marks);
    let first = marks.iter().position(|mark| *mark == Mark::Own)?;
    let last = marks.iter().rposition(|mark| *mark == Mark::Own)?;
    let from = first.saturating_sub(CONTEXT_BYTES);
    let to = (last + 1 + CONTEXT_BYTES).min(line.len());
    Some(drawn(line.get(from..to)?, marks.get(from..to)?, from > 0, to < line.len()))
}

/// The part of a line round the secret, far enough for every other secret that could be shown in part.
fn near<'l>(line: &'l [u8], finding: &Finding) -> &'l [u8] {
    let first = finding.secret.expose().lines().find(|piece| !piece.is_empty()).unwrap_or_default();
    // Where the line was cut to its bound, the secret may only begin at its end.
    let at = line.find(first).unwrap_or(line.len());
    let from = at.saturating_sub(NEAR_BYTES);
    line.get(from..line.len().min(at + first.len() + NEAR_BYTES)).unwrap_or_default()
}

/// Marks every place where the finding's secret stands: whole, or line by line where it has several.
fn mark(line: &[u8], finding: &Finding, with: Mark, marks: &mut [Mark]) {
    for piece in finding.secret.expose().lines().filter(|piece| !piece.is_empty()) {
        for at in places(line, piece) {
            marks.iter_mut().skip(at).take(piece.len()).for_each(|mark| *mark = with);
        }
        // A line that was cut to its bound may hold only the secret's beginning.
        if let Some(at) = cut_short(line, piece) {
            marks.iter_mut().skip(at).for_each(|mark| *mark = with);
        }
    }
}

/// Where the end of `line` is the beginning of `piece`, at least 4 bytes of it.
fn cut_short(line: &[u8], piece: &[u8]) -> Option<usize> {
    let from = line.len().saturating_sub(piece.len());
    let begins = |at: &usize| line.get(*at) == piece.first();
    let mut ends = (from..line.len().saturating_sub(3)).filter(begins);
    ends.find(|at| line.get(*at..).is_some_and(|tail| piece.starts_with(tail)))
}

/// A line up to this length is looked through without preparing for it, which takes longer.
const SHORT_LINE: usize = 512;

/// Where `piece` stands in a line, from left to right, without overlap.
fn places(line: &[u8], piece: &[u8]) -> Vec<usize> {
    if line.len() > SHORT_LINE {
        return line.find_iter(piece).collect();
    }
    let Some((&first, last)) = piece.first().zip(line.len().checked_sub(piece.len())) else { return Vec::new() };
    let mut places: Vec<usize> = Vec::new();
    for at in memchr::memchr_iter(first, line).take_while(|&at| at <= last) {
        let is_free = places.last().is_none_or(|&place| place + piece.len() <= at);
        if is_free && line.get(at..).is_some_and(|rest| rest.starts_with(piece)) {
            places.push(at);
        }
    }
    places
}

/// Draws a piece of a line: masks, shortened runs, carets below the finding's own secret.
fn drawn(line: &[u8], marks: &[Mark], cut_before: bool, cut_after: bool) -> MaskedLine {
    let mut text = String::from(if cut_before { "…" } else { "" });
    let mut carets = " ".repeat(usize::from(cut_before));
    let mut rest = (line, marks);
    while let Some(mark) = rest.1.first().copied() {
        let length = rest.1.iter().take_while(|other| **other == mark).count();
        let (piece, after) = rest.0.split_at(length.min(rest.0.len()));
        let drawn = match mark {
            Mark::Shown => without_long_runs(piece),
            Mark::Other | Mark::Own => "*".repeat(length.min(CARET_LIMIT)),
        };
        let caret = if mark == Mark::Own { "^" } else { " " };
        carets.push_str(&caret.repeat(drawn.chars().count()));
        text.push_str(&drawn);
        rest = (after, rest.1.get(length..).unwrap_or_default());
    }
    text.push_str(if cut_after { "…" } else { "" });
    MaskedLine { text: SafeText::new(&text), carets: carets.trim_end().to_owned() }
}

/// Text with runs of more than [`RUN_LIMIT`] characters without a break left out, and tabs as
/// blanks so that carets stand below what they point at.
fn without_long_runs(bytes: &[u8]) -> String {
    let visible = SafeText::from_bytes(bytes).as_str().replace('\t', " ");
    let mut shown = String::with_capacity(visible.len());
    for piece in visible.split_inclusive(|character: char| !is_of_a_run(character)) {
        let run: usize = piece.chars().filter(|character| is_of_a_run(*character)).count();
        if run <= RUN_LIMIT {
            shown.push_str(piece);
        } else {
            shown.push_str(&format!("({run} characters)"));
            shown.extend(piece.chars().last().filter(|character| !is_of_a_run(*character)));
        }
    }
    shown
}

fn is_of_a_run(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '+' | '/' | '=' | '_' | '-' | '.' | '~' | '%')
}
