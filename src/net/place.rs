//! Putting the net in place, and taking it away again.
//!
//! Promise: nothing of the user's is overwritten; installing twice changes nothing; uninstalling
//! gives back exactly the bytes that were there, or, where the file was edited since, takes out our
//! settings alone. Every file is replaced whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use serde::{Deserialize, Serialize};

use crate::command::plan::GitContext;
use crate::install::keep::{self, Kept, cannot, make_executable, private_dir, read_if_there, replace, resolved, state};
use crate::payload::Fault;
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::git::FIXED_SETTINGS;
use crate::world::{World, look_up, user_home};

use super::chain;
use super::names::{self, Role};
use super::shim;

/// Whose configuration is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The user's: every repository.
    Global,
    /// One repository's.
    Repository,
}

/// How the net is in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// `core.hooksPath` names our folder.
    Directory,
    /// `hook.<name>.command` settings; git 2.54 and later.
    Settings,
}

/// What installing or uninstalling did.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// It was as wanted already.
    None,
    /// This configuration file was changed.
    Made(PathBuf),
}

/// One configuration file that holds our settings, as it was before and as we left it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Placed {
    #[serde(flatten)]
    kept: Kept,
    scope: Scope,
    method: Method,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Places {
    places: Vec<Placed>,
}

/// What an installed net is made of: this program, and the folder of its scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// tyran's own absolute path.
    pub program: PathBuf,
    /// The folder that is, or would be, `core.hooksPath`.
    pub folder: PathBuf,
}

impl Own {
    /// Those of this process.
    ///
    /// # Errors
    /// When the path of this program cannot be told, or the user has no home.
    pub fn of_process() -> Result<Self, Refusal> {
        // Linux tells where the program is without any link.
        let whole = |path: PathBuf| if cfg!(target_os = "linux") { Ok(path) } else { path.canonicalize() };
        let program = std::env::current_exe().and_then(whole).map_err(|error| {
            Refusal::new(
                Class::Installation,
                format!("the path of this program cannot be told: {error}"),
                "start tyran by its absolute path",
            )
        })?;
        Ok(Self { program, folder: hooks_dir()? })
    }
}

/// The folder of our scripts.
///
/// # Errors
/// When the user has no home.
pub fn hooks_dir() -> Result<PathBuf, Refusal> {
    Ok(state()?.join("hooks"))
}

/// Which way is better with this git: settings where it has them (2.54 and later).
///
/// # Errors
/// When git cannot tell its version.
pub fn best_method(world: &World, git: &GitContext) -> Result<Method, Refusal> {
    let printed = world.git(git, ["version"]).stdout().map_err(Fault::from)?;
    let version = git_version(&printed).ok_or_else(|| {
        Refusal::new(Class::Plumbing, "git did not tell its version", "run `git version`, and repair what it says")
    })?;
    Ok(if version >= (2, 54) { Method::Settings } else { Method::Directory })
}

