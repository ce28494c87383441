//! Lines that bring commits of other branches into the one they push, and lines that go on with what git has
//! stopped in the middle of: each is run for real, and what arrived is compared with what was listed before.

use crate::arrivals::{copy_of, listed, missing, oids, template};
use crate::support::Sandbox;

/// Two branches apart. What only `topic` holds was never pushed: a file that it adds and takes away again, and
/// another version of `one.txt`, which `main` has changed too. The tip of `clean` is not pushed either.
const APART: &str = r#"
    git reset -q --hard && git clean -qfd
    git checkout -q -b topic HEAD~1
    printf 'for a while\n' > gone.txt && git add . && git commit -qm 'adds gone'
    git rm -q gone.txt && printf 'topic\n' > one.txt && printf 'of topic\n' > topic.txt && git add . && git commit -qm 'takes gone away'
    printf 'second\n' > second.txt && git add . && git commit -qm 'a second one of topic'
    git checkout -q -b clean origin/main && printf 'clean\n' > clean.txt && git add . && git commit -qm clean
    git checkout -q main && printf 'more\n' > more.txt && git add . && git commit -qm more
"#;

/// The two branches, and then whatever `script` does; that it may end in an error is the point of it.
fn after(script: &str) -> Sandbox {
    let sandbox = template();
    let whole = format!("{APART}\n{script}\n:");
    let done = sandbox.command("bash").current_dir(sandbox.path("work")).args(["-c", &whole]).output().unwrap();
    assert!(done.status.success());
    sandbox
}

