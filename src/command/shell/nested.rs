//! Code in code: `eval`, `source`, `bash -c`, scripts, traps.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::command::Call;
use super::state::{Arguments, Content, Shell, Variable, known};
use super::{Ends, Walk};
use crate::command::lex::{Dialect, Reader};
use crate::command::simple::{FileSeen, Stdin, UnknownValue, Value, to_os_string};
use crate::text::SafeText;

/// The variable that stands in the place of what is not known in partly known code.
const GAP: &str = "_tyran_gap";

impl Walk<'_, '_> {
    /// Walks text that the shell evaluates itself, when it is known.
    pub(in crate::command) fn run_value(&mut self, text: &Value, shell: Shell, what: &'static str) -> Ends {
        match text {
            Value::Known(text) => self.run_text(text, shell),
            Value::Unknown(value) => {
                self.run_partly(value, &shell);
                self.opaque(format!("{what} of text that is not known: {}", value.why), &shell);
                Ends::Same(shell)
            }
        }
    }

    /// Walks the ends of code of which the middle is not known, as far as they say something that
    /// publishes: `bash -c "git push --no-verify $X"` leaves hooks out whatever the rest is. The gap stands
    /// there as words that are not known; that it may be more than words is for the caller to say.
    pub(in crate::command) fn run_partly(&mut self, value: &UnknownValue, shell: &Shell) {
        let known = [value.prefix.as_slice(), b" ", value.suffix.as_slice()].concat();
        if !super::super::tripwire::may_publish(&known) && known.find(b"tyran").is_none() {
            return;
        }
        let text = [value.prefix.as_slice(), b"${", GAP.as_bytes(), b"}", value.suffix.as_slice()].concat();
        let mut inside = shell.new_process(shell.dialect);
        inside.functions = Rc::clone(&shell.functions);
        inside.variables = Rc::clone(&shell.variables);
        let gap = Value::Unknown(UnknownValue {
            prefix: BString::default(),
            suffix: BString::default(),
            many: true,
            ..value.clone()
        });
        Rc::make_mut(&mut inside.variables).insert(GAP.into(), Variable::new(Content::Scalar(gap)));
        self.perhaps(|walk| walk.run_process(&text, inside));
    }

    /// Walks text in this very shell.
    pub(in crate::command) fn run_text(&mut self, text: &[u8], shell: Shell) -> Ends {
        let span = self.span.unwrap_or(self.here);
        self.nested_in(span.range(), shell, |walk, shell| {
            let outer = walk.span.replace(span);
            let in_given_text = std::mem::replace(&mut walk.in_given_text, false);
            let ends = match Reader::new(text, shell.dialect) {
                Ok(reader) => {
                    let mut reader = reader.within(span);
                    walk.lines(&mut reader, shell, text, false)
                }
                Err(_) if !super::super::tripwire::may_publish(text) && text.contains(&0) => Ends::Same(shell),
                Err(_) => {
                    walk.unknown("nested code that is too long or holds a NUL byte", span.range());
                    Ends::Same(shell)
                }
            };
            walk.span = outer;
            walk.in_given_text = in_given_text;
            ends
        })
    }

    /// Walks text in a shell process of its own.
    pub(in crate::command) fn run_process(&mut self, text: &[u8], inside: Shell) -> (bool, bool) {
        let loops = std::mem::take(&mut self.loops);
        let ends = self.run_text(text, inside);
        self.loops = loops;
        let (success, failure) = ends.split();
        let dead = (success.dead, failure.dead);
        self.leave_shell(success.merge(failure));
        dead
    }

