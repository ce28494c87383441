//! git's plumbing: fixed arguments, scrubbed environment.
//!
//! Promise: what is asked is asked in a form in which no hook, file-system monitor, pager, editor,
//! replacement object or lazy download takes part, and the answer is what the *judged command's*
//! git would see of configuration, refs and objects.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::command::plan::GitContext;
use crate::world::child::{ChildFault, Done, Job};
use crate::world::{Environment, World};

/// Most bytes a plumbing answer may have: refs and configuration of very large repositories fit.
const OUTPUT_LIMIT: usize = 1 << 30;

/// How long plumbing may take when nobody set a deadline.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Variables of the judged command which say where the repository and its configuration are. All
/// others are dropped: `LD_PRELOAD`, `GIT_SSH_COMMAND`, `GIT_TRACE*`, `GIT_EXEC_PATH` and the like
/// would run or write what we did not choose.
const KEPT: &[&str] = &[
    "HOME",
    "XDG_CONFIG_HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DEFAULT_HASH",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_ATTR_SOURCE",
    "GIT_ATTR_NOSYSTEM",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "EMAIL",
    "SUDO_UID",
];

/// Settings that hold in every call, against whatever the repository's configuration says.
pub(crate) const FIXED_CONFIG: &[&str] = &[
    "core.commitGraph=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
];

/// How many settings every call adds after those of the judged command; they are the last that
/// `git config --list` prints.
pub const FIXED_SETTINGS: usize = FIXED_CONFIG.len();

/// One call of git's plumbing, being put together.
#[derive(Debug)]
pub struct GitCall<'a> {
    world: &'a World,
    context: &'a GitContext,
    args: Vec<OsString>,
    env: Environment,
    input: Vec<u8>,
    network: bool,
    replacements: bool,
}

/// What went wrong with a call of git's plumbing.
#[derive(Debug, thiserror::Error)]
pub enum GitFault {
    /// No git on PATH, and none recorded.
    #[error("no git was found")]
    NoGit,
    /// git could not be run, or not to its end.
    #[error(transparent)]
    Child(#[from] ChildFault),
    /// git ran and said no.
    #[error("git {what} failed ({code}): {message}")]
    Failed {
        /// The sub-command and its first arguments.
        what: String,
        /// Its exit code, -1 when a signal ended it.
        code: i32,
        /// The first lines of its standard error, escaped where they are shown.
        message: String,
    },
}

impl World {
    /// A call of git's plumbing as `context` would see the repository. `args` are ours, never a
    /// word from outside in the place of an option.
    pub fn git<'a, S: AsRef<OsStr>>(
        &'a self,
        context: &'a GitContext,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'a> {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        GitCall {
            world: self,
            context,
            args,
            env: Environment::new(),
            input: Vec::new(),
            network: false,
            replacements: false,
        }
    }

    /// How long is left until the deadline, at most `most`.
    pub fn time_left(&self, most: Duration) -> Duration {
        self.deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()).min(most))
    }
}