/// Each line after the script before it.
fn all_are_listed(cases: &[(&str, &[&str])]) {
    let mut lost = Vec::new();
    for (script, lines) in cases {
        let sandbox = after(script);
        lost.extend(lines.iter().filter_map(|line| missing(&sandbox, line)).map(|line| format!("{script}: {line}")));
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn commits_that_a_rebase_or_a_merge_brings_in_are_listed() {
    all_are_listed(&[
        (
            "git rm -q one.txt && git commit -qm 'nothing in the way' && printf 'l\n' > last.txt && git add . && git commit -qm last",
            &[
                "git rebase -q -X theirs topic && git push -q origin main:m",
                "git rebase -q -X theirs topic; git push -q origin HEAD:m",
                "git rebase -q -X theirs --onto topic HEAD~1 && git push -q origin HEAD:m",
                "git rebase -q --onto topic...topic HEAD~1; git push -q",
                "git merge -q -X ours topic && git push -q",
                "git checkout -q clean && git rebase -q topic && git push -q origin clean",
                "git checkout -q clean && git rebase -q topic && git push -q origin HEAD",
                "git checkout -q clean; git merge -q topic; git push -q other HEAD:refs/heads/c",
                "git push -q . topic:t && git push -q other t",
                "cd .git && git push -q .. topic:refs/heads/t; git push -q ../../other.git t",
                "git worktree add -q ../wt topic && git -C ../wt push -q other topic:q",
                "git worktree add -q -b fresh ../wt topic && cd ../wt && git push -q other HEAD:refs/heads/q",
                "git rev-list -1 topic | git cherry-pick --stdin && git push -q other main",
                "git push -q . +topic:clean && git checkout -q clean && git push -q other clean",
            ],
        ),
        (
            "git rm -q one.txt && git commit -qm 'nothing in the way' && git branch -q --set-upstream-to=topic",
            &[
                "git rebase -q -X theirs && git push -q origin HEAD:m",
                "git pull -q --rebase -X theirs && git push -q origin HEAD:m",
                "git pull -q --no-rebase -X ours && git push -q origin HEAD:m",
                "git merge -q -X ours && git push -q origin HEAD:m",
            ],
        ),
    ]);
}

#[test]
fn a_dash_is_what_was_checked_out_before() {
    all_are_listed(&[(
        "git rm -q one.txt && git commit -qm 'nothing in the way'; git checkout -q topic; git checkout -q main",
        &[
            "git merge -q -X ours - && git push -q origin main:m",
            "git rebase -q -X theirs - && git push -q origin main:m",
            "git cherry-pick - && git push -q origin main:m",
            "git checkout -q - && git push -q origin HEAD:m",
            "git checkout -q - && git push -q origin -u HEAD",
        ],
    )]);
}

#[test]
fn what_a_merge_underway_brings_in_is_listed() {
    all_are_listed(&[
        (
            "git merge -q topic; printf 'resolved\n' > one.txt",
            &[
                "git commit -qam merged && git push -q origin main:m",
                "git add . && git -c core.editor=true merge --continue && git push -q",
                "git commit -qam merged; git push -q",
            ],
        ),
        ("git merge -q --no-commit -X ours topic", &["git commit -qm merged && git push -q"]),
        (
            "git rm -q one.txt; git commit -qm x; git merge -q --no-commit -X ours topic clean",
            &["git commit -qm m; git push -q"],
        ),
    ]);
}

#[test]
fn what_a_rebase_underway_ends_in_is_listed() {
    let goes_on = "GIT_EDITOR=true git rebase --continue";
    let lines: Vec<String> = ["origin main:m", "-f", "other HEAD", "--all other"]
        .iter()
        .flat_map(|push| {
            [
                format!("git add . && {goes_on} && git push -q {push}"),
                format!("git add -A; {goes_on}; git push -q {push}"),
            ]
        })
        .chain([
            "git rebase --skip && git push -q -f".to_owned(),
            "git rebase --skip; git push -q other main".to_owned(),
        ])
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    all_are_listed(&[
        ("git rebase -q topic; printf 'resolved\n' > one.txt", &lines),
        ("git rebase -q --apply topic; printf 'resolved\n' > one.txt", &lines[..4]),
    ]);
}

#[test]
fn the_rest_of_a_sequence_of_picks_is_listed() {
    let pick = "printf 'x\n' > one.txt; git commit -qam x; git cherry-pick main~2..topic; printf 'resolved\n' > one.txt; git add .";
    let revert = "printf 'y\n' > one.txt; git commit -qam y; printf 'z\n' > one.txt; git commit -qam z; git revert HEAD~1 HEAD~2; printf 'resolved\n' > one.txt; git add .";
    all_are_listed(&[
        (
            pick,
            &[
                "GIT_EDITOR=true git cherry-pick --continue && git push -q origin main:m",
                "git cherry-pick --skip; git push -q",
            ],
        ),
        (revert, &["GIT_EDITOR=true git revert --continue && git push -q origin main:m"]),
    ]);
}

#[test]
fn a_command_that_a_rebase_has_still_to_run_is_read() {
    let sandbox = after("git rebase -q -x 'git push -q other topic:t' topic");
    let listed = listed(&sandbox, "git add . && git rebase --continue");
    let topic = sandbox.git("work", &["rev-parse", "topic"]);
    assert!(oids(&sandbox, &listed).contains(&topic), "{listed}");
}

#[test]
fn what_is_given_up_does_not_leave() {
    for (script, line) in [
        ("git merge -q topic", "git merge --abort; git push -q"),
        ("git merge -q topic", "git merge --abort && git push -q origin main"),
        ("git rebase -q topic", "git rebase --abort && git push -q"),
        ("git cherry-pick topic~1", "git cherry-pick --abort; git push -q origin HEAD"),
    ] {
        let sandbox = after(script);
        let topic = sandbox.git("work", &["rev-parse", "topic"]);
        let oids = oids(&sandbox, &listed(&sandbox, line));
        assert!(!oids.is_empty() && !oids.contains(&topic), "{script}; {line}: {oids:?}");
    }
}

#[test]
fn a_push_of_a_branch_that_the_line_checks_out_is_exact() {
    let sandbox = after("git checkout -q topic; git branch -q --set-upstream-to=origin/main clean");
    let topic = sandbox.git("work", &["rev-parse", "topic"]);
    for line in [
        "git checkout -q clean && git push -q origin clean",
        "git checkout -q clean && git push -q origin HEAD:c",
        "git checkout -q main && git push -q",
        "git switch -q main && git merge -q clean && git push -q",
        "git checkout -q main && git checkout -q -b fresh && git push -q -u origin fresh",
        "git checkout -q main && git commit -q --allow-empty -m x && git push -q",
        "git checkout -q a.txt && git push -q origin main clean",
        "git checkout -q main && git checkout -q a.txt one.txt && git push -q",
        "git checkout -q main && git checkout -q clean && git checkout -q - && git push -q origin HEAD:c",
        "git switch -q main && git switch -q topic && git switch -q - && git push -q",
        "git init -q --bare ../fresh.git; git push -q ../fresh.git main",
        "git init -q --bare ../fresh.git; git remote add fresh ../fresh.git; git push -q -u fresh main:main clean",
        "git remote set-url origin ../other.git && git push -q origin main",
    ] {
        let copy = copy_of(&sandbox);
        let oids = oids(&copy, &listed(&copy, line));
        assert!(!oids.is_empty() && !oids.contains(&topic), "{line}: {oids:?}");
    }
    // What a list that may stop half-way leaves checked out is pushed as well.
    let copy = copy_of(&sandbox);
    assert!(oids(&copy, &listed(&copy, "git checkout -q clean; git push -q origin HEAD:c")).contains(&topic));
}
