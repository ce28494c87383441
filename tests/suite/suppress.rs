//! A suppression counts when it was reviewed, which is when it stands on the other side.

use std::ffi::OsString;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use clap::Parser;
use tyran::command::plan::{CommitRequest, CommitVerb, GitContext, MovedTo, PushRequest, PushVia, State};
use tyran::payload::push::{Network, PushOptions};
use tyran::payload::{Content, Fault, ItemKind, Payload, RemoteSide, Texts, commit, push, remote};
use tyran::scan::fingerprint::Fingerprint;
use tyran::scan::suppress::{self, Outcome, allow_file};
use tyran::scan::{Confidence, Finding, Secret, Severity};
use tyran::world::{Caution, World};

use crate::support::{Repo, Sandbox, planted};

const RULE: &str = "gitlab-personal-access-token";

fn token(seed: u64) -> String {
    format!("gl{}t-{}", "pa", planted::characters(seed, "abcdefghijklmnopqrstuvwxyz0123456789", 20))
}

fn context(repo: &Repo<'_>) -> (World, GitContext) {
    let env: tyran::world::Environment = repo.sandbox.env().into_iter().collect();
    let world = World::new(env.clone(), repo.dir.clone(), Caution::ByHand);
    (world, GitContext { dir: repo.dir.clone(), env, globals: Vec::new() })
}

fn push(repo: &Repo<'_>, args: &[&str]) -> Payload {
    let (world, git) = context(repo);
    let args = args.iter().map(|word| Some(OsString::from(word))).collect();
    let request = PushRequest { git, args, state: State::AsNow, moved_to: MovedTo::default(), via: PushVia::Push };
    push::payload(&world, &request, PushOptions::new(Network::Unasked)).unwrap().payload
}

/// What an engine with one rule would find of these secrets.
fn find(payload: &Payload, secrets: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, part) in payload.parts.iter().enumerate() {
        let mut reader = part.source.reader().unwrap();
        for item in &part.items {
            let mut bytes = Vec::new();
            reader
                .read(item, &mut |content| {
                    match content {
                        Content::Whole(whole) => bytes.extend_from_slice(whole),
                        Content::Stream(stream) => drop(stream.read_to_end(&mut bytes).unwrap()),
                    }
                    Ok(())
                })
                .unwrap();
            for secret in secrets {
                for start in bytes.find_iter(secret) {
                    let line_start = bytes[..start].rfind_byte(b'\n').map_or(0, |end| end + 1);
                    let line_end = bytes[start..].find_byte(b'\n').map_or(bytes.len(), |end| start + end);
                    let line = bytes[..start].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                    let column = (start - line_start) as u64 + 1;
                    findings.push(Finding {
                        rule: RULE.into(),
                        description: "a token".into(),
                        engine: "embedded",
                        item: item.clone(),
                        part: place,
                        start: start as u64,
                        end: (start + secret.len()) as u64,
                        line,
                        end_line: line,
                        column,
                        end_column: column + secret.len() as u64 - 1,
                        matched: Secret::new(*secret),
                        secret: Secret::new(*secret),
                        line_text: Secret::new(&bytes[line_start..line_end]),
                        entropy: 4.0,
                        tags: Arc::from([]),
                        severity: Severity::High,
                        confidence: Confidence::High,
                        within: Vec::new(),
                        remedy: None,
                    });
                }
            }
        }
    }
    assert!(!findings.is_empty(), "the payload does not hold the secret");
    findings
}

fn apply(payload: &Payload, secrets: &[&str]) -> Outcome {
    suppress::apply(find(payload, secrets), payload).unwrap()
}

fn is_kept(payload: &Payload, secret: &str) -> bool {
    let outcome = apply(payload, &[secret]);
    assert!(outcome.kept.is_empty() || outcome.suppressed.is_empty(), "{outcome:?}");
    !outcome.kept.is_empty()
}

