//! Trying an entry: its very call, with a made-up event, in a repository made for it.
//!
//! Promise: a gate is called alive only when it refused the push of a secret in its host's own form and
//! had no objection to a clean push. The secret is made here and now, and has never been anybody's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::command::plan::GitContext;
use crate::host::emit::{Answer, Decision};
use crate::host::table::{Host, ToolShell};
use crate::payload::Fault;
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::child::{Done, Job};
use crate::world::scratch::Scratch;
use crate::world::{Environment, World};

use super::entry::{Found, TIMEOUT_SECONDS};
use super::keep::cannot;

/// Most bytes of an answer.
const ANSWER_LIMIT_BYTES: usize = 1 << 20;

/// A repository with a clean branch and one that holds a secret.
#[derive(Debug)]
pub struct Bench {
    // Removed when the bench goes.
    _folder: Scratch,
    repository: PathBuf,
}

impl Bench {
    /// Makes it.
    ///
    /// # Errors
    /// When git cannot make a repository and two commits.
    pub fn new(world: &World) -> Result<Self, Refusal> {
        let folder = Scratch::new().map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))?;
        let root = folder.path().canonicalize().map_err(|error| cannot("resolve", folder.path(), &error))?;
        let repository = root.join("repository");
        run(world, &root, &["init", "-q", "--bare", "-b", "main", "origin.git"])?;
        run(world, &root, &["init", "-q", "-b", "main", "repository"])?;
        let origin = root.join("origin.git").to_string_lossy().into_owned();
        run(world, &repository, &["remote", "add", "origin", &origin])?;
        commit(world, &repository, "notes.txt", "nothing to see\n")?;
        run(world, &repository, &["checkout", "-q", "-b", "planted"])?;
        commit(world, &repository, "service.env", &format!("GITHUB_TOKEN={}\n", secret()?))?;
        Ok(Self { _folder: folder, repository })
    }

    /// Tries a call: what is wrong with its answers, nothing when nothing is.
    pub fn complaints(&self, world: &World, host: &Host, found: &Found) -> Vec<String> {
        let mut complaints = Vec::new();
        let refusal = Answer::of(&Decision::Refuse(Class::Finding, SafeText::new("a reason")), host, &found.event);
        match self.asked(world, host, found, "git push origin planted") {
            Err(why) => complaints.push(format!("trying it failed: {why}")),
            Ok(done) => {
                if let Some(wrong) = differs(&done, &refusal) {
                    complaints
                        .push(format!("a push with a secret was not refused as {} wants it: {wrong}", host.product));
                }
            }
        }
        let pass = Answer::of(&Decision::Pass, host, &found.event);
        match self.asked(world, host, found, "git push origin main") {
            Err(why) => complaints.push(format!("trying it failed: {why}")),
            Ok(done) => {
                if let Some(wrong) = differs(&done, &pass) {
                    let said = [done.stderr.as_slice(), done.stdout.as_slice()].concat();
                    complaints.push(format!("a clean push did not pass: {wrong}; {}", SafeText::quoted(&said, 300)));
                }
            }
        }
        complaints
    }

    fn asked(&self, world: &World, host: &Host, found: &Found, command: &str) -> Result<Done, String> {
        let (program, args) = found.call.start();
        if !program.is_absolute() {
            return Err(format!("{} is not an absolute path", program.display()));
        }
        let input = event(host, &found.event, command, &self.repository).to_string().into_bytes();
        let env = world
            .env
            .iter()
            .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let job = Job {
            program,
            args,
            env,
            dir: self.repository.clone(),
            input,
            output_limit: ANSWER_LIMIT_BYTES,
            time_limit: Duration::from_secs(TIMEOUT_SECONDS),
        };
        job.run().map_err(|fault| fault.to_string())
    }
}

/// How an answer differs from the one of the row, its reason aside.
fn differs(done: &Done, wanted: &Answer) -> Option<String> {
    if done.status.code() != Some(i32::from(wanted.exit)) {
        return Some(format!("it ended with {} instead of {}", done.status, wanted.exit));
    }
    let said = String::from_utf8_lossy(&done.stdout);
    if without_reason(&said) != without_reason(&wanted.stdout) {
        let said = SafeText::quoted(said.as_bytes(), 200);
        return Some(format!("it wrote {said} to standard output"));
    }
    if !wanted.stderr.is_empty() && done.stderr.iter().all(u8::is_ascii_whitespace) {
        return Some("it gave no reason on standard error".to_owned());
    }
    None
}

/// An answer with every reason that is not empty made the same; the text itself where it is not JSON.
fn without_reason(stdout: &str) -> Result<Value, String> {
    let text = stdout.trim();
    serde_json::from_str(text).map(|value| blanked(&value)).map_err(|_| text.to_owned())
}

