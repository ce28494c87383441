//! What the line fetches from repositories of this machine.
//!
//! Promise: what may have come in joins a later publish that may hold it, unless that goes back to where it came
//! from. A fetch from where nobody can say may be from any repository.

use std::ffi::OsString;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::by_hand::{real, repository_at};
use super::git_globals;
use super::git_table::grammar;
use super::git_verbs::below;
use super::meaning::{Meaning, Scene};
use super::options::Arg;
use super::plan::GitContext;

/// What is fetched from a repository of this machine.
#[derive(Debug)]
pub(super) struct Fetched {
    /// The git directory that it comes into.
    into: Option<PathBuf>,
    /// The remote by whose name it was fetched.
    remote: Option<BString>,
    /// Where it comes from; `None` is any place.
    from: Option<PathBuf>,
    /// Whether it comes into the current branch.
    in_branch: bool,
}

impl Meaning {
    /// Whether a push names nothing but what is checked out, and branches and tags that are there now.
    pub(super) fn names_old_heads(&self, scene: &Scene<'_, '_>, git: &GitContext, args: &[Option<OsString>]) -> bool {
        let words: Option<Vec<Arg>> =
            args.iter().map(|word| Some(Arg::Known(word.as_ref()?.as_encoded_bytes().into()))).collect();
        let Some(words) = words else { return false };
        let read = grammar("push").read(&words, true);
        if ["mirror", "tags", "follow-tags"].iter().any(|name| read.is_on(name)) {
            return false;
        }
        read.operands.iter().skip(1).filter_map(Arg::known).all(|word| {
            let bare = word.strip_prefix(b"+").unwrap_or(word);
            let source = bare.rfind_byte(b':').map_or(bare, |at| bare.get(..at).unwrap_or_default());
            let folders: &[&str] = if source.starts_with(b"refs/heads/") || source.starts_with(b"refs/tags/") {
                &[""]
            } else {
                &["refs/heads/", "refs/tags/"]
            };
            matches!(source, b"" | b"HEAD" | b"@")
                || folders.iter().any(|folder| scene.has_ref(git, &[folder.as_bytes(), source].concat()))
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
        let unknown = operand.is_some() && named.is_none();
        // Without a word it is the remote of the current branch, or `origin`.
        let is_usual = |name: &BString| name == "origin" || usual.contains(name);
        let every = every || unknown;
        let is_meant = |name: &BString| named.map_or(every || is_usual(name), |named| named == name.as_slice());
        let of_name = remotes.iter().filter(|(name, _)| is_meant(name));
        let of_name = of_name
            .filter_map(|(name, url)| Some((Some(name.clone()), super::git_setup::local_path(url.as_bstr(), &dir)?)));
        let mut found: Vec<(Option<BString>, PathBuf)> = of_name.collect();
        if operand.is_none() {
            // A branch may come from a path that no remote names.
            let paths = usual.iter().filter(|usual| *usual != "." && !remotes.iter().any(|(name, _)| name == *usual));
            let paths = paths.filter_map(|path| super::git_setup::local_path(path.as_bstr(), &dir));
            found.extend(paths.map(|path| (None, path)));
        }
        if found.is_empty() {
            found.extend(named.and_then(|name| super::git_setup::local_path(name, &dir)).map(|path| (None, path)));
        }
        found.retain(|(_, from)| from.is_file() || repository_at(from).is_some());
        self.incoming.fetched.extend(found.into_iter().map(|(remote, from)| Fetched {
            into: into.clone(),
            remote,
            from: Some(real(&from)),
            in_branch,
        }));
        if unknown {
            // A remote is one of those; a path may be any repository of this machine.
            self.incoming.fetched.push(Fetched { into, remote: None, from: None, in_branch });
        }
    }

    /// The remote that a push without one means, where that is sure (git-config(1), `branch.<name>.pushRemote`).
    fn usual_remote(&mut self, scene: &Scene<'_, '_>, git: &GitContext) -> Option<BString> {
        if let Some(only) = self.only_remote(scene, git) {
            return Some(only);
        }
        let head = std::fs::read(git_globals::find(git)?.git_dir.join("HEAD")).ok()?;
        let branch = head.trim().strip_prefix(b"ref: refs/heads/")?.to_str().ok().filter(|_| !self.may_switch())?;
        let config = self.config(scene, git);
        let keys =
            [format!("branch.{branch}.pushremote"), "remote.pushdefault".into(), format!("branch.{branch}.remote")];
        let chosen = keys.iter().find_map(|key| config.value(key))?;
        chosen.map(BStr::to_owned)
    }

    /// Reads what was fetched, unless it goes back to where it came from. Whether there is any.
    pub(super) fn take_fetched(
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
        let usual = if target.is_none() { self.usual_remote(scene, git) } else { None };
        let is_of_line = |name: &BString| self.incoming.remotes.iter().any(|(known, _)| known == name);
        let goes_back = |fetched: &Fetched| match (&fetched.remote, &target) {
            // A name that the line gives to another place leads nowhere for sure.
            (Some(name), _) if is_of_line(name) => false,
            // Where a push without a remote goes is where the branch comes from, when there is no other.
            (Some(name), None) => usual.as_ref() == Some(name),
            (Some(name), Some(target)) => name == target,
            (None, Some(target)) => fetched.from.as_ref() == Some(&real(&below(&dir, target.as_bstr()))),
            (None, None) => false,
        };
        let may_hold = |fetched: &Fetched| {
            let holds = push.is_none_or(|(_, may_hold)| may_hold) || fetched.in_branch || self.incoming.fetched_named;
            fetched.into == into && holds && !goes_back(fetched)
        };
        let sources: Vec<Option<PathBuf>> =
            self.incoming.fetched.iter().filter(|one| may_hold(one)).map(|one| one.from.clone()).collect();
        for source in &sources {
            match source {
                None => scene.later("what is fetched from a place that is not known"),
                Some(source) if source.is_file() => {
                    scene.unknown("what is fetched from a bundle cannot be read");
                }
                Some(source) => self.take_repository(scene, git, source, false),
            }
        }
        !sources.is_empty()
    }
}
