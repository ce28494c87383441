//! Verbs that make commits, notes, tags and stashes besides `git commit` itself.
//!
//! Promise: what such a verb records that was not committed before is a commit of the plan; what it
//! only makes anew is not, so that a secret can be taken out of commits which were not pushed yet.

use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::git::{Call, nested, top};
use super::git_globals;
use super::git_verbs::{commits, options, publishing, sub_command};
use super::meaning::{Changes, Meaning, Scene, arguments, inert};
use super::options::{Arg, Options};
use super::plan::{CommitVerb, UploadRequest};
use super::simple::{Certainty, Code, Effect, Value};
use super::underway::Underway;
use crate::text::SafeText;

/// Verbs that make commits unless an option says otherwise.
pub(super) fn commit_like(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, &call.verb);
    let mut effect = Effect { changes_files: true, ..inert() };
    let ends = ["abort", "quit", "show-current-patch", "edit-todo"].iter().any(|name| options.is_on(name));
    if ends && !options.unknown {
        ends_operation(meaning, scene, call, &options);
        return effect;
    }
    let goes_on = goes_on(&options);
    let makes_none = match call.verb.as_str() {
        // What was resolved since it stopped is recorded for the first time.
        _ if goes_on => false,
        "merge" => options.is_on("ff-only") || options.is_on("squash") || options.is_off("commit"),
        // What these make anew was committed, and read, before; taking a secret out of commits that
        // were not pushed yet must stay possible.
        "pull" | "rebase" | "filter-branch" | "history" => true,
        "cherry-pick" | "revert" => options.is_off("commit") || no_commit(&options),
        _ => false,
    };
    if (!makes_none || options.unknown)
        && let Some(context) = publishing(meaning, scene, call)
    {
        meaning.commit(scene, context, CommitVerb::Other(call.verb.clone().into()), arguments(&call.args));
    }
    if makes_none && !options.is_on("ff-only") && !options.is_on("dry-run") {
        says(meaning, scene, call);
    }
    if makes_none && options.is_off("verify") && matches!(call.verb.as_str(), "merge" | "pull" | "rebase") {
        scene.bypass(format!("git {} --no-verify", call.verb), "the same command without it, so that the hooks run");
    }
    if let ("pull", Some(context)) = (call.verb.as_str(), &call.context) {
        meaning.fetches(scene, context, (options.operands.first(), options.is_on("all")), true);
    }
    if call.verb == "filter-branch" {
        meaning.incoming.rewrites();
    }
    effect.run.extend(exec_of_rebase(scene, call, &options));
    if let Some(context) = &call.context {
        meaning.stage(scene, context, &call.verb, &call.args);
    }
    moves_branch(meaning, scene, call, &options);
    effect
}

/// A rebase, a pull and their kin make commits of what was recorded, and read, before; what they say themselves
/// is new.
fn says(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) {
    let makes = matches!(call.verb.as_str(), "pull" | "rebase" | "filter-branch" | "history");
    let Some(context) = call.context.as_ref().filter(|context| makes && git_globals::find(context).is_some()) else {
        return;
    };
    let words: Vec<&[u8]> = call.args.iter().filter_map(|word| word.known().map(|word| word.as_bytes())).collect();
    let request = UploadRequest {
        tool: SafeText::new(&format!("git {}", call.verb)),
        dir: context.dir.clone(),
        files: Vec::new(),
        texts: vec![words.join(&b" "[..]).into()],
        written: Vec::new(),
        package: None,
        revisions: None,
        local_only: true,
    };
    meaning.upload(scene, request);
}

/// `-n` and `--no-commit` are listed that way, so they read as `commit`, off.
fn no_commit(options: &Options) -> bool {
    options.given.iter().any(|given| given.name == "commit" && !given.on)
}

/// Whether an operation that git has stopped in the middle of goes on.
fn goes_on(options: &Options) -> bool {
    ["continue", "skip", "resolved"].iter().any(|name| options.is_on(name))
}

