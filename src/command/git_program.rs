//! What git's program itself tells of the files that it reads.
//!
//! Promise: the system's configuration file of a git of any prefix, as its build fixed it (git's Makefile,
//! `ETC_GITCONFIG`: absolute, or relative to the prefix), or `None` where that is not plain: then git is asked.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memchr::memmem;

/// The system's file: below `/etc` for a git of the prefix `/usr`; for one of another prefix, what its
/// program says.
pub fn system_file(git: &Path) -> Option<PathBuf> {
    static OF_OTHERS: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    if !cfg!(target_os = "linux") {
        return None;
    }
    let folder = git.parent()?;
    if matches!(folder.to_str()?, "/usr/bin" | "/bin") {
        return Some(PathBuf::from("/etc/gitconfig"));
    }
    let found = OF_OTHERS.get_or_init(|| named_by_program(git).map(|file| (git.to_owned(), file)));
    found.as_ref().filter(|(of, _)| of == git).map(|(_, file)| file.clone())
}

fn named_by_program(git: &Path) -> Option<PathBuf> {
    let folder = git.parent().filter(|folder| folder.ends_with("bin"))?;
    if git.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let mut program = File::open(git).ok()?;
    for (start, length) in constants(&mut program)? {
        program.seek(SeekFrom::Start(start)).ok()?;
        match named_in((&program).take(length))? {
            Some(Named::Absolute) => return Some(PathBuf::from("/etc/gitconfig")),
            Some(Named::Relative) => return Some(folder.parent()?.join("etc/gitconfig")),
            None => {}
        }
    }
    None
}

/// How a program names the system's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Absolute,
    Relative,
}

/// Where the texts of a program stand in its file: what is loaded to be read only (elf(5)), the largest first. A
/// git has some megabytes, of which this is a fifth. `None` for what is not of 64 bits in this order of bytes.
fn constants(program: &mut File) -> Option<Vec<(u64, u64)>> {
    const HEADER_BYTES: usize = 64;
    const ENTRY_BYTES: usize = 56;
    /// More than any linker writes.
    const MAX_ENTRIES: usize = 64;
    const LOADED: u64 = 1;
    const READ_ONLY: u64 = 4;
    let number = |bytes: &[u8], at: usize, length: usize| {
        let mut whole = [0; 8];
        whole.get_mut(..length)?.copy_from_slice(bytes.get(at..at + length)?);
        Some(u64::from_le_bytes(whole))
    };
    let mut header = [0; HEADER_BYTES];
    program.read_exact(&mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") || number(&header, 54, 2)? != ENTRY_BYTES as u64 {
        return None;
    }
    let count = usize::try_from(number(&header, 56, 2)?).ok().filter(|&count| count <= MAX_ENTRIES)?;
    let mut entries = vec![0; count * ENTRY_BYTES];
    program.seek(SeekFrom::Start(number(&header, 32, 8)?)).ok()?;
    program.read_exact(&mut entries).ok()?;
    let mut found = Vec::new();
    for entry in entries.chunks_exact(ENTRY_BYTES) {
        if number(entry, 0, 4)? == LOADED && number(entry, 4, 4)? == READ_ONLY {
            found.push((number(entry, 8, 8)?, number(entry, 32, 8)?));
        }
    }
    found.sort_by_key(|&(_, length)| std::cmp::Reverse(length));
    Some(found)
}

/// The first name of the system's file in a program's texts; `None` outside when they cannot be read.
#[expect(clippy::option_option, reason = "that nothing is named is not that nothing can be read")]
fn named_in(mut texts: impl Read) -> Option<Option<Named>> {
    const NAME: &[u8] = b"etc/gitconfig\0";
    /// Stays in the processor's first cache.
    const PIECE_BYTES: usize = 32 << 10;
    /// What stands before the name, and all of it but the last byte, may be in the piece before.
    const KEPT_BYTES: usize = NAME.len() + 1;
    let name = memmem::Finder::new(NAME);
    let mut piece = vec![0; KEPT_BYTES + PIECE_BYTES];
    let mut kept = 0;
    loop {
        let read = texts.read(piece.get_mut(kept..)?).ok()?;
        if read == 0 {
            return Some(None);
        }
        let text = piece.get(..kept + read)?;
        for at in name.find_iter(text) {
            let before = text.get(..at)?;
            if before.ends_with(b"\0/") {
                return Some(Some(Named::Absolute));
            }
            if before.ends_with(b"\0") {
                return Some(Some(Named::Relative));
            }
        }
        let end = text.len();
        kept = end.min(KEPT_BYTES);
        piece.copy_within(end - kept..end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives as many bytes at a time as it is told to.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(to.len());
            self.0.read(&mut to[..count])
        }
    }

    #[test]
    fn the_name_is_found_wherever_the_pieces_end() {
        for (text, named) in [
            (&b"share\0/etc/gitconfig\0more"[..], Some(Named::Absolute)),
            (b"share\0etc/gitconfig\0more", Some(Named::Relative)),
            (b"share\0/opt/etc/gitconfig\0more", None),
            (b"share\0etc/gitconfigs\0more", None),
            (b"share\0/my/etc/gitconfig\0etc/gitconfig\0", Some(Named::Relative)),
            (b"", None),
        ] {
            for step in 1..30 {
                assert_eq!(named_in(Slow(text, step)), Some(named), "{text:?} {step}");
            }
        }
    }

    /// `git var` is the oracle.
    #[cfg(target_os = "linux")]
    #[test]
    fn every_git_here_names_the_file_that_it_reads() {
        for git in ["/usr/local/bin/git", "/usr/bin/git"] {
            let Ok(asked) = std::process::Command::new(git).args(["var", "GIT_CONFIG_SYSTEM"]).output() else {
                continue;
            };
            let said = String::from_utf8(asked.stdout).unwrap();
            if asked.status.success() {
                assert_eq!(named_by_program(Path::new(git)), Some(PathBuf::from(said.trim())), "{git}");
            }
        }
    }

    #[test]
    fn what_is_no_program_names_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let git = folder.join("git");
        for text in [&b""[..], b"#!/bin/sh\nexec git\n\0etc/gitconfig\0", b"\x7fELF\x02\x01\0", &[0x7f; 200]] {
            std::fs::write(&git, text).unwrap();
            assert_eq!(named_by_program(&git), None, "{text:?}");
        }
    }
}
