//! Tokens with something readable inside: JSON or text in base64, macaroons.
//!
//! Where only the structure is known, agreement is proof and disagreement mostly is not: an issuer may
//! change it. So most of these answer [`Validity::Unknown`] to what they cannot read.

use super::text;
use super::{Validator, Validity};

/// Proof when `right`, else nothing.
const fn proven(right: bool) -> Validity {
    if right { Validity::Valid } else { Validity::Unknown }
}

/// A part of a token that base64 makes readable.
#[derive(Debug)]
pub struct Readable {
    name: &'static str,
    /// Bytes of the token before the encoded part.
    prefix: &'static str,
    /// Where the encoded part ends.
    end: Option<u8>,
    /// What the decoded part begins with.
    begins: &'static str,
    /// What it contains.
    contains: &'static [&'static str],
}

impl Readable {
    const fn new(
        name: &'static str,
        prefix: &'static str,
        end: Option<u8>,
        begins: &'static str,
        contains: &'static [&'static str],
    ) -> Self {
        Self { name, prefix, end, begins, contains }
    }
}

impl Validator for Readable {
    fn name(&self) -> &'static str {
        self.name
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(part) = secret.strip_prefix(self.prefix.as_bytes()) else { return Validity::Unknown };
        let part = match self.end {
            Some(end) => part.split(|&byte| byte == end).next().unwrap_or(part),
            None => part,
        };
        let Some(plain) = text::base64(part) else { return Validity::Unknown };
        let holds = |needle: &&str| plain.windows(needle.len()).any(|window| window == needle.as_bytes());
        proven(plain.starts_with(self.begins.as_bytes()) && self.contains.iter().all(holds))
    }
}

/// Amazon Bedrock's long-lived keys: `ABSK` and base64 of `BedrockAPIKey-…-at-<account>:…`.
pub static BEDROCK: Readable = Readable::new("bedrock-key", "ABSK", None, "BedrockAPIKey-", &["-at-", ":"]);
/// Grafana Cloud's tokens: JSON with the organisation, a name and a key.
pub static GRAFANA_CLOUD: Readable = Readable::new("grafana-cloud", "glc_", None, "{\"", &["\"o\"", "\"n\"", "\"k\""]);
/// Grafana's older keys: JSON with a key, a name and an id.
pub static GRAFANA_LEGACY: Readable = Readable::new("grafana-legacy", "", None, "{\"k\":", &["\"n\":", "\"id\":"]);
/// JFrog's reference tokens.
pub static JFROG: Readable = Readable::new("jfrog-reference", "", None, "reftkn:", &[":"]);
/// Intercom's tokens.
pub static INTERCOM: Readable = Readable::new("intercom", "", None, "tok:", &[":1:0"]);
/// Mapbox's secret tokens: the middle part is JSON with the user.
pub static MAPBOX: Readable = Readable::new("mapbox", "sk.", Some(b'.'), "{\"u\"", &["\"a\""]);
/// Cloudflare Tunnel's tokens: JSON with the account, the tunnel and its secret.
pub static CLOUDFLARE_TUNNEL: Readable = Readable::new("cloudflare-tunnel", "", None, "{\"a\":", &["\"t\":", "\"s\":"]);
/// 1Password's service account tokens: JSON with address, user, keys.
pub static ONEPASSWORD: Readable = Readable::new("onepassword", "ops_", None, "{\"", &["signInAddress", "email"]);
/// Sentry's organisation tokens: JSON with the time of issue and the organisation.
pub static SENTRY: Readable = Readable::new("sentry-org", "sntrys_", Some(b'_'), "{\"", &["\"iat\"", "\"org\""]);
/// HTTP access tokens of Bitbucket Data Center: digits, a colon and twenty bytes.
pub static BITBUCKET_SERVER: Readable = Readable::new("atlassian-data-center", "BBDC-", None, "", &[":"]);

/// Discord's bot tokens: the first part is the bot's id, in digits. Nothing else marks them, so one that
/// does not decode is none.
#[derive(Debug)]
pub struct Discord;

impl Validator for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let first = secret.split(|&byte| byte == b'.').next().unwrap_or(secret);
        let id = text::base64(first);
        Validity::decided(id.is_some_and(|id| (17..=20).contains(&id.len()) && id.iter().all(u8::is_ascii_digit)))
    }

    fn seal(&self, _body: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// JSON Web Tokens: a header with an algorithm other than `none`, a payload that is JSON.
#[derive(Debug)]
pub struct Jwt;

impl Validator for Jwt {
    fn name(&self) -> &'static str {
        "jwt"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let mut parts = secret.split(|&byte| byte == b'.');
        let (Some(header), Some(payload)) = (parts.next(), parts.next()) else { return Validity::Invalid };
        let object = |part: &[u8]| {
            let value = serde_json::from_slice::<serde_json::Value>(&text::base64(part)?).ok()?;
            value.is_object().then_some(value)
        };
        let Some(header) = object(header) else { return Validity::Invalid };
        // The payload of an encrypted token (RFC 7516) is no JSON; its header says how it is encrypted.
        if header.get("enc").is_some() {
            return Validity::Unknown;
        }
        if object(payload).is_none_or(|payload| is_dummy_payload(&payload)) {
            return Validity::Invalid;
        }
        let algorithm = header.get("alg").and_then(|value| value.as_str()).unwrap_or("none");
        Validity::decided(!algorithm.eq_ignore_ascii_case("none"))
    }
}

/// Whether a payload says nothing: `{"foo":"bar"}`, `{"some":"payload"}`, `{}`.
fn is_dummy_payload(payload: &serde_json::Value) -> bool {
    let is_dummy = |text: &str| {
        super::words::words(text.as_bytes()).iter().all(|word| super::words::is_dummy_word(word))
            && !text.bytes().any(|byte| byte.is_ascii_digit())
    };
    payload
        .as_object()
        .is_some_and(|pairs| pairs.iter().all(|(name, value)| is_dummy(name) && value.as_str().is_some_and(is_dummy)))
}

/// Macaroons in the binary format, version 2 (PyPI's and Fly.io's tokens): fields of a type, a length and
/// data, grouped by zero bytes, with a signature of 32 bytes at the end.
#[derive(Debug)]
pub struct Macaroon;

impl Validator for Macaroon {
    fn name(&self) -> &'static str {
        "macaroon"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let at = secret.iter().position(|byte| matches!(byte, b'-' | b'_')).map_or(0, |at| at + 1);
        let bytes = secret.get(at..).and_then(text::base64);
        proven(bytes.is_some_and(|bytes| is_macaroon(&bytes)))
    }
}

fn is_macaroon(bytes: &[u8]) -> bool {
    const SIGNATURE: u8 = 6;
    let Some(mut rest) = bytes.strip_prefix(&[2]) else { return false };
    loop {
        match rest {
            [SIGNATURE, 32, signature @ ..] => return signature.len() == 32,
            [0, after @ ..] => rest = after,
            [1..=4, after @ ..] => {
                let Some((length, data)) = variable_length(after) else { return false };
                let Some((_, after)) = data.split_at_checked(length) else { return false };
                rest = after;
            }
            _ => return false,
        }
    }
}

/// A length in seven bits a byte, lowest first.
fn variable_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0;
    for (place, &byte) in bytes.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((length, bytes.get(place + 1..)?));
        }
    }
    None
}
