//! Whole lines of staging, commit and push: what is judged beforehand is what git then really records and
//! sends. `scripts/compare-commits` makes such lines by the thousand.

use std::path::Path;

use super::support::{Repo, Sandbox, planted, shown};

/// Runs tyran on the line, then bash; whether tyran found something, and whether the token was sent or,
/// without a push, recorded.
fn judged_and_done(setup: &[&str], line: &str) -> (Option<i32>, bool, String) {
    let sandbox = Sandbox::new();
    let repo = base(&sandbox);
    let token = planted::github_token(7);
    for command in setup {
        let command = command.replace("@TOKEN@", &token);
        let done = sandbox.command("bash").current_dir(&repo.dir).args(["-c", &command]).output().unwrap();
        assert!(done.status.success(), "{command}: {}", shown(&done));
    }
    let mut tyran = sandbox.tyran();
    tyran.current_dir(&repo.dir).args(["scan-command", "--engine", "embedded", "--", line]);
    let judged = tyran.output().unwrap();
    let mut bash = sandbox.command("bash");
    bash.current_dir(&repo.dir).env("GIT_EDITOR", "true").args(["-c", line]);
    let _ = bash.output().unwrap();
    let place = if line.contains("git push") { sandbox.path("work.git") } else { repo.dir.join(".git") };
    (judged.status.code(), holds(&sandbox, &place, &token), shown(&judged))
}

