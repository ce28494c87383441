//! The walk: from tips to every object that they reach and the boundary does not.
//!
//! Promise: the set is that of `git pack-objects --revs --sparse` for TIPS --not BOUNDARY without a
//! commit-graph, which is what a push sends: the same limited walk by date, with the same slack for
//! clocks that went wrong (git 2.47 `revision.c` `limit_list`), and the same trees excluded (`edges`).
//! Where it errs as git errs, it lists more than the new, never less. What belongs to the boundary
//! and cannot be read excludes nothing.
//!
//! Nothing recurses: depth of history and of folders is bounded by memory, not by the stack.

mod edges;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::rc::Rc;

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::decode::{Decoder, Object};
use super::parse::{self, EntryKind};
use super::paths::{Others, PathId, Paths};
use super::store::ObjectStore;
use super::table::{Node, Number, Table};
use crate::payload::Fault;
use crate::text::SafeText;

/// How many excluded commits are looked at after the last sign that one might still matter (git's
/// `SLOP`).
const SLOP: u32 = 5;

/// A commit that has been read.
struct Visit {
    number: Number,
    date: u64,
    tree: ObjectId,
    parents: Vec<Number>,
    /// It has been put into the queue.
    seen: bool,
    /// Its parents have been put into the queue.
    expanded: bool,
    /// It stands in the queue.
    waiting: bool,
}

/// One walk.
pub(super) struct Walk<'s> {
    store: &'s ObjectStore,
    decoder: Decoder,
    table: Table,
    paths: Paths,
    visits: Vec<Visit>,
    /// By date, newest first; of the same date the one that came first.
    queue: BinaryHeap<(u64, Reverse<u64>, usize)>,
    queued: u64,
    /// How many in the queue are not excluded.
    waiting_listed: usize,
    /// Tips that are commits, by place in `visits`, and boundary commits.
    starts: Vec<usize>,
    limited: bool,
    /// Whether what is missing or cannot be read is passed over: the walk only says where things are.
    tolerant: bool,
    /// The tree that was gone through last at each path.
    gone_through: Vec<Option<Rc<Vec<u8>>>>,
    /// Where objects were met again.
    others: Others,
    /// Trees to be listed, each with its path and commit.
    trees: Vec<(Number, PathId, Number)>,
}

impl<'s> Walk<'s> {
    pub(super) fn new(store: &'s ObjectStore) -> Self {
        Self {
            store,
            decoder: Decoder::new(),
            table: Table::default(),
            paths: Paths::default(),
            visits: Vec::new(),
            queue: BinaryHeap::new(),
            queued: 0,
            waiting_listed: 0,
            starts: Vec::new(),
            limited: false,
            tolerant: false,
            gone_through: Vec::new(),
            others: Others::default(),
            trees: Vec::new(),
        }
    }

    /// A walk over objects that are known to be all there is: it says under which path and in which
    /// commit each is seen, and passes over what is not there. All of `ids` are listed.
    pub(super) fn run_over(&mut self, ids: &[ObjectId]) -> Result<(), Fault> {
        self.tolerant = true;
        let mut others = Vec::new();
        for id in ids {
            let (kind, _) = self.store.header(id, &mut self.decoder)?;
            let number = self.table.number(*id, kind)?;
            let visit = if kind == Kind::Commit { self.visit(number).ok() } else { None };
            match visit {
                Some(place) => self.start(place),
                None => others.push(number),
            }
        }
        let commits = self.whole_walk()?;
        self.list_commits(commits)?;
        // What no commit reaches has no place.
        for number in others {
            self.table.node_mut(number).listed = true;
        }
        Ok(())
    }

    /// Whether what it names need not be there.
    pub(super) fn is_tolerant(&self) -> bool {
        self.tolerant
    }

    /// What the walk has marked. All else, which is the most of its memory, is given back.
    pub(super) fn finish(self) -> (Vec<Node>, Paths, Others) {
        (self.table.into_nodes(), self.paths, self.others)
    }

    /// Marks in the table what the tips reach and the boundary does not.
    pub(super) fn run(&mut self, tips: &[ObjectId], boundary: &[ObjectId]) -> Result<(), Fault> {
        for id in boundary {
            self.exclude_start(id)?;
        }
        for id in tips {
            self.list_start(id)?;
        }
        let commits = if self.limited { self.limited_walk()? } else { self.whole_walk()? };
        self.list_commits(commits)
    }

