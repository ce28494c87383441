//! `tyran plan`: what tyran understands of a command line. Nothing of it is run, and nothing is scanned.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::command::Shell;
use crate::command::read::{read, read_here, spawn_with_stack, with_stack};
use crate::verdict::{Class, Refusal};
use crate::world::World;

use super::scan_command::text;
use super::{options, out};

/// Longest line of `--jsonl` that is read, in bytes: the longest command line, escaped.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// How much of `--jsonl` is read at once, in bytes.
const INPUT_BYTES: usize = 256 << 10;

/// Most lines of `--jsonl` that are answered together.
const MAX_LINES: usize = 4096;

/// Most threads that answer lines of `--jsonl`.
const MAX_THREADS: usize = 8;

/// To start a thread takes as long as to read some lines.
const LINES_WORTH_A_THREAD: usize = 8;

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
        PlanFormat::Json => serde_json::to_string(&plan).map_err(|error| broken(&error.into()))?,
    };
    shown.push('\n');
    out::stdout().write_all(shown.as_bytes()).map_err(|error| broken(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// A plan for each line of standard input. Lines that come together share one look at the machine and the
/// threads; whoever waits for a plan before the next line gets it, and a new look.
fn many(world: &World, shell: Shell) -> Result<ExitCode, Refusal> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let answered = with_stack(|| {
        let mut out = BufWriter::new(out::stdout());
        let mut input = BufReader::with_capacity(INPUT_BYTES, io::stdin().lock());
        loop {
            let lines = lines_at_hand(&mut input)?;
            if lines.is_empty() {
                return Ok(());
            }
            let world = world.remembering();
            for answers in together(&lines, threads, |line| answer(line, &world, shell)) {
                answers.and_then(|text| out.write_all(&text).map_err(|error| broken(&error)))?;
            }
            out.flush().map_err(|error| broken(&error))?;
        }
    });
    answered.unwrap_or_else(|| Err(reader_failed()))?;
    Ok(ExitCode::SUCCESS)
}

/// The next line and those that are here without waiting, none of them at the end.
fn lines_at_hand(input: &mut BufReader<impl Read>) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut lines = Vec::new();
    while lines.is_empty() || (lines.len() < MAX_LINES && input.buffer().contains(&b'\n')) {
        let mut line = Vec::new();
        if Read::take(&mut *input, MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(|error| broken(&error))? == 0 {
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

/// The plan of one line of the input, as a line.
fn answer(line: &[u8], world: &World, shell: Shell) -> Result<Vec<u8>, Refusal> {
    let asked: Asked = serde_json::from_slice(line).map_err(|error| {
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
        None => read_here(asked.cmd.as_bytes(), world, shell),
    };
    let mut text = serde_json::to_vec(&plan).map_err(|error| broken(&error.into()))?;
    text.push(b'\n');
    Ok(text)
}

/// What `answer` says of each line, in their order. Threads take the next line that nobody has; this one
/// works as well, on the stack that it has.
fn together<L: Sync>(
    lines: &[L],
    threads: usize,
    answer: impl Fn(&L) -> Result<Vec<u8>, Refusal> + Sync,
) -> Vec<Result<Vec<u8>, Refusal>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((place, line)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, lines.get(at)?)))
        {
            done.push((place, answer(line)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let helpers = 1..threads.min(lines.len() / LINES_WORTH_A_THREAD);
        let helpers: Vec<_> = helpers.filter_map(|_| spawn_with_stack(scope, work).ok()).collect();
        let mut done = work();
        for helper in helpers {
            // A line whose answer is lost is missed below.
            done.extend(helper.join().unwrap_or_default());
        }
        done
    });
    done.sort_unstable_by_key(|&(place, _)| place);
    let mut answers: Vec<_> = Vec::with_capacity(lines.len());
    for (place, answer) in done {
        if place != answers.len() {
            break;
        }
        answers.push(answer);
    }
    if answers.len() < lines.len() {
        answers.push(Err(reader_failed()));
    }
    answers
}

fn reader_failed() -> Refusal {
    Refusal::internal("the reader failed on a line of the input")
}

fn broken(error: &io::Error) -> Refusal {
    Refusal::internal(format!("input or output failed: {error}"))
}
