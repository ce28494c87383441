//! Words: from the first byte that is no blank to the next unquoted metacharacter.

use std::rc::Rc;

use bstr::BString;

use super::{Read, Reader, is_meta, is_name, is_name_start};
use crate::command::ast::{Head, Part, Process, Word};
use crate::command::lex::Dialect;

/// What may stand at a word's place; it changes where the word ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Place {
    /// An assignment is possible: before a command's name, or an argument of `export` and its kin.
    Assignment,
    /// An ordinary argument.
    Argument,
    /// The right side of `==` in `[[ ]]`, a pattern of `case`.
    Pattern,
    /// The right side of `=~`: `(`, `)` and `|` are text.
    Regex,
}

/// Parts being collected; neighbouring literals become one.
#[derive(Default)]
pub(in crate::command) struct Parts {
    parts: Vec<Part>,
    literal: Vec<u8>,
}

impl Parts {
    pub fn byte(&mut self, byte: u8) {
        self.literal.push(byte);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.literal.extend_from_slice(bytes);
    }

    pub fn part(&mut self, part: Part) {
        self.flush();
        self.parts.push(part);
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            self.parts.push(Part::Literal(BString::new(literal)));
        }
    }

    pub fn finish(mut self) -> Vec<Part> {
        self.flush();
        self.parts
    }

    /// What has been collected, when it is unquoted text alone.
    fn plain(&self) -> Option<&[u8]> {
        self.parts.is_empty().then_some(&self.literal)
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.literal.is_empty()
    }
}

impl Reader {
    /// The word that begins here, or `None` when none does.
    pub(in crate::command) fn word(&mut self, place: Place) -> Read<Option<Word>> {
        self.peek();
        let start = self.pos;
        let mut parts = Parts::default();
        let mut head = None;
        // zsh: a `}` that no brace of the word opens ends the word, and a group.
        let mut braces = 0_u32;
        loop {
            self.spend()?;
            let byte = self.peek();
            match byte {
                b'}' if self.dialect == Dialect::Zsh && braces == 0 && place != Place::Pattern => break,
                b'{' | b'}' if self.dialect == Dialect::Zsh => {
                    braces = if byte == b'{' { braces + 1 } else { braces.saturating_sub(1) };
                    self.literal_byte(&mut parts, byte);
                }
                b'<' | b'>' if place != Place::Regex && self.peek_second() == b'(' => {
                    let process = self.process(byte == b'>')?;
                    parts.part(process);
                }
                b'=' if self.dialect == Dialect::Zsh && parts.is_empty() && self.peek_second() == b'(' => {
                    let process = self.process(false)?;
                    parts.part(process);
                }
                b'(' if place == Place::Regex => self.parenthesized(&mut parts)?,
                b'|' | b'<' | b'>' | b';' if place == Place::Regex => self.literal_byte(&mut parts, byte),
                b'(' if self.dialect == Dialect::Zsh && self.is_glob_group(place, parts.is_empty()) => {
                    self.parenthesized(&mut parts)?;
                }
                _ if is_meta(byte) => break,
                b'=' | b'+' if place == Place::Assignment && head.is_none() => {
                    match self.assignment_head(&parts, None)? {
                        Some(found) => {
                            parts = Parts::default();
                            let array = found.array.is_some();
                            head = Some(found);
                            if array {
                                break;
                            }
                        }
                        None => self.literal_byte(&mut parts, byte),
                    }
                }
                b'[' if place == Place::Assignment && head.is_none() && parts.plain().is_some_and(is_identifier) => {
                    let found = self.subscripted_head(&mut parts)?;
                    let array = found.as_ref().is_some_and(|found| found.array.is_some());
                    head = found;
                    if array {
                        break;
                    }
                }
                b'?' | b'*' | b'+' | b'@' | b'!'
                    if self.peek_second() == b'(' && self.is_extended_glob(place, byte, &parts) =>
                {
                    self.literal_byte(&mut parts, byte);
                    self.peek();
                    self.parenthesized(&mut parts)?;
                }
                b'\\' => self.escaped(&mut parts),
                b'\'' | b'"' | b'`' | b'$' => self.quoted_or_expansion(&mut parts, byte)?,
                _ => self.literal_run(&mut parts),
            }
        }
        if parts.is_empty() && head.is_none() {
            return Ok(None);
        }
        let span = self.span_from(start);
        Ok(Some(Word { parts: parts.finish(), head: head.map(Box::new), span }))
    }

    fn literal_byte(&mut self, parts: &mut Parts, byte: u8) {
        parts.byte(byte);
        self.pos += 1;
    }

    /// Takes all bytes here that mean nothing to the lexer.
    fn literal_run(&mut self, parts: &mut Parts) {
        let start = self.pos;
        self.pos += 1;
        while self.pos < self.end {
            let byte = self.byte(self.pos);
            let plain = is_name(byte) || matches!(byte, b'-' | b'.' | b'/' | b':' | b',' | b'%') || byte >= 0x80;
            if !plain {
                break;
            }
            self.pos += 1;
        }
        parts.bytes(self.text.get(start..self.pos).unwrap_or_default());
    }

    /// A backslash and what it quotes. At the very end of the text it is itself.
    fn escaped(&mut self, parts: &mut Parts) {
        self.pos += 1;
        if self.pos >= self.end {
            parts.part(Part::Quoted(BString::from("\\")));
            return;
        }
        parts.part(Part::Quoted(BString::new(vec![self.byte(self.pos)])));
        self.pos += 1;
    }

