//! Simple commands: assignments, words, and what the name stands for.

use bstr::{BStr, BString, ByteSlice};

use super::state::{Content, Shell, Variable};
use super::{Ends, Walk};
use crate::command::ast::{Redirect, Simple, Span, Word};
use crate::command::lex::Dialect;
use crate::command::simple::{Redirection, Value};
use crate::command::words::zsh::{has_zsh_arrays, key_of};

/// Most elements of an array that are kept.
const MAX_ELEMENTS: usize = 4096;

/// A command with its words expanded.
pub(in crate::command) struct Call {
    pub words: Vec<Value>,
    pub redirections: Vec<Redirection>,
    pub span: Span,
    /// Whether functions are passed over (`command`, wrappers, `exec`).
    pub programs_only: bool,
    /// Whether builtins are passed over too (wrappers start a process).
    pub no_builtins: bool,
}

impl Call {
    pub fn name(&self) -> Option<&BStr> {
        self.words.first().and_then(Value::known)
    }

    pub fn arguments(&self) -> &[Value] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The same command without its first `count` words.
    pub fn rest(&self, count: usize) -> Self {
        self.with_words(self.words.get(count..).unwrap_or_default().to_vec())
    }

    pub fn with_words(&self, words: Vec<Value>) -> Self {
        Self {
            words,
            redirections: self.redirections.clone(),
            span: self.span,
            programs_only: self.programs_only,
            no_builtins: self.no_builtins,
        }
    }
}

impl Walk<'_, '_> {
    pub(in crate::command) fn simple(
        &mut self,
        simple: &Simple,
        redirects: &[Redirect],
        span: Span,
        mut shell: Shell,
    ) -> Ends {
        self.account(span);
        let outer_here = self.here;
        self.here = self.span.unwrap_or(span);
        let pasted = std::mem::take(&mut self.pasted);
        let words = self.words_of_command(&simple.words, &mut shell);
        let outside = shell.descriptors.clone();
        let opened = self.open(redirects, &mut shell);
        let ends = if words.is_empty() {
            for assignment in &simple.assignments {
                self.assign(assignment, &mut shell);
            }
            if matches!(opened.out, super::redirect::Out::File { .. }) {
                let state = shell.clone();
                self.under(&opened, &state, |_| ());
            }
            shell.descriptors = outside;
            if simple.words.is_empty() { Ends::Same(shell) } else { Ends::success(shell) }
        } else {
            let permanent = words.len() == 1 && words.first().and_then(Value::known).is_some_and(|name| name == "exec");
            let temporary = self.assign_for_command(&simple.assignments, &mut shell);
            // Kept only where it says into which file the output goes.
            let state = matches!(opened.out, super::redirect::Out::File { .. }).then(|| shell.clone());
            let call = Call {
                words,
                redirections: opened.redirections.clone(),
                span,
                programs_only: false,
                no_builtins: false,
            };
            let ends = match state {
                Some(state) => self.under(&opened, &state, |walk| walk.run(call, shell)),
                None if matches!(opened.out, super::redirect::Out::Inherited) => self.run(call, shell),
                None => self.captured(|walk| walk.run(call, shell)).0,
            };
            let restore = |mut ended: Shell| {
                if !permanent {
                    ended.descriptors = outside.clone();
                }
                restore_variables(&mut ended, &temporary);
                ended
            };
            match ends {
                Ends::Same(ended) => Ends::Same(restore(ended)),
                Ends::Split(both) => {
                    let (success, failure) = *both;
                    Ends::of(restore(success), restore(failure))
                }
            }
        };
        // What a substitution pastes in is pasted into the command around it.
        let inner = std::mem::replace(&mut self.pasted, pasted);
        if self.is_captured() {
            self.pasted.extend(inner);
        }
        self.here = outer_here;
        ends
    }

    /// The words of a command; behind zsh's `noglob` no file names are looked for.
    fn words_of_command(&mut self, words: &[Word], shell: &mut Shell) -> Vec<Value> {
        let noglob = shell.dialect == Dialect::Zsh
            && words.first().and_then(crate::command::parse::plain_text).is_some_and(|name| name == b"noglob");
        let before = shell.options.no_glob;
        shell.options.no_glob |= noglob;
        let values = self.words(words, shell);
        shell.options.no_glob = before;
        values
    }

    /// Assignments before a command: exported to it, and undone afterwards.
    fn assign_for_command(&mut self, assignments: &[Word], shell: &mut Shell) -> Vec<(BString, Option<Variable>)> {
        let mut before = Vec::new();
        for assignment in assignments {
            let Some(head) = &assignment.head else { continue };
            before.push((head.name.clone(), shell.variables.get(&head.name).cloned()));
            self.assign(assignment, shell);
            shell.variable_mut(self.world, head.name.as_bstr()).exported = true;
        }
        before
    }

