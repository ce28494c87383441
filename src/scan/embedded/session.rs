//! The engine and its sessions: items in, findings and counts out.
//!
//! Promise: every byte of an item is looked at, however it is handed over, and counted where it is
//! looked at. Large items are read through windows that overlap; where a window ends depends on the
//! item alone and not on how it arrives.

use std::io::{Cursor, Read, Seek, Write};
use std::rc::Rc;
use std::sync::Arc;

use tempfile::SpooledTempFile;

use super::allowlist;
use super::archive::{self, Budget};
use super::detect::{Detector, Hit, Wanted};
use super::fragment::{self, Cut, Cutter};
use super::pattern::UNBOUNDED_SPAN;
use super::rules::RuleSet;
use super::selftest::{self, SelfTest};
use super::shared::Shared;
use super::subject::{Seen, Subject, places, tree_names};
use super::told::{self, Base};
use super::translate::PatternFault;
use super::unpack::ending;
use super::windows::{self, Window, Windows};
use crate::payload::{Content, Elsewhere, Item, ItemKind};
use crate::scan::engine::EngineFaultKind;
use crate::scan::{Engine, EngineFault, Identity, Reading, Secret, Session};
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
    /// What any item may unpack to beyond 256 times its own size, in bytes; a bomb unpacks to more.
    pub unpacked_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { compat: false, decode_depth: 5, unpacked_bytes: 256 << 20 }
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
        if rules.is_empty() {
            return Err(engine_fault(EngineFaultKind::Rules, "there are no rules"));
        }
        let self_test = SelfTest::new().ok_or_else(|| {
            engine_fault(EngineFaultKind::Broken, "the system gives no random bytes for the self-test")
        })?;
        let shared = Shared::new(rules, self_test)
            .ok_or_else(|| engine_fault(EngineFaultKind::Rules, "there are more than 65,535 rules or keywords"))?;
        Ok(Self { shared, options })
    }

    /// Which engine one with these rules is.
    pub fn identity_of(rules: &RuleSet) -> Identity {
        Identity {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rules: rules.len(),
            digest: rules.digest().to_owned(),
        }
    }

    /// The rules in force.
    pub fn rules(&self) -> &Arc<RuleSet> {
        &self.shared.set
    }
}

impl Engine for EmbeddedEngine {
    fn identity(&self) -> Identity {
        Self::identity_of(&self.shared.set)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineFault> {
        Ok(Box::new(EmbeddedSession::new(&self.shared, self.options)))
    }

    fn notes(&self) -> Vec<SafeText> {
        self.shared.notes()
    }
}

pub(super) struct EmbeddedSession<'e> {
    pub(super) shared: &'e Shared,
    pub(super) options: Options,
    detector: Detector<'e>,
    pub(super) reading: Reading,
    /// What archives in base64 of the item that is read may still cost.
    pub(super) packed: Option<Rc<Budget>>,
    /// What is read is the self-test's.
    is_self_test: bool,
}

/// What is taken from a stream at once.
const STEP: usize = 256 << 10;
/// A stream up to this size is taken whole.
const SMALL: usize = 1 << 20;
/// The least that a window goes on behind its core.
const LEAST_MARGIN: usize = 64 << 10;

impl<'e> EmbeddedSession<'e> {
    fn new(shared: &'e Shared, options: Options) -> Self {
        let wanted = Wanted { compat: options.compat, decode_depth: options.decode_depth };
        Self {
            shared,
            options,
            detector: Detector::new(shared, wanted),
            reading: Reading::default(),
            packed: None,
            is_self_test: false,
        }
    }

