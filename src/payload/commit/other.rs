//! Commits that something else than `git commit` makes.
//!
//! Promise: `merge`, `cherry-pick`, `revert`, `rebase`, `am`, `pull`, `stash`, `notes`, `tag -a` and
//! whatever else the plan calls a commit are bounded by what is here: a merged file is made of lines of
//! its sides, so both sides are read; the index, the words, the files that the words name, and what an
//! operation in progress has prepared. Never exact.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

use crate::command::plan::CommitRequest;
use crate::payload::upload::walk;
use crate::payload::{Fault, Payload};
use crate::text::SafeText;
use crate::world::World;

use super::laid::{AsLeft, as_left};
use super::message::{self, Message};
use super::parts::{self, Wanted};
use super::site::Located;
use super::stage::Stage;
use super::{assemble, steps, taken, trees_of};

/// What is known of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An object with a message and no content of its own.
    Text,
    /// Changes of named commits are applied to `HEAD`.
    Applied,
    /// Their opposites are.
    Reverted,
    /// Whole trees are merged into `HEAD`'s.
    Merged,
    /// Mails or patches are applied.
    Mailed,
    /// Work-tree files.
    WorkTree,
}

fn kind(verb: &OsStr) -> Kind {
    match verb.to_str() {
        Some("notes" | "tag") => Kind::Text,
        Some("cherry-pick") => Kind::Applied,
        Some("revert") => Kind::Reverted,
        Some("stash") => Kind::WorkTree,
        Some("am") => Kind::Mailed,
        // `merge`, `pull`, and `rebase` or `filter-branch`, which make commits of this branch anew: what
        // these hold was recorded before, and a secret among it is often why they are made anew.
        Some(_) | None => Kind::Merged,
    }
}

/// Everything that such a command could record.
///
/// # Errors
/// When git cannot say where it works, or an object is missing.
pub fn payload(world: &World, request: &CommitRequest, verb: &OsStr) -> Result<Payload, Fault> {
    let located = Located::of(&request.git);
    let mut stage = match Stage::open(world, &request.git) {
        Ok(stage) => stage,
        // Plumbing needs no work tree: what its words say and name is what it can add.
        Err(Fault::GitRefuses(_)) => return without_work_tree(&located, request),
        Err(fault) => return Err(fault),
    };
    for step in &request.steps {
        steps::run(&mut stage, step)?;
    }
    stage.lay_written(&request.written)?;
    stage.exact = false;
    if verb == "commit-tree" && !taken::are_known(&request.args) {
        // No ref need lead to it.
        stage.unseen.push("the tree of a commit that is made from words which are not known".into());
    }
    let mut message = words(&located, request);
    if verb == "quiltimport" {
        message.files.extend(series(&located, request)?);
    }
    let mut wanted = Wanted::default();
    let commits = named(&mut stage, request)?;
    let head: Vec<String> = stage.head.iter().cloned().collect();
    let head_trees = if head.is_empty() { vec![parts::empty_tree(&stage)?] } else { head.clone() };
    if verb == "commit-tree" {
        // No ref need lead to the tree that it is given.
        let mut trees = Vec::new();
        for word in request.args.iter().flatten() {
            trees.extend(stage.resolve(word, "tree")?);
        }
        parts::entering(&stage, &trees, &head_trees, &mut wanted)?;
    }
    let kind = kind(verb);
    match kind {
        Kind::Text => {
            message.commits.extend(objects_named(&stage, request)?);
            return finish(stage, wanted, message);
        }
        Kind::Applied => applied(&stage, &commits, false, &mut wanted)?,
        Kind::Reverted => applied(&stage, &commits, true, &mut wanted)?,
        Kind::Merged | Kind::Mailed => merged(&stage, &commits, &head_trees, &mut wanted)?,
        Kind::WorkTree => {
            if untracked_too(&request.args) {
                let ignored = ignored_too(&request.args).then_some("--force");
                let done = stage.git(["add", "--all"].into_iter().chain(ignored)).run()?;
                if !done.status.success() {
                    stage.complaint(&done.stderr);
                }
            }
            stage.update_tracked(&located.context, &[])?;
        }
    }
    if goes_on(&request.args) {
        let rest = yet_to_come(&stage)?;
        applied(&stage, &rest, kind == Kind::Reverted, &mut wanted)?;
        message.commits.extend(rest);
    }
    if records_index(&stage, verb, request) {
        stage.snapshot()?;
    }
    let trees: Vec<String> = std::mem::take(&mut stage.snapshots).into_iter().collect();
    parts::entering(&stage, &trees, &head_trees, &mut wanted)?;
    message.commits.extend(commits);
    if kind == Kind::Merged {
        message.texts.extend(descriptions(&stage)?);
    }
    message.files.extend(in_progress(&stage.site.git_dir, kind));
    message::hooks(&mut stage, &mut message)?;
    finish(stage, wanted, message)
}

