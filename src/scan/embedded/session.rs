//! The engine and its sessions: items in, findings and counts out.
//!
//! Promise: every byte of an item is looked at, however it is handed over, and counted where it is
//! looked at. Large items are read through windows that overlap; where a window ends depends on the
//! item alone and not on how it arrives.

use std::io::Read;
use std::sync::Arc;

use super::allowlist::{self, Place};
use super::detect::{Detector, Hit, Wanted};
use super::fragment::{self, Cut, Cutter};
use super::rules::RuleSet;
use super::selftest::{self, SelfTest};
use super::shared::Shared;
use super::translate::PatternFault;
use crate::payload::{Content, Item, ItemKind};
use crate::scan::engine::EngineFaultKind;
use crate::scan::finding::Secret;
use crate::scan::{Engine, EngineFault, Finding, Identity, Reading, Session};
use crate::text::SafeText;

/// The engine's name in reports.
pub const NAME: &str = "embedded";

/// What is asked of the engine beyond its rules.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Read what gitleaks would read, find what it would find, and nothing more. For comparison.
    pub compat: bool,
    /// How often decoded text is decoded again; gitleaks' default is 5.
    pub decode_depth: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { compat: false, decode_depth: 5 }
    }
}

/// The embedded engine.
#[derive(Debug)]
pub struct EmbeddedEngine {
    shared: Shared,
    options: Options,
}

pub(super) fn engine_fault(kind: EngineFaultKind, what: impl Into<String>) -> EngineFault {
    EngineFault { engine: NAME, what: SafeText::from(what.into()), kind }
}

fn pattern_fault(error: &PatternFault) -> EngineFault {
    engine_fault(EngineFaultKind::Rules, format!("a regex of the rules in force cannot be used: {error}"))
}

impl EmbeddedEngine {
    /// An engine with these rules.
    ///
    /// # Errors
    /// When there are no rules, or more than the engine can hold.
    pub fn new(rules: Arc<RuleSet>, options: Options) -> Result<Self, EngineFault> {
        if rules.rules().is_empty() {
            return Err(engine_fault(EngineFaultKind::Rules, "there are no rules"));
        }
        let self_test = SelfTest::new().ok_or_else(|| {
            engine_fault(EngineFaultKind::Broken, "the system gives no random bytes for the self-test")
        })?;
        let shared = Shared::new(rules, self_test)
            .ok_or_else(|| engine_fault(EngineFaultKind::Rules, "there are more than 65,535 rules or keywords"))?;
        Ok(Self { shared, options })
    }

    /// The rules in force.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.shared.set
    }
}

impl Engine for EmbeddedEngine {
    fn identity(&self) -> Identity {
        Identity {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rules: self.shared.set.rules().len(),
            digest: self.shared.set.digest().to_owned(),
        }
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineFault> {
        Ok(Box::new(EmbeddedSession::new(&self.shared, self.options)))
    }
}

struct EmbeddedSession<'e> {
    shared: &'e Shared,
    options: Options,
    detector: Detector<'e>,
    reading: Reading,
}

/// Where a text begins in its item.
#[derive(Clone, Copy, Default)]
struct Base {
    offset: u64,
    /// 0-based.
    line: u64,
}

/// An item while it is read.
#[derive(Clone, Copy)]
struct Subject<'i> {
    item: &'i Item,
    part: usize,
    place: Place<'i>,
}

/// A line is kept up to so many bytes.
const LONGEST_LINE: usize = 16 << 10;

impl<'e> EmbeddedSession<'e> {
    fn new(shared: &'e Shared, options: Options) -> Self {
        let wanted = Wanted { compat: options.compat, decode_depth: options.decode_depth };
        Self { shared, options, detector: Detector::new(shared, wanted), reading: Reading::default() }
    }

    fn read(&mut self, subject: Subject<'_>, content: Content<'_>) -> Result<u64, EngineFault> {
        match content {
            Content::Whole(bytes) => {
                self.whole(subject, bytes)?;
                Ok(bytes.len() as u64)
            }
            Content::Stream(stream) => self.stream(subject, stream),
        }
    }

    fn whole(&mut self, subject: Subject<'_>, bytes: &[u8]) -> Result<(), EngineFault> {
        if self.options.compat {
            return self.fragments(subject, bytes);
        }
        self.text(subject, bytes, Base::default())
    }

