//! What is missing, damaged, forged or made to harm is refused.

use super::airlock_pack::sent;
use super::*;

#[test]
fn missing_objects_are_refused() {
    let sandbox = Sandbox::new();
    for gone in ["HEAD:one.txt", "HEAD^{tree}", "HEAD~1", "HEAD~1:one.txt"] {
        let repo = sandbox.repo(&format!("work-{}", gone.len()));
        repo.commit("one.txt", "1");
        repo.commit("one.txt", "2");
        let gone = repo.git(&["rev-parse", gone]);
        fs::remove_file(loose_file(&repo, &gone)).unwrap();
        let fault = listed_and_read(&repo, "HEAD").unwrap_err();
        assert!(matches!(&fault, Fault::Missing { oid, .. } if *oid == gone), "{fault:?}");
    }
}

#[test]
fn loose_object_with_other_bytes_is_refused() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let (one, other) = (repo.git(&["rev-parse", "HEAD:one.txt"]), object(&repo, "blob", b"2"));
    let file = fs::read(loose_file(&repo, &other)).unwrap();
    damage(&loose_file(&repo, &one), |bytes| *bytes = file);
    let fault = listed_and_read(&repo, "HEAD").unwrap_err();
    assert!(matches!(&fault, Fault::Corrupt { oid } if *oid == one), "{fault:?}");
    damage(&loose_file(&repo, &one), |bytes| bytes.truncate(5));
    assert!(listed_and_read(&repo, "HEAD").is_err());
    damage(&loose_file(&repo, &one), Vec::clear);
    assert!(listed_and_read(&repo, "HEAD").is_err());
}

/// Each byte of a pack in turn is changed: an answer or a fault, and never bytes that are not the
/// object's.
#[test]
fn damaged_packs_are_refused_wherever_the_damage_is() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    for number in 0..4 {
        repo.commit("one.txt", format!("{}{number}", "line of text\n".repeat(30)));
    }
    repo.git(&["repack", "-adfq"]);
    let tips = ids(&repo, &["HEAD"]);
    let folder = repo.dir.join(".git/objects/pack");
    let whole = listed_and_read(&repo, "HEAD").unwrap();
    for ending in ["pack", "idx"] {
        let path = only_file(folder.clone(), ending);
        let sound = fs::read(&path).unwrap();
        let step = if ending == "idx" { 61 } else { 7 };
        for place in (0..sound.len()).step_by(step) {
            damage(&path, |bytes| bytes[place] ^= 0x41);
            let outcome = open(&repo).and_then(|store| {
                let items = store.reachable(&tips, &[])?;
                read_all(&store, items)
            });
            // A trailing checksum that nobody needs, or a CRC, may be off; then all was read.
            if let Ok(read) = outcome {
                assert_eq!(read, whole, "{ending} byte {place}");
            }
            damage(&path, |bytes| bytes.clone_from(&sound));
        }
        damage(&path, |bytes| bytes.truncate(sound.len() / 2));
        assert!(
            open(&repo)
                .and_then(|store| store.reachable(&tips, &[]).and_then(|items| read_all(&store, items)))
                .is_err()
        );
        damage(&path, |bytes| bytes.clone_from(&sound));
    }
}

