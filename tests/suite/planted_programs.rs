//! A program that an earlier call put before the system's, or where git, a login or a shell takes one from, is what
//! the name means: what it says is read when it is used, and what runs without any call is read when it is written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use tyran::command::Shell;
use tyran::command::plan::{Outcome, Plan};
use tyran::command::read::read;
use tyran::world::World;

use super::gate::{assert_passed, assert_refused, fed};
use super::support::Sandbox;

const PAST_THE_HOOKS: &str = "#!/bin/sh\n/usr/bin/git push --no-verify origin main\n";

fn plan(text: &str, world: &World) -> Plan {
    read(text.as_bytes(), world, Shell::Bash)
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The world of a repository in which a folder of the user's comes first on PATH.
fn world(sandbox: &Sandbox) -> World {
    let mut world = sandbox.world("work");
    let path = format!("{}:{}", sandbox.path("home/bin").display(), std::env::var("PATH").unwrap());
    world.env.insert("PATH".into(), path.into());
    World::new(world.env.clone(), world.cwd.clone(), tyran::world::Caution::ByHand)
}

#[test]
fn a_script_before_the_systems_program_is_searched() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    for (name, line) in [
        ("ls", "ls -la"),
        ("cat", "echo a | cat"),
        ("env", "env ls"),
        ("sleep", "sleep 0"),
        ("python3", "python3 -c 'print(1)'"),
        ("bash", "bash -c ls"),
        ("make", "make"),
        ("npm", "npm test"),
        ("xargs", "echo a | xargs ls"),
        ("timeout", "timeout 5 ls"),
        ("vim", "GIT_EDITOR=vim git commit --allow-empty"),
        ("less", "GIT_PAGER=less git log"),
        ("ssh", "GIT_SSH_COMMAND=ssh git ls-remote ssh://host.invalid/x"),
        ("ssh", "git fetch ssh://host.invalid/x"),
        ("gpg", "git tag -s v1 -m x"),
        ("vi", "git commit --allow-empty"),
        ("git", "git status"),
        ("git", "git push origin main"),
        ("git", "git log --oneline | head -1"),
    ] {
        let world = world(&sandbox);
        assert_ne!(plan(line, &world).outcome, Outcome::Bypass, "{line}");
        let path = sandbox.path("home/bin").join(name);
        program(&path, PAST_THE_HOOKS);
        assert_eq!(plan(line, &world).outcome, Outcome::Bypass, "{line}");
        fs::remove_file(&path).unwrap();
        program(&sandbox.path("home/other"), PAST_THE_HOOKS);
        symlink("../other", &path).unwrap();
        assert_eq!(plan(line, &world).outcome, Outcome::Bypass, "{line}, through a link");
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_script_that_hands_on_is_the_program_that_it_hands_on_to() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    let world = world(&sandbox);
    let shim = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=/opt/pyenv\nexec /opt/pyenv/libexec/pyenv exec \"$program\" \"$@\"\n";
    for name in ["python3", "ls", "make"] {
        program(&sandbox.path("home/bin").join(name), shim);
    }
    for line in ["ls -la", "python3 -c 'print(1)'", "python3 -m json.tool a.txt"] {
        assert_eq!(plan(line, &world).outcome, Outcome::Inert, "{line}");
    }
    program(&sandbox.path("home/bin/git"), "#!/bin/sh\nexec /usr/bin/git \"$@\"\n");
    for (line, outcome) in [
        ("git status", Outcome::Inert),
        ("git push origin main", Outcome::Publishes),
        ("git push --no-verify origin main", Outcome::Bypass),
    ] {
        assert_eq!(plan(line, &world).outcome, outcome, "{line}");
    }
    program(&sandbox.path("home/bin/git"), "#!/bin/sh\nexec /usr/bin/git -c core.hooksPath=/x \"$@\"\n");
    assert_eq!(plan("git push origin main", &world).outcome, Outcome::Bypass);
}

#[test]
fn a_program_that_git_starts_is_what_its_path_says_and_not_what_it_is_called() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "one\n");
    repo.write("a.txt", "two\n");
    let world = sandbox.world("work");
    for name in ["vim", "ed", "nano", "less", "ssh", "gpg", "true", "other"] {
        program(&repo.dir.join(name), PAST_THE_HOOKS);
    }
    for line in [
        "GIT_EDITOR=./ed git commit --allow-empty",
        "GIT_EDITOR=$PWD/vim git commit --amend",
        "EDITOR=./nano git tag -a v1",
        "git -c core.editor=./vim commit --allow-empty",
        "GIT_SEQUENCE_EDITOR=./ed git rebase -i --root",
        "GIT_SEQUENCE_EDITOR=./other git rebase -i --root",
        "git rebase --root -x ./other",
        "git rebase --root --exec ./true",
        "git bisect run ./other",
        "git filter-branch --msg-filter $PWD/other",
        "GIT_PAGER=./less git log",
        "git -c core.pager=./less log",
        "GIT_EXTERNAL_DIFF=./true git diff",
        "git difftool -y -x ./vim",
        "GIT_SSH=./ssh git fetch ssh://host.invalid/x",
        "GIT_SSH_COMMAND='./ssh -v' git fetch ssh://host.invalid/x",
        "git -c gpg.program=./gpg commit -S --allow-empty -m x",
    ] {
        assert_eq!(plan(line, &world).outcome, Outcome::Bypass, "{line}");
    }
    for line in ["GIT_EDITOR=true git rebase --continue", "GIT_PAGER=cat git log", "GIT_SSH_COMMAND='ssh -v' git fetch"]
    {
        assert_ne!(plan(line, &world).outcome, Outcome::Bypass, "{line}");
    }
}

