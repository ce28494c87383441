//! Where the keywords of all rules occur, in one pass.
//!
//! Promise: every occurrence of every pattern is reported (ignoring ASCII case), overlapping ones too, and
//! no later than [`FARTHEST`] bytes behind the place of another that was reported before it.
//!
//! Each place is judged by four bytes: they are hashed into a table of 262,144 bits in which four bytes of
//! every pattern are marked, and only where there is a mark the patterns are compared. Of a longer pattern
//! those four are marked which are rarest in texts, since beginnings are mostly those of plain words.
//! Patterns of three bytes have a table of their own: with all that could follow them they would fill
//! the other one. The table is made in microseconds, fits the first cache and has no chain of dependent loads, which is
//! what an automaton spends its time on.

use std::borrow::Cow;

use super::class::ByteSet;

/// A pattern that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    /// In lower case; at least two bytes.
    pub(super) text: Cow<'static, [u8]>,
    /// Which bytes can follow a needle of two or three bytes; others need not be reported. Ignored for
    /// longer ones.
    pub(super) follow: ByteSet,
    /// Whether two of these follow at least.
    pub(super) twice: bool,
    /// Where the bytes begin by which it is found.
    pub(super) rarest: usize,
}

impl Needle {
    pub(super) fn new(text: Cow<'static, [u8]>, follow: ByteSet, twice: bool) -> Self {
        let rarest = rarest(&text);
        Self { text, follow, twice, rarest }
    }
}

/// The shortest needle.
pub(super) const SHORTEST: usize = 2;
/// How far into a needle the bytes by which it is found can begin.
pub(super) const FARTHEST: usize = 24;

/// Bytes of the table.
const TABLE: usize = 1 << 15;
/// So many bytes are looked at a second time where four of them are marked.
const SECOND: usize = 6;
/// Bytes of the table of three bytes.
const THREES: usize = 1 << 13;
/// Bytes of the table of pairs.
const PAIRS: usize = 1 << 13;
/// A needle of three bytes is marked together with what follows when that are at most so many bytes.
const MOST_FOLLOWING: usize = 12;
const BUCKETS: usize = 4096;
/// A bit that tells capital letters from small ones, in every byte.
const CASE: u64 = 0x2020_2020_2020_2020;

/// Needles, ready to be looked for.
#[derive(Debug)]
pub(super) struct Prefilter {
    table: Box<[u8; TABLE]>,
    /// What four marked bytes must go on with: a bit for each six bytes of a needle, and one for each four
    /// where there are no six.
    second: Box<[[u8; TABLE]; 2]>,
    /// A bit for each needle of three bytes which almost anything can follow.
    threes: Option<Box<[u8; THREES]>>,
    /// A bit for each pair of bytes that is a needle which anything can follow.
    pairs: Option<Box<[u8; PAIRS]>>,
    /// Whether there are needles of two and of three bytes.
    has: [bool; 2],
    /// Where each bucket's entries begin; one more at the end.
    bucket_starts: Box<[u16]>,
    entries: Vec<Entry>,
    needles: Vec<Needle>,
}

/// Bytes of a needle, case taken off, of which `mask` bytes count.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u32,
    mask: u32,
    needle: u16,
    /// Where in the needle they stand.
    offset: u8,
}

impl Entry {
    fn bucket(&self) -> usize {
        bucket(self.bytes & self.mask)
    }
}

