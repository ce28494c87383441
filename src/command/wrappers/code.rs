//! Code in the arguments of programs that are no shells: `awk`, `sed`, `tar`, `split`, editors.

use bstr::{BStr, BString, ByteSlice};

use super::{Unwrapped, Wrapped, long_value};
use crate::command::simple::{Certainty, UnknownValue, Value};

/// Whether arguments of this program may hold code.
pub(super) fn takes_code(base: &BStr) -> bool {
    matches!(
        base.as_bytes(),
        b"awk"
            | b"gawk"
            | b"mawk"
            | b"nawk"
            | b"sed"
            | b"gsed"
            | b"tar"
            | b"gtar"
            | b"bsdtar"
            | b"split"
            | b"gsplit"
            | b"zip"
            | b"sort"
            | b"gsort"
            | b"ed"
            | b"ex"
            | b"vi"
            | b"vim"
            | b"nvim"
            | b"view"
            | b"rg"
            | b"entr"
            | b"screen"
            | b"tmux"
            | b"expect"
            | b"gdb"
    )
}

/// The code that a program runs out of its arguments; `None` when it runs none.
pub(super) fn unwrap(base: &BStr, arguments: &[Value], input: Option<&[u8]>) -> Option<Unwrapped> {
    match base.as_bytes() {
        b"awk" | b"gawk" | b"mawk" | b"nawk" => Some(awk(arguments)),
        b"sed" | b"gsed" => Some(sed(arguments)),
        b"tar" | b"gtar" | b"bsdtar" => tar(arguments),
        b"split" | b"gsplit" => option_code("split", arguments, b"--filter"),
        b"sort" | b"gsort" => option_code("sort", arguments, b"--compress-program"),
        b"rg" => option_code("rg", arguments, b"--pre"),
        b"zip" => zip(arguments),
        b"ed" => Some(ed(input)),
        b"ex" | b"vi" | b"vim" | b"nvim" | b"view" => Some(vim(arguments)),
        b"entr" => Some(Unwrapped::one(Wrapped::words("entr", super::skip_options(arguments, &[]).to_vec()))),
        b"screen" => screen(arguments),
        b"tmux" => tmux(arguments),
        b"expect" | b"gdb" => Some(Unwrapped::Opaque("a program that runs commands of its own language")),
        _ => None,
    }
}

fn maybe(name: &'static str, code: Value) -> Wrapped {
    Wrapped { certainty: Certainty::Maybe, ..Wrapped::code(name, code) }
}

fn awk(arguments: &[Value]) -> Unwrapped {
    let mut rest = arguments;
    let mut programs: Vec<&Value> = Vec::new();
    let mut from_file = false;
    while let Some((first, others)) = rest.split_first() {
        let Some(word) = first.known() else { break };
        match word.as_bytes() {
            b"--" => {
                rest = others;
                break;
            }
            b"-f" | b"--file" | b"-i" | b"--include" => {
                from_file = true;
                rest = others.get(1..).unwrap_or_default();
            }
            b"-e" | b"--source" => {
                programs.extend(others.first());
                from_file = true;
                rest = others.get(1..).unwrap_or_default();
            }
            b"-v" | b"-F" | b"--assign" | b"--field-separator" => rest = others.get(1..).unwrap_or_default(),
            option if option.len() > 1 && option.starts_with(b"-") => {
                if option.starts_with(b"-f") {
                    return Unwrapped::Opaque("an awk program in a file");
                }
                rest = others;
            }
            _ => break,
        }
    }
    if !from_file {
        programs.extend(rest.first());
    } else if programs.is_empty() {
        return Unwrapped::Opaque("an awk program in a file");
    }
    let mut commands = Vec::new();
    for program in programs {
        let Some(program) = program.known() else { return Unwrapped::Opaque("an awk program that is not known") };
        match awk_commands(program) {
            Some(found) => commands.extend(found.into_iter().map(|code| maybe("awk", Value::Known(code)))),
            None => return Unwrapped::Opaque("an awk program that runs commands which it puts together"),
        }
    }
    if commands.is_empty() { Unwrapped::Nothing } else { Unwrapped::Commands(commands) }
}

