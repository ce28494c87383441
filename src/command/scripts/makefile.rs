//! `make`: the recipes of the targets asked for and of what they depend on.
//!
//! Not a make: files are not compared, so every recipe that could run is walked. A makefile with parts
//! that are not modelled (`include`, `eval`, patterns that decide a target) makes it opaque.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::command::shell::builtin::SplitFirst;
use crate::command::shell::command::Call;
use crate::command::shell::state::{Dirs, Shell, known, unknown};
use crate::command::shell::{Ends, Walk};
use crate::command::simple::Value;

/// Most recipes that are followed for one call.
const MAX_RECIPES: usize = 256;

/// What `make` was asked to do.
#[derive(Default)]
struct Request<'a> {
    dir: Option<&'a Value>,
    file: Option<&'a Value>,
    targets: Vec<&'a Value>,
    variables: BTreeMap<BString, BString>,
    dry: bool,
    unknown: bool,
}

/// A makefile as far as it is modelled.
#[derive(Default)]
struct Makefile {
    variables: BTreeMap<BString, BString>,
    rules: BTreeMap<BString, Rule>,
    first: Option<BString>,
    /// Commands that run while the file is read (`$(shell …)`).
    at_reading: Vec<BString>,
    /// Whether parts of it are not modelled.
    partly: bool,
}

#[derive(Clone, Default)]
struct Rule {
    prerequisites: Vec<BString>,
    recipe: Vec<BString>,
}

impl Walk<'_, '_> {
    pub(super) fn make(&mut self, call: &Call, shell: &Shell) -> Ends {
        let request = Request::read(call.arguments());
        if request.dry && !request.unknown {
            return self.printing("make", shell.clone());
        }
        let mut inside = shell.clone();
        if let Some(dir) = request.dir {
            let (entered, _) = self.change_directory(&[known("--"), dir.clone()], inside).split();
            inside = Shell { dead: shell.dead, ..entered };
        }
        let Some(text) = self.makefile_text(&request, &inside).filter(|_| !request.unknown) else {
            return self.opaque_make(shell);
        };
        let mut makefile = Makefile::read(&text);
        makefile.variables.extend(request.variables.clone());
        let Some(recipes) = makefile.recipes(&request) else { return self.opaque_make(shell) };
        let dir: Dirs = inside.dirs.clone();
        let reading = makefile.at_reading.iter().map(|code| makefile.expanded(code, None)).collect();
        self.run_lines(reading, Some(dir.clone()), shell, "make");
        self.run_lines(recipes, Some(dir), shell, "make");
        if makefile.partly {
            self.opaque("make", shell);
        }
        self.disk.anything = true;
        self.printing("make", shell.clone())
    }

    fn opaque_make(&mut self, shell: &Shell) -> Ends {
        self.opaque("make", shell);
        self.printing("make", shell.clone())
    }

    fn makefile_text(&mut self, request: &Request<'_>, shell: &Shell) -> Option<Vec<u8>> {
        if let Some(file) = request.file {
            if file.known().is_some_and(|file| file == "-") {
                let stdin = shell.stdin();
                return self.stdin_text(&stdin).ok();
            }
            return self.code_of(file, shell)?.ok();
        }
        for name in ["GNUmakefile", "makefile", "Makefile"] {
            if let Some(text) = self.code_of(&known(name), shell) {
                return text.ok();
            }
        }
        // Without a makefile there are only make's own rules, which publish nothing.
        if request.targets.is_empty() || !self.disk.anything { Some(Vec::new()) } else { None }
    }
}

impl<'a> Request<'a> {
    fn read(arguments: &'a [Value]) -> Self {
        let mut request = Self::default();
        let mut rest = arguments;
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            let Some(word) = first.known() else {
                request.unknown = true;
                continue;
            };
            match word.as_bytes() {
                b"-C" | b"--directory" => {
                    request.dir = others.first();
                    rest = others.get(1..).unwrap_or_default();
                }
                b"-f" | b"--file" | b"--makefile" => {
                    request.file = others.first();
                    rest = others.get(1..).unwrap_or_default();
                }
                b"-I" | b"-o" | b"-W" | b"--include-dir" | b"--old-file" | b"--what-if" => {
                    rest = others.get(1..).unwrap_or_default();
                }
                b"-n" | b"--dry-run" | b"--just-print" | b"-v" | b"--version" | b"--help" | b"-h" | b"-q" | b"-p" => {
                    request.dry = true;
                }
                option if option.starts_with(b"-C") || option.starts_with(b"-f") || option.starts_with(b"--eval") => {
                    request.unknown = true;
                }
                option if option.starts_with(b"--directory=") || option.starts_with(b"--file=") => {
                    request.unknown = true
                }
                option if option.starts_with(b"-") => {}
                _ => match word.split_once_str(b"=") {
                    Some((name, value)) => {
                        let name = name.strip_suffix(b":").unwrap_or(name);
                        request.variables.insert(name.into(), value.into());
                    }
                    None => request.targets.push(first),
                },
            }
        }
        request
    }
}

