//! Random and systematic pushes, each given to git and to tyran.

use super::*;

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
        in_earnest(seed, 80);
    }
}

/// The objects of every remote, by its path.
fn everywhere(sandbox: &Sandbox) -> BTreeSet<(&'static str, String)> {
    let mut all = BTreeSet::new();
    for remote in ["rich.git", "second.git", "third.git"] {
        all.extend(objects_of(sandbox, remote).into_iter().map(|id| (remote, id)));
    }
    all
}

/// Pushes in earnest, one after another, into remotes that grow and are pushed over.
fn in_earnest(seed: u64, rounds: usize) {
    let sandbox = Sandbox::new();
    let repo = rich(&sandbox);
    repo.git(&["remote", "add", "second", sandbox.path("second.git").to_str().unwrap()]);
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut arrived_in_all = 0;
    for round in 0..rounds {
        if dice.one_in(3) {
            repo.git(&["checkout", "-q", dice.pick(&["main", "topic", "side/way"])]);
            repo.commit(dice.pick(&["a", "b", "c/d"]), format!("{seed} {round}"));
        }
        if dice.one_in(5) {
            repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", &format!("change {round}")]);
        }
        let settings = configuration(&mut dice, &sandbox);
        let mut args = arguments(&mut dice, &sandbox);
        args.retain(|word| !word.contains("dry-run") && word != "-n");
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let found = payload_of(&sandbox, &request(&repo.dir, &sandbox, &settings, &args));
        let listed = contents(&found.payload).unwrap().0;
        let before = everywhere(&sandbox);
        let output = sandbox.command("git").current_dir(&repo.dir).args(&settings).arg("push").args(&args).output();
        let after = everywhere(&sandbox);
        let arrived: BTreeSet<_> = after.difference(&before).collect();
        let missed: Vec<_> = arrived.iter().filter(|(_, id)| !listed.contains(id)).collect();
        let output = shown(&output.unwrap());
        assert!(missed.is_empty(), "git {settings:?} push {args:?} sent what was not listed: {missed:?}\n{output}");
        arrived_in_all += arrived.len();
    }
    assert!(arrived_in_all > rounds, "only {arrived_in_all} objects arrived");
}

#[test]
fn pushes_in_earnest_send_no_object_that_was_not_listed() {
    in_earnest(1, 80);
}
