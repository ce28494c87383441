//! Where items are read from, and how their bytes are handed on.
//!
//! Promise: a reader hands over every byte of the item it was asked for, exactly once and raw, or
//! fails; git objects re-hash to their id. It holds at most one item in memory, and streams those
//! that are too large for that.

use std::fmt;
use std::io::Read;

use bstr::{BString, ByteSlice};

use super::{Elsewhere, Fault, Item};

/// The bytes of one item, exactly once.
pub enum Content<'a> {
    /// All of them.
    Whole(&'a [u8]),
    /// To be read to the end; an error of the reader is a fault of the payload, never an end.
    Stream(&'a mut dyn Read),
}

/// A place that items are read from. Shared by threads, each of which opens a reader of its own.
pub trait Source: Send + Sync + fmt::Debug {
    /// Opens a reader for one thread.
    ///
    /// # Errors
    /// When the place cannot be opened.
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault>;
}

/// What is done with an item's bytes. Its error is the scan's own, carried through as text.
pub type Sink<'s> = dyn FnMut(Content<'_>) -> Result<(), Fault> + 's;

/// Reads items, one after another.
pub trait Reader {
    /// Hands every byte of `item` to `sink`, in one call of it.
    ///
    /// # Errors
    /// When the item is missing, does not re-hash to its id, or cannot be read whole.
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault>;
}

/// Items whose bytes are in memory already: ref names, push options, messages, command lines.
#[derive(Debug, Default)]
pub struct Texts {
    texts: Vec<BString>,
}

impl Texts {
    /// The part of a payload which these texts are; each item is found again by its place, so the
    /// items must be read from the part they came with.
    pub fn part(texts: impl IntoIterator<Item = (super::ItemKind, BString)>) -> super::Part {
        let (mut items, mut kept) = (Vec::new(), Vec::new());
        for (kind, text) in texts {
            items.push(Item {
                kind,
                oid: None,
                size: text.len() as u64,
                path: Some(BString::from(kept.len().to_string())),
                commit: None,
                elsewhere: Elsewhere::Nowhere,
            });
            kept.push(text);
        }
        super::Part { items, source: Box::new(Self { texts: kept }) }
    }
}

impl Source for Texts {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(TextReader { texts: &self.texts }))
    }
}

struct TextReader<'a> {
    texts: &'a [BString],
}

impl Reader for TextReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let text = item
            .path
            .as_ref()
            .and_then(|path| path.to_str().ok()?.parse::<usize>().ok())
            .and_then(|place| self.texts.get(place))
            .ok_or_else(|| Fault::Plumbing("a text of the payload was asked for from another part".into()))?;
        sink(Content::Whole(text))
    }
}
