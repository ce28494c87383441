//! What stands between `git` and the verb, and which repository it means.
//!
//! Promise: git's own options are read as git reads them (git.c, `handle_options`: no prefixes of
//! names, values in the next word or after `=` only where git takes them), and what is not known of
//! them is said. Nothing is run: the repository is found the way git finds it, by looking.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::plan::GitContext;
use super::simple::{Dir, Env, EnvChange, Seen, SimpleCommand, Value, to_os_string};
use crate::text::SafeText;

/// One setting that the line itself makes, by `-c`, `--config-env` or `GIT_CONFIG_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key as git compares it: section and name in lower case. Empty when not known.
    pub key: BString,
    /// Its value; `None` when not known. A key without `=` is `true`.
    pub value: Option<BString>,
}

/// How git goes on after its own options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// With the verb at this place of the words.
    Verb(usize),
    /// It prints something and ends (`--version`, `--exec-path`, `-h`, no verb at all).
    Prints,
    /// It refuses an option and ends.
    Refuses,
    /// A word that is not known may be an option or the verb.
    Unknown(usize),
}

/// git's own options.
#[derive(Debug)]
pub struct Globals {
    /// As written, one word each, without those that choose programs.
    pub options: Vec<OsString>,
    /// `-c` and `--config-env`, in order.
    pub settings: Vec<Setting>,
    /// A folder that git would take its programs from.
    pub exec_path: Option<Value>,
    /// Why it is not known which repository they mean.
    pub misplaced: Option<SafeText>,
    /// How git goes on.
    pub next: Next,
}

/// Reads git's own options from `words`, of which the first is git itself.
pub fn read(words: &[Value], env: &Env<'_>) -> Globals {
    let mut globals =
        Globals { options: Vec::new(), settings: Vec::new(), exec_path: None, misplaced: None, next: Next::Prints };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = match word {
            Value::Known(text) => text,
            Value::Unknown(value) => {
                if !globals.read_unknown(value.prefix.as_bstr(), &value.why) {
                    globals.next = Next::Unknown(at);
                    return globals;
                }
                at += 1;
                continue;
            }
        };
        if !text.starts_with(b"-") {
            globals.next = Next::Verb(at);
            return globals;
        }
        match kind(text.as_bstr()) {
            Kind::Flag => globals.keep([text]),
            Kind::Prints => return globals,
            Kind::Asks => {
                globals.next = Next::Verb(at);
                return globals;
            }
            Kind::Refused => {
                globals.next = Next::Refuses;
                return globals;
            }
            Kind::Attached => globals.attached(text, env),
            Kind::Detached => {
                at += 1;
                let Some(value) = words.get(at) else {
                    globals.next = Next::Refuses;
                    return globals;
                };
                globals.detached(text, value, env);
            }
        }
        at += 1;
    }
    globals
}

enum Kind {
    Flag,
    Prints,
    /// `--help`, `-h`, `--version`, `-v`: read as the verb of that name.
    Asks,
    Refused,
    Attached,
    Detached,
}

fn kind(word: &BStr) -> Kind {
    let Ok(word) = word.to_str() else { return Kind::Refused };
    match word {
        "-p"
        | "--paginate"
        | "-P"
        | "--no-pager"
        | "--no-lazy-fetch"
        | "--no-replace-objects"
        | "--bare"
        | "--literal-pathspecs"
        | "--no-literal-pathspecs"
        | "--glob-pathspecs"
        | "--noglob-pathspecs"
        | "--icase-pathspecs"
        | "--no-icase-pathspecs"
        | "--no-optional-locks"
        | "--no-advice" => Kind::Flag,
        "--html-path" | "--man-path" | "--info-path" | "--exec-path" => Kind::Prints,
        "-h" | "--help" | "-v" | "--version" => Kind::Asks,
        "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" | "--attr-source"
        | "--super-prefix" | "--shallow-file" => Kind::Detached,
        _ if word.starts_with("--list-cmds=") => Kind::Prints,
        _ if [
            "--git-dir=",
            "--work-tree=",
            "--namespace=",
            "--config-env=",
            "--attr-source=",
            "--exec-path=",
            "--super-prefix=",
        ]
        .iter()
        .any(|option| word.starts_with(option)) =>
        {
            Kind::Attached
        }
        _ => Kind::Refused,
    }
}

