//! Texts for trying rules, made when a test runs, so that no token stands in the tree.
//!
//! Promise: the same template and seed give the same text; another seed gives other random parts.
//!
//! A template is text with these parts in braces:
//!
//! | part | becomes |
//! |---|---|
//! | `{ALPHABET:N}`, `{ALPHABET:N-M}` | N (or N to M) random characters of `digits`, `lower`, `upper`, `letters`, `alnum` (a-z0-9), `ALNUM` (A-Z0-9), `base62`, `base64`, `base64url`, `base32` (A-Z2-7), `hex`, `HEX` or `word` (base 62 and `_`) |
//! | `{[CHARACTERS]:N}` | the same from an alphabet of your own; `a-z` is a range, a minus stands at the end |
//! | `{one:A\|B\|C}` | one of these |
//! | `{uuid}` | a random UUID |
//! | `{}` | nothing: it splits what must not stand in the tree in one piece |
//! | `{<}` … `{>}` | marks where the secret begins and ends (to the end of the text when it is not closed) |
//! | `{seal:NAME}` | what the validator NAME wants after the text since `{<}` |
//! | `{base64(}` … `{)}` | the text between, encoded; also `base64url`, `hex`, `percent` |
//! | `{nl}`, `{cr}`, `{tab}` | line feed, carriage return, tab |
//! | `{{`, `}}` | `{`, `}` |

use base64::Engine as _;

use super::alphabet::ranges;
use super::verify;

/// A text made from a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The whole text.
    pub text: String,
    /// Where the secret stands in it, when the template marks it.
    pub secret: Option<std::ops::Range<usize>>,
}

/// What is wrong with a template.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TemplateFault {
    /// A brace is not closed.
    #[error("`{{` at byte {0} is not closed")]
    Open(usize),
    /// A brace closes nothing.
    #[error("`}}` at byte {0} closes nothing; write `}}}}` for the character")]
    Stray(usize),
    /// A part nobody knows.
    #[error("unknown part `{{{0}}}`")]
    Unknown(String),
    /// `{)}` without its beginning, or a beginning without `{)}`.
    #[error("an encoding is not closed, or closed twice")]
    Unbalanced,
    /// A validator that does not exist or cannot make the end of a text.
    #[error("no seal of this name: {0}")]
    Seal(String),
}

/// Makes the text of a template.
///
/// # Errors
/// When the template cannot be read.
pub fn expand(template: &str, seed: u64) -> Result<Example, TemplateFault> {
    let mut maker = Maker { random: Random::new(seed), ..Maker::default() };
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        maker.text.push_str(&rest[..at]);
        let place = template.len() - rest.len() + at;
        let from = &rest[at..];
        rest = if let Some(after) = from.strip_prefix("{{") {
            maker.text.push('{');
            after
        } else if let Some(after) = from.strip_prefix("}}") {
            maker.text.push('}');
            after
        } else if from.starts_with('}') {
            return Err(TemplateFault::Stray(place));
        } else {
            let (part, after) = from[1..].split_once('}').ok_or(TemplateFault::Open(place))?;
            maker.part(part)?;
            after
        };
    }
    maker.text.push_str(rest);
    maker.finish()
}

#[derive(Default)]
struct Maker {
    text: String,
    random: Random,
    secret: Option<(usize, Option<usize>)>,
    encodings: Vec<(Encoding, usize)>,
}

#[derive(Clone, Copy)]
enum Encoding {
    Base64,
    Base64Url,
    Hex,
    Percent,
}

impl Maker {
    fn part(&mut self, part: &str) -> Result<(), TemplateFault> {
        match part {
            "" => {}
            "<" => self.secret = Some((self.text.len(), None)),
            ">" => {
                let end = self.text.len();
                self.secret = self.secret.map(|(start, _)| (start, Some(end)));
            }
            "nl" => self.text.push('\n'),
            "cr" => self.text.push('\r'),
            "tab" => self.text.push('\t'),
            "uuid" => self.uuid(),
            "base64(" => self.encodings.push((Encoding::Base64, self.text.len())),
            "base64url(" => self.encodings.push((Encoding::Base64Url, self.text.len())),
            "hex(" => self.encodings.push((Encoding::Hex, self.text.len())),
            "percent(" => self.encodings.push((Encoding::Percent, self.text.len())),
            ")" => self.encode()?,
            _ => return self.named(part),
        }
        Ok(())
    }

