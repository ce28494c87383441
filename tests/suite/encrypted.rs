//! What git-crypt would encrypt is judged as it would be committed, in the gate too; no other filter runs there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tyran::command::plan::{CommitRequest, CommitVerb, Content, GitContext, StagingStep, State, WrittenFile};
use tyran::payload::{Payload, commit};
use tyran::world::{Caution, World, look_up};

use crate::support::payload::{blobs, everything};
use crate::support::{Repo, Sandbox, shown};

/// The git-crypt of this machine; a test without one is skipped aloud.
fn git_crypt(sandbox: &Sandbox) -> Option<PathBuf> {
    let path = sandbox.env().into_iter().find(|(name, _)| name == "PATH")?.1;
    let found = look_up("git-crypt".as_ref(), Some(&path), Path::new("/"));
    if found.is_none() {
        eprintln!("skipped: no git-crypt here");
    }
    found
}

/// A repository where `*.env` is encrypted.
fn encrypting<'a>(sandbox: &'a Sandbox) -> Repo<'a> {
    let repo = sandbox.repo("r");
    let output = sandbox.command("git-crypt").current_dir(&repo.dir).arg("init").output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    repo.write(".gitattributes", "*.env filter=git-crypt diff=git-crypt\n");
    repo.git(&["add", ".gitattributes"]);
    repo.git(&["commit", "-q", "-m", "attributes"]);
    repo
}

/// What the gate reads of `git add STAGED && git commit`.
fn gated(repo: &Repo<'_>, staged: &str, git_crypt: Option<PathBuf>, written: Vec<WrittenFile>) -> Payload {
    let env: tyran::world::Environment = repo.sandbox.env().into_iter().collect();
    let world = World::new(env.clone(), repo.dir.clone(), Caution::Gate).with_git_crypt(git_crypt);
    let git = GitContext { dir: repo.dir.clone(), env, globals: Vec::new() };
    let words = |words: &[&str]| words.iter().map(|word| Some(OsString::from(word))).collect::<Vec<_>>();
    let step = StagingStep {
        git: git.clone(),
        verb: "add".into(),
        args: words(&[staged]),
        written: written.clone(),
        certain: true,
        files_may_appear: false,
    };
    let request = CommitRequest {
        git,
        verb: CommitVerb::Commit,
        args: words(&["-m", "x"]),
        steps: vec![step],
        written,
        state: State::AsNow,
    };
    commit::payload(&world, &request).unwrap()
}

#[test]
fn what_git_crypt_encrypts_is_read_encrypted() {
    let sandbox = Sandbox::new();
    let Some(program) = git_crypt(&sandbox) else { return };
    let repo = encrypting(&sandbox);
    repo.write("secrets.env", "plain words\n");
    let payload = gated(&repo, "secrets.env", Some(program), Vec::new());
    assert!(!everything(&payload).contains("plain words"));
    repo.git(&["add", "secrets.env"]);
    assert!(blobs(&payload).contains(repo.git(&["rev-parse", ":secrets.env"]).trim()));
}

#[test]
fn files_that_are_copied_are_encrypted_too() {
    let sandbox = Sandbox::new();
    let Some(program) = git_crypt(&sandbox) else { return };
    let repo = encrypting(&sandbox);
    let outside = sandbox.path("outside");
    std::fs::create_dir_all(outside.join("deep")).unwrap();
    std::fs::write(outside.join("deep/a.env"), "plain words\n").unwrap();
    std::fs::write(outside.join("b.txt"), "other words\n").unwrap();
    let copied = WrittenFile::certainly(repo.dir.join("in"), Content::CopyOf(outside));
    let read = everything(&gated(&repo, "in", Some(program), vec![copied]));
    assert!(!read.contains("plain words") && read.contains("other words"));
}

#[test]
fn without_a_recorded_git_crypt_the_plain_file_is_read() {
    let sandbox = Sandbox::new();
    if git_crypt(&sandbox).is_none() {
        return;
    }
    let repo = encrypting(&sandbox);
    repo.write("secrets.env", "plain words\n");
    assert!(everything(&gated(&repo, "secrets.env", None, Vec::new())).contains("plain words"));
}

#[test]
fn git_crypt_that_fails_leaves_the_plain_file_to_be_read() {
    let sandbox = Sandbox::new();
    let Some(program) = git_crypt(&sandbox) else { return };
    let repo = encrypting(&sandbox);
    repo.write("secrets.env", "plain words\n");
    std::fs::remove_dir_all(repo.dir.join(".git/git-crypt")).unwrap();
    assert!(everything(&gated(&repo, "secrets.env", Some(program), Vec::new())).contains("plain words"));
}

#[test]
fn command_that_is_not_git_crypt_alone_never_runs_in_the_gate() {
    let sandbox = Sandbox::new();
    let Some(program) = git_crypt(&sandbox) else { return };
    let repo = encrypting(&sandbox);
    let proof = sandbox.path("ran");
    let other = sandbox.path("git-crypt");
    std::fs::write(&other, format!("#!/bin/sh\ntouch {}\ncat\n", proof.display())).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&other).status().unwrap();
    repo.write("secrets.env", "plain words\n");
    let touch = format!("touch {}", proof.display());
    for (key, value) in [
        ("clean", format!("'{}' clean", other.display())),
        ("clean", format!("git-crypt clean; {touch}")),
        ("clean", format!("git-crypt clean --key-name='$({touch})'")),
        ("clean", "git-crypt clean --key-name=x more".to_owned()),
        ("clean", "git-crypt smudge".to_owned()),
        ("process", touch.clone()),
    ] {
        repo.git(&["config", &format!("filter.git-crypt.{key}"), &value]);
        let read = everything(&gated(&repo, "secrets.env", Some(program.clone()), Vec::new()));
        assert!(!proof.exists(), "{value} ran");
        assert!(read.contains("plain words"), "{value}");
        repo.git(&["config", "filter.git-crypt.clean", "\"git-crypt\" clean"]);
    }
}
