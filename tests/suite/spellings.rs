//! Credentials whose characters are written as numbers, and private keys without the lines that mark them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tyran::payload::{Content, Elsewhere, Item, ItemKind};
use tyran::scan::embedded::{EmbeddedEngine, Options, RuleSet};
use tyran::scan::{Confidence, Engine as _, Finding};

use crate::support::planted;

fn engine(options: Options) -> EmbeddedEngine {
    EmbeddedEngine::new(RuleSet::builtin().unwrap(), options).unwrap()
}

fn found(engine: &EmbeddedEngine, bytes: &[u8]) -> Vec<Finding> {
    let size = bytes.len() as u64;
    let item = Item { kind: ItemKind::Blob, oid: None, size, path: None, commit: None, elsewhere: Elsewhere::Nowhere };
    let mut session = engine.session().unwrap();
    session.scan(&item, 0, Content::Whole(bytes)).unwrap();
    session.finish().unwrap().findings
}

fn refusing(engine: &EmbeddedEngine, bytes: &[u8]) -> Vec<String> {
    let refuses = |one: &Finding| one.confidence >= Confidence::Medium;
    found(engine, bytes).iter().filter(|one| refuses(one)).map(|one| one.rule.to_string()).collect()
}

fn each(text: &str, write: impl Fn(u8) -> String) -> String {
    text.bytes().map(write).collect()
}

/// A quoted-printable text: signs as numbers, broken in lines of 76.
fn mail(text: &str) -> String {
    let mut lines = vec![String::new()];
    for byte in text.bytes() {
        let sign = if matches!(byte, b'=' | b'_') { format!("={byte:02X}") } else { char::from(byte).to_string() };
        if lines.last().unwrap().len() + sign.len() > 75 {
            lines.push(String::new());
        }
        lines.last_mut().unwrap().push_str(&sign);
    }
    lines.join("=\n")
}

#[test]
fn token_in_characters_that_are_written_as_numbers_is_found() {
    let engine = engine(Options::default());
    let compat = self::engine(Options { compat: true, ..Options::default() });
    for seed in 1..4 {
        let token = planted::github_token(seed);
        let lone = |sign: &str| token.replace('_', sign);
        let texts = [
            format!("const t = \"{}\";\n", each(&token, |byte| format!("\\x{byte:02x}"))),
            format!("const t = \"{}\";\n", each(&token, |byte| format!("\\X{byte:02X}"))),
            format!("{{\"t\": \"{}\"}}\n", each(&token, |byte| format!("\\\\x{byte:02x}"))),
            format!("t='{}'\n", each(&token, |byte| format!("\\{byte:03o}"))),
            format!("let t = '{}';\n", each(&token, |byte| format!("\\u{{{byte:x}}}"))),
            format!("<p>{}</p>\n", each(&token, |byte| format!("&#{byte};"))),
            format!("<p>{}</p>\n", each(&token, |byte| format!("&#x{byte:X};"))),
            format!("a 'b\\x3d{token}\\x26c'\n"),
            format!("t = \"{}\"\n", lone("\\x5f")),
            format!("t = \"{}\"\n", lone("\\137")),
            format!("t = \"{}\"\n", lone("\\u{5f}")),
            format!("The token is {} for now.\n", lone("\\_")),
            format!("{{\"md\": \"token {}\"}}\n", lone("\\\\_")),
            format!("<td>{}</td>\n", lone("&#95;")),
            format!("<td>{}</td>\n", lone("&#x5f;")),
            format!("<td>{}</td>\n", lone("&lowbar;")),
            format!(
                "Hello,\n{}\n",
                mail(&format!("please use the token {token} as GITHUB_TOKEN=it, that is all there is"))
            ),
        ];
        for text in texts {
            assert!(refusing(&engine, text.as_bytes()).contains(&"github-pat".to_owned()), "{text}");
        }
        // Wherever a mail breaks it.
        for before in 0..76 {
            let text = mail(&format!("{} {token} {}", "a".repeat(before), "word ".repeat(20)));
            assert!(refusing(&engine, text.as_bytes()).contains(&"github-pat".to_owned()), "{before}: {text}");
        }
        let plain = format!("t = \"{}\"\n", lone("\\x5f"));
        assert!(found(&compat, plain.as_bytes()).is_empty());
    }
}

