//! git's own command line: which verb it comes to, and what that verb publishes or changes.
//!
//! Promise: however a verb is reached (global options, aliases of every scope, a mistake that
//! `help.autocorrect` mends, a dashed program), what it publishes is in the plan, and the programs
//! that git would start on the way are handed back to the walk. The verbs one by one are
//! [`super::git_verbs`]'s.

use std::ffi::OsString;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use super::alias::{self, Alias};
use super::git_globals::{self, Globals, Next, Setting};
use super::meaning::{Meaning, Scene, inert};
use super::plan::{CommitVerb, Content, GitContext, PushVia};
use super::simple::{Certainty, Code, Dir, Effect, EnvChange, Exit, Nested, Seen, Value, to_os_string};
use super::{git_started, git_table, git_verbs, tamper};
use crate::text::SafeText;
use crate::world::look_up;

/// How many aliases may stand for one another; git itself stops at a loop.
const MAX_ALIASES: usize = 32;

/// One call of git whose verb is known.
pub(super) struct Call {
    /// The words before the verb, as options.
    pub globals: Globals,
    /// Where it runs; `None` when its directory is not known.
    pub context: Option<GitContext>,
    /// The verb.
    pub verb: String,
    /// The words after it.
    pub args: Vec<Value>,
    /// Settings of the line: `-c`, `--config-env`, `GIT_CONFIG_*`.
    pub settings: Vec<Setting>,
}

/// A command whose program is git, under the name `name`.
pub(super) fn command(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr) -> Effect {
    let mut words = scene.command.words.clone();
    if let Some(verb) = name.strip_prefix(b"git-") {
        // `git-push ARGS` reads no options of git itself.
        words.splice(..1, [Value::Known("git".into()), Value::Known(verb.into())]);
    }
    resolve(meaning, scene, words, &mut Vec::new())
}

fn resolve(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, words: Vec<Value>, aliases: &mut Vec<BString>) -> Effect {
    let globals = git_globals::read(&words, &scene.command.env);
    let at = match globals.next {
        Next::Prints => return printed(scene, &words),
        Next::Refuses => return Effect { exit: Exit::Failure, ..inert() },
        Next::Unknown(at) => return unknown_verb(meaning, scene, &globals, words.get(at..).unwrap_or_default()),
        Next::Verb(at) => at,
    };
    let Some(Value::Known(verb)) = words.get(at) else { return inert() };
    let args = words.get(at + 1..).unwrap_or_default().to_vec();
    let asks_for_help = asks_for_help(verb.as_bstr(), &args);
    let verb_text = verb.to_str_lossy().into_owned();
    let mut settings = git_globals::settings_of_environment(&scene.command.env);
    settings.extend(globals.settings.iter().cloned());
    let context = context(scene, &globals);
    let call = Call { globals, context, verb: verb_text, args, settings };
    if asks_for_help {
        let run = git_started::viewers(meaning, scene, &call);
        return Effect { exit: Exit::Unknown, run, ..inert() };
    }
    if git_table::is_known(&call.verb) && !git_table::is_extension(&call.verb) {
        return run(meaning, scene, call);
    }
    not_built_in(meaning, scene, call, &words, at, aliases)
}

/// A known verb: the programs that git starts for it, then what it means itself.
fn run(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: Call) -> Effect {
    let started = git_started::programs(meaning, scene, &call);
    let mut effect = git_verbs::verb(meaning, scene, &call);
    for folder in folders_written(scene, &call) {
        tamper::of_folder(scene, folder.as_bstr());
    }
    for path in written_by_options(scene, &call) {
        tamper::of_path(scene, &path);
        if !effect.writes.iter().any(|(known, _)| *known == path) {
            effect.writes.push((path, Content::Unknown));
        }
    }
    if !started.is_empty()
        && let Some(context) = call.context.as_ref().filter(|_| git_started::runs_commit_hooks(&call.verb))
    {
        meaning.committed_with_hooks(context, &call.verb, &call.args);
    }
    let (as_now, started) = started.into_iter().partition(|nested| git_started::stays(nested, &call));
    effect.run_as_now.extend::<Vec<_>>(as_now);
    effect.run.extend::<Vec<_>>(started);
    // A file that the verb itself may change runs as it is then, which nobody knows, or as it is now.
    let files = effect.run.iter().filter(|nested| git_started::names_a_file(nested, &call)).cloned();
    effect.run_as_now.extend(files.collect::<Vec<_>>());
    effect
}

