//! Writes the host table as the gate reads it: each row by itself, and what tells rows apart.

use std::fmt::Write as _;

use toml::{Table, Value};

/// Rust text of the table: rows by their ids as JSON, and what a payload of each may be known by.
pub fn write(text: &str) -> String {
    let table: Table = text.parse().unwrap_or_else(|error| panic!("src/host/hosts.toml: {error}"));
    let rows = table.get("hosts").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut written = String::from("/// Every row, in the order of the table.\npub const ROWS: &[Prepared] = &[\n");
    for row in &rows {
        let at = |path: &[&str]| path.iter().try_fold(row, |value, key| value.get(key));
        let text = |path: &[&str]| at(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let names = |path: &[&str], key: Option<&str>| -> Vec<String> {
            let list = at(path).and_then(Value::as_array).cloned().unwrap_or_default();
            let name = |value: &Value| key.map_or(Some(value.clone()), |key| value.get(key).cloned());
            list.iter().filter_map(name).filter_map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let json = serde_json::to_string(row).unwrap_or_else(|error| panic!("src/host/hosts.toml: {error}"));
        let prepared = format!(
            "    Prepared {{ id: {:?}, recognise: &{:?}, tool: {:?}, shells: &{:?}, json: {json:?} }},",
            text(&["id"]),
            names(&["recognise"], None),
            text(&["payload", "tool"]),
            names(&["shell_tools"], Some("name")),
        );
        let _ = writeln!(written, "{prepared}");
    }
    written.push_str("];\n");
    written
}
