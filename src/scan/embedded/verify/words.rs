//! How much a text looks like words, and which words nobody uses as a secret.
//!
//! Letters of words follow each other in known ways; those of a random token do not. The costs below
//! are minus the binary logarithm of how often one letter follows another in the identifiers and prose
//! of two large source trees, rounded: words of twelve letters cost 4.2 a pair or less (19 of 20),
//! random ones 4.6 or more (99 of 100).

/// One row for each first letter, one digit for each second.
const PAIR_COSTS: [&[u8; 26]; 26] = [
    b"65448758596343959343667769",
    b"35553669458367469446399969",
    b"37573783594468279463589979",
    b"46652678299577479546568779",
    b"47435568799453757334866589",
    b"47654378299476379445498869",
    b"47682654399564469346479988",
    b"27762796398566379564578979",
    b"56445559898452469543959796",
    b"37662778445656369648399889",
    b"46752566395575569635676969",
    b"38752789397377379855579949",
    b"25762899397647439856599969",
    b"47443538496676479743668979",
    b"65457669686442549344455899",
    b"38763776499488349354598969",
    b"67677667788666673557186799",
    b"37552759396655469544678959",
    b"58483774396677548842477968",
    b"38572684399568469345597859",
    b"54565569599443749333799798",
    b"38671788299776579757888989",
    b"36553684398564369345777799",
    b"56443576489658639653677457",
    b"55664666499544439634766756",
    b"47851778399666497659787754",
];

/// Above this mean cost a run of letters is no word.
const WORD_COST: f32 = 4.45;

/// The mean cost of the letter pairs; `None` without a pair.
pub fn pair_cost(text: &[u8]) -> Option<f32> {
    let (mut sum, mut count) = (0_u16, 0_u16);
    for pair in text.windows(2) {
        let [one, other] = pair else { continue };
        let at = |letter: &u8| usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
        if let Some(cost) = PAIR_COSTS.get(at(one)).and_then(|row| row.get(at(other))) {
            sum = sum.saturating_add(u16::from(cost - b'0'));
            count = count.saturating_add(1);
        }
    }
    (count > 0).then(|| f32::from(sum) / f32::from(count))
}

/// The words of an identifier or a phrase: runs of letters, cut where an upper-case letter follows a
/// lower-case one. In lower case.
pub fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut previous = b' ';
    for &byte in text {
        if byte.is_ascii_alphabetic() {
            let begins = !previous.is_ascii_alphabetic() || previous.is_ascii_lowercase() && byte.is_ascii_uppercase();
            if begins {
                words.push(Vec::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(byte.to_ascii_lowercase());
            }
        }
        previous = byte;
    }
    words
}

/// Which share of the text stands in words that somebody could have written, from 0 to 1.
pub fn word_share(text: &[u8]) -> f32 {
    let wordy: usize = words(text).iter().filter(|word| is_word(word)).map(Vec::len).sum();
    wordy as f32 / text.len().max(1) as f32
}

fn is_word(word: &[u8]) -> bool {
    TECHNICAL.binary_search(&word).is_ok()
        || DUMMY.binary_search(&word).is_ok()
        || word.len() >= 4 && pair_cost(word).is_some_and(|cost| cost <= WORD_COST)
}

/// Whether this word (lower case) marks what it stands in as made up.
pub fn is_dummy_word(word: &[u8]) -> bool {
    DUMMY.binary_search(&word).is_ok()
}

/// Whether this word (lower case) is the name of an algorithm or the like.
pub fn is_technical_word(word: &[u8]) -> bool {
    TECHNICAL.binary_search(&word).is_ok()
}

/// Names of algorithms and the like, which no letter statistics would take for words. Sorted.
static TECHNICAL: &[&[u8]] = &[
    b"aes", b"api", b"arn", b"asn", b"aws", b"bcrypt", b"cbc", b"cfb", b"cn", b"crc", b"csrf", b"css", b"ctr", b"dev",
    b"dh", b"dns", b"ecdh", b"ecdsa", b"eks", b"env", b"gcm", b"gcp", b"hex", b"hmac", b"html", b"http", b"https",
    b"id", b"io", b"ipv", b"js", b"json", b"jwt", b"kms", b"ldap", b"md", b"mfa", b"mtls", b"oauth", b"oidc", b"otp",
    b"pbkdf", b"pem", b"pgp", b"pkcs", b"qa", b"rgb", b"rsa", b"rsassa", b"saml", b"scram", b"scrypt", b"sdk", b"sha",
    b"smtp", b"sql", b"ssh", b"ssl", b"ssm", b"sso", b"sts", b"svc", b"tcp", b"tls", b"ts", b"ttl", b"txt", b"uid",
    b"uri", b"url", b"utf", b"uuid", b"vpc", b"xml", b"xof", b"yaml", b"yml",
];

