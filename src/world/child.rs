//! Children: started with a cleared environment in their own process group, ended as a group.
//!
//! Promise: a child that hangs, forks children which hold its pipes, floods its output or ignores
//! SIGTERM cannot outlive the call that started it, nor fill memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

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
        let pipe_fault = |error| ChildFault::Pipe { program: name.to_owned(), error };
        let mut input = running.0.stdin.take().map(|pipe| Input { pipe, bytes: self.input, written: 0 });
        if let Some(input) = &input {
            input.never_block().map_err(pipe_fault)?;
        }
        let mut stdout = Output::new(running.0.stdout.take().map(OwnedFd::from));
        let mut stderr = Output::new(running.0.stderr.take().map(OwnedFd::from));
        while stdout.pipe.is_some() || stderr.pipe.is_some() {
            if cancel.is_cancelled() {
                return Err(ChildFault::Cancelled { program: name.to_owned() });
            }
            let left = self.time_limit.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(ChildFault::TimedOut { program: name.to_owned(), after: started.elapsed() });
            }
            let [may_write, out, err] =
                ready(&input, [&stdout, &stderr], left.min(CANCEL_INTERVAL)).map_err(pipe_fault)?;
            if may_write && input.as_mut().is_some_and(Input::is_done_writing) {
                input = None;
            }
            for (is_ready, output) in [(out, &mut stdout), (err, &mut stderr)] {
                if is_ready {
                    output.read_some().map_err(pipe_fault)?;
                    if output.bytes.len() > self.output_limit {
                        return Err(ChildFault::Flooded { program: name.to_owned(), limit: self.output_limit });
                    }
                }
            }
        }
        drop(input);
        let left = self.time_limit.saturating_sub(started.elapsed());
        let status = wait_timeout::ChildExt::wait_timeout(&mut running.0, left).map_err(pipe_fault)?;
        let Some(status) = status else {
            return Err(ChildFault::TimedOut { program: name.to_owned(), after: started.elapsed() });
        };
        Ok(Done { status, stdout: stdout.bytes, stderr: stderr.bytes })
    }
}

/// What a child is to read, written as it takes it.
struct Input {
    pipe: ChildStdin,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// A child that does not read must not keep us from reading what it writes.
    fn never_block(&self) -> io::Result<()> {
        let flags = OFlag::from_bits_retain(fcntl(&self.pipe, FcntlArg::F_GETFL)?);
        fcntl(&self.pipe, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok(())
    }

    /// Writes what the pipe takes; whether that was all. A child that exits without reading its input is
    /// judged by its status, so a broken pipe here is not an error of its own.
    fn is_done_writing(&mut self) -> bool {
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        match self.pipe.write(rest) {
            Ok(count) => {
                self.written += count;
                self.written >= self.bytes.len()
            }
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }
}

/// What a child writes, read as it comes; the pipe is gone when the child's end is closed.
struct Output {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Output {
    fn new(pipe: Option<OwnedFd>) -> Self {
        Self { pipe, bytes: Vec::new() }
    }

    fn read_some(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut piece = [0; PIECE];
        match nix::unistd::read(pipe, &mut piece) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.bytes.extend_from_slice(piece.get(..count).unwrap_or_default()),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Bytes that are read from a pipe at once.
const PIECE: usize = 16 << 10;

/// Waits until something can be done, at most so long: whether there is room for input, and whether each
/// output has something.
fn ready(input: &Option<Input>, outputs: [&Output; 2], most: Duration) -> io::Result<[bool; 3]> {
    let [out, err] = outputs.map(|output| output.pipe.as_ref().map(AsFd::as_fd));
    let pipes = [input.as_ref().map(|input| input.pipe.as_fd()), out, err];
    let flags = [PollFlags::POLLOUT, PollFlags::POLLIN, PollFlags::POLLIN];
    let mut waiting: Vec<PollFd<'_>> =
        pipes.iter().zip(flags).filter_map(|(pipe, flags)| Some(PollFd::new((*pipe)?, flags))).collect();
    // Rounded up, lest the last moment be spent spinning.
    let millis = u16::try_from(most.as_millis()).unwrap_or(u16::MAX).saturating_add(1);
    match poll(&mut waiting, PollTimeout::from(millis)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waited = waiting.iter();
    Ok(pipes.map(|pipe| pipe.is_some() && waited.next().and_then(PollFd::any).unwrap_or(false)))
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