impl Makefile {
    fn read(text: &[u8]) -> Self {
        let mut makefile = Self::default();
        let mut current: Vec<BString> = Vec::new();
        for line in logical_lines(text) {
            if let Some(recipe) = line.strip_prefix(b"\t") {
                for target in &current {
                    if let Some(rule) = makefile.rules.get_mut(target) {
                        rule.recipe.push(BString::from(recipe));
                    }
                }
                continue;
            }
            let content = line.split(|byte| *byte == b'#').next().unwrap_or_default();
            if content.trim().is_empty() {
                continue;
            }
            current = makefile.directive(content);
        }
        makefile
    }

    /// A line that is no recipe; the targets whose recipe follows.
    fn directive(&mut self, line: &[u8]) -> Vec<BString> {
        self.note_shell(line);
        let word = line.trim_start().split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        match word {
            b"include" | b"-include" | b"sinclude" | b"define" | b"endef" | b"load" => {
                self.partly = true;
                return Vec::new();
            }
            b"ifeq" | b"ifneq" | b"ifdef" | b"ifndef" | b"else" | b"endif" | b"vpath" | b"undefine" => {
                return Vec::new();
            }
            b"export" | b"unexport" | b"override" | b"private" => {
                return self.directive(line.trim_start().get(word.len()..).unwrap_or_default());
            }
            _ => {}
        }
        if line.find(b"$(eval").is_some() || line.find(b"$(call").is_some() {
            self.partly = true;
        }
        match assignment(line) {
            Some((name, value, appends)) => {
                let entry = self.variables.entry(name).or_default();
                if appends && !entry.is_empty() {
                    entry.push(b' ');
                    entry.extend_from_slice(&value);
                } else {
                    *entry = value;
                }
                Vec::new()
            }
            None => self.rule(line),
        }
    }

