//! Findings that others make needless.
//!
//! Promise: gitleaks' order of generic rules and specific ones; no secret is left without a finding.

use std::collections::HashMap;

use super::detect::Hit;
use super::matcher::Span;
use super::shared::Shared;

/// How many hits before one and behind it on its line can make it yield.
const MOST_NEIGHBOURS: usize = 256;

/// A generic rule's finding yields to a specific one's on the same line that holds its secret. A rule
/// that calls itself general yields to specific rules and to general ones before it, and also when
/// its own secret is the longer one.
pub(super) fn yield_generic(shared: &Shared, compat: bool, hits: &mut Vec<Hit>) {
    // Nothing yields to a rule of the same or a higher rank.
    let rank = |hit: &Hit| {
        let rule = shared.rule(hit.rule);
        match (rule.general, rule.id.to_lowercase().contains("generic")) {
            (false, false) => 0,
            (true, _) => 1 + hit.rule,
            (false, true) => usize::MAX,
        }
    };
    let ranks: Vec<usize> = hits.iter().map(rank).collect();
    if ranks.iter().all(|&rank| rank == 0) {
        return;
    }
    let mut by_line: HashMap<(usize, bool), Vec<usize>> = HashMap::new();
    for (place, hit) in hits.iter().enumerate() {
        by_line.entry((hit.location.line, hit.is_file)).or_default().push(place);
    }
    let mut stays = vec![true; hits.len()];
    for places in by_line.into_values().filter(|places| places.len() > 1) {
        yield_on_line(shared, compat, hits, &ranks, places, &mut stays);
    }
    let mut stays = stays.into_iter();
    hits.retain(|_| stays.next().unwrap_or(true));
}

/// Which of the hits on one line stay.
fn yield_on_line(
    shared: &Shared,
    compat: bool,
    hits: &[Hit],
    ranks: &[usize],
    mut places: Vec<usize>,
    stays: &mut [bool],
) {
    let holds = |one: &Hit, other: &Hit| memchr::memmem::find(&one.secret, &other.secret).is_some();
    let rank = |place: usize| ranks.get(place).copied().unwrap_or(0);
    places.sort_by_key(|&place| hits.get(place).map_or(0, |hit| hit.span.0));
    // A line of megabytes can hold very many; gitleaks cuts such a line, and looks at no more at once.
    let near = if compat { usize::MAX } else { MOST_NEIGHBOURS };
    for (at, &place) in places.iter().enumerate() {
        let Some(hit) = hits.get(place).filter(|_| rank(place) > 0) else { continue };
        let general = shared.rule(hit.rule).general;
        let neighbours = places.iter().take(at.saturating_add(near)).skip(at.saturating_sub(near));
        let yields = neighbours
            .filter(|&&other| rank(other) < rank(place))
            .any(|&other| hits.get(other).is_some_and(|other| holds(other, hit) || general && holds(hit, other)));
        if let Some(stay) = stays.get_mut(place) {
            *stay = !yields;
        }
    }
}

/// Adds the hits whose secret the same rule has not found there already.
pub(super) fn add_new(mut hits: Vec<Hit>, known: &mut Vec<Hit>) {
    if hits.is_empty() {
        return;
    }
    let mut places: HashMap<(usize, &[u8]), Vec<Span>> = HashMap::new();
    for hit in known.iter() {
        places.entry((hit.rule, &hit.secret)).or_default().push(hit.span);
    }
    places.values_mut().for_each(|spans| spans.sort_unstable());
    // One rule's spans do not overlap, but those of a text and of its decoded form can.
    let is_known = |hit: &Hit| {
        places.get(&(hit.rule, hit.secret.as_slice())).is_some_and(|spans| {
            let before = spans.partition_point(|span| span.0 < hit.span.1);
            spans.iter().take(before).rev().take(4).any(|span| span.1 > hit.span.0)
        })
    };
    hits.retain(|hit| !is_known(hit));
    known.append(&mut hits);
}
