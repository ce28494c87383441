//! What a line makes or brings in outside its commits is among the items of whatever publishes it: each line
//! is run for real, and what arrived is compared with what was listed before.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::{Sandbox, shown};

const REMOTES: &[&str] = &["work.git", "other.git", "lib.git"];

/// Two repositories, each with a commit that was pushed and one that was not, work in progress in both, and
/// an ordinary folder.
pub fn template() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["work", "lib"] {
        let repo = sandbox.repo(name);
        repo.git(&["remote", "set-url", "origin", &format!("../{name}.git")]);
        repo.commit("a.txt", format!("{name} base\n"));
        repo.git(&["push", "-q", "-u", "origin", "main"]);
        repo.commit("one.txt", format!("{name} one\n"));
        repo.write("staged.txt", format!("{name} staged\n")).git(&["add", "staged.txt"]);
        repo.write("a.txt", format!("{name} modified\n")).write("untracked.txt", format!("{name} untracked\n"));
    }
    sandbox.git("", &["init", "-q", "--bare", "-b", "main", "other.git"]);
    sandbox.git("work", &["remote", "add", "other", "../other.git"]);
    std::fs::create_dir(sandbox.path("plain")).unwrap();
    sandbox
}

pub fn copy_of(template: &Sandbox) -> Sandbox {
    let sandbox = Sandbox::new();
    let from = template.path("").join(".");
    assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(sandbox.path("")).status().unwrap().success());
    sandbox
}

/// Objects of a repository, each with its kind.
fn objects(sandbox: &Sandbox, dir: &str) -> BTreeSet<(String, String)> {
    let format = "--batch-check=%(objectname) %(objecttype)";
    let listed = sandbox.git(dir, &["cat-file", "--batch-all-objects", format]);
    listed.lines().filter_map(|line| line.split_once(' ')).map(|(oid, kind)| (oid.into(), kind.into())).collect()
}

fn arrived(sandbox: &Sandbox) -> BTreeSet<(String, String)> {
    REMOTES
        .iter()
        .flat_map(|remote| {
            objects(sandbox, remote).into_iter().map(move |(oid, kind)| (format!("{remote} {oid}"), kind))
        })
        .collect()
}

pub fn listed(sandbox: &Sandbox, line: &str) -> Value {
    let mut tyran = sandbox.tyran();
    tyran.current_dir(sandbox.path("work")).args(["payload", "command", "--format", "json", "--", line]);
    let output = tyran.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{line}: {}", shown(&output)))
}

/// The ids of the items; a file without one is hashed as it is now.
pub fn oids(sandbox: &Sandbox, listed: &Value) -> BTreeSet<String> {
    let items = listed["items"].as_array().unwrap();
    let of = |item: &Value| match (item["oid"].as_str(), item["kind"].as_str(), item["path"].as_str()) {
        (Some(oid), ..) => Some(oid.to_owned()),
        (None, Some("file"), Some(path)) => {
            let path = Path::new("/").join(path);
            path.is_file().then(|| sandbox.git("work", &["hash-object", path.to_str().unwrap()]))
        }
        (None, ..) => None,
    };
    items.iter().filter_map(of).collect()
}

/// What arrives of a line and was not listed: blobs, and whatever else was there before. Nothing is asked of
/// a line that is refused.
pub fn missing(template: &Sandbox, line: &str) -> Option<String> {
    let sandbox = copy_of(template);
    let before = arrived(&sandbox);
    let here: BTreeSet<String> =
        ["work", "lib"].iter().flat_map(|dir| objects(&sandbox, dir)).map(|(oid, _)| oid).collect();
    let listed = listed(&sandbox, line);
    let oids = oids(&sandbox, &listed);
    let bash = sandbox.command("bash").current_dir(sandbox.path("work")).args(["-c", line]).output().unwrap();
    let sent: Vec<(String, String)> = arrived(&sandbox).difference(&before).cloned().collect();
    assert!(!sent.is_empty(), "{line} sends something: {}", shown(&bash));
    let lost: Vec<String> = sent
        .into_iter()
        .map(|(place, kind)| (place.rsplit(' ').next().unwrap().to_owned(), kind))
        .filter(|(oid, kind)| !oids.contains(oid) && (kind == "blob" || here.contains(oid)))
        .map(|(oid, kind)| format!("{kind} {oid}"))
        .collect();
    (!lost.is_empty() && listed["refusal"].is_null()).then(|| format!("{line:?}: {} {lost:?}", listed["outcome"]))
}

