//! What a push would send is worked out as git itself works it out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tyran::command::plan::{GitContext, PushRequest, PushVia, State};
use tyran::payload::push::args::{self, Parsed};
use tyran::payload::push::ci_base;
use tyran::payload::push::destination::Peer;
use tyran::payload::push::{Network, PushOptions, PushPayload, Resolved, from_hook_lines, payload, resolve};
use tyran::payload::{Content, Fault, Payload};
use tyran::world::{Caution, World};

use crate::support::{Repo, Sandbox, shown};

/// One ref that leaves: url, destination, new id, old id; zeros where there is none.
type Line = (String, String, String, String);

const UNASKED: PushOptions = PushOptions { network: Network::Unasked };

const ZERO: &str = "0000000000000000000000000000000000000000";

fn words(args: &[&str]) -> Vec<OsString> {
    args.iter().map(OsString::from).collect()
}

fn request(dir: &Path, sandbox: &Sandbox, globals: &[&str], args: &[&str]) -> PushRequest {
    PushRequest {
        git: GitContext { dir: dir.to_owned(), env: sandbox.env().into_iter().collect(), globals: words(globals) },
        args: args.iter().map(|word| Some(OsString::from(word))).collect(),
        state: State::AsNow,
        via: PushVia::Push,
    }
}

fn resolved(dir: &Path, sandbox: &Sandbox, globals: &[&str], args: &[&str]) -> Resolved {
    let world = World::new(sandbox.env().into_iter().collect(), dir.to_owned(), Caution::Gate);
    let options = PushOptions { network: Network::Unasked };
    resolve(&world, &request(dir, sandbox, globals, args), &words(args), options)
        .unwrap_or_else(|fault| panic!("{globals:?} push {args:?}: {fault}"))
}

/// What tyran says would leave.
fn predicted(resolved: &Resolved) -> BTreeSet<Line> {
    let mut lines = BTreeSet::new();
    for transfer in &resolved.transfers {
        for update in transfer.updates.iter().filter(|update| !update.is_up_to_date()) {
            let hex = |id: Option<tyran::payload::ObjectId>| id.map_or(ZERO.to_owned(), |id| id.to_string());
            lines.insert((transfer.url.to_string(), update.destination.to_string(), hex(update.new), hex(update.old)));
        }
    }
    lines
}

/// A hook which writes down what git gives it.
struct Recorder {
    folder: PathBuf,
}

impl Recorder {
    fn new(sandbox: &Sandbox) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = sandbox.path("recorder");
        fs::create_dir_all(&folder).unwrap();
        let hook = folder.join("pre-push");
        let log = folder.join("log");
        let text = format!(
            "#!/bin/sh\nwhile read -r line; do printf '%s\\t%s\\n' \"$2\" \"$line\"; done >> '{}'\n",
            log.display()
        );
        fs::write(&hook, text).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// Lets git push as in earnest, but for the objects; what it told the hook, and whether it was content.
    fn observe(
        &self,
        sandbox: &Sandbox,
        dir: &Path,
        globals: &[&str],
        args: &[&str],
    ) -> (BTreeSet<Line>, bool, String) {
        let log = self.folder.join("log");
        let _ = fs::remove_file(&log);
        let mut git = sandbox.command("git");
        git.current_dir(dir).args(globals).args(["-c", &format!("core.hooksPath={}", self.folder.display())]);
        let output = git.args(["push", "--dry-run", "--porcelain"]).args(args).output().unwrap();
        let mut lines = BTreeSet::new();
        for line in fs::read_to_string(&log).unwrap_or_default().lines() {
            let (url, update) = line.split_once('\t').unwrap();
            let mut fields = update.rsplitn(4, ' ');
            let (old, destination, new) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
            lines.insert((url.to_owned(), destination.to_owned(), new.to_owned(), old.to_owned()));
        }
        (lines, output.status.success(), shown(&output))
    }
}

/// A repository with many kinds of refs, and remotes in different states.
fn rich(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("rich");
    let first = repo.commit("a", "1");
    repo.git(&["tag", "-a", "-m", "old", "a-old"]);
    repo.git(&["tag", "light"]);
    repo.git(&["push", "-q", "origin", "main", "main:same", "main:gone", "main:refs/tags/there"]);
    repo.git(&["fetch", "-q", "origin"]);
    repo.commit("a", "2");
    repo.git(&["tag", "-a", "-m", "new", "a-new"]);
    repo.git(&["branch", "same", &first]);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.commit("b", "3");
    repo.git(&["tag", "-a", "-m", "nested", "a-nested", "a-new"]);
    repo.git(&["tag", "-a", "-m", "topic", "a-topic"]);
    repo.git(&["branch", "light", "topic"]);
    repo.git(&["branch", "side/way", "topic"]);
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/topic"]);
    repo.git(&["notes", "add", "-m", "note"]);
    repo.git(&["update-ref", "refs/odd", "HEAD"]);
    repo.git(&["update-ref", "refs/remotes/other/topic", "HEAD"]);
    repo.git(&["tag", "blob-tag", "HEAD:b"]);
    repo.write("a", "stashed");
    repo.git(&["stash", "-q"]);
    repo.git(&["checkout", "-q", "main"]);
    for name in ["second", "third"] {
        sandbox.git("", &["init", "-q", "--bare", "-b", "main", &format!("{name}.git")]);
    }
    repo.git(&["push", "-q", sandbox.path("third.git").to_str().unwrap(), "same:refs/heads/topic"]);
    repo
}

