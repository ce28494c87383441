//! What git believes without looking at objects: commit-graphs and bitmaps.
//!
//! Promise: where git's push would follow a commit-graph or a bitmap instead of the raw objects, the
//! two agree for everything that is listed; else the answer is a fault. git 2.47 and 2.55 were seen to
//! send a commit that only an edited commit-graph names.

use std::collections::HashSet;
use std::path::Path;

use bstr::ByteSlice;
use gix::commitgraph::Graph;
use gix::hash::ObjectId;

use super::pack::unreadable;
use super::parse::Commit;
use super::places::Places;
use crate::command::plan::GitContext;
use crate::payload::{Fault, Item};
use crate::text::SafeText;
use crate::world::World;

/// Commit-graphs and bitmaps of a store.
pub(super) struct Hints {
    graphs: Vec<Graph>,
    /// Why a commit-graph cannot be read; raised when history is walked.
    unread: Option<SafeText>,
    bitmaps: bool,
}

impl Hints {
    pub(super) fn open(places: &Places) -> Result<Self, Fault> {
        let mut hints = Self { graphs: Vec::new(), unread: None, bitmaps: false };
        for objects in &places.objects {
            hints.bitmaps |= has_bitmap(&objects.join("pack"))?;
            // git does not use a commit-graph in a shallow clone (`commit_graph_compatible`).
            if places.shallow.is_empty() {
                hints.open_graphs(&objects.join("info"), places);
            }
        }
        Ok(hints)
    }

    fn open_graphs(&mut self, info: &Path, places: &Places) {
        let single = info.join("commit-graph");
        if single.exists() {
            self.take(Graph::from_file(&single, places.format.kind()));
        }
        let folder = info.join("commit-graphs");
        if let Ok(chain) = std::fs::read_to_string(folder.join("commit-graph-chain")) {
            self.take(chained(&chain, &folder, places));
        }
    }

    fn take(&mut self, graph: Result<Graph, gix::error::Error>) {
        match graph {
            Ok(graph) => self.graphs.push(graph),
            Err(error) => self.unread = Some(SafeText::new(&format!("its commit-graph cannot be read: {error}"))),
        }
    }

    /// That every commit-graph could be read.
    pub(super) fn readable(&self) -> Result<(), Fault> {
        self.unread.as_ref().map_or(Ok(()), |what| Err(Fault::Store(what.clone())))
    }

    /// That no commit-graph says anything else of a commit than its bytes do.
    pub(super) fn agree(&self, id: &ObjectId, commit: &Commit) -> Result<(), Fault> {
        for graph in &self.graphs {
            let Some(told) = graph.commit_by_id(id) else { continue };
            let same_tree = told.root_tree_id() == commit.tree.as_ref();
            let mut parents = commit.parents.iter();
            let mut same_parents = true;
            for position in told.iter_parents() {
                let Ok(position) = position else {
                    same_parents = false;
                    break;
                };
                same_parents &= parents.next().is_some_and(|parent| graph.id_at(position) == parent.as_ref());
            }
            if !same_tree || !same_parents || parents.next().is_some() {
                return Err(Fault::Store(SafeText::new(&format!("the commit-graph says otherwise than commit {id}"))));
            }
        }
        Ok(())
    }

    /// That git, walking with its bitmaps, comes to no object that is not among `items`. One child of
    /// git, and only where a bitmap exists: a work repository seldom has one.
    pub(super) fn bitmaps_agree(
        &self,
        asker: &(World, GitContext),
        tips: &[ObjectId],
        boundary: &[ObjectId],
        items: &[Item],
    ) -> Result<(), Fault> {
        if !self.bitmaps || tips.is_empty() {
            return Ok(());
        }
        let (world, context) = asker;
        let mut input = String::new();
        for (sign, ids) in [("", tips), ("^", boundary)] {
            for id in ids {
                input.push_str(&format!("{sign}{id}\n"));
            }
        }
        let args = ["rev-list", "--objects", "--use-bitmap-index", "--stdin"];
        let listed = world.git(context, args).input(input.into_bytes()).stdout()?;
        let known: HashSet<ObjectId> = items.iter().filter_map(|item| item.oid).collect();
        for line in listed.lines() {
            let hex = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            let id =
                ObjectId::from_hex(hex).map_err(|_| Fault::Plumbing("git's list of objects cannot be read".into()))?;
            if !known.contains(&id) {
                return Err(Fault::Store(SafeText::new(&format!("a bitmap names object {id}, which no history does"))));
            }
        }
        Ok(())
    }
}

/// A commit-graph in several files, of which the lower ones may stand in alternates.
fn chained(chain: &str, folder: &Path, places: &Places) -> Result<Graph, gix::error::Error> {
    let mut files = Vec::new();
    for hash in chain.lines() {
        let name = format!("graph-{hash}.graph");
        let folders = places.objects.iter().map(|objects| objects.join("info").join("commit-graphs"));
        let found = folders.map(|folder| folder.join(&name)).find(|file| file.exists());
        files.push(gix::commitgraph::File::at(found.unwrap_or_else(|| folder.join(&name)))?);
    }
    Graph::new(files)
}

fn has_bitmap(folder: &Path) -> Result<bool, Fault> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    for file in listing {
        let name = file.map_err(|error| unreadable(folder, &error))?.file_name();
        if name.as_encoded_bytes().ends_with(b".bitmap") {
            return Ok(true);
        }
    }
    Ok(false)
}
