//! Which gitleaks is put in place, fixed by digest.
//!
//! Promise: what is installed is what this page says. Nothing outside the program (environment,
//! configuration, command line, server) can change it; tests hand other pins to the functions.

/// The one version whose behaviour was established (facts of the driver rest on it).
pub const VERSION: &str = "8.30.1";

/// An archive of the release, and what must be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its version.
    pub version: String,
    /// The file's name in the release.
    pub archive: String,
    /// SHA-256 of the archive, hexadecimal.
    pub sha256: String,
    /// The one member that is taken.
    pub member: String,
    /// Whether what was established holds on this system.
    pub established: bool,
}

/// Operating system, architecture (Rust's names), name of the archive, its SHA-256 as the project
/// publishes it in its checksum file.
const ARCHIVES: &[(&str, &str, &str, &str)] = &[
    ("macos", "aarch64", "darwin_arm64.tar.gz", "b40ab0ae55c505963e365f271a8d3846efbc170aa17f2607f13df610a9aeb6a5"),
    ("macos", "x86_64", "darwin_x64.tar.gz", "dfe101a4db2255fc85120ac7f3d25e4342c3c20cf749f2c20a18081af1952709"),
    ("linux", "aarch64", "linux_arm64.tar.gz", "e4a487ee7ccd7d3a7f7ec08657610aa3606637dab924210b3aee62570fb4b080"),
    ("linux", "x86_64", "linux_x64.tar.gz", "551f6fc83ea457d62a0d98237cbad105af8d557003051f41f3e7ca7b3f2470eb"),
    ("windows", "aarch64", "windows_arm64.zip", "b95f5e4f5c425cedca7ee203d9afd29597e692c4924a12ed42f970537c72cc0f"),
    ("windows", "x86_64", "windows_x64.zip", "d29144deff3a68aa93ced33dddf84b7fdc26070add4aa0f4513094c8332afc4e"),
];

impl Pin {
    /// The pin for a system in Rust's names (`std::env::consts::{OS, ARCH}`); `None` where the project
    /// makes no archive.
    pub fn of(system: &str, architecture: &str) -> Option<Self> {
        let (_, _, archive, sha256) =
            ARCHIVES.iter().find(|(name, machine, ..)| (*name, *machine) == (system, architecture))?;
        Some(Self {
            version: VERSION.to_owned(),
            archive: format!("gitleaks_{VERSION}_{archive}"),
            sha256: (*sha256).to_owned(),
            member: if system == "windows" { "gitleaks.exe" } else { "gitleaks" }.to_owned(),
            established: system == "linux",
        })
    }

    /// The pin for this machine.
    pub fn here() -> Option<Self> {
        Self::of(std::env::consts::OS, std::env::consts::ARCH)
    }

    /// Where the project publishes it.
    pub fn url(&self) -> String {
        format!("https://github.com/gitleaks/gitleaks/releases/download/v{}/{}", self.version, self.archive)
    }
}
