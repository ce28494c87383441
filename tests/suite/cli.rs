//! The command line: exit codes, formats, and the flow from a push to a report.

use super::support::{Sandbox, planted, shown};

#[test]
fn key_in_an_older_commit_refuses_the_push() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(1)));
    repo.commit("app.env", "GITHUB_TOKEN=from-the-vault\n");
    let output = sandbox
        .tyran()
        .current_dir(&repo.dir)
        .args(["scan-push", "--engine", "embedded", "--format", "json", "origin", "main"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "refuse");
    assert_eq!(report["class"], "finding");
    assert_eq!(report["findings"][0]["path"], "app.env");
}

#[test]
fn clean_push_passes_with_a_proof() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    let output = sandbox
        .tyran()
        .current_dir(&repo.dir)
        .args(["scan-push", "--engine", "embedded", "--format", "json", "origin", "main"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "pass");
    // A commit, a tree, a blob, and the ref's name.
    assert_eq!(report["coverage"]["objects"], 4);
}

#[test]
fn nothing_to_push_is_nothing_published() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    let output =
        sandbox.tyran().current_dir(&repo.dir).args(["scan-push", "origin", "main", "--format=json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["class"], "nothing-published");
}

#[test]
fn unknown_option_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let output = sandbox.tyran().args(["scan-files", "--no-such-option", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}

#[test]
fn words_that_no_list_has_are_usage_errors() {
    let sandbox = Sandbox::new();
    for args in [&["log", "--decision", "bogus"][..], &["man", "bogus"]] {
        let output = sandbox.tyran().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    }
    let output = sandbox.tyran().args(["man", "scan-push"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("tyran-scan-push"), "{}", shown(&output));
}

#[test]
fn a_line_that_is_too_long_says_so_and_speaks_of_no_push() {
    let sandbox = Sandbox::new();
    sandbox.repo("work");
    let long = format!("echo {}", "x".repeat(300 << 10));
    let event = serde_json::json!({"session_id": "s", "cwd": sandbox.path("work"), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": long}});
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "20"]);
    let output = super::gate::fed(command, event.to_string().as_bytes());
    super::gate::assert_refused(&output, "(unreadable)");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("git push"), "{}", shown(&output));
}

#[test]
fn directory_without_repository_refuses() {
    let sandbox = Sandbox::new();
    let output = sandbox.tyran().args(["scan-push", "origin", "main"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
}

#[test]
fn every_class_has_its_row_in_the_documentation() {
    let text = include_str!("../../docs/refusals.md");
    for class in tyran::verdict::Class::ALL {
        assert!(text.contains(&format!("| `{}` | {} |", class.word(), class.exit_code())), "{}", class.word());
    }
}

#[test]
fn bytes_that_exist_only_once_the_line_runs_pass_only_with_the_net() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.write("make-it", "#!/bin/sh\nawk 'BEGIN { print rand() }' | od -c\n");
    let scan = |line: &str| {
        let mut command = sandbox.tyran();
        command.current_dir(&repo.dir).args(["scan-command", "--engine", "embedded", "--", line]).output().unwrap()
    };
    let commits = "./make-it > made.txt && git add made.txt && git commit -m made";
    let publishes = format!("{commits} && git push origin main");
    // A commit stays here until it is pushed, and says so.
    let output = scan(commits);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(shown(&output).contains("not read before it is pushed"), "{}", shown(&output));
    let output = scan(&publishes);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(sandbox.tyran().args(["install", "git"]).output().unwrap().status.success());
    let output = scan(&publishes);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

/// A git on `PATH` that hangs, with a child, where its arguments hold `word`; else the real one.
fn git_that_hangs_at(sandbox: &Sandbox, word: &str) -> (std::path::PathBuf, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let (folder, pids) = (sandbox.path(&format!("bin-{word}")), sandbox.path(&format!("pids-{word}")));
    std::fs::create_dir(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" {word} \"*) sleep 600 & echo $$ $! >'{0}.new'; mv '{0}.new' '{0}'; wait;; esac\nexec '{1}' \"$@\"\n",
        pids.display(),
        real.display()
    );
    std::fs::write(folder.join("git"), script).unwrap();
    std::fs::set_permissions(folder.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    (folder, pids)
}

#[test]
fn an_interrupt_leaves_no_child_and_no_file_behind() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    let temporary = sandbox.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    for (word, options) in [("receive-pack", &["origin"][..]), ("pack-objects", &["--airlock", "origin"][..])] {
        let (folder, pids) = git_that_hangs_at(&sandbox, word);
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut child = sandbox
            .tyran()
            .current_dir(&repo.dir)
            .env("PATH", path)
            .env("TMPDIR", &temporary)
            .arg("scan-push")
            .args(options)
            .arg("main")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let waits = std::time::Instant::now();
        while !pids.exists() {
            assert!(child.try_wait().unwrap().is_none(), "{word}: it ended before git was asked");
            assert!(waits.elapsed().as_secs() < 60, "{word}: git was never asked");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{word}");
        for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
            let waits = std::time::Instant::now();
            while is_running(pid) {
                assert!(waits.elapsed().as_secs() < 30, "{word}: process {pid} is left running");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{word}: {left:?}");
    }
}

/// Killed and not yet reaped counts as ended.
fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z')))
}

#[test]
fn files_that_were_looked_at_are_not_called_published() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("settings"), format!("token = {}\n", planted::github_token(7))).unwrap();
    let mut told = Vec::new();
    for named in ["./settings", "settings", "."] {
        let output = sandbox.tyran().args(["scan-files", "--format=json", named]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!report["refusal"]["what"].as_str().unwrap().contains("published"), "{report}");
        told.push((report["findings"][0]["path"].clone(), report["findings"][0]["fingerprint"].clone()));
    }
    assert_eq!(told[0].0, "settings", "{told:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}

#[test]
fn words_of_a_command_are_taken_as_they_are() {
    let sandbox = Sandbox::new();
    let planned = |words: &[&str]| -> serde_json::Value {
        let output = sandbox.tyran().args(["plan", "--format", "json", "--"]).args(words).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["commands"].clone()
    };
    assert_eq!(planned(&["echo 'it''s' $(date)"]), serde_json::json!([["date"], ["echo", "its", null]]));
    let words = ["echo", "it's $(date)", "a;b", ""];
    assert_eq!(planned(&words), serde_json::json!([words]));
}

#[test]
fn a_list_whose_reader_has_gone_ends_quietly() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    for words in [&["man"][..], &["payload", "push", "origin", "main"], &["rules", "list"], &["completions", "zsh"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.tyran().current_dir(&repo.dir).args(words).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", shown(&output));
        assert!(output.stderr.is_empty(), "{words:?}: {}", shown(&output));
    }
}

#[test]
fn git_is_asked_the_same_thing_only_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let (folder, asked) = (sandbox.path("bin"), sandbox.path("asked"));
    std::fs::create_dir(&folder).unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n", asked.display(), real.display());
    std::fs::write(folder.join("git"), script).unwrap();
    std::fs::set_permissions(folder.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let counted = format!("{}:{}", folder.display(), path.to_str().unwrap());
    for words in [&["scan-push", "origin", "main"][..], &["scan-command", "--", "git push origin main"]] {
        let output = sandbox.tyran().current_dir(&repo.dir).env("PATH", &counted).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        let asked_for = std::fs::read_to_string(&asked).unwrap();
        let mut once: Vec<&str> = asked_for.lines().collect();
        once.sort_unstable();
        let all = once.len();
        once.dedup();
        assert_eq!(all, once.len(), "{words:?}: {asked_for}");
        assert!(all >= 3, "{asked_for}");
        std::fs::remove_file(&asked).unwrap();
    }
}

#[test]
fn reader_that_goes_away_changes_nothing() {
    use std::process::Stdio;

    let sandbox = Sandbox::new();
    let leaky = sandbox.path("leaky.env").into_os_string().into_string().unwrap();
    std::fs::write(&leaky, format!("GITHUB_TOKEN={}\n", planted::github_token(3))).unwrap();
    for (args, code) in [
        (&["scan-files", &leaky][..], 1),
        (&["scan-files", "--format", "json", &leaky], 1),
        (&["hosts"], 0),
        (&["hosts", "--format", "json"], 0),
        (&["setup", "--dry-run", "claude", "codex", "cursor"], 0),
        (&["setup", "--yes", "claude"], 0),
        (&["doctor"], 0),
        (&["log"], 0),
        (&["rules", "list"], 0),
        (&["man"], 0),
        (&["completions", "bash"], 0),
        (&["plan", "--", "git push origin main"], 0),
        (&["uninstall", "--all"], 0),
        (&["--help"], 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sandbox.tyran();
        let output = command.args(args).stdout(writer).stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", shown(&output));
        assert!(output.stderr.is_empty(), "{args:?}: {}", shown(&output));
    }
    // A reader of what is said on standard error may go away too.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = sandbox.tyran().args(["scan-push", "no-such-remote", "x"]).stderr(writer).output().unwrap().status;
    assert_eq!(status.code(), Some(3));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::new();
    for args in [
        &["hosts"][..],
        &["man"],
        &["completions", "zsh"],
        &["rules", "list"],
        &["plan", "--", "ls"],
        &["scan-files", "/dev/null"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox.tyran().args(args).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains("tyran: refused"), "{args:?}: {}", shown(&output));
    }
}

/// The README's first command, on the checkout's own repository: whoever clones tyran sees a pass.
#[test]
fn own_history_is_clean() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    if !top.join(".git").exists() {
        eprintln!("skipped: no repository around these sources");
        return;
    }
    let sandbox = Sandbox::new();
    let output = sandbox
        .tyran()
        .current_dir(top)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .args(["scan-push", "--no-network", "https://example.invalid/a/fork.git", "HEAD:refs/heads/main"])
        .output()
        .unwrap();
    let text = shown(&output);
    if text.contains("(shallow-clone)") {
        eprintln!("skipped: the history around these sources is cut off");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{text}");
}
