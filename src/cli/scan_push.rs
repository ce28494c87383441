//! `tyran scan-push`: what `git push` with the same arguments would send, read and judged.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::command::plan::{GitContext, MovedTo, Publish, PushRequest, PushVia, State};
use crate::judge;
use crate::payload::push::ci_base::Service;
use crate::verdict::Refusal;
use crate::world::World;

use super::ScanOptions;

/// `tyran scan-push [-C DIR] [push arguments as for git push]`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanOptions,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Read everything from this revision to HEAD, instead of what a push would send
    #[arg(long, value_name = "REVISION", conflicts_with = "push")]
    base: Option<String>,
    /// Let git itself make the pack in a local quarantine, and read exactly that
    #[arg(long)]
    airlock: bool,
    /// Do not ask the remote what it has
    #[arg(long)]
    no_network: bool,
    /// Arguments as for `git push`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PUSH ARGUMENTS")]
    push: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let started = Instant::now();
    let world = arguments.scan.world(arguments.directory.as_ref())?;
    let mut setup = arguments.scan.setup(&world, false);
    setup.assembly.airlock = arguments.airlock;
    if arguments.no_network {
        setup.assembly.network = false;
    }
    // In CI there is nothing to push: the run says where its new commits start.
    let in_ci = arguments.push.is_empty() && Service::of(&world).is_some();
    if in_ci || arguments.base.is_some() {
        let judged = judge::from_base(&world, arguments.base.as_deref(), &setup, started);
        return arguments.scan.report(&world, &judged);
    }
    let judged = judge::push(&world, &push(&world, &arguments.push), &setup, started);
    arguments.scan.report(&world, &judged)
}

/// `git push` with these arguments, run here and now.
pub fn request(world: &World, args: &[OsString]) -> Publish {
    Publish::Push(push(world, args))
}

fn push(world: &World, args: &[OsString]) -> PushRequest {
    PushRequest {
        git: GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() },
        args: args.iter().cloned().map(Some).collect(),
        state: State::AsNow,
        moved_to: MovedTo::default(),
        via: PushVia::Push,
    }
}
