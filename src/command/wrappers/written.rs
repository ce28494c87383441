//! Files that programs write because their arguments say so: `sed -i`, `curl -o`, `tar -C`, `find -delete`.
//!
//! Promise: what is named here is written, changed or removed, or may be; it only ever adds to what the
//! walk knows to have changed, and to what is looked at for tampering. Programs whose every operand is a
//! file they write (`cp`, `rm`, `tee` …) are [`crate::command::files`]'s.

use bstr::{BStr, ByteSlice};

use super::long_value;
use crate::command::simple::Value;

/// What a program writes.
#[derive(Debug, Default)]
pub(in crate::command) struct Written {
    /// Files that get new bytes, by the words that name them.
    pub files: Vec<Value>,
    /// Files whose bytes are edited in place.
    pub edited: Vec<Value>,
    /// Files of which something goes into those.
    pub taken: Vec<Value>,
    /// Files that hold what another one says, or what that decodes to.
    pub made_of: Vec<(Value, Value)>,
    /// Folders in which files are written, moved or removed.
    pub folders: Vec<Value>,
    /// Folders that are made.
    pub made: Vec<Value>,
}

/// What a program writes or removes, by its arguments.
pub(in crate::command) fn written(base: &BStr, arguments: &[Value]) -> Written {
    let mut written = Written::default();
    match base.as_bytes() {
        b"sed" | b"gsed" | b"ssed" => written.files = arguments.iter().flat_map(named_by_sed).collect(),
        b"awk" | b"gawk" | b"mawk" | b"nawk" => written.files = arguments.iter().flat_map(named_by_awk).collect(),
        b"find" | b"gfind" => {
            let names = |pair: &[Value]| match pair {
                [option, file] => {
                    let option = option.known()?;
                    (option.starts_with(b"-fprint") || option == "-fls").then(|| file.clone())
                }
                _ => None,
            };
            written.files = arguments.windows(2).filter_map(names).collect();
        }
        _ => {}
    }
    match base.as_bytes() {
        b"mkdir" | b"gmkdir" => written.made = operands(arguments, &["-m", "--mode", "-Z"]),
        b"gzip" | b"gunzip" | b"bzip2" | b"bunzip2" | b"xz" | b"unxz" | b"zstd" | b"unzstd" | b"lzma" | b"compress"
        | b"uncompress" | b"lz4" | b"pigz"
            if !has_cluster(arguments, b'c', b"STob") && !has(arguments, &["--stdout", "--to-stdout"]) =>
        {
            written.edited = operands(arguments, &["-S", "-T", "-o", "-b"]);
        }
        b"sed" | b"gsed" if has_cluster(arguments, b'i', b"efl") || has(arguments, &["--in-place"]) => {
            let script_apart = has_cluster(arguments, b'e', b"fli")
                || has_cluster(arguments, b'f', b"eli")
                || has(arguments, &["--expression", "--file"]);
            let words = operands(arguments, &["-e", "-f", "-l", "-ne", "-Ee", "-re", "--expression", "--file"]);
            written.edited = if script_apart { words } else { words.split_off_first() };
            written.taken = arguments.iter().flat_map(read_by_sed).collect();
        }
        b"perl" | b"ruby" if has_cluster(arguments, b'i', b"eEIMmFCr") => {
            written.edited = operands(arguments, &["-e", "-E", "-I", "-M", "-F", "-r"]);
        }
        b"awk" | b"gawk" if arguments.iter().any(|word| word.known().is_some_and(|word| word == "inplace")) => {
            written.edited = operands(arguments, &["-f", "-i", "-v", "-F"]);
        }
        b"ed" | b"red" => written.edited = operands(arguments, &["-p"]),
        b"ex" | b"vi" | b"vim" | b"nvim" | b"nano" | b"emacs" | b"patch" | b"sponge" | b"dos2unix" | b"unix2dos"
        | b"rename" => {
            written.edited = operands(arguments, &["-c", "-S", "-u", "--cmd", "-p", "-i", "-o", "-d", "-s"]);
        }
        b"curl" => {
            written.files = values(arguments, b'o', &["--output"]);
            let folder = arguments.iter().position(|word| word.known().is_some_and(|word| word == "--output-dir"));
            if let Some(Value::Known(folder)) = folder.and_then(|at| arguments.get(at + 1)) {
                // With `-O`, each address names a file there.
                let names = arguments.iter().filter_map(Value::known).filter(|word| word.find(b"://").is_some());
                let name = |word: &BStr| word.rsplit_str("/").next().unwrap_or_default().to_vec();
                let path = |word| Value::Known([folder.as_slice(), b"/", &name(word)].concat().into());
                written.files.extend(names.map(path));
            }
        }
        b"wget" => {
            written.files = values(arguments, b'O', &["--output-document"]);
            written.folders = values(arguments, b'P', &["--directory-prefix"]);
        }
        b"sort" | b"gsort" => {
            written.files = values(arguments, b'o', &["--output"]);
            let read = operands(arguments, &["-o", "--output", "-k", "-t", "-S", "-T"]);
            if let ([to], [from]) = (written.files.as_slice(), read.as_slice()) {
                written.made_of.push((to.clone(), from.clone()));
            }
        }
        b"openssl" => {
            let named = |option: &[u8]| {
                let at =
                    arguments.iter().position(|word| word.known().is_some_and(|word| word.as_bytes() == option))?;
                arguments.get(at + 1).cloned()
            };
            written.files.extend(named(b"-out"));
            let decodes = arguments.first().and_then(Value::known).is_some_and(|verb| verb == "base64");
            if let (true, Some(to), Some(from)) = (decodes, named(b"-out"), named(b"-in")) {
                written.made_of.push((to, from));
            }
        }
        b"gcc" | b"cc" | b"clang" | b"g++" | b"clang++" | b"rustc" => written.files = values(arguments, b'o', &[]),
        b"tar" | b"gtar" | b"bsdtar" if extracts(arguments) => {
            written.folders = values(arguments, b'C', &["--directory"]);
        }
        b"split" | b"gsplit" => {
            let words = operands(arguments, &["-a", "-b", "-C", "-l", "-n", "-t", "--lines", "--bytes", "--number"]);
            written.files = vec![words.get(1).map_or_else(|| begun(BStr::new("x")), begun_by)];
        }
        b"csplit" | b"gcsplit" => {
            let prefix = values(arguments, b'f', &["--prefix"]);
            written.files = vec![prefix.first().map_or_else(|| begun(BStr::new("xx")), begun_by)];
        }
        b"unzip" => written.folders = values(arguments, b'd', &[]),
        b"mount" => written.folders = operands(arguments, &["-t", "-o", "-L", "-U"]).split_off_first(),
        b"find" | b"gfind" if has(arguments, &["-delete"]) => written.folders = starts_of_find(arguments),
        _ => {}
    }
    written
}

