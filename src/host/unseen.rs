//! Pushes that the net did not see: what a command did behind both layers is at least told.
//!
//! After a push git writes `update by push` into the reflog of the tracking ref (transport.c
//! `transport_update_tracking_ref`, git 2.47). Ids there which the net's journal does not know came
//! by a way that runs no hook. This is told, and judges nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::journal::{self, Record};
use crate::text::SafeText;

/// How far back a reflog entry is looked at, in seconds: the call that has just ended.
const RECENT_SECONDS: u64 = 600;

/// Most bytes of a reflog's end that are read.
const TAIL_BYTES: u64 = 4096;

/// One line about pushes from the repository at `dir` that the net did not see; empty when there are
/// none.
pub fn line(dir: &Path) -> String {
    let Some(logs) = reflogs(dir) else { return String::new() };
    let now = journal::now();
    let seen: BTreeSet<String> = journal::records()
        .unwrap_or_default()
        .into_iter()
        .filter(|record: &Record| record.by == "net" && now.saturating_sub(record.at) <= 2 * RECENT_SECONDS)
        .flat_map(|record| record.tips)
        .collect();
    let unseen: Vec<String> = logs
        .into_iter()
        .filter_map(|(name, path)| {
            let (id, at) = last_push(&path)?;
            (now.saturating_sub(at) <= RECENT_SECONDS && !seen.contains(&id))
                .then(|| SafeText::quoted(name.as_bytes(), 120).to_string())
        })
        .collect();
    if unseen.is_empty() {
        return String::new();
    }
    format!(
        "tyran: {} changed by a push that git's hooks did not see; run `tyran scan-push --base REVISION` over what it sent, and revoke what it finds.",
        unseen.join(", ")
    )
}

/// The reflogs of tracking refs, by their names. Reading files is enough: nothing is judged by them.
fn reflogs(dir: &Path) -> Option<Vec<(String, PathBuf)>> {
    let git = dir.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    let git = if git.is_dir() { git } else { common_dir(&git)? };
    let top = git.join("logs").join("refs").join("remotes");
    let mut found = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).ok()?.flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Ok(name) = path.strip_prefix(&top) {
                found.push((name.to_string_lossy().into_owned(), path));
            }
        }
        if found.len() > 10_000 {
            break;
        }
    }
    Some(found)
}

/// The common directory of a linked work tree, whose `.git` is a file.
fn common_dir(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let own = file.parent()?.join(text.strip_prefix("gitdir: ")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

/// The new id and the time of a reflog's last entry, when that is a push.
fn last_push(path: &Path) -> Option<(String, u64)> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = fs::File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let line = tail.trim_end().lines().last()?;
    let (entry, message) = line.split_once('\t')?;
    if !message.starts_with("update by push") {
        return None;
    }
    let id = entry.split(' ').nth(1)?.to_owned();
    let mut from_the_end = entry.rsplit(' ');
    let _zone = from_the_end.next()?;
    Some((id, from_the_end.next()?.parse().ok()?))
}
