//! What a url leads to, and what counts as published there.

use super::*;

#[test]
fn urls_lead_where_git_takes_them() {
    let local = |url: &str| matches!(Peer::of(url.into(), None), Peer::Local(_));
    for url in ["/a/b", "../a", "a", ".", "./a:b", "a/b:c", "file:///a%20b"] {
        assert!(local(url), "{url}");
    }
    for url in ["host:a", "user@host:a/b", "ssh://h/a", "git+ssh://h/a", "git://h/a", "http://h/a", "https://u:p@h/a"] {
        assert_eq!(Peer::of(url.into(), None), Peer::Host, "{url}");
    }
    for (url, name) in
        [("ext::sh -c x", "ext"), ("a::b", "a"), ("ftp://h/a", "ftp"), ("persistent-https://h", "persistent-https")]
    {
        assert_eq!(Peer::of(url.into(), None), Peer::Helper(name.into()), "{url}");
    }
    assert_eq!(Peer::of("/a".into(), Some(&"leak".into())), Peer::Helper("leak".into()));
    assert_eq!(Peer::of("file:///a%20b".into(), None), Peer::Local("/a b".into()));
}

#[test]
fn a_url_is_shown_without_what_gives_access() {
    let shown = |url: &str| tyran::payload::push::destination::shown(url.into()).to_string();
    assert_eq!(shown("https://user:pass@host/a?token=x#y"), "https://host/a");
    assert_eq!(shown("https://token@host"), "https://host");
    assert_eq!(shown("git@host:a/b"), "git@host:a/b");
    assert_eq!(shown("/plain/path@x"), "/plain/path@x");
}

#[test]
fn another_program_at_the_other_end_is_not_run_in_the_gate() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let witness = sandbox.path("witness");
    let program = format!("sh -c 'touch {}; exec git receive-pack \"$@\"' x", witness.display());
    let asked = |caution| {
        let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), caution);
        let args = ["--receive-pack", program.as_str(), "origin", "topic"];
        resolve(&world, &request(&repo.dir, &sandbox, &[], &args), &words(&args), UNASKED).unwrap()
    };
    let resolved = asked(Caution::Gate);
    assert!(!witness.exists());
    assert_eq!(resolved.transfers[0].evidence, None);
    assert!(asked(Caution::ByHand).transfers[0].evidence.as_ref().is_some_and(|evidence| !evidence.is_empty()));
    assert!(witness.exists());
}

#[test]
fn a_destination_that_cannot_be_read_has_published_nothing() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    fs::create_dir_all(sandbox.path("broken.git/objects")).unwrap();
    for url in ["../broken.git", "ext::false", "foo://bar", "host.invalid:x"] {
        let resolved = resolved(&repo.dir, &sandbox, &[], &[url, "topic"]);
        assert_eq!(resolved.transfers[0].evidence, None, "{url}");
        assert!(!resolved.notes.is_empty(), "{url}");
    }
}

/// A program in the place of ssh, which runs what it is given here.
fn pretend_ssh(sandbox: &Sandbox, before: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let program = sandbox.path("pretend-ssh");
    fs::write(&program, format!("#!/bin/sh\n{before}\nfor last; do :; done\nexec sh -c \"$last\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("core.sshCommand={}", program.display())
}

fn asked_over(sandbox: &Sandbox, repo: &Repo<'_>, caution: Caution, globals: &[&str], url: &str) -> Resolved {
    let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), caution);
    let options = PushOptions::new(Network::Within(std::time::Duration::from_millis(1500)));
    resolve(&world, &request(&repo.dir, sandbox, globals, &[url, "topic"]), &words(&[url, "topic"]), options).unwrap()
}

#[test]
fn nothing_leaves_for_a_path_where_nothing_is() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let recorder = Recorder::new(&sandbox);
    for url in ["../absent.git", "nowhere", "file:///nowhere/at/all"] {
        assert_eq!(compare(&sandbox, &recorder, &repo.dir, &[], &[url, "topic"]), Outcome::BothRefuse, "{url}");
    }
    // git finds this one with a suffix.
    assert_eq!(compare(&sandbox, &recorder, &repo.dir, &[], &["../third", "topic"]), Outcome::Sends);
}

#[test]
fn a_host_is_asked_at_the_very_url_that_git_connects_to() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let ssh = pretend_ssh(&sandbox, "");
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    // git rewrites once; a second time would lead elsewhere.
    let once = format!("url.{url}.insteadOf=short:");
    let twice = format!("url.elsewhere.invalid:/x.insteadOf={url}");
    let globals = ["-c", &ssh, "-c", &once, "-c", &twice];
    let resolved = asked_over(&sandbox, &repo, Caution::ByHand, &globals, "short:");
    let [transfer] = resolved.transfers.as_slice() else { panic!("one url") };
    assert_eq!(transfer.url, url.as_str());
    let published = repo.git(&["rev-parse", "main~1"]);
    let evidence = transfer.evidence.as_ref().unwrap_or_else(|| panic!("{:?}", resolved.notes));
    assert!(evidence.iter().any(|id| *id == published));
}

#[test]
fn a_host_that_does_not_answer_in_time_has_published_nothing() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let ssh = pretend_ssh(&sandbox, "sleep 600");
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    let resolved = asked_over(&sandbox, &repo, Caution::ByHand, &["-c", &ssh], &url);
    assert_eq!(resolved.transfers[0].evidence, None);
}

#[test]
fn the_gate_runs_no_ssh_command_that_configuration_names() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let witness = sandbox.path("witness");
    let ssh = pretend_ssh(&sandbox, &format!("touch {}", witness.display()));
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    let resolved = asked_over(&sandbox, &repo, Caution::Gate, &["-c", &ssh], &url);
    assert_eq!(resolved.transfers[0].evidence, None);
    assert!(!witness.exists());
}

#[test]
fn a_host_is_asked_by_the_way_that_the_commands_environment_names() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let witness = sandbox.path("witness");
    let ssh = pretend_ssh(&sandbox, &format!("touch {}", witness.display()));
    let program = ssh.strip_prefix("core.sshCommand=").unwrap();
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    let ask = |caution| {
        let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), caution);
        let mut request = request(&repo.dir, &sandbox, &[], &[&url, "topic"]);
        request.git.env.insert("GIT_SSH_COMMAND".into(), program.into());
        let options = PushOptions::new(Network::Within(std::time::Duration::from_secs(10)));
        resolve(&world, &request, &words(&[&url, "topic"]), options).unwrap().transfers.remove(0).evidence
    };
    assert_eq!(ask(Caution::Gate), None);
    assert!(!witness.exists());
    assert!(ask(Caution::ByHand).is_some_and(|evidence| !evidence.is_empty()));
    assert!(witness.exists());
}
