//! `$name`, `${…}`: values of variables and what is done to them.

use bstr::{BStr, BString, ByteSlice};

use super::edit::{recased, replace, replace_anchored, slice, split_at_slash};
use super::fields::Fields;
use super::pattern::{prefix_length, suffix_start};
use super::{Mode, Walk};
use crate::command::ast::{Operation, Parameter, Part};
use crate::command::lex::word::is_identifier;
use crate::command::lex::{Ansi, Dialect, decode_ansi};
use crate::command::shell::state::{Content, Shell, known, many, unknown};
use crate::command::simple::Value;

/// Names whose value bash makes up, so that nobody knows it beforehand.
const MADE_UP: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "LINENO",
    "BASHPID",
    "PPID",
    "BASH",
    "SHLVL",
    "_",
    "BASH_COMMAND",
    "BASH_VERSION",
    "BASH_VERSINFO",
    "BASH_EXECUTION_STRING",
    "HOSTNAME",
    "HOSTTYPE",
    "MACHTYPE",
    "OSTYPE",
    "UID",
    "EUID",
    "GROUPS",
    "PIPESTATUS",
    "DIRSTACK",
    "COLUMNS",
    "LINES",
    "REPLY",
    "OPTARG",
    "OPTIND",
    "BASH_SOURCE",
    "BASH_LINENO",
    "FUNCNAME",
    "BASHOPTS",
    "SHELLOPTS",
    "COPROC",
    "HISTCMD",
    "MAPFILE",
    "COMP_LINE",
    "BASH_REMATCH",
    "BASH_ARGV0",
    "BASH_ARGV",
    "BASH_ARGC",
    "BASH_ALIASES",
    "BASH_CMDS",
    "COMP_WORDS",
    "COMPREPLY",
    "READLINE_LINE",
    "ZSH_VERSION",
    "ZSH_NAME",
    "HOST",
    "USERNAME",
    "pipestatus",
    "match",
];

/// What a parameter stands for.
pub(super) enum Found {
    /// One value, or nothing.
    One(Content),
    /// `$@`, `${a[@]}`: a word each.
    Each(Vec<Value>),
    /// `$*`, `${a[*]}`: joined when quoted.
    Joined(Vec<Value>),
}

impl Walk<'_, '_> {
    /// One parameter expansion.
    pub(super) fn parameter(
        &mut self,
        parameter: &Parameter,
        quoted: bool,
        mode: Mode,
        shell: &mut Shell,
        out: &mut Fields,
    ) {
        let span = self.place(parameter.span);
        if let Some(subscript) = &parameter.subscript {
            self.single(subscript, shell);
        }
        if parameter.operation == Operation::Unmodelled {
            let operand = self.single(&parameter.operand, shell);
            if let Some(text) = operand.known().filter(|_| shell.dialect == Dialect::Zsh) {
                // zsh's `(e)` expands it once more.
                let text = text.to_owned();
                self.code_in(text.as_bstr(), shell);
            }
            out.value(&unknown("a form of ${…} that is not modelled", span), quoted);
            return;
        }
        let found = self.found(parameter, shell);
        match found {
            Found::One(content) => {
                let value = self.operated(parameter, content, shell);
                match value {
                    Some(value) => self.expanded(&placed(value, &span), quoted, mode, shell, out),
                    None => self.operand_words(parameter, quoted, mode, shell, out),
                }
            }
            Found::Each(values) => self.each(parameter, values, quoted, mode, shell, out),
            Found::Joined(values) => {
                if quoted || mode == Mode::Single {
                    let value = joined(&values, shell, parameter);
                    out.value(&placed(value, &span), true);
                } else {
                    self.each(parameter, values, quoted, mode, shell, out);
                }
            }
        }
    }

    /// Several words: the first goes on with what stands before, the last with what follows.
    fn each(
        &mut self,
        parameter: &Parameter,
        values: Vec<Value>,
        quoted: bool,
        mode: Mode,
        shell: &mut Shell,
        out: &mut Fields,
    ) {
        let span = self.place(parameter.span);
        if parameter.length {
            let count = if values.iter().any(Value::is_many) { None } else { Some(values.len()) };
            out.value(&count.map_or_else(|| unknown("a count", span), |count| known(count.to_string())), true);
            return;
        }
        if values.is_empty() {
            match parameter.operation {
                Operation::Default { .. } | Operation::Assign { .. } | Operation::Error { .. } => {
                    self.operand_words(parameter, quoted, mode, shell, out);
                }
                _ => {}
            }
            return;
        }
        let mut values = self.operated_each(parameter, values, shell);
        if shell.dialect == Dialect::Zsh && !quoted {
            values.retain(|value| value.known().is_none_or(|text| !text.is_empty()));
        }
        for (index, value) in values.iter().enumerate() {
            if index > 0 && mode == Mode::Words {
                out.end();
            } else if index > 0 {
                out.text(b" ", true);
            }
            if quoted {
                out.open();
            }
            let value = placed(value.clone(), &span);
            if value.is_many() {
                out.value(&value, false);
            } else {
                self.expanded(&value, quoted, mode, shell, out);
            }
        }
    }

