//! Encoded parts of a text, decoded in place.
//!
//! Promise: what is taken for encoded, how it is decoded, and where a match in the decoded text stands
//! in the raw one is what gitleaks 8.30.1 does, pass for pass.

use std::rc::Rc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::matcher::Span;

/// Kinds of encoding, lower ones yield to higher ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Base64,
    Hex,
    Unicode,
    Percent,
}

/// In the order in which gitleaks names them.
pub(super) const KINDS: [(Kind, &str); 4] =
    [(Kind::Percent, "percent"), (Kind::Unicode, "unicode"), (Kind::Hex, "hex"), (Kind::Base64, "base64")];

/// Several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    fn of(kind: Kind) -> Self {
        Self(match kind {
            Kind::Percent => 1,
            Kind::Unicode => 2,
            Kind::Hex => 4,
            Kind::Base64 => 8,
        })
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().filter(move |&(kind, _)| self.0 & Self::of(kind).0 != 0).map(|(_, name)| name)
    }
}

/// A decoded part.
#[derive(Debug)]
pub(super) struct Segment {
    /// In the raw text.
    pub(super) original: Span,
    /// In the text before this pass.
    pub(super) encoded: Span,
    /// In the text after it.
    pub(super) decoded: Span,
    kinds: Kinds,
}

/// One pass: the segments it decoded, and the pass before.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) segments: Vec<Segment>,
    pub(super) depth: u32,
    before: Option<Rc<Pass>>,
}

/// What counts as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taste {
    /// What gitleaks decodes.
    Compat,
    /// Also base64 of letters alone, with padding in the alphabet of URLs, without in the other.
    Lenient,
}

/// Decodes every encoded part of `text`; `None` when there is none.
pub(super) fn pass(text: &[u8], before: Option<Rc<Pass>>, taste: Taste) -> Option<(Vec<u8>, Pass)> {
    let mut decoded_text = Vec::new();
    let mut segments: Vec<Segment> = Vec::new();
    let mut copied = 0;
    for (kind, encoded) in candidates(text) {
        let Some(decoded) = text.get(encoded.0..encoded.1).and_then(|encoded| decode(kind, encoded, taste)) else {
            continue;
        };
        if segments.is_empty() {
            decoded_text.reserve(text.len());
        }
        decoded_text.extend_from_slice(text.get(copied..encoded.0).unwrap_or_default());
        let start = decoded_text.len();
        decoded_text.extend_from_slice(&decoded);
        copied = encoded.1;
        let mut kinds = Kinds::of(kind);
        for earlier in before.iter().flat_map(|before| &before.segments) {
            if touches(encoded, earlier.decoded) {
                kinds.add(earlier.kinds);
            }
        }
        segments.push(Segment {
            original: to_original(before.as_deref().map(|before| (before.segments.as_slice(), before)), encoded),
            encoded,
            decoded: (start, decoded_text.len()),
            kinds,
        });
    }
    if segments.is_empty() {
        return None;
    }
    decoded_text.extend_from_slice(text.get(copied..).unwrap_or_default());
    let depth = before.as_ref().map_or(1, |before| before.depth + 1);
    Some((decoded_text, Pass { segments, depth, before }))
}

/// The parts of a text in which something can be decoded, each with so many bytes round it. `runs`: its long runs of
/// value characters, of which base64 and hexadecimal digits are some.
pub(super) fn islands(text: &[u8], runs: &[Span], around: usize, taste: Taste) -> Vec<Span> {
    let mut islands: Vec<Span> = Vec::new();
    for (kind, encoded) in (Finder { runs: Some(runs), ..Finder::new(text) }) {
        let inside = islands.last().is_some_and(|last| encoded.1 <= last.1 - around.min(last.1));
        if inside || text.get(encoded.0..encoded.1).and_then(|encoded| decode(kind, encoded, taste)).is_none() {
            continue;
        }
        let (start, end) = (encoded.0.saturating_sub(around), (encoded.1 + around).min(text.len()));
        match islands.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => islands.push((start, end)),
        }
    }
    islands
}

