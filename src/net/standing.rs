//! Is the net in place, as a command will see it?
//!
//! Promise: [`Standing::Holds`] is said only when git, run from that directory with that environment
//! and those options, would run our hook: the effective hooks path or config hook is ours, the script
//! is byte for byte what we wrote, and the program it starts is there. Its answer is checked in tests
//! by really pushing.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::payload::push::config::Configuration;
use crate::text::SafeText;
use crate::world::{World, look_up};

use super::names::{Role, role};
use super::place::{self, Own, git_version};

/// Whether our hook of a name would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It would.
    Holds(place::Method),
    /// It was put in place, and something here cuts it.
    Cut(SafeText),
    /// It was never put in place.
    Absent,
}

/// Whether a `git push` (`name` is `pre-push`) or commit as `git` describes it would run our hook.
/// `--no-verify` and plumbing are the caller's to know: they are in the command, not in git's state.
///
/// # Errors
/// When git's configuration cannot be read.
pub fn standing(world: &World, git: &GitContext, name: &str, own: &Own) -> Result<Standing, Fault> {
    let Some(role) = role(name) else { return Ok(Standing::Absent) };
    let configuration = Configuration::read(world, git)?;
    if let Some(standing) = by_settings(world, git, &configuration, name, &own.program)? {
        return Ok(standing);
    }
    by_directory(git, &configuration, name, role, own)
}

/// A config hook of ours; `None` when there is none, or this git has no config hooks.
fn by_settings(
    world: &World,
    git: &GitContext,
    configuration: &Configuration,
    name: &str,
    program: &Path,
) -> Result<Option<Standing>, Fault> {
    let key = |variable: &str| format!("hook.tyran-{name}.{variable}");
    let Some(command) = configuration.last(&key("command")) else { return Ok(None) };
    let version = git_version(&world.git(git, ["version"]).stdout()?);
    if version.is_none_or(|version| version < (2, 54)) {
        return Ok(None);
    }
    if command != BStr::new(place::command_of(program, name).as_encoded_bytes()) {
        return Ok(Some(Standing::Cut(format!("hook.tyran-{name}.command is not ours").into())));
    }
    if configuration.flag(&key("enabled")) == Some(false) {
        return Ok(Some(Standing::Cut(format!("hook.tyran-{name}.enabled is off").into())));
    }
    // An empty value clears the events before it (git-config(1), hook.<name>.event).
    let listens = configuration
        .all(&key("event"))
        .fold(false, |on, event| if event.is_empty() { false } else { on || event == name });
    if !listens {
        return Ok(Some(Standing::Cut(format!("hook.tyran-{name}.event does not name {name}").into())));
    }
    Ok(Some(program_there(program, place::Method::Settings)))
}

fn by_directory(
    git: &GitContext,
    configuration: &Configuration,
    name: &str,
    role: Role,
    own: &Own,
) -> Result<Standing, Fault> {
    let (ours, program) = (own.folder.as_path(), own.program.as_path());
    let installed = ours.join(name).exists();
    let here = |path: &BStr| path.to_path().map(|path| git.dir.join(path)).unwrap_or_else(|_| PathBuf::new());
    let named = |path: &BStr| git.below_home(path).unwrap_or_else(|| here(path));
    let Some(effective) = configuration.last("core.hookspath") else { return Ok(Standing::Absent) };
    if named(effective) != ours {
        let anywhere = configuration.all("core.hookspath").any(|path| named(path) == ours);
        return Ok(if anywhere {
            Standing::Cut(format!("core.hooksPath is {}", SafeText::quoted(effective, 200)).into())
        } else {
            Standing::Absent
        });
    }
    if !installed {
        return Ok(Standing::Cut(format!("{} is not there", ours.join(name).display()).into()));
    }
    let script = ours.join(name);
    if std::fs::read(&script).ok().as_deref() != Some(place::expected_script(name, role, program, ours).as_slice()) {
        return Ok(Standing::Cut(format!("{} is not what `tyran install git` wrote", script.display()).into()));
    }
    if look_up(script.as_os_str(), None, Path::new("/")).is_none() {
        return Ok(Standing::Cut(format!("{} is not executable", script.display()).into()));
    }
    Ok(program_there(program, place::Method::Directory))
}

fn program_there(program: &Path, method: place::Method) -> Standing {
    if look_up(program.as_os_str(), None, Path::new("/")).is_some() {
        Standing::Holds(method)
    } else {
        Standing::Cut(format!("{} is not there or not executable", program.display()).into())
    }
}
