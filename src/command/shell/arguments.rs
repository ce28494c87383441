//! Options of builtins and programs, told apart from their operands.

use bstr::{BStr, ByteSlice};

use crate::command::simple::Value;

/// Options and operands, as getopt reads them: options first, clustered, `--` ends them.
pub(in crate::command) struct Options<'a> {
    /// Short options in order, with their values.
    pub flags: Vec<(u8, Option<&'a Value>)>,
    /// What follows.
    pub operands: &'a [Value],
    /// Whether a word that is not known stands where an option may.
    pub unknown: bool,
}

impl<'a> Options<'a> {
    /// Reads `arguments`; the letters of `with_value` take a value.
    pub fn read(arguments: &'a [Value], with_value: &[u8]) -> Self {
        let mut options = Self { flags: Vec::new(), operands: arguments, unknown: false };
        while let Some((first, rest)) = options.operands.split_first() {
            let Some(word) = first.known() else {
                options.unknown = true;
                break;
            };
            if word == "--" {
                options.operands = rest;
                break;
            }
            let Some(letters) = word.strip_prefix(b"-").filter(|letters| !letters.is_empty()) else { break };
            options.operands = rest;
            for letter in letters {
                if !with_value.contains(letter) {
                    options.flags.push((*letter, None));
                    continue;
                }
                // The value is what follows in the same word, which nobody needs, or the next word.
                let last = letters.last() == Some(letter);
                let value = if last { options.operands.first() } else { None };
                if last {
                    options.operands = options.operands.get(1..).unwrap_or_default();
                }
                options.flags.push((*letter, value));
                break;
            }
        }
        options
    }

    pub fn has(&self, letter: u8) -> bool {
        self.flags.iter().any(|(flag, _)| *flag == letter)
    }

    pub fn value(&self, letter: u8) -> Option<&'a Value> {
        self.flags.iter().rev().find(|(flag, _)| *flag == letter).and_then(|(_, value)| *value)
    }
}

/// The last component of a program's path.
pub(in crate::command) fn base_name(name: &BStr) -> &BStr {
    name.rsplit_once_str(b"/").map_or(name, |(_, base)| base.as_bstr())
}

/// Splitting at the last occurrence, which bstr only offers as an iterator.
trait SplitLast {
    fn rsplit_once_str(&self, separator: &[u8]) -> Option<(&[u8], &[u8])>;
}

impl SplitLast for BStr {
    fn rsplit_once_str(&self, separator: &[u8]) -> Option<(&[u8], &[u8])> {
        let at = self.rfind(separator)?;
        Some((self.get(..at)?, self.get(at + separator.len()..)?))
    }
}