/// The commands that an awk program runs; `None` when one is put together at run time. Commands come
/// from `system(…)`, `print | "…"` and `"…" | getline`.
fn awk_commands(program: &BStr) -> Option<Vec<BString>> {
    let runs = program.find(b"system").is_some() || awk_pipes(program);
    if !runs {
        return Some(Vec::new());
    }
    let mut commands = Vec::new();
    let mut at = 0;
    while let Some(found) = program.get(at..).and_then(|rest| rest.find(b"system")) {
        at += found + b"system".len();
        let rest = program.get(at..).unwrap_or_default().trim_start();
        let inner = rest.strip_prefix(b"(")?.trim_start();
        let (text, after) = awk_string(inner)?;
        if after.trim_start().first() != Some(&b')') {
            return None;
        }
        commands.push(text);
    }
    if !awk_pipes(program) {
        return Some(commands);
    }
    // Every string of the program may be the command of a pipe.
    let mut rest = program.as_bytes();
    while let Some(start) = rest.find_byte(b'"') {
        let (text, after) = awk_string(rest.get(start..)?)?;
        commands.push(text);
        rest = after;
    }
    let pipe_to_variable = program.find(b"| ").is_some_and(|at| {
        program
            .get(at + 2..)
            .is_some_and(|rest| !rest.trim_start().starts_with(b"\"") && !rest.trim_start().starts_with(b"getline"))
    });
    (!pipe_to_variable).then_some(commands)
}

/// Whether a `|` that is not `||` stands outside of strings and regular expressions, as far as that
/// can be told without reading awk's grammar.
fn awk_pipes(program: &BStr) -> bool {
    let mut in_string = false;
    let mut bytes = program.iter().copied().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => in_string = !in_string,
            b'|' if !in_string => {
                let double = program.get(at + 1) == Some(&b'|') || (at > 0 && program.get(at - 1) == Some(&b'|'));
                let to = program.get(at + 1..).unwrap_or_default().trim_start();
                let runs = to.starts_with(b"\"") || to.starts_with(b"getline") || to.starts_with(b"&");
                let printed = program.get(..at).is_some_and(|before| before.find(b"print").is_some());
                if !double && (runs || printed) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// A string that begins here, and what follows it.
fn awk_string(text: &[u8]) -> Option<(BString, &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        match inner.get(at)? {
            b'"' => return Some((BString::new(out), inner.get(at + 1..)?)),
            b'\\' => {
                let next = *inner.get(at + 1)?;
                out.push(match next {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'"' | b'\\' | b'/' => next,
                    _ => return None,
                });
                at += 2;
            }
            byte => {
                out.push(*byte);
                at += 1;
            }
        }
    }
}

fn sed(arguments: &[Value]) -> Unwrapped {
    let mut scripts: Vec<&Value> = Vec::new();
    let mut from_file = false;
    let mut rest = arguments;
    let mut operands: Vec<&Value> = Vec::new();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match first.known().map(|word| word.as_bytes()) {
            Some(b"-e" | b"--expression") => {
                scripts.extend(others.first());
                rest = others.get(1..).unwrap_or_default();
            }
            Some(b"-f" | b"--file") => {
                from_file = true;
                rest = others.get(1..).unwrap_or_default();
            }
            Some(b"--sandbox") => return Unwrapped::Nothing,
            Some(b"-l" | b"--line-length") => rest = others.get(1..).unwrap_or_default(),
            Some(word) if word.starts_with(b"--expression=") => operands.push(first),
            Some(word) if word.len() > 1 && word.starts_with(b"-") => {
                if word.ends_with(b"e") && !word.starts_with(b"--") && !word.starts_with(b"-i") {
                    scripts.extend(others.first());
                    rest = others.get(1..).unwrap_or_default();
                }
            }
            _ => operands.push(first),
        }
    }
    if from_file {
        return Unwrapped::Opaque("a sed script in a file");
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    let mut commands = Vec::new();
    for script in scripts {
        match script {
            Value::Known(script) => match sed_commands(script) {
                Some(found) => commands.extend(found.into_iter().map(|code| maybe("sed", Value::Known(code)))),
                None => return Unwrapped::Opaque("a sed script that runs what it reads"),
            },
            // A pattern put together from values runs nothing unless a value brings an `e`.
            Value::Unknown(_) => {}
        }
    }
    if commands.is_empty() { Unwrapped::Nothing } else { Unwrapped::Commands(commands) }
}

/// The commands that a sed script runs with `e`; `None` when it runs its pattern space.
fn sed_commands(script: &BString) -> Option<Vec<BString>> {
    let mut commands = Vec::new();
    let mut rest: &[u8] = script;
    loop {
        rest =
            rest.trim_start_with(|character| character.is_ascii_whitespace() || matches!(character, ';' | '{' | '}'));
        rest = sed_address(rest);
        let Some((name, after)) = rest.split_first() else { return Some(commands) };
        match name {
            b'e' => {
                let line = after.lines().next().unwrap_or_default();
                if line.trim().is_empty() {
                    return None;
                }
                commands.push(BString::from(line.trim_start()));
                rest = after.get(line.len()..).unwrap_or_default();
            }
            b's' | b'y' => {
                let (flags, left) = sed_substitution(after)?;
                if *name == b's' && flags.contains(&b'e') {
                    return None;
                }
                rest = left;
            }
            b'a' | b'i' | b'c' | b'r' | b'w' | b'R' | b'W' | b'b' | b't' | b'T' | b':' | b'#' => {
                let line = after.lines().next().unwrap_or_default();
                let end = if matches!(name, b'b' | b't' | b'T' | b':') {
                    line.iter().position(|byte| matches!(byte, b';' | b'}')).unwrap_or(line.len())
                } else {
                    line.len()
                };
                rest = after.get(end..).unwrap_or_default();
            }
            _ => rest = after,
        }
    }
}

/// What follows the addresses before a command.
fn sed_address(mut rest: &[u8]) -> &[u8] {
    loop {
        rest = rest.trim_start();
        match rest.first() {
            Some(b'0'..=b'9' | b'$' | b',' | b'~' | b'+' | b'!' | b'I' | b'M') => {
                rest = rest.get(1..).unwrap_or_default()
            }
            Some(b'/') => rest = sed_delimited(rest.get(1..).unwrap_or_default(), b'/').unwrap_or_default(),
            Some(b'\\') => {
                let delimiter = rest.get(1).copied().unwrap_or(b'/');
                rest = sed_delimited(rest.get(2..).unwrap_or_default(), delimiter).unwrap_or_default();
            }
            _ => return rest,
        }
    }
}

/// The flags of `s/…/…/flags` and what follows.
fn sed_substitution(after: &[u8]) -> Option<(&[u8], &[u8])> {
    let (delimiter, rest) = after.split_first()?;
    let rest = sed_delimited(rest, *delimiter)?;
    let rest = sed_delimited(rest, *delimiter)?;
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    Some(rest.split_at(length))
}

fn sed_delimited(text: &[u8], delimiter: u8) -> Option<&[u8]> {
    let mut at = 0;
    let mut in_class = false;
    loop {
        match text.get(at)? {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            byte if *byte == delimiter && !in_class => return text.get(at + 1..),
            _ => {}
        }
        at += 1;
    }
}

fn tar(arguments: &[Value]) -> Option<Unwrapped> {
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else { continue };
        let mut after = others;
        if let Some(action) = long_value(word, b"--checkpoint-action", &mut after) {
            if let Some(code) = action.as_ref().and_then(Value::known).and_then(|action| action.strip_prefix(b"exec="))
            {
                commands.push(maybe("tar", Value::Known(code.into())));
            }
            rest = after;
            continue;
        }
        for option in [
            b"--to-command".as_slice(),
            b"--use-compress-program",
            b"--info-script",
            b"--new-volume-script",
            b"--rsh-command",
        ] {
            let mut after = others;
            if let Some(code) = long_value(word, option, &mut after) {
                commands.extend(code.map(|code| maybe("tar", code)));
                rest = after;
            }
        }
        if matches!(word.as_bytes(), b"-I" | b"-F") {
            commands.extend(others.first().map(|code| maybe("tar", code.clone())));
        }
    }
    if commands.is_empty() { None } else { Some(Unwrapped::Commands(commands)) }
}

