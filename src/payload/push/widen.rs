//! A push that is not wholly known: everything that some reading of it could send.
//!
//! Promise: whatever the line does before, and whatever its unknown words stand for, what is sent from
//! here is reachable from a local ref, from HEAD (of any work tree), from a stash, from a ref of git's
//! own (`ORIG_HEAD` …) or from the index, all of which are tips; or an earlier command of the line
//! makes it, and then it is a publish of its own ([`crate::command::plan::State`]). Ids that only a
//! reflog or nothing at all holds can be named only in full, and a person who does so writes them out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use bstr::{BString, ByteSlice};

use crate::command::plan::{MovedTo, PushRequest, PushVia, State};
use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;

use super::args::{self, Parsed, PushArgs};
use super::hook::HookOutlook;
use super::refs::object_id;
use super::remote::{Given, Remote};
use super::repository::{Opened, Repository};
use super::resolve::Update;
use super::target::{self, Manner};
use super::transfer::{PushOptions, Resolved, Transfer, claims};
use super::{destination, submodule};

/// Refs of git's own beside `refs/`, without HEAD.
const ROOT_REFS: &[&str] = &[
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_HEAD",
    "AUTO_MERGE",
];

/// Why a push is not wholly known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// A word of it is not known.
    Word,
    /// Refspecs come from its standard input.
    Input,
    /// The line changes refs before it.
    Content,
    /// The line may change anything before it.
    Anything,
    /// It is known which refs go, and not where.
    Elsewhere,
    /// The other side takes what it likes.
    OtherSide,
}

impl Because {
    /// Why a request is not wholly known; `None` when it is.
    pub fn of(request: &PushRequest) -> Option<Self> {
        match (request.state, request.via) {
            (State::Changed, _) => Some(Self::Anything),
            (State::Elsewhere, PushVia::Push) => Some(Self::Elsewhere),
            (State::Elsewhere, _) => Some(Self::Anything),
            (State::ContentChanged | State::AsNow, PushVia::OtherSide) => Some(Self::OtherSide),
            (State::ContentChanged | State::AsNow, _) if request.args.contains(&None) => Some(Self::Word),
            (State::ContentChanged, PushVia::Push | PushVia::SendPack | PushVia::Lfs) => Some(Self::Content),
            (State::AsNow, PushVia::SendPack) if reads_input(request) => Some(Self::Input),
            (State::AsNow, PushVia::Push | PushVia::SendPack | PushVia::Lfs) => None,
        }
    }

    fn said(self) -> SafeText {
        let why = match self {
            Self::Word => "a word of the push is not known",
            Self::Input => "refspecs come from standard input",
            Self::Content => "the line changes refs before it pushes",
            Self::Anything => "the line may change the repository before it pushes",
            Self::Elsewhere => "the line changes where it goes",
            Self::OtherSide => "the other side takes what it likes",
        };
        if self == Self::Elsewhere {
            return "the refs that the push names and all tags are read".into();
        }
        format!("every local ref is read, since {why}").into()
    }
}

/// Whether a refspec of the push names the ref.
fn names(args: &PushArgs, full: &BString) -> bool {
    args.operands.iter().skip(1).any(|word| {
        let word = word.as_bytes();
        let word = word.strip_prefix(b"+").unwrap_or(word);
        let source = word.rfind_byte(b':').map_or(word, |at| word.get(..at).unwrap_or_default());
        full.strip_suffix(source).is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
    })
}

fn reads_input(request: &PushRequest) -> bool {
    let words: Vec<OsString> = request.args.iter().flatten().cloned().collect();
    matches!(args::send_pack(&words), Ok(Parsed::Args(args)) if args.stdin)
}

