//! `cd`, `pushd`, `popd`, `pwd`: where commands run.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, ByteSlice};

use super::capture::Printed;
use super::flow::lost;
use super::redirect::path_bytes;
use super::state::{Content, Dirs, Shell, known, unknown};
use super::{Ends, Walk};
use crate::command::lex::Dialect;
use crate::command::simple::{Value, to_os_string};

/// Whether a directory can be entered when the line gets there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Exists,
    Missing,
    Unknown,
}

impl Walk<'_, '_> {
    pub(in crate::command) fn change_directory(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let here = shell.options.auto_pushd.then(|| shell.dirs.clone());
        let ends = self.changed_directory(arguments, shell);
        let Some(here) = here else { return ends };
        let (mut success, failure) = ends.split();
        Rc::make_mut(&mut success.stack).push(here);
        Ends::of(success, failure)
    }

    fn changed_directory(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let mut physical = false;
        let mut rest = arguments;
        while let Some(word) = rest.first().and_then(Value::known) {
            match word.as_bytes() {
                b"--" => {
                    rest = rest.get(1..).unwrap_or_default();
                    break;
                }
                b"-P" | b"-Pe" | b"-eP" | b"-q" | b"-s" => physical |= word.contains(&b'P'),
                b"-L" | b"-e" | b"-@" => {}
                _ => break,
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        match rest {
            [] => {
                let home = self.variable_value(BStr::new("HOME"), &shell);
                if home.known().is_some_and(|home| home.is_empty()) {
                    return Ends::failure(shell);
                }
                self.enter(&home, physical, shell)
            }
            [only] if only.known().is_some_and(|word| word == "-") => {
                let old = match self.content(BStr::new("OLDPWD"), &shell) {
                    Content::Unset => return Ends::failure(shell),
                    Content::Scalar(value) => value,
                    Content::Array(_) | Content::UnknownArray(_) => unknown("OLDPWD", 0..0),
                };
                self.print(Printed::Unknown("the directory that `cd -` enters".into()), &shell);
                self.enter(&old, physical, shell)
            }
            [only] if shell.dialect == Dialect::Zsh && is_entry(only) => {
                Ends::of(self.moved(&shell, lost("an entry of the directory stack")), shell)
            }
            [only] => self.enter(only, physical, shell),
            [old, new] if shell.dialect == Dialect::Zsh => {
                let here = self.content(BStr::new("PWD"), &shell);
                let target = match (here, old.known(), new.known()) {
                    (Content::Scalar(Value::Known(here)), Some(old), Some(new)) if !old.is_empty() => {
                        known(here.replacen(old, new, 1))
                    }
                    _ => unknown("a part of the directory that `cd` replaces", self.span_range()),
                };
                self.enter(&target, physical, shell)
            }
            // bash calls more than one an error.
            [first, ..] if first.known().is_some() && !super::flow::any_many(rest) => Ends::failure(shell),
            [..] => self.enter(&unknown("the words of `cd`", self.span_range()), physical, shell),
        }
    }

    /// Enters a directory: the shell after success is there, after failure where it was.
    fn enter(&mut self, target: &Value, physical: bool, shell: Shell) -> Ends {
        let Some(text) = target.known() else {
            let why = match target {
                Value::Unknown(value) => value.why.clone(),
                Value::Known(_) => "a directory".into(),
            };
            let success = self.moved(&shell, Dirs::unknown(why));
            return Ends::of(success, shell);
        };
        if text.is_empty() {
            return Ends::success(shell);
        }
        let mut dirs: Option<Dirs> = None;
        let mut entry = None;
        let mut targets = self.targets(text, &shell);
        if let Some(named) = self.named_by_variable(text, &targets, &shell) {
            targets = vec![named];
        }
        for candidate in targets {
            let (entered, found) = match candidate {
                Some(path) => {
                    let path = if physical { path.canonicalize().unwrap_or(path) } else { path };
                    let found = self.entry(&path);
                    (Dirs::one(path), found)
                }
                None => (lost("a directory below one that is not known"), Entry::Unknown),
            };
            entry = match entry {
                None => Some(found),
                Some(known) if known == found => Some(known),
                Some(_) => Some(Entry::Unknown),
            };
            match &mut dirs {
                None => dirs = Some(entered),
                Some(dirs) => dirs.merge(&entered),
            }
        }
        let dirs = dirs.unwrap_or_else(|| lost("a directory"));
        let mut success = self.moved(&shell, dirs);
        let mut failure = shell;
        match entry {
            Some(Entry::Exists) => failure.dead = true,
            Some(Entry::Missing) => success.dead = true,
            Some(Entry::Unknown) | None => {}
        }
        Ends::of(success, failure)
    }

    /// Where a path leads from each directory the shell may be in; `None` where that is not known.
    fn targets(&self, text: &BStr, shell: &Shell) -> Vec<Option<PathBuf>> {
        let path = PathBuf::from(to_os_string(text));
        if path.is_absolute() {
            return vec![Some(cleaned(&path))];
        }
        let mut targets = Vec::new();
        let relative = matches!(path.components().next(), Some(Component::CurDir | Component::ParentDir));
        if !relative && let Some(found) = self.along_cdpath(&path, shell) {
            return vec![found];
        }
        targets.extend(shell.dirs.known.iter().map(|dir| Some(cleaned(&dir.join(&path)))));
        if shell.dirs.unknown.is_some() {
            targets.push(None);
        }
        targets
    }

    /// `cdable_vars`: the directory that a variable of this name holds, where there is none of the name itself.
    fn named_by_variable(&self, text: &BStr, targets: &[Option<PathBuf>], shell: &Shell) -> Option<Option<PathBuf>> {
        let missing = |target: &Option<PathBuf>| target.as_ref().is_some_and(|path| self.entry(path) == Entry::Missing);
        if !shell.options.cdable_vars || !targets.iter().all(missing) {
            return None;
        }
        match self.content(text, shell) {
            Content::Scalar(Value::Known(path)) => {
                let path = PathBuf::from(to_os_string(path));
                Some(shell.dirs.single().map(|here| cleaned(&here.join(path))))
            }
            Content::Unset => None,
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) => Some(None),
        }
    }

    fn along_cdpath(&self, path: &Path, shell: &Shell) -> Option<Option<PathBuf>> {
        match shell.variable(self.world, BStr::new("CDPATH")) {
            Content::Unset => None,
            Content::Scalar(Value::Known(list)) => list.split_str(":").find_map(|entry| {
                let base = if entry.is_empty() { PathBuf::from(".") } else { PathBuf::from(to_os_string(entry)) };
                let candidate = cleaned(&shell.dirs.single()?.join(base).join(path));
                candidate.is_dir().then_some(Some(candidate))
            }),
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) => Some(None),
        }
    }

