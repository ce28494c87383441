//! What a push sends: from its arguments to (url, new id, destination ref, old id), and to the bytes.
//!
//! Promise: the updates hold all that `git push` (2.47 to 2.55) would send with these arguments, this
//! configuration and these refs, to every url it would go to; and nothing counts as already there
//! unless that url itself said so. Where something is not known but bounded, the superset is taken and
//! a note says so. Which objects are new is [`super::objects`]' work.
//!
//! | room | what it knows |
//! |---|---|
//! | [`args`] | the options of `git push` and `git send-pack` |
//! | [`config`] | configuration as the command sees it |
//! | [`refs`] | local refs, HEAD, where the repository is |
//! | [`remote`] | names, urls, rewriting, legacy files, groups |
//! | [`refspec`] | how refspecs are written and matched |
//! | [`target`] | which remotes and refspecs arguments and configuration mean |
//! | [`resolve`] | refspecs and both sides' refs to updates |
//! | [`destination`] | what a url leads to and advertises |
//! | [`submodule`] | submodules that go along |
//! | [`transfer`] | all of these together, one transfer for each url |
//! | [`widen`] | what a push that is not wholly known could send |
//! | `moved` | where earlier commands of the line leave the current branch |
//! | [`gather`] | the objects of transfers, each once |
//! | [`assemble`] | from transfers to items |
//! | `uploads` | content of Git LFS that goes along |
//! | [`ci_base`] | where a CI run's new commits start |
//! | [`hook`] | whether the pre-push hook runs, and git's list to it |
//! | [`rejected`] | refs that this list leaves out |

pub mod args;
pub mod assemble;
pub mod ci_base;
pub mod config;
pub mod destination;
pub mod gather;
pub mod hook;
mod moved;
pub mod refs;
pub mod refspec;
pub mod rejected;
pub mod remote;
pub mod repository;
pub mod resolve;
pub mod submodule;
pub mod target;
pub mod transfer;
mod uploads;
pub mod widen;

pub use assemble::{PushPayload, from_hook_lines, payload};
pub use destination::Network;
pub use hook::HookOutlook;
pub use resolve::Update;
pub use transfer::{Airlock, PushOptions, Resolved, Transfer, resolve};
