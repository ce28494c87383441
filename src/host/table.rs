//! The host table: one row per (host, surface), data only.
//!
//! Promise: an unknown key, a missing one, a word outside its closed list, a row twice, or a table
//! without rows is an error. Order of slots and events is kept as written. When code would have to
//! ask which host it is, a column is missing here.

use std::collections::BTreeMap;

use serde::Deserialize;

pub use super::table_entry::{Beside, Entry, EntryForm, EntryShape, Extra, Matching, Off, OffWord};

/// The table as it is compiled in.
pub const TEXT: &str = include_str!("hosts.toml");

include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// A row as it was prepared when the program was built, since reading the whole table would cost a gate
/// more than all else it does for a command that publishes nothing.
pub struct Prepared {
    /// Its id.
    pub id: &'static str,
    recognise: &'static [&'static str],
    tool: &'static str,
    shells: &'static [&'static str],
    json: &'static str,
}

/// The only version of the table that this program reads.
const SCHEMA_VERSION: u32 = 1;

/// All rows, in the order in which dialects are tried.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    schema_version: u32,
    /// The rows.
    pub hosts: Vec<Host>,
}

/// One host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What `--host` takes.
    pub id: String,
    /// `any` unless a surface of it was measured to differ.
    pub surface: String,
    /// Its name for people.
    pub product: String,
    /// The oldest version for which the row holds, where that is known.
    pub min_version: Option<String>,
    /// What lives on between two calls of its shell tool.
    pub shell_state: ShellState,
    /// Keys at the top of a payload which, all together, only this host's dialect has; empty where the
    /// payload looks like another's.
    pub recognise: Vec<String>,
    /// Native event names.
    pub events: Events,
    /// Where things are in a payload.
    pub payload: PayloadPaths,
    /// Tools that run commands.
    pub shell_tools: Vec<ShellTool>,
    /// Other tools that matter.
    pub tools: Tools,
    /// How a refusal is said so that it holds.
    pub refuse: RefuseBy,
    /// How a question is asked, and at which events it is.
    pub ask: AskBy,
    /// What passing looks like.
    pub pass: PassBy,
    /// What the host does when a hook fails.
    pub failure: Failure,
    /// How it counts its own timeout.
    pub timeout: Timeout,
    /// What `setup` writes, and where.
    pub entry: Entry,
    /// How long an answer may be.
    pub limit: Limit,
    /// Variables that its tool's shell has and our hook does not.
    #[serde(default)]
    pub tool_env: BTreeMap<String, String>,
    /// What was established, how and until when.
    pub verified: Verified,
}

/// What lives on between two calls of a shell tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellState {
    /// Nothing: each call is a new shell.
    Fresh,
    /// The directory.
    Cwd,
    /// Everything: functions, variables, exports.
    Full,
    /// Not established; taken as everything.
    Unknown,
}

/// Native event names by slot, in the order in which the host fires them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// A session begins.
    pub session_start: Vec<String>,
    /// A person wrote something.
    pub user_prompt: Vec<String>,
    /// A tool is about to run: the only slot that can refuse.
    pub pre_tool: Vec<String>,
    /// A tool has run.
    pub post_tool: Vec<String>,
    /// The agent is about to stop.
    pub stop: Vec<String>,
    /// A sub-agent begins.
    pub subagent_start: Vec<String>,
    /// A sub-agent is about to stop.
    pub subagent_stop: Vec<String>,
    /// The context is about to be compacted.
    pub pre_compact: Vec<String>,
    /// A session ends.
    pub session_end: Vec<String>,
    /// Events that the host knows besides, none of which is ours to use.
    #[serde(default)]
    pub other: Vec<String>,
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A session begins.
    SessionStart,
    /// A person wrote something.
    UserPrompt,
    /// A tool is about to run.
    PreTool,
    /// A tool has run.
    PostTool,
    /// The agent is about to stop.
    Stop,
    /// A sub-agent begins.
    SubagentStart,
    /// A sub-agent is about to stop.
    SubagentStop,
    /// The context is about to be compacted.
    PreCompact,
    /// A session ends.
    SessionEnd,
}

