//! Programs of other languages: on the line, in the input, in a file.
//!
//! Such a program is opaque, save where its text is known and holds none of the names through which
//! that language could start a program, evaluate text, load more code or open a connection.

use bstr::{BStr, BString, ByteSlice};

use super::quiet::{Quiet, quiet};
use crate::command::shell::command::Call;
use crate::command::shell::state::Shell;
use crate::command::shell::{Ends, Walk};
use crate::command::simple::{FileSeen, Program, Stdin, Value};

/// Languages whose one-line programs are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    /// Another one: always opaque.
    Other,
}

/// The language of an interpreter.
pub(in crate::command) fn language(base: &BStr) -> Option<Language> {
    let stem = base.trim_end_with(|character| character.is_ascii_digit() || character == '.');
    Some(match stem {
        b"python" | b"pypy" => Language::Python,
        b"node" | b"nodejs" => Language::Node,
        b"perl" => Language::Perl,
        b"ruby" => Language::Ruby,
        b"php" | b"lua" | b"luajit" | b"tclsh" | b"wish" | b"deno" | b"tsx" | b"ts-node" | b"Rscript" | b"julia"
        | b"osascript" | b"pwsh" | b"fish" | b"elvish" | b"nu" | b"csh" | b"tcsh" | b"groovy" | b"java" | b"scala"
        | b"erl" | b"elixir" | b"guile" | b"racket" | b"sbcl" | b"ipython" => Language::Other,
        _ => return None,
    })
}

/// Modules of Python that only read and print, run as `python -m`.
const QUIET_MODULES: &[&str] =
    &["json.tool", "this", "calendar", "tabnanny", "tokenize", "ast", "dis", "base64", "platform", "sysconfig"];

/// Modules of Python that build, test or serve what is here, as programs of that kind do.
const INERT_MODULES: &[&str] = &[
    "venv",
    "ensurepip",
    "http.server",
    "unittest",
    "build",
    "compileall",
    "zipfile",
    "tarfile",
    "doctest",
    "py_compile",
    "pydoc",
    "virtualenv",
    "pytest_watch",
    "nose2",
    "django",
];

/// What stands in quotes.
fn quoted_in(code: &[u8]) -> Vec<BString> {
    let mut found = Vec::new();
    for quote in [b'\'', b'"', b'`'] {
        found.extend(code.split(|byte| *byte == quote).skip(1).filter(|text| !text.is_empty()).map(BString::from));
    }
    found
}

/// Largest program file that is searched, in bytes.
const MAX_SEARCHED_BYTES: u64 = 256 * 1024;

impl Walk<'_, '_> {
    pub(super) fn interpreter_program(&mut self, base: &BStr, language: Language, call: &Call, shell: &Shell) -> Ends {
        let arguments = call.arguments();
        let does = match source(language, arguments) {
            Source::Nothing => Some(Quiet::Reads),
            // A module that lies beside, or that a variable names, is run with the code. A tool that is started as
            // a module is that tool.
            Source::Code(_) | Source::Input if self.loads_other_code(language, shell) => None,
            Source::Module(name, _) if !self.verbs.knows(name) && self.loads_other_code(language, shell) => None,
            Source::Code(codes) => self.codes(language, &codes, shell),
            Source::Input => match shell.stdin() {
                Stdin::Text(text) => {
                    let own = quiet(language, text.as_bstr());
                    self.searched(&text, own.is_none(), shell);
                    own
                }
                Stdin::Empty | Stdin::Inherited => Some(Quiet::Reads),
                Stdin::File(_) | Stdin::Names { .. } | Stdin::Unknown(_) => None,
            },
            Source::Module(name, _) if QUIET_MODULES.iter().any(|module| name == *module) => Some(Quiet::Reads),
            Source::Module(name, _) if INERT_MODULES.iter().any(|module| name == *module) => Some(Quiet::Writes),
            Source::Module(name, rest) if self.verbs.knows(name) && !name.contains(&b'/') => {
                let words = std::iter::once(Value::Known(name.to_owned())).chain(rest.iter().cloned()).collect();
                let inner = Call { programs_only: true, no_builtins: true, ..call.with_words(words) };
                return self.hand_over(&inner, Program::ByName, shell);
            }
            Source::Module(..) => None,
            Source::File(file) => {
                self.program_file(file, shell);
                None
            }
            Source::Unknown => None,
        };
        if does != Some(Quiet::Reads) {
            self.note_files_of_code(language, call, shell);
        }
        match does {
            Some(Quiet::Reads) => {}
            Some(Quiet::Writes) => self.disk.anything = true,
            None => self.opaque(base.to_string(), shell),
        }
        self.printing("a program", shell.clone())
    }

    /// Files that code which may write names in quotes, or that a module is given: what they say may go into others.
    fn note_files_of_code(&mut self, language: Language, call: &Call, shell: &Shell) {
        let mut names: Vec<BString> = Vec::new();
        match source(language, call.arguments()) {
            Source::Code(codes) => {
                for code in codes.iter().filter_map(|code| code.known()) {
                    names.extend(quoted_in(code));
                }
            }
            Source::Input => {
                if let Stdin::Text(text) = shell.stdin() {
                    names.extend(quoted_in(&text));
                }
            }
            Source::Module(_, rest) => names.extend(rest.iter().filter_map(Value::known).map(BStr::to_owned)),
            Source::Nothing | Source::File(_) | Source::Unknown => {}
        }
        for name in names {
            if let Some(path) = self.absolute(name.as_bstr(), shell).filter(|path| path.is_file())
                && !self.disk.put_in.files.contains(&path)
            {
                self.disk.put_in.files.push(path);
            }
        }
    }

