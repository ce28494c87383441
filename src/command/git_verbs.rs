//! What each of git's verbs publishes, commits, or changes for what comes after it on the line.
//!
//! Promise: every verb of `facts` about publishing and committing has an arm here; one that is not
//! told apart changes everything. A verb that ends before it does anything (`--dry-run` of a commit,
//! `--abort`) is told from one that does only where git's own option reader would.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use super::git::{Call, nested, top};
use super::git_globals::{self, normal_key};
use super::git_history::{commit_like, merge_heads, notes, stash, tag, value_of};
use super::git_moves::{self, operands};
use super::git_table::{self, grammar};
use super::meaning::{Changes, Meaning, Scene, arguments, inert};
use super::options::{Arg, Options};
use super::plan::{CommitVerb, GitContext, PushVia};
use super::simple::{Certainty, Code, Effect, FileSeen, Redirection, Seen, Value, to_os_string};
use super::{bypass, git_fold, git_setup};

/// What a known verb means.
pub(super) fn verb(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    meaning.incoming.note_words(&call.verb, &call.args);
    if !git_table::READS.split_ascii_whitespace().any(|known| known == call.verb) {
        meaning.speaks(scene);
    }
    match call.verb.as_str() {
        "push" => push(meaning, scene, call, PushVia::Push),
        "send-pack" | "http-push" => push(meaning, scene, call, PushVia::SendPack),
        "commit" => commit(meaning, scene, call),
        "merge" | "pull" | "cherry-pick" | "revert" | "rebase" | "am" | "quiltimport" | "filter-branch" | "history" => {
            commit_like(meaning, scene, call)
        }
        "commit-tree" | "fast-import" | "citool" | "gui" | "archimport" | "cvsimport" | "absorb" | "autofixup"
        | "revise" => commits(meaning, scene, call, Changes::Refs),
        "replay" | "filter-repo" => {
            meaning.changes(Changes::Everything);
            Effect { changes_files: true, ..inert() }
        }
        "request-pull" => request_pull(meaning, scene, call),
        "notes" => notes(meaning, scene, call),
        "stash" => stash(meaning, scene, call),
        "tag" => tag(meaning, call, scene),
        "subtree" => subtree(meaning, scene, call),
        "submodule" => git_setup::submodule(meaning, scene, call),
        "svn" | "p4" | "cvsexportcommit" => foreign(meaning, scene, call),
        "bundle" | "archive" | "format-patch" | "fast-export" => local(meaning, scene, call),
        "send-email" | "imap-send" => mail(meaning, scene, call),
        "lfs" => lfs(meaning, scene, call),
        "annex" | "flow" | "review" | "town" | "machete" | "spice" | "branchless" => {
            super::vcs::extension(meaning, scene, call)
        }
        "fetch" | "fetch-pack" | "http-fetch" => fetch(meaning, scene, call),
        "clone" => git_setup::clone(meaning, scene, call),
        "daemon"
        | "instaweb"
        | "http-backend"
        | "upload-pack"
        | "upload-archive"
        | "upload-archive--writer"
        | "cvsserver"
        | "pack-objects"
        | "remote-ext"
        | "remote-fd"
        | "remote-ftp"
        | "remote-ftps"
        | "remote-http"
        | "remote-https" => other_side(meaning, scene, call),
        "add" | "stage" | "rm" | "mv" | "restore" | "reset" | "apply" | "update-index" | "checkout" | "switch"
        | "read-tree" | "checkout-index" | "clean" | "sparse-checkout" => git_moves::stages(meaning, scene, call),
        "config" => git_setup::config(meaning, scene, call),
        "remote" => git_setup::remote(meaning, scene, call),
        "init" | "init-db" => git_setup::init(meaning, scene, call),
        "branch" => git_moves::branch(meaning, scene, call),
        "update-ref" | "symbolic-ref" | "reflog" | "replace" | "bisect" | "worktree" => {
            git_moves::refs(meaning, scene, call)
        }
        "for-each-repo" => for_each_repo(meaning, scene, call),
        "hash-object"
        | "mktag"
        | "mktree"
        | "unpack-objects"
        | "index-pack"
        | "merge-octopus"
        | "merge-ours"
        | "merge-recursive"
        | "merge-recursive-ours"
        | "merge-recursive-theirs"
        | "merge-resolve"
        | "merge-subtree"
        | "shell"
        | "gitk"
        | "hook" => writes_objects(meaning, scene, call),
        "difftool" => tool(scene, call),
        "grep" => pager_of_grep(scene, call),
        reads if git_table::READS.split_ascii_whitespace().any(|known| known == reads) => {
            Effect { output: git_fold::output(meaning, scene, call), ..inert() }
        }
        _ => {
            meaning.changes(Changes::Everything);
            Effect { changes_files: true, ..inert() }
        }
    }
}

