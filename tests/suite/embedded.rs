//! The embedded engine finds what gitleaks finds, and what gitleaks passes over.

use std::sync::Arc;

use tyran::payload::{Content, Elsewhere, Item, ItemKind, Tally};
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet};
use tyran::scan::{Engine, Finding};

use crate::support::planted;

fn rules(text: &str, mode: Mode) -> Result<Arc<RuleSet>, String> {
    RuleSet::parse(text, Origin::Text("rules.toml".to_owned()), mode).map_err(|fault| fault.to_string())
}

fn item(kind: ItemKind, path: &str, size: usize) -> Item {
    let path = (!path.is_empty()).then(|| path.into());
    Item { kind, oid: None, size: size as u64, path, commit: None, elsewhere: Elsewhere::Nowhere }
}

fn scan_item(engine: &EmbeddedEngine, item: &Item, content: Content<'_>) -> (Vec<Finding>, Tally) {
    let mut session = engine.session().unwrap();
    session.scan(item, 0, content).unwrap();
    let reading = session.finish().unwrap();
    (reading.findings, reading.consumed)
}

fn found(text: &str, mode: Mode, path: &str, bytes: &[u8]) -> Vec<Finding> {
    let options = Options { compat: mode == Mode::Compat, ..Options::default() };
    let engine = EmbeddedEngine::new(rules(text, mode).unwrap(), options).unwrap();
    scan_item(&engine, &item(ItemKind::Blob, path, bytes.len()), Content::Whole(bytes)).0
}

/// Rule, line, column and secret of each finding.
fn told(findings: &[Finding]) -> Vec<(String, u64, u64, String)> {
    let secret = |finding: &Finding| String::from_utf8_lossy(finding.secret.expose()).into_owned();
    let one = |finding: &Finding| (finding.rule.to_string(), finding.line, finding.column, secret(finding));
    let mut told: Vec<_> = findings.iter().map(one).collect();
    told.sort();
    told
}

const WORD: &str = "[[rules]]\nid = 'word'\nregex = '''word=(\\w+)'''\nkeywords = ['word=']\n";

#[test]
fn rules_of_the_build_are_those_of_the_text() {
    let (built, text) = (RuleSet::builtin().unwrap(), RuleSet::builtin_with_examples().unwrap());
    let told = |set: &RuleSet| -> Vec<String> {
        let one = |rule: &tyran::scan::embedded::Rule| {
            let (regex, path) = (rule.regex().map(str::to_owned), rule.path().map(str::to_owned));
            let words = (rule.keywords.clone(), rule.tags.to_vec(), rule.url.clone(), rule.remedy.clone());
            let numbers =
                (rule.entropy().to_bits(), rule.secret_group(), rule.severity, rule.confidence, rule.checksum());
            format!("{:?}", (&rule.id, &rule.description, regex, path, words, numbers))
        };
        set.rules().map(one).collect()
    };
    assert_eq!(told(&built), told(&text));
}

#[test]
fn token_in_a_blob_is_found_with_its_place() {
    let token = planted::github_token(7);
    let text = format!("first\nkey: {token}\n");
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let blob = item(ItemKind::Blob, "app.env", text.len());
    let (findings, consumed) = scan_item(&engine, &blob, Content::Whole(text.as_bytes()));
    let finding = findings.iter().find(|finding| finding.secret.expose() == token.as_bytes()).unwrap();
    assert_eq!((finding.line, consumed.objects, consumed.bytes), (2, 1, text.len() as u64));
    assert_eq!(&text.as_bytes()[finding.start as usize..finding.end as usize], token.as_bytes());
}

#[test]
fn name_in_a_tree_is_content_and_the_whole_tree_is_counted() {
    let token = planted::github_token(8);
    let mut tree = format!("100644 {token}.txt\0").into_bytes();
    tree.extend([0x31; 20]);
    tree.extend(b"40000 folder\0");
    tree.extend([0xFF; 20]);
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let (findings, consumed) = scan_item(&engine, &item(ItemKind::Tree, "", tree.len()), Content::Whole(&tree));
    assert!(findings.iter().any(|finding| finding.secret.expose() == token.as_bytes()));
    assert_eq!(consumed.bytes, tree.len() as u64);
}

#[test]
fn set_without_rules_is_no_engine() {
    assert!(rules("title = 'empty'\n", Mode::Strict).unwrap_err().contains("no rules"));
    let empty = rules("title = 'empty'\n", Mode::Compat).unwrap();
    assert!(EmbeddedEngine::new(empty, Options::default()).is_err());
}

#[test]
fn rules_that_allow_everything_fail_the_self_test() {
    let text = format!("{WORD}[[allowlists]]\nregexes = ['.']\n");
    let engine = EmbeddedEngine::new(rules(&text, Mode::Strict).unwrap(), Options::default()).unwrap();
    let fault = engine.session().unwrap().finish().unwrap_err();
    assert!(fault.to_string().contains("self-test"), "{fault}");
}

