//! All rules on one text, the encoded parts of it decoded.
//!
//! Promise: the order of checks, and what each of them is tried on, is gitleaks': keywords, path,
//! matches, place and allow comment, capture groups, entropy, allowlists, required rules, and at the
//! end the yielding of generic rules to specific ones.

use std::rc::Rc;

use super::allowlist::{self, Place, Targets};
use super::bare;
use super::decode::{self, Kinds, Pass, Taste};
use super::demand::{self, Subject};
use super::entropy;
use super::escape;
use super::gate::{Gate, Nearby};
use super::hints::Hints;
use super::locate::{Lines, Location};
use super::matcher::{self, Haystack, Span};
use super::rewritten::Rewritten;
use super::rules::Rule;
use super::run::{self, Caches};
use super::shared::Shared;
use super::spelt;
use super::survey::Survey;
use super::translate::PatternFault;
use super::utf7;
use super::wide;
use super::wrapped;
use super::yielding;
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
    /// Made when a rule is first tried: there are many rules, and most are never.
    caches: Vec<Option<Box<Caches>>>,
    /// Bytes that were read since the caches were measured.
    unmeasured: usize,
    hints: Hints<'e>,
}

/// What a text holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) hits: Vec<Hit>,
    /// Where something begins that could be a finding if the text went on, and the rule.
    pub(super) open: Option<(usize, usize)>,
}

/// What a text was made of, to tell where in the raw one a match stands.
#[derive(Clone, Copy)]
enum Layer<'t> {
    /// It is the raw text.
    Raw,
    /// Encoded parts of a part of it that begins here were decoded.
    Decoded(&'t Pass, usize),
    /// Escapes were undone, as often as there are levels.
    Unescaped(&'t [Rewritten]),
}

/// A text in one pass.
#[derive(Clone, Copy)]
struct Stage<'t> {
    raw: &'t [u8],
    lines: &'t std::cell::OnceCell<Lines>,
    haystack: Haystack<'t>,
    layer: Layer<'t>,
    place: Place<'t>,
    /// The 1-based line of the item on which the text begins.
    first_line: usize,
    /// The text is a copy of a part of another.
    is_copy: bool,
}

impl<'t> Stage<'t> {
    fn lines(&self) -> &'t Lines {
        self.lines.get_or_init(|| Lines::new(self.raw))
    }
}

/// How much is read round what can be decoded.
const AROUND_DECODED: usize = 1024;
/// How often, in bytes, it is looked at what the automata hold, and how much that may be.
const MEASURED_EVERY: usize = 2 << 20;
const MOST_CACHED: usize = 4 << 20;
/// How often escapes are undone.
const ESCAPE_LEVELS: usize = 2;
impl<'e> Detector<'e> {
    pub(super) fn new(shared: &'e Shared, wanted: Wanted) -> Self {
        let count = shared.count();
        Self {
            shared,
            wanted,
            caches: std::iter::repeat_with(|| None).take(count).collect(),
            unmeasured: 0,
            hints: Hints::new(shared, !wanted.compat),
        }
    }

    /// Everything that is found in a text.
    pub(super) fn detect(&mut self, text: &[u8], first_line: usize, place: Place<'_>) -> Result<Found, PatternFault> {
        let lines = std::cell::OnceCell::new();
        let stage = Stage {
            raw: text,
            lines: &lines,
            haystack: Haystack::new(text),
            layer: Layer::Raw,
            place,
            first_line,
            is_copy: false,
        };
        let mut found = self.read(stage)?;
        if !self.wanted.compat {
            for copy in wide::parts(text).iter().chain(&utf7::parts(text)) {
                self.read_copy(stage, copy, &mut found)?;
            }
        }
        yielding::yield_generic(self.shared, self.wanted.compat, &mut found.hits);
        self.unmeasured += text.len();
        if self.unmeasured >= MEASURED_EVERY {
            self.unmeasured = 0;
            self.bound_caches();
        }
        Ok(found)
    }

