//! A push taken apart: one transfer for each url, with its updates and what is there already.

use bstr::{BString, ByteSlice};
use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::command::plan::{GitContext, PushRequest, PushVia};
use crate::payload::cache::Cache;
use crate::payload::{Boundary, Destination, Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;

use super::args::{self, Parsed, PushArgs, Recurse, Signed};
use super::destination::{Advertisement, Network, Peer, shown};
use super::hook::HookOutlook;
use super::refs::Head;
use super::remote::Remote;
use super::repository::{Opened, Repository};
use super::resolve::{Matched, PerhapsTag, Resolver, Update, Wanted};
use super::submodule;
use super::target::{self, Manner, Target};
use super::widen::{Because, widened};

/// How a push is resolved.
#[derive(Clone, Copy, Debug)]
pub struct PushOptions<'a> {
    /// Whether destinations over the network are asked.
    pub network: Network,
    /// What was read before and found clean, for a gate that takes claims for its early answer. pre-push
    /// and CI have none.
    pub cache: Option<&'a Cache>,
    /// Whether git's own pack is made where the object store may lie.
    pub airlock: Airlock,
}

impl PushOptions<'_> {
    /// Without a cache; git's own pack in doubt.
    pub fn new(network: Network) -> Self {
        Self { network, cache: None, airlock: Airlock::InDoubt }
    }
}

/// Whether git's own pack is made, which costs as much as the push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Airlock {
    /// Never: a store that may lie is a fault.
    Never,
    /// Where the object store may lie.
    InDoubt,
    /// Always: the exact answer, from git itself.
    Always,
}

/// What goes to one url.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// How git is called in the repository that it leaves from.
    pub git: GitContext,
    /// The name of the remote, when it has one.
    pub remote: Option<BString>,
    /// Where it goes, as git would connect; credentials may be in it.
    pub url: BString,
    /// The updates, in git's order.
    pub updates: Vec<Update>,
    /// Tags that might follow; only they themselves, not what they lead to.
    pub perhaps_tags: Vec<PerhapsTag>,
    /// What the url said that it has; `None` when it was not asked or did not answer.
    pub evidence: Option<Vec<ObjectId>>,
    /// What local refs claim that it has.
    pub claims: Vec<ObjectId>,
    /// Whether the updates are all that could be sent, because what is sent is not known.
    pub widened: bool,
}

/// A push taken apart.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    /// What goes where.
    pub transfers: Vec<Transfer>,
    /// Why git pushes nothing, when it does not.
    pub refused: Option<SafeText>,
    /// Texts that travel beside the objects, in a dry run too.
    pub push_options: Vec<BString>,
    /// Who pushes, as a push certificate says it; empty when none is sent.
    pub certificate: Vec<BString>,
    /// Whether no object is sent (`--dry-run`).
    pub dry_run: bool,
    /// Whether pre-push hooks run: this repository's, then those of submodules.
    pub hooks: Vec<HookOutlook>,
    /// Whether refs may be replaced by what does not contain them, as far as the arguments say.
    pub force: Force,
    /// What a person should know.
    pub notes: Vec<SafeText>,
}

/// Whether a push may replace a ref by what does not contain it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// git would turn such an update down.
    #[default]
    No,
    /// `--force`, `--force-with-lease`, `--mirror`, or a refspec with `+`.
    Asked,
    /// git has settled it already, and tells its hook only the ids.
    Settled,
}

impl Transfer {
    /// The ids that are sent.
    pub fn tips(&self) -> impl Iterator<Item = ObjectId> {
        self.updates.iter().filter(|update| !update.is_up_to_date()).filter_map(|update| update.new)
    }

    /// Whether anything is sent.
    pub fn sends(&self) -> bool {
        self.tips().next().is_some() || !self.perhaps_tags.is_empty()
    }

    /// Whether it is what would leave, and not a superset.
    pub fn is_exact(&self) -> bool {
        self.evidence.is_some() && self.perhaps_tags.is_empty() && !self.widened
    }

    /// What the url has, and what is only said of it.
    pub fn boundary(&self) -> Boundary {
        Boundary { evidence: self.evidence.clone().unwrap_or_default(), claims: self.claims.clone() }
    }

    /// For the report.
    pub fn destination(&self) -> Destination {
        let sent = self.updates.iter().filter(|update| !update.is_up_to_date() && !self.widened);
        Destination {
            url: shown(self.url.as_ref()),
            refs: sent.map(|update| SafeText::quoted(&update.destination, 120)).collect(),
        }
    }
}

