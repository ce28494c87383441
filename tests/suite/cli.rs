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
    let line = "./make-it > made.txt && git add made.txt && git commit -m made";
    repo.write("make-it", "#!/bin/sh\ndate\n");
    let scan = || {
        let mut command = sandbox.tyran();
        command.current_dir(&repo.dir).args(["scan-command", "--engine", "embedded", "--", line]).output().unwrap()
    };
    let output = scan();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(sandbox.tyran().args(["install", "git"]).output().unwrap().status.success());
    let output = scan();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}
