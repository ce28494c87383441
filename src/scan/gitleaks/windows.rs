//! Payload laid out so that gitleaks reads each piece on its own and whole.
//!
//! Promise: every byte of an item stands in at least one window, two windows that follow each other
//! share [`OVERLAP`] bytes, no match can reach from one window into another, and no window is cut by
//! the way gitleaks reads.
//!
//! How gitleaks 8.30.1 reads a regular file on standard input (measured; facts/gitleaks.md 4.1): 100,000
//! bytes, then on to the next blank line, at most 25,000 more; what was read is matched on its own. A
//! read whose last two bytes are line feeds goes no further. So the input is a row of blocks of exactly
//! 100,000 bytes which end in two line feeds: each block is read and matched alone. Within a block
//! windows are parted by a line that holds the byte 0xFF, which no expression of RE2 in its UTF-8
//! mode can match (section 5 there). Every block begins with a line feed, so that columns are
//! counted alike on every line, and the first block holds nothing of the payload, so that no first
//! byte of it can be taken for a file type that gitleaks passes over.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::payload::{Content, Item, ItemKind, Tally};
use crate::scan::EngineFault;
use crate::scan::embedded::tree_names;
use crate::scan::engine::EngineFaultKind;

use super::report::fault;

/// What gitleaks reads at once.
pub const BLOCK: usize = 100_000;

/// How many bytes two windows that follow each other share: a match up to this long is whole in one.
pub const OVERLAP: usize = 8_000;

/// Stands between two windows of a block.
const BETWEEN: &[u8] = b"\n\xFF\n";

/// Most bytes of payload in a block: a line feed before, the separator and a line feed after.
const CAPACITY: usize = BLOCK - 1 - BETWEEN.len() - 1;

/// An item is only split at the end of a block when at least this much of it fits.
const LEAST_SPLIT: usize = 3 * OVERLAP;

/// The item that a window belongs to.
#[derive(Debug)]
pub struct Origin {
    /// Tells items apart, also where one is listed twice.
    pub id: u64,
    /// The item.
    pub item: Item,
    /// Its part of the payload.
    pub part: usize,
}

static ORIGINS: AtomicU64 = AtomicU64::new(0);

/// A piece of an item inside a block.
#[derive(Clone, Debug)]
pub struct Window {
    /// The item it is a piece of.
    pub origin: Arc<Origin>,
    /// Where it begins in its block.
    pub at: usize,
    /// How many bytes it has.
    pub length: usize,
    /// Where it begins in its item.
    pub start: u64,
    /// The item's line, from 1, in which it begins.
    pub line: u64,
    /// How many bytes of that line stand before it.
    pub before: u64,
    /// Where the item's previous window ends, in the item.
    pub previous_end: Option<u64>,
    /// Where the item's next window begins, in the item.
    pub next_start: Option<u64>,
}

/// A tree is read as its entries' names: that is what is content in it, and the ids between them would
/// only look like text by chance.
fn is_rewritten(item: &Item) -> bool {
    item.kind == ItemKind::Tree
}

impl Window {
    /// One past its last byte, in its item.
    pub fn end(&self) -> u64 {
        self.start + self.length as u64
    }

    /// How many of its item's bytes it holds which no earlier window does.
    fn fresh(&self) -> u64 {
        if is_rewritten(&self.origin.item) {
            return 0;
        }
        self.previous_end.map_or(self.length as u64, |end| self.end() - end)
    }
}

/// What gitleaks reads at once and alone.
#[derive(Debug)]
pub struct Block {
    /// Its bytes, without the line feeds that fill it up.
    pub bytes: Vec<u8>,
    /// Its windows, in order.
    pub windows: Vec<Window>,
}

impl Block {
    fn new() -> Self {
        Self { bytes: vec![b'\n'], windows: Vec::new() }
    }

    /// How many bytes of payload still fit.
    fn space(&self) -> usize {
        (BLOCK - 1 - BETWEEN.len()).saturating_sub(self.bytes.len())
    }
}

/// Blocks that one gitleaks reads in one run.
#[derive(Debug, Default)]
pub struct Batch {
    blocks: Vec<Block>,
    empty_items: u64,
    /// Bytes of items that are read in another form than their own.
    rewritten_bytes: u64,
}

