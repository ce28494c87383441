//! A payload's bytes in, findings and a proof of coverage out.
//!
//! Promise: every engine that was asked for has read every byte of the manifest, has found its
//! self-test secret in the same run, and the counts agree; or the answer is a [`ScanFault`]. No git,
//! no host and no configuration of the repository is known here.

pub mod coverage;
pub mod embedded;
pub mod engine;
pub mod finding;
pub mod fingerprint;
pub mod gitleaks;
pub mod suppress;

pub use coverage::{Coverage, EngineCoverage};
pub use engine::{Engine, EngineFault, Identity, Reading, Session};
pub use finding::{Confidence, Finding, Secret, Severity};

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::payload::{Content, Fault, Payload, Tally};

/// What a scan found, and the proof that it read everything.
#[derive(Debug)]
pub struct Scan {
    /// Findings of all engines, united; sorted by part, item and offset.
    pub findings: Vec<Finding>,
    /// The proof.
    pub coverage: Coverage,
}

/// Why a scan proves nothing.
#[derive(Debug, thiserror::Error)]
pub enum ScanFault {
    /// An item could not be read.
    #[error(transparent)]
    Payload(#[from] Fault),
    /// An engine could not read what it was given.
    #[error(transparent)]
    Engine(#[from] EngineFault),
    /// The counts do not agree.
    #[error(transparent)]
    Gap(#[from] coverage::Gap),
    /// The deadline passed.
    #[error("the deadline passed after {0} of {1} items")]
    Deadline(usize, usize),
}

/// How a scan is run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Threads that read and match; at least 1.
    pub threads: usize,
    /// When the answer must be there.
    pub deadline: Option<Instant>,
}

/// How many items a thread takes at a time: few enough to share the work, enough to keep reads in
/// pack order.
const BATCH: usize = 64;

/// Reads every item of `payload` with every engine.
///
/// # Errors
/// As [`ScanFault`] tells; then nothing is proven.
pub fn run(
    payload: &Payload,
    engines: &[Box<dyn Engine>],
    bounds: Bounds,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Scan, ScanFault> {
    let promised = payload.tally();
    let started = Instant::now();
    let work = Work::new(payload, bounds);
    let readings: Mutex<Vec<Vec<Reading>>> = Mutex::new(Vec::new());
    let first_fault: Mutex<Option<ScanFault>> = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..bounds.threads.max(1) {
            scope.spawn(|| match work.run(engines, progress) {
                Ok(own) => readings.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(own),
                Err(fault) => {
                    work.stop.store(true, Ordering::Relaxed);
                    let mut slot = first_fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    slot.get_or_insert(fault);
                }
            });
        }
    });
    if let Some(fault) = first_fault.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(fault);
    }
    let readings = readings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut findings = Vec::new();
    let mut read_by = Vec::new();
    for (place, engine) in engines.iter().enumerate() {
        let mut consumed = Tally::default();
        for thread in &readings {
            if let Some(reading) = thread.get(place) {
                consumed += reading.consumed;
                findings.extend(reading.findings.iter().cloned());
            }
        }
        read_by.push(EngineCoverage {
            identity: engine.identity(),
            consumed,
            millis: started.elapsed().as_millis() as u64,
        });
    }
    let coverage = Coverage::prove(promised, read_by)?;
    Ok(Scan { findings: finding::unite(findings), coverage })
}

/// The items that are still to be read, shared by the threads.
struct Work<'a> {
    payload: &'a Payload,
    batches: Vec<(usize, std::ops::Range<usize>)>,
    next: AtomicUsize,
    stop: AtomicBool,
    bounds: Bounds,
}

impl<'a> Work<'a> {
    fn new(payload: &'a Payload, bounds: Bounds) -> Self {
        let mut batches = Vec::new();
        for (place, part) in payload.parts.iter().enumerate() {
            let mut from = 0;
            while from < part.items.len() {
                let to = (from + BATCH).min(part.items.len());
                batches.push((place, from..to));
                from = to;
            }
        }
        Self { payload, batches, next: AtomicUsize::new(0), stop: AtomicBool::new(false), bounds }
    }

    /// One thread's share. Its readings are in the order of the engines.
    fn run(&self, engines: &[Box<dyn Engine>], progress: &(dyn Fn(u64) + Sync)) -> Result<Vec<Reading>, ScanFault> {
        let mut sessions = engines.iter().map(|engine| engine.session()).collect::<Result<Vec<_>, _>>()?;
        let mut open: Option<(usize, Box<dyn crate::payload::Reader + '_>)> = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some((place, range)) = self.batches.get(self.next.fetch_add(1, Ordering::Relaxed)).cloned() else {
                break;
            };
            if self.bounds.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(ScanFault::Deadline(range.start, self.payload.tally().objects as usize));
            }
            let part = &self.payload.parts[place];
            if open.as_ref().is_none_or(|(opened, _)| *opened != place) {
                open = Some((place, part.source.reader()?));
            }
            let Some((_, reader)) = open.as_mut() else { break };
            for item in &part.items[range] {
                scan_item(reader.as_mut(), item, place, &mut sessions)?;
                progress(item.size);
            }
        }
        Ok(sessions.into_iter().map(Session::finish).collect::<Result<Vec<_>, _>>()?)
    }
}

/// Reads one item with every engine's session.
fn scan_item(
    reader: &mut dyn crate::payload::Reader,
    item: &crate::payload::Item,
    part: usize,
    sessions: &mut [Box<dyn Session + '_>],
) -> Result<(), ScanFault> {
    let mut engine_fault = None;
    let read = reader.read(item, &mut |content| match content {
        Content::Whole(bytes) => {
            for session in sessions.iter_mut() {
                if let Err(fault) = session.scan(item, part, Content::Whole(bytes)) {
                    engine_fault = Some(fault);
                    return Err(Fault::Plumbing("an engine stopped".into()));
                }
            }
            Ok(())
        }
        Content::Stream(stream) => {
            let mut tee = engine::Tee::new(stream, item, part, &mut *sessions);
            tee.run().map_err(|fault| match fault {
                ScanFault::Payload(fault) => fault,
                ScanFault::Engine(fault) => {
                    engine_fault = Some(fault);
                    Fault::Plumbing("an engine stopped".into())
                }
                other @ (ScanFault::Gap(_) | ScanFault::Deadline(..)) => Fault::Plumbing(other.to_string().into()),
            })
        }
    });
    if let Some(fault) = engine_fault {
        return Err(ScanFault::Engine(fault));
    }
    Ok(read?)
}
