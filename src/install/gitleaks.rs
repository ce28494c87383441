//! The pinned gitleaks: there, or put in place.
//!
//! Promise: when this returns a program, it is the pinned one, whole, and it has said its version.
//! Several runs at once end with one in place: the others wait and find it there.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::text::SafeText;
use crate::world::Environment;
use crate::world::child::{ChildFault, Job};

use super::fetch::{self, FetchFault, Limits, Origin};
use super::pins::Pin;
use super::place::{self, Lock, PlaceFault, Placed};

/// How long a freshly placed program may take to say its version; it takes 0.2 s.
const VERSION_TIME: Duration = Duration::from_secs(30);

/// Why the pinned gitleaks is not in place.
#[derive(Debug, thiserror::Error)]
pub enum EnsureFault {
    /// The archive could not be had.
    #[error(transparent)]
    Fetch(#[from] FetchFault),
    /// It is not the pinned one, or could not be put in place.
    #[error(transparent)]
    Place(#[from] PlaceFault),
    /// The project makes none for this system.
    #[error("there is no gitleaks {version} for {system} on {architecture}")]
    NoArchive {
        /// The pinned version.
        version: &'static str,
        /// Operating system.
        system: &'static str,
        /// Architecture.
        architecture: &'static str,
    },
    /// Where tyran keeps its state is not known.
    #[error("the user's home directory is not in the password database")]
    NoState,
}

/// What had to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was in place.
    WasThere(Placed),
    /// It was put in place.
    Put(Placed),
}

/// Makes sure that the pinned program is in place below a state directory.
///
/// # Errors
/// As [`EnsureFault`] tells; then what was in place before still is, unless it was not the pinned one.
pub fn ensure(
    state: &Path,
    pin: &Pin,
    origin: &Origin,
    limits: Limits,
    env: &Environment,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Outcome, EnsureFault> {
    let lock = Lock::take(state)?;
    // One that is not as it was recorded is replaced like one that is not there.
    if let Ok(Some(placed)) = place::placed(state)
        && placed.version == pin.version
    {
        return Ok(Outcome::WasThere(placed));
    }
    let archive = fetch::archive(pin, origin, limits, env, progress)?;
    let program = place::unpack(pin, &archive)?;
    let placed = place::put(state, pin, &program, &lock, &|path| runs(path, pin))?;
    Ok(Outcome::Put(placed))
}

/// Whether a program says the pinned version.
fn runs(path: &Path, pin: &Pin) -> Result<(), PlaceFault> {
    let does_not = |what: String| PlaceFault::DoesNotRun { archive: pin.archive.clone(), what: what.into() };
    let mut tries = 0;
    let done = loop {
        let job = Job {
            program: path.to_owned(),
            args: vec!["version".into()],
            env: Environment::new(),
            dir: PathBuf::from("/"),
            input: Vec::new(),
            output_limit: 1 << 16,
            time_limit: VERSION_TIME,
        };
        match job.run() {
            // A child that another thread is just starting may still hold the file open for writing.
            Err(ChildFault::NotStarted { error, .. })
                if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < 50 =>
            {
                tries += 1;
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(does_not(error.to_string())),
            Ok(done) => break done,
        }
    };
    let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    if done.status.success() && said == pin.version {
        return Ok(());
    }
    let said = SafeText::quoted(said.as_bytes(), 80);
    Err(does_not(format!("asked for its version it said \"{said}\" and ended with {}", done.status)))
}