/// `tyran allow` in the repository.
fn allow(repo: &Repo<'_>, fingerprint: &Fingerprint, reason: &str) -> Result<(), String> {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: tyran::cli::allow::Arguments,
    }
    let dir = repo.dir.to_str().unwrap().to_owned();
    let line = Line::parse_from(["allow", &fingerprint.to_string(), "--reason", reason, "-C", &dir]);
    tyran::cli::allow::run(&line.arguments).map(drop).map_err(|refusal| refusal.to_string())
}

/// A repository whose main is on origin, with a commit on `feature` that holds the secret.
fn feature<'a>(sandbox: &'a Sandbox, secret: &str) -> Repo<'a> {
    let repo = sandbox.repo("r");
    repo.commit("README", "readme\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.commit("tests/fixture.py", format!("fixture = '{secret}'\n"));
    repo
}

fn publish_on_main(repo: &Repo<'_>, path: &str, bytes: &[u8]) {
    repo.git(&["checkout", "-q", "main"]);
    repo.commit(path, bytes);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "feature"]);
}

fn entry_for(payload: &Payload, secret: &str) -> Vec<u8> {
    let fingerprint = Fingerprint::of(&find(payload, &[secret])[0]);
    allow_file::add(b"", &fingerprint, "made for a test", "2026-11-30").unwrap()
}

#[test]
fn fingerprint_is_the_same_whatever_commit_and_line() {
    let sandbox = Sandbox::new();
    let secret = token(1);
    let repo = feature(&sandbox, &secret);
    let before = Fingerprint::of(&find(&push(&repo, &["origin", "feature"]), &[&secret])[0]);
    repo.commit("tests/fixture.py", format!("# moved\n\nfixture = '{secret}'\n"));
    let payload = push(&repo, &["origin", "feature"]);
    let findings = find(&payload, &[&secret]);
    assert_eq!(findings.len(), 2);
    for fingerprint in findings.iter().map(Fingerprint::of) {
        assert_eq!(fingerprint, before);
    }
    assert_eq!(Fingerprint::parse(before.to_string().as_bytes()), Some(before));
}

#[test]
fn fingerprint_tells_secrets_rules_and_paths_apart_and_none_of_the_secret() {
    let secret = token(2);
    let payload = |path: &str, secret: &str| {
        let mut payload =
            Payload { parts: vec![Texts::part([(ItemKind::Message, secret.into())])], ..Payload::default() };
        let mut findings = find(&payload, &[secret]);
        findings[0].item.kind = ItemKind::Blob;
        findings[0].item.path = Some(path.into());
        payload.parts.clear();
        findings.remove(0)
    };
    let one = payload("a b/\u{1F600}:c%20", &secret);
    let print = Fingerprint::of(&one);
    assert!(!print.to_string().contains(&secret[6..]));
    assert!(print.to_string().bytes().all(|byte| byte.is_ascii_graphic()), "{print}");
    assert_eq!(Fingerprint::parse(print.to_string().as_bytes()), Some(print.clone()));
    assert_ne!(Fingerprint::of(&payload("other", &secret)).hash, print.hash);
    assert_ne!(Fingerprint::of(&payload("a b/\u{1F600}:c%20", &token(3))).hash, print.hash);
    let mut other_rule = one;
    other_rule.rule = "another".into();
    assert_ne!(Fingerprint::of(&other_rule).hash, print.hash);
    for text in ["", "a:b", "a:b:c", ":r:00112233445566778899aabbccddeeff", "a::00112233445566778899aabbccddeeff"] {
        assert_eq!(Fingerprint::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn reviewed_entry_on_the_other_side_counts_after_rebase_and_moved_lines() {
    let sandbox = Sandbox::new();
    let secret = token(4);
    let repo = feature(&sandbox, &secret);
    let file = entry_for(&push(&repo, &["origin", "feature"]), &secret);
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret));
    publish_on_main(&repo, ".tyran-allow", &file);
    repo.git(&["rebase", "-q", "main"]);
    repo.commit("tests/fixture.py", format!("\n\n# lines moved\nfixture = '{secret}'\n"));
    let payload = push(&repo, &["origin", "feature"]);
    let outcome = apply(&payload, &[&secret]);
    assert!(outcome.kept.is_empty(), "{outcome:?}");
    let first = &outcome.suppressed[0];
    assert_eq!(first.by.as_str(), ".tyran-allow:3");
    assert_eq!(first.reason.as_str(), "made for a test");
    let other = token(5);
    repo.commit("tests/fixture.py", format!("fixture = '{other}'\n"));
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &other), "another secret at the same place");
}

