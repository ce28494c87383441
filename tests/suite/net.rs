//! The net: git's own hooks stop what leaves, let through what is clean, and take nothing away.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tyran::command::plan::GitContext;
use tyran::net::place::Own;
use tyran::net::{Standing, standing};

use super::support::{Repo, Sandbox, planted, shown};

/// A sandbox in which git finds the built tyran's hooks.
fn installed(sandbox: &Sandbox, args: &[&str]) -> Output {
    let output = sandbox.tyran().args(["install", "git"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    output
}

fn git(repo: &Repo<'_>, args: &[&str]) -> Output {
    repo.sandbox.command("git").current_dir(&repo.dir).args(args).output().unwrap()
}

/// Stages a secret in a way that no command line shows, and commits it past the hooks.
fn commit_secret_unseen(repo: &Repo<'_>) {
    repo.write("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(7)));
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--no-verify", "-m", "change"]);
}

fn hook(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn global_config(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("home/.gitconfig")
}

#[test]
fn push_of_a_secret_is_stopped_and_nothing_arrives() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    commit_secret_unseen(&repo);
    let output = git(&repo, &["push", "-q", "origin", "main"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("app.env"), "{}", shown(&output));
    assert_eq!(sandbox.git("work.git", &["for-each-ref"]), "");
}

#[test]
fn commit_of_a_secret_is_stopped() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    installed(&sandbox, &[]);
    repo.write("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(8)));
    repo.git(&["add", "-A"]);
    let output = git(&repo, &["commit", "-q", "-m", "change"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
}

#[test]
fn secret_that_another_hook_stages_is_stopped_at_the_push_at_the_latest() {
    for its_place in [".git/hooks/pre-commit", ".husky/pre-commit", ".git/hooks/prepare-commit-msg"] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("work");
        repo.commit("readme.txt", "nothing here\n");
        // As a formatter does that changes what is about to be committed. The secret stands in no script.
        let secret = format!("GITHUB_TOKEN={}\n", planted::github_token(9));
        fs::write(sandbox.path("elsewhere.txt"), secret).unwrap();
        hook(&repo.dir.join(its_place), "#!/bin/sh\ncp ../elsewhere.txt app.env && git add app.env\n");
        if its_place.starts_with(".husky") {
            repo.git(&["config", "core.hooksPath", ".husky"]);
        }
        let net = sandbox.tyran().current_dir(&repo.dir).args(["install", "git", "--repo"]).output().unwrap();
        assert!(net.status.success(), "{}", shown(&net));
        repo.write("other.txt", "clean\n").git(&["add", "other.txt"]);
        let committed = git(&repo, &["commit", "-q", "-m", "change"]);
        if committed.status.success() {
            if !its_place.ends_with("pre-commit") {
                // git has made the tree by then; what was staged since is in the next commit.
                let next = git(&repo, &["commit", "-q", "--no-verify", "-m", "next"]);
                assert!(next.status.success(), "{its_place}: {}", shown(&next));
            }
            assert!(repo.git(&["show", "HEAD:app.env"]).contains("GITHUB_TOKEN"), "the hook ran: {its_place}");
            let pushed = git(&repo, &["push", "-q", "origin", "main"]);
            assert!(!pushed.status.success(), "{its_place}: {}", shown(&pushed));
            assert!(shown(&pushed).contains("app.env"), "{its_place}: {}", shown(&pushed));
        } else {
            assert!(shown(&committed).contains("app.env"), "{its_place}: {}", shown(&committed));
        }
        assert_eq!(sandbox.git("work.git", &["for-each-ref"]), "", "{its_place}");
    }
}

#[test]
fn hook_that_pushes_past_the_net_is_a_bypass_whatever_starts_it() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.commit("side.txt", "side\n");
    repo.git(&["switch", "-q", "main"]);
    installed(&sandbox, &[]);
    for (name, line) in [
        ("post-merge", "git merge side"),
        ("prepare-commit-msg", "git merge --no-ff side"),
        ("post-checkout", "git checkout side"),
        ("post-checkout", "git switch side"),
        ("post-commit", "git cherry-pick side"),
        ("pre-rebase", "git rebase main side"),
        ("post-rewrite", "git rebase side"),
        ("post-commit", "git revert --no-edit HEAD"),
    ] {
        let path = repo.dir.join(".git/hooks").join(name);
        hook(&path, "#!/bin/sh\ngit push --no-verify origin main\n");
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(&repo.dir).args(["scan-command", "--", line]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{name}: {line}: {}", shown(&output));
        hook(&path, "#!/bin/sh\nexit 0\n");
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(&repo.dir).args(["scan-command", "--", line]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {line}: {}", shown(&output));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn secret_in_a_message_is_stopped() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    repo.write("readme.txt", "nothing here\n");
    repo.git(&["add", "-A"]);
    let message = format!("use GITHUB_TOKEN={}", planted::github_token(9));
    let output = git(&repo, &["commit", "-q", "-m", &message]);
    assert!(!output.status.success(), "{}", shown(&output));
}

#[test]
fn clean_commit_and_push_pass_and_arrive() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    let commit = repo.commit("readme.txt", "nothing here\n");
    let output = git(&repo, &["push", "-q", "origin", "main"]);
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(sandbox.git("work.git", &["rev-parse", "main"]), commit);
}

#[test]
fn second_ref_of_one_push_is_read_too() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    installed(&sandbox, &[]);
    repo.git(&["switch", "-q", "-c", "other"]);
    commit_secret_unseen(&repo);
    let output = git(&repo, &["push", "-q", "origin", "main", "other"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert_eq!(sandbox.git("work.git", &["for-each-ref"]), "");
}

#[cfg(target_os = "linux")]
#[test]
fn ref_that_the_client_rejects_is_read_with_the_others() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["branch", "other"]);
    repo.git(&["commit", "-q", "--amend", "-m", "another"]);
    assert!(installed(&sandbox, &[]).status.success());
    commit_secret_unseen(&repo);
    let secret = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "-q", "other"]);
    repo.commit("more.txt", "nothing here either\n");
    // main is no fast-forward and is rejected; other is accepted, and main's objects would go along.
    repo.git(&["config", "alias.up", "push -q"]);
    for words in [
        &["push", "origin", "main", "other"][..],
        &["push", "--all"],
        &["-C", ".", "push", "origin", "refs/heads/*:refs/heads/*"],
        &["up", "origin", "main", "other"],
        &["-c", "remote.origin.push=refs/heads/*:refs/heads/*", "push", "origin"],
        &["-c", "push.default=matching", "push", "origin", "main", "other"],
    ] {
        let output = git(&repo, words);
        assert!(!output.status.success(), "{words:?}: {}", shown(&output));
        assert!(shown(&output).contains("refs/heads/main, whose objects"), "{words:?}: {}", shown(&output));
        let there = sandbox
            .command("git")
            .args(["-C", "work.git", "cat-file", "-e", &secret])
            .current_dir(sandbox.path(""))
            .output()
            .unwrap();
        assert!(!there.status.success(), "{words:?}: the secret arrived");
    }
    let output = git(&repo, &["push", "origin", "other"]);
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn settings_of_dash_c_reach_the_hook() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    installed(&sandbox, &[]);
    repo.git(&["switch", "-q", "-c", "other"]);
    commit_secret_unseen(&repo);
    repo.git(&["switch", "-q", "main"]);
    let output = git(&repo, &["-c", "remote.origin.push=refs/heads/*", "push", "-q"]);
    assert!(!output.status.success(), "{}", shown(&output));
}

#[test]
fn repository_s_own_hooks_still_run_with_their_input() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let log = sandbox.path("log");
    for name in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-push", "post-checkout"] {
        let script = format!(
            "#!/bin/sh\nprintf '%s' {name} >> '{log}'\nfor a in \"$@\"; do printf ' %s' \"$(basename \"$a\")\" >> '{log}'; done\n[ {name} = pre-push ] && {{ printf ' <' >> '{log}'; cut -d' ' -f3 | tr -d '\\n' >> '{log}'; }}\nprintf '\\n' >> '{log}'\n",
            log = log.display()
        );
        hook(&repo.dir.join(".git/hooks").join(name), &script);
    }
    let plain = |installed_before: bool| {
        if installed_before {
            installed(&sandbox, &[]);
        }
        let _ = fs::remove_file(&log);
        repo.write("file.txt", format!("{installed_before}\n"));
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "change"]);
        repo.git(&["push", "-q", "origin", "main"]);
        repo.git(&["checkout", "-q", "--detach"]);
        repo.git(&["checkout", "-q", "main"]);
        let text = fs::read_to_string(&log).unwrap();
        text.lines()
            .map(|line| line.split(' ').filter(|word| word.len() < 40).take(2).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let with_net = plain(true);
    sandbox.tyran().args(["uninstall", "git"]).output().unwrap();
    assert_eq!(with_net, plain(false));
}

/// git runs these several times for each ref: in a repository without one, nothing may be started for it.
#[test]
fn hooks_of_every_change_are_placed_once_a_repository_has_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    installed(&sandbox, &[]);
    let placed = || sandbox.path("state/hooks/reference-transaction").exists();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    assert!(!placed());
    let log = sandbox.path("log");
    let script = format!("#!/bin/sh\necho \"$1\" >> '{}'\n", log.display());
    hook(&repo.dir.join(".git/hooks/reference-transaction"), &script);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    assert!(placed());
    let told = fs::read_to_string(&log).unwrap();
    assert!(told.contains("prepared") && told.contains("committed"), "{told}");
    // What the reader says of a branch does not wait for the script.
    fs::remove_file(sandbox.path("state/hooks/reference-transaction")).unwrap();
    hook(&repo.dir.join(".git/hooks/reference-transaction"), "#!/bin/sh\ngit push --no-verify origin main\n");
    let command = ["scan-command", "--", "git branch other"];
    let output = sandbox.tyran().current_dir(&repo.dir).args(command).output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{}", shown(&output));
    // Where the repository at hand has one, installing places it at once.
    sandbox.tyran().args(["uninstall", "git"]).output().unwrap();
    let inside = sandbox.tyran().current_dir(&repo.dir).args(["install", "git"]).output().unwrap();
    assert!(inside.status.success() && placed(), "{}", shown(&inside));
}

