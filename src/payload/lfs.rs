//! Content that Git LFS would upload beside a push.
//!
//! Promise: every pointer among the blobs that git-lfs' own pre-push hook would look at (what is sent
//! and no tracking ref of that remote has, intermediate commits too; for `git lfs push` all history of
//! the refs) is followed to the content in the local store, which is read whole and must have the
//! digest that the pointer names. Content that is not here cannot be uploaded from here: a note says
//! so. The endpoint is named, since a committed `.lfsconfig` may send content elsewhere.
//!
//! Whether the hook runs is read from the hook's text, so that a repository without git-lfs' hook
//! costs nothing and its store is left alone. (git-lfs 3.3 `docs/man/git-lfs-pre-push`,
//! `docs/spec.md`, and measured.)

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix::objs::Kind;
use sha2::{Digest, Sha256};

use crate::command::plan::GitContext;
use crate::text::SafeText;
use crate::world::World;

use super::commit::stage::nul_separated;
use super::objects::ObjectStore;
use super::push::destination::shown;
use super::source::Sink;
use super::{Content, Destination, Elsewhere, Fault, Item, ItemKind, ObjectId, Part, Reader, Source};

/// A pointer is shorter than this, in bytes (git-lfs `lfs/pointer.go`, `blobSizeCutoff`).
const POINTER_LIMIT: u64 = 1024;

/// The shortest pointer that could be one.
const POINTER_LEAST: u64 = 100;

/// Files up to this size are handed over whole. In bytes.
const WHOLE_BYTES: u64 = 8 << 20;

/// First lines of a pointer; the latter two are of its past, and still read.
const VERSIONS: [&[u8]; 3] = [
    b"version https://git-lfs.github.com/spec/v1",
    b"version https://hawser.github.com/spec/v1",
    b"version http://git-media.io/v/2",
];

/// How much of history is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// As the pre-push hook does, when there is one: what no tracking ref of the remote has.
    Hook,
    /// As `git lfs push` does: all of it.
    All,
}

/// What would be uploaded.
#[derive(Debug)]
pub struct Uploads {
    /// The content.
    pub part: Part,
    /// Where it would go.
    pub destination: Destination,
    /// Pointers whose content is not here.
    pub notes: Vec<SafeText>,
}

/// What a push of `tips` from the repository to `url` makes git-lfs upload; `None` for nothing.
///
/// # Errors
/// When configuration or objects cannot be read.
pub fn uploads(
    world: &World,
    git: &GitContext,
    tips: &[ObjectId],
    to: (Option<&BStr>, &BStr),
    reach: Reach,
) -> Result<Option<Uploads>, Fault> {
    if tips.is_empty() {
        return Ok(None);
    }
    let config = Config::read(world, git)?;
    let runs = match reach {
        Reach::All => true,
        Reach::Hook => !skips(world, git) && config.hook_uploads(git),
    };
    if !runs {
        return Ok(None);
    }
    let store = &ObjectStore::open(world, git)?;
    let stores = config.stores(store);
    if stores.is_empty() {
        return Ok(None);
    }
    let boundary = match (reach, to.0) {
        (Reach::Hook, Some(remote)) => tracking(world, git, remote)?,
        (Reach::Hook, None) | (Reach::All, _) => Vec::new(),
    };
    let pointers = pointers(store, store.reachable(tips, &boundary)?)?;
    if pointers.is_empty() {
        return Ok(None);
    }
    let (part, notes) = held(&stores, pointers)?;
    let destination = Destination { url: config.endpoint(world, git, to), refs: Vec::new() };
    Ok(Some(Uploads { part, destination, notes }))
}

