//! POSIX regular expressions as the engine here reads them.

use regex::bytes::{Regex, RegexBuilder};

/// Which of the two syntaxes, and what is asked of a match.
#[derive(Clone, Copy)]
pub(super) struct Syntax {
    /// `-E`.
    pub extended: bool,
    pub ignores_case: bool,
    /// Whether only a line's matching counts, and not what of it matched: the longest of several ways is then the
    /// same as the first.
    pub only_whether: bool,
}

/// The pattern; `None` where it holds what the two engines may read differently.
pub(super) fn compile(pattern: &[u8], syntax: Syntax) -> Option<Regex> {
    let translated = Translation { rest: pattern, out: String::new(), syntax, atom: false, quantified: false }.run()?;
    RegexBuilder::new(&translated).case_insensitive(syntax.ignores_case).build().ok()
}

/// Whether a character of several bytes may be read as one or as several by the pattern.
pub(super) fn depends_on_locale(pattern: &[u8]) -> bool {
    pattern.contains(&b'.') || pattern.contains(&b'[') || pattern.contains(&b'\\') || !pattern.is_ascii()
}

struct Translation<'a> {
    rest: &'a [u8],
    out: String,
    syntax: Syntax,
    /// Whether something stands before that a quantifier would count.
    atom: bool,
    quantified: bool,
}

impl Translation<'_> {
    fn run(mut self) -> Option<String> {
        while let Some((byte, after)) = self.rest.split_first() {
            let at_start = self.out.is_empty()
                || ["(", "|"].iter().any(|sign| self.out.ends_with(sign) && !self.out.ends_with(&format!("\\{sign}")));
            self.rest = after;
            match byte {
                b'\\' => self.escaped()?,
                b'[' => self.bracket()?,
                b'*' if !self.atom => {
                    if self.syntax.extended {
                        return None;
                    }
                    self.literal(b'*');
                }
                b'*' => self.quantifier("*")?,
                b'.' => self.plain("."),
                b'^' if at_start => self.out.push('^'),
                b'^' if self.syntax.extended => return None,
                b'^' => self.literal(b'^'),
                b'$' if after.is_empty() || self.ends_group(after) => self.out.push('$'),
                b'$' if self.syntax.extended => return None,
                b'$' => self.literal(b'$'),
                b'+' | b'?' if self.syntax.extended => self.quantifier(if *byte == b'+' { "+" } else { "?" })?,
                b'(' if self.syntax.extended => self.open(),
                b')' if self.syntax.extended => self.close(),
                b'{' if self.syntax.extended => self.interval(b"}")?,
                b'|' if self.syntax.extended => self.or()?,
                byte if byte.is_ascii() => self.literal(*byte),
                _ => return None,
            }
        }
        Some(self.out)
    }

    fn ends_group(&self, after: &[u8]) -> bool {
        if self.syntax.extended {
            after.starts_with(b")") || after.starts_with(b"|")
        } else {
            after.starts_with(b"\\)")
        }
    }

    fn plain(&mut self, text: &str) {
        self.out.push_str(text);
        self.atom = true;
        self.quantified = false;
    }

    fn literal(&mut self, byte: u8) {
        let text = regex::escape(&char::from(byte).to_string());
        self.plain(&text);
    }

    fn open(&mut self) {
        self.out.push('(');
        self.atom = false;
    }

    fn close(&mut self) {
        self.out.push(')');
        self.atom = true;
        self.quantified = false;
    }

    fn or(&mut self) -> Option<()> {
        self.out.push('|');
        self.atom = false;
        self.syntax.only_whether.then_some(())
    }

    /// A group that may be left out or come again matches differently in the two engines.
    fn quantifier(&mut self, sign: &str) -> Option<()> {
        let of_group = self.out.ends_with(')') && !self.out.ends_with("\\)");
        if !self.atom || self.quantified || of_group && !self.syntax.only_whether {
            return None;
        }
        self.out.push_str(sign);
        self.quantified = true;
        Some(())
    }

    fn interval(&mut self, end: &[u8]) -> Option<()> {
        let at = self.rest.windows(end.len()).position(|part| part == end)?;
        let (inside, after) = self.rest.split_at(at);
        if !inside.first().is_some_and(u8::is_ascii_digit)
            || !inside.iter().all(|byte| byte.is_ascii_digit() || *byte == b',')
        {
            return None;
        }
        let inside = format!("{{{}}}", std::str::from_utf8(inside).ok()?);
        self.rest = after.get(end.len()..)?;
        self.quantifier(&inside)
    }

    fn escaped(&mut self) -> Option<()> {
        let (byte, after) = self.rest.split_first()?;
        self.rest = after;
        let basic = !self.syntax.extended;
        match byte {
            b'(' if basic => self.open(),
            b')' if basic => self.close(),
            b'{' if basic => self.interval(b"\\}")?,
            b'|' if basic => self.or()?,
            b'+' if basic => self.quantifier("+")?,
            b'?' if basic => self.quantifier("?")?,
            b'n' => self.plain("\\n"),
            b't' => self.plain("\\t"),
            b'w' => self.plain("[0-9A-Za-z_]"),
            b's' => self.plain("[ \\t\\n\\r\\x0b\\x0c]"),
            // Ends of words and of the text.
            b'<' | b'>' | b'`' | b'\'' => return None,
            byte if byte.is_ascii_punctuation() => self.literal(*byte),
            _ => return None,
        }
        Some(())
    }

    fn bracket(&mut self) -> Option<()> {
        let mut set = String::from("[");
        if let Some(after) = self.rest.strip_prefix(b"^") {
            set.push('^');
            self.rest = after;
        }
        let mut first = true;
        loop {
            let (byte, after) = self.rest.split_first()?;
            match byte {
                b']' if !first => {
                    self.rest = after;
                    break;
                }
                b'[' if after.starts_with(b":") => {
                    let end = after.windows(2).position(|pair| pair == b":]")?;
                    let name = std::str::from_utf8(after.get(1..end)?).ok()?;
                    let known = ["alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "xdigit"];
                    if !known.contains(&name) {
                        return None;
                    }
                    set.push_str(&format!("[:{name}:]"));
                    self.rest = after.get(end + 2..)?;
                }
                b'[' if after.starts_with(b".") || after.starts_with(b"=") => return None,
                b'\\' => return None,
                byte if byte.is_ascii() => {
                    push_escaped(&mut set, *byte);
                    self.rest = after;
                    if let [b'-', end, ..] = self.rest
                        && *end != b']'
                    {
                        if !end.is_ascii_alphanumeric() || !byte.is_ascii_alphanumeric() {
                            return None;
                        }
                        set.push('-');
                        push_escaped(&mut set, *end);
                        self.rest = self.rest.get(2..)?;
                    }
                }
                _ => return None,
            }
            first = false;
        }
        set.push(']');
        self.plain(&set);
        Some(())
    }
}

fn push_escaped(set: &mut String, byte: u8) {
    if byte.is_ascii_punctuation() {
        set.push('\\');
    }
    set.push(char::from(byte));
}