fn without_work_tree(located: &Located, request: &CommitRequest) -> Result<Payload, Fault> {
    let message = words(located, request);
    let mut parts = Vec::new();
    if !message.files.is_empty() {
        parts.push(crate::payload::files::part(&message.files)?);
    }
    let texts = message.texts.into_iter().map(|text| (crate::payload::ItemKind::Message, text));
    parts.push(crate::payload::Texts::part(texts));
    Ok(Payload { parts, exact: false, ..Payload::default() })
}

fn finish(mut stage: Stage<'_>, wanted: Wanted, mut message: Message) -> Result<Payload, Fault> {
    message::identities(&mut stage, &mut message)?;
    assemble(stage, wanted, message)
}

/// Whether what is staged can come into such a commit. git starts a merge, a pick, a rebase or mails only
/// where the index is as `HEAD`; what was staged since it stopped is recorded when it goes on.
fn records_index(stage: &Stage<'_>, verb: &OsStr, request: &CommitRequest) -> bool {
    let starts_clean = matches!(verb.to_str(), Some("merge" | "cherry-pick" | "revert" | "rebase" | "am" | "pull"));
    let in_progress = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"]
        .iter()
        .any(|name| stage.site.git_dir.join(name).exists());
    !starts_clean || in_progress || goes_on(&request.args)
}

/// Whether words may make an operation go on that git has stopped in the middle of.
fn goes_on(args: &[Option<OsString>]) -> bool {
    args.iter().any(|word| match word {
        None => true,
        Some(word) => ["--cont", "--skip", "--ff", "-r", "--res", "--autos"]
            .iter()
            .any(|start| word.as_bytes().starts_with(start.as_bytes())),
    })
}

/// Commits that an operation in progress has still to take, from git's own lists of them.
fn yet_to_come(stage: &Stage<'_>) -> Result<BTreeSet<String>, Fault> {
    let mut words = Vec::new();
    for list in ["sequencer/todo", "rebase-merge/git-rebase-todo"] {
        let path = stage.site.git_dir.join(list);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                let path = SafeText::quoted(path.as_os_str().as_bytes(), 200);
                return Err(Fault::File { path, what: error.to_string().into() });
            }
        };
        // `pick ID subject`, `fixup -C ID`, `merge -C ID label`: the first word that could be an id.
        let of_line = |line: &[u8]| line.fields().skip(1).find(|word| may_be_id(word)).map(<[u8]>::to_vec);
        words.extend(text.lines().filter(|line| !line.starts_with(b"#")).filter_map(of_line));
    }
    // The other kind of rebase keeps a patch of each, which names its commit first.
    for patch in fs::read_dir(stage.site.git_dir.join("rebase-apply")).into_iter().flatten().flatten() {
        if patch.file_name().as_bytes().iter().all(u8::is_ascii_digit) {
            let text = fs::read(patch.path()).map_err(|error| Fault::File {
                path: SafeText::quoted(patch.path().as_os_str().as_bytes(), 200),
                what: error.to_string().into(),
            })?;
            let named = text.strip_prefix(b"From ").and_then(|rest| rest.fields().next());
            words.extend(named.filter(|word| may_be_id(word)).map(<[u8]>::to_vec));
        }
    }
    if words.is_empty() {
        return Ok(BTreeSet::new());
    }
    let input = [words.join(&b"\n"[..]), b"\n".to_vec()].concat();
    let listed = stage.git(["cat-file", "--batch-check=%(objecttype) %(objectname)"]).input(input).stdout()?;
    let commit = |line: &[u8]| line.strip_prefix(b"commit ").map(|oid| oid.to_str_lossy().into_owned());
    Ok(listed.lines().filter_map(commit).collect())
}

