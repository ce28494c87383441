//! Checksums made with CRC-32 (polynomial of IEEE 802.3), in the ways that issuers write them.

use super::{Validator, Validity};

/// Digits of base 62 in GitHub's order.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Digits of a checksum in base 62: 62 to the sixth is above 2 to the 32nd.
const BASE62_DIGITS: usize = 6;

/// `<prefix>_<body><crc32 of body in base 62, padded to 6>` (GitHub's blog, 5 April 2021; npm and
/// Vercel write theirs alike).
#[derive(Debug)]
pub struct GithubCrc32;

impl Validator for GithubCrc32 {
    fn name(&self) -> &'static str {
        "github-crc32"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        sealed(self, secret, BASE62_DIGITS)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let start = body.iter().position(|&byte| byte == b'_').map_or(0, |at| at + 1);
        Some(base62(crc32fast::hash(body.get(start..)?), BASE62_DIGITS))
    }
}

/// Tokens of GitHub Apps: as [`GithubCrc32`], but a wrong checksum says nothing. Installation tokens
/// without one were seen in the wild, and of fine-grained tokens GitHub has not published it.
#[derive(Debug)]
pub struct GithubLenient;

impl Validator for GithubLenient {
    fn name(&self) -> &'static str {
        "github-lenient"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let checked = match secret.strip_prefix(b"github_pat_") {
            Some(rest) => sealed(&Bare, rest, BASE62_DIGITS),
            None => GithubCrc32.check(secret, matched),
        };
        match checked {
            Validity::Invalid if !secret.starts_with(b"ghu_") => Validity::Unknown,
            Validity::Valid | Validity::Invalid | Validity::Unknown => checked,
        }
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        match body.strip_prefix(b"github_pat_") {
            Some(rest) => Bare.seal(rest),
            None => GithubCrc32.seal(body),
        }
    }
}

/// The checksum over everything, without a prefix to leave out.
#[derive(Debug)]
struct Bare;

impl Validator for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        sealed(self, secret, BASE62_DIGITS)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        Some(base62(crc32fast::hash(body), BASE62_DIGITS))
    }
}

/// Routable tokens of GitLab: `<prefix><base64url>.01.<length of the base64url: 2><crc32 of all before: 7>`,
/// both in base 36 (`Authn::TokenField::Generator::RoutableToken` in GitLab's source).
#[derive(Debug)]
pub struct GitlabRoutable;

impl GitlabRoutable {
    const LENGTH_DIGITS: usize = 2;
    const SUM_DIGITS: usize = 7;
    const VERSION: &'static [u8] = b".01.";
}

impl Validator for GitlabRoutable {
    fn name(&self) -> &'static str {
        "gitlab-routable"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        sealed(self, secret, Self::LENGTH_DIGITS + Self::SUM_DIGITS)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let payload = body.strip_suffix(Self::VERSION)?;
        let start = payload.iter().position(|&byte| byte == b'-')? + 1;
        let mut payload = payload.get(start..)?;
        // Runner tokens have a type before the payload: `glrt-t1_`.
        if let [b't', digit, b'_', rest @ ..] = payload
            && digit.is_ascii_digit()
        {
            payload = rest;
        }
        let mut seal = digits(u32::try_from(payload.len()).ok()?, BASE36, Self::LENGTH_DIGITS);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(&seal);
        seal.extend(digits(hasher.finalize(), BASE36, Self::SUM_DIGITS));
        Some(seal)
    }
}

/// Atlassian's tokens end in the CRC-32 of all before, as eight upper-case hexadecimal digits (found by
/// public scanners; the tokens of their documentation satisfy it).
#[derive(Debug)]
pub struct Atlassian;

impl Validator for Atlassian {
    fn name(&self) -> &'static str {
        "atlassian"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        sealed(self, secret, 8)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        Some(format!("{:08X}", crc32fast::hash(body)).into_bytes())
    }
}

/// Grafana's service account tokens: `glsa_<32>_<crc32 of all before the last `_`, little endian, hexadecimal>`.
#[derive(Debug)]
pub struct GrafanaServiceAccount;

impl Validator for GrafanaServiceAccount {
    fn name(&self) -> &'static str {
        "grafana-service-account"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        sealed(self, &secret.to_ascii_lowercase_after_last(b'_'), 8)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let sum = crc32fast::hash(body.strip_suffix(b"_").unwrap_or(body));
        Some(hex::encode(sum.to_le_bytes()).into_bytes())
    }
}

/// Zuplo's keys: `zpka_<body>_<crc32 of the body, hexadecimal>` (found by public scanners).
#[derive(Debug)]
pub struct Zuplo;

impl Validator for Zuplo {
    fn name(&self) -> &'static str {
        "zuplo"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        // Which part is summed was not published: only agreement says something.
        match sealed(self, secret, 8) {
            Validity::Valid => Validity::Valid,
            Validity::Invalid | Validity::Unknown => Validity::Unknown,
        }
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let body = body.strip_prefix(b"zpka_")?.strip_suffix(b"_")?;
        Some(format!("{:08x}", crc32fast::hash(body)).into_bytes())
    }
}

/// Lower case behind the last separator, so that a checksum in either case is compared alike.
trait LowerTail {
    fn to_ascii_lowercase_after_last(&self, separator: u8) -> Vec<u8>;
}

impl LowerTail for [u8] {
    fn to_ascii_lowercase_after_last(&self, separator: u8) -> Vec<u8> {
        let mut lowered = self.to_vec();
        let at = lowered.iter().rposition(|&byte| byte == separator).unwrap_or(0);
        if let Some(tail) = lowered.get_mut(at..) {
            tail.make_ascii_lowercase();
        }
        lowered
    }
}

/// Whether the last `length` bytes are what the validator wants after the others.
fn sealed(validator: &dyn Validator, secret: &[u8], length: usize) -> Validity {
    let Some((body, sum)) = secret.len().checked_sub(length).and_then(|at| secret.split_at_checked(at)) else {
        return Validity::Unknown;
    };
    Validity::decided(validator.seal(body).is_some_and(|right| right == sum))
}

/// A number in base 62, padded with zeros to `length` digits.
pub fn base62(number: u32, length: usize) -> Vec<u8> {
    digits(number, BASE62, length)
}

/// A number in the base of this alphabet, padded with its zero to `length` digits.
pub fn digits(mut number: u32, alphabet: &[u8], length: usize) -> Vec<u8> {
    let base = u32::try_from(alphabet.len()).unwrap_or(u32::MAX);
    let mut digits = vec![alphabet.first().copied().unwrap_or(b'0'); length];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(number % base).unwrap_or(0);
        *digit = alphabet.get(value).copied().unwrap_or(b'0');
        number /= base;
    }
    digits
}
