//! What some reading commands of git print, so that a line which uses it stays readable.
//!
//! Promise: only questions about where the repository is, what is checked out and what is configured
//! are asked, with fixed words of ours, and only while nothing earlier on the line may have changed
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
    if !is_question(&call.verb, &words) || !meaning.is_as_now() || scene.shell.anything_may_have_changed() {
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
