//! tyran's own rules as the build script leaves them: read, shaped, and their places worked out.
//!
//! Promise: what is read here is what was written; anything else is `None`. Reading fifteen hundred rules
//! from TOML, making their regexes and working out where these can match takes longer than a whole
//! commit hook may, and so does reading all of them in any form: a rule is read when one of its words
//! occurs. Texts that only tests and people need (examples, shapes, names) are left out.

use std::borrow::Cow;
use std::sync::Arc;

use super::class::{ByteSet, Table};
use super::config::{AllowlistParts, ContextParts, OwnParts, RequiredParts, RuleParts};
use super::factor::Prepared;
use super::layout::{Layout, Use, Uses, Words};
use super::prefilter::Needle;
use super::runs::{FastRun, Run};

/// The bytes of a place among the rules.
const PLACE: usize = 4;

/// Rules, each of which is read when it is asked for.
#[derive(Debug)]
pub(super) struct Compiled {
    sets: Vec<ByteSet>,
    /// Allowlists for all rules.
    pub(super) allowlists: Vec<AllowlistParts>,
    /// Where each rule ends.
    ends: &'static [u8],
    rules: &'static [u8],
    /// The longest match of a rule without places, where it has a bound.
    pub(super) widest: usize,
    layout: &'static [u8],
}

impl Compiled {
    /// Reads what stands before the rules.
    pub(super) fn read(bytes: &'static [u8]) -> Option<Self> {
        let mut reader = Reader { rest: bytes, sets: &[] };
        let sets = reader.list(Reader::set)?;
        let allowlists = reader.list(Reader::allowlist)?;
        let widest = reader.size()?;
        let ends = reader.size()?.checked_mul(PLACE)?;
        let (ends, rest) = reader.rest.split_at_checked(ends)?;
        let last =
            ends.last_chunk::<PLACE>().map_or(Some(0), |last| usize::try_from(u32::from_le_bytes(*last)).ok())?;
        let (rules, layout) = rest.split_at_checked(last)?;
        Some(Self { sets, allowlists, ends, rules, widest, layout })
    }

    /// How many rules there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len() / PLACE
    }

    fn end(&self, place: usize) -> Option<usize> {
        let end = self.ends.get(place.checked_mul(PLACE)?..)?.first_chunk::<PLACE>()?;
        usize::try_from(u32::from_le_bytes(*end)).ok()
    }

    fn reader(&self, place: usize) -> Option<Reader<'_>> {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.end(before))?;
        Some(Reader { rest: self.rules.get(start..self.end(place)?)?, sets: &self.sets })
    }

    /// A rule.
    pub(super) fn rule(&self, place: usize) -> Option<RuleParts> {
        let mut reader = self.reader(place)?;
        let rule = reader.rule()?;
        reader.rest.is_empty().then_some(rule)
    }

    /// The id of a rule, for which the rest of it is not read.
    pub(super) fn id(&self, place: usize) -> Option<&'static str> {
        self.reader(place)?.borrowed()
    }

    /// What all of them are found by.
    pub(super) fn layout(&self) -> Option<Layout> {
        let mut reader = Reader { rest: self.layout, sets: &self.sets };
        let tables: Vec<Arc<Table>> = self.sets.iter().map(|set| Arc::new(set.table())).collect();
        let layout = Layout {
            words: reader.words(&tables)?,
            inner: reader.words(&tables)?,
            always: reader.list(Reader::size)?,
            by_candidates: reader.list(Reader::flag)?,
            single: reader.list(|reader| Some((u8::try_from(reader.size()?).ok()?, reader.size()?)))?,
            unusual: reader.list(|reader| Some((reader.borrowed()?.as_bytes().to_vec(), reader.size()?)))?,
        };
        (reader.rest.is_empty() && layout.by_candidates.len() == self.len()).then_some(layout)
    }
}

