//! Values that a name says to be a secret.
//!
//! The rule finds a name, a sign of assignment and a value; here they are weighed. A name can speak
//! against itself (`password_hash`, `token_url`, `public_key`), a value must look like what the name
//! promises: a password that somebody could have chosen, a token that a generator made.

use super::super::placeholder;
use super::given::is_given;
use super::lookup::is_lookup;
use super::name::{is_harmless, says_too_little};
use super::strength::{self, Strength};
use super::{Validator, Validity, words};

/// The match's text before the value.
fn before_value<'m>(secret: &[u8], matched: &'m [u8]) -> &'m [u8] {
    let end = matched.windows(secret.len().max(1)).rposition(|window| window == secret).unwrap_or(matched.len());
    matched.get(..end).unwrap_or(matched)
}

/// The same, without the head of a block scalar of YAML.
fn name_before<'m>(secret: &[u8], matched: &'m [u8]) -> &'m [u8] {
    let before = before_value(secret, matched);
    before_block(before).unwrap_or(before)
}

/// What stands before the head of a block scalar: `password:` of `password: >-` and a line break.
fn before_block(before: &[u8]) -> Option<&[u8]> {
    let head = before.trim_ascii_end();
    if !before.get(head.len()..)?.contains(&b'\n') {
        return None;
    }
    let head = head.strip_suffix(b"-").or_else(|| head.strip_suffix(b"+")).unwrap_or(head);
    let name = head.strip_suffix(b"|").or_else(|| head.strip_suffix(b">"))?.trim_ascii_end();
    name.ends_with(b":").then_some(name)
}

/// Whether somebody could have chosen this as a password.
fn could_be_chosen(secret: &[u8]) -> bool {
    !strength::is_uuid(secret) && !strength::is_dummy_encoded(secret) && strength::password(secret) >= Strength::Chosen
}

/// A password that a name promises.
#[derive(Debug)]
pub struct PasswordAssignment;

impl Validator for PasswordAssignment {
    fn name(&self) -> &'static str {
        "password-assignment"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let name = name_before(secret, matched);
        let right = is_given(name) && !is_harmless(name) && !is_response(name, secret) && could_be_chosen(secret);
        Validity::decided(right)
    }
}

/// What answers a challenge once: RADIUS' `CHAP-Password`, an identifier and a hash (RFC 2865, 5.3).
fn is_response(name: &[u8], secret: &[u8]) -> bool {
    let is_chap = words::words(name).iter().any(|word| word == b"chap");
    is_chap
        && secret.len() == 36
        && secret.strip_prefix(b"0x").is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
}

/// A token or key that a name promises.
#[derive(Debug)]
pub struct TokenAssignment;

impl Validator for TokenAssignment {
    fn name(&self) -> &'static str {
        "token-assignment"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let name = name_before(secret, matched);
        let right = is_given(name)
            && !says_too_little(name)
            && !is_harmless(name)
            && strength::token(secret) == Strength::Random;
        Validity::decided(right)
    }
}

/// A value of a form that many services share: only what a generator made.
#[derive(Debug)]
pub struct RandomToken;

impl Validator for RandomToken {
    fn name(&self) -> &'static str {
        "random-token"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let random = strength::is_uuid(secret) || strength::token(secret) == Strength::Random;
        let is_revision = is_revision(secret, before_value(secret, matched));
        Validity::decided(random && !is_revision && !placeholder::is_placeholder(secret))
    }
}

/// Whether it is an object id of git, by what stands before it: `actions/token@…`, `/blob/…`, `?ref=…`.
fn is_revision(secret: &[u8], before: &[u8]) -> bool {
    const PLACES: &[&[u8]] = &[
        b"@",
        b"/blob/",
        b"/tree/",
        b"/commit/",
        b"/commits/",
        b"/raw/",
        b"/archive/",
        b"ref=",
        b"rev=",
        b".git#",
        b"sha=",
        b"commit=",
        b"sha256:",
        b"sha1:",
        b"sha512:",
        b"md5:",
    ];
    matches!(secret.len(), 32 | 40 | 64 | 128)
        && secret.iter().all(u8::is_ascii_hexdigit)
        && PLACES.iter().any(|place| before.ends_with(place))
}

/// A password in a place that says so itself: a URL, a file of credentials.
#[derive(Debug)]
pub struct Password;

impl Validator for Password {
    fn name(&self) -> &'static str {
        "password"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let is_example = is_example_host(secret, matched);
        Validity::decided(!is_example && strength::password_in_place(secret) >= Strength::Chosen)
    }
}

/// A password that the rule's own pattern knows by its place, which is less sure than a name: what nobody could
/// have chosen is none.
#[derive(Debug)]
pub struct ChosenValue;

impl Validator for ChosenValue {
    fn name(&self) -> &'static str {
        "chosen-value"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        Validity::decided(could_be_chosen(secret))
    }
}

/// Letters in groups that a generator made: words would do as well where the form is all there is.
#[derive(Debug)]
pub struct LettersAtRandom;

impl Validator for LettersAtRandom {
    fn name(&self) -> &'static str {
        "letters-at-random"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        // Above this cost are 99 of 100 texts of twelve random letters, and few words.
        const RANDOM_COST: f32 = 4.6;
        let cost = words::pair_cost(secret).unwrap_or(0.0);
        Validity::decided(cost >= RANDOM_COST && !placeholder::is_placeholder(secret))
    }
}

