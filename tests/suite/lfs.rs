//! Content of Git LFS leaves beside a push, and is read with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use sha2::{Digest, Sha256};
use tyran::command::plan::{GitContext, MovedTo, PushRequest, PushVia, State};
use tyran::payload::push::{Network, PushOptions};
use tyran::payload::{ItemKind, Payload, push};
use tyran::world::{Caution, World};

use crate::support::payload::everything;
use crate::support::{Repo, Sandbox};

fn payload(repo: &Repo<'_>, via: PushVia, args: &[&str]) -> Payload {
    let env: tyran::world::Environment = repo.sandbox.env().into_iter().collect();
    let world = World::new(env.clone(), repo.dir.clone(), Caution::ByHand);
    let git = GitContext { dir: repo.dir.clone(), env, globals: Vec::new() };
    let args = args.iter().map(|word| Some(OsString::from(word))).collect();
    let request = PushRequest { git, args, state: State::AsNow, moved_to: MovedTo::default(), via };
    push::payload(&world, &request, PushOptions::new(Network::Unasked)).unwrap().payload
}

fn digest(content: &str) -> String {
    hex::encode(Sha256::digest(content))
}

fn pointer(content: &str) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n", digest(content), content.len())
}

/// Puts content into the repository's store, as a clean filter would.
fn store(repo: &Repo<'_>, content: &str) -> PathBuf {
    let name = digest(content);
    let folder = repo.dir.join(".git/lfs/objects").join(&name[..2]).join(&name[2..4]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&name), content).unwrap();
    folder.join(name)
}

fn hook(repo: &Repo<'_>) {
    fs::create_dir_all(repo.dir.join(".git/hooks")).unwrap();
    repo.write(".git/hooks/pre-push", "#!/bin/sh\ngit lfs pre-push \"$@\"\n");
}

fn digests(payload: &Payload) -> BTreeSet<String> {
    let items = payload.parts.iter().flat_map(|part| &part.items);
    items.filter(|item| item.kind == ItemKind::Lfs).map(|item| item.oid.unwrap().to_string()).collect()
}

/// A repository whose branch replaced one content by another, both unpublished.
fn replaced(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("r");
    repo.commit("base", "base\n");
    repo.git(&["push", "-q", "origin", "main"]);
    for content in ["first content\n", "second content\n"] {
        store(&repo, content);
        repo.commit("big.bin", pointer(content));
    }
    repo
}

#[test]
fn content_of_every_commit_of_the_push_is_read() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    let payload = payload(&repo, PushVia::Push, &["origin", "main"]);
    assert_eq!(digests(&payload), [digest("first content\n"), digest("second content\n")].into());
    let text = everything(&payload);
    assert!(text.contains("first content") && text.contains("second content"));
    let item = payload.parts.iter().flat_map(|part| &part.items).find(|item| item.kind == ItemKind::Lfs).unwrap();
    assert_eq!(item.path.as_ref().unwrap(), "big.bin");
    assert!(payload.destinations.iter().any(|place| place.url.as_str().ends_with("r.git/info/lfs")), "{payload:?}");
}

#[test]
fn content_that_the_line_commits_before_it_pushes_is_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit(".gitattributes", "*.bin filter=lfs\n");
    repo.commit("old.bin", pointer("old content\n"));
    repo.git(&["push", "-q", "origin", "main"]);
    for content in ["old content\n", "staged content\n"] {
        store(&repo, content);
    }
    repo.write("big.bin", pointer("staged content\n")).git(&["add", "big.bin"]);
    let listed = |line: &str| {
        let mut tyran = sandbox.tyran();
        tyran.current_dir(&repo.dir).args(["payload", "command", "--format", "json", "--", line]);
        let listed: serde_json::Value = serde_json::from_slice(&tyran.output().unwrap().stdout).unwrap();
        let items = listed["items"].as_array().unwrap().clone();
        let lfs = items.into_iter().filter(|item| item["kind"] == "lfs");
        lfs.map(|item| item["oid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let line = "git commit -qm x && git push -q";
    assert!(listed(line).is_empty(), "without the hook nothing is uploaded");
    hook(&repo);
    assert_eq!(listed(line), [digest("staged content\n")]);
    assert_eq!(listed("git commit -qm x -- big.bin; git push -q"), [digest("staged content\n")]);
    assert_eq!(listed("git mv old.bin moved.bin && git commit -qm x && git push -q"), [digest("staged content\n")]);
}

#[test]
fn without_the_hook_a_push_uploads_nothing() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    assert!(digests(&payload(&repo, PushVia::Push, &["origin", "main"])).is_empty());
    hook(&repo);
    repo.git(&["config", "core.hooksPath", "elsewhere"]);
    repo.write("elsewhere/pre-push.chained", "git-lfs pre-push \"$@\"\n");
    assert_eq!(digests(&payload(&repo, PushVia::Push, &["origin", "main"])).len(), 2);
}

#[test]
fn a_line_that_tells_the_hook_to_skip_uploads_nothing() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    let lfs = |line: &str, inherited: &[(&str, &str)]| {
        let mut tyran = sandbox.tyran();
        tyran.current_dir(&repo.dir).envs(inherited.iter().copied());
        tyran.args(["payload", "command", "--format", "json", "--", line]);
        let listed: serde_json::Value = serde_json::from_slice(&tyran.output().unwrap().stdout).unwrap();
        listed["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "lfs").count()
    };
    for value in ["1", "true", "TRUE", "on", "yes", "t"] {
        assert_eq!(lfs(&format!("GIT_LFS_SKIP_PUSH={value} git push origin main"), &[]), 0, "{value}");
    }
    assert_eq!(lfs("export GIT_LFS_SKIP_PUSH=1; git push origin main", &[]), 0);
    for value in ["0", "false", "''", "2", "off"] {
        assert_eq!(lfs(&format!("GIT_LFS_SKIP_PUSH={value} git push origin main"), &[]), 2, "{value}");
    }
    assert_eq!(lfs("GIT_LFS_SKIP_PUSH=1 true; git push origin main", &[]), 2);
    // The variable of tyran's own process is no evidence of what the shell of the line has.
    assert_eq!(lfs("git push origin main", &[("GIT_LFS_SKIP_PUSH", "1")]), 2);
    assert_eq!(lfs("GIT_LFS_SKIP_PUSH=1 git lfs push origin main", &[]), 2);
}

#[test]
fn content_that_is_not_here_is_a_note() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    fs::remove_file(store(&repo, "first content\n")).unwrap();
    let payload = payload(&repo, PushVia::Push, &["origin", "main"]);
    assert_eq!(digests(&payload), [digest("second content\n")].into());
    assert!(payload.notes.iter().any(|note| note.as_str().contains("1 pointer")), "{:?}", payload.notes);
}

