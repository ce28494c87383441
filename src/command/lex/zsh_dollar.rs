//! What zsh lets stand before and behind a parameter's name without braces: `$#name`, `$name[…]`, `$name:h`.
//!
//! Promise: the text that belongs to the parameter is taken off the word, so that nothing of it is read as a
//! known part of what the word becomes. (zshexpn(1), "PARAMETER EXPANSION" and "MODIFIERS", of zsh 5.9.)

use bstr::BString;

use super::dollar::{Inside, is_special};
use super::{Dialect, Read, Reader, is_name_start};
use crate::command::ast::{Operation, Parameter, Part};

/// Stands in the operand of [`Operation::Modify`] for a modifier that is not modelled.
const UNMODELLED: u8 = b'?';

impl Reader {
    /// Whether `$` is followed by a mark and a name: `$#name`, `$+name`, `$=name`, `$~name`, `$^name`.
    pub(super) fn at_zsh_mark(&self, next: usize) -> bool {
        self.dialect == Dialect::Zsh
            && matches!(self.byte(next), b'#' | b'+' | b'=' | b'~' | b'^')
            && is_name_start(self.byte(self.after(next)))
    }

    /// That mark, consumed, in what it makes of the parameter.
    pub(super) fn zsh_mark(&mut self, parameter: &mut Parameter, mark: u8) {
        match mark {
            b'#' => parameter.length = true,
            _ => parameter.operation = Operation::Unmodelled,
        }
    }

    /// A subscript and modifiers behind a name.
    pub(super) fn zsh_trailer(&mut self, parameter: &mut Parameter, quoted: bool) -> Read<()> {
        if self.dialect != Dialect::Zsh {
            return Ok(());
        }
        let indexed = parameter.name.first().is_some_and(|first| !is_special(*first) || matches!(first, b'@' | b'*'));
        if indexed && self.peek() == b'[' && self.closes_in_word(quoted) {
            self.pos += 1;
            parameter.subscript = Some(self.matched(b'[', b']', Inside::Subscript)?);
        }
        let modifiers = self.zsh_modifiers(quoted);
        if !modifiers.is_empty() && parameter.operation == Operation::Plain && !parameter.length {
            parameter.operation = Operation::Modify;
            parameter.operand = vec![Part::Literal(BString::new(modifiers))];
        }
        Ok(())
    }

    /// Whether the bracket that opens here closes before the word, or the quoted text, ends.
    fn closes_in_word(&self, quoted: bool) -> bool {
        let (mut brackets, mut parentheses) = (0_u32, 0_u32);
        let rest = self.text.get(self.pos..self.end).unwrap_or_default();
        for byte in rest {
            match byte {
                b'[' => brackets += 1,
                b']' if brackets == 1 && parentheses == 0 => return true,
                b']' => brackets = brackets.saturating_sub(1),
                b'(' => parentheses += 1,
                b')' => parentheses = parentheses.saturating_sub(1),
                b'"' if quoted && parentheses == 0 => return false,
                b' ' | b'\t' | b';' | b'&' | b'|' | b'<' | b'>' if !quoted && parentheses == 0 => return false,
                b'\n' => return false,
                _ => {}
            }
        }
        false
    }

    /// `:h`, `:t` and their kin, a letter each.
    fn zsh_modifiers(&mut self, quoted: bool) -> Vec<u8> {
        let mut found = Vec::new();
        while self.peek() == b':' {
            let letter = self.peek_second();
            let is_one = matches!(
                letter,
                b'a' | b'A'
                    | b'c'
                    | b'e'
                    | b'h'
                    | b'l'
                    | b'p'
                    | b'P'
                    | b'q'
                    | b'Q'
                    | b'r'
                    | b't'
                    | b'u'
                    | b'x'
                    | b's'
                    | b'&'
                    | b'g'
                    | b'w'
                    | b'W'
                    | b'f'
                    | b'F'
            );
            if !is_one {
                break;
            }
            self.pos = self.after(self.pos) + 1;
            let substitutes = letter == b's' || letter == b'g' && self.peek() == b's';
            if letter == b'g' {
                self.pos += 1;
            }
            if substitutes {
                self.zsh_substitution(quoted);
            }
            while self.peek().is_ascii_digit() {
                self.pos += 1;
            }
            found.push(if matches!(letter, b'e' | b'h' | b'l' | b'r' | b't' | b'u') { letter } else { UNMODELLED });
        }
        found
    }

    /// `/old/new/` with any delimiter, as far as the word goes.
    fn zsh_substitution(&mut self, quoted: bool) {
        let delimiter = self.peek();
        let ends =
            |byte: u8| byte == 0 || byte == b'"' || !quoted && (super::is_meta(byte) || matches!(byte, b'\'' | b'`'));
        if ends(delimiter) {
            return;
        }
        self.pos += 1;
        for _ in 0..2 {
            while self.peek() != delimiter && !ends(self.peek()) {
                self.pos += 1;
            }
            if self.peek() == delimiter {
                self.pos += 1;
            }
        }
    }
}
