//! Known gaps of docs/threats.md, each shown to be there still. A gap that closes makes its test fail,
//! and its line goes.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::json;

use super::support::{Repo, Sandbox, planted, shown};

fn with_net(sandbox: &Sandbox) {
    let output = sandbox.tyran().args(["install", "git"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

fn commit_secret(repo: &Repo<'_>, seed: u64) {
    repo.write("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(seed)));
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--no-verify", "-m", "change"]);
}

fn push(repo: &Repo<'_>, args: &[&str]) -> Output {
    repo.sandbox.command("git").current_dir(&repo.dir).arg("push").args(args).output().unwrap()
}

fn gate(sandbox: &Sandbox, event: &serde_json::Value) -> Output {
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "20"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn program_that_pushes_past_the_hooks_is_only_told() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    with_net(&sandbox);
    commit_secret(&repo, 21);
    // Stands for a library that pushes by itself.
    assert!(push(&repo, &["-q", "--no-verify", "origin", "main"]).status.success());
    assert!(sandbox.git("work.git", &["show", "main:app.env"]).contains("GITHUB_TOKEN"));
}

#[test]
fn hook_is_not_told_of_a_rejected_ref() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["branch", "other"]);
    repo.git(&["commit", "-q", "--amend", "-m", "another"]);
    commit_secret(&repo, 22);
    repo.git(&["switch", "-q", "other"]);
    let clean = repo.commit("more.txt", "nothing here either\n");
    // A program that does as `git push origin main other` does, and is not git: nothing says what it was asked for.
    let mut command = sandbox.tyran();
    command.current_dir(&repo.dir).args(["git-hook", "pre-push", "origin"]).arg(sandbox.path("work.git"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let line = format!("refs/heads/other {clean} refs/heads/other {}\n", "0".repeat(40));
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let told = child.wait_with_output().unwrap();
    assert!(told.status.success(), "{}", shown(&told));
    // Asked beforehand, the same push is refused.
    let asked = sandbox.tyran().current_dir(&repo.dir).args(["scan-push", "origin", "main", "other"]).output().unwrap();
    assert_eq!(asked.status.code(), Some(1), "{}", shown(&asked));
}

#[test]
fn pre_commit_tells_of_one_ref() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let clean = repo.commit("readme.txt", "nothing here\n");
    repo.git(&["switch", "-q", "-c", "other"]);
    commit_secret(&repo, 23);
    let mut command = sandbox.tyran();
    command.current_dir(&repo.dir).args(["git-hook", "--from-pre-commit", "pre-push"]);
    command.env("PRE_COMMIT_TO_REF", clean).env("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/main");
    command.env("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/main").env("PRE_COMMIT_REMOTE_NAME", "origin");
    command.env("PRE_COMMIT_REMOTE_URL", sandbox.path("work.git"));
    assert!(command.status().unwrap().success());
}

#[test]
fn gate_judges_the_state_it_sees() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                       "tool_input": {"command": "git push origin main"}});
    assert_eq!(gate(&sandbox, &event).status.code(), Some(0));
    // Another process commits before the command runs.
    commit_secret(&repo, 25);
    assert!(push(&repo, &["-q", "origin", "main"]).status.success());
}