impl Slot {
    /// All slots, in the order of a session.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::UserPrompt,
        Self::PreTool,
        Self::PostTool,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// Whether a gate may stand there: only there can a refusal stop anything that we judge.
    pub const fn can_refuse(self) -> bool {
        match self {
            Self::PreTool => true,
            Self::SessionStart
            | Self::UserPrompt
            | Self::PostTool
            | Self::Stop
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::PreCompact
            | Self::SessionEnd => false,
        }
    }
}

impl Events {
    /// The native names of a slot.
    pub fn of(&self, slot: Slot) -> &[String] {
        match slot {
            Slot::SessionStart => &self.session_start,
            Slot::UserPrompt => &self.user_prompt,
            Slot::PreTool => &self.pre_tool,
            Slot::PostTool => &self.post_tool,
            Slot::Stop => &self.stop,
            Slot::SubagentStart => &self.subagent_start,
            Slot::SubagentStop => &self.subagent_stop,
            Slot::PreCompact => &self.pre_compact,
            Slot::SessionEnd => &self.session_end,
        }
    }

    /// The slot that a native name belongs to.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        Slot::ALL.into_iter().find(|slot| self.of(*slot).iter().any(|known| known == name))
    }
}

/// Where things are in a payload: own keys joined by dots, a number being a place in an array.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadPaths {
    /// The event's name; `None` where the payload does not say it.
    pub event: Option<String>,
    /// The tool's name.
    pub tool: Option<String>,
    /// Whether the event's name is the tool where no tool is named.
    #[serde(default)]
    pub tool_is_event: bool,
    /// The tool's input: an object, or (older builds) a JSON string of one.
    pub input: String,
    /// The directory of the call; the first that is there counts, relative ones start from `root`.
    pub cwd: Vec<String>,
    /// The directory of the session.
    pub root: Vec<String>,
    /// The session's id, for the journal.
    pub session: Vec<String>,
}

/// A tool that runs commands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellTool {
    /// Its name, exactly.
    pub name: String,
    /// Where the command is in its input (from the top with a leading `/`): text, or a list of texts.
    pub command: String,
    /// What reads the command.
    #[serde(default)]
    pub shell: ToolShell,
}

/// What reads a tool's command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolShell {
    /// bash, or a shell that reads what bash reads.
    #[default]
    Bash,
    /// zsh.
    Zsh,
    /// PowerShell.
    Powershell,
    /// cmd.exe.
    Cmd,
}

/// Other tools that matter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// Tools that type into an open session without showing what.
    pub typing: Vec<String>,
    /// Tools that write files: judged for tampering alone.
    pub writing: Vec<String>,
    /// Parts of names of tools that reach a server: every string of their input is payload when the
    /// name also says that something is written.
    pub publishing: Vec<String>,
}

/// The shape of a JSON answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// None: the exit code and standard error say it.
    None,
    /// `{"hookSpecificOutput":{"hookEventName",…,"permissionDecision","permissionDecisionReason"}}`
    Claude,
    /// `{"permissionDecision","permissionDecisionReason"}`
    Flat,
    /// `{"decision":"deny","reason"}`
    Decision,
    /// `{"decision":"block","reason"}`
    Block,
    /// `{"permission","user_message","agent_message"}`
    Permission,
    /// `{"cancel":true,"errorMessage"}`
    Cancel,
    /// `{"decision":"force_ask","reason"}`
    ForceAsk,
}

/// How a refusal is said so that it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefuseBy {
    /// The exit code.
    pub exit: u8,
    /// Whether the reason goes to standard error.
    pub stderr: bool,
    /// What goes to standard output.
    pub stdout: Shape,
}

