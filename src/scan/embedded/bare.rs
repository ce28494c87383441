//! Private keys without the lines that mark them: bytes of DER, and base64 alone or cut off before its end.
//!
//! Promise: what is a private key by its structure is also read as the PEM block that it would be, and is found where
//! it stands. Certificates, requests, signatures and public keys have another structure.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;

use super::matcher::Span;
use super::rewritten::Rewritten;
use super::verify::text::base64;
use super::wrapped;

/// So many digits of base64 show the structure of a key.
const SHOWN: usize = 64;
/// A shorter run of digits is no key.
const SHORTEST: usize = 48;
/// What OpenSSH's container begins with, in base64.
const OPENSSH: &[u8] = b"b3BlbnNzaC1rZXktdjEA";

/// Every private key of a text that has no marks; `runs` are its long runs of value characters, in order.
pub(super) fn parts(text: &[u8], runs: &[Span]) -> Vec<Rewritten> {
    let mut parts: Vec<Rewritten> = of_bytes(text).into_iter().collect();
    let mut from = 0;
    for &run in runs.iter().filter(|run| run.1 - run.0 >= SHORTEST) {
        let Some(start) = digits_from(text, run).filter(|&start| start >= from) else { continue };
        if let Some((part, end)) = of_base64(text, start) {
            parts.push(part);
            from = end;
        }
    }
    parts
}

/// A file that is a key.
fn of_bytes(text: &[u8]) -> Option<Rewritten> {
    let key = Key::read(text).filter(|key| key.length <= text.len())?;
    let mut part = Rewritten::default();
    part.go_on(0, 0);
    part.text.extend(pem("", text.get(..key.length)?));
    part.go_on(key.length, 0);
    part.text.push(b'\n');
    Some(part)
}

/// Where the digits of base64 in a run begin that could be a key's.
fn digits_from(text: &[u8], run: Span) -> Option<usize> {
    let start = wrapped::digits(text, run)?.0;
    // A line break that was written `\n`.
    let is_escape = text.get(start) == Some(&b'n') && start > 0 && text.get(start - 1) == Some(&b'\\');
    let start = start + usize::from(is_escape);
    let begins = text.get(start..run.1)?;
    (begins.len() >= SHORTEST && (begins.starts_with(b"M") || begins.starts_with(OPENSSH))).then_some(start)
}

/// A key whose base64 begins there, and where it ends.
fn of_base64(text: &[u8], start: usize) -> Option<(Rewritten, usize)> {
    let shown = text.get(start..)?;
    let shown = shown.get(..shown.iter().take(SHOWN).take_while(|byte| wrapped::is_digit(**byte)).count() & !3)?;
    let is_openssh = shown.starts_with(OPENSSH);
    // The container of OpenSSH does not say how long it is; the smallest has 300 bytes.
    let length = if is_openssh { 200 } else { Key::read(&base64(shown)?)?.length };
    let (digits, end) = gathered(text, start, if is_openssh { usize::MAX } else { length.div_ceil(3) * 4 });
    // A key that was cut off before its last lines is one; the beginning of one, in a manual, is not.
    if digits.len() / 4 * 3 < length / 5 * 3 {
        return None;
    }
    // One digit alone, of a group that was cut off, says nothing.
    let mut bytes = base64(digits.get(..digits.len() - usize::from(digits.len() % 4 == 1))?)?;
    bytes.resize(bytes.len().max(length), 0);
    let mut part = Rewritten::default();
    part.go_on(start, 0);
    part.text.extend(pem(if is_openssh { "OPENSSH " } else { "" }, &bytes));
    part.go_on(end, 0);
    part.text.push(b'\n');
    Some((part, end))
}

/// A key as a PEM block.
fn pem(kind: &str, bytes: &[u8]) -> Vec<u8> {
    let mark = |place: &str| format!("-----{place} {kind}PRIVATE KEY-----");
    format!("{}\n{}\n{}", mark("BEGIN"), STANDARD.encode(bytes), mark("END")).into_bytes()
}

/// The digits from there on, over line breaks and what joins strings, as many as are wanted; and where they end.
fn gathered(text: &[u8], start: usize, wanted: usize) -> (Vec<u8>, usize) {
    let mut digits = Vec::new();
    let (mut at, mut end) = (start, start);
    while digits.len() < wanted {
        let rest = text.get(at..).unwrap_or_default();
        let line = rest.iter().take(wanted - digits.len()).take_while(|byte| wrapped::is_digit(**byte)).count();
        if line == 0 {
            break;
        }
        digits.extend_from_slice(rest.get(..line).unwrap_or_default());
        end = at + line;
        match wrapped::gap(text, end) {
            Some(next) => at = next,
            None => break,
        }
    }
    (digits, end)
}

/// What the beginning of a key says.
struct Key {
    /// Of all its bytes.
    length: usize,
}

impl Key {
    /// Reads the beginning of a private key in DER: PKCS #1, PKCS #8 (encrypted, too), SEC 1, and OpenSSL's for DSA.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (body, header, length) = element(0x30, bytes)?;
        if length < 40 {
            return None;
        }
        let is_key = match body {
            // The version, and what follows it.
            [2, 1, version @ (0 | 1), rest @ ..] => match rest {
                [0x30, ..] => element(0x30, rest).is_some_and(|(inside, ..)| is_algorithm(inside, KEYS)),
                [4, ..] => {
                    let scalar = element(4, rest).is_some_and(|(_, _, length)| (20..=66).contains(&length));
                    *version == 1 && scalar
                }
                // A modulus: a great number that fills its bytes.
                [2, ..] => element(2, rest).is_some_and(|(inside, _, length)| {
                    *version == 0 && (64..=2049).contains(&length) && matches!(inside, [0, 0x80..=0xFF, ..])
                }),
                _ => false,
            },
            [0x30, ..] => element(0x30, body).is_some_and(|(inside, ..)| is_algorithm(inside, CIPHERS)),
            _ => false,
        };
        is_key.then_some(Self { length: header + length })
    }
}

/// Algorithms of keys: RSA's, those of ANSI (EC, DSA), and Curve25519's and Curve448's.
const KEYS: &[&[u8]] = &[&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1], &[0x2A, 0x86, 0x48, 0xCE], &[0x2B, 0x65]];
/// Algorithms that encrypt a key by a password: PKCS #5's and PKCS #12's.
const CIPHERS: &[&[u8]] =
    &[&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 5], &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 12, 1]];

fn is_algorithm(inside: &[u8], known: &[&[u8]]) -> bool {
    matches!(inside, [6, 3..=12, name @ ..] if known.iter().any(|known| name.starts_with(known)))
}

/// An element of this kind at the beginning: what is there of its content, and the lengths of its header and content.
fn element(kind: u8, bytes: &[u8]) -> Option<(&[u8], usize, usize)> {
    let (length, header) = match bytes {
        [first, short @ 0..=0x7F, ..] if *first == kind => (usize::from(*short), 2),
        [first, 0x81, length, ..] if *first == kind => (usize::from(*length), 3),
        [first, 0x82, high, low, ..] if *first == kind => (usize::from(*high) << 8 | usize::from(*low), 4),
        _ => return None,
    };
    Some((bytes.get(header..)?, header, length))
}
