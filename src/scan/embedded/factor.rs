//! What must stand in every match of a pattern, and how far from it the match can reach.
//!
//! Promise: when [`plan`] gives factors, every match contains the text of one of them (ignoring ASCII
//! case, with the Kelvin sign for `k` and the long s for `s`) at a distance from the match's start and
//! end which the factor's extents bound. So a search near the places where that text occurs finds all
//! matches, and the same ones, that a search through the whole text would.

use std::sync::Arc;

use super::class::{ByteSet, CodeSet, Table};
use super::translate::{Look, Node};

/// At most so many different texts are looked for to find one pattern.
const MOST_TEXTS: usize = 64;
/// A class with more members than this ends a text.
const MOST_MEMBERS: usize = 10;
/// A text longer than this is cut: the rest is checked with what follows it.
const LONGEST_TEXT: usize = 32;
/// So many bytes behind a text are checked one by one before a regex is started.
pub(super) const PROFILE: usize = 32;
/// A longer tail is checked up to this many bytes only.
pub(super) const LONGEST_CHECK: usize = 4096;

/// How to find a pattern's matches.
#[derive(Debug)]
pub(super) enum Plan {
    /// By running it over the whole text.
    Everywhere,
    /// Near the places where one of these texts occurs.
    Near(Vec<Factor>),
    /// Round runs of bytes of a value's length.
    Runs(Surrounded),
}

/// A run that every match holds, and what can stand round it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surrounded {
    /// Its least length and what it is made of; where it begins does not count.
    pub(super) run: Run,
    pub(super) before: Extent,
    pub(super) after: Extent,
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
    let sum = |nodes: &[Node]| nodes.iter().map(extent).fold(Extent::NOTHING, Extent::then);
    let mut best: Option<Surrounded> = None;
    for start in 0..nodes.len() {
        for end in start + 1..=nodes.len() {
            let inside = sum(nodes.get(start..end)?);
            if !inside.bytes.is_value() {
                break;
            }
            let (before, after) = (sum(nodes.get(..start)?), sum(nodes.get(end..)?));
            let longer = best.is_none_or(|best| best.run.least < inside.least);
            if inside.least >= LONG_RUN && longer && bounded(&before) && bounded(&after) {
                let run = Run { bytes: inside.bytes, least: inside.least, from: 0, to: 0 };
                best = Some(Surrounded { run, before, after });
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
    /// The text and everything behind it, as a pattern.
    pub(super) tail: Vec<Node>,
    /// How many parts of the tail are the text.
    text_parts: usize,
    /// What directly before the text asks for a place.
    pub(super) word_before: bool,
}

/// How much text a part of a pattern takes, and which bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) least: usize,
    /// In any text; `None` without bound.
    pub(super) most: Option<usize>,
    /// In ASCII text; `None` without bound.
    pub(super) most_ascii: Option<usize>,
    pub(super) bytes: ByteSet,
}

impl Extent {
    const NOTHING: Self = Self { least: 0, most: Some(0), most_ascii: Some(0), bytes: EMPTY };

    fn then(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            most: add(self.most, other.most),
            most_ascii: add(self.most_ascii, other.most_ascii),
            bytes: self.bytes.union(other.bytes),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: larger(self.most, other.most),
            most_ascii: larger(self.most_ascii, other.most_ascii),
            bytes: self.bytes.union(other.bytes),
        }
    }

    fn times(self, least: u32, most: Option<u32>) -> Self {
        let count = |times: u32| usize::try_from(times).unwrap_or(usize::MAX);
        let bound = |one: Option<usize>| match (one, most) {
            (Some(0), _) => Some(0),
            (Some(one), Some(most)) => Some(one.saturating_mul(count(most))),
            (None, Some(0)) => Some(0),
            (None, _) | (_, None) => None,
        };
        Self {
            least: self.least.saturating_mul(count(least)),
            most: bound(self.most),
            most_ascii: bound(self.most_ascii),
            bytes: self.bytes,
        }
    }
}

const EMPTY: ByteSet = ByteSet::NONE;

fn add(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    Some(one?.saturating_add(other?))
}

fn larger(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    Some(one?.max(other?))
}

/// The longest match of a pattern in bytes, where there is a bound.
pub(super) fn widest(node: &Node) -> Option<usize> {
    extent(node).most
}

/// How to find a pattern's matches; texts which hold one of `words` are preferred.
pub(super) fn plan(node: &Node, words: &[String]) -> Plan {
    let flat = node.flat();
    match (Search { words }).factors(&flat) {
        Some(factors) if factors.iter().map(|factor| factor.texts.len()).sum::<usize>() <= MOST_TEXTS => {
            Plan::Near(factors)
        }
        Some(_) | None => surrounded(&flat).map_or(Plan::Everywhere, Plan::Runs),
    }
}

