//! From what a plan says to the bytes: each publish by the room that knows it.
//!
//! Promise: the payload of several publishes is all of theirs; one that cannot be worked out exactly
//! but is bounded widens to everything its repository holds unpublished, and only what is not bounded
//! is a [`Fault`].

use std::time::Duration;

use crate::command::plan::{CommitRequest, GitContext, Publish, State, UploadRequest, WidestRequest};
use crate::text::SafeText;
use crate::world::{Caution, World};

use super::push::{self, Network, PushOptions};
use super::{Fault, Payload, commit, widest};

/// How long a destination over the network may take to say what it has.
const NETWORK_WAIT: Duration = Duration::from_secs(20);

/// How payloads are assembled.
#[derive(Clone, Copy, Debug)]
pub struct Assembly {
    /// Whether destinations over the network are asked what they have.
    pub network: bool,
}

impl Assembly {
    /// As it is for whoever asks: by hand a remote is asked, in the gate it is not.
    pub fn of(world: &World) -> Self {
        Self { network: world.caution == Caution::ByHand }
    }

    /// The same for a push.
    pub fn push_options(self) -> PushOptions<'static> {
        PushOptions::new(if self.network { Network::Within(NETWORK_WAIT) } else { Network::Unasked })
    }
}

/// Everything that `publishes` would send.
///
/// # Errors
/// When one of them is not bounded, or cannot be read.
pub fn payload(world: &World, publishes: &[Publish], assembly: Assembly) -> Result<Payload, Fault> {
    let mut whole = Payload { exact: true, ..Payload::default() };
    for publish in publishes {
        whole.absorb(match publish {
            Publish::Push(request) => push::payload(world, request, assembly.push_options())?.payload,
            Publish::Commit(request) => of_commit(world, request)?,
            Publish::Upload(request) => of_upload(world, request)?,
            Publish::Widest(request) => widest::payload(world, request)?,
        });
    }
    Ok(whole)
}

fn of_commit(world: &World, request: &CommitRequest) -> Result<Payload, Fault> {
    match request.state {
        State::AsNow => commit::payload(world, request),
        State::ContentChanged | State::Changed => {
            let mut payload = everything(world, &request.git, "the line changes the repository before it commits")?;
            if let Ok(narrow) = commit::payload(world, request) {
                payload.absorb(narrow);
            }
            payload.exact = false;
            Ok(payload)
        }
    }
}

fn of_upload(_world: &World, request: &UploadRequest) -> Result<Payload, Fault> {
    Err(Fault::Unmodelled(SafeText::new(&format!("what {} uploads", request.tool))))
}

/// Everything unpublished in a repository.
fn everything(world: &World, git: &GitContext, because: &str) -> Result<Payload, Fault> {
    widest::payload(world, &WidestRequest { git: git.clone(), because: because.into() })
}
