//! Putting a host's entry in place, and taking it away again.
//!
//! Promise: an entry is added beside what is there, and nothing else of the file changes; a second
//! time changes nothing; taking it away gives back exactly the bytes that were there, or, where the file
//! was edited since, cuts our entries alone. A file that cannot be read as what the host reads is left
//! as it is, with an error.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::table::{EntryShape, Extra, Host, Slot};
use crate::verdict::{Class, Refusal};
use crate::world::{World, user_home};

use super::jsonc::{self, JsoncFault};
use super::keep::{self, Kept, cannot, private_dir, read_if_there, replace, resolved, shown, state};
use super::{entry, modules};

/// Whose file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The user's.
    User,
    /// That of the directory here.
    Project,
}

/// One file that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The host's id.
    pub host: String,
    /// The file.
    pub file: PathBuf,
    /// Its bytes now; `None` when there is none.
    pub now: Option<Vec<u8>>,
    /// Its bytes then.
    pub after: Vec<u8>,
    /// Its bytes without anything of ours: what is given back.
    base: Option<Vec<u8>>,
    /// Whether it must be executable.
    pub is_executable: bool,
}

/// A file that holds an entry of ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Placed {
    /// The host's id.
    pub host: String,
    /// What it was before.
    #[serde(flatten)]
    pub kept: Kept,
    /// Folders that were made for it, innermost first.
    made: Vec<PathBuf>,
}

/// Every file that holds an entry of ours.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Places {
    /// The files.
    pub places: Vec<Placed>,
}

/// The entry's file; `None` where the host has none of that reach.
pub fn file(world: &World, host: &Host, reach: Reach) -> Option<PathBuf> {
    let named = match reach {
        Reach::User => host.entry.user.as_deref()?,
        Reach::Project => host.entry.project.as_deref()?,
    };
    expanded(world, host, named)
}

/// A path of the host's row: from the user's home or from here, or below the folder that the host was
/// told to keep its files in instead.
pub fn expanded(world: &World, host: &Host, named: &str) -> Option<PathBuf> {
    let moved = host.entry.moved_by.as_deref().and_then(|name| world.var(name)).filter(|value| !value.is_empty());
    let usual = host.entry.found_by.as_deref();
    if let (Some(folder), Some(below)) = (moved, usual.and_then(|usual| named.strip_prefix(usual))) {
        return Some(world.cwd.join(folder).join(below.trim_start_matches('/')));
    }
    match named.strip_prefix("~/") {
        Some(below) => Some(world.var("HOME").map(PathBuf::from).or_else(user_home)?.join(below)),
        None => Some(world.cwd.join(named)),
    }
}

/// Whether the host is used on this machine, as far as its files tell.
pub fn is_found(world: &World, host: &Host) -> bool {
    host.entry.found_by.as_deref().and_then(|named| expanded(world, host, named)).is_some_and(|path| path.exists())
}

/// What is to be changed so that the host calls `program`; empty when it does already.
///
/// # Errors
/// When the file cannot be read as what the host reads, or is somebody else's.
pub fn plan(
    world: &World,
    host: &Host,
    reach: Reach,
    program: &Path,
    places: &Places,
) -> Result<Vec<Planned>, Refusal> {
    let Some(file) = file(world, host, reach) else {
        return Err(Refusal::new(
            Class::Usage,
            format!("{} reads no such file of hooks", host.product),
            "install it as a plugin of that host",
        ));
    };
    let file = resolved(&file)?;
    let now = read_if_there(&file)?;
    let base = base(places, host, &file, now.as_deref())?;
    let after = wanted(host, program, &file, now.as_deref(), base.as_deref())?;
    let is_executable = host.entry.shape == EntryShape::Script;
    let beside = entry::beside(host, &file);
    let mut planned = vec![Planned { host: host.id.clone(), file, now, after, base, is_executable }];
    if let Some((path, text)) = beside {
        let now = read_if_there(&path)?;
        let base = match places.of(&host.id, &path) {
            Some(placed) => placed.kept.before()?,
            None => now.clone(),
        };
        planned.push(Planned {
            host: host.id.clone(),
            file: path,
            now,
            after: text.into_bytes(),
            base,
            is_executable: false,
        });
    }
    planned.retain(|planned| planned.now.as_deref() != Some(planned.after.as_slice()));
    Ok(planned)
}

/// What an entry is added to: the bytes before ours as long as nobody changed the file since, else what
/// is left of it without ours.
fn base(places: &Places, host: &Host, file: &Path, now: Option<&[u8]>) -> Result<Option<Vec<u8>>, Refusal> {
    match places.of(&host.id, file) {
        Some(placed) if placed.kept.is_untouched(now) => placed.kept.before(),
        Some(_) | None => now.map_or(Ok(None), |now| without_ours(host, file, now)),
    }
}