    fn entry(&self, path: &Path) -> Entry {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Entry::Exists,
            Err(_) if self.disk.has_made(path) => Entry::Exists,
            Ok(_) => Entry::Missing,
            Err(_) if self.may_appear(path) => Entry::Unknown,
            Err(_) => Entry::Missing,
        }
    }

    /// Whether something earlier on the line may have made this directory.
    fn may_appear(&self, path: &Path) -> bool {
        self.disk.anything
            || path.ancestors().any(|ancestor| self.disk.changes_below(ancestor) && ancestor.parent().is_some())
    }

    fn moved(&self, shell: &Shell, dirs: Dirs) -> Shell {
        let old = match shell.dirs.single() {
            Some(dir) => known(path_bytes(dir)),
            None => unknown("the directory before", 0..0),
        };
        let mut shell = shell.clone();
        shell.set(self.world, BStr::new("OLDPWD"), Content::Scalar(old));
        shell.dirs = dirs;
        shell
    }

    pub(in crate::command) fn push_directory(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let (stays, operands) = stack_words(arguments);
        self.print(Printed::Unknown("the directory stack".into()), &shell);
        match operands.as_slice() {
            [] => {
                let mut swapped = shell.clone();
                let stack = Rc::make_mut(&mut swapped.stack);
                match stack.pop() {
                    Some(top) => {
                        stack.push(shell.dirs.clone());
                        Ends::success(self.moved(&swapped, top))
                    }
                    None => Ends::failure(shell),
                }
            }
            [only] if is_entry(only) => self.rotate(only, stays, shell),
            [only, ..] if stays => {
                let below = match only.known().map(|text| self.targets(text, &shell)).as_deref() {
                    Some([Some(path)]) => Dirs::one(path.clone()),
                    Some(_) | None => lost("a directory on the stack"),
                };
                let mut pushed = shell;
                Rc::make_mut(&mut pushed.stack).push(below);
                Ends::Same(pushed)
            }
            [only, ..] => {
                let here = shell.dirs.clone();
                let (mut success, failure) = self.enter(only, false, shell).split();
                Rc::make_mut(&mut success.stack).push(here);
                Ends::of(success, failure)
            }
        }
    }

    /// `pushd +N`, `pushd -N`: the stack turned until that entry is its top, which is entered.
    fn rotate(&mut self, entry: &Value, stays: bool, shell: Shell) -> Ends {
        // From the top on, with the current directory first.
        let mut list: Vec<Dirs> = std::iter::once(&shell.dirs).chain(shell.stack.iter().rev()).cloned().collect();
        let Some(at) = entry.known().and_then(|word| entry_index(word, list.len())).filter(|_| !stays) else {
            let rotated = self.moved(&shell, lost("a rotated directory stack"));
            return Ends::of(rotated, shell);
        };
        if at >= list.len() {
            return Ends::failure(shell);
        }
        list.rotate_left(at);
        let top = list.remove(0);
        let mut rotated = self.moved(&shell, top);
        list.reverse();
        rotated.stack = Rc::new(list);
        Ends::success(rotated)
    }

    pub(in crate::command) fn pop_directory(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let (stays, operands) = stack_words(arguments);
        self.print(Printed::Unknown("the directory stack".into()), &shell);
        if stays || !operands.is_empty() {
            let mut gone = self.moved(&shell, lost("a rotated directory stack"));
            gone.stack = Rc::new(vec![lost("a rotated directory stack")]);
            return Ends::of(gone, shell);
        }
        let mut popped = shell.clone();
        match Rc::make_mut(&mut popped.stack).pop() {
            Some(top) => Ends::success(self.moved(&popped, top)),
            None => Ends::failure(shell),
        }
    }

    pub(in crate::command) fn print_directory(&mut self, arguments: &[Value], shell: Shell) -> Ends {
        let physical = arguments.iter().any(|word| word.known().is_some_and(|word| word == "-P"));
        let printed = match shell.dirs.single() {
            Some(dir) => {
                let dir = if physical { dir.canonicalize().unwrap_or_else(|_| dir.to_owned()) } else { dir.to_owned() };
                Printed::Text([path_bytes(&dir).as_slice(), b"\n"].concat())
            }
            None => Printed::Unknown("the current directory".into()),
        };
        self.print(printed, &shell);
        Ends::success(shell)
    }
}

/// The words of `pushd` and `popd` without their options, and whether `-n` is one of these.
fn stack_words(arguments: &[Value]) -> (bool, Vec<&Value>) {
    let is_option = |word: &&Value| word.known().is_some_and(|word| matches!(word.as_bytes(), b"-n" | b"-q" | b"--"));
    let stays = arguments.iter().filter(is_option).any(|word| word.known().is_some_and(|word| word == "-n"));
    (stays, arguments.iter().filter(|word| !is_option(word)).collect())
}

/// `+N`, `-N`.
fn is_entry(word: &Value) -> bool {
    word.known().is_some_and(|word| {
        let digits = word.strip_prefix(b"+").or_else(|| word.strip_prefix(b"-"));
        digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    })
}

/// The place of such an entry in a stack of so many, from its top.
fn entry_index(word: &BStr, length: usize) -> Option<usize> {
    let (sign, digits) = word.split_first()?;
    let number: usize = digits.to_str().ok()?.parse().ok()?;
    if *sign == b'+' { Some(number) } else { length.checked_sub(1)?.checked_sub(number) }
}

/// A path without `.` and `..`, as bash keeps `$PWD`: `..` takes off a name, whatever it links to.
pub(in crate::command) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(component),
        }
    }
    clean
}
