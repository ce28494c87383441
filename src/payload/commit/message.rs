//! The message of a commit, and whatever else enters its object.
//!
//! Promise: every text from which git makes the message is an item: words, files, messages of other
//! commits, what a merge in progress prepared, templates, trailers; and the identities. It is a
//! superset of the final message, since cleaning only takes away. What is typed into an editor, made by
//! a hook or read from standard input is named as unseen.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::command::plan::WrittenFile;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::Caution;

use super::args::CommitArgs;
use super::laid::{AsLeft, as_left};
use super::site::Located;
use super::stage::{Stage, nul_separated};

/// What the message is made of.
#[derive(Debug, Default)]
pub struct Message {
    /// Texts.
    pub texts: Vec<BString>,
    /// Files on disk.
    pub files: Vec<PathBuf>,
    /// Commits whose message, author or headers are taken over, in hexadecimal.
    pub commits: Vec<String>,
}

/// Collects everything that the message and headers could hold.
///
/// # Errors
/// When git cannot be asked.
pub fn read(
    stage: &mut Stage<'_>,
    located: &Located,
    args: &CommitArgs,
    written: &[WrittenFile],
) -> Result<Message, Fault> {
    let mut message = Message::default();
    if !args.messages.is_empty() {
        let paragraphs: Vec<&[u8]> = args.messages.iter().map(|word| word.as_bytes()).collect();
        message.texts.push(paragraphs.join(&b"\n\n"[..]).into());
    }
    message.texts.extend(args.words.iter().map(|word| BString::from(word.as_bytes())));
    if let Some(file) = &args.file {
        file_text(stage, located, file, written, &mut message);
    }
    for revision in &args.reused {
        match stage.resolve(revision, "commit")? {
            Some(commit) => message.commits.push(commit),
            None => stage.unseen.push("the message of a commit that is not there now".into()),
        }
    }
    let asks = args.asks_editor() || (args.amend && !args.no_edit && args.messages.is_empty() && args.file.is_none());
    // What git prepared is the message only where no other is given (`prepare_to_commit`).
    if !(args.gives_message() || args.amend) || args.doubtful {
        prepared(stage, located, args, written, &mut message);
    }
    if args.doubtful {
        stage.notes.push(
            "words of the commit are known only once the line runs: git's commit-msg hook reads its message, pre-push what is pushed"
                .into(),
        );
    } else if asks {
        stage.notes.push("the message can be changed in an editor; what is typed there is not known now".into());
    }
    if asks {
        status_text(stage, args, &mut message)?;
    }
    match stage.head.clone().filter(|_| args.amend) {
        // The author and further headers stay; the message is replaced.
        Some(head) if args.gives_message() && !args.doubtful => message.texts.push(headers_of(stage, &head)?),
        Some(head) => message.commits.push(head),
        None => {}
    }
    trailers(stage, args, &mut message)?;
    signers(stage, args, &mut message);
    older_author(stage, args, &mut message)?;
    identities(stage, &mut message)?;
    Ok(message)
}

/// What an amended commit keeps beside its message: everything before the first empty line.
fn headers_of(stage: &Stage<'_>, commit: &str) -> Result<BString, Fault> {
    let whole = stage.git(["cat-file", "commit", commit]).with_replacements().stdout()?;
    let end = whole.find("\n\n").unwrap_or(whole.len());
    Ok(whole.get(..end).unwrap_or_default().into())
}

/// The file of `-F` or `-t`, whose bytes the line itself may write.
fn file_text(stage: &mut Stage<'_>, located: &Located, file: &OsStr, written: &[WrittenFile], message: &mut Message) {
    if file == "-" {
        stage.notes.push("the message comes from standard input: what stands on the line is read with it, what a program writes by git's commit-msg hook".into());
        stage.exact = false;
        return;
    }
    let path = located.context.dir.join(&located.missing).join(file);
    let real = |path: &Path| super::site::below(Path::new("/"), path);
    match as_left(written, |own| own == path || real(own) == real(&path)) {
        AsLeft::Texts(texts) => message.texts.extend(texts.into_iter().map(Into::into)),
        AsLeft::Unknown => {
            stage.unseen.push("a message file that the line writes".into());
            stage.exact = false;
        }
        AsLeft::OnDisk if path.is_file() => message.files.push(path),
        AsLeft::OnDisk => {
            let name = SafeText::quoted(file.as_bytes(), 200);
            stage.unseen.push(SafeText::new(&format!("the message file {name}, which is not there now")));
            stage.exact = false;
        }
    }
}

/// What git itself prepared: a merge in progress, a squash, a template.
fn prepared(
    stage: &mut Stage<'_>,
    located: &Located,
    args: &CommitArgs,
    written: &[WrittenFile],
    message: &mut Message,
) {
    for name in ["MERGE_MSG", "SQUASH_MSG"] {
        let path = stage.site.git_dir.join(name);
        if path.is_file() {
            message.files.push(path);
        }
    }
    if let Some(template) = &args.template {
        file_text(stage, located, template, written, message);
    } else if let Some(template) = stage.programs.template.clone() {
        let path = configured_path(stage, &template);
        if path.is_file() {
            message.files.push(path);
        }
    }
}

