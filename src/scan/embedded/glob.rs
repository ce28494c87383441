//! Globs of file names and paths, for tyran's own rules.
//!
//! Promise: letter case does not matter; a glob without `/` is for the last name of a path, one with
//! `/` for the whole path. `*` and `?` do not cross a `/`, `**` does; `[a-z]` and `{one,other}` work.

/// A glob.
#[derive(Debug)]
pub struct Glob {
    /// Without braces, each of which is written out.
    forms: Vec<Vec<Token>>,
    is_for_paths: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Any,
    Class {
        negated: bool,
        ranges: Vec<(u8, u8)>,
    },
    Star,
    /// `**`; with a slash behind it, it is whole folders, also none.
    Deep {
        folders: bool,
    },
}

/// A glob cannot be read: a bracket or brace is not closed, or it has too many alternatives.
#[derive(Debug, PartialEq, Eq)]
pub struct GlobFault;

/// More alternatives than this are refused.
const MOST_FORMS: usize = 256;

impl Glob {
    /// Reads a glob.
    ///
    /// # Errors
    /// As [`GlobFault`] tells.
    pub fn new(glob: &str) -> Result<Self, GlobFault> {
        let lower = glob.to_ascii_lowercase();
        let forms = written_out(&lower)?.iter().map(|form| tokens(form.as_bytes())).collect::<Result<_, _>>()?;
        Ok(Self { forms, is_for_paths: glob.contains('/') })
    }

    /// Whether a path is one of its files.
    pub fn matches(&self, path: &[u8]) -> bool {
        let subject = if self.is_for_paths { path } else { path.rsplit(|&byte| byte == b'/').next().unwrap_or(path) };
        self.forms.iter().any(|form| fits(form, subject))
    }
}

fn written_out(glob: &str) -> Result<Vec<String>, GlobFault> {
    let Some((before, rest)) = glob.split_once('{') else { return Ok(vec![glob.to_owned()]) };
    let (choices, behind) = rest.split_once('}').ok_or(GlobFault)?;
    let mut forms = Vec::new();
    for behind in written_out(behind)? {
        forms.extend(choices.split(',').map(|choice| format!("{before}{choice}{behind}")));
    }
    if forms.len() <= MOST_FORMS { Ok(forms) } else { Err(GlobFault) }
}

fn tokens(mut rest: &[u8]) -> Result<Vec<Token>, GlobFault> {
    let mut tokens = Vec::new();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        tokens.push(match first {
            b'*' if rest.first() == Some(&b'*') => {
                rest = rest.get(1..).unwrap_or_default();
                let folders = rest.first() == Some(&b'/');
                rest = rest.strip_prefix(b"/").unwrap_or(rest);
                Token::Deep { folders }
            }
            b'*' => Token::Star,
            b'?' => Token::Any,
            b'[' => {
                let end = rest.iter().skip(1).position(|&byte| byte == b']').ok_or(GlobFault)? + 1;
                let (inside, behind) = rest.split_at_checked(end).ok_or(GlobFault)?;
                rest = behind.get(1..).unwrap_or_default();
                class(inside)
            }
            _ => Token::Byte(first),
        });
    }
    Ok(tokens)
}

fn class(inside: &[u8]) -> Token {
    let (negated, mut rest) = match inside {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges = Vec::new();
    while let Some((&first, behind)) = rest.split_first() {
        match behind {
            [b'-', last, behind @ ..] => {
                ranges.push((first, *last));
                rest = behind;
            }
            behind => {
                ranges.push((first, first));
                rest = behind;
            }
        }
    }
    Token::Class { negated, ranges }
}

/// Keeps the last star to come back to, so the work is the product of the lengths at most.
fn fits(tokens: &[Token], subject: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    // The last star and deep star: where the tokens go on behind it, and where in the subject it is.
    let mut star: Option<(usize, usize)> = None;
    let mut deep: Option<(usize, usize, bool)> = None;
    loop {
        match tokens.get(token) {
            Some(Token::Star) => {
                token += 1;
                star = Some((token, at));
                continue;
            }
            Some(Token::Deep { folders }) => {
                token += 1;
                (star, deep) = (None, Some((token, at, *folders)));
                continue;
            }
            Some(one) if subject.get(at).is_some_and(|&byte| one.takes(byte.to_ascii_lowercase())) => {
                (token, at) = (token + 1, at + 1);
                continue;
            }
            None if at == subject.len() => return true,
            Some(_) | None => {}
        }
        // Let the last star take one more byte; only a deep one takes a slash.
        match (star, deep) {
            (Some((behind, from)), _) if subject.get(from).is_some_and(|&byte| byte != b'/') => {
                star = Some((behind, from + 1));
                (token, at) = (behind, from + 1);
            }
            (_, Some((behind, from, folders))) => {
                let ends_here = |at: &usize| !folders || subject.get(at - 1) == Some(&b'/');
                let Some(next) = (from + 1..=subject.len()).find(ends_here) else { return false };
                (star, deep) = (None, Some((behind, next, folders)));
                (token, at) = (behind, next);
            }
            _ => return false,
        }
    }
}

impl Token {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => byte != b'/',
            Self::Class { negated, ranges } => {
                byte != b'/' && ranges.iter().any(|&(first, last)| (first..=last).contains(&byte)) != *negated
            }
            Self::Star | Self::Deep { .. } => false,
        }
    }
}