/// Major and minor of `git version 2.47.3`.
pub fn git_version(printed: &[u8]) -> Option<(u32, u32)> {
    let text = printed.to_str().ok()?;
    let number = text.strip_prefix("git version ")?.split_whitespace().next()?;
    let mut parts = number.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Puts the net in place for a scope.
///
/// # Errors
/// When a file cannot be written; then nothing is left half done.
pub fn install(
    world: &World,
    git: &GitContext,
    scope: Scope,
    method: Method,
    program: &Path,
) -> Result<Change, Refusal> {
    let folder = hooks_dir()?;
    give_home_to_others(world, git, &folder)?;
    let renewed = write_scripts(&folder, program)?;
    let own = Own { program: program.to_owned(), folder: folder.clone() };
    let file = configuration_file(world, git, scope)?;
    if stands(world, git, &file, method, &folder, program)? {
        see_to_others(world, git, &own)?;
        return Ok(if renewed { Change::Made(folder) } else { Change::None });
    }
    let mut before = read_if_there(&file)?;
    let mut places = Places::read()?;
    match places.places.iter().find(|placed| placed.kept.file == file) {
        Some(placed) if placed.kept.is_untouched(before.as_deref()) => before = placed.kept.before()?,
        // It was edited since: what is given back one day is what it is now, without ours.
        Some(_) if before.is_some() => {
            take_out(world, git, &file, &folder)?;
            before = read_if_there(&file)?;
        }
        Some(_) | None => {}
    }
    // Recorded before anything changes: an end between the two leaves what can be taken out.
    places.keep(&file, before.as_deref(), before.as_deref().unwrap_or_default(), scope, method)?;
    match method {
        Method::Directory => set_directory(world, git, &file, &folder, scope)?,
        Method::Settings => set_hooks(world, git, &file, program)?,
    }
    let after = fs::read(&file).map_err(|error| cannot("read", &file, &error))?;
    places.keep(&file, before.as_deref(), &after, scope, method)?;
    see_to_others(world, git, &own)?;
    Ok(Change::Made(file))
}

/// Takes the net away from a scope.
///
/// # Errors
/// When a file cannot be written.
pub fn uninstall(world: &World, git: &GitContext, scope: Scope) -> Result<Change, Refusal> {
    uninstall_from(world, git, configuration_file(world, git, scope)?)
}

/// The files of git's configuration that the net stands in, as it was recorded: the user's and those of repositories.
///
/// # Errors
/// When the record cannot be read.
pub fn recorded_files() -> Result<Vec<PathBuf>, Refusal> {
    Ok(Places::read()?.places.into_iter().map(|placed| placed.kept.file).collect())
}

/// Takes the net out of one file of git's configuration.
///
/// # Errors
/// When a file cannot be written.
pub fn uninstall_from(world: &World, git: &GitContext, file: PathBuf) -> Result<Change, Refusal> {
    let folder = hooks_dir()?;
    let mut places = Places::read()?;
    let now = read_if_there(&file)?;
    match places.places.iter().find(|placed| placed.kept.file == file) {
        Some(placed) if placed.kept.is_untouched(now.as_deref()) => placed.kept.restore()?,
        Some(_) if now.is_some() => take_out(world, git, &file, &folder)?,
        Some(_) => {}
        // Without a record it is still ours where it says so.
        None if says_ours(world, git, &file, &folder)? => take_out(world, git, &file, &folder)?,
        None => return Ok(Change::None),
    }
    places.places.retain(|other| other.kept.file != file);
    let last = places.places.is_empty();
    places.write()?;
    if last {
        remove_scripts(&hooks_dir()?)?;
    }
    Ok(Change::Made(file))
}

/// Whether a file names our folder, or hooks of ours.
fn says_ours(world: &World, git: &GitContext, file: &Path, folder: &Path) -> Result<bool, Refusal> {
    if value(world, git, file, "core.hooksPath")?.as_deref() == Some(folder.as_os_str()) {
        return Ok(true);
    }
    for name in names::checked() {
        if value(world, git, file, &format!("hook.tyran-{name}.command"))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What [`install`] would write into which file of git's configuration; `None` where that stands there already.
///
/// # Errors
/// When git cannot be asked.
pub fn would_set(
    world: &World,
    git: &GitContext,
    scope: Scope,
    method: Method,
    program: &Path,
) -> Result<Option<(PathBuf, SafeText)>, Refusal> {
    let folder = hooks_dir()?;
    let file = configuration_file(world, git, scope)?;
    if stands(world, git, &file, method, &folder, program)? {
        return Ok(None);
    }
    let setting = match method {
        Method::Directory => format!("core.hooksPath = {}", keep::shown(&folder)),
        Method::Settings => "hook.tyran-NAME.event and .command, for each hook".to_owned(),
    };
    Ok(Some((file, SafeText::new(&setting))))
}

/// The command that lets our hooks run where another hooks path of the repository's goes before them.
///
/// # Errors
/// When git cannot be asked.
pub fn way_out(world: &World, git: &GitContext) -> Result<SafeText, Refusal> {
    let listed = world.settings(git).map_err(Fault::from)?;
    // The last ones are those of our own calls.
    let theirs = listed.len().saturating_sub(FIXED_SETTINGS);
    let paths = listed.iter().take(theirs);
    let named = paths.filter_map(|(scope, entry)| Some((scope, entry.strip_prefix(b"core.hookspath\n")?))).next_back();
    let Some((scope, path)) = named else { return Ok("tyran install git".into()) };
    let path = crate::text::shell_word(path);
    let path = path.to_str_lossy();
    Ok(match scope.as_slice() {
        b"worktree" => SafeText::new(&format!(
            "git config tyran.hooksPath {path} && git config --worktree --unset core.hooksPath && tyran install git --repo"
        )),
        b"command" => "unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS, then run it again".into(),
        b"local" if !is_own(world, git)? => SafeText::new(&format!(
            "take core.hooksPath out of the file that `git config --show-origin --get core.hooksPath` names, then run: git \
             config tyran.hooksPath {path} && tyran install git --repo"
        )),
        _ => "tyran install git --repo".into(),
    })
}

/// Whether the hooks path that counts stands in the repository's own file, and not in one that it includes.
fn is_own(world: &World, git: &GitContext) -> Result<bool, Refusal> {
    let file = configuration_file(world, git, Scope::Repository)?;
    let own = value(world, git, &file, "core.hooksPath")?;
    let folder = hooks_dir()?;
    Ok(own.is_some_and(|path| path != folder.as_os_str()))
}

/// Takes our settings out of a file that was edited since, and puts back the path that was there.
fn take_out(world: &World, git: &GitContext, file: &Path, folder: &Path) -> Result<(), Refusal> {
    let previous = value(world, git, file, "tyran.hooksPath")?;
    if value(world, git, file, "core.hooksPath")?.as_deref() == Some(folder.as_os_str()) {
        match previous {
            Some(previous) => set(world, git, file, "core.hooksPath", &previous)?,
            None => unset(world, git, file, "core.hooksPath")?,
        }
    }
    unset(world, git, file, "tyran.hooksPath")?;
    for name in names::checked() {
        let section = format!("hook.tyran-{name}");
        let removed = edit(world, git, file, ["--remove-section", section.as_str()].map(OsStr::new))?;
        // 128: there is no such section, which is what is wanted.
        if !removed.status.success() && removed.status.code() != Some(128) {
            return Err(not_set(file, &section));
        }
    }
    Ok(())
}

/// Whether the file says already what it should.
fn stands(
    world: &World,
    git: &GitContext,
    file: &Path,
    method: Method,
    folder: &Path,
    program: &Path,
) -> Result<bool, Refusal> {
    match method {
        Method::Directory => Ok(value(world, git, file, "core.hooksPath")?.as_deref() == Some(folder.as_os_str())),
        Method::Settings => {
            for name in names::checked() {
                let command = value(world, git, file, &format!("hook.tyran-{name}.command"))?;
                if command != Some(command_of(program, name)) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn set_directory(world: &World, git: &GitContext, file: &Path, folder: &Path, scope: Scope) -> Result<(), Refusal> {
    if let Some(previous) = effective_hooks_path(world, git, file, scope)?
        && previous != folder.as_os_str()
    {
        set(world, git, file, "tyran.hooksPath", &previous)?;
    }
    set(world, git, file, "core.hooksPath", folder.as_os_str())
}

/// The hooks path that counts now: the file's own, else that of any file which counts as much or less, included ones
/// among them (git-config(1), FILES and CONDITIONAL INCLUDES), as they are in force here.
fn effective_hooks_path(
    world: &World,
    git: &GitContext,
    file: &Path,
    scope: Scope,
) -> Result<Option<OsString>, Refusal> {
    use std::os::unix::ffi::OsStringExt;
    if let Some(own) = value(world, git, file, "core.hooksPath")? {
        return Ok(Some(own));
    }
    let counts: &[&[u8]] = match scope {
        Scope::Global => &[b"system", b"global"],
        Scope::Repository => &[b"system", b"global", b"local"],
    };
    let listed = world.settings(git).map_err(Fault::from)?;
    let paths = listed.iter().filter(|(scope, _)| counts.contains(&scope.as_slice()));
    let path = paths.filter_map(|(_, entry)| entry.strip_prefix(b"core.hookspath\n")).next_back();
    Ok(path.map(|path| OsString::from_vec(path.to_vec())))
}

fn set_hooks(world: &World, git: &GitContext, file: &Path, program: &Path) -> Result<(), Refusal> {
    for name in names::checked() {
        set(world, git, file, &format!("hook.tyran-{name}.event"), OsStr::new(name))?;
        set(world, git, file, &format!("hook.tyran-{name}.command"), &command_of(program, name))?;
    }
    Ok(())
}

/// The command of a config hook, which git hands to a shell.
pub fn command_of(program: &Path, name: &str) -> OsString {
    let word = program.to_string_lossy();
    OsString::from(format!("{} git-hook --from-settings {name}", shell_words::quote(&word)))
}

/// Where the scope's settings are written, as git itself chooses it (git-config(1), FILES): of the
/// user's two files the second only when it exists and the first does not.
fn configuration_file(world: &World, git: &GitContext, scope: Scope) -> Result<PathBuf, Refusal> {
    match scope {
        Scope::Repository => {
            let common =
                world.git(git, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).stdout().map_err(|_| {
                    Refusal::new(
                        Class::Repository,
                        "there is no repository here",
                        "run it inside one, or use `--global`",
                    )
                })?;
            use std::os::unix::ffi::OsStrExt;
            Ok(Path::new(OsStr::from_bytes(common.trim_end_with(|character| character == '\n'))).join("config"))
        }
        Scope::Global => {
            if let Some(named) = world.var("GIT_CONFIG_GLOBAL") {
                return resolved(Path::new(named));
            }
            let home = world.var("HOME").map(PathBuf::from).or_else(user_home).ok_or_else(|| {
                Refusal::new(Class::Installation, "there is no home directory", "set HOME, or use `--repo`")
            })?;
            let first = home.join(".gitconfig");
            let folder = world
                .var("XDG_CONFIG_HOME")
                .filter(|value| !value.is_empty())
                .map_or_else(|| home.join(".config"), PathBuf::from);
            let second = folder.join("git").join("config");
            resolved(if !first.exists() && second.exists() { &second } else { &first })
        }
    }
}

fn value(world: &World, git: &GitContext, file: &Path, key: &str) -> Result<Option<OsString>, Refusal> {
    if !file.exists() {
        return Ok(None);
    }
    let done = edit(world, git, file, ["--get", key].map(OsStr::new))?;
    match done.status.code() {
        Some(0) => {
            use std::os::unix::ffi::OsStringExt;
            Ok(Some(OsString::from_vec(done.stdout.trim_end_with(|character| character == '\n').to_vec())))
        }
        Some(1) => Ok(None),
        _ => Err(not_set(file, key)),
    }
}

fn set(world: &World, git: &GitContext, file: &Path, key: &str, value: &OsStr) -> Result<(), Refusal> {
    let done = edit(world, git, file, ["--replace-all".as_ref(), key.as_ref(), value])?;
    if done.status.success() { Ok(()) } else { Err(not_set(file, key)) }
}

fn unset(world: &World, git: &GitContext, file: &Path, key: &str) -> Result<(), Refusal> {
    let done = edit(world, git, file, ["--unset-all", key].map(OsStr::new))?;
    // 5: there was none, which is what is wanted (git-config(1)).
    if done.status.success() || done.status.code() == Some(5) { Ok(()) } else { Err(not_set(file, key)) }
}

fn edit<const N: usize>(
    world: &World,
    git: &GitContext,
    file: &Path,
    args: [&OsStr; N],
) -> Result<crate::world::child::Done, Refusal> {
    let mut words: Vec<&OsStr> = vec!["config".as_ref(), "--file".as_ref(), file.as_os_str()];
    words.extend(args);
    Ok(world.git(git, words).run().map_err(Fault::from)?)
}

fn not_set(file: &Path, key: &str) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!(
            "git could not read or change `{key}` in {}",
            SafeText::quoted(file.as_os_str().as_encoded_bytes(), 300)
        ),
        "make the file writable, or correct what `git config --list` complains of",
    )
}

/// Whether one of them was not as it is now. Those of [`names::AT_EVERY_CHANGE`] are written only where they are already.
fn write_scripts(folder: &Path, program: &Path) -> Result<bool, Refusal> {
    private_dir(folder)?;
    let mut renewed = false;
    for (name, role) in names::ALL {
        if !names::AT_EVERY_CHANGE.contains(name) || folder.join(name).exists() {
            renewed |= write_script(folder, name, *role, program)?;
        }
    }
    Ok(renewed)
}

/// Whether it was not as it is now.
fn write_script(folder: &Path, name: &str, role: Role, program: &Path) -> Result<bool, Refusal> {
    let path = folder.join(name);
    let script = shim::script(name, role, program, folder);
    let is_new = read_if_there(&path)?.as_deref() != Some(&script);
    if is_new {
        replace(&path, &script)?;
    }
    make_executable(&path)?;
    Ok(is_new)
}

/// What only some need: the mark that a configuration names another folder of hooks, and scripts for hooks of the
/// repository here that git runs at every change.
fn see_to_others(world: &World, git: &GitContext, own: &Own) -> Result<(), Refusal> {
    let recorded = world.git(git, ["config", "--get", "tyran.hooksPath"]).run().map_err(Fault::from)?;
    let mark = own.folder.join(shim::OTHERS);
    if recorded.status.success() && !mark.exists() {
        replace(&mark, b"")?;
    }
    // Outside of a repository there are none.
    match chain::folder(world, git) {
        Ok(theirs) => place_needed(own, &theirs),
        Err(_) => Ok(()),
    }
}

/// Hook managers write where `core.hooksPath` points, so one that is installed after us puts its hook of one
/// repository into the folder of all, and ours aside (`NAME.legacy`, `NAME.old`). Its hook goes to the
/// repository's own folder, where ours goes on to it.
fn give_home_to_others(world: &World, git: &GitContext, folder: &Path) -> Result<(), Refusal> {
    let is_ours = |script: &[u8]| script.contains_str(shim::MARK);
    for (name, _) in names::ALL {
        let path = folder.join(name);
        if let Some(script) = read_if_there(&path)?.filter(|script| !is_ours(script)) {
            let own = own_hooks(world, git).map(|hooks| hooks.join(name)).filter(|own| !own.exists());
            let Some(own) = own else {
                return Err(Refusal::new(
                    Class::Installation,
                    format!("{} is not tyran's, and has no place to go to", path.display()),
                    "move it to the hooks folder of the repository that it belongs to, then run it again",
                ));
            };
            replace(&own, &script)?;
            make_executable(&own)?;
        }
        for ending in ["legacy", "old"] {
            let aside = folder.join(format!("{name}.{ending}"));
            if read_if_there(&aside)?.is_some_and(|script| is_ours(&script)) {
                fs::remove_file(&aside).map_err(|error| cannot("remove", &aside, &error))?;
            }
        }
    }
    Ok(())
}

/// The hooks folder of the repository here; made where it is not there.
fn own_hooks(world: &World, git: &GitContext) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let common = world.git(git, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).stdout().ok()?;
    let hooks = Path::new(OsStr::from_bytes(common.trim_end_with(|character| character == '\n'))).join("hooks");
    fs::create_dir_all(&hooks).ok()?;
    Some(hooks)
}

/// Removes our scripts alone, and the folder when nothing else is in it.
fn remove_scripts(folder: &Path) -> Result<(), Refusal> {
    for (name, _) in names::ALL {
        let path = folder.join(name);
        if read_if_there(&path)?.is_some_and(|script| script.contains_str(shim::MARK)) {
            fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?;
        }
    }
    let mark = folder.join(shim::OTHERS);
    if mark.exists() {
        fs::remove_file(&mark).map_err(|error| cannot("remove", &mark, &error))?;
    }
    // A file of somebody else's keeps the folder; that is theirs.
    let _ = fs::remove_dir(folder);
    Ok(())
}

impl Places {
    fn path() -> Result<PathBuf, Refusal> {
        Ok(state()?.join("net.json"))
    }

    fn read() -> Result<Self, Refusal> {
        let path = Self::path()?;
        let Some(bytes) = read_if_there(&path)? else { return Ok(Self::default()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            Refusal::new(
                Class::Installation,
                format!("{} is damaged: {error}", path.display()),
                "move it away, then run `tyran install git` again",
            )
        })
    }

    /// Records a file as it was and as it is left.
    fn keep(
        &mut self,
        file: &Path,
        before: Option<&[u8]>,
        after: &[u8],
        scope: Scope,
        method: Method,
    ) -> Result<(), Refusal> {
        self.places.retain(|placed| placed.kept.file != file);
        self.places.push(Placed { kept: Kept::new(file, before, after), scope, method });
        self.write()
    }

    fn write(&self) -> Result<(), Refusal> {
        let path = Self::path()?;
        private_dir(&state()?)?;
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| Refusal::internal(error.to_string()))?;
        replace(&path, &bytes)
    }
}

/// The script that must stand at a checked hook, for whoever asks whether the net holds.
pub fn expected_script(name: &str, role: Role, program: &Path, folder: &Path) -> Vec<u8> {
    shim::script(name, role, program, folder)
}

/// Places the scripts of [`names::AT_EVERY_CHANGE`] for a repository whose own hooks folder has such a hook.
///
/// # Errors
/// When such a script is lacking and cannot be written.
pub fn place_needed(own: &Own, theirs: &Path) -> Result<(), Refusal> {
    for name in names::AT_EVERY_CHANGE {
        if is_executable(&theirs.join(name)) && !own.folder.join(name).exists() {
            write_script(&own.folder, name, Role::ChainOnly, &own.program)?;
        }
    }
    Ok(())
}

fn is_executable(path: &Path) -> bool {
    look_up(path.as_os_str(), None, Path::new("/")).is_some()
}
