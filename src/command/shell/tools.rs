//! Small programs whose output is known when their input is: `cat`, `tee`, `basename` …

use bstr::{BStr, BString, ByteSlice};

use super::arguments::{Options, base_name};
use super::capture::Printed;
use super::command::Call;
use super::state::{Content, Shell};
use super::{Ends, Walk};
use crate::command::plan::Content as FileContent;
use crate::command::simple::{FileSeen, Stdin, Value};

impl Walk<'_, '_> {
    /// Runs one of the small programs; `None` when the name is none, or its use is not modelled.
    pub(in crate::command) fn tool(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        let arguments = call.arguments();
        let shell = shell.clone();
        Some(match base.as_bytes() {
            b"cat" => self.cat(arguments, shell),
            b"tee" => self.tee(arguments, shell),
            b"basename" | b"dirname" => self.path_part(base, arguments, shell),
            b"echo" => self.echo(arguments, shell),
            b"printf" => self.printf(arguments, shell),
            b"pwd" => self.print_directory(arguments, shell),
            b"which" => self.print_programs(arguments, shell),
            b"true" => Ends::success(shell),
            b"false" => Ends::failure(shell),
            b"test" | b"[" => self.test(arguments, shell),
            b"base64" => return None,
            b"mktemp" => return self.new_file(arguments, shell),
            b"ls" => return self.listed(arguments, shell),
            b"grep" | b"egrep" | b"fgrep" | b"sort" | b"uniq" | b"head" | b"tail" | b"tac" | b"shuf" => {
                return self.filtered(base, arguments, shell);
            }
            _ => return None,
        })
    }

    /// `mktemp`: a file or folder that is new, under a name that nothing else on the line or on the disk has. Its
    /// random letters stand for any.
    fn new_file(&mut self, arguments: &[Value], shell: Shell) -> Option<Ends> {
        let words: Vec<&BStr> = arguments.iter().map(Value::known).collect::<Option<_>>()?;
        let (options, templates): (Vec<&BStr>, Vec<&BStr>) = words.into_iter().partition(|word| word.starts_with(b"-"));
        let known = options.iter().all(|word| {
            matches!(word.as_bytes(), b"-d" | b"-q" | b"-t" | b"-dt" | b"-td" | b"-dq" | b"-qd" | b"--directory")
        });
        if !known || templates.len() > 1 || self.is_probing() {
            return None;
        }
        let has = |letter: u8| options.iter().any(|word| !word.starts_with(b"--") && word.contains(&letter));
        let folder = has(b'd') || options.iter().any(|word| *word == "--directory");
        let template = templates.first().copied().unwrap_or(BStr::new("tmp.XXXXXXXXXX"));
        let in_temporary = templates.is_empty() || has(b't');
        let path = match self.env_folder(&shell).filter(|_| in_temporary) {
            Some(folder) => [folder.as_slice(), b"/", template].concat(),
            None if in_temporary => return None,
            None => template.to_vec(),
        };
        let end = path.iter().rposition(|byte| *byte != b'X').map_or(0, |at| at + 1);
        self.made_names += 1;
        let number = format!("{:0width$}", self.made_names, width = path.len() - end);
        if path.len() - end < 3 || number.len() > path.len() - end {
            return None;
        }
        let name = BString::from([path.get(..end)?, number.as_bytes()].concat());
        let absolute = self.absolute(name.as_bstr(), &shell)?;
        if absolute.symlink_metadata().is_ok() {
            return None;
        }
        if folder {
            self.disk.make_folder(absolute);
        } else {
            self.disk.write(absolute, FileContent::Bytes(Vec::new()), self.uncertain == 0 && !shell.dead);
        }
        self.print(Printed::Text([name.as_slice(), b"\n"].concat()), &shell);
        Some(Ends::Same(shell))
    }

