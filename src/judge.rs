//! The one place that sees every stage: what would be published, read and judged.
//!
//! Promise: a [`Verdict::Pass`] leaves here only with a proof of coverage, or because the resolver
//! proved that nothing leaves. Every fault of a stage is a refusal.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bstr::{BStr, BString};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::EngineChoice;
use crate::command::plan::{GitContext, Opaque, Outcome, Plan, Publish, PushRequest, WidestRequest};
use crate::command::{self, Shell};
use crate::config::{self, Policy};
use crate::host::child::{Question as Asked, Reply, Subject};
use crate::payload::assemble::{self, Assembly};
use crate::payload::push::{self, ci_base};
use crate::payload::source::Texts;
use crate::payload::{Destination, Fault, ItemKind, Payload, Tally};
use crate::report::{Format, Terminal};
use crate::scan::embedded::{EmbeddedEngine, Mode, Options, RuleSet};
use crate::scan::fingerprint::Fingerprint;
use crate::scan::gitleaks::{self, Drive, GitleaksEngine, GitleaksProgram};
use crate::scan::suppress::{self, Suppressed};
use crate::scan::{self, Bounds, Coverage, Engine, Finding};
use crate::text::SafeText;
use crate::verdict::{Class, Clearance, Question, Refusal, Verdict};
use crate::world::{Caution, Environment, World, state_dir};

/// Up to this many bytes `auto` lets gitleaks read beside the embedded engine (design section 6).
const AUTO_GITLEAKS_BYTES: u64 = 16 << 20;

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
}

