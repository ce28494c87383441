//! Staging commands that stand before a commit on the line.
//!
//! Promise: after [`run`] the scratch index holds what the user's index would, or more is kept beside it
//! (snapshots, tips, files) than could be recorded. Only the scratch index changes: a step that would
//! also write the work tree is done on the index alone, and what it does to files is laid over the disk.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BString, ByteSlice};

use crate::command::plan::StagingStep;
use crate::payload::Fault;
use crate::payload::upload::walk;
use crate::text::SafeText;

use super::doubt::Before;
use super::from_tree::{checkout, read_tree, reset, restore};
use super::options::{Argument, Arguments, read};
use super::rules::Rules;
use super::site::{Located, Site};
use super::stage::{Laid, Stage, nul_separated};
use super::tables::{ADD, APPLY, MOVE, REMOVE, UPDATE_INDEX_PLAIN};
use super::taken::{everything_here, takes_over};

/// Options and operands of one step.
pub(super) struct Parsed {
    options: Vec<(&'static str, bool, Option<OsString>)>,
    /// Operands before and after `--`.
    pub(super) before: Vec<OsString>,
    pub(super) after: Vec<OsString>,
    dashes: bool,
    pub(super) doubtful: bool,
}

impl Parsed {
    pub(super) fn new(arguments: Arguments) -> Self {
        let mut parsed = Self {
            options: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            dashes: false,
            doubtful: arguments.doubtful,
        };
        for argument in arguments.known {
            match argument {
                Argument::Option { name, negated, value } => parsed.options.push((name, negated, value)),
                Argument::Operand(word) if parsed.dashes => parsed.after.push(word),
                Argument::Operand(word) => parsed.before.push(word),
                Argument::Dashes => parsed.dashes = true,
            }
        }
        parsed
    }

    /// Whether the last word on `name` sets it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.options.iter().rev().find(|(other, ..)| *other == name).is_some_and(|(_, negated, _)| !negated)
    }

    pub(super) fn value(&self, name: &str) -> Option<&OsString> {
        self.options.iter().rev().find(|(other, ..)| *other == name).and_then(|(_, _, value)| value.as_ref())
    }

    pub(super) fn operands(&self) -> Vec<OsString> {
        self.before.iter().chain(&self.after).cloned().collect()
    }

    /// Flags of `names` that are set, spelled in full.
    pub(super) fn flags(&self, names: &[&str]) -> Vec<OsString> {
        names.iter().filter(|name| self.has(name)).map(|name| OsString::from(format!("--{name}"))).collect()
    }
}

/// Does one step on the scratch index.
///
/// # Errors
/// When the scratch index cannot be read or written. A step that git would refuse is a note.
pub fn run(stage: &mut Stage<'_>, step: &StagingStep) -> Result<(), Fault> {
    let located = Located::of(&step.git);
    if !stage.fresh && !works_here(stage, &located)? {
        return Ok(());
    }
    stage.lay_written(&step.written)?;
    let verb = step.verb.to_string_lossy().into_owned();
    let mut before = None;
    if !step.certain || is_locked(stage) {
        stage.exact = false;
        stage.snapshot()?;
        if !matches!(verb.as_str(), "add" | "stage") {
            before = Some(Before::of(stage)?);
        }
    }
    take(stage, &located, step, &verb)?;
    before.map_or(Ok(()), |before| before.keep(stage))
}

/// Whether another git, or what one has left, keeps the index from being written.
fn is_locked(stage: &Stage<'_>) -> bool {
    let mut lock = stage.site.index.clone().into_os_string();
    lock.push(".lock");
    PathBuf::from(lock).exists()
}

fn take(stage: &mut Stage<'_>, located: &Located, step: &StagingStep, verb: &str) -> Result<(), Fault> {
    match verb {
        "add" | "stage" => add(stage, located, &step.args, step.files_may_appear),
        "rm" => remove(stage, located, &step.args),
        "mv" => rename(stage, located, &step.args),
        "restore" => restore(stage, located, &step.args),
        "reset" => reset(stage, located, &step.args),
        "read-tree" => read_tree(stage, located, &step.args),
        "checkout" | "switch" => checkout(stage, located, &step.args),
        "apply" => apply(stage, located, &step.args),
        "update-index" => update_index(stage, located, &step.args),
        "stash" => super::stash::run(stage, located, &step.args),
        "clean" => {
            // Files go away.
            stage.exact = false;
            stage.snapshot()
        }
        "sparse-checkout" => sparse(stage),
        "merge" => {
            stage.squashed |= step.args.iter().flatten().any(|word| word == "--squash");
            takes_over(stage, located, &step.args)
        }
        _ => takes_over(stage, located, &step.args),
    }
}

