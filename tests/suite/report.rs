//! What people and programs are told of a judgement, and what they are never told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bstr::BString;
use serde_json::Value;
use tyran::payload::{Destination, Elsewhere, Item, ItemKind, ObjectId, Tally};
use tyran::report::{self, Colour, CommitFacts, Format, Judgement, Reported, Suppressed, Terminal};
use tyran::scan::{Confidence, Coverage, EngineCoverage, Finding, Identity, Secret, Severity};
use tyran::text::SafeText;
use tyran::verdict::{Class, Clearance, Question, Refusal, Verdict};

use crate::support::gitleaks::real_gitleaks;
use crate::support::{Sandbox, golden, planted};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const BLOB: &str = "89abcdef0123456789abcdef0123456789abcdef";

const FORMATS: [Format; 5] = [Format::Human, Format::Json, Format::Sarif, Format::Github, Format::Gitleaks];

fn id(hex: &str) -> ObjectId {
    ObjectId::from_hex(hex.as_bytes()).unwrap()
}

/// A finding in a line of text, on the second line of a file.
fn finding(path: &str, before: &str, secret: &str, after: &str) -> Finding {
    let (start, end) = (before.len() as u64, (before.len() + secret.len()) as u64);
    Finding {
        rule: Arc::from("service-token"),
        description: Arc::from("A token of a service"),
        engine: "embedded",
        item: Item {
            kind: ItemKind::Blob,
            oid: Some(id(BLOB)),
            size: 1000,
            path: Some(BString::from(path)),
            commit: Some(id(COMMIT)),
            elsewhere: Elsewhere::Nowhere,
        },
        part: 0,
        start: 100 + start,
        end: 100 + end,
        line: 2,
        end_line: 2,
        column: start + 2,
        end_column: end + 1,
        matched: Secret::new(secret),
        secret: Secret::new(secret),
        line_text: Secret::new(format!("{before}{secret}{after}")),
        entropy: 4.25,
        tags: Arc::from(["api".to_owned()]),
        severity: Severity::Critical,
        confidence: Confidence::High,
        within: Vec::new(),
        remedy: Some(Arc::from("Revoke it in the service's settings.")),
    }
}

fn reported(finding: &Finding) -> Reported<'_> {
    let refuses = matches!(finding.confidence, Confidence::High | Confidence::Medium);
    Reported { finding, refuses, fingerprint: "tyran1:5f2b".to_owned() }
}

fn coverage() -> Coverage {
    let consumed = Tally { objects: 12, bytes: 34_567 };
    let engine = |name: &str, version: &str, rules| EngineCoverage {
        identity: Identity { name: name.to_owned(), version: version.to_owned(), rules, digest: "d".to_owned() },
        consumed,
        millis: 7,
    };
    Coverage::prove(consumed, vec![engine("embedded", "0.1.0", 200), engine("gitleaks", "8.30.1", 198)]).unwrap()
}

fn raw_commit(_: &ObjectId) -> Option<Vec<u8>> {
    Some(
        b"tree 0123456789abcdef0123456789abcdef01234567\nauthor A U Thor <author@example.invalid> 1700000000 +0200\n\
          committer C O Mitter <committer@example.invalid> 1700000000 +0200\n\nsubject\n\nbody\n"
            .to_vec(),
    )
}

fn no_commit(_: &ObjectId) -> Option<Vec<u8>> {
    None
}

fn destination() -> Destination {
    Destination { url: "https://example.invalid/repository.git".into(), refs: vec!["refs/heads/main".into()] }
}

fn found() -> Verdict {
    Verdict::Refuse(Refusal::new(
        Class::Finding,
        "1 secret in 12 objects for https://example.invalid/repository.git",
        "remove it from the commit with `git commit --amend`, revoke it, then push again",
    ))
}

fn unchecked() -> Verdict {
    Verdict::Refuse(Refusal::new(
        Class::NotCovered,
        "gitleaks: read 10 of 20 bytes",
        "run `tyran doctor`, repair the engine it names, then push again",
    ))
}

