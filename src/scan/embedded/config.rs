//! The text of a configuration, read into its parts.
//!
//! Promise: in [`Mode::Compat`] a text is read as gitleaks reads it: keys without regard to letter
//! case, numbers, texts and lists made of one another where that is possible, unknown keys passed
//! over. In [`Mode::Strict`] everything that would be passed over or bent is an error with its line and
//! a remedy. What the parts mean together is [`super::merge`]'s job.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::factor::Prepared;
use crate::text::SafeText;

/// How strictly a configuration is read, and whose behaviour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything that gitleaks passes over in silence is an error.
    Strict,
    /// As gitleaks 8.30.1 reads it.
    Compat,
}

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is part of the program.
    Builtin,
    /// A file.
    File(PathBuf),
    /// A text that somebody gave; how it is named in errors.
    Text(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => formatter.write_str("tyran's own rules"),
            Self::File(path) => write!(formatter, "{}", SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200)),
            Self::Text(name) => formatter.write_str(name),
        }
    }
}

/// Why rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{}: {what}; {remedy}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct RulesFault {
    /// Where the text comes from.
    pub origin: String,
    /// 1-based line, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// A configuration file larger than this is refused: 16 MiB.
const LARGEST_FILE: u64 = 16 << 20;

pub(super) fn read_file(path: &Path) -> Result<String, RulesFault> {
    let fault = |what: String, remedy: &str| RulesFault {
        origin: Origin::File(path.to_owned()).to_string(),
        line: None,
        what,
        remedy: remedy.to_owned(),
    };
    let file = std::fs::File::open(path)
        .map_err(|error| fault(format!("cannot be opened: {error}"), "name a readable file"))?;
    let mut bytes = Vec::new();
    let mut bounded = std::io::Read::take(file, LARGEST_FILE + 1);
    std::io::Read::read_to_end(&mut bounded, &mut bytes)
        .map_err(|error| fault(format!("cannot be read: {error}"), "name a readable file"))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(fault("is larger than 16 MiB".to_owned(), "name a file of rules"));
    }
    String::from_utf8(bytes).map_err(|error| {
        fault(format!("is not UTF-8 at byte {}", error.utf8_error().valid_up_to()), "save it as UTF-8")
    })
}

/// One configuration file's parts.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) min_version: Option<String>,
    pub(super) extend: Extend,
    pub(super) rules: Vec<RuleParts>,
    pub(super) allowlists: Vec<AllowlistParts>,
    /// What becomes of evident dummies where a rule does not say.
    pub(super) placeholders: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Extend {
    pub(super) line: usize,
    pub(super) path: String,
    pub(super) use_default: bool,
    pub(super) disabled_rules: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct RuleParts {
    pub(super) line: usize,
    pub(super) id: String,
    pub(super) description: String,
    pub(super) regex: String,
    pub(super) path: String,
    pub(super) secret_group: i64,
    pub(super) entropy: f64,
    pub(super) keywords: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) skip_report: bool,
    pub(super) allowlists: Vec<AllowlistParts>,
    pub(super) required: Vec<RequiredParts>,
    pub(super) own: OwnParts,
    /// Where its matches are looked for, worked out beforehand.
    pub(super) prepared: Option<Prepared>,
}

/// The keys that tyran adds to a rule.
#[derive(Debug, Default)]
pub(super) struct OwnParts {
    pub(super) severity: Option<String>,
    pub(super) confidence: Option<String>,
    pub(super) url: Option<String>,
    pub(super) remedy: Option<String>,
    pub(super) shapes: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) value: Option<String>,
    pub(super) general: bool,
    pub(super) checksum: Option<String>,
    pub(super) on_invalid: Option<String>,
    pub(super) on_valid: Option<String>,
    pub(super) distinct: i64,
    pub(super) requires: Vec<String>,
    pub(super) stopwords: Vec<String>,
    pub(super) placeholders: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) not_files: Vec<String>,
    pub(super) context: Option<ContextParts>,
    pub(super) examples: Vec<String>,
    pub(super) counter_examples: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct ContextParts {
    pub(super) any: Vec<String>,
    pub(super) none: Vec<String>,
    pub(super) lines: i64,
    pub(super) path: bool,
}

#[derive(Debug, Default)]
pub(super) struct RequiredParts {
    pub(super) line: usize,
    pub(super) id: String,
    pub(super) within_lines: Option<i64>,
    pub(super) within_columns: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AllowlistParts {
    pub(super) line: usize,
    pub(super) condition: String,
    pub(super) commits: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) regex_target: String,
    pub(super) regexes: Vec<String>,
    pub(super) stopwords: Vec<String>,
    pub(super) target_rules: Vec<String>,
}

