//! What some reading commands of git print, so that a line which uses it stays readable.
//!
//! Promise: only questions about where the repository is, what is checked out, what is configured and which files
//! differ are asked, with fixed words of ours, and only while nothing earlier on the line may have changed
//! the answer. `git push origin "$(git branch --show-current)"` is then an exact plan.

use bstr::{BStr, ByteSlice};

use super::git::Call;
use super::meaning::{Meaning, Scene};
use super::plan::GitContext;
use super::simple::Value;

/// The output of a call, when it is one of the questions.
pub(super) fn output(meaning: &mut Meaning, scene: &Scene<'_, '_>, call: &Call) -> Option<Vec<u8>> {
    let words: Vec<&BStr> = call.args.iter().map(Value::known).collect::<Option<_>>()?;
    let words: Vec<&str> = words.iter().map(|word| word.to_str().ok()).collect::<Option<_>>()?;
    if !meaning.is_as_now() || scene.shell.anything_may_have_changed() {
        return None;
    }
    if let Some(object) = shown_blob(&call.verb, &words) {
        return blob(scene, call.context.as_ref()?, object);
    }
    if lists_names(&call.verb, &words) {
        return names(meaning, scene, call.context.as_ref()?, &call.verb, &words);
    }
    if !is_question(&call.verb, &words) {
        return None;
    }
    if call.verb == "config" && !meaning.overlay.is_empty() {
        return None;
    }
    let context = call.context.as_ref()?;
    if call.verb != "config" && super::git_globals::find(context).is_none() {
        return None;
    }
    if let ("rev-parse", ["--git-path", path]) = (call.verb.as_str(), words.as_slice())
        && let Some(below) = path.strip_prefix("hooks").filter(|below| below.is_empty() || below.starts_with('/'))
    {
        return hooks(meaning, scene, context, below);
    }
    let asked = std::iter::once(call.verb.as_str()).chain(words);
    let done = scene.shell.world().git(context, asked).run().ok()?;
    Some(done.stdout)
}

/// Names of files that differ, or that are not tracked, as git lists them. Comparing runs clean filters: git-lfs'
/// own is left out, which takes nothing from what differs; with any other the names stay unknown.
fn names(
    meaning: &mut Meaning,
    scene: &Scene<'_, '_>,
    context: &GitContext,
    verb: &str,
    words: &[&str],
) -> Option<Vec<u8>> {
    if !scene.shell.written().is_empty() || meaning.has_staged() || super::git_globals::find(context).is_none() {
        return None;
    }
    let mut asked: Vec<String> = Vec::new();
    for setting in meaning.config(scene, context).iter().filter(|setting| setting.key.starts_with(b"filter.")) {
        let is_program = [&b".clean"[..], b".process"].iter().any(|end| setting.key.ends_with(end));
        let text = setting.value.as_ref().map(|value| value.as_bstr()).unwrap_or_default();
        match setting.key.strip_prefix(b"filter.lfs.") {
            Some(name) if is_program && text.starts_with(b"git-lfs ") => {
                asked.extend(["-c".into(), format!("filter.lfs.{}=", name.to_str_lossy())]);
                asked.extend(["-c".into(), "filter.lfs.required=false".into()]);
            }
            Some(_) | None if is_program && !text.is_empty() => return None,
            Some(_) | None => {}
        }
    }
    asked.push(verb.to_owned());
    asked.extend((verb == "diff").then(|| "--ignore-submodules=dirty".to_owned()));
    asked.extend(words.iter().map(|word| (*word).to_owned()));
    let done = scene.shell.world().git(context, asked).run().ok()?;
    done.status.success().then_some(done.stdout)
}

/// The blob that a command prints as it is: `show REVISION:PATH`, `cat-file blob ID`.
fn shown_blob<'a>(verb: &str, words: &[&'a str]) -> Option<&'a str> {
    match (verb, words) {
        ("show", [object]) if object.contains(':') && is_plain(object) && !object.starts_with(':') => Some(object),
        ("cat-file", ["blob" | "-p", object]) if is_plain(object) => Some(object),
        _ => None,
    }
}

