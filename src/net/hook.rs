//! What runs inside git's hooks.
//!
//! Promise: pre-push reads every line that git writes and takes git's remote ids as evidence;
//! pre-commit reads the index that git is about to record; commit-msg reads the final message. What
//! cannot be checked is a refusal. The report goes to standard error, where people see it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use bstr::{BString, ByteSlice};

use crate::command::plan::{CommitRequest, CommitVerb, GitContext, Publish, State};
use crate::journal::{self, Record};
use crate::judge::{self, Judged, Setup};
use crate::payload::{Destination, Fault, ItemKind, Payload, source::Texts};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal, Verdict};
use crate::world::World;

use super::chain;
use super::names::{Role, role};
use super::place::{self, Own};

/// Most bytes that git may write to a hook: a push of a million refs fits.
const INPUT_LIMIT_BYTES: u64 = 256 << 20;

/// Most bytes that a commit message may have.
const MESSAGE_LIMIT_BYTES: u64 = 16 << 20;

/// How a hook ended.
pub enum Ending {
    /// Everything was checked; git goes on when this is 0, else the repository's own hook said no.
    Chained(u8),
    /// Checked, and the answer is no.
    Refused(Box<Judged>),
}

/// Who started us, and so who sees to the repository's own hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Our hooks directory: we go on to the repository's own hook.
    Directory,
    /// `hook.<name>.command`: git does.
    Settings,
    /// pre-commit or prek, which tells of a push in variables and not on standard input.
    PreCommit,
}

/// Runs the hook `name`.
///
/// # Errors
/// When the hook is unknown, its input cannot be read, or the repository's own hook cannot be run.
pub fn run(world: &World, name: &str, args: &[OsString], caller: Caller, setup: &Setup) -> Result<Ending, Refusal> {
    let Some(role) = role(name) else {
        return Err(Refusal::new(
            Class::Usage,
            SafeText::new(&format!("git has no hook called {name:?}")),
            "run `tyran git-hook pre-push`",
        ));
    };
    let started = Instant::now();
    let git = context(world);
    let (args, input) = match (name, caller) {
        ("pre-push", Caller::PreCommit) => {
            let (args, lines) = told_by_pre_commit(world)?;
            (args, Some(lines))
        }
        ("pre-push", Caller::Directory | Caller::Settings) => (args.to_vec(), Some(standard_input()?)),
        _ => (args.to_vec(), None),
    };
    let args = args.as_slice();
    let chained = |input: Option<&[u8]>| -> Result<u8, Refusal> {
        if caller != Caller::Directory {
            return Ok(0);
        }
        let theirs = chain::folder(world, &git)?;
        place::place_needed(&Own::of_process()?, &theirs)?;
        Ok(chain::run(world, &theirs, name, args, input)?)
    };
    match role {
        Role::ChainOnly => Ok(Ending::Chained(chained(None)?)),
        Role::CheckThenChain => match checked(world, name, args, input.as_deref(), setup, started)? {
            Some(judged) => Ok(Ending::Refused(Box::new(judged))),
            None => Ok(Ending::Chained(chained(input.as_deref())?)),
        },
        Role::ChainThenCheck => {
            let code = chained(None)?;
            if code != 0 {
                return Ok(Ending::Chained(code));
            }
            Ok(match checked(world, name, args, None, setup, started)? {
                Some(judged) => Ending::Refused(Box::new(judged)),
                None => Ending::Chained(0),
            })
        }
    }
}

/// The one ref that pre-commit tells of: it reads git's list itself and hands on a single entry, so a
/// push of several refs is whole only with `tyran install git`. Its FROM_REF is a guess at what the
/// remote has, and is left out: the remote is asked.
fn told_by_pre_commit(world: &World) -> Result<(Vec<OsString>, Vec<u8>), Refusal> {
    let told = |name: &str| {
        world.var(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty()).ok_or_else(
            || {
                Refusal::new(
                    Class::Event,
                    format!("{name} is not set"),
                    "run it from pre-commit's or prek's pre-push stage",
                )
            },
        )
    };
    let new = told("PRE_COMMIT_TO_REF")?;
    let line = format!(
        "{} {new} {} {}\n",
        told("PRE_COMMIT_LOCAL_BRANCH")?,
        told("PRE_COMMIT_REMOTE_BRANCH")?,
        "0".repeat(new.len())
    );
    let args = vec![told("PRE_COMMIT_REMOTE_NAME")?.into(), told("PRE_COMMIT_REMOTE_URL")?.into()];
    Ok((args, line.into_bytes()))
}

