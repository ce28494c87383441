//! One rule's matches in one text.
//!
//! Promise: the matches are those of a search through the whole text, leftmost first and without
//! overlap, whichever way they were found. Where the pattern allows it (see [`super::factor`]) only the
//! surroundings of its own texts are searched: each place where one occurs is first judged by the bytes
//! behind it, then by the pattern's tail alone ([`super::walk`]), and only then by the pattern.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input};

use super::class::ByteSet;
use super::extent::Extent;
use super::factor::{Plan, Surrounded};
use super::gate::Gate;
use super::pattern::Pattern;
use super::plain::PlainPart;
use super::prefilter::{Needle, Prefilter};
use super::profile::PROFILE;
use super::run::{self, Caches, search};
use super::runs::{self, FastRun, LONG_RUN};
use super::seen;
use super::spot::{Piece, Site, Spot, Spots, Tail};
use super::survey::Survey;
use super::trace::Trace;
use super::translate::{Node, PatternFault, Text};
use super::walk::{self, Told};

/// A match: first byte and one past the last.
pub(super) type Span = (usize, usize);

/// Where a rule's text may stand: the place and which of the rule's spots.
pub(super) type Candidate = (usize, u16);

/// A longer match than this is not tried at every place, lest the work be quadratic.
const LONGEST_CHECK: usize = super::factor::LONGEST_CHECK;
/// Where places have taken more steps than this to walk, making an automaton would have cost less.
const MOST_WALKED: usize = 1 << 18;
/// What a lazy automaton of a tail may hold.
const TAIL_CACHE_BYTES: usize = 1 << 20;

/// How a rule's matches are found.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one for each rule, made once; a box would be a step more at every match")]
pub(super) enum Method {
    /// By running the pattern over the whole text.
    Everywhere,
    /// Near its texts.
    Near(Near),
    /// Round runs of bytes of a value's length.
    Runs(Box<Surrounded>, FastRun),
}

/// What is needed to search near texts.
#[derive(Debug)]
pub(super) struct Near {
    spots: Vec<Spot>,
    /// A run of bytes that must stand behind each spot's texts.
    runs: Vec<Option<FastRun>>,
    /// For each of the words that were handed to [`Method::new`]: where texts stand relative to it.
    sites: Vec<Vec<Site>>,
    /// The texts themselves, where the words do not tell their places.
    own: Option<Prefilter>,
    /// Which (spot, text) each pattern of `own` is.
    own_texts: Vec<(u16, u16)>,
    /// Nothing stands before the texts, and the rest is short: a match begins at a text.
    anchored: bool,
    /// What decides at a place whether it is a candidate can be farther off than is remembered.
    far: bool,
    /// No match is long.
    bounded: bool,
    check: Check,
}

/// The pattern's tails, for places where a walk takes too long or is not exact: run as they are written, and as a lazy
/// automaton where that takes too long too.
#[derive(Debug, Default)]
struct Check {
    trace: OnceLock<Option<Trace>>,
    ascii: OnceLock<Option<DFA>>,
    any: OnceLock<Option<DFA>>,
}

impl Check {
    fn dfa(&self, ascii: bool, spots: &[Spot]) -> Option<&DFA> {
        let (cell, text) = if ascii { (&self.ascii, Text::Ascii) } else { (&self.any, Text::Any) };
        cell.get_or_init(|| build_dfa(&tails(spots), text)).as_ref()
    }

    fn trace(&self, spots: &[Spot]) -> Option<&Trace> {
        self.trace.get_or_init(|| Trace::new(&tails(spots), 0)).as_ref()
    }
}

/// The tails of all spots, as one pattern.
fn tails(spots: &[Spot]) -> Node {
    let node = |piece: &Piece| piece.node.clone();
    let tail = |tail: &Tail| Node::Concat(tail.text.iter().chain(&tail.behind).map(node).collect());
    Node::Either(spots.iter().map(|spot| tail(&spot.tail)).collect())
}

