//! Arithmetic: numbers are computed, and code that hides in a value's subscript is walked.
//!
//! bash evaluates the value of a variable as an expression in turn, and expands subscripts in it:
//! `x='a[$(command)]'; echo $((x))` runs the command.

use bstr::{BStr, BString, ByteSlice};

use super::Walk;
use crate::command::ast::Part;
use crate::command::shell::state::{Content, Shell, known, unknown};
use crate::command::simple::Value;

/// How often a value is looked up as an expression in turn.
const MAX_INDIRECTION: u32 = 8;

impl Walk<'_, '_> {
    /// The value of an expression, when it is a known number.
    pub(in crate::command) fn arithmetic(&mut self, expression: &[Part], shell: &mut Shell) -> Value {
        let text = self.single(&[Part::DoubleQuoted(expression.to_vec())], shell);
        let span = self.span_range();
        let Value::Known(text) = text else { return unknown("arithmetic", span) };
        match self.evaluate(text.as_bstr(), shell, 0) {
            Some(number) => known(number.to_string()),
            None => unknown("arithmetic", span),
        }
    }

    /// The three expressions of `for ((…; …; …))`.
    pub(in crate::command) fn arithmetic_header(&mut self, header: &[Part], shell: &mut Shell) {
        if let Value::Known(text) = self.single(&[Part::DoubleQuoted(header.to_vec())], shell) {
            for expression in text.split_str(";") {
                self.evaluate(expression.as_bstr(), shell, 0);
            }
        }
    }

    /// Evaluates an expression; what it assigns to is no longer known.
    pub(in crate::command) fn evaluate(&mut self, text: &BStr, shell: &mut Shell, indirection: u32) -> Option<i64> {
        if indirection > MAX_INDIRECTION {
            return None;
        }
        self.subscripts_in(text, shell);
        let tokens = tokens(text)?;
        for (index, token) in tokens.iter().enumerate() {
            if let Token::Name(name) = token
                && assigns(tokens.get(index + 1), index.checked_sub(1).and_then(|before| tokens.get(before)))
            {
                let why = "a variable set in arithmetic";
                shell.set(self.world, name.as_bstr(), Content::Scalar(unknown(why, 0..0)));
            }
        }
        let mut evaluation = Evaluation { walk: self, shell, tokens: &tokens, at: 0, indirection };
        let number = evaluation.sum(0)?;
        (evaluation.at == tokens.len()).then_some(number)
    }

    /// The number that a variable's value stands for.
    fn number_of(&mut self, name: &BString, shell: &mut Shell, indirection: u32) -> Option<i64> {
        match self.variable_value(name.as_bstr(), shell) {
            Value::Known(text) if text.is_empty() => Some(0),
            Value::Known(text) => match text.to_str().ok().and_then(|text| text.parse().ok()) {
                Some(number) => Some(number),
                None => self.evaluate(text.as_bstr(), shell, indirection + 1),
            },
            Value::Unknown(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i64),
    Name(BString),
    Operator(&'static str),
}

/// Operators, longest first; those that are only known as "not modelled" are among them.
const OPERATORS: &[&str] = &[
    "<<=", ">>=", "**", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "<=", ">=", "==", "!=",
    "&&", "||", "+", "-", "*", "/", "%", "(", ")", "<", ">", "=", "!", "~", "&", "|", "^", "?", ":", ",", "[", "]",
];

fn tokens(text: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.first() {
        if first.is_ascii_whitespace() {
            rest = rest.get(1..)?;
        } else if first.is_ascii_digit() {
            let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'#').count();
            tokens.push(Token::Number(number(rest.get(..length)?)?));
            rest = rest.get(length..)?;
        } else if first.is_ascii_alphabetic() || *first == b'_' {
            let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            tokens.push(Token::Name(rest.get(..length)?.into()));
            rest = rest.get(length..)?;
        } else {
            let operator = OPERATORS.iter().find(|operator| rest.starts_with(operator.as_bytes()))?;
            tokens.push(Token::Operator(operator));
            rest = rest.get(operator.len()..)?;
        }
        if tokens.len() > 4096 {
            return None;
        }
    }
    Some(tokens)
}

fn number(digits: &[u8]) -> Option<i64> {
    let digits = std::str::from_utf8(digits).ok()?;
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i64::from_str_radix(hexadecimal, 16).ok();
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return i64::from_str_radix(digits, 8).ok();
    }
    digits.parse().ok()
}

/// Whether a name with these neighbours is assigned to.
fn assigns(next: Option<&Token>, before: Option<&Token>) -> bool {
    let by_next = matches!(
        next,
        Some(Token::Operator(
            "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" | "++" | "--" | "["
        ))
    );
    by_next || matches!(before, Some(Token::Operator("++" | "--")))
}

struct Evaluation<'e, 'w, 'v> {
    walk: &'e mut Walk<'w, 'v>,
    shell: &'e mut Shell,
    tokens: &'e [Token],
    at: usize,
    indirection: u32,
}

impl Evaluation<'_, '_, '_> {
    fn operator(&mut self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Operator(operator)) => Some(operator),
            _ => None,
        }
    }

    /// Sums and products; comparisons, shifts and logic are left as not known.
    fn sum(&mut self, depth: u32) -> Option<i64> {
        if depth > 32 {
            return None;
        }
        let mut value = self.product(depth)?;
        while let Some(operator @ ("+" | "-")) = self.operator() {
            self.at += 1;
            let other = self.product(depth)?;
            value = if operator == "+" { value.wrapping_add(other) } else { value.wrapping_sub(other) };
        }
        Some(value)
    }

    fn product(&mut self, depth: u32) -> Option<i64> {
        let mut value = self.factor(depth)?;
        while let Some(operator @ ("*" | "/" | "%")) = self.operator() {
            self.at += 1;
            let other = self.factor(depth)?;
            value = match operator {
                "*" => value.wrapping_mul(other),
                "/" => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self, depth: u32) -> Option<i64> {
        if depth > 32 {
            return None;
        }
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        match token {
            Token::Number(number) => Some(number),
            Token::Name(name) => self.walk.number_of(&name, self.shell, self.indirection),
            Token::Operator("-") => self.factor(depth + 1).map(i64::wrapping_neg),
            Token::Operator("+") => self.factor(depth + 1),
            Token::Operator("(") => {
                let value = self.sum(depth + 1)?;
                (self.operator() == Some(")")).then(|| self.at += 1)?;
                Some(value)
            }
            Token::Operator(_) => None,
        }
    }
}
