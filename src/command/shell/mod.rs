//! The walk: a line's commands in order, as bash would run them, running none of them.
//!
//! Promise: every simple command that bash could run is handed to the meaning of commands
//! ([`Verbs`]) with its directory, environment and words as far as they are known. All branches are
//! walked; where ways meet again, only what both know stays known ([`state::Shell::merge`]). Code that
//! cannot be known (`eval "$X"`) becomes an [`Opaque`] of the plan, a bound that is reached an
//! [`Unknown`]: the walk ends early only by saying so.

pub(super) mod arguments;
pub(super) mod builtin;
pub(in crate::command) mod builtin_dir;
mod builtin_print;
mod builtin_variable;
pub(super) mod capture;
pub(super) mod command;
mod computed;
pub mod disk;
mod external;
mod flow;
mod function;
mod lasting;
pub(in crate::command) mod lookup;
mod loops;
mod nested;
mod redirect;
pub mod state;
mod throughout;
mod tools;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use bstr::BString;

use super::ast::{List, Span};
use super::lex::{Dialect, Reader, Stop};
use super::plan::{Opaque, Parsed, Plan, Unknown};
use super::simple::{Certainty, Verbs};
use crate::text::SafeText;
use crate::world::World;
use capture::Capture;
use disk::Disk;
use state::{Function, Shell};

/// Most commands that are walked for one text, repetitions in loops and functions included.
const MAX_COMMANDS: u32 = 10_000;

/// Deepest nesting of texts in texts, functions in functions.
const MAX_NESTING: u32 = 24;

/// How a command ends: the shell after success, and after failure.
pub(super) enum Ends {
    /// Both are alike.
    Same(Shell),
    /// They differ.
    Split(Box<(Shell, Shell)>),
}

/// One walk over one text.
pub struct Walk<'w, 'v> {
    pub(super) world: &'w World,
    pub(super) verbs: &'v mut dyn Verbs,
    pub(super) plan: Plan,
    pub(super) disk: Disk,
    /// Commands that may still be walked.
    commands_left: u32,
    nesting: u32,
    /// How many branches, loops and traps surround this point.
    uncertain: u32,
    /// The same for output: also the right side of `&&`.
    uncertain_output: u32,
    /// The list joined by `&&` that is walked, and how many there were.
    chain: u64,
    chains: u64,
    /// How many conditions surround this point, in which `set -e` does not hold.
    in_condition: u32,
    captures: Vec<Capture>,
    loops: Vec<loops::Exits>,
    functions: Vec<Rc<Function>>,
    called: HashSet<*const Function>,
    wrappers: Vec<&'static str>,
    pub(super) pasted: Vec<PathBuf>,
    /// Where nested text stands.
    span: Option<Span>,
    /// The command being run, for what it runs in turn.
    here: Span,
    /// Passes over a loop's body that only learn what it changes.
    probing: u32,
    next_descriptor: u32,
    /// How many new files `mktemp` was asked for.
    made_names: u32,
    /// Whether the tree being walked is that of the text given, so that its spans are places there.
    pub(super) in_given_text: bool,
    /// Hashes of the commands that the plan lists.
    recorded: HashSet<u64>,
    /// Spans of the text given that commands, comments and here-documents account for.
    pub(super) accounted: Vec<Span>,
}

impl Ends {
    pub(in crate::command) fn split(self) -> (Shell, Shell) {
        match self {
            Self::Same(shell) => (shell.clone(), shell),
            Self::Split(both) => *both,
        }
    }

    pub(in crate::command) fn merged(self) -> Shell {
        match self {
            Self::Same(shell) => shell,
            Self::Split(both) => {
                let (success, failure) = *both;
                success.merge(failure)
            }
        }
    }

    /// Never fails.
    pub(in crate::command) fn success(shell: Shell) -> Self {
        let failure = Shell { dead: true, ..shell.clone() };
        Self::Split(Box::new((shell, failure)))
    }

    /// Never succeeds.
    pub(in crate::command) fn failure(shell: Shell) -> Self {
        let success = Shell { dead: true, ..shell.clone() };
        Self::Split(Box::new((success, shell)))
    }

    /// Nothing after it is reached.
    pub(in crate::command) fn nothing(mut shell: Shell) -> Self {
        shell.dead = true;
        Self::Same(shell)
    }

    pub(in crate::command) fn of(success: Shell, failure: Shell) -> Self {
        Self::Split(Box::new((success, failure)))
    }

    pub(in crate::command) fn negated(self) -> Self {
        match self {
            Self::Same(shell) => Self::Same(shell),
            Self::Split(both) => {
                let (success, failure) = *both;
                Self::of(failure, success)
            }
        }
    }
}

