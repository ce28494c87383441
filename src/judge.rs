//! The one place that sees every stage: what would be published, read and judged.
//!
//! Promise: a [`Verdict::Pass`] leaves here only with a proof of coverage, or because the resolver
//! proved that nothing leaves. Every fault of a stage is a refusal.

mod reading;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bstr::{BStr, BString, ByteSlice};

use crate::cli::EngineChoice;
use crate::command::plan::{GitContext, Opaque, Outcome, Plan, Publish, PushRequest, WidestRequest};
use crate::command::{self, Shell};
use crate::config::{self, Policy};
use crate::host::child::{Question as Asked, Reply, Subject};
use crate::install::recorded::with_recorded_git;
use crate::payload::assemble::{self, Assembly};
use crate::payload::push::{self, ci_base};
use crate::payload::source::Texts;
use crate::payload::{Destination, Fault, ItemKind, Payload, Tally, files};
use crate::report::{Format, Terminal};
use crate::scan::finding::count_secrets;
use crate::scan::fingerprint::Fingerprint;
use crate::scan::suppress::Suppressed;
use crate::scan::{Coverage, Finding};
use crate::text::SafeText;
use crate::verdict::{Class, Clearance, Question, Refusal, Verdict};
use crate::world::{Caution, Environment, World, open_plain, plant, state_dir};

use reading::{Memory, scanned};

/// What a scan needs besides its payload.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which engines.
    pub engine: EngineChoice,
    /// Rules instead of tyran's own.
    pub rules: Option<PathBuf>,
    /// Configuration instead of the user's.
    pub config: Option<PathBuf>,
    /// Only what gitleaks would read.
    pub compat: bool,
    /// Threads; at least 1.
    pub threads: usize,
    /// Whether a progress bar is shown on standard error.
    pub progress: bool,
    /// How payloads are assembled.
    pub assembly: Assembly,
    /// Whether what was read before and found clean may be left out where only a claim hides it.
    pub remember: bool,
}

/// Everything there is to say about one publish.
#[derive(Debug)]
pub struct Judged {
    /// The answer.
    pub verdict: Verdict,
    /// What was found and counts, refusing or not, each with what `tyran allow` takes where it is known
    /// already.
    pub findings: Vec<(Finding, Option<Fingerprint>)>,
    /// What was found and a suppression takes away.
    pub suppressed: Vec<Suppressed>,
    /// Where the bytes would go.
    pub destinations: Vec<Destination>,
    /// What a person should know of how it was worked out.
    pub notes: Vec<SafeText>,
    /// What the manifest promised.
    pub tally: Tally,
    /// From the start of the resolution to the answer.
    pub elapsed: Duration,
    /// What was read although something was found; a pass holds its own.
    pub coverage: Option<Coverage>,
    /// Where commits can be looked up for a report.
    pub repository: Option<GitContext>,
    /// The policy that the findings were judged by.
    pub policy: Policy,
}

impl Setup {
    /// What the gate scans with: the embedded engine and tyran's own rules, one thread per core.
    pub fn for_gate(world: &World) -> Self {
        Self {
            engine: EngineChoice::Embedded,
            rules: None,
            config: None,
            compat: false,
            threads: std::thread::available_parallelism().map_or(1, |count| count.get().min(8)),
            progress: false,
            assembly: Assembly::of(world),
            remember: true,
        }
    }
}

impl Judged {
    /// The refusal, or the one that a question becomes where nobody can be asked.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.verdict {
            Verdict::Pass(_) => None,
            Verdict::Ask(question) => Some(&question.refusal),
            Verdict::Refuse(refusal) => Some(refusal),
        }
    }

    /// The proof of what was read, whatever the answer.
    pub fn coverage(&self) -> Option<&Coverage> {
        match &self.verdict {
            Verdict::Pass(clearance) => clearance.coverage(),
            Verdict::Ask(_) | Verdict::Refuse(_) => self.coverage.as_ref(),
        }
    }
}

/// Reads a payload with the engines that were asked for, and answers.
pub fn payload(world: &World, payload: Payload, setup: &Setup, started: Instant) -> Judged {
    read(world, payload, setup, None, started)
}