fn extent(node: &Node) -> Extent {
    match node {
        Node::Empty | Node::Look(_) => Extent::NOTHING,
        Node::AnyByte => Extent { least: 1, most: Some(1), most_ascii: Some(1), bytes: ByteSet::ALL },
        Node::Set(set) => {
            let (least, most) = set.lengths();
            Extent { least, most: Some(most), most_ascii: Some(1), bytes: set.byte_set() }
        }
        Node::Group(_, node) => extent(node),
        Node::Concat(nodes) => nodes.iter().map(extent).fold(Extent::NOTHING, Extent::then),
        Node::Either(nodes) => nodes.iter().map(extent).reduce(Extent::or).unwrap_or(Extent::NOTHING),
        Node::Repeat { node, least, most, .. } => extent(node).times(*least, *most),
    }
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
}

impl Search<'_> {
    /// How good texts are for finding a pattern; 0 is none at all. Those that hold a word are better
    /// than all others.
    fn score(&self, texts: &[Vec<u8>]) -> usize {
        let plain = plain_score(texts);
        let known = |text: &Vec<u8>| {
            let mut words = self.words.iter().filter(|word| !word.is_empty());
            words.any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
        };
        if plain > 0 && texts.iter().all(known) { plain + (1 << 16) } else { plain }
    }

    fn total_score(&self, factors: &[Factor]) -> usize {
        factors.iter().map(|factor| self.score(&factor.texts)).min().unwrap_or(0)
    }

    /// The best factors of a flat node.
    fn factors(&self, node: &Node) -> Option<Vec<Factor>> {
        match node {
            Node::Concat(nodes) => self.best_of_sequence(nodes),
            Node::Either(nodes) => {
                if let Some(texts) = texts(node).filter(|texts| self.score(texts) > 0) {
                    return Some(vec![Factor::of(texts, vec![node.clone()])]);
                }
                let mut all = Vec::new();
                for node in nodes {
                    all.extend(self.factors(node)?);
                }
                Some(all)
            }
            Node::Repeat { node: inner, least, .. } if *least >= 1 => {
                if let Some(texts) = texts(node).filter(|texts| self.score(texts) > 0) {
                    return Some(vec![Factor::of(texts, vec![node.clone()])]);
                }
                // The text may stand in any of the rounds, so the others are before or behind it.
                let rounds = extent(node);
                let mut inner = self.factors(inner)?;
                for factor in &mut inner {
                    factor.before = rounds.then(factor.before);
                    factor.after = factor.after.then(rounds);
                    factor.before.least = 0;
                    factor.word_before = false;
                    // Nothing certain can be said of what follows one round.
                    factor.tail.truncate(factor.text_parts);
                    factor.tail.push(anything());
                    factor.text_parts = factor.tail.len() - 1;
                }
                Some(inner)
            }
            Node::Set(_) | Node::Group(..) => {
                let texts = texts(node).filter(|texts| self.score(texts) > 0)?;
                Some(vec![Factor::of(texts, vec![node.clone()])])
            }
            Node::Empty | Node::AnyByte | Node::Look(_) | Node::Repeat { .. } => None,
        }
    }

    fn best_of_sequence(&self, nodes: &[Node]) -> Option<Vec<Factor>> {
        let mut best: Option<(usize, Choice)> = None;
        for at in 0..nodes.len() {
            let (end, texts) = longest_run(nodes, at);
            let (score, choice) = if end > at {
                (self.score(&texts), Choice::Run { start: at, end, texts })
            } else if let Some(factors) = nodes.get(at).and_then(|node| self.factors(node)) {
                (self.total_score(&factors), Choice::Inner { at, factors })
            } else {
                continue;
            };
            if best.as_ref().is_none_or(|(best, _)| score > *best) {
                best = Some((score, choice));
            }
        }
        Some(match best?.1 {
            Choice::Run { start, end, texts } => {
                vec![Factor::of(texts, nodes.get(start..end)?.to_vec()).within(nodes, start, end)]
            }
            Choice::Inner { at, factors } => {
                factors.into_iter().map(|factor| factor.within(nodes, at, at + 1)).collect()
            }
        })
    }
}

/// What a sequence is to be found by.
enum Choice {
    /// A run of its parts that match few texts.
    Run { start: usize, end: usize, texts: Vec<Vec<u8>> },
    /// What one part is to be found by.
    Inner { at: usize, factors: Vec<Factor> },
}