#[test]
fn place_of_what_is_written_as_numbers_is_that_of_the_numbers() {
    let token = planted::github_token(5);
    let written = each(&token, |byte| format!("\\x{byte:02x}"));
    let text = format!("first\n  t = \"{written}\";\n");
    let findings = found(&engine(Options::default()), text.as_bytes());
    let finding = findings.iter().find(|finding| &*finding.rule == "github-pat").unwrap();
    assert_eq!((finding.line, finding.secret.expose()), (2, token.as_bytes()));
    assert_eq!(&text.as_bytes()[finding.start as usize..finding.end as usize], written.as_bytes());
}

#[test]
fn bytes_of_tables_and_escapes_of_prose_are_no_finding() {
    let engine = engine(Options::default());
    let table: String =
        (0..4000_u32).map(|at| format!("\\x{:02x}", at.wrapping_mul(2_654_435_761) >> 13 & 0xFF)).collect();
    for text in [
        format!("static const char table[] = \"{table}\";\n"),
        "The \\emph{number\\_of\\_items\\_in\\_the\\_list} and \\texttt{max\\_2\\_of\\_them} are said.\n".repeat(50),
        "re.compile(r'[a-z0-9\\-\\_]+\\.[a-z]{2,}')\n".repeat(50),
        "<p>it&#39;s &#169; 2020 &#8211; foo&#95;bar&#95;baz</p>\n".repeat(50),
        "GET /?a=3D&b=5F HTTP/1.1\nx=10\ny=20=\n".repeat(50),
    ] {
        assert_eq!(refusing(&engine, text.as_bytes()), Vec::<String>::new(), "{}", &text[..60]);
    }
}

/// Bytes that look like any, the same each time.
fn noise(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(state >> 24).unwrap()
    };
    (0..count).map(|_| next()).collect()
}

/// An element of DER.
fn der(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = u16::try_from(body.len()).unwrap();
    let mut all = match length {
        0..=0x7F => vec![kind, u8::try_from(length).unwrap()],
        0x80..=0xFF => vec![kind, 0x81, u8::try_from(length).unwrap()],
        _ => [&[kind, 0x82][..], &length.to_be_bytes()].concat(),
    };
    all.extend(body);
    all
}

fn number(count: usize, seed: u32) -> Vec<u8> {
    let mut digits = noise(count, seed);
    digits[0] |= 0x80;
    der(2, &[&[0], &digits])
}

const RSA: &[u8] = &[0x30, 13, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 1, 1, 5, 0];
const P256: &[u8] = &[0x30, 19, 6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7];
const ED25519: &[u8] = &[0x30, 5, 6, 3, 0x2B, 0x65, 0x70];