/// Files that nobody said would be published, read and judged.
pub fn in_files(world: &World, files: Payload, setup: &Setup, started: Instant) -> Judged {
    let mut judged = payload(world, files, setup, started);
    if let Verdict::Refuse(Refusal { class: Class::Finding, .. }) = judged.verdict {
        let refusing = judged.findings.iter().map(|(finding, _)| finding).filter(|one| judged.policy.refuses(one));
        let count = count_secrets(refusing);
        judged.verdict = Verdict::Refuse(Refusal::found_in_files(count));
    }
    judged
}

fn read(world: &World, payload: Payload, setup: &Setup, memory: Option<&Memory>, started: Instant) -> Judged {
    let tally = payload.tally();
    let mut judged = match scanned(world, &payload, setup, memory) {
        Ok(scanned) => Judged {
            findings: scanned.findings,
            suppressed: scanned.suppressed,
            notes: scanned.notes,
            coverage: scanned.coverage,
            policy: scanned.policy,
            ..answered(scanned.verdict, started)
        },
        Err(refusal) => refused(refusal, started),
    };
    judged.destinations = payload.destinations;
    judged.notes.splice(0..0, payload.notes);
    judged.tally = tally;
    judged
}

/// What publishes would send, read and judged.
pub fn publishes(world: &World, publishes: &[Publish], setup: &Setup, started: Instant) -> Judged {
    let world = &world.remembering();
    published(world, publishes, None, setup, started)
}

/// A command line that publishes: it is content too, with the files whose text it would paste.
struct Said<'a> {
    line: &'a [u8],
    pasted: &'a [PathBuf],
    inputs: &'a [Vec<u8>],
    later: &'a [SafeText],
}

impl Said<'_> {
    fn join(&self, payload: &mut Payload) -> Result<(), Fault> {
        payload.unseen.extend_from_slice(self.later);
        let beyond = self.inputs.iter().map(Vec::as_slice).filter(|text| !self.line.contains_str(text));
        let texts = std::iter::once(self.line).chain(beyond);
        payload.parts.push(Texts::part(texts.map(|text| (ItemKind::Command, BString::from(text)))));
        let (there, others): (Vec<PathBuf>, Vec<PathBuf>) =
            self.pasted.iter().cloned().partition(|path| open_plain(path).is_ok());
        if !there.is_empty() {
            payload.parts.push(files::part(&there)?);
        }
        for path in others {
            let name = SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200);
            if path.exists() {
                // A pipe, a device: what it gives is read once.
                payload.unseen.push(SafeText::new(&format!("what {name} gives, which is no regular file")));
            } else {
                payload.notes.push(SafeText::new(&format!("{name} would be pasted, and is not there now")));
            }
        }
        Ok(())
    }
}

fn published(world: &World, publishes: &[Publish], said: Option<&Said<'_>>, setup: &Setup, started: Instant) -> Judged {
    let mut memory = Memory::open(world, setup);
    let cache = memory.as_ref().map(|memory| &memory.cache);
    let mut judged = match assemble::payload(world, publishes, setup.assembly, cache) {
        Ok(mut assembled) => {
            if let Some(memory) = &mut memory {
                memory.tips = assembled.clean_tips;
            }
            match said
                .filter(|said| !assembled.payload.is_empty() || !said.later.is_empty())
                .map_or(Ok(()), |said| said.join(&mut assembled.payload))
            {
                Ok(()) => {
                    let unseen = std::mem::take(&mut assembled.payload.unseen);
                    let judged = read(world, assembled.payload, setup, memory.as_ref(), started);
                    with_unseen(world, publishes, judged, &unseen, started)
                }
                Err(fault) => refused(Refusal::from(fault), started),
            }
        }
        Err(Fault::GitRefuses(why)) => git_refuses(why, started),
        Err(fault) => refused(Refusal::from(fault), started),
    };
    judged.repository = publishes.iter().find_map(repository_of);
    judged
}

