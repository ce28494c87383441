//! Parts of texts in which nothing begins, remembered so that other texts that hold them are not looked
//! through again: most bytes of a range of commits are lines that an earlier version of a file had too.
//!
//! Promise: what is remembered of a part follows from its bytes and [`BEHIND`] bytes before and [`AHEAD`]
//! bytes behind it alone: that no word in it leads to a match of any rule at any path, and which rules' keywords
//! it holds. A place whose answer needs more than these bytes is never remembered as one that leads nowhere.
//!
//! Parts are told apart by a universal hash (NH) under a key that is random in each session: for two different
//! parts, whatever they are made of, the chance to be taken for one is less than 2⁻¹²⁰.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use sha2::{Digest, Sha256};

use super::matcher::Span;
use super::survey::Feeds;

/// What counts before a part: the longest text that a pattern is looked for by, which can begin there.
pub(super) const BEHIND: usize = 64;
/// So far before such a text it can be looked for what decides.
pub(super) const NEAR_BEHIND: usize = BEHIND / 2;
/// What counts behind it.
pub(super) const AHEAD: usize = 512;

/// The least and the greatest length of a part, but for the last of a text.
const LEAST: usize = 256;
const MOST: usize = 4096;
/// So many parts are remembered at once; then it is begun anew.
const MOST_KNOWN: usize = (1 << 18) / 8 * 7;
/// So many keywords of a part are remembered; one with more is looked through again.
const MOST_OPENED: usize = 64;

/// How many bytes are looked up before it is asked whether that was of use, and the least share of them that must
/// have been known, as a divisor.
const TRIED: usize = 8 << 20;
const LEAST_SHARE: usize = 16;
/// Where it was not, so many bytes are read without.
const PAUSE: usize = 64 << 20;

/// A part of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
    name: Name,
    /// Where in [`Seen::opened`] the keywords of one that was seen before are.
    known: Option<u32>,
}

impl Part {
    pub(super) fn is_known(&self) -> bool {
        self.known.is_some()
    }
}

/// What a part is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name([u64; 2]);

impl Hash for Name {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0[0]);
    }
}

/// Names are hashes already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

/// A rule of which a keyword stands at this distance from a part's start.
type Opened = (u16, u16);

/// What is remembered.
#[derive(Debug)]
pub(super) struct Seen {
    key: Box<[u64; WORDS + 4]>,
    known: HashMap<Name, u32, BuildHasherDefault<AsItIs>>,
    /// Keywords of parts; the first entry is none.
    opened: Vec<Box<[Opened]>>,
    /// Bytes that were looked up since it was last asked whether that is of use, and those that were known.
    tried: usize,
    of_use: usize,
    /// Bytes that are read without.
    pause: usize,
}

/// Words of the longest part with what counts round it, in pairs.
const WORDS: usize = (BEHIND + MOST + AHEAD).div_ceil(16) * 2;