#[test]
fn malformed_objects_are_refused_and_never_panic() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let blob = object(&repo, "blob", b"b");
    let good = object(&repo, "tree", &entry("100644", "b", &blob));
    let commits: [&[u8]; 6] = [b"", b"tree", b"tree 12\n", b"tree zzzz\n\n", b"\n\n", b"parent 1\n"];
    for bytes in commits {
        let commit = object(&repo, "commit", bytes);
        assert!(matches!(listed_and_read(&repo, &commit), Err(Fault::Malformed { .. })), "{bytes:?}");
    }
    let bad_parent = format!("tree {good}\nparent {}\n\n", &good[..39]);
    let commit = object(&repo, "commit", bad_parent.as_bytes());
    assert!(matches!(listed_and_read(&repo, &commit), Err(Fault::Malformed { .. })));
    let trees: Vec<Vec<u8>> = vec![
        b"100644".to_vec(),
        b"100644 name".to_vec(),
        b"100644 name\0short".to_vec(),
        entry("100648", "eight", &blob),
        entry("", "mode", &blob),
        entry("100644", "", &blob),
        [entry("100644", "b", &blob), b"1".to_vec()].concat(),
        [entry("100644", "b", &blob), b"100644 cut\0".to_vec()].concat(),
    ];
    for bytes in trees {
        let commit = commit_of(&repo, &object(&repo, "tree", &bytes), &[], "1");
        let fault = listed_and_read(&repo, &commit).unwrap_err();
        assert!(matches!(fault, Fault::Malformed { .. }), "{bytes:?}: {fault:?}");
        let git = sandbox.command("git").current_dir(&repo.dir).args(["rev-list", "--objects", &commit]).output();
        assert!(!git.unwrap().status.success(), "git takes {bytes:?}");
    }
    // Named as one kind and being another.
    let commit = commit_of(&repo, &blob, &[], "1");
    assert!(listed_and_read(&repo, &commit).is_err());
    let commit = commit_of(&repo, &good, &[&blob], "1");
    assert!(listed_and_read(&repo, &commit).is_err());
    // What git's own parser passes over is passed over: everything is an item and is read.
    let strange = format!("tree {good}\nauthor\n\0\nparent {}\n", "4".repeat(40));
    assert_eq!(same_as_git(&repo, &[&object(&repo, "commit", strange.as_bytes())], &[]), 3);
    let tag = format!("object {good}\ntype tree\ntag x\ntagger\n\nnote\0after");
    assert_eq!(same_as_git(&repo, &[&object(&repo, "tag", tag.as_bytes())], &[]), 3);
}

#[test]
fn grafts_are_refused_where_they_change_something() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let head = repo.commit("one.txt", "1");
    fs::create_dir_all(repo.dir.join(".git/info")).unwrap();
    let grafts = repo.dir.join(".git/info/grafts");
    fs::write(&grafts, "# nothing\n\n").unwrap();
    assert!(open(&repo).is_ok());
    fs::write(&grafts, format!("{head} {head}\n")).unwrap();
    assert!(matches!(open(&repo), Err(Fault::Store(_))));
    fs::remove_file(&grafts).unwrap();
    fs::write(repo.dir.join("elsewhere"), format!("{head}\n")).unwrap();
    let mut context = context(&sandbox, &repo.dir);
    context.env.insert("GIT_GRAFT_FILE".into(), repo.dir.join("elsewhere").into());
    assert!(matches!(ObjectStore::open(&world(&sandbox), &context), Err(Fault::Store(_))));
    context.env.insert("GIT_GRAFT_FILE".into(), "/dev/null".into());
    assert!(ObjectStore::open(&world(&sandbox), &context).is_ok());
}

/// A partial clone whose blobs are missing: git would fetch them while it pushes.
#[test]
fn partial_clone_that_lacks_objects_is_refused_as_such() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.git(&["push", "-q", "origin", "main"]);
    sandbox.git("work.git", &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.path("work.git").display());
    sandbox.git("", &["clone", "-q", "--bare", "--filter=blob:none", &url, "partial.git"]);
    let partial = Repo { sandbox: &sandbox, dir: sandbox.path("partial.git") };
    let fault = listed_and_read(&partial, "main").unwrap_err();
    assert!(matches!(fault, Fault::Partial(_)), "{fault:?}");
}

#[test]
fn no_repository_is_a_fault_of_its_own() {
    let sandbox = Sandbox::new();
    let nowhere = context(&sandbox, &sandbox.path("home"));
    assert!(matches!(ObjectStore::open(&world(&sandbox), &nowhere), Err(Fault::Repository(_))));
}

/// Rewrites the parents that the commit-graph gives for the newest commit.
fn forge_commit_graph(repo: &Repo<'_>, commit: &str, parent: &str) {
    let path = repo.dir.join(".git/objects/info/commit-graph");
    damage(&path, |bytes| {
        let chunk = |name: &[u8]| {
            let at = bytes.windows(4).position(|window| window == name).unwrap();
            u64::from_be_bytes(bytes[at + 4..at + 12].try_into().unwrap()) as usize
        };
        let (lookup, data) = (chunk(b"OIDL"), chunk(b"CDAT"));
        let count = (data - lookup) / 20;
        let place = |id: &str| {
            let raw = hex::decode(id).unwrap();
            (0..count).find(|place| bytes[lookup + place * 20..][..20] == raw[..]).unwrap()
        };
        let (commit, parent) = (place(commit), place(parent));
        bytes[data + commit * 36 + 20..][..4].copy_from_slice(&u32::try_from(parent).unwrap().to_be_bytes());
        let end = bytes.len() - 20;
        let mut hash = sha1::Sha1::default();
        sha1::Digest::update(&mut hash, &bytes[..end]);
        let sum = sha1::Digest::finalize(hash);
        bytes[end..].copy_from_slice(&sum);
    });
}

