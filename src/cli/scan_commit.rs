//! `tyran scan-commit`: what `git commit` with the same arguments would record, read and judged.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::command::plan::{CommitRequest, CommitVerb, GitContext, Publish, State};
use crate::judge;
use crate::verdict::Refusal;
use crate::world::World;

use super::ScanOptions;

/// `tyran scan-commit [-C DIR] [commit arguments as for git commit]`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanOptions,
    /// Work in this directory (before git's own arguments, where -C is `--reuse-message`)
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Arguments as for `git commit`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMIT ARGUMENTS")]
    commit: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let started = Instant::now();
    let world = arguments.scan.world(arguments.directory.as_ref())?;
    let setup = arguments.scan.setup(&world, false);
    let judged = judge::publishes(&world, &[request(&world, &arguments.commit)], &setup, started);
    arguments.scan.report(&world, &judged)
}

/// `git commit` with these arguments, run here and now.
pub fn request(world: &World, args: &[OsString]) -> Publish {
    Publish::Commit(CommitRequest {
        git: GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() },
        verb: CommitVerb::Commit,
        args: args.iter().cloned().map(Some).collect(),
        steps: Vec::new(),
        written: Vec::new(),
        state: State::AsNow,
    })
}
