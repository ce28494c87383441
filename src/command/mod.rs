//! Command text in, plan out: what a command line would publish, and where.
//!
//! Promise: every command that bash would run from the text is seen, or the plan says that it does
//! not know. Nothing is run. Bytes and objects are [`crate::payload`]'s.

pub mod alias;
pub mod ast;
pub mod git_config;
pub mod git_globals;
pub mod lex;
pub mod options;
pub mod parse;
pub mod plan;
pub mod simple;
