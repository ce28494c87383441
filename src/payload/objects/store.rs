//! An object store, opened: packs, loose objects, alternates, and every copy of an object among them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use gix::hash::ObjectId;
use gix::objs::Kind;

use super::decode::{Decoder, Object};
use super::delta::Broken;
use super::graph::Hints;
use super::hash::Format;
use super::loose;
use super::pack::{self, MultiIndex, Pack, Packed};
use super::places::Places;
use super::read::StoreSource;
use crate::command::plan::GitContext;
use crate::payload::{Fault, Item, Part};
use crate::text::SafeText;
use crate::world::World;

/// The objects of a repository as the judged command's git would see them, without replacements and
/// without a commit-graph. Shared by threads; what it has opened stays as it was.
pub struct ObjectStore {
    pub(super) places: Places,
    pub(super) hints: Hints,
    packs: Vec<Pack>,
    /// Packs that appeared after opening; looked for once, when an object is not found.
    late: OnceLock<Result<Vec<Pack>, String>>,
    multi: Vec<MultiIndex>,
    promisor: bool,
    /// Who can ask git about this repository; none for a quarantine.
    pub(super) asker: Option<(World, GitContext)>,
}

/// Where a copy of an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Packed(Packed),
    /// Loose, in the object directory of this number.
    Loose(u32),
}

/// The most bytes of a commit, tag or tree that the walk reads.
const WALK_LIMIT: u64 = 1 << 30;

impl std::fmt::Debug for ObjectStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ObjectStore")
            .field("places", &self.places)
            .field("packs", &self.packs.len())
            .finish_non_exhaustive()
    }
}

impl ObjectStore {
    /// Opens the object store of the repository that `context` would use. One child of git is run.
    ///
    /// # Errors
    /// When there is no repository, git distrusts its owner, or the store may lie (grafts).
    pub fn open(world: &World, context: &GitContext) -> Result<Arc<Self>, Fault> {
        let asker = Some((world.clone(), context.clone()));
        Self::from_places(Places::find(world, context)?, asker).map(Arc::new)
    }

    pub(super) fn from_places(places: Places, asker: Option<(World, GitContext)>) -> Result<Self, Fault> {
        let mut packs = Vec::new();
        for objects in &places.objects {
            for index in pack::indices(&objects.join("pack"))? {
                packs.push(Pack::open(&index, places.format)?);
            }
        }
        let number_of =
            |path: &Path| packs.iter().position(|pack| pack.path() == path).and_then(|n| u32::try_from(n).ok());
        let mut multi = Vec::new();
        for objects in &places.objects {
            multi.extend(MultiIndex::open(&objects.join("pack"), places.format, number_of)?);
        }
        let promisor = packs.iter().any(|pack| pack.path().with_extension("promisor").exists());
        let hints = Hints::open(&places)?;
        Ok(Self { places, hints, packs, late: OnceLock::new(), multi, promisor, asker })
    }

    /// The repository's own directory (`.git`, or that of a linked work tree).
    pub fn git_dir(&self) -> &Path {
        &self.places.git_dir
    }

    /// The directory that linked work trees share.
    pub fn common_dir(&self) -> &Path {
        &self.places.common_dir
    }

    /// Object directories in git's order: its own, then alternates.
    pub fn object_dirs(&self) -> &[PathBuf] {
        &self.places.objects
    }

    /// Whether commits are cut off from their parents.
    pub fn is_shallow(&self) -> bool {
        !self.places.shallow.is_empty()
    }

    /// Whether a commit is here without its parents, because the clone is shallow.
    pub fn is_cut_at(&self, id: &ObjectId) -> bool {
        self.places.shallow.contains(id)
    }

    /// Whether an object is here; says nothing of what it needs.
    pub fn has(&self, id: &ObjectId) -> bool {
        matches!(self.locate(id), Ok(Some(_)))
    }