    /// Everything of an item or a member: its bytes as they are, and what they unpack to. An item's own
    /// budget is made when it turns out to be an archive.
    fn content(
        &mut self,
        subject: Subject<'_>,
        content: Content<'_>,
        budget: Option<&Budget>,
    ) -> Result<u64, EngineFault> {
        match content {
            Content::Whole(bytes) => {
                let first = self.reading.findings.len();
                self.whole(subject, bytes)?;
                if let Some(format) = self.archive(bytes, bytes) {
                    self.unpack_all(subject, format, first, &mut Cursor::new(bytes), bytes, budget)?;
                }
                self.note_foreign(subject, bytes);
                Ok(bytes.len() as u64)
            }
            Content::Stream(stream) => self.stream(subject, stream, budget),
        }
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

    pub(super) fn stream(
        &mut self,
        subject: Subject<'_>,
        stream: &mut dyn Read,
        budget: Option<&Budget>,
    ) -> Result<u64, EngineFault> {
        let mut bytes = Vec::new();
        let mut first = (&mut *stream).take(SMALL as u64 + 1);
        first.read_to_end(&mut bytes).map_err(|error| short(&error))?;
        if bytes.len() <= SMALL || self.options.compat {
            stream.read_to_end(&mut bytes).map_err(|error| short(&error))?;
            return self.content(subject, Content::Whole(&bytes), budget);
        }
        let format = self.archive(&bytes, &[]);
        let first = self.reading.findings.len();
        // Archives are read twice: as they are, and unpacked.
        let is_kept = format.is_some() || !self.options.compat && archive::may_end_as_zip(&bytes);
        let mut spool = is_kept.then(|| SpooledTempFile::new(SMALL));
        self.note_foreign(subject, &bytes);
        let mut windows = Windows::new(self.margin());
        // Given back now, they would have the allocator keep all that is freed up to their size.
        let mut rest = bytes.as_slice().chain(stream);
        let mut count = 0;
        loop {
            let taken = windows.take_from(&mut rest, STEP).map_err(|error| short(&error))?;
            if taken.is_empty() {
                break;
            }
            count += taken.len() as u64;
            if let Some(spool) = &mut spool {
                spool.write_all(taken).map_err(|error| short(&error))?;
            }
            self.ready(subject, &mut windows)?;
        }
        drop(bytes);
        self.rest(subject, &mut windows)?;
        drop(windows);
        if let Some(mut spool) = spool {
            let format = match format {
                Some(format) => Some(format),
                None => ending(&mut spool, count).map_err(|error| short(&error))?,
            };
            if let Some(format) = format {
                spool.rewind().map_err(|error| short(&error))?;
                self.unpack_all(subject, format, first, &mut spool, &[], budget)?;
            }
        }
        Ok(count)
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
                    let rule = self.shared.rule(rule);
                    self.reading.findings.push(told::unterminated(rule, subject, window, start));
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

    /// The item as gitleaks cuts it.
    fn fragments(&mut self, subject: Subject<'_>, bytes: &[u8]) -> Result<(), EngineFault> {
        if self.walker_skips(subject.path())? {
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
    fn walker_skips(&self, path: Option<&[u8]>) -> Result<bool, EngineFault> {
        let Some(path) = path else { return Ok(false) };
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

    /// One text with all rules, as seen at every place of the item; where something began that could go on
    /// behind it, and of which rule.
    pub(super) fn text(
        &mut self,
        subject: Subject<'_>,
        text: &[u8],
        base: Base,
    ) -> Result<Option<(usize, usize)>, EngineFault> {
        let mut open: Option<(usize, usize)> = None;
        for seen in subject.seen {
            let here = self.text_at(subject, *seen, text, base)?;
            open = open.into_iter().chain(here).min();
        }
        if !self.options.compat && !self.is_self_test {
            self.unpack_base64(subject, text, base)?;
        }
        Ok(open)
    }

    fn text_at(
        &mut self,
        subject: Subject<'_>,
        seen: Seen<'_>,
        text: &[u8],
        base: Base,
    ) -> Result<Option<(usize, usize)>, EngineFault> {
        let place = seen.place;
        let is_exempt = self.options.compat && self.is_self_test;
        let lists = &self.shared.set.allowlists;
        if !is_exempt && allowlist::any_allows_place(lists, place).map_err(|error| pattern_fault(&error))? {
            return Ok(None);
        }
        let first_line = usize::try_from(base.line).unwrap_or(usize::MAX) + 1;
        let found = self.detector.detect(text, first_line, place).map_err(|error| pattern_fault(&error))?;
        let counts =
            |hit: &Hit| if hit.is_file { base.is_first } else { (base.core.0..base.core.1).contains(&hit.span.0) };
        let mut line: Option<((usize, usize), Secret)> = None;
        for hit in found.hits.iter().filter(|hit| counts(hit)) {
            let line_text = match &line {
                Some((of, line_text)) if *of == hit.line => line_text.clone(),
                _ => line.insert((hit.line, told::line_text(text, hit))).1.clone(),
            };
            let finding = told::finding(self.shared.rule(hit.rule), (subject, seen), line_text, base, hit);
            self.reading.findings.push(finding);
        }
        Ok(found.open)
    }

    /// Looks for the self-test's secret in a text of its own.
    fn self_test(&mut self) -> Result<bool, EngineFault> {
        let item =
            Item { kind: ItemKind::Blob, oid: None, size: 0, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
        let subject = Subject { item: &item, part: 0, seen: &[Seen::default()], within: &[] };
        let found = std::mem::take(&mut self.reading.findings);
        self.is_self_test = true;
        let mut passed = false;
        for _ in 0..selftest::ATTEMPTS {
            let Some(text) = self.shared.self_test.text() else { break };
            self.whole(subject, &text)?;
            passed = self.reading.findings.iter().any(|finding| finding.rule == self.shared.self_test.rule.id);
            if passed {
                break;
            }
        }
        self.is_self_test = false;
        self.reading.findings = found;
        Ok(passed)
    }
}

fn short(error: &std::io::Error) -> EngineFault {
    engine_fault(EngineFaultKind::ShortRead, format!("the item cannot be read: {error}"))
}

impl Session for EmbeddedSession<'_> {
    fn scan(&mut self, item: &Item, part: usize, content: Content<'_>) -> Result<(), EngineFault> {
        self.packed = None;
        let commit = item.commit.map(|commit| commit.to_string());
        let seen = places(item, commit.as_deref());
        let subject = Subject { item, part, seen: &seen, within: &[] };
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
            (_, content) => self.content(subject, content, None)?,
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
