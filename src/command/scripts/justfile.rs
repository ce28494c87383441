//! `just`: the recipes of the targets asked for and of what they depend on.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};

use crate::command::shell::builtin::SplitFirst;
use crate::command::shell::command::Call;
use crate::command::shell::state::{Shell, known, unknown};
use crate::command::shell::{Ends, Walk};
use crate::command::simple::Value;

/// A recipe: what it depends on, and its lines.
#[derive(Default)]
struct Recipe {
    dependencies: Vec<BString>,
    lines: Vec<BString>,
}

impl Walk<'_, '_> {
    pub(super) fn just(&mut self, call: &Call, shell: &Shell) -> Ends {
        let words: Option<Vec<_>> = call.arguments().iter().map(Value::known).collect();
        let Some(words) = words else { return self.opaque_just(shell) };
        if words.iter().any(|word| {
            matches!(
                word.as_bytes(),
                b"-l"
                    | b"--list"
                    | b"--version"
                    | b"--help"
                    | b"-n"
                    | b"--dry-run"
                    | b"--summary"
                    | b"--show"
                    | b"--dump"
            )
        }) {
            return self.printing("just", shell.clone());
        }
        if words.iter().any(|word| word.starts_with(b"-")) {
            return self.opaque_just(shell);
        }
        let mut text = None;
        for name in ["justfile", "Justfile", ".justfile"] {
            if let Some(found) = self.code_of(&known(name), shell) {
                text = found.ok();
                break;
            }
        }
        let Some(text) = text else { return self.opaque_just(shell) };
        let (recipes, first, modelled) = read(&text);
        if !modelled {
            return self.opaque_just(shell);
        }
        let mut wanted: Vec<BString> =
            words.iter().filter(|word| !word.contains(&b'=')).map(|word| BString::from(word.as_bytes())).collect();
        if wanted.is_empty() {
            wanted.extend(first);
        }
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        while let Some(name) = wanted.pop() {
            // Words that name no recipe are arguments of one.
            let Some(recipe) = recipes.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
            wanted.extend(recipe.dependencies.iter().cloned());
            lines.extend(recipe.lines.iter().map(|line| {
                let interpolated = line.find(b"{{").is_some();
                if interpolated { unknown("a value of just", 0..0) } else { Value::Known(line.clone()) }
            }));
        }
        self.run_lines(lines, None, shell, "just");
        self.disk.anything = true;
        self.printing("just", shell.clone())
    }

    fn opaque_just(&mut self, shell: &Shell) -> Ends {
        self.opaque("just", shell);
        self.printing("just", shell.clone())
    }
}

/// The recipes by name, the first of them, and whether all of the file is modelled.
fn read(text: &[u8]) -> (BTreeMap<BString, Recipe>, Option<BString>, bool) {
    let mut recipes: BTreeMap<BString, Recipe> = BTreeMap::new();
    let mut first = None;
    let mut current: Option<BString> = None;
    let mut modelled = true;
    for line in text.lines() {
        if line.trim().is_empty() || line.starts_with(b"#") {
            continue;
        }
        if line.first().is_some_and(u8::is_ascii_whitespace) {
            let content = line.trim().trim_start_with(|character| matches!(character, '@' | '-'));
            // A recipe that begins so is a script of another program.
            modelled &= !content.starts_with(b"#!");
            if let Some(recipe) = current.as_ref().and_then(|name| recipes.get_mut(name)) {
                recipe.lines.push(BString::from(content));
            }
            continue;
        }
        let word = line.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        if matches!(word, b"set" | b"import" | b"mod" | b"!include") {
            modelled = false;
            continue;
        }
        if line.find(b":=").is_some() || line.starts_with(b"[") {
            modelled &= line.find_byte(b'`').is_none() && line.find(b"shell(").is_none();
            continue;
        }
        let Some((head, rest)) = line.as_bstr().split_once_str(b":") else { continue };
        let name = head.trim_start_with(|character| character == '@').fields().next().unwrap_or_default();
        let name = BString::from(name);
        let dependencies = rest
            .fields()
            .filter(|word| *word != b"&&")
            .map(|word| BString::from(word.trim_with(|character| matches!(character, '(' | ')'))));
        recipes.insert(name.clone(), Recipe { dependencies: dependencies.collect(), lines: Vec::new() });
        if first.is_none() {
            first = Some(name.clone());
        }
        current = Some(name);
    }
    (recipes, first, modelled)
}