impl Pass {
    /// The segments that a match in the text of this pass overlaps or touches.
    pub(super) fn touched(&self, span: Span) -> &[Segment] {
        let start = self.segments.partition_point(|segment| segment.decoded.1 < span.0);
        let end = self.segments.partition_point(|segment| segment.decoded.0 <= span.1);
        self.segments.get(start..end).unwrap_or_default()
    }

    /// Where a match in the text of this pass stands in the raw text.
    pub(super) fn original(&self, touched: &[Segment], span: Span) -> Span {
        to_original(Some((touched, self)), span)
    }
}

/// All kinds that took part in some segments.
pub(super) fn kinds(segments: &[Segment]) -> Kinds {
    segments.iter().fold(Kinds::default(), |mut kinds, segment| {
        kinds.add(segment.kinds);
        kinds
    })
}

/// The decoded line or lines of some segments, with the line feed before.
pub(super) fn line<'t>(segments: &[Segment], text: &'t [u8]) -> &'t [u8] {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return &[] };
    let (from, to) = (first.decoded.0, last.decoded.1);
    let start = text.get(..=from).and_then(|front| memchr::memrchr(b'\n', front)).unwrap_or(0);
    let end = text.get(to..).and_then(|rest| memchr::memchr(b'\n', rest)).map_or(text.len(), |at| to + at);
    text.get(start..end).unwrap_or_default()
}

/// Maps a span of the text behind `segments` (of a pass) to the raw text.
fn to_original(level: Option<(&[Segment], &Pass)>, span: Span) -> Span {
    let Some((segments, pass)) = level else { return span };
    let mut encoded: Option<Span> = None;
    for segment in segments.iter().filter(|segment| touches(segment.decoded, span)) {
        let decoded = segment.decoded;
        if decoded.0 <= span.0 && span.1 <= decoded.1 {
            return segment.original;
        }
        let widened = (
            segment.encoded.0.saturating_sub(decoded.0.saturating_sub(span.0)),
            segment.encoded.1 + span.1.saturating_sub(decoded.1),
        );
        encoded = Some(encoded.map_or(widened, |so_far| (so_far.0.min(widened.0), so_far.1.max(widened.1))));
    }
    match encoded {
        None => span,
        Some(encoded) => {
            to_original(pass.before.as_deref().map(|before| (before.segments.as_slice(), before)), encoded)
        }
    }
}

fn touches(one: Span, other: Span) -> bool {
    one.0 <= other.1 && one.1 >= other.0
}

/// Parts that look encoded, those dropped that touch a neighbour of higher rank.
fn candidates(text: &[u8]) -> Vec<(Kind, Span)> {
    let all: Vec<(Kind, Span)> = Finder::new(text).collect();
    if all.len() <= 1 {
        return all;
    }
    let yields = |one: &(Kind, Span), neighbour: Option<&(Kind, Span)>| {
        neighbour.is_some_and(|neighbour| touches(one.1, neighbour.1) && neighbour.0 > one.0)
    };
    let kept = all.iter().enumerate().filter(|&(place, one)| {
        let left = place.checked_sub(1).and_then(|place| all.get(place));
        !yields(one, left) && !yields(one, all.get(place + 1))
    });
    kept.map(|(_, one)| *one).collect()
}

/// Looks for encoded parts from left to right.
struct Finder<'t> {
    text: &'t [u8],
    from: usize,
    next: [Option<Option<(Kind, Span)>>; 4],
    /// Where runs can stand, when that is known, and the first of these that is not looked through.
    runs: Option<&'t [Span]>,
    next_run: usize,
}

/// A run shorter than this is not taken for base64.
const SHORTEST_BASE64: usize = 16;
/// A run shorter than this is not taken for hexadecimal.
const SHORTEST_HEX: usize = 32;

