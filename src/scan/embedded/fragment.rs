//! Where gitleaks cuts a file, and which beginnings make it look away.
//!
//! Promise: for a regular file the fragments of `gitleaks dir` and `gitleaks stdin < FILE` of version
//! 8.30.1, to the byte. Used for comparison only: what it cuts through or passes over, tyran reads.

/// What one read(2) of gitleaks asks for.
const BULK: usize = 100_000;
/// What its buffered reader holds.
const BUFFER: usize = 4096;
/// How far it looks for a blank line behind a bulk.
const PEEK: usize = 25_000;

/// Cuts one file.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    /// Bytes that the buffered reader still holds.
    held: usize,
    /// Line feeds in earlier fragments.
    pub(super) feeds: usize,
}

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A fragment of so many bytes.
    Fragment(usize),
    /// The rest is not read, since it begins like an application's file.
    Dropped,
    /// Nothing is left.
    End,
}

impl Cutter {
    /// The next cut, where `rest` is the rest of the file, or at least 125,000 bytes of it.
    pub(super) fn next(&mut self, rest: &[u8]) -> Cut {
        let bulk = rest.len().min(if self.held > 0 { self.held } else { BULK });
        let Some(bulk_text) = rest.get(..bulk).filter(|bulk| !bulk.is_empty()) else { return Cut::End };
        if self.feeds == 0 && is_application(bulk_text) {
            return Cut::Dropped;
        }
        let appended = appended(rest, bulk);
        self.held = (BUFFER - appended % BUFFER) % BUFFER;
        let length = bulk + appended;
        self.feeds += memchr::memchr_iter(b'\n', rest.get(..length).unwrap_or_default()).count();
        Cut::Fragment(length)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// How many bytes are added to a bulk so that it ends in a blank line.
fn appended(rest: &[u8], bulk: usize) -> usize {
    let trailing = rest.get(..bulk).unwrap_or_default().iter().rev().take_while(|&&byte| is_space(byte));
    if trailing.filter(|&&byte| byte == b'\n').count() >= 2 {
        return 0;
    }
    let (mut appended, mut feeds) = (0, 0);
    loop {
        match rest.get(bulk + appended - 1) {
            Some(b'\n') => feeds += 1,
            Some(&byte) if is_space(byte) => {}
            Some(_) => feeds = 0,
            None => return appended,
        }
        if feeds >= 2 || appended >= PEEK || bulk + appended >= rest.len() {
            return appended;
        }
        appended += 1;
    }
}

/// Extensions that make gitleaks take a file for an archive, wherever they stand in its name.
const ARCHIVE_MARKS: &[&str] =
    &[".br", ".bz2", ".gz", ".lz4", ".rar", ".s2", ".sz", ".tar", ".xz", ".zip", ".zst", ".zz", ".7z"];
/// The same at the end of its name.
const ARCHIVE_ENDS: &[&str] = &[".lz", ".mz"];

/// Whether gitleaks takes a file for an archive, which it does not open as it is asked here.
pub(super) fn is_archive_name(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let name = String::from_utf8_lossy(&super::allowlist::lower(name)).into_owned();
    ARCHIVE_MARKS.iter().any(|mark| name.contains(mark)) || ARCHIVE_ENDS.iter().any(|end| name.ends_with(end))
}

/// Beginnings of files of type `application/*`, as the library that gitleaks asks knows them.
const BEGINNINGS: &[&[u8]] = &[
    b"MZ",
    b"%!",
    b"BZh",
    b"%PDF",
    b"{\\rtf",
    b"SQLi",
    b"Cr24",
    b"CWS",
    b"FWS",
    b"LZIP",
    b"MSCF",
    b"ISc(",
    b"!<arch>",
    b"\x1F\x8B\x08",
    b"\x1F\x9D",
    b"\x1F\xA0",
    b"7z\xBC\xAF\x27\x1C",
    b"\xFD7zXZ\x00",
    b"Rar!\x1A\x07\x00",
    b"Rar!\x1A\x07\x01",
    b"NES\x1A",
    b"\xFE\xED\xFA\xCE",
    b"\xFE\xED\xFA\xCF",
    b"\xCE\xFA\xED\xFE",
    b"\xCF\xFA\xED\xFE",
    b"\xCA\xFE\xBA\xBE",
    b"\xBE\xBA\xFE\xCA",
    b"wOFF\x00\x01\x00\x00",
    b"wOF2\x00\x01\x00\x00",
    b"\x00\x01\x00\x00\x00",
    b"OTTO\x00",
    b"\x00asm\x01\x00\x00\x00",
];

/// Whether gitleaks takes a beginning for an application's file.
pub(super) fn is_application(text: &[u8]) -> bool {
    let at = |place: usize, mark: &[u8]| text.get(place..).is_some_and(|rest| rest.starts_with(mark));
    let is_dex = |text: &[u8]| text.starts_with(b"dex\n") && text.get(36) == Some(&0x70);
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || (at(0, b"PK") && matches!(text.get(2), Some(3 | 5 | 7)) && matches!(text.get(3), Some(4 | 6 | 8)))
        || (at(0, b"\x7FELF") && text.len() > 52)
        || (at(0, b"\xED\xAB\xEE\xDB") && text.len() > 96)
        || is_zstandard(text)
        || is_compound_document(text)
        || is_dex(text)
        || (at(0, b"dey\n") && text.get(40..).is_some_and(is_dex))
        || at(257, b"ustar")
        || at(128, b"DICM")
        || at(32769, b"CD001")
        || (at(34, b"LP") && (at(8, b"\x02\x00\x01") || at(8, b"\x01\x00\x00") || at(8, b"\x02\x00\x02")))
}

fn is_zstandard(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        match rest {
            [0x28, 0xB5, 0x2F, 0xFD, ..] => return true,
            // A skippable frame: its length, then the next frame.
            [0x50..=0x5F, 0x2A, 0x4D, 0x18, a, b, c, d, behind @ ..] => {
                let length = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
                match behind.get(length..) {
                    Some(next) => rest = next,
                    None => return false,
                }
            }
            _ => return false,
        }
    }
}

fn is_compound_document(text: &[u8]) -> bool {
    text.starts_with(b"\xD0\xCF\x11\xE0")
        && (text.len() <= 513
            || [b"\xEC\xA5", b"\x09\x08", b"\xA0\x46"].iter().any(|mark| text.get(512..514) == Some(mark.as_slice())))
}