impl<'w, 'v> Walk<'w, 'v> {
    /// A walk that has seen nothing yet.
    pub fn new(world: &'w World, verbs: &'v mut dyn Verbs) -> Self {
        Self {
            world,
            verbs,
            plan: Plan::empty(),
            disk: Disk::default(),
            commands_left: MAX_COMMANDS,
            nesting: 0,
            uncertain: 0,
            uncertain_output: 0,
            chain: 0,
            chains: 0,
            in_condition: 0,
            captures: Vec::new(),
            loops: Vec::new(),
            functions: Vec::new(),
            called: HashSet::new(),
            wrappers: Vec::new(),
            pasted: Vec::new(),
            span: None,
            here: Span::default(),
            probing: 0,
            next_descriptor: 63,
            made_names: 0,
            in_given_text: true,
            recorded: HashSet::new(),
            accounted: Vec::new(),
        }
    }

    /// Walks the whole text as the host's shell would run it; what was seen.
    pub fn walk(mut self, text: &[u8], dialect: Dialect) -> Plan {
        let shell = Shell::of_world(self.world, dialect);
        let mut reader = match Reader::new(text, dialect) {
            Ok(reader) => reader,
            Err(stop) => {
                self.stopped(stop, text, 0, dialect);
                return self.plan;
            }
        };
        let start = self.shell_starts(shell, false, false);
        let shell = self.lines(&mut reader, start.clone(), text, true).merged();
        self.leave_shell(shell.clone());
        self.uncalled_functions(shell.clone());
        self.lasting(&start, &shell);
        self.tripwire(text, &reader);
        self.forget_limits(text, dialect);
        self.plan
    }

    /// A line that goes past a limit and is innocent throughout stays innocent.
    fn forget_limits(&mut self, text: &[u8], dialect: Dialect) {
        let goes_past = self.plan.unknown.iter().any(|unknown| unknown.is_limit);
        if goes_past && self.plan.parsed == Parsed::Whole && throughout::is_innocent(text, dialect) {
            self.plan.unknown.retain(|unknown| !unknown.is_limit);
        }
    }

    /// Walks the lines of a text one after another, in the same shell.
    pub(in crate::command) fn lines(
        &mut self,
        reader: &mut Reader,
        mut shell: Shell,
        text: &[u8],
        outermost: bool,
    ) -> Ends {
        loop {
            reader.set_extglob(shell.options.extglob);
            if shell.options.expand_aliases {
                reader.set_aliases(Rc::clone(&shell.aliases));
            }
            if shell.unsure_aliases && !shell.aliases.is_empty() {
                self.opaque("aliases that a branch sets", &shell);
            }
            match reader.next_line() {
                // Handed on and not copied: what it shares with nobody is changed in place.
                Ok(Some(list)) => {
                    let ends = self.list(&list, shell);
                    shell = self.sequel(ends);
                }
                Ok(None) => return Ends::Same(shell),
                Err(stop) => {
                    if outermost {
                        self.stopped(stop, text, reader.position(), shell.dialect);
                    } else {
                        self.stopped_inside(stop, text);
                    }
                    return Ends::Same(shell);
                }
            }
        }
    }

    /// Walks a list; how its last command ends.
    pub(in crate::command) fn list(&mut self, list: &List, shell: Shell) -> Ends {
        let mut ends = Ends::Same(shell);
        for (index, item) in list.items.iter().enumerate() {
            let shell = if index == 0 {
                match ends {
                    Ends::Same(shell) => shell,
                    Ends::Split(both) => both.0,
                }
            } else {
                self.sequel(ends)
            };
            ends = self.and_or(item, shell);
        }
        ends
    }

    /// The shell in which the next command of a sequence runs.
    pub(in crate::command) fn sequel(&self, ends: Ends) -> Shell {
        ends.merged()
    }

    /// Pays for one command; `false` when no more may be walked, which the plan then says.
    pub(in crate::command) fn pay(&mut self, span: Range<usize>) -> bool {
        if self.commands_left == 0 {
            return false;
        }
        self.commands_left -= 1;
        if self.commands_left == 0 {
            self.beyond_limit("the line repeats more commands than are followed", span);
        }
        true
    }

    /// Runs `walk` one level deeper, unless that is too deep, which the plan then says.
    pub(in crate::command) fn nested<T>(
        &mut self,
        span: Range<usize>,
        otherwise: T,
        walk: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if !self.may_nest(span) {
            return otherwise;
        }
        self.nesting += 1;
        let result = walk(self);
        self.nesting -= 1;
        result
    }

