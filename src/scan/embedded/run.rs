//! A pattern itself, run over a part of a text.
//!
//! Promise: the matches are Go's, leftmost first, empty ones where Go has them.

use regex_automata::hybrid::dfa;
use regex_automata::{Anchored, Input, meta};

use super::matcher::{Haystack, Span};
use super::pattern::Pattern;
use super::trace::Traced;
use super::translate::{PatternFault, Text};

/// What one thread keeps for one pattern.
#[derive(Debug, Default)]
pub(super) struct Caches {
    pub(super) full: [Option<meta::Cache>; 2],
    pub(super) check: [Option<dfa::Cache>; 2],
    /// Steps that were walked.
    pub(super) walked: usize,
}

impl Caches {
    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        let full = self.full.iter().flatten().map(meta::Cache::memory_usage);
        full.chain(self.check.iter().flatten().map(dfa::Cache::memory_usage)).sum()
    }
}

fn full_cache<'c>(caches: &'c mut Caches, ascii: bool, regex: &meta::Regex) -> &'c mut meta::Cache {
    caches.full[usize::from(ascii)].get_or_insert_with(|| regex.create_cache())
}

/// All matches in a part of the text; look-around sees the rest of it.
pub(super) fn search(
    pattern: &Pattern,
    haystack: Haystack<'_>,
    region: Span,
    ascii: bool,
    caches: &mut Caches,
    found: &mut Vec<Span>,
) -> Result<(), PatternFault> {
    let mut from = region.0;
    let mut last_end = None;
    while from <= region.1 {
        let Some((start, end)) = first(pattern, haystack.text, (from, region.1), ascii, caches)? else { break };
        // An empty match directly behind another match is none.
        if start < end || last_end != Some(end) {
            found.push((start, end));
        }
        // Past the character that was searched from: an empty match inside of it is not looked at twice.
        from = end.max(from + rune_width(haystack.text, from));
        last_end = Some(end);
    }
    Ok(())
}

/// The first match in a part of the text.
fn first(
    pattern: &Pattern,
    text: &[u8],
    part: Span,
    ascii: bool,
    caches: &mut Caches,
) -> Result<Option<Span>, PatternFault> {
    match pattern.traced(text, ascii, part, part.1)? {
        Traced::Found(span) => return Ok(Some(span)),
        Traced::Nothing => return Ok(None),
        Traced::Unknown => {}
    }
    let regex = pattern.regex(ascii)?;
    let found = regex.search_with(full_cache(caches, ascii, regex), &Input::new(text).range(part.0..part.1));
    Ok(found.map(|one| (one.start(), one.end())))
}

/// Where the match ends that begins at a place.
pub(super) fn end_of(
    pattern: &Pattern,
    text: &[u8],
    start: usize,
    ascii: bool,
    caches: &mut Caches,
) -> Result<Option<usize>, PatternFault> {
    match pattern.traced(text, ascii, (start, start), text.len())? {
        Traced::Found(span) => return Ok(Some(span.1)),
        Traced::Nothing => return Ok(None),
        Traced::Unknown => {}
    }
    let regex = pattern.regex(ascii)?;
    let input = Input::new(text).range(start..).anchored(Anchored::Yes);
    Ok(regex.search_half_with(full_cache(caches, ascii, regex), &input).map(|half| half.offset()))
}

/// How much of a text Go takes for a character: one byte where there is none.
fn rune_width(text: &[u8], at: usize) -> usize {
    let behind = text.get(at..).unwrap_or_default();
    let window = behind.get(..behind.len().min(4)).unwrap_or_default();
    bstr::decode_utf8(window).0.map_or(1, char::len_utf8)
}

/// The groups of a pattern in a text of their own.
pub(super) fn captures(
    pattern: &Pattern,
    text: &[u8],
    caches: &mut Caches,
) -> Result<Option<Vec<Option<Span>>>, PatternFault> {
    let ascii = text.is_ascii();
    let kind = if ascii { Text::Ascii } else { Text::Any };
    if let Some(groups) = pattern.trace()?.and_then(|trace| trace.groups(text, kind)) {
        return Ok(groups);
    }
    let regex = pattern.regex(ascii)?;
    let cache = full_cache(caches, ascii, regex);
    let mut captures = regex.create_captures();
    regex.search_captures_with(cache, &Input::new(text), &mut captures);
    if !captures.is_match() {
        return Ok(None);
    }
    Ok(Some(
        (0..captures.group_len()).map(|group| captures.get_group(group).map(|span| (span.start, span.end))).collect(),
    ))
}