    /// One assignment.
    pub(in crate::command) fn assign(&mut self, assignment: &Word, shell: &mut Shell) {
        let Some(head) = &assignment.head else { return };
        let name = head.name.as_bstr();
        if let Some(elements) = &head.array {
            let content = self.array(elements, shell);
            let content = if head.append { appended(self.content(name, shell), content) } else { content };
            if !self.assign_view(name, &content, shell) {
                shell.set(self.world, name, content);
            }
            return;
        }
        let value = self.assigned(&assignment.parts, shell);
        self.prompts(name, &value, shell);
        let before = self.content(name, shell);
        let content = match &head.subscript {
            Some(subscript) => {
                let key = self.single(subscript, shell);
                if let Value::Known(key) = &key {
                    self.subscripts_in(BString::from([b"[", key.as_slice()].concat()).as_bstr(), shell);
                    if !matches!(before, Content::UnknownArray(_)) && !is_index(key) {
                        // Computed, and what its variables hold may be computed in turn.
                        self.evaluate(key.as_bstr(), shell, 0);
                    }
                }
                if name == "BASH_ALIASES" || name == "BASH_CMDS" {
                    self.opaque(format!("names that {name} gives another meaning"), shell);
                    shell.unsure_aliases = true;
                    if let (Value::Known(key), Value::Known(text)) = (&key, &value) {
                        std::rc::Rc::make_mut(&mut shell.aliases).insert(key.clone(), text.clone());
                    }
                }
                let key = match key.known().filter(|_| has_zsh_arrays(shell)) {
                    Some(index) => zsh_key(&before, index),
                    None => key,
                };
                with_element(before, &key, value)
            }
            None if head.append => joined(before, value),
            None => Content::Scalar(value),
        };
        if !self.assign_view(name, &content, shell) {
            shell.set(self.world, name, content);
        }
    }

    /// What an interactive shell, or one that traces, runs because of a variable's text.
    fn prompts(&mut self, name: &BStr, value: &Value, shell: &Shell) {
        let expanded = matches!(name.as_bytes(), b"PS0" | b"PS1" | b"PS2" | b"PS3" | b"PS4" | b"RPROMPT" | b"PROMPT");
        let substitutes = |text: &BStr| text.find(b"$(").is_some() || text.contains(&b'`');
        let runs = name == "PROMPT_COMMAND" || expanded && value.known().is_none_or(substitutes);
        if runs && self.probing == 0 && value.known().is_none_or(|text| !text.is_empty()) {
            let inside = shell.clone();
            self.perhaps(|walk| walk.run_value(value, inside, "what a prompt runs"));
        }
    }

    fn array(&mut self, elements: &[Word], shell: &mut Shell) -> Content {
        let mut content = Vec::new();
        for element in elements {
            let values = self.words(std::slice::from_ref(element), shell);
            if values.iter().any(Value::is_many) {
                // The other elements may hold substitutions too.
                self.words(elements, shell);
                return Content::UnknownArray("an array whose elements are not known".into());
            }
            for value in values {
                match value.known().and_then(keyed) {
                    Some((key, text)) if is_index(&key) => place(&mut content, key, Value::Known(text)),
                    Some(_) => return Content::UnknownArray("an element whose index is computed".into()),
                    None => content.push((next_index(&content), value)),
                }
            }
        }
        Content::Array(content)
    }

    /// Runs a command whose words are known as far as they are.
    pub(in crate::command) fn run(&mut self, call: Call, shell: Shell) -> Ends {
        let range = self.place(call.span);
        if !self.pay(range.clone()) {
            return Ends::Same(shell);
        }
        self.record(&call.words);
        let Some(name) = call.name().map(BStr::to_owned) else { return self.run_unknown(call, shell) };
        self.nested_in(range, shell, |walk, shell| walk.run_named(name.as_bstr(), call, shell))
    }

    fn run_named(&mut self, name: &BStr, call: Call, shell: Shell) -> Ends {
        if name.is_empty() {
            return Ends::failure(shell);
        }
        if shell.dialect == Dialect::Zsh && matches!(name.as_bytes(), b"noglob" | b"nocorrect" | b"-") {
            return self.run_if_any(call.rest(1), shell);
        }
        if !call.programs_only
            && let Some(functions) = self.function_named(name, &shell)
        {
            let arguments = call.arguments().to_vec();
            if !shell.unsure_functions.contains(name) {
                return self.call(&functions, arguments, call.span, shell);
            }
            // What has been defined in a branch only may be the program all the same.
            let program = Call { programs_only: true, ..call.with_words(call.words.clone()) };
            let called = self.perhaps(|walk| walk.call(&functions, arguments, call.span, shell.clone()));
            let run = self.perhaps(|walk| walk.run_named(name, program, shell));
            return Ends::Same(called.merged().merge(run.merged()));
        }
        if !call.no_builtins && !shell.disabled.contains(name) {
            return match self.builtin(name, call, shell) {
                Ok(ends) => ends,
                Err(back) => {
                    let (call, shell) = *back;
                    self.external(call, shell)
                }
            };
        }
        self.external(call, shell)
    }

