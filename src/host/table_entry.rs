//! What the host table says of entries: where `setup` writes them, in which structure, and what switches them off.
//!
//! Promise: as [`super::table`]'s: closed lists, no unknown key.

use serde::Deserialize;

/// What `setup` writes, and where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The file's structure.
    pub shape: EntryShape,
    /// The user's file.
    pub user: Option<String>,
    /// The project's file.
    pub project: Option<String>,
    /// A plugin's file of entries, in the plugin's own folder.
    pub plugin: Option<String>,
    /// A plugin's manifest.
    pub plugin_manifest: Option<String>,
    /// How a plugin's file names the program in the plugin's own folder.
    pub plugin_program: Option<String>,
    /// Whether the manifest has to name the file of entries.
    #[serde(default)]
    pub plugin_names_hooks: bool,
    /// A file that offers the plugin's folder as a marketplace.
    pub plugin_marketplace: Option<String>,
    /// The matcher of a tool's entry.
    pub matcher: Option<String>,
    /// How the host reads a matcher.
    #[serde(default)]
    pub matches: Matching,
    /// Events whose entries take the matcher; all of the tool slots where none is named.
    #[serde(default)]
    pub matcher_events: Vec<String>,
    /// Events that are registered; all of the session-start, pre-tool and post-tool slots where none is named.
    #[serde(default)]
    pub events: Vec<String>,
    /// What is on disk where the host is used.
    pub found_by: Option<String>,
    /// The variable that names another folder instead of `found_by`.
    pub moved_by: Option<String>,
    /// The variable that names another home for the host's files.
    pub home_by: Option<String>,
    /// Whether XDG_CONFIG_HOME names another folder instead of `~/.config`.
    #[serde(default)]
    pub xdg: bool,
    /// Other files from which the host takes hooks, those of several tools among them; `*` in a last name is any text.
    #[serde(default)]
    pub also: Vec<String>,
    /// Settings that switch every hook off, or ours.
    #[serde(default)]
    pub off: Vec<Off>,
    /// Variables that do so when they are set.
    #[serde(default)]
    pub off_env: Vec<String>,
    /// Whether one entry of another tool that the host does not understand drops the whole file.
    #[serde(default)]
    pub strict_file: bool,
    /// What another tool's hook at the same event can do to a refusal, or to a command that passed.
    #[serde(default)]
    pub beside: Beside,
    /// The host's own program, which tells its version.
    pub cli: Option<String>,
    /// What the host's own reader takes beyond plain JSON; `None` where that is not established. A file with
    /// more is one that it does not read, and goes on without hooks for.
    pub reads: Option<Vec<Extra>>,
    /// Where the host records that a person trusts an entry; without that it skips the entry.
    pub trust: Option<String>,
    /// What a person has left to do after setup.
    pub after_setup: Option<String>,
    /// How the command is written.
    pub form: EntryForm,
}

/// How a matcher is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// Names parted by `|` or a comma where nothing else is in it, else an expression.
    #[default]
    List,
    /// An expression, of which a part of the name may be enough.
    Expression,
    /// One pattern of names, `*` and `?`.
    Glob,
    /// As `glob`, in any case, or an expression for the whole name after `re:`.
    GlobOrExpression,
}

/// What a file may hold beyond plain JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extra {
    /// Comments.
    Comments,
    /// What looks like a comment inside a text, where a reader does not tell the two apart.
    Within,
    /// A comma after the last entry.
    Commas,
    /// A byte-order mark.
    Mark,
}

/// A setting that switches hooks off.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Off {
    /// The file; `*` in its last name is any text, and a leading `$NAME` what a variable says.
    pub file: String,
    /// The key in it, joined by dots.
    pub key: String,
    /// What it says then.
    pub says: OffWord,
    /// When it counts, where it does not always: told, and no reason to call the entry disarmed.
    pub when: Option<String>,
}

/// What a setting says that switches hooks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OffWord {
    /// `true`
    True,
    /// `false`
    False,
    /// A list that names the hook or its command.
    Named,
}

/// What a hook of another tool can do beside ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beside {
    /// Nothing that is known.
    #[default]
    Nothing,
    /// Rewrite a command after the gate has read it.
    Rewrites,
    /// Approve what the gate refused.
    Approves,
}

/// Structures of hook configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryShape {
    /// `{"hooks":{EVENT:[{"matcher","hooks":[{"type":"command",…}]}]}}`
    Claude,
    /// The same event map at the root of the file.
    Root,
    /// `{"hooks":{EVENT:[{"type":"command","command","timeout"}]}}`
    Flat,
    /// `{"version":1,"hooks":{EVENT:[{"command","matcher","timeout","failClosed"}]}}`
    Cursor,
    /// `{"version":1,"hooks":{EVENT:[{"type":"command","bash","timeoutSec"}]}}`
    Copilot,
    /// `{"hooks":{EVENT:[{"name","matcher","command","timeout"}]}}`
    Crush,
    /// As `claude`, in a plugin folder with a `plugin.json` beside it.
    Goose,
    /// `{"version":"v1","hooks":[{"name","trigger","matcher","action":{…},"timeout","enabled"}]}`
    Kiro,
    /// `hooks` of an agent file: `{EVENT:[{"matcher","command","timeout_ms","cache_ttl_seconds"}]}`
    KiroAgent,
    /// `{NAME:{EVENT:[{"matcher","hooks":[…]}]}}`
    Antigravity,
    /// `{"hooks":{EVENT:[{"command","show_output"}]}}`
    Windsurf,
    /// TOML: `[[hooks]]` with `name`, `type`, `match`, `command`, `timeout`, `strict`.
    Vibe,
    /// An executable file named after the event.
    Script,
    /// A module that exports a function returning `{EVENT: handler}`; a handler refuses by throwing.
    Plugin,
    /// A module that is handed an object with `on(EVENT, handler)`; a handler refuses by what it returns.
    AmpPlugin,
}

/// How a command is written in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryForm {
    /// Program and arguments apart; no shell.
    Exec,
    /// One line for a shell.
    Shell,
    /// The text of a script.
    Script,
    /// A call in a module.
    Plugin,
}
