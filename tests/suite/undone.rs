//! What setup puts in place is given back, whatever came between: a kill, another setup, a file that nobody can read,
//! and hooks that stood where one does not look first.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use super::support::{Sandbox, shown};

fn tyran(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.tyran().args(args).output().unwrap()
}

fn done(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = tyran(sandbox, args);
    assert!(output.status.success(), "{args:?}: {}", shown(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Whether git of this sandbox can have hooks named in its configuration, which leaves hooks paths alone.
fn has_config_hooks(sandbox: &Sandbox) -> bool {
    sandbox.repo("version");
    let printed = sandbox.git("version", &["version"]);
    tyran::net::place::git_version(printed.as_bytes()).is_some_and(|version| version >= (2, 54))
}

#[test]
fn a_net_without_its_record_is_taken_out_and_the_users_path_given_back() {
    let sandbox = Sandbox::new();
    if has_config_hooks(&sandbox) {
        eprintln!("skipped: this git has hooks in its configuration");
        return;
    }
    let config = sandbox.path("home/.gitconfig");
    write(&config, "[core]\n\thooksPath = /their/hooks\n");
    done(&sandbox, &["install", "git"]);
    fs::remove_file(sandbox.path("state/net.json")).unwrap();
    done(&sandbox, &["uninstall", "--all"]);
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("/their/hooks"), "{text}");
    assert!(!text.contains(sandbox.path("state").to_str().unwrap()) && !text.contains("tyran"), "{text}");
}

#[test]
fn everything_takes_the_nets_of_single_repositories_along() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let config = repo.dir.join(".git/config");
    let before = fs::read(&config).unwrap();
    done(&sandbox, &["install", "git", "--repo", "-C", repo.dir.to_str().unwrap()]);
    assert_ne!(fs::read(&config).unwrap(), before);
    done(&sandbox, &["uninstall", "--all"]);
    assert_eq!(fs::read(&config).unwrap(), before);
    assert!(!sandbox.path("state/hooks/pre-push").exists());
}

#[test]
fn setups_at_the_same_time_lose_no_record() {
    let sandbox = Sandbox::new();
    let files = [".claude/settings.json", ".gemini/settings.json", ".qwen/settings.json"];
    let text = "{ \"theirs\":  [1 , 2] }\n";
    for file in files {
        write(&sandbox.path(&format!("home/{file}")), text);
    }
    for _ in 0..5 {
        let mut running: Vec<_> =
            ["claude", "gemini", "qwen"].map(|host| sandbox.tyran().args(["install", host]).spawn().unwrap()).into();
        for child in &mut running {
            assert!(child.wait().unwrap().success());
        }
        for file in files {
            assert_ne!(fs::read_to_string(sandbox.path(&format!("home/{file}"))).unwrap(), text, "{file}");
        }
        done(&sandbox, &["uninstall", "--all"]);
        for file in files {
            assert_eq!(fs::read_to_string(sandbox.path(&format!("home/{file}"))).unwrap(), text, "{file}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_out_and_named_and_the_rest_is_done() {
    let sandbox = Sandbox::new();
    let (broken, other) = (sandbox.path("home/.claude/settings.json"), sandbox.path("home/.gemini/settings.json"));
    write(&broken, "{ \"a\": \n");
    write(&other, "{}\n");
    let output = tyran(&sandbox, &["setup", "--yes", "claude", "gemini"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("claude: left as it is"), "{}", shown(&output));
    assert!(fs::read_to_string(&other).unwrap().contains("gate"));
    assert!(sandbox.path("state/net.json").exists());
    let output = tyran(&sandbox, &["uninstall", "--all"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert_eq!(fs::read_to_string(&other).unwrap(), "{}\n");
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{ \"a\": \n");
    assert!(!sandbox.path("state/hooks/pre-push").exists());
}

#[test]
fn setup_shows_what_changes_of_git_and_asks_about_it() {
    let sandbox = Sandbox::new();
    let shows = done(&sandbox, &["setup", "--dry-run"]);
    assert!(shows.contains(".gitconfig (git)"), "{shows}");
    let output = tyran(&sandbox, &["setup"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert!(!sandbox.path("home/.gitconfig").exists());
    done(&sandbox, &["setup", "--yes"]);
    assert!(!done(&sandbox, &["setup", "--dry-run"]).contains("(git)"));
}

#[test]
fn hooks_of_an_included_or_a_second_file_still_run_behind_the_net() {
    for place in ["included", "second"] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("work");
        let hooks = sandbox.path("theirs");
        let hook = hooks.join("pre-commit");
        write(&hook, &format!("#!/bin/sh\ntouch '{}'\n", sandbox.path("ran").display()));
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let setting = format!("[core]\n\thooksPath = {}\n", hooks.display());
        match place {
            "included" => {
                write(&sandbox.path("home/more"), &setting);
                write(&sandbox.path("home/.gitconfig"), "[include]\n\tpath = more\n");
            }
            _ => {
                write(&sandbox.path("home/.config/git/config"), &setting);
                write(&sandbox.path("home/.gitconfig"), "[alias]\n\tx = y\n");
            }
        }
        repo.git(&["commit", "-q", "--allow-empty", "-m", "before"]);
        assert!(sandbox.path("ran").exists(), "{place}: the test's own hook does not run");
        fs::remove_file(sandbox.path("ran")).unwrap();
        done(&sandbox, &["install", "git"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "after"]);
        assert!(sandbox.path("ran").exists(), "{place}: their hook does not run any more");
    }
}

/// What doctor says of a host's route after its file was changed.
fn judged(sandbox: &Sandbox, host: &str) -> String {
    let output = tyran(sandbox, &["doctor", host]);
    format!("{} {}", output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout))
}

#[test]
fn doctor_names_what_keeps_a_host_from_asking() {
    type Change = (&'static str, &'static str, fn(String) -> String);
    let changes: &[Change] = &[
        ("opencode", ".config/opencode", |text| text + "\nthrow new Error('x')\n"),
        ("kilo", ".config/kilo", |text| format!("import x from 'nope'\n{text}")),
        ("claude", ".claude/settings.json", |text| text.replace("\"type\": \"command\"", "\"type\": \"prompt\"")),
        ("claude", ".claude/settings.json", |text| text.replace("|mcp__.*", "")),
        ("qwen", ".qwen/settings.json", |text| text.replacen("\"timeout\": 60", "\"timeout\": 5000", 1)),
        ("gemini", ".gemini/settings.json", |text| text.replacen("\"timeout\": 60000", "\"timeout\": 0.5", 1)),
    ];
    for (host, below, change) in changes {
        let sandbox = Sandbox::new();
        done(&sandbox, &["setup", "--yes", host]);
        let place = sandbox.path(&format!("home/{below}"));
        let file = if place.is_dir() { module(&place) } else { place };
        assert!(judged(&sandbox, host).starts_with("0 "), "{host}: {}", judged(&sandbox, host));
        let before = fs::read_to_string(&file).unwrap();
        let after = change(before.clone());
        assert_ne!(before, after, "{host}: nothing was changed");
        fs::write(&file, after).unwrap();
        assert!(!judged(&sandbox, host).starts_with("0 "), "{host} {below}: {}", judged(&sandbox, host));
    }
}

/// The one file below a folder.
fn module(folder: &Path) -> std::path::PathBuf {
    let entry = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    if entry.is_dir() { module(&entry) } else { entry }
}
