//! `sed`, without its hold space and its jumps.

use bstr::{BStr, BString, ByteSlice};
use regex::bytes::Regex;

use super::pattern::{Syntax, compile, depends_on_locale};
use super::{Reader, Source, has, options, split, value, whole};

/// A call of sed that is understood.
pub(in crate::command) struct Call<'a> {
    script: Vec<Command>,
    quiet: bool,
    /// Whether characters of several bytes may be read in two ways.
    only_ascii: bool,
    /// Whether it edits its files in place.
    pub in_place: bool,
    /// The files that it names.
    pub files: Vec<&'a BStr>,
}

struct Command {
    from: Option<Address>,
    to: Option<Address>,
    negated: bool,
    action: Action,
    /// Where a range that has begun ends: at a line, or where the second address says.
    within: bool,
}

enum Address {
    Line(usize),
    Last,
    Matching(Regex),
}

enum Action {
    Delete,
    Print,
    Quit,
    Number,
    Before(BString),
    After(BString),
    Replace { pattern: Regex, with: Vec<Piece>, every: bool, at: usize, prints: bool },
    Change(BString),
}

enum Piece {
    Text(u8),
    Group(usize),
}

pub(super) fn output(words: &[&BStr], read: Reader<'_>) -> Option<Vec<u8>> {
    let mut call = Call::read(words)?;
    if call.in_place {
        return None;
    }
    let text = whole(&call.files.clone(), read)?;
    call.run(&text)
}

/// The files that a call edits, as it leaves them.
pub(in crate::command) fn edited<'a>(words: &[&'a BStr], read: Reader<'_>) -> Option<Vec<(&'a BStr, Vec<u8>)>> {
    let call = Call::read(words)?;
    let quits = call.script.iter().any(|command| matches!(command.action, Action::Quit));
    if !call.in_place || call.files.is_empty() || quits {
        return None;
    }
    let mut edited = Vec::new();
    for file in &call.files {
        let text = read(Source::File(file))?;
        edited.push((*file, Call::read(words)?.run(&text)?));
    }
    Some(edited)
}

impl<'a> Call<'a> {
    fn read(words: &[&'a BStr]) -> Option<Self> {
        // `-i` takes what follows it in its own word.
        let mut in_place = false;
        let mut own: Vec<&'a BStr> = Vec::new();
        for word in words {
            match word.as_bytes() {
                b"-i" | b"--in-place" => in_place = true,
                b"--quiet" | b"--silent" => own.push(BStr::new("-n")),
                b"--regexp-extended" => own.push(BStr::new("-E")),
                b"-ni" | b"-Ei" | b"-ri" => {
                    in_place = true;
                    own.push(word.get(..2)?.as_bstr());
                }
                other if other.starts_with(b"-i") || other.starts_with(b"--") => return None,
                _ => own.push(word),
            }
        }
        let (options, mut operands) = options(&own, b"nErs", b"e")?;
        let extended = has(&options, b'E') || has(&options, b'r');
        let scripts: Vec<&BStr> = options.iter().filter(|(letter, _)| *letter == b'e').map(|(_, text)| *text).collect();
        let text = match value(&options, b'e') {
            Some(_) => bstr::join("\n", scripts),
            None if operands.is_empty() => return None,
            None => operands.remove(0).to_vec(),
        };
        if has(&options, b's') && operands.len() > 1 {
            return None;
        }
        let script = Script { rest: &text, extended }.commands()?;
        Some(Self {
            script,
            quiet: has(&options, b'n'),
            only_ascii: depends_on_locale(&text),
            in_place,
            files: operands,
        })
    }

    fn run(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        if self.only_ascii && !text.is_ascii() {
            return None;
        }
        let (lines, ends) = split(text);
        let count = lines.len();
        let mut out = Output::default();
        for (at, line) in lines.into_iter().enumerate() {
            let last = at + 1 == count;
            let ended = !last || ends;
            let mut space = BString::from(line);
            let (mut deleted, mut quits) = (false, false);
            let mut after: Vec<BString> = Vec::new();
            for command in &mut self.script {
                if !command.applies(at + 1, last, &space) {
                    continue;
                }
                match &command.action {
                    Action::Delete => deleted = true,
                    Action::Print => out.line(&space, ended),
                    Action::Quit => quits = true,
                    Action::Number => out.line(format!("{}", at + 1).as_bytes(), true),
                    Action::Before(text) => out.line(text, true),
                    Action::After(text) => after.push(text.clone()),
                    Action::Change(text) => {
                        out.line(text, true);
                        deleted = true;
                    }
                    Action::Replace { pattern, with, every, at: which, prints } => {
                        let (replaced, changed) = replaced(&space, pattern, with, *every, *which);
                        space = replaced;
                        if changed && *prints {
                            out.line(&space, ended);
                        }
                    }
                }
                if deleted || quits {
                    break;
                }
            }
            if !deleted && !self.quiet {
                out.line(&space, ended);
            }
            for text in after {
                out.line(&text, true);
            }
            if quits {
                break;
            }
        }
        Some(out.text)
    }
}

#[derive(Default)]
struct Output {
    text: Vec<u8>,
    /// Whether the line before has no end.
    open: bool,
}

impl Output {
    fn line(&mut self, line: &[u8], ended: bool) {
        if self.open {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(line);
        if ended {
            self.text.push(b'\n');
        }
        self.open = !ended;
    }
}

impl Command {
    fn applies(&mut self, at: usize, last: bool, line: &[u8]) -> bool {
        self.is_chosen(at, last, line) != self.negated
    }

