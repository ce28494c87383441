//! The processes that this one runs under.
//!
//! Promise: the arguments of each, nearest first, as the system tells of the same user's processes; what it does not
//! tell is left out, so that whoever asks must not take silence for an answer.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use bstr::ByteSlice;

/// How far up is looked: a hook manager puts a few shells between git and a hook.
const GENERATIONS: usize = 12;

/// Arguments of the processes above this one, nearest first. Nothing where there is no `/proc`.
pub fn ancestors() -> Vec<Vec<OsString>> {
    let mut found = Vec::new();
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..GENERATIONS {
        let Ok(line) = fs::read(format!("/proc/{process}/cmdline")) else { break };
        let words = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0);
        found.push(words.map(|word| OsString::from_vec(word.to_vec())).collect());
        let Some(parent) = parent_of(process) else { break };
        process = parent;
    }
    found
}

fn parent_of(process: u32) -> Option<u32> {
    let told = fs::read(format!("/proc/{process}/stat")).ok()?;
    // `PID (NAME) STATE PARENT …`, and a name may hold anything.
    let after = told.get(told.rfind_byte(b')')? + 1..)?;
    after.fields().nth(1)?.to_str().ok()?.parse().ok().filter(|parent| *parent > 1)
}
