//! Compound commands: `if`, loops, `case`, groups, functions, `[[ ]]`, `(( ))`.

use std::rc::Rc;

use bstr::BString;

use super::plain_text;
use crate::command::ast::{Arm, ArmEnd, Command, CommandKind, List, Part, Word};
use crate::command::lex::dollar::Inside;
use crate::command::lex::word::Place;
use crate::command::lex::{Dialect, Read, Reader, Stop, is_meta};

/// Words that begin a compound command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Keyword {
    If,
    While,
    Until,
    For,
    Select,
    Case,
    Group,
    Condition,
    Function,
    Coprocess,
    /// zsh.
    Foreach,
    /// zsh.
    Repeat,
}

const KEYWORDS: &[(&[u8], Keyword)] = &[
    (b"if", Keyword::If),
    (b"while", Keyword::While),
    (b"until", Keyword::Until),
    (b"for", Keyword::For),
    (b"select", Keyword::Select),
    (b"case", Keyword::Case),
    (b"{", Keyword::Group),
    (b"[[", Keyword::Condition),
    (b"function", Keyword::Function),
    (b"coproc", Keyword::Coprocess),
];

const ZSH_KEYWORDS: &[(&[u8], Keyword)] = &[(b"foreach", Keyword::Foreach), (b"repeat", Keyword::Repeat)];

impl Reader {
    /// Consumes a keyword that begins a compound command; an alias that stands here is expanded first.
    pub(super) fn keyword(&mut self) -> Read<Option<Keyword>> {
        if !self.aliases.is_empty() && self.at_plain_word() {
            // Reading the word expands it in place; the word itself is read again.
            let start = self.pos;
            self.word_or_alias(Place::Assignment, true)?;
            self.pos = start;
            self.skip_blanks();
        }
        if !matches!(self.peek(), b'i' | b'w' | b'u' | b'f' | b's' | b'c' | b'{' | b'[' | b'r') {
            return Ok(None);
        }
        let zsh = if self.dialect == Dialect::Zsh { ZSH_KEYWORDS } else { &[] };
        for (text, keyword) in KEYWORDS.iter().chain(zsh) {
            if self.at_keyword(text) {
                self.take(text);
                return Ok(Some(*keyword));
            }
        }
        Ok(None)
    }

    /// Whether the word here is unquoted text alone, as an alias's name is.
    fn at_plain_word(&self) -> bool {
        let rest = self.text.get(self.pos..self.end).unwrap_or_default();
        let word = rest.iter().take_while(|byte| !is_meta(**byte));
        !word.into_iter().any(|byte| matches!(byte, b'$' | b'`' | b'\'' | b'"' | b'\\'))
    }

    /// The rest of the compound command that `keyword` began.
    pub(super) fn compound(&mut self, keyword: Keyword, start: usize) -> Read<Command> {
        let kind = match keyword {
            Keyword::If => self.if_command()?,
            Keyword::While => self.while_command(false)?,
            Keyword::Until => self.while_command(true)?,
            Keyword::For => self.for_command(false)?,
            Keyword::Select => self.for_command(true)?,
            Keyword::Foreach => self.foreach()?,
            Keyword::Repeat => self.repeat()?,
            Keyword::Case => self.case_command()?,
            Keyword::Group => self.group()?,
            Keyword::Condition => CommandKind::Condition(self.condition()?),
            Keyword::Function => return self.function(start),
            Keyword::Coprocess => self.coprocess()?,
        };
        Ok(self.finish(kind, start))
    }

    pub(super) fn finish(&self, kind: CommandKind, start: usize) -> Command {
        Command { kind, redirects: Vec::new(), span: self.span_from(start) }
    }

    pub(super) fn expect(&mut self, keyword: &[u8], what: &'static str) -> Read<()> {
        if self.take_keyword(keyword) { Ok(()) } else { self.syntax(what) }
    }

