//! What all sessions of an engine share: the rules in force with the self-test's beside them, and where
//! their keywords are looked for.
//!
//! Promise: a rule is tried on a text if and only if one of its keywords occurs there (or it has none),
//! as gitleaks does: letters in any case, with U+212A for `k` and U+0130 for `i`.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::class::Table;
use super::glance::Glance;
pub(super) use super::layout::Use;
use super::layout::{Uses, View};
use super::matcher::{Method, Span};
use super::pattern::{Pattern, UNBOUNDED_SPAN};
use super::prefilter::Prefilter;
use super::rules::{Rule, RuleSet};
use super::selftest::SelfTest;
use crate::text::SafeText;

/// The rules in force, ready to be used by many threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) set: Arc<RuleSet>,
    pub(super) self_test: SelfTest,
    pub(super) prefilter: Prefilter,
    /// For each needle the rules that wait for it, and the place of the word among theirs.
    pub(super) uses: Uses,
    /// The same for short needles that are the beginning of a long run.
    pub(super) inner: Prefilter,
    pub(super) inner_uses: Uses,
    /// Where each of these has a sign in it, or begins behind one or another of these: signs and few letters.
    pub(super) inner_leads: Option<Table>,
    /// What [`Use::glance`] counts.
    glances: Vec<Glance>,
    /// Rules that are always tried.
    pub(super) always: Vec<usize>,
    /// Whether a rule is tried wherever it has a candidate, its keywords or not.
    pub(super) by_candidates: Vec<bool>,
    /// Keywords that the prefilter cannot look for, being of one byte.
    pub(super) single: Vec<(u8, usize)>,
    /// The same, being beyond ASCII.
    pub(super) unusual: Vec<(Vec<u8>, usize)>,
    /// How each rule's matches are found. Behind a pointer: most rules never need one.
    methods: Vec<OnceLock<Box<Method>>>,
    widest: OnceLock<usize>,
    unread: Mutex<Unread>,
}

/// Items of which more than the bytes as they are could not be read.
#[derive(Debug, Default)]
struct Unread {
    count: usize,
    named: Vec<String>,
}

/// So many of them are named.
const NAMED: usize = 5;

impl Shared {
    /// `None` when there are more rules or keywords than can be told apart (65,535).
    pub(super) fn new(set: Arc<RuleSet>, self_test: SelfTest) -> Option<Self> {
        let (mut layout, widest) = set.laid_out()?;
        layout.add_last(self_test.mark())?;
        let leads = layout.leads(&layout.inner);
        let inner = Prefilter::new(layout.inner.needles)?;
        Some(Self {
            prefilter: Prefilter::new(layout.words.needles)?,
            uses: layout.words.uses,
            inner_leads: leads.filter(|_| inner.finds_at()).map(|leads| leads.table()),
            inner,
            inner_uses: layout.inner.uses,
            glances: layout.glances,
            always: layout.always,
            by_candidates: layout.by_candidates,
            single: layout.single,
            unusual: layout.unusual,
            methods: std::iter::repeat_with(OnceLock::new).take(set.len() + 1).collect(),
            widest: widest.map_or_else(OnceLock::new, OnceLock::from),
            unread: Mutex::default(),
            set,
            self_test,
        })
    }

    /// The longest match of any rule that has a bound, in bytes. tyran's own are all far below what is
    /// looked at in any case (a test holds them to that), so their patterns need not be read for it.
    pub(super) fn widest(&self) -> usize {
        *self.widest.get_or_init(|| {
            let foreign = self.set.rules().filter(|rule| rule.prepared.is_none());
            foreign.map(Rule::span).filter(|&span| span < UNBOUNDED_SPAN).max().unwrap_or(0)
        })
    }

    /// Notes that of an item no more than its bytes as they are could be read.
    pub(super) fn note(&self, path: Option<&[u8]>, reasons: &[&'static str]) {
        if reasons.is_empty() {
            return;
        }
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.count += 1;
        if unread.named.len() < NAMED {
            let path = SafeText::quoted(path.unwrap_or(b"(no path)"), 120);
            unread.named.push(format!("{path}: {}", reasons.join(", ")));
        }
    }

    /// What was noted, in one sentence.
    pub(super) fn notes(&self) -> Vec<SafeText> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if unread.count == 0 {
            return Vec::new();
        }
        let more = unread.count - unread.named.len();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let (files, were) = if unread.count == 1 { ("file", "was") } else { ("files", "were") };
        vec![SafeText::new(&format!(
            "{} packed {files} {were} read as the bytes they are, and could not be unpacked whole ({}{more})",
            unread.count,
            unread.named.join("; "),
        ))]
    }

    /// Whether what stands directly round a word is such that a rule which waits for it can have something there.
    #[inline]
    pub(super) fn admits(&self, one: &Use, text: &[u8], word: Span) -> bool {
        self.glances.get(usize::from(one.glance)).is_none_or(|glance| glance.admits(text, word))
    }

    /// How many rules there are, the self-test's among them.
    pub(super) fn count(&self) -> usize {
        self.methods.len()
    }

    /// The rule at a place; the self-test's is the last.
    pub(super) fn rule(&self, place: usize) -> &Rule {
        self.set.rule(place).unwrap_or(&self.self_test.rule)
    }

    /// How a rule's matches are found; `None` for one without a regex.
    pub(super) fn method(&self, place: usize) -> Option<&Method> {
        let made = self.methods.get(place)?;
        if let Some(method) = made.get() {
            return Some(method);
        }
        if let Some(spots) = self.set.spots(place) {
            let words = spots.sites.as_ref().map_or(0, Vec::len);
            return Some(made.get_or_init(|| Box::new(Method::near(spots, words))));
        }
        let rule = self.rule(place);
        let pattern = rule.regex.as_ref()?;
        Some(made.get_or_init(|| Box::new(Method::new(pattern, &view(rule, |view| view.words())))))
    }
}

/// What decides how a rule is found.
pub(super) fn view<T>(rule: &Rule, read: impl FnOnce(&View<'_>) -> T) -> T {
    let regex = || rule.regex.as_ref().map(Pattern::tree)?.ok().map(|tree| &tree.node);
    read(&View { keywords: &rule.keywords, prepared: rule.prepared.as_ref(), regex: &regex })
}