fn build_dfa(node: &Node, text: Text) -> Option<DFA> {
    let config = thompson::Config::new()
        .utf8(false)
        .which_captures(thompson::WhichCaptures::None)
        .nfa_size_limit(Some(64 << 20));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(&node.hir(text)).ok()?;
    let config = dfa::Config::new().cache_capacity(TAIL_CACHE_BYTES).skip_cache_capacity_check(true);
    dfa::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

impl Method {
    /// How to find the matches of `pattern`, when the places of `words` (lower-case) will be known.
    pub(super) fn new(pattern: &Pattern, words: &[String]) -> Self {
        match pattern.plan(words) {
            Plan::Everywhere => Self::Everywhere,
            Plan::Runs(surrounded) => {
                let run = FastRun::new(surrounded.run);
                Self::Runs(surrounded, run)
            }
            Plan::Near(factors) => Self::near(Spots::of(&factors, words), words.len()),
        }
    }

    /// How to find the matches of a pattern near its texts. `words`: of how many words places will be known.
    pub(super) fn near(spots: Spots, words: usize) -> Self {
        Near::new(spots, words).map_or(Self::Everywhere, Self::Near)
    }

    /// Notes the places that an occurrence of a word hints at.
    #[inline]
    pub(super) fn note(&self, text: &[u8], at: usize, word: usize, guarded: bool, candidates: &mut Vec<Candidate>) {
        if let Self::Near(near) = self {
            for site in near.sites.get(word).map(Vec::as_slice).unwrap_or_default() {
                if let Some(start) = at.checked_sub(usize::from(site.offset))
                    && near.admits(text, start, *site, guarded)
                {
                    candidates.push((start, site.spot));
                }
            }
        }
    }

    /// Whether what decides at a place that it is no candidate can be farther off than is remembered.
    #[inline]
    pub(super) fn is_far(&self) -> bool {
        matches!(self, Self::Near(near) if near.far)
    }

    /// Whether there is nothing to find in a text without candidates.
    pub(super) fn needs_candidates(&self) -> bool {
        match self {
            Self::Everywhere | Self::Runs(..) => false,
            Self::Near(near) => near.own.is_none(),
        }
    }
}

impl Near {
    fn new(spots: Spots, words: usize) -> Option<Self> {
        let nothing = |extent: &Extent| extent.most == Some(0);
        let bounded = |extent: &Extent| extent.most.is_some_and(|most| most <= LONGEST_CHECK);
        let behind = |spot: &Spot| spot.run.map_or(0, |run| run.to + run.least).max(PROFILE);
        let mut near = Self {
            runs: spots.all.iter().map(|spot| spot.run.map(FastRun::new)).collect(),
            bounded: spots.all.iter().all(|spot| bounded(&spot.before) && bounded(&spot.after)),
            anchored: spots.all.iter().all(|spot| nothing(&spot.before) && bounded(&spot.after)),
            far: spots.all.iter().any(|spot| longest(spot) + behind(spot) > seen::AHEAD),
            spots: spots.all,
            sites: Vec::new(),
            own: None,
            own_texts: Vec::new(),
            check: Check::default(),
        };
        match spots.sites {
            Some(sites) => near.sites = sites,
            None => {
                near.sites = vec![Vec::new(); words];
                near.look_for_texts()?;
            }
        }
        Some(near)
    }

    fn look_for_texts(&mut self) -> Option<()> {
        let mut texts = Vec::new();
        for (spot_place, spot) in self.spots.iter().enumerate() {
            for (text_place, text) in spot.texts.iter().enumerate() {
                self.own_texts.push((u16::try_from(spot_place).ok()?, u16::try_from(text_place).ok()?));
                texts.push(Needle::new(Cow::Owned(text.clone()), ByteSet::ALL, false));
            }
        }
        self.own = Prefilter::new(texts);
        self.own.is_some().then_some(())
    }

    #[inline]
    fn admits(&self, text: &[u8], start: usize, site: Site, guarded: bool) -> bool {
        let spot_place = usize::from(site.spot);
        let Some(spot) = self.spots.get(spot_place) else { return false };
        let Some(needle) = spot.texts.get(usize::from(site.text)) else { return false };
        let Some((there, behind)) = text.get(start..).and_then(|rest| rest.split_at_checked(needle.len())) else {
            return false;
        };
        if !there.eq_ignore_ascii_case(needle) {
            return false;
        }
        if !guarded {
            return true;
        }
        spot.lead.admits(text, start)
            && spot.profile.admits(behind)
            && self.runs.get(spot_place).is_none_or(|run| run.as_ref().is_none_or(|run| run.stands_in(behind)))
    }
}

/// A text that is searched, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Haystack<'t> {
    pub(super) text: &'t [u8],
    pub(super) ascii: bool,
    /// Copies of its parts with signs that are letters in another case.
    pub(super) plain: &'t [PlainPart],
    /// What it is made of, where that is known.
    pub(super) survey: Option<&'t Survey>,
}

