//! What a push sends is listed as git lists it, and read raw and whole; what lies is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Boundary, Cache, Content, Fault, Item, ItemKind, ObjectId, Selection, Tally, airlock};
use tyran::scan::{Confidence, Coverage, EngineCoverage, Finding, Identity, Secret, Severity};
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

/// Writes an object as it is, also one that git itself would not make; its id.
fn object(repo: &Repo<'_>, kind: &str, bytes: &[u8]) -> String {
    let path = repo.dir.join(".git/raw-object");
    fs::write(&path, bytes).unwrap();
    repo.git(&["hash-object", "--literally", "-w", "-t", kind, path.to_str().unwrap()])
}

/// One entry of a tree.
fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let mut entry = format!("{mode} {name}\0").into_bytes();
    entry.extend(hex::decode(id).unwrap());
    entry
}

/// A commit of a tree, with a date, made as it is.
fn commit_of(repo: &Repo<'_>, tree: &str, parents: &[&str], date: &str) -> String {
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!("author A <a@b> {date} +0000\ncommitter A <a@b> {date} +0000\n\nmade\n"));
    object(repo, "commit", text.as_bytes())
}

/// A commit with one file of its own.
fn commit_at(repo: &Repo<'_>, name: &str, parents: &[&str], date: &str) -> String {
    let blob = object(repo, "blob", format!("content of {name} at {date}").as_bytes());
    let tree = object(repo, "tree", &entry("100644", name, &blob));
    commit_of(repo, &tree, parents, date)
}

#[test]
fn merges_octopuses_and_criss_crosses_are_listed_as_git_lists_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let root = commit_at(&repo, "root", &[], "1000");
    let a = commit_at(&repo, "a", &[&root], "1001");
    let b = commit_at(&repo, "b", &[&root], "1002");
    let c = commit_at(&repo, "c", &[&root], "1003");
    let octopus = commit_at(&repo, "o", &[&a, &b, &c], "1004");
    let cross_one = commit_at(&repo, "x", &[&a, &b], "1005");
    let cross_two = commit_at(&repo, "y", &[&b, &a], "1006");
    let top_one = commit_at(&repo, "p", &[&cross_one, &cross_two], "1007");
    let top_two = commit_at(&repo, "q", &[&cross_two, &cross_one, &octopus], "1008");
    let all = [&root, &a, &b, &c, &octopus, &cross_one, &cross_two, &top_one, &top_two];
    for tip in all {
        same_as_git(&repo, &[tip], &[]);
        for boundary in all {
            same_as_git(&repo, &[tip], &[boundary]);
        }
    }
    same_as_git(&repo, &[&top_one, &top_two], &[&cross_one, &octopus]);
}

/// git's limited walk goes by date and has slack for five commits; with clocks that went wrong it
/// excludes less than is excluded in truth, and this list must follow it.
#[test]
fn clocks_that_went_wrong_change_the_list_as_they_change_gits() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut commits: Vec<String> = Vec::new();
    for number in 0..60_u64 {
        let mut parents: Vec<&str> = Vec::new();
        for _ in 0..=random(2) {
            let near = commits.len().saturating_sub(1 + random(4) as usize);
            if let Some(parent) = commits.get(near)
                && !parents.contains(&parent.as_str())
            {
                parents.push(parent);
            }
        }
        let date = match random(6) {
            0 => 1,
            1 => 2_000_000_000,
            2 => 500,
            _ => 1_000_000 + number * 10,
        };
        let commit = commit_at(&repo, &format!("f{}", random(5)), &parents, &date.to_string());
        commits.push(commit);
    }
    for _ in 0..40 {
        let tip = &commits[random(60) as usize];
        let other = &commits[random(60) as usize];
        let base = &commits[random(60) as usize];
        let store = open(&repo).unwrap();
        let tips = ids(&repo, &[tip, other]);
        let check = store.cross_check(&tips, &ids(&repo, &[base])).unwrap();
        assert!(check.agrees(), "tips {tip} {other}, base {base}: {check:?}");
    }
}

