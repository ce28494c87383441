//! A pattern run from place to place as it is written, going back where it fails: no automaton is made for it.
//!
//! Promise: what is told is what the compiled pattern tells, the same match with the same groups, or nothing is told.
//! Most patterns are run at a few places of few texts, where building automata for them costs a hundred times what
//! running them does; their counters become one step each and no states. What takes many steps is left to automata.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::class::{ByteSet, CodeSet, LAST, Table};
use super::extent::extent;
use super::matcher::Span;
use super::profile::Profile;
use super::translate::{Look, Node, Text};
use super::walk::Told;

/// So many steps one search makes, and so many more for each byte, up to so many; more is an automaton's work.
const MOST_STEPS: usize = 1 << 15;
const MOST_EACH: usize = 8;
const MOST_BYTES: usize = 1 << 14;
/// Where searches of a pattern have made more steps than this, automata for it would have cost less.
const MOST_SPENT: usize = 1 << 18;
/// So many steps a pattern may have, its counters of more than one character written out.
const LONGEST: usize = 4096;

/// What a search comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traced {
    Found(Span),
    Nothing,
    /// It takes too many steps.
    Unknown,
}

/// A pattern, ready to be run.
#[derive(Debug)]
pub(super) struct Trace {
    steps: Vec<Step>,
    /// For each step the class that must hold what stands there, where there is one.
    ahead: Vec<Option<usize>>,
    classes: Vec<Class>,
    /// What a match begins with, where it takes a character at all.
    first: Option<Table>,
    /// The run that it begins with, where that can be empty.
    lead: Option<usize>,
    /// How many groups it has, itself among them.
    groups: usize,
    spent: AtomicUsize,
}

/// A character class.
#[derive(Debug)]
struct Class {
    /// Which bytes it holds that are a character, or are one by themselves.
    bytes: Table,
    set: CodeSet,
    /// Which bytes its members begin with, in any text.
    leads: Table,
    /// Everything beyond ASCII is in it, whatever its bytes say.
    is_wide: bool,
    /// It holds a character beyond ASCII.
    is_beyond: bool,
    /// It is any byte, and no characters.
    is_any: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Class(usize),
    /// A class so many times, `None` for no bound.
    Run {
        class: usize,
        least: u32,
        most: Option<u32>,
        greedy: bool,
    },
    Look(Look),
    /// Goes on at the first, and when that fails at the other.
    Split {
        first: usize,
        other: usize,
    },
    Goto(usize),
    Save(usize),
    Match,
}

/// What is tried when a way fails.
#[derive(Clone, Copy, Debug)]
enum Back {
    Go {
        step: usize,
        at: usize,
    },
    /// A run that ends here, and could end earlier, down to `least`.
    Shrink {
        step: usize,
        at: usize,
        least: usize,
    },
    /// A run that ends here, and could end later.
    Grow {
        step: usize,
        at: usize,
        left: u32,
    },
    Slot {
        slot: usize,
        was: Option<usize>,
    },
}

impl Trace {
    /// `None` when the pattern is too long, or repeats what can be empty without end.
    pub(super) fn new(node: &Node, groups: u32) -> Option<Self> {
        let mut trace = Self {
            steps: Vec::new(),
            ahead: Vec::new(),
            classes: Vec::new(),
            first: Profile::of(std::iter::once(node)).places.first().map(ByteSet::table),
            lead: None,
            groups: groups as usize + 1,
            spent: AtomicUsize::new(0),
        };
        trace.write(node)?;
        trace.steps.push(Step::Match);
        trace.ahead = (0..trace.steps.len()).map(|step| trace.ahead_of(step)).collect();
        let lead = trace.steps.iter().position(|step| !matches!(step, Step::Save(_)));
        let is_run = |&lead: &usize| matches!(trace.steps.get(lead), Some(Step::Run { least: 0, .. }));
        trace.lead = lead.filter(is_run);
        Some(trace)
    }

