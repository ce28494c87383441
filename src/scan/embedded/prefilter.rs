//! Where the keywords of all rules occur, in one pass.
//!
//! Promise: every occurrence of every pattern is reported (ignoring ASCII case), overlapping ones too. Those
//! of some kilobytes are reported together, in no certain order among them.
//!
//! Each place is judged by four bytes: three of them are hashed to a word of a table, of which the fourth
//! is a bit. Of a longer needle those four bytes are marked which are rarest in texts, since beginnings are
//! mostly those of plain words; of a needle of three bytes all that can follow is. Places that are marked are
//! collected without a branch, then judged by six bytes, and only what is left is compared. The table is made
//! in microseconds, fits the first cache and has no chain of dependent loads, which is what an automaton
//! spends its time on.

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

/// Words of the table.
const TABLE: usize = 1 << 12;
/// Bytes of a table that marked places are looked up in.
const SECOND: usize = 1 << 14;
/// So many bytes are looked at then.
const SIX: usize = 6;
/// Bytes of the table of pairs.
const PAIRS: usize = 1 << 13;
const BUCKETS: usize = 4096;
/// So many places are judged with one load of eight bytes.
const PLACES: usize = 5;
/// So many loads are judged before what is marked is looked at again: in a long text, and in a short one.
const LOADS: usize = 1024;
const FEW_LOADS: usize = 32;
/// A text up to this length in bytes is short.
const SHORT: usize = FEW_LOADS * PLACES;
/// A bit that tells capital letters from small ones, in every byte.
const CASE: u64 = 0x2020_2020_2020_2020;

/// Bytes with case taken off, such that the low six bits of a letter are not those of a digit or sign.
#[inline(always)]
fn folded(bytes: u64) -> u64 {
    let lower = bytes | CASE;
    lower ^ (lower >> 1 & CASE)
}

fn folded_byte(byte: u8) -> u64 {
    folded(u64::from(byte)) & 0xFF
}

/// Needles, ready to be looked for.
#[derive(Debug)]
pub(super) struct Prefilter {
    /// For three bytes which fourth ones are marked.
    table: Box<[u64; TABLE]>,
    /// Bits for what needles go on with where four bytes are marked.
    second: Box<Second>,
    /// A bit for each needle of two bytes which anything can follow, when no single byte finds them.
    pairs: Option<Box<[u8; PAIRS]>>,
    /// Bytes one of which each of these needles has, with the other case of letters.
    signs: Vec<u8>,
    /// Needles of two bytes that are found by these, and where in them they stand.
    by_sign: Vec<(u16, usize)>,
    /// Whether there are needles of two and of three bytes.
    has: [bool; 2],
    /// Where each bucket's entries begin; one more at the end.
    bucket_starts: Box<[u16]>,
    entries: Vec<Entry>,
    /// The needles, one after another, and where each ends.
    texts: Vec<u8>,
    ends: Vec<usize>,
    longest: usize,
}

/// What needles go on with: a bit for each six bytes, for each four of needles that have no six, for each
/// three and each two of those that have no more.
#[derive(Debug)]
struct Second {
    sixes: [u8; SECOND],
    fours: [u8; SECOND],
    threes: [u8; PAIRS],
    twos: [u8; PAIRS],
    /// Whether any two are marked.
    has_twos: bool,
}

impl Second {
    fn mark(table: &mut [u8], hash: usize) {
        if let Some(byte) = table.get_mut(hash >> 3) {
            *byte |= 1 << (hash & 7);
        }
    }

    #[inline(always)]
    fn goes_on(&self, word: u64) -> bool {
        let bit = |byte: u8, hash: usize| byte >> (hash & 7);
        let (six, four, three) = (six_of(word), four_of(word), three_of(word));
        let mut marked = bit(self.sixes[(six >> 3) & (SECOND - 1)], six)
            | bit(self.fours[(four >> 3) & (SECOND - 1)], four)
            | bit(self.threes[(three >> 3) & (PAIRS - 1)], three);
        if self.has_twos {
            let two = two_of(word);
            marked |= bit(self.twos[(two >> 3) & (PAIRS - 1)], two);
        }
        marked & 1 == 1
    }
}

/// Bytes of a needle, folded: those by which it is found, and what follows them.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u32,
    more: u32,
    needle: u16,
    /// Where in the needle they stand.
    offset: u8,
    /// How many there are, of which four at most count for the bucket.
    count: u8,
}

/// So many bytes of a needle stand in its entry.
const SHOWN: usize = 8;

/// The first bytes of eight.
const FIRST: [u64; SHOWN + 1] = {
    let mut masks = [u64::MAX; SHOWN + 1];
    let mut count = 0;
    while count < SHOWN {
        masks[count] = (1 << (8 * count)) - 1;
        count += 1;
    }
    masks
};

