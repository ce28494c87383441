//! Refs that git's list for its pre-push hook leaves out.
//!
//! Promise: a ref that git's client rejects (no fast-forward, a stale lease) is not in that list, though its objects
//! go into the pack as soon as another ref is accepted (facts of `send-pack.c` and `transport.c`, git 2.47 to 2.55). The
//! words of the `git push` that runs the hook say which refs it was asked for, so the push is taken apart again and
//! what the list lacks is added. Nothing is ever taken away: where those words cannot be read (a system that does
//! not tell of processes, a program that pushes without git) the list is all there is, which docs/threats.md names.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use bstr::{BStr, BString};

use crate::command::alias::{self, Alias};
use crate::command::plan::{GitContext, MovedTo, PushRequest, PushVia, State};
use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;
use crate::world::ancestors::ancestors;

use super::args::{self, Parsed, PushArgs};
use super::config::Configuration;
use super::resolve::Update;
use super::transfer::{PushOptions, resolve};

/// git's global options whose value is the next word.
const WITH_VALUE: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// So many aliases of aliases are followed.
const ALIASES: usize = 10;

/// What the list lacks.
#[derive(Debug, Default)]
pub struct LeftOut {
    /// Updates that the client rejects, or may.
    pub updates: Vec<Update>,
    /// What the destination said that it has.
    pub evidence: Vec<ObjectId>,
    /// What a person should know.
    pub notes: Vec<SafeText>,
}

/// What the list `told` lacks of the push that runs this hook.
///
/// # Errors
/// When configuration cannot be read.
pub fn left_out(
    world: &World,
    git: &GitContext,
    url: &BStr,
    told: &[Update],
    options: PushOptions<'_>,
) -> Result<LeftOut, Fault> {
    // Without a ref that is accepted no pack is sent.
    if !told.iter().any(|update| update.new.is_some()) {
        return Ok(LeftOut::default());
    }
    let config = Configuration::read(world, git)?;
    let Some(words) = ancestors().iter().find_map(|argv| words_of_push(argv, &config)) else {
        return Ok(LeftOut::default());
    };
    match args::push(&words) {
        Ok(Parsed::Args(args)) if could_be_more(&args, &config) => {}
        Ok(Parsed::Args(_) | Parsed::Refused(_)) => return Ok(LeftOut::default()),
        Err(fault) => return Ok(LeftOut::unknown(&fault)),
    }
    let request = PushRequest {
        git: git.clone(),
        args: words.iter().cloned().map(Some).collect(),
        state: State::AsNow,
        via: PushVia::Push,
        moved_to: MovedTo::default(),
    };
    let resolved = match resolve(world, &request, &words, options) {
        Ok(resolved) => resolved,
        Err(fault) => return Ok(LeftOut::unknown(&fault)),
    };
    let here = |transfer: &&super::Transfer| transfer.url == url;
    // A url that is written in another way than git tells it must not hide anything.
    let any = !resolved.transfers.iter().any(|transfer| here(&transfer));
    let mut found = LeftOut::default();
    for transfer in resolved.transfers.iter().filter(|transfer| any || here(transfer)) {
        if !any {
            found.evidence.extend(transfer.evidence.iter().flatten());
        }
        let missing = transfer.updates.iter().filter(|update| update.new.is_some() && !update.is_up_to_date());
        let missing = missing.filter(|update| !told.iter().any(|known| known.new == update.new));
        found.updates.extend(missing.cloned());
    }
    if !found.updates.is_empty() {
        let names: Vec<String> =
            found.updates.iter().map(|update| SafeText::quoted(&update.destination, 120).to_string()).collect();
        found.notes.push(
            format!(
                "git does not tell its hook of {}, whose objects it sends when another ref is accepted",
                names.join(", ")
            )
            .into(),
        );
    }
    Ok(found)
}

impl LeftOut {
    fn unknown(fault: &Fault) -> Self {
        let note = format!("refs that git's client may reject are not known: {}", SafeText::new(&fault.to_string()));
        Self { notes: vec![note.into()], ..Self::default() }
    }
}

/// The words after `git push`, aliases followed; `None` for any other process.
fn words_of_push(argv: &[OsString], config: &Configuration) -> Option<Vec<OsString>> {
    let (program, rest) = argv.split_first()?;
    match Path::new(program).file_name()?.as_bytes() {
        b"git-push" => return Some(rest.to_vec()),
        b"git" => {}
        _ => return None,
    }
    let mut rest = rest.to_vec();
    for _ in 0..ALIASES {
        let mut at = 0;
        while rest.get(at).is_some_and(|word| word.as_bytes().starts_with(b"-")) {
            at += if rest.get(at).is_some_and(|word| WITH_VALUE.iter().any(|option| word == option)) { 2 } else { 1 };
        }
        let verb = rest.get(at)?;
        let after = rest.get(at + 1..).unwrap_or_default();
        if verb == "push" {
            return Some(after.to_vec());
        }
        let verb = verb.to_str()?;
        let value = config.last(&format!("alias.{}", verb.to_lowercase()))?;
        let Alias::Words(words) = alias::read(value) else { return None };
        rest = words.into_iter().map(|word| OsString::from_vec(Vec::from(word))).chain(after.iter().cloned()).collect();
    }
    None
}

/// Whether the push could be of more refs than one. What configuration says is read widely: `any` remote's setting
/// counts.
fn could_be_more(args: &PushArgs, config: &Configuration) -> bool {
    if args.all || args.mirror || args.tags {
        return true;
    }
    match args.operands.get(1..).unwrap_or_default() {
        [] => {
            let matching = config.last("push.default").is_some_and(|value| value == "matching");
            matching || config.named("remote").any(|(_, variable, _)| variable == "push" || variable == "mirror")
        }
        [one] => many(one),
        [_, _, ..] => true,
    }
}

/// A pattern, or `:`.
fn many(refspec: &BString) -> bool {
    refspec.contains(&b'*') || matches!(refspec.as_slice(), b":" | b"+:")
}