impl Resolved {
    fn refused(why: SafeText) -> Self {
        Self { refused: Some(why), ..Self::default() }
    }
}

/// Takes a push apart whose words and state are all known.
///
/// # Errors
/// What is not modelled, or could not be asked.
pub fn resolve(
    world: &World,
    request: &PushRequest,
    words: &[OsString],
    options: PushOptions<'_>,
) -> Result<Resolved, Fault> {
    let parsed = match request.via {
        PushVia::Push | PushVia::Lfs => args::push(words)?,
        PushVia::SendPack | PushVia::OtherSide => args::send_pack(words)?,
    };
    let args = match parsed {
        Parsed::Args(args) => args,
        Parsed::Refused(why) => return Ok(Resolved::refused(why)),
    };
    let mut repository = match Repository::open(world, &request.git)? {
        Opened::Repository(repository) => repository,
        Opened::None(why) => return Ok(Resolved::refused(why)),
    };
    if let Some(branch) = &request.moved_to.branch {
        if repository.config.hangs_on_branch() {
            return widened(world, request, Because::Content, options);
        }
        repository.local.head = Head::Branch(branch.clone());
    }
    let taking = Taking { world, repository: &repository, args: &args, options };
    match request.via {
        PushVia::Push | PushVia::Lfs => taking.push(),
        PushVia::SendPack | PushVia::OtherSide => taking.send_pack(),
    }
}

struct Taking<'a> {
    world: &'a World,
    repository: &'a Repository,
    args: &'a PushArgs,
    options: PushOptions<'a>,
}

