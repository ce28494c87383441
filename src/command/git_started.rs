//! The programs that git starts by itself: hooks, and what settings and variables name.
//!
//! Promise: code that a git command would run because of the line, the environment or the
//! repository's configuration is handed to the walk, once per place. Programs that the user's own
//! configuration names and that are known to be harmless (an editor, a pager, ssh, gpg) are not.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::git::{Call, nested, top};
use super::git_config::{Config, Does, Scope, VARIABLES, runs};
use super::git_globals;
use super::git_table::{HOOKS_OF_CHANGES, READS, does, hooks};
use super::meaning::{Meaning, Scene};
use super::plan::{Content, WrittenFile};
use super::programs::{Class, class};
use super::shell::lookup::is_of_system;
use super::simple::{Certainty, Code, Dir, EnvChange, FileSeen, Nested, UnknownValue, Value};
use crate::net::names;
use crate::net::place::{Own, expected_script};
use crate::text::SafeText;

/// Everything that a verb may start.
pub(super) fn programs(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Vec<Nested> {
    let doing = does(&call.verb);
    let mut found = Found { nested: Vec::new() };
    of_line(scene, call, doing, &mut found);
    of_variables(scene, call, doing, &mut found);
    by_name(scene, call, doing, &mut found);
    of_options(scene, call, &mut found);
    let starts_more = doing.iter().any(|does| *does != Does::Edits)
        || !hooks(&call.verb).is_empty()
        || !hooks_of_changes(&call.verb).is_empty();
    if let Some(context) = call.context.as_ref().filter(|_| starts_more) {
        let config = meaning.config(scene, context);
        for setting in config.iter().filter(|setting| setting.scope == Scope::Line) {
            let Some(does) = runs(setting.key.as_bstr()) else { continue };
            if doing.contains(&does) {
                found.setting(scene, call, setting.key.as_bstr(), setting.value.as_ref());
            }
        }
        of_hooks(scene, call, &config, &mut found);
        if doing.contains(&Does::Connects) {
            of_remotes(scene, call, &config, &mut found);
        }
    }
    for nested in &found.nested {
        if let Some(text) = of_editor(nested) {
            meaning.types(scene, text);
        }
    }
    found.nested.retain(|nested| meaning.is_new(nested));
    found.nested
}

/// The text of code that edits a message or a list.
fn of_editor(nested: &Nested) -> Option<&BStr> {
    let name = nested.because.as_str();
    let edits = |does: Does| matches!(does, Does::Edits | Does::Sequences);
    let is_editor = VARIABLES.iter().any(|(known, does)| *known == name && edits(*does))
        || runs(BStr::new(name)).is_some_and(edits);
    match &nested.code {
        Code::Shell { args, .. } if is_editor => args.first()?.known(),
        Code::Shell { .. } | Code::Argv(_) => None,
    }
}

/// What shows a manual page: viewers and browsers that the line, the environment or the repository names.
pub(super) fn viewers(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, call: &Call) -> Vec<Nested> {
    let is_page =
        call.verb.ends_with("help") || call.args.first().and_then(Value::known).is_some_and(|word| word == "--help");
    let mut found = Found { nested: Vec::new() };
    if !is_page {
        return found.nested;
    }
    let mut settings: Vec<(BString, Option<BString>)> =
        call.settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect();
    if let Some(context) = &call.context {
        let config = meaning.config(scene, context);
        let of_line = config.iter().filter(|setting| setting.scope == Scope::Line);
        settings.extend(of_line.map(|setting| (setting.key.clone(), setting.value.clone())));
    }
    for (key, value) in settings {
        let is_viewer = key.starts_with(b"man.") || key.starts_with(b"browser.") || key.starts_with(b"pager.");
        let names_program = key.ends_with(b".cmd") || key.ends_with(b".path") || key.starts_with(b"pager.");
        if is_viewer && names_program || key == "core.pager" {
            found.setting(scene, call, key.as_bstr(), value.as_ref());
        }
    }
    for name in ["MANPAGER", "PAGER", "GIT_PAGER", "BROWSER"] {
        match scene.command.env.changes().get(std::ffi::OsStr::new(name)) {
            Some(EnvChange::Set(value)) => {
                found.text(scene, call, &BString::from(value.as_encoded_bytes()), name);
            }
            Some(EnvChange::Unknown(why)) => found.unknown(scene, call, why.clone(), name),
            Some(EnvChange::Unset) | None => {}
        }
    }
    found.nested.retain(|nested| meaning.is_new(nested));
    found.nested
}

/// Whether hooks of a verb can change what it is about to commit.
pub(super) fn runs_commit_hooks(verb: &str) -> bool {
    hooks(verb).iter().any(|name| {
        matches!(*name, "pre-commit" | "pre-merge-commit" | "pre-applypatch") || MESSAGE_HOOKS.contains(name)
    })
}

/// Whether the code lies in a file that the verb itself does not change: outside of the work tree, or in the git
/// directory.
pub(super) fn stays(nested: &Nested, call: &Call) -> bool {
    let Code::Argv(words) = &nested.code else { return false };
    let Some(file) = words.first().and_then(Value::known) else { return false };
    let Some(place) = call.context.as_ref().and_then(git_globals::find) else { return false };
    let file = Path::new(std::ffi::OsStr::from_bytes(file));
    let is_inside = |folder: &Path| file.starts_with(folder);
    is_inside(&place.git_dir) || is_inside(&place.common_dir()) || !place.top.as_deref().is_some_and(is_inside)
}

/// Whether one of the words of the code is a file that is there now.
pub(super) fn names_a_file(nested: &Nested, call: &Call) -> bool {
    let words: Vec<&BStr> = match &nested.code {
        Code::Argv(words) => words.iter().filter_map(Value::known).collect(),
        Code::Shell { text: Value::Known(text), .. } => text.fields().map(BStr::new).collect(),
        Code::Shell { text: Value::Unknown(_), .. } => Vec::new(),
    };
    let dir = nested.dir.as_ref().and_then(Dir::known).map(Path::to_owned);
    let Some(dir) = dir.or_else(|| call.context.as_ref().map(|context| context.dir.clone())) else { return false };
    let path = |word: &BStr| dir.join(std::ffi::OsStr::from_bytes(word.trim_with(|one| one == '"' || one == '\'')));
    words.into_iter().any(|word| path(word).is_file())
}

/// Hooks that are given the file of a message, which they may write (githooks(5)).
const MESSAGE_HOOKS: &[&str] = &["prepare-commit-msg", "commit-msg", "applypatch-msg"];

/// That file, below the git directory, as git 2.47 gives it to hooks of this verb.
pub(super) fn message_file(verb: &str) -> &'static str {
    match verb {
        "merge" | "pull" => "MERGE_MSG",
        "am" => "rebase-apply/final-commit",
        _ => "COMMIT_EDITMSG",
    }
}

