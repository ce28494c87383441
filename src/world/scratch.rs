//! Scratch directories and running children, known in one place so that an interrupt leaves nothing.
//!
//! Promise: whatever ends a run (return, panic, Ctrl-C, SIGTERM), no scratch directory stays behind
//! and no child goes on. A SIGKILL cannot be answered; what it leaves is in the system's own
//! temporary folder and holds only copies of what the repository holds.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

static SCRATCH: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A directory of mode 0700 which is removed when it is dropped, and on an interrupt.
#[derive(Debug)]
pub struct Scratch {
    dir: Option<tempfile::TempDir>,
    path: PathBuf,
}

impl Scratch {
    /// Makes one below the system's temporary folder.
    ///
    /// # Errors
    /// When it cannot be made (full disk, no permission).
    pub fn new() -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("tyran.").tempdir()?;
        let path = dir.path().to_owned();
        known(&SCRATCH).insert(path.clone());
        Ok(Self { dir: Some(dir), path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.dir.take());
        known(&SCRATCH).remove(&self.path);
    }
}

/// A child's process group while it runs.
#[derive(Debug)]
pub struct KnownGroup(u32);

impl KnownGroup {
    /// Notes that the group of this child's id is to be killed on an interrupt.
    pub fn new(id: u32) -> Self {
        known(&GROUPS).insert(id);
        Self(id)
    }
}

impl Drop for KnownGroup {
    fn drop(&mut self) {
        known(&GROUPS).remove(&self.0);
    }
}

/// Kills every child that runs now, with its group: for whoever ends the process on purpose.
pub fn end_children() {
    for group in known(&GROUPS).iter() {
        super::child::kill_group_of(*group);
    }
}

/// From now on an interrupt kills the children, removes the scratch directories and ends the process
/// with 128 plus the signal's number, as shells expect.
///
/// # Errors
/// When the handler cannot be put in place.
pub fn clean_up_on_interrupt() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            INTERRUPTED.store(true, Ordering::SeqCst);
            end_children();
            for path in known(&SCRATCH).iter() {
                remove(path);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// Waits for the end when an interrupt is being answered: without its children the run fails, and its
/// own exit code would tell of that.
pub fn let_an_interrupt_end() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// A child that is being killed may still write, which makes a folder come back non-empty: so a few
/// tries. The process ends either way.
fn remove(path: &Path) {
    for _ in 0..50 {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
}

fn known<T>(set: &Mutex<BTreeSet<T>>) -> std::sync::MutexGuard<'_, BTreeSet<T>> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets writing fail where a limit on the size of files is reached (setrlimit(2), RLIMIT_FSIZE), as on a full
/// disk: the signal that comes otherwise ends a gate without an answer.
pub fn outlive_file_limits() {
    // Without the handler everything is as it would have been.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}
