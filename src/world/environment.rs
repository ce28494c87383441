//! Environment variables by name, shared between everything that sees the same ones.
//!
//! Promise: a copy costs nothing until one of the two is changed, and a change of one is never seen in the other.

use std::collections::{BTreeMap, btree_map};
use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Environment variables by name; the one that a judged command would see, or our own.
#[derive(Clone, Debug, Default, PartialOrd, Ord)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    /// Without any variable.
    pub fn new() -> Self {
        Self::default()
    }
}

impl PartialEq for Environment {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Environment {}

impl Deref for Environment {
    type Target = BTreeMap<OsString, OsString>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Environment {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl<const COUNT: usize> From<[(OsString, OsString); COUNT]> for Environment {
    fn from(variables: [(OsString, OsString); COUNT]) -> Self {
        variables.into_iter().collect()
    }
}

impl IntoIterator for Environment {
    type Item = (OsString, OsString);
    type IntoIter = btree_map::IntoIter<OsString, OsString>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

impl<'a> IntoIterator for &'a Environment {
    type Item = (&'a OsString, &'a OsString);
    type IntoIter = btree_map::Iter<'a, OsString, OsString>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
