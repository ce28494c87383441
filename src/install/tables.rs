//! The one structure of entries that is not JSON: `[[hooks]]` tables of a TOML file.
//!
//! Promise: what is not ours stays byte for byte as it was, line ends included. A file that does not parse, or that
//! keeps something else under `hooks`, is left alone.

use std::path::Path;

use serde_json::{Map, Value, json};
use toml_edit::{Document, Item, Table};

use crate::host::table::Host;

use super::entry::{self, Call, Found};

fn parsed(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| error.message().to_owned())
}

fn list<'d>(document: &'d Document<&str>) -> Result<Vec<&'d Table>, String> {
    match document.as_table().get("hooks") {
        None => Ok(Vec::new()),
        Some(Item::ArrayOfTables(list)) => Ok(list.iter().collect()),
        Some(Item::None | Item::Value(_) | Item::Table(_)) => {
            Err("`hooks` is there and is not a list of tables".to_owned())
        }
    }
}

/// The text with a table for each event.
///
/// # Errors
/// When the file does not parse, or keeps something else under `hooks`.
pub fn wanted(host: &Host, program: &Path, now: &str, base: &str) -> Result<String, String> {
    let leaves = entry::leaves(host, program);
    let there = calls(host, now)?;
    if there.len() == leaves.len() && leaves.iter().all(|leaf| there.iter().any(|found| found.leaf == *leaf)) {
        return Ok(now.to_owned());
    }
    list(&parsed(base)?)?;
    let end = if base.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = base.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(end);
    }
    for leaf in &leaves {
        if !text.is_empty() {
            text.push_str(end);
        }
        text.push_str(&written(leaf, end));
    }
    if calls(host, &text)?.len() == leaves.len() {
        Ok(text)
    } else {
        Err("the change could not be read back".to_owned())
    }
}

fn written(leaf: &Value, end: &str) -> String {
    let mut text = format!("[[hooks]]{end}");
    for (key, value) in leaf.as_object().into_iter().flatten() {
        let value = match value {
            Value::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
            other => other.to_string(),
        };
        text.push_str(&format!("{key} = {value}{end}"));
    }
    text
}

/// A table's own keys and values, as JSON has them.
fn leaf(table: &Table) -> Value {
    let plain = |item: &Item| match item.as_value()? {
        toml_edit::Value::String(text) => Some(Value::from(text.value().as_str())),
        toml_edit::Value::Integer(number) => Some(Value::from(*number.value())),
        toml_edit::Value::Float(number) => Some(json!(*number.value())),
        toml_edit::Value::Boolean(truth) => Some(Value::from(*truth.value())),
        toml_edit::Value::Datetime(_) | toml_edit::Value::Array(_) | toml_edit::Value::InlineTable(_) => None,
    };
    let entries = table.iter().map(|(key, item)| (key.to_owned(), plain(item).unwrap_or(Value::Null)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// The text without our tables.
///
/// # Errors
/// When the file does not parse.
pub fn take_out(host: &Host, text: &str) -> Result<String, String> {
    let document = parsed(text)?;
    let Ok(tables) = list(&document) else { return Ok(text.to_owned()) };
    let ours = tables.into_iter().filter(|table| entry::is_ours(host, &leaf(table)));
    let mut cuts: Vec<(usize, usize)> = ours.filter_map(|table| place(text, table)).collect();
    cuts.sort_unstable();
    let mut left = text.to_owned();
    for (start, end) in cuts.into_iter().rev() {
        left.replace_range(start..end, "");
    }
    if calls(host, &left)?.is_empty() { Ok(left) } else { Err("the change could not be read back".to_owned()) }
}

/// Where a table stands, whole lines, with one empty line before it.
fn place(text: &str, table: &Table) -> Option<(usize, usize)> {
    let header = table.span()?;
    let values = table.iter().filter_map(|(_, item)| item.span());
    let last = values.map(|span| span.end).chain([header.end]).max()?;
    let start = text.get(..header.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(last..)?.find('\n').map_or(text.len(), |at| last + at + 1);
    let before = text.get(..start)?;
    let empty = ["\r\n", "\n"]
        .into_iter()
        .find(|empty| before.strip_suffix(*empty).is_some_and(|above| above.is_empty() || above.ends_with('\n')));
    Some((start - empty.map_or(0, str::len), end))
}

/// Our calls.
///
/// # Errors
/// When the file does not parse.
pub fn calls(host: &Host, text: &str) -> Result<Vec<Found>, String> {
    let document = parsed(text)?;
    let Ok(tables) = list(&document) else { return Ok(Vec::new()) };
    let leaves = tables.into_iter().map(leaf).filter(|leaf| entry::is_ours(host, leaf));
    Ok(leaves.filter_map(|leaf| found(host, leaf)).collect())
}

fn found(host: &Host, leaf: Value) -> Option<Found> {
    let text = |key: &str| leaf.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Found {
        event: text(entry::event_key(host.entry.shape)?)?,
        matcher: text("match"),
        call: Call::Line(text("command")?),
        leaf,
    })
}

/// Names of ours that another's table in a text has, too.
///
/// # Errors
/// When the text does not parse.
pub fn replaced(text: &str, ours: &[Found], is_ours: &dyn Fn(&Value) -> bool) -> Result<Vec<String>, String> {
    fn name(leaf: &Value) -> Option<&str> {
        leaf.get("name").and_then(Value::as_str)
    }
    let document = parsed(text)?;
    let theirs: Vec<Value> = list(&document)?.into_iter().map(leaf).filter(|leaf| !is_ours(leaf)).collect();
    let known: Vec<&str> = ours.iter().filter_map(|found| name(&found.leaf)).collect();
    Ok(theirs.iter().filter_map(name).filter(|name| known.contains(name)).map(str::to_owned).collect())
}