impl<'t> Finder<'t> {
    fn new(text: &'t [u8]) -> Self {
        Self { text, from: 0, next: [None; 4], runs: None, next_run: 0 }
    }

    fn percent(&self) -> Option<(Kind, Span)> {
        let start = memchr::memchr_iter(b'%', self.text.get(self.from..)?)
            .map(|at| self.from + at)
            .find(|&at| self.is_percent(at))?;
        // On to the last one of the line; the way there must be valid UTF-8.
        let rest = self.text.get(start..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        let reach = re2_valid_length(line);
        let last = memchr::memrchr_iter(b'%', line.get(..reach)?).find(|&at| self.is_percent(start + at)).unwrap_or(0);
        Some((Kind::Percent, (start, start + last + 3)))
    }

    fn is_percent(&self, at: usize) -> bool {
        self.text.get(at) == Some(&b'%')
            && self.text.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }

    /// `U+hhhh` with white space or the end behind it, several times.
    fn unicode_points(&self) -> Option<(Kind, Span)> {
        let starts = memchr::memmem::find_iter(self.text.get(self.from..)?, b"U+");
        for start in starts.map(|at| self.from + at) {
            let mut end = start;
            while let Some(length) = self.unicode_point(end) {
                end += length;
            }
            if end > start {
                return Some((Kind::Unicode, (start, end)));
            }
        }
        None
    }

    fn unicode_point(&self, at: usize) -> Option<usize> {
        let six = self.text.get(at..at + 6)?;
        let (mark, digits) = six.split_at_checked(2)?;
        if mark != b"U+" || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        match self.text.get(at + 6) {
            None => Some(6),
            Some(b'\t' | b'\n' | 0x0C | b'\r' | b' ') => Some(7),
            Some(_) => None,
        }
    }

    /// `\uhhhh` or `\\uhhhh`, several times.
    fn unicode_escapes(&self) -> Option<(Kind, Span)> {
        for start in memchr::memchr_iter(b'\\', self.text.get(self.from..)?).map(|at| self.from + at) {
            let mut end = start;
            while let Some(length) = self.unicode_escape(end) {
                end += length;
            }
            if end > start {
                return Some((Kind::Unicode, (start, end)));
            }
        }
        None
    }

    fn unicode_escape(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        let backslashes = rest.iter().take(2).take_while(|&&byte| byte == b'\\').count();
        let digits = rest.get(backslashes + 1..backslashes + 5)?;
        let mark = rest.get(backslashes)?;
        let is_one = backslashes > 0 && matches!(mark, b'u' | b'U') && digits.iter().all(u8::is_ascii_hexdigit);
        is_one.then_some(backslashes + 5)
    }

    /// A run of characters of base64, or of hexadecimal digits at its beginning.
    fn run(&mut self) -> Option<(Kind, Span)> {
        let Some(runs) = self.runs else { return self.run_in(self.from, self.text.len()) };
        while let Some(&(start, end)) = runs.get(self.next_run) {
            let found = self.run_in(start.max(self.from), end);
            if found.is_some() {
                return found;
            }
            self.next_run += 1;
        }
        None
    }

    /// The same in a part of the text behind which none goes on.
    fn run_in(&self, mut floor: usize, end: usize) -> Option<(Kind, Span)> {
        let mut probe = floor + SHORTEST_BASE64 - 1;
        // A run of 16 covers one of any 16 places in a row, so the others need no look.
        while let Some(&byte) = self.text.get(probe).filter(|_| probe < end) {
            if !is_base64(byte) {
                floor = probe + 1;
                probe += SHORTEST_BASE64;
                continue;
            }
            let front = self.text.get(floor..probe)?;
            let start = front.iter().rposition(|&byte| !is_base64(byte)).map_or(floor, |at| floor + at + 1);
            let needed = self.text.get(probe..start + SHORTEST_BASE64);
            match needed.map(|needed| needed.iter().rposition(|&byte| !is_base64(byte))) {
                Some(None) => return Some(self.run_at(start)),
                Some(Some(at)) => {
                    floor = probe + at + 1;
                    probe = floor + SHORTEST_BASE64 - 1;
                }
                None => return None,
            }
        }
        None
    }

    fn run_at(&self, start: usize) -> (Kind, Span) {
        let rest = self.text.get(start..).unwrap_or_default();
        let hexadecimal = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if hexadecimal >= SHORTEST_HEX {
            return (Kind::Hex, (start, start + hexadecimal));
        }
        let behind = rest.iter().skip(hexadecimal);
        let length = hexadecimal + behind.take_while(|&&byte| is_base64(byte)).count();
        let padding = rest.iter().skip(length).take(2).take_while(|&&byte| byte == b'=').count();
        (Kind::Base64, (start, start + length + padding))
    }
}

impl Iterator for Finder<'_> {
    type Item = (Kind, Span);

