//! The command line: one file per subcommand; parses, calls, prints, decides nothing.

pub mod allow;
pub mod ensure_gitleaks;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with the process's arguments, the program's name first.
pub fn run(_args: Vec<OsString>) -> ExitCode {
    ExitCode::from(3)
}

/// The end of a run that panicked.
pub fn refuse_after_panic() -> ExitCode {
    eprint!("{}", crate::verdict::Refusal::internal("a defect of tyran's own ended the run"));
    ExitCode::from(3)
}
