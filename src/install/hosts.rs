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
use super::{entry, modules, tables};

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
/// told to keep its files in instead; or what a variable says, where the row names one.
pub fn expanded(world: &World, host: &Host, named: &str) -> Option<PathBuf> {
    let told = |name: &str| world.var(name).filter(|value| !value.is_empty()).map(|value| world.cwd.join(value));
    if let Some(name) = named.strip_prefix('$') {
        return told(name);
    }
    let moved = host.entry.moved_by.as_deref().and_then(told);
    let usual = host.entry.found_by.as_deref();
    if let (Some(folder), Some(below)) = (moved, usual.and_then(|usual| named.strip_prefix(usual))) {
        return Some(folder.join(below.trim_start_matches('/')));
    }
    if let (true, Some(below), Some(folder)) =
        (host.entry.xdg, named.strip_prefix("~/.config/"), told("XDG_CONFIG_HOME"))
    {
        return Some(folder.join(below));
    }
    match (named.strip_prefix("~/"), host.entry.home_by.as_deref().and_then(told)) {
        (Some(below), Some(home)) => Some(home.join(below)),
        (Some(_), None) | (None, _) => usually(world, named),
    }
}

/// A path of a row as it is where no variable moves anything.
pub fn usually(world: &World, named: &str) -> Option<PathBuf> {
    match named.strip_prefix("~/") {
        Some(below) => Some(world.var("HOME").map(PathBuf::from).or_else(user_home)?.join(below)),
        None => Some(world.cwd.join(named)),
    }
}

/// The files that a path of the host's row stands for: `*` in its last name is any text.
///
/// # Errors
/// When the folder is there and cannot be listed.
pub fn expanded_all(world: &World, host: &Host, named: &str) -> Result<Vec<PathBuf>, Refusal> {
    let Some(path) = expanded(world, host, named) else { return Ok(Vec::new()) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (Some((before, after)), Some(folder)) = (name.split_once('*'), path.parent()) else { return Ok(vec![path]) };
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot("list", folder, &error)),
    };
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.map_err(|error| cannot("list", folder, &error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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
        let text = tables::wanted(host, program, now_text, base_text).map_err(|why| malformed(file, &why))?;
        return as_it_is_read(host, file, text);
    }
    if host.entry.shape == EntryShape::KiroAgent && now.is_none() {
        return Err(Refusal::new(
            Class::Installation,
            format!("{} is not there, and an agent is not ours to make", shown(file)),
            format!("make the agent with {}, then run it again", host.product),
        ));
    }
    let text = json(host, program, now_text, base_text).map_err(|fault| malformed(file, &fault.to_string()))?;
    as_it_is_read(host, file, text)
}

/// A text as bytes, unless the host would not read it.
fn as_it_is_read(host: &Host, file: &Path, text: String) -> Result<Vec<u8>, Refusal> {
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
    if host.entry.shape == EntryShape::Vibe {
        return text.starts_with('\u{feff}').then_some("a byte-order mark");
    }
    let reads = host.entry.reads.as_ref()?;
    jsonc::extras(text).into_iter().find(|extra| !reads.contains(extra)).map(|extra| match extra {
        Extra::Comments => "a comment",
        Extra::Commas => "a comma after a last entry",
        Extra::Mark => "a byte-order mark",
        Extra::Within => "`//` or `/*` inside a text, which the host takes for a comment",
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
        // A link that leads to nothing holds no entry.
        if read_if_there(&file)?.is_none() {
            continue;
        }
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
        EntryShape::Vibe => tables::take_out(host, text_of(file, Some(now))?).map_err(|why| malformed(file, &why))?,
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
        EntryShape::Vibe => tables::calls(host, text).map_err(|why| malformed(file, &why)),
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
