//! What `git commit` would record is worked out beforehand, without touching the repository.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tyran::command::plan::{CommitRequest, CommitVerb, Content, GitContext, StagingStep, State, WrittenFile};
use tyran::payload::{Fault, Payload, commit};
use tyran::world::{Caution, World};

use crate::support::payload::{blobs, everything, listing, texts};
use crate::support::{Repo, Sandbox, shown};

/// A commit about to be made: its arguments, and what stands before it.
struct Attempt<'a> {
    repo: &'a Repo<'a>,
    dir: PathBuf,
    env: Vec<(&'static str, OsString)>,
    globals: Vec<&'a str>,
    steps: Vec<Vec<&'a str>>,
    written: Vec<(&'a str, Option<&'a str>)>,
    caution: Caution,
}

impl<'a> Attempt<'a> {
    fn new(repo: &'a Repo<'a>) -> Self {
        Self {
            repo,
            dir: repo.dir.clone(),
            env: Vec::new(),
            globals: Vec::new(),
            steps: Vec::new(),
            written: Vec::new(),
            caution: Caution::ByHand,
        }
    }

    fn world(&self) -> World {
        World::new(self.repo.sandbox.env().into_iter().collect(), self.dir.clone(), self.caution)
    }

    fn context(&self) -> GitContext {
        let mut env = self.world().env;
        env.extend(self.env.iter().map(|(name, value)| (OsString::from(name), value.clone())));
        GitContext { dir: self.dir.clone(), env, globals: self.globals.iter().map(OsString::from).collect() }
    }

    fn written_files(&self) -> Vec<WrittenFile> {
        let content = |bytes: Option<&str>| Content::of(bytes.map(|bytes| bytes.as_bytes().to_vec()));
        let written = self.written.iter();
        written.map(|(path, bytes)| WrittenFile::certainly(self.dir.join(path), content(*bytes))).collect()
    }

