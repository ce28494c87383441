//! Listing and reading what a push would send, on a repository that `TYRAN_BENCH_REPOSITORY` names
//! (`--git-dir`), for the range from `TYRAN_BENCH_BASE` (empty: everything) to HEAD.
#![allow(missing_docs, clippy::unwrap_used)]

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Content, ObjectId};
use tyran::world::{Caution, World};

fn main() {
    if env::var_os("TYRAN_BENCH_REPOSITORY").is_none() {
        eprintln!("skipped: TYRAN_BENCH_REPOSITORY names no repository");
        return;
    }
    divan::main();
}

fn open() -> Arc<ObjectStore> {
    let repository = env::var_os("TYRAN_BENCH_REPOSITORY").unwrap();
    let world = World::of_process(Caution::ByHand).unwrap();
    let context = GitContext {
        dir: PathBuf::from(&repository),
        env: world.env.clone(),
        globals: vec!["--git-dir".into(), repository],
    };
    ObjectStore::open(&world, &context).unwrap()
}

fn range() -> (Vec<ObjectId>, Vec<ObjectId>) {
    let resolve = |revision: &str| {
        let repository = env::var_os("TYRAN_BENCH_REPOSITORY").unwrap();
        let output = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(repository)
            .args(["rev-parse", "--verify", revision])
            .output()
            .unwrap();
        ObjectId::from_hex(output.stdout.trim_ascii()).unwrap()
    };
    let base = env::var("TYRAN_BENCH_BASE").unwrap_or_default();
    let boundary = if base.is_empty() { Vec::new() } else { vec![resolve(&base)] };
    (vec![resolve("HEAD")], boundary)
}

#[divan::bench]
fn open_store() -> Arc<ObjectStore> {
    open()
}

#[divan::bench]
fn list(bencher: divan::Bencher<'_, '_>) {
    let (store, (tips, boundary)) = (open(), range());
    bencher.bench(|| store.reachable(&tips, &boundary).unwrap().len());
}

#[divan::bench]
fn read(bencher: divan::Bencher<'_, '_>) {
    let (store, (tips, boundary)) = (open(), range());
    let part = store.part(store.reachable(&tips, &boundary).unwrap());
    bencher.bench(|| {
        let mut reader = part.source.reader().unwrap();
        let mut bytes = 0;
        for item in &part.items {
            reader
                .read(item, &mut |content| {
                    bytes += match content {
                        Content::Whole(whole) => whole.len() as u64,
                        Content::Stream(stream) => std::io::copy(stream, &mut std::io::sink()).unwrap(),
                    };
                    Ok(())
                })
                .unwrap();
        }
        bytes
    });
}
