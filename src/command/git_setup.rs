//! Verbs that make repositories or say where they lead: `config`, `remote`, `clone`, `init`, `submodule`.
//!
//! Promise: a setting that the line makes is known to later commands of the line, and one that
//! switches a control off is said to; reading a setting is neither. A repository that takes its
//! content from here without a push is a publish like any other.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::git::{Call, nested};
use super::git_globals::{self, Setting, normal_key};
use super::git_verbs::{args, commits, options, publishing, sub_command};
use super::meaning::{Changes, Meaning, Scene, inert};
use super::options::{Arg, Grammar, Options};
use super::plan::{GitContext, PushVia};
use super::simple::{Certainty, Code, Effect, Value};
use super::{bypass, git_fold, staging, tamper};

/// `git config` in both its forms.
pub(super) fn config(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "config");
    match action(&options) {
        Action::Read => Effect { output: git_fold::output(meaning, scene, call), ..inert() },
        Action::Set(key, value) => {
            set(meaning, scene, call, &options, &key, value.as_ref());
            inert()
        }
        Action::Unset(key) => {
            if let Some(key) = key.as_ref().and_then(Arg::known)
                && (bypass::is_control(normal_key(key).as_bstr()) || bypass::holds_control(key))
            {
                scene.bypass(
                    format!("git config takes {key} away"),
                    "leave git's hooks path as it is, or ask the person who set it",
                );
            }
            if let Some(key) = key.as_ref().and_then(Arg::known) {
                meaning.settings_of_staging.extend(staging::without(normal_key(key).as_bstr()));
            }
            if key.as_ref().and_then(Arg::known).is_none_or(|key| leads_elsewhere(normal_key(key).as_bstr())) {
                meaning.changes(Changes::Configuration);
            }
            inert()
        }
        Action::Unclear => {
            if options.is_on("edit") || options.operands.first().and_then(Arg::known).is_some_and(|word| word == "edit")
            {
                scene.tamper(
                    "git's configuration would be edited as a whole",
                    "`git config KEY VALUE`, which says what it sets",
                );
            }
            meaning.changes(Changes::Configuration);
            meaning.overlay.incomplete = true;
            inert()
        }
    }
}

enum Action {
    Read,
    Set(Arg, Option<Arg>),
    Unset(Option<Arg>),
    Unclear,
}

fn action(options: &Options) -> Action {
    const READS: &[&str] = &["get", "get-all", "get-regexp", "get-urlmatch", "list", "get-color", "get-colorbool"];
    if READS.iter().any(|name| options.is_on(name)) {
        return Action::Read;
    }
    let operands = &options.operands;
    if options.is_on("unset") || options.is_on("unset-all") || options.is_on("remove-section") {
        return Action::Unset(operands.first().cloned());
    }
    if options.is_on("rename-section") {
        return Action::Unset(operands.first().cloned());
    }
    if options.is_on("edit") || options.unknown {
        return Action::Unclear;
    }
    let words: Vec<Option<&BStr>> = operands.iter().map(Arg::known).collect();
    match words.as_slice() {
        [] => Action::Read,
        [Some(first), ..] => match first.as_bytes() {
            b"get" | b"list" => Action::Read,
            b"set" => match (operands.get(1), operands.get(2)) {
                (Some(key), value) => Action::Set(key.clone(), value.cloned()),
                (None, _) => Action::Read,
            },
            b"unset" | b"remove-section" | b"rename-section" => Action::Unset(operands.get(1).cloned()),
            b"edit" => Action::Unclear,
            _ => match (operands.first(), operands.get(1)) {
                (Some(_), None) => Action::Read,
                (Some(key), value) => Action::Set(key.clone(), value.cloned()),
                (None, _) => Action::Read,
            },
        },
        [None, ..] => Action::Unclear,
    }
}

