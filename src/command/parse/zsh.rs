//! Forms that only zsh has. Each is tried only in its dialect, so that bash's rules stay exact.

use super::Keyword;
use crate::command::ast::{AndOr, Command, CommandKind, List, Part, Pipeline, Word};
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

    /// A single command where a list could stand (`for x (a b) COMMAND`).
    pub(super) fn single_command_list(&mut self) -> Read<List> {
        let command = self.command()?;
        let first = Pipeline { negated: false, commands: vec![command] };
        Ok(List { items: vec![AndOr { first, rest: Vec::new(), background: false }] })
    }

    /// `() { … }`: runs at once.
    pub(super) fn anonymous_function(&mut self) -> Read<Command> {
        self.pos = self.after(self.pos) + 1;
        self.skip_lines()?;
        let start = self.pos;
        match self.keyword()? {
            Some(keyword @ Keyword::Group) => self.compound(keyword, start),
            _ => self.syntax("body of a function"),
        }
    }
}
