//! `tyran completions` and `tyran man`.

use std::io;
use std::process::ExitCode;

use clap::Args;

use crate::verdict::Refusal;

/// `tyran completions SHELL`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell to print the script for
    shell: clap_complete::Shell,
}

/// `tyran man`
#[derive(Debug, Args)]
pub struct Man {}

pub fn completions(arguments: &Completions, command: &mut clap::Command) -> Result<ExitCode, Refusal> {
    clap_complete::generate(arguments.shell, command, "tyran", &mut io::stdout());
    Ok(ExitCode::SUCCESS)
}

pub fn man(_arguments: &Man, command: clap::Command) -> Result<ExitCode, Refusal> {
    clap_mangen::Man::new(command)
        .render(&mut io::stdout())
        .map_err(|error| Refusal::internal(format!("the manual page could not be written: {error}")))?;
    Ok(ExitCode::SUCCESS)
}
