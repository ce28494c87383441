//! Parts of a text in another form, and where their places are in the text.
//!
//! Promise: every place of a copy has one in the text that is not before that of an earlier place.

use super::matcher::Span;

/// A part of a text in another form.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) text: Vec<u8>,
    steps: Vec<Step>,
}

/// From where on places of the copy are told from those of the text.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// In the copy.
    from: usize,
    /// In the text.
    original: usize,
    /// How many bytes of the text are one of the copy.
    stride: usize,
}

impl Rewritten {
    /// Goes on at a place of the text, `stride` bytes of which are one of the copy (0: all that follows
    /// is of this place).
    pub(super) fn go_on(&mut self, original: usize, stride: usize) {
        self.steps.push(Step { from: self.text.len(), original, stride });
    }

    /// Where a place of the copy is in the text.
    pub(super) fn original(&self, place: usize) -> usize {
        let step = self.steps.partition_point(|step| step.from <= place).saturating_sub(1);
        self.steps.get(step).map_or(place, |step| step.original + (place - step.from) * step.stride)
    }

    /// Where a span of the copy is in the text.
    pub(super) fn original_span(&self, span: Span) -> Span {
        (self.original(span.0), self.original(span.1))
    }
}

/// Surroundings of `around` bytes of some spans (in order) of a text of this length, those that meet
/// made one.
pub(super) fn islands(spans: impl IntoIterator<Item = Span>, around: usize, length: usize) -> Vec<Span> {
    let mut islands: Vec<Span> = Vec::new();
    for span in spans {
        let (start, end) = (span.0.saturating_sub(around), (span.1 + around).min(length));
        match islands.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => islands.push((start, end)),
        }
    }
    islands
}
