//! The real gitleaks as an engine: it reads everything, or its silence counts for nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bstr::BString;
use proptest::prelude::*;
use tyran::payload::{Content, Elsewhere, Fault, Item, ItemKind, Part, Payload, Reader, Source, source::Sink};
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet, express};
use tyran::scan::engine::EngineFaultKind;
use tyran::scan::gitleaks::locate::{self, Located};
use tyran::scan::gitleaks::report::{self, Entry};
use tyran::scan::gitleaks::windows::Batch;
use tyran::scan::gitleaks::{AsReported, Drive, Expressed, GitleaksEngine, GitleaksProgram, program, windows};
use tyran::scan::{self, Bounds, Confidence, Engine, Finding, Scan, ScanFault, Severity};

use tyran::world::child::Done;

use crate::support::gitleaks::real_gitleaks;
use crate::support::{Sandbox, planted, shared};

const RULES: &str = r#"
[[rules]]
id = "token"
description = "A token"
regex = '''\bqzt_[a-z0-9]{20,40}\b'''
keywords = ["qzt_"]
tags = ["test"]

[[rules]]
id = "span"
description = "From one word to another"
regex = '''fromhere[\s\S]*?tothere'''
keywords = []

[[rules]]
id = "blanks"
description = "A word after any white space"
regex = '''\s*blankword([0-9]+)'''
keywords = ["blankword"]
"#;

fn rules(toml: &str) -> Expressed {
    Expressed { toml: toml.to_owned(), rules: 3, notes: Vec::new(), judge: Arc::new(AsReported) }
}

fn drive() -> Drive {
    Drive { processes: 2, expected_bytes: 0, deadline: None }
}

/// Items whose bytes are in memory, read whole or as a stream.
#[derive(Debug)]
struct Bytes {
    items: Vec<Vec<u8>>,
    streamed: bool,
}

impl Source for Bytes {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(BytesReader(self)))
    }
}

struct BytesReader<'a>(&'a Bytes);

impl Reader for BytesReader<'_> {
    fn read(&mut self, item: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let place: usize = item.path.as_ref().unwrap().to_string().parse().unwrap();
        let bytes = &self.0.items[place];
        if self.0.streamed { sink(Content::Stream(&mut bytes.as_slice())) } else { sink(Content::Whole(bytes)) }
    }
}

fn payload(items: Vec<Vec<u8>>, streamed: bool) -> Payload {
    let listed = items
        .iter()
        .enumerate()
        .map(|(place, bytes)| Item {
            kind: ItemKind::Blob,
            oid: None,
            size: bytes.len() as u64,
            path: Some(BString::from(place.to_string())),
            commit: None,
            elsewhere: Elsewhere::Nowhere,
        })
        .collect();
    Payload { parts: vec![Part { items: listed, source: Box::new(Bytes { items, streamed }) }], ..Payload::default() }
}

fn scan_with(engine: GitleaksEngine, payload: &Payload) -> Result<Scan, ScanFault> {
    let engines: Vec<Box<dyn Engine>> = vec![Box::new(engine)];
    scan::run(payload, &engines, Bounds { threads: 2, deadline: None }, &|_| {})
}

fn scanned(program: &Path, items: Vec<Vec<u8>>, streamed: bool) -> Scan {
    let program = program::of_path(program).unwrap();
    let engine = GitleaksEngine::new(&program, rules(RULES), drive()).unwrap();
    scan_with(engine, &payload(items, streamed)).unwrap()
}

fn token(seed: u64) -> String {
    format!("qzt_{}", planted::characters(seed, "abcdefghijklmnopqrstuvwxyz0123456789", 28))
}

/// Text of exactly `count` bytes in lines of odd lengths, without anything to be found.
fn filler(seed: u64, count: usize) -> Vec<u8> {
    let mut text = planted::characters(seed, "ABCDEFGH IJKLMNOP.;(){}\n\n", count);
    text.truncate(count);
    text.into_bytes()
}

/// Where a finding must stand: item, offset, line, column as gitleaks counts it.
fn place_of(items: &[Vec<u8>], finding: &Finding) -> (usize, u64, u64, u64) {
    let place: usize = finding.item.path.as_ref().unwrap().to_string().parse().unwrap();
    let before = &items[place][..finding.start as usize];
    let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
    let in_line = before.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    (place, finding.start, line, in_line + if line == 1 { 1 } else { 2 })
}

#[test]
fn every_token_of_many_items_is_found_once_and_in_its_place() {
    let Some(program) = real_gitleaks() else { return };
    let sizes = [0, 1, 40, 700, 24_001, 60_000, 99_990, 100_000, 250_000, 0, 31_000, 5];
    let mut items: Vec<Vec<u8>> = Vec::new();
    let mut planted_at = Vec::new();
    for (place, size) in sizes.into_iter().enumerate() {
        let mut bytes = filler(place as u64 + 1, size);
        for at in (0..size.saturating_sub(60)).step_by(9_973) {
            let secret = format!(" {} ", token((place * 1_000_000 + at) as u64));
            bytes[at..at + secret.len()].copy_from_slice(secret.as_bytes());
            planted_at.push((place, at as u64 + 1));
        }
        items.push(bytes);
    }
    for streamed in [false, true] {
        let scan = scanned(&program, items.clone(), streamed);
        let mut found: Vec<_> = scan.findings.iter().map(|finding| place_of(&items, finding)).collect();
        found.sort_unstable();
        let told: Vec<_> = found.iter().map(|(place, start, ..)| (*place, *start)).collect();
        assert_eq!(told, planted_at);
        for finding in &scan.findings {
            let (_, _, line, column) = place_of(&items, finding);
            assert_eq!((finding.line, finding.column), (line, column));
            assert_eq!(finding.end - finding.start, 32);
            assert_eq!(finding.secret.expose().len(), 32);
            assert_eq!(&*finding.tags, ["test".to_owned()]);
        }
        assert_eq!(scan.coverage.tally().objects, items.len() as u64);
    }
}

