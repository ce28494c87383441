//! Paths, each kept once: a history has far fewer of them than objects.

use std::collections::HashMap;

use bstr::BString;

use super::table::Number;
use crate::payload::Elsewhere;

/// A kept path. The first one is the top, which has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId(u32);

impl PathId {
    /// The top of a tree.
    pub(super) const TOP: Self = Self(0);
    /// Any path at all.
    pub(super) const ANY: Self = Self(u32::MAX);

    /// Its place among all paths.
    pub(super) fn place(self) -> usize {
        self.0 as usize
    }
}

type Children = HashMap<Box<[u8]>, PathId, foldhash::fast::RandomState>;

/// Further paths of objects.
#[derive(Debug, Default)]
pub(super) struct Others {
    kept: HashMap<Number, Vec<PathId>, foldhash::fast::RandomState>,
}

impl Others {
    /// So many further paths of an object are kept; behind them stands [`PathId::ANY`].
    const MOST: usize = 4;

    /// Adds a path, or [`PathId::ANY`] where there are too many; `None` when that was known. Those at the
    /// top are always kept: files there can say what does not count.
    pub(super) fn add(&mut self, number: Number, path: PathId, paths: &Paths) -> Option<PathId> {
        let kept = self.kept.entry(number).or_default();
        let path = if kept.len() < Self::MOST || paths.is_at_top(path) { path } else { PathId::ANY };
        if kept.contains(&path) {
            return None;
        }
        kept.push(path);
        Some(path)
    }

    /// Where an object is seen beside its first path.
    pub(super) fn of(&self, number: Number, first: PathId, paths: &Paths) -> Elsewhere {
        let kept = self.kept.get(&number).map(Vec::as_slice).unwrap_or_default();
        let known: Vec<BString> = kept.iter().filter_map(|path| paths.whole(*path)).collect();
        match known.is_empty() {
            _ if first == PathId::ANY || kept.contains(&PathId::ANY) => Elsewhere::Anywhere(known),
            true => Elsewhere::Nowhere,
            false => Elsewhere::At(known),
        }
    }
}

/// All paths of a walk.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Parent and name of each path but the top, whose place is the id less one.
    nodes: Vec<(PathId, u32, u32)>,
    names: Vec<u8>,
    known: HashMap<PathId, Children, foldhash::fast::RandomState>,
}

impl Paths {
    /// The path of the entry `name` below `parent`. More than 2^32 paths fold into their parent,
    /// which costs a report its detail and the scan nothing.
    pub(super) fn below(&mut self, parent: PathId, name: &[u8]) -> PathId {
        if parent == PathId::ANY {
            return parent;
        }
        if let Some(known) = self.known.get(&parent).and_then(|children| children.get(name)) {
            return *known;
        }
        let (Ok(start), Ok(len), Ok(place)) =
            (u32::try_from(self.names.len()), u32::try_from(name.len()), u32::try_from(self.nodes.len() + 1))
        else {
            return parent;
        };
        self.names.extend_from_slice(name);
        self.nodes.push((parent, start, len));
        let id = PathId(place);
        self.known.entry(parent).or_default().insert(name.into(), id);
        id
    }

    fn is_at_top(&self, path: PathId) -> bool {
        let node = path.0.checked_sub(1).and_then(|place| self.nodes.get(place as usize));
        node.is_some_and(|node| node.0 == PathId::TOP)
    }

    /// Whether a path is that of the entry `name` below `parent`.
    pub(super) fn is(&self, path: PathId, parent: PathId, name: &[u8]) -> bool {
        let node = path.0.checked_sub(1).and_then(|place| self.nodes.get(place as usize));
        node.is_some_and(|&(above, start, len)| {
            above == parent && self.names.get(start as usize..start as usize + len as usize) == Some(name)
        })
    }

    /// The whole path; `None` for the top.
    pub(super) fn whole(&self, path: PathId) -> Option<BString> {
        let mut names = Vec::new();
        let mut at = path;
        while let Some((parent, start, len)) = at.0.checked_sub(1).and_then(|place| self.nodes.get(place as usize)) {
            let start = *start as usize;
            names.push(self.names.get(start..start + *len as usize).unwrap_or_default());
            at = *parent;
        }
        names.reverse();
        (!names.is_empty()).then(|| names.join(&b'/').into())
    }
}
