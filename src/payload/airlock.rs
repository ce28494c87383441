//! The exact answer from git itself: the pack that it would send, made here and read here.
//!
//! Promise: the items are the objects of the very pack that git makes for this update, read from that
//! pack and not from the repository, whatever grafts, commit-graphs, bitmaps or pack indices say. For
//! stores that may lie, and for whoever wants certainty instead of a prediction.
//!
//! `git push` runs `git pack-objects --revs --stdout` and writes what it should and should not send to
//! its standard input: `^ID` for each id that the destination advertised and that exists here, `ID` for
//! each new one, also of refs that it rejects itself (git 2.47 `send-pack.c`). The same is run here,
//! its output kept in a folder of our own and indexed, which hashes every object. Only `--thin` is left
//! out: it changes how objects are written and not which. No receiving side is run, so nothing that a
//! server would refuse is lost, and no hook, URL rewriting or transport takes part. Nothing is sent.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use bstr::ByteSlice;

use super::objects::ObjectStore;
use super::objects::hash::Format;
use super::{Fault, ObjectId, Payload};
use crate::command::plan::GitContext;
use crate::text::SafeText;
use crate::world::git::{GitCall, GitFault};
use crate::world::scratch::Scratch;
use crate::world::{Environment, World};

/// What git would send to a place that advertises `advertised`, when refs are to be updated to `new`:
/// all of them, also those that the client or the server would reject.
///
/// # Errors
/// When git cannot make the pack, or the pack is not what it says.
pub fn payload(
    world: &World,
    context: &GitContext,
    new: &[ObjectId],
    advertised: &[ObjectId],
) -> Result<Payload, Fault> {
    let folder = Scratch::new().map_err(|error| disk(&error))?;
    let packs = folder.path().join("pack");
    fs::create_dir(&packs).map_err(|error| disk(&error))?;
    let pack = packs.join("pack-quarantine.pack");
    let revisions = revisions(world, context, new, advertised)?;
    make_pack(world, context, revisions, &pack)?;
    let promised = object_count(&pack)?;
    if promised == 0 {
        return Ok(Payload { exact: true, ..Payload::default() });
    }
    let format = answer(world, context, &["rev-parse", "--show-object-format"])?;
    index_pack(world, folder.path(), &pack, &format)?;
    let store = ObjectStore::of_quarantine(folder.path(), Format::from_name(&format)?)?;
    // Its files are mapped and need no names any more: so they are gone however this process ends.
    drop(folder);
    let items = store.everything()?;
    if items.len() as u64 != u64::from(promised) {
        return Err(Fault::Store(SafeText::new(&format!(
            "git's pack promises {promised} objects and holds {}",
            items.len()
        ))));
    }
    Ok(Payload { parts: vec![store.part(items)], exact: true, ..Payload::default() })
}

/// A call in which grafts and shallow commits are those of the judged command.
fn call<'a, S: AsRef<OsStr>>(
    world: &'a World,
    context: &'a GitContext,
    args: impl IntoIterator<Item = S>,
) -> GitCall<'a> {
    let mut call = world.git(context, args);
    for name in ["GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"] {
        if let Some(value) = context.env.get(OsStr::new(name)) {
            call = call.var(name, value);
        }
    }
    call
}

/// What `git push` writes to pack-objects.
fn revisions(world: &World, context: &GitContext, new: &[ObjectId], advertised: &[ObjectId]) -> Result<Vec<u8>, Fault> {
    let mut asked = String::new();
    for id in new.iter().chain(advertised) {
        asked.push_str(&format!("{id}\n"));
    }
    let told = call(world, context, ["cat-file", "--batch-check=%(objectname)"]).input(asked.into_bytes()).stdout()?;
    let mut here = told.lines().map(|line| !line.ends_with(b" missing"));
    let mut revisions = String::new();
    for id in new {
        if here.next() != Some(true) {
            return Err(Fault::Missing { oid: id.to_string(), hint: "it is to be pushed and is not here".into() });
        }
        revisions.push_str(&format!("{id}\n"));
    }
    for id in advertised {
        if here.next() == Some(true) {
            revisions.push_str(&format!("^{id}\n"));
        }
    }
    Ok(revisions.into_bytes())
}