#[test]
fn dates_that_git_cannot_read_are_read_as_git_reads_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let dates = ["-5", "", "x", "99999999999999999999999", " 12", "7y", "-", "0x10", "\t9"];
    let mut parents: Vec<String> = Vec::new();
    for (number, date) in dates.iter().enumerate() {
        let last = parents.last().map(|last| vec![last.as_str()]).unwrap_or_default();
        parents.push(commit_at(&repo, &format!("f{number}"), &last, date));
    }
    let side = commit_at(&repo, "side", &[&parents[2]], "50");
    let merged = commit_at(&repo, "merged", &[&side, &parents[8]], "60");
    for base in &parents {
        same_as_git(&repo, &[&merged], &[base]);
    }
}

#[test]
fn tags_of_tags_on_anything_are_listed_with_all_that_they_name() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("folder/one.txt", "1");
    repo.git(&["tag", "-a", "-m", "outer", "plain", "HEAD"]);
    repo.git(&["tag", "-a", "-m", "tag of a tag", "nested", "plain"]);
    repo.git(&["tag", "-a", "-m", "on a blob", "on-blob", "HEAD:folder/one.txt"]);
    repo.git(&["tag", "-a", "-m", "on a tree", "on-tree", "HEAD:folder"]);
    assert_eq!(same_as_git(&repo, &["nested"], &[]), 6);
    assert_eq!(same_as_git(&repo, &["nested"], &["HEAD"]), 2);
    assert_eq!(same_as_git(&repo, &["nested"], &["plain"]), 1);
    assert_eq!(same_as_git(&repo, &["on-blob"], &[]), 2);
    assert_eq!(same_as_git(&repo, &["on-tree"], &[]), 3);
    assert_eq!(same_as_git(&repo, &["on-tree", "HEAD:folder/one.txt", "HEAD"], &[]), 5);
    assert_eq!(same_as_git(&repo, &["HEAD^{tree}"], &[]), 3);
    same_as_git(&repo, &["on-tree", "nested"], &["on-blob"]);
    same_as_git(&repo, &["HEAD"], &["on-tree"]);
    repo.commit("other.txt", "2");
    same_as_git(&repo, &["HEAD^{tree}", "HEAD"], &["HEAD~1"]);
}

#[test]
fn trees_that_only_plumbing_makes_are_listed_as_git_lists_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let one = object(&repo, "blob", b"one");
    let two = object(&repo, "blob", b"two");
    let empty = object(&repo, "tree", b"");
    let odd = [
        entry("100600", "private", &one),
        entry("100664", "group", &two),
        entry("120000", "link", &one),
        entry("160000", "submodule", "1111111111111111111111111111111111111111"),
        entry("40000", "empty", &empty),
        entry("040000", "padded", &empty),
        entry("100644", "twice", &one),
        entry("100644", "twice", &two),
        entry("100644", "aa-unsorted", &two),
        entry("100644", ".git", &one),
        entry("755", "no-type", "2222222222222222222222222222222222222222"),
        entry("100644", "new\nline", &two),
    ];
    let tree = object(&repo, "tree", &odd.concat());
    let first = commit_of(&repo, &tree, &[], "100");
    let mut fewer = odd.to_vec();
    fewer.remove(5);
    fewer.insert(2, entry("100644", "added", &object(&repo, "blob", b"three")));
    let second = commit_of(&repo, &object(&repo, "tree", &fewer.concat()), &[&first], "101");
    assert_eq!(same_as_git(&repo, &[&first], &[]), 5);
    assert_eq!(same_as_git(&repo, &[&second], &[&first]), 3);
    same_as_git(&repo, &[&second], &[]);
}

/// A moved file stays excluded, an old blob that comes back does not: it is in no edge tree.
#[test]
fn edge_trees_exclude_what_gits_exclude() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("old.txt", "old");
    repo.commit("old.txt", "new");
    let base = repo.commit("here/file.txt", "moved");
    repo.write("there/file.txt", "moved").write("back.txt", "old");
    fs::remove_file(repo.dir.join("here/file.txt")).unwrap();
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "move"]);
    assert_eq!(same_as_git(&repo, &["HEAD"], &[&base]), 4 - 1);
}

