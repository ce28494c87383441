//! Commands that stand among another program's words: `hyperfine 'git push'`, `docker exec c git push`.
//!
//! Promise: a program that publishes nothing by itself but may run what it is given is looked through:
//! a word that is git or a forge's client, or a text that calls one, is walked as if it were run. A
//! program for which words are only data (`echo`, `grep`) is not. What comes of it is a wider scan,
//! never a refusal by itself. Task runners are opaque when a task's name speaks of a release.

use bstr::{BStr, BString, ByteSlice};

use super::meaning::Scene;
use super::programs::{Class, Names, class};
use super::simple::{Certainty, Code, Nested, Value};

static DATA: Names = Names::new(DATA_NAMES);

static TASKS: Names = Names::new(TASK_NAMES);

/// Programs that do nothing with their words but print, find, compare or store them.
const DATA_NAMES: &str = "
    ls cat head tail wc uniq cut tr paste join comm column fold fmt nl tac rev expand unexpand pr cp mv rm ln
    grep egrep fgrep rg ag ack ugrep zgrep diff diff3 sdiff cmp colordiff file stat du df tree eza exa lsd locate
    which whereis whatis apropos info tldr realpath readlink basename dirname mktemp date cal sleep seq
    expr test [ : true false yes echo printf logger wall write mesg notify-send osascript say figlet cowsay lolcat
    ps pgrep pidof pkill killall kill lsof jq yq fx gron xmllint mlr dasel md5sum sha1sum sha256sum xxd hexdump od
    strings base64 base32 nm objdump readelf size cloc tokei curl wget http xh tput touch mkdir ping dig nslookup host
    pbcopy xclip xsel wl-copy open xdg-open gitleaks trufflehog semgrep aspell codespell typos pandoc convert
    npm pnpm yarn apt apt-get apt-cache aptitude brew dnf yum apk pacman zypper port snap flatpak pip pip3 conda mamba
    micromamba dpkg dpkg-query rpm choco winget";

/// Programs that run tasks which a project defines.
const TASK_NAMES: &str = "
    tox nox invoke inv fab gradle gradlew mvn bazel nx turbo lerna moon act ansible ansible-playbook pre-commit lefthook sbt
    ant mage waf scons buck buck2 pants terraform tofu cargo go dotnet mix lein rebar3 composer bundle meson ninja cmake
    earthly dagger nuke cake tilt skaffold changie towncrier";

/// Words by which tasks that publish are called.
const RELEASES: &[&str] = &["release", "publish", "deploy", "push", "ship", "bump"];

/// Commands among the words of a program that has no meaning of its own.
pub(super) fn commands(scene: &Scene<'_, '_>, name: &BStr) -> Vec<Nested> {
    if DATA.contains(name) {
        return Vec::new();
    }
    let words = scene.command.words.get(1..).unwrap_or_default();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        // `man git-push` names a page.
        if is_call(text, words.get(at + 1)) && !matches!(name.as_bytes(), b"man" | b"help") {
            found.push(Code::Argv(words.get(at..).unwrap_or_default().to_vec()));
            break;
        }
        if let Some(text) = call_in(text) {
            found.push(Code::Shell { text: Value::Known(text), args: Vec::new() });
        }
    }
    let nested = |code| Nested {
        code,
        dir: None,
        env: Vec::new(),
        certainty: Certainty::Maybe,
        because: "a command among another one's words".into(),
    };
    found.into_iter().map(nested).collect()
}

/// Whether a task runner is asked for a task whose name speaks of publishing.
pub(super) fn is_release_task(scene: &Scene<'_, '_>, name: &BStr) -> bool {
    if !TASKS.contains(name) {
        return false;
    }
    let words = scene.command.words.iter().skip(1).filter_map(Value::known);
    let mut tasks = words.filter(|word| !word.starts_with(b"-"));
    let may_run_a_task = match name.as_bytes() {
        // Their first word is a verb of their own; only these run the project's code with words for it.
        b"cargo" => {
            tasks.next().is_some_and(|verb| matches!(verb.as_bytes(), b"run" | b"r" | b"xtask" | b"make" | b"x"))
        }
        b"go" | b"dotnet" => tasks.next().is_some_and(|verb| verb == "run"),
        b"bundle" | b"composer" => tasks.next().is_some_and(|verb| verb == "exec" || verb == "run"),
        _ => true,
    };
    may_run_a_task && tasks.any(|word| RELEASES.iter().any(|release| word.to_ascii_lowercase().contains_str(release)))
}

/// A word that names a program which publishes, and one that may be its verb.
fn is_call(word: &BStr, next: Option<&Value>) -> bool {
    const GROUPS: &[&str] = &["pr", "mr", "issue", "release", "gist", "snippet", "repo", "api", "git"];
    let base = word.rsplit_str("/").next().unwrap_or(word).as_bstr();
    match class(base) {
        Class::Git => true,
        Class::Forge | Class::Vcs => next.is_some_and(|next| {
            next.known().is_none_or(|next| GROUPS.iter().any(|group| next.as_bytes() == group.as_bytes()))
        }),
        Class::Package | Class::Tyran | Class::Files | Class::Inert | Class::Writes | Class::Other => false,
    }
}

/// The text from a call of git or a forge's client to where a quote would end it.
fn call_in(text: &BStr) -> Option<BString> {
    if !text.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
        return None;
    }
    for program in ["git ", "gh ", "glab ", "hub ", "jj ", "git\t"] {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(program)) {
            let at = from + at;
            let before = at.checked_sub(1).and_then(|before| text.get(before));
            if before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(byte)) {
                let call = text.get(at..)?;
                let end = call.find_byteset(b"\"'`)\n").unwrap_or(call.len());
                return Some(call.get(..end)?.into());
            }
            from = at + program.len();
        }
    }
    None
}
