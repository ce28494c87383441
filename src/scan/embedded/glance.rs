//! What stands directly round a word of a rule.
//!
//! Promise: where a [`Glance`] admits nothing, no text of the rule that holds the word stands there in a match. It
//! takes five bytes, and nothing of the rule needs to be read for it.

use super::class::ByteSet;
use super::lead::Lead;

/// So many bytes behind a word are looked at.
const BEHIND: usize = 4;

/// Which bytes can stand directly round a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Glance {
    pub(super) lead: Lead,
    /// All bytes: there need be none.
    pub(super) behind: [ByteSet; BEHIND],
}

impl Glance {
    /// Anything.
    pub(super) const ANY: Self = Self { lead: Lead::ANY, behind: [ByteSet::ALL; BEHIND] };

    /// Of a word that stands at `offset` in a text, before which `lead` and behind which bytes of `places` can stand.
    pub(super) fn of(word: &[u8], (text, offset): (&[u8], usize), lead: Lead, places: &[ByteSet]) -> Self {
        let letter = |byte: u8| {
            let mut bytes = ByteSet::NONE;
            bytes.insert(byte.to_ascii_lowercase());
            bytes.insert(byte.to_ascii_uppercase());
            bytes
        };
        let within = offset.checked_sub(1).and_then(|before| text.get(before));
        let lead = within.map_or(lead, |&byte| Lead { bytes: letter(byte), nothing: false });
        let mut behind = [ByteSet::ALL; BEHIND];
        for (distance, bytes) in behind.iter_mut().enumerate() {
            let at = offset + word.len() + distance;
            *bytes = match text.get(at) {
                Some(&byte) => letter(byte),
                None => places.get(at - text.len()).copied().unwrap_or(ByteSet::ALL),
            };
        }
        Self { lead, behind }
    }

    /// What either of the two admits.
    pub(super) fn or(mut self, other: Self) -> Self {
        self.lead = self.lead.or(other.lead);
        self.behind.iter_mut().zip(other.behind).for_each(|(own, theirs)| *own = own.union(theirs));
        self
    }

    /// Whether what stands round a word from `start` to `end` is such.
    #[inline]
    pub(super) fn admits(&self, text: &[u8], (start, end): (usize, usize)) -> bool {
        let behind = text.get(end..).unwrap_or_default();
        let follows = |(place, bytes): (usize, &ByteSet)| match behind.get(place) {
            Some(&byte) => bytes.contains(byte),
            None => bytes.is_all(),
        };
        self.lead.admits(text, start) && self.behind.iter().enumerate().all(follows)
    }
}
