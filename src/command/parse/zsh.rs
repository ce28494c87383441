//! Forms that only zsh has. Each is tried only in its dialect, so that bash's rules stay exact.

use std::rc::Rc;

use crate::command::ast::{Command, CommandKind, List, Part, Word};
use crate::command::lex::word::Place;
use crate::command::lex::{Dialect, Read, Reader};

impl Reader {
    /// `{ … }` in the place of `then … fi` or `do … done`.
    pub(super) fn zsh_brace_body(&mut self) -> Read<Option<List>> {
        if self.dialect != Dialect::Zsh {
            return Ok(None);
        }
        self.skip_lines()?;
        if !self.take_keyword(b"{") {
            return Ok(None);
        }
        let body = self.list()?;
        self.expect(b"}", "`}`")?;
        Ok(Some(body))
    }

    /// `( WORD … )` of a loop.
    pub(super) fn parenthesized_words(&mut self) -> Read<Vec<Word>> {
        self.pos += 1;
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.peek() == b')' {
                self.pos += 1;
                self.skip_blanks();
                if self.peek() == b';' {
                    self.pos += 1;
                }
                return Ok(words);
            }
            match self.word(Place::Argument)? {
                Some(word) => words.push(word),
                None => return self.syntax("`)` of a loop's words"),
            }
        }
    }

    /// `foreach NAME ( WORD … ) … end`.
    pub(super) fn foreach(&mut self) -> Read<CommandKind> {
        self.skip_blanks();
        let Some(name) = self.word(Place::Argument)? else { return self.syntax("name of a loop's variable") };
        let names = super::plain_text(&name).map(|name| vec![name.into()]).unwrap_or_default();
        self.skip_blanks();
        let words = if self.peek() == b'(' { Some(self.parenthesized_words()?) } else { None };
        let body = self.list()?;
        self.expect(b"end", "`end`")?;
        Ok(CommandKind::For { names, words, body, select: false })
    }

    /// `repeat N BODY`.
    pub(super) fn repeat(&mut self) -> Read<CommandKind> {
        self.skip_blanks();
        let Some(count) = self.word(Place::Argument)? else { return self.syntax("a count") };
        self.skip_blanks();
        if self.peek() == b';' {
            self.pos += 1;
        }
        let body = self.loop_body()?;
        Ok(CommandKind::ForArithmetic { header: vec![Part::DoubleQuoted(count.parts)], body })
    }

    /// Commands joined by `&&`, `||` and `|` where a list could stand (`for x (a b) COMMAND && COMMAND`).
    pub(super) fn short_list(&mut self) -> Read<List> {
        Ok(List { items: vec![self.and_or()?] })
    }

    /// `() { … } ARGUMENTS`, which runs at once; stands at its `(`.
    pub(super) fn anonymous_function(&mut self, start: usize) -> Read<Command> {
        self.pos = self.after(self.pos) + 1;
        self.anonymous_body(start)
    }

    /// The body of a function without a name, and the words that it is called with.
    pub(super) fn anonymous_body(&mut self, start: usize) -> Read<Command> {
        self.skip_lines()?;
        let body = Rc::new(self.command()?);
        let mut arguments = Vec::new();
        if !matches!(body.kind, CommandKind::Simple(_)) {
            loop {
                self.skip_blanks();
                if self.at_closer() {
                    break;
                }
                match self.word(Place::Argument)? {
                    Some(word) => arguments.push(word),
                    None => break,
                }
            }
        }
        Ok(self.finish(CommandKind::Anonymous { body, arguments }, start))
    }

    /// Passes over the `;` of commands that are not there, which zsh allows; whether there were some.
    pub(super) fn skip_empty_commands(&mut self) -> bool {
        let mut passed = false;
        while self.dialect == Dialect::Zsh && self.peek() == b';' && !matches!(self.peek_second(), b';' | b'&' | b'|') {
            self.pos += 1;
            self.skip_blanks();
            passed = true;
        }
        passed
    }

    /// Whether the `(` behind words ends the head of a function. In zsh it may begin a pattern as well.
    pub(super) fn is_head_end(&mut self) -> bool {
        if self.dialect != Dialect::Zsh {
            return true;
        }
        let start = self.pos;
        self.pos += 1;
        self.skip_blanks();
        let ends = self.peek() == b')';
        self.pos = start;
        ends
    }
}
