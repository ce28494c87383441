//! What all sessions of an engine share: the rules in force with the self-test's beside them, and where
//! their keywords are looked for.
//!
//! Promise: a rule is tried on a text if and only if one of its keywords occurs there (or it has none),
//! as gitleaks does: letters in any case, with U+212A for `k` and U+0130 for `i`.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::class::ByteSet;
use super::matcher::Method;
use super::plain::SIGNS;
use super::prefilter::{self, Needle, Prefilter};
use super::rules::{Rule, RuleSet};
use super::selftest::SelfTest;

/// The rules in force, ready to be used by many threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) set: Arc<RuleSet>,
    pub(super) self_test: SelfTest,
    pub(super) prefilter: Prefilter,
    /// For each needle the rules that wait for it, and the place of the word among theirs.
    pub(super) uses: Vec<Vec<Use>>,
    /// Rules that are always tried.
    pub(super) always: Vec<usize>,
    /// Keywords that the prefilter cannot look for: of one byte, or beyond ASCII.
    pub(super) unusual: Vec<(Vec<u8>, usize)>,
    runtimes: Vec<Runtime>,
}

/// A rule that waits for a needle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) rule: u16,
    pub(super) word: u16,
    /// Whether the needle is one of its keywords, or only a text that its regex must hold.
    pub(super) is_keyword: bool,
}

#[derive(Debug)]
struct Runtime {
    words: Vec<String>,
    method: OnceLock<Method>,
}

impl Shared {
    /// `None` when there are more rules or keywords than can be told apart (65,535).
    pub(super) fn new(set: Arc<RuleSet>, self_test: SelfTest) -> Option<Self> {
        let mut needles: HashMap<&str, Vec<Use>> = HashMap::new();
        let (mut always, mut unusual, mut runtimes) = (Vec::new(), Vec::new(), Vec::new());
        let count = set.rules().len() + 1;
        let texts: Vec<Vec<String>> = (0..count).map(|place| own_texts(rule_at(&set, &self_test, place))).collect();
        for place in 0..count {
            let rule = rule_at(&set, &self_test, place);
            let is_keyword = !rule.keywords.is_empty();
            if !is_keyword {
                always.push(place);
            }
            let words = if is_keyword { &rule.keywords } else { texts.get(place)? };
            let mut usual = Vec::with_capacity(words.len());
            for word in words.iter().filter(|word| !word.is_empty()) {
                if word.len() < prefilter::SHORTEST || !word.is_ascii() {
                    unusual.push((word.clone().into_bytes(), place));
                    continue;
                }
                let one = Use { rule: u16::try_from(place).ok()?, word: u16::try_from(usual.len()).ok()?, is_keyword };
                needles.entry(word).or_default().push(one);
                usual.push(word.clone());
            }
            runtimes.push(Runtime { words: usual, method: OnceLock::new() });
        }
        let mut needles: Vec<(String, Vec<Use>)> =
            needles.into_iter().map(|(word, uses)| (word.to_owned(), uses)).collect();
        needles.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let mut shared = Self {
            prefilter: Prefilter::new(Vec::new())?,
            uses: Vec::with_capacity(needles.len()),
            always,
            unusual,
            runtimes,
            set: Arc::clone(&set),
            self_test,
        };
        let mut looked_for = Vec::with_capacity(needles.len() + SIGNS.len());
        for (word, uses) in needles {
            looked_for.push(Needle { follow: shared.follow(&word, &uses), text: word.into_bytes() });
            shared.uses.push(uses);
        }
        looked_for
            .extend(SIGNS.iter().map(|(letter, _)| Needle { text: letter.as_bytes().to_vec(), follow: ByteSet::ALL }));
        shared.prefilter = Prefilter::new(looked_for)?;
        Some(shared)
    }

    /// Which bytes can follow a word of two bytes so that it matters to a rule.
    fn follow(&self, word: &str, uses: &[Use]) -> ByteSet {
        if word.len() > 2 {
            return ByteSet::ALL;
        }
        uses.iter().fold(ByteSet::NONE, |follow, one| {
            let method = self.method(usize::from(one.rule));
            follow.union(method.map_or(ByteSet::ALL, |method| method.follow(usize::from(one.word))))
        })
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
        Some(runtime.method.get_or_init(|| Method::new(pattern, &runtime.words)))
    }
}

fn rule_at<'a>(set: &'a RuleSet, self_test: &'a SelfTest, place: usize) -> &'a Rule {
    set.rules().get(place).unwrap_or(&self_test.rule)
}

/// What the regex of a rule without keywords must hold, where it must hold anything.
fn own_texts(rule: &Rule) -> Vec<String> {
    match &rule.regex {
        Some(pattern) if rule.keywords.is_empty() => Method::texts(pattern),
        Some(_) | None => Vec::new(),
    }
}
