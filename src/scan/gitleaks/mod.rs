//! The real gitleaks as a second engine, driven so that what it did not read is noticed.
//!
//! Promise: a reading exists only when gitleaks logged exactly the bytes it was given, found our
//! secrets in the first and in the last block of the same run, and every finding it reported stands
//! in the payload where it said. What a window cannot hold (a match longer than
//! [`windows::OVERLAP`] at a window's edge) and rules that its schema cannot express rest on the
//! embedded engine; [`Engine::notes`] says so.
//!
//! Paths, path allowlists, fingerprints and inline comments are not gitleaks' here: it is given no path.

pub mod child;
pub mod locate;
mod pool;
pub mod program;
pub mod report;
pub mod windows;

use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::payload::{Content, Item};
use crate::text::SafeText;

use super::embedded::{RuleSet, express};
use super::engine::EngineFaultKind;
use super::{Engine, EngineFault, Finding, Identity, Reading, Session};

use locate::Hit;
use pool::Pool;
pub use program::{GitleaksProgram, locate, present};
use windows::Batch;

/// The engine's name in reports.
pub const NAME: &str = "gitleaks";

/// The rules in force, as gitleaks is told them.
pub struct Expressed {
    /// A configuration in gitleaks' schema.
    pub toml: String,
    /// How many rules it holds.
    pub rules: usize,
    /// What could not be expressed, and so rests on the embedded engine.
    pub notes: Vec<SafeText>,
    /// Decides on what gitleaks reports.
    pub judge: Arc<dyn Judge>,
}

impl Expressed {
    /// gitleaks' own rules, which a person may ask for instead of those in force.
    pub fn gitleaks_own() -> Self {
        Self {
            toml: "[extend]\nuseDefault = true\n".to_owned(),
            rules: OWN_RULES,
            notes: vec![SafeText::new("gitleaks' own rules for paths are not in force: it is given no path")],
            judge: Arc::new(AsReported),
        }
    }
}

/// How many rules gitleaks 8.30.1 has of its own.
const OWN_RULES: usize = 222;

/// Decides on a finding by what gitleaks was not told: paths, checksums, context, words near it.
pub trait Judge: Send + Sync {
    /// The finding as it counts, or `None` where it does not.
    fn judge(&self, hit: Hit<'_>) -> Option<Finding>;
}

/// A judge that lets every finding count as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsReported;

impl Judge for AsReported {
    fn judge(&self, hit: Hit<'_>) -> Option<Finding> {
        Some(hit.finding)
    }
}

/// How the engine is run.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// How many gitleaks may run side by side; at least 1.
    pub processes: usize,
    /// Bytes of payload to come, so that the work can be shared out; 0 when not known.
    pub expected_bytes: u64,
    /// When the answer must be there.
    pub deadline: Option<Instant>,
}

/// The real gitleaks.
pub struct GitleaksEngine {
    identity: Identity,
    notes: Vec<SafeText>,
    pool: Arc<Pool>,
}

impl GitleaksEngine {
    /// Prepares runs of a program with rules.
    ///
    /// # Errors
    /// When there are no rules, or the place to run it in cannot be made.
    pub fn new(program: &GitleaksProgram, rules: Expressed, drive: Drive) -> Result<Self, EngineFault> {
        if rules.rules == 0 {
            return Err(report::fault(EngineFaultKind::Rules, "no rule can be expressed in its schema"));
        }
        let identity = Identity {
            name: NAME.to_owned(),
            version: program.version.clone(),
            rules: rules.rules,
            digest: hex::encode(Sha256::digest(rules.toml.as_bytes())),
        };
        let place = child::Place::new(&program.path, drive.deadline)?;
        Ok(Self { identity, notes: rules.notes, pool: Pool::new(place, rules.toml, rules.judge, drive) })
    }

    /// Prepares runs of a program with the rules in force.
    ///
    /// # Errors
    /// As [`GitleaksEngine::new`].
    pub fn of_rules(program: &GitleaksProgram, rules: &Arc<RuleSet>, drive: Drive) -> Result<Self, EngineFault> {
        Self::new(program, express::to_gitleaks_toml(rules), drive)
    }
}

impl Drop for GitleaksEngine {
    fn drop(&mut self) {
        self.pool.end();
    }
}

impl Engine for GitleaksEngine {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineFault> {
        self.pool.open();
        Ok(Box::new(OneSession { pool: &self.pool, batch: Batch::default() }))
    }

    fn notes(&self) -> Vec<SafeText> {
        let mut notes = self.notes.clone();
        let split = self.pool.split_items();
        if split > 0 {
            let text = format!(
                "gitleaks read {split} large items in pieces that share {} bytes; longer matches rest on the embedded engine",
                windows::OVERLAP
            );
            notes.push(SafeText::new(&text));
        }
        notes
    }
}

struct OneSession<'a> {
    pool: &'a Arc<Pool>,
    batch: Batch,
}

impl Session for OneSession<'_> {
    fn scan(&mut self, item: &Item, part: usize, content: Content<'_>) -> Result<(), EngineFault> {
        let pool = self.pool;
        self.batch.add(item, part, content, &mut |batch| pool.offer(batch))
    }

    fn finish(mut self: Box<Self>) -> Result<Reading, EngineFault> {
        self.pool.close(std::mem::take(&mut self.batch))
    }
}
