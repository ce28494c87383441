//! What npm, pnpm, yarn and bun pack.
//!
//! Promise: at least the files that `npm pack` (npm 10 and 11) lists for the same folder. The rules, as
//! established with `npm pack --dry-run --json`: patterns of `files` in `package.json`, else of
//! `.npmignore`, else of `.gitignore` in each folder; a fixed list that is left out; `package.json`, the
//! readme, licences, `main`, `browser` and `bin` always; `node_modules` only where bundled; git's own
//! further ignore rules never count. A later pattern wins, a folder that is left out is not entered.
//! Links are not packed.
//!
//! yarn (1 and later) and bun have lists of their own, which leave out less and take more: for them what all leave
//! out is left out, a list in braces leaves nothing out, and all that an entry point names is in.
//!
//! Life-cycle scripts that run first can write more; the inputs of a build are then read as well.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::payload::Fault;
use crate::world::World;

use super::package::Args;
use super::{Chosen, ends_with, shown, tree};

/// Left out wherever they are, unless a later pattern says otherwise.
const LEFT_OUT: &str = ".npmignore
.gitignore
**/.git
**/.svn
**/.hg
**/CVS
/.lock-wscript
/.wafpickle-*
/build/config.gypi
npm-debug.log
**/.npmrc
.*.swp
.DS_Store
._*
*.orig
/archived-packages/**";

/// The last word at the package's top, before what it requires.
const LAST_WORD: &str = "/.git
!/package.json
!/readme{,.*[^~$]}
!/copying{,.*[^~$]}
!/license{,.*[^~$]}
!/licence{,.*[^~$]}
/node_modules
.npmrc
/package-lock.json
/yarn.lock
/pnpm-lock.yaml
/bun.lockb";

/// Left out by all of npm, yarn and bun.
const LEFT_OUT_BY_ALL: &str = "**/.git
**/.svn
**/.hg
**/CVS
.DS_Store
._*";

/// What one of yarn and bun takes in any case.
const LAST_WORD_OF_ANY: &str = "/.git
!/package.json
!/readme*
!/copying*
!/license*
!/licence*
!/change*
!/history*
/node_modules";

/// Whose rules are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    /// npm's, and pnpm's.
    Npm,
    /// Whatever one of yarn and bun would take.
    Any,
}

impl Dialect {
    fn left_out(self) -> Vec<Rule> {
        self.rules(match self {
            Self::Npm => LEFT_OUT,
            Self::Any => LEFT_OUT_BY_ALL,
        })
    }

    fn last_word(self) -> Vec<Rule> {
        self.rules(match self {
            Self::Npm => LAST_WORD,
            Self::Any => LAST_WORD_OF_ANY,
        })
    }

    fn rules(self, text: &str) -> Vec<Rule> {
        text.lines().filter_map(|line| Rule::read(line, self)).collect()
    }
}

/// Scripts that run before a package is packed.
const BEFORE: [&str; 5] = ["prepublish", "prepublishOnly", "prepare", "prepack", "prepublish:only"];

/// Adds what would be packed.
pub(super) fn files(world: &World, client: &str, args: &Args<'_>, chosen: &mut Chosen) -> Result<(), Fault> {
    let mut packages = BTreeSet::new();
    for operand in args.operands() {
        if operand.is_dir() {
            packages.insert(operand);
        } else if operand.is_file() && (ends_with(&operand, ".tgz") || ends_with(&operand, ".tar.gz")) {
            chosen.files.insert(operand);
            return Ok(());
        }
    }
    // npm 11 packs what is here all the same.
    for prefix in args.values(if client == "npm" { &["--prefix", "-C"] } else { &["--prefix"] }) {
        packages.extend([args.dir.to_owned(), args.dir.join(prefix)]);
    }
    if packages.is_empty() {
        packages.insert(args.dir.to_owned());
    }
    let many = ["-r", "--recursive", "-w", "--workspace", "--workspaces", "-ws", "--filter", "workspaces", "workspace"];
    if !args.known() || args.has(&many) || !args.dir.join("package.json").is_file() {
        chosen.note("every package below the folder is taken");
        chosen.widened = true;
        packages.extend(packages_below(args.dir)?);
    }
    for package in packages {
        let dialect = if matches!(client, "npm" | "pnpm") { Dialect::Npm } else { Dialect::Any };
        pack(world, &package, dialect, chosen)?;
    }
    Ok(())
}

