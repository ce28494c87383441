//! A scratch index and object folder, on which staging is done as git would do it.
//!
//! Promise: the user's index, objects, refs and files are never written. The scratch index starts as
//! an exact copy, its time included (an index that looks younger than it is hides changes of the same
//! second); new objects go to the scratch folder, which refers to the real one for the others. Every
//! content that could be recorded but is not in the final tree is kept as a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::command::plan::{GitContext, WrittenFile};
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;
use crate::world::git::GitCall;
use crate::world::scratch::Scratch;

use super::laid::Others;
use super::programs::Programs;
use super::site::{Located, Site, globals_without_place};

/// Content that a path will have, though the disk does not show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Laid {
    /// This blob, in hexadecimal.
    Blob(String),
    /// Nothing that is known.
    Unknown,
    /// The file will be gone.
    Gone,
}

/// The scratch index, and what is known of the files around it.
#[derive(Debug)]
pub struct Stage<'a> {
    pub(in crate::payload) world: &'a World,
    pub(in crate::payload) site: Site,
    pub(in crate::payload) top: PathBuf,
    /// At the top of the work tree, with the scratch index and objects.
    pub(in crate::payload) context: GitContext,
    /// As the command itself would see the repository.
    pub(in crate::payload) real: GitContext,
    pub(in crate::payload) scratch: Arc<Scratch>,
    pub(in crate::payload) programs: Programs,
    /// The commit that would be the parent, in hexadecimal; `None` while unborn.
    pub(in crate::payload) head: Option<String>,
    /// Paths below the top whose content will differ from the disk.
    pub(in crate::payload) laid: BTreeMap<BString, Laid>,
    /// What such a path may hold instead, where a branch of the line decides.
    pub(super) others: BTreeMap<BString, Others>,
    /// What the line has written so far, wherever it lies.
    pub(super) written: BTreeMap<PathBuf, WrittenFile>,
    /// How often its rules were laid.
    pub(super) rules_made: usize,
    /// The last write of the line that is laid.
    pub(super) laid_until: Option<u64>,
    /// Trees that could be recorded beside the final one.
    pub(in crate::payload) snapshots: BTreeSet<String>,
    /// Revisions whose content could be taken over.
    pub(in crate::payload) tips: BTreeSet<String>,
    /// Commits whose content, but not whose message, could be taken over (a stash).
    pub(super) taken: BTreeSet<String>,
    /// Whether the messages of `tips` and of what they bring come into the message (`merge --squash`).
    pub(super) squashed: bool,
    /// The index and what was laid before the line stashed them.
    pub(super) stashed: Vec<super::stash::Stashed>,
    /// Files whose text could become content (patches).
    pub(in crate::payload) files: BTreeSet<PathBuf>,
    pub(in crate::payload) notes: Vec<SafeText>,
    pub(in crate::payload) unseen: Vec<SafeText>,
    pub(in crate::payload) exact: bool,
    /// Whether the repository itself is yet to be made by the line.
    pub(in crate::payload) fresh: bool,
}

impl<'a> Stage<'a> {
    /// Opens the scratch place for a commit.
    ///
    /// # Errors
    /// When git cannot say where the command works, or the scratch place cannot be made.
    pub fn open(world: &'a World, git: &GitContext) -> Result<Self, Fault> {
        let located = Located::of(git);
        let found = Site::find(world, &located.context)?;
        let scratch = Scratch::new().map_err(|error| scratch_fault(&error))?;
        let fresh = found.is_none();
        let site = match found {
            Some(site) => site,
            None => Site::fresh(world, &located.context, scratch.path())?,
        };
        let Some(top) = site.top.clone() else {
            return Err(Fault::GitRefuses("a commit in a repository without a work tree".into()));
        };
        let context = scratch_context(&located.context, &site, &top, scratch.path())?;
        let programs = Programs::read(world, &context)?;
        let mut stage = Self {
            world,
            top,
            context,
            real: located.context,
            scratch: Arc::new(scratch),
            programs,
            head: None,
            laid: BTreeMap::new(),
            others: BTreeMap::new(),
            written: BTreeMap::new(),
            rules_made: 0,
            laid_until: None,
            snapshots: BTreeSet::new(),
            tips: BTreeSet::new(),
            taken: BTreeSet::new(),
            squashed: false,
            stashed: Vec::new(),
            files: BTreeSet::new(),
            notes: Vec::new(),
            unseen: Vec::new(),
            exact: true,
            fresh,
            site,
        };
        stage.head.clone_from(&stage.site.head);
        Ok(stage)
    }

