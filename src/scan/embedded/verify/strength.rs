//! Whether a value could be a secret that somebody uses: for passwords, and for tokens of no known form.

use super::lookup::{is_code, is_identifier, is_lookup};
use super::name::ends_as_a_name;
use super::structure::Jwt;
use super::text;
use super::words;
use super::{Validator, Validity};

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A placeholder, a variable, a path, code.
    None,
    /// A word, a number, something short: nobody's secret, or a dummy of a test.
    Weak,
    /// Something that people choose: words with digits, letters with symbols.
    Chosen,
    /// Made by a generator.
    Random,
}

/// The shortest value that people are forced to choose nearly everywhere.
const CHOSEN_LENGTH: usize = 8;
/// Shorter random values are not told from abbreviations.
const RANDOM_LENGTH: usize = 12;

/// Judges a password.
pub fn password(value: &[u8]) -> Strength {
    if is_lookup(value) || is_made_up(value) || is_code(value) {
        return Strength::None;
    }
    // A user's name before it: the password alone counts.
    if let Some(at) = value.iter().rposition(|&byte| byte == b':')
        && let Some(own) = value.get(at + 1..)
        && at > 0
        && !own.is_empty()
    {
        return password(own);
    }
    if is_random(value) {
        return Strength::Random;
    }
    let kinds = Kinds::of(value);
    if value.len() < CHOSEN_LENGTH || kinds.letters() == 0 || is_technical(value, &kinds) {
        return Strength::Weak;
    }
    let cased = kinds.lower > 0 && kinds.upper > 0;
    if is_counted_word(value) {
        return Strength::Weak;
    }
    // One digit behind a word counts things: `attempt1`, `libtest_arg3`.
    let numbered = kinds.digit >= 2 || kinds.digit == 1 && (cased || kinds.symbol > 0);
    let marked = cased && value.iter().any(|byte| b"!@#$%^&+".contains(byte));
    if numbered || marked { Strength::Chosen } else { Strength::Weak }
}