    fn request(&self, verb: CommitVerb, args: &[&str]) -> CommitRequest {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word != "?").then(|| OsString::from(word))).collect::<Vec<_>>();
        CommitRequest {
            git: self.context(),
            verb,
            args: words(args),
            steps: self
                .steps
                .iter()
                .map(|step| StagingStep {
                    git: self.context(),
                    verb: step[0].into(),
                    args: words(&step[1..]),
                    written: self.written_files(),
                    certain: true,
                    files_may_appear: true,
                })
                .collect(),
            written: self.written_files(),
            state: State::AsNow,
        }
    }

    fn payload(&self, args: &[&str]) -> Result<Payload, Fault> {
        let before = listing(&self.repo.sandbox.path(""));
        let payload = commit::payload(&self.world(), &self.request(CommitVerb::Commit, args));
        let after = listing(&self.repo.sandbox.path(""));
        let changed: Vec<_> = before.iter().filter(|(path, what)| after.get(*path) != Some(what)).collect();
        assert!(changed.is_empty() && before.len() == after.len(), "working it out changed {changed:?}");
        payload
    }

    fn git(&self, args: &[&str]) -> std::process::Output {
        let mut command = self.repo.sandbox.command("git");
        command.current_dir(&self.dir).envs(self.env.iter().cloned()).args(&self.globals).args(args);
        command.output().unwrap()
    }

    /// Does what the line says, and returns the blobs that the new commit has and no parent of it had
    /// among the changed files.
    fn really(&self, args: &[&str]) -> BTreeSet<String> {
        for (path, bytes) in &self.written {
            let path = self.dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes.unwrap()).unwrap();
        }
        for step in &self.steps {
            let output = self.git(step);
            assert!(output.status.success(), "{step:?}: {}", shown(&output));
        }
        let output = self.git(&[&["commit", "-q"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", shown(&output));
        let listed = self.git(&["diff-tree", "-r", "-c", "--root", "--raw", "--no-renames", "--no-abbrev", "HEAD"]);
        let listed = String::from_utf8(listed.stdout).unwrap();
        let (mut blobs, mut old) = (BTreeSet::new(), BTreeSet::new());
        for line in listed.lines().filter(|line| line.starts_with(':')) {
            let colons = line.bytes().take_while(|byte| *byte == b':').count();
            let fields: Vec<&str> = line.trim_start_matches(':').split_whitespace().collect();
            let (mode, oid) = (fields[colons], fields[2 * colons + 1]);
            if mode != "000000" && mode != "160000" {
                blobs.insert(oid.to_owned());
            }
            old.extend(fields[colons + 1..2 * colons + 1].iter().map(|oid| (*oid).to_owned()));
        }
        // What only moved is not new.
        blobs.difference(&old).cloned().collect()
    }

    /// The payload's blobs are those of the commit that git then makes, and it says that it is exact.
    fn is_exact(&self, args: &[&str]) {
        let payload = self.payload(args).unwrap();
        let blobs = blobs(&payload);
        let message = texts(&payload);
        let really = self.really(args);
        assert_eq!(blobs, really, "{args:?}: {:?} {:?}", payload.notes, payload.unseen);
        assert!(payload.exact, "{args:?} is not exact: {:?} {:?}", payload.notes, payload.unseen);
        let recorded = self.git(&["log", "-1", "--format=%B%n%an <%ae>%n%cn <%ce>"]);
        for line in String::from_utf8_lossy(&recorded.stdout).lines() {
            let own = line.strip_prefix("fixup! ").or(line.strip_prefix("Signed-off-by: ")).unwrap_or(line);
            assert!(message.contains(own), "{own:?} is not in {message:?}");
        }
    }
}

/// A repository with three tracked files, one of them staged anew, one changed and not staged, one
/// both, and an untracked file.
fn busy(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("r");
    repo.write("a/one", "1\n").write("a/two", "2\n").write("b/three", "3\n").write("gone", "g\n");
    repo.commit("base", "base\n");
    repo.write("a/one", "1 staged\n");
    repo.git(&["add", "a/one"]);
    repo.write("a/two", "2 changed\n");
    repo.write("b/three", "3 staged\n");
    repo.git(&["add", "b/three"]);
    repo.write("b/three", "3 changed\n");
    repo.write("new", "untracked\n");
    fs::remove_file(repo.dir.join("gone")).unwrap();
    repo
}

macro_rules! exact_forms {
    ($($name:ident: $args:expr;)*) => { $(
        #[test]
        fn $name() {
            let sandbox = Sandbox::new();
            let repo = busy(&sandbox);
            Attempt::new(&repo).is_exact(&$args);
        }
    )* };
}

exact_forms! {
    plain_commit_records_the_index: ["-m", "one\n\ntwo", "-m", "three"];
    all_records_the_work_tree_of_tracked_files: ["-am", "x"];
    all_spelled_short_in_a_bundle: ["-qam", "x"];
    all_abbreviated: ["--all", "--mes=x", "--am", "--allow-empty-mess"];
    paths_record_only_them: ["-m", "x", "a"];
    paths_between_options: ["a/two", "-m", "x"];
    only_is_said: ["-o", "-m", "x", "--", "a/two", "gone"];
    include_adds_to_the_index: ["-i", "-m", "x", "a/two"];
    dot_is_everything_tracked: ["-m", "x", "."];
    pathspec_from_the_top: ["-m", "x", ":/a"];
    pathspec_glob: ["-m", "x", ":(glob)**/t*"];
    pathspec_without_case: ["-m", "x", ":(icase)A/TWO"];
    pathspec_exclusion: ["-m", "x", ".", ":(exclude)b"];
    pathspec_exclusion_alone: ["-m", "x", ":!b"];
    amend_records_against_the_grandparent: ["--amend", "-m", "x"];
    amend_with_all_keeps_the_message: ["--amend", "--no-edit", "-a"];
    amend_only_records_the_old_tree: ["--amend", "-o", "-m", "x"];
    allow_empty_only_records_nothing: ["--allow-empty", "-o", "-m", "x"];
    identity_of_an_author: ["-m", "x", "--author", "Some One <one@example.invalid>"];
    trailers_are_message: ["-m", "x", "--trailer", "Seen-by: nobody"];
    signoff_is_an_identity: ["-s", "-m", "x"];
    fixup_takes_a_subject: ["--fixup", "HEAD"];
    reused_message: ["-C", "HEAD"];
    negated_all_is_the_index: ["-a", "--no-all", "-m", "x"];
    no_verify_changes_nothing: ["-n", "-m", "x"];
}

#[test]
fn commit_in_a_folder_takes_paths_from_there() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = repo.dir.join("a");
    attempt.is_exact(&["-m", "x", "two"]);
}

#[test]
fn commit_all_in_a_folder_takes_the_whole_tree() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = repo.dir.join("a");
    attempt.is_exact(&["-am", "x"]);
}

#[test]
fn pathspecs_from_a_file_are_read() {
    let sandbox = Sandbox::new();
    for (list, args) in [
        ("a/two\n\"b/\\164hree\"\r\n", &["-m", "x", "--pathspec-from-file=../list"][..]),
        ("a/two\0b/three\0", &["-m", "x", "--pathspec-from-file", "../list", "--pathspec-file-nul"]),
    ] {
        let sandbox_of_one = Sandbox::new();
        let repo = busy(&sandbox_of_one);
        fs::write(sandbox_of_one.path("list"), list).unwrap();
        Attempt::new(&repo).is_exact(args);
    }
    drop(sandbox);
}