    /// Gives back what the automata have built when it is much. Which ones are busy changes with the text,
    /// and they are built again in a moment.
    fn bound_caches(&mut self) {
        let size: usize = self.caches.iter().flatten().map(|caches| caches.size()).sum();
        if size > MOST_CACHED {
            self.caches.iter_mut().for_each(|caches| *caches = None);
        }
    }

    /// What stands in a text as it is, in its strings, and in what it encodes.
    fn read(&mut self, stage: Stage<'_>) -> Result<Found, PatternFault> {
        let mut found = Found::default();
        let text = stage.raw;
        let runs = self.run_pass(stage, &mut found)?;
        if self.wanted.compat {
            self.decode(stage, (0, text.len()), Taste::Compat, &mut found)?;
            return Ok(found);
        }
        for part in escape::parts(text) {
            self.unescape(stage, part, &mut found)?;
        }
        if !stage.is_copy {
            for copy in spelt::parts(text) {
                self.read_copy(stage, &copy, &mut found)?;
            }
            for key in bare::parts(text, &runs) {
                self.read_key(stage, &key, &mut found)?;
            }
        }
        if self.wanted.decode_depth > 0 {
            for copy in wrapped::parts(text, &runs) {
                self.read_copy(stage, &copy, &mut found)?;
            }
            for island in decode::islands(text, &runs, AROUND_DECODED, Taste::Lenient) {
                self.decode(stage, island, Taste::Lenient, &mut found)?;
            }
        }
        Ok(found)
    }

    /// A key that has no marks, as a copy with these; what is found where it stands is not told again.
    fn read_key(&mut self, stage: Stage<'_>, key: &Rewritten, found: &mut Found) -> Result<(), PatternFault> {
        let mut marked = Found::default();
        self.read_copy(stage, key, &mut marked)?;
        let touches = |one: &Hit, other: &Hit| one.span.0 < other.span.1 && other.span.0 < one.span.1;
        marked.hits.retain(|hit| !found.hits.iter().any(|known| known.rule == hit.rule && touches(known, hit)));
        found.hits.append(&mut marked.hits);
        Ok(())
    }

    /// The same for a copy of a part of the text; what is found without the copy is not told again.
    fn read_copy(&mut self, stage: Stage<'_>, copy: &Rewritten, found: &mut Found) -> Result<(), PatternFault> {
        let lines = std::cell::OnceCell::new();
        let haystack = Haystack::new(&copy.text);
        let within = Stage { raw: &copy.text, lines: &lines, haystack, is_copy: true, ..stage };
        let mut hits = self.read(within)?.hits;
        hits.retain(|hit| !hit.is_file);
        for hit in &mut hits {
            hit.span = copy.original_span(hit.span);
            hit.location = stage.lines().locate(stage.raw, hit.span.0, hit.span.1);
            hit.line = stage.lines().plain(stage.raw, hit.span.0, hit.span.1);
        }
        yielding::add_new(hits, &mut found.hits);
        Ok(())
    }

    /// What stands in a part of the raw text once it is decoded, and decoded again.
    fn decode(&mut self, stage: Stage<'_>, part: Span, taste: Taste, found: &mut Found) -> Result<(), PatternFault> {
        let raw = stage.raw.get(part.0..part.1).unwrap_or_default();
        let mut before: Option<Rc<Pass>> = None;
        let mut decoded: Option<Vec<u8>> = None;
        for _ in 0..self.wanted.decode_depth {
            let Some((next, pass)) = decode::pass(decoded.as_deref().unwrap_or(raw), before.take(), taste) else {
                break;
            };
            let stage = Stage { haystack: Haystack::new(&next), layer: Layer::Decoded(&pass, part.0), ..stage };
            self.run_pass(stage, found)?;
            before = Some(Rc::new(pass));
            decoded = Some(next);
        }
        Ok(())
    }

