//! Where the words of all rules are looked for, and which rules wait for them.
//!
//! Promise: a rule is tried on a text if and only if one of its keywords occurs there (or it has none),
//! as gitleaks does. For tyran's own rules this is worked out when the program is built, and
//! [`super::compiled`] reads it back; it is the same code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::class::{ByteSet, Table};
use super::factor::{self, Plan, Prepared};
use super::glance::Glance;
use super::prefilter::Needle;
use super::runs::{FastRun, LONG_RUN, Run};
use super::translate::Node;

/// What all rules of a set are found by.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) words: Words,
    /// The same for short words that are the beginning of a long run.
    pub(super) inner: Words,
    /// Rules that are always tried.
    pub(super) always: Vec<usize>,
    /// Whether a rule is tried wherever it has a candidate, its keywords or not; one for each rule.
    pub(super) by_candidates: Vec<bool>,
    /// Keywords that cannot be looked for with the others, being of one byte.
    pub(super) single: Vec<(u8, usize)>,
    /// The same, being beyond ASCII.
    pub(super) unusual: Vec<(Vec<u8>, usize)>,
    /// What [`Use::glance`] counts.
    pub(super) glances: Vec<Glance>,
}

/// Words, and for each the rules that wait for it.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) needles: Vec<Needle>,
    pub(super) uses: Uses,
}

/// For each word the rules that wait for it, and the place of the word among theirs.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Where each word's end.
    ends: Vec<usize>,
    all: Vec<Use>,
}

/// A rule that waits for a word.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) rule: u16,
    pub(super) word: u16,
    /// Whether the word is one of its keywords, or only a text that its regex must hold.
    pub(super) is_keyword: bool,
    /// What stands directly round it.
    pub(super) glance: u16,
    /// What must stand behind the word, where it was worked out beforehand.
    pub(super) run: Option<FastRun>,
}

impl Uses {
    /// The rules that wait for a word.
    #[inline]
    pub(super) fn get(&self, word: usize) -> Option<&[Use]> {
        let start = word.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.all.get(start..*self.ends.get(word)?)
    }

    pub(super) fn with_capacity(words: usize, uses: usize) -> Self {
        Self { ends: Vec::with_capacity(words), all: Vec::with_capacity(uses) }
    }

    /// Adds a rule to those that wait for the last word.
    pub(super) fn push(&mut self, one: Use) {
        self.all.push(one);
    }

    /// What is added from here on is another word's.
    pub(super) fn end_word(&mut self) {
        self.ends.push(self.all.len());
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// What decides how a rule is found.
pub(super) struct View<'r> {
    /// In lower case.
    pub(super) keywords: &'r [String],
    pub(super) prepared: Option<&'r Prepared>,
    /// Its regex, read when it is asked for; `None` without one, or when it cannot be read.
    pub(super) regex: &'r dyn Fn() -> Option<&'r Node>,
}

/// More letters than this are most.
const MOST_LEADS: usize = 8;

/// A rule with a shorter keyword than this is found by its places where that can be done: such a word
/// occurs far more often than it means something.
const SHORT: usize = 4;

impl<'r> View<'r> {
    /// Places, where the rule has some; whether their words are its keywords.
    pub(super) fn places(&self) -> Option<(Cow<'r, Prepared>, bool)> {
        if let Some(prepared) = self.prepared {
            return Some((Cow::Borrowed(prepared), false));
        }
        if !self.keywords.iter().any(|word| word.len() < SHORT) {
            return None;
        }
        // The words must be its keywords: only then is it tried where gitleaks would try it.
        factor::prepare((self.regex)()?, self.keywords)
            .filter(|prepared| prepared.words.iter().all(|word| self.keywords.contains(word)))
            .map(|prepared| (Cow::Owned(prepared), true))
    }

    /// What a rule without places is found by: its keywords, or what its regex must hold.
    fn plain_words(&self) -> Cow<'r, [String]> {
        if self.keywords.is_empty() {
            Cow::Owned((self.regex)().map(own_texts).unwrap_or_default())
        } else {
            Cow::Borrowed(self.keywords)
        }
    }

