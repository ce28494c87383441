//! Commits, tags and trees from raw bytes, as git's own walk reads them.
//!
//! Promise: never a panic, and the same references as git takes: what git's parser ignores (a second
//! block of parents, an unknown header) is ignored, what makes it die is an error. Sources: git 2.47
//! `commit.c` (`parse_commit_buffer`, `parse_commit_date`), `tag.c`, `tree-walk.c`.

use gix::hash::ObjectId;

use super::hash::Format;

/// What a commit refers to, and when it was made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    /// Committer's time in seconds since 1970; 0 where git cannot read it.
    pub(super) date: u64,
}

/// Reads a commit's references.
pub(super) fn commit(bytes: &[u8], format: Format) -> Result<Commit, &'static str> {
    let (tree, mut rest) = header_id(bytes, b"tree ", format).ok_or("its tree line cannot be read")?;
    let mut parents = Vec::new();
    while rest.starts_with(b"parent ") {
        let (parent, after) = header_id(rest, b"parent ", format).ok_or("a parent line cannot be read")?;
        parents.push(parent);
        rest = after;
    }
    Ok(Commit { tree, parents, date: commit_date(rest) })
}

/// The id of a tag's object.
pub(super) fn tag(bytes: &[u8], format: Format) -> Result<ObjectId, &'static str> {
    header_id(bytes, b"object ", format).map(|(id, _)| id).ok_or("its object line cannot be read")
}

/// `<name><id in hexadecimal>\n`, and what follows.
fn header_id<'a>(bytes: &'a [u8], name: &[u8], format: Format) -> Option<(ObjectId, &'a [u8])> {
    let rest = bytes.strip_prefix(name)?;
    let (hex, rest) = rest.split_at_checked(format.len() * 2)?;
    let rest = rest.strip_prefix(b"\n")?;
    Some((id_from_hex(hex)?, rest))
}

/// Either case of letters is taken, as git does.
fn id_from_hex(hex: &[u8]) -> Option<ObjectId> {
    let mut raw = [0_u8; 32];
    let raw = raw.get_mut(..hex.len() / 2)?;
    hex::decode_to_slice(hex, raw).ok()?;
    ObjectId::try_from(&*raw).ok()
}

/// The committer's date as git takes it from what follows the parents.
fn commit_date(rest: &[u8]) -> u64 {
    if !rest.starts_with(b"author") {
        return 0;
    }
    let Some(author_end) = memchr::memchr(b'\n', rest) else { return 0 };
    let committer = rest.get(author_end + 1..).unwrap_or_default();
    if !committer.starts_with(b"committer") {
        return 0;
    }
    let Some(end) = memchr::memchr(b'\n', committer) else { return 0 };
    let line = committer.get(..end).unwrap_or_default();
    let Some(mail_end) = memchr::memrchr(b'>', line) else { return 0 };
    timestamp(line.get(mail_end + 1..).unwrap_or_default())
}

/// As C's strtoumax reads it: blanks, a sign, digits; more than fits is the largest number.
fn timestamp(text: &[u8]) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut value = 0_u64;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        let next = value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
        let Some(next) = next else { return u64::MAX };
        value = next;
    }
    if negative { value.wrapping_neg() } else { value }
}

/// What a tree's entry points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Tree,
    Blob,
    /// A submodule's commit, which is not sent.
    Gitlink,
}

/// One entry of a tree.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) kind: EntryKind,
    pub(super) name: &'a [u8],
    /// The raw id.
    pub(super) id: &'a [u8],
}

/// Goes through a tree's entries; an error ends it.
pub(super) struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    id_len: usize,
    /// Another tree, whose entries are passed over where this one has the same.
    known: &'a [u8],
    known_at: usize,
}

/// Opens a tree. Entries which `known`, a tree that has been gone through, holds byte for byte may be
/// left out: most of a tree is as it was in the commit before.
pub(super) fn tree<'a>(bytes: &'a [u8], known: &'a [u8], format: Format) -> Entries<'a> {
    Entries { bytes, at: 0, id_len: format.len(), known, known_at: 0 }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.bytes.len() {
            let start = self.at;
            let Some(end) = entry_end(self.bytes, start, self.id_len) else {
                self.at = self.bytes.len();
                return Some(Err("the tree is cut short"));
            };
            self.at = end;
            let raw = self.bytes.get(start..end).unwrap_or_default();
            if self.is_known(raw) {
                continue;
            }
            let entry = entry(raw, self.id_len);
            match &entry {
                Ok(entry) => self.known_at = catch_up(self.known, self.known_at, entry.name, self.id_len),
                Err(_) => self.at = self.bytes.len(),
            }
            return Some(entry);
        }
        None
    }
}

impl Entries<'_> {
    fn is_known(&mut self, raw: &[u8]) -> bool {
        let end = self.known_at + raw.len();
        let same = self.known.get(self.known_at..end) == Some(raw);
        if same {
            self.known_at = end;
        }
        same
    }
}

/// Where the entry ends that starts at `start`. git dies when the byte before the last id is not zero,
/// which here shows as an entry whose id goes past the end.
fn entry_end(bytes: &[u8], start: usize, id_len: usize) -> Option<usize> {
    let nul = memchr::memchr(0, bytes.get(start..)?)?;
    let end = start + nul + 1 + id_len;
    (end <= bytes.len()).then_some(end)
}

/// Where to go on in the known tree after an entry called `name` that it does not hold as it is:
/// behind its own entry of this name, or before the first that sorts later.
fn catch_up(known: &[u8], mut at: usize, name: &[u8], id_len: usize) -> usize {
    while let Some(end) = entry_end(known, at, id_len) {
        let Ok(entry) = entry(known.get(at..end).unwrap_or_default(), id_len) else { break };
        if entry.name == name {
            return end;
        }
        if entry.name > name {
            break;
        }
        at = end;
    }
    at
}

fn entry(raw: &[u8], id_len: usize) -> Result<Entry<'_>, &'static str> {
    let (mode, rest) = mode(raw).ok_or("an entry's mode cannot be read")?;
    let (name, id) = rest
        .len()
        .checked_sub(id_len + 1)
        .and_then(|name_len| Some((rest.get(..name_len)?, rest.get(name_len + 1..)?)))
        .ok_or("an entry's mode cannot be read")?;
    if name.is_empty() {
        return Err("an entry has no name");
    }
    Ok(Entry { kind: kind_of(mode), name, id })
}

/// Octal digits up to a blank; of more than 16 bits the low ones count, as in git.
fn mode(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let mut mode = 0_u16;
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            b' ' if place > 0 => return Some((mode, bytes.get(place + 1..)?)),
            b'0'..=b'7' => mode = (mode << 3) | u16::from(byte - b'0'),
            _ => return None,
        }
    }
    None
}

/// By the file type bits; whatever is neither file, link nor folder counts as a submodule's commit
/// (git's `canon_mode`).
fn kind_of(mode: u16) -> EntryKind {
    match mode & 0o170_000 {
        0o040_000 => EntryKind::Tree,
        0o100_000 | 0o120_000 => EntryKind::Blob,
        _ => EntryKind::Gitlink,
    }
}