/// Bytes that exist only once the command runs were read by nobody: git's own hooks will read them at
/// that moment where they are in place, and nothing passes where they are not.
fn with_unseen(world: &World, publishes: &[Publish], judged: Judged, unseen: &[SafeText], started: Instant) -> Judged {
    let (Some(first), Verdict::Pass(_)) = (unseen.first(), &judged.verdict) else { return judged };
    if publishes.iter().all(|publish| matches!(publish, Publish::Commit(_))) {
        // A commit stays here; what it holds is read when it is pushed.
        let mut judged = judged;
        judged.notes.push(SafeText::new(&format!("not read before it is pushed: {first}")));
        return judged;
    }
    if publishes.iter().all(|publish| net_reads(world, publish)) {
        let mut judged = judged;
        judged.notes.push(SafeText::new(&format!("git's hooks will read what is not there yet: {first}")));
        return judged;
    }
    let more = if unseen.len() > 1 { format!(" (and {} more)", unseen.len() - 1) } else { String::new() };
    let next = match publishes.iter().any(|publish| matches!(publish, Publish::Upload(upload) if !upload.local_only)) {
        // No hook of git's sees an upload.
        true => "run what makes it first, and then what sends it as a command of its own",
        false => {
            "run what makes it first, and the commit or push as a command of its own; or `tyran install git`, whose hooks read it then"
        }
    };
    let refusal = Refusal::new(
        Class::Unknowable,
        SafeText::new(&format!("it would publish what exists only once it runs: {first}{more}")),
        next,
    );
    refused(refusal, started)
}

/// Whether git's own hooks will run for a publish.
fn net_reads(world: &World, publish: &Publish) -> bool {
    let Some(git) = repository_of(publish) else { return false };
    let holds = |name| net_holds(world, &git, name);
    match publish {
        Publish::Push(_) | Publish::Widest(_) => holds("pre-push"),
        Publish::Commit(_) => holds("pre-commit") && holds("commit-msg"),
        Publish::Upload(_) => false,
    }
}

/// What `git push` would send, asked by a person: that git itself would refuse is told as something
/// that could not be checked, since nobody asks for a push that sends nothing.
pub fn push(world: &World, request: &PushRequest, setup: &Setup, started: Instant) -> Judged {
    let world = &world.remembering();
    let mut memory = Memory::open(world, setup);
    let options = setup.assembly.push_options(memory.as_ref().map(|memory| &memory.cache));
    let mut judged = match push::payload(world, request, options) {
        Ok(assembled) => match assembled.resolved.refused {
            Some(why) if assembled.resolved.transfers.is_empty() => {
                refused(Refusal::from(Fault::GitRefuses(why)), started)
            }
            Some(_) | None => {
                if let Some(memory) = &mut memory {
                    memory.tips = assembled.clean_tips;
                }
                read(world, assembled.payload, setup, memory.as_ref(), started)
            }
        },
        Err(fault) => refused(Refusal::from(fault), started),
    };
    judged.repository = Some(request.git.clone());
    judged
}

/// What git is about to push, as it tells its pre-push hook (githooks(5)): `args` are the remote's
/// name and url, `lines` its standard input.
pub fn hook_lines(world: &World, args: &[OsString], lines: &[u8], setup: &Setup, started: Instant) -> Judged {
    let world = &world.remembering();
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    let [remote, url] = args else {
        let refusal = Refusal::new(
            Class::Usage,
            "git names the remote and its url in two arguments, and they are not there",
            "run it through git",
        );
        return refused(refusal, started);
    };
    let (remote, url) = (BStr::new(remote.as_encoded_bytes()), BStr::new(url.as_encoded_bytes()));
    let mut judged =
        match push::assemble::from_hook_lines(world, &git, remote, url, lines, setup.assembly.push_options(None)) {
            Ok(assembled) => payload(world, assembled.payload, setup, started),
            Err(fault) => refused(Refusal::from(fault), started),
        };
    judged.repository = Some(git);
    judged
}

/// How long before a gate's deadline the judgement gives up, so that what it then says is still heard.
const GIVEN_UP_BEFORE: Duration = Duration::from_millis(250);

