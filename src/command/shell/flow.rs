//! Control flow: `&&`, `||`, pipelines, groups, conditions, `case`.

use bstr::{BStr, ByteSlice};

use super::capture::MadeOf;
use super::state::{Dirs, Shell};
use super::{Ends, Walk};
use crate::command::ast::{AndOr, Arm, Command, CommandKind, Joint, List, Part, Pipeline, Word};
use crate::command::lex::Dialect;
use crate::command::simple::{Stdin, Value};
use crate::command::words::pattern::matches;

impl Walk<'_, '_> {
    pub(in crate::command) fn and_or(&mut self, item: &AndOr, shell: Shell) -> Ends {
        if item.background {
            let background = shell.subshell();
            let ends = self.joined(item, background);
            let ended = self.sequel(ends);
            self.leave_shell(ended);
            return Ends::success(shell);
        }
        self.joined(item, shell)
    }

    fn joined(&mut self, item: &AndOr, shell: Shell) -> Ends {
        let errexit = shell.options.errexit && self.in_condition == 0;
        let alone = item.rest.is_empty();
        let around = self.chain;
        self.next_chain(alone);
        let ends = self.joined_items(item, shell, errexit, alone);
        self.chain = around;
        ends
    }

    /// A list of its own: of one command, 0.
    fn next_chain(&mut self, alone: bool) {
        self.chains += 1;
        self.chain = if alone { 0 } else { self.chains };
    }

    fn joined_items(&mut self, item: &AndOr, shell: Shell, errexit: bool, alone: bool) -> Ends {
        let ends = if alone {
            self.pipeline(&item.first, shell)
        } else {
            self.conditionally(|walk| walk.pipeline(&item.first, shell))
        };
        if alone && !errexit {
            return ends;
        }
        let (mut success, mut failure) = ends.split();
        let mut asked = asks(&item.first);
        for (index, (joint, pipeline)) in item.rest.iter().enumerate() {
            let last = index + 1 == item.rest.len();
            let run = |walk: &mut Self, shell: Shell| {
                if last {
                    walk.pipeline(pipeline, shell)
                } else {
                    walk.conditionally(|walk| walk.pipeline(pipeline, shell))
                }
            };
            match joint {
                Joint::And => {
                    let may_fail = u32::from(!failure.dead);
                    // What stands behind a question runs or not; behind other commands it nearly always does.
                    let decided = if asked { may_fail } else { 0 };
                    self.uncertain += decided;
                    self.uncertain_output += may_fail;
                    let (succeeded, mut failed) = run(self, success).split();
                    self.uncertain_output -= may_fail;
                    self.uncertain -= decided;
                    asked |= asks(pipeline);
                    success = succeeded;
                    // Under `set -e` only a failure of the last command ends the shell.
                    failed.dead |= last && errexit;
                    failure = failure.merge(failed);
                }
                Joint::Or => {
                    self.next_chain(false);
                    let may_succeed = u32::from(!success.dead);
                    self.uncertain += may_succeed;
                    self.uncertain_output += may_succeed;
                    let (succeeded, mut failed) = run(self, failure).split();
                    self.uncertain -= may_succeed;
                    self.uncertain_output -= may_succeed;
                    success = success.merge(succeeded);
                    failed.dead |= last && errexit;
                    failure = failed;
                }
            }
        }
        if errexit && alone && !item.first.negated {
            failure.dead = true;
        }
        Ends::of(success, failure)
    }

