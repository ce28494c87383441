//! Everything that a program which nobody can read could publish from a repository.
//!
//! Promise: every object of the local refs that no remote is said to have, what is staged, every tracked
//! file that differs from what is staged, and every untracked file that is not ignored. It is what
//! `git add -A`, `git commit` and `git push --all` or `--mirror` could send between them.
//!
//! Left out, and said so in a note: ignored files. They enter a commit only by force, which the net sees;
//! and most repositories hold real secrets there by design, so that reading them would refuse every
//! unread program in every repository. Also left out: commits that only a reflog knows.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::command::plan::{GitContext, WidestRequest};
use crate::text::SafeText;
use crate::world::World;

use super::commit::parts::{self, Wanted};
use super::commit::site::{Located, Site};
use super::commit::stage::{Stage, nul_separated};
use super::objects::{Format, ObjectStore};
use super::remote::{By, Later};
use super::{Boundary, Destination, Fault, Item, ItemKind, ObjectId, Part, Payload, files};

/// Everything that could be published from the repository; nothing where there is none.
///
/// # Errors
/// When it cannot be listed or read.
pub fn payload(world: &World, request: &WidestRequest) -> Result<Payload, Fault> {
    let located = Located::of(&request.git);
    let mut payload = Payload { notes: vec![request.because.clone()], ..Payload::default() };
    let Some(site) = Site::find(world, &located.context)? else {
        payload.notes.push("no repository is here".into());
        return Ok(payload);
    };
    let store = ObjectStore::open(world, &located.context)?;
    let (tips, boundary) = refs(world, &located.context)?;
    let items = store.reachable(&tips, &boundary.claims)?;
    payload.parts.push(store.part(items));
    if site.top.is_some() {
        payload.absorb(work_tree(world, &located.context)?);
    }
    let place = site.top.as_deref().unwrap_or(&site.git_dir);
    payload.destinations = vec![Destination { url: shown(place), refs: Vec::new() }];
    payload.all_to(Arc::new(Later::new(world, &located.context, By::Claims)));
    payload.exact = false;
    Ok(payload)
}

/// What is staged, and every file that `git add -A` would take.
///
/// # Errors
/// When it cannot be listed or read.
pub fn work_tree(world: &World, git: &GitContext) -> Result<Payload, Fault> {
    let mut stage = Stage::open(world, git)?;
    let head = match &stage.head {
        Some(head) => head.clone(),
        None => parts::empty_tree(&stage)?,
    };
    let tree_of_head = stage.resolve(head.as_ref(), "tree")?.unwrap_or(head);
    let mut wanted = Wanted::default();
    match stage.write_tree()? {
        Some(tree) => parts::entering(&stage, &[tree], std::slice::from_ref(&tree_of_head), &mut wanted)?,
        None => every_entry(&stage, &mut wanted)?,
    }
    let found = Found::look(&stage)?;
    staged_specially(&mut stage, &found.special, &mut wanted)?;
    let names: Vec<u8> = found.names.join(&b"\n"[..]);
    let mut payload = Payload { exact: false, ..Payload::default() };
    payload.parts.extend(parts::part(&stage, wanted)?);
    if !found.items.is_empty() {
        payload.parts.push(Part { items: found.items, source: files::below(&stage.top) });
    }
    if !names.is_empty() {
        payload.parts.push(super::Texts::part([(ItemKind::Message, names.into())]));
    }
    payload.notes.push("ignored files are left out".into());
    payload.notes.append(&mut stage.notes);
    Ok(payload)
}

/// Tips of every ref that is not a copy of a remote's, and of `HEAD`; and the claims: what remotes are
/// said to have, since nobody was asked.
fn refs(world: &World, git: &GitContext) -> Result<(Vec<ObjectId>, Boundary), Fault> {
    let listed = world.git(git, ["for-each-ref", "--format=%(objectname) %(refname)"]).stdout()?;
    let (mut tips, mut claims) = (Vec::new(), Vec::new());
    for line in listed.lines() {
        let (oid, name) = line.split_once_str(" ").unwrap_or((line, b""));
        let oid = id(oid)?;
        if name.starts_with(b"refs/remotes/") { claims.push(oid) } else { tips.push(oid) }
    }
    let head = world.git(git, ["rev-parse", "--verify", "--quiet", "HEAD"]).run()?;
    if head.status.success() {
        tips.push(id(head.stdout.trim())?);
    }
    tips.sort_unstable();
    tips.dedup();
    Ok((tips, Boundary { evidence: Vec::new(), claims }))
}

