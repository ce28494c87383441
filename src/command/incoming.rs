//! What the line makes, or brings in, beside the commits that it records.
//!
//! Promise: a stash of the line, an object that it writes, a ref or a repository that it puts in place by
//! hand, and what it fetches from another repository of this machine join every later publish that may
//! hold them; a push that cannot stays what it is. What the line brings in and nobody can read is said.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::by_hand::repository_at;
use super::fetched::Fetched;
use super::git_globals;
use super::git_table;
use super::git_verbs::args as words_of;
use super::meaning::{Meaning, Scene};
use super::options::Arg;
use super::plan::{
    CommitRequest, Content, GitContext, MovedTo, Publish, PushRequest, PushVia, State, UploadRequest, WidestRequest,
};
use super::simple::{FileSeen, Stdin, Value};
use crate::text::SafeText;

/// What the line has made or brought in so far.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// Its stashes, as the commits that they are.
    stashes: Vec<CommitRequest>,
    /// Whether a later command names one, so that any publish may hold it.
    stash_named: bool,
    pub(super) fetched: Vec<Fetched>,
    /// Whether a later command may have put what was fetched somewhere.
    pub(super) fetched_named: bool,
    /// Repositories that a program copies or packs, with all the paths that it was given.
    pub(super) copied: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Whether an archive is unpacked, which may hold a repository.
    pub(super) unpacked: bool,
    /// Remotes that the line makes.
    pub(super) remotes: Vec<(BString, BString)>,
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
    /// Files of which a program puts something into others: a commit may take it.
    pub(super) brought: Vec<PathBuf>,
    /// Whether the line clones what lies on another machine, or in a place that is not known.
    pub(super) cloned_from_afar: bool,
    /// Where files that are copied lie, and how their names end, where more is not known of them. Looked for once a
    /// commit may take them.
    brought_below: Vec<(PathBuf, BString)>,
    /// Whether a program copies from places that are not known.
    brought_from_anywhere: bool,
    /// What the line itself has put where such a program copies from.
    brought_own: Vec<Content>,
    /// Repositories that are read already.
    taken: Vec<PathBuf>,
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