#[test]
fn token_across_a_cut_between_windows_is_found_once_and_whole() {
    let Some(program) = real_gitleaks() else { return };
    let cut = windows::BLOCK - 5;
    let mut items = Vec::new();
    let mut planted_at = Vec::new();
    for (place, offset) in (0..44).step_by(3).enumerate() {
        // The end of the first window and the beginning of the second are both crossed, the second
        // one from the other side.
        let mut bytes = filler(7, 190_000);
        for (seed, at) in [(1, cut - offset), (2, cut - windows::OVERLAP - offset)] {
            let secret = format!(" {} ", token(seed));
            bytes[at..at + secret.len()].copy_from_slice(secret.as_bytes());
            planted_at.push((place, at as u64 + 1));
        }
        items.push(bytes);
    }
    planted_at.sort_unstable();
    // Each session lays its items out from the beginning of a block, so one for each puts every cut
    // at the same offset.
    let program = program::of_path(&program).unwrap();
    let engine = GitleaksEngine::new(&program, rules(RULES), drive()).unwrap();
    let payload = payload(items.clone(), false);
    let mut sessions: Vec<_> = items.iter().map(|_| engine.session().unwrap()).collect();
    for ((item, bytes), session) in payload.parts[0].items.iter().zip(&items).zip(&mut sessions) {
        session.scan(item, 0, Content::Whole(bytes)).unwrap();
    }
    let findings: Vec<Finding> = sessions.into_iter().flat_map(|session| session.finish().unwrap().findings).collect();
    let mut found: Vec<_> = findings.iter().map(|finding| place_of(&items, finding)).collect();
    found.sort_unstable();
    assert_eq!(found.iter().map(|(place, start, ..)| (*place, *start)).collect::<Vec<_>>(), planted_at);
    assert!(findings.iter().all(|finding| finding.secret.expose().len() == 32));
}

#[test]
fn large_payload_is_shared_out_among_several_runs() {
    let Some(program) = real_gitleaks() else { return };
    let sizes = [2_900_000, 300_000, 1_700_000];
    let mut planted_at = Vec::new();
    let items: Vec<Vec<u8>> = sizes
        .iter()
        .enumerate()
        .map(|(place, size)| {
            let mut bytes = filler(place as u64, *size);
            for at in (0..size - 60).step_by(49_999) {
                let secret = format!(" {} ", token(at as u64));
                bytes[at..at + secret.len()].copy_from_slice(secret.as_bytes());
                planted_at.push((place, at as u64 + 1));
            }
            bytes
        })
        .collect();
    let program = program::of_path(&program).unwrap();
    // So few bytes are expected that every run is as small as a run may be.
    let (only_token, _) = RULES.split_once("[[rules]]\nid = \"span\"").unwrap();
    let engine = GitleaksEngine::new(&program, rules(only_token), Drive { expected_bytes: 1, ..drive() }).unwrap();
    let payload = payload(items.clone(), true);
    let mut session = engine.session().unwrap();
    for (item, bytes) in payload.parts[0].items.iter().zip(&items) {
        session.scan(item, 0, Content::Stream(&mut bytes.as_slice())).unwrap();
    }
    let reading = session.finish().unwrap();
    assert_eq!(reading.consumed, payload.tally());
    let mut found: Vec<_> = reading.findings.iter().map(|finding| place_of(&items, finding)).collect();
    found.sort_unstable();
    assert_eq!(found.iter().map(|(place, start, ..)| (*place, *start)).collect::<Vec<_>>(), planted_at);
    for finding in &reading.findings {
        let (_, _, line, column) = place_of(&items, finding);
        assert_eq!((finding.line, finding.column), (line, column));
    }
    let notes = engine.notes();
    assert!(notes[0].as_str().starts_with("gitleaks read 3 large items in pieces"), "{notes:?}");
}

#[test]
fn no_match_reaches_from_one_item_into_the_next() {
    let Some(program) = real_gitleaks() else { return };
    let items = vec![
        b"begin fromhere and nothing more\n\n   ".to_vec(),
        b"  blankword1 tothere end".to_vec(),
        b"fromhere, in one item,\n\n\n\ntothere".to_vec(),
    ];
    let scan = scanned(&program, items.clone(), false);
    let mut found: Vec<_> =
        scan.findings.iter().map(|finding| (finding.rule.to_string(), place_of(&items, finding))).collect();
    found.sort_unstable();
    assert_eq!(found, [("blanks".to_owned(), (1, 0, 1, 1)), ("span".to_owned(), (2, 0, 1, 1))]);
}

