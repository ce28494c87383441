//! Redirections: what commands read, and which files they write.

use bstr::{BStr, BString, ByteSlice};

use super::capture::{Capture, MadeOf, Printed};
use super::state::{Content, Shell, known};
use super::{Ends, Walk};
use crate::command::ast::{Part, Redirect, RedirectOperator};
use crate::command::message;
use crate::command::plan::Content as FileContent;
use crate::command::shell::disk::FileText;
use crate::command::simple::{Redirection, RedirectionKind, Stdin, Value};
use crate::text::SafeText;

/// Where standard output goes.
#[derive(Clone, Debug)]
pub(in crate::command) enum Out {
    /// Where it went before.
    Inherited,
    /// Nowhere that matters (`/dev/null`, standard error, another descriptor).
    Nowhere,
    /// Into a file.
    File { path: Value, append: bool },
}

/// Redirections that have been opened.
pub(in crate::command) struct Opened {
    pub redirections: Vec<Redirection>,
    pub out: Out,
}

impl Walk<'_, '_> {
    /// Runs `walk` under redirections; descriptors are as before afterwards.
    pub(in crate::command) fn redirected(
        &mut self,
        redirects: &[Redirect],
        mut shell: Shell,
        walk: impl FnOnce(&mut Self, Shell) -> Ends,
    ) -> Ends {
        let outside = shell.descriptors.clone();
        let opened = self.open(redirects, &mut shell);
        let before = shell.clone();
        let ends = self.under(&opened, &before, |this| walk(this, shell));
        let restore = |mut ended: Shell| {
            ended.descriptors = outside.clone();
            ended
        };
        match ends {
            Ends::Same(ended) => Ends::Same(restore(ended)),
            Ends::Split(both) => {
                let (success, failure) = *both;
                Ends::of(restore(success), restore(failure))
            }
        }
    }

    /// Runs `walk` with its output going where `opened` says.
    pub(in crate::command) fn under<T>(
        &mut self,
        opened: &Opened,
        shell: &Shell,
        walk: impl FnOnce(&mut Self) -> T,
    ) -> T {
        match &opened.out {
            Out::Inherited => walk(self),
            Out::Nowhere => self.captured(walk).0,
            Out::File { path, append } => {
                let (result, capture) = self.captured(walk);
                self.write_captured(path, *append, capture, shell);
                result
            }
        }
    }

    fn write_captured(&mut self, path: &Value, append: bool, capture: Capture, shell: &Shell) {
        let made_of = capture.made_of().cloned();
        let absolute = path.known().and_then(|path| self.absolute(path, shell));
        let before = absolute.as_ref().filter(|_| append).map(|path| self.disk.text(path));
        let made_before = absolute.as_ref().filter(|_| append).and_then(|path| self.disk.made_of(path));
        let text = capture.text().ok();
        let is_known = text.is_some() && made_before.is_none();
        self.write_file(path, append, text, shell);
        if is_known || self.is_probing() {
            return;
        }
        let (Some(mut made), Some(path)) = (made_of, absolute) else { return };
        match (before, made_before) {
            (Some(FileText::Known(before)), _) => made.text.extend(before),
            (Some(FileText::Absent) | None, _) => {}
            (Some(FileText::Unknown(_)), Some((text, files))) => {
                made.text.extend(text);
                made.files.extend(files);
            }
            (Some(FileText::Unknown(_)), None) => return,
        }
        // What it holds can be read where it comes from.
        let content = FileContent::MadeOf { text: made.text, files: made.files };
        self.disk.write(path, content, self.uncertain == 0 && !shell.dead);
    }

    /// A file is written by the line itself: tampering is looked for, then it is remembered.
    pub(in crate::command) fn write_file(&mut self, path: &Value, append: bool, bytes: Option<Vec<u8>>, shell: &Shell) {
        if self.probing > 0 {
            return;
        }
        let certain = self.uncertain == 0 && !shell.dead;
        let absolute = path.known().and_then(|path| self.absolute(path, shell));
        let content = match (append, bytes, &absolute) {
            (true, Some(bytes), Some(path)) => self.disk.appended(path, bytes),
            (_, bytes, _) => FileContent::of(bytes),
        };
        let view = super::disk::View { world: self.world, disk: &self.disk };
        let surely = match &content {
            FileContent::Bytes(bytes) if certain => Some(bytes.as_slice()),
            FileContent::Bytes(_)
            | FileContent::Appended(_)
            | FileContent::CopyOf(_)
            | FileContent::MadeOf { .. }
            | FileContent::Unknown
            | FileContent::Gone => None,
        };
        for dir in shell.dirs.each() {
            self.verbs.write(path, &dir, surely, &view, &mut self.plan);
        }
        match absolute {
            Some(path) => self.disk.write(path, content, certain),
            None => self.disk.anything = true,
        }
    }

