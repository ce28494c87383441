//! Programs that run a command once for each of many things: `xargs`, `find -exec`, `parallel`.

use bstr::{BStr, BString, ByteSlice};

use super::{Fed, Unwrapped, Wrapped, unknown};
use crate::command::shell::builtin::joined_words;
use crate::command::simple::{Certainty, Stdin, UnknownValue, Value};

/// Most commands that one call is followed into; what more there are is one command of unknown words.
const MAX_COMMANDS: usize = 32;

/// How `xargs` is told to build its commands.
#[derive(Default)]
struct Batches {
    replace: Option<BString>,
    delimiter: Option<u8>,
    most: Option<usize>,
    lines: Option<usize>,
    not_when_empty: bool,
    from_file: Option<Value>,
}

pub(super) fn xargs(arguments: &[Value], input: &Fed) -> Unwrapped {
    let mut batches = Batches::default();
    let Some(command) = batches.read(arguments) else {
        return Unwrapped::Opaque("xargs with options that are not known");
    };
    let command = if command.is_empty() { vec![Value::Known("echo".into())] } else { command.to_vec() };
    let items = match &batches.from_file {
        Some(file) if file.known().is_some_and(|file| file == "/dev/null") => Some(Vec::new()),
        Some(_) => None,
        None => input.text.as_ref().and_then(|input| batches.items(input)),
    };
    match items {
        Some(items) => Unwrapped::Commands(batches.commands(&command, items)),
        None => {
            let prefix = if batches.from_file.is_some() { BString::default() } else { input.prefix.clone() };
            Unwrapped::Commands(vec![batches.unknown_command(&command, prefix)])
        }
    }
}

