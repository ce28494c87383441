//! What is known to disarm a host's entry, found in the files around it.
//!
//! Promise: each setting that a row names as one that switches hooks off, each field that keeps an entry
//! from being asked or heard, an entry that nobody trusted where the host wants that, a sibling that drops
//! the whole file, and a host too old for its fail-closed switch is named. What cannot hold whatever the
//! entry says (another tool's hook that rewrites or approves) is a note: git's own hooks hold then.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice;
use regex::Regex;
use serde_json::{Value, json};

use crate::host::table::{Beside, EntryShape, Host, Matching, OffWord, Slot, TimeUnit};
use crate::world::child::Job;
use crate::world::{Environment, World, look_up};

use super::entry::{self, Found};
use super::hosts::{self, Reach};
use super::jsonc;
use super::keep::{digest, read_if_there, shown};
use super::modules;
use super::tables;

/// How long a host may take to tell its version.
const VERSION_WAIT: Duration = Duration::from_secs(20);

/// What settings and variables do to every hook of the host.
#[derive(Debug, Default)]
pub struct Switches {
    /// They are off.
    pub problems: Vec<String>,
    /// They are off at times.
    pub notes: Vec<String>,
}

/// Settings that switch every hook of the host off, and variables that do.
pub fn switched_off(world: &World, host: &Host) -> Switches {
    let mut found = Switches::default();
    let mut unreadable: Vec<PathBuf> = Vec::new();
    for off in &host.entry.off {
        let files = hosts::expanded_all(world, host, &off.file).unwrap_or_else(|refusal| {
            found.problems.push(refusal.what.to_string());
            Vec::new()
        });
        for path in files {
            let value = match read(&path) {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(why) if !unreadable.contains(&path) => {
                    found.problems.push(why);
                    unreadable.push(path);
                    continue;
                }
                Err(_) => continue,
            };
            let said = off.key.split('.').try_fold(&value, |value, key| value.get(key));
            let is_off = match off.says {
                OffWord::True => said == Some(&Value::Bool(true)),
                OffWord::False => said == Some(&Value::Bool(false)),
                OffWord::Named => said.and_then(Value::as_array).is_some_and(|names| names.iter().any(names_us)),
            };
            let told = format!("`{}` in {} switches it off", off.key, shown(&path));
            match &off.when {
                Some(when) if is_off => found.notes.push(format!("{told} {when}")),
                None if is_off && !found.problems.contains(&told) => found.problems.push(told),
                Some(_) | None => {}
            }
        }
    }
    let set = host.entry.off_env.iter().filter(|name| world.var(name).is_some_and(|value| !value.is_empty()));
    found.problems.extend(set.map(|name| format!("{name} is set: {} runs no hooks then", host.product)));
    found
}

fn names_us(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name == "tyran" || name.contains("gate --host"))
}

/// The program of a script's first line.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes.lines().next()?.strip_prefix(b"#!")?;
    Some(PathBuf::from(line.fields().next()?.to_str().ok()?))
}

/// A settings file as a value; `None` where there is none.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} could not be read: {error}", shown(path))),
    };
    let value = if path.extension().is_some_and(|extension| extension == "toml") {
        toml::from_str::<Value>(&text).map_err(|error| error.message().to_owned())
    } else {
        jsonc::value(&text).map_err(|fault| fault.to_string())
    };
    value.map(Some).map_err(|why| format!("{}: {why}", shown(path)))
}