fn compare(sandbox: &Sandbox, recorder: &Recorder, dir: &Path, globals: &[&str], args: &[&str]) -> Outcome {
    let (told, content, output) = recorder.observe(sandbox, dir, globals, args);
    let resolved = resolved(dir, sandbox, globals, args);
    let predicted = predicted(&resolved);
    let missed: Vec<_> = told.difference(&predicted).collect();
    assert!(missed.is_empty(), "git {globals:?} push {args:?} sends what was not predicted: {missed:#?}\n{output}");
    if let Some(why) = &resolved.refused {
        assert!(told.is_empty(), "{globals:?} {args:?}: {why}, but\n{output}");
    }
    if content {
        // Nothing was rejected or turned down, so that nothing more than this could have left. What a
        // mirror deletes is not told to the hook; no object travels for it.
        let more: Vec<_> = predicted.difference(&told).filter(|line| line.2 != ZERO).collect();
        assert!(more.is_empty(), "git {globals:?} push {args:?} does not send {more:#?}\n{output}");
    }
    match (told.is_empty(), content) {
        (true, false) if resolved.refused.is_some() => Outcome::BothRefuse,
        (true, false) => Outcome::OnlyGitRefuses,
        (true, true) => Outcome::NothingNew,
        (false, _) => Outcome::Sends,
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Outcome {
    BothRefuse,
    OnlyGitRefuses,
    NothingNew,
    Sends,
}

#[test]
fn every_push_default_sends_to_every_kind_of_remote_what_git_sends() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let recorder = Recorder::new(&sandbox);
    let third = sandbox.path("third.git");
    repo.git(&["remote", "add", "second", sandbox.path("second.git").to_str().unwrap()]);
    let upstreams: &[&[&str]] = &[
        &[],
        &["-c", "branch.main.remote=origin", "-c", "branch.main.merge=refs/heads/main"],
        &["-c", "branch.main.remote=origin", "-c", "branch.main.merge=refs/heads/other"],
        &[
            "-c",
            "branch.main.remote=origin",
            "-c",
            "branch.main.merge=refs/heads/a",
            "-c",
            "branch.main.merge=refs/heads/b",
        ],
        &["-c", "branch.main.remote=second", "-c", "branch.main.merge=refs/heads/main"],
        &["-c", "branch.main.merge=refs/heads/main"],
    ];
    let remotes: &[&[&str]] =
        &[&[], &["origin"], &["second"], &[third.to_str().unwrap()], &["--repo=second"], &["nowhere"]];
    let mut sends = 0;
    for mode in ["unset", "nothing", "matching", "simple", "upstream", "tracking", "current"] {
        for upstream in upstreams {
            for remote in remotes {
                for more in [&[][..], &["-c", "push.autoSetupRemote=true"]] {
                    let default = format!("push.default={mode}");
                    let mut globals = if mode == "unset" { vec![] } else { vec!["-c", default.as_str()] };
                    globals.extend_from_slice(upstream);
                    globals.extend_from_slice(more);
                    sends += u32::from(compare(&sandbox, &recorder, &repo.dir, &globals, remote) == Outcome::Sends);
                }
            }
        }
    }
    assert!(sends > 100, "only {sends} of them sent anything");
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const REFSPECS: &[&str] = &[
    "main",
    "topic",
    "same",
    "light",
    "tag",
    "light",
    "heads/light",
    "refs/tags/light",
    "refs/heads/light",
    "HEAD",
    "@",
    "alias",
    "refs/heads/alias",
    "side/way",
    "way",
    "a-old",
    "a-nested",
    "refs/notes/commits",
    "notes/commits",
    "other/topic",
    "refs/remotes/other/topic",
    "refs/stash",
    "stash",
    "odd",
    "refs/odd",
    "blob-tag",
    "nothing-here",
    "HEAD~1",
    "main~1:refs/heads/x",
    "main~1:x",
    "HEAD:x",
    "HEAD:same",
    "HEAD:there",
    "topic:there",
    "a-new:x",
    "HEAD:b:refs/tags/b",
    "HEAD^{tree}:refs/tags/tree",
    ":/change:refs/heads/found",
    ":0:a:refs/tags/staged",
    "stash@{0}:refs/heads/stash",
    "@{-1}:refs/heads/back",
    "main@{1}:refs/heads/before",
    "ORIG_HEAD:refs/heads/o",
    ":",
    "+:",
    ":gone",
    ":refs/heads/gone",
    ":refs/heads/never",
    ":never",
    "^refs/heads/topic",
    "^refs/heads/pub/topic",
    "^refs/heads/*",
    "^refs/tags/a-*",
    "^main",
    "refs/heads/*",
    "+refs/heads/*",
    "refs/heads/*:refs/heads/pub/*",
    "refs/heads/s*:refs/heads/S*",
    "refs/tags/*",
    "refs/tags/a-*:refs/tags/b-*",
    "refs/*:refs/*",
    "refs/*:refs/all/*",
    "refs/remotes/*:refs/heads/*",
    "heads/*:refs/x/*",
    "*:refs/y/*",
    "refs/heads/*:refs/heads/one",
    "a:b:c",
    "",
    "+main",
    "+topic:main",
    "main:refs/heads/../x",
    "main:refs/for/main",
    "topic:refs/x.lock",
    "main:",
    "refs/heads/*e:refs/e/*",
    "main:same",
    "topic:same",
    "+side/way:main",
    "light:there",
    "refs/tags/light:light",
    "main:topic",
];

const OPTIONS: &[&str] = &[
    "--all",
    "--branches",
    "--mirror",
    "--tags",
    "--follow-tags",
    "--no-follow-tags",
    "--prune",
    "--delete",
    "-d",
    "--atomic",
    "-u",
    "--set-upstream",
    "-f",
    "--force",
    "--force-with-lease",
    "--force-with-lease=main",
    "--force-if-includes",
    "--no-force",
    "--mir",
    "--ta",
    "--fol",
    "--al",
    "--no-thin",
    "--thin",
    "--porcelain",
    "-q",
    "-v",
    "-fu",
    "-uf",
    "--progress",
    "--no-progress",
    "-4",
    "--repo=second",
    "--repo",
    "--verify",
    "--no-no-verify",
    "--recurse-submodules=no",
    "--signed=no",
    "--no-signed",
    "--no-mirror",
    "--no-tags",
    "--no-all",
    "--bran",
    "--prun",
    "--",
    "--end-of-options",
    "--del",
    "--dry-run",
    "-n",
    "--no-push-option",
    "--no-recurse-submodules",
    "-fd",
];

fn configuration(dice: &mut Dice, sandbox: &Sandbox) -> Vec<String> {
    let second = sandbox.path("second.git").display().to_string();
    let third = sandbox.path("third.git").display().to_string();
    let mut settings = Vec::new();
    let mut add = |text: String| settings.extend(["-c".to_owned(), text]);
    for _ in 0..dice.below(5) {
        let remote = dice.pick(&["origin", "second", "empty"]);
        let branch = dice.pick(&["main", "topic"]);
        match dice.below(19) {
            0 => add(format!("push.default={}", dice.pick(&["nothing", "matching", "simple", "upstream", "current"]))),
            1 | 2 => add(format!("remote.{remote}.push={}", dice.pick(REFSPECS))),
            3 => add(format!("remote.{remote}.push=refs/heads/*:refs/heads/pub/*")),
            4 => add(format!("remote.{remote}.push=+refs/heads/main:refs/heads/other")),
            5 => add(format!("remote.{remote}.mirror={}", dice.pick(&["true", "false", "1"]))),
            6 => add(format!("remote.{remote}.pushurl={}", if dice.one_in(2) { &third } else { &second })),
            7 => add(format!("remote.{remote}.url={third}")),
            8 => {
                add(format!("branch.{branch}.pushRemote={}", dice.pick(&["origin", "second", "../third.git", "empty"])))
            }
            9 => add(format!("remote.pushDefault={}", dice.pick(&["origin", "second", "../third.git", "."]))),
            10 => {
                add(format!("branch.{branch}.remote={}", dice.pick(&["origin", "second", "."])));
                add(format!("branch.{branch}.merge=refs/heads/{}", dice.pick(&["main", "topic", "same", "other"])));
            }
            11 => add("push.followTags=true".into()),
            12 => add("push.autoSetupRemote=true".into()),
            13 => add(format!("url.{third}.pushInsteadOf={second}")),
            14 => add(format!("url.{third}.insteadOf={}", if dice.one_in(2) { "short:" } else { &second })),
            15 => add(format!("url.{}/.pushInsteadOf=short:", sandbox.path("").display())),
            16 => add(format!("remote.{remote}.push=^refs/heads/{}", dice.pick(&["topic", "main", "s*"]))),
            17 => add(format!("remote.{remote}.pushurl=")),
            _ => add(format!("branch.{branch}.merge=refs/heads/main")),
        }
    }
    settings
}

fn arguments(dice: &mut Dice, sandbox: &Sandbox) -> Vec<String> {
    let second = sandbox.path("second.git").display().to_string();
    let mut args: Vec<String> = Vec::new();
    if !dice.one_in(4) {
        let remote = match dice.below(9) {
            0..=3 => "origin".to_owned(),
            4 => "second".to_owned(),
            5 => "../third.git".to_owned(),
            6 => format!("file://{second}"),
            7 => "short:second.git".to_owned(),
            _ => dice.pick(&["empty", ".", "nowhere", "legacy", "cogito", "short:"]).to_owned(),
        };
        args.push(remote);
        for _ in 0..dice.below(4) {
            args.push(dice.pick(REFSPECS).to_owned());
        }
    }
    for _ in 0..dice.below(4) {
        let place = dice.below(args.len() + 1);
        args.insert(place, dice.pick(OPTIONS).to_owned());
    }
    args
}

/// Random combinations of options, refspecs, configuration and refs, each given to git and to tyran.
fn differential(seed: u64, rounds: usize) {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let recorder = Recorder::new(&sandbox);
    repo.git(&["remote", "add", "second", sandbox.path("second.git").to_str().unwrap()]);
    repo.git(&["config", "remote.empty.fetch", "+refs/heads/*:refs/remotes/empty/*"]);
    fs::create_dir_all(repo.dir.join(".git/remotes")).unwrap();
    fs::create_dir_all(repo.dir.join(".git/branches")).unwrap();
    let third = sandbox.path("third.git").display().to_string();
    fs::write(repo.dir.join(".git/remotes/legacy"), format!("URL: {third}\nPush: refs/heads/topic:refs/heads/t\n"))
        .unwrap();
    fs::write(repo.dir.join(".git/branches/cogito"), format!("{third}#branch\n")).unwrap();
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut outcomes = std::collections::BTreeMap::new();
    for _ in 0..rounds {
        if dice.one_in(12) {
            let head = dice.pick(&["main", "topic", "side/way", "--detach"]);
            repo.git(&["checkout", "-q", head]);
        }
        let settings = configuration(&mut dice, &sandbox);
        let args = arguments(&mut dice, &sandbox);
        // Words that no git takes are another test's.
        let (settings, args): (Vec<&str>, Vec<&str>) =
            (settings.iter().map(String::as_str).collect(), args.iter().map(String::as_str).collect());
        *outcomes.entry(compare(&sandbox, &recorder, &repo.dir, &settings, &args)).or_insert(0) += 1;
    }
    eprintln!("{outcomes:?}");
    assert!(
        outcomes.get(&Outcome::Sends).copied().unwrap_or(0) * 6 > rounds,
        "too few of them send anything: {outcomes:?}"
    );
}

#[test]
fn random_pushes_send_what_git_sends() {
    differential(1, 150);
}

#[test]
fn other_random_pushes_send_what_git_sends() {
    differential(2, 150);
}

/// Hours of this found what the two above keep watch over.
#[test]
#[ignore = "takes minutes"]
fn thousands_of_random_pushes_send_what_git_sends() {
    for seed in 3..40 {
        differential(seed, 150);
    }
}

/// A case of the shared collection, built and taken apart.
struct Case {
    name: String,
    publishes: bool,
    root: PathBuf,
    env: Vec<(OsString, OsString)>,
    globals: Vec<String>,
    args: Vec<String>,
}

/// Whether a word of a case's command is plain: nothing in it that a shell would read.
fn is_plain(line: &str) -> bool {
    !line.contains(['$', '`', '|', '&', ';', '>', '<', '(', ')'])
}

impl Case {
    /// Builds a case whose command is one plain `git push`; `None` is another kind of case.
    fn build(script: &Path, sandbox: &Sandbox) -> Option<Self> {
        let text = fs::read_to_string(script).unwrap();
        let name = script.file_stem()?.to_str()?.to_owned();
        let root = sandbox.path(&name);
        let built = sandbox.command("sh").arg(script).arg(&root).env("HOME", "/nonexistent").output().unwrap();
        if !built.status.success() {
            return None;
        }
        let stdout = String::from_utf8_lossy(&built.stdout).into_owned();
        let line = stdout.lines().last()?.trim_end_matches(" || :").to_owned();
        if !is_plain(&line) {
            return None;
        }
        let mut env: Vec<(OsString, OsString)> =
            [("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("TERM", "dumb")]
                .map(|(name, value)| (name.into(), value.into()))
                .into();
        env.push(("HOME".into(), root.join("home").into()));
        env.push(("PATH".into(), std::env::var_os("PATH").unwrap()));
        let mut words = shell_words::split(&line).unwrap().into_iter().peekable();
        while let Some((name, value)) =
            words.peek().and_then(|word| word.split_once('=')).filter(|(name, _)| !name.starts_with('-'))
        {
            env.push((name.into(), value.into()));
            words.next();
        }
        if words.next()? != "git" {
            return None;
        }
        let rest: Vec<String> = words.collect();
        let verb = rest.iter().position(|word| word == "push")?;
        let (globals, args) = rest.split_at(verb);
        if globals.iter().any(|word| !word.starts_with('-') && !word.contains('=') && word != "..") {
            return None;
        }
        let publishes = text.contains("# expect: publish");
        Some(Self { name, publishes, root, env, globals: globals.to_vec(), args: args[1..].to_vec() })
    }

    fn payload(&self) -> Result<PushPayload, Fault> {
        let env: tyran::world::Environment = self.env.iter().cloned().collect();
        let world = World::new(env.clone(), self.root.join("work"), Caution::ByHand);
        let request = PushRequest {
            git: GitContext {
                dir: self.root.join("work"),
                env,
                globals: self.globals.iter().map(OsString::from).collect(),
            },
            args: self.args.iter().map(|word| Some(OsString::from(word))).collect(),
            state: State::AsNow,
            via: PushVia::Push,
        };
        payload(&world, &request, UNASKED)
    }

    /// The ids of every object in every remote.
    fn remote_objects(&self, sandbox: &Sandbox) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        for entry in fs::read_dir(&self.root).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with("remote") {
                let list = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
                let listed = sandbox.command("git").arg("-C").arg(&path).args(list).output().unwrap();
                ids.extend(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned));
            }
        }
        ids
    }

    fn push(&self, sandbox: &Sandbox) {
        let mut git = sandbox.command("git");
        git.env_clear().envs(self.env.iter().cloned()).current_dir(self.root.join("work"));
        git.args(&self.globals).arg("push").args(&self.args).output().unwrap();
    }
}

/// The ids and the bytes of a payload.
fn contents(payload: &Payload) -> Result<(BTreeSet<String>, Vec<u8>), Fault> {
    let (mut ids, mut bytes) = (BTreeSet::new(), Vec::new());
    for part in &payload.parts {
        let mut reader = part.source.reader().unwrap();
        for item in &part.items {
            ids.extend(item.oid.map(|oid| oid.to_string()));
            reader.read(item, &mut |content| {
                match content {
                    Content::Whole(whole) => bytes.extend_from_slice(whole),
                    Content::Stream(stream) => {
                        std::io::Read::read_to_end(stream, &mut bytes).unwrap();
                    }
                }
                Ok(())
            })?;
            bytes.push(b'\n');
        }
    }
    Ok((ids, bytes))
}

#[test]
fn whatever_arrives_at_a_remote_was_in_the_payload() {
    let Some(cases) = crate::support::shared("cases/publish") else { return };
    let sandbox = Sandbox::new();
    let mut scripts: Vec<_> = fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.sort();
    let (mut read, mut refused, mut wide, mut hooks) = (0, Vec::new(), Vec::new(), Vec::new());
    for script in scripts.iter().filter(|script| {
        script.file_name().unwrap().to_str().unwrap().starts_with(|first: char| first.is_ascii_digit())
    }) {
        let Some(case) = Case::build(script, &sandbox) else { continue };
        let payload = case.payload();
        if payload.as_ref().is_ok_and(|found| found.resolved.hooks.iter().any(|hook| hook.file.is_some())) {
            // What a hook of the repository's own sends is told by its name alone.
            hooks.push(case.name);
            continue;
        }
        let found = match payload.and_then(|found| contents(&found.payload)) {
            Ok(found) => found,
            Err(fault) => {
                refused.push(format!("{}: {fault}", case.name));
                continue;
            }
        };
        let before = case.remote_objects(&sandbox);
        case.push(&sandbox);
        let after = case.remote_objects(&sandbox);
        let missed: Vec<_> = after.difference(&before).filter(|id| !found.0.contains(*id)).collect();
        assert!(missed.is_empty(), "{}: arrived and was not in the payload: {missed:?}", case.name);
        let needle = format!("TYRANNEEDLE_{}", case.name.split('-').next().unwrap());
        let holds = String::from_utf8_lossy(&found.1).contains(&needle);
        read += 1;
        if holds != case.publishes {
            wide.push(format!("{} {}", case.name, if holds { "holds more" } else { "lacks its needle" }));
        }
        fs::remove_dir_all(&case.root).unwrap();
    }
    eprintln!("{read} read, with hooks: {hooks:?}, refused: {refused:#?}, otherwise than expected: {wide:#?}");
    assert!(read > 60, "only {read} cases were read");
}

#[test]
fn every_prefix_of_every_option_is_taken_or_turned_down_as_git_does() {
    const LONG: &[&str] = &[
        "verbose",
        "quiet",
        "repo",
        "all",
        "branches",
        "mirror",
        "delete",
        "tags",
        "dry-run",
        "porcelain",
        "force",
        "force-with-lease",
        "force-if-includes",
        "recurse-submodules",
        "thin",
        "receive-pack",
        "exec",
        "set-upstream",
        "progress",
        "prune",
        "no-verify",
        "follow-tags",
        "signed",
        "atomic",
        "push-option",
        "ipv4",
        "ipv6",
        "verify",
        "no-no-verify",
        "nothing-like-it",
    ];
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("options");
    let mut spellings = BTreeSet::new();
    for long in LONG {
        for end in 1..=long.len() {
            for form in [format!("--{}", &long[..end]), format!("--no-{}", &long[..end]), format!("-{}", &long[..end])]
            {
                spellings.insert(form);
            }
        }
    }
    let (mut taken, mut differ) = (0, Vec::new());
    for spelling in &spellings {
        // The word after it is a value for an option that needs one, else the repository.
        let git =
            sandbox.command("git").current_dir(&repo.dir).args(["push", spelling, "no", "nowhere"]).output().unwrap();
        let said = String::from_utf8_lossy(&git.stderr).into_owned();
        let accepted = git.status.code() != Some(129) && !said.contains("bad ") && !said.contains("usage:");
        let ours = args::push(&words(&[spelling, "no", "nowhere"]));
        let ours_accepted = matches!(ours, Ok(Parsed::Args(_)));
        taken += u32::from(accepted);
        if accepted != ours_accepted {
            differ.push(format!("{spelling}: git {:?} {said:?}, here {ours:?}", git.status.code()));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(taken > 200, "only {taken} spellings were taken");
}

#[test]
fn an_unknown_option_is_refused_by_its_name() {
    let fault = args::push(&words(&["--teleport", "origin"])).unwrap_err();
    assert!(matches!(&fault, Fault::Unmodelled(what) if what.as_str().contains("--teleport")), "{fault}");
    let fault = args::push(&words(&["-fX", "origin"])).unwrap_err();
    assert!(matches!(&fault, Fault::Unmodelled(what) if what.as_str().contains("-fX")), "{fault}");
}

#[test]
fn skipping_the_hook_is_told_in_every_spelling() {
    let skips = |args: &[&str]| match args::push(&words(args)).unwrap() {
        Parsed::Args(args) => args.no_verify,
        Parsed::Refused(why) => panic!("{why}"),
    };
    for spelling in ["--no-verify", "--no-veri", "--no-verif"] {
        assert!(skips(&[spelling, "origin"]), "{spelling}");
        assert!(skips(&["origin", "main", spelling]), "{spelling} behind");
        assert!(!skips(&["--", "origin", spelling]), "{spelling} as a refspec");
        assert!(!skips(&["-o", spelling, "origin"]), "{spelling} as a value");
    }
    assert!(!skips(&["--no-verify", "--verify"]));
    assert!(!skips(&["--no-verify", "--no-no-verify"]));
}

/// The ids of everything that was pushed into a bare repository.
fn objects_of(sandbox: &Sandbox, repository: &str) -> BTreeSet<String> {
    let listed = sandbox.git(repository, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(str::to_owned).collect()
}

fn payload_of(sandbox: &Sandbox, request: &PushRequest) -> PushPayload {
    let world = World::new(sandbox.env().into_iter().collect(), request.git.dir.clone(), Caution::Gate);
    payload(&world, request, UNASKED).unwrap()
}

#[test]
fn send_pack_sends_what_it_sends() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let third = sandbox.path("third.git").display().to_string();
    let lines: &[&[&str]] = &[&[&third], &["--all", &third], &[&third, "topic:refs/heads/t"], &["--mirror", &third]];
    for line in lines {
        let before = objects_of(&sandbox, "third.git");
        let mut wanted = request(&repo.dir, &sandbox, &[], line);
        wanted.via = PushVia::SendPack;
        let found = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
        let mut git = sandbox.command("git");
        let output = git.current_dir(&repo.dir).arg("send-pack").args(*line).output().unwrap();
        assert!(output.status.success(), "{line:?} {}", shown(&output));
        let after = objects_of(&sandbox, "third.git");
        let arrived: BTreeSet<_> = after.difference(&before).cloned().collect();
        assert_eq!(arrived, found.difference(&before).cloned().collect(), "{line:?}");
    }
}

#[test]
fn a_push_after_a_checkout_holds_every_local_ref_and_no_more_than_the_destination_lacks() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let known = repo.git(&["rev-parse", "main~1"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin", "main"]);
    wanted.state = State::ContentChanged;
    let found = payload_of(&sandbox, &wanted);
    let ids = contents(&found.payload).unwrap().0;
    for name in ["main", "topic", "stash", "stash^2", "refs/odd", "a-nested", "refs/notes/commits"] {
        assert!(ids.contains(&repo.git(&["rev-parse", name])), "{name} is missing");
    }
    assert!(!ids.contains(&known), "what the destination has is not read again");
    assert!(!found.payload.exact);
}

#[test]
fn a_push_after_anything_counts_nothing_as_published() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let known = repo.git(&["rev-parse", "main~1"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin", "main"]);
    wanted.state = State::Changed;
    let found = payload_of(&sandbox, &wanted);
    assert!(contents(&found.payload).unwrap().0.contains(&known));
    let [transfer] = found.resolved.transfers.as_slice() else { panic!("one place that is not known") };
    assert!(transfer.boundary().evidence.is_empty());
    assert!(transfer.boundary().claims.iter().any(|claim| claim.to_string() == known));
}

#[test]
fn an_unknown_word_stands_for_every_ref_and_for_what_is_staged() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.write("staged", "only in the index");
    repo.git(&["add", "staged"]);
    let blob = repo.git(&["rev-parse", ":0:staged"]);
    let mut wanted = request(&repo.dir, &sandbox, &[], &["origin"]);
    wanted.args.push(None);
    let ids = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
    assert!(ids.contains(&blob));
    assert!(ids.contains(&repo.git(&["rev-parse", "topic"])));
    assert!(!ids.contains(&repo.git(&["rev-parse", "main~1"])), "the destination is known");
    wanted.args = vec![None, Some("main".into())];
    let ids = contents(&payload_of(&sandbox, &wanted).payload).unwrap().0;
    assert!(ids.contains(&repo.git(&["rev-parse", "main~1"])), "the destination is not known");
}

#[test]
fn the_hooks_own_list_gives_exactly_the_objects_that_arrive() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let origin = sandbox.path("rich.git").display().to_string();
    let hook = sandbox.path("keep");
    fs::create_dir(&hook).unwrap();
    fs::write(hook.join("pre-push"), "#!/bin/sh\ncat > \"$0.lines\"\n").unwrap();
    fs::set_permissions(hook.join("pre-push"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let before = objects_of(&sandbox, "rich.git");
    let path = format!("core.hooksPath={}", hook.display());
    let push = |dry: &[&str]| {
        let what = ["origin", "main", ":/change:refs/heads/found", "topic", ":gone", "a-nested"];
        repo.git(&[&["-c", &path, "push", "-q"], dry, &what].concat());
    };
    push(&["--dry-run"]);
    let lines = fs::read(hook.join("pre-push.lines")).unwrap();
    let git = request(&repo.dir, &sandbox, &[], &[]).git;
    let world = sandbox.world("rich");
    let found = from_hook_lines(&world, &git, "origin".into(), origin.as_str().into(), &lines, UNASKED).unwrap();
    let ids = contents(&found.payload).unwrap().0;
    push(&[]);
    let arrived: BTreeSet<_> = objects_of(&sandbox, "rich.git").difference(&before).cloned().collect();
    assert_eq!(ids, arrived);
    assert!(found.payload.exact);
}

#[test]
fn a_garbled_line_of_the_hook_is_a_fault() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("garbled");
    repo.commit("a", "1");
    let git = request(&repo.dir, &sandbox, &[], &[]).git;
    for lines in ["refs/heads/main abc refs/heads/main def\n", "one two\n", "\u{0}\n"] {
        let found =
            from_hook_lines(&sandbox.world("garbled"), &git, "origin".into(), "x".into(), lines.as_bytes(), UNASKED);
        assert!(found.is_err(), "{lines:?}");
    }
}

#[test]
fn push_options_leave_in_a_dry_run_and_objects_do_not() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let text = |args: &[&str], globals: &[&str]| {
        let found = payload_of(&sandbox, &request(&repo.dir, &sandbox, globals, args));
        let (ids, bytes) = contents(&found.payload).unwrap();
        (ids.len(), String::from_utf8_lossy(&bytes).into_owned())
    };
    let (objects, said) = text(&["-n", "-o", "first", "--push-option=second", "origin", "topic"], &[]);
    assert_eq!((objects, said.as_str()), (0, "first\nsecond\n"));
    let (_, said) = text(
        &["-n", "origin", "topic"],
        &["-c", "push.pushOption=a", "-c", "push.pushOption=", "-c", "push.pushOption=b"],
    );
    assert_eq!(said, "b\n");
    let (objects, said) = text(&["--push-option", "c", "origin", "topic"], &["-c", "push.pushOption=a"]);
    assert!(objects > 0 && said.contains("c\n") && said.contains("refs/heads/topic") && !said.contains("a\nc"));
}

#[test]
fn a_signed_push_says_who_pushes() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    for (globals, args) in
        [(&["-c", "push.gpgSign=if-asked"][..], &["origin", "topic"][..]), (&[], &["--signed", "origin", "topic"])]
    {
        let found = payload_of(&sandbox, &request(&repo.dir, &sandbox, globals, args));
        let said = contents(&found.payload).unwrap().1;
        assert!(String::from_utf8_lossy(&said).contains("committer@example.invalid"));
    }
}

#[test]
fn replaced_commits_are_followed_both_ways_when_a_source_is_an_expression() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.git(&["checkout", "-q", "--orphan", "apart"]);
    let apart = repo.commit("apart", "nothing of this is below main");
    repo.git(&["checkout", "-q", "main"]);
    let replacement = repo.git(&["commit-tree", "-p", &apart, "-m", "replacement", "main^{tree}"]);
    repo.git(&["replace", "main", &replacement]);
    let recorder = Recorder::new(&sandbox);
    let outcome = compare_superset(&sandbox, &recorder, &repo.dir, &[], &["origin", "main~1:refs/heads/x"]);
    assert_eq!(outcome, Outcome::Sends);
}

/// As [`compare`], where more than git sends may be predicted.
fn compare_superset(sandbox: &Sandbox, recorder: &Recorder, dir: &Path, globals: &[&str], args: &[&str]) -> Outcome {
    let (told, _, output) = recorder.observe(sandbox, dir, globals, args);
    let predicted = predicted(&resolved(dir, sandbox, globals, args));
    let missed: Vec<_> = told.difference(&predicted).collect();
    assert!(missed.is_empty(), "git {globals:?} push {args:?} sends what was not predicted: {missed:#?}\n{output}");
    if told.is_empty() { Outcome::NothingNew } else { Outcome::Sends }
}

#[test]
fn urls_lead_where_git_takes_them() {
    let local = |url: &str| matches!(Peer::of(url.into(), None), Peer::Local(_));
    for url in ["/a/b", "../a", "a", ".", "./a:b", "a/b:c", "file:///a%20b"] {
        assert!(local(url), "{url}");
    }
    for url in ["host:a", "user@host:a/b", "ssh://h/a", "git+ssh://h/a", "git://h/a", "http://h/a", "https://u:p@h/a"] {
        assert_eq!(Peer::of(url.into(), None), Peer::Host, "{url}");
    }
    for (url, name) in
        [("ext::sh -c x", "ext"), ("a::b", "a"), ("ftp://h/a", "ftp"), ("persistent-https://h", "persistent-https")]
    {
        assert_eq!(Peer::of(url.into(), None), Peer::Helper(name.into()), "{url}");
    }
    assert_eq!(Peer::of("/a".into(), Some(&"leak".into())), Peer::Helper("leak".into()));
    assert_eq!(Peer::of("file:///a%20b".into(), None), Peer::Local("/a b".into()));
}

#[test]
fn a_url_is_shown_without_what_gives_access() {
    let shown = |url: &str| tyran::payload::push::destination::shown(url.into()).to_string();
    assert_eq!(shown("https://user:pass@host/a?token=x#y"), "https://host/a");
    assert_eq!(shown("https://token@host"), "https://host");
    assert_eq!(shown("git@host:a/b"), "git@host:a/b");
    assert_eq!(shown("/plain/path@x"), "/plain/path@x");
}

#[test]
fn another_program_at_the_other_end_is_not_run_in_the_gate() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let witness = sandbox.path("witness");
    let program = format!("sh -c 'touch {}; exec git receive-pack \"$@\"' x", witness.display());
    let asked = |caution| {
        let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), caution);
        let args = ["--receive-pack", program.as_str(), "origin", "topic"];
        resolve(&world, &request(&repo.dir, &sandbox, &[], &args), &words(&args), UNASKED).unwrap()
    };
    let resolved = asked(Caution::Gate);
    assert!(!witness.exists());
    assert_eq!(resolved.transfers[0].evidence, None);
    assert!(asked(Caution::ByHand).transfers[0].evidence.as_ref().is_some_and(|evidence| !evidence.is_empty()));
    assert!(witness.exists());
}

