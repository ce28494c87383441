//! What simple commands mean: options and aliases as git reads them, and what each verb publishes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use tyran::command::alias::{self, Alias};
use tyran::command::git_table::grammar;
use tyran::command::meaning::Meaning;
use tyran::command::options::Arg;
use tyran::command::plan::{CommitVerb, Plan, Publish, PushVia, State};
use tyran::command::simple::{
    Certainty, Code, Dir, Effect, Env, EnvChange, FileSeen, Program, ShellState, SimpleCommand, Stdin, Value, Verbs,
};
use tyran::world::World;

use crate::support::Sandbox;

/// A walk that knows nothing but the commands it is given, one after another.
struct Line {
    world: World,
    meaning: Meaning,
    plan: Plan,
    env: Vec<(OsString, EnvChange)>,
    nested: Vec<Code>,
}

impl ShellState for World2<'_> {
    fn world(&self) -> &World {
        self.0
    }
    fn file(&self, _path: &Path) -> FileSeen {
        FileSeen::AsOnDisk
    }
    fn written(&self) -> Vec<tyran::command::plan::WrittenFile> {
        Vec::new()
    }
    fn anything_may_have_changed(&self) -> bool {
        false
    }
}

struct World2<'a>(&'a World);

impl Line {
    fn new(world: World) -> Self {
        let plan = Plan::empty();
        Self { world, meaning: Meaning::new(), plan, env: Vec::new(), nested: Vec::new() }
    }

    fn with(mut self, name: &str, change: EnvChange) -> Self {
        self.env.push((name.into(), change));
        self
    }

    /// Runs one command; commands that it starts without a shell are run in turn.
    fn run(mut self, line: &str) -> Self {
        let words = shell_words::split(line).unwrap();
        self.step(words.into_iter().map(|word| Value::Known(word.into())).collect());
        self
    }

    fn step(&mut self, words: Vec<Value>) -> Effect {
        let mut env = Env::of_world(&self.world);
        for (name, change) in &self.env {
            env.change(name.clone(), change.clone());
        }
        let command = SimpleCommand {
            words,
            program: Program::ByName,
            redirections: Vec::new(),
            stdin: Stdin::Inherited,
            input_made_of: None,
            span: 0..0,
            dir: Dir::Known(self.world.cwd.clone()),
            env,
            certainty: Certainty::Always,
            chain: 0,
            pasted: Vec::new(),
            wrappers: Vec::new(),
        };
        let effect = self.meaning.simple(&command, &World2(&self.world), &mut self.plan);
        self.nested.extend(effect.run_as_now.iter().chain(&effect.run).map(|nested| nested.code.clone()));
        effect
    }

    fn pushes(&self) -> Vec<Vec<String>> {
        self.plan
            .publishes
            .iter()
            .filter_map(|publish| match publish {
                Publish::Push(push) => Some(shown(&push.args)),
                Publish::Commit(_) | Publish::Upload(_) | Publish::Widest(_) => None,
            })
            .collect()
    }

    fn commits(&self) -> usize {
        self.plan.publishes.iter().filter(|publish| matches!(publish, Publish::Commit(_))).count()
    }

    fn is_quiet(&self) -> bool {
        self.plan.publishes.is_empty() && self.plan.unknown.is_empty() && self.plan.opaque.is_empty()
    }
}

fn shown(args: &[Option<OsString>]) -> Vec<String> {
    args.iter()
        .map(|word| word.as_ref().map_or_else(|| "?".into(), |word| word.to_string_lossy().into_owned()))
        .collect()
}

fn repository() -> (Sandbox, World) {
    let sandbox = Sandbox::new();
    sandbox.repo("r").commit("a", "a");
    let world = sandbox.world("r");
    (sandbox, world)
}

fn on(line: &str) -> (Sandbox, Line) {
    let (sandbox, world) = repository();
    (sandbox, Line::new(world).run(line))
}

