//! Random bytes for the embedded engine: a reading or a fault, never a panic or a hang, the same however
//! the bytes are cut; and random configurations against the real gitleaks.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tyran::payload::{Content, Elsewhere, Item, ItemKind};
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet};
use tyran::scan::{Engine, Finding};

use crate::support::planted;

/// How long one input may take in a build without optimisation, on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// What is fuzzed.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Configuration,
    Matcher,
    Decoder,
    Archive,
}

const KINDS: [Kind; 4] = [Kind::Configuration, Kind::Matcher, Kind::Decoder, Kind::Archive];

/// Numbers that a seed determines.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % bound.max(1) as u64) as usize
    }
}

fn packed(format: usize, bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    match format {
        0 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        1 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        2 => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
        3 => {
            let mut builder = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, "a/b.env", bytes).unwrap();
            builder.into_inner().unwrap()
        }
        4 => begun_xz(bytes),
        _ => {
            let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            writer.start_file("a/b.env", zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap().into_inner()
        }
    }
}

/// The beginning of an `.xz` file, and what is no block of it.
fn begun_xz(bytes: &[u8]) -> Vec<u8> {
    [b"\xFD7zXZ\0\0\x04\xE6\xD6\xB4\x46\x02\0\x21\x01\x16\0\0\0\x74\x2F\xE5\xA3\x01", bytes].concat()
}

/// Something that a kind takes as it is.
fn seed(kind: Kind, numbers: &mut Numbers) -> Vec<u8> {
    let token = planted::github_token(numbers.below(1 << 30) as u64);
    let plain = format!("user = \"x\"\npassword: {token}\n-----BEGIN RSA PRIVATE KEY-----\n{token}\n");
    match kind {
        Kind::Configuration => CONFIGURATIONS[numbers.below(CONFIGURATIONS.len())].as_bytes().to_vec(),
        Kind::Matcher => plain.into_bytes(),
        Kind::Decoder => {
            let mut text = plain.into_bytes();
            for _ in 0..=numbers.below(6) {
                text = match numbers.below(6) {
                    0 => base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &text).into_bytes(),
                    1 => hex::encode(&text).into_bytes(),
                    2 => text.iter().flat_map(|byte| format!("%{byte:02X}").into_bytes()).collect(),
                    3 => text.iter().flat_map(|byte| format!("\\u{byte:04x}").into_bytes()).collect(),
                    4 => text.iter().flat_map(|&byte| [byte, 0]).collect(),
                    _ => format!("{{\"a\": {:?}}}", String::from_utf8_lossy(&text)).into_bytes(),
                };
                text.truncate(20_000);
            }
            text
        }
        Kind::Archive => {
            let mut bytes = plain.into_bytes();
            for _ in 0..=numbers.below(3) {
                bytes = packed(numbers.below(6), &bytes);
            }
            bytes
        }
    }
}

const CONFIGURATIONS: &[&str] = &[
    "title='x'\n[[rules]]\nid='a'\nregex='''(?i)key[\\w.-]{0,20}=\\s*([a-z0-9]{8,40})\\b'''\nkeywords=['key']\nentropy=3.5\nsecretGroup=1\n",
    "[extend]\nuseDefault=false\ndisabledRules=['a']\n[[rules]]\nid='b'\npath='''\\.pem$'''\n[[rules.allowlists]]\ncondition='AND'\npaths=['x']\nregexes=['y']\n",
    "[allowlist]\ndescription='d'\ncommits=['c0ffee']\nstopwords=['abc']\n[[rules]]\nid='c'\nregex='[[:alpha:]]{3}\\x{41}(?:a|b|)*?'\n[[rules.required]]\nid='d'\nwithinLines=3\n[[rules]]\nid='d'\nregex='\\Qa.b\\E'\n",
    "[[allowlists]]\ntargetRules=['e']\nregexTarget='line'\nregexes=['''^\\s*#''']\n[[rules]]\nid='e'\nregex='a{2,30}(b|c){1,5}$'\ntags=['t']\nskipReport=true\n",
];

/// A seed with pieces changed, cut out, doubled or taken from another one.
fn mutated(kind: Kind, numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = seed(kind, numbers);
    for _ in 0..numbers.below(6) {
        let at = numbers.below(bytes.len() + 1);
        let end = (at + 1 + numbers.below(40)).min(bytes.len());
        match numbers.below(6) {
            0 => drop(bytes.drain(at.min(end)..end)),
            1 => drop(bytes.splice(at..at, seed(kind, numbers))),
            2 => {
                let piece = bytes[at.min(end)..end].repeat(1 + numbers.below(200));
                drop(bytes.splice(at..at, piece));
            }
            3 => bytes.truncate(at),
            _ => {
                for _ in 0..=numbers.below(4) {
                    let place = numbers.below(bytes.len());
                    let value = [0, 0xFF, b'{', b'\\', b'=', b'[', numbers.below(256) as u8][numbers.below(7)];
                    if let Some(byte) = bytes.get_mut(place) {
                        *byte = value;
                    }
                }
            }
        }
        bytes.truncate(1 << 20);
    }
    bytes
}

