//! Whether a short program of another language only computes, reads and prints.
//!
//! Promise: a program is called quiet only when no name stands in its text through which it could start
//! a program, evaluate text, load code of others or open a connection. Modules that bring none of that
//! along, and read or write files at most, may be imported by their plain names.

use bstr::{BStr, ByteSlice};

use super::interpreters::Language;

/// Modules of Python's standard library that start nothing by themselves.
const PYTHON_MODULES: &str = "sys os json re math cmath time datetime calendar collections itertools functools \
    textwrap string random hashlib hmac base64 binascii statistics pprint csv decimal fractions uuid secrets struct \
    unicodedata difflib enum dataclasses typing platform locale configparser tomllib argparse glob fnmatch pathlib \
    shutil tempfile io copy heapq bisect html gzip zlib zipfile tarfile sqlite3 errno stat shlex numbers abc contextlib \
    operator __future__ graphlib ipaddress colorsys keyword sysconfig getpass pwd grp yaml toml";

/// Names that no quiet Python program holds.
const PYTHON_ABLE: &[&str] = &[
    "exec",
    "eval",
    "compile",
    "__",
    "getattr",
    "setattr",
    "globals",
    "locals",
    "vars(",
    "breakpoint",
    "input(",
    "modules",
    "builtins",
    "attrgetter",
    "methodcaller",
    "codec",
    "coding",
    "system",
    "popen",
    "Popen",
    "spawn",
    "fork",
    "subprocess",
    "ctypes",
    "pickle",
    "marshal",
    "load_",
    "loader",
    "unsafe",
    "yaml.load",
    "startfile",
    "atexit",
    "signal",
    "thread",
    "socket",
    "requests",
    "urllib",
    "http",
    "pty",
    "runpy",
    "execfile",
];

/// Names by which Python changes files.
const PYTHON_WRITES: &[&str] = &[
    "open(", "write", "remove", "unlink", "rename", "replace(", "mkdir", "makedirs", "rmtree", "copy", "move", "touch",
    "chmod", "symlink", "link", "truncate", "connect(", "extract", "rmdir", "utime", "tempfile", "mkstemp",
];

/// Modules of node that start nothing by themselves.
const NODE_MODULES: &[&str] = &[
    "fs",
    "fs/promises",
    "path",
    "util",
    "os",
    "crypto",
    "assert",
    "url",
    "querystring",
    "string_decoder",
    "zlib",
    "buffer",
    "events",
    "perf_hooks",
    "readline",
    "stream",
];

/// What `process` may be asked for.
const NODE_PROCESS: &[&str] = &[
    "version",
    "versions",
    "argv",
    "env",
    "stdout",
    "stderr",
    "stdin",
    "exit",
    "exitCode",
    "cwd",
    "platform",
    "arch",
    "memoryUsage",
    "hrtime",
    "uptime",
    "pid",
];

const NODE_ABLE: &[&str] = &[
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
    "child_process",
];

const PERL_ABLE: &[&str] = &[
    "system", "exec", "`", "qx", "open", "eval", "require", "use ", "do ", "do{", "syscall", "fork", "pipe", "socket",
    "/e", "}e", ")e", "ee", "dump", "glob", "<", "readpipe", "*{", "&{", "&$", "->", "\\x", "no ", "BEGIN", "dbmopen",
];

const RUBY_ABLE: &[&str] = &[
    "system", "exec", "`", "%x", "open", "eval", "require", "load", "send", "spawn", "fork", "popen", "IO", "File",
    "Process", "Kernel", "method", "const", "Object", "<<", "trap", "at_exit", "|", "#{",
];

/// What a quiet program may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quiet {
    /// Compute, read and print.
    Reads,
    /// Change files as well.
    Writes,
}

/// What a program does, when it is quiet.
pub(super) fn quiet(language: Language, code: &BStr) -> Option<Quiet> {
    let holds_none = |names: &[&str]| !names.iter().any(|name| code.find(name).is_some());
    match language {
        Language::Python => python(code),
        Language::Node => node(code),
        Language::Perl => holds_none(PERL_ABLE).then_some(Quiet::Reads),
        Language::Ruby => holds_none(RUBY_ABLE).then_some(Quiet::Reads),
        Language::Other => None,
    }
}