#[test]
fn rules_that_allow_everything_find_nothing_in_compatible_mode() {
    for allowed in ["regexes = ['.']", "paths = ['.']"] {
        let text = format!("{WORD}[[allowlists]]\n{allowed}\n");
        assert_eq!(found(&text, Mode::Compat, "a.txt", b"word=secret\n").len(), 0, "{allowed}");
    }
}

#[test]
fn short_keywords_are_found_wherever_they_stand() {
    for word in ["id", "k$", "tok", "word"] {
        let regex = word.replace('$', "\\$");
        let text = format!("[[rules]]\nid = 'short'\nregex = '''{regex}'''\nkeywords = ['{word}']\n");
        let engine = EmbeddedEngine::new(rules(&text, Mode::Compat).unwrap(), Options::default()).unwrap();
        let mut session = engine.session().unwrap();
        let mut planted = 0;
        for length in (2..40).chain(5110..5135) {
            for at in (0..40).chain(5090..5135).filter(|at| at + word.len() <= length) {
                let mut bytes = vec![b'.'; length];
                bytes.splice(at..at + word.len(), word.bytes());
                session.scan(&item(ItemKind::Blob, "", length), 0, Content::Whole(&bytes)).unwrap();
                planted += 1;
            }
        }
        assert_eq!(session.finish().unwrap().findings.len(), planted, "{word}");
    }
}

/// What the release build of gitleaks 8.30.1 finds, from a run of it.
#[test]
fn empty_matches_inside_of_a_character_are_as_many_as_gitleaks_finds() {
    let text = "[[rules]]\nid = 'gap'\nregex = '''\\B'''\nkeywords = ['kk']\n";
    let columns = |text: &str| -> Vec<u64> {
        found(text, Mode::Compat, "", "kk\u{FFFD}-b \u{212A}a".as_bytes()).iter().map(|one| one.column).collect()
    };
    assert_eq!(columns(text), [2, 4, 6, 9]);
}

#[test]
fn what_gitleaks_passes_over_in_a_configuration_is_refused_with_its_line() {
    for (text, line, words) in [
        ("[[rule]]\nid = 'a'\n", 1, "unknown key `rule`"),
        ("[[rules]]\nid = 'a'\nregex = 'a'\nsecret_group = 1\n", 4, "unknown key `secret_group`"),
        ("[[rules]]\nid = 'a'\nregex = 'a'\nentropy = '3'\n", 4, "a number is wanted"),
        ("[[rules]]\nid = 'a'\nregex = 'a'\nkeywords = 'a,b'\n", 4, "a list of texts is wanted"),
        ("[[rules]]\nid = 'a'\nregex = 'a'\n[[rules]]\nid = 'a'\nregex = 'b'\n", 4, "is there twice"),
        ("[[rules]]\nid = 'a'\nregex = 'a(?=b)'\n", 1, "not RE2"),
        ("[[rules]]\nid = 'a'\nregex = '(a)'\nsecretGroup = 2\n", 1, "secretGroup"),
        (
            "[[rules]]\nid = 'a'\nregex = 'a'\n[[allowlists]]\ntargetRules = ['b']\nregexes = ['x']\n",
            4,
            "does not exist",
        ),
        ("[[rules]]\nid = 'a'\nregex = 'a'\n[[rules.allowlists]]\ndescription = 'x'\n", 4, "allows nothing"),
    ] {
        let fault = rules(text, Mode::Strict).unwrap_err();
        assert!(fault.starts_with(&format!("rules.toml:{line}: ")) && fault.contains(words), "{fault}");
    }
}

#[test]
fn keys_and_values_are_bent_as_gitleaks_bends_them() {
    let findings = |text: &str| told(&found(text, Mode::Compat, "", b"v=abc w=abcde AAA,BBB\n"));
    let b = vec![("r".to_owned(), 1, 1, "b".to_owned())];
    assert_eq!(findings("[[Rules]]\nID='r'\nREGEX='''v=(a)(b)'''\nSECRETGROUP='2'\nnonsense=1\n"), b);
    assert_eq!(findings("[rules]\nid='r'\nregex='''v=(a)(b)'''\nsecretGroup=2.7\nkeywords='zzz,v='\n"), b);
    assert_eq!(findings("[[rules]]\nid='r'\nregex='''v=(a)(b)'''\n[[rules.allowlists]]\nregexes='zzz,a'\n"), vec![]);
}

#[test]
fn allow_comment_counts_in_compatible_mode_only() {
    let text = b"word=secret # gitleaks:allow\n";
    assert_eq!(found(WORD, Mode::Compat, "", text).len(), 0);
    assert_eq!(found(WORD, Mode::Strict, "", text).len(), 1);
}

#[test]
fn kelvin_sign_counts_as_a_letter_of_a_keyword_and_of_a_regex() {
    let text = "[[rules]]\nid='k'\nregex='''(?i)key=(\\d+)'''\nkeywords=['key']\n";
    for written in ["\u{212A}ey=12", "KEY=12", "kEy=12"] {
        assert_eq!(found(text, Mode::Compat, "", written.as_bytes()).len(), 1, "{written}");
    }
}