/// Folders with a manifest, but not those of dependencies.
fn packages_below(dir: &Path) -> Result<Vec<PathBuf>, Fault> {
    let files = tree::walk(dir, &|_, name| name != "node_modules")?;
    let manifests = files.iter().filter(|path| path.file_name().is_some_and(|name| name == "package.json"));
    Ok(manifests.filter_map(|path| path.parent().map(Path::to_owned)).collect())
}

fn pack(world: &World, dir: &Path, dialect: Dialect, chosen: &mut Chosen) -> Result<(), Fault> {
    let path = dir.join("package.json");
    let manifest: Option<Value> = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(manifest) = manifest else {
        chosen.note("a package.json is not there or cannot be read: the whole folder is taken");
        chosen.widened = true;
        chosen.files.extend(tree::walk(dir, &|_, name| name != "node_modules")?);
        return Ok(());
    };
    let scripts = manifest.get("scripts");
    if BEFORE.iter().any(|name| scripts.and_then(|scripts| scripts.get(name)).is_some()) {
        chosen.note("scripts that run before packing can write more; the files that they could read are taken");
        chosen.widened = true;
        chosen.files.extend(tree::inputs(world, dir)?);
    }
    if let Some(Value::String(other)) = manifest.get("publishConfig").and_then(|config| config.get("directory")) {
        let other = dir.join(other);
        if other.is_dir() && other != dir {
            chosen.files.extend(tree::walk(&other, &|_, name| name != "node_modules")?);
        }
    }
    let walk = Walk { top: dir, manifest: &manifest, dialect };
    walk.run(chosen)?;
    bundled(dir, &manifest, chosen)
}

/// One pattern of an ignore list.
struct Rule {
    includes: bool,
    /// Ends in a slash: folders only.
    folders: bool,
    matcher: Option<GlobMatcher>,
    /// The pattern's first folders, for folders that lead to what it includes.
    lead: Vec<String>,
    text: String,
}

impl Rule {
    fn read(line: &str, dialect: Dialect) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let mut text = line;
        let mut includes = false;
        while let Some(rest) = text.strip_prefix('!') {
            includes = !includes;
            text = rest;
        }
        // npm compares with paths that do not begin so: it leaves nothing out.
        if text.starts_with("./") && !includes {
            return None;
        }
        let folders = text.ends_with('/');
        let body = text.trim_end_matches('/');
        let anchored = body.strip_prefix('/').unwrap_or(body).trim_start_matches("./");
        // Without a slash it is compared with the last name, wherever that is.
        let pattern = if body.contains('/') { anchored.to_owned() } else { format!("**/{body}") };
        // What one of them reads more narrowly leaves nothing out: bun tells `a` from `A`, yarn has no braces.
        let narrowly = dialect == Dialect::Any && !includes;
        if narrowly && body.contains(['{', '!']) {
            return None;
        }
        let matcher = glob(&pattern, !narrowly);
        let lead = anchored.split('/').map(str::to_owned).collect();
        Some(Self { includes, folders, matcher, lead, text: body.to_owned() })
    }

    fn matches(&self, path: &str, is_folder: bool) -> bool {
        // A pattern that cannot be read leaves nothing out and takes everything in.
        self.matcher.as_ref().map_or(self.includes, |matcher| (is_folder || !self.folders) && matcher.is_match(path))
    }

    /// Whether a folder may hold something that this pattern includes.
    fn leads_through(&self, folder: &str) -> bool {
        let braced = self.text.contains('{') && self.text.contains('/') && !self.text.starts_with('/');
        if self.matcher.is_none() || braced {
            return true;
        }
        // npm enters no folder for `*.js`.
        if !self.text.contains('/') {
            return false;
        }
        let mut names = folder.split('/');
        for piece in &self.lead {
            // The pattern goes on below the folder.
            let Some(name) = names.next() else { return true };
            if piece == "**" {
                return true;
            }
            if !glob(piece, true).is_none_or(|piece| piece.is_match(name)) {
                return false;
            }
        }
        false
    }
}