/// Whether a step works on the same index as the commit.
fn works_here(stage: &Stage<'_>, located: &Located) -> Result<bool, Fault> {
    Ok(Site::find(stage.world, &located.context)?.is_some_and(|site| site.index == stage.site.index))
}

fn add(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>], may_appear: bool) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, ADD));
    let nothing = parsed.has("dry-run") || parsed.has("refresh");
    if nothing && !parsed.doubtful {
        return Ok(());
    }
    if parsed.doubtful || parsed.has("patch") || parsed.has("interactive") || parsed.has("edit") {
        stage.snapshot()?;
        stage.exact = false;
    }
    let mut flags = parsed.flags(&["force", "renormalize", "intent-to-add", "ignore-errors", "sparse"]);
    if let Some(mode @ ("+x" | "-x")) = parsed.value("chmod").and_then(|mode| mode.to_str()) {
        flags.push(format!("--chmod={mode}").into());
    }
    let mut paths: Vec<OsString> = parsed.operands().iter().map(|word| located.word(word)).collect();
    if parsed.doubtful {
        // The words that are not known could name any file, and could be `-A`.
        stage.notes.push("the words of `git add` are not all known: every file is taken".into());
        flags.push("--all".into());
        paths.clear();
    } else if parsed.has("all") || (parsed.options.iter().any(|(name, no, _)| *name == "ignore-removal" && *no)) {
        flags.push("--all".into());
    } else if parsed.has("ignore-removal") {
        flags.push("--ignore-removal".into());
    } else if parsed.has("update") {
        flags.push("--update".into());
    } else if parsed.has("patch") || parsed.has("interactive") || parsed.has("edit") {
        // Hunks that could be chosen are between the index and the work tree of tracked files; a dialogue
        // may add the others.
        flags.push(if parsed.has("interactive") { "--all" } else { "--update" }.into());
    }
    if stage.fresh && paths.is_empty() && !located.missing.as_os_str().is_empty() {
        paths.push(located.missing.clone().into_os_string());
    }
    let from_file = path_list(stage, located, &parsed)?;
    if let Some(listed) = from_file {
        paths.extend(listed);
    }
    let whole = flags.iter().any(|flag| flag == "--all" || flag == "--update" || flag == "--renormalize");
    if paths.is_empty() && !whole {
        return Ok(());
    }
    add_paths(stage, located, &flags, &paths, may_appear)
}

/// `git add` with these flags, laid content entered before (so that git knows the path) and after.
fn add_paths(
    stage: &mut Stage<'_>,
    located: &Located,
    flags: &[OsString],
    paths: &[OsString],
    may_appear: bool,
) -> Result<(), Fault> {
    let tracked_only = flags.iter().any(|flag| flag == "--update" || flag == "--renormalize");
    let forced = flags.iter().any(|flag| flag == "--force");
    // Around a repository that is yet to be made lie others, which stay what they are.
    if may_appear && !tracked_only && !stage.fresh {
        nested_that_may_be_none(stage)?;
    }
    let rules = if tracked_only || forced { None } else { Rules::of(stage)? };
    let mut laid = stage.laid_matching(&located.context, paths)?;
    let tracked = stage.tracked_of(&laid)?;
    if tracked_only {
        laid = tracked;
    } else if !forced {
        let ignored = match &rules {
            Some(rules) => rules.surely_ignored(stage, &laid)?.into_iter().collect(),
            None => ignored_of(stage, &laid)?,
        };
        laid.retain(|path| tracked.contains(path) || !ignored.contains(path));
    }
    let tracked_before = match &rules {
        Some(_) => nul_separated(&stage.git(["ls-files", "-z"]).stdout()?),
        None => Vec::new(),
    };
    let run = |stage: &Stage<'_>, paths: &[OsString]| {
        let args = std::iter::once(OsString::from("add")).chain(flags.iter().cloned());
        stage.git_in(&located.context, args.chain([OsString::from("--")]).chain(paths.iter().cloned())).run()
    };
    if stage.may_be_as_on_disk(&laid) {
        // What is laid may take the entry away, and what is on disk would then not be staged.
        run(stage, paths)?;
        if let Some(rules) = &rules {
            by_the_rules_of_the_line(stage, located, rules, paths, &tracked_before)?;
        }
        stage.snapshot()?;
    }
    stage.enter(&laid)?;
    let done = run(stage, paths)?;
    if !done.status.success() {
        stage.complaint(&done.stderr);
        // One pathspec that matches nothing stops them all. What it names may be there when the line
        // runs, so the others are staged one by one.
        let (excluding, including): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(|path| excludes(path));
        for path in including {
            let done = run(stage, &[vec![path.clone()], excluding.clone()].concat())?;
            if may_appear && !done.status.success() && done.stderr.contains_str("did not match any files") {
                let name = SafeText::quoted(path.as_bytes(), 200);
                stage.unseen.push(SafeText::new(&format!("{name}, which is not there now")));
            }
        }
    }
    if let Some(rules) = &rules {
        by_the_rules_of_the_line(stage, located, rules, paths, &tracked_before)?;
    }
    stage.enter(&laid)
}