/// The words after the verb as option readers see them.
pub(super) fn args(values: &[Value]) -> Vec<Arg> {
    values
        .iter()
        .map(|value| match value {
            Value::Known(text) => Arg::Known(text.clone()),
            Value::Unknown(value) => Arg::Unknown { prefix: value.prefix.clone(), suffix: value.suffix.clone() },
        })
        .collect()
}

pub(super) fn options(call: &Call, verb: &str) -> Options {
    grammar(verb).read(&args(&call.args), true)
}

/// Variables that choose the repository, its objects or its index.
const PLACES: &[&str] = &[
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// The repository that a publishing verb works on; without one git stops. An unknown directory is
/// not bounded.
pub(super) fn publishing(meaning: &Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Option<GitContext> {
    bypass::of_publish(scene, call);
    let Some(context) = call.context.clone() else {
        let why = match (&scene.command.dir, &call.globals.misplaced) {
            (super::simple::Dir::Unknown(why), _) | (super::simple::Dir::Known(_), Some(why)) => why.clone(),
            (super::simple::Dir::Known(_), None) => "the directory".into(),
        };
        scene.unknown(format!("git {} runs where nobody can say: {why}", call.verb));
        return None;
    };
    let unknown = PLACES.iter().find(|name| matches!(scene.command.env.var(name), Seen::Unknown(_)));
    if let Some(name) = unknown {
        scene.unknown(format!("git {} runs with a {name} that nobody knows", call.verb));
        return None;
    }
    let is_none = git_globals::find(&context).is_none();
    if is_none && !meaning.may_be_made(scene) && !meaning.may_be_put_here(scene, &context) {
        return None;
    }
    Some(context)
}

fn push(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call, via: PushVia) -> Effect {
    if let Some(context) = publishing(meaning, scene, call) {
        let goes_here = goes_into_itself(&context, call);
        meaning.push(scene, context, arguments(&call.args), via);
        if goes_here {
            meaning.changes(Changes::Refs);
        }
    }
    inert()
}

/// Whether a push may lead into the repository that it starts from (`git push . a:b`), where it moves branches.
fn goes_into_itself(context: &GitContext, call: &Call) -> bool {
    let options = options(call, &call.verb);
    let Some(target) = options.operands.first().or(options.value("repo")) else { return false };
    let Some(target) = target.known() else { return false };
    let Some(place) = git_globals::find(context) else { return false };
    // A path starts from the top of the work tree, as git does.
    let base = place.top.clone().unwrap_or_else(|| git_globals::directory(&context.dir, &context.globals));
    let path = below(&base, target.strip_prefix(b"file://").unwrap_or(target).as_bstr());
    let Ok(path) = path.canonicalize() else { return false };
    let there = GitContext { dir: path.clone(), env: git_setup::without_repository(context), globals: Vec::new() };
    let Some(other) = git_globals::find(&there) else { return false };
    let is_there = path.join(".git").exists() || other.git_dir.starts_with(&path);
    is_there && other.common_dir().canonicalize().ok() == place.common_dir().canonicalize().ok()
}

fn commit(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "commit");
    let only_shows = ["dry-run", "short", "porcelain", "long", "null"].iter().any(|name| options.is_on(name));
    if only_shows && !options.unknown {
        return inert();
    }
    if let Some(context) = publishing(meaning, scene, call) {
        meaning.commit(scene, context, CommitVerb::Commit, arguments(&call.args));
    }
    if options.is_on("amend") && !options.unknown {
        let certain = scene.command.certainty == Certainty::Always && meaning.is_named_by_nothing_new();
        meaning.branch.amended(scene.command.chain, certain);
        return inert();
    }
    match merge_heads(call) {
        heads if heads.is_empty() => meaning.branch.committed(),
        heads => meaning.branch.merged(heads),
    }
    inert()
}

/// Verbs that make commits or objects like them, whatever their options.
pub(super) fn commits(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call, changes: Changes) -> Effect {
    if let Some(context) = publishing(meaning, scene, call) {
        meaning.commit(scene, context, CommitVerb::Other(call.verb.clone().into()), arguments(&call.args));
    }
    meaning.changes(changes);
    Effect { changes_files: true, ..inert() }
}

/// The first operand, which chooses among sub-commands.
pub(super) fn sub_command(call: &Call) -> Option<&BStr> {
    let first = call.args.iter().find(|value| !value.known().is_some_and(|word| word.starts_with(b"-")));
    first.and_then(Value::known)
}

fn subtree(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let is_push = call.args.iter().any(|value| value.known().is_none_or(|word| word == "push"));
    if !is_push {
        if let Some(context) = &call.context {
            for word in args(&call.args).iter().filter(|word| word.known().is_some_and(|word| word.contains(&b'/'))) {
                meaning.fetches(scene, context, (Some(word), false), true);
            }
        }
        return commits(meaning, scene, call, Changes::RefsAndFiles);
    }
    if let Some(context) = publishing(meaning, scene, call) {
        meaning.subtree_push(scene, context, &call.args);
    }
    inert()
}

/// `svn dcommit`, `p4 submit` and the like send commits to another system.
fn foreign(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let sends = call.verb == "cvsexportcommit"
        || call.args.iter().any(|value| {
            value.known().is_none_or(|word| {
                matches!(word.as_bytes(), b"dcommit" | b"submit" | b"set-tree" | b"commit-diff" | b"branch" | b"tag")
            })
        });
    if sends && let Some(context) = publishing(meaning, scene, call) {
        let verb = if call.verb == "svn" { "svn dcommit" } else { &call.verb };
        meaning.revisions(scene, context, verb, &call.args, false);
    }
    meaning.changes(Changes::RefsAndFiles);
    Effect { changes_files: true, ..inert() }
}

/// Verbs that write revisions to a file or to their output.
fn local(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let sub = sub_command(call).map(|word| word.to_str_lossy().into_owned());
    let is_read = match call.verb.as_str() {
        "bundle" => !matches!(sub.as_deref(), Some("create") | None),
        "archive" => args(&call.args).iter().any(|arg| match arg {
            Arg::Known(word) => word.starts_with(b"--remote") || word == "--list" || word == "-l",
            Arg::Unknown { .. } => false,
        }),
        _ => false,
    };
    if is_read {
        return inert();
    }
    let Some(context) = publishing(meaning, scene, call) else { return inert() };
    let to_file = match call.verb.as_str() {
        "bundle" => {
            !call.args.iter().any(|value| value.known().is_some_and(|word| word == "-" || word == "/dev/stdout"))
        }
        "fast-export" => scene.command.redirections.iter().any(is_output_to_file),
        _ => true,
    };
    meaning.revisions(scene, context, &call.verb, &call.args, to_file);
    Effect { changes_files: true, ..inert() }
}

/// `git request-pull` prints what is meant for others to read, unless nobody takes it.
fn request_pull(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let dropped = scene.command.redirections.iter().any(|redirection| {
        is_output_to_file(redirection) && redirection.target.known().is_some_and(|target| target == "/dev/null")
    });
    if !dropped && let Some(context) = publishing(meaning, scene, call) {
        meaning.revisions(scene, context, "request-pull", &call.args, true);
    }
    inert()
}

fn is_output_to_file(redirection: &Redirection) -> bool {
    redirection.kind.writes() && redirection.fd.is_none_or(|fd| fd == 1)
}

fn mail(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let words: Vec<_> = call.args.iter().filter_map(Value::known).collect();
    let only_tests =
        words.iter().any(|word| *word == "--dry-run" || *word == "--translate-aliases" || *word == "--dump-aliases");
    if only_tests && call.args.iter().all(|value| value.known().is_some()) {
        return inert();
    }
    if let Some(context) = publishing(meaning, scene, call) {
        let files = words
            .iter()
            .filter(|word| !word.starts_with(b"-"))
            .filter_map(|word| scene.path(word))
            .filter(|path| path.is_file())
            .collect::<Vec<_>>();
        scene.pasted(&files);
        meaning.revisions(scene, context, &call.verb, &call.args, false);
    }
    inert()
}

/// `git lfs push` sends what a push of the same refs would have uploaded.
fn lfs(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let Some(sub) = call.args.first() else { return inert() };
    let Some(sub) = sub.known() else {
        let Some(context) = publishing(meaning, scene, call) else { return inert() };
        meaning.widest(scene, context, "a command of git lfs that is not known");
        return inert();
    };
    let rest = call.args.get(1..).unwrap_or_default();
    match sub.as_bytes() {
        b"push" => {
            let Some(context) = publishing(meaning, scene, call) else { return inert() };
            let by_id = rest.iter().any(|value| {
                value.known().is_some_and(|word| word == "--object-id" || word == "-o" || word == "--stdin")
            });
            if by_id {
                meaning.widest(scene, context, "git lfs push names objects one by one");
            } else {
                let words: Vec<Value> = rest
                    .iter()
                    .filter(|value| !value.known().is_some_and(|word| word.starts_with(b"-") && word != "--all"))
                    .cloned()
                    .collect();
                meaning.push(scene, context, arguments(&words), PushVia::Lfs);
            }
            inert()
        }
        b"pre-push" => {
            // In git's own pre-push hook the push itself is planned already.
            if !scene.plan.publishes.iter().any(|publish| matches!(publish, super::plan::Publish::Push(_)))
                && let Some(context) = publishing(meaning, scene, call)
            {
                meaning.widest(scene, context, "git lfs pre-push uploads what its input names");
            }
            inert()
        }
        b"migrate" => commits(meaning, scene, call, Changes::Refs),
        b"install" | b"uninstall" | b"update" | b"track" | b"untrack" | b"pull" | b"fetch" | b"checkout" => {
            Effect { changes_files: true, ..inert() }
        }
        _ => inert(),
    }
}

/// `git -C OTHER fetch HERE`: bytes go from here to a repository that others may read.
fn fetch(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "fetch");
    if let Some(context) = &call.context
        && is_bare(context)
    {
        let all = options.is_on("all") || options.is_on("multiple");
        git_setup::fetched_by_bare(meaning, scene, context, options.operands.first().filter(|_| !all), all);
    }
    if let Some(context) = &call.context {
        let several = options.is_on("all") || options.is_on("multiple");
        meaning.fetches(scene, context, (options.operands.first().filter(|_| !several), several), false);
    }
    let sets_refs = options.operands.iter().skip(1).any(|arg| match arg {
        Arg::Known(word) => word.contains(&b':'),
        Arg::Unknown { .. } => true,
    });
    if sets_refs || options.unknown {
        meaning.changes(Changes::Refs);
    }
    inert()
}

