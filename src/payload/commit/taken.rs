//! Content that a step takes over from elsewhere in ways that are not modelled.
//!
//! Promise: whatever its words name is content that could be recorded; where it is told elsewhere what it takes,
//! everything of the work tree, or of every branch, is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use crate::payload::Fault;

use super::site::Located;
use super::stage::Stage;
use super::steps::os;

/// A step that is told elsewhere what it enters: most likely something of the work tree, so all of that is kept
/// beside the index, which stays.
pub(super) fn everything_here(stage: &mut Stage<'_>) -> Result<(), Fault> {
    stage.exact = false;
    let Some(before) = stage.write_tree()? else { return Ok(()) };
    let done = stage.git(["add", "--all", "--", ":/"]).run()?;
    if !done.status.success() {
        stage.complaint(&done.stderr);
    }
    stage.snapshot()?;
    stage.git(["read-tree", "--reset", &before]).stdout().map(drop).map_err(Fault::from)
}

/// A step that takes content over from other commits in ways that are not modelled (`cherry-pick -n`,
/// `merge --squash`, `stash pop` …): whatever its words name is content that could be recorded, since
/// a merge is made of lines of its sides.
pub fn takes_over(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    stage.exact = false;
    stage.snapshot()?;
    if !are_known(words) {
        stage.notes.push("words are not known: every local branch is taken".into());
        let branches = stage.git(["for-each-ref", "--format=%(objectname)", "refs/heads"]).stdout()?;
        stage.tips.extend(branches.lines().map(|line| line.to_str_lossy().into_owned()));
    }
    for word in words.iter().flatten() {
        if let Some(file) = Some(located.context.dir.join(word)).filter(|file| file.is_file()) {
            stage.files.insert(file);
        }
        for end in ends_of_range(word) {
            if let Some(commit) = stage.resolve(&end, "commit")? {
                stage.tips.insert(commit);
            }
        }
    }
    Ok(())
}

/// Whether all words are known, and all that is meant is among them.
pub fn are_known(words: &[Option<OsString>]) -> bool {
    words.iter().all(|word| word.as_ref().is_some_and(|word| word != "--stdin"))
}

/// Both ends of `a..b` and `a...b`; the word itself otherwise. `-` is what was checked out before.
pub fn ends_of_range(word: &OsStr) -> Vec<OsString> {
    let bytes = word.as_bytes();
    if bytes == b"-" {
        return vec!["@{-1}".into()];
    }
    if bytes.starts_with(b"-") {
        return Vec::new();
    }
    match bytes.find("..") {
        Some(place) => {
            let left = bytes.get(..place).unwrap_or_default();
            let right = bytes.get(place..).unwrap_or_default().trim_start_with(|character| character == '.');
            [left, right].into_iter().filter(|end| !end.is_empty()).map(|end| os(end.to_vec())).collect()
        }
        None => vec![word.to_owned()],
    }
}