/// Files that a verb writes because its options say so: `diff --output=FILE`, `archive -o FILE`, `bundle create FILE`.
fn written_by_options(scene: &Scene<'_, '_>, call: &Call) -> Vec<PathBuf> {
    let shows = matches!(
        call.verb.as_str(),
        "diff" | "log" | "show" | "diff-tree" | "diff-index" | "diff-files" | "whatchanged" | "range-diff"
    );
    let archives = call.verb == "archive";
    let words: Vec<Option<&BStr>> = call.args.iter().map(Value::known).collect();
    let mut files: Vec<&[u8]> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(word) = word else { continue };
        let next = || words.get(at + 1).copied().flatten().map(|word| word.as_bytes());
        if shows || archives {
            files.extend(word.strip_prefix(b"--output="));
            files.extend(next().filter(|_| *word == "--output" || archives && *word == "-o"));
            files.extend(word.strip_prefix(b"-o").filter(|rest| archives && !rest.is_empty()));
        }
        if call.verb == "bundle"
            && at > 0
            && words.first() == Some(&Some(BStr::new("create")))
            && !word.starts_with(b"-")
        {
            files.push(word);
            break;
        }
    }
    files.into_iter().filter_map(|file| scene.path(file.as_bstr())).collect()
}

/// Folders into which a verb writes files of commits, where the line says so.
fn folders_written(scene: &Scene<'_, '_>, call: &Call) -> Vec<BString> {
    let operands = || call.args.iter().filter_map(Value::known).filter(|word| !word.starts_with(b"-"));
    let mut folders: Vec<BString> = Vec::new();
    match call.verb.as_str() {
        "clone" => folders.extend(operands().nth(1).map(BStr::to_owned)),
        "worktree" if operands().next().is_some_and(|sub| sub == "add" || sub == "move") => {
            folders.extend(operands().skip(1).map(BStr::to_owned));
        }
        "checkout-index" => {
            folders.extend(
                call.args.iter().filter_map(|word| word.known()?.strip_prefix(b"--prefix=")).map(BString::from),
            );
        }
        _ => {}
    }
    let writes_work_tree = matches!(
        call.verb.as_str(),
        "checkout"
            | "switch"
            | "restore"
            | "reset"
            | "read-tree"
            | "checkout-index"
            | "merge"
            | "pull"
            | "stash"
            | "apply"
            | "am"
            | "rebase"
    );
    if writes_work_tree && let Some(context) = &call.context {
        let chosen = call.globals.options.iter().any(|option| option.as_encoded_bytes().starts_with(b"--work-tree"))
            || scene.command.env.changes().contains_key(std::ffi::OsStr::new("GIT_WORK_TREE"));
        let top = git_globals::find(context).and_then(|place| place.top).filter(|_| chosen);
        folders.extend(top.map(|top| BString::from(top.as_os_str().as_encoded_bytes())));
    }
    folders
}

fn context(scene: &Scene<'_, '_>, globals: &Globals) -> Option<GitContext> {
    git_globals::context(scene.command, globals).filter(|_| globals.misplaced.is_none())
}

fn asks_for_help(verb: &BStr, args: &[Value]) -> bool {
    let first = args.first().and_then(Value::known);
    matches!(verb.as_bytes(), b"-h" | b"--help" | b"-v" | b"--version" | b"help" | b"version")
        || first.is_some_and(|first| first == "--help")
        || (args.len() == 1 && first.is_some_and(|first| first == "-h"))
}

/// `git --exec-path` and its like.
fn printed(scene: &Scene<'_, '_>, words: &[Value]) -> Effect {
    let asked = words.get(1).and_then(Value::known).is_some_and(|word| word == "--exec-path") && words.len() == 2;
    let output = match (asked, scene.dir()) {
        (true, Some(dir)) => {
            let context = GitContext { dir: dir.to_owned(), env: scene.command.env.known(), globals: Vec::new() };
            scene.shell.world().git(&context, ["--exec-path"]).stdout().ok()
        }
        _ => None,
    };
    Effect { output, ..inert() }
}

