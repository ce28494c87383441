//! `tyran setup`, `tyran install` and `tyran uninstall`: put gate and net in place; keep what is there.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::command::plan::GitContext;
use crate::host::table::{Host, Table};
use crate::install::hosts::{self, Places, Planned, Reach};
use crate::install::keep::{self, shown};
use crate::install::lines::{self, Line};
use crate::install::recorded::Recorded;
use crate::net::Standing;
use crate::net::place::{self, Change, Method, Own, Scope};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::World;

use super::options;
use super::out::{self, say};

/// `tyran install|uninstall HOST...|git [--global|--repo]`
#[derive(Debug, Args)]
pub struct Arguments {
    /// What to put in place or take away: hosts by their names in `tyran hosts`, or `git`
    #[arg(required_unless_present = "all", value_name = "HOST|git")]
    targets: Vec<String>,
    /// Everything that tyran put in place
    #[arg(long, conflicts_with = "targets")]
    all: bool,
    /// For every repository of this user (the default)
    #[arg(long, conflicts_with = "repo")]
    global: bool,
    /// For the repository here alone
    #[arg(long)]
    repo: bool,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// `tyran setup [HOST...]`
#[derive(Debug, Args)]
pub struct Setup {
    /// Hosts by their names in `tyran hosts` (default: those that are used on this machine)
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    /// For the directory here alone
    #[arg(long)]
    project: bool,
    /// Show what would be changed; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Gate, net and the record of git and tyran.
pub fn setup(arguments: &Setup) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    let table = table()?;
    let own = Own::of_process()?;
    let _alone = if arguments.dry_run { None } else { Some(keep::alone()?) };
    let places = Places::read()?;
    let chosen = if arguments.hosts.is_empty() {
        table.hosts.iter().filter(|host| hosts::is_found(&world, host)).collect()
    } else {
        named(&table, &arguments.hosts)?
    };
    let reach = if arguments.project { Reach::Project } else { Reach::User };
    let (planned, taken, mut left) = planned(&world, &chosen, reach, &own, &places);
    if chosen.is_empty() {
        say!("no host that tyran knows is used here; `tyran hosts` lists them")?;
    }
    for change in &planned {
        show(change)?;
    }
    let scope = if arguments.project { Scope::Repository } else { Scope::Global };
    let git = context(&world);
    let method = place::best_method(&world, &git)?;
    let of_git = place::would_set(&world, &git, scope, method, &own.program)?;
    if let Some((file, setting)) = &of_git {
        say!("{} (git)", shown(file))?;
        say!("+ {setting}")?;
    }
    if arguments.dry_run {
        say!("nothing was changed")?;
        return told(&left);
    }
    if (!planned.is_empty() || of_git.is_some()) && !arguments.yes && !is_agreed()? {
        say!("nothing was changed")?;
        return Ok(ExitCode::FAILURE);
    }
    let recorded = Recorded::now(&world, &own.program)?;
    if Recorded::read().ok().flatten().as_ref() != Some(&recorded) {
        recorded.write()?;
        say!("recorded {} and {}", shown(&recorded.git.path), shown(&recorded.tyran.path))?;
    }
    left.extend(put_net(&world, scope, &own)?.map(|refusal| ("git: not as it was asked for".to_owned(), refusal)));
    put_hosts(&taken, &planned, places)?;
    told(&left)
}

/// What is to be changed for hosts, the hosts of which that is known, and the others with the reason.
fn planned<'h>(
    world: &World,
    chosen: &[&'h Host],
    reach: Reach,
    own: &Own,
    places: &Places,
) -> (Vec<Planned>, Vec<&'h Host>, Vec<(String, Refusal)>) {
    let (mut planned, mut taken, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for host in chosen {
        match hosts::plan(world, host, reach, &own.program, places) {
            Ok(changes) => {
                planned.extend(changes);
                taken.push(*host);
            }
            Err(refusal) => left.push((format!("{}: left as it is", host.id), refusal)),
        }
    }
    (planned, taken, left)
}

/// Tells of the hosts that were left out, each with its reason; the first one's class is how it ends.
fn told(left: &[(String, Refusal)]) -> Result<ExitCode, Refusal> {
    for (head, refusal) in left {
        out::complain(format_args!("{head}\n{refusal}"));
    }
    Ok(left.first().map_or(ExitCode::SUCCESS, |(_, refusal)| ExitCode::from(refusal.class.exit_code())))
}

/// Puts single parts in place.
pub fn install(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    let table = table()?;
    let own = Own::of_process()?;
    if arguments.all {
        return Err(Refusal::new(Class::Usage, "`--all` is for `tyran uninstall`", "run `tyran setup`"));
    }
    let (git, others): (Vec<_>, Vec<_>) = arguments.targets.iter().cloned().partition(|target| target == "git");
    let chosen = named(&table, &others)?;
    let reach = if arguments.repo { Reach::Project } else { Reach::User };
    let _alone = keep::alone()?;
    let places = Places::read()?;
    let (planned, taken, mut left) = planned(&world, &chosen, reach, &own, &places);
    if !git.is_empty() {
        left.extend(
            put_net(&world, scope(arguments), &own)?
                .map(|refusal| ("git: not as it was asked for".to_owned(), refusal)),
        );
    }
    put_hosts(&taken, &planned, places)?;
    told(&left)
}

/// Takes parts away.
pub fn uninstall(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    let table = table()?;
    let _alone = keep::alone()?;
    let mut places = Places::read()?;
    let (git, others): (Vec<_>, Vec<_>) = arguments.targets.iter().cloned().partition(|target| target == "git");
    let chosen = if arguments.all { table.hosts.iter().collect() } else { named(&table, &others)? };
    let mut left = Vec::new();
    for host in chosen {
        let changed = match hosts::uninstall(&world, host, &mut places) {
            Ok(changed) => changed,
            Err(refusal) => {
                left.push((format!("{}: left as it is", host.id), refusal));
                continue;
            }
        };
        if changed.is_empty() && !arguments.all {
            say!("{}: there was no entry of tyran's; nothing was changed", host.id)?;
        }
        for file in changed {
            say!("{}: the entry was taken away from {}", host.id, shown(&file))?;
        }
    }
    if arguments.all || !git.is_empty() {
        let git = context(&world);
        match place::uninstall(&world, &git, scope(arguments)) {
            Ok(Change::None) => say!("git: the net was not in place here; nothing was changed")?,
            Ok(Change::Made(file)) => say!("git: the net was taken away; {} is as it was", file.display())?,
            Err(refusal) => left.push(("git: left as it is".to_owned(), refusal)),
        }
    }
    if arguments.all {
        // Those of single repositories stand in files of theirs.
        for file in place::recorded_files()? {
            if let Change::Made(file) = place::uninstall_from(&world, &context(&world), file)? {
                say!("git: the net was taken away; {} is as it was", file.display())?;
            }
        }
        Recorded::forget()?;
    }
    told(&left)
}

/// Puts the net in place; why it does not hold here, where that was the place that was asked for.
fn put_net(world: &World, scope: Scope, own: &Own) -> Result<Option<Refusal>, Refusal> {
    let git = context(world);
    let method = place::best_method(world, &git)?;
    match place::install(world, &git, scope, method, &own.program)? {
        Change::None => say!("git: the net is in place already; nothing was changed")?,
        Change::Made(file) => {
            say!("git: the net is in place ({}), through {}", how(method), file.display())?;
            // Seen of pre-commit 4.7.0, prek 0.5.11 and lefthook 2.2.2: `install` ends with an error while a hooks path is set.
            match (method, scope) {
                (Method::Directory, Scope::Global) => say!(
                    "git: pre-commit, prek and lefthook install their hooks from now on with GIT_CONFIG_GLOBAL=/dev/null before `… install`"
                )?,
                (Method::Directory, Scope::Repository) => say!(
                    "git: before another hook manager is installed here, run `tyran uninstall git --repo`; after it, this again"
                )?,
                (Method::Settings, Scope::Global | Scope::Repository) => {}
            }
        }
    }
    // A hooks path of the repository's own (husky sets one) goes before the user's.
    if let Ok(Standing::Cut(why)) = crate::net::standing(world, &git, "pre-push", own) {
        let what = format!("in this repository the net does not hold: {why}");
        let todo = place::way_out(world, &git)?;
        match scope {
            Scope::Repository => return Ok(Some(Refusal::new(Class::Installation, what, todo))),
            Scope::Global => {
                say!("git: {what}")?;
                say!("do:  {todo}")?;
            }
        }
    }
    Ok(None)
}

fn put_hosts(chosen: &[&Host], planned: &[Planned], mut places: Places) -> Result<(), Refusal> {
    for change in planned {
        hosts::write(change, &mut places)?;
        say!("{}: the entry is in place, in {}", change.host, shown(&change.file))?;
    }
    for host in chosen {
        let is_changed = planned.iter().any(|change| change.host == host.id);
        if !is_changed {
            say!("{}: the entry is in place already; nothing was changed", host.id)?;
        } else if let Some(todo) = &host.entry.after_setup {
            say!("{}: left to do: {todo}", host.id)?;
        }
    }
    Ok(())
}

/// The table that is compiled in.
pub fn table() -> Result<Table, Refusal> {
    Table::builtin().map_err(|fault| Refusal::new(Class::Installation, fault.to_string(), "install tyran again"))
}

fn named<'t>(table: &'t Table, ids: &[String]) -> Result<Vec<&'t Host>, Refusal> {
    ids.iter()
        .map(|id| {
            table.host(id).ok_or_else(|| {
                Refusal::new(Class::Usage, format!("{id:?} is not a host that tyran knows"), "run `tyran hosts`")
            })
        })
        .collect()
}

