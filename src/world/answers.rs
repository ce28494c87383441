//! What git has answered in the course of one judgement.
//!
//! Promise: a question that is put again with the same words, environment and directory gets the same
//! answer without a second child, so that the stages of one judgement see one repository. Nothing is
//! kept beyond the judgement ([`super::memory`]), and no failure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bstr::ByteSlice;

use super::Environment;
use super::child::Job;
use super::git::GitFault;
use crate::command::plan::GitContext;
use crate::world::World;

/// Answers by question.
#[derive(Debug, Default)]
pub struct Answers(Mutex<BTreeMap<Question, Vec<u8>>>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    args: Vec<OsString>,
    env: Environment,
    dir: PathBuf,
}

impl Answers {
    /// The answer to a job that only asks: the remembered one, or that of `ask`.
    pub(super) fn to(&self, job: Job, ask: impl FnOnce(Job) -> Result<Vec<u8>, GitFault>) -> Result<Vec<u8>, GitFault> {
        let question = Question { args: job.args.clone(), env: job.env.clone(), dir: job.dir.clone() };
        if let Some(answer) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&question) {
            return Ok(answer.clone());
        }
        let answer = ask(job)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(question, answer.clone());
        Ok(answer)
    }
}

/// Where git says that a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The repository.
    pub git_dir: PathBuf,
    /// The one it shares refs and objects with.
    pub common_dir: PathBuf,
    /// Whether it has no work tree.
    pub is_bare: bool,
    /// Whether its history is cut off.
    pub is_shallow: bool,
    /// `sha1` or `sha256`.
    pub format: Vec<u8>,
    /// Where its objects are.
    pub objects: PathBuf,
    /// Where grafts would be.
    pub grafts: PathBuf,
    /// Where the list of commits without parents would be.
    pub shallow: PathBuf,
    /// The way from the top of the work tree to where the command works, with a slash at its end.
    pub prefix: Vec<u8>,
}

/// A setting as git lists it: its scope, and `KEY LF VALUE`.
pub type ScopedEntry = (Vec<u8>, Vec<u8>);

const WHERE: &[&str] = &[
    "rev-parse",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--is-bare-repository",
    "--is-shallow-repository",
    "--show-object-format",
    "--git-path",
    "objects",
    "--git-path",
    "info/grafts",
    "--git-path",
    "shallow",
    "--show-prefix",
];

impl World {
    /// Asks git where the repository of a command is, all at once. `None` when git's answer has not a
    /// line for each: a path with a line break.
    ///
    /// # Errors
    /// When git fails, as it does where there is no repository.
    pub fn location(&self, context: &GitContext) -> Result<Option<Location>, GitFault> {
        let answer = self.git(context, WHERE).answer()?;
        let lines: Vec<&[u8]> = answer.lines().collect();
        let [git_dir, common_dir, bare, shallow_history, format, objects, grafts, shallow, prefix] = lines.as_slice()
        else {
            return Ok(None);
        };
        let Some(paths) = paths([git_dir, common_dir, objects, grafts, shallow]) else { return Ok(None) };
        let [git_dir, common_dir, objects, grafts, shallow] = paths;
        Ok(Some(Location {
            git_dir,
            common_dir,
            is_bare: *bare == b"true",
            is_shallow: *shallow_history == b"true",
            format: format.to_vec(),
            objects,
            grafts,
            shallow,
            prefix: prefix.to_vec(),
        }))
    }

    /// Every setting in force, as git reads them: pairs of a scope (`system`, `global`, `local`,
    /// `worktree`, `command`) and `KEY LF VALUE`, or the key alone. The last [`super::git::FIXED_SETTINGS`]
    /// are our own.
    ///
    /// # Errors
    /// When git cannot read its configuration.
    pub fn settings(&self, context: &GitContext) -> Result<Vec<ScopedEntry>, GitFault> {
        let listed = self.git(context, ["config", "--list", "-z", "--show-scope", "--includes"]).answer()?;
        let mut fields = listed.split(|byte| *byte == 0);
        let mut settings = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            settings.push((scope.to_vec(), entry.to_vec()));
        }
        Ok(settings)
    }
}

fn paths<const COUNT: usize>(lines: [&&[u8]; COUNT]) -> Option<[PathBuf; COUNT]> {
    let paths: Option<Vec<PathBuf>> = lines.iter().map(|line| line.to_path().ok().map(Path::to_owned)).collect();
    paths?.try_into().ok()
}
