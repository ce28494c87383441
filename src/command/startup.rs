//! Aliases and functions that a person's shell brings along: start-up files, what a host keeps of them, and the
//! git plugin of oh-my-zsh.
//!
//! Promise: a name for which there is no program may still be an alias or a function in the shell that a host
//! keeps alive (several load a snapshot of the person's own); what it stands for is read from the files
//! that define it, without running them. A function whose text cannot be told makes the command opaque.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::lex::{Dialect, Reader};
use super::meaning::Scene;
use super::plan::Bypass;
use super::scripts::searched::leaves_hooks_out;
use crate::text::SafeText;
use crate::world::World;
use crate::world::memory::SmallFile;

/// Files that interactive shells read, below the home directory.
const FILES: &[&str] = &[
    ".bashrc",
    ".bash_aliases",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zsh_aliases",
    ".aliases",
    ".alias",
];

/// Other files that a login, or a shell's end, runs, below the home directory.
const OTHER_FILES: &[&str] = &[
    ".bash_logout",
    ".zlogin",
    ".zlogout",
    ".xprofile",
    ".xsessionrc",
    ".xinitrc",
    ".kshrc",
    ".config/fish/config.fish",
];

/// Folders of which every file is run at times, below the home directory.
const FOLDERS: &[&str] = &[
    ".config/fish/conf.d",
    ".config/fish/functions",
    ".config/autostart",
    ".config/systemd/user",
    ".oh-my-zsh/custom",
];

/// What is wrong with a text that is written where a shell takes what it runs when it starts: it leaves hooks out,
/// and no tool call would be asked about it then.
pub fn written(world: &World, path: &Path, text: &[u8]) -> Option<Bypass> {
    let homes = [crate::world::user_home(), world.var("HOME").map(PathBuf::from)];
    let path = super::guarded::clean(path);
    let is_run = homes.iter().flatten().any(|home| {
        FILES.iter().chain(OTHER_FILES).any(|file| path == home.join(file))
            || FOLDERS.iter().any(|folder| path.starts_with(home.join(folder)))
    });
    (is_run && leaves_hooks_out(text)).then(|| Bypass {
        what: SafeText::new(&format!(
            "{} would leave hooks out whenever it is run",
            SafeText::quoted(path.as_os_str().as_encoded_bytes(), 120)
        )),
        instead: "the same without `--no-verify` and without another hooks path, so that the hooks run".into(),
    })
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// This command line.
    Alias(BString),
    /// A function, and its definition where it can be told from the rest of the file.
    Function(Option<BString>),
}

/// Where Claude Code keeps what its tool's shell loads, below the home directory: a file for each session, named
/// by its time (seen in 2.1).
const SNAPSHOTS: &str = ".claude/shell-snapshots";

/// Most snapshots that are read, the newest.
const SNAPSHOTS_READ: usize = 8;

/// What the start-up files make of a name; the last definition counts.
pub(super) fn find(scene: &Scene<'_, '_>, name: &BStr) -> Option<Meant> {
    let home = PathBuf::from(scene.shell.world().var("HOME")?);
    let mut found = None;
    let mut has_plugin = false;
    let files = FILES.iter().map(|file| home.join(file)).chain(snapshots(&home));
    for file in files {
        // What cannot be read, the shell does not read either.
        let SmallFile::Text(text) = scene.shell.world().small_file(&file) else { continue };
        has_plugin |= text.contains_str("oh-my-zsh") && text.lines().any(names_git_plugin);
        if !text.contains_str(name) {
            continue;
        }
        let mut rest = text.as_bytes();
        for line in text.lines_with_terminator() {
            if let Some(value) = alias_of(line, name) {
                found = Some(Meant::Alias(value));
            } else if defines_function(line, name) {
                found = Some(Meant::Function(definition(rest)));
            }
            rest = rest.get(line.len()..).unwrap_or_default();
        }
    }
    found.or_else(|| {
        let name = name.to_str().ok().filter(|_| has_plugin)?;
        PLUGIN.iter().find(|(alias, _)| *alias == name).map(|(_, value)| Meant::Alias((*value).into()))
    })
}