fn may_be_id(word: &[u8]) -> bool {
    word.len() >= 4 && word.iter().all(u8::is_ascii_hexdigit)
}

/// Descriptions of branches, where a merge takes them into its message.
fn descriptions(stage: &Stage<'_>) -> Result<Vec<BString>, Fault> {
    let settings = stage.world.settings(&stage.real)?;
    let split =
        |entry: &[u8]| entry.split_once_str("\n").map(|(key, value)| (BString::from(key), BString::from(value)));
    let settings: Vec<(BString, BString)> = settings.iter().filter_map(|(_, entry)| split(entry)).collect();
    let is_off =
        |value: &BString| matches!(value.to_ascii_lowercase().as_slice(), b"false" | b"no" | b"off" | b"0" | b"");
    let unwanted =
        settings.iter().rev().find(|(key, _)| key == "merge.branchdesc").is_none_or(|(_, value)| is_off(value));
    if unwanted {
        return Ok(Vec::new());
    }
    let is_one = |key: &BString| key.starts_with(b"branch.") && key.ends_with(b".description");
    Ok(settings.into_iter().filter(|(key, _)| is_one(key)).map(|(_, value)| value).collect())
}

/// The words as text, and the files that they name (`-F FILE`, mailboxes).
fn words(located: &Located, request: &CommitRequest) -> Message {
    let known: Vec<&[u8]> = request.args.iter().flatten().map(|word| word.as_bytes()).collect();
    let mut message = Message { texts: vec![known.join(&b"\n"[..]).into()], ..Message::default() };
    for word in request.args.iter().flatten() {
        let attached = word.as_bytes().find_byte(b'=').and_then(|place| word.as_bytes().get(place + 1..));
        for name in [Some(word.as_bytes()), attached, word.as_bytes().strip_prefix(b"-F")].into_iter().flatten() {
            let path = located.context.dir.join(OsStr::from_bytes(name));
            match as_left(&request.written, |written| written == path) {
                AsLeft::Texts(texts) => message.texts.extend(texts.into_iter().map(Into::into)),
                AsLeft::OnDisk | AsLeft::Unknown => message.files.extend(files_of(&path)),
            }
        }
    }
    message
}

/// Files of the folders of patches that are named, and of the one that is usual.
fn series(located: &Located, request: &CommitRequest) -> Result<BTreeSet<std::path::PathBuf>, Fault> {
    let named = request.args.iter().flatten().map(|word| match word.as_bytes().find_byte(b'=') {
        Some(at) => OsStr::from_bytes(word.as_bytes().get(at + 1..).unwrap_or_default()),
        None => word.as_os_str(),
    });
    let usual = request.git.env.get(OsStr::new("QUILT_PATCHES")).map_or(OsStr::new("patches"), |folder| folder);
    let mut files = BTreeSet::new();
    for folder in named.chain([usual]).map(|folder| located.context.dir.join(folder)).filter(|folder| folder.is_dir()) {
        files.extend(walk(&folder)?);
    }
    Ok(files)
}

/// A file, or the files of a folder of mails.
fn files_of(path: &Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mails = ["new", "cur"].map(|folder| path.join(folder)).into_iter().filter(|folder| folder.is_dir());
    mails
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()))
        .filter(|path| path.is_file())
        .collect()
}

/// The commits that the words name; every local branch when words are not known.
fn named(stage: &mut Stage<'_>, request: &CommitRequest) -> Result<BTreeSet<String>, Fault> {
    let mut commits = std::mem::take(&mut stage.tips);
    commits.append(&mut stage.taken);
    if !taken::are_known(&request.args) {
        stage.notes.push("words are not known: every local branch is taken".into());
        let branches = stage.git(["for-each-ref", "--format=%(objectname)", "refs/heads"]).stdout()?;
        commits.extend(branches.lines().map(|line| line.to_str_lossy().into_owned()));
    }
    for word in request.args.iter().flatten() {
        if word.as_bytes().contains_str("..") {
            let args = ["rev-list", "--end-of-options"].map(OsString::from).into_iter().chain([word.clone()]);
            let done = stage.git(args).with_replacements().run()?;
            commits.extend(done.stdout.lines().map(|line| line.to_str_lossy().into_owned()));
        }
        for end in taken::ends_of_range(word) {
            commits.extend(stage.resolve(&end, "commit")?);
        }
    }
    Ok(commits)
}

