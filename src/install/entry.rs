//! What a host's entry is made of, from its row alone: which events, which words, in which structure.
//!
//! Promise: what is written names this program by its absolute path, its own deadline lies well inside
//! the timeout that is written beside it, and that timeout is in the row's own unit. Putting it into a
//! file is [`super::hosts`]'s.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::host::table::{EntryForm, EntryShape, FailPolicy, Host, Slot, TimeUnit};

/// How long a host is told to wait.
pub const TIMEOUT_SECONDS: u64 = 60;

/// How long it is told to wait for what can refuse nothing.
const PROBE_TIMEOUT_SECONDS: u64 = 10;

/// What stands around a call where the host lets a command run when its hook is gone, dies or is late: a shell of
/// our own, since the host's may be any, which ends as a refusal for whatever it could not start, and for what gives
/// no answer, where the system has coreutils' `timeout` (macOS has none).
fn guard() -> String {
    let late = within(LATE_SECONDS, r#""$0" "$@""#);
    format!(
        r#"{late}; "$@" || {{ [ $? -eq 2 ] || echo "tyran: refused (installation). It could not be run, died or gave no answer; run tyran doctor" >&2; exit 2; }}"#
    )
}

/// Sets a shell's words to a call that is killed after some seconds. The program that does so is named by its path:
/// another one on PATH could end as if all were well.
pub fn within(seconds: u64, call: &str) -> String {
    format!("set -- {call}; [ ! -x /usr/bin/timeout ] || set -- /usr/bin/timeout -s KILL {seconds} \"$@\"")
}

/// When the gate gives up by itself, where the host was told how long to wait. Elsewhere the gate's own
/// default holds, which lies inside the shortest default that is known.
const DEADLINE_SECONDS: u64 = 50;

/// When a gate that did not is killed: before the host stops waiting.
const LATE_SECONDS: u64 = 55;

/// How a call of ours is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Program and arguments.
    Words(Vec<String>),
    /// One line for a shell.
    Line(String),
}

/// A call of ours found in a file, with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The event.
    pub event: String,
    /// The matcher; `None` where there is none.
    pub matcher: Option<String>,
    /// The innermost object.
    pub leaf: Value,
    /// The call.
    pub call: Call,
}

/// A value, and the list that it belongs into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// Keys from the outermost object to the list.
    pub path: Vec<String>,
    /// The value.
    pub element: Value,
}

/// The words of a call for an event, the program first.
pub fn words(host: &Host, event: &str, program: &Path) -> Vec<String> {
    let mut words: Vec<String> =
        [&program.to_string_lossy(), "gate", "--host", &host.id, "--event", event].map(str::to_owned).into();
    if waits(host) && can_refuse(host, event) {
        words.extend(["--deadline".to_owned(), DEADLINE_SECONDS.to_string()]);
    }
    words
}

fn can_refuse(host: &Host, event: &str) -> bool {
    host.events.slot(event).is_some_and(Slot::can_refuse)
}

/// One line for a shell that makes the call, guarded where the host itself would let the command run when
/// the program is missing, dies or is late.
pub fn guarded(host: &Host, event: &str, program: &Path) -> String {
    let words = words(host, event, program);
    let is_open = match host.failure.policy {
        FailPolicy::Open => host.failure.switch_key.is_none(),
        FailPolicy::ClosedButTimeout => true,
        FailPolicy::Closed | FailPolicy::Plugin => false,
    };
    if is_open && host.entry.form == EntryForm::Shell && can_refuse(host, event) {
        format!("/bin/sh -c '{}' {}", guard(), line(&words))
    } else {
        line(&words)
    }
}

/// Whether the entry says how long to wait: a field of ours, or a timer in our own module.
fn waits(host: &Host) -> bool {
    match host.entry.shape {
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::Kiro
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Vibe => timeout(host, Slot::PreTool).is_some(),
        EntryShape::Plugin | EntryShape::AmpPlugin => true,
        EntryShape::Windsurf | EntryShape::Script => false,
    }
}

/// The timeout in the row's unit; `None` where it has none, or it is not established what a number
/// would mean.
pub fn timeout(host: &Host, slot: Slot) -> Option<u64> {
    let seconds = if slot.can_refuse() { TIMEOUT_SECONDS } else { PROBE_TIMEOUT_SECONDS };
    match host.timeout.unit {
        TimeUnit::Seconds => Some(seconds),
        TimeUnit::Milliseconds => Some(seconds * 1000),
        TimeUnit::None | TimeUnit::Unknown => None,
    }
}

/// One line for sh.
pub fn line(words: &[String]) -> String {
    shell_words::join(words)
}

/// The matcher that an event's entry takes.
pub fn matcher<'h>(host: &'h Host, event: &str, slot: Slot) -> Option<&'h str> {
    let named = &host.entry.matcher_events;
    let takes = match slot {
        Slot::PreTool | Slot::PostTool => named.is_empty() || named.iter().any(|known| known == event),
        Slot::SessionStart
        | Slot::UserPrompt
        | Slot::Stop
        | Slot::SubagentStart
        | Slot::SubagentStop
        | Slot::PreCompact
        | Slot::SessionEnd => false,
    };
    host.entry.matcher.as_deref().filter(|_| takes)
}

