//! Which files a package client sends.
//!
//! Promise: npm and its kin, cargo and Python's clients are read by their own rules; other clients, and
//! tools that release by whatever they find, by the manifests in the folder. Container images are no
//! files here: that is a fault of its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command::plan::{PackageRequest, State, WrittenFile};
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;

use super::{Chosen, crates, npm, python, tree};

/// Adds what the client would send from `dir`.
///
/// # Errors
/// When a folder cannot be listed, or images are sent.
pub(super) fn files(world: &World, dir: &Path, request: &PackageRequest, chosen: &mut Chosen) -> Result<(), Fault> {
    let here = Args { words: &request.args, dir, built_before: request.state != State::AsNow };
    for folder in folders(dir, request) {
        files_in(world, &Args { dir: &folder, ..here }, request, chosen)?;
    }
    Ok(())
}

/// Where the client looks for the package.
fn folders(dir: &Path, request: &PackageRequest) -> Vec<PathBuf> {
    let here = Args { words: &request.args, dir, built_before: false };
    let elsewhere = here.values(changes_directory(&request.client));
    if elsewhere.is_empty() { vec![dir.to_owned()] } else { elsewhere.iter().map(|folder| dir.join(folder)).collect() }
}

/// Whether a file that the line writes before can come into the package.
pub(super) fn may_take(dir: &Path, request: &PackageRequest, file: &WrittenFile) -> bool {
    // npm and its kin never pack these, and a line that publishes may well write the first.
    let is_npm = matches!(request.client.as_str(), "npm" | "pnpm" | "yarn" | "bun" | "lerna" | "changeset" | "np");
    let is_left_out = |name: &OsStr| name == ".git" || is_npm && (name == ".npmrc" || name == "node_modules");
    folders(dir, request)
        .iter()
        .any(|folder| file.path.strip_prefix(folder).is_ok_and(|below| !below.iter().any(is_left_out)))
}

/// Options by which a client goes to another directory first.
fn changes_directory(client: &str) -> &'static [&'static str] {
    match client {
        "cargo" => &["-C"],
        "poetry" => &["-C", "--directory", "-P", "--project"],
        "uv" => &["--directory", "--project"],
        "pnpm" => &["-C", "--dir"],
        "yarn" | "bun" => &["--cwd"],
        _ => &[],
    }
}

fn files_in(world: &World, args: &Args<'_>, request: &PackageRequest, chosen: &mut Chosen) -> Result<(), Fault> {
    match request.client.as_str() {
        "docker" | "podman" | "nerdctl" | "buildah" | "skopeo" | "crane" | "oras" => {
            Err(Fault::Image(SafeText::quoted(request.client.as_bytes(), 40)))
        }
        "npm" | "pnpm" | "yarn" | "bun" | "lerna" | "changeset" | "np" => {
            npm::files(world, &request.client, args, chosen)
        }
        "cargo" => crates::files(world, args, chosen),
        "twine" | "uv" | "poetry" | "pdm" | "hatch" | "flit" | "maturin" => {
            python::files(world, &request.client, args, chosen)
        }
        _ => by_manifest(world, args, chosen),
    }
}

/// By what is there to be packed; without a manifest that is known, every input of a build.
fn by_manifest(world: &World, args: &Args<'_>, chosen: &mut Chosen) -> Result<(), Fault> {
    chosen.widened = true;
    if args.dir.join("package.json").is_file() {
        npm::files(world, "", args, chosen)?;
    }
    if args.dir.join("Cargo.toml").is_file() {
        crates::files(world, args, chosen)?;
    }
    chosen.note("the client's own rules are not read: every file that git does not ignore is");
    chosen.files.extend(tree::inputs(world, args.dir)?);
    Ok(())
}

/// A client's arguments.
pub(super) struct Args<'a> {
    words: &'a [Option<OsString>],
    /// Where it runs.
    pub(super) dir: &'a Path,
    /// Whether an earlier command of the line may write what is packed.
    pub(super) built_before: bool,
}

impl Args<'_> {
    /// Whether every word is known.
    pub(super) fn known(&self) -> bool {
        self.words.iter().all(Option::is_some)
    }

    /// Whether one of these options is there, bare or with a value attached.
    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.words.iter().flatten().any(|word| {
            options.iter().any(|option| {
                word.as_bytes()
                    .strip_prefix(option.as_bytes())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
            })
        })
    }

    /// The values of an option, attached or the next word.
    pub(super) fn values(&self, options: &[&str]) -> Vec<OsString> {
        let mut values = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let Some(word) = word else { continue };
            for option in options {
                match word.as_bytes().strip_prefix(option.as_bytes()) {
                    Some(b"") => values.extend(words.next().cloned().flatten()),
                    Some(rest) if rest.starts_with(b"=") => {
                        values.push(OsStr::from_bytes(rest.get(1..).unwrap_or_default()).to_owned());
                    }
                    Some(_) | None => {}
                }
            }
        }
        values
    }

    /// Words that are no options, as paths from where the client runs.
    pub(super) fn operands(&self) -> impl Iterator<Item = PathBuf> {
        self.words.iter().flatten().filter(|word| !word.as_bytes().starts_with(b"-")).map(|word| self.dir.join(word))
    }
}
