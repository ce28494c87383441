//! Private keys in PEM and its relatives: whether there is a key behind the marker.
//!
//! Keys stand in text in many ways: with line breaks, with `\n` once or twice escaped, indented, quoted
//! line by line, all on one line. What is between the markers is therefore cut into runs of base64.

use super::text;
use super::{Validator, Validity};

/// A PEM block whose body decodes to ASN.1, to OpenSSH's container, or to an OpenPGP packet.
#[derive(Debug)]
pub struct Pem;

impl Validator for Pem {
    fn name(&self) -> &'static str {
        "pem"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(body) = body_of(secret) else { return Validity::Unknown };
        let Some(bytes) = decoded(&body) else { return Validity::Invalid };
        let kind = secret.get(..secret.len().min(64)).unwrap_or(secret);
        let marks = |word: &[u8]| kind.windows(word.len()).any(|window| window == word);
        if marks(b"OPENSSH") {
            return Validity::decided(bytes.starts_with(b"openssh-key-v1\0"));
        }
        if marks(b"PGP") {
            return Validity::decided(bytes.first().is_some_and(|first| first & 0x80 != 0));
        }
        if body.encrypted {
            // The body is a cipher text.
            return Validity::decided(bytes.len() >= 16);
        }
        Validity::decided(is_sequence(&bytes))
    }
}

/// What stands between the markers.
struct Body {
    base64: Vec<u8>,
    encrypted: bool,
}

fn body_of(block: &[u8]) -> Option<Body> {
    let text = String::from_utf8_lossy(block);
    let start = text.find("-----BEGIN").and_then(|at| text[at + 10..].find("-----").map(|end| at + 15 + end))?;
    let rest = text.get(start..)?;
    let inside = rest.find("-----END").map_or(rest, |end| &rest[..end]);
    let mut base64 = Vec::new();
    let mut encrypted = false;
    // `\\n`, `\n`, `\r` and the entity for a line break, as they stand in text.
    let broken = inside.replace("\\r", "\n").replace("\\n", "\n").replace('\\', "\n").replace("&#10;", "\n");
    // Lines that a patch adds: by chance a line may begin with a plus, but not each of them.
    let is_added = broken.lines().count() > 2 && broken.lines().skip(1).all(|line| line.starts_with('+'));
    for line in broken.lines() {
        let line = line.strip_prefix('+').filter(|_| is_added).unwrap_or(line);
        if line.contains(':') {
            encrypted |= line.contains("ENCRYPTED");
            continue;
        }
        let trimmed = line.trim_start_matches(|character: char| !is_base64(character));
        // The checksum of OpenPGP's armor.
        if line.trim().starts_with('=') && line.trim().len() == 5 {
            continue;
        }
        for word in trimmed.split(|character: char| !is_base64(character)) {
            // A plus alone joins two strings.
            if word.len() > 1 || word.starts_with(|first: char| first.is_ascii_alphanumeric()) {
                base64.extend(word.bytes());
            }
        }
    }
    Some(Body { base64, encrypted })
}

fn is_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=')
}

fn decoded(body: &Body) -> Option<Vec<u8>> {
    let end = body.base64.iter().position(|&byte| byte == b'=').unwrap_or(body.base64.len());
    let mut characters = body.base64.get(..end)?.to_vec();
    // What a line cut off in the middle leaves over.
    if characters.len() % 4 == 1 {
        characters.pop();
    }
    text::base64(&characters)
}

/// Whether this is one ASN.1 sequence in DER, and whole.
fn is_sequence(bytes: &[u8]) -> bool {
    let (length, header) = match bytes {
        [0x30, short @ 0..=0x7F, ..] => (usize::from(*short), 2),
        [0x30, 0x81, length, ..] => (usize::from(*length), 3),
        [0x30, 0x82, high, low, ..] => (usize::from(*high) << 8 | usize::from(*low), 4),
        _ => return false,
    };
    // A few bytes may be missing where the text was cut or re-flowed; a marker with a sample is far off.
    length >= 16 && bytes.len() + 3 >= length + header
}