/// Any objects that the words name: `git notes add -C BLOB`.
fn objects_named(stage: &Stage<'_>, request: &CommitRequest) -> Result<Vec<String>, Fault> {
    let mut objects = Vec::new();
    let mut words = request.args.iter().flatten();
    while let Some(word) = words.next() {
        let value = match word.as_bytes() {
            b"-C" | b"-c" => words.next().cloned(),
            bytes => bytes
                .strip_prefix(b"--reuse-message=")
                .or_else(|| bytes.strip_prefix(b"--reedit-message="))
                .or_else(|| bytes.strip_prefix(b"-C"))
                .map(|value| OsStr::from_bytes(value).to_owned()),
        };
        if let Some(value) = value {
            objects.extend(stage.resolve(&value, "object")?);
        }
    }
    Ok(objects)
}

/// What each commit changes against its parents, or takes back.
fn applied(stage: &Stage<'_>, commits: &BTreeSet<String>, backwards: bool, wanted: &mut Wanted) -> Result<(), Fault> {
    for commit in commits {
        let own = trees_of(stage, std::slice::from_ref(commit))?;
        let listed = stage.git(["rev-parse", &format!("{commit}^@")]).stdout()?;
        let parents: Vec<String> = listed.lines().map(|line| line.to_str_lossy().into_owned()).collect();
        let parents = if parents.is_empty() { vec![parts::empty_tree(stage)?] } else { trees_of(stage, &parents)? };
        for parent in parents {
            let (from, to) = if backwards { (&own, vec![parent]) } else { (&vec![parent], own.clone()) };
            parts::entering(stage, &to, from, wanted)?;
        }
    }
    Ok(())
}

/// What the trees of the named commits have beside `HEAD`'s. Commits that a remote is said to have are
/// left out: nothing leaves now, and a push reads them again by evidence.
fn merged(
    stage: &Stage<'_>,
    commits: &BTreeSet<String>,
    head_trees: &[String],
    wanted: &mut Wanted,
) -> Result<(), Fault> {
    for commit in commits {
        // Nor is there anything new in what `HEAD` comes from.
        let asked = ["rev-list", "-n1", commit, "--not", "--remotes"].into_iter().chain(stage.head.as_deref());
        if stage.git(asked).stdout()?.trim().is_empty() {
            continue;
        }
        parts::entering(stage, &trees_of(stage, std::slice::from_ref(commit))?, head_trees, wanted)?;
    }
    Ok(())
}

/// What an operation in progress has prepared: its messages, and patches where these become content.
/// The patch of a rebase is only shown.
fn in_progress(git_dir: &Path, verb: Kind) -> Vec<std::path::PathBuf> {
    let messages = ["MERGE_MSG", "SQUASH_MSG", "rebase-merge/message", "rebase-apply/msg", "rebase-apply/final-commit"];
    let mut files: Vec<_> = messages.iter().map(|name| git_dir.join(name)).collect();
    if verb == Kind::Mailed {
        let folder = git_dir.join("rebase-apply");
        files.extend(fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    files.sort();
    files.dedup();
    files.retain(|path| path.is_file());
    files
}

fn ignored_too(args: &[Option<OsString>]) -> bool {
    args.iter().flatten().any(|word| {
        let word = word.as_bytes();
        let bundle = word.starts_with(b"-") && !word.starts_with(b"--");
        bundle && word.contains(&b'a') || word.len() > 3 && b"--all".starts_with(word)
    })
}

fn untracked_too(args: &[Option<OsString>]) -> bool {
    args.iter().any(|word| match word {
        None => true,
        Some(word) => {
            let word = word.as_bytes();
            let bundle = word.starts_with(b"-") && !word.starts_with(b"--");
            (bundle && (word.contains(&b'u') || word.contains(&b'a')))
                || (word.len() > 3 && (b"--include-untracked".starts_with(word) || b"--all".starts_with(word)))
        }
    })
}
