//! Where in a text the words of rules occur, and at which places rules are to be tried for it.
//!
//! Promise: a rule is tried on a text if and only if one of its keywords occurs there (or it has none), and
//! wherever one of its words leads; what [`super::seen`] knows of a part takes the place of looking through it.

use super::allowlist;
use super::class::Table;
use super::gate::Gate;
use super::layout::SHORT_WORD;
use super::matcher::{Candidate, Haystack, Span};
use super::plain::{self, PlainPart};
use super::prefilter::{FARTHEST, Prefilter};
use super::runs::LONG_RUN;
use super::seen::{self, Part, Seen};
use super::shared::{Shared, Use};
use super::survey::Survey;

/// How far behind a word what must stand there can begin.
const REACH: usize = 1024;

/// What one thread notes of a text.
#[derive(Debug)]
pub(super) struct Hints<'e> {
    shared: &'e Shared,
    pub(super) candidates: Vec<Vec<Candidate>>,
    /// Where keywords of each rule occurred in the current text.
    gated: Vec<Gate>,
    /// Whether all candidates of each rule were judged.
    judged: Vec<bool>,
    /// Rules of which keywords occurred, and those with candidates.
    touched: Vec<usize>,
    seen: Option<Box<Seen>>,
    /// The parts of the current text, where they are looked up.
    parts: Vec<Part>,
    unknown: Vec<Span>,
    /// Places at which something begins, or may.
    alive: Vec<usize>,
    /// Where keywords stand, and the rule of each.
    opened: Vec<(usize, u16)>,
}

