//! Archives and compressed files, told by their bytes and never by their names.
//!
//! Promise: every member that can be unpacked is handed on with its name; what unpacks to more than the
//! budget allows, nests deeper or takes longer is a fault and not a skip. What is encrypted, damaged or
//! of a kind that is not unpacked here is noted, and was read as the bytes it is: nobody gets more out of
//! an encrypted one, and repositories hold damaged ones on purpose.

use std::cell::{Cell, RefCell};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use sha1::Digest as _;
use zip::CompressionMethod;

use super::unlisted;

/// How deep archives in archives are followed.
pub(super) const DEEPEST: usize = 8;
/// What any item may unpack to beyond a fixed amount: so many times its own size. Source code compresses five-fold, logs thirty-fold.
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
    Lzma,
    Zstandard,
    Zip,
    Tar,
    Ar,
    Zlib,
    Pdf,
}

/// What an item is, from its first 512 bytes.
pub(super) fn format(text: &[u8]) -> Option<Format> {
    match text {
        [0x1F, 0x8B, 0x08, ..] => Some(Format::Gzip),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Some(Format::Bzip2),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Format::Xz),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Format::Zstandard),
        [0x5D, 0, 0, _, _, size @ ..] if is_lzma_size(size) => Some(Format::Lzma),
        // The levels that are written; `x^` may begin a text as well.
        [0x78, 0x01 | 0x9C | 0xDA, ..] => Some(Format::Zlib),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(Format::Pdf),
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', ..] => Some(Format::Ar),
        [b'P', b'K', 3, 4, ..] => Some(Format::Zip),
        _ => is_tar(text).then_some(Format::Tar),
    }
}

/// The size in the header of a `.lzma` file: unknown, or less than 256 GiB, as file(1) tells it.
fn is_lzma_size(size: &[u8]) -> bool {
    size.first_chunk::<8>().is_some_and(|size| *size == [0xFF; 8] || matches!(size, [.., 0, 0, 0]))
}

/// An archive of a kind that is not unpacked here, from its first bytes.
pub(super) fn foreign(text: &[u8]) -> Option<&'static str> {
    match text {
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => Some("it is a 7z archive"),
        [b'R', b'a', b'r', b'!', 0x1A, 0x07, ..] => Some("it is a RAR archive"),
        [0x04, 0x22, 0x4D, 0x18, ..] => Some("it is compressed with LZ4"),
        [b'L', b'Z', b'I', b'P', 0 | 1, ..] => Some("it is compressed with lzip"),
        [b'M', b'S', b'C', b'F', 0, 0, 0, 0, ..] => Some("it is a cabinet"),
        _ => None,
    }
}

/// The bytes before a comment of a zip's directory's end, and the longest comment.
const ZIP_END: usize = 22;
/// So much of an end shows whether a zip ends there.
pub(super) const END: usize = ZIP_END + u16::MAX as usize;

/// Whether a zip ends a text that begins as something else: a program that unpacks itself, a script
/// that is run as an archive.
pub(super) fn ends_as_zip(text: &[u8]) -> bool {
    let end = text.get(text.len().saturating_sub(END)..).unwrap_or_default();
    memchr::memmem::find_iter(end, b"PK\x05\x06").any(|at| {
        let comment = end.get(at + ZIP_END - 2..at + ZIP_END).and_then(|length| <[u8; 2]>::try_from(length).ok());
        comment.is_some_and(|length| at + ZIP_END + usize::from(u16::from_le_bytes(length)) == end.len())
    })
}

/// Whether what begins so is worth a look at its end when it is large.
pub(super) fn may_end_as_zip(beginning: &[u8]) -> bool {
    matches!(beginning, [b'M', b'Z', ..] | [0x7F, b'E', b'L', b'F', ..] | [b'#', b'!', ..])
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
    unread: RefCell<Vec<&'static str>>,
    open: RefCell<Vec<[u8; 20]>>,
}

impl Budget {
    /// For an item of `packed` bytes: `fixed` bytes, and [`RATIO`] times its size.
    pub(super) fn new(packed: u64, fixed: u64) -> Self {
        let left = fixed.saturating_add(packed.saturating_mul(RATIO));
        Self {
            left: Cell::new(left),
            ends: Instant::now() + LONGEST,
            exceeded: Cell::new(None),
            unread: RefCell::default(),
            open: RefCell::default(),
        }
    }

