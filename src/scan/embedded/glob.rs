//! Globs of file names and paths, for tyran's own rules.
//!
//! Promise: letter case does not matter; a glob without `/` is for the last name of a path, one with
//! `/` for the whole path.

use super::pattern::Pattern;
use super::translate::PatternFault;

/// A glob.
#[derive(Debug)]
pub struct Glob(Pattern);

impl Glob {
    pub(super) fn new(glob: &str) -> Result<Self, PatternFault> {
        let mut regex = String::from(if glob.contains('/') { "(?is)^" } else { "(?is)(?:^|/)" });
        let mut rest = glob.chars().peekable();
        let mut choices = 0_usize;
        while let Some(character) = rest.next() {
            match character {
                '*' if rest.next_if_eq(&'*').is_some() => {
                    // `**/` is any number of folders, also none.
                    regex.push_str(if rest.next_if_eq(&'/').is_some() { "(?:.*/)?" } else { ".*" });
                }
                '*' => regex.push_str("[^/]*"),
                '?' => regex.push_str("[^/]"),
                '[' => {
                    regex.push('[');
                    if rest.next_if_eq(&'!').is_some() {
                        regex.push('^');
                    }
                    for inside in rest.by_ref() {
                        regex.push(inside);
                        if inside == ']' {
                            break;
                        }
                    }
                }
                '{' => {
                    choices += 1;
                    regex.push_str("(?:");
                }
                ',' if choices > 0 => regex.push('|'),
                '}' if choices > 0 => {
                    choices -= 1;
                    regex.push(')');
                }
                _ if character.is_ascii_punctuation() && character != '_' => regex.extend(['\\', character]),
                _ => regex.push(character),
            }
        }
        regex.push('$');
        let pattern = Pattern::new(regex);
        pattern.tree()?;
        Ok(Self(pattern))
    }

    pub(super) fn matches(&self, path: &[u8]) -> bool {
        // The pattern has been read, and globs are small: compiling one cannot fail.
        self.0.is_match(path).unwrap_or(true)
    }
}
