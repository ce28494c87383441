//! Where a git command works: its repository, index, objects and work tree, as git itself says.
//!
//! Promise: the answer is git's (`rev-parse` with the command's own directory, global options and
//! environment), so that `GIT_DIR`, `GIT_INDEX_FILE`, linked work trees, `core.worktree` and the like
//! need no model here. A directory that the command line has yet to make is told apart.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;

/// Where a git command works. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The repository's own folder (of a linked work tree: its folder there).
    pub git_dir: PathBuf,
    /// The index file; it need not exist.
    pub index: PathBuf,
    /// The object folder.
    pub objects: PathBuf,
    /// `sha1` or `sha256`.
    pub format: String,
    /// Top of the work tree; `None` where there is none.
    pub top: Option<PathBuf>,
    /// The folder that linked work trees share.
    pub common_dir: PathBuf,
    /// The commit that is checked out, in hexadecimal; `None` while there is none.
    pub head: Option<String>,
}

impl Site {
    /// Where `context` works; `None` when there is no repository.
    ///
    /// # Errors
    /// When git cannot be run, distrusts the repository, or answers in a form that is not known.
    pub fn find(world: &World, context: &GitContext) -> Result<Option<Self>, Fault> {
        let asked =
            ["rev-parse", "--path-format=absolute", "--git-dir", "--git-path", "index", "--git-path", "objects"];
        let args = asked.into_iter().chain(["--git-common-dir", "--show-object-format", "--show-toplevel", "HEAD^0"]);
        let done = world.git(context, args).run()?;
        let message = String::from_utf8_lossy(&done.stderr);
        let mut lines = done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut path = || lines.next().map(|line| PathBuf::from(OsString::from_vec(line.to_vec())));
        let (Some(git_dir), Some(index), Some(objects), Some(common_dir)) = (path(), path(), path(), path()) else {
            // Everything but the plain absence of a repository is a fault: an unsafe owner, a broken file.
            if message.contains("not a git repository") {
                return Ok(None);
            }
            return Err(Fault::Repository(SafeText::quoted(message.trim().as_bytes(), 200)));
        };
        let format = path().map(|line| line.to_string_lossy().into_owned()).unwrap_or_default();
        let top = path();
        // Without a commit git repeats the word.
        let head = path().map(|line| line.to_string_lossy().into_owned()).filter(|line| line != "HEAD^0");
        if path().is_some()
            || head.as_ref().is_some_and(|head| !is_id(head))
            || !matches!(format.as_str(), "sha1" | "sha256")
        {
            return Err(Fault::Repository("a path of the repository holds a line break".into()));
        }
        if top.is_none() && !done.status.success() && !message.contains("must be run in a work tree") {
            return Err(Fault::Repository(SafeText::quoted(message.trim().as_bytes(), 200)));
        }
        Ok(Some(Self { git_dir, index, objects, format, top, common_dir, head }))
    }
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A context whose directory exists, and how that leads to the one that was asked for.
#[derive(Debug)]
pub struct Located {
    /// The context, in the nearest existing directory.
    pub context: GitContext,
    /// What the line has yet to make below it; empty when the directory is there.
    pub missing: PathBuf,
}

impl Located {
    /// Steps up from a directory that the command line has yet to make.
    pub fn of(context: &GitContext) -> Self {
        let mut dir = context.dir.as_path();
        while !dir.is_dir() {
            match dir.parent() {
                Some(parent) => dir = parent,
                None => break,
            }
        }
        let missing = context.dir.strip_prefix(dir).unwrap_or(Path::new("")).to_owned();
        Self { context: GitContext { dir: dir.to_owned(), ..context.clone() }, missing }
    }

    /// A path or pathspec as it would be written in the existing directory. Magic pathspecs stay as
    /// they are, since they may start from the top.
    pub fn word(&self, word: &OsStr) -> OsString {
        let plain = !word.as_bytes().starts_with(b":") && !word.as_bytes().starts_with(b"/");
        if self.missing.as_os_str().is_empty() || !plain {
            return word.to_owned();
        }
        if word == "." { self.missing.clone().into_os_string() } else { self.missing.join(word).into_os_string() }
    }
}

/// `path` below `top`, symbolic links in its existing part followed as git does; `None` when it is
/// elsewhere.
pub fn below(top: &Path, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let mut parent = path.parent()?;
    let mut rest = PathBuf::from(name);
    loop {
        if let Ok(real) = fs::canonicalize(parent) {
            return real.join(rest).strip_prefix(top).ok().map(Path::to_owned);
        }
        rest = Path::new(parent.file_name()?).join(rest);
        parent = parent.parent()?;
    }
}

/// git's global options without those that say where it works, for calls whose place we set ourselves.
pub fn globals_without_place(globals: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut words = globals.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix") => {
                words.next();
            }
            Some("-c" | "--config-env" | "--attr-source") => {
                kept.push(word.clone());
                kept.extend(words.next().cloned());
            }
            Some("--bare") => {}
            Some(other) if other.starts_with("--git-dir=") || other.starts_with("--work-tree=") => {}
            Some(_) | None => kept.push(word.clone()),
        }
    }
    kept
}
