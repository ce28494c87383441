//! Package managers and registry clients: `npm publish`, `cargo publish`, `twine upload`, `docker push` …
//!
//! Promise: a sub-command that sends a package is a publish, with the client and its arguments as
//! written; what it would pack is [`crate::payload`]'s. Release tools, which commit, tag and push on
//! their own, take everything unpublished. Building, installing and testing publish nothing by
//! themselves.

use std::path::Path;

use bstr::{BStr, ByteSlice};

use super::forge::widest_here;
use super::meaning::{Meaning, Scene, arguments, inert};
use super::plan::{CommitVerb, GitContext, PackageRequest, UploadRequest};
use super::programs::{Class, class};
use super::sent_files::named_files;
use super::simple::{Certainty, Code, Effect, Nested, Value};
use crate::text::SafeText;

/// What a sub-command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Nothing of interest.
    Nothing,
    /// Sends a package.
    Packs,
    /// Commits, tags, pushes and publishes by itself.
    Releases,
    /// Commits and tags.
    Commits,
    /// Runs another program, whose words begin at this place.
    Runs(usize),
    /// Nobody knows.
    Anything,
}

/// A package manager or registry client.
pub(super) fn command(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) -> Effect {
    let does = does(name, args);
    match does {
        Does::Nothing => Effect { changes_files: true, ..inert() },
        Does::Packs => {
            pack(meaning, scene, name, args);
            inert()
        }
        Does::Releases => {
            super::bypass::of_environment(scene);
            pack(meaning, scene, name, args);
            widest_here(meaning, scene, "a release tool commits, tags and pushes by itself");
            super::forge::changes_anything(meaning)
        }
        Does::Commits => {
            // The tag that it makes stands for the commit that is planned here.
            commit(meaning, scene, name, args);
            Effect { changes_files: true, ..inert() }
        }
        Does::Runs(at) => run(scene, args.get(at..).unwrap_or_default()),
        Does::Anything => {
            super::bypass::of_opaque(scene);
            scene.opaque(SafeText::quoted(name, 40));
            Effect { changes_files: true, ..inert() }
        }
    }
}

/// A word with its place; `None` for one that is not known.
type Word = (usize, Option<String>);

/// The words that are no options. `cargo +nightly` names a toolchain.
fn words(args: &[Value]) -> Vec<Word> {
    args.iter()
        .enumerate()
        .filter(|(_, value)| !value.known().is_some_and(|word| word.starts_with(b"-") || word.starts_with(b"+")))
        .map(|(at, value)| (at, value.known().map(|word| word.to_str_lossy().into_owned())))
        .collect()
}

/// Options before a verb that no client gives a value.
const PLAIN: &[&str] = &[
    "-s",
    "--silent",
    "-q",
    "--quiet",
    "-d",
    "-dd",
    "-ddd",
    "-v",
    "-vv",
    "-vvv",
    "--verbose",
    "-g",
    "--global",
    "-f",
    "--force",
    "-y",
    "--yes",
    "--json",
    "--offline",
    "--locked",
    "--frozen",
    "--no-cache",
    "--no-color",
    "--no-plugins",
    "--no-interaction",
    "-n",
    "--ansi",
    "--no-ansi",
    "--debug",
    "-D",
    "--tls",
    "-V",
    "--version",
    "-h",
    "--help",
    "-r",
    "--recursive",
    "--workspaces",
    "-ws",
    "--include-workspace-root",
    "--list",
    "--native-tls",
];

/// The words as they count when those before the verb are values of options. Every client has options of its own:
/// behind one that is not known to be plain, a word may be its value or the verb.
fn readings(args: &[Value]) -> Vec<Vec<Word>> {
    let may_be_value = |at: usize| {
        let option = at.checked_sub(1).and_then(|before| args.get(before)?.known());
        option.is_some_and(|word| {
            word.starts_with(b"-") && !word.contains(&b'=') && !PLAIN.iter().any(|plain| word == plain)
        })
    };
    let mut all = vec![words(args)];
    while let Some([(at, _), rest @ ..]) = all.last().map(Vec::as_slice)
        && may_be_value(*at)
    {
        all.push(rest.to_vec());
    }
    all
}

fn has(args: &[Value], option: &str) -> bool {
    args.iter().any(|value| value.known().is_some_and(|word| word == option))
}

