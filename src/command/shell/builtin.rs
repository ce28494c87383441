//! Builtins: what each changes, and the code that some of them run.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::arguments::Options;
use super::capture::Printed;
use super::command::Call;
use super::state::{Arguments, Shell, known, many, unknown};
use super::{Ends, Walk};
use crate::command::lex::Dialect;
use crate::command::simple::{Exit, Stdin, Value, to_os_string};
use crate::command::words::fields::Fields;

type Back = Box<(Call, Shell)>;

impl Walk<'_, '_> {
    /// Runs the builtin `name`; a command that is none comes back.
    pub(in crate::command) fn builtin(&mut self, name: &BStr, call: Call, mut shell: Shell) -> Result<Ends, Back> {
        let arguments = call.arguments();
        Ok(match name.as_bytes() {
            b":" | b"true" => Ends::success(shell),
            b"false" => Ends::failure(shell),
            b"cd" | b"chdir" => self.change_directory(arguments, shell),
            b"pushd" => self.push_directory(arguments, shell),
            b"popd" => self.pop_directory(arguments, shell),
            b"dirs" => self.printing("the directory stack", shell),
            b"pwd" => self.print_directory(arguments, shell),
            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" | b"integer" | b"float" => {
                self.declare(name, arguments, shell)
            }
            b"unset" => self.unset(arguments, shell),
            b"set" => self.set_options(arguments, shell),
            b"setopt" | b"unsetopt" if shell.dialect == Dialect::Zsh => {
                self.zsh_options(arguments, name == "setopt", shell)
            }
            b"shopt" => self.shell_options(arguments, shell),
            b"shift" => self.shift(arguments, shell),
            b"eval" => self.eval(arguments, shell),
            b"source" | b"." => self.source(arguments, shell),
            b"alias" => self.alias(arguments, shell),
            b"unalias" => self.unalias(arguments, shell),
            b"trap" => self.trap(arguments, shell),
            b"read" => self.read(arguments, shell),
            b"mapfile" | b"readarray" => self.map_file(arguments, shell),
            b"getopts" => self.getopts(arguments, shell),
            b"let" => self.let_expressions(arguments, shell),
            b"printf" => self.printf(arguments, shell),
            b"echo" => self.echo(arguments, shell),
            b"print" if shell.dialect == Dialect::Zsh => self.print_words(arguments, shell),
            b"emulate" if shell.dialect == Dialect::Zsh => self.emulate(arguments, shell),
            b"test" | b"[" => self.test(arguments, shell),
            b"exit" | b"logout" | b"bye" if name != "bye" || shell.dialect == Dialect::Zsh => Ends::nothing(shell),
            b"return" => self.leave_function(shell),
            b"break" => self.leave_loop(levels(arguments), true, shell),
            b"continue" => self.leave_loop(levels(arguments), false, shell),
            b"exec" => self.exec(&call, shell),
            b"command" => self.command_builtin(&call, shell),
            b"builtin" => self.run_if_any(Call { programs_only: true, ..call.rest(1) }, shell),
            b"type" | b"whence" | b"where" => self.print_programs(arguments, shell),
            b"hash" | b"rehash" => self.hash(arguments, shell),
            b"enable" | b"disable" => self.enable(name, arguments, shell),
            b"history" => self.history(&call, shell),
            b"fc" | b"compgen" | b"complete" => self.completion(&call, shell),
            b"jobs" if arguments.first().and_then(Value::known).is_some_and(|word| word == "-x") => {
                self.run_if_any(call.rest(2), shell)
            }
            b"wait" | b"jobs" | b"fg" | b"bg" | b"kill" | b"disown" | b"suspend" | b"umask" | b"ulimit" | b"times"
            | b"caller" | b"bind" | b"compopt" | b"help" | b"autoload" | b"zmodload" | b"zstyle" | b"bindkey"
            | b"compdef" | b"zle"
                if is_builtin_of(name, shell.dialect) =>
            {
                self.subscripts_of(arguments, &mut shell);
                self.printing("a builtin", shell)
            }
            _ => return Err(Box::new((call, shell))),
        })
    }

    /// A builtin whose output is not known.
    pub(in crate::command) fn printing(&mut self, what: &'static str, shell: Shell) -> Ends {
        self.print(Printed::Unknown(format!("output of {what}").into()), &shell);
        Ends::Same(shell)
    }

    pub(in crate::command) fn subscripts_of(&mut self, arguments: &[Value], shell: &mut Shell) {
        for argument in arguments {
            if let Some(text) = argument.known() {
                self.subscripts_in(text, shell);
            }
        }
    }

    fn eval(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let text = joined_words(arguments);
        self.run_value(&text, shell, "eval")
    }

    fn leave_function(&mut self, shell: Shell) -> Ends {
        if !shell.in_function {
            // Outside of functions and sourced files it is an error, and the line goes on.
            return Ends::Same(shell);
        }
        Ends::Same(Shell { dead: true, returned: true, ..shell })
    }

    /// `exec`: without a command its redirections stay, with one nothing of the shell is left.
    fn exec(&mut self, call: &Call, mut shell: Shell) -> Ends {
        let options = Options::read(call.arguments(), b"a");
        if options.operands.is_empty() {
            // With a redirection alone, what comes after it on the line goes there.
            self.print(Printed::Unknown("what the rest of the line prints".into()), &shell);
            return Ends::success(shell);
        }
        if options.has(b'c') {
            shell.cleared = true;
            shell.variables = Rc::default();
        }
        let inner = Call { programs_only: true, no_builtins: true, ..call.with_words(options.operands.to_vec()) };
        let ends = self.run(inner, shell);
        Ends::nothing(ends.merged())
    }

    /// `command NAME …` passes over functions; `command -v NAME` tells what a name is.
    fn command_builtin(&mut self, call: &Call, shell: Shell) -> Ends {
        let options = Options::read(call.arguments(), b"");
        if options.has(b'v') || options.has(b'V') {
            return self.print_programs(options.operands, shell);
        }
        let inner = Call { programs_only: true, ..call.with_words(options.operands.to_vec()) };
        self.run_if_any(inner, shell)
    }

    /// `command -v`, `type`, `which`: the program's path where exactly one is asked for.
    pub(in crate::command) fn print_programs(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let names: Vec<&Value> =
            arguments.iter().filter(|word| !word.known().is_some_and(|word| word.starts_with(b"-"))).collect();
        let printed = match names.as_slice() {
            [only] => match only.known().and_then(|name| self.program_path(name, &shell)) {
                Some(path) => Printed::Text([path.as_bytes(), b"\n"].concat()),
                None => Printed::Unknown("where a program is".into()),
            },
            _ => Printed::Unknown("where programs are".into()),
        };
        self.print(printed, &shell);
        Ends::Same(shell)
    }

    /// A program's path, when nothing on the line changes it.
    fn program_path(&self, name: &BStr, shell: &Shell) -> Option<BString> {
        if shell.functions.contains_key(name) || self.disk.anything {
            return None;
        }
        let path = shell.env_text(self.world, "PATH")?;
        let found = crate::world::look_up(&to_os_string(name), Some(&to_os_string(path)), shell.dirs.single()?)?;
        Some(super::redirect::path_bytes(&found))
    }

    fn hash(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"p");
        if let Some(path) = options.value(b'p') {
            for name in options.operands {
                if let Some(name) = name.known() {
                    Rc::make_mut(&mut shell.hashed).insert(name.to_owned(), path.clone());
                }
            }
        }
        if options.has(b'r') || options.has(b'd') {
            shell.hashed = Rc::default();
        }
        Ends::Same(shell)
    }

    fn enable(&mut self, name: &BStr, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"f");
        if options.has(b'f') {
            self.opaque("a builtin loaded from a file", &shell);
        }
        let off = options.has(b'n') || name == "disable";
        for builtin in options.operands.iter().filter_map(Value::known) {
            let disabled = Rc::make_mut(&mut shell.disabled);
            if off {
                disabled.insert(builtin.to_owned());
            } else {
                disabled.remove(builtin);
            }
        }
        Ends::Same(shell)
    }

    /// `history -s WORDS`: `fc -s` would run them.
    fn history(&mut self, call: &Call, shell: Shell) -> Ends {
        let options = Options::read(call.arguments(), b"");
        if options.has(b's') {
            let text = joined_words(options.operands);
            let inside = shell.clone();
            self.perhaps(|walk| walk.run_value(&text, inside, "history"));
        }
        self.printing("the history", shell)
    }

    /// `complete -C COMMAND`, `compgen -C COMMAND`; `fc` runs what the history holds.
    fn completion(&mut self, call: &Call, shell: Shell) -> Ends {
        let options = Options::read(call.arguments(), b"CFAGWPSXoe");
        // The words of `-W` are expanded, with what they substitute.
        for code in [options.value(b'C'), options.value(b'W')].into_iter().flatten() {
            let inside = shell.clone();
            self.perhaps(|walk| walk.run_value(code, inside, "a completion"));
        }
        self.printing("completions", shell)
    }

    fn alias(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let mut kind = BString::default();
        for argument in arguments {
            let Some(text) = argument.known() else {
                if !argument_is_listing(argument) {
                    self.opaque("an alias whose text is not known", &shell);
                }
                continue;
            };
            match text.split_once_str(b"=") {
                Some((name, value)) if !name.is_empty() => {
                    let key = match kind.as_slice() {
                        b"-g" => [b"\n", name].concat(),
                        b"-s" => [b"\n.", name].concat(),
                        _ => name.to_vec(),
                    };
                    Rc::make_mut(&mut shell.aliases).insert(BString::new(key), BString::from(value));
                }
                _ if text.starts_with(b"-") => kind = text.to_owned(),
                _ => {}
            }
        }
        self.printing("aliases", shell)
    }

    fn unalias(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        for argument in arguments.iter().filter_map(Value::known) {
            if argument == "-a" {
                shell.aliases = Rc::default();
            }
            Rc::make_mut(&mut shell.aliases).remove(argument);
        }
        Ends::Same(shell)
    }

    /// `trap TEXT SIGNAL…`: run when the shell ends, and perhaps from now on.
    fn trap(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"");
        let Some((text, signals)) = options.operands.split_first() else { return self.printing("traps", shell) };
        if signals.is_empty() || options.has(b'p') || options.has(b'l') {
            return self.printing("traps", shell);
        }
        if text.known().is_some_and(|text| text.is_empty() || text == "-") {
            return Ends::success(shell);
        }
        let at_exit_only = signals
            .iter()
            .all(|signal| signal.known().is_some_and(|signal| matches!(signal.as_bytes(), b"EXIT" | b"0" | b"exit")));
        Rc::make_mut(&mut shell.traps).push((BString::default(), text.clone()));
        if !at_exit_only {
            let inside = Shell { traps: Rc::default(), ..shell.clone() };
            self.perhaps(|walk| walk.run_value(text, inside, "a trap"));
        }
        Ends::success(shell)
    }

    fn set_options(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let mut rest = arguments;
        while let Some((first, others)) = rest.split_first() {
            let Some(word) = first.known() else { break };
            let on = match word.first() {
                Some(b'-') => true,
                Some(b'+') => false,
                _ => break,
            };
            rest = others;
            if word == "--" || word == "-" {
                shell.arguments = Rc::new(Arguments { zero: shell.arguments.zero.clone(), rest: others.to_vec() });
                return Ends::success(shell);
            }
            for letter in word.iter().skip(1) {
                match letter {
                    b'e' => shell.options.errexit = on,
                    b'f' => shell.options.no_glob = on,
                    b'a' => shell.options.all_export = on,
                    b'k' => shell.options.keyword = on,
                    b'y' if shell.dialect == Dialect::Zsh => shell.options.word_split = on,
                    b'o' => {
                        if let Some(name) = rest.first().and_then(Value::known) {
                            set_option(&mut shell, name, on);
                        }
                        rest = rest.get(1..).unwrap_or_default();
                    }
                    _ => {}
                }
            }
        }
        if !rest.is_empty() {
            let rest = if rest.iter().all(|word| word.known().is_some()) {
                rest.to_vec()
            } else {
                vec![many("positional parameters", self.span_range())]
            };
            shell.arguments = Rc::new(Arguments { zero: shell.arguments.zero.clone(), rest });
        }
        Ends::success(shell)
    }

    fn shell_options(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"");
        let on = options.has(b's');
        if !on && !options.has(b'u') {
            return self.printing("options", shell);
        }
        for name in options.operands {
            match name.known() {
                Some(name) => set_named(&mut shell, name, on),
                None => shell.options.expand_aliases |= on,
            }
        }
        Ends::success(shell)
    }

    fn zsh_options(&mut self, arguments: &[Value], on: bool, mut shell: Shell) -> Ends {
        for name in arguments.iter().filter_map(Value::known) {
            set_option(&mut shell, name, on);
        }
        Ends::success(shell)
    }

    /// zsh's `print`; with `-P` the words are expanded as prompts are.
    fn print_words(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"");
        if options.has(b'P') {
            for text in arguments.iter().filter_map(Value::known) {
                self.code_in(text, &mut shell);
            }
        }
        self.echo(arguments, shell)
    }

    /// `emulate MODE`: the options of another shell, from now on or for the code of `-c`.
    fn emulate(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let options = Options::read(arguments, b"c");
        let Some((mode, rest)) = options.operands.split_first() else { return self.printing("a shell's name", shell) };
        let is_zsh = mode.known().is_some_and(|mode| mode == "zsh");
        // `-c CODE` may stand behind the mode too.
        let code = options.value(b'c').or_else(|| {
            let at = rest.iter().position(|word| word.known().is_some_and(|word| word == "-c"))?;
            rest.get(at + 1)
        });
        let before = (shell.dialect, shell.options);
        shell.options.word_split = !is_zsh;
        shell.options.ksh_arrays = !is_zsh;
        let Some(code) = code else { return Ends::success(shell) };
        shell.dialect = if is_zsh { Dialect::Zsh } else { Dialect::Bash };
        let (mut success, mut failure) = self.run_value(code, shell, "emulate -c").split();
        (success.dialect, success.options) = before;
        (failure.dialect, failure.options) = before;
        Ends::of(success, failure)
    }

    fn shift(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        let count = match arguments.first() {
            None => Some(1),
            Some(value) => value.known().and_then(|text| text.to_str().ok()).and_then(|text| text.parse().ok()),
        };
        let Arguments { zero, rest } = (*shell.arguments).clone();
        let rest = match count {
            Some(count) if !rest.iter().take(count).any(Value::is_many) => rest.into_iter().skip(count).collect(),
            _ => vec![many("positional parameters after `shift`", self.span_range())],
        };
        shell.arguments = Rc::new(Arguments { zero, rest });
        Ends::Same(shell)
    }

    pub(in crate::command) fn test(&mut self, arguments: &[Value], mut shell: Shell) -> Ends {
        self.test_words(arguments, &mut shell);
        let arguments: Vec<Value> =
            arguments.iter().filter(|word| word.known().is_none_or(|word| word != "]")).cloned().collect();
        self.test_outcome(&arguments, shell)
    }

    /// Words of a test that name variables or are evaluated as arithmetic.
    pub(in crate::command) fn test_words(&mut self, words: &[Value], shell: &mut Shell) {
        let mut evaluates = false;
        for text in words.iter().filter_map(Value::known) {
            self.subscripts_in(text, shell);
            evaluates |= matches!(text.as_bytes(), b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge");
        }
        if evaluates {
            for word in words.iter().filter_map(Value::known) {
                if crate::command::lex::word::is_identifier(word) {
                    let word = word.to_owned();
                    self.evaluate(word.as_bstr(), shell, 0);
                }
            }
        }
    }

    /// The outcome of a test that is one comparison of known strings.
    pub(in crate::command) fn test_outcome(&mut self, words: &[Value], shell: Shell) -> Ends {
        let known: Option<Vec<&BStr>> = words.iter().map(Value::known).collect();
        let exit = match known.as_deref() {
            Some([operator, text]) if *operator == "-z" => Some(text.is_empty()),
            Some([operator, text]) if *operator == "-n" => Some(!text.is_empty()),
            Some([one, operator, other]) if (*operator == "=" || *operator == "==") && !other.contains(&b'*') => {
                Some(one == other)
            }
            Some([one, operator, other]) if *operator == "!=" && !other.contains(&b'*') => Some(one != other),
            _ => None,
        };
        match exit {
            Some(true) => Ends::success(shell),
            Some(false) => Ends::failure(shell),
            None => Ends::Same(shell),
        }
    }
}