#[test]
fn a_prefix_of_an_option_is_one_here_exactly_when_it_is_one_for_git() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "e"]);
    for verb in ["push", "commit", "merge", "rebase", "am", "tag"] {
        let listed = sandbox
            .command("git")
            .current_dir(sandbox.path("e"))
            .args([verb, "--git-completion-helper-all"])
            .output()
            .unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        for option in listed.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
            let name = option.trim_end_matches('=');
            for end in 1..=name.len() {
                let Some(prefix) = name.get(..end) else { continue };
                let word = format!("--{prefix}");
                let output = sandbox
                    .command("git")
                    .current_dir(sandbox.path("e"))
                    .args([verb, &word, "--zzz"])
                    .stdin(std::process::Stdio::null())
                    .output()
                    .unwrap();
                let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
                let refused = complaint.contains(&format!("unknown option `{prefix}'"))
                    || complaint.contains(&format!("ambiguous option: {prefix} "));
                let read = grammar(verb).read(&[Arg::Known(word.clone().into())], true);
                assert_eq!(!read.unrecognised.is_empty(), refused, "git {verb} {word}: {complaint}");
            }
        }
    }
}

#[test]
fn an_alias_is_taken_apart_as_git_takes_it_apart() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "e"]);
    for value in [
        "rev-parse --sq-quote a b",
        "rev-parse --sq-quote 'a b' \"c d\"",
        r#"rev-parse --sq-quote a\ b "c\"d" 'e\f'"#,
        "rev-parse\t--sq-quote   x",
        r#"rev-parse --sq-quote a""b '' c"#,
    ] {
        let asked = sandbox.git("e", &["-c", &format!("alias.x={value}"), "x"]);
        let Alias::Words(words) = alias::read(value.as_bytes().as_bstr()) else { panic!("{value}") };
        let expected: Vec<String> = shell_words::split(&asked).unwrap();
        let found: Vec<String> = words.iter().skip(2).map(|word| word.to_string()).collect();
        assert_eq!(found, expected, "{value}");
    }
    assert_eq!(alias::read(b"push 'open".as_bstr()), Alias::Refused);
}

#[test]
fn a_push_is_found_behind_every_global_option() {
    for line in [
        "git push",
        "git -C . push",
        "git --git-dir=.git push",
        "git --git-dir .git --work-tree . push",
        "git -c core.pager=cat -p --no-pager push",
        "git --no-replace-objects --literal-pathspecs --namespace n --attr-source=HEAD push",
        "git-push",
    ] {
        let (_sandbox, line_seen) = on(line);
        assert_eq!(line_seen.pushes(), [Vec::<String>::new()], "{line}");
    }
}

#[test]
fn words_that_only_look_like_a_push_publish_nothing() {
    for line in [
        "git --help push",
        "git push --help",
        "git push -h",
        "git --no-such-option push",
        "git -ccore.pager=cat push",
        "git stash push",
        "git log --grep=push",
        "git commit --dry-run -m x",
        "git config alias.p push",
        "git push-to-prod",
        "git merge --abort",
        "git tag -l push",
        "echo git push",
    ] {
        let (_sandbox, line_seen) = on(line);
        assert!(line_seen.is_quiet(), "{line}: {:?}", line_seen.plan);
    }
}

#[test]
fn aliases_of_every_scope_lead_to_their_verb() {
    let (sandbox, world) = repository();
    let repo = sandbox.path("r");
    sandbox.git(&repo, &["config", "alias.local", "push -q"]);
    sandbox.git(&repo, &["config", "--global", "alias.user", "local --tags"]);
    sandbox.git(&repo, &["config", "alias.status", "push"]);
    assert_eq!(Line::new(world.clone()).run("git user x").pushes(), [["-q", "--tags", "x"]]);
    assert_eq!(Line::new(world.clone()).run("git -c alias.x=local x").pushes(), [["-q"]]);
    assert_eq!(Line::new(world.clone()).run("git LOCAL").pushes(), [["-q"]]);
    assert!(Line::new(world.clone()).run("git status").is_quiet());
    let line = Line::new(world.clone()).with("A", EnvChange::Set("push".into()));
    assert_eq!(line.run("git --config-env=alias.x=A x").pushes().len(), 1);
    let line = Line::new(world).with("GIT_CONFIG_PARAMETERS", EnvChange::Set("'alias.x'='push'".into()));
    assert_eq!(line.run("git x").pushes().len(), 1);
}

