//! Objects that stand each in a file of its own.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::delta::Broken;
use super::pack::unreadable;
use crate::payload::Fault;

/// The most bytes a loose object's header takes: a kind, a blank, a number, a zero.
const HEADER_LEN: usize = 32;

/// The file of `id` below an object directory.
fn file_of(objects: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_hex().to_string();
    let (folder, name) = hex.split_at(2);
    objects.join(folder).join(name)
}

/// Opens the file of `id`, when there is one.
fn open(objects: &Path, id: &ObjectId) -> Result<Option<File>, Fault> {
    let path = file_of(objects, id);
    match File::open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// `None` where there is no such file; `Broken` where it is no object.
pub(super) type Found<T> = Result<Option<Result<T, Broken>>, Fault>;

/// Whether there is a file for `id`.
pub(super) fn exists(objects: &Path, id: &ObjectId) -> bool {
    file_of(objects, id).exists()
}

/// Kind and size from the header of `id`.
pub(super) fn header(objects: &Path, id: &ObjectId) -> Found<(Kind, u64)> {
    let Some(file) = open(objects, id)? else { return Ok(None) };
    Ok(Some(take_header(&mut inflating(file))))
}

/// A loose object as a stream behind its header.
pub(super) struct Stream {
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) bytes: Box<dyn Read>,
}

/// Opens `id` as a stream.
pub(super) fn stream(objects: &Path, id: &ObjectId) -> Found<Stream> {
    let Some(file) = open(objects, id)? else { return Ok(None) };
    let mut reader = inflating(file);
    Ok(Some(take_header(&mut reader).map(|(kind, size)| Stream { kind, size, bytes: Box::new(reader) })))
}

/// Reads the whole of `id`, at most `limit` bytes.
pub(super) fn read(
    objects: &Path,
    id: &ObjectId,
    inflate: &mut gix::zlib::Inflate,
    limit: u64,
) -> Found<(Kind, Vec<u8>)> {
    let Some(mut file) = open(objects, id)? else { return Ok(None) };
    let path = || file_of(objects, id);
    let len = file.metadata().map_err(|error| unreadable(&path(), &error))?.len();
    // Deflate makes at most 1032 bytes of one, and stored blocks make a file larger than its object
    // by five bytes in 32 KiB.
    if len > limit.saturating_add(limit / 1024).saturating_add(4096) {
        return Ok(Some(Err(Broken::TooLarge)));
    }
    let mut compressed = Vec::new();
    file.read_to_end(&mut compressed).map_err(|error| unreadable(&path(), &error))?;
    Ok(Some(inflate_whole(&compressed, inflate, limit)))
}

fn inflate_whole(compressed: &[u8], inflate: &mut gix::zlib::Inflate, limit: u64) -> Result<(Kind, Vec<u8>), Broken> {
    let mut start = [0; HEADER_LEN];
    inflate.reset();
    let (_, _, len) = inflate.prefix(compressed, &mut start).map_err(|_| NOT_ZLIB)?;
    let start = start.get(..len).unwrap_or_default();
    let header_len = memchr::memchr(0, start).ok_or(NO_HEADER)? + 1;
    let (kind, size) = parse_header(start)?;
    if size > limit {
        return Err(Broken::TooLarge);
    }
    let whole = usize::try_from(size).map_err(|_| Broken::TooLarge)? + header_len;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(whole).map_err(|_| Broken::TooLarge)?;
    bytes.resize(whole, 0);
    inflate.reset();
    let (status, consumed, written) = inflate.once(compressed, &mut bytes).map_err(|_| NOT_ZLIB)?;
    if status != gix::zlib::Status::StreamEnd || written != whole {
        return Err(Broken::Corrupt("a loose object has another size than it says"));
    }
    if consumed != compressed.len() {
        return Err(Broken::Corrupt("bytes follow a loose object in its file"));
    }
    bytes.drain(..header_len);
    Ok((kind, bytes))
}

type Inflating = BufReader<flate2::read::ZlibDecoder<File>>;

fn inflating(file: File) -> Inflating {
    BufReader::with_capacity(8 << 10, flate2::read::ZlibDecoder::new(file))
}

fn take_header(reader: &mut Inflating) -> Result<(Kind, u64), Broken> {
    let mut start = Vec::new();
    reader.by_ref().take(HEADER_LEN as u64).read_until(0, &mut start).map_err(|_| NOT_ZLIB)?;
    parse_header(&start)
}

fn parse_header(start: &[u8]) -> Result<(Kind, u64), Broken> {
    let end = memchr::memchr(0, start).ok_or(NO_HEADER)?;
    let text = start.get(..end).and_then(|header| std::str::from_utf8(header).ok()).ok_or(NO_HEADER)?;
    let (kind, size) = text.split_once(' ').ok_or(NO_HEADER)?;
    let kind = Kind::from_bytes(kind.as_bytes()).map_err(|_| NO_HEADER)?;
    Ok((kind, size.parse().map_err(|_| NO_HEADER)?))
}

const NOT_ZLIB: Broken = Broken::Corrupt("a loose object cannot be inflated");
const NO_HEADER: Broken = Broken::Corrupt("a loose object's header cannot be read");

/// Ids of all loose objects below an object directory.
pub(super) fn ids(objects: &Path, id_len: usize) -> Result<Vec<ObjectId>, Fault> {
    let mut ids = Vec::new();
    for first in 0..=255_u8 {
        let prefix = format!("{first:02x}");
        let folder = objects.join(&prefix);
        let listing = match fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable(&folder, &error)),
        };
        for file in listing {
            let name = file.map_err(|error| unreadable(&folder, &error))?.file_name();
            let Some(name) = name.to_str().filter(|name| name.len() + 2 == id_len * 2) else { continue };
            if let Ok(id) = ObjectId::from_hex(format!("{prefix}{name}").as_bytes()) {
                ids.push(id);
            }
        }
    }
    Ok(ids)
}