    /// What stands in a part of the raw text once its escapes are undone, and is not found without.
    fn unescape(&mut self, stage: Stage<'_>, part: Span, found: &mut Found) -> Result<(), PatternFault> {
        let mut levels = vec![escape::undone(stage.raw, part)];
        loop {
            let Some(last) = levels.last() else { return Ok(()) };
            let mut deeper = Found::default();
            let stage = Stage { haystack: Haystack::new(&last.text), layer: Layer::Unescaped(&levels), ..stage };
            self.run_pass(stage, &mut deeper)?;
            yielding::add_new(deeper.hits, &mut found.hits);
            if levels.len() >= ESCAPE_LEVELS || escape::parts(&last.text).is_empty() {
                return Ok(());
            }
            let next = escape::undone(&last.text, (0, last.text.len()));
            levels.push(next);
        }
    }

    /// Tries all rules on a text; its long runs of value characters.
    fn run_pass(&mut self, stage: Stage<'_>, found: &mut Found) -> Result<Vec<Span>, PatternFault> {
        let survey = Survey::of(stage.haystack.text);
        if matches!(stage.layer, Layer::Raw) {
            stage.lines.get_or_init(|| Lines::of(stage.raw, Rc::clone(&survey.feeds)));
        }
        // What is decoded is hardly ever met again.
        let recurs = !matches!(stage.layer, Layer::Decoded(..));
        let plain = self.hints.find(stage.haystack, &survey, recurs);
        let stage = Stage { haystack: Haystack { plain: &plain, survey: Some(&survey), ..stage.haystack }, ..stage };
        let touched = self.hints.touched();
        for &rule in &touched {
            let gate = self.hints.gate(rule);
            if !gate.is_shut() {
                self.run_rule(rule, gate, stage, found)?;
            }
        }
        self.hints.settle(touched);
        Ok(survey.runs)
    }

    /// One rule, with what it requires near by.
    fn run_rule(&mut self, place: usize, gate: Gate, stage: Stage<'_>, found: &mut Found) -> Result<(), PatternFault> {
        let rule = self.shared.rule(place);
        if rule.skip_report {
            return Ok(());
        }
        // What is found by other words is tried without a look at its keywords.
        let keywords = rule.prepared.is_some().then(|| Nearby::new(&rule.keywords, stage.haystack.text));
        let (mut hits, open) = self.matches_of(place, rule, (gate, keywords), stage)?;
        // A file that is a finding by its path needs no company.
        if rule.regex.is_some() && !hits.is_empty() && !rule.required.is_empty() {
            self.keep_accompanied(rule, stage, &mut hits)?;
        }
        found.hits.append(&mut hits);
        if let (Some(start), Layer::Raw) = (open, stage.layer)
            && found.open.is_none_or(|(earlier, _)| start < earlier)
        {
            found.open = Some((start, place));
        }
        Ok(())
    }

