//! What a host asks: one JSON event, read by the row of whoever really sent it.
//!
//! Promise: a shell call whose command cannot be read is an error and never a pass; a call of a tool
//! that neither runs commands, writes files nor reaches a server is said to be just that. Hosts call
//! each other's entries with their own payloads, so the dialect is taken from the payload; `--host` is
//! the default only.

use std::path::{Path, PathBuf};

use bstr::BString;
use serde_json::{Map, Value};

use super::table::{Host, ROWS, ShellTool, Slot, Table, ToolShell};
use super::tools;

/// One event, understood.
#[derive(Debug)]
pub struct Event<'t> {
    /// The row that it was read by, and will be answered by.
    pub host: &'t Host,
    /// The native name that the host says it fired; the declared one where it does not say.
    pub name: String,
    /// Where in a session it stands.
    pub slot: Slot,
    /// The session's id, as written; empty where there is none.
    pub session: String,
    /// What is about to happen (pre-tool), or has happened (post-tool).
    pub call: Call,
}

/// What a tool call is to us.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    /// Commands that a shell would run.
    Shell(Vec<ShellCommand>),
    /// Text typed into an open session, which is not shown to us.
    Typing {
        /// The tool.
        tool: String,
    },
    /// Files that would be written.
    Writing {
        /// The files.
        paths: Vec<PathBuf>,
        /// Every text of the tool's input, on lines of their own.
        text: BString,
    },
    /// Texts that would reach a server.
    Publishing {
        /// The tool.
        tool: String,
        /// Every string of its input.
        texts: Vec<BString>,
        /// Files that it names and does not spell out. Absolute.
        files: Vec<PathBuf>,
        /// What it runs here besides.
        commands: Vec<ShellCommand>,
    },
    /// Nothing of ours.
    Other,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its text.
    pub text: String,
    /// Where it would run, absolute; `None` where the host does not say.
    pub cwd: Option<PathBuf>,
    /// What reads it.
    pub shell: ToolShell,
}

/// Why an event is not understood. Each is a refusal.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventFault {
    /// Nothing was written to us.
    #[error("the host wrote nothing")]
    Empty,
    /// It is not JSON.
    #[error("the host's event is not JSON: {0}")]
    Malformed(String),
    /// It is JSON, but not an object.
    #[error("the host's event is JSON, but not an object")]
    NotAnObject,
    /// It is of another event than was registered.
    #[error("the host's event is {found:?}; this gate was registered for {registered:?}")]
    Mismatch {
        /// What it says.
        found: String,
        /// What `--event` says.
        registered: String,
    },
    /// The table does not know the event.
    #[error("the host's event is {0:?}, which no row of the table knows")]
    Unknown(String),
    /// It names no tool.
    #[error("the host's event names no tool")]
    NoTool,
    /// A shell call without a command that can be read.
    #[error("a call of the shell tool {tool:?} has no command that can be read")]
    NoCommand {
        /// The tool.
        tool: String,
    },
}

impl EventFault {
    /// The name of the class, as the runtime's messages give it.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Empty => "empty-input",
            Self::Malformed(_) => "malformed-json",
            Self::NotAnObject => "not-an-object",
            Self::Mismatch { .. } => "event-mismatch",
            Self::Unknown(_) => "unknown-event",
            Self::NoTool => "no-tool",
            Self::NoCommand { .. } => "no-command",
        }
    }
}

/// An event that was not understood, with the row that its refusal is to be written by; `None` where
/// no row can be guessed.
#[derive(Debug)]
pub struct Rejected<'t> {
    /// The row.
    pub host: Option<&'t Host>,
    /// The native event that the refusal names.
    pub name: String,
    /// Why.
    pub fault: EventFault,
}

impl Rejected<'_> {
    /// Whether the host says that it fired an event at which a refusal stops something.
    pub fn is_pre_tool(&self) -> bool {
        let fired = match &self.fault {
            EventFault::Mismatch { found, .. } => found,
            EventFault::Empty
            | EventFault::Malformed(_)
            | EventFault::NotAnObject
            | EventFault::Unknown(_)
            | EventFault::NoTool
            | EventFault::NoCommand { .. } => &self.name,
        };
        self.host.is_some_and(|host| host.events.slot(fired) == Some(Slot::PreTool))
    }
}

/// Reads an event. `default` is the row of `--host`, `registered` the event of `--event`.
///
/// # Errors
/// When it cannot be understood; see [`EventFault`].
pub fn read<'t>(
    bytes: &[u8],
    table: &'t Table,
    default: &'t Host,
    registered: Option<&str>,
) -> Result<Event<'t>, Rejected<'t>> {
    let first = registered.map(str::to_owned).or_else(|| default.events.pre_tool.first().cloned()).unwrap_or_default();
    match object(bytes) {
        Ok(payload) => understand(payload, table, default, registered),
        Err(fault) => Err(Rejected { host: Some(default), name: first, fault }),
    }
}