    /// Runs `walk` where a failure does not end a shell under `set -e`.
    pub(in crate::command) fn conditionally<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.in_condition += 1;
        let result = walk(self);
        self.in_condition -= 1;
        result
    }

    fn pipeline(&mut self, pipeline: &Pipeline, shell: Shell) -> Ends {
        let ends = match pipeline.commands.as_slice() {
            [] => Ends::success(shell),
            [only] if pipeline.negated => self.conditionally(|walk| walk.command(only, shell)),
            [only] => self.command(only, shell),
            several => self.piped(several, shell),
        };
        if pipeline.negated { ends.negated() } else { ends }
    }

    /// Commands joined by `|`: each in a shell of its own, reading what the one before prints.
    fn piped(&mut self, commands: &[Command], shell: Shell) -> Ends {
        let Some((last, others)) = commands.split_last() else { return Ends::Same(shell) };
        let mut input: Option<(Stdin, Option<MadeOf>)> = None;
        for command in others {
            let mut stage = shell.subshell();
            if let Some((input, made_of)) = input.take() {
                stage.reads_pipe(input, made_of);
            }
            let (_, capture) = self.captured(|walk| {
                let ends = walk.command(command, stage);
                let ended = walk.sequel(ends);
                walk.leave_shell(ended);
            });
            let made_of = capture.made_of().cloned();
            input = Some((capture.stdin(), made_of));
        }
        let mut stage = if shell.dialect == Dialect::Zsh { shell.clone() } else { shell.subshell() };
        if let Some((input, made_of)) = input {
            stage.reads_pipe(input, made_of);
        }
        let (success, failure) = self.command(last, stage).split();
        if shell.dialect == Dialect::Zsh {
            // zsh runs the last command in the shell itself.
            let outside =
                |ended: Shell| Shell { descriptors: shell.descriptors.clone(), piped: shell.piped.clone(), ..ended };
            return Ends::of(outside(success), outside(failure));
        }
        self.leave_shell(success.clone().merge(failure.clone()));
        after_subshell(shell, &success, &failure)
    }

    /// One command with its redirections.
    pub(in crate::command) fn command(&mut self, command: &Command, shell: Shell) -> Ends {
        if let CommandKind::Simple(simple) = &command.kind {
            // Its words pay when they are run.
            return if simple.words.is_empty() && !self.pay(self.place(command.span)) {
                Ends::Same(shell)
            } else {
                self.simple(simple, &command.redirects, command.span, shell)
            };
        }
        if !self.pay(self.place(command.span)) {
            return Ends::Same(shell);
        }
        self.account_for_words(command);
        if command.redirects.is_empty() {
            return self.compound(&command.kind, shell);
        }
        self.redirected(&command.redirects, shell, |walk, shell| walk.compound(&command.kind, shell))
    }

    fn compound(&mut self, kind: &CommandKind, mut shell: Shell) -> Ends {
        match kind {
            CommandKind::Simple(_) => Ends::Same(shell),
            CommandKind::Group(list) => self.list(list, shell),
            CommandKind::Subshell(list) => {
                let ends = self.list(list, shell.subshell());
                let (success, failure) = ends.split();
                self.leave_shell(success.clone().merge(failure.clone()));
                after_subshell(shell, &success, &failure)
            }
            CommandKind::If { arms, otherwise } => self.if_command(arms, otherwise.as_ref(), shell),
            CommandKind::While { until, condition, body } => self.while_command(*until, condition, body, shell),
            CommandKind::For { names, words, body, select } => {
                self.for_command(names, words.as_deref(), body, *select, shell)
            }
            CommandKind::ForArithmetic { header, body } => {
                self.arithmetic_header(header, &mut shell);
                self.repeated(shell, |walk, shell| walk.list(body, shell))
            }
            CommandKind::Case { subject, arms } => self.case_command(subject, arms, shell),
            CommandKind::Arithmetic(expression) => {
                self.arithmetic(expression, &mut shell);
                Ends::Same(shell)
            }
            CommandKind::Condition(words) => self.condition(words, shell),
            CommandKind::Function { names, body } => {
                self.define(names, body, &mut shell);
                Ends::success(shell)
            }
            CommandKind::Coprocess { name, body } => self.coprocess(name.as_ref(), body, shell),
            CommandKind::Anonymous { body, arguments } => self.anonymous(body, arguments, shell),
            CommandKind::Always { body, finally } => {
                let ends = self.list(body, shell);
                let mut after = ends.merged();
                after.dead = false;
                self.list(finally, after)
            }
        }
    }

    /// Words of compound commands are data: the tripwire need not look for commands in them.
    fn account_for_words(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Condition(_) | CommandKind::Arithmetic(_) => self.account(command.span),
            CommandKind::For { words, .. } => {
                words.iter().flatten().for_each(|word| self.account(word.span));
            }
            CommandKind::Anonymous { arguments, .. } => arguments.iter().for_each(|word| self.account(word.span)),
            CommandKind::Case { subject, arms } => {
                self.account(subject.span);
                arms.iter().flat_map(|arm| &arm.patterns).for_each(|word| self.account(word.span));
            }
            CommandKind::Simple(_)
            | CommandKind::Group(_)
            | CommandKind::Subshell(_)
            | CommandKind::If { .. }
            | CommandKind::While { .. }
            | CommandKind::ForArithmetic { .. }
            | CommandKind::Function { .. }
            | CommandKind::Coprocess { .. }
            | CommandKind::Always { .. } => {}
        }
        command.redirects.iter().for_each(|redirect| self.account(redirect.target.span));
    }

    fn if_command(&mut self, arms: &[(List, List)], otherwise: Option<&List>, shell: Shell) -> Ends {
        let mut rest = shell;
        let mut success: Option<Shell> = None;
        let mut failure: Option<Shell> = None;
        let mut add = |ends: Ends| {
            let (one, other) = ends.split();
            success = Some(match success.take() {
                None => one,
                Some(known) => known.merge(one),
            });
            failure = Some(match failure.take() {
                None => other,
                Some(known) => known.merge(other),
            });
        };
        for (condition, body) in arms {
            let (holds, fails) = self.conditionally(|walk| walk.list(condition, rest)).split();
            add(self.perhaps(|walk| walk.list(body, holds)));
            rest = fails;
        }
        add(match otherwise {
            Some(body) => self.perhaps(|walk| walk.list(body, rest)),
            None => Ends::success(rest),
        });
        match (success, failure) {
            (Some(success), Some(failure)) => Ends::of(success, failure),
            (Some(only), None) | (None, Some(only)) => Ends::Same(only),
            (None, None) => Ends::Same(Shell::of_world(self.world, Dialect::Bash)),
        }
    }

    fn case_command(&mut self, subject: &Word, arms: &[Arm], mut shell: Shell) -> Ends {
        let subject = self.single(&subject.parts, &mut shell);
        let mut merged: Option<Shell> = None;
        let mut certain_match = false;
        // What an arm that falls through leaves for the next.
        let mut falling: Option<Shell> = None;
        for arm in arms {
            let mut matched = Some(false);
            for pattern in &arm.patterns {
                let found = self.pattern(&pattern.parts, &mut shell);
                matched = match (found, subject.known(), matched) {
                    (_, _, Some(true)) => Some(true),
                    (Some(pattern), Some(text), known) if matches(&pattern, text) => known.map(|_| true).or(Some(true)),
                    (Some(_), Some(_), known) => known,
                    _ => None,
                };
            }
            let mut start = match falling.take() {
                Some(fallen) => fallen.merge(shell.clone()),
                None => shell.clone(),
            };
            // An arm that cannot match is walked as code that is never reached.
            if (matched == Some(false) || certain_match) && !arm_is_fallen_into(arms, arm) {
                start.dead = true;
            }
            let ended = self.perhaps(|walk| walk.list(&arm.body, start)).merged();
            if arm.end != crate::command::ast::ArmEnd::Break {
                falling = Some(ended.clone());
            }
            certain_match |= matched == Some(true) && arm.end == crate::command::ast::ArmEnd::Break;
            merged = Some(match merged.take() {
                None => ended,
                Some(known) => known.merge(ended),
            });
        }
        if !certain_match {
            merged = Some(match merged.take() {
                None => shell.clone(),
                Some(known) => known.merge(shell.clone()),
            });
        }
        Ends::Same(merged.unwrap_or(shell))
    }

    /// `[[ … ]]`: substitutions are walked; the outcome is not computed, save for plain file tests.
    fn condition(&mut self, words: &[Word], mut shell: Shell) -> Ends {
        let mut values = Vec::new();
        for word in words {
            values.push(self.single(&word.parts, &mut shell));
        }
        self.test_words(&values, &mut shell);
        self.test_outcome(&values, shell)
    }

    fn coprocess(&mut self, name: Option<&bstr::BString>, body: &Command, mut shell: Shell) -> Ends {
        let mut inside = shell.subshell();
        inside.set_descriptor(0, Stdin::Unknown("what is written to a coprocess".into()));
        let ends = self.command(body, inside);
        let ended = self.sequel(ends);
        self.leave_shell(ended);
        let name = name.cloned().unwrap_or_else(|| "COPROC".into());
        let descriptors = super::state::Content::UnknownArray("descriptors of a coprocess".into());
        shell.set(self.world, bstr::ByteSlice::as_bstr(name.as_slice()), descriptors);
        Ends::success(shell)
    }

    /// Runs traps that a shell leaves behind.
    pub(in crate::command) fn leave_shell(&mut self, mut shell: Shell) {
        let traps = std::mem::take(&mut shell.traps);
        shell.dead = false;
        for (_, text) in traps.iter() {
            let shell = shell.clone();
            self.perhaps(|walk| walk.run_value(text, shell, "a trap"));
        }
    }
}