/// A reader that gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let step = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(step);
        buffer[..step].copy_from_slice(now);
        self.0 = later;
        Ok(step)
    }
}

fn scanned(engine: &EmbeddedEngine, bytes: &[u8], content: Content<'_>) -> Option<Vec<String>> {
    let path = Some("a/file".into());
    let size = bytes.len() as u64;
    let item = Item { kind: ItemKind::Blob, oid: None, size, path, commit: None, elsewhere: Elsewhere::Nowhere };
    let mut session = engine.session().unwrap();
    session.scan(&item, 0, content).ok()?;
    let reading = session.finish().ok()?;
    assert_eq!(reading.consumed.bytes, size);
    let told = |finding: &Finding| format!("{} {} {}", finding.rule, finding.start, finding.end);
    let mut told: Vec<String> = reading.findings.iter().map(told).collect();
    told.sort();
    Some(told)
}

/// One input: the same findings from the whole and from small reads, in time.
fn tried(kind: Kind, engine: &EmbeddedEngine, round: u64) {
    let mut numbers = Numbers(round);
    let bytes = mutated(kind, &mut numbers);
    let started = Instant::now();
    match kind {
        Kind::Configuration => {
            let mode = if numbers.below(2) == 0 { Mode::Strict } else { Mode::Compat };
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(set) = RuleSet::parse(&text, Origin::Text("fuzz".to_owned()), mode)
                && let Ok(engine) = EmbeddedEngine::new(set, Options::default())
            {
                let text = seed(Kind::Matcher, &mut numbers);
                scanned(&engine, &text, Content::Whole(&text));
            }
        }
        Kind::Matcher | Kind::Decoder | Kind::Archive => {
            let whole = scanned(engine, &bytes, Content::Whole(&bytes));
            let mut trickle = Trickle(&bytes, 1 + numbers.below(5000));
            assert_eq!(scanned(engine, &bytes, Content::Stream(&mut trickle)), whole, "{kind:?}, round {round}");
        }
    }
    assert!(started.elapsed() < LONGEST, "{kind:?}, round {round}: {:?}", started.elapsed());
}

fn engine() -> EmbeddedEngine {
    let options = Options { unpacked_bytes: 4 << 20, ..Options::default() };
    EmbeddedEngine::new(RuleSet::builtin().unwrap(), options).unwrap()
}

#[test]
fn mutated_inputs_are_read_the_same_however_they_are_cut() {
    let engine = engine();
    for kind in KINDS {
        (0..40).for_each(|round| tried(kind, &engine, round));
    }
}