    fn keep_accompanied(&mut self, rule: &Rule, stage: Stage<'_>, found: &mut Vec<Hit>) -> Result<(), PatternFault> {
        for required in &rule.required {
            // One that is not in force is never satisfied.
            let near = match self.shared.set.find(&required.id) {
                Some(place) => self.matches_of(place, self.shared.rule(place), (Gate::OPEN, None), stage)?.0,
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

    /// The findings of one rule, and where one could begin if the text went on.
    fn matches_of(
        &mut self,
        place: usize,
        rule: &Rule,
        (gate, mut keywords): (Gate, Option<Nearby<'_>>),
        stage: Stage<'_>,
    ) -> Result<(Vec<Hit>, Option<usize>), PatternFault> {
        let nothing = (Vec::new(), None);
        let Some(pattern) = &rule.regex else { return Ok((self.file_itself(place, rule, stage)?, None)) };
        let is_recording = self.hints.is_recording();
        let (Some(method), Some(candidates), Some(caches)) =
            (self.shared.method(place), self.hints.candidates.get_mut(place), self.caches.get_mut(place).map(made))
        else {
            return Ok(nothing);
        };
        if candidates.is_empty() && method.needs_candidates() {
            return Ok(nothing);
        }
        if lists_allow_place(rule, stage.place)? || !path_fits(rule, stage.place)? {
            if is_recording {
                let alive = matcher::alive(method, stage.haystack, candidates, caches);
                self.hints.judged(place, &alive);
            }
            return Ok(nothing);
        }
        let matches = matcher::matches(pattern, method, stage.haystack, (candidates, gate), caches)?;
        self.hints.judged(place, &matches.alive);
        let mut hits = Vec::new();
        for span in matches.spans.into_iter().filter(|&span| gate.is_near(span)) {
            if let Some(hit) = self.judge(place, rule, stage, span)?
                && keywords.as_mut().is_none_or(|keywords| keywords.stand_near(span))
            {
                hits.push(hit);
            }
        }
        Ok((hits, matches.open))
    }

    /// A rule without a regex reports a file by its path, once for each text and never when decoding.
    fn file_itself(&self, place: usize, rule: &Rule, stage: Stage<'_>) -> Result<Vec<Hit>, PatternFault> {
        if !matches!(stage.layer, Layer::Raw)
            || stage.place.anywhere
            || lists_allow_place(rule, stage.place)?
            || !path_fits(rule, stage.place)?
        {
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
        let raw_span = match stage.layer {
            Layer::Raw => (span.0, span.0 + matched.len()),
            Layer::Unescaped(levels) => {
                let original = |place: usize| levels.iter().rev().fold(place, |place, level| level.original(place));
                (original(span.0), original(span.1))
            }
            Layer::Decoded(pass, part_start) => {
                let touched = pass.touched(span);
                if touched.is_empty() {
                    return Ok(None);
                }
                decoded = Some((decode::kinds(touched), pass.depth));
                decoded_line = decode::line(touched, text);
                let original = pass.original(touched, span);
                (part_start + original.0, part_start + original.1)
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
        let (Some(pattern), Some(caches)) = (&rule.regex, self.caches.get_mut(place).map(made)) else {
            return Ok(matched.to_vec());
        };
        if pattern.tree()?.groups == 0 {
            return Ok(matched.to_vec());
        }
        let Some(groups) = run::captures(pattern, matched, caches)? else { return Ok(matched.to_vec()) };
        let text = |span: Option<Span>| span.and_then(|span| matched.get(span.0..span.1)).unwrap_or_default();
        if rule.secret_group > 0 {
            return Ok(groups.get(rule.secret_group).map_or(&[][..], |span| text(*span)).to_vec());
        }
        let first = groups.iter().skip(1).map(|span| text(*span)).find(|group| !group.is_empty());
        Ok(first.unwrap_or(matched).to_vec())
    }

    fn is_allowed(&self, rule: &Rule, place: Place<'_>, targets: Targets<'_>) -> Result<bool, PatternFault> {
        let lower = allowlist::lower(targets.secret);
        // gitleaks takes rules that allow everything. That they are in force is shown all the same.
        let is_exempt = self.wanted.compat && std::ptr::eq(rule, &self.shared.self_test.rule);
        let global = if is_exempt { &[] } else { self.shared.set.allowlists.as_slice() };
        for list in global.iter().chain(&rule.allowlists) {
            if list.allows_finding(place, targets, &lower)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn made(slot: &mut Option<Box<Caches>>) -> &mut Caches {
    slot.get_or_insert_default()
}

fn lists_allow_place(rule: &Rule, place: Place<'_>) -> Result<bool, PatternFault> {
    allowlist::any_allows_place(&rule.allowlists, place)
}

/// Whether a rule of certain paths is asked of bytes that stand at more paths than are known: one that has
/// words of its own tells its kind by them, one without takes whatever stands in a file of that name (a
/// license in every folder would be full of it).
pub(super) fn counts_anywhere(rule: &Rule) -> bool {
    !rule.keywords.is_empty()
}

fn path_fits(rule: &Rule, place: Place<'_>) -> Result<bool, PatternFault> {
    if !rule.demands.wants_path(place.path) {
        return Ok(false);
    }
    match &rule.path {
        Some(_) if place.anywhere => Ok(counts_anywhere(rule)),
        Some(path) => path.is_match(place.path.unwrap_or_default()),
        None => Ok(true),
    }
}

fn trim_line_feeds(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| byte != b'\n').unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| byte != b'\n').map_or(start, |at| at + 1);
    text.get(start..end).unwrap_or_default()
}
