//! A plan as JSON, for `tyran plan`: stable keys, additions only.
//!
//! Promise: words that are not UTF-8 are shown with their bytes escaped, and an unknown word is `null`;
//! nothing of the environment is shown.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::git_table::grammar;
use super::options::Arg;
use super::plan::{Bypass, CommitVerb, GitContext, Outcome, Parsed, Plan, Publish, PushRequest, PushVia, State};

impl Plan {
    /// The plan as `tyran plan` prints it.
    pub fn to_json(&self) -> Value {
        json!({
            "outcome": outcome_word(self.outcome),
            "parsed": parsed_word(self.parsed),
            "commands": self.commands.iter().map(|words| {
                words.iter().map(|word| word.as_ref().map(|word| text(word))).collect::<Vec<_>>()
            }).collect::<Vec<_>>(),
            "publishes": self.publishes.iter().map(publish).collect::<Vec<_>>(),
            "unknown": self.unknown.iter().map(|unknown| json!({
                "what": unknown.what.as_str(), "from": unknown.span.start, "to": unknown.span.end,
            })).collect::<Vec<_>>(),
            "bypass": self.bypass.iter().map(bypass).collect::<Vec<_>>(),
            "tamper": self.tamper.iter().map(bypass).collect::<Vec<_>>(),
            "opaque": self.opaque.iter().map(|opaque| json!({
                "program": opaque.program.as_str(), "dir": opaque.dir.to_string_lossy(),
            })).collect::<Vec<_>>(),
            "pasted": self.pasted.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        })
    }
}

/// The outcome's word in the JSON contract.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Inert => "inert",
        Outcome::Publishes => "publishes",
        Outcome::Unknowable => "unknowable",
        Outcome::Bypass => "bypass",
    }
}

fn parsed_word(parsed: Parsed) -> &'static str {
    match parsed {
        Parsed::Whole => "whole",
        Parsed::Partial => "partial",
        Parsed::Refused => "refused",
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
        text
    })
}

fn words(args: &[Option<OsString>]) -> Vec<Option<String>> {
    args.iter().map(|word| word.as_ref().map(|word| text(word.as_encoded_bytes()))).collect()
}

fn bypass(bypass: &Bypass) -> Value {
    json!({ "what": bypass.what.as_str(), "do": bypass.instead.as_str() })
}

fn publish(publish: &Publish) -> Value {
    match publish {
        Publish::Push(request) => push(request),
        Publish::Commit(request) => json!({
            "kind": "commit",
            "verb": match &request.verb {
                CommitVerb::Commit => "commit".into(),
                CommitVerb::Other(verb) => text(verb.as_encoded_bytes()),
            },
            "dir": shown(&request.git),
            "args": words(&request.args),
            "steps": request.steps.iter().map(|step| json!({
                "verb": text(step.verb.as_encoded_bytes()), "args": words(&step.args),
            })).collect::<Vec<_>>(),
            "written": request.written.iter().map(|file| file.path.to_string_lossy()).collect::<Vec<_>>(),
            "state": state_word(request.state),
            "exact": request.state == State::AsNow && request.args.iter().all(Option::is_some),
        }),
        Publish::Upload(request) => json!({
            "kind": "upload",
            "tool": request.tool.as_str(),
            "dir": request.dir.to_string_lossy(),
            "files": request.files.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
            "package": request.package.as_ref().map(|package| package.client.as_str()),
            "revisions": request.revisions.as_ref().map(|revisions| json!({
                "verb": text(revisions.verb.as_encoded_bytes()), "args": words(&revisions.args),
            })),
            "local": request.local_only,
            "exact": false,
        }),
        Publish::Widest(request) => json!({
            "kind": "widest", "dir": shown(&request.git), "because": request.because.as_str(), "exact": false,
        }),
    }
}

fn shown(git: &GitContext) -> String {
    super::git_globals::directory(&git.dir, &git.globals).to_string_lossy().into_owned()
}

fn push(request: &PushRequest) -> Value {
    let args: Vec<Arg> = request
        .args
        .iter()
        .map(|word| match word {
            Some(word) => Arg::Known(word.as_encoded_bytes().into()),
            None => Arg::Unknown { prefix: bstr::BString::default() },
        })
        .collect();
    let operands = grammar("push").read(&args, true).operands;
    let mut operands = operands.iter().map(|arg| arg.known().map(|word| text(word)));
    json!({
        "kind": "push",
        "dir": shown(&request.git),
        "repository": super::git_globals::find(&request.git).map(|place| place.git_dir.to_string_lossy().into_owned()),
        "via": match request.via {
            PushVia::Push => "push",
            PushVia::SendPack => "send-pack",
            PushVia::Lfs => "lfs",
            PushVia::OtherSide => "other-side",
        },
        "remote": operands.next().flatten(),
        "refspecs": operands.collect::<Vec<_>>(),
        "args": words(&request.args),
        "state": state_word(request.state),
        "exact": request.state == State::AsNow && request.args.iter().all(Option::is_some),
    })
}

fn state_word(state: State) -> &'static str {
    match state {
        State::AsNow => "as-now",
        State::ContentChanged => "content-changed",
        State::Changed => "changed",
    }
}