impl<'a> GitCall<'a> {
    /// Adds what git reads from standard input.
    #[must_use]
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Sets a variable of the call, over what the context holds: a scratch index, for instance.
    #[must_use]
    pub fn var(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Lets the call reach a remote: agents, proxies and ssh keys of the user are kept.
    #[must_use]
    pub fn over_the_network(mut self) -> Self {
        self.network = true;
        self
    }

    /// Lets replacement objects take part, as they do when git itself resolves a revision expression:
    /// `HEAD~1` of a replaced commit is a parent of the replacement.
    #[must_use]
    pub fn with_replacements(mut self) -> Self {
        self.replacements = true;
        self
    }

    /// Runs it, whatever its exit code.
    ///
    /// # Errors
    /// When there is no git, or it could not be run to its end.
    pub fn run(self) -> Result<Done, GitFault> {
        Ok(self.job()?.run()?)
    }

    /// Runs it and returns its standard output; a non-zero exit is an error.
    ///
    /// # Errors
    /// As [`GitFault`] tells.
    pub fn stdout(self) -> Result<Vec<u8>, GitFault> {
        let what = self.what();
        stdout(what, self.run()?)
    }

    /// As [`GitCall::stdout`], of a question that nothing this program does can answer otherwise: it is
    /// put once for a judgement.
    ///
    /// # Errors
    /// As [`GitFault`] tells.
    pub fn answer(self) -> Result<Vec<u8>, GitFault> {
        let what = self.what();
        let memory = self.world.memory.clone();
        let job = self.job()?;
        match memory {
            Some(memory) => memory.answers.to(job, |job| stdout(what, job.run()?)),
            None => stdout(what, job.run()?),
        }
    }

    /// The sub-command and its first argument, for messages.
    fn what(&self) -> String {
        self.args.iter().take(2).map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// The job that would be run, for callers which stream its output themselves.
    ///
    /// # Errors
    /// When there is no git.
    pub fn job(self) -> Result<Job, GitFault> {
        let program: PathBuf = self.world.git_program().ok_or(GitFault::NoGit)?.to_owned();
        let mut args: Vec<OsString> = vec!["--no-pager".into(), "--no-optional-locks".into()];
        if !self.replacements {
            args.push("--no-replace-objects".into());
        }
        let (globals, named) = renamed_config_env(self.context);
        args.extend(globals);
        for setting in FIXED_CONFIG {
            args.extend(["-c".into(), OsString::from(setting)]);
        }
        args.extend(self.args);
        let mut env = kept(&self.context.env, self.network);
        env.extend(named);
        env.insert("PATH".into(), self.world.var("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin")).to_owned());
        for (name, value) in [
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_PAGER", "cat"),
            ("GIT_EDITOR", "false"),
            ("GIT_ASKPASS", "false"),
            ("LC_ALL", "C"),
        ] {
            env.insert(name.into(), value.into());
        }
        if self.replacements {
            for name in ["GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS"] {
                if let Some(value) = self.context.env.get(OsStr::new(name)) {
                    env.insert(name.into(), value.clone());
                }
            }
        }
        env.extend(self.env);
        Ok(Job {
            program,
            args,
            env,
            dir: starts_in(self.context),
            input: self.input,
            output_limit: OUTPUT_LIMIT,
            time_limit: self.world.time_left(TIME_LIMIT),
        })
    }
}

/// Where git is started. A folder that is gone does not matter where the first option leads out of it.
fn starts_in(context: &GitContext) -> PathBuf {
    let leads_out = match context.globals.as_slice() {
        [option, dir, ..] => option == "-C" && PathBuf::from(dir).is_absolute(),
        _ => false,
    };
    if leads_out && !context.dir.is_dir() { PathBuf::from("/") } else { context.dir.clone() }
}

fn stdout(what: String, done: Done) -> Result<Vec<u8>, GitFault> {
    if done.status.success() {
        return Ok(done.stdout);
    }
    let message = String::from_utf8_lossy(&done.stderr).lines().take(3).collect::<Vec<_>>().join("; ");
    Err(GitFault::Failed { what, code: done.status.code().unwrap_or(-1), message })
}

/// The context's global options, with each variable that `--config-env` names under a name of our own,
/// and those variables: under its own name it could be one that steers the child (`LD_PRELOAD`).
fn renamed_config_env(context: &GitContext) -> (Vec<OsString>, Environment) {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let (mut globals, mut env) = (Vec::new(), Environment::new());
    let mut words = context.globals.iter();
    while let Some(word) = words.next() {
        let setting = match word.as_bytes().strip_prefix(b"--config-env") {
            Some(b"") => words.next().map(|next| next.as_bytes()),
            Some(joined) => joined.strip_prefix(b"="),
            None => None,
        };
        let Some(setting) = setting else {
            globals.push(word.clone());
            continue;
        };
        let at = setting.iter().rposition(|byte| *byte == b'=').unwrap_or(setting.len());
        let (key, variable) = setting.split_at(at);
        let variable = OsStr::from_bytes(variable.strip_prefix(b"=").unwrap_or_default());
        let name = format!("TYRAN_CONFIG_ENV_{}", env.len());
        globals.push(OsString::from_vec([b"--config-env=", key, b"=", name.as_bytes()].concat()));
        if let Some(value) = context.env.get(variable) {
            env.insert(name.into(), value.clone());
        }
    }
    (globals, env)
}

/// The part of a judged command's environment that may reach our children.
fn kept(env: &Environment, network: bool) -> Environment {
    env.iter().filter(|(name, _)| is_kept(name, network)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn is_kept(name: &OsStr, network: bool) -> bool {
    let Some(name) = name.to_str() else { return false };
    KEPT.contains(&name)
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_")
        || (network
            && matches!(
                name,
                "SSH_AUTH_SOCK"
                    | "http_proxy"
                    | "https_proxy"
                    | "HTTPS_PROXY"
                    | "no_proxy"
                    | "NO_PROXY"
                    | "all_proxy"
                    | "ALL_PROXY"
            ))
}
