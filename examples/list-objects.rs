//! Lists what a push of TIPS would send to a place that has BOUNDARY: `id kind size path`, one a line.
//!
//! `list-objects --git-dir DIR [--read] TIP... [^BOUNDARY...]`; `-` takes more of them from standard
//! input. With `--read` every object is read and re-hashed too. For `scripts/compare-with-git`, which compares it with git itself.
#![allow(missing_docs)]

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Content, Fault, ObjectId};
use tyran::world::{Caution, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: VecDeque<String> = std::env::args().skip(1).collect();
    let (mut git_dir, mut read) = (PathBuf::from(".git"), false);
    let (mut tips, mut boundary) = (Vec::new(), Vec::new());
    while let Some(arg) = args.pop_front() {
        match arg.as_str() {
            "--git-dir" => git_dir = args.pop_front().ok_or("--git-dir needs a directory")?.into(),
            "--read" => read = true,
            "-" => args.extend(std::io::read_to_string(std::io::stdin())?.lines().map(str::to_owned)),
            other => match other.strip_prefix('^') {
                Some(hex) => boundary.push(ObjectId::from_hex(hex.as_bytes())?),
                None => tips.push(ObjectId::from_hex(other.as_bytes())?),
            },
        }
    }
    let world = World::of_process(Caution::ByHand)?;
    let git_dir = world.cwd.join(git_dir);
    let globals = vec!["--git-dir".into(), git_dir.clone().into_os_string()];
    let context = GitContext { dir: git_dir, env: world.env.clone(), globals };
    let store = ObjectStore::open(&world, &context)?;
    let part = store.part(store.reachable(&tips, &boundary)?);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for item in &part.items {
        let id = item.oid.ok_or("an object without an id")?;
        let kind = format!("{:?}", item.kind).to_lowercase();
        let path = item.path.as_ref().map(|path| path.to_string()).unwrap_or_default();
        writeln!(out, "{id} {kind} {} {path}", item.size)?;
    }
    out.flush()?;
    if read {
        let mut reader = part.source.reader()?;
        for item in &part.items {
            reader.read(item, &mut |content| match content {
                Content::Whole(_) => Ok(()),
                Content::Stream(stream) => std::io::copy(stream, &mut std::io::sink())
                    .map(drop)
                    .map_err(|error| Fault::Plumbing(error.to_string().into())),
            })?;
        }
    }
    Ok(())
}
