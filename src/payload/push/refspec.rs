//! Refspecs of a push: how they are written and what they match.
//!
//! Promise: what git's refspec.c and refs.c (2.47 to 2.55) accept is accepted, what they turn down is
//! turned down, and a name or a pattern matches exactly where it does there.

use bstr::{BStr, BString, ByteSlice};

/// One refspec of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refspec {
    /// As written; submodules get it so.
    pub raw: BString,
    /// `+`.
    pub force: bool,
    /// `^`: leaves destinations out.
    pub negative: bool,
    /// `:`: branches of the same name on both sides.
    pub matching: bool,
    /// Whether it has an asterisk.
    pub pattern: bool,
    /// The left side; empty deletes.
    pub source: BString,
    /// The right side, when there is one.
    pub destination: Option<BString>,
}

impl Refspec {
    /// Reads one; `None` is what git calls an invalid refspec, and then pushes nothing.
    pub fn parse(raw: &BStr, hex_length: usize) -> Option<Self> {
        let (force, negative, text) = match raw.as_bytes() {
            [b'+', rest @ ..] => (true, false, rest),
            [b'^', rest @ ..] => (false, true, rest),
            whole => (false, false, whole),
        };
        let (left, right) = match text.rsplit_once_str(":") {
            Some((left, right)) => (left, Some(right)),
            None => (text, None),
        };
        if negative && right.is_some() {
            return None;
        }
        let mut refspec = Self {
            raw: raw.into(),
            force,
            negative,
            matching: left.is_empty() && right == Some(b""),
            pattern: left.contains(&b'*'),
            source: if left == b"@" { "HEAD".into() } else { left.into() },
            destination: right.map(BString::from),
        };
        if refspec.matching {
            refspec.pattern = false;
            return Some(refspec);
        }
        refspec.is_valid(hex_length).then_some(refspec)
    }

    fn is_valid(&self, hex_length: usize) -> bool {
        if self.destination.as_ref().is_some_and(|right| right.contains(&b'*') != self.pattern) {
            return false;
        }
        if self.negative {
            return !self.source.is_empty()
                && !is_whole_id(&self.source, hex_length)
                && is_name(&self.source, self.pattern);
        }
        if self.pattern && !is_name(&self.source, true) {
            return false;
        }
        match &self.destination {
            None => is_name(&self.source, self.pattern),
            Some(right) => is_name(right, self.pattern),
        }
    }

    /// Where a pattern sends the ref `name`; `None` when it does not match.
    pub fn mapped(&self, name: &BStr) -> Option<BString> {
        mapped(self.source.as_ref(), name, self.destination_side())
    }

    /// The source that a pattern would take for the destination `name`.
    pub fn mapped_back(&self, name: &BStr) -> Option<BString> {
        mapped(self.destination_side(), name, self.source.as_ref())
    }

    fn destination_side(&self) -> &BStr {
        self.destination.as_ref().unwrap_or(&self.source).as_ref()
    }

    /// Whether a negative refspec leaves the destination `name` out.
    pub fn excludes(&self, name: &BStr) -> bool {
        self.negative
            && if self.pattern {
                mapped(self.source.as_ref(), name, BStr::new("*")).is_some()
            } else {
                self.source == name
            }
    }
}

/// Whether any of them leaves the destination `name` out: a push compares negative refspecs with
/// destinations, not with sources.
pub fn excluded(refspecs: &[Refspec], name: &BStr) -> bool {
    refspecs.iter().any(|refspec| refspec.excludes(name))
}

/// Where configured refspecs send the local ref `name`, as git looks it up for a name without a colon
/// (`query_refspecs`): the first with a right side that matches, unless a negative one matches.
pub fn configured_destination(refspecs: &[Refspec], name: &BStr) -> Option<(BString, bool)> {
    if is_left_out(refspecs, name) {
        return None;
    }
    refspecs.iter().filter(|refspec| !refspec.negative && !refspec.matching).find_map(|refspec| {
        let right = refspec.destination.as_ref()?;
        let destination = if refspec.pattern {
            refspec.mapped(name)?
        } else if refspec.source == name {
            right.clone()
        } else {
            return None;
        };
        Some((destination, refspec.force))
    })
}

