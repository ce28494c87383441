//! `tyran completions` and `tyran man`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

use crate::verdict::{Class, Refusal};

use super::options;

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
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "tyran", &mut script);
    written(io::stdout().write_all(&script), "script")
}

pub fn man(_arguments: &Man, command: clap::Command) -> Result<ExitCode, Refusal> {
    written(clap_mangen::Man::new(command).render(&mut io::stdout()), "manual page")
}

fn written(outcome: io::Result<()>, what: &str) -> Result<ExitCode, Refusal> {
    options::unless_closed(outcome).map_err(|error| {
        Refusal::new(
            Class::File,
            format!("the {what} could not be written: {error}"),
            "give standard output a place that takes it, then try again",
        )
    })?;
    Ok(ExitCode::SUCCESS)
}
