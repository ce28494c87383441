//! From refspecs to updates: which id goes to which ref of a destination.
//!
//! Promise: the updates hold every one that git's own matching (remote.c `match_push_refs`, 2.47 to
//! 2.55) would make against the same refs on both sides. Where the other side's refs are not known,
//! they hold everything that some state of it could ask for. Refs which the client itself would
//! reject are among them: git sends their objects as soon as another ref is accepted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;
use crate::world::git::GitFault;

use super::refs::{Head, LocalRef, LocalRefs, object_id};
use super::refspec::{Refspec, excluded, is_ref_name, matching_names};

/// One ref of a destination and what would be sent to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// What was pushed: a local ref, or the expression as written.
    pub source: BString,
    /// The new id; `None` deletes.
    pub new: Option<ObjectId>,
    /// The ref at the destination; as written where git would have to ask the other side.
    pub destination: BString,
    /// What the destination has there now, as far as it was asked.
    pub old: Option<ObjectId>,
}

impl Update {
    /// Whether nothing is sent for it.
    pub fn is_up_to_date(&self) -> bool {
        self.new.is_some() && self.new == self.old
    }
}

/// A ref that a destination advertises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// Its full name.
    pub name: BString,
    /// What it names.
    pub oid: ObjectId,
}

/// What is to be matched.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The refspecs; none means `:`.
    pub refspecs: Vec<Refspec>,
    /// `--all`: matching takes branches that the other side lacks.
    pub all: bool,
    /// `--mirror`: matching takes every ref, and the rest is deleted.
    pub mirror: bool,
    /// `--prune`.
    pub prune: bool,
    /// `--follow-tags`.
    pub follow_tags: bool,
}

/// Updates for one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The updates.
    pub updates: Vec<Update>,
    /// Annotated tags that might follow.
    pub perhaps_tags: Vec<PerhapsTag>,
}

/// An annotated tag that might follow. The commit that it leads to is sent by another update or is not
/// sent at all, so only the tag itself is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerhapsTag {
    /// The tag.
    pub tag: ObjectId,
    /// The commit at the end of it.
    pub commit: ObjectId,
}

/// What a source stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Delete,
    Ref(LocalRef),
    /// Several ids where replacement objects make a difference.
    Objects(Vec<ObjectId>),
}

/// Resolves names in one repository.
#[derive(Debug)]
pub struct Resolver<'a> {
    world: &'a World,
    git: &'a GitContext,
    local: &'a LocalRefs,
    /// Whether objects may be missing here because another repository promised them.
    partial: bool,
    resolved: RefCell<BTreeMap<BString, Vec<ObjectId>>>,
}

impl<'a> Resolver<'a> {
    /// A resolver over refs that were listed before.
    pub fn new(world: &'a World, git: &'a GitContext, local: &'a LocalRefs, partial: bool) -> Self {
        Self { world, git, local, partial, resolved: RefCell::default() }
    }