    fn stream(&mut self, subject: Subject<'_>, stream: &mut dyn Read) -> Result<u64, EngineFault> {
        let mut bytes = Vec::new();
        stream
            .read_to_end(&mut bytes)
            .map_err(|error| engine_fault(EngineFaultKind::ShortRead, format!("the item cannot be read: {error}")))?;
        self.whole(subject, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The item as gitleaks cuts it.
    fn fragments(&mut self, subject: Subject<'_>, bytes: &[u8]) -> Result<(), EngineFault> {
        if self.walker_skips(subject)? {
            return Ok(());
        }
        let mut cutter = Cutter::default();
        let mut base = Base::default();
        let mut rest = bytes;
        while let Cut::Fragment(length) = cutter.next(rest) {
            let (fragment, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.text(subject, fragment, base)?;
            base = Base { offset: base.offset + length as u64, line: cutter.feeds as u64 };
            rest = behind;
        }
        Ok(())
    }

    /// Whether gitleaks' walk through a directory leaves a file out: by its name, or because a path of
    /// any global allowlist matches, also of one whose other parts do not hold.
    fn walker_skips(&self, subject: Subject<'_>) -> Result<bool, EngineFault> {
        let Some(path) = subject.place.path else { return Ok(false) };
        if fragment::is_archive_name(path) {
            return Ok(true);
        }
        for list in &self.shared.set.allowlists {
            if list.allows_path(Some(path)).map_err(|error| pattern_fault(&error))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One text with all rules.
    fn text(&mut self, subject: Subject<'_>, text: &[u8], base: Base) -> Result<(), EngineFault> {
        if allowlist::any_allows_place(&self.shared.set.allowlists, subject.place)
            .map_err(|error| pattern_fault(&error))?
        {
            return Ok(());
        }
        let first_line = usize::try_from(base.line).unwrap_or(usize::MAX) + 1;
        let found = self.detector.detect(text, first_line, subject.place).map_err(|error| pattern_fault(&error))?;
        for hit in found.hits {
            let finding = self.finding(subject, text, base, &hit);
            self.reading.findings.push(finding);
        }
        Ok(())
    }

    fn finding(&self, subject: Subject<'_>, text: &[u8], base: Base, hit: &Hit) -> Finding {
        let rule = self.shared.rule(hit.rule);
        let line = |line: usize| if hit.is_file { 0 } else { base.line + line as u64 + 1 };
        let mut tags: Vec<String> = rule.tags.to_vec();
        let mut within = Vec::new();
        if let Some((kinds, depth)) = hit.decoded {
            tags.extend(kinds.names().map(|name| format!("decoded:{name}")));
            tags.push(format!("decode-depth:{depth}"));
            within.extend(kinds.names().map(str::to_owned));
        }
        let line_end = hit.line.1.min(hit.line.0 + LONGEST_LINE);
        Finding {
            rule: Arc::clone(&rule.id),
            description: Arc::clone(&rule.description),
            engine: NAME,
            item: subject.item.clone(),
            part: subject.part,
            // A file that is a finding itself is told once for each text, as gitleaks does.
            start: base.offset + hit.span.0 as u64,
            end: base.offset + hit.span.1 as u64,
            line: line(hit.location.line),
            end_line: line(hit.location.end_line),
            column: hit.location.column as u64,
            end_column: hit.location.end_column as u64,
            matched: Secret::new(hit.matched.clone()),
            secret: Secret::new(hit.secret.clone()),
            line_text: Secret::new(text.get(hit.line.0..line_end).unwrap_or_default()),
            entropy: hit.entropy as f32,
            tags: if hit.decoded.is_some() { tags.into() } else { Arc::clone(&rule.tags) },
            severity: rule.severity,
            confidence: hit.confidence,
            within,
            remedy: rule.remedy.clone(),
        }
    }

    /// Looks for the self-test's secret in a text of its own.
    fn self_test(&mut self) -> Result<bool, EngineFault> {
        let item = Item { kind: ItemKind::Blob, oid: None, size: 0, path: None, commit: None };
        let subject = Subject { item: &item, part: 0, place: Place::default() };
        let found = std::mem::take(&mut self.reading.findings);
        let mut passed = false;
        for _ in 0..selftest::ATTEMPTS {
            let Some(text) = self.shared.self_test.text() else { break };
            self.whole(subject, &text)?;
            passed = self.reading.findings.iter().any(|finding| finding.rule == self.shared.self_test.rule.id);
            if passed {
                break;
            }
        }
        self.reading.findings = found;
        Ok(passed)
    }
}

/// The names of a tree's entries, one a line; the rest as it is when it is no tree.
pub(in crate::scan) fn tree_names(bytes: &[u8]) -> Vec<u8> {
    let mut names = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    // An entry is mode, space, name, NUL, and an id of 20 or 32 bytes; which one shows where the next
    // entry begins with an octal mode.
    while let Some(end) = memchr::memchr(0, rest) {
        let entry = rest.get(..end).unwrap_or_default();
        names.extend_from_slice(entry.splitn(2, |&byte| byte == b' ').nth(1).unwrap_or(entry));
        names.push(b'\n');
        let behind = rest.get(end + 1..).unwrap_or_default();
        let next = [20, 32].into_iter().find(|&length| {
            behind
                .get(length..)
                .is_some_and(|next| next.is_empty() || next.first().is_some_and(|byte| (b'0'..=b'7').contains(byte)))
        });
        rest = match next {
            Some(length) => behind.get(length..).unwrap_or_default(),
            None => behind,
        };
    }
    names.extend_from_slice(rest);
    names
}

impl Session for EmbeddedSession<'_> {
    fn scan(&mut self, item: &Item, part: usize, content: Content<'_>) -> Result<(), EngineFault> {
        let commit = item.commit.map(|commit| commit.to_string());
        let place = Place { path: item.path.as_ref().map(|path| path.as_slice()), commit: commit.as_deref() };
        let subject = Subject { item, part, place };
        let bytes = match (item.kind, content) {
            (ItemKind::Tree, Content::Whole(bytes)) => {
                self.whole(subject, &tree_names(bytes))?;
                bytes.len() as u64
            }
            (ItemKind::Tree, Content::Stream(stream)) => {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).map_err(|error| {
                    engine_fault(EngineFaultKind::ShortRead, format!("a tree cannot be read: {error}"))
                })?;
                self.whole(subject, &tree_names(&bytes))?;
                bytes.len() as u64
            }
            (_, content) => self.read(subject, content)?,
        };
        self.reading.consumed.add(bytes);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Reading, EngineFault> {
        if !self.self_test()? {
            let what = "the self-test's secret was not found, so nothing is proven; an allowlist may allow everything";
            return Err(engine_fault(EngineFaultKind::SelfTest, what));
        }
        Ok(std::mem::take(&mut self.reading))
    }
}
