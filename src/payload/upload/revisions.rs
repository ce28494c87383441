//! Commits, trees and patches that leave another way: `bundle`, `archive`, `format-patch`, `send-email`,
//! `imap-send`, `request-pull`, `fast-export`, `svn dcommit` and the like.
//!
//! Promise: every object of the revisions that the words name, without what limits only narrow
//! (dates, counts, paths); for patches also what the changed files held before, since a patch shows
//! removed lines and their surroundings; and the texts that git adds: descriptions of branches, notes,
//! covers, signatures, files on the line. Never exact.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::command::plan::{GitContext, RevisionRequest};
use crate::payload::commit::stage::nul_separated;
use crate::payload::objects::ObjectStore;
use crate::payload::remote::{By, Later};
use crate::payload::{Fault, ItemKind, ObjectId, Payload, Texts, files};
use crate::text::SafeText;
use crate::world::World;

/// What a verb takes from its revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// History: objects that are new beyond the excluded ends.
    History,
    /// A tree as a whole, and the commit's text.
    Tree,
    /// Patches and mails.
    Patches,
    /// Subjects, descriptions and tags.
    Summary,
}

fn takes(verb: &OsStr) -> Takes {
    match verb.to_str() {
        Some("archive") => Takes::Tree,
        Some("format-patch" | "send-email" | "imap-send") => Takes::Patches,
        Some("request-pull") => Takes::Summary,
        Some(_) | None => Takes::History,
    }
}

/// Everything that the command would take.
///
/// # Errors
/// When there is no repository, or an object is missing.
pub(super) fn payload(world: &World, request: &RevisionRequest) -> Result<Payload, Fault> {
    let store = ObjectStore::open(world, &request.git)?;
    let takes = takes(&request.verb);
    let asked = Asked { world, git: &request.git };
    let ends = asked.ends(request, takes)?;
    let mut payload = Payload { exact: false, ..Payload::default() };
    let mut items = match takes {
        Takes::Tree => {
            let mut trees = Vec::new();
            for tip in &ends.tips {
                trees.extend(asked.resolve(OsStr::new(&tip.to_string()), "tree")?);
            }
            let mut items = store.reachable(&trees, &[])?;
            items.extend(store.items(&ends.tips)?);
            items
        }
        Takes::History | Takes::Patches | Takes::Summary => store.reachable(&ends.tips, &ends.boundary)?,
    };
    if takes == Takes::Patches {
        let before = asked.before(&ends)?;
        let known: BTreeSet<_> = items.iter().filter_map(|item| item.oid).collect();
        let fresh: Vec<ObjectId> = before.into_iter().filter(|id| !known.contains(id) && store.has(id)).collect();
        items.extend(store.items(&fresh)?);
    }
    items.sort_by_key(|item| item.oid);
    items.dedup_by_key(|item| item.oid);
    payload.parts.push(store.part(items));
    payload.all_to(Arc::new(Later::new(world, &request.git, By::Asking)));
    let texts = asked.texts(request, takes)?;
    if !texts.is_empty() {
        payload.parts.push(Texts::part(texts.into_iter().map(|text| (ItemKind::Message, text))));
    }
    let named = named_files(request);
    if !named.is_empty() {
        payload.parts.push(files::part(&named)?);
    }
    if request.args.iter().any(Option::is_none) {
        payload.notes.push("words are not known: every ref is taken".into());
    }
    if ends.from_input {
        payload.notes.push(SafeText::new("what it reads from its input is read with the line"));
    }
    Ok(payload)
}

/// Ends of the history that is taken.
#[derive(Debug, Default)]
struct Ends {
    tips: Vec<ObjectId>,
    boundary: Vec<ObjectId>,
    from_input: bool,
}

struct Asked<'a> {
    world: &'a World,
    git: &'a GitContext,
}