/// Reads a text into its parts.
pub(super) fn parts(text: &str, origin: &Origin, mode: Mode) -> Result<Parts, RulesFault> {
    let line_ends = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    let reader = Reader { line_ends, origin, mode };
    if text.starts_with('\u{FEFF}') {
        return Err(reader.fault(Some(0), "begins with a byte order mark", "save it without one"));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        reader.fault(at, &format!("is not TOML: {}", error.message()), "correct the line")
    })?;
    reader.top(table.get_ref())
}

struct Reader<'a> {
    /// Where the text's lines end: a line is asked for with every rule.
    line_ends: Vec<usize>,
    origin: &'a Origin,
    mode: Mode,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.line_ends.partition_point(|&end| end < at)
    }

    fn fault(&self, at: Option<usize>, what: &str, remedy: &str) -> RulesFault {
        RulesFault {
            origin: self.origin.to_string(),
            line: at.map(|at| self.line(at)),
            what: what.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    fn top(&self, table: &DeTable<'_>) -> Result<Parts, RulesFault> {
        let mut parts = Parts::default();
        let mut old: Option<AllowlistParts> = None;
        for (key, value) in table {
            match key.get_ref().to_lowercase().as_str() {
                "title" | "description" => _ = self.string(value)?,
                "minversion" => parts.min_version = Some(self.string(value)?),
                "extend" => parts.extend = self.extend(value)?,
                "rules" => {
                    parts.rules =
                        self.tables(value)?.into_iter().map(|rule| self.rule(rule)).collect::<Result<_, _>>()?
                }
                "allowlists" => {
                    let lists = self.tables(value)?.into_iter();
                    parts.allowlists = lists.map(|list| self.allowlist(list, true)).collect::<Result<_, _>>()?;
                }
                "allowlist" => old = Some(self.allowlist(value, false)?),
                "placeholders" if self.mode == Mode::Strict => parts.placeholders = Some(self.string(value)?),
                _ => self.unknown(key, "the configuration")?,
            }
        }
        self.with_old(&mut parts.allowlists, old)?;
        Ok(parts)
    }

    /// The deprecated spelling of an allowlist, which cannot stand beside the new one.
    fn with_old(&self, lists: &mut Vec<AllowlistParts>, old: Option<AllowlistParts>) -> Result<(), RulesFault> {
        let Some(old) = old else { return Ok(()) };
        if !lists.is_empty() {
            return Err(RulesFault {
                origin: self.origin.to_string(),
                line: Some(old.line),
                what: "`allowlist` and `allowlists` stand side by side".to_owned(),
                remedy: "write all of them as [[allowlists]]".to_owned(),
            });
        }
        lists.push(old);
        Ok(())
    }

    fn unknown(&self, key: &Spanned<std::borrow::Cow<'_, str>>, place: &str) -> Result<(), RulesFault> {
        match self.mode {
            Mode::Compat => Ok(()),
            Mode::Strict => {
                let name = SafeText::quoted(key.get_ref().as_bytes(), 60);
                let what = format!("unknown key `{name}` in {place}");
                Err(self.fault(Some(key.span().start), &what, "correct its spelling or remove it"))
            }
        }
    }

    fn extend(&self, value: &Value<'_>) -> Result<Extend, RulesFault> {
        let mut extend = Extend { line: self.line(value.span().start), ..Extend::default() };
        for (key, value) in self.table(value)? {
            match key.get_ref().to_lowercase().as_str() {
                "path" => extend.path = self.string(value)?,
                "url" => self.extend_url(value)?,
                "usedefault" => extend.use_default = self.boolean(value)?,
                "disabledrules" => extend.disabled_rules = self.strings(value)?,
                _ => self.unknown(key, "[extend]")?,
            }
        }
        Ok(extend)
    }

    fn extend_url(&self, value: &Value<'_>) -> Result<(), RulesFault> {
        match self.mode {
            Mode::Compat => self.string(value).map(drop),
            Mode::Strict => Err(self.fault(
                Some(value.span().start),
                "extend.url is never used",
                "fetch the file and name it in extend.path",
            )),
        }
    }

    fn rule(&self, value: &Value<'_>) -> Result<RuleParts, RulesFault> {
        let mut rule = RuleParts { line: self.line(value.span().start), ..RuleParts::default() };
        let mut old = None;
        for (key, value) in self.table(value)? {
            match key.get_ref().to_lowercase().as_str() {
                "id" => rule.id = self.string(value)?,
                "description" => rule.description = self.string(value)?,
                "regex" => rule.regex = self.string(value)?,
                "path" => rule.path = self.string(value)?,
                "secretgroup" => rule.secret_group = self.integer(value)?,
                "entropy" => rule.entropy = self.float(value)?,
                "keywords" => rule.keywords = self.strings(value)?,
                "tags" => rule.tags = self.strings(value)?,
                "skipreport" => rule.skip_report = self.boolean(value)?,
                "allowlists" => {
                    let lists = self.tables(value)?.into_iter();
                    rule.allowlists = lists.map(|list| self.allowlist(list, false)).collect::<Result<_, _>>()?;
                }
                "allowlist" => old = Some(self.allowlist(value, false)?),
                "required" => {
                    rule.required =
                        self.tables(value)?.into_iter().map(|one| self.required(one)).collect::<Result<_, _>>()?;
                }
                name => {
                    if self.mode == Mode::Compat || !self.own_key(name, value, &mut rule.own)? {
                        self.unknown(key, "[[rules]]")?;
                    }
                }
            }
        }
        self.with_old(&mut rule.allowlists, old)?;
        Ok(rule)
    }

    /// A key of tyran's own; whether it is one.
    fn own_key(&self, name: &str, value: &Value<'_>, own: &mut OwnParts) -> Result<bool, RulesFault> {
        match name {
            "severity" => own.severity = Some(self.string(value)?),
            "confidence" => own.confidence = Some(self.string(value)?),
            "url" => own.url = Some(self.string(value)?),
            "remedy" => own.remedy = Some(self.string(value)?),
            "shape" => own.shapes = self.one_or_more(value)?,
            "names" => own.names = self.strings(value)?,
            "value" => own.value = Some(self.string(value)?),
            "general" => own.general = self.boolean(value)?,
            "checksum" => own.checksum = Some(self.string(value)?),
            "on_invalid" => own.on_invalid = Some(self.string(value)?),
            "on_valid" => own.on_valid = Some(self.string(value)?),
            "distinct" => own.distinct = self.integer(value)?,
            "requires" => own.requires = self.strings(value)?,
            "stopwords" => own.stopwords = self.strings(value)?,
            "placeholders" => own.placeholders = Some(self.string(value)?),
            "files" => own.files = self.strings(value)?,
            "not_files" => own.not_files = self.strings(value)?,
            "context" => own.context = Some(self.context(value)?),
            "examples" => own.examples = self.strings(value)?,
            "counter_examples" => own.counter_examples = self.strings(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn context(&self, value: &Value<'_>) -> Result<ContextParts, RulesFault> {
        let mut context = ContextParts::default();
        for (key, value) in self.table(value)? {
            match key.get_ref().to_lowercase().as_str() {
                "any" => context.any = self.strings(value)?,
                "none" => context.none = self.strings(value)?,
                "lines" => context.lines = self.integer(value)?,
                "path" => context.path = self.boolean(value)?,
                _ => self.unknown(key, "[rules.context]")?,
            }
        }
        Ok(context)
    }

    fn required(&self, value: &Value<'_>) -> Result<RequiredParts, RulesFault> {
        let mut required = RequiredParts { line: self.line(value.span().start), ..RequiredParts::default() };
        for (key, value) in self.table(value)? {
            match key.get_ref().to_lowercase().as_str() {
                "id" => required.id = self.string(value)?,
                "withinlines" => required.within_lines = Some(self.integer(value)?),
                "withincolumns" => required.within_columns = Some(self.integer(value)?),
                _ => self.unknown(key, "[[rules.required]]")?,
            }
        }
        Ok(required)
    }

    fn allowlist(&self, value: &Value<'_>, global: bool) -> Result<AllowlistParts, RulesFault> {
        let mut list = AllowlistParts { line: self.line(value.span().start), ..AllowlistParts::default() };
        for (key, value) in self.table(value)? {
            match key.get_ref().to_lowercase().as_str() {
                "description" => _ = self.string(value)?,
                "condition" => list.condition = self.string(value)?,
                "commits" => list.commits = self.strings(value)?,
                "paths" => list.paths = self.strings(value)?,
                "regextarget" => list.regex_target = self.string(value)?,
                "regexes" => list.regexes = self.strings(value)?,
                "stopwords" => list.stopwords = self.strings(value)?,
                "targetrules" if global => list.target_rules = self.strings(value)?,
                _ => self.unknown(key, "an allowlist")?,
            }
        }
        Ok(list)
    }

    fn table<'v>(&self, value: &'v Value<'v>) -> Result<&'v DeTable<'v>, RulesFault> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(value, "a table"))
    }

    /// An array of tables; in compatible mode a single table will do.
    fn tables<'v>(&self, value: &'v Value<'v>) -> Result<Vec<&'v Value<'v>>, RulesFault> {
        match (value.get_ref(), self.mode) {
            (DeValue::Array(array), _) => Ok(array.iter().collect()),
            (DeValue::Table(_), Mode::Compat) => Ok(vec![value]),
            _ => Err(self.wrong(value, "an array of tables, written with [[…]]")),
        }
    }

    fn wrong(&self, value: &Value<'_>, wanted: &str) -> RulesFault {
        let what = format!("{} stands where {wanted} is wanted", value.get_ref().type_str());
        self.fault(Some(value.span().start), &what, "write it as that")
    }

    fn string(&self, value: &Value<'_>) -> Result<String, RulesFault> {
        match (value.get_ref(), self.mode) {
            (DeValue::String(text), _) => Ok(text.clone().into_owned()),
            (DeValue::Boolean(flag), Mode::Compat) => Ok(if *flag { "1" } else { "0" }.to_owned()),
            (DeValue::Integer(_), Mode::Compat) => Ok(self.integer(value)?.to_string()),
            (DeValue::Float(_), Mode::Compat) => Ok(self.float(value)?.to_string()),
            _ => Err(self.wrong(value, "a text")),
        }
    }

    fn strings(&self, value: &Value<'_>) -> Result<Vec<String>, RulesFault> {
        match (value.get_ref(), self.mode) {
            (DeValue::Array(array), _) => array.iter().map(|one| self.string(one)).collect(),
            (DeValue::String(text), Mode::Compat) if text.is_empty() => Ok(Vec::new()),
            (DeValue::String(text), Mode::Compat) => Ok(text.split(',').map(str::to_owned).collect()),
            (DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_), Mode::Compat) => {
                Ok(vec![self.string(value)?])
            }
            _ => Err(self.wrong(value, "a list of texts")),
        }
    }

    /// A list, or one text for a list of it.
    fn one_or_more(&self, value: &Value<'_>) -> Result<Vec<String>, RulesFault> {
        match value.get_ref() {
            DeValue::String(text) => Ok(vec![text.clone().into_owned()]),
            _ => self.strings(value),
        }
    }

    fn boolean(&self, value: &Value<'_>) -> Result<bool, RulesFault> {
        match (value.get_ref(), self.mode) {
            (DeValue::Boolean(flag), _) => Ok(*flag),
            (DeValue::Integer(_), Mode::Compat) => Ok(self.integer(value)? != 0),
            (DeValue::Float(_), Mode::Compat) => Ok(self.float(value)? != 0.0),
            (DeValue::String(text), Mode::Compat) => match text.as_ref() {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
                "" | "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
                _ => Err(self.wrong(value, "true or false")),
            },
            _ => Err(self.wrong(value, "true or false")),
        }
    }

    fn integer(&self, value: &Value<'_>) -> Result<i64, RulesFault> {
        let wrong = || self.wrong(value, "a whole number");
        match (value.get_ref(), self.mode) {
            (DeValue::Integer(number), _) => i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| wrong()),
            // A saturating cast is what Go's conversion comes to for every number that makes sense here.
            (DeValue::Float(_), Mode::Compat) => Ok(self.float(value)?.trunc() as i64),
            (DeValue::Boolean(flag), Mode::Compat) => Ok(i64::from(*flag)),
            (DeValue::String(text), Mode::Compat) if text.is_empty() => Ok(0),
            (DeValue::String(text), Mode::Compat) => go_integer(text).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    fn float(&self, value: &Value<'_>) -> Result<f64, RulesFault> {
        let wrong = || self.wrong(value, "a number");
        match (value.get_ref(), self.mode) {
            (DeValue::Float(number), _) => number.as_str().parse().map_err(|_| wrong()),
            (DeValue::Integer(_), _) => Ok(self.integer(value)? as f64),
            (DeValue::Boolean(flag), Mode::Compat) => Ok(if *flag { 1.0 } else { 0.0 }),
            (DeValue::String(text), Mode::Compat) if text.is_empty() => Ok(0.0),
            (DeValue::String(text), Mode::Compat) => text.parse().map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

/// A number as Go reads it with base 0: a prefix may say the base.
fn go_integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    i64::from_str_radix(&digits.replace('_', ""), radix).ok().map(|number| sign * number)
}
