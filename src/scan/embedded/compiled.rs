//! tyran's own rules as the build script leaves them: read, shaped, and their places worked out.
//!
//! Promise: what is read here is what was written; anything else is `None`. Reading fifteen hundred rules
//! from TOML, making their regexes and working out where these can match takes longer than a whole
//! commit hook may. Texts that only tests and people need (examples, shapes, names) are left out.

use super::class::ByteSet;
use super::config::{AllowlistParts, ContextParts, OwnParts, Parts, RequiredParts, RuleParts};
use super::factor::{Prepared, Run};

/// Reads rules.
pub(crate) fn read(bytes: &[u8]) -> Option<Parts> {
    let mut reader = Reader { rest: bytes, sets: Vec::new() };
    reader.sets = reader.list(|reader| {
        let mut words = [0; 4];
        for word in &mut words {
            *word = reader.word()?;
        }
        Some(ByteSet::from_words(words))
    })?;
    let placeholders = reader.option()?;
    let allowlists = reader.list(Reader::allowlist)?;
    let rules = reader.list(Reader::rule)?;
    reader.rest.is_empty().then_some(Parts { placeholders, allowlists, rules, ..Parts::default() })
}

struct Reader<'b> {
    rest: &'b [u8],
    sets: Vec<ByteSet>,
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

    fn text(&mut self) -> Option<String> {
        let length = self.size()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
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