/// What git's own hooks are known to read of what a gate was asked about.
#[derive(Debug, Default)]
pub struct NetCover {
    asked: Mutex<Option<(World, Arc<Vec<Publish>>)>>,
    holds: OnceLock<bool>,
}

impl NetCover {
    fn of(&self, world: &World, publishes: &Arc<Vec<Publish>>) {
        let asked = Some((world.clone(), Arc::clone(publishes)));
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    }

    /// Whether everything that would be published goes past hooks that are in place. Asked only when
    /// time runs out, since it costs a run of git.
    pub fn holds(&self) -> bool {
        *self.holds.get_or_init(|| {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
            asked.is_some_and(|(mut world, publishes)| {
                world.deadline = None;
                !publishes.is_empty() && publishes.iter().all(|publish| net_reads(&world, publish))
            })
        })
    }
}

/// The judgement of a gate's child: the reply holds the whole text that is shown.
pub fn for_gate(question: &Asked, cover: &NetCover) -> Reply {
    let started = Instant::now();
    let within = Duration::from_millis(question.within_millis);
    let env: Environment = question.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let mut world = match with_recorded_git(World::new(env, question.cwd.clone(), Caution::Gate)) {
        Ok(world) => world,
        Err(refusal) => return Reply::refuse(refusal.class, refusal.to_string()),
    };
    let deadline = started + within.saturating_sub(GIVEN_UP_BEFORE.min(within / 4));
    world.deadline = Some(deadline);
    if let Subject::Command { lives_on, .. } = &question.subject {
        world.shell_lives_on = *lives_on;
    }
    let mut setup = Setup::for_gate(&world);
    // A configuration that cannot be read is a refusal as soon as there is something to read.
    setup.assembly.network = config::policy(None, state_dir().as_deref(), None).is_ok_and(|policy| policy.ask_remote);
    let judged = match &question.subject {
        Subject::Command { text, zsh, .. } => {
            let shell = if *zsh { Shell::Zsh } else { Shell::Bash };
            gated(&world, text.as_bytes(), shell, &setup, cover, started)
        }
        Subject::Texts { tool, texts, files } => match texts_of(tool, texts, files) {
            Ok(texts) => payload(&world, texts, &setup, started),
            Err(fault) => refused(Refusal::from(fault), started),
        },
    };
    if is_out_of_time(&judged, deadline) && cover.holds() {
        return Reply::pass();
    }
    let mut text = Vec::new();
    let written = crate::cli::write_report(&world, &judged, Format::Human, &mut text, &Terminal::plain());
    let text = || String::from_utf8_lossy(&text).into_owned();
    match (&judged.verdict, written) {
        (Verdict::Pass(_), _) => Reply::pass(),
        (_, Err(refusal)) => Reply::refuse(refusal.class, refusal.to_string()),
        (Verdict::Ask(question), Ok(_)) => Reply::ask(question.refusal.class, text()),
        (Verdict::Refuse(refusal), Ok(_)) => Reply::refuse(refusal.class, text()),
    }
}

/// Whether the answer is no because there was no time left to look: git's own hooks have no deadline.
fn is_out_of_time(judged: &Judged, deadline: Instant) -> bool {
    match &judged.verdict {
        Verdict::Refuse(refusal) => match refusal.class {
            Class::Deadline => true,
            // Plumbing that was stopped at the deadline says so in its own words.
            Class::Plumbing => Instant::now() >= deadline,
            Class::Finding
            | Class::Suppression
            | Class::ForcePush
            | Class::Usage
            | Class::NotCovered
            | Class::Unmodelled
            | Class::Unknowable
            | Class::Bypass
            | Class::Tamper
            | Class::MissingObject
            | Class::CorruptObject
            | Class::UntrustedStore
            | Class::PartialClone
            | Class::ShallowClone
            | Class::Repository
            | Class::Destination
            | Class::File
            | Class::Unreadable
            | Class::EngineAbsent
            | Class::Rules
            | Class::EngineFailed
            | Class::Content
            | Class::Configuration
            | Class::Event
            | Class::Installation
            | Class::Internal => false,
        },
        Verdict::Pass(_) | Verdict::Ask(_) => false,
    }
}

