//! What can be established about a secret without asking anybody: checksums and structure.
//!
//! Promise: a [`Validator`] answers from the bytes alone, in time linear in them, and says
//! [`Validity::Unknown`] where the format does not tell. A validator is named in a rule's `checksum`
//! and stands in [`VALIDATORS`]; a new one is a file here and a line there.

mod assignment;
mod container;
mod crc;
mod given;
mod lookup;
mod luhn;
mod marvin;
mod name;
pub mod strength;
mod structure;
pub(super) mod text;
mod wallet;
pub mod words;

pub use marvin::marvin32;

/// What a validator established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// The checksum or structure is right.
    Valid,
    /// It is wrong: truncated, redacted, made up.
    Invalid,
    /// The format does not say.
    Unknown,
}

impl Validity {
    /// The answer to a check that is decisive either way.
    pub const fn decided(right: bool) -> Self {
        if right { Self::Valid } else { Self::Invalid }
    }
}

/// Something that can be checked about a secret.
pub trait Validator: Sync + std::fmt::Debug {
    /// The name that rules use.
    fn name(&self) -> &'static str;

    /// What the bytes tell. `matched` is the rule's whole match, with the secret in it.
    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity;

    /// What has to follow `body` for the check to succeed, for examples made at test time; `None`
    /// where the format has no such tail.
    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let _ = body;
        None
    }
}

/// Every validator there is.
pub static VALIDATORS: &[&dyn Validator] = &[
    &assignment::ChosenValue,
    &assignment::DockerAuth,
    &assignment::EncodedPassword,
    &assignment::EncodedUserPassword,
    &assignment::KubernetesSecret,
    &assignment::LettersAtRandom,
    &assignment::Npmrc,
    &assignment::Password,
    &assignment::PasswordAssignment,
    &assignment::Pgpass,
    &assignment::RandomToken,
    &assignment::SetValue,
    &assignment::TokenAssignment,
    &assignment::UserPassword,
    &container::Pem,
    &crc::Atlassian,
    &crc::GithubCrc32,
    &crc::GithubLenient,
    &crc::GitlabRoutable,
    &crc::GrafanaServiceAccount,
    &crc::Zuplo,
    &luhn::Luhn,
    &marvin::AzureCask,
    &marvin::AzureDevops,
    &marvin::AzureKey,
    &marvin::EntraSecret,
    &structure::BEDROCK,
    &structure::BITBUCKET_SERVER,
    &structure::CLOUDFLARE_TUNNEL,
    &structure::Discord,
    &structure::GRAFANA_CLOUD,
    &structure::GRAFANA_LEGACY,
    &structure::INTERCOM,
    &structure::JFROG,
    &structure::Jwt,
    &structure::MAPBOX,
    &structure::Macaroon,
    &structure::ONEPASSWORD,
    &structure::SENTRY,
    &wallet::Base58Check,
    &wallet::Bech32,
    &wallet::Nkey,
];

/// The validator of this name.
pub fn named(name: &str) -> Option<&'static dyn Validator> {
    VALIDATORS.iter().copied().find(|validator| validator.name() == name)
}
