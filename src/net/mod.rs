//! git's own hooks as the second layer: what no reading of a command line can know is caught by git
//! itself, at the moment of the commit or push.
//!
//! Promise: once in place, every push and commit through git's porcelain is scanned with git's own
//! list of refs, remote ids and index; a hook that cannot check refuses; the repository's own hooks
//! still run, with the same arguments, input and exit code. What runs no hook (`--no-verify`,
//! plumbing, libraries) is [`crate::command`]'s to see.
//!
//! Two ways to be in place, the better one where git has both:
//! - **settings** (`hook.<name>.event` and `.command`, git 2.54 and later): they add to the
//!   repository's hooks and survive another `core.hooksPath`, so there is nothing to chain.
//! - **directory**: a folder of small scripts as `core.hooksPath`, each of which goes on to the
//!   repository's own hook of that name.

pub mod chain;
pub mod hook;
pub mod names;
pub mod place;
pub mod shim;
pub mod standing;

pub use standing::{Standing, standing};