impl<'t> Haystack<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, ascii: text.is_ascii(), plain: &[], survey: None }
    }
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct Matches {
    /// In order.
    pub(super) spans: Vec<Span>,
    /// Where something begins that could be a match if the text went on.
    pub(super) open: Option<usize>,
    /// Candidates that lead to something, and those of which that is not told by what is remembered of a part.
    pub(super) alive: Vec<usize>,
}

/// What is searched beyond the matches that count, so that chains of matches are the same there.
const AROUND_COUNTED: usize = 4 * LONGEST_CHECK;

/// Where to look for matches, none of which is longer than `most`: where they count.
fn counted(text: &[u8], gate: Gate, most: Option<usize>) -> Vec<Span> {
    match most {
        Some(most) if most <= 2 * LONGEST_CHECK => gate.near(text.len(), AROUND_COUNTED),
        Some(_) | None => vec![(0, text.len())],
    }
}

/// Every match of a pattern that counts, in order, and perhaps others.
pub(super) fn matches(
    pattern: &Pattern,
    method: &Method,
    haystack: Haystack<'_>,
    (candidates, gate): (&mut Vec<Candidate>, Gate),
    caches: &mut Caches,
) -> Result<Matches, PatternFault> {
    let mut found = Matches::default();
    match method {
        Method::Near(near) => {
            let most = near.bounded.then_some(LONGEST_CHECK);
            near.matches(pattern, haystack, (candidates, &counted(haystack.text, gate, most)), caches, &mut found)?;
        }
        Method::Runs(surrounded, run) => {
            let parts = counted(haystack.text, gate, surrounded.most);
            let runs = parts.into_iter().flat_map(|part| runs_in(haystack, part, surrounded, run));
            let regions = runs.map(|run| {
                let before = if haystack.ascii { surrounded.before.most_ascii } else { surrounded.before.most };
                let after = if haystack.ascii { surrounded.after.most_ascii } else { surrounded.after.most };
                let start = before.map_or(0, |most| run.0.saturating_sub(most));
                (start, after.map_or(haystack.text.len(), |most| (run.1 + most).min(haystack.text.len())))
            });
            for region in merged(regions.collect()) {
                let ascii = haystack.ascii || haystack.text.get(region.0..region.1).is_some_and(<[u8]>::is_ascii);
                search(pattern, haystack, region, ascii, caches, &mut found.spans)?;
            }
        }
        Method::Everywhere => {
            for part in counted(haystack.text, gate, Some(pattern.span())) {
                search(pattern, haystack, part, haystack.ascii, caches, &mut found.spans)?;
            }
        }
    }
    Ok(found)
}

/// The candidates that lead to something, or may.
pub(super) fn alive(
    method: &Method,
    haystack: Haystack<'_>,
    candidates: &[Candidate],
    caches: &mut Caches,
) -> Vec<usize> {
    let mut alive = Vec::new();
    match method {
        Method::Everywhere | Method::Runs(..) => alive.extend(candidates.iter().map(|candidate| candidate.0)),
        Method::Near(near) => {
            for &at in candidates {
                near.leads_on(haystack, at, caches, &mut alive);
            }
        }
    }
    alive
}

