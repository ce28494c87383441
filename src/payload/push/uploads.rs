//! Content of Git LFS that goes along with a push, or goes alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use bstr::ByteSlice;

use crate::command::plan::PushRequest;
use crate::payload::lfs::{self, Reach, Uploads};
use crate::payload::objects::ObjectStore;
use crate::payload::remote::{Commits, ShowsNothing};
use crate::payload::{Fault, ObjectId, Payload, RemoteSide, Side};
use crate::world::World;

use super::assemble::PushPayload;
use super::transfer::{Resolved, Transfer};

/// Adds what git-lfs' pre-push hook would upload.
pub(super) fn along(world: &World, resolved: &Resolved, payload: &mut Payload) -> Result<(), Fault> {
    take(world, resolved, Reach::Hook, payload)
}

/// `git lfs push`: no object of git's leaves, only what pointers name. It takes refs that `git push`
/// would refuse (a detached `HEAD`), so a refusal of the latter means nothing here.
pub(super) fn alone(world: &World, request: &PushRequest, resolved: Resolved) -> Result<PushPayload, Fault> {
    let mut payload = Payload { exact: false, notes: resolved.notes.clone(), ..Payload::default() };
    take(world, &resolved, Reach::All, &mut payload)?;
    if resolved.refused.is_some()
        && let Some(any) = lfs::uploads_of_any(world, &request.git)?
    {
        add(&mut payload, any, Arc::new(ShowsNothing));
    }
    Ok(PushPayload { payload, resolved, remembered: 0, clean_tips: Vec::new() })
}

fn take(world: &World, resolved: &Resolved, reach: Reach, payload: &mut Payload) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for transfer in &resolved.transfers {
        let tips = tips(transfer, reach);
        let to = (transfer.remote.as_ref().map(|remote| remote.as_bstr()), transfer.url.as_bstr());
        if let Some(mut uploads) = lfs::uploads(world, &transfer.git, &tips, to, reach)? {
            lfs::once(&mut uploads, &mut seen);
            let commits = transfer.evidence.clone().unwrap_or_default();
            let side = Commits::new(ObjectStore::open(world, &transfer.git)?, commits);
            add(payload, uploads, Arc::new(side));
        }
    }
    Ok(())
}

/// git-lfs uploads for a ref that is up to date too, when it is told to push it.
fn tips(transfer: &Transfer, reach: Reach) -> Vec<ObjectId> {
    match reach {
        Reach::Hook => transfer.tips().collect(),
        Reach::All => transfer.updates.iter().filter_map(|update| update.new).collect(),
    }
}

fn add(payload: &mut Payload, uploads: Uploads, side: Arc<dyn RemoteSide>) {
    let place = payload.parts.len();
    payload.sides.push(Side { parts: place..place + 1, side });
    payload.parts.push(uploads.part);
    payload.destinations.push(uploads.destination);
    payload.notes.extend(uploads.notes);
}
