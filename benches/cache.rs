//! Asking the cache for 400,000 objects and for a small push's among them, and writing a small push's into it.
#![allow(missing_docs, clippy::unwrap_used)]

use tyran::payload::{Cache, Elsewhere, Item, ItemKind, ObjectId, Tally};
use tyran::scan::{Coverage, EngineCoverage, Identity};

fn main() {
    divan::main();
}

fn engine() -> Identity {
    Identity { name: "embedded".into(), version: "1".into(), rules: 1, digest: "00".into() }
}

fn items(range: std::ops::Range<u32>) -> Vec<Item> {
    range
        .map(|number| {
            let mut raw = [0; 20];
            raw[..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B9).to_be_bytes());
            raw[4..8].copy_from_slice(&number.to_be_bytes());
            Item {
                kind: ItemKind::Blob,
                oid: Some(ObjectId::try_from(&raw[..]).unwrap()),
                size: 1,
                path: Some(format!("folder/file-{}.txt", number / 16).into()),
                commit: None,
                elsewhere: Elsewhere::Nowhere,
            }
        })
        .collect()
}

fn record(state: &std::path::Path, items: &[Item]) {
    let mut tally = Tally::default();
    items.iter().for_each(|item| tally.add(item.size));
    let read = EngineCoverage { identity: engine(), consumed: tally, millis: 0 };
    let proof = Coverage::prove(tally, vec![read]).unwrap();
    assert!(Cache::open(state, &[engine()]).unwrap().record(&proof, items, &[], &[]));
}

#[divan::bench]
fn ask_for_400k(bencher: divan::Bencher<'_, '_>) {
    let state = tempfile::tempdir().unwrap();
    let items = items(0..400_000);
    record(state.path(), &items);
    bencher.bench(|| {
        let cache = Cache::open(state.path(), &[engine()]).unwrap();
        assert!(items.iter().all(|item| cache.remembers(item)));
    });
}

#[divan::bench]
fn retain_among_400k(bencher: divan::Bencher<'_, '_>) {
    let state = tempfile::tempdir().unwrap();
    let items = items(0..400_000);
    record(state.path(), &items);
    bencher.with_inputs(|| items.clone()).bench_values(|mut items| {
        Cache::open(state.path(), &[engine()]).unwrap().retain_unknown(&mut items, |_| true);
        assert!(items.is_empty());
    });
}

#[divan::bench]
fn ask_for_80_among_400k(bencher: divan::Bencher<'_, '_>) {
    let state = tempfile::tempdir().unwrap();
    record(state.path(), &items(0..400_000));
    let asked = items(399_960..400_040);
    bencher.bench(|| {
        let cache = Cache::open(state.path(), &[engine()]).unwrap();
        assert_eq!(asked.iter().filter(|item| cache.remembers(item)).count(), 40);
    });
}

#[divan::bench]
fn write_a_small_push(bencher: divan::Bencher<'_, '_>) {
    let state = tempfile::tempdir().unwrap();
    record(state.path(), &items(0..400_000));
    let mut next = 400_000;
    bencher
        .with_inputs(|| {
            next += 80;
            items(next - 80..next)
        })
        .bench_local_values(|items| record(state.path(), &items));
}
