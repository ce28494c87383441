//! What `cargo publish` packs.
//!
//! Promise: at least the files that `cargo package --list` (cargo 1.85 to 1.95) names, but those which
//! cargo makes itself (`Cargo.toml.orig`, `.cargo_vcs_info.json`, a generated lock file): with
//! `include`, the files below the manifest that it matches; else what git does not ignore (where git does
//! not track the manifest, everything but hidden files and `target`) less what `exclude` matches. Other packages below are left out, the manifest, the
//! readme and the licence file are always in. Several packages are taken where the words could mean them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toml::{Table, Value};

use crate::payload::Fault;
use crate::world::World;

use super::package::Args;
use super::{Chosen, tree};

/// Adds what would be packed.
pub(super) fn files(world: &World, args: &Args<'_>, chosen: &mut Chosen) -> Result<(), Fault> {
    let manifests = args.values(&["--manifest-path"]);
    let top = match manifests.first().map(|path| args.dir.join(path)) {
        Some(path) => path.parent().map_or(args.dir.to_owned(), Path::to_owned),
        None => args.dir.ancestors().find(|dir| dir.join("Cargo.toml").is_file()).unwrap_or(args.dir).to_owned(),
    };
    let others = ["-p", "--package", "--workspace", "--all", "release", "workspaces", "ws", "smart-release"];
    let virtual_manifest = table(&top).is_some_and(|manifest| !manifest.contains_key("package"));
    let mut packages = BTreeSet::from([top.clone()]);
    if !args.known() || args.has(&others) || virtual_manifest {
        chosen.note("every package of the workspace is taken");
        chosen.widened = true;
        let start =
            top.ancestors().filter(|dir| table(dir).is_some_and(|table| table.contains_key("workspace"))).last();
        packages.extend(packages_below(start.unwrap_or(&top))?);
    }
    for package in packages {
        pack(world, &package, chosen)?;
    }
    Ok(())
}

fn packages_below(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let files = tree::walk(dir, &|_, name| name != "target" && name != "node_modules")?;
    let manifests = files.iter().filter(|path| path.file_name().is_some_and(|name| name == "Cargo.toml"));
    Ok(manifests.filter_map(|path| path.parent().map(Path::to_owned)).collect())
}

fn table(dir: &Path) -> Option<Table> {
    fs::read_to_string(dir.join("Cargo.toml")).ok()?.parse().ok()
}

fn pack(world: &World, dir: &Path, chosen: &mut Chosen) -> Result<(), Fault> {
    let Some(manifest) = table(dir) else {
        chosen.note("a Cargo.toml is not there or cannot be read: every file that git does not ignore is taken");
        chosen.widened = true;
        chosen.files.extend(tree::inputs(world, dir)?);
        return Ok(());
    };
    let package = manifest.get("package").and_then(Value::as_table);
    let patterns = |name: &str| -> Vec<String> {
        let workspace_default = package.and_then(|package| package.get(name)?.get("workspace")).is_some();
        let own = package.and_then(|package| package.get(name)?.as_array());
        let inherited = if workspace_default { inherited(dir, &manifest, name) } else { None };
        let listed = own.or(inherited.as_ref().and_then(|(_, value)| value.as_array()));
        listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (include, exclude) = (patterns("include"), patterns("exclude"));
    let target = dir.join("target");
    let found = if !include.is_empty() {
        // A pattern like `**` takes git's own folder along; what cargo builds only where git tracks it.
        let built_too = tree::is_tracked(world, dir, "target")?;
        tree::walk_through(dir, &|path, _| built_too || path != target)?
    } else if tree::is_tracked(world, dir, "Cargo.toml")? {
        tree::inputs(world, dir)?
    } else {
        // cargo asks git only where git tracks the manifest; else it leaves out what begins with a dot.
        let found = tree::walk_through(dir, &|path, name| path != target && !is_hidden(name))?;
        found.into_iter().filter(|path| !path.file_name().is_some_and(is_hidden)).collect()
    };
    let rules = matcher(dir, if include.is_empty() { &exclude } else { &include });
    let inner: Vec<PathBuf> = found
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name == "Cargo.toml"))
        .filter_map(|path| path.parent())
        .filter(|folder| *folder != dir)
        .map(Path::to_owned)
        .collect();
    for path in found {
        let named = rules.as_ref().map(|rules| rules.matched_path_or_any_parents(&path, false).is_ignore());
        // Patterns that cannot be read take everything.
        let packed = if include.is_empty() { !named.unwrap_or(false) } else { named.unwrap_or(true) };
        let elsewhere = inner.iter().any(|folder| path.starts_with(folder));
        if packed && !elsewhere {
            chosen.files.insert(path);
        }
    }
    always(dir, &manifest, chosen);
    Ok(())
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// A value of `[workspace.package]`, and the folder of that workspace.
fn inherited(dir: &Path, manifest: &Table, name: &str) -> Option<(PathBuf, Value)> {
    let named = manifest.get("package").and_then(|package| package.get("workspace")?.as_str());
    let top = match named {
        Some(path) => dir.join(path),
        None => dir.ancestors().find(|dir| table(dir).is_some_and(|table| table.contains_key("workspace")))?.to_owned(),
    };
    let value = table(&top)?.get("workspace")?.get("package")?.get(name)?.clone();
    Some((top, value))
}

/// Patterns as in a `.gitignore`, which is how cargo reads both lists.
fn matcher(dir: &Path, patterns: &[String]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(dir);
    for pattern in patterns {
        builder.add_line(None, pattern).ok()?;
    }
    builder.build().ok()
}

/// What no list can leave out. A readme or licence of the workspace is packed from where it lies.
fn always(dir: &Path, manifest: &Table, chosen: &mut Chosen) {
    let package = manifest.get("package").and_then(Value::as_table);
    let mut paths = vec![dir.join("Cargo.toml"), dir.join("Cargo.lock")];
    for key in ["readme", "license-file", "build"] {
        match package.and_then(|package| package.get(key)) {
            Some(Value::String(path)) => paths.push(dir.join(path)),
            Some(Value::Table(_)) => {
                if let Some((top, Value::String(path))) = inherited(dir, manifest, key) {
                    paths.push(top.join(path));
                }
            }
            Some(_) | None => {}
        }
    }
    // `readme = true` is the first of these too.
    if !matches!(package.and_then(|package| package.get("readme")), Some(Value::String(_) | Value::Boolean(false))) {
        paths.extend(["README.md", "README.txt", "README"].map(|name| dir.join(name)));
    }
    chosen.files.extend(paths.into_iter().filter(|path| path.is_file()));
}
