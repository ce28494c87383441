//! `tyran payload`: lists what would leave, and scans nothing.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use bstr::ByteSlice;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::command::plan::{Outcome, Publish};
use crate::judge;
use crate::payload::assemble::{self, Assembly};
use crate::payload::{Fault, Item, ItemKind, Payload};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::World;

use super::scan_command::{Line, text};
use super::{options, scan_commit, scan_push};

/// `tyran payload push|commit|command [-C DIR] ...`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    of: Of,
}

#[derive(Debug, Subcommand)]
enum Of {
    /// What `git push` with the same arguments would send
    Push(GitArguments),
    /// What `git commit` with the same arguments would record
    Commit(GitArguments),
    /// What a command line would publish
    Command(CommandArguments),
}

#[derive(Debug, Args)]
struct GitArguments {
    /// How the list is written
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    format: ListFormat,
    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Let git itself make the pack in a local quarantine, and list exactly that
    #[arg(long)]
    airlock: bool,
    /// Do not ask the remote what it has
    #[arg(long)]
    no_network: bool,
    /// Arguments as for git
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    args: Vec<OsString>,
}

#[derive(Debug, Args)]
struct CommandArguments {
    /// How the list is written
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    format: ListFormat,
    #[command(flatten)]
    line: Line,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A line per item
    Human,
    /// One object with stable keys
    Json,
}

/// The JSON contract; keys are only ever added.
#[derive(Serialize)]
struct Listing<'a> {
    outcome: &'static str,
    exact: bool,
    items: Vec<Listed<'a>>,
    objects: u64,
    bytes: u64,
    destinations: Vec<Place<'a>>,
    notes: Vec<&'a str>,
    refusal: Option<Refused<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    kind: ItemKind,
    oid: Option<String>,
    size: u64,
    path: Option<std::borrow::Cow<'a, str>>,
    commit: Option<String>,
}

#[derive(Serialize)]
struct Place<'a> {
    url: &'a str,
    refs: Vec<&'a str>,
}

#[derive(Serialize)]
struct Refused<'a> {
    class: Class,
    what: &'a str,
    #[serde(rename = "do")]
    remedy: &'a str,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    match &arguments.of {
        Of::Push(push) => of_git(push, scan_push::request),
        Of::Commit(commit) => of_git(commit, scan_commit::request),
        Of::Command(command) => of_command(command),
    }
}

fn of_git(arguments: &GitArguments, request: fn(&World, &[OsString]) -> Publish) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.directory.as_ref())?;
    let mut assembly = Assembly::of(&world);
    assembly.network &= !arguments.no_network;
    assembly.airlock = arguments.airlock;
    let assembled = match assemble::payload(&world, &[request(&world, &arguments.args)], assembly, None) {
        Ok(assembled) => Ok((outcome_of(&assembled.payload), assembled.payload)),
        Err(Fault::GitRefuses(why)) => {
            Ok((Outcome::Inert, Payload { notes: vec![why], exact: true, ..Payload::default() }))
        }
        Err(fault) => Err((Outcome::Unknowable, Refusal::from(fault))),
    };
    print(arguments.format, assembled)
}

fn of_command(arguments: &CommandArguments) -> Result<ExitCode, Refusal> {
    let world = options::world(arguments.line.directory.as_ref())?;
    let text = text(&arguments.line.words);
    print(arguments.format, judge::listed(&world, &text, arguments.line.shell, Assembly::of(&world)))
}

fn outcome_of(payload: &Payload) -> Outcome {
    if payload.is_empty() { Outcome::Inert } else { Outcome::Publishes }
}

/// Writes the list. It exits 0 when it answered, whatever the outcome.
fn print(format: ListFormat, assembled: Result<(Outcome, Payload), (Outcome, Refusal)>) -> Result<ExitCode, Refusal> {
    let (outcome, payload, refusal) = match assembled {
        Ok((outcome, payload)) => (outcome, payload, None),
        Err((outcome, refusal)) => (outcome, Payload::default(), Some(refusal)),
    };
    let mut out = std::io::BufWriter::new(super::out::stdout());
    let written = match format {
        ListFormat::Json => json(&mut out, outcome, &payload, refusal.as_ref()),
        ListFormat::Human => human(&mut out, outcome, &payload, refusal.as_ref()),
    };
    written.and_then(|()| out.flush()).map_err(|error| {
        Refusal::new(
            Class::File,
            format!("the list could not be written: {error}"),
            "give standard output a place that takes it, then try again",
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn json(out: &mut dyn Write, outcome: Outcome, payload: &Payload, refusal: Option<&Refusal>) -> std::io::Result<()> {
    let tally = payload.tally();
    let listing = Listing {
        outcome: crate::command::plan_json::outcome_word(outcome),
        exact: payload.exact,
        items: items(payload).map(listed).collect(),
        objects: tally.objects,
        bytes: tally.bytes,
        destinations: payload
            .destinations
            .iter()
            .map(|place| Place { url: place.url.as_str(), refs: place.refs.iter().map(SafeText::as_str).collect() })
            .collect(),
        notes: payload.notes.iter().map(SafeText::as_str).collect(),
        refusal: refusal.map(|refusal| Refused {
            class: refusal.class,
            what: refusal.what.as_str(),
            remedy: refusal.remedy.as_str(),
        }),
    };
    serde_json::to_writer(&mut *out, &listing)?;
    out.write_all(b"\n")
}

fn items(payload: &Payload) -> impl Iterator<Item = &Item> {
    payload.parts.iter().flat_map(|part| &part.items)
}

fn listed(item: &Item) -> Listed<'_> {
    Listed {
        kind: item.kind,
        oid: item.oid.map(|id| id.to_string()),
        size: item.size,
        path: shown_path(item),
        commit: item.commit.map(|id| id.to_string()),
    }
}

/// The path of what has one; a text's place among its like is not a path.
fn shown_path(item: &Item) -> Option<std::borrow::Cow<'_, str>> {
    match item.kind {
        ItemKind::Blob | ItemKind::Tree | ItemKind::File | ItemKind::Lfs => {
            item.path.as_ref().map(|path| path.to_str_lossy())
        }
        ItemKind::Commit | ItemKind::Tag | ItemKind::Ref | ItemKind::Option | ItemKind::Message | ItemKind::Command => {
            None
        }
    }
}

fn human(out: &mut dyn Write, outcome: Outcome, payload: &Payload, refusal: Option<&Refusal>) -> std::io::Result<()> {
    if let Some(refusal) = refusal {
        return write!(out, "{refusal}");
    }
    for item in items(payload) {
        let kind = format!("{:?}", item.kind).to_lowercase();
        let oid = item.oid.map_or_else(|| "-".repeat(12), |id| id.to_hex_with_len(12).to_string());
        let path = shown_path(item).map(|path| SafeText::quoted(path.as_bytes(), 200).to_string()).unwrap_or_default();
        writeln!(out, "{kind:8} {oid:12} {size:>12}  {path}", size = item.size)?;
    }
    for note in &payload.notes {
        writeln!(out, "note: {note}")?;
    }
    let tally = payload.tally();
    if outcome == Outcome::Inert {
        return writeln!(out, "nothing would be published");
    }
    let exactly = if payload.exact { "exactly" } else { "at most" };
    let places = payload.destinations.iter().map(|place| place.url.to_string()).collect::<Vec<_>>().join(", ");
    writeln!(out, "{exactly} {} objects, {} bytes would leave for {places}", tally.objects, tally.bytes)
}
