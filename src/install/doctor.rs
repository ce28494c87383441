//! Is every gate alive, and does what it rests on still stand?
//!
//! Promise: a route is called alive only when nothing that is known to disarm it was found and, for a
//! host, its entry was tried. What cannot be looked at is a problem and not a pass. Nothing is changed.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::command::plan::GitContext;
use crate::host::table::{Host, Slot, Table, TimeUnit};
use crate::net::{self, Standing, names, place::Own};
use crate::verdict::Refusal;
use crate::world::{World, look_up};

use super::entry::{self, Found};
use super::hosts::{self, Places, Reach};
use super::jsonc;
use super::keep::{read_if_there, shown, state};
use super::recorded::Recorded;
use super::trial::Bench;

/// What is known of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Its name: `git`, `tyran`, `gitleaks`, `net`, or a host's id.
    pub route: String,
    /// How it stands.
    pub state: State,
    /// Where: a program or a file.
    pub place: Option<String>,
    /// What is wrong, or worth knowing.
    pub what: Vec<String>,
}

/// How a route stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Everything that was looked at holds.
    Alive,
    /// It was never put in place, and need not be.
    Absent,
    /// It does not hold.
    Broken,
}

impl Route {
    fn new(route: &str, place: Option<&Path>, problems: Vec<String>) -> Self {
        Self {
            route: route.to_owned(),
            state: if problems.is_empty() { State::Alive } else { State::Broken },
            place: place.map(|path| path.display().to_string()),
            what: problems,
        }
    }

    fn absent(route: &str, what: &str) -> Self {
        Self { route: route.to_owned(), state: State::Absent, place: None, what: vec![what.to_owned()] }
    }
}

/// Looks at every route.
///
/// # Errors
/// When nothing could be looked at.
pub fn examine(world: &World, table: &Table, own: &Own) -> Result<Vec<Route>, Refusal> {
    let mut routes = programs(world, own);
    routes.push(gitleaks());
    routes.push(net(world, own));
    let places = Places::read()?;
    let mut bench = None;
    for host in &table.hosts {
        for file in files(world, host, &places)? {
            routes.push(host_route(world, host, &file, &mut bench));
        }
        if hosts::is_found(world, host) && !routes.iter().any(|route| route.route == host.id) {
            let todo =
                format!("{} is used here and has no gate; `tyran setup {}` puts one in place", host.product, host.id);
            routes.push(Route::absent(&host.id, &todo));
        }
    }
    Ok(routes)
}

/// The recorded programs.
fn programs(world: &World, own: &Own) -> Vec<Route> {
    let unrecorded = |why: &str| vec![format!("{why}; `tyran setup` records it")];
    let problem =
        |result: Result<(), Refusal>| result.err().map(|refusal| refusal.what.to_string()).into_iter().collect();
    match Recorded::read() {
        Err(refusal) => vec![Route::new("git", world.git_program(), vec![refusal.what.to_string()])],
        Ok(None) => vec![
            Route::new(
                "git",
                world.git_program(),
                unrecorded(if world.git_program().is_some() { "it is not recorded" } else { "no git was found" }),
            ),
            Route::new("tyran", Some(&own.program), unrecorded("it is not recorded")),
        ],
        Ok(Some(recorded)) => {
            let mut tyran: Vec<String> = problem(recorded.tyran.check());
            if recorded.tyran.path != own.program {
                tyran.push(format!("{} is recorded, and this is another", shown(&recorded.tyran.path)));
            }
            vec![
                Route::new("git", Some(&recorded.git.path), problem(recorded.git.check())),
                Route::new("tyran", Some(&recorded.tyran.path), tyran),
            ]
        }
    }
}

fn gitleaks() -> Route {
    let placed = match state() {
        Ok(state) => super::place::placed(&state),
        Err(refusal) => return Route::new("gitleaks", None, vec![refusal.what.to_string()]),
    };
    match placed {
        Ok(Some(placed)) => Route::new("gitleaks", Some(&placed.path), Vec::new()),
        Ok(None) => Route::absent("gitleaks", "none was put in place; tyran's own engine reads alone"),
        Err(fault) => Route::new("gitleaks", None, vec![fault.to_string()]),
    }
}