impl Ends {
    /// A command that ends as `exit` says.
    pub(in crate::command) fn exiting(exit: Exit, shell: Shell) -> Self {
        match exit {
            Exit::Unknown => Self::Same(shell),
            Exit::Success => Self::success(shell),
            Exit::Failure => Self::failure(shell),
        }
    }
}

fn is_builtin_of(name: &BStr, dialect: Dialect) -> bool {
    let zsh_only = matches!(name.as_bytes(), b"autoload" | b"zmodload" | b"zstyle" | b"bindkey" | b"compdef" | b"zle");
    !zsh_only || dialect == Dialect::Zsh
}

fn argument_is_listing(argument: &Value) -> bool {
    matches!(argument, Value::Unknown(value) if !value.prefix.contains(&b'=') && !value.many)
}

fn levels(arguments: &[Value]) -> usize {
    arguments
        .first()
        .and_then(Value::known)
        .and_then(|text| text.to_str().ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// An option by its name, which zsh spells in many ways.
fn set_option(shell: &mut Shell, name: &BStr, on: bool) {
    if shell.dialect == Dialect::Bash {
        return set_named(shell, name, on);
    }
    let plain: BString = name.to_lowercase().into_iter().filter(|byte| *byte != b'_').collect::<Vec<u8>>().into();
    let (plain, on) = match plain.strip_prefix(b"no") {
        Some(rest) => (BString::from(rest), !on),
        None => (plain, on),
    };
    set_named(shell, plain.as_bstr(), on);
}

fn set_named(shell: &mut Shell, name: &BStr, on: bool) {
    match name.as_bytes() {
        b"errexit" | b"errreturn" => shell.options.errexit = on,
        b"noglob" => shell.options.no_glob = on,
        b"glob" => shell.options.no_glob = !on,
        b"allexport" => shell.options.all_export = on,
        b"posix" => {
            shell.options.posix = on;
            shell.options.expand_aliases |= on;
        }
        b"keyword" => shell.options.keyword = on,
        b"expand_aliases" | b"aliases" => shell.options.expand_aliases = on,
        b"extglob" => shell.options.extglob = on,
        b"nullglob" => shell.options.null_glob = on,
        b"dotglob" | b"globdots" => shell.options.dot_glob = on,
        b"autocd" => shell.options.auto_cd = on,
        b"autopushd" => shell.options.auto_pushd = on,
        b"cdable_vars" | b"cdablevars" => shell.options.cdable_vars = on,
        b"shwordsplit" => shell.options.word_split = on,
        b"ksharrays" => shell.options.ksh_arrays = on,
        _ => {}
    }
}

/// Words joined by blanks, as `eval` and its kin do.
pub(in crate::command) fn joined_words(words: &[Value]) -> Value {
    let mut fields = Fields::default();
    fields.open();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            fields.text(b" ", true);
        }
        fields.value(word, !word.is_many());
    }
    match fields.finish().first() {
        Some(field) => crate::command::words::fields::value_of(field),
        None => known(""),
    }
}

/// Splitting at the first occurrence.
pub(in crate::command) trait SplitFirst {
    fn split_once_str(&self, separator: &[u8]) -> Option<(&[u8], &[u8])>;
}

impl SplitFirst for BStr {
    fn split_once_str(&self, separator: &[u8]) -> Option<(&[u8], &[u8])> {
        let at = self.find(separator)?;
        Some((self.get(..at)?, self.get(at + separator.len()..)?))
    }
}

/// What `read` and `mapfile` take their lines from.
pub(in crate::command) fn is_readable(stdin: &Stdin) -> bool {
    matches!(stdin, Stdin::Text(_) | Stdin::Empty | Stdin::File(_))
}

/// A variable that input sets.
pub(in crate::command) fn from_input() -> Value {
    unknown("what is read from input", 0..0)
}