/// Hooks that a verb runs because it changes the index or refs; of those that only read, some refresh the
/// index or pack refs.
fn hooks_of_changes(verb: &str) -> &'static [&'static str] {
    match verb {
        "status" | "diff" | "describe" => &["post-index-change"],
        "gc" | "pack-refs" | "maintenance" => &["reference-transaction"],
        _ if READS.split_ascii_whitespace().any(|known| known == verb) => &[],
        _ => HOOKS_OF_CHANGES,
    }
}

/// The command of an `ext::` address as a line of shell: blanks part words, and `%` keeps what follows it
/// (git-remote-ext(1)).
fn ext_command(address: &[u8]) -> BString {
    let mut words: Vec<BString> = vec![BString::default()];
    let mut bytes = address.iter();
    while let Some(byte) = bytes.next() {
        let last = words.last_mut();
        match (byte, last) {
            (b' ', _) => words.push(BString::default()),
            (b'%', Some(last)) => last.extend(bytes.next()),
            (byte, Some(last)) => last.push(*byte),
            (_, None) => {}
        }
    }
    let quoted: Vec<Vec<u8>> = words.iter().map(|word| crate::text::shell_word(word)).collect();
    bstr::join(" ", quoted).into()
}

/// The program for the other side, which git runs here when that side is a folder, and addresses that are
/// programs (`ext::`, gitremote-helpers(7)).
fn of_options(scene: &Scene<'_, '_>, call: &Call, found: &mut Found) {
    const NAMED: &[(&str, &str)] = &[("--upload-pack", "--upl"), ("--exec", "--exe"), ("--receive-pack", "--rec")];
    if !does(&call.verb).contains(&Does::Connects) {
        return;
    }
    let mut args = call.args.iter().peekable();
    while let Some(arg) = args.next() {
        let Some(word) = arg.known() else { continue };
        if let Some(address) = word.strip_prefix(b"ext::") {
            found.text(scene, call, &ext_command(address), "an ext:: address");
            continue;
        }
        if let Some(helper) = remote_helper(word) {
            found.helper(scene, call, helper, word);
            continue;
        }
        let (name, attached) = match word.split_once_str(b"=") {
            Some((name, value)) => (name, Some(Value::Known(value.into()))),
            None => (word.as_bytes(), None),
        };
        let is_long = NAMED.iter().any(|(long, least)| long.as_bytes().starts_with(name) && name.len() >= least.len());
        let is_short = call.verb == "clone" && name == b"-u";
        if !is_long && !is_short {
            continue;
        }
        match attached.or_else(|| args.peek().map(|value| (*value).clone())) {
            Some(Value::Known(text)) => found.text(scene, call, &text, "the program of the other side"),
            Some(Value::Unknown(value)) => found.unknown(scene, call, value.why, "the program of the other side"),
            None => {}
        }
    }
}