impl Prefilter {
    /// `None` when there are more needles than 65,535, or too many beginnings of them.
    pub(super) fn new(needles: Vec<Needle>) -> Option<Self> {
        let mut table = Box::new([0_u8; TABLE]);
        let mut pairs: Option<Box<[u8; PAIRS]>> = None;
        let mut threes: Option<Box<[u8; THREES]>> = None;
        let mut entries: Vec<Entry> = Vec::with_capacity(needles.len());
        let mut second = Box::new([[0_u8; TABLE]; 2]);
        let mut mark = |bytes: u32, six: Option<u64>| {
            let (slot, bit) = place_of(u64::from(bytes));
            table[slot & (TABLE - 1)] |= bit;
            let (which, (slot, bit)) = six.map_or((1, (slot, bit)), |six| (0, second_of(six)));
            second[which][slot & (TABLE - 1)] |= bit;
        };
        for (place, needle) in needles.iter().enumerate() {
            let offset = needle.rarest;
            let four = needle.text.get(offset..)?;
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(four).for_each(|(slot, &byte)| *slot = byte | 0x20);
            let bytes = u32::from_le_bytes(bytes);
            let follow = || needle.follow.iter().map(|byte| u32::from(byte | 0x20));
            let mask = match needle.text.len() {
                0 | 1 => return None,
                // What can follow it decides with it.
                2 if needle.twice && !needle.follow.is_all() => {
                    follow().for_each(|third| {
                        follow().for_each(|fourth| mark(bytes | third << 16 | fourth << 24, None));
                    });
                    0xFFFF
                }
                2 => {
                    let pairs = pairs.get_or_insert_with(|| Box::new([0; PAIRS]));
                    let (slot, bit) = pair_of(u64::from(bytes));
                    *pairs.get_mut(slot)? |= bit;
                    0xFFFF
                }
                3 if needle.follow.iter().count() > MOST_FOLLOWING => {
                    let threes = threes.get_or_insert_with(|| Box::new([0; THREES]));
                    let (slot, bit) = three_of(u64::from(bytes));
                    *threes.get_mut(slot)? |= bit;
                    0xFF_FFFF
                }
                3 => {
                    follow().for_each(|fourth| mark(bytes | fourth << 24, None));
                    0xFF_FFFF
                }
                _ => {
                    let mut six = [0; 8];
                    let whole = four.get(..SECOND).map(|bytes| {
                        six.iter_mut().zip(bytes).for_each(|(slot, &byte)| *slot = byte | 0x20);
                        u64::from_le_bytes(six)
                    });
                    mark(bytes, whole);
                    u32::MAX
                }
            };
            let (needle, offset) = (u16::try_from(place).ok()?, u8::try_from(offset).ok()?);
            entries.push(Entry { bytes, mask, needle, offset });
        }
        entries.sort_unstable_by_key(|entry| (entry.bucket(), entry.needle));
        let mut bucket_starts = vec![0_u16; BUCKETS + 1];
        for entry in &entries {
            let slot = bucket_starts.get_mut(entry.bucket() + 1)?;
            *slot = slot.checked_add(1)?;
        }
        let mut so_far = 0_u16;
        for start in &mut bucket_starts {
            so_far = so_far.checked_add(*start)?;
            *start = so_far;
        }
        let has = [0xFFFF, 0xFF_FFFF].map(|mask| entries.iter().any(|entry| entry.mask == mask));
        Some(Self {
            table,
            second,
            threes,
            pairs,
            has,
            bucket_starts: bucket_starts.into_boxed_slice(),
            entries,
            needles,
        })
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
        let pair = |pairs: &[u8; PAIRS], word: u64| pairs[pair_of(word).0 & (PAIRS - 1)] & pair_of(word).1;
        let three = |threes: &[u8; THREES], word: u64| threes[three_of(word).0 & (THREES - 1)] & three_of(word).1;
        match (&self.threes, &self.pairs) {
            (None, None) => self.scan_with(text, |_| 0, report),
            (Some(threes), None) => self.scan_with(text, |word| three(threes, word), report),
            (None, Some(pairs)) => self.scan_with(text, |word| pair(pairs, word), report),
            (Some(threes), Some(pairs)) => {
                self.scan_with(text, |word| pair(pairs, word) | three(threes, word), report);
            }
        }
    }

