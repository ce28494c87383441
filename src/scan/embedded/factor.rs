//! What must stand in every match of a pattern, and how far from it the match can reach.
//!
//! Promise: when [`plan`] gives factors, every match contains the text of one of them (ignoring ASCII
//! case, with the Kelvin sign for `k` and the long s for `s`) at a distance from the match's start and
//! end which the factor's extents bound. So a search near the places where that text occurs finds all
//! matches, and the same ones, that a search through the whole text would.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::extent::{Extent, extent};
use super::glance::Glance;
use super::lead::Lead;
use super::profile::Profile;
use super::runs::{Run, best_run};
use super::spot::{Front, Piece, Site, Spot, Tail, reversed, sites};
use super::translate::{Look, Node};

/// At most so many different texts are looked for in all texts to find one pattern.
const MOST_TEXTS: usize = 64;
/// At most so many where a rule's keywords say in which parts of a text they are looked for.
const MOST_IN_ALL: usize = 192;
/// A class with more members than this ends a text.
const MOST_MEMBERS: usize = 10;
/// A text longer than this is cut: the rest is checked with what follows it.
const LONGEST_TEXT: usize = 32;
/// A longer tail is checked up to this many bytes only.
pub(super) const LONGEST_CHECK: usize = 4096;
/// The same for what stands before a text.
const LONGEST_FRONT: usize = 512;

/// How to find a pattern's matches.
#[derive(Debug)]
pub(super) enum Plan {
    /// By running it over the whole text.
    Everywhere,
    /// Near the places where one of these texts occurs.
    Near(Vec<Factor>),
    /// Round runs of bytes of a value's length.
    Runs(Box<Surrounded>),
}

/// A run that every match holds, and what can stand round it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surrounded {
    /// Its least length and what it is made of; where it begins does not count.
    pub(super) run: Run,
    pub(super) before: Extent,
    pub(super) after: Extent,
    /// A line ends directly behind it.
    pub(super) at_line_end: bool,
    /// What can stand directly before it, where all are of one length.
    pub(super) lead: Option<Lead>,
    /// The longest match, where it has a bound.
    pub(super) most: Option<usize>,
}

/// A pattern without texts is searched round runs only when they are longer than most words.
const LONG_RUN: usize = 12;

/// The longest run that a flat node's matches hold, when what stands round it has a bound.
fn surrounded(node: &Node) -> Option<Surrounded> {
    let nodes = match node {
        Node::Concat(nodes) => nodes.as_slice(),
        other => std::slice::from_ref(other),
    };
    let bounded = |extent: &Extent| extent.most.is_some_and(|most| most <= LONGEST_CHECK);
    let extents: Vec<Extent> = nodes.iter().map(extent).collect();
    let sum = |range: &[Extent]| Extent::sum(range.iter().copied());
    let mut best: Option<Surrounded> = None;
    for start in 0..nodes.len() {
        let mut inside = Extent::NOTHING;
        for end in start + 1..=nodes.len() {
            inside = inside.then(*extents.get(end - 1)?);
            if !inside.bytes.is_value() {
                break;
            }
            let (before, after) = (sum(extents.get(..start)?), sum(extents.get(end..)?));
            let longer = best.is_none_or(|best| best.run.least < inside.least);
            if inside.least >= LONG_RUN && longer && bounded(&before) && bounded(&after) {
                let run = Run { bytes: inside.bytes, least: inside.least, from: 0, to: 0 };
                let ends_line = nodes.get(end) == Some(&Node::Look(Look::LineEnd));
                let at_line_end = ends_line && !inside.bytes.contains(b'\n');
                let most = before.then(inside).then(after).most;
                let is_fixed = inside.most == Some(inside.least);
                let lead = is_fixed.then(|| Lead::of(nodes.get(..start).into_iter(), &[]));
                best = Some(Surrounded { run, before, after, at_line_end, lead, most });
            }
        }
    }
    best
}

/// Texts one of which is in every match, in the same place of the pattern.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    /// The texts, in lower case.
    pub(super) texts: Vec<Vec<u8>>,
    /// What stands before the text in a match.
    pub(super) before: Extent,
    /// What stands behind it.
    pub(super) after: Extent,
    /// The text, as a pattern.
    text: Arc<[Measured]>,
    /// Everything behind it, innermost first: the rest of each sequence that it stands in.
    behind: Vec<Arc<[Measured]>>,
    /// Everything before it, in the same order.
    fronts: Vec<Arc<[Node]>>,
}

