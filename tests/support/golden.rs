//! Whole texts that people and programs read, kept as files.

use std::fs;
use std::path::Path;

/// Compares a text with `fixtures/golden/NAME`. With `TYRAN_GOLDEN=write` in the environment it is
/// written instead, to be read by a person before it is committed.
pub fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden").join(name);
    if std::env::var_os("TYRAN_GOLDEN").is_some_and(|word| word == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        kept == text,
        "{} differs\n--- kept\n{kept}\n--- now\n{text}\n(TYRAN_GOLDEN=write writes it)",
        path.display()
    );
}