    /// A call of git at the top of the work tree, on the scratch index and objects.
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> GitCall<'_> {
        self.git_in(&self.context, args)
    }

    /// The same where a step of the line runs.
    pub fn git_in<'s, S: AsRef<OsStr>>(
        &'s self,
        context: &'s GitContext,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'s> {
        let args = self.programs.off.iter().cloned().chain(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let mut call = self.world.git(context, args);
        for (name, value) in self.programs.variables() {
            call = call.var(name, value);
        }
        for name in ["GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            if let Some(value) = self.context.env.get(OsStr::new(name)) {
                call = call.var(name, value);
            }
        }
        if self.fresh {
            call = call.var("GIT_DIR", &self.site.git_dir).var("GIT_WORK_TREE", &self.top);
        }
        call
    }

    /// The object that a revision names, in hexadecimal; `None` when it names none. `kind` peels.
    ///
    /// # Errors
    /// When git cannot be run.
    pub fn resolve(&self, revision: &OsStr, kind: &str) -> Result<Option<String>, Fault> {
        let mut peeled = revision.to_owned();
        peeled.push(format!("^{{{kind}}}"));
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"].map(OsString::from);
        let done = self.git(args.into_iter().chain([peeled])).with_replacements().run()?;
        let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok((done.status.success() && !text.is_empty()).then_some(text))
    }

    /// The blob that staging `bytes` at `path` would make, written to the scratch objects.
    ///
    /// # Errors
    /// When git cannot make it.
    pub fn hash(&self, bytes: Vec<u8>, path: &BString) -> Result<String, Fault> {
        let mut option = OsString::from("--path=");
        option.push(path.to_os_str_lossy());
        let call = self.git([OsString::from("hash-object"), "-w".into(), "--stdin".into(), option]);
        Ok(text(&call.input(bytes).stdout()?))
    }

    /// Which of the laid paths `pathspecs` match, as git matches them in `context`; all without any.
    ///
    /// # Errors
    /// When git cannot be run; pathspecs that it refuses match nothing.
    pub fn laid_matching(&self, context: &GitContext, pathspecs: &[OsString]) -> Result<Vec<BString>, Fault> {
        if self.laid.is_empty() || pathspecs.is_empty() {
            return Ok(self.laid.keys().cloned().collect());
        }
        let index = self.scratch.path().join("laid");
        let blank = self.hash(Vec::new(), &BString::from("x"))?;
        let lines = self.laid.keys().map(|path| (path, blank.as_str()));
        self.git(["update-index", "-z", "--index-info"])
            .var("GIT_INDEX_FILE", &index)
            .input(index_info(lines))
            .stdout()?;
        let args = ["ls-files", "-z", "--full-name", "--"].map(OsString::from);
        let call = self.git_in(context, args.into_iter().chain(pathspecs.iter().cloned()));
        let done = call.var("GIT_INDEX_FILE", &index).run();
        let _ = fs::remove_file(&index);
        let done = done?;
        Ok(if done.status.success() { nul_separated(&done.stdout) } else { Vec::new() })
    }

    /// Enters laid content into the scratch index; what is gone leaves it. Where a path may hold something
    /// else as well, that is kept as a snapshot.
    ///
    /// # Errors
    /// When the index cannot be written.
    pub fn enter(&mut self, paths: &[BString]) -> Result<(), Fault> {
        let others: Vec<&Others> = paths.iter().filter_map(|path| self.others.get(path)).collect();
        let rounds = others.iter().map(|others| others.contents.len()).max().unwrap_or_default();
        if others.iter().any(|others| others.or_as_on_disk) {
            self.exact = false;
            self.snapshot()?;
        }
        for round in 0..rounds {
            let laid: Vec<(BString, Laid)> = paths
                .iter()
                .filter_map(|path| Some((path.clone(), self.others.get(path)?.contents.get(round)?.clone())))
                .collect();
            self.enter_these(&laid)?;
            self.exact = false;
            self.snapshot()?;
        }
        let laid: Vec<(BString, Laid)> =
            paths.iter().filter_map(|path| Some((path.clone(), self.laid.get(path)?.clone()))).collect();
        self.enter_these(&laid)
    }

    /// Whether one of the paths may hold what the disk holds, and not what is laid.
    pub(super) fn may_be_as_on_disk(&self, paths: &[BString]) -> bool {
        paths.iter().any(|path| self.others.get(path).is_some_and(|others| others.or_as_on_disk))
    }

    fn enter_these(&mut self, laid: &[(BString, Laid)]) -> Result<(), Fault> {
        let mut lines = Vec::new();
        let mut gone = Vec::new();
        for (path, laid) in laid {
            match laid {
                Laid::Blob(oid) => lines.push((path, oid.as_str())),
                Laid::Unknown => {
                    let name = SafeText::quoted(path, 200);
                    let what = SafeText::new(&format!("{name}, which the line writes before it is staged"));
                    if !self.unseen.contains(&what) {
                        self.unseen.push(what);
                    }
                    self.exact = false;
                }
                Laid::Gone => gone.push(path),
            }
        }
        if !lines.is_empty() {
            // A nested repository gives way to the files in its place.
            self.git(["update-index", "--replace", "-z", "--index-info"]).input(index_info(lines)).stdout()?;
        }
        if !gone.is_empty() {
            let list: Vec<u8> = gone.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
            self.git(["update-index", "--force-remove", "-z", "--stdin"]).input(list).stdout()?;
        }
        Ok(())
    }

    /// Whether the line changes this path below the top.
    pub fn covers(&self, path: &Path) -> bool {
        self.laid.contains_key(path.as_os_str().as_bytes().as_bstr())
    }

    /// Paths of the scratch index, of those given.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tracked_of(&self, paths: &[BString]) -> Result<Vec<BString>, Fault> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let tracked: BTreeSet<BString> = nul_separated(&self.git(["ls-files", "-z"]).stdout()?).into_iter().collect();
        Ok(paths.iter().filter(|path| tracked.contains(*path)).cloned().collect())
    }

    /// Stages the work tree of the tracked files that `pathspecs` match, all without any.
    ///
    /// # Errors
    /// When the index cannot be written. Pathspecs that match nothing are git's to complain of.
    pub fn update_tracked(&mut self, context: &GitContext, pathspecs: &[OsString]) -> Result<(), Fault> {
        let laid = self.laid_matching(context, pathspecs)?;
        let laid = self.tracked_of(&laid)?;
        let args = ["add", "-u", "--"].map(OsString::from);
        let done = self.git_in(context, args.into_iter().chain(pathspecs.iter().cloned())).run()?;
        if !done.status.success() {
            self.complaint(&done.stderr);
        }
        self.enter(&laid)
    }

    /// Keeps what the index holds now as something that could be recorded.
    ///
    /// # Errors
    /// When the tree cannot be written.
    pub fn snapshot(&mut self) -> Result<(), Fault> {
        if let Some(tree) = self.write_tree()? {
            self.snapshots.insert(tree);
        }
        Ok(())
    }

    /// The tree of the scratch index; `None` when it holds unmerged paths.
    ///
    /// # Errors
    /// When it cannot be written for another reason.
    pub fn write_tree(&self) -> Result<Option<String>, Fault> {
        let done = self.git(["write-tree", "--missing-ok"]).run()?;
        if done.status.success() {
            return Ok(Some(text(&done.stdout)));
        }
        if !self.git(["ls-files", "-u", "-z"]).stdout()?.is_empty() {
            return Ok(None);
        }
        Err(Fault::Plumbing(SafeText::quoted(&done.stderr, 200)))
    }

    /// A complaint of git's about a staging step, kept as a note: the line may go on without it.
    pub fn complaint(&mut self, stderr: &[u8]) {
        let first = stderr.lines().next().unwrap_or_default();
        if !first.is_empty() {
            self.notes.push(SafeText::new(&format!("staging: {}", SafeText::quoted(first, 200))));
        }
        self.exact = false;
    }
}

