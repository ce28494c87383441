//! Programs that only transform text, where what they read is known: what they print, and what they leave in files
//! that they edit in place.

use bstr::{BStr, BString, ByteSlice};

use super::capture::{MadeOf, Printed};
use super::command::Call;
use super::state::Shell;
use super::{Ends, Walk};
use crate::command::filters::{self, Source};
use crate::command::message;
use crate::command::plan::Content;
use crate::command::simple::{FileSeen, Stdin, Value};
use crate::text::SafeText;

impl Walk<'_, '_> {
    /// Runs such a program; `None` when the name is none, nothing takes what it prints, or that is not known.
    pub(in crate::command) fn computed(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        if !self.is_captured() || !filters::is_one(base) {
            return None;
        }
        let words: Vec<&BStr> = call.arguments().iter().map(Value::known).collect::<Option<_>>()?;
        let pasted = self.pasted.len();
        let printed = if base == "envsubst" {
            let env = shell.env(self.world);
            let read = self.text_of(Source::Input, shell);
            read.and_then(|text| filters::variables::substituted(&words, &text, &|name| env.var(name).into()))
        } else {
            filters::output(base, &words, &mut |source| self.text_of(source, shell))
        };
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

    /// Programs that print nothing but what comes from the files which they name, or from their input; `None` where
    /// that is not what they do, or one of these may have been changed.
    pub(in crate::command) fn made_of_files(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        const TRANSFORM: &str = "sort uniq comm join diff column base64 base32 xxd od hexdump strings expand unexpand \
            fmt pr tr cut paste nl fold rev tac head tail grep egrep fgrep cat iconv jq shuf";
        if !self.is_captured() || !TRANSFORM.split_ascii_whitespace().any(|name| base == name) {
            return None;
        }
        let words: Vec<&BStr> = call.arguments().iter().map(Value::known).collect::<Option<_>>()?;
        // A filter of jq may read the environment.
        if base == "jq" && words.iter().any(|word| ["env", "ENV", "input"].iter().any(|name| word.contains_str(name))) {
            return None;
        }
        let mut made = MadeOf::default();
        let mut named = false;
        // What `grep` looks for is no file, whatever lies there.
        let searches =
            base.ends_with(b"grep") && !words.iter().any(|word| word.starts_with(b"-e") || word.starts_with(b"-f"));
        let sought = words.iter().position(|word| searches && !word.starts_with(b"-"));
        for (_, word) in words.iter().enumerate().filter(|(at, _)| Some(*at) != sought) {
            let value = word.find_byte(b'=').map(|at| word.get(at + 1..).unwrap_or_default().as_bstr());
            for name in [Some(*word), value].into_iter().flatten().filter(|name| !name.is_empty()) {
                let Some(path) = self.absolute(name, shell) else { continue };
                match self.disk.seen(&path) {
                    FileSeen::Written(bytes) => made.text.extend(bytes),
                    FileSeen::AsOnDisk if path.is_file() => made.files.push(path),
                    // A folder, a pipe.
                    FileSeen::AsOnDisk if path.exists() => return None,
                    FileSeen::AsOnDisk => continue,
                    FileSeen::Changed(_) if path.exists() || self.disk.names_any(|own| own == path) => return None,
                    FileSeen::Changed(_) => continue,
                }
                named = true;
            }
        }
        let needs_none =
            base == "jq" && words.iter().any(|word| *word == "--null-input" || is_cluster_with(word, b'n'));
        let reads_input = !needs_none && (!named || words.iter().any(|word| *word == "-"));
        if reads_input {
            Self::add_input(&mut made, shell)?;
        }
        // What it is told to print stands in its words.
        words.iter().for_each(|word| made.text.extend([word.as_bytes(), b"\n"].concat()));
        self.print_made(made, SafeText::quoted(format!("output of {base}").as_bytes(), 60), shell);
        Some(Ends::Same(shell.clone()))
    }

    /// What git makes of its input and its words; `None` where nobody knows.
    pub(in crate::command) fn made_by_git(&self, call: &Call, shell: &Shell) -> Option<MadeOf> {
        let [Value::Known(verb), words @ ..] = call.arguments() else { return None };
        let is_git = call.name().is_some_and(|name| name == "git" || name.ends_with(b"/git"));
        if !is_git || !matches!(verb.as_bytes(), b"interpret-trailers" | b"stripspace") {
            return None;
        }
        let mut made = MadeOf::default();
        Self::add_input(&mut made, shell)?;
        for word in words {
            match word {
                Value::Known(word) => match self.absolute(word.as_bstr(), shell).filter(|path| path.is_file()) {
                    Some(path) if self.disk.seen(&path) == FileSeen::AsOnDisk => made.files.push(path),
                    Some(_) => return None,
                    None => made.text.extend([word.as_bytes(), b"\n"].concat()),
                },
                Value::Unknown(value) if message::is_plain(&value.why) => {
                    made.text.extend([value.prefix.as_bytes(), value.suffix.as_bytes(), b"\n"].concat());
                }
                Value::Unknown(_) => return None,
            }
        }
        Some(made)
    }

    /// Adds what a program reads from its input; `None` where nobody knows what that is made of.
    fn add_input(made: &mut MadeOf, shell: &Shell) -> Option<()> {
        match shell.stdin() {
            Stdin::File(path) if path.is_file() => made.files.push(path),
            Stdin::Text(text) => made.text.extend(text),
            Stdin::Empty => {}
            Stdin::Unknown(_) => {
                let piped = shell.input_made_of()?;
                made.files.extend(piped.files.iter().cloned());
                made.text.extend_from_slice(&piped.text);
            }
            Stdin::Inherited | Stdin::File(_) | Stdin::Names { .. } => return None,
        }
        Some(())
    }

    /// Prints what is not known, of which is known what it comes from.
    pub(in crate::command) fn print_made(&mut self, made: MadeOf, why: SafeText, shell: &Shell) {
        if !made.text.is_empty() && !self.is_probing() && !self.disk.put_in.texts.contains(&made.text) {
            // It counts as said, whatever becomes of it.
            self.disk.put_in.texts.push(made.text);
        }
        self.print(Printed::MadeOf(made.files, why), shell);
    }

    /// A file takes what a pipe brings.
    pub(in crate::command) fn write_made(&mut self, to: &Value, append: bool, shell: &Shell) {
        let Some(made) = shell.input_made_of().filter(|_| !append && !self.is_probing()) else { return };
        let content = Content::MadeOf { text: made.text.clone(), files: made.files.clone() };
        if let Some(path) = to.known().and_then(|name| self.absolute(name, shell)) {
            self.disk.write(path, content, self.uncertain == 0 && !shell.dead);
        }
    }

    /// Programs that print what one archive or packed file holds; `None` where that is not what they do.
    pub(in crate::command) fn unpacked(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        const UNPACKERS: &str = "gunzip bunzip2 unxz unzstd uncompress gzip bzip2 xz zstd lz4 pigz zcat gzcat bzcat xzcat \
            zstdcat tar gtar bsdtar unzip";
        if !self.is_captured() || !UNPACKERS.split_ascii_whitespace().any(|name| base == name) {
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
        self.print(Printed::MadeOf(vec![archive], "what a packed file holds".into()), shell);
        Some(Ends::Same(shell.clone()))
    }

    fn text_of(&mut self, source: Source<'_>, shell: &Shell) -> Option<Vec<u8>> {
        match source {
            Source::Input => self.stdin_text(&shell.stdin()).ok(),
            Source::File(name) => self.input_text(&Value::Known(name.to_owned()), shell).ok(),
        }
    }
}

/// Whether a word is short options, this letter among them.
fn is_cluster_with(word: &BStr, letter: u8) -> bool {
    word.strip_prefix(b"-").is_some_and(|letters| {
        !letters.is_empty() && letters.iter().all(u8::is_ascii_alphabetic) && letters.contains(&letter)
    })
}
