//! Clients of forges: `gh`, `glab`, `hub`, `tea` and the like.
//!
//! Promise: files, texts and commits that such a client would send are in the plan; a sub-command
//! that is not known is opaque, as its extensions and aliases may do anything. Which sub-command
//! sends what is from the clients' own help and sources (publish facts 1.2). Values of secrets that
//! are stored encrypted (`gh secret set`) are not publishing: that is where they belong.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::git_config::Config;
use super::git_globals;
use super::incoming;
use super::meaning::{Changes, Meaning, Scene, inert};
use super::message;
use super::plan::{GitContext, PushVia, UploadRequest};
use super::sent_files::{files_begun, files_to_come, named_files, names_file_option};
use super::simple::{Certainty, Code, Effect, Nested, Stdin, Value, to_os_string};
use crate::text::SafeText;

/// What a sub-command of a forge's client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    /// Nothing that a person wrote.
    Nothing,
    /// Texts and files named by options.
    Texts,
    /// Files named as operands, and texts.
    Files,
    /// A request whose body the options make; nothing when there are none.
    Request,
    /// The current branch, and texts.
    Branch,
    /// The current branch only when an option says so.
    BranchIf(&'static str),
    /// Nobody knows.
    Anything,
}

/// A client that is a forge's.
pub(super) fn command(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) -> Effect {
    if name == "hub" && !is_of_hub(args) {
        // hub hands every other word on to git.
        let words = std::iter::once(Value::Known("git".into())).chain(args.iter().cloned()).collect();
        return rerun(Code::Argv(words), "hub is git");
    }
    if let Some(effect) = alias_of_gh(scene, name, args) {
        return effect;
    }
    let verbs = verbs(args);
    let sends = match (verbs.first(), verbs.get(1)) {
        (None, _) => Sends::Nothing,
        (Some(None), _) => Sends::Anything,
        (Some(Some(group)), Some(None)) if !is_reading_group(group) => Sends::Anything,
        (Some(Some(group)), second) => sends(name, group, second.cloned().flatten().unwrap_or_default().as_str()),
    };
    send(meaning, scene, name, args, sends);
    if checks_out(&verbs) {
        meaning.changes(Changes::Everything);
        return Effect { changes_files: true, ..inert() };
    }
    Effect { changes_files: matches!(sends, Sends::Anything), ..inert() }
}

/// Whether a sub-command checks something out here, or gives the repository a remote.
fn checks_out(verbs: &[Option<String>]) -> bool {
    let verbs: Vec<&str> = verbs.iter().map(|verb| verb.as_deref().unwrap_or("?")).collect();
    matches!(
        verbs.as_slice(),
        ["pr" | "mr" | "pulls", "checkout" | "co" | "merge"]
            | ["repo" | "repos" | "project", "create" | "clone" | "fork" | "sync" | "set-default" | "c" | "rename"]
            | ["issue", "develop"]
            | ["clone" | "fork" | "create" | "sync" | "checkout" | "stack", ..]
    )
}

fn rerun(code: Code, because: &str) -> Effect {
    let nested = Nested { code, dir: None, env: Vec::new(), certainty: Certainty::Always, because: because.into() };
    Effect { run: vec![nested], ..inert() }
}

/// Group and action: the first two words that are no options; an unknown word is `None`.
fn verbs(args: &[Value]) -> Vec<Option<String>> {
    let mut verbs = Vec::new();
    let mut args = args.iter();
    while let Some(value) = args.next() {
        match value.known() {
            Some(word) if word == "-R" || word == "--repo" || word == "--hostname" || word == "--login" => {
                args.next();
            }
            Some(word) if word.starts_with(b"-") => {}
            Some(word) => verbs.push(Some(word.to_str_lossy().into_owned())),
            None => verbs.push(None),
        }
        if verbs.len() == 2 {
            break;
        }
    }
    verbs
}

