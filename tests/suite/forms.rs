//! Secrets are found in the forms that programs, people and devices write them in.

use tyran::scan::Confidence;
use tyran::scan::embedded::{EmbeddedEngine, Options, RuleSet, example, trial};

/// Paths and texts. `@p` is a password that a generator made, `@q` one that somebody chose, `@t` a token, `@h` one of
/// hexadecimal digits, `@b` a key in base64.
const FORMS: &[(&str, &str)] = &[
    // Quotes that are entities.
    ("web.xml", "<param value=\"{&quot;user&quot;:&quot;svc&quot;,&quot;password&quot;:&quot;@p&quot;}\"/>\n"),
    ("web.xml", "<p v=\"{&#34;db_password&#34;: &#34;@q&#34;}\"/>\n"),
    ("web.xml", "<p v=\"{&quot;apiToken&quot;:&quot;@t&quot;}\"/>\n"),
    ("page.html", "<div data-config=\"{&quot;datadogApiKey&quot;:&quot;@h&quot;}\">\n"),
    ("web.config", "<add connectionString=\"x;provider=&quot;server=db;user id=svc;password=@p;App=E&quot;\" />\n"),
    // Block scalars of YAML.
    ("app.yml", "db:\n  password: >-\n    @p\n"),
    ("app.yml", "db:\n  password: |\n    @q\n  host: a\n"),
    ("app.yml", "api:\n  token: |-\n    @t\n"),
    ("app.yml", "oauth:\n  client_secret: >\n    @t\n"),
    // Short, foreign and misspelt names; pairs in prose; tables.
    ("notes.txt", "host: db1\nuser: svc\npw: @p\n"),
    ("notes.txt", "pwd: @q\n"),
    ("notes.md", "Login: admin\nPW: @q\n"),
    ("notes.md", "Credentials: admin:@q\n"),
    ("notes.md", "| user | password |\n|---|---|\n| admin | @q |\n"),
    ("users.csv", "user,password\nsvc,@p\n"),
    ("secrets.yaml", "mqtt_pw: @p\n"),
    ("notes.txt", "Contraseña: @q\n"),
    // Keys under a name that says nothing, below a heading that does.
    ("conf.yml", "encryption:\n  key: @h@h\n"),
    ("conf.yml", "api:\n  key: \"@t\"\n"),
    // Code.
    ("init.el", "(setq smtp-password \"@p\")\n"),
    ("config.edn", "{:db {:user \"svc\" :password \"@p\"}}\n"),
    ("a.js", "const password = process.env.DB_PASSWORD || \"@p\";\n"),
    ("a.py", "requests.get(url, auth=(\"svc\", \"@p\"))\n"),
    ("A.cs", "var c = new NetworkCredential(\"svc\", \"@p\");\n"),
    ("a.php", "$c = mysqli_connect(\"localhost\", \"svc\", \"@p\", \"shop\");\n"),
    ("A.java", "DriverManager.getConnection(\"jdbc:mysql://db/x\", \"svc\", \"@p\");\n"),
    ("a.vb", "Dim password As String = \"@p\"\n"),
    ("v.tf", "variable \"db_password\" {\n  type    = string\n  default = \"@p\"\n}\n"),
    ("build.gradle", "signingConfigs { release { storePassword \"@p\" } }\n"),
    ("Info.plist", "<key>APIKey</key>\n<string>@h</string>\n"),
    // Command lines.
    ("a.ps1", "$p = ConvertTo-SecureString \"@q\" -AsPlainText -Force\n"),
    ("a.sh", "openssl enc -d -aes-256-cbc -in x.enc -k @p\n"),
    ("a.sh", "openssl rsa -in k.pem -passin pass:@p -out o.pem\n"),
    ("a.sh", "az login --service-principal -u x -p @t --tenant acme.test\n"),
    ("a.sh", "mysql -u root -p@p shop\nsshpass -p '@q' ssh h\nPGPASSWORD=@p psql\n"),
    ("a.bat", "net use \\\\srv\\share /user:svc @p\n"),
    ("a.sh", "echo 'root:@p' | chpasswd\n"),
    ("a.sh", "7z x -p@p a.7z\n"),
    ("a.sh", "sqlplus system/@p@//db:1521/ORCL\n"),
    // Files of servers, clients and devices.
    ("r1.cfg", "enable password @p\n"),
    ("r1.cfg", "line vty 0 4\n password @p\n login\n"),
    ("r1.cfg", "snmp-server community @p RO\n"),
    ("r1.cfg", "crypto isakmp key @p address 10.0.0.4\n"),
    ("j.conf", "secret \"$9$@t\"; ## SECRET-DATA\n"),
    ("f.conf", "set psksecret ENC @b\n"),
    ("snmpd.conf", "rocommunity @p default\n"),
    ("ipsec.secrets", "10.0.0.4 10.0.0.5 : PSK \"@p\"\n"),
    ("etc/ppp/chap-secrets", "# client server secret addresses\nsvc pptpd @p *\n"),
    ("etc/postfix/sasl_passwd", "[smtp.acme.test]:587 svc@acme.test:@p\n"),
    (".htdigest", "svc:Realm:@h\n"),
    ("clients.conf", "client x {\n  ipaddr = 10.0.0.4\n  secret = @p\n}\n"),
    ("pjsip.conf", "[100]\nsecret=@p\n"),
    ("servlist.conf", "N=Libera\nP=@p\nL=6\n"),
    ("jetty-realm.properties", "svc: @p, admin\n"),
    ("proxychains.conf", "socks5 10.0.0.4 1080 svc @p\n"),
    ("auth.txt", "svc\n@p\n"),
    ("dump.txt", "svc:1001:@h:@h:::\n"),
    ("init.txt", "Recovery Key 1: @b\n"),
];

