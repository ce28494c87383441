//! One repository as a push finds it: place, configuration, refs and remotes.

use std::thread;

use bstr::{BStr, BString};

use crate::command::plan::GitContext;
use crate::payload::{Fault, ObjectId};
use crate::text::SafeText;
use crate::world::World;

use super::config::Configuration;
use super::destination::{Advertisement, Asker, Network, Peer};
use super::refs::{Found, LocalRefs, Place, place, started_in};
use super::remote::{BranchSettings, Remote, Remotes};
use super::resolve::Resolver;
use super::transfer::claims;

/// One repository as a push finds it.
#[derive(Debug)]
pub struct Repository {
    /// How git is called in it.
    pub git: GitContext,
    /// Where it is.
    pub place: Place,
    /// Its configuration, as the command sees it.
    pub config: Configuration,
    /// Its refs.
    pub local: LocalRefs,
    /// Its remotes.
    pub remotes: Remotes,
}

/// What a command finds.
#[derive(Debug)]
pub enum Opened {
    /// A repository.
    Repository(Box<Repository>),
    /// None: git says so and pushes nothing.
    None(SafeText),
}

impl Repository {
    /// Asks git for everything at once, in children side by side.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub fn open(world: &World, git: &GitContext) -> Result<Opened, Fault> {
        if !started_in(git).is_dir() {
            return Ok(Opened::None("the directory is not there".into()));
        }
        let (place, config, local) = thread::scope(|scope| {
            let config = scope.spawn(|| Configuration::read(world, git));
            let local = scope.spawn(|| LocalRefs::read(world, git));
            (place(world, git), joined(config), joined(local))
        });
        let place = match place? {
            Found::Place(place) => place,
            Found::NoRepository(why) => return Ok(Opened::None(why)),
        };
        let config = config?;
        let remotes = Remotes::read(&config, &place.common_dir);
        Ok(Opened::Repository(Box::new(Self { git: git.clone(), place, config, local: local?, remotes })))
    }

    /// What the destination of a push url advertises; `receive_pack` is another program at that end.
    pub fn ask(
        &self,
        world: &World,
        remote: &Remote,
        url: &BString,
        receive_pack: Option<&BString>,
        network: Network,
    ) -> Advertisement {
        let asker = Asker { world, git: &self.git, config: &self.config, dir: &self.place.dir, network };
        asker.ask(url.as_ref(), &Peer::of(url.as_ref(), remote.helper.as_ref()), receive_pack)
    }

    /// What local refs claim that a url has: the right sides of the fetch refspecs of its remotes.
    ///
    /// # Errors
    /// When a legacy file of a remote cannot be read.
    pub fn claims(&self, remote: &Remote, url: &BStr) -> Result<Vec<ObjectId>, Fault> {
        let mut remotes = self.remotes.with_url(url)?;
        if remote.configured {
            remotes.push(remote.clone());
        }
        Ok(claims(&remotes, self))
    }

    /// A resolver of names in it.
    pub fn resolver<'a>(&'a self, world: &'a World) -> Resolver<'a> {
        let promised = |key: &[u8]| {
            key == b"extensions.partialclone"
                || (key.starts_with(b"remote.")
                    && (key.ends_with(b".promisor") || key.ends_with(b".partialclonefilter")))
        };
        let partial = self.config.settings().any(|setting| promised(&setting.key));
        Resolver::new(world, &self.git, &self.local, partial)
    }

    /// The settings of the current branch.
    pub fn branch(&self) -> Option<BranchSettings> {
        let name = self.local.branch()?;
        let short = name.strip_prefix(b"refs/heads/").unwrap_or(name);
        Some(self.remotes.branch(short.into()))
    }
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, Fault>>) -> Result<T, Fault> {
    thread.join().unwrap_or_else(|_| Err(Fault::Plumbing("a thread that asked git ended in a panic".into())))
}