    /// Why git would push nothing at all before it asks the other side (`check_push_refs`): a source
    /// that names nothing, or too much.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn objection(&self, wanted: &Wanted) -> Result<Option<SafeText>, Fault> {
        for refspec in explicit(wanted) {
            if let Err(objection) = self.source(refspec)? {
                return Ok(Some(objection));
            }
        }
        Ok(None)
    }

    /// The updates for a destination; `advertised` is what it says it has, `None` when it was not asked.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn updates(&self, wanted: &Wanted, advertised: Option<&[Advertised]>) -> Result<Matched, Fault> {
        let mut matching = Matching::new(advertised);
        for refspec in explicit(wanted) {
            if let Ok(source) = self.source(refspec)? {
                self.add_explicit(refspec, &source, &mut matching);
            }
        }
        self.add_patterns(wanted, &mut matching);
        let tags = if wanted.follow_tags { self.following_tags(&matching)? } else { Tags::default() };
        matching.updates.extend(tags.sure);
        if wanted.prune || wanted.mirror {
            self.add_deletions(wanted, &mut matching);
        }
        let mut updates = matching.updates;
        updates.retain(|update| !excluded(&wanted.refspecs, update.destination.as_ref()));
        Ok(Matched { updates, perhaps_tags: tags.perhaps })
    }

    /// What a refspec's source stands for, or why git turns it down (`match_explicit_lhs`).
    fn source(&self, refspec: &Refspec) -> Result<Result<Source, SafeText>, Fault> {
        let text = refspec.source.as_bstr();
        let names = matching_names(text, self.local.listed().map(|local| local.name.as_bstr()));
        let quoted = SafeText::quoted(text, 120);
        match names.as_slice() {
            [name] => match self.local.find(name) {
                Some(local) => Ok(Ok(Source::Ref(local.clone()))),
                None => Err(Fault::Plumbing("a listed ref was not found again".into())),
            },
            [] if text.is_empty() => Ok(Ok(Source::Delete)),
            [] => {
                let ids = self.expression(text)?;
                if ids.is_empty() {
                    return Ok(Err(format!("src refspec {quoted} does not match any").into()));
                }
                Ok(Ok(Source::Objects(ids)))
            }
            [_, _, ..] => Ok(Err(format!("src refspec {quoted} matches more than one").into())),
        }
    }

    /// The ids that a revision expression stands for; none when git does not know it. With replacement
    /// objects in the repository it is asked twice, since git resolves with them and sends without.
    ///
    /// # Errors
    /// When git cannot be asked, or objects of a partial clone would be needed.
    pub fn expression(&self, text: &BStr) -> Result<Vec<ObjectId>, Fault> {
        if let Some(known) = self.resolved.borrow().get(text) {
            return Ok(known.clone());
        }
        let mut ids = Vec::new();
        if let (b"HEAD", Head::Branch(branch)) = (text.as_bytes(), &self.local.head) {
            ids.extend(self.local.find(branch).map(|local| local.oid));
        }
        if ids.is_empty() {
            ids.extend(self.ask(text, false)?);
            if self.has_replacements() {
                ids.extend(self.ask(text, true)?.filter(|id| !ids.contains(id)));
            }
        }
        // A plain name needs no object to be resolved; anything else might need one that is not here.
        if ids.is_empty() && self.partial && !is_ref_name(text, true) {
            return Err(Fault::Partial(
                format!("{} could not be resolved without the objects left out", SafeText::quoted(text, 120)).into(),
            ));
        }
        self.resolved.borrow_mut().insert(text.into(), ids.clone());
        Ok(ids)
    }

    fn ask(&self, text: &BStr, with_replacements: bool) -> Result<Option<ObjectId>, Fault> {
        let words = [b"rev-parse", b"--verify".as_slice(), b"-q", b"--end-of-options", text.as_bytes()];
        let words = words.map(|word| std::os::unix::ffi::OsStringExt::from_vec(word.to_vec()));
        let mut call = self.world.git::<std::ffi::OsString>(self.git, words);
        if with_replacements {
            call = call.with_replacements();
        }
        match call.stdout() {
            Ok(answer) => object_id(answer.trim_end()).map(Some),
            Err(GitFault::Failed { code, .. }) if code >= 0 => Ok(None),
            Err(fault @ (GitFault::Failed { .. } | GitFault::NoGit | GitFault::Child(_))) => Err(fault.into()),
        }
    }

    fn has_replacements(&self) -> bool {
        self.git.env.contains_key(std::ffi::OsStr::new("GIT_REPLACE_REF_BASE"))
            || self.local.refs.iter().any(|local| local.name.starts_with(b"refs/replace/"))
    }

    /// One refspec without a pattern (`match_explicit`). What git can only turn down after it has asked
    /// the other side is kept, with the destination as written.
    fn add_explicit(&self, refspec: &Refspec, source: &Source, matching: &mut Matching<'_>) {
        let asked = match &refspec.destination {
            Some(destination) => destination.clone(),
            None => self.default_destination(refspec, source),
        };
        let destination = match matching.names_like(asked.as_ref()).as_slice() {
            [name] => name.clone(),
            _ if asked.starts_with(b"refs/") => asked,
            _ => self.guessed(&asked, refspec, source),
        };
        let name = match source {
            Source::Ref(local) => local.name.clone(),
            Source::Delete | Source::Objects(_) => refspec.source.clone(),
        };
        match source {
            Source::Delete => matching.add(name, None, destination),
            Source::Ref(local) => matching.add(name, Some(local.oid), destination),
            Source::Objects(ids) => {
                for id in ids {
                    matching.add(name.clone(), Some(*id), destination.clone());
                }
            }
        }
    }

    /// Where a source without a destination goes: to the ref that it resolves to.
    fn default_destination(&self, refspec: &Refspec, source: &Source) -> BString {
        match source {
            Source::Ref(local) => self.followed(&local.name),
            Source::Delete | Source::Objects(_) => match (refspec.source.as_slice(), &self.local.head) {
                (b"HEAD", Head::Branch(branch)) => self.followed(branch),
                _ => self.followed(&refspec.source),
            },
        }
    }

    /// The end of a chain of symbolic refs; five steps at most, as in git.
    fn followed(&self, name: &BString) -> BString {
        let mut name = name.clone();
        for _ in 0..5 {
            match self.local.find(&name).and_then(|local| local.symref.clone()) {
                Some(target) => name = target,
                None => break,
            }
        }
        name
    }

    /// A destination that is no full name goes where its source is: heads or tags (`guess_ref`).
    fn guessed(&self, asked: &BString, refspec: &Refspec, source: &Source) -> BString {
        let from = match source {
            Source::Ref(local) => self.followed(&local.name),
            Source::Objects(_) => match (refspec.source.as_slice(), &self.local.head) {
                (b"HEAD", Head::Branch(branch)) => self.followed(branch),
                _ => return asked.clone(),
            },
            Source::Delete => return asked.clone(),
        };
        let prefix: &[u8] = if from.starts_with(b"refs/heads/") {
            b"refs/heads/"
        } else if from.starts_with(b"refs/tags/") {
            b"refs/tags/"
        } else {
            return asked.clone();
        };
        [prefix, asked.as_slice()].concat().into()
    }

    /// Patterns and `:` over the refs that a push lists.
    fn add_patterns(&self, wanted: &Wanted, matching: &mut Matching<'_>) {
        for local in self.local.listed() {
            let Some((destination, by_name)) = mapped(wanted, local.name.as_ref(), Side::Source) else { continue };
            if matching.is_taken(&destination) {
                continue;
            }
            let only_if_there = by_name && !wanted.all && !wanted.mirror;
            if only_if_there && matching.asked && matching.old(&destination).is_none() {
                continue;
            }
            matching.add(local.name.clone(), Some(local.oid), destination);
        }
    }

    /// What `--prune` and `--mirror` delete. Only names travel, and the other side has them.
    fn add_deletions(&self, wanted: &Wanted, matching: &mut Matching<'_>) {
        let local: BTreeSet<&BStr> = self.local.listed().map(|local| local.name.as_bstr()).collect();
        let there: Vec<BString> = matching.there.keys().map(|name| BString::from(*name)).collect();
        for name in there.into_iter().filter(|name| !matching.taken.contains(name)).collect::<Vec<_>>() {
            let pruned = wanted.prune
                && mapped(wanted, name.as_ref(), Side::Destination)
                    .is_some_and(|(source, _)| !local.contains(source.as_bstr()));
            if pruned || wanted.mirror {
                matching.add(BString::default(), None, name);
            }
        }
    }

    /// The annotated tags that follow (`add_missing_tags`): missing at the destination, and on a commit
    /// below what is pushed or what it has.
    fn following_tags(&self, matching: &Matching<'_>) -> Result<Tags, Fault> {
        let missing: Vec<AnnotatedTag> =
            self.annotated_tags()?.into_iter().filter(|tag| !matching.is_there(&tag.name)).collect();
        if missing.is_empty() {
            return Ok(Tags::default());
        }
        if !matching.asked {
            return Ok(Tags { sure: Vec::new(), perhaps: missing.iter().map(AnnotatedTag::perhaps).collect() });
        }
        let apart = self.commits_apart(&missing, &matching.tips_afterwards())?;
        let (mut sure, mut perhaps) = (Vec::new(), Vec::new());
        for tag in missing {
            if apart.contains(&tag.commit) {
                // The walk that said so can be misled by dates; the tag itself costs little to read.
                perhaps.push(tag.perhaps());
            } else {
                sure.push(Update { source: tag.name.clone(), new: Some(tag.oid), destination: tag.name, old: None });
            }
        }
        Ok(Tags { sure, perhaps })
    }

    /// Local tags that are objects of their own and lead to a commit.
    fn annotated_tags(&self) -> Result<Vec<AnnotatedTag>, Fault> {
        let format = "--format=%(objectname) %(objecttype) %(*objecttype) %(*objectname) %(refname)";
        let listed = self.world.git(self.git, ["for-each-ref", format, "refs/tags/"]).stdout()?;
        let mut tags = Vec::new();
        for line in listed.lines() {
            let mut fields = line.splitn_str(5, " ");
            let (Some(oid), Some(b"tag"), Some(kind), Some(target), Some(name)) =
                (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let oid = object_id(oid)?;
            // Older gits look through one tag only.
            let commit = match kind {
                b"commit" => Some(object_id(target)?),
                b"tag" => self.ask(format!("{oid}^{{commit}}").as_bytes().as_bstr(), false)?,
                _ => None,
            };
            tags.extend(commit.map(|commit| AnnotatedTag { name: name.into(), oid, commit }));
        }
        Ok(tags)
    }

    /// Commits that the tags lead to and that are not below any of the tips.
    fn commits_apart(&self, tags: &[AnnotatedTag], tips: &BTreeSet<ObjectId>) -> Result<BTreeSet<ObjectId>, Fault> {
        let mut input = String::new();
        for tip in tips {
            input.push_str(&format!("^{tip}\n"));
        }
        for tag in tags {
            input.push_str(&format!("{}\n", tag.commit));
        }
        let listed =
            self.world.git(self.git, ["rev-list", "--ignore-missing", "--stdin"]).input(input.into_bytes()).stdout()?;
        listed.lines().map(object_id).collect()
    }
}