    /// Notes that something was read as the bytes it is only.
    pub(super) fn note(&self, why: &'static str) {
        let mut unread = self.unread.borrow_mut();
        if !unread.contains(&why) {
            unread.push(why);
        }
    }

    /// What was read as the bytes it is only, and why.
    pub(super) fn unread(&self) -> Vec<&'static str> {
        self.unread.borrow().clone()
    }

    /// Whether an archive is not inside of itself. An archive can be made that holds itself, byte for
    /// byte; there is nothing in it that was not read.
    pub(super) fn enter(&self, archive: &[u8]) -> bool {
        let hash: [u8; 20] = sha1::Sha1::digest(archive).into();
        let mut open = self.open.borrow_mut();
        let is_new = !open.contains(&hash);
        open.push(hash);
        is_new
    }

    /// Leaves what was entered last.
    pub(super) fn leave(&self) {
        self.open.borrow_mut().pop();
    }

    /// Why it was exceeded, if it was.
    pub(super) fn exceeded(&self) -> Option<&'static str> {
        self.exceeded.get()
    }

    /// What was kept of the archive cannot be read again: that is no end of it.
    pub(super) fn lost(&self) {
        self.exceeded.set(Some("what was kept of it in memory or in the directory for temporary files cannot be read"));
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => self.left.set(left),
            None => self.exceeded.set(Some("it unpacks to more than a fixed amount (256 MiB) and 256 times its size")),
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
pub(super) struct Paid<'b, R> {
    pub(super) inner: R,
    pub(super) budget: &'b Budget,
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

/// Where `text` stands first, from `at` on and beginning before `end`. What cannot be read is a refusal.
pub(super) fn find(source: &mut dyn Source, text: &[u8], mut at: u64, end: u64, budget: &Budget) -> Option<u64> {
    /// So much is searched at once.
    const STEP: usize = 64 << 10;
    let mut piece = Vec::with_capacity(STEP + text.len());
    while at < end {
        piece.clear();
        // One that begins before the end may reach behind it.
        let length = (end - at).min(STEP as u64) + text.len() as u64 - 1;
        let read = source.seek(SeekFrom::Start(at)).and_then(|_| (&mut *source).take(length).read_to_end(&mut piece));
        if read.is_err() {
            budget.lost();
            return None;
        }
        if let Some(place) = memchr::memmem::find(&piece, text) {
            return Some(at + place as u64).filter(|&found| found < end);
        }
        at += STEP as u64;
    }
    None
}

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
        Format::Lzma => match lzma_rust2::LzmaReader::new_mem_limit(source, MEMORY_KIB, None) {
            Ok(inner) => visit(b"", &mut Paid { inner, budget }),
            Err(_) => noted(budget, DAMAGED),
        },
        Format::Zstandard => visit(b"", &mut Paid { inner: Frames { source: Some(source), open: None }, budget }),
        Format::Tar => tar_members(source, budget, visit),
        Format::Zip => zip_members(source, budget, visit),
        Format::Ar => ar_members(source, budget, visit),
        Format::Zlib => visit(b"", &mut Paid { inner: flate2::read::ZlibDecoder::new(source), budget }),
        Format::Pdf => pdf_streams(source, budget, visit),
    }
}

/// What was noted where the rest of an archive cannot be told apart.
pub(super) const DAMAGED: &str = "it is damaged, or not what its first bytes say";
pub(super) const ENCRYPTED: &str = "members are encrypted";
pub(super) const METHOD: &str = "members are compressed in a way that tyran does not know";

fn noted<E>(budget: &Budget, why: &'static str) -> Result<(), E> {
    budget.note(why);
    Ok(())
}

/// Frames of Zstandard, one behind another; those that are to be skipped are.
struct Frames<'s> {
    source: Option<&'s mut dyn Source>,
    open: Option<StreamingDecoder<&'s mut dyn Source, FrameDecoder>>,
}