impl Globals {
    fn keep<T: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.options.extend(words.into_iter().map(to_os_string));
    }

    fn attached(&mut self, text: &BString, env: &Env<'_>) {
        if let Some(path) = text.strip_prefix(b"--exec-path=") {
            self.exec_path = Some(Value::Known(path.into()));
        } else if let Some(pair) = text.strip_prefix(b"--config-env=") {
            self.config_env(pair.as_bstr(), env);
        } else {
            self.keep([text]);
        }
    }

    fn detached(&mut self, option: &BString, value: &Value, env: &Env<'_>) {
        match (option.as_slice(), value) {
            (b"-c", Value::Known(pair)) => {
                self.settings.push(setting(pair.as_bstr()));
                self.keep([option, pair]);
            }
            (b"-c", Value::Unknown(pair)) => self.unknown_setting(pair.prefix.as_bstr()),
            (b"--config-env", Value::Known(pair)) => self.config_env(pair.as_bstr(), env),
            (_, Value::Known(value)) => self.keep([option, value]),
            (_, Value::Unknown(value)) => self.misplaced = Some(value.why.clone()),
        }
    }

    /// `NAME=VARIABLE`: handed on as the `-c` that it amounts to.
    fn config_env(&mut self, pair: &BStr, env: &Env<'_>) {
        let Some(at) = pair.rfind_byte(b'=') else { return };
        let key = normal_key(pair.get(..at).unwrap_or_default().as_bstr());
        let variable = pair.get(at + 1..).unwrap_or_default();
        match env.var(to_os_string(variable)) {
            Seen::Known(value) => {
                let value = BString::from(value.as_encoded_bytes());
                self.keep([b"-c".to_vec(), [key.as_slice(), b"=", value.as_slice()].concat()]);
                self.settings.push(Setting { key, value: Some(value) });
            }
            Seen::Unset => {}
            Seen::Unknown(_) => self.settings.push(Setting { key, value: None }),
        }
    }

    fn unknown_setting(&mut self, prefix: &BStr) {
        let key = prefix.find_byte(b'=').and_then(|at| prefix.get(..at)).unwrap_or_default();
        self.settings.push(Setting { key: normal_key(key.as_bstr()), value: None });
    }

    /// An unknown word of which the beginning shows that it is one option with an attached value.
    fn read_unknown(&mut self, prefix: &BStr, why: &SafeText) -> bool {
        let is_option = prefix.starts_with(b"--") && prefix.contains(&b'=');
        if is_option {
            match prefix.strip_prefix(b"--config-env=") {
                Some(pair) => self.unknown_setting(pair.as_bstr()),
                None => self.misplaced = Some(why.clone()),
            }
        }
        is_option
    }
}

/// A `key=value` word as git takes it apart.
fn setting(pair: &BStr) -> Setting {
    match pair.find_byte(b'=') {
        Some(at) => Setting {
            key: normal_key(pair.get(..at).unwrap_or_default().as_bstr()),
            value: Some(pair.get(at + 1..).unwrap_or_default().into()),
        },
        None => Setting { key: normal_key(pair), value: Some("true".into()) },
    }
}

/// A key as git compares it: section and last part in lower case, the part between as it is.
pub fn normal_key(key: &BStr) -> BString {
    let (Some(first), Some(last)) = (key.find_byte(b'.'), key.rfind_byte(b'.')) else {
        return key.to_ascii_lowercase().into();
    };
    let mut normal = key.get(..first).unwrap_or_default().to_ascii_lowercase();
    normal.extend_from_slice(key.get(first..last).unwrap_or_default());
    normal.extend(key.get(last..).unwrap_or_default().to_ascii_lowercase());
    normal.into()
}

