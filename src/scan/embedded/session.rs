//! The engine and its sessions: items in, findings and counts out.
//!
//! Promise: every byte of an item is looked at, however it is handed over, and counted where it is
//! looked at. Large items are read through windows that overlap; where a window ends depends on the
//! item alone and not on how it arrives.

use std::io::{Cursor, Read, Seek, Write};
use std::sync::Arc;

use tempfile::SpooledTempFile;

use super::allowlist::{self, Place};
use super::archive::{self, Budget, Format};
use super::detect::{Detector, Hit, Wanted};
use super::fragment::{self, Cut, Cutter};
use super::pattern::UNBOUNDED_SPAN;
use super::rules::RuleSet;
use super::selftest::{self, SelfTest};
use super::shared::Shared;
use super::translate::PatternFault;
use super::windows::{self, Window, Windows};
use crate::payload::{Content, Item, ItemKind};
use crate::scan::engine::EngineFaultKind;
use crate::scan::finding::Secret;
use crate::scan::{Confidence, Engine, EngineFault, Finding, Identity, Reading, Session};
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

/// Where a text begins in its item, and which of what is found there counts.
#[derive(Clone, Copy)]
struct Base {
    offset: u64,
    /// 0-based.
    line: u64,
    /// What columns on its first line lack.
    column: u64,
    /// Where matches begin that count.
    core: (usize, usize),
    /// A file that is a finding by its path is told with the first text only.
    is_first: bool,
}

impl Base {
    /// A text that counts as a whole.
    fn whole(offset: u64, line: u64) -> Self {
        Self { offset, line, column: 0, core: (0, usize::MAX), is_first: true }
    }
}

/// An item, or a member of an archive, while it is read.
#[derive(Clone, Copy)]
struct Subject<'i> {
    item: &'i Item,
    part: usize,
    place: Place<'i>,
    /// Members of archives that lead to it.
    within: &'i [String],
}

/// A line is kept up to so many bytes.
const LONGEST_LINE: usize = 16 << 10;
/// What is taken from a stream at once.
const STEP: usize = 256 << 10;
/// A stream up to this size is taken whole.
const SMALL: usize = 1 << 20;
/// The least that a window goes on behind its core.
const LEAST_MARGIN: usize = 64 << 10;

impl<'e> EmbeddedSession<'e> {
    fn new(shared: &'e Shared, options: Options) -> Self {
        let wanted = Wanted { compat: options.compat, decode_depth: options.decode_depth };
        Self { shared, options, detector: Detector::new(shared, wanted), reading: Reading::default() }
    }

    /// Everything of an item: its bytes as they are, and what they unpack to.
    fn content(&mut self, subject: Subject<'_>, content: Content<'_>) -> Result<u64, EngineFault> {
        match content {
            Content::Whole(bytes) => {
                self.whole(subject, bytes)?;
                if let Some(format) = self.archive(bytes) {
                    self.unpack(subject, format, &mut Cursor::new(bytes), &Budget::new(bytes.len() as u64))?;
                }
                Ok(bytes.len() as u64)
            }
            Content::Stream(stream) => self.stream(subject, stream),
        }
    }

    fn archive(&self, beginning: &[u8]) -> Option<Format> {
        if self.options.compat { None } else { archive::format(beginning) }
    }

    fn whole(&mut self, subject: Subject<'_>, bytes: &[u8]) -> Result<(), EngineFault> {
        if self.options.compat {
            return self.fragments(subject, bytes);
        }
        let margin = self.margin();
        if bytes.len() <= windows::CORE + margin {
            return self.text(subject, bytes, Base::whole(0, 0)).map(drop);
        }
        let mut windows = Windows::new(margin);
        for step in bytes.chunks(STEP) {
            windows.push(step);
            self.ready(subject, &mut windows)?;
        }
        self.rest(subject, &mut windows)
    }