/// How a question is asked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskBy {
    /// Its shape; `none` where asking does not work.
    pub shape: Shape,
    /// Native events at which it works.
    pub events: Vec<String>,
}

/// What passing looks like: exit 0 and these bytes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassBy {
    /// Standard output.
    pub stdout: String,
}

/// What the host does when a hook crashes, is missing, or is late.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// By default.
    pub policy: FailPolicy,
    /// The entry's key that makes it refuse.
    pub switch_key: Option<String>,
    /// That key's value.
    pub switch_value: Option<String>,
    /// The first version that knows the key.
    pub switch_since: Option<String>,
}

/// What becomes of a command whose hook failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailPolicy {
    /// It runs.
    Open,
    /// It does not.
    Closed,
    /// It does not, except when the hook was late.
    ClosedButTimeout,
    /// What our plugin module decides: it refuses.
    Plugin,
}

/// How a host counts its own timeout.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeout {
    /// In what.
    pub unit: TimeUnit,
    /// When an entry says none; `None` where it is not established.
    pub default: Option<u64>,
    /// From which number on it is milliseconds, whatever the unit.
    #[serde(default)]
    pub millis_from: Option<u64>,
}

/// Units of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// There is none.
    None,
    /// Not established; taken as seconds.
    Unknown,
}

/// How long an answer may be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// In what.
    pub unit: LimitUnit,
    /// How many, of the serialized form.
    pub size: usize,
}

/// Units of an answer's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitUnit {
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

/// What was established, how, and until when it is taken as current.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// The host's version.
    pub host_version: String,
    /// How.
    pub method: Method,
    /// When its documentation was read (YYYY-MM-DD).
    pub docs_at: String,
    /// Where that is.
    pub docs_url: Option<String>,
    /// When the host itself was driven (YYYY-MM-DD).
    pub probe_at: Option<String>,
    /// From when on the row counts as unverified (YYYY-MM-DD). It never lowers a block.
    pub expires: String,
}

/// How a row was established, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The host's own program was driven.
    Live,
    /// Its shipped code was read.
    Code,
    /// Its public source was read.
    Source,
    /// Somebody else measured it.
    ThirdParty,
    /// Only its documentation was read.
    Docs,
}

/// Why a table is not usable.
#[derive(Debug, thiserror::Error)]
pub enum TableFault {
    /// It does not parse, or not as a table.
    #[error("the host table is malformed: {0}")]
    Malformed(String),
    /// It has no rows.
    #[error("the host table has no rows")]
    Empty,
    /// It is of another version.
    #[error("the host table has schema version {0}; this program reads {SCHEMA_VERSION}")]
    Version(u32),
    /// A row stands twice.
    #[error("the host table has {0} twice")]
    Twice(String),
    /// A row cannot work.
    #[error("row {host}: {what}")]
    Row {
        /// Which row.
        host: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// As [`TableFault`] tells.
    pub fn parse(text: &str) -> Result<Self, TableFault> {
        let table: Self = toml::from_str(text).map_err(|error| TableFault::Malformed(error.to_string()))?;
        if table.schema_version != SCHEMA_VERSION {
            return Err(TableFault::Version(table.schema_version));
        }
        if table.hosts.is_empty() {
            return Err(TableFault::Empty);
        }
        for (place, host) in table.hosts.iter().enumerate() {
            if table.hosts.iter().take(place).any(|other| other.id == host.id && other.surface == host.surface) {
                return Err(TableFault::Twice(host.id.clone()));
            }
            host.check()?;
        }
        Ok(table)
    }

    /// The table that is compiled in.
    ///
    /// # Errors
    /// Never in a released program; a test reads it.
    pub fn builtin() -> Result<Self, TableFault> {
        Self::parse(TEXT)
    }

    /// The row of an id.
    pub fn host(&self, id: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.id == id)
    }

