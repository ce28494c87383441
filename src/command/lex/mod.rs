//! Where each construct of a command line begins and ends, byte for byte as bash sees it.
//!
//! Promise: a reader never runs out of stack, time or memory on any text: what goes past
//! [`MAX_TEXT_BYTES`], [`MAX_DEPTH`] or the fuel ends in [`Stop::Limit`]. Within them its idea of where
//! quotes, substitutions, here-documents and words end is bash 5.2's (measured against it).
//!
//! The reader walks over bytes. A `\` before a line end disappears wherever bash lets it disappear, so
//! all looking ahead goes through [`Reader::peek`]. Commands are [`super::parse`]'s.

mod delimiter;
pub(super) mod dollar;
mod heredoc;
mod quote;
pub(super) mod word;
mod zsh_dollar;

use std::cell::Cell;
use std::rc::Rc;

use bstr::BString;

use super::ast::{HereBody, Span};
use std::cell::OnceCell;

pub use quote::{Ansi, decode_ansi};

/// Longest text that is read, in bytes. Commands that agents write are under 64 KiB.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// Deepest nesting of constructs that is read. One level takes under 4 KiB of stack in a release
/// build, and callers give the reader a stack of its own ([`super::read::with_stack`]).
pub const MAX_DEPTH: u32 = 100;

/// Steps a reader may make for each byte of its text: ambiguous openings (`((`, `$((`) are read twice.
const FUEL_PER_BYTE: u64 = 64;

/// Steps it may make in any case.
const FUEL_BASE: u64 = 1 << 16;

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A syntax error: bash runs nothing of this line and what follows it.
    Syntax {
        /// What was expected or met.
        what: &'static str,
        /// Where.
        at: u32,
    },
    /// A limit of ours.
    Limit(&'static str),
}

/// Which shell's rules hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// bash 5 (and, near enough, sh).
    #[default]
    Bash,
    /// zsh 5.
    Zsh,
}

/// A here-document whose body has not been reached yet.
pub(super) struct Pending {
    pub delimiter: BString,
    pub quoted: bool,
    pub strip_tabs: bool,
    pub body: Rc<OnceCell<HereBody>>,
}

/// What limits a reader and those it starts for nested texts, together.
#[derive(Clone)]
pub(super) struct Budget {
    pub fuel: Rc<Cell<u64>>,
}

impl Budget {
    /// For a text of `bytes` bytes.
    pub fn for_text(bytes: usize) -> Self {
        Self { fuel: Rc::new(Cell::new(FUEL_BASE + FUEL_PER_BYTE * bytes as u64)) }
    }
}

/// A place in a text, and what has been met so far.
pub struct Reader {
    pub(super) text: Vec<u8>,
    pub(super) pos: usize,
    /// Where this region of the text ends.
    pub(super) end: usize,
    pub(super) depth: u32,
    pub(super) budget: Budget,
    pub(super) dialect: Dialect,
    /// Whether `shopt -s extglob` holds.
    pub(super) extglob: bool,
    pub(super) pending: Vec<Pending>,
    /// Spans of comments and here-documents: data, whatever they hold.
    pub(super) data: Vec<Span>,
    /// Whether this is inside `$( … )` or `<( … )`, whose `)` may stand on a delimiter's line.
    pub(super) in_parentheses: bool,
    /// Every span of a nested text is that of the construct which holds it.
    pub(super) fixed_span: Option<Span>,
    /// The aliases that hold from the next line on.
    pub(super) aliases: super::parse::Aliases,
    /// Expansions of aliases that are not yet passed: the name and where its text ends.
    pub(super) expanding: Vec<(BString, usize)>,
    /// Where an alias's text ended in a blank: the word after it is looked up as an alias too.
    pub(super) alias_after: Option<usize>,
}

pub(super) type Read<T> = Result<T, Stop>;

