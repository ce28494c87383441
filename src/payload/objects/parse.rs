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
    rest: &'a [u8],
    id_len: usize,
}

/// Opens a tree.
pub(super) fn tree(bytes: &[u8], format: Format) -> Entries<'_> {
    Entries { rest: bytes, id_len: format.len() }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.rest = &[];
        }
        Some(entry)
    }
}

impl<'a> Entries<'a> {
    fn entry(&mut self) -> Result<Entry<'a>, &'static str> {
        // git looks at the byte before the last id first, so that a tree cut short dies at once.
        let last_nul = self.rest.len().checked_sub(self.id_len + 1).filter(|place| *place >= 2);
        if last_nul.and_then(|place| self.rest.get(place)) != Some(&0) {
            return Err("the tree is cut short");
        }
        let (mode, rest) = mode(self.rest).ok_or("an entry's mode cannot be read")?;
        let end = memchr::memchr(0, rest).ok_or("an entry's name does not end")?;
        let (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return Err("an entry has no name");
        }
        let (id, rest) =
            rest.get(1..).and_then(|rest| rest.split_at_checked(self.id_len)).ok_or("an entry's id is cut short")?;
        self.rest = rest;
        Ok(Entry { kind: kind_of(mode), name, id })
    }
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
