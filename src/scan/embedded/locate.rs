//! Lines and columns as gitleaks counts them.
//!
//! Promise: the same numbers, with their quirks: columns are bytes, 1-based on a text's first line and
//! one too high on every later one (they are counted from the line feed itself); a match on an
//! unterminated last line has a line text that begins where the whole text does.

/// How much of a line is kept on either side of a match.
const AROUND: usize = 8 << 10;

/// Where a text's line feeds are.
#[derive(Debug)]
pub(super) struct Lines {
    feeds: Vec<usize>,
}

/// Where a match stands. Lines are counted from 0, columns from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) line: usize,
    pub(super) end_line: usize,
    pub(super) column: usize,
    pub(super) end_column: usize,
    /// The text of its lines, with the line feed before.
    pub(super) text_start: usize,
    pub(super) text_end: usize,
}

impl Lines {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut feeds: Vec<usize> = memchr::memchr_iter(b'\n', text).collect();
        if feeds.is_empty() {
            // gitleaks pretends one at the end.
            feeds.push(text.len());
        }
        Self { feeds }
    }

    /// The place from which columns of a line are counted.
    fn origin(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|before| self.feeds.get(before)).copied().unwrap_or(0)
    }

    /// Where `start..end` of `text` stands.
    pub(super) fn locate(&self, text: &[u8], start: usize, end: usize) -> Location {
        let line = self.feeds.partition_point(|&feed| feed <= start);
        let Some(&feed) = self.feeds.get(line) else { return self.on_last_line(text, start, end) };
        let mut found = Location {
            line,
            end_line: line,
            column: start - self.origin(line) + 1,
            end_column: 0,
            text_start: self.origin(line),
            text_end: feed,
        };
        // An empty match at the beginning of the text ends on no line.
        let end_line = self.feeds.partition_point(|&feed| feed < end);
        if let Some(&feed) = self.feeds.get(end_line).filter(|_| end > self.origin(end_line)) {
            found.end_column = end - self.origin(end_line);
            if end_line >= line {
                found.end_line = end_line;
                found.text_end = feed;
            }
        }
        found
    }

    fn on_last_line(&self, text: &[u8], start: usize, end: usize) -> Location {
        let origin = self.feeds.last().copied().unwrap_or(0);
        let rest = text.get(end..).unwrap_or_default();
        Location {
            line: self.feeds.len(),
            end_line: self.feeds.len(),
            column: (start + 1).saturating_sub(origin),
            end_column: end.saturating_sub(origin),
            text_start: 0,
            text_end: end + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()),
        }
    }

    /// The line or lines of `start..end` as they are, without line feeds at their ends, and no more
    /// than [`AROUND`] bytes on either side: one line can be a whole file.
    pub(super) fn plain(&self, text: &[u8], start: usize, end: usize) -> (usize, usize) {
        let floor = start.saturating_sub(AROUND);
        let ceiling = end.saturating_add(AROUND).min(text.len());
        let front = text.get(floor..start).unwrap_or_default();
        let rest = text.get(end..ceiling).unwrap_or_default();
        (
            memchr::memrchr(b'\n', front).map_or(floor, |at| floor + at + 1),
            memchr::memchr(b'\n', rest).map_or(ceiling, |at| end + at),
        )
    }
}
