//! Objects of the scratch place as parts of the payload.
//!
//! Promise: sizes come from object headers and bytes are read raw and re-hashed, by
//! [`crate::payload::objects`]; the scratch place lives as long as something can be read from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::payload::objects::ObjectStore;
use crate::payload::{Fault, ObjectId, Part, Reader, Source};
use crate::world::scratch::Scratch;

use super::stage::Stage;

/// Objects by id, each with a path where it has one.
#[derive(Debug, Default)]
pub struct Wanted(BTreeMap<String, Option<BString>>);

impl Wanted {
    /// Adds an object; the first path stays.
    pub fn add(&mut self, oid: &str, path: Option<BString>) {
        self.0.entry(oid.to_owned()).or_insert(path);
    }
}

/// What the trees bring in that none of `parents` (trees, or commits with them) has at the same place:
/// blobs, symlink targets and changed trees, whose entry names are content.
///
/// # Errors
/// When trees cannot be compared.
pub fn entering(stage: &Stage<'_>, trees: &[String], parents: &[String], wanted: &mut Wanted) -> Result<(), Fault> {
    for tree in trees {
        let mut entering: Option<BTreeSet<(String, BString)>> = None;
        let mut differs = true;
        for parent in parents {
            let changes = Changes::between(stage, parent, tree)?;
            differs &= changes.any;
            let new: BTreeSet<_> = changes.new.into_iter().filter(|(oid, _)| !changes.old.contains(oid)).collect();
            entering = Some(match entering {
                None => new,
                Some(before) => before.intersection(&new).cloned().collect(),
            });
        }
        for (oid, path) in entering.unwrap_or_default() {
            wanted.add(&oid, Some(path));
        }
        if differs {
            wanted.add(tree, None);
        }
    }
    Ok(())
}

/// What differs between two trees.
#[derive(Debug, Default)]
struct Changes {
    /// New objects with their paths.
    new: Vec<(String, BString)>,
    /// All that stood there before.
    old: BTreeSet<String>,
    /// Whether anything differs, a gitlink too: that is a commit of another repository and brings no
    /// bytes but its name.
    any: bool,
}

impl Changes {
    fn between(stage: &Stage<'_>, from: &str, to: &str) -> Result<Self, Fault> {
        let args = ["diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", from, to];
        let listed = stage.git(args).stdout()?;
        let mut changes = Self { any: !listed.is_empty(), ..Self::default() };
        let mut fields = listed.split(|byte| *byte == 0);
        while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
            // `:oldmode newmode oldid newid status`
            let mut words = head.strip_prefix(b":").unwrap_or(head).fields();
            let (Some(old_mode), Some(mode), Some(old_id), Some(id)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                return Err(Fault::Plumbing("git diff-tree answered in a form that is not known".into()));
            };
            if old_mode != b"160000" && old_mode != b"000000" {
                changes.old.insert(old_id.to_str_lossy().into_owned());
            }
            if mode != b"160000" && mode != b"000000" {
                changes.new.push((id.to_str_lossy().into_owned(), BString::from(path)));
            }
        }
        Ok(changes)
    }
}

/// The tree that nothing is in.
///
/// # Errors
/// When git cannot make it.
pub fn empty_tree(stage: &Stage<'_>) -> Result<String, Fault> {
    let made = stage.git(["hash-object", "-w", "-t", "tree", "--stdin"]).stdout()?;
    Ok(made.trim().to_str_lossy().into_owned())
}

/// The part of the payload that these objects are; `None` for no objects.
///
/// # Errors
/// When one of them is missing.
pub fn part(stage: &Stage<'_>, wanted: Wanted) -> Result<Option<Part>, Fault> {
    if wanted.0.is_empty() {
        return Ok(None);
    }
    let store = ObjectStore::open(stage.world, &stage.context)?;
    let mut ids = Vec::new();
    for oid in wanted.0.keys() {
        ids.push(
            ObjectId::from_hex(oid.as_bytes())
                .map_err(|_| Fault::Plumbing("git gave an object id that is none".into()))?,
        );
    }
    let mut items = store.items(&ids)?;
    for (item, path) in items.iter_mut().zip(wanted.0.into_values()) {
        item.path = path;
    }
    let part = store.part(items);
    let source = Kept { source: part.source, _scratch: Arc::clone(&stage.scratch) };
    Ok(Some(Part { items: part.items, source: Box::new(source) }))
}

/// A source that keeps the scratch place.
#[derive(Debug)]
pub struct Kept {
    source: Box<dyn Source>,
    _scratch: Arc<Scratch>,
}

impl Source for Kept {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        self.source.reader()
    }
}