/// A part of a pattern, and what it takes.
#[derive(Clone, Debug)]
struct Measured {
    node: Node,
    extent: Extent,
}

impl Measured {
    fn all(nodes: &[Node]) -> Arc<[Self]> {
        nodes.iter().map(|node| Self { node: node.clone(), extent: extent(node) }).collect()
    }
}

/// How to find a pattern's matches; texts which hold one of `words` are preferred.
pub(super) fn plan(node: &Node, words: &[String]) -> Plan {
    let flat = node.flat();
    match (Search { words, known: RefCell::default() }).factors(&flat) {
        Some(factors) if count(&factors) <= MOST_IN_ALL => Plan::Near(factors),
        Some(_) | None => surrounded(&flat).map_or(Plan::Everywhere, |surrounded| Plan::Runs(Box::new(surrounded))),
    }
}

fn count(factors: &[Factor]) -> usize {
    factors.iter().map(|factor| factor.texts.len()).sum()
}

/// The texts that a (flat) node matches, in lower case, when they are few and nothing else.
fn texts(node: &Node) -> Option<Vec<Vec<u8>>> {
    match node {
        Node::Empty => Some(vec![Vec::new()]),
        // A look takes no text, but a text with one inside is rare; ending it there is simpler.
        Node::Look(_) | Node::AnyByte => None,
        Node::Set(set) => Some(set.few_lower(MOST_MEMBERS)?.into_iter().map(|byte| vec![byte]).collect()),
        Node::Group(_, node) => texts(node),
        Node::Concat(nodes) => nodes.iter().try_fold(vec![Vec::new()], |so_far, node| join(&so_far, &texts(node)?)),
        Node::Either(nodes) => {
            let mut all = Vec::new();
            for node in nodes {
                for text in texts(node)? {
                    if !all.contains(&text) {
                        all.push(text);
                    }
                }
            }
            (all.len() <= MOST_TEXTS).then_some(all)
        }
        Node::Repeat { node, least, most: Some(most), .. } if most == least && *most <= 16 => {
            let one = texts(node)?;
            (0..*least).try_fold(vec![Vec::new()], |so_far, _| join(&so_far, &one))
        }
        Node::Repeat { node, least: 0, most: Some(1), .. } => {
            let mut all = texts(node)?;
            all.push(Vec::new());
            Some(all)
        }
        Node::Repeat { .. } => None,
    }
}

fn join(first: &[Vec<u8>], second: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let mut joined = Vec::with_capacity(first.len() * second.len());
    for one in first {
        for other in second {
            let text = [one.as_slice(), other].concat();
            if text.len() > LONGEST_TEXT {
                return None;
            }
            joined.push(text);
        }
    }
    (joined.len() <= MOST_TEXTS).then_some(joined)
}

/// A part that matches whatever follows.
fn anything() -> Node {
    Node::Repeat { node: Box::new(Node::AnyByte), least: 0, most: None, greedy: false }
}

/// How good texts are by themselves: longer is better, up to a point; many are worse than few.
fn plain_score(texts: &[Vec<u8>]) -> usize {
    let shortest = texts.iter().map(Vec::len).min().unwrap_or(0);
    if shortest < 2 {
        return 0;
    }
    shortest.min(8) * 64 + (MOST_TEXTS - texts.len().min(MOST_TEXTS))
}

/// A search for the best factors.
struct Search<'w> {
    words: &'w [String],
    /// The quality of parts, by where they are: a flat node stays where it is while it is searched.
    known: RefCell<HashMap<*const Node, Option<usize>>>,
}

