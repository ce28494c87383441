//! `tyran ensure-gitleaks`: the pinned gitleaks, there or put in place.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::install::fetch::{Limits, Origin};
use crate::install::gitleaks::{self, EnsureFault, Outcome};
use crate::install::pins::{self, Pin};
use crate::install::place::{self, PlaceFault};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::{Caution, World, state_dir};

use super::out::say;

/// `tyran ensure-gitleaks [--check] [--from URL|FILE]`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only say whether it is in place and as it was recorded
    #[arg(long, conflicts_with = "from")]
    check: bool,
    /// Take the pinned archive from a mirror (its URL, or its folder's with a slash at the end) or from a file
    #[arg(long, value_name = "URL|FILE")]
    from: Option<String>,
    /// No progress on standard error
    #[arg(short, long)]
    quiet: bool,
}

/// Says what is in place, or puts it there.
///
/// # Errors
/// When it is not in place.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let state = state_dir().ok_or(EnsureFault::NoState)?;
    if arguments.check {
        let placed = place::placed(&state).map_err(EnsureFault::from)?;
        let placed = placed.ok_or_else(|| {
            Refusal::new(Class::EngineAbsent, "no gitleaks was put in place", "run `tyran ensure-gitleaks`")
        })?;
        say!("gitleaks {} is in place: {}", placed.version, shown(&placed))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let no_archive = EnsureFault::NoArchive { version: pins::VERSION, system, architecture };
    let pin = Pin::here().ok_or(no_archive)?;
    if !pin.established {
        super::out::complain(format_args!(
            "note: what tyran knows of gitleaks was established on Linux; not established on {system}\n"
        ));
    }
    let origin = arguments.from.as_deref().map_or(Ok(Origin::Release), Origin::parse).map_err(EnsureFault::from)?;
    let bar = bar(arguments.quiet);
    let world = World::of_process(Caution::ByHand)
        .map_err(|error| EnsureFault::Place(PlaceFault::Files { what: "reading the current directory", error }))?;
    let outcome = gitleaks::ensure(&state, &pin, &origin, Limits::default(), &world.env, &mut |came, promised| {
        bar.set_length(promised.unwrap_or(came));
        bar.set_position(came);
    });
    bar.finish_and_clear();
    match outcome? {
        Outcome::WasThere(placed) => say!("gitleaks {} was in place: {}", placed.version, shown(&placed))?,
        Outcome::Put(placed) => say!("gitleaks {} is in place: {}", placed.version, shown(&placed))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(placed: &place::Placed) -> String {
    let path = SafeText::from_bytes(placed.path.as_os_str().as_encoded_bytes());
    format!("{path} (sha256 {})", placed.sha256)
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("gitleaks {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