#[test]
fn entry_that_is_not_on_the_other_side_does_not_count() {
    let sandbox = Sandbox::new();
    let secret = token(6);
    let repo = feature(&sandbox, &secret);
    let file = entry_for(&push(&repo, &["origin", "feature"]), &secret);
    repo.write(".tyran-allow", &file);
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret), "an untracked file counted");
    repo.git(&["add", "-A"]);
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret), "a staged file counted");
    repo.git(&["commit", "-q", "-m", "allow"]);
    let payload = push(&repo, &["origin", "feature"]);
    assert!(is_kept(&payload, &secret), "a file of the payload counted");
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret), "a forged tracking ref counted");
    let widened = suppress::widened(&payload).unwrap();
    assert_eq!(widened.len(), 1);
    assert_eq!(widened[0].path.as_str(), ".tyran-allow");
}

#[test]
fn first_push_knows_no_suppression() {
    let sandbox = Sandbox::new();
    let secret = token(7);
    let repo = feature(&sandbox, &secret);
    publish_on_main(&repo, ".tyran-allow", &entry_for(&push(&repo, &["origin", "feature"]), &secret));
    sandbox.git("", &["init", "-q", "--bare", "other.git"]);
    let other = sandbox.path("other.git");
    assert!(!is_kept(&push(&repo, &["origin", "feature"]), &secret));
    assert!(is_kept(&push(&repo, &[other.to_str().unwrap(), "feature"]), &secret));
}

#[test]
fn every_destination_must_hold_the_entry() {
    let sandbox = Sandbox::new();
    let secret = token(8);
    let repo = feature(&sandbox, &secret);
    publish_on_main(&repo, ".tyran-allow", &entry_for(&push(&repo, &["origin", "feature"]), &secret));
    sandbox.git("", &["init", "-q", "--bare", "other.git"]);
    let origin = sandbox.path("r.git");
    for url in [origin.to_str().unwrap(), sandbox.path("other.git").to_str().unwrap()] {
        repo.git(&["remote", "set-url", "--add", "--push", "origin", url]);
    }
    let payload = push(&repo, &["origin", "feature"]);
    assert_eq!(payload.destinations.len(), 2);
    assert!(is_kept(&payload, &secret));
}

#[test]
fn fixture_that_gitleaks_accepts_on_main_passes_after_a_rebase() {
    let sandbox = Sandbox::new();
    let secret = token(9);
    let repo = feature(&sandbox, &secret);
    let old = repo.git(&["rev-parse", "HEAD"]);
    let file = format!("{old}:tests/fixture.py:gitlab-pat:1\ntests/fixture.py:gitlab-pat:1\n");
    publish_on_main(&repo, ".gitleaksignore", file.as_bytes());
    repo.git(&["rebase", "-q", "main"]);
    let outcome = apply(&push(&repo, &["origin", "feature"]), &[&secret]);
    assert!(outcome.kept.is_empty());
    assert_eq!(outcome.suppressed[0].by.as_str(), ".gitleaksignore:2");
}