    /// Whether a variable of the line, or a file that it writes beside, brings code along that nobody reads
    /// here: modules are looked for where the program runs.
    fn loads_other_code(&self, language: Language, shell: &Shell) -> bool {
        let (variables, endings): (&[&str], &[&str]) = match language {
            Language::Python => (&["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE"], &[".py", ".pth"]),
            Language::Node => (&["NODE_OPTIONS", "NODE_PATH"], &[".js", ".mjs", ".cjs"]),
            Language::Perl => (&["PERL5OPT", "PERL5LIB", "PERLLIB"], &[".pm", ".pl"]),
            Language::Ruby => (&["RUBYOPT", "RUBYLIB"], &[".rb"]),
            Language::Other => (&[], &[]),
        };
        variables.iter().any(|name| shell.variables.contains_key(BStr::new(name)))
            || self.disk.has_written_kind(endings)
    }

    fn codes(&mut self, language: Language, codes: &[&Value], shell: &Shell) -> Option<Quiet> {
        let mut does = Some(Quiet::Reads);
        for code in codes {
            let Some(code) = code.known() else {
                does = None;
                continue;
            };
            let own = quiet(language, code);
            self.searched(code, own.is_none(), shell);
            does = match (does, own) {
                (Some(Quiet::Reads), does) => does,
                (Some(Quiet::Writes), Some(_)) => Some(Quiet::Writes),
                (None, _) | (_, None) => None,
            };
        }
        does
    }

    /// A program in a file stays opaque; what it says in plain text is searched.
    fn program_file(&mut self, file: &Value, shell: &Shell) {
        let Some(path) = file.known().and_then(|file| self.absolute(file, shell)) else { return };
        let small = path.metadata().is_ok_and(|data| data.is_file() && data.len() <= MAX_SEARCHED_BYTES);
        let text = match self.disk.seen(&path) {
            FileSeen::Written(bytes) => Some(bytes),
            FileSeen::Changed(_) | FileSeen::AsOnDisk if small => crate::world::read_plain(&path).ok(),
            FileSeen::Changed(_) | FileSeen::AsOnDisk => None,
        };
        if let Some(text) = text {
            self.searched(&text, true, shell);
        }
    }
}

/// Where an interpreter takes its program from.
enum Source<'a> {
    Nothing,
    Code(Vec<&'a Value>),
    Input,
    Module(&'a BStr, &'a [Value]),
    File(&'a Value),
    Unknown,
}

fn source(language: Language, arguments: &[Value]) -> Source<'_> {
    let mut rest = arguments;
    let mut codes = Vec::new();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else { return Source::Unknown };
        if word == "-" {
            break;
        }
        let Some(letters) = word.strip_prefix(b"-") else {
            // With code on the line this is an operand, else it is a program in a file.
            return if codes.is_empty() { Source::File(first) } else { Source::Code(codes) };
        };
        match (language, letters) {
            (_, b"-version" | b"-help") => return Source::Nothing,
            (Language::Python, b"V" | b"VV" | b"h" | b"-help-all") => return Source::Nothing,
            (Language::Node | Language::Ruby | Language::Perl, b"v" | b"h") => return Source::Nothing,
            (Language::Python, b"m") => {
                let Some((module, rest)) = others.split_first() else { return Source::Unknown };
                return module.known().map_or(Source::Unknown, |module| Source::Module(module, rest));
            }
            (Language::Other, b"version" | b"v" | b"V" | b"h") if others.is_empty() => return Source::Nothing,
            (Language::Python, b"W" | b"X") => rest = others.get(1..).unwrap_or_default(),
            (Language::Python, letters) if letters.ends_with(b"c") => {
                return others.first().map_or(Source::Unknown, |code| Source::Code(vec![code]));
            }
            (Language::Python, letters) if letters.iter().all(|letter| b"BEIOPRSbdiqsuvx".contains(letter)) => {}
            (Language::Node, b"e" | b"-eval" | b"p" | b"-print" | b"pe") => {
                return others.first().map_or(Source::Unknown, |code| Source::Code(vec![code]));
            }
            (Language::Perl, letters) if letters.iter().all(|letter| b"acelnpswE0i".contains(letter)) => {
                if letters.iter().any(|letter| matches!(letter, b'e' | b'E')) {
                    codes.extend(others.first());
                    rest = others.get(1..).unwrap_or_default();
                }
            }
            (Language::Ruby, letters) if letters.iter().all(|letter| b"acelnpsw".contains(letter)) => {
                if letters.contains(&b'e') {
                    codes.extend(others.first());
                    rest = others.get(1..).unwrap_or_default();
                }
            }
            _ => return Source::Unknown,
        }
    }
    if codes.is_empty() { Source::Input } else { Source::Code(codes) }
}
