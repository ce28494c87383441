//! Reading a payload: the engines that were asked for, the rules in force, what suppressions take
//! away, and the policy that turns findings into an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::EngineChoice;
use crate::config::{self, ForcePush, Policy};
use crate::payload::cache::Cache;
use crate::payload::{Fault, Payload, Tally};
use crate::scan::embedded::{EmbeddedEngine, Mode, Options, RuleSet};
use crate::scan::finding::count_secrets;
use crate::scan::fingerprint::Fingerprint;
use crate::scan::gitleaks::{self, Drive, GitleaksEngine};
use crate::scan::suppress::{self, Suppressed};
use crate::scan::{self, Bounds, Coverage, Engine, Finding};
use crate::text::SafeText;
use crate::verdict::{Class, Clearance, Question, Refusal, Verdict};
use crate::world::{World, state_dir};

use super::Setup;

/// Up to this many bytes `auto` lets gitleaks read beside the embedded engine (design section 6).
const AUTO_GITLEAKS_BYTES: u64 = 16 << 20;

/// What came of reading a payload.
pub(super) struct Scanned {
    pub(super) verdict: Verdict,
    pub(super) findings: Vec<(Finding, Option<Fingerprint>)>,
    pub(super) suppressed: Vec<Suppressed>,
    pub(super) notes: Vec<SafeText>,
    pub(super) coverage: Option<Coverage>,
    pub(super) policy: Policy,
}

/// Reads a payload and answers.
pub(super) fn scanned(
    world: &World,
    payload: &Payload,
    setup: &Setup,
    memory: Option<&Memory>,
) -> Result<Scanned, Refusal> {
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
    let engines = engines(world, setup, payload.tally())?;
    let bounds = Bounds { threads: setup.threads, deadline: world.deadline };
    let progress = Progress::new(setup.progress, payload.tally());
    let scan = scan::run(payload, &engines, bounds, &|bytes| progress.advance(bytes));
    progress.finish();
    let scan = scan.map_err(Refusal::from)?;
    if let Some(memory) = memory {
        memory.keep(&scan, payload);
    }
    let mut notes: Vec<SafeText> = engines.iter().flat_map(|engine| engine.notes()).collect();
    let parted = suppress::apply(scan.findings, payload)?;
    notes.extend(parted.notes.iter().cloned());
    notes.extend(suppress::stale(payload, &parted)?);
    let widened = suppress::widened(payload)?;
    let refusing =
        count_secrets(parted.kept.iter().map(|(finding, _)| finding).filter(|finding| policy.refuses(finding)));
    let forced = forced(world, payload, policy)?;
    notes.extend(forced.notes);
    let (verdict, coverage) = if refusing > 0 {
        (Verdict::Refuse(Refusal::found(refusing)), Some(scan.coverage))
    } else if let Some(refusal) = forced.refused {
        (Verdict::Refuse(refusal), Some(scan.coverage))
    } else if !widened.is_empty() {
        (Verdict::Ask(Question { refusal: Refusal::suppression(&widened) }), Some(scan.coverage))
    } else {
        (Verdict::Pass(Clearance::clean(scan.coverage)), None)
    };
    Ok(Scanned { verdict, findings: parted.kept, suppressed: parted.suppressed, notes, coverage, policy })
}

/// What is to be said of refs that are replaced by what does not contain them.
#[derive(Default)]
struct Forced {
    notes: Vec<SafeText>,
    refused: Option<Refusal>,
}

/// Each is told where the command line asks for it; the configuration may refuse them all.
fn forced(world: &World, payload: &Payload, policy: Policy) -> Result<Forced, Refusal> {
    let mut forced = Forced::default();
    let refuses = policy.force_push == ForcePush::Refuse;
    for replaced in payload.replaces.iter().filter(|replaced| refuses || replaced.is_asked_for) {
        let why = match replaced.old {
            None => "may be replaced by what does not contain it; its place was not asked what it has".to_owned(),
            Some(old) => {
                let words = ["merge-base", "--is-ancestor", &old.to_string(), &replaced.new.to_string()];
                let done = world.git(&replaced.git, words).run().map_err(|fault| Refusal::from(Fault::from(fault)))?;
                if done.status.success() {
                    continue;
                }
                format!("would be replaced by what does not contain {old}")
            }
        };
        if refuses && forced.refused.is_none() {
            forced.refused = Some(Refusal::force_push(&replaced.name, &why));
        }
        forced.notes.push(SafeText::new(&format!("a force push: {} {why}", replaced.name)));
    }
    Ok(forced)
}

/// What was read before and found clean, for whoever takes claims for an early answer: the gate, and a
/// person who asks with the embedded engine alone. pre-push and CI have none (design principle 5).
#[derive(Debug)]
pub(super) struct Memory {
    /// The cache.
    pub(super) cache: Cache,
    /// Tips of which everything is read once the payload is.
    pub(super) tips: Vec<crate::payload::ObjectId>,
}

impl Memory {
    /// The memory of these rules; `None` where there is none, or it may not be used.
    pub(super) fn open(world: &World, setup: &Setup) -> Option<Self> {
        if !setup.remember || setup.engine != EngineChoice::Embedded || setup.compat {
            return None;
        }
        let identity = EmbeddedEngine::identity_of(rules(world, setup).ok()?.as_ref());
        Some(Self { cache: Cache::open(&state_dir()?, &[identity])?, tips: Vec::new() })
    }

    /// What is not written now is read again next time.
    fn keep(&self, scan: &scan::Scan, payload: &Payload) {
        let items: Vec<_> = payload.parts.iter().flat_map(|part| &part.items).cloned().collect();
        self.cache.record(&scan.coverage, &items, &scan.findings, &self.tips);
    }
}

/// The policy in force: the user's, made stricter by the repository's.
fn policy(world: &World, setup: &Setup) -> Result<Policy, Refusal> {
    let named = setup.config.as_ref().map(|path| world.cwd.join(path));
    let repository = world.cwd.ancestors().find(|folder| folder.join(".git").exists());
    config::policy(named.as_deref(), state_dir().as_deref(), repository).map_err(|fault| {
        Refusal::new(Class::Configuration, fault.to_string(), "correct the place it names, or take the file away")
    })
}

/// The engines that were asked for. One that was asked for and is not there is a refusal.
fn engines(world: &World, setup: &Setup, tally: Tally) -> Result<Vec<Box<dyn Engine>>, Refusal> {
    let rules = rules(world, setup)?;
    let program = match setup.engine {
        EngineChoice::Embedded => None,
        EngineChoice::Gitleaks | EngineChoice::Both => Some(gitleaks::locate(world)?),
        EngineChoice::Auto if tally.bytes > AUTO_GITLEAKS_BYTES => None,
        EngineChoice::Auto => gitleaks::present(world)?,
    };
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    if setup.engine != EngineChoice::Gitleaks {
        let options = Options { compat: setup.compat, ..Options::default() };
        engines.push(Box::new(EmbeddedEngine::new(Arc::clone(&rules), options)?));
    }
    if let Some(program) = program {
        let drive = Drive { processes: setup.threads, expected_bytes: tally.bytes, deadline: world.deadline };
        engines.push(Box::new(GitleaksEngine::of_rules(&program, &rules, drive)?));
    }
    Ok(engines)
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