    /// Lists commits and all that they reach.
    fn list_commits(&mut self, commits: Vec<usize>) -> Result<(), Fault> {
        // Oldest first, so that a blob is reported with the commit that brought it.
        for place in commits.into_iter().rev() {
            self.store.in_time()?;
            let visit = &self.visits[place];
            let (number, tree) = (visit.number, visit.tree);
            if !self.table.node(number).excluded {
                self.table.node_mut(number).listed = true;
                self.table.node_mut(number).commit = number;
                self.list(tree, Kind::Tree, PathId::TOP, number)?;
                self.list_trees()?;
            }
        }
        self.list_trees()
    }

    /// A boundary object and what its tags name; what is not here excludes nothing.
    fn exclude_start(&mut self, id: &ObjectId) -> Result<(), Fault> {
        let mut id = *id;
        loop {
            let Ok((kind, _)) = self.store.header(&id, &mut self.decoder) else { return Ok(()) };
            let number = self.table.number(id, kind)?;
            match kind {
                Kind::Tag => {
                    self.table.node_mut(number).excluded = true;
                    let Ok(object) = self.verified(&id) else { return Ok(()) };
                    let Ok(target) = parse::tag(&object.bytes, self.store.format()) else { return Ok(()) };
                    id = target;
                }
                Kind::Commit => {
                    let Ok(place) = self.visit(number) else { return Ok(()) };
                    self.exclude_commit(number);
                    self.exclude_ancestors(place);
                    self.limited = true;
                    self.start(place);
                    return Ok(());
                }
                Kind::Tree => return self.exclude_tree(id),
                Kind::Blob => {
                    self.table.node_mut(number).excluded = true;
                    return Ok(());
                }
            }
        }
    }

    /// A tip and what its tags name.
    fn list_start(&mut self, id: &ObjectId) -> Result<(), Fault> {
        let mut id = *id;
        loop {
            let (kind, _) = self.store.header(&id, &mut self.decoder)?;
            let number = self.table.number(id, kind)?;
            match kind {
                Kind::Tag => {
                    let node = self.table.node_mut(number);
                    if node.listed {
                        return Ok(());
                    }
                    node.listed = true;
                    let object = self.verified(&id)?;
                    id = parse::tag(&object.bytes, self.store.format()).map_err(|what| malformed(&id, what))?;
                }
                Kind::Commit => {
                    let place = self.visit(number)?;
                    self.start(place);
                    return Ok(());
                }
                Kind::Tree | Kind::Blob => return self.list(id, kind, PathId::TOP, Number::NONE),
            }
        }
    }

    fn start(&mut self, place: usize) {
        if !self.visits[place].seen {
            self.visits[place].seen = true;
            self.starts.push(place);
        }
    }

    /// All commits that the tips reach, newest first as far as the tips go.
    fn whole_walk(&mut self) -> Result<Vec<usize>, Fault> {
        for place in std::mem::take(&mut self.starts) {
            self.enqueue(place);
        }
        let mut commits = Vec::new();
        while let Some(place) = self.dequeue() {
            self.store.in_time()?;
            self.expand(place)?;
            commits.push(place);
        }
        Ok(commits)
    }

    /// The commits that the tips reach and the boundary does not, as `limit_list` finds them.
    fn limited_walk(&mut self) -> Result<Vec<usize>, Fault> {
        for place in std::mem::take(&mut self.starts) {
            self.enqueue(place);
        }
        let mut commits = Vec::new();
        let (mut last_date, mut slop) = (u64::MAX, SLOP);
        while let Some(place) = self.dequeue() {
            self.store.in_time()?;
            self.expand(place)?;
            if self.is_excluded(place) {
                self.exclude_ancestors(place);
                slop = self.still_needed(last_date, slop);
                if slop == 0 {
                    break;
                }
                continue;
            }
            last_date = self.visits[place].date;
            commits.push(place);
        }
        self.exclude_edges(&commits)?;
        Ok(commits)
    }

    /// git's `still_interesting`.
    fn still_needed(&self, last_date: u64, slop: u32) -> u32 {
        let Some((next_date, ..)) = self.queue.peek() else { return 0 };
        if last_date <= *next_date || self.waiting_listed > 0 { SLOP } else { slop - 1 }
    }