/// Everything there is to say about one publish.
#[derive(Debug)]
pub struct Judged {
    /// The answer.
    pub verdict: Verdict,
    /// What was found and counts, refusing or not, each with what `tyran allow` takes.
    pub findings: Vec<(Finding, Fingerprint)>,
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
    let tally = payload.tally();
    let mut judged = match scanned(world, &payload, setup) {
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
    let mut judged = match assemble::payload(world, publishes, setup.assembly) {
        Ok(assembled) => payload(world, assembled, setup, started),
        Err(Fault::GitRefuses(why)) => git_refuses(why, started),
        Err(fault) => refused(Refusal::from(fault), started),
    };
    judged.repository = publishes.iter().find_map(repository_of);
    judged
}

/// What `git push` would send, asked by a person: that git itself would refuse is told as something
/// that could not be checked, since nobody asks for a push that sends nothing.
pub fn push(world: &World, request: &PushRequest, setup: &Setup, started: Instant) -> Judged {
    let mut judged = match push::payload(world, request, setup.assembly.push_options()) {
        Ok(assembled) => match assembled.resolved.refused {
            Some(why) if assembled.resolved.transfers.is_empty() => {
                refused(Refusal::from(Fault::GitRefuses(why)), started)
            }
            Some(_) | None => payload(world, assembled.payload, setup, started),
        },
        Err(fault) => refused(Refusal::from(fault), started),
    };
    judged.repository = Some(request.git.clone());
    judged
}

/// What git is about to push, as it tells its pre-push hook (githooks(5)): `args` are the remote's
/// name and url, `lines` its standard input.
pub fn hook_lines(world: &World, args: &[OsString], lines: &[u8], setup: &Setup, started: Instant) -> Judged {
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
        match push::assemble::from_hook_lines(world, &git, remote, url, lines, setup.assembly.push_options()) {
            Ok(assembled) => payload(world, assembled.payload, setup, started),
            Err(fault) => refused(Refusal::from(fault), started),
        };
    judged.repository = Some(git);
    judged
}

/// The judgement of a gate's child: the reply holds the whole text that is shown.
pub fn for_gate(question: &Asked) -> Reply {
    let started = Instant::now();
    let env: Environment = question.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let mut world = World::new(env, question.cwd.clone(), Caution::Gate);
    world.deadline = Some(started + Duration::from_millis(question.within_millis));
    let setup = Setup::for_gate(&world);
    let judged = match &question.subject {
        Subject::Command { text, zsh, .. } => {
            command(&world, text.as_bytes(), if *zsh { Shell::Zsh } else { Shell::Bash }, &setup, started)
        }
        Subject::Texts { tool, texts } => payload(&world, texts_of(tool, texts), &setup, started),
    };
    let mut text = Vec::new();
    let written = crate::cli::write_report(&world, &judged, Format::Human, &mut text, &Terminal::plain());
    match (&judged.verdict, written) {
        (Verdict::Pass(_), _) => Reply { decision: "pass".to_owned(), text: String::new() },
        (_, Err(refusal)) => Reply { decision: "refuse".to_owned(), text: refusal.to_string() },
        (Verdict::Ask(_), Ok(_)) => {
            Reply { decision: "ask".to_owned(), text: String::from_utf8_lossy(&text).into_owned() }
        }
        (Verdict::Refuse(_), Ok(_)) => {
            Reply { decision: "refuse".to_owned(), text: String::from_utf8_lossy(&text).into_owned() }
        }
    }
}

/// The payload of a tool that reaches a server: every string of its input.
fn texts_of(tool: &str, texts: &[String]) -> Payload {
    Payload {
        parts: vec![Texts::part(texts.iter().map(|text| (ItemKind::Command, BString::from(text.as_str()))))],
        destinations: vec![Destination { url: SafeText::quoted(tool.as_bytes(), 100), refs: Vec::new() }],
        exact: true,
        ..Payload::default()
    }
}

/// What a CI run, or a caller who names a base, is to read: everything from the base on.
pub fn from_base(world: &World, base: Option<&str>, setup: &Setup, started: Instant) -> Judged {
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
    let plan = command::read(text, world, shell);
    match bounded(plan) {
        Ok(plan) if plan.is_empty() => answered(Verdict::Pass(Clearance::nothing_published()), started),
        Ok(plan) => publishes(world, &plan, setup, started),
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
        let what = plan
            .unknown
            .first()
            .map_or_else(|| SafeText::new("what it would publish cannot be known"), |unknown| unknown.what.clone());
        let remedy = "write the push with a plain remote and branch, as in `git push origin main`";
        return Err((plan.outcome, Verdict::Refuse(Refusal::new(Class::Unknowable, what, remedy))));
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
    let plan = command::read(text, world, shell);
    let outcome = plan.outcome;
    let publishes = bounded(plan).map_err(|(outcome, verdict)| match verdict {
        Verdict::Refuse(refusal) => (outcome, refusal),
        Verdict::Ask(question) => (outcome, question.refusal),
        Verdict::Pass(_) => (outcome, Refusal::internal("a plan that is not bounded passed")),
    })?;
    match assemble::payload(world, &publishes, assembly) {
        Ok(payload) => Ok((outcome, payload)),
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

/// What came of reading a payload.
struct Scanned {
    verdict: Verdict,
    findings: Vec<(Finding, Fingerprint)>,
    suppressed: Vec<Suppressed>,
    notes: Vec<SafeText>,
    coverage: Option<Coverage>,
    policy: Policy,
}

fn scanned(world: &World, payload: &Payload, setup: &Setup) -> Result<Scanned, Refusal> {
    if payload.is_empty() {
        let verdict = Verdict::Pass(Clearance::nothing_published());
        return Ok(Scanned {
            verdict,
            findings: Vec::new(),
            suppressed: Vec::new(),
            notes: Vec::new(),
            coverage: None,
            policy: Policy::default(),
        });
    }
    let policy = policy(world, setup)?;
    let (engines, mut notes) = engines(world, setup, payload.tally())?;
    let bounds = Bounds { threads: setup.threads, deadline: world.deadline };
    let progress = Progress::new(setup.progress, payload.tally());
    let scan = scan::run(payload, &engines, bounds, &|bytes| progress.advance(bytes));
    progress.finish();
    let scan = scan.map_err(Refusal::from)?;
    let parted = suppress::apply(scan.findings, payload)?;
    notes.extend(parted.notes.iter().cloned());
    notes.extend(suppress::stale(payload, &parted)?);
    let widened = suppress::widened(payload)?;
    let refusing = parted.kept.iter().filter(|(finding, _)| policy.refuses(finding)).count();
    let (verdict, coverage) = if refusing > 0 {
        (Verdict::Refuse(Refusal::found(refusing)), Some(scan.coverage))
    } else if !widened.is_empty() {
        (Verdict::Ask(Question { refusal: Refusal::suppression(&widened) }), Some(scan.coverage))
    } else {
        (Verdict::Pass(Clearance::clean(scan.coverage)), None)
    };
    Ok(Scanned { verdict, findings: parted.kept, suppressed: parted.suppressed, notes, coverage, policy })
}

/// The policy in force: the user's, made stricter by the repository's.
fn policy(world: &World, setup: &Setup) -> Result<Policy, Refusal> {
    let named = setup.config.as_ref().map(|path| world.cwd.join(path));
    let repository = world.cwd.ancestors().find(|folder| folder.join(".git").exists());
    config::policy(named.as_deref(), state_dir().as_deref(), repository).map_err(|fault| {
        Refusal::new(Class::Configuration, fault.to_string(), "correct the place it names, or take the file away")
    })
}

/// The engines that were asked for, and what each cannot hold. One that was asked for and is not there
/// is a refusal.
fn engines(world: &World, setup: &Setup, tally: Tally) -> Result<(Vec<Box<dyn Engine>>, Vec<SafeText>), Refusal> {
    let rules = rules(world, setup)?;
    let embedded = || -> Result<Box<dyn Engine>, Refusal> {
        Ok(Box::new(EmbeddedEngine::new(Arc::clone(&rules), Options { compat: setup.compat, ..Options::default() })?))
    };
    let drive = Drive { processes: setup.threads, expected_bytes: tally.bytes, deadline: world.deadline };
    let driven = |program: &GitleaksProgram| -> Result<(Box<dyn Engine>, Vec<SafeText>), Refusal> {
        let engine = GitleaksEngine::of_rules(program, &rules, drive)?;
        let notes = engine.notes().to_vec();
        Ok((Box::new(engine), notes))
    };
    let program = match setup.engine {
        EngineChoice::Embedded => None,
        EngineChoice::Gitleaks | EngineChoice::Both => Some(gitleaks::locate(world)?),
        EngineChoice::Auto if tally.bytes > AUTO_GITLEAKS_BYTES => None,
        EngineChoice::Auto => gitleaks::present(world)?,
    };
    let mut engines = Vec::new();
    if setup.engine != EngineChoice::Gitleaks {
        engines.push(embedded()?);
    }
    let mut notes = Vec::new();
    if let Some(program) = program {
        let (engine, cannot_hold) = driven(&program)?;
        engines.push(engine);
        notes = cannot_hold;
    }
    Ok((engines, notes))
}

/// The rules in force: a file's instead of tyran's own.
fn rules(world: &World, setup: &Setup) -> Result<Arc<RuleSet>, Refusal> {
    let mode = if setup.compat { Mode::Compat } else { Mode::Strict };
    let loaded = match &setup.rules {
        Some(path) => RuleSet::load(&world.cwd.join(path), mode),
        None => RuleSet::builtin(),
    };
    loaded.map_err(|fault| {
        Refusal::new(Class::Rules, fault.to_string(), "correct the place it names, then run `tyran rules check`")
    })
}

/// A bar on standard error, shown only when there is something to wait for.
struct Progress {
    bar: Option<ProgressBar>,
    started: Instant,
    done: AtomicU64,
}

/// How long a scan may take before a bar appears.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);

impl Progress {
    fn new(wanted: bool, tally: Tally) -> Self {
        let bar = wanted.then(|| {
            let style = ProgressStyle::with_template("{bytes} of {total_bytes} [{wide_bar}] {eta}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(Some(tally.bytes), ProgressDrawTarget::hidden()).with_style(style)
        });
        Self { bar, started: Instant::now(), done: AtomicU64::new(0) }
    }

    fn advance(&self, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bar.is_hidden() && self.started.elapsed() >= PROGRESS_AFTER {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(done);
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
