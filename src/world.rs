//! The outside as one value: environment, directory, clock, files, children.
//!
//! Promise: no other module reads the process's environment or directory, and every child that is
//! started has a cleared environment, a program path fixed beforehand and arguments of ours. What a
//! *judged command* would see is data ([`crate::command::plan::GitContext`]), filtered through an
//! allow-list before any of it reaches a child.

pub mod ancestors;
pub mod answers;
pub mod child;
mod environment;
pub mod git;
pub mod memory;
pub mod plant;
pub mod scratch;
pub mod users;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use environment::Environment;
use memory::Memory;
pub use users::{home_of, user_home};

/// Who asked. It decides whether programs that configuration names may run (design principle 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution {
    /// A host's hook: nothing that configuration, attributes or a command line name is run.
    Gate,
    /// A person's `scan-*`, CI, or git's own hook: what git itself is about to run may run.
    ByHand,
}

/// What a judged command would read as its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Whatever the host's tool has, of which nothing is known.
    Inherited,
    /// Nothing at all.
    Nothing,
    /// What somebody types after it was started.
    TypedLater,
}

/// Everything tyran knows of the machine it runs on.
#[derive(Clone, Debug)]
pub struct World {
    /// The environment that the judged command would inherit.
    pub env: Environment,
    /// The directory that the judged command would start in. Absolute.
    pub cwd: PathBuf,
    /// When the answer must be there; `None` is no bound.
    pub deadline: Option<Instant>,
    /// Who asked.
    pub caution: Caution,
    /// What the judged command would read as its standard input.
    pub input: Input,
    /// Whether the judged command runs in a shell that was there before and will be there after it: what
    /// earlier commands left behind (variables, functions, aliases) is not known then.
    pub shell_lives_on: bool,
    git: Arc<GitPlace>,
    git_crypt: Option<PathBuf>,
    memory: Option<Arc<Memory>>,
}

/// The git that is run for plumbing, looked for when it is first needed: most commands need none.
#[derive(Debug)]
struct GitPlace {
    found: OnceLock<Option<PathBuf>>,
    path: Option<OsString>,
    cwd: PathBuf,
    recorded: Option<fn() -> Recorded>,
}

/// What is known of a git that was recorded.
#[derive(Debug)]
pub enum Recorded {
    /// It is this one.
    This(PathBuf),
    /// None was recorded: PATH says which.
    Nothing,
    /// The record cannot be read, so that none may be run.
    Unreadable,
}

impl GitPlace {
    fn program(&self) -> Option<&Path> {
        let on_path = || look_up(OsStr::new("git"), self.path.as_deref(), &self.cwd);
        let found = self.found.get_or_init(|| match self.recorded.map(|recorded| recorded()) {
            Some(Recorded::This(git)) => Some(git),
            Some(Recorded::Unreadable) => None,
            Some(Recorded::Nothing) | None => on_path(),
        });
        found.as_deref()
    }
}

impl World {
    /// The world of this process.
    ///
    /// # Errors
    /// When the current directory cannot be read (removed, or not permitted).
    pub fn of_process(caution: Caution) -> std::io::Result<Self> {
        Ok(Self::new(env::vars_os().collect(), env::current_dir()?, caution))
    }

    /// A world from its parts, as tests make it.
    pub fn new(env: Environment, cwd: PathBuf, caution: Caution) -> Self {
        let git = Arc::new(GitPlace {
            found: OnceLock::new(),
            path: env.get(OsStr::new("PATH")).cloned(),
            cwd: cwd.clone(),
            recorded: None,
        });
        Self {
            env,
            cwd,
            deadline: None,
            caution,
            input: Input::Inherited,
            shell_lives_on: false,
            git,
            git_crypt: None,
            memory: None,
        }
    }

    /// The same world where commands run in a shell that lives on between them, or may.
    #[must_use]
    pub fn with_living_shell(mut self, lives_on: bool) -> Self {
        self.shell_lives_on = lives_on;
        self
    }

    /// The same world with another git, as `setup` recorded it: gate and net run only that one.
    #[must_use]
    pub fn with_git(mut self, git: PathBuf) -> Self {
        let found = OnceLock::from(Some(git));
        self.git = Arc::new(GitPlace { found, path: None, cwd: self.cwd.clone(), recorded: None });
        self
    }

    /// The same world with a git-crypt, as `setup` recorded it: the one filter that the gate runs.
    #[must_use]
    pub fn with_git_crypt(mut self, git_crypt: Option<PathBuf>) -> Self {
        self.git_crypt = git_crypt;
        self
    }

    /// The same world with the git that `recorded` tells of, asked only once a git is needed.
    #[must_use]
    pub fn with_recorded_git(mut self, recorded: fn() -> Recorded) -> Self {
        let path = self.env.get(OsStr::new("PATH")).cloned();
        let cwd = self.cwd.clone();
        self.git = Arc::new(GitPlace { found: OnceLock::new(), path, cwd, recorded: Some(recorded) });
        self
    }

    /// The same world with an earlier deadline; a later one changes nothing.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        let deadline = self.deadline.map_or(deadline, |own| own.min(deadline));
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The same world for one judgement, in which git and the file system are asked the same thing only
    /// once.
    #[must_use]
    pub fn remembering(&self) -> Self {
        Self { memory: Some(Arc::default()), ..self.clone() }
    }

    /// The git that is run for plumbing. Absolute.
    pub fn git_program(&self) -> Option<&Path> {
        self.git.program()
    }

    /// The git-crypt that may run as a filter. Absolute.
    pub fn git_crypt(&self) -> Option<&Path> {
        self.git_crypt.as_deref()
    }

    /// A variable of the judged command's environment.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.get(OsStr::new(name)).map(OsString::as_os_str)
    }
}

/// Opens a regular file for reading. What the kernel makes up (`/proc`, `/sys`) is none, though it looks like
/// one: reading may wait without end (`/proc/kmsg`), or take away what is read.
///
/// # Errors
/// When it cannot be opened, or is no regular file of a disk.
pub fn open_plain(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::fcntl::OFlag::O_NONBLOCK.bits());
    let file = options.open(path)?;
    if !file.metadata()?.is_file() || is_made_up(&file)? {
        return Err(std::io::Error::other("no regular file"));
    }
    Ok(file)
}

#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> std::io::Result<bool> {
    use nix::sys::statfs::{DEBUGFS_MAGIC, PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC, fstatfs};
    let kind = fstatfs(file)?.filesystem_type();
    Ok([PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC].contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn is_made_up(_file: &File) -> std::io::Result<bool> {
    Ok(false)
}

/// The bytes of a file as [`open_plain`] opens it.
///
/// # Errors
/// As [`open_plain`], and when it cannot be read.
pub fn read_plain(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first executable file called `program` along `path`, as execvp looks it up.
pub fn look_up(program: &OsStr, path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        let candidate = cwd.join(program);
        return is_executable(&candidate).then_some(candidate);
    }
    env::split_paths(path?).map(|folder| cwd.join(folder).join(program)).find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    // The mode alone says nothing of a mount without execution; root is asked for the mode too.
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
        && nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// tyran's own state: `~/.tyran`, whose directories are made with mode 0700 by whoever needs them.
///
/// A build with debug assertions (never a release) takes `TYRAN_STATE_DIR` instead, so that tests
/// touch nothing of the user's.
pub fn state_dir() -> Option<PathBuf> {
    if cfg!(debug_assertions)
        && let Some(dir) = env::var_os("TYRAN_STATE_DIR")
    {
        return Some(PathBuf::from(dir));
    }
    user_home().map(|home| home.join(".tyran"))
}
