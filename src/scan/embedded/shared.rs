//! What all sessions of an engine share: the rules in force with the self-test's beside them, and where
//! their keywords are looked for.
//!
//! Promise: a rule is tried on a text if and only if one of its keywords occurs there (or it has none),
//! as gitleaks does: letters in any case, with U+212A for `k` and U+0130 for `i`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::class::{ByteSet, Table};
use super::factor::{self, FastRun, Prepared, Run};
use super::matcher::Method;
use super::pattern::UNBOUNDED_SPAN;
use super::prefilter::{Needle, Prefilter};
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
    pub(super) uses: Vec<Vec<Use>>,
    /// The same for short needles that are the beginning of a long run.
    pub(super) inner: Prefilter,
    pub(super) inner_uses: Vec<Vec<Use>>,
    /// The runs in which these stand.
    pub(super) long_run: FastRun,
    /// Rules that are always tried.
    pub(super) always: Vec<usize>,
    /// Whether a rule is tried wherever it has a candidate, its keywords or not.
    pub(super) by_candidates: Vec<bool>,
    /// Keywords that the prefilter cannot look for, being of one byte.
    pub(super) single: Vec<(u8, usize)>,
    /// The same, being beyond ASCII.
    pub(super) unusual: Vec<(Vec<u8>, usize)>,
    runtimes: Vec<Runtime>,
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

/// A rule that waits for a needle.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) rule: u16,
    pub(super) word: u16,
    /// Whether the needle is one of its keywords, or only a text that its regex must hold.
    pub(super) is_keyword: bool,
    /// What must stand behind the needle, where it was worked out beforehand.
    pub(super) run: Option<FastRun>,
}

#[derive(Debug)]
struct Runtime {
    words: Vec<String>,
    /// Behind a pointer: most rules never need one.
    method: OnceLock<Box<Method>>,
}

impl Shared {
    /// `None` when there are more rules or keywords than can be told apart (65,535).
    pub(super) fn new(set: Arc<RuleSet>, self_test: SelfTest) -> Option<Self> {
        let mut needles: HashMap<&str, Vec<Use>> = HashMap::new();
        let (mut always, mut unusual, mut runtimes) = (Vec::new(), Vec::new(), Vec::new());
        let mut single = Vec::new();
        let mut by_candidates = Vec::with_capacity(set.rules().len() + 1);
        let count = set.rules().len() + 1;
        let mut inner: HashMap<&str, Vec<Use>> = HashMap::new();
        let mut tables: HashMap<[u64; 4], Arc<Table>> = HashMap::new();
        let prepared_now: Vec<Option<Prepared>> =
            (0..count).map(|place| prepare_short(rule_at(&set, &self_test, place))).collect();
        let texts: Vec<Vec<String>> = (0..count).map(|place| own_texts(rule_at(&set, &self_test, place))).collect();
        for place in 0..count {
            let rule = rule_at(&set, &self_test, place);
            // Words that are keywords make a rule wait for them as it would without preparation.
            let short = prepared_now.get(place)?.as_ref();
            let is_keyword = short.is_some();
            let prepared = short.or(rule.prepared.as_ref());
            by_candidates.push(prepared.is_some() && !is_keyword);
            if let Some(prepared) = prepared {
                for (word_place, (word, run)) in prepared.words.iter().zip(&prepared.runs).enumerate() {
                    let (rule, word_place) = (u16::try_from(place).ok()?, u16::try_from(word_place).ok()?);
                    let run = run.map(|run| {
                        let table = tables.entry(run.bytes.words()).or_insert_with(|| Arc::new(run.bytes.table()));
                        FastRun::with_table(run, Arc::clone(table))
                    });
                    let is_inner = run.as_ref().is_some_and(|run| is_inner(word, &run.run));
                    let needles = if is_inner { &mut inner } else { &mut needles };
                    needles.entry(word).or_default().push(Use { rule, word: word_place, is_keyword, run });
                }
                runtimes.push(Runtime { words: prepared.words.clone(), method: OnceLock::new() });
                continue;
            }
            let is_keyword = !rule.keywords.is_empty();
            if !is_keyword {
                always.push(place);
            }
            let words = if is_keyword { &rule.keywords } else { texts.get(place)? };
            let mut usual = Vec::with_capacity(words.len());
            for word in words.iter().filter(|word| !word.is_empty()) {
                if !word.is_ascii() {
                    unusual.push((word.clone().into_bytes(), place));
                    continue;
                }
                if let [byte] = word.as_bytes() {
                    single.push((*byte, place));
                    continue;
                }
                let (rule, word_place) = (u16::try_from(place).ok()?, u16::try_from(usual.len()).ok()?);
                let one = Use { rule, word: word_place, is_keyword, run: None };
                needles.entry(word).or_default().push(one);
                usual.push(word.clone());
            }
            runtimes.push(Runtime { words: usual, method: OnceLock::new() });
        }
        let (prefilter, uses) = prefilter_of(needles)?;
        let (inner, inner_uses) = prefilter_of(inner)?;
        let long_run = FastRun::new(Run { bytes: ByteSet::VALUE, least: LONG_RUN, from: 0, to: 0 });
        Some(Self {
            prefilter,
            uses,
            inner,
            inner_uses,
            long_run,
            always,
            by_candidates,
            single,
            unusual,
            runtimes,
            widest: OnceLock::new(),
            unread: Mutex::default(),
            set: Arc::clone(&set),
            self_test,
        })
    }