/// Whether what follows is a host that is reserved for documentation (RFC 2606): `…@example.com`.
fn is_example_host(secret: &[u8], matched: &[u8]) -> bool {
    let end = before_value(secret, matched).len() + secret.len();
    let Some(rest) = matched.get(end..).and_then(|rest| rest.strip_prefix(b"@")) else { return false };
    let rest = rest.get(..rest.len().min(80)).unwrap_or(rest);
    let text = String::from_utf8_lossy(rest).to_ascii_lowercase();
    let host = text.split(|one: char| !one.is_ascii_alphanumeric() && !matches!(one, '.' | '-')).next().unwrap_or("");
    let name = host.rsplit('.').take(2).collect::<Vec<_>>();
    name.first() == Some(&"example") || matches!(name.as_slice(), ["com" | "org" | "net", "example"])
}

/// The same in base64, alone or behind a user's name and a colon.
#[derive(Debug)]
pub struct EncodedPassword;

impl Validator for EncodedPassword {
    fn name(&self) -> &'static str {
        "encoded-password"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(plain) = encoded_text(secret) else { return Validity::Invalid };
        let password = plain.iter().position(|&byte| byte == b':').and_then(|at| plain.get(at + 1..));
        let password = password.unwrap_or(&plain).trim_ascii_end();
        if password.starts_with(b"{") {
            // The key of a service account, which registries take as a password.
            return Validity::decided(memchr::memmem::find(password, b"PRIVATE KEY-----").is_some());
        }
        Validity::decided(strength::password(password) >= Strength::Chosen)
    }
}

/// The printable text that a value is the base64 of.
fn encoded_text(value: &[u8]) -> Option<Vec<u8>> {
    let plain = super::text::base64(value)?;
    plain.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r')).then_some(plain)
}

/// `user:password` in base64, where only that will do: behind the word `Basic`.
#[derive(Debug)]
pub struct EncodedUserPassword;

impl Validator for EncodedUserPassword {
    fn name(&self) -> &'static str {
        "encoded-user-password"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let plain = encoded_text(secret).unwrap_or_default();
        let Some(at) = plain.iter().position(|&byte| byte == b':') else { return Validity::Invalid };
        let (user, password) = plain.split_at_checked(at).unwrap_or_default();
        let password = password.get(1..).unwrap_or_default().trim_ascii_end();
        let is_user = user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._@+-/\\|#$".contains(byte));
        Validity::decided(is_user && strength::password_in_place(password) >= Strength::Chosen)
    }
}

/// `user:password`, as it stands on command lines and in data source names.
#[derive(Debug)]
pub struct UserPassword;

impl Validator for UserPassword {
    fn name(&self) -> &'static str {
        "user-password"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let at = secret.iter().position(|&byte| byte == b':').map_or(0, |at| at + 1);
        let password = secret.get(at..).unwrap_or(secret);
        Validity::decided(strength::password_in_place(password) >= Strength::Chosen)
    }
}

/// A line of a `.pgpass` file: `host:port:database:user:password`.
#[derive(Debug)]
pub struct Pgpass;

impl Validator for Pgpass {
    fn name(&self) -> &'static str {
        "pgpass"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let password = secret.rsplit(|&byte| byte == b':').next().unwrap_or(secret);
        Validity::decided(strength::password_in_place(password) >= Strength::Chosen)
    }
}

/// What npm and Yarn keep for a registry: a token, or a password in base64.
#[derive(Debug)]
pub struct Npmrc;

impl Validator for Npmrc {
    fn name(&self) -> &'static str {
        "npmrc"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let is_token =
            strength::is_random(secret) && !strength::is_made_up(secret) && !strength::is_dummy_encoded(secret);
        let is_token = is_token || strength::is_uuid(secret) && !placeholder::is_placeholder(secret);
        Validity::decided(is_token || EncodedPassword.check(secret, matched) == Validity::Valid)
    }
}

/// What Docker keeps for a registry: `user:password` in base64, or a token.
#[derive(Debug)]
pub struct DockerAuth;

impl Validator for DockerAuth {
    fn name(&self) -> &'static str {
        "docker-auth"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        if encoded_text(secret).is_some_and(|plain| plain.contains(&b':')) {
            return EncodedPassword.check(secret, matched);
        }
        Validity::decided(secret.len() >= 40 && strength::token(secret) == Strength::Random)
    }
}

/// A value of a Kubernetes secret: base64 below `data`, plain below `stringData`.
#[derive(Debug)]
pub struct KubernetesSecret;

impl Validator for KubernetesSecret {
    fn name(&self) -> &'static str {
        "kubernetes-secret"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        if EncodedPassword.check(secret, matched) == Validity::Valid {
            return Validity::Valid;
        }
        // Bytes that are no text: a key.
        let plain = super::text::base64(secret);
        Validity::decided(plain.is_some_and(|plain| {
            plain.len() >= 16
                && !plain.starts_with(b"-----BEGIN CERT")
                && plain.iter().filter(|byte| !byte.is_ascii()).count() * 4 > plain.len()
        }))
    }
}

/// A value in a file that is there to hold credentials: whatever is set counts, weak or not.
#[derive(Debug)]
pub struct SetValue;

impl Validator for SetValue {
    fn name(&self) -> &'static str {
        "set-value"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        const UNSET: &[&str] =
            &["your", "xxxx", "changeme", "change_me", "change-me", "replace", "placeholder", "_here", "insert"];
        let lower = String::from_utf8_lossy(secret).to_lowercase();
        if is_lookup(secret) || UNSET.iter().any(|word| lower.contains(word)) {
            return Validity::Invalid;
        }
        Validity::Unknown
    }
}
