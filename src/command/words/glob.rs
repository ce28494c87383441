//! File name expansion against directories as the line leaves them, without changing anything.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::pattern::{Unit, is_pattern, matches};

/// Most directory entries that are looked at for one word.
const MAX_ENTRIES: usize = 4096;

/// Where names are looked for.
pub trait Places {
    /// The names in a folder, of which the disk has these; `None` where that is not known.
    fn names(&self, folder: &Path, on_disk: Vec<BString>) -> Option<Vec<BString>>;
    /// Whether a path is a folder.
    fn is_folder(&self, path: &Path) -> bool;
    /// Whether a path is there.
    fn is_there(&self, path: &Path) -> bool;
}

/// The file names that match, sorted; `None` when there are too many to look at, or it is not known.
pub fn expand(field: &[Unit], dir: &Path, dot_files: bool, places: &dyn Places) -> Option<Vec<BString>> {
    let components: Vec<&[Unit]> = field.split(|unit| unit.byte == b'/').collect();
    let mut found: Vec<BString> = vec![BString::default()];
    let mut looked_at = 0;
    for (index, component) in components.iter().enumerate() {
        let last = index + 1 == components.len();
        let mut next = Vec::new();
        for base in &found {
            if is_pattern(component) {
                let folder = absolute(dir, base);
                for name in places.names(&folder, entries(&folder, &mut looked_at)?)? {
                    let hidden = name.first() == Some(&b'.');
                    let asked = component.first().is_some_and(|unit| unit.byte == b'.');
                    if (!hidden || asked || dot_files) && matches(component, &name) {
                        next.push(join(base, &name, index));
                    }
                }
            } else {
                let name: Vec<u8> = component.iter().map(|unit| unit.byte).collect();
                next.push(join(base, &name, index));
            }
        }
        if !last {
            next.retain(|path| path.is_empty() || places.is_folder(&absolute(dir, path)));
        } else if !is_pattern(component) {
            next.retain(|path| places.is_there(&absolute(dir, path)));
        }
        found = next;
    }
    found.sort();
    Some(found)
}

fn join(base: &BString, name: &[u8], index: usize) -> BString {
    let mut path = base.clone();
    if index > 0 {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

fn absolute(dir: &Path, path: &BString) -> PathBuf {
    let Ok(path) = path.to_os_str().map(OsStr::to_owned) else { return dir.to_owned() };
    dir.join(path)
}

fn entries(dir: &Path, looked_at: &mut usize) -> Option<Vec<BString>> {
    let Ok(listing) = std::fs::read_dir(dir) else { return Some(Vec::new()) };
    let mut names = Vec::new();
    for entry in listing.flatten() {
        *looked_at += 1;
        if *looked_at > MAX_ENTRIES {
            return None;
        }
        names.push(BString::from(entry.file_name().as_encoded_bytes()));
    }
    Some(names)
}
