//! Lines and columns as gitleaks counts them.
//!
//! Promise: the same numbers, with their quirks: columns are bytes, 1-based on a text's first line and
//! one too high on every later one (they are counted from the line feed itself); a match on an
//! unterminated last line has a line text that begins where the whole text does.

use std::rc::Rc;

use super::survey::Feeds;

/// How much of a line is kept on either side of a match.
const AROUND: usize = 8 << 10;

/// Where a text's line feeds are.
#[derive(Debug)]
pub(super) struct Lines {
    feeds: Rc<Feeds>,
    /// gitleaks pretends one at the end of a text without.
    pretended: Option<usize>,
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
        Self::of(text, Rc::new(Feeds::of(text)))
    }

    /// Of a text of which it is known where its line feeds are.
    pub(super) fn of(text: &[u8], feeds: Rc<Feeds>) -> Self {
        let pretended = feeds.is_empty().then_some(text.len());
        Self { feeds, pretended }
    }

    /// How many there are before a place.
    fn count(&self, place: usize) -> usize {
        self.pretended.map_or_else(|| self.feeds.count(place), |at| usize::from(at < place))
    }

    /// The last one before a place: there columns are counted from.
    fn origin(&self, place: usize) -> usize {
        self.pretended.map_or_else(|| self.feeds.before(place), |at| (at < place).then_some(at)).unwrap_or(0)
    }

    /// The first one from a place on.
    fn next(&self, place: usize) -> Option<usize> {
        self.pretended.map_or_else(|| self.feeds.next(place), |at| (at >= place).then_some(at))
    }

    /// Where `start..end` of `text` stands.
    pub(super) fn locate(&self, text: &[u8], start: usize, end: usize) -> Location {
        let Some(feed) = self.next(start + 1) else { return self.on_last_line(text, start, end) };
        let (line, origin) = (self.count(start + 1), self.origin(start + 1));
        let mut found = Location {
            line,
            end_line: line,
            column: start - origin + 1,
            end_column: 0,
            text_start: origin,
            text_end: feed,
        };
        // An empty match at the beginning of the text ends on no line.
        let origin = self.origin(end);
        if let Some(feed) = self.next(end).filter(|_| end > origin) {
            let end_line = self.count(end);
            found.end_column = end - origin;
            if end_line >= line {
                found.end_line = end_line;
                found.text_end = feed;
            }
        }
        found
    }

    fn on_last_line(&self, text: &[u8], start: usize, end: usize) -> Location {
        let (origin, count) = (self.origin(usize::MAX), self.count(usize::MAX));
        let rest = text.get(end..).unwrap_or_default();
        Location {
            line: count,
            end_line: count,
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
