//! Command text in, plan out: what a command line would publish, and where.
//!
//! Promise: every command that bash would run from the text is seen, or the plan says that it does
//! not know. Nothing is run. Bytes and objects are [`crate::payload`]'s.

pub mod alias;
pub mod ast;
mod branch_moves;
mod by_hand;
mod bypass;
mod carried;
mod dispatch;
mod fetched;
mod files;
mod filters;
mod forge;
mod git;
pub mod git_config;
pub mod git_files;
mod git_fold;
pub mod git_globals;
mod git_history;
mod git_moves;
mod git_program;
mod git_setup;
mod git_started;
pub mod git_table;
mod git_verbs;
mod guarded;
mod identity;
mod incoming;
pub mod lex;
mod made_refs;
pub mod meaning;
mod message;
pub mod options;
mod packages;
pub mod parse;
pub mod plan;
pub mod plan_json;
mod plan_told;
pub mod programs;
mod pushes;
pub mod read;
mod scripts;
mod sent_files;
mod shell;
pub mod simple;
mod staging;
pub mod startup;
pub mod tamper;
mod tripwire;
mod underway;
mod vcs;
mod words;
mod wrappers;

pub use read::{Shell, read};