/// An earlier command may have made a nested repository a plain folder: its files are read.
fn nested_that_may_be_none(stage: &mut Stage<'_>) -> Result<(), Fault> {
    let listed = nul_separated(&stage.git(["ls-files", "-z", "-o", "--exclude-standard"]).stdout()?);
    for folder in listed.iter().filter(|path| path.ends_with(b"/")) {
        let name = folder.trim_end_with(|letter| letter == '/').as_bstr();
        let is_gone = stage.laid.get(name) == Some(&Laid::Gone) && !stage.others.contains_key(name);
        if is_gone {
            continue;
        }
        let folder = stage.top.join(OsStr::from_bytes(folder));
        if folder.join(".git").exists() {
            stage.files.extend(walk(&folder)?);
        }
    }
    Ok(())
}

/// Stages what is no longer ignored, and takes out again what is ignored by then.
fn by_the_rules_of_the_line(
    stage: &mut Stage<'_>,
    located: &Located,
    rules: &Rules,
    paths: &[OsString],
    tracked_before: &[BString],
) -> Result<(), Fault> {
    let list =
        |paths: &[BString]| -> Vec<u8> { paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect() };
    let freed = rules.freed(stage, located, paths)?;
    if !freed.is_empty() {
        let args = ["update-index", "--add", "--replace", "-z", "--stdin"];
        let done = stage.git(args).input(list(&freed)).run()?;
        if !done.status.success() {
            stage.complaint(&done.stderr);
            stage.files.extend(freed.iter().map(|path| stage.top.join(OsStr::from_bytes(path))));
        }
    }
    let now = nul_separated(&stage.git(["ls-files", "-z"]).stdout()?);
    let new: Vec<BString> = now.into_iter().filter(|path| tracked_before.binary_search(path).is_err()).collect();
    let ignored: Vec<BString> = rules.surely_ignored(stage, &new)?.into_iter().collect();
    if !ignored.is_empty() {
        stage.git(["update-index", "--force-remove", "-z", "--stdin"]).input(list(&ignored)).stdout()?;
    }
    Ok(())
}

fn excludes(pathspec: &OsStr) -> bool {
    let bytes = pathspec.as_bytes();
    [&b":!"[..], b":^", b":(exclude"].iter().any(|magic| bytes.starts_with(magic))
}

/// `git sparse-checkout`: files come back as the index has them. What lies there already counts again.
fn sparse(stage: &mut Stage<'_>) -> Result<(), Fault> {
    stage.exact = false;
    stage.snapshot()?;
    let listed = nul_separated(&stage.git(["ls-files", "-t", "-z"]).stdout()?);
    let left_out = listed.iter().filter_map(|entry| entry.strip_prefix(b"S "));
    let there = left_out.filter(|path| stage.top.join(OsStr::from_bytes(path)).symlink_metadata().is_ok());
    let list: Vec<u8> = there.flat_map(|path| path.iter().copied().chain([0])).collect();
    if !list.is_empty() {
        stage.git(["update-index", "--no-skip-worktree", "-z", "--stdin"]).input(list).stdout()?;
    }
    Ok(())
}

/// Which of `paths` (from the top) are ignored.
fn ignored_of(stage: &Stage<'_>, paths: &[BString]) -> Result<Vec<BString>, Fault> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<u8> = paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
    // It exits with 1 when none is ignored.
    Ok(nul_separated(&stage.git(["check-ignore", "-z", "--stdin", "--no-index"]).input(list).run()?.stdout))
}

