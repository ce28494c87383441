//! Which remotes a push goes to, and with which refspecs (builtin/push.c, 2.47 to 2.55).
//!
//! Promise: options and configuration combine as there. [`Refusal`] is said only where git itself
//! ends with an error before it connects, so that nothing leaves.

use bstr::{BStr, BString, ByteSlice};

use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;

use super::args::{PushArgs, Recurse, Signed, read_recurse, read_signed};
use super::refspec::{configured_destination, matching_names};
use super::remote::{Given, Remote, parsed};
use super::repository::Repository;
use super::resolve::Wanted;

/// Why git pushes nothing.
pub type Refusal = SafeText;

/// One remote of a push and what is to be matched there.
#[derive(Debug)]
pub struct Target {
    /// The remote.
    pub remote: Remote,
    /// The refspecs and how they are matched.
    pub wanted: Wanted,
}

/// Settings of a push beside its refspecs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Texts that are sent to the other side's hooks.
    pub push_options: Vec<BString>,
    /// Whether a certificate may be sent.
    pub signed: Signed,
    /// Which submodules are pushed along.
    pub recurse: Recurse,
    /// Whether tags follow.
    pub follow_tags: bool,
}

impl Manner {
    /// The manner that arguments and configuration give; or why git gives up.
    pub fn of(args: &PushArgs, repository: &Repository) -> Result<Self, Refusal> {
        let config = &repository.config;
        let mut recurse = Recurse::Off;
        let mut signed = Signed::Never;
        let mut configured: Vec<BString> = Vec::new();
        for setting in config.settings() {
            match setting.key.as_slice() {
                b"push.recursesubmodules" => {
                    recurse = read_recurse(setting.text()).ok_or("push.recurseSubmodules has an unknown value")?;
                }
                b"submodule.recurse" => recurse = if setting.truth() { Recurse::OnDemand } else { Recurse::Off },
                b"push.gpgsign" => {
                    let value = setting.value.as_ref().map_or(Some(Signed::Perhaps), |value| read_signed(value));
                    signed = value.ok_or("push.gpgSign has an unknown value")?;
                }
                // An empty value clears the list.
                b"push.pushoption" if setting.text().is_empty() => configured.clear(),
                b"push.pushoption" => configured.push(setting.text().into()),
                _ => {}
            }
        }
        if args.only_is_on_demand && recurse == Recurse::Only {
            recurse = Recurse::OnDemand;
        }
        let push_options = if args.push_options.is_empty() { configured } else { args.push_options.clone() };
        if push_options.iter().any(|option| option.contains(&b'\n')) {
            return Err("a push option has a line break".into());
        }
        Ok(Self {
            push_options,
            signed: args.signed.unwrap_or(signed),
            recurse: args.recurse.unwrap_or(recurse),
            follow_tags: args.follow_tags.or_else(|| config.flag("push.followtags")).unwrap_or(false),
        })
    }
}

/// The names that a push goes to: one, or the members of a group.
///
/// # Errors
/// When git's version is needed and cannot be asked.
pub fn names(args: &PushArgs, repository: &Repository, world: &World) -> Result<Vec<(BString, Given)>, Fault> {
    let Some(name) = args.operands.first().or(args.repo.as_ref()) else {
        return Ok(vec![repository.remotes.push_name(repository.branch().as_ref())]);
    };
    if repository.remotes.group(name.as_ref()).is_empty() || !knows_groups(world, repository)? {
        return Ok(vec![(name.clone(), Given::ByName)]);
    }
    let mut names = Vec::new();
    members(repository, name.as_ref(), &mut vec![name.clone()], &mut names);
    Ok(names.into_iter().map(|name| (name, Given::ByName)).collect())
}

/// The members of a group, those of groups within it too; `open` are the groups that led here.
fn members(repository: &Repository, group: &BStr, open: &mut Vec<BString>, found: &mut Vec<BString>) {
    for member in repository.remotes.group(group) {
        if !repository.remotes.group(member.as_ref()).is_empty() && !open.contains(member) {
            open.push(member.clone());
            members(repository, member.as_ref(), open, found);
            open.pop();
        } else if !found.contains(member) {
            found.push(member.clone());
        }
    }
}