fn set(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    call: &Call,
    options: &Options,
    key: &Arg,
    value: Option<&Arg>,
) {
    let Some(key) = key.known() else {
        meaning.changes(Changes::Configuration);
        meaning.overlay.incomplete = true;
        return;
    };
    if let Some(file) = options.value("file").and_then(Arg::known)
        && let Some(path) = scene.path(file)
    {
        tamper::of_path(scene, &path);
    }
    let normal = normal_key(key);
    if bypass::is_control(normal.as_bstr()) {
        scene.bypass(
            format!("git config sets {normal}"),
            "leave git's hooks path as it is, or ask the person who set it",
        );
    }
    let value = value.and_then(Arg::known).map(|value| included(call, options, normal.as_bstr(), value));
    if let Some(value) = &value {
        bypass::of_kept_setting(scene, normal.as_bstr(), value.as_bstr());
    }
    meaning.settings_of_staging.extend(staging::with(normal.as_bstr(), value.as_ref().map(|value| value.as_bstr())));
    meaning.set(Setting { key: normal.clone(), value });
    if leads_elsewhere(normal.as_bstr()) {
        meaning.changes(Changes::Configuration);
    }
}

/// The value of a setting; a relative include is relative to the file that holds it.
fn included(call: &Call, options: &Options, key: &BStr, value: &BStr) -> BString {
    let is_include = key == "include.path" || key.starts_with(b"includeif.");
    if !is_include || value.starts_with(b"/") || value.starts_with(b"~") {
        return value.to_owned();
    }
    let Some(context) = &call.context else { return value.to_owned() };
    let folder = if options.is_on("global") {
        context.env.get(OsStr::new("HOME")).map(PathBuf::from)
    } else {
        git_globals::find(context).map(|place| place.common_dir())
    };
    folder.map_or_else(
        || value.to_owned(),
        |folder| BString::from(super::git_verbs::below(&folder, value).as_os_str().as_encoded_bytes()),
    )
}

/// Whether a setting may change what a push sends, or where to.
fn leads_elsewhere(key: &BStr) -> bool {
    const ELSEWHERE: &[&str] = &[
        "remote",
        "remotes",
        "branch",
        "push",
        "url",
        "include",
        "includeif",
        "core",
        "submodule",
        "lfs",
        "extensions",
        "filter",
        "transfer",
        "uploadpack",
        "protocol",
        "index",
        "annex",
    ];
    let section = key.split_str(".").next().unwrap_or_default();
    ELSEWHERE.iter().any(|known| known.as_bytes() == section)
}

/// `git remote`.
pub(super) fn remote(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let reads = match sub_command(call).map(|word| word.as_bytes()) {
        None => call.args.iter().all(|value| value.known().is_some()),
        Some(sub) => matches!(sub, b"show" | b"get-url" | b"update" | b"prune" | b"-v"),
    };
    if reads {
        let updates = sub_command(call).is_some_and(|sub| sub == "update");
        if let (true, Some(context)) = (updates, &call.context)
            && super::git_verbs::is_bare(context)
        {
            fetched_by_bare(meaning, scene, context, None, true);
        }
        if let (true, Some(context)) = (updates, &call.context) {
            meaning.fetches(scene, context, (None, true), false);
        }
        return Effect { output: git_fold::output(meaning, scene, call), ..inert() };
    }
    meaning.changes(Changes::Configuration);
    let read = ADDED.read(&args(&call.args), true);
    if let [Arg::Known(sub), Arg::Known(name), Arg::Known(url), ..] = read.operands.as_slice()
        && (sub == "add" || sub == "set-url")
    {
        meaning.incoming.add_remote(name.as_bstr(), url.as_bstr());
        if let (true, Some(context)) = (read.is_on("fetch"), &call.context) {
            meaning.fetches(scene, context, (Some(&Arg::Known(name.clone())), false), false);
        }
    }
    inert()
}

/// The options of `git init`.
const INIT: Grammar =
    Grammar("q/quiet /bare /template= /separate-git-dir= /shared? /object-format= /ref-format= b/initial-branch=");

/// The options of `git remote add` and `git remote set-url`.
const ADDED: Grammar = Grammar("f/fetch t/track= m/master= /tags /mirror? /push /add /delete v/verbose");

