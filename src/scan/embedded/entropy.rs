//! Shannon entropy as gitleaks counts it.
//!
//! Promise: characters are code points, each invalid byte counts as U+FFFD, and frequencies are
//! fractions of the length in *bytes* (so text beyond ASCII scores lower than one would expect). The sum
//! is taken in a fixed order, so that a value at the threshold does not go either way.

use bstr::ByteSlice;

/// Bits per byte; 0 for no text.
pub(super) fn shannon(text: &[u8]) -> f64 {
    let length = text.len() as f64;
    let term = |count: u32| {
        let frequency = f64::from(count) / length;
        -frequency * frequency.log2()
    };
    if text.is_ascii() {
        let mut counts = [0_u32; 128];
        for &byte in text {
            if let Some(count) = counts.get_mut(usize::from(byte)) {
                *count += 1;
            }
        }
        return counts.iter().filter(|&&count| count > 0).map(|&count| term(count)).sum();
    }
    let mut counts = std::collections::BTreeMap::new();
    for (start, end, character) in text.char_indices() {
        // A truncated sequence is one invalid character here, but as many as it has bytes in Go.
        let times = if character == char::REPLACEMENT_CHARACTER && text.get(start..end) != Some("\u{FFFD}".as_bytes()) {
            u32::try_from(end - start).unwrap_or(u32::MAX)
        } else {
            1
        };
        *counts.entry(character).or_insert(0_u32) += times;
    }
    counts.values().map(|&count| term(count)).sum()
}