fn is_of_hub(args: &[Value]) -> bool {
    let first = verbs(args).into_iter().next().flatten().unwrap_or_default();
    matches!(
        first.as_str(),
        "pull-request"
            | "create"
            | "fork"
            | "release"
            | "issue"
            | "gist"
            | "api"
            | "pr"
            | "ci-status"
            | "browse"
            | "compare"
            | "delete"
            | "sync"
    )
}

fn is_reading_group(group: &str) -> bool {
    matches!(group, "search" | "browse" | "status" | "auth" | "completion" | "help" | "version" | "config" | "api")
}

fn sends(name: &BStr, group: &str, action: &str) -> Sends {
    let shared = match group {
        "help" | "version" | "completion" | "auth" | "config" | "search" | "browse" | "status" | "check-update"
        | "open" | "whoami" | "logins" | "login" | "logout" | "notifications" | "ci-status" | "compare" | "ci"
        | "pipeline" | "job" | "schedule" | "runner" | "runners" | "user" | "token" | "cluster" | "iteration" => {
            Some(Sends::Nothing)
        }
        "api" => Some(Sends::Request),
        _ => None,
    };
    if let Some(sends) = shared {
        return sends;
    }
    match (group, action) {
        ("pr" | "pulls" | "pull", "create" | "new" | "c") | ("mr", "create" | "new" | "for") | ("pull-request", _) => {
            Sends::Branch
        }
        ("pr" | "mr" | "issue" | "issues" | "pulls" | "incident", action) => of_discussion(action),
        ("release" | "releases", "create" | "new" | "upload" | "edit" | "c") => Sends::Files,
        ("gist" | "snippet", "create" | "new" | "edit" | "rename") => Sends::Files,
        ("release" | "releases" | "gist" | "snippet", _) => Sends::Nothing,
        ("repo" | "repos" | "project", "create" | "c") if name == "gh" => Sends::BranchIf("--push"),
        ("repo" | "repos", "create" | "c" | "create-from-template" | "migrate") => Sends::Texts,
        ("repo" | "repos", "edit" | "deploy-key") => Sends::Files,
        ("repo" | "repos", _) => Sends::Nothing,
        ("create", _) => Sends::Texts,
        ("fork" | "delete" | "sync", _) => Sends::Nothing,
        (
            "variable" | "label" | "milestone" | "milestones" | "labels" | "comment" | "comments" | "changelog",
            "list" | "ls" | "get" | "view" | "delete" | "export",
        ) => Sends::Nothing,
        (
            "variable" | "label" | "milestone" | "milestones" | "labels" | "comment" | "comments" | "discussion"
            | "agent-task",
            _,
        ) => Sends::Texts,
        ("project", "item-create" | "item-edit" | "create" | "edit" | "field-create") => Sends::Texts,
        (
            "project" | "org" | "orgs" | "ruleset" | "cache" | "run" | "licenses" | "attestation" | "preview"
            | "secret" | "times" | "time",
            _,
        ) => Sends::Nothing,
        ("workflow" | "actions", "run" | "dispatch") => Sends::Request,
        ("workflow" | "actions", _) => Sends::Nothing,
        ("ssh-key" | "gpg-key" | "deploy-key", "add") => Sends::Files,
        ("ssh-key" | "gpg-key" | "deploy-key", _) => Sends::Nothing,
        (
            "alias" | "extension" | "extensions" | "ext",
            "list" | "ls" | "set" | "delete" | "remove" | "search" | "install" | "upgrade" | "create" | "browse"
            | "import",
        ) => Sends::Nothing,
        ("codespace" | "cs", "cp") => Sends::Files,
        ("codespace" | "cs", "ssh") => Sends::Anything,
        ("codespace" | "cs" | "copilot" | "models", _) => Sends::Nothing,
        ("stack", _) => Sends::Branch,
        _ => Sends::Anything,
    }
}

