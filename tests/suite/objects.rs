//! What a push sends is listed as git lists it, and read raw and whole; what lies is refused.

use std::path::Path;
use std::sync::Arc;

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Content, Fault, Item, ItemKind, ObjectId};
use tyran::world::World;

use crate::support::{Repo, Sandbox};

/// The context of a plain git command in `dir`.
fn context(sandbox: &Sandbox, dir: &Path) -> GitContext {
    GitContext { dir: dir.to_owned(), env: sandbox.env().into_iter().collect(), globals: Vec::new() }
}

fn world(sandbox: &Sandbox) -> World {
    sandbox.world("")
}

fn open(repo: &Repo<'_>) -> Result<Arc<ObjectStore>, Fault> {
    ObjectStore::open(&world(repo.sandbox), &context(repo.sandbox, &repo.dir))
}

fn id(hex: &str) -> ObjectId {
    ObjectId::from_hex(hex.as_bytes()).unwrap()
}

fn ids(repo: &Repo<'_>, revisions: &[&str]) -> Vec<ObjectId> {
    revisions.iter().map(|revision| id(&repo.git(&["rev-parse", "--verify", revision]))).collect()
}

/// Demands that tyran's list is git's, and that every item of it can be read.
fn same_as_git(repo: &Repo<'_>, tips: &[&str], boundary: &[&str]) -> usize {
    let store = open(repo).unwrap();
    let (tips, boundary) = (ids(repo, tips), ids(repo, boundary));
    let check = store.cross_check(&tips, &boundary).unwrap();
    assert!(check.agrees(), "{check:?}");
    let items = store.reachable(&tips, &boundary).unwrap();
    let count = items.len();
    let (objects, bytes) = read_all(&store, items).unwrap();
    assert_eq!((objects, bytes), (check.ours.objects, check.ours.bytes));
    count
}

/// Reads every item; how many, and of how many bytes.
fn read_all(store: &Arc<ObjectStore>, items: Vec<Item>) -> Result<(u64, u64), Fault> {
    let part = store.part(items);
    let mut reader = part.source.reader()?;
    let (mut objects, mut bytes) = (0, 0);
    for item in &part.items {
        reader.read(item, &mut |content| {
            bytes += match content {
                Content::Whole(whole) => whole.len() as u64,
                Content::Stream(stream) => std::io::copy(stream, &mut std::io::sink()).unwrap_or(0),
            };
            Ok(())
        })?;
        objects += 1;
    }
    Ok((objects, bytes))
}

#[test]
fn list_is_gits_for_a_plain_history() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.commit("folder/two.txt", "2");
    repo.commit("folder/three.txt", "3");
    assert_eq!(same_as_git(&repo, &["HEAD"], &[]), 11);
    assert_eq!(same_as_git(&repo, &["HEAD"], &["HEAD~1"]), 4);
    assert_eq!(same_as_git(&repo, &["HEAD"], &["HEAD"]), 0);
    repo.git(&["gc", "-q"]);
    assert_eq!(same_as_git(&repo, &["HEAD"], &[]), 11);
}

#[test]
fn items_say_where_they_were_seen_first() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let first = repo.commit("folder/one.txt", "1");
    repo.commit("copy.txt", "1");
    let store = open(&repo).unwrap();
    let items = store.reachable(&ids(&repo, &["HEAD"]), &[]).unwrap();
    let blob = items.iter().find(|item| item.kind == ItemKind::Blob).unwrap();
    assert_eq!(blob.path.as_ref().unwrap(), "folder/one.txt");
    assert_eq!(blob.commit, Some(id(&first)));
    assert_eq!(blob.size, 1);
}
