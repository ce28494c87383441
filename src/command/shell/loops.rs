//! Loops: unrolled where they go over words that are known, else walked once with what they change
//! unknown.

use bstr::{BString, ByteSlice};

use super::state::{Content, Shell, many, unknown};
use super::{Ends, Walk};
use crate::command::ast::{List, Word};
use crate::command::simple::Value;

/// Most repetitions that are walked one by one.
const MAX_UNROLLED: usize = 32;

/// Deepest nesting of loops whose bodies are probed first.
const MAX_PROBING: u32 = 2;

impl Walk<'_, '_> {
    pub(in crate::command) fn for_command(
        &mut self,
        names: &[BString],
        words: Option<&[Word]>,
        body: &List,
        select: bool,
        mut shell: Shell,
    ) -> Ends {
        let values = match words {
            Some(words) => self.words(words, &mut shell),
            None => shell.arguments.rest.clone(),
        };
        let known = !values.iter().any(Value::is_many) && values.len() <= MAX_UNROLLED;
        let name = names.first().cloned().unwrap_or_default();
        if known && !select && names.len() == 1 && self.probing == 0 {
            if values.is_empty() {
                // Walked as code that is never reached, so that what it holds is seen.
                let mut ghost = Shell { dead: true, ..shell.clone() };
                ghost.set(self.world, name.as_bstr(), Content::Scalar(unknown("a loop over nothing", 0..0)));
                self.perhaps(|walk| walk.list(body, ghost));
                return Ends::success(shell);
            }
            let mut left: Option<Shell> = None;
            for value in values {
                shell.set(self.world, name.as_bstr(), Content::Scalar(value));
                let (after, broken) = self.repetition(|walk| walk.list(body, shell).merged());
                shell = after;
                left = either(left, broken);
            }
            return Ends::Same(match left {
                Some(left) => shell.merge(left),
                None => shell,
            });
        }
        let why = if select { "what a person chooses" } else { "a loop's variable" };
        let zero_times = values.is_empty() || values.iter().any(Value::is_many);
        let bound = names.to_vec();
        let before = shell.clone();
        let ends = self.repeated(shell, |walk, mut shell| {
            for name in &bound {
                let value = walk.loop_value(&values, why);
                shell.set(walk.world, name.as_bstr(), Content::Scalar(value));
            }
            walk.list(body, shell)
        });
        if zero_times { Ends::Same(ends.merged().merge(before)) } else { ends }
    }

    /// What a loop's variable is when its words are not known one by one: their common shape.
    fn loop_value(&self, values: &[Value], why: &'static str) -> Value {
        match values {
            [Value::Unknown(only)] => {
                let mut value = only.clone();
                value.many = false;
                Value::Unknown(value)
            }
            [] => unknown(why, 0..0),
            _ => unknown(why, 0..0),
        }
    }

    pub(in crate::command) fn while_command(
        &mut self,
        until: bool,
        condition: &List,
        body: &List,
        shell: Shell,
    ) -> Ends {
        if let Some(ends) = self.read_loop(condition, body, &shell) {
            return ends;
        }
        self.repeated(shell, |walk, shell| {
            let (holds, fails) = walk.conditionally(|walk| walk.list(condition, shell)).split();
            let (enter, leave) = if until { (fails, holds) } else { (holds, fails) };
            // `while :` is left by `break`, so what follows is reached all the same.
            let after = walk.list(body, enter).merged();
            Ends::Same(after.merge(leave))
        })
    }