/// Every run of a kind in a part of a text.
fn runs_in(haystack: Haystack<'_>, part: Span, surrounded: &Surrounded, run: &FastRun) -> Vec<Span> {
    let text = |part: Span| haystack.text.get(part.0..part.1).unwrap_or_default();
    let moved = |start: usize| move |one: Span| (start + one.0, start + one.1);
    let survey = haystack.survey;
    let is_long = run.run.least >= LONG_RUN && run.run.bytes.is_value();
    if surrounded.at_line_end {
        let found = match survey {
            // Such a run is the end of a long one.
            Some(survey) if is_long => {
                let first = survey.runs.partition_point(|one| one.1 <= part.0);
                let ends = survey.runs.get(first..).unwrap_or_default().iter().map(|one| one.1);
                let ends = ends.take_while(|&end| end < part.1);
                let ends = ends.filter(|&end| haystack.text.get(end) == Some(&b'\n'));
                run.all_at_line_ends(text(part), ends.map(|end| end - part.0))
            }
            Some(survey) => {
                run.all_at_line_ends(text(part), survey.feeds.between(part.0, part.1).map(|feed| feed - part.0))
            }
            None => run.all_at_line_ends(text(part), memchr::memchr_iter(b'\n', text(part))),
        };
        // It is the end of what is perhaps longer.
        let fits = |end: usize| surrounded.lead.is_none_or(|lead| lead.admits(haystack.text, end - run.run.least));
        return found.into_iter().map(moved(part.0)).filter(|one| fits(one.1)).collect();
    }
    match survey.filter(|_| is_long) {
        None => run.all_in(text(part)).into_iter().map(moved(part.0)).collect(),
        Some(survey) => {
            let first = survey.runs.partition_point(|one| one.1 <= part.0);
            let inside = survey.runs.get(first..).unwrap_or_default().iter().take_while(|one| one.0 < part.1);
            let inside = inside.map(|one| (one.0.max(part.0), one.1.min(part.1)));
            let inside = inside.filter(|(start, end)| end - start >= run.run.least);
            inside.flat_map(|one| run.all_in(text(one)).into_iter().map(moved(one.0))).collect()
        }
    }
}