impl Entry {
    fn bucket(&self) -> usize {
        bucket(self.bytes)
    }

    /// Whether its bytes stand at the beginning of these, of which `kind` count for the bucket.
    #[inline(always)]
    fn stands_in(&self, word: u64, kind: usize) -> bool {
        let count = usize::from(self.count);
        let own = u64::from(self.bytes) | u64::from(self.more) << 32;
        count.min(4) == kind && FIRST.get(count).is_some_and(|first| word & first == own)
    }
}

impl Prefilter {
    /// `None` when there are more needles than 65,535, or too many beginnings of them.
    pub(super) fn new(needles: Vec<Needle>) -> Option<Self> {
        let mut table = Box::new([0_u64; TABLE]);
        let mut second = Box::new(Second {
            sixes: [0; SECOND],
            fours: [0; SECOND],
            threes: [0; PAIRS],
            twos: [0; PAIRS],
            has_twos: false,
        });
        let mut entries: Vec<Entry> = Vec::with_capacity(needles.len());
        let mut unbound: Vec<usize> = Vec::new();
        let (mut texts, mut ends) = (Vec::new(), Vec::with_capacity(needles.len()));
        for (place, needle) in needles.iter().enumerate() {
            let offset = needle.rarest;
            texts.extend_from_slice(&needle.text);
            ends.push(texts.len());
            let shown = needle.text.get(offset..)?;
            let word = shown.iter().take(SHOWN).rev().fold(0, |word, &byte| word << 8 | folded_byte(byte));
            match needle.text.len() {
                0 | 1 => return None,
                2 => {
                    Second::mark(&mut second.twos, two_of(word));
                    second.has_twos = true;
                    if !needle.follow.is_all() {
                        let bits = if needle.twice { followed(needle.follow) } else { u64::MAX };
                        for third in needle.follow.iter() {
                            *table.get_mut(slot_of(word | folded_byte(third) << 16))? |= bits;
                        }
                    } else {
                        unbound.push(place);
                    }
                }
                3 => {
                    Second::mark(&mut second.threes, three_of(word));
                    *table.get_mut(slot_of(word))? |= followed(needle.follow);
                }
                _ => {
                    *table.get_mut(slot_of(word))? |= 1 << (word >> 24 & 63);
                    match shown.len() {
                        4 | 5 => Second::mark(&mut second.fours, four_of(word)),
                        _ => Second::mark(&mut second.sixes, six_of(word)),
                    }
                }
            }
            let (needle, offset) = (u16::try_from(place).ok()?, u8::try_from(offset).ok()?);
            let count = u8::try_from(shown.len().min(SHOWN)).ok()?;
            entries.push(Entry { bytes: word as u32, more: (word >> 32) as u32, needle, offset, count });
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
        let has = [2, 3].map(|count| entries.iter().any(|entry| entry.count == count));
        let mut prefilter = Self {
            table,
            second,
            pairs: None,
            signs: Vec::new(),
            by_sign: Vec::new(),
            has,
            bucket_starts: bucket_starts.into_boxed_slice(),
            entries,
            longest: needles.iter().map(|needle| needle.text.len()).max().unwrap_or(0),
            ends,
            texts,
        };
        prefilter.look_for_pairs(&unbound)?;
        Some(prefilter)
    }

    /// Needles of two bytes which anything can follow: by a byte that is rare and theirs all, where there
    /// are few such bytes.
    fn look_for_pairs(&mut self, unbound: &[usize]) -> Option<()> {
        let mut signs: Vec<u8> = Vec::new();
        for &place in unbound {
            let text = self.needle(place)?;
            let at = usize::from(commonness(*text.get(1)?) < commonness(*text.first()?));
            let byte = *text.get(at)?;
            self.by_sign.push((u16::try_from(place).ok()?, at));
            for sign in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                if !signs.contains(&sign) {
                    signs.push(sign);
                }
            }
        }
        if signs.len() > 3 {
            let mut pairs = Box::new([0_u8; PAIRS]);
            for &place in unbound {
                let text = self.needle(place)?;
                let word = folded_byte(*text.first()?) | folded_byte(*text.get(1)?) << 8;
                Second::mark(pairs.as_mut_slice(), two_of(word));
            }
            self.pairs = Some(pairs);
            self.by_sign.clear();
            signs.clear();
        }
        self.signs = signs;
        Some(())
    }

    #[inline]
    fn needle(&self, needle: usize) -> Option<&[u8]> {
        let start = needle.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.texts.get(start..*self.ends.get(needle)?)
    }

    /// The length of a needle in bytes.
    pub(super) fn length(&self, needle: usize) -> usize {
        self.needle(needle).map_or(0, <[u8]>::len)
    }

