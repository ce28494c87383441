//! Staging commands that take content from a tree: `restore`, `reset`, `read-tree`, `checkout`, `switch`.
//!
//! Promise: the scratch index holds what the tree gives it, and the files that such a command would write are
//! laid over the disk; where git would change none of them, they stay as well.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use crate::payload::Fault;

use super::doubt::Before;
use super::options::read;
use super::site::Located;
use super::stage::{Laid, Stage, nul_separated};
use super::steps::{Parsed, os, path_list};
use super::tables::{CHECKOUT, RESET, RESTORE};
use super::taken::takes_over;

pub(super) fn restore(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, RESTORE));
    let staged = parsed.has("staged");
    let worktree = parsed.has("worktree") || !staged;
    if parsed.doubtful || parsed.has("patch") || parsed.has("merge") {
        stage.snapshot()?;
        stage.exact = false;
        return takes_over(stage, located, words);
    }
    let mut paths: Vec<OsString> = parsed.operands().iter().map(|word| located.word(word)).collect();
    paths.extend(path_list(stage, located, &parsed)?.unwrap_or_default());
    let source = match parsed.value("source") {
        Some(revision) => match stage.resolve(revision, "tree")? {
            Some(tree) => Some(tree),
            None => return takes_over(stage, located, words),
        },
        None => None,
    };
    if staged {
        let mut args: Vec<OsString> = vec!["restore".into(), "--staged".into()];
        let tree = source.clone().or_else(|| stage.head.clone());
        args.extend(tree.map(|tree| OsString::from(format!("--source={tree}"))));
        args.extend(parsed.flags(&["overlay", "ignore-unmerged"]));
        args.push("--".into());
        let done = stage.git_in(&located.context, args.into_iter().chain(paths.iter().cloned())).run()?;
        if !done.status.success() {
            stage.complaint(&done.stderr);
        }
    }
    if worktree { lay_tree_of_paths(stage, located, source.as_deref(), &paths) } else { Ok(()) }
}

/// The same for paths that are named: where one matches nothing, git changes none of the files.
fn lay_tree_of_paths(
    stage: &mut Stage<'_>,
    located: &Located,
    tree: Option<&str>,
    paths: &[OsString],
) -> Result<(), Fault> {
    let before = Before::of_files(stage);
    if lay_tree(stage, located, tree, paths)? {
        return Ok(());
    }
    stage.exact = false;
    before.keep(stage)
}

/// Lays the content of a tree (of the index, without one) over the work-tree files that match. Whether each of
/// the paths matches something.
pub(super) fn lay_tree(
    stage: &mut Stage<'_>,
    located: &Located,
    tree: Option<&str>,
    paths: &[OsString],
) -> Result<bool, Fault> {
    let scratch = stage.scratch.path().join("tree");
    let args = ["ls-files", "-s", "-z", "--full-name", "--error-unmatch", "--"].map(OsString::from);
    let mut call = stage.git_in(&located.context, args.into_iter().chain(paths.iter().cloned()));
    if let Some(tree) = tree {
        stage.git(["read-tree", tree]).var("GIT_INDEX_FILE", &scratch).stdout()?;
        call = call.var("GIT_INDEX_FILE", &scratch);
    }
    let listed = call.run();
    let _ = std::fs::remove_file(&scratch);
    let listed = listed?;
    for entry in nul_separated(&listed.stdout) {
        let Some((head, path)) = entry.split_once_str("\t") else { continue };
        let mut fields = head.fields();
        if let (Some(mode), Some(oid), Some(b"0")) = (fields.next(), fields.next(), fields.next())
            && mode.starts_with(b"100")
        {
            stage.others.remove(path.as_bstr());
            stage.laid.insert(path.into(), Laid::Blob(oid.to_str_lossy().into_owned()));
        }
    }
    Ok(listed.status.success())
}

pub(super) fn reset(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, RESET));
    stage.exact = false;
    if parsed.doubtful || parsed.has("patch") || parsed.has("merge") || parsed.has("keep") {
        stage.snapshot()?;
        return takes_over(stage, located, words);
    }
    let (revision, mut paths) = revision_and_paths(stage, &parsed)?;
    paths.extend(path_list(stage, located, &parsed)?.unwrap_or_default());
    let revision = revision.or_else(|| stage.head.clone());
    let Some(revision) = revision else {
        // Unborn: the index is emptied.
        return stage.git(["read-tree", "--empty"]).stdout().map(drop).map_err(Fault::from);
    };
    if !paths.is_empty() {
        let source = OsString::from(format!("--source={revision}"));
        let args = [OsString::from("restore"), "--staged".into(), source, "--".into()];
        let done = stage.git_in(&located.context, args.into_iter().chain(paths)).run()?;
        if !done.status.success() {
            stage.complaint(&done.stderr);
        }
        return Ok(());
    }
    let Some(commit) = stage.resolve(OsStr::new(&revision), "commit")? else { return Ok(()) };
    if !parsed.has("soft") {
        // `--reset` keeps the stat data of what does not change, which a plain read would lose.
        stage.git(["read-tree", "--reset", &commit]).stdout()?;
    }
    if parsed.has("hard") {
        stage.laid.clear();
        let _all = lay_tree(stage, located, Some(&commit), &[OsString::from(":/")])?;
    }
    stage.head = Some(commit);
    Ok(())
}

