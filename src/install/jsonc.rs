//! Changing a JSON file of somebody else's by inserting and cutting text.
//!
//! Promise: what is not named in a change stays byte for byte as it was: order, indentation, comments,
//! trailing commas, line ends and a byte-order mark. The result is parsed again, so that a change which
//! cannot be read back is an error and never a file. A file that does not parse is left alone.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::host::table::Extra;

/// Most levels of nesting.
const DEPTH_LIMIT: usize = 128;

/// Why a text could not be read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsoncFault {
    /// It is not JSON, nor JSON with comments.
    #[error("it is not JSON at byte {0}")]
    Malformed(usize),
    /// It nests too deeply.
    #[error("it nests more than {DEPTH_LIMIT} levels deep")]
    TooDeep,
    /// Something stands where an object or a list is needed.
    #[error("`{0}` is there and is not what hooks are kept in")]
    InTheWay(String),
    /// A change did not come out as it should.
    #[error("the change could not be read back")]
    NotReadBack,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

#[derive(Clone, Debug)]
struct Member {
    start: usize,
    key: String,
    value: Node,
}

/// Reads a text; one without anything in it is an empty object.
///
/// # Errors
/// When it does not parse.
pub fn value(text: &str) -> Result<Value, JsoncFault> {
    if is_blank(text) {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    Ok(parse(text)?.value())
}

/// Adds a value at the end of the list at `path`; objects and lists that are not there yet are made.
///
/// # Errors
/// When the text does not parse, or something else stands in the way.
pub fn append(text: &str, path: &[String], element: &Value) -> Result<String, JsoncFault> {
    if is_blank(text) {
        return Ok(format!("{}\n", pretty(&within(path, element), "  ", "", "\n")));
    }
    let root = parse(text)?;
    let mut node = &root;
    for (place, key) in path.iter().enumerate() {
        let Kind::Object(members) = &node.kind else { return Err(JsoncFault::InTheWay(path_text(path, place))) };
        match members.iter().rev().find(|member| member.key == *key) {
            Some(member) => node = &member.value,
            None => {
                let rest = path.get(place + 1..).unwrap_or_default();
                return read_back(add(text, &root, node, Some(key), &within(rest, element)));
            }
        }
    }
    match &node.kind {
        Kind::Array(_) => read_back(add(text, &root, node, None, element)),
        Kind::Object(_) | Kind::Scalar(_) => Err(JsoncFault::InTheWay(path_text(path, path.len()))),
    }
}

/// Adds a member to the outermost object, unless its key is there.
///
/// # Errors
/// When the text does not parse, or is not an object.
pub fn member(text: &str, key: &str, value: &Value) -> Result<String, JsoncFault> {
    if is_blank(text) {
        let object = Value::Object([(key.to_owned(), value.clone())].into_iter().collect());
        return Ok(format!("{}\n", pretty(&object, "  ", "", "\n")));
    }
    let root = parse(text)?;
    match &root.kind {
        Kind::Object(members) if members.iter().any(|member| member.key == key) => Ok(text.to_owned()),
        Kind::Object(_) => read_back(add(text, &root, &root, Some(key), value)),
        Kind::Array(_) | Kind::Scalar(_) => Err(JsoncFault::InTheWay("the outermost value".to_owned())),
    }
}

/// Cuts every element of a list which `ours` says is ours, with each list, group and member that
/// becomes empty by it.
///
/// # Errors
/// When the text does not parse.
pub fn take_out(text: &str, ours: &dyn Fn(&Value) -> bool) -> Result<String, JsoncFault> {
    let mut text = text.to_owned();
    if is_blank(&text) {
        return Ok(text);
    }
    loop {
        let root = parse(&text)?;
        let Some((start, end)) = first_cut(&text, &root, ours) else { return Ok(text) };
        text.replace_range(start..end, "");
        parse(&text).map_err(|_| JsoncFault::NotReadBack)?;
    }
}

/// What a text holds beyond plain JSON.
pub fn extras(text: &str) -> BTreeSet<Extra> {
    let mut found = BTreeSet::new();
    if text.starts_with('\u{feff}') {
        found.insert(Extra::Mark);
    }
    let mut rest = text;
    let mut after_comma = false;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            found.insert(Extra::Comments);
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            found.insert(Extra::Comments);
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' {
            after_comma = false;
            let length = string_length(rest);
            let string = rest.get(..length).unwrap_or_default();
            let closes = |opened: usize| rest.get(opened..).is_some_and(|rest| rest.contains("*/"));
            if string.contains("//") || string.find("/*").is_some_and(closes) {
                found.insert(Extra::Within);
            }
            length
        } else {
            if after_comma && matches!(first, '}' | ']') {
                found.insert(Extra::Commas);
            }
            if !first.is_whitespace() {
                after_comma = first == ',';
            }
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// Bytes of the string that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

fn path_text(path: &[String], length: usize) -> String {
    if length == 0 {
        return "the outermost value".to_owned();
    }
    path.iter().take(length).map(String::as_str).collect::<Vec<_>>().join(".")
}

fn within(path: &[String], element: &Value) -> Value {
    let list = Value::Array(vec![element.clone()]);
    path.iter().rev().fold(list, |inner, key| Value::Object([(key.clone(), inner)].into_iter().collect()))
}

fn read_back(text: String) -> Result<String, JsoncFault> {
    parse(&text).map_err(|_| JsoncFault::NotReadBack)?;
    Ok(text)
}

impl Node {
    /// The value without where it stands; of a key that is there twice the last counts, as in JSON.parse.
    fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                Value::Object(members.iter().map(|member| (member.key.clone(), member.value.value())).collect())
            }
            Kind::Array(elements) => Value::Array(elements.iter().map(Self::value).collect()),
            Kind::Scalar(value) => value.clone(),
        }
    }

    /// Where its children stand, keys included.
    fn children(&self) -> Vec<(usize, usize)> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| (member.start, member.value.end)).collect(),
            Kind::Array(elements) => elements.iter().map(|element| (element.start, element.end)).collect(),
            Kind::Scalar(_) => Vec::new(),
        }
    }
}

