//! The hook itself: one event in, exactly one answer out, in time.
//!
//! Promise: every ending is a decision. A throw, a panic, an unknown verdict, a late verdict, a
//! stalled or closed output, a child that dies, hangs or answers nonsense all refuse. The deadline is
//! held on a thread of its own, which writes the refusal and ends the process, so that a judgement
//! which blocks or spins cannot turn into a pass; whoever claims the output first writes, and what
//! comes after is discarded. Reading the event is [`super::event`]'s, wording [`super::emit`]'s.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::journal::{self, Record};
use crate::verdict::{Class, Refusal};
use crate::world::plant;

use super::child;
use super::emit::{Answer, Decision, compose};
use super::event::{self, Call, Event, EventFault, ShellCommand};
use super::table::{Host, Slot, Table, TableFault};

/// Most bytes of one event.
pub const EVENT_LIMIT_BYTES: u64 = 1 << 20;

/// The deadline when none is given at installation: well inside the shortest known default (5 s).
const DEADLINE: Duration = Duration::from_millis(4500);

/// How long a claimed write may go on past the deadline before the process ends all the same.
const WRITE_GRACE: Duration = Duration::from_millis(250);

/// How often a write that would block is retried while nothing moves at all.
const STALLS: u32 = 20;

/// What the command line of an entry says.
struct Registration {
    host: Option<String>,
    event: Option<String>,
    deadline: Duration,
}

/// Runs the gate; `args` are the words after `tyran gate`.
pub fn run(args: &[OsString]) -> u8 {
    let started = Instant::now();
    // One row is all that nearly every event needs.
    let read = match value(args, "--host").map(|id| Table::of_one(&id)) {
        Some(Ok(Some(table))) => Ok(table),
        Some(Ok(None)) | None => Table::prepared(),
        Some(Err(fault)) => Err(fault),
    };
    let table = match read {
        Ok(table) => table,
        Err(fault) => return write(&Answer::universal(&no_table(&fault)), started + DEADLINE),
    };
    let registration = match register(args, &table) {
        Ok(registration) => registration,
        Err((host, reason)) => {
            let refusal = Refusal::new(
                Class::Usage,
                format!("the entry is not usable: {reason}"),
                "run `tyran setup` to write it anew",
            );
            let row = host.and_then(|id| table.host(&id).map(|row| Answer::refusal(&refusal, row, first_event(row))));
            return write(&row.unwrap_or_else(|| Answer::universal(&refusal)), started + DEADLINE);
        }
    };
    gate(&table, &registration, started)
}

fn first_event(host: &Host) -> &str {
    host.events.pre_tool.first().map_or("", String::as_str)
}

/// The value of an option, however it is written.
fn value(args: &[OsString], name: &str) -> Option<String> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        if word == name {
            return words.next().map(|value| value.to_string_lossy().into_owned());
        }
        if let Some(value) = word.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.to_owned());
        }
    }
    None
}

/// Reads the entry's own words. `--host` first of all, so that whatever else is wrong is told in that
/// host's form.
fn register(args: &[OsString], table: &Table) -> Result<Registration, (Option<String>, String)> {
    let value = |name: &str| value(args, name);
    let host = value("--host");
    let fail = |reason: String| (host.clone(), reason);
    let mut words = args.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if !["--host", "--event", "--deadline"].contains(&name) {
            return Err(fail(format!("{word:?} is not an option of `tyran gate`")));
        }
        if !word.contains('=') && words.next().is_none() {
            return Err(fail(format!("{word} has no value")));
        }
    }
    let Some(id) = &host else { return Err(fail("it names no `--host`".to_owned())) };
    let Some(row) = table.host(id) else { return Err(fail(format!("{id:?} is not a row of the host table"))) };
    let event = value("--event");
    if let Some(event) = &event
        && row.events.slot(event).is_none()
    {
        return Err(fail(format!("{event:?} is not an event of {}", row.product)));
    }
    let deadline = match value("--deadline") {
        Some(text) => crate::cli::seconds(&text).map_err(|reason| fail(format!("--deadline {text:?}: {reason}")))?,
        None => DEADLINE,
    };
    Ok(Registration { host, event, deadline })
}

/// What ends the process once: whoever claims first.
struct Claim(AtomicBool);

