//! `tyran scan-files`: files as they are, and standard input.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::judge;
use crate::payload::{Payload, files};
use crate::verdict::{Class, Refusal};

use super::ScanOptions;

/// `tyran scan-files PATH... | -`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanOptions,
    /// Read only what gitleaks' `dir` mode reads, as it reads it (for comparison)
    #[arg(long)]
    compat: bool,
    /// Files and directories; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let started = Instant::now();
    let world = arguments.scan.world(None)?;
    let setup = arguments.scan.setup(&world, arguments.compat);
    let judged = match named(arguments, &world.cwd) {
        Ok(payload) if payload.is_empty() => judge::refused(nothing_to_read(), started),
        Ok(payload) => judge::in_files(&world, payload, &setup, started),
        Err(refusal) => judge::refused(refusal, started),
    };
    arguments.scan.report(&world, &judged)
}

fn named(arguments: &Arguments, base: &std::path::Path) -> Result<Payload, Refusal> {
    let dash = PathBuf::from("-");
    match arguments.paths.as_slice() {
        [only] if *only == dash => Ok(files::standard_input()?),
        paths if paths.contains(&dash) => Err(Refusal::new(
            Class::Usage,
            "`-` stands beside other paths",
            "scan standard input alone, with `tyran scan-files -`",
        )),
        paths => Ok(files::payload(base, paths)?),
    }
}

/// Zero files prove nothing: whoever names an empty folder is told so.
fn nothing_to_read() -> Refusal {
    Refusal::new(Class::Usage, "no file was found under the named paths", "name a file, or a directory that holds some")
}
