//! What a push would send is worked out as git itself works it out.

mod bytes;
mod cases;
mod ci;
mod destination;
mod differential;
mod options;
mod submodules;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tyran::command::plan::{GitContext, MovedTo, PushRequest, PushVia, State};
use tyran::payload::push::args::{self, Parsed};
use tyran::payload::push::ci_base;
use tyran::payload::push::destination::Peer;
use tyran::payload::push::{Airlock, Network, PushOptions, PushPayload, Resolved, from_hook_lines, payload, resolve};
use tyran::payload::{Content, Fault, Payload};
use tyran::world::{Caution, World};

use crate::support::{Repo, Sandbox, shown};

/// One ref that leaves: url, destination, new id, old id; zeros where there is none.
type Line = (String, String, String, String);

const UNASKED: PushOptions<'static> = PushOptions { network: Network::Unasked, cache: None, airlock: Airlock::InDoubt };

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
        moved_to: MovedTo::default(),
    }
}

fn resolved(dir: &Path, sandbox: &Sandbox, globals: &[&str], args: &[&str]) -> Resolved {
    let world = World::new(sandbox.env().into_iter().collect(), dir.to_owned(), Caution::Gate);
    let options = UNASKED;
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

/// The ids of everything that was pushed into a bare repository.
fn objects_of(sandbox: &Sandbox, repository: &str) -> BTreeSet<String> {
    let listed = sandbox.git(repository, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listed.lines().map(str::to_owned).collect()
}

fn payload_of(sandbox: &Sandbox, request: &PushRequest) -> PushPayload {
    let world = World::new(sandbox.env().into_iter().collect(), request.git.dir.clone(), Caution::Gate);
    payload(&world, request, UNASKED).unwrap()
}

/// As [`compare`], where more than git sends may be predicted.
fn compare_superset(sandbox: &Sandbox, recorder: &Recorder, dir: &Path, globals: &[&str], args: &[&str]) -> Outcome {
    let (told, _, output) = recorder.observe(sandbox, dir, globals, args);
    let predicted = predicted(&resolved(dir, sandbox, globals, args));
    let missed: Vec<_> = told.difference(&predicted).collect();
    assert!(missed.is_empty(), "git {globals:?} push {args:?} sends what was not predicted: {missed:#?}\n{output}");
    if told.is_empty() { Outcome::NothingNew } else { Outcome::Sends }
}