impl Batches {
    /// Reads the options; the command that follows them.
    fn read<'a>(&mut self, arguments: &'a [Value]) -> Option<&'a [Value]> {
        let mut rest = arguments;
        while let Some((first, others)) = rest.split_first() {
            let word = first.known()?;
            let Some(option) = word.strip_prefix(b"-").filter(|option| !option.is_empty()) else { break };
            rest = others;
            if option == b"-" {
                break;
            }
            if let Some(long) = option.strip_prefix(b"-") {
                rest = self.long(long, others);
                continue;
            }
            rest = self.short(option, others);
        }
        Some(rest)
    }

    fn long<'a>(&mut self, option: &[u8], others: &'a [Value]) -> &'a [Value] {
        let (name, attached) = match option.split_once_byte(b'=') {
            Some((name, value)) => (name, Some(Value::Known(value.into()))),
            None => (option, None),
        };
        let takes_value = matches!(
            name,
            b"arg-file"
                | b"delimiter"
                | b"max-args"
                | b"max-lines"
                | b"max-procs"
                | b"max-chars"
                | b"replace"
                | b"process-slot-var"
        );
        // `--replace` and `--max-lines` take a value only after `=`.
        let next = takes_value && attached.is_none() && !matches!(name, b"replace" | b"max-lines");
        let value = attached.or_else(|| if next { others.first().cloned() } else { None });
        match name {
            b"null" => self.delimiter = Some(0),
            b"no-run-if-empty" => self.not_when_empty = true,
            b"arg-file" => self.from_file = value,
            b"delimiter" => self.delimiter = value.as_ref().and_then(Value::known).and_then(delimiter),
            b"max-args" => self.most = value.as_ref().and_then(number),
            b"max-lines" => self.lines = Some(value.as_ref().and_then(number).unwrap_or(1)),
            b"replace" => {
                self.replace =
                    Some(value.and_then(|value| value.known().map(BStr::to_owned)).unwrap_or_else(|| "{}".into()));
            }
            _ => {}
        }
        if next { others.get(1..).unwrap_or_default() } else { others }
    }

    fn short<'a>(&mut self, option: &[u8], others: &'a [Value]) -> &'a [Value] {
        for (index, letter) in option.iter().enumerate() {
            let attached =
                option.get(index + 1..).filter(|text| !text.is_empty()).map(|text| Value::Known(text.into()));
            let optional = matches!(letter, b'i' | b'e' | b'l');
            let takes_value = optional
                || matches!(letter, b'I' | b'n' | b'L' | b'P' | b's' | b'd' | b'E' | b'a' | b'J' | b'R' | b'S');
            if !takes_value {
                match letter {
                    b'0' => self.delimiter = Some(0),
                    b'r' => self.not_when_empty = true,
                    _ => {}
                }
                continue;
            }
            let next = attached.is_none() && !optional;
            let value = attached.or_else(|| if next { others.first().cloned() } else { None });
            match letter {
                b'I' | b'i' | b'J' => {
                    let text = value.as_ref().and_then(Value::known).map_or_else(|| "{}".into(), BStr::to_owned);
                    self.replace = Some(text);
                }
                b'n' => self.most = value.as_ref().and_then(number),
                b'L' | b'l' => self.lines = Some(value.as_ref().and_then(number).unwrap_or(1)),
                b'd' => self.delimiter = value.as_ref().and_then(Value::known).and_then(delimiter),
                b'a' => self.from_file = value,
                _ => {}
            }
            return if next { others.get(1..).unwrap_or_default() } else { others };
        }
        others
    }

    /// The input cut into items; `None` where quotes make that more than cutting.
    fn items(&self, input: &[u8]) -> Option<Vec<Vec<BString>>> {
        if let Some(delimiter) = self.delimiter {
            let input = input.strip_suffix(&[delimiter]).unwrap_or(input);
            if input.is_empty() {
                return Some(Vec::new());
            }
            return Some(input.split(|byte| *byte == delimiter).map(|item| vec![item.into()]).collect());
        }
        let lines = input.split(|byte| *byte == b'\n').map(|line| line.trim()).filter(|line| !line.is_empty());
        if self.replace.is_some() {
            return lines.map(|line| Some(vec![unquoted(line)?])).collect();
        }
        let mut items = Vec::new();
        for line in lines {
            let words = shell_words::split(line.to_str().ok()?).ok()?;
            items.push(words.into_iter().map(BString::from).collect());
        }
        Some(items)
    }

    fn commands(&self, command: &[Value], items: Vec<Vec<BString>>) -> Vec<Wrapped> {
        if items.is_empty() {
            let runs = !self.not_when_empty && self.replace.is_none();
            return if runs { vec![wrapped("xargs", command.to_vec())] } else { Vec::new() };
        }
        if let Some(replace) = &self.replace {
            let items: Vec<BString> = items.into_iter().flatten().collect();
            let words_for = |item: &BString| {
                let item = Value::Known(item.clone());
                command.iter().map(|word| replaced(word, replace, &item)).collect()
            };
            return self.first_of(command, items.iter().map(words_for));
        }
        let size = self.most.unwrap_or(usize::MAX).max(1);
        let groups: Vec<Vec<BString>> = match self.lines {
            Some(lines) => items.chunks(lines.max(1)).map(<[Vec<BString>]>::concat).collect(),
            None => items.concat().chunks(size.min(4096)).map(<[BString]>::to_vec).collect(),
        };
        let words_for =
            |group: Vec<BString>| command.iter().cloned().chain(group.into_iter().map(Value::Known)).collect();
        self.first_of(command, groups.into_iter().map(words_for))
    }

    /// The first commands as they are; one over what is not known stands for the others.
    fn first_of(&self, command: &[Value], lines: impl ExactSizeIterator<Item = Vec<Value>>) -> Vec<Wrapped> {
        let others = lines.len() > MAX_COMMANDS;
        let mut commands: Vec<Wrapped> = lines.take(MAX_COMMANDS).map(|words| wrapped("xargs", words)).collect();
        if others {
            commands.push(self.unknown_command(command, BString::default()));
        }
        commands
    }

    /// The command over input that is not known.
    fn unknown_command(&self, command: &[Value], prefix: BString) -> Wrapped {
        let words = match &self.replace {
            Some(replace) => {
                let item = unknown("a line that xargs reads").beginning_with(prefix);
                command.iter().map(|word| replaced(word, replace, &item)).collect()
            }
            None => {
                let words = many("words that xargs reads").beginning_with(prefix);
                command.iter().cloned().chain([words]).collect()
            }
        };
        Wrapped { certainty: Certainty::Maybe, ..wrapped("xargs", words) }
    }
}

fn wrapped(name: &'static str, words: Vec<Value>) -> Wrapped {
    Wrapped { stdin: Some(Stdin::Empty), ..Wrapped::words(name, words) }
}

/// A line in which xargs finds quotes is left unknown unless they pair up simply.
fn unquoted(line: &[u8]) -> Option<BString> {
    if line.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\')) { None } else { Some(line.into()) }
}

fn number(value: &Value) -> Option<usize> {
    value.known()?.to_str().ok()?.parse().ok()
}

fn delimiter(text: &BStr) -> Option<u8> {
    match text.as_bytes() {
        b"\\n" => Some(b'\n'),
        b"\\t" => Some(b'\t'),
        b"\\0" => Some(0),
        [only] => Some(*only),
        _ => None,
    }
}

/// A word with every `mark` in it replaced by the item.
fn replaced(word: &Value, mark: &BString, item: &Value) -> Value {
    let Value::Known(text) = word else { return word.clone() };
    let Some(at) = text.find(mark.as_slice()).filter(|_| !mark.is_empty()) else { return word.clone() };
    match item {
        Value::Known(item) => Value::Known(text.replace(mark.as_slice(), item).into()),
        Value::Unknown(value) => {
            let mut value = value.clone();
            value.prefix = BString::from([text.get(..at).unwrap_or_default(), value.prefix.as_slice()].concat());
            let last = text.rfind(mark.as_slice()).unwrap_or(at) + mark.len();
            value.suffix = BString::from(text.get(last..).unwrap_or_default());
            Value::Unknown(value)
        }
    }
}