#[test]
fn own_hook_that_says_no_stops_the_push() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    repo.commit("readme.txt", "nothing here\n");
    hook(&repo.dir.join(".git/hooks/pre-push"), "#!/bin/sh\necho not today >&2\nexit 9\n");
    let output = git(&repo, &["push", "-q", "origin", "main"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not today"), "{}", shown(&output));
}

#[test]
fn hook_manager_s_hooks_path_is_chained_to() {
    // As husky does it: core.hooksPath of the repository, before the net comes.
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let log = sandbox.path("log");
    hook(&repo.dir.join(".husky/_/pre-push"), &format!("#!/bin/sh\necho ran > '{}'\n", log.display()));
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let before = fs::read(repo.dir.join(".git/config")).unwrap();
    let output = sandbox.tyran().current_dir(&repo.dir).args(["install", "git", "--repo"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    repo.commit("readme.txt", "nothing here\n");
    repo.git(&["push", "-q", "origin", "main"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "ran\n");
    // A hook that the net does not check finds it too.
    let checked_out = sandbox.path("checked-out");
    hook(&repo.dir.join(".husky/_/post-checkout"), &format!("#!/bin/sh\necho ran > '{}'\n", checked_out.display()));
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["checkout", "-q", "main"]);
    assert!(checked_out.exists());
    commit_secret_unseen(&repo);
    assert!(!git(&repo, &["push", "-q", "origin", "main"]).status.success());
    let output = sandbox.tyran().current_dir(&repo.dir).args(["uninstall", "git", "--repo"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(fs::read(repo.dir.join(".git/config")).unwrap(), before);
}

#[test]
fn linked_work_tree_and_submodule_are_covered() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    installed(&sandbox, &[]);
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = Repo { sandbox: &sandbox, dir: sandbox.path("linked") };
    commit_secret_unseen(&linked);
    assert!(!git(&linked, &["push", "-q", "origin", "linked"]).status.success());
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_gives_the_bytes_back() {
    let sandbox = Sandbox::new();
    let file = global_config(&sandbox);
    let before = b"# mine\n[user]\n\tname = Somebody   ; keep this\n[core]\n\thooksPath = ~/my-hooks\n".to_vec();
    fs::write(&file, &before).unwrap();
    installed(&sandbox, &[]);
    let once = fs::read(&file).unwrap();
    assert_ne!(once, before);
    installed(&sandbox, &[]);
    assert_eq!(fs::read(&file).unwrap(), once);
    let output = sandbox.tyran().args(["uninstall", "git"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(!sandbox.path("state/hooks").exists());
}

#[test]
fn uninstalling_removes_a_file_that_was_not_there() {
    let sandbox = Sandbox::new();
    installed(&sandbox, &[]);
    assert!(global_config(&sandbox).exists());
    let output = sandbox.tyran().args(["uninstall", "git"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!global_config(&sandbox).exists());
}

#[test]
fn uninstalling_an_edited_file_takes_out_our_settings_alone() {
    let sandbox = Sandbox::new();
    let file = global_config(&sandbox);
    fs::write(&file, "[core]\n\thooksPath = /somewhere\n").unwrap();
    installed(&sandbox, &[]);
    let edited = fs::read_to_string(&file).unwrap() + "[alias]\n\tst = status\n";
    fs::write(&file, edited).unwrap();
    let output = sandbox.tyran().args(["uninstall", "git"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(sandbox.git("", &["config", "--global", "core.hooksPath"]), "/somewhere");
    assert_eq!(sandbox.git("", &["config", "--global", "alias.st"]), "status");
    assert!(!fs::read_to_string(&file).unwrap().contains("tyran"));
}

#[test]
fn missing_program_refuses_the_push_and_does_not_break_a_checkout() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    // A copy is installed and then removed, as an upgrade gone wrong would.
    let copy = sandbox.path("tyran");
    sandbox.copy_of_tyran(&copy);
    assert!(sandbox.command(&copy).args(["install", "git"]).output().unwrap().status.success());
    fs::remove_file(&copy).unwrap();
    let output = git(&repo, &["push", "-q", "origin", "main"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("installation"), "{}", shown(&output));
    assert!(git(&repo, &["checkout", "-q", "--detach"]).status.success());
}

#[test]
fn unusable_rules_refuse_the_push() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    repo.commit("readme.txt", "nothing here\n");
    fs::write(sandbox.path("state/config.toml"), "refuse = \"never\"\n").unwrap();
    let output = git(&repo, &["push", "-q", "origin", "main"]);
    assert!(!output.status.success(), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("configuration"), "{}", shown(&output));
}

/// Whether the standing that is told is what a push then does.
fn told_and_done(sandbox: &Sandbox, repo: &Repo<'_>, globals: &[&str], env: &[(&str, &str)]) -> (bool, bool) {
    let mut world = sandbox.world("work");
    for (name, value) in env {
        world.env.insert(name.into(), value.into());
    }
    let context =
        GitContext { dir: repo.dir.clone(), env: world.env.clone(), globals: globals.iter().map(Into::into).collect() };
    let program = Path::new(env!("CARGO_BIN_EXE_tyran")).canonicalize().unwrap();
    let own = Own { program, folder: sandbox.path("state/hooks") };
    let told = matches!(standing(&world, &context, "pre-push", &own), Ok(Standing::Holds(_)));
    let mut push = Command::new("git");
    push.env_clear().envs(sandbox.env()).envs(env.iter().copied()).current_dir(&repo.dir);
    let output = push.args(globals).args(["push", "-q", "--dry-run", "origin", "main"]).output().unwrap();
    let stopped = !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("tyran");
    (told, stopped)
}

#[test]
fn standing_tells_what_a_push_then_does() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    commit_secret_unseen(&repo);
    let plain: &[(&str, &str)] = &[];
    assert_eq!(told_and_done(&sandbox, &repo, &[], plain), (false, false));
    installed(&sandbox, &[]);
    assert_eq!(told_and_done(&sandbox, &repo, &[], plain), (true, true));
    assert_eq!(told_and_done(&sandbox, &repo, &["-c", "core.hooksPath=/dev/null"], plain), (false, false));
    assert_eq!(told_and_done(&sandbox, &repo, &[], &[("GIT_CONFIG_GLOBAL", "/dev/null")]), (false, false));
    let counted = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "")];
    assert_eq!(told_and_done(&sandbox, &repo, &[], &counted), (false, false));
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    assert_eq!(told_and_done(&sandbox, &repo, &[], plain), (false, false));
    repo.git(&["config", "--unset", "core.hooksPath"]);
    let script = sandbox.path("state/hooks/pre-push");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(told_and_done(&sandbox, &repo, &[], plain), (false, false));
    hook(&script, "#!/bin/sh\nexit 0\n");
    assert_eq!(told_and_done(&sandbox, &repo, &[], plain), (false, false));
}

#[test]
fn push_that_pre_commit_tells_of_is_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    let run = |repo: &Repo<'_>| {
        let mut command = sandbox.tyran();
        command.current_dir(&repo.dir).args(["git-hook", "--from-pre-commit", "pre-push"]);
        command.env("PRE_COMMIT_TO_REF", repo.git(&["rev-parse", "HEAD"]));
        command.env("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/main").env("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/main");
        command.env("PRE_COMMIT_REMOTE_NAME", "origin").env("PRE_COMMIT_REMOTE_URL", sandbox.path("work.git"));
        command.output().unwrap()
    };
    assert!(run(&repo).status.success());
    commit_secret_unseen(&repo);
    let output = run(&repo);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
}

#[test]
fn step_of_the_ci_templates_reports_in_every_place() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let base = repo.commit("readme.txt", "nothing here\n");
    commit_secret_unseen(&repo);
    let step = |repo: &Repo<'_>, base: &str| {
        let mut command = sandbox.command("bash");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ci-scan")).current_dir(&repo.dir);
        command.env("TYRAN", env!("CARGO_BIN_EXE_tyran")).env("GITHUB_ACTIONS", "true").env("INPUT_BASE", base);
        command.env("GITHUB_STEP_SUMMARY", sandbox.path("summary")).env("GITHUB_OUTPUT", sandbox.path("output"));
        command.env("INPUT_SARIF", sandbox.path("tyran.sarif")).output().unwrap()
    };
    let output = step(&repo, &base);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("::error file=app.env"), "{}", shown(&output));
    assert!(fs::read_to_string(sandbox.path("summary")).unwrap().contains("app.env"));
    let sarif: serde_json::Value = serde_json::from_slice(&fs::read(sandbox.path("tyran.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(fs::read_to_string(sandbox.path("output")).unwrap().contains("sarif="));
    assert_eq!(step(&repo, "HEAD").status.code(), Some(0));
}

#[test]
fn the_reader_sees_through_the_nets_own_scripts_to_the_repositorys_hook() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("notes.txt", "nothing\n");
    repo.git(&["checkout", "-q", "-b", "planted"]);
    repo.commit("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(12)));
    installed(&sandbox, &[]);
    let scan = || {
        let command = ["scan-command", "--", "git push origin main"];
        sandbox.tyran().current_dir(&repo.dir).args(command).output().unwrap()
    };
    assert_eq!(scan().status.code(), Some(0), "{}", shown(&scan()));
    hook(&repo.dir.join(".git/hooks/pre-push"), "#!/bin/sh\ngit push --no-verify origin planted\n");
    let chained = scan();
    assert_ne!(chained.status.code(), Some(0), "{}", shown(&chained));
}

#[test]
fn installing_for_the_user_says_where_the_repositorys_own_hooks_path_wins() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let said = |args: &[&str]| {
        let output = sandbox.tyran().current_dir(&repo.dir).args(["install", "git"]).args(args).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!said(&[]).contains("does not hold"));
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    let told = said(&[]);
    assert!(told.contains(".husky/_") && told.contains("tyran install git --repo"), "{told}");
    assert!(!said(&["--repo"]).contains("does not hold"));
    commit_secret_unseen(&repo);
    assert!(!git(&repo, &["push", "-q", "origin", "main"]).status.success());
}

#[test]
fn hook_that_a_manager_puts_into_our_folder_goes_to_its_repository() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    installed(&sandbox, &[]);
    let ours = sandbox.path("state/hooks/pre-commit");
    fs::rename(&ours, sandbox.path("state/hooks/pre-commit.legacy")).unwrap();
    let noted = sandbox.path("noted");
    hook(&ours, &format!("#!/bin/sh\necho ran >> {}\n", noted.display()));
    let output = sandbox.tyran().current_dir(&repo.dir).args(["install", "git"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!sandbox.path("state/hooks/pre-commit.legacy").exists());
    repo.commit("a.txt", "nothing here\n");
    assert_eq!(fs::read_to_string(&noted).unwrap(), "ran\n");
    commit_secret_unseen(&repo);
    assert!(!git(&repo, &["push", "-q", "origin", "main"]).status.success());
    // A second one has no place to go to.
    hook(&ours, "#!/bin/sh\nexit 3\n");
    let output = sandbox.tyran().current_dir(&repo.dir).args(["install", "git"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert_eq!(fs::read_to_string(&ours).unwrap(), "#!/bin/sh\nexit 3\n");
}
