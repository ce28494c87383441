//! The judgement behind an event: the plan in this process, everything past an inert plan in a child.
//!
//! Promise: a stack overflow, an allocation failure or the OOM killer ends the child and is a refusal
//! here. The child is this same binary with a cleared environment, its own process group and a memory
//! limit; what the judged command would see is handed to it as data.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bstr::{BStr, BString};
use serde::{Deserialize, Serialize};

use crate::command::plan::{GitContext, Outcome, Plan};
use crate::command::{self, Shell};
use crate::install::recorded::Recorded;
use crate::judge::NetCover;
use crate::net::place::Own;
use crate::net::{self, Standing};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::child::{ChildFault, Job};
use crate::world::{self, Caution, Environment, World, plant, scratch};

use super::emit::Decision;
use super::event::{Call, ShellCommand};
use super::session;
use super::table::{Host, ShellState, ToolShell};

/// Most bytes of memory that the child may make its own; a pack that it maps does not count.
const MEMORY_LIMIT_BYTES: u64 = 2 << 30;

/// Most bytes of an answer.
const ANSWER_LIMIT_BYTES: usize = 1 << 20;

/// How much of the time is kept back for writing the answer.
const KEPT_BACK: Duration = Duration::from_millis(150);

/// What is to be done after a deadline: what is read with the gate's own engine is remembered.
pub const AFTER_DEADLINE: &str = "run `tyran scan-push --engine embedded` with the push's own arguments; what it reads is remembered, and the same push then passes in time";

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    /// What would be published.
    pub subject: Subject,
    /// The directory of the call.
    pub cwd: PathBuf,
    /// The environment that a command would see.
    pub env: BTreeMap<String, String>,
    /// Milliseconds until the answer must be there.
    pub within_millis: u64,
}

/// What would be published.
#[derive(Debug, Serialize, Deserialize)]
pub enum Subject {
    /// A command line.
    Command {
        /// Its text.
        text: String,
        /// Whether zsh reads it.
        zsh: bool,
        /// Whether the shell lives on after it.
        lives_on: bool,
    },
    /// Texts that reach a server.
    Texts {
        /// The tool that takes them.
        tool: String,
        /// The texts.
        texts: Vec<String>,
        /// Files that it takes as they are. Absolute.
        files: Vec<PathBuf>,
    },
}

/// What the child answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// `pass`, `ask` or `refuse`.
    pub decision: String,
    /// Why not, in the words of `docs/refusals.md`; empty for a pass.
    pub class: String,
    /// What is shown.
    pub text: String,
}

impl Reply {
    /// No objection.
    pub fn pass() -> Self {
        Self { decision: "pass".to_owned(), class: String::new(), text: String::new() }
    }

    /// A question.
    pub fn ask(class: Class, text: String) -> Self {
        Self { decision: "ask".to_owned(), class: class.word().to_owned(), text }
    }

    /// A refusal.
    pub fn refuse(class: Class, text: String) -> Self {
        Self { decision: "refuse".to_owned(), class: class.word().to_owned(), text }
    }
}

/// Judges one command.
pub fn command(host: &Host, command: &ShellCommand, deadline: Instant) -> Decision {
    let world = match world(host, command.cwd.as_deref()) {
        Ok(world) => world,
        Err(refusal) => return Decision::from(&refusal),
    };
    let shell = match command.shell {
        ToolShell::Zsh => Shell::Zsh,
        // Neither is bash. Their simple lines read the same, and what does not read whole is judged
        // by everything that is in reach.
        ToolShell::Bash | ToolShell::Powershell | ToolShell::Cmd => Shell::Bash,
    };
    let lives_on = lives_on(host);
    let ask_about = || {
        let subject = Subject::Command { text: command.text.clone(), zsh: shell == Shell::Zsh, lives_on };
        ask(subject, &world, deadline)
    };
    // What speaks of a push or a commit is read by the child all the same: reading it here first would
    // ask git everything twice.
    if host.tools.typing.is_empty() && ["git push", "git commit"].iter().any(|said| command.text.contains(said)) {
        return ask_about();
    }
    let plan = command::read(command.text.as_bytes(), &world, shell);
    if let Some(program) = session::opened(host, &command.text, &world, shell, &plan)
        && !net_holds(&world)
    {
        return Decision::from(&unshown(host, &format!("{program} opens a session")));
    }
    if is_inert(&plan) {
        return Decision::Pass;
    }
    ask_about()
}

fn is_inert(plan: &Plan) -> bool {
    plan.outcome == Outcome::Inert && plan.tamper.is_empty() && plan.bypass.is_empty() && plan.opaque.is_empty()
}

/// Whether functions, aliases and exports of one call are there in the next.
fn lives_on(host: &Host) -> bool {
    match host.shell_state {
        ShellState::Full | ShellState::Unknown => true,
        ShellState::Fresh | ShellState::Cwd => false,
    }
}

