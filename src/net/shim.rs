//! The scripts of the hooks directory.
//!
//! Promise: a script of a hook that checks ends with tyran's exit code, and refuses when tyran is
//! gone; a script of a hook that does not check never needs tyran at all, so that a missing binary
//! cannot break a checkout.

use std::path::Path;

use super::names::Role;

/// The first lines of every script of ours, by which one is told from another's.
pub const MARK: &str = "# tyran's hook, made by `tyran install git`; `tyran uninstall git` takes it away.";

/// The file beside the scripts that is there once a configuration names another folder of hooks.
pub const OTHERS: &str = "others";

/// The script for one hook in a folder. `program` is tyran's absolute path.
pub fn script(name: &str, role: Role, program: &Path, folder: &Path) -> Vec<u8> {
    let program = crate::text::shell_word(program.as_os_str().as_encoded_bytes());
    let mut script = format!("#!/bin/sh\n{MARK}\n").into_bytes();
    match role {
        Role::CheckThenChain | Role::ChainThenCheck => {
            script.extend_from_slice(b"program=");
            script.extend_from_slice(&program);
            script.extend_from_slice(
                format!(
                    "\nif [ ! -x \"$program\" ]; then\n\
                     \x20   echo \"tyran: refused (installation)\" >&2\n\
                     \x20   echo \"what:  $program is not there, so this cannot be checked\" >&2\n\
                     {UNDO}\
                     \x20   exit 1\n\
                     fi\n\
                     exec \"$program\" git-hook {name} \"$@\"\n"
                )
                .as_bytes(),
            );
        }
        Role::ChainOnly => {
            script.extend_from_slice(b"others=");
            script.extend_from_slice(&crate::text::shell_word(folder.join(OTHERS).as_os_str().as_encoded_bytes()));
            script.extend_from_slice(chain_only(name).as_bytes());
        }
    }
    script
}

/// Says how the hooks are taken away without tyran: in the file of git's configuration that names them, and with the
/// path that stood there before.
const UNDO: &str = "    scope=$(git config --show-scope --get core.hooksPath 2>/dev/null)
    case $scope in local*) scope=local ;; worktree*) scope=worktree ;; system*) scope=system ;; *) scope=global ;; esac
    other=$(git config --get tyran.hooksPath 2>/dev/null)
    undo=\"--unset core.hooksPath\"
    if [ -n \"$other\" ]; then undo=\"core.hooksPath '$other'\"; fi
    echo \"do:    put tyran back, or take its hooks away with: git config --$scope $undo\" >&2
";

/// Goes on to the repository's own hook without any other program, where no other folder was recorded.
///
/// That folder is `tyran.hooksPath`, for which git is asked (git sets GIT_DIR for hooks; a linked work tree names the
/// common folder in `commondir`).
fn chain_only(name: &str) -> String {
    format!(
        "\nfolder=${{GIT_DIR:-.git}}\n\
         if [ -f \"$folder/commondir\" ]; then\n\
         \x20   read -r common < \"$folder/commondir\"\n\
         \x20   case $common in /*) folder=$common ;; *) folder=$folder/$common ;; esac\n\
         fi\n\
         other=\n\
         if [ -e \"$others\" ]; then other=$(git config --type=path --get tyran.hooksPath 2>/dev/null); fi\n\
         hook=${{other:-$folder/hooks}}/{name}\n\
         if [ -x \"$hook\" ]; then exec \"$hook\" \"$@\"; fi\n\
         exit 0\n"
    )
}
