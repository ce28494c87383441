//! Suppressions that a payload would add to the other side, or widen there.
//!
//! Promise: every version of a suppressing file in the payload is compared with what each side shows of
//! it; what accepts more than any one state of that side, or cannot be read, is named. It is a question
//! for a person whether or not anything is found: else one push would bring the suppression and the next
//! one the secret.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bstr::{BStr, ByteSlice};
use toml::{Table, Value};

use crate::payload::{Content, Fault, Item, ItemKind, Payload, Reader};
use crate::text::SafeText;

use super::allow_file::{self, AllowFile};
use super::gitleaks::{self, Baseline, IgnoreFile};

/// The most bytes of a suppressing file that are compared; a larger one is a question as it is.
const LIMIT: u64 = 16 << 20;

/// Keys under which everything loosens.
const LOOSENING: [&str; 12] = [
    "allow",
    "allowlist",
    "allowlists",
    "allowed",
    "baseline",
    "disable",
    "disabled",
    "disabledrules",
    "exclude",
    "ignore",
    "stopwords",
    "suppress",
];

/// Keys that say nothing of what is found.
const IDLE: [&str; 3] = ["title", "description", "minversion"];

/// A suppression that would be added or widened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Widened {
    /// The file.
    pub path: SafeText,
    /// What it would accept that it does not now.
    pub what: SafeText,
}