/// What more leaves with a later push. A revert, a pick and mails record what is a commit of the plan. A rebase
/// rewrites what the current branch holds now, on top of what it names; a merge brings the branches that it
/// names, and a pull what it follows.
fn moves_branch(meaning: &mut Meaning, scene: &Scene<'_, '_>, call: &Call, options: &Options) {
    let named: Option<Vec<BString>> = options.operands.iter().map(|arg| arg.known().map(as_revision)).collect();
    let follows = || vec![BString::from("@{upstream}")];
    match (call.verb.as_str(), named) {
        ("rebase", _) if goes_on(options) => resumes(meaning, scene, call),
        ("merge", _) if goes_on(options) => meaning.branch.merged(merge_heads(call)),
        ("merge", Some(_)) if options.is_on("squash") && !options.unknown => {}
        ("merge", Some(named)) if !options.unknown && !named.is_empty() => meaning.branch.merged(named),
        ("merge" | "pull", Some(named)) if !options.unknown && named.is_empty() => meaning.branch.merged(follows()),
        ("pull" | "revert" | "am" | "cherry-pick", _) if !options.unknown => meaning.branch.committed(),
        ("rebase", Some(mut named))
            if !options.unknown && named.len() < 2 && options.value("exec").is_none() && !options.is_on("root") =>
        {
            let onto: Option<Vec<BString>> = options.values("onto").map(|arg| arg.known().map(as_revision)).collect();
            match onto {
                Some(onto) if !onto.is_empty() => named = onto.into_iter().flat_map(ends).collect(),
                Some(_) if named.is_empty() => named = follows(),
                Some(_) => {}
                None => return meaning.changes(Changes::Refs),
            }
            meaning.branch.merged(named);
        }
        _ => meaning.changes(Changes::Refs),
    }
}

/// A revision that a verb takes: `-` is what was checked out before.
fn as_revision(word: &BStr) -> BString {
    if word == "-" { "@{-1}".into() } else { word.into() }
}

/// Both ends of `a...b`, which stands for where they meet; the word itself otherwise.
fn ends(revision: BString) -> Vec<BString> {
    match revision.split_once_str("...") {
        Some((left, right)) => {
            let end = |end: &[u8]| BString::from(if end.is_empty() { b"HEAD".as_slice() } else { end });
            vec![end(left), end(right)]
        }
        None => vec![revision],
    }
}

/// An operation is given up: what comes back was there before. A merge, picks and mails leave the branch where it
/// is or go back on it; a rebase leaves for the branch that it is about, which it has not moved yet.
fn ends_operation(meaning: &mut Meaning, scene: &Scene<'_, '_>, call: &Call, options: &Options) {
    match call.verb.as_str() {
        "merge" | "cherry-pick" | "revert" | "am" => meaning.branch.committed(),
        "rebase" if !options.is_on("abort") => {}
        "rebase" => match call.context.as_ref().and_then(Underway::of).and_then(|underway| underway.rebased_branch()) {
            Some(branch) => {
                let certain = scene.command.certainty == Certainty::Always;
                meaning.checks_out(branch, if certain { scene.command.chain } else { 0 });
            }
            None => meaning.changes(Changes::Refs),
        },
        _ => meaning.changes(Changes::Refs),
    }
}

/// The other sides of a merge that is committed now.
pub(super) fn merge_heads(call: &Call) -> Vec<BString> {
    call.context.as_ref().and_then(Underway::of).map(|underway| underway.merge_heads()).unwrap_or_default()
}

/// A rebase goes on: once it is done its branch is checked out, and stands on what is checked out now.
fn resumes(meaning: &mut Meaning, scene: &Scene<'_, '_>, call: &Call) {
    let certain = scene.command.certainty == Certainty::Always && meaning.is_named_by_nothing_new();
    let branch = call.context.as_ref().and_then(Underway::of).and_then(|underway| underway.rebased_branch());
    meaning.branch.resumed(branch.clone(), scene.command.chain, certain);
    if let Some(branch) = branch {
        meaning.checks_out(branch, if certain { scene.command.chain } else { 0 });
    }
}

fn exec_of_rebase(scene: &Scene<'_, '_>, call: &Call, options: &Options) -> Vec<super::simple::Nested> {
    if call.verb != "rebase" && call.verb != "filter-branch" {
        return Vec::new();
    }
    let mut code: Vec<Value> = options.values("exec").map(value_of).collect();
    if goes_on(options)
        && let Some(underway) = call.context.as_ref().and_then(Underway::of)
    {
        code.extend(underway.commands().into_iter().map(Value::Known));
    }
    if call.verb == "filter-branch" {
        let mut words = call.args.iter();
        while let Some(word) = words.next() {
            let is_filter = word.known().is_some_and(|word| word.ends_with(b"-filter") || word == "--setup");
            if is_filter {
                code.extend(words.next().cloned());
            }
        }
    }
    let mut dir = call.context.as_ref().map(top);
    if call.verb == "filter-branch" && !call.args.iter().any(|word| word.known().is_some_and(|word| word == "-d")) {
        // Where it checks each commit out.
        dir = dir.map(|top| top.join(".git-rewrite/t"));
    }
    code.into_iter()
        .map(|text| {
            let code = Code::Shell { text, args: Vec::new() };
            nested(scene, call, code, dir.clone(), Certainty::Always, format!("git {} runs it", call.verb).into())
        })
        .collect()
}