/// Whether a repository has no work tree: one that others fetch from.
pub(super) fn is_bare(context: &GitContext) -> bool {
    let Some(place) = git_globals::find(context) else { return false };
    let says_so = || {
        let text = std::fs::read(place.git_dir.join("config")).unwrap_or_default();
        text.lines().any(|line| {
            let line = line.to_ascii_lowercase();
            line.trim()
                .strip_prefix(b"bare")
                .is_some_and(|rest| rest.trim_start().strip_prefix(b"=").is_none_or(|value| value.trim() == b"true"))
        })
    };
    place.top.is_none() || (place.git_dir.file_name() != Some(".git".as_ref()) && says_so())
}

/// The other side of a transport, run by hand: it gives whatever it is asked for.
fn other_side(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let Some(mut context) = publishing(meaning, scene, call) else { return inert() };
    if matches!(call.verb.as_str(), "upload-pack" | "upload-archive") {
        let operand = call.args.iter().rev().filter_map(Value::known).find(|word| !word.starts_with(b"-"));
        if let Some(path) = operand.and_then(|word| scene.path(word)) {
            context = GitContext { dir: path, env: context.env, globals: Vec::new() };
        }
    }
    meaning.push(scene, context, Vec::new(), PushVia::OtherSide);
    inert()
}

