//! What is put in place on a machine: gitleaks, host entries, the net; and whether it is alive.

pub mod fetch;
pub mod gitleaks;
pub mod pins;
pub mod place;
