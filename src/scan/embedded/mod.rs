//! The embedded engine: gitleaks' configuration, every byte, no child.
//!
//! Promise: for the same configuration it finds what gitleaks 8.30.1 finds, and it also reads what
//! gitleaks skips in silence.

mod accepted;
pub mod allowlist;
mod alphabet;
mod archive;
mod bare;
mod class;
mod compiled;
pub mod config;
pub mod context;
mod decode;
mod demand;
mod detect;
mod entropy;
mod escape;
pub mod example;
pub mod express;
mod extent;
mod factor;
mod fragment;
mod gate;
pub mod glob;
mod hints;
mod layout;
mod locate;
mod matcher;
mod merge;
pub mod packed;
mod pattern;
pub mod placeholder;
mod plain;
mod prefilter;
mod profile;
mod rewritten;
pub mod rules;
mod runs;
mod seen;
mod selftest;
mod session;
pub mod shape;
mod shaped;
mod shared;
mod spelt;
mod spot;
mod subject;
mod told;
pub mod translate;
pub mod trial;
mod unlisted;
mod unpack;
mod utf7;
pub mod verify;
mod walk;
mod wide;
mod windows;
mod wrapped;
mod yielding;

pub use accepted::Accepted;
pub use config::{Mode, Origin, RulesFault};
pub use rules::{Rule, RuleSet};
pub use session::{EmbeddedEngine, NAME, Options};
pub(in crate::scan) use subject::tree_names;
