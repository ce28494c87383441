//! What `$` begins, and texts up to a matching closer.

use std::rc::Rc;

use bstr::BString;

use super::word::Parts;
use super::{Dialect, Read, Reader, is_name, is_name_start};
use crate::command::ast::{Operation, Parameter, Part, Substitution};

/// What kind of text stands before a matching closer; it decides what quotes do in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Inside {
    /// A pattern: unquoted surroundings.
    Pattern,
    /// `[…]` after a name.
    Subscript,
    /// `((…))`.
    Arithmetic,
    /// An operand of `${…}` in unquoted surroundings.
    Operand,
    /// The same within double quotes or a here-document.
    QuotedOperand,
    /// A pattern operand (`#`, `%`, `/` …) within double quotes, where `'` quotes again.
    QuotedPattern,
}

impl Reader {
    /// `$` and what it begins. In double quotes `$'` and `$"` are a dollar sign and a quote.
    pub(super) fn dollar(&mut self, parts: &mut Parts, quoted: bool) -> Read<()> {
        let start = self.pos;
        let next = self.after(self.pos);
        match self.byte(next) {
            b'(' => {
                let part = self.dollar_parenthesis(start, next)?;
                parts.part(part);
            }
            b'{' => {
                self.pos = next + 1;
                self.descend()?;
                let part = self.braced(start, quoted)?;
                self.ascend();
                parts.part(part);
            }
            b'[' => {
                self.pos = next + 1;
                self.descend()?;
                let inner = self.matched(b'[', b']', Inside::Arithmetic)?;
                self.ascend();
                parts.part(Part::Arithmetic(Rc::new(inner)));
            }
            b'\'' if !quoted => {
                self.pos = next + 1;
                let text = self.ansi_quoted()?;
                parts.part(Part::Quoted(text));
            }
            b'"' if !quoted => {
                self.pos = next + 1;
                let inner = self.double_quoted()?;
                parts.part(Part::DoubleQuoted(inner));
            }
            mark if self.at_zsh_mark(next) => {
                self.pos = self.after(next);
                let name = self.name();
                let part = self.plain_parameter(name, Some(mark), start, quoted)?;
                parts.part(part);
            }
            byte if is_name_start(byte) => {
                self.pos = next;
                let name = self.name();
                let part = self.plain_parameter(name, None, start, quoted)?;
                parts.part(part);
            }
            byte if byte.is_ascii_digit() || is_special(byte) => {
                self.pos = next + 1;
                let part = self.plain_parameter(BString::new(vec![byte]), None, start, quoted)?;
                parts.part(part);
            }
            _ => {
                parts.byte(b'$');
                self.pos = start + 1;
            }
        }
        Ok(())
    }

    /// `$name` with what zsh lets stand around it.
    fn plain_parameter(&mut self, name: BString, mark: Option<u8>, start: usize, quoted: bool) -> Read<Part> {
        let mut parameter = Parameter {
            name,
            subscript: None,
            indirect: false,
            length: false,
            operation: Operation::Plain,
            operand: Vec::new(),
            span: self.span_from(start),
        };
        if let Some(mark) = mark {
            self.zsh_mark(&mut parameter, mark);
        }
        self.zsh_trailer(&mut parameter, quoted)?;
        Ok(Part::Parameter(Rc::new(parameter)))
    }

    /// The name that begins here, continuations inside it passed over.
    pub(super) fn name(&mut self) -> BString {
        let mut name = Vec::new();
        while is_name(self.peek()) {
            name.push(self.byte(self.pos));
            self.pos += 1;
        }
        BString::new(name)
    }

    /// `$((…))` where its parentheses pair up as arithmetic, else `$(…)`.
    fn dollar_parenthesis(&mut self, start: usize, open: usize) -> Read<Part> {
        self.descend()?;
        let inner_start = self.after(open);
        let part = if self.byte(inner_start) == b'(' {
            self.pos = inner_start;
            self.maybe_arithmetic(start)?
        } else {
            self.pos = open + 1;
            let lines = self.substituted_lines()?;
            Part::Substitution(Rc::new(Substitution { lines, broken: false, span: self.span_from(start) }))
        };
        self.ascend();
        Ok(part)
    }

