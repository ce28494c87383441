//! Scripts of `package.json`, as `npm run`, `yarn`, `pnpm` and `bun` run them.

use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use crate::command::shell::builtin::joined_words;
use crate::command::shell::command::Call;
use crate::command::shell::disk::FileText;
use crate::command::shell::state::{Content, Dirs, Shell};
use crate::command::shell::{Ends, Walk};
use crate::command::simple::Value;

/// Scripts of the package itself that an installation runs.
const AT_INSTALL: &[&str] =
    &["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];

/// Scripts that a verb of a client's own runs around what it does.
const AROUND: &[(&str, &[&str])] = &[
    ("version", &["preversion", "version", "postversion"]),
    ("pack", &["prepack", "prepare", "postpack"]),
    ("publish", &["prepublish", "prepublishOnly", "prepack", "prepare", "postpack", "publish", "postpublish"]),
];

/// Verbs of the clients that are not names of scripts.
const OWN_VERBS: &[&str] = &[
    "publish",
    "pack",
    "npm",
    "version",
    "login",
    "logout",
    "whoami",
    "view",
    "info",
    "search",
    "config",
    "list",
    "ls",
    "outdated",
    "audit",
    "init",
    "create",
    "exec",
    "dlx",
    "x",
    "npx",
    "link",
    "unlink",
    "cache",
    "help",
    "set",
    "get",
    "why",
    "owner",
    "tag",
    "dist-tag",
    "deprecate",
    "unpublish",
    "access",
    "team",
    "token",
    "profile",
    "doctor",
    "root",
    "prefix",
    "bin",
    "import",
    "dedupe",
    "prune",
    "pkg",
    "query",
    "explain",
    "fund",
    "node",
    "up",
    "upgrade",
    "upgrade-interactive",
    "workspace",
    "workspaces",
    "global",
    "licenses",
    "policies",
    "plugin",
    "store",
    "env",
    "patch",
    "patch-commit",
    "deploy",
    "build",
    "pm",
    "self-update",
    "generate-lock-entry",
    "autoclean",
    "check",
    "remove",
    "uninstall",
    "rm",
];

impl Walk<'_, '_> {
    /// What a client runs of `package.json`; `None` when this use of it is another one's to know.
    pub(super) fn package_script(&mut self, client: &BStr, call: &Call, shell: &Shell) -> Option<Ends> {
        let request = Request::read(client, call.arguments())?;
        let mut inside = shell.clone();
        if let Some(dir) = request.dir {
            let target = [Value::Known("--".into()), dir.clone()];
            let (entered, _) = self.change_directory(&target, inside).split();
            inside = Shell { dead: shell.dead, ..entered };
        }
        let Some((folder, scripts)) = self.package_scripts(&inside) else {
            if request.installs || !request.around.is_empty() {
                return None;
            }
            self.opaque(format!("{client} run"), shell);
            return Some(self.printing("a script", shell.clone()));
        };
        inside.dirs = Dirs::one(folder.clone());
        let bin = folder.join("node_modules/.bin");
        if bin.is_dir() {
            let mut path = BString::from(bin.as_os_str().as_encoded_bytes());
            if let Some(rest) = inside.env_text(self.world, "PATH") {
                path.push(b':');
                path.extend_from_slice(&rest);
            }
            inside.set(self.world, BStr::new("PATH"), Content::Scalar(Value::Known(path)));
        }
        let mut lines = Vec::new();
        for name in &request.names {
            let Some(name) = name.known() else {
                self.opaque(format!("{client} run of a script that is not known"), shell);
                continue;
            };
            let own = [name.to_str_lossy().into_owned()];
            let around = |prefix: &str| format!("{prefix}{name}");
            if !scripts.contains_key(&own[0]) && client != "npm" {
                // A program that the package has installed.
                let program = Value::Known(name.to_owned());
                let words: Vec<Value> = std::iter::once(&program).chain(&request.arguments).map(quoted).collect();
                lines.push(joined_words(&words));
                continue;
            }
            for script in [around("pre")].iter().chain(&own).chain(&[around("post")]) {
                if let Some(text) = scripts.get(script) {
                    let mut words = vec![Value::Known(BString::from(text.as_str()))];
                    if *script == own[0] {
                        words.extend(request.arguments.iter().map(quoted));
                    }
                    lines.push(joined_words(&words));
                }
            }
        }
        let scripts_around = if request.installs { AT_INSTALL } else { request.around };
        lines.extend(
            scripts_around.iter().filter_map(|name| scripts.get(*name)).map(|text| Value::Known(text.as_str().into())),
        );
        self.run_lines(lines, Some(inside.dirs.clone()), &inside, "a script of package.json");
        if request.installs || !request.around.is_empty() {
            return None;
        }
        self.disk.anything = true;
        Some(self.printing("a script", shell.clone()))
    }

    /// The scripts of the nearest `package.json`, and its folder.
    fn package_scripts(&mut self, shell: &Shell) -> Option<(PathBuf, std::collections::BTreeMap<String, String>)> {
        let here = shell.dirs.single()?;
        for folder in here.ancestors() {
            let text = match self.disk.text(&folder.join("package.json")) {
                FileText::Known(text) => text,
                FileText::Absent => continue,
                FileText::Unknown(_) => return None,
            };
            let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
            let scripts = package.get("scripts").and_then(serde_json::Value::as_object);
            let texts = scripts
                .into_iter()
                .flatten()
                .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())));
            return Some((folder.to_owned(), texts.collect()));
        }
        Some((here.to_owned(), std::collections::BTreeMap::new()))
    }
}