fn all_are_listed(lines: &[&str]) {
    let template = template();
    let lost: Vec<String> = lines.iter().filter_map(|line| missing(&template, line)).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_stash_that_a_push_names_is_listed() {
    all_are_listed(&[
        "git stash -q; git push -q other stash@{0}:refs/heads/s",
        "git stash -q; git push -q other refs/stash:refs/heads/s",
        "git stash -q -u; git push -q other stash@{0}^3:refs/heads/s",
        "git stash -q; git tag st stash@{0}; git push -q other st",
        "git stash -q; git branch st stash; git push -q other st",
        "git push -q other $(git stash create):refs/heads/sc",
        "git stash -q; s=$(git rev-parse stash); git push -q other $s:refs/heads/s",
        "git stash push -q untracked.txt -u; git checkout -q stash@{0}^3 -- untracked.txt; git commit -qm x; git push -q other HEAD:refs/heads/n",
    ]);
}

#[test]
fn a_stash_that_a_push_cannot_hold_changes_nothing_of_it() {
    let template = template();
    for line in [
        "git stash -q; git push -q other main",
        "git stash -q && git pull -q --rebase && git push -q && git stash pop -q",
        "git stash -q; git checkout -q -b x; git push -q -u other x; git stash pop -q",
    ] {
        let sandbox = copy_of(&template);
        let listed = listed(&sandbox, line);
        assert_eq!(listed["exact"], true, "{line}");
        let modified = sandbox.git("work", &["hash-object", "a.txt"]);
        assert!(!oids(&sandbox, &listed).contains(&modified), "{line}");
    }
}

#[test]
fn what_git_leaves_under_names_of_its_own_is_listed() {
    all_are_listed(&[
        "git reset -q --soft HEAD~1; git push -q other ORIG_HEAD:refs/heads/z",
        "git reset -q --hard HEAD~1; git push -q other ORIG_HEAD:refs/heads/z",
        "git commit -qm x; git push -q other HEAD~1:refs/heads/z",
        "git commit -q --amend -m x; git push -q other HEAD@{1}:refs/heads/z",
    ]);
}

#[test]
fn what_a_ref_written_by_hand_stands_for_is_listed() {
    all_are_listed(&[
        "git rev-parse HEAD > .git/refs/heads/raw; git push -q other raw",
        "printf 'ref: refs/heads/main\\n' > .git/refs/heads/raw; git push -q other raw",
        "echo \"$(git rev-parse HEAD) refs/heads/pk\" > .git/packed-refs; git push -q other pk",
        "cp .git/refs/heads/main .git/refs/heads/raw; git push -q other raw",
        "git branch old origin/main; sed -i \"s/.*/$(git rev-parse HEAD)/\" .git/refs/heads/old; git push -q other old",
    ]);
}

#[test]
fn what_is_fetched_from_another_repository_is_listed() {
    all_are_listed(&[
        "git fetch -q ../lib main && git push -q other FETCH_HEAD:refs/heads/lib",
        "git fetch -q ../lib main:lib; git push -q --all other",
        "git fetch -q ../lib main:lib; git push -q other lib",
        "git remote add l ../lib; git fetch -q l; git push -q other l/main:refs/heads/q",
        "git remote add -f l ../lib; git push -q other l/main:refs/heads/q",
        "git config remote.l.url ../lib; git fetch -q l main; git push -q other FETCH_HEAD:refs/heads/q",
        "git fetch -q ../lib '+refs/heads/*:refs/remotes/l/*'; git push -q other l/main:refs/heads/q",
        "git stash -q -u; git pull -q ../lib main --allow-unrelated-histories --no-rebase -X ours --no-edit && git push -q",
        "git stash -q -u; git fetch -q ../lib main; git reset -q --hard FETCH_HEAD; git push -q other main",
    ]);
}

#[test]
fn what_is_fetched_from_a_remote_that_is_not_known_may_be_any_of_them() {
    all_are_listed(&[
        "X=$(head -c 1 <<< lx); git remote add l ../lib; git fetch -q $X main; git push -q other FETCH_HEAD:refs/heads/x",
        "X=$(head -c 1 <<< lx); git config remote.l.url ../lib; git stash -q -u; git pull -q $X main \
            --allow-unrelated-histories --no-rebase -X ours --no-edit && git push -q",
    ]);
}

#[test]
fn what_is_fetched_from_a_path_that_is_not_known_is_for_the_hooks_to_read() {
    let template = template();
    let line = "X=$(printenv X); git fetch -q $X main; git push -q other FETCH_HEAD:refs/heads/x";
    let scan = |sandbox: &Sandbox| {
        let mut tyran = sandbox.tyran();
        tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap()
    };
    let sandbox = copy_of(&template);
    let output = scan(&sandbox);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(shown(&output).contains("fetched from a place that is not known"), "{}", shown(&output));
    let installed = sandbox.tyran().args(["install", "git"]).output().unwrap();
    assert!(installed.status.success(), "{}", shown(&installed));
    let output = scan(&sandbox);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}

#[test]
fn what_is_fetched_from_a_remote_that_the_line_makes_is_listed() {
    all_are_listed(&[
        "git stash -q -u; git remote add -f o ../lib 2>/dev/null; git reset -q --hard o/main; git push -q -f",
        "git remote add o ../lib; git fetch -q --all; git tag t o/main; git push -q --tags",
        "git remote add o ../lib; git remote update o; git branch t o/main; git push -q origin t",
        "git remote set-url origin ../lib; git fetch -q; git remote set-url origin ../work.git; git tag t FETCH_HEAD; git push -q origin t",
        "git -c remote.o.url=../lib -c remote.o.fetch='+refs/heads/*:refs/remotes/o/*' fetch -q o; git tag t o/main; git push -q --tags",
    ]);
}

#[test]
fn what_a_branch_takes_from_a_path_without_a_remote_is_listed() {
    all_are_listed(&[
        "git config branch.main.remote ../lib; git config branch.main.merge refs/heads/main; git stash -q -u; \
         git pull -q --allow-unrelated-histories --no-rebase -X ours --no-edit && git push -q other main",
    ]);
}

#[test]
fn a_repository_that_the_line_puts_in_place_is_listed() {
    all_are_listed(&[
        "cp -r ../lib ../lib3; git -C ../lib3 push -q",
        "cp -r ../lib ../lib3; git -C ../lib3 add -A; git -C ../lib3 commit -qm x; git -C ../lib3 push -q",
        "mv ../lib ../lib2; cd ../lib2; git push -q",
        "ln -s ../lib/.git ../plain/.git; cd ../plain; git push -q",
        "echo 'gitdir: ../lib/.git' > ../plain/.git; cd ../plain; git push -q",
        "echo 'gitdir: ../lib/.git' > ../plain/.git; git -C ../plain push -q origin main",
        "mkdir ../lib3; tar -C ../lib -cf - . | tar -C ../lib3 -xf -; git -C ../lib3 push -q",
        "cp -r ../lib/.git ../plain/; cd ../plain; git push -q ../lib.git main",
    ]);
}

#[test]
fn text_of_a_file_that_becomes_a_name_a_link_or_an_identity_is_listed() {
    let template = template();
    for line in [
        "ln -s \"$(cat untracked.txt)\" link; git add link; git commit -qm x",
        "T=$(cat untracked.txt); git checkout -q -b \"x-${T// /-}\"; git commit -q --allow-empty -m x; git push -q other HEAD",
        "git config user.name \"$(cat untracked.txt)\"; git commit -q --allow-empty -m x",
        "touch \"$(cat untracked.txt)\"; git add .; git commit -qm x",
    ] {
        let sandbox = copy_of(&template);
        std::fs::write(sandbox.path("work/untracked.txt"), format!("{}\n", crate::support::planted::github_token(31)))
            .unwrap();
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {}", shown(&output));
    }
}

#[test]
fn what_a_program_unpacks_or_parts_into_a_commit_is_read_where_it_lies() {
    let template = template();
    let mut wrong = Vec::new();
    for line in [
        "tar xzf ../plain/t.tgz; git add -A; git commit -qm x; git push -q",
        "tar xz < ../plain/t.tgz; git add -A; git commit -qm x; git push -q",
        "tar -C ../plain -c s.txt | tar x; git add -A; git commit -qm x; git push -q",
        "split -l 1 ../plain/s.txt part-; git add -A; git commit -qm x; git push -q",
        "dd if=../plain/s.txt of=q; git add -A; git commit -qm x; git push -q",
        "sed -i \"s/base/$(cat ../plain/s.txt)/\" a.txt; git commit -qam x; git push -q",
        "sed -i 'r ../plain/s.txt' a.txt; git commit -qam x; git push -q",
        "find ../plain -name '*.txt' -exec cp {} . \\;; git add -A; git commit -qm x; git push -q",
        "find ../plain -type f -exec cp -t . {} +; git add -A; git commit -qm x; git push -q",
        "find ../plain -name '*.txt' | xargs -I{} cp {} .; git add -A; git commit -qm x; git push -q",
        "find ../plain -name '*.txt' -print0 | xargs -0 cp -t .; git add -A; git commit -qm x; git push -q",
        "seq 1 | xargs -I_ cp ../plain/s.txt q_; git add -A; git commit -qm x; git push -q",
        "python3 -c \"import shutil;shutil.copy('../plain/s.txt','q')\"; git add -A; git commit -qm x; git push -q",
        "python3 -c \"open('q','w').write(open('../plain/s.txt').read())\"; git add -A; git commit -qm x; git push -q",
        "python3 - <<'E'\nopen('q','w').write(open('../plain/s.txt').read())\nE\ngit add -A; git commit -qm x; git push -q",
        "node -e \"require('fs').copyFileSync('../plain/s.txt','q')\"; git add -A; git commit -qm x; git push -q",
        "python3 -m tarfile -e ../plain/t.tgz .; git add -A; git commit -qm x; git push -q",
        "openssl base64 -d -in ../plain/s.b64 -out q; git add -A; git commit -qm x; git push -q",
        "git --git-dir=../held/.git --work-tree=. checkout HEAD -- s.txt; git add -A; git commit -qm x; git push -q",
        "git clone -q ../held n; rm -rf n/.git; git add -A; git commit -qm x; git push -q",
    ] {
        let sandbox = copy_of(&template);
        std::fs::write(sandbox.path("plain/s.txt"), format!("{}\n", crate::support::planted::github_token(33)))
            .unwrap();
        let mut pack = sandbox.command("bash");
        let script = "tar czf t.tgz s.txt; base64 s.txt > s.b64; git init -q ../held; cp s.txt ../held; cd ../held; git add .; git commit -qm h";
        assert!(pack.current_dir(sandbox.path("plain")).args(["-c", script]).status().unwrap().success());
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
        if output.status.code() != Some(1) {
            wrong.push(format!("{line}: {}", shown(&output)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_part_of_a_file_is_read_in_that_file() {
    let template = template();
    let mut wrong = Vec::new();
    for line in [
        "head -5 ../plain/s.txt > q; git add -A; git commit -qm x; git push -q",
        "grep -v x ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "sort ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "sort ../plain/s.txt a.txt > q && git add q && git commit -qm x && git push -q",
        "diff a.txt ../plain/s.txt > q; git add q && git commit -qm x && git push -q",
        "column -t ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "base64 ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "{ date; cat ../plain/s.txt; uname; } > q && git add q && git commit -qm x && git push -q",
        "for i in 1 2; do date; sort ../plain/s.txt; done >> a.txt; git commit -qam x && git push -q",
        "date > q; x=$(cat ../plain/s.txt); { date; echo $x; } >> q; git add q && git commit -qm x && git push -q",
        "sort ../plain/s.txt > q; grep -o . ../plain/s.txt > q; git add q && git commit -qm x && git push -q",
        "zcat ../plain/s.txt.gz > q && git add q && git commit -qm x && git push -q",
        "gunzip -c ../plain/s.txt.gz > q && git add q && git commit -qm x && git push -q",
        "gzip -dc < ../plain/s.txt.gz > q && git add q && git commit -qm x && git push -q",
        "tar xOf ../plain/t.tgz s.txt > q && git add q && git commit -qm x && git push -q",
        "tar -xzOf ../plain/t.tgz > q && git add q && git commit -qm x && git push -q",
        "sort ../plain/s.txt -o q && git add q && git commit -qm x && git push -q",
        "awk 1 ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "sed p ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "cut -c1-60 ../plain/s.txt | tr a a > q && git add q && git commit -qm x && git push -q",
        "rev ../plain/s.txt | rev > q && git add q && git commit -qm x && git push -q",
        "nl ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "paste ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "fold -w 200 < ../plain/s.txt > q && git add q && git commit -qm x && git push -q",
        "base64 -d ../plain/s.b64 > q && git add q && git commit -qm x && git push -q",
        "git -C ../held show HEAD:s.txt > q && git add q && git commit -qm x && git push -q",
        "git --git-dir=../held/.git cat-file blob HEAD:s.txt > q && git add q && git commit -qm x && git push -q",
    ] {
        let mut codes = Vec::new();
        for text in ["nothing of note\n".to_owned(), format!("{}\n", crate::support::planted::github_token(34))] {
            let sandbox = copy_of(&template);
            std::fs::write(sandbox.path("plain/s.txt"), text).unwrap();
            let mut pack = sandbox.command("bash");
            let script = "gzip -k s.txt; tar czf t.tgz s.txt; base64 s.txt > s.b64; git init -q ../held; cp s.txt ../held; cd ../held; git add .; git commit -qm h";
            assert!(pack.current_dir(sandbox.path("plain")).args(["-c", script]).status().unwrap().success());
            let mut tyran = sandbox.tyran();
            let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
            codes.push(output.status.code());
        }
        if codes != [Some(0), Some(1)] {
            wrong.push(format!("{line}: {codes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_tells_dates_names_and_numbers_is_no_objection() {
    let template = template();
    let mut wrong = Vec::new();
    for (line, code) in [
        ("date > q; git add q && git commit -qm x && git push -q", 0),
        ("echo built $(date) by $(whoami) > q; git add q && git commit -qm x && git push -q", 0),
        ("wc -l a.txt > q; uname -a >> q; git add q && git commit -qm x && git push -q", 0),
        ("git rev-parse HEAD > q; git describe --always >> q; git add q && git commit -qm x && git push -q", 0),
        ("ls > q; find . -name '*.txt' > r; git add q r && git commit -qm x && git push -q", 0),
        // What speaks of more is for the hooks to read.
        ("git remote -v > q; git add q && git commit -qm x && git push -q", 3),
        ("git commit -q --allow-empty -m \"$(git remote -v)\" && git push -q", 3),
        ("git commit -q --allow-empty -m \"$(shuf -n1 a.txt)\" && git push -q", 3),
        ("env > q; git add q && git commit -qm x && git push -q", 3),
        ("curl -s https://example.invalid/ > q; git add q && git commit -qm x && git push -q", 3),
        (
            "printf '#!/bin/sh\\necho x\\n' > w; chmod +x w; python3 w | sort > q; git add q && git commit -qm x && git push -q",
            3,
        ),
    ] {
        let sandbox = copy_of(&template);
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
        if output.status.code() != Some(code) {
            wrong.push(format!("{line}: {}", shown(&output)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_patch_of_the_line_brings_back_is_read() {
    let template = template();
    for line in [
        "git diff > p.patch; git checkout a.txt; git apply p.patch; git commit -am x",
        "git diff > p.patch; git checkout a.txt; git apply --index p.patch; git commit -m x",
        "git diff > p.patch; git checkout a.txt; patch -p1 < p.patch; git commit -am x",
    ] {
        let sandbox = copy_of(&template);
        std::fs::write(sandbox.path("work/a.txt"), format!("{}\n", crate::support::planted::github_token(32))).unwrap();
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {}", shown(&output));
    }
}

#[test]
fn an_object_that_the_line_writes_is_listed() {
    all_are_listed(&[
        "o=$(git hash-object -w untracked.txt); git push -q other $o:refs/tags/ho",
        "git push -q other $(git hash-object -w untracked.txt):refs/tags/ho",
        "git push -q other $(git hash-object -w --stdin < untracked.txt):refs/tags/ho",
        "git tag ho $(git hash-object -w untracked.txt); git push -q other ho",
        "git update-ref refs/tags/ho $(git hash-object -w untracked.txt); git push -q other ho",
        "git update-index --add --cacheinfo 100644,$(git hash-object -w untracked.txt),zz; git commit -qm x; git push -q",
    ]);
}

#[test]
fn what_is_staged_by_other_means_than_names_is_listed() {
    all_are_listed(&[
        "git ls-files -o | git update-index --add --stdin; git commit -qm x; git push -q",
        "git diff | git apply --cached; git commit -qm x; git push -q",
        "git add -i <<< $'a\\n1\\n2\\n\\nq'; git commit -qm x; git push -q",
        "git add untracked.txt; git push -q other :untracked.txt:refs/tags/x",
    ]);
}