/// The key that makes a crashed hook refuse, and its value.
pub fn switch(host: &Host) -> Option<(&str, Value)> {
    let (key, text) = (host.failure.switch_key.as_deref()?, host.failure.switch_value.as_deref()?);
    Some((key, if text == "true" { Value::Bool(true) } else { Value::from(text) }))
}

/// What a JSON file of the row's structure gets, in order; empty where the file is not JSON.
pub fn additions(host: &Host, program: &Path) -> Vec<Addition> {
    host.registered().into_iter().filter_map(|(event, slot)| addition(host, event, slot, program)).collect()
}

/// The tables that a TOML file of the row's structure gets, in order; empty where the file is not TOML.
pub fn leaves(host: &Host, program: &Path) -> Vec<Value> {
    if event_key(host.entry.shape).is_none() {
        return Vec::new();
    }
    host.registered().into_iter().map(|(event, slot)| leaf(host, event, slot, program)).collect()
}

/// The key under which a table of a TOML file names its event.
pub const fn event_key(shape: EntryShape) -> Option<&'static str> {
    match shape {
        EntryShape::Vibe => Some("type"),
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::Kiro
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Windsurf
        | EntryShape::Script
        | EntryShape::Plugin
        | EntryShape::AmpPlugin => None,
    }
}

fn addition(host: &Host, event: &str, slot: Slot, program: &Path) -> Option<Addition> {
    let matcher = matcher(host, event, slot);
    let leaf = leaf(host, event, slot, program);
    let at = |path: &[&str], element: Value| {
        Some(Addition { path: path.iter().map(|key| (*key).to_owned()).collect(), element })
    };
    match host.entry.shape {
        EntryShape::Claude | EntryShape::Goose => at(&["hooks", event], group(matcher, leaf)),
        EntryShape::Root => at(&[event], group(matcher, leaf)),
        EntryShape::Antigravity => at(&["tyran", event], group(matcher, leaf)),
        EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::KiroAgent
        | EntryShape::Windsurf => at(&["hooks", event], leaf),
        EntryShape::Kiro => at(&["hooks"], leaf),
        EntryShape::Vibe | EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => None,
    }
}

fn group(matcher: Option<&str>, leaf: Value) -> Value {
    let mut group = Map::new();
    if let Some(matcher) = matcher {
        group.insert("matcher".to_owned(), matcher.into());
    }
    group.insert("hooks".to_owned(), Value::Array(vec![leaf]));
    Value::Object(group)
}

/// The innermost object.
fn leaf(host: &Host, event: &str, slot: Slot, program: &Path) -> Value {
    let words = words(host, event, program);
    let line = guarded(host, event, program);
    let matcher = matcher(host, event, slot);
    let mut leaf = Map::new();
    let mut put = |key: &str, value: Value| {
        leaf.insert(key.to_owned(), value);
    };
    let mut put_timeout = "timeout";
    match host.entry.shape {
        EntryShape::Claude | EntryShape::Goose | EntryShape::Root | EntryShape::Antigravity | EntryShape::Flat => {
            put("type", "command".into());
            match host.entry.form {
                EntryForm::Exec => {
                    put("command", words.first().cloned().unwrap_or_default().into());
                    put("args", words.get(1..).unwrap_or_default().into());
                }
                EntryForm::Shell | EntryForm::Script | EntryForm::Plugin => put("command", line.into()),
            }
        }
        EntryShape::Copilot => {
            put("type", "command".into());
            put("bash", line.into());
            put_timeout = "timeoutSec";
        }
        EntryShape::Cursor | EntryShape::KiroAgent => {
            put("command", line.into());
            if let Some(matcher) = matcher {
                put("matcher", matcher.into());
            }
        }
        EntryShape::Crush => {
            put("name", "tyran".into());
            if let Some(matcher) = matcher {
                put("matcher", matcher.into());
            }
            put("command", line.into());
        }
        EntryShape::Kiro => {
            put("name", format!("tyran {event}").into());
            put("trigger", event.into());
            if let Some(matcher) = matcher {
                put("matcher", matcher.into());
            }
            put("action", json!({"type": "command", "command": line}));
            put("enabled", true.into());
        }
        EntryShape::Windsurf => {
            put("command", line.into());
            put("show_output", true.into());
        }
        EntryShape::Vibe => {
            put("name", format!("tyran {event}").into());
            put("type", event.into());
            if let Some(matcher) = matcher {
                put("match", matcher.into());
            }
            put("command", line.into());
        }
        EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => {}
    }
    if host.entry.shape == EntryShape::KiroAgent {
        put("cache_ttl_seconds", 0.into());
        put_timeout = "timeout_ms";
    }
    if let Some(timeout) = timeout(host, slot).filter(|_| waits(host)) {
        put(put_timeout, timeout.into());
    }
    if let Some((key, value)) = switch(host).filter(|_| slot.can_refuse()) {
        put(key, value);
    }
    Value::Object(leaf)
}

