//! Git objects, raw: which ones a publish would send, and their bytes.
//!
//! Promise: the list is the set that `git push` puts into its pack for TIPS when the other side has
//! BOUNDARY, also what it sends again; it is worked out by a walk of our own over raw bytes; sizes come from object headers; every object that is read
//! re-hashes to its id, in every copy of it that an index names. What cannot be followed, or may lie
//! (grafts, a commit-graph that disagrees, a bitmap that names more), is a [`super::Fault`].
//!
//! The object database is opened here and not through gix's, for three reasons: git reads packs
//! before loose objects and gix the other way round, so that a forged pack index shows gix the clean
//! copy and sends the other; gix ignores `GIT_OBJECT_DIRECTORY`; and a manifest in reading order needs
//! pack offsets. The formats themselves (pack, indices, commit-graph) are read by gix' crates.

mod decode;
mod delta;
mod graph;
pub(in crate::payload) mod hash;
mod large;
mod list;
mod lookup;
mod loose;
mod pack;
mod parse;
mod paths;
mod places;
mod read;
mod store;
mod table;
mod walk;

pub(super) use hash::{Format, Hasher};
pub use store::ObjectStore;
