//! A verdict in the words of the host that asked.
//!
//! Promise: a refusal has the row's exit code, a reason that is never empty, and JSON only of the
//! row's shape, on one line, within the host's limit; a pass is the row's "no objection" and never an
//! approval; a question is asked only at an event where the row says that asking works.

use serde_json::{Map, Value, json};

use crate::text::SafeText;
use crate::verdict::{Class, Refusal};

use super::table::{Host, Limit, LimitUnit, Shape};

/// What is written, and how the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub exit: u8,
}

/// What the gate has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// No objection.
    Pass,
    /// A person must decide: why, and the whole text that is shown.
    Ask(Class, SafeText),
    /// No: why, and the whole text that is shown.
    Refuse(Class, SafeText),
}

impl Decision {
    /// The decision for a host at which nobody can be asked.
    pub fn unasked(self) -> Self {
        match self {
            Self::Ask(class, text) => Self::Refuse(class, text),
            Self::Pass | Self::Refuse(..) => self,
        }
    }
}

impl From<&Refusal> for Decision {
    fn from(refusal: &Refusal) -> Self {
        Self::Refuse(refusal.class, SafeText::new(&refusal.to_string()))
    }
}

impl Answer {
    /// The decision in the host's words. `event` is the native event that the host says it fired.
    pub fn of(decision: &Decision, host: &Host, event: &str) -> Self {
        match decision {
            Decision::Pass => Self { stdout: host.pass.stdout.clone(), stderr: String::new(), exit: 0 },
            Decision::Ask(_, text) if host.ask.events.iter().any(|known| known == event) => {
                let stdout = clamped(&host.limit, said(text), |reason| render(host.ask.shape, "ask", event, reason));
                Self { stdout, stderr: String::new(), exit: 0 }
            }
            Decision::Ask(_, text) | Decision::Refuse(_, text) => Self::refused(said(text), host, event),
        }
    }

    /// A refusal in the host's words.
    pub fn refusal(refusal: &Refusal, host: &Host, event: &str) -> Self {
        Self::refused(&refusal.to_string(), host, event)
    }

    fn refused(reason: &str, host: &Host, event: &str) -> Self {
        let stdout = clamped(&host.limit, reason, |reason| render(host.refuse.stdout, "deny", event, reason));
        let stderr = if host.refuse.stderr { clamped(&host.limit, reason, str::to_owned) } else { String::new() };
        Self { stdout, stderr, exit: host.refuse.exit }
    }

    /// A refusal for a host that is not known: what nearly every host honours.
    pub fn universal(refusal: &Refusal) -> Self {
        Self { stdout: String::new(), stderr: refusal.to_string(), exit: 2 }
    }

    /// One line of context at a slot that cannot refuse; nothing where there is nothing to say.
    pub fn context(host: &Host, event: &str, text: &str) -> Self {
        let stdout = if text.is_empty() || host.refuse.stdout != Shape::None && host.ask.shape != Shape::Claude {
            host.pass.stdout.clone()
        } else {
            clamped(&host.limit, text, |text| {
                json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string()
            })
        };
        Self { stdout, stderr: String::new(), exit: 0 }
    }
}

/// One line of JSON of a shape, or nothing.
fn render(shape: Shape, word: &str, event: &str, reason: &str) -> String {
    let object = |entries: &[(&str, Value)]| {
        Value::Object(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect::<Map<_, _>>())
            .to_string()
    };
    match shape {
        Shape::None => String::new(),
        Shape::Claude => json!({"hookSpecificOutput": {
            "hookEventName": event, "permissionDecision": word, "permissionDecisionReason": reason}})
        .to_string(),
        Shape::Flat => object(&[("permissionDecision", word.into()), ("permissionDecisionReason", reason.into())]),
        Shape::Decision => object(&[("decision", word.into()), ("reason", reason.into())]),
        Shape::Block => object(&[("decision", "block".into()), ("reason", reason.into())]),
        Shape::Permission => {
            object(&[("permission", word.into()), ("user_message", reason.into()), ("agent_message", reason.into())])
        }
        Shape::Cancel => object(&[("cancel", true.into()), ("errorMessage", reason.into())]),
        Shape::ForceAsk => object(&[("decision", "force_ask".into()), ("reason", reason.into())]),
    }
}

/// The longest prefix of `reason` whose serialized form fits the limit, cut between characters and
/// followed by a note of how much was left out.
fn clamped(limit: &Limit, reason: &str, serialize: impl Fn(&str) -> String) -> String {
    let whole = serialize(reason);
    if length(limit.unit, &whole) <= limit.size {
        return whole;
    }
    let total = reason.chars().count();
    let cut = |kept: usize| {
        let prefix: String = reason.chars().take(kept).collect();
        serialize(&format!("{prefix}\n[{} of {total} characters left out]", total - kept))
    };
    // Serializing only ever grows with the text, so the longest prefix that fits is found by halving.
    let (mut fits, mut too_long) = (0, total);
    while fits + 1 < too_long {
        let middle = fits.midpoint(too_long);
        if length(limit.unit, &cut(middle)) <= limit.size {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    let shortened = cut(fits);
    if length(limit.unit, &shortened) <= limit.size { shortened } else { serialize(MINIMAL) }
}

/// A reason is never empty: an empty one runs on several hosts.
fn said(text: &SafeText) -> &str {
    if text.as_str().trim().is_empty() { MINIMAL } else { text.as_str() }
}

/// What is said when not even the note fits.
const MINIMAL: &str = "tyran: refused";

fn length(unit: LimitUnit, text: &str) -> usize {
    match unit {
        LimitUnit::Utf16 => text.encode_utf16().count(),
        LimitUnit::Bytes => text.len(),
    }
}

/// The decision that several gates' votes compose to: deny beats ask beats no objection.
pub fn compose(votes: impl IntoIterator<Item = Decision>) -> Decision {
    votes.into_iter().fold(Decision::Pass, |so_far, vote| match (so_far, vote) {
        (Decision::Refuse(class, text), _) | (_, Decision::Refuse(class, text)) => Decision::Refuse(class, text),
        (Decision::Ask(class, text), _) | (_, Decision::Ask(class, text)) => Decision::Ask(class, text),
        (Decision::Pass, Decision::Pass) => Decision::Pass,
    })
}
