//! Programs that run another as another user: `sudo`, `doas`, `su`, `runuser`.
//!
//! Promise: whose environment the command gets is said ([`Wrapped::user`]), since that user's home decides
//! which configuration git reads.

use bstr::ByteSlice;

use super::{Unwrapped, Wrapped, assignment, long_value, unknown};
use crate::command::shell::arguments::Options;
use crate::command::shell::builtin::joined_words;
use crate::command::simple::Value;

/// Short options of sudo that take a value (sudo 1.9).
const SUDO_VALUES: &[u8] = b"ugChpRrtTUD";

pub(super) fn sudo(arguments: &[Value]) -> Unwrapped {
    let mut wrapped = Wrapped { user: Some(root()), ..Wrapped::words("sudo", Vec::new()) };
    let mut shell = false;
    let mut keeps_environment = false;
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let Some(word) = first.known() else { break };
        match word.as_bytes() {
            b"--" => {
                rest = others;
                break;
            }
            b"-e" | b"--edit" => return Unwrapped::Opaque("sudo -e, an editor"),
            b"-l" | b"--list" | b"-v" | b"--validate" | b"-k" | b"--reset-timestamp" | b"-K" | b"-V" | b"--version"
            | b"-h" | b"--help"
                if others.is_empty() || matches!(word.as_bytes(), b"-l" | b"--list" | b"-V" | b"--version") =>
            {
                return Unwrapped::Nothing;
            }
            b"-s" | b"--shell" | b"-i" | b"--login" => shell = true,
            b"-D" => {
                wrapped.dir = others.first().cloned();
                rest = others.get(1..).unwrap_or_default();
                continue;
            }
            b"-E" | b"--preserve-env" => keeps_environment = true,
            option if option.starts_with(b"--preserve-env=") => {
                let kept = option.get(15..).unwrap_or_default();
                keeps_environment |= kept.split(|byte| *byte == b',').any(|name| name == b"HOME");
            }
            b"-u" | b"--user" => {
                wrapped.user = others.first().cloned();
                rest = others.get(1..).unwrap_or_default();
                continue;
            }
            option if option.starts_with(b"--user=") => {
                wrapped.user = option.get(7..).map(|user| Value::Known(user.into()));
            }
            b"-g" | b"-C" | b"-h" | b"-p" | b"-R" | b"-r" | b"-t" | b"-T" | b"-U" | b"-c" | b"--group"
            | b"--prompt" | b"--host" | b"--chroot" | b"--role" | b"--type" | b"--close-from"
            | b"--command-timeout" | b"--other-user" => {
                rest = others.get(1..).unwrap_or_default();
                continue;
            }
            b"--chdir" => {
                wrapped.dir = others.first().cloned();
                rest = others.get(1..).unwrap_or_default();
                continue;
            }
            option if option.starts_with(b"--chdir=") => {
                wrapped.dir = option.get(8..).map(|dir| Value::Known(dir.into()));
            }
            option if option.starts_with(b"--") => {}
            option if option.len() > 1 && option.starts_with(b"-") => {
                let letters = option.get(1..).unwrap_or_default();
                shell |= letters.iter().any(|letter| matches!(letter, b's' | b'i'));
                keeps_environment |= letters.contains(&b'E');
                if let Some(at) = letters.iter().position(|letter| *letter == b'u') {
                    let attached = letters.get(at + 1..).filter(|name| !name.is_empty());
                    wrapped.user =
                        attached.map_or_else(|| others.first().cloned(), |name| Some(Value::Known(name.into())));
                }
                // A letter that takes a value takes the rest of the word, or else the next word.
                let takes_next = letters.iter().position(|letter| SUDO_VALUES.contains(letter));
                if takes_next.is_some_and(|at| at + 1 == letters.len()) {
                    rest = others.get(1..).unwrap_or_default();
                    continue;
                }
            }
            _ => match assignment(first) {
                Some(change) => wrapped.env.push(change),
                None => break,
            },
        }
        rest = others;
    }
    if keeps_environment {
        wrapped.user = None;
    }
    if shell && !rest.is_empty() {
        wrapped.code = Some(joined_words(rest));
        return Unwrapped::one(wrapped);
    }
    wrapped.words = rest.to_vec();
    Unwrapped::one(wrapped)
}

pub(super) fn doas(arguments: &[Value]) -> Unwrapped {
    let options = Options::read(arguments, b"uCa");
    if options.unknown && options.operands.is_empty() {
        return Unwrapped::Opaque("doas with options that are not known");
    }
    let user = options.value(b'u').cloned().or_else(|| Some(root()));
    Unwrapped::one(Wrapped { user, ..Wrapped::words("doas", options.operands.to_vec()) })
}

fn root() -> Value {
    Value::Known("root".into())
}

/// `su [-] [USER] [-c CODE] [-s SHELL]`, options before or after the user.
pub(super) fn switch_user(name: &'static str, arguments: &[Value]) -> Unwrapped {
    let mut wrapped = Wrapped::words(name, Vec::new());
    let mut rest = arguments;
    let mut operands = Vec::new();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else {
            operands.push(first.clone());
            continue;
        };
        let mut after = others;
        match word.as_bytes() {
            b"-" | b"-l" | b"--login" => wrapped.dir = Some(unknown("the home of another user")),
            b"-c" | b"--session-command" => {
                wrapped.code = others.first().cloned();
                rest = others.get(1..).unwrap_or_default();
            }
            b"-s" | b"-g" | b"-G" | b"-w" | b"--shell" | b"--group" | b"--supp-group" | b"-u" | b"--user" => {
                rest = others.get(1..).unwrap_or_default();
            }
            b"--" => {
                operands.extend_from_slice(others);
                break;
            }
            option if option.starts_with(b"--") => {
                if let Some(code) = long_value(word, b"--command", &mut after) {
                    wrapped.code = code;
                    rest = after;
                }
            }
            option if option.len() > 1 && option.starts_with(b"-") => {}
            _ => operands.push(first.clone()),
        }
    }
    // `-m` and `-p` keep the caller's environment.
    let keeps = arguments
        .iter()
        .filter_map(Value::known)
        .any(|word| matches!(word.as_bytes(), b"-m" | b"-p" | b"--preserve-environment"));
    let named = operands.iter().find(|word| word.known().is_none_or(|word| word != "-")).cloned();
    wrapped.user = (!keeps).then(|| named.unwrap_or_else(root));
    if wrapped.code.is_some() {
        return Unwrapped::one(wrapped);
    }
    if name == "runuser" && arguments.iter().any(|word| word.known().is_some_and(|word| word == "-u")) {
        wrapped.words = operands;
        return Unwrapped::one(wrapped);
    }
    // Without code it is a shell that reads its input.
    wrapped.words = vec![Value::Known("sh".into())];
    Unwrapped::one(wrapped)
}