/// `git init`: nothing leaves, but there is a repository afterwards.
pub(super) fn init(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let place = call.context.as_ref().and_then(git_globals::find);
    let exists = place.is_some();
    if let Some(place) = &place {
        let options = INIT.read(&args(&call.args), true);
        if options.value("separate-git-dir").is_some() && options.operands.is_empty() {
            // Hooks and configuration move along.
            scene.tamper("git's own folder would move", "ask the person, who can move it");
            meaning.changes(Changes::Everything);
        }
        if let Some(template) = options.value("template").and_then(Arg::known).and_then(|path| scene.path(path)) {
            tamper::of_copied_tree(scene, &template, &place.common_dir());
        }
    }
    let here = call.args.iter().all(|value| value.known().is_some_and(|word| word.starts_with(b"-")));
    if !(exists && here) {
        // A remote that leads to where nothing is now may lead to the new repository.
        meaning.changes(if exists { Changes::Elsewhere } else { Changes::Everything });
    }
    inert()
}

/// `git clone`: into a bare repository, or a mirror, what is here is published there.
pub(super) fn clone(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "clone");
    let is_bare = ["bare", "naked", "mirror"].iter().any(|name| options.is_on(name)) || options.unknown;
    if let (Some(source), Some(context)) = (options.operands.first(), &call.context) {
        from_here(meaning, scene, context, source, is_bare);
        let dir = git_globals::directory(&context.dir, &context.globals);
        let borrowed = options.values("reference").chain(options.values("reference-if-able"));
        let sources: Vec<PathBuf> =
            std::iter::once(source).chain(borrowed).filter_map(|from| local_path(from.known()?, &dir)).collect();
        meaning.incoming.cloned_from_afar |= sources.is_empty();
        meaning.cloned.extend(sources);
    }
    meaning.changes(if is_bare { Changes::Everything } else { Changes::Repository });
    Effect { changes_files: true, ..inert() }
}

/// Something that fetches from a path: when that is a repository on this machine and the one that
/// fetches is for others, its refs leave.
pub(super) fn from_here(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    context: &GitContext,
    source: &Arg,
    is_for_others: bool,
) {
    if !is_for_others {
        return;
    }
    let dir = git_globals::directory(&context.dir, &context.globals);
    let Some(source) = source.known() else {
        scene.unknown("a repository fetches from a place that is not known");
        return;
    };
    let Some(path) = local_path(source, &dir) else { return };
    let git = GitContext { dir: path, env: without_repository(context), globals: Vec::new() };
    if git_globals::find(&git).is_some() || meaning.may_be_made(scene) {
        meaning.push(scene, git, Vec::new(), PushVia::OtherSide);
    }
}

/// A bare repository fetches: from a path or url of the line, or from the remotes that it knows.
pub(super) fn fetched_by_bare(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    context: &GitContext,
    source: Option<&Arg>,
    all: bool,
) {
    let config = meaning.config(scene, context);
    let named = match source.map(Arg::known) {
        Some(None) => return from_here(meaning, scene, context, &Arg::nothing_known(), true),
        Some(Some(name)) => name.to_owned(),
        None => "origin".into(),
    };
    let urls: Vec<BString> = config
        .iter()
        .filter(|setting| {
            let name = setting.key.strip_prefix(b"remote.").and_then(|rest| rest.strip_suffix(b".url"));
            name.is_some_and(|name| all || name == named.as_slice())
        })
        .filter_map(|setting| setting.value.clone())
        .collect();
    let sources = if urls.is_empty() { vec![named] } else { urls };
    for source in sources {
        from_here(meaning, scene, context, &Arg::Known(source), true);
    }
}

/// The environment without what names another repository.
pub(super) fn without_repository(context: &GitContext) -> crate::world::Environment {
    let mut env = context.env.clone();
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"] {
        env.remove(std::ffi::OsStr::new(name));
    }
    env
}

