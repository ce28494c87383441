//! What a line leaves behind in a shell that lives on (`World::shell_lives_on`).
//!
//! Promise: where a host keeps one shell for all its calls, a later call is read as if names, PATH and
//! git's environment were the usual ones. A line that changes what that reading rests on (a function or
//! an alias in the place of a program or a builtin, PATH, HOME, `LD_*`, `BASH_ENV`, `GIT_*`, a switch of
//! a hook manager) switches a control off, even when it publishes nothing itself. What only that one
//! command sees (`NAME=value command`, a subshell) is gone afterwards and not meant.

use std::path::Path;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::Walk;
use super::state::{Content, Shell, Variable};
use crate::command::plan::Bypass;
use crate::command::programs::{Class, class};
use crate::command::simple::{EnvChange, Value, to_os_string};
use crate::command::{bypass, identity};
use crate::text::SafeText;

const FOR_ONE_COMMAND: &str = "set it for the one command that needs it, as in `NAME=value command`";
const UNDER_ITS_NAME: &str = "call the program by its own name, without a function or alias in its place";

/// Variables of git that neither choose a repository, a configuration nor a program.
const HARMLESS_OF_GIT: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_LFS_SKIP_SMUDGE",
    "GIT_ADVICE",
    "GIT_FLUSH",
    "GIT_PROGRESS_DELAY",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_PS1_SHOWDIRTYSTATE",
];

