//! Lines that are longer, or repeat more, than the walk follows, and of which every command is innocent by its name.
//!
//! Promise: [`is_innocent`] is said only of a text whose every command, in whatever branch, loop, function or
//! substitution, is a plain word that names a program or builtin which runs no other, writes no file by its
//! arguments and changes nothing of how names are looked up; so it does not matter how often each is run. A path
//! that is written to must lead to no place where a control may lie.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};

use crate::command::ast::{Command, CommandKind, List, Part, Redirect, RedirectOperator, Simple, Word};
use crate::command::lex::{Dialect, Reader};
use crate::command::parse::plain_text;
use crate::command::programs::{Class, class};

/// Builtins that run nothing, and change at most variables and directories.
const BUILTINS: &str = ": true false echo printf test [ pwd local shift return break continue exit wait read sleep";

/// Variables that decide what later commands are, or where.
const DECISIVE: &[&str] = &[
    "PATH",
    "path",
    "cdpath",
    "CDPATH",
    "HOME",
    "IFS",
    "ENV",
    "ZDOTDIR",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT",
    "RPROMPT",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
];

/// Beginnings of the names of others.
const DECISIVE_BEGINNINGS: &[&str] =
    &["GIT_", "BASH_", "LD_", "DYLD_", "PROMPT_", "PS", "XDG_", "TYRAN", "GH_", "SSH_"];

struct Look {
    /// Names of functions that the text defines; their bodies are looked at where they stand.
    functions: HashSet<BString>,
    /// Names of commands that are innocent only where a function of the text has them.
    called: HashSet<BString>,
    innocent: bool,
}

/// Whether every command of the text is innocent by its name.
pub(super) fn is_innocent(text: &[u8], dialect: Dialect) -> bool {
    let Ok(mut reader) = Reader::new(text, dialect) else { return false };
    let mut look = Look { functions: HashSet::new(), called: HashSet::new(), innocent: true };
    loop {
        match reader.next_line() {
            Ok(Some(list)) => look.list(&list),
            Ok(None) => return look.innocent && look.called.is_subset(&look.functions),
            Err(_) => return false,
        }
        if !look.innocent {
            return false;
        }
    }
}

impl Look {
    fn list(&mut self, list: &List) {
        for item in &list.items {
            let pipelines = std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline));
            pipelines.flat_map(|pipeline| &pipeline.commands).for_each(|command| self.command(command));
        }
    }

    fn command(&mut self, command: &Command) {
        command.redirects.iter().for_each(|redirect| self.redirect(redirect));
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.list(condition);
                    self.list(body);
                }
                otherwise.iter().for_each(|list| self.list(list));
            }
            CommandKind::While { condition, body, .. } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::For { words, body, names, .. } => {
                self.innocent &= names.iter().all(|name| !decides(name.as_bstr()));
                words.iter().flatten().for_each(|word| self.word(word));
                self.list(body);
            }
            CommandKind::ForArithmetic { header, body } => {
                self.parts(header);
                self.list(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    arm.patterns.iter().for_each(|word| self.word(word));
                    self.list(&arm.body);
                }
            }
            CommandKind::Arithmetic(expression) => self.parts(expression),
            CommandKind::Condition(words) => words.iter().for_each(|word| self.word(word)),
            CommandKind::Function { names, body } => {
                self.functions.extend(names.iter().cloned());
                self.command(body);
            }
            CommandKind::Coprocess { body, .. } => self.command(body),
            CommandKind::Anonymous { body, arguments } => {
                arguments.iter().for_each(|word| self.word(word));
                self.command(body);
            }
            CommandKind::Always { body, finally } => {
                self.list(body);
                self.list(finally);
            }
        }
    }

    fn simple(&mut self, simple: &Simple) {
        simple.assignments.iter().chain(&simple.words).for_each(|word| self.word(word));
        // `read PATH`, `printf -v PATH`.
        self.innocent &= !simple.words.iter().filter_map(plain_text).any(|word| decides(word.as_bstr()));
        let Some(name) = simple.words.first() else { return };
        match plain_text(name).filter(|name| !name.iter().any(|byte| b"*?[{~/=".contains(byte))) {
            // Paths that are written to are judged as they stand, so they must stand in a plain place.
            Some(b"cd") => self.innocent &= stays_in_plain_places(simple),
            Some(name) if BUILTINS.split_ascii_whitespace().any(|builtin| name == builtin.as_bytes()) => {}
            Some(b"sort") if sorts_only(simple) => {}
            Some(name) if class(name.as_bstr()) == Class::Inert && !runs_others(name) => {}
            // `{` of a text that some shell takes for a word, a name that only a function gives a meaning.
            Some(name) => drop(self.called.insert(name.into())),
            None => self.innocent = false,
        }
    }

    fn word(&mut self, word: &Word) {
        if let Some(head) = &word.head {
            self.innocent &= !decides(head.name.as_bstr());
            head.subscript.iter().for_each(|parts| self.parts(parts));
            head.array.iter().flatten().for_each(|word| self.word(word));
        }
        self.parts(&word.parts);
    }

    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Literal(_) | Part::Quoted(_) => {}
                Part::DoubleQuoted(inner) => self.parts(inner),
                Part::Parameter(parameter) => {
                    // `${x@P}` and indirect names may hold code.
                    self.innocent &= !parameter.indirect
                        && !matches!(parameter.operation, crate::command::ast::Operation::Transform(_));
                    parameter.subscript.iter().for_each(|parts| self.parts(parts));
                    self.parts(&parameter.operand);
                }
                Part::Substitution(substitution) => {
                    self.innocent &= !substitution.broken;
                    substitution.lines.iter().for_each(|list| self.list(list));
                }
                Part::Process(process) => self.list(&process.list),
                Part::Arithmetic(expression) => self.parts(expression),
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        self.parts(&redirect.target.parts);
        if let Some(body) = redirect.body.get() {
            self.innocent &= !body.broken;
            self.parts(&body.parts);
        }
        let writes = match redirect.operator {
            RedirectOperator::Write
            | RedirectOperator::Append
            | RedirectOperator::WriteBoth
            | RedirectOperator::AppendBoth
            | RedirectOperator::ReadWrite
            | RedirectOperator::DuplicateOutput => true,
            RedirectOperator::Read
            | RedirectOperator::DuplicateInput
            | RedirectOperator::HereDocument
            | RedirectOperator::HereString => false,
        };
        self.innocent &= !writes || plain_text(&redirect.target).is_some_and(is_plain_place);
    }
}