    /// The words that [`Use::word`] counts.
    pub(super) fn words(&self) -> Vec<String> {
        match self.places() {
            Some((prepared, _)) => prepared.words.clone(),
            None => self.plain_words().iter().filter(|word| is_usual(word)).cloned().collect(),
        }
    }
}

fn is_usual(word: &str) -> bool {
    word.is_ascii() && word.len() > 1
}

/// The texts one of which a regex must hold, where it must hold any.
fn own_texts(node: &Node) -> Vec<String> {
    match factor::plan(node, &[]) {
        Plan::Everywhere | Plan::Runs(_) => Vec::new(),
        Plan::Near(factors) => {
            let texts = factors.iter().flat_map(|factor| &factor.texts);
            let mut texts: Vec<String> = texts.filter_map(|text| String::from_utf8(text.clone()).ok()).collect();
            texts.sort_unstable();
            texts.dedup();
            texts
        }
    }
}

/// The longest word of those that are looked for in long runs only.
pub(super) const SHORT_WORD: usize = 3;

/// Whether a short word and what must stand behind it are one long run.
fn is_inner(word: &str, run: &Run) -> bool {
    let joined = run.from == word.len() && run.to == run.from && run.least + word.len() >= LONG_RUN;
    word.len() <= SHORT_WORD && joined && run.bytes.is_value() && word.bytes().all(|byte| ByteSet::VALUE.contains(byte))
}

/// Letters that signs beyond ASCII are taken for, in either case.
const PLAIN_LETTERS: ByteSet = {
    let mut letters = ByteSet::NONE;
    let mut place = 0;
    while place < 3 {
        let letter = b"iks"[place];
        letters.insert_range(letter, letter);
        letters.insert_range(letter.to_ascii_uppercase(), letter.to_ascii_uppercase());
        place += 1;
    }
    letters
};

/// Which bytes can follow a short word so that it matters to a rule, and whether two do.
fn follow(word: &str, uses: &[Use], glances: &[Glance]) -> (ByteSet, bool) {
    uses.iter().fold((ByteSet::NONE, true), |(follow, twice), one| match &one.run {
        Some(run) if run.run.from == word.len() && run.run.to == run.run.from => {
            (follow.union(run.run.bytes), twice && run.run.least >= 2)
        }
        Some(_) | None => {
            let behind = glances.get(usize::from(one.glance)).unwrap_or(&Glance::ANY).behind[0];
            // In copies with plain letters these stand for signs.
            let is_beyond = behind.iter().any(|byte| !byte.is_ascii());
            let letters = if is_beyond { PLAIN_LETTERS } else { ByteSet::NONE };
            (follow.union(behind).union(letters), false)
        }
    })
}

/// Rules, one after another.
#[derive(Debug, Default)]
pub(super) struct Builder {
    words: HashMap<String, Vec<Use>>,
    inner: HashMap<String, Vec<Use>>,
    tables: HashMap<[u64; 4], Arc<Table>>,
    glances: HashMap<Glance, u16>,
    rest: Layout,
}