fn stream_fault(error: std::io::Error) -> EngineFault {
    fault(EngineFaultKind::Broken, format!("its input could not be read: {error}"))
}

/// Where the next window begins.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    line: u64,
    before: u64,
    previous_end: Option<u64>,
}

impl Place {
    /// Moves over `bytes` which the next window will not hold.
    fn advance(&mut self, bytes: &[u8]) {
        self.start += bytes.len() as u64;
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => self.before = (bytes.len() - last - 1) as u64,
            None => self.before += bytes.len() as u64,
        }
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }
}

impl Batch {
    /// Adds an item's bytes; `offer` is called between, and may take what is there already.
    ///
    /// # Errors
    /// When the stream breaks, or `offer` fails.
    pub fn add(
        &mut self,
        item: &Item,
        part: usize,
        content: Content<'_>,
        offer: &mut dyn FnMut(&mut Self) -> Result<(), EngineFault>,
    ) -> Result<(), EngineFault> {
        if !is_rewritten(item) {
            return self.lay(item, part, content, offer);
        }
        let mut streamed = Vec::new();
        let bytes = match content {
            Content::Whole(bytes) => bytes,
            Content::Stream(stream) => {
                stream.read_to_end(&mut streamed).map_err(stream_fault)?;
                &streamed
            }
        };
        self.rewritten_bytes += bytes.len() as u64;
        self.lay(item, part, Content::Whole(&tree_names(bytes)), offer)
    }

    fn lay(
        &mut self,
        item: &Item,
        part: usize,
        content: Content<'_>,
        offer: &mut dyn FnMut(&mut Self) -> Result<(), EngineFault>,
    ) -> Result<(), EngineFault> {
        let origin = Arc::new(Origin { id: ORIGINS.fetch_add(1, Ordering::Relaxed), item: item.clone(), part });
        let mut place = Place { start: 0, line: 1, before: 0, previous_end: None };
        match content {
            Content::Whole(bytes) => {
                self.cut(&origin, bytes, true, &mut place);
                self.empty_items += u64::from(bytes.is_empty());
            }
            Content::Stream(stream) => {
                let mut held = Vec::new();
                loop {
                    let wanted = (2 * BLOCK).saturating_sub(held.len()) as u64;
                    (&mut *stream).take(wanted).read_to_end(&mut held).map_err(stream_fault)?;
                    let at_end = held.len() < 2 * BLOCK;
                    let used = self.cut(&origin, &held, at_end, &mut place);
                    held.drain(..used);
                    if at_end {
                        break;
                    }
                    offer(self)?;
                }
                self.empty_items += u64::from(place.previous_end.is_none());
            }
        }
        offer(self)
    }