#[test]
fn a_shell_alias_is_handed_back_to_the_walk_with_its_words() {
    let (sandbox, world) = repository();
    sandbox.git("r", &["config", "alias.ship", "!git push"]);
    let line = Line::new(world).run("git ship a 'b c'");
    let expected = Code::Shell {
        text: Value::Known("git push \"$@\"".into()),
        args: ["git push", "a", "b c"].map(|word| Value::Known(word.into())).into(),
    };
    assert_eq!(format!("{:?}", line.nested), format!("{:?}", [expected]));
}

#[test]
fn aliases_that_stand_for_each_other_come_to_an_end() {
    let (sandbox, world) = repository();
    sandbox.git("r", &["config", "alias.a", "b"]);
    sandbox.git("r", &["config", "alias.b", "a"]);
    assert!(Line::new(world).run("git a").is_quiet());
}

#[test]
fn an_alias_that_the_line_sets_is_known_to_its_later_commands() {
    let (_sandbox, world) = repository();
    assert_eq!(Line::new(world).run("git config alias.z push").run("git z").pushes().len(), 1);
}

#[test]
fn a_mistake_that_git_would_mend_is_a_push() {
    let (sandbox, world) = repository();
    assert!(Line::new(world.clone()).run("git psuh").is_quiet());
    sandbox.git("r", &["config", "help.autocorrect", "immediate"]);
    assert!(!Line::new(world).run("git psuh").pushes().is_empty());
}

#[test]
fn every_spelling_that_leaves_hooks_out_is_a_bypass() {
    for line in [
        "git push --no-verify",
        "git push origin main --no-veri",
        "git commit -n -m x",
        "git commit -anm x",
        "git commit --no-verif -m x",
        "git merge --no-verify x",
        "git am -n x",
        "git -c core.hooksPath=/dev/null push",
        "git -c CORE.HOOKSPATH=x commit -m x",
        "git -c hook.x.enabled=false push",
        "git config core.hooksPath /dev/null",
        "git config --unset core.hooksPath",
        "git config set core.hookspath x",
    ] {
        let (_sandbox, seen) = on(line);
        assert!(!seen.plan.bypass.is_empty(), "{line}");
    }
}

#[test]
fn what_reads_like_a_bypass_and_is_none_passes() {
    for line in [
        "git commit -m --no-verify",
        "git commit -m 'run git push --no-verify'",
        "git commit -m x -- --no-verify",
        "git config core.hooksPath",
        "git config --get core.hooksPath",
        "git config get core.hooksPath",
        "git push --verify",
        "git push --no-verify --verify",
        "git push -n",
        "git merge -n x",
        "git push --force",
        "git -c core.hooksPath=x status",
        "git log --no-verify",
        "grep -- --no-verify file",
    ] {
        let (_sandbox, seen) = on(line);
        assert!(seen.plan.bypass.is_empty(), "{line}: {:?}", seen.plan.bypass);
    }
}