/// A repository whose commit-graph gives the head a parent that its bytes do not name.
pub fn with_forged_graph(sandbox: &Sandbox) -> (Repo<'_>, String) {
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.commit("one.txt", "2");
    let hidden = commit_at(&repo, "hidden", &[], "1600000000");
    repo.git(&["update-ref", "refs/heads/hidden", &hidden]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    forge_commit_graph(&repo, &repo.git(&["rev-parse", "main"]), &hidden);
    repo.git(&["update-ref", "-d", "refs/heads/hidden"]);
    (repo, hidden)
}

#[test]
fn commit_graph_that_disagrees_is_refused() {
    let sandbox = Sandbox::new();
    let (repo, hidden) = with_forged_graph(&sandbox);
    // The premise: git believes it.
    assert!(repo.git(&["rev-list", "main"]).contains(&hidden));
    let fault = open(&repo).unwrap().reachable(&ids(&repo, &["main"]), &[]).unwrap_err();
    assert!(matches!(fault, Fault::Store(_)), "{fault:?}");
    damage(&repo.dir.join(".git/objects/info/commit-graph"), |bytes| bytes.truncate(40));
    let fault = open(&repo).unwrap().reachable(&ids(&repo, &["main"]), &[]).unwrap_err();
    assert!(matches!(fault, Fault::Store(_)), "{fault:?}");
}

/// A pack whose index gives for the clean blob the place of the secret one. The clean blob is loose
/// too, which is what a reader that looks there first would see.
pub fn with_forged_index(sandbox: &Sandbox) -> (Repo<'_>, String, String) {
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "clean content");
    let clean = repo.git(&["rev-parse", "HEAD:one.txt"]);
    let loose = fs::read(loose_file(&repo, &clean)).unwrap();
    let secret = object(&repo, "blob", b"hidden bytes!");
    repo.git(&["update-ref", "refs/tags/secret", &secret]);
    repo.git(&["repack", "-adq", "--depth=0"]);
    repo.git(&["update-ref", "-d", "refs/tags/secret"]);
    let folder = repo.dir.join(".git/objects/pack");
    if let Some(reverse) = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|ending| ending == "rev"))
    {
        fs::remove_file(reverse).unwrap();
    }
    damage(&only_file(folder, "idx"), |bytes| {
        let count = u32::from_be_bytes(bytes[8 + 255 * 4..][..4].try_into().unwrap()) as usize;
        let ids = 8 + 256 * 4;
        let place = |id: &str| {
            let raw = hex::decode(id).unwrap();
            (0..count).find(|place| bytes[ids + place * 20..][..20] == raw[..]).unwrap()
        };
        let (clean, secret) = (place(&clean), place(&secret));
        let (sums, offsets) = (ids + count * 20, ids + count * 24);
        for table in [sums, offsets] {
            for turn in 0..4 {
                bytes.swap(table + secret * 4 + turn, table + clean * 4 + turn);
            }
        }
    });
    fs::create_dir_all(loose_file(&repo, &clean).parent().unwrap()).unwrap();
    fs::write(loose_file(&repo, &clean), loose).unwrap();
    (repo, clean, secret)
}

#[test]
fn pack_index_that_gives_other_bytes_is_refused() {
    let sandbox = Sandbox::new();
    let (repo, clean, _) = with_forged_index(&sandbox);
    let fault = listed_and_read(&repo, "HEAD").unwrap_err();
    assert!(matches!(fault, Fault::Store(_)), "{fault:?}");
    assert!(fault.to_string().contains(&clean), "{fault}");
}