impl Builder {
    /// Adds the next rule; `None` when there are more than can be told apart.
    pub(super) fn add(&mut self, rule: &View<'_>) -> Option<()> {
        let place = self.rest.by_candidates.len();
        let number = u16::try_from(place).ok()?;
        let places = rule.places();
        self.rest.by_candidates.push(places.as_ref().is_some_and(|(_, are_keywords)| !are_keywords));
        if let Some((prepared, is_keyword)) = places {
            let told = prepared.words.iter().zip(&prepared.runs).zip(&prepared.glances);
            for (word_place, ((word, run), glance)) in told.enumerate() {
                let glance = self.glance(*glance)?;
                let run = run.map(|run| {
                    let table = self.tables.entry(run.bytes.words()).or_insert_with(|| Arc::new(run.bytes.table()));
                    FastRun::with_table(run, Arc::clone(table))
                });
                let is_inner = run.as_ref().is_some_and(|run| is_inner(word, &run.run));
                let words = if is_inner { &mut self.inner } else { &mut self.words };
                let word_place = u16::try_from(word_place).ok()?;
                words.entry(word.clone()).or_default().push(Use {
                    rule: number,
                    word: word_place,
                    is_keyword,
                    glance,
                    run,
                });
            }
            return Some(());
        }
        let (is_keyword, glance) = (!rule.keywords.is_empty(), self.glance(Glance::ANY)?);
        if !is_keyword {
            self.rest.always.push(place);
        }
        let mut usual = 0;
        for word in rule.plain_words().iter().filter(|word| !word.is_empty()) {
            if is_usual(word) {
                let one = Use { rule: number, word: usual, is_keyword, glance, run: None };
                self.words.entry(word.clone()).or_default().push(one);
                usual = usual.checked_add(1)?;
            } else if let [byte] = word.as_bytes() {
                self.rest.single.push((*byte, place));
            } else {
                self.rest.unusual.push((word.clone().into_bytes(), place));
            }
        }
        Some(())
    }

    /// The place of a glance among all.
    fn glance(&mut self, glance: Glance) -> Option<u16> {
        if let Some(&place) = self.glances.get(&glance) {
            return Some(place);
        }
        let place = u16::try_from(self.rest.glances.len()).ok()?;
        self.glances.insert(glance, place);
        self.rest.glances.push(glance);
        Some(place)
    }

    /// All that was added.
    pub(super) fn finish(self) -> Layout {
        let (words, inner) = (settled(self.words, &self.rest.glances), settled(self.inner, &self.rest.glances));
        Layout { words, inner, ..self.rest }
    }
}

fn settled(words: HashMap<String, Vec<Use>>, glances: &[Glance]) -> Words {
    let mut words: Vec<(String, Vec<Use>)> = words.into_iter().collect();
    words.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let mut settled = Words {
        needles: Vec::with_capacity(words.len() + 1),
        uses: Uses::with_capacity(words.len() + 1, words.iter().map(|(_, uses)| uses.len()).sum::<usize>() + 1),
    };
    for (word, uses) in words {
        let (follow, twice) = follow(&word, &uses, glances);
        settled.needles.push(Needle::new(Cow::Owned(word.into_bytes()), follow, twice));
        uses.into_iter().for_each(|one| settled.uses.push(one));
        settled.uses.end_word();
    }
    settled
}

impl Layout {
    /// Signs, and letters and digits behind which a word begins that has no sign in it; `None` where these are most.
    #[allow(dead_code, reason = "the build does not ask")]
    pub(super) fn leads(&self, words: &Words) -> Option<ByteSet> {
        let mut leads = ByteSet::NONE;
        for (place, needle) in words.needles.iter().enumerate() {
            if needle.text.iter().all(u8::is_ascii_alphanumeric) {
                for one in words.uses.get(place)? {
                    leads = leads.union(self.glances.get(usize::from(one.glance))?.lead.bytes);
                }
            }
        }
        let letters = leads.intersection(ByteSet::ALPHANUMERIC);
        (letters.iter().count() <= MOST_LEADS).then(|| letters.union(ByteSet::ALPHANUMERIC.negated()))
    }

    /// Adds one more rule, which is found by one keyword of a usual kind.
    pub(super) fn add_last(&mut self, keyword: &str) -> Option<()> {
        let rule = u16::try_from(self.by_candidates.len()).ok()?;
        self.by_candidates.push(false);
        self.words.needles.push(Needle::new(Cow::Owned(keyword.as_bytes().to_vec()), ByteSet::ALL, false));
        let glance = u16::try_from(self.glances.len()).ok()?;
        self.glances.push(Glance::ANY);
        self.words.uses.push(Use { rule, word: 0, is_keyword: true, glance, run: None });
        self.words.uses.end_word();
        Some(())
    }
}