    fn stream(&mut self, subject: Subject<'_>, stream: &mut dyn Read) -> Result<u64, EngineFault> {
        let short = |error: std::io::Error| {
            engine_fault(EngineFaultKind::ShortRead, format!("the item cannot be read: {error}"))
        };
        let mut bytes = Vec::new();
        let mut first = (&mut *stream).take(SMALL as u64 + 1);
        first.read_to_end(&mut bytes).map_err(short)?;
        if bytes.len() <= SMALL || self.options.compat {
            stream.read_to_end(&mut bytes).map_err(short)?;
            return self.content(subject, Content::Whole(&bytes));
        }
        let format = self.archive(&bytes);
        // Archives are read twice: as they are, and unpacked.
        let mut spool = format.map(|_| SpooledTempFile::new(SMALL));
        let mut windows = Windows::new(self.margin());
        let mut count = 0;
        while !bytes.is_empty() {
            count += bytes.len() as u64;
            if let Some(spool) = &mut spool {
                spool.write_all(&bytes).map_err(short)?;
            }
            windows.push(&bytes);
            self.ready(subject, &mut windows)?;
            bytes.clear();
            (&mut *stream).take(STEP as u64).read_to_end(&mut bytes).map_err(short)?;
        }
        self.rest(subject, &mut windows)?;
        if let (Some(format), Some(mut spool)) = (format, spool) {
            spool.rewind().map_err(short)?;
            self.unpack(subject, format, &mut spool, &Budget::new(count))?;
        }
        Ok(count)
    }

    /// Every member of an archive, and theirs.
    fn unpack(
        &mut self,
        subject: Subject<'_>,
        format: Format,
        source: &mut dyn archive::Source,
        budget: &Budget,
    ) -> Result<(), EngineFault> {
        let exceeded = |why: &str| {
            let path = SafeText::quoted(subject.place.path.unwrap_or_default(), 200);
            engine_fault(EngineFaultKind::Content, format!("the archive {path} cannot be read within bounds: {why}"))
        };
        if subject.within.len() >= archive::DEEPEST {
            return Err(exceeded("archives are nested more than 8 deep"));
        }
        let mut names = Vec::new();
        archive::members(format, source, budget, &mut |name, reader| {
            names.extend_from_slice(name);
            names.push(b'\n');
            self.member(subject, name, reader, budget)
        })?;
        if let Some(why) = budget.exceeded() {
            return Err(exceeded(why));
        }
        self.text(subject, &names, Base::whole(0, 0)).map(drop)
    }

    /// One member: its bytes as they are, and what they unpack to.
    fn member(
        &mut self,
        subject: Subject<'_>,
        name: &[u8],
        reader: &mut dyn Read,
        budget: &Budget,
    ) -> Result<(), EngineFault> {
        let inner = Inner::of(subject, name);
        let subject = inner.subject(subject);
        let mut bytes = Vec::new();
        // What is damaged ends early; what came before is read.
        let ended = (&mut *reader).take(SMALL as u64 + 1).read_to_end(&mut bytes).is_err() || bytes.len() <= SMALL;
        if let Some(format) = archive::format(&bytes) {
            let _ = reader.read_to_end(&mut bytes);
            self.whole(subject, &bytes)?;
            return self.unpack(subject, format, &mut Cursor::new(bytes), budget);
        }
        if ended {
            return self.whole(subject, &bytes);
        }
        let mut windows = Windows::new(self.margin());
        while !bytes.is_empty() {
            windows.push(&bytes);
            self.ready(subject, &mut windows)?;
            bytes.clear();
            let _ = (&mut *reader).take(STEP as u64).read_to_end(&mut bytes);
        }
        self.rest(subject, &mut windows)
    }

    fn margin(&self) -> usize {
        self.shared.widest().max(LEAST_MARGIN)
    }

    /// Reads the windows that are whole.
    fn ready(&mut self, subject: Subject<'_>, windows: &mut Windows) -> Result<(), EngineFault> {
        while windows.lacks() == 0 {
            windows.next(false, |window| self.window(subject, window))?;
        }
        Ok(())
    }

    /// Reads what is left when nothing follows.
    fn rest(&mut self, subject: Subject<'_>, windows: &mut Windows) -> Result<(), EngineFault> {
        while !windows.next(true, |window| self.window(subject, window))? {}
        Ok(())
    }

    fn window(&mut self, subject: Subject<'_>, window: Window<'_>) -> Result<windows::Read, EngineFault> {
        let known = self.reading.findings.len();
        let base = Base {
            offset: window.offset,
            line: window.lines,
            column: window.column,
            core: window.core,
            is_first: window.is_first,
        };
        let open = self.text(subject, window.text, base)?;
        match open.filter(|open| open.0 < window.core.1) {
            None => Ok(windows::Read::Done),
            Some((start, rule)) if window.text.len() - start >= UNBOUNDED_SPAN => {
                if start >= window.core.0 {
                    self.unterminated(subject, window, start, rule);
                }
                Ok(windows::Read::Done)
            }
            Some((start, _)) => {
                // The window is read again when it is longer; at the item's end it stays as it is.
                if window.is_whole {
                    return Ok(windows::Read::Done);
                }
                self.reading.findings.truncate(known);
                Ok(windows::Read::Open(start))
            }
        }
    }

