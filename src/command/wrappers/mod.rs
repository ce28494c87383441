//! Programs that run a program given to them: what they take, where it begins, what they change.
//!
//! Promise: for every program of the tables, what it would run comes out as a command of its own, or
//! the answer is [`Unwrapped::Opaque`]. Nothing here looks at the machine; the walk applies directory
//! and environment. Code that hides in the arguments of other programs (`awk`, `sed`, `tar` …) is
//! [`code`]'s.

mod code;
mod many;
mod table;
mod written;

pub(super) use many::{found_below, search_for_names};
pub(super) use written::{Written, written};

use std::ffi::OsString;

use bstr::{BStr, BString, ByteSlice};

use super::shell::arguments::Options;
use super::shell::builtin::{SplitFirst, joined_words};
use super::simple::{Certainty, EnvChange, Stdin, UnknownValue, Value, to_os_string};

/// What a wrapper does with its arguments.
#[derive(Debug)]
pub(super) enum Unwrapped {
    /// It runs nothing.
    Nothing,
    /// What it runs cannot be known, and why.
    Opaque(&'static str),
    /// It runs these.
    Commands(Vec<Wrapped>),
}

/// What a wrapper reads as its input.
#[derive(Debug, Default)]
pub(super) struct Fed {
    /// All of it, when it is known.
    pub text: Option<Vec<u8>>,
    /// How each name in it begins, where no more is known.
    pub prefix: BString,
}

/// One command that a wrapper runs.
#[derive(Debug)]
pub(super) struct Wrapped {
    /// The wrapper, for people.
    pub name: &'static str,
    /// The program and its arguments, when no shell is between.
    pub words: Vec<Value>,
    /// A command line for a shell, instead.
    pub code: Option<Value>,
    /// The user it becomes, when it leaves that user's environment in place of the caller's.
    pub user: Option<Value>,
    /// What it changes in the environment.
    pub env: Vec<(OsString, EnvChange)>,
    /// Whether it empties the environment first.
    pub clears_environment: bool,
    /// Where it runs, relative to the caller's directory.
    pub dir: Option<Value>,
    /// What it reads, when that is not the caller's input.
    pub stdin: Option<Stdin>,
    /// Whether it runs whenever the wrapper does.
    pub certainty: Certainty,
}

impl Wrapped {
    fn words(name: &'static str, words: Vec<Value>) -> Self {
        Self {
            name,
            words,
            code: None,
            user: None,
            env: Vec::new(),
            clears_environment: false,
            dir: None,
            stdin: None,
            certainty: Certainty::Always,
        }
    }