#[test]
fn content_under_a_wrong_name_is_not_read_as_if_it_were_right() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    fs::write(store(&repo, "first content\n"), "other content\n").unwrap();
    let payload = payload(&repo, PushVia::Push, &["origin", "main"]);
    let part = payload.parts.iter().find(|part| part.items.iter().any(|item| item.kind == ItemKind::Lfs)).unwrap();
    let mut reader = part.source.reader().unwrap();
    let failed = part.items.iter().filter(|item| reader.read(item, &mut |_| Ok(())).is_err()).count();
    assert_eq!(failed, 1);
}

#[test]
fn committed_endpoint_is_named() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    repo.git(&["config", "-f", ".lfsconfig", "lfs.url", "https://user:word@elsewhere.example/lfs"]);
    let urls = |payload: &Payload| {
        payload.destinations.iter().map(|place| place.url.to_string()).collect::<Vec<_>>().join(" ")
    };
    let told = urls(&payload(&repo, PushVia::Push, &["origin", "main"]));
    assert!(told.contains("elsewhere.example/lfs") && told.contains(".lfsconfig") && !told.contains("word@"), "{told}");
    repo.git(&["config", "remote.origin.lfsurl", "https://configured.example/lfs"]);
    assert!(urls(&payload(&repo, PushVia::Push, &["origin", "main"])).contains("configured.example/lfs"));
}

#[test]
fn store_elsewhere_is_found() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    fs::rename(repo.dir.join(".git/lfs"), sandbox.path("store")).unwrap();
    repo.git(&["config", "lfs.storage", sandbox.path("store").to_str().unwrap()]);
    assert_eq!(digests(&payload(&repo, PushVia::Push, &["origin", "main"])).len(), 2);
}

#[test]
fn lfs_push_takes_all_history_of_its_refs() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    store(&repo, "side content\n");
    repo.commit("side.bin", pointer("side content\n"));
    repo.git(&["checkout", "-q", "--detach", "main"]);
    let all = payload(&repo, PushVia::Lfs, &["--all", "origin"]);
    assert_eq!(digests(&all).len(), 3);
    assert!(!everything(&all).contains("base"), "no object of git's leaves");
    assert_eq!(digests(&payload(&repo, PushVia::Lfs, &["origin", "main"])).len(), 2);
    assert_eq!(digests(&payload(&repo, PushVia::Lfs, &["origin"])).len(), 3, "what git push refuses widens");
}

#[test]
fn what_only_looks_like_a_pointer_is_none() {
    let sandbox = Sandbox::new();
    let repo = replaced(&sandbox);
    hook(&repo);
    store(&repo, "third content\n");
    repo.commit("text", format!("a note on pointers:\n{}", pointer("third content\n")));
    assert_eq!(digests(&payload(&repo, PushVia::Push, &["origin", "main"])).len(), 2);
}

#[test]
fn git_lfs_itself_uploads_nothing_else() {
    if !Command::new("git-lfs").arg("version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no git-lfs here");
        return;
    }
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let url = format!("file://{}", sandbox.path("r.git").display());
    repo.git(&["remote", "set-url", "origin", &url]);
    repo.commit("base", "base\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["lfs", "install", "--local"]);
    repo.git(&["lfs", "track", "*.bin"]);
    repo.commit("a.bin", "one\n");
    repo.commit("a.bin", "two\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("b.bin", "three\n");
    for (branch, count) in [("main", 2), ("side", 3)] {
        let payload = payload(&repo, PushVia::Push, &["origin", branch]);
        repo.git(&["push", "-q", "origin", branch]);
        let mut there = BTreeSet::new();
        let mut folders = vec![sandbox.path("r.git/lfs/objects")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    there.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        assert_eq!(there.len(), count);
        let known = digests(&payload);
        let new: BTreeSet<String> =
            there.iter().filter(|name| branch == "main" || **name == digest("three\n")).cloned().collect();
        assert!(new.is_subset(&known), "{branch}: {new:?} {known:?}");
    }
}