/// What an entry's own fields do to it.
pub fn by_its_fields(host: &Host, found: &Found) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some((key, value)) = entry::switch(host)
        && found.leaf.get(key) != Some(&value)
    {
        problems.push(format!("`{key}` is not {value}: the command runs when the gate fails"));
    }
    let is_on = |key: &str| found.leaf.get(key) == Some(&Value::Bool(true));
    for (key, what) in [
        ("async", "the host does not wait for the answer"),
        ("asyncRewake", "the host does not wait for the answer"),
        ("once", "it is asked the first time alone"),
        ("disabled", "it is not asked at all"),
    ] {
        if is_on(key) {
            problems.push(format!("`{key}` is on: {what}"));
        }
    }
    for (key, what) in [
        ("if", "only what it describes is asked about"),
        ("commandRegex", "only what it matches is asked about"),
        ("shell", "another shell than sh would start it"),
    ] {
        if found.leaf.get(key).is_some_and(|value| !value.is_null()) {
            problems.push(format!("`{key}` is there: {what}"));
        }
    }
    if found.leaf.get("enabled") == Some(&Value::Bool(false)) {
        problems.push("`enabled` is off: it is not asked at all".to_owned());
    }
    if found.leaf.get("cache_ttl_seconds").and_then(Value::as_f64).is_some_and(|seconds| seconds > 0.0) {
        problems.push("`cache_ttl_seconds` is not 0: one pass counts for the commands after it".to_owned());
    }
    if matches!(host.entry.shape, EntryShape::Claude | EntryShape::Goose | EntryShape::Root | EntryShape::Copilot)
        && found.leaf.get("type") != Some(&"command".into())
    {
        problems.push("its `type` is not \"command\": the host does not run it as one".to_owned());
    }
    problems.extend(by_its_matcher(host, found));
    problems.extend(by_its_timeout(host, found));
    problems
}

fn by_its_matcher(host: &Host, found: &Found) -> Option<String> {
    let slot = host.events.slot(&found.event)?;
    let Some(matcher) = &found.matcher else {
        return None;
    };
    let wanted = entry::matcher(host, &found.event, slot);
    if wanted.is_none() && !matches!(matcher.as_str(), "" | "*") {
        return Some(format!("the matcher {matcher:?} has no place at {}", found.event));
    }
    if wanted == Some(matcher.as_str()) {
        return None;
    }
    let missed = uncovered(host, matcher);
    (!missed.is_empty()).then(|| format!("the matcher {matcher:?} does not cover {}", missed.join(", ")))
}

/// Tools of the row that a matcher leaves out: those that run commands, write files, or reach a server.
pub fn uncovered(host: &Host, matcher: &str) -> Vec<String> {
    let tools = &host.tools;
    host.shell_tools
        .iter()
        .map(|tool| tool.name.clone())
        .chain(tools.writing.iter().cloned())
        .filter(|tool| host.events.slot(tool).is_none())
        .chain(tools.publishing.iter().filter(|part| host.events.slot(part).is_none()).map(|part| format!("{part}x")))
        .filter(|tool| !covers(host.entry.matches, matcher, tool))
        .collect()
}

/// Whether a matcher covers a tool, as the host reads it.
fn covers(matches: Matching, matcher: &str, tool: &str) -> bool {
    let is_plain = matcher
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '|' | ',' | ' '));
    let is_match = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(tool));
    if matches!(matcher, "" | "*") {
        return true;
    }
    match matches {
        Matching::List if is_plain => matcher.split(['|', ',']).any(|name| name.trim() == tool),
        Matching::List | Matching::Expression => is_match(matcher),
        Matching::Glob => is_match(&format!("^{}$", of_glob(matcher))),
        Matching::GlobOrExpression => match matcher.strip_prefix("re:") {
            Some(pattern) => is_match(&format!("^(?i:{pattern})$")),
            None => is_match(&format!("^(?i:{})$", of_glob(matcher))),
        },
    }
}

/// A pattern of names as an expression.
fn of_glob(pattern: &str) -> String {
    regex::escape(pattern).replace("\\*", ".*").replace("\\?", ".")
}

/// A timeout that ends before the gate's own deadline: then the host decides, and most let it run.
fn by_its_timeout(host: &Host, found: &Found) -> Option<String> {
    let usual = match host.timeout.unit {
        TimeUnit::Seconds => 1,
        TimeUnit::Milliseconds => 1000,
        TimeUnit::None | TimeUnit::Unknown => return None,
    };
    let written = ["timeout", "timeoutSec", "timeout_ms"].into_iter().find_map(|key| found.leaf.get(key));
    let written = written.filter(|value| !value.is_null());
    // Vibe reads any number.
    let number = |value: &Value| match (host.entry.shape, value.as_f64()) {
        (EntryShape::Vibe, Some(number)) if number > 0.0 => Some(number as u64),
        (_, _) => value.as_u64(),
    };
    if let Some(odd) = written.filter(|value| number(value).is_none()) {
        return Some(format!("its timeout is {odd}, which is no whole number: the host decides what it means"));
    }
    let timeout = written.and_then(number).or(host.timeout.default)?;
    let per_second = if host.timeout.millis_from.is_some_and(|from| timeout >= from) { 1000 } else { usual };
    let deadline: f64 = found.call.option("--deadline").and_then(|text| text.parse().ok()).unwrap_or(4.5);
    // A number that is written in a file by a person is far below 2^52.
    let has = timeout as f64 / f64::from(per_second);
    let unit = if per_second == 1 { "seconds" } else { "milliseconds" };
    (has <= deadline)
        .then(|| format!("the host gives up after {timeout} {unit}, and the gate answers within {deadline} seconds"))
}