/// Files whose names begin so.
fn begun(beginning: &BStr) -> Value {
    super::unknown("a file of several").beginning_with(beginning.to_owned())
}

fn begun_by(word: &Value) -> Value {
    match word {
        Value::Known(beginning) => begun(beginning.as_bstr()),
        Value::Unknown(_) => word.clone(),
    }
}

/// Files that a program of sed writes: the rest of the line after `w` or `W` (a superset: a `w` in other
/// text counts too).
fn named_by_sed(word: &Value) -> Vec<Value> {
    let Some(text) = word.known() else { return Vec::new() };
    let mut files = Vec::new();
    for line in text.lines() {
        for (at, pair) in line.windows(2).enumerate() {
            let before = at.checked_sub(1).and_then(|at| line.get(at));
            let begins = before.is_none_or(|byte| !byte.is_ascii_lowercase() || b"gpmie".contains(byte));
            if let (&[b'w' | b'W', b' ' | b'\t'], true) = (pair, begins)
                && let Some(name) = line.get(at + 2..).map(|rest| rest.trim()).filter(|name| !name.is_empty())
            {
                files.push(Value::Known(name.into()));
            }
        }
    }
    files
}

/// Files that a program of sed puts in: the rest of the line after `r` or `R`.
fn read_by_sed(word: &Value) -> Vec<Value> {
    let Some(text) = word.known() else { return Vec::new() };
    let named = text.lines().flat_map(|line| {
        let begins = line.windows(2).enumerate().filter(|(_, pair)| matches!(pair, [b'r' | b'R', b' ' | b'\t']));
        begins.filter_map(|(at, _)| line.get(at + 2..)).collect::<Vec<_>>()
    });
    named.map(|name| name.trim()).filter(|name| !name.is_empty()).map(|name| Value::Known(name.into())).collect()
}

