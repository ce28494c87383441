//! Large items in windows that overlap.
//!
//! Promise: where a window begins and ends depends on the item's bytes alone, not on how they arrive; a
//! match is told by the one window in whose core it begins, and is seen there whole: the window goes on
//! behind its core as far as the widest rule can reach, and where a rule without a bound has begun
//! something, up to [`UNBOUNDED_SPAN`] behind that.

use std::io;

use super::pattern::UNBOUNDED_SPAN;

/// The part of a window in which matches are told, in bytes.
pub(super) const CORE: usize = 3 << 20;
/// What is read again before a core, so that chains of matches are the same there, and keywords at hand that
/// gitleaks could have in one fragment with them.
const BEFORE: usize = 128 << 10;
/// How far before its end a core may end instead, behind a line.
const LINE: usize = 64 << 10;

/// An item's bytes, as far as they are still needed.
#[derive(Debug)]
pub(super) struct Windows {
    held: Vec<u8>,
    /// Where these begin in the item.
    held_from: u64,
    /// Line feeds before them.
    lines: u64,
    /// The last line feed before them.
    last_feed: Option<u64>,
    /// Where the next core begins in the held bytes.
    core: usize,
    /// How many held bytes the next window wants.
    wanted: usize,
    /// How far the widest bounded rule reaches.
    margin: usize,
    is_first: bool,
}

/// One window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'w> {
    pub(super) text: &'w [u8],
    /// Where the text begins in the item.
    pub(super) offset: u64,
    /// Line feeds before it.
    pub(super) lines: u64,
    /// What columns on its first line lack.
    pub(super) column: u64,
    /// Where matches begin that this window tells.
    pub(super) core: (usize, usize),
    pub(super) is_first: bool,
    /// Nothing follows the text.
    pub(super) is_whole: bool,
}

/// What a window's reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// It is done.
    Done,
    /// Something begins at this place of the text that could go on behind it.
    Open(usize),
}

impl Windows {
    pub(super) fn new(margin: usize) -> Self {
        Self {
            held: Vec::new(),
            held_from: 0,
            lines: 0,
            last_feed: None,
            core: 0,
            wanted: CORE + margin,
            margin,
            is_first: true,
        }
    }

    /// Takes at most so many more of the item's bytes from a stream; these.
    pub(super) fn take_from(&mut self, stream: &mut dyn io::Read, most: usize) -> io::Result<&[u8]> {
        let known = self.held.len();
        self.held.reserve_exact((self.lacks() + most).max(most));
        io::Read::read_to_end(&mut io::Read::take(stream, most as u64), &mut self.held)?;
        Ok(self.held.get(known..).unwrap_or_default())
    }

    /// Takes more of the item's bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// How many more bytes make the next window whole; 0: it is.
    pub(super) fn lacks(&self) -> usize {
        self.wanted.saturating_sub(self.held.len())
    }

    /// Reads the next window with `read`; whether it was the last one. `ended`: no bytes will follow.
    pub(super) fn next<E>(
        &mut self,
        ended: bool,
        mut read: impl FnMut(Window<'_>) -> Result<Read, E>,
    ) -> Result<bool, E> {
        let is_last = ended && self.held.len() <= self.core + CORE + self.margin;
        let core_end = if is_last { self.held.len() } else { self.core_end() };
        let mut end = if is_last { self.held.len() } else { (core_end + self.margin).min(self.held.len()) };
        loop {
            let window = Window {
                text: self.held.get(..end).unwrap_or_default(),
                offset: self.held_from,
                lines: self.lines,
                column: self.column(),
                core: (self.core, core_end),
                is_first: self.is_first,
                is_whole: ended && end == self.held.len(),
            };
            match read(window)? {
                Read::Open(start) if start < core_end => {
                    let reach = start + UNBOUNDED_SPAN;
                    if reach > self.held.len() && !ended {
                        // Read again when there is more.
                        self.wanted = reach;
                        return Ok(false);
                    }
                    end = reach.min(self.held.len()).max(end + 1).min(self.held.len());
                }
                Read::Open(_) | Read::Done => break,
            }
        }
        self.go_on(core_end);
        Ok(is_last)
    }

    fn column(&self) -> u64 {
        self.last_feed.map_or(self.held_from, |feed| self.held_from - feed)
    }

    fn core_end(&self) -> usize {
        let most = (self.core + CORE).min(self.held.len());
        let least = most.saturating_sub(LINE).max(self.core + 1);
        let line = self.held.get(least..most).and_then(|text| memchr::memrchr(b'\n', text));
        line.map_or(most, |at| least + at + 1)
    }

    /// Leaves behind what the next window does not need.
    fn go_on(&mut self, core_end: usize) {
        let least = core_end.saturating_sub(BEFORE);
        // From a line feed on columns are what they are in the whole item.
        let front = self.held.get(least..core_end).unwrap_or_default();
        let cut = memchr::memchr(b'\n', front).map_or(least, |at| least + at);
        let gone = self.held.get(..cut).unwrap_or_default();
        self.lines += memchr::memchr_iter(b'\n', gone).count() as u64;
        if let Some(at) = memchr::memrchr(b'\n', gone) {
            self.last_feed = Some(self.held_from + at as u64);
        }
        self.held.drain(..cut);
        self.held_from += cut as u64;
        self.core = core_end - cut;
        self.wanted = self.core + CORE + self.margin;
        self.is_first = false;
    }
}