fn blanked(value: &Value) -> Value {
    const REASONS: &[&str] = &["reason", "permissionDecisionReason", "user_message", "agent_message", "errorMessage"];
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| {
                    let is_reason =
                        REASONS.contains(&key.as_str()) && value.as_str().is_some_and(|text| !text.is_empty());
                    (key.clone(), if is_reason { Value::Null } else { blanked(value) })
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// An event as the row's host would send it for a shell call.
pub fn event(host: &Host, event: &str, command: &str, dir: &Path) -> Value {
    let paths = &host.payload;
    let dir = Value::from(dir.to_string_lossy());
    let mut payload = Value::Object(Map::new());
    for key in &host.recognise {
        put(&mut payload, key, "1".into());
    }
    let is_event = |name: &str| host.events.slot(name).is_some();
    let tool = host
        .shell_tools
        .iter()
        .find(|tool| paths.tool_is_event && tool.name == event)
        .or_else(|| host.shell_tools.iter().find(|tool| tool.shell == ToolShell::Bash && !is_event(&tool.name)))
        .or_else(|| host.shell_tools.first());
    put(&mut payload, &paths.input, Value::Object(Map::new()));
    for path in paths.root.iter().chain(&paths.cwd) {
        put(&mut payload, path, dir.clone());
    }
    for path in &paths.session {
        put(&mut payload, path, "tyran-doctor".into());
    }
    if let Some(path) = &paths.event {
        put(&mut payload, path, event.into());
    }
    if let Some(tool) = tool {
        if let Some(path) = &paths.tool
            && tool.name != event
        {
            put(&mut payload, path, tool.name.as_str().into());
        }
        match tool.command.strip_prefix('/') {
            Some(path) => put(&mut payload, path, command.into()),
            None => put(&mut payload, &format!("{}.{}", paths.input, tool.command), command.into()),
        }
    }
    payload
}

/// Sets the value at a path of keys, making what is not there; a number is a place in a list.
fn put(value: &mut Value, path: &str, new: Value) {
    let Some((key, rest)) = path.split_once('.').map(|(key, rest)| (key, Some(rest))).or(Some((path, None))) else {
        return;
    };
    if let Ok(place) = key.parse::<usize>() {
        if !value.is_array() {
            *value = Value::Array(Vec::new());
        }
        let Some(list) = value.as_array_mut() else { return };
        while list.len() <= place.min(8) {
            list.push(Value::Null);
        }
        if let Some(slot) = list.get_mut(place) {
            set(slot, rest, new);
        }
        return;
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Some(map) = value.as_object_mut() {
        set(map.entry(key).or_insert(Value::Null), rest, new);
    }
}

fn set(slot: &mut Value, rest: Option<&str>, new: Value) {
    match rest {
        Some(rest) => put(slot, rest, new),
        None => *slot = new,
    }
}

fn commit(world: &World, repository: &Path, name: &str, text: &str) -> Result<(), Refusal> {
    let path = repository.join(name);
    std::fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    run(world, repository, &["add", "--force", "--", name])?;
    run(world, repository, &["-c", "commit.gpgsign=false", "commit", "-q", "-m", "made by tyran doctor"])
}

fn run(world: &World, dir: &Path, args: &[&str]) -> Result<(), Refusal> {
    let env: Environment = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "tyran"),
        ("GIT_AUTHOR_EMAIL", "tyran@localhost"),
        ("GIT_COMMITTER_NAME", "tyran"),
        ("GIT_COMMITTER_EMAIL", "tyran@localhost"),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect();
    let git = GitContext { dir: dir.to_owned(), env, globals: Vec::new() };
    world.git(&git, args).stdout().map_err(Fault::from)?;
    Ok(())
}

/// A GitHub token that nobody has: 30 random characters and their checksum.
fn secret() -> Result<String, Refusal> {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let digit = |number: u32| DIGITS.get(number as usize % DIGITS.len()).map_or('0', |byte| char::from(*byte));
    let mut random = [0_u8; 30];
    getrandom::fill(&mut random).map_err(|error| {
        Refusal::new(Class::Internal, format!("the system gives no random bytes: {error}"), "try again")
    })?;
    let body: String = random.iter().map(|byte| digit(u32::from(*byte))).collect();
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut sum = Vec::new();
    for _ in 0..6 {
        sum.push(digit(rest % 62));
        rest /= 62;
    }
    Ok(format!("{}_{body}{}", concat!("gh", "p"), sum.iter().rev().collect::<String>()))
}
