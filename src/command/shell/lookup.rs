//! Which program a name stands for: along the PATH of the command, with what the line has put there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::Walk;
use super::state::Shell;
use crate::command::scripts;
use crate::command::simple::{FileSeen, Program, to_os_string};
use crate::command::wrappers;
use crate::world::memory::SmallFile;

/// Where the system keeps its programs: a path below one of these is the program of that name.
const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr", "/opt", "/snap", "/nix", "/Library", "/System", "/Applications"];

impl Walk<'_, '_> {
    /// Whether a name has a meaning without looking its program up.
    pub(super) fn is_familiar(&self, base: &BStr) -> bool {
        wrappers::is_wrapper(base) || scripts::is_runner(base) || is_tool(base) || self.verbs.knows(base)
    }

    pub(super) fn resolve(&self, name: &BStr, shell: &Shell) -> Program {
        if name.contains(&b'/') {
            return match self.absolute(name, shell) {
                Some(path) => self.program_at(&super::builtin_dir::cleaned(&path)),
                None => Program::Unknown,
            };
        }
        let familiar = self.is_familiar(name);
        let path_changed = shell.cleared || shell.variables.contains_key(BStr::new("PATH"));
        if familiar && !path_changed && !self.may_stand_for(name) {
            return Program::ByName;
        }
        let Some(path) = shell.env_text(self.world, "PATH") else {
            // Without a PATH bash looks in its own, which the system's folders make up.
            let unset = matches!(shell.variable(self.world, BStr::new("PATH")), super::state::Content::Unset);
            return if unset && familiar { Program::ByName } else { Program::Unknown };
        };
        match self.along(path.as_bstr(), name, shell) {
            Some(found) if familiar && Some(&found) == self.usual(name).as_ref() => Program::ByName,
            Some(found) => self.program_at(&found),
            None if familiar && !path_changed => Program::ByName,
            None => Program::Absent,
        }
    }

    /// A script that the PATH which the line starts with finds for a name before the system's own program, and its text.
    pub(super) fn put_before(&self, name: &BStr) -> Option<(PathBuf, Arc<[u8]>)> {
        let path = self.usual(name).filter(|path| !is_of_system(path))?;
        match self.world.small_file(&path) {
            SmallFile::Text(text) if scripts::interpreter(&text) != scripts::Interpreter::Binary => Some((path, text)),
            SmallFile::Text(_) | SmallFile::Absent | SmallFile::Unfit => None,
        }
    }

    /// Whether the line may have put another program of this name on the PATH that it starts with.
    fn may_stand_for(&self, name: &BStr) -> bool {
        if self.disk.names_nothing() {
            return false;
        }
        let path = self.world.var("PATH").map_or(b"".as_slice(), |path| path.as_encoded_bytes());
        self.disk.names_any(|file| {
            let is_named = file.file_name().is_some_and(|own| own.as_encoded_bytes() == name.as_bytes());
            is_named || path.contains_str(file.as_os_str().as_encoded_bytes())
        })
    }

    /// The program of this name on the PATH that the line starts with.
    pub(super) fn usual(&self, name: &BStr) -> Option<PathBuf> {
        self.world.on_path(&to_os_string(name))
    }

    /// The first program of this name along a PATH, files that the line makes included.
    fn along(&self, path: &BStr, name: &BStr, shell: &Shell) -> Option<PathBuf> {
        let here = shell.dirs.known.first().unwrap_or(&self.world.cwd);
        let is_as_given = self.world.var("PATH").is_some_and(|given| given.as_encoded_bytes() == path.as_bytes());
        let is_absolute = || path.split_str(":").all(|folder| folder.starts_with(b"/"));
        if self.disk.names_nothing() && is_as_given && (*here == self.world.cwd || is_absolute()) {
            return self.usual(name);
        }
        for folder in path.split_str(":") {
            let candidate = here.join(to_os_string(folder)).join(to_os_string(name));
            if matches!(self.disk.seen(&candidate), FileSeen::Written(_))
                || (self.disk.changes_below(&candidate) && !self.disk.anything)
            {
                return Some(candidate);
            }
            if crate::world::look_up(candidate.as_os_str(), None, here).is_some() {
                return Some(candidate);
            }
        }
        None
    }

    fn program_at(&self, path: &Path) -> Program {
        let system = is_of_system(path);
        let base = path.file_name().map(|name| BString::from(name.as_encoded_bytes())).unwrap_or_default();
        if system && self.is_familiar(base.as_bstr()) {
            return Program::ByName;
        }
        if is_put_there_by_a_package(path) && self.is_tool(base.as_bstr()) && path.is_file() {
            return match self.disk.seen(path) {
                FileSeen::Written(_) => Program::File(path.to_owned()),
                FileSeen::Changed(_) | FileSeen::AsOnDisk => Program::ByName,
            };
        }
        match self.disk.seen(path) {
            FileSeen::Written(_) => Program::File(path.to_owned()),
            FileSeen::Changed(_) => Program::File(path.to_owned()),
            FileSeen::AsOnDisk if path.is_file() => Program::File(path.to_owned()),
            FileSeen::AsOnDisk => Program::Absent,
        }
    }

    /// Whether a name is that of a tool which builds, tests, checks or interprets: what `npx NAME` and
    /// `python -m NAME` run is the same program.
    fn is_tool(&self, base: &BStr) -> bool {
        scripts::is_runner(base) || self.verbs.is_harmless(base)
    }
}

/// Whether a program lies where the system keeps its own.
pub(in crate::command) fn is_of_system(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a program lies where a package manager of the project puts the tools that it installs.
fn is_put_there_by_a_package(path: &Path) -> bool {
    let Some(folder) = path.parent() else { return false };
    let is_environment =
        || folder.join("activate").is_file() || folder.parent().is_some_and(|above| above.join("pyvenv.cfg").is_file());
    folder.ends_with("node_modules/.bin") || folder.ends_with("vendor/bin") || is_environment()
}

/// Programs whose output the walk knows itself.
pub(in crate::command) fn is_tool(base: &BStr) -> bool {
    matches!(
        base.as_bytes(),
        b"cat"
            | b"tee"
            | b"basename"
            | b"dirname"
            | b"echo"
            | b"printf"
            | b"pwd"
            | b"which"
            | b"base64"
            | b"true"
            | b"false"
            | b"test"
            | b"["
            | b"bash"
            | b"rbash"
            | b"sh"
            | b"dash"
            | b"ash"
            | b"ksh"
            | b"mksh"
            | b"zsh"
    )
}
