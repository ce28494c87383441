//! `echo` and `printf`: what they print is known when their words are.

use bstr::{BStr, ByteSlice};

use super::capture::Printed;
use super::state::{Content, Shell, unknown};
use super::{Ends, Walk};
use crate::command::lex::{Ansi, decode_ansi};
use crate::command::message;
use crate::command::simple::Value;

impl Walk<'_, '_> {
    pub(in crate::command) fn echo(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        if self.is_captured() {
            let printed = echoed(arguments, shell.options.posix || shell.dialect != crate::command::lex::Dialect::Bash);
            self.print_value(printed, &shell);
        }
        Ends::success(shell)
    }

    pub(in crate::command) fn printf(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let mut rest = arguments;
        let mut variable = None;
        if rest.first().and_then(Value::known).is_some_and(|word| word == "-v") {
            variable = rest.get(1).cloned();
            rest = rest.get(2..).unwrap_or_default();
        }
        if rest.first().and_then(Value::known).is_some_and(|word| word == "--") {
            rest = rest.get(1..).unwrap_or_default();
        }
        let needed = variable.is_some() || self.is_captured();
        let text = if needed { formatted(rest) } else { Err("not needed") };
        match variable {
            Some(name) => {
                let value = match text {
                    Ok(text) => Value::Known(text.into()),
                    Err(why) => unknown(why, self.span_range()),
                };
                match name.known() {
                    Some(name) => {
                        let name = name.to_owned();
                        self.subscripts_in(name.as_bstr(), &mut shell);
                        shell.set(self.world, name.as_bstr(), Content::Scalar(value));
                    }
                    None => self.opaque("an assignment to variables that are not known", &shell),
                }
            }
            None => {
                match text {
                    Ok(text) => self.print(Printed::Text(text), &shell),
                    Err(why) => {
                        // What is known of its words may be printed, in whatever order.
                        match super::builtin::joined_words(rest) {
                            Value::Unknown(value) if message::is_plain(&value.why) => {
                                let known = [value.prefix.as_slice(), &value.between, &value.suffix].join(&b"\n"[..]);
                                self.print(Printed::Unknown(value.why), &shell);
                                self.print(Printed::Text(known), &shell);
                            }
                            Value::Known(_) | Value::Unknown(_) => self.print(Printed::Unknown(why.into()), &shell),
                        }
                    }
                }
            }
        }
        Ends::success(shell)
    }

    /// Prints a value whose middle may not be known.
    pub(in crate::command) fn print_value(&mut self, value: Value, shell: &Shell) {
        match value {
            Value::Known(text) => self.print(Printed::Text(text.into()), shell),
            Value::Unknown(value) => {
                self.print(Printed::Text(value.prefix.into()), shell);
                self.print(Printed::Unknown(value.why.clone()), shell);
                if !value.between.is_empty() {
                    self.print(Printed::Text(value.between.into()), shell);
                    self.print(Printed::Unknown(value.why), shell);
                }
                self.print(Printed::Text(value.suffix.into()), shell);
            }
        }
    }
}

/// What `echo` prints.
pub(in crate::command) fn echoed(arguments: &[Value], escapes: bool) -> Value {
    let mut rest = arguments;
    let mut newline = true;
    let mut escapes = escapes;
    while let Some(word) = rest.first().and_then(Value::known) {
        let is_option = word.len() > 1
            && word.first() == Some(&b'-')
            && word.iter().skip(1).all(|letter| matches!(letter, b'n' | b'e' | b'E'));
        if !is_option {
            break;
        }
        for letter in word.iter().skip(1) {
            match letter {
                b'n' => newline = false,
                b'e' => escapes = true,
                _ => escapes = false,
            }
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let mut value = super::builtin::joined_words(rest);
    let end: &[u8] = if newline { b"\n" } else { b"" };
    match &mut value {
        Value::Known(text) => {
            if escapes {
                *text = decode_ansi(text, Ansi::Echo);
            }
            text.extend_from_slice(end);
        }
        Value::Unknown(value) => value.suffix.extend_from_slice(end),
    }
    value
}

/// What `printf FORMAT ARGUMENTS` prints; a directive that is not modelled makes it unknown.
pub(in crate::command) fn formatted(arguments: &[Value]) -> Result<Vec<u8>, &'static str> {
    let Some((format, arguments)) = arguments.split_first() else { return Ok(Vec::new()) };
    let Some(format) = format.known() else { return Err("a format that is not known") };
    let arguments: Option<Vec<&BStr>> = arguments.iter().map(Value::known).collect();
    let Some(arguments) = arguments else { return Err("printed words that are not known") };
    let mut text = Vec::new();
    let mut next = 0;
    loop {
        let before = next;
        directives(format, &arguments, &mut next, &mut text)?;
        if next >= arguments.len() || next == before {
            return Ok(text);
        }
        if text.len() > super::disk::MAX_FILE_BYTES as usize {
            return Err("a very long text");
        }
    }
}

fn directives(format: &BStr, arguments: &[&BStr], next: &mut usize, text: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut rest = format.as_bytes();
    while let Some(position) = rest.find_byte(b'%') {
        text.extend_from_slice(&decode_ansi(rest.get(..position).unwrap_or_default(), Ansi::Printf));
        let directive = rest.get(position + 1..).unwrap_or_default();
        let flags =
            directive.iter().take_while(|byte| matches!(byte, b'-' | b'0'..=b'9' | b'.' | b'+' | b' ' | b'#')).count();
        let Some(kind) = directive.get(flags) else { return Err("a format that ends in `%`") };
        let plain = flags == 0;
        match kind {
            b'%' => text.push(b'%'),
            b's' | b'd' | b'i' | b'u' | b'b' | b'c' if plain => {
                let argument = arguments.get(*next).copied();
                *next += 1;
                let fallback = if matches!(kind, b'd' | b'i' | b'u') { BStr::new("0") } else { BStr::new("") };
                let argument = argument.unwrap_or(fallback);
                match kind {
                    b'b' => text.extend_from_slice(&decode_ansi(argument, Ansi::Echo)),
                    b'c' => text.extend(argument.first()),
                    b's' => text.extend_from_slice(argument),
                    _ if argument.iter().all(u8::is_ascii_digit) => text.extend_from_slice(argument),
                    _ => return Err("a number that is not plain"),
                }
            }
            _ => return Err("a directive of printf that is not modelled"),
        }
        rest = directive.get(flags + 1..).unwrap_or_default();
    }
    text.extend_from_slice(&decode_ansi(rest, Ansi::Printf));
    Ok(())
}