#[test]
fn a_program_for_an_address_is_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "one\n");
    let world = world(&sandbox);
    program(&sandbox.path("home/bin/git-remote-zz"), PAST_THE_HOOKS);
    for line in [
        "git fetch zz::x",
        "git clone zz://host/x y",
        "git ls-remote zz::x",
        "git pull zz::x main",
        "git remote add two zz::x && git fetch two",
    ] {
        assert_eq!(plan(line, &world).outcome, Outcome::Bypass, "{line}");
    }
    for (key, value) in [("remote.two.url", "zz::x"), ("remote.two.vcs", "zz"), ("url.zz::.insteadOf", "short:")] {
        repo.git(&["config", key, value]);
        assert_eq!(plan("git fetch two", &world).outcome, Outcome::Bypass, "{key}");
        repo.git(&["config", "--unset", key]);
    }
    for line in
        ["git fetch https://host.invalid/x", "git fetch", "git ls-remote git@host.invalid:x", "git fetch ssh://h/x"]
    {
        assert_eq!(plan(line, &world).outcome, Outcome::Inert, "{line}");
    }
}

#[test]
fn what_a_login_or_a_shell_would_run_is_read_when_it_is_written() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "one\n");
    let world = sandbox.world("work");
    let past = "git push --no-verify origin main";
    for file in [
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".profile",
        ".bash_logout",
        ".zshrc",
        ".zshenv",
        ".zlogin",
        ".config/fish/config.fish",
        ".config/fish/conf.d/x.fish",
        ".config/autostart/x.desktop",
        ".config/systemd/user/x.service",
    ] {
        let path = sandbox.path("home").join(file);
        for line in [
            format!("echo '{past}' >> ~/{file}"),
            format!("printf '%s\\n' 'alias gp=\"{past}\"' > {}", path.display()),
            format!("cat > ~/{file} <<'E'\ngq() {{ {past}; }}\nE"),
            format!("echo 'git config --global core.hooksPath /x' | tee -a ~/{file}"),
        ] {
            assert_eq!(plan(&line, &world).outcome, Outcome::Bypass, "{line}");
        }
        assert_ne!(plan(&format!("echo 'export EDITOR=vim' >> ~/{file}"), &world).outcome, Outcome::Bypass);
        let written = |text: &str| {
            let mut command = sandbox.tyran();
            command.args(["gate", "--host", "claude", "--deadline", "20"]);
            let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Write",
                               "tool_input": {"file_path": path, "content": text}});
            fed(command, event.to_string().as_bytes())
        };
        assert_refused(&written(&format!("# mine\n{past}\n")), "whenever it is run");
        assert_passed(&written("export EDITOR=vim\n"));
    }
    // What only speaks of it somewhere else is nothing of ours.
    assert_ne!(plan(&format!("echo 'never {past}' >> notes.md"), &world).outcome, Outcome::Bypass);
}
