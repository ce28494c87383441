//! Steps that may come to nothing.
//!
//! Promise: what a step takes away that may not run, or that git may refuse, stays beside what the step would
//! leave: the content of files on disk, what the line has laid over them, and entries of the index.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use crate::payload::Fault;

use super::laid::Others;
use super::stage::{Laid, Stage, nul_separated};

/// What was there before a step.
#[derive(Debug)]
pub(super) struct Before {
    laid: BTreeMap<BString, Laid>,
    others: BTreeMap<BString, Others>,
    /// The entries of the index, as `ls-files -s` lists them.
    entries: Vec<BString>,
}

impl Before {
    /// The files alone, for a step that leaves the index as it is where it comes to nothing.
    pub(super) fn of_files(stage: &Stage<'_>) -> Self {
        Self { laid: stage.laid.clone(), others: stage.others.clone(), entries: Vec::new() }
    }

    /// Files and index.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(super) fn of(stage: &Stage<'_>) -> Result<Self, Fault> {
        Ok(Self { entries: entries(stage)?, ..Self::of_files(stage) })
    }

    /// Puts what was there beside what is there now.
    ///
    /// # Errors
    /// When the index cannot be read or written.
    pub(super) fn keep(self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        let paths: BTreeSet<BString> = self.laid.keys().chain(stage.laid.keys()).cloned().collect();
        for path in paths {
            let (was, now) = (self.laid.get(&path), stage.laid.get(&path));
            if was == now {
                continue;
            }
            let mut others = stage.others.remove(&path).unwrap_or_default();
            if let Some(before) = self.others.get(&path) {
                others.or_as_on_disk |= before.or_as_on_disk;
                others.contents.extend(before.contents.iter().cloned());
            }
            // What is laid nowhere is as on disk.
            others.or_as_on_disk |= was.is_none() || now.is_none();
            match (was, now) {
                (Some(was), Some(_)) => others.contents.push(was.clone()),
                (Some(was), None) => drop(stage.laid.insert(path.clone(), was.clone())),
                (None, _) => {}
            }
            stage.others.insert(path, others);
        }
        put_back(stage, &self.entries)
    }
}

fn entries(stage: &Stage<'_>) -> Result<Vec<BString>, Fault> {
    Ok(nul_separated(&stage.git(["ls-files", "-s", "-z"]).stdout()?))
}

/// Puts back the entries of paths that the index no longer has.
fn put_back(stage: &mut Stage<'_>, before: &[BString]) -> Result<(), Fault> {
    if before.is_empty() {
        return Ok(());
    }
    let now = entries(stage)?;
    let path = |entry: &BString| entry.split_once_str("\t").map(|(_, path)| BString::from(path));
    let paths: BTreeSet<BString> = now.iter().filter_map(path).collect();
    let gone: Vec<&BString> =
        before.iter().filter(|entry| path(entry).is_some_and(|path| !paths.contains(&path))).collect();
    if gone.is_empty() {
        return Ok(());
    }
    stage.snapshot()?;
    let list: Vec<u8> = gone.iter().flat_map(|entry| entry.iter().copied().chain([0])).collect();
    stage.git(["update-index", "--add", "--replace", "-z", "--index-info"]).input(list).stdout()?;
    Ok(())
}