#[test]
fn a_destination_that_cannot_be_read_has_published_nothing() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    fs::create_dir_all(sandbox.path("broken.git/objects")).unwrap();
    for url in ["../broken.git", "../absent.git", "ext::false", "foo://bar", "host.invalid:x"] {
        let resolved = resolved(&repo.dir, &sandbox, &[], &[url, "topic"]);
        assert_eq!(resolved.transfers[0].evidence, None, "{url}");
        assert!(!resolved.notes.is_empty(), "{url}");
    }
}

/// A program in the place of ssh, which runs what it is given here.
fn pretend_ssh(sandbox: &Sandbox, before: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let program = sandbox.path("pretend-ssh");
    fs::write(&program, format!("#!/bin/sh\n{before}\nfor last; do :; done\nexec sh -c \"$last\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    format!("core.sshCommand={}", program.display())
}

fn asked_over(sandbox: &Sandbox, repo: &Repo<'_>, caution: Caution, globals: &[&str], url: &str) -> Resolved {
    let world = World::new(sandbox.env().into_iter().collect(), repo.dir.clone(), caution);
    let options = PushOptions { network: Network::Within(std::time::Duration::from_millis(1500)) };
    resolve(&world, &request(&repo.dir, sandbox, globals, &[url, "topic"]), &words(&[url, "topic"]), options).unwrap()
}

#[test]
fn a_host_is_asked_at_the_very_url_that_git_connects_to() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let ssh = pretend_ssh(&sandbox, "");
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    // git rewrites once; a second time would lead elsewhere.
    let once = format!("url.{url}.insteadOf=short:");
    let twice = format!("url.elsewhere.invalid:/x.insteadOf={url}");
    let globals = ["-c", &ssh, "-c", &once, "-c", &twice];
    let resolved = asked_over(&sandbox, &repo, Caution::ByHand, &globals, "short:");
    let [transfer] = resolved.transfers.as_slice() else { panic!("one url") };
    assert_eq!(transfer.url, url.as_str());
    let published = repo.git(&["rev-parse", "main~1"]);
    let evidence = transfer.evidence.as_ref().unwrap_or_else(|| panic!("{:?}", resolved.notes));
    assert!(evidence.iter().any(|id| id.to_string() == published));
}

#[test]
fn a_host_that_does_not_answer_in_time_has_published_nothing() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let ssh = pretend_ssh(&sandbox, "sleep 600");
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    let resolved = asked_over(&sandbox, &repo, Caution::ByHand, &["-c", &ssh], &url);
    assert_eq!(resolved.transfers[0].evidence, None);
}