/// A text of this length is as good as a longer one.
const LONG_ENOUGH: usize = 16;

/// The best run of parts from `start` on which together match few texts only.
fn longest_run(nodes: &[Node], start: usize) -> (usize, Vec<Vec<u8>>) {
    let mut run = vec![Vec::new()];
    let mut best = (start, run.clone());
    let mut best_score = 0;
    for (place, node) in nodes.iter().enumerate().skip(start) {
        let Some(longer) = texts(node).and_then(|texts| join(&run, &texts)) else { break };
        run = longer;
        let score = plain_score(&run);
        // An optional part at the end makes a text worse, unless more follows it.
        if score > best_score {
            best = (place + 1, run.clone());
            best_score = score;
        }
        if run.iter().all(|text| text.len() >= LONG_ENOUGH) {
            break;
        }
    }
    best
}

impl Factor {
    fn of(texts: Vec<Vec<u8>>, tail: Vec<Node>) -> Self {
        let text_parts = tail.len();
        Self { texts, before: Extent::NOTHING, after: Extent::NOTHING, tail, text_parts, word_before: false }
    }

    /// The same factor when its node is the part `start..end` of a sequence.
    fn within(mut self, nodes: &[Node], start: usize, end: usize) -> Self {
        let before = nodes.get(..start).unwrap_or_default();
        let after = nodes.get(end..).unwrap_or_default();
        if self.before == Extent::NOTHING {
            self.word_before |= before.last() == Some(&Node::Look(Look::Word));
        }
        self.before = before.iter().map(extent).fold(Extent::NOTHING, Extent::then).then(self.before);
        self.after = after.iter().map(extent).fold(self.after, Extent::then);
        self.tail.extend_from_slice(after);
        self
    }

    /// As much of the tail as has a bound.
    pub(super) fn bounded_tail(&self) -> &[Node] {
        let mut so_far = Extent::NOTHING;
        let bounded = self.tail.iter().take_while(|node| {
            so_far = so_far.then(extent(node));
            so_far.most.is_some_and(|most| most <= LONGEST_CHECK)
        });
        let count = bounded.count();
        self.tail.get(..count).unwrap_or_default()
    }

    /// How many bytes of ASCII text a check from the text on can reach: of the bounded tail, or of
    /// everything behind the text.
    pub(super) fn reach(&self, whole: bool) -> usize {
        let nodes = if whole { &self.tail } else { self.bounded_tail() };
        let reach = nodes.iter().map(extent).fold(Extent::NOTHING, Extent::then).most_ascii;
        // One more byte decides a word boundary at the end.
        reach.unwrap_or(LONGEST_CHECK) + 1
    }

    /// A run of bytes that must stand behind the text, not far from it, and what it may hold.
    pub(super) fn run(&self) -> Option<Run> {
        best_run(self.tail.get(self.text_parts..).unwrap_or_default())
    }

    /// For each of the first [`PROFILE`] bytes behind the text: which bytes can stand there.
    pub(super) fn profile(&self) -> Profile {
        let rest = self.tail.get(self.text_parts..).unwrap_or_default();
        let mut profile = Profile { allowed: vec![0; 256], length: PROFILE };
        let mut ends = 1_u64;
        for node in rest {
            ends = profile.walk(node, ends);
        }
        // Where the pattern can end, anything may follow.
        profile.length = (ends | 1 << PROFILE).trailing_zeros() as usize;
        profile
    }
}

/// A run of bytes near a text, without which the pattern cannot match there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) bytes: ByteSet,
    /// Its least length.
    pub(super) least: usize,
    /// Where it can begin, counted from the end of the text.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// A run that is looked for often.
#[derive(Clone, Debug)]
pub(super) struct FastRun {
    pub(super) run: Run,
    table: Arc<Table>,
}

impl FastRun {
    pub(super) fn new(run: Run) -> Self {
        Self { run, table: Arc::new(run.bytes.table()) }
    }

    /// The same with a table that was made already.
    pub(super) fn with_table(run: Run, table: Arc<Table>) -> Self {
        Self { run, table }
    }

    /// Whether there is one in what stands behind a text.
    #[inline]
    pub(super) fn stands_in(&self, behind: &[u8]) -> bool {
        let Run { least, from, to, .. } = self.run;
        let mut begin = from;
        // Looked at from the back: the last byte that does not belong says where the next can begin.
        while begin <= to {
            let Some(window) = behind.get(begin..begin + least) else { return false };
            match window.iter().rposition(|&byte| !self.table.contains(byte)) {
                None => return true,
                Some(at) => begin += at + 1,
            }
        }
        false
    }