fn id(hexadecimal: &[u8]) -> Result<ObjectId, Fault> {
    ObjectId::from_hex(hexadecimal).map_err(|_| Fault::Plumbing("git gave an object id that is none".into()))
}

/// The blobs of all index entries; for an index with unmerged paths, which has no tree.
fn every_entry(stage: &Stage<'_>, wanted: &mut Wanted) -> Result<(), Fault> {
    for entry in nul_separated(&stage.git(["ls-files", "-s", "-z"]).stdout()?) {
        let Some((head, path)) = entry.split_once_str("\t") else { continue };
        let mut words = head.fields();
        if let (Some(mode), Some(oid)) = (words.next(), words.next())
            && mode != b"160000"
        {
            wanted.add(&oid.to_str_lossy(), Some(path.into()));
        }
    }
    Ok(())
}

/// Files of the work tree that are not as the index has them.
#[derive(Debug, Default)]
struct Found {
    /// As they are on disk.
    items: Vec<Item>,
    /// Those whose blob differs from their bytes: symbolic links, and files that git converts.
    special: Vec<BString>,
    names: Vec<BString>,
}

impl Found {
    fn look(stage: &Stage<'_>) -> Result<Self, Fault> {
        let args = ["ls-files", "-z", "--others", "--modified", "--exclude-standard", "--deduplicate"];
        let mut names = nul_separated(&stage.git(args).stdout()?);
        names.sort_unstable();
        names.dedup();
        let converted = converted(stage, &names)?;
        let format = Format::from_name(stage.site.format.as_bytes())?;
        let mut found = Self::default();
        for name in names {
            let path = stage.top.join(Path::new(std::ffi::OsStr::from_bytes(&name)));
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                // Deleted since it was staged: that takes content away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(file_fault(&path, &error)),
            };
            if metadata.is_symlink() {
                found.special.push(name.clone());
            } else if metadata.is_file() {
                if stage.world.deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline) {
                    return Err(Fault::Deadline("the files of the work tree were listed".into()));
                }
                if converted.contains(&name) {
                    found.special.push(name.clone());
                }
                found.items.push(files::identified(&path, name.clone(), format)?);
            }
            found.names.push(name);
        }
        Ok(found)
    }
}

/// Which of these files git would convert on their way into a blob.
fn converted(stage: &Stage<'_>, names: &[BString]) -> Result<BTreeSet<BString>, Fault> {
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    if stage.programs.converts_all {
        return Ok(names.iter().cloned().collect());
    }
    let attributes = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];
    let args = ["check-attr", "-z", "--stdin"].into_iter().chain(attributes);
    let list: Vec<u8> = names.iter().flat_map(|name| name.iter().copied().chain([0])).collect();
    let listed = stage.git(args).input(list).stdout()?;
    let mut converted = BTreeSet::new();
    let mut fields = listed.split(|byte| *byte == 0);
    while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        if value != b"unspecified" && value != b"unset" {
            converted.insert(BString::from(path));
        }
    }
    Ok(converted)
}

/// Stages files whose blob is not their bytes, and takes the blobs.
fn staged_specially(stage: &mut Stage<'_>, special: &[BString], wanted: &mut Wanted) -> Result<(), Fault> {
    if special.is_empty() {
        return Ok(());
    }
    let list: Vec<u8> = special.iter().flat_map(|name| name.iter().copied().chain([0])).collect();
    // Its own index: these files alone, whatever the user's index says of them.
    let index = stage.scratch.path().join("special");
    let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
    stage.git(args).var("GIT_INDEX_FILE", &index).input(list).stdout()?;
    let listed = stage.git(["ls-files", "-s", "-z"]).var("GIT_INDEX_FILE", &index).stdout()?;
    let _ = fs::remove_file(&index);
    for entry in nul_separated(&listed) {
        let Some((head, path)) = entry.split_once_str("\t") else { continue };
        if let Some(oid) = head.fields().nth(1) {
            wanted.add(&oid.to_str_lossy(), Some(path.into()));
        }
    }
    Ok(())
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_bytes(), 200)
}

fn file_fault(path: &Path, error: &io::Error) -> Fault {
    Fault::File { path: shown(path), what: error.to_string().into() }
}