#[test]
fn literal_pathspecs_of_the_environment_count() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.commit("a/*", "star\n");
    repo.write("a/*", "star changed\n").write("a/one", "one changed\n");
    let mut attempt = Attempt::new(&repo);
    attempt.env.push(("GIT_LITERAL_PATHSPECS", "1".into()));
    attempt.is_exact(&["-m", "x", "a/*"]);
}

#[test]
fn message_file_is_read_as_it_is() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::write(sandbox.path("message"), "subject\n\nbody\n").unwrap();
    Attempt::new(&repo).is_exact(&["-F", "../message"]);
}

#[test]
fn message_file_that_the_line_writes_is_known() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.written.push(("../message", Some("from the line\n")));
    attempt.is_exact(&["-F", "../message"]);
}

#[test]
fn configured_template_is_message() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::write(sandbox.path("home/template"), "from the template\n").unwrap();
    repo.git(&["config", "commit.template", "~/template"]);
    let payload = Attempt::new(&repo).payload(&[]).unwrap();
    assert!(texts(&payload).contains("from the template"));
}

#[test]
fn root_commit_records_everything() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("a", "a\n").write("d/b", "b\n");
    repo.git(&["add", "a", "d"]);
    Attempt::new(&repo).is_exact(&["-m", "x"]);
}

#[test]
fn amended_root_commit_records_everything() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "a\n");
    repo.write("a", "b\n");
    Attempt::new(&repo).is_exact(&["--amend", "-am", "x"]);
}

#[test]
fn symbolic_link_is_its_target() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    symlink("the/target/text", repo.dir.join("link")).unwrap();
    repo.git(&["add", "link"]);
    let attempt = Attempt::new(&repo);
    assert!(everything(&attempt.payload(&["-m", "x"]).unwrap()).contains("the/target/text"));
    attempt.is_exact(&["-m", "x"]);
}

#[test]
fn names_are_in_the_changed_trees() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.write("deep/down/telling-name", "");
    repo.git(&["add", "deep"]);
    let text = texts(&Attempt::new(&repo).payload(&["-m", "x"]).unwrap());
    assert!(text.contains("telling-name") && text.contains("down") && text.contains("deep"));
}

#[test]
fn name_that_is_not_text_is_recorded_too() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::write(repo.dir.join(OsString::from_vec(b"odd\n\t\"\xff".to_vec())), "odd\n").unwrap();
    repo.git(&["add", "-A"]);
    Attempt::new(&repo).is_exact(&["-m", "x"]);
}

#[test]
fn intent_to_add_is_recorded_only_with_all() {
    for args in [&["-m", "x"][..], &["-am", "x"]] {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        repo.git(&["add", "-N", "new"]);
        Attempt::new(&repo).is_exact(args);
    }
}

#[test]
fn skip_worktree_and_assume_unchanged_keep_their_staged_bytes() {
    for args in [&["-m", "x"][..], &["-am", "x"], &["-m", "x", "a/two", "b"]] {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        repo.git(&["update-index", "--skip-worktree", "a/two"]);
        repo.git(&["update-index", "--assume-unchanged", "b/three"]);
        Attempt::new(&repo).is_exact(args);
    }
}

#[test]
fn split_index_is_read_whole_and_left_alone() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.git(&["update-index", "--split-index"]);
    repo.write("c", "c\n");
    repo.git(&["add", "c"]);
    repo.git(&["config", "core.splitIndex", "true"]);
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn index_version_four_is_read() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.git(&["update-index", "--index-version", "4"]);
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn sparse_index_brings_its_hidden_trees() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write("in/one", "1\n").write("out/two", "2\n");
    repo.commit("base", "base\n");
    repo.write("out/two", "2 hidden\n");
    repo.git(&["add", "-A"]);
    let tree = repo.git(&["write-tree"]);
    repo.git(&["reset", "-q", "--hard"]);
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    repo.git(&["read-tree", &tree]);
    repo.write("in/one", "1 changed\n");
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn merge_in_progress_records_what_neither_side_has() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("f", "base\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("s", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("m", "main\n");
    repo.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    repo.write("f", "born in the merge\n");
    repo.git(&["add", "f"]);
    Attempt::new(&repo).is_exact(&["-m", "merge"]);
}

