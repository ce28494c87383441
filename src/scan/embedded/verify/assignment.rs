//! Values that a name says to be a secret.
//!
//! The rule finds a name, a sign of assignment and a value; here they are weighed. A name can speak
//! against itself (`password_hash`, `token_url`, `public_key`), a value must look like what the name
//! promises: a password that somebody could have chosen, a token that a generator made.

use super::super::placeholder;
use super::strength::{self, Strength};
use super::words;
use super::{Validator, Validity};

/// Words behind the one for a credential which make it something else: `password_hash`, `tokenUrl`.
const HARMLESS_BEHIND: &[&[u8]] = &[
    b"algorithm",
    b"alg",
    b"arn",
    b"class",
    b"column",
    b"confirm",
    b"confirmation",
    b"count",
    b"created",
    b"description",
    b"dialog",
    b"digest",
    b"dir",
    b"directory",
    b"element",
    b"enabled",
    b"encoder",
    b"encoding",
    b"endpoint",
    b"env",
    b"error",
    b"errors",
    b"expiration",
    b"expires",
    b"expiry",
    b"factory",
    b"field",
    b"fields",
    b"file",
    b"filename",
    b"fingerprint",
    b"form",
    b"format",
    b"generator",
    b"handler",
    b"hash",
    b"header",
    b"headers",
    b"hint",
    b"icon",
    b"id",
    b"ids",
    b"identifier",
    b"index",
    b"input",
    b"label",
    b"length",
    b"lifetime",
    b"limit",
    b"manager",
    b"max",
    b"message",
    b"method",
    b"min",
    b"mismatch",
    b"modal",
    b"name",
    b"names",
    b"number",
    b"page",
    b"param",
    b"parameter",
    b"path",
    b"pattern",
    b"placeholder",
    b"policy",
    b"prefix",
    b"prompt",
    b"property",
    b"provider",
    b"ref",
    b"reference",
    b"regex",
    b"required",
    b"reset",
    b"rotation",
    b"route",
    b"scope",
    b"scopes",
    b"selector",
    b"service",
    b"size",
    b"source",
    b"status",
    b"store",
    b"strategy",
    b"strength",
    b"suffix",
    b"text",
    b"timeout",
    b"title",
    b"ttl",
    b"type",
    b"types",
    b"updated",
    b"uri",
    b"url",
    b"urls",
    b"usage",
    b"validation",
    b"validator",
    b"validity",
    b"variable",
    b"version",
];

/// Words before it: `public_key`, `csrf_token`, `expected_key`, `primaryKey`.
const HARMLESS_BEFORE: &[&[u8]] = &[
    b"arrow",
    b"author",
    b"authenticity",
    b"cache",
    b"checksum",
    b"composite",
    b"csrf",
    b"dict",
    b"digest",
    b"dummy",
    b"encrypted",
    b"enter",
    b"escape",
    b"etag",
    b"example",
    b"expected",
    b"fake",
    b"foreign",
    b"hashed",
    b"idempotency",
    b"integrity",
    b"invalid",
    b"locale",
    b"map",
    b"message",
    b"mock",
    b"object",
    b"partition",
    b"placeholder",
    b"primary",
    b"pub",
    b"public",
    b"publishable",
    b"redacted",
    b"row",
    b"sample",
    b"shift",
    b"site",
    b"sort",
    b"translation",
    b"unique",
    b"vapid",
    b"wrong",
    b"xsrf",
];

/// Endings of a word that begins like one for a credential: `passwordhash`, `keyboard`, `tokenizer`.
const OTHER_WORDS: &[&str] = &[
    "hash", "ordhash", "wordhash", "encoder", "url", "reset", "field", "input", "length", "policy", "board", "word",
    "code", "down", "press", "frame", "izer", "ize", "ized", "enc", "store", "port", "ive", "age", "ing", "ers",
    "name", "file", "path", "type", "id", "ential", "or", "ority",
];

/// Whether this word says that a value is a credential.
fn is_credential_word(word: &[u8]) -> bool {
    const BEGINNINGS: &[&str] = &["key", "auth", "cred", "salt", "pwd", "pass", "bearer", "basic", "kennwort", "senha"];
    const PARTS: &[&str] = &["passw", "passphrase", "secret", "token", "apikey", "contrasena", "wachtwoord"];
    const ENDINGS: &[&str] = &["pass", "key", "pwd"];
    const OTHERS: &[&str] =
        &["bypass", "compass", "monkey", "turkey", "donkey", "hotkey", "hockey", "trespass", "surpass"];
    let text = String::from_utf8_lossy(word);
    if OTHERS.iter().any(|other| text.ends_with(other)) {
        return false;
    }
    let goes_on_well = |rest: &str| !OTHER_WORDS.contains(&rest);
    PARTS.iter().any(|part| text.find(part).is_some_and(|at| goes_on_well(&text[at + part.len()..])))
        || BEGINNINGS.iter().any(|beginning| text.strip_prefix(beginning).is_some_and(goes_on_well))
        || ENDINGS.iter().any(|ending| text.ends_with(ending))
}