fn context(world: &World) -> GitContext {
    GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() }
}

fn scope(arguments: &Arguments) -> Scope {
    if arguments.repo { Scope::Repository } else { Scope::Global }
}

/// Shows a change, line by line.
fn show(change: &Planned) -> Result<(), Refusal> {
    say!("{} ({})", shown(&change.file), change.host)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (now, then) = (change.now.as_deref().map(text).unwrap_or_default(), text(&change.after));
    for line in lines::between(&now, &then) {
        match line {
            Line::Same(text) => say!("  {}", SafeText::new(text))?,
            Line::Gone(text) => say!("- {}", SafeText::new(text))?,
            Line::New(text) => say!("+ {}", SafeText::new(text))?,
        }
    }
    Ok(())
}

/// Asks the person at the terminal.
fn is_agreed() -> Result<bool, Refusal> {
    if !io::stdin().is_terminal() {
        return Err(Refusal::new(Class::Usage, "nobody can be asked here", "add `--yes`, or `--dry-run` to only look"));
    }
    let asked = write!(out::stdout(), "write this? [y/N] ").and_then(|()| out::stdout().flush()).and_then(|()| {
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(answer)
    });
    let answer = asked.map_err(|error| Refusal::new(Class::Usage, format!("asking failed: {error}"), "add `--yes`"))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn how(method: Method) -> &'static str {
    match method {
        Method::Directory => "core.hooksPath, which goes on to each repository's own hooks",
        Method::Settings => "hook.<name>.command settings, beside each repository's own hooks",
    }
}