impl Asked<'_> {
    fn ends(&self, request: &RevisionRequest, takes: Takes) -> Result<Ends, Fault> {
        let mut ends = Ends::default();
        let mut named = false;
        let mut negative = false;
        let mut count: Option<u32> = None;
        for word in request.args.iter().flatten() {
            let bytes = word.as_bytes();
            match bytes {
                b"--" => break,
                b"--not" => negative = !negative,
                b"--stdin" | b"-" => ends.from_input = true,
                b"--root" => {}
                _ if bytes.starts_with(b"--all") || bytes.starts_with(b"--reflog") || bytes == b"-g" => {
                    named = true;
                    ends.tips.extend(self.refs("refs/")?);
                }
                _ if bytes.starts_with(b"--branches") => {
                    named = true;
                    let side = if negative { &mut ends.boundary } else { &mut ends.tips };
                    side.extend(self.refs("refs/heads/")?);
                }
                _ if bytes.starts_with(b"--tags") => {
                    named = true;
                    let side = if negative { &mut ends.boundary } else { &mut ends.tips };
                    side.extend(self.refs("refs/tags/")?);
                }
                _ if bytes.starts_with(b"--remotes") => {
                    named = true;
                    let side = if negative { &mut ends.boundary } else { &mut ends.tips };
                    side.extend(self.refs("refs/remotes/")?);
                }
                _ if bytes.starts_with(b"--") => {}
                _ if bytes.starts_with(b"-") => {
                    let digits = bytes.strip_prefix(b"-n").unwrap_or(bytes.get(1..).unwrap_or_default());
                    count = count.or(digits.to_str().ok().and_then(|digits| digits.parse().ok()));
                }
                _ => named |= self.word(word, negative, &mut ends)?,
            }
        }
        self.finish(request, takes, named, count, &mut ends)?;
        Ok(ends)
    }

    /// What is meant when nothing, or only one end, is named.
    fn finish(
        &self,
        request: &RevisionRequest,
        takes: Takes,
        named: bool,
        count: Option<u32>,
        ends: &mut Ends,
    ) -> Result<(), Fault> {
        let head = self.resolve(OsStr::new("HEAD"), "commit")?;
        if request.args.iter().any(Option::is_none) {
            ends.boundary.clear();
            ends.tips.extend(self.refs("refs/")?);
            ends.tips.extend(head);
        } else if !named {
            ends.tips.extend(head);
            if takes == Takes::History {
                // `svn dcommit`, `p4 submit`: what no remote is said to have.
                ends.boundary.extend(self.refs("refs/remotes/")?);
            }
        }
        let unknown = request.args.iter().any(Option::is_none);
        let root = request.args.iter().flatten().any(|word| word == "--root");
        let one = takes == Takes::Patches && ends.tips.len() == 1 && count.is_none() && !root;
        if named && !unknown && ends.boundary.is_empty() && (one || takes == Takes::Summary) {
            // `format-patch SINCE` and `request-pull START URL END` begin behind their first revision.
            let rest = ends.tips.split_off(ends.tips.len().min(1));
            ends.boundary = std::mem::replace(&mut ends.tips, rest);
            if ends.tips.is_empty() {
                ends.tips.extend(head);
            }
        }
        if takes == Takes::Patches
            && let Some(count) = count
        {
            for tip in ends.tips.clone() {
                let start = format!("{tip}~{count}");
                ends.boundary.extend(self.resolve(OsStr::new(&start), "commit")?);
            }
        }
        Ok(())
    }

    /// One word: `a`, `^a`, `a..b`, `a...b`; whether it names a revision.
    fn word(&self, word: &OsString, negative: bool, ends: &mut Ends) -> Result<bool, Fault> {
        let bytes = word.as_bytes();
        let (bytes, negative) = match bytes.strip_prefix(b"^") {
            Some(rest) => (rest, !negative),
            None => (bytes, negative),
        };
        let or_head =
            |name: &[u8]| if name.is_empty() { OsString::from("HEAD") } else { OsStr::from_bytes(name).to_owned() };
        if let Some(place) = bytes.find("...") {
            let left = self.resolve(&or_head(bytes.get(..place).unwrap_or_default()), "object")?;
            let right = self.resolve(&or_head(bytes.get(place + 3..).unwrap_or_default()), "object")?;
            let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
            ends.tips.extend([left, right]);
            return Ok(true);
        }
        if let Some(place) = bytes.find("..") {
            let left = self.resolve(&or_head(bytes.get(..place).unwrap_or_default()), "object")?;
            let right = self.resolve(&or_head(bytes.get(place + 2..).unwrap_or_default()), "object")?;
            // A path (`../out.bundle`) is no range.
            let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
            ends.boundary.push(left);
            ends.tips.push(right);
            return Ok(true);
        }
        let object = self.resolve(OsStr::from_bytes(bytes), "object")?;
        if negative {
            ends.boundary.extend(object)
        } else {
            ends.tips.extend(object)
        };
        Ok(object.is_some())
    }

    fn resolve(&self, revision: &OsStr, kind: &str) -> Result<Option<ObjectId>, Fault> {
        let mut peeled = revision.to_owned();
        peeled.push(format!("^{{{kind}}}"));
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options"].map(OsString::from);
        let done = self.world.git(self.git, args.into_iter().chain([peeled])).with_replacements().run()?;
        Ok(ObjectId::from_hex(done.stdout.trim()).ok().filter(|_| done.status.success()))
    }

    fn refs(&self, below: &str) -> Result<Vec<ObjectId>, Fault> {
        let listed = self.world.git(self.git, ["for-each-ref", "--format=%(objectname)", below]).stdout()?;
        Ok(listed.lines().filter_map(|line| ObjectId::from_hex(line).ok()).collect())
    }

    /// What files that change between an excluded end and a tip held before.
    fn before(&self, ends: &Ends) -> Result<BTreeSet<ObjectId>, Fault> {
        let mut before = BTreeSet::new();
        for from in &ends.boundary {
            for to in &ends.tips {
                let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
                let call = self.world.git(self.git, args.into_iter().chain([&*from.to_string(), &*to.to_string()]));
                let listed = call.run()?.stdout;
                for head in listed.split(|byte| *byte == 0).filter_map(|field| field.strip_prefix(b":")) {
                    let mut words = head.fields();
                    let (mode, old) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
                    if mode != b"160000" && mode != b"000000" {
                        before.extend(ObjectId::from_hex(old).ok());
                    }
                }
            }
        }
        Ok(before)
    }

    /// Texts beside the objects.
    fn texts(&self, request: &RevisionRequest, takes: Takes) -> Result<Vec<BString>, Fault> {
        let mut texts: Vec<BString> = Vec::new();
        // What `--add-virtual-file`, `--subject-prefix`, `--compose` and the like bring stands on the line.
        let words: Vec<&[u8]> = request.args.iter().flatten().map(|word| word.as_bytes()).collect();
        texts.push(words.join(&b"\n"[..]).into());
        if matches!(takes, Takes::Patches | Takes::Summary) {
            let listed = self.world.git(self.git, ["config", "--list", "-z", "--includes"]).stdout()?;
            for entry in nul_separated(&listed) {
                let (key, value) = entry.split_once_str("\n").unwrap_or((&entry, b""));
                let described = key.starts_with(b"branch.") && key.ends_with(b".description");
                let mail = key.starts_with(b"format.") || key == b"sendemail.from";
                if described || mail {
                    texts.push(value.into());
                }
            }
        }
        if takes == Takes::Patches && request.args.iter().flatten().any(|word| word.as_bytes().starts_with(b"--notes"))
        {
            texts.extend(self.notes()?);
        }
        texts.retain(|text| !text.is_empty());
        Ok(texts)
    }

    /// Every note, whichever commit it is for.
    fn notes(&self) -> Result<Vec<BString>, Fault> {
        let mut notes = Vec::new();
        for tip in self.refs("refs/notes/")? {
            let listed =
                self.world.git(self.git, ["ls-tree", "-r", "-z", "--object-only", &tip.to_string()]).stdout()?;
            for note in nul_separated(&listed) {
                let note = note.to_str_lossy().into_owned();
                notes.push(self.world.git(self.git, ["cat-file", "blob", &note]).stdout()?.into());
            }
        }
        Ok(notes)
    }
}

/// Files that the words name: patches to be sent, `--add-file`, `--signature-file`, `--description-file`.
/// What the command writes (`-o FILE`, the bundle) is no input.
fn named_files(request: &RevisionRequest) -> Vec<PathBuf> {
    let mut named = BTreeSet::new();
    let mut words = request.args.iter().flatten();
    while let Some(word) = words.next() {
        let bytes = word.as_bytes();
        if bytes == b"-o" || bytes == b"--output" || bytes == b"--output-directory" {
            words.next();
            continue;
        }
        if bytes.starts_with(b"--output") || (request.verb == "bundle" && !bytes.starts_with(b"-")) {
            continue;
        }
        let attached = bytes.find_byte(b'=').and_then(|place| bytes.get(place + 1..));
        for name in [Some(bytes), attached].into_iter().flatten().filter(|name| !name.is_empty()) {
            let path = request.git.dir.join(OsStr::from_bytes(name));
            if path.is_file() {
                named.insert(path);
            } else if path.is_dir() && request.verb == "send-email" {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                named.extend(entries.map(|entry| entry.path()).filter(|path| path.is_file()));
            }
        }
    }
    named.into_iter().collect()
}
