//! `tyran completions` and `tyran man`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::verdict::Refusal;

use super::out;

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
    whole(&script)
}

pub fn man(_arguments: &Man, command: clap::Command) -> Result<ExitCode, Refusal> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| out::unwritten(&error))?;
    whole(&page)
}

fn whole(text: &[u8]) -> Result<ExitCode, Refusal> {
    let mut out = out::stdout();
    out.write_all(text).and_then(|()| out.flush()).map_err(|error| out::unwritten(&error))?;
    Ok(ExitCode::SUCCESS)
}