fn wanted(
    host: &Host,
    program: &Path,
    file: &Path,
    now: Option<&[u8]>,
    base: Option<&[u8]>,
) -> Result<Vec<u8>, Refusal> {
    if let Some(text) = modules::text(host, program) {
        let is_anothers = now.is_some_and(|bytes| !is_marked(bytes));
        return if is_anothers { Err(anothers(file)) } else { Ok(text.into_bytes()) };
    }
    let now_text = text_of(file, now)?;
    let base_text = text_of(file, base)?;
    if host.entry.shape == EntryShape::Vibe {
        return toml::wanted(host, program, now_text, base_text)
            .map(String::into_bytes)
            .map_err(|why| malformed(file, &why));
    }
    if host.entry.shape == EntryShape::KiroAgent && now.is_none() {
        return Err(Refusal::new(
            Class::Installation,
            format!("{} is not there, and an agent is not ours to make", shown(file)),
            format!("make the agent with {}, then run it again", host.product),
        ));
    }
    let text = json(host, program, now_text, base_text).map_err(|fault| malformed(file, &fault.to_string()))?;
    match unread(host, &text) {
        None => Ok(text.into_bytes()),
        Some(what) => Err(Refusal::new(
            Class::Installation,
            format!("{} has {what}, and {} skips a file of hooks with it without a word", shown(file), host.product),
            "take it out of the file, then run it again; it was left as it is",
        )),
    }
}

/// What in a text the host's own reader does not take.
pub fn unread(host: &Host, text: &str) -> Option<&'static str> {
    let reads = host.entry.reads.as_ref()?;
    jsonc::extras(text).into_iter().find(|extra| !reads.contains(extra)).map(|extra| match extra {
        Extra::Comments => "a comment",
        Extra::Commas => "a comma after a last entry",
        Extra::Mark => "a byte-order mark",
    })
}

fn json(host: &Host, program: &Path, now: &str, base: &str) -> Result<String, JsoncFault> {
    let additions = entry::additions(host, program);
    let value = jsonc::value(now)?;
    if additions.iter().all(|addition| is_there(&value, addition)) {
        return Ok(now.to_owned());
    }
    let mut text = base.to_owned();
    if let Some((key, value)) = entry::version(host.entry.shape) {
        text = jsonc::member(&text, key, &value)?;
    }
    for addition in &additions {
        text = jsonc::append(&text, &addition.path, &addition.element)?;
    }
    let value = jsonc::value(&text)?;
    if additions.iter().all(|addition| is_there(&value, addition)) { Ok(text) } else { Err(JsoncFault::NotReadBack) }
}

fn is_there(value: &Value, addition: &entry::Addition) -> bool {
    addition
        .path
        .iter()
        .try_fold(value, |value, key| value.get(key))
        .and_then(Value::as_array)
        .is_some_and(|list| list.contains(&addition.element))
}

fn text_of<'b>(file: &Path, bytes: Option<&'b [u8]>) -> Result<&'b str, Refusal> {
    std::str::from_utf8(bytes.unwrap_or_default()).map_err(|error| malformed(file, &error.to_string()))
}

fn is_marked(bytes: &[u8]) -> bool {
    bstr::ByteSlice::contains_str(bytes, modules::MARK)
}

fn malformed(file: &Path, why: &str) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!("{} cannot be changed: {why}", shown(file)),
        "correct the file, then run it again; it was left as it is",
    )
}

fn anothers(file: &Path) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!("{} is somebody else's", shown(file)),
        "rename it, or call tyran from it; it was left as it is",
    )
}

/// Writes what was planned, and remembers what was there.
///
/// # Errors
/// When a file cannot be written, or has changed since it was planned.
pub fn write(planned: &Planned, places: &mut Places) -> Result<(), Refusal> {
    if read_if_there(&planned.file)? != planned.now {
        return Err(malformed(&planned.file, "it was changed meanwhile"));
    }
    let first = places.of(&planned.host, &planned.file).cloned();
    let made = make_folders(&planned.file)?;
    // The record comes first: a file without a record could not be given back.
    places.places.retain(|placed| placed.host != planned.host || placed.kept.file != planned.file);
    places.places.push(Placed {
        host: planned.host.clone(),
        kept: Kept::new(&planned.file, planned.base.as_deref(), &planned.after),
        made: first.map_or(made, |first| first.made),
    });
    places.write()?;
    replace(&planned.file, &planned.after)?;
    if planned.is_executable { keep::make_executable(&planned.file) } else { Ok(()) }
}