/// Reads an event that is JSON already.
///
/// # Errors
/// As [`read`].
pub fn understand<'t>(
    payload: Value,
    table: &'t Table,
    default: &'t Host,
    registered: Option<&str>,
) -> Result<Event<'t>, Rejected<'t>> {
    let host = dialect(&payload, table, default);
    let name = match named_event(&payload, host) {
        Some(found) => found,
        None => registered.map(str::to_owned).or_else(|| host.events.pre_tool.first().cloned()).unwrap_or_default(),
    };
    let Some(slot) = host.events.slot(&name) else {
        // No decision shape can be guessed for an event that nobody knows.
        return Err(Rejected { host: None, name: name.clone(), fault: EventFault::Unknown(name) });
    };
    if let Some(registered) = registered
        && host.id == default.id
        && slot != default.events.slot(registered).unwrap_or(slot)
    {
        let fault = EventFault::Mismatch { found: name.clone(), registered: registered.to_owned() };
        return Err(Rejected { host: Some(host), name: registered.to_owned(), fault });
    }
    let session = host.payload.session.iter().find_map(|path| text_at(&payload, path)).unwrap_or_default().to_owned();
    let call = match slot {
        Slot::PreTool | Slot::PostTool => {
            call(&payload, host, &name).map_err(|fault| Rejected { host: Some(host), name: name.clone(), fault })?
        }
        Slot::SessionStart
        | Slot::UserPrompt
        | Slot::Stop
        | Slot::SubagentStart
        | Slot::SubagentStop
        | Slot::PreCompact
        | Slot::SessionEnd => Call::Other,
    };
    Ok(Event { host, name, slot, session, call })
}

/// Whether a payload is that of `default` whatever the other rows say, so that those need not be read.
pub fn is_of(payload: &Value, default: &Host) -> bool {
    let has_key = |key: &str| payload.get(key).is_some();
    let text = |path: &str| text_at(payload, path).map(str::to_owned);
    if !default.recognise.is_empty() && default.recognise.iter().all(|key| has_key(key)) {
        return true;
    }
    // A tool that the row knows is its own, unless the keys are another's.
    let knows_tool = default.recognise.is_empty()
        && tool_name(payload, default).is_some_and(|tool| default.shell_tools.iter().any(|known| known.name == tool));
    !ROWS.iter().any(|row| row.id != default.id && !(knows_tool && row.has_no_keys()) && row.might_be(has_key, text))
}

/// The JSON object that an event is.
///
/// # Errors
/// When there is nothing, or something else.
pub fn object(bytes: &[u8]) -> Result<Value, EventFault> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(EventFault::Empty);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| EventFault::Malformed(error.to_string()))?;
    if value.is_object() { Ok(value) } else { Err(EventFault::NotAnObject) }
}

/// The row of whoever sent the payload.
///
/// The default row where its own keys and tools fit. Else the row whose keys only that dialect has;
/// else one that knows the tool by name (a Claude entry that VS Code or Devin calls).
fn dialect<'t>(payload: &Value, table: &'t Table, default: &'t Host) -> &'t Host {
    let has_keys =
        |host: &Host| !host.recognise.is_empty() && host.recognise.iter().all(|key| payload.get(key).is_some());
    let knows_tool = |host: &Host| {
        tool_name(payload, host).is_some_and(|tool| host.shell_tools.iter().any(|known| known.name == tool))
    };
    if has_keys(default)
        || (default.recognise.is_empty()
            && knows_tool(default)
            && !table.hosts.iter().any(&has_keys_beyond(payload, default)))
    {
        return default;
    }
    table
        .hosts
        .iter()
        .find(|host| has_keys(host))
        .or_else(|| table.hosts.iter().find(|host| host.recognise.is_empty() && knows_tool(host)))
        .unwrap_or(default)
}

/// Whether another row than `default` recognises the payload by its keys.
fn has_keys_beyond<'a>(payload: &'a Value, default: &'a Host) -> impl Fn(&Host) -> bool + 'a {
    move |host| {
        host.id != default.id
            && !host.recognise.is_empty()
            && host.recognise.iter().all(|key| payload.get(key).is_some())
    }
}

fn named_event(payload: &Value, host: &Host) -> Option<String> {
    text_at(payload, host.payload.event.as_deref()?).map(str::to_owned)
}

fn tool_name(payload: &Value, host: &Host) -> Option<String> {
    let named = host.payload.tool.as_deref().and_then(|path| text_at(payload, path));
    match named {
        Some(tool) => Some(tool.to_owned()),
        None if host.payload.tool_is_event => named_event(payload, host),
        None => None,
    }
}