/// The program that git starts for an address: `NAME::…`, or `NAME://…` of a kind that it does not speak itself
/// (gitremote-helpers(7)).
fn remote_helper(address: &BStr) -> Option<&BStr> {
    let end = address.find_byte(b':')?;
    let (name, rest) = address.split_at(end);
    let is_name = name.first().is_some_and(u8::is_ascii_alphanumeric)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte));
    let is_known = matches!(
        name,
        b"ext" | b"fd" | b"http" | b"https" | b"ftp" | b"ftps" | b"file" | b"git" | b"ssh" | b"git+ssh" | b"ssh+git"
    );
    let is_asked = rest.starts_with(b"::") || rest.starts_with(b"://");
    (is_name && !is_known && is_asked).then(|| name.as_bstr())
}

/// Addresses of the repository's remotes that are spoken to by programs of their own.
fn of_remotes(scene: &Scene<'_, '_>, call: &Call, config: &Config, found: &mut Found) {
    for setting in config.iter() {
        let key = setting.key.as_bstr();
        let Some(value) = setting.value.as_ref() else { continue };
        if key.starts_with(b"remote.") && (key.ends_with(b".url") || key.ends_with(b".pushurl")) {
            match value.strip_prefix(b"ext::") {
                Some(address) => found.text(scene, call, &ext_command(address), "an ext:: address"),
                None => {
                    if let Some(helper) = remote_helper(value.as_bstr()) {
                        found.helper(scene, call, helper, value.as_bstr());
                    }
                }
            }
        } else if key.starts_with(b"remote.") && key.ends_with(b".vcs") {
            found.helper(scene, call, value.as_bstr(), value.as_bstr());
        } else if let Some(base) =
            key.strip_prefix(b"url.").filter(|_| key.to_ascii_lowercase().ends_with(b"insteadof"))
            && let Some(helper) = remote_helper(base.as_bstr())
        {
            found.helper(scene, call, helper, base.as_bstr());
        }
    }
}