    /// `source FILE ARGUMENTS`.
    pub(in crate::command) fn source(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let arguments = match arguments.split_first() {
            Some((first, rest)) if first.known().is_some_and(|word| word == "--") => rest,
            _ => arguments,
        };
        let Some((file, rest)) = arguments.split_first() else { return Ends::failure(shell) };
        let file = self.sourced_file(file, &shell);
        let text = self.code_of(&file, &shell);
        let Some(text) = text else { return Ends::failure(shell) };
        let outside = Rc::clone(&shell.arguments);
        if !rest.is_empty() {
            shell.arguments = Rc::new(Arguments { zero: outside.zero.clone(), rest: rest.to_vec() });
        }
        let was_in_function = std::mem::replace(&mut shell.in_function, true);
        let locals = shell.locals.clone();
        let ends = match text {
            Ok(text) => self.run_text(&text, shell),
            Err(why) => {
                self.opaque(format!("source of a file that is not known: {why}"), &shell);
                Ends::Same(shell)
            }
        };
        let replaced = !rest.is_empty();
        let mut ended = ends.merged();
        if replaced {
            ended.arguments = outside;
        }
        ended.in_function = was_in_function;
        ended.locals = locals;
        // `return` ends the file alone.
        ended.dead &= !ended.returned;
        ended.returned = false;
        Ends::Same(ended)
    }

    /// Where `source` looks: along PATH for a name without a slash, then here.
    fn sourced_file(&self, file: &Value, shell: &Shell) -> Value {
        let Some(name) = file.known().filter(|name| !name.contains(&b'/')) else { return file.clone() };
        let Some(path) = shell.env_text(self.world, "PATH") else { return file.clone() };
        for folder in path.split_str(":").filter(|folder| !folder.is_empty()) {
            let candidate = std::path::Path::new(&to_os_string(folder)).join(to_os_string(name));
            if candidate.is_absolute() && candidate.is_file() {
                return known(super::redirect::path_bytes(&candidate));
            }
        }
        file.clone()
    }

    /// The text of a file of code: `None` when there is none, an error when it cannot be known.
    pub(in crate::command) fn code_of(&mut self, file: &Value, shell: &Shell) -> Option<Result<Vec<u8>, SafeText>> {
        let pasted = self.pasted.len();
        let text = self.input_text(file, shell);
        self.pasted.truncate(pasted);
        if text.is_err()
            && let Some(name) = file.known()
            && let Some(path) = self.absolute(name, shell)
            && !super::redirect::is_device(name)
            && path.symlink_metadata().is_err()
            && self.disk.seen(&path) == FileSeen::AsOnDisk
        {
            return None;
        }
        Some(text)
    }

    /// What a shell reads before its code: `BASH_ENV`, exported functions, files for interactive use.
    pub(in crate::command) fn shell_starts(&mut self, mut shell: Shell, interactive: bool, posix: bool) -> Shell {
        let mut functions: Vec<(BString, BString)> = Vec::new();
        for (name, value) in &self.world.env {
            if let Some(function) = exported_function(name.as_encoded_bytes())
                && !shell.cleared
            {
                functions.push((function.into(), value.as_encoded_bytes().into()));
            }
        }
        for (name, variable) in shell.variables.iter() {
            if let (Some(function), Content::Scalar(Value::Known(text))) = (exported_function(name), &variable.value) {
                functions.push((function.into(), text.clone()));
            }
        }
        for (name, text) in functions {
            self.define_from_text(name.as_bstr(), text.as_bstr(), &mut shell);
        }
        if shell.dialect != Dialect::Bash {
            return shell;
        }
        let variable = match (posix, interactive) {
            (true, true) => "ENV",
            (false, false) => "BASH_ENV",
            _ => return shell,
        };
        let file = match shell.variable(self.world, variable.as_bytes().as_bstr()) {
            Content::Scalar(Value::Known(file)) if !file.is_empty() => known(file),
            Content::Scalar(Value::Unknown(value)) => Value::Unknown(value),
            Content::Scalar(Value::Known(_)) | Content::Unset | Content::Array(_) | Content::UnknownArray(_) => {
                return shell;
            }
        };
        self.source(&[file], shell).merged()
    }

