//! The embedded engine: gitleaks' configuration, every byte, no child.
//!
//! Promise: for the same configuration it finds what gitleaks 8.30.1 finds, and it also reads what
//! gitleaks skips in silence.

pub mod example;
pub mod rules;
pub mod shape;
pub mod verify;
