//! Sets of code points as RE2 knows them, surrogates included, and sets of bytes.
//!
//! Promise: folding, negation and the bytes that a set matches are RE2's: simple Unicode folding, a
//! set that holds all of U+0080 to U+10FFFF matches every form of two to four bytes that looks like
//! UTF-8 (surrogates and overlong ones too), a smaller one its own code points and surrogates only.

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir};
use regex_syntax::utf8::Utf8Sequences;

/// The highest code point.
pub(super) const LAST: u32 = 0x10_FFFF;
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// A set of code points: sorted ranges which neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CodeSet(Vec<(u32, u32)>);

impl CodeSet {
    /// Ranges that are in order, and neither overlap nor touch.
    #[allow(dead_code, reason = "what the build wrote is read so")]
    pub(super) fn settled(ranges: Vec<(u32, u32)>) -> Self {
        Self(ranges)
    }

    pub(super) fn of(ranges: &[(u32, u32)]) -> Self {
        let mut set = Self(ranges.to_vec());
        set.settle();
        set
    }

    pub(super) fn push(&mut self, first: u32, last: u32) {
        self.0.push((first, last));
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Its ranges, in order.
    #[allow(dead_code, reason = "the build writes them")]
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// Restores the invariant after [`CodeSet::push`].
    pub(super) fn settle(&mut self) {
        self.0.sort_unstable();
        let mut settled: Vec<(u32, u32)> = Vec::with_capacity(self.0.len());
        for &(first, last) in &self.0 {
            match settled.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => settled.push((first, last)),
            }
        }
        self.0 = settled;
    }

