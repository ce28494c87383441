//! The airlock reads the pack that git would send, whatever the store says.

use super::lies::{with_forged_graph, with_forged_index};
use super::*;
use tyran::payload::airlock;

/// All that an airlock says would leave, as ids.
pub fn sent(repo: &Repo<'_>, new: &[&str], advertised: &[&str]) -> Result<Vec<String>, Fault> {
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
    assert_eq!(sent(&repo, &["HEAD"], &["HEAD~2"]).unwrap(), listed(&repo, &["HEAD"], &["HEAD~2"]));
    assert_eq!(sent(&repo, &["v1"], &[]).unwrap(), listed(&repo, &["v1"], &[]));
    repo.git(&["repack", "-adq"]);
    assert_eq!(sent(&repo, &["v1", "HEAD~1"], &["HEAD~3"]).unwrap(), listed(&repo, &["v1"], &["HEAD~3"]));
    assert!(sent(&repo, &["HEAD~1"], &["HEAD"]).unwrap().is_empty());
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
        sent(&repo, &["HEAD"], &[]).unwrap();
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
    let found = sent(&repo, &["HEAD"], &[]).unwrap();
    assert_eq!(found.len(), 6);
    assert!(found.contains(&unrelated));
    // The same by the environment of the judged command.
    fs::rename(repo.dir.join(".git/info/grafts"), repo.dir.join("grafts")).unwrap();
    assert_eq!(sent(&repo, &["HEAD"], &[]).unwrap().len(), 3);
    let mut context = context(&sandbox, &repo.dir);
    context.env.insert("GIT_GRAFT_FILE".into(), repo.dir.join("grafts").into());
    let payload = airlock::payload(&world(&sandbox), &context, &ids(&repo, &["HEAD"]), &[]).unwrap();
    assert_eq!(payload.parts[0].items.len(), 6);
}

#[test]
fn airlock_takes_what_a_lying_commit_graph_adds() {
    let sandbox = Sandbox::new();
    let (repo, hidden) = with_forged_graph(&sandbox);
    let found = sent(&repo, &["main"], &[]).unwrap();
    assert!(found.contains(&hidden));
    // Where the judged command's git does not read commit-graphs, it is not sent.
    repo.git(&["config", "core.commitGraph", "off"]);
    assert!(!sent(&repo, &["main"], &[]).unwrap().contains(&hidden));
}

#[test]
fn airlock_reads_the_bytes_that_a_forged_pack_index_sends() {
    let sandbox = Sandbox::new();
    let (repo, clean, secret) = with_forged_index(&sandbox);
    let found = sent(&repo, &["HEAD"], &[]).unwrap();
    assert!(found.contains(&secret) && !found.contains(&clean), "{found:?}");
}

#[test]
fn airlock_takes_what_a_ref_brings_that_the_client_rejects() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("one.txt", "1");
    let base = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["branch", "other"]);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["commit", "-q", "--amend", "-m", "another"]);
    repo.commit("rejected.txt", "of the rejected ref");
    let blob = repo.git(&["rev-parse", "HEAD:rejected.txt"]);
    repo.git(&["switch", "-q", "other"]);
    repo.commit("two.txt", "2");
    let said = sent(&repo, &["main", "other"], &[&base]).unwrap();
    assert!(said.contains(&blob));
    let push =
        repo.sandbox.command("git").current_dir(&repo.dir).args(["push", "-q", "origin", "main", "other"]).output();
    assert!(!push.unwrap().status.success(), "main is rejected");
    for id in &said {
        assert!(!sandbox.git("work.git", &["cat-file", "-t", id]).is_empty(), "{id} was not sent");
    }
}