    #[inline(always)]
    fn scan_with(&self, text: &[u8], is_short: impl Fn(u64) -> u8, report: &mut impl FnMut(usize, usize)) {
        let goes_on = |at: usize, four: u64| {
            let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) else { return true };
            let (slot, bit) = second_of(u64::from_le_bytes(*eight) | CASE);
            let (brief, brief_bit) = place_of(four);
            let [longer, short] = &*self.second;
            (longer[slot & (TABLE - 1)] & bit) | (short[brief & (TABLE - 1)] & brief_bit) | is_short(four) != 0
        };
        let is_beginning = |word: u64| {
            let (slot, bit) = place_of(word);
            (self.table[slot & (TABLE - 1)] & bit) | is_short(word)
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
                    if is_beginning(here) != 0 && goes_on(at + place, here) {
                        self.verify(text, at + place, report);
                    }
                }
            }
            at += 5;
        }
        while at + SHORTEST <= text.len() {
            self.verify(text, at, report);
            at += 1;
        }
    }

    // Few places come to this: the loop that leads here keeps its registers.
    #[inline(never)]
    fn verify(&self, text: &[u8], at: usize, report: &mut impl FnMut(usize, usize)) {
        let rest = text.get(at..).unwrap_or_default();
        let bytes = rest.first_chunk::<4>().copied().unwrap_or_else(|| {
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
            bytes
        });
        let word = u32::from_le_bytes(bytes) | CASE as u32;
        let [pairs, threes] = self.has;
        for (mask, is_wanted) in [(u32::MAX, true), (0xFF_FFFF, threes), (0xFFFF, pairs)] {
            if !is_wanted {
                continue;
            }
            for entry in self.bucket(word & mask) {
                if entry.mask == mask && word & mask == entry.bytes & mask {
                    self.compare(text, at, *entry, report);
                }
            }
        }
    }

    #[inline]
    fn bucket(&self, bytes: u32) -> &[Entry] {
        let bucket = bucket(bytes);
        match (self.bucket_starts.get(bucket), self.bucket_starts.get(bucket + 1)) {
            (Some(&start), Some(&end)) => self.entries.get(usize::from(start)..usize::from(end)).unwrap_or_default(),
            _ => &[],
        }
    }

    #[inline(never)]
    fn compare(&self, text: &[u8], at: usize, entry: Entry, report: &mut impl FnMut(usize, usize)) {
        if let Some(begin) = at.checked_sub(usize::from(entry.offset))
            && self.stands_at(text, begin, usize::from(entry.needle))
        {
            report(begin, usize::from(entry.needle));
        }
    }

    #[inline]
    fn stands_at(&self, text: &[u8], at: usize, needle: usize) -> bool {
        let Some(needle) = self.needles.get(needle) else { return false };
        text.get(at..at + needle.text.len()).is_some_and(|there| there.eq_ignore_ascii_case(&needle.text))
    }
}

/// Where in a text the four bytes begin that are rarest in others.
fn rarest(text: &[u8]) -> usize {
    let needed = if text.len() < SECOND { 4 } else { SECOND };
    let last = text.len().saturating_sub(needed).min(FARTHEST);
    let cost = |offset: usize| -> u32 {
        let four = text.get(offset..offset + 4).unwrap_or_default();
        let pairs = four.windows(2).map(|pair| match *pair {
            [one, other] => commonness(one) + commonness(other) + habit(one, other),
            _ => 0,
        });
        pairs.sum()
    };
    (0..=last).min_by_key(|&offset| cost(offset)).unwrap_or(0)
}

/// How common a byte is in source and prose, roughly in the logarithm.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b'e' | b' ' => 12,
        b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 11,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' => 9,
        b'f' | b'h' | b'g' | b'b' | b'_' | b'0' | b'1' | b'.' | b'/' => 8,
        b'y' | b'w' | b'v' | b'k' | b'-' | b'"' | b'=' | b':' | b'2'..=b'9' => 6,
        b'x' => 4,
        b'j' | b'q' | b'z' => 2,
        _ => 5,
    }
}

/// What pairs of letters that often follow each other add.
fn habit(one: u8, other: u8) -> u32 {
    const HABITS: &[u8] = b"thheinerreonanatenesstedntoresartiitiscoarseleteconsmefoliiolaelcaceecurstdeprrorimatr";
    let pair = [one.to_ascii_lowercase(), other.to_ascii_lowercase()];
    if HABITS.chunks_exact(2).any(|habit| habit == pair) { 5 } else { 0 }
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

/// Byte and bit of the table of six bytes of which case is taken off already.
#[inline(always)]
fn second_of(word: u64) -> (usize, u8) {
    let hash = (word << 16).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 46;
    ((hash >> 3) as usize, 1 << (hash & 7))
}

/// Byte and bit of the table of three bytes of which case is taken off already.
#[inline(always)]
fn three_of(word: u64) -> (usize, u8) {
    let hash = ((word & 0xFF_FFFF) as u32).wrapping_mul(0xC2B2_AE35) >> 16;
    ((hash >> 3) as usize, 1 << (hash & 7))
}

/// The bucket of some bytes of which case is taken off already.
#[inline(always)]
fn bucket(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x85EB_CA6B) >> 20) as usize % BUCKETS
}
