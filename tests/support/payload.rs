//! Payloads, read and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tyran::payload::{Content, ItemKind, Payload};

pub fn blobs(payload: &Payload) -> BTreeSet<String> {
    let items = payload.parts.iter().flat_map(|part| &part.items);
    items.filter(|item| item.kind == ItemKind::Blob).map(|item| item.oid.unwrap().to_string()).collect()
}

/// Every byte of the payload that is no blob, as one text; every item is read to its promised size.
pub fn texts(payload: &Payload) -> String {
    read(payload, |kind| kind != ItemKind::Blob)
}

pub fn everything(payload: &Payload) -> String {
    read(payload, |_| true)
}

pub fn read(payload: &Payload, wanted: impl Fn(ItemKind) -> bool) -> String {
    let mut text = String::new();
    for part in &payload.parts {
        let mut reader = part.source.reader().unwrap();
        for item in &part.items {
            let mut bytes = Vec::new();
            reader
                .read(item, &mut |content| {
                    match content {
                        Content::Whole(whole) => bytes.extend_from_slice(whole),
                        Content::Stream(stream) => drop(stream.read_to_end(&mut bytes).unwrap()),
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(bytes.len() as u64, item.size, "{item:?}");
            if wanted(item.kind) {
                text.push_str(&String::from_utf8_lossy(&bytes));
                text.push('\n');
            }
        }
    }
    text
}

/// Every file below a folder with its bytes, modification time and mode. Objects and shared
/// indices have no time here: git sets that of one which it finds already there.
pub fn listing(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let object = metadata.is_file() && path.components().any(|part| part.as_os_str() == "objects");
            let shared_index = path.to_string_lossy().contains("/sharedindex.");
            let time =
                if object || shared_index { 0 } else { metadata.mtime_nsec() + metadata.mtime() * 1_000_000_000 };
            found.insert(path.clone(), (bytes, time, metadata.mode()));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// Paths of the files of a payload.
pub fn file_paths(payload: &Payload) -> BTreeSet<String> {
    let items = payload.parts.iter().flat_map(|part| &part.items);
    items.filter(|item| item.kind == ItemKind::File).map(|item| item.path.as_ref().unwrap().to_string()).collect()
}

/// Every object id of a payload.
pub fn oids(payload: &Payload) -> BTreeSet<String> {
    payload.parts.iter().flat_map(|part| &part.items).filter_map(|item| Some(item.oid?.to_string())).collect()
}
