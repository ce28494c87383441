//! The bytes of pushes of every kind.

use super::*;

#[test]
fn send_pack_sends_what_it_sends() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let third = sandbox.path("third.git").display().to_string();
    let lines: &[&[&str]] = &[&[&third], &["--all", &third], &[&third, "topic:refs/heads/t"], &["--mirror", &third]];
    for line in lines {
        let before = objects_of(&sandbox, "third.git");
        let mut wanted = request(&repo.dir, &sandbox, &[], line);
        wanted.via = PushVia::SendPack;
        let found = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
        let mut git = sandbox.command("git");
        let output = git.current_dir(&repo.dir).arg("send-pack").args(*line).output().unwrap();
        assert!(output.status.success(), "{line:?} {}", shown(&output));
        let after = objects_of(&sandbox, "third.git");
        let arrived: BTreeSet<_> = after.difference(&before).cloned().collect();
        assert_eq!(arrived, found.difference(&before).cloned().collect(), "{line:?}");
    }
}

#[test]
fn a_push_after_a_checkout_holds_every_local_ref_and_no_more_than_the_destination_lacks() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let known = repo.git(&["rev-parse", "main~1"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin", "main"]);
    wanted.state = State::ContentChanged;
    let found = payload_of(&sandbox, &wanted);
    let ids = contents(&found.payload).unwrap().0;
    for name in ["main", "topic", "stash", "stash^2", "refs/odd", "a-nested", "refs/notes/commits"] {
        assert!(ids.contains(&repo.git(&["rev-parse", name])), "{name} is missing");
    }
    assert!(!ids.contains(&known), "what the destination has is not read again");
    assert!(!found.payload.exact);
}

#[test]
fn a_push_after_anything_counts_nothing_as_published() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let known = repo.git(&["rev-parse", "main~1"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin", "main"]);
    wanted.state = State::Changed;
    let found = payload_of(&sandbox, &wanted);
    assert!(contents(&found.payload).unwrap().0.contains(&known));
    let [transfer] = found.resolved.transfers.as_slice() else { panic!("one place that is not known") };
    assert!(transfer.boundary().evidence.is_empty());
    assert!(transfer.boundary().claims.iter().any(|claim| *claim == known));
}

#[test]
fn an_unknown_word_stands_for_every_ref_and_for_what_is_staged() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.write("staged", "only in the index");
    repo.git(&["add", "staged"]);
    let blob = repo.git(&["rev-parse", ":0:staged"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin"]);
    wanted.args.push(None);
    let ids = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
    assert!(ids.contains(&blob));
    assert!(ids.contains(&repo.git(&["rev-parse", "topic"])));
    assert!(!ids.contains(&repo.git(&["rev-parse", "main~1"])), "the destination is known");
    wanted.args = vec![None, Some("main".into())];
    let ids = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
    assert!(ids.contains(&repo.git(&["rev-parse", "main~1"])), "the destination is not known");
}

#[test]
fn the_hooks_own_list_gives_exactly_the_objects_that_arrive() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let origin = sandbox.path("rich.git").display().to_string();
    let hook = sandbox.path("keep");
    fs::create_dir(&hook).unwrap();
    fs::write(hook.join("pre-push"), "#!/bin/sh\ncat > \"$0.lines\"\n").unwrap();
    fs::set_permissions(hook.join("pre-push"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let before = objects_of(&sandbox, "rich.git");
    let path = format!("core.hooksPath={}", hook.display());
    let push = |dry: &[&str]| {
        let what = ["origin", "main", ":/change:refs/heads/found", "topic", ":gone", "a-nested"];
        repo.git(&[&["-c", &path, "push", "-q"], dry, &what].concat());
    };
    push(&["--dry-run"]);
    let lines = fs::read(hook.join("pre-push.lines")).unwrap();
    let git = request(&repo.dir, &sandbox, &[], &[]).git;
    let world = sandbox.world("rich");
    let found = from_hook_lines(&world, &git, "origin".into(), origin.as_str().into(), &lines, UNASKED).unwrap();
    let ids = contents(&found.payload).unwrap().0;
    push(&[]);
    let arrived: BTreeSet<_> = objects_of(&sandbox, "rich.git").difference(&before).cloned().collect();
    assert_eq!(ids, arrived);
    assert!(found.payload.exact);
}

#[test]
fn a_garbled_line_of_the_hook_is_a_fault() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("garbled");
    repo.commit("a", "1");
    let git = request(&repo.dir, &sandbox, &[], &[]).git;
    for lines in ["refs/heads/main abc refs/heads/main def\n", "one two\n", "\u{0}\n"] {
        let found =
            from_hook_lines(&sandbox.world("garbled"), &git, "origin".into(), "x".into(), lines.as_bytes(), UNASKED);
        assert!(found.is_err(), "{lines:?}");
    }
}

#[test]
fn push_options_leave_in_a_dry_run_and_objects_do_not() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let text = |args: &[&str], globals: &[&str]| {
        let found = payload_of(&sandbox, &request(&repo.dir, &sandbox, globals, args));
        let (ids, bytes) = contents(&found.payload).unwrap();
        (ids.len(), String::from_utf8_lossy(&bytes).into_owned())
    };
    let (objects, said) = text(&["-n", "-o", "first", "--push-option=second", "origin", "topic"], &[]);
    assert_eq!((objects, said.as_str()), (0, "first\nsecond\n"));
    let (_, said) = text(
        &["-n", "origin", "topic"],
        &["-c", "push.pushOption=a", "-c", "push.pushOption=", "-c", "push.pushOption=b"],
    );
    assert_eq!(said, "b\n");
    let (objects, said) = text(&["--push-option", "c", "origin", "topic"], &["-c", "push.pushOption=a"]);
    assert!(objects > 0 && said.contains("c\n") && said.contains("refs/heads/topic") && !said.contains("a\nc"));
}

#[test]
fn a_signed_push_says_who_pushes() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    for (globals, args) in
        [(&["-c", "push.gpgSign=if-asked"][..], &["origin", "topic"][..]), (&[], &["--signed", "origin", "topic"])]
    {
        let found = payload_of(&sandbox, &request(&repo.dir, &sandbox, globals, args));
        let said = contents(&found.payload).unwrap().1;
        assert!(String::from_utf8_lossy(&said).contains("committer@example.invalid"));
    }
}

#[test]
fn replaced_commits_are_followed_both_ways_when_a_source_is_an_expression() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.git(&["checkout", "-q", "--orphan", "apart"]);
    let apart = repo.commit("apart", "nothing of this is below main");
    repo.git(&["checkout", "-q", "main"]);
    let replacement = repo.git(&["commit-tree", "-p", &apart, "-m", "replacement", "main^{tree}"]);
    repo.git(&["replace", "main", &replacement]);
    let recorder = Recorder::new(&sandbox);
    let outcome = compare_superset(&sandbox, &recorder, &repo.dir, &[], &["origin", "main~1:refs/heads/x"]);
    assert_eq!(outcome, Outcome::Sends);
}

