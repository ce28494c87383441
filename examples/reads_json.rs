//! The least program that a gate can be: it reads one JSON event from standard input, and ends.
//!
//!     cargo build --release --example reads_json
//!
//! `scripts/bench-gate` runs it beside the gate.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut bytes = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut bytes).is_err() {
        return ExitCode::from(2);
    }
    match serde_json::from_slice::<serde_json::Value>(&bytes) {
        Ok(event) if event.is_object() => ExitCode::SUCCESS,
        Ok(_) | Err(_) => ExitCode::from(2),
    }
}
