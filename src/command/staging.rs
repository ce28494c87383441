//! Settings of the line that decide which files staging takes, or what it makes of them.
//!
//! Promise: a later staging command of the line, and its commit, are worked out with such a setting as git's own `-c`
//! would give it. One that the line takes away, or whose value is not known, is off: no file is then ignored by it,
//! converted by it or left out of a sparse work tree for it.

use std::ffi::OsString;

use bstr::{BStr, ByteSlice};

use super::simple::to_os_string;

/// The settings, and what each is when it is off.
const SETTINGS: &[(&str, &str)] = &[
    ("core.excludesfile", ""),
    ("core.attributesfile", ""),
    ("core.autocrlf", "false"),
    ("core.eol", "native"),
    ("core.ignorecase", "false"),
    ("core.sparsecheckout", "false"),
    ("core.sparsecheckoutcone", "false"),
];

/// `-c` with a setting that the line makes.
pub(super) fn with(key: &BStr, value: Option<&BStr>) -> Vec<OsString> {
    let Some(off) = off(key) else { return Vec::new() };
    let value = value.map_or(off.as_bytes(), |value| value.as_bytes());
    option(key, value).into()
}

/// `-c` for a setting, or a section, that the line takes away.
pub(super) fn without(key: &BStr) -> Vec<OsString> {
    if let Some(off) = off(key) {
        return option(key, off.as_bytes()).into();
    }
    if key.starts_with(b"filter.") {
        // The whole section.
        let names = ["clean", "process"].map(|name| [key.as_bytes(), b".", name.as_bytes()].concat());
        return names.iter().flat_map(|name| option(name.as_bstr(), b"")).collect();
    }
    Vec::new()
}

/// No part of a work tree is left out.
pub(super) fn without_sparse_part() -> Vec<OsString> {
    without(BStr::new("core.sparsecheckout"))
}

fn off(key: &BStr) -> Option<&'static str> {
    let is_filter = key.starts_with(b"filter.") && (key.ends_with(b".clean") || key.ends_with(b".process"));
    let named = SETTINGS.iter().find(|(name, _)| key == *name).map(|(_, off)| *off);
    named.or_else(|| is_filter.then_some(""))
}

fn option(key: &BStr, value: &[u8]) -> [OsString; 2] {
    ["-c".into(), to_os_string([key.as_bytes(), b"=", value].concat())]
}