/// What looks like them and is none.
const LOOK_ALIKES: &[(&str, &str)] = &[
    ("a.c", "struct passwd *pw = getpwuid(uid);\nif (pw == NULL) return;\npw = &entry;\n"),
    ("test.http", "Authorization: NTLM TlRMTVNTUAABAAAABoIIAAAAAAAAAAAAAAAAAAAAAAA=\n"),
    ("cache.yml", "cache:\n  key: @h@h\n"),
    ("man.1", "key: 3b:4c:1f:90:aa:01:fe:ff:10:20:30:40:50:60:70:80\nkey: SHA256:@t\n"),
    (
        "v.tf",
        "variable \"db_password\" {\n  type = string\n  default = \"\"\n}\nvariable \"name\" {\n  default = \"@t\"\n}\n",
    ),
    ("app.yml", "password: |\n  Enter the password of the account\nhelp: >-\n  @t\n"),
    ("a.py", "requests.get(url, auth=(\"user\", \"pass\"))\nserver.login(user, os.environ[\"SMTP_PASSWORD\"])\n"),
    ("a.js", "const secret = process.env.JWT_SECRET || 'your-secret-key';\n"),
    ("a.sh", "ssh-keygen -t ed25519 -N '' -f key\ndocker login -u svc -p \"$DOCKER_PASSWORD\" r.acme.test\n"),
    ("a.sh", "echo \"root:$PASS\" | chpasswd\necho root:root | chpasswd\n"),
    ("r1.cfg", "snmp-server community public RO\nenable password cisco\nusername admin privilege 15\n"),
    ("page.html", "<input type=&quot;password&quot; name=&quot;password&quot; value=&quot;&quot;>\n"),
    ("messages.html", "password: &quot;Password&quot;, token: &quot;verification&quot;\n"),
    ("notes.md", "| user | password |\n|---|---|\n| admin | the admin password |\n"),
    ("a.sh", "net user svc %PASSWORD% /add\nnet use Z: \\\\srv\\share * /user:svc\n"),
];