/// Rules whose findings are easy to tell, one of them without a bound.
const PLAIN: &str = r#"
[[rules]]
id = 'token'
regex = '''\btok_[a-z]{16}\b'''
keywords = ['tok_']
[[rules]]
id = 'assigned'
regex = '''(?i)password[ \t]{0,3}=[ \t]{0,3}"([^"\n]{8,40})"'''
keywords = ['password']
[[rules]]
id = 'block'
regex = '''<<BEGIN>>[\s\S]{20,}?<<END>>'''
keywords = ['<<begin>>']
"#;

fn plain() -> EmbeddedEngine {
    EmbeddedEngine::new(rules(PLAIN, Mode::Strict).unwrap(), Options::default()).unwrap()
}

fn token(seed: u64) -> String {
    format!("tok_{}", planted::characters(seed, "bcdfghjklm", 16))
}

fn found_in(path: &str, bytes: &[u8]) -> Vec<Finding> {
    scan_item(&plain(), &item(ItemKind::Blob, path, bytes.len()), Content::Whole(bytes)).0
}

fn holds(findings: &[Finding], secret: &str) -> bool {
    findings.iter().any(|finding| finding.secret.expose() == secret.as_bytes())
}

/// A reader that gives a few bytes at a time, as a pipe does.
struct Trickle<'a> {
    rest: &'a [u8],
    steps: Vec<usize>,
    at: usize,
}

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let step = self.steps[self.at % self.steps.len()].max(1).min(self.rest.len()).min(buffer.len());
        self.at += 1;
        buffer[..step].copy_from_slice(&self.rest[..step]);
        self.rest = &self.rest[step..];
        Ok(step)
    }
}

/// Text of about `size` bytes with tokens, and with blocks that no window holds by chance.
fn large(size: usize, seed: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 400_000);
    let mut place = seed;
    while text.len() < size {
        place += 1;
        text.extend(format!("line {place} of a text that is long enough to be cut\n").bytes());
        if place.is_multiple_of(4001) {
            text.extend(format!("  key: {}\n", token(place)).bytes());
        }
        if place.is_multiple_of(9973) {
            text.extend(b"<<BEGIN>>");
            text.extend(planted::characters(place, "xyz \n", 300_000).bytes());
            text.extend(b"<<END>>\n");
        }
    }
    text
}

#[test]
fn findings_do_not_depend_on_how_a_large_item_arrives() {
    let text = large(9 << 20, 1);
    let blob = item(ItemKind::Blob, "large.txt", text.len());
    let (whole, counted) = scan_item(&plain(), &blob, Content::Whole(&text));
    assert_eq!(counted.bytes, text.len() as u64);
    assert!(whole.iter().filter(|finding| &*finding.rule == "block").count() > 5, "{}", whole.len());
    for steps in [vec![4096], vec![65_536, 1, 3], vec![1 << 20], vec![100_000, 7]] {
        let mut trickle = Trickle { rest: &text, steps: steps.clone(), at: 0 };
        let (streamed, counted) = scan_item(&plain(), &blob, Content::Stream(&mut trickle));
        assert_eq!(told(&streamed), told(&whole), "{steps:?}");
        assert_eq!(counted.bytes, text.len() as u64);
    }
}

#[test]
fn places_in_a_large_item_are_those_of_the_whole() {
    let text = large(5 << 20, 7);
    let findings = found_in("large.txt", &text);
    assert!(findings.len() > 10);
    for finding in &findings {
        let (start, end) = (finding.start as usize, finding.end as usize);
        assert_eq!(&text[start..end], finding.matched.expose());
        let feeds = text[..start].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(finding.line as usize, feeds + 1);
        let last = text[..start].iter().rposition(|&byte| byte == b'\n').unwrap();
        assert_eq!(finding.column as usize, start - last + 1, "one too high on later lines, as in gitleaks");
    }
}

#[test]
fn secret_anywhere_in_a_line_of_many_megabytes_is_found() {
    for at in [0, 124_990, 2_097_140, 2_097_152, 2_162_680, 4_194_300, 5_999_980] {
        let mut text = vec![b'.'; 6_000_000];
        let token = token(at as u64);
        text[at..at + token.len()].copy_from_slice(token.as_bytes());
        let findings = found_in("one-line.json", &text);
        assert_eq!(told(&findings), vec![("token".to_owned(), 1, at as u64 + 1, token)]);
    }
}

#[test]
fn something_begun_that_does_not_end_within_a_megabyte_is_told_as_unterminated() {
    let text = [b"<<BEGIN>>".as_slice(), &b"some words and then some more\n".repeat(120_000)].concat();
    let findings = found_in("log.txt", &text);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].tags.contains(&"unterminated".to_owned()));
    assert_eq!((findings[0].line, findings[0].confidence), (1, tyran::scan::Confidence::Low));
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

fn utf32(text: &str, big: bool) -> Vec<u8> {
    let character = |character| {
        let number = u32::from(character);
        if big { number.to_be_bytes() } else { number.to_le_bytes() }
    };
    text.chars().flat_map(character).collect()
}

