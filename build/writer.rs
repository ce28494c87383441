//! Writes rules for the engine's `compiled` to read, field for field.

use super::class::ByteSet;
use super::config::{AllowlistParts, OwnParts, Parts, RuleParts};
use super::factor::Run;

/// Writes rules.
pub(crate) fn write(parts: &Parts) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.option(parts.placeholders.as_deref());
    writer.list(&parts.allowlists, Writer::allowlist);
    writer.list(&parts.rules, Writer::rule);
    let mut whole = Writer::default();
    whole.list(&writer.sets, |whole, set| set.words().iter().for_each(|word| whole.bytes.extend(word.to_le_bytes())));
    whole.bytes.extend(writer.bytes);
    whole.bytes
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    sets: Vec<ByteSet>,
}

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7F) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
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

    fn run(&mut self, run: &Run) {
        let place = self.sets.iter().position(|set| *set == run.bytes).unwrap_or_else(|| {
            self.sets.push(run.bytes);
            self.sets.len() - 1
        });
        [place, run.least, run.from, run.to].into_iter().for_each(|number| self.number(number as u64));
    }
}