#[test]
fn bitmap_that_names_more_is_refused() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.commit("one.txt", "2");
    repo.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    let other = repo.commit("other.txt", "3");
    let main = repo.git(&["rev-parse", "main"]);
    repo.git(&["repack", "-adq", "--write-bitmap-index"]);
    same_as_git(&repo, &["main"], &[]);
    // Each bitmap names its commit by place in the index: the bitmaps of both tips are swapped.
    let folder = repo.dir.join(".git/objects/pack");
    let index = fs::read(only_file(folder.clone(), "idx")).unwrap();
    let count = u32::from_be_bytes(index[8 + 255 * 4..][..4].try_into().unwrap()) as usize;
    let place = |id: &str| {
        let raw = hex::decode(id).unwrap();
        (0..count).find(|place| index[8 + 1024 + place * 20..][..20] == raw[..]).unwrap() as u32
    };
    let (main_place, other_place) = (place(&main).to_be_bytes(), place(&other).to_be_bytes());
    damage(&only_file(folder, "bitmap"), |bytes| {
        let number = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        // Behind the header stand four bitmaps by kind, then the commits' own, each with 6 bytes before.
        let past = |bytes: &[u8], at: usize| at + 8 + number(bytes, at + 4) * 8 + 4;
        let mut at = (0..4).fold(32, |at, _| past(bytes, at));
        for _ in 0..number(bytes, 8) {
            let place: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            if place == main_place {
                bytes[at..at + 4].copy_from_slice(&other_place);
            } else if place == other_place {
                bytes[at..at + 4].copy_from_slice(&main_place);
            }
            at = past(bytes, at + 6);
        }
    });
    let listed = repo.git(&["rev-list", "--objects", "--use-bitmap-index", "main"]);
    assert!(listed.contains(&other), "the premise, that git believes a bitmap, does not hold");
    let fault = open(&repo).unwrap().reachable(&ids(&repo, &["main"]), &[]).unwrap_err();
    assert!(matches!(fault, Fault::Store(_)), "{fault:?}");
    // And the push would send what it names.
    assert!(sent(&repo, &["main"], &[]).unwrap().contains(&other));
}

#[test]
fn large_objects_are_streamed_however_they_are_stored() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.git(&["config", "core.compression", "0"]);
    let mut large = noise(1, 65 << 20);
    repo.commit("large.bin", &large);
    large.splice(1_000_000..1_000_010, *b"another thing here");
    repo.commit("large.bin", &large);
    let streamed = |repo: &Repo<'_>| {
        let store = open(repo).unwrap();
        let part = store.part(store.reachable(&ids(repo, &["HEAD"]), &[]).unwrap());
        let mut reader = part.source.reader().unwrap();
        let mut sums = Vec::new();
        for item in part.items.iter().filter(|item| item.kind == ItemKind::Blob) {
            reader
                .read(item, &mut |content| {
                    let Content::Stream(stream) = content else { panic!("{} bytes at once", item.size) };
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes).unwrap();
                    sums.push((bytes.len() as u64 == item.size, crc32fast::hash(&bytes)));
                    Ok(())
                })
                .unwrap();
        }
        sums.sort_unstable();
        sums
    };
    let loose = streamed(&repo);
    assert!(loose.len() == 2 && loose.contains(&(true, crc32fast::hash(&large))));
    repo.git(&["repack", "-adfq"]);
    let deltas = repo.git(&["cat-file", "--batch-all-objects", "--batch-check=%(deltabase)"]);
    assert!(deltas.lines().any(|base| base != "0".repeat(40)), "nothing was stored as a delta");
    assert_eq!(streamed(&repo), loose);
    // A changed byte in the middle is noticed at the end of the stream, not passed on as sound.
    damage(&only_file(repo.dir.join(".git/objects/pack"), "pack"), |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
    assert!(listed_and_read(&repo, "HEAD").is_err());
}

#[test]
fn walk_ends_at_its_deadline() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let mut world = world(&sandbox);
    world.deadline = Some(Instant::now() + Duration::from_secs(3600));
    let store = ObjectStore::open(&world, &context(&sandbox, &repo.dir)).unwrap();
    assert!(store.reachable(&ids(&repo, &["HEAD"]), &[]).is_ok());
    world.deadline = Some(Instant::now() + Duration::from_millis(300));
    let store = ObjectStore::open(&world, &context(&sandbox, &repo.dir)).unwrap();
    std::thread::sleep(Duration::from_millis(310));
    let fault = store.reachable(&ids(&repo, &["HEAD"]), &[]).unwrap_err();
    assert!(matches!(fault, Fault::Deadline(_)), "{fault:?}");
}

/// Two packs and two object directories with the same id: every copy is read.
#[test]
fn every_copy_of_an_object_is_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let one = repo.git(&["rev-parse", "HEAD:one.txt"]);
    let wrong = fs::read(loose_file(&repo, &object(&repo, "blob", b"2"))).unwrap();
    sandbox.git("", &["clone", "-q", "--shared", "work", "borrower"]);
    let borrower = Repo { sandbox: &sandbox, dir: sandbox.path("borrower") };
    let own = loose_file(&borrower, &one);
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::copy(loose_file(&repo, &one), &own).unwrap();
    assert!(listed_and_read(&borrower, "HEAD").is_ok());
    damage(&loose_file(&repo, &one), |bytes| *bytes = wrong);
    let fault = listed_and_read(&borrower, "HEAD").unwrap_err();
    assert!(matches!(&fault, Fault::Corrupt { oid } if *oid == one), "{fault:?}");
}

