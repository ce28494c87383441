//! What commands print, where a substitution, a pipe or a file takes it.
//!
//! Printed text is known only when it is certain to be printed: what a branch may print is a hole.

use std::path::PathBuf;

use bstr::BString;

use super::Walk;
use super::state::Shell;
use crate::command::message;
use crate::command::simple::{Stdin, Value};
use crate::command::words::fields::{MAX_VALUE_BYTES, Piece, value_of};
use crate::text::SafeText;

/// What a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::command) enum Printed {
    Text(Vec<u8>),
    /// Names that begin with this, and why no more is known.
    Names(BString, SafeText),
    /// What comes from these files, changed or not, or out of archives that they are; and why it is not known.
    MadeOf(Vec<PathBuf>, SafeText),
    Unknown(SafeText),
}

/// Output being collected.
pub(in crate::command) struct Capture {
    pieces: Vec<Piece>,
    bytes: usize,
    uncertain: u32,
    /// What all of it comes from; `None` where nobody knows.
    made_of: Option<MadeOf>,
}

/// What bytes come from that are not known themselves.
#[derive(Clone, Debug, Default)]
pub(in crate::command) struct MadeOf {
    pub text: Vec<u8>,
    pub files: Vec<PathBuf>,
}

impl Capture {
    /// What all of it comes from.
    pub fn made_of(&self) -> Option<&MadeOf> {
        self.made_of.as_ref()
    }

    /// The bytes, when all are known.
    pub fn text(self) -> Result<Vec<u8>, SafeText> {
        let mut text = Vec::new();
        for piece in self.pieces {
            match piece {
                Piece::Text { mut bytes, .. } => text.append(&mut bytes),
                Piece::Hole { why, .. } => return Err(why),
            }
        }
        Ok(text)
    }

    /// As the input of the next command of a pipeline.
    pub fn stdin(self) -> Stdin {
        if let [Piece::Text { bytes, .. }, Piece::Hole { why, many: true, .. }] = self.pieces.as_slice() {
            return Stdin::Names { prefix: bytes.clone().into(), why: why.clone() };
        }
        match self.text() {
            Ok(text) => Stdin::Text(text),
            Err(why) => Stdin::Unknown(why),
        }
    }

    /// As the value of a command substitution: NULs dropped, line ends at the end dropped.
    pub fn value(mut self) -> Value {
        while let Some(Piece::Text { bytes, .. }) = self.pieces.last_mut() {
            let kept = bytes.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
            bytes.truncate(kept);
            if kept > 0 {
                break;
            }
            self.pieces.pop();
        }
        let mut value = value_of(&self.pieces);
        if let Value::Known(text) = &mut value {
            *text = BString::from(text.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>());
        }
        value
    }
}

impl Walk<'_, '_> {
    /// Collects what `walk` prints.
    pub(in crate::command) fn captured<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> (T, Capture) {
        let made_of = Some(MadeOf::default());
        self.captures.push(Capture { pieces: Vec::new(), bytes: 0, uncertain: self.uncertain_output, made_of });
        let result = walk(self);
        let capture =
            self.captures.pop().unwrap_or(Capture { pieces: Vec::new(), bytes: 0, uncertain: 0, made_of: None });
        (result, capture)
    }

    /// Lets `printed` go where standard output goes.
    pub(in crate::command) fn print(&mut self, printed: Printed, shell: &Shell) {
        let uncertain = self.uncertain_output;
        let Some(capture) = self.captures.last_mut() else { return };
        if shell.dead {
            return;
        }
        let hole = |why| Piece::Hole { why, span: 0..0, many: false };
        let bytes_of = |bytes: Vec<u8>| Piece::Text { bytes, quoted: true };
        match (&printed, &mut capture.made_of) {
            (Printed::MadeOf(files, _), Some(made)) => made.files.extend(files.iter().cloned()),
            (Printed::Text(bytes), Some(made)) if made.text.len() + bytes.len() <= MAX_VALUE_BYTES => {
                made.text.extend_from_slice(bytes);
            }
            (Printed::Names(..), Some(_)) | (_, None) => {}
            (Printed::Unknown(why), Some(_)) if message::is_plain(why) => {}
            (Printed::Text(_) | Printed::Unknown(_), made) => *made = None,
        }
        match printed {
            Printed::MadeOf(_, why) => capture.pieces.push(hole(why)),
            Printed::Text(bytes) if bytes.is_empty() => {}
            Printed::Text(_) if uncertain > capture.uncertain => {
                capture.pieces.push(hole("printed only in a branch".into()));
            }
            Printed::Text(bytes) if capture.bytes + bytes.len() > MAX_VALUE_BYTES => {
                capture.pieces.push(hole("a very long output".into()));
            }
            Printed::Text(bytes) => {
                capture.bytes += bytes.len();
                capture.pieces.push(bytes_of(bytes));
            }
            Printed::Names(prefix, why) if uncertain == capture.uncertain => {
                capture.pieces.extend([bytes_of(prefix.into()), Piece::Hole { why, span: 0..0, many: true }]);
            }
            Printed::Names(_, why) | Printed::Unknown(why) => capture.pieces.push(hole(why)),
        }
    }

    /// Whether anything takes what is printed here.
    pub(in crate::command) fn is_captured(&self) -> bool {
        !self.captures.is_empty()
    }
}
