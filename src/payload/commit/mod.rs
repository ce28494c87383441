//! What a commit would record.
//!
//! Promise: the blobs that enter the new tree, symlink targets, changed trees (their entry names are
//! content), the message and the identities; the *result* of git's own staging, made on a scratch index
//! and object folder, never on the user's. Where a form is not known, everything it could record.

mod args;
mod doubt;
mod from_tree;
mod laid;
mod message;
mod options;
mod other;
pub(super) mod parts;
mod pathspecs;
mod programs;
mod rules;
mod select;
pub(super) mod site;
pub(super) mod stage;
mod stash;
mod steps;
mod tables;
mod taken;

use std::sync::Arc;

use bstr::ByteSlice;

use crate::command::plan::{CommitRequest, CommitVerb, State};
use crate::text::SafeText;
use crate::world::World;

use super::remote::{By, Later};
use super::{Destination, Fault, ItemKind, Payload};

use args::CommitArgs;
use message::Message;
use parts::Wanted;
use site::Located;
use stage::Stage;

/// Everything that the commit would record.
///
/// # Errors
/// When git would refuse it, or it cannot be worked out.
pub fn payload(world: &World, request: &CommitRequest) -> Result<Payload, Fault> {
    match &request.verb {
        CommitVerb::Commit => commit(world, request),
        CommitVerb::Other(verb) => other::payload(world, request, verb),
    }
}

/// `git commit` in any form.
fn commit(world: &World, request: &CommitRequest) -> Result<Payload, Fault> {
    let args = CommitArgs::read(&request.args);
    if args.records_nothing() {
        return Ok(Payload { exact: true, ..Payload::default() });
    }
    let located = Located::of(&request.git);
    let mut stage = Stage::open(world, &request.git)?;
    if request.state != State::AsNow {
        stage.exact = false;
    }
    // What a filter that may not run would replace is kept beside what goes into it.
    if !stage.programs.filters.is_empty() {
        stage.snapshot()?;
        stage.exact = false;
    }
    for step in &request.steps {
        steps::run(&mut stage, step)?;
    }
    stage.lay_written(&request.written)?;
    let trees = select::trees(&mut stage, &located, &args)?;
    let mut message = message::read(&mut stage, &located, &args, &request.written)?;
    message::hooks(&mut stage, &mut message)?;
    let parents = parents(&stage, &args)?;
    stage.read_what_is_converted_otherwise(&trees, &parents)?;
    let mut wanted = Wanted::default();
    parts::entering(&stage, &trees, &parents, &mut wanted)?;
    taken_over(&stage, &parents, &mut wanted)?;
    message.commits.extend(messages_taken_over(&stage, &args)?);
    assemble(stage, wanted, message)
}

/// What other commits bring: a merge is made of lines of its sides.
fn taken_over(stage: &Stage<'_>, parents: &[String], wanted: &mut Wanted) -> Result<(), Fault> {
    let commits: Vec<String> = stage.tips.iter().chain(&stage.taken).cloned().collect();
    parts::entering(stage, &trees_of(stage, &commits)?, parents, wanted)
}

/// Commits whose messages could come into the new one's: those that are applied, and for a squash all
/// that it brings, unless the words give a message.
fn messages_taken_over(stage: &Stage<'_>, args: &CommitArgs) -> Result<Vec<String>, Fault> {
    let tips: Vec<String> = stage.tips.iter().cloned().collect();
    if tips.is_empty() || (args.gives_message() && !args.doubtful) {
        return Ok(Vec::new());
    }
    if !stage.squashed {
        return Ok(tips);
    }
    let asked = ["rev-list".to_owned()].into_iter().chain(tips).chain(["--not".to_owned()]).chain(stage.head.clone());
    let listed = stage.git(asked).with_replacements().stdout()?;
    Ok(listed.lines().map(|line| line.to_str_lossy().into_owned()).collect())
}

/// The new commit's parents; the empty tree for a root.
fn parents(stage: &Stage<'_>, args: &CommitArgs) -> Result<Vec<String>, Fault> {
    let mut parents = Vec::new();
    if let Some(head) = &stage.head {
        if args.amend {
            let listed = stage.git(["rev-parse", &format!("{head}^@")]).with_replacements().stdout()?;
            parents.extend(listed.lines().map(|line| line.to_str_lossy().into_owned()));
        } else {
            parents.push(head.clone());
        }
    }
    let merged = std::fs::read_to_string(stage.site.git_dir.join("MERGE_HEAD")).unwrap_or_default();
    parents.extend(merged.lines().map(str::to_owned));
    if parents.is_empty() { Ok(vec![parts::empty_tree(stage)?]) } else { Ok(parents) }
}

fn trees_of(stage: &Stage<'_>, commits: &[String]) -> Result<Vec<String>, Fault> {
    let mut trees = Vec::new();
    for commit in commits {
        trees.extend(stage.resolve(commit.as_ref(), "tree")?);
    }
    Ok(trees)
}

/// Puts objects, files and texts together.
fn assemble(mut stage: Stage<'_>, mut wanted: Wanted, message: Message) -> Result<Payload, Fault> {
    for commit in &message.commits {
        wanted.add(commit, None);
    }
    let mut parts: Vec<super::Part> = parts::part(&stage, wanted)?.into_iter().collect();
    let objects = parts.first().map(|part| part.items.as_slice()).unwrap_or_default();
    if let Some((content, notes)) = super::lfs::of_commit(stage.world, &stage.real, &stage.context, objects)? {
        parts.push(content);
        stage.notes.extend(notes);
    }
    let mut files: Vec<_> = message.files;
    files.extend(stage.files.iter().cloned());
    if !files.is_empty() {
        parts.push(super::files::part(&files)?);
    }
    if !message.texts.is_empty() {
        parts.push(super::Texts::part(message.texts.into_iter().map(|text| (ItemKind::Message, text))));
    }
    let place = SafeText::quoted(stage.top.to_string_lossy().as_bytes(), 200);
    let exact = stage.exact && stage.unseen.is_empty();
    let side = Later::new(stage.world, &stage.real, By::Claims);
    let mut payload = Payload {
        parts,
        destinations: vec![Destination { url: place, refs: Vec::new() }],
        notes: stage.notes,
        unseen: stage.unseen,
        sides: Vec::new(),
        replaces: Vec::new(),
        exact,
    };
    payload.all_to(Arc::new(side));
    Ok(payload)
}