    /// Every longest run in a text, in order.
    pub(super) fn all_in(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let least = self.run.least.max(1);
        let (mut floor, mut probe) = (0, least - 1);
        let belongs = |byte: &u8| self.table.contains(*byte);
        // A run covers one of any `least` places in a row, so the others need no look.
        while let Some(byte) = text.get(probe) {
            if !belongs(byte) {
                floor = probe + 1;
                probe += least;
                continue;
            }
            // It would hold one of the two places half its length away.
            let half = least / 2;
            if let (Some(before), Some(behind)) =
                (probe.checked_sub(half).and_then(|at| text.get(at)), text.get(probe + half))
                && !belongs(behind)
                && (!belongs(before) || probe - half < floor)
            {
                floor = probe + half + 1;
                probe = floor + least - 1;
                continue;
            }
            let front = text.get(floor..probe).unwrap_or_default();
            let start = front.iter().rposition(|byte| !belongs(byte)).map_or(floor, |at| floor + at + 1);
            // Looked at from the back again: most are too short.
            let needed = text.get(probe..start + least).unwrap_or_default();
            if let Some(at) = needed.iter().rposition(|byte| !belongs(byte)) {
                floor = probe + at + 1;
                probe = floor + least - 1;
                continue;
            }
            let rest = text.get(probe..).unwrap_or_default();
            let end = rest.iter().position(|byte| !belongs(byte)).map_or(text.len(), |at| probe + at);
            if end - start >= least {
                runs.push((start, end));
            }
            floor = end + 1;
            probe = end + least;
        }
        runs
    }
}

/// The longest run that every text of a sequence holds.
fn best_run(nodes: &[Node]) -> Option<Run> {
    let mut best: Option<Run> = None;
    let mut before = Extent::NOTHING;
    let extents: Vec<Extent> = nodes.iter().map(extent).collect();
    for (place, node) in nodes.iter().enumerate() {
        let Some(farthest) = before.most.filter(|&most| most <= FARTHEST_RUN) else { return best };
        let mut consider = |run: Run| {
            if run.least >= SHORTEST_RUN && best.is_none_or(|best| best.least < run.least) {
                best = Some(run);
            }
        };
        let mut inside = Extent::NOTHING;
        for part in extents.get(place..).unwrap_or_default() {
            inside = inside.then(*part);
            if !inside.bytes.is_value() {
                break;
            }
            consider(Run { bytes: inside.bytes, least: inside.least, from: before.least, to: farthest });
        }
        if let Node::Either(branches) = node
            && let Some(run) = run_of_any(branches)
        {
            consider(Run { from: run.from + before.least, to: run.to + farthest, ..run });
        }
        before = extents.get(place).map_or(before, |part| before.then(*part));
    }
    best
}

/// A run that stands in a text of any of the branches.
fn run_of_any(branches: &[Node]) -> Option<Run> {
    let mut runs = branches.iter().map(|branch| match branch {
        Node::Concat(nodes) => best_run(nodes),
        other => best_run(std::slice::from_ref(other)),
    });
    let first = runs.next()??;
    runs.try_fold(first, |all, run| Some(all.or(run?)))
}

/// A shorter run decides nothing.
const SHORTEST_RUN: usize = 6;
/// A run that can be farther off is not looked for, in bytes.
const FARTHEST_RUN: usize = 512;

impl Run {
    fn or(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.union(other.bytes),
            least: self.least.min(other.least),
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}

/// A text relative to a word in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) factor: u16,
    pub(super) text: u16,
    pub(super) offset: u16,
}

/// For each word where the factors' texts stand relative to it; `None` when some text holds none.
pub(super) fn sites(factors: &[Factor], words: &[String]) -> Option<Vec<Vec<Site>>> {
    let mut sites = vec![Vec::new(); words.len()];
    for (factor_place, factor) in factors.iter().enumerate() {
        for (text_place, text) in factor.texts.iter().enumerate() {
            let (word, offset) = words.iter().enumerate().find_map(|(place, word)| {
                let offset = (!word.is_empty()).then(|| memchr::memmem::find(text, word.as_bytes()))??;
                Some((place, offset))
            })?;
            sites.get_mut(word)?.push(Site {
                factor: u16::try_from(factor_place).ok()?,
                text: u16::try_from(text_place).ok()?,
                offset: u16::try_from(offset).ok()?,
            });
        }
    }
    Some(sites)
}

