//! The proof that a scan read everything.
//!
//! Promise: a [`Coverage`] exists only when every engine consumed exactly the objects and bytes that
//! the manifest promised. [`Coverage::prove`] is the only place one is born, so that is the only
//! function a reviewer has to trust.

use crate::payload::Tally;

use super::Identity;

/// Proof that every engine consumed exactly the payload that its manifest promised.
///
/// Its fields are private and it is neither `Clone` nor `Default`.
///
/// ```compile_fail
/// let forged = tyran::scan::Coverage { promised: Default::default(), engines: Vec::new() };
/// ```
#[derive(Debug)]
pub struct Coverage {
    promised: Tally,
    engines: Vec<EngineCoverage>,
}

/// What one engine read.
#[derive(Clone, Debug)]
pub struct EngineCoverage {
    /// Which engine.
    pub identity: Identity,
    /// What it counted itself.
    pub consumed: Tally,
    /// Milliseconds from the start of the scan until all engines were done.
    pub millis: u64,
}

/// What is missing from a proof.
#[derive(Debug, thiserror::Error)]
pub enum Gap {
    /// An empty payload proves nothing: "nothing to publish" is the plan's word to give.
    #[error("the payload is empty, which proves nothing")]
    Empty,
    /// No engine read anything.
    #[error("no engine was run")]
    NoEngine,
    /// An engine had no rule.
    #[error("{engine} had no rules")]
    NoRules {
        /// Which engine.
        engine: String,
    },
    /// The counts differ.
    #[error("{engine} consumed {} of {} bytes, {} of {} objects", .consumed.bytes, .promised.bytes, .consumed.objects, .promised.objects)]
    Differs {
        /// Which engine.
        engine: String,
        /// What the manifest promised.
        promised: Tally,
        /// What the engine counted.
        consumed: Tally,
    },
}

impl Coverage {
    /// `promised` comes from object headers and file sizes, each `consumed` from the engine that
    /// read: different sources.
    ///
    /// # Errors
    /// When anything differs, when nothing was promised, or when nobody read.
    pub fn prove(promised: Tally, engines: Vec<EngineCoverage>) -> Result<Self, Gap> {
        if promised.is_empty() {
            return Err(Gap::Empty);
        }
        if engines.is_empty() {
            return Err(Gap::NoEngine);
        }
        for engine in &engines {
            if engine.identity.rules == 0 {
                return Err(Gap::NoRules { engine: engine.identity.name.clone() });
            }
            if engine.consumed != promised {
                return Err(Gap::Differs { engine: engine.identity.name.clone(), promised, consumed: engine.consumed });
            }
        }
        Ok(Self { promised, engines })
    }

    /// Objects and bytes that were promised and read.
    pub fn tally(&self) -> Tally {
        self.promised
    }

    /// What each engine read.
    pub fn engines(&self) -> &[EngineCoverage] {
        &self.engines
    }
}