#[test]
fn message_of_a_squash_is_read() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("f", "base\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("s", "side\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "a private message"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--squash", "side"]);
    Attempt::new(&repo).is_exact(&["--no-edit"]);
}

#[test]
fn unmerged_paths_stop_a_commit_as_they_stop_git() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("f", "base\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("f", "side\n");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("f", "main\n");
    let attempt = Attempt::new(&repo);
    assert!(!attempt.git(&["merge", "-q", "side"]).status.success());
    assert!(matches!(attempt.payload(&["-m", "x"]), Err(Fault::GitRefuses(_))));
    repo.write("f", "resolved\n");
    attempt.is_exact(&["-am", "x"]);
}

#[test]
fn environment_names_index_and_work_tree() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::copy(repo.dir.join(".git/index"), sandbox.path("index")).unwrap();
    let mut attempt = Attempt::new(&repo);
    attempt.env.push(("GIT_INDEX_FILE", "../index".into()));
    repo.write("only-there", "x\n");
    assert!(attempt.git(&["add", "only-there"]).status.success());
    attempt.is_exact(&["-m", "x"]);

    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    fs::write(sandbox.path("elsewhere/base"), "from elsewhere\n").unwrap();
    let mut attempt = Attempt::new(&repo);
    attempt.env.extend([("GIT_DIR", ".git".into()), ("GIT_WORK_TREE", "../elsewhere".into())]);
    attempt.is_exact(&["-am", "x"]);
}

#[test]
fn global_options_name_the_repository() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = sandbox.path("home");
    attempt.globals = vec!["-C", "../r", "-c", "user.name=Some Body"];
    attempt.is_exact(&["-am", "x"]);
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = sandbox.path("");
    attempt.globals = vec!["--git-dir=r/.git", "--work-tree", "r"];
    attempt.is_exact(&["-am", "x"]);
}

#[test]
fn linked_work_tree_has_its_own_index() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = sandbox.path("linked");
    fs::write(sandbox.path("linked/base"), "changed there\n").unwrap();
    attempt.is_exact(&["-am", "x"]);
}

#[test]
fn sha256_repository_is_read() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "--object-format=sha256", "-b", "main", "r"]);
    let repo = Repo { sandbox: &sandbox, dir: sandbox.path("r") };
    repo.commit("a", "a\n");
    repo.write("a", "b\n");
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn reftable_repository_is_read() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "--ref-format=reftable", "-b", "main", "r"]);
    let repo = Repo { sandbox: &sandbox, dir: sandbox.path("r") };
    repo.commit("a", "a\n");
    repo.write("a", "b\n");
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn change_of_the_same_second_and_size_is_seen() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "one\n");
    let index = repo.dir.join(".git/index");
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let set = |path: &Path| fs::File::options().write(true).open(path).unwrap().set_modified(moment).unwrap();
    set(&repo.dir.join("a"));
    repo.git(&["add", "--refresh", "a"]);
    // A file as old as the index says nothing, so git reads it: a copy that looks younger would not.
    set(&index);
    repo.write("a", "two\n");
    set(&repo.dir.join("a"));
    repo.git(&["config", "core.trustctime", "false"]);
    Attempt::new(&repo).is_exact(&["-am", "x"]);
}

#[test]
fn line_ends_and_encodings_are_converted_as_git_does() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.u working-tree-encoding=UTF-16LE\n*.c ident\n");
    repo.write("a.txt", "a\r\n").write("b.c", "$Id$\n");
    repo.commit("base", "base\n");
    repo.write("a.txt", "a\r\nb\r\n").write("b.c", "$Id: hidden $\nc\n");
    let wide: Vec<u8> = "wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    repo.write("w.u", wide);
    let mut attempt = Attempt::new(&repo);
    attempt.steps.push(vec!["add", "-A"]);
    attempt.is_exact(&["-m", "x"]);
}

#[test]
fn clean_filter_runs_by_hand_and_never_in_the_gate() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let proof = sandbox.path("filter-ran");
    repo.git(&["config", "filter.a=b.clean", &format!("touch {}; tr a-z A-Z", proof.display())]);
    repo.git(&["config", "filter.a=b.required", "true"]);
    repo.write(".gitattributes", "*.x filter=a=b\n");
    repo.commit("f.x", "first\n");
    repo.write("f.x", "second\n");
    fs::remove_file(&proof).unwrap();
    let mut attempt = Attempt::new(&repo);
    attempt.caution = Caution::Gate;
    let payload = attempt.payload(&["-am", "x"]).unwrap();
    assert!(!proof.exists(), "the gate ran a filter");
    assert!(!payload.exact);
    assert!(everything(&payload).contains("second"), "the filter's input is not read");
    let request = Attempt::new(&repo).request(CommitVerb::Commit, &["-am", "x"]);
    let payload = commit::payload(&Attempt::new(&repo).world(), &request).unwrap();
    assert!(proof.exists());
    assert!(everything(&payload).contains("SECOND"));
    assert_eq!(blobs(&payload), Attempt::new(&repo).really(&["-am", "x"]));
}

