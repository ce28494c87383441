//! What a push sends is listed as git lists it, and read raw and whole; what lies is refused.

mod airlock_pack;
mod cache;
mod lies;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tyran::command::plan::GitContext;
use tyran::payload::objects::ObjectStore;
use tyran::payload::{Content, Fault, Item, ItemKind, ObjectId};
use tyran::world::World;

use crate::support::{Repo, Sandbox};

/// The context of a plain git command in `dir`.
pub fn context(sandbox: &Sandbox, dir: &Path) -> GitContext {
    GitContext { dir: dir.to_owned(), env: sandbox.env().into_iter().collect(), globals: Vec::new() }
}

pub fn world(sandbox: &Sandbox) -> World {
    sandbox.world("")
}

pub fn open(repo: &Repo<'_>) -> Result<Arc<ObjectStore>, Fault> {
    ObjectStore::open(&world(repo.sandbox), &context(repo.sandbox, &repo.dir))
}

pub fn id(hex: &str) -> ObjectId {
    ObjectId::from_hex(hex.as_bytes()).unwrap()
}

pub fn ids(repo: &Repo<'_>, revisions: &[&str]) -> Vec<ObjectId> {
    revisions.iter().map(|revision| id(&repo.git(&["rev-parse", "--verify", revision]))).collect()
}

/// An object's kind and size, by its id.
pub type Listing = BTreeMap<String, (String, u64)>;

/// What git would put into the pack of a push: `pack-objects` with the walk that a push takes.
pub fn chosen_by_git(sandbox: &Sandbox, context: &GitContext, tips: &[ObjectId], boundary: &[ObjectId]) -> Listing {
    let run = |args: &[&str], input: &str| {
        let mut git = sandbox.command("git");
        git.current_dir(&context.dir).envs(&context.env).args(["-c", "core.commitGraph=false"]).args(args);
        given(&mut git, input)
    };
    let known: String = boundary.iter().map(|id| format!("{id}\n")).collect();
    let known = run(&["cat-file", "--batch-check=%(objectname) %(objecttype)"], &known);
    let here = known.lines().filter_map(|line| line.split_once(' ').filter(|(_, kind)| *kind != "missing"));
    // What the other side has comes first, as in a push.
    let mut range: String = here.map(|(id, _)| format!("^{id}\n")).collect();
    range.extend(tips.iter().map(|id| format!("{id}\n")));
    let folder = sandbox.path("chosen");
    fs::create_dir(&folder).unwrap();
    let prefix = folder.join("pack");
    let packing = ["pack-objects", "-q", "--revs", "--sparse", "--no-use-bitmap-index", "--window=0"];
    run(&[&packing[..], &[prefix.to_str().unwrap()]].concat(), &range);
    let mut chosen = Listing::new();
    for file in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|kind| kind != "idx") {
            continue;
        }
        let mut show = sandbox.command("git");
        let format = format!("--object-format={}", run(&["rev-parse", "--show-object-format"], "").trim());
        let index = show.args(["show-index", &format]).stdin(fs::File::open(&file).unwrap()).output().unwrap();
        let index = String::from_utf8(index.stdout).unwrap();
        let names: String = index.lines().map(|line| format!("{}\n", line.split(' ').nth(1).unwrap())).collect();
        for line in run(&["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], &names).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            chosen.insert(words[0].to_owned(), (words[1].to_owned(), words[2].parse().unwrap()));
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    chosen
}

/// Runs a command with this input; what it prints.
fn given(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(input.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}");
        String::from_utf8(output.stdout).unwrap()
    })
}

/// What tyran lists.
pub fn listed(store: &Arc<ObjectStore>, tips: &[ObjectId], boundary: &[ObjectId]) -> Listing {
    let items = store.reachable(tips, boundary).unwrap();
    let listed: Listing = items
        .iter()
        .map(|item| (item.oid.unwrap().to_string(), (format!("{:?}", item.kind).to_lowercase(), item.size)))
        .collect();
    assert_eq!(listed.len(), items.len(), "an object is listed twice");
    listed
}

/// Demands that tyran's list is git's, and that every item of it can be read.
pub fn same_as_git(repo: &Repo<'_>, tips: &[&str], boundary: &[&str]) -> usize {
    let store = open(repo).unwrap();
    let (tips, boundary) = (ids(repo, tips), ids(repo, boundary));
    let listed = listed(&store, &tips, &boundary);
    assert_eq!(listed, chosen_by_git(repo.sandbox, &context(repo.sandbox, &repo.dir), &tips, &boundary));
    let (objects, bytes) = read_all(&store, store.reachable(&tips, &boundary).unwrap()).unwrap();
    assert_eq!((objects, bytes), (listed.len() as u64, listed.values().map(|(_, size)| size).sum()));
    listed.len()
}

