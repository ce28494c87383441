//! Files as the line leaves them that uploads them.
//!
//! Promise: what the line writes into a file is read in the place of what the disk holds now; where nobody can know it,
//! that is said.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::BString;

use crate::command::plan::{Content, WrittenFile};
use crate::payload::objects::Format;
use crate::payload::source::{self, Reader, Sink, Source};
use crate::payload::{Elsewhere, Fault, Item, ItemKind, ObjectId, Part};
use crate::text::SafeText;

use super::{Chosen, shown, tree};

impl Chosen {
    /// Takes a file as the line leaves it.
    ///
    /// # Errors
    /// When a folder that is copied cannot be listed.
    pub(super) fn take_written(&mut self, file: &WrittenFile) -> Result<(), Fault> {
        let is_replaced = !file.or_as_on_disk && !file.contents.iter().any(|one| matches!(one, Content::Appended(_)));
        if is_replaced {
            self.files.remove(&file.path);
        }
        for content in &file.contents {
            match content {
                Content::Bytes(bytes) | Content::Appended(bytes) => self.made.push((file.path.clone(), bytes.clone())),
                Content::CopyOf(source) if source.is_dir() => self.files.extend(tree::walk(source, &|_, _| true)?),
                Content::CopyOf(source) => self.files.extend([source.clone()]),
                Content::MadeOf { text, files } => {
                    self.made.push((file.path.clone(), text.clone()));
                    self.files.extend(files.iter().filter(|source| source.is_file()).cloned());
                }
                Content::Unknown => {
                    self.unseen.push(SafeText::new(&format!("{}, which the line writes before", shown(&file.path))));
                }
                Content::Gone => {}
            }
        }
        Ok(())
    }
}

/// What is made of files, each by the path that rules are to see.
pub(super) fn part(made: Vec<(PathBuf, Vec<u8>)>, path: &dyn Fn(&Path) -> PathBuf, format: Format) -> Part {
    let (mut items, mut bytes_by_id) = (Vec::new(), BTreeMap::new());
    for (file, bytes) in made {
        let size = bytes.len() as u64;
        let mut hasher = format.hasher(gix::objs::Kind::Blob, size);
        hasher.update(&bytes);
        let id = hasher.id();
        let path = BString::from(path(&file).as_os_str().as_bytes());
        let (kind, elsewhere) = (ItemKind::File, Elsewhere::Nowhere);
        items.push(Item { kind, oid: Some(id), size, path: Some(path), commit: None, elsewhere });
        bytes_by_id.insert(id, bytes);
    }
    Part { items, source: Box::new(Made { bytes: bytes_by_id }) }
}

/// Bytes in memory, by the ids that they would have as blobs.
#[derive(Debug)]
struct Made {
    bytes: BTreeMap<ObjectId, Vec<u8>>,
}

impl Source for Made {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(MadeReader(&self.bytes)))
    }
}

struct MadeReader<'a>(&'a BTreeMap<ObjectId, Vec<u8>>);

impl Reader for MadeReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let bytes = item.oid.and_then(|id| self.0.get(&id));
        let missing = || Fault::Plumbing("a file that the line writes was asked for from another part".into());
        sink(source::Content::Whole(bytes.ok_or_else(missing)?))
    }
}
