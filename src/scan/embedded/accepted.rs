//! The allowlists of a repository's gitleaks configuration, apart from its rules.
//!
//! Promise: a list accepts what it accepts for gitleaks 8.30.1: places before anything is read, findings after.
//! Files that the configuration extends, and rules that it switches off, are not looked at: whoever reviewed
//! this file did not review those.

use super::allowlist::{self, Allowlist, Place, Targets};
use super::config::{self, Mode, Origin, RulesFault};
use super::merge;
use super::translate::PatternFault;
use crate::scan::Finding;

/// The lists, with the rules that each speaks of; none for every rule.
#[derive(Debug)]
pub struct Accepted {
    lists: Vec<(Vec<String>, Allowlist)>,
}

impl Accepted {
    /// Reads a configuration. `name` is how it is called in errors.
    ///
    /// # Errors
    /// When gitleaks could not read it either, or a pattern cannot be read.
    pub fn read(text: &str, name: &str) -> Result<Self, RulesFault> {
        let origin = Origin::Text(name.to_owned());
        let parts = config::parts(text, &origin, Mode::Compat)?;
        let of_all = parts.allowlists.into_iter().map(|list| (list.target_rules.clone(), list));
        let of_rules = parts.rules.into_iter().flat_map(|rule| {
            let id = rule.id;
            rule.allowlists.into_iter().map(move |list| (vec![id.clone()], list))
        });
        let lists = of_all.chain(of_rules).map(|(rules, list)| Ok((rules, merge::allowlist(list, &origin)?)));
        Ok(Self { lists: lists.collect::<Result<_, RulesFault>>()? })
    }

    /// Which list accepts a finding, counted from one. `same_rule` says whether an id is that of the finding's rule.
    ///
    /// # Errors
    /// When a pattern cannot be tried.
    pub fn grant(&self, finding: &Finding, same_rule: impl Fn(&str) -> bool) -> Result<Option<usize>, PatternFault> {
        let commit = finding.item.commit.map(|commit| commit.to_string());
        let path = finding.item.path.as_ref().map(|path| path.as_slice());
        let place = Place { path, commit: commit.as_deref(), anywhere: false };
        let (secret, matched) = (finding.secret.expose(), finding.matched.expose());
        let targets = Targets { secret, matched, line: finding.line_text.expose() };
        let lower = allowlist::lower(secret);
        for (number, (rules, list)) in self.lists.iter().enumerate() {
            let speaks_of_it = rules.is_empty() || rules.iter().any(|rule| same_rule(rule));
            if speaks_of_it && (list.allows_place(place)? || list.allows_finding(place, targets, &lower)?) {
                return Ok(Some(number + 1));
            }
        }
        Ok(None)
    }
}
