//! Is every gate alive, and does what it rests on still stand?
//!
//! Promise: a route is called alive only when nothing that is known to disarm it was found and, for a
//! host, its entry was tried. What cannot be looked at is a problem and not a pass. Nothing is changed.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::command::plan::GitContext;
use crate::host::table::{Host, Slot, Table};
use crate::net::{self, Standing, names, place::Own};
use crate::verdict::Refusal;
use crate::world::{World, look_up};

use super::disarm;
use super::entry::{self, Found};
use super::hosts::{self, Places, Reach};
use super::keep::{read_if_there, shown, state};
use super::recorded::Recorded;
use super::trial::Bench;

/// What is known of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Its name: `git`, `tyran`, `gitleaks`, `net`, `state`, or a host's id.
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

/// Routes that are no host's.
pub const PROGRAMS: &[&str] = &["git", "tyran", "gitleaks", "net", "state"];

/// Looks at every route, or at those of `only` where it names any.
///
/// # Errors
/// When nothing could be looked at.
pub fn examine(world: &World, table: &Table, own: &Own, only: &[String]) -> Result<Vec<Route>, Refusal> {
    let is_asked = |name: &str| only.is_empty() || only.iter().any(|asked| asked == name);
    let mut routes: Vec<Route> = programs(world, own).into_iter().chain([gitleaks(), net(world, own)]).collect();
    if let Some(folder) = state().ok().filter(|folder| folder.exists()) {
        routes.push(Route::new("state", Some(&folder), super::own::wrong(&folder)));
    }
    routes.retain(|route| is_asked(&route.route));
    let places = Places::read()?;
    let mut bench = None;
    for host in table.hosts.iter().filter(|host| is_asked(&host.id)) {
        match files(world, host, &places) {
            Ok(files) => {
                for file in &files {
                    routes.push(host_route(world, host, file, &mut bench));
                }
                routes.extend(elsewhere(world, host, &files));
            }
            Err(refusal) => routes.push(Route::new(&host.id, None, vec![refusal.what.to_string()])),
        }
        let is_found = hosts::is_found(world, host);
        if (is_found || !only.is_empty()) && !routes.iter().any(|route| route.route == host.id) {
            let used = if is_found { "is used here and has" } else { "has" };
            let todo = format!("{} {used} no gate; `tyran setup {}` puts one in place", host.product, host.id);
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
            let git_crypt = recorded.git_crypt.as_ref();
            let git_crypt = git_crypt.map(|one| Route::new("git-crypt", Some(&one.path), problem(one.check())));
            [
                Route::new("git", Some(&recorded.git.path), problem(recorded.git.check())),
                Route::new("tyran", Some(&recorded.tyran.path), tyran),
            ]
            .into_iter()
            .chain(git_crypt)
            .collect()
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
    // Where the host looks as it is started from here, and where it would without what moves its files.
    let usual = host.entry.user.as_deref().and_then(|named| hosts::usually(world, named));
    let looked = [Reach::User, Reach::Project].into_iter().filter_map(|reach| hosts::file(world, host, reach));
    for file in looked.chain(usual) {
        let Some(bytes) = read_if_there(&file)? else { continue };
        let file = super::keep::resolved(&file)?;
        if !files.contains(&file) && holds_ours(host, &file, &bytes) {
            files.push(file);
        }
    }
    Ok(files)
}

/// Whether a file holds an entry of ours; one that does not parse may: then our name is in it.
fn holds_ours(host: &Host, file: &Path, bytes: &[u8]) -> bool {
    match hosts::calls(host, file, bytes) {
        Ok(found) => !found.is_empty(),
        Err(_) => bstr::ByteSlice::contains_str(bytes, format!("gate --host {}", host.id)),
    }
}

/// A host whose user has an entry, and that reads another file as it is started from here.
fn elsewhere(world: &World, host: &Host, files: &[PathBuf]) -> Option<Route> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let reads = hosts::file(world, host, Reach::User)?;
    let usual = hosts::usually(world, host.entry.user.as_deref()?)?;
    let project = hosts::file(world, host, Reach::Project);
    let is_read = |file: &PathBuf| *file == real(&reads) || project.as_deref().is_some_and(|own| *file == real(own));
    // What lies as a project's own file does may be one.
    let named = host.entry.project.as_deref().unwrap_or_default();
    let is_users = |file: &PathBuf| *file == real(&usual) || !file.ends_with(named);
    if files.iter().any(is_read) || !files.iter().any(is_users) {
        return None;
    }
    let named = [host.entry.moved_by.as_deref(), host.entry.home_by.as_deref()];
    let moving = named.into_iter().flatten().chain(host.entry.xdg.then_some("XDG_CONFIG_HOME"));
    let (set, unset): (Vec<&str>, Vec<&str>) =
        moving.partition(|name| world.var(name).is_some_and(|value| !value.is_empty()));
    let why = match (set.first(), unset.first()) {
        (Some(name), _) => format!("{name} is set"),
        (None, Some(name)) => format!("{name} is not set"),
        (None, None) => return None,
    };
    let what = format!(
        "{why}: started from here, {} reads {}, which has no entry; `tyran setup {}` puts one there",
        host.product,
        shown(&reads),
        host.id
    );
    Some(Route::new(&host.id, Some(&reads), vec![what]))
}

fn host_route(world: &World, host: &Host, file: &Path, bench: &mut Option<Bench>) -> Route {
    let off = disarm::switched_off(world, host);
    let problems = match problems(world, host, file, off.problems, bench) {
        Ok(problems) => problems,
        Err(refusal) => vec![refusal.what.to_string()],
    };
    let mut route = Route::new(&host.id, Some(file), problems);
    route.what.extend(off.notes);
    route.what.extend(disarm::beside(world, host));
    route
}

fn problems(
    world: &World,
    host: &Host,
    file: &Path,
    mut problems: Vec<String>,
    bench: &mut Option<Bench>,
) -> Result<Vec<String>, Refusal> {
    let Some(bytes) = read_if_there(file)? else {
        return Ok(vec!["the file is gone; `tyran setup` writes it anew".to_owned()]);
    };
    let found = hosts::calls(host, file, &bytes)?;
    problems.extend(disarm::by_its_file(world, host, file, &bytes));
    problems.extend(disarm::untrusted(world, host, file, &bytes));
    problems.extend(disarm::too_old(world, host));
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
            let mut wrong = disarm::by_its_fields(host, found);
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