/// A member that the outermost object of a structure must have.
pub fn version(shape: EntryShape) -> Option<(&'static str, Value)> {
    match shape {
        EntryShape::Cursor | EntryShape::Copilot => Some(("version", 1.into())),
        EntryShape::Kiro => Some(("version", "v1".into())),
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Windsurf
        | EntryShape::Vibe
        | EntryShape::Script
        | EntryShape::Plugin
        | EntryShape::AmpPlugin => None,
    }
}

/// A file that must stand beside the entry's: where, from the entry's file, and its text.
pub fn beside(host: &Host, file: &Path) -> Option<(PathBuf, String)> {
    if host.entry.shape != EntryShape::Goose {
        return None;
    }
    let text = json!({
        "name": "tyran",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Reads every byte a git publish would send, before it leaves",
    });
    Some((file.parent()?.parent()?.join("plugin.json"), format!("{text:#}\n")))
}

/// Whether an innermost object is a call of ours for this host.
pub fn is_ours(host: &Host, leaf: &Value) -> bool {
    call_of(leaf).is_some_and(|call| call.option("--host").as_deref() == Some(host.id.as_str()))
}

/// Whether an innermost object is a call of ours for whatever host.
pub fn is_a_gate(leaf: &Value) -> bool {
    call_of(leaf).is_some_and(|call| call.option("--host").is_some())
}

fn call_of(leaf: &Value) -> Option<Call> {
    let text = |key: &str| leaf.get(key).and_then(Value::as_str);
    let line = text("command").or_else(|| text("bash")).or_else(|| leaf.pointer("/action/command")?.as_str())?;
    match leaf.get("args").and_then(Value::as_array) {
        Some(args) => {
            let args = args.iter().filter_map(|word| word.as_str().map(str::to_owned));
            Some(Call::Words(std::iter::once(line.to_owned()).chain(args).collect()))
        }
        None => Some(Call::Line(line.to_owned())),
    }
}

impl Call {
    /// The words, as a shell without variables would split them; none where it could not.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Words(words) => words.clone(),
            Self::Line(line) => shell_words::split(line).unwrap_or_default(),
        }
    }

    /// What an option of the gate says, in one word or two; `None` where the gate is not called, or without it.
    pub fn option(&self, name: &str) -> Option<String> {
        let words = self.words();
        let mut words = words.iter().skip_while(|word| *word != "gate").skip(1);
        while let Some(word) = words.next() {
            if word == name {
                return words.next().cloned();
            }
            if let Some(value) = word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
                return Some(value.to_owned());
            }
        }
        None
    }

    /// The program of ours that is called in the end.
    pub fn program(&self) -> Option<String> {
        let words = self.words();
        let gate = words.iter().position(|word| word == "gate")?;
        words.get(gate.checked_sub(1)?).cloned()
    }

    /// How it is started: program and arguments.
    pub fn start(&self) -> (PathBuf, Vec<OsString>) {
        match self {
            Self::Words(words) => {
                let program = words.first().map(PathBuf::from).unwrap_or_default();
                (program, words.iter().skip(1).map(OsString::from).collect())
            }
            Self::Line(line) => ("/bin/sh".into(), vec!["-c".into(), line.into()]),
        }
    }
}

/// Every call of ours for the host in a JSON file's value, under the events that the row registers.
pub fn found(host: &Host, value: &Value) -> Vec<Found> {
    let mut all = Vec::new();
    for (event, _) in host.registered() {
        let list = match host.entry.shape {
            EntryShape::Claude
            | EntryShape::Goose
            | EntryShape::Flat
            | EntryShape::Cursor
            | EntryShape::Copilot
            | EntryShape::Crush
            | EntryShape::KiroAgent
            | EntryShape::Windsurf => value.get("hooks").and_then(|hooks| hooks.get(event)),
            EntryShape::Root => value.get(event),
            EntryShape::Antigravity => value.get("tyran").and_then(|hooks| hooks.get(event)),
            EntryShape::Kiro => value.get("hooks"),
            EntryShape::Vibe | EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => None,
        };
        for element in list.and_then(Value::as_array).into_iter().flatten() {
            let is_of_event = host.entry.shape != EntryShape::Kiro
                || (element.get("trigger").and_then(Value::as_str) == Some(event)
                    && element.get("enabled") != Some(&Value::Bool(false)));
            let leaves = match element.get("hooks").and_then(Value::as_array) {
                Some(leaves) => leaves.iter().collect(),
                None => vec![element],
            };
            let matcher = element.get("matcher").and_then(Value::as_str).map(str::to_owned);
            all.extend(leaves.into_iter().filter(|leaf| is_of_event && is_ours(host, leaf)).filter_map(|leaf| {
                Some(Found {
                    event: event.to_owned(),
                    matcher: matcher.clone(),
                    leaf: leaf.clone(),
                    call: call_of(leaf)?,
                })
            }));
        }
    }
    all
}
