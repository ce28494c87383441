//! Functions: defined, called, and, when nobody calls them on the line, walked all the same.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::state::{Arguments, Function, Shell, many, unknown};
use super::{Ends, Walk};
use crate::command::ast::{Command, Span, Word};
use crate::command::simple::Value;

impl Walk<'_, '_> {
    pub(in crate::command) fn define(&mut self, names: &[BString], body: &Rc<Command>, shell: &mut Shell) {
        for name in names {
            let function = Rc::new(Function {
                body: Rc::clone(body),
                exported: std::cell::Cell::new(false),
                in_given_text: self.in_given_text,
            });
            if self.probing == 0 {
                self.functions.push(Rc::clone(&function));
            }
            Rc::make_mut(&mut shell.functions).insert(name.clone(), vec![function]);
            Rc::make_mut(&mut shell.unsure_functions).remove(name);
        }
    }

    /// The functions that a name may stand for, unless it can only be a program.
    pub(in crate::command) fn function_named(&self, name: &BStr, shell: &Shell) -> Option<Vec<Rc<Function>>> {
        shell.functions.get(name).filter(|functions| !functions.is_empty()).cloned()
    }

    /// A function without a name: it is called where it stands, and never again.
    pub(in crate::command) fn anonymous(&mut self, body: &Rc<Command>, arguments: &[Word], mut shell: Shell) -> Ends {
        let arguments = self.words(arguments, &mut shell);
        let exported = std::cell::Cell::new(false);
        let function = Rc::new(Function { body: Rc::clone(body), exported, in_given_text: self.in_given_text });
        self.call_one(&function, arguments, body.span, shell)
    }

    /// Calls each function that the name may stand for.
    pub(in crate::command) fn call(
        &mut self,
        functions: &[Rc<Function>],
        arguments: Vec<Value>,
        span: Span,
        shell: Shell,
    ) -> Ends {
        if let [only] = functions {
            return self.call_one(only, arguments, span, shell);
        }
        let mut success: Option<Shell> = None;
        let mut failure: Option<Shell> = None;
        for function in functions {
            let ends = self.perhaps(|walk| walk.call_one(function, arguments.clone(), span, shell.clone()));
            let (one, other) = ends.split();
            success = Some(success.map_or(one.clone(), |known| known.merge(one)));
            failure = Some(failure.map_or(other.clone(), |known| known.merge(other)));
        }
        match (success, failure) {
            (Some(success), Some(failure)) => Ends::of(success, failure),
            _ => Ends::Same(shell),
        }
    }

    fn call_one(&mut self, function: &Rc<Function>, arguments: Vec<Value>, span: Span, mut shell: Shell) -> Ends {
        let place = self.place(span);
        self.called.insert(Rc::as_ptr(function));
        let outside = Rc::clone(&shell.arguments);
        let locals = std::mem::take(&mut shell.locals);
        shell.arguments = Rc::new(Arguments { zero: outside.zero.clone(), rest: arguments });
        let was_in_function = std::mem::replace(&mut shell.in_function, true);
        let was_dead = shell.dead;
        let loops = std::mem::take(&mut self.loops);
        let in_given_text = std::mem::replace(&mut self.in_given_text, function.in_given_text);
        let ends = self.nested_in(place, shell, |walk, shell| walk.command(&function.body, shell));
        self.loops = loops;
        self.in_given_text = in_given_text;
        let (success, failure) = ends.split();
        let leave = |mut ended: Shell| {
            ended.restore_locals();
            ended.arguments = Rc::clone(&outside);
            ended.locals = locals.clone();
            ended.in_function = was_in_function;
            // `return` ends the function alone.
            ended.dead = was_dead || (ended.dead && !ended.returned);
            ended.returned = false;
            ended
        };
        let (success_dead, failure_dead) = (success.dead, failure.dead);
        let returned = success.returned || failure.returned;
        let (mut success, mut failure) = (leave(success), leave(failure));
        if returned {
            // Where it returned early its status is not known.
            let both = success.clone().merge(failure.clone());
            (success, failure) = (both.clone(), both);
        } else if success_dead != failure_dead {
            success.dead = success_dead;
            failure.dead = failure_dead;
        }
        Ends::of(success, failure)
    }

    /// Functions that the line defines and never calls may be called by what the walk does not see
    /// (`command_not_found_handle`, completions, hooks of zsh).
    pub(in crate::command) fn uncalled_functions(&mut self, shell: Shell) {
        let mut index = 0;
        while let Some(function) = self.functions.get(index).cloned() {
            index += 1;
            if self.called.contains(&Rc::as_ptr(&function)) {
                continue;
            }
            let mut inside = Shell { dead: false, ..shell.clone() };
            let why = "parameters of a function that is not called on the line";
            inside.arguments = Rc::new(Arguments { zero: unknown(why, 0..0), rest: vec![many(why, 0..0)] });
            inside.in_function = true;
            let place = function.body.span;
            self.called.insert(Rc::as_ptr(&function));
            let in_given_text = std::mem::replace(&mut self.in_given_text, function.in_given_text);
            self.perhaps(|walk| {
                let range = walk.place(place);
                walk.nested(range, (), |walk| drop(walk.command(&function.body, inside)));
            });
            self.in_given_text = in_given_text;
        }
    }

    /// `name() { … }` as text, as an environment carries functions (`BASH_FUNC_name%%=() { … }`).
    pub(in crate::command) fn define_from_text(&mut self, name: &BStr, text: &BStr, shell: &mut Shell) {
        let definition = [b"function ", name.as_bytes(), b" ", text.as_bytes()].concat();
        let Ok(reader) = crate::command::lex::Reader::new(&definition, shell.dialect) else { return };
        let span = self.span.unwrap_or_default();
        let mut reader = reader.within(span);
        let in_given_text = std::mem::replace(&mut self.in_given_text, false);
        if let Ok(Some(list)) = reader.next_line() {
            let ends = self.list(&list, shell.clone());
            let functions = ends.merged().functions;
            for function in functions.get(name).into_iter().flatten() {
                function.exported.set(true);
            }
            shell.functions = functions;
        }
        self.in_given_text = in_given_text;
    }
}
