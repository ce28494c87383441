//! tyran: reads every byte a git publish would send, before it leaves, and proves it.
//!
//! Before bytes leave this machine through git, tyran has worked out exactly which bytes they are,
//! has read every one of them, and can prove it. What it cannot establish it does not wave through.
//!
//! ```text
//! command text -> Plan -> Payload -> Scan -> Verdict -> Emission
//! ```
//!
//! Each arrow is one module: [`command`], [`payload`], [`scan`], [`verdict`], [`host`]. Data goes
//! one way. `command` knows no host, `scan` knows no git, and only [`world`] touches the outside.
//! What is known not to be seen is listed in `docs/threats.md`, each gap pinned by a test.
#![forbid(unsafe_code)]

pub mod cli;
pub mod command;
pub mod config;
pub mod host;
pub mod install;
pub mod journal;
pub mod judge;
pub mod net;
pub mod payload;
pub mod report;
pub mod scan;
pub mod text;
pub mod verdict;
pub mod world;
