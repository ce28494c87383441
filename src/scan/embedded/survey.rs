//! What a text is made of, in one pass: where its lines end, and its long runs of value characters.
//!
//! Promise: both are exact. Sixty-four bytes are judged at once, without a branch.

use std::cell::OnceCell;
use std::rc::Rc;

use super::matcher::Span;
use super::runs::{LONG_RUN, is_ascii_value, is_value};

/// So many bytes are judged at once.
const BLOCK: usize = 64;

/// Where lines end, and long runs.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) feeds: Rc<Feeds>,
    /// Every longest run of at least [`LONG_RUN`] value characters, in order.
    pub(super) runs: Vec<Span>,
}

impl Survey {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut feeds = Vec::with_capacity(text.len().div_ceil(BLOCK));
        let mut runs = Runs { found: Vec::new(), begin: 0 };
        blocks(text, |at, block| {
            let bits = Bits::of(block);
            feeds.push(bits.feeds);
            runs.go_on(at, bits.values);
        });
        runs.end(text.len());
        Self { feeds: Rc::new(Feeds { bits: feeds, counts: OnceCell::new() }), runs: runs.found }
    }
}

/// Every block of a text with its place, the last one filled up with zeros.
fn blocks(text: &[u8], mut each: impl FnMut(usize, &[u8; BLOCK])) {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for (place, block) in blocks.iter().enumerate() {
        each(place * BLOCK, block);
    }
    if !rest.is_empty() {
        let mut last = [0; BLOCK];
        last.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
        each(text.len() - rest.len(), &last);
    }
}

/// Runs that are found from left to right.
struct Runs {
    found: Vec<Span>,
    /// Where the run begins that has not ended.
    begin: usize,
}

impl Runs {
    /// The next block, of which these bytes are value characters.
    #[inline(always)]
    fn go_on(&mut self, at: usize, values: u64) {
        if values == u64::MAX {
            return;
        }
        let (front, back) = (values.trailing_ones(), values.leading_ones());
        self.end(at + front as usize);
        self.begin = at + BLOCK - back as usize;
        let mut inside = values & (u64::MAX << front) & (u64::MAX >> back);
        let mut sixteen = inside & inside >> 1;
        sixteen &= sixteen >> 2;
        sixteen &= sixteen >> 4;
        sixteen &= sixteen >> 8;
        while sixteen != 0 {
            let start = sixteen.trailing_zeros();
            let length = (inside >> start).trailing_ones();
            self.found.push((at + start as usize, at + (start + length) as usize));
            // What is left begins behind it.
            let gone = u64::MAX.checked_shl(start + length).unwrap_or(0);
            (inside, sixteen) = (inside & gone, sixteen & gone);
        }
    }

    fn end(&mut self, end: usize) {
        // What fills up the last block is behind the end.
        if end >= self.begin + LONG_RUN {
            self.found.push((self.begin, end));
        }
        self.begin = end;
    }
}

const _: () = assert!(LONG_RUN == 16);

/// Where lines end in a text.
#[derive(Debug)]
pub(super) struct Feeds {
    /// A bit for each byte.
    bits: Vec<u64>,
    /// How many there are before each group of words, and in all.
    counts: OnceCell<Vec<usize>>,
}

/// Words of a group.
const GROUP: usize = 64;

