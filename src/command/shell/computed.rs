//! Programs that only transform text, where what they read is known: what they print, and what they leave in files
//! that they edit in place.

use bstr::{BStr, BString, ByteSlice};

use super::capture::Printed;
use super::command::Call;
use super::state::Shell;
use super::{Ends, Walk};
use crate::command::filters::{self, Source};
use crate::command::plan::Content;
use crate::command::simple::{FileSeen, Stdin, Value};

impl Walk<'_, '_> {
    /// Runs such a program; `None` when the name is none, nothing takes what it prints, or that is not known.
    pub(in crate::command) fn computed(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        if !self.is_captured() || !filters::is_one(base) {
            return None;
        }
        let words: Vec<&BStr> = call.arguments().iter().map(Value::known).collect::<Option<_>>()?;
        let pasted = self.pasted.len();
        let printed = filters::output(base, &words, &mut |source| self.text_of(source, shell));
        let Some(printed) = printed else {
            self.pasted.truncate(pasted);
            return None;
        };
        self.print(Printed::Text(printed), shell);
        Some(Ends::Same(shell.clone()))
    }

    /// The files that a call of sed edits in place, as it leaves them.
    pub(in crate::command) fn edited_exactly(
        &mut self,
        base: &BStr,
        call: &Call,
        shell: &Shell,
    ) -> Option<Vec<(BString, Vec<u8>)>> {
        if !matches!(base.as_bytes(), b"sed" | b"gsed") {
            return None;
        }
        let words: Vec<&BStr> = call.arguments().iter().map(Value::known).collect::<Option<_>>()?;
        let pasted = self.pasted.len();
        let edited = filters::sed::edited(&words, &mut |source| self.text_of(source, shell));
        self.pasted.truncate(pasted);
        Some(edited?.into_iter().map(|(file, text)| (file.to_owned(), text)).collect())
    }

    /// A file holds what another one of the disk says; where that one may have been changed, nobody knows.
    pub(in crate::command) fn write_copy(&mut self, to: &Value, from: &Value, shell: &Shell) {
        let path = |value: &Value| value.known().and_then(|name| self.absolute(name, shell));
        let (Some(to), Some(from)) = (path(to), path(from)) else { return };
        if !self.is_probing() && self.disk.seen(&from) == FileSeen::AsOnDisk && from.is_file() {
            self.disk.write(to, Content::CopyOf(from), self.uncertain == 0 && !shell.dead);
        }
    }

    /// Programs that print what one archive or packed file holds; `None` where that is not what they do.
    pub(in crate::command) fn unpacked(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        if !self.is_captured() {
            return None;
        }
        let words: Vec<&BStr> = call.arguments().iter().map(Value::known).collect::<Option<_>>()?;
        let has = |letter: u8| {
            words.iter().any(|word| {
                word.strip_prefix(b"-").is_some_and(|letters| !letters.starts_with(b"-") && letters.contains(&letter))
            })
        };
        let long = |names: &[&str]| words.iter().any(|word| names.iter().any(|name| *word == *name));
        let old_style = || words.first().is_some_and(|word| word.contains(&b'x') && word.contains(&b'O'));
        let prints = match base.as_bytes() {
            b"gunzip" | b"bunzip2" | b"unxz" | b"unzstd" | b"uncompress" => true,
            b"gzip" | b"bzip2" | b"xz" | b"zstd" | b"lz4" | b"pigz" => {
                has(b'd') || long(&["--decompress", "--uncompress"])
            }
            b"zcat" | b"gzcat" | b"bzcat" | b"xzcat" | b"zstdcat" => true,
            b"tar" | b"gtar" | b"bsdtar" => (has(b'x') && has(b'O')) || old_style() || long(&["--to-stdout"]),
            b"unzip" => has(b'p'),
            _ => return None,
        };
        if !prints {
            return None;
        }
        let named = words.iter().filter(|word| !word.starts_with(b"-")).filter_map(|word| self.absolute(word, shell));
        let archive = match (named.into_iter().find(|path| path.is_file()), shell.stdin()) {
            (Some(named), _) => named,
            (None, Stdin::File(path)) => path,
            (None, Stdin::Inherited | Stdin::Empty | Stdin::Text(_) | Stdin::Names { .. } | Stdin::Unknown(_)) => {
                return None;
            }
        };
        if self.disk.seen(&archive) != FileSeen::AsOnDisk {
            return None;
        }
        self.print(Printed::PartOf(archive), shell);
        Some(Ends::Same(shell.clone()))
    }

    fn text_of(&mut self, source: Source<'_>, shell: &Shell) -> Option<Vec<u8>> {
        match source {
            Source::Input => self.stdin_text(&shell.stdin()).ok(),
            Source::File(name) => self.input_text(&Value::Known(name.to_owned()), shell).ok(),
        }
    }
}