#[test]
fn staged_blob_stays_when_the_gate_may_not_filter() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    repo.write(".gitattributes", "*.x filter=up\n");
    repo.commit("f.x", "first\n");
    repo.write("f.x", "staged\n");
    repo.git(&["add", "f.x"]);
    repo.write("f.x", "work tree\n");
    let mut attempt = Attempt::new(&repo);
    attempt.caution = Caution::Gate;
    let text = everything(&attempt.payload(&["-am", "x"]).unwrap());
    assert!(text.contains("STAGED") && text.contains("work tree"), "{text}");
}

#[test]
fn file_system_monitor_and_hooks_do_not_run() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let proof = sandbox.path("ran");
    let program = sandbox.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", proof.display())).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.git(&["config", "core.fsmonitor", program.to_str().unwrap()]);
    repo.git(&["config", "hook.x.command", program.to_str().unwrap()]);
    repo.git(&["config", "hook.x.event", "post-index-change"]);
    fs::create_dir_all(repo.dir.join(".git/hooks")).unwrap();
    for hook in ["pre-commit", "post-index-change", "prepare-commit-msg"] {
        fs::copy(&program, repo.dir.join(".git/hooks").join(hook)).unwrap();
    }
    for caution in [Caution::Gate, Caution::ByHand] {
        let mut attempt = Attempt::new(&repo);
        attempt.caution = caution;
        attempt.steps.push(vec!["add", "-A"]);
        let payload = attempt.payload(&["-am", "x"]).unwrap();
        assert!(!proof.exists());
        assert!(texts(&payload).contains("touch"), "a hook's text is part of what can be committed");
        assert!(!payload.exact);
    }
}

#[test]
fn unknown_words_widen_to_the_work_tree() {
    for args in [&["-m", "?"][..], &["?"], &["--unheard-of", "-m", "x"], &["-m", "x", "?"]] {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        let payload = Attempt::new(&repo).payload(args).unwrap();
        let text = everything(&payload);
        for part in ["1 staged", "2 changed", "3 staged", "3 changed"] {
            assert!(text.contains(part), "{args:?} lacks {part}");
        }
        assert!(!text.contains("untracked"));
        assert!(!payload.exact);
    }
}

#[test]
fn chosen_hunks_widen_to_index_and_work_tree() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let text = everything(&Attempt::new(&repo).payload(&["-p", "-m", "x"]).unwrap());
    assert!(text.contains("3 staged") && text.contains("3 changed"));
}

#[test]
fn dry_run_and_status_forms_record_nothing() {
    for args in [["--dry-run", "-am", "x"], ["--short", "-am", "x"], ["--porcelain", "-am", "x"], ["-am", "x", "--dry"]]
    {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        let payload = Attempt::new(&repo).payload(&args).unwrap();
        assert!(payload.is_empty() && payload.exact, "{args:?}");
        let before = repo.git(&["rev-parse", "HEAD"]);
        Attempt::new(&repo).git(&[&["commit", "-q"], &args[..]].concat());
        assert_eq!(before, repo.git(&["rev-parse", "HEAD"]), "{args:?} records something");
    }
}

macro_rules! steps {
    ($($name:ident: $steps:expr, $args:expr;)*) => { $(
        #[test]
        fn $name() {
            let sandbox = Sandbox::new();
            let repo = busy(&sandbox);
            let mut attempt = Attempt::new(&repo);
            attempt.steps = $steps;
            attempt.is_exact(&$args);
        }
    )* };
}

