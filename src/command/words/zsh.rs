//! Parameters as zsh has them: arrays count from one and stand for all their elements, strings have elements too,
//! and a few names are views of others. (zshparam(1) of zsh 5.9.)
//!
//! Promise: what is not modelled here is not known, and never the text that bash would make of it.

use bstr::{BStr, BString, ByteSlice};

use super::Walk;
use super::parameter::Found;
use crate::command::ast::Parameter;
use crate::command::lex::Dialect;
use crate::command::shell::state::{Content, Shell, known, many, unknown};
use crate::command::simple::Value;

/// Names of which zsh makes the value up.
const MADE_UP: &[&str] = &[
    "ARGC",
    "CPUTYPE",
    "ERRNO",
    "GID",
    "EGID",
    "LOGNAME",
    "TTY",
    "TTYIDLE",
    "VENDOR",
    "WATCH",
    "ZSH_ARGZERO",
    "ZSH_PATCHLEVEL",
    "ZSH_SUBSHELL",
    "status",
    "HISTNO",
    "SAVEHIST",
    "HISTSIZE",
    "KEYBOARD_HACK",
    "WIDGET",
    "BUFFER",
    "CURSOR",
    "MATCH",
    "MBEGIN",
    "MEND",
];

/// Arrays that zsh makes up.
const MADE_UP_ARRAYS: &[&str] = &[
    "aliases",
    "builtins",
    "commands",
    "dirstack",
    "dis_aliases",
    "dis_builtins",
    "dis_functions",
    "dis_reswords",
    "errnos",
    "fpath",
    "funcfiletrace",
    "funcsourcetrace",
    "funcstack",
    "functions",
    "functrace",
    "galiases",
    "history",
    "historywords",
    "jobdirs",
    "jobstates",
    "jobtexts",
    "keymaps",
    "mailpath",
    "manpath",
    "mapfile",
    "mbegin",
    "mend",
    "module_path",
    "modules",
    "nameddirs",
    "options",
    "parameters",
    "patchars",
    "psvar",
    "reswords",
    "saliases",
    "signals",
    "sysparams",
    "termcap",
    "terminfo",
    "userdirs",
    "usergroups",
    "words",
    "zsh_eval_context",
];

/// The array that is a view of a variable whose entries colons part.
pub(in crate::command) fn tied(name: &BStr) -> Option<&'static BStr> {
    match name.as_bytes() {
        b"path" => Some(BStr::new("PATH")),
        b"cdpath" => Some(BStr::new("CDPATH")),
        _ => None,
    }
}

/// Whether arrays are zsh's, and not made like those of ksh.
pub(in crate::command) fn has_zsh_arrays(shell: &Shell) -> bool {
    shell.dialect == Dialect::Zsh && !shell.options.ksh_arrays
}

/// What a subscript picks.
enum Picked {
    Every,
    One(i64),
    Range(i64, i64),
}

impl Walk<'_, '_> {
    /// What zsh itself says of a name; `None` where it is a variable like others.
    pub(super) fn zsh_content(&self, name: &BStr, shell: &Shell) -> Option<Content> {
        if shell.dialect != Dialect::Zsh {
            return None;
        }
        if matches!(name.as_bytes(), b"argv" | b"@" | b"*") {
            return Some(array(shell.arguments.rest.iter().cloned()));
        }
        if let Some(list) = tied(name) {
            return Some(match shell.variable(self.world, list) {
                Content::Scalar(Value::Known(list)) => {
                    array(list.split_str(":").map(|entry| Value::Known(entry.into())))
                }
                Content::Unset => array(std::iter::empty()),
                Content::Scalar(Value::Unknown(value)) => Content::UnknownArray(value.why),
                Content::Array(_) | Content::UnknownArray(_) => Content::UnknownArray("a list of folders".into()),
            });
        }
        let is_set = || shell.variables.contains_key(name);
        if MADE_UP_ARRAYS.iter().any(|one| name == *one) && !is_set() {
            return Some(Content::UnknownArray(format!("${name}").into()));
        }
        (MADE_UP.iter().any(|one| name == *one) && !is_set())
            .then(|| Content::Scalar(unknown(format!("${name}"), 0..0)))
    }

    /// A whole parameter, where it is an array.
    pub(super) fn zsh_whole(content: Content, shell: &Shell) -> Found {
        match content {
            Content::Array(elements) if has_zsh_arrays(shell) => {
                Found::Joined(elements.into_iter().map(|(_, value)| value).collect())
            }
            Content::UnknownArray(why) if has_zsh_arrays(shell) => Found::Joined(vec![many(why, 0..0)]),
            content @ (Content::Unset | Content::Scalar(_) | Content::Array(_) | Content::UnknownArray(_)) => {
                Found::One(content)
            }
        }
    }

