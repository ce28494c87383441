//! The shared collection of repository states: whatever arrives at a remote was in the payload.

use super::*;

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
        let command = text.lines().rfind(|line| line.starts_with("cmd "))?;
        if !command.contains("push") || command.contains("&&") || command.contains("commit") {
            return None;
        }
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

    fn number(&self) -> &str {
        self.name.split('-').next().unwrap()
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
            moved_to: tyran::command::plan::MovedTo::default(),
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

/// What became of a case.
#[derive(Debug)]
enum Judged {
    /// Everything that arrived was in the payload. Whether the needle is in it, too.
    Read { holds: bool },
    /// A refusal.
    Refused(Fault),
    /// A hook of the repository's own runs; what it sends is told by its name alone.
    Hook,
}

fn judge(case: &Case, sandbox: &Sandbox) -> Judged {
    let payload = case.payload();
    if payload.as_ref().is_ok_and(|found| found.resolved.hooks.iter().any(|hook| hook.file.is_some())) {
        return Judged::Hook;
    }
    let (ids, bytes) = match payload.and_then(|found| contents(&found.payload)) {
        Ok(found) => found,
        Err(fault) => return Judged::Refused(fault),
    };
    let before = case.remote_objects(sandbox);
    case.push(sandbox);
    let after = case.remote_objects(sandbox);
    let missed: Vec<_> = after.difference(&before).filter(|id| !ids.contains(*id)).collect();
    assert!(missed.is_empty(), "{}: arrived and was not in the payload: {missed:?}", case.name);
    let needle = format!("TYRANNEEDLE_{}", case.number());
    Judged::Read { holds: String::from_utf8_lossy(&bytes).contains(&needle) }
}

/// What only a refusal can answer: stores that lie, objects that are elsewhere.
const REFUSED: &[&str] = &["129", "130"];

/// Needles that are not written in plain letters; engines decode them.
const ENCODED: &[&str] = &["08", "27", "51"];

/// Controls of which a superset is read: objects that the other side has elsewhere or hides, and what is
/// taken along although git sends nothing.
const WIDER: &[&str] = &["103", "112", "113", "132"];

#[test]
fn whatever_arrives_at_a_remote_was_in_the_payload() {
    let Some(cases) = crate::support::shared("cases/publish") else { return };
    let sandbox = Sandbox::new();
    let mut scripts: Vec<_> = fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|script| {
        script.file_name().unwrap().to_str().unwrap().starts_with(|first: char| first.is_ascii_digit())
    });
    let next = std::sync::atomic::AtomicUsize::new(0);
    let read = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(script) = scripts.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let Some(case) = Case::build(script, &sandbox) else { continue };
                    let number = case.number();
                    match judge(&case, &sandbox) {
                        Judged::Hook => {}
                        Judged::Refused(fault) => assert!(REFUSED.contains(&number), "{}: {fault}", case.name),
                        Judged::Read { holds } => {
                            let as_expected = holds == case.publishes
                                || (holds && WIDER.contains(&number))
                                || (!holds && ENCODED.contains(&number));
                            assert!(
                                as_expected,
                                "{}: {}",
                                case.name,
                                if holds { "holds too much" } else { "lacks its needle" }
                            );
                            read.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                    fs::remove_dir_all(&case.root).unwrap();
                }
            });
        }
    });
    let read = read.into_inner();
    assert!(read > 60, "only {read} cases were read");
}