    fn is_chosen(&mut self, at: usize, last: bool, line: &[u8]) -> bool {
        let Some(from) = &self.from else { return true };
        let Some(to) = &self.to else { return from.is_at(at, last, line) };
        if self.within {
            self.within = match to {
                Address::Line(end) => at < *end,
                Address::Last => !last,
                Address::Matching(pattern) => !pattern.is_match(line),
            };
            return true;
        }
        let begins = from.is_at(at, last, line);
        if begins {
            self.within = match to {
                Address::Line(end) => *end > at,
                Address::Last => !last,
                Address::Matching(_) => true,
            };
        }
        begins
    }
}

impl Address {
    fn is_at(&self, at: usize, last: bool, line: &[u8]) -> bool {
        match self {
            Self::Line(number) => *number == at,
            Self::Last => last,
            Self::Matching(pattern) => pattern.is_match(line),
        }
    }
}

fn replaced(line: &[u8], pattern: &Regex, with: &[Piece], every: bool, which: usize) -> (BString, bool) {
    let mut out = BString::default();
    let (mut from, mut count, mut changed) = (0, 0, false);
    for found in pattern.captures_iter(line) {
        let Some(whole) = found.get(0) else { continue };
        count += 1;
        if count < which || count > which && !every {
            continue;
        }
        changed = true;
        out.extend_from_slice(line.get(from..whole.start()).unwrap_or_default());
        for piece in with {
            match piece {
                Piece::Text(byte) => out.push(*byte),
                Piece::Group(at) => {
                    out.extend_from_slice(found.get(*at).map(|group| group.as_bytes()).unwrap_or_default());
                }
            }
        }
        from = whole.end();
    }
    out.extend_from_slice(line.get(from..).unwrap_or_default());
    (out, changed)
}

struct Script<'t> {
    rest: &'t [u8],
    extended: bool,
}

impl Script<'_> {
    fn commands(mut self) -> Option<Vec<Command>> {
        let mut commands = Vec::new();
        loop {
            self.rest = self.rest.trim_start_with(|letter| letter == ';' || letter.is_ascii_whitespace());
            if self.rest.is_empty() {
                return Some(commands);
            }
            let from = self.address()?;
            let mut to = None;
            if from.is_some()
                && let Some(after) = self.rest.strip_prefix(b",")
            {
                self.rest = after;
                to = Some(self.address()??);
            }
            self.blanks();
            let mut negated = false;
            while let Some(after) = self.rest.strip_prefix(b"!") {
                self.rest = after;
                negated = true;
                self.blanks();
            }
            let action = self.action()?;
            if matches!(action, Action::Change(_)) && (to.is_some() || negated) {
                return None;
            }
            commands.push(Command { from, to, negated, action, within: false });
        }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_with(|letter| letter == ' ' || letter == '\t');
    }

