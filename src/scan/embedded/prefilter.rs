//! Where the keywords of all rules occur, in one pass.
//!
//! Promise: every occurrence of every pattern is reported (ignoring ASCII case), overlapping ones too,
//! in the order of their places.
//!
//! Needles of two bytes are looked up in a table of all pairs. For the others each place is judged by four bytes: they are hashed into a table of 262,144 bits in which the
//! beginnings of all patterns are marked, and only where there is a mark the patterns are compared. The
//! table is made in microseconds, fits the first cache and has no chain of dependent loads, which is
//! what an automaton spends its time on.

use super::class::ByteSet;

/// A pattern that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    /// In lower case; at least two bytes.
    pub(super) text: Vec<u8>,
    /// Which bytes can follow a needle of two or three bytes; others need not be reported. Ignored for
    /// longer ones.
    pub(super) follow: ByteSet,
}

/// The shortest needle.
pub(super) const SHORTEST: usize = 2;

/// Bytes of the table.
const TABLE: usize = 1 << 15;
/// Bytes of the table of pairs.
const PAIRS: usize = 1 << 13;
const BUCKETS: usize = 4096;
/// A bit that tells capital letters from small ones, in every byte.
const CASE: u64 = 0x2020_2020_2020_2020;

/// Needles, ready to be looked for.
#[derive(Debug)]
pub(super) struct Prefilter {
    table: Box<[u8; TABLE]>,
    /// A bit for each pair of bytes.
    pairs: Option<Box<[u8; PAIRS]>>,
    /// Where each bucket's entries begin; one more at the end.
    bucket_starts: Box<[u16]>,
    entries: Vec<Entry>,
    needles: Vec<Needle>,
}

/// The beginning of a needle, case taken off, of which `mask` bytes count.
#[derive(Clone, Copy, Debug)]
struct Entry {
    beginning: u64,
    mask: u64,
    needle: u16,
}

impl Prefilter {
    /// `None` when there are more needles than 65,535, or too many beginnings of them.
    pub(super) fn new(needles: Vec<Needle>) -> Option<Self> {
        let mut table = Box::new([0_u8; TABLE]);
        let mut pairs: Option<Box<[u8; PAIRS]>> = None;
        let mut entries: Vec<Entry> = Vec::with_capacity(needles.len());
        for (place, needle) in needles.iter().enumerate() {
            let place = u16::try_from(place).ok()?;
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(&needle.text).for_each(|(slot, &byte)| *slot = byte);
            let mask = if needle.text.len() < 8 { (1 << (8 * needle.text.len())) - 1 } else { u64::MAX };
            let beginning = (u64::from_le_bytes(bytes) | CASE) & mask;
            match needle.text.len() {
                0 | 1 => return None,
                2 => {
                    let pairs = pairs.get_or_insert_with(|| Box::new([0; PAIRS]));
                    let (slot, bit) = pair_of(beginning);
                    *pairs.get_mut(slot)? |= bit;
                }
                // What can follow it decides with it.
                3 => needle.follow.iter().for_each(|fourth| {
                    let (slot, bit) = place_of(beginning | u64::from(fourth | 0x20) << 24);
                    table[slot & (TABLE - 1)] |= bit;
                }),
                _ => {
                    let (slot, bit) = place_of(beginning);
                    table[slot & (TABLE - 1)] |= bit;
                }
            }
            entries.push(Entry { beginning, mask, needle: place });
        }
        let bucket_of = |entry: &Entry| match entry.mask {
            0xFFFF => bucket(entry.beginning & 0xFFFF),
            _ => bucket(entry.beginning & 0xFF_FFFF),
        };
        entries.sort_unstable_by_key(|entry| (bucket_of(entry), entry.needle));
        let mut bucket_starts = vec![0_u16; BUCKETS + 1];
        for entry in &entries {
            let slot = bucket_starts.get_mut(bucket_of(entry) + 1)?;
            *slot = slot.checked_add(1)?;
        }
        let mut so_far = 0_u16;
        for start in &mut bucket_starts {
            so_far = so_far.checked_add(*start)?;
            *start = so_far;
        }
        Some(Self { table, pairs, bucket_starts: bucket_starts.into_boxed_slice(), entries, needles })
    }

