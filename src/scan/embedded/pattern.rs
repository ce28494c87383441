//! A pattern of the configuration: read once, compiled when it is first needed.
//!
//! Promise: compiling never changes what a pattern means. There are two forms of each: one for any
//! bytes, and a far smaller one for text that is known to be ASCII; both give the same answer there.

use std::sync::OnceLock;

use regex_automata::meta;

use super::extent::{self, Extent};
use super::factor::{self, Plan};
use super::matcher::Span;
use super::trace::{Trace, Traced};
use super::translate::{self, PatternFault, Text, Tree};

/// Where a regex sets no bound: the longest match that is looked for, in bytes.
pub const UNBOUNDED_SPAN: usize = 1 << 20;

/// An upper bound for a compiled pattern. RE2 has one too (8 MiB of program in gitleaks' build).
const COMPILED_BYTES: usize = 64 << 20;

/// A pattern in RE2's syntax.
#[derive(Debug)]
pub struct Pattern {
    source: String,
    tree: OnceLock<Result<Tree, PatternFault>>,
    extent: OnceLock<Extent>,
    trace: OnceLock<Option<Trace>>,
    ascii: OnceLock<Result<meta::Regex, PatternFault>>,
    any: OnceLock<Result<meta::Regex, PatternFault>>,
}

impl Pattern {
    /// A pattern which is read when it is first used.
    pub(super) fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            tree: OnceLock::new(),
            extent: OnceLock::new(),
            trace: OnceLock::new(),
            ascii: OnceLock::new(),
            any: OnceLock::new(),
        }
    }

    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Reads the pattern now.
    ///
    /// # Errors
    /// When RE2 would refuse it.
    pub(super) fn tree(&self) -> Result<&Tree, PatternFault> {
        self.tree.get_or_init(|| translate::parse(&self.source)).as_ref().map_err(PatternFault::clone)
    }

    /// How to find its matches without running it over the whole text.
    pub(super) fn plan(&self, words: &[String]) -> Plan {
        self.tree().map_or_else(|_| Plan::Everywhere, |tree| factor::plan(&tree.node, words))
    }

    /// The longest match in bytes.
    pub(super) fn span(&self) -> usize {
        self.extent().map_or(UNBOUNDED_SPAN, |extent| extent.most.unwrap_or(UNBOUNDED_SPAN))
    }

    fn extent(&self) -> Result<&Extent, PatternFault> {
        let tree = self.tree()?;
        Ok(self.extent.get_or_init(|| extent::extent(&tree.node)))
    }

    /// The pattern run as it is written; `None` when it cannot be.
    pub(super) fn trace(&self) -> Result<Option<&Trace>, PatternFault> {
        let tree = self.tree()?;
        Ok(self.trace.get_or_init(|| Trace::new(&tree.node, tree.groups)).as_ref())
    }

    /// The first match that begins in `starts` (both ends included) and ends by `end`, without automata; look-around sees
    /// all of the text.
    pub(super) fn traced(&self, text: &[u8], ascii: bool, starts: Span, end: usize) -> Result<Traced, PatternFault> {
        let kind = if ascii { Text::Ascii } else { Text::Any };
        Ok(self.trace()?.map_or(Traced::Unknown, |trace| trace.find(text, kind, starts, end)))
    }

    /// The compiled pattern for a text of which it is known whether it is ASCII.
    pub(super) fn regex(&self, ascii: bool) -> Result<&meta::Regex, PatternFault> {
        let (cell, text) = if ascii { (&self.ascii, Text::Ascii) } else { (&self.any, Text::Any) };
        cell.get_or_init(|| compile(&self.tree()?.node, text)).as_ref().map_err(PatternFault::clone)
    }

    /// Whether it matches anywhere in `text`.
    pub(super) fn is_match(&self, text: &[u8]) -> Result<bool, PatternFault> {
        // That there is no path is asked of many rules, and needs no automaton.
        if text.is_empty() && self.extent()?.least > 0 {
            return Ok(false);
        }
        let ascii = text.is_ascii();
        Ok(match self.traced(text, ascii, (0, text.len()), text.len())? {
            Traced::Found(_) => true,
            Traced::Nothing => false,
            Traced::Unknown => self.regex(ascii)?.is_match(text),
        })
    }
}

/// What a compiled pattern's lazy automaton may hold before it begins anew.
const CACHED_BYTES: usize = 1 << 20;

/// Compiles a tree for one kind of text.
pub(super) fn compile(node: &translate::Node, text: Text) -> Result<meta::Regex, PatternFault> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .hybrid_cache_capacity(CACHED_BYTES)
        .nfa_size_limit(Some(COMPILED_BYTES))
        .dfa(false)
        .onepass(false);
    meta::Builder::new()
        .configure(config)
        .build_from_hir(&node.hir(text))
        .map_err(|_| PatternFault { what: "the pattern is too large when compiled", at: 0 })
}
