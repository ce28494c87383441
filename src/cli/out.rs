//! Standard output and standard error as the subcommands write them.
//!
//! Promise: a reader that goes away (`| head`) has seen what it wanted: nothing more is written, the work
//! goes on, and the exit code is what it would have been. Output that fails in any other way, as on a full
//! disk, is an error.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

use crate::verdict::{Class, Refusal};

/// Standard output, for which a reader that went away is no fault.
#[derive(Debug)]
pub struct Out(io::StdoutLock<'static>);

/// Standard output of this process.
pub fn stdout() -> Out {
    Out(io::stdout().lock())
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        gone(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        gone(self.0.flush(), ())
    }
}

fn gone<T>(result: io::Result<T>, instead: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(instead),
        other => other,
    }
}

/// Writes one line to standard output.
///
/// # Errors
/// When it cannot be written although somebody reads it.
pub fn line(text: Arguments<'_>) -> Result<(), Refusal> {
    let mut out = stdout();
    out.write_fmt(text)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(|error| unwritten(&error))
}

/// What is said when standard output fails.
pub fn unwritten(error: &io::Error) -> Refusal {
    Refusal::new(
        Class::File,
        format!("the result could not be written: {error}"),
        "make room where standard output goes, then run it again",
    )
}

/// Writes to standard error; that nobody reads it changes nothing.
pub fn complain(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// [`line`] with a format.
macro_rules! say {
    ($($words:tt)*) => { $crate::cli::out::line(format_args!($($words)*)) };
}
pub(crate) use say;