/// One word and the digits that everybody puts behind it: `Picard123`.
fn is_counted_word(value: &[u8]) -> bool {
    let end = value.iter().rposition(|byte| byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let counted = value.get(..end).unwrap_or(value);
    let start = counted.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let (word, digits) = counted.split_at_checked(start).unwrap_or((counted, &[]));
    matches!(digits, b"123" | b"1234" | b"12345" | b"123456" | b"321" | b"111" | b"000" | b"007")
        && value.len() - end <= 1
        && word.iter().all(u8::is_ascii_alphabetic)
        && words::words(word).len() == 1
}

/// Judges a password where the place itself says that it is one: between the user and the host of a URL, in a file
/// of credentials. There letters of both cases, or with signs between them, will do without a digit.
pub fn password_in_place(value: &[u8]) -> Strength {
    let plain = percent_decoded(&percent_decoded(value));
    let value = plain.as_slice();
    let judged = password(value);
    if judged != Strength::Weak || value.len() < CHOSEN_LENGTH || value.contains(&b':') {
        return judged;
    }
    let kinds = Kinds::of(value);
    let mixed = kinds.lower > 0 && kinds.upper > 0;
    let is_name = kinds.letters() == value.len() && words::word_share(value) > 0.9;
    if mixed && !is_name && !is_technical(value, &kinds) { Strength::Chosen } else { Strength::Weak }
}

/// The value without the escapes of a URL: `p%40ss` is `p@ss`.
fn percent_decoded(value: &[u8]) -> Vec<u8> {
    let hex = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16)).and_then(|digit| u8::try_from(digit).ok())
    };
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, after @ ..] = rest {
        match (hex(after.first()), hex(after.get(1))) {
            (Some(high), Some(low)) if *first == b'%' => {
                plain.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

/// Judges a token: only what a generator made will do.
pub fn token(value: &[u8]) -> Strength {
    if is_lookup(value)
        || is_public(value)
        || is_uuid(value)
        || is_identifier(value)
        || is_code(value)
        || ends_as_a_name(value)
    {
        return Strength::None;
    }
    let is_token = if value.starts_with(b"eyJ") && value.contains(&b'.') {
        Jwt.check(value, value) != Validity::Invalid
    } else {
        is_random(value) && !is_made_up(value) && !is_dummy_encoded(value)
    };
    if is_token { Strength::Random } else { Strength::Weak }
}

/// How many characters of each kind.
struct Kinds {
    lower: usize,
    upper: usize,
    digit: usize,
    /// Neither letters nor digits, but not what joins words either.
    symbol: usize,
    joint: usize,
    /// How often the kind changes from one character to the next.
    changes: usize,
    hex: bool,
}

impl Kinds {
    fn of(value: &[u8]) -> Self {
        let mut kinds = Self { lower: 0, upper: 0, digit: 0, symbol: 0, joint: 0, changes: 0, hex: true };
        let mut previous = 0;
        for (place, byte) in value.iter().enumerate() {
            let (slot, kind) = match byte {
                b'a'..=b'z' => (&mut kinds.lower, 1),
                b'A'..=b'Z' => (&mut kinds.upper, 2),
                b'0'..=b'9' => (&mut kinds.digit, 3),
                b'-' | b'_' | b'.' | b' ' | b'/' | b':' | b'=' | b',' => (&mut kinds.joint, 4),
                _ => (&mut kinds.symbol, 5),
            };
            *slot += 1;
            kinds.hex &= byte.is_ascii_hexdigit();
            kinds.changes += usize::from(place > 0 && kind != previous);
            previous = kind;
        }
        kinds
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }
}

/// Whether a generator made it: many kinds of characters in no order, letters that are no words.
pub fn is_random(value: &[u8]) -> bool {
    if value.len() < RANDOM_LENGTH {
        return false;
    }
    let kinds = Kinds::of(value);
    let length = value.len();
    if kinds.letters() == 0 || distinct(value) * 3 < length.min(24) {
        return false;
    }
    if kinds.hex && (kinds.lower == 0 || kinds.upper == 0) {
        // Words of the letters a to f hold no digits; dates and numbers no letters.
        return length >= 20 && kinds.digit * 8 >= length && kinds.letters() * 8 >= length;
    }
    let share = words::word_share(value);
    if kinds.digit == 0 {
        // A phrase of short words.
        if kinds.joint > 1 && (kinds.lower == 0 || kinds.upper == 0) {
            return false;
        }
        // Letters only: either the case jumps about, or the letters are no words.
        let cost = words::pair_cost(value).unwrap_or(0.0);
        return length >= 16
            && share < 0.3
            && cost > 4.6
            && (kinds.changes * 4 >= length || kinds.upper == 0 || kinds.lower == 0);
    }
    share < 0.4 && kinds.changes * 5 >= length
}

fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    value.iter().filter(|&&byte| !std::mem::replace(&mut seen[usize::from(byte)], true)).count()
}

/// Whether digits stand only in technical words: `PBKDF2WithHmacSHA256`, `oauth2-proxy`, `utf8`.
fn is_technical(value: &[u8], kinds: &Kinds) -> bool {
    kinds.symbol == 0
        && kinds.digit <= 6
        && words::words(value).iter().filter(|word| words::is_technical_word(word)).count() >= 2
}

/// Whether it is made of words that mark dummies, a run of the keyboard, or one character over and over.
pub fn is_made_up(value: &[u8]) -> bool {
    let plain: Vec<u8> = value.iter().map(|&byte| unleet(byte).to_ascii_lowercase()).collect();
    for spelled in [value, &plain] {
        let all = words::words(spelled);
        let letters: usize = all.iter().map(Vec::len).sum();
        let dummy: usize = all.iter().map(|word| dummy_letters(word)).sum();
        // What is left beside dummy words: a letter, or a number at the end.
        let others = spelled.iter().filter(|byte| !byte.is_ascii_alphabetic()).count();
        if dummy * 5 >= spelled.len() * 2 && letters - dummy <= 2 && others <= 4 + all.len() {
            return true;
        }
        // A word in the middle of letters that are words too: `mysecretvalue`, `YOUR_OPENAI_KEY`.
        if dummy * 2 > spelled.len() {
            return true;
        }
    }
    let known: &[&[u8]] =
        &[b"hunter2", b"letmein", b"iloveyou", b"trustno1", b"dragon", b"monkey", b"correcthorsebatterystaple"];
    known.contains(&value)
        || value.strip_prefix(b"hunter").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
        || is_counted(value)
        || value.rsplit(|&byte| byte == b':').next().is_some_and(|own| PUBLISHED.contains(&own))
        || distinct(value) <= 3
        || has_run(value)
}

/// Hexadecimal digits of bytes that go up one by one, or digit by digit: `000102030405…`, `00112233…`.
fn is_counted(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"0x").unwrap_or(value);
    if digits.len() < 16 {
        return false;
    }
    let Ok(bytes) = hex::decode(digits) else { return false };
    let steps =
        bytes.windows(2).filter(|pair| matches!(pair, [one, other] if matches!(other.wrapping_sub(*one), 1 | 0x11)));
    steps.count() * 4 >= (bytes.len() - 1) * 3
}

/// Values of the examples in RFC 5849, 6749, 6750 and 7617, which documentation and tests repeat.
const PUBLISHED: &[&[u8]] = &[
    b"mF_9.B5f-4.1JqM",
    b"mF_9.B5f-4.1JqM%01%01",
    b"2YotnFZFEjr1zCsicMWpAA",
    b"tGzv3JOkF0XG5Qx2TlKWIA",
    b"SplxlOBeZQQYbYS6WxSbIA",
    b"s6BhdRkqt3",
    b"gX1fBat3bV",
    b"7Fjfp0ZBr1KtDRbnfVdmIw",
    b"h480djs93hd8",
    b"8xLOxBtZp8",
    b"kd94hf93k423kf44",
    b"pfkkdhi9sl3r4s00",
    b"hh5s93j4hdidpola",
    b"hdhd0244k9j7ao03",
    b"nnch734d00sl2jdk",
    b"dpf43f3p2l4k3l03",
    b"hfdp7dh39dks9884",
    b"0685bd9184jfhq22",
    b"ad180jjd733klru7",
    b"lsdkfol23w54jlksdef",
    b"agabcdefddddafdd",
    b"OpenSesame",
];

/// How many letters of a word stand in dummy words: all, when it is one or is put together of some.
fn dummy_letters(word: &[u8]) -> usize {
    if words::is_dummy_word(word) {
        return word.len();
    }
    // Put together: the longest beginning that is a dummy word, then the rest.
    for at in (3..word.len()).rev() {
        if let Some((head, tail)) = word.split_at_checked(at)
            && words::is_dummy_word(head)
        {
            let rest = dummy_letters(tail);
            if rest == tail.len() || at >= 4 {
                return at + rest;
            }
        }
    }
    // Or an ending: `apasswd`, `databasepassword`.
    for at in 1..word.len().saturating_sub(3) {
        if word.get(at..).is_some_and(words::is_dummy_word) {
            return word.len() - at;
        }
    }
    0
}

/// Digits and signs that are written for letters.
fn unleet(byte: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' | b'!' => b'i',
        b'3' => b'e',
        b'4' | b'@' => b'a',
        b'5' | b'$' => b's',
        b'7' => b't',
        other => other,
    }
}