    fn operated_each(&mut self, parameter: &Parameter, values: Vec<Value>, shell: &mut Shell) -> Vec<Value> {
        match parameter.operation {
            Operation::Plain | Operation::Default { .. } | Operation::Assign { .. } | Operation::Error { .. } => values,
            Operation::Slice => self.slice_of_words(parameter, values, shell),
            _ => {
                let mut operated = Vec::new();
                for value in values {
                    let content = Content::Scalar(value);
                    operated.extend(self.operated(parameter, content, shell));
                }
                operated
            }
        }
    }

    /// `${@:2}`, `${a[@]:1:2}`.
    fn slice_of_words(&mut self, parameter: &Parameter, mut values: Vec<Value>, shell: &mut Shell) -> Vec<Value> {
        let all_known = !values.iter().any(Value::is_many);
        let Some((offset, length)) = self.slice_bounds(&parameter.operand, shell).filter(|_| all_known) else {
            return vec![many("a slice that is not known", self.place(parameter.span))];
        };
        let positional = matches!(parameter.name.as_slice(), b"@" | b"*");
        if positional {
            values.insert(0, shell.arguments.zero.clone());
        }
        let Ok(offset) = usize::try_from(offset) else {
            return vec![many("a slice from the end", self.place(parameter.span))];
        };
        let offset = if positional && offset == 0 { 0 } else { offset };
        let rest = values.into_iter().skip(offset);
        match length {
            None => rest.collect(),
            Some(length) => rest.take(usize::try_from(length).unwrap_or(0)).collect(),
        }
    }

    /// The words that an operand makes, in the place of the parameter.
    fn operand_words(&mut self, parameter: &Parameter, quoted: bool, mode: Mode, shell: &mut Shell, out: &mut Fields) {
        if quoted {
            out.open();
        }
        self.parts(&parameter.operand, quoted, mode, shell, out);
        if let Operation::Assign { .. } = parameter.operation {
            let value = self.single(&parameter.operand, shell);
            shell.set(self.world, parameter.name.as_bstr(), Content::Scalar(value));
        }
    }

    /// Expands an operand that bash would not reach, so that what it holds is seen.
    fn unreached(&mut self, parts: &[Part], shell: &Shell) {
        let mut ghost = Shell { dead: true, ..shell.clone() };
        self.single(parts, &mut ghost);
    }

    /// The value after the operation; `None` where the operand takes its place.
    fn operated(&mut self, parameter: &Parameter, content: Content, shell: &mut Shell) -> Option<Value> {
        let span = self.place(parameter.span);
        let value = match content {
            Content::Unset => None,
            Content::Scalar(value) => Some(value),
            Content::Array(elements) => elements.into_iter().find(|(key, _)| key == "0").map(|(_, value)| value),
            Content::UnknownArray(why) => Some(unknown(why, span.clone())),
        };
        if parameter.length {
            return Some(match value {
                None => known("0"),
                Some(Value::Known(text)) => known(text.chars().count().to_string()),
                Some(Value::Unknown(_)) => unknown("a length", span),
            });
        }
        let empty = match &value {
            None => Some(true),
            Some(Value::Known(text)) => Some(text.is_empty()),
            Some(Value::Unknown(_)) => None,
        };
        match parameter.operation {
            Operation::Plain => Some(value.unwrap_or_else(|| known(""))),
            Operation::Default { or_empty } | Operation::Assign { or_empty } | Operation::Error { or_empty } => {
                let missing = value.is_none() || (or_empty && empty == Some(true));
                if missing {
                    return None;
                }
                if or_empty && empty.is_none() {
                    self.perhaps(|walk| walk.single(&parameter.operand, shell));
                } else {
                    self.unreached(&parameter.operand, shell);
                }
                value
            }
            Operation::Alternative { or_empty } => {
                let missing = value.is_none() || (or_empty && empty == Some(true));
                if missing {
                    self.unreached(&parameter.operand, shell);
                    return Some(known(""));
                }
                if or_empty && empty.is_none() {
                    self.perhaps(|walk| walk.single(&parameter.operand, shell));
                    return Some(unknown("an alternative for a value that is not known", span));
                }
                None
            }
            Operation::RemovePrefix { .. }
            | Operation::RemoveSuffix { .. }
            | Operation::Replace
            | Operation::Slice
            | Operation::Modify
            | Operation::Case { .. } => Some(self.edited(parameter, value, shell)),
            Operation::Transform(kind) => Some(self.transformed(kind, value, shell, span)),
            Operation::Names => Some(many("names of variables", span)),
            Operation::Unmodelled => Some(unknown("a form of ${…} that is not modelled", span)),
        }
    }

