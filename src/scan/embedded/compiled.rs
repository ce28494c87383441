//! tyran's own rules as the build script leaves them: read, shaped, and their places worked out.
//!
//! Promise: what is read here is what was written; anything else is `None`. Reading fifteen hundred rules
//! from TOML, making their regexes and working out where these can match takes longer than a whole
//! commit hook may, and so does reading all of them in any form: a rule is read when one of its words
//! occurs. Texts that only tests and people need (examples, shapes, names) are left out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::class::{self, ByteSet, CodeSet};
use super::config::{AllowlistParts, ContextParts, OwnParts, RequiredParts, RuleParts};
use super::extent::Extent;
use super::factor::Prepared;
use super::glance::Glance;
use super::layout::{Layout, Use, Uses, Words};
use super::lead::Lead;
use super::prefilter::Needle;
use super::profile::Profile;
use super::runs::{FastRun, Run};
use super::spot::{Front, Piece, Site, Spot, Spots, Tail};
use super::translate::{LOOKS, Node};

/// The bytes of a place among the rules.
const PLACE: usize = 4;

/// Rules, each of which is read when it is asked for.
#[derive(Debug)]
pub(super) struct Compiled {
    sets: Sets,
    /// Allowlists for all rules.
    pub(super) allowlists: Vec<AllowlistParts>,
    rules: Table,
    /// Of each rule that is searched near its texts: what is needed there.
    spots: Table,
    /// Sets of characters.
    codes: Table,
    /// The longest match of a rule without places, where it has a bound.
    pub(super) widest: usize,
    layout: &'static [u8],
}

impl Compiled {
    /// Reads what stands before the rules.
    pub(super) fn read(bytes: &'static [u8]) -> Option<Self> {
        let mut reader = Reader { rest: bytes, sets: Sets(&[]), codes: &Table::default() };
        let count = reader.size()?;
        let (sets, rest) = reader.rest.split_at_checked(count.checked_mul(SET)?)?;
        reader.rest = rest;
        let sets = Sets(sets);
        let allowlists = reader.list(Reader::allowlist)?;
        let widest = reader.size()?;
        let counts = [reader.size()?, reader.size()?, reader.size()?];
        let mut rest = reader.rest;
        let mut ends = [&[][..]; 3];
        for (ends, count) in ends.iter_mut().zip(counts) {
            (*ends, rest) = rest.split_at_checked(count.checked_mul(PLACE)?)?;
        }
        let mut table = |ends| {
            let (table, behind) = Table::split(ends, rest)?;
            rest = behind;
            Some(table)
        };
        let (rules, spots, codes) = (table(ends[0])?, table(ends[1])?, table(ends[2])?);
        Some(Self { sets, allowlists, rules, spots, codes, widest, layout: rest })
    }

    /// How many rules there are.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    fn reader(&self, bytes: &'static [u8]) -> Reader<'_> {
        Reader { rest: bytes, sets: self.sets, codes: &self.codes }
    }

    /// What is needed where the texts of a rule's pattern occur, if it is searched near these.
    pub(super) fn spots(&self, place: usize) -> Option<Spots> {
        let bytes = self.spots.get(place).filter(|bytes| !bytes.is_empty())?;
        let mut reader = self.reader(bytes);
        let spots = reader.spots()?;
        reader.rest.is_empty().then_some(spots)
    }

    /// A rule.
    pub(super) fn rule(&self, place: usize) -> Option<RuleParts> {
        let mut reader = self.reader(self.rules.get(place)?);
        let rule = reader.rule()?;
        reader.rest.is_empty().then_some(rule)
    }

    /// The id of a rule, for which the rest of it is not read.
    pub(super) fn id(&self, place: usize) -> Option<&'static str> {
        self.reader(self.rules.get(place)?).borrowed()
    }

    /// What all of them are found by.
    pub(super) fn layout(&self) -> Option<Layout> {
        let mut reader = self.reader(self.layout);
        let mut tables = HashMap::new();
        let layout = Layout {
            words: reader.words(&mut tables)?,
            inner: reader.words(&mut tables)?,
            always: reader.list(Reader::size)?,
            by_candidates: reader.list(Reader::flag)?,
            single: reader.list(|reader| Some((u8::try_from(reader.size()?).ok()?, reader.size()?)))?,
            unusual: reader.list(|reader| Some((reader.borrowed()?.as_bytes().to_vec(), reader.size()?)))?,
            glances: reader.list(Reader::glance)?,
        };
        (reader.rest.is_empty() && layout.by_candidates.len() == self.len()).then_some(layout)
    }
}

/// Things one after another, and where each ends.
#[derive(Debug, Default)]
struct Table {
    ends: &'static [u8],
    bytes: &'static [u8],
}

impl Table {
    /// Takes a table off the front.
    fn split(ends: &'static [u8], bytes: &'static [u8]) -> Option<(Self, &'static [u8])> {
        let last =
            ends.last_chunk::<PLACE>().map_or(Some(0), |last| usize::try_from(u32::from_le_bytes(*last)).ok())?;
        let (bytes, behind) = bytes.split_at_checked(last)?;
        Some((Self { ends, bytes }, behind))
    }

    fn len(&self) -> usize {
        self.ends.len() / PLACE
    }

    fn end(&self, place: usize) -> Option<usize> {
        let end = self.ends.get(place.checked_mul(PLACE)?..)?.first_chunk::<PLACE>()?;
        usize::try_from(u32::from_le_bytes(*end)).ok()
    }

