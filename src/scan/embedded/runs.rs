//! Runs of bytes that a match must hold, and how they are looked for.
//!
//! Promise: what [`FastRun`] does not find is not there; bytes that cannot decide are not looked at.

use std::sync::Arc;

use super::class::{ByteSet, Table};
use super::extent::{Extent, extent};
use super::translate::Node;

/// A run of bytes near a text, without which the pattern cannot match there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) bytes: ByteSet,
    /// Its least length.
    pub(super) least: usize,
    /// Where it can begin, counted from the end of the text.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// A run that is looked for often.
#[derive(Clone, Debug)]
pub(super) struct FastRun {
    pub(super) run: Run,
    table: Arc<Table>,
}

impl FastRun {
    pub(super) fn new(run: Run) -> Self {
        Self { run, table: Arc::new(run.bytes.table()) }
    }

    /// The same with a table that was made already.
    pub(super) fn with_table(run: Run, table: Arc<Table>) -> Self {
        Self { run, table }
    }

    /// Whether there is one in what stands behind a text.
    #[inline]
    pub(super) fn stands_in(&self, behind: &[u8]) -> bool {
        let Run { least, from, to, .. } = self.run;
        let mut begin = from;
        // Looked at from the back: the last byte that does not belong says where the next can begin.
        while begin <= to {
            let Some(window) = behind.get(begin..begin + least) else { return false };
            match window.iter().rposition(|&byte| !self.table.contains(byte)) {
                None => return true,
                Some(at) => begin += at + 1,
            }
        }
        false
    }

    /// Every longest run that ends where a line does, in order. `feeds`: where lines end. None of its bytes is a line
    /// feed.
    pub(super) fn all_at_line_ends(&self, text: &[u8], feeds: impl Iterator<Item = usize>) -> Vec<(usize, usize)> {
        let least = self.run.least.max(1);
        let mut runs = Vec::new();
        let mut line = 0;
        for end in feeds.chain([text.len()]) {
            let front = text.get(line..end).unwrap_or_default();
            // Looked at from the back: most are too short.
            let start = front.iter().rposition(|&byte| !self.table.contains(byte)).map_or(0, |at| at + 1);
            if front.len() - start >= least {
                runs.push((line + start, end));
            }
            line = end + 1;
        }
        runs
    }

    /// Every longest run in a text, in order.
    pub(super) fn all_in(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let least = self.run.least.max(1);
        let (mut floor, mut probe) = (0, least - 1);
        let belongs = |byte: &u8| self.table.contains(*byte);
        // A run covers one of any `least` places in a row, so the others need no look.
        while let Some(byte) = text.get(probe) {
            if !belongs(byte) {
                floor = probe + 1;
                probe += least;
                continue;
            }
            // It would hold one of the two places half its length away.
            let half = least / 2;
            if let (Some(before), Some(behind)) =
                (probe.checked_sub(half).and_then(|at| text.get(at)), text.get(probe + half))
                && !belongs(behind)
                && (!belongs(before) || probe - half < floor)
            {
                floor = probe + half + 1;
                probe = floor + least - 1;
                continue;
            }
            let front = text.get(floor..probe).unwrap_or_default();
            let start = front.iter().rposition(|byte| !belongs(byte)).map_or(floor, |at| floor + at + 1);
            // Looked at from the back again: most are too short.
            let needed = text.get(probe..start + least).unwrap_or_default();
            if let Some(at) = needed.iter().rposition(|byte| !belongs(byte)) {
                floor = probe + at + 1;
                probe = floor + least - 1;
                continue;
            }
            let rest = text.get(probe..).unwrap_or_default();
            let end = rest.iter().position(|byte| !belongs(byte)).map_or(text.len(), |at| probe + at);
            if end - start >= least {
                runs.push((start, end));
            }
            floor = end + 1;
            probe = end + least;
        }
        runs
    }
}