#[test]
fn gitleaks_entries_accept_only_their_place() {
    for (entry, counts) in [
        ("tests/fixture.py:gitlab-pat:1", true),
        ("  tests\\fixture.py:gitlab-pat:1  ", true),
        ("tests/fixture.py:gitlab-pat:2", false),
        ("tests/other.py:gitlab-pat:1", false),
        ("tests/fixture.py:slack-bot-token:1", false),
        ("0123456789012345678901234567890123456789:tests/fixture.py:gitlab-pat:1", false),
        ("HEAD:tests/fixture.py:gitlab-pat:1", true),
        ("# tests/fixture.py:gitlab-pat:1", false),
    ] {
        let sandbox = Sandbox::new();
        let secret = token(10);
        let repo = feature(&sandbox, &secret);
        let head = repo.git(&["rev-parse", "HEAD"]);
        publish_on_main(&repo, ".gitleaksignore", entry.replace("HEAD", &head).as_bytes());
        assert_eq!(!is_kept(&push(&repo, &["origin", "feature"]), &secret), counts, "{entry}");
    }
}

#[test]
fn ignore_file_that_nobody_can_see_does_not_count() {
    let sandbox = Sandbox::new();
    let secret = token(11);
    let repo = feature(&sandbox, &secret);
    repo.write(".git/info/exclude", ".gitleaksignore\n");
    repo.write(".gitleaksignore", "tests/fixture.py:gitlab-pat:1\n");
    assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret));
}

#[test]
fn baseline_accepts_its_secrets_and_redacted_ones_only_at_their_place() {
    let secret = token(12);
    for (shown, line, counts) in [
        (secret.as_str(), 1, true),
        (secret.as_str(), 9, true),
        ("REDACTED", 1, true),
        ("REDACTED", 2, false),
        ("other", 1, false),
    ] {
        let sandbox = Sandbox::new();
        let repo = feature(&sandbox, &secret);
        let commit = repo.git(&["rev-parse", "HEAD"]);
        let end = 12 + secret.len() - 1;
        let baseline = serde_json::json!([{
            "RuleID": "gitlab-pat", "Description": "", "StartLine": line, "EndLine": line, "StartColumn": 12,
            "EndColumn": end, "Match": shown, "Secret": shown, "File": "tests/fixture.py", "Commit": commit,
        }]);
        publish_on_main(&repo, ".gitleaks-baseline.json", baseline.to_string().as_bytes());
        assert_eq!(!is_kept(&push(&repo, &["origin", "feature"]), &secret), counts, "{shown} {line}");
    }
}

#[test]
fn baseline_that_cannot_be_read_accepts_nothing_and_is_told() {
    let sandbox = Sandbox::new();
    let secret = token(13);
    let repo = feature(&sandbox, &secret);
    publish_on_main(&repo, ".gitleaks-baseline.json", b"[{]");
    let outcome = apply(&push(&repo, &["origin", "feature"]), &[&secret]);
    assert_eq!(outcome.kept.len(), 1);
    assert!(outcome.notes[0].as_str().contains("cannot be read"));
}

#[test]
fn allowlists_of_the_reviewed_configuration_count() {
    let secret = token(77);
    for (config, accepted) in [
        ("[allowlist]\npaths = ['''tests/.*''']\n", true),
        ("[[allowlists]]\nregexes = ['''^fixture = ''']\nregexTarget = 'line'\n", true),
        ("[[allowlists]]\ntargetRules = ['gitlab-pat']\npaths = ['''^tests/''']\n", true),
        ("[[rules]]\nid = 'gitlab-pat'\nregex = 'x'\n[[rules.allowlists]]\npaths = ['''fixture''']\n", true),
        ("[[allowlists]]\ntargetRules = ['slack-bot-token']\npaths = ['''^tests/''']\n", false),
        ("[[allowlists]]\ncondition = 'AND'\npaths = ['''^tests/''']\nstopwords = ['absent']\n", false),
        ("[allowlist]\npaths = ['''docs/.*''']\n", false),
        ("[extend]\nuseDefault = true\ndisabledRules = ['gitlab-pat']\n", false),
        ("[allowlist]\npaths = ['''(''']\n", false),
    ] {
        let sandbox = Sandbox::new();
        let repo = feature(&sandbox, &secret);
        assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret));
        publish_on_main(&repo, ".gitleaks.toml", config.as_bytes());
        assert_eq!(is_kept(&push(&repo, &["origin", "feature"]), &secret), !accepted, "{config}");
    }
}