impl Reader {
    /// A reader at the beginning of `text`.
    ///
    /// # Errors
    /// [`Stop::Limit`] when the text is too long, or holds a NUL, which no shell's argument can.
    pub fn new(text: &[u8], dialect: Dialect) -> Result<Self, Stop> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(Stop::Limit("the text is longer than 256 KiB"));
        }
        if memchr::memchr(0, text).is_some() {
            return Err(Stop::Limit("the text holds a NUL byte"));
        }
        Ok(Self {
            text: text.to_vec(),
            pos: 0,
            end: text.len(),
            depth: 0,
            budget: Budget::for_text(text.len()),
            dialect,
            extglob: false,
            pending: Vec::new(),
            in_parentheses: false,
            data: Vec::new(),
            fixed_span: None,
            aliases: super::parse::Aliases::default(),
            expanding: Vec::new(),
            alias_after: None,
        })
    }

    /// A reader for a text nested in this one's (backquotes, here-documents), which shares its limits.
    pub(super) fn nested(&self, text: Vec<u8>, span: Span) -> Self {
        Self {
            end: text.len(),
            text,
            pos: 0,
            depth: self.depth,
            budget: self.budget.clone(),
            dialect: self.dialect,
            extglob: self.extglob,
            pending: Vec::new(),
            in_parentheses: false,
            data: Vec::new(),
            fixed_span: Some(self.fixed_span.unwrap_or(span)),
            aliases: self.aliases.clone(),
            expanding: Vec::new(),
            alias_after: None,
        }
    }

    /// Goes one construct deeper; every call is paired with [`Reader::ascend`] unless it fails.
    pub(super) fn descend(&mut self) -> Read<()> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::Limit("constructs are nested more than 100 deep"));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// Pays for one step.
    pub(super) fn spend(&self) -> Read<()> {
        self.spend_many(1)
    }

    pub(super) fn spend_many(&self, steps: usize) -> Read<()> {
        match self.budget.fuel.get().checked_sub(steps as u64) {
            Some(rest) => {
                self.budget.fuel.set(rest);
                Ok(())
            }
            None => Err(Stop::Limit("the text needs too many steps to read")),
        }
    }

    pub(super) fn syntax<T>(&self, what: &'static str) -> Read<T> {
        Err(Stop::Syntax { what, at: self.pos as u32 })
    }

    /// The byte at `at`, or 0 past the end: no text holds a NUL.
    pub(super) fn byte(&self, at: usize) -> u8 {
        if at < self.end { self.text.get(at).copied().unwrap_or(0) } else { 0 }
    }

    /// Passes over line continuations; the byte that follows, 0 at the end.
    pub(super) fn peek(&mut self) -> u8 {
        while self.byte(self.pos) == b'\\' && self.byte(self.pos + 1) == b'\n' {
            self.pos += 2;
        }
        self.byte(self.pos)
    }

    /// Where the byte after the one at `at` stands, line continuations passed over.
    pub(super) fn after(&self, at: usize) -> usize {
        let mut next = at + 1;
        while self.byte(next) == b'\\' && self.byte(next + 1) == b'\n' {
            next += 2;
        }
        next
    }

    /// The byte after [`Reader::peek`]'s.
    pub(super) fn peek_second(&mut self) -> u8 {
        self.peek();
        self.byte(self.after(self.pos))
    }

    /// Consumes `operator` when it stands here, continuations inside it allowed.
    pub(super) fn take(&mut self, operator: &[u8]) -> bool {
        self.peek();
        let mut at = self.pos;
        for (index, byte) in operator.iter().enumerate() {
            if self.byte(at) != *byte {
                return false;
            }
            at = if index + 1 == operator.len() { at + 1 } else { self.after(at) };
        }
        self.pos = at;
        true
    }

    /// Passes over blanks, continuations and, when at the start of a token, a comment.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.pos += 1,
                b'#' => {
                    let start = self.pos;
                    let rest = self.text.get(self.pos..self.end).unwrap_or_default();
                    self.pos += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    self.data.push(self.span_from(start));
                    return;
                }
                _ => return,
            }
        }
    }

    /// Passes over blanks, comments and line ends; here-documents are read at each line end.
    pub(super) fn skip_lines(&mut self) -> Read<()> {
        loop {
            self.skip_blanks();
            if self.peek() != b'\n' {
                return Ok(());
            }
            self.spend()?;
            self.line_end()?;
        }
    }

    /// Consumes a line end, and the bodies of the here-documents that wait for it.
    pub(super) fn line_end(&mut self) -> Read<()> {
        self.pos += 1;
        if self.pending.is_empty() {
            return Ok(());
        }
        self.read_here_documents()
    }

    /// Whether nothing (an alias, a here-document out of place) has changed the text, so that spans are
    /// places of the text given.
    pub(super) fn text_is_as_given(&self, given: &[u8]) -> bool {
        self.text == given
    }

    /// Asks that the text still has the length it had, before a part of it is read a second time: a
    /// here-document out of place, whose lines are gone by then, would be read as something else.
    pub(super) fn unchanged_since(&self, length: usize) -> Read<()> {
        if self.text.len() == length {
            return Ok(());
        }
        Err(Stop::Limit("a here-document out of place in text that is ambiguous"))
    }

    /// The span from `start` to here.
    pub(super) fn span_from(&self, start: usize) -> Span {
        self.fixed_span.unwrap_or(Span { start: start as u32, end: self.pos as u32 })
    }

    /// Runs `read` over `[start, end)` of the text alone, then goes back to where it stood.
    pub(super) fn in_region<T>(
        &mut self,
        start: usize,
        end: usize,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<T> {
        let (pos, old_end, length) = (self.pos, self.end, self.text.len());
        let pending = std::mem::take(&mut self.pending);
        let in_parentheses = std::mem::take(&mut self.in_parentheses);
        self.pos = start;
        self.end = end;
        let result = read(self);
        // Aliases expanded within the region have moved what stands after it.
        let moved = |at: usize| if at >= end { at + self.text.len() - length } else { at };
        (self.pos, self.end) = (moved(pos), moved(old_end));
        self.pending = pending;
        self.in_parentheses = in_parentheses;
        result
    }
}

/// Whether a byte ends a word when it is not quoted.
pub(super) fn is_meta(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// Whether a byte may begin a variable's name.
pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// Whether a byte may go on in a variable's name.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
