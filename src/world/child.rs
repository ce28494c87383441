//! Children: started with a cleared environment in their own process group, ended as a group.
//!
//! Promise: a child that hangs, forks children which hold its pipes, floods its output or ignores
//! SIGTERM cannot outlive the call that started it, nor fill memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::world::Environment;
use crate::world::scratch::KnownGroup;

/// What went wrong with a child.
#[derive(Debug, thiserror::Error)]
pub enum ChildFault {
    /// It could not be started at all.
    #[error("{program} could not be started: {error}")]
    NotStarted {
        /// The program's name.
        program: String,
        /// The system's reason.
        error: io::Error,
    },
    /// It was still running at its deadline and was killed, with its group.
    #[error("{program} was still running after {} ms and was killed", .after.as_millis())]
    TimedOut {
        /// The program's name.
        program: String,
        /// How long it was let run.
        after: Duration,
    },
    /// It wrote more than it may.
    #[error("{program} wrote more than {limit} bytes")]
    Flooded {
        /// The program's name.
        program: String,
        /// The bound, in bytes.
        limit: usize,
    },
    /// Nobody waits for its answer any more, so it was killed, with its group.
    #[error("{program} was killed, since its answer is not needed any more")]
    Cancelled {
        /// The program's name.
        program: String,
    },
    /// Its pipes broke.
    #[error("talking to {program} failed: {error}")]
    Pipe {
        /// The program's name.
        program: String,
        /// The system's reason.
        error: io::Error,
    },
}

/// A child to be run to its end.
#[derive(Debug)]
pub struct Job {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Environment,
    /// Its directory.
    pub dir: PathBuf,
    /// What it reads.
    pub input: Vec<u8>,
    /// Most bytes that may come on each of its outputs.
    pub output_limit: usize,
    /// How long it may run.
    pub time_limit: Duration,
}

/// What a child left behind.
#[derive(Debug)]
pub struct Done {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output, whole.
    pub stdout: Vec<u8>,
    /// Its standard error, whole.
    pub stderr: Vec<u8>,
}

/// Tells running children that nobody waits for their answer any more. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends every child that runs under this, at once.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often a waiting call looks whether it was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Which of a child's outputs a reader thread has finished.
enum Stream {
    Out,
    Err,
}

impl Job {
    /// Runs the child to its end, or kills its whole group at the time limit.
    ///
    /// # Errors
    /// As [`ChildFault`] tells. A non-zero exit is not an error here: it is in [`Done::status`].
    pub fn run(self) -> Result<Done, ChildFault> {
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.start(stdin, Stdio::piped(), &Cancel::default())
    }

    /// The same, but it reads `input` from where that stands, and ends early when it is cancelled.
    ///
    /// # Errors
    /// As [`ChildFault`] tells.
    pub fn run_on(self, input: File, cancel: &Cancel) -> Result<Done, ChildFault> {
        self.start(Stdio::from(input), Stdio::piped(), cancel)
    }

    /// The same as [`Self::run`], but what it writes goes to `output`, whatever its length.
    ///
    /// # Errors
    /// As [`ChildFault`] tells.
    pub fn run_into(self, output: File) -> Result<Done, ChildFault> {
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.start(stdin, Stdio::from(output), &Cancel::default())
    }

    fn start(self, stdin: Stdio, stdout: Stdio, cancel: &Cancel) -> Result<Done, ChildFault> {
        let name = self.program.display().to_string();
        let started = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env).current_dir(&self.dir);
        command.stdin(stdin);
        command.stdout(stdout).stderr(Stdio::piped());
        own_group(&mut command);
        let child = command.spawn().map_err(|error| ChildFault::NotStarted { program: name.clone(), error })?;
        let _known = KnownGroup::new(child.id());
        let mut running = Running(child);
        self.attend(&mut running, &name, started, cancel)
    }

    fn attend(self, running: &mut Running, name: &str, started: Instant, cancel: &Cancel) -> Result<Done, ChildFault> {
        let (sender, receiver) = mpsc::channel();
        let pipe_fault = |error| ChildFault::Pipe { program: name.to_owned(), error };
        if let Some(mut stdin) = running.0.stdin.take() {
            let input = self.input;
            // A child that exits without reading its input is judged by its status, so a broken
            // pipe here is not an error of its own.
            thread::spawn(move || stdin.write_all(&input));
        }
        let limit = self.output_limit;
        let (mut stdout, mut stderr) = (None, None);
        match running.0.stdout.take() {
            Some(stdout) => {
                let sender = sender.clone();
                thread::spawn(move || sender.send((Stream::Out, read_bounded(stdout, limit))));
            }
            None => stdout = Some(Vec::new()),
        }
        if let Some(stderr) = running.0.stderr.take() {
            thread::spawn(move || sender.send((Stream::Err, read_bounded(stderr, limit))));
        }
        while stdout.is_none() || stderr.is_none() {
            if cancel.is_cancelled() {
                return Err(ChildFault::Cancelled { program: name.to_owned() });
            }
            let left = self.time_limit.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(ChildFault::TimedOut { program: name.to_owned(), after: started.elapsed() });
            }
            let (stream, read) = match receiver.recv_timeout(left.min(CANCEL_INTERVAL)) {
                Ok(finished) => finished,
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(pipe_fault(io::ErrorKind::BrokenPipe.into())),
            };
            let Some(bytes) = read.map_err(pipe_fault)? else {
                return Err(ChildFault::Flooded { program: name.to_owned(), limit });
            };
            match stream {
                Stream::Out => stdout = Some(bytes),
                Stream::Err => stderr = Some(bytes),
            }
        }
        let left = self.time_limit.saturating_sub(started.elapsed());
        let status = wait_timeout::ChildExt::wait_timeout(&mut running.0, left).map_err(pipe_fault)?;
        let Some(status) = status else {
            return Err(ChildFault::TimedOut { program: name.to_owned(), after: started.elapsed() });
        };
        Ok(Done { status, stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() })
    }
}

/// Everything from a pipe, or `None` when it is more than `limit` bytes.
fn read_bounded(pipe: impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    pipe.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= limit).then_some(bytes))
}

/// A started child: dropping it ends its whole group, so no path leaves one running.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        kill_group(&self.0);
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts the child into a process group of its own.
pub fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills the child's whole group, whatever its members do with SIGTERM.
pub fn kill_group(child: &Child) {
    kill_group_of(child.id());
}

/// The same by the group's id.
pub fn kill_group_of(id: u32) {
    #[cfg(unix)]
    if let Ok(pid) = i32::try_from(id) {
        // The group may be gone already; then there is nothing left to do.
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = id;
}