fn option_code(name: &'static str, arguments: &[Value], option: &[u8]) -> Option<Unwrapped> {
    for (index, word) in arguments.iter().enumerate() {
        let mut rest = arguments.get(index + 1..).unwrap_or_default();
        if let Some(code) = word.known().and_then(|word| long_value(word, option, &mut rest)) {
            return Some(match code {
                Some(code) => Unwrapped::Commands(vec![maybe(name, code)]),
                None => Unwrapped::Nothing,
            });
        }
    }
    None
}

fn zip(arguments: &[Value]) -> Option<Unwrapped> {
    let at = arguments
        .iter()
        .position(|word| word.known().is_some_and(|word| word == "-TT" || word == "--unzip-command"))?;
    let code = arguments.get(at + 1)?.clone();
    Some(Unwrapped::Commands(vec![maybe("zip", code)]))
}

/// Lines that begin with `!` are commands for a shell.
fn ed(input: Option<&[u8]>) -> Unwrapped {
    let Some(input) = input else { return Unwrapped::Opaque("an editor whose commands are not known") };
    let mut commands = Vec::new();
    for line in input.lines() {
        if let Some(at) = line.find_byte(b'!') {
            let code = line.get(at + 1..).unwrap_or_default();
            commands.push(maybe("ed", Value::Known(code.into())));
        }
    }
    if commands.is_empty() { Unwrapped::Nothing } else { Unwrapped::Commands(commands) }
}

