//! The entry: a command line in, a plan out.
//!
//! Promise: whatever the text, a plan comes back. Reading goes on a stack of its own, so that the
//! caller's may be small, and its depth is bounded ([`super::lex::MAX_DEPTH`]); a limit that is reached
//! is in the plan.

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
        plan.unknown.push(Unknown { what: "the reader failed on this text".into(), span: 0..text.len() });
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
    let mut plan = Walk::new(world, verbs).walk(text, shell.into());
    plan.conclude();
    plan
}

/// Runs `read` on a stack that is large enough for the deepest text. A thread that cannot be started,
/// or that panics, gives `None`: the caller refuses.
pub fn with_stack<T: Send>(read: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("reader".to_owned()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, read).ok()?.join().ok()
    })
}
