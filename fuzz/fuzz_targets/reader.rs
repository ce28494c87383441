//! Any bytes as a command line: a plan or a limit, never a panic, a hang or an overflow.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use tyran::command::Shell;
use tyran::command::read::read;
use tyran::world::{Caution, World};

fuzz_target!(|bytes: &[u8]| {
    let (shell, text) = match bytes.split_first() {
        Some((b'z', text)) => (Shell::Zsh, text),
        _ => (Shell::Bash, bytes),
    };
    let env = [("HOME", "/nonexistent"), ("PATH", "/nonexistent")].map(|(name, value)| (name.into(), value.into()));
    let world = World::new(env.into_iter().collect(), PathBuf::from("/"), Caution::ByHand);
    let _ = read(text, &world, shell);
});
