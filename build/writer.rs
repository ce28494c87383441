//! Writes rules for the engine's `compiled` to read, field for field.

use super::class::{ByteSet, CodeSet};
use super::config::{AllowlistParts, OwnParts, RuleParts};
use super::extent::Extent;
use super::glance::Glance;
use super::layout::{Layout, Words};
use super::lead::Lead;
use super::profile::Profile;
use super::runs::Run;
use super::spot::{Piece, Spot, Spots};
use super::translate::{LOOKS, Node};

/// Writes rules, and what they are found by. `widest` is the longest match of a rule without places.
pub(crate) fn write(
    allowlists: &[AllowlistParts],
    rules: &[RuleParts],
    spots: &[Option<Spots>],
    widest: usize,
    layout: &Layout,
) -> Vec<u8> {
    let mut writer = Writer::default();
    let (rule_ends, rules) = writer.table(rules, Writer::rule);
    let (spot_ends, spots) = writer.table(spots, |writer, spots| spots.iter().for_each(|spots| writer.spots(spots)));
    writer.layout(layout);
    let codes = std::mem::take(&mut writer.codes);
    let mut whole = Writer::default();
    let (code_ends, codes) = whole.table(&codes, |whole, set| {
        whole.list(set.ranges(), |whole, &(first, last)| whole.numbers(&[first as usize, last as usize]));
    });
    whole.list(&writer.sets, |whole, set| set.words().iter().for_each(|word| whole.bytes.extend(word.to_le_bytes())));
    whole.list(allowlists, Writer::allowlist);
    whole.number(widest as u64);
    let tables = [(rule_ends, rules), (spot_ends, spots), (code_ends, codes)];
    whole.numbers(&tables.each_ref().map(|(ends, _)| ends.len()));
    tables.iter().flat_map(|(ends, _)| ends).for_each(|end| whole.bytes.extend(end.to_le_bytes()));
    tables.iter().for_each(|(_, bytes)| whole.bytes.extend(bytes));
    whole.bytes.extend(writer.bytes);
    whole.bytes
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    sets: Vec<ByteSet>,
    codes: Vec<CodeSet>,
}

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7F) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes things one after another to a place of their own, and where each ends.
    fn table<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> (Vec<u32>, Vec<u8>) {
        let outer = std::mem::take(&mut self.bytes);
        let ends = items.iter().map(|item| {
            write(self, item);
            u32::try_from(self.bytes.len()).expect("the rules are small")
        });
        let ends = ends.collect();
        (ends, std::mem::replace(&mut self.bytes, outer))
    }

    fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    fn texts(&mut self, texts: &[String]) {
        self.list(texts, |writer, text| writer.text(text));
    }

    fn allowlist(&mut self, list: &AllowlistParts) {
        self.text(&list.condition);
        self.texts(&list.commits);
        self.texts(&list.paths);
        self.text(&list.regex_target);
        self.texts(&list.regexes);
        self.texts(&list.stopwords);
        self.texts(&list.target_rules);
    }

    fn rule(&mut self, rule: &RuleParts) {
        self.text(&rule.id);
        self.text(&rule.description);
        self.text(&rule.regex);
        self.text(&rule.path);
        self.signed(rule.secret_group);
        self.bytes.extend(rule.entropy.to_bits().to_le_bytes());
        self.texts(&rule.keywords);
        self.texts(&rule.tags);
        self.number(u64::from(rule.skip_report));
        self.list(&rule.allowlists, Self::allowlist);
        self.list(&rule.required, |writer, required| {
            writer.text(&required.id);
            writer.list(required.within_lines.as_slice(), |writer, &lines| writer.signed(lines));
            writer.list(required.within_columns.as_slice(), |writer, &columns| writer.signed(columns));
        });
        self.own(&rule.own);
        self.list(rule.prepared.as_slice(), |writer, prepared| {
            writer.texts(&prepared.words);
            writer.list(&prepared.runs, |writer, run| writer.list(run.as_slice(), Self::run));
            writer.list(&prepared.glances, Self::glance);
        });
    }

    fn own(&mut self, own: &OwnParts) {
        let texts =
            [&own.severity, &own.confidence, &own.url, &own.remedy, &own.checksum, &own.on_invalid, &own.on_valid];
        texts.into_iter().for_each(|text| self.option(text.as_deref()));
        self.number(u64::from(own.general));
        self.signed(own.distinct);
        self.texts(&own.requires);
        self.texts(&own.stopwords);
        self.option(own.placeholders.as_deref());
        self.texts(&own.files);
        self.texts(&own.not_files);
        self.list(own.context.as_slice(), |writer, context| {
            writer.texts(&context.any);
            writer.texts(&context.none);
            writer.signed(context.lines);
            writer.number(u64::from(context.path));
        });
    }

    /// The place of a set among all of them.
    fn set(&mut self, set: ByteSet) -> usize {
        self.sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        })
    }

    fn run(&mut self, run: &Run) {
        let place = self.set(run.bytes);
        self.numbers(&[place, run.least, run.from, run.to]);
    }

    fn numbers(&mut self, numbers: &[usize]) {
        numbers.iter().for_each(|&number| self.number(number as u64));
    }

    fn spots(&mut self, spots: &Spots) {
        self.list(&spots.all, Self::spot);
        self.list(spots.sites.as_deref().unwrap_or_default(), |writer, sites| {
            writer.list(sites, |writer, site| writer.numbers(&[site.spot, site.text, site.offset].map(usize::from)));
        });
    }

    fn spot(&mut self, spot: &Spot) {
        self.list(&spot.texts, |writer, text| writer.text(std::str::from_utf8(text).expect("texts are text")));
        self.extent(&spot.before);
        self.extent(&spot.after);
        self.lead(spot.lead);
        self.list(spot.run.as_slice(), Self::run);
        self.profile(&spot.profile);
        self.list(&spot.tail.text, Self::piece);
        self.list(&spot.tail.behind, Self::piece);
        self.number(spot.tail.reach as u64);
        self.list(&spot.front.pieces, Self::piece);
        self.number(spot.front.reach as u64);
    }

    fn profile(&mut self, profile: &Profile) {
        self.list(&profile.places, |writer, set| {
            let place = writer.set(*set);
            writer.number(place as u64);
        });
    }

    fn lead(&mut self, lead: Lead) {
        let place = self.set(lead.bytes);
        self.numbers(&[place, usize::from(lead.nothing)]);
    }

    fn glance(&mut self, glance: &Glance) {
        self.lead(glance.lead);
        let behind = glance.behind.map(|bytes| self.set(bytes));
        self.numbers(&behind);
    }

    fn extent(&mut self, extent: &Extent) {
        self.number(extent.least as u64);
        for most in [extent.most, extent.most_ascii] {
            self.list(most.as_slice(), |writer, &most| writer.number(most as u64));
        }
        let place = self.set(extent.bytes);
        self.number(place as u64);
    }

    fn piece(&mut self, piece: &Piece) {
        self.node(&piece.node);
        let place = self.set(piece.bytes);
        self.number(place as u64);
        self.profile(&piece.entry);
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Empty => self.number(0),
            Node::AnyByte => self.number(1),
            Node::Set(set) => {
                let place = self.codes.iter().position(|known| known == set).unwrap_or_else(|| {
                    self.codes.push(set.clone());
                    self.codes.len() - 1
                });
                self.numbers(&[2, place]);
            }
            Node::Look(look) => {
                let place = LOOKS.iter().position(|known| known == look).expect("these are all");
                self.numbers(&[3, place]);
            }
            Node::Repeat { node, least, most, greedy } => {
                self.numbers(&[4, *least as usize]);
                self.list(most.as_slice(), |writer, &most| writer.number(u64::from(most)));
                self.number(u64::from(*greedy));
                self.node(node);
            }
            Node::Concat(nodes) => {
                self.number(5);
                self.list(nodes, Self::node);
            }
            Node::Either(nodes) => {
                self.number(6);
                self.list(nodes, Self::node);
            }
            Node::Group(group, node) => {
                self.numbers(&[7, *group as usize]);
                self.node(node);
            }
        }
    }

    fn layout(&mut self, layout: &Layout) {
        self.words(&layout.words);
        self.words(&layout.inner);
        self.list(&layout.always, |writer, &rule| writer.number(rule as u64));
        self.list(&layout.by_candidates, |writer, &is| writer.number(u64::from(is)));
        self.list(&layout.single, |writer, &(byte, rule)| writer.numbers(&[usize::from(byte), rule]));
        self.list(&layout.unusual, |writer, (word, rule)| {
            writer.text(std::str::from_utf8(word).expect("words are text"));
            writer.number(*rule as u64);
        });
        self.list(&layout.glances, Self::glance);
    }

    fn words(&mut self, words: &Words) {
        self.numbers(&[words.needles.len(), words.uses.len()]);
        for (place, needle) in words.needles.iter().enumerate() {
            self.text(std::str::from_utf8(&needle.text).expect("words are text"));
            let follow = self.set(needle.follow);
            self.numbers(&[follow, usize::from(needle.twice), needle.rarest]);
            self.list(words.uses.get(place).expect("each word has its uses"), |writer, one| {
                writer.numbers(&[one.rule, one.word, u16::from(one.is_keyword), one.glance].map(usize::from));
                match &one.run {
                    None => writer.number(0),
                    Some(run) => {
                        let set = writer.set(run.run.bytes);
                        writer.numbers(&[set + 1, run.run.least, run.run.from, run.run.to]);
                    }
                }
            });
        }
    }
}
