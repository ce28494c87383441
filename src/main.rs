//! The `tyran` program: arguments in, exit code out.
//!
//! Promise: whatever happens inside, the process ends with one of the documented exit codes, and a
//! panic ends as a refusal. Everything else is [`tyran::cli`]'s.

use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Some hosts let the command run when a hook crashes, so a panic must leave as a refusal.
    // This only works while every profile unwinds; a test plants a panic to prove it.
    panic::catch_unwind(|| tyran::cli::run(std::env::args_os().collect()))
        .unwrap_or_else(|_| tyran::cli::refuse_after_panic())
}
