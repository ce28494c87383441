//! The current branch of a push whose line moves it first.
//!
//! Promise: every update of the current branch, or of `HEAD`, sends what the branch will stand on in place of
//! what it stands on now; other updates stay. What the line commits on top is a publish of its own. Where the
//! branch is not known for certain, what is brought in joins every update.

use bstr::{BString, ByteSlice};

use crate::command::plan::{PushRequest, State};
use crate::payload::{Fault, ObjectId};
use crate::world::World;

use super::refs::object_id;
use super::transfer::{Resolved, Transfer};

/// Replaces the tips of the updates that are moved.
///
/// # Errors
/// When git cannot be asked.
pub(super) fn apply(world: &World, request: &PushRequest, resolved: &mut Resolved) -> Result<(), Fault> {
    if request.moved_to.revisions.is_empty() {
        return Ok(());
    }
    let mut tips = Vec::new();
    for revision in &request.moved_to.revisions {
        let args = ["rev-parse".into(), "--quiet".into(), "--revs-only".into(), revision.clone(), "--".into()];
        let asked = world.git(&request.git, args).run()?;
        for line in asked.stdout.lines() {
            tips.push(object_id(line)?);
        }
    }
    let head = match &request.moved_to.branch {
        Some(branch) => branch.clone(),
        None => world.git(&request.git, ["symbolic-ref", "-q", "HEAD"]).run()?.stdout.trim_end().into(),
    };
    for transfer in resolved.transfers.iter_mut().filter(|transfer| transfer.git == request.git) {
        if request.state == State::AsNow && !transfer.widened && !request.moved_to.any_branch {
            replace(transfer, &head, &tips);
        } else {
            add(transfer, &tips);
        }
    }
    resolved.notes.push("the current branch is read as the line leaves it".into());
    Ok(())
}

fn replace(transfer: &mut Transfer, head: &BString, tips: &[ObjectId]) {
    let mut updates = Vec::new();
    for update in std::mem::take(&mut transfer.updates) {
        let is_moved =
            update.new.is_some() && (update.source == *head || update.source == "HEAD" || update.source == "@");
        if !is_moved {
            updates.push(update);
            continue;
        }
        updates.extend(tips.iter().map(|tip| super::Update { new: Some(*tip), ..update.clone() }));
        if tips.is_empty() {
            // A first commit that is made anew: the name is all that is left of it here.
            updates.push(super::Update { new: update.old, ..update });
        }
    }
    transfer.updates = updates;
}

fn add(transfer: &mut Transfer, tips: &[ObjectId]) {
    let Some(like) = transfer.updates.iter().find(|update| update.new.is_some()).cloned() else { return };
    transfer.updates.extend(tips.iter().map(|tip| super::Update { new: Some(*tip), ..like.clone() }));
}