/// Settings that the environment carries (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`), as far as
/// this line makes them.
pub fn settings_of_environment(env: &Env<'_>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (name, change) in env.changes() {
        let name = name.as_encoded_bytes();
        if name == b"GIT_CONFIG_PARAMETERS" {
            match change {
                EnvChange::Set(value) => settings.extend(parameters(value)),
                EnvChange::Unset => {}
                EnvChange::Unknown(_) => settings.push(Setting { key: BString::default(), value: None }),
            }
        } else if let Some(number) = name.strip_prefix(b"GIT_CONFIG_KEY_") {
            let value = env.var(to_os_string([b"GIT_CONFIG_VALUE_".as_slice(), number].concat()));
            let value = match value {
                Seen::Known(value) => Some(BString::from(value.as_encoded_bytes())),
                Seen::Unset => Some(BString::default()),
                Seen::Unknown(_) => None,
            };
            let key = match change {
                EnvChange::Set(key) => normal_key(key.as_encoded_bytes().as_bstr()),
                EnvChange::Unset => continue,
                EnvChange::Unknown(_) => BString::default(),
            };
            settings.push(Setting { key, value });
        }
    }
    settings
}

/// `'key'='value'` pairs, or the older `'key=value'`, as git quotes them for its children.
fn parameters(text: &OsStr) -> Vec<Setting> {
    let text = text.to_string_lossy();
    shell_words::split(&text)
        .map(|words| words.iter().map(|word| setting(word.as_bytes().as_bstr())).collect())
        .unwrap_or_else(|_| vec![Setting { key: BString::default(), value: None }])
}

/// Where a git command finds its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The git directory, of this work tree.
    pub git_dir: PathBuf,
    /// The top of the work tree; `None` for a bare one.
    pub top: Option<PathBuf>,
}

impl Place {
    /// The directory that linked work trees share.
    pub fn common_dir(&self) -> PathBuf {
        match std::fs::read_to_string(self.git_dir.join("commondir")) {
            Ok(text) => self.git_dir.join(text.trim_end_matches('\n')),
            Err(_) => self.git_dir.clone(),
        }
    }
}

/// The directory after every `-C`.
pub fn directory(dir: &Path, options: &[OsString]) -> PathBuf {
    let mut dir = dir.to_owned();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.to_str() {
            Some("-C") => dir.push(options.next().map_or(Path::new(""), Path::new)),
            Some("-c" | "--git-dir" | "--work-tree" | "--namespace" | "--attr-source") => drop(options.next()),
            _ => {}
        }
    }
    dir
}

/// Finds the repository as git would: by option, by variable, or upwards from the directory.
/// `None` when there is none now.
pub fn find(context: &GitContext) -> Option<Place> {
    let dir = directory(&context.dir, &context.globals);
    let variable = |name: &str| context.env.get(OsStr::new(name)).filter(|value| !value.is_empty());
    let chosen = option_value(&context.globals, "--git-dir").or_else(|| variable("GIT_DIR").cloned());
    let work_tree = option_value(&context.globals, "--work-tree").or_else(|| variable("GIT_WORK_TREE").cloned());
    let bare = context.globals.iter().any(|option| option == "--bare");
    let mut place = match chosen {
        Some(git_dir) => {
            let git_dir = follow(dir.join(git_dir))?;
            is_git_dir(&git_dir).then(|| Place { git_dir, top: (!bare).then(|| dir.clone()) })?
        }
        None => place_above(&dir)?,
    };
    if let Some(top) = work_tree {
        place.top = Some(dir.join(top));
    }
    Some(place)
}

/// The value of the last `--name VALUE` or `--name=VALUE`.
fn option_value(options: &[OsString], name: &str) -> Option<OsString> {
    let attached = format!("{name}=");
    let mut found = None;
    for (at, option) in options.iter().enumerate() {
        if option == name {
            found = options.get(at + 1).cloned();
        } else if let Some(value) = option.as_encoded_bytes().strip_prefix(attached.as_bytes()) {
            found = Some(to_os_string(value));
        }
    }
    found
}

thread_local! {
    /// Repositories by the directory that they were looked for from, while a line is read.
    static PLACES: RefCell<Option<HashMap<PathBuf, Option<Place>>>> = const { RefCell::new(None) };
}

