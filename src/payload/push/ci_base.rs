//! Where a CI run's new commits start.
//!
//! Promise: a base is taken only from what the CI service or the caller says about this very run, and
//! it is a claim: a note names it. Where it says none (a tag, a new branch, an id of zeros), everything
//! that is reachable is read. Where the clone lacks history that would have to be read, the answer is a
//! [`Fault::Shallow`] with the setting that brings it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use serde_json::Value;

use crate::command::plan::GitContext;
use crate::payload::objects::ObjectStore;
use crate::payload::remote::Commits;
use crate::payload::source::Texts;
use crate::payload::{Fault, ItemKind, ObjectId, Payload};
use crate::text::SafeText;
use crate::world::World;

use super::refs::object_id;

/// The service that runs this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// GitHub Actions.
    GitHub,
    /// GitLab CI.
    GitLab,
    /// Another one (`CI` is set).
    Other,
}

impl Service {
    /// The service that the environment names.
    pub fn of(world: &World) -> Option<Self> {
        let is_set =
            |name: &str| world.var(name).is_some_and(|value| !value.is_empty() && value != "false" && value != "0");
        if is_set("GITHUB_ACTIONS") {
            Some(Self::GitHub)
        } else if is_set("GITLAB_CI") {
            Some(Self::GitLab)
        } else {
            is_set("CI").then_some(Self::Other)
        }
    }

    fn full_clone(self) -> &'static str {
        match self {
            Self::GitHub => "set `fetch-depth: 0` at actions/checkout",
            Self::GitLab => "set the variable `GIT_DEPTH: 0`",
            Self::Other => "let the service clone the whole history",
        }
    }
}

/// What a CI run is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiRange {
    /// The commit that is checked out, and the tag that the run is for.
    pub tips: Vec<ObjectId>,
    /// Where the new commits start; empty where everything is read.
    pub base: Vec<ObjectId>,
    /// How that was established.
    pub note: SafeText,
    /// Names that the run is for.
    pub refs: Vec<BString>,
    /// Commits whose suppressions count: those of the base, or else of the default branch.
    pub reviewed: Vec<ObjectId>,
}