/// What the entry's file does to it as a whole.
pub fn by_its_file(world: &World, host: &Host, file: &Path, bytes: &[u8]) -> Vec<String> {
    let mut problems = Vec::new();
    let named = [Reach::User, Reach::Project].into_iter().filter_map(|reach| hosts::file(world, host, reach));
    let is_link = named
        .filter(|named| named.canonicalize().ok() == file.canonicalize().ok())
        .any(|named| std::fs::symlink_metadata(&named).is_ok_and(|metadata| metadata.is_symlink()));
    if host.entry.shape == EntryShape::Script {
        if is_link {
            problems.push("it is a symbolic link, which the host does not run".to_owned());
        }
        match interpreter(bytes) {
            None => problems.push("it does not begin with `#!`: the host does not run it as a script".to_owned()),
            Some(program) if !program.is_file() => {
                problems.push(format!("its interpreter {} is not there: the host cannot run it", shown(&program)));
            }
            Some(_) => {}
        }
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 == 0) {
            problems.push("it is not executable: the host cannot run it".to_owned());
        }
    }
    if host.entry.shape == EntryShape::Cursor && is_link {
        problems.push("it is a symbolic link, which the host does not read".to_owned());
    }
    let text = String::from_utf8_lossy(bytes);
    if matches!(host.entry.shape, EntryShape::Plugin | EntryShape::AmpPlugin) {
        let program = hosts::module_words(&text).and_then(|words| words.into_iter().next()).map(PathBuf::from);
        if program.and_then(|program| modules::text(host, &program)).is_none_or(|wanted| wanted != text) {
            problems.push("the module is not what `tyran setup` writes; what else it does is not known".to_owned());
        }
        return problems;
    }
    if let Some(what) = hosts::unread(host, &text) {
        problems.push(format!("it has {what}, for which {} skips the file without a word", host.product));
    }
    if entry::event_key(host.entry.shape).is_some() {
        problems.extend(replaced(world, host, file, &text));
        return problems;
    }
    let Ok(value) = jsonc::value(&text) else { return problems };
    // Cursor reads every whole number from 1 on (facts of its 2.x).
    let is_read = |key: &str, wanted: &Value| match (host.entry.shape, value.get(key).and_then(Value::as_u64)) {
        (EntryShape::Cursor, Some(number)) => number >= 1,
        _ => value.get(key) == Some(wanted),
    };
    if let Some((key, wanted)) = entry::version(host.entry.shape)
        && !is_read(key, &wanted)
    {
        problems.push(format!("`{key}` is not {wanted}: the host does not read the file"));
    }
    if host.entry.strict_file {
        problems.extend(siblings(host, &value));
    }
    problems
}

/// Tables of the project's file that go before ours of the same name.
fn replaced(world: &World, host: &Host, file: &Path, text: &str) -> Vec<String> {
    let Some(project) = hosts::file(world, host, Reach::Project).filter(|project| project != file) else {
        return Vec::new();
    };
    let told = |why: String| vec![format!("{}: {why}", shown(&project))];
    let theirs = match read_if_there(&project) {
        Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(None) => return Vec::new(),
        Err(refusal) => return vec![refusal.what.to_string()],
    };
    match tables::calls(host, text)
        .and_then(|ours| tables::replaced(&theirs, &ours, &|leaf| entry::is_ours(host, leaf)))
    {
        Ok(names) => names
            .into_iter()
            .map(|name| format!("{} has a hook called {name:?}, which goes before ours", shown(&project)))
            .collect(),
        Err(why) => told(why),
    }
}

