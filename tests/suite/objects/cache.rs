//! What was read and found clean is remembered, and nothing else.

use super::*;
use tyran::payload::{Boundary, Cache, Selection, Tally};
use tyran::scan::{Confidence, Coverage, EngineCoverage, Finding, Identity, Secret, Severity};

fn selected(boundary: &Boundary, store: &ObjectStore, tips: &[ObjectId], cache: Option<&Cache>) -> Selection {
    boundary.select(store, tips, cache).unwrap()
}

/// An engine that read all of `items` and found nothing.
fn proof(items: &[Item], engine: &Identity) -> Coverage {
    let mut tally = Tally::default();
    for item in items {
        tally.add(item.size);
    }
    let engine = EngineCoverage { identity: engine.clone(), consumed: tally, millis: 0 };
    Coverage::prove(tally, vec![engine]).unwrap()
}

fn engine(digest: &str) -> Identity {
    Identity { name: "embedded".into(), version: "1".into(), rules: 3, digest: digest.into() }
}

fn finding(item: &Item) -> Finding {
    Finding {
        rule: "rule".into(),
        description: "".into(),
        engine: "embedded",
        item: item.clone(),
        part: 0,
        start: 0,
        end: 1,
        line: 1,
        end_line: 1,
        column: 1,
        end_column: 1,
        matched: Secret::new("x"),
        secret: Secret::new("x"),
        line_text: Secret::new("x"),
        entropy: 0.0,
        tags: Vec::new().into(),
        severity: Severity::High,
        confidence: Confidence::High,
        within: Vec::new(),
        remedy: None,
    }
}

/// A child that another test starts at this moment holds a writer's lock until it is the program it will be, so that
/// the next writer may find the file in use, and writes nothing.
fn until_written(record: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        let written = record();
        if !written {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        written
    })
}

#[test]
fn claims_exclude_only_what_was_read_and_found_clean() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.commit("two.txt", "2");
    repo.commit("three.txt", "3");
    let store = open(&repo).unwrap();
    let tips = ids(&repo, &["HEAD"]);
    let claimed = Boundary { evidence: Vec::new(), claims: ids(&repo, &["HEAD~1"]) };
    let known = Boundary { evidence: ids(&repo, &["HEAD~1"]), claims: Vec::new() };
    assert_eq!(selected(&claimed, &store, &tips, None).items.len(), 9);
    assert_eq!(selected(&known, &store, &tips, None).items.len(), 3);

    let cache = || Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let first = selected(&claimed, &store, &tips, Some(&cache()));
    assert_eq!((first.items.len(), first.remembered), (9, 0));
    // One item with a finding: the others are remembered, and no tip is.
    let dirty = first.items.iter().find(|item| item.path.as_ref().is_some_and(|path| path == "one.txt")).unwrap();
    assert!(until_written(|| cache().record(
        &proof(&first.items, &engine("a")),
        &first.items,
        &[finding(dirty)],
        &first.tips
    )));
    let second = selected(&claimed, &store, &tips, Some(&cache()));
    assert_eq!((second.items.len(), second.remembered), (3 + 1, 5));
    assert!(second.items.contains(dirty));
    // Clean now: next time the tip answers for all that it reaches, but what no claim hides is read.
    assert!(until_written(|| cache().record(&proof(&second.items, &engine("a")), &second.items, &[], &second.tips)));
    assert_eq!(cache().clean_tips(), tips);
    let third = selected(&claimed, &store, &tips, Some(&cache()));
    assert_eq!(third.items.len(), 3);
    // Other rules know nothing of it, and neither does a call without a cache.
    let other = Cache::open(&sandbox.path("state"), &[engine("b")]).unwrap();
    assert_eq!(selected(&claimed, &store, &tips, Some(&other)).items.len(), 9);
    assert_eq!(selected(&claimed, &store, &tips, None).items.len(), 9);
    // A tip behind evidence was not read whole and is not remembered as such.
    assert!(selected(&known, &store, &tips, Some(&cache())).tips.is_empty());
}

fn blob(number: u32, path: &str) -> Item {
    let mut raw = [0; 20];
    raw[..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B9).to_be_bytes());
    raw[4..8].copy_from_slice(&number.to_be_bytes());
    Item {
        kind: ItemKind::Blob,
        oid: Some(ObjectId::try_from(&raw[..]).unwrap()),
        size: 1,
        path: Some(path.into()),
        commit: None,
        elsewhere: tyran::payload::Elsewhere::Nowhere,
    }
}

#[test]
fn cache_takes_proof_of_its_own_engines_only_and_keys_by_path() {
    let sandbox = Sandbox::new();
    let cache = Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let items = [blob(1, "safe.txt"), blob(2, "safe.txt")];
    assert!(!cache.record(&proof(&items, &engine("b")), &items, &[], &[]));
    assert!(!cache.record(&proof(&items[..1], &engine("a")), &items, &[], &[]), "more items than were read");
    assert!(until_written(|| cache.record(&proof(&items, &engine("a")), &items, &[finding(&items[1])], &[])));
    let cache = Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    assert!(cache.remembers(&items[0]) && !cache.remembers(&items[1]));
    assert!(!cache.remembers(&blob(1, "other.txt")), "rules look at paths");
}