    /// The whole table from its prepared rows.
    ///
    /// # Errors
    /// Never in a released program; a test compares it with [`Self::builtin`].
    pub fn prepared() -> Result<Self, TableFault> {
        let hosts = ROWS.iter().map(Prepared::read).collect::<Result<Vec<_>, _>>()?;
        if hosts.is_empty() { Err(TableFault::Empty) } else { Ok(Self { schema_version: SCHEMA_VERSION, hosts }) }
    }

    /// A table of one prepared row; `None` where there is none of that id.
    ///
    /// # Errors
    /// As [`Self::prepared`].
    pub fn of_one(id: &str) -> Result<Option<Self>, TableFault> {
        let Some(row) = ROWS.iter().find(|row| row.id == id) else { return Ok(None) };
        Ok(Some(Self { schema_version: SCHEMA_VERSION, hosts: vec![row.read()?] }))
    }
}

impl Prepared {
    fn read(&self) -> Result<Host, TableFault> {
        let host: Host = serde_json::from_str(self.json).map_err(|error| TableFault::Malformed(error.to_string()))?;
        host.check()?;
        Ok(host)
    }

    /// Whether its dialect has no keys of its own.
    pub const fn has_no_keys(&self) -> bool {
        self.recognise.is_empty()
    }

    /// Whether a payload might be this row's: it has every key that only this dialect has, or names a
    /// shell tool of a row that has no such keys.
    pub fn might_be(&self, has_key: impl Fn(&str) -> bool, text_at: impl Fn(&str) -> Option<String>) -> bool {
        if self.recognise.is_empty() {
            text_at(self.tool).is_some_and(|tool| self.shells.contains(&tool.as_str()))
        } else {
            self.recognise.iter().all(|key| has_key(key))
        }
    }
}

impl Host {
    /// The events that an entry is written for, in the order of a session.
    pub fn registered(&self) -> Vec<(&str, Slot)> {
        [Slot::SessionStart, Slot::PreTool, Slot::PostTool]
            .into_iter()
            .flat_map(|slot| self.events.of(slot).iter().map(move |name| (name.as_str(), slot)))
            .filter(|(name, _)| self.entry.events.is_empty() || self.entry.events.iter().any(|kept| kept == name))
            .collect()
    }

    fn check(&self) -> Result<(), TableFault> {
        let wrong = |what| Err(TableFault::Row { host: self.id.clone(), what });
        if self.events.pre_tool.is_empty() {
            return wrong("no event at which it could be refused");
        }
        if self.shell_tools.is_empty() {
            return wrong("no tool that runs commands");
        }
        if self.refuse.exit == 0 && self.refuse.stdout == Shape::None {
            return wrong("a refusal that exits 0 and says nothing is a pass");
        }
        if self.refuse.exit != 0 && !self.refuse.stderr {
            return wrong("a refusal by exit code without a reason runs on several hosts");
        }
        if matches!(self.ask.shape, Shape::None) != self.ask.events.is_empty() {
            return wrong("a shape of question without events, or events without a shape");
        }
        if self.ask.events.iter().any(|event| self.events.slot(event) != Some(Slot::PreTool)) {
            return wrong("a question at an event that is not a pre-tool one");
        }
        if self.payload.tool.is_none() && !self.payload.tool_is_event {
            return wrong("no place for the tool's name");
        }
        if !self.registered().iter().any(|(_, slot)| *slot == Slot::PreTool) {
            return wrong("an entry without an event at which it could refuse");
        }
        if self.entry.plugin.is_some() != self.entry.plugin_program.is_some()
            || (self.entry.plugin.is_none()
                && (self.entry.plugin_manifest.is_some() || self.entry.plugin_marketplace.is_some()))
        {
            return wrong("a part of a plugin");
        }
        if self.entry.moved_by.is_some() && (self.entry.found_by.is_none() || self.entry.home_by.is_some()) {
            return wrong("a variable that moves nothing");
        }
        if self.failure.switch_key.is_some() != self.failure.switch_value.is_some() {
            return wrong("half a fail-closed switch");
        }
        Ok(())
    }
}
