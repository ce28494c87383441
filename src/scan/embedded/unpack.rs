//! What an item or a member unpacks to.
//!
//! Promise: an archive is read as the bytes it is and unpacked, with its members' names; what is found in both is told
//! once, with its member. Everything that an item unpacks to is paid from one budget; a budget that is exceeded is
//! a fault. What cannot be unpacked is noted.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;
use std::sync::Arc;

use tempfile::SpooledTempFile;

use super::archive::{self, Budget, Format};
use super::packed::{self, Packed};
use super::session::{EmbeddedSession, engine_fault};
use super::subject::{Inner, Subject};
use super::told::Base;
use crate::scan::engine::EngineFaultKind;
use crate::scan::{EngineFault, Finding};
use crate::text::SafeText;

impl EmbeddedSession<'_> {
    /// What kind of archive a text is, by its beginning and its end.
    pub(super) fn archive(&self, beginning: &[u8], end: &[u8]) -> Option<Format> {
        if self.options.compat {
            return None;
        }
        archive::format(beginning).or_else(|| archive::ends_as_zip(end).then_some(Format::Zip))
    }

    pub(super) fn note_foreign(&self, subject: Subject<'_>, beginning: &[u8]) {
        if !self.options.compat
            && let Some(why) = archive::foreign(beginning)
        {
            self.shared.note(subject.path(), &[why]);
        }
    }

    /// Unpacks an archive. `first`: where the findings in its bytes as they are begin. `whole`: its bytes, where they
    /// are at hand.
    pub(super) fn unpack_all(
        &mut self,
        subject: Subject<'_>,
        format: Format,
        first: usize,
        source: &mut dyn archive::Source,
        whole: &[u8],
        budget: Option<&Budget>,
    ) -> Result<(), EngineFault> {
        let Some(budget) = budget else {
            let packed = subject.item.size.max(whole.len() as u64);
            let budget = Budget::new(packed, self.options.unpacked_bytes);
            self.unpack_all(subject, format, first, source, whole, Some(&budget))?;
            self.shared.note(subject.path(), &budget.unread());
            return Ok(());
        };
        if budget.enter(whole) || whole.is_empty() {
            let unpacked = self.reading.findings.len();
            self.unpack(subject, format, source, budget)?;
            self.tell_once(first, unpacked);
        }
        budget.leave();
        Ok(())
    }

    /// Drops what was found in the bytes as they are, from `first` to `unpacked`, and again in a member, which tells
    /// more of its place.
    fn tell_once(&mut self, first: usize, unpacked: usize) {
        let key = |finding: &Finding| (finding.item.path.clone(), Arc::clone(&finding.rule), finding.secret.clone());
        let inside: HashSet<_> = self.reading.findings.get(unpacked..).unwrap_or_default().iter().map(key).collect();
        if inside.is_empty() || first == unpacked {
            return;
        }
        let mut place = 0;
        self.reading.findings.retain(|finding| {
            place += 1;
            !(first < place && place <= unpacked && inside.contains(&key(finding)))
        });
    }

    /// Every member of an archive, and theirs.
    fn unpack(
        &mut self,
        subject: Subject<'_>,
        format: Format,
        source: &mut dyn archive::Source,
        budget: &Budget,
    ) -> Result<(), EngineFault> {
        let exceeded = |why: &str| {
            let path = SafeText::quoted(subject.path().unwrap_or_default(), 200);
            engine_fault(EngineFaultKind::Content, format!("the archive {path} cannot be read within bounds: {why}"))
        };
        if subject.within.len() >= archive::DEEPEST {
            return Err(exceeded("archives are nested more than 8 deep"));
        }
        let mut names = Vec::new();
        archive::members(format, source, budget, &mut |name, reader| {
            names.extend_from_slice(name);
            names.push(b'\n');
            self.member(subject, name, reader, budget)
        })?;
        if let Some(why) = budget.exceeded() {
            return Err(exceeded(why));
        }
        self.text(subject, &names, Base::whole(0, 0)).map(drop)
    }

    /// One member: its bytes as they are, and what they unpack to. What is damaged ends early; what came
    /// before is read.
    fn member(
        &mut self,
        subject: Subject<'_>,
        name: &[u8],
        reader: &mut dyn Read,
        budget: &Budget,
    ) -> Result<(), EngineFault> {
        let inner = Inner::of(subject, name);
        let seen = inner.seen(subject);
        let mut lenient = Lenient { inner: reader, failed: false };
        let subject = Subject { seen: &seen, within: &inner.within, ..subject };
        self.stream(subject, &mut lenient, Some(budget))?;
        if lenient.failed {
            budget.note(archive::DAMAGED);
        }
        Ok(())
    }

    /// Archives that a text holds in base64.
    pub(super) fn unpack_base64(&mut self, subject: Subject<'_>, text: &[u8], base: Base) -> Result<(), EngineFault> {
        let begins_here = |packed: &Packed| (base.core.0..base.core.1).contains(&packed.start);
        for packed in packed::all(text).into_iter().filter(begins_here) {
            let budget =
                self.packed.get_or_insert_with(|| Rc::new(Budget::new(subject.item.size, self.options.unpacked_bytes)));
            let budget = Rc::clone(budget);
            if subject.within.len() >= archive::DEEPEST {
                budget.note("archives in base64 are nested more than 8 deep");
            } else {
                self.member(subject, b"base64", &mut packed.bytes.as_slice(), &budget)?;
            }
            if packed.is_cut && base.core.1 < text.len() {
                budget.note("an archive in base64 is longer than what is read at once");
            }
            self.shared.note(subject.path(), &budget.unread());
        }
        Ok(())
    }
}

/// Whether what was kept ends as an archive.
pub(super) fn ending(spool: &mut SpooledTempFile, size: u64) -> std::io::Result<Option<Format>> {
    let mut end = Vec::new();
    spool.seek(SeekFrom::Start(size.saturating_sub(archive::END as u64)))?;
    spool.read_to_end(&mut end)?;
    Ok(archive::ends_as_zip(&end).then_some(Format::Zip))
}

/// A reader that ends where the one inside of it fails.
struct Lenient<'r> {
    inner: &'r mut dyn Read,
    failed: bool,
}

impl Read for Lenient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.failed {
            return Ok(0);
        }
        match self.inner.read(buffer) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                self.failed = true;
                Ok(0)
            }
            other => other,
        }
    }
}