/// `git read-tree TREE`: the index is that tree, whatever was staged. Its other forms merge.
pub(super) fn read_tree(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let (word, reset) = match words {
        [Some(word)] => (Some(word), None),
        [Some(option), Some(word)] if option == "--reset" => (Some(word), Some("--reset")),
        _ => (None, None),
    };
    let tree = match word.filter(|word| !word.as_bytes().starts_with(b"-")) {
        Some(word) => stage.resolve(word, "tree")?,
        None => None,
    };
    match tree {
        // Without the option flags of the entries are lost too, so that files are looked at again.
        Some(tree) => {
            let args = std::iter::once("read-tree").chain(reset).chain([tree.as_str()]);
            stage.git(args).stdout().map(drop).map_err(Fault::from)
        }
        None => takes_over(stage, located, words),
    }
}

/// The first operand as a revision where it is one, as `reset` and `checkout` tell them apart.
fn revision_and_paths(stage: &Stage<'_>, parsed: &Parsed) -> Result<(Option<String>, Vec<OsString>), Fault> {
    let mut before = parsed.before.iter();
    let mut paths = Vec::new();
    let mut revision = None;
    if let Some(word) = before.next() {
        let first = if word == "-" { OsStr::new("@{-1}") } else { word };
        revision = stage.resolve(first, "tree")?.map(|_| first.to_string_lossy().into_owned());
        if revision.is_none() {
            paths.push(word.clone());
        }
    }
    paths.extend(before.chain(&parsed.after).cloned());
    Ok((revision, paths))
}

pub(super) fn checkout(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, CHECKOUT));
    stage.exact = false;
    let orphan = parsed.value("orphan").is_some();
    if parsed.doubtful || orphan {
        stage.snapshot()?;
        if orphan {
            stage.head = None;
        }
        return takes_over(stage, located, words);
    }
    let (revision, paths) = revision_and_paths(stage, &parsed)?;
    if !paths.is_empty() {
        let paths: Vec<OsString> = paths.iter().map(|word| located.word(word)).collect();
        let tree = match &revision {
            Some(revision) => stage.resolve(OsStr::new(revision), "tree")?,
            None => None,
        };
        if let Some(tree) = &tree {
            let args = ["restore", "--staged", "--overlay", &format!("--source={tree}"), "--"].map(OsString::from);
            let done = stage.git_in(&located.context, args.into_iter().chain(paths.iter().cloned())).run()?;
            if !done.status.success() {
                stage.complaint(&done.stderr);
            }
        }
        return lay_tree_of_paths(stage, located, tree.as_deref(), &paths);
    }
    let Some(revision) = revision else { return Ok(()) };
    let Some(commit) = stage.resolve(OsStr::new(&revision), "commit")? else { return Ok(()) };
    if let Some(head) = stage.head.clone().filter(|head| *head != commit) {
        stage.snapshot()?;
        // With `-u` git looks at the files too, as a checkout does; `-n` changes none of them.
        let tried = stage.git(["read-tree", "-n", "-u", "-m", &head, &commit]).run()?;
        let done = if tried.status.success() { stage.git(["read-tree", "-m", &head, &commit]).run()? } else { tried };
        if !done.status.success() {
            // git refuses, and the line may go on; where files that are ignored are in the way, it does not.
            stage.complaint(&done.stderr);
            stage.taken.insert(commit);
            return Ok(());
        }
        // Files that differ between the two will be the new commit's.
        let changed = stage.git(["diff-tree", "-r", "-z", "--name-only", &head, &commit]).stdout()?;
        let changed: Vec<OsString> = nul_separated(&changed)
            .into_iter()
            .map(|path| os([b":(top,literal)".as_slice(), path.as_slice()].concat()))
            .collect();
        if !changed.is_empty() {
            let _all = lay_tree(stage, located, Some(&commit), &changed)?;
        }
    }
    stage.head = Some(commit);
    Ok(())
}
