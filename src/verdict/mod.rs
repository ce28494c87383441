//! A scan's outcome as an answer: pass, ask or refuse.
//!
//! Promise: there is no default, no boolean and nothing that means "allow". A pass needs grounds
//! that only this module can make.

pub mod answer;
pub mod refusal;

pub use answer::{Clearance, Question, Verdict};
pub use refusal::{Class, Refusal};