/// What a command line would publish, where a program that nobody can read is left to git's own hooks
/// when those are in place as it will see them (design principle 4).
fn gated(world: &World, text: &[u8], shell: Shell, setup: &Setup, cover: &NetCover, started: Instant) -> Judged {
    let world = &world.remembering();
    let mut plan = command::read(text, world, shell);
    let opaque = std::mem::take(&mut plan.opaque);
    let could_not_be_read = !opaque.is_empty();
    plan.opaque = left_by_the_net(world, opaque);
    let (pasted, inputs, later) = (plan.pasted.clone(), plan.inputs.clone(), plan.later.clone());
    match bounded(plan) {
        Ok(publishes) if publishes.is_empty() && could_not_be_read => {
            answered(Verdict::Pass(Clearance::left_to_the_net()), started)
        }
        Ok(publishes) if publishes.is_empty() => answered(Verdict::Pass(Clearance::nothing_published()), started),
        Ok(publishes) => {
            let publishes = Arc::new(publishes);
            cover.of(world, &publishes);
            plant::at("reading");
            let said = Said { line: text, pasted: &pasted, inputs: &inputs, later: &later };
            published(world, &publishes, Some(&said), setup, started)
        }
        Err((_, verdict)) => answered(verdict, started),
    }
}

/// Programs for which git's own hooks would not run.
fn left_by_the_net(world: &World, opaque: Vec<Opaque>) -> Vec<Opaque> {
    let mut known: Vec<(GitContext, bool)> = Vec::new();
    opaque
        .into_iter()
        .filter(|opaque| {
            let git = GitContext { dir: opaque.dir.clone(), env: opaque.env.clone(), globals: Vec::new() };
            let seen = known.iter().find(|(known, _)| *known == git).map(|(_, holds)| *holds);
            let holds = seen.unwrap_or_else(|| net_holds(world, &git, "pre-push"));
            if seen.is_none() {
                known.push((git, holds));
            }
            !holds
        })
        .collect()
}

/// Whether git's own hook of a name would run.
fn net_holds(world: &World, git: &GitContext, name: &str) -> bool {
    let Ok(own) = crate::net::place::Own::of_process() else { return false };
    matches!(crate::net::standing(world, git, name, &own), Ok(crate::net::Standing::Holds(_)))
}

/// The payload of a tool that reaches a server: every string of its input, and the files that it takes.
fn texts_of(tool: &str, texts: &[String], taken: &[PathBuf]) -> Result<Payload, Fault> {
    let mut parts = vec![Texts::part(texts.iter().map(|text| (ItemKind::Command, BString::from(text.as_str()))))];
    if !taken.is_empty() {
        parts.push(files::part(taken)?);
    }
    Ok(Payload {
        parts,
        destinations: vec![Destination { url: SafeText::quoted(tool.as_bytes(), 100), refs: Vec::new() }],
        exact: true,
        ..Payload::default()
    })
}

/// What a CI run, or a caller who names a base, is to read: everything from the base on.
pub fn from_base(world: &World, base: Option<&str>, setup: &Setup, started: Instant) -> Judged {
    let world = &world.remembering();
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    let assembled = ci_base::updates(world, &git, base).and_then(|range| ci_base::payload(world, &git, &range));
    let mut judged = match assembled {
        Ok(assembled) => payload(world, assembled, setup, started),
        Err(fault) => refused(Refusal::from(fault), started),
    };
    judged.repository = Some(git);
    judged
}

/// git itself would stop before anything leaves.
fn git_refuses(why: SafeText, started: Instant) -> Judged {
    let mut judged = answered(Verdict::Pass(Clearance::nothing_published()), started);
    judged.notes.push(SafeText::new(&format!("git itself would refuse this: {why}")));
    judged
}

fn repository_of(publish: &Publish) -> Option<GitContext> {
    match publish {
        Publish::Push(request) => Some(request.git.clone()),
        Publish::Commit(request) => Some(request.git.clone()),
        Publish::Widest(request) => Some(request.git.clone()),
        Publish::Upload(request) => request.revisions.as_ref().map(|revisions| revisions.git.clone()),
    }
}

