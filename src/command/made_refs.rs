//! Pushes of refs that the same line makes: `git checkout -b x && git push -u origin x`.
//!
//! Promise: a push that names such a ref is planned as a push of what the ref will stand for, so that
//! it stays as exact as one of an old ref; where it cannot be told what the push takes, it is not
//! rewritten.

use std::ffi::{OsStr, OsString};

use bstr::{BStr, BString, ByteSlice};

use super::git_table::grammar;
use super::git_verbs::args as words_of;
use super::meaning::MadeRef;
use super::options::{Arg, Grammar};
use super::plan::GitContext;
use super::simple::{Value, to_os_string};

/// The arguments of a push with every new ref in place of its name; a push of many refs is joined by
/// one of the new ones. `None` when words are not known, or no remote is named while there are several:
/// another branch may then go somewhere else.
pub(super) fn named(
    args: &[Option<OsString>],
    made: &[MadeRef],
    only_remote: Option<BString>,
) -> Option<Vec<Vec<Option<OsString>>>> {
    let words: Vec<&OsStr> = args.iter().map(|word| word.as_deref()).collect::<Option<_>>()?;
    let read = grammar("push").read(&known(&words), true);
    if read.is_on("mirror") || read.is_on("delete") {
        return None;
    }
    let Some(remote) = read.operands.first().and_then(Arg::known).map(BStr::to_owned) else {
        // Only one remote is there to go to: what is checked out may go there under its new names.
        let remote = only_remote.filter(|_| read.value("repo").is_none())?;
        return Some(vec![args.to_vec(), new_ones(&remote, made)]);
    };
    let mut seen_remote = false;
    let mut after_tag = false;
    let mut line = Vec::new();
    for word in &words {
        let bytes = word.as_encoded_bytes().as_bstr();
        let is_first = !seen_remote && bytes == remote.as_bstr();
        seen_remote |= is_first;
        let replaced = if is_first || bytes.starts_with(b"-") { None } else { refspec(bytes, made, after_tag) };
        // `tag NAME` is two words for one refspec.
        if after_tag && replaced.is_some() {
            line.pop();
        }
        after_tag = !is_first && bytes == "tag";
        line.push(Some(replaced.map_or_else(|| (*word).to_owned(), |refspec| to_os_string(&refspec))));
    }
    let mut forms = vec![line];
    if ["all", "branches", "tags", "follow-tags"].iter().any(|name| read.is_on(name)) {
        forms.push(new_ones(&remote, made));
    }
    Some(forms)
}

/// A push of the new refs.
fn new_ones(remote: &BString, made: &[MadeRef]) -> Vec<Option<OsString>> {
    let mut args = vec![Some(to_os_string(remote))];
    args.extend(made.iter().map(|made| Some(to_os_string([b"HEAD:", made.folder.as_bytes(), &made.name].concat()))));
    args
}

/// The sources of a push that names a remote and refs and no more: no option that takes others along.
/// `None` when it does, or when words are not known.
pub(super) fn sources(args: &[Option<OsString>]) -> Option<Vec<BString>> {
    let words: Vec<&OsStr> = args.iter().map(|word| word.as_deref()).collect::<Option<_>>()?;
    let read = grammar("push").read(&known(&words), true);
    let takes_more = ["all", "branches", "tags", "mirror", "follow-tags", "delete"];
    if takes_more.iter().any(|name| read.is_on(name)) {
        return None;
    }
    let refspecs = read.operands.iter().skip(1).map(|arg| {
        let word = arg.known()?;
        let bare = word.strip_prefix(b"+").unwrap_or(word);
        let source = bare.rfind_byte(b':').map_or(bare, |at| bare.get(..at).unwrap_or_default());
        (!matches!(source, b"HEAD" | b"@" | b"")).then(|| source.into())
    });
    refspecs.collect()
}

/// Whether a push names a path where nothing is yet.
pub(super) fn leads_to_new_path(args: &[Option<OsString>], git: &GitContext) -> bool {
    let words: Vec<Arg> = args
        .iter()
        .map(|word| match word {
            Some(word) => Arg::Known(word.as_encoded_bytes().into()),
            None => Arg::nothing_known(),
        })
        .collect();
    let read = grammar("push").read(&words, true);
    let Some(remote) = read.operands.first().or(read.value("repo")).and_then(Arg::known) else { return false };
    let path = remote.strip_prefix(b"file://").unwrap_or(remote);
    let dir = super::git_globals::directory(&git.dir, &git.globals);
    path.contains(&b'/') && !path.contains_str("://") && !dir.join(to_os_string(path)).exists()
}

fn known(words: &[&OsStr]) -> Vec<Arg> {
    words.iter().map(|word| Arg::Known(word.as_encoded_bytes().into())).collect()
}

/// A refspec whose source is new, with `HEAD` as its source.
fn refspec(word: &BStr, made: &[MadeRef], is_tag: bool) -> Option<BString> {
    let (force, rest) = match word.strip_prefix(b"+") {
        Some(rest) => (b"+".as_slice(), rest),
        None => (b"".as_slice(), word.as_bytes()),
    };
    let (source, target) = match rest.rfind_byte(b':') {
        Some(at) => (rest.get(..at)?, rest.get(at + 1..)),
        None => (rest, None),
    };
    let made = made.iter().find(|made| {
        let full = [made.folder.as_bytes(), &made.name].concat();
        let short = full.strip_prefix(b"refs/").unwrap_or(&full);
        (source == made.name.as_slice() || source == full || source == short)
            && (!is_tag || made.folder == "refs/tags/")
    })?;
    let target = match target {
        Some(target) => target.to_vec(),
        None => [made.folder.as_bytes(), &made.name].concat(),
    };
    Some([force, b"HEAD:", &target].concat().into())
}

/// `subtree push --prefix=DIR REMOTE [COMMIT:]REF` as a push of the whole commit to that ref.
pub(super) fn of_subtree(words: &[Value]) -> Vec<Option<OsString>> {
    const OPTIONS: Grammar = Grammar(
        "q/quiet d/debug P/prefix= b/branch= /onto= /rejoin /ignore-joins /annotate= m/message= /squash S/gpg-sign?",
    );
    let read = OPTIONS.read(&words_of(words), true);
    let mut operands = read.operands.iter().map(|arg| arg.known().map(BStr::to_owned));
    let (_, remote, target) = (operands.next(), operands.next().flatten(), operands.next().flatten());
    let refspec = target.map(|target| {
        let bare = target.strip_prefix(b"+").unwrap_or(&target);
        match bare.rfind_byte(b':') {
            Some(at) => {
                let (source, name) = (bare.get(..at).unwrap_or_default(), bare.get(at + 1..).unwrap_or_default());
                to_os_string([source, b":", &full(name)].concat())
            }
            None => to_os_string([b"HEAD:".as_slice(), &full(bare)].concat()),
        }
    });
    vec![remote.map(to_os_string), refspec]
}

fn full(name: &[u8]) -> Vec<u8> {
    if name.starts_with(b"refs/") { name.to_vec() } else { [b"refs/heads/", name].concat() }
}