/// Entries of others that the host does not understand, and drops the whole file for.
fn siblings(host: &Host, file: &Value) -> Vec<String> {
    let hooks = if host.entry.shape == EntryShape::Root { Some(file) } else { file.get("hooks") };
    let Some(events) = hooks.and_then(Value::as_object) else { return Vec::new() };
    let dropped = |what: String| format!("{what}: the host drops the whole file for it");
    let mut problems = Vec::new();
    for (event, entries) in events {
        let is_known = host.events.slot(event).is_some() || host.events.other.contains(event);
        // Copilot takes Claude Code's names too.
        let lower =
            event.chars().next().map(|first| first.to_lowercase().chain(event.chars().skip(1)).collect::<String>());
        let is_renamed =
            host.entry.shape == EntryShape::Copilot && lower.is_some_and(|name| host.events.slot(&name).is_some());
        if !is_known && !is_renamed {
            problems.push(dropped(format!("{event:?} is no event of {}", host.product)));
        } else if !entries.as_array().is_some_and(|entries| entries.iter().all(is_well_formed)) {
            problems.push(dropped(format!("an entry at {event} is malformed")));
        }
    }
    problems
}

/// Whether an entry, or every one of a group, is an object with a command that is text.
fn is_well_formed(entry: &Value) -> bool {
    let Some(object) = entry.as_object() else { return false };
    if object.get("matcher").is_some_and(|matcher| !matcher.is_string() && !matcher.is_null()) {
        return false;
    }
    match object.get("hooks") {
        Some(hooks) => hooks.as_array().is_some_and(|hooks| hooks.iter().all(is_well_formed)),
        None => {
            let other_kind = object.get("type").is_some_and(|kind| kind != "command");
            let says_what = ["command", "bash", "powershell", "url"]
                .iter()
                .any(|key| object.get(*key).is_some_and(Value::is_string));
            other_kind || says_what
        }
    }
}

