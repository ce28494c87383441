//! From what a plan says to the bytes: each publish by the room that knows it.
//!
//! Promise: the payload of several publishes is all of theirs; one that cannot be worked out exactly
//! but is bounded widens to everything its repository holds unpublished, and only what is not bounded
//! is a [`Fault`].

use std::time::Duration;

use crate::command::plan::{CommitRequest, GitContext, Publish, State, WidestRequest};
use crate::text::SafeText;
use crate::world::{Caution, World};

use super::cache::Cache;
use super::push::transfer::Airlock;
use super::push::{self, Network, PushOptions};
use super::{Fault, ObjectId, Payload, commit, upload, widest};

/// How long a destination over the network may take to say what it has.
const NETWORK_WAIT: Duration = Duration::from_secs(20);

/// How payloads are assembled.
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    /// Whether destinations over the network are asked what they have.
    pub network: bool,
    /// Whether git itself makes the pack that is read, whatever the object store says of itself.
    pub airlock: bool,
}

impl Assembly {
    /// As it is for whoever asks: by hand a remote is asked, in the gate it is not.
    pub fn of(world: &World) -> Self {
        Self { network: world.caution == Caution::ByHand, airlock: false }
    }

    /// The same for a push; `cache` holds what was read before and found clean.
    pub fn push_options(self, cache: Option<&Cache>) -> PushOptions<'_> {
        let network = if self.network { Network::Within(NETWORK_WAIT) } else { Network::Unasked };
        let airlock = if self.airlock { Airlock::Always } else { Airlock::InDoubt };
        PushOptions { network, cache, airlock }
    }
}

/// What publishes would send.
#[derive(Debug)]
pub struct Assembled {
    /// The bytes.
    pub payload: Payload,
    /// What to hand to [`Cache::record`] as tips when nothing is found.
    pub clean_tips: Vec<ObjectId>,
}

/// Everything that `publishes` would send.
///
/// # Errors
/// When one of them is not bounded, or cannot be read.
pub fn payload(
    world: &World,
    publishes: &[Publish],
    assembly: Assembly,
    cache: Option<&Cache>,
) -> Result<Assembled, Fault> {
    let mut whole = Payload { exact: true, ..Payload::default() };
    let mut clean_tips = Vec::new();
    let mut refused = None;
    let mut taken = 0;
    for publish in publishes {
        let payload = match publish {
            Publish::Push(request) => push::payload(world, request, assembly.push_options(cache)).map(|pushed| {
                clean_tips.extend(pushed.clean_tips);
                pushed.payload
            }),
            Publish::Commit(request) => of_commit(world, request),
            Publish::Upload(request) => upload::payload(world, request),
            Publish::Widest(request) => widest::payload(world, request),
        };
        match payload {
            Ok(payload) => {
                whole.absorb(payload);
                taken += 1;
            }
            // That git stops at one command of a line takes nothing from what the others send.
            Err(Fault::GitRefuses(why)) => refused = Some(why),
            Err(fault) => return Err(fault),
        }
    }
    if let Some(why) = refused {
        if taken == 0 {
            return Err(Fault::GitRefuses(why));
        }
        whole.notes.push(SafeText::new(&format!("git itself would refuse a part of this: {why}")));
    }
    Ok(Assembled { payload: whole, clean_tips })
}

fn of_commit(world: &World, request: &CommitRequest) -> Result<Payload, Fault> {
    match request.state {
        State::AsNow => commit::payload(world, request),
        State::ContentChanged | State::Elsewhere | State::Changed => {
            let mut payload = everything(world, &request.git, "the line changes the repository before it commits")?;
            match commit::payload(world, request) {
                Ok(narrow) => payload.absorb(narrow),
                // As it is now git would refuse; the line changes that.
                Err(Fault::GitRefuses(why)) => {
                    payload.notes.push(SafeText::new(&format!("as it is now, git would refuse the commit: {why}")));
                }
                Err(fault) => return Err(fault),
            }
            payload.exact = false;
            Ok(payload)
        }
    }
}

/// Everything unpublished in a repository.
fn everything(world: &World, git: &GitContext, because: &str) -> Result<Payload, Fault> {
    widest::payload(world, &WidestRequest { git: git.clone(), because: because.into() })
}