/// A judgement with everything in it that can be told, for one verdict.
fn told(
    verdict: &Verdict,
    findings: &[Reported<'_>],
    suppressed: &[Suppressed<'_>],
    proof: bool,
    format: Format,
) -> String {
    let coverage = proof.then(coverage);
    let judgement = Judgement {
        verdict,
        findings,
        suppressed,
        coverage: coverage.as_ref(),
        destinations: &[destination()],
        notes: &[SafeText::new("1 stale suppression in .tyran-allow")],
        payload: Tally { objects: 12, bytes: 34_567 },
        elapsed: Duration::from_millis(42),
        directory: Path::new("/somewhere/shop"),
        commits: &raw_commit,
    };
    let mut out = Vec::new();
    report::write(&judgement, format, &mut out, &Terminal::plain()).unwrap();
    String::from_utf8(out).unwrap()
}

/// The same with only findings.
fn told_of(findings: &[Finding], format: Format) -> String {
    let findings: Vec<Reported<'_>> = findings.iter().map(reported).collect();
    told(&found(), &findings, &[], true, format)
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Human => "human.txt",
        Format::Json => "json.json",
        Format::Sarif => "sarif.json",
        Format::Github => "github.txt",
        Format::Gitleaks => "gitleaks.json",
    }
}

/// A judgement that has one of everything, as it is kept for people to read.
fn with_everything(format: Format) -> String {
    let secret = planted::github_token(1);
    let plain = finding("src/configuration file.rs", "let token = \"", &secret, "\"; // for tests");
    let mut in_message = finding("0", "see ", &secret, "");
    in_message.item = Item { kind: ItemKind::Commit, oid: Some(id(COMMIT)), path: None, ..in_message.item };
    let mut decoded = finding("notes.md", "x", &secret, "y");
    decoded.line_text = Secret::new("encoded: something else");
    decoded.within = vec!["base64".to_owned()];
    let mut unsure = finding("old.env", "KEY=", &secret, "");
    (unsure.confidence, unsure.remedy) = (Confidence::Note, None);
    let suppressed = finding("tests/data.txt", "", &secret, "");
    let findings = [&plain, &in_message, &decoded, &unsure].map(reported);
    let suppressed = [Suppressed {
        finding: &suppressed,
        fingerprint: "tyran1:77aa".to_owned(),
        by: ".tyran-allow:3".into(),
        reason: "made up for a test".into(),
    }];
    told(&found(), &findings, &suppressed, true, format).replace(&secret, "THE-SECRET")
}

#[test]
fn every_format_is_as_it_is_kept() {
    for format in FORMATS {
        golden::check(&format!("report/found-{}", name(format)), &with_everything(format));
        golden::check(&format!("report/unchecked-{}", name(format)), &told(&unchecked(), &[], &[], false, format));
        let pass = Verdict::Pass(Clearance::clean(coverage()));
        golden::check(&format!("report/clean-{}", name(format)), &told(&pass, &[], &[], true, format));
    }
}

#[test]
fn nothing_published_and_a_question_have_their_own_first_lines() {
    let nothing = Verdict::Pass(Clearance::nothing_published());
    assert!(told(&nothing, &[], &[], false, Format::Human).starts_with("tyran: nothing would be published\n"));
    let refusal = Refusal::new(Class::Suppression, "the push adds a suppression", "let a person look at it");
    let question = Verdict::Ask(Question { refusal });
    assert!(told(&question, &[], &[], true, Format::Human).starts_with("tyran: a person must decide (suppression)\n"));
    let report: Value = serde_json::from_str(&told(&question, &[], &[], true, Format::Json)).unwrap();
    assert_eq!((&report["verdict"], &report["refusal"]["class"]), (&"ask".into(), &"suppression".into()));
}

#[test]
fn could_not_check_never_looks_like_found_something_or_like_a_pass() {
    let (found, unchecked) = (told_of(&[], Format::Human), told(&unchecked(), &[], &[], false, Format::Human));
    assert!(found.starts_with("tyran: refused, "));
    assert!(unchecked.starts_with("tyran: could not check (not-covered)\n"));
    assert!(unchecked.contains("nothing is proven of 12 objects, 34567 bytes"));
    let sarif: Value = serde_json::from_str(&told(&self::unchecked(), &[], &[], false, Format::Sarif)).unwrap();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(
        told(&self::unchecked(), &[], &[], false, Format::Github)
            .contains("::error title=tyran%3A refused (not-covered)::")
    );
    // An empty list would say that nothing was found.
    assert_eq!(told(&self::unchecked(), &[], &[], false, Format::Gitleaks), "");
}

#[test]
fn no_format_but_gitleaks_own_holds_a_secret_of_the_judgement() {
    let one = planted::github_token(3);
    let other = planted::github_token(4);
    let line = format!("first {one} second {other} end");
    let mut first = finding("a", "first ", &one, "");
    first.line_text = Secret::new(line.as_bytes());
    let mut second = finding("a", &format!("first {one} second "), &other, " end");
    second.confidence = Confidence::Note;
    let third = finding("b", "", &planted::github_token(5), &format!(" and {one}"));
    let suppressed = [Suppressed { finding: &second, fingerprint: "f".into(), by: "x".into(), reason: "y".into() }];
    let findings = [&first, &third].map(reported);
    for format in [Format::Human, Format::Json, Format::Sarif, Format::Github] {
        let text = told(&found(), &findings, &suppressed, true, format);
        for secret in [&one, &other, &planted::github_token(5)] {
            assert!(!text.contains(&secret[4..20]), "{text}");
        }
    }
    assert!(told(&found(), &findings, &[], true, Format::Gitleaks).contains(&one));
}

#[test]
fn carets_stand_under_the_masked_secret() {
    let secret = planted::characters(1, "abcdef0123456789", 20);
    let text = told_of(&[finding("a", "\tkéy = '", &secret, "' # why")], Format::Human);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("kéy")).unwrap();
    assert_eq!(lines[at], format!("     kéy = '{}' # why", "*".repeat(20)));
    assert_eq!(lines[at + 1], format!("            {} A token of a service", "^".repeat(20)));
}

