//! All rules on one text, the encoded parts of it decoded.
//!
//! Promise: the order of checks, and what each of them is tried on, is gitleaks': keywords, path,
//! matches, place and allow comment, capture groups, entropy, allowlists, required rules, and at the
//! end the yielding of generic rules to specific ones.

use std::rc::Rc;

use super::allowlist::{self, Place, Targets};
use super::decode::{self, Kinds, Pass};
use super::demand::{self, Subject};
use super::entropy;
use super::locate::{Lines, Location};
use super::matcher::{self, Caches, Candidate, Haystack, Span};
use super::rules::Rule;
use super::shared::{ODD_LETTERS, Shared, Use};
use super::translate::PatternFault;
use crate::scan::Confidence;

/// gitleaks' comment that hides a finding.
const ALLOW_COMMENT: &[u8] = b"gitleaks:allow";

/// What is asked of a session beyond the rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// gitleaks' quirks are kept, its allow comments obeyed.
    pub(super) compat: bool,
    /// How often decoded text is decoded again.
    pub(super) decode_depth: u32,
}

/// A finding in one text.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) rule: usize,
    /// In the raw text.
    pub(super) span: Span,
    pub(super) location: Location,
    pub(super) matched: Vec<u8>,
    pub(super) secret: Vec<u8>,
    pub(super) entropy: f64,
    /// The line or lines it stands in, in the raw text.
    pub(super) line: Span,
    /// Kinds of encoding and depth, where it was found in decoded text.
    pub(super) decoded: Option<(Kinds, u32)>,
    pub(super) confidence: Confidence,
    /// The file itself is the finding.
    pub(super) is_file: bool,
}

/// What one thread needs to try rules on texts.
#[derive(Debug)]
pub(super) struct Detector<'e> {
    shared: &'e Shared,
    wanted: Wanted,
    caches: Vec<Caches>,
    candidates: Vec<Vec<Candidate>>,
    /// Rules whose keywords occurred in the current text, and those with candidates.
    gated: Vec<bool>,
    touched: Vec<usize>,
}

/// A text in one pass.
#[derive(Clone, Copy)]
struct Stage<'t> {
    raw: &'t [u8],
    lines: &'t std::cell::OnceCell<Lines>,
    haystack: Haystack<'t>,
    pass: Option<&'t Pass>,
    place: Place<'t>,
    /// The 1-based line of the item on which the text begins.
    first_line: usize,
}

impl<'t> Stage<'t> {
    fn lines(&self) -> &'t Lines {
        self.lines.get_or_init(|| Lines::new(self.raw))
    }
}

impl<'e> Detector<'e> {
    pub(super) fn new(shared: &'e Shared, wanted: Wanted) -> Self {
        let count = shared.count();
        Self {
            shared,
            wanted,
            caches: (0..count).map(|_| Caches::default()).collect(),
            candidates: vec![Vec::new(); count],
            gated: vec![false; count],
            touched: Vec::new(),
        }
    }

    /// Everything that is found in a text.
    pub(super) fn detect(
        &mut self,
        text: &[u8],
        first_line: usize,
        place: Place<'_>,
    ) -> Result<Vec<Hit>, PatternFault> {
        let mut hits = Vec::new();
        let lines = std::cell::OnceCell::new();
        let stage = Stage { raw: text, lines: &lines, haystack: Haystack::new(text), pass: None, place, first_line };
        self.run_pass(stage, &mut hits)?;
        let mut before: Option<Rc<Pass>> = None;
        let mut decoded: Option<Vec<u8>> = None;
        for _ in 0..self.wanted.decode_depth {
            let Some((next, pass)) = decode::pass(decoded.as_deref().unwrap_or(text), before.take()) else { break };
            let stage = Stage { haystack: Haystack::new(&next), pass: Some(&pass), ..stage };
            self.run_pass(stage, &mut hits)?;
            before = Some(Rc::new(pass));
            decoded = Some(next);
        }
        self.yield_generic(&mut hits);
        Ok(hits)
    }