impl Near {
    fn matches(
        &self,
        pattern: &Pattern,
        haystack: Haystack<'_>,
        (candidates, counted): (&mut Vec<Candidate>, &[Span]),
        caches: &mut Caches,
        found: &mut Matches,
    ) -> Result<(), PatternFault> {
        if let Some(own) = &self.own {
            candidates.clear();
            for part in counted {
                self.look_up(own, (haystack.text, *part), true, candidates);
            }
            for part in haystack.plain {
                let known = candidates.len();
                self.look_up(own, (&part.text, (0, part.text.len())), false, candidates);
                candidates.iter_mut().skip(known).for_each(|candidate| candidate.0 = part.original(candidate.0));
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        if self.anchored {
            self.at_texts(pattern, haystack, candidates, caches, found)
        } else {
            self.around_texts(pattern, haystack, candidates, caches, found)
        }
    }

    /// The places of the texts in a part of a text, found without the rule's words.
    fn look_up(&self, own: &Prefilter, (text, part): (&[u8], Span), guarded: bool, candidates: &mut Vec<Candidate>) {
        own.scan(text.get(part.0..part.1).unwrap_or_default(), &mut |at, needle| {
            let start = part.0 + at;
            if let Some(&(spot, needle)) = self.own_texts.get(needle)
                && self.admits(text, start, Site { spot, text: needle, offset: 0 }, guarded)
            {
                candidates.push((start, spot));
            }
        });
    }

    /// The matches when each of them begins at a text.
    fn at_texts(
        &self,
        pattern: &Pattern,
        haystack: Haystack<'_>,
        candidates: &[Candidate],
        caches: &mut Caches,
        found: &mut Matches,
    ) -> Result<(), PatternFault> {
        let mut free_from = 0;
        for &(start, spot) in candidates {
            if start < free_from {
                // In another text nothing may have begun before it.
                found.alive.push(start);
                continue;
            }
            if !self.leads_on(haystack, (start, spot), caches, &mut found.alive) {
                continue;
            }
            let ascii = haystack.ascii || self.tail_is_ascii(haystack.text, start, spot);
            if let Some(end) = run::end_of(pattern, haystack.text, start, ascii, caches)? {
                found.spans.push((start, end));
                free_from = end.max(start + 1);
            }
        }
        Ok(())
    }

    /// Whether the tail of a spot can match at a place, or it is not to be told; notes the place in `alive` then, and
    /// when what decided it is farther off than is remembered.
    fn leads_on(&self, haystack: Haystack<'_>, at: Candidate, caches: &mut Caches, alive: &mut Vec<usize>) -> bool {
        let mut told = self.can_match(haystack.text, at, haystack.ascii, caches);
        // What is beyond ASCII is mostly elsewhere, and where there is none a "yes" is certain.
        if told.answer != Some(false) && !haystack.ascii && self.tail_is_ascii(haystack.text, at.0, at.1) {
            let certain = self.can_match(haystack.text, at, true, caches);
            told = Told { looked: told.looked.max(certain.looked), ..certain };
        }
        let mut leads_on = told.answer != Some(false);
        let mut is_far = told.looked > at.0 + seen::AHEAD;
        if let Some(spot) = self.spots.get(usize::from(at.1)).filter(|_| leads_on) {
            let (answer, looked) = walk::can_precede(spot, haystack.text, (at.0, haystack.ascii));
            leads_on = answer != Some(false);
            is_far |= looked > seen::NEAR_BEHIND;
        }
        if leads_on || is_far {
            alive.push(at.0);
        }
        leads_on
    }

    /// Whether the tail of a spot can match at a place. A "yes" is certain where all that it can reach is known to be
    /// ASCII.
    fn can_match(&self, text: &[u8], at: Candidate, ascii: bool, caches: &mut Caches) -> Told {
        if let Some(spot) = self.spots.get(usize::from(at.1)).filter(|_| caches.walked < MOST_WALKED) {
            let told = walk::can_match(spot, text, (at.0, ascii), &mut caches.walked);
            if told.answer.is_some() {
                return told;
            }
        }
        self.run_check(text, at.0, ascii, caches).unwrap_or(Told { answer: None, looked: text.len() })
    }

    /// The same without a walk; `None` when it cannot be told.
    fn run_check(&self, text: &[u8], start: usize, ascii: bool, caches: &mut Caches) -> Option<Told> {
        let kind = if ascii { Text::Ascii } else { Text::Any };
        let told = self.check.trace(&self.spots).map(|trace| trace.begins(text, kind, start));
        if let Some(told) = told.filter(|told| told.answer.is_some()) {
            return Some(told);
        }
        let dfa = self.check.dfa(ascii, &self.spots)?;
        let cache = caches.check[usize::from(ascii)].get_or_insert_with(|| dfa.create_cache());
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let mut state = dfa.start_state_forward(cache, &input).ok()?;
        for (place, &byte) in text.get(start..)?.iter().enumerate() {
            state = dfa.next_state(cache, state, byte).ok()?;
            if !state.is_tagged() {
                continue;
            }
            if state.is_quit() {
                return None;
            }
            if state.is_match() || state.is_dead() {
                return Some(Told { answer: Some(state.is_match()), looked: start + place + 1 });
            }
        }
        let state = dfa.next_eoi_state(cache, state).ok()?;
        Some(Told { answer: Some(state.is_match()), looked: text.len() + 1 })
    }

    /// Whether all of the text that a match could reach from `start` on is ASCII.
    fn tail_is_ascii(&self, text: &[u8], start: usize, spot: u16) -> bool {
        let Some(spot) = self.spots.get(usize::from(spot)) else { return false };
        let end = (start + spot.tail.reach).min(text.len());
        text.get(start..end).is_some_and(<[u8]>::is_ascii)
    }

    /// The matches when something stands before the texts, or they can be long.
    fn around_texts(
        &self,
        pattern: &Pattern,
        haystack: Haystack<'_>,
        candidates: &[Candidate],
        caches: &mut Caches,
        found: &mut Matches,
    ) -> Result<(), PatternFault> {
        let text = haystack.text;
        let mut regions: Vec<Span> = Vec::new();
        let mut runs = vec![Runs::default(); self.spots.len()];
        let mut endless = None;
        for &(start, place) in candidates {
            let place_index = usize::from(place);
            let (Some(spot), Some(runs)) = (self.spots.get(place_index), runs.get_mut(place_index)) else {
                continue;
            };
            if !self.leads_on(haystack, (start, place), caches, &mut found.alive) {
                continue;
            }
            let ascii = haystack.ascii || self.tail_is_ascii(text, start, place);
            let region = (
                runs.region_start(text, start, &spot.before, haystack.ascii),
                runs.region_end(text, start + longest(spot), &spot.after, haystack.ascii),
            );
            let is_endless = spot.after.most.is_none() && region.1 >= text.len();
            // What is only perhaps a beginning must not be taken for one that never ends.
            let check = |caches| self.run_check(text, start, ascii, caches).and_then(|told| told.answer);
            if is_endless && !haystack.ascii && check(caches) == Some(false) {
                continue;
            }
            if is_endless {
                endless.get_or_insert(start);
            }
            regions.push(region);
        }
        for region in merged(regions) {
            let ascii = haystack.ascii || text.get(region.0..region.1).is_some_and(<[u8]>::is_ascii);
            search(pattern, haystack, region, ascii, caches, &mut found.spans)?;
        }
        let ended = |start: usize| found.spans.iter().any(|span| span.1 > start && span.1 < text.len());
        found.open = endless.filter(|&start| !ended(start));
        Ok(())
    }
}

/// Regions in order, those that touch made one.
fn merged(mut regions: Vec<Span>) -> Vec<Span> {
    regions.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(regions.len());
    for region in regions {
        match merged.last_mut() {
            Some(last) if region.0 <= last.1 => last.1 = last.1.max(region.1),
            _ => merged.push(region),
        }
    }
    merged
}

fn longest(spot: &Spot) -> usize {
    // Each `k` or `s` of a text can be a sign of up to three bytes.
    spot.texts.iter().map(Vec::len).max().unwrap_or(0) * 3
}

/// Remembers where unbounded runs of bytes begin and end, so that a long one is walked once only.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    /// A place, and where the run before it begins.
    before: Option<Span>,
    /// Where the last run ends.
    after: usize,
}

impl Runs {
    fn region_start(&mut self, text: &[u8], start: usize, before: &Extent, ascii: bool) -> usize {
        let run = match if ascii { before.most_ascii } else { before.most } {
            Some(most) => return start.saturating_sub(most),
            None if before.bytes.is_all() => return 0,
            None => {
                let (known, begin) = self.before.unwrap_or((0, 0));
                let front = text.get(known..start).unwrap_or_default();
                front.iter().rposition(|&byte| !before.bytes.contains(byte)).map_or(begin, |at| known + at + 1)
            }
        };
        self.before = Some((start, run));
        run
    }

    fn region_end(&mut self, text: &[u8], from: usize, after: &Extent, ascii: bool) -> usize {
        let from = from.min(text.len());
        match if ascii { after.most_ascii } else { after.most } {
            Some(most) => from.saturating_add(most).min(text.len()),
            None if after.bytes.is_all() => text.len(),
            None if self.after >= from => self.after,
            None => {
                let rest = text.get(from..).unwrap_or_default();
                self.after = runs::first_beyond(rest, after.bytes).map_or(text.len(), |at| from + at);
                self.after
            }
        }
    }
}
