//! Verbs that stage, and verbs that move refs and what is checked out: `add`, `checkout`, `reset`, `branch` …
//!
//! Promise: what they leave for the next commit is a step of it, and a name that they make or move is
//! known to later pushes of the line, or everything of here counts as changed.

use bstr::{BStr, BString, ByteSlice};

use super::git::{Call, nested, top};
use super::git_verbs::{args, is_bare, options, sub_command};
use super::meaning::{Changes, Meaning, Scene, arguments, inert};
use super::options::{Arg, Options};
use super::plan::{CommitVerb, GitContext};
use super::simple::{Certainty, Code, Effect, Value, to_os_string};
use super::{git_fold, git_globals};

/// Verbs that stage: the next commit takes what they leave.
pub(super) fn stages(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let only_names = matches!(call.verb.as_str(), "checkout" | "switch") && branch_made_here(call).is_some();
    let changes_files = !only_names && !matches!(call.verb.as_str(), "add" | "stage" | "update-index");
    let effect = Effect { changes_files, ..inert() };
    let Some(context) = &call.context else {
        meaning.changes(Changes::RefsAndFiles);
        return effect;
    };
    meaning.stage(scene, context, &call.verb, &call.args);
    if changes_files && let Some((from, top)) = other_repository(context) {
        meaning.incoming.copied.push((from, vec![top]));
    }
    if call.verb == "apply" {
        meaning.patched(scene, &call.args);
    }
    if call.verb == "sparse-checkout" && !sub_command(call).is_some_and(|sub| sub == "list" || sub == "check-rules") {
        meaning.settings_of_staging.extend(super::staging::without_sparse_part());
    }
    if matches!(call.verb.as_str(), "rm" | "mv") {
        for word in args(&call.args).iter().filter(|word| !word.known().is_some_and(|word| word.starts_with(b"-"))) {
            super::tamper::of_word_taken(scene, word, true);
            if call.verb == "mv" {
                super::tamper::of_word(scene, word);
            }
        }
    }
    if is_bare(context) && matches!(call.verb.as_str(), "add" | "stage" | "update-index") {
        // Blobs go straight into a repository that others fetch from.
        let context = context.clone();
        meaning.commit(scene, context, CommitVerb::Other(call.verb.clone().into()), arguments(&call.args));
        return effect;
    }
    match call.verb.as_str() {
        "add" | "stage" | "rm" | "mv" | "restore" | "update-index" => {}
        "checkout" if is_of_paths(call) => {}
        "checkout" | "switch" => match branch_made_here(call) {
            Some(name) => meaning.made_ref("refs/heads/", name),
            None if makes_branch(call) => {
                meaning.changes(Changes::Refs);
                meaning.changes(Changes::Head);
            }
            None => match dash(meaning, scene, context, call)
                .map_or_else(|| checked_out(scene, context, call), CheckedOut::Branch)
            {
                CheckedOut::Branch(branch) => {
                    let certain = scene.command.certainty == Certainty::Always;
                    meaning.checks_out(branch, if certain { scene.command.chain } else { 0 });
                }
                CheckedOut::Paths => {}
                CheckedOut::Unknown => meaning.changes(Changes::Head),
            },
        },
        "reset" => match moves_branch_to(scene, context, call) {
            Moves::Nowhere => {}
            Moves::To(revision) => {
                let certain = scene.command.certainty == Certainty::Always && meaning.is_named_by_nothing_new();
                if !meaning.branch.reset(revision, scene.command.chain, certain) {
                    meaning.changes(Changes::Refs);
                }
            }
            Moves::Unknown => meaning.changes(Changes::Refs),
        },
        // `apply`, `read-tree`, `checkout-index`, `clean`, `sparse-checkout`: the step is all there is.
        _ => {}
    }
    effect
}

/// The repository whose files a command puts into the work tree of another one (`--git-dir`, `GIT_DIR`), and the top
/// of that.
fn other_repository(context: &GitContext) -> Option<(std::path::PathBuf, std::path::PathBuf)> {
    let place = git_globals::find(context)?;
    let top = place.top.clone()?;
    let env = super::git_setup::without_repository(context);
    let own = git_globals::find(&GitContext { dir: top.clone(), env, globals: Vec::new() })?;
    let is_other = super::by_hand::real(&own.common_dir()) != super::by_hand::real(&place.common_dir());
    is_other.then_some((place.git_dir, top))
}

/// What a checkout or a switch checks out.
enum CheckedOut {
    /// A branch that is there now, by its full name.
    Branch(BString),
    /// Files; the branch stays.
    Paths,
    Unknown,
}

