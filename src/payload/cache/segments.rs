//! Records of one length in a file that is appended to, piece by piece, each piece with a checksum.
//!
//! Promise: a reader sees whole pieces or none, whoever writes at the same time and wherever a writer
//! was killed; what does not check is passed over. Nobody waits for a writer: who finds the file in use
//! does not write.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Starts every piece; the number is the format's version.
const MAGIC: &[u8; 8] = b"tyran\0\0\x02";

/// Magic, length of a record, bytes of records, their CRC-32 and that of what stands before it.
const HEADER_LEN: usize = 8 + 4 + 8 + 4 + 4;

/// With more pieces than this the file is written anew as one.
const PIECES: usize = 32;

/// Where the records of one piece stand in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) len: usize,
}

impl Place {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.len as u64)
    }
}

/// One file of records.
#[derive(Debug)]
pub(super) struct Segments {
    path: PathBuf,
    record_len: usize,
    most_bytes: usize,
}

impl Segments {
    /// The file at `path`, which need not be there, of at most about `most_bytes`.
    pub(super) fn new(path: PathBuf, record_len: usize, most_bytes: usize) -> Self {
        Self { path, record_len, most_bytes }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// All pieces that check, oldest first.
    pub(super) fn load(&self) -> Vec<Vec<u8>> {
        let Ok(file) = File::open(&self.path) else { return Vec::new() };
        let mut bytes = Vec::new();
        // A writer keeps the file near its bound; what is far over it is not ours.
        let most = self.most_bytes as u64 * 3 + (1 << 20);
        if file.take(most).read_to_end(&mut bytes).is_err() {
            return Vec::new();
        }
        self.pieces(&bytes)
    }

    fn pieces(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while let Some((header, after)) = rest.split_at_checked(HEADER_LEN) {
            let Some((len, checksum)) = self.header(header) else { break };
            let Some((body, after)) = after.split_at_checked(len) else { break };
            if crc32fast::hash(body) == checksum {
                pieces.push(body.to_owned());
            }
            rest = after;
        }
        pieces
    }

    /// Length and checksum of the records behind a header.
    fn header(&self, header: &[u8]) -> Option<(usize, u32)> {
        let (told, own_checksum) = header.split_last_chunk::<4>()?;
        if crc32fast::hash(told) != u32::from_be_bytes(*own_checksum) {
            return None;
        }
        let (record_len, rest) = told.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
        let (len, checksum) = rest.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_be_bytes(*len)).ok()?;
        let ours = u32::from_be_bytes(*record_len) as usize == self.record_len && len.is_multiple_of(self.record_len);
        ours.then_some((len, u32::from_be_bytes(checksum.try_into().ok()?)))
    }

    fn piece(&self, body: &[u8]) -> Vec<u8> {
        let mut piece = Vec::with_capacity(HEADER_LEN + body.len());
        piece.extend(MAGIC);
        piece.extend(u32::try_from(self.record_len).unwrap_or(0).to_be_bytes());
        piece.extend((body.len() as u64).to_be_bytes());
        piece.extend(crc32fast::hash(body).to_be_bytes());
        piece.extend(crc32fast::hash(&piece).to_be_bytes());
        piece.extend(body);
        piece
    }

    /// Adds records; `merge` makes one piece of several. Whether they were written.
    pub(super) fn append(&self, records: &[u8], merge: impl Fn(&[Vec<u8>]) -> Vec<u8>) -> bool {
        if records.is_empty() {
            return true;
        }
        let Some(_lock) = self.lock() else { return false };
        match self.whole_pieces() {
            Some((count, bytes)) if count < PIECES && bytes + records.len() <= self.most_bytes => {
                self.append_piece(&self.piece(records))
            }
            Some(_) | None => self.rewrite(records, merge),
        }
    }

    /// Nobody else writes while this is held. Killed writers leave no lock behind.
    fn lock(&self) -> Option<File> {
        let file = private().create(true).truncate(false).write(true).open(self.path.with_extension("lock")).ok()?;
        file.try_lock().ok()?;
        Some(file)
    }

    /// How many pieces and bytes the file has; `None` when a piece is cut short or damaged, behind
    /// which nobody would look.
    fn whole_pieces(&self) -> Option<(usize, usize)> {
        let Ok(mut file) = File::open(&self.path) else { return Some((0, 0)) };
        let end = file.metadata().ok()?.len();
        let places = self.places_in(&mut file, end);
        let at = places.last().map_or(0, Place::end);
        (at == end).then_some((places.len(), usize::try_from(end).ok()?))
    }

    /// The file, and where in it the records of its pieces stand, oldest first; what they hold was not checked.
    pub(super) fn places(&self) -> Option<(File, Vec<Place>)> {
        let mut file = File::open(&self.path).ok()?;
        let end = file.metadata().ok()?.len();
        let places = self.places_in(&mut file, end);
        Some((file, places))
    }

    /// Up to the first piece that is cut short, or whose header does not check.
    fn places_in(&self, file: &mut File, end: u64) -> Vec<Place> {
        let mut places = Vec::new();
        let mut at = 0;
        let mut header = [0; HEADER_LEN];
        while at < end && file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut header)).is_ok() {
            let Some((len, _)) = self.header(&header) else { break };
            let place = Place { at: at + HEADER_LEN as u64, len };
            at = place.end();
            if at > end {
                break;
            }
            places.push(place);
        }
        places
    }

    fn append_piece(&self, piece: &[u8]) -> bool {
        let Ok(mut file) = private().create(true).append(true).open(&self.path) else { return false };
        file.write_all(piece).is_ok()
    }

    /// Writes the file anew: the new records, and of the old pieces the newest that fit.
    fn rewrite(&self, records: &[u8], merge: impl Fn(&[Vec<u8>]) -> Vec<u8>) -> bool {
        let records = records.get(records.len().saturating_sub(self.most_bytes / 2)..).unwrap_or_default();
        let records = records.get(records.len() % self.record_len..).unwrap_or_default();
        let mut kept = vec![records.to_owned()];
        let mut bytes = records.len();
        for piece in self.load().into_iter().rev() {
            bytes += piece.len();
            // Half of the bound stays free, so that a full file is not written anew each time.
            if bytes > self.most_bytes / 2 {
                break;
            }
            kept.push(piece);
        }
        kept.reverse();
        let fresh = self.path.with_extension("new");
        let written = private()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&fresh)
            .and_then(|mut file| file.write_all(&self.piece(&merge(&kept))));
        written.is_ok() && fs::rename(&fresh, &self.path).is_ok()
    }
}

/// For its owner alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