#[test]
fn text_of_two_and_four_bytes_a_character_is_read() {
    let token = token(3);
    let text = format!("Schlüssel = \"{token}\"\r\n");
    let forms = [utf16(&text, false), utf16(&text, true), utf32(&text, false), utf32(&text, true)];
    let marks = [b"\xFF\xFE".as_slice(), b"\xFE\xFF", b"\xFF\xFE\0\0", b"\0\0\xFE\xFF"];
    for (form, mark) in forms.iter().zip(marks) {
        // With a mark and without, at the end cut short, behind plain text, behind the other kind, between
        // the bytes of a program, at odd and even places.
        for before in [b"".as_slice(), mark, b"key\n", b"x", b"\x00\x01\x02MZ\x90", b"\x00", &forms[0], &forms[3]] {
            for after in [b"".as_slice(), b"\0", b"\x01\xFF\x03", b"plain text\n", &forms[1]] {
                let bytes = [before, form, after].concat();
                let findings = found_in("settings.reg", &bytes);
                let here: Vec<_> = findings
                    .iter()
                    .filter(|finding| finding.secret.expose() == token.as_bytes())
                    .filter(|finding| (before.len()..before.len() + form.len()).contains(&(finding.start as usize)))
                    .collect();
                assert_eq!(here.len(), 1, "{bytes:?}: {:?}", told(&findings));
            }
        }
    }
}

#[test]
fn values_in_wide_text_are_decoded_and_their_escapes_undone() {
    let inner = format!("key: {}", token(30));
    let base64 = |bytes: &[u8]| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let wide = utf16(&format!("first line\r\nvalue: {}\r\n", base64(inner.as_bytes())), false);
    let findings = found_in("a.ps1", &wide);
    assert!(holds(&findings, &token(30)), "{:?}", told(&findings));
    assert_eq!(findings[0].line, 2);
    // The commands that one system's shell takes encoded.
    let command = base64(&utf16(&inner, false));
    assert!(holds(&found_in("a.ps1", format!("run -EncodedCommand {command}\n").as_bytes()), &token(30)));
}

#[test]
fn wide_text_is_read_wherever_a_window_ends() {
    let filler = utf16(&"some words of a long log\r\n".repeat(80_000), false);
    for at in [3_145_700_usize, 3_145_728, 3_276_790, 3_276_800] {
        let token = token(at as u64);
        let piece = utf16(&format!(" {token}\r\n    "), false);
        let mut text = filler.clone();
        text.splice(at..at + piece.len(), piece.iter().copied());
        assert!(holds(&found_in("log.txt", &text), &token), "{at}");
    }
}

#[test]
fn signs_in_utf_7_are_read() {
    let token = token(31);
    let written = token.replace('_', "+AF8-");
    for text in [
        format!("subject\n\n{written}\n"),
        format!("a +- b, password +AD0 +ACI-correct horse+ACI-\n{written}"),
        format!("Schl+APw-ssel {written}, +ZeVnLIqe-"),
        format!("+AHsAIgBhACI {written}"),
    ] {
        let findings = found_in("message", text.as_bytes());
        let found = findings.iter().find(|finding| finding.secret.expose() == token.as_bytes());
        let found = found.unwrap_or_else(|| panic!("{text}: {:?}", told(&findings)));
        assert!(text[found.start as usize..].starts_with("tok+AF8"), "{text}");
    }
    // Without `-` a run ends at what is no digit of it; several signs share one.
    assert!(holds(&found_in("m", b"password +AD0 +ACI-correct horse+ACI-"), "correct horse"));
    assert!(holds(&found_in("m", b"password+ACAAPQAgACI-correct horse+ACI-"), "correct horse"));
}

#[test]
fn what_needs_no_other_form_is_found_once() {
    let token = token(32);
    let text = format!("a+AF8-b \\\"x\\\" key: {token} and +AD0- more \\\"y\\\"\n");
    assert_eq!(found_in("a", text.as_bytes()).len(), 1);
}

#[test]
fn quotes_escaped_once_or_twice_are_quotes() {
    for text in [
        r#"password = "correct horse""#,
        r#"  "source": ["password = \"correct horse\"\n"]"#,
        r#"{"body": "{\"code\": \"password = \\\"correct horse\\\"\"}"}"#,
    ] {
        let findings = found_in("notebook.ipynb", text.as_bytes());
        assert!(holds(&findings, "correct horse"), "{text}: {:?}", told(&findings));
    }
}