/// Everything that the push could send.
///
/// # Errors
/// When something cannot be asked.
pub fn widened(
    world: &World,
    request: &PushRequest,
    because: Because,
    options: PushOptions<'_>,
) -> Result<Resolved, Fault> {
    let repository = match Repository::open(world, &request.git)? {
        Opened::Repository(repository) => repository,
        Opened::None(why) => return Ok(nowhere(request, why)),
    };
    let args = known_part(request);
    let widening = Widening { world, repository: &repository, request, args: args.as_ref(), because, options };
    let mut resolved = Resolved {
        notes: vec![because.said()],
        hooks: vec![HookOutlook::of(&repository, skips_hooks(request, args.as_ref()))],
        ..Resolved::default()
    };
    if let Ok(manner) = Manner::of(&args.clone().unwrap_or_default(), &repository) {
        resolved.push_options = manner.push_options;
    }
    widening.take(&mut resolved)?;
    Ok(resolved)
}

/// A directory without a repository pushes nothing that is here now; what the line puts there, it
/// stages and commits first.
fn nowhere(request: &PushRequest, why: SafeText) -> Resolved {
    match request.state {
        State::AsNow | State::ContentChanged => Resolved { refused: Some(why), ..Resolved::default() },
        State::Elsewhere | State::Changed => {
            Resolved { notes: vec!["there is no repository yet".into()], ..Resolved::default() }
        }
    }
}

fn skips_hooks(request: &PushRequest, args: Option<&PushArgs>) -> bool {
    request.via != PushVia::Push || args.is_some_and(|args| args.no_verify)
}

/// The arguments as far as they are known: up to the first unknown word, which may be several.
fn known_part(request: &PushRequest) -> Option<PushArgs> {
    let words: Vec<OsString> = request.args.iter().map_while(Clone::clone).collect();
    let parsed = match request.via {
        PushVia::Push | PushVia::Lfs => args::push(&words),
        PushVia::SendPack => args::send_pack(&words),
        PushVia::OtherSide => return None,
    };
    match parsed {
        Ok(Parsed::Args(args)) => Some(*args),
        Ok(Parsed::Refused(_)) | Err(_) => None,
    }
}

struct Widening<'a> {
    world: &'a World,
    repository: &'a Repository,
    request: &'a PushRequest,
    args: Option<&'a PushArgs>,
    because: Because,
    options: PushOptions<'a>,
}