fn make_pack(world: &World, context: &GitContext, revisions: Vec<u8>, pack: &Path) -> Result<(), Fault> {
    let output = File::create(pack).map_err(|error| disk(&error))?;
    let mut args: Vec<OsString> = vec!["-c".into(), commit_graph_setting(world, context)?];
    args.extend(["pack-objects", "--all-progress-implied", "--revs", "--stdout"].map(OsString::from));
    args.extend(["--delta-base-offset", "-q"].map(OsString::from));
    if answer(world, context, &["rev-parse", "--is-shallow-repository"])? == b"true" {
        args.push("--shallow".into());
    }
    let done = call(world, context, args)
        .input(revisions)
        .job()?
        .run_into(output)
        .map_err(|fault| Fault::from(GitFault::from(fault)))?;
    if done.status.success() {
        return Ok(());
    }
    let message = done.stderr.lines().take(3).collect::<Vec<_>>().join(&b' ');
    Err(Fault::Plumbing(SafeText::new(&format!("git could not make the pack: {}", SafeText::quoted(&message, 300)))))
}

/// `core.commitGraph` as the judged command's git has it. Ours, the last of the values, is off.
fn commit_graph_setting(world: &World, context: &GitContext) -> Result<OsString, Fault> {
    let question = ["config", "--type=bool", "-z", "--get-all", "core.commitGraph"];
    let values = world.git(context, question).stdout()?;
    let judged = values.split(|byte| *byte == 0).rev().nth(2);
    let judged = judged.and_then(|value| value.to_os_str().ok()).unwrap_or(OsStr::new("true"));
    let mut setting = OsString::from("core.commitGraph=");
    setting.push(judged);
    Ok(setting)
}

/// Hashes and indexes the pack. Outside of the repository: inside, git would compare with the objects
/// there, and refuse what one of its indices lies about.
fn index_pack(world: &World, folder: &Path, pack: &Path, format: &[u8]) -> Result<(), Fault> {
    let format = format.to_os_str().map_err(|_| Fault::Plumbing("git's object format is no text".into()))?;
    let mut option = OsString::from("--object-format=");
    option.push(format);
    let mut context = GitContext { dir: folder.to_owned(), env: Environment::new(), globals: Vec::new() };
    context.env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
    // A folder for temporary files may itself stand in a repository.
    context.env.insert("GIT_CEILING_DIRECTORIES".into(), folder.parent().unwrap_or(folder).into());
    let indexed = world.git(&context, [OsStr::new("index-pack"), &option, pack.as_os_str()]).stdout();
    indexed.map(drop).map_err(|fault| match fault {
        GitFault::Failed { message, .. } => Fault::Store(SafeText::new(&format!(
            "git makes a pack of it that cannot be read: {}",
            SafeText::quoted(message.as_bytes(), 200)
        ))),
        other @ (GitFault::NoGit | GitFault::Child(_)) => Fault::from(other),
    })
}

/// What git answers in one line.
fn answer(world: &World, context: &GitContext, question: &[&str]) -> Result<Vec<u8>, Fault> {
    Ok(world.git(context, question).stdout()?.trim_ascii_end().to_vec())
}

/// How many objects a pack's header promises.
fn object_count(pack: &Path) -> Result<u32, Fault> {
    let mut header = [0; 12];
    File::open(pack).and_then(|mut file| file.read_exact(&mut header)).map_err(|error| disk(&error))?;
    match header {
        [b'P', b'A', b'C', b'K', _, _, _, _, count @ ..] => Ok(u32::from_be_bytes(count)),
        _ => Err(Fault::Plumbing("git's pack has no header".into())),
    }
}

fn disk(error: &std::io::Error) -> Fault {
    Fault::File { path: "the airlock's temporary folder".into(), what: SafeText::new(&error.to_string()) }
}
