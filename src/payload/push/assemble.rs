//! From transfers to items: the objects that are new to each url, and the texts that travel beside.

use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::Arc;

use bstr::{BStr, BString};

use crate::command::plan::{GitContext, PushRequest};
use crate::payload::objects::ObjectStore;
use crate::payload::remote::Commits;
use crate::payload::source::Texts;
use crate::payload::{Fault, Item, ItemKind, ObjectId, Part, Payload, Side};
use crate::text::SafeText;
use crate::world::World;

use super::destination::{Advertisement, shown};
use super::hook::updates_from_lines;
use super::remote::Given;
use super::repository::{Opened, Repository};
use super::resolve::Update;
use super::transfer::{PushOptions, Resolved, Transfer, resolve};
use super::widen::{Because, widened};

/// What a push sends.
#[derive(Debug)]
pub struct PushPayload {
    /// The bytes.
    pub payload: Payload,
    /// The push, taken apart: urls, updates, boundaries, whether the hook runs.
    pub resolved: Resolved,
}

/// What a push sends.
///
/// # Errors
/// When a part of it is not modelled, cannot be asked, or an object cannot be followed.
pub fn payload(world: &World, request: &PushRequest, options: PushOptions) -> Result<PushPayload, Fault> {
    let resolved = match Because::of(request) {
        Some(because) => widened(world, request, because, options)?,
        None => {
            let words: Vec<OsString> = request.args.iter().flatten().cloned().collect();
            resolve(world, request, &words, options)?
        }
    };
    let payload = assemble(world, &resolved)?;
    Ok(PushPayload { payload, resolved })
}

/// What a push sends, from the list that git gives to its pre-push hook: exact ids, and the ids that
/// the destination has at the same refs, which are evidence. For a ref that is new there, or whose id
/// is not here, the destination is asked what else it has, since nothing would count as published.
///
/// # Errors
/// When a line cannot be read, or an object is missing or cannot be followed.
pub fn from_hook_lines(
    world: &World,
    git: &GitContext,
    remote: &BStr,
    url: &BStr,
    lines: &[u8],
    options: PushOptions,
) -> Result<PushPayload, Fault> {
    let updates = updates_from_lines(lines)?;
    let mut resolved = Resolved::default();
    let mut evidence: Vec<ObjectId> = updates.iter().filter_map(|update| update.old).collect();
    if has_new_ground(world, git, &updates)? {
        evidence.extend(asked(world, git, remote, url, options, &mut resolved.notes)?);
    }
    resolved.transfers.push(Transfer {
        git: git.clone(),
        // git gives the url twice where there is no name.
        remote: (remote != url).then(|| remote.into()),
        url: url.into(),
        updates,
        perhaps_tags: Vec::new(),
        evidence: Some(evidence),
        claims: Vec::new(),
        widened: false,
    });
    let payload = assemble(world, &resolved)?;
    Ok(PushPayload { payload, resolved })
}

/// Whether a ref is new at the destination, or has an id there that is not here.
fn has_new_ground(world: &World, git: &GitContext, updates: &[Update]) -> Result<bool, Fault> {
    let mut sent = updates.iter().filter(|update| update.new.is_some()).peekable();
    if sent.peek().is_none() {
        return Ok(false);
    }
    let store = ObjectStore::open(world, git)?;
    Ok(sent.any(|update| update.old.is_none_or(|old| !store.has(&old))))
}

/// What the destination of a url says that it has; nothing when it does not answer, and a note.
fn asked(
    world: &World,
    git: &GitContext,
    remote: &BStr,
    url: &BStr,
    options: PushOptions,
    notes: &mut Vec<SafeText>,
) -> Result<Vec<ObjectId>, Fault> {
    let repository = match Repository::open(world, git)? {
        Opened::Repository(repository) => repository,
        Opened::None(why) => return Err(Fault::Repository(why)),
    };
    let known = repository.remotes.find(remote, Given::ByName)?.unwrap_or_default();
    match repository.ask(world, &known, &url.into(), known.receive_pack.as_ref(), options.network) {
        Advertisement::Refs(refs) => Ok(refs.into_iter().map(|advertised| advertised.oid).collect()),
        Advertisement::Unknown(why) => {
            let place = shown(url);
            notes.push(format!("at {place} only the refs that are sent count as published: {why}").into());
            Ok(Vec::new())
        }
    }
}