/// The same for a while; run by `scripts/fuzz-engine`.
#[test]
#[ignore = "runs as long as TYRAN_FUZZ_SECONDS says"]
fn mutated_inputs_for_a_while() {
    let seconds = std::env::var("TYRAN_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let engine = engine();
    for kind in KINDS {
        let (started, mut rounds) = (Instant::now(), 0);
        while started.elapsed().as_secs() < seconds / KINDS.len() as u64 {
            tried(kind, &engine, first.wrapping_add(rounds));
            rounds += 1;
        }
        eprintln!("{kind:?}: {rounds} inputs from round {first} on");
    }
    let (started, mut rounds) = (Instant::now(), 0);
    while started.elapsed().as_secs() < seconds / 4 {
        versions_tried(&engine, first.wrapping_add(rounds));
        rounds += 1;
    }
    eprintln!("versions of files: {rounds} inputs from round {first} on");
}

/// With one of these between them two lines are a finding, with the other they are none ([`TWO_LINES`]).
const MIDDLES: [&str; 2] = ["secret\n", "nothing\n"];

/// A file of a few kilobytes: plain lines, and texts that rules find something in, or nearly.
fn document(numbers: &mut Numbers) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..4 + numbers.below(12) {
        match numbers.below(9) {
            0 => text.extend(seed(Kind::Matcher, numbers)),
            1 => text.extend(mutated(Kind::Matcher, numbers).into_iter().take(600)),
            2 => text.extend(seed(Kind::Decoder, numbers).into_iter().take(900)),
            3 => {
                let token = planted::github_token(numbers.below(9) as u64);
                text.extend(format!("api_key = \"{token}\"\n").into_bytes());
            }
            // What is found or not by the line next to it, among lines that recur.
            4 | 5 => {
                for _ in 0..4 {
                    let (number, middle) = (numbers.below(1000), MIDDLES[numbers.below(2)]);
                    let lines = 0..14 + numbers.below(12);
                    let plain: String = lines.map(|line| format!("nothing on line {line}\n")).collect();
                    text.extend(format!("{plain}begin_{number}\n{middle}finish_{number}\n{plain}").into_bytes());
                }
            }
            _ => {
                for _ in 0..numbers.below(40) {
                    let (one, other) = (numbers.below(7), numbers.below(30));
                    text.extend(
                        format!("    let token{one} = password(key_{other}, \"secret {one}\");\n").into_bytes(),
                    );
                }
            }
        }
        text.push(b'\n');
    }
    text
}

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Another version of it: lines changed, cut, doubled or moved.
fn next_version(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut lines = lines_of(text);
    // Every other version differs by such lines alone.
    let is_middle = |line: &&mut Vec<u8>| MIDDLES.iter().any(|middle| middle.as_bytes() == line.as_slice());
    if numbers.below(2) == 0 && lines.iter_mut().any(|line| is_middle(&line)) {
        for line in lines.iter_mut().filter(is_middle) {
            *line = MIDDLES[numbers.below(2)].as_bytes().to_vec();
        }
        return lines.concat();
    }
    for _ in 0..=numbers.below(3) {
        let (at, count) = (numbers.below(lines.len()), 1 + numbers.below(6));
        let end = (at + count).min(lines.len());
        match numbers.below(5) {
            0 => drop(lines.drain(at.min(end)..end)),
            1 => drop(lines.splice(at..at, lines_of(&document(numbers)).into_iter().take(count * 4))),
            2 => {
                let moved: Vec<_> = lines.drain(at.min(end)..end).collect();
                let to = numbers.below(lines.len() + 1);
                drop(lines.splice(to..to, moved));
            }
            3 => {
                if let Some(line) = lines.get_mut(at) {
                    let place = numbers.below(line.len() + 1);
                    line.insert(place, [b'\n', b'"', b' ', 0xC5, b'x'][numbers.below(5)]);
                }
            }
            _ => {
                if let Some(line) = lines.last_mut() {
                    line.pop();
                }
            }
        }
    }
    lines.concat()
}

/// Versions of some files at several paths: what is found in each is the same in one session as in one of its own.
fn versions_tried(engine: &EmbeddedEngine, round: u64) -> usize {
    const PATHS: [&str; 5] = ["src/a.rs", "config/master.key", ".env", "id_rsa", "docs/Makefile"];
    let mut numbers = Numbers(round);
    let mut texts: Vec<Vec<u8>> = (0..3).map(|_| document(&mut numbers)).collect();
    for _ in 0..20 {
        let known = texts[numbers.below(texts.len())].clone();
        texts.push(next_version(&known, &mut numbers));
    }
    let item = |text: &Vec<u8>| {
        let (size, path) = (text.len() as u64, Some(PATHS[numbers.below(PATHS.len())].into()));
        Item { kind: ItemKind::Blob, oid: None, size, path, commit: None, elsewhere: Elsewhere::Nowhere }
    };
    let items: Vec<Item> = texts.iter().map(item).collect();
    let told = |finding: &Finding| {
        let place = (finding.start, finding.end, finding.line, finding.column);
        format!("{} {} {place:?} {:?} {:?}", finding.part, finding.rule, finding.confidence, finding.tags)
    };
    let scanned = |parts: std::ops::Range<usize>| {
        let mut session = engine.session().unwrap();
        for part in parts {
            session.scan(&items[part], part, Content::Whole(&texts[part])).unwrap();
        }
        let mut told: Vec<String> = session.finish().unwrap().findings.iter().map(told).collect();
        told.sort();
        told
    };
    let together = scanned(0..items.len());
    let mut alone: Vec<String> = (0..items.len()).flat_map(|part| scanned(part..part + 1)).collect();
    alone.sort();
    assert_eq!(together, alone, "round {round}");
    together.len()
}

/// Rules that are found in other ways than tyran's own: by keywords far off, near others, without any.
const OTHER_RULES: &str = r#"
[[rules]]
id = "far"
regex = '''key_\d+, "secret'''
keywords = ["password:"]
[[rules]]
id = "near"
regex = '''secret [0-6]'''
keywords = ["secret"]
[[rules.required]]
id = "header"
withinLines = 9
[[rules]]
id = "header"
regex = '''-----BEGIN [A-Z ]{0,20}KEY-----'''
keywords = ["-----begin"]
skipReport = true
[[rules]]
id = "none"
regex = '''[a-z]+_1[0-9]\b'''
[[rules]]
id = "path"
path = '''\.env$'''
regex = '''token\d = \w+'''
keywords = ["token"]
[[rules]]
id = "wide"
regex = '''user = [\s\S]{0,900}?password: \w{20}'''
keywords = ["user"]
[[rules]]
id = "first"
regex = '''\A\s*let token'''
keywords = ["let"]
"#;

