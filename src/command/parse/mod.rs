//! Commands: bash's grammar by recursive descent, line by line.
//!
//! Promise: lines come out one at a time ([`Reader::next_line`]), since bash runs each before it reads
//! the next: what precedes a syntax error has run, and an alias or option holds from the next line on.
//! Every command of a line that is valid in bash is in its tree. Some texts that bash would refuse are
//! read nevertheless (patterns without `extglob`, an empty `then`): that lists more, never less.

mod compound;
mod redirect;
mod zsh;

use std::collections::BTreeMap;
use std::rc::Rc;

use bstr::{BString, ByteSlice};

use super::ast::{AndOr, Command, CommandKind, Joint, List, Part, Pipeline, Simple, Word};
use super::lex::word::Place;
use super::lex::{Dialect, Read, Reader, Stop, is_meta};

/// Shell aliases by name, as they hold for one line.
pub type Aliases = Rc<BTreeMap<BString, BString>>;

/// Builtins after whose name an argument `name=( … )` is an assignment.
const DECLARING: &[&[u8]] =
    &[b"alias", b"declare", b"export", b"local", b"readonly", b"typeset", b"eval", b"let", b"integer", b"float"];

/// Words that end a list when they stand where a command could.
const CLOSERS: &[&[u8]] = &[b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac", b"}"];

impl Reader {
    /// The next line with all that belongs to it (here-documents, constructs over several lines), or
    /// `None` at the end.
    ///
    /// # Errors
    /// [`Stop::Syntax`] where bash would stop, having run all lines before; [`Stop::Limit`] as it says.
    pub fn next_line(&mut self) -> Result<Option<List>, Stop> {
        self.skip_lines()?;
        if self.peek() == 0 {
            return Ok(None);
        }
        let list = self.line()?;
        match self.peek() {
            b'\n' => self.line_end()?,
            0 => self.close_here_documents()?,
            _ => return self.syntax("end of the command"),
        }
        Ok(Some(list))
    }

    /// Lets these aliases hold from the next line on.
    pub fn set_aliases(&mut self, aliases: Aliases) {
        self.aliases = aliases;
    }

    /// Lets `extglob` hold, or not, from the next line on.
    pub fn set_extglob(&mut self, on: bool) {
        self.extglob = on;
    }

    /// Where the next line begins, in bytes of the text as it was given (aliases not counted).
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Gives every node the span of the construct that holds this text.
    #[must_use]
    pub fn within(mut self, span: super::ast::Span) -> Self {
        self.fixed_span = Some(span);
        self
    }

