//! Which tree a commit records, by the form of `git commit`.
//!
//! Promise: facts of git 2.47 (`builtin/commit.c`, `prepare_index`), done on the scratch index; where the
//! form is not known, everything that one of them would record is kept.

use std::ffi::OsString;

use bstr::{BString, ByteSlice};

use crate::payload::Fault;
use crate::text::SafeText;

use super::args::{CommitArgs, Select};
use super::site::Located;
use super::stage::{Stage, nul_separated};

/// The trees that could be recorded: one, or more where the form is not known.
///
/// # Errors
/// When git would refuse to commit, or the scratch index cannot be used.
pub fn trees(stage: &mut Stage<'_>, located: &Located, args: &CommitArgs) -> Result<Vec<String>, Fault> {
    let (paths, listed) = paths_of(stage, located, args)?;
    let doubtful = args.doubtful || !listed;
    if doubtful || args.select == Select::Hunks {
        // Anything between the index and the work tree of the tracked files.
        stage.exact = false;
        stage.snapshot()?;
        stage.update_tracked(&located.context, &[])?;
    } else {
        match args.select {
            Select::All => stage.update_tracked(&located.context, &[])?,
            Select::Include => stage.update_tracked(&located.context, &paths)?,
            Select::IndexOrOnly if paths.is_empty() => {}
            Select::IndexOrOnly | Select::Only | Select::Hunks => only(stage, located, &paths)?,
        }
    }
    let tree = stage.write_tree()?;
    let mut trees: Vec<String> = std::mem::take(&mut stage.snapshots).into_iter().collect();
    match tree {
        Some(tree) => trees.push(tree),
        None if trees.is_empty() && stage.exact => {
            return Err(Fault::GitRefuses("a commit while paths are unmerged".into()));
        }
        None => stage.notes.push("paths are unmerged now; the line may resolve them".into()),
    }
    Ok(trees)
}

/// The pathspecs of a commit, and whether they are all known.
fn paths_of(stage: &Stage<'_>, located: &Located, args: &CommitArgs) -> Result<(Vec<OsString>, bool), Fault> {
    let mut paths: Vec<OsString> = args.paths.iter().map(|word| located.word(word)).collect();
    let Some(file) = &args.paths_from else { return Ok((paths, true)) };
    match super::pathspecs::listed(stage, &located.context, file, args.paths_nul)? {
        Some(listed) => {
            paths.extend(listed.iter().map(|word| located.word(word)));
            Ok((paths, true))
        }
        None => Ok((paths, false)),
    }
}

/// `--only`: `HEAD`'s tree with the work tree of the paths. Paths that are tracked in the index or in
/// `HEAD` count; those under skip-worktree stay as `HEAD` has them.
fn only(stage: &mut Stage<'_>, located: &Located, paths: &[OsString]) -> Result<(), Fault> {
    let taken = if paths.is_empty() { Vec::new() } else { matching(stage, located, paths)? };
    // The index is left out, whatever it may hold; but not where a filter made what it holds.
    if stage.programs.filters.is_empty() {
        stage.snapshots.clear();
    }
    let laid = stage.laid_matching(&located.context, paths)?;
    let laid: Vec<BString> =
        if paths.is_empty() { Vec::new() } else { laid.into_iter().filter(|path| taken.contains(path)).collect() };
    match stage.head.clone() {
        Some(head) => stage.git(["read-tree", &head]).stdout()?,
        None => stage.git(["read-tree", "--empty"]).stdout()?,
    };
    if !taken.is_empty() {
        let list: Vec<u8> = taken.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        stage.git(args).input(list).stdout()?;
    }
    stage.enter(&laid)
}

/// Tracked paths that match, from the top.
fn matching(stage: &mut Stage<'_>, located: &Located, paths: &[OsString]) -> Result<Vec<BString>, Fault> {
    let mut args: Vec<OsString> = ["ls-files", "-t", "-z", "--full-name"].map(OsString::from).into();
    if let Some(head) = &stage.head {
        args.push(format!("--with-tree={head}").into());
    }
    args.push("--".into());
    let done = stage.git_in(&located.context, args.into_iter().chain(paths.iter().cloned())).run()?;
    if !done.status.success() {
        return Err(Fault::GitRefuses(SafeText::quoted(done.stderr.lines().next().unwrap_or_default(), 200)));
    }
    // Each entry is a letter, a blank and the path; `S` is skip-worktree.
    let taken = nul_separated(&done.stdout).into_iter().filter(|entry| !entry.starts_with(b"S "));
    let mut taken: Vec<BString> = taken.filter_map(|entry| entry.get(2..).map(BString::from)).collect();
    taken.sort();
    taken.dedup();
    Ok(taken)
}
