//! tyran's own folder: what it keeps, and who else could change it.
//!
//! Promise: each file there that gate, net or setup read is read as they read it; what they would refuse for, or what
//! somebody else may write to, is named. Nothing is changed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config;
use crate::net::place;

use super::hosts::Places;
use super::keep::{cannot, shown};

/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// What is wrong with the folder and what is in it.
pub fn wrong(folder: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(fault) = config::policy(None, Some(folder), None) {
        problems.push(format!("{fault}: whatever is to be read is refused until it is corrected"));
    }
    problems.extend(Places::read().err().map(|refusal| refusal.what.to_string()));
    problems.extend(place::recorded_files().err().map(|refusal| refusal.what.to_string()));
    for name in ["cache", "journal"] {
        let path = folder.join(name);
        if path.exists() && !path.is_dir() {
            problems.push(format!("{} is no folder; move it away", shown(&path)));
        }
    }
    problems.extend(open_to_others(folder));
    problems
}

/// Whatever another user may change: folders and files that gate, net and setup rest on.
fn open_to_others(folder: &Path) -> Vec<String> {
    let below = ["hooks", "bin"].into_iter().map(|name| folder.join(name));
    let mut paths: Vec<PathBuf> = std::iter::once(folder.to_owned()).chain(below).collect();
    let mut problems = Vec::new();
    for folder in paths.clone().iter().filter(|path| path.is_dir()) {
        match fs::read_dir(folder) {
            Ok(listed) => {
                paths.extend(listed.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()))
            }
            Err(error) => problems.push(cannot("list", folder, &error).what.to_string()),
        }
    }
    let us = nix::unistd::geteuid().as_raw();
    for path in paths {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.uid() != us && metadata.uid() != 0 {
            problems.push(format!("{} belongs to another user, who may change it", shown(&path)));
        } else if metadata.mode() & OTHERS_WRITE != 0 {
            problems.push(format!("{} may be written by other users; `chmod go-w` it", shown(&path)));
        }
    }
    problems
}