#[test]
fn inline_comment_counts_only_where_the_identical_line_is_there() {
    for comment in ["gitleaks:allow", "tyran:allow"] {
        let sandbox = Sandbox::new();
        let secret = token(14);
        let repo = feature(&sandbox, &secret);
        let line = format!("key = '{secret}' # {comment}\n");
        repo.commit("app.py", &line);
        assert!(is_kept(&push(&repo, &["origin", "feature"]), &secret), "a comment of the payload counted");
        publish_on_main(&repo, "app.py", line.as_bytes());
        repo.git(&["reset", "-q", "--hard", "main"]);
        repo.commit("app.py", format!("# a new line above\n{line}"));
        let outcome = apply(&push(&repo, &["origin", "feature"]), &[&secret]);
        assert!(outcome.kept.is_empty());
        assert!(outcome.suppressed[0].by.as_str().contains(comment));
        repo.commit("app.py", line.replace(" #", "  #"));
        let outcome = apply(&push(&repo, &["origin", "feature"]), &[&secret]);
        assert_eq!((outcome.kept.len(), outcome.suppressed.len()), (1, 1), "a line that only looks alike counted");
    }
}

/// git sends a file again that moves to another folder. What was accepted in it is accepted still, and who is
/// refused for the rest is told why it is read at all.
#[test]
fn what_is_accepted_in_a_file_is_accepted_where_the_file_moves_to() {
    let sandbox = Sandbox::new();
    let [by_comment, by_entry, never] = [token(40), token(41), token(42)];
    let repo = feature(&sandbox, &by_entry);
    let entry = entry_for(&push(&repo, &["origin", "feature"]), &by_entry);
    publish_on_main(&repo, ".tyran-allow", &entry);
    publish_on_main(&repo, "tests/fixture.py", format!("fixture = '{by_entry}'\n").as_bytes());
    publish_on_main(&repo, "tests/commented.py", format!("key = '{by_comment}' # tyran:allow\n").as_bytes());
    publish_on_main(&repo, "tests/open.py", format!("key = '{never}'\n").as_bytes());
    repo.git(&["reset", "-q", "--hard", "main"]);
    let secrets = [by_comment.as_str(), by_entry.as_str(), never.as_str()];
    for file in ["fixture.py", "commented.py", "open.py"] {
        repo.write(&format!("moved/{file}"), std::fs::read(repo.dir.join("tests").join(file)).unwrap());
    }
    // A folder that only changes its name is the same tree, and is not sent again.
    repo.write("moved/new.py", "new\n");
    repo.git(&["rm", "-rqf", "tests"]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "moved"]);
    let outcome = apply(&push(&repo, &["origin", "feature"]), &secrets);
    let by: Vec<&str> = outcome.suppressed.iter().map(|suppressed| suppressed.by.as_str()).collect();
    assert!(by.len() == 2 && by.iter().any(|by| by.contains("comment")), "{outcome:?}");
    assert!(by.contains(&".tyran-allow:3"), "{outcome:?}");
    assert_eq!(outcome.kept.len(), 1, "{outcome:?}");
    assert_eq!(outcome.kept[0].0.secret.expose(), never.as_bytes());
    assert_eq!(outcome.notes.len(), 1, "{outcome:?}");
    assert!(outcome.notes[0].as_str().contains("git sends these again"), "{outcome:?}");
    // A changed file is another one: the entry spoke of its old place.
    repo.write("moved/fixture.py", format!("# changed\nfixture = '{by_entry}'\n"));
    repo.git(&["commit", "-qam", "changed"]);
    let outcome = apply(&push(&repo, &["origin", "feature"]), &[&by_entry]);
    assert_eq!((outcome.kept.len(), outcome.suppressed.len()), (1, 1), "{outcome:?}");
}