/// `-c '!CODE'`, `+!CODE`; other commands of the editor's language may run programs too.
fn vim(arguments: &[Value]) -> Unwrapped {
    let mut commands = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        let command = match text.as_bytes() {
            b"-c" | b"--cmd" => arguments.get(index + 1).and_then(Value::known).map(|word| word.as_bytes()),
            b"-S" | b"-s" | b"-u" => return Unwrapped::Opaque("an editor's script"),
            other => other.strip_prefix(b"+"),
        };
        let Some(command) = command else { continue };
        match command.trim_start().strip_prefix(b"!") {
            Some(code) => commands.push(maybe("vim", Value::Known(code.into()))),
            None if command.find(b"system").is_some() || command.contains(&b'!') && !command.ends_with(b"!") => {
                return Unwrapped::Opaque("an editor's command that runs programs");
            }
            None => {}
        }
    }
    if commands.is_empty() { Unwrapped::Opaque("an editor") } else { Unwrapped::Commands(commands) }
}

fn screen(arguments: &[Value]) -> Option<Unwrapped> {
    let rest = super::skip_options(arguments, &[b"-S", b"-L", b"-c", b"-e", b"-h", b"-p", b"-r", b"-s", b"-t", b"-T"]);
    if rest.is_empty() { None } else { Some(Unwrapped::one(Wrapped::words("screen", rest.to_vec()))) }
}

/// tmux runs its last operand with a shell; `send-keys` types into one.
fn tmux(arguments: &[Value]) -> Option<Unwrapped> {
    let rest = super::skip_options(arguments, &[b"-L", b"-S", b"-f", b"-c"]);
    let Some((verb, others)) = rest.split_first() else { return Some(Unwrapped::Nothing) };
    let verb = verb.known()?;
    if matches!(verb.as_bytes(), b"send-keys" | b"send") {
        let literal = others.iter().filter_map(Value::known).any(|word| word == "-l");
        return Some(typed(super::skip_options(others, &[b"-t", b"-N", b"-c"]), literal));
    }
    let operands = super::skip_options(others, &[b"-t", b"-s", b"-n", b"-c", b"-x", b"-y", b"-e", b"-l", b"-p"]);
    match verb.as_bytes() {
        b"run-shell" | b"run" | b"if-shell" | b"if" | b"respawn-pane" | b"respawnp" | b"respawn-window"
        | b"respawnw" | b"split-window" | b"splitw" | b"new-window" | b"neww" | b"new-session" | b"new"
        | b"display-popup" | b"popup" | b"pipe-pane" | b"pipep" => {
            let code: Vec<Wrapped> = operands.iter().map(|operand| maybe("tmux", operand.clone())).collect();
            Some(if code.is_empty() { Unwrapped::Nothing } else { Unwrapped::Commands(code) })
        }
        verb if TMUX_READS.split_ascii_whitespace().any(|known| known.as_bytes() == verb) => Some(Unwrapped::Nothing),
        _ => None,
    }
}

/// Commands of tmux that show, choose or end what is there (tmux 3.3).
const TMUX_READS: &str = "ls list-sessions lsw list-windows lsp list-panes lsc list-clients lscm list-commands lsk list-keys \
    capture-pane capturep has-session has attach attach-session a kill-session kill-window killw kill-pane killp \
    kill-server select-pane selectp select-window selectw rename-session rename rename-window renamew resize-pane \
    resizep resize-window resizew display-message display show-options show showb show-buffer start-server start \
    detach detach-client switch-client switchc next-window previous-window last-window swap-pane swap-window \
    show-environment showenv list-buffers lsb save-buffer saveb clear-history clearhist wait-for wait -V info";

/// Keys that `tmux send-keys` types, as the text of a shell: names of keys stand for what they write.
fn typed(operands: &[Value], literal: bool) -> Unwrapped {
    let mut keys = Vec::new();
    for operand in operands {
        match operand.known().map(|key| key.as_bytes()) {
            Some(b"Space") if !literal => keys.push(Value::Known(" ".into())),
            Some(b"Enter" | b"KPEnter" | b"C-m" | b"C-j") if !literal => keys.push(Value::Known("\n".into())),
            Some(b"C-c" | b"C-d" | b"C-z" | b"C-l" | b"C-u" | b"Escape" | b"Up" | b"Down" | b"Tab" | b"BSpace") => {
                keys.push(Value::Known("\n".into()));
            }
            Some(_) | None => keys.push(operand.clone()),
        }
    }
    if keys.is_empty() { Unwrapped::Nothing } else { Unwrapped::one(maybe("tmux", concatenated(&keys))) }
}

/// Values one behind the other, nothing between.
fn concatenated(values: &[Value]) -> Value {
    let mut known = BString::default();
    for (at, value) in values.iter().enumerate() {
        match value {
            Value::Known(text) => known.extend_from_slice(text),
            Value::Unknown(value) => {
                let rest = values.get(at + 1..).unwrap_or_default().iter().rev().map_while(Value::known);
                let suffix = rest.fold(BString::default(), |end, text| [text.as_bytes(), &end].concat().into());
                let prefix = [known.as_slice(), &value.prefix].concat().into();
                return Value::Unknown(UnknownValue { prefix, suffix, ..value.clone() });
            }
        }
    }
    Value::Known(known)
}
