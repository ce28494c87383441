//! Objects that are too large for memory, as streams.
//!
//! Promise: whatever an object's size and however it is stored, a few buffers of memory are enough. A
//! large delta is applied from file to file: its base is inflated into a temporary file that has no
//! name, and the delta's instructions are read as they come.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use flate2::bufread::ZlibDecoder;
use gix::hash::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::data::Entry;

use super::delta::{self, Broken, Step};
use super::hash::{Format, Hasher};
use super::loose;
use super::pack::{Pack, Packed};
use super::store::{ObjectStore, Place};
use crate::payload::Fault;
use crate::text::SafeText;

/// How long a chain of large deltas may be; this ends a circle.
const CHAIN_LIMIT: usize = 1 << 14;

/// An object as a stream which ends well only when size and hash are right.
pub(super) struct Large<'s> {
    pub(super) kind: Kind,
    pub(super) size: u64,
    bytes: Box<dyn Read + 's>,
    hasher: Option<Hasher>,
    left: u64,
    id: ObjectId,
    /// Whether it was read to its end and is what its id says.
    pub(super) sound: bool,
    /// Whether reading it failed.
    pub(super) failed: bool,
}

impl<'s> Large<'s> {
    /// Opens the copy of `id` at `place`.
    pub(super) fn open(store: &'s ObjectStore, id: &ObjectId, place: Place) -> Result<Self, Fault> {
        match place {
            Place::Loose(number) => {
                let stream = loose::stream(store.objects_dir(number)?, id)?.ok_or_else(|| store.missing(id))?;
                let stream = stream.map_err(|broken| store.broken(id, place, &broken))?;
                Ok(Self::new(store.format(), *id, stream.kind, stream.size, stream.bytes))
            }
            Place::Packed(packed) => {
                let pack = store.pack(packed)?;
                let opened = open_packed(pack, packed).map_err(|error| match error {
                    Stop::Broken(broken) => store.broken(id, place, &broken),
                    Stop::Io(error) => Fault::File {
                        path: "temporary file for a large object".into(),
                        what: SafeText::new(&error.to_string()),
                    },
                })?;
                Ok(Self::new(store.format(), *id, opened.kind, opened.size, opened.bytes))
            }
        }
    }

    fn new(format: Format, id: ObjectId, kind: Kind, size: u64, bytes: Box<dyn Read + 's>) -> Self {
        Self { kind, size, bytes, hasher: Some(format.hasher(kind, size)), left: size, id, sound: false, failed: false }
    }
}

impl Read for Large<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_checked(buffer);
        self.failed |= read.is_err();
        read
    }
}

impl Large<'_> {
    fn read_checked(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = self.bytes.read(buffer)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| wrong("an object is longer than it says"))?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        if count > 0 {
            return Ok(count);
        }
        if self.left > 0 {
            return Err(wrong("an object is shorter than it says"));
        }
        if let Some(hasher) = self.hasher.take() {
            self.sound = hasher.is(&self.id);
        }
        if self.sound { Ok(0) } else { Err(wrong("an object does not hash to its id")) }
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

struct Opened<'p> {
    kind: Kind,
    size: u64,
    bytes: Box<dyn Read + 'p>,
}

enum Stop {
    Broken(Broken),
    Io(io::Error),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a packed object; all deltas of its chain but the last are applied into files.
fn open_packed(pack: &Pack, packed: Packed) -> Result<Opened<'_>, Stop> {
    let mut entry = pack.entry(packed.offset)?;
    let mut deltas = Vec::new();
    while let Some(offset) = pack.base_offset(&entry)? {
        if deltas.len() >= CHAIN_LIMIT {
            return Err(Broken::Corrupt("a chain of deltas does not end").into());
        }
        deltas.push(entry);
        entry = pack.entry(offset)?;
    }
    let kind = entry.header.as_kind().ok_or(Broken::Corrupt("a pack entry has no kind"))?;
    let mut opened = Opened { kind, size: entry.decompressed_size, bytes: Box::new(inflating(pack, &entry)?) };
    while let Some(entry) = deltas.pop() {
        let base = spool(&mut opened.bytes, opened.size)?;
        let made = Made::open(base, opened.size, inflating(pack, &entry)?)?;
        opened = Opened { kind, size: made.left, bytes: Box::new(BufReader::new(made)) };
    }
    Ok(opened)
}