#[test]
fn line_is_cut_and_its_long_runs_are_left_out() {
    let run = planted::characters(2, "ABCDEFGHIJKLMNOP", 60);
    let secret = planted::characters(3, "abcdef0123456789", 24);
    let before = format!("{}{run} then ", "word ".repeat(100));
    let text = told_of(&[finding("a", &before, &secret, &format!(" {run} {}", "tail ".repeat(100)))], Format::Human);
    let line = text.lines().find(|line| line.contains("****")).unwrap();
    assert!(line.chars().count() < 160, "{line}");
    assert!(line.contains("… ") || line.contains("…"), "{line}");
    assert!(!line.contains(&run[..30]), "{line}");
}

#[test]
fn many_findings_are_counted_instead_of_shown_and_commits_looked_up_once() {
    let many: Vec<Finding> =
        (0..130).map(|place| finding(&format!("f{place}"), "k=", &planted::github_token(place), "")).collect();
    let findings: Vec<Reported<'_>> = many.iter().map(reported).collect();
    let looked_up = std::cell::Cell::new(0);
    let commits = |id: &ObjectId| {
        looked_up.set(looked_up.get() + 1);
        raw_commit(id)
    };
    let judgement = Judgement {
        verdict: &found(),
        findings: &findings,
        suppressed: &[],
        coverage: None,
        destinations: &[],
        notes: &[],
        payload: Tally::default(),
        elapsed: Duration::ZERO,
        directory: Path::new("/"),
        commits: &commits,
    };
    let mut out = Vec::new();
    report::write(&judgement, Format::Human, &mut out, &Terminal::plain()).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("tyran: refused, 130 secrets found\n"));
    assert_eq!(text.matches("  service-token  ").count(), 50);
    assert!(text.contains("\n80 secrets and 0 notes more; `--format json` tells all\n"), "{text}");
    assert_eq!(looked_up.get(), 1);
}