/// A local tag that is an object of its own.
#[derive(Debug)]
struct AnnotatedTag {
    name: BString,
    oid: ObjectId,
    commit: ObjectId,
}

impl AnnotatedTag {
    fn perhaps(&self) -> PerhapsTag {
        PerhapsTag { tag: self.oid, commit: self.commit }
    }
}

#[derive(Debug, Default)]
struct Tags {
    sure: Vec<Update>,
    perhaps: Vec<PerhapsTag>,
}

/// Refspecs that are neither patterns, nor `:`, nor negative.
fn explicit(wanted: &Wanted) -> impl Iterator<Item = &Refspec> {
    wanted.refspecs.iter().filter(|refspec| !refspec.pattern && !refspec.matching && !refspec.negative)
}

/// Which side of a refspec a name is on.
#[derive(Clone, Copy)]
enum Side {
    Source,
    Destination,
}

/// The other side of a name, by the first pattern that matches, else by `:`; whether it was by `:`
/// (`get_ref_match`).
fn mapped(wanted: &Wanted, name: &BStr, side: Side) -> Option<(BString, bool)> {
    let by_pattern =
        wanted.refspecs.iter().filter(|refspec| refspec.pattern && !refspec.negative).find_map(|refspec| match side {
            Side::Source => refspec.mapped(name),
            Side::Destination => refspec.mapped_back(name),
        });
    if let Some(other) = by_pattern {
        return Some((other, false));
    }
    let by_name = wanted.refspecs.is_empty() || wanted.refspecs.iter().any(|refspec| refspec.matching);
    (by_name && (wanted.mirror || name.starts_with(b"refs/heads/"))).then(|| (name.into(), true))
}