#[test]
fn findings_do_not_depend_on_what_was_read_before() {
    let own = engine();
    let others = [OTHER_RULES, TWO_LINES].concat();
    let others = RuleSet::parse(&others, Origin::Text("others".to_owned()), Mode::Strict).unwrap();
    let others = EmbeddedEngine::new(others, Options::default()).unwrap();
    let found: usize = (0..12).map(|round| versions_tried(&own, round) + versions_tried(&others, 100 + round)).sum();
    assert!(found > 1000, "{found}");
}

/// Rules of which a match stands on two lines, and is found by a word of the first or of the second.
const TWO_LINES: &str = r#"
[[rules]]
id = "behind"
regex = '''begin_\d+\nsecret'''
keywords = ["begin_"]
[[rules]]
id = "before"
regex = '''secret\nfinish_\d+'''
keywords = ["finish_"]
"#;

#[test]
fn what_stands_next_to_lines_that_recur_counts() {
    let rules = RuleSet::parse(TWO_LINES, Origin::Text("two lines".to_owned()), Mode::Strict).unwrap();
    let engine = EmbeddedEngine::new(rules, Options::default()).unwrap();
    let mut session = engine.session().unwrap();
    let plain: String = (0..40).map(|line| format!("nothing on line {line}\n")).collect();
    for number in 0..300 {
        // Once without a secret next to the line, once with it: wherever texts are cut, it is between these for some.
        for middle in ["nothing", "secret"] {
            let text = format!("{plain}begin_{number}\n{middle}\nfinish_{number}\n{plain}");
            let (kind, size) = (ItemKind::Blob, text.len() as u64);
            let item = Item { kind, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
            session.scan(&item, number, Content::Whole(text.as_bytes())).unwrap();
        }
    }
    let findings = session.finish().unwrap().findings;
    let count = |id: &str| findings.iter().filter(|finding| &*finding.rule == id).count();
    assert_eq!((count("behind"), count("before")), (300, 300));
}

#[test]
fn findings_do_not_depend_on_threads_and_order() {
    use tyran::scan::{Bounds, run};
    let sandbox = crate::support::Sandbox::new();
    let folder = sandbox.path("tree");
    for place in 0..150_u64 {
        let path = folder.join(format!("{}/{place}.txt", place % 7));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut numbers = Numbers(place);
        let kind = KINDS[1 + (place % 3) as usize];
        std::fs::write(path, seed(kind, &mut numbers)).unwrap();
    }
    let told = |threads: usize, reversed: bool| {
        let mut payload = tyran::payload::files::payload(&folder, &[Path::new(".").to_owned()]).unwrap();
        if reversed {
            payload.parts.iter_mut().for_each(|part| part.items.reverse());
        }
        let engines: Vec<Box<dyn Engine>> = vec![Box::new(engine())];
        let scan = run(&payload, &engines, Bounds { threads, deadline: None }, &|_| ()).unwrap();
        let one = |finding: &Finding| {
            format!("{} {:?} {} {:?}", finding.rule, finding.item.path, finding.start, finding.within)
        };
        let mut told: Vec<String> = scan.findings.iter().map(one).collect();
        told.sort();
        told
    };
    let one = told(1, false);
    assert!(one.len() > 50, "{}", one.len());
    assert_eq!(told(2, false), one);
    assert_eq!(told(3, true), one);
}

/// A small part of what `scripts/fuzz-gitleaks` does in full.
#[test]
fn random_configurations_find_what_gitleaks_finds() {
    let Some(gitleaks) = crate::support::gitleaks::real_gitleaks() else { return };
    let sandbox = crate::support::Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/fuzz-gitleaks");
    let output = sandbox
        .command("python3")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_tyran"))
        .arg(gitleaks)
        .args(["--cases", "400", "--files", "40", "--seed", "8", "--keep"])
        .arg(sandbox.path("kept"))
        .output();
    match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => eprintln!("skipped: no python3"),
        output => {
            let output = output.unwrap();
            assert!(output.status.success(), "{}", crate::support::shown(&output));
        }
    }
}

/// Rules are shared by engines in several threads.
#[test]
fn one_set_of_rules_serves_several_engines() {
    let set: Arc<RuleSet> = RuleSet::builtin().unwrap();
    let text = seed(Kind::Matcher, &mut Numbers(5));
    let found: Vec<_> = std::thread::scope(|scope| {
        let one = || {
            let engine = EmbeddedEngine::new(Arc::clone(&set), Options::default()).unwrap();
            scanned(&engine, &text, Content::Whole(&text)).unwrap()
        };
        let running: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(!found[0].is_empty() && found.iter().all(|one| *one == found[0]));
}
