//! `envsubst`: variables of the environment in a text.

use std::ffi::OsStr;

use bstr::{BStr, ByteSlice};

use crate::command::simple::{Seen, to_os_string};

/// A variable as far as it is known.
pub(in crate::command) enum Variable<'e> {
    Value(&'e OsStr),
    Unset,
    Unknown,
}

impl<'e> From<Seen<'e>> for Variable<'e> {
    fn from(seen: Seen<'e>) -> Self {
        match seen {
            Seen::Known(value) => Self::Value(value),
            Seen::Unset => Self::Unset,
            Seen::Unknown(_) => Self::Unknown,
        }
    }
}

/// What `envsubst [SHELL-FORMAT]` makes of a text; `None` where an option or a variable is not known.
pub(in crate::command) fn substituted<'e>(
    words: &[&BStr],
    text: &[u8],
    variable: &dyn Fn(&OsStr) -> Variable<'e>,
) -> Option<Vec<u8>> {
    let wanted: Option<Vec<&[u8]>> = match words {
        [] => None,
        [only] if !only.starts_with(b"-") => Some(references(only).map(|(_, name, _)| name).collect()),
        _ => return None,
    };
    let mut made = Vec::new();
    let mut at = 0;
    for (start, name, end) in references(text) {
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(&name)) {
            continue;
        }
        made.extend_from_slice(text.get(at..start)?);
        match variable(&to_os_string(name)) {
            Variable::Value(value) => made.extend_from_slice(value.as_encoded_bytes()),
            Variable::Unset => {}
            Variable::Unknown => return None,
        }
        at = end;
    }
    made.extend_from_slice(text.get(at..)?);
    Some(made)
}

/// `$NAME` and `${NAME}`: where each begins, its name, and where it ends.
fn references(text: &[u8]) -> impl Iterator<Item = (usize, &[u8], usize)> {
    text.find_iter("$").filter_map(move |start| {
        let after = text.get(start + 1..)?;
        let braced = after.first() == Some(&b'{');
        let rest = after.get(usize::from(braced)..)?;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        let name = rest.get(..length).filter(|name| name.first().is_some_and(|first| !first.is_ascii_digit()))?;
        if braced && rest.get(length) != Some(&b'}') {
            return None;
        }
        Some((start, name, start + 1 + length + if braced { 2 } else { 0 }))
    })
}
