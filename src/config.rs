//! tyran's own configuration, in layers; a repository's layer may only tighten.
//!
//! Promise: an unknown key, a wrong type or an unreadable file is an error with its place, never
//! passed over. The user's file (`~/.tyran/config.toml`, or the one of `--config`) sets the policy;
//! a repository's `.tyran.toml` can make it stricter and nothing else: a value there which would
//! loosen is an error, since a repository is not the user's voice (design principle 6).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::scan::{Confidence, Finding};
use crate::text::SafeText;

/// Most bytes that a configuration file may have.
const LIMIT_BYTES: u64 = 1 << 20;

/// What the configuration decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The lowest confidence that refuses by itself.
    pub refuse: Confidence,
    /// What a force push means.
    pub force_push: ForcePush,
    /// Whether the gate may ask a remote over the network what it has.
    pub ask_remote: bool,
}

/// What a force push means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForcePush {
    /// It is told, and judged like any other push.
    #[default]
    Report,
    /// It is refused.
    Refuse,
}

impl Default for Policy {
    fn default() -> Self {
        Self { refuse: Confidence::Medium, force_push: ForcePush::Report, ask_remote: false }
    }
}

impl Policy {
    /// Whether a finding refuses by itself.
    pub fn refuses(&self, finding: &Finding) -> bool {
        finding.confidence >= self.refuse
    }
}

/// One file, as written. Every key may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    refuse: Option<Confidence>,
    force_push: Option<ForcePush>,
    ask_remote: Option<bool>,
}

/// Why a configuration is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFault {
    /// It cannot be read.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: SafeText,
        /// The system's reason.
        error: io::Error,
    },
    /// It is larger than any configuration is.
    #[error("{path} has more than {LIMIT_BYTES} bytes")]
    TooLarge {
        /// The file.
        path: SafeText,
    },
    /// It does not parse, or holds an unknown key.
    #[error("{path}: {message}")]
    Malformed {
        /// The file.
        path: SafeText,
        /// The parser's words, with line and column.
        message: SafeText,
    },
    /// A repository's file would loosen what the user's sets.
    #[error("{path}: `{key}` would loosen the user's policy; a repository may only tighten it")]
    Loosens {
        /// The file.
        path: SafeText,
        /// The key.
        key: &'static str,
    },
}

/// The policy in force.
///
/// `user` is the file that was named, or the user's own (which need not exist); `repository` the top
/// of the work tree, whose `.tyran.toml` need not exist either.
///
/// # Errors
/// As [`ConfigFault`] tells.
pub fn policy(
    named: Option<&Path>,
    state_dir: Option<&Path>,
    repository: Option<&Path>,
) -> Result<Policy, ConfigFault> {
    let mut policy = Policy::default();
    let own = state_dir.map(|dir| dir.join("config.toml"));
    let user = match (named, own) {
        (Some(path), _) => Some(layer(path, true)?),
        (None, Some(path)) => Some(layer(&path, false)?),
        (None, None) => None,
    };
    if let Some(layer) = user {
        policy.refuse = layer.refuse.unwrap_or(policy.refuse);
        policy.force_push = layer.force_push.unwrap_or(policy.force_push);
        policy.ask_remote = layer.ask_remote.unwrap_or(policy.ask_remote);
    }
    match repository {
        Some(top) => {
            let path = top.join(".tyran.toml");
            tighten(policy, &layer(&path, false)?, &path)
        }
        None => Ok(policy),
    }
}

/// The user's policy with a repository's wishes, all of which must be at least as strict.
fn tighten(mut policy: Policy, layer: &Layer, path: &Path) -> Result<Policy, ConfigFault> {
    let loosens = |key| Err(ConfigFault::Loosens { path: shown(path), key });
    if let Some(refuse) = layer.refuse {
        if refuse > policy.refuse {
            return loosens("refuse");
        }
        policy.refuse = refuse;
    }
    if let Some(force_push) = layer.force_push {
        if force_push < policy.force_push {
            return loosens("force_push");
        }
        policy.force_push = force_push;
    }
    // Asking a remote is the user's decision alone: the repository names the remote.
    if layer.ask_remote.is_some_and(|wish| wish != policy.ask_remote) {
        return loosens("ask_remote");
    }
    Ok(policy)
}

fn layer(path: &Path, must_exist: bool) -> Result<Layer, ConfigFault> {
    let unreadable = |error| ConfigFault::Unreadable { path: shown(path), error };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > LIMIT_BYTES => return Err(ConfigFault::TooLarge { path: shown(path) }),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(Layer::default()),
        Err(error) => return Err(unreadable(error)),
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    toml::from_str(&text).map_err(|error| ConfigFault::Malformed {
        path: shown(path),
        message: SafeText::new(error.to_string().trim_end()),
    })
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(PathBuf::from(path).as_os_str().as_encoded_bytes(), 300)
}