fn glob(pattern: &str, any_case: bool) -> Option<GlobMatcher> {
    let mut glob = GlobBuilder::new(pattern);
    glob.case_insensitive(any_case).literal_separator(true).empty_alternates(true);
    glob.build().ok().map(|glob| glob.compile_matcher())
}

/// The patterns of one folder, and the folder as seen from the package's top.
struct Level {
    folder: String,
    rules: Vec<Rule>,
}

struct Walk<'a> {
    top: &'a Path,
    manifest: &'a Value,
    dialect: Dialect,
}

impl Walk<'_> {
    fn run(&self, chosen: &mut Chosen) -> Result<(), Fault> {
        let mut levels = Vec::new();
        let required = self.top_level(&mut levels);
        chosen.files.extend(required.into_iter().filter(|path| path.is_file()));
        self.folder("", &mut levels, chosen, 0)
    }

    /// The patterns at the top, and the files that are required by name.
    fn top_level(&self, levels: &mut Vec<Level>) -> Vec<PathBuf> {
        let mut all = self.dialect.left_out();
        let mut required = Vec::new();
        let mut strict = self.dialect.last_word();
        match self.manifest.get("files").and_then(Value::as_array) {
            Some(listed) => {
                // yarn takes everything when one entry is taken back.
                let taken_back = |entry: &Value| entry.as_str().is_some_and(|entry| entry.starts_with('!'));
                if self.dialect == Dialect::Npm || !listed.iter().any(taken_back) {
                    all.extend(self.dialect.rules("*"));
                }
                for entry in listed.iter().filter_map(Value::as_str) {
                    if self.dialect == Dialect::Npm || !entry.starts_with('!') {
                        self.listed(entry, &mut all, &mut required);
                    }
                }
                if self.dialect == Dialect::Any {
                    // What an ignore file takes back is packed beside the list.
                    all.extend(ignore_file(self.top, self.dialect).into_iter().filter(|rule| rule.includes));
                }
            }
            None => all.extend(ignore_file(self.top, self.dialect)),
        }
        for path in self.entry_points() {
            let path = path.trim_start_matches("./");
            strict.extend(Rule::read(&format!("!/{path}"), self.dialect));
            if self.dialect == Dialect::Any {
                strict.extend(Rule::read(&format!("!/{path}/**"), self.dialect));
            }
            required.push(self.top.join(path));
        }
        // Each is a pattern too: the folders that lead to it are entered, and what lies there beside it is packed
        // unless a pattern leaves out the file itself.
        let mut programs: Vec<&str> = Vec::new();
        for manifest in std::iter::once(self.manifest).chain(self.manifest.get("publishConfig")) {
            match manifest.get("bin") {
                Some(Value::String(path)) => programs.push(path),
                Some(Value::Object(paths)) => programs.extend(paths.values().filter_map(Value::as_str)),
                Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {}
            }
        }
        // Every file of this folder that is not hidden is one where none is named (npm 11: @npmcli/package-json, `binDir`).
        let folder = self.manifest.get("directories").and_then(|named| named.get("bin")).and_then(Value::as_str);
        let folder =
            folder.filter(|_| programs.is_empty()).map(|folder| self.top.join(folder.trim_start_matches("./")));
        let is_shown = |_: &Path, name: &OsStr| !name.as_encoded_bytes().starts_with(b".");
        // One that is not there has none.
        let files = folder.and_then(|folder| tree::walk(&folder, &is_shown).ok()).unwrap_or_default();
        let files = files.iter().filter_map(|file| file.strip_prefix(self.top).ok()?.to_str());
        let files: Vec<&str> = files.filter(|file| !file.contains("/.")).collect();
        programs.extend(files);
        for path in programs {
            strict.extend(Rule::read(&format!("!/{}", path.trim_start_matches("./")), self.dialect));
            required.push(self.top.join(path));
        }
        // `main` may lack its ending, or name a folder.
        let endings: Vec<PathBuf> = required.iter().flat_map(|path| with_endings(path)).collect();
        required.extend(endings);
        all.extend(strict);
        levels.push(Level { folder: String::new(), rules: all });
        required
    }

    /// What is taken because the manifest names it as where the package begins; yarn and bun ask more fields,
    /// and those that are put in their place when it is published.
    fn entry_points(&self) -> Vec<&str> {
        let published = self.manifest.get("publishConfig");
        let (manifests, fields): (Vec<&Value>, &[&str]) = match self.dialect {
            // pnpm puts these in their place.
            Dialect::Npm => (std::iter::once(self.manifest).chain(published).collect(), &["main", "browser"]),
            Dialect::Any => (
                std::iter::once(self.manifest).chain(published).collect(),
                &["main", "browser", "module", "bin", "types", "typings", "man", "exports", "directories"],
            ),
        };
        let named = manifests.into_iter().flat_map(|manifest| fields.iter().filter_map(|name| manifest.get(name)));
        let mut paths = Vec::new();
        for value in named {
            match (self.dialect, value) {
                (_, Value::String(path)) => paths.push(path.as_str()),
                (Dialect::Any, Value::Array(_) | Value::Object(_)) => strings_in(value, &mut paths),
                (Dialect::Npm, _) | (Dialect::Any, Value::Null | Value::Bool(_) | Value::Number(_)) => {}
            }
        }
        paths
    }

    /// One entry of `files`: a file is required, a folder taken whole, anything else is a pattern.
    fn listed(&self, entry: &str, all: &mut Vec<Rule>, required: &mut Vec<PathBuf>) {
        let entry = entry.strip_prefix('.').filter(|rest| rest.starts_with('/')).unwrap_or(entry);
        let path = self.top.join(entry.trim_start_matches(['!', '/']));
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() && !entry.starts_with('!') => required.push(path),
            Ok(metadata) if metadata.is_dir() => {
                let folder = entry.trim_end_matches('/');
                all.extend(Rule::read(&format!("!{folder}"), self.dialect));
                all.extend(Rule::read(&format!("!{folder}/**"), self.dialect));
            }
            Ok(_) | Err(_) => {
                let wide = if entry.ends_with("/*") { format!("!{entry}*") } else { format!("!{entry}") };
                all.extend(Rule::read(&wide, self.dialect));
                all.extend(Rule::read(&format!("{wide}/**"), self.dialect));
            }
        }
    }

    fn enters(&self, levels: &[Level], folder: &str, name: &str) -> bool {
        let listed = self.manifest.get("files").is_some();
        is_included(levels, folder, true)
            || (self.dialect == Dialect::Any && listed && name != "node_modules" && name != ".git")
    }

    fn folder(&self, folder: &str, levels: &mut Vec<Level>, chosen: &mut Chosen, depth: usize) -> Result<(), Fault> {
        let path = self.top.join(folder);
        let entries =
            fs::read_dir(&path).map_err(|error| Fault::File { path: shown(&path), what: error.to_string().into() })?;
        for entry in entries {
            let entry = entry.map_err(|error| Fault::File { path: shown(&path), what: error.to_string().into() })?;
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let Some(text) = name.to_str() else {
                // A name that no pattern can speak of is packed.
                if kind.is_file() {
                    chosen.files.insert(entry.path());
                }
                continue;
            };
            let below = if folder.is_empty() { text.to_owned() } else { format!("{folder}/{text}") };
            if kind.is_file() && is_included(levels, &below, false) {
                chosen.files.insert(entry.path());
            } else if kind.is_dir() && depth < DEPTH && self.enters(levels, &below, text) {
                // What is left out everywhere is left out anew in each folder.
                let mut rules = self.dialect.left_out();
                // A list of files goes before what folders below leave out, with yarn.
                if self.dialect == Dialect::Npm || self.manifest.get("files").is_none() {
                    rules.extend(ignore_file(&entry.path(), self.dialect));
                }
                rules.extend(self.dialect.rules("/.git"));
                levels.push(Level { folder: below.clone(), rules });
                self.folder(&below, levels, chosen, depth + 1)?;
                levels.pop();
            } else if kind.is_dir() && depth >= DEPTH {
                chosen.files.extend(tree::walk(&entry.path(), &|_, _| true)?);
            }
        }
        Ok(())
    }
}