fn net(world: &World, own: &Own) -> Route {
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    let mut problems = Vec::new();
    for name in names::checked() {
        match net::standing(world, &git, name, own) {
            Ok(Standing::Holds(_)) => {}
            Ok(Standing::Cut(why)) => problems.push(format!("{name} would not run: {why}")),
            Ok(Standing::Absent) => problems.push(format!("{name} is not in place; `tyran install git` puts it there")),
            Err(fault) => problems.push(Refusal::from(fault).what.to_string()),
        }
    }
    Route::new("net", Some(&own.folder), problems)
}

/// Files that hold, or should hold, an entry for the host.
fn files(world: &World, host: &Host, places: &Places) -> Result<Vec<PathBuf>, Refusal> {
    let beside = |file: &Path| entry::beside(host, file).map(|(path, _)| path);
    let recorded: Vec<&PathBuf> =
        places.places.iter().filter(|placed| placed.host == host.id).map(|placed| &placed.kept.file).collect();
    let mut files: Vec<PathBuf> = recorded
        .iter()
        .filter(|file| !recorded.iter().any(|other| beside(other).as_ref() == Some(**file)))
        .map(|file| (*file).clone())
        .collect();
    for reach in [Reach::User, Reach::Project] {
        let Some(file) = hosts::file(world, host, reach) else { continue };
        let file = super::keep::resolved(&file)?;
        if files.contains(&file) {
            continue;
        }
        // A file that does not parse may hold an entry of ours: then our name is in it.
        let is_ours = read_if_there(&file)?.is_some_and(|bytes| match hosts::calls(host, &file, &bytes) {
            Ok(found) => !found.is_empty(),
            Err(_) => bstr::ByteSlice::contains_str(bytes.as_slice(), format!("gate --host {}", host.id)),
        });
        if is_ours {
            files.push(file);
        }
    }
    Ok(files)
}

fn host_route(world: &World, host: &Host, file: &Path, bench: &mut Option<Bench>) -> Route {
    let problems = match problems(world, host, file, bench) {
        Ok(problems) => problems,
        Err(refusal) => vec![refusal.what.to_string()],
    };
    Route::new(&host.id, Some(file), problems)
}

fn problems(world: &World, host: &Host, file: &Path, bench: &mut Option<Bench>) -> Result<Vec<String>, Refusal> {
    let Some(bytes) = read_if_there(file)? else {
        return Ok(vec!["the file is gone; `tyran setup` writes it anew".to_owned()]);
    };
    let found = hosts::calls(host, file, &bytes)?;
    let mut problems = switched_off(world, host);
    if let Some((path, _)) = entry::beside(host, file)
        && !path.exists()
    {
        problems.push(format!("{} is gone; `tyran setup` writes it anew", shown(&path)));
    }
    for (event, slot) in host.registered() {
        if slot != Slot::PreTool {
            continue;
        }
        let of_event: Vec<&Found> = found.iter().filter(|found| found.event == event).collect();
        if of_event.is_empty() {
            problems.push(format!("there is no entry at {event}; `tyran setup` writes it anew"));
        }
        for found in of_event {
            let mut wrong = disarmed(host, found);
            if is_startable(found, &mut wrong) && is_of_commands(host, event) {
                let bench = match bench {
                    Some(bench) => bench,
                    None => bench.insert(Bench::new(world)?),
                };
                wrong.extend(bench.complaints(world, host, found));
            }
            problems.extend(wrong.into_iter().map(|what| format!("{event}: {what}")));
        }
    }
    Ok(problems)
}

/// Whether a command can come with the event: not where the event itself is a tool that writes files.
fn is_of_commands(host: &Host, event: &str) -> bool {
    !(host.payload.tool_is_event && host.tools.writing.iter().any(|tool| tool == event))
}

