//! Command text in, plan out: what a command line would publish, and where.
//!
//! Promise: every command that bash would run from the text is seen, or the plan says that it does
//! not know. Nothing is run. Bytes and objects are [`crate::payload`]'s.

pub mod plan;
pub mod simple;