/// The commented status list stays in the message where cleaning keeps comments: it names files which
/// are not part of the commit.
fn status_text(stage: &mut Stage<'_>, args: &CommitArgs, message: &mut Message) -> Result<(), Fault> {
    let asked = args.cleanup.as_ref().map(|mode| BString::from(mode.as_bytes()));
    let Some(mode) = asked.or_else(|| stage.programs.cleanup.clone()) else { return Ok(()) };
    if mode != "whitespace" && mode != "verbatim" {
        return Ok(());
    }
    let names = stage.git(["ls-files", "-z", "--others", "--modified", "--exclude-standard"]).stdout()?;
    message.texts.extend(nul_separated(&names));
    Ok(())
}

/// Trailers, and what their configured commands print.
fn trailers(stage: &mut Stage<'_>, args: &CommitArgs, message: &mut Message) -> Result<(), Fault> {
    if args.trailers.is_empty() {
        return Ok(());
    }
    message.texts.extend(args.trailers.iter().map(|trailer| BString::from(trailer.as_bytes())));
    if stage.programs.trailer_commands.is_empty() {
        return Ok(());
    }
    message.texts.extend(stage.programs.trailer_commands.iter().cloned());
    match stage.world.caution {
        Caution::Gate => stage.unseen.push("what the configured commands of trailers print".into()),
        Caution::ByHand => {
            let mut call: Vec<OsString> = vec!["interpret-trailers".into()];
            for trailer in &args.trailers {
                call.extend([OsString::from("--trailer"), OsString::from_vec(trailer.as_bytes().to_vec())]);
            }
            let done = stage.git(call).input(b"subject\n".to_vec()).run()?;
            message.texts.push(done.stdout.into());
        }
    }
    Ok(())
}

/// A script that signs is read, since whatever it prints becomes a header of the commit. A program in
/// machine code is taken for one that makes signatures.
fn signers(stage: &mut Stage<'_>, args: &CommitArgs, message: &mut Message) {
    if !args.signed.unwrap_or(stage.programs.signs) && !args.doubtful {
        return;
    }
    for program in stage.programs.signers.clone() {
        let path = configured_path(stage, &program);
        let mut start = [0; 2];
        let script =
            fs::File::open(&path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start)).is_ok()
                && start == *b"#!";
        if script {
            stage.notes.push("a configured program signs the commit; its text is read".into());
            stage.exact = false;
            message.files.push(path);
        }
        message.texts.push(program);
    }
}

/// An author without an address is looked up among all commits (builtin/commit.c, `find_author_by_nickname`).
fn older_author(stage: &Stage<'_>, args: &CommitArgs, message: &mut Message) -> Result<(), Fault> {
    let Some(author) = args.author.as_ref().filter(|author| !author.as_bytes().contains(&b'<')) else { return Ok(()) };
    let mut pattern = OsString::from("--author=");
    pattern.push(author);
    let asked = ["log", "--all", "-i", "-1", "--use-mailmap", "--format=%aN <%aE>"].map(OsString::from);
    let found = stage.git(asked.into_iter().chain([pattern])).with_replacements().run()?.stdout;
    if !found.trim().is_empty() {
        message.texts.push(found.trim().into());
    }
    Ok(())
}

/// Names, addresses, dates and time zones.
///
/// # Errors
/// When git cannot be run.
pub fn identities(stage: &mut Stage<'_>, message: &mut Message) -> Result<(), Fault> {
    let ask = |variable: &'static str| stage.git(["var", variable]).run();
    // Without settings or variables for one of the two, both are made of `user.*` (ident.c of git 2.47).
    let is_role = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"GIT_AUTHOR_") || name.starts_with(b"GIT_COMMITTER_")
    };
    let are_apart = stage.programs.names_roles || stage.context.env.keys().any(is_role);
    let (author, committer) = std::thread::scope(|scope| {
        let author = are_apart.then(|| scope.spawn(|| ask("GIT_AUTHOR_IDENT")));
        let committer = ask("GIT_COMMITTER_IDENT");
        (author.map(std::thread::ScopedJoinHandle::join), committer)
    });
    let author = author.transpose().map_err(|_| Fault::Plumbing("asking git for an identity ended early".into()))?;
    for done in author.into_iter().chain([committer]) {
        let done = done?;
        if done.status.success() {
            message.texts.push(done.stdout.trim().into());
        } else {
            // Without an identity git does not commit; one that the line sets is read with the line.
            stage.notes.push("no identity is configured now".into());
        }
    }
    message.texts.sort();
    message.texts.dedup();
    Ok(())
}

/// Hooks that can change a commit: their text is read with it, and what else they do is for the net.
///
/// # Errors
/// When git cannot be asked.
pub fn hooks(stage: &mut Stage<'_>, message: &mut Message) -> Result<(), Fault> {
    let folder = match stage.programs.hooks_path.clone() {
        Some(path) => configured_path(stage, &path),
        None => stage.site.common_dir.join("hooks"),
    };
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg", "pre-merge-commit", "post-commit"] {
        let path = folder.join(name);
        // tyran's own hook only reads.
        if is_hook(&path) && !fs::read(&path).is_ok_and(|text| text.contains_str("tyran git-hook")) {
            stage.notes.push(SafeText::new(&format!("the {name} hook can change what is committed; its text is read")));
            stage.exact = false;
            message.files.push(path);
        }
    }
    Ok(())
}

/// A path from configuration: `~/` is the home folder, others start from the top of the work tree.
fn configured_path(stage: &Stage<'_>, path: &BString) -> PathBuf {
    match (path.strip_prefix(b"~/"), stage.context.env.get(OsStr::new("HOME"))) {
        (Some(rest), Some(home)) => Path::new(home).join(OsStr::from_bytes(rest)),
        (Some(_), None) | (None, _) => stage.top.join(OsStr::from_bytes(path)),
    }
}

fn is_hook(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