struct Reader<'s> {
    rest: &'static [u8],
    sets: &'s [ByteSet],
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7F).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        let half = i64::try_from(number >> 1).ok()?;
        Some(if number & 1 == 1 { !half } else { half })
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.number()? != 0)
    }

    fn word(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn borrowed(&mut self) -> Option<&'static str> {
        let length = self.size()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    fn text(&mut self) -> Option<String> {
        self.borrowed().map(str::to_owned)
    }

    fn set(&mut self) -> Option<ByteSet> {
        let mut words = [0; 4];
        for word in &mut words {
            *word = self.word()?;
        }
        Some(ByteSet::from_words(words))
    }

    fn words(&mut self, tables: &[Arc<Table>]) -> Option<Words> {
        let (needles, uses) = (self.size()?, self.size()?);
        // One more is added to them, the self-test's.
        let mut words =
            Words { needles: Vec::with_capacity(needles + 1), uses: Uses::with_capacity(needles + 1, uses + 1) };
        for _ in 0..needles {
            words.needles.push(Needle {
                text: Cow::Borrowed(self.borrowed()?.as_bytes()),
                follow: *self.sets.get(self.size()?)?,
                twice: self.flag()?,
                rarest: self.size()?,
            });
            for _ in 0..self.size()? {
                words.uses.push(self.one_use(tables)?);
            }
            words.uses.end_word();
        }
        (words.uses.len() == uses).then_some(words)
    }

    fn one_use(&mut self, tables: &[Arc<Table>]) -> Option<Use> {
        Some(Use {
            rule: u16::try_from(self.size()?).ok()?,
            word: u16::try_from(self.size()?).ok()?,
            is_keyword: self.flag()?,
            run: match self.size()?.checked_sub(1) {
                None => None,
                Some(set) => {
                    let bytes = *self.sets.get(set)?;
                    let run = Run { bytes, least: self.size()?, from: self.size()?, to: self.size()? };
                    Some(FastRun::with_table(run, Arc::clone(tables.get(set)?)))
                }
            },
        })
    }

    fn option(&mut self) -> Option<Option<String>> {
        if self.flag()? { self.text().map(Some) } else { Some(None) }
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.size()?;
        let mut items = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        self.list(Self::text)
    }

    fn allowlist(&mut self) -> Option<AllowlistParts> {
        Some(AllowlistParts {
            line: 0,
            condition: self.text()?,
            commits: self.texts()?,
            paths: self.texts()?,
            regex_target: self.text()?,
            regexes: self.texts()?,
            stopwords: self.texts()?,
            target_rules: self.texts()?,
        })
    }

    fn rule(&mut self) -> Option<RuleParts> {
        Some(RuleParts {
            line: 0,
            id: self.text()?,
            description: self.text()?,
            regex: self.text()?,
            path: self.text()?,
            secret_group: self.signed()?,
            entropy: f64::from_bits(self.word()?),
            keywords: self.texts()?,
            tags: self.texts()?,
            skip_report: self.flag()?,
            allowlists: self.list(Self::allowlist)?,
            required: self.list(|reader| {
                Some(RequiredParts {
                    line: 0,
                    id: reader.text()?,
                    within_lines: reader.list(Self::signed)?.pop(),
                    within_columns: reader.list(Self::signed)?.pop(),
                })
            })?,
            own: self.own()?,
            prepared: self
                .list(|reader| {
                    Some(Prepared {
                        words: reader.texts()?,
                        runs: reader.list(|reader| Some(reader.list(Self::run)?.pop()))?,
                    })
                })?
                .pop(),
        })
    }

    fn own(&mut self) -> Option<OwnParts> {
        Some(OwnParts {
            severity: self.option()?,
            confidence: self.option()?,
            url: self.option()?,
            remedy: self.option()?,
            checksum: self.option()?,
            on_invalid: self.option()?,
            on_valid: self.option()?,
            general: self.flag()?,
            distinct: self.signed()?,
            requires: self.texts()?,
            stopwords: self.texts()?,
            placeholders: self.option()?,
            files: self.texts()?,
            not_files: self.texts()?,
            context: self
                .list(|reader| {
                    Some(ContextParts {
                        any: reader.texts()?,
                        none: reader.texts()?,
                        lines: reader.signed()?,
                        path: reader.flag()?,
                    })
                })?
                .pop(),
            ..OwnParts::default()
        })
    }

    fn run(&mut self) -> Option<Run> {
        let set = self.size()?;
        Some(Run { bytes: *self.sets.get(set)?, least: self.size()?, from: self.size()?, to: self.size()? })
    }
}