#[test]
fn damaged_caches_remember_nothing_wrong_and_are_made_good() {
    let sandbox = Sandbox::new();
    let open = || Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let items: Vec<Item> = (0..500).map(|number| blob(number, "f")).collect();
    assert!(until_written(|| open().record(&proof(&items[..250], &engine("a")), &items[..250], &[], &[])));
    assert!(until_written(|| open().record(&proof(&items[250..], &engine("a")), &items[250..], &[], &[])));
    let folder = sandbox.path("state/cache");
    let file = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let file =
        file.into_iter().find(|path| path.to_string_lossy().contains("clean-") && path.extension().is_none()).unwrap();
    let sound = fs::read(&file).unwrap();
    for place in (0..sound.len()).step_by(97) {
        let mut bytes = sound.clone();
        bytes[place] ^= 0x20;
        fs::write(&file, &bytes).unwrap();
        let cache = open();
        assert!((500..600).all(|number| !cache.remembers(&blob(number, "f"))));
        // A block has 170 entries: 80 of them are in the smaller one of either piece.
        assert!(items.iter().filter(|item| cache.remembers(item)).count() <= 500 - 80, "{place}");
    }
    // Cut short, as by a writer that was killed: the next writer puts it right.
    fs::write(&file, &sound[..sound.len() - 100]).unwrap();
    assert!(open().remembers(&items[0]) && !open().remembers(&items[499]));
    let more = [blob(1000, "f")];
    assert!(until_written(|| open().record(&proof(&more, &engine("a")), &more, &[], &[])));
    assert!(open().remembers(&more[0]) && open().remembers(&items[0]));
    fs::write(&file, noise(3, 5000)).unwrap();
    assert!(!open().remembers(&items[0]));
    assert!(
        until_written(|| open().record(&proof(&more, &engine("a")), &more, &[], &[])) && open().remembers(&more[0])
    );
}

/// A few are asked one by one, many at once; old pieces and the one that they were merged to answer alike.
#[test]
fn cache_answers_alike_for_few_and_for_many() {
    let sandbox = Sandbox::new();
    let open = || Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let mut end = 0;
    for (turn, count) in (0..40).map(|turn| (turn, [1, 169, 170, 171, 9000][turn % 5])) {
        let items: Vec<Item> = (end..end + count).map(|number| blob(2 * number, "f")).collect();
        end += count;
        assert!(until_written(|| open().record(&proof(&items, &engine("a")), &items, &[], &[])));
        for number in [end - count, end - 1, 0, end / 2] {
            let cache = open();
            assert!(cache.remembers(&blob(2 * number, "f")), "turn {turn}");
            assert!(!cache.remembers(&blob(2 * number + 1, "f")), "turn {turn}");
        }
    }
    let cache = open();
    assert!((0..end).all(|number| cache.remembers(&blob(2 * number, "f"))));
    assert!((0..end).all(|number| !cache.remembers(&blob(2 * number + 1, "f"))));
}

#[test]
fn cache_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let cache = sandbox.path("state/cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Cache::open(&sandbox.path("state"), &[engine("a")]).is_some());
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
    fs::remove_dir(&cache).unwrap();
    std::os::unix::fs::symlink(sandbox.path("home"), &cache).unwrap();
    assert!(Cache::open(&sandbox.path("state"), &[engine("a")]).is_none());
}

#[test]
fn cache_stands_many_writers_at_once() {
    let sandbox = Sandbox::new();
    let state = sandbox.path("state");
    let written: Vec<bool> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8_u32)
            .map(|writer| {
                let state = &state;
                scope.spawn(move || {
                    let mut written = Vec::new();
                    for turn in 0..20_u32 {
                        let from = (writer * 20 + turn) * 50;
                        let items: Vec<Item> = (from..from + 50).map(|number| blob(number, "f")).collect();
                        let cache = Cache::open(state, &[engine("a")]).unwrap();
                        written.push(cache.record(&proof(&items, &engine("a")), &items, &[], &[]));
                    }
                    written
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    // Whoever found the file in use wrote nothing; whoever wrote is remembered, and nothing else is.
    let cache = Cache::open(&state, &[engine("a")]).unwrap();
    assert!(written.contains(&true));
    for (batch, written) in (0_u32..).zip(written) {
        for number in batch * 50..batch * 50 + 50 {
            assert_eq!(cache.remembers(&blob(number, "f")), written, "batch {batch}");
        }
    }
    assert!((8000..9000).all(|number| !cache.remembers(&blob(number, "f"))));
}

#[test]
fn cache_stays_within_its_bound() {
    let sandbox = Sandbox::new();
    let state = sandbox.path("state");
    for turn in 0..3_u32 {
        let items: Vec<Item> = (turn * 500_000..(turn + 1) * 500_000).map(|number| blob(number, "f")).collect();
        let cache = Cache::open(&state, &[engine("a")]).unwrap();
        assert!(until_written(|| cache.record(&proof(&items, &engine("a")), &items, &[], &[])));
    }
    let files = fs::read_dir(state.join("cache")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < (32 << 20) + 4096, "{bytes}");
    let cache = Cache::open(&state, &[engine("a")]).unwrap();
    assert!(cache.remembers(&blob(3 * 500_000 - 1, "f")), "the newest is kept");
}