    /// All lines of a nested text, and whether a syntax error ends it early.
    pub(super) fn script(&mut self) -> Read<(Vec<List>, bool)> {
        let mut lines = Vec::new();
        loop {
            match self.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => return Ok((lines, false)),
                Err(Stop::Syntax { .. }) => return Ok((lines, true)),
                Err(limit @ Stop::Limit(_)) => return Err(limit),
            }
        }
    }

    /// Commands up to the end of the line.
    fn line(&mut self) -> Read<List> {
        let mut list = List::default();
        loop {
            if self.skip_empty_commands() && matches!(self.peek(), b'\n' | 0) {
                return Ok(list);
            }
            let mut item = self.and_or()?;
            let separator = self.separator(&mut item);
            list.items.push(item);
            self.skip_blanks();
            if !separator || matches!(self.peek(), b'\n' | 0) {
                return Ok(list);
            }
        }
    }

    /// Commands on any number of lines, up to what cannot begin a command.
    pub(super) fn list(&mut self) -> Read<List> {
        let mut list = List::default();
        loop {
            self.skip_lines()?;
            while self.skip_empty_commands() {
                self.skip_lines()?;
            }
            if self.at_closer() {
                return Ok(list);
            }
            let mut item = self.and_or()?;
            let separator = self.separator(&mut item);
            list.items.push(item);
            self.skip_blanks();
            if !separator && self.peek() != b'\n' {
                return Ok(list);
            }
        }
    }

    /// A list that may not be empty.
    pub(super) fn filled_list(&mut self) -> Read<List> {
        let list = self.list()?;
        if list.items.is_empty() && self.dialect == Dialect::Bash {
            return self.syntax("a command");
        }
        Ok(list)
    }

    /// Consumes `;` or `&` after a command; not `;;` and its kin, which end an arm of a `case`.
    fn separator(&mut self, item: &mut AndOr) -> bool {
        self.skip_blanks();
        match (self.peek(), self.peek_second()) {
            (b';', b';' | b'&') => false,
            (b';', b'|') if self.dialect == Dialect::Zsh => false,
            (b';', _) => {
                self.pos += 1;
                true
            }
            (b'&', b'&' | b'>') => false,
            (b'&', next) => {
                item.background = true;
                self.pos += 1;
                if self.dialect == Dialect::Zsh && matches!(next, b'|' | b'!') {
                    self.peek();
                    self.pos += 1;
                }
                true
            }
            _ => false,
        }
    }

    /// Whether something stands here that ends a list.
    pub(super) fn at_closer(&mut self) -> bool {
        match self.peek() {
            0 | b')' => true,
            b';' => true,
            b't' | b'e' | b'f' | b'd' | b'}' => {
                CLOSERS.iter().any(|closer| self.at_keyword(closer))
                    || (self.dialect == Dialect::Zsh && self.at_keyword(b"end"))
            }
            _ => false,
        }
    }

    /// Whether exactly this unquoted word stands here.
    pub(super) fn at_keyword(&mut self, keyword: &[u8]) -> bool {
        let start = self.pos;
        let here = self.take(keyword) && {
            let next = self.peek();
            is_meta(next) || (self.dialect == Dialect::Zsh && matches!(keyword, b"{" | b"}"))
        };
        self.pos = start;
        here
    }

    /// Consumes a keyword when it stands here, after blanks and line ends.
    pub(super) fn take_keyword(&mut self, keyword: &[u8]) -> bool {
        self.skip_blanks();
        self.at_keyword(keyword) && self.take(keyword)
    }

    fn and_or(&mut self) -> Read<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let joint = if self.take(b"&&") {
                Joint::And
            } else if self.take(b"||") {
                Joint::Or
            } else {
                return Ok(AndOr { first, rest, background: false });
            };
            self.skip_lines()?;
            if self.dialect == Dialect::Zsh && self.at_closer() {
                // zsh lets a list end in `&&` or `||`.
                return Ok(AndOr { first, rest, background: false });
            }
            rest.push((joint, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        let mut pipeline = Pipeline { negated: false, commands: Vec::new() };
        let prefixed = self.pipeline_prefix(&mut pipeline)?;
        if prefixed && matches!(self.peek(), b'\n' | b';' | 0 | b')' | b'&' | b'|') {
            return Ok(pipeline);
        }
        loop {
            self.skip_blanks();
            pipeline.commands.push(self.command()?);
            self.skip_blanks();
            if self.peek() != b'|' || self.peek_second() == b'|' {
                return Ok(pipeline);
            }
            if !self.take(b"|&") {
                self.pos += 1;
            }
            self.skip_lines()?;
            // bash lets `!` and `time` stand after a `|` too.
            self.pipeline_prefix(&mut pipeline)?;
        }
    }

    /// Any number of `!` and `time`; whether there were some.
    fn pipeline_prefix(&mut self, pipeline: &mut Pipeline) -> Read<bool> {
        let mut prefixed = false;
        loop {
            self.skip_blanks();
            self.spend()?;
            if self.at_keyword(b"!") {
                self.take(b"!");
                pipeline.negated = !pipeline.negated;
            } else if self.at_keyword(b"time") && !self.is_function_name(b"time") {
                self.take(b"time");
                self.skip_blanks();
                if self.at_keyword(b"-p") {
                    self.take(b"-p");
                    self.skip_blanks();
                }
                if self.at_keyword(b"--") {
                    self.take(b"--");
                }
            } else {
                return Ok(prefixed);
            }
            prefixed = true;
        }
    }

    /// Whether `( )` follows this word, which then names a function.
    fn is_function_name(&mut self, word: &[u8]) -> bool {
        let start = self.pos;
        self.take(word);
        self.skip_blanks();
        let function = self.peek() == b'(' && self.peek_second() == b')';
        self.pos = start;
        function && self.dialect == Dialect::Zsh
    }

    /// One command with its redirections.
    pub(super) fn command(&mut self) -> Read<Command> {
        self.descend()?;
        self.spend()?;
        let start = self.pos;
        let mut command = self.command_without_redirects(start)?;
        if !matches!(command.kind, CommandKind::Simple(_)) {
            self.skip_blanks();
            while let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                self.skip_blanks();
            }
        }
        command.span = self.span_from(start);
        self.ascend();
        Ok(command)
    }

    fn command_without_redirects(&mut self, start: usize) -> Read<Command> {
        if self.at_closer() {
            return self.syntax("a command");
        }
        if self.peek() == b'(' {
            return self.parenthesized_command(start);
        }
        // A redirection may stand first; then no keyword is one.
        let mut redirects = Vec::new();
        while let Some(redirect) = self.redirect()? {
            redirects.push(redirect);
            self.skip_blanks();
        }
        if redirects.is_empty()
            && let Some(keyword) = self.keyword()?
        {
            return self.compound(keyword, start);
        }
        self.simple(redirects, start)
    }

    fn simple(&mut self, redirects: Vec<super::ast::Redirect>, start: usize) -> Read<Command> {
        let mut simple = Simple::default();
        let mut command = Command { kind: CommandKind::Simple(Simple::default()), redirects, span: Default::default() };
        let mut declaring = false;
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                command.redirects.push(redirect);
                continue;
            }
            if self.peek() == b'('
                && self.is_function_head(&simple)
                && command.redirects.is_empty()
                && self.is_head_end()
            {
                return self.function_after_names(simple.words, start);
            }
            if self.dialect == Dialect::Zsh && self.at_keyword(b"}") {
                break;
            }
            let place = if simple.words.is_empty() || declaring { Place::Assignment } else { Place::Argument };
            let Some(word) = self.word_or_alias(place, simple.words.is_empty())? else { break };
            if simple.words.is_empty() && word.head.is_some() {
                simple.assignments.push(word);
                continue;
            }
            if simple.words.is_empty() {
                declaring = plain_text(&word).is_some_and(|name| DECLARING.contains(&name));
            }
            simple.words.push(word);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && command.redirects.is_empty() {
            return self.syntax("a command");
        }
        command.kind = CommandKind::Simple(simple);
        Ok(command)
    }

    fn is_function_head(&self, simple: &Simple) -> bool {
        let names = simple.words.len();
        simple.assignments.is_empty() && (names == 1 || (names > 1 && self.dialect == Dialect::Zsh))
    }

    /// A word; where it is an alias, the first word of the alias's text instead.
    pub(super) fn word_or_alias(&mut self, place: Place, command_position: bool) -> Read<Option<Word>> {
        loop {
            self.skip_blanks();
            let start = self.pos;
            let word = self.word(place)?;
            if self.aliases.is_empty() {
                return Ok(word);
            }
            let after_blank = self.alias_after.take_if(|after| *after <= start).is_some();
            let global = self.dialect == Dialect::Zsh;
            let name = word.as_ref().filter(|word| word.head.is_none()).and_then(plain_text);
            let Some(name) = name.filter(|_| command_position || after_blank || global).map(BString::from) else {
                return Ok(word);
            };
            if !self.expand_alias(&name, start, command_position || after_blank)? {
                return Ok(word);
            }
        }
    }

    /// Replaces the word from `start` to here by the text of the alias `name`, if there is one which is
    /// not being expanded already.
    fn expand_alias(&mut self, name: &BString, start: usize, command_position: bool) -> Read<bool> {
        self.expanding.retain(|(_, end)| *end > start);
        if self.expanding.iter().any(|(expanding, _)| expanding == name) {
            return Ok(false);
        }
        let aliases = Rc::clone(&self.aliases);
        // zsh's global aliases are kept under a key that no command's name can be.
        let global = [b"\n", name.as_slice()].concat();
        let value = aliases.get(name).filter(|_| command_position).or_else(|| aliases.get(global.as_bstr()));
        let Some(value) = value else { return Ok(false) };
        self.spend_many(value.len() + 64)?;
        if self.text.len() + value.len() > super::lex::MAX_TEXT_BYTES {
            return Err(Stop::Limit("aliases make the text longer than 256 KiB"));
        }
        let removed = self.pos - start;
        self.text.splice(start..self.pos, value.iter().copied());
        self.end = self.end + value.len() - removed;
        for (_, end) in &mut self.expanding {
            *end = *end + value.len() - removed;
        }
        let end = start + value.len();
        self.expanding.push((name.clone(), end));
        if value.last().is_some_and(|last| matches!(last, b' ' | b'\t')) {
            self.alias_after = Some(end);
        }
        self.pos = start;
        Ok(true)
    }

    /// A list in parentheses of its own (`$( … )`, `<( … )`), its `)` consumed. Here-documents that
    /// wait outside are not read in it, and its own do not wait outside.
    pub(super) fn parenthesized_list(&mut self) -> Read<List> {
        self.descend()?;
        let outside = std::mem::take(&mut self.pending);
        let was_in_parentheses = std::mem::replace(&mut self.in_parentheses, true);
        let read = self.list();
        let closed = read.is_ok() && self.peek() == b')';
        self.in_parentheses = was_in_parentheses;
        let bodies = if closed {
            self.pos += 1;
            if self.pending.is_empty() { Ok(()) } else { self.here_documents_after_this_line() }
        } else {
            Ok(())
        };
        // Whatever went wrong inside, what waits outside is still to come.
        self.pending = outside;
        let list = read?;
        bodies?;
        if !closed {
            return self.syntax("`)`");
        }
        self.ascend();
        Ok(list)
    }

    /// The commands of `$( … )`.
    pub(super) fn substituted_lines(&mut self) -> Read<Vec<List>> {
        Ok(vec![self.parenthesized_list()?])
    }

    /// The commands of `${ …; }`, its `}` consumed.
    pub(super) fn commands_until_brace(&mut self) -> Read<Vec<List>> {
        self.descend()?;
        let outside = std::mem::take(&mut self.pending);
        let list = self.list();
        let closed = list.is_ok() && self.take_keyword(b"}");
        if closed && !self.pending.is_empty() {
            self.here_documents_after_this_line()?;
        }
        self.pending = outside;
        let list = list?;
        // Inside a word `}` may be followed by anything.
        if !closed && !self.take(b"}") {
            return self.syntax("`}`");
        }
        self.ascend();
        Ok(vec![list])
    }
}

/// A word's text when it is unquoted and holds no expansion.
pub(super) fn plain_text(word: &Word) -> Option<&[u8]> {
    match word.parts.as_slice() {
        [Part::Literal(text)] if word.head.is_none() => Some(text.as_bytes()),
        _ => None,
    }
}
