//! Submodules that a push takes along (`push.recurseSubmodules`, submodule.c of 2.47 to 2.55).
//!
//! Promise: every submodule that git would push is named, with the arguments that git gives to the
//! child. git looks at commits that tracking refs do not reach, so the same is done here, although
//! those refs prove nothing: what they hide from git is not pushed either. Names and paths of
//! submodules are not told apart: a commit that is in a submodule counts for it wherever it stands.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use crate::command::plan::{GitContext, MovedTo, PushRequest, PushVia, State};
use crate::payload::{Fault, ObjectId};
use crate::world::{Environment, World};

use super::refs::object_id;
use super::repository::Repository;
use super::target::Target;

/// Variables about one repository, which git keeps from a child in another (`local_repo_env`).
const LOCAL: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// The pushes that git would start in submodules for these new ids.
///
/// # Errors
/// When git cannot be asked.
pub fn pushes(
    world: &World,
    repository: &Repository,
    target: &Target,
    tips: &[ObjectId],
    push_options: &[BString],
) -> Result<Vec<PushRequest>, Fault> {
    if repository.place.bare || tips.is_empty() {
        return Ok(Vec::new());
    }
    let gitlinks = changed_gitlinks(world, repository, &target.remote.name, tips)?;
    if gitlinks.ids.is_empty() {
        return Ok(Vec::new());
    }
    let paths: BTreeSet<BString> = gitlinks.paths.iter().cloned().chain(named_paths(world, repository)?).collect();
    let mut requests = Vec::new();
    for path in paths {
        let git = context(repository, &path);
        if git.dir.join(".git").exists() && has_unpushed(world, &git, &gitlinks.ids)? {
            let args = arguments(target, push_options).into_iter().map(Some).collect();
            requests.push(PushRequest {
                git,
                args,
                state: State::AsNow,
                moved_to: MovedTo::default(),
                via: PushVia::Push,
            });
        }
    }
    Ok(requests)
}

/// How git runs in each submodule that the work tree has.
///
/// # Errors
/// When git cannot be asked.
pub fn populated(world: &World, repository: &Repository) -> Result<Vec<GitContext>, Fault> {
    let contexts = named_paths(world, repository)?.into_iter().map(|path| context(repository, &path));
    Ok(contexts.filter(|git| git.dir.join(".git").exists()).collect())
}

/// Commits of submodules that new commits name, and where.
#[derive(Default)]
struct Gitlinks {
    ids: BTreeSet<ObjectId>,
    paths: BTreeSet<BString>,
}

fn changed_gitlinks(
    world: &World,
    repository: &Repository,
    remote: &BString,
    tips: &[ObjectId],
) -> Result<Gitlinks, Fault> {
    let mut wanted = String::new();
    for tip in tips {
        wanted.push_str(&format!("{tip}\n"));
    }
    let not_remote = OsString::from_vec([b"--remotes=", remote.as_slice()].concat());
    let words = [OsStr::new("rev-list"), OsStr::new("--stdin"), OsStr::new("--not"), &not_remote];
    let commits = world.git(&repository.git, words).input(wanted.into_bytes()).stdout()?;
    if commits.is_empty() {
        return Ok(Gitlinks::default());
    }
    let words = [
        "diff-tree",
        "--stdin",
        "-r",
        "-m",
        "--root",
        "--raw",
        "-z",
        "--no-renames",
        "--no-commit-id",
        "--no-abbrev",
        "--no-ext-diff",
        "--ignore-submodules=none",
    ];
    let changes = world.git(&repository.git, words).input(commits).stdout()?;
    let mut gitlinks = Gitlinks::default();
    let mut fields = changes.split_str("\0");
    while let Some(field) = fields.next() {
        // `:old-mode new-mode old-id new-id status`, then the path.
        let mut parts = field.strip_prefix(b":").unwrap_or_default().split_str(" ").skip(1);
        if let (Some(b"160000"), Some(_), Some(id)) = (parts.next(), parts.next(), parts.next()) {
            gitlinks.ids.insert(object_id(id)?);
            gitlinks.paths.extend(fields.next().map(BString::from));
        }
    }
    Ok(gitlinks)
}

/// Paths of submodules as the work tree names them now.
fn named_paths(world: &World, repository: &Repository) -> Result<Vec<BString>, Fault> {
    let file = repository.place.dir.join(".gitmodules");
    if !file.exists() {
        return Ok(Vec::new());
    }
    let words = [
        OsStr::new("config"),
        OsStr::new("-z"),
        OsStr::new("--file"),
        file.as_os_str(),
        OsStr::new("--get-regexp"),
        OsStr::new(r"^submodule\..*\.path$"),
    ];
    let listed = world.git(&repository.git, words).run()?;
    let entries = listed.stdout.split_str("\0").filter_map(|entry| entry.split_once_str("\n"));
    Ok(entries.map(|(_, path)| path.into()).collect())
}

/// How git runs in a submodule: its own repository, but settings of the command line come along.
fn context(repository: &Repository, path: &BString) -> GitContext {
    let env: Environment = repository
        .git
        .env
        .iter()
        .filter(|(name, _)| !LOCAL.iter().any(|local| *name == local))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut globals = Vec::new();
    let mut words = repository.git.globals.iter();
    while let Some(word) = words.next() {
        if word == "-c" || word == "--config-env" {
            globals.extend([word.clone()].into_iter().chain(words.next().cloned()));
        } else if word.as_encoded_bytes().starts_with(b"--config-env=") {
            globals.push(word.clone());
        } else if word == "-C" {
            words.next();
        }
    }
    let path: PathBuf = OsString::from_vec(path.to_vec()).into();
    GitContext { dir: repository.place.dir.join(path), env, globals }
}

/// Whether a submodule has one of the commits, has tracking refs, and none of them reaches it.
fn has_unpushed(world: &World, git: &GitContext, ids: &BTreeSet<ObjectId>) -> Result<bool, Fault> {
    let tracking = world.git(git, ["for-each-ref", "--count=1", "--format=%(objectname)", "refs/remotes/"]).stdout()?;
    if tracking.is_empty() {
        return Ok(false);
    }
    let mut input = String::new();
    for id in ids {
        input.push_str(&format!("{id}\n"));
    }
    let words = ["rev-list", "--ignore-missing", "-n", "1", "--stdin", "--not", "--remotes"];
    let unpushed = world.git(git, words).input(input.into_bytes()).stdout()?;
    Ok(!unpushed.is_empty())
}

/// What git gives to its child. The remote and the refspecs only where the remote has a name.
fn arguments(target: &Target, push_options: &[BString]) -> Vec<OsString> {
    let mut words = vec![OsString::from("--recurse-submodules=only-is-on-demand")];
    let mut word = |text: Vec<u8>| words.push(OsString::from_vec(text));
    for option in push_options {
        word([b"--push-option=", option.as_slice()].concat());
    }
    if target.remote.configured {
        word(target.remote.name.to_vec());
        for refspec in &target.wanted.refspecs {
            word(refspec.raw.to_vec());
        }
        if target.wanted.refspecs.is_empty() {
            word(b":".to_vec());
        }
    }
    words
}