    fn code(name: &'static str, code: Value) -> Self {
        Self { code: Some(code), ..Self::words(name, Vec::new()) }
    }
}

impl Unwrapped {
    fn one(wrapped: Wrapped) -> Self {
        if wrapped.words.is_empty() && wrapped.code.is_none() { Self::Nothing } else { Self::Commands(vec![wrapped]) }
    }
}

/// Whether a program of this name is in the tables.
pub(super) fn is_wrapper(base: &BStr) -> bool {
    table::simple(base).is_some() || is_special(base) || code::takes_code(base)
}

/// Whether what it runs depends on what it reads.
pub(super) fn reads_input(base: &BStr) -> bool {
    matches!(base.as_bytes(), b"xargs" | b"gxargs" | b"parallel" | b"ed" | b"at" | b"batch" | b"crontab" | b"sed")
}

fn is_special(base: &BStr) -> bool {
    matches!(
        base.as_bytes(),
        b"env"
            | b"genv"
            | b"sudo"
            | b"doas"
            | b"su"
            | b"runuser"
            | b"chroot"
            | b"flock"
            | b"xargs"
            | b"gxargs"
            | b"find"
            | b"gfind"
            | b"fd"
            | b"fdfind"
            | b"parallel"
            | b"watch"
            | b"script"
            | b"ssh"
            | b"start-stop-daemon"
            | b"busybox"
            | b"toybox"
            | b"at"
            | b"batch"
            | b"crontab"
    )
}

/// What `base` with these arguments runs; `None` when it is no wrapper. `input` is what it reads, as far as
/// that is known.
pub(super) fn unwrap(base: &BStr, arguments: &[Value], input: &Fed) -> Option<Unwrapped> {
    if let Some(row) = table::simple(base) {
        return table::unwrap(row, arguments);
    }
    Some(match base.as_bytes() {
        b"env" | b"genv" => env(arguments),
        b"sudo" => sudo(arguments),
        b"doas" => doas(arguments),
        b"su" => switch_user("su", arguments),
        b"runuser" => switch_user("runuser", arguments),
        b"chroot" => chroot(arguments),
        b"flock" => flock(arguments),
        b"xargs" | b"gxargs" => many::xargs(arguments, input),
        b"find" | b"gfind" => many::find(arguments),
        b"fd" | b"fdfind" => many::fd(arguments),
        b"parallel" => many::parallel(arguments, input),
        b"watch" => watch(arguments),
        b"script" => script(arguments),
        b"ssh" => ssh(arguments),
        b"start-stop-daemon" => start_stop_daemon(arguments),
        b"busybox" | b"toybox" => Unwrapped::one(Wrapped::words("busybox", arguments.to_vec())),
        b"at" | b"batch" => scheduled(input.text.as_deref()),
        b"crontab" => crontab(arguments),
        _ => return code::unwrap(base, arguments, input.text.as_deref()),
    })
}

/// An option's value, in the same word after `=` or in the next word.
fn long_value(word: &BStr, name: &[u8], rest: &mut &[Value]) -> Option<Option<Value>> {
    let after = word.strip_prefix(name)?;
    if let Some(value) = after.strip_prefix(b"=") {
        return Some(Some(Value::Known(value.into())));
    }
    if !after.is_empty() {
        return None;
    }
    let value = rest.first().cloned();
    *rest = rest.get(1..).unwrap_or_default();
    Some(value)
}

/// `NAME=VALUE` words before a command.
fn assignment(word: &Value) -> Option<(OsString, EnvChange)> {
    match word {
        Value::Known(text) => {
            let (name, value) = text.as_bstr().split_once_str(b"=")?;
            (!name.is_empty()).then(|| (to_os_string(name), EnvChange::Set(to_os_string(value))))
        }
        Value::Unknown(value) => {
            let (name, _) = value.prefix.as_bstr().split_once_str(b"=")?;
            (!name.is_empty() && !value.many).then(|| (to_os_string(name), EnvChange::Unknown(value.why.clone())))
        }
    }
}

fn env(arguments: &[Value]) -> Unwrapped {
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

/// Short options of sudo that take a value (sudo 1.9).
const SUDO_VALUES: &[u8] = b"ugChpRrtTUD";

fn sudo(arguments: &[Value]) -> Unwrapped {
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

fn doas(arguments: &[Value]) -> Unwrapped {
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
fn switch_user(name: &'static str, arguments: &[Value]) -> Unwrapped {
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

fn chroot(arguments: &[Value]) -> Unwrapped {
    let mut rest = arguments;
    while rest.first().and_then(Value::known).is_some_and(|word| word.starts_with(b"-") && word.len() > 1) {
        rest = rest.get(1..).unwrap_or_default();
    }
    let Some((root, words)) = rest.split_first() else { return Unwrapped::Nothing };
    let mut wrapped = Wrapped::words("chroot", words.to_vec());
    let same = root.known().is_some_and(|root| root == "/");
    wrapped.dir = Some(if same { Value::Known("/".into()) } else { unknown("a directory in another root") });
    Unwrapped::one(wrapped)
}

fn flock(arguments: &[Value]) -> Unwrapped {
    let mut rest = skip_options(arguments, &[b"-w", b"-E", b"--timeout", b"--wait", b"--conflict-exit-code"]);
    rest = rest.get(1..).unwrap_or_default();
    let code = rest.first().and_then(Value::known).is_some_and(|word| word == "-c" || word == "--command");
    if code {
        return match rest.get(1) {
            Some(code) => Unwrapped::one(Wrapped::code("flock", code.clone())),
            None => Unwrapped::Nothing,
        };
    }
    Unwrapped::one(Wrapped::words("flock", rest.to_vec()))
}

fn watch(arguments: &[Value]) -> Unwrapped {
    let executes = arguments.iter().filter_map(Value::known).any(|word| word == "-x" || word == "--exec");
    let rest = skip_options(arguments, &[b"-n", b"--interval", b"-q", b"--equexit", b"-s", b"--shotsdir"]);
    if executes {
        return Unwrapped::one(Wrapped::words("watch", rest.to_vec()));
    }
    if rest.is_empty() { Unwrapped::Nothing } else { Unwrapped::one(Wrapped::code("watch", joined_words(rest))) }
}

/// `script -c CODE FILE`, BSD's `script FILE PROGRAM …`.
fn script(arguments: &[Value]) -> Unwrapped {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let Some(word) = first.known() else { break };
        let mut after = others;
        if word.starts_with(b"--") {
            if let Some(code) = long_value(word, b"--command", &mut after) {
                return Unwrapped::one(Wrapped::code("script", code.unwrap_or_else(|| unknown("missing code"))));
            }
            rest = others;
            continue;
        }
        if word.len() > 1 && word.starts_with(b"-") {
            if word.ends_with(b"c") {
                return match others.first() {
                    Some(code) => Unwrapped::one(Wrapped::code("script", code.clone())),
                    None => Unwrapped::Nothing,
                };
            }
            let takes_value = word.last().is_some_and(|letter| b"EmoOTBIt".contains(letter)) && word.len() == 2;
            rest = if takes_value { others.get(1..).unwrap_or_default() } else { others };
            continue;
        }
        break;
    }
    Unwrapped::one(Wrapped::words("script", rest.get(1..).unwrap_or_default().to_vec()))
}

/// The other machine's commands are walked as if they ran here: that lists more, never less.
fn ssh(arguments: &[Value]) -> Unwrapped {
    let options = Options::read(arguments, b"BbcDEeFIiJLlmOopPQRSWw");
    let Some((_, command)) = options.operands.split_first() else { return Unwrapped::Nothing };
    if command.is_empty() {
        return Unwrapped::Nothing;
    }
    let mut wrapped = Wrapped::code("ssh", joined_words(command));
    wrapped.certainty = Certainty::Maybe;
    Unwrapped::one(wrapped)
}

fn start_stop_daemon(arguments: &[Value]) -> Unwrapped {
    let mut words = Vec::new();
    let mut dir = None;
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else { continue };
        let mut after = others;
        if word == "--" {
            break;
        }
        if matches!(word.as_bytes(), b"-x" | b"-a") {
            words = others.first().cloned().into_iter().collect();
            rest = others.get(1..).unwrap_or_default();
        } else if word == "-d" {
            dir = others.first().cloned();
            rest = others.get(1..).unwrap_or_default();
        } else if let Some(program) =
            long_value(word, b"--exec", &mut after).or_else(|| long_value(word, b"--startas", &mut after))
        {
            words = program.into_iter().collect();
            rest = after;
        } else if let Some(value) = long_value(word, b"--chdir", &mut after) {
            dir = value;
            rest = after;
        }
    }
    if words.is_empty() {
        return Unwrapped::Nothing;
    }
    words.extend_from_slice(rest);
    let mut wrapped = Wrapped::words("start-stop-daemon", words);
    wrapped.dir = Some(dir.unwrap_or_else(|| Value::Known("/".into())));
    Unwrapped::one(wrapped)
}

/// `at` runs its input later, here.
fn scheduled(input: Option<&[u8]>) -> Unwrapped {
    match input {
        Some(code) => {
            let mut wrapped = Wrapped::code("at", Value::Known(code.into()));
            wrapped.certainty = Certainty::Maybe;
            Unwrapped::one(wrapped)
        }
        None => Unwrapped::Opaque("a command to be run later"),
    }
}

fn crontab(arguments: &[Value]) -> Unwrapped {
    let lists = arguments.iter().filter_map(Value::known).any(|word| word == "-l" || word == "-r");
    if lists { Unwrapped::Nothing } else { Unwrapped::Opaque("commands to be run later by cron") }
}

/// What follows the options; those named take the next word as their value.
fn skip_options<'a>(arguments: &'a [Value], with_value: &[&[u8]]) -> &'a [Value] {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        let Some(word) = first.known() else { break };
        if word == "--" {
            return others;
        }
        if word.len() < 2 || !word.starts_with(b"-") {
            break;
        }
        let takes_value = with_value.iter().any(|option| word == *option);
        rest = if takes_value { others.get(1..).unwrap_or_default() } else { others };
    }
    rest
}

fn unknown(why: &'static str) -> Value {
    Value::Unknown(UnknownValue {
        why: why.into(),
        span: 0..0,
        prefix: BString::default(),
        suffix: BString::default(),
        many: false,
    })
}