steps! {
    added_before_by_name: vec![vec!["add", "new"]], ["-m", "x"];
    everything_added_before: vec![vec!["add", "-A"]], ["-m", "x"];
    dot_added_before: vec![vec!["add", "."]], ["-m", "x"];
    updated_before: vec![vec!["add", "-u"]], ["-m", "x"];
    staged_by_its_other_name: vec![vec!["stage", "new"]], ["-m", "x"];
    added_without_removals: vec![vec!["add", "--ignore-removal", "."]], ["-m", "x"];
    intent_to_add_before: vec![vec!["add", "-N", "new"]], ["-m", "x"];
    intent_to_add_before_all: vec![vec!["add", "-N", "new"]], ["-am", "x"];
    made_executable: vec![vec!["add", "--chmod=+x", "new"]], ["-m", "x"];
    dry_add_adds_nothing: vec![vec!["add", "-n", "new"]], ["-m", "x"];
    removed_from_the_index: vec![vec!["rm", "-q", "--cached", "a/one"]], ["-m", "x"];
    removed_and_added_again: vec![vec!["rm", "-rq", "-f", "a"], vec!["add", "-A"]], ["-m", "x"];
    unstaged_before: vec![vec!["restore", "--staged", "a/one"]], ["-m", "x"];
    restored_before_all: vec![vec!["restore", "a/two"]], ["-am", "x"];
    entered_by_id: vec![vec!["update-index", "--add", "new"]], ["-m", "x"];
    renamed_before: vec![vec!["mv", "base", "basis"]], ["-m", "x"];
    renamed_folder_before_all: vec![vec!["mv", "a", "c"]], ["-am", "x"];
}

#[test]
fn reset_and_checkout_before_are_covered() {
    for (steps, args) in [
        (vec![vec!["reset", "-q"]], vec!["-m", "x", "--allow-empty"]),
        (vec![vec!["reset", "-q", "a/one"]], vec!["-m", "x", "--allow-empty"]),
        (vec![vec!["reset", "-q", "--soft", "HEAD~1"]], vec!["-m", "x"]),
        (vec![vec!["reset", "-q", "--hard"]], vec!["-am", "x", "--allow-empty"]),
        (vec![vec!["checkout", "-q", "--", "a/two"]], vec!["-am", "x"]),
        (vec![vec!["checkout", "-q", "HEAD~1", "--", "first"]], vec!["-am", "x"]),
        (vec![vec!["checkout", "-q", "-b", "other"]], vec!["-am", "x"]),
    ] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("r");
        repo.commit("first", "first\n");
        repo.write("a/one", "1\n").write("a/two", "2\n");
        repo.commit("first", "second\n");
        repo.write("a/one", "1 staged\n");
        repo.git(&["add", "-A"]);
        repo.write("a/two", "2 changed\n");
        let mut attempt = Attempt::new(&repo);
        attempt.steps = steps.clone();
        let payload = attempt.payload(&args).unwrap();
        let really = attempt.really(&args);
        assert_eq!(blobs(&payload), really, "{steps:?}: {:?}", payload.notes);
    }
}

#[test]
fn ignored_files_are_taken_only_by_force() {
    for (step, there) in
        [(vec!["add", "-A"], false), (vec!["add", "-f", "."], true), (vec!["add", "-f", "k.env"], true)]
    {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        repo.write(".gitignore", "*.env\n").write("k.env", "ignored\n");
        let mut attempt = Attempt::new(&repo);
        attempt.steps = vec![step.clone()];
        assert_eq!(everything(&attempt.payload(&["-m", "x"]).unwrap()).contains("ignored"), there, "{step:?}");
        attempt.is_exact(&["-m", "x"]);
    }
}

#[test]
fn unknown_words_of_add_take_every_file() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.steps = vec![vec!["add", "?"]];
    let payload = attempt.payload(&["-m", "x"]).unwrap();
    assert!(everything(&payload).contains("untracked") && !payload.exact);
}

#[test]
fn file_that_the_line_writes_and_adds_is_exact() {
    for (steps, args) in [
        (vec![vec!["add", "f"]], vec!["-m", "x"]),
        (vec![vec!["add", "."]], vec!["-m", "x"]),
        (vec![vec!["add", "-A"]], vec!["-m", "x"]),
        (vec![vec!["add", "f", "new"]], vec!["-m", "x"]),
        (vec![vec!["add", "base"]], vec!["-m", "x"]),
        (vec![], vec!["-am", "x"]),
        (vec![], vec!["-m", "x", "base"]),
        (vec![], vec!["-i", "-m", "x", "base"]),
        (vec![], vec!["-m", "x"]),
    ] {
        let sandbox = Sandbox::new();
        let repo = busy(&sandbox);
        let mut attempt = Attempt::new(&repo);
        attempt.written = vec![("f", Some("written\n")), ("base", Some("written over\n")), ("sub/g", Some("deep\n"))];
        attempt.steps = steps;
        attempt.is_exact(&args);
    }
}

#[test]
fn written_file_that_is_ignored_is_not_taken() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.write(".gitignore", "*.env\n");
    let mut attempt = Attempt::new(&repo);
    attempt.written = vec![("k.env", Some("ignored\n"))];
    attempt.steps = vec![vec!["add", "."]];
    attempt.is_exact(&["-m", "x"]);
}

