//! What stands where a value could and is none: variables, calls, paths, names, references to a vault.
//!
//! Promise: what is told here to be a lookup holds no secret itself. How good a value is, [`super::strength`] says.

use super::strength::is_random;
use super::words;

/// Whether the value is fetched from elsewhere, or is no value at all: variables of shells and
/// templates, calls, references to a vault, values that are encrypted, URLs and paths.
pub(super) fn is_lookup(value: &[u8]) -> bool {
    const BEGINNINGS: &[&str] = &[
        "$(",
        "${",
        "$[",
        "{{",
        "<%",
        "%(",
        "#{",
        "<",
        "$$",
        "@@",
        "vault:",
        "vault/",
        "op://",
        "arn:",
        "ref+",
        "enc[",
        "enc(",
        "enc:",
        "{cipher}",
        "!vault",
        "$ansible_vault",
        "secretref:",
        "keyvault",
        "@microsoft.keyvault",
        "projects/",
        "ssm:",
        "secretsmanager",
        "azurekeyvault",
        "aws:",
        "gcp:",
        "awskms",
        "file:",
        "http://",
        "https://",
        "env.",
        "env(",
        "env:",
        "process.",
        "os.",
        "self.",
        "this.",
        "config.",
        "settings.",
        "secrets.",
        "vars.",
        "var.",
        "local.",
        "data.",
        "module.",
        "params.",
        "args.",
        "options.",
        "opts.",
        "props.",
        "req.",
        "request.",
        "ctx.",
        "values.",
        ".values",
        "getenv",
        "lookup(",
        "b64:",
        "agb",
        "akid:",
        "//",
        "./",
        "../",
        "~/",
        "/etc/",
        "/run/",
        "/var/",
        "/home/",
        "/opt/",
        "/usr/",
        "c:\\",
        "data:",
        "bearer ",
        "basic ",
        "function",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "async ",
        "await ",
        "new ",
    ];
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let lower = text.to_ascii_lowercase();
    let begins = |beginning: &&str| {
        // A word at the beginning of a random value is chance.
        lower.starts_with(*beginning)
            && (!beginning.ends_with(|last: char| last.is_ascii_alphanumeric()) || !is_random(value))
    };
    if BEGINNINGS.iter().any(begins) {
        return true;
    }
    const INSIDE: &[&str] = &[
        "${",
        "{{",
        "}}",
        "<%",
        "%>",
        "$(",
        "#{",
        "()",
        "->",
        "=>",
        "::",
        "]]",
        "&&",
        "||",
        "&lt;",
        "&gt;",
        "&#x3c;",
        "&#60;",
        "%{",
        "%s",
        ":/",
        "4_request",
        // Regular expressions.
        "[^",
        "[0-9",
        "[a-z",
        "(?:",
        "(?i",
        "(?=",
        "0-9a-z",
        "0-9a-f",
        "a-z0-9",
        "a-za-z",
        "b64enc",
        "b64dec",
        "base64enc",
    ];
    if INSIDE.iter().any(|inside| lower.contains(inside)) {
        return true;
    }
    is_variable(text) || is_path(text) || is_option(text) || is_template(text)
}

/// Groups in braces, and next to nothing beside them: `{user}:{password}`, `{base62:14}7{nl}`.
fn is_template(text: &str) -> bool {
    let (mut depth, mut groups, mut beside) = (0_usize, 0_usize, 0_usize);
    for one in text.chars() {
        match one {
            '{' => depth += 1,
            '}' if depth > 0 => {
                depth -= 1;
                groups += 1;
            }
            _ if depth == 0 && one.is_alphanumeric() => beside += 1,
            _ => {}
        }
    }
    groups > 0 && beside <= 2
}

/// An option of a command, or another assignment: `-pkcs11engine`, `nextgroup=@cluster`.
fn is_option(text: &str) -> bool {
    let bare = text.trim_start_matches('-');
    let word = bare.bytes().take_while(|byte| byte.is_ascii_lowercase()).count();
    let is_dashed = bare.len() < text.len() && word >= 3 && !is_random(bare.as_bytes());
    // `--allow-mschapv2`
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_long = text.starts_with("--")
        && word >= 4
        && bare.as_bytes().get(word) == Some(&b'-')
        && bare.bytes().all(is_plain)
        && words::word_share(&bare.as_bytes()[..word]) > 0.6;
    is_dashed || is_long || word >= 4 && bare.as_bytes().get(word) == Some(&b'=') && bare.len() > word + 2
}

/// Paths, imports and chains of calls: `github.com/cli/cli/v2/pkg`, `4.days.ago`.
fn is_path(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"/._-*".contains(&byte));
    let joints = text.bytes().filter(|byte| matches!(byte, b'/' | b'.')).count();
    let wordy = words::words(text.as_bytes()).iter().filter(|word| word.len() > 2).map(Vec::len).sum::<usize>();
    plain && joints >= 2 && wordy * 2 > text.len() || text.matches('/').count() >= 3 && wordy * 3 > text.len() * 2
}