    pub(in crate::command) fn run_if_any(&mut self, call: Call, shell: Shell) -> Ends {
        if call.words.is_empty() { Ends::success(shell) } else { self.run(call, shell) }
    }

    /// The name is not known: it may be any program, and where it may be no word at all, the next word
    /// may be the name.
    fn run_unknown(&mut self, call: Call, shell: Shell) -> Ends {
        let ends = self.program_unknown(&call, shell.clone());
        let vanishes = call.words.first().is_some_and(Value::is_many) && call.words.len() > 1;
        if vanishes {
            let rest = call.rest(1);
            let other = self.perhaps(|walk| walk.run(rest, shell));
            return Ends::Same(ends.merged().merge(other.merged()));
        }
        ends
    }
}

fn restore_variables(shell: &mut Shell, before: &[(BString, Option<Variable>)]) {
    if before.is_empty() {
        return;
    }
    let variables = std::rc::Rc::make_mut(&mut shell.variables);
    for (name, variable) in before.iter().rev() {
        match variable {
            Some(variable) => drop(variables.insert(name.clone(), variable.clone())),
            None => drop(variables.remove(name)),
        }
    }
}

/// `[key]=value` of an array's elements.
fn keyed(text: &BStr) -> Option<(BString, BString)> {
    let rest = text.strip_prefix(b"[")?;
    let end = rest.find(b"]=")?;
    let (key, value) = rest.split_at(end);
    Some((BString::from(key), BString::from(value.get(2..)?)))
}

/// Whether a key is an index as it stands. Others are computed, or are keys of an associative array.
fn is_index(key: &[u8]) -> bool {
    !key.is_empty()
        && key.len() < 10
        && key.iter().all(u8::is_ascii_digit)
        && (key == b"0" || key.first() != Some(&b'0'))
}

/// The index of what is appended: one more than the last.
fn next_index(elements: &[(BString, Value)]) -> BString {
    elements.last().map_or(0, |(key, _)| number(key) + 1).to_string().into()
}

fn number(key: &BString) -> u64 {
    key.to_str().ok().and_then(|key| key.parse().ok()).unwrap_or(u64::MAX - 1)
}

/// Sets the element at an index, where its place among the others is.
fn place(elements: &mut Vec<(BString, Value)>, key: BString, value: Value) {
    match elements.binary_search_by_key(&number(&key), |(known, _)| number(known)) {
        Ok(at) => {
            if let Some((_, known)) = elements.get_mut(at) {
                *known = value;
            }
        }
        Err(at) => elements.insert(at, (key, value)),
    }
}

fn appended(before: Content, more: Content) -> Content {
    match (before, more) {
        (Content::Array(elements), Content::Array(more)) if elements.len() + more.len() > MAX_ELEMENTS => {
            Content::UnknownArray("a very long array".into())
        }
        (Content::Unset, more) => more,
        (Content::Array(mut elements), Content::Array(more)) => {
            for (_, value) in more {
                elements.push((next_index(&elements), value));
            }
            Content::Array(elements)
        }
        (first @ Content::Scalar(_), more @ Content::Array(_)) => {
            appended(with_element(first, &Value::Known("0".into()), Value::Known(BString::default())), more)
        }
        (Content::UnknownArray(why), _) | (_, Content::UnknownArray(why)) => Content::UnknownArray(why),
        (before, Content::Unset | Content::Scalar(_)) => before,
    }
}

fn with_element(before: Content, key: &Value, value: Value) -> Content {
    let Some(key) = key.known().filter(|key| is_index(key)) else {
        return Content::UnknownArray("an element whose index is not known".into());
    };
    let mut elements = match before {
        Content::Unset => Vec::new(),
        Content::Scalar(first) => vec![(BString::from("0"), first)],
        Content::Array(elements) => elements,
        Content::UnknownArray(why) => return Content::UnknownArray(why),
    };
    place(&mut elements, key.to_owned(), value);
    Content::Array(elements)
}

/// The key of an element of zsh's arrays; what is not an array yet has letters, and keys may be words.
fn zsh_key(before: &Content, index: &BStr) -> Value {
    let is_array = matches!(before, Content::Unset | Content::Array(_));
    match key_of(index).filter(|_| is_array) {
        Some(key) => Value::Known(key),
        None => super::state::unknown("an element whose place is not known", 0..0),
    }
}

/// `name+=value` for strings.
fn joined(before: Content, value: Value) -> Content {
    let before = match before {
        Content::Unset => return Content::Scalar(value),
        Content::Scalar(before) => before,
        Content::Array(mut elements) => {
            if let Some((_, first)) = elements.first_mut() {
                *first = super::state::unknown("an element that is appended to", 0..0);
            }
            return Content::Array(elements);
        }
        Content::UnknownArray(why) => return Content::UnknownArray(why),
    };
    let mut pieces = crate::command::words::fields::Fields::default();
    pieces.open();
    pieces.value(&before, true);
    pieces.value(&value, true);
    let fields = pieces.finish();
    Content::Scalar(fields.first().map_or(value, |field| crate::command::words::fields::value_of(field)))
}
