//! Programs that run a program given to them: what they take, where it begins, what they change.
//!
//! Promise: for every program of the tables, what it would run comes out as a command of its own, or
//! the answer is [`Unwrapped::Opaque`]. Nothing here looks at the machine; the walk applies directory
//! and environment. Code that hides in the arguments of other programs (`awk`, `sed`, `tar` …) is
//! [`code`]'s.

mod code;
mod environment;
mod many;
mod table;
mod users;
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
        b"env" | b"genv" => environment::env(arguments),
        b"sudo" => users::sudo(arguments),
        b"doas" => users::doas(arguments),
        b"su" => users::switch_user("su", arguments),
        b"runuser" => users::switch_user("runuser", arguments),
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
        between: BString::default(),
        why: why.into(),
        span: 0..0,
        prefix: BString::default(),
        suffix: BString::default(),
        many: false,
    })
}
