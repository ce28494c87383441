//! One thing that would leave, and where it comes from.

use bstr::{BStr, BString, ByteSlice};
pub use gix::hash::ObjectId;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A blob: file content, a symlink's target.
    Blob,
    /// A commit, raw: identities, message and every header.
    Commit,
    /// An annotated tag, raw.
    Tag,
    /// A tree; its entry names are content.
    Tree,
    /// A ref name, which travels in the push commands.
    Ref,
    /// A push option.
    Option,
    /// A commit message that does not exist as an object yet.
    Message,
    /// A file on disk.
    File,
    /// Content that Git LFS would upload.
    Lfs,
    /// The command line itself.
    Command,
}

/// One thing that would leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its object id; for a file the id its bytes would have as a blob, unfiltered, where it is known.
    pub oid: Option<ObjectId>,
    /// Its size in bytes, from the object's header or the file system.
    pub size: u64,
    /// A path under which it is seen: relative to the repository's top, or as named on the line.
    pub path: Option<BString>,
    /// Where else it is seen.
    pub elsewhere: Elsewhere,
    /// A commit in which it is seen first.
    pub commit: Option<ObjectId>,
}

/// Further paths of an item: rules and allowlists look at paths, so bytes that do not count at one may at
/// another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Elsewhere {
    /// There are none.
    #[default]
    Nowhere,
    /// All of them.
    At(Vec<BString>),
    /// These, and more than were kept: it could be any.
    Anywhere(Vec<BString>),
}

impl Item {
    /// The path that rules see: that of a file or an object, not the number of a text in its part.
    pub fn file_path(&self) -> Option<&BStr> {
        match self.kind {
            ItemKind::Blob | ItemKind::File | ItemKind::Lfs | ItemKind::Tree | ItemKind::Commit | ItemKind::Tag => {
                self.path.as_ref().map(|path| path.as_bstr())
            }
            ItemKind::Ref | ItemKind::Option | ItemKind::Message | ItemKind::Command => None,
        }
    }

    /// Every path that is known of it, the first one first.
    pub fn known_paths(&self) -> impl Iterator<Item = &BStr> {
        let others = match &self.elsewhere {
            Elsewhere::At(paths) | Elsewhere::Anywhere(paths) => paths.as_slice(),
            Elsewhere::Nowhere => &[],
        };
        self.file_path().into_iter().chain(others.iter().map(|path| path.as_bstr()))
    }
}

/// Objects and bytes, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many items.
    pub objects: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts one more item.
    pub fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}