impl Taking<'_> {
    fn push(&self) -> Result<Resolved, Fault> {
        let manner = match Manner::of(self.args, self.repository) {
            Ok(manner) => manner,
            Err(why) => return Ok(Resolved::refused(why)),
        };
        let mut resolved = Resolved {
            dry_run: self.args.dry_run,
            hooks: vec![HookOutlook::of(self.repository, self.args.no_verify)],
            push_options: manner.push_options.clone(),
            certificate: self.certificate(manner.signed)?,
            ..Resolved::default()
        };
        let resolver = self.repository.resolver(self.world);
        for name in target::names(self.args, self.repository, self.world)? {
            match target::target(self.args, &manner, self.repository, &name)? {
                Ok(target) => {
                    let from = resolved.transfers.len();
                    if resolved.force == Force::No {
                        resolved.force = self.force(&target.wanted);
                    }
                    self.take(&target, &resolver, &mut resolved)?;
                    self.take_submodules(&target, &manner, from, &mut resolved)?;
                }
                Err(why) => resolved.refused = Some(why),
            }
        }
        if !resolved.transfers.is_empty() {
            resolved.refused = None;
        }
        Ok(resolved)
    }

    fn force(&self, wanted: &Wanted) -> Force {
        let is_asked = self.args.force || wanted.mirror || wanted.refspecs.iter().any(|refspec| refspec.force);
        if is_asked { Force::Asked } else { Force::No }
    }

    /// What a push certificate says of the pusher (send-pack.c `generate_push_cert`): the signing key's
    /// name, else the committer.
    fn certificate(&self, signed: Signed) -> Result<Vec<BString>, Fault> {
        if signed == Signed::Never {
            return Ok(Vec::new());
        }
        let key = self.repository.config.last("user.signingkey").map(BString::from);
        let committer = self.world.git(&self.repository.git, ["var", "GIT_COMMITTER_IDENT"]).run()?;
        Ok(key.into_iter().chain([committer.stdout.trim_end().into()]).collect())
    }

    /// All urls of one remote.
    fn take(&self, target: &Target, resolver: &Resolver<'_>, resolved: &mut Resolved) -> Result<(), Fault> {
        if let Some(why) = resolver.objection(&target.wanted)? {
            resolved.refused = Some(why);
            return Ok(());
        }
        for url in &target.remote.push_urls {
            let peer = Peer::of(url.as_ref(), target.remote.helper.as_ref());
            if self.args.receive_pack.is_none()
                && target.remote.receive_pack.is_none()
                && peer.is_absent(&self.repository.place.dir)
            {
                resolved.refused = Some(format!("there is no repository at {}", shown(url.as_ref())).into());
                continue;
            }
            resolved.transfers.push(self.transfer(
                &target.remote,
                url,
                &target.wanted,
                resolver,
                &mut resolved.notes,
            )?);
        }
        Ok(())
    }

    /// The submodules that go along; the transfers of this remote start at `from`.
    fn take_submodules(
        &self,
        target: &Target,
        manner: &Manner,
        from: usize,
        resolved: &mut Resolved,
    ) -> Result<(), Fault> {
        if !manner.recurse.goes_down() {
            return Ok(());
        }
        let tips: BTreeSet<ObjectId> = resolved
            .transfers
            .iter()
            .skip(from)
            .flat_map(|transfer| &transfer.updates)
            .filter_map(|update| update.new)
            .collect();
        let tips: Vec<ObjectId> = tips.into_iter().collect();
        let requests = submodule::pushes(self.world, self.repository, target, &tips, &manner.push_options)?;
        if manner.recurse == Recurse::Only {
            resolved.transfers.truncate(from);
            resolved.notes.push("only submodules are pushed (push.recurseSubmodules)".into());
        }
        for request in requests {
            let words: Vec<OsString> = request.args.iter().flatten().cloned().collect();
            let below = resolve(self.world, &request, &words, self.options)?;
            resolved.transfers.extend(below.transfers);
            resolved.hooks.extend(below.hooks);
            resolved.notes.extend(below.notes);
        }
        Ok(())
    }

    fn transfer(
        &self,
        remote: &Remote,
        url: &BString,
        wanted: &Wanted,
        resolver: &Resolver<'_>,
        notes: &mut Vec<SafeText>,
    ) -> Result<Transfer, Fault> {
        let program = self.args.receive_pack.as_ref().or(remote.receive_pack.as_ref());
        let advertisement = self.repository.ask(self.world, remote, url, program, self.options.network);
        if let Advertisement::Unknown(why) = &advertisement {
            notes.push(format!("nothing counts as published at {}: {why}", shown(url.as_ref())).into());
        }
        let Matched { updates, perhaps_tags } = resolver.updates(wanted, advertisement.refs())?;
        Ok(Transfer {
            git: self.repository.git.clone(),
            remote: remote.configured.then(|| remote.name.clone()),
            url: url.clone(),
            updates,
            perhaps_tags,
            evidence: advertisement.refs().map(|refs| refs.iter().map(|advertised| advertised.oid).collect()),
            claims: self.repository.claims(remote, url.as_ref())?,
            widened: false,
        })
    }

    /// `git send-pack`: the url as written, the refspecs as written, no hook and no configured refspec.
    fn send_pack(&self) -> Result<Resolved, Fault> {
        let Some((url, written)) = self.args.operands.split_first() else {
            return Ok(Resolved::refused("git send-pack names no destination".into()));
        };
        if !written.is_empty() && (self.args.all || self.args.mirror) || (self.args.all && self.args.mirror) {
            return Ok(Resolved::refused("git send-pack takes --all, --mirror or refspecs".into()));
        }
        let Some(refspecs) = super::remote::parsed(written, self.repository.place.hex_length) else {
            return Ok(Resolved::refused("a refspec is not valid".into()));
        };
        let wanted = Wanted { refspecs, all: self.args.all, mirror: self.args.mirror, ..Wanted::default() };
        let remote = Remote { name: url.clone(), push_urls: vec![url.clone()], ..Remote::default() };
        let mut resolved = Resolved {
            dry_run: self.args.dry_run,
            push_options: self.args.push_options.clone(),
            hooks: vec![HookOutlook { skipped: true, ..HookOutlook::default() }],
            force: self.force(&wanted),
            ..Resolved::default()
        };
        let resolver = self.repository.resolver(self.world);
        self.take(&Target { remote, wanted }, &resolver, &mut resolved)?;
        Ok(resolved)
    }
}

/// What local refs claim that these remotes have.
pub fn claims(remotes: &[Remote], repository: &Repository) -> Vec<ObjectId> {
    let rights = remotes.iter().flat_map(|remote| &remote.fetch).filter_map(|refspec| refspec.rsplit_once_str(":"));
    let mut claims = Vec::new();
    for (_, right) in rights {
        let named = repository.local.refs.iter().filter(|local| covers(right, &local.name));
        claims.extend(named.map(|local| local.oid));
    }
    claims.sort_unstable();
    claims.dedup();
    claims
}

fn covers(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_once_str("*") {
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => pattern == name,
    }
}
