//! `env`: variables set and taken out, another directory, and text that it splits itself.

use bstr::ByteSlice;

use super::{Unwrapped, Wrapped, assignment, long_value};
use crate::command::simple::{EnvChange, Value, to_os_string};

pub(super) fn env(arguments: &[Value]) -> Unwrapped {
    let mut wrapped = Wrapped::words("env", Vec::new());
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let Some(word) = first.known() else { break };
        rest = others;
        match word.as_bytes() {
            b"-" | b"-i" | b"--ignore-environment" => wrapped.clears_environment = true,
            b"--" => break,
            b"-0" | b"--null" | b"-v" | b"--debug" | b"--list-signal-handling" => {}
            b"-u" => unset(others.first(), &mut rest, &mut wrapped),
            b"-C" => {
                wrapped.dir = others.first().cloned();
                rest = others.get(1..).unwrap_or_default();
            }
            b"-S" => return split_string(others.first(), others.get(1..).unwrap_or_default(), wrapped),
            long if long.starts_with(b"--") => {
                let mut after = others;
                if let Some(value) = long_value(word, b"--chdir", &mut after) {
                    wrapped.dir = value;
                } else if let Some(value) = long_value(word, b"--unset", &mut after) {
                    let name = value.as_ref().and_then(Value::known).map(to_os_string).unwrap_or_default();
                    wrapped.env.push((name, EnvChange::Unset));
                } else if let Some(value) = long_value(word, b"--split-string", &mut after) {
                    return split_string(value.as_ref(), after, wrapped);
                }
                rest = after;
            }
            short if short.len() > 1 && short.starts_with(b"-") => {
                let Some(done) = env_cluster(short, others, &mut wrapped, &mut rest) else { continue };
                return done;
            }
            _ => return env_command(first, others, wrapped),
        }
    }
    match rest.split_first() {
        Some((first, others)) => env_command(first, others, wrapped),
        None => Unwrapped::Nothing,
    }
}

fn unset(name: Option<&Value>, rest: &mut &[Value], wrapped: &mut Wrapped) {
    let name = name.and_then(Value::known).map(to_os_string).unwrap_or_default();
    wrapped.env.push((name, EnvChange::Unset));
    *rest = rest.get(1..).unwrap_or_default();
}

/// Short options of `env` in one word: `-iu NAME`, `-uNAME`, `-CDIR`, `-vS 'TEXT'`.
fn env_cluster<'a>(
    short: &[u8],
    others: &'a [Value],
    wrapped: &mut Wrapped,
    rest: &mut &'a [Value],
) -> Option<Unwrapped> {
    for (index, letter) in short.iter().enumerate().skip(1) {
        let attached = short.get(index + 1..).filter(|text| !text.is_empty()).map(|text| Value::Known(text.into()));
        let value = attached.clone().or_else(|| others.first().cloned());
        let after = if attached.is_some() { others } else { others.get(1..).unwrap_or_default() };
        match letter {
            b'i' => wrapped.clears_environment = true,
            b'u' => {
                let name = value.as_ref().and_then(Value::known).map(to_os_string).unwrap_or_default();
                wrapped.env.push((name, EnvChange::Unset));
                *rest = after;
                return None;
            }
            b'C' => {
                wrapped.dir = value;
                *rest = after;
                return None;
            }
            b'S' => {
                let wrapped = std::mem::replace(wrapped, Wrapped::words("env", Vec::new()));
                return Some(split_string(value.as_ref(), after, wrapped));
            }
            b'P' => {
                *rest = after;
                return None;
            }
            _ => {}
        }
    }
    None
}

fn env_command(first: &Value, others: &[Value], mut wrapped: Wrapped) -> Unwrapped {
    let words: Vec<Value> = std::iter::once(first).chain(others).cloned().collect();
    let mut rest = words.as_slice();
    while let Some((word, others)) = rest.split_first() {
        let Some(change) = assignment(word) else { break };
        wrapped.env.push(change);
        rest = others;
    }
    wrapped.words = rest.to_vec();
    Unwrapped::one(wrapped)
}

/// `env -S 'A=1 program argument'`: split by env's own rules, which are a shell's without expansions.
fn split_string(text: Option<&Value>, rest: &[Value], wrapped: Wrapped) -> Unwrapped {
    let Some(text) = text.and_then(Value::known) else {
        return Unwrapped::Opaque("env -S with text that is not known");
    };
    let plain = text.to_str().ok().filter(|text| !text.contains(['$', '\\', '#']));
    let Some(split) = plain.and_then(|text| shell_words::split(text).ok()) else {
        return Unwrapped::Opaque("env -S with escapes or variables");
    };
    let mut words: Vec<Value> = split.into_iter().map(|word| Value::Known(word.into())).collect();
    words.extend_from_slice(rest);
    // What it splits may begin with options of env.
    match env(&words) {
        Unwrapped::Commands(mut commands) => {
            for command in &mut commands {
                command.clears_environment |= wrapped.clears_environment;
                let own = std::mem::take(&mut command.env);
                command.env = wrapped.env.clone();
                command.env.extend(own);
                if command.dir.is_none() {
                    command.dir.clone_from(&wrapped.dir);
                }
            }
            Unwrapped::Commands(commands)
        }
        other @ (Unwrapped::Nothing | Unwrapped::Opaque(_)) => other,
    }
}