/// Programs that git starts by their own names, where PATH finds others than the system's.
fn by_name(scene: &Scene<'_, '_>, call: &Call, doing: &[Does], found: &mut Found) {
    const NAMES: &[(&str, Does)] = &[
        ("ssh", Does::Connects),
        ("git-lfs", Does::Filters),
        ("gpg", Does::Signs),
        ("ssh-keygen", Does::Signs),
        ("editor", Does::Edits),
        ("vi", Does::Edits),
    ];
    for (name, _) in NAMES.iter().filter(|(_, does)| doing.contains(does)) {
        let is_another = |path: &Path| !is_of_system(path);
        if scene.shell.world().on_path(std::ffi::OsStr::new(name)).is_some_and(|path| is_another(&path)) {
            found.text(scene, call, &BString::from(*name), "a program that git starts by its name");
        }
    }
}

struct Found {
    nested: Vec<Nested>,
}

/// Settings of the line itself: pagers as well, since the line may be typed at a terminal.
fn of_line(scene: &Scene<'_, '_>, call: &Call, doing: &[Does], found: &mut Found) {
    for setting in &call.settings {
        let key = setting.key.as_bstr();
        let is_pager = key == "core.pager" || key.starts_with(b"pager.");
        if is_pager || runs(key).is_some_and(|does| doing.contains(&does)) {
            found.setting(scene, call, key, setting.value.as_ref());
        }
    }
}

fn of_variables(scene: &Scene<'_, '_>, call: &Call, doing: &[Does], found: &mut Found) {
    // The line may be typed at a terminal, where git shows what it prints through these.
    for name in ["GIT_PAGER", "PAGER"] {
        match scene.command.env.changes().get(std::ffi::OsStr::new(name)) {
            Some(EnvChange::Set(value)) => {
                found.text(scene, call, &BString::from(value.as_encoded_bytes()), name);
            }
            Some(EnvChange::Unknown(why)) => found.unknown(scene, call, why.clone(), name),
            Some(EnvChange::Unset) | None => {}
        }
    }
    for (name, does) in VARIABLES {
        if !doing.contains(does) {
            continue;
        }
        match scene.command.env.changes().get(std::ffi::OsStr::new(name)) {
            Some(EnvChange::Set(value)) => {
                found.text(scene, call, &BString::from(value.as_encoded_bytes()), name);
            }
            Some(EnvChange::Unknown(why)) => found.unknown(scene, call, why.clone(), name),
            Some(EnvChange::Unset) => {}
            None => {
                if let Some(value) = scene.shell.world().var(name) {
                    found.text(scene, call, &BString::from(value.as_encoded_bytes()), name);
                }
            }
        }
    }
}

impl Found {
    fn setting(&mut self, scene: &Scene<'_, '_>, call: &Call, key: &BStr, value: Option<&BString>) {
        let because = key.to_str_lossy();
        let Some(value) = value else {
            return self.unknown(scene, call, "a setting that names a program".into(), &because);
        };
        if is_boolean(value.as_bstr()) {
            return;
        }
        if key == "credential.helper" || (key.starts_with(b"credential.") && key.ends_with(b".helper")) {
            // Only `!…` and paths are programs of their own; a name stands for `git credential-NAME`.
            match value.strip_prefix(b"!") {
                Some(text) => self.text(scene, call, &text.into(), &because),
                None if value.starts_with(b"/") => self.text(scene, call, value, &because),
                None => {}
            }
            return;
        }
        self.text(scene, call, value, &because);
    }

    fn text(&mut self, scene: &Scene<'_, '_>, call: &Call, value: &BString, because: &str) {
        if value.trim().is_empty() || is_harmless(scene, value.as_bstr()) {
            return;
        }
        let text = [value.as_slice(), b" \"$@\""].concat();
        let rest = Value::Unknown(UnknownValue {
            between: BString::default(),
            why: "what git gives the program".into(),
            span: scene.command.span.clone(),
            prefix: BString::default(),
            suffix: BString::default(),
            many: true,
        });
        let code = Code::Shell { text: Value::Known(text.into()), args: vec![Value::Known(value.clone()), rest] };
        self.add(scene, call, code, because);
    }

