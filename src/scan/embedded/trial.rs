//! Rules tried on what they say of themselves.
//!
//! Promise: every example and every shape of a rule is made into texts in which the rule must find
//! something, every counter-example into one in which no finding may refuse; what fails is told. Texts
//! are made when this runs, the same each time.

use super::example::{self, TemplateFault};
use super::rules::Rule;
use super::session::EmbeddedEngine;
use super::shape;
use super::verify::{self, Validity};
use crate::payload::{Content, Elsewhere, Item, ItemKind};
use crate::scan::{Confidence, Engine, EngineFault, Finding};

/// So many texts are made from each example and each shape.
const SAMPLES: u64 = 6;
/// A path that no rule for certain files asks for.
const PLAIN_PATH: &str = "src/app.env";

/// What is wrong with a rule.
#[derive(Debug, thiserror::Error)]
pub enum TrialFault {
    /// It misses what it describes.
    #[error("{rule} finds {found} of {tried} texts made from its own examples and shapes")]
    Misses {
        /// The rule.
        rule: String,
        /// In how many it found something.
        found: usize,
        /// How many there were.
        tried: usize,
    },
    /// Something refuses a counter-example.
    #[error("{rule}: its counter-example {place} is refused by {by}")]
    FalseAlarm {
        /// The rule.
        rule: String,
        /// Which counter-example, from 1.
        place: usize,
        /// The rule that finds something.
        by: String,
    },
    /// An example cannot be made.
    #[error("{rule}: an example cannot be read: {fault}")]
    Template {
        /// The rule.
        rule: String,
        /// Why.
        fault: TemplateFault,
    },
    /// The engine cannot read a text.
    #[error(transparent)]
    Engine(#[from] EngineFault),
}

/// Tries some of the engine's rules; what is wrong with them.
pub fn try_rules<'r>(engine: &EmbeddedEngine, rules: impl IntoIterator<Item = &'r Rule>) -> Vec<TrialFault> {
    let mut faults = Vec::new();
    for rule in rules {
        if let Err(fault) = misses(engine, rule) {
            faults.push(fault);
        }
        if let Err(fault) = false_alarms(engine, rule) {
            faults.push(fault);
        }
    }
    faults
}

fn misses(engine: &EmbeddedEngine, rule: &Rule) -> Result<(), TrialFault> {
    let texts = texts_of(rule).map_err(|fault| TrialFault::Template { rule: rule.id.to_string(), fault })?;
    let mut text = texts.join("\n\n");
    // A rule may ask for a word that stands anywhere in the file.
    if !rule.keywords.iter().any(|keyword| text.to_lowercase().contains(keyword.as_str())) {
        text = format!("# {}\n{text}", rule.keywords.first().map_or("", String::as_str));
    }
    // Without a path a text could be any file, so that rules for certain files take it too.
    let mut found = 0;
    for path in ["", PLAIN_PATH] {
        let own =
            findings(engine, path, &text)?.iter().filter(|one| one.rule == rule.id && one.within.is_empty()).count();
        found = found.max(own);
    }
    // A random value can lack a digit or look like words by chance: one in three may.
    if found * 3 < texts.len() * 2 {
        return Err(TrialFault::Misses { rule: rule.id.to_string(), found, tried: texts.len() });
    }
    Ok(())
}

fn false_alarms(engine: &EmbeddedEngine, rule: &Rule) -> Result<(), TrialFault> {
    for (place, template) in rule.counter_examples.iter().enumerate() {
        let example =
            example::expand(template, 3).map_err(|fault| TrialFault::Template { rule: rule.id.to_string(), fault })?;
        let found = findings(engine, PLAIN_PATH, &example.text)?;
        if let Some(one) = found.iter().find(|one| one.confidence >= Confidence::Medium) {
            return Err(TrialFault::FalseAlarm {
                rule: rule.id.to_string(),
                place: place + 1,
                by: one.rule.to_string(),
            });
        }
    }
    Ok(())
}

/// What the engine finds in a text that has this path.
///
/// # Errors
/// When the engine cannot read it.
pub fn findings(engine: &EmbeddedEngine, path: &str, text: &str) -> Result<Vec<Finding>, EngineFault> {
    let path = (!path.is_empty()).then(|| path.into());
    let item = Item {
        kind: ItemKind::Blob,
        oid: None,
        size: text.len() as u64,
        path,
        commit: None,
        elsewhere: Elsewhere::Nowhere,
    };
    let mut session = engine.session()?;
    session.scan(&item, 0, Content::Whole(text.as_bytes()))?;
    Ok(session.finish()?.findings)
}

/// The texts that a rule must find something in.
///
/// # Errors
/// When an example cannot be made.
pub fn texts_of(rule: &Rule) -> Result<Vec<String>, TemplateFault> {
    let mut texts = Vec::new();
    for template in &rule.examples {
        for seed in 0..SAMPLES {
            texts.push(example::expand(template, seed)?.text);
        }
    }
    for (place, shape) in rule.shapes.iter().enumerate() {
        for seed in 0..SAMPLES {
            let sample = sealed(rule, example::expand(shape, seed * 31 + place as u64)?.text);
            let form = usize::try_from(seed).unwrap_or(0);
            match rule.names.get(form % rule.names.len().max(1)) {
                Some(name) => texts.push(shape::named_example(name, &sample, form)),
                None => texts.push(format!("value = \"{sample}\"\n")),
            }
        }
    }
    Ok(texts)
}

/// A sample whose end satisfies the rule's checksum, where that can be made.
fn sealed(rule: &Rule, sample: String) -> String {
    let Some(validator) = rule.checksum().and_then(verify::named) else { return sample };
    let whole = (1..sample.len().min(12)).find_map(|length| {
        let (body, _) = sample.split_at_checked(sample.len() - length)?;
        let seal = String::from_utf8(validator.seal(body.as_bytes())?).ok()?;
        let whole = format!("{body}{seal}");
        let right = validator.check(whole.as_bytes(), whole.as_bytes()) == Validity::Valid;
        (seal.len() == length && right).then_some(whole)
    });
    whole.unwrap_or(sample)
}
