//! Other tools that commit and push: jj, Sapling, Graphite, git-town and their like, and extensions
//! of git that do.
//!
//! Promise: a sub-command that may push takes everything unpublished in its repository, since which
//! branches these tools send is theirs to decide, and several run no hook of git's (jj never does:
//! publish facts 1.2). One that only records or looks is told apart; one that is not known may push.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::bypass;
use super::git::Call;
use super::git_globals;
use super::git_verbs::{publishing, sub_command};
use super::meaning::{Changes, Meaning, Scene, inert};
use super::plan::GitContext;
use super::simple::{Effect, Value, to_os_string};

/// Words of these tools that only look, or change nothing that leaves.
const LOOKS: &str = "
    log status st diff show help version --version --help -h config cat file files annotate blame root paths info
    ls list ll smartlog sl ssl evolog interdiff tag bookmarks branches branch workspace operation op sparse util completion
    debug git-root doctor auth docs guide feedback changelog aliases parent children trunk top bottom up down
    checkout co get fetch pull init clone undo redo restore abandon edit new next prev describe desc commit squash split
    rebase absorb fix resolve duplicate parallelize metaedit sign unsign simplify-parents goto go amend uncommit shelve
    unshelve revert move track untrack rename delete fold continue abort hack switch diff-parent kill offline observe park
    prototype contribute compress walk set-parent skip runlog repo status-reset discover add anno advance advise
    clean delete-unmanaged is-managed slide-out squash-all reapply uncommit";

/// A tool under its own name.
pub(super) fn command(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) -> Effect {
    let words: Vec<Option<&BStr>> =
        args.iter().map(Value::known).filter(|word| !word.is_some_and(|word| word.starts_with(b"-"))).collect();
    let name = name.to_str_lossy().into_owned();
    let may_push = match (name.as_str(), words.as_slice()) {
        ("jj", [Some(git), Some(push), ..]) if *git == "git" => matches!(push.as_bytes(), b"push"),
        ("jj", [Some(gerrit), ..]) if *gerrit == "gerrit" => true,
        ("gitui" | "lazygit" | "tig" | "gitk" | "git-gui" | "topgit" | "but" | "josh-proxy", words) => {
            !words.is_empty()
        }
        (_, []) => false,
        (_, [None, ..]) => true,
        (tool, [Some(verb), ..]) => pushes(tool, &verb.to_str_lossy()),
    };
    if !may_push {
        meaning.changes(Changes::RefsAndFiles);
        return Effect { changes_files: !words.is_empty(), ..inert() };
    }
    bypass::of_environment(scene);
    skipped_hooks(scene, args);
    let Some(dir) = scene.dir().map(Path::to_owned) else {
        scene.unknown(format!("{name} pushes from where nobody can say"));
        return inert();
    };
    let git = repository(scene, dir, args);
    if git_globals::find(&git).is_some() || meaning.may_be_made(scene) {
        meaning.widest(scene, git, format!("{name} decides itself what it pushes"));
    }
    super::forge::changes_anything(meaning)
}

fn pushes(tool: &str, verb: &str) -> bool {
    match (tool, verb) {
        (
            "gt" | "gs" | "spr" | "av" | "ghstack" | "git-spice" | "git-branchless",
            "submit" | "s" | "ss" | "stack" | "sync" | "push" | "land" | "update" | "merge" | "upstack" | "us"
            | "downstack" | "ds" | "branch" | "b" | "repo" | "r" | "cherry-pick" | "restack" | "modify" | "m",
        ) => !matches!(verb, "branch" | "b" if tool == "av"),
        (
            "git-town",
            "sync" | "propose" | "ship" | "append" | "prepend" | "hack" | "detach" | "swap" | "merge" | "rename"
            | "delete" | "up" | "continue",
        ) => true,
        ("git-machete", "traverse" | "t" | "github" | "gitlab" | "advance" | "push") => true,
        ("arc", "diff" | "land") | ("repo", "upload") | ("stg", "mail" | "email" | "publish") => true,
        ("sl", "push" | "pr" | "ghstack" | "cloud") => true,
        ("svn", "commit" | "ci" | "import")
        | ("spr", "diff")
        | ("p4", "submit")
        | ("bzr" | "pijul", "push" | "send") => true,
        _ => !LOOKS.split_ascii_whitespace().any(|known| known == verb),
    }
}

fn skipped_hooks(scene: &mut Scene<'_, '_>, args: &[Value]) {
    if args.iter().filter_map(Value::known).any(|word| word == "--no-verify") {
        scene.bypass("--no-verify", "the same command without it, so that the hooks run");
    }
}

/// The repository of a tool: a jj repository may keep git's beneath `.jj`.
fn repository(scene: &Scene<'_, '_>, dir: PathBuf, args: &[Value]) -> GitContext {
    let mut dir = dir;
    let mut words = args.iter().map(Value::known);
    while let Some(word) = words.next() {
        if word.is_some_and(|word| word == "-R" || word == "--repository" || word == "--cwd" || word == "-C")
            && let Some(Some(folder)) = words.next()
        {
            dir.push(to_os_string(folder));
        }
    }
    let mut git = GitContext { dir: dir.clone(), env: scene.command.env.known(), globals: Vec::new() };
    if git_globals::find(&git).is_none()
        && let Some(top) = dir.ancestors().find(|above| above.join(".jj/repo/store/git").exists())
    {
        git.env.insert("GIT_DIR".into(), top.join(".jj/repo/store/git").into());
        git.env.insert("GIT_WORK_TREE".into(), top.into());
    }
    git
}

/// The same tools as extensions of git, and others that only exist as such.
pub(super) fn extension(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let sub = sub_command(call).map(|word| word.to_str_lossy().into_owned()).unwrap_or_default();
    let may_push = match call.verb.as_str() {
        "annex" => matches!(
            sub.as_str(),
            "sync"
                | "assist"
                | "push"
                | "copy"
                | "move"
                | "satisfy"
                | "webapp"
                | "assistant"
                | "export"
                | "mirror"
                | "?"
        ),
        "flow" => call.args.iter().any(|value| {
            value.known().is_none_or(|word| {
                matches!(word.as_bytes(), b"publish" | b"finish" | b"push" | b"-p" | b"--push" | b"init")
            })
        }),
        "review" => !call.args.iter().any(|value| {
            value.known().is_some_and(|word| {
                matches!(
                    word.as_bytes(),
                    b"-d" | b"--download" | b"-l" | b"--list" | b"-n" | b"--dry-run" | b"-s" | b"--setup"
                )
            })
        }),
        "town" => pushes("git-town", &sub),
        "machete" => pushes("git-machete", &sub),
        "spice" => pushes("git-spice", &sub),
        "branchless" => matches!(sub.as_str(), "submit" | "sync"),
        _ => true,
    };
    skipped_hooks(scene, &call.args);
    if may_push && let Some(context) = publishing(meaning, scene, call) {
        meaning.widest(scene, context, format!("git {} decides itself what it pushes", call.verb));
    }
    super::forge::changes_anything(meaning)
}