/// The pathspecs of `--pathspec-from-file`; what cannot be read makes the step doubtful.
pub(super) fn path_list(
    stage: &mut Stage<'_>,
    located: &Located,
    parsed: &Parsed,
) -> Result<Option<Vec<OsString>>, Fault> {
    let Some(file) = parsed.value("pathspec-from-file") else { return Ok(None) };
    let listed = super::pathspecs::listed(stage, &located.context, file, parsed.has("pathspec-file-nul"))?;
    Ok(Some(match listed {
        Some(paths) => paths.iter().map(|word| located.word(word)).collect(),
        None => {
            stage.snapshot()?;
            stage.exact = false;
            stage.notes.push("a list of paths is not known: every file is taken".into());
            vec![OsString::from(":/")]
        }
    }))
}

fn remove(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, REMOVE));
    if parsed.doubtful {
        // It can only take content away.
        stage.exact = false;
        return Ok(());
    }
    if parsed.has("dry-run") {
        return Ok(());
    }
    let mut paths: Vec<OsString> = parsed.operands().iter().map(|word| located.word(word)).collect();
    paths.extend(path_list(stage, located, &parsed)?.unwrap_or_default());
    let mut flags = parsed.flags(&["cached", "force", "ignore-unmatch", "sparse"]);
    if parsed.has("(recursive)") {
        flags.push("-r".into());
    }
    let call = |stage: &Stage<'_>, first: &[&str]| {
        let args = first.iter().map(OsString::from).chain(flags.iter().cloned());
        stage.git_in(&located.context, args.chain([OsString::from("--")]).chain(paths.iter().cloned())).run()
    };
    // The dry run says whether git would do it at all (local changes, directories without -r).
    let tried = call(stage, &["rm", "--dry-run"])?;
    if !tried.status.success() {
        stage.complaint(&tried.stderr);
        return Ok(());
    }
    let before = nul_separated(&stage.git(["ls-files", "-z"]).stdout()?);
    let done = call(stage, &["rm", "-q", "--cached", "--force"])?;
    if !done.status.success() {
        stage.complaint(&done.stderr);
    }
    if !parsed.has("cached") {
        let after = nul_separated(&stage.git(["ls-files", "-z"]).stdout()?);
        for path in before {
            if after.binary_search(&path).is_err() {
                stage.laid.insert(path, Laid::Gone);
            }
        }
    }
    Ok(())
}

/// `git mv`: entries keep their blobs under a new name; a later `-a` takes the old file's bytes there.
fn rename(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, MOVE));
    if parsed.has("dry-run") && !parsed.doubtful {
        return Ok(());
    }
    let operands = parsed.operands();
    let Some((target, sources)) = operands.split_last() else {
        stage.exact &= !parsed.doubtful;
        return Ok(());
    };
    if parsed.doubtful {
        // No bytes change; a name that is not known is for the net.
        stage.exact = false;
        return Ok(());
    }
    let dir = &located.context.dir;
    let Some(target) = super::site::below(&stage.top, &dir.join(located.word(target))) else { return Ok(()) };
    let into_folder = stage.top.join(&target).is_dir();
    for source in sources {
        let Some(source) = super::site::below(&stage.top, &dir.join(located.word(source))) else { continue };
        let new = match source.file_name() {
            Some(name) if into_folder => target.join(name),
            Some(_) | None => target.clone(),
        };
        let args = ["ls-files", "-s", "-z", "--"].map(OsString::from);
        let pathspec = [b":(top,literal)".as_slice(), source.as_os_str().as_bytes()].concat();
        let listed = stage.git(args.into_iter().chain([os(pathspec)])).stdout()?;
        for entry in nul_separated(&listed) {
            rename_entry(stage, &entry, &source, &new)?;
        }
    }
    Ok(())
}

fn rename_entry(stage: &mut Stage<'_>, entry: &BString, source: &PathBuf, new: &std::path::Path) -> Result<(), Fault> {
    let Some((head, path)) = entry.split_once_str("\t") else { return Ok(()) };
    let old = PathBuf::from(os(path.to_vec()));
    let Ok(rest) = old.strip_prefix(source) else { return Ok(()) };
    let moved = if rest.as_os_str().is_empty() { new.to_owned() } else { new.join(rest) };
    let moved = BString::from(moved.as_os_str().as_bytes());
    let lines = [head, b"\t", moved.as_slice(), b"\0"].concat();
    let laid = match stage.laid.remove(path.as_bstr()) {
        Some(laid) => laid,
        None => match std::fs::read(stage.top.join(&old)) {
            Ok(bytes) if head.starts_with(b"100") => Laid::Blob(stage.hash(bytes, &moved)?),
            Ok(_) | Err(_) => Laid::Gone,
        },
    };
    stage.git(["update-index", "-z", "--index-info"]).input(lines).stdout()?;
    stage.git(["update-index", "-z", "--force-remove", "--stdin"]).input([path, b"\0"].concat()).stdout()?;
    stage.laid.insert(path.into(), Laid::Gone);
    // A symbolic link keeps its blob: there is nothing to lay over it.
    if laid != Laid::Gone {
        stage.laid.insert(moved, laid);
    }
    Ok(())
}