impl Search<'_> {
    /// How good texts are for finding a pattern; 0 is none at all. Those that hold a word are better
    /// than all others.
    fn score(&self, texts: &[Vec<u8>]) -> usize {
        let plain = plain_score(texts);
        let known = |text: &Vec<u8>| {
            let mut words = self.words.iter().filter(|word| !word.is_empty());
            words.any(|word| text.windows(word.len()).any(|there| there == word.as_bytes()))
        };
        if plain > 0 && texts.iter().all(known) { plain + (1 << 16) } else { plain }
    }

    /// The texts of a node that can be its only factor.
    fn own_texts(&self, node: &Node) -> Option<Vec<Vec<u8>>> {
        texts(node).filter(|texts| self.score(texts) > 0)
    }

    /// How good the factors of a flat node are, without making them: as good as the worst.
    fn quality(&self, node: &Node) -> Option<usize> {
        let place = std::ptr::from_ref(node);
        if let Some(known) = self.known.borrow().get(&place) {
            return *known;
        }
        let quality = self.worked_out(node);
        self.known.borrow_mut().insert(place, quality);
        quality
    }

    fn worked_out(&self, node: &Node) -> Option<usize> {
        match node {
            Node::Concat(nodes) => Some(self.best_of_sequence(nodes)?.0),
            Node::Either(nodes) => match self.own_texts(node) {
                Some(texts) => Some(self.score(&texts)),
                None => nodes.iter().map(|node| self.quality(node)).min().flatten(),
            },
            Node::Repeat { node: inner, least, .. } if *least >= 1 => match self.own_texts(node) {
                Some(texts) => Some(self.score(&texts)),
                None => self.quality(inner),
            },
            Node::Set(_) | Node::Group(..) => Some(self.score(&self.own_texts(node)?)),
            Node::Empty | Node::AnyByte | Node::Look(_) | Node::Repeat { .. } => None,
        }
    }

    /// The best factors of a flat node.
    fn factors(&self, node: &Node) -> Option<Vec<Factor>> {
        match node {
            Node::Concat(nodes) => self.of_sequence(nodes),
            Node::Either(nodes) => {
                if let Some(texts) = self.own_texts(node) {
                    return Some(vec![Factor::of(texts, std::slice::from_ref(node))]);
                }
                let mut all = Vec::new();
                for node in nodes {
                    all.extend(self.factors(node)?);
                }
                Some(all)
            }
            Node::Repeat { node: inner, least, .. } if *least >= 1 => {
                if let Some(texts) = self.own_texts(node) {
                    return Some(vec![Factor::of(texts, std::slice::from_ref(node))]);
                }
                // The text may stand in any of the rounds, so the others are before or behind it.
                let rounds = extent(node);
                let mut inner = self.factors(inner)?;
                for factor in &mut inner {
                    factor.before = rounds.then(factor.before);
                    factor.after = factor.after.then(rounds);
                    factor.before.least = 0;
                    factor.fronts = vec![Arc::from([anything()])];
                    // Nothing certain can be said of what follows one round.
                    factor.behind = vec![Measured::all(&[anything()])];
                }
                Some(inner)
            }
            Node::Set(_) | Node::Group(..) => Some(vec![Factor::of(self.own_texts(node)?, std::slice::from_ref(node))]),
            Node::Empty | Node::AnyByte | Node::Look(_) | Node::Repeat { .. } => None,
        }
    }

    fn of_sequence(&self, nodes: &[Node]) -> Option<Vec<Factor>> {
        let (start, end, factors) = match self.best_of_sequence(nodes)?.1 {
            Choice::Run { start, end, texts } => (start, end, vec![Factor::of(texts, nodes.get(start..end)?)]),
            Choice::Inner(at) => (at, at + 1, self.factors(nodes.get(at)?)?),
        };
        let before = nodes.get(..start)?;
        let front: Arc<[Node]> = before.into();
        let before = Extent::sum(before.iter().map(extent));
        let rest = Measured::all(nodes.get(end..)?);
        let after = Extent::sum(rest.iter().map(|part| part.extent));
        let within = |factor: Factor| factor.within((&front, before), (&rest, after));
        Some(factors.into_iter().map(within).collect())
    }

    /// By what a sequence is best found, and how good that is.
    fn best_of_sequence(&self, nodes: &[Node]) -> Option<(usize, Choice)> {
        let parts: Vec<Option<Vec<Vec<u8>>>> = nodes.iter().map(texts).collect();
        let mut best: Option<(usize, Choice)> = None;
        for (at, node) in nodes.iter().enumerate() {
            let (end, texts) = longest_run(&parts, at);
            let (score, choice) = if end > at {
                (self.score(&texts), Choice::Run { start: at, end, texts })
            } else if let Some(score) = self.quality(node) {
                (score, Choice::Inner(at))
            } else {
                continue;
            };
            if best.as_ref().is_none_or(|(best, _)| score > *best) {
                best = Some((score, choice));
            }
        }
        best
    }
}