    /// `while read NAME; do …; done <<TEXT` over text that is known: line by line.
    fn read_loop(&mut self, condition: &List, body: &List, shell: &Shell) -> Option<Ends> {
        if self.probing > 0 {
            return None;
        }
        let [item] = condition.items.as_slice() else { return None };
        let [command] = item.first.commands.as_slice() else { return None };
        let crate::command::ast::CommandKind::Simple(simple) = &command.kind else { return None };
        let words: Option<Vec<&[u8]>> = simple.words.iter().map(crate::command::parse::plain_text).collect();
        let words = words?;
        let (read, arguments) = words.split_first()?;
        let plain = simple.assignments.is_empty() && command.redirects.is_empty() && item.rest.is_empty();
        if *read != b"read" || !plain || item.first.negated {
            return None;
        }
        let crate::command::simple::Stdin::Text(text) = shell.stdin() else { return None };
        let lines: Vec<&[u8]> = text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n').collect();
        if lines.len() > MAX_UNROLLED {
            return None;
        }
        let mut shell = shell.clone();
        let mut ended = shell.clone();
        for line in lines {
            let mut with_line = shell.clone();
            let arguments: Vec<Value> = arguments.iter().map(|word| Value::Known(BString::from(*word))).collect();
            self.read_into(&arguments, Some(line), &mut with_line);
            with_line.set_descriptor(0, crate::command::simple::Stdin::Unknown("the rest of a loop's input".into()));
            ended = self.list(body, with_line).merged();
            let descriptors = std::mem::replace(&mut shell, ended.clone()).descriptors;
            shell.descriptors = descriptors;
        }
        ended.descriptors = shell.descriptors;
        Some(Ends::Same(ended))
    }

    /// A body that runs any number of times: what it changes is learned first and unknown then.
    pub(in crate::command) fn repeated(&mut self, shell: Shell, body: impl Fn(&mut Self, Shell) -> Ends) -> Ends {
        let body = |walk: &mut Self, shell: Shell| {
            let (after, broken) = walk.repetition(|walk| body(walk, shell).merged());
            match broken {
                Some(broken) => after.merge(broken),
                None => after,
            }
        };
        let start = if self.probing < MAX_PROBING {
            let plan_unknown = self.plan.unknown.len();
            let captures = std::mem::take(&mut self.captures);
            self.probing += 1;
            let after = self.perhaps(|walk| body(walk, shell.clone()));
            self.probing -= 1;
            self.captures = captures;
            self.plan.unknown.truncate(plan_unknown);
            widened(shell.clone(), after)
        } else {
            shell.clone()
        };
        let mut after = self.perhaps(|walk| body(walk, start));
        after.dead = shell.dead;
        Ends::Same(shell.merge(after))
    }
}

/// Where `break` and `continue` leave a repetition.
#[derive(Default)]
pub(super) struct Exits {
    breaks: Option<Shell>,
    continues: Option<Shell>,
}

fn either(one: Option<Shell>, other: Option<Shell>) -> Option<Shell> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.merge(other)),
        (one, other) => one.or(other),
    }
}

impl Walk<'_, '_> {
    /// One repetition: the shell at its end, and where `break` has left it.
    fn repetition(&mut self, walk: impl FnOnce(&mut Self) -> Shell) -> (Shell, Option<Shell>) {
        self.loops.push(Exits::default());
        let after = walk(self);
        let exits = self.loops.pop().unwrap_or_default();
        let after = match exits.continues {
            Some(continued) => after.merge(continued),
            None => after,
        };
        (after, exits.breaks)
    }

    /// `break N`, `continue N`: outside of a loop neither does anything.
    pub(in crate::command) fn leave_loop(&mut self, levels: usize, breaks: bool, shell: Shell) -> Ends {
        let Some(innermost) = self.loops.len().checked_sub(1) else { return Ends::Same(shell) };
        let index = innermost.saturating_sub(levels.saturating_sub(1));
        if let Some(exits) = self.loops.get_mut(index) {
            let slot = if breaks { &mut exits.breaks } else { &mut exits.continues };
            *slot = either(slot.take(), Some(shell.clone()));
        }
        Ends::nothing(shell)
    }
}

/// The state at the beginning of any repetition.
fn widened(before: Shell, mut after: Shell) -> Shell {
    after.dead = before.dead;
    let moved = after.dirs != before.dirs;
    let mut start = before.clone().merge(after);
    if moved {
        // Each repetition may go one step further.
        start.dirs.unknown = Some("a directory changed in a loop".into());
    }
    if start.arguments != before.arguments {
        let rest = vec![many("positional parameters shifted in a loop", 0..0)];
        start.arguments = std::rc::Rc::new(super::state::Arguments { zero: before.arguments.zero.clone(), rest });
    }
    start
}