#[test]
fn thousands_of_folders_and_commits_deep_do_not_overflow() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let mut tree = object(&repo, "tree", &entry("100644", "bottom", &object(&repo, "blob", b"deep")));
    let mut import = Vec::new();
    // fast-import is the quick way to many commits; folders come by hand.
    for _ in 0..300 {
        tree = object(&repo, "tree", &entry("40000", "d", &tree));
    }
    let first = commit_of(&repo, &tree, &[], "1");
    for number in 0..4000 {
        import.extend(format!("commit refs/heads/long\ncommitter A <a@b> {number} +0000\ndata 0\n").into_bytes());
        if number == 0 {
            import.extend(format!("from {first}\n").into_bytes());
        }
        import.extend(b"\n");
    }
    import_stream(&repo, &import);
    assert_eq!(same_as_git(&repo, &["long"], &[]), 4000 + 1 + 302);
    assert_eq!(same_as_git(&repo, &["long"], &["long~1500"]), 1500);
}

fn import_stream(repo: &Repo<'_>, stream: &[u8]) {
    use std::io::Write;
    let mut child = repo
        .sandbox
        .command("git")
        .current_dir(&repo.dir)
        .args(["fast-import", "--quiet", "--date-format=raw", "--force"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn packed_loose_and_multi_pack_stores_give_one_list() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    for number in 0..30 {
        repo.commit(&format!("f{}.txt", number % 7), "line\n".repeat(200 + number));
    }
    let loose = same_as_git(&repo, &["HEAD"], &["HEAD~20"]);
    repo.git(&["repack", "-q"]);
    repo.commit("more.txt", "more");
    repo.git(&["repack", "-q"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    repo.git(&["multi-pack-index", "write"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    repo.git(&["repack", "-adfq", "--depth=200", "--window=50"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    // Deltas that name their base by id instead of by distance.
    repo.git(&["-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    repo.git(&["repack", "-adfq", "--write-bitmap-index"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
    repo.git(&["commit-graph", "write", "--reachable", "--split"]);
    assert_eq!(same_as_git(&repo, &["HEAD~1"], &["HEAD~21"]), loose);
}

#[test]
fn sha256_repositories_are_read_too() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "-b", "main", "--object-format=sha256", "work"]);
    let repo = Repo { sandbox: &sandbox, dir: sandbox.path("work") };
    repo.commit("one.txt", "1");
    repo.commit("folder/two.txt", "2");
    repo.git(&["tag", "-a", "-m", "note", "v1"]);
    assert_eq!(same_as_git(&repo, &["v1"], &[]), 8);
    repo.git(&["repack", "-adq"]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert_eq!(same_as_git(&repo, &["v1"], &["HEAD~1"]), 5);
}

#[test]
fn alternates_of_file_and_environment_are_asked() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    sandbox.git("", &["clone", "-q", "--shared", "work", "borrower"]);
    let borrower = Repo { sandbox: &sandbox, dir: sandbox.path("borrower") };
    borrower.commit("two.txt", "2");
    assert_eq!(same_as_git(&borrower, &["HEAD"], &[]), 6);
    // Relative, nested and quoted ones.
    sandbox.git("", &["init", "-q", "-b", "main", "third"]);
    let third = Repo { sandbox: &sandbox, dir: sandbox.path("third") };
    fs::write(third.dir.join(".git/objects/info/alternates"), "# note\n\"../../../borrower/.git/obj\\145cts\"\n")
        .unwrap();
    third.git(&["update-ref", "refs/heads/main", &borrower.git(&["rev-parse", "HEAD"])]);
    assert_eq!(same_as_git(&third, &["main"], &[]), 6);
    // Through the environment of the judged command.
    sandbox.git("", &["init", "-q", "-b", "main", "fourth"]);
    let fourth = Repo { sandbox: &sandbox, dir: sandbox.path("fourth") };
    let mut context = context(&sandbox, &fourth.dir);
    let objects = format!("../none:{}", borrower.dir.join(".git/objects").display());
    context.env.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), objects.into());
    let store = ObjectStore::open(&world(&sandbox), &context).unwrap();
    let tip = id(&borrower.git(&["rev-parse", "HEAD"]));
    assert!(store.cross_check(&[tip], &[]).unwrap().agrees());
    let mut context = self::context(&sandbox, &fourth.dir);
    context.env.insert("GIT_OBJECT_DIRECTORY".into(), borrower.dir.join(".git/objects").into());
    let store = ObjectStore::open(&world(&sandbox), &context).unwrap();
    assert_eq!(store.reachable(&[tip], &[]).unwrap().len(), 6);
}

#[test]
fn linked_work_trees_bare_and_shallow_repositories_are_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    for number in 0..4 {
        repo.commit("one.txt", format!("{number}"));
    }
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = Repo { sandbox: &sandbox, dir: sandbox.path("linked") };
    assert_eq!(same_as_git(&linked, &["HEAD"], &["HEAD~1"]), 3);
    repo.git(&["push", "-q", "origin", "main"]);
    let bare = Repo { sandbox: &sandbox, dir: sandbox.path("work.git") };
    assert_eq!(same_as_git(&bare, &["main"], &["main~2"]), 6);
    let url = format!("file://{}", bare.dir.display());
    sandbox.git("", &["clone", "-q", "--depth=2", &url, "shallow"]);
    let shallow = Repo { sandbox: &sandbox, dir: sandbox.path("shallow") };
    assert!(open(&shallow).unwrap().is_shallow());
    shallow.commit("two.txt", "new");
    assert_eq!(same_as_git(&shallow, &["HEAD"], &[]), 2 * 3 + 3);
    assert_eq!(same_as_git(&shallow, &["HEAD"], &["HEAD~2"]), 6);
}

#[test]
fn replacements_change_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let secret = repo.commit("one.txt", "secret");
    let clean = commit_at(&repo, "one.txt", &[], "5");
    repo.git(&["replace", &secret, &clean]);
    repo.git(&["replace", &format!("{secret}:one.txt"), &object(&repo, "blob", b"clean")]);
    let store = open(&repo).unwrap();
    let part = store.part(store.reachable(&[id(&secret)], &[]).unwrap());
    let mut reader = part.source.reader().unwrap();
    let blob = part.items.iter().find(|item| item.kind == ItemKind::Blob).unwrap();
    let mut seen = Vec::new();
    reader
        .read(blob, &mut |content| {
            if let Content::Whole(bytes) = content {
                seen = bytes.to_vec();
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, b"secret");
}

#[test]
fn boundary_that_is_not_here_excludes_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let store = open(&repo).unwrap();
    let absent = id("3333333333333333333333333333333333333333");
    assert_eq!(store.reachable(&ids(&repo, &["HEAD"]), &[absent]).unwrap().len(), 3);
}

/// Makes a file writable and changes it.
fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).unwrap();
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn loose_file(repo: &Repo<'_>, id: &str) -> PathBuf {
    repo.dir.join(".git/objects").join(&id[..2]).join(&id[2..])
}

fn only_file(folder: PathBuf, ending: &str) -> PathBuf {
    let mut found = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending));
    let path = found.next().unwrap();
    assert!(found.next().is_none());
    path
}

fn listed_and_read(repo: &Repo<'_>, tip: &str) -> Result<(u64, u64), Fault> {
    let store = open(repo)?;
    let items = store.reachable(&ids(repo, &[tip]), &[])?;
    read_all(&store, items)
}

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
        let step = if ending == "idx" { 37 } else { 3 };
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
fn with_forged_graph(sandbox: &Sandbox) -> (Repo<'_>, String) {
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
fn with_forged_index(sandbox: &Sandbox) -> (Repo<'_>, String, String) {
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
    assert!(airlock(&repo, &["main"], &[]).unwrap().contains(&other));
}

/// Bytes that do not compress, and of which no run is like another.
fn noise(mut state: u64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
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

/// All that an airlock says would leave, as ids.
fn airlock(repo: &Repo<'_>, new: &[&str], advertised: &[&str]) -> Result<Vec<String>, Fault> {
    let (world, context) = (world(repo.sandbox), context(repo.sandbox, &repo.dir));
    let payload = airlock::payload(&world, &context, &ids(repo, new), &ids(repo, advertised))?;
    assert!(payload.exact);
    let mut found = Vec::new();
    for part in &payload.parts {
        let mut reader = part.source.reader()?;
        for item in &part.items {
            reader.read(item, &mut |_| Ok(()))?;
            found.push(item.oid.unwrap().to_string());
        }
    }
    found.sort();
    Ok(found)
}

fn listed(repo: &Repo<'_>, new: &[&str], advertised: &[&str]) -> Vec<String> {
    let items = open(repo).unwrap().reachable(&ids(repo, new), &ids(repo, advertised)).unwrap();
    let mut ids: Vec<_> = items.iter().map(|item| item.oid.unwrap().to_string()).collect();
    ids.sort();
    ids
}

#[test]
fn airlock_says_the_same_where_nothing_lies() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    for number in 0..5 {
        repo.commit(&format!("folder/f{number}.txt"), format!("{number}"));
    }
    repo.git(&["tag", "-a", "-m", "note", "v1"]);
    assert_eq!(airlock(&repo, &["HEAD"], &["HEAD~2"]).unwrap(), listed(&repo, &["HEAD"], &["HEAD~2"]));
    assert_eq!(airlock(&repo, &["v1"], &[]).unwrap(), listed(&repo, &["v1"], &[]));
    repo.git(&["repack", "-adq"]);
    assert_eq!(airlock(&repo, &["v1", "HEAD~1"], &["HEAD~3"]).unwrap(), listed(&repo, &["v1"], &["HEAD~3"]));
    assert!(airlock(&repo, &["HEAD~1"], &["HEAD"]).unwrap().is_empty());
    let (world, context) = (world(&sandbox), context(&sandbox, &repo.dir));
    let absent = id("3333333333333333333333333333333333333333");
    let payload = airlock::payload(&world, &context, &ids(&repo, &["HEAD"]), &[absent]).unwrap();
    assert_eq!(payload.parts[0].items.len(), 20);
    let blob = payload.parts[0].items.iter().find(|item| item.kind == ItemKind::Blob).unwrap();
    assert!(blob.path.is_some() && blob.commit.is_some());
    assert!(matches!(airlock::payload(&world, &context, &[absent], &[]), Err(Fault::Missing { .. })));
}

#[test]
fn airlock_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let before = repo.git(&["count-objects", "-v"]);
    let ours = || {
        let listing = fs::read_dir(std::env::temp_dir()).unwrap();
        listing
            .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("tyran-airlock."))
            .count()
    };
    let count = ours();
    for _ in 0..3 {
        airlock(&repo, &["HEAD"], &[]).unwrap();
    }
    // Other tests may have one open at this moment.
    assert!(ours() <= count + 4);
    assert_eq!(repo.git(&["count-objects", "-v"]), before);
}

