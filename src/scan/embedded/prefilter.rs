//! Where the keywords of all rules occur, in one pass.
//!
//! Promise: every occurrence of every pattern is reported (ignoring ASCII case), overlapping ones too,
//! in the order of their places.
//!
//! Each place is judged by three bytes: they are hashed into a table of 65,536 bits in which the
//! beginnings of all patterns are set, and only where the bit is set the patterns are compared. The
//! table is made in microseconds, fits the first cache and has no chain of dependent loads, which is
//! what an automaton spends its time on.

use super::class::ByteSet;

/// A pattern that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    /// In lower case; at least two bytes.
    pub(super) text: Vec<u8>,
    /// Which bytes can follow a needle of two bytes; others are not reported. Ignored for longer ones.
    pub(super) follow: ByteSet,
}

/// The shortest needle.
pub(super) const SHORTEST: usize = 2;

const TABLE_WORDS: usize = 1024;
const BUCKETS: usize = 1024;

/// Needles, ready to be looked for.
#[derive(Debug)]
pub(super) struct Prefilter {
    table: Box<[u64; TABLE_WORDS]>,
    /// Where each bucket's entries begin; one more at the end.
    bucket_starts: Box<[u16]>,
    entries: Vec<Entry>,
    needles: Vec<Needle>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u16,
    needle: u16,
}

impl Prefilter {
    /// At most 65,535 needles; more would not be told apart, so the rest is refused by returning `None`.
    pub(super) fn new(needles: Vec<Needle>) -> Option<Self> {
        let mut table = Box::new([0_u64; TABLE_WORDS]);
        let mut entries: Vec<Entry> = Vec::with_capacity(needles.len());
        for (place, needle) in needles.iter().enumerate() {
            let place = u16::try_from(place).ok()?;
            let mut add = |third: u8| {
                let (Some(&first), Some(&second)) = (needle.text.first(), needle.text.get(1)) else { return };
                let hash = hash(u32::from_le_bytes([first, second, third, 0]));
                if let Some(word) = table.get_mut(usize::from(hash >> 6)) {
                    *word |= 1 << (hash & 63);
                }
                entries.push(Entry { hash, needle: place });
            };
            match needle.text.get(2) {
                Some(&third) => add(third),
                // Case is ignored by the hash, so half of the bytes are enough.
                None => needle
                    .follow
                    .iter()
                    .filter(|byte| byte & 0x20 != 0 || !needle.follow.contains(byte | 0x20))
                    .for_each(add),
            }
        }
        entries.sort_unstable_by_key(|entry| (bucket(entry.hash), entry.hash, entry.needle));
        entries.dedup_by_key(|entry| (entry.hash, entry.needle));
        let mut bucket_starts = vec![0_u16; BUCKETS + 1];
        for entry in &entries {
            let slot = bucket_starts.get_mut(bucket(entry.hash) + 1)?;
            *slot = slot.checked_add(1)?;
        }
        let mut so_far = 0_u16;
        for start in &mut bucket_starts {
            so_far = so_far.checked_add(*start)?;
            *start = so_far;
        }
        Some(Self { table, bucket_starts: bucket_starts.into_boxed_slice(), entries, needles })
    }

    /// The length of a needle in bytes.
    pub(super) fn length(&self, needle: usize) -> usize {
        self.needles.get(needle).map_or(0, |needle| needle.text.len())
    }

    /// Reports every occurrence that begins in `text[from..to]`, with the needle's number.
    pub(super) fn scan(&self, text: &[u8], from: usize, to: usize, report: &mut impl FnMut(usize, usize)) {
        let to = to.min(text.len());
        let mut at = from;
        // Eight bytes are loaded for four places, of which the last needs three.
        while let Some(eight) = text.get(at..at + 8).filter(|_| at + 4 <= to) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(eight);
            let word = u64::from_le_bytes(bytes);
            if self.bit(word) | self.bit(word >> 8) | self.bit(word >> 16) | self.bit(word >> 24) != 0 {
                for place in 0..4 {
                    if self.bit(word >> (8 * place)) != 0 {
                        self.verify(text, at + place, low(word >> (8 * place)), report);
                    }
                }
            }
            at += 4;
        }
        while at < to {
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(text.get(at..).unwrap_or_default()).for_each(|(slot, &byte)| *slot = byte);
            self.verify(text, at, u32::from_le_bytes(bytes), report);
            // A needle of two bytes at the very end of the text has no third one.
            if at + 2 == text.len() {
                self.verify_at_end(text, at, report);
            }
            at += 1;
        }
    }

    #[inline(always)]
    fn bit(&self, word: u64) -> u64 {
        let hash = hash(low(word));
        self.table[usize::from(hash >> 6) & (TABLE_WORDS - 1)] >> (hash & 63) & 1
    }

    fn verify(&self, text: &[u8], at: usize, beginning: u32, report: &mut impl FnMut(usize, usize)) {
        let hash = hash(beginning);
        let bucket = bucket(hash);
        let (Some(&start), Some(&end)) = (self.bucket_starts.get(bucket), self.bucket_starts.get(bucket + 1)) else {
            return;
        };
        for entry in self.entries.get(usize::from(start)..usize::from(end)).unwrap_or_default() {
            if entry.hash == hash && self.stands_at(text, at, usize::from(entry.needle)) {
                report(at, usize::from(entry.needle));
            }
        }
    }

    fn stands_at(&self, text: &[u8], at: usize, needle: usize) -> bool {
        let Some(needle) = self.needles.get(needle) else { return false };
        let there = text.get(at..at + needle.text.len()).is_some_and(|there| there.eq_ignore_ascii_case(&needle.text));
        // The hash of a needle of two bytes holds the byte behind it.
        there && (needle.text.len() > 2 || text.get(at + 2).is_some_and(|&byte| needle.follow.contains(byte)))
    }

    fn verify_at_end(&self, text: &[u8], at: usize, report: &mut impl FnMut(usize, usize)) {
        let short =
            self.needles.iter().enumerate().filter(|(_, needle)| needle.text.len() == 2 && needle.follow.is_all());
        for (place, needle) in short {
            if text.get(at..).is_some_and(|there| there.eq_ignore_ascii_case(&needle.text)) {
                report(at, place);
            }
        }
    }
}

/// The first three bytes, letter case taken off (and some other pairs of characters made one).
#[inline(always)]
fn low(word: u64) -> u32 {
    (word & 0xFF_FFFF) as u32
}

#[inline(always)]
fn hash(three: u32) -> u16 {
    ((((three & 0xFF_FFFF) | 0x20_2020).wrapping_mul(0x9E37_79B1)) >> 16) as u16
}

fn bucket(hash: u16) -> usize {
    usize::from(hash) % BUCKETS
}