/// How deep folders are read by rules; below that everything is taken.
const DEPTH: usize = 200;

/// The last pattern that speaks of a path decides; without one it is in. A folder is entered also when
/// a pattern could include something below it.
fn is_included(levels: &[Level], path: &str, is_folder: bool) -> bool {
    let mut included = true;
    for level in levels {
        let below = match path.strip_prefix(level.folder.as_str()) {
            Some(rest) => rest.trim_start_matches('/'),
            None => continue,
        };
        for rule in &level.rules {
            if rule.includes == included {
                continue;
            }
            if rule.matches(below, is_folder) || (is_folder && rule.includes && rule.leads_through(below)) {
                included = rule.includes;
            }
        }
    }
    included
}

/// Every text in a value, but keys.
fn strings_in<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| strings_in(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| strings_in(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A folder's own list: `.npmignore`, else `.gitignore`.
fn ignore_file(folder: &Path, dialect: Dialect) -> Vec<Rule> {
    let read =
        |name: &str| fs::read(folder.join(name)).ok().map(|bytes| dialect.rules(&String::from_utf8_lossy(&bytes)));
    read(".npmignore").or_else(|| read(".gitignore")).unwrap_or_default()
}

fn with_endings(path: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = [".js", ".json", ".node"]
        .iter()
        .map(|ending| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        })
        .collect();
    paths.push(path.join("index.js"));
    paths
}

/// Bundled dependencies with all of theirs, each found as node finds it: beside who requires it, else further up. The
/// folder of one may be a link (a workspace's, or a store's).
fn bundled(dir: &Path, manifest: &Value, chosen: &mut Chosen) -> Result<(), Fault> {
    let named = ["bundleDependencies", "bundledDependencies"].iter().find_map(|name| manifest.get(name));
    let names: Vec<String> = match named {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::Bool(true)) => dependencies(manifest),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    };
    let mut wanted: Vec<(PathBuf, String)> = names.into_iter().map(|name| (dir.to_owned(), name)).collect();
    let mut seen = BTreeSet::new();
    while let Some((from, name)) = wanted.pop() {
        let Some(folder) = required(&from, &name) else { continue };
        if !seen.insert(folder.clone()) {
            continue;
        }
        chosen.files.extend(tree::walk(&folder, &|_, _| true)?);
        let own: Option<Value> =
            fs::read(folder.join("package.json")).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        wanted.extend(own.iter().flat_map(dependencies).map(|name| (folder.clone(), name)));
    }
    Ok(())
}

/// The folder that a package in `from` gets when it requires `name`.
fn required(from: &Path, name: &str) -> Option<PathBuf> {
    let real = fs::canonicalize(from).ok()?;
    let below = Path::new("node_modules").join(OsStr::from_bytes(name.as_bytes()));
    [from, real.as_path()].into_iter().flat_map(Path::ancestors).map(|dir| dir.join(&below)).find(|path| path.is_dir())
}

fn dependencies(manifest: &Value) -> Vec<String> {
    ["dependencies", "optionalDependencies"]
        .iter()
        .filter_map(|name| manifest.get(name).and_then(Value::as_object))
        .flat_map(|named| named.keys().cloned())
        .collect()
}