/// Of several readings, the one that publishes most.
fn does(name: &BStr, args: &[Value]) -> Does {
    let name = name.to_str().unwrap_or_default();
    let weight = |does: &Does| match does {
        Does::Releases => 5,
        Does::Packs => 4,
        Does::Commits => 3,
        Does::Anything => 2,
        Does::Runs(_) => 1,
        Does::Nothing => 0,
    };
    let found = readings(args).into_iter().map(|words| does_with(name, args, &words));
    found.max_by_key(weight).unwrap_or(Does::Nothing)
}

fn does_with(name: &str, args: &[Value], words: &[Word]) -> Does {
    let verb = |place: usize| words.get(place).map(|(_, word)| word.as_deref().unwrap_or("?")).unwrap_or("");
    let first_at = words.first().map_or(0, |(at, _)| *at);
    if has(args, "--dry-run") && args.iter().all(|value| value.known().is_some()) {
        return Does::Nothing;
    }
    match (name, verb(0), verb(1)) {
        ("npx" | "bunx" | "pnpx" | "uvx", "", _) => Does::Nothing,
        ("npx" | "bunx" | "pnpx" | "uvx", _, _) => Does::Runs(first_at),
        ("pipx", "run", _) => Does::Runs(words.get(1).map_or(args.len(), |(at, _)| *at)),
        ("npm" | "pnpm" | "bun", "exec" | "x" | "dlx", _) => Does::Runs(words.get(1).map_or(args.len(), |(at, _)| *at)),
        ("yarn", "dlx" | "exec", _) => Does::Runs(words.get(1).map_or(args.len(), |(at, _)| *at)),
        ("npm" | "pnpm" | "yarn" | "bun", "publish" | "stage", _) | ("yarn", "npm", "publish") => Does::Packs,
        // npm takes every beginning of a verb that no other has.
        ("npm", word, _) if word.len() > 1 && "publish".starts_with(word) => Does::Packs,
        ("yarn", "workspace" | "workspaces", _) if verb_stands_in(words, "publish") => Does::Packs,
        ("npm" | "pnpm" | "yarn", "version", _) => {
            const STEPS: &[&str] =
                &["--major", "--minor", "--patch", "--premajor", "--preminor", "--prepatch", "--prerelease"];
            if words.len() > 1 || STEPS.iter().any(|step| has(args, step)) { Does::Commits } else { Does::Nothing }
        }
        ("npm" | "pnpm" | "yarn" | "bun", "?", _) => Does::Anything,
        ("npm" | "pnpm" | "yarn" | "bun", _, _) => Does::Nothing,
        ("rustup", "run", _) => Does::Runs(words.get(2).map_or(args.len(), |(at, _)| *at)),
        ("rustup", _, _) => Does::Nothing,
        ("cargo", "publish", _) => Does::Packs,
        ("cargo", "release" | "smart-release" | "workspaces" | "ws" | "release-plz", _) => Does::Releases,
        ("cargo", "?", _) => Does::Anything,
        ("cargo", _, _) => Does::Nothing,
        ("twine", "upload", _) | ("uv" | "poetry" | "pdm" | "hatch" | "flit" | "maturin", "publish" | "upload", _) => {
            Does::Packs
        }
        ("uv", "run", _) | ("poetry" | "pdm", "run", _) => Does::Runs(words.get(1).map_or(args.len(), |(at, _)| *at)),
        ("uv", "tool", "run") => Does::Runs(words.get(2).map_or(args.len(), |(at, _)| *at)),
        ("gem", "push", _) | ("docker" | "podman" | "buildah" | "nerdctl" | "helm" | "oras" | "crane", "push", _) => {
            Does::Packs
        }
        ("docker" | "podman" | "nerdctl", "image" | "manifest" | "compose", "push") => Does::Packs,
        ("docker" | "podman", "build" | "buildx" | "bake", _) if has(args, "--push") => Does::Packs,
        ("docker" | "podman" | "nerdctl", "?", _) => Does::Anything,
        ("skopeo" | "crane" | "oras", "copy" | "sync" | "cp" | "append" | "mutate", _) => Does::Packs,
        ("vsce" | "ovsx", "publish", _) | ("deno" | "jsr", "publish", _) | ("dart" | "flutter", "pub", "publish") => {
            Does::Packs
        }
        ("mvn", _, _)
            if words.iter().any(|(_, word)| {
                word.as_deref().is_none_or(|word| word.contains("deploy") || word.contains("release:"))
            }) =>
        {
            Does::Packs
        }
        ("gradle", _, _)
            if words
                .iter()
                .any(|(_, word)| word.as_deref().is_none_or(|word| word.to_ascii_lowercase().contains("publish"))) =>
        {
            Does::Packs
        }
        ("dotnet", "nuget", "push")
        | ("nuget", "push", _)
        | ("mix", "hex.publish", _)
        | ("rebar3", "hex", "publish") => Does::Packs,
        ("cabal" | "stack" | "conan" | "luarocks", "upload", _) | ("clojars" | "lein", "deploy", _) => Does::Packs,
        ("sbt", word, _) if word.contains("publish") => Does::Packs,
        ("goreleaser", "release" | "publish", _) => {
            if has(args, "--snapshot") {
                Does::Nothing
            } else {
                Does::Releases
            }
        }
        ("np" | "semantic-release" | "release-it" | "gh-pages" | "release-please" | "knope" | "psr", _, _) => {
            Does::Releases
        }
        ("mkdocs", "gh-deploy", _) | ("mike", "deploy" | "alias" | "set-default" | "delete", _) => Does::Releases,
        ("quarto", "publish", _) | ("ghp-import", _, _) => Does::Releases,
        ("standard-version" | "commit-and-tag-version" | "bump2version" | "bumpversion", _, _) => Does::Commits,
        ("bump-my-version" | "cz" | "commitizen", "bump" | "commit" | "c", _) => Does::Commits,
        ("lerna", "publish" | "version", _) | ("nx", "release", _) => Does::Releases,
        ("changeset", "publish" | "tag", _) => Does::Releases,
        ("changeset", "version" | "add", _) if has(args, "--commit") => Does::Commits,
        _ => Does::Nothing,
    }
}