impl Claim {
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

fn gate(table: &Table, registration: &Registration, started: Instant) -> u8 {
    let Some(default) = registration.host.as_deref().and_then(|id| table.host(id)) else { return 2 };
    let declared = registration.event.clone().unwrap_or_else(|| first_event(default).to_owned());
    let is_probe = default.events.slot(&declared).is_some_and(|slot| !slot.can_refuse());
    let deadline = started + registration.deadline;
    let claim = Arc::new(Claim(AtomicBool::new(false)));
    let said = |refusal: &Refusal| {
        if is_probe { noted(refusal, default, &declared) } else { Answer::refusal(refusal, default, &declared) }
    };
    watch(Arc::clone(&claim), said(&late(registration.deadline)), deadline);
    let judged = AssertUnwindSafe(|| answer(table, default, registration, is_probe, deadline));
    let answer = panic::catch_unwind(judged)
        .unwrap_or_else(|_| said(&Refusal::internal("a defect of tyran's own ended the judgement")));
    if !claim.take() {
        // The deadline has written, or is writing: what was judged after it is discarded.
        thread::sleep(WRITE_GRACE * 4);
        return 2;
    }
    write(&answer, deadline)
}

fn late(after: Duration) -> Refusal {
    Refusal::new(
        Class::Deadline,
        format!("deadline-exceeded: there was no verdict after {} ms", after.as_millis()),
        child::AFTER_DEADLINE,
    )
}

/// What a probe says of its own failure: the smallest answer there is, and a note that nobody has to read.
fn noted(refusal: &Refusal, host: &Host, event: &str) -> Answer {
    Answer { stderr: format!("tyran: {}\n", refusal.what), ..Answer::of(&Decision::Pass, host, event) }
}

/// Holds the deadline on a thread of its own.
fn watch(claim: Arc<Claim>, late: Answer, deadline: Instant) {
    thread::spawn(move || {
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        if claim.take() {
            let code = write(&late, Instant::now() + WRITE_GRACE);
            child::end_all();
            std::process::exit(i32::from(code));
        }
        // Somebody is writing. When that does not end, a cut answer must not look like a whole one.
        thread::sleep(WRITE_GRACE);
        let _ = write_all(
            io::stderr().as_fd(),
            b"tyran: refused (output)\nwhat:  the answer could not be written in time\n",
            Instant::now(),
        );
        std::process::exit(2);
    });
}

/// The answer to whatever the host wrote.
fn answer(table: &Table, default: &Host, registration: &Registration, is_probe: bool, deadline: Instant) -> Answer {
    plant::at("gate");
    let declared = registration.event.as_deref().unwrap_or(first_event(default));
    let bytes = match read_event() {
        Ok(bytes) => bytes,
        Err(refusal) if is_probe => return noted(&refusal, default, declared),
        Err(refusal) => return Answer::refusal(&refusal, default, declared),
    };
    let payload = event::object(&bytes);
    let whole = match &payload {
        Ok(payload) if !event::is_of(payload, default) => match Table::prepared() {
            Ok(table) => Some(table),
            Err(fault) if is_probe => return noted(&no_table(&fault), default, declared),
            Err(fault) => return Answer::refusal(&no_table(&fault), default, declared),
        },
        Ok(_) | Err(_) => None,
    };
    let table = whole.as_ref().unwrap_or(table);
    let read = payload
        .map_err(|fault| event::Rejected { host: Some(default), name: declared.to_owned(), fault })
        .and_then(|payload| event::understand(payload, table, default, registration.event.as_deref()));
    match read {
        Ok(event) if event.slot == Slot::PreTool => {
            let started = Instant::now();
            let decision = decide(&event, deadline);
            // The row that the payload looks like may not be the host that reads the answer.
            let decision = if default.ask.events.is_empty() { decision.unasked() } else { decision };
            note(&event, &decision, started);
            Answer::of(&decision, event.host, &event.name)
        }
        Ok(event) => probe(&event, deadline),
        Err(rejected) => {
            let refusal = event_refusal(&rejected.fault);
            match rejected.host {
                // An event that could be refused is, even where the entry is a probe's.
                Some(host) if is_probe && !rejected.is_pre_tool() => noted(&refusal, host, &rejected.name),
                Some(host) => Answer::refusal(&refusal, host, &rejected.name),
                None if is_probe => noted(&refusal, default, declared),
                None => Answer::universal(&refusal),
            }
        }
    }
}

fn event_refusal(fault: &EventFault) -> Refusal {
    Refusal::new(
        Class::Event,
        format!("{}: {fault}", fault.class()),
        "run `tyran doctor`, which tries every route and names what differs",
    )
}

/// Standard input, whole and bounded.
fn read_event() -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(EVENT_LIMIT_BYTES + 1).read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(Refusal::new(
            Class::Event,
            format!("unreadable-input: {error}"),
            "run `tyran doctor`, which tries every route",
        ));
    }
    if bytes.len() as u64 > EVENT_LIMIT_BYTES {
        return Err(Refusal::new(
            Class::Event,
            format!("input-too-large: the event has more than {EVENT_LIMIT_BYTES} bytes"),
            "write the content to a file first, and use the file in a shorter command",
        ));
    }
    Ok(bytes)
}