#[test]
fn nothing_is_passed_over_for_its_name_or_its_first_bytes() {
    let token = token(4);
    for path in ["notes.br", "x.target.yml", "a.tgz", "b.jar", "app.zst.txt", "node_modules/a.js"] {
        assert!(holds(&found_in(path, format!("key: {token}\n").as_bytes()), &token), "{path}");
    }
    for first in ["MZ", "%!", "BZh", "%PDF-1.4\n", "SQLi", "\u{1f}\u{8b}\u{8}", "PK\u{3}\u{4}", "\u{7f}ELF", "\0\0\0"] {
        let text = [first.as_bytes(), token.as_bytes()].join(&b' ');
        assert!(holds(&found_in("file", &text), &token), "{first:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, name, bytes).unwrap();
    builder.into_inner().unwrap()
}

fn zip(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn archives_are_read_by_what_they_are_and_not_by_their_names() {
    let token = token(5);
    let text = format!("first\nkey: {token}\n").into_bytes();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    std::io::Write::write_all(&mut bzip2, &text).unwrap();
    let zstandard = ruzstd::encoding::compress_to_vec(text.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    for (which, bytes) in [
        ("gzip", gzip(&text)),
        ("bzip2", bzip2.finish().unwrap()),
        ("zstandard", zstandard),
        ("tar", tar("in/side.env", &text)),
        ("zip", zip("in/side.env", &text)),
        ("tar.gz", gzip(&tar("side.env", &text))),
        ("zip in tar in zip", zip("a", &tar("b", &zip("c", &text)))),
    ] {
        let findings = found_in("data.bin", &bytes);
        let inside =
            findings.iter().find(|finding| finding.secret.expose() == token.as_bytes() && !finding.within.is_empty());
        let inside = inside.unwrap_or_else(|| panic!("{which}: {:?}", told(&findings)));
        assert_eq!((inside.line, inside.end), (2, bytes.len() as u64), "{which}");
    }
}

#[test]
fn xz_is_read_where_the_program_is_there_to_make_it() {
    let token = token(6);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("key: {token}\n")).unwrap();
    for format in ["--format=xz", "--format=lzma"] {
        match std::process::Command::new("xz").args([format, "-c"]).arg(file.path()).output() {
            Ok(output) if output.status.success() => assert!(holds(&found_in("data", &output.stdout), &token)),
            _ => eprintln!("skipped: no xz"),
        }
    }
}

#[test]
fn secret_in_an_archive_that_does_not_compress_is_told_once_with_its_member() {
    let (first, second) = (token(50), token(51));
    let packed = tar("in/side.env", format!("key: {first}\n").as_bytes());
    let both = [packed, format!("\nbehind: {second}\n").into_bytes()].concat();
    let findings = found_in("a.tar", &both);
    assert_eq!(findings.len(), 2, "{:?}", told(&findings));
    let inner = findings.iter().find(|finding| finding.secret.expose() == first.as_bytes()).unwrap();
    assert_eq!((inner.within.as_slice(), inner.line), (["in/side.env".to_owned()].as_slice(), 1));
    assert!(holds(&findings, &second));
}

#[test]
fn archive_behind_a_program_or_a_script_is_read() {
    let token = token(33);
    let packed = zip("in/side.env", format!("key: {token}\n").as_bytes());
    let noise = planted::characters(34, "abcdefghijklmnopqrstuvwxyz0123456789", 2 << 20);
    let script = format!("#!/bin/sh\n{noise}").into_bytes();
    for before in [b"#!/usr/bin/env python3\n".to_vec(), b"MZ\x90\0\x03".to_vec(), script] {
        let bytes = [before, packed.clone()].concat();
        assert!(holds(&found_in("tool", &bytes), &token));
        let mut trickle = Trickle { rest: &bytes, steps: vec![100_000], at: 0 };
        let blob = item(ItemKind::Blob, "tool", bytes.len());
        assert!(holds(&scan_item(&plain(), &blob, Content::Stream(&mut trickle)).0, &token));
    }
}

/// What an engine finds in an item, and says of it beside that.
fn notes(path: &str, bytes: &[u8]) -> (Vec<Finding>, String) {
    let engine = plain();
    let mut session = engine.session().unwrap();
    session.scan(&item(ItemKind::Blob, path, bytes.len()), 0, Content::Whole(bytes)).unwrap();
    let findings = session.finish().unwrap().findings;
    (findings, engine.notes().iter().map(|note| note.as_str().to_owned()).collect())
}

#[test]
fn damaged_archive_is_read_as_far_as_it_goes_and_is_noted() {
    let token = token(35);
    let noise = planted::characters(36, "abcdefghijklmnopqrstuvwxyz0123456789", 200_000);
    let whole = gzip(format!("key: {token}\n{noise}").as_bytes());
    let (findings, said) = notes("fixtures/short.gz", &whole[..whole.len() / 2]);
    assert!(holds(&findings, &token));
    assert!(said.contains("fixtures/short.gz") && said.contains("damaged"), "{said}");
    let packed = tar("a", format!("key: {token}\n").as_bytes());
    let (findings, said) = notes("short.tar", &[&packed[..1024], &[7; 2048]].concat());
    assert!(holds(&findings, &token) && said.contains("damaged"), "{said}");
    let (_, said) = notes("no.zip", b"PK\x03\x04 and no more");
    assert!(said.contains("damaged"), "{said}");
    let (_, said) = notes("data.7z", b"7z\xBC\xAF\x27\x1C\0\x04");
    assert!(said.contains("7z archive"), "{said}");
    assert_eq!(notes("plain.txt", b"nothing packed").1, "");
    assert_eq!(notes("whole.gz", &whole).1, "");
}

#[test]
fn encrypted_member_is_noted_and_the_others_are_read() {
    let token = token(37);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [("closed.env", "nothing to see".to_owned()), ("open.env", format!("key: {token}\n"))] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
    }
    let mut packed = writer.finish().unwrap().into_inner();
    // The bit for encryption, in the first member's own header and in the directory.
    let directory = packed.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    packed[6] |= 1;
    packed[directory + 8] |= 1;
    let (findings, said) = notes("closed.zip", &packed);
    assert!(said.contains("encrypted"), "{said}");
    assert!(holds(&findings, &token), "{:?}", told(&findings));
}

/// Two members, packed.
fn zip_of_two(first: (&str, &[u8]), second: (&str, &[u8])) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in [first, second] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn members_that_a_zip_does_not_list_are_read() {
    let token = token(60);
    // Long enough to be compressed, so that the bytes as they are do not show it.
    let text = format!("key: {token}\n{}", "again and again ".repeat(500)).into_bytes();
    assert!(!zip("a", &text).windows(token.len()).any(|bytes| bytes == token.as_bytes()));
    let two = zip_of_two(("one.txt", &text), ("two.txt", b"nothing"));
    let mut twice = two.clone();
    while let Some(at) = twice.windows(7).position(|name| name == b"two.txt") {
        twice[at..at + 7].copy_from_slice(b"one.txt");
    }
    // The directory's first record goes: 46 bytes and the name.
    let directory = two.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let mut unlisted = two.clone();
    unlisted.drain(directory..directory + 46 + 7);
    let end = unlisted.len() - 22;
    (unlisted[end + 8], unlisted[end + 10], unlisted[end + 12]) = (1, 1, two[two.len() - 10] - 53);
    for (which, bytes) in [
        ("a name that is there twice", twice),
        ("a member that the directory does not have", unlisted),
        ("no directory", two[..directory].to_vec()),
        ("a directory that is cut", two[..two.len() - 5].to_vec()),
        ("one zip before another", [two.clone(), zip("b", b"nothing")].concat()),
        ("behind a program", [b"MZ PK\x03\x04 is no header".to_vec(), two.clone(), zip("b", b"nothing")].concat()),
    ] {
        let findings = found_in("data.bin", &bytes);
        let inside = findings.iter().filter(|finding| finding.secret.expose() == token.as_bytes());
        assert_eq!(inside.map(|finding| finding.within.join("/")).collect::<Vec<_>>(), ["one.txt"], "{which}");
    }
    assert_eq!((found_in("two.zip", &two).len(), notes("two.zip", &two).1), (1, String::new()), "listed once");
}

#[test]
fn archive_in_base64_is_unpacked() {
    use base64::Engine as _;
    let token = token(63);
    let text = format!("key: {token}\n{}", planted::characters(64, "abcdefghijklmnopqrstuvwxyz0123456789", 3000));
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let wrapped = |text: &str, width: usize, indentation: &str| {
        let lines: Vec<_> = text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        lines.join(&format!("\n{indentation}"))
    };
    let packed = base64(&gzip(text.as_bytes()));
    for (which, text) in [
        ("one line", format!("user_data: {packed}\n")),
        ("wrapped", format!("content: |\n    {}\nnext: 1\n", wrapped(&packed, 76, "    "))),
        ("wrapped in a string", format!("{{\"data\": \"{}\"}}", wrapped(&packed, 64, "").replace('\n', "\\n"))),
        ("a zip", format!("zipfile = \"{}\"", base64(&zip("side.env", text.as_bytes())))),
        ("twice, as Helm does", format!("data:\n  release: {}\n", base64(packed.as_bytes()))),
    ] {
        let findings = found_in("file.yaml", text.as_bytes());
        let own: Vec<_> = findings.iter().filter(|finding| finding.secret.expose() == token.as_bytes()).collect();
        assert_eq!(own.len(), 1, "{which}: {:?}", told(&findings));
        assert_eq!((own[0].within[0].as_str(), own[0].line), ("base64", 1), "{which}");
    }
    let bomb = base64(&gzip(&vec![0; 24 << 20]));
    let bounded = Options { unpacked_bytes: 1 << 10, ..Options::default() };
    let engine = EmbeddedEngine::new(rules(PLAIN, Mode::Strict).unwrap(), bounded).unwrap();
    let mut session = engine.session().unwrap();
    let fault = session.scan(&item(ItemKind::Blob, "a", bomb.len()), 0, Content::Whole(bomb.as_bytes())).unwrap_err();
    assert!(fault.to_string().contains("256 times its size"), "{fault}");
}

#[test]
fn where_links_in_a_tar_lead_is_content() {
    let token = token(61);
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind) in [("soft", tar::EntryType::Symlink), ("hard", tar::EntryType::Link)] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        // The kind's digit stands right before it in the header.
        builder.append_link(&mut header, name, &token).unwrap();
    }
    let packed = gzip(&builder.into_inner().unwrap());
    let mut places: Vec<_> = found_in("a.tgz", &packed).iter().map(|finding| finding.within.join("/")).collect();
    places.sort();
    assert_eq!(places, ["uncompressed/hard", "uncompressed/soft"]);
}