    /// Cuts windows off the front of `bytes`, all of them when they are the item's `last` ones, and
    /// tells how many bytes are not needed again.
    fn cut(&mut self, origin: &Arc<Origin>, bytes: &[u8], last: bool, place: &mut Place) -> usize {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            if !last && rest.len() <= CAPACITY {
                break;
            }
            let space = self.open_block(rest.len());
            let take = space.min(rest.len());
            let ends = take == rest.len();
            let step = if ends { take } else { take - OVERLAP };
            let Some((window, stepped)) = rest.get(..take).zip(rest.get(..step)) else { break };
            self.place(origin, window, *place, if ends { None } else { Some(place.start + step as u64) });
            place.previous_end = Some(place.start + take as u64);
            place.advance(stepped);
            from += step;
        }
        from
    }

    /// Makes sure that a window of at most `wanted` bytes can begin, and tells how much fits.
    fn open_block(&mut self, wanted: usize) -> usize {
        let space = self.blocks.last().map_or(0, Block::space);
        if space >= wanted.min(LEAST_SPLIT) {
            return space;
        }
        self.blocks.push(Block::new());
        CAPACITY
    }

    fn place(&mut self, origin: &Arc<Origin>, bytes: &[u8], place: Place, next_start: Option<u64>) {
        let Some(block) = self.blocks.last_mut() else { return };
        block.windows.push(Window {
            origin: Arc::clone(origin),
            at: block.bytes.len(),
            length: bytes.len(),
            start: place.start,
            line: place.line,
            before: place.before,
            previous_end: place.previous_end,
            next_start,
        });
        block.bytes.extend_from_slice(bytes);
        block.bytes.extend_from_slice(BETWEEN);
    }

    /// How many bytes its run will read, about.
    pub fn size(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// How many items end here that are in several windows.
    pub fn split_items(&self) -> u64 {
        let last = |window: &&Window| window.next_start.is_none() && window.previous_end.is_some();
        self.blocks.iter().flat_map(|block| &block.windows).filter(last).count() as u64
    }

    /// Whether there is nothing to prove.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.empty_items == 0
    }

    /// Takes another batch's blocks along.
    pub fn absorb(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.empty_items += other.empty_items;
        self.rewritten_bytes += other.rewritten_bytes;
    }

    /// Lays the blocks out between a first block and a last one, which hold `first` and `last`.
    pub fn lay_out(self, first: &[u8], last: &[u8]) -> Layout {
        let mut layout = Layout {
            bytes: Vec::with_capacity(self.size() + 2 * BLOCK),
            blocks: Vec::with_capacity(self.blocks.len() + 2),
            consumed: self.tally(),
        };
        let around = |text: &[u8]| Block { bytes: [b"\n", text, BETWEEN].concat(), windows: Vec::new() };
        for block in std::iter::once(around(first)).chain(self.blocks).chain([around(last)]) {
            layout.append(block);
        }
        layout
    }

    /// The items that end here, and the bytes that no earlier batch holds.
    fn tally(&self) -> Tally {
        let windows = || self.blocks.iter().flat_map(|block| &block.windows);
        let ended = windows().filter(|window| window.next_start.is_none()).count() as u64;
        Tally {
            objects: self.empty_items + ended,
            bytes: self.rewritten_bytes + windows().map(Window::fresh).sum::<u64>(),
        }
    }
}

/// The bytes of one run, and what stands where in them.
#[derive(Debug)]
pub struct Layout {
    bytes: Vec<u8>,
    blocks: Vec<LaidBlock>,
    consumed: Tally,
}

/// A block at its place.
#[derive(Debug)]
struct LaidBlock {
    at: usize,
    length: usize,
    /// The line of the input, from 1, on which it begins.
    first_line: u64,
    windows: Vec<Window>,
}

impl Layout {
    fn append(&mut self, block: Block) {
        let first_line = self.blocks.last().map_or(1, |last| {
            let bytes = self.bytes.get(last.at..).unwrap_or_default();
            last.first_line + memchr::memchr_iter(b'\n', bytes).count() as u64
        });
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&block.bytes);
        self.bytes.resize(at + BLOCK.max(block.bytes.len()), b'\n');
        self.blocks.push(LaidBlock { at, length: BLOCK, first_line, windows: block.windows });
    }

    /// What gitleaks reads.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is proven when all of it was read.
    pub fn consumed(&self) -> Tally {
        self.consumed
    }

    /// The block in which a line of the input begins, and which line of that block it is, from 0.
    pub fn block_of_line(&self, line: u64) -> Option<(BlockView<'_>, usize)> {
        let after = self.blocks.partition_point(|block| block.first_line <= line);
        let place = after.checked_sub(1)?;
        let block = self.blocks.get(place)?;
        let bytes = self.bytes.get(block.at..block.at + block.length)?;
        let is_ours = place == 0 || place + 1 == self.blocks.len();
        let view = BlockView { bytes, windows: &block.windows, place, is_ours };
        Some((view, usize::try_from(line - block.first_line).ok()?))
    }
}

/// A block as gitleaks read it.
#[derive(Debug)]
pub struct BlockView<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its windows.
    pub windows: &'a [Window],
    /// Its place in the row.
    pub place: usize,
    /// Whether it holds the self-test and nothing of the payload.
    pub is_ours: bool,
}

impl<'a> BlockView<'a> {
    /// The window that holds the byte at `offset` of the block.
    pub fn window_at(&self, offset: usize) -> Option<&'a Window> {
        let after = self.windows.partition_point(|window| window.at <= offset);
        let window = self.windows.get(after.checked_sub(1)?)?;
        (offset < window.at + window.length).then_some(window)
    }
}