    /// `( … )`, or `(( … ))` when its parentheses close together.
    pub(super) fn parenthesized_command(&mut self, start: usize) -> Read<Command> {
        if self.peek_second() == b'('
            && let Some(expression) = self.arithmetic_command()?
        {
            return Ok(self.finish(CommandKind::Arithmetic(expression), start));
        }
        if self.dialect == Dialect::Zsh && self.peek_second() == b')' {
            return self.anonymous_function(start);
        }
        self.pos += 1;
        let list = self.filled_list()?;
        if self.peek() != b')' {
            return self.syntax("`)`");
        }
        self.pos += 1;
        Ok(self.finish(CommandKind::Subshell(list), start))
    }

    /// What stands between `((` and `))`; `None`, with nothing consumed, when the two do not stand
    /// together, which makes it a subshell in a subshell.
    fn arithmetic_command(&mut self) -> Read<Option<Vec<Part>>> {
        let (start, depth, length) = (self.pos, self.depth, self.text.len());
        self.pos = self.after(self.pos) + 1;
        match self.matched(b'(', b')', Inside::Arithmetic) {
            Ok(expression) if self.peek() == b')' => {
                self.pos += 1;
                Ok(Some(expression))
            }
            Ok(_) | Err(Stop::Syntax { .. }) => {
                self.unchanged_since(length)?;
                (self.pos, self.depth) = (start, depth);
                Ok(None)
            }
            Err(limit @ Stop::Limit(_)) => Err(limit),
        }
    }

    fn group(&mut self) -> Read<CommandKind> {
        let body = self.filled_list()?;
        self.expect(b"}", "`}`")?;
        if self.dialect == Dialect::Zsh && self.take_keyword(b"always") {
            self.expect(b"{", "`{`")?;
            let finally = self.list()?;
            self.expect(b"}", "`}`")?;
            return Ok(CommandKind::Always { body, finally });
        }
        Ok(CommandKind::Group(body))
    }