/// A verb that is not known. Every verb works on this repository, unless it brings programs along.
fn unknown_verb(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, globals: &Globals, words: &[Value]) -> Effect {
    let (why, prefix) = match words.first() {
        Some(Value::Unknown(value)) => (value.why.clone(), value.prefix.clone()),
        _ => return inert(),
    };
    if !may_publish(prefix.as_bstr()) {
        return Effect { changes_files: true, ..inert() };
    }
    let Some(context) = context(scene, globals) else {
        scene.unknown(why);
        return Effect { changes_files: true, ..inert() };
    };
    super::bypass::of_words(scene, words);
    if git_globals::find(&context).is_some() || meaning.may_be_made(scene) {
        meaning.widest(scene, context, format!("the git command is not known: {why}"));
    }
    meaning.changes(super::meaning::Changes::Everything);
    Effect { changes_files: true, ..inert() }
}

/// Whether a verb with this beginning could publish: any beginning of an alias may.
fn may_publish(prefix: &BStr) -> bool {
    let Ok(prefix) = prefix.to_str() else { return true };
    let only_reads = git_table::READS.split_ascii_whitespace().any(|verb| verb == prefix);
    !only_reads
}

fn not_built_in(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    call: Call,
    words: &[Value],
    at: usize,
    aliases: &mut Vec<BString>,
) -> Effect {
    let is_extension = git_table::is_extension(&call.verb);
    if let Some(found) = external(scene, &call) {
        if is_extension && is_installed(&found) {
            return run(meaning, scene, call);
        }
        return dashed(scene, &call);
    }
    let Some(context) = call.context.clone() else {
        scene.unknown("an alias of a repository that is not known");
        return Effect { changes_files: true, ..inert() };
    };
    let config = meaning.config(scene, &context);
    let verb = BString::from(call.verb.as_str());
    match config.alias(verb.as_bstr()) {
        Some(Some(value)) => {
            if aliases.contains(&verb) || aliases.len() >= MAX_ALIASES {
                return Effect { exit: Exit::Failure, ..inert() };
            }
            aliases.push(verb);
            expanded(meaning, scene, call, value, words, at, aliases)
        }
        Some(None) => {
            scene.unknown(format!("the alias {} is not known", SafeText::quoted(&verb, 40)));
            Effect { changes_files: true, ..inert() }
        }
        None if is_extension => run(meaning, scene, call),
        None => mistaken(meaning, scene, call, &config),
    }
}

/// A program `git-VERB` along the command's own PATH.
fn external(scene: &Scene<'_, '_>, call: &Call) -> Option<PathBuf> {
    if call.verb.contains('/') {
        return None;
    }
    let program = OsString::from(format!("git-{}", call.verb));
    let dir = scene.dir()?;
    let mut folders = Vec::new();
    if let Some(Value::Known(path)) = &call.globals.exec_path {
        folders.push(to_os_string(path));
    }
    for name in ["GIT_EXEC_PATH", "PATH"] {
        if let Seen::Known(path) = scene.command.env.var(name) {
            folders.push(path.to_owned());
        }
    }
    let found = folders.iter().find_map(|folder| look_up(&program, Some(folder), dir));
    // The line itself may have made one.
    found.or_else(|| {
        let made = scene.shell.written().into_iter().map(|file| file.path);
        made.into_iter().find(|path| path.file_name() == Some(&program))
    })
}

/// Whether a program lies where packages put theirs, and is what its name says.
fn is_installed(path: &std::path::Path) -> bool {
    ["/usr", "/opt", "/bin", "/nix", "/home/linuxbrew"].iter().any(|folder| path.starts_with(folder))
}

/// `git VERB` as the program `git-VERB`: the walk reads it when it is a script.
fn dashed(scene: &Scene<'_, '_>, call: &Call) -> Effect {
    let mut words = vec![Value::Known(format!("git-{}", call.verb).into())];
    words.extend(call.args.iter().cloned());
    let because = SafeText::quoted(format!("git {}", call.verb).as_bytes(), 60);
    let nested = nested(scene, call, Code::Argv(words), None, Certainty::Always, because);
    Effect { run: vec![nested], ..inert() }
}

