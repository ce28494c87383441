//! What a person has settled: accepted findings from `tyran allow` to CI, and the policy of the configuration.

use std::process::Output;

use serde_json::{Value, json};

use super::gate::fed;
use super::support::{Repo, Sandbox, planted, shown};

/// main at origin, and a commit with a secret on `feature`.
fn feature(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.commit("fixture.env", format!("GITHUB_TOKEN={}\n", planted::github_token(21)));
    repo
}

fn scanned(repo: &Repo<'_>, args: &[&str], env: &[(&str, &str)]) -> (Output, Value) {
    let mut command = repo.sandbox.tyran();
    command.current_dir(&repo.dir).args(["scan-push", "--engine", "embedded", "--format", "json"]).args(args);
    let output = command.envs(env.iter().copied()).output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
    (output, report)
}

/// `tyran allow` of the one finding that pushing `feature` has; nothing is committed.
fn allow(repo: &Repo<'_>) {
    let (_, report) = scanned(repo, &["origin", "feature"], &[]);
    let fingerprint = report["findings"][0]["fingerprint"].as_str().unwrap();
    let words = ["allow", fingerprint, "--reason", "a made-up token of a test"];
    let output = repo.sandbox.tyran().current_dir(&repo.dir).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

/// The entry, committed and published on main; `feature` is put on it.
fn allow_on_main(repo: &Repo<'_>) {
    allow(repo);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["add", ".tyran-allow"]);
    repo.git(&["commit", "-q", "-m", "accept"]);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "feature"]);
    repo.git(&["rebase", "-q", "main"]);
}