#[test]
fn airlock_takes_what_grafts_add() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let head = repo.commit("one.txt", "1");
    let unrelated = commit_at(&repo, "unrelated", &[], "5");
    fs::create_dir_all(repo.dir.join(".git/info")).unwrap();
    fs::write(repo.dir.join(".git/info/grafts"), format!("{head} {unrelated}\n")).unwrap();
    let found = airlock(&repo, &["HEAD"], &[]).unwrap();
    assert_eq!(found.len(), 6);
    assert!(found.contains(&unrelated));
    // The same by the environment of the judged command.
    fs::rename(repo.dir.join(".git/info/grafts"), repo.dir.join("grafts")).unwrap();
    assert_eq!(airlock(&repo, &["HEAD"], &[]).unwrap().len(), 3);
    let mut context = context(&sandbox, &repo.dir);
    context.env.insert("GIT_GRAFT_FILE".into(), repo.dir.join("grafts").into());
    let payload = airlock::payload(&world(&sandbox), &context, &ids(&repo, &["HEAD"]), &[]).unwrap();
    assert_eq!(payload.parts[0].items.len(), 6);
}

#[test]
fn airlock_takes_what_a_lying_commit_graph_adds() {
    let sandbox = Sandbox::new();
    let (repo, hidden) = with_forged_graph(&sandbox);
    let found = airlock(&repo, &["main"], &[]).unwrap();
    assert!(found.contains(&hidden));
    // Where the judged command's git does not read commit-graphs, it is not sent.
    repo.git(&["config", "core.commitGraph", "off"]);
    assert!(!airlock(&repo, &["main"], &[]).unwrap().contains(&hidden));
}

