//! What the other side has already: what is known, and what is only said.
//!
//! Promise: an object is left out because the destination advertised an id that reaches it, or because
//! it was read before under the same rules and found clean, and for no other reason. Tracking refs,
//! `ls-remote` of some time ago and the like are claims (design principle 5): they can be stale or
//! forged, and what only they hide is read too.

use std::collections::HashSet;

use super::cache::Cache;
use super::objects::ObjectStore;
use super::{Fault, Item, ObjectId};

/// The ends of what the other side has. Ids that are not here exclude nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Ids that this very destination advertised for this push.
    pub evidence: Vec<ObjectId>,
    /// Ids that something else says it has.
    pub claims: Vec<ObjectId>,
}

/// What is to be read of a push.
#[derive(Debug)]
pub struct Selection {
    /// The objects, in reading order.
    pub items: Vec<Item>,
    /// How many were left out one by one because they were read before and found clean; those behind a
    /// remembered tip are not counted.
    pub remembered: u64,
    /// What to hand to [`Cache::record`] as tips when the scan of `items` finds nothing: everything
    /// that these reach will then have been read. Empty where evidence stood for a part of it.
    pub tips: Vec<ObjectId>,
}

impl Boundary {
    /// What is to be read of a push of `tips`.
    ///
    /// Without a cache: all that the evidence does not exclude; claims exclude nothing. With one, what
    /// only a claim hides is left out as far as the cache remembers it clean. pre-push and CI pass none.
    ///
    /// # Errors
    /// As [`ObjectStore::reachable`].
    pub fn select(&self, store: &ObjectStore, tips: &[ObjectId], cache: Option<&Cache>) -> Result<Selection, Fault> {
        let Some(cache) = cache else {
            let items = store.reachable(tips, &self.evidence)?;
            return Ok(Selection { items, remembered: 0, tips: Vec::new() });
        };
        let evidence: Vec<ObjectId> = self.evidence.iter().filter(|id| store.has(id)).copied().collect();
        let clean = cache.clean_tips().into_iter().filter(|id| store.has(id));
        let mut items = store.reachable(tips, &evidence.iter().copied().chain(clean).collect::<Vec<_>>())?;
        let unclaimed = store.reachable(tips, &[&evidence[..], &self.claims].concat())?;
        let sure: HashSet<ObjectId> = unclaimed.iter().filter_map(|item| item.oid).collect();
        let before = items.len();
        cache.retain_unknown(&mut items, |item| item.oid.is_some_and(|id| !sure.contains(&id)));
        let remembered = (before - items.len()) as u64;
        // What the claims do not hide is read whatever the cache says.
        let have: HashSet<ObjectId> = items.iter().filter_map(|item| item.oid).collect();
        items.extend(unclaimed.into_iter().filter(|item| item.oid.is_some_and(|id| !have.contains(&id))));
        let tips = if evidence.is_empty() { tips.to_vec() } else { Vec::new() };
        Ok(Selection { items, remembered, tips })
    }
}
