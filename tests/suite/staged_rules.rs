//! What decides which files staging takes, and what it makes of them, as the line leaves it: rules of what is
//! ignored, attributes and filters, nested repositories, the sparse part of a work tree.

use super::staging::{leaves_out, records};

/// Every line, so that one run shows all that are wrong.
#[track_caller]
fn each(check: fn(&[&str], &str), setup: &[&str], lines: &[&str], end: &str) {
    let is_wrong = |line: &&&str| {
        let line = format!("{line}{end}");
        std::panic::catch_unwind(|| check(setup, &line)).is_err()
    };
    let wrong: Vec<&&str> = lines.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const IGNORED: &[&str] =
    &["echo s.env >> .gitignore && git commit -qam i && git push -q && echo T=@TOKEN@ > s.env && echo x >> a.txt"];
const EXCLUDED: &[&str] = &["echo s.env >> .git/info/exclude && echo T=@TOKEN@ > s.env"];
const ALL: &str = "; git add -A; git commit -qm x; git push -q";

#[test]
fn what_the_line_no_longer_ignores_is_staged() {
    each(
        records,
        IGNORED,
        &[
            "rm .gitignore",
            "mv .gitignore ignored.txt",
            "git rm -q .gitignore",
            "git mv .gitignore ignored.txt",
            "git checkout -q HEAD~1 -- .gitignore",
            "git restore -s HEAD~1 .gitignore",
            "> .gitignore",
            "echo '!s.env' >> .gitignore",
            "printf '*.log\\n' > .gitignore",
            "grep -v s.env .gitignore > g; mv g .gitignore",
            "sed -i /s.env/d .gitignore",
            "sed -i 's/^s/t/' .gitignore",
            "test -e nothing || rm .gitignore",
        ],
        ALL,
    );
    records(IGNORED, "rm .gitignore; git add .; git commit -qm x");
    records(IGNORED, "rm .gitignore; git add s.env; git commit -qm x");
    records(IGNORED, "rm .gitignore; cd dir; git add ..; git commit -qm x");
    records(EXCLUDED, &format!(": > .git/info/exclude{ALL}"));
    records(
        &["echo s.env > ~/ignored && git config --global core.excludesFile ~/ignored && echo T=@TOKEN@ > s.env"],
        &format!("git config --global --unset core.excludesFile{ALL}"),
    );
    records(
        &["echo s.env > ~/ignored && git config --global core.excludesFile ~/ignored && echo T=@TOKEN@ > s.env"],
        &format!("git config core.excludesFile /dev/null{ALL}"),
    );
    records(
        &["echo s.env > ~/ignored && git config --global core.excludesFile ~/ignored && echo T=@TOKEN@ > s.env"],
        &format!(": > ~/ignored{ALL}"),
    );
    let folder = &[
        "mkdir -p out/deep && echo T=@TOKEN@ > out/deep/s && echo out/ >> .gitignore && git commit -qam i && git push -q",
    ];
    records(folder, &format!("rm .gitignore{ALL}"));
    records(folder, "echo '!out/' >> .gitignore; git add out; git commit -qm x");
}

#[test]
fn what_the_line_ignores_is_left_out() {
    let untracked = &["echo T=@TOKEN@ > s.env && echo x >> a.txt"];
    let hides = [
        "echo s.env >> .gitignore",
        "printf '*.env\\n' > dir/../.gitignore",
        "cat >> .gitignore <<E\ns.env\nE",
        "echo s.env >> .git/info/exclude",
        "sed -i '$a s.env' .gitignore",
        "git config core.excludesFile \"$PWD/.git/x\"; echo s.env > .git/x",
    ];
    each(leaves_out, untracked, &hides, ALL);
    leaves_out(&[], "echo T=$(printf x) > s.env; echo s.env >> .gitignore; git add -A; git commit -qm x");
    // Rules that are added hide no less.
    let add = [
        "echo node_modules >> .gitignore",
        "grep -q x .gitignore || echo x >> .gitignore",
        "rm dir/b.txt",
        "sed -i s/log/lag/ .gitignore",
    ];
    each(leaves_out, IGNORED, &add, ALL);
    each(leaves_out, EXCLUDED, &add, ALL);
    // A file that is tracked already is taken whatever the rules say.
    records(&["echo T=@TOKEN@ >> a.txt"], &format!("echo a.txt >> .gitignore{ALL}"));
    records(untracked, "echo s.env >> .gitignore; git add -f s.env; git commit -qm x");
    records(untracked, "test -e nothing && echo s.env >> .gitignore; git add -A; git commit -qm x");
}

#[test]
fn what_another_conversion_would_stage_is_read() {
    let filtered = &[
        "git config filter.r.clean 'sed s/gh/xx/' && echo '*.r filter=r' > .gitattributes && git add . && git commit -qm r && git push -q && echo T=@TOKEN@ > s.r",
    ];
    each(
        records,
        filtered,
        &[
            "rm .gitattributes",
            "echo '*.r -filter' >> .gitattributes",
            "echo '*.r -filter' >> .git/info/attributes",
            "git config --unset filter.r.clean",
            "git config filter.r.clean ''",
            "git config --remove-section filter.r",
            "git rm -q .gitattributes",
        ],
        ALL,
    );
}

#[test]
fn files_of_a_nested_repository_that_is_none_any_more_are_staged() {
    let nested = &["git init -q n && cd n && mkdir d && echo T=@TOKEN@ > d/s && git add . && git commit -qm n"];
    each(
        records,
        nested,
        &[
            "rm -rf n/.git",
            "mv n/.git ../elsewhere",
            "rm -rf */.git",
            "find . -mindepth 2 -name .git -exec rm -rf {} +",
            "find n -name .git | xargs rm -rf",
        ],
        ALL,
    );
    let linked = &[
        "git init -q ../m && cd ../m && echo T=@TOKEN@ > s && git add . && git commit -qm m && cd ../work && git -c protocol.file.allow=always submodule --quiet add ../m n && git commit -qm n",
    ];
    records(linked, &format!("git rm -q --cached n; rm -rf n/.git{ALL}"));
    leaves_out(nested, &format!("rm -rf n{ALL}"));
    let beside = "git worktree add -q ../wt -b feat && cd ../wt && echo y > y && git add y && git commit -qm y && git push -q -u origin feat";
    leaves_out(&["echo s.env >> .git/info/exclude; echo T=@TOKEN@ > s.env"], beside);
}

#[test]
fn files_outside_of_a_sparse_part_that_is_given_up_are_staged() {
    let sparse = &[
        "mkdir o && echo a > o/f && git add . && git commit -qm o && git push -q && git sparse-checkout set dir && mkdir -p o && echo T=@TOKEN@ > o/f",
    ];
    records(sparse, "git sparse-checkout disable; git commit -qam x; git push -q");
    records(sparse, "git sparse-checkout set dir o; git add -A; git commit -qm x; git push -q");
}

#[test]
fn a_name_that_git_looks_up_among_older_commits_is_read() {
    let older = &[
        "git commit -q --allow-empty -m z --author 'X T=@TOKEN@ <a@b>' && git branch -q keep && git reset -q --hard HEAD~1 && echo x >> a.txt",
    ];
    records(older, "git commit -qam x --author=X; git push -q");
    records(older, "git commit -qam x --author X");
    leaves_out(older, "git commit -qam x --author='Y <y@b>'; git push -q");
}

#[test]
fn patches_of_a_series_are_read() {
    let series = &[
        "mkdir ../q && echo T=@TOKEN@ > s.txt && git add . && git diff --cached > ../q/a.patch && git reset -q && rm s.txt && echo a.patch > ../q/series",
    ];
    records(series, "git quiltimport --author 'A <a@b>' --patches ../q; git push -q");
}

#[test]
fn what_an_editor_of_the_line_puts_into_a_message_is_read() {
    let typed = &["echo T=@TOKEN@ > ../t && echo x >> a.txt"];
    records(typed, "GIT_EDITOR='cp ../t' git commit -qa; git push -q");
    records(typed, "export GIT_EDITOR='cp ../t'; git commit -qa; git push -q");
    records(typed, "unset GIT_EDITOR; git -c core.editor='cp ../t' commit -qa; git push -q");
    records(typed, "GIT_EDITOR='cat ../t >>' git commit -qa --allow-empty -m x -e; git push -q");
}