fn call(payload: &Value, host: &Host, event: &str) -> Result<Call, EventFault> {
    let tool = tool_name(payload, host)
        .or_else(|| host.payload.tool_is_event.then(|| event.to_owned()))
        .ok_or(EventFault::NoTool)?;
    let input = input(payload, host);
    if let Some(shell) = host.shell_tools.iter().find(|known| known.name == tool) {
        return shell_call(payload, &input, host, shell);
    }
    if host.tools.typing.contains(&tool) {
        return Ok(Call::Typing { tool });
    }
    if host.tools.writing.contains(&tool) {
        return Ok(writing(&input));
    }
    // A tool that the row does not know and that carries a command is taken for a shell: hosts rename
    // their tools, and a silent pass would be the gate's end.
    tools::call(&tool, &input, host, directory(payload, host).as_deref())
}

/// The tool's input: an object, or a JSON string of one (older builds of some hosts).
fn input(payload: &Value, host: &Host) -> Value {
    match at(payload, &host.payload.input) {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(value) => value.clone(),
        None => Value::Object(Map::new()),
    }
}

fn shell_call(payload: &Value, input: &Value, host: &Host, tool: &ShellTool) -> Result<Call, EventFault> {
    let unreadable = || EventFault::NoCommand { tool: tool.name.clone() };
    let found = match tool.command.strip_prefix('/') {
        Some(path) => at(payload, path),
        None => at(input, &tool.command),
    };
    let texts = commands(found.ok_or_else(unreadable)?).ok_or_else(unreadable)?;
    let cwd = directory(payload, host);
    Ok(Call::Shell(texts.into_iter().map(|text| ShellCommand { text, cwd: cwd.clone(), shell: tool.shell }).collect()))
}

/// One text, or a list of texts (each a command of its own), none of them empty of everything. A list that may be the
/// words of one command is read as that as well.
pub(super) fn commands(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            // A list that arrives as a JSON string.
            Ok(Value::Array(list))
                if text.trim_start().starts_with('[') && list.iter().all(Value::is_string) && !list.is_empty() =>
            {
                commands(&Value::Array(list))
            }
            _ => Some(vec![text.clone()]),
        },
        Value::Array(list) if !list.is_empty() => {
            let texts = list.iter().map(|entry| entry.as_str().or_else(|| entry.get("command")?.as_str()));
            let mut texts: Vec<String> = texts.map(|text| text.map(str::to_owned)).collect::<Option<_>>()?;
            let is_program = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
            if texts.len() > 1
                && list.iter().all(Value::is_string)
                && texts.first().is_some_and(|text| is_program(text))
            {
                texts.push(shell_words::join(&texts));
            }
            Some(texts)
        }
        _ => None,
    }
}

/// The call's directory: the first that is there; a relative one starts from the session's root.
fn directory(payload: &Value, host: &Host) -> Option<PathBuf> {
    let root = host
        .payload
        .root
        .iter()
        .filter_map(|path| text_at(payload, path))
        .find(|text| !text.is_empty())
        .map(PathBuf::from);
    let named = host
        .payload
        .cwd
        .iter()
        .filter_map(|path| text_at(payload, path))
        .find(|text| !text.is_empty())
        .map(PathBuf::from);
    match (named, root) {
        (Some(named), _) if named.is_absolute() => Some(named),
        (Some(named), Some(root)) => Some(root.join(named)),
        (None, Some(root)) => Some(root),
        (Some(_), None) | (None, None) => None,
    }
    .filter(|path| path.is_absolute())
}

/// Files that a tool writes, and what it is given for them.
pub(super) fn writing(input: &Value) -> Call {
    let mut texts = Vec::new();
    tools::collect_texts(input, &mut texts);
    Call::Writing { paths: paths(input), text: bstr::join("\n", texts).into() }
}

/// Every string below a key that says it is a path.
pub(super) fn paths(input: &Value) -> Vec<PathBuf> {
    let mut texts = Vec::new();
    collect_paths(input, &mut texts);
    texts.sort();
    texts.dedup();
    texts
}

fn collect_paths(value: &Value, found: &mut Vec<PathBuf>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.to_lowercase();
                match value.as_str() {
                    Some(text) if key.contains("path") || key.contains("file") || key == "target" => {
                        found.push(PathBuf::from(text))
                    }
                    // A patch names its files in its own headers.
                    Some(text) => found.extend(patched(text)),
                    None => collect_paths(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_paths(value, found)),
        Value::String(text) => found.extend(patched(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Files named by the headers of a patch (`*** Update File: …`, `+++ b/…`).
fn patched(text: &str) -> impl Iterator<Item = PathBuf> + '_ {
    text.lines().filter_map(|line| {
        let named = line
            .strip_prefix("*** Update File: ")
            .or_else(|| line.strip_prefix("*** Add File: "))
            .or_else(|| line.strip_prefix("*** Delete File: "))
            .or_else(|| line.strip_prefix("*** Move to: "))
            .or_else(|| line.strip_prefix("+++ b/"))
            .or_else(|| line.strip_prefix("+++ "))?;
        Some(Path::new(named.trim()).to_owned())
    })
}

/// The value at a path of own keys; a number is a place in an array.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        Value::Object(map) => map.get(key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn text_at<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    at(value, path)?.as_str()
}