    /// A file is edited in place: its bytes from now on are not known, but what goes into them stands on the
    /// line.
    pub(in crate::command) fn edit_file(&mut self, path: &Value, shell: &Shell) {
        if self.probing > 0 {
            return;
        }
        let view = super::disk::View { world: self.world, disk: &self.disk };
        for dir in shell.dirs.each() {
            self.verbs.write(path, &dir, None, &view, &mut self.plan);
        }
        match path.known().and_then(|path| self.absolute(path, shell)) {
            Some(path) => self.disk.edit(path),
            None => self.disk.anything = true,
        }
    }

    /// Looks for tampering alone.
    pub(in crate::command) fn look_at_write(&mut self, path: &Value, shell: &Shell) {
        let view = super::disk::View { world: self.world, disk: &self.disk };
        for dir in shell.dirs.each() {
            self.verbs.write(path, &dir, None, &view, &mut self.plan);
        }
    }

    /// Files that nobody can list are written into a folder.
    pub(in crate::command) fn write_into(&mut self, folder: &Value, shell: &Shell) {
        self.write_within(folder, shell);
        if let Value::Known(name) = folder {
            let inside = super::state::unknown("a file in a folder", self.span_range());
            let beginning = BString::from([name.as_slice(), b"/"].concat());
            self.look_at_write(&inside.beginning_with(beginning), shell);
        }
    }

    /// Files that nobody can list are written at a place, or below it.
    pub(in crate::command) fn write_within(&mut self, place: &Value, shell: &Shell) {
        if self.probing > 0 {
            return;
        }
        let view = super::disk::View { world: self.world, disk: &self.disk };
        for dir in shell.dirs.each() {
            self.verbs.write(place, &dir, None, &view, &mut self.plan);
        }
        self.disk.anything = true;
    }

    /// Opens redirections in order.
    pub(in crate::command) fn open(&mut self, redirects: &[Redirect], shell: &mut Shell) -> Opened {
        let mut opened = Opened { redirections: Vec::with_capacity(redirects.len()), out: Out::Inherited };
        for redirect in redirects {
            let fd = match &redirect.variable {
                Some(name) => {
                    let fd = self.new_descriptor();
                    shell.set(self.world, name.as_bstr(), Content::Scalar(known(fd.to_string())));
                    Some(fd)
                }
                None => redirect.fd,
            };
            self.open_one(redirect, fd, shell, &mut opened);
        }
        opened
    }

    fn open_one(&mut self, redirect: &Redirect, fd: Option<u32>, shell: &mut Shell, opened: &mut Opened) {
        let target = match redirect.operator {
            RedirectOperator::HereDocument => self.here_text(redirect, shell),
            _ => self.single_file(&redirect.target.parts, shell),
        };
        let kind = match redirect.operator {
            RedirectOperator::Read => {
                let content = self.opened_file(&target, shell);
                shell.set_descriptor(fd.unwrap_or(0), content);
                RedirectionKind::Read
            }
            RedirectOperator::HereDocument => {
                give_text(shell, fd.unwrap_or(0), &target, b"");
                RedirectionKind::HereDocument
            }
            RedirectOperator::HereString => {
                give_text(shell, fd.unwrap_or(0), &target, b"\n");
                RedirectionKind::HereString
            }
            RedirectOperator::DuplicateInput => {
                let content = self.descriptor(&target, shell);
                shell.set_descriptor(fd.unwrap_or(0), content);
                RedirectionKind::DuplicateInput
            }
            RedirectOperator::ReadWrite => {
                let content = self.opened_file(&target, shell);
                shell.set_descriptor(fd.unwrap_or(0), content);
                self.opens_file(fd.unwrap_or(0), &target, true, shell, opened);
                RedirectionKind::ReadWrite
            }
            RedirectOperator::Write => {
                self.opens_file(fd.unwrap_or(1), &target, false, shell, opened);
                RedirectionKind::Write
            }
            RedirectOperator::Append => {
                self.opens_file(fd.unwrap_or(1), &target, true, shell, opened);
                RedirectionKind::Append
            }
            RedirectOperator::WriteBoth => {
                self.opens_file(1, &target, false, shell, opened);
                RedirectionKind::WriteBoth
            }
            RedirectOperator::AppendBoth => {
                self.opens_file(1, &target, true, shell, opened);
                RedirectionKind::AppendBoth
            }
            RedirectOperator::DuplicateOutput => {
                let is_descriptor = target
                    .known()
                    .is_none_or(|text| text.strip_suffix(b"-").unwrap_or(text).iter().all(u8::is_ascii_digit));
                if !is_descriptor {
                    self.opens_file(1, &target, false, shell, opened);
                    opened.redirections.push(Redirection { fd, kind: RedirectionKind::WriteBoth, target });
                    return;
                }
                if fd.unwrap_or(1) == 1 && target.known().is_none_or(|text| text != "1") {
                    opened.out = Out::Nowhere;
                }
                RedirectionKind::DuplicateOutput
            }
        };
        opened.redirections.push(Redirection { fd, kind, target });
    }