    fn unknown(&mut self, scene: &Scene<'_, '_>, call: &Call, why: SafeText, because: &str) {
        let text = Value::Unknown(UnknownValue {
            between: BString::default(),
            why,
            span: scene.command.span.clone(),
            prefix: BString::default(),
            suffix: BString::default(),
            many: false,
        });
        self.add(scene, call, Code::Shell { text, args: Vec::new() }, because);
    }

    fn helper(&mut self, scene: &Scene<'_, '_>, call: &Call, name: &BStr, address: &BStr) {
        let program = [b"git-remote-", name.as_bytes()].concat();
        let words = vec![Value::Known(program.into()), Value::Known(address.to_owned())];
        self.add(scene, call, Code::Argv(words), "the program for an address");
    }

    /// `message`: the file that the hook is given, where it is one that reads a commit's message.
    fn hook(&mut self, scene: &Scene<'_, '_>, call: &Call, name: &str, hook: &Path, (top, message): (&Path, &Path)) {
        let rest = Value::Unknown(UnknownValue {
            between: BString::default(),
            why: "what git gives the hook".into(),
            span: scene.command.span.clone(),
            prefix: BString::default(),
            suffix: BString::default(),
            many: true,
        });
        let word = |path: &Path| Value::Known(BString::from(path.as_os_str().as_encoded_bytes()));
        let mut words = vec![word(hook)];
        words.extend(MESSAGE_HOOKS.contains(&name).then(|| word(message)));
        words.extend((name == "prepare-commit-msg" || !MESSAGE_HOOKS.contains(&name)).then_some(rest));
        let because = SafeText::quoted(format!("the hook {name}").as_bytes(), 60);
        let dir = Some(top.to_owned());
        self.nested.push(nested(scene, call, Code::Argv(words), dir, Certainty::Always, because));
    }

    fn add(&mut self, scene: &Scene<'_, '_>, call: &Call, code: Code, because: &str) {
        let dir = call.context.as_ref().map(top);
        let because = SafeText::quoted(because.as_bytes(), 60);
        self.nested.push(nested(scene, call, code, dir, Certainty::Maybe, because));
    }
}

fn is_boolean(value: &BStr) -> bool {
    let lower = value.to_ascii_lowercase();
    matches!(lower.as_slice(), b"true" | b"false" | b"yes" | b"no" | b"on" | b"off" | b"1" | b"0" | b"")
}

/// A plain call of a program that only edits, shows, signs or connects: the system's own of that name.
fn is_harmless(scene: &Scene<'_, '_>, text: &BStr) -> bool {
    const SPECIAL: &[u8] = b";&|<>()$`\\\n*?[#~!{";
    if text.iter().any(|byte| SPECIAL.contains(byte)) {
        return false;
    }
    let Some(first) = text.fields().next() else { return true };
    let name = first.rsplit_str("/").next().unwrap_or(first);
    let os = std::ffi::OsStr::from_bytes(first);
    let is_another = match first.contains(&b'/') {
        true => !is_of_system(Path::new(os)),
        false => scene.shell.world().on_path(os).is_some_and(|path| !is_of_system(&path)),
    };
    if is_another {
        return false;
    }
    if matches!(
        name,
        b"ssh" | b"plink" | b"tortoiseplink" | b"git-lfs" | b"git-crypt" | b"nbstripout" | b"git-credential-manager"
    ) {
        return !text.fields().any(|word| word == b"push" || word.contains_str("ProxyCommand"));
    }
    let with_options = text.fields().skip(1).any(|word| word.starts_with(b"-c") || word.starts_with(b"+"));
    class(name.as_bstr()) == Class::Inert && !with_options
}