/// A url or path of this machine, as a path.
pub(super) fn local_path(source: &BStr, dir: &Path) -> Option<PathBuf> {
    if let Some(path) = source.strip_prefix(b"file://") {
        return Some(super::git_verbs::below(Path::new("/"), path.as_bstr()));
    }
    let path = super::git_verbs::below(dir, source);
    path.exists().then_some(path)
}

/// `git submodule`: `foreach` runs a command in each, `update` may run one that is configured.
pub(super) fn submodule(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    match sub_command(call).map(|word| word.to_str().unwrap_or("?")) {
        None | Some("status" | "summary") => inert(),
        Some("foreach") => foreach(scene, call),
        Some("push") => {
            // No such command of git's; an extension of this name would push.
            if let Some(context) = publishing(meaning, scene, call) {
                meaning.widest(scene, context, "git submodule push");
            }
            inert()
        }
        Some("init" | "deinit" | "sync" | "absorbgitdirs" | "update") => {
            meaning.changes(Changes::Repository);
            Effect { changes_files: true, ..inert() }
        }
        Some("add" | "set-branch" | "set-url") => {
            if let Some(context) = &call.context {
                let dir = git_globals::directory(&context.dir, &context.globals);
                let words = call.args.iter().filter_map(Value::known).filter(|word| word.contains(&b'/'));
                meaning.cloned.extend(words.filter_map(|word| local_path(word, &dir)).filter(|path| path.is_dir()));
            }
            meaning.changes(Changes::Everything);
            Effect { changes_files: true, ..inert() }
        }
        Some(_) => commits(meaning, scene, call, Changes::Everything),
    }
}

fn foreach(scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let mut words = call.args.iter().skip_while(|value| value.known().is_none_or(|word| word != "foreach")).skip(1);
    let mut command: Vec<Value> = Vec::new();
    while let Some(word) = words.next() {
        let is_option =
            word.known().is_some_and(|word| matches!(word.as_bytes(), b"-q" | b"--quiet" | b"--recursive" | b"--"));
        if !is_option {
            command.push(word.clone());
            command.extend(words.by_ref().cloned());
        }
    }
    let Some(first) = command.first().cloned() else { return inert() };
    let folders = call.context.as_ref().map(submodules).unwrap_or_default();
    let code = if command.len() == 1 { Code::Shell { text: first, args: Vec::new() } } else { Code::Argv(command) };
    let mut effect = Effect { changes_files: true, ..inert() };
    if call.context.is_none() {
        effect.run.push(nested(scene, call, code.clone(), None, Certainty::Maybe, "git submodule foreach".into()));
    }
    for folder in folders {
        let mut nested =
            nested(scene, call, code.clone(), Some(folder), Certainty::Always, "git submodule foreach".into());
        nested.env.retain(|(name, _)| name != "GIT_DIR" && name != "GIT_WORK_TREE");
        for name in ["name", "sm_path", "displaypath", "sha1", "toplevel"] {
            let why = "what git gives the command".into();
            nested.env.push((name.into(), super::simple::EnvChange::Unknown(why)));
        }
        effect.run.push(nested);
    }
    effect
}

/// Folders of submodules that are checked out, those within submodules as well.
fn submodules(context: &GitContext) -> Vec<PathBuf> {
    let Some(top) = git_globals::find(context).and_then(|place| place.top) else { return Vec::new() };
    let mut found = Vec::new();
    let mut waiting = vec![top];
    while let Some(top) = waiting.pop() {
        let Ok(text) = std::fs::read(top.join(".gitmodules")) else { continue };
        for line in text.lines() {
            let Some(path) = path_of_line(line) else { continue };
            let folder = super::git_verbs::below(&top, path);
            if folder.join(".git").exists() && !found.contains(&folder) {
                found.push(folder.clone());
                waiting.push(folder);
            }
        }
    }
    found
}

/// `path = FOLDER` of a `.gitmodules` file.
fn path_of_line(line: &[u8]) -> Option<&BStr> {
    let (name, value) = line.split_once_str("=")?;
    (name.trim() == b"path").then(|| value.trim().trim_with(|character| character == '"').as_bstr())
}