/// Settings that switch every hook of the host off.
fn switched_off(world: &World, host: &Host) -> Vec<String> {
    let mut problems = Vec::new();
    for named in &host.entry.off_files {
        let Some(path) = hosts::expanded(world, host, named) else { continue };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                problems.push(format!("{} could not be read: {error}", shown(&path)));
                continue;
            }
        };
        match jsonc::value(&text) {
            Ok(value) => problems.extend(
                host.entry
                    .off_keys
                    .iter()
                    .filter(|key| {
                        key.split('.').try_fold(&value, |value, key| value.get(key)) == Some(&Value::Bool(true))
                    })
                    .map(|key| format!("`{key}` in {} switches it off", shown(&path))),
            ),
            Err(fault) => problems.push(format!("{}: {fault}", shown(&path))),
        }
    }
    problems
}

/// What an entry's own fields do to it.
fn disarmed(host: &Host, found: &Found) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some((key, value)) = entry::switch(host)
        && found.leaf.get(key) != Some(&value)
    {
        problems.push(format!("`{key}` is not {value}: the command runs when the gate fails"));
    }
    if found.leaf.get("async") == Some(&Value::Bool(true)) {
        problems.push("`async` is on: the host does not wait for the answer".to_owned());
    }
    if let Some(matcher) = &found.matcher
        && host.entry.matcher.as_deref() != Some(matcher)
    {
        let missed: Vec<&str> = host
            .shell_tools
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|tool| host.events.slot(tool).is_none() && !covers(matcher, tool))
            .collect();
        if !missed.is_empty() {
            problems.push(format!("the matcher {matcher:?} does not cover {}", missed.join(", ")));
        }
    }
    problems.extend(short(host, found));
    problems
}

/// Whether a matcher covers a tool: a list of names where it is plain, else an expression.
fn covers(matcher: &str, tool: &str) -> bool {
    let is_plain = matcher
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '|' | ',' | ' '));
    if matches!(matcher, "" | "*") {
        true
    } else if is_plain {
        matcher.split(['|', ',']).any(|name| name.trim() == tool)
    } else {
        Regex::new(matcher).is_ok_and(|pattern| pattern.is_match(tool))
    }
}

/// A timeout that ends before the gate's own deadline: then the host decides, and most let it run.
fn short(host: &Host, found: &Found) -> Option<String> {
    let per_second = match host.timeout.unit {
        TimeUnit::Seconds => 1,
        TimeUnit::Milliseconds => 1000,
        TimeUnit::None | TimeUnit::Unknown => return None,
    };
    let written = ["timeout", "timeoutSec", "timeout_ms"].into_iter().find_map(|key| found.leaf.get(key)?.as_u64());
    let timeout = written.or(host.timeout.default)?;
    let words = found.call.words();
    let deadline: f64 = words
        .iter()
        .position(|word| word == "--deadline")
        .and_then(|place| words.get(place + 1)?.parse().ok())
        .unwrap_or(4.5);
    // A number that is written in a file by a person is far below 2^52.
    let has = timeout as f64 / f64::from(per_second);
    let unit = if per_second == 1 { "seconds" } else { "milliseconds" };
    (has <= deadline)
        .then(|| format!("the host gives up after {timeout} {unit}, and the gate answers within {deadline} seconds"))
}

/// Whether the program of a call is there; says so where it is not.
fn is_startable(found: &Found, problems: &mut Vec<String>) -> bool {
    // A script is started by its interpreter, and is tried.
    let Some(program) = found.call.program().or_else(|| found.call.words().first().cloned()) else {
        problems.push("its command cannot be read".to_owned());
        return false;
    };
    if !Path::new(&program).is_absolute() {
        problems.push(format!("{program:?} is not an absolute path: whoever changes PATH changes the gate"));
        return false;
    }
    if look_up(program.as_str().as_ref(), None, Path::new("/")).is_none() {
        problems.push(format!("{program} is not there or not executable"));
        return false;
    }
    true
}
