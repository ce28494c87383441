//! Where the keywords of all rules occur, in one pass.
//!
//! Promise: every occurrence of every pattern is reported (ignoring ASCII case), overlapping ones too,
//! in the order of their places.
//!
//! Each place is judged by three bytes: they are hashed into a table of 32 KiB in which the beginnings
//! of all patterns are marked, and only where there is a mark the patterns are compared. The
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

/// One byte each: a bit would need two more steps for each place of the text.
const TABLE: usize = 1 << 15;
const BUCKETS: usize = 1024;
/// A bit that tells capital letters from small ones, in every byte.
const CASE: u64 = 0x2020_2020_2020_2020;

/// Needles, ready to be looked for.
#[derive(Debug)]
pub(super) struct Prefilter {
    table: Box<[u8; TABLE]>,
    /// Where each bucket's entries begin; one more at the end.
    bucket_starts: Box<[u16]>,
    entries: Vec<Entry>,
    needles: Vec<Needle>,
}

/// The beginning of a needle, case taken off, of which `mask` bytes count.
#[derive(Clone, Copy, Debug)]
struct Entry {
    beginning: u32,
    mask: u32,
    needle: u16,
}

impl Prefilter {
    /// `None` when there are more needles than 65,535, or too many beginnings of them.
    pub(super) fn new(needles: Vec<Needle>) -> Option<Self> {
        let mut table = Box::new([0_u8; TABLE]);
        let mut entries: Vec<Entry> = Vec::with_capacity(needles.len());
        for (place, needle) in needles.iter().enumerate() {
            let needle_place = u16::try_from(place).ok()?;
            let (first, second) = (*needle.text.first()?, *needle.text.get(1)?);
            let mut add = |third: u8, fourth: Option<u8>| {
                let bytes = [first, second, third, fourth.unwrap_or(0)];
                let mask = if fourth.is_some() { u32::MAX } else { 0xFF_FFFF };
                let beginning = (u32::from_le_bytes(bytes) | 0x2020_2020) & mask;
                if let Some(slot) = table.get_mut(hash(u64::from(beginning) | CASE)) {
                    *slot = 1;
                }
                entries.push(Entry { beginning, mask, needle: needle_place });
            };
            match needle.text.get(2) {
                Some(&third) => add(third, needle.text.get(3).copied()),
                // Case is taken off, so half of the bytes are enough.
                None => needle
                    .follow
                    .iter()
                    .filter(|byte| byte & 0x20 != 0 || !needle.follow.contains(byte | 0x20))
                    .for_each(|third| add(third, None)),
            }
        }
        let bucket_of = |entry: &Entry| hash(u64::from(entry.beginning) | CASE) % BUCKETS;
        entries.sort_unstable_by_key(|entry| (bucket_of(entry), entry.needle, entry.beginning));
        entries.dedup_by_key(|entry| (entry.beginning, entry.mask, entry.needle));
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
        Some(Self { table, bucket_starts: bucket_starts.into_boxed_slice(), entries, needles })
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
        let mut at = 0;
        // Eight bytes are loaded for five places, of which each needs four.
        while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*eight) | CASE;
            let some = self.is_beginning(word)
                | self.is_beginning(word >> 8)
                | self.is_beginning(word >> 16)
                | self.is_beginning(word >> 24)
                | self.is_beginning(word >> 32);
            if some != 0 {
                for place in 0..5 {
                    let here = word >> (8 * place);
                    if self.is_beginning(here) != 0 {
                        self.verify(text, at + place, here, report);
                    }
                }
            }
            at += 5;
        }
        while let Some(rest) = text.get(at..).filter(|rest| rest.len() >= SHORTEST) {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
            self.verify(text, at, u64::from_le_bytes(bytes) | CASE, report);
            // A needle of two bytes at the very end of the text has nothing behind it.
            if rest.len() == SHORTEST {
                self.verify_at_end(text, at, report);
            }
            at += 1;
        }
    }

    #[inline(always)]
    fn is_beginning(&self, word: u64) -> u8 {
        self.table[hash(word) & (TABLE - 1)]
    }

    #[inline]
    fn verify(&self, text: &[u8], at: usize, word: u64, report: &mut impl FnMut(usize, usize)) {
        let bucket = hash(word) % BUCKETS;
        let (Some(&start), Some(&end)) = (self.bucket_starts.get(bucket), self.bucket_starts.get(bucket + 1)) else {
            return;
        };
        let beginning = (word & 0xFFFF_FFFF) as u32;
        for entry in self.entries.get(usize::from(start)..usize::from(end)).unwrap_or_default() {
            if beginning & entry.mask == entry.beginning && self.stands_at(text, at, usize::from(entry.needle)) {
                report(at, usize::from(entry.needle));
            }
        }
    }

    #[inline]
    fn stands_at(&self, text: &[u8], at: usize, needle: usize) -> bool {
        let Some(needle) = self.needles.get(needle) else { return false };
        let there = text.get(at..at + needle.text.len()).is_some_and(|there| there.eq_ignore_ascii_case(&needle.text));
        // What was found of a needle of two bytes holds the byte behind it.
        there && (needle.text.len() > 2 || text.get(at + 2).is_some_and(|&byte| needle.follow.contains(byte)))
    }

    #[cold]
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

/// A number below [`TABLE`] from three bytes of which case is taken off already.
#[inline(always)]
fn hash(word: u64) -> usize {
    let three = (word & 0xFF_FFFF) as u32;
    (three.wrapping_mul(0x9E37_79B1) >> 17) as usize
}