    /// Stands at the second `(` of `$((`. bash first looks for the matching parenthesis as in
    /// arithmetic, without regard to commands, and only then decides which of the two it is.
    fn maybe_arithmetic(&mut self, start: usize) -> Read<Part> {
        let inner_start = self.pos;
        let length = self.text.len();
        let parts = self.matched(b'(', b')', Inside::Arithmetic)?;
        let inner_end = self.pos - 1;
        let mut inner = self.text.get(inner_start + 1..inner_end).unwrap_or_default();
        // A continuation between the two closing parentheses joins them.
        while let Some(joined) = inner.strip_suffix(b"\\\n") {
            inner = joined;
        }
        if let Some((b')', expression)) = inner.split_last()
            && parentheses_pair_up(expression)
        {
            return Ok(Part::Arithmetic(Rc::new(parts)));
        }
        self.unchanged_since(length)?;
        let span = self.span_from(start);
        let (lines, broken) = self.in_region(inner_start, inner_end, Self::script)?;
        Ok(Part::Substitution(Rc::new(Substitution { lines, broken, span })))
    }

    /// Everything up to the unmatched `close`, which is consumed, with the expansions in it.
    pub(in crate::command) fn matched(&mut self, open: u8, close: u8, inside: Inside) -> Read<Vec<Part>> {
        let start = self.pos;
        let length = self.text.len();
        let mut parts = Parts::default();
        let mut nesting = 0_u32;
        let mut single_quote = false;
        let quoted = matches!(inside, Inside::QuotedOperand | Inside::QuotedPattern);
        loop {
            self.spend()?;
            let byte = self.peek();
            match byte {
                0 => return self.syntax("matching closer"),
                _ if byte == close && nesting == 0 => break,
                _ if byte == close => {
                    nesting -= 1;
                    self.take_literal(&mut parts, byte);
                }
                // The first `}` closes: bash does not count braces in an operand.
                _ if byte == open && open != b'{' => {
                    nesting += 1;
                    self.take_literal(&mut parts, byte);
                }
                b'\\' => self.escape_in_matched(&mut parts, quoted),
                b'\'' if inside == Inside::QuotedOperand => {
                    single_quote = true;
                    self.pos += 1;
                    self.single_quoted()?;
                }
                b'$' if inside == Inside::QuotedOperand && self.peek_second() == b'\'' => {
                    self.pos = self.after(self.pos) + 1;
                    let text = self.ansi_quoted()?;
                    parts.part(Part::Quoted(text));
                }
                b'<' | b'>' if !quoted && inside != Inside::Arithmetic && self.peek_second() == b'(' => {
                    let process = self.process(byte == b'>')?;
                    parts.part(process);
                }
                b'`' if quoted => {
                    let part = self.backquoted(true)?;
                    parts.part(part);
                }
                b'$' if quoted => self.dollar(&mut parts, true)?,
                b'\'' | b'"' | b'`' | b'$' => self.quoted_or_expansion(&mut parts, byte)?,
                _ => self.take_literal(&mut parts, byte),
            }
        }
        let end = self.pos;
        self.pos += 1;
        if single_quote {
            self.unchanged_since(length)?;
            // The quote has only told where the operand ends; what it encloses is expanded all the same.
            return self.in_region(start, end, Self::operand_in_quotes);
        }
        Ok(parts.finish())
    }

    fn take_literal(&mut self, parts: &mut Parts, byte: u8) {
        parts.byte(byte);
        self.pos += 1;
    }