/// What a client was asked to run.
struct Request<'a> {
    names: Vec<Value>,
    arguments: Vec<Value>,
    dir: Option<&'a Value>,
    installs: bool,
    /// Scripts around a verb of the client's own.
    around: &'static [&'static str],
}

impl<'a> Request<'a> {
    fn read(client: &BStr, arguments: &'a [Value]) -> Option<Self> {
        let mut request = Self { names: Vec::new(), arguments: Vec::new(), dir: None, installs: false, around: &[] };
        let mut words: Vec<&Value> = Vec::new();
        let mut rest = arguments;
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            match first.known().map(|word| word.as_bytes()) {
                Some(b"--prefix" | b"-C" | b"--cwd" | b"--dir") => {
                    request.dir = others.first();
                    rest = others.get(1..).unwrap_or_default();
                }
                Some(b"-w" | b"--workspace" | b"--filter" | b"-F" | b"-r" | b"--workspaces" | b"--recursive") => {
                    return None;
                }
                Some(b"--") => {
                    request.arguments = others.to_vec();
                    break;
                }
                Some(option) if option.starts_with(b"-") => {}
                _ => words.push(first),
            }
        }
        let Some((verb, operands)) = words.split_first() else {
            // `yarn` and `bun` alone install or list.
            request.installs = client == "yarn";
            return request.installs.then_some(request);
        };
        let Some(verb_text) = verb.known() else {
            request.names.push((*verb).clone());
            return Some(request);
        };
        match verb_text.as_bytes() {
            b"run" | b"run-script" | b"rum" | b"urn" => {
                let (name, more) = operands.split_first()?;
                request.names.push((*name).clone());
                let more: Vec<Value> = more.iter().map(|word| (*word).clone()).collect();
                request.arguments.splice(0..0, more);
            }
            b"test" | b"t" | b"tst" | b"start" | b"stop" | b"restart" => {
                let name = if matches!(verb_text.as_bytes(), b"t" | b"tst") { BStr::new("test") } else { verb_text };
                request.names.push(Value::Known(name.to_owned()));
            }
            b"install" | b"i" | b"ci" | b"add" | b"clean-install" | b"update" | b"rebuild" | b"in" => {
                request.installs = true
            }
            // Without a word it only tells versions.
            b"version" if operands.is_empty() && client == "npm" => return None,
            other if AROUND.iter().any(|(verb, _)| verb.as_bytes() == other) => {
                let found = AROUND.iter().find(|(verb, _)| verb.as_bytes() == other);
                request.around = found.map_or(&[], |(_, scripts)| scripts);
            }
            other if client == "npm" || OWN_VERBS.iter().any(|own| own.as_bytes() == other) => return None,
            other => {
                request.names.push(Value::Known(other.into()));
                request.arguments.splice(0..0, operands.iter().map(|word| (*word).clone()));
            }
        }
        Some(request)
    }
}

/// An argument as the client appends it to a script.
fn quoted(word: &Value) -> Value {
    match word {
        Value::Known(text) => match text.to_str() {
            Ok(text) => Value::Known(shell_words::quote(text).into_owned().into()),
            Err(_) => crate::command::shell::state::unknown("an argument that is not UTF-8", 0..0),
        },
        Value::Unknown(_) => word.clone(),
    }
}