/// `git push GROUP` came with git 2.55.
fn knows_groups(world: &World, repository: &Repository) -> Result<bool, Fault> {
    let answer = world.git(&repository.git, ["version"]).stdout()?;
    let text = answer.to_str_lossy();
    let mut numbers = text.split(|character: char| !character.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut number = || numbers.next().and_then(|part| part.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (number(), number()) else {
        return Err(Fault::Plumbing("git did not tell its version".into()));
    };
    Ok((major, minor) >= (2, 55))
}

/// The remote of a name, and what is to be matched there; or why git pushes nothing to it.
///
/// # Errors
/// When a legacy file cannot be read.
pub fn target(
    args: &PushArgs,
    manner: &Manner,
    repository: &Repository,
    (name, given): &(BString, Given),
) -> Result<Result<Target, Refusal>, Fault> {
    let Some(remote) = repository.remotes.find(name.as_ref(), *given)? else {
        return Ok(Err(match given {
            Given::ByName => format!("{} is no repository", SafeText::quoted(name, 120)).into(),
            Given::ByDefault => "no push destination is configured".into(),
        }));
    };
    Ok(wanted(args, manner, repository, &remote).map(|wanted| Target { remote, wanted }))
}

fn wanted(args: &PushArgs, manner: &Manner, repository: &Repository, remote: &Remote) -> Result<Wanted, Refusal> {
    let written = args.operands.get(1..).unwrap_or_default();
    let exclusive = [args.delete, args.tags, args.all, args.mirror].iter().filter(|set| **set).count();
    if exclusive > 1 {
        return Err("--delete, --tags, --all and --mirror exclude each other".into());
    }
    if args.delete && written.is_empty() {
        return Err("--delete needs refs".into());
    }
    let mirror = args.mirror || remote.mirror;
    if (args.all || mirror) && !written.is_empty() {
        return Err("--all and --mirror take no refspecs".into());
    }
    let mut raw = Vec::new();
    if args.tags {
        raw.push("refs/tags/*".into());
    }
    raw.extend(from_line(written, args.delete, repository, remote)?);
    if raw.is_empty() && !args.all {
        if !remote.push.is_empty() {
            raw.clone_from(&remote.push);
        } else if !mirror {
            raw = by_default(repository, remote)?;
        }
    }
    let refspecs = parsed(&raw, repository.place.hex_length).ok_or("a refspec is not valid")?;
    Ok(Wanted { refspecs, all: args.all, mirror, prune: args.prune, follow_tags: manner.follow_tags })
}

/// The refspecs of the line (`set_refspecs`).
fn from_line(
    written: &[BString],
    delete: bool,
    repository: &Repository,
    remote: &Remote,
) -> Result<Vec<BString>, Refusal> {
    let mut refspecs = Vec::new();
    let mut words = written.iter();
    while let Some(word) = words.next() {
        if word == "tag" {
            let tag = words.next().ok_or("`tag` without a tag")?;
            let colon: &[u8] = if delete { b":" } else { b"" };
            refspecs.push([colon, b"refs/tags/", tag].concat().into());
        } else if delete {
            if word.is_empty() || word.contains(&b':') {
                return Err("--delete takes plain names of refs".into());
            }
            refspecs.push([b":", word.as_slice()].concat().into());
        } else if word.contains(&b':') {
            refspecs.push(word.clone());
        } else {
            refspecs.push(mapped(word, repository, remote)?);
        }
    }
    Ok(refspecs)
}

/// A bare name that stands for one local ref goes where the remote's refspecs send it, or to the
/// branch's upstream (`refspec_append_mapped`).
fn mapped(word: &BString, repository: &Repository, remote: &Remote) -> Result<BString, Refusal> {
    let names = matching_names(word.as_ref(), repository.local.listed().map(|local| local.name.as_bstr()));
    let [name] = names.as_slice() else { return Ok(word.clone()) };
    if !remote.push.is_empty() {
        let configured =
            parsed(&remote.push, repository.place.hex_length).ok_or("a configured refspec is not valid")?;
        if let Some((destination, force)) = configured_destination(&configured, name) {
            let plus: &[u8] = if force { b"+" } else { b"" };
            return Ok([plus, name.as_bytes(), b":", destination.as_slice()].concat().into());
        }
    }
    if default_mode(repository)? == Mode::Upstream
        && let Some(branch) = name.strip_prefix(b"refs/heads/")
        && let [upstream] = repository.remotes.branch(branch.into()).upstreams()
    {
        return Ok([word.as_slice(), b":", upstream].concat().into());
    }
    Ok(word.clone())
}

/// `push.default`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Nothing,
    Matching,
    Simple,
    Upstream,
    Current,
}

fn default_mode(repository: &Repository) -> Result<Mode, Refusal> {
    match repository.config.last("push.default").map(|value| value.as_bytes()) {
        None | Some(b"simple") => Ok(Mode::Simple),
        Some(b"nothing") => Ok(Mode::Nothing),
        Some(b"matching") => Ok(Mode::Matching),
        Some(b"upstream" | b"tracking") => Ok(Mode::Upstream),
        Some(b"current") => Ok(Mode::Current),
        Some(_) => Err("push.default has an unknown value".into()),
    }
}

/// The refspecs when neither the line nor the remote has any (`setup_default_push_refspecs`).
fn by_default(repository: &Repository, remote: &Remote) -> Result<Vec<BString>, Refusal> {
    let mode = default_mode(repository)?;
    match mode {
        Mode::Matching => return Ok(vec![":".into()]),
        Mode::Nothing => return Err("push.default is nothing, and no refspec was given".into()),
        Mode::Simple | Mode::Upstream | Mode::Current => {}
    }
    let (Some(branch), Some(settings)) = (repository.local.branch(), repository.branch()) else {
        return Err("no branch is current, and no refspec was given".into());
    };
    let is_own = repository.remotes.fetch_name(Some(&settings)).0 == remote.name;
    let destination: BString = match mode {
        Mode::Simple if is_own => {
            let upstream = upstream(repository, branch, settings.upstreams())?;
            if upstream != branch {
                return Err("the branch's upstream has another name, and push.default is simple".into());
            }
            branch.into()
        }
        Mode::Upstream if is_own => upstream(repository, branch, settings.upstreams())?,
        Mode::Upstream => return Err("the remote is not the branch's upstream, and push.default is upstream".into()),
        Mode::Simple | Mode::Current | Mode::Matching | Mode::Nothing => branch.into(),
    };
    Ok(vec![[branch.as_bytes(), b":", destination.as_slice()].concat().into()])
}

/// Where the branch merges from; its own name where `push.autoSetupRemote` makes that so.
fn upstream(repository: &Repository, branch: &BStr, upstreams: &[BString]) -> Result<BString, Refusal> {
    match upstreams {
        [one] => Ok(one.clone()),
        [] if repository.config.settings().any(|setting| setting.key == "push.autosetupremote" && setting.truth()) => {
            Ok(branch.into())
        }
        [] => Err("the branch has no upstream".into()),
        [_, _, ..] => Err("the branch has several upstreams".into()),
    }
}