/// Every suppression that the payload would add or widen; each file once.
///
/// # Errors
/// When the payload or a side cannot be read.
pub fn widened(payload: &Payload) -> Result<Vec<Widened>, Fault> {
    let mut found = BTreeSet::new();
    for (place, part) in payload.parts.iter().enumerate() {
        // What goes to no such side (a registry, a mail) suppresses nothing there.
        if payload.sides_of(place).next().is_none() {
            continue;
        }
        let mut reader: Option<Box<dyn Reader + '_>> = None;
        for (item, path) in part.items.iter().flat_map(suppressing) {
            if item.size > LIMIT {
                found.insert(named(path, "is too large to be compared"));
                continue;
            }
            let reader = match &mut reader {
                Some(reader) => reader,
                None => reader.insert(part.source.reader()?),
            };
            let bytes = whole(reader.as_mut(), item)?;
            for side in payload.sides_of(place) {
                let versions = side.versions(path)?;
                found.extend(compared(path, &bytes, &versions));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// An item under each of its paths that is the name of a file which suppresses.
fn suppressing(item: &Item) -> impl Iterator<Item = (&Item, &BStr)> {
    let is_file = matches!(item.kind, ItemKind::Blob | ItemKind::File);
    let paths = item.known_paths().filter(move |_| is_file);
    paths.filter(|path| super::NAMES.iter().any(|name| path == name)).map(move |path| (item, path))
}

fn whole(reader: &mut dyn Reader, item: &Item) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    reader.read(item, &mut |content| {
        match content {
            Content::Whole(all) => bytes.extend_from_slice(all),
            Content::Stream(stream) => {
                stream.read_to_end(&mut bytes).map_err(|error| Fault::File {
                    path: "a suppressing file".into(),
                    what: error.to_string().into(),
                })?;
            }
        }
        Ok(())
    })?;
    Ok(bytes)
}

fn named(path: &BStr, what: &str) -> Widened {
    Widened { path: SafeText::quoted(path, 200), what: SafeText::new(what) }
}

/// What `bytes` accept beyond each of `versions`; `None` when one of them accepts it all.
fn compared(path: &BStr, bytes: &[u8], versions: &[Vec<u8>]) -> Option<Widened> {
    let Some(new) = Facts::of(path, bytes) else {
        let known = versions.iter().any(|version| version == bytes);
        return (!known).then(|| named(path, "cannot be read"));
    };
    let mut least: Option<usize> = None;
    for version in versions {
        let Some(old) = Facts::of(path, version) else { continue };
        let more =
            new.loosening.difference(&old.loosening).count() + old.tightening.difference(&new.tightening).count();
        least = Some(least.map_or(more, |least| least.min(more)));
    }
    let more = least.unwrap_or(new.loosening.len());
    (more > 0).then(|| named(path, &format!("accepts {more} thing(s) that it does not accept there now")))
}

/// What a suppressing file says: facts that loosen, and facts that tighten.
#[derive(Debug, Default)]
struct Facts {
    loosening: BTreeSet<Vec<u8>>,
    tightening: BTreeSet<Vec<u8>>,
}

impl Facts {
    fn of(path: &BStr, bytes: &[u8]) -> Option<Self> {
        let mut facts = Self::default();
        match path.to_str().ok()? {
            allow_file::NAME => {
                facts.loosening.extend(AllowFile::read(bytes).accepted().map(|hash| hash.to_vec()));
            }
            gitleaks::IGNORE_NAME => facts.loosening.extend(IgnoreFile::accepted(bytes).map(Vec::from)),
            gitleaks::BASELINE_NAME => {
                facts.loosening.extend(Baseline::accepted(bytes)?.into_iter().map(String::into_bytes));
            }
            _ => {
                let table: Table = bytes.to_str().ok()?.parse().ok()?;
                facts.table(&table, "", false);
            }
        }
        Some(facts)
    }

    fn table(&mut self, table: &Table, path: &str, loosens: bool) {
        for (key, value) in table {
            let lower = key.to_ascii_lowercase();
            if IDLE.contains(&lower.as_str()) {
                continue;
            }
            let off = lower == "enabled" && value.as_bool() == Some(false);
            self.value(value, &format!("{path}.{key}"), loosens || off || LOOSENING.contains(&lower.as_str()));
        }
    }

    fn value(&mut self, value: &Value, path: &str, loosens: bool) {
        match value {
            Value::Table(table) if loosens => self.allowlist(table, path),
            Value::Table(table) => self.table(table, path, loosens),
            Value::Array(values) => {
                for value in values {
                    // A rule is known by its id wherever it stands.
                    match value {
                        Value::Table(table) if loosens => self.allowlist(table, path),
                        Value::Table(table) => {
                            let id = table.get("id").and_then(Value::as_str).unwrap_or_default();
                            let mut path = path.to_owned();
                            let _ = write!(path, "[{id}]");
                            self.table(table, &path, loosens);
                        }
                        Value::Array(_)
                        | Value::String(_)
                        | Value::Integer(_)
                        | Value::Float(_)
                        | Value::Boolean(_)
                        | Value::Datetime(_) => self.fact(path, value, loosens),
                    }
                }
            }
            Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {
                self.fact(path, value, loosens);
            }
        }
    }

    /// Each entry of an allowlist, with the settings that it is read by. Where all lists must match
    /// together, leaving one out widens, so the whole is one fact.
    fn allowlist(&mut self, table: &Table, path: &str) {
        let scalar = |value: &Value| !value.is_array() && !value.is_table();
        let together =
            table.get("condition").and_then(Value::as_str).is_some_and(|word| !word.eq_ignore_ascii_case("or"));
        if together {
            return self.fact(path, &Value::Table(table.clone()), true);
        }
        let mut path = path.to_owned();
        for (key, value) in table {
            let read_by = scalar(value) || key.eq_ignore_ascii_case("targetrules");
            if read_by && !IDLE.contains(&key.to_ascii_lowercase().as_str()) {
                let _ = write!(path, "{{{key}={value}}}");
            }
        }
        for (key, value) in table {
            let read_by = ["condition", "regextarget", "id"].contains(&key.to_ascii_lowercase().as_str());
            if !read_by && !IDLE.contains(&key.to_ascii_lowercase().as_str()) {
                self.value(value, &format!("{path}.{key}"), true);
            }
        }
    }

    fn fact(&mut self, path: &str, value: &Value, loosens: bool) {
        let fact = format!("{path}={value}").into_bytes();
        if loosens {
            self.loosening.insert(fact)
        } else {
            self.tightening.insert(fact)
        };
    }
}
