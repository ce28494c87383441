//! The repository's own hook, behind ours.
//!
//! Promise: it runs with the arguments, standard input, environment and directory that git gave us,
//! and its exit code is git's answer; a hook that is not there, or not executable, is passed over as
//! git passes it over.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::ByteSlice;

use crate::command::git_files;
use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::World;

/// Where the repository's own hooks are: the folder that was `core.hooksPath` before the net was put
/// in place (recorded as `tyran.hooksPath`), else `hooks` in the common git directory.
///
/// # Errors
/// When git cannot tell.
pub fn folder(world: &World, git: &GitContext) -> Result<PathBuf, Fault> {
    // Where git's files are plain enough to be read here, most say nothing of it: no need to ask git.
    let plain = git_files::read(world, git);
    if plain.is_none_or(|settings| settings.iter().any(|setting| setting.key == "tyran.hookspath")) {
        let recorded = world.git(git, ["config", "--type=path", "--get", "tyran.hooksPath"]).run()?;
        if recorded.status.success() {
            return Ok(git.dir.join(path(&recorded.stdout)));
        }
    }
    if let Some(common) = told_common_dir(world, git) {
        return Ok(common.join("hooks"));
    }
    let common = world.git(git, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).stdout()?;
    Ok(PathBuf::from(path(&common)).join("hooks"))
}

/// The common git directory as git's own variables tell it inside a hook, which spares a run of git at each; read as
/// `get_common_dir` does (setup.c of git 2.47). `None` where they do not.
fn told_common_dir(world: &World, git: &GitContext) -> Option<PathBuf> {
    let told = |name: &str| git.env.get(OsStr::new(name)).filter(|value| !value.is_empty());
    if told("GIT_COMMON_DIR").is_some() || !git.globals.is_empty() || git.dir != world.cwd {
        return None;
    }
    let own = git.dir.join(told("GIT_DIR")?);
    let common = match std::fs::read(own.join("commondir")) {
        Ok(text) => own.join(path(text.trim_end_with(|character| character == '\r' || character == '\n'))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => own,
        Err(_) => return None,
    };
    common.join("objects").is_dir().then_some(common)
}

fn path(output: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(output.trim_end_with(|character| character == '\n').to_vec())
}

/// Runs the repository's own hook; its exit code, 0 when there is none.
///
/// # Errors
/// When it is there and cannot be run.
pub fn run(world: &World, folder: &Path, name: &str, args: &[OsString], input: Option<&[u8]>) -> Result<u8, Fault> {
    let hook = folder.join(name);
    if !is_executable(&hook) {
        return Ok(0);
    }
    let broken = |error: std::io::Error| Fault::File {
        path: SafeText::quoted(hook.as_os_str().as_encoded_bytes(), 300),
        what: format!("the repository's own hook could not be run: {error}").into(),
    };
    // Not scrubbed: this is the program that git itself would have run, with what git gave it.
    let mut command = Command::new(&hook);
    command.args(args).env_clear().envs(&world.env).current_dir(&world.cwd);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::inherit() });
    let mut child = command.spawn().map_err(broken)?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        // A hook which does not read its input is not at fault: git ignores the broken pipe too.
        let _ = stdin.write_all(input);
    }
    let status = child.wait().map_err(broken)?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

fn is_executable(path: &Path) -> bool {
    crate::world::look_up(path.as_os_str(), None::<&OsStr>, Path::new("/")).is_some()
}
