//! The real gitleaks 8.30.1, where it is there.

use std::path::{Path, PathBuf};

/// `TYRAN_GITLEAKS_BIN`, else what `scripts/get-gitleaks` put in place; `None`, said aloud, without.
pub fn real_gitleaks() -> Option<PathBuf> {
    let placed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/gitleaks");
    let program = std::env::var_os("TYRAN_GITLEAKS_BIN").map_or(placed, PathBuf::from);
    if program.is_file() {
        return Some(program);
    }
    eprintln!("skipped: no gitleaks; run scripts/get-gitleaks or set TYRAN_GITLEAKS_BIN");
    None
}
