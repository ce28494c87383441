//! Folders of plugins, made from the table: what a release fills with the program and hands to a host.
//!
//! Promise: a plugin's entries are those that `setup` would write, but for the program, which lies in the
//! plugin's own folder at `bin/tyran` (an agent file, which has none, takes it from `~/.tyran/bin`). Nothing
//! here looks a program up along PATH.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host::table::{EntryShape, Host, Table};

use super::{entry, modules};

/// Where the folders are, from the top of the source tree.
const ROOT: &str = "hooks";

/// Every file of every plugin with its text, by its path from the top of the source tree.
pub fn files(table: &Table) -> Vec<(PathBuf, String)> {
    table.hosts.iter().filter_map(plugin).flatten().collect()
}

fn plugin(host: &Host) -> Option<Vec<(PathBuf, String)>> {
    let entry = &host.entry;
    let (hooks, program) = (entry.plugin.as_deref()?, entry.plugin_program.as_deref()?);
    let folder = Path::new(ROOT).join(&host.id);
    let mut files = Vec::new();
    if let Some(manifest) = entry.plugin_manifest.as_deref() {
        let mut about = about();
        if entry.plugin_names_hooks {
            about["hooks"] = format!("./{hooks}").into();
        }
        files.push((folder.join(manifest), format!("{about:#}\n")));
    }
    if let Some(marketplace) = entry.plugin_marketplace.as_deref() {
        files.push((folder.join(marketplace), format!("{:#}\n", shelf())));
    }
    let text = match modules::text(host, Path::new(program)) {
        Some(module) => beside_the_module(&module, program),
        None => format!("{:#}\n", entries(host, program)),
    };
    files.push((folder.join(hooks), text));
    Some(files)
}

fn about() -> Value {
    json!({
        "name": "tyran",
        "version": env!("CARGO_PKG_VERSION"),
        "description": env!("CARGO_PKG_DESCRIPTION"),
    })
}

/// A marketplace of one plugin, which is the folder itself.
fn shelf() -> Value {
    json!({
        "name": "tyran",
        "owner": {"name": "tyran"},
        "description": env!("CARGO_PKG_DESCRIPTION"),
        "plugins": [{"name": "tyran", "source": "./", "description": env!("CARGO_PKG_DESCRIPTION")}],
    })
}

/// A module finds the program in its own folder.
fn beside_the_module(module: &str, program: &str) -> String {
    let named = format!("const program = {}\n", Value::from(program));
    let found = format!("const program = fileURLToPath(new URL({}, import.meta.url))\n", Value::from(program));
    let import = "import { spawn } from \"node:child_process\"\n";
    module.replace(&named, &found).replace(import, &format!("{import}import {{ fileURLToPath }} from \"node:url\"\n"))
}

fn entries(host: &Host, program: &str) -> Value {
    let mut file = if host.entry.shape == EntryShape::KiroAgent {
        let mut agent = about();
        agent.as_object_mut().map(|agent| agent.remove("version"));
        agent["tools"] = json!(["*"]);
        agent
    } else {
        Value::Object(serde_json::Map::new())
    };
    if let Some((key, value)) = entry::version(host.entry.shape) {
        file[key] = value;
    }
    for addition in entry::additions(host, Path::new(program)) {
        let mut place = &mut file;
        for key in &addition.path {
            // Indexing an object, or nothing yet, with a key makes what is not there.
            place = &mut place[key.as_str()];
        }
        match place {
            Value::Array(list) => list.push(addition.element),
            other => *other = Value::Array(vec![addition.element]),
        }
    }
    expandable(&mut file, program);
    file
}

/// In a line for a shell the program is one word whose variable is still filled in, by the host or by
/// the shell.
fn expandable(value: &mut Value, program: &str) {
    match value {
        Value::String(text) => *text = text.replace(&format!("'{program}'"), &format!("\"{program}\"")),
        Value::Array(list) => list.iter_mut().for_each(|value| expandable(value, program)),
        Value::Object(map) => map.iter_mut().for_each(|(_, value)| expandable(value, program)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