fn many(why: &'static str) -> Value {
    match unknown(why) {
        Value::Unknown(value) => Value::Unknown(UnknownValue { many: true, ..value }),
        known @ Value::Known(_) => known,
    }
}

/// `find … -exec PROGRAM … ;`, `+`, `-execdir`, `-ok`.
pub(super) fn find(arguments: &[Value]) -> Unwrapped {
    let starts = super::written::starts_of_find(arguments);
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let Some(word) = first.known() else {
            if first.is_many() {
                return Unwrapped::Opaque("find with words that are not known");
            }
            continue;
        };
        let in_folder = matches!(word.as_bytes(), b"-execdir" | b"-okdir");
        if !in_folder && !matches!(word.as_bytes(), b"-exec" | b"-ok") {
            continue;
        }
        let end = others.iter().position(|word| word.known().is_some_and(|word| word == ";"));
        let plus = others.windows(2).position(|pair| match pair {
            [one, other] => {
                one.known().is_some_and(|word| word == "{}") && other.known().is_some_and(|word| word == "+")
            }
            _ => false,
        });
        let length = match (end, plus) {
            (Some(end), Some(plus)) => end.min(plus + 1),
            (Some(end), None) => end,
            (None, Some(plus)) => plus + 1,
            (None, None) => return Unwrapped::Opaque("find -exec whose end is not known"),
        };
        let item = ending_in(below("a file that find names", &starts), common_end(arguments));
        let words = others.iter().take(length).map(|word| replaced(word, &"{}".into(), &item)).collect();
        let dir = in_folder.then(|| below("a directory that find enters", &starts));
        commands.push(Wrapped { dir, certainty: Certainty::Maybe, ..Wrapped::words("find", words) });
        rest = others.get(length + 1..).unwrap_or_default();
    }
    if commands.is_empty() { Unwrapped::Nothing } else { Unwrapped::Commands(commands) }
}

/// A name of which nothing is known but where it begins, when that is one place.
fn below(why: &'static str, starts: &[Value]) -> Value {
    match starts {
        [Value::Known(start)] => unknown(why).beginning_with(start.clone()),
        _ => unknown(why),
    }
}

/// What every name ends in that a `find` comes to, where one test of names says it.
fn common_end(arguments: &[Value]) -> BString {
    let words: Vec<&[u8]> = arguments.iter().filter_map(Value::known).map(|word| word.as_bytes()).collect();
    let doubtful = [&b"-o"[..], b"-or", b"!", b"-not", b","].iter().any(|sign| words.contains(sign));
    let mut tests = words.windows(2).filter_map(|pair| match pair {
        [b"-name", pattern] => Some(*pattern),
        _ => None,
    });
    match (tests.next(), doubtful) {
        (Some(pattern), false) if !pattern.contains(&b'\\') => {
            let fixed = pattern.rfind_byteset(b"*?]").map_or(0, |at| at + 1);
            pattern.get(fixed..).unwrap_or_default().into()
        }
        _ => BString::default(),
    }
}

fn ending_in(value: Value, suffix: BString) -> Value {
    match value {
        Value::Unknown(value) => Value::Unknown(UnknownValue { suffix, ..value }),
        known @ Value::Known(_) => known,
    }
}

/// A `find` that looks for names.
pub(in crate::command) struct Search {
    /// Where it begins, as far as that is known.
    pub starts: Vec<BString>,
    /// What `-name` and its kin say; one that cannot be read as a pattern matches everything.
    pub names: Vec<globset::GlobMatcher>,
    /// Whether it removes what it finds, or runs something on it that may.
    pub changes: bool,
}