/// Options that change nothing of what is checked out.
const HARMLESS_OF_CHECKOUT: &[&str] =
    &["-q", "--quiet", "-f", "--force", "--progress", "--no-progress", "--discard-changes"];

/// `-`: the branch that was checked out before, where that is known for certain.
fn dash(meaning: &Meaning, scene: &Scene<'_, '_>, context: &GitContext, call: &Call) -> Option<BString> {
    let words: Vec<&BStr> = call.args.iter().map(Value::known).collect::<Option<_>>()?;
    let is_plain =
        |word: &&BStr| *word == "-" || HARMLESS_OF_CHECKOUT.iter().any(|known| word.as_bytes() == known.as_bytes());
    if !words.iter().all(is_plain) || words.iter().filter(|word| **word == "-").count() != 1 || meaning.head_moved {
        return None;
    }
    let chain = scene.command.chain;
    let ask = |args: &[&str]| {
        let printed = scene.shell.world().git(context, args).stdout().ok()?;
        Some(BString::from(printed.trim())).filter(|name| name.starts_with(b"refs/heads/"))
    };
    match meaning.checked_out.as_slice() {
        [] => ask(&["rev-parse", "--symbolic-full-name", "@{-1}"]),
        // In a list joined by `&&` the earlier ones have come to what they say.
        all if chain != 0 && all.iter().all(|one| one.chain == chain) => match all {
            [.., before, _] => Some(before.branch.clone()),
            _ => ask(&["symbolic-ref", "-q", "HEAD"]),
        },
        _ => None,
    }
}

fn checked_out(scene: &Scene<'_, '_>, context: &GitContext, call: &Call) -> CheckedOut {
    let known: Option<Vec<&BStr>> = call.args.iter().map(Value::known).collect();
    let Some(known) = known else { return CheckedOut::Unknown };
    let (options, operands): (Vec<&BStr>, Vec<&BStr>) = known.into_iter().partition(|word| word.starts_with(b"-"));
    if !options.iter().all(|option| HARMLESS_OF_CHECKOUT.iter().any(|known| *option == *known)) {
        return CheckedOut::Unknown;
    }
    let name = match operands.as_slice() {
        [name] => *name,
        // A revision and paths, or paths alone.
        [_, _, ..] if call.verb == "checkout" => return CheckedOut::Paths,
        _ => return CheckedOut::Unknown,
    };
    let branch = [b"refs/heads/", name.as_bytes()].concat();
    if scene.has_ref(context, &branch) {
        return CheckedOut::Branch(branch.into());
    }
    let is_path = call.verb == "checkout"
        && scene.path(name).is_some_and(|path| path.symlink_metadata().is_ok())
        && !may_name_commit(scene, context, name);
    if is_path { CheckedOut::Paths } else { CheckedOut::Unknown }
}

/// Whether a word may stand for a commit, or for a branch of a remote that a checkout would make one of.
fn may_name_commit(scene: &Scene<'_, '_>, context: &GitContext, word: &BStr) -> bool {
    let world = scene.shell.world();
    let revision = ["rev-parse", "--verify", "--quiet", "--end-of-options"].map(std::ffi::OsString::from);
    let names_one = world.git(context, revision.into_iter().chain([to_os_string(word)])).run();
    let of_remotes = world.git(context, ["for-each-ref", "--format=%(refname)", "refs/remotes"]).stdout();
    let end = [b"/", word.as_bytes()].concat();
    !names_one.is_ok_and(|done| !done.status.success())
        || !of_remotes.is_ok_and(|listed| !listed.lines().any(|name| name.ends_with(&end)))
}

/// Where a reset moves the current branch.
enum Moves {
    Nowhere,
    To(BString),
    Unknown,
}

/// A reset that names a commit and no paths moves the branch there.
fn moves_branch_to(scene: &Scene<'_, '_>, context: &GitContext, call: &Call) -> Moves {
    let operands = operands(call);
    if is_of_paths(call) || operands.is_empty() {
        return Moves::Nowhere;
    }
    let known: Option<Vec<&BStr>> = operands.iter().map(|value| value.known()).collect();
    match known.as_deref() {
        None => Moves::Unknown,
        Some([only]) if *only == "HEAD" || *only == "@" => Moves::Nowhere,
        Some([only]) => {
            if git_globals::find(context).is_none() {
                return Moves::Nowhere;
            }
            let revision = to_os_string([only.as_bytes(), b"^{commit}"].concat());
            let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"].map(std::ffi::OsString::from);
            match scene.shell.world().git(context, args.into_iter().chain([revision])).run() {
                Ok(done) if done.status.success() => Moves::To((*only).to_owned()),
                Ok(_) => Moves::Nowhere,
                Err(_) => Moves::Unknown,
            }
        }
        Some(_) => Moves::Nowhere,
    }
}