/// What a sequence is to be found by.
enum Choice {
    /// A run of its parts that match few texts.
    Run { start: usize, end: usize, texts: Vec<Vec<u8>> },
    /// What this part is to be found by.
    Inner(usize),
}

/// A text of this length is as good as a longer one.
const LONG_ENOUGH: usize = 16;

/// The best run of parts from `start` on which together match few texts only; `parts` are the texts of each.
fn longest_run(parts: &[Option<Vec<Vec<u8>>>], start: usize) -> (usize, Vec<Vec<u8>>) {
    let mut run = vec![Vec::new()];
    let (mut end, mut best_score) = (start, 0);
    for (place, part) in parts.iter().enumerate().skip(start) {
        if part.as_ref().and_then(|texts| extend(&mut run, texts)).is_none() {
            break;
        }
        let score = plain_score(&run);
        // An optional part at the end makes a text worse, unless more follows it.
        if score > best_score {
            (end, best_score) = (place + 1, score);
        }
        if run.iter().all(|text| text.len() >= LONG_ENOUGH) {
            break;
        }
    }
    let mut best = vec![Vec::new()];
    for texts in parts.get(start..end).unwrap_or_default().iter().flatten() {
        // What went well a moment ago does so again.
        let _joined = extend(&mut best, texts);
    }
    (end, best)
}

/// The same as [`join`], in place where it is one text only.
fn extend(run: &mut Vec<Vec<u8>>, texts: &[Vec<u8>]) -> Option<()> {
    match texts {
        [one] if run.iter().all(|text| text.len() + one.len() <= LONGEST_TEXT) => {
            run.iter_mut().for_each(|text| text.extend_from_slice(one));
        }
        _ => *run = join(run, texts)?,
    }
    Some(())
}

impl Factor {
    fn of(texts: Vec<Vec<u8>>, nodes: &[Node]) -> Self {
        Self {
            texts,
            before: Extent::NOTHING,
            after: Extent::NOTHING,
            text: Measured::all(nodes),
            behind: Vec::new(),
            fronts: Vec::new(),
        }
    }

    /// The same factor when its node is a part of a sequence.
    fn within(mut self, (front, before): (&Arc<[Node]>, Extent), (rest, after): (&Arc<[Measured]>, Extent)) -> Self {
        self.before = before.then(self.before);
        self.after = self.after.then(after);
        if !front.is_empty() {
            self.fronts.push(Arc::clone(front));
        }
        if !rest.is_empty() {
            self.behind.push(Arc::clone(rest));
        }
        self
    }

    fn behind(&self) -> impl Iterator<Item = &Measured> {
        self.behind.iter().flat_map(|parts| parts.iter())
    }

    /// What is needed at a place where the text occurs.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            texts: self.texts.clone(),
            before: self.before,
            after: self.after,
            lead: self.lead(),
            run: self.run(),
            profile: self.profile(),
            tail: self.bounded_tail(),
            front: self.bounded_front(),
        }
    }

    /// As much of what stands before the text as has a bound, from right to left.
    fn bounded_front(&self) -> Front {
        let mut reach = 0;
        let nodes = self.fronts.iter().flat_map(|front| front.iter().rev());
        let bounded = nodes.map_while(|node| {
            let extent = extent(node);
            let most = extent.most.filter(|most| reach + most <= LONGEST_FRONT)?;
            reach += most;
            let node = reversed(node);
            Some(Piece { entry: Profile::entry(&node), node, bytes: extent.bytes })
        });
        let pieces = bounded.collect();
        Front { pieces, reach }
    }

    /// Which bytes can stand behind the text.
    fn profile(&self) -> Profile {
        Profile::of(self.behind().map(|part| &part.node))
    }

    /// What can stand directly before the text.
    fn lead(&self) -> Lead {
        Lead::of(self.fronts.iter().map(|front| &**front), &self.texts)
    }

    /// The text and as much of what stands behind it as has a bound.
    fn bounded_tail(&self) -> Tail {
        let mut so_far = Extent::NOTHING;
        let bounded = self.behind().take_while(|part| {
            so_far = so_far.then(part.extent);
            so_far.most.is_some_and(|most| most <= LONGEST_CHECK)
        });
        let behind: Vec<&Measured> = bounded.collect();
        let parts = self.text.iter().chain(behind.iter().copied());
        let reach = Extent::sum(parts.map(|part| part.extent)).most_ascii;
        let piece = |part: &Measured| {
            let entry = Profile::entry(&part.node);
            Piece { node: part.node.clone(), bytes: part.extent.bytes, entry }
        };
        Tail {
            text: self.text.iter().map(piece).collect(),
            behind: behind.into_iter().map(piece).collect(),
            // One more byte decides a word boundary at the end.
            reach: reach.unwrap_or(LONGEST_CHECK) + 1,
        }
    }

    /// A run of bytes that must stand behind the text, not far from it, and what it may hold.
    fn run(&self) -> Option<Run> {
        let parts: Vec<(&Node, Extent)> = self.behind().map(|part| (&part.node, part.extent)).collect();
        best_run(&parts)
    }
}