    fn ahead_of(&self, mut step: usize) -> Option<usize> {
        loop {
            match *self.steps.get(step)? {
                Step::Class(class) | Step::Run { class, least: 1.., .. } => return Some(class),
                Step::Save(_) => step += 1,
                // Only what was written before leads back.
                Step::Goto(to) if to > step => step = to,
                Step::Goto(_) | Step::Run { .. } | Step::Look(_) | Step::Split { .. } | Step::Match => return None,
            }
        }
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let place = self.steps.len();
        self.steps.push(step);
        (place < LONGEST).then_some(place)
    }

    fn class(&mut self, set: &CodeSet) -> usize {
        if let Some(known) = self.classes.iter().position(|class| class.set == *set && !class.is_any) {
            return known;
        }
        self.classes.push(Class::of(set));
        self.classes.len() - 1
    }

    fn write(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Empty => {}
            Node::AnyByte => {
                self.classes.push(Class::any());
                self.push(Step::Class(self.classes.len() - 1))?;
            }
            Node::Set(set) => {
                let class = self.class(set);
                self.push(Step::Class(class))?;
            }
            Node::Look(look) => drop(self.push(Step::Look(*look))?),
            Node::Group(index, node) => {
                self.push(Step::Save(*index as usize * 2))?;
                self.write(node)?;
                self.push(Step::Save(*index as usize * 2 + 1))?;
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.write(node))?,
            Node::Either(nodes) => self.write_either(nodes)?,
            Node::Repeat { node, least, most, greedy } => self.write_repeat(node, *least, *most, *greedy)?,
        }
        Some(())
    }

    fn write_either(&mut self, nodes: &[Node]) -> Option<()> {
        let mut ends = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            if place + 1 == nodes.len() {
                self.write(node)?;
                break;
            }
            let split = self.push(Step::Split { first: 0, other: 0 })?;
            self.write(node)?;
            ends.push(self.push(Step::Goto(0))?);
            let other = self.steps.len();
            self.set(split, Step::Split { first: split + 1, other });
        }
        let end = self.steps.len();
        ends.into_iter().for_each(|place| self.set(place, Step::Goto(end)));
        Some(())
    }

    fn set(&mut self, place: usize, step: Step) {
        if let Some(slot) = self.steps.get_mut(place) {
            *slot = step;
        }
    }

    fn write_repeat(&mut self, node: &Node, least: u32, most: Option<u32>, greedy: bool) -> Option<()> {
        if let Node::Set(set) = node {
            let class = self.class(set);
            self.push(Step::Run { class, least, most, greedy })?;
            return Some(());
        }
        let split = |inside: usize, end: usize| {
            let (first, other) = if greedy { (inside, end) } else { (end, inside) };
            Step::Split { first, other }
        };
        let Some(most) = most else {
            // What is empty would be repeated without end.
            if extent(node).least == 0 {
                return None;
            }
            for _ in 1..least {
                self.write(node)?;
            }
            let begin = self.steps.len();
            if least == 0 {
                let place = self.push(Step::Split { first: 0, other: 0 })?;
                self.write(node)?;
                self.push(Step::Goto(place))?;
                let end = self.steps.len();
                self.set(place, split(place + 1, end));
            } else {
                self.write(node)?;
                let place = self.push(Step::Split { first: 0, other: 0 })?;
                self.set(place, split(begin, place + 1));
            }
            return Some(());
        };
        for _ in 0..least {
            self.write(node)?;
        }
        let mut splits = Vec::new();
        for _ in least..most {
            splits.push(self.push(Step::Split { first: 0, other: 0 })?);
            self.write(node)?;
        }
        let end = self.steps.len();
        splits.into_iter().for_each(|place| self.set(place, split(place + 1, end)));
        Some(())
    }

    /// The first match that begins in `starts` (both ends included) and ends by `end`; look-around sees all of the text.
    pub(super) fn find(&self, text: &[u8], kind: Text, starts: Span, end: usize) -> Traced {
        self.find_groups(text, kind, (starts, end), &mut [])
    }

    fn find_groups(
        &self,
        text: &[u8],
        kind: Text,
        (starts, end): (Span, usize),
        slots: &mut [Option<usize>],
    ) -> Traced {
        if self.spent.load(Ordering::Relaxed) > MOST_SPENT {
            return Traced::Unknown;
        }
        let steps = MOST_STEPS + MOST_EACH * (starts.1 - starts.0).min(MOST_BYTES);
        let mut run =
            Run { trace: self, text, end, kind, left: steps, looked: starts.0, tried: None, back: Vec::new(), slots };
        let traced = run.find(starts);
        self.spent.fetch_add(steps - run.left, Ordering::Relaxed);
        traced
    }

    /// Whether a match begins at a place.
    pub(super) fn begins(&self, text: &[u8], kind: Text, start: usize) -> Told {
        if self.spent.load(Ordering::Relaxed) > MOST_SPENT {
            return Told { answer: None, looked: text.len() + 1 };
        }
        let (slots, back, left) = (&mut [][..], Vec::new(), MOST_STEPS);
        let mut run = Run { trace: self, text, end: text.len(), kind, left, looked: start, tried: None, back, slots };
        let answer = run.at(start).map(|end| end.is_some());
        self.spent.fetch_add(MOST_STEPS - run.left, Ordering::Relaxed);
        Told { answer, looked: run.looked }
    }

    /// The groups of the first match in a text, `Some(None)` when there is no match.
    #[allow(clippy::option_option, reason = "the outer one is that of steps")]
    pub(super) fn groups(&self, text: &[u8], kind: Text) -> Option<Option<Vec<Option<Span>>>> {
        let mut slots = vec![None; self.groups * 2];
        let span = match self.find_groups(text, kind, ((0, text.len()), text.len()), &mut slots) {
            Traced::Found(span) => span,
            Traced::Nothing => return Some(None),
            Traced::Unknown => return None,
        };
        let mut groups: Vec<Option<Span>> =
            slots.as_chunks::<2>().0.iter().map(|pair| Some((pair[0]?, pair[1]?))).collect();
        if let Some(whole) = groups.first_mut() {
            *whole = Some(span);
        }
        Some(Some(groups))
    }
}