impl Seen {
    /// `None` when there is no randomness: then nothing is remembered.
    pub(super) fn new() -> Option<Self> {
        let mut random = vec![0_u8; (WORDS + 4) * 8];
        getrandom::fill(&mut random).ok()?;
        let mut key = Box::new([0; WORDS + 4]);
        for (word, bytes) in key.iter_mut().zip(random.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Some(Self { key, known: HashMap::default(), opened: vec![Box::default()], tried: 0, of_use: 0, pause: 0 })
    }

    /// The parts of a text, in order; none while that is of no use.
    pub(super) fn parts(&mut self, text: &[u8], feeds: &Feeds, parts: &mut Vec<Part>) {
        parts.clear();
        if self.pause > 0 {
            self.pause = self.pause.saturating_sub(text.len());
            return;
        }
        let mut start = 0;
        while start < text.len() {
            let end = end_of(text, feeds, start);
            let name = self.name(text, start, end);
            let known = self.known.get(&name).copied();
            self.of_use += if known.is_some() { end - start } else { 0 };
            parts.push(Part { start, end, name, known });
            start = end;
        }
        self.tried += text.len();
        if self.tried >= TRIED {
            if self.of_use < self.tried / LEAST_SHARE {
                self.pause = PAUSE;
            }
            (self.tried, self.of_use) = (0, 0);
        }
    }

    /// Rules of which a known part holds keywords, and where in the text.
    pub(super) fn opened(&self, part: &Part) -> impl Iterator<Item = (usize, usize)> {
        let opened = part.known.and_then(|place| self.opened.get(place as usize)).map(|opened| &**opened);
        let start = part.start;
        opened.unwrap_or_default().iter().map(move |&(rule, at)| (usize::from(rule), start + usize::from(at)))
    }

    /// Remembers those new parts in which nothing begins. `alive`: places at which something does, or may;
    /// `opened`: rules and where their keywords stand.
    pub(super) fn remember(&mut self, parts: &[Part], alive: &mut Vec<usize>, opened: &mut Vec<(usize, u16)>) {
        alive.sort_unstable();
        opened.sort_unstable();
        for part in parts.iter().filter(|part| part.known.is_none()) {
            // What begins a little before was perhaps found by a word in the part.
            let from = alive.partition_point(|&place| place + BEHIND <= part.start);
            if alive.get(from).is_some_and(|&place| place < part.end) {
                continue;
            }
            let from = opened.partition_point(|one| one.0 < part.start);
            let here = opened.get(from..).unwrap_or_default();
            let here = here.get(..here.partition_point(|one| one.0 < part.end)).unwrap_or_default();
            if let Some(opened) = ends_of_each(here, part.start) {
                self.insert(part.name, opened);
            }
        }
        alive.clear();
        opened.clear();
    }

    fn insert(&mut self, name: Name, opened: Vec<Opened>) {
        if self.known.len() >= MOST_KNOWN || self.opened.len() >= MOST_KNOWN {
            self.known.clear();
            self.opened.truncate(1);
        }
        let place = if opened.is_empty() { 0 } else { self.opened.len() };
        let Ok(place) = u32::try_from(place) else { return };
        if !opened.is_empty() {
            self.opened.push(opened.into());
        }
        self.known.insert(name, place);
    }

    /// What a part is known by: its bytes and those that count round it, and where the text begins or ends
    /// among these.
    fn name(&self, text: &[u8], start: usize, end: usize) -> Name {
        let (from, to) = (start.saturating_sub(BEHIND), (end + AHEAD).min(text.len()));
        let (one, other) = self.universal(text.get(from..to).unwrap_or_default());
        let mut hasher = Sha256::new();
        hasher.update(one.to_le_bytes());
        hasher.update(other.to_le_bytes());
        for length in [start - from, end - start, to - end] {
            // None is longer than a part.
            hasher.update((length as u32).to_le_bytes());
        }
        let hash = hasher.finalize();
        let word = |place: usize| {
            let bytes = hash.get(place * 8..).and_then(<[u8]>::first_chunk::<8>).copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        Name([word(0), word(1)])
    }

    /// NH of words of 64 bits, twice with a shifted key: each of them takes two different texts of the same length
    /// for one with a chance of 2⁻⁶⁴.
    fn universal(&self, bytes: &[u8]) -> (u128, u128) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        let mut last = [0; 16];
        last.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
        let (mut one, mut other) = (0_u128, 0_u128);
        let mut add = |block: &[u8; 16], key: &[u64; 4]| {
            let block = u128::from_le_bytes(*block);
            let (low, high) = (block as u64, (block >> 64) as u64);
            let product =
                |first: u64, second: u64| u128::from(low.wrapping_add(first)) * u128::from(high.wrapping_add(second));
            one = one.wrapping_add(product(key[0], key[1]));
            other = other.wrapping_add(product(key[2], key[3]));
        };
        let mut keys = self.key.as_slice();
        for block in blocks {
            let Some(key) = keys.first_chunk::<4>() else { break };
            add(block, key);
            keys = keys.get(2..).unwrap_or_default();
        }
        if let Some(key) = keys.first_chunk::<4>() {
            add(&last, key);
        }
        (one, other)
    }
}

/// Where a part ends: behind a line that its last bytes say so of, about each eighth.
fn end_of(text: &[u8], feeds: &Feeds, start: usize) -> usize {
    let most = (start + MOST).min(text.len());
    if most < start + LEAST {
        return text.len();
    }
    for feed in feeds.between(start + LEAST, most) {
        let last = text.get(..=feed).and_then(<[u8]>::last_chunk::<8>).copied().unwrap_or_default();
        if u64::from_le_bytes(last).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61 == 0 {
            return feed + 1;
        }
    }
    most
}

/// The first and the last keyword of each rule, told from a part's start: what stands between them changes nothing.
/// `None` when they are too many.
fn ends_of_each(opened: &[(usize, u16)], start: usize) -> Option<Vec<Opened>> {
    let mut ends: Vec<Opened> = Vec::new();
    let mut by_rule: Vec<Opened> =
        opened.iter().map(|&(at, rule)| Some((rule, u16::try_from(at - start).ok()?))).collect::<Option<_>>()?;
    by_rule.sort_unstable();
    for same in by_rule.chunk_by(|one, other| one.0 == other.0) {
        ends.extend(same.first());
        ends.extend(same.last().filter(|_| same.len() > 1));
    }
    (ends.len() <= MOST_OPENED).then_some(ends)
}

/// The spans of the parts that are not known, those that touch made one.
pub(super) fn unknown(parts: &[Part], spans: &mut Vec<Span>) {
    spans.clear();
    for part in parts.iter().filter(|part| part.known.is_none()) {
        match spans.last_mut() {
            Some(last) if last.1 == part.start => last.1 = part.end,
            _ => spans.push((part.start, part.end)),
        }
    }
}