/// Hooks that exist, or that the line writes. Behind a script of the net's the repository's own counts.
fn of_hooks(scene: &Scene<'_, '_>, call: &Call, config: &Config, found: &mut Found) {
    let Some(context) = &call.context else { return };
    let Some(place) = git_globals::find(context) else { return };
    let top = top(context);
    let usual = place.common_dir().join("hooks");
    let folder_of = |setting: Option<Option<PathBuf>>| match setting {
        None => Some(usual.clone()),
        Some(path) => Some(top.join(expand_home(&path?, scene))),
    };
    let (Some(folder), Some(behind)) = (folder_of(config.hooks_path()), folder_of(config.path("tyran.hookspath")))
    else {
        return found.unknown(scene, call, "the hooks path is not known".into(), "core.hooksPath");
    };
    let own = Own::of_process().ok();
    let message = place.git_dir.join(message_file(&call.verb));
    let changing = hooks_of_changes(&call.verb);
    for name in named_hooks(call)
        .iter()
        .map(String::as_str)
        .chain(hooks(&call.verb).iter().copied())
        .chain(changing.iter().copied())
    {
        let hook = folder.join(name);
        let is_net = own.as_ref().is_some_and(|own| is_of_net(&hook, name, own));
        // A script of the net's goes on to the repository's own. Where the line may have changed files, both count.
        let stays = !is_net || !matches!(scene.shell.file(&hook), FileSeen::AsOnDisk);
        let hooks = stays.then(|| hook.clone()).into_iter().chain(is_net.then(|| behind.join(name)));
        for hook in hooks.filter(|hook| is_there(hook, scene)) {
            found.hook(scene, call, name, &hook, (&top, &message));
        }
    }
}

/// Whether a hook is, byte for byte, what `tyran install git` wrote: it scans what git is about to do,
/// and goes on to the repository's own hook. So will one that the net places once it is needed.
fn is_of_net(hook: &Path, name: &str, own: &Own) -> bool {
    let Some(role) = names::role(name) else { return false };
    if names::AT_EVERY_CHANGE.contains(&name) && hook.parent() == Some(&own.folder) && !hook.exists() {
        return true;
    }
    std::fs::read(hook).is_ok_and(|script| script == expected_script(name, role, &own.program, &own.folder))
}

/// `git hook run NAME`.
fn named_hooks(call: &Call) -> Vec<String> {
    let words: Vec<_> = call.args.iter().filter_map(Value::known).collect();
    match words.as_slice() {
        [run, rest @ ..] if call.verb == "hook" && *run == "run" => rest
            .iter()
            .filter(|word| !word.starts_with(b"-"))
            .take(1)
            .map(|word| word.to_str_lossy().into_owned())
            .collect(),
        _ => Vec::new(),
    }
}

/// A hook that git would find when the command runs. What may have changed any file makes no hook.
fn is_there(hook: &Path, scene: &Scene<'_, '_>) -> bool {
    match scene.shell.file(hook) {
        FileSeen::AsOnDisk => is_executable(hook),
        FileSeen::Written(_) => true,
        FileSeen::Changed(_) => {
            is_executable(hook) || scene.shell.written().iter().any(|file| file.path == hook && makes_it(file))
        }
    }
}

/// Whether the line may leave a file with known bytes there.
fn makes_it(file: &WrittenFile) -> bool {
    file.contents.iter().any(|content| {
        matches!(content, Content::Bytes(_) | Content::Appended(_) | Content::CopyOf(_) | Content::MadeOf { .. })
    })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// `~/` in a path-valued setting is the home directory of the judged command.
fn expand_home(path: &Path, scene: &Scene<'_, '_>) -> PathBuf {
    match (path.strip_prefix("~"), scene.command.env.var("HOME")) {
        (Ok(rest), super::simple::Seen::Known(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}