/// What a command line would publish, read and judged.
pub fn command(world: &World, text: &[u8], shell: Shell, setup: &Setup, started: Instant) -> Judged {
    let world = &world.remembering();
    let plan = command::read(text, world, shell);
    let (pasted, inputs, later) = (plan.pasted.clone(), plan.inputs.clone(), plan.later.clone());
    match bounded(plan) {
        Ok(plan) if plan.is_empty() => answered(Verdict::Pass(Clearance::nothing_published()), started),
        Ok(plan) => {
            let said = Said { line: text, pasted: &pasted, inputs: &inputs, later: &later };
            published(world, &plan, Some(&said), setup, started)
        }
        Err((_, verdict)) => answered(verdict, started),
    }
}

/// What a plan publishes, or the answer where that is not bounded. A program that cannot be read may
/// publish everything in reach (design principle 4).
fn bounded(plan: Plan) -> Result<Vec<Publish>, (Outcome, Verdict)> {
    if let Some(tamper) = plan.tamper.first() {
        let refusal = Refusal::new(Class::Tamper, tamper.what.clone(), tamper.instead.clone());
        return Err((plan.outcome, Verdict::Ask(Question { refusal })));
    }
    if let Some(bypass) = plan.bypass.first() {
        return Err((
            plan.outcome,
            Verdict::Refuse(Refusal::new(Class::Bypass, bypass.what.clone(), bypass.instead.clone())),
        ));
    }
    if plan.outcome == Outcome::Unknowable {
        let (what, remedy, class) = match plan.unknown.first() {
            Some(unknown) if unknown.is_limit => (unknown.what.clone(), unknown.remedy(), Class::Unreadable),
            Some(unknown) => (unknown.what.clone(), unknown.remedy(), Class::Unknowable),
            None => {
                let what = SafeText::new("what it would publish cannot be known");
                (what, "write the push with a plain remote and branch, as in `git push origin main`", Class::Unknowable)
            }
        };
        return Err((plan.outcome, Verdict::Refuse(Refusal::new(class, what, remedy))));
    }
    let mut publishes = plan.publishes;
    publishes.extend(plan.opaque.into_iter().map(everything));
    Ok(publishes)
}

fn everything(opaque: Opaque) -> Publish {
    let because = SafeText::new(&format!("{} cannot be read, and may publish", opaque.program));
    Publish::Widest(WidestRequest {
        git: GitContext { dir: opaque.dir, env: opaque.env, globals: Vec::new() },
        because,
    })
}

/// What a command line would publish, listed.
///
/// # Errors
/// When it is not bounded or cannot be listed; with the outcome in one word.
pub fn listed(
    world: &World,
    text: &[u8],
    shell: Shell,
    assembly: Assembly,
) -> Result<(Outcome, Payload), (Outcome, Refusal)> {
    let world = &world.remembering();
    let plan = command::read(text, world, shell);
    let outcome = plan.outcome;
    let publishes = bounded(plan).map_err(|(outcome, verdict)| match verdict {
        Verdict::Refuse(refusal) => (outcome, refusal),
        Verdict::Ask(question) => (outcome, question.refusal),
        Verdict::Pass(_) => (outcome, Refusal::internal("a plan that is not bounded passed")),
    })?;
    match assemble::payload(world, &publishes, assembly, None) {
        Ok(assembled) => Ok((outcome, assembled.payload)),
        Err(Fault::GitRefuses(_)) => Ok((outcome, Payload::default())),
        Err(fault) => Err((Outcome::Unknowable, Refusal::from(fault))),
    }
}

/// A refusal that came before there was a payload.
pub fn refused(refusal: Refusal, started: Instant) -> Judged {
    answered(Verdict::Refuse(refusal), started)
}

/// An answer for which no byte had to be read.
pub fn answered(verdict: Verdict, started: Instant) -> Judged {
    Judged {
        verdict,
        findings: Vec::new(),
        suppressed: Vec::new(),
        destinations: Vec::new(),
        notes: Vec::new(),
        tally: Tally::default(),
        elapsed: started.elapsed(),
        coverage: None,
        repository: None,
        policy: Policy::default(),
    }
}