fn filled(text: &str, seed: u64) -> String {
    let parts = [
        ("@p", "{base62:6}a7{base62:5}K"),
        ("@q", "{one:Maple|Timber|Island|Ember}{one:saddle|toast}{one:-|#|_}{digits:3}"),
        ("@t", "{base62:20}a7{base62:15}K"),
        ("@h", "{hex:32}"),
        ("@b", "{base64:43}="),
    ];
    parts.iter().fold(text.to_owned(), |text, (mark, template)| {
        // An address such as `svc@acme.test` is none of the marks: they stand alone or before another sign.
        text.replace(mark, &example::expand(template, seed).unwrap().text)
    })
}

fn refusing(engine: &EmbeddedEngine, path: &str, text: &str) -> Vec<String> {
    let found = trial::findings(engine, path, text).unwrap();
    found.iter().filter(|one| one.confidence >= Confidence::Medium).map(|one| one.rule.to_string()).collect()
}

#[test]
fn secret_is_found_in_every_form_that_programs_and_people_write() {
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let mut missed = Vec::new();
    for seed in 1..6 {
        for (path, form) in FORMS {
            let text = filled(form, seed);
            if refusing(&engine, path, &text).is_empty() {
                missed.push(format!("{path}: {text}"));
            }
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn token_that_touches_a_word_is_found() {
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let token = crate::support::planted::github_token(22);
    for text in [
        format!("\u{1b}[33m{token}\u{1b}[0m\n"),
        format!("40:{token}5:other"),
        format!("my_{token}_old\n"),
        format!("{token}{token}"),
        format!("a{token}b"),
    ] {
        assert!(refusing(&engine, "a.txt", &text).contains(&"github-pat".to_owned()), "{}", text.len());
    }
}

#[test]
fn private_key_on_lines_that_a_patch_removes_is_found() {
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let template = "-----BEGIN PRI{}VATE KEY-----{nl}MIGH{base64:60}{nl}{base64:64}{nl}{base64:56}{nl}-----END PRI{}VATE \
                    KEY-----{nl}";
    let key = example::expand(template, 31).unwrap().text;
    for mark in ["-", "+", " ", "- "] {
        let patch: String = key.lines().map(|line| format!("{mark}{line}\n")).collect();
        let text = format!("diff --git a/id b/id\n--- a/id\n+++ b/id\n@@ -1,5 +1,5 @@\n{patch}");
        assert_eq!(refusing(&engine, "0001.patch", &text), ["private-key"], "{mark:?}");
    }
}

#[test]
fn token_across_two_lines_of_base64_is_found() {
    use base64::Engine as _;
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    let token = crate::support::planted::github_token(21);
    let mut missed = Vec::new();
    for filler in 0..30 {
        let env = format!("STAGE={}\nTOKEN={token}\nREGION=eu-west-1\n", "x".repeat(filler));
        let encoded = base64::engine::general_purpose::STANDARD.encode(&env);
        for width in [48, 64, 76] {
            let lines: Vec<&str> =
                encoded.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let files = [
                ("env.b64", lines.join("\n")),
                ("crlf.b64", lines.join("\r\n")),
                ("secret.yaml", format!("data:\n  .env: |\n    {}\n", lines.join("\n    "))),
                ("a.py", format!("ENV = (\n    \"{}\"\n)\n", lines.join("\"\n    \""))),
                ("A.java", format!("String env = \"{}\";\n", lines.join("\" +\n        \""))),
            ];
            for (path, text) in files {
                if refusing(&engine, path, &text).is_empty() {
                    missed.push(format!("{path}, {width} columns, {filler}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} missed: {missed:#?}", missed.len());
}

#[test]
fn what_looks_like_one_of_these_forms_is_no_finding() {
    let engine = EmbeddedEngine::new(RuleSet::builtin().unwrap(), Options::default()).unwrap();
    for (path, form) in LOOK_ALIKES {
        let text = filled(form, 3);
        assert_eq!(refusing(&engine, path, &text), Vec::<String>::new(), "{path}: {text}");
    }
}