#[test]
fn first_bytes_that_look_like_a_file_type_hide_nothing() {
    let Some(program) = real_gitleaks() else { return };
    let starts: [&[u8]; 6] = [b"MZ", b"%PDF-1.7\n", b"PK\x03\x04", b"\x1f\x8b\x08\0", b"SQLite format 3\0", b"%!PS"];
    let mut items: Vec<Vec<u8>> = starts
        .iter()
        .enumerate()
        .map(|(place, start)| [*start, b" ", token(place as u64).as_bytes()].concat())
        .collect();
    let mut tape = filler(3, 512);
    tape[257..262].copy_from_slice(b"ustar");
    items.push([tape.as_slice(), b" ", token(99).as_bytes()].concat());
    let mut disc = filler(4, 33_000);
    disc[32_769..32_774].copy_from_slice(b"CD001");
    items.push([disc.as_slice(), b" ", token(98).as_bytes()].concat());
    let scan = scanned(&program, items.clone(), false);
    assert_eq!(scan.findings.len(), items.len());
}

#[test]
fn encoded_token_is_told_where_its_encoding_stands() {
    use base64::Engine as _;
    let Some(program) = real_gitleaks() else { return };
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("the key is {} now", token(5)));
    let items = vec![format!("one line\nkey: {encoded}\nlast").into_bytes()];
    let scan = scanned(&program, items, false);
    let [finding] = scan.findings.as_slice() else { panic!("{:?}", scan.findings) };
    assert_eq!(finding.secret.expose(), token(5).as_bytes());
    assert_eq!(finding.within, ["base64"]);
    assert_eq!((finding.line, finding.start), (2, 14));
}

#[test]
fn bytes_of_a_secret_which_are_no_text_are_kept() {
    let Some(program) = real_gitleaks() else { return };
    // RE2 takes an encoded surrogate for a character, and the report shows it as three U+FFFD.
    let items = vec![b"x\nfromhere \xED\xA0\x80 tothere\n".to_vec()];
    let scan = scanned(&program, items, false);
    let [finding] = scan.findings.as_slice() else { panic!("{:?}", scan.findings) };
    assert_eq!(finding.matched.expose(), b"fromhere \xED\xA0\x80 tothere");
    assert_eq!(finding.secret.expose(), finding.matched.expose());
}

#[test]
fn inline_comment_does_not_hide_a_token_from_the_engine() {
    let Some(program) = real_gitleaks() else { return };
    let items = vec![format!("{} # gitleaks:allow\n", token(6)).into_bytes()];
    assert_eq!(scanned(&program, items, false).findings.len(), 1);
}

#[test]
fn findings_are_those_of_gitleaks_on_the_files_themselves() {
    let Some(program) = real_gitleaks() else { return };
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("files")).unwrap();
    let mut items = Vec::new();
    for place in 0..30u64 {
        let mut bytes = filler(place + 50, 200 + 331 * place as usize);
        for at in (10..bytes.len() - 60).step_by(97) {
            let text = match (place + at as u64) % 4 {
                0 => token(at as u64).to_string(),
                1 => format!("\n\n blankword{at}"),
                2 => format!("fromhere\n{at} tothere"),
                _ => format!("{}-x", token(at as u64 + 9)),
            };
            bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        bytes.push(b'\n');
        std::fs::write(sandbox.path("files").join(place.to_string()), &bytes).unwrap();
        items.push(bytes);
    }
    std::fs::write(sandbox.path("rules.toml"), RULES).unwrap();
    let output = sandbox
        .command(&program)
        .current_dir(sandbox.path("files"))
        .args(["dir", ".", "--no-banner", "--exit-code", "0", "-f", "json", "-r", "-", "-c"])
        .arg(sandbox.path("rules.toml"))
        .output()
        .unwrap();
    let theirs: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let mut theirs: Vec<String> = theirs
        .iter()
        .map(|entry| format!("{} {} {} {}", entry["File"], entry["RuleID"], entry["Match"], entry["StartLine"]))
        .collect();
    let scan = scanned(&program, items, false);
    let mut ours: Vec<String> = scan
        .findings
        .iter()
        .map(|finding| {
            let matched = String::from_utf8_lossy(finding.matched.expose()).into_owned();
            // gitleaks tells the line on which the white space before a trimmed match begins.
            let line = finding.line;
            let path = finding.item.path.as_ref().unwrap().to_string();
            format!("{:?} {:?} {} {line}", path, &*finding.rule, serde_json::Value::String(matched))
        })
        .collect();
    let without_lines = |told: &mut Vec<String>| {
        for one in told.iter_mut().filter(|one| one.contains("blankword")) {
            *one = one.rsplit_once(' ').unwrap().0.to_owned();
        }
        told.sort_unstable();
    };
    without_lines(&mut theirs);
    without_lines(&mut ours);
    assert!(theirs.len() > 100, "{}", theirs.len());
    assert_eq!(ours, theirs);
}

// What follows needs no real gitleaks: programs of our own that misbehave in its place.