fn base(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("work");
    repo.write("a.txt", "a\n").write("dir/b.txt", "b\n").write("dir/c.txt", "c\n").write(".gitignore", "*.log\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "base"]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("side.txt", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    repo
}

/// Whether any object that a branch or tag reaches holds the text.
fn holds(sandbox: &Sandbox, git_dir: &Path, text: &str) -> bool {
    let script = "git rev-list --objects --branches --tags | cut -d' ' -f1 | git cat-file --batch";
    let mut command = sandbox.command("bash");
    command.env("GIT_DIR", git_dir).args(["-c", script]);
    let done = command.output().unwrap();
    done.stdout.windows(text.len()).any(|window| window == text.as_bytes())
}

#[track_caller]
pub fn records(setup: &[&str], line: &str) {
    let (code, done, report) = judged_and_done(setup, line);
    assert!(done, "git did not record it: {line}");
    assert_eq!(code, Some(1), "{line}: {report}");
}

#[track_caller]
pub fn leaves_out(setup: &[&str], line: &str) {
    let (code, done, report) = judged_and_done(setup, line);
    assert!(!done, "git recorded it: {line}");
    assert_eq!(code, Some(0), "{line}: {report}");
}

const STAGED: &[&str] = &["echo T=@TOKEN@ > s.env && git add s.env && echo x >> a.txt && git add a.txt"];
const UNTRACKED: &[&str] = &["echo T=@TOKEN@ > s.env && echo x >> a.txt"];
const CHANGED: &[&str] = &["echo T=@TOKEN@ >> a.txt && echo x >> dir/b.txt && git add dir/b.txt"];

#[test]
fn what_the_line_takes_out_of_the_index_is_not_recorded() {
    for line in [
        "git reset s.env && git commit -m x",
        "git reset -q -- s.env && git commit -m x",
        "git reset -q HEAD s.env; git commit -m x",
        "git restore --staged s.env && git commit -m x",
        "git rm -q --cached s.env && git commit -m x",
        "git rm -q -f s.env && git commit -m x",
        "rm s.env && git add -A && git commit -m x",
        "git reset -q && git add a.txt && git commit -m x",
        "git stash -q && git commit --allow-empty -m x",
    ] {
        leaves_out(STAGED, line);
    }
    for line in ["git restore a.txt && git commit -am x", "git checkout -q -- a.txt && git commit -am x"] {
        leaves_out(CHANGED, line);
    }
}

#[test]
fn what_is_beside_a_commit_is_no_objection() {
    for line in [
        "git mv dir/b.txt dir/d.txt && git commit -qm x",
        "git rm -q dir/b.txt && git commit -qm x",
        "git checkout -q -b topic && git add a.txt && git commit -qm x",
        "git checkout -q side; git commit -q --allow-empty -m x",
        "git switch -q -c topic && git commit -qam x && git push -q -u origin topic",
        "git merge -q --squash side && git commit -qm x",
        "git clean -nd; git commit -qam x",
    ] {
        leaves_out(UNTRACKED, line);
    }
}

#[test]
fn what_a_branch_of_the_line_may_leave_alone_is_read() {
    for line in [
        "grep -q nothing a.txt && git reset -q s.env; git commit -m x",
        "if grep -q nothing a.txt; then git rm -q --cached s.env; fi; git commit -m x",
        "test -d nowhere && rm s.env; git add -A; git commit -m x",
        "git diff --quiet && git restore --staged s.env; git commit -m x",
    ] {
        let setup = ["echo T=@TOKEN@ > s.env && git add s.env && echo x >> a.txt"];
        records(&setup, line);
    }
}

#[test]
fn what_a_step_would_take_away_is_read_where_it_may_come_to_nothing() {
    for step in [
        "test -d nowhere && git checkout -q -- a.txt",
        "test -d nowhere && git restore a.txt",
        "test -d nowhere && git reset -q --hard",
        "test -d nowhere && git stash -q",
        "test -d nowhere && git rm -qf a.txt",
        "test -d nowhere && git rm -q --cached a.txt",
        "test -d nowhere && git checkout -q side -- a.txt",
        "grep -q nothing a.txt && git checkout -q side",
        "git checkout -q -- a.txt no-such-file",
        "git restore -q a.txt no-such-file",
        "test -f .git/index.lock && rm .git/index.lock; true",
    ] {
        for commit in ["git commit -qam x", "git commit -q -m x a.txt", "git add -u; git commit -qm x"] {
            records(CHANGED, &format!("{step}; {commit}"));
        }
    }
    let locked = ["echo T=@TOKEN@ >> a.txt && touch .git/index.lock"];
    records(&locked, "git checkout -q -- a.txt; rm .git/index.lock; git commit -qam x");
}

#[test]
fn names_that_git_lists_are_the_files_that_are_added() {
    for list in ["git diff --name-only", "git ls-files -m", "git diff --name-only HEAD --diff-filter=AM"] {
        leaves_out(UNTRACKED, &format!("git add $({list}) && git commit -qm x && git push -q"));
        leaves_out(UNTRACKED, &format!("{list} | xargs git add && git commit -qm x && git push -q"));
        records(CHANGED, &format!("git add $({list}) && git commit -qm x"));
        records(CHANGED, &format!("{list} | xargs git add; git commit -qm x && git push -q"));
    }
    records(UNTRACKED, "git add $(git ls-files -o --exclude-standard) && git commit -qm x");
    // What the line changes before is not in the list that git gives now.
    records(
        &["echo T=@TOKEN@ >> dir/b.txt && git update-index --assume-unchanged dir/b.txt"],
        "git update-index --no-assume-unchanged dir/b.txt; git add $(git diff --name-only); git commit -qm x",
    );
    let filtered = [
        "git config filter.same.clean cat && printf '*.txt filter=same\n' > .git/info/attributes && echo T=@TOKEN@ >> a.txt",
    ];
    records(&filtered, "git add $(git diff --name-only); git commit -qm x");
}

#[test]
fn a_commit_of_paths_leaves_the_index_out() {
    for line in
        ["test -d nowhere && git add dir; git commit -q -m x a.txt", "git revert -n HEAD; git commit -q -o -m x a.txt"]
    {
        leaves_out(STAGED, line);
    }
}

#[test]
fn a_file_is_staged_as_it_was_at_that_moment() {
    records(UNTRACKED, "git add s.env && echo clean > s.env && git commit -m x");
    records(UNTRACKED, "git add -A; rm s.env; git commit -m x");
    leaves_out(UNTRACKED, "echo clean > s.env && git add s.env && git commit -m x");
    leaves_out(UNTRACKED, "rm -f s.env && git add -A && git commit -m x && git push -q");
    leaves_out(UNTRACKED, "mv s.env s.log && git add -A && git commit -m x && git push -q");
}

#[test]
fn copies_and_moves_bring_their_content_along() {
    let elsewhere = &["mkdir -p ../keys/deep && echo T=@TOKEN@ > ../keys/deep/s.env && echo T=@TOKEN@ > s.log"];
    for line in [
        "cp -r ../keys . && git add -A && git commit -m x",
        "cp ../keys/deep/s.env kept.env && git add kept.env && git commit -m x",
        "mv s.log kept.txt && git add -A && git commit -m x",
        "mkdir -p out && mv ../keys out/ && git add out && git commit -m x",
    ] {
        records(elsewhere, line);
    }
}

#[test]
fn a_checkout_that_git_refuses_leaves_the_files_as_they_are() {
    let setup = [
        "git checkout -q side && echo s >> a.txt && git commit -qam s && git checkout -q main && echo T=@TOKEN@ >> a.txt",
    ];
    records(&setup, "git checkout -q side; git commit -qam x");
    let setup = ["echo T=@TOKEN@ > side.txt"];
    records(&setup, "git checkout -q side; git add -A; git commit -qm x");
}

#[test]
fn a_stash_comes_back_with_all_that_it_holds() {
    let stashed = &["echo T=@TOKEN@ >> a.txt && git stash -q"];
    records(stashed, "git stash pop -q && git commit -qam x");
    records(stashed, "git stash apply -q stash@{0}; git commit -qam x");
    records(CHANGED, "git stash -q && git stash pop -q && git commit -qam x");
    leaves_out(stashed, "git stash drop -q; git commit -q --allow-empty -m x");
}

#[test]
fn what_a_hook_of_the_repository_stages_is_read_where_the_line_pushes_it() {
    let hook = "mkdir -p .git/hooks && printf '#!/bin/sh\\ncp ../token s.env && git add s.env\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && echo T=@TOKEN@ > ../token";
    records(&[hook], "git commit -q --allow-empty -m x && git push -q");
    records(&[hook, "echo x >> a.txt"], "git commit -qam x; git push -q origin main");
    let other = "mkdir -p .git/hooks && printf '#!/bin/sh\\necho fine\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && echo T=@TOKEN@ > s.env";
    leaves_out(&[other], "git commit -q --allow-empty -m x && git push -q");
}

/// Puts a hook in place, and a token beside the repository.
fn with_hook(name: &str, text: &str) -> String {
    let put = format!("mkdir -p .git/hooks && cat > .git/hooks/{name} <<'HOOK'\n#!/bin/sh\n{text}\nHOOK\n");
    format!("{put}chmod +x .git/hooks/{name} && echo T=@TOKEN@ > ../token && echo T=@TOKEN@ > s.log")
}

#[test]
fn what_a_hook_of_the_repository_writes_into_a_message_is_read_where_the_line_pushes_it() {
    for text in [
        "cat ../token >> \"$1\"",
        "cp ../token $1",
        "sed -i \"1s/^/$(cat ../token) /\" \"$1\"",
        "m=$(cat \"$1\"); printf '%s\\n%s\\n' \"$m\" \"$(tail -n 1 ../token)\" > \"$1\"",
        "{ cat $1; sort ../token; } > $1.new && mv $1.new $1",
        "cat ../token >> .git/COMMIT_EDITMSG",
    ] {
        for name in ["commit-msg", "prepare-commit-msg"] {
            records(&[&with_hook(name, text)], "git commit -q --allow-empty -m x && git push -q");
        }
    }
    let merging = with_hook("commit-msg", "cat ../token >> $1");
    records(&[&merging], "git merge -q --no-ff -m x side; git push -q origin main");
    let mail = "git format-patch -q -o ../mail main..side >/dev/null";
    let applying = with_hook("applypatch-msg", "cat ../token >> $1");
    records(&[&applying, mail], "git am -q ../mail/*.patch && git push -q");
}

#[test]
fn hooks_that_check_or_adorn_a_message_are_no_reason_to_refuse() {
    for text in [
        "npx --no -- commitlint --edit \"$1\" || true",
        "head -1 \"$1\" | grep -qE '^(feat|fix|x)' || { echo 'no' >&2; exit 1; }",
        "b=$(git symbolic-ref --short HEAD); sed -i.bak -e \"1s/^/[$b] /\" \"$1\"",
        "b=$(git rev-parse --abbrev-ref HEAD); echo \"$b: $(cat \"$1\")\" > \"$1\"",
        "git interpret-trailers --in-place --trailer \"Reviewed-by: Nobody <n@example.invalid>\" \"$1\"",
        "perl -i.bak -ne 'print unless(m/^. Please enter/..m/^#$/)' \"$1\" || true",
        "i=$( (whoami; hostname; date; cat $1; echo $RANDOM) | git hash-object --stdin); d=\"$1.tmp\"\n\
         git interpret-trailers --trailer \"Change-Id: I$i\" < \"$1\" > \"$d\" || exit 1\nmv \"$d\" \"$1\"",
        "if [ \"$2\" = message ]; then exit 0; fi; printf '\\n# %s\\n' \"$(git diff --cached --name-status)\" >> \"$1\"",
    ] {
        for name in ["commit-msg", "prepare-commit-msg"] {
            leaves_out(&[&with_hook(name, text)], "git commit -q --allow-empty -m x && git push -q");
        }
    }
}

#[test]
fn names_that_match_are_those_that_the_line_leaves() {
    let secret = "echo T=@TOKEN@ > ../token";
    for line in [
        "mkdir n; cp ../token n/z; cp n/* dir/; git add dir; git commit -qm x",
        "mkdir n; cp ../token n/z; mv n/* dir/; git add dir; git commit -qm x",
        "mkdir -p n/m; cp ../token n/m/z; cp n/*/z dir/; git add dir; git commit -qm x",
        "mkdir n; echo y > n/y; cp ../token n/z; for f in n/*; do cat $f > a.txt; done; git commit -qam x",
        "mkdir n; cp ../token n/z; cat n/? > a.txt; git commit -qam x",
        "cp ../token dir/z; cat dir/[z] > a.txt; git commit -qam x",
        "mkdir ../f; cp ../token ../f/z; cp -r ../f n; cp n/* dir/; git add dir; git commit -qm x",
        "true; sh -c ':' ; mkdir n; cp ../token n/z; make -s none; cp n/* dir/; git add dir; git commit -qm x",
    ] {
        records(&[secret], line);
    }
    for line in [
        "mkdir n; cp ../token n/z; rm n/z; echo y > n/y; cp n/* dir/; git add dir; git commit -qm x",
        "cp ../token dir/z; rm dir/z; cat dir/* > a.txt; git commit -qam x",
        "cp ../token dir/.z; cat dir/* > a.txt; git commit -qam x",
    ] {
        leaves_out(&[secret], line);
    }
}

#[test]
fn a_tree_that_nothing_leads_to_is_no_commit_that_is_known() {
    let dangling = "git read-tree HEAD && echo T=@TOKEN@ > s.env && git add s.env && git write-tree > ../tree && git reset -q --hard && rm -f s.env";
    let line = "git push -q origin $(git commit-tree -p HEAD -m x $(cat ../tree)):refs/heads/q";
    records(&[dangling], line);
    // The same from a program that only the line will run.
    let line = "t=$(sed -n p ../tree); git push -q origin $(git commit-tree -p HEAD -m x $t):refs/heads/q";
    let (code, sent, report) = judged_and_done(&[dangling], line);
    assert!(sent);
    assert_ne!(code, Some(0), "{report}");
}

#[test]
fn a_description_that_a_merge_takes_into_its_message_is_read() {
    let described = ["git config branch.side.description 'T=@TOKEN@' && git config merge.branchdesc true"];
    records(&described, "git merge -q --log --no-ff --no-edit side && git push -q");
    records(&described, "git merge -q --no-ff --log side -m q; git push -q");
    leaves_out(
        &["git config branch.side.description 'T=@TOKEN@'"],
        "git merge -q --log --no-ff --no-edit side && git push -q",
    );
}

#[test]
fn a_message_that_is_replaced_is_gone() {
    let setup = &["git commit -q --allow-empty -m 'T=@TOKEN@'"];
    leaves_out(setup, "git commit -q --amend --allow-empty -m clean && git push -q");
    records(setup, "git commit -q --amend --allow-empty --no-edit && git push -q");
    records(setup, "git commit -q --amend --allow-empty -m clean; git tag kept HEAD@{1}; git push -q --tags");
}

#[test]
fn a_text_that_is_pasted_is_read_whatever_ran_before() {
    let setup = &["echo T=@TOKEN@ > .git/message"];
    for line in [
        "git clean -fdq; git commit -q --allow-empty -m \"$(cat .git/message)\"",
        "sed -i s/a/b/ a.txt; git commit -qam \"$(cat .git/message)\"",
        "git commit -q --allow-empty -F .git/message",
        "cat .git/message | git commit -q --allow-empty -F -",
        "git commit -q --allow-empty -F - < .git/message",
    ] {
        records(setup, line);
    }
}

#[test]
fn a_template_counts_only_where_no_message_is_given() {
    let setup = &["echo T=@TOKEN@ > .git/template && echo x >> a.txt"];
    leaves_out(setup, "git commit -qa -t .git/template -m x");
    let (code, ..) = judged_and_done(setup, "git commit -qa -t .git/template");
    assert_eq!(code, Some(1));
}

#[test]
fn commits_that_are_taken_back_are_not_pushed() {
    let committed = &["echo T=@TOKEN@ > s.env && git add s.env && git commit -qm bad"];
    for line in [
        "git rm -q --cached s.env && git commit -q --amend --allow-empty -m good && git push -q",
        "git rm -q -f s.env && git commit -q --amend --allow-empty --no-edit && git push -q -f origin HEAD",
        "git reset -q --soft HEAD~1 && git reset -q s.env && git commit -q --allow-empty -m good && git push -q origin main",
        "git reset -q --hard HEAD~1 && git push -q --force",
    ] {
        leaves_out(committed, line);
    }
    // What comes after a semicolon runs although the amend may have failed.
    records(committed, "git commit -q --amend -F nowhere; git push -q");
    records(committed, "git rm -q --cached s.env; git commit -qm later && git push -q");
    records(committed, "git branch kept && git reset -q --hard HEAD~1 && git push -q --all");
}

#[test]
fn a_merge_brings_the_branch_that_it_names_and_no_other() {
    let setup = &[
        "git checkout -q -b bad main && echo T=@TOKEN@ > s.env && git add s.env && git commit -qm bad && git checkout -q main",
    ];
    records(setup, "git merge -q bad && git push -q");
    records(setup, "git merge -q --no-ff -m m bad; git push -q origin HEAD");
    leaves_out(setup, "git merge -q side && git push -q");
    leaves_out(setup, "git cherry-pick side && git push -q origin main");
    leaves_out(setup, "git merge -q --squash side && git commit -qm x && git push -q");
    leaves_out(setup, "git notes add -m note && git push -q");
}

#[test]
fn folder_that_is_moved_is_staged_by_the_rules_of_its_new_place() {
    // Read as it lies, each line ends in a carriage return, and the token stands in two pieces.
    let setup = &[
        "printf '*.txt text\\n' > .gitattributes; git add .gitattributes; git commit -qm attributes; git push -q",
        "mkdir old; printf 'T=@TOKEN@\\r\\nb\\r\\n' > old/s.txt; printf 'x\\n' > old/t.txt",
    ];
    records(setup, "mv old new && git add new && git commit -m x");
    let setup = &["mkdir old; printf 'T=@TOKEN@\\n' > old/s.log; printf 'x\\n' > old/t.txt"];
    leaves_out(setup, "mv old new && git add new && git commit -m x");
}

#[test]
fn index_that_is_read_from_a_tree_holds_no_more() {
    leaves_out(STAGED, "git read-tree HEAD && git commit --allow-empty -m x");
    records(STAGED, "git read-tree --reset HEAD && git add s.env && git commit -m x");
    // The flags of its entries are gone with it.
    let setup = &["git update-index --skip-worktree a.txt && echo T=@TOKEN@ > a.txt"];
    records(setup, "git read-tree HEAD && git commit -m x -- a.txt");
}

#[test]
fn stash_that_git_refuses_takes_nothing_away() {
    let setup = &["echo T=@TOKEN@ > s.env && git add s.env && echo n > n.txt && git add -N n.txt"];
    records(setup, "git stash -q; git commit -m x");
}

#[test]
fn what_is_added_to_a_file_after_a_program_ran_is_read() {
    let push = "&& git commit -qm x && git push -q origin HEAD";
    for before in ["git rm -q --cached dir/b.txt", "git rm -q dir/b.txt", "mv dir moved"] {
        for add in
            ["echo x >> .gitignore", "echo x >> .gitignore && echo y >> .gitignore", "echo x | tee -a .gitignore"]
        {
            leaves_out(UNTRACKED, &format!("{before} && {add} && git add .gitignore a.txt {push}"));
        }
        records(
            &["echo T=@TOKEN@ >> .gitignore"],
            &format!("{before} && echo x >> .gitignore && git add .gitignore {push}"),
        );
    }
    let token = planted::github_token(7);
    records(&[], &format!("git rm -q --cached dir/b.txt && echo T={token} >> a.txt && git commit -qam x"));
}