    /// Every object that is here, reachable or not, each once.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn all_ids(&self) -> Result<Vec<ObjectId>, Fault> {
        let mut ids: Vec<ObjectId> = self.packs.iter().flat_map(Pack::ids).collect();
        for objects in &self.places.objects {
            ids.extend(loose::ids(objects, self.format().len())?);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The store of one pack in a quarantine, below `folder`; its files may be removed once it is open.
    pub(in crate::payload) fn of_quarantine(folder: &Path, format: Format) -> Result<Arc<Self>, Fault> {
        let places = Places {
            git_dir: folder.to_owned(),
            common_dir: folder.to_owned(),
            format,
            objects: vec![folder.to_owned()],
            shallow: HashSet::new(),
        };
        Self::from_places(places, None).map(Arc::new)
    }

    /// The part of a payload that these items of this store are.
    pub fn part(self: &Arc<Self>, items: Vec<Item>) -> Part {
        Part { items, source: Box::new(StoreSource::new(Arc::clone(self))) }
    }

    pub(super) fn format(&self) -> Format {
        self.places.format
    }

    pub(super) fn pack(&self, place: Packed) -> Result<&Pack, Fault> {
        let number = place.pack as usize;
        let pack = match self.packs.get(number) {
            Some(pack) => Some(pack),
            None => self.late_packs()?.get(number - self.packs.len()),
        };
        pack.ok_or_else(|| Fault::Store("a pack of it is not there any more".into()))
    }

    /// Packs that git wrote while we worked.
    fn late_packs(&self) -> Result<&[Pack], Fault> {
        let late = self.late.get_or_init(|| self.open_late().map_err(|fault| fault.to_string()));
        match late {
            Ok(packs) => Ok(packs),
            Err(what) => Err(Fault::Store(SafeText::new(what))),
        }
    }

    fn open_late(&self) -> Result<Vec<Pack>, Fault> {
        let mut late = Vec::new();
        for objects in &self.places.objects {
            for index in pack::indices(&objects.join("pack"))? {
                if !self.packs.iter().any(|pack| pack.path() == index) {
                    late.push(Pack::open(&index, self.format())?);
                }
            }
        }
        Ok(late)
    }

    /// The first copy of `id`.
    pub(super) fn locate(&self, id: &ObjectId) -> Result<Option<Place>, Fault> {
        for (number, pack) in (0_u32..).zip(&self.packs) {
            if let Some(offset) = pack.offset(id) {
                return Ok(Some(Place::Packed(Packed { pack: number, offset })));
            }
        }
        let mut copies = Vec::new();
        self.copies(id, &mut copies)?;
        Ok(copies.first().copied())
    }

    /// Every copy of `id` that git might take, in `copies`. A loose one counts only where no pack has
    /// it: git asks packs first, and a packed copy that it cannot read is refused here anyway.
    pub(super) fn copies(&self, id: &ObjectId, copies: &mut Vec<Place>) -> Result<(), Fault> {
        copies.clear();
        let mut add = |packed: Packed| {
            let place = Place::Packed(packed);
            if !copies.contains(&place) {
                copies.push(place);
            }
        };
        for (number, pack) in (0_u32..).zip(&self.packs) {
            pack.offsets(id, &mut |offset| add(Packed { pack: number, offset }));
        }
        for multi in &self.multi {
            multi.places(id, &mut add)?;
        }
        if copies.is_empty() {
            // Which of several loose copies git takes depends on the order of its object directories.
            let dirs = (0_u32..).zip(&self.places.objects);
            copies
                .extend(dirs.filter(|(_, objects)| loose::exists(objects, id)).map(|(number, _)| Place::Loose(number)));
        }
        if copies.is_empty() {
            let first = u32::try_from(self.packs.len()).unwrap_or(u32::MAX);
            for (number, pack) in (first..).zip(self.late_packs()?) {
                copies.extend(pack.offset(id).map(|offset| Place::Packed(Packed { pack: number, offset })));
            }
        }
        Ok(())
    }

    /// Fails when the deadline of whoever opened the store has passed.
    pub(super) fn in_time(&self) -> Result<(), Fault> {
        let deadline = self.asker.as_ref().and_then(|(world, _)| world.deadline);
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Fault::Deadline("the history was walked".into()));
        }
        Ok(())
    }

    /// The whole of an object for the walk.
    pub(super) fn object(&self, id: &ObjectId, decoder: &mut Decoder) -> Result<Object, Fault> {
        let place = self.locate(id)?.ok_or_else(|| self.missing(id))?;
        self.object_at(id, place, decoder, WALK_LIMIT)?.map_err(|broken| self.broken(id, place, &broken))
    }

    /// The copy of an object at `place`, at most `limit` bytes.
    pub(super) fn object_at(
        &self,
        id: &ObjectId,
        place: Place,
        decoder: &mut Decoder,
        limit: u64,
    ) -> Result<Result<Object, Broken>, Fault> {
        match place {
            Place::Packed(packed) => Ok(decoder.decode(self.pack(packed)?, packed, limit)),
            Place::Loose(number) => {
                let read = loose::read(self.objects_dir(number)?, id, &mut decoder.inflate, limit)?;
                let read = read.ok_or_else(|| self.missing(id))?;
                Ok(read.map(|(kind, bytes)| Object { kind, bytes: std::rc::Rc::new(bytes) }))
            }
        }
    }

    /// Kind and size of a loose object, from its header.
    pub(super) fn loose_header(&self, id: &ObjectId, number: u32) -> Result<(Kind, u64), Fault> {
        let header = loose::header(self.objects_dir(number)?, id)?.ok_or_else(|| self.missing(id))?;
        header.map_err(|broken| self.broken(id, Place::Loose(number), &broken))
    }

    pub(super) fn objects_dir(&self, number: u32) -> Result<&Path, Fault> {
        let dir = self.places.objects.get(number as usize).map(PathBuf::as_path);
        dir.ok_or_else(|| Fault::Plumbing("an object directory has no such number".into()))
    }

    /// The fault for an object that is not here.
    pub(super) fn missing(&self, id: &ObjectId) -> Fault {
        if self.promisor {
            return Fault::Partial(SafeText::new(&format!(
                "object {id} is not here; git would fetch it while it pushes, unread"
            )));
        }
        let hint = if self.is_shallow() { "the clone is shallow" } else { "no pack, loose object or alternate has it" };
        Fault::Missing { oid: id.to_string(), hint: hint.into() }
    }

    /// The fault for a copy that cannot be turned into an object.
    pub(super) fn broken(&self, id: &ObjectId, place: Place, broken: &Broken) -> Fault {
        let what = match broken {
            Broken::TooLarge => "it is over the bound",
            Broken::Corrupt(what) => what,
        };
        Fault::Malformed { oid: id.to_string(), what: SafeText::new(&format!("{what} ({})", self.place_name(place))) }
    }

    /// The fault for a copy that is another object than its index says.
    pub(super) fn lies(&self, id: &ObjectId, place: Place) -> Fault {
        match place {
            Place::Packed(_) => Fault::Store(SafeText::new(&format!(
                "{} gives other bytes for {id} than that object's",
                self.place_name(place)
            ))),
            Place::Loose(_) => Fault::Corrupt { oid: id.to_string() },
        }
    }

    fn place_name(&self, place: Place) -> String {
        match place {
            Place::Packed(packed) => match self.pack(packed) {
                Ok(pack) => format!("{} at offset {}", pack.name(), packed.offset),
                Err(_) => format!("pack {} at offset {}", packed.pack, packed.offset),
            },
            Place::Loose(_) => "loose".to_owned(),
        }
    }
}