/// Whether a byte is one of [`ByteSet::VALUE`], without a table: compilers look at many at once.
#[allow(dead_code, reason = "the build needs no more than the rest of this")]
#[inline(always)]
pub(super) const fn is_value(byte: u8) -> bool {
    is_ascii_value(byte) | (byte == 0xC5) | (byte == 0xBF) | (byte == 0xE2) | (byte == 0x84) | (byte == 0xAA)
}

/// The same for a byte that is ASCII.
#[inline(always)]
pub(super) const fn is_ascii_value(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26)
        | (byte.wrapping_sub(b'-') < 14)
        | (byte == b'_')
        | (byte == b'+')
        | (byte == b'=')
        | (byte == b'~')
}

const _: () = {
    let words = ByteSet::VALUE.words();
    let mut byte = 0;
    while byte < 256 {
        assert!(is_value(byte as u8) == (words[byte >> 6] >> (byte & 63) & 1 == 1));
        byte += 1;
    }
};

/// A run of value characters is long from here on.
pub(super) const LONG_RUN: usize = 16;
/// Where the first byte stands that is none of these.
pub(super) fn first_beyond(text: &[u8], bytes: ByteSet) -> Option<usize> {
    const NEAR: usize = 64;
    const BLOCK: usize = 4096;
    let (near, rest) = text.split_at_checked(NEAR).unwrap_or((text, &[]));
    if let Some(at) = near.iter().position(|&byte| !bytes.contains(byte)) {
        return Some(at);
    }
    // It is mostly the end of the text, and what goes on there is nearly any text.
    let holds_ascii = bytes.words().iter().take(2).all(|&word| word == u64::MAX);
    let table = bytes.table();
    let mut at = near.len();
    for block in rest.chunks(BLOCK) {
        if !(holds_ascii && block.is_ascii())
            && let Some(place) = block.iter().position(|&byte| !table.contains(byte))
        {
            return Some(at + place);
        }
        at += block.len();
    }
    None
}

/// The longest run that every text of a sequence holds.
pub(super) fn best_run(parts: &[(&Node, Extent)]) -> Option<Run> {
    let mut best: Option<Run> = None;
    let mut before = Extent::NOTHING;
    for (place, &(node, own)) in parts.iter().enumerate() {
        let Some(farthest) = before.most.filter(|&most| most <= FARTHEST_RUN) else { return best };
        let mut consider = |run: Run| {
            if run.least >= SHORTEST_RUN && best.is_none_or(|best| best.least < run.least) {
                best = Some(run);
            }
        };
        let mut inside = Extent::NOTHING;
        for &(_, part) in parts.get(place..).unwrap_or_default() {
            inside = inside.then(part);
            if !inside.bytes.is_value() {
                break;
            }
            consider(Run { bytes: inside.bytes, least: inside.least, from: before.least, to: farthest });
        }
        if let Node::Either(branches) = node
            && let Some(run) = run_of_any(branches)
        {
            consider(Run { from: run.from + before.least, to: run.to + farthest, ..run });
        }
        before = before.then(own);
    }
    best
}

/// A run that stands in a text of any of the branches.
fn run_of_any(branches: &[Node]) -> Option<Run> {
    let mut runs = branches.iter().map(|branch| match branch {
        Node::Concat(nodes) => best_run(&measured(nodes)),
        other => best_run(&measured(std::slice::from_ref(other))),
    });
    let first = runs.next()??;
    runs.try_fold(first, |all, run| Some(all.or(run?)))
}

fn measured(nodes: &[Node]) -> Vec<(&Node, Extent)> {
    nodes.iter().map(|node| (node, extent(node))).collect()
}

/// A shorter run decides nothing.
const SHORTEST_RUN: usize = 6;
/// A run that can be farther off is not looked for, in bytes.
const FARTHEST_RUN: usize = 512;

impl Run {
    /// One that either of the two is.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.union(other.bytes),
            least: self.least.min(other.least),
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}
