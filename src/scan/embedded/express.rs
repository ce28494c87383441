//! The rules in force as the real gitleaks is told them, and its findings judged by the rest of them.
//!
//! Promise: what gitleaks is told finds at least what the rules find, and [`Rest`] takes away exactly what
//! gitleaks could not be told: paths, files, commits, checksums, context. A rule that cannot be told
//! is left out and named in the notes; it rests on the embedded engine alone.
//!
//! gitleaks reads windows of many items at once and is given no path, so these are left out: rules
//! for paths alone, rules that need another rule's finding near by (it could be another item's), and
//! patterns that match a byte which is no text (it could be the one that parts two windows).

use std::collections::HashMap;
use std::sync::Arc;

use toml::{Table, Value};

use super::allowlist::{self, Allowlist, Place, Target, Targets};
use super::demand::{self, Subject};
use super::detect::counts_anywhere;
use super::rules::{Rule, RuleSet};
use super::subject;
use super::translate::PatternFault;
use crate::scan::Finding;
use crate::scan::gitleaks::locate::Hit;
use crate::scan::gitleaks::{Expressed, Judge};
use crate::text::SafeText;

/// Most ids that one note names.
const NAMED: usize = 8;

/// A rule set in gitleaks' schema.
pub fn to_gitleaks_toml(set: &Arc<RuleSet>) -> Expressed {
    let (mut rules, mut left_out) = (Vec::new(), LeftOut::default());
    for rule in set.rules() {
        match reason_to_leave_out(rule) {
            Some(Reason::NeverReported) => {}
            Some(Reason::Path) => left_out.path.push(rule),
            Some(Reason::Required) => left_out.required.push(rule),
            Some(Reason::Pattern) => left_out.pattern.push(rule),
            None => rules.push(table(rule)),
        }
    }
    let count = rules.len();
    let mut config = Table::new();
    let lists: Vec<Value> = set.allowlists.iter().filter_map(|list| told(list)).collect();
    if !lists.is_empty() {
        config.insert("allowlists".to_owned(), Value::Array(lists));
    }
    config.insert("rules".to_owned(), Value::Array(rules));
    Expressed { toml: config.to_string(), rules: count, notes: left_out.notes(), judge: Arc::new(Rest::new(set)) }
}

enum Reason {
    NeverReported,
    Path,
    Required,
    Pattern,
}

fn reason_to_leave_out(rule: &Rule) -> Option<Reason> {
    if rule.skip_report {
        return Some(Reason::NeverReported);
    }
    let Some(pattern) = &rule.regex else { return Some(Reason::Path) };
    if !rule.required.is_empty() {
        return Some(Reason::Required);
    }
    // Reading it is the check that RE2 takes it; `\C` is RE2's "any byte".
    let is_unfit = pattern.tree().is_err() || holds_any_byte(pattern.as_str());
    is_unfit.then_some(Reason::Pattern)
}

/// Whether a pattern holds `\C` outside an escaped backslash.
fn holds_any_byte(pattern: &str) -> bool {
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.next() == Some(b'C') {
            return true;
        }
    }
    false
}

#[derive(Default)]
struct LeftOut<'r> {
    path: Vec<&'r Rule>,
    required: Vec<&'r Rule>,
    pattern: Vec<&'r Rule>,
}

impl LeftOut<'_> {
    fn notes(&self) -> Vec<SafeText> {
        let groups = [
            (&self.path, "are for paths alone"),
            (&self.required, "need another rule's finding near by"),
            (&self.pattern, "have a pattern that it does not take, or that matches any byte"),
        ];
        let told = groups.iter().filter(|(rules, _)| !rules.is_empty()).map(|(rules, why)| {
            let mut names: Vec<&str> = rules.iter().take(NAMED).map(|rule| &*rule.id).collect();
            if rules.len() > NAMED {
                names.push("others");
            }
            let text = format!("gitleaks was not told the rules which {why} ({}): {}", rules.len(), names.join(", "));
            SafeText::quoted(text.as_bytes(), 400)
        });
        told.collect()
    }
}