#[test]
fn file_that_is_written_with_unknown_bytes_is_unseen() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.written = vec![("f", None)];
    attempt.steps = vec![vec!["add", "f"]];
    let payload = attempt.payload(&["-m", "x"]).unwrap();
    assert!(!payload.exact && payload.unseen.iter().any(|what| what.as_str().contains('f')), "{payload:?}");
}

#[test]
fn file_that_is_not_there_yet_is_unseen_and_the_others_are_taken() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.steps = vec![vec!["add", "later", "new"]];
    let payload = attempt.payload(&["-m", "x"]).unwrap();
    assert!(everything(&payload).contains("untracked"));
    assert!(payload.unseen.iter().any(|what| what.as_str().contains("later")));
}

#[test]
fn repository_that_the_line_makes_is_staged_in_advance() {
    let sandbox = Sandbox::new();
    let repo = Repo { sandbox: &sandbox, dir: sandbox.path("r") };
    fs::create_dir(&repo.dir).unwrap();
    repo.write("a", "a\n").write("d/b", "b\n");
    let mut attempt = Attempt::new(&repo);
    attempt.steps = vec![vec!["add", "."]];
    let payload = attempt.payload(&["-m", "x"]).unwrap();
    repo.git(&["init", "-q"]);
    assert_eq!(blobs(&payload), attempt.really(&["-m", "x"]));
}

#[test]
fn directory_that_the_line_makes_is_no_obstacle() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = repo.dir.join("made/here");
    attempt.written = vec![("f", Some("written\n"))];
    attempt.steps = vec![vec!["add", "f"]];
    let payload = attempt.payload(&["-m", "x"]).unwrap();
    fs::create_dir_all(&attempt.dir).unwrap();
    assert_eq!(blobs(&payload), attempt.really(&["-m", "x"]));
}

#[test]
fn bare_repository_makes_no_commit() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    let mut attempt = Attempt::new(&repo);
    attempt.dir = sandbox.path("r.git");
    assert!(matches!(attempt.payload(&["-m", "x"]), Err(Fault::GitRefuses(_))));
}

#[test]
fn trailer_commands_run_by_hand_only() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.git(&["config", "trailer.made.cmd", "printf 'by-%s' program"]);
    let mut attempt = Attempt::new(&repo);
    let args = ["-m", "x", "--trailer", "made"];
    assert!(texts(&attempt.payload(&args).unwrap()).contains("by-program"));
    attempt.caution = Caution::Gate;
    let payload = attempt.payload(&args).unwrap();
    assert!(!texts(&payload).contains("by-program") && !payload.unseen.is_empty());
}

#[test]
fn status_names_stay_in_a_message_that_is_not_stripped() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    repo.write("telling-untracked-name", "x\n");
    let payload = Attempt::new(&repo).payload(&["-e", "-m", "x", "--cleanup=whitespace"]).unwrap();
    assert!(texts(&payload).contains("telling-untracked-name"));
}

#[test]
fn other_commit_makers_are_bounded() {
    for (verb, args) in [
        ("merge", vec!["-q", "--no-ff", "--no-edit", "side"]),
        ("cherry-pick", vec!["side"]),
        ("revert", vec!["--no-edit", "HEAD"]),
        ("rebase", vec!["-q", "side"]),
        ("merge", vec!["-q", "--no-edit", "?"]),
    ] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("r");
        repo.commit("f", "1\n2\n3\n4\n5\n");
        repo.git(&["checkout", "-q", "-b", "side"]);
        repo.commit("f", "1\n2\n3\n4\nfrom side\n");
        repo.git(&["checkout", "-q", "main"]);
        repo.commit("f", "from main\n2\n3\n4\n5\n");
        let attempt = Attempt::new(&repo);
        let request = attempt.request(CommitVerb::Other(verb.into()), &args);
        let payload = commit::payload(&attempt.world(), &request).unwrap();
        let text = everything(&payload);
        let before = repo.git(&["show", "HEAD:f"]);
        let known: Vec<&str> = args.iter().map(|word| if *word == "?" { "side" } else { *word }).collect();
        let output = attempt.git(&[&[verb], &known[..]].concat());
        assert!(output.status.success(), "{}", shown(&output));
        let after = repo.git(&["show", "HEAD:f"]);
        assert_ne!(before, after, "{verb} records nothing");
        for line in after.lines().filter(|line| !before.lines().any(|old| old == *line)) {
            assert!(text.contains(line), "{verb} {args:?}: {line:?} is not in the payload");
        }
    }
}

