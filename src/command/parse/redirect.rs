//! Redirections.

use bstr::BString;

use crate::command::ast::{Redirect, RedirectOperator};
use crate::command::lex::word::Place;
use crate::command::lex::{Dialect, Read, Reader, is_name, is_name_start};

impl Reader {
    /// The redirection that begins here, or `None` when none does.
    pub(super) fn redirect(&mut self) -> Read<Option<Redirect>> {
        let first = self.peek();
        if !(first.is_ascii_digit() || matches!(first, b'<' | b'>' | b'&' | b'{')) {
            return Ok(None);
        }
        let start = self.pos;
        let (fd, variable) = self.descriptor();
        match self.operator() {
            Some(operator) => self.redirect_target(operator, fd, variable).map(Some),
            None => {
                self.pos = start;
                Ok(None)
            }
        }
    }

    /// Digits or `{name}` directly before `<` or `>`; nothing is consumed when there is no redirection.
    fn descriptor(&mut self) -> (Option<u32>, Option<BString>) {
        let mut at = self.pos;
        if self.byte(at) == b'{' && is_name_start(self.byte(at + 1)) {
            at += 1;
            while is_name(self.byte(at)) {
                at += 1;
            }
            if self.byte(at) == b'}' && matches!(self.byte(at + 1), b'<' | b'>') {
                let name = BString::from(self.text.get(self.pos + 1..at).unwrap_or_default());
                self.pos = at + 1;
                return (None, Some(name));
            }
            return (None, None);
        }
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        if at == self.pos || !matches!(self.byte(at), b'<' | b'>') {
            return (None, None);
        }
        let digits = self.text.get(self.pos..at).unwrap_or_default();
        let Some(fd) = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) else {
            return (None, None);
        };
        self.pos = at;
        (Some(fd), None)
    }

    fn operator(&mut self) -> Option<Operator> {
        let first = self.peek();
        if matches!(first, b'<' | b'>') && self.peek_second() == b'(' {
            return None;
        }
        let operators: &[(&[u8], Operator)] = match first {
            b'<' => &[
                (b"<<<", Operator::Plain(RedirectOperator::HereString)),
                (b"<<-", Operator::Here { strip_tabs: true }),
                (b"<<", Operator::Here { strip_tabs: false }),
                (b"<&", Operator::Plain(RedirectOperator::DuplicateInput)),
                (b"<>", Operator::Plain(RedirectOperator::ReadWrite)),
                (b"<", Operator::Plain(RedirectOperator::Read)),
            ],
            b'>' => &[
                (b">>", Operator::Plain(RedirectOperator::Append)),
                (b">&", Operator::Plain(RedirectOperator::DuplicateOutput)),
                (b">|", Operator::Plain(RedirectOperator::Write)),
                (b">", Operator::Plain(RedirectOperator::Write)),
            ],
            b'&' => &[
                (b"&>>", Operator::Plain(RedirectOperator::AppendBoth)),
                (b"&>", Operator::Plain(RedirectOperator::WriteBoth)),
            ],
            _ => &[],
        };
        operators.iter().find(|(text, _)| self.take(text)).map(|(_, operator)| *operator)
    }

    fn redirect_target(&mut self, operator: Operator, fd: Option<u32>, variable: Option<BString>) -> Read<Redirect> {
        let operator = match operator {
            Operator::Here { strip_tabs } => return self.here_document(strip_tabs, fd, variable),
            Operator::Plain(operator) => operator,
        };
        if self.dialect == Dialect::Zsh && operator != RedirectOperator::HereString {
            // `>!`, `>>|`, `>&!` override NO_CLOBBER.
            let next = self.peek();
            if matches!(next, b'|' | b'!') && self.byte(self.pos + 1) != b'(' {
                self.pos += 1;
            }
        }
        self.skip_blanks();
        match self.word(Place::Argument)? {
            Some(target) => Ok(Redirect { fd, variable, operator, target, body: Default::default() }),
            None => self.syntax("target of a redirection"),
        }
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Plain(RedirectOperator),
    Here { strip_tabs: bool },
}