/// The negative half of that look-up. git turns patterns round first, although it was asked by source.
fn is_left_out(refspecs: &[Refspec], name: &BStr) -> bool {
    refspecs.iter().filter(|refspec| !refspec.negative).any(|refspec| {
        let reversed = if refspec.pattern {
            refspec.mapped_back(name)
        } else {
            (refspec.matching || refspec.source == name).then(|| name.into())
        };
        reversed.is_some_and(|reversed| excluded(refspecs, reversed.as_ref()))
    })
}

/// `name` against `pattern`, what the asterisk stood for put into `replacement`.
fn mapped(pattern: &BStr, name: &BStr, replacement: &BStr) -> Option<BString> {
    let (before, after) = pattern.split_once_str("*")?;
    let inner = name.strip_prefix(before)?.strip_suffix(after)?;
    let (left, right) = replacement.split_once_str("*")?;
    Some([left, inner, right].concat().into())
}

fn is_whole_id(text: &[u8], hex_length: usize) -> bool {
    text.len() == hex_length && text.iter().all(u8::is_ascii_hexdigit)
}

/// A name with one component or more; with one asterisk where `pattern` says so.
fn is_name(name: &[u8], pattern: bool) -> bool {
    if pattern && name.iter().filter(|byte| **byte == b'*').count() == 1 {
        let plain: Vec<u8> = name.iter().map(|byte| if *byte == b'*' { b'x' } else { *byte }).collect();
        return is_ref_name(&plain, true);
    }
    is_ref_name(name, true)
}

/// Whether git takes a text for the name of a ref (`check_refname_format`), with a single component
/// only where `one_level` says so.
pub fn is_ref_name(name: &[u8], one_level: bool) -> bool {
    if name == b"@" || name.ends_with(b".") {
        return false;
    }
    let components: Vec<&[u8]> = name.split_str("/").collect();
    components.iter().all(|component| is_component(component)) && (one_level || components.len() > 1)
}

fn is_component(component: &[u8]) -> bool {
    let forbidden = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
    !component.is_empty()
        && !component.starts_with(b".")
        && !component.ends_with(b".lock")
        && !component.contains_str("..")
        && !component.contains_str("@{")
        && !component.iter().any(|byte| forbidden(*byte))
}

/// How well an abbreviated name matches a full one (`refname_match`, `count_refspec_match`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// By itself, or below heads or tags.
    Strong,
    /// Elsewhere, and not from the top: counts only where nothing matches better.
    Weak,
}

/// Whether `abbreviated` may stand for the ref `full`.
pub fn match_name(abbreviated: &BStr, full: &BStr) -> Option<Match> {
    let may_stand = |prefix: &str, suffix: &str| {
        full.strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_suffix(suffix.as_bytes()))
            == Some(abbreviated.as_ref())
    };
    let matches = may_stand("", "")
        || may_stand("refs/", "")
        || may_stand("refs/tags/", "")
        || may_stand("refs/heads/", "")
        || may_stand("refs/remotes/", "")
        || may_stand("refs/remotes/", "/HEAD");
    if !matches {
        return None;
    }
    let from_the_top = full.len() == abbreviated.len() || full.len() == abbreviated.len() + 5;
    let head_or_tag = full.starts_with(b"refs/heads/") || full.starts_with(b"refs/tags/");
    Some(if from_the_top || head_or_tag { Match::Strong } else { Match::Weak })
}

/// The refs that an abbreviated name stands for: none, one, or too many.
pub fn matching_names<'n>(abbreviated: &BStr, names: impl Iterator<Item = &'n BStr>) -> Vec<&'n BStr> {
    let (mut strong, mut weak) = (Vec::new(), Vec::new());
    for name in names {
        match match_name(abbreviated, name) {
            Some(Match::Strong) => strong.push(name),
            Some(Match::Weak) => weak.push(name),
            None => {}
        }
    }
    if strong.is_empty() { weak } else { strong }
}