/// A git which says that it is of another version.
fn git_of_version(sandbox: &Sandbox, version: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let program = sandbox.path("other-git");
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\nif [ \"$last\" = version ]; then echo 'git version {version}'; exit; fi\nexec git \"$@\"\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_group_of_remotes_is_pushed_to_by_a_git_that_knows_groups() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.git(&["remote", "add", "second", sandbox.path("second.git").to_str().unwrap()]);
    repo.git(&["config", "remotes.inner", "second"]);
    repo.git(&["config", "remotes.all", "origin inner all"]);
    let urls = |version: &str| {
        let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), Caution::Gate)
            .with_git(git_of_version(&sandbox, version));
        let args = ["all", "topic"];
        let resolved = resolve(&world, &request(&repo.dir, &sandbox, &[], &args), &words(&args), UNASKED).unwrap();
        let urls = resolved.transfers.iter().map(|transfer| transfer.url.to_string());
        urls.map(|url| url.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(urls("2.55.0-rc2"), ["rich.git", "second.git"]);
    assert_eq!(urls("3.0.1"), ["rich.git", "second.git"]);
    assert!(urls("2.47.3").is_empty());
}

#[test]
fn the_hook_that_would_run_is_told_wherever_it_stands() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let outlook = |globals: &[&str], args: &[&str]| resolved(&repo.dir, &sandbox, globals, args).hooks.remove(0);
    let line = ["origin", "topic"];
    assert_eq!(outlook(&[], &line).file, None);
    fs::write(repo.dir.join(".git/hooks/pre-push"), "").unwrap();
    assert_eq!(outlook(&[], &line).file, Some(repo.dir.join(".git/hooks/pre-push")));
    assert_eq!(outlook(&["-c", "core.hooksPath=/dev/null"], &line).file, None);
    fs::create_dir(repo.dir.join("own")).unwrap();
    fs::write(repo.dir.join("own/pre-push"), "").unwrap();
    assert_eq!(outlook(&["-c", "core.hooksPath=own"], &line).file, Some(repo.dir.join("own/pre-push")));
    assert!(!outlook(&[], &line).skipped);
    assert!(outlook(&[], &["--no-veri", "origin", "topic"]).skipped);
    let configured = ["-c", "hook.x.event=pre-push", "-c", "hook.x.command=check it"];
    assert_eq!(outlook(&configured, &line).commands, ["check it"]);
    let disabled = [&configured[..], &["-c", "hook.x.enabled=false"]].concat();
    assert!(outlook(&disabled, &line).commands.is_empty());
}