/// What a run says of its base.
enum Said {
    /// A revision, and where it is said.
    Base(String, &'static str),
    /// A branch that the run will be merged into.
    Branch(String, &'static str),
    /// None, and why.
    None(&'static str),
}

/// The range that a CI run, or a caller with `--base`, is to read. `base` is the caller's.
///
/// # Errors
/// When HEAD or a base that was said cannot be resolved, or the clone lacks history.
pub fn updates(world: &World, git: &GitContext, base: Option<&str>) -> Result<CiRange, Fault> {
    let asking = Asking { world, git, service: Service::of(world).unwrap_or(Service::Other) };
    let said = match base {
        Some(base) => Said::Base(base.to_owned(), "--base"),
        None => asking.said()?,
    };
    asking.range(said)
}

/// The bytes of a range.
///
/// # Errors
/// When an object is missing, or the history is cut off within the range.
pub fn payload(world: &World, git: &GitContext, range: &CiRange) -> Result<Payload, Fault> {
    let store = ObjectStore::open(world, git)?;
    let items = store.reachable(&range.tips, &range.base)?;
    let cut = items.iter().filter_map(|item| item.oid).find(|oid| store.is_cut_at(oid));
    if let Some(oid) = cut {
        let service = Service::of(world).unwrap_or(Service::Other);
        return Err(Fault::Shallow(format!("the history below {oid} is not here; {}", service.full_clone()).into()));
    }
    let mut payload = Payload { exact: false, notes: vec![range.note.clone()], ..Payload::default() };
    payload.parts.push(store.part(items));
    if !range.refs.is_empty() {
        payload.parts.push(Texts::part(range.refs.iter().map(|name| (ItemKind::Ref, name.clone()))));
    }
    payload.all_to(Arc::new(Commits::new(Arc::clone(&store), range.reviewed.clone())));
    Ok(payload)
}

struct Asking<'a> {
    world: &'a World,
    git: &'a GitContext,
    service: Service,
}

impl Asking<'_> {
    fn said(&self) -> Result<Said, Fault> {
        match self.service {
            Service::GitHub => self.said_by_github(),
            Service::GitLab => Ok(self.said_by_gitlab()),
            Service::Other => Ok(self.default_branch()),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        let value = self.world.var(name)?.to_str()?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    /// The event's own file first: `before` of a push, the base of a pull request or merge group.
    fn said_by_github(&self) -> Result<Said, Fault> {
        let event = self.event()?;
        let at = |pointer: &str| event.as_ref().and_then(|event| event.pointer(pointer)?.as_str()).map(str::to_owned);
        if let Some(base) = at("/pull_request/base/sha").or_else(|| at("/merge_group/base_sha")) {
            return Ok(Said::Base(base, "the event's base"));
        }
        if self.variable("GITHUB_REF_TYPE").is_some_and(|kind| kind == "tag") {
            return Ok(Said::None("the run is for a tag"));
        }
        if let Some(before) = at("/before") {
            return Ok(before_or_none(before, "the event's `before`"));
        }
        Ok(match self.variable("GITHUB_BASE_REF") {
            Some(branch) => Said::Branch(branch, "GITHUB_BASE_REF"),
            None => Said::None("the event names no base"),
        })
    }

    fn event(&self) -> Result<Option<Value>, Fault> {
        let Some(path) = self.world.var("GITHUB_EVENT_PATH").map(PathBuf::from) else { return Ok(None) };
        let unreadable = |what: String| Fault::File {
            path: SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200),
            what: what.into(),
        };
        let text = fs::read(&path).map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| unreadable(error.to_string()))
    }

    fn said_by_gitlab(&self) -> Said {
        if let Some(base) = self.variable("CI_MERGE_REQUEST_DIFF_BASE_SHA") {
            return Said::Base(base, "CI_MERGE_REQUEST_DIFF_BASE_SHA");
        }
        if self.variable("CI_COMMIT_TAG").is_some() {
            return Said::None("the run is for a tag");
        }
        match self.variable("CI_COMMIT_BEFORE_SHA") {
            Some(before) => before_or_none(before, "CI_COMMIT_BEFORE_SHA"),
            None => Said::None("no variable names a base"),
        }
    }

    /// What the clone takes for the default branch.
    fn default_branch(&self) -> Said {
        let head = self.world.git(self.git, ["symbolic-ref", "-q", "refs/remotes/origin/HEAD"]).run();
        let named = head
            .ok()
            .filter(|done| done.status.success())
            .map(|done| done.stdout.trim_end().to_str_lossy().into_owned());
        match named.as_deref().and_then(|name| name.strip_prefix("refs/remotes/origin/")) {
            Some(branch) => Said::Branch(branch.to_owned(), "refs/remotes/origin/HEAD"),
            None => Said::None("no default branch is known"),
        }
    }

    fn range(&self, said: Said) -> Result<CiRange, Fault> {
        let Some(head) = self.resolve("HEAD^{commit}")? else {
            return Err(Fault::Repository("HEAD names no commit".into()));
        };
        let (base, note) = match said {
            Said::None(why) => (Vec::new(), format!("everything reachable is read: {why}")),
            Said::Base(revision, by) => self.base(&revision, by)?,
            Said::Branch(branch, by) => self.fork_point(&branch, by, head)?,
        };
        let (mut tips, mut refs) = (vec![head], Vec::new());
        for name in self.own_refs() {
            if let Some(oid) = self.resolve(&name)? {
                tips.push(oid);
            }
            refs.push(name.into());
        }
        tips.sort_unstable();
        tips.dedup();
        let reviewed = if base.is_empty() { self.default_tip(&tips)?.into_iter().collect() } else { base.clone() };
        Ok(CiRange { tips, base, note: note.into(), refs, reviewed })
    }

    /// The commit of the default branch, by what the service or the clone says of it: what stands there has been
    /// reviewed, and no run for a branch or a tag of its own makes it so. Where the run may be for a push to that very
    /// branch, what it brings would accept itself, and nothing counts.
    fn default_tip(&self, tips: &[ObjectId]) -> Result<Option<ObjectId>, Fault> {
        let named = match self.service {
            Service::GitHub => self.event()?.and_then(|event| {
                event.pointer("/repository/default_branch").and_then(Value::as_str).map(str::to_owned)
            }),
            Service::GitLab => self.variable("CI_DEFAULT_BRANCH"),
            Service::Other => None,
        };
        let branch = match named {
            Some(branch) => Some(branch),
            None => match self.default_branch() {
                Said::Branch(branch, _) => Some(branch),
                Said::Base(..) | Said::None(_) => None,
            },
        };
        let Some(branch) = branch else { return Ok(None) };
        let tip = self.resolve(&format!("refs/remotes/origin/{branch}^{{commit}}"))?;
        let own = format!("refs/heads/{branch}");
        let may_be_its_push = match self.service {
            Service::GitHub => {
                let is_scheduled = ["schedule", "workflow_dispatch"]
                    .iter()
                    .any(|name| self.variable("GITHUB_EVENT_NAME").is_some_and(|event| event == *name));
                !is_scheduled && self.own_refs().iter().all(|name| *name == own)
            }
            Service::GitLab => {
                let is_scheduled = self.variable("CI_PIPELINE_SOURCE").is_some_and(|source| source == "schedule");
                !is_scheduled && self.own_refs().iter().all(|name| *name == own)
            }
            Service::Other => true,
        };
        Ok(tip.filter(|tip| !(may_be_its_push && tips.contains(tip))))
    }

    /// Refs that the run is for: their names are published too, and a tag is an object.
    fn own_refs(&self) -> Vec<String> {
        let github = self.variable("GITHUB_REF").filter(|_| self.service == Service::GitHub);
        let gitlab = self
            .variable("CI_COMMIT_TAG")
            .map(|tag| format!("refs/tags/{tag}"))
            .or_else(|| self.variable("CI_COMMIT_BRANCH").map(|branch| format!("refs/heads/{branch}")));
        github.or(gitlab.filter(|_| self.service == Service::GitLab)).into_iter().collect()
    }

    fn base(&self, revision: &str, by: &'static str) -> Result<(Vec<ObjectId>, String), Fault> {
        let shown = SafeText::quoted(revision.as_bytes(), 80);
        match self.resolve(&format!("{revision}^{{commit}}"))? {
            Some(oid) => Ok((vec![oid], format!("what is below {shown} ({by}) counts as published before"))),
            None if by == "--base" && !self.is_shallow()? => {
                Err(Fault::Unmodelled(format!("--base {shown} is no commit here").into()))
            }
            None if self.is_shallow()? => {
                Err(Fault::Shallow(format!("{shown} ({by}) is not here; {}", self.service.full_clone()).into()))
            }
            // Pushed over, and gone.
            None => Ok((Vec::new(), format!("everything reachable is read: {shown} ({by}) is not here"))),
        }
    }

    /// Where HEAD left a branch. On that branch itself it says nothing of what is new.
    fn fork_point(&self, branch: &str, by: &'static str, head: ObjectId) -> Result<(Vec<ObjectId>, String), Fault> {
        let shown = SafeText::quoted(branch.as_bytes(), 80);
        let tracking = format!("refs/remotes/origin/{branch}");
        let Some(other) = self.resolve(&format!("{tracking}^{{commit}}"))? else {
            return self.base(&tracking, by);
        };
        let words = ["merge-base".to_owned(), "--all".to_owned(), head.to_string(), other.to_string()];
        let found = self.world.git(self.git, words).run()?;
        let bases = found.stdout.lines().map(object_id).collect::<Result<Vec<_>, _>>()?;
        if bases.is_empty() && self.is_shallow()? {
            return Err(Fault::Shallow(
                format!("where HEAD left {shown} is not here; {}", self.service.full_clone()).into(),
            ));
        }
        if bases.contains(&head) || bases.is_empty() {
            return Ok((Vec::new(), format!("everything reachable is read: HEAD does not fork from {shown} ({by})")));
        }
        Ok((bases, format!("what is below the fork from {shown} ({by}) counts as published before")))
    }

    fn resolve(&self, revision: &str) -> Result<Option<ObjectId>, Fault> {
        let words = ["rev-parse", "--verify", "-q", "--end-of-options", revision];
        let done = self.world.git(self.git, words).run()?;
        if !done.status.success() {
            return Ok(None);
        }
        object_id(done.stdout.trim_end()).map(Some)
    }

    fn is_shallow(&self) -> Result<bool, Fault> {
        let answer = self.world.git(self.git, ["rev-parse", "--is-shallow-repository"]).stdout()?;
        Ok(answer.trim_end() == b"true")
    }
}

/// An id of zeros stands for nothing.
fn before_or_none(before: String, by: &'static str) -> Said {
    if before.bytes().all(|digit| digit == b'0') { Said::None("the branch is new") } else { Said::Base(before, by) }
}