#[test]
fn an_environment_that_hides_the_configuration_is_a_bypass_only_where_something_is_published() {
    for (name, value) in [("HOME", "/nowhere"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("HUSKY", "0"), ("SKIP", "lint")] {
        let (_sandbox, world) = repository();
        let hidden =
            |line: &str| Line::new(world.clone()).with(name, EnvChange::Set(value.into())).run(line).plan.bypass.len();
        assert_eq!(hidden("git push"), 1, "{name}");
        assert_eq!(hidden("git status"), 0, "{name}");
    }
    let (_sandbox, world) = repository();
    let home = world.var("HOME").unwrap().to_owned();
    let same = Line::new(world).with("HOME", EnvChange::Set(home)).run("git push");
    assert!(same.plan.bypass.is_empty());
}

#[test]
fn a_push_after_a_commit_stays_exact_and_the_commit_knows_what_is_staged() {
    let (_sandbox, world) = repository();
    let line = Line::new(world).run("git add a b").run("git commit -m m").run("git push");
    let [Publish::Commit(commit), Publish::Push(push)] = line.plan.publishes.as_slice() else { panic!() };
    assert_eq!(commit.verb, CommitVerb::Commit);
    assert_eq!(commit.state, State::AsNow);
    assert_eq!(commit.steps.iter().map(|step| step.verb.clone()).collect::<Vec<_>>(), ["add"]);
    assert_eq!(push.state, State::AsNow);
}

#[test]
fn a_push_of_a_branch_that_the_line_makes_is_one_of_what_it_stands_for() {
    let (sandbox, world) = repository();
    let line = Line::new(world.clone()).run("git checkout -q -b feat").run("git push -u origin feat");
    assert_eq!(line.pushes(), [["-u", "origin", "HEAD:refs/heads/feat"]]);
    let line = Line::new(world.clone()).run("git tag v1").run("git push origin tag v1");
    assert_eq!(line.pushes(), [["origin", "HEAD:refs/tags/v1"]]);
    let line = Line::new(world.clone()).run("git tag v1").run("git push --tags origin");
    assert_eq!(line.pushes().last().unwrap(), &["origin", "HEAD:refs/tags/v1"]);
    let line = Line::new(world.clone()).run("git switch -c feat").run("git push");
    assert_eq!(line.pushes().last().unwrap(), &["origin", "HEAD:refs/heads/feat"]);
    let line = Line::new(world.clone()).run("git tag v1").run("git push --tags");
    assert_eq!(line.pushes().last().unwrap(), &["origin", "HEAD:refs/tags/v1"]);
    sandbox.git("r", &["remote", "add", "other", "/nowhere"]);
    let line = Line::new(world).run("git switch -c feat").run("git push");
    assert!(
        line.plan.publishes.iter().any(|publish| matches!(publish, Publish::Push(push) if push.state != State::AsNow))
    );
}

#[test]
fn a_push_after_a_change_of_configuration_counts_nothing_as_published() {
    let (_sandbox, world) = repository();
    for first in ["git remote add x /x", "git config remote.origin.pushurl /x", "git remote set-url origin /x"] {
        let line = Line::new(world.clone()).run(first).run("git push");
        let [Publish::Push(push)] = line.plan.publishes.as_slice() else { panic!() };
        assert_eq!(push.state, State::Changed, "{first}");
    }
}

#[test]
fn the_other_side_that_reads_from_here_is_a_publish() {
    let (sandbox, world) = repository();
    let bare = sandbox.path("r.git");
    let line = Line::new(world.clone()).run(&format!(
        "git --git-dir={} fetch {} main",
        bare.display(),
        sandbox.path("r").display()
    ));
    let [Publish::Push(push)] = line.plan.publishes.as_slice() else { panic!("{:?}", line.plan) };
    assert_eq!(push.via, PushVia::OtherSide);
    assert_eq!(push.git.dir, sandbox.path("r"));
    let clone = Line::new(world.clone()).run("git clone -q --bare . ../copy.git");
    assert_eq!(clone.plan.publishes.len(), 1);
    assert!(Line::new(world.clone()).run("git fetch origin").is_quiet());
    assert!(Line::new(world).run("git clone -q https://example.invalid/x.git").is_quiet());
}

#[test]
fn a_verb_that_nobody_knows_takes_everything_of_its_repository() {
    let (_sandbox, world) = repository();
    let mut line = Line::new(world);
    let unknown = Value::Unknown(tyran::command::simple::UnknownValue {
        between: BString::default(),
        why: "$X".into(),
        span: 0..0,
        prefix: BString::default(),
        suffix: BString::default(),
        many: false,
    });
    line.step(vec![Value::Known("git".into()), unknown]);
    assert!(matches!(line.plan.publishes.as_slice(), [Publish::Widest(_)]));
    assert!(line.plan.unknown.is_empty());
}

#[test]
fn a_setting_that_names_a_program_hands_it_to_the_walk() {
    let (sandbox, world) = repository();
    sandbox.git("r", &["config", "core.fsmonitor", "git push;:"]);
    let line = Line::new(world.clone()).run("git status");
    assert_eq!(line.nested.len(), 1);
    sandbox.git("r", &["config", "core.fsmonitor", "true"]);
    assert!(Line::new(world).run("git status").nested.is_empty());
}

#[test]
fn a_hook_that_is_there_is_handed_to_the_walk() {
    let (sandbox, world) = repository();
    let hook = sandbox.path("r/.git/hooks/post-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ngit push\n").unwrap();
    assert!(Line::new(world.clone()).run("git commit -m x").nested.is_empty());
    let mut mode = hook.metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let line = Line::new(world).run("git commit -m x");
    assert_eq!(line.commits(), 1);
    let [Code::Argv(words)] = line.nested.as_slice() else { panic!() };
    assert_eq!(words.first(), Some(&Value::Known(hook.to_str().unwrap().into())));
}

#[test]
fn forges_send_files_texts_and_branches() {
    let (_sandbox, world) = repository();
    let upload = |line: &str| {
        let seen = Line::new(world.clone()).run(line);
        let files: Vec<PathBuf> = seen
            .plan
            .publishes
            .iter()
            .filter_map(|publish| match publish {
                Publish::Upload(upload) => Some(upload.files.clone()),
                Publish::Push(_) | Publish::Commit(_) | Publish::Widest(_) => None,
            })
            .flatten()
            .collect();
        (files, seen)
    };
    for line in [
        "gh gist create a",
        "gh release create v1 a --notes n",
        "gh issue create -F a -t t",
        "gh api x -F body=@a",
        "gh release upload v1 'a#label'",
        "glab snippet create a",
    ] {
        assert_eq!(upload(line).0, [world.cwd.join("a")], "{line}");
    }
    assert_eq!(upload("gh pr create --fill").1.pushes(), [["--set-upstream", "origin", "HEAD"]]);
    assert!(upload("gh pr create --head x --title t").1.pushes().is_empty());
    assert_eq!(upload("gh repo create x --push --source .").1.pushes().len(), 1);
    for line in [
        "gh pr list",
        "gh pr checkout 1",
        "gh api repos/o/r",
        "gh workflow run x.yml",
        "gh repo view",
        "gh repo create x --private",
        "gh auth status",
    ] {
        assert!(upload(line).1.is_quiet(), "{line}");
    }
    assert!(!upload("gh some-extension").1.plan.opaque.is_empty());
}

#[test]
fn package_clients_publish_and_build_tools_do_not() {
    let (_sandbox, world) = repository();
    for line in [
        "npm publish",
        "cargo publish",
        "twine upload dist/x.whl",
        "uv publish",
        "docker push x",
        "yarn npm publish",
        "cargo release",
        "npm version patch",
        "jj git push",
        "gt submit",
    ] {
        assert!(!Line::new(world.clone()).run(line).plan.publishes.is_empty(), "{line}");
    }
    for line in [
        "npm install",
        "npm publish --dry-run",
        "cargo build",
        "cargo test",
        "docker build .",
        "pip install x",
        "jj log",
        "make",
        "go test ./...",
    ] {
        let seen = Line::new(world.clone()).run(line);
        assert!(seen.plan.publishes.is_empty() && seen.plan.unknown.is_empty(), "{line}");
    }
}

#[test]
fn what_would_change_tyran_hosts_or_hooks_is_tampering() {
    let (_sandbox, world) = repository();
    for line in [
        "rm -rf .git/hooks",
        "mv .git/hooks/pre-push /tmp/x",
        "cp x .git/hooks/pre-push",
        "chmod -x .git/hooks/pre-push",
        "cp x .claude/settings.json",
        "rm .claude/../.cursor/hooks.json",
        "tee .github/hooks/x.json",
        "tyran uninstall",
        "tyran allow x --reason y",
    ] {
        assert!(!Line::new(world.clone()).run(line).plan.tamper.is_empty(), "{line}");
    }
    for line in [
        "cat .git/hooks/pre-push",
        "chmod -x .git/hooks/pre-push.sample",
        "rm -rf target",
        "tyran doctor",
        "tyran scan-push",
        "cp a b",
        "ls .claude",
    ] {
        assert!(Line::new(world.clone()).run(line).plan.tamper.is_empty(), "{line}");
    }
}

#[test]
fn a_copy_of_git_is_git() {
    let (sandbox, world) = repository();
    let git = world.git_program().unwrap().to_owned();
    std::fs::copy(&git, sandbox.path("r/harmless")).unwrap();
    let mut line = Line::new(world.clone());
    let words = ["./harmless", "push"].map(|word| Value::Known(word.into())).into();
    let command = SimpleCommand {
        words,
        program: Program::File(sandbox.path("r/harmless")),
        redirections: Vec::new(),
        stdin: Stdin::Inherited,
        input_made_of: None,
        span: 0..0,
        dir: Dir::Known(world.cwd.clone()),
        env: Env::of_world(&world),
        certainty: Certainty::Always,
        chain: 0,
        pasted: Vec::new(),
        wrappers: Vec::new(),
    };
    let _ = line.meaning.simple(&command, &World2(&world), &mut line.plan);
    assert_eq!(line.pushes().len(), 1);
}

#[test]
fn a_push_that_names_old_refs_is_the_same_whatever_is_checked_out() {
    let (sandbox, world) = repository();
    sandbox.git("r", &["branch", "side"]);
    let branches = std::cell::RefCell::new(Vec::<BString>::new());
    let state_of = |first: &str, push: &str| {
        let line = Line::new(world.clone()).run(first).run(push);
        match line.plan.publishes.last() {
            Some(Publish::Push(push)) => {
                branches.borrow_mut().extend(push.moved_to.branch.clone());
                push.state
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(state_of("git checkout side", "git push origin side"), State::AsNow);
    assert!(branches.take().is_empty());
    assert_eq!(state_of("git checkout side", "git push origin HEAD"), State::AsNow);
    assert_eq!(state_of("git switch -q side", "git push"), State::AsNow);
    assert_eq!(branches.take(), ["refs/heads/side", "refs/heads/side"]);
    assert_eq!(state_of("git checkout side", "git push origin HEAD~1:x"), State::ContentChanged);
    assert_eq!(state_of("git checkout side~1", "git push"), State::ContentChanged);
    assert_eq!(state_of("git checkout -", "git push"), State::ContentChanged);
    assert_eq!(state_of("git pull --rebase", "git push"), State::AsNow);
    assert_eq!(state_of("git config user.name x", "git push"), State::AsNow);
    assert_eq!(state_of("git merge side", "git push"), State::AsNow);
}

#[test]
fn a_name_without_a_program_may_be_an_alias_of_the_persons_shell() {
    let (sandbox, world) = repository();
    let home = sandbox.path("home");
    std::fs::create_dir_all(&home).unwrap();
    let functions = "release() {\n  git push\n}\nquiet() { git push --no-verify \"$@\"; }\ncut() {\n git push\n";
    std::fs::write(home.join(".bashrc"), format!("alias ship='git push' # publishes\n{functions}")).unwrap();
    let snapshots = home.join(".claude/shell-snapshots");
    std::fs::create_dir_all(&snapshots).unwrap();
    std::fs::write(snapshots.join("snapshot-bash-1.sh"), "alias -- off='git push'\n").unwrap();
    std::fs::write(home.join(".zshrc"), "export ZSH=~/.oh-my-zsh\nplugins=(docker git)\n").unwrap();
    let absent = |name: &str| {
        let mut line = Line::new(world.clone());
        let command = SimpleCommand {
            words: vec![Value::Known(name.into())],
            program: Program::Absent,
            redirections: Vec::new(),
            stdin: Stdin::Inherited,
            input_made_of: None,
            span: 0..0,
            dir: Dir::Known(world.cwd.clone()),
            env: Env::of_world(&world),
            certainty: Certainty::Always,
            chain: 0,
            pasted: Vec::new(),
            wrappers: Vec::new(),
        };
        let effect = line.meaning.simple(&command, &World2(&world), &mut line.plan);
        let texts: Vec<String> = effect
            .run
            .iter()
            .map(|nested| match &nested.code {
                Code::Shell { text, .. } => text.known().unwrap().to_string(),
                Code::Argv(_) => panic!(),
            })
            .collect();
        (texts, line.plan.opaque.len())
    };
    assert_eq!(absent("ship"), (vec!["git push \"$@\"".to_owned()], 0));
    assert_eq!(absent("gp"), (vec!["git push \"$@\"".to_owned()], 0));
    assert_eq!(absent("off"), (vec!["git push \"$@\"".to_owned()], 0));
    assert_eq!(absent("release"), (vec!["release() {\n  git push\n}\n\nrelease \"$@\"".to_owned()], 0));
    assert_eq!(absent("cut"), (vec![], 1));
    let whole = |line: &str| tyran::command::read(line.as_bytes(), &world, tyran::command::Shell::Bash);
    assert_eq!(whole("release").publishes.len(), 1);
    assert!(!whole("quiet origin main").bypass.is_empty());
    assert_eq!(absent("nothing"), (vec![], 0));
}

#[test]
fn a_command_among_another_ones_words_is_walked() {
    let (_sandbox, world) = repository();
    for line in [
        "hyperfine 'git push'",
        "docker exec c git push",
        "sqlite3 x.db '.shell git push'",
        "nix develop -c git push",
        "kubectl exec p -- /usr/bin/git push",
        "emacs --batch --eval '(shell-command \"git push\")'",
        "go test -exec 'git push' ./...",
    ] {
        let nested = Line::new(world.clone()).run(line).nested;
        let [code] = nested.as_slice() else { panic!("{line}: {nested:?}") };
        let first = match code {
            Code::Argv(words) => words.first().and_then(Value::known).unwrap().to_string(),
            Code::Shell { text, .. } => text.known().unwrap().to_string(),
        };
        assert!(first == "git push" || first.ends_with("git"), "{line}: {first}");
    }
    for line in ["echo 'git push'", "grep 'git push' a", "docker run img legit push", "curl -d 'git push' x"] {
        assert!(Line::new(world.clone()).run(line).nested.is_empty(), "{line}");
    }
}

#[test]
fn a_task_that_is_called_after_publishing_is_opaque() {
    let (_sandbox, world) = repository();
    for (line, opaque) in [
        ("tox -e release", true),
        ("gradle :app:deployAll", true),
        ("cargo xtask release", true),
        ("bazel run //:push", true),
        ("cargo build --release", false),
        ("cargo test push", false),
        ("tox -e py312", false),
        ("gradle test", false),
    ] {
        assert_eq!(!Line::new(world.clone()).run(line).plan.opaque.is_empty(), opaque, "{line}");
    }
}

#[test]
fn a_push_to_a_path_that_the_line_makes_counts_nothing_as_published() {
    let (sandbox, world) = repository();
    let fresh = sandbox.path("fresh.git");
    let line = Line::new(world.clone())
        .run(&format!("git init --bare {0}", fresh.display()))
        .run(&format!("git push {0} main", fresh.display()));
    let Some(Publish::Push(push)) = line.plan.publishes.last() else { panic!() };
    assert_eq!(push.state, State::Elsewhere);
}

#[test]
fn an_include_that_the_line_sets_is_followed() {
    let (sandbox, world) = repository();
    std::fs::write(sandbox.path("r/extra"), "[alias]\n\tz = push -q\n").unwrap();
    assert_eq!(Line::new(world).run("git config include.path ../extra").run("git z").pushes(), [["-q"]]);
}

#[test]
fn an_included_file_that_cannot_be_read_now_may_choose_hooks() {
    let (sandbox, world) = repository();
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).unwrap();
    let chooses = |line: &str| !Line::new(world.clone()).run(line).plan.bypass.is_empty();
    assert!(chooses("git config include.path ../../loop"));
    assert!(chooses("git -c include.path=../loop push"));
    assert!(!chooses("git config include.path ../../nothing"));
    assert!(!chooses("git config include.path /dev/null"));
}

#[test]
fn what_a_variable_makes_a_program_start_is_walked() {
    let (_sandbox, world) = repository();
    let start = |name: &str, line: &str| {
        Line::new(world.clone()).with(name, EnvChange::Set("git push;:".into())).run(line).nested.len()
    };
    assert_eq!(start("LESSOPEN", "less a"), 1);
    assert_eq!(start("GIT_SSH_COMMAND", "git fetch"), 1);
    assert_eq!(start("GIT_EXTERNAL_DIFF", "git diff"), 1);
    assert_eq!(start("GIT_SEQUENCE_EDITOR", "git rebase -i HEAD"), 1);
    assert_eq!(start("LESSOPEN", "cat a"), 0);
    let preload = Line::new(world.clone()).with("LD_PRELOAD", EnvChange::Set("./x.so".into())).run("ls");
    assert_eq!(preload.plan.opaque.len(), 1);
}

#[test]
fn taking_a_secret_out_of_commits_that_were_not_pushed_is_no_publish() {
    let (_sandbox, world) = repository();
    for line in ["git reset --hard HEAD", "git pull --ff-only", "git rebase --abort", "git pull --dry-run"] {
        assert!(Line::new(world.clone()).run(line).plan.publishes.is_empty(), "{line}");
    }
    // What is made anew was recorded before; the words are new.
    for (line, words) in [
        ("git rebase -i HEAD", "-i HEAD"),
        ("git rebase --onto a b", "--onto a b"),
        ("git pull --rebase", "--rebase"),
        ("git pull origin main", "origin main"),
        ("git filter-branch -f HEAD", "-f HEAD"),
    ] {
        let seen = Line::new(world.clone()).run(line);
        let [Publish::Upload(upload)] = seen.plan.publishes.as_slice() else { panic!("{line}: {:?}", seen.plan) };
        assert!(upload.local_only && upload.files.is_empty() && upload.revisions.is_none(), "{line}");
        assert_eq!(upload.texts, [words], "{line}");
    }
    for line in ["git merge x", "git cherry-pick x", "git revert HEAD", "git am x", "git commit --amend --no-edit"] {
        assert_eq!(Line::new(world.clone()).run(line).commits(), 1, "{line}");
    }
}

#[test]
fn a_variable_that_chooses_the_repository_and_is_not_known_is_not_bounded() {
    let (_sandbox, world) = repository();
    let unknown = || Line::new(world.clone()).with("GIT_DIR", EnvChange::Unknown("$X".into()));
    assert!(!unknown().run("git push").plan.unknown.is_empty());
    assert!(unknown().run("git status").plan.unknown.is_empty());
}

#[test]
fn a_bare_repository_that_fetches_from_here_takes_what_is_here() {
    let (sandbox, world) = repository();
    let bare = sandbox.path("r.git");
    sandbox.git(&bare, &["remote", "add", "work", sandbox.path("r").to_str().unwrap()]);
    for line in
        [format!("git -C {} fetch work", bare.display()), format!("git --git-dir={} remote update", bare.display())]
    {
        let seen = Line::new(world.clone()).run(&line);
        assert!(
            matches!(seen.plan.publishes.as_slice(), [Publish::Push(push)] if push.via == PushVia::OtherSide),
            "{line}"
        );
    }
}

fn items_of(world: &World, line: &str) -> Vec<String> {
    use tyran::payload::assemble::{self, Assembly};
    let plan = tyran::command::read(line.as_bytes(), world, tyran::command::Shell::Bash);
    let assembled = assemble::payload(world, &plan.publishes, Assembly::of(world), None).unwrap();
    let items = assembled.payload.parts.iter().flat_map(|part| &part.items);
    items.filter_map(|item| item.oid).map(|id| id.to_string()).collect()
}

#[test]
fn what_git_would_refuse_takes_nothing_from_the_rest_of_the_line() {
    let (sandbox, world) = repository();
    let head = sandbox.git("r", &["rev-parse", "HEAD"]);
    for line in [
        "git push origin nowhere; git push origin main",
        "git push origin main; git push origin nowhere",
        "git fast-export HEAD | git --git-dir=../r.git fast-import",
    ] {
        assert!(items_of(&world, line).contains(&head), "{line}");
    }
}
