//! Packed objects as whole bytes, with the objects that they are deltas of kept at hand.
//!
//! Promise: no recursion, memory within the cache's bound plus one object, and no panic on a pack that
//! is damaged or made to harm.

use std::collections::HashMap;
use std::rc::Rc;

use gix::objs::Kind;
use gix::odb::pack::data::Entry;

use super::delta::{self, Broken};
use super::pack::{Pack, Packed};

/// Bytes of bases that are kept; one that is as large is kept alone. With 32 MiB git's own history, in pack order,
/// was no faster to read, and the heap of several threads held 150 MiB more.
const CACHE_BYTES: usize = 8 << 20;

/// How long a chain of deltas may be. git makes 4095 at most; this ends a circle.
const CHAIN_LIMIT: usize = 1 << 14;

/// An object's kind and bytes.
#[derive(Clone)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) bytes: Rc<Vec<u8>>,
}

/// Decodes packed objects, one after another. One for each thread.
pub(super) struct Decoder {
    pub(super) inflate: gix::zlib::Inflate,
    cache: Cache,
    chain: Vec<(Packed, Entry)>,
    delta: Vec<u8>,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { inflate: gix::zlib::Inflate::default(), cache: Cache::default(), chain: Vec::new(), delta: Vec::new() }
    }

    /// The object at `place`, when it and all that it is made from are at most `limit` bytes.
    pub(super) fn decode(&mut self, pack: &Pack, place: Packed, limit: u64) -> Result<Object, Broken> {
        self.chain.clear();
        let mut object = self.descend(pack, place, limit)?;
        while let Some((place, entry)) = self.chain.pop() {
            pack.inflate(&entry, &mut self.inflate, limit, &mut self.delta)?;
            let bytes = delta::apply(&object.bytes, &self.delta, limit)?;
            object = Object { kind: object.kind, bytes: Rc::new(bytes) };
            self.cache.put(place, object.clone());
        }
        Ok(object)
    }

    /// Follows the deltas down to the first object that is whole or at hand, and notes them.
    fn descend(&mut self, pack: &Pack, mut place: Packed, limit: u64) -> Result<Object, Broken> {
        loop {
            if let Some(object) = self.cache.get(place) {
                return Ok(object);
            }
            let entry = pack.entry(place.offset)?;
            if let Some(offset) = pack.base_offset(&entry)? {
                if self.chain.len() >= CHAIN_LIMIT {
                    return Err(Broken::Corrupt("a chain of deltas does not end"));
                }
                self.chain.push((place, entry));
                place.offset = offset;
                continue;
            }
            let kind = entry.header.as_kind().ok_or(Broken::Corrupt("a pack entry has no kind"))?;
            let mut bytes = Vec::new();
            pack.inflate(&entry, &mut self.inflate, limit, &mut bytes)?;
            let object = Object { kind, bytes: Rc::new(bytes) };
            self.cache.put(place, object.clone());
            return Ok(object);
        }
    }
}

/// Objects by place, as many as fit, the ones that were of no use for longest going first.
#[derive(Default)]
struct Cache {
    places: HashMap<Packed, usize, foldhash::fast::RandomState>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    hand: usize,
    bytes: usize,
}

struct Slot {
    place: Packed,
    object: Object,
    used: bool,
}

impl Cache {
    fn get(&mut self, place: Packed) -> Option<Object> {
        let slot = self.slots.get_mut(*self.places.get(&place)?)?.as_mut()?;
        slot.used = true;
        Some(slot.object.clone())
    }

    fn put(&mut self, place: Packed, object: Object) {
        let len = object.bytes.len() + size_of::<Slot>();
        if len > CACHE_BYTES || self.places.contains_key(&place) {
            return;
        }
        while self.bytes + len > CACHE_BYTES {
            self.evict_one();
        }
        self.bytes += len;
        let slot = Some(Slot { place, object, used: false });
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        if let Some(empty) = self.slots.get_mut(number) {
            *empty = slot;
            self.places.insert(place, number);
        }
    }

    /// One step of the clock: what was used since the hand's last visit stays for one more round.
    fn evict_one(&mut self) {
        let number = self.hand;
        self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
        let Some(occupied) = self.slots.get_mut(number) else { return };
        match occupied {
            Some(slot) if slot.used => slot.used = false,
            Some(slot) => {
                self.bytes = self.bytes.saturating_sub(slot.object.bytes.len() + size_of::<Slot>());
                self.places.remove(&slot.place);
                *occupied = None;
                self.free.push(number);
            }
            None => {}
        }
    }
}
