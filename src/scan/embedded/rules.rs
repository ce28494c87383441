//! The rules in force, and the schema they are written in.
//!
//! Promise: a [`RuleSet`] holds at least one rule, every one of them usable, and is known by a digest
//! of everything that decides what it finds. Reading the text is [`super::config`]'s job, merging and
//! judging it [`super::merge`]'s.
//!
//! # Schema
//!
//! gitleaks' TOML (its version 8.30.1): at the top `title`, `description`, `minVersion`, `[extend]`,
//! `[[rules]]`, `[[allowlists]]`; per rule `id`, `description`, `regex`, `path`, `secretGroup`,
//! `entropy`, `keywords`, `tags`, `skipReport`, `[[rules.allowlists]]`, `[[rules.required]]`. Regexes are
//! in RE2's syntax. tyran adds these keys to a rule, all optional:
//!
//! | key | type | meaning |
//! |---|---|---|
//! | `severity` | `"low"`, `"medium"`, `"high"`, `"critical"` | how bad a leak is; `"high"` when not said |
//! | `confidence` | `"note"`, `"low"`, `"medium"`, `"high"` | how sure a hit is; `"medium"` when not said |
//! | `url` | text | where the credential is documented |
//! | `remedy` | text | what to do on a leak: where to revoke it |
//! | `shape` | text or list | what the credential looks like, instead of a `regex`: see [`super::shape`], which makes `regex` and, where the rule has none, `keywords` from it |
//! | `names` | list | with `shape`: found only where one of these names is given such a value |
//! | `value` | regex | with `names`, instead of a `shape`: the characters of a value of any kind |
//! | `general` | boolean | a finding yields to one of a rule that is not general, or stands earlier, on the same line when one secret holds the other |
//! | `checksum` | name of a validator in [`super::verify`] | what the secret must satisfy; one that does has confidence `"high"` |
//! | `on_invalid` | `"note"`, `"drop"` | a secret that fails its checksum is lowered to a note (when not said), or is no finding |
//! | `on_valid` | `"raise"`, `"keep"` | whether a satisfied checksum raises the confidence (when not said) or leaves it |
//! | `distinct` | number | least number of distinct characters in the secret |
//! | `requires` | list of `"digit"`, `"lower"`, `"upper"`, `"letter"`, `"symbol"` | kinds of characters of which the secret must hold at least one each |
//! | `stopwords` | list | words (letters and digits, ignoring case) which make the secret harmless when they stand in it *as a whole word* |
//! | `placeholders` | `"keep"`, `"note"`, `"drop"` | what becomes of a secret that is an evident dummy (see [`super::placeholder`]); `"keep"` when neither the rule nor the same key at the top of the file says it |
//! | `files` | list of globs | the rule is for these files only. An item without a path is taken for one of them |
//! | `not_files` | list of globs | the rule is not for these files |
//! | `[rules.context]` | table | what must stand near the match, see below |
//! | `examples` | list | texts in which the rule must find something, in the grammar of [`super::example`] |
//! | `counter_examples` | list | texts in which it must find nothing, in the same grammar |
//!
//! A glob matches the whole path when it holds a `/`, else the last name only; `*` and `?` do not
//! cross a `/`, `**` does, `[a-z]` and `{one,other}` work, letter case does not matter.
//!
//! `[rules.context]`: `any` (list of words, one of which must be near, ignoring case, as a substring),
//! `none` (none of these may stand on the match's own lines), `lines` (how many lines before and after
//! count as near; 0 when not said: the match's own lines), `path = true` (one of `any` in the path
//! will do as well).
//!
//! A rule whose `regex` is absent and whose `path` matches reports the file itself.
//!
//! Without `--compat` an unknown key is an error, as is everything else that gitleaks passes over in
//! silence (a misspelt section, an allowlist that attaches to nothing, no rules at all).

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::allowlist::Allowlist;
use super::compiled::Compiled;
use super::config::{Mode, Origin, RulesFault};
use super::context::Context;
use super::factor::Prepared;
use super::layout::{self, Layout};
use super::pattern::Pattern;
use super::shared::view;
use super::spot::Spots;
use crate::scan::{Confidence, Severity};

/// Every rule in force, with the allowlists that go for all of them.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) rules: Rules,
    pub(super) allowlists: Vec<Arc<Allowlist>>,
    pub(super) mode: Mode,
    /// The texts that it was made of.
    pub(super) sources: Vec<Cow<'static, [u8]>>,
    pub(super) digest: OnceLock<String>,
    pub(super) warnings: Vec<String>,
}