/// What the pointers among the objects of a commit name, where a push of it would upload that: the objects are
/// found as `scratch` sees the repository. Also what a person should know.
///
/// # Errors
/// When configuration or objects cannot be read.
pub fn of_commit(
    world: &World,
    git: &GitContext,
    scratch: &GitContext,
    items: &[Item],
) -> Result<Option<(Part, Vec<SafeText>)>, Fault> {
    if !items.iter().any(may_be_pointer) {
        return Ok(None);
    }
    // Small files are in most commits, and pointers in few: git is asked for its settings behind that.
    let store = ObjectStore::open(world, scratch)?;
    let pointers = pointers(&store, items.iter().cloned())?;
    if pointers.is_empty() {
        return Ok(None);
    }
    let config = Config::read(world, git)?;
    let stores = config.stores(&store);
    if stores.is_empty() || skips(world, git) || !config.hook_uploads(git) {
        return Ok(None);
    }
    held(&stores, pointers).map(Some)
}

/// Whether the line itself tells git-lfs' hook to upload nothing (git-lfs 3.3 `commands/command_pre_push.go`, values
/// as its `config` takes them). What the environment of this process says is no evidence: the shell that runs the line may have
/// another.
fn skips(world: &World, git: &GitContext) -> bool {
    const SKIP: &str = "GIT_LFS_SKIP_PUSH";
    let is_set = git.env.get(OsStr::new(SKIP)).is_some_and(|value| {
        matches!(value.to_string_lossy().to_lowercase().as_str(), "true" | "1" | "on" | "yes" | "t")
    });
    is_set && world.var(SKIP).is_none()
}

/// The content that pointers name, as far as it is here.
fn held(stores: &[PathBuf], pointers: BTreeMap<[u8; 32], Option<BString>>) -> Result<(Part, Vec<SafeText>), Fault> {
    let mut held = Held::default();
    let mut items = Vec::new();
    let mut missing = 0;
    for (digest, path) in pointers {
        let file = stores.iter().map(|stored| place(stored, &digest)).find(|path| path.is_file());
        let Some(file) = file else {
            missing += 1;
            continue;
        };
        let size = file.metadata().map_err(|error| fault(&file, &error))?.len();
        let oid = Some(ObjectId::Sha256(digest));
        items.push(Item { kind: ItemKind::Lfs, oid, size, path, commit: None, elsewhere: Elsewhere::Nowhere });
        held.files.insert(digest, file);
    }
    let mut notes = Vec::new();
    if missing > 0 {
        notes.push(SafeText::new(&format!(
            "LFS: the content of {missing} pointer(s) is not here and cannot be uploaded from here"
        )));
    }
    Ok((Part { items, source: Box::new(held) }, notes))
}

/// The same where it is not known which refs are meant: every branch and tag, and `HEAD`.
///
/// # Errors
/// When refs or objects cannot be read.
pub fn uploads_of_any(world: &World, git: &GitContext) -> Result<Option<Uploads>, Fault> {
    let listed = world.git(git, ["for-each-ref", "--format=%(objectname)"]).stdout()?;
    let mut tips: Vec<ObjectId> = listed.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect();
    let head = world.git(git, ["rev-parse", "--verify", "--quiet", "HEAD"]).run()?;
    tips.extend(ObjectId::from_hex(head.stdout.trim()).ok());
    uploads(world, git, &tips, (None, b"a remote that is not known".as_bstr()), Reach::All)
}

