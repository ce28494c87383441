//! One module per promise; one binary, so that the whole suite links once.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod arrivals;
mod cli;
mod commit;
mod disarmed;
mod embedded;
mod encrypted;
mod engine_fuzz;
mod filters;
mod forms;
mod gaps;
mod gate;
mod gate_answers;
mod gate_tools;
mod gitleaks;
mod install;
mod lfs;
mod line_uploads;
mod lines;
mod living;
mod made;
mod net;
mod objects;
mod planted_programs;
mod push;
mod reader;
mod report;
mod reviewed;
mod rules;
mod settings;
mod setup;
mod spellings;
mod staged_rules;
mod staging;
mod suppress;
mod text;
mod underway;
mod undone;
mod upload;
mod verbs;
mod widest;
mod zsh;