impl Frames<'_> {
    /// Opens the next frame; whether there is one.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(source) = self.source.take() else { return Ok(false) };
        let mut magic = [0; 4];
        loop {
            let beginning = source.stream_position()?;
            let mut read = 0;
            while let Some(rest) = magic.get_mut(read..).filter(|rest| !rest.is_empty()) {
                match source.read(rest)? {
                    0 => break,
                    more => read += more,
                }
            }
            match (read, magic) {
                (0, _) => return Ok(false),
                (4, [0x50..=0x5F, 0x2A, 0x4D, 0x18]) => {
                    let mut length = [0; 4];
                    source.read_exact(&mut length)?;
                    source.seek(SeekFrom::Current(i64::from(u32::from_le_bytes(length))))?;
                }
                _ => {
                    source.seek(SeekFrom::Start(beginning))?;
                    self.open = Some(StreamingDecoder::new(source).map_err(io::Error::other)?);
                    return Ok(true);
                }
            }
        }
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(open) = &mut self.open {
                let read = open.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.source = self.open.take().map(StreamingDecoder::into_inner);
            }
            if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

fn tar_members<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let mut archive = tar::Archive::new(source);
    archive.set_ignore_zeros(true);
    let Ok(entries) = archive.entries() else { return noted(budget, DAMAGED) };
    for entry in entries {
        // Behind a damaged header nothing can be told apart; the bytes were read as they are.
        let Ok(entry) = entry else { return noted(budget, DAMAGED) };
        let name = entry.path_bytes().into_owned();
        // As git's own blob of a link holds it.
        if let Some(target) = entry.link_name_bytes() {
            visit(&name, &mut Paid { inner: &*target, budget })?;
        }
        visit(&name, &mut Paid { inner: entry, budget })?;
        if budget.exceeded().is_some() {
            return Ok(());
        }
    }
    Ok(())
}

/// The streams of a PDF that zlib has compressed, files in it among them (ISO 32000-1, 7.3.8 and 7.4.4). What else
/// is in them was read as the bytes it is.
fn pdf_streams<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    const KEYWORD: &[u8] = b"stream";
    let Ok(size) = source.seek(SeekFrom::End(0)) else {
        budget.lost();
        return Ok(());
    };
    let mut at = 0;
    while let Some(found) = find(source, KEYWORD, at, size, budget) {
        at = found + KEYWORD.len() as u64;
        let mut beginning = Vec::new();
        if source.seek(SeekFrom::Start(at)).and_then(|_| (&mut *source).take(4).read_to_end(&mut beginning)).is_err() {
            budget.lost();
            return Ok(());
        }
        let feed = if beginning.starts_with(b"\r\n") { 2 } else { 1 };
        let is_behind_a_feed = feed == 2 || beginning.starts_with(b"\n");
        let is_zlib =
            matches!(beginning.get(feed..), Some([0x78, flags, ..]) if (0x7800 + u16::from(*flags)) % 31 == 0);
        if !is_behind_a_feed || !is_zlib || source.seek(SeekFrom::Start(at + feed as u64)).is_err() {
            continue;
        }
        let mut inner = flate2::bufread::ZlibDecoder::new(BufReader::new(&mut *source));
        visit(KEYWORD, &mut Paid { inner: &mut inner, budget })?;
        if budget.exceeded().is_some() {
            return Ok(());
        }
        at += feed as u64 + inner.total_in();
    }
    Ok(())
}

