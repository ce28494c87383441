//! Archives and compressed files, told by their first bytes and never by their names.
//!
//! Promise: every member that can be unpacked is handed on with its name; what unpacks to more than the
//! budget allows, nests deeper or takes longer is a fault and not a skip. What is encrypted or
//! damaged cannot be unpacked by anybody who has no more than these bytes; these have been read as they
//! are.

use std::cell::Cell;
use std::io::{self, Read, Seek};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

/// How deep archives in archives are followed.
pub(super) const DEEPEST: usize = 8;
/// What any item may unpack to, in bytes.
const BASE_BYTES: u64 = 256 << 20;
/// And so many times its own size. Source code compresses five-fold, logs thirty-fold.
const RATIO: u64 = 256;
/// How long unpacking an item may take, what is found in it included.
const LONGEST: Duration = Duration::from_secs(120);
/// What a decompressor may hold, in KiB.
const MEMORY_KIB: u32 = 128 << 10;

/// What a beginning says that an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Gzip,
    Bzip2,
    Xz,
    Zstandard,
    Zip,
    Tar,
}

/// How much of a beginning decides.
pub(super) const BEGINNING: usize = 512;

/// What an item is, from its first bytes.
pub(super) fn format(text: &[u8]) -> Option<Format> {
    match text {
        [0x1F, 0x8B, 0x08, ..] => Some(Format::Gzip),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Some(Format::Bzip2),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Format::Xz),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Format::Zstandard),
        [b'P', b'K', 3, 4, ..] => Some(Format::Zip),
        _ => is_tar(text).then_some(Format::Tar),
    }
}

/// The header's checksum is right, as for `tar` itself.
fn is_tar(text: &[u8]) -> bool {
    let Some(header) = text.first_chunk::<512>() else { return false };
    let digits = header.get(148..156).unwrap_or_default();
    let digits: String = digits.iter().map(|&byte| char::from(byte)).filter(|digit| digit.is_digit(8)).collect();
    let sum = |(place, &byte): (usize, &u8)| u64::from(if (148..156).contains(&place) { b' ' } else { byte });
    let real: u64 = header.iter().enumerate().map(sum).sum();
    header.first() != Some(&0) && u64::from_str_radix(&digits, 8).is_ok_and(|told| told == real)
}

/// What an item may still cost.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    ends: Instant,
    exceeded: Cell<Option<&'static str>>,
}

impl Budget {
    /// For an item of so many bytes.
    pub(super) fn new(packed: u64) -> Self {
        let left = BASE_BYTES.saturating_add(packed.saturating_mul(RATIO));
        Self { left: Cell::new(left), ends: Instant::now() + LONGEST, exceeded: Cell::new(None) }
    }

    /// Why it was exceeded, if it was.
    pub(super) fn exceeded(&self) -> Option<&'static str> {
        self.exceeded.get()
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => self.left.set(left),
            None => self.exceeded.set(Some("it unpacks to more than 256 MiB and 256 times its size")),
        }
        if Instant::now() > self.ends {
            self.exceeded.set(Some("unpacking it takes longer than two minutes"));
        }
        match self.exceeded.get() {
            Some(why) => Err(io::Error::other(why)),
            None => Ok(()),
        }
    }
}

/// A reader whose bytes are paid for.
struct Paid<'b, R> {
    inner: R,
    budget: &'b Budget,
}

impl<R: Read> Read for Paid<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.budget.take(read)?;
        Ok(read)
    }
}

/// Something that can be read again from any place.
pub(super) trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// What is done with a member: its name (empty for a file that is merely compressed), its bytes, and the
/// budget that they are paid from.
pub(super) type Visit<'v, E> = dyn FnMut(&[u8], &mut dyn Read) -> Result<(), E> + 'v;

/// Hands every member of an archive to `visit`.
///
/// # Errors
/// Only those of `visit`; a budget that is exceeded says so itself.
pub(super) fn members<E>(
    format: Format,
    source: &mut dyn Source,
    budget: &Budget,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    match format {
        Format::Gzip => visit(b"", &mut Paid { inner: MultiGzDecoder::new(source), budget }),
        Format::Bzip2 => visit(b"", &mut Paid { inner: bzip2::read::MultiBzDecoder::new(source), budget }),
        Format::Xz => {
            let inner = lzma_rust2::XzReader::new_mem_limit(source, true, MEMORY_KIB);
            visit(b"", &mut Paid { inner, budget })
        }
        Format::Zstandard => match ruzstd::decoding::StreamingDecoder::new(source) {
            Ok(inner) => visit(b"", &mut Paid { inner, budget }),
            Err(_) => Ok(()),
        },
        Format::Tar => tar_members(source, budget, visit),
        Format::Zip => zip_members(source, budget, visit),
    }
}

fn tar_members<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let mut archive = tar::Archive::new(source);
    archive.set_ignore_zeros(true);
    let Ok(entries) = archive.entries() else { return Ok(()) };
    for entry in entries {
        // Behind a damaged header nothing can be told apart; the bytes were read as they are.
        let Ok(entry) = entry else { return Ok(()) };
        let name = entry.path_bytes().into_owned();
        visit(&name, &mut Paid { inner: entry, budget })?;
        if budget.exceeded().is_some() {
            return Ok(());
        }
    }
    Ok(())
}

fn zip_members<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let Ok(mut archive) = zip::ZipArchive::new(source) else { return Ok(()) };
    for place in 0..archive.len() {
        let Ok(member) = archive.by_index(place) else { continue };
        let name = member.name_raw().to_vec();
        visit(&name, &mut Paid { inner: member, budget })?;
        if budget.exceeded().is_some() {
            return Ok(());
        }
    }
    Ok(())
}
