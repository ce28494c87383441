//! One pack and its index, and what a multi-pack index says of packs.
//!
//! Promise: every place that an index gives for an id is known, also when it gives several: whichever
//! of them git takes, it is among them.

use std::path::{Path, PathBuf};

use gix::hash::ObjectId;
use gix::odb::pack;
use gix::odb::pack::data::Entry;

use super::delta::{self, Broken};
use super::hash::Format;
use crate::payload::Fault;
use crate::text::SafeText;

/// A pack with its index, both mapped.
pub(super) struct Pack {
    index: pack::index::File,
    data: pack::data::File,
}

/// Where a packed object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Packed {
    /// The pack's number in its store.
    pub(super) pack: u32,
    /// The entry's offset in bytes.
    pub(super) offset: u64,
}

impl Pack {
    /// Opens `path`, which ends in `.idx`, and the pack beside it.
    pub(super) fn open(path: &Path, format: Format) -> Result<Self, Fault> {
        let broken = |error: gix::error::Error| {
            Fault::Store(SafeText::new(&format!("{} cannot be used: {error}", name_of(path))))
        };
        let index = pack::index::File::at(path, format.kind()).map_err(broken)?;
        let data = pack::data::File::at(path.with_extension("pack"), format.kind()).map_err(broken)?;
        Ok(Self { index, data })
    }

    /// The file name of its index, for messages.
    pub(super) fn name(&self) -> SafeText {
        SafeText::quoted(name_of(self.index.path()).as_bytes(), 80)
    }

    /// The index file.
    pub(super) fn path(&self) -> &Path {
        self.index.path()
    }

    /// Every id that its index names.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        (0..self.index.num_objects()).map(|place| self.index.oid_at_index(place).to_owned())
    }

    /// The offset that git's binary search would come to.
    pub(super) fn offset(&self, id: &ObjectId) -> Option<u64> {
        self.index.lookup(id).map(|place| self.index.pack_offset_at_index(place))
    }

    /// Every offset that the index gives for `id`; a sound index gives one at most.
    pub(super) fn offsets(&self, id: &ObjectId, found: &mut impl FnMut(u64)) {
        let Some(place) = self.index.lookup(id) else { return };
        found(self.index.pack_offset_at_index(place));
        let same = |other: &u32| self.index.oid_at_index(*other) == id.as_ref();
        for other in (0..place).rev().take_while(same) {
            found(self.index.pack_offset_at_index(other));
        }
        for other in (place + 1..self.index.num_objects()).take_while(same) {
            found(self.index.pack_offset_at_index(other));
        }
    }

    /// The entry that starts at `offset`.
    pub(super) fn entry(&self, offset: u64) -> Result<Entry, Broken> {
        self.data.entry(offset).map_err(|_| Broken::Corrupt("a pack entry's header cannot be read"))
    }

    /// The entry's compressed bytes, and whatever follows them in the pack.
    pub(super) fn compressed(&self, entry: &Entry) -> Result<&[u8], Broken> {
        self.data
            .entry_slice(entry.data_offset..self.data.pack_end() as u64)
            .ok_or(Broken::Corrupt("a pack entry starts outside its pack"))
    }

    /// The offset of the entry that `entry` is a delta of; `None` when it is none.
    pub(super) fn base_offset(&self, entry: &Entry) -> Result<Option<u64>, Broken> {
        match &entry.header {
            pack::data::entry::Header::OfsDelta { base_distance } => entry
                .checked_base_pack_offset(*base_distance)
                .map(Some)
                .ok_or(Broken::Corrupt("a delta's base would stand before its pack")),
            pack::data::entry::Header::RefDelta { base_id } => {
                self.offset(base_id).map(Some).ok_or(Broken::Corrupt("a delta's base is not in its pack"))
            }
            pack::data::entry::Header::Commit
            | pack::data::entry::Header::Tree
            | pack::data::entry::Header::Blob
            | pack::data::entry::Header::Tag => Ok(None),
        }
    }

    /// Inflates the whole of an entry, at most `limit` bytes, into `out`.
    pub(super) fn inflate(
        &self,
        entry: &Entry,
        inflate: &mut gix::zlib::Inflate,
        limit: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        if entry.decompressed_size > limit {
            return Err(Broken::TooLarge);
        }
        let size = usize::try_from(entry.decompressed_size).map_err(|_| Broken::TooLarge)?;
        out.clear();
        out.try_reserve_exact(size).map_err(|_| Broken::TooLarge)?;
        out.resize(size, 0);
        self.data
            .decompress_entry(entry, inflate, out)
            .map(drop)
            .map_err(|_| Broken::Corrupt("a pack entry cannot be inflated"))
    }

    /// The size of the object that `entry` makes, from headers alone.
    pub(super) fn object_size(&self, entry: &Entry, inflate: &mut gix::zlib::Inflate) -> Result<u64, Broken> {
        if !entry.header.is_delta() {
            return Ok(entry.decompressed_size);
        }
        let mut start = [0; delta::HEADER_LEN];
        inflate.reset();
        let (_, _, len) = inflate
            .prefix(self.compressed(entry)?, &mut start)
            .map_err(|_| Broken::Corrupt("a delta's header cannot be inflated"))?;
        start
            .get(..len)
            .and_then(delta::header)
            .map(|header| header.result_size)
            .ok_or(Broken::Corrupt("a delta's header cannot be read"))
    }
}

