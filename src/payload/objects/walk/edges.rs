//! What excluded trees keep out of the listing: as much as git's sparse walk leaves out of a pack.
//!
//! Promise: no object is excluded that `git push` would send (git 2.47 `list-objects.c`
//! `mark_edges_uninteresting`, `revision.c` `mark_trees_uninteresting_sparse`; `pack.useSparse` is on
//! unless configured, and off it sends less). Trees are gone through path by path, and only where
//! both an excluded and a listed tree stand at that path. So a file that moves to another folder is sent
//! again though the other side has it, and is listed.

use std::collections::{BTreeMap, HashSet};

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::{EntryKind, Fault, Number, PathId, Walk, parse, place_of};

/// Trees that stand at one path, each once and in order.
type Level = Vec<Number>;

impl Walk<'_> {
    /// Excludes what the trees of excluded commits hold that listed ones come from.
    pub(super) fn exclude_edges(&mut self, commits: &[usize]) -> Result<(), Fault> {
        let mut tops = Level::new();
        for place in commits {
            let visit = &self.visits[*place];
            let (number, tree) = (visit.number, visit.tree);
            let parents: Vec<ObjectId> =
                visit.parents.iter().filter_map(|parent| self.excluded_tree(*parent)).collect();
            let is_excluded = self.table.node(number).excluded;
            tops.push(self.edge(tree, is_excluded)?);
            for tree in parents {
                tops.push(self.edge(tree, true)?);
            }
        }
        // The same trees at another path would mark the same again: trees that hold trees twice are no
        // reason to go through them without end.
        let mut done = HashSet::new();
        let mut open = vec![(PathId::TOP, tops)];
        while let Some((path, mut level)) = open.pop() {
            level.sort_unstable();
            level.dedup();
            let excluded = level.iter().filter(|tree| self.table.node(**tree).excluded).count();
            if excluded == 0 || excluded == level.len() || done.contains(&level) {
                continue;
            }
            self.store.in_time()?;
            open.extend(self.below(path, &level)?);
            done.insert(level);
        }
        Ok(())
    }

    /// The tree of a commit that has been read and is excluded.
    fn excluded_tree(&self, commit: Number) -> Option<ObjectId> {
        let node = self.table.node(commit);
        let visit = node.visit.filter(|_| node.excluded)?;
        Some(self.visits[place_of(visit)].tree)
    }

    fn edge(&mut self, tree: ObjectId, is_excluded: bool) -> Result<Number, Fault> {
        let number = self.table.number(tree, Kind::Tree)?;
        self.table.node_mut(number).excluded |= is_excluded;
        Ok(number)
    }

    /// Excludes what the excluded trees of a level hold, and gives the levels below.
    fn below(&mut self, path: PathId, level: &Level) -> Result<Vec<(PathId, Level)>, Fault> {
        let mut below: BTreeMap<PathId, Level> = BTreeMap::new();
        // The excluded ones first: what a tree shares with the one before is passed over.
        let (excluded, listed): (Level, Level) = level.iter().partition(|tree| self.table.node(**tree).excluded);
        let mut known = self.known_at(path);
        for (tree, is_excluded) in
            excluded.into_iter().map(|tree| (tree, true)).chain(listed.into_iter().map(|tree| (tree, false)))
        {
            let id = self.table.node(tree).id;
            // What decides on exclusion is re-hashed here; listed trees are when they are read.
            let object = if is_excluded { self.verified(&id) } else { self.store.object(&id, &mut self.decoder) };
            let Ok(object) = object else { continue };
            if object.kind != Kind::Tree {
                continue;
            }
            let mut whole = true;
            for entry in parse::tree(&object.bytes, &known, self.store.format()) {
                let Ok(entry) = entry else {
                    whole = false;
                    break;
                };
                let Ok(id) = ObjectId::try_from(entry.id) else { continue };
                match entry.kind {
                    EntryKind::Tree => {
                        let child = self.edge(id, is_excluded)?;
                        below.entry(self.paths.below(path, entry.name)).or_default().push(child);
                    }
                    EntryKind::Blob if is_excluded => {
                        let number = self.table.number(id, Kind::Blob)?;
                        self.table.node_mut(number).excluded = true;
                    }
                    EntryKind::Blob | EntryKind::Gitlink => {}
                }
            }
            if whole {
                known = object.bytes;
                if is_excluded {
                    self.remember(path, known.clone());
                }
            }
        }
        Ok(below.into_iter().collect())
    }
}