/// Variables of git that name a program; a plain one that shows or edits is harmless.
const PROGRAMS_OF_GIT: &[&str] = &["GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];

/// Builtins, and wrappers that run programs: what stands in their place decides what is run.
const DECISIVE: &str = "cd command builtin eval exec source . env sudo doas export declare set shopt alias unalias hash \
    enable trap test [ echo printf read type which pushd popd xargs timeout nohup nice time bash sh zsh tyran";

impl Walk<'_, '_> {
    /// Notes what the line changes for the calls after it.
    pub(super) fn lasting(&mut self, before: &Shell, after: &Shell) {
        if !self.world.shell_lives_on {
            return;
        }
        for (name, variable) in after.variables.iter() {
            self.lasting_variable(name.as_bstr(), variable);
        }
        let plan = &self.plan;
        let does_something = !plan.publishes.is_empty() || !plan.opaque.is_empty() || !plan.unknown.is_empty();
        for (name, functions) in after.functions.iter() {
            let is_new = before.functions.get(name).is_none_or(|known| {
                known.len() != functions.len()
                    || !known.iter().zip(functions).all(|(one, other)| Rc::ptr_eq(one, other))
            });
            let written_here = functions.iter().any(|function| function.in_given_text);
            // A function whose own commands publish nothing may stand in the place of a program that does
            // not either.
            let decides = if does_something { is_decisive(name.as_bstr()) } else { is_of_the_shell(name.as_bstr()) };
            if is_new && (is_publisher(name.as_bstr()) || written_here && decides) {
                self.lasting_name("a function", name.as_bstr());
            }
        }
        for (name, text) in after.aliases.iter() {
            let of_itself = text.fields().next() == Some(name.as_slice());
            let decides = is_publisher(name.as_bstr()) || is_decisive(name.as_bstr()) && !of_itself;
            if decides || name.starts_with(b"\n") {
                self.lasting_name("an alias", name.trim().as_bstr());
            }
        }
        for name in after.hashed.keys().chain(after.disabled.iter()) {
            if is_publisher(name.as_bstr()) || is_decisive(name.as_bstr()) {
                self.lasting_name("another program", name.as_bstr());
            }
        }
    }

    fn lasting_name(&mut self, what: &str, name: &BStr) {
        let shown = SafeText::quoted(name, 40);
        self.bypass(format!("{what} would stand in the place of {shown} in every later command"), UNDER_ITS_NAME);
    }

    fn lasting_variable(&mut self, name: &BStr, variable: &Variable) {
        let Ok(text) = name.to_str() else { return };
        let read_by_the_shell = matches!(text, "PROMPT_COMMAND" | "CDPATH" | "PS0" | "PS4");
        if !variable.exported && !read_by_the_shell && variable.value != Content::Unset {
            return;
        }
        let value = match &variable.value {
            Content::Scalar(Value::Known(value)) => Some(value),
            Content::Scalar(Value::Unknown(_)) | Content::Array(_) | Content::UnknownArray(_) | Content::Unset => None,
        };
        let usual = self.world.env.get(&to_os_string(name));
        let is_usual = match (&variable.value, usual) {
            (Content::Unset, usual) => usual.is_none(),
            (_, Some(usual)) => value.is_some_and(|value| value.as_slice() == usual.as_encoded_bytes()),
            (_, None) => false,
        };
        if is_usual {
            return;
        }
        let decides = match text {
            "PATH" => value.is_none_or(|path| !self.leads_to_the_same_git(path)),
            "HOME" | "XDG_CONFIG_HOME" | "BASH_ENV" | "ENV" | "ZDOTDIR" | "SHELLOPTS" | "BASHOPTS" => true,
            _ if read_by_the_shell => value.is_none_or(|value| !value.is_empty()),
            _ if text.starts_with("LD_") || text.starts_with("DYLD_") => true,
            _ if HARMLESS_OF_GIT.contains(&text) || text.starts_with("GIT_TRACE") => false,
            _ if PROGRAMS_OF_GIT.contains(&text) => value.is_none_or(|value| !shows_or_edits(value.as_bstr())),
            _ if text.starts_with("GIT_") => true,
            _ => {
                let change = match (&variable.value, value) {
                    (Content::Unset, _) => EnvChange::Unset,
                    (_, Some(value)) => EnvChange::Set(to_os_string(value)),
                    (_, None) => EnvChange::Unknown("not known".into()),
                };
                bypass::stands_aside(text, &change)
            }
        };
        if decides {
            self.bypass(format!("{text} would be changed for every later command"), FOR_ONE_COMMAND);
        }
    }

    /// Whether a PATH finds the git that is in use, with nothing before it but folders of tools in
    /// which there is no other.
    fn leads_to_the_same_git(&self, path: &BString) -> bool {
        let Some(git) = self.world.git_program() else { return false };
        for folder in path.split_str(":") {
            let folder = to_os_string(folder);
            let folder = Path::new(&folder);
            if Some(folder) == git.parent() {
                return true;
            }
            let holds_git = folder.join("git").symlink_metadata().is_ok();
            if holds_git && folder.join("git").canonicalize().ok() == git.canonicalize().ok() {
                return true;
            }
            if holds_git || !self.is_folder_of_tools(folder) {
                return false;
            }
        }
        false
    }

    /// A folder into which a package manager or a virtual environment puts programs.
    fn is_folder_of_tools(&self, folder: &Path) -> bool {
        let parts = || folder.components().filter_map(|part| part.as_os_str().to_str());
        let home = crate::world::user_home();
        let in_home = home.as_ref().and_then(|home| folder.strip_prefix(home).ok()).is_some_and(|below| {
            let mut parts = below.components().filter_map(|part| part.as_os_str().to_str());
            parts
                .next()
                .is_some_and(|first| first.starts_with('.') || matches!(first, "go" | "bin" | "google-cloud-sdk"))
        });
        let usual = self.world.var("PATH").is_some_and(|path| std::env::split_paths(path).any(|known| known == folder));
        folder.is_absolute()
            && (usual
                || in_home
                || identity::is_of_the_system(folder)
                || folder.ends_with("node_modules/.bin")
                || folder.ends_with("vendor/bin")
                || folder.join("activate").is_file()
                || folder.parent().is_some_and(|above| above.join("pyvenv.cfg").is_file()))
            && !parts().any(|part| part == "..")
    }

    pub(in crate::command) fn bypass(&mut self, what: impl Into<SafeText>, instead: impl Into<SafeText>) {
        let bypass = Bypass { what: what.into(), instead: instead.into() };
        if !self.plan.bypass.iter().any(|known| known.what == bypass.what) {
            self.plan.bypass.push(bypass);
        }
    }
}

/// A program that publishes, or tyran.
fn is_publisher(name: &BStr) -> bool {
    match class(name) {
        Class::Git | Class::Forge | Class::Tyran | Class::Vcs => true,
        // Version managers bring functions for these along (`nvm`, `conda`), and a package is packed by
        // its client's own name.
        Class::Package | Class::Files | Class::Inert | Class::Writes | Class::Other => false,
    }
}

fn is_of_the_shell(name: &BStr) -> bool {
    DECISIVE.split_ascii_whitespace().any(|known| known.as_bytes() == name.as_bytes())
}

fn is_decisive(name: &BStr) -> bool {
    is_of_the_shell(name) || class(name) != Class::Other
}

/// A plain call of a program that only shows or edits.
fn shows_or_edits(value: &BStr) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_/.+".contains(&byte));
    let Some(program) = value.fields().next() else { return true };
    let base = program.rsplit_str("/").next().unwrap_or(program);
    plain && (base == b":" || class(base.as_bstr()) == Class::Inert)
}
