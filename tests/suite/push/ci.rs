//! Where a CI run's new commits start.

use super::*;

/// What a CI run reads, in an environment of the service's.
fn ci(
    sandbox: &Sandbox,
    dir: &Path,
    env: &[(&str, &str)],
    base: Option<&str>,
) -> Result<(BTreeSet<String>, String), Fault> {
    let mut all: tyran::world::Environment = sandbox.env().into_iter().collect();
    all.extend(env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let git = GitContext { dir: dir.to_owned(), env: sandbox.env().into_iter().collect(), globals: vec![] };
    let world = World::new(all, dir.to_owned(), Caution::ByHand);
    let range = ci_base::updates(&world, &git, base)?;
    let payload = ci_base::payload(&world, &git, &range)?;
    Ok((contents(&payload)?.0, range.note.to_string()))
}

#[test]
fn a_ci_run_reads_what_came_after_the_base_that_its_service_names() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("ci");
    let first = repo.commit("a", "1");
    let second = repo.commit("a", "2");
    let third = repo.commit("a", "3");
    let event = |text: String| {
        let path = sandbox.path("event.json");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let reads = |env: &[(&str, &str)], base: Option<&str>| {
        let (ids, note) = ci(&sandbox, &repo.dir, env, base).unwrap();
        (ids.contains(&first), ids.contains(&second), ids.contains(&third), note)
    };
    let from = |env: &[(&str, &str)]| {
        let (one, two, three, note) = reads(env, None);
        (vec![one, two, three], note)
    };
    let github = ("GITHUB_ACTIONS", "true");
    let path = event(format!(r#"{{"before":"{second}","after":"{third}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [false, false, true]);
    let path = event(format!(r#"{{"pull_request":{{"base":{{"sha":"{first}"}}}},"before":"{second}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [false, true, true]);
    let path = event(format!(r#"{{"before":"{ZERO}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [true, true, true]);
    let path = event(format!(r#"{{"before":"{second}"}}"#));
    let tag = [github, ("GITHUB_EVENT_PATH", &path), ("GITHUB_REF_TYPE", "tag")];
    assert_eq!(from(&tag).0, [true, true, true]);
    let gitlab = ("GITLAB_CI", "true");
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", &second)]).0, [false, false, true]);
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", ZERO)]).0, [true, true, true]);
    let merge = [gitlab, ("CI_COMMIT_BEFORE_SHA", ZERO), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &first)];
    assert_eq!(from(&merge).0, [false, true, true]);
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", &second), ("CI_COMMIT_TAG", "v1")]).0, [true, true, true]);
    assert!(!reads(&[("CI", "true")], Some("HEAD~1")).1);
    // Pushed over: what was there before is gone, so that all is read.
    let (all, note) = from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", "1234567890123456789012345678901234567890")]);
    assert_eq!(all, [true, true, true], "{note}");
}

#[test]
fn a_plain_ci_run_reads_from_the_fork_and_on_the_default_branch_everything() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("plain");
    let first = repo.commit("a", "1");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["remote", "set-head", "origin", "main"]);
    let plain = |wanted: &str| ci(&sandbox, &repo.dir, &[("CI", "true")], None).unwrap().0.contains(wanted);
    assert!(plain(&first), "HEAD is what the default branch is");
    repo.git(&["checkout", "-q", "-b", "topic"]);
    let second = repo.commit("a", "2");
    assert!(!plain(&first));
    assert!(plain(&second));
}

#[test]
fn a_shallow_clone_is_a_fault_that_names_the_setting() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("deep");
    let first = repo.commit("a", "1");
    let second = repo.commit("a", "2");
    repo.commit("a", "3");
    repo.commit("a", "4");
    repo.git(&["push", "-q", "origin", "main"]);
    let url = format!("file://{}", sandbox.path("deep.git").display());
    for (depth, base, whole) in [("1", &second, false), ("2", &first, false), ("4", &first, true), ("3", &second, true)]
    {
        let clone = format!("clone-{depth}");
        sandbox.git("", &["clone", "-q", "--depth", depth, &url, &clone]);
        let env = [("GITLAB_CI", "true"), ("CI_COMMIT_BEFORE_SHA", base.as_str())];
        let read = ci(&sandbox, &sandbox.path(&clone), &env, None);
        match read {
            Ok(_) => assert!(whole, "depth {depth} passes as whole"),
            Err(Fault::Shallow(what)) => {
                assert!(!whole && what.as_str().contains("GIT_DEPTH"), "depth {depth}: {what}")
            }
            Err(other) => panic!("depth {depth}: {other}"),
        }
    }
    // Without a base everything would have to be read, and it is not there.
    assert!(matches!(ci(&sandbox, &sandbox.path("clone-2"), &[("CI", "1")], None), Err(Fault::Shallow(_))));
}

#[test]
fn an_event_that_cannot_be_read_and_a_base_that_is_none_are_faults() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("bad");
    repo.commit("a", "1");
    let path = sandbox.path("event.json");
    fs::write(&path, "{").unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_PATH", path.to_str().unwrap())];
    assert!(matches!(ci(&sandbox, &repo.dir, &env, None), Err(Fault::File { .. })));
    assert!(matches!(ci(&sandbox, &repo.dir, &[], Some("no-such-revision")), Err(Fault::Unmodelled(_))));
}
