//! Programs of other languages: on the line, in the input, in a file.
//!
//! Such a program is opaque, save where its text is known and holds none of the names through which
//! that language could start a program, evaluate text, load more code or open a connection.

use bstr::{BStr, ByteSlice};

use crate::command::shell::command::Call;
use crate::command::shell::state::Shell;
use crate::command::shell::{Ends, Walk};
use crate::command::simple::{Stdin, Value};

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

/// Names that could start a program, evaluate text, load code or reach the network.
fn able(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &[
            "import",
            "exec",
            "eval",
            "compile",
            "open",
            "__",
            "getattr",
            "globals",
            "vars",
            "breakpoint",
            "input",
            "exit",
            "codec",
            "coding",
        ],
        Language::Node => &[
            "require",
            "import",
            "process",
            "eval",
            "Function",
            "constructor",
            "global",
            "module",
            "fetch",
            "spawn",
            "exec",
            "Worker",
            "binding",
            "this",
            "\\u",
            "\\x",
            "Reflect",
            "WebSocket",
            "EventSource",
        ],
        Language::Perl => &[
            "system", "exec", "`", "qx", "open", "eval", "require", "use ", "do ", "do{", "syscall", "fork", "pipe",
            "socket", "/e", "}e", ")e", "ee", "dump", "glob", "<", "readpipe", "*{", "&{", "&$", "->", "\\x", "no ",
            "BEGIN", "dbmopen",
        ],
        Language::Ruby => &[
            "system", "exec", "`", "%x", "open", "eval", "require", "load", "send", "spawn", "fork", "popen", "IO",
            "File", "Process", "Kernel", "method", "const", "Object", "<<", "trap", "at_exit", "|", "#{",
        ],
        Language::Other => &[""],
    }
}

/// Modules of Python that only read and print, run as `python -m`.
const QUIET_MODULES: &[&str] =
    &["json.tool", "this", "calendar", "tabnanny", "tokenize", "ast", "dis", "base64", "platform", "sysconfig"];

impl Walk<'_, '_> {
    pub(super) fn interpreter_program(&mut self, base: &BStr, language: Language, call: &Call, shell: &Shell) -> Ends {
        let arguments = call.arguments();
        let inert = match source(language, arguments) {
            Source::Nothing => true,
            Source::Code(codes) => codes.iter().all(|code| code.known().is_some_and(|code| is_quiet(language, code))),
            Source::Input => match shell.stdin() {
                Stdin::Text(text) => is_quiet(language, text.as_bstr()),
                Stdin::Empty | Stdin::Inherited => true,
                Stdin::File(_) | Stdin::Unknown(_) => false,
            },
            Source::Module(name) => QUIET_MODULES.iter().any(|module| name == *module),
            Source::Unknown => false,
        };
        if !inert {
            self.opaque(base.to_string(), shell);
        }
        self.printing("a program", shell.clone())
    }
}

/// Where an interpreter takes its program from.
enum Source<'a> {
    Nothing,
    Code(Vec<&'a Value>),
    Input,
    Module(&'a BStr),
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
            return if codes.is_empty() { Source::Unknown } else { Source::Code(codes) };
        };
        match (language, letters) {
            (_, b"-version" | b"-help") => return Source::Nothing,
            (Language::Python, b"V" | b"VV" | b"h" | b"-help-all") => return Source::Nothing,
            (Language::Node | Language::Ruby | Language::Perl, b"v" | b"h") => return Source::Nothing,
            (Language::Python, b"m") => {
                return others.first().and_then(Value::known).map_or(Source::Unknown, Source::Module);
            }
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

/// Whether a program's text holds no name that could do more than compute and print.
fn is_quiet(language: Language, code: &BStr) -> bool {
    !able(language).iter().any(|name| code.find(name).is_some())
}