#[test]
fn a_secret_in_many_versions_of_a_file_is_one_secret() {
    let many: Vec<Finding> = (0..6)
        .map(|version| Finding { line: 3 + version, ..finding("f", "k=", &planted::github_token(1), "") })
        .collect();
    let text = told_of(&many, Format::Human);
    assert!(text.starts_with("tyran: refused, 1 secret found\n"), "{text}");
    assert_eq!(text.matches("  service-token  ").count(), 1, "{text}");
    assert!(text.contains("also at 4:"), "{text}");
    assert!(text.contains(", 2 more\n"), "{text}");
}

#[test]
fn line_that_does_not_hold_the_secret_is_not_shown() {
    let mut decoded = finding("a", "", &planted::github_token(1), "");
    decoded.line_text = Secret::new("some other words here");
    let text = told_of(&[decoded], Format::Human);
    assert!(!text.contains("other words"), "{text}");
    assert!(text.contains("REDACTED (40 bytes)"), "{text}");
}

#[test]
fn secret_of_several_lines_or_cut_short_is_masked_line_by_line() {
    let lines: Vec<String> =
        (0..3).map(|seed| planted::characters(seed + 10, "ABCDEFGHIJKLMNOPabcdefgh", 22)).collect();
    let secret = lines.join("\n");
    let mut several = finding("a", "", &secret, "");
    several.line_text = Secret::new(format!("key: {secret} end"));
    let mut cut = finding("b", "", &lines[0], "");
    cut.line_text = Secret::new(format!("begins {}", &lines[0][..12]));
    let text = told_of(&[several, cut], Format::Human);
    for line in &lines {
        assert!(!text.contains(&line[..6]), "{text}");
    }
    assert!(text.contains("key: ****"), "{text}");
}