    fn run_pass(&mut self, mut stage: Stage<'_>, hits: &mut Vec<Hit>) -> Result<(), PatternFault> {
        self.find_keywords(&mut stage);
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(self.shared.always.iter().filter(|&&rule| !self.gated.get(rule).copied().unwrap_or(true)));
        touched.sort_unstable();
        touched.dedup();
        for &rule in &touched {
            let tried = self.gated.get(rule).copied().unwrap_or(false) || self.shared.always.contains(&rule);
            if tried {
                self.run_rule(rule, stage, hits)?;
            }
        }
        for &rule in &touched {
            if let (Some(candidates), Some(gated)) = (self.candidates.get_mut(rule), self.gated.get_mut(rule)) {
                candidates.clear();
                *gated = false;
            }
        }
        touched.clear();
        self.touched = touched;
        Ok(())
    }

    /// Notes which rules are to be tried on a text, and where.
    fn find_keywords(&mut self, stage: &mut Stage<'_>) {
        let shared = self.shared;
        let text = stage.haystack.text;
        let mut odd = false;
        shared.prefilter.scan(text, 0, text.len(), &mut |at, needle| match shared.uses.get(needle) {
            Some(uses) => self.note(text, at, uses, true, true),
            None => odd = true,
        });
        if odd {
            stage.haystack.odd_letters = true;
            self.find_odd_keywords(text);
        }
        if !shared.unusual.is_empty() {
            let lower = allowlist::lower(text);
            for (word, rule) in &shared.unusual {
                if memchr::memmem::find(&lower, word).is_some() {
                    self.gate(*rule);
                }
            }
        }
    }

    #[inline]
    fn note(&mut self, text: &[u8], at: usize, uses: &[Use], guarded: bool, counts: bool) {
        for one in uses {
            let rule = usize::from(one.rule);
            if counts && one.is_keyword {
                self.gate(rule);
            }
            if let (Some(method), Some(candidates)) = (self.shared.method(rule), self.candidates.get_mut(rule)) {
                let before = candidates.len();
                method.note(text, at, usize::from(one.word), guarded, candidates);
                if before == 0 && !candidates.is_empty() {
                    self.touched.push(rule);
                }
            }
        }
    }

    #[inline]
    fn gate(&mut self, rule: usize) {
        if let Some(gated) = self.gated.get_mut(rule)
            && !*gated
        {
            *gated = true;
            self.touched.push(rule);
        }
    }