/// A multi-pack index. git asks it before the packs' own, so what it says counts as another copy.
pub(super) struct MultiIndex {
    file: pack::multi_index::File,
    /// The store's number of each pack that it names.
    packs: Vec<Option<u32>>,
}

impl MultiIndex {
    /// Opens the one of a pack folder, when there is one. `number_of` finds a pack by its index' path.
    pub(super) fn open(
        folder: &Path,
        format: Format,
        number_of: impl Fn(&Path) -> Option<u32>,
    ) -> Result<Option<Self>, Fault> {
        if folder.join("multi-pack-index.d").join("multi-pack-index-chain").exists() {
            return Err(Fault::Store("its multi-pack index is a chain, which is not modelled".into()));
        }
        let path = folder.join("multi-pack-index");
        if !path.exists() {
            return Ok(None);
        }
        let broken =
            |what: String| Fault::Store(SafeText::new(&format!("the multi-pack index cannot be used: {what}")));
        let file = pack::multi_index::File::at(&path, None).map_err(|error| broken(error.to_string()))?;
        if file.object_hash() != format.kind() {
            return Err(broken("it has another object format".to_owned()));
        }
        let packs = file.index_names().iter().map(|name| number_of(&folder.join(name))).collect();
        Ok(Some(Self { file, packs }))
    }

    /// Every place that it gives for `id`.
    pub(super) fn places(&self, id: &ObjectId, found: &mut impl FnMut(Packed)) -> Result<(), Fault> {
        let Some(place) = self.file.lookup(id) else { return Ok(()) };
        let same = |other: &u32| self.file.oid_at_index(*other) == id.as_ref();
        let before = (0..place).rev().take_while(same);
        let after = (place + 1..self.file.num_objects()).take_while(same);
        for place in std::iter::once(place).chain(before).chain(after) {
            found(self.place(place)?);
        }
        Ok(())
    }

    fn place(&self, place: u32) -> Result<Packed, Fault> {
        let (number, offset) = self
            .file
            .pack_id_and_pack_offset_at_index(place)
            .map_err(|error| Fault::Store(SafeText::new(&format!("the multi-pack index lies: {error}"))))?;
        let pack = self.packs.get(number as usize).copied().flatten();
        let pack = pack.ok_or_else(|| Fault::Store("the multi-pack index names a pack that has no index".into()))?;
        Ok(Packed { pack, offset })
    }
}

/// Index files of a pack folder, newest first as git asks them; a pack without an index is left to
/// the multi-pack index.
pub(super) fn indices(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut found = Vec::new();
    for file in listing {
        let path = file.map_err(|error| unreadable(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "idx") && path.with_extension("pack").exists() {
            let modified = path.with_extension("pack").metadata().and_then(|metadata| metadata.modified()).ok();
            found.push((std::cmp::Reverse(modified), path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// A folder or file of the object store that the system does not let us read.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::File { path: SafeText::new(&path.to_string_lossy()), what: error.to_string().into() }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
