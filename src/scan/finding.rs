//! One hit of a rule, with what is needed to show it without showing the secret.

use std::fmt;
use std::sync::Arc;

use bstr::BString;

use crate::payload::Item;

/// Secret bytes, shared by their copies. No `Display`; `Debug` prints only a length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret(Arc<BString>);

impl Secret {
    /// Wraps bytes that must not be shown.
    pub fn new(bytes: impl Into<BString>) -> Self {
        Self(Arc::new(bytes.into()))
    }

    /// The bytes, for fingerprints and for reports that a person asked to be whole.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// What may be shown: its length, and nothing of it.
    pub fn redacted(&self) -> String {
        format!("REDACTED ({} bytes)", self.0.len())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({} bytes)", self.0.len())
    }
}

/// How bad a leak of this kind is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Public by design, or of no use alone.
    Low,
    /// Of use together with something else.
    Medium,
    /// Access to something.
    #[default]
    High,
    /// Access to everything.
    Critical,
}

/// How sure a rule is of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A note: looks like a broken or redacted one. Does not refuse.
    Note,
    /// Could be. Does not refuse unless configured.
    Low,
    /// Likely.
    #[default]
    Medium,
    /// Checksum, structure or an unmistakable prefix.
    High,
}

/// One hit of a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule's id.
    pub rule: Arc<str>,
    /// The rule's description.
    pub description: Arc<str>,
    /// Which engine found it (`embedded`, `gitleaks`).
    pub engine: &'static str,
    /// The item it stands in.
    pub item: Item,
    /// The item's part of the payload.
    pub part: usize,
    /// First byte of the match in the item (after decoding a container: of the container).
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// 1-based line of the match.
    pub line: u64,
    /// 1-based line of its end.
    pub end_line: u64,
    /// 1-based column in bytes, as gitleaks counts them.
    pub column: u64,
    /// 1-based column of its end.
    pub end_column: u64,
    /// The whole match.
    pub matched: Secret,
    /// The secret itself.
    pub secret: Secret,
    /// The line it stands in, cut to a bound; secret, since it holds the secret.
    pub line_text: Secret,
    /// Shannon entropy of the secret, bits per byte.
    pub entropy: f32,
    /// The rule's tags.
    pub tags: Arc<[String]>,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// Where inside the item: member of an archive, layers of decoding (`base64`), empty for plain.
    pub within: Vec<String>,
    /// What to do on a leak of this kind, where the rule says.
    pub remedy: Option<Arc<str>>,
}

/// Findings of several engines or threads as one list: sorted, and what one engine tells of a (rule,
/// item, place) is not told by another one again; the embedded engine's is kept, since it knows more
/// of its rule. An engine's own findings all stay: one encoded text can hold a secret twice.
pub fn unite(mut findings: Vec<Finding>) -> Vec<Finding> {
    let key = |finding: &Finding| {
        (
            finding.part,
            finding.item.oid,
            finding.item.path.clone(),
            finding.start,
            finding.rule.clone(),
            finding.secret.clone(),
        )
    };
    findings.sort_by(|one, other| key(one).cmp(&key(other)).then_with(|| one.engine.cmp(other.engine)));
    findings.dedup_by(|later, earlier| later.engine != earlier.engine && key(later) == key(earlier));
    findings
}

/// What makes findings one secret: the same bytes, found by the same rule in files of the same name.
/// They stand in every version of the file that is sent, and often several times in one.
pub fn secret_of(finding: &Finding) -> (&str, Option<&BString>, &Secret) {
    (&finding.rule, finding.item.path.as_ref(), &finding.secret)
}

/// How many secrets there are among findings.
pub fn count_secrets<'f>(findings: impl Iterator<Item = &'f Finding>) -> usize {
    findings.map(secret_of).collect::<std::collections::BTreeSet<_>>().len()
}