    fn if_command(&mut self) -> Read<CommandKind> {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.filled_list()?;
            if let Some(body) = self.zsh_brace_body()? {
                arms.push((condition, body));
                self.skip_blanks();
                if self.take_keyword(b"elif") {
                    continue;
                }
                if self.take_keyword(b"else") {
                    otherwise = Some(match self.zsh_brace_body()? {
                        Some(body) => body,
                        None => {
                            let body = self.list()?;
                            self.expect(b"fi", "`fi`")?;
                            body
                        }
                    });
                }
                return Ok(CommandKind::If { arms, otherwise });
            }
            if self.dialect == Dialect::Zsh && !self.at_keyword(b"then") && !self.at_closer() {
                arms.push((condition, self.short_list()?));
                return Ok(CommandKind::If { arms, otherwise });
            }
            self.expect(b"then", "`then`")?;
            arms.push((condition, self.filled_list()?));
            if self.take_keyword(b"elif") {
                continue;
            }
            if self.take_keyword(b"else") {
                otherwise = Some(self.filled_list()?);
            }
            self.expect(b"fi", "`fi`")?;
            return Ok(CommandKind::If { arms, otherwise });
        }
    }

    fn while_command(&mut self, until: bool) -> Read<CommandKind> {
        let condition = self.filled_list()?;
        let body = match self.zsh_brace_body()? {
            Some(body) => body,
            None if self.dialect == Dialect::Zsh && !self.at_keyword(b"do") && !self.at_closer() => {
                self.short_list()?
            }
            None => {
                self.expect(b"do", "`do`")?;
                let body = self.filled_list()?;
                self.expect(b"done", "`done`")?;
                body
            }
        };
        Ok(CommandKind::While { until, condition, body })
    }

    fn for_command(&mut self, select: bool) -> Read<CommandKind> {
        self.skip_blanks();
        if self.peek() == b'(' && self.peek_second() == b'(' {
            return self.for_arithmetic();
        }
        let mut names = Vec::new();
        loop {
            let Some(word) = self.word(Place::Argument)? else { return self.syntax("name of a loop's variable") };
            let Some(name) = plain_text(&word) else { return self.syntax("name of a loop's variable") };
            names.push(BString::from(name));
            self.skip_blanks();
            let another = self.dialect == Dialect::Zsh && !self.at_keyword(b"in") && !is_meta(self.peek());
            if !another || self.at_keyword(b"do") || self.at_keyword(b"{") {
                break;
            }
        }
        let words = self.for_words()?;
        let body = self.loop_body()?;
        Ok(CommandKind::For { names, words, body, select })
    }

    /// `in WORD…;`, `;` or nothing; zsh also has `(WORD…)`.
    fn for_words(&mut self) -> Read<Option<Vec<Word>>> {
        if self.dialect == Dialect::Zsh && self.peek() == b'(' {
            return Ok(Some(self.parenthesized_words()?));
        }
        if self.peek() == b';' {
            self.pos += 1;
            self.skip_lines()?;
            return Ok(None);
        }
        self.skip_lines()?;
        if !self.take_keyword(b"in") {
            return Ok(None);
        }
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.word(Place::Argument)? {
                Some(word) => words.push(word),
                None => break,
            }
        }
        match self.peek() {
            b';' => self.pos += 1,
            b'\n' => {}
            _ => return self.syntax("`;` or a line end after the words of a loop"),
        }
        self.skip_lines()?;
        Ok(Some(words))
    }

    fn for_arithmetic(&mut self) -> Read<CommandKind> {
        self.pos = self.after(self.pos) + 1;
        let header = self.matched(b'(', b')', Inside::Arithmetic)?;
        if self.peek() != b')' {
            return self.syntax("`))`");
        }
        self.pos += 1;
        self.skip_blanks();
        if self.peek() == b';' {
            self.pos += 1;
        }
        self.skip_lines()?;
        let body = self.loop_body()?;
        Ok(CommandKind::ForArithmetic { header, body })
    }

    /// `do … done` or `{ … }`; zsh also takes a single command.
    pub(super) fn loop_body(&mut self) -> Read<List> {
        self.skip_lines()?;
        if self.take_keyword(b"do") {
            let body = self.filled_list()?;
            self.expect(b"done", "`done`")?;
            return Ok(body);
        }
        if self.take_keyword(b"{") {
            let body = self.filled_list()?;
            self.expect(b"}", "`}`")?;
            return Ok(body);
        }
        if self.dialect == Dialect::Zsh {
            return self.short_list();
        }
        self.syntax("`do`")
    }

    fn case_command(&mut self) -> Read<CommandKind> {
        self.skip_blanks();
        let Some(subject) = self.word(Place::Argument)? else { return self.syntax("the word of a `case`") };
        self.skip_lines()?;
        let (close, what): (&[u8], _) = if self.dialect == Dialect::Zsh && self.take_keyword(b"{") {
            (b"}", "`}`")
        } else {
            self.expect(b"in", "`in`")?;
            (b"esac", "`esac`")
        };
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_keyword(close) {
                return Ok(CommandKind::Case { subject, arms });
            }
            let (arm, last) = self.case_arm()?;
            arms.push(arm);
            if last {
                self.skip_lines()?;
                self.expect(close, what)?;
                return Ok(CommandKind::Case { subject, arms });
            }
        }
    }

    /// One arm; whether it has no terminator, so that `esac` has to follow.
    fn case_arm(&mut self) -> Read<(Arm, bool)> {
        self.spend()?;
        if self.peek() == b'(' {
            self.pos += 1;
        }
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            match self.word(Place::Pattern)? {
                Some(word) => patterns.push(word),
                // zsh allows an empty alternative.
                None if self.dialect == Dialect::Zsh => {}
                None => return self.syntax("a pattern"),
            }
            self.skip_blanks();
            match self.peek() {
                b'|' => self.pos += 1,
                b')' => break,
                _ => return self.syntax("`)` of a pattern"),
            }
        }
        self.pos += 1;
        let body = self.list()?;
        self.skip_blanks();
        let end = if self.take(b";;&") || (self.dialect == Dialect::Zsh && self.take(b";|")) {
            ArmEnd::GoOn
        } else if self.take(b";;") {
            ArmEnd::Break
        } else if self.take(b";&") {
            ArmEnd::FallThrough
        } else {
            return Ok((Arm { patterns, body, end: ArmEnd::Break }, true));
        };
        Ok((Arm { patterns, body, end }, false))
    }

    /// The words and operators up to `]]`, which is consumed.
    fn condition(&mut self) -> Read<Vec<Word>> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.spend()?;
            self.skip_lines()?;
            if self.take_keyword(b"]]") {
                return Ok(words);
            }
            let start = self.pos;
            let place = match words.last().and_then(plain_text) {
                Some(b"=~") => Place::Regex,
                Some(b"==" | b"=" | b"!=") => Place::Pattern,
                _ => Place::Argument,
            };
            let operator: Option<&[u8]> = match (self.peek(), self.peek_second()) {
                _ if place == Place::Regex => None,
                (b'&', b'&') => Some(b"&&"),
                (b'|', b'|') => Some(b"||"),
                (b'(', _) if place != Place::Pattern || self.dialect == Dialect::Bash => Some(b"("),
                (b')', _) => Some(b")"),
                (b'<', next) if next != b'(' => Some(b"<"),
                (b'>', next) if next != b'(' => Some(b">"),
                (b'!', b'(') => Some(b"!"),
                _ => None,
            };
            if let Some(operator) = operator {
                self.take(operator);
                let parts = vec![Part::Literal(BString::from(operator))];
                words.push(Word { parts, head: None, span: self.span_from(start) });
                continue;
            }
            match self.word(place)? {
                Some(word) => words.push(word),
                None => return self.syntax("`]]`"),
            }
        }
    }

    /// `function NAME [()] BODY`, the keyword consumed.
    fn function(&mut self, start: usize) -> Read<Command> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.at_keyword(b"{") {
                break;
            }
            match self.word(Place::Argument)? {
                Some(word) => words.push(word),
                None => break,
            }
            if self.dialect == Dialect::Bash {
                break;
            }
        }
        self.skip_blanks();
        if self.peek() == b'(' && self.function_parentheses().is_none() && words.is_empty() {
            return self.syntax("name of a function");
        }
        if words.is_empty() && self.dialect == Dialect::Zsh {
            return self.anonymous_body(start);
        }
        self.function_body(words, start)
    }

    /// `( )` after a name has been met.
    pub(super) fn function_after_names(&mut self, words: Vec<Word>, start: usize) -> Read<Command> {
        if self.function_parentheses().is_none() {
            return self.syntax("unexpected `(`");
        }
        self.function_body(words, start)
    }

    fn function_parentheses(&mut self) -> Option<()> {
        let start = self.pos;
        self.pos += 1;
        self.skip_blanks();
        if self.peek() == b')' {
            self.pos += 1;
            return Some(());
        }
        self.pos = start;
        None
    }

    fn function_body(&mut self, words: Vec<Word>, start: usize) -> Read<Command> {
        let names = words.iter().map(static_name).collect();
        self.skip_lines()?;
        let body = self.command()?;
        if matches!(body.kind, CommandKind::Simple(_)) && self.dialect == Dialect::Bash {
            return self.syntax("body of a function");
        }
        Ok(self.finish(CommandKind::Function { names, body: Rc::new(body) }, start))
    }

    fn coprocess(&mut self) -> Read<CommandKind> {
        self.skip_blanks();
        let (start, length) = (self.pos, self.text.len());
        let mut name = None;
        if !self.begins_compound()
            && let Some(word) = self.word(Place::Argument)?
        {
            self.skip_blanks();
            if self.begins_compound() {
                name = plain_text(&word).map(BString::from);
            } else {
                self.unchanged_since(length)?;
                self.pos = start;
            }
        }
        let body = Box::new(self.command()?);
        Ok(CommandKind::Coprocess { name, body })
    }

    fn begins_compound(&mut self) -> bool {
        self.peek() == b'('
            || KEYWORDS.iter().any(|(text, keyword)| {
                !matches!(keyword, Keyword::Coprocess | Keyword::Function) && self.at_keyword(text)
            })
    }
}

/// A function's name as written, quotes taken off; nothing in it is expanded.
fn static_name(word: &Word) -> BString {
    let mut name = Vec::new();
    for part in &word.parts {
        match part {
            Part::Literal(text) | Part::Quoted(text) => name.extend_from_slice(text),
            Part::DoubleQuoted(_)
            | Part::Parameter(_)
            | Part::Substitution(_)
            | Part::Process(_)
            | Part::Arithmetic(_) => name.push(b'?'),
        }
    }
    BString::new(name)
}