    fn next(&mut self) -> Option<Self::Item> {
        let mut best: Option<(Kind, Span)> = None;
        for which in 0..4 {
            let known = self.next[which].filter(|known| known.is_none_or(|(_, span)| span.0 >= self.from));
            let found = known.unwrap_or_else(|| match which {
                0 => self.percent(),
                1 => self.unicode_points(),
                2 => self.unicode_escapes(),
                _ => self.run(),
            });
            self.next[which] = Some(found);
            if let Some(found) = found
                && best.is_none_or(|best| found.1.0 < best.1.0)
            {
                best = Some(found);
            }
        }
        self.from = best?.1.1;
        best
    }
}

/// A digit of base64, in either alphabet.
pub(super) fn is_base64(byte: u8) -> bool {
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = matches!(byte as u8, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'/' | b'+' | b'-');
            byte += 1;
        }
        table
    };
    TABLE[usize::from(byte)]
}

/// How far RE2's `.` goes: valid UTF-8, surrogates and overlong forms of three and four bytes too.
fn re2_valid_length(line: &[u8]) -> usize {
    let mut at = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let ascii = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        at += ascii;
        let Some(&lead) = line.get(at) else { break };
        let behind = match lead {
            0xC2..=0xDF => 1,
            0xE0..=0xEF => 2,
            0xF0..=0xF4 => 3,
            _ => break,
        };
        let continued =
            line.get(at + 1..at + 1 + behind).is_some_and(|bytes| bytes.iter().all(|byte| byte & 0xC0 == 0x80));
        if !continued {
            break;
        }
        at += 1 + behind;
    }
    at
}

fn decode(kind: Kind, encoded: &[u8], taste: Taste) -> Option<Vec<u8>> {
    let decoded = match kind {
        Kind::Percent => decode_percent(encoded)?,
        Kind::Unicode => decode_unicode(encoded),
        Kind::Hex => decode_hex(encoded)?,
        Kind::Base64 => match taste {
            Taste::Compat => decode_base64(encoded)?,
            Taste::Lenient => decode_any_base64(encoded)?,
        },
    };
    (!decoded.is_empty()).then_some(decoded)
}

fn is_printable(byte: u8) -> bool {
    (0x09..=0x7E).contains(&byte)
}

fn printable(bytes: Vec<u8>) -> Option<Vec<u8>> {
    bytes.iter().all(|&byte| is_printable(byte)).then_some(bytes)
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn decode_hex(encoded: &[u8]) -> Option<Vec<u8>> {
    // Most of what looks like it is a hash, and shows it in its first digits.
    let is_text = |digits: &[u8; 2]| hex_byte(digits).is_some_and(is_printable);
    let is_text = encoded.as_chunks::<2>().0.iter().all(is_text) && encoded.iter().any(u8::is_ascii_digit);
    is_text.then(|| hex::decode(encoded).ok())?
}

fn decode_percent(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match digits.filter(|_| first == b'%').and_then(hex_byte) {
            Some(byte) if is_printable(byte) => {
                decoded.push(byte);
                rest = behind.get(2..)?;
            }
            Some(_) => return None,
            None => {
                decoded.push(first);
                rest = behind;
            }
        }
    }
    Some(decoded)
}