/// Words of which placeholders and test passwords are made. Sorted.
static DUMMY: &[&[u8]] = &[
    b"a",
    b"aaa",
    b"aaaa",
    b"abc",
    b"abcd",
    b"abcde",
    b"abcdef",
    b"abcdefg",
    b"abcdefgh",
    b"access",
    b"account",
    b"actual",
    b"add",
    b"admin",
    b"administrator",
    b"alice",
    b"an",
    b"and",
    b"anonymous",
    b"any",
    b"anything",
    b"apasswd",
    b"api",
    b"apikey",
    b"app",
    b"ascii",
    b"asd",
    b"asdf",
    b"askpass",
    b"auser",
    b"auth",
    b"bad",
    b"bar",
    b"base",
    b"battery",
    b"baz",
    b"blah",
    b"bob",
    b"bogus",
    b"broken",
    b"change",
    b"changeit",
    b"changeme",
    b"changethis",
    b"cleartext",
    b"client",
    b"code",
    b"consumer",
    b"copy",
    b"correct",
    b"cred",
    b"credential",
    b"credentials",
    b"data",
    b"database",
    b"db",
    b"default",
    b"demo",
    b"dev",
    b"development",
    b"docker",
    b"domain",
    b"dummy",
    b"edit",
    b"email",
    b"empty",
    b"enter",
    b"error",
    b"example",
    b"expired",
    b"fake",
    b"false",
    b"fill",
    b"first",
    b"fixme",
    b"foo",
    b"foobar",
    b"for",
    b"from",
    b"generate",
    b"generated",
    b"get",
    b"github",
    b"gitlab",
    b"goes",
    b"good",
    b"guest",
    b"hello",
    b"here",
    b"hidden",
    b"horse",
    b"host",
    b"i",
    b"id",
    b"in",
    b"incorrect",
    b"insecure",
    b"insert",
    b"invalid",
    b"is",
    b"it",
    b"jwt",
    b"keep",
    b"key",
    b"keyboard",
    b"letmein",
    b"local",
    b"localhost",
    b"login",
    b"long",
    b"lorem",
    b"make",
    b"masked",
    b"master",
    b"me",
    b"mismatch",
    b"missing",
    b"mock",
    b"mongo",
    b"mongodb",
    b"more",
    b"my",
    b"mypass",
    b"mypassword",
    b"mysecret",
    b"mysecretpassword",
    b"mysql",
    b"name",
    b"new",
    b"nil",
    b"no",
    b"none",
    b"nope",
    b"not",
    b"nothing",
    b"null",
    b"of",
    b"old",
    b"on",
    b"one",
    b"open",
    b"openai",
    b"option",
    b"or",
    b"oracle",
    b"other",
    b"pass",
    b"passphrase",
    b"passwd",
    b"password",
    b"paste",
    b"payload",
    b"placeholder",
    b"please",
    b"postgres",
    b"postgresql",
    b"private",
    b"prod",
    b"production",
    b"public",
    b"put",
    b"pw",
    b"pwd",
    b"qa",
    b"qux",
    b"qwer",
    b"qwerty",
    b"rabbitmq",
    b"random",
    b"real",
    b"redacted",
    b"redis",
    b"refresh",
    b"removed",
    b"replace",
    b"replaceme",
    b"reset",
    b"right",
    b"root",
    b"safe",
    b"same",
    b"sample",
    b"second",
    b"secret",
    b"secrets",
    b"secure",
    b"sekret",
    b"sendgrid",
    b"server",
    b"service",
    b"sesame",
    b"session",
    b"set",
    b"shared",
    b"should",
    b"sk",
    b"slack",
    b"some",
    b"somepassword",
    b"something",
    b"sooper",
    b"staging",
    b"staple",
    b"string",
    b"stripe",
    b"strong",
    b"stuff",
    b"super",
    b"supersecret",
    b"swordfish",
    b"system",
    b"tbd",
    b"temp",
    b"test",
    b"tester",
    b"testing",
    b"testpass",
    b"testpassword",
    b"text",
    b"that",
    b"the",
    b"this",
    b"tiger",
    b"tmp",
    b"to",
    b"todo",
    b"token",
    b"top",
    b"toto",
    b"true",
    b"try",
    b"twilio",
    b"type",
    b"undefined",
    b"unknown",
    b"unset",
    b"update",
    b"use",
    b"user",
    b"username",
    b"valid",
    b"value",
    b"very",
    b"wachtwoord",
    b"was",
    b"welcome",
    b"with",
    b"word",
    b"world",
    b"wrong",
    b"x",
    b"xx",
    b"xxx",
    b"xxxx",
    b"xxxxx",
    b"xxxxxx",
    b"xxxxxxxx",
    b"xyz",
    b"yes",
    b"you",
    b"your",
    b"yourpassword",
    b"yyy",
    b"zzz",
];

/// Whether the lists are in the order that the searches need; tested.
pub fn lists_are_sorted() -> bool {
    TECHNICAL.is_sorted() && DUMMY.is_sorted()
}
