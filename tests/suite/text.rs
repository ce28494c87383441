//! Text that is shown cannot hide, move or reverse anything.

use tyran::text::SafeText;

#[test]
fn forbidden_code_points_are_shown_and_not_dropped() {
    let shown = SafeText::new("a\u{202E}b\u{200B}c\u{7}\r\u{E0041}\u{FEFF}");
    assert_eq!(shown.as_str(), "a<U+202E>b<U+200B>c<U+0007><U+000D><U+E0041><U+FEFF>");
}

#[test]
fn tab_line_feed_and_variation_selectors_stay() {
    assert_eq!(SafeText::new("a\tb\n\u{2764}\u{FE0F}").as_str(), "a\tb\n\u{2764}\u{FE0F}");
}

#[test]
fn invalid_bytes_are_shown() {
    assert_eq!(SafeText::from_bytes(b"a\xffb").as_str(), "a<0xFF>b");
}

#[test]
fn quoted_text_is_cut_and_says_by_how_much() {
    assert_eq!(SafeText::quoted(b"abc\ndef", 5).as_str(), "abc<U… (9 of 14 characters left out)");
}