/// What tracking refs say that a remote has: git-lfs looks no further back.
fn tracking(world: &World, git: &GitContext, remote: &BStr) -> Result<Vec<ObjectId>, Fault> {
    let below = format!("refs/remotes/{}/", remote.to_str_lossy());
    let listed = world.git(git, ["for-each-ref", "--format=%(objectname)", &below]).stdout()?;
    Ok(listed.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
}

/// Whether an object is of a pointer's kind and size.
fn may_be_pointer(item: &Item) -> bool {
    item.kind == ItemKind::Blob && item.size >= POINTER_LEAST && item.size <= POINTER_LIMIT
}

/// Every pointer's digest, with a path that it is seen under.
fn pointers(
    store: &Arc<ObjectStore>,
    items: impl IntoIterator<Item = Item>,
) -> Result<BTreeMap<[u8; 32], Option<BString>>, Fault> {
    let mut found = BTreeMap::new();
    for item in items.into_iter().filter(may_be_pointer) {
        let Some(oid) = item.oid else { continue };
        let (kind, bytes) = store.whole(&oid, POINTER_LIMIT)?;
        if kind == Kind::Blob
            && let Some(digest) = pointer(&bytes)
        {
            found.entry(digest).or_insert(item.path);
        }
    }
    Ok(found)
}

/// The digest that a pointer names; `None` for what is no pointer. More is taken for one than git-lfs
/// takes: any order of lines, unknown keys.
fn pointer(bytes: &[u8]) -> Option<[u8; 32]> {
    let mut lines = bytes.lines();
    let first = lines.next()?.trim();
    if !VERSIONS.contains(&first) {
        return None;
    }
    let digest = lines.find_map(|line| line.trim().strip_prefix(b"oid sha256:"))?;
    let mut digits = [0; 32];
    hex::decode_to_slice(digest.trim(), &mut digits).ok()?;
    Some(digits)
}

/// Where content of this digest stands in a store.
fn place(stored: &Path, digest: &[u8; 32]) -> PathBuf {
    let name = hex::encode(digest);
    let (first, rest) = name.split_at(2);
    let (second, _) = rest.split_at(2);
    stored.join(first).join(second).join(&name)
}

/// Settings of git-lfs.
struct Config {
    entries: Vec<(BString, BString)>,
    hooks_path: Option<BString>,
    /// The hooks folder of the repository itself.
    own_hooks: PathBuf,
}

impl Config {
    fn read(world: &World, git: &GitContext) -> Result<Self, Fault> {
        let split = |(_, entry): &(Vec<u8>, Vec<u8>)| {
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            (BString::from(key), BString::from(value))
        };
        let entries: Vec<_> = world.settings(git)?.iter().map(split).collect();
        let mut paths: Vec<BString> =
            entries.iter().filter(|(key, _)| key == "core.hookspath").map(|(_, value)| value.clone()).collect();
        // The last one is ours, which keeps hooks from running in this very call.
        paths.pop();
        let location = world.location(git)?;
        let location = location.ok_or_else(|| Fault::Repository("its path has a line break in it".into()))?;
        let own_hooks = location.common_dir.join("hooks");
        Ok(Self { hooks_path: paths.pop(), entries, own_hooks })
    }

    fn last(&self, key: &str) -> Option<&BString> {
        self.entries.iter().rev().find(|(other, _)| other.eq_ignore_ascii_case(key.as_bytes())).map(|(_, value)| value)
    }

    /// Stores that are there: the repository's own, and those beside its alternates.
    fn stores(&self, store: &ObjectStore) -> Vec<PathBuf> {
        let own = match self.last("lfs.storage") {
            Some(path) => store.common_dir().join(OsStr::from_bytes(path)),
            None => store.common_dir().join("lfs"),
        };
        let beside = store.object_dirs().iter().filter_map(|objects| Some(objects.parent()?.join("lfs")));
        let mut stores: Vec<PathBuf> = std::iter::once(own).chain(beside).map(|path| path.join("objects")).collect();
        stores.retain(|path| path.is_dir());
        stores
    }

    /// Whether a pre-push hook that runs git-lfs is there, or one that another hook chains to.
    fn hook_uploads(&self, git: &GitContext) -> bool {
        let folder = match &self.hooks_path {
            Some(path) => git.below_home(path).unwrap_or_else(|| git.dir.join(OsStr::from_bytes(path))),
            None => self.own_hooks.clone(),
        };
        let own = self.own_hooks.clone();
        let runs_lfs = |text: &[u8]| text.contains_str("git lfs") || text.contains_str("git-lfs");
        let by_file = [folder, own].iter().any(|folder| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .filter(|entry| entry.file_name().as_bytes().starts_with(b"pre-push"))
                .filter(|entry| !entry.file_name().as_bytes().ends_with(b".sample"))
                .any(|entry| fs::read(entry.path()).is_ok_and(|text| runs_lfs(&text)))
        });
        let by_setting = self
            .entries
            .iter()
            .any(|(key, value)| key.starts_with(b"hook.") && key.ends_with(b".command") && runs_lfs(value));
        by_file || by_setting
    }

    /// Where content would go, for the report: configuration, then the committed `.lfsconfig`, then a
    /// place beside the url of the push (git-lfs `docs/api/server-discovery.md`).
    fn endpoint(&self, world: &World, git: &GitContext, (remote, url): (Option<&BStr>, &BStr)) -> SafeText {
        let named = |name: &str| remote.map(|remote| format!("remote.{}.{name}", remote.to_str_lossy()));
        let keys: Vec<String> =
            [Some("lfs.pushurl".to_owned()), named("lfspushurl"), Some("lfs.url".to_owned()), named("lfsurl")]
                .into_iter()
                .flatten()
                .collect();
        if let Some(value) = keys.iter().find_map(|key| self.last(key)) {
            return SafeText::new(&format!("LFS at {}", shown(value.as_bstr())));
        }
        let committed = committed_settings(world, git);
        let by_repository =
            keys.iter().find_map(|key| committed.iter().find(|(other, _)| other.eq_ignore_ascii_case(key.as_bytes())));
        match by_repository {
            Some((_, value)) => SafeText::new(&format!("LFS at {}, which .lfsconfig names", shown(value.as_bstr()))),
            None => SafeText::new(&format!("LFS at {}/info/lfs", shown(url))),
        }
    }
}

