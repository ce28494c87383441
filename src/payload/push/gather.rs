//! The objects of transfers, each once, however many urls it goes to.
//!
//! Promise: every object that is new to a url is listed, or left out because it was read before and
//! found clean. Where the object store may lie, the pack that git itself would make is read instead.

use std::collections::HashSet;
use std::sync::Arc;

use crate::command::plan::GitContext;
use crate::payload::objects::ObjectStore;
use crate::payload::remote::Commits;
use crate::payload::{Boundary, Fault, Item, ObjectId, Part, Side, airlock};
use crate::text::SafeText;
use crate::world::World;

use super::transfer::{Airlock, PushOptions, Resolved, Transfer};

/// What was gathered.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The objects.
    pub parts: Vec<Part>,
    /// For each part, what the destinations of its transfers show by evidence.
    pub sides: Vec<Side>,
    /// What a person should know.
    pub notes: Vec<SafeText>,
    /// How many objects were left out one by one because they were read before and found clean.
    pub remembered: u64,
    /// Tips of which everything has been read once these parts are.
    pub clean_tips: Vec<ObjectId>,
}

/// Gathers, transfer by transfer.
#[derive(Debug)]
pub struct Gathering<'a> {
    world: &'a World,
    options: PushOptions<'a>,
    stores: Vec<OpenStore>,
    gathered: Gathered,
}

#[derive(Debug)]
struct OpenStore {
    git: GitContext,
    store: Arc<ObjectStore>,
    seen: HashSet<ObjectId>,
    items: Vec<Item>,
    asked: Vec<(Vec<ObjectId>, Boundary)>,
}

/// Ids that are sent, and what is there.
struct Range {
    tips: Vec<ObjectId>,
    boundary: Boundary,
}

impl<'a> Gathering<'a> {
    /// Nothing yet.
    pub fn new(world: &'a World, options: PushOptions<'a>) -> Self {
        Self { world, options, stores: Vec::new(), gathered: Gathered::default() }
    }

    /// Adds what one transfer sends.
    ///
    /// # Errors
    /// When an object is missing or cannot be followed.
    pub fn take(&mut self, transfer: &Transfer) -> Result<(), Fault> {
        let ranges = ranges(transfer);
        if self.options.airlock == Airlock::Always {
            return self.take_git_pack(&transfer.git, &ranges, "as was asked");
        }
        match (self.take_from_store(&transfer.git, &ranges), self.options.airlock) {
            (Err(Fault::Store(why)), Airlock::InDoubt) => {
                let why = format!("since the store may lie: {why}");
                self.take_git_pack(&transfer.git, &ranges, &why)
            }
            (outcome, Airlock::InDoubt | Airlock::Never | Airlock::Always) => outcome,
        }
    }

    fn take_from_store(&mut self, git: &GitContext, ranges: &[Range]) -> Result<(), Fault> {
        for range in ranges.iter().filter(|range| !range.tips.is_empty()) {
            let options = self.options;
            let world = self.world;
            let gathered = &mut self.gathered;
            let open = open(&mut self.stores, world, git)?;
            open.take(range, options, gathered)?;
        }
        Ok(())
    }

    /// What git would send as it sees its store, lies and all.
    fn take_git_pack(&mut self, git: &GitContext, ranges: &[Range], why: &str) -> Result<(), Fault> {
        for range in ranges.iter().filter(|range| !range.tips.is_empty()) {
            let pack = airlock::payload(self.world, git, &range.tips, &range.boundary.evidence)?;
            self.gathered.parts.extend(pack.parts);
        }
        self.gathered.notes.push(format!("the pack that git would make is read, {why}").into());
        Ok(())
    }

    /// The whole.
    pub fn finish(self, resolved: &Resolved) -> Gathered {
        let mut gathered = self.gathered;
        for open in self.stores.into_iter().filter(|open| !open.items.is_empty()) {
            let place = gathered.parts.len();
            for transfer in resolved.transfers.iter().filter(|transfer| transfer.git == open.git && transfer.sends()) {
                let commits = transfer.evidence.clone().unwrap_or_default();
                let side = Arc::new(Commits::new(Arc::clone(&open.store), commits));
                gathered.sides.push(Side { parts: place..place + 1, side });
            }
            gathered.parts.push(open.store.part(open.items));
        }
        gathered
    }
}

fn ranges(transfer: &Transfer) -> [Range; 2] {
    let boundary = transfer.boundary();
    let mut below_tags = boundary.clone();
    below_tags.evidence.extend(transfer.perhaps_tags.iter().map(|tag| tag.commit));
    [
        Range { tips: transfer.tips().collect(), boundary },
        Range { tips: transfer.perhaps_tags.iter().map(|tag| tag.tag).collect(), boundary: below_tags },
    ]
}

fn open<'s>(stores: &'s mut Vec<OpenStore>, world: &World, git: &GitContext) -> Result<&'s mut OpenStore, Fault> {
    if !stores.iter().any(|open| open.git == *git) {
        let store = ObjectStore::open(world, git)?;
        let (seen, items, asked) = (HashSet::new(), Vec::new(), Vec::new());
        stores.push(OpenStore { git: git.clone(), store, seen, items, asked });
    }
    let found = stores.iter_mut().find(|open| open.git == *git);
    found.ok_or_else(|| Fault::Repository("an object store that was opened is gone".into()))
}

impl OpenStore {
    fn take(&mut self, range: &Range, options: PushOptions<'_>, gathered: &mut Gathered) -> Result<(), Fault> {
        let mut tips = range.tips.clone();
        tips.sort_unstable();
        tips.dedup();
        if self.asked.iter().any(|(known, boundary)| *known == tips && *boundary == range.boundary) {
            return Ok(());
        }
        let selection = range.boundary.select(&self.store, &tips, options.cache)?;
        for item in selection.items {
            let oid = item.oid.ok_or_else(|| Fault::Plumbing("an object without an id was listed".into()))?;
            if self.seen.insert(oid) {
                self.items.push(item);
            }
        }
        gathered.remembered += selection.remembered;
        gathered.clean_tips.extend(selection.tips);
        self.asked.push((tips, range.boundary.clone()));
        Ok(())
    }
}