pub(super) fn operands(call: &Call) -> Vec<&Value> {
    call.args.iter().filter(|value| !value.known().is_some_and(|word| word.starts_with(b"-"))).collect()
}

/// Whether `--` shows that paths are meant.
fn is_of_paths(call: &Call) -> bool {
    call.args.iter().any(|value| value.known().is_some_and(|word| word == "--"))
        && !call.args.iter().any(|value| value.known().is_some_and(|word| word == "-b" || word == "-B"))
}

/// `checkout -b NAME` and `switch -c NAME` without a start: a new name for what is checked out now.
fn branch_made_here(call: &Call) -> Option<&BStr> {
    let words: Vec<&BStr> = call.args.iter().map(Value::known).collect::<Option<_>>()?;
    let makes =
        |word: &&BStr| matches!(word.as_bytes(), b"-b" | b"-B" | b"-c" | b"-C" | b"--create" | b"--force-create");
    let mut operands = words.iter().filter(|word| !word.starts_with(b"-"));
    let name = operands.next()?;
    (words.iter().any(makes) && operands.next().is_none()).then_some(*name)
}

/// `git branch NAME` and `git branch -M NAME`: a name for what is checked out.
fn names_what_is_here(options: &Options) -> bool {
    options.given.iter().all(|given| matches!(given.name.as_str(), "force" | "move" | "M" | "copy" | "C" | "quiet"))
}

fn makes_branch(call: &Call) -> bool {
    call.args.iter().any(|value| match value.known() {
        Some(word) => {
            word.starts_with(b"-b")
                || word.starts_with(b"-B")
                || word.starts_with(b"-c")
                || word.starts_with(b"-C")
                || word.starts_with(b"--cr")
                || word.starts_with(b"--force-c")
                || word.starts_with(b"--or")
        }
        None => true,
    })
}

pub(super) fn branch(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "branch");
    let lists = ["list", "show-current", "all", "remotes", "contains", "merged", "points-at"]
        .iter()
        .any(|name| options.is_on(name) || options.is_off(name));
    if (lists || options.operands.is_empty()) && !options.unknown {
        return Effect { output: git_fold::output(meaning, scene, call), ..inert() };
    }
    let upstream = options.is_on("set-upstream-to") || options.is_on("unset-upstream");
    match options.operands.as_slice() {
        [Arg::Known(name)] if names_what_is_here(&options) => meaning.made_ref("refs/heads/", name.as_bstr()),
        _ => meaning.changes(if upstream { Changes::Configuration } else { Changes::Refs }),
    }
    inert()
}

pub(super) fn refs(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let sub = sub_command(call).map(|word| word.to_str_lossy().into_owned()).unwrap_or_default();
    let reads = match call.verb.as_str() {
        "symbolic-ref" => operands(call).len() < 2,
        "reflog" => !matches!(sub.as_str(), "expire" | "delete" | "drop" | "write"),
        "replace" => call.args.is_empty(),
        "bisect" => matches!(sub.as_str(), "log" | "view" | "visualize" | "terms" | ""),
        "worktree" => matches!(sub.as_str(), "list" | "prune" | "lock" | "unlock" | ""),
        _ => false,
    };
    if reads && call.args.iter().all(|value| value.known().is_some()) {
        return Effect { output: git_fold::output(meaning, scene, call), ..inert() };
    }
    let mut effect = Effect { changes_files: matches!(call.verb.as_str(), "bisect" | "worktree"), ..inert() };
    if call.verb == "bisect" && sub == "run" {
        let words = call.args.get(1..).unwrap_or_default().to_vec();
        if !words.is_empty() {
            let dir = call.context.as_ref().map(top);
            effect.run.push(nested(scene, call, Code::Argv(words), dir, Certainty::Maybe, "git bisect run".into()));
        }
    }
    if call.verb == "worktree"
        && let Some(context) = &call.context
    {
        // What is pushed from the new work tree is pushed from here.
        meaning.cloned.push(git_globals::directory(&context.dir, &context.globals));
    }
    meaning.changes(match call.verb.as_str() {
        "worktree" => Changes::Everything,
        "bisect" => Changes::RefsAndFiles,
        _ => Changes::Refs,
    });
    effect
}
