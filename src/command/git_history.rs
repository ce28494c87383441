//! Verbs that make commits, notes, tags and stashes besides `git commit` itself.
//!
//! Promise: what such a verb records that was not committed before is a commit of the plan; what it
//! only makes anew is not, so that a secret can be taken out of commits which were not pushed yet.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::git::{Call, nested, top};
use super::git_verbs::{commits, options, publishing, sub_command};
use super::meaning::{Changes, Meaning, Scene, arguments, inert};
use super::options::{Arg, Options};
use super::plan::CommitVerb;
use super::simple::{Certainty, Code, Effect, Value};

/// Verbs that make commits unless an option says otherwise.
pub(super) fn commit_like(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, &call.verb);
    let mut effect = Effect { changes_files: true, ..inert() };
    let ends = ["abort", "quit", "show-current-patch", "edit-todo"].iter().any(|name| options.is_on(name));
    if ends && !options.unknown {
        // What comes back was there before.
        meaning.changes(Changes::Refs);
        return effect;
    }
    let makes_none = match call.verb.as_str() {
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
    moves_branch(meaning, call, &options);
    effect
}

/// `-n` and `--no-commit` are listed that way, so they read as `commit`, off.
fn no_commit(options: &Options) -> bool {
    options.given.iter().any(|given| given.name == "commit" && !given.on)
}

/// What more leaves with a later push. A rebase, a revert, a pick and a pull rewrite what the current
/// branch holds now, add what comes from elsewhere, or record what is a commit of the plan: what leaves
/// from here stays the same. A merge brings the branches that it names.
fn moves_branch(meaning: &mut Meaning, call: &Call, options: &Options) {
    let named: Option<Vec<BString>> = options.operands.iter().map(|arg| Some(arg.known()?.to_owned())).collect();
    match (call.verb.as_str(), named) {
        ("merge", Some(_)) if options.is_on("squash") && !options.unknown => {}
        ("merge", Some(named)) if !options.unknown && !named.is_empty() => meaning.branch.merged(named),
        ("merge", _) if options.is_on("continue") => meaning.changes(Changes::Refs),
        ("merge", Some(_)) if !options.unknown => meaning.branch.merged(vec!["@{upstream}".into()]),
        ("pull" | "revert" | "am" | "cherry-pick", _) if !options.unknown => meaning.branch.committed(),
        ("rebase", _) if options.operands.len() < 2 && options.value("exec").is_none() => meaning.branch.committed(),
        _ => meaning.changes(Changes::Refs),
    }
}

fn exec_of_rebase(scene: &Scene<'_, '_>, call: &Call, options: &Options) -> Vec<super::simple::Nested> {
    if call.verb != "rebase" && call.verb != "filter-branch" {
        return Vec::new();
    }
    let mut code: Vec<Value> = options.values("exec").map(value_of).collect();
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