/// Files that a program of awk writes by a name in quotes: `> "FILE"`.
fn named_by_awk(word: &Value) -> Vec<Value> {
    let Some(text) = word.known() else { return Vec::new() };
    let named = text.split(|byte| *byte == b'>').skip(1).filter_map(|rest| {
        let name = rest.trim_start().strip_prefix(b"\"")?;
        let end = name.find_byte(b'"').filter(|end| *end > 0)?;
        Some(Value::Known(name.get(..end)?.into()))
    });
    named.collect()
}

/// Where `find` begins: the operands before its first test.
pub(super) fn starts_of_find(arguments: &[Value]) -> Vec<Value> {
    let begins_expression = |word: &BStr| {
        word == "(" || word == "!" || word.starts_with(b"-") && !matches!(word.as_bytes(), b"-H" | b"-L" | b"-P")
    };
    let before = arguments.iter().take_while(|word| !word.known().is_some_and(&begins_expression));
    before.filter(|word| !word.known().is_some_and(|word| word.starts_with(b"-"))).cloned().collect()
}

trait SplitOffFirst {
    fn split_off_first(self) -> Self;
}

impl SplitOffFirst for Vec<Value> {
    /// All but the first.
    fn split_off_first(self) -> Self {
        self.into_iter().skip(1).collect()
    }
}

fn has(arguments: &[Value], options: &[&str]) -> bool {
    arguments.iter().filter_map(Value::known).any(|word| {
        options.iter().any(|option| {
            word == *option || word.strip_prefix(option.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        })
    })
}

/// Whether a letter stands in a cluster of short options, before one that takes the rest as its value.
fn has_cluster(arguments: &[Value], letter: u8, with_value: &[u8]) -> bool {
    arguments.iter().filter_map(Value::known).any(|word| {
        let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.starts_with(b"-")) else { return false };
        let before_value = letters.iter().take_while(|other| !with_value.contains(other) || **other == letter);
        before_value.into_iter().any(|other| *other == letter)
    })
}

/// The words that are neither options nor values of `with_value`.
fn operands(arguments: &[Value], with_value: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match first.known() {
            Some(word) if with_value.iter().any(|option| word == *option) => {
                rest = others.get(1..).unwrap_or_default();
            }
            Some(word) if word.len() > 1 && (word.starts_with(b"-") || word.starts_with(b"+")) => {}
            Some(_) | None => found.push(first.clone()),
        }
    }
    found
}

/// The values of an option, in its own word or the next.
fn values(arguments: &[Value], letter: u8, long: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else { continue };
        for option in long {
            let mut after = others;
            if let Some(value) = long_value(word, option.as_bytes(), &mut after) {
                found.extend(value);
            }
        }
        let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.starts_with(b"-")) else { continue };
        let Some(at) = letters.find_byte(letter) else { continue };
        match letters.get(at + 1..).filter(|value| !value.is_empty()) {
            Some(value) => found.push(Value::Known(value.into())),
            None => found.extend(others.first().cloned()),
        }
    }
    found
}

fn extracts(arguments: &[Value]) -> bool {
    has(arguments, &["--extract", "--get"])
        || has_cluster(arguments, b'x', b"fC")
        || arguments.first().and_then(Value::known).is_some_and(|word| !word.starts_with(b"-") && word.contains(&b'x'))
}