/// The words near which all matches of a pattern are, and what must stand behind each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) words: Vec<String>,
    /// Counted from the beginning of the word.
    pub(super) runs: Vec<Option<Run>>,
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
            let told = told.map(|(word, sites)| (word, run_behind(&factors, &sites)));
            let (words, runs) = told.unzip();
            return Some(Prepared { words, runs });
        }
        let texts = factors.iter().flat_map(|factor| &factor.texts);
        words = texts.map(|text| String::from_utf8(text.clone()).ok()).collect::<Option<_>>()?;
        words.sort_unstable();
        words.dedup();
    }
    None
}

/// What must stand behind a word for any of the sites to be a match.
fn run_behind(factors: &[Factor], sites: &[Site]) -> Option<Run> {
    let mut all: Option<Run> = None;
    for site in sites {
        let factor = factors.get(usize::from(site.factor))?;
        let ahead = factor.texts.get(usize::from(site.text))?.len().checked_sub(usize::from(site.offset))?;
        let run = factor.run()?;
        let moved = Run { from: run.from + ahead, to: run.to + ahead, ..run };
        all = Some(all.map_or(moved, |so_far: Run| so_far.or(moved)));
    }
    all
}

/// Positions 0 to [`PROFILE`] as bits.
const WITHIN: u64 = (1 << (PROFILE + 1)) - 1;

/// Which bytes can stand at which distance behind a text.
#[derive(Debug)]
pub(super) struct Profile {
    /// For each byte a bit per distance.
    allowed: Vec<u32>,
    /// How many distances are bound at all.
    length: usize,
}

impl Profile {
    /// Adds what `node` can hold when it starts at one of the distances `starts`; where it can end.
    fn walk(&mut self, node: &Node, starts: u64) -> u64 {
        match node {
            Node::Empty | Node::Look(_) => starts,
            Node::AnyByte => {
                self.allow(ByteSet::ALL, starts);
                starts << 1 & WITHIN
            }
            Node::Set(set) => self.walk_set_repeated(set, starts, 1, Some(1)),
            Node::Group(_, node) => self.walk(node, starts),
            Node::Concat(nodes) => nodes.iter().fold(starts, |starts, node| self.walk(node, starts)),
            Node::Either(nodes) => nodes.iter().fold(0, |ends, node| ends | self.walk(node, starts)),
            Node::Repeat { node, least, most, .. } => {
                if let Node::Set(set) = &**node {
                    return self.walk_set_repeated(set, starts, *least, *most);
                }
                let mut ends = if *least == 0 { starts } else { 0 };
                let mut round = starts;
                let rounds = most.unwrap_or(u32::MAX).min(*least + PROFILE as u32 + 1);
                for count in 1..=rounds {
                    round = self.walk(node, round);
                    if count >= *least {
                        if ends | round == ends && round != 0 {
                            break;
                        }
                        ends |= round;
                    }
                    if round == 0 {
                        break;
                    }
                }
                ends
            }
        }
    }

    /// The most frequent case, in one step instead of one per round.
    fn walk_set_repeated(&mut self, set: &CodeSet, starts: u64, least: u32, most: Option<u32>) -> u64 {
        let (shortest, longest) = set.lengths();
        let mut ends = if least == 0 { starts } else { 0 };
        let (mut round, mut held) = (starts, 0);
        for count in 1..=most.unwrap_or(u32::MAX).min(least.saturating_add(PROFILE as u32 + 1)) {
            (0..longest).for_each(|offset| held |= round << offset);
            round = (shortest..=longest).fold(0, |ends, length| ends | round << length) & WITHIN;
            if count >= least {
                ends |= round;
            }
            if round == 0 {
                break;
            }
        }
        self.allow(set.byte_set(), held);
        ends
    }

    fn allow(&mut self, bytes: ByteSet, at: u64) {
        let bits = u32::try_from(at & (WITHIN >> 1)).unwrap_or(u32::MAX);
        for byte in bytes.iter() {
            if let Some(allowed) = self.allowed.get_mut(usize::from(byte)) {
                *allowed |= bits;
            }
        }
    }

    /// Whether the bytes behind a text are such as the pattern wants.
    #[inline]
    pub(super) fn admits(&self, behind: &[u8]) -> bool {
        // A text that ends before the pattern can has no match.
        let Some(behind) = behind.get(..self.length) else { return false };
        behind.iter().enumerate().all(|(place, &byte)| self.allows(byte, place))
    }

    #[inline]
    fn allows(&self, byte: u8, place: usize) -> bool {
        self.allowed.get(usize::from(byte)).is_some_and(|bits| bits >> place & 1 == 1)
    }
}
