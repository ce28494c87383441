//! Several gitleaks side by side, shared by the sessions of one engine.
//!
//! Promise: at most as many run as were asked for, what waits is bounded, the first fault stops all,
//! and no child is left when the engine is gone.
//!
//! gitleaks needs a third of a second to start (facts 10), so the sessions of a small payload share
//! one run: what a session has left over at its end goes to the last one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::payload::Tally;
use crate::scan::engine::{EngineFaultKind, Reading};
use crate::scan::{EngineFault, Finding};
use crate::world::child::Cancel;

use super::child::Place;
use super::locate::{Located, locate};
use super::report::fault;
use super::windows::Batch;
use super::{Drive, Judge};

/// Bytes of a run where nothing better is known: a start costs as much as reading some 5 MB.
const BATCH_BYTES: usize = 8 << 20;

/// No run is smaller than this while there is more to read, nor larger than the next.
const BATCH_AT_LEAST: usize = 2 << 20;
const BATCH_AT_MOST: usize = 32 << 20;

/// The shared state of an engine's sessions.
pub(super) struct Pool {
    place: Place,
    rules: String,
    judge: Arc<dyn Judge>,
    processes: usize,
    batch_bytes: usize,
    cancel: Cancel,
    state: Mutex<State>,
    changed: Condvar,
}

/// A finding, and in which window it was seen.
struct Seen {
    finding: Finding,
    /// The item, and the window's place in it.
    window: (u64, u64),
}

#[derive(Default)]
struct State {
    open_sessions: usize,
    running: usize,
    left_over: Batch,
    findings: Vec<Seen>,
    consumed: Tally,
    split_items: u64,
    first_fault: Option<EngineFault>,
}

