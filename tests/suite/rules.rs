//! tyran's own rules find what they are for, and nothing else.

use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, RuleSet, example, trial, verify};
use tyran::scan::{Confidence, Finding};

fn engine() -> EmbeddedEngine {
    EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap()
}

fn findings(engine: &EmbeddedEngine, path: &str, text: &str) -> Vec<Finding> {
    trial::findings(engine, path, text).unwrap()
}

/// High and medium confidence refuse, unless configured otherwise.
fn refuses(finding: &Finding) -> bool {
    finding.confidence >= Confidence::Medium
}

fn refusing(engine: &EmbeddedEngine, path: &str, text: &str) -> Vec<String> {
    let found = findings(engine, path, text);
    found.iter().filter(|finding| refuses(finding)).map(|one| one.rule.to_string()).collect()
}

#[test]
fn every_rule_finds_what_it_describes_and_no_counter_example() {
    let engine = engine();
    let whole = RuleSet::builtin_with_examples().unwrap();
    let rules = whole.rules();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let part = |part| {
            let engine = &engine;
            scope.spawn(move || trial::try_rules(engine, part).iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let parts: Vec<_> = rules.chunks(rules.len().div_ceil(4)).map(part).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn rule_that_misses_its_example_or_takes_its_counter_example_is_told() {
    let set = |text: &str| RuleSet::parse(text, Origin::Text("rules.toml".to_owned()), Mode::Strict).unwrap();
    let faults = |text: &str| {
        let set = set(text);
        let engine = EmbeddedEngine::new(set.clone(), Options::default()).unwrap();
        trial::try_rules(&engine, set.rules()).len()
    };
    let rule = "[[rules]]\nid = 'acme'\nregex = 'acme_[0-9]{4}'\nkeywords = ['acme']\n";
    assert_eq!(faults(&format!("{rule}examples = ['acme_{{digits:4}}']\ncounter_examples = ['acme_12']\n")), 0);
    assert_eq!(faults(&format!("{rule}examples = ['acme_{{digits:3}}']\n")), 1);
    assert_eq!(faults(&format!("{rule}counter_examples = ['acme_{{digits:4}}']\n")), 1);
}

#[test]
fn page_of_rules_is_up_to_date() {
    let page = tyran::cli::rules::page(&RuleSet::builtin().unwrap());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "make it again: tyran rules list --format markdown > docs/rules.md");
}

#[test]
fn every_rule_says_what_it_is_about() {
    let rules = RuleSet::builtin().unwrap();
    assert!(rules.rules().len() >= 500, "only {} rules", rules.rules().len());
    for rule in rules.rules() {
        assert!(!rule.description.is_empty(), "{}", rule.id);
        assert!(rule.url.as_deref().is_some_and(|url| url.starts_with("https://")), "{} has no address", rule.id);
        assert!(rule.path().is_some() || !rule.keywords.is_empty(), "{} has no keyword", rule.id);
        let is_name =
            |id: &str| id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        assert!(is_name(&rule.id), "{}", rule.id);
    }
}

#[test]
fn validators_accept_what_they_seal_and_nothing_near_it() {
    let bodies = [
        ("github-crc32", "ghx_{base62:30}"),
        ("gitlab-routable", "glpat-{base64url:36}.01."),
        ("atlassian", "ATBB{base62:24}"),
        ("grafana-service-account", "glsa_{base62:32}_"),
        ("azure-key", "{base64:76}+ASt"),
        ("azure-key", "{base64:33}+ASb"),
        ("azure-key", "{base64:42}+ACR"),
        ("azure-key", "{base64url:44}AzFu"),
        ("entra-secret", "{base62:3}8Q~{base62:31}"),
        ("azure-cask", "{base62:52}JQQJ99BC{base62:12}AAABACOG"),
        ("bech32", "AGE-SECRET-KEY-1{[02-9AC-HJ-NP-Z]:52}"),
        ("nkey", "SUA{base32:51}"),
        ("base58check", "K{[1-9A-HJ-NP-Za-km-z]:44}"),
    ];
    for (name, body) in bodies {
        let validator = verify::named(name).unwrap();
        for seed in 0..20 {
            let body = example::expand(body, seed).unwrap().text;
            let seal = String::from_utf8(validator.seal(body.as_bytes()).unwrap()).unwrap();
            let token = format!("{body}{seal}");
            assert_eq!(validator.check(token.as_bytes(), b""), verify::Validity::Valid, "{name} {token}");
            let mut near = token.clone().into_bytes();
            near[9] = if near[9] == b'Q' { b'7' } else { b'Q' };
            assert_eq!(validator.check(&near, b""), verify::Validity::Invalid, "{name}, near {token}");
        }
    }
}

#[test]
fn marvin_gives_the_published_vectors() {
    // SymCrypt's and .NET's: (seed, data, 64-bit hash).
    let vectors: [(u64, &[u8], u64); 4] = [
        (0x004F_B61A_001B_DBCC, &[], 0x30ED_35C1_00CD_3C7D),
        (0x004F_B61A_001B_DBCC, &[0xAF], 0x48E7_3FC7_7D75_DDC1),
        (0x004F_B61A_001B_DBCC, &[0xE7, 0x0F], 0xB5F6_E1FC_485D_BFF8),
        (0x004F_B61A_001B_DBCC, &[0x37, 0xF4, 0x95], 0xF0B0_7C78_9B8C_F7E8),
    ];
    for (seed, data, hash) in vectors {
        let folded = u32::try_from(hash >> 32).unwrap() ^ u32::try_from(hash & 0xFFFF_FFFF).unwrap();
        assert_eq!(verify::marvin32(data, seed), folded, "{data:?}");
    }
}

#[test]
fn failed_checksum_is_a_note_and_a_right_one_is_sure() {
    let engine = engine();
    let token = crate::support::planted::github_token(11);
    let sure = findings(&engine, "", &format!("key: {token}\n"));
    assert!(sure.iter().any(|one| &*one.rule == "github-pat" && one.confidence == Confidence::High));
    let broken: String = token.chars().rev().take(36).collect::<Vec<_>>().into_iter().rev().collect();
    let broken = format!("{}_{}", concat!("gh", "p"), broken.chars().rev().collect::<String>());
    let noted = findings(&engine, "", &format!("key: {broken}\n"));
    assert!(noted.iter().all(|one| !refuses(one)), "{noted:?}");
    assert!(noted.iter().any(|one| &*one.rule == "github-pat" && one.confidence == Confidence::Note));
}

#[test]
fn words_are_told_from_random_letters() {
    use verify::strength::{Strength, password, token};
    assert!(verify::words::lists_are_sorted());
    for text in
        ["hunter2", "mysecretpassword", "password123", "passw0rd", "correct horse battery staple", "${DB_PASSWORD}"]
    {
        assert!(password(text.as_bytes()) <= Strength::Weak, "{text}");
    }
    for text in ["registry-credentials", "PBKDF2WithHmacSHA256", "x-api-key-authorization", "your_jwt_secret_here"] {
        assert!(token(text.as_bytes()) <= Strength::Weak, "{text}");
    }
    for seed in 0..200 {
        let text = example::expand("{base62:32}", seed).unwrap().text;
        assert_eq!(token(text.as_bytes()), Strength::Random, "{text}");
        let text = example::expand("{one:Maple|Timber|Falcon|Ember}{one:!|#|-}{digits:4}", seed).unwrap().text;
        assert!(password(text.as_bytes()) >= Strength::Chosen, "{text}");
    }
}

#[test]
fn general_rule_yields_to_the_one_that_knows_the_form() {
    let token = crate::support::planted::github_token(12);
    let rules: Vec<String> = refusing(&engine(), "app.env", &format!("ACCESS_TOKEN={token}\n"));
    assert_eq!(rules, ["github-pat"]);
}

#[test]
fn shape_and_names_without_each_other_are_refused() {
    let refused = |text: &str| RuleSet::parse(text, Origin::Text("rules.toml".to_owned()), Mode::Strict).is_err();
    assert!(refused("[[rules]]\nid = 'one'\nnames = ['acme *']\n"));
    assert!(refused("[[rules]]\nid = 'one'\nvalue = 'x'\n"));
    assert!(refused("[[rules]]\nid = 'one'\nshape = '{base99:3}'\n"));
    assert!(refused("[[rules]]\nid = 'one'\nshape = 'acme_{hex:32}'\nregex = 'x'\n"));
    assert!(!refused("[[rules]]\nid = 'one'\nshape = 'acme_{hex:32}'\n"));
}

/// Made-up credentials in documented shapes, and look-alikes; absent elsewhere.
#[test]
fn rules_hold_on_the_shared_set() {
    let Some(archive) = crate::support::shared("detection/open.tar.gz") else { return };
    let file = std::fs::File::open(archive).unwrap();
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let engine = engine();
    let mut flagged = 0;
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let Some(path) = path.strip_prefix("neg/").filter(|path| !path.ends_with('/')) else { continue };
        let path = path.to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        flagged += usize::from(!refusing(&engine, &path, &text).is_empty());
    }
    assert!(flagged <= 6, "{flagged} look-alikes are flagged");
}