/// Members that are archives themselves, as in Debian's packages; all others were read as the bytes they are, which
/// for a library of objects is what they hold (ar(5)).
fn ar_members<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    const MAGIC_LEN: u64 = 8;
    const HEADER_LEN: usize = 60;
    const BEGINNING_LEN: u64 = 512;
    let mut at = MAGIC_LEN;
    loop {
        let mut header = [0; HEADER_LEN];
        if source.seek(SeekFrom::Start(at)).and_then(|_| source.read_exact(&mut header)).is_err() {
            return Ok(());
        }
        let (name, size) = (header.get(..16).unwrap_or_default(), header.get(48..58).unwrap_or_default());
        let size = std::str::from_utf8(size).ok().and_then(|size| size.trim_end().parse::<u64>().ok());
        let Some(size) = size.filter(|_| header.ends_with(b"`\n")) else { return noted(budget, DAMAGED) };
        let (start, mut beginning) = (at + HEADER_LEN as u64, Vec::new());
        if (&mut *source).take(size.min(BEGINNING_LEN)).read_to_end(&mut beginning).is_err() {
            return noted(budget, DAMAGED);
        }
        if format(&beginning).is_some() && source.seek(SeekFrom::Start(start)).is_ok() {
            let inner = (&mut *source).take(size);
            visit(name.trim_ascii_end(), &mut Paid { inner, budget })?;
        }
        if budget.exceeded().is_some() {
            return Ok(());
        }
        // Members begin at even places.
        at = start.saturating_add(size).saturating_add(size % 2);
    }
}

/// What the directory lists, then what it does not.
fn zip_members<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<(), E> {
    let listed = zip_listed(&mut *source, budget, visit)?;
    unlisted::members(source, listed, budget, visit)
}

/// Where the members stand that are listed.
fn zip_listed<E>(source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<Vec<(u64, u64)>, E> {
    let mut places = Vec::new();
    let Ok(mut archive) = zip::ZipArchive::new(BufReader::new(source)) else {
        budget.note(DAMAGED);
        return Ok(places);
    };
    for place in 0..archive.len() {
        let (name, method) = match archive.by_index_raw(place) {
            Ok(member) => {
                let end = member.data_start().map(|start| start.saturating_add(member.compressed_size()));
                places.extend(end.map(|end| (member.header_start(), end)));
                if member.encrypted() {
                    budget.note(ENCRYPTED);
                    continue;
                }
                (member.name_raw().to_vec(), member.compression())
            }
            Err(_) => {
                budget.note(DAMAGED);
                continue;
            }
        };
        zip_member(&mut archive, place, &name, method, budget, visit)?;
        if budget.exceeded().is_some() {
            break;
        }
    }
    Ok(places)
}

fn zip_member<E>(
    archive: &mut zip::ZipArchive<BufReader<&mut dyn Source>>,
    place: usize,
    name: &[u8],
    method: CompressionMethod,
    budget: &Budget,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    if matches!(method, CompressionMethod::ZSTD | CompressionMethod::XZ) {
        let Ok(packed) = archive.by_index_raw(place) else { return noted(budget, DAMAGED) };
        if method == CompressionMethod::XZ {
            let inner = lzma_rust2::XzReader::new_mem_limit(packed, true, MEMORY_KIB);
            return visit(name, &mut Paid { inner, budget });
        }
        return match StreamingDecoder::new(packed) {
            Ok(inner) => visit(name, &mut Paid { inner, budget }),
            Err(_) => noted(budget, DAMAGED),
        };
    }
    match archive.by_index(place) {
        Ok(inner) => visit(name, &mut Paid { inner, budget }),
        Err(zip::result::ZipError::UnsupportedArchive(_) | zip::result::ZipError::CompressionMethodNotSupported(_)) => {
            noted(budget, METHOD)
        }
        Err(_) => noted(budget, DAMAGED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of which the bytes behind a place cannot be read.
    struct Failing(io::Cursor<Vec<u8>>, u64);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.position() >= self.1 {
                return Err(io::Error::other("no such bytes"));
            }
            let most = (self.1 - self.0.position()).min(buffer.len() as u64) as usize;
            self.0.read(&mut buffer[..most])
        }
    }

    impl Seek for Failing {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn what_cannot_be_read_again_is_no_end_of_an_archive() {
        let mut source = Failing(io::Cursor::new(vec![b'x'; 300_000]), 100_000);
        let budget = Budget::new(300_000, 1 << 20);
        assert_eq!(find(&mut source, b"PK", 0, 60_000, &budget), None);
        assert_eq!(budget.exceeded(), None);
        assert_eq!(find(&mut source, b"PK", 0, 300_000, &budget), None);
        assert!(budget.exceeded().is_some());
        let visited = pdf_streams(&mut source, &Budget::new(300_000, 1 << 20), &mut |_, _| Ok::<(), ()>(()));
        assert_eq!(visited, Ok(()));
    }
}