impl Meaning {
    /// Everything of another repository; what is not committed there as well, where it is taken as it is.
    pub(super) fn take_repository(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext, from: &Path, whole: bool) {
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
            if content == Content::Unknown {
                scene.opaque("a program that writes files");
            }
            take_content(scene, content);
        }
    }

    /// Objects that the line writes join the next publish.
    pub(super) fn take_made(&mut self, scene: &mut Scene<'_, '_>, git: &GitContext) {
        let carried = std::mem::take(&mut self.carried);
        scene.pasted(&carried);
        self.take_spoken(scene);
        let files = std::mem::take(&mut self.incoming.files);
        let texts = std::mem::take(&mut self.incoming.texts);
        if !files.is_empty() || !texts.is_empty() {
            scene.plan.publishes.push(Publish::Upload(UploadRequest {
                tool: "git hash-object".into(),
                dir: git_globals::directory(&git.dir, &git.globals),
                files,
                texts,
                written: Vec::new(),
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

impl Meaning {
    /// Programs that unpack, part or copy what they are given: what a later commit takes of it is read where it
    /// lies now.
    pub(super) fn brings(&mut self, scene: &Scene<'_, '_>, name: &BStr, words: &[Value]) {
        const UNPACK: &[&str] = &[
            "tar", "gtar", "bsdtar", "cpio", "pax", "unzip", "7z", "7za", "unrar", "ar", "zstd", "unzstd", "gzip",
            "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lz4", "patch", "split", "csplit", "rsync", "dd", "openssl",
        ];
        if !UNPACK.iter().any(|known| name == *known) {
            return;
        }
        let mut files = paths_of(scene, words);
        // Names may start from a folder that is among the words.
        let folders: Vec<PathBuf> = files.iter().filter(|path| path.is_dir()).cloned().collect();
        let names: Vec<PathBuf> =
            words.iter().filter_map(|word| Some(super::simple::to_os_string(word.known()?).into())).collect();
        files.extend(folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name))));
        if let Stdin::File(path) = &scene.command.stdin {
            files.push(path.clone());
        }
        for file in files.into_iter().filter(|file| file.is_file()) {
            if !self.incoming.brought.contains(&file) {
                self.incoming.brought.push(file);
            }
        }
    }

    /// Files of which only the beginning or the end of the name is known go into a work tree: all that they may be
    /// are read where they lie.
    pub(super) fn brings_unnamed(&mut self, scene: &Scene<'_, '_>, from: &[Arg], into: Option<&Path>) {
        let leads_nowhere = into.is_some_and(|into| {
            let env = scene.command.env.known();
            git_globals::find(&GitContext { dir: super::by_hand::real(into), env, globals: Vec::new() }).is_none()
        });
        if leads_nowhere && !self.is_making_repositories() {
            return;
        }
        for word in from {
            let (prefix, suffix) = match word {
                Arg::Known(word) => {
                    let path = scene.path(word.as_bstr()).filter(|path| path.is_file());
                    self.incoming.brought.extend(path);
                    continue;
                }
                Arg::Unknown { prefix, suffix } => (prefix, suffix),
            };
            let start = scene.path(prefix.as_bstr()).filter(|_| !prefix.is_empty());
            // What the line itself has put there goes along.
            let is_such = |path: &Path| start.as_ref().is_none_or(|start| is_at(path, start));
            let own = scene.shell.written().into_iter().filter(|file| is_such(&file.path));
            self.incoming.brought_own.extend(own.flat_map(|file| file.contents));
            match start {
                Some(start) => self.incoming.brought_below.push((start, suffix.clone())),
                None => self.incoming.brought_from_anywhere = true,
            }
        }
    }

    /// The files that programs have put into the work tree so far, where they lie; what of them cannot be looked for
    /// is said.
    pub(super) fn take_brought(&mut self, scene: &mut Scene<'_, '_>) -> Vec<PathBuf> {
        let mut brought = std::mem::take(&mut self.incoming.brought);
        let mut is_unread = std::mem::take(&mut self.incoming.brought_from_anywhere);
        for content in std::mem::take(&mut self.incoming.brought_own) {
            is_unread |= content == Content::Unknown;
            take_content(scene, content);
        }
        for (start, suffix) in std::mem::take(&mut self.incoming.brought_below) {
            match files_below(&start, suffix.as_bstr()) {
                Some(files) => brought.extend(files),
                None => is_unread = true,
            }
        }
        if is_unread {
            scene.later("files that are copied by names which are not known");
        }
        brought
    }

    /// A patch goes into files. One that the line itself makes may bring back anything that was there before.
    pub(super) fn patched(&mut self, scene: &Scene<'_, '_>, words: &[Value]) {
        let of_line = |path: PathBuf| match scene.shell.file(&path) {
            FileSeen::AsOnDisk => false,
            FileSeen::Written(_) => true,
            FileSeen::Changed(_) => scene.shell.written().iter().any(|file| file.path == path),
        };
        let named = words_of(words).iter().filter_map(Arg::known).filter_map(|word| scene.path(word)).any(of_line);
        let fed = match &scene.command.stdin {
            Stdin::Unknown(_) | Stdin::Names { .. } => true,
            Stdin::File(path) => of_line(path.clone()),
            Stdin::Inherited | Stdin::Empty | Stdin::Text(_) => false,
        };
        if named || fed {
            self.changes(super::meaning::Changes::RefsAndFiles);
        }
    }
}

/// Whether a path begins with the letters of another, or that one lies in it.
pub(super) fn is_at(path: &Path, start: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(start.as_os_str().as_encoded_bytes()) || start.starts_with(path)
}

/// Most entries of folders that are looked at for files which the line copies.
const MAX_LOOKED_AT: usize = 20_000;

/// Files at or below a place whose names end so; `None` where there are too many to look at, or the place is none.
pub(super) fn files_below(start: &Path, suffix: &BStr) -> Option<Vec<PathBuf>> {
    let is_such = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(suffix);
    if start.is_file() {
        return Some(vec![start.to_owned()]);
    }
    let mut waiting = vec![start.is_dir().then(|| start.to_owned()).or_else(|| start.parent().map(Path::to_owned))?];
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).ok()?.flatten() {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return None;
            }
            let (path, kind) = (entry.path(), entry.file_type().ok()?);
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    waiting.push(path);
                }
            } else if is_such(&path) && path.is_file() {
                found.push(path);
            }
        }
    }
    Some(found)
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

/// What is known of a file that the line writes joins what is published.
pub(super) fn take_content(scene: &mut Scene<'_, '_>, content: Content) {
    match content {
        Content::Bytes(bytes) | Content::Appended(bytes) if !scene.plan.inputs.contains(&bytes) => {
            scene.plan.inputs.push(bytes);
        }
        Content::CopyOf(path) if path.is_file() && !scene.plan.pasted.contains(&path) => {
            scene.plan.pasted.push(path);
        }
        Content::CopyOf(path) if path.is_dir() => match files_below(&path, BStr::new("")) {
            Some(files) => scene.plan.pasted.extend(files),
            None => scene.later("a copy of a folder that holds more than is looked at"),
        },
        Content::MadeOf { text, files } => {
            if !scene.plan.inputs.contains(&text) {
                scene.plan.inputs.push(text);
            }
            let new: Vec<PathBuf> =
                files.into_iter().filter(|path| path.is_file() && !scene.plan.pasted.contains(path)).collect();
            scene.plan.pasted.extend(new);
        }
        Content::Bytes(_) | Content::Appended(_) | Content::CopyOf(_) | Content::Unknown | Content::Gone => {}
    }
}