    fn named(&mut self, part: &str) -> Result<(), TemplateFault> {
        let unknown = || TemplateFault::Unknown(part.to_owned());
        let (name, value) = part.rsplit_once(':').ok_or_else(unknown)?;
        if name == "seal" {
            return self.seal(value);
        }
        if let Some(choices) = part.strip_prefix("one:") {
            let choices: Vec<&str> = choices.split('|').collect();
            let chosen = self.random.below(choices.len());
            self.text.push_str(choices.get(chosen).copied().unwrap_or_default());
            return Ok(());
        }
        let alphabet = alphabet(name).ok_or_else(unknown)?;
        let (least, most) = value.split_once('-').unwrap_or((value, value));
        let least: usize = least.parse().map_err(|_| unknown())?;
        let most: usize = most.parse().map_err(|_| unknown())?;
        let count = least + self.random.below(most.checked_sub(least).ok_or_else(unknown)? + 1);
        for _ in 0..count {
            let chosen = self.random.below(alphabet.len());
            self.text.extend(alphabet.get(chosen));
        }
        Ok(())
    }

    fn seal(&mut self, name: &str) -> Result<(), TemplateFault> {
        let start = self.secret.map_or(0, |(start, _)| start);
        let body = self.text.as_bytes().get(start..).unwrap_or_default();
        let seal = verify::named(name).and_then(|validator| validator.seal(body));
        let seal = seal.and_then(|seal| String::from_utf8(seal).ok());
        self.text.push_str(&seal.ok_or_else(|| TemplateFault::Seal(name.to_owned()))?);
        Ok(())
    }

    fn encode(&mut self) -> Result<(), TemplateFault> {
        let (encoding, start) = self.encodings.pop().ok_or(TemplateFault::Unbalanced)?;
        let plain = self.text.split_off(start);
        let encoded = match encoding {
            Encoding::Base64 => base64::prelude::BASE64_STANDARD.encode(plain),
            Encoding::Base64Url => base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(plain),
            Encoding::Hex => hex::encode(plain),
            Encoding::Percent => plain.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        };
        self.text.push_str(&encoded);
        Ok(())
    }

    fn uuid(&mut self) {
        let digits: Vec<char> = (0..32).map(|_| char::from(HEX[self.random.below(16)])).collect();
        for (place, digit) in digits.into_iter().enumerate() {
            if matches!(place, 8 | 12 | 16 | 20) {
                self.text.push('-');
            }
            self.text.push(match place {
                12 => '4',
                16 => ['8', '9', 'a', 'b'][self.random.below(4)],
                _ => digit,
            });
        }
    }

    fn finish(self) -> Result<Example, TemplateFault> {
        if !self.encodings.is_empty() {
            return Err(TemplateFault::Unbalanced);
        }
        let end = self.text.len();
        Ok(Example { secret: self.secret.map(|(start, closed)| start..closed.unwrap_or(end)), text: self.text })
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn alphabet(name: &str) -> Option<Vec<char>> {
    let characters: Vec<char> = ranges(name)?.chars().collect();
    let (mut alphabet, mut at) = (Vec::new(), 0);
    while let Some(&first) = characters.get(at) {
        match (characters.get(at + 1), characters.get(at + 2)) {
            (Some('-'), Some(&last)) => {
                alphabet.extend(first..=last);
                at += 3;
            }
            _ => {
                alphabet.push(first);
                at += 1;
            }
        }
    }
    (!alphabet.is_empty()).then_some(alphabet)
}

/// A small generator (splitmix64): repeatable, and nothing here is a secret.
#[derive(Default)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x1234_5678_9ABC_DEF1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when there is none.
    fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}
