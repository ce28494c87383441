//! Object ids from bytes.
//!
//! Plain SHA-1, not the collision-detecting one: an id is recomputed to see that a store does not
//! lie, and every copy of an object is read, so a colliding twin would be read too. With the CPU's
//! SHA instructions this is several times faster.

use gix::hash::{Kind as HashKind, ObjectId};
use gix::objs::Kind;
use sha1::Digest;

use crate::payload::Fault;

/// A repository's object format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::payload) enum Format {
    Sha1,
    Sha256,
}

impl Format {
    /// From git's name for it (`git rev-parse --show-object-format`).
    pub(in crate::payload) fn from_name(name: &[u8]) -> Result<Self, Fault> {
        match name {
            b"sha1" => Ok(Self::Sha1),
            b"sha256" => Ok(Self::Sha256),
            _ => Err(Fault::Store("its object format is neither sha1 nor sha256".into())),
        }
    }

    /// The format that an id is of; `None` for one that this build does not know.
    pub(in crate::payload) fn of(id: &ObjectId) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|format| format.kind() == id.kind())
    }

    pub(super) fn kind(self) -> HashKind {
        match self {
            Self::Sha1 => HashKind::Sha1,
            Self::Sha256 => HashKind::Sha256,
        }
    }

    /// Length of an id in bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// A hasher that has taken an object's header already.
    pub(in crate::payload) fn hasher(self, kind: Kind, size: u64) -> Hasher {
        let mut hasher = match self {
            Self::Sha1 => Hasher::Sha1(sha1::Sha1::new()),
            Self::Sha256 => Hasher::Sha256(sha2::Sha256::new()),
        };
        hasher.update(kind.as_bytes());
        hasher.update(b" ");
        hasher.update(size.to_string().as_bytes());
        hasher.update(b"\0");
        hasher
    }

    /// Whether `bytes` as an object of `kind` have the id `id`.
    pub(in crate::payload) fn matches(self, id: &ObjectId, kind: Kind, bytes: &[u8]) -> bool {
        let mut hasher = self.hasher(kind, bytes.len() as u64);
        hasher.update(bytes);
        hasher.is(id)
    }
}

/// A hash in the making.
pub(in crate::payload) enum Hasher {
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
}

impl Hasher {
    pub(in crate::payload) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(state) => state.update(bytes),
            Self::Sha256(state) => state.update(bytes),
        }
    }

    /// The finished hash.
    pub(in crate::payload) fn id(self) -> ObjectId {
        match self {
            Self::Sha1(state) => ObjectId::Sha1(state.finalize().into()),
            Self::Sha256(state) => ObjectId::Sha256(state.finalize().into()),
        }
    }

    /// Whether the finished hash is `id`.
    pub(in crate::payload) fn is(self, id: &ObjectId) -> bool {
        match self {
            Self::Sha1(state) => state.finalize().as_slice() == id.as_slice(),
            Self::Sha256(state) => state.finalize().as_slice() == id.as_slice(),
        }
    }
}