/// Updates being put together against what a destination has.
struct Matching<'a> {
    /// Whether the destination was asked.
    asked: bool,
    there: BTreeMap<&'a BStr, ObjectId>,
    taken: BTreeSet<BString>,
    updates: Vec<Update>,
}

impl<'a> Matching<'a> {
    fn new(advertised: Option<&'a [Advertised]>) -> Self {
        // `.have` is what the other side can read elsewhere, no ref of its own.
        let there = advertised.unwrap_or_default().iter().filter(|advertised| advertised.name.starts_with(b"refs/"));
        Self {
            asked: advertised.is_some(),
            there: there.map(|advertised| (advertised.name.as_bstr(), advertised.oid)).collect(),
            taken: BTreeSet::new(),
            updates: Vec::new(),
        }
    }

    /// Refs of the other side, and those being made there, that an abbreviated name stands for.
    fn names_like(&self, abbreviated: &BStr) -> Vec<BString> {
        let names: BTreeSet<&BStr> =
            self.there.keys().copied().chain(self.taken.iter().map(|name| name.as_bstr())).collect();
        matching_names(abbreviated, names.into_iter()).into_iter().map(BString::from).collect()
    }

    fn old(&self, name: &BString) -> Option<ObjectId> {
        self.there.get(name.as_bstr()).copied()
    }

    fn is_taken(&self, name: &BString) -> bool {
        self.taken.contains(name)
    }

    fn is_there(&self, name: &BString) -> bool {
        self.old(name).is_some() || self.is_taken(name)
    }

    fn add(&mut self, source: BString, new: Option<ObjectId>, destination: BString) {
        self.taken.insert(destination.clone());
        self.updates.push(Update { source, new, old: self.old(&destination), destination });
    }

    /// What the other side would have afterwards, as far as it is known.
    fn tips_afterwards(&self) -> BTreeSet<ObjectId> {
        let kept = self.there.iter().filter(|(name, _)| !self.taken.contains(**name)).map(|(_, oid)| *oid);
        kept.chain(self.updates.iter().filter_map(|update| update.new)).collect()
    }
}