#[test]
fn commit_takes_what_tracking_refs_say() {
    let sandbox = Sandbox::new();
    let secret = token(15);
    let repo = feature(&sandbox, &secret);
    publish_on_main(&repo, ".tyran-allow", &entry_for(&push(&repo, &["origin", "feature"]), &secret));
    repo.write("tests/fixture.py", format!("changed = '{secret}'\n"));
    let (world, git) = context(&repo);
    let request = CommitRequest {
        git,
        verb: CommitVerb::Commit,
        args: vec![Some("-am".into()), Some("x".into())],
        steps: Vec::new(),
        written: Vec::new(),
        state: State::AsNow,
    };
    assert!(!is_kept(&commit::payload(&world, &request).unwrap(), &secret));
}

#[test]
fn absorbed_payload_keeps_its_own_sides() {
    let sandbox = Sandbox::new();
    let secret = token(16);
    let repo = feature(&sandbox, &secret);
    publish_on_main(&repo, ".tyran-allow", &entry_for(&push(&repo, &["origin", "feature"]), &secret));
    let mut payload =
        Payload { parts: vec![Texts::part([(ItemKind::Message, secret.as_str().into())])], ..Payload::default() };
    payload.absorb(push(&repo, &["origin", "feature"]));
    let outcome = apply(&payload, &[&secret]);
    assert_eq!((outcome.kept.len(), outcome.suppressed.len()), (1, 1), "{outcome:?}");
}

/// A side that shows one version of one file.
#[derive(Debug)]
struct Shows(BString, Vec<u8>);

impl RemoteSide for Shows {
    fn versions(&self, path: &BStr) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(if *path == *self.0 { vec![self.1.clone()] } else { Vec::new() })
    }
}

/// Whether a commit of `after` over a side that shows `before` is a question.
fn asks(path: &str, before: Option<&str>, after: &str) -> bool {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit(path, after);
    let mut payload = push(&repo, &["origin", "main"]);
    payload.sides.clear();
    match before {
        Some(before) => payload.all_to(Arc::new(Shows(path.into(), before.into()))),
        None => payload.all_to(Arc::new(remote::ShowsNothing)),
    }
    !suppress::widened(&payload).unwrap().is_empty()
}

#[test]
fn payload_that_adds_a_suppression_is_a_question() {
    let one = "a:gitlab-pat:1\n";
    let two = "a:gitlab-pat:1\nb:gitlab-pat:2\n";
    assert!(asks(".gitleaksignore", None, one));
    assert!(asks(".gitleaksignore", Some(one), two));
    assert!(!asks(".gitleaksignore", Some(two), one));
    assert!(!asks(".gitleaksignore", Some(two), two));
    assert!(!asks(".gitleaksignore", Some(one), "# a comment\n\na:gitlab-pat:1\n"));
    assert!(!asks("docs/.gitleaksignore", None, one), "only the one at the top is read");
    let hash = |digit: char| digit.to_string().repeat(32);
    let line = |digit: char| format!("{} 2026-11-30 rule path # reason\n", hash(digit));
    let salted = |lines: &str| format!("salt {}\n{lines}", hash('0'));
    assert!(asks(".tyran-allow", None, &salted(&line('1'))));
    assert!(asks(".tyran-allow", Some(&salted(&line('1'))), &salted(&(line('1') + &line('2')))));
    assert!(!asks(".tyran-allow", Some(&salted(&(line('1') + &line('2')))), &salted(&line('2'))));
    assert!(asks(".gitleaks-baseline.json", Some("[]"), "[{}]"));
    assert!(asks(".gitleaks-baseline.json", Some("[]"), "not json"));
    assert!(!asks(".gitleaks-baseline.json", Some("not json"), "not json"));
}

