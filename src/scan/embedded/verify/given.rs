//! Whether a text gives a value to a name, or only has both near each other.
//!
//! A rule's pattern takes whatever may stand between a name and its value in any language; here the signs
//! between them are read: an assignment, a pair, a cell of a table, an element, an argument, a sentence.
//! Two words side by side are none of these.

/// Whether the match gives the value to the name; `before` is all of it before the value.
pub(super) fn is_given(before: &[u8]) -> bool {
    let at = before.iter().rposition(|byte| is_part(*byte)).map_or(0, |at| at + 1);
    let (front, between) = before.split_at_checked(at).unwrap_or((before, &[]));
    let start = front.iter().rposition(|byte| !is_part(*byte)).map_or(0, |at| at + 1);
    let name = front.get(start..).unwrap_or(front);
    let is_quoted = between.iter().rev().find(|byte| **byte != b'\\').is_some_and(|byte| is_quote(*byte));
    if matches!(name, b"is" | b"was" | b"to" | b"as") {
        return is_sentence(front, between, name);
    }
    if is_scheme(name) && between.iter().all(|byte| *byte == b' ' || is_quote(*byte)) {
        // `Authorization: Bearer …`: the scheme stands between the header and its value.
        let rest = front.get(..front.len() - name.len()).unwrap_or_default().trim_ascii_end();
        return rest.iter().rev().find(|byte| !is_quote(**byte)).is_some_and(|byte| matches!(byte, b':' | b'='));
    }
    let holds = |one: u8| between.contains(&one);
    // What a test says of itself: `PASS: gdb.base/attach2`.
    // In a text within a text the line break before it is written `\n`.
    let outcome = name.strip_prefix(b"n").unwrap_or(name);
    if matches!(outcome, b"PASS" | b"XPASS" | b"Pass" | b"KPASS") && !is_quoted && !holds(b'=') {
        return false;
    }
    if holds(b'=') || holds(b':') && !between.windows(2).any(|two| two == b"::") {
        return true;
    }
    // An element of XML, with or without attributes.
    if between.iter().find(|byte| !is_quote(**byte)) == Some(&b'>') {
        return true;
    }
    // A cell of a table; a bar without blanks parts alternatives. A value in backticks of its own.
    let is_cell = between.windows(2).any(|two| matches!(two, [b'|', b' '] | [b' ', b'`']));
    if is_cell && (name.len() >= 5 || is_compound(name) || front.len() > name.len() || holds(b'|')) {
        return true;
    }
    if holds(b'(') || holds(b',') {
        let is_record = between == b"," && is_shouted(name);
        return is_record || is_quoted && is_compound(name);
    }
    // An option of a command, a variable of a Dockerfile, an attribute of a module.
    !between.is_empty()
        && between.iter().all(|byte| matches!(byte, b' ' | b'\t') || is_quote(*byte))
        && (name.starts_with(b"--") || is_shouted(name) || is_quoted && name.contains(&b'_'))
}

/// Whether a verb gives the value: `the access token is …`, `set API_TOKEN to …`.
fn is_sentence(front: &[u8], between: &[u8], verb: &[u8]) -> bool {
    if !between.iter().all(|byte| *byte == b' ' || is_quote(*byte)) || between.is_empty() {
        return false;
    }
    let rest = front.get(..front.len() - verb.len()).unwrap_or_default();
    let at = rest.iter().rposition(|byte| is_part(*byte)).map_or(0, |at| at + 1);
    let (front, marks) = rest.split_at_checked(at).unwrap_or((rest, &[]));
    if !marks.contains(&b' ') || !marks.iter().all(|byte| *byte == b' ' || *byte == b'*' || is_quote(*byte)) {
        return false;
    }
    let start = front.iter().rposition(|byte| !is_part(*byte)).map_or(0, |at| at + 1);
    let name = front.get(start..).unwrap_or(front);
    match verb {
        b"is" | b"was" => name.len() >= 5 || is_shouted(name) || front.len() > name.len() && name.len() >= 3,
        b"to" | b"as" => is_shouted(name) || marks.len() > 1 && is_compound(name),
        _ => false,
    }
}

/// A scheme of HTTP's authentication.
fn is_scheme(name: &[u8]) -> bool {
    [&b"bearer"[..], b"token", b"basic", b"apikey"].iter().any(|scheme| name.eq_ignore_ascii_case(scheme))
}

/// Part of an identifier.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// The name of a variable of the environment: `DB_PASSWORD`.
fn is_shouted(name: &[u8]) -> bool {
    name.contains(&b'_') && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// A name of several words, which no word of a sentence is: `api_token`, `setPassword`, `TOKEN`.
fn is_compound(name: &[u8]) -> bool {
    let (lower, upper) = (name.iter().any(u8::is_ascii_lowercase), name.iter().any(u8::is_ascii_uppercase));
    name.iter().any(|byte| matches!(byte, b'_' | b'-' | b'.')) || upper && (lower || name.len() > 4)
}
