//! A pattern itself, run over a part of a text.
//!
//! Promise: the matches are Go's, leftmost first, empty ones where Go has them.

use regex_automata::hybrid::dfa;
use regex_automata::{Input, meta};

use super::matcher::{Haystack, Span};
use super::pattern::Pattern;
use super::translate::PatternFault;

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

pub(super) fn full_cache<'c>(caches: &'c mut Caches, ascii: bool, regex: &meta::Regex) -> &'c mut meta::Cache {
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
    let regex = pattern.regex(ascii)?;
    let cache = full_cache(caches, ascii, regex);
    let mut from = region.0;
    let mut last_end = None;
    while from <= region.1 {
        let Some(one) = regex.search_with(cache, &Input::new(haystack.text).range(from..region.1)) else { break };
        // An empty match directly behind another match is none.
        if !one.is_empty() || last_end != Some(one.end()) {
            found.push((one.start(), one.end()));
        }
        // Past the character that was searched from: an empty match inside of it is not looked at twice.
        from = one.end().max(from + rune_width(haystack.text, from));
        last_end = Some(one.end());
    }
    Ok(())
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