#[test]
fn multi_pack_index_that_gives_another_place_is_refused() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "clean content");
    repo.commit("two.txt", "other content");
    repo.git(&["repack", "-adq", "--depth=0"]);
    repo.git(&["multi-pack-index", "write"]);
    let one = repo.git(&["rev-parse", "HEAD:one.txt"]);
    let two = repo.git(&["rev-parse", "HEAD:two.txt"]);
    assert!(listed_and_read(&repo, "HEAD").is_ok());
    damage(&repo.dir.join(".git/objects/pack/multi-pack-index"), |bytes| {
        let chunk = |name: &[u8]| {
            let at = bytes.windows(4).position(|window| window == name).unwrap();
            u64::from_be_bytes(bytes[at + 4..at + 12].try_into().unwrap()) as usize
        };
        let (lookup, offsets) = (chunk(b"OIDL"), chunk(b"OOFF"));
        let count = (offsets - lookup) / 20;
        let place = |id: &str| {
            let raw = hex::decode(id).unwrap();
            (0..count).find(|place| bytes[lookup + place * 20..][..20] == raw[..]).unwrap()
        };
        let (one, two) = (place(&one), place(&two));
        for turn in 0..8 {
            bytes.swap(offsets + one * 8 + turn, offsets + two * 8 + turn);
        }
    });
    assert!(matches!(listed_and_read(&repo, "HEAD"), Err(Fault::Store(_))));
}

/// Writes a loose object without git, which is too slow for hundreds; its id.
fn write_loose(repo: &Repo<'_>, kind: &str, bytes: &[u8]) -> ObjectId {
    use std::io::Write;
    let whole = [format!("{kind} {}\0", bytes.len()).as_bytes(), bytes].concat();
    let hex = hex::encode(<sha1::Sha1 as sha1::Digest>::digest(&whole));
    let path = loose_file(repo, &hex);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = flate2::write::ZlibEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
    file.write_all(&whole).unwrap();
    file.finish().unwrap();
    id(&hex)
}

#[test]
fn garbled_objects_give_a_list_or_a_fault_and_never_a_panic() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("folder/one.txt", "1");
    repo.git(&["tag", "-a", "-m", "note", "v1"]);
    let raw = |revision: &str, kind: &str| {
        let output = sandbox.command("git").current_dir(&repo.dir).args(["cat-file", kind, revision]).output();
        output.unwrap().stdout
    };
    let sound = [("tree", raw("HEAD^{tree}", "tree")), ("commit", raw("HEAD", "commit")), ("tag", raw("v1", "tag"))];
    let store = open(&repo).unwrap();
    let chance = noise(11, 8 * 3000);
    let tips = ids(&repo, &["v1"]);
    let mut faults = 0;
    for turn in chance.chunks_exact(8) {
        let (kind, bytes) = &sound[usize::from(turn[0]) % sound.len()];
        let mut bytes = bytes.clone();
        let at = |byte: u8, bytes: &[u8]| usize::from(byte) * bytes.len() / 256;
        match turn[1] % 4 {
            0 => bytes.truncate(at(turn[2], &bytes)),
            1 => drop(bytes.drain(at(turn[2].min(turn[3]), &bytes)..at(turn[2].max(turn[3]), &bytes))),
            2 => bytes.extend_from_slice(&turn[2..]),
            _ => {}
        }
        if let Some(place) = bytes.len().checked_sub(1).map(|last| at(turn[4], &bytes).min(last)) {
            bytes[place] = turn[5];
        }
        let tip = write_loose(&repo, kind, &bytes);
        match store.reachable(&[tip], &[]) {
            Ok(items) => assert!(items.iter().any(|item| item.oid == Some(tip))),
            Err(Fault::Malformed { .. } | Fault::Missing { .. }) => faults += 1,
            Err(other) => panic!("{kind} {:?}: {other}", String::from_utf8_lossy(&bytes)),
        }
        store.reachable(&tips, &[tip]).unwrap();
    }
    assert!(faults > 1000, "{faults}");
}