/// Where the rules of a set are.
#[derive(Debug)]
pub(super) enum Rules {
    /// They were read.
    Read(Vec<Rule>),
    /// tyran's own, each of which is read when it is first asked for.
    Compiled(Compiled, Box<[OnceLock<Box<Rule>>]>),
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its id, unique in its set.
    pub id: Arc<str>,
    /// What it finds, for people.
    pub description: Arc<str>,
    /// Lower-cased; one of them must occur before the regex is tried. None: it is always tried.
    pub keywords: Vec<String>,
    /// Free words of the rule's author.
    pub tags: Arc<[String]>,
    /// How bad a leak is.
    pub severity: Severity,
    /// How sure a hit is.
    pub confidence: Confidence,
    /// Where the credential is documented.
    pub url: Option<Arc<str>>,
    /// What to do on a leak.
    pub remedy: Option<Arc<str>>,
    /// What the credential looks like, where the rule says it as a shape.
    pub shapes: Vec<String>,
    /// Names that such a value is given to, where the rule asks for them.
    pub names: Vec<String>,
    /// Texts in which it must find something, see [`super::example`].
    pub examples: Vec<String>,
    /// Texts in which it must find nothing.
    pub counter_examples: Vec<String>,
    pub(super) regex: Option<Pattern>,
    pub(super) path: Option<Pattern>,
    pub(super) secret_group: usize,
    pub(super) entropy: f64,
    pub(super) skip_report: bool,
    pub(super) required: Vec<Required>,
    pub(super) allowlists: Vec<Arc<Allowlist>>,
    pub(super) general: bool,
    pub(super) demands: Demands,
    /// Where its matches are looked for, worked out beforehand.
    pub(super) prepared: Option<Prepared>,
}

impl Rule {
    /// The regex as it is written, where there is one.
    pub fn regex(&self) -> Option<&str> {
        self.regex.as_ref().map(Pattern::as_str)
    }

    /// The path pattern as it is written, where there is one.
    pub fn path(&self) -> Option<&str> {
        self.path.as_ref().map(Pattern::as_str)
    }

    /// The capture group that is the secret; 0: the first that is not empty.
    pub fn secret_group(&self) -> usize {
        self.secret_group
    }

    /// Shannon entropy that the secret must exceed; 0 is no demand.
    pub fn entropy(&self) -> f64 {
        self.entropy
    }

    /// The longest match this rule can have, in bytes; 1 MiB where its regex sets no bound.
    pub fn span(&self) -> usize {
        self.regex.as_ref().map_or(0, Pattern::span)
    }

    /// The name of the validator that the secret must satisfy, where there is one.
    pub fn checksum(&self) -> Option<&'static str> {
        self.demands.checksum.map(|validator| validator.name())
    }
}

/// A rule that must have a finding near by for another one's to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    pub(super) id: String,
    pub(super) within_lines: Option<i64>,
    pub(super) within_columns: Option<i64>,
}

/// What tyran's own keys ask of a match, beyond gitleaks' schema.
#[derive(Debug, Default)]
pub struct Demands {
    pub(super) checksum: Option<&'static dyn super::verify::Validator>,
    pub(super) on_invalid: Outcome,
    pub(super) keep_confidence: bool,
    pub(super) distinct: usize,
    pub(super) requires: Vec<CharacterKind>,
    pub(super) stopwords: Vec<String>,
    pub(super) placeholders: Outcome,
    pub(super) files: Vec<super::glob::Glob>,
    pub(super) not_files: Vec<super::glob::Glob>,
    pub(super) context: Option<Context>,
}

impl Demands {
    /// Takes over what a rule of the same id says.
    pub(super) fn take_over(&mut self, other: Self) {
        if other.checksum.is_some() {
            (self.checksum, self.on_invalid, self.keep_confidence) =
                (other.checksum, other.on_invalid, other.keep_confidence);
        }
        self.distinct = self.distinct.max(other.distinct);
        self.requires.extend(other.requires);
        self.stopwords.extend(other.stopwords);
        if other.placeholders != Outcome::Keep {
            self.placeholders = other.placeholders;
        }
        self.files.extend(other.files);
        self.not_files.extend(other.not_files);
        if other.context.is_some() {
            self.context = other.context;
        }
    }
}

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is lowered to a note.
    Note,
    /// It is none.
    Drop,
}

/// Kinds of characters that `requires` speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharacterKind {
    /// 0 to 9.
    Digit,
    /// a to z.
    Lower,
    /// A to Z.
    Upper,
    /// a to z, A to Z.
    Letter,
    /// Anything else that is printable.
    Symbol,
}

/// tyran's own rules, as they are written.
const BUILTIN_TEXT: &str = concat!(
    include_str!("../../../rules/default.toml"),
    include_str!("../../../rules/cloud.toml"),
    include_str!("../../../rules/azure.toml"),
    include_str!("../../../rules/code.toml"),
    include_str!("../../../rules/ai.toml"),
    include_str!("../../../rules/chat.toml"),
    include_str!("../../../rules/pay.toml"),
    include_str!("../../../rules/ops.toml"),
    include_str!("../../../rules/saas.toml"),
    include_str!("../../../rules/more.toml"),
    include_str!("../../../rules/keys.toml"),
    include_str!("../../../rules/urls.toml"),
    include_str!("../../../rules/files.toml"),
    include_str!("../../../rules/devices.toml"),
    include_str!("../../../rules/forms.toml"),
    include_str!("../../../rules/services.toml"),
    include_str!("../../../rules/kinds.toml"),
    include_str!("../../../rules/partners.toml"),
    include_str!("../../../rules/generic.toml"),
);