impl Site {
    /// The place of a repository that the line has yet to make.
    fn fresh(world: &World, context: &GitContext, scratch: &Path) -> Result<Self, Fault> {
        let git_dir = scratch.join("repository");
        world
            .git(context, ["init", "-q", "--template="])
            .var("GIT_DIR", &git_dir)
            .var("GIT_WORK_TREE", &context.dir)
            .stdout()?;
        let top = fs::canonicalize(&context.dir).map_err(|error| scratch_fault(&error))?;
        let format = world
            .git(context, ["rev-parse", "--show-object-format"])
            .var("GIT_DIR", &git_dir)
            .var("GIT_WORK_TREE", &context.dir)
            .stdout()?;
        Ok(Self {
            index: git_dir.join("index"),
            objects: git_dir.join("objects"),
            common_dir: git_dir.clone(),
            git_dir,
            head: None,
            format: text(&format),
            top: Some(top),
        })
    }
}

/// The context of calls at the top of the work tree, with scratch index and objects made ready.
fn scratch_context(context: &GitContext, site: &Site, top: &Path, scratch: &Path) -> Result<GitContext, Fault> {
    let objects = scratch.join("objects");
    fs::create_dir_all(objects.join("info"))
        .and_then(|()| fs::write(objects.join("info/alternates"), alternates_line(&site.objects)))
        .and_then(|()| copy_with_time(&site.index, &scratch.join("index")))
        .map_err(|error| scratch_fault(&error))?;
    let mut env = context.env.clone();
    for (name, value) in [
        ("GIT_DIR", site.git_dir.as_path()),
        ("GIT_WORK_TREE", top),
        ("GIT_INDEX_FILE", &scratch.join("index")),
        ("GIT_OBJECT_DIRECTORY", &objects),
    ] {
        env.insert(name.into(), value.into());
    }
    Ok(GitContext { dir: top.to_owned(), env, globals: globals_without_place(&context.globals) })
}

