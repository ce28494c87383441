//! What an unread program could publish is listed whole.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use tyran::command::plan::{GitContext, WidestRequest};
use tyran::payload::{ItemKind, Payload, widest};
use tyran::world::{Caution, World};

use crate::support::payload::{everything, file_paths, listing, oids};
use crate::support::{Repo, Sandbox};

fn payload(repo: &Repo<'_>) -> Payload {
    let world = World::new(repo.sandbox.env().into_iter().collect(), repo.dir.clone(), Caution::Gate);
    let git = GitContext { dir: repo.dir.clone(), env: world.env.clone(), globals: Vec::new() };
    let before = listing(&repo.sandbox.path(""));
    let payload = widest::payload(&world, &WidestRequest { git, because: "a test".into() }).unwrap();
    let after = listing(&repo.sandbox.path(""));
    let changed: Vec<_> = before.iter().filter(|(path, what)| after.get(*path) != Some(what)).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "working it out changed {changed:?}");
    assert!(!payload.exact);
    payload
}

/// Blobs and names of what `git add -A`, a commit and a push of everything send beyond what origin has.
fn really_sent(repo: &Repo<'_>) -> BTreeSet<String> {
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "all"]);
    let before: BTreeSet<String> = everything_at(repo);
    repo.git(&["push", "-q", "--mirror", "origin"]);
    everything_at(repo).difference(&before).cloned().collect()
}

fn everything_at(repo: &Repo<'_>) -> BTreeSet<String> {
    let remote = repo.dir.with_extension("git");
    let listed = repo.sandbox.git(remote, &["cat-file", "--batch-all-objects", "--batch-check"]);
    listed.lines().filter(|line| line.contains(" blob ")).map(|line| line[..40].to_owned()).collect()
}

#[test]
fn whatever_add_commit_and_mirror_would_send_is_there() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write(".gitignore", "*.env\n").write("a", "a\n");
    repo.commit("base", "base\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("s", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("m", "unpushed\n");
    repo.write("t", "tagged\n");
    repo.git(&["add", "t"]);
    repo.git(&["stash", "push", "-q"]);
    repo.write("staged", "staged\n");
    repo.git(&["add", "staged"]);
    repo.write("a", "changed\n").write("deep/untracked", "untracked\n").write("k.env", "ignored\n");
    repo.git(&["update-index", "--assume-unchanged", "base"]);
    fs::create_dir_all(repo.dir.join("not-a-repository/.git")).unwrap();
    repo.write("not-a-repository/f", "taken\n");
    symlink("target/text", repo.dir.join("link")).unwrap();
    let payload = payload(&repo);
    let text = everything(&payload);
    assert!(!text.contains("ignored\n"), "ignored files are taken");
    assert!(text.contains("tagged\n"), "the stash is not there");
    assert!(text.contains("target/text") && text.contains("deep/untracked"));
    let known = oids(&payload);
    let sent = really_sent(&repo);
    assert!(sent.len() >= 7, "{sent:?}");
    assert!(sent.is_subset(&known), "{sent:?} is not in {known:?}");
    let public = repo.git(&["rev-parse", "main~2:base"]);
    assert!(!known.contains(&public), "what the remote is said to have is read again");
}

#[test]
fn converted_files_are_read_as_bytes_and_as_blobs() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write(".gitattributes", "*.txt text\n*.u working-tree-encoding=UTF-16LE\n");
    repo.commit("base", "base\n");
    let wide: Vec<u8> = "wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    repo.write("a.txt", "a\r\n").write("b.u", &wide);
    let payload = payload(&repo);
    assert!(file_paths(&payload).is_superset(&["a.txt".to_owned(), "b.u".to_owned()].into()));
    assert!(everything(&payload).contains("wide\n"));
    assert!(really_sent(&repo).is_subset(&oids(&payload)));
}

#[test]
fn autocrlf_converts_files_that_no_attribute_names() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("base", "base\n");
    repo.git(&["config", "core.autocrlf", "input"]);
    repo.write("a", "a\r\n");
    assert!(really_sent_is_covered(&repo));
}

fn really_sent_is_covered(repo: &Repo<'_>) -> bool {
    let known = oids(&payload(repo));
    really_sent(repo).is_subset(&known)
}

#[test]
fn unmerged_and_unborn_repositories_are_listed_too() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("a", "a\n");
    repo.git(&["add", "a"]);
    repo.write("b", "b\n");
    assert!(really_sent_is_covered(&repo));

    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("f", "base\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("f", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("f", "main\n");
    repo.write("staged", "staged\n");
    repo.git(&["add", "staged"]);
    let merged = sandbox.command("git").current_dir(&repo.dir).args(["merge", "-q", "side"]).output().unwrap();
    assert!(!merged.status.success());
    assert!(really_sent_is_covered(&repo));
}

#[test]
fn items_of_files_have_the_ids_of_their_bytes() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("base", "base\n");
    repo.write("a", "bytes\r\n");
    let payload = payload(&repo);
    let item = payload.parts.iter().flat_map(|part| &part.items).find(|item| item.kind == ItemKind::File).unwrap();
    assert_eq!(item.oid.unwrap().to_string(), repo.git(&["hash-object", "--no-filters", "a"]));
}

#[test]
fn bare_repository_has_its_refs_alone() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "a\n");
    repo.git(&["push", "-q", "origin", "main"]);
    let bare = Repo { sandbox: &sandbox, dir: sandbox.path("r.git") };
    assert!(everything(&payload(&bare)).contains("a\n"));
}

#[test]
fn folder_without_a_repository_has_nothing() {
    let sandbox = Sandbox::new();
    let nowhere = Repo { sandbox: &sandbox, dir: sandbox.path("home") };
    assert!(payload(&nowhere).is_empty());
}