    /// Puts the parents of a commit into the queue. Those of an excluded one need not be there.
    fn expand(&mut self, place: usize) -> Result<(), Fault> {
        if std::mem::replace(&mut self.visits[place].expanded, true) {
            return Ok(());
        }
        let excluded = self.is_excluded(place);
        for number in self.visits[place].parents.clone() {
            if excluded {
                self.exclude_commit(number);
            }
            let parent = match self.visit(number) {
                Ok(parent) => parent,
                Err(_) if excluded || self.tolerant => continue,
                Err(fault) => return Err(fault),
            };
            if excluded {
                self.exclude_ancestors(parent);
            }
            if !std::mem::replace(&mut self.visits[parent].seen, true) {
                self.enqueue(parent);
            }
        }
        Ok(())
    }

    fn is_excluded(&self, place: usize) -> bool {
        self.table.node(self.visits[place].number).excluded
    }

    fn exclude_commit(&mut self, number: Number) -> bool {
        let node = self.table.node_mut(number);
        if node.excluded {
            return false;
        }
        node.excluded = true;
        if node.visit.is_some_and(|read| self.visits[place_of(read)].waiting) {
            self.waiting_listed = self.waiting_listed.saturating_sub(1);
        }
        true
    }

    /// Excludes all ancestors of a commit which have been read, and their parents.
    fn exclude_ancestors(&mut self, place: usize) {
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            for turn in 0..self.visits[place].parents.len() {
                let number = self.visits[place].parents[turn];
                if self.exclude_commit(number) {
                    open.extend(self.table.node(number).visit.map(place_of));
                }
            }
        }
    }

    fn enqueue(&mut self, place: usize) {
        self.visits[place].waiting = true;
        if !self.is_excluded(place) {
            self.waiting_listed += 1;
        }
        self.queue.push((self.visits[place].date, Reverse(self.queued), place));
        self.queued += 1;
    }

    fn dequeue(&mut self) -> Option<usize> {
        let (_, _, place) = self.queue.pop()?;
        self.visits[place].waiting = false;
        if !self.is_excluded(place) {
            self.waiting_listed = self.waiting_listed.saturating_sub(1);
        }
        Some(place)
    }

    /// Reads a commit, once.
    fn visit(&mut self, number: Number) -> Result<usize, Fault> {
        let node = self.table.node(number);
        if let Some(read) = node.visit {
            return Ok(place_of(read));
        }
        let id = node.id;
        let object = self.verified(&id)?;
        if object.kind != Kind::Commit {
            return Err(malformed(&id, "it is named as a commit and is none"));
        }
        let mut commit = parse::commit(&object.bytes, self.store.format()).map_err(|what| malformed(&id, what))?;
        self.store.hints.agree(&id, &commit)?;
        if self.store.places.shallow.contains(&id) {
            commit.parents.clear();
        }
        let parents = commit.parents.iter().map(|parent| self.table.number(*parent, Kind::Commit));
        let parents = parents.collect::<Result<_, _>>()?;
        let place = self.visits.len();
        let visit = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        self.table.node_mut(number).visit =
            Some(visit.ok_or_else(|| Fault::Plumbing("there are more than 2^32 commits".into()))?);
        self.visits.push(Visit {
            number,
            date: commit.date,
            tree: commit.tree,
            parents,
            seen: false,
            expanded: false,
            waiting: false,
        });
        Ok(place)
    }

    /// Excludes a tree and all below it.
    fn exclude_tree(&mut self, tree: ObjectId) -> Result<(), Fault> {
        let mut open = vec![(tree, PathId::TOP)];
        while let Some((id, path)) = open.pop() {
            let number = self.table.number(id, Kind::Tree)?;
            if std::mem::replace(&mut self.table.node_mut(number).excluded, true) {
                continue;
            }
            let Ok(object) = self.verified(&id) else { continue };
            if object.kind != Kind::Tree {
                continue;
            }
            let known = self.known_at(path);
            let mut whole = true;
            for entry in parse::tree(&object.bytes, &known, self.store.format()) {
                let Ok(entry) = entry else {
                    whole = false;
                    break;
                };
                let Ok(id) = ObjectId::try_from(entry.id) else { continue };
                match entry.kind {
                    EntryKind::Tree => open.push((id, self.paths.below(path, entry.name))),
                    EntryKind::Blob => {
                        let number = self.table.number(id, Kind::Blob)?;
                        self.table.node_mut(number).excluded = true;
                    }
                    EntryKind::Gitlink => {}
                }
            }
            if whole {
                self.remember(path, object.bytes);
            }
        }
        Ok(())
    }

    /// The tree that was gone through last at `path`; all that it holds is listed or excluded.
    fn known_at(&self, path: PathId) -> Rc<Vec<u8>> {
        self.gone_through.get(path.place()).and_then(Clone::clone).unwrap_or_default()
    }

    fn remember(&mut self, path: PathId, tree: Rc<Vec<u8>>) {
        if path == PathId::ANY {
            return;
        }
        let place = path.place();
        if self.gone_through.len() <= place {
            self.gone_through.resize(place + 1, None);
        }
        self.gone_through[place] = Some(tree);
    }

    /// Lists an object unless it is listed or excluded; a tree waits to be read.
    fn list(&mut self, id: ObjectId, kind: Kind, path: PathId, commit: Number) -> Result<(), Fault> {
        let number = self.table.number(id, kind)?;
        let node = self.table.node_mut(number);
        if node.excluded {
            return Ok(());
        }
        if node.listed && (node.kind == kind || kind == Kind::Blob) {
            self.met_again(number, path, commit);
            return Ok(());
        }
        (node.listed, node.kind) = (true, kind);
        (node.path, node.commit) = (path, commit);
        if kind == Kind::Tree {
            self.trees.push((number, path, commit));
        }
        Ok(())
    }

    /// Notes a further path of a listed object. A tree is gone through again, since all below it has a
    /// further path too; not more often than paths are kept, lest trees that hold trees twice be endless.
    fn met_again(&mut self, number: Number, path: PathId, commit: Number) {
        let node = self.table.node(number);
        if node.path == path {
            return;
        }
        let kind = node.kind;
        if let Some(path) = self.others.add(number, path, &self.paths)
            && kind == Kind::Tree
        {
            self.trees.push((number, path, commit));
        }
    }

    /// Reads the trees that wait, and those below them.
    fn list_trees(&mut self) -> Result<(), Fault> {
        while let Some((number, path, commit)) = self.trees.pop() {
            match self.list_tree(number, path, commit) {
                Err(fault) if !self.tolerant => return Err(fault),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn list_tree(&mut self, number: Number, path: PathId, commit: Number) -> Result<(), Fault> {
        let node = self.table.node(number);
        if node.excluded {
            return Ok(());
        }
        let id = node.id;
        let object = self.store.object(&id, &mut self.decoder)?;
        if object.kind != Kind::Tree {
            return Err(malformed(&id, "it is named as a tree and is none"));
        }
        let known = self.known_at(path);
        for entry in parse::tree(&object.bytes, &known, self.store.format()) {
            let entry = entry.map_err(|what| malformed(&id, what))?;
            let kind = match entry.kind {
                EntryKind::Tree => Kind::Tree,
                EntryKind::Blob => Kind::Blob,
                EntryKind::Gitlink => continue,
            };
            let child = ObjectId::try_from(entry.id).map_err(|_| malformed(&id, "an entry's id is cut short"))?;
            self.list_entry(child, kind, path, entry.name, commit)?;
        }
        self.remember(path, object.bytes);
        Ok(())
    }

    /// As [`Self::list`], where the path is made only for what is new.
    fn list_entry(
        &mut self,
        id: ObjectId,
        kind: Kind,
        parent: PathId,
        name: &[u8],
        commit: Number,
    ) -> Result<(), Fault> {
        let number = self.table.number(id, kind)?;
        let node = self.table.node(number);
        let is_known = node.listed && (node.kind == kind || kind == Kind::Blob);
        if node.excluded || is_known && self.paths.is(node.path, parent, name) {
            return Ok(());
        }
        let path = self.paths.below(parent, name);
        self.list(id, kind, path, commit)
    }

    /// An object, re-hashed: what decides on exclusion is not read again later.
    fn verified(&mut self, id: &ObjectId) -> Result<Object, Fault> {
        let object = self.store.object(id, &mut self.decoder)?;
        if self.store.format().matches(id, object.kind, &object.bytes) {
            return Ok(object);
        }
        match self.store.locate(id)? {
            Some(place) => Err(self.store.lies(id, place)),
            None => Err(self.store.missing(id)),
        }
    }
}

fn place_of(visit: NonZeroU32) -> usize {
    visit.get() as usize - 1
}

fn malformed(id: &ObjectId, what: &'static str) -> Fault {
    Fault::Malformed { oid: id.to_string(), what: SafeText::new(what) }
}
