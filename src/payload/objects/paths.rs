//! Paths, each kept once: a history has far fewer of them than objects.

use std::collections::HashMap;

use bstr::BString;

/// A kept path. The first one is the top, which has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PathId(u32);

impl PathId {
    /// The top of a tree.
    pub(super) const TOP: Self = Self(0);

    /// Its place among all paths.
    pub(super) fn place(self) -> usize {
        self.0 as usize
    }
}

type Children = HashMap<Box<[u8]>, PathId, foldhash::fast::RandomState>;

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
