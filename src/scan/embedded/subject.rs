//! What is read, and where it is seen: an item or a member of an archive, at every path it is sent under.
//!
//! Promise: a member is seen at as many places as its item, each named as gitleaks names members.

use super::allowlist::Place;
use crate::payload::{Elsewhere, Item};

/// An item, or a member of an archive, while it is read.
#[derive(Clone, Copy)]
pub(super) struct Subject<'i> {
    pub(super) item: &'i Item,
    pub(super) part: usize,
    /// Where it is seen; the first place is the item's own.
    pub(super) seen: &'i [Seen<'i>],
    /// Members of archives that lead to it.
    pub(super) within: &'i [String],
}

/// One place of an item.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen<'i> {
    /// What rules see.
    pub(super) place: Place<'i>,
    /// The item's path there, which is not that of a member.
    pub(super) item_path: Option<&'i [u8]>,
}

impl<'i> Subject<'i> {
    /// Where it is seen first.
    pub(super) fn path(&self) -> Option<&'i [u8]> {
        self.seen.first().and_then(|seen| seen.place.path)
    }
}

/// What a member's subject borrows.
pub(super) struct Inner {
    /// One for each place of the item.
    paths: Vec<Vec<u8>>,
    pub(super) within: Vec<String>,
}

impl Inner {
    /// A member of what is read: paths are told as gitleaks tells them.
    pub(super) fn of(subject: Subject<'_>, name: &[u8]) -> Self {
        let path = |seen: &Seen<'_>| -> Vec<u8> {
            let outer = seen.place.path.unwrap_or_default();
            if name.is_empty() { outer.to_vec() } else { [outer, b"!", name].concat() }
        };
        let mut within = subject.within.to_vec();
        let shown =
            if name.is_empty() { "uncompressed".to_owned() } else { String::from_utf8_lossy(name).into_owned() };
        within.push(shown);
        Self { paths: subject.seen.iter().map(path).collect(), within }
    }

    /// Where it is seen.
    pub(super) fn seen<'i>(&'i self, outer: Subject<'i>) -> Vec<Seen<'i>> {
        let inner = |(seen, path): (&Seen<'i>, &'i Vec<u8>)| Seen {
            place: Place { path: Some(path), ..seen.place },
            item_path: seen.item_path,
        };
        outer.seen.iter().zip(&self.paths).map(inner).collect()
    }
}

/// Every place of an item.
pub(super) fn places<'i>(item: &'i Item, commit: Option<&'i str>) -> Vec<Seen<'i>> {
    let at = |path: Option<&'i [u8]>| Seen { place: Place { path, commit, anywhere: false }, item_path: path };
    let mut seen: Vec<Seen<'i>> = item.known_paths().map(|path| at(Some(path))).collect();
    if matches!(item.elsewhere, Elsewhere::Anywhere(_)) {
        seen.push(Seen { place: Place { path: None, commit, anywhere: true }, item_path: None });
    } else if seen.is_empty() {
        seen.push(at(None));
    }
    seen
}

/// The names of a tree's entries, one a line; the rest as it is when it is no tree.
pub(in crate::scan) fn tree_names(bytes: &[u8]) -> Vec<u8> {
    let mut names = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    // An entry is mode, space, name, NUL, and an id of 20 or 32 bytes; which one shows where the next
    // entry begins with an octal mode.
    while let Some(end) = memchr::memchr(0, rest) {
        let entry = rest.get(..end).unwrap_or_default();
        names.extend_from_slice(entry.splitn(2, |&byte| byte == b' ').nth(1).unwrap_or(entry));
        names.push(b'\n');
        let behind = rest.get(end + 1..).unwrap_or_default();
        let next = [20, 32].into_iter().find(|&length| {
            behind
                .get(length..)
                .is_some_and(|next| next.is_empty() || next.first().is_some_and(|byte| (b'0'..=b'7').contains(byte)))
        });
        rest = match next {
            Some(length) => behind.get(length..).unwrap_or_default(),
            None => behind,
        };
    }
    names.extend_from_slice(rest);
    names
}

/// The item as it is seen at a place.
pub(super) fn item_at(item: &Item, seen: Seen<'_>) -> Item {
    let mut item = item.clone();
    if item.file_path().map(|path| -> &[u8] { path }) != seen.item_path {
        item.path = seen.item_path.map(Into::into);
    }
    item.elsewhere = Elsewhere::Nowhere;
    item
}
