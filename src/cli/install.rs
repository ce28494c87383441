//! `tyran install` and `tyran uninstall`: put gate and net in place; keep what is there.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::command::plan::GitContext;
use crate::net::place::{self, Change, Method, Scope};
use crate::verdict::{Class, Refusal};
use crate::world::World;

use super::options;

/// `tyran install|uninstall git [--global|--repo]`
#[derive(Debug, Args)]
pub struct Arguments {
    /// What to put in place or take away: `git`
    #[arg(required = true, value_name = "HOST|git")]
    targets: Vec<String>,
    /// For every repository of this user (the default)
    #[arg(long, conflicts_with = "repo")]
    global: bool,
    /// For the repository here alone
    #[arg(long)]
    repo: bool,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Puts it in place.
pub fn install(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let (world, git, scope) = read(arguments)?;
    let method = place::best_method(&world, &git)?;
    let program = place::Own::of_process()?.program;
    match place::install(&world, &git, scope, method, &program)? {
        Change::None => println!("git: the net is in place already; nothing was changed"),
        Change::Made(file) => println!("git: the net is in place ({}), through {}", how(method), file.display()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes it away.
pub fn uninstall(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let (world, git, scope) = read(arguments)?;
    match place::uninstall(&world, &git, scope)? {
        Change::None => println!("git: the net was not in place here; nothing was changed"),
        Change::Made(file) => println!("git: the net was taken away; {} is as it was", file.display()),
    }
    Ok(ExitCode::SUCCESS)
}

fn read(arguments: &Arguments) -> Result<(World, GitContext, Scope), Refusal> {
    if let Some(other) = arguments.targets.iter().find(|target| *target != "git") {
        return Err(Refusal::new(Class::Usage, format!("{other:?} is not known here"), "run `tyran install git`"));
    }
    let world = options::world(arguments.directory.as_ref())?;
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    Ok((world, git, if arguments.repo { Scope::Repository } else { Scope::Global }))
}

fn how(method: Method) -> &'static str {
    match method {
        Method::Directory => "core.hooksPath, which goes on to each repository's own hooks",
        Method::Settings => "hook.<name>.command settings, beside each repository's own hooks",
    }
}