#[test]
fn airlock_reads_the_bytes_that_a_forged_pack_index_sends() {
    let sandbox = Sandbox::new();
    let (repo, clean, secret) = with_forged_index(&sandbox);
    let found = airlock(&repo, &["HEAD"], &[]).unwrap();
    assert!(found.contains(&secret) && !found.contains(&clean), "{found:?}");
}

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
    assert!(cache().record(&proof(&first.items, &engine("a")), &first.items, &[finding(dirty)], &first.tips));
    let second = selected(&claimed, &store, &tips, Some(&cache()));
    assert_eq!((second.items.len(), second.remembered), (3 + 1, 5));
    assert!(second.items.contains(dirty));
    // Clean now: next time the tip answers for all that it reaches, but what no claim hides is read.
    assert!(cache().record(&proof(&second.items, &engine("a")), &second.items, &[], &second.tips));
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
    }
}

#[test]
fn cache_takes_proof_of_its_own_engines_only_and_keys_by_path() {
    let sandbox = Sandbox::new();
    let cache = Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let items = [blob(1, "safe.txt"), blob(2, "safe.txt")];
    assert!(!cache.record(&proof(&items, &engine("b")), &items, &[], &[]));
    assert!(!cache.record(&proof(&items[..1], &engine("a")), &items, &[], &[]), "more items than were read");
    assert!(cache.record(&proof(&items, &engine("a")), &items, &[finding(&items[1])], &[]));
    let cache = Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    assert!(cache.remembers(&items[0]) && !cache.remembers(&items[1]));
    assert!(!cache.remembers(&blob(1, "other.txt")), "rules look at paths");
}