#[test]
fn configuration_that_looks_away_is_a_question() {
    let rules = "[[rules]]\nid = 'a'\nregex = 'a'\nentropy = 3.0\n[[rules]]\nid = 'b'\nregex = 'b'\n";
    for (after, question) in [
        (format!("[extend]\nuseDefault = true\n{rules}"), false),
        (format!("title = 'another'\n{rules}"), false),
        (format!("{rules}[[rules]]\nid = 'c'\nregex = 'c'\n"), false),
        (format!("{rules}[allowlist]\npaths = ['x']\n"), true),
        (format!("{rules}[[allowlists]]\nstopwords = ['x']\n"), true),
        (format!("{rules}[[rules.allowlists]]\nregexes = ['x']\n"), true),
        (format!("[extend]\ndisabledRules = ['a']\n{rules}"), true),
        ("[[rules]]\nid = 'a'\nregex = 'a'\nentropy = 3.0\n".to_owned(), true),
        (rules.replace("3.0", "4.5"), true),
        (rules.replace("'b'\n", "'bc'\n"), true),
        (rules.replace("[[rules]]\nid = 'b'", "[[rules]]\nenabled = false\nid = 'b'"), true),
        (format!("{rules}= broken"), true),
    ] {
        assert_eq!(asks(".gitleaks.toml", Some(rules), &after), question, "{after}");
    }
    let both = "[allowlist]\ncondition = 'AND'\npaths = ['x']\nregexes = ['y']\n";
    assert!(asks(".gitleaks.toml", Some(both), "[allowlist]\npaths = ['x']\nregexes = ['y']\n"));
    assert!(asks(".gitleaks.toml", Some(both), "[allowlist]\ncondition = 'AND'\npaths = ['x']\n"));
    assert!(!asks(".gitleaks.toml", Some(both), both));
    let targeted = "[[allowlists]]\ntargetRules = ['a']\nregexes = ['y', 'z']\n";
    assert!(asks(".gitleaks.toml", Some(targeted), "[[allowlists]]\nregexes = ['y']\n"));
    assert!(!asks(".gitleaks.toml", Some(targeted), "[[allowlists]]\ntargetRules = ['a']\nregexes = ['y']\n"));
    assert!(asks(".tyran.toml", None, "[allowlist]\npaths = ['x']\n"));
}

#[test]
fn suppression_for_a_registry_is_no_question() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit(".gitleaksignore", "a:b:1\n");
    let mut payload = push(&repo, &["origin", "main"]);
    payload.sides.clear();
    assert!(suppress::widened(&payload).unwrap().is_empty());
}

#[test]
fn entry_whose_file_holds_nothing_any_more_is_stale() {
    let sandbox = Sandbox::new();
    let secret = token(17);
    let repo = feature(&sandbox, &secret);
    let file = entry_for(&push(&repo, &["origin", "feature"]), &secret);
    publish_on_main(&repo, ".tyran-allow", &file);
    let payload = push(&repo, &["origin", "feature"]);
    let used = apply(&payload, &[&secret]);
    assert!(suppress::stale(&payload, &used).unwrap().is_empty());
    repo.git(&["reset", "-q", "--hard", "main"]);
    repo.commit("tests/fixture.py", "fixture = None\n");
    let payload = push(&repo, &["origin", "feature"]);
    let stale = suppress::stale(&payload, &Outcome::default()).unwrap();
    assert_eq!(stale.len(), 1);
    assert!(stale[0].as_str().contains(".tyran-allow:3"));
    repo.git(&["reset", "-q", "--hard", "main"]);
    repo.commit("elsewhere", "x\n");
    let payload = push(&repo, &["origin", "feature"]);
    assert!(suppress::stale(&payload, &Outcome::default()).unwrap().is_empty(), "its file is not in the payload");
}

