//! `git stash` before a commit.
//!
//! Promise: what a stash takes away is not taken for part of the commit, and what `pop` or `apply` brings
//! back is: of a stash that the line itself makes everything, of one that is there the whole of its commits.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use bstr::BString;

use crate::payload::Fault;

use super::from_tree::lay_tree;
use super::options::read;
use super::site::Located;
use super::stage::{Laid, Stage, nul_separated};
use super::steps::Parsed;
use super::tables::STASH;
use super::taken::takes_over;

/// What the line has stashed.
#[derive(Debug)]
pub struct Stashed {
    /// The tree of the index; `None` when paths were unmerged.
    tree: Option<String>,
    laid: BTreeMap<BString, Laid>,
    head: Option<String>,
}

/// One `git stash …` on the scratch index.
///
/// # Errors
/// When the scratch index cannot be read or written.
pub(super) fn run(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    stage.exact = false;
    let (verb, rest) = match words.first() {
        Some(Some(first)) if !first.as_encoded_bytes().starts_with(b"-") => {
            (first.to_str().unwrap_or("?"), words.get(1..).unwrap_or_default())
        }
        Some(None) => ("?", words),
        Some(Some(_)) | None => ("push", words),
    };
    match verb {
        "push" | "save" => push(stage, located, rest),
        "pop" | "apply" => bring_back(stage, located, rest),
        "drop" | "clear" | "list" | "show" | "create" | "store" => Ok(()),
        _ => takes_over(stage, located, words),
    }
}

fn push(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, STASH));
    let chosen = ["patch", "staged", "keep-index", "pathspec-from-file"].iter().any(|name| parsed.has(name));
    let Some(head) = stage.head.clone().filter(|_| !chosen && !parsed.doubtful && parsed.operands().is_empty()) else {
        // A part of it stays.
        return stage.snapshot();
    };
    let tree = stage.write_tree()?;
    if tree.is_none() {
        // git stashes nothing while paths are unmerged.
        return Ok(());
    }
    // Nor where a path is only meant to be added: what is staged then stays, and the line may go on.
    if !stage.git(["diff-files", "--name-only", "--diff-filter=A", "-z"]).stdout()?.is_empty() {
        return stage.snapshot();
    }
    let laid = stage.laid.clone();
    stage.stashed.push(Stashed { tree, laid, head: Some(head.clone()) });
    stage.git(["read-tree", "--reset", &head]).stdout()?;
    stage.laid.clear();
    stage.others.clear();
    if parsed.has("include-untracked") || parsed.has("all") {
        let args = ["ls-files", "-z", "-o", "--exclude-standard"];
        for path in nul_separated(&stage.git(args).stdout()?) {
            stage.laid.insert(path, Laid::Gone);
        }
    }
    lay_tree(stage, located, Some(&head), &[OsString::from(":/")]).map(drop)
}

fn bring_back(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, STASH));
    if !parsed.doubtful
        && parsed.before.is_empty()
        && let Some(stashed) = stage.stashed.pop()
    {
        stage.snapshot()?;
        if stashed.head == stage.head {
            // As it was; without `--index` less of it is staged.
            if let Some(tree) = &stashed.tree {
                stage.git(["read-tree", "--reset", tree]).stdout()?;
            }
        } else {
            stage.snapshots.extend(stashed.tree);
        }
        stage.laid = stashed.laid;
        return Ok(());
    }
    let named = parsed.before.first().cloned().unwrap_or_else(|| "stash@{0}".into());
    let bare = named.to_str().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let entry = if bare { OsString::from(format!("stash@{{{}}}", named.to_string_lossy())) } else { named };
    stage.snapshot()?;
    for parent in ["", "^2", "^3"] {
        let mut revision = entry.clone();
        revision.push(parent);
        if let Some(commit) = stage.resolve(OsStr::new(&revision), "commit")? {
            stage.taken.insert(commit);
        }
    }
    if parsed.doubtful { takes_over(stage, located, words) } else { Ok(()) }
}
