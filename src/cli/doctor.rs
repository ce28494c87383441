//! `tyran doctor`: is every gate alive?

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::install::doctor::{self, Route, State};
use crate::net::place::Own;
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};

use super::out::say;
use super::{install, options};

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One object.
    Json,
}

/// `tyran doctor`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only these: hosts by their names in `tyran hosts`, `git`, `tyran`, `gitleaks` or `net`
    #[arg(value_name = "ROUTE")]
    routes: Vec<String>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Looks at every route and tries every gate.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    let table = install::table()?;
    let is_known = |name: &String| doctor::PROGRAMS.contains(&name.as_str()) || table.host(name).is_some();
    if let Some(name) = arguments.routes.iter().find(|name| !is_known(name)) {
        return Err(Refusal::new(
            Class::Usage,
            format!("{name:?} is not a route that tyran knows"),
            "run `tyran hosts`",
        ));
    }
    let routes = doctor::examine(&world, &table, &Own::of_process()?, &arguments.routes)?;
    let is_alive = routes.iter().all(|route| route.state != State::Broken);
    match arguments.format {
        Format::Human => routes.iter().try_for_each(show)?,
        Format::Json => say!("{}", json!({ "alive": is_alive, "routes": routes }))?,
    }
    Ok(if is_alive { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(route: &Route) -> Result<(), Refusal> {
    let state = match route.state {
        State::Alive => "alive",
        State::Absent => "absent",
        State::Broken => "BROKEN",
    };
    let place = route.place.as_ref().map(|place| SafeText::new(place).to_string()).unwrap_or_default();
    say!("{}", format!("{:<12} {state:<7} {place}", route.route).trim_end())?;
    for what in &route.what {
        say!("{:<20} {}", "", SafeText::new(what))?;
    }
    Ok(())
}