fn inflating<'p>(pack: &'p Pack, entry: &Entry) -> Result<ZlibDecoder<&'p [u8]>, Broken> {
    pack.compressed(entry).map(ZlibDecoder::new)
}

/// All bytes of a stream in a temporary file, which must be as many as its header says.
fn spool(bytes: &mut dyn Read, size: u64) -> Result<File, Stop> {
    let mut file = BufWriter::new(tempfile::tempfile()?);
    let copied = io::copy(&mut bytes.take(size.saturating_add(1)), &mut file)?;
    if copied != size {
        return Err(Broken::Corrupt("an object has another size than it says").into());
    }
    file.flush()?;
    file.into_inner().map_err(|error| Stop::Io(error.into_error()))
}

/// What a delta makes of a base that stands in a file.
struct Made<'p> {
    base: File,
    base_size: u64,
    delta: BufReader<ZlibDecoder<&'p [u8]>>,
    /// Bytes that are still to be made.
    left: u64,
    step: Option<Open>,
}

/// An instruction that is not finished.
enum Open {
    Copy { left: u64 },
    Insert { left: usize },
}

impl<'p> Made<'p> {
    fn open(base: File, base_size: u64, delta: ZlibDecoder<&'p [u8]>) -> Result<Self, Stop> {
        let mut delta = BufReader::new(delta);
        let mut start = Vec::new();
        // Byte by byte, since the instructions follow at once.
        let mut numbers = 0;
        while numbers < 2 && start.len() < delta::HEADER_LEN {
            let mut byte = [0];
            delta.read_exact(&mut byte)?;
            start.extend(byte);
            numbers += u32::from(byte[0] & 0x80 == 0);
        }
        let header = delta::header(&start).ok_or(Broken::Corrupt("a delta's header cannot be read"))?;
        if header.base_size != base_size {
            return Err(Broken::Corrupt("a delta was made for another base").into());
        }
        Ok(Self { base, base_size, delta, left: header.result_size, step: None })
    }

    /// Reads the next instruction; `None` at the delta's end.
    fn next_step(&mut self) -> io::Result<Option<Open>> {
        if self.delta.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut first = [0];
        self.delta.read_exact(&mut first)?;
        let [first] = first;
        let mut arguments = [0; 7];
        let arguments = arguments.get_mut(..delta::argument_count(first)).unwrap_or_default();
        self.delta.read_exact(arguments)?;
        let step = delta::step(first, arguments).ok_or_else(|| wrong("a delta has an unknown instruction"))?;
        let len = match step {
            Step::Copy { len, .. } => len,
            Step::Insert { len } => len as u64,
        };
        self.left = self.left.checked_sub(len).ok_or_else(|| wrong("a delta makes more bytes than it says"))?;
        Ok(Some(match step {
            Step::Copy { from, len } => {
                if from.checked_add(len).is_none_or(|end| end > self.base_size) {
                    return Err(wrong("a delta copies from outside its base"));
                }
                self.base.seek(SeekFrom::Start(from))?;
                Open::Copy { left: len }
            }
            Step::Insert { len } => Open::Insert { left: len },
        }))
    }
}

impl Read for Made<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut step = match self.step.take() {
            Some(step) => step,
            None => match self.next_step()? {
                Some(step) => step,
                None if self.left == 0 => return Ok(0),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            },
        };
        let count = match &mut step {
            Open::Copy { left } => {
                let count = Read::by_ref(&mut self.base).take(*left).read(buffer)?;
                *left -= count as u64;
                count
            }
            Open::Insert { left } => {
                let count = Read::by_ref(&mut self.delta).take(*left as u64).read(buffer)?;
                *left -= count;
                count
            }
        };
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.step = match step {
            Open::Copy { left: 0 } | Open::Insert { left: 0 } => None,
            open => Some(open),
        };
        Ok(count)
    }
}
