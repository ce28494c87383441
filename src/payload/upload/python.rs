//! What Python's clients send.
//!
//! Promise: `twine upload` sends the files that it names; the others send what lies in `dist`, or build
//! it first (or an earlier command of the line does): then what they could build from is read as well,
//! by what the project's build backend takes. Wheels and source distributions are
//! archives, whose members the engines read.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

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
    let verb = |name: &str| args.has(&[name]);
    let builds = args.built_before
        || match client {
            "twine" | "uv" | "hatch" => false,
            "poetry" => args.has(&["--build"]),
            "pdm" => !args.has(&["--no-build"]),
            "maturin" => !verb("upload"),
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
        built_from(world, args, chosen)?;
    }
    Ok(())
}

/// Which files beside those that git does not ignore a build could pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// None: the backend asks git, and no list of its own names others.
    Nothing,
    /// Modules, wherever they are.
    Modules,
    /// All in folders that could be packages.
    Packages,
    /// All.
    Everything,
}

/// What each backend does, as measured with builds of the same folder. A backend that is not known, or one
/// that lies in the project, packs what it likes.
fn beside(dir: &Path) -> Beside {
    let Ok(text) = fs::read_to_string(dir.join("pyproject.toml")) else { return of_setuptools(dir, "") };
    let Ok(project) = text.parse::<Table>() else { return Beside::Everything };
    let system = project.get("build-system");
    let value = |name: &str| system.and_then(|system| system.get(name));
    if value("backend-path").is_some() {
        return Beside::Everything;
    }
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    match value("build-backend").and_then(Value::as_str) {
        Some("hatchling.build") if !says(&["include", "artifacts", "ignore-vcs", "shared-", "extra-"]) => {
            Beside::Nothing
        }
        Some("poetry.core.masonry.api") if poetry_names_none(&project) => Beside::Nothing,
        Some("pdm.backend") if !says(&["include", "data", "scripts"]) => Beside::Packages,
        Some("flit_core.buildapi") if !says(&["include", "external-data"]) => Beside::Packages,
        Some("uv_build") if !says(&["include", "[tool.uv.build-backend.data"]) => Beside::Packages,
        Some("maturin") if !says(&["include", "data"]) => Beside::Packages,
        None | Some("setuptools.build_meta" | "setuptools.build_meta:__legacy__") => of_setuptools(dir, &text),
        Some(_) => Beside::Everything,
    }
}

/// `[tool.poetry]` without an `include` of its own; where its packages are is no such list.
fn poetry_names_none(project: &Table) -> bool {
    let poetry = project.get("tool").and_then(|tool| tool.get("poetry"));
    poetry.is_none_or(|poetry| poetry.get("include").is_none())
}

/// Modules are found by their ending, whether git ignores them or not; anything else only by lists.
fn of_setuptools(dir: &Path, project: &str) -> Beside {
    let lists = ["MANIFEST.in", "setup.cfg", "setup.py"].iter().any(|name| dir.join(name).exists());
    let named = ["data", "include", "ext-modules", "license-files"].iter().any(|word| project.contains(word));
    if lists || named { Beside::Everything } else { Beside::Modules }
}

/// Adds what a build could pack. Builders follow links.
fn built_from(world: &World, args: &Args<'_>, chosen: &mut Chosen) -> Result<(), Fault> {
    let dir = args.dir;
    chosen.files.extend(tree::inputs(world, dir)?);
    if dir.join("Cargo.toml").is_file() {
        super::crates::files(world, args, chosen)?;
    }
    let beside = beside(dir);
    if beside == Beside::Nothing {
        return Ok(());
    }
    let enters = |path: &Path, name: &OsStr| {
        let at_top = path.parent() == Some(dir);
        name != ".git" && !is_environment(name) && (beside == Beside::Everything || !at_top || !is_no_package(name))
    };
    let found = tree::walk_through(dir, &enters)?;
    chosen.files.extend(found.into_iter().filter(|path| match beside {
        Beside::Nothing => false,
        Beside::Modules => path.extension().is_some_and(|ending| ending == "py" || ending == "pyi"),
        Beside::Packages => path.parent() != Some(dir) || path.extension().is_some_and(|ending| ending == "py"),
        Beside::Everything => true,
    }));
    Ok(())
}

/// Folders at a project's top that are no packages: hidden ones, and what was built before.
fn is_no_package(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "dist"
}

/// Folders of installed packages and caches, which no builder packs.
fn is_environment(name: &OsStr) -> bool {
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
