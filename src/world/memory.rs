//! What has been looked up in the course of one judgement.
//!
//! Promise: a question that is put again gets the same answer without asking the machine again, so
//! that the stages of one judgement see one state of it. Nothing is kept beyond the judgement
//! ([`World::remembering`] begins one), and no failure of git.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answers::Answers;
use super::{World, look_up};

/// Largest settings file that is read whole here, in bytes.
const MAX_SMALL_BYTES: u64 = 1 << 20;

/// Everything that is remembered.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) answers: Answers,
    programs: Mutex<Vec<Searched>>,
    files: Mutex<HashMap<PathBuf, SmallFile>>,
}

/// Programs that were looked for, along one PATH from one directory.
#[derive(Debug)]
struct Searched {
    path: Option<OsString>,
    dir: PathBuf,
    found: HashMap<OsString, Option<PathBuf>>,
}

/// A file of settings.
#[derive(Clone, Debug)]
pub enum SmallFile {
    /// There is none.
    Absent,
    /// What it holds.
    Text(Arc<[u8]>),
    /// It is no regular file, larger than 1 MiB, or cannot be read.
    Unfit,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// The program of that name along the PATH that the judged command starts with.
    pub fn on_path(&self, program: &OsStr) -> Option<PathBuf> {
        let find = || look_up(program, self.var("PATH"), &self.cwd);
        let Some(memory) = &self.memory else { return find() };
        let path = self.var("PATH");
        let is_here = |searched: &&mut Searched| searched.path.as_deref() == path && searched.dir == self.cwd;
        let mut searches = locked(&memory.programs);
        let known = searches.iter_mut().find(is_here).and_then(|searched| searched.found.get(program));
        if let Some(known) = known {
            return known.clone();
        }
        drop(searches);
        let found = find();
        let mut searches = locked(&memory.programs);
        let new = (program.to_owned(), found.clone());
        match searches.iter_mut().find(is_here) {
            Some(searched) => drop(searched.found.insert(new.0, new.1)),
            None => searches.push(Searched {
                path: path.map(OsStr::to_owned),
                dir: self.cwd.clone(),
                found: HashMap::from([new]),
            }),
        }
        found
    }

    /// A file of settings, whole.
    pub fn small_file(&self, path: &Path) -> SmallFile {
        let Some(memory) = &self.memory else { return read_small(path) };
        if let Some(file) = locked(&memory.files).get(path) {
            return file.clone();
        }
        let file = read_small(path);
        locked(&memory.files).insert(path.to_owned(), file.clone());
        file
    }
}

fn read_small(path: &Path) -> SmallFile {
    let data = match path.metadata() {
        Ok(data) => data,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return SmallFile::Absent;
        }
        Err(_) => return SmallFile::Unfit,
    };
    if !data.is_file() || data.len() > MAX_SMALL_BYTES {
        return SmallFile::Unfit;
    }
    fs::read(path).map_or(SmallFile::Unfit, |text| SmallFile::Text(text.into()))
}
