//! What the other side has already: what is known, and what is only said.
//!
//! Promise: an object is left out because the destination advertised an id that reaches it, and for no
//! other reason. Tracking refs, `ls-remote` of some time ago and the like are claims (design principle
//! 5): they can be stale or forged, and what only they hide is read too.

use super::ObjectId;

/// The ends of what the other side has. Ids that are not here exclude nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Ids that this very destination advertised for this push.
    pub evidence: Vec<ObjectId>,
    /// Ids that something else says it has.
    pub claims: Vec<ObjectId>,
}
