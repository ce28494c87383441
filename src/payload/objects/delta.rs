//! Deltas: instructions that make an object out of another one.
//!
//! Promise: a delta that names bytes outside its base, or makes more or fewer bytes than it says, is
//! an error and never a panic, nor an allocation beyond the caller's bound.

/// Why a packed entry could not be turned into an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It, or something it is made from, is over the bound; it has to be streamed.
    TooLarge,
    /// It is not what the format allows.
    Corrupt(&'static str),
}

/// A delta's sizes and where its instructions start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) base_size: u64,
    pub(super) result_size: u64,
    pub(super) instructions: usize,
}

/// The most bytes a delta's header takes: two numbers of 64 bits, 7 in each byte.
pub(super) const HEADER_LEN: usize = 20;

/// Reads the sizes at the start of a delta.
pub(super) fn header(delta: &[u8]) -> Option<Header> {
    let (base_size, first) = number(delta)?;
    let (result_size, second) = number(delta.get(first..)?)?;
    Some(Header { base_size, result_size, instructions: first + second })
}

/// A number in groups of 7 bits, lowest first, and how many bytes it took.
fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(HEADER_LEN / 2) {
        let shift = u32::try_from(place).ok()? * 7;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((value, place + 1));
        }
    }
    None
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Bytes of the base.
    Copy { from: u64, len: u64 },
    /// Bytes that follow in the delta.
    Insert { len: usize },
}

/// How many bytes of arguments follow a first byte of a copy.
pub(super) fn argument_count(first: u8) -> usize {
    if first & 0x80 == 0 { 0 } else { (first & 0x7f).count_ones() as usize }
}

/// The instruction with this first byte and these arguments; `None` for the reserved zero.
pub(super) fn step(first: u8, arguments: &[u8]) -> Option<Step> {
    if first & 0x80 == 0 {
        return (first != 0).then_some(Step::Insert { len: usize::from(first) });
    }
    let mut arguments = arguments.iter();
    let (mut from, mut len) = (0_u64, 0_u64);
    for bit in 0..4 {
        if first & (1 << bit) != 0 {
            from |= u64::from(*arguments.next()?) << (8 * bit);
        }
    }
    for bit in 0..3 {
        if first & (0x10 << bit) != 0 {
            len |= u64::from(*arguments.next()?) << (8 * bit);
        }
    }
    Some(Step::Copy { from, len: if len == 0 { 0x10000 } else { len } })
}

/// Makes the object that `delta` describes, of at most `limit` bytes.
pub(super) fn apply(base: &[u8], delta: &[u8], limit: u64) -> Result<Vec<u8>, Broken> {
    let header = header(delta).ok_or(Broken::Corrupt("a delta's header cannot be read"))?;
    if header.base_size != base.len() as u64 {
        return Err(Broken::Corrupt("a delta was made for another base"));
    }
    if header.result_size > limit {
        return Err(Broken::TooLarge);
    }
    let size = usize::try_from(header.result_size).map_err(|_| Broken::TooLarge)?;
    let mut result = Vec::new();
    result.try_reserve_exact(size).map_err(|_| Broken::TooLarge)?;
    let mut rest = delta.get(header.instructions..).unwrap_or_default();
    while let Some((first, after)) = rest.split_first() {
        let (arguments, after) = after.split_at_checked(argument_count(*first)).ok_or(CUT_SHORT)?;
        let piece = match step(*first, arguments).ok_or(Broken::Corrupt("a delta has an unknown instruction"))? {
            Step::Copy { from, len } => {
                rest = after;
                usize::try_from(from)
                    .ok()
                    .zip(usize::try_from(from + len).ok())
                    .and_then(|(from, to)| base.get(from..to))
                    .ok_or(Broken::Corrupt("a delta copies from outside its base"))?
            }
            Step::Insert { len } => {
                let (piece, after) = after.split_at_checked(len).ok_or(CUT_SHORT)?;
                rest = after;
                piece
            }
        };
        if result.len() + piece.len() > size {
            return Err(Broken::Corrupt("a delta makes more bytes than it says"));
        }
        result.extend_from_slice(piece);
    }
    if result.len() == size { Ok(result) } else { Err(Broken::Corrupt("a delta makes fewer bytes than it says")) }
}

const CUT_SHORT: Broken = Broken::Corrupt("a delta is cut short");
