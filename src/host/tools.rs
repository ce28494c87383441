//! Tools other than the shell that send something off, or run something.
//!
//! Promise: a tool that is said to reach a server, and is not plainly one that only reads, has every string
//! of its input taken as payload, with the files that it names and does not spell out; one that pushes
//! or commits from a repository here is judged as git doing it; one that carries commands or code is
//! judged as running them. Which names speak of a server is the row's to say.

use std::path::{Path, PathBuf};

use bstr::BString;
use serde_json::Value;

use super::event::{Call, EventFault, ShellCommand};
use super::table::{Host, ToolShell};

/// First or last words of names of tools that only read. What they are asked reaches a server too, and is
/// a question and not content.
const READS: &[&str] = &[
    "get", "list", "search", "read", "find", "fetch", "query", "view", "show", "describe", "inspect", "check", "count",
    "lookup", "resolve", "status", "diff", "download", "browse", "compare", "whoami", "me", "ping",
];

/// Words of names of tools that write, and of the action that a tool of many actions is told.
const WRITES: &[&str] = &[
    "push", "commit", "create", "update", "upload", "publish", "write", "add", "put", "post", "send", "comment",
    "reply", "merge", "release", "gist", "fork", "edit", "import", "submit", "set", "apply", "share", "paste",
    "notify", "append", "insert", "replace", "patch", "save", "sync", "deploy", "open", "new", "attach", "review",
    "dispatch", "trigger", "draft", "announce", "note", "message", "report", "file", "raise", "record", "store",
    "mirror", "transfer", "rename", "delete", "remove", "close", "reopen", "assign", "request", "react", "invite",
    "move", "label", "mark", "upsert", "make", "mutate", "mutation", "answer", "start", "approve", "dismiss", "tag",
];

/// Words that only a forge's tools have: with one of them a name speaks of a server whoever gave it.
const FORGE: &[&str] = &[
    "gist",
    "gists",
    "issue",
    "issues",
    "pull",
    "pr",
    "prs",
    "mr",
    "mrs",
    "merge",
    "push",
    "commit",
    "commits",
    "release",
    "releases",
    "repo",
    "repos",
    "repository",
    "snippet",
    "snippets",
    "wiki",
    "discussion",
    "discussions",
    "github",
    "gitlab",
    "bitbucket",
    "gitea",
    "forgejo",
    "codeberg",
];

/// Words of servers that keep what they are given on this machine.
const LOCAL: &[&str] = &["filesystem", "fs", "memory", "sequential", "thinking", "sequentialthinking", "time", "ide"];

/// Words of tools that run what they are given.
const RUNS: &[&str] =
    &["execute", "exec", "run", "eval", "evaluate", "shell", "terminal", "bash", "command", "process"];

/// What a tool that the row does not know by name does.
///
/// # Errors
/// When it carries a command that cannot be read.
pub(super) fn call(tool: &str, input: &Value, host: &Host, cwd: Option<&Path>) -> Result<Call, EventFault> {
    let (name, input) = unwrapped(tool, input);
    let words = words(&format!("{tool} {name}"));
    if has(&words, &["editor"]) {
        return Ok(super::event::writing(&input));
    }
    let mut commands = carried(tool, &words, &input, cwd)?;
    if !reaches_a_server(tool, &words, &input, host) {
        return Ok(match commands.is_empty() {
            true if has(&words, VERBS) => super::event::writing(&input),
            true => Call::Other,
            false => Call::Shell(commands),
        });
    }
    commands.extend(by_git(&words, &input, cwd));
    let mut texts = Vec::new();
    collect_texts(&input, &mut texts);
    let mut files = Vec::new();
    collect_files(&input, cwd, &mut files);
    Ok(Call::Publishing { tool: tool.to_owned(), texts, files, commands })
}

/// The tool that a tool for calling tools is told to call, and what it hands on.
fn unwrapped(tool: &str, input: &Value) -> (String, Value) {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str());
    let named = text(&["tool_name", "toolName", "tool"]).or_else(|| {
        let is_wrapper = words(tool).iter().any(|word| matches!(word.as_str(), "tool" | "mcp"));
        is_wrapper.then(|| text(&["name"])).flatten()
    });
    let handed = ["arguments", "args", "tool_input", "toolInput", "input", "parameters", "params"]
        .iter()
        .find_map(|key| object(input.get(key)?));
    match (named, handed) {
        (Some(named), Some(handed)) => (named.to_owned(), handed),
        (Some(named), None) => (named.to_owned(), input.clone()),
        (None, _) => (tool.to_owned(), input.clone()),
    }
}