    fn opens_file(&mut self, fd: u32, target: &Value, append: bool, shell: &Shell, opened: &mut Opened) {
        let device = target.known().is_some_and(|path| is_device(path) || path.starts_with(b"/proc/self/fd/"));
        if device {
            if fd == 1 && target.known().is_none_or(|path| path != "/dev/stdout" && path != "/dev/fd/1") {
                opened.out = Out::Nowhere;
            }
            return;
        }
        if fd == 1 {
            // An earlier file on the same line is emptied all the same.
            if let Out::File { path, append } = std::mem::replace(&mut opened.out, Out::Inherited) {
                self.write_file(&path, append, Some(Vec::new()), shell);
            }
            opened.out = Out::File { path: target.clone(), append };
        } else {
            self.write_file(target, append, None, shell);
        }
    }

    fn here_text(&mut self, redirect: &Redirect, shell: &mut Shell) -> Value {
        let Some(body) = redirect.body.get() else { return known("") };
        if body.broken {
            let text: &[u8] = match body.parts.as_slice() {
                [Part::Quoted(text)] => text,
                _ => b"",
            };
            if super::super::tripwire::may_publish(text) {
                let span = self.place(redirect.target.span);
                self.unknown("a here-document whose substitutions cannot be read", span);
            }
        }
        self.account(redirect.target.span);
        self.single(&[Part::DoubleQuoted(body.parts.clone())], shell)
    }

    /// A redirection's target: one word, file names matched when exactly one does.
    fn single_file(&mut self, parts: &[Part], shell: &mut Shell) -> Value {
        let word = crate::command::ast::Word { parts: parts.to_vec(), head: None, span: Default::default() };
        let mut values = self.words(std::slice::from_ref(&word), shell);
        if values.len() == 1 { values.remove(0) } else { self.single(parts, shell) }
    }

    /// What a file that is opened for reading holds.
    fn opened_file(&mut self, path: &Value, shell: &Shell) -> Stdin {
        let Some(text) = path.known() else {
            return Stdin::Unknown("a file whose name is not known".into());
        };
        if text == "/dev/null" {
            return Stdin::Empty;
        }
        if let Some(fd) = descriptor_path(text) {
            return shell.descriptors.get(&fd).cloned().unwrap_or(Stdin::Inherited);
        }
        match self.absolute(text, shell) {
            Some(path) => match self.disk.seen(&path) {
                crate::command::simple::FileSeen::Written(bytes) => Stdin::Text(bytes),
                crate::command::simple::FileSeen::Changed(why) => {
                    self.paste(&path);
                    Stdin::Unknown(why)
                }
                crate::command::simple::FileSeen::AsOnDisk => Stdin::File(path),
            },
            None => Stdin::Unknown("a file in a directory that is not known".into()),
        }
    }

