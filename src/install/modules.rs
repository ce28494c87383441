//! Entries that are programs themselves: the module of a plugin, and a script.
//!
//! Promise: whatever happens to the call of tyran (it is missing, killed, late, or ends in any other way
//! than with 0) is a refusal in the host's own way. A module gives its host nothing else to do.

use std::path::Path;

use serde_json::Value;

use crate::host::table::{EntryShape, Host, Slot};

use super::entry::{self, TIMEOUT_SECONDS};

/// The first line of a module or script of ours, by which one is told from another's.
pub const MARK: &str = "made by `tyran setup`; `tyran uninstall` takes it away.";

/// The text of the row's module or script; `None` where its entry is not one.
pub fn text(host: &Host, program: &Path) -> Option<String> {
    let event = host.registered().into_iter().find(|(_, slot)| *slot == Slot::PreTool)?.0;
    let words = entry::words(host, event, program);
    match host.entry.shape {
        EntryShape::Plugin => Some(plugin(event, &words)),
        EntryShape::AmpPlugin => Some(amp(event, &words)),
        EntryShape::Script => Some(script(host, &words)),
        EntryShape::Claude
        | EntryShape::Root
        | EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::Goose
        | EntryShape::Kiro
        | EntryShape::KiroAgent
        | EntryShape::Antigravity
        | EntryShape::Windsurf
        | EntryShape::Vibe => None,
    }
}

/// A function `refusal(payload)` which resolves to nothing for a pass, and else to the reason.
fn caller(words: &[String]) -> String {
    let (program, args) = (words.first().cloned().unwrap_or_default(), words.get(1..).unwrap_or_default());
    format!(
        r#"// tyran's plugin, {MARK}
import {{ spawn }} from "node:child_process"

const program = {program}
const args = {args}
const limitMillis = {limit}

const refusal = (payload) =>
  new Promise((resolve) => {{
    const failed = (why) => resolve(`tyran: refused (installation)\nwhat:  ${{program}} ${{why}}\ndo:    run tyran doctor`)
    let said = ""
    try {{
      const child = spawn(program, args, {{ stdio: ["pipe", "ignore", "pipe"] }})
      const timer = setTimeout(() => {{
        child.kill("SIGKILL")
        failed("gave no answer in time")
      }}, limitMillis)
      child.stderr.on("data", (part) => (said += part))
      child.on("error", (error) => {{
        clearTimeout(timer)
        failed(`could not be run: ${{error.message}}`)
      }})
      child.on("close", (code) => {{
        clearTimeout(timer)
        if (code === 0) resolve(undefined)
        else if (said.trim() !== "") resolve(said)
        else failed(`ended with ${{code}}`)
      }})
      child.stdin.on("error", () => {{}})
      child.stdin.end(JSON.stringify(payload))
    }} catch (error) {{
      failed(`could not be run: ${{error}}`)
    }}
  }})
"#,
        program = Value::from(program),
        args = Value::from(args),
        limit = TIMEOUT_SECONDS * 1000,
    )
}

fn plugin(event: &str, words: &[String]) -> String {
    format!(
        r#"{}
export const Tyran = async ({{ directory }}) => ({{
  {}: async (input, output) => {{
    const reason = await refusal({{ input, output, directory }})
    if (reason !== undefined) throw new Error(reason)
  }},
}})
"#,
        caller(words),
        Value::from(event),
    )
}

fn amp(event: &str, words: &[String]) -> String {
    format!(
        r#"{}
export default function (amp) {{
  amp.on({}, async (event) => {{
    let message
    try {{
      const dir = amp.helpers?.shellCommandFromToolCall?.(event)?.dir ?? process.cwd()
      const {{ toolUseID, tool, input, thread }} = event
      message = await refusal({{ toolUseID, tool, input, thread, dir }})
    }} catch (error) {{
      message = `tyran: refused (installation)\nwhat:  the plugin failed: ${{error}}\ndo:    run tyran doctor`
    }}
    return message === undefined ? {{ action: "allow" }} : {{ action: "reject-and-continue", message }}
  }})
}}
"#,
        caller(words),
        Value::from(event),
    )
}

/// A script whose host looks at standard output alone: what tyran says is given on when it ended as it
/// should and said something, and anything else is a refusal, no answer in five sixths of the host's time too.
fn script(host: &Host, words: &[String]) -> String {
    let seconds = host.timeout.default.unwrap_or(TIMEOUT_SECONDS) * 5 / 6;
    format!(
        r#"#!/bin/sh
# tyran's hook, {MARK}
{call}
if said=$("$@") && [ -n "$said" ]; then
    printf '%s\n' "$said"
else
    printf '%s\n' '{{"cancel":true,"errorMessage":"tyran: refused (installation). It could not be run or gave no answer; run tyran doctor"}}'
fi
exit 0
"#,
        call = entry::within(seconds, &entry::line(words)),
    )
}
