//! Every byte that would leave, each with its provenance, and a manifest of other origin.
//!
//! Promise: every item that the publish would send is listed with the size that object headers or
//! the file system tell, and can be read raw and whole; or the answer is a [`Fault`]. Nothing here
//! judges bytes: that is [`crate::scan`]'s.

pub mod airlock;
pub mod assemble;
pub mod boundary;
pub mod cache;
pub mod commit;
pub mod files;
pub mod item;
pub mod lfs;
pub mod objects;
pub mod push;
pub mod remote;
pub mod source;
pub mod upload;
pub mod widest;

use std::sync::Arc;

use crate::command::plan::GitContext;
use crate::text::SafeText;

pub use boundary::{Boundary, Selection};
pub use cache::Cache;
pub use item::{Elsewhere, Item, ItemKind, ObjectId, Tally};
pub use remote::RemoteSide;
pub use source::{Content, Reader, Source, Texts};

/// Everything that would leave.
#[derive(Debug, Default)]
pub struct Payload {
    /// Items that are read from the same place.
    pub parts: Vec<Part>,
    /// Where they would go.
    pub destinations: Vec<Destination>,
    /// What a person should know of how it was worked out (widened, base taken from CI …).
    pub notes: Vec<SafeText>,
    /// Bytes that exist only once the command runs (a file that an unread program writes, a message
    /// typed into an editor). Nothing here bounds them: they are for the net to read, and where there
    /// is no net a publish that takes them is refused.
    pub unseen: Vec<SafeText>,
    /// The sides that parts would go to: a suppression counts for a part when it stands on every side of
    /// that part. Without any, nothing is suppressed.
    pub sides: Vec<Side>,
    /// Refs that may be replaced by what does not contain them.
    pub replaces: Vec<Replaced>,
    /// Whether it is exactly what would leave, and not a superset.
    pub exact: bool,
}

/// A ref of a destination that a push may replace by what does not contain it.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The repository that is pushed from.
    pub git: GitContext,
    /// The ref there.
    pub name: SafeText,
    /// What it names there; `None` where nobody was asked.
    pub old: Option<ObjectId>,
    /// What it would name.
    pub new: ObjectId,
    /// Whether the command line asks for it; git tells its hooks only what it will do.
    pub is_asked_for: bool,
}

/// Items that are read from the same place.
#[derive(Debug)]
pub struct Part {
    /// What is to be read, in the order in which reading is cheapest.
    pub items: Vec<Item>,
    /// Where it is read.
    pub source: Box<dyn Source>,
}

/// A side that some of the parts would go to.
#[derive(Clone, Debug)]
pub struct Side {
    /// Places in [`Payload::parts`].
    pub parts: std::ops::Range<usize>,
    /// What it shows.
    pub side: Arc<dyn RemoteSide>,
}

/// One place that bytes would go to, for the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// URL, path, registry or file, without credentials.
    pub url: SafeText,
    /// Destination refs, as far as there are any.
    pub refs: Vec<SafeText>,
}

impl Payload {
    /// Objects and bytes as the manifest promises them, from headers and file sizes.
    pub fn tally(&self) -> Tally {
        self.parts.iter().flat_map(|part| &part.items).fold(Tally::default(), |mut tally, item| {
            tally.add(item.size);
            tally
        })
    }

    /// The sides that one part would go to.
    pub fn sides_of(&self, part: usize) -> impl Iterator<Item = &dyn RemoteSide> {
        self.sides.iter().filter(move |side| side.parts.contains(&part)).map(|side| side.side.as_ref())
    }

    /// Says that every part would go to this side.
    pub fn all_to(&mut self, side: Arc<dyn RemoteSide>) {
        self.sides.push(Side { parts: 0..self.parts.len(), side });
    }

    /// Whether nothing would leave.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.items.is_empty())
    }

    /// Takes everything of another payload along.
    pub fn absorb(&mut self, other: Payload) {
        let before = self.parts.len();
        self.sides.extend(
            other
                .sides
                .into_iter()
                .map(|side| Side { parts: side.parts.start + before..side.parts.end + before, side: side.side }),
        );
        self.parts.extend(other.parts);
        for destination in other.destinations {
            if !self.destinations.contains(&destination) {
                self.destinations.push(destination);
            }
        }
        self.notes.extend(other.notes);
        self.unseen.extend(other.unseen);
        self.replaces.extend(other.replaces);
        self.exact &= other.exact;
    }
}

/// Why a payload could not be worked out, or an item not be read. `verdict/refusal.rs` turns it into words.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A construct that the resolver does not model; names it.
    #[error("not modelled: {0}")]
    Unmodelled(SafeText),
    /// Container images leave: layers that nothing here reads.
    #[error("{0} sends container images, which are not read")]
    Image(SafeText),
    /// git itself would refuse this push; nothing would leave.
    #[error("git would refuse: {0}")]
    GitRefuses(SafeText),
    /// An object is not there.
    #[error("missing object {oid}: {hint}")]
    Missing {
        /// Its id.
        oid: String,
        /// What is known of why.
        hint: SafeText,
    },
    /// An object's bytes are not what its id says.
    #[error("object {oid} does not hash to its id")]
    Corrupt {
        /// The id it was asked by.
        oid: String,
    },
    /// An object could not be parsed.
    #[error("object {oid} is malformed: {what}")]
    Malformed {
        /// Its id.
        oid: String,
        /// What is wrong with it.
        what: SafeText,
    },
    /// The object store may lie (grafts, a commit-graph that disagrees).
    #[error("the object store may lie: {0}")]
    Store(SafeText),
    /// Objects of a partial clone are not here.
    #[error("partial clone: {0}")]
    Partial(SafeText),
    /// A shallow clone lacks the history that would have to be read.
    #[error("shallow clone: {0}")]
    Shallow(SafeText),
    /// The repository could not be opened, or is none.
    #[error("repository: {0}")]
    Repository(SafeText),
    /// git's plumbing failed.
    #[error("plumbing: {0}")]
    Plumbing(SafeText),
    /// The destination could not be asked.
    #[error("destination: {0}")]
    Destination(SafeText),
    /// A file could not be read.
    #[error("file {path}: {what}")]
    File {
        /// Its path.
        path: SafeText,
        /// The system's reason.
        what: SafeText,
    },
    /// The deadline passed.
    #[error("the deadline passed while {0}")]
    Deadline(SafeText),
}

impl From<crate::world::git::GitFault> for Fault {
    fn from(fault: crate::world::git::GitFault) -> Self {
        match fault {
            crate::world::git::GitFault::Child(crate::world::child::ChildFault::TimedOut { program, .. }) => {
                Self::Deadline(SafeText::new(&format!("{program} was running")))
            }
            other @ (crate::world::git::GitFault::NoGit
            | crate::world::git::GitFault::Child(_)
            | crate::world::git::GitFault::Failed { .. }) => Self::Plumbing(SafeText::new(&other.to_string())),
        }
    }
}