/// Reads every item; how many, and of how many bytes.
pub fn read_all(store: &Arc<ObjectStore>, items: Vec<Item>) -> Result<(u64, u64), Fault> {
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
pub fn object(repo: &Repo<'_>, kind: &str, bytes: &[u8]) -> String {
    let path = repo.dir.join(".git/raw-object");
    fs::write(&path, bytes).unwrap();
    repo.git(&["hash-object", "--literally", "-w", "-t", kind, path.to_str().unwrap()])
}

/// One entry of a tree.
pub fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let mut entry = format!("{mode} {name}\0").into_bytes();
    entry.extend(hex::decode(id).unwrap());
    entry
}

/// A commit of a tree, with a date, made as it is.
pub fn commit_of(repo: &Repo<'_>, tree: &str, parents: &[&str], date: &str) -> String {
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    text.push_str(&format!("author A <a@b> {date} +0000\ncommitter A <a@b> {date} +0000\n\nmade\n"));
    object(repo, "commit", text.as_bytes())
}

/// A commit with one file of its own.
pub fn commit_at(repo: &Repo<'_>, name: &str, parents: &[&str], date: &str) -> String {
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
    repo.git(&["update-ref", "refs/heads/main", &top_two]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    same_as_git(&repo, &[&top_one, &top_two], &[&cross_one]);
}

/// The lower files of a split commit-graph may stand in an alternate.
#[test]
fn commit_graph_that_goes_on_in_an_alternate_is_no_reason_to_refuse() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.git(&["commit-graph", "write", "--reachable", "--split=no-merge"]);
    sandbox.git("", &["clone", "-q", "--shared", "work", "borrower"]);
    let borrower = Repo { sandbox: &sandbox, dir: sandbox.path("borrower") };
    borrower.commit("two.txt", "2");
    borrower.git(&["commit-graph", "write", "--reachable", "--split=no-merge"]);
    let chain = fs::read_to_string(borrower.dir.join(".git/objects/info/commit-graphs/commit-graph-chain")).unwrap();
    assert_eq!(chain.lines().count(), 2);
    assert_eq!(same_as_git(&borrower, &["HEAD"], &[]), 6);
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
        let base = ids(&repo, &[base]);
        let chosen = chosen_by_git(&sandbox, &context(&sandbox, &repo.dir), &tips, &base);
        assert_eq!(listed(&store, &tips, &base), chosen, "tips {tip} {other}, base {base:?}");
    }
}

/// git leaves out what the folders hold that both sides have, and sends again what moves to another.
#[test]
fn files_that_move_between_folders_are_listed_as_git_sends_them_again() {
    let sandbox = Sandbox::new();
    let mut state = 17_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut moved, mut left_out) = (0, 0);
    for turn in 0..12 {
        let repo = sandbox.repo(&format!("work{turn}"));
        for number in 0..8 {
            repo.write(&format!("{}/{}/f{number}", random(2), random(3)), number.to_string());
        }
        repo.write("top", "1");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "base"]);
        let all = listed(&open(&repo).unwrap(), &ids(&repo, &["HEAD"]), &[]);
        for step in 0..=random(2) {
            for _ in 0..=random(3) {
                let files = repo.git(&["ls-files"]);
                let files: Vec<&str> = files.lines().collect();
                let from = files[random(files.len() as u64) as usize];
                let to = match random(5) {
                    0 => format!("n{}", random(3)),
                    1 => format!("{}/new{}/n{}", random(2), random(2), random(3)),
                    2 => format!("other/n{}", random(3)),
                    _ => format!("{}/{}/n{}", random(2), random(3), random(3)),
                };
                let bytes = fs::read(repo.dir.join(from)).unwrap();
                if !repo.dir.join(&to).exists() && random(3) > 0 {
                    repo.git(&["rm", "-qf", from]);
                }
                if !repo.dir.join(&to).is_dir() {
                    repo.write(&to, bytes);
                }
            }
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", &format!("{step}")]);
        }
        let root = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
        same_as_git(&repo, &["HEAD"], &[&root]);
        let sent = listed(&open(&repo).unwrap(), &ids(&repo, &["HEAD"]), &ids(&repo, &[&root]));
        moved += sent.keys().filter(|id| all.contains_key(*id)).count();
        left_out += all.keys().filter(|id| !sent.contains_key(*id)).count();
    }
    assert!(moved > 5 && left_out > 50, "sent again {moved}, left out {left_out}");
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