fn expanded(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    call: Call,
    value: &BStr,
    words: &[Value],
    at: usize,
    aliases: &mut Vec<BString>,
) -> Effect {
    match alias::read(value) {
        Alias::Refused => Effect { exit: Exit::Failure, ..inert() },
        Alias::Words(expansion) => {
            let mut line = words.get(..at).unwrap_or_default().to_vec();
            line.extend(expansion.into_iter().map(Value::Known));
            line.extend(call.args);
            resolve(meaning, scene, line, aliases)
        }
        Alias::Shell(text) => {
            let line = alias::shell_text(text.as_bstr(), !call.args.is_empty());
            let mut args = vec![Value::Known(text)];
            args.extend(call.args.iter().cloned());
            let code = Code::Shell { text: Value::Known(line), args };
            let because = SafeText::quoted(format!("alias {}", call.verb).as_bytes(), 60);
            let top = call.context.as_ref().map(top);
            Effect { run: vec![nested(scene, &call, code, top, Certainty::Always, because)], ..inert() }
        }
    }
}

/// The top of the work tree, where git runs shell aliases and hooks.
pub(super) fn top(context: &GitContext) -> PathBuf {
    let dir = git_globals::directory(&context.dir, &context.globals);
    git_globals::find(context).map_or(dir, |place| place.top.unwrap_or(place.git_dir))
}

/// Code that git starts, with what git exports to it.
pub(super) fn nested(
    scene: &Scene<'_, '_>,
    call: &Call,
    code: Code,
    dir: Option<PathBuf>,
    certainty: Certainty,
    because: SafeText,
) -> Nested {
    let env: Vec<(OsString, EnvChange)> = match scene.dir() {
        Some(base) => git_globals::exported(&call.globals, base, &scene.command.env),
        None => Vec::new(),
    };
    let dir = dir.or_else(|| {
        let context = call.context.as_ref()?;
        Some(git_globals::directory(&context.dir, &context.globals))
    });
    Nested { code, dir: dir.map(Dir::Known), env, certainty, because }
}

/// Neither a verb, nor an alias, nor a program: git stops, unless it is set to mend the word.
fn mistaken(
    meaning: &mut Meaning,
    scene: &mut Scene<'_, '_>,
    call: Call,
    config: &super::git_config::Config,
) -> Effect {
    if config.incomplete {
        scene.unknown(format!("git {} may be an alias", SafeText::quoted(call.verb.as_bytes(), 40)));
        return Effect { changes_files: true, ..inert() };
    }
    let mends = match config.value("help.autocorrect") {
        None => false,
        Some(None) => true,
        Some(Some(value)) => {
            !matches!(value.as_bytes(), b"0" | b"never" | b"prompt" | b"show" | b"false" | b"no" | b"off" | b"")
        }
    };
    if !mends {
        return Effect { exit: Exit::Failure, ..inert() };
    }
    let Some(context) = call.context.clone() else { return inert() };
    let args = super::meaning::arguments(&call.args);
    for verb in similar(&call.verb, config) {
        match verb.as_str() {
            "push" => meaning.push(scene, context.clone(), args.clone(), PushVia::Push),
            "commit" => meaning.commit(scene, context.clone(), CommitVerb::Commit, args.clone()),
            _ => meaning.widest(scene, context.clone(), "git would mend the word into another command"),
        }
    }
    inert()
}

/// Words that git might take instead: those that publish, and aliases, within git's own measure
/// (help.c: a weighted edit distance below 7, where a beginning in common costs nothing).
fn similar(word: &str, config: &super::git_config::Config) -> Vec<String> {
    let publishing = git_table::PUBLISHES.split_ascii_whitespace().map(str::to_owned);
    let aliases = config.aliases().map(|name| name.to_str_lossy().into_owned());
    publishing.chain(aliases).filter(|candidate| candidate.starts_with(word) || distance(word, candidate) < 7).collect()
}

/// Damerau-Levenshtein with git's weights: swap 0, substitution 2, insertion 1, deletion 3.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![(i + 1) * 3];
        for (j, b) in to.iter().enumerate() {
            let mut best = row.get(j).copied().unwrap_or(usize::MAX) + if a == b { 0 } else { 2 };
            let swapped = i > 0 && j > 0 && from.get(i - 1) == Some(b) && Some(a) == to.get(j - 1) && a != b;
            if swapped {
                best = best.min(before.get(j - 1).copied().unwrap_or(usize::MAX));
            }
            best = best.min(row.get(j + 1).copied().unwrap_or(usize::MAX) + 3);
            best = best.min(next.get(j).copied().unwrap_or(usize::MAX) + 1);
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}