/// The words near which all matches of a pattern are, and what must stand behind each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) words: Vec<String>,
    /// Counted from the beginning of the word.
    pub(super) runs: Vec<Option<Run>>,
    /// What stands directly round each.
    pub(super) glances: Vec<Glance>,
}

/// Words for a pattern: `keywords` where they tell its places, its own texts where not; `None` when
/// neither does.
pub(super) fn prepare(node: &Node, keywords: &[String]) -> Option<Prepared> {
    let usable = |word: &String| word.len() >= 2 && word.is_ascii();
    let mut words: Vec<String> = keywords.to_vec();
    for _ in 0..2 {
        let Plan::Near(factors) = plan(node, &words) else { return None };
        if let Some(sites) = sites(&factors, &words).filter(|_| words.iter().all(usable)) {
            // A word that a shorter one stands in tells nothing more.
            let told = words.into_iter().zip(sites).filter(|(_, sites)| !sites.is_empty());
            let round = Rounds::of(&factors);
            let told = told.map(|(word, sites)| {
                let glance = round.glance(&word, &sites);
                ((word, run_behind(&factors, &sites)), glance)
            });
            let (told, glances): (Vec<_>, Vec<Glance>) = told.unzip();
            let (words, runs): (Vec<String>, Vec<Option<Run>>) = told.into_iter().unzip();
            // Two letters are everywhere.
            let tells = |(word, run): (&String, &Option<Run>)| word.len() > 2 || run.is_some();
            return words.iter().zip(&runs).all(tells).then_some(Prepared { words, runs, glances });
        }
        if count(&factors) > MOST_IN_ALL {
            return None;
        }
        let texts = factors.iter().flat_map(|factor| &factor.texts);
        words = texts.map(|text| String::from_utf8(text.clone()).ok()).collect::<Option<_>>()?;
        words.sort_unstable();
        words.dedup();
    }
    None
}

/// What stands directly round the texts of factors.
struct Rounds<'f>(Vec<(&'f Factor, Lead, Profile)>);

impl<'f> Rounds<'f> {
    fn of(factors: &'f [Factor]) -> Self {
        Self(factors.iter().map(|factor| (factor, factor.lead(), factor.profile())).collect())
    }

    /// What stands round a word at any of its sites.
    fn glance(&self, word: &str, sites: &[Site]) -> Glance {
        let one = |site: &Site| {
            let (factor, lead, profile) = self.0.get(usize::from(site.spot))?;
            let text = factor.texts.get(usize::from(site.text))?;
            Some(Glance::of(word.as_bytes(), (text, usize::from(site.offset)), *lead, &profile.places))
        };
        let all = sites.iter().map(one).reduce(|one, other| Some(one?.or(other?)));
        all.flatten().unwrap_or(Glance::ANY)
    }
}

/// What must stand behind a word for any of the sites to be a match.
fn run_behind(factors: &[Factor], sites: &[Site]) -> Option<Run> {
    let mut all: Option<Run> = None;
    for site in sites {
        let factor = factors.get(usize::from(site.spot))?;
        let ahead = factor.texts.get(usize::from(site.text))?.len().checked_sub(usize::from(site.offset))?;
        let run = factor.run()?;
        let moved = Run { from: run.from + ahead, to: run.to + ahead, ..run };
        all = Some(all.map_or(moved, |so_far: Run| so_far.or(moved)));
    }
    all
}
