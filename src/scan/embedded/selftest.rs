//! The self-test: a rule and an item of our own, beside the rules and the payload of every session.
//!
//! Promise: an engine that looks away, for whatever reason, does not find it and so proves nothing. It
//! takes the way of every other rule and item: keywords, regex, allowlists. It is never reported and
//! never counted.

use std::sync::Arc;

use super::pattern::Pattern;
use super::rules::{Demands, Rule};
use crate::scan::{Confidence, Severity};

/// How often another secret is tried before the test has failed: a stop word can be in one by chance.
pub(super) const ATTEMPTS: usize = 24;

/// The rule of an engine.
#[derive(Debug)]
pub(super) struct SelfTest {
    pub(super) rule: Rule,
    mark: String,
}

impl SelfTest {
    /// A rule with a mark that nobody can know beforehand; `None` when there is no randomness.
    pub(super) fn new() -> Option<Self> {
        let mark = format!("selftest{}", random_letters(24)?);
        let rule = Rule {
            id: format!("tyran-{mark}").into(),
            description: Arc::from("self-test"),
            keywords: vec![mark.clone()],
            tags: Arc::from(Vec::new()),
            severity: Severity::Low,
            confidence: Confidence::High,
            url: None,
            remedy: None,
            shapes: Vec::new(),
            names: Vec::new(),
            examples: Vec::new(),
            counter_examples: Vec::new(),
            regex: Some(Pattern::new(format!("\\b{mark} *= *([b-y]{{32}})\\b"))),
            path: None,
            secret_group: 1,
            entropy: 2.0,
            skip_report: false,
            required: Vec::new(),
            allowlists: Vec::new(),
            general: false,
            demands: Demands::default(),
            prepared: None,
        };
        Some(Self { rule, mark })
    }

    /// Its only keyword.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// A text that the rule must find something in.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        Some(format!("a line before\n  {} = {}\na line behind\n", self.mark, few_random_letters(32)?).into_bytes())
    }
}

/// The same of seven different ones: a stop word of one letter spares most of such texts.
fn few_random_letters(count: usize) -> Option<String> {
    let mut some: Vec<char> = Vec::new();
    for letter in random_letters(64)?.chars() {
        if !some.contains(&letter) && some.len() < 7 {
            some.push(letter);
        }
    }
    Some(
        random_letters(count)?
            .chars()
            .map(|letter| some.get(letter as usize % some.len()).copied().unwrap_or('b'))
            .collect(),
    )
}

/// Letters from `b` to `y`, of which few words are made.
fn random_letters(count: usize) -> Option<String> {
    let mut bytes = vec![0_u8; count];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.into_iter().map(|byte| char::from(b'b' + byte % 24)).collect())
}
