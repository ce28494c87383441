//! What the line makes, or brings in, beside the commits that it records.
//!
//! Promise: a stash of the line, an object that it writes, a ref or a repository that it puts in place by
//! hand, and what it fetches from another repository of this machine join every later publish that may
//! hold them; a push that cannot stays what it is. What the line brings in and nobody can read is said.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::git_globals::{self, Place};
use super::git_table::{self, grammar};
use super::git_verbs::{args as words_of, below};
use super::meaning::{Changed, Meaning, Scene};
use super::options::Arg;
use super::plan::{
    CommitRequest, Content, GitContext, MovedTo, Publish, PushRequest, PushVia, State, UploadRequest, WidestRequest,
    WrittenFile,
};
use super::simple::{FileSeen, Stdin, Value, to_os_string};
use crate::text::SafeText;

/// What the line has made or brought in so far.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Its stashes, as the commits that they are.
    stashes: Vec<CommitRequest>,
    /// Whether a later command names one, so that any publish may hold it.
    stash_named: bool,
    fetched: Vec<Fetched>,
    /// Whether a later command may have put what was fetched somewhere.
    fetched_named: bool,
    /// Repositories that a program copies or packs, with all the paths that it was given.
    copied: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Whether an archive is unpacked, which may hold a repository.
    unpacked: bool,
    /// Remotes that the line makes.
    remotes: Vec<(BString, BString)>,
    /// Texts that the line writes as objects.
    texts: Vec<BString>,
    /// Files that it writes as objects.
    files: Vec<PathBuf>,
    /// What writes objects whose bytes are not known.
    unread: Option<SafeText>,
    /// Whether commits are made anew by code that writes files.
    rewritten: bool,
    /// Whether something is staged that no commit of the line has recorded.
    staged: bool,
    /// Whether git may have moved `ORIG_HEAD` and its like.
    moved_heads: bool,
    /// Repositories that are read already.
    taken: Vec<PathBuf>,
}

/// What is fetched from a repository of this machine.
#[derive(Debug)]
struct Fetched {
    /// The git directory that it comes into.
    into: Option<PathBuf>,
    /// The remote by whose name it was fetched.
    remote: Option<BString>,
    /// Where it comes from.
    from: PathBuf,
    /// Whether it comes into the current branch.
    in_branch: bool,
}

/// Whether a word may stand for a stash, or for all refs.
fn names_stash(word: &[u8]) -> bool {
    ["stash", ":/", "^{/", "refs/*"].iter().any(|part| word.contains_str(part)) || word.starts_with(b"--mi")
}

/// Whether a word names a ref of git's own, which moves with what git does.
fn names_own_head(word: &[u8]) -> bool {
    word.contains_str("_HEAD") || word.contains_str("AUTO_MERGE")
}

impl Incoming {
    /// Takes notice of what a git command may do to what came in before it.
    pub(super) fn note_words(&mut self, verb: &str, words: &[Value]) {
        let reads = git_table::READS.split_ascii_whitespace().any(|known| known == verb);
        if !self.stashes.is_empty() && verb != "stash" {
            self.stash_named |= words.iter().any(|word| match word.known() {
                Some(word) => {
                    names_stash(word) || word == "--all" && matches!(verb, "bundle" | "fast-export" | "pack-objects")
                }
                None => !reads,
            });
        }
        let keeps_refs = matches!(
            verb,
            "push" | "fetch" | "add" | "commit" | "stash" | "config" | "remote" | "rm" | "mv" | "clean" | "hash-object"
        );
        self.fetched_named |= !reads && !keeps_refs;
        self.moved_heads |= !reads && verb != "push";
        match verb {
            "add" | "stage" | "update-index" | "apply" | "read-tree" | "restore" | "rm" | "mv" => self.staged = true,
            "commit" => self.staged = false,
            _ => {}
        }
    }

    /// A remote that the line makes, or leads elsewhere.
    pub(super) fn add_remote(&mut self, name: &BStr, url: &BStr) {
        self.remotes.push((name.into(), url.into()));
    }

