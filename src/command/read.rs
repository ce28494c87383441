//! The entry: a command line in, a plan out.
//!
//! Promise: whatever the text, a plan comes back. Reading goes on a stack that is large enough, whatever
//! the caller's is, and its depth is bounded ([`super::lex::MAX_DEPTH`]); a limit that is reached
//! is in the plan.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::git_globals;
use super::lex::Dialect;
use super::meaning::Meaning;
use super::plan::{Parsed, Plan, Unknown};
use super::shell::Walk;
use super::simple::Verbs;
use crate::world::World;

/// The stack that reading and walking get, in bytes. Only what is touched costs memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// What would read a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// bash
    #[default]
    Bash,
    /// zsh
    Zsh,
}

impl From<Shell> for Dialect {
    fn from(shell: Shell) -> Self {
        match shell {
            Shell::Bash => Self::Bash,
            Shell::Zsh => Self::Zsh,
        }
    }
}

/// What a command line would publish. Nothing of it is run.
pub fn read(text: &[u8], world: &World, shell: Shell) -> Plan {
    with_stack(|| read_here(text, world, shell)).unwrap_or_else(|| {
        let mut plan = Plan::empty();
        plan.parsed = Parsed::Refused;
        plan.unknown.push(Unknown {
            what: "the reader failed on this text".into(),
            span: 0..text.len(),
            is_limit: true,
        });
        plan.conclude();
        plan
    })
}

/// The same on the stack of the caller, who gives it one that is large enough ([`with_stack`]).
pub fn read_here(text: &[u8], world: &World, shell: Shell) -> Plan {
    read_with(text, world, shell, &mut Meaning::default())
}

/// The same with another meaning of commands; for tests of the reader alone.
pub fn read_with(text: &[u8], world: &World, shell: Shell, verbs: &mut dyn Verbs) -> Plan {
    let mut plan = git_globals::looking_once(|| Walk::new(world, verbs).walk(text, shell.into()));
    plan.conclude();
    plan
}

/// Runs `read` on a stack that is large enough for the deepest text. One that cannot be had, or a panic,
/// gives `None`: the caller refuses.
pub fn with_stack<T: Send>(read: impl FnOnce() -> T + Send) -> Option<T> {
    if let Some(_grown) = Grown::here() {
        return panic::catch_unwind(AssertUnwindSafe(read)).ok();
    }
    std::thread::scope(|scope| spawn_with_stack(scope, read).ok()?.join().ok())
}

/// Starts a thread whose stack is large enough for the deepest text.
///
/// # Errors
/// When the system gives no further thread.
pub fn spawn_with_stack<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    read: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().name("reader".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, read)
}

/// The stack of a process's first thread, which may grow that far while this is held: a thread of its own
/// would cost a gate more than reading the command does.
struct Grown {
    #[cfg(target_os = "linux")]
    before: (u64, u64),
}

#[cfg(target_os = "linux")]
impl Grown {
    /// `None` on another thread, and where the stack may not grow so far. Linux leaves room for 128 MiB
    /// below the first stack whatever its limit was at the start, and asks for the limit when it grows.
    fn here() -> Option<Self> {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        if nix::unistd::gettid() != nix::unistd::getpid() {
            return None;
        }
        let (soft, hard) = getrlimit(Resource::RLIMIT_STACK).ok()?;
        // What the callers' frames take already comes on top.
        setrlimit(Resource::RLIMIT_STACK, soft.max(STACK_BYTES as u64 + (1 << 20)), hard).ok()?;
        Some(Self { before: (soft, hard) })
    }
}

#[cfg(target_os = "linux")]
impl Drop for Grown {
    fn drop(&mut self) {
        // Children that are started later find what they would have found.
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_STACK, self.before.0, self.before.1);
    }
}

#[cfg(not(target_os = "linux"))]
impl Grown {
    fn here() -> Option<Self> {
        None
    }
}
