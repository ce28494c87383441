//! Here-documents: their delimiters, where their bodies end, what is expanded in them.

use std::rc::Rc;

use bstr::BString;

use super::delimiter::delimiter_text;
use super::word::Place;
use super::{Pending, Read, Reader, Stop};
use crate::command::ast::{HereBody, Part, Redirect, RedirectOperator, Span, Word};

impl Reader {
    /// `<<` or `<<-` has been consumed: its delimiter. The body is read at the next line end.
    pub(in crate::command) fn here_document(
        &mut self,
        strip_tabs: bool,
        fd: Option<u32>,
        variable: Option<BString>,
    ) -> Read<Redirect> {
        self.skip_blanks();
        let start = self.pos;
        // Read as a word only to learn where it ends: nothing in a delimiter is expanded.
        if self.word(Place::Argument)?.is_none() {
            return self.syntax("delimiter of a here-document");
        }
        let raw = self.text.get(start..self.pos).unwrap_or_default();
        let (delimiter, quoted) = delimiter_text(raw);
        let body = Rc::default();
        self.pending.push(Pending { delimiter: delimiter.clone(), quoted, strip_tabs, body: Rc::clone(&body) });
        let target = Word { parts: vec![Part::Quoted(delimiter)], head: None, span: self.span_from(start) };
        Ok(Redirect { fd, variable, operator: RedirectOperator::HereDocument, target, body })
    }

    /// Stands at the beginning of a line: the bodies of all here-documents that wait for it.
    pub(super) fn read_here_documents(&mut self) -> Read<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let text = self.here_lines(&pending)?;
            let span = self.span_from(start);
            self.data.push(span);
            let body = self.here_body(text, pending.quoted, span)?;
            // Each is read once: the cell is fresh from `here_document`.
            let _ = pending.body.set(body);
        }
        Ok(())
    }

    /// The text has ended: here-documents still waiting have no body.
    pub(in crate::command) fn close_here_documents(&mut self) -> Read<()> {
        self.read_here_documents()
    }

    /// A `)` has been met while bodies are still to come: bash takes them from the lines after the one
    /// that it is reading, and goes on with the rest of that line.
    pub(in crate::command) fn here_documents_after_this_line(&mut self) -> Read<()> {
        let rest = self.text.get(self.pos..self.end).unwrap_or_default();
        let resume = self.pos;
        let Some(line_end) = memchr::memchr(b'\n', rest) else {
            self.pos = self.end;
            self.read_here_documents()?;
            self.pos = resume;
            return Ok(());
        };
        let bodies_start = resume + line_end + 1;
        self.pos = bodies_start;
        self.read_here_documents()?;
        let removed = self.pos - bodies_start;
        self.text.drain(bodies_start..self.pos);
        self.end -= removed;
        self.pos = resume;
        Ok(())
    }

    /// The lines up to the delimiter, which is consumed. Where the delimiter is not quoted, a line that
    /// ends in a backslash goes on with the next one before it is compared.
    fn here_lines(&mut self, pending: &Pending) -> Read<Vec<u8>> {
        let mut body = Vec::new();
        while self.pos < self.end {
            let start = self.pos;
            let mut line = self.here_line(pending.quoted)?;
            if pending.strip_tabs {
                let tabs = line.iter().take_while(|byte| **byte == b'\t').count();
                line.drain(..tabs);
            }
            let content = line.strip_suffix(b"\n").unwrap_or(&line);
            if content == pending.delimiter.as_slice() {
                return Ok(body);
            }
            // Inside `$( … )` a line that only begins with the delimiter ends the body too when a `)`
            // follows on it: bash goes on reading commands after the delimiter.
            if self.in_parentheses
                && let Some(rest) = line.strip_prefix(pending.delimiter.as_slice())
                && rest.contains(&b')')
            {
                let line_end = self.pos;
                // The text stays as it is wherever it can: some of it is read twice.
                if self.text.get(line_end - rest.len()..line_end) == Some(rest) {
                    self.pos = line_end - rest.len();
                } else {
                    self.text.splice(start..line_end, rest.iter().copied());
                    self.end = self.end - (line_end - start) + rest.len();
                    self.pos = start;
                }
                return Ok(body);
            }
            body.append(&mut line);
        }
        Ok(body)
    }

    fn here_line(&mut self, quoted: bool) -> Read<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let rest = self.text.get(self.pos..self.end).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let piece = rest.get(..length).unwrap_or_default();
            line.extend_from_slice(piece);
            self.spend_many(length / 8 + 1)?;
            self.pos += length;
            if quoted || length == 0 || !ends_in_continuation(&line) {
                return Ok(line);
            }
            line.truncate(line.len() - 2);
        }
    }

    fn here_body(&mut self, text: Vec<u8>, quoted: bool, span: Span) -> Read<HereBody> {
        let plain = quoted || !text.iter().any(|byte| matches!(byte, b'$' | b'`' | b'\\'));
        if plain {
            return Ok(HereBody { parts: vec![Part::Quoted(BString::new(text))], broken: false });
        }
        self.descend()?;
        let mut reader = self.nested(text, span);
        let body = match reader.expanding_text(None) {
            Ok(parts) => HereBody { parts, broken: false },
            Err(Stop::Syntax { .. }) => HereBody { parts: vec![Part::Quoted(BString::new(reader.text))], broken: true },
            Err(limit @ Stop::Limit(_)) => return Err(limit),
        };
        self.ascend();
        Ok(body)
    }
}

/// Whether a line ends in a backslash that no other backslash quotes, and a line end.
fn ends_in_continuation(line: &[u8]) -> bool {
    let Some(content) = line.strip_suffix(b"\n") else { return false };
    content.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