/// The same as the build script leaves them.
pub(super) const BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rules.bin"));

/// Their digest.
pub(super) const BUILTIN_DIGEST: &str = include_str!(concat!(env!("OUT_DIR"), "/rules.digest"));

impl RuleSet {
    /// tyran's own rules, without their examples, shapes and names.
    ///
    /// # Errors
    /// Never in a program whose tests have passed; an error all the same, since no rules is no scan.
    pub fn builtin() -> Result<Arc<Self>, RulesFault> {
        static READ: OnceLock<Arc<RuleSet>> = OnceLock::new();
        if let Some(read) = READ.get() {
            return Ok(Arc::clone(read));
        }
        let read = super::merge::builtin().map(Arc::new)?;
        Ok(Arc::clone(READ.get_or_init(|| read)))
    }

    /// The same from their text, whole: for tests and for showing them. Slow.
    ///
    /// # Errors
    /// As [`RuleSet::builtin`].
    pub fn builtin_with_examples() -> Result<Arc<Self>, RulesFault> {
        super::merge::rule_set(Cow::Borrowed(BUILTIN_TEXT), &Origin::Builtin, Mode::Strict).map(Arc::new)
    }

    /// Rules of a file.
    ///
    /// # Errors
    /// When it cannot be read, or says something that cannot be used; names the line and what to do.
    pub fn load(path: &Path, mode: Mode) -> Result<Arc<Self>, RulesFault> {
        let text = super::config::read_file(path)?;
        super::merge::rule_set(Cow::Owned(text), &Origin::File(path.to_owned()), mode).map(Arc::new)
    }

    /// Rules of a text; `origin` is named in errors, and relative `extend.path` are looked up from the
    /// working directory, as gitleaks does.
    ///
    /// # Errors
    /// As [`RuleSet::load`].
    pub fn parse(text: &str, origin: Origin, mode: Mode) -> Result<Arc<Self>, RulesFault> {
        super::merge::rule_set(Cow::Owned(text.to_owned()), &origin, mode).map(Arc::new)
    }

    /// SHA-256 of everything that decides what is found, hexadecimal.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut hasher = Sha256::new();
            hasher.update(match self.mode {
                Mode::Strict => b"strict".as_slice(),
                Mode::Compat => b"compat",
            });
            for source in &self.sources {
                hasher.update((source.len() as u64).to_le_bytes());
                hasher.update(source);
            }
            hex::encode(hasher.finalize())
        })
    }

    /// The rules, in the order of their text.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        (0..self.len()).map(|place| self.rule(place).expect("there are so many"))
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        match &self.rules {
            Rules::Read(rules) => rules.len(),
            Rules::Compiled(_, rules) => rules.len(),
        }
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rule at a place.
    ///
    /// # Panics
    /// When the program's own rules are damaged; its tests read every one.
    pub fn rule(&self, place: usize) -> Option<&Rule> {
        match &self.rules {
            Rules::Read(rules) => rules.get(place),
            Rules::Compiled(compiled, rules) => Some(rules.get(place)?.get_or_init(|| {
                let read = super::merge::compiled_rule(compiled, place);
                Box::new(read.unwrap_or_else(|fault| panic!("{fault}")))
            })),
        }
    }

    /// What the rules are found by, and the longest match of any of them that has a bound, where that is
    /// known; `None` when there are more rules or keywords than can be told apart (65,535).
    pub(super) fn laid_out(&self) -> Option<(Layout, Option<usize>)> {
        match &self.rules {
            Rules::Compiled(compiled, _) => Some((compiled.layout()?, Some(compiled.widest))),
            Rules::Read(rules) => {
                let mut builder = layout::Builder::default();
                rules.iter().try_for_each(|rule| view(rule, |view| builder.add(view)))?;
                Some((builder.finish(), None))
            }
        }
    }

    /// What the build worked out of a rule that is searched near its texts.
    pub(super) fn spots(&self, place: usize) -> Option<Spots> {
        match &self.rules {
            Rules::Read(_) => None,
            Rules::Compiled(compiled, _) => compiled.spots(place),
        }
    }

    /// How strictly they were read.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What was passed over while reading in [`Mode::Compat`], for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn find(&self, id: &str) -> Option<usize> {
        match &self.rules {
            Rules::Read(rules) => rules.iter().position(|rule| &*rule.id == id),
            Rules::Compiled(compiled, _) => (0..compiled.len()).find(|&place| compiled.id(place) == Some(id)),
        }
    }
}
