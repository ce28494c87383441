//! What a push of the line finds: which branch is checked out by then, what it stands on, and which of the words
//! name something that the line itself makes.
//!
//! Promise: a push that the line leads to in several ways is several pushes of the plan; where it cannot be told
//! what it finds, its state says so.

use std::ffi::OsString;

use bstr::BString;

use super::branch_moves::names_only;
use super::git_globals;
use super::meaning::{Arguments, Changed, Meaning, Scene};
use super::plan::{GitContext, MovedTo, Publish, PushRequest, PushVia, State};
use super::simple::Value;
use super::{forge, made_refs};

/// A push as the line comes to it.
struct Found {
    args: Arguments,
    state: State,
    /// The branch that is checked out by then, where it is another than now.
    branch: Option<BString>,
}

impl Found {
    fn new(args: Arguments, state: State) -> Self {
        Self { args, state, branch: None }
    }
}

/// Whether a push names its remote and only refs that are there now, so that it is the same whatever
/// is checked out.
fn names_old_refs(scene: &Scene<'_, '_>, git: &GitContext, args: &Arguments) -> bool {
    let Some(sources) = made_refs::sources(args) else { return false };
    let is_there = |source: &BString| {
        ["refs/heads/", "refs/tags/", ""].iter().any(|folder| scene.has_ref(git, &[folder.as_bytes(), source].concat()))
    };
    !sources.is_empty() && sources.iter().all(is_there)
}

impl Meaning {
    /// What may be checked out for a push in this list: nothing for what is now.
    fn heads(&self, chain: u64) -> Vec<Option<BString>> {
        let mut heads = vec![None];
        for checked_out in &self.checked_out {
            if chain != 0 && checked_out.chain == chain {
                heads.clear();
            }
            let head = Some(checked_out.branch.clone());
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
        heads
    }

    /// Adds a push.
    pub(super) fn push(
        &mut self,
        scene: &mut Scene<'_, '_>,
        git: GitContext,
        args: Vec<Option<OsString>>,
        via: PushVia,
    ) {
        self.take_made(scene, &git);
        if let Some(what) = &self.unread_message {
            scene.later(what.clone());
        }
        if git_globals::find(&git).is_none() || !git_globals::directory(&git.dir, &git.globals).exists() {
            self.push_cloned(scene, &git);
        }
        self.take_hooked(scene);
        let differs = self.take_for_push(scene, &git, &args);
        let put = self.take_put(scene, &git);
        let (by_hand, written) = self.by_hand(scene, &git);
        let chain = scene.command.chain;
        let any_branch = self.head_moved || self.checked_out.iter().any(|one| !self.branch.is_rebased(&one.branch));
        let mut revisions = if any_branch { self.branch.brought() } else { self.branch.tips(chain) };
        revisions.extend(written);
        let followed = !self.branch.is_moved() || names_only(&args);
        let least = match (put, differs || !followed) {
            (true, _) => Changed::Anything,
            (false, true) => by_hand.max(Changed::Content),
            (false, false) => by_hand,
        };
        for found in self.pushed(scene, &git, args, via) {
            let Found { args, state, branch } = found;
            let state = least.at_least(state);
            let moved_to = MovedTo { revisions: revisions.clone(), any_branch, branch };
            scene.plan.publishes.push(Publish::Push(PushRequest { git: git.clone(), args, state, via, moved_to }));
        }
    }

    fn with_new_refs(&mut self, scene: &Scene<'_, '_>, git: &GitContext, args: &Arguments) -> Option<Vec<Arguments>> {
        let only_remote = self.only_remote(scene, git);
        made_refs::named(args, &self.made_refs, only_remote)
    }

    /// The remote that every push without one means, when only one is configured.
    pub(super) fn only_remote(&mut self, scene: &Scene<'_, '_>, git: &GitContext) -> Option<BString> {
        let config = self.config(scene, git);
        let names = forge::remotes(&config);
        let [only] = names.as_slice() else { return None };
        let is_chosen = |key: &BString| {
            key == "remote.pushdefault"
                || (key.starts_with(b"branch.") && key.to_ascii_lowercase().ends_with(b"remote"))
        };
        let agrees =
            config.iter().filter(|setting| is_chosen(&setting.key)).all(|setting| setting.value.as_ref() == Some(only));
        agrees.then(|| only.clone())
    }

    /// A push from a clone that the line makes may hand on all that it was made from.
    fn push_cloned(&self, scene: &mut Scene<'_, '_>, git: &GitContext) {
        for source in &self.cloned {
            let git = GitContext { dir: source.clone(), env: git.env.clone(), globals: Vec::new() };
            let (args, moved_to) = (Vec::new(), MovedTo::default());
            let push = PushRequest { git, args, state: State::AsNow, via: PushVia::OtherSide, moved_to };
            scene.plan.publishes.push(Publish::Push(push));
        }
    }

    /// The pushes that one push of the line comes to, each with what it would find.
    fn pushed(&mut self, scene: &Scene<'_, '_>, git: &GitContext, args: Arguments, via: PushVia) -> Vec<Found> {
        let state = match git_globals::find(git) {
            Some(_) if !made_refs::leads_to_new_path(&args, git) || !self.may_be_made(scene) => self.refs.state(),
            Some(_) | None => State::Changed,
        };
        if state == State::Changed && via == PushVia::Push && self.keeps_refs() && names_old_refs(scene, git, &args) {
            return vec![Found::new(args, State::Elsewhere)];
        }
        if state != State::AsNow || via != PushVia::Push {
            return vec![Found::new(args, state)];
        }
        if !self.moves_head() && self.made_refs.is_empty()
            || self.made_refs.is_empty() && !self.branch.is_rebasing() && names_old_refs(scene, git, &args)
        {
            return vec![Found::new(args, state)];
        }
        // What is checked out decides what a push without words takes, and where it goes.
        if self.head_moved || self.moves_head() && !(names_only(&args) && self.branch.brings_by_name()) {
            return vec![Found::new(args, State::ContentChanged)];
        }
        // Names that the line makes are not there yet; what they will stand for is.
        let forms =
            if self.made_refs.is_empty() { Some(vec![args.clone()]) } else { self.with_new_refs(scene, git, &args) };
        let Some(forms) = forms else { return vec![Found::new(args, State::ContentChanged)] };
        let heads = self.heads(scene.command.chain);
        let each = forms.iter().flat_map(|args| heads.iter().map(move |branch| (args, branch)));
        each.map(|(args, branch)| Found { args: args.clone(), state, branch: branch.clone() }).collect()
    }

    /// `git subtree push`: new commits, whose trees and blobs are those of here.
    pub(super) fn subtree_push(&mut self, scene: &mut Scene<'_, '_>, git: GitContext, words: &[Value]) {
        let args = made_refs::of_subtree(words);
        self.push(scene, git, args, PushVia::Push);
    }
}
