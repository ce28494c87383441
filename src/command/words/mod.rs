//! Words after expansion: known, folded from what the line and the machine say, or unknown with the
//! reason.
//!
//! Promise: a [`Value::Known`] is exactly what bash would make of the word. Commands in substitutions
//! are walked like all others, and never run. What cannot be known is a hole: its surroundings
//! (`prefix`, `suffix`) and whether it may become several words stay known.

mod arithmetic;
mod brace;
mod edit;
pub mod fields;
pub(in crate::command) mod glob;
mod parameter;
pub mod pattern;
pub(super) mod zsh;

use bstr::{BStr, BString, ByteSlice};

use super::ast::{Part, Process, Substitution, Word};
use super::lex::{Dialect, Reader};
use super::shell::Walk;
use super::shell::state::{Content, Shell, known, many};
use super::simple::{Stdin, UnknownValue, Value, to_os_string};
use fields::{Fields, MAX_VALUE_BYTES, Piece, units_of, value_of};
use pattern::{Unit, has_extended, is_pattern};

/// Most words that one command is followed with.
const MAX_VALUES: usize = 4096;

/// What becomes of unquoted text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Split at IFS and matched against file names.
    Words,
    /// Neither: assignments, redirections, `case` …
    Single,
}

impl Walk<'_, '_> {
    /// The words of a command.
    pub(super) fn words(&mut self, words: &[Word], shell: &mut Shell) -> Vec<Value> {
        let mut values = Vec::with_capacity(words.len());
        let mut bytes = 0;
        for word in words {
            let before = values.len();
            self.word_into(word, shell, &mut values);
            bytes += values.iter().skip(before).filter_map(Value::known).map(|text| text.len()).sum::<usize>();
            if values.len() > MAX_VALUES || bytes > 4 * MAX_VALUE_BYTES {
                values.truncate(before.clamp(1, MAX_VALUES));
                values.push(many("very many words", self.place(word.span)));
                return values;
            }
        }
        values
    }

    fn word_into(&mut self, word: &Word, shell: &mut Shell, values: &mut Vec<Value>) {
        if let [Part::Literal(text)] = word.parts.as_slice()
            && word.head.is_none()
            && is_plain(text)
        {
            // zsh's `=program` is that program's path.
            let path = text.strip_prefix(b"=").filter(|name| shell.dialect == Dialect::Zsh && !name.is_empty());
            values.push(Value::Known(path.map_or_else(|| text.clone(), BString::from)));
            return;
        }
        if word.head.is_some() {
            values.push(self.assignment_word(word, shell));
            return;
        }
        let span = self.place(word.span);
        let Some(alternatives) = brace::expand(&word.parts) else {
            values.push(many("braces that make very many words", span));
            return;
        };
        for parts in alternatives {
            for field in self.fields(&parts, shell, Mode::Words) {
                self.file_names(field, shell, span.clone(), values);
            }
        }
    }

    /// `name=value` as an argument of `export` and its kin: one word, whatever the value holds.
    fn assignment_word(&mut self, word: &Word, shell: &mut Shell) -> Value {
        let Some(head) = &word.head else { return self.single(&word.parts, shell) };
        let mut text = head.name.clone();
        if let Some(subscript) = &head.subscript {
            let subscript = self.single(subscript, shell);
            text.push(b'[');
            text.extend_from_slice(subscript.known().unwrap_or(BStr::new("?")));
            text.push(b']');
        }
        text.extend_from_slice(if head.append { b"+=" } else { b"=" });
        if let Some(elements) = &head.array {
            self.words(elements, shell);
            text.extend_from_slice(b"(...)");
            return Value::Known(text);
        }
        let value = self.assigned(&word.parts, shell);
        let mut pieces = Fields::default();
        pieces.text(&text, true);
        pieces.value(&value, true);
        pieces.finish().first().map_or(Value::Known(text), |field| value_of(field))
    }

    /// One value, neither split nor matched against file names.
    pub(super) fn single(&mut self, parts: &[Part], shell: &mut Shell) -> Value {
        match parts {
            [] => return known(""),
            [Part::Literal(text)] if is_plain(text) || !text.contains(&b'~') => return Value::Known(text.clone()),
            [Part::Quoted(text)] => return Value::Known(text.clone()),
            _ => {}
        }
        let fields = self.fields(parts, shell, Mode::Single);
        fields.first().map_or_else(|| known(""), |field| value_of(field))
    }