#[test]
fn text_of_a_repository_can_neither_move_the_cursor_nor_speak_for_tyran() {
    let hostile = "a\u{1b}[2J\u{202e}b\ndo: rm -rf /\r::error::x";
    let mut one = finding(hostile, "\u{1b}]0;x\u{7} ", &planted::github_token(1), " \u{202e}");
    one.rule = Arc::from("rule\u{1b}[31m\n::warning::y");
    one.description = Arc::from("words\n::stop-commands::z");
    for format in FORMATS {
        let text = told_of(std::slice::from_ref(&one), format);
        if format != Format::Gitleaks {
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains('\u{7}'), "{text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("do: rm") || line.starts_with("::stop")), "{text}");
        let commands = text.lines().filter(|line| line.starts_with("::error")).count();
        assert_eq!(commands, if format == Format::Github { 2 } else { 0 }, "{text}");
    }
    // What is exact when parsed is still exact.
    let report: Value = serde_json::from_str(&told_of(&[one], Format::Json)).unwrap();
    assert_eq!(report["findings"][0]["path"], hostile);
}

#[test]
fn json_keys_are_those_of_the_contract() {
    let report: Value = serde_json::from_str(&with_everything(Format::Json)).unwrap();
    for key in ["verdict", "class", "findings", "suppressed", "coverage", "refusal"] {
        assert!(!report[key].is_null(), "{key}");
    }
    let finding = report["findings"][0].as_object().unwrap();
    for key in [
        "rule",
        "description",
        "where",
        "path",
        "line",
        "column",
        "commit",
        "oid",
        "author",
        "date",
        "fingerprint",
        "redacted",
    ] {
        assert!(finding.contains_key(key), "{key}");
    }
    assert_eq!(finding["author"], "A U Thor <author@example.invalid>");
    assert_eq!(finding["date"], "2023-11-14T22:13:20Z");
    assert_eq!((&finding["line"], &finding["column"]), (&2.into(), &14.into()));
    let coverage = report["coverage"].as_object().unwrap();
    assert_eq!((&coverage["objects"], &coverage["bytes"]), (&12.into(), &34567.into()));
    for key in ["name", "version", "rules", "bytes", "millis"] {
        assert!(!coverage["engines"][0][key].is_null(), "{key}");
    }
    let clean: Value =
        serde_json::from_str(&told(&Verdict::Pass(Clearance::clean(coverage_once())), &[], &[], true, Format::Json))
            .unwrap();
    assert!(clean["refusal"].is_null());
    assert_eq!(clean["class"], "clean");
}

fn coverage_once() -> Coverage {
    coverage()
}

#[test]
fn path_below_the_directory_is_told_relative_to_it() {
    let inside = finding("/somewhere/shop/src/a.txt", "k=", &planted::github_token(1), "");
    let beside = finding("/somewhere/shops/a.txt", "k=", &planted::github_token(1), "");
    let text = told_of(&[inside.clone(), beside.clone()], Format::Human);
    assert!(text.contains("\nsrc/a.txt:2:3  service-token"), "{text}");
    assert!(text.contains("\n/somewhere/shops/a.txt:2:3"), "{text}");
    let sarif: Value = serde_json::from_str(&told_of(&[inside, beside], Format::Sarif)).unwrap();
    let place =
        |at: usize| sarif["runs"][0]["results"][at]["locations"][0]["physicalLocation"]["artifactLocation"].clone();
    assert_eq!(place(0), serde_json::json!({"uri": "src/a.txt", "uriBaseId": "%SRCROOT%"}));
    assert_eq!(place(1), serde_json::json!({"uri": "/somewhere/shops/a.txt"}));
}

#[test]
fn names_in_annotations_and_uris_are_escaped() {
    let odd = finding("a b/100%,x:y\né.txt", "k=", &planted::github_token(1), "");
    let github = told_of(std::slice::from_ref(&odd), Format::Github);
    assert!(
        github.starts_with("::error file=a b/100%25%2Cx%3Ay%0Aé.txt,line=2,endLine=2,col=3,endColumn=43,title="),
        "{github}"
    );
    let sarif: Value = serde_json::from_str(&told_of(&[odd], Format::Sarif)).unwrap();
    let uri = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "a%20b/100%25%2Cx%3Ay%0A%C3%A9.txt");
}

#[test]
fn sarif_has_what_the_schema_requires() {
    for text in [
        with_everything(Format::Sarif),
        told(&unchecked(), &[], &[], false, Format::Sarif),
        told(&Verdict::Pass(Clearance::clean(coverage())), &[], &[], true, Format::Sarif),
    ] {
        let log: Value = serde_json::from_str(&text).unwrap();
        check_sarif(&log);
    }
}

/// What the OASIS schema of SARIF 2.1.0 requires of the parts that we write.
fn check_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    only(log, &["$schema", "version", "runs"]);
    for run in list(&log["runs"]) {
        only(run, &["tool", "invocations", "originalUriBaseIds", "columnKind", "results"]);
        assert!(matches!(text(&run["columnKind"]), "utf16CodeUnits" | "unicodeCodePoints"));
        let driver = &run["tool"]["driver"];
        only(driver, &["name", "version", "semanticVersion", "rules"]);
        assert!(!text(&driver["name"]).is_empty());
        let rules = list(&driver["rules"]);
        for rule in rules {
            only(rule, &["id", "name", "shortDescription", "help", "defaultConfiguration", "properties"]);
            assert!(!text(&rule["id"]).is_empty());
            assert!(!text(&rule["shortDescription"]["text"]).is_empty());
            assert!(!text(&rule["help"]["text"]).is_empty());
            level(&rule["defaultConfiguration"]["level"]);
        }
        for invocation in list(&run["invocations"]) {
            only(invocation, &["executionSuccessful", "toolExecutionNotifications"]);
            assert!(invocation["executionSuccessful"].is_boolean());
            for notification in list(&invocation["toolExecutionNotifications"]) {
                level(&notification["level"]);
                assert!(!text(&notification["message"]["text"]).is_empty());
            }
        }
        for result in list(&run["results"]) {
            check_result(result, rules);
        }
    }
}

