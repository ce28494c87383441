//! What leaves by other ways than git's pack protocol: files, texts, packages, revisions.
//!
//! Promise: every file that the line names, every text on it, every file that a package client would
//! pack by its own rules (read by us: no client is run), and every object of the revisions that a
//! command takes. Where a client's rules are not known, the files that it could take as input. What a
//! client builds first does not exist yet; its inputs are read in its place, and a note says so.

mod crates;
mod npm;
mod package;
mod python;
mod revisions;
mod tree;
mod written;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;

use crate::command::plan::{Content, GitContext, UploadRequest};
use crate::text::SafeText;
use crate::world::World;

use super::commit::site::Site;
use super::objects::Format;
use super::remote::{By, Later};
use super::{Destination, Fault, Item, ItemKind, Part, Payload, Side, Texts, files};

/// Everything that the upload would send.
///
/// # Errors
/// When a file cannot be read, the revisions cannot be followed, or what is sent are images, which
/// nothing here reads.
pub fn payload(world: &World, request: &UploadRequest) -> Result<Payload, Fault> {
    let mut payload = Payload { exact: true, ..Payload::default() };
    let mut chosen = Chosen::default();
    chosen.files.extend(request.files.iter().cloned());
    if let Some(package) = &request.package {
        package::files(world, &request.dir, package, &mut chosen)?;
    }
    for file in &request.written {
        if request.package.as_ref().is_none_or(|package| package::may_take(&request.dir, package, file)) {
            // What is built is read by its inputs, as where a package's own scripts build it.
            let is_built = request.package.is_some() && !file.contents.iter().all(is_known);
            match is_built && tree::is_ignored(world, &request.dir, &file.path)? {
                true => chosen.note("a file that git ignores, and that the line writes before, is not read"),
                false => chosen.take_written(file)?,
            }
        }
    }
    if let Some(revisions) = &request.revisions {
        payload.absorb(revisions::payload(world, revisions)?);
    }
    payload.absorb(chosen.into_payload(world, &request.dir)?);
    if !request.texts.is_empty() {
        payload.parts.push(Texts::part(request.texts.iter().map(|text| (ItemKind::Message, text.clone()))));
    }
    payload.destinations.push(Destination { url: request.tool.clone(), refs: Vec::new() });
    Ok(payload)
}

/// Files that were chosen, and what there is to say of them.
#[derive(Debug, Default)]
struct Chosen {
    /// Absolute paths.
    files: BTreeSet<PathBuf>,
    /// What the line makes of files, by their paths.
    made: Vec<(PathBuf, Vec<u8>)>,
    /// What nobody can read yet.
    unseen: Vec<SafeText>,
    notes: Vec<SafeText>,
    /// Whether more was chosen than would be sent.
    widened: bool,
}

impl Chosen {
    fn note(&mut self, note: &str) {
        self.notes.push(note.into());
    }

    /// Files of a repository are told by their paths in it, so that a suppression that its remote holds
    /// can be found; others by their whole path.
    fn into_payload(self, world: &World, dir: &Path) -> Result<Payload, Fault> {
        let (notes, unseen) = (self.notes, self.unseen);
        let mut payload = Payload { notes, unseen, exact: !self.widened, ..Payload::default() };
        let (there, missing): (Vec<_>, Vec<_>) = self.files.into_iter().partition(|path| path.is_file());
        for path in missing.iter().filter(|path| !path.is_dir()) {
            payload.unseen.push(SafeText::new(&format!("{}, which is not there now", shown(path))));
        }
        payload.exact &= payload.unseen.is_empty();
        let git = GitContext { dir: existing(dir), env: world.env.clone(), globals: Vec::new() };
        let site = Site::find(world, &git).ok().flatten();
        let top = site.as_ref().and_then(|site| site.top.clone());
        let format = Format::from_name(site.map_or("sha1".to_owned(), |site| site.format).as_bytes())?;
        if !self.made.is_empty() {
            let shown = |path: &Path| match top.as_ref().and_then(|top| super::commit::site::below(top, path)) {
                Some(below) => below,
                None => path.to_owned(),
            };
            payload.parts.push(written::part(self.made, &shown, format));
        }
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for path in there {
            match top.as_ref().and_then(|top| super::commit::site::below(top, &path)) {
                Some(below) => inside.push(item(&path, &below, format)?),
                None => outside.push(item(&path, &path, format)?),
            }
        }
        if let Some(top) = top.filter(|_| !inside.is_empty()) {
            payload.parts.push(Part { items: inside, source: files::below(&top) });
            payload.sides.push(Side { parts: 0..1, side: Arc::new(Later::new(world, &git, By::Asking)) });
        }
        if !outside.is_empty() {
            payload.parts.push(Part { items: outside, source: files::below(Path::new("/")) });
        }
        Ok(payload)
    }
}

/// Regular files below a folder, links not followed.
///
/// # Errors
/// When a folder cannot be listed.
pub(super) fn walk(dir: &Path) -> Result<BTreeSet<PathBuf>, Fault> {
    tree::walk(dir, &|_, _| true)
}

fn is_known(content: &Content) -> bool {
    *content != Content::Unknown
}

/// The nearest directory that is there.
fn existing(dir: &Path) -> PathBuf {
    dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

fn item(path: &Path, name: &Path, format: Format) -> Result<Item, Fault> {
    files::identified(path, BString::from(name.as_os_str().as_bytes()), format)
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_bytes(), 200)
}

/// Whether a name ends in this.
fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().map(OsStr::as_bytes).is_some_and(|name| name.to_ascii_lowercase().ends_with(ending.as_bytes()))
}