    /// The same for what takes the shell: where it is too deep the shell stays as it is.
    pub(in crate::command) fn nested_in(
        &mut self,
        span: Range<usize>,
        shell: Shell,
        walk: impl FnOnce(&mut Self, Shell) -> Ends,
    ) -> Ends {
        if !self.may_nest(span) {
            return Ends::Same(shell);
        }
        self.nesting += 1;
        let ends = walk(self, shell);
        self.nesting -= 1;
        ends
    }

    fn may_nest(&mut self, span: Range<usize>) -> bool {
        let may = self.nesting < MAX_NESTING;
        if !may {
            self.beyond_limit("code is nested deeper than is followed", span);
        }
        may
    }

    /// Runs `walk` where it is not certain to run.
    pub(in crate::command) fn perhaps<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.uncertain += 1;
        self.uncertain_output += 1;
        let result = walk(self);
        self.uncertain -= 1;
        self.uncertain_output -= 1;
        result
    }

    pub(in crate::command) fn certainty(&self, shell: &Shell) -> Certainty {
        if self.uncertain > 0 || shell.dead { Certainty::Maybe } else { Certainty::Always }
    }

    /// A span of the text given: nested text stands where the construct that holds it does.
    pub(in crate::command) fn place(&self, span: Span) -> Range<usize> {
        self.span.unwrap_or(span).range()
    }

    /// Where nested text stands, as a range.
    pub(in crate::command) fn span_range(&self) -> Range<usize> {
        self.span.map(Span::range).unwrap_or_default()
    }

    pub(in crate::command) fn span_of(&self, range: &Range<usize>) -> Span {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: narrow(range.start), end: narrow(range.end) }
    }

    pub(in crate::command) fn unknown(&mut self, what: impl Into<SafeText>, span: Range<usize>) {
        self.note_unknown(Unknown { what: what.into(), span, is_limit: false });
    }

    /// More than is followed.
    pub(in crate::command) fn beyond_limit(&mut self, what: &'static str, span: Range<usize>) {
        self.note_unknown(Unknown { what: what.into(), span, is_limit: true });
    }

    fn note_unknown(&mut self, unknown: Unknown) {
        let is_known = |known: &Unknown| known.what == unknown.what && known.span == unknown.span;
        if !self.plan.unknown.iter().any(is_known) {
            self.plan.unknown.push(unknown);
        }
    }

    /// Whether this pass only learns what a loop changes.
    pub(in crate::command) fn is_probing(&self) -> bool {
        self.probing > 0
    }

    /// Code that cannot be known, or a program that cannot be read.
    pub(in crate::command) fn opaque(&mut self, program: impl Into<SafeText>, shell: &Shell) {
        if self.probing > 0 {
            return;
        }
        let program = program.into();
        let dir = shell.dirs.known.first().unwrap_or(&self.world.cwd).clone();
        self.disk.anything = true;
        if !self.plan.opaque.iter().any(|known| known.program == program && known.dir == dir) {
            self.plan.opaque.push(Opaque { program, dir, env: shell.env(self.world).known() });
        }
    }

    /// The text given cannot be read further.
    fn stopped(&mut self, stop: Stop, text: &[u8], position: usize, dialect: Dialect) {
        match stop {
            Stop::Syntax { what, at } => {
                self.plan.parsed = Parsed::Partial;
                let rest = text.get(position.min(text.len())..).unwrap_or_default();
                // What is not read as zsh may still be zsh, and run.
                let may_run = dialect == Dialect::Zsh && super::tripwire::names_program(text);
                if may_run || super::tripwire::may_publish(rest) {
                    self.unknown(format!("a syntax error: {what} expected"), at as usize..text.len());
                }
            }
            Stop::Limit(what) => {
                self.plan.parsed = Parsed::Refused;
                self.beyond_limit(what, 0..text.len());
            }
        }
    }

    /// Nested text cannot be read further: its shell reports that and runs nothing more of it.
    fn stopped_inside(&mut self, stop: Stop, text: &[u8]) {
        let span = self.span.map(Span::range).unwrap_or_default();
        match stop {
            Stop::Syntax { what, .. } if super::tripwire::may_publish(text) => {
                self.unknown(format!("a syntax error in nested code: {what} expected"), span);
            }
            Stop::Syntax { .. } => {}
            Stop::Limit(what) => self.beyond_limit(what, span),
        }
    }

    /// A list's text as the plan shows it.
    pub(in crate::command) fn record(&mut self, words: &[super::simple::Value]) {
        if self.probing > 0 {
            return;
        }
        let words: Vec<Option<BString>> = words.iter().map(|word| word.known().map(BString::from)).collect();
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        if self.recorded.insert(hasher.finish()) || !self.plan.commands.contains(&words) {
            self.plan.commands.push(words);
        }
    }
}
