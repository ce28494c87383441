//! `tyran completions` and `tyran man`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::text::SafeText;
use crate::verdict::{Class, Refusal};

use super::out;

/// `tyran completions SHELL`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell to print the script for
    shell: clap_complete::Shell,
}

/// `tyran man`
#[derive(Debug, Args)]
pub struct Man {
    /// The command whose page is printed, instead of the program's
    #[arg(value_name = "COMMAND")]
    of: Option<String>,
}

pub fn completions(arguments: &Completions, command: &mut clap::Command) -> Result<ExitCode, Refusal> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "tyran", &mut script);
    whole(&script)
}

pub fn man(arguments: &Man, mut command: clap::Command) -> Result<ExitCode, Refusal> {
    if let Some(name) = &arguments.of {
        command.build();
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| {
            let what = format!("tyran has no command {}", SafeText::quoted(name.as_bytes(), 60));
            Refusal::new(Class::Usage, what, "name one that `tyran --help` lists")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| out::unwritten(&error))?;
    whole(&page)
}

fn whole(text: &[u8]) -> Result<ExitCode, Refusal> {
    let mut out = out::stdout();
    out.write_all(text).and_then(|()| out.flush()).map_err(|error| out::unwritten(&error))?;
    Ok(ExitCode::SUCCESS)
}
