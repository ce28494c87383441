//! Allowlists, with gitleaks' two moments.
//!
//! Promise: before a text is read only paths and commits count, and a list whose parts must all hold
//! counts then only when it has nothing else; at a finding, regexes and stop words count, and paths and
//! commits only in a list whose parts must all hold.

use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;

use super::pattern::Pattern;
use super::translate::PatternFault;

/// Findings and places that do not count.
#[derive(Debug)]
pub struct Allowlist {
    pub(super) all_must_hold: bool,
    /// Full ids, in lower case.
    pub(super) commits: Vec<String>,
    /// All of them joined, so that an inline flag in one holds for the later ones too.
    pub(super) paths: Option<Pattern>,
    pub(super) target: Target,
    /// Joined as the paths are.
    pub(super) regexes: Option<Pattern>,
    pub(super) stopwords: Stopwords,
}

/// What the regexes are tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Target {
    #[default]
    Secret,
    Match,
    Line,
}

/// Words which make a secret harmless wherever they stand in it.
#[derive(Debug, Default)]
pub(super) struct Stopwords {
    /// In lower case.
    pub(super) words: Vec<String>,
    automaton: OnceLock<Option<AhoCorasick>>,
}

impl Stopwords {
    pub(super) fn new(words: Vec<String>) -> Self {
        Self { words, automaton: OnceLock::new() }
    }

    fn occur_in(&self, lower: &[u8]) -> bool {
        let words = || self.words.iter().filter(|word| !word.is_empty());
        if self.words.len() < 8 {
            return words().any(|word| memchr::memmem::find(lower, word.as_bytes()).is_some());
        }
        let automaton = self.automaton.get_or_init(|| AhoCorasick::new(words()).ok());
        match automaton {
            Some(automaton) => automaton.is_match(lower),
            None => words().any(|word| memchr::memmem::find(lower, word.as_bytes()).is_some()),
        }
    }
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place<'a> {
    pub(super) path: Option<&'a [u8]>,
    /// Hexadecimal, lower case.
    pub(super) commit: Option<&'a str>,
    /// It has more paths than are known: it could be any.
    pub(super) anywhere: bool,
}

/// What a finding's allowlists are tried on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets<'a> {
    pub(super) secret: &'a [u8],
    pub(super) matched: &'a [u8],
    pub(super) line: &'a [u8],
}

impl Allowlist {
    fn allows_commit(&self, place: Place<'_>) -> bool {
        place.commit.is_some_and(|commit| self.commits.iter().any(|allowed| allowed == commit))
    }

    pub(super) fn allows_path(&self, path: Option<&[u8]>) -> Result<bool, PatternFault> {
        match (&self.paths, path) {
            (Some(paths), Some(path)) if !path.is_empty() => paths.is_match(path),
            _ => Ok(false),
        }
    }

    /// Whether nothing of this place is to be read.
    pub(super) fn allows_place(&self, place: Place<'_>) -> Result<bool, PatternFault> {
        if !self.all_must_hold {
            return Ok(self.allows_commit(place) || self.allows_path(place.path)?);
        }
        let later = self.regexes.is_some() || !self.stopwords.words.is_empty();
        Ok(!later
            && (self.commits.is_empty() || self.allows_commit(place))
            && (self.paths.is_none() || self.allows_path(place.path)?))
    }

    /// Whether a finding does not count. `lower` is the secret in lower case.
    pub(super) fn allows_finding(
        &self,
        place: Place<'_>,
        targets: Targets<'_>,
        lower: &[u8],
    ) -> Result<bool, PatternFault> {
        let regex = || -> Result<bool, PatternFault> {
            let target = match self.target {
                Target::Secret => targets.secret,
                Target::Match => targets.matched,
                Target::Line => targets.line,
            };
            match &self.regexes {
                Some(regexes) if !target.is_empty() => regexes.is_match(target),
                _ => Ok(false),
            }
        };
        let stopword = || !lower.is_empty() && self.stopwords.occur_in(lower);
        if !self.all_must_hold {
            return Ok(regex()? || stopword());
        }
        Ok((self.commits.is_empty() || self.allows_commit(place))
            && (self.paths.is_none() || self.allows_path(place.path)?)
            && (self.regexes.is_none() || regex()?)
            && (self.stopwords.words.is_empty() || stopword()))
    }
}

/// Whether one of the lists says that nothing of a place is to be read.
pub(super) fn any_allows_place(lists: &[Arc<Allowlist>], place: Place<'_>) -> Result<bool, PatternFault> {
    if place.path.is_none_or(<[u8]>::is_empty) && place.commit.is_none() {
        return Ok(false);
    }
    for list in lists {
        if list.allows_place(place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A text in lower case as Go does it: one code point for each, invalid bytes as U+FFFD.
pub(super) fn lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut lower = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        lower.extend(chunk.valid().chars().map(|character| match character {
            // The only code point whose simple mapping is not the first of its full one.
            '\u{0130}' => 'i',
            _ => character.to_lowercase().next().unwrap_or(character),
        }));
        lower.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    lower.into_bytes()
}