    /// Commits are made anew by code that may write anything into them.
    pub(super) fn rewrites(&mut self) {
        self.rewritten = true;
    }

    /// A stash, as the commit that it is.
    pub(super) fn stashed(&mut self, request: CommitRequest) {
        self.stashes.push(request);
    }

    /// Objects are written from the standard input.
    fn object_of_input(&mut self, stdin: &Stdin) {
        match stdin {
            Stdin::Text(text) => self.texts.push(text.clone().into()),
            Stdin::Empty => {}
            Stdin::File(path) if path.is_file() => self.files.push(path.clone()),
            Stdin::File(_) | Stdin::Inherited | Stdin::Names { .. } | Stdin::Unknown(_) => {
                self.unread = Some("an object whose bytes are not known".into());
            }
        }
    }

    /// A program that copies whole folders, packs or unpacks them.
    pub(super) fn copies(&mut self, scene: &Scene<'_, '_>, name: &BStr, words: &[Value]) {
        let packs =
            matches!(name.as_bytes(), b"tar" | b"gtar" | b"bsdtar" | b"cpio" | b"pax" | b"zip" | b"7z" | b"7za");
        let copies = matches!(name.as_bytes(), b"rsync" | b"scp" | b"ditto" | b"unison" | b"rclone");
        self.unpacked |= packs || name == "unzip";
        if !packs && !copies {
            return;
        }
        let mut paths = paths_of(scene, words);
        let found: Vec<PathBuf> =
            paths.iter().map(PathBuf::as_path).chain(scene.dir().filter(|_| packs)).filter_map(repository_at).collect();
        if packs {
            // Where it is unpacked is not among its words.
            paths.clear();
        }
        self.copied.extend(found.into_iter().map(|from| (from, paths.clone())));
    }

    /// `git hash-object -w`: an object of each file, and of what is on standard input.
    pub(super) fn objects(&mut self, scene: &Scene<'_, '_>, words: &[Value]) {
        let mut words = words_of(words).into_iter();
        while let Some(word) = words.next() {
            let Arg::Known(word) = word else {
                self.unread = Some("an object of a file that is not known".into());
                continue;
            };
            match word.as_bytes() {
                b"-t" => drop(words.next()),
                b"--stdin" => self.object_of_input(&scene.command.stdin),
                b"--stdin-paths" => self.unread = Some("objects of files that are not known".into()),
                option if option.starts_with(b"-") => {}
                _ => match scene.path(word.as_bstr()).map(|path| (scene.shell.file(&path), path)) {
                    Some((FileSeen::Written(bytes), _)) => self.texts.push(bytes.into()),
                    Some((FileSeen::AsOnDisk, path)) => self.files.extend(Some(path).filter(|path| path.is_file())),
                    Some((FileSeen::Changed(_), path)) => {
                        self.files.extend(Some(path).filter(|path| path.is_file()));
                        self.unread = Some("an object of a file that the line may have changed".into());
                    }
                    None => self.unread = Some("an object of a file that is not known".into()),
                },
            }
        }
    }

    /// `git mktag`: a tag as it is on standard input.
    pub(super) fn tag_of_input(&mut self, scene: &Scene<'_, '_>) {
        self.object_of_input(&scene.command.stdin);
    }

    /// Objects come out of a pack or a stream that nobody reads.
    pub(super) fn unpacks_objects(&mut self) {
        self.unread = Some("objects that are unpacked".into());
    }
}

/// The repository that a path is, lies in the git directory of, or is the git directory of.
fn repository_at(path: &Path) -> Option<PathBuf> {
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
fn real(path: &Path) -> PathBuf {
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
            Content::Bytes(_) | Content::Appended(_) | Content::Unknown | Content::Gone => {}
        }
    }
    found
}

/// Whether what a file of the line holds may be a repository, or take one away.
fn may_hold_repository(file: &WrittenFile) -> bool {
    let is_git_file = file.path.file_name() == Some(OsStr::new(".git"));
    file.contents.iter().any(|content| match content {
        Content::CopyOf(from) => is_git_file || repository_at(from).is_some(),
        Content::Bytes(_) | Content::Appended(_) | Content::Unknown => is_git_file,
        Content::Gone => true,
    })
}

