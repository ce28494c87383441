//! tyran's own rules find what they are for, and nothing else.

use std::collections::{BTreeSet, HashMap};

use tyran::payload::{Content, Elsewhere, Item, ItemKind};
use tyran::scan::embedded::{EmbeddedEngine, Mode, Options, Origin, Rule, RuleSet, example, trial, verify};
use tyran::scan::{Confidence, Engine, Finding};

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
    let rules: Vec<_> = whole.rules().collect();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let engine = &engine;
        let try_part = |part: Vec<&Rule>| trial::try_rules(engine, part).iter().map(ToString::to_string).collect();
        let parts = rules.chunks(rules.len().div_ceil(4)).map(<[_]>::to_vec);
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || -> Vec<String> { try_part(part) })).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

/// A text in two other spellings: inside of longer words, and with other words behind a name.
fn respelt(text: &str) -> String {
    let behind = text.replace("_api_key", "ort backend_token").replace('=', ": ");
    text.lines().map(|line| format!("export ACME_{line}\n")).chain([behind]).collect()
}

/// What some rules describe, in other spellings: a text for each.
fn respelt_examples<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<String> {
    rules.map(|rule| respelt(&trial::texts_of(rule).unwrap().join("\n\n"))).collect()
}

/// What an engine finds in some texts: which of them, the rule, the place and the secret.
fn told(engine: &EmbeddedEngine, texts: &[String]) -> BTreeSet<(usize, String, u64, u64, Vec<u8>)> {
    let mut session = engine.session().unwrap();
    for (place, text) in texts.iter().enumerate() {
        let size = text.len() as u64;
        let item =
            Item { kind: ItemKind::Blob, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
        session.scan(&item, place, Content::Whole(text.as_bytes())).unwrap();
    }
    let findings = session.finish().unwrap().findings;
    let one = |one: &Finding| (one.part, one.rule.to_string(), one.start, one.end, one.secret.expose().to_vec());
    findings.iter().map(one).collect()
}

#[test]
fn rule_of_the_build_finds_something_only_where_one_of_its_keywords_stands() {
    let whole = RuleSet::builtin_with_examples().unwrap();
    let texts = respelt_examples(whole.rules());
    let keywords: HashMap<String, _> = whole.rules().map(|rule| (rule.id.to_string(), &rule.keywords)).collect();
    let lower: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
    let mut without = told(&engine(), &texts);
    assert!(without.len() > texts.len() / 2);
    without.retain(|(place, rule, ..)| {
        let words = keywords[rule];
        !words.is_empty() && !words.iter().any(|word| lower[*place].contains(word.as_str()))
    });
    assert!(without.is_empty(), "{} without a keyword: {without:#?}", without.len());
}

#[test]
fn rules_of_the_build_find_what_the_same_rules_of_a_file_find() {
    let whole = RuleSet::builtin_with_examples().unwrap();
    let (built, read) = (engine(), EmbeddedEngine::new(whole.clone(), Options::default()).unwrap());
    // To read the patterns of all takes long.
    let some: Vec<_> = whole.rules().step_by(25).collect();
    let texts = respelt_examples(some.iter().copied());
    let (one, other) = (told(&built, &texts), told(&read, &texts));
    let different: Vec<_> = one.symmetric_difference(&other).map(|only| (&some[only.0].id, only)).collect();
    assert!(different.is_empty(), "{} differ: {different:#?}", different.len());
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
    assert!(rules.len() >= 500, "only {} rules", rules.len());
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

/// Ways to give a value to a name, in code, configuration, prose and text within text; `@N` is the name in upper
/// case, `@n` in lower, `@c` in camel case, `@w` in words, `@v` the value.
const CONTEXTS: &[(&str, &str)] = &[
    (".env", "PORT=80\n@N=@v\nSTAGE=prod\n"),
    ("config/production.yaml", "settings:\n  @n: \"@v\"\n  timeout: 30s\n"),
    ("app.json", "{\n  \"name\": \"orders\",\n  \"@c\": \"@v\",\n  \"timeout\": 3\n}\n"),
    ("settings.py", "import os\n@N = \"@v\"\nTIMEOUT = 30\n"),
    ("client.ts", "const @c = '@v';\n"),
    ("client.go", "const (\n\tbase = \"https://x\"\n\t@c = \"@v\"\n)\n"),
    ("main.tf", "  variables = {\n    @n = \"@v\"\n    stage = \"prod\"\n  }\n"),
    ("Dockerfile", "FROM node\nENV @N=@v\nCOPY . .\n"),
    ("deploy.sh", "export @N='@v'\nmake release\n"),
    ("a.ipynb", "   \"source\": [\n    \"os.environ[\\\"@N\\\"] = \\\"@v\\\"\\n\"\n   ]\n"),
    ("body.json", "{\"body\": \"{\\\"x\\\": 1, \\\"@c\\\": \\\"@v\\\"}\"}\n"),
    ("twice.json", "{\"a\": \"{\\\"b\\\": \\\"{\\\\\\\"@c\\\\\\\": \\\\\\\"@v\\\\\\\"}\\\"}\"}\n"),
    ("docs/runbook.md", "The staging @w is `@v` (ask ops before you rotate it).\n"),
    ("docs/setup.md", "| name | value |\n|---|---|\n| @N | `@v` |\n"),
    ("README.md", "1. Set **@N** to @v\n"),
    ("export.csv", "service,key,value,rotated\norders,@N,\"@v\",2025-11-05\n"),
    ("app.log", "2026-03-02T14:22:09.420Z DEBUG [main] config loaded @N=@v region=eu\n"),
    ("app.min.js", "var a=1;var cf={env:\"production\",@c:\"@v\",debug:!1};e.exports={chunk:253};\n"),
    ("service.properties", "server.port=8443\n@n=@v\nserver.threads=64\n"),
    ("config.xml", "<configuration>\n  <add key=\"@c\" value=\"@v\" />\n</configuration>\n"),
    ("config.rb", "ENV['@N'] ||= '@v'\n"),
    ("config.php", "return [\n    '@n' => '@v',\n];\n"),
    ("main.rs", "const @N: &str = \"@v\";\n"),
    ("Client.kt", "    private val @c = \"@v\"\n"),
    ("seed.sql", "INSERT INTO settings (name, value) VALUES ('@n', '@v');\n"),
    ("deployment.yaml", "env:\n  - name: @N\n    value: \"@v\"\n"),
    ("docker-compose.yml", "    environment:\n      - @N=@v\n"),
    ("chat.txt", "> can you send me the @w?\n@N: @v\n"),
];

fn in_context(context: &str, name: &str, value: &str) -> String {
    let words: Vec<String> = name.split([' ', '_']).map(str::to_lowercase).collect();
    let camel: String = (words.iter().enumerate())
        .map(|(place, word)| if place == 0 { word.clone() } else { word[..1].to_uppercase() + &word[1..] })
        .collect();
    let snake = words.join("_");
    let text = context.replace("@N", &snake.to_uppercase()).replace("@n", &snake).replace("@c", &camel);
    text.replace("@w", &words.join(" ")).replace("@v", value)
}

#[test]
fn value_is_found_however_it_is_given_to_its_name() {
    let (engine, set) = (engine(), RuleSet::builtin_with_examples().unwrap());
    let named = set.rules().filter(|rule| !rule.names.is_empty() && !rule.shapes.is_empty());
    let (mut tried, mut missed) = (0, Vec::new());
    // Some rules in some contexts in each run of the build machine's patience: every context meets every kind of rule.
    for (place, rule) in named.enumerate().filter(|(place, _)| place % 23 == 0) {
        let words = rule.names[0].trim_end_matches('*').trim().split(' ');
        let name = words.map(|word| word.split('|').next().unwrap()).collect::<Vec<_>>().join(" ");
        let name = if rule.names[0].ends_with('*') { format!("{name} api key") } else { name };
        for (turn, (path, context)) in CONTEXTS.iter().enumerate() {
            let shape = &rule.shapes[turn % rule.shapes.len()];
            let value = example::expand(shape, (place * 100 + turn) as u64).unwrap().text;
            tried += 1;
            if refusing(&engine, path, &in_context(context, &name, &value)).is_empty() {
                missed.push(format!("{} in {path}", rule.id));
            }
        }
    }
    assert!(tried > 1000 && missed.len() * 50 < tried, "{} of {tried} missed: {missed:#?}", missed.len());
}

#[test]
fn password_is_found_however_it_is_given_to_its_name() {
    let engine = engine();
    let shapes = [
        "{one:Maple|Timber|Island|Ember}{one:!|#|?}{digits:4}",
        "{one:island|toast|asphalt}-{one:saddle|ember}-{one:copper|violet}-{digits:2}",
        "{base62:13}7",
        "{hex:31}7",
    ];
    let mut missed = Vec::new();
    // A sentence and a heading need a value that no word could be.
    for (path, context) in CONTEXTS.iter().filter(|(path, _)| *path != "README.md") {
        for (turn, shape) in shapes.iter().enumerate() {
            let value = example::expand(shape, turn as u64).unwrap().text;
            if refusing(&engine, path, &in_context(context, "db password", &value)).is_empty() {
                missed.push(format!("{value} in {path}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn what_only_stands_beside_a_name_is_no_finding() {
    let engine = engine();
    let texts = [
        // Programs: types, constants, calls, fields, alternatives.
        ("netlink.rs", "pub const KEY_DATA: nl80211_rekey_data = 3;\npub const PASS_THRU: u32 = 2097152u32;\n"),
        (
            "status.rs",
            "pub const ERROR_PASSWORD: NTSTATUS = 0xC000006B_u32 as _;\npub const PASS: i32 = -2147221215i32;\n",
        ),
        ("crypto.py", "key = _ffi.gc(key._pkey, _lib.EVP_PKEY_free)\nx = password.translate(_trans_5C)\n"),
        ("Vnc.java", "withVncPassword(@NonNull String vncPassword) {\n"),
        ("lexer.py", "r'(AddToGroup|PassCollisions|AxisAngle2Rot|KeyDown2Up)'\n"),
        ("xor.h", "__m512i const data_key    = _mm512_xor_si512     (data_vec, key_vec);\n"),
        ("axios.js", "allOwnKeys = _ref3.allOwnKeys;\n"),
        ("mschap", "ntlm_auth = \"/path/to/ntlm_auth --request-nt-key --allow-mschapv2 --username=x\"\n"),
        ("map.rs", "for key in keys(0..LOOKUP_MAP_SIZE) { key.wrapping_mul(0x9E3779B97F4A7C15) }\n"),
        ("Cargo.toml", "Win32_System_PasswordManagement = [\"Win32_System\"]\n"),
        ("tests.rs", "//! We pass to `IsWow64Process` and pass memchr2+SWAR along.\n"),
        ("rule.toml", "regex = '''password=\"([0-9A-Za-z+/]{20,200}={0,2})\"'''\n"),
        ("template.txt", "machine git login bot password {base62:14}7{nl}\npassword: {user_password_1}\n"),
        ("check.log", "PASS: gdb.base/attach2.exp: run1\nXPASS: ld-elf/group10\n"),
        ("check.rs", "let log = \"PASS: ld-elf/group10\\nXPASS: ld-elf/group11\\n\";\n"),
        ("changes.md", "You may pass `SSL_OP_NO_TLSv1` to it.\n"),
        // Revisions, sums, versions.
        ("ci.yml", "- uses: actions/create-github-app-token@{hex:40}\n- uses: hashicorp/vault-action@{hex:40}\n"),
        ("sums.txt", "key_sha256={hex:64}\npassword_sha1 = \"{hex:40}\"\n{hex:64}  token-cli_1.2.tar.gz\n"),
        ("list.tsv", "password\t10.0.1.1.0.99.dev4\nauth-nodejs\t1.20250801.274-beta\n"),
        ("Podfile.lock", "SPEC CHECKSUMS:\n  FirebaseAuth: {hex:40}\n  TokenKit: {hex:40}\n"),
        // Examples of standards, dummies.
        ("oauth.md", "Authorization: Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW\nrefresh_token=tGzv3JOkF0XG5Qx2TlKWIA\n"),
        ("url.c", "{\"imap://user:pass;option@server\"},\n{\"http://u:p%2540ss+word@localhost\"},\n"),
        ("host.md", "postgres://svc:{base62:14}7@db.example.com/orders\n"),
        ("App.java", "new Container().withPassword(\"Picard123\");\n"),
        ("env.sample", "APP_KEY=base64:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"),
        ("option.bash", "complete -W \"-pass | -pkcs11engine | -keyfile2\"\n"),
    ];
    for (path, text) in texts {
        // Braces of the texts themselves are doubled in templates, so only the random parts are filled in.
        let mut filled = text.to_owned();
        for (turn, part) in ["{hex:40}", "{hex:64}", "{base62:14}"].iter().enumerate() {
            if path != "template.txt" {
                filled = filled.replace(part, &example::expand(part, turn as u64).unwrap().text);
            }
        }
        assert_eq!(refusing(&engine, path, &filled), Vec::<String>::new(), "{path}: {filled}");
    }
}

#[test]
fn files_of_the_rules_themselves_hold_no_finding() {
    let engine = engine();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<std::path::PathBuf> =
        std::fs::read_dir(root.join("rules")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.push(root.join("docs/rules.md"));
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        assert_eq!(refusing(&engine, name, &text), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn words_of_a_commit_message_are_no_credentials() {
    let engine = engine();
    let message =
        "engine: read the table once\n\nA single pass over three bytes decides; password and token are words.\n";
    assert_eq!(refusing(&engine, "", message), Vec::<String>::new());
}
