//! What the line puts into a repository by hand, or in the place of one: copies, links, files of git's own.
//!
//! Promise: a push after it is planned for what the repository may then hold, and everything of a repository
//! of this machine that is put where a command runs joins what is published there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::git_globals::{self, Place};
use super::meaning::{Changed, Meaning, Scene};
use super::plan::{Content, GitContext, WrittenFile};
use super::simple::to_os_string;

/// The repository that a path is, lies in the git directory of, or is the git directory of.
pub(super) fn repository_at(path: &Path) -> Option<PathBuf> {
    let is_one = |path: &Path| {
        let context = GitContext { dir: path.to_owned(), env: Default::default(), globals: Vec::new() };
        git_globals::find(&context).is_some_and(|place| place.git_dir.starts_with(path))
    };
    if path.join(".git").symlink_metadata().is_ok() {
        return Some(path.to_owned());
    }
    if let Some(inside) = path.ancestors().find(|above| above.file_name() == Some(OsStr::new(".git"))) {
        return inside.parent().map(Path::to_owned).filter(|top| top.join(".git").exists());
    }
    // A bare one, or a folder with repositories right below.
    if path.join("HEAD").is_file() && is_one(path) { Some(path.to_owned()) } else { None }
}

/// A path as it is on disk, as far as it is there.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut above = path;
    loop {
        if let Ok(found) = above.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (above.file_name(), above.parent()) {
            (Some(name), Some(parent)) => {
                missing.push(name);
                above = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Where a push runs, as far as it is there.
struct Here {
    dir: PathBuf,
    place: Option<Place>,
    git_dirs: Vec<PathBuf>,
}

impl Here {
    fn of(git: &GitContext) -> Self {
        let dir = real(&git_globals::directory(&git.dir, &git.globals));
        let place = git_globals::find(git).filter(|_| dir.exists());
        let git_dirs = place.iter().flat_map(|place| [real(&place.git_dir), real(&place.common_dir())]).collect();
        Self { dir, place, git_dirs }
    }

    /// Whether what is put at `to` may be, or change, the repository.
    fn is_touched_by(&self, to: &Path) -> bool {
        let is_git_file = to.file_name() == Some(OsStr::new(".git"));
        self.place.is_none()
            || self.dir.starts_with(to)
            || is_git_file && to.parent().is_some_and(|parent| self.dir.starts_with(parent))
            || self.git_dirs.iter().any(|git_dir| git_dir.starts_with(to) || to.starts_with(git_dir))
    }
}

/// The repository that a file of the line leads to, when it stands in one's place.
fn led_to(file: &WrittenFile) -> Vec<PathBuf> {
    let parent = file.path.parent().unwrap_or(Path::new("/"));
    let is_git_file = file.path.file_name() == Some(OsStr::new(".git"));
    let mut found = Vec::new();
    for content in &file.contents {
        match content {
            Content::CopyOf(from) => found.extend(repository_at(from)),
            Content::Bytes(bytes) | Content::Appended(bytes) if is_git_file => {
                let target = bytes.strip_prefix(b"gitdir:").map(|target| parent.join(to_os_string(target.trim())));
                found.extend(target.and_then(|target| repository_at(&real(&target))));
            }
            Content::Bytes(bytes) | Content::Appended(bytes) if file.path.ends_with("objects/info/alternates") => {
                let folders = bytes.lines().map(|line| parent.join("..").join(to_os_string(line)));
                found.extend(folders.filter_map(|folder| repository_at(&real(&folder))));
            }
            Content::Bytes(_) | Content::Appended(_) | Content::MadeOf { .. } | Content::Unknown | Content::Gone => {}
        }
    }
    found
}

/// Whether what a file of the line holds may be a repository, or take one away.
fn may_hold_repository(file: &WrittenFile) -> bool {
    let is_git_file = file.path.file_name() == Some(OsStr::new(".git"));
    file.contents.iter().any(|content| match content {
        Content::CopyOf(from) => is_git_file || repository_at(from).is_some(),
        Content::Bytes(_) | Content::Appended(_) | Content::MadeOf { .. } | Content::Unknown => is_git_file,
        Content::Gone => true,
    })
}

/// Whether a file of a git directory decides nothing of what a push sends.
fn is_harmless(below: &Path) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    match first.as_deref() {
        Some("info") => !below.ends_with("grafts"),
        Some(name) => {
            matches!(name, "hooks" | "description" | "COMMIT_EDITMSG" | "MERGE_MSG" | "SQUASH_MSG" | "TAG_EDITMSG")
        }
        None => false,
    }
}

/// Whether a file of a git directory says where a push goes.
fn is_configuration(below: &Path) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    first
        .is_none_or(|name| matches!(name.as_str(), "config" | "config.worktree" | "remotes" | "branches" | "commondir"))
}

impl Meaning {
    /// What the line has put into a repository by hand: how much may have changed, and the revisions that
    /// it wrote there.
    pub(super) fn by_hand(&self, scene: &Scene<'_, '_>, git: &GitContext) -> (Changed, Vec<OsString>) {
        let written = scene.shell.written();
        let mut changed = Changed::Nothing;
        let mut revisions = Vec::new();
        let edited = scene.shell.edited();
        if written.is_empty() && edited.is_empty() && self.incoming.copied.is_empty() {
            return (changed, revisions);
        }
        let here = Here::of(git);
        for path in edited.iter().map(|path| real(path)) {
            let below = here.git_dirs.iter().find_map(|git_dir| path.strip_prefix(git_dir).ok());
            changed = changed.max(match below {
                Some(below) if is_harmless(below) => Changed::Nothing,
                Some(below) if is_configuration(below) => Changed::Anything,
                Some(_) => Changed::Content,
                None => Changed::Nothing,
            });
        }
        for file in &written {
            let path = real(&file.path);
            let below = here.git_dirs.iter().find_map(|git_dir| path.strip_prefix(git_dir).ok());
            match below {
                Some(below) if is_harmless(below) => {}
                Some(below) if is_configuration(below) => changed = Changed::Anything,
                Some(_) => {
                    changed = changed.max(Changed::Content);
                    for bytes in file.contents.iter().filter_map(|content| match content {
                        Content::Bytes(bytes) | Content::Appended(bytes) => Some(bytes),
                        Content::CopyOf(_) | Content::MadeOf { .. } | Content::Unknown | Content::Gone => None,
                    }) {
                        let ids = bytes
                            .fields()
                            .filter(|word| matches!(word.len(), 40 | 64) && word.iter().all(u8::is_ascii_hexdigit));
                        revisions.extend(ids.map(to_os_string));
                    }
                }
                None if here.place.is_some() && here.is_touched_by(&path) && may_hold_repository(file) => {
                    changed = Changed::Anything;
                }
                None => {}
            }
        }
        let brings = |(from, paths): &(PathBuf, Vec<PathBuf>)| {
            paths.iter().any(|path| path != from && here.place.is_some() && here.is_touched_by(&real(path)))
        };
        if self.incoming.copied.iter().any(brings) {
            changed = Changed::Anything;
        }
        (changed, revisions)
    }

    /// Repositories of this machine that the line puts where a command runs.
    fn put_here(&self, scene: &Scene<'_, '_>, git: &GitContext) -> Vec<PathBuf> {
        let written = scene.shell.written();
        let here = Here::of(git);
        let own = |from: &Path| {
            here.place.as_ref().and_then(|place| place.top.as_deref()).is_some_and(|top| real(top) == real(from))
        };
        let mut found: Vec<PathBuf> = written
            .iter()
            .filter(|file| here.is_touched_by(&real(&file.path)) || is_put_around(&here, file))
            .flat_map(led_to)
            .collect();
        // Small files are carried as bytes; where they come from is known all the same.
        let copies = self.copies.iter().filter(|(to, _)| here.git_dirs.iter().any(|dir| real(to).starts_with(dir)));
        found.extend(copies.filter_map(|(_, from)| repository_at(from)));
        for (from, paths) in &self.incoming.copied {
            let into_here = |path: &PathBuf| path != from && here.is_touched_by(&real(path));
            if here.place.is_none() || paths.iter().any(into_here) {
                found.push(from.clone());
            }
        }
        found.retain(|from| !own(from));
        found.sort();
        found.dedup();
        found
    }

    /// Files of clones that the line makes and whose git directory it takes away are files of the work tree around.
    pub(super) fn take_unbound_clones(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext) {
        if self.cloned.is_empty() && !self.incoming.cloned_from_afar {
            return;
        }
        let is_unbound = |file: &WrittenFile| {
            file.path.file_name() == Some(OsStr::new(".git"))
                && file.contents.contains(&Content::Gone)
                && !file.path.parent().is_some_and(Path::exists)
        };
        if !scene.shell.written().iter().any(is_unbound) {
            return;
        }
        for source in self.cloned.clone() {
            self.take_repository(scene, git, &source, false);
        }
        if self.incoming.cloned_from_afar {
            scene.later("files of a clone that is not made yet");
        }
    }

    /// Whether the line may put a repository where a command runs.
    pub(super) fn may_be_put_here(&self, scene: &Scene<'_, '_>, git: &GitContext) -> bool {
        (!self.incoming.copied.is_empty() || !scene.shell.written().is_empty()) && !self.put_here(scene, git).is_empty()
    }

    /// Reads what the line puts where a command runs. Whether it puts anything there.
    pub(super) fn take_put(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext) -> bool {
        if self.incoming.copied.is_empty() && !self.incoming.unpacked && scene.shell.written().is_empty() {
            return false;
        }
        let sources = self.put_here(scene, git);
        let nothing_there = Here::of(git).place.is_none();
        if nothing_there && sources.is_empty() && self.incoming.unpacked && !self.is_making_repositories() {
            scene.unknown("a repository that comes out of an archive");
        }
        for source in &sources {
            self.take_repository(scene, git, source, true);
        }
        !sources.is_empty()
    }
}

/// Whether a folder with a repository in it goes right into the work tree's own folder.
fn is_put_around(here: &Here, file: &WrittenFile) -> bool {
    let top = here.place.as_ref().and_then(|place| place.top.as_deref());
    top.is_some_and(|top| real(&file.path).parent() == Some(real(top).as_path()))
        && file.contents.iter().any(|content| matches!(content, Content::CopyOf(from) if from.ends_with(".git")))
}