#[test]
fn streams_of_a_pdf_and_other_data_of_zlib_are_unpacked() {
    let zlib = |text: &str| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (first, second) = (token(65), token(66));
    let filler = "again and again ".repeat(500);
    let mut pdf = b"%PDF-1.7\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\r\n".to_vec();
    pdf.extend(zlib(&format!("BT ({first}) Tj ET {filler}")));
    pdf.extend(b"\nendstream\nendobj\n2 0 obj\n<< /Length 9 >>\nstream\nnot zlib\nendstream\n3 0 obj\nstream\n");
    pdf.extend(zlib(&format!("{filler} key: {second}\n")));
    pdf.extend(b"\nendstream\nendobj\n%%EOF\n");
    let (findings, said) = notes("paper.pdf", &pdf);
    assert!(holds(&findings, &first) && holds(&findings, &second), "{:?}", told(&findings));
    assert_eq!(said, "");
    let object = zlib(&format!("blob 9\0key: {first}\n{filler}"));
    assert!(holds(&found_in("objects/ab/cdef", &object), &first));
    assert_eq!(notes("curve.txt", b"x^2 + y^2 = 1\n").1, "");
}

#[test]
fn package_of_debian_is_unpacked() {
    let token = token(62);
    let text = format!("key: {token}\n{}", "again and again ".repeat(500)).into_bytes();
    let mut package = b"!<arch>\n".to_vec();
    for (name, bytes) in [("debian-binary", b"2.0".to_vec()), ("data.tar.gz", gzip(&tar("etc/side.env", &text)))] {
        package.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, bytes.len()).bytes());
        package.extend(&bytes);
        package.resize(package.len().next_multiple_of(2), b'\n');
    }
    let findings = found_in("tool.deb", &package);
    assert_eq!(findings.len(), 1, "{:?}", told(&findings));
    assert_eq!(findings[0].within.last().map(String::as_str), Some("etc/side.env"));
}

