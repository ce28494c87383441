//! Putting the net in place, and taking it away again.
//!
//! Promise: nothing of the user's is overwritten; installing twice changes nothing; uninstalling
//! gives back exactly the bytes that were there, or, where the file was edited since, takes out our
//! settings alone. Every file is replaced whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bstr::ByteSlice;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::{World, state_dir, user_home};

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
    file: PathBuf,
    scope: Scope,
    method: Method,
    /// Base64 of the bytes before; `None` when there was no file.
    before: Option<String>,
    /// SHA-256 of the bytes that we left.
    after: String,
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
        let program = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|error| {
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

fn state() -> Result<PathBuf, Refusal> {
    state_dir().ok_or_else(|| {
        Refusal::new(
            Class::Installation,
            "the user of this process has no home directory in the password database",
            "run it as a user who has one",
        )
    })
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
    write_scripts(&folder, program)?;
    let file = configuration_file(world, git, scope)?;
    if stands(world, git, &file, method, &folder, program)? {
        return Ok(Change::None);
    }
    let before = read_if_there(&file)?;
    let mut places = Places::read()?;
    let first = places.places.iter().find(|placed| placed.file == file).map(|placed| placed.before.clone());
    match method {
        Method::Directory => set_directory(world, git, &file, &folder)?,
        Method::Settings => set_hooks(world, git, &file, program)?,
    }
    let after = fs::read(&file).map_err(|error| cannot("read", &file, &error))?;
    places.places.retain(|placed| placed.file != file);
    places.places.push(Placed {
        file: file.clone(),
        scope,
        method,
        before: first.unwrap_or_else(|| before.map(|bytes| STANDARD.encode(bytes))),
        after: hex::encode(Sha256::digest(&after)),
    });
    places.write()?;
    Ok(Change::Made(file))
}

/// Takes the net away from a scope.
///
/// # Errors
/// When a file cannot be written.
pub fn uninstall(world: &World, git: &GitContext, scope: Scope) -> Result<Change, Refusal> {
    let file = configuration_file(world, git, scope)?;
    let mut places = Places::read()?;
    let Some(placed) = places.places.iter().find(|placed| placed.file == file).cloned() else {
        return Ok(Change::None);
    };
    let now = read_if_there(&file)?;
    let untouched = now.as_ref().is_some_and(|bytes| hex::encode(Sha256::digest(bytes)) == placed.after);
    if untouched {
        restore(&placed)?;
    } else if now.is_some() {
        take_out(world, git, &file, &hooks_dir()?)?;
    }
    places.places.retain(|other| other.file != file);
    let last = places.places.is_empty();
    places.write()?;
    if last {
        remove_scripts(&hooks_dir()?)?;
    }
    Ok(Change::Made(file))
}

fn restore(placed: &Placed) -> Result<(), Refusal> {
    let Some(before) = &placed.before else {
        return fs::remove_file(&placed.file).map_err(|error| cannot("remove", &placed.file, &error));
    };
    let bytes = STANDARD.decode(before).map_err(|_| {
        Refusal::new(
            Class::Installation,
            "the record of what was there before is damaged",
            "run `git config --global --unset core.hooksPath`",
        )
    })?;
    replace(&placed.file, &bytes)
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

fn set_directory(world: &World, git: &GitContext, file: &Path, folder: &Path) -> Result<(), Refusal> {
    if let Some(previous) = effective_hooks_path(world, git, file)?
        && previous != folder.as_os_str()
    {
        set(world, git, file, "tyran.hooksPath", &previous)?;
    }
    set(world, git, file, "core.hooksPath", folder.as_os_str())
}

/// The hooks path that counts now: the file's own, else (for a repository) the user's.
fn effective_hooks_path(world: &World, git: &GitContext, file: &Path) -> Result<Option<OsString>, Refusal> {
    if let Some(own) = value(world, git, file, "core.hooksPath")? {
        return Ok(Some(own));
    }
    let user = configuration_file(world, git, Scope::Global)?;
    if user == file { Ok(None) } else { value(world, git, &user, "core.hooksPath") }
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

/// The file behind symbolic links, since replacing the link would take a user's dotfiles apart.
fn resolved(path: &Path) -> Result<PathBuf, Refusal> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(cannot("resolve", path, &error)),
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

fn cannot(verb: &str, path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!("could not {verb} {}: {error}", SafeText::quoted(path.as_os_str().as_encoded_bytes(), 300)),
        "make the place readable and writable for this user, then try again",
    )
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path, &error)),
    }
}

/// Replaces a file whole, with the mode that it had.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| cannot("write", path, &error))
}

fn write_scripts(folder: &Path, program: &Path) -> Result<(), Refusal> {
    private_dir(folder)?;
    for (name, role) in names::ALL {
        let path = folder.join(name);
        let script = shim::script(name, *role, program);
        if read_if_there(&path)?.as_deref() != Some(&script) {
            replace(&path, &script)?;
        }
        executable(&path).map_err(|error| cannot("make executable", &path, &error))?;
    }
    Ok(())
}

/// Removes our scripts alone, and the folder when nothing else is in it.
fn remove_scripts(folder: &Path) -> Result<(), Refusal> {
    for (name, _) in names::ALL {
        let path = folder.join(name);
        if read_if_there(&path)?.is_some_and(|script| script.contains_str(shim::MARK)) {
            fs::remove_file(&path).map_err(|error| cannot("remove", &path, &error))?;
        }
    }
    // A file of somebody else's keeps the folder; that is theirs.
    let _ = fs::remove_dir(folder);
    Ok(())
}

fn private_dir(folder: &Path) -> Result<(), Refusal> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| cannot("make", folder, &error))
}

fn executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
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

    fn write(&self) -> Result<(), Refusal> {
        let path = Self::path()?;
        private_dir(&state()?)?;
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| Refusal::internal(error.to_string()))?;
        replace(&path, &bytes)
    }
}

/// The script that must stand at a checked hook, for whoever asks whether the net holds.
pub fn expected_script(name: &str, role: Role, program: &Path) -> Vec<u8> {
    shim::script(name, role, program)
}