impl Pool {
    pub(super) fn new(place: Place, rules: String, judge: Arc<dyn Judge>, drive: Drive) -> Arc<Self> {
        let processes = drive.processes.max(1);
        let share = usize::try_from(drive.expected_bytes).unwrap_or(usize::MAX) / processes;
        let batch_bytes = if drive.expected_bytes == 0 { BATCH_BYTES } else { share };
        Arc::new(Self {
            place,
            rules,
            judge,
            processes,
            batch_bytes: batch_bytes.clamp(BATCH_AT_LEAST, BATCH_AT_MOST),
            cancel: Cancel::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn open(&self) {
        self.state().open_sessions += 1;
    }

    /// Takes a session's batch when it is large enough for a run.
    pub(super) fn offer(self: &Arc<Self>, batch: &mut Batch) -> Result<(), EngineFault> {
        if batch.size() < self.batch_bytes {
            return Ok(());
        }
        self.start(std::mem::take(batch))
    }

    /// Starts a run as soon as one may be started.
    fn start(self: &Arc<Self>, batch: Batch) -> Result<(), EngineFault> {
        let mut state = self.state();
        while state.running >= self.processes && state.first_fault.is_none() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(fault) = &state.first_fault {
            return Err(again(fault));
        }
        state.running += 1;
        state.split_items += batch.split_items();
        drop(state);
        let pool = Arc::clone(self);
        thread::spawn(move || {
            // A panic in the run must not leave the others waiting for it.
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run(batch)))
                .unwrap_or_else(|_| Err(fault(EngineFaultKind::Broken, "a defect of ours ended its run")));
            pool.ended(read);
        });
        Ok(())
    }

    fn ended(&self, read: Result<(Vec<Seen>, Tally), EngineFault>) {
        let mut state = self.state();
        state.running -= 1;
        match read {
            Ok((findings, consumed)) => {
                state.findings.extend(findings);
                state.consumed += consumed;
            }
            Err(fault) => {
                state.first_fault.get_or_insert(fault);
                self.cancel.cancel();
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// How many items were read in several windows.
    pub(super) fn split_items(&self) -> u64 {
        self.state().split_items
    }

    /// Ends a session: the last one waits for all runs and tells what they read.
    pub(super) fn close(self: &Arc<Self>, batch: Batch) -> Result<Reading, EngineFault> {
        let mut state = self.state();
        state.open_sessions = state.open_sessions.saturating_sub(1);
        state.left_over.absorb(batch);
        if state.open_sessions > 0 {
            return Ok(Reading::default());
        }
        let rest = std::mem::take(&mut state.left_over);
        drop(state);
        if !rest.is_empty() {
            self.start(rest)?;
        }
        let mut state = self.wait_for_all();
        match state.first_fault.take() {
            Some(fault) => Err(fault),
            None => Ok(Reading {
                findings: each_once(std::mem::take(&mut state.findings)),
                consumed: std::mem::take(&mut state.consumed),
            }),
        }
    }

    fn wait_for_all(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while state.running > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Ends all runs and waits until none is left.
    pub(super) fn end(&self) {
        self.cancel.cancel();
        drop(self.wait_for_all());
    }

    /// One run: the batch between two self-test secrets, and what was found in it.
    fn run(&self, batch: Batch) -> Result<(Vec<Seen>, Tally), EngineFault> {
        let self_test = SelfTest::new()?;
        let config = format!("{}\n{}", self.rules, self_test.rules());
        let layout = batch.lay_out(&self_test.first(), self_test.secret.as_bytes());
        let entries = self.place.run(&config, layout.bytes(), &self.cancel)?;
        let mut findings = Vec::new();
        let mut seen = Vec::new();
        for entry in &entries {
            match locate(&layout, entry)? {
                Located::Ours(block) => seen.push((entry.rule.as_str(), block)),
                Located::Hit(hit) => {
                    let window = hit.place;
                    findings.extend(self.judge.judge(*hit).map(|finding| Seen { finding, window }));
                }
                Located::LeftToOther => {}
            }
        }
        self_test.judge(&seen)?;
        Ok((findings, layout.consumed()))
    }
}

/// Findings that two windows both saw, told once. One window may well see the same twice (a text that decodes
/// to a secret in two places), so the n-th of one window is the n-th of the other.
fn each_once(seen: Vec<Seen>) -> Vec<Finding> {
    let mut counted: HashMap<_, u32> = HashMap::new();
    let mut told = HashSet::new();
    let mut findings = Vec::with_capacity(seen.len());
    for Seen { finding, window } in seen {
        let (rule, secret) = (Arc::clone(&finding.rule), finding.secret.clone());
        let same = (window.0, rule, secret, finding.start, finding.end, Arc::clone(&finding.tags));
        let count = counted.entry((same.clone(), window.1)).or_default();
        *count += 1;
        if told.insert((same, *count)) {
            findings.push(finding);
        }
    }
    findings
}

/// The same fault for another session.
fn again(fault: &EngineFault) -> EngineFault {
    EngineFault { engine: fault.engine, what: fault.what.clone(), kind: fault.kind }
}

/// A secret of this run, which gitleaks must find in the first and in the last block, and a text
/// which it must not find.
struct SelfTest {
    secret: String,
}

/// Letters and digits of which no word is made that an allowlist could hold.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz23456789";

impl SelfTest {
    fn new() -> Result<Self, EngineFault> {
        let mut noise = [0u8; 24];
        getrandom::fill(&mut noise)
            .map_err(|error| fault(EngineFaultKind::Broken, format!("no randomness: {error}")))?;
        let secret =
            noise.iter().filter_map(|byte| ALPHABET.get(usize::from(*byte) % ALPHABET.len())).copied().map(char::from);
        Ok(Self { secret: secret.collect() })
    }

    fn rule_id(&self) -> String {
        format!("tyran-self-test-{}", self.secret)
    }

    fn probe_id(&self) -> String {
        format!("tyran-separator-{}", self.secret)
    }

    /// A rule for the secret, and one that crosses what parts two windows.
    fn rules(&self) -> String {
        let secret = &self.secret;
        format!(
            "[[rules]]\nid = \"{}\"\nregex = '''{secret}'''\nkeywords = [\"{secret}\"]\n\n\
             [[rules]]\nid = \"{}\"\nregex = '''{secret}x[\\s\\S]x{secret}'''\nkeywords = []\n",
            self.rule_id(),
            self.probe_id()
        )
    }

    /// What stands in the first block: the secret, then twice more around a separator's byte.
    fn first(&self) -> Vec<u8> {
        let secret = self.secret.as_bytes();
        [secret, b"\n", secret, b"x\xFFx", secret].concat()
    }

    fn judge(&self, seen: &[(&str, usize)]) -> Result<(), EngineFault> {
        if seen.iter().any(|(rule, _)| *rule == self.probe_id()) {
            let what = "its expressions match bytes that are no UTF-8, so it is not the release build (RE2)";
            return Err(fault(EngineFaultKind::Absent, what));
        }
        let in_first = seen.iter().filter(|(rule, block)| *rule == self.rule_id() && *block == 0).count();
        let in_last = seen.iter().filter(|(rule, block)| *rule == self.rule_id() && *block > 0).count();
        if in_first == 3 && in_last == 1 {
            return Ok(());
        }
        let what = format!("it found {in_first} of 3 and {in_last} of 1 of its self-test secrets");
        Err(fault(EngineFaultKind::SelfTest, what))
    }
}