fn snapshots(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(home.join(SNAPSHOTS)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.split_off(files.len().saturating_sub(SNAPSHOTS_READ))
}

/// The function that a text begins with, as bash would end it.
fn definition(text: &[u8]) -> Option<BString> {
    let mut reader = Reader::new(text, Dialect::Bash).ok()?;
    reader.next_line().ok()??;
    text.get(..reader.position()).map(BString::from)
}

fn names_git_plugin(line: &[u8]) -> bool {
    let line = line.trim();
    (line.starts_with(b"plugins=") || !line.contains(&b'='))
        && line.split(|byte| b" ()=\t".contains(byte)).any(|word| word == b"git" || word == b"gitfast")
}

/// The value in `alias NAME=VALUE`, quotes taken off.
fn alias_of(line: &[u8], name: &BStr) -> Option<BString> {
    let rest = line.trim_start().strip_prefix(b"alias ")?.trim_start();
    let rest = rest.strip_prefix(b"-g ").or_else(|| rest.strip_prefix(b"-- ")).unwrap_or(rest);
    let value = rest.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
    let words = shell_words::split(value.to_str().ok()?).ok()?;
    // What stands behind the value on the same line (a comment, another alias) is not part of it.
    words.into_iter().next().map(BString::from)
}

fn defines_function(line: &[u8], name: &BStr) -> bool {
    let line = line.trim_start();
    let after = match line.strip_prefix(b"function ") {
        Some(rest) => rest.trim_start().strip_prefix(name.as_bytes()).map(|rest| (rest, true)),
        None => line.strip_prefix(name.as_bytes()).map(|rest| (rest, false)),
    };
    after.is_some_and(|(rest, keyword)| {
        rest.trim_start().starts_with(b"()")
            || keyword && (rest.is_empty() || rest.starts_with(b" ") || rest.starts_with(b"{"))
    })
}

/// Names of the git plugin of oh-my-zsh that publish, commit or stage, and what each comes to (facts
/// from its documentation). Its other names only look.
const PLUGIN: &[(&str, &str)] = &[
    ("g", "git"),
    ("ga", "git add"),
    ("gaa", "git add --all"),
    ("gapa", "git add --patch"),
    ("gau", "git add --update"),
    ("gam", "git am"),
    ("gap", "git apply"),
    ("gc", "git commit --verbose"),
    ("gca", "git commit --verbose --all"),
    ("gc!", "git commit --verbose --amend"),
    ("gca!", "git commit --verbose --all --amend"),
    ("gcan!", "git commit --verbose --all --no-edit --amend"),
    ("gcans!", "git commit --verbose --all --signoff --no-edit --amend"),
    ("gcn!", "git commit --verbose --no-edit --amend"),
    ("gcn", "git commit --verbose --no-edit"),
    ("gcam", "git commit --all --message"),
    ("gcas", "git commit --all --signoff"),
    ("gcasm", "git commit --all --signoff --message"),
    ("gcmsg", "git commit --message"),
    ("gcsm", "git commit --signoff --message"),
    ("gcs", "git commit --gpg-sign"),
    ("gcss", "git commit --gpg-sign --signoff"),
    ("gcssm", "git commit --gpg-sign --signoff --message"),
    ("gcp", "git cherry-pick"),
    ("gcb", "git checkout -b"),
    ("gco", "git checkout"),
    ("gm", "git merge"),
    ("gl", "git pull"),
    ("gpr", "git pull --rebase"),
    ("gp", "git push"),
    ("gpd", "git push --dry-run"),
    ("gpf", "git push --force-with-lease --force-if-includes"),
    ("gpf!", "git push --force"),
    ("gpv", "git push --verbose"),
    ("gpu", "git push upstream"),
    ("gpod", "git push origin --delete"),
    ("gpoat", "git push origin --all && git push origin --tags"),
    ("ggpush", "git push origin HEAD"),
    ("ggp", "git push origin HEAD"),
    ("ggf", "git push --force origin HEAD"),
    ("ggfl", "git push --force-with-lease origin HEAD"),
    ("ggpnp", "git pull && git push origin HEAD"),
    ("gpsup", "git push --set-upstream origin HEAD"),
    ("gpsupf", "git push --set-upstream origin HEAD --force-with-lease --force-if-includes"),
    ("gdct", "git describe"),
    ("grb", "git rebase"),
    ("grev", "git revert"),
    ("gwip", "git add -A && git commit --no-verify --no-gpg-sign --message wip"),
    ("gsta", "git stash push"),
    ("gts", "git tag --sign"),
    ("gst", "git status"),
    ("gd", "git diff"),
    ("glog", "git log"),
    ("gb", "git branch"),
    ("gf", "git fetch"),
];
