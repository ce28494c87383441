//! Commands that open a session into which more is typed later, where the host does not show what.
//!
//! Promise: on a host that has a tool for typing into open sessions, a program that runs what it is
//! typed is found in every command of a line: a shell or an interpreter that reads its input, and
//! programs with a way to a shell. What is typed later is nobody's to read but git's own hooks.

use bstr::{BString, ByteSlice};

use crate::command::plan::Plan;
use crate::command::{self, Shell};
use crate::text::SafeText;
use crate::world::{Input, World};

use super::table::Host;

/// Programs that run shell commands when they are typed into.
const TYPED_INTO: &[&str] = &[
    "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "less", "more", "man", "top", "htop", "gdb", "lldb",
    "script", "tmux", "screen", "expect", "irb", "ghci", "R", "julia", "iex", "erl", "jshell", "scala", "ipython",
    "ftp", "telnet", "mc", "ranger", "nnn", "tig", "lazygit", "gitui", "fzf", "watch",
];

/// Programs that do so when nothing on their line says what to do.
const TYPED_INTO_WHEN_BARE: &[&str] = &["sqlite3", "psql", "mysql", "php", "deno", "bun", "ocaml", "lua", "sudo", "su"];

/// The program that a line opens such a session with.
pub fn opened(host: &Host, text: &str, world: &World, shell: Shell, plan: &Plan) -> Option<SafeText> {
    if host.tools.typing.is_empty() {
        return None;
    }
    if let Some(name) = plan.commands.iter().find_map(|words| typed_into(words)) {
        return Some(SafeText::quoted(name, 60));
    }
    // The same line without input, and with input that nobody knows: what the second alone cannot read
    // runs its input.
    let with = |input| {
        let mut world = world.clone();
        world.input = input;
        command::read(text.as_bytes(), &world, shell)
    };
    let (without_input, with_input) = (with(Input::Nothing), with(Input::TypedLater));
    with_input.opaque.get(without_input.opaque.len()..)?.last().map(|opaque| opaque.program.clone())
}

fn typed_into(words: &[Option<BString>]) -> Option<&[u8]> {
    let name = words.first()?.as_ref()?.as_bytes();
    let base = name.rsplit_str("/").next().unwrap_or(name);
    let is_in = |list: &[&str]| list.iter().any(|known| known.as_bytes() == base);
    let operands = words.iter().skip(1).filter(|word| word.as_ref().is_none_or(|word| !word.starts_with(b"-")));
    (is_in(TYPED_INTO) || (is_in(TYPED_INTO_WHEN_BARE) && operands.count() < 2)).then_some(base)
}