    /// `$name[key]`: an element or a range of an array, or of the letters of a string.
    pub(super) fn zsh_element(&mut self, parameter: &Parameter, key: &Value, shell: &Shell) -> Found {
        let scalar = |why: &'static str| Found::One(Content::Scalar(unknown(why, 0..0)));
        let content = self.content(parameter.name.as_bstr(), shell);
        let picked = match key.known().and_then(picked) {
            Some(picked) => picked,
            // A search, a key of an associative array, or a name that stands for a number.
            None if matches!(content, Content::Unset) => return Found::One(Content::Unset),
            None => return scalar("an element whose index is not known"),
        };
        let values: Vec<Value> = match content {
            Content::Unset => return Found::One(Content::Unset),
            Content::Array(elements) => elements.into_iter().map(|(_, value)| value).collect(),
            Content::UnknownArray(why)
            | Content::Scalar(Value::Unknown(crate::command::simple::UnknownValue { why, .. })) => {
                return match picked {
                    Picked::One(_) => Found::One(Content::Scalar(unknown(why, 0..0))),
                    Picked::Every | Picked::Range(..) => Found::Joined(vec![many(why, 0..0)]),
                };
            }
            Content::Scalar(Value::Known(text)) => {
                if !text.is_ascii() {
                    return scalar("a letter of a text");
                }
                let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
                let (first, last) = bounds(&picked, length);
                return Found::One(Content::Scalar(known(text.get(first..last).unwrap_or_default())));
            }
        };
        if values.iter().any(Value::is_many) {
            return Found::Joined(vec![many("an element among words that are not known", 0..0)]);
        }
        let (first, last) = bounds(&picked, i64::try_from(values.len()).unwrap_or(i64::MAX));
        let chosen = values.get(first..last).unwrap_or_default();
        match (&picked, key.known().is_some_and(|key| key == "@")) {
            (Picked::One(_), _) => Found::One(chosen.first().cloned().map_or(Content::Unset, Content::Scalar)),
            (Picked::Every | Picked::Range(..), true) => Found::Each(chosen.to_vec()),
            (Picked::Every | Picked::Range(..), false) => Found::Joined(chosen.to_vec()),
        }
    }

    /// Assigns to a view of another variable; `false` where the name is none.
    pub(in crate::command) fn assign_view(&mut self, name: &BStr, content: &Content, shell: &mut Shell) -> bool {
        if shell.dialect != Dialect::Zsh {
            return false;
        }
        let values = match content {
            Content::Array(elements) => elements.iter().map(|(_, value)| value.clone()).collect(),
            Content::Scalar(value) => vec![value.clone()],
            Content::Unset => Vec::new(),
            Content::UnknownArray(why) => vec![many(why.clone(), 0..0)],
        };
        if name == "argv" {
            let zero = shell.arguments.zero.clone();
            shell.arguments = std::rc::Rc::new(crate::command::shell::state::Arguments { zero, rest: values });
            return true;
        }
        let Some(list) = tied(name) else { return false };
        let entries: Option<Vec<&[u8]>> =
            values.iter().map(|value| value.known().map(|text| text.as_bytes())).collect();
        let joined = match entries {
            Some(entries) => known(entries.join(&b":"[..])),
            None => unknown(format!("${name}"), 0..0),
        };
        shell.set(self.world, list, Content::Scalar(joined));
        true
    }
}

/// An array of these elements.
fn array(values: impl Iterator<Item = Value>) -> Content {
    Content::Array(values.enumerate().map(|(at, value)| (BString::from(at.to_string()), value)).collect())
}

/// The key under which an array keeps what zsh counts as this element.
pub(in crate::command) fn key_of(index: &BStr) -> Option<BString> {
    let index: u32 = index.to_str().ok()?.parse().ok()?;
    Some(index.checked_sub(1)?.to_string().into())
}

fn picked(key: &BStr) -> Option<Picked> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let text = key.to_str().ok()?;
    match text.split_once(',') {
        _ if matches!(text, "@" | "*") => Some(Picked::Every),
        Some((first, last)) => Some(Picked::Range(number(first)?, number(last)?)),
        None => number(text).map(Picked::One),
    }
}

/// Where what is picked begins and ends among so many.
fn bounds(picked: &Picked, length: i64) -> (usize, usize) {
    let counted = |index: i64| if index < 0 { index.saturating_add(length).saturating_add(1) } else { index };
    let (first, last) = match picked {
        Picked::Every => (1, length),
        Picked::One(0) => (1, 0),
        Picked::One(index) => (counted(*index), counted(*index)),
        Picked::Range(first, last) => (counted(*first).max(1), counted(*last)),
    };
    if first < 1 || last < first {
        return (0, 0);
    }
    let place = |index: i64| usize::try_from(index.min(length)).unwrap_or(0);
    (place(first.min(length.saturating_add(1)).saturating_sub(1)), place(last))
}

/// What the modifiers `:h`, `:t` … make of a text; `None` where that is not modelled.
pub(super) fn modified(text: &BString, letters: &BStr) -> Option<BString> {
    let mut text = text.clone();
    for letter in letters.iter().filter(|letter| **letter != b':') {
        if matches!(letter, b'h' | b't' | b'r' | b'e') && (text.ends_with(b"/") || text.is_empty()) {
            return None;
        }
        let slash = text.rfind_byte(b'/');
        let name = text.get(slash.map_or(0, |at| at + 1)..).unwrap_or_default();
        let dot = name.rfind_byte(b'.');
        text = match letter {
            b'l' => text.to_lowercase().into(),
            b'u' => text.to_uppercase().into(),
            b't' => name.into(),
            b'h' => match slash {
                None => ".".into(),
                Some(0) => "/".into(),
                Some(at) => text.get(..at)?.into(),
            },
            b'r' | b'e' if dot == Some(0) => return None,
            b'r' => text.get(..text.len() - dot.map_or(0, |dot| name.len() - dot))?.into(),
            b'e' => dot.and_then(|dot| name.get(dot + 1..)).unwrap_or_default().into(),
            _ => return None,
        };
    }
    Some(text)
}