    /// Everything that is not in the (settled) set.
    pub(super) fn negated(&self) -> Self {
        let (mut rest, mut next) = (Vec::with_capacity(self.0.len() + 1), 0);
        for &(first, last) in &self.0 {
            if first > next {
                rest.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            rest.push((next, LAST));
        }
        Self(rest)
    }

    /// The set with everything that differs from a member in letter case only.
    pub(super) fn folded(&self) -> Self {
        let mut folded = self.clone();
        let mut beyond = Vec::new();
        for &(first, last) in &self.0 {
            fold_ascii(first, last, &mut folded);
            if last >= 0x80 {
                beyond.extend(scalar_ranges(first.max(0x80), last));
            }
        }
        if !beyond.is_empty() {
            let mut class = ClassUnicode::new(beyond);
            // Without the tables of the crate's Unicode features this would be an error; they are on.
            if class.try_case_fold_simple().is_ok() {
                folded.0.extend(class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))));
            }
        }
        folded.settle();
        folded
    }

    /// The lower-case ASCII characters it stands for, when there are at most `limit` and no others.
    pub(super) fn few_lower(&self, limit: usize) -> Option<Vec<u8>> {
        let mut few = Vec::new();
        for &(first, last) in &self.0 {
            if last - first >= 64 {
                return None;
            }
            for code in first..=last {
                let byte = match code {
                    0x212A => b'k',
                    0x017F => b's',
                    _ => u8::try_from(code).ok().filter(u8::is_ascii)?.to_ascii_lowercase(),
                };
                if !few.contains(&byte) {
                    few.push(byte);
                }
            }
        }
        (!few.is_empty() && few.len() <= limit).then_some(few)
    }

    fn ascii(&self) -> Vec<ClassBytesRange> {
        let below = self.0.iter().filter(|&&(first, _)| first < 0x80);
        below.map(|&(first, last)| ClassBytesRange::new(byte(first), byte(last.min(0x7F)))).collect()
    }

    /// Whether it holds every character beyond ASCII, and so every form that looks like one.
    pub(super) fn holds_all_beyond_ascii(&self) -> bool {
        self.0.last().is_some_and(|&(first, last)| first <= 0x80 && last == LAST)
    }

    /// The set's ASCII part as an expression over bytes.
    pub(super) fn ascii_hir(&self) -> Hir {
        Hir::class(Class::Bytes(ClassBytes::new(self.ascii())))
    }

    /// The set as an expression over bytes.
    pub(super) fn hir(&self) -> Hir {
        let mut forms = vec![self.ascii_hir()];
        if self.holds_all_beyond_ascii() {
            for lead in [(0xC2, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF4, 3)] {
                let mut parts = vec![bytes(lead.0, lead.1)];
                parts.extend((0..lead.2).map(|_| bytes(0x80, 0xBF)));
                forms.push(Hir::concat(parts));
            }
            return Hir::alternation(forms);
        }
        for &(first, last) in self.0.iter().filter(|&&(_, last)| last >= 0x80) {
            for range in scalar_ranges(first.max(0x80), last) {
                for sequence in Utf8Sequences::new(range.start(), range.end()) {
                    let parts = sequence.as_slice().iter().map(|part| bytes(part.start, part.end)).collect();
                    forms.push(Hir::concat(parts));
                }
            }
            forms.extend(surrogates(first, last));
        }
        Hir::alternation(forms)
    }

    /// Every byte that a member's form holds.
    pub(super) fn byte_set(&self) -> ByteSet {
        let mut set = ByteSet::default();
        for &(first, last) in self.0.iter().take_while(|&&(first, _)| first < 0x80) {
            set.insert_range(byte(first), byte(last.min(0x7F)));
        }
        let beyond = || self.0.iter().filter(|&&(_, last)| last >= 0x80);
        let few = beyond().all(|&(first, last)| first >= 0x80 && last - first < 8) && beyond().count() < 8;
        if few {
            // Mostly the signs that fold to `k` and `s`.
            let mut buffer = [0; 4];
            for character in beyond().flat_map(|&(first, last)| first..=last).filter_map(char::from_u32) {
                character.encode_utf8(&mut buffer).bytes().for_each(|byte| set.insert(byte));
            }
        }
        if !few || beyond().any(|&(first, last)| first <= SURROGATES.1 && last >= SURROGATES.0) {
            // Which ones exactly matters little: what is asked is whether a byte can be excluded.
            set.insert_range(0x80, 0xF4);
        }
        set
    }

    /// The lengths in bytes of its shortest and its longest member.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let length = |code: u32| match code {
            0..0x80 => 1,
            0x80..0x800 => 2,
            0x800..0x1_0000 => 3,
            _ => 4,
        };
        let least = self.0.first().map_or(0, |&(first, _)| length(first));
        (least, self.0.last().map_or(0, |&(_, last)| length(last)))
    }
}

fn byte(code: u32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn bytes(first: u8, last: u8) -> Hir {
    Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(first, last)])))
}

/// Case variants of the ASCII letters in a range, with the two signs that fold to `k` and `s`.
fn fold_ascii(first: u32, last: u32, folded: &mut CodeSet) {
    for (from, to, other) in [(0x41, 0x5A, 0x61), (0x61, 0x7A, 0x41)] {
        let (low, high) = (first.max(from), last.min(to));
        if low > high {
            continue;
        }
        folded.push(low - from + other, high - from + other);
        if (low - from..=high - from).contains(&10) {
            folded.push(0x212A, 0x212A);
        }
        if (low - from..=high - from).contains(&18) {
            folded.push(0x017F, 0x017F);
        }
    }
}

/// A range without the surrogates in it.
fn scalar_ranges(first: u32, last: u32) -> impl Iterator<Item = ClassUnicodeRange> {
    let below = (first, last.min(SURROGATES.0 - 1));
    let above = (first.max(SURROGATES.1 + 1), last);
    [below, above]
        .into_iter()
        .filter(|range| range.0 <= range.1)
        .filter_map(|(first, last)| Some(ClassUnicodeRange::new(char::from_u32(first)?, char::from_u32(last)?)))
}

