//! Whether the parts of a pattern can match at a place, without compiling them.
//!
//! Promise: for ASCII text the answer is exact; for other text a "no" is. Most places where a rule's words
//! occur are no match, and most rules never have one: an automaton for each would be made for nothing.
//!
//! What is kept is the set of places that the parts so far can end at, as ranges: a class that is repeated turns
//! a range into a range, however long it is.

use super::class::{ByteSet, CodeSet};
use super::profile::Profile;
use super::spot::{Piece, Spot, Tail};
use super::translate::{Look, Node};

/// So many steps are made for one place; more is an automaton's work.
const MOST_STEPS: usize = 2048;

/// An answer, and what it rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// `None` when that is hard to tell.
    pub(super) answer: Option<bool>,
    /// One past the last byte that was looked at; the end of the text counts as one.
    pub(super) looked: usize,
}

/// Whether a spot's tail, which begins with one of its texts, can match from `start` on. Adds to `steps` how many were
/// made.
///
/// `ascii`: whether all that the tail can reach is known to be.
pub(super) fn can_match(spot: &Spot, text: &[u8], (start, ascii): (usize, bool), steps: &mut usize) -> Told {
    let mut walk = Walk { text, start, ascii, steps: MOST_STEPS, looked: start, is_reversed: false };
    let answer = walk.tail(&spot.texts, &spot.tail);
    *steps += MOST_STEPS - walk.steps;
    Told { answer, looked: walk.looked }
}

/// Whether what stands before a spot's text can match there, and how many bytes were looked at for it.
pub(super) fn can_precede(spot: &Spot, text: &[u8], (start, ascii): (usize, bool)) -> (Option<bool>, usize) {
    if spot.front.pieces.is_empty() {
        return (Some(true), 0);
    }
    // One byte more on either side, for what looks round a place.
    let floor = start.saturating_sub(spot.front.reach + 1);
    let reversed: Vec<u8> = text.get(floor..=start).unwrap_or_default().iter().rev().copied().collect();
    let mut walk = Walk { text: &reversed, start: 1, ascii, steps: MOST_STEPS, looked: 1, is_reversed: true };
    let places = walk.all(&spot.front.pieces, Places::only(0, 0));
    (places.map(|places| !places.is_empty()), walk.looked)
}

/// So many ranges are kept; more is an automaton's work.
const MOST_RANGES: usize = 12;

/// Places counted from the start: sorted ranges, both ends included, which neither overlap nor touch.
#[derive(Clone, Copy, Default)]
struct Places {
    ranges: [(u32, u32); MOST_RANGES],
    count: usize,
}

impl Places {
    fn only(first: u32, last: u32) -> Self {
        let mut places = Self { count: 1, ..Self::default() };
        places.ranges[0] = (first, last);
        places
    }

    fn all(&self) -> &[(u32, u32)] {
        self.ranges.get(..self.count).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a range that begins no earlier than those before.
    fn push(&mut self, range: (u32, u32)) -> Option<()> {
        if let Some(last) = self.count.checked_sub(1).and_then(|last| self.ranges.get_mut(last))
            && range.0 <= last.1.saturating_add(1)
        {
            last.1 = last.1.max(range.1);
            return Some(());
        }
        *self.ranges.get_mut(self.count)? = range;
        self.count += 1;
        Some(())
    }

    /// Both.
    fn with(&self, other: &Self) -> Option<Self> {
        let (mut both, mut one, mut other) = (Self::default(), self.all(), other.all());
        loop {
            let next = match (one.first(), other.first()) {
                (Some(first), Some(second)) if first.0 <= second.0 => &mut one,
                (_, Some(_)) => &mut other,
                (Some(_), None) => &mut one,
                (None, None) => return Some(both),
            };
            let (range, rest) = next.split_first()?;
            *next = rest;
            both.push(*range)?;
        }
    }
}

struct Walk<'t> {
    text: &'t [u8],
    /// Where places are counted from.
    start: usize,
    ascii: bool,
    steps: usize,
    /// One past the last byte that was looked at.
    looked: usize,
    /// The text is written from right to left.
    is_reversed: bool,
}

