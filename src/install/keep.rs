//! Files of other programs that we change: as they were, as we left them, and back again.
//!
//! Promise: a file is replaced whole or not at all, with the mode that it had; what was there before
//! the first change is kept, and given back byte for byte as long as nobody else has changed the file
//! since. What to do with a file that was changed since is the caller's to say.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::state_dir;

/// One file, as it was before and as we left it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Where it is.
    pub file: PathBuf,
    /// Base64 of the bytes before; `None` when there was no file.
    before: Option<String>,
    /// SHA-256 of the bytes that we left.
    after: String,
}

impl Kept {
    /// What to remember of a file that is being changed to `after`; `before` is what is to be given back.
    pub fn new(file: &Path, before: Option<&[u8]>, after: &[u8]) -> Self {
        Self { file: file.to_owned(), before: before.map(|bytes| STANDARD.encode(bytes)), after: digest(after) }
    }

    /// Whether these are the bytes that we left.
    pub fn is_untouched(&self, now: Option<&[u8]>) -> bool {
        now.is_some_and(|bytes| digest(bytes) == self.after)
    }

    /// The bytes before the first change; `None` when there was no file.
    ///
    /// # Errors
    /// When the record is damaged.
    pub fn before(&self) -> Result<Option<Vec<u8>>, Refusal> {
        self.before
            .as_ref()
            .map(|text| {
                STANDARD.decode(text).map_err(|_| {
                    Refusal::new(
                        Class::Installation,
                        format!("the record of what {} was before is damaged", shown(&self.file)),
                        "take tyran's entry out of the file by hand",
                    )
                })
            })
            .transpose()
    }

    /// Gives back the bytes before, or removes the file where there was none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn restore(&self) -> Result<(), Refusal> {
        match self.before()? {
            Some(bytes) => replace(&self.file, &bytes),
            None => fs::remove_file(&self.file).map_err(|error| cannot("remove", &self.file, &error)),
        }
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// tyran's own folder.
///
/// # Errors
/// When the user has no home.
pub fn state() -> Result<PathBuf, Refusal> {
    state_dir().ok_or_else(|| {
        Refusal::new(
            Class::Installation,
            "the user of this process has no home directory in the password database",
            "run it as a user who has one",
        )
    })
}

/// Keeps every other setup, installation and removal of this user waiting until it is dropped: each reads records and
/// files, and writes them anew.
///
/// # Errors
/// When the user has no home, or the file cannot be made.
pub fn alone() -> Result<fs::File, Refusal> {
    let folder = state()?;
    private_dir(&folder)?;
    let path = folder.join("install.lock");
    let file = fs::File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| cannot("open", &path, &error))?;
    file.lock().map_err(|error| cannot("lock", &path, &error))?;
    Ok(file)
}

/// The bytes of a file; `None` when there is none.
///
/// # Errors
/// When it is there and cannot be read.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, Refusal> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path, &error)),
    }
}

/// Replaces a file whole, with the mode and the owner that it had; a new one is readable by its owner alone.
///
/// # Errors
/// When it cannot be written, or would be another user's no more; then the old one stands.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        match fs::metadata(path) {
            Ok(metadata) => {
                give_to_owner(file.as_file(), &metadata)?;
                file.as_file().set_permissions(metadata.permissions())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|error| cannot("write", path, &error))
}

/// Makes a file that of whoever had the one in its place: the host that reads it runs as that user.
fn give_to_owner(file: &fs::File, of: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (of.uid(), of.gid()) {
        return Ok(());
    }
    match std::os::unix::fs::fchown(file, Some(of.uid()), Some(of.gid())) {
        Ok(()) => Ok(()),
        // Its group alone is not ours to give, and the owner reads it all the same.
        Err(_) if now.uid() == of.uid() => Ok(()),
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("it belongs to another user, and would not any more ({error})")))
        }
    }
}

/// The file behind symbolic links, since replacing the link would take a user's dotfiles apart.
///
/// # Errors
/// When a link leads nowhere that can be told, or to nothing.
pub fn resolved(path: &Path) -> Result<PathBuf, Refusal> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(target) => Err(Refusal::new(
                Class::Installation,
                format!("{} is a symbolic link to {}, which is not there", shown(path), shown(&target)),
                "make the file that it leads to (an empty one will do), or remove the link",
            )),
            Err(_) => Ok(path.to_owned()),
        },
        Err(error) => Err(cannot("resolve", path, &error)),
    }
}

/// A folder of ours, for its owner alone.
///
/// # Errors
/// When it cannot be made.
pub fn private_dir(folder: &Path) -> Result<(), Refusal> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| cannot("make", folder, &error))
}

/// Makes a file executable.
///
/// # Errors
/// When it is not ours to change.
pub fn make_executable(path: &Path) -> Result<(), Refusal> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(|error| cannot("make executable", path, &error))
}

/// What could not be done to a path.
pub fn cannot(verb: &str, path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(
        Class::Installation,
        format!("could not {verb} {}: {error}", shown(path)),
        "make the place readable and writable for this user, then try again",
    )
}

/// A path as it is shown.
pub fn shown(path: &Path) -> SafeText {
    SafeText::quoted(path.as_os_str().as_encoded_bytes(), 300)
}
