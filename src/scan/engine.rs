//! What an engine is: it takes items and returns findings, and the bytes it consumed.
//!
//! Promise: a [`Reading`] counts what the engine itself read, not what it was offered. Each engine
//! must find its self-test secret in the same run (a rule and an item of our own, injected beside
//! the rules and the payload, never reported and never counted), else it fails: so zero rules, or an
//! engine that looks away, is never accepted.

use std::io::Read;

use crate::payload::{Content, Item, Tally};
use crate::text::SafeText;

use super::{Finding, ScanFault};

/// Which engine it was, for reports and for the cache's key.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Identity {
    /// `embedded` or `gitleaks`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How many rules were in force.
    pub rules: usize,
    /// SHA-256 of the rules in force, hexadecimal.
    pub digest: String,
}

/// What one session read and found.
#[derive(Debug, Default)]
pub struct Reading {
    /// What it found, in any order.
    pub findings: Vec<Finding>,
    /// What it read, counted by the engine.
    pub consumed: Tally,
}

/// Something that reads payload and finds secrets. Shared by threads.
pub trait Engine: Send + Sync {
    /// Which engine it is.
    fn identity(&self) -> Identity;

    /// Opens a session for one thread.
    ///
    /// # Errors
    /// When the engine cannot be started.
    fn session(&self) -> Result<Box<dyn Session + '_>, EngineFault>;

    /// What it could not hold, so that it rests on another engine; complete when all sessions are done.
    fn notes(&self) -> Vec<SafeText> {
        Vec::new()
    }
}

/// One thread's use of an engine.
pub trait Session {
    /// Reads one item; `part` is the part of the payload it belongs to, to be noted in its findings.
    ///
    /// # Errors
    /// When it cannot read it whole.
    fn scan(&mut self, item: &Item, part: usize, content: Content<'_>) -> Result<(), EngineFault>;

    /// Ends the session: what is still buffered is read, the self-test is judged.
    ///
    /// # Errors
    /// When the engine failed, or did not find its self-test secret.
    fn finish(self: Box<Self>) -> Result<Reading, EngineFault>;
}

/// Why an engine proves nothing.
#[derive(Debug, thiserror::Error)]
#[error("{engine}: {what}")]
pub struct EngineFault {
    /// Which engine.
    pub engine: &'static str,
    /// What happened, with numbers.
    pub what: SafeText,
    /// What kind of failure.
    pub kind: EngineFaultKind,
}

/// Kinds of engine failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFaultKind {
    /// It is not there, or is not the recorded one.
    Absent,
    /// Its rules or configuration are not usable.
    Rules,
    /// It died, hung, or reported nonsense.
    Broken,
    /// It did not find its own self-test secret.
    SelfTest,
    /// It did not read everything.
    ShortRead,
    /// The content cannot be read within bounds (an archive bomb).
    Content,
}

/// How much of a streamed item is handed to an engine that wants it whole.
const SPOOL: u64 = 1 << 20;

/// Gives one stream to several sessions: each gets a stream of its own over a spooled copy.
pub(super) struct Tee<'a, 's> {
    stream: &'a mut dyn Read,
    item: &'a Item,
    part: usize,
    sessions: &'a mut [Box<dyn Session + 's>],
}

impl<'a, 's> Tee<'a, 's> {
    pub(super) fn new(
        stream: &'a mut dyn Read,
        item: &'a Item,
        part: usize,
        sessions: &'a mut [Box<dyn Session + 's>],
    ) -> Self {
        Self { stream, item, part, sessions }
    }

    /// One session reads the stream itself; several read copies from a temporary file, so that
    /// memory stays bounded.
    pub(super) fn run(&mut self) -> Result<(), ScanFault> {
        if let [only] = &mut *self.sessions {
            return Ok(only.scan(self.item, self.part, Content::Stream(self.stream))?);
        }
        let broken = |error: std::io::Error| crate::payload::Fault::File {
            path: "temporary copy of a large item".into(),
            what: error.to_string().into(),
        };
        let mut spool = tempfile::SpooledTempFile::new(SPOOL as usize);
        std::io::copy(self.stream, &mut spool).map_err(broken)?;
        for session in self.sessions.iter_mut() {
            std::io::Seek::rewind(&mut spool).map_err(broken)?;
            session.scan(self.item, self.part, Content::Stream(&mut spool))?;
        }
        Ok(())
    }
}
