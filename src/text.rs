//! Text that may be shown to a person or handed to a host.
//!
//! Promise: a [`SafeText`] holds no code point that could move the cursor, reverse the line, hide
//! itself or speak to a terminal. Forbidden code points are shown as `<U+XXXX>`, never dropped, so
//! that nobody can be told something else than what is there. One rule, in this one place.

use std::fmt;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Text whose forbidden code points have been made visible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeText(String);

impl SafeText {
    /// Makes every forbidden code point of `raw` visible. Tab and line feed stay.
    pub fn new(raw: &str) -> Self {
        let mut safe = String::with_capacity(raw.len());
        for character in raw.chars() {
            push_visible(&mut safe, character);
        }
        Self(safe)
    }

    /// The same for bytes which need not be UTF-8: each invalid byte becomes `<0xNN>`.
    pub fn from_bytes(raw: &[u8]) -> Self {
        let mut safe = String::with_capacity(raw.len());
        for chunk in raw.utf8_chunks() {
            for character in chunk.valid().chars() {
                push_visible(&mut safe, character);
            }
            for byte in chunk.invalid() {
                safe.push_str(&format!("<0x{byte:02X}>"));
            }
        }
        Self(safe)
    }

    /// Text a repository controls (names, paths, ids): line breaks are shown too, and what is over
    /// `limit` characters is cut, since a long unbroken run could carry a secret or instructions.
    pub fn quoted(raw: &[u8], limit: usize) -> Self {
        let visible = Self::from_bytes(raw).0.replace('\n', "<U+000A>").replace('\t', "<U+0009>");
        let count = visible.chars().count();
        if count <= limit {
            return Self(visible);
        }
        let kept: String = visible.chars().take(limit).collect();
        Self(format!("{kept}… ({} of {count} characters left out)", count - limit))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for SafeText {
    fn from(raw: &str) -> Self {
        Self::new(raw)
    }
}

impl From<String> for SafeText {
    fn from(raw: String) -> Self {
        Self::new(&raw)
    }
}

fn push_visible(safe: &mut String, character: char) {
    // Most text is plain, and looking a character up takes longer than all else here.
    if matches!(character, ' '..='~') {
        safe.push(character);
    } else if is_forbidden(character) {
        safe.push_str(&format!("<U+{:04X}>", character as u32));
    } else {
        safe.push(character);
    }
}

/// Whether a code point may not be written as it is: control, format, default-ignorable or
/// noncharacter, but not tab, line feed, or the variation selectors U+FE00 to U+FE0F, which
/// ordinary emoji need.
pub fn is_forbidden(character: char) -> bool {
    let code = character as u32;
    match character {
        '\t' | '\n' => false,
        '\u{FE00}'..='\u{FE0F}' => false,
        // Default-ignorable code points which are neither Cc nor Cf (Unicode 16, DerivedCoreProperties).
        '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' => true,
        '\u{2065}' | '\u{3164}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}' | '\u{E0000}'..='\u{E0FFF}' => true,
        '\u{2028}' | '\u{2029}' => true,
        _ if code & 0xFFFE == 0xFFFE || (0xFDD0..=0xFDEF).contains(&code) => true,
        _ => matches!(
            character.general_category(),
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::Surrogate
        ),
    }
}

/// Bytes as one word of sh that means exactly them.
pub fn shell_word(bytes: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in bytes {
        if *byte == b'\'' {
            word.extend_from_slice(b"'\\''");
        } else {
            word.push(*byte);
        }
    }
    word.push(b'\'');
    word
}