    /// The same for a text with signs that are letters in another case: a copy with plain letters is
    /// searched, and places are mapped back.
    fn find_odd_keywords(&mut self, text: &[u8]) {
        let mut plain = Vec::with_capacity(text.len());
        // Where the copy and the text are at the same character, behind each sign.
        let mut steps = vec![(0_usize, 0_usize)];
        let mut long_s = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let odd = ODD_LETTERS.iter().find(|(letter, _)| rest.starts_with(letter.as_bytes()));
            match odd {
                Some(&(letter, byte)) => {
                    if byte == b's' {
                        long_s.push(plain.len());
                    }
                    plain.push(byte);
                    at += letter.len();
                    steps.push((plain.len(), at));
                }
                None => {
                    plain.extend(rest.first());
                    at += 1;
                }
            }
        }
        let back = |place: usize| {
            let step = steps.partition_point(|step| step.0 <= place).saturating_sub(1);
            steps.get(step).map_or(place, |step| step.1 + (place - step.0))
        };
        let shared = self.shared;
        let first_own: Vec<(usize, usize)> =
            self.candidates.iter().enumerate().map(|(rule, own)| (rule, own.len())).collect();
        shared.prefilter.scan(&plain, 0, plain.len(), &mut |at, needle| {
            if let Some(uses) = shared.uses.get(needle) {
                let end = at + shared.prefilter.length(needle);
                // A keyword's `s` is not found in a long s, though a regex that ignores case finds it.
                let counts = !long_s.iter().any(|place| (at..end).contains(place));
                self.note(&plain, at, uses, false, counts);
            }
        });
        for (rule, own) in first_own {
            for candidate in self.candidates.get_mut(rule).into_iter().flat_map(|all| all.iter_mut().skip(own)) {
                candidate.0 = back(candidate.0);
            }
        }
    }

    /// One rule, with what it requires near by.
    fn run_rule(&mut self, place: usize, stage: Stage<'_>, hits: &mut Vec<Hit>) -> Result<(), PatternFault> {
        let rule = self.shared.rule(place);
        if rule.skip_report {
            return Ok(());
        }
        let mut found = self.matches_of(place, rule, stage)?;
        if !found.is_empty() && !rule.required.is_empty() {
            self.keep_accompanied(rule, stage, &mut found)?;
        }
        hits.append(&mut found);
        Ok(())
    }

    fn keep_accompanied(&mut self, rule: &Rule, stage: Stage<'_>, found: &mut Vec<Hit>) -> Result<(), PatternFault> {
        for required in &rule.required {
            // One that is not in force is never satisfied.
            let near = match self.shared.set.find(&required.id) {
                Some(place) => self.matches_of(place, self.shared.rule(place), stage)?,
                None => Vec::new(),
            };
            let within = |limit: Option<i64>, one: usize, other: usize| {
                limit.is_none_or(|limit| i64::try_from(one.abs_diff(other)).is_ok_and(|distance| distance <= limit))
            };
            // A finding that is a file stands on line 0, whatever else is there.
            let line = |hit: &Hit| if hit.is_file { 0 } else { hit.location.line + stage.first_line };
            found.retain(|hit| {
                near.iter().any(|other| {
                    within(required.within_lines, line(hit), line(other))
                        && within(required.within_columns, hit.location.column, other.location.column)
                })
            });
        }
        Ok(())
    }

    fn matches_of(&mut self, place: usize, rule: &Rule, stage: Stage<'_>) -> Result<Vec<Hit>, PatternFault> {
        let Some(pattern) = &rule.regex else { return self.file_itself(place, rule, stage) };
        let (Some(method), Some(candidates), Some(caches)) =
            (self.shared.method(place), self.candidates.get_mut(place), self.caches.get_mut(place))
        else {
            return Ok(Vec::new());
        };
        if candidates.is_empty() && method.needs_candidates() {
            return Ok(Vec::new());
        }
        if lists_allow_place(rule, stage.place)? || !path_fits(rule, stage.place)? {
            return Ok(Vec::new());
        }
        let spans = matcher::matches(pattern, method, stage.haystack, candidates, caches)?;
        let mut hits = Vec::new();
        for span in spans {
            if let Some(hit) = self.judge(place, rule, stage, span)? {
                hits.push(hit);
            }
        }
        Ok(hits)
    }

    /// A rule without a regex reports a file by its path, once for each text and never when decoding.
    fn file_itself(&self, place: usize, rule: &Rule, stage: Stage<'_>) -> Result<Vec<Hit>, PatternFault> {
        if stage.pass.is_some() || lists_allow_place(rule, stage.place)? || !path_fits(rule, stage.place)? {
            return Ok(Vec::new());
        }
        let path = stage.place.path.unwrap_or_default();
        Ok(vec![Hit {
            rule: place,
            span: (0, 0),
            location: Location::default(),
            matched: [b"file detected: ", path].concat(),
            secret: Vec::new(),
            entropy: 0.0,
            line: (0, 0),
            decoded: None,
            confidence: rule.confidence,
            is_file: true,
        }])
    }

    /// Whether a match is a finding.
    fn judge(&mut self, place: usize, rule: &Rule, stage: Stage<'_>, span: Span) -> Result<Option<Hit>, PatternFault> {
        let text = stage.haystack.text;
        let matched = trim_line_feeds(text.get(span.0..span.1).unwrap_or_default());
        let mut decoded = None;
        let mut decoded_line: &[u8] = &[];
        let raw_span = match stage.pass {
            None => (span.0, span.0 + matched.len()),
            Some(pass) => {
                let touched = pass.touched(span);
                if touched.is_empty() {
                    return Ok(None);
                }
                decoded = Some((decode::kinds(touched), pass.depth));
                decoded_line = decode::line(touched, text);
                pass.original(touched, span)
            }
        };
        let location = stage.lines().locate(stage.raw, raw_span.0, raw_span.1);
        let line = if self.wanted.compat {
            (location.text_start, location.text_end.max(raw_span.1))
        } else {
            stage.lines().plain(stage.raw, raw_span.0, raw_span.1)
        };
        let line_text = stage.raw.get(line.0..line.1).unwrap_or_default();
        if self.wanted.compat && memchr::memmem::find(line_text, ALLOW_COMMENT).is_some() {
            return Ok(None);
        }
        let secret = self.secret(place, rule, matched)?;
        let entropy = entropy::shannon(&secret);
        if rule.entropy != 0.0 && entropy <= rule.entropy {
            return Ok(None);
        }
        let target_line = if decoded_line.is_empty() { line_text } else { decoded_line };
        let targets = Targets { secret: &secret, matched, line: target_line };
        if self.is_allowed(rule, stage.place, targets)? {
            return Ok(None);
        }
        let subject = Subject { secret: &secret, matched, text, span, place: stage.place };
        let Some(confidence) = demand::confidence(rule, &subject) else { return Ok(None) };
        Ok(Some(Hit {
            rule: place,
            span: raw_span,
            location,
            matched: matched.to_vec(),
            secret,
            entropy,
            line,
            decoded,
            confidence,
            is_file: false,
        }))
    }

    /// The group that is the secret, from a second look at the match alone.
    fn secret(&mut self, place: usize, rule: &Rule, matched: &[u8]) -> Result<Vec<u8>, PatternFault> {
        let (Some(pattern), Some(caches)) = (&rule.regex, self.caches.get_mut(place)) else {
            return Ok(matched.to_vec());
        };
        if pattern.tree()?.groups == 0 {
            return Ok(matched.to_vec());
        }
        let Some(groups) = matcher::captures(pattern, matched, caches)? else { return Ok(matched.to_vec()) };
        let text = |span: Option<Span>| span.and_then(|span| matched.get(span.0..span.1)).unwrap_or_default();
        if rule.secret_group > 0 {
            return Ok(groups.get(rule.secret_group).map_or(&[][..], |span| text(*span)).to_vec());
        }
        let first = groups.iter().skip(1).map(|span| text(*span)).find(|group| !group.is_empty());
        Ok(first.unwrap_or(matched).to_vec())
    }

    fn is_allowed(&self, rule: &Rule, place: Place<'_>, targets: Targets<'_>) -> Result<bool, PatternFault> {
        let lower = allowlist::lower(targets.secret);
        for list in self.shared.set.allowlists.iter().chain(&rule.allowlists) {
            if list.allows_finding(place, targets, &lower)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A generic rule's finding yields to a specific one's on the same line that holds its secret. A rule
    /// that calls itself general yields to specific rules and to general ones before it, and also when
    /// its own secret is the longer one.
    fn yield_generic(&self, hits: &mut Vec<Hit>) {
        // Nothing yields to a rule of the same or a higher rank.
        let rank = |hit: &Hit| {
            let rule = self.shared.rule(hit.rule);
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
        let holds = |one: &Hit, other: &Hit| memchr::memmem::find(&one.secret, &other.secret).is_some();
        let yields: Vec<bool> = hits
            .iter()
            .zip(&ranks)
            .map(|(hit, &rank)| {
                let general = self.shared.rule(hit.rule).general;
                rank > 0
                    && hits.iter().zip(&ranks).any(|(other, &other_rank)| {
                        other_rank < rank
                            && other.location.line == hit.location.line
                            && other.is_file == hit.is_file
                            && (holds(other, hit) || general && holds(hit, other))
                    })
            })
            .collect();
        let mut yields = yields.into_iter();
        hits.retain(|_| !yields.next().unwrap_or(false));
    }
}

fn lists_allow_place(rule: &Rule, place: Place<'_>) -> Result<bool, PatternFault> {
    allowlist::any_allows_place(&rule.allowlists, place)
}

fn path_fits(rule: &Rule, place: Place<'_>) -> Result<bool, PatternFault> {
    if !rule.demands.wants_path(place.path) {
        return Ok(false);
    }
    match &rule.path {
        Some(path) => path.is_match(place.path.unwrap_or_default()),
        None => Ok(true),
    }
}

fn trim_line_feeds(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| byte != b'\n').unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| byte != b'\n').map_or(start, |at| at + 1);
    text.get(start..end).unwrap_or_default()
}