/// A stand-in in Python: reads its input and its configuration as gitleaks does, then what `behaviour` does
/// with `entries` (the honest report), `size` and the functions `log`, `report` and `leave`.
fn stand_in(sandbox: &Sandbox, behaviour: &str) -> GitleaksProgram {
    let head = r#"#!/usr/bin/env python3
import json, os, re, signal, subprocess, sys, time
open("PIDFILE", "a").write("%d\n" % os.getpid())
data = sys.stdin.buffer.read()
size = len(data)
text = open(sys.argv[sys.argv.index("--config") + 1]).read()
rules = re.findall(r"id = \"(tyran-self-test-[^\"]*)\"\nregex = '''([^']*)'''", text)
entries = []
for rule, secret in rules:
    for found in re.finditer(re.escape(secret.encode()), data):
        line = data.count(b"\n", 0, found.start()) + 1
        feed = data.rfind(b"\n", 0, found.start())
        entries.append(dict(RuleID=rule, Description="", StartLine=line, EndLine=line,
            StartColumn=found.start() - feed + 1, EndColumn=found.end() - feed, Match=secret,
            Secret=secret, Entropy=3, Tags=[]))
def log(read=None, found=None):
    sys.stderr.write("1:00AM INF scanned ~%d bytes (%d bytes) in 1ms\n" % ((size if read is None else read,) * 2))
    sys.stderr.write("1:00AM WRN leaks found: %d\n" % (len(entries) if found is None else found))
def report(shown=None):
    sys.stdout.write(json.dumps(entries if shown is None else shown))
def leave(code=77):
    sys.stdout.flush(); sys.stderr.flush(); os._exit(code)
"#;
    let script = format!("{}{behaviour}\n", head.replace("PIDFILE", sandbox.path("pids").to_str().unwrap()));
    let path = sandbox.path("stand-in");
    write_program(&path, &script);
    GitleaksProgram { path, version: "8.30.1".to_owned() }
}