    /// A shell started as a program. `None` when the name is none.
    pub(in crate::command) fn shell_program(&mut self, base: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        let (dialect, posix) = match base.as_bytes() {
            b"bash" | b"rbash" | b"bash5" => (Dialect::Bash, false),
            b"sh" | b"dash" | b"ash" | b"ksh" | b"mksh" | b"posh" | b"yash" => (Dialect::Bash, true),
            b"zsh" | b"rzsh" => (Dialect::Zsh, false),
            _ => return None,
        };
        Some(self.start_shell(call.arguments(), dialect, posix, shell))
    }

    /// A shell with its options, its code on the line, in a file or in its input.
    pub(in crate::command) fn start_shell(
        &mut self,
        arguments: &[Value],
        dialect: Dialect,
        posix: bool,
        shell: &Shell,
    ) -> Ends {
        let outer = shell;
        let mut inside = shell.new_process(dialect);
        inside.options.posix = posix;
        inside.options.expand_aliases |= posix;
        let Some(start) = Start::read(arguments, &mut inside) else {
            self.opaque("a shell whose options are not known", shell);
            return Ends::Same(outer.clone());
        };
        if start.only_informs {
            return Ends::success(outer.clone());
        }
        if start.only_reads && !start.interactive {
            // `bash -n`: the code is looked at for mistakes, and not run.
            return Ends::Same(outer.clone());
        }
        if start.interactive {
            inside.options.expand_aliases = true;
        }
        let mut inside = self.shell_starts(inside, start.interactive, posix);
        if start.interactive && !posix && !start.no_rc {
            let file = match &start.rc_file {
                Some(file) => Some(file.clone()),
                None => outer.env_text(self.world, "HOME").map(|home| known([home.as_slice(), b"/.bashrc"].concat())),
            };
            if let Some(file) = file {
                inside = self.source(&[file], inside).merged();
                inside.dead = outer.dead;
            }
        }
        if start.login && !start.no_profile {
            inside = self.profiles(outer, inside);
        }
        let (success_dead, failure_dead) = self.shell_code(&start, inside);
        match (success_dead, failure_dead) {
            (false, true) => Ends::success(outer.clone()),
            (true, false) => Ends::failure(outer.clone()),
            _ => Ends::Same(outer.clone()),
        }
    }

    /// The start-up files of a login shell that the line itself writes; those that were there before are
    /// the person's own.
    fn profiles(&mut self, outer: &Shell, mut inside: Shell) -> Shell {
        let Some(home) = outer.env_text(self.world, "HOME") else { return inside };
        for name in [".bash_profile", ".bash_login", ".profile", ".zprofile", ".zlogin", ".bash_logout"] {
            let file = [home.as_slice(), b"/", name.as_bytes()].concat();
            if self.disk.seen(&std::path::PathBuf::from(to_os_string(&file))) != FileSeen::AsOnDisk {
                inside = self.source(&[known(file)], inside).merged();
                inside.dead = outer.dead;
            }
        }
        inside
    }

    fn shell_code(&mut self, start: &Start, mut inside: Shell) -> (bool, bool) {
        let unknown_exit = (false, false);
        if start.command {
            let Some((code, rest)) = start.operands.split_first() else { return unknown_exit };
            let (zero, rest) = match rest.split_first() {
                Some((zero, rest)) => (zero.clone(), rest.to_vec()),
                None => (known("bash"), Vec::new()),
            };
            inside.arguments = Rc::new(Arguments { zero, rest });
            return match code {
                Value::Known(code) => {
                    let code = code.clone();
                    self.run_process(&code, inside)
                }
                Value::Unknown(value) => {
                    self.run_partly(value, &inside);
                    self.opaque(format!("a shell that runs text that is not known: {}", value.why), &inside);
                    unknown_exit
                }
            };
        }
        if let (Some((file, rest)), false) = (start.operands.split_first(), start.from_input) {
            inside.arguments = Rc::new(Arguments { zero: file.clone(), rest: rest.to_vec() });
            return match self.code_of(file, &inside) {
                None => (true, false),
                Some(Ok(text)) => self.run_process(&text, inside),
                Some(Err(why)) => {
                    self.opaque(format!("a shell that runs a file that is not known: {why}"), &inside);
                    unknown_exit
                }
            };
        }
        inside.arguments = Rc::new(Arguments { zero: known("bash"), rest: start.operands.clone() });
        match inside.stdin() {
            // Nothing that the line says: the host gives its tools no input to run.
            Stdin::Inherited | Stdin::Empty => unknown_exit,
            stdin @ (Stdin::Text(_) | Stdin::File(_)) => match self.stdin_text(&stdin) {
                Ok(text) => {
                    inside.set_descriptor(0, Stdin::Unknown("the rest of a shell's code".into()));
                    self.run_process(&text, inside)
                }
                Err(why) => {
                    self.opaque(format!("a shell that runs input that is not known: {why}"), &inside);
                    unknown_exit
                }
            },
            Stdin::Names { why, .. } | Stdin::Unknown(why) => {
                self.opaque(format!("a shell that runs input that is not known: {why}"), &inside);
                unknown_exit
            }
        }
    }
}