    fn get(&self, place: usize) -> Option<&'static [u8]> {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.end(before))?;
        self.bytes.get(start..self.end(place)?)
    }
}

/// Sets of bytes, which are read where they are asked for.
#[derive(Clone, Copy, Debug)]
struct Sets(&'static [u8]);

/// The bytes of a set.
const SET: usize = 32;

impl Sets {
    fn get(self, place: usize) -> Option<ByteSet> {
        let (words, _) = self.0.get(place.checked_mul(SET)?..)?.first_chunk::<SET>()?.as_chunks::<8>();
        let mut set = [0; 4];
        set.iter_mut().zip(words).for_each(|(slot, word)| *slot = u64::from_le_bytes(*word));
        Some(ByteSet::from_words(set))
    }
}

/// Tables of sets, by the places of these.
type Tables = HashMap<usize, Arc<class::Table>>;

struct Reader<'s> {
    rest: &'static [u8],
    sets: Sets,
    codes: &'s Table,
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

    fn words(&mut self, tables: &mut Tables) -> Option<Words> {
        let (needles, uses) = (self.size()?, self.size()?);
        // One more is added to them, the self-test's.
        let mut words =
            Words { needles: Vec::with_capacity(needles + 1), uses: Uses::with_capacity(needles + 1, uses + 1) };
        for _ in 0..needles {
            words.needles.push(Needle {
                text: Cow::Borrowed(self.borrowed()?.as_bytes()),
                follow: self.known_set()?,
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

    fn one_use(&mut self, tables: &mut Tables) -> Option<Use> {
        Some(Use {
            rule: u16::try_from(self.size()?).ok()?,
            word: u16::try_from(self.size()?).ok()?,
            is_keyword: self.flag()?,
            glance: u16::try_from(self.size()?).ok()?,
            run: match self.size()?.checked_sub(1) {
                None => None,
                Some(set) => {
                    let bytes = self.sets.get(set)?;
                    let run = Run { bytes, least: self.size()?, from: self.size()?, to: self.size()? };
                    let table = tables.entry(set).or_insert_with(|| Arc::new(bytes.table()));
                    Some(FastRun::with_table(run, Arc::clone(table)))
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
                        glances: reader.list(Self::glance)?,
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
        Some(Run { bytes: self.known_set()?, least: self.size()?, from: self.size()?, to: self.size()? })
    }

    fn spots(&mut self) -> Option<Spots> {
        let all = self.list(Self::spot)?;
        let site = |reader: &mut Self| {
            let mut number = || u16::try_from(reader.size()?).ok();
            Some(Site { spot: number()?, text: number()?, offset: number()? })
        };
        Some(Spots { all, sites: Some(self.list(|reader| reader.list(site))?) })
    }

    fn spot(&mut self) -> Option<Spot> {
        Some(Spot {
            texts: self.list(|reader| Some(reader.borrowed()?.as_bytes().to_vec()))?,
            before: self.extent()?,
            after: self.extent()?,
            lead: self.lead()?,
            run: self.list(Self::run)?.pop(),
            profile: self.profile()?,
            tail: Tail { text: self.list(Self::piece)?, behind: self.list(Self::piece)?, reach: self.size()? },
            front: Front { pieces: self.list(Self::piece)?, reach: self.size()? },
        })
    }

    fn glance(&mut self) -> Option<Glance> {
        let mut glance = Glance { lead: self.lead()?, ..Glance::ANY };
        for bytes in &mut glance.behind {
            *bytes = self.known_set()?;
        }
        Some(glance)
    }

    fn lead(&mut self) -> Option<Lead> {
        Some(Lead { bytes: self.known_set()?, nothing: self.flag()? })
    }

    fn known_set(&mut self) -> Option<ByteSet> {
        let place = self.size()?;
        self.sets.get(place)
    }

    fn extent(&mut self) -> Option<Extent> {
        Some(Extent {
            least: self.size()?,
            most: self.list(Self::size)?.pop(),
            most_ascii: self.list(Self::size)?.pop(),
            bytes: self.known_set()?,
        })
    }

    fn piece(&mut self) -> Option<Piece> {
        Some(Piece { node: self.node()?, bytes: self.known_set()?, entry: self.profile()? })
    }

    fn profile(&mut self) -> Option<Profile> {
        Some(Profile { places: self.list(Self::known_set)? })
    }

    fn node(&mut self) -> Option<Node> {
        let count = |reader: &mut Self| u32::try_from(reader.size()?).ok();
        Some(match self.size()? {
            0 => Node::Empty,
            1 => Node::AnyByte,
            2 => Node::Set(self.code_set()?),
            3 => Node::Look(*LOOKS.get(self.size()?)?),
            4 => Node::Repeat {
                least: count(self)?,
                most: self.list(count)?.pop(),
                greedy: self.flag()?,
                node: Box::new(self.node()?),
            },
            5 => Node::Concat(self.list(Self::node)?),
            6 => Node::Either(self.list(Self::node)?),
            7 => Node::Group(count(self)?, Box::new(self.node()?)),
            _ => return None,
        })
    }

    fn code_set(&mut self) -> Option<CodeSet> {
        let bytes = self.codes.get(self.size()?)?;
        let mut reader = Reader { rest: bytes, ..*self };
        let code = |reader: &mut Self| u32::try_from(reader.size()?).ok();
        Some(CodeSet::settled(reader.list(|reader| Some((code(reader)?, code(reader)?)))?))
    }
}