pub fn import_stream(repo: &Repo<'_>, stream: &[u8]) {
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
    assert_eq!(listed(&store, &[tip], &[]), chosen_by_git(&sandbox, &context, &[tip], &[]));
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
pub fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).unwrap();
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub fn loose_file(repo: &Repo<'_>, id: &str) -> PathBuf {
    repo.dir.join(".git/objects").join(&id[..2]).join(&id[2..])
}

pub fn only_file(folder: PathBuf, ending: &str) -> PathBuf {
    let mut found = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending));
    let path = found.next().unwrap();
    assert!(found.next().is_none());
    path
}

pub fn listed_and_read(repo: &Repo<'_>, tip: &str) -> Result<(u64, u64), Fault> {
    let store = open(repo)?;
    let items = store.reachable(&ids(repo, &[tip]), &[])?;
    read_all(&store, items)
}

/// Bytes that do not compress, and of which no run is like another.
pub fn noise(mut state: u64, len: usize) -> Vec<u8> {
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
fn store_that_git_repacks_meanwhile_is_read_all_the_same() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    repo.git(&["repack", "-adq"]);
    repo.commit("two.txt", "2");
    let store = open(&repo).unwrap();
    // Loose objects go into a pack that was not there, and the known pack goes away.
    repo.git(&["repack", "-adfq"]);
    let items = store.reachable(&ids(&repo, &["HEAD"]), &[]).unwrap();
    assert_eq!(read_all(&store, items).unwrap().0, 6);
}

/// Every path of the blob that holds `bytes`, and whether it could be seen at others.
fn paths_of(repo: &Repo<'_>, bytes: &str) -> (Vec<String>, bool) {
    fs::write(repo.dir.join("../bytes"), bytes).unwrap();
    let blob = id(&repo.git(&["hash-object", "../bytes"]));
    let items = open(repo).unwrap().reachable(&ids(repo, &["HEAD"]), &[]).unwrap();
    let item = items.iter().find(|item| item.oid == Some(blob)).unwrap();
    let mut paths: Vec<String> = item.known_paths().map(ToString::to_string).collect();
    paths.sort();
    (paths, matches!(item.elsewhere, tyran::payload::Elsewhere::Anywhere(_)))
}

#[test]
fn blob_is_listed_with_all_its_paths() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("vendor/deep/one.txt", "1");
    // The whole folder moves: its trees stay the same objects.
    repo.git(&["mv", "vendor", "src"]);
    repo.git(&["commit", "-q", "-m", "move"]);
    repo.commit("copy.txt", "1");
    repo.commit("other.txt", "2");
    let (paths, more) = paths_of(&repo, "1");
    assert_eq!(
        (paths, more),
        (["copy.txt", "src/deep/one.txt", "vendor/deep/one.txt"].map(str::to_owned).to_vec(), false)
    );
    assert_eq!(paths_of(&repo, "2").0, ["other.txt"]);
    same_as_git(&repo, &["HEAD"], &[]);
}

#[test]
fn paths_beyond_a_few_are_any_path_and_trees_that_hold_trees_end() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let blob = repo.git(&["hash-object", "-w", "--stdin-paths"]);
    assert!(blob.is_empty());
    repo.write("x", "x");
    let mut tree = format!("100644 blob {}\tx", repo.git(&["hash-object", "-w", "x"]));
    // Each holds the one before ten times: 10^12 paths.
    for _ in 0..12 {
        fs::write(sandbox.path("entries"), &tree).unwrap();
        let made = sandbox
            .command("git")
            .current_dir(&repo.dir)
            .args(["mktree"])
            .stdin(fs::File::open(sandbox.path("entries")).unwrap())
            .output()
            .unwrap();
        let id = String::from_utf8(made.stdout).unwrap();
        tree = (0..10).map(|entry| format!("040000 tree {}\t{entry}", id.trim())).collect::<Vec<_>>().join("\n");
    }
    let top = tree.split([' ', '\t']).nth(2).unwrap().to_owned();
    let commit = repo.git(&["commit-tree", "-m", "bomb", &top]);
    repo.git(&["update-ref", "HEAD", &commit]);
    let (paths, more) = paths_of(&repo, "x");
    assert!(more && paths.len() <= 6, "{paths:?}");
}
