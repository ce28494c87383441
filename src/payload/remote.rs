//! What the other side shows of a path: where suppressions must stand to count.
//!
//! Promise: a [`RemoteSide`] tells only content that is evidently at the destination. On a first push,
//! and where nobody can be asked, that is nothing, and nothing is suppressed (design principle 6).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bstr::{BStr, BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::world::{Caution, World};

use super::objects::ObjectStore;
use super::{Fault, ObjectId};

/// A side that bytes would go to.
pub trait RemoteSide: fmt::Debug + Send + Sync {
    /// The different contents of `path` (from the repository's top) on that side, one for each state
    /// of it that counts; none when it is not there.
    ///
    /// # Errors
    /// When the repository cannot be read.
    fn versions(&self, path: &BStr) -> Result<Vec<Vec<u8>>, Fault>;

    /// Where that side has the very same files already: a path for each blob that it has. git sends a file
    /// again that moves to another folder.
    ///
    /// # Errors
    /// When the time is up.
    fn has_already(&self, _blobs: &BTreeSet<ObjectId>) -> Result<BTreeMap<ObjectId, BString>, Fault> {
        Ok(BTreeMap::new())
    }

    /// Whether it is known where that side is, so that a look at it starts nothing.
    fn is_found(&self) -> bool {
        true
    }
}

/// A side that shows nothing: a first push, a registry, a mail.
#[derive(Clone, Copy, Debug)]
pub struct ShowsNothing;

impl RemoteSide for ShowsNothing {
    fn versions(&self, _path: &BStr) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(Vec::new())
    }
}

/// Commits that are at the destination, by what it advertised. Those that are not here show nothing.
#[derive(Debug)]
pub struct Commits {
    store: Arc<ObjectStore>,
    commits: Vec<ObjectId>,
    seen: Mutex<BTreeMap<BString, Vec<Vec<u8>>>>,
}

/// The most bytes of a file that is looked up there: suppressions and the lines of a finding's file.
const FILE_LIMIT: u64 = 64 << 20;

impl Commits {
    /// The side that has these commits.
    pub fn new(store: Arc<ObjectStore>, mut commits: Vec<ObjectId>) -> Self {
        commits.retain(|commit| store.has(commit));
        commits.sort_unstable();
        commits.dedup();
        Self { store, commits, seen: Mutex::new(BTreeMap::new()) }
    }

    fn look_up(&self, path: &BStr) -> Result<Vec<Vec<u8>>, Fault> {
        let mut blobs = Vec::new();
        for commit in &self.commits {
            if let Some(blob) = self.store.blob_at(commit, path)?
                && !blobs.contains(&blob)
            {
                blobs.push(blob);
            }
        }
        blobs.iter().map(|blob| Ok(self.store.whole(blob, FILE_LIMIT)?.1)).collect()
    }
}

impl RemoteSide for Commits {
    fn has_already(&self, blobs: &BTreeSet<ObjectId>) -> Result<BTreeMap<ObjectId, BString>, Fault> {
        self.store.where_blobs_are(&self.commits, blobs)
    }

    fn versions(&self, path: &BStr) -> Result<Vec<Vec<u8>>, Fault> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.get(path.as_bytes()) {
            return Ok(known.clone());
        }
        let found = self.look_up(path)?;
        seen.insert(path.into(), found.clone());
        Ok(found)
    }
}

/// The other side of a repository, looked for when it is first needed.
#[derive(Debug)]
pub struct Later {
    world: World,
    git: GitContext,
    by: By,
    found: Mutex<Option<Arc<dyn RemoteSide>>>,
}

/// How the other side is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Tracking refs: claims, good enough where nothing leaves yet (a commit).
    Claims,
    /// `ls-remote` of the remote that `git push` without words would take. For uploads, which have no
    /// side of their own: what their repository published with a reviewed suppression is settled. The
    /// gate does not ask, since configuration names the program that would be run for it.
    Asking,
}

impl Later {
    /// The other side of the repository that `git` sees.
    pub fn new(world: &World, git: &GitContext, by: By) -> Self {
        Self { world: world.clone(), git: git.clone(), by, found: Mutex::new(None) }
    }

    /// Whatever goes wrong, the side shows nothing.
    fn find(&self) -> Arc<dyn RemoteSide> {
        let listed = match self.by {
            By::Claims => {
                self.world.git(&self.git, ["for-each-ref", "--format=%(objectname)", "refs/remotes/"]).stdout()
            }
            By::Asking if self.world.caution == Caution::Gate => return Arc::new(ShowsNothing),
            By::Asking => {
                let asked = ["ls-remote", "--quiet", "--heads", "--upload-pack=git-upload-pack"];
                self.world.git(&self.git, asked).over_the_network().stdout()
            }
        };
        let Ok(listed) = listed else { return Arc::new(ShowsNothing) };
        let commits = listed.lines().filter_map(|line| ObjectId::from_hex(line.fields().next()?).ok()).collect();
        match ObjectStore::open(&self.world, &self.git) {
            Ok(store) => Arc::new(Commits::new(store, commits)),
            Err(_) => Arc::new(ShowsNothing),
        }
    }
}

impl RemoteSide for Later {
    fn has_already(&self, blobs: &BTreeSet<ObjectId>) -> Result<BTreeMap<ObjectId, BString>, Fault> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get_or_insert_with(|| self.find()).has_already(blobs)
    }

    fn is_found(&self) -> bool {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn versions(&self, path: &BStr) -> Result<Vec<Vec<u8>>, Fault> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let side = found.get_or_insert_with(|| self.find());
        side.versions(path)
    }
}
