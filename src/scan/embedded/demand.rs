//! What tyran's own keys of a rule ask of a finding.

use super::allowlist::Place;
use super::placeholder;
use super::rules::{CharacterKind, Demands, Outcome, Rule};
use super::verify::Validity;
use crate::scan::Confidence;

impl Demands {
    /// Whether the rule is for files of this path. Where there is no path, it could be.
    pub(super) fn wants_path(&self, path: Option<&[u8]>) -> bool {
        let Some(path) = path.filter(|path| !path.is_empty()) else { return true };
        (self.files.is_empty() || self.files.iter().any(|glob| glob.matches(path)))
            && !self.not_files.iter().any(|glob| glob.matches(path))
    }

    fn wants_secret(&self, secret: &[u8]) -> bool {
        let mut seen = [false; 256];
        for &byte in secret {
            if let Some(slot) = seen.get_mut(usize::from(byte)) {
                *slot = true;
            }
        }
        seen.iter().filter(|&&seen| seen).count() >= self.distinct
            && self.requires.iter().all(|kind| secret.iter().any(|&byte| kind.holds(byte)))
    }

    /// Whether a word that makes the secret harmless stands in it, as a whole word.
    fn is_stopped(&self, secret: &[u8]) -> bool {
        if self.stopwords.is_empty() {
            return false;
        }
        let lower = secret.to_ascii_lowercase();
        let mut words = lower.split(|byte| !byte.is_ascii_alphanumeric());
        words.any(|word| self.stopwords.iter().any(|stop| stop.as_bytes() == word))
    }
}

impl CharacterKind {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Lower => byte.is_ascii_lowercase(),
            Self::Upper => byte.is_ascii_uppercase(),
            Self::Letter => byte.is_ascii_alphabetic(),
            Self::Symbol => byte.is_ascii_punctuation(),
        }
    }
}

/// A secret and what stands round it.
pub(super) struct Subject<'a> {
    pub(super) secret: &'a [u8],
    pub(super) matched: &'a [u8],
    pub(super) text: &'a [u8],
    /// Of the match in `text`.
    pub(super) span: (usize, usize),
    pub(super) place: Place<'a>,
}

/// So much of an identifier that a match begins inside of is shown to validators.
const IDENTIFIER: usize = 40;

impl<'a> Subject<'a> {
    /// The match, and before it what belongs to the identifier it begins in: `old_` of `old_api_key`.
    fn with_identifier(&self) -> &'a [u8] {
        let before = self.text.get(..self.span.0).unwrap_or_default();
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$');
        let length = before.iter().rev().take(IDENTIFIER).take_while(is_part).count();
        self.text.get(self.span.0 - length..self.span.1).unwrap_or(self.matched)
    }
}

/// How sure the rule is of this finding; `None` when it is none.
pub(super) fn confidence(rule: &Rule, subject: &Subject<'_>) -> Option<Confidence> {
    let demands = &rule.demands;
    if !demands.wants_secret(subject.secret) || demands.is_stopped(subject.secret) {
        return None;
    }
    if let Some(context) = &demands.context
        && !context.holds(subject.text, subject.span.0, subject.span.1, subject.place.path)
    {
        return None;
    }
    let mut confidence = rule.confidence;
    let mut lower = |outcome: Outcome| match outcome {
        Outcome::Keep => Some(()),
        Outcome::Note => {
            confidence = Confidence::Note;
            Some(())
        }
        Outcome::Drop => None,
    };
    let validity = demands.checksum.map(|validator| validator.check(subject.secret, subject.with_identifier()));
    match validity {
        Some(Validity::Invalid) => lower(demands.on_invalid)?,
        Some(Validity::Valid) if !demands.keep_confidence => confidence = Confidence::High,
        Some(Validity::Valid | Validity::Unknown) | None => {
            if demands.placeholders != Outcome::Keep && placeholder::is_placeholder(subject.secret) {
                lower(demands.placeholders)?;
            }
        }
    }
    Some(confidence)
}
