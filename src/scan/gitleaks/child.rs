//! One run of gitleaks over one batch.
//!
//! Promise: it reads its input from a regular file that no name leads to, runs in an empty directory
//! with a cleared environment and a configuration of ours, so that nothing of what it scans, and
//! nothing of the user's, changes what it does; and it never outlives its time limit.
//!
//! gitleaks' own `--timeout` is never used: it then stops early and exits as if it were done (facts 0, 8).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::scan::EngineFault;
use crate::scan::engine::EngineFaultKind;
use crate::world::Environment;
use crate::world::child::{Cancel, Job};
use crate::world::scratch::Scratch;

use super::report::{self, Entry, FOUND_EXIT, fault};

/// Most bytes of a report: some 100,000 findings.
const REPORT_LIMIT: usize = 64 << 20;

/// What every run may take, its start included.
const TIME_AT_LEAST: Duration = Duration::from_secs(60);

/// What it may take for each byte: 50 KB a second is a hundredth of what it does at its best, and what
/// text full of matches was seen to take on a busy machine (facts 15).
const TIME_PER_BYTE: Duration = Duration::from_micros(20);

/// Where gitleaks is run, and with what.
#[derive(Debug)]
pub struct Place {
    program: PathBuf,
    scratch: Scratch,
    deadline: Option<Instant>,
}

impl Place {
    /// Makes the empty directory.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(program: &Path, deadline: Option<Instant>) -> Result<Self, EngineFault> {
        let scratch = Scratch::new().map_err(unusable)?;
        std::fs::create_dir(scratch.path().join("empty")).map_err(unusable)?;
        Ok(Self { program: program.to_owned(), scratch, deadline })
    }

    /// Runs it over `input` with a configuration.
    ///
    /// # Errors
    /// When it cannot be run to its end, or its report proves nothing.
    pub fn run(&self, config: &str, input: &[u8], cancel: &Cancel) -> Result<Vec<Entry>, EngineFault> {
        let mut config_file =
            tempfile::Builder::new().suffix(".toml").tempfile_in(self.scratch.path()).map_err(unusable)?;
        config_file.write_all(config.as_bytes()).map_err(unusable)?;
        let job = Job {
            program: self.program.clone(),
            args: arguments(config_file.path()),
            env: Environment::from([(OsString::from("NO_COLOR"), OsString::from("1"))]),
            dir: self.scratch.path().join("empty"),
            input: Vec::new(),
            output_limit: REPORT_LIMIT,
            time_limit: self.time_limit(input.len()),
        };
        let done = job.run_on(nameless(input).map_err(unusable)?, cancel).map_err(report::child_fault)?;
        report::entries(&done, input.len() as u64)
    }

    fn time_limit(&self, bytes: usize) -> Duration {
        let most = TIME_AT_LEAST + TIME_PER_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()).min(most))
    }
}

fn arguments(config: &Path) -> Vec<OsString> {
    let found_exit = FOUND_EXIT.to_string();
    let fixed = [
        "stdin",
        "--no-banner",
        "--no-color",
        "--log-level",
        "info",
        "--exit-code",
        &found_exit,
        "--report-format",
        "json",
        "--report-path",
        "-",
        "--ignore-gitleaks-allow",
        "--gitleaks-ignore-path",
        "/dev/null",
        "--max-decode-depth",
        "5",
        "--config",
    ];
    fixed.iter().map(OsString::from).chain([config.as_os_str().to_owned()]).collect()
}

fn unusable(error: io::Error) -> EngineFault {
    fault(EngineFaultKind::Broken, format!("its place could not be made: {error}"))
}

/// A file that no name leads to, at its start: in memory where the system has that, so that payload is not
/// written to a disk. It is no pipe, since gitleaks cuts what comes by a pipe wherever it happens to arrive.
fn nameless(bytes: &[u8]) -> io::Result<File> {
    let mut file = empty_nameless()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn empty_nameless() -> io::Result<File> {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    match memfd_create(c"tyran-payload", MFdFlags::MFD_CLOEXEC) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        // A container may forbid the call; a file whose name is removed at once serves as well.
        Err(_) => tempfile::tempfile(),
    }
}

#[cfg(not(target_os = "linux"))]
fn empty_nameless() -> io::Result<File> {
    tempfile::tempfile()
}
