//! Where the current branch stands by the time that the line pushes.
//!
//! Promise: what a push of the current branch sends is reachable from [`BranchMoves::tips`], or was recorded by
//! a commit of the line, which is a publish of its own. A commit that is amended or reset away is left out
//! only where the push cannot run unless that succeeded (both in one list joined by `&&`); so a secret can
//! be taken out and the rest be pushed in one line.

use std::ffi::OsString;

use bstr::{BString, ByteSlice};

use super::simple::to_os_string;

/// What the line has done to the current branch so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BranchMoves {
    /// Revisions that it brings in, whatever else happens.
    brought: Vec<BString>,
    /// What the branch stands on instead of `HEAD`.
    replaced: Option<Replaced>,
    /// Whether commits of the line are on top, so that an amend rewrites one of them.
    on_top: bool,
    /// The branch that a rebase moves to `HEAD` once it is done.
    rebased: Option<BString>,
}

#[derive(Clone, Debug)]
struct Replaced {
    /// The list joined by `&&` in which it happens.
    chain: u64,
    by: Vec<BString>,
}

impl BranchMoves {
    /// A commit on top.
    pub(super) fn committed(&mut self) {
        self.on_top = true;
    }

    /// The last commit is made anew.
    pub(super) fn amended(&mut self, chain: u64, certain: bool) {
        if self.on_top || !certain {
            self.on_top = true;
            return;
        }
        self.on_top = true;
        let before = self.replaced.take().filter(|replaced| replaced.chain == chain);
        let stood_on = before.map_or_else(|| vec![BString::from("HEAD")], |replaced| replaced.by);
        let by = stood_on.into_iter().map(|revision| [revision.as_slice(), b"^@"].concat().into()).collect();
        self.replaced = Some(Replaced { chain, by });
    }

    /// The branch is set to a commit. False when that cannot be followed.
    pub(super) fn reset(&mut self, revision: BString, chain: u64, certain: bool) -> bool {
        let plain = !self.on_top && self.replaced.is_none() && self.brought.is_empty();
        self.brought.push(revision.clone());
        if certain && plain {
            self.replaced = Some(Replaced { chain, by: vec![revision] });
        }
        plain
    }

    /// Commits come in by a merge; the branch may also just move there.
    pub(super) fn merged(&mut self, revisions: Vec<BString>) {
        self.brought.extend(revisions);
        self.on_top = true;
    }

    /// A rebase goes on: once it is done, the branch that it is about stands on what is checked out now. Where
    /// that is not certain, the branch may be as it is as well.
    pub(super) fn resumed(&mut self, branch: Option<BString>, chain: u64, certain: bool) {
        let plain = !self.on_top && self.replaced.is_none() && self.brought.is_empty();
        if !certain {
            self.replaced = None;
        } else if plain {
            self.replaced = Some(Replaced { chain, by: vec!["HEAD".into()] });
        }
        self.rebased = branch;
        self.on_top = true;
    }

    /// Whether what it brings in is the same whatever is checked out.
    pub(super) fn brings_by_name(&self) -> bool {
        let is_relative = |revision: &BString| {
            revision.starts_with(b"HEAD") || revision.starts_with(b"@") || revision.contains_str("@{")
        };
        !self.brought.iter().any(is_relative)
    }

    /// Whether a rebase goes on.
    pub(super) fn is_rebasing(&self) -> bool {
        self.rebased.is_some()
    }

    /// Whether this is the branch of a rebase that goes on.
    pub(super) fn is_rebased(&self, branch: &BString) -> bool {
        self.rebased.as_ref() == Some(branch)
    }

    /// Whether it stands elsewhere than now.
    pub(super) fn is_moved(&self) -> bool {
        self.on_top || self.brings()
    }

    /// Whether it stands on something else than what is there now, or a commit on top of that.
    pub(super) fn brings(&self) -> bool {
        self.replaced.is_some() || self.rebased.is_some() || !self.brought.is_empty()
    }

    /// What any branch may have got, where another one is checked out than now.
    pub(super) fn brought(&self) -> Vec<OsString> {
        let rebased = self.rebased.iter().flat_map(|branch| ["HEAD".into(), branch.clone()]);
        let mut revisions: Vec<BString> = self.brought.iter().cloned().chain(rebased).collect();
        revisions.sort();
        revisions.dedup();
        revisions.iter().map(to_os_string).collect()
    }

    /// What the current branch stands on for a push in this list; nothing when it is as now.
    pub(super) fn tips(&self, chain: u64) -> Vec<OsString> {
        let replaced = self.replaced.as_ref().filter(|replaced| chain != 0 && replaced.chain == chain);
        let mut tips = match replaced {
            Some(replaced) => replaced.by.clone(),
            None if self.brought.is_empty() && self.rebased.is_none() => return Vec::new(),
            None => std::iter::once("HEAD".into()).chain(self.rebased.clone()).collect(),
        };
        tips.extend(self.brought.iter().cloned());
        tips.sort();
        tips.dedup();
        tips.iter().map(to_os_string).collect()
    }
}

/// Whether a push names its sources by names alone, if at all: an expression is resolved from where the
/// branch stands.
pub(super) fn names_only(args: &[Option<OsString>]) -> bool {
    let words: Option<Vec<&[u8]>> = args.iter().map(|word| word.as_ref().map(|word| word.as_encoded_bytes())).collect();
    words.is_some_and(|words| {
        words.iter().filter(|word| !word.starts_with(b"-")).all(|word| {
            let bare = word.strip_prefix(b"+").unwrap_or(word);
            bare == b"@" || !bare.contains_str("@{") && bare.find_byteset(b"~^").is_none() && !bare.starts_with(b":/")
        })
    })
}