    fn env_folder(&self, shell: &Shell) -> Option<BString> {
        match shell.variable(self.world, BStr::new("TMPDIR")) {
            Content::Unset => Some("/tmp".into()),
            Content::Scalar(Value::Known(folder)) => Some(if folder.is_empty() { "/tmp".into() } else { folder }),
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) => None,
        }
    }

    /// `ls` of files that the line names, and of folders themselves (`-d`): their names, in whatever order.
    fn listed(&mut self, arguments: &[Value], shell: Shell) -> Option<Ends> {
        if !self.is_captured() {
            return None;
        }
        let options = Options::read(arguments, b"");
        let plain = options.flags.iter().all(|(flag, _)| b"1dAartSU".contains(flag)) && !options.unknown;
        let names: Vec<&BStr> = options.operands.iter().map(Value::known).collect::<Option<_>>()?;
        let is_file = |name: &&BStr| self.absolute(name, &shell).is_some_and(|path| !path.is_dir());
        if !plain || names.is_empty() || !(options.has(b'd') || names.iter().all(is_file)) {
            return None;
        }
        let prefix = common_beginning(names.iter().map(|name| name.as_bytes()));
        self.print(Printed::Names(prefix, "names that ls prints".into()), &shell);
        Some(Ends::Same(shell))
    }

    /// Programs that leave lines out or put them in another order: what is left begins as all of them do.
    fn filtered(&mut self, base: &BStr, arguments: &[Value], shell: Shell) -> Option<Ends> {
        if !self.is_captured() {
            return None;
        }
        let searches = base.ends_with(b"grep");
        // Options with a value, and those that leave lines as they are.
        let (with_value, plain): (&[u8], &[u8]) = match base.as_bytes() {
            b"head" | b"tail" => (b"n", b"qn0123456789"),
            b"sort" => (b"kt", b"bdfghiMnRruVkt"),
            b"uniq" | b"tac" | b"shuf" => (b"n", b"diunr"),
            _ => (b"emABC", b"EFGPviwxsaemABC"),
        };
        let options = Options::read(arguments, with_value);
        let changes = options.unknown || !options.flags.iter().all(|(flag, _)| plain.contains(flag));
        let operands = usize::from(searches && !options.has(b'e'));
        if changes || arguments.iter().any(|word| word.known().is_some_and(|word| word.starts_with(b"--"))) {
            return None;
        }
        match options.operands.get(operands..)? {
            [] => {}
            [file] => return self.part_of(file, shell),
            [..] => return None,
        }
        let prefix = match shell.stdin() {
            Stdin::Names { prefix, .. } => prefix,
            Stdin::Text(text) => common_beginning(text.lines()),
            Stdin::Inherited | Stdin::Empty | Stdin::File(_) | Stdin::Unknown(_) => return None,
        };
        if prefix.is_empty() {
            return None;
        }
        self.print(Printed::Names(prefix, "lines that a program leaves".into()), &shell);
        Some(Ends::Same(shell))
    }

    /// A program that prints lines of one file, or what it holds unpacked.
    fn part_of(&mut self, file: &Value, shell: Shell) -> Option<Ends> {
        let path = self.absolute(file.known()?, &shell)?;
        if self.disk.seen(&path) != FileSeen::AsOnDisk || !path.is_file() {
            return None;
        }
        self.print(Printed::MadeOf(vec![path], "a part of a file".into()), &shell);
        Some(Ends::Same(shell))
    }

    fn cat(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        if !self.is_captured() {
            return Ends::Same(shell);
        }
        let options = Options::read(arguments, b"");
        if !options.flags.is_empty() && !options.flags.iter().all(|(flag, _)| *flag == b'u') || options.unknown {
            return self.printing("cat", shell);
        }
        if options.operands.is_empty() {
            self.print_input(&shell.stdin(), &shell);
        }
        for operand in options.operands {
            if operand.known().is_some_and(|operand| operand == "-") {
                self.print_input(&shell.stdin(), &shell);
                continue;
            }
            let printed = match self.input_text(operand, &shell) {
                Ok(text) => Printed::Text(text),
                Err(why) => Printed::Unknown(why),
            };
            self.print(printed, &shell);
        }
        Ends::Same(shell)
    }

    fn tee(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let stdin = shell.stdin();
        let options = Options::read(arguments, b"");
        let append =
            options.has(b'a') || arguments.iter().any(|word| word.known().is_some_and(|word| word == "--append"));
        let pasted = self.pasted.len();
        let bytes = self.stdin_text(&stdin).ok();
        self.pasted.truncate(pasted);
        for operand in options.operands {
            let device = operand.known().is_some_and(super::redirect::is_device);
            if !device {
                self.write_file(operand, append, bytes.clone(), &shell);
                self.write_made(operand, append, &shell);
            }
        }
        self.print_input(&stdin, &shell);
        Ends::Same(shell)
    }

    fn path_part(&mut self, base: &BStr, arguments: &[Value], shell: Shell) -> Ends {
        let options = Options::read(arguments, b"s");
        let known: Option<Vec<&BStr>> = options.operands.iter().map(Value::known).collect();
        let printed = match known.as_deref() {
            Some([path]) if options.flags.is_empty() => Some(part(base, path)),
            Some([path, suffix]) if options.flags.is_empty() && base == "basename" => {
                let name = part(base, path);
                Some(name.strip_suffix(suffix.as_bytes()).map_or_else(|| name.clone(), BString::from))
            }
            _ => None,
        };
        match printed {
            Some(mut text) => {
                text.push(b'\n');
                self.print(Printed::Text(text.into()), &shell);
                Ends::success(shell)
            }
            None => self.printing("a path's part", shell),
        }
    }
}

/// What all of these begin with.
fn common_beginning<'a>(mut texts: impl Iterator<Item = &'a [u8]>) -> BString {
    let Some(first) = texts.next() else { return BString::default() };
    let shared = |length: usize, text: &[u8]| {
        text.iter().zip(first).take(length).take_while(|(one, other)| one == other).count()
    };
    let length = texts.fold(first.len(), shared);
    BString::from(first.get(..length).unwrap_or_default())
}

fn part(base: &BStr, path: &BStr) -> BString {
    let trimmed = path.trim_end_with(|character| character == '/');
    if trimmed.is_empty() && !path.is_empty() {
        return BString::from("/");
    }
    if base == "basename" {
        return base_name(trimmed.as_bstr()).to_owned();
    }
    match trimmed.rfind_byte(b'/') {
        None => BString::from("."),
        Some(0) => BString::from("/"),
        Some(at) => {
            let folder = trimmed.get(..at).unwrap_or_default().trim_end_with(|character| character == '/');
            BString::from(if folder.is_empty() { b"/".as_slice() } else { folder })
        }
    }
}
