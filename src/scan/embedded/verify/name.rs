//! What a name says about the value that it is given.
//!
//! A name can promise a credential (`db_password`), or speak against itself (`password_hash`, `token_url`,
//! `public_key`), or say too little (`key`).

use super::words;

/// Words behind the one for a credential which make it something else: `password_hash`, `tokenUrl`.
const HARMLESS_BEHIND: &[&[u8]] = &[
    b"algorithm",
    b"checksum",
    b"md",
    b"sha",
    b"cmd",
    b"command",
    b"algo",
    b"callback",
    b"support",
    b"recovery",
    b"reader",
    b"quality",
    b"protection",
    b"management",
    b"less",
    b"hasher",
    b"encryption",
    b"changed",
    b"change",
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

/// Endings of a word that begins like one for a credential: `passwordhash`, `tokenizer`.
const OTHER_WORDS: &[&str] = &[
    "hash", "ordhash", "wordhash", "encoder", "url", "reset", "field", "input", "length", "policy", "izer", "ize",
    "ized", "enc", "store", "ers", "less", "name", "file", "path", "type", "id",
];

/// Whether this word says that a value is a credential.
fn is_credential_word(word: &[u8]) -> bool {
    const WHOLE: &[&str] = &[
        "key",
        "keys",
        "auth",
        "authorization",
        "authorisation",
        "cred",
        "creds",
        "credential",
        "credentials",
        "salt",
        "salts",
        "pwd",
        "pass",
        "passcode",
        "bearer",
        "basic",
        "kennwort",
        "senha",
        "psk",
        "pin",
    ];
    const PARTS: &[&str] = &["passw", "passphrase", "secret", "token", "apikey", "contrasena", "wachtwoord"];
    const ENDINGS: &[&str] = &["pass", "key", "pwd"];
    const OTHERS: &[&str] = &[
        "bypass",
        "compass",
        "monkey",
        "turkey",
        "donkey",
        "hotkey",
        "hockey",
        "trespass",
        "surpass",
        "buypass",
        "encompass",
        "overpass",
        "underpass",
        "multipass",
        "lastpass",
        "keepass",
        "resourcekey",
        "primarykey",
        "foreignkey",
        "cachekey",
        "publickey",
        "pubkey",
        "sortkey",
        "partitionkey",
        "sitekey",
        "objectkey",
        "rowkey",
        "idempotencykey",
    ];
    let text = String::from_utf8_lossy(word);
    if OTHERS.iter().any(|other| text.ends_with(other)) {
        return false;
    }
    let goes_on_well = |rest: &str| !OTHER_WORDS.contains(&rest);
    PARTS.iter().any(|part| text.find(part).is_some_and(|at| goes_on_well(&text[at + part.len()..])))
        || WHOLE.contains(&&*text)
        || ENDINGS.iter().any(|ending| text.ends_with(ending))
}

/// Whether the name speaks against itself.
pub(super) fn is_harmless(name: &[u8]) -> bool {
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
pub(super) fn says_too_little(name: &[u8]) -> bool {
    let all = words::words(name);
    let own: Vec<&Vec<u8>> =
        all.iter().filter(|word| !matches!(word.as_slice(), b"the" | b"value" | b"is" | b"string")).collect();
    matches!(own.as_slice(), [only] if matches!(only.as_slice(), b"key" | b"keys" | b"auth"))
}

/// Whether a value ends as the name of a credential does, behind a sign that joins words: `reply.Acme.MN-HA-Key`.
pub(super) fn ends_as_a_name(value: &[u8]) -> bool {
    const NAMES: &[&str] = &["key", "keys", "secret", "token", "password", "credential", "credentials"];
    let Some(at) = value.iter().rposition(|byte| matches!(byte, b'.' | b'-' | b'_')) else { return false };
    let last = String::from_utf8_lossy(value.get(at + 1..).unwrap_or_default());
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(&last))
}