    /// One quoted text or expansion in unquoted surroundings.
    pub(super) fn quoted_or_expansion(&mut self, parts: &mut Parts, byte: u8) -> Read<()> {
        match byte {
            b'\'' => {
                self.pos += 1;
                let text = self.single_quoted()?;
                parts.part(Part::Quoted(text));
            }
            b'"' => {
                self.pos += 1;
                let inner = self.double_quoted()?;
                parts.part(Part::DoubleQuoted(inner));
            }
            b'`' => {
                let part = self.backquoted(false)?;
                parts.part(part);
            }
            _ => self.dollar(parts, false)?,
        }
        Ok(())
    }

    /// `<(…)`, `>(…)`, `=(…)`; stands at its first byte.
    pub(super) fn process(&mut self, reads: bool) -> Read<Part> {
        let start = self.pos;
        self.pos = self.after(self.pos) + 1;
        let list = self.parenthesized_list()?;
        let span = self.span_from(start);
        Ok(Part::Process(Rc::new(Process { reads, list, span })))
    }

    /// A balanced `( … )` that is part of a pattern, with the expansions in it.
    fn parenthesized(&mut self, parts: &mut Parts) -> Read<()> {
        self.descend()?;
        self.pos += 1;
        let inner = self.matched(b'(', b')', super::dollar::Inside::Pattern)?;
        self.ascend();
        parts.byte(b'(');
        for part in inner {
            match part {
                Part::Literal(text) => parts.bytes(&text),
                other @ (Part::Quoted(_)
                | Part::DoubleQuoted(_)
                | Part::Parameter(_)
                | Part::Substitution(_)
                | Part::Process(_)
                | Part::Arithmetic(_)) => parts.part(other),
            }
        }
        parts.byte(b')');
        Ok(())
    }

    /// Whether `X(` here is an extended pattern. With `extglob` off bash calls it a syntax error, save
    /// for `!(` before a command and a function's name that ends so; both are left to the parser.
    /// Everywhere else it is read as a pattern whatever the option, which lists more and never less.
    fn is_extended_glob(&mut self, place: Place, byte: u8, parts: &Parts) -> bool {
        if place != Place::Assignment || self.extglob {
            return true;
        }
        if byte == b'!' && parts.is_empty() {
            return false;
        }
        let open = self.after(self.pos);
        let mut next = self.after(open);
        while matches!(self.byte(next), b' ' | b'\t') {
            next += 1;
        }
        self.byte(next) != b')'
    }

    /// Whether a `(` of zsh belongs to a word, as a pattern or its qualifiers, and not to a function.
    fn is_glob_group(&mut self, place: Place, begins: bool) -> bool {
        let mut next = self.after(self.pos);
        while begins && matches!(self.byte(next), b' ' | b'\t') {
            next += 1;
        }
        match place {
            Place::Pattern | Place::Regex => true,
            Place::Argument => self.byte(next) != b')',
            Place::Assignment => !begins && self.byte(next) != b')',
        }
    }

    /// `name=`, `name+=` or `name[…]=` when that is what has been read up to here.
    fn assignment_head(&mut self, parts: &Parts, subscript: Option<Vec<Part>>) -> Read<Option<Head>> {
        let Some(name) = parts.plain().filter(|name| is_identifier(name)).map(BString::from) else { return Ok(None) };
        let append = self.take(b"+=");
        if !append && !self.take(b"=") {
            return Ok(None);
        }
        let array = match self.peek() {
            b'(' if subscript.is_none() => Some(self.array_elements()?),
            _ => None,
        };
        Ok(Some(Head { name, subscript, append, array }))
    }

    /// `name[` has been met where an assignment may stand: the subscript may hold blanks.
    fn subscripted_head(&mut self, parts: &mut Parts) -> Read<Option<Head>> {
        self.pos += 1;
        let subscript = self.matched(b'[', b']', super::dollar::Inside::Subscript)?;
        self.peek();
        if let Some(head) = self.assignment_head(parts, Some(subscript.clone()))? {
            *parts = Parts::default();
            return Ok(Some(head));
        }
        parts.byte(b'[');
        for part in subscript {
            match part {
                Part::Literal(text) => parts.bytes(&text),
                other @ (Part::Quoted(_)
                | Part::DoubleQuoted(_)
                | Part::Parameter(_)
                | Part::Substitution(_)
                | Part::Process(_)
                | Part::Arithmetic(_)) => parts.part(other),
            }
        }
        parts.byte(b']');
        Ok(None)
    }

    /// `( … )` of an array assignment: words, comments and line ends.
    fn array_elements(&mut self) -> Read<Vec<Word>> {
        self.descend()?;
        self.pos += 1;
        let mut elements = Vec::new();
        loop {
            self.skip_lines()?;
            if self.peek() == b')' {
                self.pos += 1;
                self.ascend();
                return Ok(elements);
            }
            match self.word(Place::Argument)? {
                Some(word) => elements.push(word),
                None => return self.syntax("`)` of an array"),
            }
        }
    }
}

/// Whether bytes are a variable's name.
pub(in crate::command) fn is_identifier(name: &[u8]) -> bool {
    name.first().is_some_and(|first| is_name_start(*first)) && name.iter().all(|byte| is_name(*byte))
}