/// The names that a `find` looks for; `None` for one that does not.
pub(in crate::command) fn search_for_names(base: &BStr, arguments: &[Value]) -> Option<Search> {
    const CHANGING: &[&str] = &[
        "rm", "mv", "chmod", "unlink", "truncate", "shred", "sed", "tee", "cp", "ln", "dd", "install", "perl", "sh",
        "bash",
    ];
    if !matches!(base.as_bytes(), b"find" | b"gfind") {
        return None;
    }
    let pairs = || arguments.windows(2).filter_map(|pair| Some((pair.first()?.known()?, pair.get(1)?.known()?)));
    let matcher = |pattern: &BStr| {
        let glob = globset::GlobBuilder::new(&pattern.to_str_lossy()).case_insensitive(true).build();
        glob.or_else(|_| globset::Glob::new("*")).ok().map(|glob| glob.compile_matcher())
    };
    let names: Vec<globset::GlobMatcher> = pairs()
        .filter(|(option, _)| *option == "-name" || *option == "-iname")
        .filter_map(|(_, name)| matcher(name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let runs = |(option, program): (&BStr, &BStr)| {
        let name = program.rsplit_str("/").next().unwrap_or_default();
        (option.starts_with(b"-exec") || option.starts_with(b"-ok"))
            && CHANGING.iter().any(|known| known.as_bytes() == name)
    };
    let changes = arguments.iter().any(|word| word.known().is_some_and(|word| word == "-delete")) || pairs().any(runs);
    let starts = super::written::starts_of_find(arguments);
    let starts: Vec<BString> = starts.iter().filter_map(Value::known).map(BStr::to_owned).collect();
    let starts = if starts.is_empty() { vec![BString::from(".")] } else { starts };
    Some(Search { starts, names, changes })
}

/// How every name begins that a plain `find` prints; `None` where it prints something else, or from
/// several places.
pub(in crate::command) fn found_below(base: &BStr, arguments: &[Value]) -> Option<BString> {
    if !matches!(base.as_bytes(), b"find" | b"gfind") {
        return None;
    }
    let prints_otherwise = |word: &BStr| word == "-ls" || word.starts_with(b"-printf");
    if arguments.iter().any(|word| word.known().is_none_or(prints_otherwise)) {
        return None;
    }
    match super::written::starts_of_find(arguments).as_slice() {
        [Value::Known(start)] => Some(start.clone()),
        _ => None,
    }
}

/// `fd … -x PROGRAM …`.
pub(super) fn fd(arguments: &[Value]) -> Unwrapped {
    let at = arguments.iter().position(|word| {
        word.known().is_some_and(|word| matches!(word.as_bytes(), b"-x" | b"-X" | b"--exec" | b"--exec-batch"))
    });
    let Some(at) = at else { return Unwrapped::Nothing };
    let item = unknown("a file that fd names");
    let rest = arguments.get(at + 1..).unwrap_or_default();
    let words: Vec<Value> = rest
        .iter()
        .take_while(|word| word.known().is_none_or(|word| word != ";"))
        .map(|word| replaced(word, &"{}".into(), &item))
        .collect();
    let named = rest.iter().any(|word| word.known().is_some_and(|word| word.contains(&b'{')));
    let words = if named { words } else { words.into_iter().chain([many("files that fd names")]).collect() };
    Unwrapped::Commands(vec![Wrapped { certainty: Certainty::Maybe, ..Wrapped::words("fd", words) }])
}

/// `parallel COMMAND ::: ITEM…`: a shell runs the words, joined.
pub(super) fn parallel(arguments: &[Value], input: &Fed) -> Unwrapped {
    let rest = super::skip_options(
        arguments,
        &[
            b"-j",
            b"--jobs",
            b"-a",
            b"--arg-file",
            b"-N",
            b"-n",
            b"--delay",
            b"--timeout",
            b"-S",
            b"-I",
            b"-C",
            b"--colsep",
        ],
    );
    let separator = rest.iter().position(|word| word.known().is_some_and(|word| word.starts_with(b":::")));
    let (command, items) = rest.split_at(separator.unwrap_or(rest.len()));
    let items: Vec<Value> = match separator {
        Some(_) => items.iter().skip(1).cloned().collect(),
        None => match &input.text {
            Some(input) => input.lines().map(|line| Value::Known(line.into())).collect(),
            None => vec![unknown("a line that parallel reads").beginning_with(input.prefix.clone())],
        },
    };
    let plain =
        arguments.iter().filter_map(Value::known).all(|word| !word.starts_with(b"-I") && !word.starts_with(b"--rpl"));
    let text = joined_words(command);
    let others = (items.len() > MAX_COMMANDS).then(|| unknown("an item of many that parallel is given"));
    let commands = items.into_iter().take(MAX_COMMANDS).chain(others).map(|item| {
        let code = if command.is_empty() {
            item
        } else if text.known().is_some_and(|text| text.find(b"{}").is_some()) && plain {
            replaced(&text, &"{}".into(), &item)
        } else if text.known().is_some_and(|text| text.contains(&b'{')) || !plain {
            unknown("a command that parallel builds")
        } else {
            joined_words(&[text.clone(), item])
        };
        Wrapped { stdin: Some(Stdin::Empty), ..Wrapped::code("parallel", code) }
    });
    Unwrapped::Commands(commands.collect())
}

trait SplitByte {
    fn split_once_byte(&self, byte: u8) -> Option<(&[u8], &[u8])>;
}

impl SplitByte for [u8] {
    fn split_once_byte(&self, byte: u8) -> Option<(&[u8], &[u8])> {
        let at = memchr::memchr(byte, self)?;
        Some((self.get(..at)?, self.get(at + 1..)?))
    }
}