#[test]
fn a_finding_that_is_allowed_and_reviewed_does_not_refuse_the_push() {
    let sandbox = Sandbox::new();
    let repo = feature(&sandbox);
    allow_on_main(&repo);
    let (output, report) = scanned(&repo, &["origin", "feature"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(report["suppressed"].as_array().map(Vec::len), Some(1), "{report}");
}

#[test]
fn ci_counts_what_was_reviewed_on_the_base_and_asks_about_what_is_not() {
    let sandbox = Sandbox::new();
    let repo = feature(&sandbox);
    let base = repo.git(&["rev-parse", "main"]);
    assert_eq!(scanned(&repo, &["--base", base.trim()], &[]).1["class"], "finding");
    allow(&repo);
    repo.git(&["add", ".tyran-allow"]);
    repo.git(&["commit", "-q", "-m", "accept"]);
    // A branch does not accept its own finding, nor bring the acceptance alone.
    assert_eq!(scanned(&repo, &["--base", base.trim()], &[]).1["class"], "finding");
    let tip = repo.git(&["rev-parse", "HEAD~1"]);
    let (output, report) = scanned(&repo, &["--base", tip.trim()], &[]);
    assert_eq!((output.status.code(), &report["class"]), (Some(1), &json!("suppression")), "{report}");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    allow_on_main(&repo);
    let base = repo.git(&["rev-parse", "main"]);
    assert_eq!(scanned(&repo, &["--base", base.trim()], &[]).1["verdict"], "pass");
    // Where everything is read, what the default branch accepts counts.
    let event = repo.sandbox.path("event.json");
    let before = "0".repeat(40);
    let text = json!({"before": before, "repository": {"default_branch": "main"}}).to_string();
    std::fs::write(&event, text).unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_PATH", event.to_str().unwrap())];
    let (output, report) = scanned(&repo, &[], &env);
    assert_eq!(report["verdict"], "pass", "{}", shown(&output));
    // A push of the default branch itself, whose base is gone, accepts nothing of its own; a later look at it does.
    repo.git(&["push", "-q", "origin", "feature:main", "--force"]);
    repo.git(&["fetch", "-q", "origin"]);
    let run = |name| [env[0], env[1], ("GITHUB_REF", "refs/heads/main"), ("GITHUB_EVENT_NAME", name)];
    assert_eq!(scanned(&repo, &[], &run("push")).1["class"], "finding");
    assert_eq!(scanned(&repo, &[], &run("schedule")).1["verdict"], "pass");
    assert_eq!(scanned(&repo, &[], &[("CI", "true")]).1["class"], "finding");
    let text = json!({"before": before, "repository": {"default_branch": "nowhere"}}).to_string();
    std::fs::write(&event, text).unwrap();
    assert_eq!(scanned(&repo, &[], &env).1["class"], "finding");
}

#[test]
fn a_force_push_is_told_and_refused_where_the_configuration_says_so() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.commit("readme.txt", "nothing here either\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["commit", "-q", "--amend", "-m", "in other words"]);
    let told = |report: &Value| report["notes"].to_string().contains("a force push");
    for args in [&["-f", "origin", "main"][..], &["origin", "+main"], &["--force-with-lease", "origin", "main"]] {
        let (output, report) = scanned(&repo, args, &[]);
        assert_eq!(output.status.code(), Some(0), "{args:?} {}", shown(&output));
        assert!(told(&report), "{args:?} {report}");
    }
    repo.write(".tyran.toml", "force_push = \"refuse\"\n");
    for args in [&["-f", "origin", "main"][..], &["origin", "+main"], &["--force-with-lease", "origin", "main"]] {
        let (output, report) = scanned(&repo, args, &[]);
        assert_eq!((output.status.code(), &report["class"]), (Some(1), &json!("force-push")), "{args:?} {report}");
    }
    // git's own list tells the hook, whatever the line said.
    let (old, new) = (repo.git(&["rev-parse", "origin/main"]), repo.git(&["rev-parse", "main"]));
    let hook = |line: String| {
        let mut command = sandbox.tyran();
        let origin = repo.git(&["remote", "get-url", "origin"]);
        command.current_dir(&repo.dir).args(["git-hook", "pre-push", "origin", origin.trim()]);
        fed(command, line.as_bytes())
    };
    let replaced = hook(format!("refs/heads/main {} refs/heads/main {}\n", new.trim(), old.trim()));
    assert_eq!(replaced.status.code(), Some(1), "{}", shown(&replaced));
    assert!(String::from_utf8_lossy(&replaced.stderr).contains("(force-push)"), "{}", shown(&replaced));
    let parent = repo.git(&["rev-parse", "main~1"]);
    let forward = hook(format!("refs/heads/main {} refs/heads/main {}\n", new.trim(), parent.trim()));
    assert_eq!(forward.status.code(), Some(0), "{}", shown(&forward));
    // With force, but with nothing to lose.
    let (output, report) = scanned(&repo, &["-f", "origin", "main:refs/heads/new"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(!told(&report), "{report}");
}

#[test]
fn the_program_that_hosts_and_hooks_start_is_a_control_wherever_it_is() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let folder = sandbox.path("tools/bin");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("ty");
    sandbox.copy_of_tyran(&program);
    let link = sandbox.path("tools/link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let (program, link) = (program.to_str().unwrap(), link.to_str().unwrap());
    let asked = |line: &str| {
        let mut command = std::process::Command::new(program);
        command.env_clear().envs(sandbox.env()).args(["gate", "--host", "claude", "--deadline", "20"]);
        let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                           "tool_input": {"command": line}});
        String::from_utf8_lossy(&fed(command, event.to_string().as_bytes()).stdout).into_owned()
    };
    for line in [
        format!("cp /bin/true {program}"),
        format!("ln -sf /bin/true {program}"),
        format!("echo x > {program}"),
        format!("echo x > {link}"),
        format!("rm {program}"),
        format!("rm -r {}", folder.to_str().unwrap()),
        format!("chmod -x {program}"),
        format!("{program} uninstall --all"),
        format!("{link} uninstall git"),
    ] {
        assert!(asked(&line).contains("\"ask\""), "{line}");
    }
    for line in [format!("cp {program} copy"), format!("{program} scan-push"), "rm -rf build".to_owned()] {
        assert_eq!(asked(&line), "", "{line}");
    }
}

#[test]
fn no_question_is_put_at_the_entry_of_a_host_that_cannot_ask() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    // Its keys could be those of a host at which asking works.
    let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                       "tool_use_id": "1", "tool_input": {"command": "tyran uninstall --all"}});
    for (host, asks) in [("claude", true), ("codex", false)] {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", host, "--event", "PreToolUse", "--deadline", "20"]);
        let output = fed(command, event.to_string().as_bytes());
        let expected = if asks { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{host} {}", shown(&output));
    }
}

#[test]
fn the_journal_names_the_class_of_a_finding() {
    let sandbox = Sandbox::new();
    let repo = feature(&sandbox);
    let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                       "tool_input": {"command": "git push origin feature"}});
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "20"]);
    fed(command, event.to_string().as_bytes());
    let output = sandbox.tyran().args(["log", "--format", "json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"class\":\"finding\""), "{}", shown(&output));
}
