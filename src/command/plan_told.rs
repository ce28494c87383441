//! A plan in words, for `tyran plan`: what would happen, what would be scanned, what nobody can know.
//!
//! Promise: the first line is the answer; below it stands why, each with the place or the words of the
//! line, and last every command that was found. Nothing of the line is shown but escaped and shortened.

use std::ffi::OsString;
use std::path::Path;

use super::plan::{Bypass, Outcome, Parsed, Plan, Publish, PushVia, State};
use crate::text::SafeText;

/// Most commands that are listed.
const MAX_COMMANDS: usize = 40;

impl Plan {
    /// The plan for people; `text` is the command line.
    pub fn told(&self, text: &[u8]) -> String {
        let mut lines = vec![self.answer().to_owned()];
        section(&mut lines, "What a person is asked about first:", self.tamper.iter().map(control));
        section(&mut lines, "What switches a control off:", self.bypass.iter().map(control));
        let unknown = self.unknown.iter().map(|unknown| {
            let place = text.get(unknown.span.clone()).unwrap_or_default();
            if place.is_empty() {
                unknown.what.to_string()
            } else {
                format!("{}, at `{}` (byte {})", unknown.what, SafeText::quoted(place, 60), unknown.span.start)
            }
        });
        section(&mut lines, "What cannot be known:", unknown);
        section(&mut lines, "What would be scanned first:", self.publishes.iter().map(scanned));
        let pasted = self.pasted.iter().map(|path| format!("{}, whose text the line pastes in", shown(path)));
        section(&mut lines, "Files that go along:", pasted);
        section(
            &mut lines,
            "What only git's hooks can read, once the line runs:",
            self.later.iter().map(SafeText::to_string),
        );
        let opaque = self.opaque.iter().map(|opaque| format!("{}, in {}", opaque.program, shown(&opaque.dir)));
        section(&mut lines, "Programs that tyran cannot read:", opaque);
        if !self.opaque.is_empty() {
            lines.push(
                "  What they push or commit is read by git's hooks (`tyran install git`); without these, everything\n  \
                 that is not published yet in that repository is scanned before the line runs."
                    .to_owned(),
            );
        }
        let commands = self.commands.iter().take(MAX_COMMANDS).map(|words| {
            let words = words.iter().map(|word| match word {
                Some(word) => SafeText::quoted(word, 60).to_string(),
                None => "<not known>".to_owned(),
            });
            words.collect::<Vec<_>>().join(" ")
        });
        section(&mut lines, "Commands that bash could run:", commands);
        if self.commands.len() > MAX_COMMANDS {
            lines.push(format!("  … and {} more", self.commands.len() - MAX_COMMANDS));
        }
        match self.parsed {
            Parsed::Whole => {}
            Parsed::Partial if self.commands.is_empty() => {
                lines.push("bash would stop at a syntax error, and run nothing.".to_owned());
            }
            Parsed::Partial => lines.push("bash would stop at a syntax error, after the commands above.".to_owned()),
            Parsed::Refused => lines.push("The line is longer or deeper than tyran reads.".to_owned()),
        }
        lines.join("\n")
    }

    /// The whole in one sentence.
    fn answer(&self) -> &'static str {
        match self.outcome {
            Outcome::Inert => "Publishes nothing: it would run without a scan.",
            Outcome::Publishes if self.publishes.is_empty() => {
                "May publish: it runs programs that tyran cannot read. It would run if nothing is found."
            }
            Outcome::Publishes if self.publishes.iter().all(is_local) => {
                "Publishes: what it records is scanned first, and it would run if nothing is found."
            }
            Outcome::Publishes => "Publishes: what would leave is scanned first, and it would run if nothing is found.",
            Outcome::Unknowable => "Cannot be known: it would be refused, since what it publishes is not bounded.",
            Outcome::Bypass if self.bypass.is_empty() => "Changes a control: a person would be asked first.",
            Outcome::Bypass => "Switches a control off: it would be refused.",
        }
    }
}

/// Whether something stays on this machine for now.
fn is_local(publish: &Publish) -> bool {
    match publish {
        Publish::Commit(_) => true,
        Publish::Upload(upload) => upload.local_only,
        Publish::Push(_) | Publish::Widest(_) => false,
    }
}

fn section(lines: &mut Vec<String>, heading: &str, entries: impl Iterator<Item = String>) {
    let before = lines.len();
    for entry in entries {
        if lines.len() == before {
            lines.push(heading.to_owned());
        }
        lines.push(format!("  {entry}"));
    }
}

fn control(bypass: &Bypass) -> String {
    format!("{}\n    instead: {}", bypass.what, bypass.instead)
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_encoded_bytes(), 120)
}

fn words(words: &[Option<OsString>]) -> String {
    let words = words.iter().map(|word| match word {
        Some(word) => format!(" {}", SafeText::quoted(word.as_encoded_bytes(), 60)),
        None => " <not known>".to_owned(),
    });
    words.collect()
}

fn later(state: State) -> &'static str {
    match state {
        State::AsNow => "",
        State::Elsewhere => "; nothing counts as published, since the line makes or changes where it goes",
        State::ContentChanged => "; widened to every branch and file, since the line changes them before",
        State::Changed => "; widened to everything, since the line may change anything before",
    }
}

fn scanned(publish: &Publish) -> String {
    match publish {
        Publish::Push(push) => {
            let dir = super::git_globals::directory(&push.git.dir, &push.git.globals);
            let what = match push.via {
                PushVia::Push => format!("what `git push{}` sends", words(&push.args)),
                PushVia::SendPack => format!("what `git send-pack{}` sends, past every hook", words(&push.args)),
                PushVia::Lfs => format!("what `git lfs push{}` uploads", words(&push.args)),
                PushVia::OtherSide => "every branch and tag, which the other side may fetch".to_owned(),
            };
            format!("{what}, from {}{}", shown(&dir), later(push.state))
        }
        Publish::Commit(commit) => {
            let dir = super::git_globals::directory(&commit.git.dir, &commit.git.globals);
            let verb = match &commit.verb {
                super::plan::CommitVerb::Commit => "commit".into(),
                super::plan::CommitVerb::Other(verb) => SafeText::quoted(verb.as_encoded_bytes(), 40).to_string(),
            };
            let staged = if commit.steps.is_empty() { "" } else { ", with what the line stages before" };
            let what = format!("what `git {verb}{}` records", words(&commit.args));
            format!("{what}{staged}, in {}{}", shown(&dir), later(commit.state))
        }
        Publish::Upload(upload) => {
            let what = match upload.files.len() {
                0 => "its texts".to_owned(),
                1 => "its texts and a file".to_owned(),
                count => format!("its texts and {count} files"),
            };
            let what = match (&upload.package, &upload.revisions) {
                (Some(package), _) => {
                    format!("the package that {} makes", SafeText::quoted(package.client.as_bytes(), 40))
                }
                (None, Some(revisions)) => format!("the revisions it takes:{}", words(&revisions.args)),
                (None, None) => what,
            };
            if upload.local_only && upload.revisions.is_none() && upload.files.is_empty() {
                let dir = shown(&upload.dir);
                return format!(
                    "the words of `{}`, which makes commits of what was recorded before, in {dir}",
                    upload.tool
                );
            }
            let where_to = if upload.local_only { "writes to a file or prints" } else { "uploads" };
            format!("what `{}` {where_to} ({what}), from {}", upload.tool, shown(&upload.dir))
        }
        Publish::Widest(widest) => {
            format!("everything that is not published yet in {}: {}", shown(&widest.git.dir), widest.because)
        }
    }
}