/// The world of the call: our own environment with what the host's tool adds to it.
fn world(host: &Host, cwd: Option<&Path>) -> Result<World, Refusal> {
    let mut env: Environment = std::env::vars_os().collect();
    for (name, value) in &host.tool_env {
        env.insert(OsString::from(name), OsString::from(value));
    }
    let own = std::env::current_dir();
    let cwd = match (cwd, own) {
        (Some(cwd), _) => cwd.to_owned(),
        (None, Ok(own)) => own,
        (None, Err(error)) => {
            return Err(Refusal::new(
                Class::Event,
                format!("the host does not say where it runs, and our own directory cannot be read: {error}"),
                "start the session in a directory that exists",
            ));
        }
    };
    // Its digest is checked by the child, which judges whatever is not inert.
    let world = World::new(env, cwd, Caution::Gate).with_living_shell(lives_on(host));
    Ok(world.with_recorded_git(|| match Recorded::read() {
        Ok(Some(recorded)) => world::Recorded::This(recorded.git.path),
        Ok(None) => world::Recorded::Nothing,
        Err(_) => world::Recorded::Unreadable,
    }))
}

/// Text typed into an open session, which the host does not show.
pub fn typing(host: &Host, tool: &str) -> Decision {
    match world(host, None) {
        Ok(world) if net_holds(&world) => Decision::Pass,
        Ok(_) => Decision::from(&unshown(host, &format!("{tool} types into an open session"))),
        Err(refusal) => Decision::from(&refusal),
    }
}

/// What is typed into a session is not shown to us; where git's own hooks are in place they read what it
/// publishes.
fn unshown(host: &Host, what: &str) -> Refusal {
    Refusal::new(
        Class::Unknowable,
        SafeText::quoted(format!("{what}, and {} does not show what is typed into it", host.product).as_bytes(), 300),
        "run the command as a call of its own; or `tyran install git`, whose hooks read what is pushed",
    )
}

/// Whether git's own hooks would run for a plain push here.
fn net_holds(world: &World) -> bool {
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    let Ok(own) = Own::of_process() else { return false };
    matches!(net::standing(world, &git, "pre-push", &own), Ok(Standing::Holds(_)))
}

/// Files that a tool would write: judged for tampering alone, and what a shell would run when it starts.
pub fn writing(host: &Host, paths: &[PathBuf], text: &BStr) -> Decision {
    let world = match world(host, None) {
        Ok(world) => world,
        Err(refusal) => return Decision::from(&refusal),
    };
    let paths: Vec<PathBuf> = paths.iter().map(|path| world.cwd.join(path)).collect();
    if let Some(bypass) = paths.iter().find_map(|path| command::startup::written(&world, path, text)) {
        return Decision::from(&Refusal::new(Class::Bypass, bypass.what, bypass.instead));
    }
    match paths.iter().find_map(|path| command::tamper::written(&world, path)) {
        None => Decision::Pass,
        Some(tamper) => {
            let refusal = Refusal::new(Class::Tamper, tamper.what, tamper.instead);
            Decision::Ask(refusal.class, SafeText::new(&refusal.to_string()))
        }
    }
}

/// Texts that would reach a server.
pub fn texts(tool: &str, texts: &[BString], files: &[PathBuf], deadline: Instant) -> Decision {
    let env: Environment = std::env::vars_os().collect();
    let world = World::new(env, PathBuf::from("/"), Caution::Gate);
    let texts = texts.iter().map(ToString::to_string).collect();
    let subject = Subject::Texts { tool: tool.to_owned(), texts, files: files.to_owned() };
    ask(subject, &world, deadline)
}

/// Asks a child of this binary.
fn ask(subject: Subject, world: &World, deadline: Instant) -> Decision {
    let left = deadline.saturating_duration_since(Instant::now()).saturating_sub(KEPT_BACK);
    match child_reply(subject, world, left) {
        Ok(Reply { decision, class, text }) => match (decision.as_str(), Class::of_word(&class)) {
            ("pass", None) => Decision::Pass,
            ("ask", Some(class)) => Decision::Ask(class, SafeText::new(&text)),
            ("refuse", Some(class)) => Decision::Refuse(class, SafeText::new(&text)),
            _ => Decision::from(&Refusal::internal(format!(
                "unknown-verdict: the judgement ended with {decision:?} for {class:?}"
            ))),
        },
        Err(refusal) => Decision::from(&refusal),
    }
}