/// The match's text before the value.
fn before_value<'m>(secret: &[u8], matched: &'m [u8]) -> &'m [u8] {
    let end = matched.windows(secret.len().max(1)).rposition(|window| window == secret).unwrap_or(matched.len());
    matched.get(..end).unwrap_or(matched)
}

/// Whether the name speaks against itself.
fn is_harmless(name: &[u8]) -> bool {
    let all = words::words(name);
    // A word that stands between the name and its value, such as `key` in `value of the key`, is no name.
    let Some(at) = all.iter().rposition(|word| is_credential_word(word)) else { return true };
    let (before, behind) = all.split_at_checked(at).unwrap_or((&all, &[]));
    let is_in = |list: &[&[u8]], word: &Vec<u8>| list.contains(&word.as_slice());
    before.iter().any(|word| is_in(HARMLESS_BEFORE, word))
        || behind.iter().skip(1).any(|word| is_in(HARMLESS_BEHIND, word))
        || behind.iter().any(|word| word.starts_with(b"pubkey") || word.starts_with(b"keyword"))
}

/// Whether the name is only a word that everything has: a map, a test vector, a cache.
fn says_too_little(name: &[u8]) -> bool {
    let all = words::words(name);
    let own: Vec<&Vec<u8>> =
        all.iter().filter(|word| !matches!(word.as_slice(), b"the" | b"value" | b"is" | b"string")).collect();
    matches!(own.as_slice(), [only] if matches!(only.as_slice(), b"key" | b"keys" | b"auth"))
}

/// Whether the match gives the value to the name. A comma alone also stands between the fields of a
/// record, so there the name must look like one: `setenv("API_TOKEN", "…")`, `DB_PASSWORD,…`.
fn is_given(before: &[u8]) -> bool {
    let at = before.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |at| at + 1);
    let (name, between) = before.split_at_checked(at).unwrap_or((before, &[]));
    if between.iter().any(|byte| matches!(byte, b'=' | b':' | b'>' | b'|' | b'`')) {
        return true;
    }
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'.'));
    let name = name.get(start.map_or(0, |at| at + 1)..).unwrap_or(name);
    let (lower, upper) = (name.iter().any(u8::is_ascii_lowercase), name.iter().any(u8::is_ascii_uppercase));
    name.iter().any(|byte| matches!(byte, b'_' | b'-' | b'.')) || upper && (lower || name.len() > 4)
}

/// A password that a name promises.
#[derive(Debug)]
pub struct PasswordAssignment;

impl Validator for PasswordAssignment {
    fn name(&self) -> &'static str {
        "password-assignment"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let name = before_value(secret, matched);
        let right = is_given(name)
            && !is_harmless(name)
            && !strength::is_uuid(secret)
            && !strength::is_dummy_encoded(secret)
            && strength::password(secret) >= Strength::Chosen;
        Validity::decided(right)
    }
}

/// A token or key that a name promises.
#[derive(Debug)]
pub struct TokenAssignment;

impl Validator for TokenAssignment {
    fn name(&self) -> &'static str {
        "token-assignment"
    }

    fn check(&self, secret: &[u8], matched: &[u8]) -> Validity {
        let name = before_value(secret, matched);
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

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let random = strength::is_uuid(secret) || strength::token(secret) == Strength::Random;
        Validity::decided(random && !placeholder::is_placeholder(secret))
    }
}

/// A password in a place that says so itself: a URL, a file of credentials.
#[derive(Debug)]
pub struct Password;

impl Validator for Password {
    fn name(&self) -> &'static str {
        "password"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        Validity::decided(strength::password(secret) >= Strength::Chosen)
    }
}

/// The same in base64, alone or behind a user's name and a colon.
#[derive(Debug)]
pub struct EncodedPassword;

impl Validator for EncodedPassword {
    fn name(&self) -> &'static str {
        "encoded-password"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(plain) = super::text::base64(secret) else { return Validity::Invalid };
        if !plain.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r')) {
            return Validity::Invalid;
        }
        let password = plain.iter().position(|&byte| byte == b':').and_then(|at| plain.get(at + 1..));
        let password = password.unwrap_or(&plain);
        let end = password.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        Validity::decided(strength::password(password.get(..end).unwrap_or(password)) >= Strength::Chosen)
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
        Validity::decided(strength::password(password) >= Strength::Chosen)
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
        Validity::decided(strength::password(password) >= Strength::Chosen)
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
        let plain = super::text::base64(secret);
        if plain.is_some_and(|plain| plain.contains(&b':') && plain.iter().all(|byte| matches!(byte, b' '..=b'~'))) {
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
        if strength::is_lookup(secret) || UNSET.iter().any(|word| lower.contains(word)) {
            return Validity::Invalid;
        }
        Validity::Unknown
    }
}
