//! A store as a source of bytes: every copy is read, and every one re-hashed.

use std::sync::Arc;

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::decode::Decoder;
use super::delta::Broken;
use super::large::Large;
use super::list::item_kind;
use super::store::{ObjectStore, Place};
use crate::payload::source::Sink;
use crate::payload::{Content, Fault, Item, Reader, Source};

/// Objects of more bytes than this are streamed.
const STREAMED_FROM: u64 = 64 << 20;

/// A store, shared by readers.
#[derive(Debug)]
pub(super) struct StoreSource {
    store: Arc<ObjectStore>,
}

impl StoreSource {
    pub(super) fn new(store: Arc<ObjectStore>) -> Self {
        Self { store }
    }
}

impl Source for StoreSource {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(StoreReader { store: &self.store, decoder: Decoder::new(), copies: Vec::new() }))
    }
}

struct StoreReader<'s> {
    store: &'s ObjectStore,
    decoder: Decoder,
    copies: Vec<Place>,
}

impl Reader for StoreReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let id = item.oid.ok_or_else(|| Fault::Plumbing("an item without an id was asked of a store".into()))?;
        let store = self.store;
        store.copies(&id, &mut self.copies)?;
        let copies = std::mem::take(&mut self.copies);
        let Some((first, others)) = copies.split_first() else { return Err(store.missing(&id)) };
        for other in others {
            self.read_copy(item, &id, *other, &mut read_to_end)?;
        }
        self.read_copy(item, &id, *first, sink)?;
        self.copies = copies;
        Ok(())
    }
}

impl StoreReader<'_> {
    fn read_copy(&mut self, item: &Item, id: &ObjectId, place: Place, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let object = if item.size > STREAMED_FROM {
            Err(Broken::TooLarge)
        } else {
            self.store.object_at(id, place, &mut self.decoder, STREAMED_FROM)?
        };
        match object {
            Ok(object) => {
                self.as_listed(item, id, place, object.kind, object.bytes.len() as u64)?;
                if !self.store.format().matches(id, object.kind, &object.bytes) {
                    return Err(self.store.lies(id, place));
                }
                sink(Content::Whole(&object.bytes))
            }
            Err(Broken::TooLarge) => self.stream_copy(item, id, place, sink),
            Err(broken @ Broken::Corrupt(_)) => Err(self.store.broken(id, place, &broken)),
        }
    }

    fn stream_copy(&mut self, item: &Item, id: &ObjectId, place: Place, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut large = Large::open(self.store, id, place)?;
        self.as_listed(item, id, place, large.kind, large.size)?;
        let handed = sink(Content::Stream(&mut large));
        if handed.is_ok() && !large.sound {
            // What the sink left is read too: only at its end is it known what the object was. That the
            // sink read less is for its own count to show.
            let _ = std::io::copy(&mut large, &mut std::io::sink());
        }
        if large.sound || (handed.is_err() && !large.failed) { handed } else { Err(self.store.lies(id, place)) }
    }

    /// That a copy is of the kind and size that the manifest says.
    fn as_listed(&self, item: &Item, id: &ObjectId, place: Place, kind: Kind, size: u64) -> Result<(), Fault> {
        if item_kind(kind) == item.kind && size == item.size { Ok(()) } else { Err(self.store.lies(id, place)) }
    }
}

/// What is done with a further copy: nothing, but its bytes are read and hashed.
fn read_to_end(content: Content<'_>) -> Result<(), Fault> {
    match content {
        Content::Whole(_) => Ok(()),
        // A failure shows when the stream is asked whether it was sound.
        Content::Stream(stream) => {
            let _ = std::io::copy(stream, &mut std::io::sink());
            Ok(())
        }
    }
}
