//! Code on disk that the walk can read: shell scripts, `make` targets, `npm run`, one-line programs.
//!
//! Promise: what a runner would run is walked as commands, or the runner is an opaque program of the
//! plan. Programs of other languages are inert only when they cannot start programs or open
//! connections at all, as far as their text shows: no name that could do so stands in it.

mod interpreters;
mod justfile;
mod makefile;
mod package;
mod quiet;
pub(super) mod searched;

use bstr::{BStr, BString, ByteSlice};

use super::lex::Dialect;
use super::shell::Ends;
use super::shell::Walk;
use super::shell::command::Call;
use super::shell::state::{Dirs, Shell};
use super::simple::Value;

/// What runs a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Interpreter {
    /// A shell that the walk reads.
    Shell(Dialect),
    /// Another program, with its arguments.
    Other(Vec<BString>),
    /// The system itself.
    Binary,
}

/// What runs a file with this text, by its first line as the kernel and the shell read it.
pub(super) fn interpreter(text: &[u8]) -> Interpreter {
    let head = text.get(..text.len().min(512)).unwrap_or_default();
    let Some(line) = text.strip_prefix(b"#!") else {
        // Without such a line the shell reads the file itself, unless it looks binary.
        return if head.contains(&0) { Interpreter::Binary } else { Interpreter::Shell(Dialect::Bash) };
    };
    let line = line.lines().next().unwrap_or_default();
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let Some(program) = words.next() else { return Interpreter::Binary };
    let base = super::shell::arguments::base_name(program.as_bstr());
    let mut rest: Vec<&[u8]> = words.collect();
    let name = if base == "env" {
        if rest.first() == Some(&b"-S".as_slice()) {
            rest.remove(0);
        }
        match rest.first() {
            Some(name) => super::shell::arguments::base_name(name.as_bstr()),
            None => return Interpreter::Binary,
        }
    } else {
        base
    };
    match name.as_bytes() {
        b"bash" | b"sh" | b"dash" | b"ash" | b"ksh" | b"mksh" => Interpreter::Shell(Dialect::Bash),
        b"zsh" => Interpreter::Shell(Dialect::Zsh),
        _ => {
            let words = if base == "env" { rest } else { std::iter::once(program).chain(rest).collect() };
            Interpreter::Other(words.into_iter().map(BString::from).collect())
        }
    }
}

/// Whether a program of this name is a runner.
pub(super) fn is_runner(base: &BStr) -> bool {
    matches!(
        base.as_bytes(),
        b"make" | b"gmake" | b"just" | b"npm" | b"pnpm" | b"yarn" | b"bun" | b"run-parts" | b"task" | b"rake"
    ) || interpreters::language(base).is_some()
}

/// Most programs of a directory that `run-parts` is followed into.
const MAX_PARTS: usize = 64;

impl Walk<'_, '_> {
    /// Runs what a runner runs; `None` when this use of it is another one's to know.
    pub(super) fn runner(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        if base == "deno" {
            let verb = call.arguments().iter().find(|word| !word.known().is_some_and(|word| word.starts_with(b"-")));
            match verb.and_then(Value::known).map(|verb| verb.as_bytes()) {
                Some(b"publish") => return None,
                Some(
                    b"test" | b"fmt" | b"lint" | b"check" | b"cache" | b"info" | b"doc" | b"types" | b"bench"
                    | b"coverage" | b"upgrade" | b"add" | b"remove" | b"install" | b"outdated" | b"completions",
                ) => return Some(self.printing("deno", shell.clone())),
                _ => {}
            }
        }
        if let Some(language) = interpreters::language(base) {
            return Some(self.interpreter_program(base, language, call, shell));
        }
        match base.as_bytes() {
            b"make" | b"gmake" => Some(self.make(call, shell)),
            b"just" => Some(self.just(call, shell)),
            b"npm" | b"pnpm" | b"yarn" | b"bun" => self.package_script(base, call, shell),
            b"run-parts" => Some(self.run_parts(call, shell)),
            b"task" | b"rake" => {
                self.opaque(base.to_string(), shell);
                Some(Ends::Same(shell.clone()))
            }
            _ => None,
        }
    }

    /// Runs each line in a shell of its own, in `dir`; perhaps, since a runner may skip it.
    fn run_lines(&mut self, lines: Vec<Value>, dir: Option<Dirs>, shell: &Shell, runner: &'static str) {
        for line in lines {
            let mut inside = shell.new_process(Dialect::Bash);
            inside.options.posix = true;
            inside.options.expand_aliases = true;
            if let Some(dir) = &dir {
                inside.dirs = dir.clone();
            }
            match line {
                Value::Known(text) => {
                    self.perhaps(|walk| walk.run_process(&text, inside));
                }
                Value::Unknown(value) => {
                    self.opaque(format!("{runner} runs text that is not known: {}", value.why), &inside);
                }
            }
        }
    }

    /// `run-parts DIRECTORY`: every program in it.
    fn run_parts(&mut self, call: &Call, shell: &Shell) -> Ends {
        let mut folder = None;
        let mut rest = call.arguments();
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            match first.known().map(|word| word.as_bytes()) {
                Some(b"--test" | b"--list") => return Ends::Same(shell.clone()),
                Some(b"--regex" | b"-a" | b"--arg" | b"-u" | b"--umask") => rest = others.get(1..).unwrap_or_default(),
                Some(option) if option.starts_with(b"-") => {}
                _ => folder = Some(first),
            }
        }
        let path = folder.and_then(Value::known).and_then(|folder| self.absolute(folder, shell));
        let listing = path.filter(|path| !self.disk.changes_below(path)).and_then(|path| std::fs::read_dir(path).ok());
        let Some(listing) = listing else {
            self.opaque("run-parts over a directory that is not known", shell);
            return Ends::Same(shell.clone());
        };
        for (at, entry) in listing.enumerate() {
            let (true, Ok(entry)) = (at < MAX_PARTS, entry) else {
                self.opaque("run-parts over more than is followed", shell);
                break;
            };
            let path = BString::from(entry.path().as_os_str().as_encoded_bytes());
            let inner = Call { programs_only: true, no_builtins: true, ..call.with_words(vec![Value::Known(path)]) };
            self.perhaps(|walk| drop(walk.run(inner, shell.clone())));
        }
        Ends::Same(shell.clone())
    }
}
