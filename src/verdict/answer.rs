//! The answer itself.

use crate::scan::Coverage;

use super::Refusal;

/// The gate's answer. No `Default`, no `From<bool>`, nothing that means "allow".
#[must_use = "a verdict nobody emits leaves the gate open"]
#[derive(Debug)]
pub enum Verdict {
    /// No objection.
    Pass(Clearance),
    /// A person must decide; where a host cannot ask, this is emitted as a refusal.
    Ask(Question),
    /// No.
    Refuse(Refusal),
}

/// The grounds for passing. Private inside, so only this module can hold any.
#[derive(Debug)]
pub struct Clearance(Grounds);

#[derive(Debug)]
enum Grounds {
    NothingPublished,
    Clean(Coverage),
    LeftToTheNet,
}

impl Clearance {
    /// The plan, or the resolved push, proved that nothing leaves.
    pub fn nothing_published() -> Self {
        Self(Grounds::NothingPublished)
    }

    /// Everything was read and nothing was found that refuses.
    pub fn clean(coverage: Coverage) -> Self {
        Self(Grounds::Clean(coverage))
    }

    /// git's own hooks are in place for all that it publishes, and will read it when it is sent.
    pub fn left_to_the_net() -> Self {
        Self(Grounds::LeftToTheNet)
    }

    /// The proof, when something was read.
    pub fn coverage(&self) -> Option<&Coverage> {
        match &self.0 {
            Grounds::NothingPublished | Grounds::LeftToTheNet => None,
            Grounds::Clean(coverage) => Some(coverage),
        }
    }
}

/// What a person must decide.
#[derive(Debug)]
pub struct Question {
    /// The refusal it becomes where nobody can be asked.
    pub refusal: Refusal,
}

impl Verdict {
    /// The command line's exit code for this verdict.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Pass(_) => 0,
            Self::Ask(_) => 1,
            Self::Refuse(refusal) => refusal.class.exit_code(),
        }
    }

    /// `pass`, `ask` or `refuse`, as in the JSON contract.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "pass",
            Self::Ask(_) => "ask",
            Self::Refuse(_) => "refuse",
        }
    }
}