    /// The longest match of any rule that has a bound, in bytes. tyran's own are all far below what is
    /// looked at in any case (a test holds them to that), so their patterns need not be read for it.
    pub(super) fn widest(&self) -> usize {
        *self.widest.get_or_init(|| {
            let foreign = self.set.rules().iter().filter(|rule| rule.prepared.is_none());
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

    /// How many rules there are, the self-test's among them.
    pub(super) fn count(&self) -> usize {
        self.runtimes.len()
    }

    /// The rule at a place; the self-test's is the last.
    pub(super) fn rule(&self, place: usize) -> &Rule {
        rule_at(&self.set, &self.self_test, place)
    }

    /// How a rule's matches are found; `None` for one without a regex.
    pub(super) fn method(&self, place: usize) -> Option<&Method> {
        let pattern = self.rule(place).regex.as_ref()?;
        let runtime = self.runtimes.get(place)?;
        Some(runtime.method.get_or_init(|| Box::new(Method::new(pattern, &runtime.words))))
    }
}

/// A run with its needle is at least this long where the needle is looked for in long runs only.
pub(super) const LONG_RUN: usize = 16;

/// Whether a short word and what must stand behind it are one long run.
fn is_inner(word: &str, run: &Run) -> bool {
    let joined = run.from == word.len() && run.to == run.from && run.least + word.len() >= LONG_RUN;
    word.len() <= 3 && joined && run.bytes.is_value() && word.bytes().all(|byte| ByteSet::VALUE.contains(byte))
}

/// Places for a rule that has a short keyword, which occurs far more often than it means something.
fn prepare_short(rule: &Rule) -> Option<Prepared> {
    if rule.prepared.is_some() || !rule.keywords.iter().any(|word| word.len() < 4) {
        return None;
    }
    let tree = rule.regex.as_ref()?.tree().ok()?;
    // The words must be its keywords: only then is it tried where gitleaks would try it.
    factor::prepare(&tree.node, &rule.keywords)
        .filter(|prepared| prepared.words.iter().all(|word| rule.keywords.contains(word)))
}

fn prefilter_of(needles: HashMap<&str, Vec<Use>>) -> Option<(Prefilter, Vec<Vec<Use>>)> {
    let mut needles: Vec<(&str, Vec<Use>)> = needles.into_iter().collect();
    needles.sort_unstable_by_key(|(word, _)| *word);
    let looked_for = needles.iter().map(|(word, uses)| {
        let (follow, twice) = follow(word, uses);
        Needle { text: word.as_bytes().to_vec(), follow, twice }
    });
    let prefilter = Prefilter::new(looked_for.collect())?;
    Some((prefilter, needles.into_iter().map(|(_, uses)| uses).collect()))
}

/// Which bytes can follow a short word so that it matters to a rule, and whether two do.
fn follow(word: &str, uses: &[Use]) -> (ByteSet, bool) {
    uses.iter().fold((ByteSet::NONE, true), |(follow, twice), one| match &one.run {
        Some(run) if run.run.from == word.len() && run.run.to == run.run.from => {
            (follow.union(run.run.bytes), twice && run.run.least >= 2)
        }
        _ => (ByteSet::ALL, false),
    })
}

fn rule_at<'a>(set: &'a RuleSet, self_test: &'a SelfTest, place: usize) -> &'a Rule {
    set.rules().get(place).unwrap_or(&self_test.rule)
}

/// What the regex of a rule without keywords must hold, where it must hold anything.
fn own_texts(rule: &Rule) -> Vec<String> {
    match &rule.regex {
        Some(pattern) if rule.keywords.is_empty() && rule.prepared.is_none() => Method::texts(pattern),
        Some(_) | None => Vec::new(),
    }
}