/// The forms of those surrogates that a range holds.
fn surrogates(first: u32, last: u32) -> Option<Hir> {
    let (first, last) = (first.max(SURROGATES.0), last.min(SURROGATES.1));
    if first > last {
        return None;
    }
    let split = |code: u32| (byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F)));
    let ((high_first, low_first), (high_last, low_last)) = (split(first), split(last));
    let forms = (high_first..=high_last).map(|high| {
        let from = if high == high_first { low_first } else { 0x80 };
        let to = if high == high_last { low_last } else { 0xBF };
        Hir::concat(vec![bytes(0xED, 0xED), bytes(high, high), bytes(from, to)])
    });
    Some(Hir::alternation(forms.collect()))
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) const ALL: Self = Self([u64::MAX; 4]);
    pub(super) const NONE: Self = Self([0; 4]);

    /// What values are made of.
    pub(super) const VALUE: Self = {
        let mut set = Self::NONE;
        set.insert_range(b'0', b'9');
        set.insert_range(b'A', b'Z');
        set.insert_range(b'a', b'z');
        set.insert_range(b'-', b'/');
        set.insert_range(b'_', b'_');
        set.insert_range(b'+', b'+');
        set.insert_range(b'=', b'=');
        set.insert_range(b'~', b'~');
        set.insert_range(b':', b':');
        // The forms of U+017F and U+212A, which a regex that ignores case takes for `s` and `k`.
        set.insert_range(0xC5, 0xC5);
        set.insert_range(0xBF, 0xBF);
        set.insert_range(0xE2, 0xE2);
        set.insert_range(0x84, 0x84);
        set.insert_range(0xAA, 0xAA);
        set
    };

    /// Letters and digits of ASCII.
    pub(super) const ALPHANUMERIC: Self = {
        let mut set = Self::NONE;
        set.insert_range(b'0', b'9');
        set.insert_range(b'A', b'Z');
        set.insert_range(b'a', b'z');
        set
    };

    /// What words are made of, as `\b` has it.
    pub(super) const WORD: Self = {
        let mut set = Self::ALPHANUMERIC;
        set.insert_range(b'_', b'_');
        set
    };

    pub(super) const fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    pub(super) const fn words(&self) -> [u64; 4] {
        self.0
    }

    pub(super) fn insert(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    pub(super) const fn insert_range(&mut self, first: u8, last: u8) {
        let mut place = 0;
        while place < 4 {
            let (low, high) = ((place as u32) << 6, ((place as u32) << 6) + 63);
            let (from, to) = (
                if first as u32 > low { first as u32 } else { low },
                if (last as u32) < high { last as u32 } else { high },
            );
            if from <= to {
                self.0[place] |= (u64::MAX >> (63 - (to - from))) << (from - low);
            }
            place += 1;
        }
    }

    /// The set as a table, for many questions.
    pub(super) fn table(&self) -> Table {
        let mut table = Table([false; 256]);
        for byte in self.iter() {
            if let Some(slot) = table.0.get_mut(usize::from(byte)) {
                *slot = true;
            }
        }
        table
    }

    #[inline]
    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    pub(super) fn union(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(own, theirs)| *own |= theirs);
        self
    }

    pub(super) fn intersection(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(own, theirs)| *own &= theirs);
        self
    }

    pub(super) fn negated(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    pub(super) fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// Whether it holds only what values are made of: no white space, quotes, brackets or controls.
    pub(super) fn is_value(&self) -> bool {
        *self != Self::NONE && self.0.iter().zip(Self::VALUE.0).all(|(own, value)| own & !value == 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..4_u8).zip(self.0).flat_map(|(place, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                if bit < 64 { Some(place << 6 | bit as u8) } else { None }
            })
        })
    }
}

/// A set of bytes as a table.
#[derive(Clone, Debug)]
pub(super) struct Table([bool; 256]);

impl Table {
    #[inline(always)]
    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}