fn of_discussion(action: &str) -> Sends {
    match action {
        "comment" | "edit" | "review" | "note" | "merge" | "close" | "reopen" | "create" | "new" | "update"
        | "lock" | "transfer" | "develop" | "approve" | "reject" | "c" | "e" | "accept" => Sends::Texts,
        "" | "list" | "ls" | "view" | "show" | "checks" | "checkout" | "co" | "diff" | "status" | "ready"
        | "unlock" | "pin" | "unpin" | "delete" | "subscribe" | "unsubscribe" | "issues" | "approvers" | "revoke"
        | "todo" | "rebase" | "board" | "clean" | "revert" | "update-branch" | "browse" => Sends::Nothing,
        _ => Sends::Anything,
    }
}

fn send(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value], sends: Sends) {
    match sends {
        Sends::Nothing => {}
        Sends::Texts => upload(meaning, scene, name, args, false),
        Sends::Files => upload(meaning, scene, name, args, true),
        Sends::Request => {
            if has_body(args) {
                upload(meaning, scene, name, args, false);
            }
        }
        Sends::Branch => {
            upload(meaning, scene, name, args, false);
            if !chooses_head(args) {
                branch(meaning, scene);
            }
        }
        Sends::BranchIf(option) => {
            let may = args.iter().any(|value| match value {
                Value::Known(word) => word.starts_with(option.as_bytes()) && !word.ends_with(b"=false"),
                Value::Unknown(_) => true,
            });
            upload_words(meaning, scene, name, args);
            if may {
                source(meaning, scene, args);
            }
        }
        Sends::Anything => {
            let what = SafeText::quoted(name, 40);
            super::bypass::of_opaque(scene);
            scene.opaque(what);
        }
    }
}

/// A head of the pull request that is named is not pushed by the client.
fn chooses_head(args: &[Value]) -> bool {
    args.iter().filter_map(Value::known).any(|word| {
        word == "-H"
            || word == "--head"
            || word.starts_with(b"--head=")
            || (word.starts_with(b"-H") && !word.starts_with(b"--"))
    })
}

/// Whether it asks GraphQL a question: a document that changes nothing, with values that are no files.
fn only_queries(args: &[Value]) -> bool {
    let Some(words) = args.iter().map(Value::known).collect::<Option<Vec<&BStr>>>() else { return false };
    let documents: Vec<&[u8]> = words.iter().filter_map(|word| word.strip_prefix(b"query=")).collect();
    let asks = |document: &&[u8]| {
        let document = document.trim();
        (document.starts_with(b"query") || document.starts_with(b"{")) && document.find(b"mutation").is_none()
    };
    words.iter().any(|word| *word == "graphql")
        && !documents.is_empty()
        && documents.iter().all(asks)
        && !words.iter().any(|word| word.contains_str("=@") || word.starts_with(b"--input"))
}

/// Whether an option gives the request a body, or a method that has one.
fn has_body(args: &[Value]) -> bool {
    if only_queries(args) {
        return false;
    }
    args.iter().any(|value| match value {
        Value::Known(word) => {
            ["-f", "-F", "-d"].iter().any(|option| word.starts_with(option.as_bytes()))
                || ["--field", "--raw-field", "--input", "--data", "--form", "--json"]
                    .iter()
                    .any(|option| word.starts_with(option.as_bytes()))
        }
        Value::Unknown(_) => true,
    })
}