#[test]
fn name_in_an_archive_is_content() {
    let token = token(7);
    assert!(holds(&found_in("a.zip", &zip(&format!("{token}.txt"), b"empty")), &token));
}

#[test]
fn archive_bomb_is_a_fault_and_not_a_skip() {
    let bomb = gzip(&gzip(&vec![0; 24 << 20]));
    let bounded = Options { unpacked_bytes: 1 << 20, ..Options::default() };
    let engine = EmbeddedEngine::new(rules(PLAIN, Mode::Strict).unwrap(), bounded).unwrap();
    let mut session = engine.session().unwrap();
    let fault = session.scan(&item(ItemKind::Blob, "a.gz", bomb.len()), 0, Content::Whole(&bomb)).unwrap_err();
    assert_eq!(fault.kind, tyran::scan::engine::EngineFaultKind::Content, "{fault}");
    assert!(fault.to_string().contains("256 times its size"), "{fault}");
    let mut nested = zip("x", b"x");
    for _ in 0..9 {
        nested = zip("deeper", &nested);
    }
    let mut session = engine.session().unwrap();
    let fault = session.scan(&item(ItemKind::Blob, "a.zip", nested.len()), 0, Content::Whole(&nested)).unwrap_err();
    assert_eq!(fault.kind, tyran::scan::engine::EngineFaultKind::Content, "{fault}");
}

#[test]
fn large_archive_in_a_stream_is_read_too() {
    let token = token(8);
    let noise = planted::characters(9, "abcdefghijklmnopqrstuvwxyz0123456789", 3 << 20);
    let bytes = gzip(format!("{noise}\nkey: {token}\n").as_bytes());
    assert!(bytes.len() > 1 << 20);
    let mut trickle = Trickle { rest: &bytes, steps: vec![10_000], at: 0 };
    let blob = item(ItemKind::Blob, "a", bytes.len());
    let (findings, counted) = scan_item(&plain(), &blob, Content::Stream(&mut trickle));
    assert!(holds(&findings, &token));
    assert_eq!(counted.bytes, bytes.len() as u64);
}

#[test]
fn blob_counts_at_each_of_its_paths() {
    let token = token(40);
    let text = format!("{PLAIN}\n[[allowlists]]\npaths = ['^fixtures/', '^vendor/']\n");
    let engine = EmbeddedEngine::new(rules(&text, Mode::Strict).unwrap(), Options::default()).unwrap();
    let bytes = format!("key: {token}\n").into_bytes();
    let found = |elsewhere: Elsewhere| {
        let blob = Item { elsewhere, ..item(ItemKind::Blob, "fixtures/a.txt", bytes.len()) };
        scan_item(&engine, &blob, Content::Whole(&bytes)).0
    };
    assert!(found(Elsewhere::Nowhere).is_empty());
    assert!(found(Elsewhere::At(vec!["vendor/a.txt".into()])).is_empty());
    let findings = found(Elsewhere::At(vec!["vendor/a.txt".into(), "src/a.txt".into()]));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].item.path.as_ref().unwrap(), "src/a.txt");
    assert_eq!(found(Elsewhere::Anywhere(Vec::new())).len(), 1);
    // So do the members of an archive.
    let packed = gzip(&bytes);
    let blob = Item {
        elsewhere: Elsewhere::At(vec!["src/a.gz".into()]),
        ..item(ItemKind::Blob, "fixtures/a.gz", packed.len())
    };
    assert_eq!(scan_item(&engine, &blob, Content::Whole(&packed)).0.len(), 1);
}