    fn escape_in_matched(&mut self, parts: &mut Parts, quoted: bool) {
        let next = self.byte(self.pos + 1);
        if quoted && !matches!(next, b'$' | b'`' | b'\\' | b'"' | b'}') {
            parts.byte(b'\\');
            self.pos += 1;
            return;
        }
        if next != 0 {
            parts.part(Part::Quoted(BString::new(vec![next])));
        }
        self.pos += 2;
    }

    /// `${ … }`, its brace consumed.
    fn braced(&mut self, start: usize, quoted: bool) -> Read<Part> {
        if matches!(self.peek(), b' ' | b'\t' | b'\n' | b'|')
            && let Some(part) = self.braced_commands(start)?
        {
            return Ok(part);
        }
        let flags_start = self.pos;
        let flagged = self.dialect == Dialect::Zsh && self.zsh_flags()?;
        let expands_again = flagged && self.text.get(flags_start..self.pos).unwrap_or_default().contains(&b'e');
        let mut parameter = Parameter {
            name: BString::default(),
            subscript: None,
            indirect: false,
            length: false,
            operation: Operation::Unmodelled,
            operand: Vec::new(),
            span: self.span_from(start),
        };
        self.parameter_prefix(&mut parameter);
        self.parameter_name(&mut parameter)?;
        let inside = self.operation(&mut parameter, quoted);
        let operand_start = self.pos;
        parameter.operand = match self.matched(b'{', b'}', inside) {
            Ok(parts) => parts,
            Err(stop) => {
                self.pos = operand_start;
                return Err(stop);
            }
        };
        if parameter.operation == Operation::Plain && !parameter.operand.is_empty() {
            parameter.operation = Operation::Unmodelled;
        }
        if flagged {
            // What the flags do to the value is not modelled.
            let plain = parameter.operation == Operation::Plain;
            parameter.operation =
                if plain && expands_again { Operation::Transform(b'P') } else { Operation::Unmodelled };
        }
        parameter.span = self.span_from(start);
        Ok(Part::Parameter(Rc::new(parameter)))
    }

    /// `${ command; }` of bash 5.3; an earlier bash reports an error when it gets there.
    fn braced_commands(&mut self, start: usize) -> Read<Option<Part>> {
        let back = self.pos;
        let length = self.text.len();
        if self.byte(self.pos) == b'|' {
            self.pos += 1;
        }
        let depth = self.depth;
        let found = match self.commands_until_brace() {
            Ok(lines) => lines,
            Err(limit @ super::Stop::Limit(_)) => return Err(limit),
            Err(super::Stop::Syntax { .. }) => {
                self.unchanged_since(length)?;
                self.pos = back;
                self.depth = depth;
                return Ok(None);
            }
        };
        let span = self.span_from(start);
        Ok(Some(Part::Substitution(Rc::new(Substitution { lines: found, broken: false, span }))))
    }

    /// zsh's `(flags)` after `${`.
    fn zsh_flags(&mut self) -> Read<bool> {
        if self.peek() != b'(' {
            return Ok(false);
        }
        self.pos += 1;
        self.matched(b'(', b')', Inside::Pattern)?;
        Ok(true)
    }

    /// `!` and `#` before a name.
    fn parameter_prefix(&mut self, parameter: &mut Parameter) {
        let prefix = self.peek();
        if !matches!(prefix, b'!' | b'#') {
            return;
        }
        let next = self.peek_second();
        let names = is_name_start(next) || next.is_ascii_digit();
        let special = is_special(next) && self.byte(self.after(self.after(self.pos))) == b'}';
        if names || special {
            self.pos += 1;
            parameter.indirect = prefix == b'!';
            parameter.length = prefix == b'#';
        }
    }