impl<'e> Hints<'e> {
    /// `remembers`: parts of texts are.
    pub(super) fn new(shared: &'e Shared, remembers: bool) -> Self {
        let count = shared.count();
        let remembers = remembers && shared.prefilter.longest() <= seen::AHEAD;
        Self {
            shared,
            candidates: vec![Vec::new(); count],
            gated: vec![Gate::default(); count],
            judged: vec![false; count],
            touched: Vec::new(),
            seen: if remembers { Seen::new().map(Box::new) } else { None },
            parts: Vec::new(),
            unknown: Vec::new(),
            alive: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Notes which rules are to be tried on a text, and where. `recurs`: other texts can hold the same parts.
    pub(super) fn find(&mut self, haystack: Haystack<'_>, survey: &Survey, recurs: bool) -> Vec<PlainPart> {
        let text = haystack.text;
        self.parts.clear();
        if let Some(seen) = self.seen.as_mut().filter(|_| recurs) {
            seen.parts(text, &survey.feeds, &mut self.parts);
        }
        let mut unknown = std::mem::take(&mut self.unknown);
        if self.parts.is_empty() {
            unknown.clear();
            unknown.push((0, text.len()));
        } else {
            seen::unknown(&self.parts, &mut unknown);
            self.open_known();
        }
        self.find_words(text, &survey.runs, &unknown);
        self.unknown = unknown;
        self.find_signs(haystack)
    }

    /// Opens the rules of which parts that were seen hold keywords.
    fn open_known(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let seen = self.seen.take();
        for part in parts.iter().filter(|part| part.is_known()) {
            for (rule, at) in seen.iter().flat_map(|seen| seen.opened(part)) {
                self.open(rule, Gate::at(at));
            }
        }
        (self.parts, self.seen) = (parts, seen);
    }

    /// The words in some spans of a text.
    fn find_words(&mut self, text: &[u8], long_runs: &[Span], spans: &[Span]) {
        let shared = self.shared;
        let mut next_run = 0;
        for &(start, end) in spans {
            let rest = text.get(start..).unwrap_or_default();
            // A word is found by bytes in the middle of it.
            let front = (end - start + FARTHEST).min(rest.len());
            shared.prefilter.scan_front(rest, front, &mut |at, needle| {
                let at = start + at;
                let Some(uses) = shared.uses.get(needle) else { return };
                // Places are not quite in order.
                while next_run > 0 && long_runs.get(next_run - 1).is_some_and(|run| run.1 > at) {
                    next_run -= 1;
                }
                while long_runs.get(next_run).is_some_and(|run| run.1 <= at) {
                    next_run += 1;
                }
                let word = (at, at + shared.prefilter.length(needle));
                self.note(text, word, uses, || longest_near(long_runs, next_run, at));
            });
        }
        let mut spans = spans.iter().copied().peekable();
        for &(start, end) in long_runs {
            while spans.next_if(|span| span.1 <= start).is_some() {}
            if spans.peek().is_none_or(|span| span.0 >= end) {
                continue;
            }
            // Words that begin farther back have too short a run.
            let front = (end - start).saturating_sub(LONG_RUN - 1);
            let mut report = |at: usize, needle: usize| {
                if let Some(uses) = shared.inner_uses.get(needle) {
                    let word = (at, at + shared.inner.length(needle));
                    self.note(text, word, uses, || usize::MAX);
                }
            };
            if let Some(leads) = &shared.inner_leads {
                find_by_signs((&shared.inner, leads), text, (start, start + front), &mut report);
            } else {
                let rest = text.get(start..).unwrap_or_default();
                shared.inner.scan_front(rest, front, &mut |at, needle| report(start + at, needle));
            }
        }
    }

    /// What is not found by words of ASCII: looked for in the whole text each time.
    fn find_signs(&mut self, haystack: Haystack<'_>) -> Vec<PlainPart> {
        let shared = self.shared;
        let text = haystack.text;
        let odd = if haystack.ascii { Vec::new() } else { plain::places(text) };
        let plain = if odd.is_empty() { Vec::new() } else { plain::parts(text, &odd, shared.prefilter.longest()) };
        plain.iter().for_each(|part| self.find_plain_keywords(part));
        for &(byte, rule) in &shared.single {
            // A sign that counts as this letter does as well.
            let sign = || plain.iter().any(|part| part.holds_keyword_letter(byte));
            if memchr::memchr2(byte, byte.to_ascii_uppercase(), text).is_some() || sign() {
                self.open(rule, Gate::OPEN);
            }
        }
        if !shared.unusual.is_empty() && !haystack.ascii {
            let lower = allowlist::lower(text);
            for (word, rule) in &shared.unusual {
                if memchr::memmem::find(&lower, word).is_some() {
                    self.open(*rule, Gate::OPEN);
                }
            }
        }
        plain
    }

    #[inline]
    fn note(&mut self, text: &[u8], word: Span, uses: &[Use], longest: impl Fn() -> usize) {
        let (mut reach, at) = (None, word.0);
        for one in uses {
            let rule = usize::from(one.rule);
            if one.is_keyword {
                self.open(rule, Gate::at(at));
                if self.is_recording() {
                    self.opened.push((at, one.rule));
                }
            }
            if !self.shared.admits(one, text, word) {
                continue;
            }
            if let Some(run) = &one.run
                && (run.run.least > *reach.get_or_insert_with(&longest)
                    || !text.get(at..).is_some_and(|behind| run.stands_in(behind)))
            {
                // What decided that could be too far off to be remembered.
                if run.run.to + run.run.least > seen::AHEAD {
                    self.alive.push(at);
                }
                continue;
            }
            if let (Some(method), Some(candidates)) = (self.shared.method(rule), self.candidates.get_mut(rule)) {
                let before = candidates.len();
                method.note(text, at, usize::from(one.word), true, candidates);
                if method.is_far() {
                    self.alive.push(at);
                }
                if before == 0 && !candidates.is_empty() {
                    self.touched.push(rule);
                }
            }
        }
    }

    #[inline]
    fn open(&mut self, rule: usize, gate: Gate) {
        if let Some(gated) = self.gated.get_mut(rule) {
            if gated.is_shut() {
                self.touched.push(rule);
            }
            gated.widen(gate);
        }
    }

    /// The keywords that hold a sign which is a letter in another case, in a copy with plain letters.
    fn find_plain_keywords(&mut self, part: &PlainPart) {
        let shared = self.shared;
        for (prefilter, uses) in [(&shared.prefilter, &shared.uses), (&shared.inner, &shared.inner_uses)] {
            prefilter.scan(&part.text, &mut |at, needle| {
                let counts = !part.holds_long_s((at, at + prefilter.length(needle)));
                for one in uses.get(needle).into_iter().flatten() {
                    self.note_plain(part, at, one, counts);
                }
            });
        }
    }

    fn note_plain(&mut self, part: &PlainPart, at: usize, one: &Use, counts: bool) {
        let rule = usize::from(one.rule);
        if counts && one.is_keyword {
            self.open(rule, Gate::at(part.original(at)));
        }
        let (Some(method), Some(candidates)) = (self.shared.method(rule), self.candidates.get_mut(rule)) else {
            return;
        };
        let known = candidates.len();
        method.note(&part.text, at, usize::from(one.word), false, candidates);
        candidates.iter_mut().skip(known).for_each(|candidate| candidate.0 = part.original(candidate.0));
        if candidates.len() > known {
            self.touched.push(rule);
        }
    }

    /// The rules that are to be tried, in order.
    pub(super) fn touched(&mut self) -> Vec<usize> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(&self.shared.always);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Which matches of a rule count.
    pub(super) fn gate(&self, rule: usize) -> Gate {
        let by_candidates = self.shared.by_candidates.get(rule).copied().unwrap_or(false);
        match self.gated.get(rule) {
            _ if by_candidates || self.shared.always.contains(&rule) => Gate::OPEN,
            Some(gate) => *gate,
            None => Gate::default(),
        }
    }

    /// Whether it matters for later texts what the candidates of this one come to.
    #[inline]
    pub(super) fn is_recording(&self) -> bool {
        !self.parts.is_empty()
    }

    /// All candidates of a rule were judged, and these of them lead to something, or may.
    pub(super) fn judged(&mut self, rule: usize, alive: &[usize]) {
        if let Some(judged) = self.judged.get_mut(rule) {
            *judged = true;
        }
        self.alive.extend_from_slice(alive);
    }

    /// Forgets what was noted of a text, and remembers what later ones can use. `touched` is what
    /// [`Hints::touched`] gave.
    pub(super) fn settle(&mut self, mut touched: Vec<usize>) {
        let is_recording = self.is_recording();
        for &rule in &touched {
            let (Some(candidates), Some(gated), Some(judged)) =
                (self.candidates.get_mut(rule), self.gated.get_mut(rule), self.judged.get_mut(rule))
            else {
                continue;
            };
            if is_recording && !*judged {
                self.alive.extend(candidates.iter().map(|candidate| candidate.0));
            }
            candidates.clear();
            *gated = Gate::default();
            *judged = false;
        }
        touched.clear();
        self.touched = touched;
        if let Some(seen) = self.seen.as_mut().filter(|_| is_recording) {
            seen.remember(&self.parts, &mut self.alive, &mut self.opened);
        }
        self.alive.clear();
        self.opened.clear();
    }
}

/// The longest value that stands near behind a place, or what is shorter than a long run. `first` is the
/// first run that does not end before the place.
fn longest_near(runs: &[Span], first: usize, at: usize) -> usize {
    let near = runs.get(first..).unwrap_or_default().iter().take_while(|run| run.0 <= at + REACH);
    near.map(|run| run.1 - run.0).max().unwrap_or(0).max(LONG_RUN - 1)
}

/// The short words that begin in a part of a long run: at its beginning, behind a sign or another of `leads`, or with a
/// sign in them.
fn find_by_signs((words, leads): (&Prefilter, &Table), text: &[u8], part: Span, report: &mut impl FnMut(usize, usize)) {
    words.find_at(text, part.0, report);
    let mut next = part.0 + 1;
    let reach = text.get(part.0..part.1 + SHORT_WORD - 1).unwrap_or_default();
    for (offset, &byte) in reach.iter().enumerate() {
        if !leads.contains(byte) {
            continue;
        }
        let at = part.0 + offset;
        let last = (at + 2).min(part.1);
        if byte.is_ascii_alphanumeric() {
            if at + 1 >= next && at + 1 < part.1 {
                words.find_at(text, at + 1, report);
            }
        } else {
            for begin in next.max((at + 1).saturating_sub(SHORT_WORD))..last {
                words.find_at(text, begin, report);
            }
            next = next.max(last);
        }
    }
}