fn writes(does: bool) -> Quiet {
    if does { Quiet::Writes } else { Quiet::Reads }
}

fn python(code: &BStr) -> Option<Quiet> {
    let mut imports = 0;
    let mut rest: Vec<&[u8]> = Vec::new();
    for statement in code.split(|byte| matches!(byte, b'\n' | b';')) {
        match imported(statement.trim()) {
            Some(modules) if modules.iter().all(|module| is_plain_module(module)) => imports += 1,
            Some(_) => return None,
            None => rest.push(statement),
        }
    }
    let rest = rest.join(&b'\n');
    // An import that does not begin a statement is none of those that were looked at.
    if rest.find(b"import").is_some() || PYTHON_ABLE.iter().any(|name| rest.find(name).is_some()) {
        return None;
    }
    // Without the module of the system `open` is the one that reads and writes files.
    Some(writes(
        imports > 0 && PYTHON_WRITES.iter().any(|name| rest.find(name).is_some()) || rest.find(b"open(").is_some(),
    ))
}

/// The modules that a statement imports, when that is all it does.
fn imported(statement: &[u8]) -> Option<Vec<&[u8]>> {
    if let Some(names) = statement.strip_prefix(b"import ") {
        return Some(names.split(|byte| *byte == b',').map(|name| name.fields().next().unwrap_or_default()).collect());
    }
    let rest = statement.strip_prefix(b"from ")?;
    let (module, names) = rest.split_once_str(b" import ")?;
    // `from os import system` brings the name itself along.
    let able = PYTHON_ABLE.iter().any(|name| names.find(name).is_some()) || names.contains(&b'*');
    Some(if able { vec![b"?"] } else { vec![module.trim()] })
}

fn is_plain_module(module: &[u8]) -> bool {
    let root = module.split(|byte| *byte == b'.').next().unwrap_or_default();
    PYTHON_MODULES.split_ascii_whitespace().any(|known| known.as_bytes() == root)
}

fn node(code: &BStr) -> Option<Quiet> {
    let mut plain = Vec::new();
    let mut rest: &[u8] = code;
    let mut reads_files = false;
    while let Some(at) = rest.find(b"require(").into_iter().chain(rest.find(b"process.")).min() {
        plain.extend_from_slice(rest.get(..at)?);
        let tail = rest.get(at..)?;
        rest = match (required(tail), asked_of_process(tail)) {
            (Some((module, after)), _) if is_data(module) => after,
            (Some((module, after)), _) if NODE_MODULES.iter().any(|known| module == known.as_bytes()) => {
                reads_files = true;
                after
            }
            (_, Some(after)) => after,
            _ => return None,
        };
        plain.push(b' ');
    }
    plain.extend_from_slice(rest);
    if NODE_ABLE.iter().any(|name| plain.find(name).is_some()) {
        return None;
    }
    const WRITES: &[&str] =
        &["write", "append", "unlink", "rm", "rename", "copy", "mkdir", "chmod", "link", "truncate", "open", "Sync("];
    Some(writes(reads_files && WRITES.iter().any(|name| plain.find(name).is_some())))
}

/// `require("MODULE")` at the beginning, and what follows.
fn required(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"require(")?;
    let (quote, text) = text.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    let end = text.find_byte(*quote)?;
    let module = text.get(..end)?;
    Some((module.strip_prefix(b"node:").unwrap_or(module), text.get(end + 1..)?.strip_prefix(b")")?))
}

/// A file of data; requiring it runs nothing.
fn is_data(module: &[u8]) -> bool {
    module.ends_with(b".json")
}

/// `process.NAME` at the beginning, for a harmless name, and what follows.
fn asked_of_process(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"process.")?;
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    let name = text.get(..end)?;
    NODE_PROCESS.iter().any(|known| name == known.as_bytes()).then(|| text.get(end..)).flatten()
}
