//! From transfers to items: the objects that are new to each url, and the texts that travel beside.

use std::ffi::OsString;

use bstr::{BStr, BString};

use crate::command::plan::{GitContext, PushRequest, PushVia};
use crate::payload::objects::ObjectStore;
use crate::payload::source::Texts;
use crate::payload::{Fault, ItemKind, ObjectId, Part, Payload, Replaced};
use crate::text::SafeText;
use crate::world::World;

use super::destination::{Advertisement, shown};
use super::gather::{Gathered, Gathering};
use super::hook::updates_from_lines;
use super::moved;
use super::rejected;
use super::remote::Given;
use super::repository::{Opened, Repository};
use super::resolve::Update;
use super::transfer::{Force, PushOptions, Resolved, Transfer, resolve};
use super::uploads;
use super::widen::{Because, widened};

/// What a push sends.
#[derive(Debug)]
pub struct PushPayload {
    /// The bytes.
    pub payload: Payload,
    /// The push, taken apart: urls, updates, boundaries, whether the hook runs.
    pub resolved: Resolved,
    /// How many objects were left out one by one because they were read before and found clean.
    pub remembered: u64,
    /// What to hand to [`crate::payload::cache::Cache::record`] as tips when nothing is found.
    pub clean_tips: Vec<ObjectId>,
}

/// What a push sends.
///
/// # Errors
/// When a part of it is not modelled, cannot be asked, or an object cannot be followed.
pub fn payload(world: &World, request: &PushRequest, options: PushOptions<'_>) -> Result<PushPayload, Fault> {
    let mut resolved = match Because::of(request) {
        Some(because) => widened(world, request, because, options)?,
        None => {
            let words: Vec<OsString> = request.args.iter().flatten().cloned().collect();
            resolve(world, request, &words, options)?
        }
    };
    moved::apply(world, request, &mut resolved)?;
    match request.via {
        PushVia::Lfs => uploads::alone(world, request, resolved),
        PushVia::Push | PushVia::SendPack | PushVia::OtherSide => assemble(world, resolved, options),
    }
}

/// What a push sends, from the list that git gives to its pre-push hook: exact ids, and the ids that
/// the destination has at the same refs, which are evidence. For a ref that is new there, or whose id
/// is not here, the destination is asked what else it has, since nothing would count as published. Refs that the
/// list leaves out are added ([`rejected`]).
///
/// # Errors
/// When a line cannot be read, or an object is missing or cannot be followed.
pub fn from_hook_lines(
    world: &World,
    git: &GitContext,
    remote: &BStr,
    url: &BStr,
    lines: &[u8],
    options: PushOptions<'_>,
) -> Result<PushPayload, Fault> {
    let mut updates = updates_from_lines(lines)?;
    let mut resolved = Resolved { force: Force::Settled, ..Resolved::default() };
    let left_out = rejected::left_out(world, git, url, &updates, options)?;
    let mut evidence: Vec<ObjectId> = updates.iter().filter_map(|update| update.old).collect();
    evidence.extend(left_out.evidence);
    updates.extend(left_out.updates);
    resolved.notes.extend(left_out.notes);
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
    assemble(world, resolved, options)
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
    options: PushOptions<'_>,
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
pub fn assemble(world: &World, resolved: Resolved, options: PushOptions<'_>) -> Result<PushPayload, Fault> {
    let mut gathering = Gathering::new(world, options);
    if !resolved.dry_run {
        for transfer in &resolved.transfers {
            gathering.take(transfer)?;
        }
    }
    let Gathered { parts, sides, notes, remembered, clean_tips } = gathering.finish(&resolved);
    let mut payload = Payload { parts, sides, notes: resolved.notes.clone(), ..Payload::default() };
    payload.notes.extend(notes);
    payload.exact = remembered == 0 && resolved.transfers.iter().all(Transfer::is_exact);
    payload.destinations = resolved.transfers.iter().map(Transfer::destination).collect();
    payload.parts.extend(texts(&resolved));
    payload.replaces = replaced(&resolved);
    if !resolved.dry_run {
        uploads::along(world, &resolved, &mut payload)?;
    }
    Ok(PushPayload { payload, resolved, remembered, clean_tips })
}

/// Refs of the destinations that may be replaced by what does not contain them.
fn replaced(resolved: &Resolved) -> Vec<Replaced> {
    if resolved.dry_run || resolved.force == Force::No {
        return Vec::new();
    }
    let mut all = Vec::new();
    for transfer in resolved.transfers.iter().filter(|transfer| !transfer.widened) {
        let asked = transfer.evidence.is_some();
        for update in transfer.updates.iter().filter(|update| !update.is_up_to_date()) {
            // A ref that is new there replaces nothing; one of a place that was not asked may.
            if let (Some(new), true) = (update.new, update.old.is_some() || !asked) {
                all.push(Replaced {
                    git: transfer.git.clone(),
                    name: SafeText::quoted(&update.destination, 120),
                    old: update.old,
                    new,
                    is_asked_for: resolved.force == Force::Asked,
                });
            }
        }
    }
    all
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