/// Whether another arm runs into this one.
fn arm_is_fallen_into(arms: &[Arm], arm: &Arm) -> bool {
    arms.windows(2).any(|pair| match pair {
        [before, after] => std::ptr::eq(after, arm) && before.end != crate::command::ast::ArmEnd::Break,
        _ => false,
    })
}

/// The shell after a subshell, whose state is gone but whose exit is not.
pub(in crate::command) fn after_subshell(shell: Shell, success: &Shell, failure: &Shell) -> Ends {
    match (success.dead, failure.dead) {
        (false, true) => Ends::success(shell),
        (true, false) => Ends::failure(shell),
        (true, true) | (false, false) => Ends::Same(shell),
    }
}

/// Whether a word is an unknown that may be several.
pub(in crate::command) fn any_many(values: &[Value]) -> bool {
    values.iter().any(Value::is_many)
}

/// A directory that is not known.
pub(in crate::command) fn lost(why: &'static str) -> Dirs {
    Dirs::unknown(why)
}

/// Whether a pipeline is run for its exit code: `grep -q`, `test`, `git diff --quiet`.
fn asks(pipeline: &Pipeline) -> bool {
    const QUESTIONS: &[&str] = &[
        "test",
        "[",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "diff",
        "cmp",
        "command",
        "which",
        "hash",
        "false",
        "read",
        "pgrep",
        "mountpoint",
        "pidof",
        "ping",
        "nc",
    ];
    const OF_GIT: &[&str] = &["diff-index", "diff-files", "rev-parse", "show-ref", "merge-base", "grep", "ls-remote"];
    let Some(last) = pipeline.commands.last() else { return false };
    match &last.kind {
        CommandKind::Condition(_) | CommandKind::Arithmetic(_) => true,
        CommandKind::Simple(simple) => {
            let name = simple.words.first().and_then(literal);
            let verb = simple.words.get(1).and_then(literal);
            let quiet = simple.words.iter().filter_map(literal).any(|word| word == "--quiet" || word == "--exit-code");
            let of_git =
                verb.is_some_and(|verb| OF_GIT.iter().any(|known| *known == verb) || (verb == "diff" && quiet));
            name.is_some_and(|name| QUESTIONS.iter().any(|known| *known == name) || (name == "git" && of_git))
        }
        _ => pipeline.negated,
    }
}

fn literal(word: &Word) -> Option<&BStr> {
    match word.parts.as_slice() {
        [Part::Literal(text)] => Some(text.as_bstr()),
        _ => None,
    }
}
