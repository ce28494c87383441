//! A shell that lives on between calls, another user's environment, and what an earlier call may have left.

use tyran::command::Shell;
use tyran::command::plan::{Outcome, Plan};
use tyran::command::read::read;
use tyran::world::World;

use crate::support::Sandbox;

fn plan(text: &str, world: &World) -> Plan {
    read(text.as_bytes(), world, Shell::Bash)
}

/// The outcome where each call has a shell of its own, and where one shell serves all.
fn outcomes(sandbox: &Sandbox, text: &str) -> (Outcome, Outcome) {
    let fresh = sandbox.world("work");
    let living = sandbox.world("work").with_living_shell(true);
    (plan(text, &fresh).outcome, plan(text, &living).outcome)
}

#[test]
fn what_would_change_later_commands_is_a_bypass_in_a_shell_that_lives_on() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    for text in [
        "git() { command git \"$@\" --no-verify; }",
        "function git { :; }",
        "gh() { :; }",
        "cd() { builtin cd \"$@\"; }",
        "command() { :; }",
        "ls() { git push; }",
        "alias git='git --no-pager'",
        "alias ls='rm -rf'",
        "export PATH=/tmp/evil:$PATH",
        "PATH=$PWD:$PATH",
        "export PATH=\"$(mktemp -d):$PATH\"",
        "PATH=/nowhere",
        "export HOME=/tmp/other",
        "HOME=/tmp/other",
        "unset HOME",
        "export LD_PRELOAD=/tmp/x.so",
        "export LD_LIBRARY_PATH=/tmp",
        "export BASH_ENV=/tmp/x",
        "export GIT_DIR=/tmp/x/.git",
        "export GIT_CONFIG_GLOBAL=/dev/null",
        "export GIT_CONFIG_COUNT=0",
        "export GIT_SSH_COMMAND='ssh -i key'",
        "export GIT_EDITOR='sh -c x'",
        "declare -x GIT_WORK_TREE=/tmp",
        "set -a; GIT_INDEX_FILE=/tmp/i; set +a",
        "export XDG_CONFIG_HOME=/tmp",
        "export HUSKY=0",
        "export SKIP=tyran",
        "PROMPT_COMMAND='git push'",
        "hash -p /tmp/git git",
        "if true; then export GIT_DIR=x; fi",
        "f() { export GIT_DIR=x; }; f",
        "eval 'export GIT_DIR=x'",
        "cd . && export GIT_DIR=x || true",
    ] {
        let (_, living) = outcomes(&sandbox, text);
        assert_eq!(living, Outcome::Bypass, "{text}");
    }
}

#[test]
fn what_is_gone_with_its_command_is_no_bypass_in_a_shell_that_lives_on() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    let home = tyran::world::user_home().unwrap();
    for text in [
        "GIT_PAGER=cat git log".to_owned(),
        "GIT_DIR=/tmp/x git status".to_owned(),
        "(export GIT_DIR=/tmp/x; ls)".to_owned(),
        "bash -c 'export PATH=/tmp:$PATH; ls'".to_owned(),
        "f() { local GIT_DIR=x; ls; }; f".to_owned(),
        "export NODE_ENV=test".to_owned(),
        "export GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true".to_owned(),
        "export GIT_AUTHOR_NAME=x".to_owned(),
        "build() { make all; }".to_owned(),
        "join() { local IFS=$1; shift; echo \"$*\"; }".to_owned(),
        "alias ll='ls -l' ls='ls --color=auto'".to_owned(),
        "export PATH=\"$PATH:/tmp/tools\"".to_owned(),
        format!("export PATH={}/.cargo/bin:$PATH", home.display()),
        "export GIT_DIR=x; unset GIT_DIR".to_owned(),
        "PATH=/tmp:$PATH ls".to_owned(),
        "set -x; ls; set +x".to_owned(),
        "cd /tmp".to_owned(),
    ] {
        let (fresh, living) = outcomes(&sandbox, &text);
        assert_eq!((fresh, living), (Outcome::Inert, Outcome::Inert), "{text}");
    }
}

#[test]
fn where_each_call_has_its_own_shell_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    for text in ["export GIT_DIR=/tmp/x", "export PATH=/tmp:$PATH", "alias git=hub", "export HOME=/tmp"] {
        assert_eq!(outcomes(&sandbox, text).0, Outcome::Inert, "{text}");
    }
}