/// One search.
struct Run<'t> {
    trace: &'t Trace,
    text: &'t [u8],
    /// No match goes on behind it.
    end: usize,
    kind: Text,
    left: usize,
    /// One past the last byte that was looked at; the end of the text counts as one.
    looked: usize,
    /// Where the run that the pattern begins with ended last: nothing follows it there, nor at any place before that it
    /// reaches from a later start.
    tried: Option<usize>,
    back: Vec<Back>,
    /// Where groups begin and end, when that is asked.
    slots: &'t mut [Option<usize>],
}

impl Run<'_> {
    fn find(&mut self, (mut start, latest): Span) -> Traced {
        while start <= latest {
            if let Some(first) = &self.trace.first {
                let rest = self.text.get(start..self.end.min(latest.saturating_add(1))).unwrap_or_default();
                let Some(passed) = rest.iter().position(|&byte| first.contains(byte)) else { break };
                start += passed;
            }
            match self.at(start) {
                Some(Some(end)) => return Traced::Found((start, end)),
                Some(None) => start += 1,
                None => return Traced::Unknown,
            }
        }
        Traced::Nothing
    }

    /// Whether what must stand at a step can stand here.
    #[inline]
    fn admits(&mut self, step: usize, at: usize) -> bool {
        let Some(class) = self.trace.ahead.get(step).copied().flatten() else { return true };
        self.looked = self.looked.max(at + 1);
        let byte = self.text.get(at).filter(|_| at < self.end);
        byte.is_some_and(|&byte| self.trace.classes.get(class).is_some_and(|class| class.leads.contains(byte)))
    }

    /// Where a match ends that begins here; `None` when it takes too many steps.
    #[allow(clippy::option_option, reason = "the outer one is that of steps")]
    fn at(&mut self, start: usize) -> Option<Option<usize>> {
        self.back.clear();
        let (mut step, mut at) = (0, start);
        loop {
            self.left = self.left.checked_sub(1)?;
            let next = match *self.trace.steps.get(step)? {
                Step::Match => return Some(Some(at)),
                Step::Class(class) => self.one(class, at).map(|length| (step + 1, at + length)),
                Step::Run { class, least, most, greedy } => self.run(step, class, (least, most, greedy), at)?,
                Step::Look(look) => {
                    self.looked = self.looked.max(at + 1);
                    let before = at.checked_sub(1).and_then(|before| self.text.get(before));
                    look.holds(before.copied(), self.text.get(at).copied()).then_some((step + 1, at))
                }
                Step::Split { first, other } if self.admits(first, at) => {
                    if self.admits(other, at) {
                        self.back.push(Back::Go { step: other, at });
                    }
                    Some((first, at))
                }
                Step::Split { other, .. } => Some((other, at)),
                Step::Goto(to) => Some((to, at)),
                Step::Save(slot) => {
                    if let Some(value) = self.slots.get_mut(slot) {
                        self.back.push(Back::Slot { slot, was: *value });
                        *value = Some(at);
                    }
                    Some((step + 1, at))
                }
            };
            match next.or_else(|| self.go_back()) {
                Some(next) => (step, at) = next,
                None => return Some(None),
            }
        }
    }

    /// The next way that was not tried.
    fn go_back(&mut self) -> Option<(usize, usize)> {
        loop {
            self.left = self.left.saturating_sub(1);
            match self.back.pop()? {
                Back::Go { step, at } => return Some((step, at)),
                Back::Slot { slot, was } => {
                    if let Some(value) = self.slots.get_mut(slot) {
                        *value = was;
                    }
                }
                Back::Shrink { step, at, least } => {
                    let mut shorter = at;
                    while shorter > least {
                        shorter -= 1;
                        while shorter > least && self.text.get(shorter).is_some_and(|byte| is_behind(*byte)) {
                            shorter -= 1;
                        }
                        if self.admits(step + 1, shorter) {
                            if shorter > least {
                                self.back.push(Back::Shrink { step, at: shorter, least });
                            }
                            self.left = self.left.saturating_sub((at - shorter) / 8);
                            return Some((step + 1, shorter));
                        }
                    }
                    self.left = self.left.saturating_sub((at - least) / 8);
                }
                Back::Grow { step, at, mut left } => {
                    let Some(Step::Run { class, .. }) = self.trace.steps.get(step) else { continue };
                    let (is_lead, mut longer) = (Some(step) == self.trace.lead, at);
                    while let Some(length) = self.one(*class, longer).filter(|_| left > 0) {
                        longer += length;
                        left -= 1;
                        if is_lead {
                            self.tried = Some(longer);
                        }
                        if self.admits(step + 1, longer) {
                            self.back.push(Back::Grow { step, at: longer, left });
                            self.left = self.left.saturating_sub((longer - at) / 8);
                            return Some((step + 1, longer));
                        }
                    }
                    self.left = self.left.saturating_sub((longer - at) / 8);
                }
            }
        }
    }

    /// A run that begins here: the step behind it, and where it ends first.
    #[allow(clippy::option_option, reason = "the outer one is that of steps")]
    fn run(
        &mut self,
        step: usize,
        class: usize,
        (least, most, greedy): (u32, Option<u32>, bool),
        mut at: usize,
    ) -> Option<Option<(usize, usize)>> {
        let begin = at;
        for _ in 0..least {
            let Some(length) = self.one(class, at) else { return Some(None) };
            at += length;
        }
        let mut left = most.map_or(u32::MAX, |most| most - least);
        if left == 0 {
            return Some(Some((step + 1, at)));
        }
        let is_lead = Some(step) == self.trace.lead;
        let is_plain = self.kind == Text::Ascii || self.trace.classes.get(class).is_some_and(|class| !class.is_beyond);
        let known = self.tried.filter(|&tried| is_lead && is_plain && tried >= at);
        if let Some(known) = known {
            let passed = u32::try_from(known - at).ok().filter(|passed| *passed <= left);
            let Some(passed) = passed else { return Some(None) };
            (at, left) = (known, left - passed);
            if !greedy {
                self.back.push(Back::Grow { step, at, left });
                return Some(None);
            }
        } else if is_lead {
            self.tried = Some(at);
        }
        if !greedy {
            self.left = self.left.checked_sub((at - begin) / 8)?;
            self.back.push(Back::Grow { step, at, left });
            return Some(Some((step + 1, at)));
        }
        let shortest = if known.is_some() { at + 1 } else { at };
        for _ in 0..left {
            let Some(length) = self.one(class, at) else { break };
            at += length;
        }
        self.left = self.left.checked_sub((at - begin) / 8)?;
        if is_lead {
            self.tried = Some(at);
        }
        if at < shortest {
            return Some(None);
        }
        if at > shortest {
            self.back.push(Back::Shrink { step, at, least: shortest });
        }
        Some(Some((step + 1, at)))
    }

    /// How long the member of a class is that stands here.
    #[inline]
    fn one(&mut self, class: usize, at: usize) -> Option<usize> {
        let class = self.trace.classes.get(class)?;
        self.looked = self.looked.max(at + 1);
        let byte = *self.text.get(at).filter(|_| at < self.end)?;
        if byte < 0x80 || class.is_any {
            return class.bytes.contains(byte).then_some(1);
        }
        if self.kind == Text::Ascii || !class.is_beyond {
            return None;
        }
        self.looked = self.looked.max(at + 4);
        class.beyond(self.text.get(at..self.end)?)
    }
}