#[test]
fn the_gate_runs_no_ssh_command_that_configuration_names() {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    let witness = sandbox.path("witness");
    let ssh = pretend_ssh(&sandbox, &format!("touch {}", witness.display()));
    let url = format!("host.invalid:{}", sandbox.path("rich.git").display());
    let resolved = asked_over(&sandbox, &repo, Caution::Gate, &["-c", &ssh], &url);
    assert_eq!(resolved.transfers[0].evidence, None);
    assert!(!witness.exists());
}

/// What a CI run reads, in an environment of the service's.
fn ci(
    sandbox: &Sandbox,
    dir: &Path,
    env: &[(&str, &str)],
    base: Option<&str>,
) -> Result<(BTreeSet<String>, String), Fault> {
    let mut all: tyran::world::Environment = sandbox.env().into_iter().collect();
    all.extend(env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    let git = GitContext { dir: dir.to_owned(), env: sandbox.env().into_iter().collect(), globals: vec![] };
    let world = World::new(all, dir.to_owned(), Caution::ByHand);
    let range = ci_base::updates(&world, &git, base)?;
    let payload = ci_base::payload(&world, &git, &range)?;
    Ok((contents(&payload)?.0, range.note.to_string()))
}

#[test]
fn a_ci_run_reads_what_came_after_the_base_that_its_service_names() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("ci");
    let first = repo.commit("a", "1");
    let second = repo.commit("a", "2");
    let third = repo.commit("a", "3");
    let event = |text: String| {
        let path = sandbox.path("event.json");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let reads = |env: &[(&str, &str)], base: Option<&str>| {
        let (ids, note) = ci(&sandbox, &repo.dir, env, base).unwrap();
        (ids.contains(&first), ids.contains(&second), ids.contains(&third), note)
    };
    let from = |env: &[(&str, &str)]| {
        let (one, two, three, note) = reads(env, None);
        (vec![one, two, three], note)
    };
    let github = ("GITHUB_ACTIONS", "true");
    let path = event(format!(r#"{{"before":"{second}","after":"{third}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [false, false, true]);
    let path = event(format!(r#"{{"pull_request":{{"base":{{"sha":"{first}"}}}},"before":"{second}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [false, true, true]);
    let path = event(format!(r#"{{"before":"{ZERO}"}}"#));
    assert_eq!(from(&[github, ("GITHUB_EVENT_PATH", &path)]).0, [true, true, true]);
    let path = event(format!(r#"{{"before":"{second}"}}"#));
    let tag = [github, ("GITHUB_EVENT_PATH", &path), ("GITHUB_REF_TYPE", "tag")];
    assert_eq!(from(&tag).0, [true, true, true]);
    let gitlab = ("GITLAB_CI", "true");
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", &second)]).0, [false, false, true]);
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", ZERO)]).0, [true, true, true]);
    let merge = [gitlab, ("CI_COMMIT_BEFORE_SHA", ZERO), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &first)];
    assert_eq!(from(&merge).0, [false, true, true]);
    assert_eq!(from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", &second), ("CI_COMMIT_TAG", "v1")]).0, [true, true, true]);
    assert_eq!(reads(&[("CI", "true")], Some("HEAD~1")).1, false);
    // Pushed over: what was there before is gone, so that all is read.
    let (all, note) = from(&[gitlab, ("CI_COMMIT_BEFORE_SHA", "1234567890123456789012345678901234567890")]);
    assert_eq!(all, [true, true, true], "{note}");
}

#[test]
fn a_plain_ci_run_reads_from_the_fork_and_on_the_default_branch_everything() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("plain");
    let first = repo.commit("a", "1");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["remote", "set-head", "origin", "main"]);
    let plain = |wanted: &str| ci(&sandbox, &repo.dir, &[("CI", "true")], None).unwrap().0.contains(wanted);
    assert!(plain(&first), "HEAD is what the default branch is");
    repo.git(&["checkout", "-q", "-b", "topic"]);
    let second = repo.commit("a", "2");
    assert!(!plain(&first));
    assert!(plain(&second));
}

#[test]
fn a_shallow_clone_is_a_fault_that_names_the_setting() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("deep");
    let first = repo.commit("a", "1");
    let second = repo.commit("a", "2");
    repo.commit("a", "3");
    repo.commit("a", "4");
    repo.git(&["push", "-q", "origin", "main"]);
    let url = format!("file://{}", sandbox.path("deep.git").display());
    for (depth, base, whole) in [("1", &second, false), ("2", &first, false), ("4", &first, true), ("3", &second, true)]
    {
        let clone = format!("clone-{depth}");
        sandbox.git("", &["clone", "-q", "--depth", depth, &url, &clone]);
        let env = [("GITLAB_CI", "true"), ("CI_COMMIT_BEFORE_SHA", base.as_str())];
        let read = ci(&sandbox, &sandbox.path(&clone), &env, None);
        match read {
            Ok(_) => assert!(whole, "depth {depth} passes as whole"),
            Err(Fault::Shallow(what)) => {
                assert!(!whole && what.as_str().contains("GIT_DEPTH"), "depth {depth}: {what}")
            }
            Err(other) => panic!("depth {depth}: {other}"),
        }
    }
    // Without a base everything would have to be read, and it is not there.
    assert!(matches!(ci(&sandbox, &sandbox.path("clone-2"), &[("CI", "1")], None), Err(Fault::Shallow(_))));
}

#[test]
fn an_event_that_cannot_be_read_and_a_base_that_is_none_are_faults() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("bad");
    repo.commit("a", "1");
    let path = sandbox.path("event.json");
    fs::write(&path, "{").unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_PATH", path.to_str().unwrap())];
    assert!(matches!(ci(&sandbox, &repo.dir, &env, None), Err(Fault::File { .. })));
    assert!(matches!(ci(&sandbox, &repo.dir, &[], Some("no-such-revision")), Err(Fault::Unmodelled(_))));
}