/// Texts and files of the line. Every word that names a file counts as naming it, since which
/// option of which client takes a file is not worth a mistake.
fn upload(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value], operands: bool) {
    let unknown = args.iter().any(|value| matches!(value, Value::Unknown(_)));
    let mut files: Vec<PathBuf> =
        args.iter().filter_map(Value::known).flat_map(|word| named_files(scene, word)).collect();
    files.extend(files_to_come(scene, args, operands));
    let mut texts: Vec<BString> = args.iter().filter_map(Value::known).map(|word| word.to_owned()).collect();
    let known = || args.iter().filter_map(Value::known);
    let names_none =
        operands && known().count() == args.len() && known().filter(|word| !word.starts_with(b"-")).count() <= 2;
    let from_input = names_none || known().any(|word| word == "-" || word.ends_with(b"=@-") || word.ends_with(b"=-"));
    match &scene.command.stdin {
        Stdin::Text(text) => texts.push(text.clone().into()),
        Stdin::File(path) => files.push(path.clone()),
        Stdin::Empty => {}
        Stdin::Unknown(why) | Stdin::Names { why, .. } if from_input && !message::is_plain(why) => {
            let why = why.clone();
            match scene.command.input_made_of.clone() {
                Some(content) => incoming::take_content(scene, content),
                // No hook of git's reads it later.
                None => scene.later(SafeText::new(&format!("what {name} reads, {why}"))),
            }
            meaning.take_put_in(scene);
        }
        Stdin::Inherited if from_input => widest_here(meaning, scene, "what it reads is not known"),
        Stdin::Inherited | Stdin::Names { .. } | Stdin::Unknown(_) => {}
    }
    if operands && scene.dir().is_none() {
        scene.unknown("files are sent from where nobody can say");
    }
    files.extend(files_begun(meaning, scene, args));
    if unknown {
        let why = if operands { "which files it sends is not known" } else { "a text that it sends is not known" };
        widest_here(meaning, scene, why);
    }
    push_request(meaning, scene, name, files, texts);
}

fn upload_words(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) {
    let is_text = |word: &&BStr| word.starts_with(b"-d") || word.starts_with(b"--description");
    if args.iter().filter_map(Value::known).any(|word| is_text(&word)) {
        let texts = args.iter().filter_map(Value::known).map(|word| word.to_owned()).collect();
        push_request(meaning, scene, name, Vec::new(), texts);
    }
}

fn push_request(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    name: &BStr,
    files: Vec<PathBuf>,
    texts: Vec<BString>,
) {
    let dir = match scene.dir() {
        Some(dir) => dir.to_owned(),
        None => {
            // Texts are known all the same; a file that an option names is not.
            if texts.iter().any(|word| names_file_option(word.as_bstr())) {
                scene.unknown("files are sent from where nobody can say");
            }
            scene.shell.world().cwd.clone()
        }
    };
    let tool = SafeText::quoted(name, 40);
    let written = Vec::new();
    let request = UploadRequest { tool, dir, files, texts, written, package: None, revisions: None, local_only: false };
    meaning.upload(scene, request);
}

/// Everything unpublished here, when there is a repository.
pub(super) fn widest_here(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, because: &str) {
    let Some(dir) = scene.dir().map(Path::to_owned) else {
        scene.unknown(because);
        return;
    };
    let git = GitContext { dir, env: scene.command.env.known(), globals: Vec::new() };
    if git_globals::find(&git).is_some() || meaning.may_be_made(scene) {
        meaning.widest(scene, git, because);
    }
}

/// `gh repo create --source DIR --push`.
fn source(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, args: &[Value]) {
    let mut folder = scene.dir().map(Path::to_owned);
    let mut words = args.iter().map(Value::known);
    while let Some(word) = words.next() {
        let Some(word) = word else { continue };
        let value = match word.strip_prefix(b"--source=") {
            Some(value) => Some(value.as_bstr()),
            None if word == "--source" || word == "-s" => words.next().flatten(),
            None => None,
        };
        if let Some(value) = value {
            folder = scene.path(value);
        }
    }
    let Some(dir) = folder else {
        scene.unknown("a repository is created and pushed from where nobody can say");
        return;
    };
    let git = GitContext { dir, env: scene.command.env.known(), globals: Vec::new() };
    if git_globals::find(&git).is_none() && !meaning.may_be_made(scene) {
        return;
    }
    // The remote is new: nothing is there before, so everything of the current branch leaves; newer
    // clients mirror a bare source, so every ref is taken.
    super::bypass::of_environment(scene);
    meaning.push(scene, git, Vec::new(), PushVia::OtherSide);
}