#[test]
fn commits_that_are_made_anew_are_no_news() {
    for (verb, args) in [("rebase", ["-q", "HEAD~1"]), ("pull", ["-q", "--no-rebase"])] {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("r");
        repo.commit("f", "base\n");
        repo.git(&["push", "-q", "-u", "origin", "main"]);
        repo.commit("f", "to be taken out\n");
        repo.commit("f", "clean\n");
        let attempt = Attempt::new(&repo);
        let request = attempt.request(CommitVerb::Other(verb.into()), &args);
        let text = everything(&commit::payload(&attempt.world(), &request).unwrap());
        assert!(!text.contains("to be taken out") && !text.contains("clean"), "{verb}: {text}");
    }
}

#[test]
fn revert_brings_back_what_was_taken_out() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("f", "taken out\n");
    repo.commit("f", "clean\n");
    repo.git(&["push", "-q", "origin", "main"]);
    let attempt = Attempt::new(&repo);
    let request = attempt.request(CommitVerb::Other("revert".into()), &["--no-edit", "HEAD"]);
    assert!(everything(&commit::payload(&attempt.world(), &request).unwrap()).contains("taken out"));
}

#[test]
fn note_and_tag_messages_are_read_from_words_files_and_objects() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::write(sandbox.path("text"), "from a file\n").unwrap();
    let attempt = Attempt::new(&repo);
    let text = |verb: &str, args: &[&str]| {
        let request = attempt.request(CommitVerb::Other(verb.into()), args);
        everything(&commit::payload(&attempt.world(), &request).unwrap())
    };
    assert!(text("tag", &["-a", "v1", "-m", "the words"]).contains("the words"));
    assert!(text("tag", &["-a", "v1", "-F", "../text"]).contains("from a file"));
    assert!(text("notes", &["add", "-C", "HEAD:base"]).contains("base\n"));
}

#[test]
fn name_of_a_new_submodule_is_read_and_its_files_are_not() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    sandbox.git("", &["init", "-q", "-b", "main", "r/telling-submodule"]);
    let inner = Repo { sandbox: &sandbox, dir: sandbox.path("r/telling-submodule") };
    inner.commit("f", "inner content\n");
    repo.git(&["add", "telling-submodule"]);
    repo.git(&["reset", "-q", "--", "a", "b"]);
    let attempt = Attempt::new(&repo);
    let text = everything(&attempt.payload(&["-m", "x"]).unwrap());
    assert!(text.contains("telling-submodule") && !text.contains("inner content"), "{text}");
    attempt.is_exact(&["-m", "x"]);
}

#[test]
fn filter_of_a_submodule_does_not_run_in_the_gate() {
    let sandbox = Sandbox::new();
    sandbox.repo("inner").commit("f.x", "inner\n");
    let repo = busy(&sandbox);
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../inner", "sub"]);
    repo.git(&["commit", "-q", "-m", "submodule"]);
    let sub = Repo { sandbox: &sandbox, dir: sandbox.path("r/sub") };
    let proof = sandbox.path("filter-ran");
    sub.git(&["config", "filter.up.clean", &format!("touch {}; cat", proof.display())]);
    sub.write(".gitattributes", "*.x filter=up\n").write("f.x", "other\n");
    assert!(Attempt::new(&repo).git(&["status"]).status.success());
    assert!(proof.exists(), "the filter is not set up as meant");
    fs::remove_file(&proof).unwrap();
    sub.write("f.x", "again\n");
    let mut attempt = Attempt::new(&repo);
    attempt.caution = Caution::Gate;
    attempt.payload(&["-am", "x"]).unwrap();
    assert!(!proof.exists(), "the gate ran a submodule's filter");
}

#[test]
fn script_that_signs_is_read_where_commits_are_signed() {
    let sandbox = Sandbox::new();
    let repo = busy(&sandbox);
    fs::write(sandbox.path("signer"), "#!/bin/sh\necho a telling signature\n").unwrap();
    repo.git(&["config", "gpg.program", sandbox.path("signer").to_str().unwrap()]);
    let text = |args: &[&str]| texts(&Attempt::new(&repo).payload(args).unwrap());
    assert!(text(&["-S", "-m", "x"]).contains("a telling signature"));
    assert!(!text(&["-m", "x"]).contains("a telling signature"));
    repo.git(&["config", "commit.gpgSign", "true"]);
    assert!(text(&["-m", "x"]).contains("a telling signature"));
    assert!(!text(&["--no-gpg-sign", "-m", "x"]).contains("a telling signature"));
}