/// Entries of ours that the host would skip, since nobody has said to it that they are trusted.
///
/// Codex CLI 0.171.0 keeps `hooks.state."FILE:EVENT:GROUP:PLACE".trusted_hash`, which is `sha256:` and the
/// digest of the group's event, matcher and handler as JSON with sorted keys and no white space (measured).
pub fn untrusted(world: &World, host: &Host, file: &Path, bytes: &[u8]) -> Vec<String> {
    let Some(trust) = host.entry.trust.as_deref().and_then(|named| hosts::expanded(world, host, named)) else {
        return Vec::new();
    };
    let recorded = match read(&trust) {
        Ok(recorded) => recorded.unwrap_or_default(),
        Err(why) => return vec![why],
    };
    let Ok(value) = jsonc::value(&String::from_utf8_lossy(bytes)) else { return Vec::new() };
    let mut problems = Vec::new();
    for (event, slot) in host.registered() {
        let groups = value.pointer(&format!("/hooks/{event}")).and_then(Value::as_array);
        for (place, group) in groups.into_iter().flatten().enumerate() {
            for (inner, leaf) in group.get("hooks").and_then(Value::as_array).into_iter().flatten().enumerate() {
                if !entry::is_ours(host, leaf) || slot != Slot::PreTool {
                    continue;
                }
                let key = format!("{}:{}:{place}:{inner}", file.display(), snake(event));
                let found = recorded.get("hooks").and_then(|hooks| hooks.get("state")?.get(&key));
                let trusted = found.and_then(|state| state.get("trusted_hash")).and_then(Value::as_str);
                if trusted == Some(trusted_hash(event, group, leaf).as_str()) {
                    if found.and_then(|state| state.get("enabled")) == Some(&Value::Bool(false)) {
                        problems.push(format!("{event}: it is switched off in {}", shown(&trust)));
                    }
                    continue;
                }
                let how =
                    if trusted.is_some() { "was changed, or moved, since it was trusted" } else { "is not trusted" };
                problems.push(format!(
                    "{event}: the entry {how}, and {} skips it without a word; {}",
                    host.product,
                    host.entry.after_setup.as_deref().unwrap_or("trust it there")
                ));
            }
        }
    }
    problems
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut snake = String::new();
    for character in event.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

/// What Codex CLI records of an entry that is trusted.
pub fn trusted_hash(event: &str, group: &Value, leaf: &Value) -> String {
    let mut handler = json!({
        "type": "command",
        "command": leaf.get("command"),
        "async": leaf.get("async").and_then(Value::as_bool).unwrap_or(false),
        "timeout": leaf.get("timeout").and_then(Value::as_u64).unwrap_or(600),
    });
    if let (Some(text), Some(map)) = (leaf.get("statusMessage"), handler.as_object_mut()) {
        map.insert("statusMessage".to_owned(), text.clone());
    }
    let mut identity = json!({"event_name": snake(event), "hooks": [handler]});
    if let (Some(matcher), Some(map)) = (group.get("matcher"), identity.as_object_mut()) {
        map.insert("matcher".to_owned(), matcher.clone());
    }
    format!("sha256:{}", digest(sorted(&identity).to_string().as_bytes()))
}

/// The same value with the keys of every object in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: std::collections::BTreeMap<_, _> =
                map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// Hooks of other tools at our events that the gate cannot hold against.
pub fn beside(world: &World, host: &Host) -> Vec<String> {
    let what = match host.entry.beside {
        Beside::Nothing => return Vec::new(),
        Beside::Rewrites => "may rewrite a command after the gate has read it",
        Beside::Approves => "may approve what the gate refuses",
    };
    let mut notes = Vec::new();
    let own = [Reach::User, Reach::Project].into_iter().filter_map(|reach| hosts::file(world, host, reach));
    let also = host.entry.also.iter().flat_map(|named| hosts::expanded_all(world, host, named).unwrap_or_default());
    let mut files: Vec<PathBuf> = Vec::new();
    for file in own.chain(also) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    for file in files {
        let Ok(Some(value)) = read(&file) else { continue };
        for event in &host.events.pre_tool {
            if leaves_at(host, &value, event).into_iter().any(|leaf| !entry::is_a_gate(leaf)) {
                notes.push(format!(
                    "net only: another tool's hook at {event} in {} {what}; git's own hooks hold all the same",
                    shown(&file)
                ));
            }
        }
    }
    notes
}

/// The innermost objects at an event.
fn leaves_at<'v>(host: &Host, file: &'v Value, event: &str) -> Vec<&'v Value> {
    if let Some(key) = entry::event_key(host.entry.shape) {
        let tables = file.get("hooks").and_then(Value::as_array).into_iter().flatten();
        return tables.filter(|table| table.get(key).and_then(Value::as_str) == Some(event)).collect();
    }
    let at_root = if host.entry.shape == EntryShape::Root { file.get(event) } else { None };
    let entries = at_root.or_else(|| file.get("hooks")?.get(event)).and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .flat_map(|entry| match entry.get("hooks").and_then(Value::as_array) {
            Some(leaves) => leaves.iter().collect(),
            None => vec![entry],
        })
        .collect()
}

/// A host that is older than what the entry rests on; `None` where that cannot be told.
pub fn too_old(world: &World, host: &Host) -> Option<String> {
    let oldest = [host.min_version.as_deref(), host.failure.switch_since.as_deref()];
    let needed = oldest.into_iter().flatten().filter_map(numbers).max()?;
    let named = OsString::from(host.entry.cli.as_deref()?);
    let program = look_up(&named, world.var("PATH"), &world.cwd)?;
    let env: Environment = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| Some((OsString::from(name), OsString::from(world.var(name)?))))
        .collect();
    let job = Job {
        program: program.clone(),
        args: vec!["--version".into()],
        env,
        dir: PathBuf::from("/"),
        input: Vec::new(),
        output_limit: 1 << 16,
        time_limit: VERSION_WAIT,
    };
    let said = String::from_utf8_lossy(&job.run().ok()?.stdout).into_owned();
    let version = said.split_whitespace().find_map(|word| numbers(word.trim_start_matches('v')))?;
    (version < needed).then(|| {
        let text = |numbers: &[u64]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
        format!(
            "{} is version {}, which does not know what makes it refuse when the gate fails; {} does",
            shown(&program),
            text(&version),
            text(&needed)
        )
    })
}

/// The three numbers of a version.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let numbers: Vec<u64> = text.split('.').map_while(|part| part.parse().ok()).collect();
    (numbers.len() >= 3).then_some(numbers)
}