#[test]
fn allow_writes_lines_that_merge_and_hold_nothing_of_the_secret() {
    let sandbox = Sandbox::new();
    let (one, two) = (token(18), token(19));
    let repo = feature(&sandbox, &one);
    repo.commit("b", &two);
    let payload = push(&repo, &["origin", "feature"]);
    let prints: Vec<Fingerprint> = find(&payload, &[&one, &two]).iter().map(Fingerprint::of).collect();
    allow(&repo, &prints[0], "the first").unwrap();
    let start = std::fs::read(repo.dir.join(".tyran-allow")).unwrap();
    allow(&repo, &prints[1], "the second # with a mark").unwrap();
    let text = std::fs::read_to_string(repo.dir.join(".tyran-allow")).unwrap();
    assert!(text.as_bytes().starts_with(&start), "earlier lines changed");
    assert_eq!(text.matches("salt ").count(), 1);
    assert!(!text.contains(&one[6..]) && !text.contains(&hex::encode(prints[0].hash)), "{text}");
    assert!(allow(&repo, &prints[0], "again").unwrap_err().contains("already"));
    assert!(allow(&repo, &prints[0], " ").unwrap_err().contains("reason"));
    // Two branches that began the file apart: both salts and both entries count after a merge by lines.
    let apart = allow_file::add(b"", &prints[1], "apart", "2026-11-30").unwrap();
    publish_on_main(&repo, ".tyran-allow", &[start.as_slice(), &apart].concat());
    let outcome = apply(&push(&repo, &["origin", "feature"]), &[&one, &two]);
    assert!(outcome.kept.is_empty(), "{outcome:?}");
}

#[test]
fn line_that_is_no_entry_accepts_nothing_and_is_told() {
    let file = allow_file::AllowFile::read(b"salt zz\nsomething else\n\n# comment\n");
    assert_eq!(file.unreadable.len(), 2);
}

#[test]
fn suppressing_file_that_is_a_copy_of_another_file_is_asked_about() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("notes/a.txt", "a.env:some-rule:1\n");
    repo.commit(".gitleaksignore", "a.env:some-rule:1\n");
    let output =
        sandbox.tyran().args(["scan-push", "-C"]).arg(&repo.dir).args(["origin", "HEAD:main"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", crate::support::shown(&output));
}

#[test]
fn findings_beyond_a_thousand_are_told_without_a_fingerprint() {
    let sandbox = Sandbox::new();
    let text: String = (0..1100).map(|seed| format!("{}\n", crate::support::planted::github_token(seed))).collect();
    std::fs::write(sandbox.path("many.txt"), text).unwrap();
    let output = sandbox
        .tyran()
        .args(["scan-files", "--format", "json", "many.txt"])
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = told["findings"].as_array().unwrap();
    assert!(findings.len() >= 1100);
    let has = |place: usize| !findings[place]["fingerprint"].as_str().unwrap().is_empty();
    assert!(has(0) && has(999) && !has(1000) && !has(findings.len() - 1));
}

#[test]
fn reviewed_findings_use_no_places_of_others_up() {
    let sandbox = Sandbox::new();
    let secrets: Vec<String> = (0..1050).map(token).collect();
    let repo = sandbox.repo("r");
    repo.commit("README", "readme\n");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.git(&["checkout", "-q", "-b", "feature"]);
    repo.commit("old.env", secrets.join("\n"));
    let accepted: String = (1..=1049).map(|line| format!("old.env:{RULE}:{line}\n")).collect();
    publish_on_main(&repo, ".gitleaksignore", accepted.as_bytes());
    let payload = push(&repo, &["origin", "feature"]);
    let shown: Vec<&str> = secrets.iter().map(String::as_str).collect();
    let findings = find(&payload, &shown);
    let last = findings.iter().find(|finding| finding.line == 1050).unwrap();
    let entry = allow_file::add(b"", &Fingerprint::of(last), "made for a test", "2026-11-30").unwrap();
    assert_eq!(apply(&payload, &shown).kept.len(), 1);
    publish_on_main(&repo, allow_file::NAME, &entry);
    let outcome = apply(&push(&repo, &["origin", "feature"]), &shown);
    assert_eq!((outcome.kept.len(), outcome.suppressed.len()), (0, 1050));
}
