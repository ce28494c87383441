//! Sorted keys in blocks of one size, each with a checksum, so that a few are looked up without reading all.
//!
//! Promise: a key is held only if a block that checks has it. A small push asks some dozens of keys of some
//! hundred thousand: each is found by reading the one or two blocks of a piece where it must stand, since keys
//! are hashes and spread evenly. Whoever asks many has the piece read whole.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::KEY_LEN;
use super::segments::Place;

/// Length of a block, in bytes: how many keys, the keys, zeros, the CRC-32 of all of it.
pub(super) const BLOCK_LEN: usize = 4096;

const COUNT_LEN: usize = 2;
const CHECKSUM_LEN: usize = 4;
const KEYS: usize = (BLOCK_LEN - COUNT_LEN - CHECKSUM_LEN) / KEY_LEN;

/// Blocks that are read one by one before the piece is read whole, as a part of all: by then that is cheaper.
const PART_READ_SINGLY: usize = 8;

/// A key.
pub(super) type Key = [u8; KEY_LEN];

/// Sorted keys as blocks.
pub(super) fn written(keys: &[Key]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(keys.len().div_ceil(KEYS) * BLOCK_LEN);
    for keys in keys.chunks(KEYS) {
        let start = bytes.len();
        bytes.extend(u16::try_from(keys.len()).unwrap_or(0).to_be_bytes());
        bytes.extend(keys.iter().flatten());
        bytes.resize(start + BLOCK_LEN - CHECKSUM_LEN, 0);
        let checksum = crc32fast::hash(bytes.get(start..).unwrap_or_default());
        bytes.extend(checksum.to_be_bytes());
    }
    bytes
}

/// The keys of all blocks that check, in their order.
pub(super) fn keys(blocks: &[u8]) -> impl Iterator<Item = &Key> {
    blocks.chunks(BLOCK_LEN).filter_map(checked).flatten()
}

/// The keys of a block, if it checks.
fn checked(block: &[u8]) -> Option<&[Key]> {
    let (told, checksum) = block.split_last_chunk::<CHECKSUM_LEN>()?;
    let (count, keys) = told.split_first_chunk::<COUNT_LEN>()?;
    let keys = keys.as_chunks::<KEY_LEN>().0.get(..usize::from(u16::from_be_bytes(*count)))?;
    (block.len() == BLOCK_LEN && crc32fast::hash(told) == u32::from_be_bytes(*checksum)).then_some(keys)
}

/// A file of pieces of blocks, as it was when it was opened.
#[derive(Debug)]
pub(super) struct Table {
    file: File,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    place: Place,
    read: PartRead,
}

/// What of a piece was read.
#[derive(Debug)]
enum PartRead {
    /// These blocks; one that does not check has no keys.
    Blocks(HashMap<usize, Vec<u8>>),
    Whole(Sorted),
}

impl Table {
    pub(super) fn new(file: File, places: Vec<Place>) -> Self {
        let pieces = places.into_iter().map(|place| Piece { place, read: PartRead::Blocks(HashMap::new()) });
        Self { file, pieces: pieces.collect() }
    }

    /// Whether a piece has the key.
    pub(super) fn holds(&mut self, key: &Key) -> bool {
        let file = &mut self.file;
        self.pieces.iter_mut().any(|piece| piece.holds(key, file))
    }
}

impl Piece {
    fn blocks(&self) -> usize {
        self.place.len / BLOCK_LEN
    }

    fn holds(&mut self, key: &Key, file: &mut File) -> bool {
        let blocks = self.blocks();
        let is_much_read = match &self.read {
            PartRead::Whole(keys) => return keys.hold(key),
            PartRead::Blocks(read) => read.len() > blocks / PART_READ_SINGLY,
        };
        if is_much_read {
            let whole = part(file, self.place.at, self.place.len).unwrap_or_default();
            let keys = Sorted::new(keys(&whole).copied().collect());
            let is_held = keys.hold(key);
            self.read = PartRead::Whole(keys);
            return is_held;
        }
        // The block where it would stand among evenly spread keys, then ever further from there.
        let (mut low, mut high, mut step) = (0, blocks, 1);
        let mut next = usize::try_from((leading(key) * blocks as u64) >> u32::BITS).unwrap_or(0);
        while low < high {
            let place = next.clamp(low, high - 1);
            let near = self.block(place, file);
            let (Some(first), Some(last)) = (near.first(), near.last()) else { return false };
            if key < first {
                high = place;
                next = place.saturating_sub(step);
            } else if key > last {
                low = place + 1;
                next = place + step;
            } else {
                return near.binary_search(key).is_ok();
            }
            step *= 2;
        }
        false
    }

    /// The keys of one block.
    fn block(&mut self, place: usize, file: &mut File) -> &[Key] {
        let PartRead::Blocks(read) = &mut self.read else { return &[] };
        let at = self.place.at + (place * BLOCK_LEN) as u64;
        let block = read.entry(place).or_insert_with(|| {
            let block = part(file, at, BLOCK_LEN).unwrap_or_default();
            checked(&block).map(<[Key]>::as_flattened).unwrap_or_default().to_vec()
        });
        block.as_chunks().0
    }
}

fn part(file: &mut File, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// The first bytes of a key, as a number.
fn leading(key: &Key) -> u64 {
    let [a, b, c, d, ..] = *key;
    u64::from(u32::from_be_bytes([a, b, c, d]))
}

/// Sorted keys, and where those start that have the same first bits: a look-up comes to a handful in one step.
#[derive(Debug)]
struct Sorted {
    keys: Vec<Key>,
    /// One more than there are first bits, so that each start has an end.
    starts: Vec<u32>,
    bits: u32,
}

impl Sorted {
    fn new(keys: Vec<Key>) -> Self {
        let bits = (keys.len().max(1).ilog2()).saturating_sub(2).min(20);
        let mut starts = vec![0_u32; (1 << bits) + 1];
        for key in &keys {
            if let Some(count) = starts.get_mut(first_bits(key, bits) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Self { keys, starts, bits }
    }

    fn hold(&self, key: &Key) -> bool {
        let place = first_bits(key, self.bits);
        let (Some(start), Some(end)) = (self.starts.get(place), self.starts.get(place + 1)) else { return false };
        self.keys.get(*start as usize..*end as usize).is_some_and(|near| near.contains(key))
    }
}

fn first_bits(key: &Key, bits: u32) -> usize {
    usize::try_from(leading(key) >> (u32::BITS - bits)).unwrap_or(usize::MAX)
}