/// The text with one more child in a container, laid out as its neighbours are.
fn add(text: &str, root: &Node, container: &Node, key: Option<&str>, value: &Value) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let step = root
        .children()
        .first()
        .and_then(|(start, _)| own_line_indent(text, *start))
        .filter(|indent| !indent.is_empty())
        .unwrap_or("  ");
    let key = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
    let children = container.children();
    let mut changed = text.to_owned();
    match (children.first(), children.last()) {
        (Some((first, _)), Some((_, last))) => {
            let addition = match own_line_indent(text, *first) {
                Some(indent) => format!(",{newline}{indent}{key}{}", pretty(value, step, indent, newline)),
                None => format!(", {key}{value}"),
            };
            changed.insert_str(*last, &addition);
        }
        _ => {
            let outer = line_indent(text, container.start);
            let indent = format!("{outer}{step}");
            let body = format!("{newline}{indent}{key}{}", pretty(value, step, &indent, newline));
            let inside = text.get(container.start + 1..container.end - 1).unwrap_or_default();
            let closing = if inside.contains('\n') { String::new() } else { format!("{newline}{outer}") };
            changed.insert_str(container.start + 1, &format!("{body}{closing}"));
        }
    }
    changed
}

/// The white space before `at` when nothing else stands on its line.
fn own_line_indent(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let indent = before.get(before.rfind('\n')? + 1..)?;
    indent.chars().all(|character| matches!(character, ' ' | '\t')).then_some(indent)
}

/// The white space at the start of the line of `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.get(before.rfind('\n').map_or(0, |newline| newline + 1)..).unwrap_or_default();
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..length).unwrap_or_default()
}