pub(super) fn value_of(arg: &Arg) -> Value {
    match arg {
        Arg::Known(text) => Value::Known(text.clone()),
        Arg::Unknown { prefix, suffix } => Value::Unknown(super::simple::UnknownValue {
            between: BString::default(),
            why: "a command that is not known".into(),
            span: 0..0,
            prefix: prefix.clone(),
            suffix: suffix.clone(),
            many: false,
        }),
    }
}

pub(super) fn notes(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    match notes_action(call) {
        None | Some("list" | "show" | "get-ref") => inert(),
        // The text of a note is a commit of the plan; which refs a push takes stays the same.
        Some("add" | "append" | "edit" | "remove" | "prune") if !options_name_a_ref(call) => {
            if let Some(context) = publishing(meaning, scene, call) {
                meaning.commit(scene, context, CommitVerb::Other(call.verb.clone().into()), arguments(&call.args));
            }
            inert()
        }
        Some(_) => commits(meaning, scene, call, Changes::Refs),
    }
}

fn options_name_a_ref(call: &Call) -> bool {
    call.args.iter().any(|value| value.known().is_none_or(|word| word.starts_with(b"--ref")))
}

fn notes_action(call: &Call) -> Option<&str> {
    let mut words = call.args.iter();
    while let Some(word) = words.next() {
        match word.known().map(|word| word.to_str().unwrap_or("?")) {
            Some("--ref") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some(action) => return Some(action),
            None => return Some("?"),
        }
    }
    None
}

/// A stash stays here. What it takes away or brings back counts for a commit after it.
pub(super) fn stash(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let sub = sub_command(call).map(|word| word.to_str_lossy().into_owned());
    match sub.as_deref() {
        Some("list" | "show") => inert(),
        Some("create") => {
            stashed(meaning, scene, call);
            inert()
        }
        Some("export") => {
            // Turns the entries into ordinary commits under a ref.
            commits(meaning, scene, call, Changes::Refs)
        }
        Some("branch") => {
            meaning.changes(Changes::RefsAndFiles);
            Effect { changes_files: true, ..inert() }
        }
        _ => {
            let makes_none = matches!(sub.as_deref(), Some("pop" | "apply" | "drop" | "clear" | "store" | "import"));
            if !makes_none {
                stashed(meaning, scene, call);
            }
            if let Some(context) = &call.context {
                meaning.stage(scene, context, "stash", &call.args);
            }
            Effect { changes_files: true, ..inert() }
        }
    }
}

/// Remembers a stash for a push that may hold it.
fn stashed(meaning: &mut Meaning, scene: &Scene<'_, '_>, call: &Call) {
    if let Some(context) = &call.context {
        let verb = CommitVerb::Other(call.verb.clone().into());
        let request = meaning.commit_request(scene, context.clone(), verb, arguments(&call.args));
        meaning.incoming.stashed(request);
    }
}

/// A tag stays here too; the text of an annotated one leaves with a push after it on the line.
pub(super) fn tag(meaning: &mut Meaning, call: &Call, scene: &mut Scene<'_, '_>) -> Effect {
    let options = options(call, "tag");
    let lists = ["list", "n", "verify", "contains", "merged", "points-at"].iter().any(|name| options.is_on(name));
    if (lists || options.operands.is_empty()) && !options.unknown {
        return inert();
    }
    let files: Vec<PathBuf> =
        options.values("file").filter_map(Arg::known).filter_map(|path| scene.path(path)).collect();
    meaning.carried.extend(files);
    meaning.note_unread_message(scene);
    meaning.carried.extend(scene.command.pasted.iter().cloned());
    match options.operands.as_slice() {
        [Arg::Known(name)] if !options.unknown && !options.is_on("delete") => {
            meaning.made_ref("refs/tags/", name.as_bstr());
        }
        _ => meaning.changes(Changes::Refs),
    }
    inert()
}