/// Looks for repositories from each directory once while `read` runs: reading a line changes none.
pub(super) fn looking_once<T>(read: impl FnOnce() -> T) -> T {
    struct Forgets;
    impl Drop for Forgets {
        fn drop(&mut self) {
            PLACES.set(None);
        }
    }
    PLACES.set(Some(HashMap::new()));
    let _forgets = Forgets;
    read()
}

fn place_above(dir: &Path) -> Option<Place> {
    let known = PLACES.with_borrow(|places| places.as_ref().and_then(|places| places.get(dir).cloned()));
    if let Some(known) = known {
        return known;
    }
    let found = dir.ancestors().find_map(place_at);
    PLACES.with_borrow_mut(|places| {
        if let Some(places) = places {
            places.insert(dir.to_owned(), found.clone());
        }
    });
    found
}

fn place_at(dir: &Path) -> Option<Place> {
    if let Some(inside) = follow(dir.join(".git")).filter(|inside| is_git_dir(inside)) {
        return Some(Place { git_dir: inside, top: Some(dir.to_owned()) });
    }
    is_git_dir(dir).then(|| Place { git_dir: dir.to_owned(), top: None })
}

/// The directory at a path: a `.git` file names the one that it stands for. `None` where nothing is.
fn follow(path: PathBuf) -> Option<PathBuf> {
    if !path.metadata().ok()?.is_file() {
        return Some(path);
    }
    let text = std::fs::read(&path).ok()?;
    let target = text.strip_prefix(b"gitdir: ")?;
    let target = target.trim_end_with(|character| matches!(character, '\n' | '\r'));
    Some(path.parent().unwrap_or(Path::new("/")).join(to_os_string(target)))
}

fn is_git_dir(path: &Path) -> bool {
    let has_head = path.join("HEAD").symlink_metadata().is_ok();
    has_head && (path.join("objects").is_dir() && path.join("refs").is_dir() || path.join("commondir").is_file())
}

/// The context of a command in a known directory.
pub fn context(command: &SimpleCommand<'_>, globals: &Globals) -> Option<GitContext> {
    let Dir::Known(dir) = &command.dir else { return None };
    Some(GitContext { dir: dir.clone(), env: command.env.known(), globals: globals.options.clone() })
}

/// What the children of git see differently because of its own options: variables, as git exports
/// them (environment.c, `local_repo_env`; config.c, `git_config_push_parameter`).
pub fn exported(globals: &Globals, dir: &Path, env: &Env<'_>) -> Vec<(OsString, EnvChange)> {
    let mut changes = Vec::new();
    let base = directory(dir, &globals.options);
    for (option, variable) in [("--git-dir", "GIT_DIR"), ("--work-tree", "GIT_WORK_TREE")] {
        if let Some(value) = option_value(&globals.options, option) {
            changes.push((variable.into(), EnvChange::Set(base.join(value).into_os_string())));
        }
    }
    if let Some(value) = option_value(&globals.options, "--namespace") {
        changes.push(("GIT_NAMESPACE".into(), EnvChange::Set(value)));
    }
    if !globals.settings.is_empty() {
        changes.push(("GIT_CONFIG_PARAMETERS".into(), exported_settings(globals, env)));
    }
    changes
}

fn exported_settings(globals: &Globals, env: &Env<'_>) -> EnvChange {
    let mut text = match env.var("GIT_CONFIG_PARAMETERS") {
        Seen::Known(value) => value.to_string_lossy().into_owned(),
        Seen::Unset => String::new(),
        Seen::Unknown(why) => return EnvChange::Unknown(why.clone()),
    };
    for setting in &globals.settings {
        let Some(value) = &setting.value else {
            return EnvChange::Unknown("a setting whose value is not known".into());
        };
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&format!("{}={}", quoted(setting.key.as_bstr()), quoted(value.as_bstr())));
    }
    EnvChange::Set(text.into())
}

fn quoted(text: &BStr) -> String {
    format!("'{}'", text.to_str_lossy().replace('\'', "'\\''"))
}