fn verb_stands_in(words: &[Word], verb: &str) -> bool {
    words.iter().any(|(_, word)| word.as_deref() == Some(verb))
}

fn pack(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) {
    super::bypass::of_environment(scene);
    let Some(dir) = scene.dir().map(Path::to_owned) else {
        scene.unknown("a package is published from where nobody can say");
        return;
    };
    let files = args.iter().filter_map(Value::known).flat_map(|word| named_files(scene, word)).collect();
    let texts = args.iter().filter_map(Value::known).map(|word| word.to_owned()).collect();
    let package = PackageRequest {
        client: name.to_str_lossy().into_owned(),
        args: arguments(args),
        state: meaning.files_state(),
    };
    let tool = SafeText::quoted(name, 40);
    let (package, written) = (Some(package), Vec::new());
    let request = UploadRequest { tool, dir, files, texts, written, package, revisions: None, local_only: false };
    meaning.upload(scene, request);
}

fn commit(meaning: &mut Meaning, scene: &mut Scene<'_, '_>, name: &BStr, args: &[Value]) {
    let Some(dir) = scene.dir().map(Path::to_owned) else {
        scene.unknown("a version is committed where nobody can say");
        return;
    };
    let git = GitContext { dir, env: scene.command.env.known(), globals: Vec::new() };
    if super::git_globals::find(&git).is_some() {
        super::bypass::of_environment(scene);
        let verb = CommitVerb::Other(format!("{name} version").into());
        meaning.commit(scene, git, verb, arguments(args));
    }
}

/// `npx TOOL ARGS`: a tool of our tables means what it means by itself, another is opaque.
fn run(scene: &mut Scene<'_, '_>, words: &[Value]) -> Effect {
    let Some(first) = words.first() else { return inert() };
    let tool = first.known().map(|word| {
        let bare = word.strip_prefix(b"@").map_or(word.as_bytes(), |_| word.rsplit_str("/").next().unwrap_or(word));
        let bare = bare.split_str("@").next().unwrap_or(bare);
        bare.as_bstr().to_owned()
    });
    if let Some(tool) = &tool {
        super::tamper::of_hook_manager(scene, tool.as_bstr(), words.get(1..).unwrap_or_default());
    }
    match tool.as_ref().map(|tool| (tool, class(tool.as_bstr()))) {
        Some((_, Class::Inert | Class::Writes | Class::Files)) => Effect { changes_files: true, ..inert() },
        Some((tool, Class::Git | Class::Forge | Class::Package | Class::Vcs | Class::Tyran)) => {
            let mut line = vec![Value::Known(tool.clone())];
            line.extend(words.get(1..).unwrap_or_default().iter().cloned());
            let nested = Nested {
                code: Code::Argv(line),
                dir: None,
                env: Vec::new(),
                certainty: Certainty::Always,
                because: "a runner of packages".into(),
            };
            Effect { run: vec![nested], ..inert() }
        }
        Some((_, Class::Other)) | None => {
            super::bypass::of_opaque(scene);
            let shown = tool.map_or_else(|| "a package that is not known".into(), |tool| SafeText::quoted(&tool, 60));
            scene.opaque(shown);
            Effect { changes_files: true, ..inert() }
        }
    }
}