    fn rule(&mut self, line: &[u8]) -> Vec<BString> {
        let Some((targets, rest)) = line.as_bstr().split_once_str(b":") else { return Vec::new() };
        let rest = rest.strip_prefix(b":").unwrap_or(rest);
        let (prerequisites, inline) = match rest.as_bstr().split_once_str(b";") {
            Some((prerequisites, recipe)) => (prerequisites, Some(recipe)),
            None => (rest, None),
        };
        let mut names = Vec::new();
        for target in targets.split(|byte| byte.is_ascii_whitespace()).filter(|target| !target.is_empty()) {
            let name = match self.expanded(&BString::from(target), None) {
                Value::Known(name) => name,
                Value::Unknown(_) => {
                    self.partly = true;
                    continue;
                }
            };
            self.partly |= name.contains(&b'%');
            let rule = self.rules.entry(name.clone()).or_default();
            let words =
                prerequisites.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty() && *word != b"|");
            rule.prerequisites.extend(words.map(BString::from));
            rule.recipe.extend(inline.map(BString::from));
            if self.first.is_none() && !name.starts_with(b".") {
                self.first = Some(name.clone());
            }
            names.push(name);
        }
        names
    }

    /// `$(shell …)` anywhere outside of recipes runs while the file is read, or when it is used.
    fn note_shell(&mut self, line: &[u8]) {
        let mut rest = line;
        while let Some(at) = rest.find(b"$(shell") {
            rest = rest.get(at + b"$(shell".len()..).unwrap_or_default();
            match balanced(rest) {
                Some(code) => self.at_reading.push(BString::from(code.trim())),
                None => self.partly = true,
            }
        }
        if let Some((_, code)) = line.as_bstr().split_once_str(b"!=") {
            self.at_reading.push(BString::from(code.trim()));
        }
    }

    /// The lines of the recipes that the request could run; `None` when that is not known.
    fn recipes(&self, request: &Request<'_>) -> Option<Vec<Value>> {
        let mut wanted: Vec<BString> = Vec::new();
        for target in &request.targets {
            wanted.push(target.known()?.to_owned());
        }
        if wanted.is_empty() {
            wanted.extend(self.first.clone());
        }
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        while let Some(target) = wanted.pop() {
            if !seen.insert(target.clone()) || seen.len() > MAX_RECIPES {
                continue;
            }
            let Some(rule) = self.rules.get(&target) else { continue };
            for prerequisite in &rule.prerequisites {
                match self.expanded(prerequisite, Some(target.as_bstr())) {
                    Value::Known(names) => wanted.extend(names.fields().map(BString::from)),
                    Value::Unknown(value) => lines.push(Value::Unknown(value)),
                }
            }
            for line in &rule.recipe {
                let line = line.trim_start_with(|character| matches!(character, '@' | '-' | '+' | ' ' | '\t'));
                lines.push(self.expanded(&BString::from(line), Some(target.as_bstr())));
            }
        }
        Some(lines)
    }

    /// Text with its variables replaced.
    fn expanded(&self, text: &BString, target: Option<&BStr>) -> Value {
        match self.expand(text, target, 0) {
            Some(text) => Value::Known(text.into()),
            None => unknown("a form of make that is not modelled", 0..0),
        }
    }

    fn expand(&self, text: &[u8], target: Option<&BStr>, depth: u32) -> Option<Vec<u8>> {
        if depth > 16 || text.len() > 64 * 1024 {
            return None;
        }
        let mut out = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find_byte(b'$') {
            out.extend_from_slice(rest.get(..at)?);
            rest = rest.get(at + 1..)?;
            let Some(next) = rest.first() else { break };
            match next {
                b'$' => {
                    out.push(b'$');
                    rest = rest.get(1..)?;
                }
                b'(' | b'{' => {
                    let inner = balanced(rest.get(1..)?)?;
                    rest = rest.get(inner.len() + 2..)?;
                    if inner.contains(&b' ') || inner.contains(&b'$') || inner.contains(&b':') {
                        return None;
                    }
                    out.extend_from_slice(&self.value(inner, target, depth)?);
                }
                b'@' => {
                    out.extend_from_slice(target?);
                    rest = rest.get(1..)?;
                }
                // `$<`, `$^` and the like name files.
                b'<' | b'^' | b'?' | b'*' | b'+' | b'%' | b'|' => {
                    out.extend_from_slice(b"prerequisite");
                    rest = rest.get(1..)?;
                }
                other => {
                    out.extend_from_slice(&self.value(&[*other], target, depth)?);
                    rest = rest.get(1..)?;
                }
            }
        }
        out.extend_from_slice(rest);
        Some(out)
    }

    fn value(&self, name: &[u8], target: Option<&BStr>, depth: u32) -> Option<Vec<u8>> {
        match (name, self.variables.get(name.as_bstr())) {
            (_, Some(value)) => self.expand(&value.clone(), target, depth + 1),
            (b"MAKE", None) => Some(b"make".to_vec()),
            (b"SHELL", None) => Some(b"/bin/sh".to_vec()),
            // Not set in the file: it comes from the environment, where a shell finds it too.
            (_, None) => Some([b"${".as_slice(), name, b"}"].concat()),
        }
    }
}

/// Lines with those that end in a backslash joined to the next.
fn logical_lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut joins = false;
    for line in text.lines() {
        let (content, continues) = match line.strip_suffix(b"\\") {
            Some(content) => (content, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| joins) {
            Some(last) => {
                last.push(b' ');
                last.extend_from_slice(content.trim_start());
            }
            None => lines.push(content.to_vec()),
        }
        joins = continues;
    }
    lines
}

/// What stands before the parenthesis that closes.
fn balanced(text: &[u8]) -> Option<&[u8]> {
    let mut nesting = 0_u32;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' | b'{' => nesting += 1,
            b')' | b'}' if nesting == 0 => return text.get(..at),
            b')' | b'}' => nesting -= 1,
            _ => {}
        }
    }
    None
}

/// `NAME = value`, `:=`, `?=`, `+=`.
fn assignment(line: &[u8]) -> Option<(BString, BString, bool)> {
    let at = line.find_byte(b'=')?;
    let before = line.get(..at)?;
    let value = line.get(at + 1..)?.trim();
    let (name, appends) = match before.last()? {
        b'+' => (before.get(..before.len() - 1)?, true),
        b'?' | b'!' => (before.get(..before.len() - 1)?, false),
        b':' => (before.trim_end_with(|character| character == ':'), false),
        _ => (before, false),
    };
    let name = name.trim();
    let plain = !name.is_empty() && !name.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, b':' | b'$'));
    plain.then(|| (name.into(), value.into(), appends))
}