/// The current branch, to whichever remote the client takes: each of them.
fn branch(meaning: &mut Meaning, scene: &mut Scene<'_, '_>) {
    super::bypass::of_environment(scene);
    let Some(dir) = scene.dir().map(Path::to_owned) else {
        scene.unknown("a branch is pushed from where nobody can say");
        return;
    };
    let git = GitContext { dir, env: scene.command.env.known(), globals: Vec::new() };
    if git_globals::find(&git).is_none() && !meaning.may_be_made(scene) {
        return;
    }
    let config = meaning.config(scene, &git);
    for remote in remotes(&config) {
        let args = vec![Some("--set-upstream".into()), Some(to_os_string(remote)), Some("HEAD".into())];
        meaning.push(scene, git.clone(), args, PushVia::Push);
    }
    if remotes(&config).is_empty() {
        meaning.push(scene, git, Vec::new(), PushVia::OtherSide);
    }
}

/// The names of all remotes that have a url.
pub(super) fn remotes(config: &Config) -> Vec<BString> {
    let mut names: Vec<BString> = config
        .iter()
        .filter_map(|setting| {
            let rest = setting.key.strip_prefix(b"remote.")?;
            rest.strip_suffix(b".url").or_else(|| rest.strip_suffix(b".pushurl")).map(BString::from)
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// An alias of gh's own, from its configuration file.
fn alias_of_gh(scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) -> Option<Effect> {
    if name != "gh" {
        return None;
    }
    let word = args.first()?.known()?;
    if !matches!(sends(name, word.to_str().ok()?, ""), Sends::Anything) || word.starts_with(b"-") {
        return None;
    }
    let value = aliases_of_gh(scene).into_iter().find(|(alias, _)| alias == word)?.1;
    let rest = args.get(1..).unwrap_or_default();
    if let Some(text) = value.strip_prefix(b"!") {
        let text = BString::from([text, b" \"$@\""].concat());
        let mut words = vec![Value::Known("gh".into())];
        words.extend(rest.iter().cloned());
        return Some(rerun(Code::Shell { text: Value::Known(text), args: words }, "an alias of gh"));
    }
    let words = shell_words::split(value.to_str().ok()?).ok()?;
    // An alias that stands for itself would never end.
    if words.first().is_some_and(|first| first.as_bytes() == word.as_bytes()) {
        return None;
    }
    let mut line = vec![Value::Known("gh".into())];
    line.extend(words.into_iter().map(|word| Value::Known(word.into())));
    line.extend(rest.iter().cloned());
    Some(rerun(Code::Argv(line), "an alias of gh"))
}

/// `aliases:` of gh's `config.yml`: one `name: value` a line, indented.
fn aliases_of_gh(scene: &Scene<'_, '_>) -> Vec<(BString, BString)> {
    let world = scene.shell.world();
    let folder = [
        world.var("GH_CONFIG_DIR").map(PathBuf::from),
        world.var("XDG_CONFIG_HOME").map(|path| PathBuf::from(path).join("gh")),
        world.var("HOME").map(|path| PathBuf::from(path).join(".config/gh")),
    ];
    let text = folder.into_iter().flatten().find_map(|folder| std::fs::read(folder.join("config.yml")).ok());
    let text = text.unwrap_or_default();
    let after = text.lines().skip_while(|line| !line.starts_with(b"aliases:")).skip(1);
    after
        .take_while(|line| line.starts_with(b" ") || line.starts_with(b"\t"))
        .filter_map(|line| {
            let (name, value) = line.trim().split_once_str(":")?;
            let value = value.trim();
            let bare = value
                .strip_prefix(b"'")
                .and_then(|value| value.strip_suffix(b"'"))
                .or_else(|| value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")))
                .unwrap_or(value);
            Some((name.into(), bare.into()))
        })
        .collect()
}

/// What an unknown state of the repository means for what follows.
pub(super) fn changes_anything(meaning: &mut Meaning) -> Effect {
    meaning.changes(Changes::Everything);
    Effect { changes_files: true, ..inert() }
}
