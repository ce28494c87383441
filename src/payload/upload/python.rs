//! What Python's clients send.
//!
//! Promise: `twine upload` sends the files that it names; the others send what lies in `dist`, or build
//! it first: then what they could build from is read as well. Wheels and source distributions are
//! archives, whose members the engines read.

use std::fs;
use std::path::Path;

use crate::payload::Fault;
use crate::world::World;

use super::package::Args;
use super::{Chosen, ends_with, tree};

/// Adds what would be sent. Files that the line names are among the request's own.
pub(super) fn files(world: &World, client: &str, args: &Args<'_>, chosen: &mut Chosen) -> Result<(), Fault> {
    for operand in args.operands() {
        if operand.is_dir() {
            chosen.files.extend(distributions(&operand));
        }
    }
    let builds = match client {
        "twine" => false,
        "uv" => false,
        "poetry" => args.has(&["--build"]),
        "pdm" => !args.has(&["--no-build"]),
        "hatch" | "flit" | "maturin" => true,
        _ => true,
    };
    if !chosen.files.is_empty() && args.known() && !builds {
        return Ok(());
    }
    let mut folders = vec![args.dir.join("dist")];
    folders
        .extend(args.values(&["--dist-dir", "-d", "--dest", "--out", "-o"]).iter().map(|folder| args.dir.join(folder)));
    if client == "maturin" {
        folders.push(args.dir.join("target/wheels"));
    }
    for folder in folders {
        chosen.files.extend(distributions(&folder));
    }
    if !args.known() {
        chosen.widened = true;
    }
    if builds || chosen.files.is_empty() {
        chosen.widened = true;
        chosen.note("a distribution is built first; the files that it could be built from are taken");
        let everything = ["MANIFEST.in", "setup.cfg"].iter().any(|name| args.dir.join(name).is_file());
        // Lists of their own may name ignored files.
        let own_lists = fs::read_to_string(args.dir.join("pyproject.toml")).is_ok_and(|text| text.contains("include"));
        let inputs = if everything || own_lists {
            tree::walk(args.dir, &|_, name| !is_environment(name))?
        } else {
            tree::inputs(world, args.dir)?
        };
        chosen.files.extend(inputs);
    }
    Ok(())
}

/// Folders of installed packages and caches, which no builder packs.
fn is_environment(name: &std::ffi::OsStr) -> bool {
    matches!(
        name.to_str(),
        Some(".venv" | "venv" | "node_modules" | "__pycache__" | ".tox" | ".nox" | ".mypy_cache" | ".pytest_cache")
    )
}

/// Wheels, source distributions, signatures and attestations of a folder.
fn distributions(folder: &Path) -> Vec<std::path::PathBuf> {
    let endings = [".whl", ".tar.gz", ".zip", ".tgz", ".egg", ".asc", ".attestation", ".tar.bz2"];
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && endings.iter().any(|ending| ends_with(path, ending)))
        .collect()
}