fn for_each_repo(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let Some(context) = &call.context else {
        scene.unknown("git for-each-repo runs where nobody can say");
        return inert();
    };
    let config = meaning.config(scene, context);
    let mut words = call.args.iter().peekable();
    let mut key = None;
    while let Some(word) = words.peek().and_then(|value| value.known()) {
        if let Some(attached) = word.strip_prefix(b"--config=") {
            key = Some(normal_key(attached.as_bstr()));
        } else if word == "--config" {
            words.next();
            key = words.peek().and_then(|value| value.known()).map(normal_key);
        } else if !word.starts_with(b"-") || word == "--" {
            break;
        }
        words.next();
    }
    let rest: Vec<Value> = words.filter(|value| value.known().is_none_or(|word| word != "--")).cloned().collect();
    let Some(key) = key else { return inert() };
    let folders = config.iter().filter(|setting| setting.key == key);
    let mut effect = inert();
    for folder in folders {
        let Some(folder) = &folder.value else {
            scene.unknown("git for-each-repo runs in repositories that are not known");
            continue;
        };
        let mut argv: Vec<Value> =
            [b"git".as_slice(), b"-C", folder].iter().map(|word| Value::Known((*word).into())).collect();
        argv.extend(rest.iter().cloned());
        effect.run.push(nested(scene, call, Code::Argv(argv), None, Certainty::Always, "git for-each-repo".into()));
    }
    effect
}

