//! Operations that git has stopped in the middle of, and that the line goes on with.
//!
//! Promise: what a commit, `--continue` or `--skip` brings into the current branch beside what it records is
//! told from git's own notes of the operation: the other sides of a merge, the branch that a rebase moves once
//! it is done, and the commands that the rest of a rebase runs.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use super::git_globals;
use super::plan::GitContext;

/// The folders in which the two kinds of rebase keep their notes.
const REBASES: [&str; 2] = ["rebase-merge", "rebase-apply"];

/// The repository's notes of what it is in the middle of.
#[derive(Debug)]
pub(super) struct Underway {
    git_dir: PathBuf,
}

impl Underway {
    /// The notes of the repository that a command works on; `None` where there is none.
    pub(super) fn of(git: &GitContext) -> Option<Self> {
        git_globals::find(git).map(|place| Self { git_dir: place.git_dir })
    }

    /// The other sides of a merge that is not committed yet.
    pub(super) fn merge_heads(&self) -> Vec<BString> {
        self.read("MERGE_HEAD").lines().map(BString::from).collect()
    }

    /// The full name of the branch that a rebase moves once it is done.
    pub(super) fn rebased_branch(&self) -> Option<BString> {
        let names = REBASES.map(|folder| self.read(&format!("{folder}/head-name")));
        let mut names = names.iter().map(|name| name.trim());
        names.find(|name| name.starts_with(b"refs/heads/")).map(BString::from)
    }

    /// The commands that the rest of a rebase runs.
    pub(super) fn commands(&self) -> Vec<BString> {
        let todo = self.read("rebase-merge/git-rebase-todo");
        let command = |line: &[u8]| {
            let (word, rest) = line.trim_start().split_once_str(" ")?;
            matches!(word, b"exec" | b"x").then(|| BString::from(rest))
        };
        todo.lines().filter_map(command).collect()
    }

    /// A note; empty where there is none.
    fn read(&self, name: &str) -> BString {
        std::fs::read(self.git_dir.join(name)).unwrap_or_default().into()
    }
}
