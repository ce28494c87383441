//! What is ignored, and how files are converted, as the line leaves it.
//!
//! Promise: where the line changes files that say so, a copy of the rules as they will be is made beside the scratch
//! index, one for each way in which the line may leave them, and git itself applies them: what is ignored now and
//! will not be is named, and so is what will be; files that will be converted otherwise are read as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::command::plan::{Content, GitContext};
use crate::payload::Fault;

use super::laid::before_appending;
use super::site::Located;
use super::stage::{Laid, Stage, nul_separated, scratch_fault};

const IGNORE: &str = ".gitignore";
const ATTRIBUTES: &str = ".gitattributes";

/// Attributes that decide what a file becomes.
const CONVERTING: &[&str] = &["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];

/// The rules as the line leaves them.
pub(super) struct Rules {
    ways: Vec<Way>,
}

/// One way in which the line may leave them.
struct Way {
    context: GitContext,
    git_dir: PathBuf,
}

/// What a file of rules may hold; `None` where there is none.
type Texts = Vec<Option<Vec<u8>>>;

/// The files that say what is ignored, or how files are converted.
struct Files {
    /// Below the top of the work tree.
    in_tree: BTreeMap<BString, Texts>,
    /// `info/exclude` and `info/attributes`.
    of_repository: [(&'static str, Texts); 2],
    /// Those that configuration names, with the setting.
    configured: [(&'static str, Texts); 2],
}

impl Rules {
    /// The rules, where the line changes any.
    pub(super) fn of(stage: &mut Stage<'_>) -> Result<Option<Self>, Fault> {
        if stage.laid.is_empty() && stage.written.is_empty() {
            return Ok(None);
        }
        let Some(files) = Files::changed(stage)? else { return Ok(None) };
        stage.rules_made += 1;
        let ways = (0..files.ways()).map(|way| files.lay(stage, way)).collect::<Result<_, _>>()?;
        Ok(Some(Self { ways }))
    }

    /// Which of the paths (from the top, folders with a slash behind them) are ignored whatever way the line takes.
    pub(super) fn surely_ignored(&self, stage: &Stage<'_>, paths: &[BString]) -> Result<BTreeSet<BString>, Fault> {
        let mut found: Option<BTreeSet<BString>> = None;
        for way in &self.ways {
            let these = way.ignored(stage, paths)?;
            found = Some(found.map_or_else(|| these.clone(), |found| found.intersection(&these).cloned().collect()));
        }
        Ok(found.unwrap_or_default())
    }

    /// Files that are ignored now and may not be by then, of those that `pathspecs` match (all without any).
    pub(super) fn freed(
        &self,
        stage: &Stage<'_>,
        located: &Located,
        pathspecs: &[OsString],
    ) -> Result<Vec<BString>, Fault> {
        let args = ["ls-files", "-z", "--full-name", "-o", "-i", "--exclude-standard", "--directory", "--"];
        let args = args.map(OsString::from).into_iter().chain(pathspecs.iter().cloned());
        let done =
            if pathspecs.is_empty() { stage.git(args).run()? } else { stage.git_in(&located.context, args).run()? };
        let now = nul_separated(&done.stdout);
        let still = self.surely_ignored(stage, &now)?;
        let (folders, mut files): (Vec<BString>, Vec<BString>) =
            now.into_iter().filter(|path| !still.contains(path)).partition(|path| path.ends_with(b"/"));
        if !folders.is_empty() {
            let inside = folders.iter().map(|folder| literal(folder.trim_end_with(|c| c == '/')));
            let args = ["ls-files", "-z", "--full-name", "-o", "--"].map(OsString::from).into_iter().chain(inside);
            let inside: Vec<BString> = nul_separated(&stage.git(args).stdout()?);
            let inside: Vec<BString> = inside.into_iter().filter(|path| !path.ends_with(b"/")).collect();
            let still = self.surely_ignored(stage, &inside)?;
            files.extend(inside.into_iter().filter(|path| !still.contains(path)));
        }
        Ok(files)
    }

    /// Which of the paths may be converted otherwise than now.
    pub(super) fn converted_otherwise(&self, stage: &Stage<'_>, paths: &[BString]) -> Result<Vec<BString>, Fault> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let list: Vec<u8> = paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        let args = || ["check-attr", "-z", "--stdin"].into_iter().chain(CONVERTING.iter().copied());
        let now = attributes(&stage.git(args()).input(list.clone()).stdout()?);
        let mut found = BTreeSet::new();
        for way in &self.ways {
            let then = attributes(&way.git(stage, args()).input(list.clone()).stdout()?);
            found.extend(paths.iter().filter(|path| now.get(*path) != then.get(*path)).cloned());
        }
        Ok(found.into_iter().collect())
    }
}

/// The attributes of each path.
fn attributes(listed: &[u8]) -> BTreeMap<BString, Vec<BString>> {
    let mut found: BTreeMap<BString, Vec<BString>> = BTreeMap::new();
    let mut fields = listed.split(|byte| *byte == 0);
    while let (Some(path), Some(name), Some(value)) = (fields.next(), fields.next(), fields.next()) {
        found.entry(path.into()).or_default().push([name, b"=", value].concat().into());
    }
    found
}

fn literal(path: &[u8]) -> OsString {
    OsString::from_vec([b":(top,literal)".as_slice(), path].concat())
}

impl Way {
    fn git<'s, S: AsRef<OsStr>>(
        &'s self,
        stage: &'s Stage<'_>,
        args: impl IntoIterator<Item = S>,
    ) -> crate::world::git::GitCall<'s> {
        stage.world.git(&self.context, args).var("GIT_DIR", &self.git_dir).var("GIT_WORK_TREE", &self.context.dir)
    }

    fn ignored(&self, stage: &Stage<'_>, paths: &[BString]) -> Result<BTreeSet<BString>, Fault> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut list = Vec::new();
        for path in paths {
            let plain = path.trim_end_with(|c| c == '/');
            if plain.len() < path.len() {
                // A rule with a slash at its end is one of folders.
                fs::create_dir_all(self.context.dir.join(OsStr::from_bytes(plain))).map_err(|e| scratch_fault(&e))?;
            }
            list.extend(plain.iter().copied().chain([0]));
        }
        // It exits with 1 when none is ignored.
        let done = self.git(stage, ["check-ignore", "-z", "--stdin", "--no-index"]).input(list).run()?;
        let named: BTreeSet<BString> = nul_separated(&done.stdout).into_iter().collect();
        Ok(paths.iter().filter(|path| named.contains(path.trim_end_with(|c| c == '/').as_bstr())).cloned().collect())
    }
}

impl Files {
    /// The files of rules; `None` where the line leaves all as they are.
    fn changed(stage: &Stage<'_>) -> Result<Option<Self>, Fault> {
        let is_rules = |path: &BString| {
            let name = path.rsplit_str("/").next().unwrap_or_default();
            name == IGNORE.as_bytes() || name == ATTRIBUTES.as_bytes()
        };
        let of_repository = ["info/exclude", "info/attributes"].map(|name| (name, stage.site.common_dir.join(name)));
        let configured = [
            ("core.excludesFile", configured(stage, "core.excludesFile", "ignore")?),
            ("core.attributesFile", configured(stage, "core.attributesFile", "attributes")?),
        ];
        let elsewhere = of_repository.iter().chain(&configured).any(|(_, path)| stage.written.contains_key(path));
        if !elsewhere && !stage.laid.keys().any(is_rules) {
            return Ok(None);
        }
        let args = ["ls-files", "-z", "-c", "-o", "--exclude-standard", "--", ":(top,glob)**/.gitignore"];
        let listed = stage.git(args.into_iter().chain([":(top,glob)**/.gitattributes"])).stdout()?;
        let listed = nul_separated(&listed).into_iter().chain(stage.laid.keys().filter(|path| is_rules(path)).cloned());
        let mut in_tree = BTreeMap::new();
        for path in listed {
            let texts = in_work_tree(stage, &path)?;
            in_tree.insert(path, texts);
        }
        let elsewhere = |(name, path): (&'static str, PathBuf)| (name, left(stage, &path));
        Ok(Some(Self { in_tree, of_repository: of_repository.map(elsewhere), configured: configured.map(elsewhere) }))
    }

    /// In how many ways the line may leave them.
    fn ways(&self) -> usize {
        let elsewhere = self.of_repository.iter().chain(&self.configured).map(|(_, texts)| texts);
        self.in_tree.values().chain(elsewhere).map(Vec::len).max().unwrap_or(1)
    }

    /// Lays them as one of the ways has them.
    fn lay(&self, stage: &Stage<'_>, way: usize) -> Result<Way, Fault> {
        let root = stage.scratch.path().join(format!("rules-{}-{way}", stage.rules_made));
        let (tree, git_dir) = (root.join("tree"), root.join("git"));
        fs::create_dir_all(&tree).map_err(|error| scratch_fault(&error))?;
        let env = stage.context.env.iter().filter(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
        let mut context = GitContext {
            dir: tree.clone(),
            env: env.map(|(name, value)| (name.clone(), value.clone())).collect(),
            globals: Vec::new(),
        };
        let made = ["init", "-q", "--template="];
        stage.world.git(&context, made).var("GIT_DIR", &git_dir).var("GIT_WORK_TREE", &tree).stdout()?;
        for (path, texts) in &self.in_tree {
            write(&tree.join(OsStr::from_bytes(path)), texts, way)?;
        }
        for (name, texts) in &self.of_repository {
            write(&git_dir.join(name), texts, way)?;
        }
        for (at, (setting, texts)) in self.configured.iter().enumerate() {
            let path = root.join(format!("configured-{at}"));
            write(&path, texts, way)?;
            let mut value = OsString::from(format!("{setting}="));
            value.push(&path);
            context.globals.extend(["-c".into(), value]);
        }
        let case = stage.git(["config", "--type=bool", "--get", "core.ignoreCase"]).run()?.stdout;
        if case.trim() == b"true" {
            context.globals.extend(["-c".into(), "core.ignoreCase=true".into()]);
        }
        Ok(Way { context, git_dir })
    }
}

fn write(path: &Path, texts: &Texts, way: usize) -> Result<(), Fault> {
    let Some(Some(text)) = texts.get(way.min(texts.len().saturating_sub(1))) else { return Ok(()) };
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).map_err(|error| scratch_fault(&error))
}

/// The file that a setting names, or its usual place.
fn configured(stage: &Stage<'_>, setting: &str, usual: &str) -> Result<PathBuf, Fault> {
    let done = stage.git(["config", "--type=path", "--get", setting]).run()?;
    let named = done.stdout.strip_suffix(b"\n").unwrap_or(&done.stdout);
    if done.status.success() {
        return Ok(stage.top.join(OsStr::from_bytes(named)));
    }
    let variable = |name: &str| stage.context.env.get(OsStr::new(name)).filter(|value| !value.is_empty());
    let folder = match (variable("XDG_CONFIG_HOME"), variable("HOME")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(home)) => Path::new(home).join(".config"),
        (None, None) => PathBuf::from("/nonexistent"),
    };
    Ok(folder.join("git").join(usual))
}

/// What a file of the work tree may hold.
fn in_work_tree(stage: &Stage<'_>, path: &BString) -> Result<Texts, Fault> {
    let on_disk = stage.top.join(OsStr::from_bytes(path));
    let Some(last) = stage.laid.get(path) else { return Ok(vec![text_on_disk(&on_disk)]) };
    let others = stage.others.get(path);
    let mut texts = Texts::new();
    if others.is_some_and(|others| others.or_as_on_disk) {
        texts.push(text_on_disk(&on_disk));
    }
    for laid in others.iter().flat_map(|others| &others.contents).chain([last]) {
        texts.push(match laid {
            Laid::Blob(oid) => Some(stage.git(["cat-file", "blob", oid]).stdout()?),
            // Nobody knows what it says: nothing is ignored by it.
            Laid::Unknown | Laid::Gone => None,
        });
    }
    Ok(texts)
}

/// What a file elsewhere may hold.
fn left(stage: &Stage<'_>, path: &Path) -> Texts {
    let Some(file) = stage.written.get(path) else { return vec![text_on_disk(path)] };
    let mut texts = Texts::new();
    if file.or_as_on_disk {
        texts.push(text_on_disk(path));
    }
    texts.extend(file.contents.iter().map(|content| text_of(path, content)));
    texts
}

fn text_of(path: &Path, content: &Content) -> Option<Vec<u8>> {
    match content {
        Content::Bytes(bytes) => Some(bytes.clone()),
        Content::Appended(bytes) => before_appending(path).map(|before| [before.as_slice(), bytes].concat()),
        Content::CopyOf(source) => fs::read(source).ok(),
        // What it says is not known: nothing is ignored by it.
        Content::MadeOf { .. } | Content::Unknown | Content::Gone => None,
    }
}

/// git follows no link to its rules, nor do they come from a pipe.
fn text_on_disk(path: &Path) -> Option<Vec<u8>> {
    path.symlink_metadata().is_ok_and(|found| found.is_file()).then(|| fs::read(path).ok()).flatten()
}

impl Stage<'_> {
    /// Files of the trees that are converted otherwise by the rules that the line leaves than by those of now: they
    /// are read as they are on disk too.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub(super) fn read_what_is_converted_otherwise(
        &mut self,
        trees: &[String],
        parents: &[String],
    ) -> Result<(), Fault> {
        let Some(rules) = Rules::of(self)? else { return Ok(()) };
        let mut paths = BTreeSet::new();
        for tree in trees {
            for parent in parents {
                let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", parent, tree];
                paths.extend(nul_separated(&self.git(args).stdout()?));
            }
        }
        let paths: Vec<BString> = paths.into_iter().collect();
        for path in rules.converted_otherwise(self, &paths)? {
            let path = self.top.join(OsStr::from_bytes(&path));
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                self.files.insert(path);
            }
        }
        Ok(())
    }

    /// What lies in a nested repository that is none any more.
    pub(super) fn nested_no_more(&mut self, git_dir: &Path) -> Result<(), Fault> {
        let (Some(folder), Some(name)) = (git_dir.parent(), git_dir.file_name()) else { return Ok(()) };
        let source = self.top.join(folder);
        if name != ".git" || folder.as_os_str().is_empty() || !source.is_dir() {
            return Ok(());
        }
        self.copied_folder(&source, folder)
    }
}