/// Plumbing that writes objects: harmless here, a publish in a repository that others fetch from.
fn writes_objects(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Effect {
    let writes = match call.verb.as_str() {
        "hash-object" => call.args.iter().any(|value| value.known().is_none_or(|word| word == "-w")),
        "hook" | "gitk" | "shell" => false,
        _ => true,
    };
    match call.verb.as_str() {
        "hash-object" if writes => meaning.incoming.objects(scene, &call.args),
        "unpack-objects" | "index-pack" => meaning.incoming.unpacks_objects(),
        "mktag" => meaning.incoming.tag_of_input(scene),
        _ => {}
    }
    if writes
        && let Some(context) = &call.context
        && is_bare(context)
        && call.verb == "hash-object"
    {
        let files: Vec<PathBuf> = operands(call).iter().filter_map(|value| scene.path(value.known()?)).collect();
        let request = super::plan::UploadRequest {
            tool: "git hash-object".into(),
            dir: context.dir.clone(),
            files,
            texts: Vec::new(),
            written: Vec::new(),
            package: None,
            revisions: None,
            local_only: false,
        };
        meaning.upload(scene, request);
    }
    inert()
}

fn tool(scene: &Scene<'_, '_>, call: &Call) -> Effect {
    let options = options(call, "difftool");
    let dir = call.context.as_ref().map(top);
    let run = options
        .values("extcmd")
        .map(|text| {
            let code = Code::Shell { text: value_of(text), args: Vec::new() };
            nested(scene, call, code, dir.clone(), Certainty::Maybe, "git difftool --extcmd".into())
        })
        .collect();
    Effect { run, ..inert() }
}

/// `git grep -O PROGRAM` opens what it finds.
fn pager_of_grep(scene: &Scene<'_, '_>, call: &Call) -> Effect {
    let run = call
        .args
        .iter()
        .filter_map(Value::known)
        .filter_map(|word| word.strip_prefix(b"-O").or_else(|| word.strip_prefix(b"--open-files-in-pager=")))
        .filter(|program| !program.is_empty())
        .map(|program| {
            let code = Code::Shell { text: Value::Known(program.into()), args: Vec::new() };
            nested(scene, call, code, None, Certainty::Maybe, "git grep -O".into())
        })
        .collect();
    Effect { run, ..inert() }
}

/// A file of the line as it will be when the command runs, when its bytes are known.
pub(super) fn file_text(scene: &Scene<'_, '_>, path: &Path) -> Option<Vec<u8>> {
    match scene.shell.file(path) {
        FileSeen::Written(bytes) => Some(bytes),
        FileSeen::Changed(_) => None,
        FileSeen::AsOnDisk => crate::world::read_plain(path).ok(),
    }
}

/// A known word as a path below a directory.
pub(super) fn below(dir: &Path, word: &BStr) -> PathBuf {
    dir.join(to_os_string(word))
}
