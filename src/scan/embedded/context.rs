//! What has to stand near a match, for tyran's own rules.

use memchr::memchr_iter;

/// Words near a match.
#[derive(Debug, Default)]
pub struct Context {
    /// One of these must be near; none: nothing must.
    pub(super) any: Vec<String>,
    /// None of these may stand on the match's own lines.
    pub(super) none: Vec<String>,
    /// How many lines before and behind count as near.
    pub(super) lines: usize,
    /// One of `any` in the path will do as well.
    pub(super) path: bool,
}

/// A line of one megabyte is not near as a whole.
const NEAR_BYTES: usize = 4096;

impl Context {
    /// Whether what stands round `start..end` of `text` is such as is asked for.
    pub(super) fn holds(&self, text: &[u8], start: usize, end: usize, path: Option<&[u8]>) -> bool {
        let own = around(text, start, end, 0);
        if self.none.iter().any(|word| contains(own, word)) {
            return false;
        }
        let near = around(text, start, end, self.lines);
        self.any.is_empty()
            || self.any.iter().any(|word| contains(near, word))
            || self.path && path.is_some_and(|path| self.any.iter().any(|word| contains(path, word)))
    }
}

/// The lines of a match and `lines` more on either side.
fn around(text: &[u8], start: usize, end: usize, lines: usize) -> &[u8] {
    let floor = start.saturating_sub(NEAR_BYTES);
    let ceiling = (end + NEAR_BYTES).min(text.len());
    let before = text.get(floor..start).unwrap_or_default();
    let behind = text.get(end..ceiling).unwrap_or_default();
    let from = memchr::memrchr_iter(b'\n', before).nth(lines).map_or(floor, |at| floor + at + 1);
    let to = memchr_iter(b'\n', behind).nth(lines).map_or(ceiling, |at| end + at);
    text.get(from..to).unwrap_or_default()
}

/// Whether a lower-case word occurs, ignoring ASCII case.
fn contains(text: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    let Some(&first) = word.first() else { return false };
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), text)
        .any(|at| text.get(at..at + word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word)))
}