impl Class {
    fn of(set: &CodeSet) -> Self {
        let leads = set.byte_set();
        let mut ascii = ByteSet::NONE;
        ascii.insert_range(0, 0x7F);
        Self {
            bytes: leads.intersection(ascii).table(),
            set: set.clone(),
            leads: leads.table(),
            is_wide: set.holds_all_beyond_ascii(),
            is_beyond: set.ranges().last().is_some_and(|last| last.1 >= 0x80),
            is_any: false,
        }
    }

    fn any() -> Self {
        let (bytes, leads) = (ByteSet::ALL.table(), ByteSet::ALL.table());
        Self { bytes, leads, set: CodeSet::default(), is_wide: false, is_beyond: false, is_any: true }
    }

    /// The length of the member beyond ASCII that begins a text.
    fn beyond(&self, text: &[u8]) -> Option<usize> {
        let (first, rest) = text.split_first()?;
        let (length, bits, least) = match first {
            0xC2..=0xDF => (2, u32::from(first & 0x1F), 0x80),
            0xE0..=0xEF => (3, u32::from(first & 0x0F), 0x800),
            0xF0..=0xF4 => (4, u32::from(first & 0x07), 0x1_0000),
            _ => return None,
        };
        let rest = rest.get(..length - 1)?;
        if !rest.iter().all(|&byte| is_behind(byte)) {
            return None;
        }
        let code = rest.iter().fold(bits, |code, &byte| code << 6 | u32::from(byte & 0x3F));
        let holds = || {
            (least..=LAST).contains(&code)
                && self.set.ranges().iter().any(|&(first, last)| (first..=last).contains(&code))
        };
        (self.is_wide || holds()).then_some(length)
    }
}