/// Makes the folders of a file; those that were not there, innermost first.
fn make_folders(file: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let Some(folder) = file.parent() else { return Ok(Vec::new()) };
    let made = folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
    Ok(made)
}

/// Takes the host's entries away, those of every file that is remembered and those of its own two
/// files; the files that were changed.
///
/// # Errors
/// When a file cannot be read or written.
pub fn uninstall(world: &World, host: &Host, places: &mut Places) -> Result<Vec<PathBuf>, Refusal> {
    let mut changed = Vec::new();
    let remembered: Vec<Placed> = places.places.iter().filter(|placed| placed.host == host.id).cloned().collect();
    for placed in &remembered {
        let now = read_if_there(&placed.kept.file)?;
        if placed.kept.is_untouched(now.as_deref()) {
            placed.kept.restore()?;
            changed.push(placed.kept.file.clone());
        } else if take_out(host, &placed.kept.file, now.as_deref())? {
            changed.push(placed.kept.file.clone());
        }
        places.places.retain(|other| other.host != placed.host || other.kept.file != placed.kept.file);
        places.write()?;
    }
    let mut made: Vec<&PathBuf> = remembered.iter().flat_map(|placed| &placed.made).collect();
    made.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in made {
        // A folder with something of somebody else's in it stays.
        let _ = fs::remove_dir(folder);
    }
    for reach in [Reach::User, Reach::Project] {
        let Some(file) = file(world, host, reach) else { continue };
        let file = resolved(&file)?;
        let now = read_if_there(&file)?;
        if take_out(host, &file, now.as_deref())? {
            changed.push(file);
        }
    }
    Ok(changed)
}

/// Cuts our entries out of a file that is not as we left it; whether there were any.
fn take_out(host: &Host, file: &Path, now: Option<&[u8]>) -> Result<bool, Refusal> {
    let Some(now) = now else { return Ok(false) };
    match without_ours(host, file, now)? {
        Some(left) if left == now => Ok(false),
        Some(left) => replace(file, &left).map(|()| true),
        None => fs::remove_file(file).map_err(|error| cannot("remove", file, &error)).map(|()| true),
    }
}

/// The bytes of a file without our entries; `None` where the whole file is ours.
fn without_ours(host: &Host, file: &Path, now: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let text = match host.entry.shape {
        EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => {
            return Ok((!is_marked(now)).then(|| now.to_vec()));
        }
        EntryShape::Vibe => toml::take_out(host, text_of(file, Some(now))?).map_err(|why| malformed(file, &why))?,
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::Kiro
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Windsurf => jsonc::take_out(text_of(file, Some(now))?, &|leaf| entry::is_ours(host, leaf))
            .map_err(|fault| malformed(file, &fault.to_string()))?,
    };
    Ok(Some(text.into_bytes()))
}

/// Whether a file holds an entry of ours, and the calls in it.
///
/// # Errors
/// When it does not parse.
pub fn calls(host: &Host, file: &Path, bytes: &[u8]) -> Result<Vec<entry::Found>, Refusal> {
    let text = text_of(file, Some(bytes))?;
    match host.entry.shape {
        EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => {
            let event = host.registered().into_iter().find(|(_, slot)| *slot == Slot::PreTool).map(|(event, _)| event);
            let call = match host.entry.shape {
                EntryShape::Script => {
                    entry::Call::Words(vec!["/bin/sh".to_owned(), file.to_string_lossy().into_owned()])
                }
                _ => match module_words(text) {
                    Some(words) => entry::Call::Words(words),
                    None => return Ok(Vec::new()),
                },
            };
            let of_event = |event: &str| entry::Found {
                event: event.to_owned(),
                matcher: None,
                leaf: Value::Null,
                call: call.clone(),
            };
            Ok(if is_marked(bytes) { event.map(of_event).into_iter().collect() } else { Vec::new() })
        }
        EntryShape::Vibe => toml::calls(host, text).map_err(|why| malformed(file, &why)),
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::Kiro
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Windsurf => {
            let value = jsonc::value(text).map_err(|fault| malformed(file, &fault.to_string()))?;
            Ok(entry::found(host, &value))
        }
    }
}

/// The words of the call that a module of ours makes.
pub fn module_words(text: &str) -> Option<Vec<String>> {
    let constant = |name: &str| {
        let prefix = format!("const {name} = ");
        text.lines().find_map(|line| serde_json::from_str::<Value>(line.strip_prefix(&prefix)?).ok())
    };
    let program = constant("program")?.as_str()?.to_owned();
    let args =
        constant("args")?.as_array()?.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect::<Vec<_>>();
    Some(std::iter::once(program).chain(args).collect())
}

