//! `tyran allow`: a person records that a finding was reviewed and is accepted.
//!
//! It writes one line of `.tyran-allow` and nothing else. The line counts once it is on the remote side
//! of what is published; until then the finding stays one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bstr::ByteSlice;
use clap::Args;

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::scan::fingerprint::Fingerprint;
use crate::scan::suppress::allow_file::{self, AddFault};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::{Caution, World};

use super::out::say;

/// `tyran allow FINGERPRINT --reason TEXT`
#[derive(Debug, Args)]
pub struct Arguments {
    /// The fingerprint as a report prints it: PATH:RULE:HASH
    #[arg(value_name = "FINGERPRINT")]
    fingerprint: OsString,
    /// Why it may be published, in one line; it is committed with the entry
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The repository, where it is not the one of the current directory
    #[arg(short = 'C', value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Adds the entry.
///
/// # Errors
/// When there is no repository, the fingerprint is none, or the file cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let fingerprint = Fingerprint::parse(arguments.fingerprint.as_encoded_bytes()).ok_or_else(|| {
        Refusal::new(
            Class::Usage,
            "this is no fingerprint; one has the form PATH:RULE:HASH",
            "copy it from the report of `tyran scan-push`",
        )
    })?;
    let path = top(arguments.dir.as_deref())?.join(allow_file::NAME);
    let before = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(file_refusal(&path, &error)),
    };
    let date = jiff::Zoned::now().date().to_string();
    let after = allow_file::add(&before, &fingerprint, &arguments.reason, &date).map_err(|fault| match fault {
        AddFault::There(_) => Refusal::new(
            Class::Usage,
            fault.to_string(),
            "push the file first: an entry counts once it is on the remote side",
        ),
        AddFault::NoReason => {
            Refusal::new(Class::Usage, fault.to_string(), "give one with `--reason 'why it may be published'`")
        }
        AddFault::NoRandom => Refusal::internal(fault.to_string()),
    })?;
    replace(&path, &after).map_err(|error| file_refusal(&path, &error))?;
    say!("recorded in {}: commit it and have it reviewed", shown(&path))?;
    say!("it counts once it is on the remote side of what is published")?;
    Ok(ExitCode::SUCCESS)
}

/// The top of the work tree.
fn top(dir: Option<&Path>) -> Result<PathBuf, Refusal> {
    let mut world = World::of_process(Caution::ByHand).map_err(|error| file_refusal(Path::new("."), &error))?;
    if let Some(dir) = dir {
        world.cwd = world.cwd.join(dir);
    }
    let git = GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() };
    let listed = world.git(&git, ["rev-parse", "--show-toplevel"]).stdout();
    let listed = listed.map_err(|fault| Refusal::from(Fault::Repository(SafeText::new(&fault.to_string()))))?;
    Ok(PathBuf::from(OsString::from_vec(listed.trim_end_with(|character| character == '\n').to_vec())))
}

/// Replaces a file as a whole, so that an interrupt leaves the old one or the new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".tyran-allow.").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    readable_as_usual(&file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Temporary files are for their owner alone; this one is committed.
fn readable_as_usual(file: &tempfile::NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

fn file_refusal(path: &Path, error: &io::Error) -> Refusal {
    Refusal::from(Fault::File { path: shown(path), what: error.to_string().into() })
}

fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200)
}