    fn parameter_name(&mut self, parameter: &mut Parameter) -> Read<()> {
        let first = self.peek();
        if is_name_start(first) {
            parameter.name = self.name();
        } else if first.is_ascii_digit() {
            let mut digits = Vec::new();
            while self.peek().is_ascii_digit() {
                digits.push(self.byte(self.pos));
                self.pos += 1;
            }
            parameter.name = BString::new(digits);
        } else if first == b'$' && self.dialect == Dialect::Zsh && matches!(self.peek_second(), b'{' | b'(') {
            // An expansion in the place of a name; it is read with the operand.
        } else if is_special(first) {
            parameter.name = BString::new(vec![first]);
            self.pos += 1;
        }
        if self.peek() == b'[' && !parameter.name.is_empty() {
            self.pos += 1;
            parameter.subscript = Some(self.matched(b'[', b']', Inside::Subscript)?);
        }
        Ok(())
    }

    /// The operator; what kind of operand follows.
    fn operation(&mut self, parameter: &mut Parameter, quoted: bool) -> Inside {
        let word = if quoted { Inside::QuotedOperand } else { Inside::Operand };
        let pattern = if quoted { Inside::QuotedPattern } else { Inside::Operand };
        let zsh_anonymous = self.dialect == Dialect::Zsh;
        if parameter.name.is_empty() && !(zsh_anonymous && self.peek() == b':') {
            return word;
        }
        let or_empty = self.peek() == b':' && matches!(self.peek_second(), b'-' | b'=' | b'?' | b'+');
        if or_empty {
            self.pos += 1;
        }
        let operator = self.peek();
        let (operation, inside) = match operator {
            b'}' => (Operation::Plain, word),
            b'-' => (Operation::Default { or_empty }, word),
            b'=' => (Operation::Assign { or_empty }, word),
            b'?' => (Operation::Error { or_empty }, word),
            b'+' => (Operation::Alternative { or_empty }, word),
            b'#' => (Operation::RemovePrefix { longest: self.peek_second() == b'#' }, pattern),
            b'%' => (Operation::RemoveSuffix { longest: self.peek_second() == b'%' }, pattern),
            b'/' => (Operation::Replace, pattern),
            // zsh: what begins with a letter is a modifier, and no offset.
            b':' if self.dialect == Dialect::Zsh
                && (self.peek_second().is_ascii_alphabetic() || self.peek_second() == b'&') =>
            {
                (Operation::Modify, word)
            }
            b':' => (Operation::Slice, word),
            b'^' => (Operation::Case { upper: true, all: self.peek_second() == b'^' }, pattern),
            b',' => (Operation::Case { upper: false, all: self.peek_second() == b',' }, pattern),
            b'@' | b'*' if parameter.indirect && self.peek_second() == b'}' => (Operation::Names, word),
            b'@' if self.byte(self.after(self.after(self.pos))) == b'}' => {
                (Operation::Transform(self.peek_second()), word)
            }
            _ => return word,
        };
        parameter.operation = operation;
        let doubled = matches!(
            operation,
            Operation::RemovePrefix { longest: true }
                | Operation::RemoveSuffix { longest: true }
                | Operation::Case { all: true, .. }
                | Operation::Transform(_)
        );
        if operation != Operation::Plain {
            self.pos += 1;
        }
        if doubled {
            self.peek();
            self.pos += 1;
        }
        inside
    }
}

pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

/// bash's own test of what stands between `$((` and `))`: quotes and backslashes passed over, every
/// parenthesis pairs up.
fn parentheses_pair_up(expression: &[u8]) -> bool {
    let mut nesting = 0_i64;
    let mut at = 0;
    while let Some(byte) = expression.get(at).copied() {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'\'' => at += length_to(expression, at, b'\''),
            b'"' => {
                while let Some(inner) = expression.get(at).copied() {
                    at += 1;
                    match inner {
                        b'\\' => at += 1,
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'(' => nesting += 1,
            b')' => {
                nesting -= 1;
                if nesting < 0 {
                    return false;
                }
            }
            _ => {}
        }
    }
    nesting == 0
}

fn length_to(text: &[u8], at: usize, byte: u8) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    memchr::memchr(byte, rest).map_or(rest.len(), |found| found + 1)
}
