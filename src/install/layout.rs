//! Folders of plugins, made from the table: what a release fills with the program and hands to a host.
//!
//! Promise: a plugin's entries are those that `setup` would write, but for the program, which lies in the
//! plugin's own folder at `bin/tyran`. Nothing here looks a program up along PATH.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::host::table::{Host, Table};

use super::entry;

/// Where the folders are, from the top of the source tree.
const ROOT: &str = "hooks";

/// Every file of every plugin with its text, by its path from the top of the source tree.
pub fn files(table: &Table) -> Vec<(PathBuf, String)> {
    table.hosts.iter().filter_map(plugin).flatten().collect()
}

fn plugin(host: &Host) -> Option<[(PathBuf, String); 2]> {
    let entry = &host.entry;
    let (hooks, manifest) = (entry.plugin.as_deref()?, entry.plugin_manifest.as_deref()?);
    let program = entry.plugin_program.as_deref()?;
    let folder = Path::new(ROOT).join(&host.id);
    let about = json!({
        "name": "tyran",
        "version": env!("CARGO_PKG_VERSION"),
        "description": env!("CARGO_PKG_DESCRIPTION"),
    });
    Some([
        (folder.join(manifest), format!("{about:#}\n")),
        (folder.join(hooks), format!("{:#}\n", entries(host, program))),
    ])
}

fn entries(host: &Host, program: &str) -> Value {
    let mut file = Value::Object(serde_json::Map::new());
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