/// The bytes of a push that was taken apart.
///
/// # Errors
/// When an object is missing or cannot be followed.
pub fn assemble(world: &World, resolved: &Resolved) -> Result<Payload, Fault> {
    let mut payload = Payload { exact: true, ..Payload::default() };
    payload.notes.clone_from(&resolved.notes);
    payload.exact = resolved.transfers.iter().all(|transfer| transfer.is_exact());
    let mut stores = Stores { world, open: Vec::new() };
    if !resolved.dry_run {
        for transfer in &resolved.transfers {
            stores.take(transfer)?;
        }
    }
    (payload.parts, payload.sides) = stores.into_parts(resolved);
    payload.destinations = resolved.transfers.iter().map(Transfer::destination).collect();
    payload.parts.extend(texts(resolved));
    Ok(payload)
}

/// Ref names, push options and the pusher's name, each once.
fn texts(resolved: &Resolved) -> Option<Part> {
    let mut texts: Vec<(ItemKind, BString)> = Vec::new();
    if !resolved.dry_run {
        let updates = resolved.transfers.iter().flat_map(|transfer| &transfer.updates);
        texts.extend(
            updates
                .filter(|update| !update.is_up_to_date() && !update.destination.is_empty())
                .map(|update| (ItemKind::Ref, update.destination.clone())),
        );
        texts.extend(resolved.certificate.iter().map(|text| (ItemKind::Option, text.clone())));
    }
    if !resolved.transfers.is_empty() {
        texts.extend(resolved.push_options.iter().map(|text| (ItemKind::Option, text.clone())));
    }
    texts.sort();
    texts.dedup();
    (!texts.is_empty()).then(|| Texts::part(texts))
}

/// The stores that transfers read from; each object of a store is an item once, however many urls it
/// goes to.
struct Stores<'a> {
    world: &'a World,
    open: Vec<OpenStore>,
}

struct OpenStore {
    git: GitContext,
    store: Arc<ObjectStore>,
    seen: HashSet<ObjectId>,
    items: Vec<Item>,
    asked: Vec<(Vec<ObjectId>, Vec<ObjectId>)>,
}

impl Stores<'_> {
    fn take(&mut self, transfer: &Transfer) -> Result<(), Fault> {
        let tips: Vec<ObjectId> = transfer.tips().collect();
        if tips.is_empty() && transfer.perhaps_tags.is_empty() {
            return Ok(());
        }
        let mut boundary = transfer.evidence.clone().unwrap_or_default();
        let open = self.open(&transfer.git)?;
        open.take(tips, &boundary)?;
        if !transfer.perhaps_tags.is_empty() {
            boundary.extend(transfer.perhaps_tags.iter().map(|tag| tag.commit));
            open.take(transfer.perhaps_tags.iter().map(|tag| tag.tag).collect(), &boundary)?;
        }
        Ok(())
    }

    fn open(&mut self, git: &GitContext) -> Result<&mut OpenStore, Fault> {
        if !self.open.iter().any(|open| open.git == *git) {
            let store = ObjectStore::open(self.world, git)?;
            let (seen, items, asked) = (HashSet::new(), Vec::new(), Vec::new());
            self.open.push(OpenStore { git: git.clone(), store, seen, items, asked });
        }
        let found = self.open.iter_mut().find(|open| open.git == *git);
        found.ok_or_else(|| Fault::Repository("an object store that was opened is gone".into()))
    }

    /// The parts, and for each what the destinations of its transfers show by evidence.
    fn into_parts(self, resolved: &Resolved) -> (Vec<Part>, Vec<Side>) {
        let filled = self.open.into_iter().filter(|open| !open.items.is_empty());
        let (mut parts, mut sides) = (Vec::new(), Vec::new());
        for open in filled {
            for transfer in resolved
                .transfers
                .iter()
                .filter(|transfer| transfer.git == open.git && transfer.tips().next().is_some())
            {
                let commits = transfer.evidence.clone().unwrap_or_default();
                let side = Arc::new(Commits::new(Arc::clone(&open.store), commits));
                sides.push(Side { parts: parts.len()..parts.len() + 1, side });
            }
            parts.push(open.store.part(open.items));
        }
        (parts, sides)
    }
}

impl OpenStore {
    fn take(&mut self, mut tips: Vec<ObjectId>, boundary: &[ObjectId]) -> Result<(), Fault> {
        tips.sort_unstable();
        tips.dedup();
        let mut boundary = boundary.to_vec();
        boundary.sort_unstable();
        boundary.dedup();
        if tips.is_empty() || self.asked.iter().any(|(known, edge)| *known == tips && *edge == boundary) {
            return Ok(());
        }
        for item in self.store.reachable(&tips, &boundary)? {
            let oid = item.oid.ok_or_else(|| Fault::Plumbing("an object without an id was listed".into()))?;
            if self.seen.insert(oid) {
                self.items.push(item);
            }
        }
        self.asked.push((tips, boundary));
        Ok(())
    }
}