impl Walk<'_> {
    fn tail(&mut self, texts: &[Vec<u8>], tail: &Tail) -> Option<bool> {
        let rest = self.text.get(self.start..).unwrap_or_default();
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        self.look_up_to(self.start + longest);
        // Signs that count as letters have other lengths than these.
        if longest < 64 && rest.get(..longest.min(rest.len())).is_some_and(<[u8]>::is_ascii) {
            let stands = |text: &&Vec<u8>| rest.get(..text.len()).is_some_and(|there| there.eq_ignore_ascii_case(text));
            let mut ends = texts.iter().filter(stands).fold(0_u64, |ends, text| ends | 1 << text.len());
            let mut places = Places::default();
            while ends != 0 {
                places.push((ends.trailing_zeros(), ends.trailing_zeros()))?;
                ends &= ends - 1;
            }
            if self.all(&tail.behind, places)?.is_empty() {
                return Some(false);
            }
        }
        // Perhaps there are capital letters where there must be small ones.
        let places = self.all(&tail.text, Places::only(0, 0))?;
        Some(!self.all(&tail.behind, places)?.is_empty())
    }

    fn all(&mut self, pieces: &[Piece], mut places: Places) -> Option<Places> {
        for piece in pieces {
            if places.is_empty() {
                break;
            }
            if !piece.entry.places.is_empty() {
                places = self.enter(&piece.entry, places);
            }
            places = self.step(&piece.node, Some(piece.bytes), &places)?;
        }
        Some(places)
    }

    /// Those of some places behind which a part can begin; all, when they lie too scattered.
    fn enter(&mut self, entry: &Profile, places: Places) -> Places {
        let mut kept = Places::default();
        for &(first, last) in places.all() {
            self.look_up_to(self.start + last as usize + entry.places.len());
            for place in first..=last {
                let begins = self.text.get(self.start + place as usize..).is_some_and(|behind| entry.admits(behind));
                if begins && kept.push((place, place)).is_none() {
                    return places;
                }
            }
        }
        kept
    }

    /// Where a part can end that begins at one of these places. `bytes`: what it holds, where that is known.
    fn step(&mut self, node: &Node, bytes: Option<ByteSet>, from: &Places) -> Option<Places> {
        self.steps = self.steps.checked_sub(1)?;
        match node {
            Node::Empty => Some(*from),
            Node::Look(look) => self.look(*look, from),
            Node::AnyByte => self.class(ByteSet::ALL, 1, Some(1), from),
            Node::Set(set) => {
                let (least, most) = self.lengths(set);
                self.class(bytes.unwrap_or_else(|| set.byte_set()), least, Some(most), from)
            }
            Node::Group(_, node) => self.step(node, bytes, from),
            Node::Concat(nodes) => {
                let mut places = *from;
                for node in nodes {
                    if places.is_empty() {
                        break;
                    }
                    places = self.step(node, None, &places)?;
                }
                Some(places)
            }
            Node::Either(nodes) => {
                let mut ends = Places::default();
                for node in nodes {
                    ends = ends.with(&self.step(node, None, from)?)?;
                }
                Some(ends)
            }
            Node::Repeat { node, least, most, .. } => {
                let times = |times: u32, length: usize| (times as usize).saturating_mul(length);
                if let Node::Set(set) = &**node {
                    let (shortest, longest) = self.lengths(set);
                    let bytes = bytes.unwrap_or_else(|| set.byte_set());
                    return self.class(bytes, times(*least, shortest), most.map(|most| times(most, longest)), from);
                }
                self.rounds(node, *least, *most, from)
            }
        }
    }

    fn lengths(&self, set: &CodeSet) -> (usize, usize) {
        if self.ascii { (1, 1) } else { set.lengths() }
    }

    /// Where bytes of a class end, so many of them.
    fn class(&mut self, bytes: ByteSet, least: usize, most: Option<usize>, from: &Places) -> Option<Places> {
        let mut ends = Places::default();
        for &(first, last) in from.all() {
            let (mut begin, last) = (self.start + first as usize, self.start + last as usize);
            while begin <= last {
                if least > 0 {
                    // Those where not even one byte fits are passed over at once.
                    let near = self.text.get(begin..(last + 1).min(self.text.len())).unwrap_or_default();
                    let passed = near.iter().position(|&byte| bytes.contains(byte)).unwrap_or(near.len());
                    self.steps = self.steps.checked_sub(passed / 8)?;
                    self.look_up_to(begin + passed + 1);
                    begin += passed;
                    if passed == near.len() {
                        break;
                    }
                }
                // The longest run from here on that can be of use.
                let reach = most.map_or(self.text.len(), |most| last.saturating_add(most).min(self.text.len()));
                let run = self.text.get(begin..reach).unwrap_or_default();
                let run = run.iter().position(|&byte| !bytes.contains(byte)).unwrap_or(run.len());
                self.steps = self.steps.checked_sub(1 + run / 8)?;
                let run_end = begin + run;
                self.look_up_to(run_end + 1);
                // All that begin within it, and have room for the least.
                if let Some(latest) = run_end.checked_sub(least).filter(|&latest| latest >= begin) {
                    let latest = latest.min(last);
                    let end = most.map_or(run_end, |most| latest.saturating_add(most).min(run_end));
                    ends.push((self.counted(begin + least)?, self.counted(end)?))?;
                }
                begin = run_end + 1;
            }
        }
        Some(ends)
    }

    fn look_up_to(&mut self, end: usize) {
        self.looked = self.looked.max(end);
    }

    fn counted(&self, place: usize) -> Option<u32> {
        u32::try_from(place - self.start).ok()
    }

    fn rounds(&mut self, node: &Node, least: u32, most: Option<u32>, from: &Places) -> Option<Places> {
        let mut ends = if least == 0 { *from } else { Places::default() };
        let mut round = *from;
        for count in 1..=most.unwrap_or(u32::MAX) {
            round = self.step(node, None, &round)?;
            if round.is_empty() {
                break;
            }
            if count >= least {
                let more = ends.with(&round)?;
                if more.all() == ends.all() {
                    break;
                }
                ends = more;
            }
        }
        Some(ends)
    }

    fn look(&mut self, look: Look, from: &Places) -> Option<Places> {
        let mut held = Places::default();
        for &(first, last) in from.all() {
            self.steps = self.steps.checked_sub((last - first) as usize)?;
            self.look_up_to(self.start + last as usize + 1);
            for place in first..=last {
                if self.holds(look, self.start + place as usize) {
                    held.push((place, place))?;
                }
            }
        }
        Some(held)
    }

    fn holds(&self, look: Look, at: usize) -> bool {
        let mut before = at.checked_sub(1).and_then(|before| self.text.get(before)).copied();
        let mut behind = self.text.get(at).copied();
        if self.is_reversed {
            (before, behind) = (behind, before);
        }
        look.holds(before, behind)
    }
}
