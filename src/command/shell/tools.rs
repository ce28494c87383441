//! Small programs whose output is known when their input is: `cat`, `tee`, `basename` …

use base64::Engine;
use bstr::{BStr, BString, ByteSlice};

use super::arguments::{Options, base_name};
use super::capture::Printed;
use super::command::Call;
use super::state::Shell;
use super::{Ends, Walk};
use crate::command::simple::{Stdin, Value};

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
            b"base64" => self.base64(arguments, shell),
            _ => return None,
        })
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
            let device = operand.known().is_some_and(|path| path.starts_with(b"/dev/"));
            if !device {
                self.write_file(operand, append, bytes.clone(), &shell);
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

    /// `base64 -d` of input that is known; encoding is no code.
    fn base64(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let decodes = arguments
            .iter()
            .filter_map(Value::known)
            .any(|word| matches!(word.as_bytes(), b"-d" | b"-D" | b"--decode" | b"-di" | b"-id"));
        let from_input = arguments.iter().all(|word| word.known().is_some_and(|word| word.starts_with(b"-")));
        let stdin: Stdin = shell.stdin();
        let decoded = if decodes && from_input { self.stdin_text(&stdin).ok() } else { None };
        let decoded = decoded.and_then(|text| {
            let packed: Vec<u8> = text.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
            base64::engine::general_purpose::STANDARD.decode(packed).ok()
        });
        match decoded {
            Some(text) => {
                self.print(Printed::Text(text), &shell);
                Ends::Same(shell)
            }
            None => self.printing("base64", shell),
        }
    }
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
