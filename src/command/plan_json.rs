//! A plan as JSON, for `tyran plan`: stable keys, additions only.
//!
//! Promise: words that are not UTF-8 are shown with their bytes escaped, and an unknown word is `null`;
//! nothing of the environment is shown.

use std::ffi::OsString;

use bstr::BString;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::{Value, json};

use super::git_table::grammar;
use super::options::Arg;
use super::plan::{
    Bypass, CommitVerb, GitContext, Opaque, Outcome, Parsed, Plan, Publish, PushRequest, PushVia, State, Unknown,
};
use crate::text::SafeText;

impl Plan {
    /// The plan as `tyran plan` prints it, as a tree.
    ///
    /// # Errors
    /// Never: all that it holds is text, numbers and lists of them.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

/// Written as it is gone through: a tree of it costs as much as the plan itself.
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plan = serializer.serialize_struct("Plan", 10)?;
        plan.serialize_field("outcome", outcome_word(self.outcome))?;
        plan.serialize_field("parsed", parsed_word(self.parsed))?;
        plan.serialize_field("commands", &Commands(&self.commands))?;
        plan.serialize_field("publishes", &self.publishes.iter().map(publish).collect::<Vec<_>>())?;
        plan.serialize_field("unknown", &self.unknown.iter().map(unknown).collect::<Vec<_>>())?;
        plan.serialize_field("bypass", &self.bypass.iter().map(bypass).collect::<Vec<_>>())?;
        plan.serialize_field("tamper", &self.tamper.iter().map(bypass).collect::<Vec<_>>())?;
        plan.serialize_field("opaque", &self.opaque.iter().map(opaque).collect::<Vec<_>>())?;
        let pasted = self.pasted.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>();
        plan.serialize_field("pasted", &pasted)?;
        plan.serialize_field("later", &self.later.iter().map(SafeText::as_str).collect::<Vec<_>>())?;
        plan.end()
    }
}

/// Commands, and an unknown word as `null`.
struct Commands<'a>(&'a [Vec<Option<BString>>]);

/// The words of one.
struct Words<'a>(&'a [Option<BString>]);

/// Bytes as text.
struct Text<'a>(&'a [u8]);

impl Serialize for Commands<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|words| Words(words)))
    }
}

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|word| word.as_ref().map(|word| Text(word))))
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(plain) => serializer.serialize_str(plain),
            Err(_) => serializer.serialize_str(&text(self.0)),
        }
    }
}

fn unknown(unknown: &Unknown) -> Value {
    json!({ "what": unknown.what.as_str(), "from": unknown.span.start, "to": unknown.span.end })
}

fn opaque(opaque: &Opaque) -> Value {
    json!({ "program": opaque.program.as_str(), "dir": opaque.dir.to_string_lossy() })
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
            None => Arg::nothing_known(),
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
        State::Elsewhere => "elsewhere",
        State::ContentChanged => "content-changed",
        State::Changed => "changed",
    }
}
