//! Secrets that are evident dummies, for tyran's own rules.
//!
//! Promise: only what no generator of credentials would give: one character over and over, a run of
//! the alphabet or of digits, a template's variable, words such as `example`. A random secret that
//! happens to hold one of the words by chance must be long to do so: the words are whole, or most of it.

/// Words that say so themselves; compared in lower case.
const WORDS: &[&str] = &[
    "example",
    "sample",
    "dummy",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "redacted",
    "your",
    "insert",
    "replace",
    "fake",
    "notreal",
    "not-a-real",
    "todo",
    "fixme",
    "xxxx",
    "foobar",
    "deadbeef",
    "secretsecret",
    "passwordpassword",
    "testtest",
    "abcdefgh",
    "qwertyui",
    "lorem",
    "ipsum",
    "mysecret",
    "my_secret",
    "my-secret",
];

/// Words so long that they are in no random text of the length of a token.
const LONG_WORD: usize = 7;
const LONGEST_TOKEN: usize = 256;
/// A run of the alphabet, of digits or of one character that no random text holds.
const LONG_RUN: usize = 8;

/// Brackets that mark a variable of a template or a shell.
const VARIABLES: &[(&str, &str)] = &[
    ("${", "}"),
    ("$(", ")"),
    ("{{", "}}"),
    ("<", ">"),
    ("%(", ")s"),
    ("%", "%"),
    ("[", "]"),
    ("#{", "}"),
    ("@", "@"),
];

/// Whether a secret is an evident dummy.
pub fn is_placeholder(secret: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(secret) else { return false };
    let text = text.trim().to_lowercase();
    if text.is_empty() {
        return true;
    }
    is_variable(&text)
        || is_monotonous(text.as_bytes())
        || is_run(text.as_bytes())
        || text.len() <= LONGEST_TOKEN && (holds_word(&text) || holds_run(text.as_bytes()))
}

fn is_variable(text: &str) -> bool {
    VARIABLES
        .iter()
        .any(|(open, close)| text.len() > open.len() + close.len() && text.starts_with(open) && text.ends_with(close))
        || (text.starts_with('$') && text[1..].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// At most two different characters, or three in a text of 16 and more.
fn is_monotonous(text: &[u8]) -> bool {
    let mut seen = [false; 256];
    for &byte in text {
        if let Some(slot) = seen.get_mut(usize::from(byte)) {
            *slot = true;
        }
    }
    let kinds = seen.iter().filter(|&&seen| seen).count();
    kinds <= 2 || kinds <= 3 && text.len() >= 16
}

/// Most of the text goes up or down one by one: `12345678`, `abcdef`.
fn is_run(text: &[u8]) -> bool {
    if text.len() < 6 {
        return false;
    }
    let steps = text.windows(2).filter(|pair| {
        let (one, other) = (i16::from(pair[0]), i16::from(pair[1]));
        (one - other).abs() == 1 || (one == i16::from(b'9') && other == i16::from(b'0'))
    });
    steps.count() * 4 >= (text.len() - 1) * 3
}

/// Whether a part goes up one by one, or is one character over and over. Zeros and `a` are left out: they
/// are what zero bytes are in hexadecimal and base64.
fn holds_run(text: &[u8]) -> bool {
    let (mut rising, mut same) = (1, 1);
    for pair in text.windows(2) {
        let &[one, other] = pair else { continue };
        let rises = other == one.wrapping_add(1) && other.is_ascii_alphanumeric() || one == b'9' && other == b'0';
        rising = if rises { rising + 1 } else { 1 };
        same = if one == other && !matches!(one, b'0' | b'a') { same + 1 } else { 1 };
        if rising >= LONG_RUN || same >= LONG_RUN {
            return true;
        }
    }
    false
}

fn holds_word(text: &str) -> bool {
    WORDS.iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + word.len()..].chars().next();
            let free = |side: Option<char>| side.is_none_or(|character| !character.is_ascii_alphanumeric());
            free(before) && free(behind) || word.len() * 2 >= text.len() || word.len() >= LONG_WORD
        })
    })
}