    /// The length of the longest needle in bytes.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Reports every occurrence in a text, with the needle's number.
    pub(super) fn scan(&self, text: &[u8], report: &mut impl FnMut(usize, usize)) {
        self.scan_front(text, text.len(), report);
    }

    /// The same for those that begin in its first `front` bytes, and perhaps for some that begin behind.
    pub(super) fn scan_front(&self, text: &[u8], front: usize, report: &mut impl FnMut(usize, usize)) {
        let is_pair = |pairs: &[u8; PAIRS], word: u64| {
            let two = two_of(word);
            u64::from(pairs[(two >> 3) & (PAIRS - 1)] >> (two & 7))
        };
        match &self.pairs {
            None if front <= SHORT => self.scan_with::<FEW_LOADS, { FEW_LOADS * PLACES }>(text, front, |_| 0, report),
            None => self.scan_with::<LOADS, { LOADS * PLACES }>(text, front, |_| 0, report),
            Some(pairs) => {
                self.scan_with::<LOADS, { LOADS * PLACES }>(text, front, |word| is_pair(pairs, word), report);
            }
        }
    }

    /// Whether every needle that begins at a place is found by [`Prefilter::find_at`] there.
    pub(super) fn finds_at(&self) -> bool {
        self.signs.is_empty() && self.pairs.is_none()
    }

    /// Reports the needles that begin at a place, found by bytes of theirs from there on.
    #[inline]
    pub(super) fn find_at(&self, text: &[u8], at: usize, report: &mut impl FnMut(usize, usize)) {
        let eight = text.get(at..).and_then(<[u8]>::first_chunk::<8>);
        let is_marked = eight.is_none_or(|eight| {
            let word = folded(u64::from_le_bytes(*eight));
            self.table[slot_of(word)] >> (word >> 24 & 63) & 1 == 1 && self.second.goes_on(word)
        });
        if is_marked && at + SHORTEST <= text.len() {
            self.verify(text, at, report);
        }
    }

    #[inline(always)]
    fn scan_with<const LOADS: usize, const MOST: usize>(
        &self,
        text: &[u8],
        front: usize,
        is_pair: impl Fn(u64) -> u64,
        report: &mut impl FnMut(usize, usize),
    ) {
        let is_marked = |word: u64| (self.table[slot_of(word)] >> (word >> 24 & 63)) | is_pair(word);
        let mut marked = [0_u16; LOADS];
        let mut places = [0_u16; MOST];
        let mut from = 0;
        while let Some(block) = text.get(from..).filter(|block| from < front && block.len() >= 8) {
            let loads = ((block.len() - 8) / PLACES + 1).min((front - from).div_ceil(PLACES)).min(LOADS);
            let mut count = 0;
            for load in 0..loads {
                let Some(eight) = block.get(load * PLACES..).and_then(<[u8]>::first_chunk::<8>) else { break };
                let word = folded(u64::from_le_bytes(*eight));
                let some = is_marked(word)
                    | is_marked(word >> 8)
                    | is_marked(word >> 16)
                    | is_marked(word >> 24)
                    | is_marked(word >> 32);
                marked[count & (LOADS - 1)] = load as u16;
                count += (some & 1) as usize;
            }
            let mut some = 0;
            for &load in marked.get(..count).unwrap_or_default() {
                let begin = usize::from(load) * PLACES;
                let Some(eight) = block.get(begin..).and_then(<[u8]>::first_chunk::<8>) else { break };
                let word = folded(u64::from_le_bytes(*eight));
                for place in 0..PLACES {
                    if let Some(slot) = places.get_mut(some) {
                        *slot = (begin + place) as u16;
                    }
                    some += (is_marked(word >> (8 * place)) & 1) as usize;
                }
            }
            let mut left = 0;
            for place in 0..some.min(places.len()) {
                let at = places.get(place).copied().unwrap_or_default();
                // Too near the end for six bytes, and it is compared at once.
                let eight = block.get(usize::from(at)..).and_then(<[u8]>::first_chunk::<8>);
                let goes_on = eight.is_none_or(|eight| self.second.goes_on(folded(u64::from_le_bytes(*eight))));
                if let Some(slot) = places.get_mut(left) {
                    *slot = at;
                }
                left += usize::from(goes_on);
            }
            for &at in places.get(..left).unwrap_or_default() {
                self.verify(text, from + usize::from(at), report);
            }
            if !self.signs.is_empty() {
                self.scan_for_signs(text, from, from + loads * PLACES, report);
            }
            from += loads * PLACES;
        }
        // One that begins before the end is found by a byte behind it.
        if !self.signs.is_empty() && from < text.len() {
            self.scan_for_signs(text, from, from + 1, report);
        }
        while from < front && from + SHORTEST <= text.len() {
            self.verify(text, from, report);
            from += 1;
        }
    }