/// A byte that no character begins with.
fn is_behind(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use regex_automata::Input;

    use super::super::pattern::{Pattern, compile};
    use super::*;

    /// Patterns of every kind of part, each with what makes it hard: alternatives one of which is the beginning of another,
    /// counters in counters, empty parts, looks at either end, characters beyond ASCII, surrogates and any byte.
    const PATTERNS: &[&str] = &[
        "a{2,3}?b{1,2}|ab*?c",
        r"(?i)\b(key|keys?|k)[ =]{0,3}([a-c]{2,5})(?:x|$)",
        "(a|ab)(c|bcd)?(d*)",
        "(?:ab?){0,3}(b{0,2}?)c",
        "(?:(a){1,2}b?){2}",
        "(?:a?){0,3}b",
        "((?:a|b)+?)(?:c|ab)*$",
        r"(?m)^[ab]{0,4}?\bc",
        r"\B[a-c]{1,3}\B",
        "[^a]{1,3}a",
        "(?i)[k-s]{2,}",
        "[é-ſ]{1,2}a?",
        r"(?s).{0,3}?\C{1,2}b",
        r"[^\x00-\x7F]+|b",
        r"[\x{D7FF}-\x{E000}]a",
        "",
        "(?:)a*",
        "a{0}b|(a){0,1}",
        "(?:a|(b)|c(?:(a)|b))*?c",
        "(?i)[a-k]{0,3}?(?:key|b)[ =]",
        "([a-c_]{0,4})b(?:x|c$)",
        "(?i)[k-s]{0,2}a{1,2}",
    ];

    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let pieces: &[&[u8]] = &[
            b"a",
            b"b",
            b"ab",
            b"c",
            b"d",
            b"x",
            b" ",
            b"=",
            b"key",
            b"KEYS",
            b"\n",
            b"_",
            b"\xC5\xBF",
            b"\xE2\x84\xAA",
            b"\xC3\xA9",
            b"\xED\xA0\x80",
            b"\xED",
            b"\xC0\x80",
            b"\xF4\x90\x80\x80",
            b"\xE0\x80\x80",
            b"\x80",
            b"\xFF",
        ];
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        (0..3000).map(move |round| {
            let plain = if round % 3 == 0 { pieces.len() } else { 12 };
            (0..next() % 14).flat_map(|_| pieces[next() % plain].to_vec()).collect()
        })
    }

    #[test]
    fn what_is_traced_is_what_the_compiled_pattern_finds() {
        for source in PATTERNS {
            let pattern = Pattern::new(*source);
            let tree = pattern.tree().expect("the pattern is one");
            for kind in [Text::Ascii, Text::Any] {
                let mut trace = Trace::new(&tree.node, tree.groups).expect("the pattern is short");
                let regex = compile(&tree.node, kind).expect("the pattern is small");
                let mut traced_texts = 0;
                for text in texts().filter(|text| kind == Text::Any || text.is_ascii()) {
                    trace.spent = AtomicUsize::new(0);
                    let (from, end) = (text.len() / 4, text.len() - text.len() / 5);
                    for (from, end) in [(0, text.len()), (from, end.max(from))] {
                        let wanted = regex.search(&Input::new(&text).range(from..end));
                        let wanted = wanted.map_or(Traced::Nothing, |one| Traced::Found((one.start(), one.end())));
                        assert_eq!(
                            trace.find(&text, kind, (from, end), end),
                            wanted,
                            "{source} {kind:?} {text:?} {from} {end}"
                        );
                    }
                    let mut captures = regex.create_captures();
                    regex.search_captures(&Input::new(&text), &mut captures);
                    let group = |group| captures.get_group(group).map(|span| (span.start, span.end));
                    let wanted = captures.is_match().then(|| (0..captures.group_len()).map(group).collect());
                    assert_eq!(trace.groups(&text, kind), Some(wanted), "{source} {kind:?} {text:?}");
                    let told = trace.begins(&text, kind, from);
                    let input = Input::new(&text).range(from..).anchored(regex_automata::Anchored::Yes);
                    assert_eq!(told.answer, Some(regex.search(&input).is_some()), "{source} {kind:?} {text:?}");
                    // What was not looked at changes nothing.
                    let mut other = text.get(..told.looked.min(text.len())).unwrap_or_default().to_vec();
                    if told.looked <= text.len() {
                        other.extend_from_slice(b"\x80ab=\n");
                        assert_eq!(trace.begins(&other, kind, from).answer, told.answer, "{source} {text:?}");
                    }
                    traced_texts += 1;
                }
                assert!(traced_texts > 1000);
            }
        }
    }

    #[test]
    fn what_takes_many_steps_or_has_no_end_is_left_to_automata() {
        let pattern = Pattern::new("(?:a|aa|a[ab]){1,200}c");
        let tree = pattern.tree().expect("the pattern is one");
        let trace = Trace::new(&tree.node, 0).expect("the pattern is short");
        assert_eq!(trace.find(&[b'a'; 150], Text::Ascii, (0, 150), 150), Traced::Unknown);
        assert_eq!(trace.begins(&[b'a'; 150], Text::Ascii, 0).answer, None);
        assert!(!pattern.is_match(&[b'a'; 150]).expect("the pattern is one"));
        let empty = Pattern::new("(?:a?)*b");
        assert!(Trace::new(&empty.tree().expect("the pattern is one").node, 0).is_none());
        assert!(empty.is_match(b"aab").expect("the pattern is one"));
    }
}
