//! The embedded engine finds what gitleaks finds, and what gitleaks passes over.

use std::sync::Arc;

use tyran::payload::{Content, Item, ItemKind, Tally};
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet};
use tyran::scan::{Engine, Finding};

use crate::support::planted;

fn rules(text: &str, mode: Mode) -> Result<Arc<RuleSet>, String> {
    RuleSet::parse(text, Origin::Text("rules.toml".to_owned()), mode).map_err(|fault| fault.to_string())
}

fn item(kind: ItemKind, path: &str, size: usize) -> Item {
    let path = (!path.is_empty()).then(|| path.into());
    Item { kind, oid: None, size: size as u64, path, commit: None }
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
        set.rules().iter().map(one).collect()
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
