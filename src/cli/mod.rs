//! The command line: one file per subcommand; parses, calls, prints, decides nothing.
//!
//! Promise: exit codes are 0 nothing found or nothing to publish, 1 findings or a question for a
//! person, 2 usage error, 3 could not check (internal errors included). Results go to standard
//! output, progress and notes to standard error.

mod doctor;
mod git_hook;
mod hosts;
mod install;
mod log;
mod options;
pub(crate) mod out;
mod own_words;
mod payload;
mod plan;
pub mod rules;
mod scan_command;
mod scan_commit;
mod scan_files;
mod scan_push;
mod shell_help;

pub mod allow;
pub mod ensure_gitleaks;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::verdict::Refusal;

pub use options::{EngineChoice, ScanOptions, seconds, write as write_report};

/// Reads every byte a git publish would send, before it leaves, and proves it.
#[derive(Debug, Parser)]
#[command(name = "tyran", version, about, long_about = None, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Scan what `git push` with the same arguments would send
    ScanPush(scan_push::Arguments),
    /// Scan what `git commit` with the same arguments would record
    ScanCommit(scan_commit::Arguments),
    /// Scan what a command line would publish
    ScanCommand(scan_command::Arguments),
    /// Scan files as they are (`-` is standard input)
    ScanFiles(scan_files::Arguments),
    /// List what would leave; scan nothing
    Payload(payload::Arguments),
    /// Show what is understood of a command line
    #[command(alias = "explain")]
    Plan(plan::Arguments),
    /// What git's hooks start
    GitHook(git_hook::Arguments),
    /// Find the hosts here, put gate and net in place, record git and tyran
    Setup(install::Setup),
    /// Is every gate alive? Proves it by trying a refusal
    Doctor(doctor::Arguments),
    /// List the hosts, and what was established of each, when
    Hosts(hosts::Arguments),
    /// Put gate and net in place; keep what is there
    Install(install::Arguments),
    /// Take gate and net away; give back what was there
    Uninstall(install::Arguments),
    /// Put the pinned gitleaks in place, or check that it is
    EnsureGitleaks(ensure_gitleaks::Arguments),
    /// Record that a finding was reviewed and may be published
    Allow(allow::Arguments),
    /// List, show or check the rules
    Rules(rules::Arguments),
    /// Show what was asked and answered
    Log(log::Arguments),
    /// Print a completion script for a shell
    Completions(shell_help::Completions),
    /// Print the manual page
    Man(shell_help::Man),
}

/// Runs the program with the process's arguments, the program's name first.
pub fn run(args: Vec<OsString>) -> ExitCode {
    crate::world::plant::at("run");
    crate::world::scratch::outlive_file_limits();
    if crate::host::runtime::is_gate(&args) {
        return ExitCode::from(crate::host::runtime::run(args.get(2..).unwrap_or_default()));
    }
    if args.get(1).is_some_and(|word| word == "gate-child") {
        return ExitCode::from(crate::host::child::serve());
    }
    let parsed = match Arguments::try_parse_from(own_words::arrange(args)) {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error),
    };
    if let Err(error) = crate::world::scratch::clean_up_on_interrupt() {
        return refuse(&Refusal::internal(format!("signal handling could not be set up: {error}")));
    }
    let code = match parsed.command {
        Subcommands::ScanPush(arguments) => scan_push::run(&arguments),
        Subcommands::ScanCommit(arguments) => scan_commit::run(&arguments),
        Subcommands::ScanCommand(arguments) => scan_command::run(&arguments),
        Subcommands::ScanFiles(arguments) => scan_files::run(&arguments),
        Subcommands::Payload(arguments) => payload::run(&arguments),
        Subcommands::Plan(arguments) => plan::run(&arguments),
        Subcommands::GitHook(arguments) => git_hook::run(&arguments),
        Subcommands::Setup(arguments) => install::setup(&arguments),
        Subcommands::Doctor(arguments) => doctor::run(&arguments),
        Subcommands::Hosts(arguments) => hosts::run(&arguments),
        Subcommands::Install(arguments) => install::install(&arguments),
        Subcommands::Uninstall(arguments) => install::uninstall(&arguments),
        Subcommands::EnsureGitleaks(arguments) => ensure_gitleaks::run(&arguments),
        Subcommands::Allow(arguments) => allow::run(&arguments),
        Subcommands::Rules(arguments) => rules::run(&arguments),
        Subcommands::Log(arguments) => log::run(&arguments),
        Subcommands::Completions(arguments) => shell_help::completions(&arguments, &mut Arguments::command()),
        Subcommands::Man(arguments) => shell_help::man(&arguments, Arguments::command()),
    };
    let code = match code {
        Ok(code) => code,
        Err(refusal) => refuse(&refusal),
    };
    crate::world::scratch::let_an_interrupt_end();
    code
}

/// Help and version are answers (exit 0); everything else is a usage error (exit 2).
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// A refusal which came before there was anything to report in the format that was asked for.
fn refuse(refusal: &Refusal) -> ExitCode {
    out::complain(format_args!("{refusal}"));
    ExitCode::from(refusal.class.exit_code())
}

/// The end of a run that panicked.
pub fn refuse_after_panic() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if crate::host::runtime::is_gate(&args) {
        return ExitCode::from(crate::host::runtime::refuse_after_panic(args.get(2..).unwrap_or_default()));
    }
    refuse(&Refusal::internal("a defect of tyran's own ended the run"))
}