/// Whether most of it goes up or down one by one, or along the keyboard.
fn has_run(value: &[u8]) -> bool {
    const KEYBOARD: &[&str] =
        &["qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz2wsx", "0123456789", "9876543210", "0987654321"];
    let lower = value.to_ascii_lowercase();
    let steps = lower.windows(2).filter(|pair| match pair {
        [one, other] => one.abs_diff(*other) == 1 && one.is_ascii_alphanumeric() && other.is_ascii_alphanumeric(),
        _ => false,
    });
    if steps.count() * 2 > lower.len() {
        return true;
    }
    let text = String::from_utf8_lossy(&lower);
    let along = KEYBOARD.iter().flat_map(|row| (0..row.len() - 5).map(move |at| &row[at..at + 6]));
    along.filter(|run| text.contains(run)).count() * 8 > value.len().saturating_sub(4)
}

/// Whether it is public by its form: certificates and public keys, content hashes with their names.
fn is_public(value: &[u8]) -> bool {
    const BEGINNINGS: &[&str] = &[
        "AAAAB3NzaC1",
        "AAAAC3NzaC1",
        "AAAAE2VjZHNh",
        "sha1-",
        "sha256",
        "sha384",
        "sha512",
        "md5",
        "h1:",
        "pk_",
        "pk.",
        "LS0tLS1CRUdJTiBD",
        "LS0tLS1CRUdJTiBQVUJM",
        "iVBOR",
        "R0lGOD",
        "/9j/",
        "data:",
        "UklGR",
        "AGFzb",
    ];
    BEGINNINGS.iter().any(|beginning| value.starts_with(beginning.as_bytes()))
        || value.starts_with(b"MII") && value.len() > 100
        // A sealed secret of Kubernetes: the length of an RSA block in two bytes, then the block.
        || matches!(value, [b'A', b'g', b'A'..=b'D', ..]) && value.len() > 300
}

/// Whether it is a UUID: an identifier wherever nothing else says so.
pub fn is_uuid(value: &[u8]) -> bool {
    let parts: Vec<&[u8]> = value.split(|&byte| byte == b'-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.iter().all(u8::is_ascii_hexdigit))
}

/// Whether it is base64 of a dummy, or of text that is no secret.
pub fn is_dummy_encoded(value: &[u8]) -> bool {
    let Some(plain) = text::base64(value) else { return false };
    if plain.len() < 4 || !plain.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return false;
    }
    plain.split(|byte| matches!(byte, b':' | b'\n')).all(|part| password(part) <= Strength::Weak)
}