impl Places {
    fn path() -> Result<PathBuf, Refusal> {
        Ok(state()?.join("hosts.json"))
    }

    /// What is remembered.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn read() -> Result<Self, Refusal> {
        let path = Self::path()?;
        let Some(bytes) = read_if_there(&path)? else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            Refusal::new(
                Class::Installation,
                format!("{} is damaged: {error}", shown(&path)),
                "move it away, then run `tyran setup` again",
            )
        })
    }

    /// The record of a host's file.
    pub fn of(&self, host: &str, file: &Path) -> Option<&Placed> {
        self.places.iter().find(|placed| placed.host == host && placed.kept.file == file)
    }

    fn write(&self) -> Result<(), Refusal> {
        private_dir(&state()?)?;
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| Refusal::internal(error.to_string()))?;
        replace(&Self::path()?, &bytes)
    }
}

/// The one structure that is not JSON: `[[hooks]]` tables.
mod toml {
    use std::path::Path;

    use serde_json::Value;
    use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

    use crate::host::table::Host;

    use super::super::entry::{self, Call, Found};

    fn parsed(text: &str) -> Result<DocumentMut, String> {
        text.parse::<DocumentMut>().map_err(|error| error.message().to_owned())
    }

    /// The text with a table for each event.
    pub fn wanted(host: &Host, program: &Path, now: &str, base: &str) -> Result<String, String> {
        let tables = tables(host, program);
        let there = calls(host, now)?;
        let is_there = |table: &Table| {
            there.iter().any(|found| {
                found.leaf.get("command").and_then(Value::as_str) == text_at(table, "command")
                    && Some(found.event.as_str()) == text_at(table, "event")
            })
        };
        if tables.iter().all(is_there) && there.len() == tables.len() {
            return Ok(now.to_owned());
        }
        let mut document = parsed(base)?;
        let list = document.entry("hooks").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let list = list.as_array_of_tables_mut().ok_or("`hooks` is there and is not a list of tables")?;
        for table in tables {
            list.push(table);
        }
        Ok(document.to_string())
    }

    fn tables(host: &Host, program: &Path) -> Vec<Table> {
        host.registered()
            .into_iter()
            .map(|(event, slot)| {
                let mut table = Table::new();
                table.insert("event", value(event));
                if let Some(matcher) = entry::matcher(host, event, slot) {
                    table.insert("matcher", value(matcher));
                }
                table.insert("command", value(entry::line(&entry::words(host, event, program))));
                if let Some((key, setting)) = entry::switch(host).filter(|_| slot.can_refuse()) {
                    let setting = setting.as_bool().map_or_else(|| value(setting.to_string()), value);
                    table.insert(key, setting);
                }
                table
            })
            .collect()
    }

    fn text_at<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
        table.get(key)?.as_str()
    }

    fn is_ours(host: &Host, table: &Table) -> bool {
        text_at(table, "command").is_some_and(|line| entry::is_ours(host, &serde_json::json!({ "command": line })))
    }

    /// The text without our tables.
    pub fn take_out(host: &Host, text: &str) -> Result<String, String> {
        let mut document = parsed(text)?;
        let Some(list) = document.get_mut("hooks").and_then(Item::as_array_of_tables_mut) else {
            return Ok(text.to_owned());
        };
        let before = list.len();
        list.retain(|table| !is_ours(host, table));
        if list.len() == before {
            return Ok(text.to_owned());
        }
        Ok(document.to_string())
    }

    /// Our calls.
    pub fn calls(host: &Host, text: &str) -> Result<Vec<Found>, String> {
        let document = parsed(text)?;
        let Some(list) = document.get("hooks").and_then(Item::as_array_of_tables) else { return Ok(Vec::new()) };
        Ok(list
            .iter()
            .filter(|table| is_ours(host, table))
            .filter_map(|table| {
                let line = text_at(table, "command")?;
                let mut leaf = serde_json::json!({ "command": line });
                if let Some((key, _)) = entry::switch(host)
                    && let Some(on) = table.get(key).and_then(Item::as_bool)
                    && let Some(map) = leaf.as_object_mut()
                {
                    map.insert(key.to_owned(), Value::Bool(on));
                }
                Some(Found {
                    event: text_at(table, "event")?.to_owned(),
                    matcher: text_at(table, "matcher").map(str::to_owned),
                    leaf,
                    call: Call::Line(line.to_owned()),
                })
            })
            .collect())
    }
}