/// An object, as it is or as a JSON text.
fn object(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => Some(value.clone()),
        Value::String(text) => serde_json::from_str::<Value>(text).ok().filter(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// A name's words in lower case: split where a letter case or a sign begins a new one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_was_small = false;
    for character in name.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && before_was_small) {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        before_was_small = character.is_lowercase() || character.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn has(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

fn is_of_a_server(tool: &str, host: &Host) -> bool {
    let lower = tool.to_lowercase();
    host.tools.publishing.iter().any(|part| lower.contains(&part.to_lowercase()))
}

fn reaches_a_server(tool: &str, words: &[String], input: &Value, host: &Host) -> bool {
    let by_name = is_of_a_server(tool, host);
    if by_name && has(words, LOCAL) && !has(words, FORGE) {
        return false;
    }
    let acts = action(input);
    let is_told_to_write = has(&acts, WRITES) || sends(input);
    if is_told_to_write && (by_name || has(words, FORGE)) {
        return true;
    }
    if reads(words) {
        return false;
    }
    // A server's tool whose name says neither is read as one that writes: that costs a scan.
    by_name || (has(words, WRITES) && has(words, FORGE))
}

/// Whether a name is that of a tool that only reads: `get_issue`, `issue_read`, `pull_request_read`. The
/// words of the server come first, so that the last word of reading that no word of writing follows counts.
fn reads(words: &[String]) -> bool {
    let place = |known: &[&str]| words.iter().position(|word| known.contains(&word.as_str()));
    let ends = words.last().is_some_and(|word| matches!(word.as_str(), "read" | "get" | "list" | "search"));
    match (place(READS), place(VERBS)) {
        (Some(reads), Some(writes)) => ends || reads < writes,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Words of writing that are no nouns of a forge: `get_pull_request_comments` reads, `create_gist` does not.
const VERBS: &[&str] = &[
    "push", "create", "update", "upload", "publish", "write", "add", "put", "post", "send", "reply", "edit", "import",
    "submit", "set", "apply", "share", "paste", "notify", "append", "insert", "replace", "save", "sync", "deploy",
    "attach", "dispatch", "trigger", "announce", "upsert", "make", "mutate", "delete", "remove", "close", "reopen",
];

/// The words of what a tool of many actions is told to do.
fn action(input: &Value) -> Vec<String> {
    ["action", "method", "operation", "op", "mode", "verb"]
        .iter()
        .filter_map(|key| input.get(key)?.as_str())
        .flat_map(words)
        .collect()
}

/// Whether a request that a tool is to make changes something: a method of HTTP, or a mutation of GraphQL.
fn sends(input: &Value) -> bool {
    let is_mutation = |text: &str| text.trim_start().starts_with("mutation");
    ["query", "graphql", "body", "document"].iter().filter_map(|key| input.get(key)?.as_str()).any(is_mutation)
}

/// Commands that a tool carries, and code that one which says that it runs something carries.
fn carried(tool: &str, words: &[String], input: &Value, cwd: Option<&Path>) -> Result<Vec<ShellCommand>, EventFault> {
    let dir = directory(input, cwd);
    let mut found = Vec::new();
    for key in ["command", "commands", "cmd", "script", "command_line", "commandLine", "CommandLine"] {
        let Some(value) = input.get(key).filter(|value| value.is_string() || value.is_array()) else { continue };
        found.extend(super::event::commands(value).ok_or_else(|| EventFault::NoCommand { tool: tool.to_owned() })?);
    }
    // A program with its arguments apart.
    if let (Some(first), Some(args)) = (found.first_mut(), input.get("args").and_then(Value::as_array)) {
        let args = args.iter().filter_map(Value::as_str).map(shell_words::quote);
        *first = std::iter::once(first.as_str().into()).chain(args).collect::<Vec<_>>().join(" ");
    }
    if has(words, RUNS)
        && let Some(code) = input.get("code").and_then(Value::as_str)
    {
        // Whatever the language: what is not plainly harmless in it is a program that cannot be read.
        found.push(format!("python3 -c {}", shell_words::quote(code)));
    }
    let command = |text| ShellCommand { text, cwd: dir.clone(), shell: ToolShell::Bash };
    Ok(found.into_iter().map(command).collect())
}

/// What git does here when a tool pushes or commits from a repository of this machine.
fn by_git(words: &[String], input: &Value, cwd: Option<&Path>) -> Vec<ShellCommand> {
    let spoken = [words, &action(input)].concat();
    let says = |word: &str| spoken.iter().any(|spoken| spoken == word);
    let is_of_a_forge =
        ["owner", "repo", "project_id", "projectId", "workspace"].iter().any(|key| input.get(key).is_some());
    let Some(dir) = directory(input, cwd).filter(|dir| !is_of_a_forge && in_a_repository(dir)) else {
        return Vec::new();
    };
    let remote = ["remote", "remote_name", "remoteName"].iter().find_map(|key| input.get(key)?.as_str());
    let remote = remote.filter(|name| !name.starts_with('-')).map(shell_words::quote).unwrap_or_default();
    let mut lines = Vec::new();
    if says("commit") || says("save") {
        let stages = says("add") || says("all") || input.get("files").is_some();
        lines.push(if stages { "git add -A && git commit -m message" } else { "git commit -m message" }.to_owned());
    }
    if says("push") || says("publish") || says("sync") || says("mirror") {
        lines.push(format!("git push --all {remote}"));
        lines.push(format!("git push --tags {remote}"));
    }
    lines
        .into_iter()
        .map(|text| ShellCommand { text: text.trim_end().to_owned(), cwd: Some(dir.clone()), shell: ToolShell::Bash })
        .collect()
}

/// The directory that a tool is told to work in.
fn directory(input: &Value, cwd: Option<&Path>) -> Option<PathBuf> {
    const KEYS: &[&str] = &[
        "cwd",
        "directory",
        "dir",
        "workdir",
        "working_dir",
        "working_directory",
        "workingDirectory",
        "workingDir",
        "repo_path",
        "repoPath",
        "repository_path",
        "repositoryPath",
        "local_path",
        "localPath",
        "project_path",
        "projectPath",
        "root",
        "path",
    ];
    let named = KEYS.iter().filter_map(|key| input.get(key)?.as_str()).map(Path::new);
    let named = named.map(|path| cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path))).find(|path| path.is_dir());
    named.or_else(|| cwd.map(Path::to_owned)).filter(|path| path.is_absolute())
}

fn in_a_repository(dir: &Path) -> bool {
    dir.ancestors().any(|folder| folder.join(".git").exists()) || dir.join("HEAD").exists()
}

/// Every string of a value, keys included: a server is sent both, and a short value is read beside its
/// key, which says what it is. Of a text that is an object itself, what is in that.
pub(super) fn collect_texts(value: &Value, found: &mut Vec<BString>) {
    match value {
        Value::String(text) => match object(value) {
            Some(inside) => collect_texts(&inside, found),
            None => found.push(BString::from(text.as_str())),
        },
        Value::Array(list) => {
            // A list of short texts may be joined again on the other side.
            let joined: String = list.iter().filter_map(Value::as_str).collect();
            if list.len() > 1 && !joined.is_empty() {
                found.push(BString::from(joined));
            }
            list.iter().for_each(|value| collect_texts(value, found));
        }
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if !text.contains('\n') && object(value).is_none() => {
                        found.push(BString::from(format!("{key}: {text}")));
                    }
                    other => {
                        found.push(BString::from(key.as_str()));
                        collect_texts(other, found);
                    }
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Files of this machine that are named by an object which does not spell out what is in them.
fn collect_files(value: &Value, cwd: Option<&Path>, found: &mut Vec<PathBuf>) {
    match value {
        Value::Object(map) => {
            let spells_out = ["content", "contents", "text", "body", "data", "patch", "diff"]
                .iter()
                .any(|key| map.get(*key).is_some_and(|value| !value.is_null()));
            for (key, value) in map {
                let key = key.to_lowercase();
                let names = ["path", "file", "attachment", "asset", "artifact"].iter().any(|part| key.contains(part));
                if names && !spells_out {
                    named_files(value, cwd, found);
                }
                if !value.is_string() {
                    collect_files(value, cwd, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_files(value, cwd, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn named_files(value: &Value, cwd: Option<&Path>, found: &mut Vec<PathBuf>) {
    let values = match value {
        Value::Array(list) => list.as_slice(),
        other => std::slice::from_ref(other),
    };
    for text in values.iter().filter_map(Value::as_str) {
        let text = text.strip_prefix("file://").unwrap_or(text);
        let path = cwd.map_or_else(|| PathBuf::from(text), |cwd| cwd.join(text));
        if path.is_absolute() && path.is_file() {
            found.push(path);
        }
    }
}