impl Widening<'_> {
    fn take(&self, resolved: &mut Resolved) -> Result<(), Fault> {
        let updates = self.updates()?;
        let remotes = self.remotes()?;
        if remotes.is_empty() {
            resolved.transfers.push(self.to_somewhere(updates)?);
            resolved.notes.push("nothing counts as published, since where it goes is not known".into());
            return Ok(());
        }
        for remote in &remotes {
            for url in &remote.push_urls {
                resolved.transfers.push(self.transfer(remote, url, &updates, &mut resolved.notes)?);
            }
            self.take_submodules(remote, resolved)?;
        }
        Ok(())
    }

    /// The remotes it could go to; none when that is not known.
    fn remotes(&self) -> Result<Vec<Remote>, Fault> {
        let Some(args) = self.args.filter(|_| !matches!(self.request.state, State::Changed | State::Elsewhere)) else {
            return Ok(Vec::new());
        };
        let unknown_words = self.request.args.contains(&None);
        let names = match (self.request.via, args.operands.first(), self.request.state) {
            (PushVia::OtherSide, ..) => Vec::new(),
            (PushVia::SendPack, Some(url), _) => return Ok(vec![as_written(url)]),
            (PushVia::SendPack, None, _) => Vec::new(),
            (PushVia::Push | PushVia::Lfs, Some(_), _) => target::names(args, self.repository, self.world)?,
            (PushVia::Push | PushVia::Lfs, None, _) if unknown_words => Vec::new(),
            (PushVia::Push | PushVia::Lfs, None, State::AsNow) if self.request.moved_to.branch.is_none() => {
                target::names(args, self.repository, self.world)?
            }
            // The current branch decides, and it may be another one by then.
            (
                PushVia::Push | PushVia::Lfs,
                None,
                State::AsNow | State::ContentChanged | State::Elsewhere | State::Changed,
            ) => match &args.repo {
                Some(_) => target::names(args, self.repository, self.world)?,
                None => self.repository.remotes.every_push_name(),
            },
        };
        if self.branch_sets_configuration() {
            return Ok(Vec::new());
        }
        let mut remotes = Vec::new();
        for (name, given) in names {
            match self.repository.remotes.find(name.as_ref(), given)? {
                Some(remote) => remotes.push(remote),
                // `origin` by default, where there is none: git pushes nothing to it.
                None if given == Given::ByDefault => {}
                None => return Ok(Vec::new()),
            }
        }
        Ok(remotes)
    }

    /// Whether settings hang on the current branch, which may be another one by then.
    fn branch_sets_configuration(&self) -> bool {
        (self.request.state == State::ContentChanged || self.request.moved_to.branch.is_some())
            && self.repository.config.hangs_on_branch()
    }

    fn transfer(
        &self,
        remote: &Remote,
        url: &BString,
        updates: &[Update],
        notes: &mut Vec<SafeText>,
    ) -> Result<Transfer, Fault> {
        let program = self.args.and_then(|args| args.receive_pack.as_ref()).or(remote.receive_pack.as_ref());
        let asked = self.repository.ask(self.world, remote, url, program, self.options.network);
        if let destination::Advertisement::Unknown(why) = &asked {
            notes.push(format!("nothing counts as published at {}: {why}", destination::shown(url.as_ref())).into());
        }
        Ok(Transfer {
            git: self.request.git.clone(),
            remote: remote.configured.then(|| remote.name.clone()),
            url: url.clone(),
            updates: updates.to_vec(),
            perhaps_tags: Vec::new(),
            evidence: asked.refs().map(|refs| refs.iter().map(|advertised| advertised.oid).collect()),
            claims: self.repository.claims(remote, url.as_ref())?,
            widened: true,
        })
    }

    /// A transfer to a place that is not known.
    fn to_somewhere(&self, updates: Vec<Update>) -> Result<Transfer, Fault> {
        Ok(Transfer {
            git: self.request.git.clone(),
            remote: None,
            url: "somewhere".into(),
            updates,
            perhaps_tags: Vec::new(),
            evidence: None,
            claims: claims(&[every_tracking_ref()], self.repository),
            widened: true,
        })
    }

    /// Every local ref and what else can be named, each as an update of a ref of the same name.
    fn updates(&self) -> Result<Vec<Update>, Fault> {
        let mut updates: Vec<Update> = self
            .repository
            .local
            .refs
            .iter()
            .map(|local| Update {
                source: local.name.clone(),
                new: Some(local.oid),
                destination: local.name.clone(),
                old: None,
            })
            .collect();
        if self.because == Because::Elsewhere
            && let Some(args) = self.args
        {
            updates.retain(|update| update.source.starts_with(b"refs/tags/") || names(args, &update.source));
            return Ok(updates);
        }
        let known: BTreeSet<ObjectId> = updates.iter().filter_map(|update| update.new).collect();
        let mut more = self.root_refs()?;
        more.extend(self.stashes()?);
        if self.because != Because::Content {
            more.extend(self.staged()?);
        }
        more.retain(|(_, oid)| !known.contains(oid));
        more.sort();
        more.dedup_by_key(|(_, oid)| *oid);
        updates.extend(more.into_iter().map(|(source, oid)| Update {
            source,
            new: Some(oid),
            destination: BString::default(),
            old: None,
        }));
        Ok(updates)
    }

    /// HEAD of every work tree and the refs of git's own.
    fn root_refs(&self) -> Result<Vec<(BString, ObjectId)>, Fault> {
        let mut names: Vec<BString> = vec!["HEAD".into()];
        names.extend(ROOT_REFS.iter().map(|name| BString::from(*name)));
        let folder = self.repository.place.common_dir.join("worktrees");
        if let Ok(entries) = std::fs::read_dir(&folder) {
            for entry in entries {
                let entry = entry.map_err(|error| Fault::File {
                    path: SafeText::quoted(folder.as_os_str().as_encoded_bytes(), 200),
                    what: error.to_string().into(),
                })?;
                names.push([b"worktrees/", entry.file_name().as_encoded_bytes(), b"/HEAD"].concat().into());
            }
        }
        let mut input = names.join(&b"\n"[..]);
        input.push(b'\n');
        let words = ["cat-file", "--batch-check=%(objectname)"];
        let answers = self.world.git(&self.repository.git, words).input(input).stdout()?;
        // A name that is not there is answered with the name and a word.
        let found = names.into_iter().zip(answers.lines());
        Ok(found.filter_map(|(name, line)| Some((name, object_id(line).ok()?))).collect())
    }

    /// Every stash; the ref holds the last one only.
    fn stashes(&self) -> Result<Vec<(BString, ObjectId)>, Fault> {
        if self.repository.local.find(b"refs/stash").is_none() {
            return Ok(Vec::new());
        }
        let listed =
            self.world.git(&self.repository.git, ["rev-list", "--walk-reflogs", "refs/stash", "--"]).stdout()?;
        listed.lines().map(|line| Ok((BString::from("stash"), object_id(line)?))).collect()
    }

    /// Blobs that are staged and not in HEAD: an unknown word may name one (`:0:file`).
    fn staged(&self) -> Result<Vec<(BString, ObjectId)>, Fault> {
        let words =
            ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "HEAD", "--"];
        let compared = self.world.git(&self.repository.git, words).run()?;
        if !compared.status.success() {
            // HEAD is not born yet.
            let listed = self.world.git(&self.repository.git, ["ls-files", "--stage", "-z"]).stdout()?;
            return blobs(listed.split_str("\0"), |entry| {
                let mut fields = entry.fields();
                Some((fields.next()?, fields.next()?))
            });
        }
        // `:old-mode new-mode old-id new-id status`, then a path.
        blobs(compared.stdout.split_str("\0").step_by(2), |entry| {
            let mut fields = entry.strip_prefix(b":")?.split_str(" ").skip(1);
            let mode = fields.next()?;
            Some((mode, fields.nth(1)?))
        })
    }

    /// Submodules that configuration sends along, each widened in its turn.
    fn take_submodules(&self, remote: &Remote, resolved: &mut Resolved) -> Result<(), Fault> {
        let Some(args) = self.args else { return Ok(()) };
        let recursive = Manner::of(args, self.repository).is_ok_and(|manner| manner.recurse.goes_down());
        if !recursive || self.repository.place.bare {
            return Ok(());
        }
        for git in submodule::populated(self.world, self.repository)? {
            let name = remote.configured.then(|| OsString::from_vec(remote.name.to_vec()));
            let request = PushRequest {
                git,
                args: name.into_iter().map(Some).chain([None]).collect(),
                state: self.request.state,
                via: PushVia::Push,
                moved_to: MovedTo::default(),
            };
            let below = widened(self.world, &request, self.because, self.options)?;
            resolved.transfers.extend(below.transfers);
            resolved.hooks.extend(below.hooks);
            resolved.notes.extend(below.notes);
        }
        Ok(())
    }
}

/// The ids in a list; `read` finds mode and id in an entry.
fn blobs<'a>(
    entries: impl Iterator<Item = &'a [u8]>,
    read: impl Fn(&'a [u8]) -> Option<(&'a [u8], &'a [u8])>,
) -> Result<Vec<(BString, ObjectId)>, Fault> {
    let found = entries.filter_map(read).filter(|(mode, _)| *mode != b"160000");
    let ids = found.map(|(_, oid)| object_id(oid)).collect::<Result<Vec<_>, _>>()?;
    Ok(ids.into_iter().filter(|oid| !oid.is_null()).map(|oid| ("index".into(), oid)).collect())
}

/// A destination that is a url as written: `git send-pack` rewrites nothing.
fn as_written(url: &BString) -> Remote {
    Remote { name: url.clone(), push_urls: vec![url.clone()], ..Remote::default() }
}

/// Stands for all remotes together, where it is not known which one is meant.
fn every_tracking_ref() -> Remote {
    Remote { fetch: vec!["refs/heads/*:refs/remotes/*".into()], ..Remote::default() }
}