/// A blob that a file of the line takes, where it is small.
fn blob(scene: &Scene<'_, '_>, context: &GitContext, object: &str) -> Option<Vec<u8>> {
    const MAX_BYTES: usize = 256 * 1024;
    if !scene.command.redirections.iter().any(|redirection| redirection.kind.writes()) {
        return None;
    }
    super::git_globals::find(context)?;
    let world = scene.shell.world();
    let ask = |what: &str| world.git(context, ["cat-file", what, object]).with_replacements().stdout().ok();
    if ask("-t")?.trim() != b"blob" {
        return None;
    }
    let size: usize = ask("-s")?.trim().to_str().ok()?.parse().ok()?;
    if size > MAX_BYTES { None } else { ask("blob") }
}

fn lists_names(verb: &str, words: &[&str]) -> bool {
    match verb {
        "diff" => {
            words.contains(&"--name-only")
                && words.iter().all(|word| {
                    matches!(*word, "--name-only" | "--cached" | "--staged" | "--no-renames" | "HEAD")
                        || word
                            .strip_prefix("--diff-filter=")
                            .is_some_and(|kinds| kinds.bytes().all(|kind| kind.is_ascii_alphabetic()))
                })
        }
        "ls-files" => words.iter().all(|word| {
            matches!(
                *word,
                "-m" | "--modified" | "-d" | "--deleted" | "-o" | "--others" | "--exclude-standard" | "-c" | "--cached"
            )
        }),
        _ => false,
    }
}

/// `git rev-parse --git-path hooks/NAME`. Our own calls of git set another folder, so they are not asked.
fn hooks(meaning: &mut Meaning, scene: &Scene<'_, '_>, context: &GitContext, below: &str) -> Option<Vec<u8>> {
    let folder = match meaning.config(scene, context).hooks_path() {
        None => super::git_globals::find(context)?.common_dir().join("hooks"),
        Some(folder) => super::git::top(context).join(folder?),
    };
    Some([folder.as_os_str().as_encoded_bytes(), below.as_bytes(), b"\n"].concat())
}

fn is_question(verb: &str, words: &[&str]) -> bool {
    match (verb, words) {
        ("branch", ["--show-current"]) | ("remote", []) => true,
        ("symbolic-ref", [options @ .., "HEAD"]) => {
            options.iter().all(|option| matches!(*option, "--short" | "-q" | "--quiet"))
        }
        ("remote", ["get-url", name]) => is_plain(name),
        ("rev-parse", ["--git-path", path]) => is_plain(path),
        ("rev-parse", [options @ .., name]) => {
            options.iter().all(|option| {
                matches!(*option, "--abbrev-ref" | "--symbolic-full-name" | "--short" | "--verify" | "-q" | "--quiet")
            }) && (is_asked_of_rev_parse(name) || is_revision(name))
        }
        ("config", ["--get" | "get", name]) | ("config", [name]) => is_plain(name) && !is_ours(name),
        _ => false,
    }
}

fn is_asked_of_rev_parse(name: &str) -> bool {
    matches!(
        name,
        "--show-toplevel"
            | "--show-prefix"
            | "--show-cdup"
            | "--git-dir"
            | "--absolute-git-dir"
            | "--git-common-dir"
            | "--is-inside-work-tree"
            | "--is-bare-repository"
            | "--show-superproject-working-tree"
    )
}

/// A setting that our own calls fix, so that its answer would not be the command's.
fn is_ours(name: &str) -> bool {
    crate::world::git::FIXED_CONFIG
        .iter()
        .any(|setting| setting.split_once('=').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name)))
}

/// A name that cannot be taken for an option.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-')
}

fn is_revision(name: &str) -> bool {
    is_plain(name) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-@{}~^".contains(&byte))
}
