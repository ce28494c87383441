//! `tyran scan-command`: what a command line would publish, read and judged. Nothing of it is run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use crate::command::Shell;
use crate::judge;
use crate::text::shell_word;
use crate::verdict::Refusal;

use super::ScanOptions;

/// `tyran scan-command [-C DIR] -- 'COMMAND LINE'`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    scan: ScanOptions,
    #[command(flatten)]
    line: Line,
}

/// A command line and where it would run.
#[derive(Debug, Args)]
pub struct Line {
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// The shell that would run it
    #[arg(long, value_enum, default_value_t = Shell::Bash)]
    pub shell: Shell,
    /// The command line in one word; or a command's own words, which are then taken as they are
    #[arg(last = true, required = true, value_name = "COMMAND LINE")]
    pub words: Vec<OsString>,
}

/// The text that a shell would read. `-- git push` is the command of these two words, as behind `env`
/// or `sudo`; only a word that stands alone is a text.
pub fn text(words: &[OsString]) -> Vec<u8> {
    match words {
        [text] => text.as_encoded_bytes().to_vec(),
        words => words.iter().map(|word| shell_word(word.as_encoded_bytes())).collect::<Vec<_>>().join(&b' '),
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let started = Instant::now();
    let world = arguments.scan.world(arguments.line.directory.as_ref())?;
    let setup = arguments.scan.setup(&world, false);
    let judged = judge::command(&world, &text(&arguments.line.words), arguments.line.shell, &setup, started);
    arguments.scan.report(&world, &judged)
}