/// `None` when there is no objection.
fn checked(
    world: &World,
    name: &str,
    args: &[OsString],
    input: Option<&[u8]>,
    setup: &Setup,
    started: Instant,
) -> Result<Option<Judged>, Refusal> {
    let judged = match name {
        "pre-push" => judge::hook_lines(world, args, input.unwrap_or_default(), setup, started),
        "commit-msg" | "applypatch-msg" => message(world, args, setup, started)?,
        _ => judge::publishes(world, &[index(world)], setup, started),
    };
    note(world, name, input, &judged);
    Ok(match judged.verdict {
        Verdict::Pass(_) => None,
        Verdict::Ask(_) | Verdict::Refuse(_) => Some(judged),
    })
}

/// Writes what was asked and answered into the journal; the gate's probe compares the ids of a push
/// with the reflogs of tracking refs.
fn note(world: &World, name: &str, input: Option<&[u8]>, judged: &Judged) {
    let passed = matches!(judged.verdict, Verdict::Pass(_));
    let tips = input
        .filter(|_| passed)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| Some(line.rsplitn_str(4, " ").nth(2)?.to_str_lossy().into_owned()));
    journal::append(&Record {
        at: journal::now(),
        by: "net".to_owned(),
        of: name.to_owned(),
        decision: judged.verdict.word().to_owned(),
        class: judged.refusal().map(|refusal| refusal.class.word().to_owned()).unwrap_or_default(),
        dir: world.cwd.to_string_lossy().into_owned(),
        tips: tips.collect(),
        millis: u64::try_from(judged.elapsed.as_millis()).unwrap_or(u64::MAX),
        ..Record::default()
    });
}

/// Where the hook runs: git has set GIT_DIR, GIT_INDEX_FILE and the like in our own environment.
fn context(world: &World) -> GitContext {
    GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() }
}

/// The commit that git is about to make from the index it prepared (`GIT_INDEX_FILE` for partial
/// commits). Its message is commit-msg's.
fn index(world: &World) -> Publish {
    Publish::Commit(CommitRequest {
        git: context(world),
        verb: CommitVerb::Commit,
        args: [OsString::from("-m"), OsString::from("-")].into_iter().map(Some).collect(),
        steps: Vec::new(),
        written: Vec::new(),
        state: State::AsNow,
    })
}

fn message(world: &World, args: &[OsString], setup: &Setup, started: Instant) -> Result<Judged, Refusal> {
    let Some(file) = args.first() else {
        return Err(Refusal::new(
            Class::Usage,
            "git names the message's file in the first argument, and there is none",
            "run it through git",
        ));
    };
    let text = read_bounded(&world.cwd.join(file))?;
    let part = Texts::part([(ItemKind::Message, BString::from(without_verbose_diff(&text)))]);
    let payload = Payload {
        parts: vec![part],
        destinations: vec![Destination { url: "the commit's message".into(), refs: Vec::new() }],
        exact: true,
        ..Payload::default()
    };
    Ok(judge::payload(world, payload, setup, started))
}

/// With `commit -v` git puts the diff under a scissors line and cuts it off again; what the commit
/// removes would be a finding there. The line and the one after it are git's own words (wt-status.c
/// of 2.47), and pre-push reads the message as it was recorded.
fn without_verbose_diff(message: &[u8]) -> &[u8] {
    const SCISSORS: &[u8] = b"------------------------ >8 ------------------------\n";
    let Some(cut) = message.find(SCISSORS) else { return message };
    let below = message.get(cut + SCISSORS.len()..).unwrap_or_default();
    let after_notes = below.lines().find(|line| !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b";"));
    if after_notes.is_some_and(|line| line.starts_with(b"diff --git ")) {
        return message.get(..cut).unwrap_or(message);
    }
    message
}

fn standard_input() -> Result<Vec<u8>, Refusal> {
    let mut lines = Vec::new();
    let read = io::stdin().lock().take(INPUT_LIMIT_BYTES + 1).read_to_end(&mut lines);
    read.map_err(|error| Refusal::from(Fault::File { path: "standard input".into(), what: error.to_string().into() }))?;
    if lines.len() as u64 > INPUT_LIMIT_BYTES {
        return Err(Refusal::new(
            Class::Event,
            format!("git wrote more than {INPUT_LIMIT_BYTES} bytes"),
            "push fewer refs at a time",
        ));
    }
    Ok(lines)
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, Refusal> {
    let fault = |what: String| {
        Refusal::from(Fault::File {
            path: SafeText::quoted(path.as_os_str().as_encoded_bytes(), 300),
            what: what.into(),
        })
    };
    let size = fs::metadata(path).map_err(|error| fault(error.to_string()))?.len();
    if size > MESSAGE_LIMIT_BYTES {
        return Err(fault(format!("a message of more than {MESSAGE_LIMIT_BYTES} bytes")));
    }
    fs::read(path).map_err(|error| fault(error.to_string()))
}
