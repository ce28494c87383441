//! `tyran git-hook`: what git's hooks start.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;

use crate::install::recorded::with_recorded_git;
use crate::net::hook::{self, Caller, Ending};
use crate::verdict::Refusal;

use super::ScanOptions;

/// `tyran git-hook NAME [ARGS]`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanOptions,
    /// git itself runs the repository's own hook (`hook.<name>.command` settings)
    #[arg(long)]
    from_settings: bool,
    /// pre-commit or prek runs this: the push is in PRE_COMMIT_* variables, and chaining is theirs
    #[arg(long, conflicts_with = "from_settings")]
    from_pre_commit: bool,
    /// The hook's name, as in githooks(5)
    name: String,
    /// What git gives the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let world = with_recorded_git(arguments.scan.world(None)?)?;
    let setup = arguments.scan.setup(&world, false);
    let caller = match (arguments.from_settings, arguments.from_pre_commit) {
        (true, _) => Caller::Settings,
        (false, true) => Caller::PreCommit,
        (false, false) => Caller::Directory,
    };
    match hook::run(&world, &arguments.name, &arguments.args, caller, &setup)? {
        Ending::Chained(code) => Ok(ExitCode::from(code)),
        Ending::Refused(judged) => arguments.scan.report_to_stderr(&world, &judged),
    }
}