fn decode_unicode(encoded: &[u8]) -> Vec<u8> {
    let mut decoded = String::new();
    let mut rest = encoded;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'+' | b'u' | b'U')) {
        let mark = rest.get(at).copied();
        let behind = rest.get(at + 1..).unwrap_or_default();
        // `U` of `U+` is followed by its plus, which is the mark.
        if mark == Some(b'U') && behind.first() == Some(&b'+') {
            rest = behind;
            continue;
        }
        let digits = behind.get(..4).unwrap_or_default();
        let code = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
        decoded.extend(code.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)));
        rest = behind.get(4..).unwrap_or_default();
    }
    decoded.into_bytes()
}

fn decode_base64(encoded: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    const STANDARD: GeneralPurpose =
        GeneralPurpose::new(&alphabet::STANDARD, LENIENT.with_decode_padding_mode(DecodePaddingMode::RequireCanonical));
    const URL: GeneralPurpose =
        GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_decode_padding_mode(DecodePaddingMode::RequireNone));
    if !encoded.iter().any(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'/' | b'-' | b'_')) {
        return None;
    }
    // Most of what looks like base64 is none, and shows it in its first group.
    let first_group = encoded.get(..4)?;
    let shows = |engine: &GeneralPurpose| {
        engine.decode(first_group).is_ok_and(|bytes| bytes.iter().all(|&byte| is_printable(byte)))
    };
    let standard = || shows(&STANDARD).then(|| STANDARD.decode(encoded).ok().and_then(printable)).flatten();
    let url = || shows(&URL).then(|| URL.decode(encoded).ok().and_then(printable)).flatten();
    standard().or_else(url)
}

/// Base64 in either alphabet, padded or not.
fn decode_any_base64(encoded: &[u8]) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
    let end = encoded.iter().rposition(|&byte| byte != b'=')? + 1;
    let plain = encoded.get(..end)?;
    // Commands for one system's shell are encoded from two bytes a character.
    let readable = |bytes: Vec<u8>| {
        let wide = bytes.len() > 2 && bytes.iter().skip(1).step_by(2).all(|&byte| byte == 0);
        printable(if wide { bytes.into_iter().step_by(2).collect() } else { bytes })
    };
    let decodes = |text: &[u8]| STANDARD.decode(text).ok().and_then(readable);
    if !may_be_readable(plain) {
        return None;
    }
    if plain.iter().any(|byte| matches!(byte, b'-' | b'_')) {
        let standard: Vec<u8> = plain
            .iter()
            .map(|&byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                _ => byte,
            })
            .collect();
        return decodes(&standard);
    }
    decodes(plain)
}

/// Whether digits of base64, in either alphabet, can be text of one or of two bytes a character. Most of what looks
/// like base64 is none, and shows it in its first digits.
fn may_be_readable(digits: &[u8]) -> bool {
    let (mut is_plain, mut is_wide) = (true, true);
    let mut place = 0_usize;
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, &digit| bits << 6 | u32::from(value(digit)));
        let bits = bits << (6 * (4 - group.len()));
        for byte in bits.to_be_bytes().into_iter().skip(1).take(group.len().saturating_sub(1)) {
            is_plain &= is_printable(byte);
            is_wide &= if place.is_multiple_of(2) { is_printable(byte) } else { byte == 0 };
            place += 1;
        }
        if !is_plain && !is_wide {
            return false;
        }
    }
    digits.len() >= 4
}

/// What a digit of base64 stands for; what is none is told when it is decoded.
fn value(digit: u8) -> u8 {
    match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}