    fn edited(&mut self, parameter: &Parameter, value: Option<Value>, shell: &mut Shell) -> Value {
        let span = self.place(parameter.span);
        let text = match value {
            None => BString::default(),
            Some(Value::Known(text)) => text,
            Some(Value::Unknown(mut value)) => {
                self.single(&parameter.operand, shell);
                if !(value.prefix.is_empty() && value.between.is_empty() && value.suffix.is_empty()) {
                    // What is known of it may be anywhere in it now.
                    value.why = "an edited value".into();
                }
                value.prefix.clear();
                value.between.clear();
                value.suffix.clear();
                return Value::Unknown(value);
            }
        };
        let edited = match parameter.operation {
            Operation::RemovePrefix { .. } | Operation::RemoveSuffix { .. } if text.len() > 4096 => None,
            Operation::RemovePrefix { longest } => self.pattern(&parameter.operand, shell).map(|pattern| {
                let cut = prefix_length(&pattern, &text, longest).unwrap_or(0);
                BString::from(text.get(cut..).unwrap_or_default())
            }),
            Operation::RemoveSuffix { longest } => self.pattern(&parameter.operand, shell).map(|pattern| {
                let cut = suffix_start(&pattern, &text, longest).unwrap_or(text.len());
                BString::from(text.get(..cut).unwrap_or_default())
            }),
            Operation::Replace => self.replaced(&parameter.operand, &text, shell),
            Operation::Slice => self.slice_bounds(&parameter.operand, shell).and_then(|bounds| slice(&text, bounds)),
            Operation::Modify => {
                let letters = self.single(&parameter.operand, shell);
                letters.known().and_then(|letters| super::zsh::modified(&text, letters))
            }
            Operation::Case { upper, all } => {
                let every = self.single(&parameter.operand, shell).known().is_some_and(|operand| operand.is_empty());
                every.then(|| recased(&text, upper, all))
            }
            _ => None,
        };
        edited.map_or_else(|| unknown("an edited value", span), Value::Known)
    }

    /// `${v/pattern/replacement}`; the operand begins with `/`, `#` or `%` where the form has one.
    fn replaced(&mut self, operand: &[Part], text: &[u8], shell: &mut Shell) -> Option<BString> {
        let (pattern_parts, replacement_parts) = split_at_slash(operand);
        let replacement = self.single(&replacement_parts, shell);
        let mut pattern = self.pattern(&pattern_parts, shell)?;
        let replacement = replacement.known()?.to_owned();
        let first = pattern.first().copied().filter(|unit| !unit.quoted).map(|unit| unit.byte);
        let everywhere = first == Some(b'/');
        let anchored = match first {
            Some(b'#') => Some(true),
            Some(b'%') => Some(false),
            _ => None,
        };
        if everywhere || anchored.is_some() {
            pattern.remove(0);
        }
        if replacement.contains(&b'&') || text.len() > 4096 || replacement.len() > 256 {
            return None;
        }
        if let Some(at_start) = anchored {
            return Some(replace_anchored(&pattern, text, &replacement, at_start));
        }
        Some(replace(&pattern, text, &replacement, everywhere))
    }

    /// `offset` and `length` of a slice.
    fn slice_bounds(&mut self, operand: &[Part], shell: &mut Shell) -> Option<(i64, Option<i64>)> {
        let text = self.single(operand, shell);
        let text = text.known()?.to_str().ok()?.to_owned();
        let (offset, length) = match text.split_once(':') {
            Some((offset, length)) => (offset, Some(length)),
            None => (text.as_str(), None),
        };
        let offset = self.number(offset.trim(), shell)?;
        let length = match length {
            Some(length) => Some(self.number(length.trim(), shell)?),
            None => None,
        };
        Some((offset, length))
    }

    fn number(&mut self, text: &str, shell: &mut Shell) -> Option<i64> {
        if text.is_empty() {
            return Some(0);
        }
        let value = self.arithmetic(&[Part::Literal(text.into())], shell);
        value.known()?.to_str().ok()?.parse().ok()
    }