    fn descriptor(&self, target: &Value, shell: &Shell) -> Stdin {
        let Some(text) = target.known() else { return Stdin::Unknown("a descriptor that is not known".into()) };
        let text = text.strip_suffix(b"-").unwrap_or(text);
        if text.is_empty() {
            return Stdin::Empty;
        }
        let fd = std::str::from_utf8(text).ok().and_then(|digits| digits.parse::<u32>().ok());
        match fd {
            Some(fd) => shell.descriptors.get(&fd).cloned().unwrap_or(if fd == 0 {
                Stdin::Inherited
            } else {
                Stdin::Unknown("a descriptor that the line does not open".into())
            }),
            None => Stdin::Unknown("a descriptor that is not known".into()),
        }
    }

    /// A descriptor's number that nothing else on the line uses.
    pub(in crate::command) fn new_descriptor(&mut self) -> u32 {
        self.next_descriptor += 1;
        self.next_descriptor
    }

    /// The bytes of a file as it would be opened for reading.
    pub(in crate::command) fn input_text(&mut self, path: &Value, shell: &Shell) -> Result<Vec<u8>, SafeText> {
        let content = self.opened_file(path, shell);
        self.stdin_text(&content)
    }

    /// The bytes that an input holds.
    pub(in crate::command) fn stdin_text(&mut self, stdin: &Stdin) -> Result<Vec<u8>, SafeText> {
        match stdin {
            Stdin::Text(text) => Ok(text.clone()),
            Stdin::Empty => Ok(Vec::new()),
            Stdin::Inherited => Err("the shell's own input".into()),
            Stdin::Names { why, .. } | Stdin::Unknown(why) => Err(why.clone()),
            Stdin::File(path) => match self.disk.text(path) {
                FileText::Known(bytes) => {
                    self.paste(path);
                    Ok(bytes)
                }
                FileText::Absent => Err("a file that is not there".into()),
                FileText::Unknown(why) => {
                    self.paste(path);
                    Err(why.into())
                }
            },
        }
    }

    /// Notes a file whose text may come into a word. Where it is not known what it will hold, or it is
    /// too large to be carried along, it is read as it is now.
    fn paste(&mut self, path: &std::path::Path) {
        if !self.pasted.iter().any(|known| known == path) && path.is_file() {
            self.pasted.push(path.to_owned());
        }
    }

    /// Lets what an input holds go where standard output goes.
    pub(in crate::command) fn print_input(&mut self, stdin: &Stdin, shell: &Shell) {
        if !self.is_captured() {
            return;
        }
        if let (Some(made), Stdin::Unknown(why)) = (shell.input_made_of().cloned(), stdin) {
            return self.print_made(made, why.clone(), shell);
        }
        let printed = match stdin {
            Stdin::Names { prefix, why } => Printed::Names(prefix.clone(), why.clone()),
            Stdin::Text(_) | Stdin::Empty | Stdin::Inherited | Stdin::Unknown(_) | Stdin::File(_) => {
                match self.stdin_text(stdin) {
                    Ok(text) => Printed::Text(text),
                    Err(why) => Printed::Unknown(why),
                }
            }
        };
        self.print(printed, shell);
    }
}

/// Lets a descriptor give a here-document's or here-string's text.
fn give_text(shell: &mut Shell, fd: u32, text: &Value, end: &[u8]) {
    match text {
        Value::Known(text) => shell.set_descriptor(fd, Stdin::Text([text.as_bytes(), end].concat())),
        Value::Unknown(value) if fd == 0 && message::is_plain(&value.why) => {
            let text = [value.prefix.as_slice(), &value.between, &value.suffix].join(&b"\n"[..]);
            let made = MadeOf { text, files: Vec::new() };
            shell.reads_pipe(Stdin::Unknown(value.why.clone()), Some(made));
        }
        Value::Unknown(value) => shell.set_descriptor(fd, Stdin::Unknown(value.why.clone())),
    }
}

/// Whether a path is a device's. What lies in shared memory are files like others.
pub(in crate::command) fn is_device(path: &BStr) -> bool {
    path.starts_with(b"/dev/") && !path.starts_with(b"/dev/shm/")
}

/// The descriptor that a path like `/dev/fd/3` leads to.
pub(in crate::command) fn descriptor_path(path: &BStr) -> Option<u32> {
    if path == "/dev/stdin" {
        return Some(0);
    }
    let digits = path.strip_prefix(b"/dev/fd/").or_else(|| path.strip_prefix(b"/proc/self/fd/"))?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A path as bytes.
pub(in crate::command) fn path_bytes(path: &std::path::Path) -> BString {
    BString::from(path.as_os_str().as_encoded_bytes())
}