/// Whether a control lies nowhere along a path: all are in folders that begin with a dot, in those of the system or
/// among hooks, or are programs that decide.
fn is_plain_place(path: &[u8]) -> bool {
    let plain = |part: &[u8]| {
        !part.starts_with(b".")
            && !["hooks", "git", "tyran"].iter().any(|name| part.eq_ignore_ascii_case(name.as_bytes()))
            && !part.iter().any(|byte| b"*?[{~".contains(byte))
    };
    path == b"/dev/null"
        || path.starts_with(b"/tmp/") && path.split(|byte| *byte == b'/').all(plain)
        || !path.starts_with(b"/")
            && path.split(|byte| *byte == b'/').all(|part| plain(part) && !part.ends_with(b".json"))
}

/// Whether a change of directory leads down, up or to a folder for temporary files, and not home.
fn stays_in_plain_places(simple: &Simple) -> bool {
    let is_plain = |path: &[u8]| {
        path == b"/tmp" || path.split(|byte| *byte == b'/').all(|part| part == b"..") || is_plain_place(path)
    };
    let paths = simple.words.get(1..).unwrap_or_default();
    !paths.is_empty() && paths.iter().all(|word| plain_text(word).is_some_and(is_plain))
}

fn decides(name: &BStr) -> bool {
    DECISIVE.iter().any(|one| name == *one)
        || DECISIVE_BEGINNINGS.iter().any(|start| name.starts_with(start.as_bytes()))
}

/// Whether a call of sort neither writes a file nor runs a program for what it compresses.
fn sorts_only(simple: &Simple) -> bool {
    let is_harmless = |word: &[u8]| match word.strip_prefix(b"-") {
        Some(letters) => !letters.starts_with(b"-") && !letters.contains(&b'o') && !letters.contains(&b'T'),
        None => true,
    };
    simple.words.iter().all(|word| plain_text(word).is_some_and(is_harmless))
}

/// Innocent programs that run others which their words name.
fn runs_others(name: &[u8]) -> bool {
    crate::command::wrappers::is_wrapper(name.as_bstr())
        || crate::command::scripts::is_runner(name.as_bstr())
        || matches!(
            name,
            b"less"
                | b"more"
                | b"most"
                | b"man"
                | b"fd"
                | b"fdfind"
                | b"rg"
                | b"ag"
                | b"hyperfine"
                | b"time"
                | b"perf"
                | b"strace"
                | b"ltrace"
                | b"valgrind"
                | b"script"
                | b"pre-commit"
                | b"vim"
                | b"vi"
                | b"nvim"
                | b"ed"
                | b"ex"
                | b"emacs"
                | b"nano"
                | b"code"
                | b"docker-compose"
                | b"kubectl"
                | b"ssh-agent"
                | b"bundle"
                | b"bundler"
        )
}
