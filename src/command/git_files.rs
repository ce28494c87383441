//! git's configuration files read here, where that is plain, so that an innocent command starts no git.
//!
//! Promise: what comes out is what `git config --list` prints of the system's, the user's and the
//! repository's files and of `-c`, in that order. Whatever is not plain (includes, settings of the
//! environment, a file that does not parse as these rules say, a git whose system file is somewhere else)
//! is `None`: then git is asked. (git-config(1), "FILES" and "CONFIGURATION FILE", of git 2.47.)

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::git_config::{InForce, Scope};
use super::git_globals::{self, normal_key};
use super::git_program::system_file;
use super::plan::GitContext;
use crate::world::World;
use crate::world::memory::SmallFile;

/// git's own options that change nothing of its configuration.
const HARMLESS: &[&str] =
    &["--no-pager", "-P", "--paginate", "-p", "--no-optional-locks", "--no-replace-objects", "--no-advice"];

/// The settings in force; `None` where git must be asked.
pub fn read(world: &World, context: &GitContext) -> Option<Vec<InForce>> {
    let variable = |name: &str| context.env.get(OsStr::new(name)).map(|value| value.as_os_str());
    if ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG", "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"]
        .iter()
        .any(|name| variable(name).is_some())
    {
        return None;
    }
    let of_line = settings_of_options(context)?;
    let mut settings = Vec::new();
    match variable("GIT_CONFIG_NOSYSTEM").map(OsStr::to_str) {
        Some(Some("1" | "true" | "yes" | "on")) => {}
        Some(_) => return None,
        None => {
            let file = match variable("GIT_CONFIG_SYSTEM") {
                Some(path) => PathBuf::from(path),
                None => system_file(world.git_program()?)?,
            };
            append(world, &file, Scope::User, &mut settings)?;
        }
    }
    match variable("GIT_CONFIG_GLOBAL") {
        Some(path) if path.is_empty() => return None,
        Some(path) => append(world, Path::new(path), Scope::User, &mut settings)?,
        None => {
            let home = variable("HOME").filter(|home| !home.is_empty()).map(Path::new)?;
            let folder = match variable("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()) {
                Some(folder) => PathBuf::from(folder),
                None => home.join(".config"),
            };
            append(world, &folder.join("git/config"), Scope::User, &mut settings)?;
            append(world, &home.join(".gitconfig"), Scope::User, &mut settings)?;
        }
    }
    if let Some(place) = git_globals::find(context) {
        append(world, &place.common_dir().join("config"), Scope::Line, &mut settings)?;
        if settings.iter().any(|setting| setting.key == "extensions.worktreeconfig") {
            return None;
        }
    }
    settings.extend(of_line);
    Some(settings)
}

/// The settings of the options before the verb (`-c KEY=VALUE`), where those only choose a directory,
/// settings, or nothing of interest.
fn settings_of_options(context: &GitContext) -> Option<Vec<InForce>> {
    let mut settings = Vec::new();
    let mut options = context.globals.iter();
    while let Some(option) = options.next() {
        match option.to_str()? {
            "-C" => drop(options.next()),
            "-c" => settings.push(setting_of(options.next()?.as_encoded_bytes())?),
            option if HARMLESS.contains(&option) => {}
            _ => return None,
        }
    }
    Some(settings)
}

/// `KEY=VALUE`, or a key alone, which is true (config.c, `git_config_parse_parameter`); `None` for a key
/// that git complains of, and for an include.
fn setting_of(pair: &[u8]) -> Option<InForce> {
    let (key, value) = match pair.split_once_str("=") {
        Some((key, value)) => (key, value.into()),
        None => (pair, "true".into()),
    };
    let (section, name) = (key.get(..key.find_byte(b'.')?)?, key.get(key.rfind_byte(b'.')? + 1..)?);
    let is_word = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let is_valid = !section.is_empty()
        && is_word(section)
        && name.first().is_some_and(u8::is_ascii_alphabetic)
        && is_word(name)
        && !key.contains(&b'\n');
    let key = normal_key(key.as_bstr());
    (is_valid && !is_include(&key)).then_some(InForce { scope: Scope::Line, key, value: Some(value) })
}

fn is_include(key: &[u8]) -> bool {
    key.starts_with(b"include.") || key.starts_with(b"includeif.")
}