#[test]
fn refspecs_from_standard_input_stand_for_every_ref() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let third = sandbox.path("third.git").display().to_string();
    let mut wanted = request(&repo.dir, &sandbox, &[], &["--stdin", &third]);
    wanted.via = PushVia::SendPack;
    let found = payload_of(&sandbox, &wanted);
    let ids = contents(&found.payload).unwrap().0;
    assert!(ids.contains(&repo.git(&["rev-parse", "refs/odd"])));
    assert!(found.resolved.hooks[0].skipped);
    assert_eq!(found.resolved.transfers[0].url, third.as_str());
}

#[test]
fn the_other_side_may_take_every_ref() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let mut wanted = request(&repo.dir, &sandbox, &[], &[]);
    wanted.via = PushVia::OtherSide;
    let ids = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
    for name in ["main", "main~1", "stash", "refs/odd", "a-nested"] {
        assert!(ids.contains(&repo.git(&["rev-parse", name])), "{name} is missing");
    }
}

#[test]
fn no_repository_is_no_push_and_a_broken_one_is_a_fault() {
    let sandbox = Sandbox::new();
    let outside = request(&sandbox.path(""), &sandbox, &[], &["origin", "main"]);
    let found = payload_of(&sandbox, &outside);
    assert!(found.payload.is_empty() && found.resolved.refused.is_some());
    let repo = rich(&sandbox);
    fs::write(repo.dir.join(".git/config"), "[core\n").unwrap();
    let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), Caution::Gate);
    assert!(payload(&world, &request(&repo.dir, &sandbox, &[], &["origin", "main"]), UNASKED).is_err());
}

#[test]
fn what_a_claim_hides_is_left_out_only_once_it_was_read_and_found_clean() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let hidden = repo.git(&["rev-parse", "main~1"]);
    // A host that is not asked: all that is known are tracking refs.
    repo.git(&["remote", "set-url", "origin", "host.invalid:x"]);
    let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), Caution::Gate);
    let args = request(&repo.dir, &sandbox, &[], &["origin", "topic"]);
    let cache = tyran::payload::cache::Cache::open(&sandbox.path("state"), &[]).unwrap();
    let options = PushOptions { cache: Some(&cache), ..UNASKED };
    let found = payload(&world, &args, options).unwrap();
    assert!(contents(&found.payload).unwrap().0.contains(&hidden), "an empty cache hides nothing");
    assert_eq!(found.remembered, 0);
    assert!(!found.clean_tips.is_empty());
}