/// JSON over several lines, the first of which is already indented.
fn pretty(value: &Value, step: &str, indent: &str, newline: &str) -> String {
    let inner = format!("{indent}{step}");
    let block = |open: char, close: char, lines: Vec<String>| {
        if lines.is_empty() {
            return format!("{open}{close}");
        }
        let separator = format!(",{newline}{inner}");
        format!("{open}{newline}{inner}{}{newline}{indent}{close}", lines.join(&separator))
    };
    match value {
        Value::Object(map) => {
            let line = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), pretty(value, step, &inner, newline))
            };
            block('{', '}', map.iter().map(line).collect())
        }
        Value::Array(list) if list.iter().any(|value| value.is_object() || value.is_array()) => {
            block('[', ']', list.iter().map(|value| pretty(value, step, &inner, newline)).collect())
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The first stretch that goes: an element of ours, or what holds nothing but elements of ours.
fn first_cut(text: &str, node: &Node, ours: &dyn Fn(&Value) -> bool) -> Option<(usize, usize)> {
    let gone = |child: &Node| goes(child, ours);
    match &node.kind {
        Kind::Scalar(_) => None,
        Kind::Object(members) => {
            if let Some(place) =
                members.iter().position(|member| matches!(member.value.kind, Kind::Array(_)) && gone(&member.value))
            {
                return cut(text, node, place);
            }
            members.iter().find_map(|member| first_cut(text, &member.value, ours))
        }
        Kind::Array(elements) => {
            if let Some(place) = elements.iter().position(gone) {
                return cut(text, node, place);
            }
            elements.iter().find_map(|element| first_cut(text, element, ours))
        }
    }
}

/// Whether a value is ours, or holds a list of which every element goes. An empty list of somebody
/// else's stays.
fn goes(node: &Node, ours: &dyn Fn(&Value) -> bool) -> bool {
    match &node.kind {
        Kind::Scalar(_) => false,
        Kind::Array(elements) => !elements.is_empty() && elements.iter().all(|element| goes(element, ours)),
        Kind::Object(members) => {
            ours(&node.value())
                || members.iter().any(|member| {
                    member.key == "hooks" && matches!(member.value.kind, Kind::Array(_)) && goes(&member.value, ours)
                })
        }
    }
}

/// From the end of the child before to the end of this one; of a first child, up to the next.
fn cut(text: &str, container: &Node, place: usize) -> Option<(usize, usize)> {
    let children = container.children();
    let (start, end) = *children.get(place)?;
    if let Some(before) = place.checked_sub(1).and_then(|before| children.get(before)) {
        return Some((before.1, end));
    }
    match children.get(place + 1) {
        Some((next, _)) => Some((start, *next)),
        // The only one: what is around it goes too when it is white space and one trailing comma.
        None => {
            let inside = (container.start + 1, container.end - 1);
            let left = text.get(inside.0..start)?;
            let right = text.get(end..inside.1)?;
            let blank = left.trim().is_empty() && right.trim_matches([',', ' ', '\t', '\r', '\n']).is_empty();
            let comma = right.trim_start().starts_with(',');
            let past_comma = end + right.find(',').map_or(0, |at| at + 1);
            Some(if blank {
                inside
            } else if comma {
                (start, past_comma)
            } else {
                (start, end)
            })
        }
    }
}

fn parse(text: &str) -> Result<Node, JsoncFault> {
    let mut reader = Reader { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } };
    reader.blank()?;
    let node = reader.node(0)?;
    reader.blank()?;
    if reader.at == text.len() { Ok(node) } else { Err(JsoncFault::Malformed(reader.at)) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn malformed<T>(&self) -> Result<T, JsoncFault> {
        Err(JsoncFault::Malformed(self.at))
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Result<(), JsoncFault> {
        loop {
            let rest = self.rest();
            if let Some(comment) = rest.strip_prefix("//") {
                self.at += 2 + comment.find('\n').unwrap_or(comment.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else { return self.malformed() };
                self.at += 2 + length + 2;
            } else {
                let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
                if length == 0 {
                    return Ok(());
                }
                self.at += length;
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, JsoncFault> {
        if depth > DEPTH_LIMIT {
            return Err(JsoncFault::TooDeep);
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => {
                let mut members = Vec::new();
                self.list(b'}', |reader| {
                    let start = reader.at;
                    let Value::String(key) = reader.string()? else { return reader.malformed() };
                    reader.blank()?;
                    reader.expect(b':')?;
                    reader.blank()?;
                    members.push(Member { start, key, value: reader.node(depth + 1)? });
                    Ok(())
                })?;
                Kind::Object(members)
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.list(b']', |reader| {
                    elements.push(reader.node(depth + 1)?);
                    Ok(())
                })?;
                Kind::Array(elements)
            }
            Some(b'"') => Kind::Scalar(self.string()?),
            Some(_) => Kind::Scalar(self.word()?),
            None => return self.malformed(),
        };
        Ok(Node { start, end: self.at, kind })
    }

    /// The children of a container, a trailing comma allowed.
    fn list(
        &mut self,
        close: u8,
        mut child: impl FnMut(&mut Self) -> Result<(), JsoncFault>,
    ) -> Result<(), JsoncFault> {
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(close) {
                break;
            }
            child(self)?;
            self.blank()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => break,
                _ => return self.malformed(),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsoncFault> {
        if self.peek() != Some(byte) {
            return self.malformed();
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Value, JsoncFault> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return self.malformed(),
            }
        }
        self.at += 1;
        self.scalar(start)
    }

    fn word(&mut self) -> Result<Value, JsoncFault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        self.scalar(start)
    }

    fn scalar(&self, start: usize) -> Result<Value, JsoncFault> {
        let text = self.text.get(start..self.at).ok_or(JsoncFault::Malformed(start))?;
        serde_json::from_str(text).map_err(|_| JsoncFault::Malformed(start))
    }
}