#[test]
fn damaged_caches_remember_nothing_wrong_and_are_made_good() {
    let sandbox = Sandbox::new();
    let open = || Cache::open(&sandbox.path("state"), &[engine("a")]).unwrap();
    let items: Vec<Item> = (0..500).map(|number| blob(number, "f")).collect();
    assert!(open().record(&proof(&items[..250], &engine("a")), &items[..250], &[], &[]));
    assert!(open().record(&proof(&items[250..], &engine("a")), &items[250..], &[], &[]));
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
        assert!(items.iter().filter(|item| cache.remembers(item)).count() <= 250);
    }
    // Cut short, as by a writer that was killed: the next writer puts it right.
    fs::write(&file, &sound[..sound.len() - 100]).unwrap();
    assert!(open().remembers(&items[0]) && !open().remembers(&items[499]));
    let more = [blob(1000, "f")];
    assert!(open().record(&proof(&more, &engine("a")), &more, &[], &[]));
    assert!(open().remembers(&more[0]) && open().remembers(&items[0]));
    fs::write(&file, noise(3, 5000)).unwrap();
    assert!(!open().remembers(&items[0]));
    assert!(open().record(&proof(&more, &engine("a")), &more, &[], &[]) && open().remembers(&more[0]));
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
    assert!(written.iter().filter(|written| **written).count() >= 20);
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
        assert!(cache.record(&proof(&items, &engine("a")), &items, &[], &[]));
    }
    let files = fs::read_dir(state.join("cache")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < (32 << 20) + 4096, "{bytes}");
    let cache = Cache::open(&state, &[engine("a")]).unwrap();
    assert!(cache.remembers(&blob(3 * 500_000 - 1, "f")), "the newest is kept");
}