/// Private keys in DER, by their kinds.
fn keys() -> Vec<(&'static str, Vec<u8>)> {
    let rsa = [number(256, 1), der(2, &[&[1, 0, 1]]), number(256, 2), number(128, 3), number(128, 4), number(128, 5)];
    let rsa = der(0x30, &[&[2, 1, 0], &rsa.concat(), &number(128, 6), &number(128, 7)]);
    let scalar = der(4, &[&noise(32, 8)]);
    let point = der(0xA1, &[&der(3, &[&[0, 4], &noise(64, 9)])]);
    let name = der(0xA0, &[&P256[11..]]);
    let cipher = [&[6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 5, 13][..], &der(0x30, &[&noise(60, 10)])].concat();
    vec![
        ("PKCS #8, RSA", der(0x30, &[&[2, 1, 0], RSA, &der(4, &[&rsa])])),
        ("PKCS #1", rsa),
        ("SEC 1", der(0x30, &[&[2, 1, 1], &scalar, &name, &point])),
        ("PKCS #8, EC", der(0x30, &[&[2, 1, 0], P256, &der(4, &[&der(0x30, &[&[2, 1, 1], &scalar, &point])])])),
        ("PKCS #8, Ed25519", der(0x30, &[&[2, 1, 0], ED25519, &der(4, &[&der(4, &[&noise(32, 11)])])])),
        ("encrypted", der(0x30, &[&der(0x30, &[&cipher]), &der(4, &[&noise(1200, 12)])])),
        ("OpenSSH", [&b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none"[..], &noise(260, 13)].concat()),
    ]
}

#[test]
fn private_key_without_its_marks_is_found() {
    let engine = engine(Options::default());
    for (kind, key) in keys() {
        let line = STANDARD.encode(&key);
        let lines = |width: usize| -> Vec<&str> {
            line.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect()
        };
        let most = lines(64)[..lines(64).len() * 4 / 5].join("\n");
        let begin = format!("-----BEGIN {}KEY-----", "PRIVATE ");
        let mut texts = vec![
            line.clone(),
            format!("key: {line}\n"),
            format!("{{\"privateKey\":\"{line}\"}}"),
            format!("<key>{line}</key>"),
            format!("SIGNING_KEY={line}\n"),
            lines(64).join("\n"),
            lines(76).join("\r\n"),
            format!("key: |\n  {}\n", lines(64).join("\n  ")),
            format!("String k = \"{}\";\n", lines(64).join("\" +\n    \"")),
            format!("{begin}\n{}\n", lines(64).join("\n")),
        ];
        if key.len() > 400 {
            texts.push(format!("{begin}\n{most}\n"));
        }
        for text in texts {
            assert_eq!(refusing(&engine, text.as_bytes()), ["private-key"], "{kind}: {text}");
        }
        // As bytes, with nothing behind them or little. OpenSSH's is never written so.
        if kind != "OpenSSH" {
            assert_eq!(refusing(&engine, &key), ["private-key"], "{kind}");
        }
        // With all its marks it is told once.
        let end = begin.replace("BEGIN", "END");
        if !matches!(kind, "OpenSSH") {
            let text = format!("{begin}\n{}\n{end}\n", lines(64).join("\n"));
            assert_eq!(refusing(&engine, text.as_bytes()), ["private-key"], "{kind}: {text}");
        }
    }
}

#[test]
fn what_is_public_and_what_only_begins_like_a_key_is_none() {
    let engine = engine(Options::default());
    let key = STANDARD.encode(&keys()[1].1);
    let public = der(0x30, &[RSA, &der(3, &[&[0], &der(0x30, &[&number(256, 20), &[2, 3, 1, 0, 1]])])]);
    let signed = der(0x30, &[&der(0xA0, &[&[2, 1, 2]]), &[2, 1, 1], RSA, &noise(600, 21)]);
    for bytes in [
        der(0x30, &[&number(256, 22), &[2, 3, 1, 0, 1]]),
        der(0x30, &[&number(32, 23), &number(32, 24)]),
        der(0x30, &[&signed, RSA, &der(3, &[&[0], &noise(256, 25)])]),
        der(0x30, &[&der(0x30, &[&[2, 1, 0], &noise(200, 26)]), RSA, &der(3, &[&[0], &noise(256, 27)])]),
        der(0x30, &[&[2, 1, 1], &der(4, &[b"public"]), &der(0xA2, &[&noise(80, 28)])]),
        der(0x30, &[&[2, 1, 3], &der(0x30, &[&noise(80, 29)])]),
        public,
    ] {
        assert_eq!(refusing(&engine, &bytes), Vec::<String>::new());
        assert_eq!(refusing(&engine, format!("{}\n", STANDARD.encode(&bytes)).as_bytes()), Vec::<String>::new());
    }
    let begin = format!("-----BEGIN RSA {}KEY-----", "PRIVATE ");
    let text = format!("{begin}\n{}\n...\n{}\n", &key[..64], begin.replace("BEGIN", "END"));
    assert_eq!(refusing(&engine, text.as_bytes()), Vec::<String>::new());
}