    /// Something that a rule without a bound began, and that did not end within the longest span.
    fn unterminated(&mut self, subject: Subject<'_>, window: Window<'_>, start: usize, rule: usize) {
        let rule = self.shared.rule(rule);
        let end = memchr::memchr(b'\n', window.text.get(start..).unwrap_or_default())
            .map_or(window.text.len(), |at| start + at);
        let text = window.text.get(start..end.min(start + 256)).unwrap_or_default();
        let before = window.text.get(..start).unwrap_or_default();
        let line = window.lines + memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        let column = memchr::memrchr(b'\n', before).map_or(window.column + start as u64, |at| (start - at) as u64);
        self.reading.findings.push(Finding {
            rule: Arc::clone(&rule.id),
            description: Arc::clone(&rule.description),
            engine: NAME,
            item: subject.item.clone(),
            part: subject.part,
            start: if subject.within.is_empty() { window.offset + start as u64 } else { 0 },
            end: if subject.within.is_empty() {
                window.offset + (start + text.len()) as u64
            } else {
                subject.item.size
            },
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
        });
    }

    /// The item as gitleaks cuts it.
    fn fragments(&mut self, subject: Subject<'_>, bytes: &[u8]) -> Result<(), EngineFault> {
        if self.walker_skips(subject)? {
            return Ok(());
        }
        let mut cutter = Cutter::default();
        let mut base = Base::whole(0, 0);
        let mut rest = bytes;
        while let Cut::Fragment(length) = cutter.next(rest) {
            let (fragment, behind) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            self.text(subject, fragment, base)?;
            base = Base::whole(base.offset + length as u64, cutter.feeds as u64);
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

    /// One text with all rules; where something began that could go on behind it, and of which rule.
    fn text(&mut self, subject: Subject<'_>, text: &[u8], base: Base) -> Result<Option<(usize, usize)>, EngineFault> {
        if allowlist::any_allows_place(&self.shared.set.allowlists, subject.place)
            .map_err(|error| pattern_fault(&error))?
        {
            return Ok(None);
        }
        let first_line = usize::try_from(base.line).unwrap_or(usize::MAX) + 1;
        let found = self.detector.detect(text, first_line, subject.place).map_err(|error| pattern_fault(&error))?;
        let counts =
            |hit: &Hit| if hit.is_file { base.is_first } else { (base.core.0..base.core.1).contains(&hit.span.0) };
        for hit in found.hits.iter().filter(|hit| counts(hit)) {
            let finding = self.finding(subject, text, base, hit);
            self.reading.findings.push(finding);
        }
        Ok(found.open)
    }

    fn finding(&self, subject: Subject<'_>, text: &[u8], base: Base, hit: &Hit) -> Finding {
        let rule = self.shared.rule(hit.rule);
        let line = |line: usize| if hit.is_file { 0 } else { base.line + line as u64 + 1 };
        let mut tags: Vec<String> = rule.tags.to_vec();
        let mut within = subject.within.to_vec();
        let column = |column: usize, line: usize| column as u64 + if line == 0 && column > 0 { base.column } else { 0 };
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
            // Of a member of an archive the whole archive is told, and the line in the member.
            start: if subject.within.is_empty() { base.offset + hit.span.0 as u64 } else { 0 },
            end: if subject.within.is_empty() { base.offset + hit.span.1 as u64 } else { subject.item.size },
            line: line(hit.location.line),
            end_line: line(hit.location.end_line),
            column: column(hit.location.column, hit.location.line),
            end_column: column(hit.location.end_column, hit.location.end_line),
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
        let subject = Subject { item: &item, part: 0, place: Place::default(), within: &[] };
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

/// What a member's subject borrows.
struct Inner {
    path: Vec<u8>,
    within: Vec<String>,
}

impl Inner {
    /// A member of what is read: paths are told as gitleaks tells them.
    fn of(subject: Subject<'_>, name: &[u8]) -> Self {
        let outer = subject.place.path.unwrap_or_default();
        let path = if name.is_empty() { outer.to_vec() } else { [outer, b"!", name].concat() };
        let mut within = subject.within.to_vec();
        let shown =
            if name.is_empty() { "uncompressed".to_owned() } else { String::from_utf8_lossy(name).into_owned() };
        within.push(shown);
        Self { path, within }
    }

    fn subject<'i>(&'i self, outer: Subject<'i>) -> Subject<'i> {
        let place = Place { path: Some(&self.path), commit: outer.place.commit };
        Subject { place, within: &self.within, ..outer }
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
        let subject = Subject { item, part, place, within: &[] };
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
            (_, content) => self.content(subject, content)?,
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
