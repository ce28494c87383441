//! Helpers that several promises share: a world of our own, repositories, planted secrets.
#![allow(dead_code)]

pub mod gitleaks;
pub mod golden;
pub mod payload;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tyran::world::{Caution, World};

/// A directory with a HOME, a state directory and nothing of the user's.
pub struct Sandbox {
    root: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("tyran-test.").tempdir().unwrap();
        fs::create_dir(root.path().join("home")).unwrap();
        fs::create_dir(root.path().join("state")).unwrap();
        Self { root }
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(below)
    }

    /// The environment of everything that a test starts.
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.invalid"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.invalid"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
        env.push(("HOME".into(), self.path("home").into()));
        env.push(("TYRAN_STATE_DIR".into(), self.path("state").into()));
        env.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
        env
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(self.path(""));
        command
    }

    /// The built program, in this sandbox.
    pub fn tyran(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_tyran"))
    }

    /// A copy of the built program. Another process writes it: a thread that starts a child meanwhile
    /// would hand a file that is open for writing on to it, and the copy could not be run ("text file
    /// busy").
    pub fn copy_of_tyran(&self, to: &Path) {
        assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_tyran")).arg(to).status().unwrap().success());
    }

    /// The world as the library would see it from `dir` (below the sandbox).
    pub fn world(&self, dir: &str) -> World {
        World::new(self.env().into_iter().collect(), self.path(dir), Caution::ByHand)
    }

    /// Runs git in `dir` and demands success; its standard output, trimmed.
    pub fn git(&self, dir: impl AsRef<Path>, args: &[&str]) -> String {
        let output = self.command("git").current_dir(self.path("").join(dir)).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A repository `name` on branch `main`, and a bare `name`.git as its origin.
    pub fn repo(&self, name: &str) -> Repo<'_> {
        self.git("", &["init", "-q", "--bare", "-b", "main", &format!("{name}.git")]);
        self.git("", &["init", "-q", "-b", "main", name]);
        let repo = Repo { sandbox: self, dir: self.path(name) };
        repo.git(&["remote", "add", "origin", self.path(&format!("{name}.git")).to_str().unwrap()]);
        repo
    }
}

/// A repository in a sandbox.
pub struct Repo<'a> {
    pub sandbox: &'a Sandbox,
    pub dir: PathBuf,
}

impl Repo<'_> {
    pub fn git(&self, args: &[&str]) -> String {
        self.sandbox.git(&self.dir, args)
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Writes, adds and commits one file; the commit's id.
    pub fn commit(&self, path: &str, bytes: impl AsRef<[u8]>) -> String {
        self.write(path, bytes);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "change"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// What a program printed, for messages of failed assertions.
pub fn shown(output: &Output) -> String {
    format!(
        "exit {:?}\n--- stdout\n{}\n--- stderr\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The folder of shared test data beside the checkout; `None`, said aloud, where it is absent.
pub fn shared(below: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("shared").join(below);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no shared/{below} beside the checkout");
    None
}

/// Secrets made at run time, so that the tree holds none.
pub mod planted {
    /// A deterministic stream of characters from an alphabet.
    pub fn characters(seed: u64, alphabet: &str, count: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        (0..count)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                alphabet[(state >> 33) as usize % alphabet.len()]
            })
            .collect()
    }

    const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// A GitHub personal access token with a right checksum: 30 characters, then CRC-32 of them in
    /// base 62, padded to 6 (GitHub's blog, 5 April 2021).
    pub fn github_token(seed: u64) -> String {
        let body = characters(seed, BASE62, 30);
        let mut rest = crc32fast::hash(body.as_bytes());
        let digits: Vec<u8> = BASE62.bytes().collect();
        let mut sum = vec![b'0'; 6];
        for place in (0..6).rev() {
            sum[place] = digits[(rest % 62) as usize];
            rest /= 62;
        }
        format!("{}_{body}{}", concat!("gh", "p"), String::from_utf8(sum).unwrap())
    }
}
