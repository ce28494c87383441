//! `tyran plan`: what tyran understands of a command line. Nothing of it is run, and nothing is scanned.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::command::Shell;
use crate::command::read::{read, read_here, with_stack};
use crate::verdict::{Class, Refusal};
use crate::world::World;

use super::scan_command::text;
use super::{options, out};

/// Longest line of `--jsonl` that is read, in bytes: the longest command line, escaped.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// How much of `--jsonl` is read at once, in bytes.
const INPUT_BYTES: usize = 256 << 10;

/// `tyran plan [-C DIR] -- 'COMMAND LINE'`, `tyran plan --jsonl`
#[derive(Debug, Args)]
pub struct Arguments {
    /// How the plan is written
    #[arg(long, value_enum, default_value_t = PlanFormat::Human)]
    format: PlanFormat,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The shell that would run it
    #[arg(long, value_enum, default_value_t = Shell::Bash)]
    shell: Shell,
    /// Read {"cmd"[, "cwd"]} lines, write a plan a line
    #[arg(long, conflicts_with = "words")]
    jsonl: bool,
    /// The command line in one word; or a command's own words, which are then taken as they are
    #[arg(last = true, required_unless_present = "jsonl", value_name = "COMMAND LINE")]
    words: Vec<OsString>,
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// For people
    Human,
    /// One object with stable keys
    Json,
}

/// One line of `--jsonl`.
#[derive(Deserialize)]
struct Asked {
    cmd: String,
    cwd: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    if arguments.jsonl {
        return many(&world, arguments.shell);
    }
    let text = text(&arguments.words);
    let plan = read(&text, &world, arguments.shell);
    let mut shown = match arguments.format {
        PlanFormat::Human => plan.told(&text),
        PlanFormat::Json => plan.to_json().to_string(),
    };
    shown.push('\n');
    out::stdout().write_all(shown.as_bytes()).map_err(|error| broken(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// A plan for each line of standard input, on one large stack. Lines that come together share one look
/// at the machine; whoever waits for a plan before the next line gets it, and a new look.
fn many(world: &World, shell: Shell) -> Result<ExitCode, Refusal> {
    let answered = with_stack(|| {
        let mut out = BufWriter::new(out::stdout());
        let mut input = BufReader::with_capacity(INPUT_BYTES, io::stdin().lock());
        let mut line = Vec::new();
        let mut world = world.remembering();
        loop {
            line.clear();
            if input.buffer().is_empty() {
                out.flush().map_err(|error| broken(&error))?;
                world = world.remembering();
            }
            let mut bounded = io::Read::take(&mut input, MAX_LINE_BYTES);
            if bounded.read_until(b'\n', &mut line).map_err(|error| broken(&error))? == 0 {
                return out.flush().map_err(|error| broken(&error));
            }
            let asked: Asked = serde_json::from_slice(&line).map_err(|error| {
                Refusal::new(
                    Class::Usage,
                    format!("a line of the input: {error}"),
                    r#"write lines of the form {"cmd": "git push"}"#,
                )
            })?;
            let plan = match asked.cwd {
                Some(cwd) => {
                    let mut there = world.clone();
                    there.cwd = world.cwd.join(cwd);
                    read_here(asked.cmd.as_bytes(), &there, shell)
                }
                None => read_here(asked.cmd.as_bytes(), &world, shell),
            };
            serde_json::to_writer(&mut out, &plan.to_json()).map_err(|error| broken(&error.into()))?;
            out.write_all(b"\n").map_err(|error| broken(&error))?;
        }
    });
    answered.unwrap_or_else(|| Err(Refusal::internal("the reader failed on a line of the input")))?;
    Ok(ExitCode::SUCCESS)
}

fn broken(error: &io::Error) -> Refusal {
    Refusal::internal(format!("input or output failed: {error}"))
}
