//! Lists of pathspecs in files (`--pathspec-from-file`).
//!
//! Promise: read as git reads them (git 2.47, `pathspec.c`): a line each, C-quoted where it starts with
//! a quotation mark, or NUL-terminated entries taken as they are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use bstr::ByteSlice;

use crate::command::plan::GitContext;
use crate::payload::Fault;

use super::stage::Stage;

/// The pathspecs in `file`, as `context` would find it; `None` when they cannot be known (standard
/// input, a file that is not there, a quotation that does not end).
///
/// # Errors
/// None today: what cannot be read is `None`, which widens.
pub fn listed(
    stage: &Stage<'_>,
    context: &GitContext,
    file: &OsStr,
    nul: bool,
) -> Result<Option<Vec<OsString>>, Fault> {
    if file == "-" || super::site::below(&stage.top, &context.dir.join(file)).is_some_and(|path| stage.covers(&path)) {
        return Ok(None);
    }
    let Ok(bytes) = std::fs::read(context.dir.join(file)) else { return Ok(None) };
    let separator = if nul { 0 } else { b'\n' };
    let mut paths = Vec::new();
    for entry in bytes.split(|byte| *byte == separator) {
        let entry = if nul { entry } else { entry.strip_suffix(b"\r").unwrap_or(entry) };
        if entry.is_empty() {
            continue;
        }
        match entry.strip_prefix(b"\"").filter(|_| !nul) {
            Some(quoted) => match unquoted(quoted) {
                Some(path) => paths.push(OsString::from_vec(path)),
                None => return Ok(None),
            },
            None => paths.push(OsString::from_vec(entry.to_vec())),
        }
    }
    Ok(Some(paths))
}

/// A C-quoted string after its opening mark.
fn unquoted(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = quoted.bytes();
    loop {
        match bytes.next()? {
            b'"' => return Some(out),
            b'\\' => match bytes.next()? {
                b'a' => out.push(7),
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'v' => out.push(11),
                kept @ (b'\\' | b'"') => out.push(kept),
                first @ b'0'..=b'3' => {
                    let mut value = u32::from(first - b'0');
                    for _ in 0..2 {
                        value = value * 8 + u32::from(bytes.next().filter(|byte| (b'0'..=b'7').contains(byte))? - b'0');
                    }
                    out.push(u8::try_from(value).ok()?);
                }
                _ => return None,
            },
            byte => out.push(byte),
        }
    }
}