fn apply(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let parsed = Parsed::new(read(words, APPLY));
    let applies = parsed.has("apply") || !["stat", "numstat", "summary", "check"].iter().any(|name| parsed.has(name));
    if !applies && !parsed.doubtful {
        return Ok(());
    }
    stage.exact = false;
    let patches: Vec<PathBuf> =
        parsed.operands().iter().filter(|word| *word != "-").map(|word| located.context.dir.join(word)).collect();
    if patches.len() != parsed.operands().len() || patches.is_empty() || parsed.doubtful {
        stage.unseen.push("a patch that is applied before the commit".into());
        everything_here(stage)?;
    }
    // Whatever lines a patch adds stand in it, so its text is read in any case.
    stage.files.extend(patches.iter().filter(|patch| patch.is_file()).cloned());
    if !(parsed.has("index") || parsed.has("cached") || parsed.has("3way")) {
        stage.notes.push("a patch is applied to the work tree; its own text is read".into());
        return Ok(());
    }
    let mut flags = parsed.flags(&["reverse", "unidiff-zero", "recount", "allow-overlap", "allow-empty", "3way"]);
    for (name, letter) in [("(strip)", "-p"), ("(context)", "-C")] {
        if let Some(value) = parsed.value(name) {
            flags.push(OsString::from(format!("{letter}{}", value.to_string_lossy())));
        }
    }
    if let Some(directory) = parsed.value("directory") {
        flags.push(OsString::from(format!("--directory={}", directory.to_string_lossy())));
    }
    let args = ["apply", "--cached"].map(OsString::from).into_iter().chain(flags).chain([OsString::from("--")]);
    let done = stage.git_in(&located.context, args.chain(patches.into_iter().map(PathBuf::into_os_string))).run()?;
    if !done.status.success() {
        stage.complaint(&done.stderr);
    }
    Ok(())
}

fn update_index(stage: &mut Stage<'_>, located: &Located, words: &[Option<OsString>]) -> Result<(), Fault> {
    let mut args = vec![OsString::from("update-index")];
    let mut words_left = words.iter();
    while let Some(word) = words_left.next() {
        let Some(word) = word else {
            stage.unseen.push("what `git update-index` is told by words that are not known".into());
            everything_here(stage)?;
            return takes_over(stage, located, words);
        };
        let text = word.to_string_lossy();
        match text.as_ref() {
            "--cacheinfo" => {
                args.push(word.clone());
                // `mode,oid,path` in one word, or three words.
                let next = words_left.next().cloned().flatten();
                let three = next.as_ref().is_some_and(|next| !next.as_bytes().contains(&b','));
                args.extend(next);
                if three {
                    args.extend(words_left.by_ref().take(2).flatten().cloned());
                }
            }
            "--stdin" | "--index-info" | "-z" => {
                stage.unseen.push("entries that `git update-index` reads from its input".into());
                everything_here(stage)?;
                return takes_over(stage, located, words);
            }
            option if option.starts_with('-') && !UPDATE_INDEX_PLAIN.contains(&option) => {
                stage.exact = false;
                stage.notes.push("an option of `git update-index` is left out".into());
            }
            _ => args.push(word.clone()),
        }
    }
    let done = stage.git_in(&located.context, args).run()?;
    if !done.status.success() {
        stage.complaint(&done.stderr);
    }
    // A path that is staged by name takes what the line wrote there.
    let laid = stage.laid_matching(&located.context, &operands_of(words))?;
    let laid = stage.tracked_of(&laid)?;
    stage.enter(&laid)
}

fn operands_of(words: &[Option<OsString>]) -> Vec<OsString> {
    words.iter().flatten().filter(|word| !word.as_bytes().starts_with(b"-")).cloned().collect()
}

pub(super) fn os(bytes: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes)
}