/// How a shell is started.
#[derive(Default)]
struct Start {
    command: bool,
    from_input: bool,
    interactive: bool,
    login: bool,
    no_rc: bool,
    no_profile: bool,
    only_reads: bool,
    only_informs: bool,
    rc_file: Option<Value>,
    operands: Vec<Value>,
}

impl Start {
    /// Reads a shell's arguments; `None` when an option is not known.
    fn read(arguments: &[Value], shell: &mut Shell) -> Option<Self> {
        let mut start = Self::default();
        let mut rest = arguments;
        while let Some((first, others)) = rest.split_first() {
            let Some(word) = first.known() else {
                // After `-c` it is the code; before, it may be an option too.
                if start.command {
                    break;
                }
                return None;
            };
            match word.as_bytes() {
                b"--" | b"-" => {
                    rest = others;
                    break;
                }
                b"--rcfile" | b"--init-file" => {
                    start.rc_file = others.first().cloned();
                    rest = others.get(1..).unwrap_or_default();
                    continue;
                }
                b"--norc" => start.no_rc = true,
                b"--noprofile" => start.no_profile = true,
                b"--login" => start.login = true,
                b"--help" | b"--version" => start.only_informs = true,
                b"--posix" => {
                    shell.options.posix = true;
                    shell.options.expand_aliases = true;
                }
                long if long.starts_with(b"--") => {}
                letters if letters.len() > 1 && matches!(letters.first(), Some(b'-' | b'+')) => {
                    let on = letters.first() == Some(&b'-');
                    rest = start.letters(letters.get(1..).unwrap_or_default(), on, others, shell);
                    continue;
                }
                _ => break,
            }
            rest = others;
        }
        start.operands = rest.to_vec();
        Some(start)
    }

    fn letters<'v>(&mut self, letters: &[u8], on: bool, others: &'v [Value], shell: &mut Shell) -> &'v [Value] {
        let mut rest = others;
        for letter in letters {
            match letter {
                b'c' => self.command = on,
                b's' => self.from_input = on,
                b'i' => self.interactive = on,
                b'l' => self.login = on,
                b'n' => self.only_reads = on,
                b'e' => shell.options.errexit = on,
                b'f' => shell.options.no_glob = on,
                b'a' => shell.options.all_export = on,
                b'o' | b'O' => {
                    match rest.first().and_then(Value::known).map(|word| word.as_bytes()) {
                        Some(b"extglob") => shell.options.extglob = on,
                        Some(b"expand_aliases" | b"posix") => shell.options.expand_aliases = on,
                        Some(b"errexit") => shell.options.errexit = on,
                        _ => {}
                    }
                    rest = rest.get(1..).unwrap_or_default();
                }
                _ => {}
            }
        }
        rest
    }
}

/// The function that a variable of the environment carries.
fn exported_function(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(b"BASH_FUNC_")?.strip_suffix(b"%%")
}

/// `$0` of a script.
pub(in crate::command) fn script_name(path: &std::path::Path) -> Value {
    known(super::redirect::path_bytes(path))
}