/// The line of an alternates file; a path with special characters is quoted as git reads it.
fn alternates_line(objects: &Path) -> Vec<u8> {
    let path = objects.as_os_str().as_bytes();
    let mut line = Vec::with_capacity(path.len() + 3);
    line.push(b'"');
    for byte in path {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            _ => line.push(*byte),
        }
    }
    line.extend_from_slice(b"\"\n");
    line
}

/// Copies a file and its modification time, both of the same open file since git replaces an index by
/// renaming; one that is not there stays so.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = match File::open(from) {
        Ok(from) => from,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut to = File::create(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(from.metadata()?.modified()?)
}

/// Lines for `update-index -z --index-info`.
fn index_info<'p>(lines: impl IntoIterator<Item = (&'p BString, &'p str)>) -> Vec<u8> {
    let mut input = Vec::new();
    for (path, oid) in lines {
        input.extend_from_slice(format!("100644 {oid} 0\t").as_bytes());
        input.extend_from_slice(path);
        input.push(0);
    }
    input
}

/// Paths out of a `-z` list.
pub fn nul_separated(list: &[u8]) -> Vec<BString> {
    list.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(BString::from).collect()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_owned()
}

pub(super) fn scratch_fault(error: &io::Error) -> Fault {
    Fault::File { path: "scratch space for staging".into(), what: error.to_string().into() }
}