/// Writes a program by a child: a descriptor of ours that is open for writing while another test forks
/// would make it "text file busy".
fn write_program(path: &Path, text: &str) {
    let mut child = std::process::Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The fault that a behaviour ends in; no process of it may be left.
fn fault_of(behaviour: &str, time: Duration) -> (EngineFaultKind, String) {
    let sandbox = Sandbox::new();
    let program = stand_in(&sandbox, behaviour);
    let drive = Drive { deadline: Some(Instant::now() + time), ..drive() };
    let engine = GitleaksEngine::new(&program, rules(RULES), drive).unwrap();
    let result = scan_with(engine, &payload(vec![b"some text\n".to_vec(), filler(1, 300)], false));
    assert_no_process_left(&sandbox.path("pids"));
    match result {
        Err(ScanFault::Engine(fault)) => (fault.kind, fault.what.to_string()),
        other => panic!("{other:?}"),
    }
}

fn assert_no_process_left(pids: &PathBuf) {
    let pids = std::fs::read_to_string(pids).unwrap_or_default();
    let running = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A dead process that nobody has waited for yet is no running one.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Some(pid) = pids.lines().find(|pid| running(pid)) {
        assert!(Instant::now() < deadline, "process {pid} is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(1500);

#[test]
fn honest_stand_in_passes_so_that_the_others_fail_for_their_fault_alone() {
    let sandbox = Sandbox::new();
    let program = stand_in(&sandbox, "log(); report(); leave()");
    let engine = GitleaksEngine::new(&program, rules(RULES), drive()).unwrap();
    let scan = scan_with(engine, &payload(vec![b"some text\n".to_vec()], false)).unwrap();
    assert!(scan.findings.is_empty());
    assert_no_process_left(&sandbox.path("pids"));
}

#[test]
fn engine_that_hangs_is_killed_at_its_deadline() {
    let (kind, what) = fault_of("time.sleep(600)", SHORT);
    assert_eq!(kind, EngineFaultKind::Broken, "{what}");
    assert!(what.contains("still running"), "{what}");
}

#[test]
fn engine_that_ignores_sigterm_is_killed() {
    let (kind, _) = fault_of("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", SHORT);
    assert_eq!(kind, EngineFaultKind::Broken);
}

#[test]
fn child_of_the_engine_that_holds_its_pipes_is_killed_with_it() {
    let holding = r#"
child = subprocess.Popen(["sleep", "600"])
open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "pids"), "a").write("%d\n" % child.pid)
log(); report(); leave()"#;
    let (kind, what) = fault_of(holding, SHORT);
    assert_eq!(kind, EngineFaultKind::Broken, "{what}");
}

#[test]
fn engine_that_lies_about_its_bytes_read_short() {
    for lie in ["log(size - 1)", "log(size + 1)", "log(0)"] {
        let (kind, what) = fault_of(&format!("{lie}; report(); leave()"), LONG);
        assert_eq!(kind, EngineFaultKind::ShortRead, "{what}");
    }
}

#[test]
fn half_a_report_is_no_report() {
    for half in [
        "log(); sys.stdout.write(json.dumps(entries)[:-20]); leave()",
        "log(); report(entries[:-1]); leave()",
        "log(found=len(entries) + 3); report(); leave()",
        "log(); leave()",
        "log(); report({}); leave()",
    ] {
        let (kind, what) = fault_of(half, LONG);
        assert_eq!(kind, EngineFaultKind::Broken, "{half}: {what}");
    }
}

#[test]
fn exit_codes_that_are_not_ours_prove_nothing() {
    for (ending, expected) in [
        ("log(); report(); leave(1)", EngineFaultKind::Broken),
        ("log(); report(); leave(126)", EngineFaultKind::Broken),
        ("log(); report(); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)", EngineFaultKind::Broken),
        ("log(found=0); report([]); leave(0)", EngineFaultKind::SelfTest),
        ("sys.stderr.write('panic: regexp: Compile(`x`): error parsing regexp\\n'); leave(2)", EngineFaultKind::Rules),
        ("sys.stderr.write('panic: slice bounds out of range\\n'); leave(2)", EngineFaultKind::Broken),
    ] {
        let (kind, what) = fault_of(ending, LONG);
        assert_eq!(kind, expected, "{ending}: {what}");
    }
}

#[test]
fn engine_that_prints_nothing_proves_nothing() {
    assert_eq!(fault_of("leave(0)", LONG).0, EngineFaultKind::SelfTest);
    assert_eq!(fault_of("leave(77)", LONG).0, EngineFaultKind::Broken);
}

#[test]
fn engine_that_logs_trouble_proves_nothing() {
    for trouble in ["1:00AM WRN skipping something", "1:00AM ERR no luck", "anything else"] {
        let (kind, what) = fault_of(&format!("sys.stderr.write('{trouble}\\n'); log(); report(); leave()"), LONG);
        assert_eq!(kind, EngineFaultKind::Broken);
        assert!(what.contains(trouble), "{what}");
    }
}

#[test]
fn partial_scan_proves_nothing() {
    let partial =
        "sys.stderr.write('1:00AM WRN scanned ~%d bytes (1 KB)\\n1:00AM WRN partial scan completed in 1ms\\n' % size)";
    let (kind, _) = fault_of(&format!("{partial}; report(); leave()"), LONG);
    assert_eq!(kind, EngineFaultKind::Broken);
}

#[test]
fn flood_of_output_is_cut_off() {
    let (kind, what) = fault_of("while True: os.write(1, b'x' * 65536)", LONG);
    assert_eq!(kind, EngineFaultKind::Broken);
    assert!(what.contains("wrote more than"), "{what}");
}

#[test]
fn finding_where_the_payload_does_not_hold_it_is_a_fault() {
    for lie in [
        "StartLine=10**9, EndLine=10**9",
        "StartColumn=5000",
        "StartLine=0, EndLine=0",
        "Match='other'",
        "EndLine=3, EndColumn=1",
    ] {
        let behaviour = format!("entries.append(dict(entries[0], RuleID='token', {lie}))\nlog(); report(); leave()");
        let (kind, what) = fault_of(&behaviour, LONG);
        assert_eq!(kind, EngineFaultKind::Broken, "{lie}");
        assert!(what.contains("does not hold it"), "{lie}: {what}");
    }
}

#[test]
fn engine_that_misses_one_of_its_self_test_secrets_fails() {
    for gone in ["entries.pop()", "entries.pop(0)"] {
        let (kind, what) = fault_of(&format!("{gone}; log(); report(); leave()"), LONG);
        assert_eq!(kind, EngineFaultKind::SelfTest, "{what}");
    }
}

#[test]
fn program_that_is_not_there_is_absent() {
    let sandbox = Sandbox::new();
    let program = GitleaksProgram { path: sandbox.path("nothing"), version: "8.30.1".to_owned() };
    let engine = GitleaksEngine::new(&program, rules(RULES), drive()).unwrap();
    match scan_with(engine, &payload(vec![b"x".to_vec()], false)) {
        Err(ScanFault::Engine(fault)) => assert_eq!(fault.kind, EngineFaultKind::Absent),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rule_that_its_expressions_do_not_take_is_named() {
    let Some(program) = real_gitleaks() else { return };
    let program = program::of_path(&program).unwrap();
    let bad = "[[rules]]\nid = 'ahead'\nregex = '''a(?=b)'''\n";
    let engine = GitleaksEngine::new(&program, rules(bad), drive()).unwrap();
    match scan_with(engine, &payload(vec![b"x".to_vec()], false)) {
        Err(ScanFault::Engine(fault)) => assert_eq!(fault.kind, EngineFaultKind::Rules, "{}", fault.what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn own_rules_of_gitleaks_are_there_on_request() {
    let Some(program) = real_gitleaks() else { return };
    let program = program::of_path(&program).unwrap();
    let engine = GitleaksEngine::new(&program, Expressed::gitleaks_own(), drive()).unwrap();
    let scan = scan_with(engine, &payload(vec![planted::github_token(1).into_bytes()], false)).unwrap();
    assert_eq!(scan.findings.iter().map(|finding| &*finding.rule).collect::<Vec<_>>(), ["github-pat"]);
    let text = std::process::Command::new(&program.path).arg("version").output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&text).trim(), program.version);
}

#[test]
fn no_rules_are_a_fault_before_anything_is_run() {
    let program = GitleaksProgram { path: "/nonexistent".into(), version: "8.30.1".to_owned() };
    let empty = Expressed { rules: 0, ..rules("") };
    assert_eq!(GitleaksEngine::new(&program, empty, drive()).err().unwrap().kind, EngineFaultKind::Rules);
}

#[test]
fn allowlist_that_allows_everything_fails_the_self_test() {
    let Some(program) = real_gitleaks() else { return };
    let program = program::of_path(&program).unwrap();
    let all = format!("{RULES}\n[[allowlists]]\nregexes = ['''.*''']\n");
    let engine = GitleaksEngine::new(&program, rules(&all), drive()).unwrap();
    match scan_with(engine, &payload(vec![token(1).into_bytes()], false)) {
        Err(ScanFault::Engine(fault)) => assert_eq!(fault.kind, EngineFaultKind::SelfTest, "{}", fault.what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn dropping_the_engine_in_the_middle_leaves_no_child() {
    let sandbox = Sandbox::new();
    let program = stand_in(&sandbox, "time.sleep(600)");
    let engine = GitleaksEngine::new(&program, rules(RULES), Drive { expected_bytes: 1, ..drive() }).unwrap();
    let mut session = engine.session().unwrap();
    let item =
        Item { kind: ItemKind::Blob, oid: None, size: 0, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
    let bytes = filler(1, 3 << 20);
    session.scan(&item, 0, Content::Whole(&bytes)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::fs::read_to_string(sandbox.path("pids")).unwrap_or_default().is_empty() {
        assert!(Instant::now() < deadline, "it was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(session);
    drop(engine);
    assert_no_process_left(&sandbox.path("pids"));
}

#[test]
fn program_of_another_version_is_not_driven() {
    let sandbox = Sandbox::new();
    write_program(&sandbox.path("other"), "#!/bin/sh\necho 8.18.0\n");
    let fault = program::of_path(&sandbox.path("other")).unwrap_err();
    assert_eq!(fault.kind, EngineFaultKind::Absent);
    assert!(fault.what.to_string().contains("8.18.0"));
}

#[test]
fn only_a_person_by_hand_may_name_the_program() {
    use tyran::world::{Caution, World};
    let sandbox = Sandbox::new();
    write_program(&sandbox.path("gitleaks"), "#!/bin/sh\necho 8.30.1\n");
    let mut env: tyran::world::Environment = sandbox.env().into_iter().collect();
    env.insert("TYRAN_GITLEAKS_BIN".into(), sandbox.path("gitleaks").into());
    env.insert("PATH".into(), sandbox.path("").into());
    let by_hand = World::new(env.clone(), sandbox.path(""), Caution::ByHand);
    assert_eq!(program::locate(&by_hand).unwrap().path, sandbox.path("gitleaks"));
    let gate = World::new(env, sandbox.path(""), Caution::Gate);
    // Whatever was placed on this machine, it is not the one that the environment names.
    assert!(program::present(&gate).ok().flatten().is_none_or(|program| program.path != sandbox.path("gitleaks")));
}

// What gitleaks is told of the rules in force, and what is decided on its findings afterwards.

fn rule_set(toml: &str) -> Arc<RuleSet> {
    RuleSet::parse(toml, Origin::File("rules.toml".into()), Mode::Strict).unwrap()
}

/// A payload of blobs with paths, by part and place.
fn payload_at(items: Vec<(&str, Vec<u8>)>) -> Payload {
    let (paths, bytes): (Vec<&str>, Vec<Vec<u8>>) = items.into_iter().unzip();
    let mut payload = payload(Vec::new(), false);
    payload.parts.clear();
    for (path, bytes) in paths.into_iter().zip(bytes) {
        let item = Item {
            kind: ItemKind::Blob,
            oid: None,
            size: bytes.len() as u64,
            path: Some(BString::from(path)),
            commit: None,
            elsewhere: Elsewhere::Nowhere,
        };
        payload.parts.push(Part { items: vec![item], source: Box::new(One(bytes)) });
    }
    payload
}

/// One item's bytes, whatever its path.
#[derive(Debug)]
struct One(Vec<u8>);

impl Source for One {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, Fault> {
        Ok(Box::new(OneReader(&self.0)))
    }
}

struct OneReader<'a>(&'a [u8]);

impl Reader for OneReader<'_> {
    fn read(&mut self, _: &Item, sink: &mut Sink<'_>) -> Result<(), Fault> {
        sink(Content::Whole(self.0))
    }
}

/// Where each engine finds what: path, rule, first byte, secret; of the embedded one only what gitleaks was told.
type Told = Vec<(String, String, u64, Vec<u8>)>;

fn told(findings: &[Finding]) -> Told {
    let mut told: Told = findings
        .iter()
        .map(|finding| {
            let path = finding.item.path.as_ref().map(ToString::to_string).unwrap_or_default();
            (path, finding.rule.to_string(), finding.start, finding.secret.expose().to_vec())
        })
        .collect();
    told.sort();
    told
}

fn with_rules(program: &Path, rules: &Arc<RuleSet>, payload: &Payload) -> Scan {
    let program = program::of_path(program).unwrap();
    scan_with(GitleaksEngine::of_rules(&program, rules, drive()).unwrap(), payload).unwrap()
}

fn embedded(rules: &Arc<RuleSet>, payload: &Payload) -> Scan {
    embedded_as(rules, payload, Options::default())
}

/// With `compat` it reads only what gitleaks reads: no escapes undone, no archives opened.
fn embedded_as(rules: &Arc<RuleSet>, payload: &Payload, options: Options) -> Scan {
    let engine = EmbeddedEngine::new(Arc::clone(rules), options).unwrap();
    let engines: Vec<Box<dyn Engine>> = vec![Box::new(engine)];
    scan::run(payload, &engines, Bounds { threads: 2, deadline: None }, &|_| {}).unwrap()
}

#[test]
fn keyword_of_another_item_does_not_count() {
    let Some(program) = real_gitleaks() else { return };
    let rules = rule_set("[[rules]]\nid='hex'\nregex='''\\b[0-9a-f]{32}\\b'''\nkeywords=['Needle']\n");
    let hex = |seed| planted::characters(seed, "0123456789abcdef", 32);
    let payload = payload_at(vec![
        ("with", format!("the NEEDLE is {}\n", hex(1)).into_bytes()),
        ("without", format!("nothing but {}\n", hex(2)).into_bytes()),
    ]);
    let found = told(&with_rules(&program, &rules, &payload).findings);
    assert_eq!(found, told(&embedded(&rules, &payload).findings));
    assert_eq!(found.len(), 1);
}

#[test]
fn paths_of_rules_and_allowlists_are_decided_by_tyran() {
    let Some(program) = real_gitleaks() else { return };
    let rules = rule_set(
        "[[allowlists]]\npaths=['''^vendor/''']\n\
         [[allowlists]]\ncondition='AND'\npaths=['''^docs/''']\nregexes=['''^key1''']\n\
         [[rules]]\nid='any'\nregex='''key[0-9]{4}'''\n\
         [[rules.allowlists]]\npaths=['''skip\\.txt$''']\nstopwords=['9999']\n\
         [[rules]]\nid='only-env'\nregex='''env[0-9]{4}'''\npath='''\\.env$'''\n\
         [[rules]]\nid='globbed'\nregex='''glob[0-9]{4}'''\nfiles=['*.yaml']\n",
    );
    let text = |first: &str| format!("{first} key2222 env3333 key9999 glob4444\n").into_bytes();
    let payload = payload_at(
        ["vendor/a", "docs/a", "skip.txt", "b.env", "c.yaml", "d"].map(|path| (path, text("key1111"))).into(),
    );
    let found = told(&with_rules(&program, &rules, &payload).findings);
    assert_eq!(found, told(&embedded(&rules, &payload).findings));
    let short: Vec<(&str, &str)> =
        found.iter().map(|(path, _, _, secret)| (path.as_str(), std::str::from_utf8(secret).unwrap())).collect();
    assert_eq!(
        short,
        [
            ("b.env", "key1111"),
            ("b.env", "key2222"),
            ("b.env", "env3333"),
            ("c.yaml", "key1111"),
            ("c.yaml", "key2222"),
            ("c.yaml", "glob4444"),
            ("d", "key1111"),
            ("d", "key2222"),
            ("docs/a", "key2222"),
        ]
    );
}

#[test]
fn checksums_and_severities_of_tyrans_own_rules_hold_for_gitleaks_too() {
    let Some(program) = real_gitleaks() else { return };
    let rules = RuleSet::builtin().unwrap();
    let right = planted::github_token(1);
    let wrong = format!("{}{}", &right[..34], planted::characters(9, "ABCDEFGHIJ", 6));
    let payload = payload_at(vec![("a", format!("one {right}\ntwo {wrong}\n").into_bytes())]);
    let judged = |scan: Scan| -> Vec<(Vec<u8>, Confidence, Severity, bool)> {
        let mut judged: Vec<_> = scan
            .findings
            .iter()
            .map(|finding| {
                (finding.secret.expose().to_vec(), finding.confidence, finding.severity, finding.remedy.is_some())
            })
            .collect();
        judged.sort();
        judged
    };
    let ours = judged(with_rules(&program, &rules, &payload));
    assert_eq!(ours, judged(embedded(&rules, &payload)));
    assert!(ours.iter().any(|one| one.1 == Confidence::High), "{ours:?}");
    assert!(ours.iter().all(|one| one.0 != wrong.as_bytes() || one.1 == Confidence::Note), "{ours:?}");
}

#[test]
fn rules_that_cannot_be_told_are_left_out_and_named() {
    let rules = rule_set(
        "[[rules]]\nid='file-alone'\npath='''\\.p12$'''\n\
         [[rules]]\nid='needs-another'\nregex='''a1'''\n[[rules.required]]\nid='plain'\n\
         [[rules]]\nid='any-byte'\nregex='''x\\Cy'''\n\
         [[rules]]\nid='helper'\nregex='''h'''\nskipReport=true\n\
         [[rules]]\nid='plain'\ndescription=\"\"\"three ''' quotes and \\\\\"\"\"\nregex=\"a'''b\\\\\\\\C\"\nsecretGroup=0\n",
    );
    let told = express::to_gitleaks_toml(&rules);
    assert_eq!(told.rules, 1);
    let read: toml::Table = told.toml.parse().unwrap();
    assert_eq!(read["rules"][0]["id"].as_str(), Some("plain"));
    assert_eq!(read["rules"][0]["regex"].as_str(), Some("a'''b\\\\C"));
    assert_eq!(read["rules"][0]["description"].as_str(), Some("three ''' quotes and \\"));
    let notes: Vec<&str> = told.notes.iter().map(|note| note.as_str()).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    for (note, id) in notes.iter().zip(["file-alone", "needs-another", "any-byte"]) {
        assert!(note.ends_with(id), "{note}");
    }
}

#[test]
fn entry_names_of_a_tree_are_read_and_its_bytes_are_counted() {
    let Some(program) = real_gitleaks() else { return };
    let rules = rule_set("[[rules]]\nid='name'\nregex='''name-[0-9]{6}'''\n");
    let mut tree = Vec::new();
    for (place, name) in ["a", "name-123456", "z"].iter().enumerate() {
        tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
        tree.extend_from_slice(&[place as u8 * 7; 20]);
    }
    let mut payload = payload_at(vec![("folder", tree), ("empty", Vec::new())]);
    for part in &mut payload.parts {
        part.items[0].kind = ItemKind::Tree;
    }
    let scan = with_rules(&program, &rules, &payload);
    assert_eq!(told(&scan.findings), told(&embedded(&rules, &payload).findings));
    assert_eq!(scan.findings.len(), 1);
}

#[test]
fn both_engines_find_the_same_with_gitleaks_own_configuration() {
    let (Some(program), Some(config), Some(packed)) =
        (real_gitleaks(), shared("gitleaks/gitleaks.toml"), shared("detection/open.tar.gz"))
    else {
        return;
    };
    let rules = RuleSet::load(&config, Mode::Compat).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap()));
    let mut items: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        // Larger ones are cut into windows, where gitleaks by itself cuts elsewhere.
        if entry.header().entry_type().is_file() && bytes.len() < 24_000 && items.len() < 1500 {
            bytes.push(b'\n');
            items.push((path, bytes));
        }
    }
    let payload = payload_at(items.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())).collect());
    let ours = told(&with_rules(&program, &rules, &payload).findings);
    let theirs: Told = told(&embedded_as(&rules, &payload, Options { compat: true, ..Options::default() }).findings)
        .into_iter()
        .filter(|(_, rule, ..)| rules.rules().any(|own| *own.id == **rule && own.regex().is_some()))
        .collect();
    assert!(ours.len() > 100, "{}", ours.len());
    let lacking: Vec<_> = theirs.iter().filter(|one| !ours.contains(one)).map(|one| (&one.0, &one.1, one.2)).collect();
    let more: Vec<_> = ours.iter().filter(|one| !theirs.contains(one)).map(|one| (&one.0, &one.1, one.2)).collect();
    assert!(lacking.is_empty() && more.is_empty(), "of {}: lacking {lacking:?}, more {more:?}", ours.len());
}

// Whatever a program says in gitleaks' place: a reading or a fault, never a panic.

fn entry() -> impl Strategy<Value = Entry> {
    let number = prop_oneof![0u64..40, 99_900u64..100_200, any::<u64>()];
    let text = prop_oneof!["[ab\n\u{FFFD}]{0,3}", Just("token".to_owned())];
    let tags = prop::collection::vec(prop_oneof![Just("decode-depth:1"), Just("decoded:hex")], 0..2);
    (prop::array::uniform4(number), text.clone(), text, tags).prop_map(|(numbers, matched, secret, tags)| Entry {
        rule: "token".to_owned(),
        description: String::new(),
        start_line: numbers[0],
        end_line: if numbers[3] % 2 == 0 { numbers[0] } else { numbers[1] },
        start_column: numbers[2],
        end_column: numbers[2].wrapping_add(numbers[3] % 5),
        matched,
        secret,
        entropy: 1.0,
        tags: tags.into_iter().map(str::to_owned).collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_report_places_a_finding_where_the_payload_does_not_hold_it(
        entries in prop::collection::vec(entry(), 1..60),
        items in prop::collection::vec("[ab\n]{0,40}", 1..4),
    ) {
        let mut batch = Batch::default();
        let item = Item { kind: ItemKind::Blob, oid: None, size: 0, path: None, commit: None, elsewhere: Elsewhere::Nowhere};
        for text in &items {
            batch.add(&item, 0, Content::Whole(text.as_bytes()), &mut |_| Ok(())).unwrap();
        }
        let layout = batch.lay_out(b"first", b"last");
        prop_assert_eq!(layout.bytes().len() % windows::BLOCK, 0);
        for entry in &entries {
            let Ok(Located::Hit(hit)) = locate::locate(&layout, entry) else { continue };
            let held = &hit.window[hit.span.clone()];
            prop_assert!(items.iter().any(|text| text.as_bytes() == hit.window));
            prop_assert!(hit.decoded || String::from_utf8_lossy(held) == entry.matched);
            prop_assert_eq!((hit.finding.start, hit.finding.end), (hit.span.start as u64, hit.span.end as u64));
        }
    }

    #[test]
    fn no_output_is_taken_for_a_reading_by_chance(
        code in prop_oneof![Just(0), Just(1), Just(2), Just(77)],
        stdout in prop_oneof![Just("[]".to_owned()), "\\PC{0,40}", "[\\[\\]{}\":,0-9a-z]{0,40}"],
        stderr in prop_oneof![
            "\\PC{0,60}",
            Just("1:00AM INF scanned ~5 bytes (5 bytes) in 1ms\n1:00AM WRN leaks found: 3\n".to_owned()),
            "1:00AM (INF|WRN) (scanned ~[0-9]{1,25} bytes \\(|leaks found: )[0-9a-z ]{0,25}\n",
        ],
    ) {
        let done = Done {
            status: std::os::unix::process::ExitStatusExt::from_raw(code << 8),
            stdout: stdout.into_bytes(),
            stderr: stderr.into_bytes(),
        };
        // No report among these has as many entries as its log says.
        prop_assert!(report::entries(&done, 5).is_err());
    }
}