/// `.lfsconfig` of the work tree, the index or `HEAD`, as git-lfs looks for it.
fn committed_settings(world: &World, git: &GitContext) -> Vec<(BString, BString)> {
    for source in [["--file", ".lfsconfig"], ["--blob", ":.lfsconfig"], ["--blob", "HEAD:.lfsconfig"]] {
        let Ok(listed) = world.git(git, ["config", source[0], source[1], "--list", "-z"]).stdout() else { continue };
        let split = |entry: BString| {
            let (key, value) = entry.split_once_str("\n").unwrap_or((&entry, b""));
            (BString::from(key), BString::from(value))
        };
        return nul_separated(&listed).into_iter().map(split).collect();
    }
    Vec::new()
}

/// Content by digest.
#[derive(Debug, Default)]
struct Held {
    files: BTreeMap<[u8; 32], PathBuf>,
}

impl Source for Held {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(HeldReader { held: self }))
    }
}

struct HeldReader<'a> {
    held: &'a Held,
}

impl Reader for HeldReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let digest = match item.oid {
            Some(ObjectId::Sha256(digest)) => digest,
            Some(_) | None => return Err(foreign()),
        };
        let path = self.held.files.get(&digest).ok_or_else(foreign)?;
        let file = File::open(path).map_err(|error| fault(path, &error))?;
        let mut checked = Checked { file, hasher: Sha256::new(), digest, over: false };
        if item.size > WHOLE_BYTES {
            return sink(Content::Stream(&mut checked));
        }
        let mut bytes = Vec::new();
        checked.read_to_end(&mut bytes).map_err(|error| fault(path, &error))?;
        sink(Content::Whole(&bytes))
    }
}

/// A file that must have the digest it is stored under; else its last read fails.
struct Checked {
    file: File,
    hasher: Sha256,
    digest: [u8; 32],
    over: bool,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        if read == 0 && !buffer.is_empty() && !self.over {
            self.over = true;
            if self.hasher.finalize_reset().as_slice() != self.digest {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "LFS content is not what its name says"));
            }
        }
        Ok(read)
    }
}

fn foreign() -> Fault {
    Fault::Plumbing("LFS content was asked for from another part".into())
}

fn fault(path: &Path, error: &io::Error) -> Fault {
    Fault::File { path: SafeText::quoted(path.as_os_str().as_bytes(), 200), what: error.to_string().into() }
}

/// Digests that several uploads share count once.
pub(super) fn once(uploads: &mut Uploads, seen: &mut BTreeSet<ObjectId>) {
    uploads.part.items.retain(|item| item.oid.is_none_or(|oid| seen.insert(oid)));
}