#[test]
fn what_an_earlier_call_may_have_left_is_not_known() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    for text in ["git $V", "$V push", "git ${V:-status}", "eval \"$V\"", "deploy", "for v in $V; do git $v; done"] {
        let (fresh, living) = outcomes(&sandbox, text);
        assert_ne!(living, Outcome::Inert, "{text}");
        if !text.starts_with("$V") && !text.starts_with("for") {
            assert_eq!(fresh, Outcome::Inert, "{text}");
        }
    }
    // What the line itself sets is known in either.
    assert_eq!(outcomes(&sandbox, "V=status; git $V"), (Outcome::Inert, Outcome::Inert));
}

#[test]
fn another_users_configuration_is_not_the_one_that_holds_the_net() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    let world = sandbox.world("work");
    for text in [
        "sudo git push",
        "sudo -u nobody git push origin main",
        "sudo -unobody git commit --allow-empty -m x",
        "sudo -n -- git push",
        "sudo bash -c 'git push'",
        "doas git push",
        "su nobody -c 'git push'",
        "runuser -u nobody -- git push",
        "sudo --preserve-env=PATH git push",
    ] {
        assert_eq!(plan(text, &world).outcome, Outcome::Bypass, "{text}");
    }
    for text in ["sudo -E git push", "sudo --preserve-env=HOME,PATH git push", "su -m -c 'git push'"] {
        assert_eq!(plan(text, &world).outcome, Outcome::Publishes, "{text}");
    }
    for text in ["sudo git status", "sudo apt-get install -y jq", "sudo -u postgres psql -c 'select 1'"] {
        assert_eq!(plan(text, &world).outcome, Outcome::Inert, "{text}");
    }
}

#[test]
fn known_part_of_code_counts_where_the_rest_is_not_known() {
    let sandbox = Sandbox::new();
    sandbox.repo("work").commit("a.txt", "one\n");
    let world = sandbox.world("work");
    for text in [
        "bash -c \"git push --no-verify $(cat /nowhere/x)\"",
        "x=$(date); eval \"git commit -n -m $x\"",
        "ssh host \"cd $(date) && git -c core.hooksPath= push\"",
        "bash -c \"$(date); rm .git/hooks/pre-push; git push\"",
    ] {
        assert_eq!(plan(text, &world).outcome, Outcome::Bypass, "{text}");
    }
    let pushes = plan("x=$(date); eval \"git push origin $x\"", &world);
    assert_eq!(pushes.outcome, Outcome::Publishes);
    assert!(!pushes.publishes.is_empty());
    // Nothing in the known part publishes: a program that cannot be read, and no more.
    let echoes = plan("bash -c \"echo $(date)\"", &world);
    assert!(echoes.publishes.is_empty() && echoes.unknown.is_empty());
}

#[test]
fn switches_in_the_text_of_a_program_are_seen() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "one\n");
    repo.write("rel.py", "import subprocess\nsubprocess.run(['git', 'push', '--no-verify'])\n");
    repo.write("doc.py", "print('see --no-verify in the manual')\n");
    let world = sandbox.world("work");
    for text in [
        "python3 -c 'import subprocess; subprocess.run([\"git\",\"push\",\"--no-verify\"])'",
        "node -e 'require(\"child_process\").execSync(\"git commit --no-verify -m x\")'",
        "python3 rel.py",
        "python3 -c 'import subprocess as s; s.run([\"git\", \"push\", \"--no\" + \"-verify\"])'",
        "python3 -c \"import os; os.system('git push --no-' 'verify')\"",
        "node -e 'require(\"child_process\").execSync(\"git push --no-\"+\"verify origin x\")'",
        "perl -e 'system(\"git push --no-\" . \"verify\")'",
        "python3 - <<'E'\nimport os\nos.system('git -c core.hooksPath=/dev/null push')\nE",
    ] {
        assert_eq!(plan(text, &world).outcome, Outcome::Bypass, "{text}");
    }
    assert!(plan("python3 doc.py", &world).bypass.is_empty());
    let apart = "python3 -c 'print(\"git push\", \"--no\", \"verify\", \"\")'";
    assert!(plan(apart, &world).bypass.is_empty());
}
