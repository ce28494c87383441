//! Members of a zip that its directory does not list.
//!
//! Promise: what stands behind a local header outside of the listed members is unpacked like them: a name that is
//! there twice, a member that was taken out of the directory only, a zip that is cut short or stands before
//! another. A header's own fields must be such as packers write, so that its four first bytes in something else are
//! not taken for one (APPNOTE.TXT of PKWARE 6.3.10, 4.3.7 and 4.4).

use std::io::{BufReader, Read, SeekFrom};

use super::archive::{Budget, ENCRYPTED, METHOD, Paid, Source, Visit, find};

const SIGNATURE: &[u8; 4] = b"PK\x03\x04";
const HEADER_LEN: usize = 30;
/// Longer names are no names of files.
const LONGEST_NAME: u16 = 4096;
/// The newest version of the format that a member may need, times ten.
const NEWEST: u8 = 63;

/// Hands every member that lies outside of `listed` to `visit`: ranges from a header's first byte to behind its data.
///
/// # Errors
/// Only those of `visit`; a budget that is exceeded says so itself.
pub(super) fn members<E>(
    source: &mut dyn Source,
    mut listed: Vec<(u64, u64)>,
    budget: &Budget,
    visit: &mut Visit<'_, E>,
) -> Result<(), E> {
    listed.sort_unstable();
    let Ok(size) = source.seek(SeekFrom::End(0)) else {
        budget.lost();
        return Ok(());
    };
    let mut listed = listed.into_iter().peekable();
    let mut at = 0;
    while at < size && budget.exceeded().is_none() {
        while let Some((_, end)) = listed.next_if(|&(start, _)| start <= at) {
            at = at.max(end);
        }
        let end = listed.peek().map_or(size, |&(start, _)| start.min(size));
        let Some(found) = find(source, SIGNATURE, at, end, budget) else {
            at = at.max(end);
            continue;
        };
        at = match Header::read(source, found).filter(|header| header.data <= size) {
            Some(header) => header.visit(source, budget, visit)?.max(found + 1),
            None => found + 1,
        };
    }
    Ok(())
}

/// What a local header says.
struct Header {
    flags: u16,
    method: u16,
    /// Of the packed data; `None` where it stands behind them.
    packed: Option<u64>,
    name: Vec<u8>,
    /// Where the data begin.
    data: u64,
}

impl Header {
    fn read(source: &mut dyn Source, at: u64) -> Option<Self> {
        const DESCRIBED_BEHIND: u16 = 8;
        source.seek(SeekFrom::Start(at)).ok()?;
        let mut fixed = [0; HEADER_LEN];
        source.read_exact(&mut fixed).ok()?;
        let short = |place: usize| Some(u16::from_le_bytes([*fixed.get(place)?, *fixed.get(place + 1)?]));
        let (flags, method, name_len, extra_len) = (short(6)?, short(8)?, short(26)?, short(28)?);
        if fixed[4] > NEWEST || name_len == 0 || name_len > LONGEST_NAME {
            return None;
        }
        let mut name = vec![0; usize::from(name_len)];
        source.read_exact(&mut name).ok()?;
        if name.contains(&0) {
            return None;
        }
        let packed = u32::from_le_bytes([fixed[18], fixed[19], fixed[20], fixed[21]]);
        // In the large format it stands in a field that other members' positions do not need: the data tell.
        let is_told = flags & DESCRIBED_BEHIND == 0 && packed != u32::MAX;
        let data = at + (HEADER_LEN + name.len()) as u64 + u64::from(extra_len);
        Some(Self { flags, method, packed: is_told.then(|| u64::from(packed)), name, data })
    }

    /// Unpacks the member; where it ends.
    fn visit<E>(&self, source: &mut dyn Source, budget: &Budget, visit: &mut Visit<'_, E>) -> Result<u64, E> {
        const IS_ENCRYPTED: u16 = 1;
        let end = self.data + self.packed.unwrap_or(0);
        if self.flags & IS_ENCRYPTED != 0 {
            budget.note(ENCRYPTED);
            return Ok(end);
        }
        if source.seek(SeekFrom::Start(self.data)).is_err() {
            return Ok(end);
        }
        match (self.method, self.packed) {
            // Without a length it was read as the bytes it is, since these are what it holds.
            (0, packed) => {
                let inner = source.take(packed.unwrap_or(0));
                visit(&self.name, &mut Paid { inner, budget }).map(|()| end)
            }
            (8, _) => {
                let mut inner = flate2::bufread::DeflateDecoder::new(BufReader::new(source));
                visit(&self.name, &mut Paid { inner: &mut inner, budget })?;
                Ok(end.max(self.data + inner.total_in()))
            }
            (12, _) => {
                let mut inner = bzip2::bufread::BzDecoder::new(BufReader::new(source));
                visit(&self.name, &mut Paid { inner: &mut inner, budget })?;
                Ok(end.max(self.data + inner.total_in()))
            }
            _ => {
                budget.note(METHOD);
                Ok(end)
            }
        }
    }
}