/// Names of constants, versions and fingerprints: nothing that grants access.
pub(super) fn is_identifier(value: &[u8]) -> bool {
    let upper = value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    if upper && value.contains(&b'_') {
        return true;
    }
    // What OpenPGP calls a key's id and fingerprint is written so.
    if upper && matches!(value.len(), 16 | 40) && value.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let mut parts = value.split(|&byte| byte == b'.').map(|part| {
        let starts = part.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = part.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        (part.len(), starts, ends)
    });
    // `3.12.0` in the middle of a name.
    let parts: Vec<(usize, usize, usize)> = parts.by_ref().collect();
    parts.windows(3).any(|three| {
        let [(_, _, first), (length, middle, _), (_, last, _)] = three else { return false };
        (1..=3).contains(first) && (1..=3).contains(length) && length == middle && (1..=3).contains(last)
    })
}

/// What stands in a program where a value could: a number with its type, the name of a variable or a field.
pub(super) fn is_code(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    is_number(text) || is_variable_name(text) || is_expression(text)
}

/// `scale*maxw^2*nbsrv`: names and numbers, and what one calculates with.
fn is_expression(text: &str) -> bool {
    let operators = text.bytes().filter(|byte| matches!(byte, b'*' | b'^')).count();
    let is_operand = |part: &str| {
        let name = part.trim_end_matches(|last: char| last.is_ascii_digit());
        part.len() <= 12 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    operators >= 2 && text.split(['*', '^', '+', '/', '-']).all(|part| !part.is_empty() && is_operand(part))
}

/// `16384u32`, `0xC000006B_u32`, `-2147221215i32`.
fn is_number(text: &str) -> bool {
    const TYPES: &[&str] = &["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "isize", "UL", "L"];
    let text = text.trim_start_matches(['-', '!', '~']);
    let bare = TYPES.iter().find_map(|kind| text.strip_suffix(kind)).unwrap_or(text);
    let digits = bare.strip_prefix("0x").or_else(|| bare.strip_prefix("0X"));
    match digits {
        Some(digits) => digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_'),
        None => bare.len() < text.len() && bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_'),
    }
}

/// `nl80211_rekey_data`, `_lib.EVP_PKEY_free`, `_ref3.allOwnKeys`, `WIN32_ERROR`: words of one case each with a low line between them,
/// digits behind or within them.
fn is_variable_name(text: &str) -> bool {
    if !text.contains('_') || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')) {
        return false;
    }
    let parts: Vec<&str> = text.split(['_', '.']).filter(|part| !part.is_empty()).collect();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    // A variable that a bundler named, and a field of it.
    let is_chain = text.starts_with('_') && text.contains('.');
    let is_word = |part: &&str| {
        let (lower, upper) =
            (part.bytes().any(|b| b.is_ascii_lowercase()), part.bytes().any(|b| b.is_ascii_uppercase()));
        part.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
            && (lower != upper
                || part.bytes().skip(1).all(|byte| !byte.is_ascii_uppercase())
                || is_chain && part.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    // Names of instructions hold as many digits as letters: `_mm512_xor_si512`.
    let many = if parts.len() >= 3 { 2 } else { 3 };
    parts.len() >= 2 && digits * many <= text.len() && parts.iter().all(is_word)
}

/// `$NAME`, `%NAME%`, `@NAME@`, `__NAME__`, `NAME_OF_ANOTHER_VARIABLE`.
fn is_variable(text: &str) -> bool {
    let word = |inside: &str| {
        !inside.is_empty()
            && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b':'))
    };
    let named = |inside: &str| word(inside) && !is_random(inside.as_bytes());
    if let Some(inside) = text.strip_prefix('$') {
        // `$HOME/bin`, `$user:$password`.
        let name = inside.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let shouted = inside.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
        return named(inside) || shouted >= 3 || name >= 2 && inside[name..].starts_with(['/', '.', ':']);
    }
    if text.starts_with('%') && text.bytes().skip(1).take_while(u8::is_ascii_alphabetic).count() >= 4 {
        return true;
    }
    // An annotation, or a variable of an object: `@NonNull`, `@password`.
    if let Some(inside) = text.strip_prefix('@')
        && inside.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'.')
        && words::word_share(inside.as_bytes()) > 0.5
    {
        return true;
    }
    for mark in ['%', '@'] {
        if let Some(inside) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) {
            return word(inside);
        }
    }
    if let Some(inside) = text.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")) {
        return word(inside);
    }
    // The name of an environment variable.
    text.contains('_')
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
        && words::word_share(text.as_bytes()) > 0.5
}