    /// `${v@Q}` and its kin. `@P` expands the value once more.
    fn transformed(
        &mut self,
        kind: u8,
        value: Option<Value>,
        shell: &mut Shell,
        span: std::ops::Range<usize>,
    ) -> Value {
        let Some(Value::Known(text)) = value else { return value.unwrap_or_else(|| known("")) };
        match kind {
            b'P' => {
                let value = self.expand_again(text.as_bstr(), shell);
                if text.contains(&b'\\') { unknown("an expanded prompt", span) } else { value }
            }
            b'E' => Value::Known(decode_ansi(&text, Ansi::Quote)),
            b'U' => Value::Known(text.to_uppercase().into()),
            b'L' => Value::Known(text.to_lowercase().into()),
            b'u' => Value::Known(recased(&text, true, false)),
            _ => unknown("a transformed value", span),
        }
    }

    /// What the parameter itself stands for, subscript and `!` taken into account.
    fn found(&mut self, parameter: &Parameter, shell: &mut Shell) -> Found {
        let name = parameter.name.as_bstr();
        if parameter.operation == Operation::Names {
            return Found::One(Content::Scalar(many("names of variables", self.place(parameter.span))));
        }
        if let Some(subscript) = &parameter.subscript {
            let key = self.single(subscript, shell);
            if super::zsh::has_zsh_arrays(shell) && !parameter.indirect {
                return self.zsh_element(parameter, &key, shell);
            }
            return self.element(parameter, &key, shell);
        }
        match name.as_bytes() {
            b"@" => return Found::Each(shell.arguments.rest.clone()),
            b"*" => return Found::Joined(shell.arguments.rest.clone()),
            _ => {}
        }
        let content = match self.content(name, shell) {
            Content::Unset if self.may_be_set_before(name, shell) => {
                Content::Scalar(unknown("a variable that an earlier command may have set", self.place(parameter.span)))
            }
            content => content,
        };
        if !parameter.indirect {
            return Self::zsh_whole(content, shell);
        }
        match content {
            Content::Scalar(Value::Known(target)) => match target.as_slice() {
                b"@" => Found::Each(shell.arguments.rest.clone()),
                b"*" => Found::Joined(shell.arguments.rest.clone()),
                _ if target.contains(&b'[') => {
                    self.subscripts_in(target.as_bstr(), shell);
                    Found::One(Content::Scalar(unknown("an indirect array element", self.place(parameter.span))))
                }
                _ => Found::One(self.content(target.as_bstr(), shell)),
            },
            Content::Unset => Found::One(Content::Unset),
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) => {
                Found::One(Content::Scalar(unknown("an indirect value", self.place(parameter.span))))
            }
        }
    }

    /// Whether a variable that the line leaves alone may have been set by an earlier command: a shell that
    /// lives on keeps it, and our own environment does not show it.
    fn may_be_set_before(&self, name: &BStr, shell: &Shell) -> bool {
        self.world.shell_lives_on && !shell.cleared && !shell.variables.contains_key(name) && is_identifier(name)
    }

    /// `${name[key]}`.
    fn element(&mut self, parameter: &Parameter, key: &Value, shell: &mut Shell) -> Found {
        let name = parameter.name.as_bstr();
        let content = self.content(name, shell);
        let Some(key) = key.known() else {
            return Found::One(Content::Scalar(unknown("an element whose index is not known", 0..0)));
        };
        let every = matches!(key.as_bytes(), b"@" | b"*");
        if every && parameter.indirect {
            return Found::Each(match content {
                Content::Array(elements) => elements.into_iter().map(|(key, _)| Value::Known(key)).collect(),
                Content::Unset => Vec::new(),
                Content::Scalar(Value::Known(_)) => vec![known("0")],
                Content::Scalar(Value::Unknown(value)) => vec![many(value.why, 0..0)],
                Content::UnknownArray(why) => vec![many(why, 0..0)],
            });
        }
        if every {
            let values = match content {
                Content::Unset => Vec::new(),
                Content::Scalar(value @ Value::Known(_)) => vec![value],
                Content::Scalar(Value::Unknown(value)) => vec![many(value.why, 0..0)],
                Content::Array(elements) => elements.into_iter().map(|(_, value)| value).collect(),
                Content::UnknownArray(why) => vec![many(why, 0..0)],
            };
            return if key == "@" { Found::Each(values) } else { Found::Joined(values) };
        }
        let single = match content {
            Content::Unset => Content::Unset,
            Content::Scalar(value) if key == "0" => Content::Scalar(value),
            // What is not known may be an array.
            Content::Scalar(Value::Unknown(value)) => Content::Scalar(unknown(value.why, 0..0)),
            Content::Scalar(Value::Known(_)) => Content::Unset,
            Content::UnknownArray(why) => Content::Scalar(unknown(why, 0..0)),
            Content::Array(elements) => {
                let index = self.index(key, &elements, shell);
                match index {
                    Some(index) => elements
                        .into_iter()
                        .find(|(found, _)| *found == index)
                        .map_or(Content::Unset, |(_, value)| Content::Scalar(value)),
                    None => Content::Scalar(unknown("an element whose index is not known", 0..0)),
                }
            }
        };
        Found::One(single)
    }

    /// The key that a subscript names: itself where such a key exists, else what it computes to.
    fn index(&mut self, key: &BStr, elements: &[(BString, Value)], shell: &mut Shell) -> Option<BString> {
        if elements.iter().any(|(found, _)| found == key) {
            return Some(key.to_owned());
        }
        let number = self.number(key.to_str().ok()?, shell)?;
        if number >= 0 {
            return Some(number.to_string().into());
        }
        let last: i64 = elements.last().map_or(Some(-1), |(key, _)| key.to_str().ok()?.parse().ok())?;
        Some((last + 1 + number).to_string().into())
    }

    /// A variable or special parameter.
    pub(in crate::command) fn content(&self, name: &BStr, shell: &Shell) -> Content {
        let position = name.to_str().ok().and_then(|name| name.parse::<usize>().ok());
        if let Some(position) = position {
            return self.positional(position, shell);
        }
        match name.as_bytes() {
            b"#" => {
                let known_count = !shell.arguments.rest.iter().any(Value::is_many);
                Content::Scalar(if known_count {
                    known(shell.arguments.rest.len().to_string())
                } else {
                    unknown("$#", 0..0)
                })
            }
            b"?" | b"$" | b"!" | b"-" => Content::Scalar(unknown(format!("${name}"), 0..0)),
            b"PWD" => Content::Scalar(match shell.dirs.single() {
                Some(dir) => known(dir.as_os_str().as_encoded_bytes()),
                None => unknown("the current directory", 0..0),
            }),
            b"IFS" if !shell.variables.contains_key(name) => Content::Scalar(known(" \t\n")),
            _ if !shell.variables.contains_key(name) && MADE_UP.iter().any(|made_up| name == *made_up) => {
                Content::Scalar(unknown(format!("${name}"), 0..0))
            }
            _ => self.zsh_content(name, shell).unwrap_or_else(|| shell.variable(self.world, name)),
        }
    }

    fn positional(&self, position: usize, shell: &Shell) -> Content {
        if position == 0 {
            return Content::Scalar(shell.arguments.zero.clone());
        }
        let before = shell.arguments.rest.get(..position.min(shell.arguments.rest.len())).unwrap_or_default();
        if before.iter().any(Value::is_many) {
            return Content::Scalar(unknown(format!("${position}"), 0..0));
        }
        shell.arguments.rest.get(position - 1).map_or(Content::Unset, |value| Content::Scalar(value.clone()))
    }

    /// A variable's value as one word.
    pub(in crate::command) fn variable_value(&self, name: &BStr, shell: &Shell) -> Value {
        match self.content(name, shell) {
            Content::Unset => known(""),
            Content::Scalar(value) => value,
            Content::Array(elements) => elements.into_iter().next().map_or_else(|| known(""), |(_, value)| value),
            Content::UnknownArray(why) => unknown(why, 0..0),
        }
    }
}

/// Gives a value that is not known the place where it is used.
fn placed(mut value: Value, span: &std::ops::Range<usize>) -> Value {
    if let Value::Unknown(unknown) = &mut value {
        unknown.span = span.clone();
    }
    value
}

fn joined(values: &[Value], shell: &Shell, parameter: &Parameter) -> Value {
    if parameter.length {
        return if values.iter().any(Value::is_many) {
            unknown("a count", 0..0)
        } else {
            known(values.len().to_string())
        };
    }
    let separator = match shell.variables.get(BStr::new("IFS")).map(|variable| &variable.value) {
        None | Some(Content::Unset) => BString::from(" "),
        Some(Content::Scalar(Value::Known(text))) => BString::from(text.get(..1).unwrap_or_default()),
        Some(_) => return unknown("joined at an IFS that is not known", 0..0),
    };
    let mut text = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let Value::Known(value) = value else { return unknown("joined words", 0..0) };
        if index > 0 {
            text.extend_from_slice(&separator);
        }
        text.extend_from_slice(value);
    }
    known(text)
}
