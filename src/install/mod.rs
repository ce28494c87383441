//! What is put in place on a machine: gitleaks, host entries, the net; and whether it is alive.

pub mod disarm;
pub mod doctor;
pub mod entry;
pub mod fetch;
pub mod gitleaks;
pub mod hosts;
pub mod jsonc;
pub mod keep;
pub mod layout;
pub mod lines;
pub mod modules;
pub mod own;
pub mod pins;
pub mod place;
pub mod recorded;
pub mod tables;
pub mod trial;