fn child_reply(subject: Subject, world: &World, left: Duration) -> Result<Reply, Refusal> {
    let env = world
        .env
        .iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let question = Question {
        subject,
        cwd: world.cwd.clone(),
        env,
        within_millis: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
    };
    let input = serde_json::to_vec(&question).map_err(|error| Refusal::internal(error.to_string()))?;
    let program = std::env::current_exe()
        .map_err(|error| Refusal::internal(format!("the path of this program cannot be told: {error}")))?;
    let job = Job {
        program,
        args: vec!["gate-child".into()],
        env: own_environment(),
        dir: PathBuf::from("/"),
        input,
        output_limit: ANSWER_LIMIT_BYTES,
        time_limit: left,
    };
    let done = job.run().map_err(|fault| match fault {
        ChildFault::TimedOut { after, .. } => Refusal::new(
            Class::Deadline,
            format!("deadline-exceeded: there was no verdict after {} ms", after.as_millis()),
            AFTER_DEADLINE,
        ),
        other @ (ChildFault::NotStarted { .. }
        | ChildFault::Flooded { .. }
        | ChildFault::Cancelled { .. }
        | ChildFault::Pipe { .. }) => Refusal::internal(format!("exited-without-decision: {other}")),
    })?;
    if !done.status.success() {
        return Err(Refusal::internal(format!("exited-without-decision: the judgement ended with {}", done.status)));
    }
    serde_json::from_slice(&done.stdout).map_err(|error| {
        Refusal::internal(format!("exited-without-decision: the judgement's answer is malformed: {error}"))
    })
}

/// The child's own environment: nothing of the adversary's, but where a debug build keeps its state.
fn own_environment() -> Environment {
    let mut env = Environment::new();
    env.insert("LC_ALL".into(), "C.UTF-8".into());
    if cfg!(debug_assertions) {
        for name in ["TYRAN_STATE_DIR", "TYRAN_PLANT"] {
            env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
        }
    }
    env
}

/// The child's side: one question from standard input, one reply to standard output.
pub fn serve() -> u8 {
    end_with_parent();
    limit_memory();
    plant::at("child");
    let question: Question = match serde_json::from_reader(std::io::stdin().lock()) {
        Ok(question) => question,
        Err(_) => return 3,
    };
    let cover = Arc::new(NetCover::default());
    let answered = Arc::new(AtomicBool::new(false));
    watch(Arc::clone(&cover), Arc::clone(&answered), Duration::from_millis(question.within_millis));
    let reply = crate::judge::for_gate(&question, &cover);
    say(&reply, &answered)
}

/// A gate that its host ends with a signal cannot end this process any more: the system does. Elsewhere than
/// on Linux it ends at its deadline.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
}

/// Writes the reply, unless another was written already: whoever claims it first.
fn say(reply: &Reply, answered: &AtomicBool) -> u8 {
    if answered.swap(true, Ordering::AcqRel) {
        // The other one ends the process as soon as it has written.
        std::thread::sleep(Duration::from_secs(1));
        return 3;
    }
    match serde_json::to_writer(std::io::stdout().lock(), reply) {
        Ok(()) => 0,
        Err(_) => 3,
    }
}

/// At the very end of its time a judgement that hangs is left to git's own hooks, where those will read
/// all that it was asked about: they have no deadline.
fn watch(cover: Arc<NetCover>, answered: Arc<AtomicBool>, within: Duration) {
    let first = within.saturating_sub(ASKED_BEFORE.min(within / 2));
    let last = within.saturating_sub(SAID_BEFORE.min(within / 8));
    std::thread::spawn(move || {
        let started = Instant::now();
        std::thread::sleep(first);
        if answered.load(Ordering::Acquire) || !cover.holds() {
            return;
        }
        std::thread::sleep(last.saturating_sub(started.elapsed()));
        let reply = Reply::pass();
        std::process::exit(i32::from(say(&reply, &answered)));
    });
}

/// How long before the end git's own hooks are asked after.
const ASKED_BEFORE: Duration = Duration::from_millis(1500);

/// How long before the end it is said that they will read it.
const SAID_BEFORE: Duration = Duration::from_millis(120);

/// What is not had cannot be taken: an allocation past it fails, the child dies, and that refuses.
fn limit_memory() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, setrlimit};
        // Where the system does not take the limit, the deadline still holds.
        let _ = setrlimit(Resource::RLIMIT_DATA, MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES);
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    }
}

/// Ends whatever still runs.
pub fn end_all() {
    scratch::end_children();
}

/// One line for a session's start: what is active, or what is missing.
pub fn session_line(host: &Host, _deadline: Instant) -> String {
    let Ok(world) = world(host, None) else { return String::new() };
    if net_holds(&world) {
        "tyran is active: the gate reads each command, and git's own hooks check every push."
    } else {
        "tyran is active: the gate reads each command. git's own hooks are not in place here; `tyran install git` puts them there."
    }
    .to_owned()
}

/// After a shell call: pushes that the net did not see, told in one line.
pub fn unseen_pushes(host: &Host, call: &Call) -> String {
    let (Call::Shell(commands) | Call::Publishing { commands, .. }) = call else { return String::new() };
    let dirs: std::collections::BTreeSet<_> = commands.iter().filter_map(|command| command.cwd.as_deref()).collect();
    // Without the net every push goes past it, and the gate has answered for what it read.
    let told = |dir: &Path| {
        let line = super::unseen::line(dir);
        if line.is_empty() || world(host, Some(dir)).is_ok_and(|world| net_holds(&world)) {
            line
        } else {
            String::new()
        }
    };
    dirs.into_iter().map(told).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