fn check_result(result: &Value, rules: &[Value]) {
    only(
        result,
        &["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "properties", "suppressions"],
    );
    level(&result["level"]);
    assert!(!text(&result["message"]["text"]).is_empty());
    let index = result["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(rules[index]["id"], result["ruleId"]);
    assert!(result["partialFingerprints"].as_object().unwrap().values().all(Value::is_string));
    for suppression in result["suppressions"].as_array().into_iter().flatten() {
        assert!(matches!(text(&suppression["kind"]), "inSource" | "external"));
    }
    for location in list(&result["locations"]) {
        if let Some(physical) = location.get("physicalLocation") {
            assert!(!text(&physical["artifactLocation"]["uri"]).contains([' ', '\\']));
            let region = &physical["region"];
            let number = |key: &str| region[key].as_u64();
            assert!(number("startLine").unwrap() >= 1 && number("endLine") >= number("startLine"));
            assert_eq!(number("startColumn").is_some(), number("endColumn").is_some());
            assert!(number("startColumn").is_none_or(|column| column >= 1 && number("endColumn").unwrap() > column));
        } else {
            assert!(!text(&location["logicalLocations"][0]["fullyQualifiedName"]).is_empty());
        }
    }
}

fn only(value: &Value, keys: &[&str]) {
    for key in value.as_object().unwrap().keys() {
        assert!(keys.contains(&key.as_str()), "{key}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn level(value: &Value) {
    assert!(matches!(text(value), "none" | "note" | "warning" | "error"));
}

#[test]
fn sarif_columns_count_characters() {
    let wide = finding("a", "ключ = ", &planted::github_token(1), "");
    let sarif: Value = serde_json::from_str(&told_of(&[wide], Format::Sarif)).unwrap();
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region, &serde_json::json!({"startLine": 2, "endLine": 2, "startColumn": 8, "endColumn": 48}));
}

#[test]
fn colour_is_only_for_terminals_and_persons_who_want_it() {
    let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let shown = |terminal: &Terminal| {
        let judgement = Judgement {
            verdict: &unchecked(),
            findings: &[],
            suppressed: &[],
            coverage: None,
            destinations: &[],
            notes: &[],
            payload: Tally::default(),
            elapsed: Duration::ZERO,
            directory: Path::new("/"),
            commits: &no_commit,
        };
        let mut out = Vec::new();
        report::write(&judgement, Format::Human, &mut out, terminal).unwrap();
        String::from_utf8(out).unwrap()
    };
    // Tests do not write to a terminal, so only "always" may colour, whatever the environment says.
    assert!(!shown(&Terminal::of_stdout(Colour::Auto, &env(&[]))).contains('\u{1b}'));
    assert!(!shown(&Terminal::of_stdout(Colour::Never, &env(&[]))).contains('\u{1b}'));
    assert!(shown(&Terminal::of_stdout(Colour::Always, &env(&[("NO_COLOR", "1")]))).contains('\u{1b}'));
}

#[test]
fn author_and_date_are_read_from_odd_commits_too() {
    let facts = |raw: &[u8]| CommitFacts::of_raw(raw);
    let plain = facts(&raw_commit(&id(COMMIT)).unwrap()).unwrap();
    assert_eq!((plain.author.to_string(), plain.message.to_string()), ("A U Thor".into(), "subject\n\nbody".into()));
    let odd = facts(b"author X > Y < Z <a>b> -100 +0000\n\nm").unwrap();
    assert_eq!(odd.date.as_deref(), Some("1969-12-31T23:58:20Z"));
    let no_date = facts(b"author N <m> never\n\n").unwrap();
    assert_eq!((no_date.date, no_date.email.to_string()), (None, "m".to_owned()));
    assert_eq!(facts(b"author N <m> 99999999999999999999 +0000\n\n").unwrap().date, None);
    assert_eq!(facts(b"tree x\n\nauthor in the message <m> 1 +0000\n"), None);
    assert_eq!(facts(b""), None);
}

#[test]
fn gitleaks_report_is_that_of_gitleaks_byte_for_byte() {
    let Some(program) = real_gitleaks() else { return };
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let rules = "[[rules]]\nid = \"a<b\"\ndescription = \"Words & \\\"more\\\"\"\nregex = '''odd[\\s\\S]{0,9}end[0-9]+'''\n\
                 tags = [\"one\", \"tw<o\"]\n[[rules]]\nid = \"plain\"\nregex = '''even(\\w+)'''\n";
    std::fs::write(sandbox.path("rules.toml"), rules).unwrap();
    repo.write("a &b.txt", "x\nodd<>&\u{2028}end12\n\tevenwords éé evenmore\n");
    repo.write("ünder/b", b"odd\x01\"\\\nend7\nodd\xED\xA0\x80end9 evenzzz");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "subject <&>\n\nbody \u{2028} \"quoted\"\n\n"]);
    repo.commit("c.txt", "odd end3 evenlast");
    let output = sandbox
        .command(&program)
        .args(["git", "--no-banner", "--exit-code", "0", "-f", "json", "-r", "-", "-c"])
        .arg(sandbox.path("rules.toml"))
        .arg(&repo.dir)
        .output()
        .unwrap();
    let theirs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(theirs.len() >= 7, "{theirs:?}");
    let findings: Vec<Finding> = theirs.iter().map(as_finding).collect();
    let findings: Vec<Reported<'_>> = findings.iter().map(reported).collect();
    let commits = |id: &ObjectId| {
        let output =
            sandbox.command("git").current_dir(&repo.dir).args(["cat-file", "commit", &id.to_string()]).output();
        Some(output.unwrap().stdout)
    };
    let judgement = Judgement {
        verdict: &found(),
        findings: &findings,
        suppressed: &[],
        coverage: None,
        destinations: &[],
        notes: &[],
        payload: Tally::default(),
        elapsed: Duration::ZERO,
        directory: &repo.dir,
        commits: &commits,
    };
    let mut ours = Vec::new();
    report::write(&judgement, Format::Gitleaks, &mut ours, &Terminal::plain()).unwrap();
    assert_eq!(String::from_utf8(ours).unwrap(), String::from_utf8(output.stdout).unwrap());
}

/// A byte that is no UTF-8 is a replacement character in a report.
fn bytes(value: &Value) -> Secret {
    let pieces: Vec<&[u8]> = text(value).split('\u{FFFD}').map(str::as_bytes).collect();
    Secret::new(pieces.join(&b'\xFF'))
}

/// An entry of gitleaks' report as the finding it was made of.
fn as_finding(entry: &Value) -> Finding {
    let number = |key: &str| entry[key].as_u64().unwrap();
    let mut finding = finding(text(&entry["File"]), "", text(&entry["Secret"]), "");
    finding.item.commit = Some(id(text(&entry["Commit"])));
    finding.rule = Arc::from(text(&entry["RuleID"]));
    finding.description = Arc::from(text(&entry["Description"]));
    (finding.line, finding.end_line) = (number("StartLine"), number("EndLine"));
    (finding.column, finding.end_column) = (number("StartColumn"), number("EndColumn"));
    (finding.matched, finding.secret) = (bytes(&entry["Match"]), bytes(&entry["Secret"]));
    finding.entropy = entry["Entropy"].as_f64().unwrap() as f32;
    finding.tags = list(&entry["Tags"]).iter().map(|tag| text(tag).to_owned()).collect::<Vec<_>>().into();
    finding
}