/// A rule without its path, in gitleaks' schema.
fn table(rule: &Rule) -> Value {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
    put("id", text(&rule.id));
    put("description", text(&rule.description));
    put("regex", text(rule.regex().unwrap_or_default()));
    if rule.secret_group > 0 {
        put("secretGroup", Value::Integer(i64::try_from(rule.secret_group).unwrap_or(i64::MAX)));
    }
    if rule.entropy != 0.0 {
        put("entropy", Value::Float(rule.entropy));
    }
    put("keywords", texts(rule.keywords.iter().map(String::as_str)));
    put("tags", texts(rule.tags.iter().map(String::as_str)));
    let lists: Vec<Value> = rule.allowlists.iter().filter_map(|list| told(list)).collect();
    if !lists.is_empty() {
        put("allowlists", Value::Array(lists));
    }
    Value::Table(table)
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Value {
    Value::Array(texts.map(text).collect())
}

/// Whether a list's decision on a finding needs a path or a commit.
fn needs_place(list: &Allowlist) -> bool {
    list.all_must_hold && (list.paths.is_some() || !list.commits.is_empty())
}

/// What gitleaks can be told of a list. Where one part is enough, the others can be told without it.
fn told(list: &Allowlist) -> Option<Value> {
    let words = &list.stopwords.words;
    if needs_place(list) || (list.regexes.is_none() && words.is_empty()) {
        return None;
    }
    let mut table = Table::new();
    table.insert("condition".to_owned(), text(if list.all_must_hold { "AND" } else { "OR" }));
    let target = match list.target {
        Target::Secret => "secret",
        Target::Match => "match",
        Target::Line => "line",
    };
    table.insert("regexTarget".to_owned(), text(target));
    if let Some(regexes) = &list.regexes {
        table.insert("regexes".to_owned(), texts(std::iter::once(regexes.as_str())));
    }
    if !words.is_empty() {
        table.insert("stopwords".to_owned(), texts(words.iter().map(String::as_str)));
    }
    Some(Value::Table(table))
}

/// What gitleaks was not told.
struct Rest {
    set: Arc<RuleSet>,
    places: HashMap<Arc<str>, usize>,
}

impl Rest {
    fn new(set: &Arc<RuleSet>) -> Self {
        let places = set.rules().enumerate().map(|(place, rule)| (Arc::clone(&rule.id), place)).collect();
        Self { set: Arc::clone(set), places }
    }

    fn counts(&self, rule: &Rule, hit: &Hit<'_>, place: Place<'_>) -> Result<bool, PatternFault> {
        let path_fits = match &rule.path {
            Some(_) if place.anywhere => counts_anywhere(rule),
            Some(pattern) => pattern.is_match(place.path.unwrap_or_default())?,
            None => true,
        };
        if !path_fits || !rule.demands.wants_path(place.path) || !has_keyword(rule, hit) {
            return Ok(false);
        }
        if allowlist::any_allows_place(&self.set.allowlists, place)?
            || allowlist::any_allows_place(&rule.allowlists, place)?
        {
            return Ok(false);
        }
        let secret = hit.finding.secret.expose();
        let lower = allowlist::lower(secret);
        let targets = Targets { secret, matched: hit.finding.matched.expose(), line: own_lines(hit) };
        for list in self.set.allowlists.iter().chain(&rule.allowlists).filter(|list| needs_place(list)) {
            if list.allows_finding(place, targets, &lower)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Judge for Rest {
    fn judge(&self, hit: Hit<'_>) -> Option<Finding> {
        let rule = self.places.get(&*hit.finding.rule).and_then(|place| self.set.rule(*place));
        // A report of a rule that is not ours was not asked for; that it was made is told all the same.
        let Some(rule) = rule else { return Some(hit.finding) };
        let commit = hit.finding.item.commit.map(|commit| commit.to_string());
        let (path, confidence) =
            subject::places(&hit.finding.item, commit.as_deref()).into_iter().find_map(|seen| {
                // A pattern that cannot be tried takes nothing away.
                if !self.counts(rule, &hit, seen.place).unwrap_or(true) {
                    return None;
                }
                let subject = Subject {
                    secret: hit.finding.secret.expose(),
                    matched: hit.finding.matched.expose(),
                    text: hit.window,
                    span: (hit.span.start, hit.span.end),
                    place: seen.place,
                };
                Some((seen.item_path.map(<[u8]>::to_vec), demand::confidence(rule, &subject)?))
            })?;
        let mut finding = hit.finding;
        if finding.item.file_path().is_some() {
            finding.item.path = path.map(Into::into);
        }
        finding.confidence = confidence;
        finding.severity = rule.severity;
        finding.remedy.clone_from(&rule.remedy);
        finding.rule = Arc::clone(&rule.id);
        finding.description = Arc::clone(&rule.description);
        Some(finding)
    }
}

/// Whether one of the rule's keywords stands in the item. gitleaks looks for keywords in everything that it
/// reads at once, other items among it. Where the item is larger than its window, or where the text was decoded,
/// the keyword may stand elsewhere, so there its word is taken.
fn has_keyword(rule: &Rule, hit: &Hit<'_>) -> bool {
    if rule.keywords.is_empty() || hit.decoded || !hit.whole {
        return true;
    }
    let lower = allowlist::lower(hit.window);
    rule.keywords.iter().any(|word| !word.is_empty() && memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

/// The lines that a match stands in, with the line feed before, as gitleaks has them.
fn own_lines<'h>(hit: &'h Hit<'_>) -> &'h [u8] {
    let front = hit.window.get(..hit.span.start).unwrap_or_default();
    let rest = hit.window.get(hit.span.end..).unwrap_or_default();
    let from = memchr::memrchr(b'\n', front).unwrap_or(0);
    let to = hit.span.end + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    hit.window.get(from..to).unwrap_or_default()
}