/// Appends a file's settings; one that is not there has none.
fn append(world: &World, path: &Path, scope: Scope, settings: &mut Vec<InForce>) -> Option<()> {
    let text = match world.small_file(path) {
        SmallFile::Text(text) => text,
        SmallFile::Absent => return Some(()),
        // `/dev/null` stands for a file without settings.
        SmallFile::Unfit => return (path == Path::new("/dev/null")).then_some(()),
    };
    for (key, value) in parse(&text)? {
        if is_include(&key) {
            return None;
        }
        settings.push(InForce { scope, key, value: Some(value) });
    }
    Some(())
}

/// The settings of a file, in order; `None` where a line is not plain.
pub fn parse(text: &[u8]) -> Option<Vec<(BString, BString)>> {
    let mut found = Vec::new();
    let mut section: Option<BString> = None;
    let mut rest = text;
    loop {
        rest = without_blanks(rest);
        let Some(first) = rest.first() else { return Some(found) };
        match first {
            b'#' | b';' => rest = after_line(rest),
            b'[' => {
                let (name, after) = header(rest.get(1..)?)?;
                section = Some(name);
                // A setting on the header's own line is rare enough to be git's to read.
                let line = without_blanks(after.get(..after.find_byte(b'\n').unwrap_or(after.len()))?);
                if !line.is_empty() && !matches!(line.first(), Some(b'#' | b';')) {
                    return None;
                }
                rest = after_line(after);
            }
            letter if letter.is_ascii_alphabetic() => {
                let end =
                    rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                let key = [section.as_ref()?.as_slice(), b".", &name.to_ascii_lowercase()].concat();
                let blanks = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                let after = after.get(blanks..)?;
                match after.first() {
                    Some(b'=') => {
                        let (value, after) = value(after.get(1..)?)?;
                        found.push((key.into(), value));
                        rest = after;
                    }
                    None | Some(b'\n') => {
                        found.push((key.into(), "true".into()));
                        rest = after;
                    }
                    Some(_) => return None,
                }
            }
            _ => return None,
        }
    }
}

/// What stands behind the blanks at the beginning, as git counts them (git-compat-util.h, `isspace`).
fn without_blanks(text: &[u8]) -> &[u8] {
    let first = text.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    text.get(first.unwrap_or(text.len())..).unwrap_or_default()
}

fn after_line(text: &[u8]) -> &[u8] {
    text.find_byte(b'\n').and_then(|end| text.get(end + 1..)).unwrap_or_default()
}

/// `name]` or `name "sub"]`, and what follows.
fn header(text: &[u8]) -> Option<(BString, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')?;
    let mut name = text.get(..end)?.to_ascii_lowercase();
    if name.is_empty() {
        return None;
    }
    let mut rest = text.get(end..)?;
    if let Some(after) = rest.strip_prefix(b"]") {
        return Some((name.into(), after));
    }
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    rest = rest.get(blanks..).filter(|_| blanks > 0)?.strip_prefix(b"\"")?;
    name.push(b'.');
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return rest.strip_prefix(b"]").map(|after| (name.into(), after)),
            b'\\' => {
                let (escaped, after) = rest.split_first().filter(|(byte, _)| **byte != b'\n')?;
                name.push(*escaped);
                rest = after;
            }
            b'\n' => return None,
            byte => name.push(*byte),
        }
    }
}

/// A value to the end of its line, or of its last continued line, and what follows (config.c, `parse_value`).
fn value(text: &[u8]) -> Option<(BString, &[u8])> {
    let mut value: Vec<u8> = Vec::new();
    let mut kept = 0;
    let mut quoted = false;
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\n' if quoted => return None,
            b'\n' => break,
            b'\r' => return None,
            b'#' | b';' if !quoted => {
                rest = after_line(rest);
                break;
            }
            b' ' | b'\t' if !quoted => {
                if !value.is_empty() || kept > 0 {
                    value.push(*byte);
                }
            }
            b'"' => {
                quoted = !quoted;
                kept = value.len();
            }
            b'\\' => {
                let (escaped, after) = rest.split_first()?;
                rest = after;
                match escaped {
                    b'\n' => continue,
                    b'n' => value.push(b'\n'),
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'"' | b'\\' => value.push(*escaped),
                    _ => return None,
                }
                kept = value.len();
            }
            byte => {
                value.push(*byte);
                kept = value.len();
            }
        }
    }
    if quoted {
        return None;
    }
    value.truncate(kept);
    Some((value.into(), rest))
}