#[test]
fn bytes_at_more_paths_than_are_known_are_asked_for_words_of_their_own() {
    let text = "[[rules]]\nid = 'cookie-file'\npath = 'cookie$'\nregex = '\\b([a-z]{16,64})\\b'\n\
                [[rules]]\nid = 'named'\npath = 'settings$'\nregex = 'cookie = ([a-z]{16,64})'\nkeywords = ['cookie']\n";
    let engine = EmbeddedEngine::new(rules(text, Mode::Strict).unwrap(), Options::default()).unwrap();
    let found = |bytes: &[u8]| {
        let blob = Item { elsewhere: Elsewhere::Anywhere(Vec::new()), ..item(ItemKind::Blob, "LICENSE", bytes.len()) };
        let found = scan_item(&engine, &blob, Content::Whole(bytes)).0;
        found.iter().map(|finding| finding.rule.to_string()).collect::<Vec<_>>()
    };
    assert!(found(b"the responsibilities of whoever distributes it\n").is_empty());
    assert_eq!(found(b"cookie = responsibilities\n"), ["named"]);
}

#[test]
fn number_of_a_text_in_its_part_is_no_path() {
    let token = token(41);
    let text = format!("{PLAIN}\n[[allowlists]]\npaths = ['^[0-9]+$']\n");
    let engine = EmbeddedEngine::new(rules(&text, Mode::Strict).unwrap(), Options::default()).unwrap();
    let name = format!("refs/heads/{token}");
    let reference = item(ItemKind::Ref, "0", name.len());
    assert_eq!(scan_item(&engine, &reference, Content::Whole(name.as_bytes())).0.len(), 1);
}

#[test]
fn keyword_far_away_counts_no_more_than_it_does_for_gitleaks() {
    let text = "[[rules]]\nid = 'far'\nregex = '[0-9a-f]{40}'\nkeywords = ['beacon']\n";
    let engine = EmbeddedEngine::new(rules(text, Mode::Strict).unwrap(), Options::default()).unwrap();
    let count = |bytes: &str| {
        let blob = item(ItemKind::Blob, "a", bytes.len());
        scan_item(&engine, &blob, Content::Whole(bytes.as_bytes())).0.len()
    };
    let hash = planted::characters(42, "0123456789abcdef", 40);
    let line = "words of no consequence\n";
    assert_eq!(count(&format!("beacon\n{}{hash}\n", line.repeat(4_000))), 1);
    assert_eq!(count(&format!("{hash}\n{}beacon\n", line.repeat(4_000))), 1);
    assert_eq!(count(&format!("beacon\n{}{hash}\n", line.repeat(20_000))), 0);
    let far = line.repeat(200_000);
    assert_eq!(count(&format!("{far}{hash}\n{}beacon\n", line.repeat(4_000))), 1);
}

#[test]
fn stream_that_breaks_off_is_a_fault() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the pipe broke"))
        }
    }
    let engine = plain();
    let mut session = engine.session().unwrap();
    let fault = session.scan(&item(ItemKind::Blob, "a", 9), 0, Content::Stream(&mut Broken)).unwrap_err();
    assert_eq!(fault.kind, tyran::scan::engine::EngineFaultKind::ShortRead);
}

#[test]
fn no_bounded_rule_of_its_own_reaches_beyond_the_margin_of_a_window() {
    for rule in RuleSet::builtin().unwrap().rules() {
        let span = rule.span();
        assert!(span <= 64 << 10 || span == 1 << 20, "{} spans {span}", rule.id);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// The same text behind other text gives the same findings, moved.
    #[test]
    fn findings_do_not_depend_on_what_stands_far_before(
        pieces in proptest::collection::vec(
            r#"(tok_[a-m]{14,18}|password ?= ?"[a-z]{6,12}"|[ \na-z="\\]{0,30}|\u{212A}ey|dG9rX2JjZGZnaGpr)"#,
            0..12,
        ),
        before in 0_usize..3,
    ) {
        let text = pieces.join(" ");
        let alone = told(&found_in("", text.as_bytes()));
        let front = "....\n".repeat([0, 500, 450_000][before]);
        let lines = front.lines().count() as u64;
        let behind = told(&found_in("", format!("{front}{text}").as_bytes()));
        let place = |(rule, line, _, secret): &(String, u64, u64, String), moved: u64| (rule.clone(), line + moved, secret.clone());
        let moved: Vec<_> = alone.iter().map(|one| place(one, lines)).collect();
        let there: Vec<_> = behind.iter().map(|one| place(one, 0)).collect();
        proptest::prop_assert_eq!(moved, there);
    }
}
