//! Compressed data that a text holds in base64: cloud-init's `gz+b64`, releases of Helm, archives in YAML and JSON.
//!
//! Promise: a run of base64 that begins as a gzip, zip, xz, bzip2 or Zstandard file does is decoded, over as many
//! lines as it is wrapped to, and handed on with its place. Runs that decode to text are [`super::decode`]'s.

use std::sync::LazyLock;

use aho_corasick::packed::Searcher;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::decode::is_base64;

/// How the first bytes of such files read in base64. The last is base64 of base64 of gzip.
const BEGINNINGS: [&[u8]; 6] = [b"H4sI", b"UEsDB", b"/Td6WFo", b"QlpoO", b"KLUv/", b"SDRzS"];
/// A line that is shorter is not wrapped, so that the next one is something else. PEM has 64, MIME 76.
const SHORTEST_LINE: usize = 48;
/// No archive with anything in it is shorter, in characters.
const SHORTEST: usize = 28;

/// What a run of base64 holds.
#[derive(Debug)]
pub(super) struct Packed {
    /// Where it begins.
    pub(super) start: usize,
    /// What it decodes to.
    pub(super) bytes: Vec<u8>,
    /// Whether it reaches the end of the text.
    pub(super) is_cut: bool,
}

/// Every such run of a text, from left to right.
pub(super) fn all(text: &[u8]) -> Vec<Packed> {
    let mut found: Vec<Packed> = Vec::new();
    let mut behind = 0;
    for start in starts(text) {
        // Inside of a run it is chance.
        let is_inside = start < behind || start.checked_sub(1).is_some_and(|before| is_base64(text[before]));
        if is_inside {
            continue;
        }
        let (digits, end) = run(text, start);
        if digits.len() < SHORTEST {
            continue;
        }
        if let Some(bytes) = decoded(&digits) {
            behind = end;
            found.push(Packed { start, bytes, is_cut: end == text.len() });
        }
    }
    found
}

/// Where such beginnings are. Of two that overlap the second is inside of other digits.
fn starts(text: &[u8]) -> Vec<usize> {
    static ALL: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(BEGINNINGS));
    if let Some(all) = &*ALL {
        return all.find_iter(text).map(|found| found.start()).collect();
    }
    let mut starts: Vec<usize> =
        BEGINNINGS.iter().flat_map(|beginning| memchr::memmem::find_iter(text, beginning)).collect();
    starts.sort_unstable();
    starts
}

/// The digits from `start` on, over line feeds and the next line's indentation; and where they end.
fn run(text: &[u8], start: usize) -> (Vec<u8>, usize) {
    let mut digits = Vec::new();
    let mut at = start;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|&&byte| is_base64(byte)).count();
        digits.extend_from_slice(rest.get(..length).unwrap_or_default());
        at += length;
        let behind = rest.get(length..).unwrap_or_default();
        let feed = if behind.starts_with(b"\\n") || behind.starts_with(b"\r\n") { 2 } else { 1 };
        let is_wrapped = length >= SHORTEST_LINE && (feed == 2 || behind.first() == Some(&b'\n'));
        if !is_wrapped {
            return (digits, at);
        }
        let indentation = behind.iter().skip(feed).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if !behind.get(feed + indentation).is_some_and(|&byte| is_base64(byte)) {
            return (digits, at);
        }
        at += feed + indentation;
    }
}

fn decoded(digits: &[u8]) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
    const URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);
    // One digit more than whole bytes is none of it.
    let whole = digits.get(..digits.len() - usize::from(digits.len() % 4 == 1))?;
    STANDARD.decode(whole).or_else(|_| URL.decode(whole)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_goes_over_wrapped_lines_and_their_indentation_and_no_further() {
        let line = "A".repeat(60);
        for (text, digits) in [
            (format!("H4sI{line}\n  {line}\n  BB==\nnext"), 4 + 60 + 60 + 2),
            (format!("H4sI{line}\r\n{line}\r\n{line}"), 4 + 180),
            (format!("H4sI{line}\\n{line}\", more"), 4 + 120),
            (format!("H4sI{line} {line}"), 4 + 60),
            (format!("H4sI{line}\n\n{line}"), 4 + 60),
            ("H4sIAAAA\nAAAAAAAA".to_owned(), 8),
        ] {
            assert_eq!(run(text.as_bytes(), 0).0.len(), digits, "{text:?}");
        }
    }

    #[test]
    fn beginning_inside_of_other_digits_is_none() {
        let packed = format!("H4sI{}", "A".repeat(40));
        assert_eq!(all(packed.as_bytes()).len(), 1);
        assert_eq!(all(format!("key: \"{packed}\" and {packed}").as_bytes()).len(), 2);
        assert_eq!(all(format!("x{packed}").as_bytes()).len(), 0);
        assert_eq!(all(b"H4sI and no more").len(), 0);
    }
}