    /// The length of a needle in bytes.
    pub(super) fn length(&self, needle: usize) -> usize {
        self.needles.get(needle).map_or(0, |needle| needle.text.len())
    }

    /// The length of the longest needle in bytes.
    pub(super) fn longest(&self) -> usize {
        self.needles.iter().map(|needle| needle.text.len()).max().unwrap_or(0)
    }

    /// Reports every occurrence in a text, with the needle's number.
    pub(super) fn scan(&self, text: &[u8], report: &mut impl FnMut(usize, usize)) {
        match &self.pairs {
            Some(pairs) => self.scan_with(text, |word| pairs[pair_of(word).0 & (PAIRS - 1)] & pair_of(word).1, report),
            None => self.scan_with(text, |_| 0, report),
        }
    }

    #[inline(always)]
    fn scan_with(&self, text: &[u8], is_pair: impl Fn(u64) -> u8, report: &mut impl FnMut(usize, usize)) {
        let is_beginning = |word: u64| {
            let (slot, bit) = place_of(word);
            (self.table[slot & (TABLE - 1)] & bit) | is_pair(word)
        };
        let mut at = 0;
        // Eight bytes are loaded for five places, of which each needs four.
        while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*eight) | CASE;
            let some = is_beginning(word)
                | is_beginning(word >> 8)
                | is_beginning(word >> 16)
                | is_beginning(word >> 24)
                | is_beginning(word >> 32);
            if some != 0 {
                for place in 0..5 {
                    let here = word >> (8 * place);
                    if is_beginning(here) != 0 {
                        self.verify(text, at + place, is_pair(here) != 0, report);
                    }
                }
            }
            at += 5;
        }
        while at + SHORTEST <= text.len() {
            self.verify(text, at, true, report);
            at += 1;
        }
    }

    #[inline]
    fn verify(&self, text: &[u8], at: usize, with_pairs: bool, report: &mut impl FnMut(usize, usize)) {
        let rest = text.get(at..).unwrap_or_default();
        let bytes = rest.first_chunk::<8>().copied().unwrap_or_else(|| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
            bytes
        });
        let word = u64::from_le_bytes(bytes) | CASE;
        if with_pairs {
            self.verify_in(bucket(word & 0xFFFF), text, at, word, report);
        }
        self.verify_in(bucket(word & 0xFF_FFFF), text, at, word, report);
    }

    #[inline]
    fn verify_in(&self, bucket: usize, text: &[u8], at: usize, word: u64, report: &mut impl FnMut(usize, usize)) {
        let (Some(&start), Some(&end)) = (self.bucket_starts.get(bucket), self.bucket_starts.get(bucket + 1)) else {
            return;
        };
        for entry in self.entries.get(usize::from(start)..usize::from(end)).unwrap_or_default() {
            if word & entry.mask == entry.beginning && self.stands_at(text, at, usize::from(entry.needle)) {
                report(at, usize::from(entry.needle));
            }
        }
    }

    #[inline]
    fn stands_at(&self, text: &[u8], at: usize, needle: usize) -> bool {
        let Some(needle) = self.needles.get(needle) else { return false };
        text.get(at..at + needle.text.len()).is_some_and(|there| there.eq_ignore_ascii_case(&needle.text))
    }
}

/// Byte and bit of the table of pairs for two bytes of which case is taken off already.
#[inline(always)]
fn pair_of(word: u64) -> (usize, u8) {
    ((word & 0xFFFF) as usize >> 3, 1 << (word & 7))
}

/// Byte and bit of the table for four bytes of which case is taken off already.
#[inline(always)]
fn place_of(word: u64) -> (usize, u8) {
    let hash = ((word & 0xFFFF_FFFF) as u32).wrapping_mul(0x9E37_79B1) >> 14;
    ((hash >> 3) as usize, 1 << (hash & 7))
}

/// The bucket of two or three bytes of which case is taken off already.
#[inline]
fn bucket(beginning: u64) -> usize {
    ((beginning as u32).wrapping_mul(0x85EB_CA6B) >> 20) as usize % BUCKETS
}