    #[inline(never)]
    fn scan_for_signs(&self, text: &[u8], from: usize, to: usize, report: &mut impl FnMut(usize, usize)) {
        let part = text.get(from..to).unwrap_or_default();
        let mut at_sign = |at: usize| {
            for &(needle, offset) in &self.by_sign {
                if let Some(begin) = (from + at).checked_sub(offset)
                    && self.stands_at(text, begin, usize::from(needle))
                {
                    report(begin, usize::from(needle));
                }
            }
        };
        match *self.signs.as_slice() {
            [one] => memchr::memchr_iter(one, part).for_each(&mut at_sign),
            [one, other] => memchr::memchr2_iter(one, other, part).for_each(&mut at_sign),
            [one, other, third] => memchr::memchr3_iter(one, other, third, part).for_each(&mut at_sign),
            _ => {}
        }
    }

    // Few places come to this: the loop that leads here keeps its registers.
    #[inline(never)]
    fn verify(&self, text: &[u8], at: usize, report: &mut impl FnMut(usize, usize)) {
        let rest = text.get(at..).unwrap_or_default();
        let bytes = rest.first_chunk::<SHOWN>().copied().unwrap_or_else(|| {
            let mut bytes = [0; SHOWN];
            bytes.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
            bytes
        });
        let word = folded(u64::from_le_bytes(bytes));
        let [pairs, threes] = self.has;
        for (kind, is_wanted) in [(4, true), (3, threes), (2, pairs)] {
            if !is_wanted {
                continue;
            }
            for entry in self.bucket((word & FIRST[kind]) as u32) {
                if entry.stands_in(word, kind) {
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
        let Some(needle) = self.needle(needle) else { return false };
        let Some(there) = text.get(at..at + needle.len()) else { return false };
        // Needles are in lower case, and most are no longer than this.
        match (needle.split_first_chunk::<4>(), there.split_first_chunk::<4>()) {
            (Some((needle, rest)), Some((there, behind))) => {
                let lower = |four: &[u8; 4]| u32::from_le_bytes(*four) | CASE as u32;
                lower(needle) == lower(there) && needle.eq_ignore_ascii_case(there) && rest.eq_ignore_ascii_case(behind)
            }
            _ => there.eq_ignore_ascii_case(needle),
        }
    }
}

/// The bits of the bytes that can follow.
fn followed(follow: ByteSet) -> u64 {
    if follow.is_all() {
        return u64::MAX;
    }
    follow.iter().fold(0, |bits, byte| bits | 1 << (folded_byte(byte) & 63))
}

/// Where in a text the four bytes begin that are rarest in others.
fn rarest(text: &[u8]) -> usize {
    let needed = if text.len() < SIX { 4 } else { SIX };
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

/// Pairs of letters that often follow each other: a bit for each second one.
const HABITS: [u32; 32] = {
    let pairs = b"thheinerreonanatenesstedntoresartiitiscoarseleteconsmefoliiolaelcaceecurstdeprrorimatr";
    let mut table = [0; 32];
    let mut at = 0;
    while at < pairs.len() {
        table[pairs[at] as usize & 31] |= 1 << (pairs[at + 1] & 31);
        at += 2;
    }
    table
};

/// What such a pair adds.
fn habit(one: u8, other: u8) -> u32 {
    let is_one = one.is_ascii_alphabetic() && other.is_ascii_alphabetic();
    let habits = HABITS.get(usize::from(one & 31)).copied().unwrap_or_default();
    if is_one && habits >> (other & 31) & 1 == 1 { 5 } else { 0 }
}

// The numbers of hashes are those of folded bytes, of which more may follow than count.

/// The number of two bytes.
#[inline(always)]
fn two_of(word: u64) -> usize {
    (word & 0xFFFF) as usize
}

/// The word of the table for three bytes.
#[inline(always)]
fn slot_of(word: u64) -> usize {
    // What the fourth byte is multiplied by has no bits left.
    ((word as u32).wrapping_mul(0x9E37_79B1 << 8) >> 20) as usize & (TABLE - 1)
}

/// The number of three bytes.
#[inline(always)]
fn three_of(word: u64) -> usize {
    ((word as u32).wrapping_mul(0xC2B2_AE35 << 8) >> 16) as usize
}

/// The number of four bytes.
#[inline(always)]
fn four_of(word: u64) -> usize {
    ((word as u32).wrapping_mul(0x9E37_79B1) >> 15) as usize
}

/// The number of six bytes.
#[inline(always)]
fn six_of(word: u64) -> usize {
    ((word << 16).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 47) as usize
}

/// The bucket of some bytes.
#[inline(always)]
fn bucket(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x85EB_CA6B) >> 20) as usize % BUCKETS
}