impl Feeds {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut bits = Vec::with_capacity(text.len().div_ceil(BLOCK));
        blocks(text, |_, block| bits.push(Bits::of(block).feeds));
        Self { bits, counts: OnceCell::new() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    /// All from one place to another.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let first = start / BLOCK;
        let words = self.bits.get(first..end.div_ceil(BLOCK).min(self.bits.len())).unwrap_or_default();
        let mut mask = u64::MAX << (start % BLOCK);
        let all = words.iter().enumerate().flat_map(move |(at, &word)| {
            let mut word = word & std::mem::replace(&mut mask, u64::MAX);
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                word &= word.wrapping_sub(1);
                (bit < BLOCK).then_some((first + at) * BLOCK + bit)
            })
        });
        all.take_while(move |&feed| feed < end)
    }

    /// The first one from a place on.
    pub(super) fn next(&self, place: usize) -> Option<usize> {
        self.nth(self.count(place))
    }

    /// The last one before a place.
    pub(super) fn before(&self, place: usize) -> Option<usize> {
        self.nth(self.count(place).checked_sub(1)?)
    }

    /// How many there are before a place.
    pub(super) fn count(&self, place: usize) -> usize {
        let place = place.min(self.bits.len() * BLOCK);
        let (word, bit) = (place / BLOCK, place % BLOCK);
        let own = self.bits.get(word).map_or(0, |own| (own & !(u64::MAX << bit)).count_ones() as usize);
        let group = word / GROUP;
        let before = self.counts().get(group).copied().unwrap_or_default();
        before + ones(self.bits.get(group * GROUP..word).unwrap_or_default()) + own
    }

    /// The one before which there are so many.
    fn nth(&self, nth: usize) -> Option<usize> {
        let group = self.counts().partition_point(|&before| before <= nth).checked_sub(1)?;
        let mut left = nth - self.counts().get(group)?;
        for (at, &word) in self.bits.iter().enumerate().skip(group * GROUP).take(GROUP) {
            let own = word.count_ones() as usize;
            if left < own {
                let word = (0..left).fold(word, |word, _| word & word.wrapping_sub(1));
                return Some(at * BLOCK + word.trailing_zeros() as usize);
            }
            left -= own;
        }
        None
    }

    /// How many there are before each group, and in all.
    fn counts(&self) -> &[usize] {
        self.counts.get_or_init(|| {
            let mut counts = vec![0];
            let mut all = 0;
            for group in self.bits.chunks(GROUP) {
                all += ones(group);
                counts.push(all);
            }
            counts
        })
    }
}

fn ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// Of sixty-four bytes, which are what.
struct Bits {
    feeds: u64,
    values: u64,
}

impl Bits {
    #[inline(always)]
    fn of(block: &[u8; BLOCK]) -> Self {
        // Two bits for each byte, so written that compilers look at many bytes at once.
        let mut told = [0_u8; BLOCK];
        if block.is_ascii() {
            for place in 0..BLOCK {
                told[place] = u8::from(is_ascii_value(block[place])) | u8::from(block[place] == b'\n') << 1;
            }
        } else {
            for place in 0..BLOCK {
                told[place] = u8::from(is_value(block[place])) | u8::from(block[place] == b'\n') << 1;
            }
        }
        let mut bits = Self { feeds: 0, values: 0 };
        for (place, eight) in told.as_chunks::<8>().0.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            bits.values |= gathered(eight) << (place * 8);
            bits.feeds |= gathered(eight >> 1) << (place * 8);
        }
        bits
    }
}

/// The lowest bits of eight bytes.
#[inline(always)]
fn gathered(bytes: u64) -> u64 {
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of all lengths near a block's, of few kinds of bytes so that long runs are frequent.
    fn texts() -> Vec<Vec<u8>> {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let kinds: [&[u8]; 3] = [b"aaaaaaaaaaaaaaaaaaaaaaaa \n", b"aZ09-/_+=~:\xC5\xBF\xE2\x84\xAA", b"\n\n a"];
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(), (0..=255).collect(), (0..=255).rev().collect()];
        for length in (0..200).chain(4090..4200) {
            let kind = kinds[length % kinds.len()];
            texts.push((0..length).map(|_| kind[next() % kind.len()]).collect());
        }
        texts
    }

    #[test]
    fn survey_is_what_a_look_at_each_byte_gives() {
        for text in texts() {
            let mut runs = Vec::new();
            let mut begin = 0;
            for place in 0..=text.len() {
                if text.get(place).is_none_or(|&byte| !is_value(byte)) {
                    runs.extend((place - begin >= LONG_RUN).then_some((begin, place)));
                    begin = place + 1;
                }
            }
            let survey = Survey::of(&text);
            assert_eq!(survey.runs, runs, "{text:?}");
            let feeds: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').collect();
            assert_eq!(Feeds::of(&text).is_empty(), feeds.is_empty());
            for place in 0..=text.len() + 70 {
                let rest: Vec<usize> = feeds.iter().copied().filter(|&at| at >= place).collect();
                let near: Vec<usize> = rest.iter().copied().filter(|&at| at < place + 100).collect();
                assert_eq!(survey.feeds.between(place, place + 100).collect::<Vec<_>>(), near);
                assert_eq!(survey.feeds.next(place), rest.first().copied());
                assert_eq!(survey.feeds.count(place), feeds.len() - rest.len(), "{place} {text:?}");
                assert_eq!(survey.feeds.before(place), feeds.iter().copied().rfind(|&at| at < place));
            }
        }
    }
}