    /// The outer `None` for an address that is not modelled, the inner for none.
    #[allow(clippy::option_option)]
    fn address(&mut self) -> Option<Option<Address>> {
        let (first, after) = self.rest.split_first()?;
        Some(Some(match first {
            b'$' => {
                self.rest = after;
                Address::Last
            }
            b'0'..=b'9' => {
                let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, after) = self.rest.split_at(digits);
                self.rest = after;
                let number = super::number(digits.as_bstr())?;
                if number == 0 || after.starts_with(b"~") {
                    return None;
                }
                Address::Line(number)
            }
            b'/' => {
                self.rest = after;
                let text = self.until(b'/')?;
                if matches!(self.rest.first(), Some(b'I' | b'M')) {
                    return None;
                }
                Address::Matching(self.pattern(&text, false, true)?)
            }
            b'\\' | b'+' | b'~' => return None,
            _ => return Some(None),
        }))
    }

    fn pattern(&self, text: &[u8], ignores_case: bool, only_whether: bool) -> Option<Regex> {
        // An empty one stands for the last that was used.
        let syntax = Syntax { extended: self.extended, ignores_case, only_whether };
        if text.is_empty() { None } else { compile(text, syntax) }
    }

    /// Up to a sign that nothing keeps from ending it; what stands behind it is next.
    fn until(&mut self, end: u8) -> Option<BString> {
        let mut text = BString::default();
        loop {
            let (byte, after) = self.rest.split_first()?;
            self.rest = after;
            match byte {
                byte if *byte == end => return Some(text),
                b'\n' => return None,
                b'\\' => {
                    let (next, after) = self.rest.split_first()?;
                    self.rest = after;
                    if *next == end {
                        // The sign itself; where it has a meaning of its own that is not clear.
                        if b".*[]^$+?(){}|\\&0123456789".contains(next) {
                            return None;
                        }
                        text.push(*next);
                    } else {
                        text.extend_from_slice(&[b'\\', *next]);
                    }
                }
                byte => text.push(*byte),
            }
        }
    }

    fn action(&mut self) -> Option<Action> {
        let (name, after) = self.rest.split_first()?;
        self.rest = after;
        let action = match name {
            b'd' => Action::Delete,
            b'p' => Action::Print,
            b'q' => Action::Quit,
            b'=' => Action::Number,
            b'a' => return self.text().map(Action::After),
            b'i' => return self.text().map(Action::Before),
            b'c' => return self.text().map(Action::Change),
            b's' => self.replacement()?,
            _ => return None,
        };
        self.blanks();
        match self.rest.first() {
            None | Some(b';' | b'\n') => Some(action),
            Some(_) => None,
        }
    }

    /// The text of `a`, `i` and `c`, to the end of the line.
    fn text(&mut self) -> Option<BString> {
        self.blanks();
        if let Some(after) = self.rest.strip_prefix(b"\\") {
            self.rest = after.strip_prefix(b"\n").unwrap_or(after);
        }
        let end = self.rest.find_byte(b'\n').unwrap_or(self.rest.len());
        let (text, after) = self.rest.split_at(end);
        self.rest = after;
        if text.contains(&b'\\') || text.is_empty() { None } else { Some(text.into()) }
    }

    fn replacement(&mut self) -> Option<Action> {
        let (sign, after) = self.rest.split_first()?;
        if sign.is_ascii_whitespace() || *sign == b'\\' || !sign.is_ascii() {
            return None;
        }
        self.rest = after;
        let text = self.until(*sign)?;
        let with = self.until(*sign)?;
        let (mut every, mut prints, mut ignores_case, mut at) = (false, false, false, 1);
        while let Some((flag, after)) = self.rest.split_first() {
            match flag {
                b'g' => every = true,
                b'p' => prints = true,
                b'I' | b'i' => ignores_case = true,
                b'1'..=b'9' => at = usize::from(flag - b'0'),
                _ => break,
            }
            self.rest = after;
        }
        let pattern = self.pattern(&text, ignores_case, false)?;
        let with = pieces(&with, pattern.captures_len())?;
        Some(Action::Replace { pattern, with, every, at, prints })
    }
}

fn pieces(text: &[u8], groups: usize) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        pieces.push(match byte {
            b'&' => Piece::Group(0),
            b'\\' => match rest.next()? {
                digit @ b'1'..=b'9' => Piece::Group(Some(usize::from(digit - b'0')).filter(|at| *at < groups)?),
                b'n' => Piece::Text(b'\n'),
                b't' => Piece::Text(b'\t'),
                punctuation if punctuation.is_ascii_punctuation() => Piece::Text(*punctuation),
                _ => return None,
            },
            byte => Piece::Text(*byte),
        });
    }
    Some(pieces)
}