/// Whether a file of a git directory decides nothing of what a push sends.
fn is_harmless(below: &Path) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    match first.as_deref() {
        Some("info") => !below.ends_with("grafts"),
        Some(name) => matches!(
            name,
            "hooks" | "description" | "COMMIT_EDITMSG" | "MERGE_MSG" | "SQUASH_MSG" | "TAG_EDITMSG" | "branches.txt"
        ),
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
        if written.is_empty() && self.incoming.copied.is_empty() {
            return (changed, revisions);
        }
        let here = Here::of(git);
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
                        Content::CopyOf(_) | Content::Unknown | Content::Gone => None,
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

    /// Everything of another repository; what is not committed there as well, where it is taken as it is.
    fn take_repository(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext, from: &Path, whole: bool) {
        if self.incoming.taken.iter().any(|taken| taken == from) {
            return;
        }
        self.incoming.taken.push(from.to_owned());
        let env = super::git_setup::without_repository(git);
        let git = GitContext { dir: from.to_owned(), env, globals: Vec::new() };
        let (args, moved_to) = (Vec::new(), MovedTo::default());
        let push = PushRequest { git: git.clone(), args, state: State::AsNow, via: PushVia::OtherSide, moved_to };
        scene.plan.publishes.push(Publish::Push(push));
        if whole {
            let because = "the line puts a copy of this repository where it publishes".into();
            scene.plan.publishes.push(Publish::Widest(WidestRequest { git, because }));
        }
    }

    /// Files that the line writes, read where they are known.
    fn take_written(&self, scene: &mut Scene<'_, '_>) {
        for content in scene.shell.written().into_iter().flat_map(|file| file.contents) {
            match content {
                Content::Bytes(bytes) | Content::Appended(bytes) if !scene.plan.inputs.contains(&bytes) => {
                    scene.plan.inputs.push(bytes);
                }
                Content::CopyOf(path) if path.is_file() && !scene.plan.pasted.contains(&path) => {
                    scene.plan.pasted.push(path);
                }
                Content::Unknown => scene.opaque("a program that writes files"),
                Content::Bytes(_) | Content::Appended(_) | Content::CopyOf(_) | Content::Gone => {}
            }
        }
    }

    /// Objects that the line writes join the next publish.
    pub(super) fn take_made(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext) {
        let carried = std::mem::take(&mut self.carried);
        scene.pasted(&carried);
        let files = std::mem::take(&mut self.incoming.files);
        let texts = std::mem::take(&mut self.incoming.texts);
        if !files.is_empty() || !texts.is_empty() {
            scene.plan.publishes.push(Publish::Upload(UploadRequest {
                tool: "git hash-object".into(),
                dir: git_globals::directory(&git.dir, &git.globals),
                files,
                texts,
                package: None,
                revisions: None,
                local_only: false,
            }));
        }
        if let Some(what) = self.incoming.unread.take() {
            scene.opaque(what.clone());
            scene.plan.publishes.push(Publish::Widest(WidestRequest { git: git.clone(), because: what }));
        }
        if std::mem::take(&mut self.incoming.rewritten) {
            self.take_written(scene);
            let because = "commits are made anew by code that writes files".into();
            scene.plan.publishes.push(Publish::Widest(WidestRequest { git: git.clone(), because }));
        }
        if self.incoming.stash_named {
            self.take_stashes(scene);
        }
        if self.incoming.fetched_named {
            self.take_fetched(scene, git, None);
        }
    }

    fn take_stashes(&mut self, scene: &mut Scene<'_, '_>) {
        scene.plan.publishes.extend(std::mem::take(&mut self.incoming.stashes).into_iter().map(Publish::Commit));
    }

    /// What a push may hold of all that. Whether it is no longer what its words come to now.
    pub(super) fn take_for_push(
        &mut self,
        scene: &mut Scene<'_, '_>,
        git: &GitContext,
        args: &[Option<OsString>],
    ) -> bool {
        let words: Vec<Option<&[u8]>> =
            args.iter().map(|word| word.as_ref().map(|word| word.as_encoded_bytes())).collect();
        let any_unknown = words.contains(&None);
        let any = |test: &dyn Fn(&[u8]) -> bool| words.iter().flatten().any(|word| test(word));
        let mut differs = self.incoming.moved_heads && (any(&names_own_head) || any(&names_stash));
        if !self.incoming.stashes.is_empty() && (any_unknown || any(&names_stash) || self.pushes_every_ref(scene, git))
        {
            self.take_stashes(scene);
        }
        if !self.incoming.fetched.is_empty() {
            let may_hold = any_unknown || self.has_moved_refs() || !self.names_old_heads(scene, git, args);
            differs |= self.take_fetched(scene, git, Some((args, may_hold)));
        }
        if self.incoming.staged
            && (any_unknown || any(&|word| word.strip_prefix(b"+").unwrap_or(word).starts_with(b":")))
        {
            let because = "the push may name what the line has staged".into();
            scene.plan.publishes.push(Publish::Widest(WidestRequest { git: git.clone(), because }));
        }
        differs
    }

    /// Whether configuration makes a push take every ref.
    fn pushes_every_ref(&mut self, scene: &Scene<'_, '_>, git: &GitContext) -> bool {
        self.has_moved_configuration()
            || self.config(scene, git).iter().any(|setting| {
                let key = setting.key.as_slice();
                key.starts_with(b"remote.")
                    && (key.ends_with(b".mirror")
                        || key.ends_with(b".push")
                            && setting.value.as_ref().is_none_or(|value| {
                                value.contains_str("stash")
                                    || value.trim_start_with(|c| c == '+').starts_with(b"refs/*")
                            }))
            })
    }

    /// Whether a push names nothing but what is checked out, and branches and tags that are there now.
    fn names_old_heads(&self, scene: &Scene<'_, '_>, git: &GitContext, args: &[Option<OsString>]) -> bool {
        let words: Option<Vec<Arg>> =
            args.iter().map(|word| Some(Arg::Known(word.as_ref()?.as_encoded_bytes().into()))).collect();
        let Some(words) = words else { return false };
        let read = grammar("push").read(&words, true);
        if ["mirror", "tags", "follow-tags"].iter().any(|name| read.is_on(name)) {
            return false;
        }
        let world = scene.shell.world();
        read.operands.iter().skip(1).filter_map(Arg::known).all(|word| {
            let bare = word.strip_prefix(b"+").unwrap_or(word);
            let source = bare.rfind_byte(b':').map_or(bare, |at| bare.get(..at).unwrap_or_default());
            let folders: &[&str] = if source.starts_with(b"refs/heads/") || source.starts_with(b"refs/tags/") {
                &[""]
            } else {
                &["refs/heads/", "refs/tags/"]
            };
            matches!(source, b"" | b"HEAD" | b"@")
                || folders.iter().any(|folder| {
                    let name = to_os_string([folder.as_bytes(), source].concat());
                    let args = ["show-ref".into(), "--verify".into(), "-q".into(), "--".into(), name];
                    world.git(git, args).run().is_ok_and(|done| done.status.success())
                })
        })
    }

    /// Remembers what is fetched: from a path, or by the name of a remote that leads to one, or of `every` remote.
    pub(super) fn fetches(
        &mut self,
        scene: &Scene<'_, '_>,
        git: &GitContext,
        (operand, every): (Option<&Arg>, bool),
        in_branch: bool,
    ) {
        let into = git_globals::find(git).map(|place| real(&place.git_dir));
        let dir = git_globals::directory(&git.dir, &git.globals);
        let mut remotes = self.incoming.remotes.clone();
        let mut usual = Vec::new();
        for setting in self.config(scene, git).iter() {
            let name = setting.key.strip_prefix(b"remote.").and_then(|rest| rest.strip_suffix(b".url"));
            if let (Some(name), Some(url)) = (name, &setting.value) {
                remotes.push((name.into(), url.clone()));
            }
            if setting.key.starts_with(b"branch.") && setting.key.ends_with(b".remote") {
                usual.extend(setting.value.clone());
            }
        }
        let named = operand.and_then(Arg::known);
        // Without a word it is the remote of the current branch, or `origin`.
        let is_usual = |name: &BString| name == "origin" || usual.contains(name);
        let is_meant = |name: &BString| named.map_or(every || is_usual(name), |named| named == name.as_slice());
        let of_name = remotes.iter().filter(|(name, _)| is_meant(name));
        let of_name = of_name
            .filter_map(|(name, url)| Some((Some(name.clone()), super::git_setup::local_path(url.as_bstr(), &dir)?)));
        let mut found: Vec<(Option<BString>, PathBuf)> = of_name.collect();
        if found.is_empty() {
            found.extend(named.and_then(|name| super::git_setup::local_path(name, &dir)).map(|path| (None, path)));
        }
        found.retain(|(_, from)| from.is_file() || repository_at(from).is_some());
        self.incoming.fetched.extend(found.into_iter().map(|(remote, from)| Fetched {
            into: into.clone(),
            remote,
            from: real(&from),
            in_branch,
        }));
    }

    /// Reads what was fetched, unless it goes back to where it came from. Whether there is any.
    fn take_fetched(
        &mut self,
        scene: &mut Scene<'_, '_>,
        git: &GitContext,
        push: Option<(&[Option<OsString>], bool)>,
    ) -> bool {
        let into = git_globals::find(git).map(|place| real(&place.git_dir));
        let dir = git_globals::directory(&git.dir, &git.globals);
        let target: Option<BString> = push.and_then(|(args, _)| {
            let words: Option<Vec<Arg>> =
                args.iter().map(|word| Some(Arg::Known(word.as_ref()?.as_encoded_bytes().into()))).collect();
            let read = grammar("push").read(&words?, true);
            read.operands.first().or(read.value("repo")).and_then(Arg::known).map(BStr::to_owned)
        });
        let goes_back = |fetched: &Fetched| match (&fetched.remote, &target) {
            // Where a push without a remote goes is where the branch comes from.
            (Some(_), None) => true,
            (Some(name), Some(target)) => name == target,
            (None, Some(target)) => real(&below(&dir, target.as_bstr())) == fetched.from,
            (None, None) => false,
        };
        let may_hold = |fetched: &Fetched| {
            let holds = push.is_none_or(|(_, may_hold)| may_hold) || fetched.in_branch || self.incoming.fetched_named;
            fetched.into == into && holds && !goes_back(fetched)
        };
        let sources: Vec<PathBuf> =
            self.incoming.fetched.iter().filter(|one| may_hold(one)).map(|one| one.from.clone()).collect();
        for source in &sources {
            if source.is_file() {
                scene.unknown("what is fetched from a bundle cannot be read");
            } else {
                self.take_repository(scene, git, source, false);
            }
        }
        !sources.is_empty()
    }

    /// A commit where nothing is now but a copy of another repository will be: all of that one, and what
    /// the line writes into it. Whether it is such a commit.
    pub(super) fn commit_in_copy(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext) -> bool {
        let dir = git_globals::directory(&git.dir, &git.globals);
        let put = self.take_put(scene, git);
        let missing = put && !dir.exists();
        if missing {
            self.take_written(scene);
        }
        missing
    }
}

/// Whether a folder with a repository in it goes right into the work tree's own folder.
fn is_put_around(here: &Here, file: &WrittenFile) -> bool {
    let top = here.place.as_ref().and_then(|place| place.top.as_deref());
    top.is_some_and(|top| real(&file.path).parent() == Some(real(top).as_path()))
        && file.contents.iter().any(|content| matches!(content, Content::CopyOf(from) if from.ends_with(".git")))
}

/// The operands of a program as paths, with what its `-C` and the like name.
fn paths_of(scene: &Scene<'_, '_>, words: &[Value]) -> Vec<PathBuf> {
    words_of(words)
        .iter()
        .filter_map(Arg::known)
        .flat_map(|word| {
            let value = word.find_byte(b'=').map(|at| word.get(at + 1..).unwrap_or_default().as_bstr());
            [Some(word), value].into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>()
        })
        .filter_map(|word| scene.path(word))
        .collect()
}