    /// The value of an assignment: tildes stand for homes after each `:` too.
    pub(super) fn assigned(&mut self, parts: &[Part], shell: &mut Shell) -> Value {
        let tilde = |part: &Part| matches!(part, Part::Literal(text) if text.contains(&b'~'));
        if !parts.iter().any(tilde) {
            return self.single(parts, shell);
        }
        let mut expanded = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let Part::Literal(text) = part else {
                expanded.push(part.clone());
                continue;
            };
            let pieces: Vec<&[u8]> = text.split_str(":").collect();
            for (place, piece) in pieces.iter().enumerate() {
                if place > 0 {
                    expanded.push(Part::Quoted(":".into()));
                }
                // At the end of the literal a quoted part may go on with the name.
                let ends = place + 1 < pieces.len() || index + 1 == parts.len() || piece.contains(&b'/');
                let starts = place > 0 || index == 0;
                match piece
                    .strip_prefix(b"~")
                    .filter(|rest| starts && ends && (rest.is_empty() || rest.starts_with(b"/")))
                {
                    Some(rest) => {
                        let home = self.variable_value(BStr::new("HOME"), shell);
                        expanded.push(match home {
                            Value::Known(home) => Part::Quoted(home),
                            Value::Unknown(_) => return home,
                        });
                        expanded.push(Part::Literal(rest.into()));
                    }
                    None => expanded.push(Part::Literal((*piece).into())),
                }
            }
        }
        self.single(&expanded, shell)
    }

    /// A pattern: unquoted parts make it, quoted ones stand for themselves. `None` when not known.
    pub(super) fn pattern(&mut self, parts: &[Part], shell: &mut Shell) -> Option<Vec<Unit>> {
        let fields = self.fields(parts, shell, Mode::Single);
        let units = fields.first().map_or(Some(Vec::new()), |field| units_of(field))?;
        (!has_extended(&units)).then_some(units)
    }

    fn fields(&mut self, parts: &[Part], shell: &mut Shell, mode: Mode) -> Vec<Vec<Piece>> {
        let mut fields = Fields::default();
        let rest = self.tilde(parts, shell, &mut fields);
        self.parts(rest.as_deref().unwrap_or(parts), false, mode, shell, &mut fields);
        fields.finish()
    }

    pub(super) fn parts(&mut self, parts: &[Part], quoted: bool, mode: Mode, shell: &mut Shell, out: &mut Fields) {
        for part in parts {
            match part {
                Part::Literal(text) => out.text(text, quoted),
                Part::Quoted(text) => {
                    out.open();
                    out.text(text, true);
                }
                Part::DoubleQuoted(inner) => {
                    // `"$@"` without parameters is no word at all.
                    let alone = matches!(inner.as_slice(), [Part::Parameter(parameter)] if parameter.name == "@" || parameter.subscript.is_some());
                    if !alone {
                        out.open();
                    }
                    self.parts(inner, true, mode, shell, out);
                }
                Part::Parameter(parameter) => self.parameter(parameter, quoted, mode, shell, out),
                Part::Substitution(substitution) => {
                    let value = self.substitution(substitution, shell);
                    self.split_or_whole(&value, quoted, mode, shell, out);
                }
                Part::Process(process) => {
                    let path = self.process(process, shell);
                    out.text(&path, true);
                }
                Part::Arithmetic(expression) => {
                    let value = self.arithmetic(expression, shell);
                    out.value(&value, true);
                }
            }
        }
    }

    /// The value of a parameter: split when it is not quoted, save in zsh.
    pub(super) fn expanded(&mut self, value: &Value, quoted: bool, mode: Mode, shell: &Shell, out: &mut Fields) {
        match value {
            Value::Known(text) if shell.dialect == Dialect::Zsh && !shell.options.word_split => out.text(text, true),
            Value::Known(_) | Value::Unknown(_) => self.split_or_whole(value, quoted, mode, shell, out),
        }
    }

    /// The result of an expansion: split when it is not quoted.
    fn split_or_whole(&mut self, value: &Value, quoted: bool, mode: Mode, shell: &Shell, out: &mut Fields) {
        if quoted || mode == Mode::Single {
            out.value(value, true);
            return;
        }
        match value {
            Value::Known(text) => match self.separators(shell) {
                Some(separators) => out.split(text, &separators),
                None => out.value(&many("split at an IFS that is not known", 0..0), false),
            },
            Value::Unknown(_) => out.value(value, false),
        }
    }

    /// `IFS`, when it is known.
    fn separators(&self, shell: &Shell) -> Option<BString> {
        match shell.variables.get(BStr::new("IFS")).map(|variable| &variable.value) {
            None | Some(Content::Unset) => Some(BString::from(" \t\n")),
            Some(Content::Scalar(Value::Known(text))) => Some(text.clone()),
            Some(Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_)) => None,
        }
    }

    /// A tilde at the beginning; the parts without it.
    fn tilde(&mut self, parts: &[Part], shell: &Shell, out: &mut Fields) -> Option<Vec<Part>> {
        let Some((Part::Literal(text), others)) = parts.split_first() else { return None };
        let rest = text.strip_prefix(b"~")?;
        let slash = rest.iter().position(|byte| *byte == b'/');
        if slash.is_none() && !others.is_empty() {
            return None;
        }
        let (name, rest) = rest.split_at(slash.unwrap_or(rest.len()));
        let value = match name {
            b"" => self.variable_value(BStr::new("HOME"), shell),
            b"+" => self.variable_value(BStr::new("PWD"), shell),
            b"-" => self.variable_value(BStr::new("OLDPWD"), shell),
            _ => super::shell::state::unknown("another user's home", 0..0),
        };
        out.value(&value, true);
        let mut remaining = vec![Part::Literal(BString::from(rest))];
        remaining.extend_from_slice(others);
        Some(remaining)
    }

    /// File name expansion of one field.
    fn file_names(&mut self, field: Vec<Piece>, shell: &Shell, span: std::ops::Range<usize>, values: &mut Vec<Value>) {
        let pattern = field.iter().any(|piece| match piece {
            Piece::Text { bytes, quoted } => {
                !quoted && bytes.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'('))
            }
            Piece::Hole { .. } => false,
        });
        if !pattern || shell.options.no_glob {
            values.push(value_of(&field));
            return;
        }
        let Some(units) = units_of(&field) else {
            let mut value = value_of(&field);
            if let Value::Unknown(unknown) = &mut value {
                unknown.many = true;
            }
            values.push(value);
            return;
        };
        let is_group = shell.dialect == Dialect::Zsh && units.iter().any(|unit| unit.byte == b'(' && !unit.quoted);
        if !is_pattern(&units) && !has_extended(&units) && !is_group {
            values.push(value_of(&field));
            return;
        }
        match self.matching_files(&units, shell) {
            Some(names) if !names.is_empty() => values.extend(names.into_iter().map(Value::Known)),
            Some(_) if shell.options.null_glob => {}
            Some(_) => values.push(value_of(&field)),
            None => {
                let plain = units.iter().take_while(|unit| unit.quoted || !b"*?[(@!+".contains(&unit.byte));
                let prefix = plain.map(|unit| unit.byte).collect::<Vec<u8>>().into();
                values.push(match many("file names that match a pattern", span) {
                    Value::Unknown(value) => Value::Unknown(UnknownValue { prefix, ..value }),
                    known @ Value::Known(_) => known,
                });
            }
        }
    }

    /// The files that match, where that is known at this point of the line.
    fn matching_files(&self, units: &[Unit], shell: &Shell) -> Option<Vec<BString>> {
        if has_extended(units)
            || (shell.dialect == Dialect::Zsh && units.iter().any(|unit| unit.byte == b'(' && !unit.quoted))
        {
            return None;
        }
        let dir = match units.first() {
            Some(Unit { byte: b'/', .. }) => std::path::Path::new("/"),
            _ => shell.dirs.single()?,
        };
        if self.disk.anything {
            return None;
        }
        glob::expand(units, dir, shell.options.dot_glob, &self.disk)
    }

    /// What a command substitution puts in its place.
    fn substitution(&mut self, substitution: &Substitution, shell: &mut Shell) -> Value {
        let span = self.place(substitution.span);
        if substitution.broken {
            self.unknown("a command substitution that cannot be read", span.clone());
        }
        if let Some(value) = self.pasted_file(substitution, shell) {
            return value;
        }
        let missing = super::shell::state::unknown("code nested too deep", span.clone());
        let mut value = self.nested(span.clone(), missing, |walk| {
            let (_, capture) = walk.captured(|walk| {
                let mut inner = shell.subshell();
                // bash does not let `set -e` reach into substitutions.
                inner.options.errexit = false;
                for line in &substitution.lines {
                    let ends = walk.list(line, inner);
                    inner = walk.sequel(ends);
                }
                walk.leave_shell(inner);
            });
            capture.value()
        });
        if let Value::Unknown(unknown) = &mut value {
            unknown.span = span;
        }
        value
    }

    /// `$(<FILE)`.
    fn pasted_file(&mut self, substitution: &Substitution, shell: &mut Shell) -> Option<Value> {
        let [line] = substitution.lines.as_slice() else { return None };
        let [item] = line.items.as_slice() else { return None };
        let [command] = item.first.commands.as_slice() else { return None };
        let super::ast::CommandKind::Simple(simple) = &command.kind else { return None };
        let [redirect] = command.redirects.as_slice() else { return None };
        let empty = simple.words.is_empty() && simple.assignments.is_empty() && item.rest.is_empty();
        if !empty || redirect.operator != super::ast::RedirectOperator::Read {
            return None;
        }
        let path = self.single(&redirect.target.parts, shell);
        Some(self.file_value(&path, shell, self.place(substitution.span)))
    }

    /// A file's text as `$(cat FILE)` pastes it; the plan lists the file.
    pub(super) fn file_value(&mut self, path: &Value, shell: &Shell, span: std::ops::Range<usize>) -> Value {
        match self.input_text(path, shell) {
            Ok(mut text) => {
                while text.last() == Some(&b'\n') {
                    text.pop();
                }
                text.retain(|byte| *byte != 0);
                Value::Known(text.into())
            }
            Err(why) => super::shell::state::unknown(why, span),
        }
    }

    /// `<( … )`, `>( … )`: a path of its own, which leads to what the command prints.
    fn process(&mut self, process: &Process, shell: &mut Shell) -> BString {
        let span = self.place(process.span);
        let fd = self.new_descriptor();
        let reads = process.reads;
        let content = self.nested(span, Stdin::Unknown("code nested too deep".into()), |walk| {
            let (_, capture) = walk.captured(|walk| {
                let mut inner = shell.subshell();
                if reads {
                    inner.set_descriptor(0, Stdin::Unknown("what is written to a process substitution".into()));
                }
                let ends = walk.list(&process.list, inner);
                let inner = walk.sequel(ends);
                walk.leave_shell(inner);
            });
            capture.stdin()
        });
        let content = if reads { Stdin::Unknown("a process substitution that is written to".into()) } else { content };
        shell.set_descriptor(fd, content);
        BString::from(format!("/dev/fd/{fd}"))
    }

    /// Expands text that an expansion evaluates in turn (array subscripts in arithmetic, `${v@P}`).
    pub(super) fn expand_again(&mut self, text: &BStr, shell: &mut Shell) -> Value {
        let span = self.span_range();
        let missing = super::shell::state::unknown("code nested too deep", span.clone());
        self.nested(span.clone(), missing, |walk| {
            let Ok(reader) = Reader::new(text, shell.dialect) else {
                walk.unknown("text that is expanded again cannot be read", span.clone());
                return super::shell::state::unknown("text that cannot be read", span);
            };
            let parts = reader.within(walk.span_of(&span)).whole_as_quoted();
            match parts {
                Ok(parts) => {
                    let in_given_text = std::mem::replace(&mut walk.in_given_text, false);
                    let value = walk.single(&[Part::DoubleQuoted(parts)], shell);
                    walk.in_given_text = in_given_text;
                    value
                }
                Err(_) => {
                    if super::tripwire::may_publish(text) {
                        walk.unknown("text that is expanded again cannot be read", span.clone());
                    }
                    super::shell::state::unknown("text that cannot be read", span)
                }
            }
        })
    }

    /// Where text that names a variable could hold code in a subscript (`a[$(…)]`), walks that.
    pub(super) fn subscripts_in(&mut self, name: &BStr, shell: &mut Shell) {
        let code = name.find(b"$(").is_some() || name.contains(&b'`');
        if name.contains(&b'[') && code {
            let name = name.to_owned();
            self.expand_again(name.as_bstr(), shell);
        }
    }

    /// Walks the substitutions in a text that may be expanded again.
    pub(super) fn code_in(&mut self, text: &BStr, shell: &mut Shell) {
        if text.find(b"$(").is_some() || text.contains(&b'`') {
            self.expand_again(text, shell);
        }
    }

    /// A path relative to the shell's directory, made absolute.
    pub(super) fn absolute(&self, path: &BStr, shell: &Shell) -> Option<std::path::PathBuf> {
        let path = std::path::PathBuf::from(to_os_string(path));
        if path.is_absolute() { Some(path) } else { Some(shell.dirs.single()?.join(path)) }
    }
}

/// Whether unquoted text means itself.
fn is_plain(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'{' | b'~' | b'('))
}