/// The decision on a pre-tool event.
fn decide(event: &Event<'_>, deadline: Instant) -> Decision {
    match &event.call {
        Call::Other => Decision::Pass,
        Call::Shell(commands) => judged(event, commands, deadline),
        Call::Typing { tool } => child::typing(event.host, tool),
        Call::Writing { paths, text } => child::writing(event.host, paths, text.as_bstr()),
        Call::Publishing { tool, texts, files, commands } => {
            compose([child::texts(tool, texts, files, deadline), judged(event, commands, deadline)])
        }
    }
}

fn judged(event: &Event<'_>, commands: &[ShellCommand], deadline: Instant) -> Decision {
    compose(commands.iter().map(|command| child::command(event.host, command, deadline)))
}

/// Most characters of a session's name that the journal keeps.
const SESSION_LIMIT: usize = 200;

/// Writes what was asked and answered into the journal. What publishes nothing is not worth a line.
fn note(event: &Event<'_>, decision: &Decision, started: Instant) {
    let (word, class) = match decision {
        Decision::Pass => return,
        Decision::Ask(class, _) => ("ask", class),
        Decision::Refuse(class, _) => ("refuse", class),
    };
    let dir = match &event.call {
        Call::Shell(commands) | Call::Publishing { commands, .. } => {
            commands.iter().find_map(|command| command.cwd.as_ref())
        }
        Call::Typing { .. } | Call::Writing { .. } | Call::Other => None,
    };
    journal::append(&Record {
        at: journal::now(),
        by: "gate".to_owned(),
        of: event.host.id.clone(),
        surface: event.host.surface.clone(),
        event: event.name.clone(),
        session: event.session.chars().take(SESSION_LIMIT).collect(),
        decision: word.to_owned(),
        class: class.word().to_owned(),
        dir: dir.map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default(),
        tips: Vec::new(),
        millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
}

/// The answer of a run that panicked outside of the judgement, in the host's own form.
pub fn refuse_after_panic(args: &[OsString]) -> u8 {
    let refusal = Refusal::internal("a defect of tyran's own ended the run");
    let deadline = Instant::now() + WRITE_GRACE;
    let table = Table::prepared().ok();
    let registered = table.as_ref().and_then(|table| Some((table, register(args, table).ok()?.host?)));
    let row = registered.and_then(|(table, id)| table.host(&id));
    write(
        &row.map_or_else(|| Answer::universal(&refusal), |row| Answer::refusal(&refusal, row, first_event(row))),
        deadline,
    )
}

/// A slot that cannot refuse: never blocks, never fails loudly.
fn probe(event: &Event<'_>, deadline: Instant) -> Answer {
    let text = match event.slot {
        Slot::SessionStart => child::session_line(event.host, deadline),
        Slot::PostTool => child::unseen_pushes(event.host, &event.call),
        Slot::PreTool
        | Slot::UserPrompt
        | Slot::Stop
        | Slot::SubagentStart
        | Slot::SubagentStop
        | Slot::PreCompact
        | Slot::SessionEnd => String::new(),
    };
    Answer::context(event.host, &event.name, &text)
}

fn no_table(fault: &TableFault) -> Refusal {
    Refusal::new(Class::Installation, format!("installation: {fault}"), "install tyran again")
}

/// Writes an answer in full, standard error first: a reason without a decision is harmless, a
/// decision without its reason runs on several hosts. A dead or stalled output ends loudly.
fn write(answer: &Answer, deadline: Instant) -> u8 {
    let until = deadline + WRITE_GRACE;
    let told = write_all(io::stderr().as_fd(), answer.stderr.as_bytes(), until);
    let answered = write_all(io::stdout().as_fd(), answer.stdout.as_bytes(), until);
    match (told, answered) {
        (Ok(()), Ok(())) => answer.exit,
        // Nothing was to be said on standard error but a decision was written: it stands.
        (Err(_), Ok(())) if !answer.stdout.is_empty() => answer.exit,
        _ => {
            let _ = write_all(
                io::stderr().as_fd(),
                b"tyran: refused (output)\nwhat:  the answer could not be written\n",
                until,
            );
            2
        }
    }
}

/// Writes all bytes to the raw descriptor, against partial writes, interrupts and back-pressure.
fn write_all(descriptor: BorrowedFd<'_>, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    let mut stalls = 0;
    while !bytes.is_empty() {
        match nix::unistd::write(descriptor, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                stalls = 0;
            }
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                stalls += 1;
                if stalls > STALLS || Instant::now() >= until {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                let mut waiting = [PollFd::new(descriptor, PollFlags::POLLOUT)];
                let _ = poll(&mut waiting, PollTimeout::from(50u8));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Whether this is the gate, told from the raw arguments before anything else is parsed.
pub fn is_gate(args: &[OsString]) -> bool {
    args.get(1).map(OsString::as_os_str) == Some(OsStr::new("gate"))
}
