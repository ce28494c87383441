//! The repository's refs and its whereabouts, through git's plumbing.
//!
//! Promise: every ref of the store is listed, whatever its format (files, reftable) and whatever
//! work tree it belongs to the command sees; what `git push` itself lists (at least two components
//! after `refs/`) is told apart from what it only takes by name (`refs/stash`).

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;
use crate::world::git::GitFault;

use super::refspec::is_ref_name;

/// One local ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRef {
    /// Its full name.
    pub name: BString,
    /// What it names.
    pub oid: ObjectId,
    /// The ref that it stands for, when it is symbolic.
    pub symref: Option<BString>,
}

/// What HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch, born or not; its full name.
    Branch(BString),
    /// No branch.
    Detached,
}

/// All local refs, in the order of their names, and HEAD.
#[derive(Clone, Debug)]
pub struct LocalRefs {
    /// Every ref below `refs/`.
    pub refs: Vec<LocalRef>,
    /// What HEAD is.
    pub head: Head,
}

impl LocalRefs {
    /// Asks git.
    ///
    /// # Errors
    /// When the refs cannot be listed or read.
    pub fn read(world: &World, git: &GitContext) -> Result<Self, Fault> {
        let format = "--format=%(objectname)%00%(refname)%00%(symref)%00%(HEAD)";
        let listed = world.git(git, ["for-each-ref", format]).stdout()?;
        let (mut refs, mut head) = (Vec::new(), None);
        for line in listed.lines() {
            let mut fields = line.split_str("\0");
            let (Some(oid), Some(name), Some(symref), Some(mark)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                return Err(Fault::Plumbing("git listed a ref in a form that is not known".into()));
            };
            if mark == b"*" {
                head = Some(Head::Branch(name.into()));
            }
            let symref = (!symref.is_empty()).then(|| symref.into());
            refs.push(LocalRef { name: name.into(), oid: object_id(oid)?, symref });
        }
        let head = match head {
            Some(head) => head,
            None => unlisted_head(world, git)?,
        };
        refs.sort_by(|left: &LocalRef, right| left.name.cmp(&right.name));
        Ok(Self { refs, head })
    }

    /// The refs that `git push` lists: at least two components after `refs/` (`get_local_heads`).
    pub fn listed(&self) -> impl Iterator<Item = &LocalRef> {
        self.refs.iter().filter(|local| local.name.strip_prefix(b"refs/").is_some_and(|rest| is_ref_name(rest, false)))
    }

    /// The ref of this full name.
    pub fn find(&self, name: &[u8]) -> Option<&LocalRef> {
        let place = self.refs.binary_search_by(|local| local.name.as_slice().cmp(name)).ok()?;
        self.refs.get(place)
    }

    /// The full name of the current branch.
    pub fn branch(&self) -> Option<&BStr> {
        match &self.head {
            Head::Branch(name) => name.starts_with(b"refs/heads/").then_some(name.as_bstr()),
            Head::Detached => None,
        }
    }
}

/// HEAD when no listed ref is the current one: an unborn branch, or none.
fn unlisted_head(world: &World, git: &GitContext) -> Result<Head, Fault> {
    let done = world.git(git, ["symbolic-ref", "-q", "HEAD"]).run()?;
    let name = done.stdout.trim_end();
    Ok(if done.status.success() && !name.is_empty() { Head::Branch(name.into()) } else { Head::Detached })
}

/// An object id from its hexadecimal form.
///
/// # Errors
/// When it is none.
pub fn object_id(hexadecimal: &[u8]) -> Result<ObjectId, Fault> {
    ObjectId::from_hex(hexadecimal).map_err(|_| Fault::Plumbing("git printed something else than an object id".into()))
}

/// Where a repository is and what it is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory that `git push` works in, and that relative urls start from: the top of the work
    /// tree when the command runs below it, else the command's own.
    pub dir: PathBuf,
    /// The repository, absolute.
    pub git_dir: PathBuf,
    /// The one it shares refs and objects with; the same unless it is a linked work tree.
    pub common_dir: PathBuf,
    /// Whether it has no work tree.
    pub bare: bool,
    /// Whether its history is cut off.
    pub shallow: bool,
    /// Hexadecimal digits of its object ids.
    pub hex_length: usize,
}

/// What git says of the place that a command runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A repository.
    Place(Place),
    /// None: git says so and does nothing.
    NoRepository(SafeText),
}

/// Asks git where it is.
///
/// # Errors
/// When git fails for another reason than that there is no repository.
pub fn place(world: &World, git: &GitContext) -> Result<Found, Fault> {
    let location = match world.location(git) {
        Ok(Some(location)) => location,
        Ok(None) => return Err(Fault::Repository("its path has a line break in it".into())),
        Err(GitFault::Failed { message, .. }) if message.contains("not a git repository") => {
            return Ok(Found::NoRepository(SafeText::quoted(message.as_bytes(), 200)));
        }
        Err(GitFault::Failed { message, .. }) => {
            return Err(Fault::Repository(SafeText::quoted(message.as_bytes(), 300)));
        }
        Err(fault @ (GitFault::NoGit | GitFault::Child(_))) => return Err(fault.into()),
    };
    Ok(Found::Place(Place {
        dir: above(&started_in(git), &location.prefix),
        git_dir: location.git_dir,
        common_dir: location.common_dir,
        bare: location.is_bare,
        shallow: location.is_shallow,
        hex_length: if location.format == b"sha256" { 64 } else { 40 },
    }))
}

/// The directory a git command works in before it looks for its repository: `-C` options add up.
pub fn started_in(git: &GitContext) -> PathBuf {
    let mut dir = git.dir.clone();
    let mut words = git.globals.iter();
    while let Some(word) = words.next() {
        match word.as_encoded_bytes() {
            b"-C" => {
                if let Some(next) = words.next() {
                    dir.push(next);
                }
            }
            b"-c" | b"--git-dir" | b"--work-tree" | b"--namespace" | b"--config-env" | b"--attr-source"
            | b"--super-prefix" | b"--exec-path" => {
                words.next();
            }
            _ => {}
        }
    }
    dir
}

/// The directory as many levels above `dir` as `prefix` has components. `..` is left to the system,
/// which goes up from where a symbolic link leads, as git does.
fn above(dir: &Path, prefix: &[u8]) -> PathBuf {
    let levels = prefix.split_str("/").filter(|component| !component.is_empty()).count();
    (0..levels).fold(dir.to_owned(), |dir, _| dir.join(".."))
}
