//! How long a command line takes from text to the commands in it, without what they mean.
//! The gate reads one on every tool call, so the median of real lines has to stay within 10 µs.
//!
//! `TYRAN_CORPUS` names a file of real lines, a JSON object with `cmd` on each; without it the one beside the
//! checkout is taken, and where there is none that part is left out, saying so.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bstr::BStr;
use divan::{Bencher, black_box};
use tyran::command::Shell;
use tyran::command::plan::Plan;
use tyran::command::read::read_with;
use tyran::command::simple::{Dir, Effect, ShellState, SimpleCommand, Value, Verbs};
use tyran::world::{Caution, World};

fn main() {
    real_lines();
    divan::main();
}

/// Each line is read so often; the least time counts.
const ROUNDS: usize = 5;

/// Tells the median over all lines of a file.
fn real_lines() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/cases/commands/corpus.jsonl");
    let path = std::env::var_os("TYRAN_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("real lines: left out, {} cannot be read (TYRAN_CORPUS names another file)", path.display());
        return;
    };
    let lines: Vec<serde_json::Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let lines = lines.iter().filter_map(|line| line["cmd"].as_str());
    let world = world();
    let mut times: Vec<Duration> = lines
        .map(|line| {
            let once = |_| {
                let started = Instant::now();
                black_box(read_with(black_box(line.as_bytes()), &world, Shell::Bash, &mut Nothing));
                started.elapsed()
            };
            (0..ROUNDS).map(once).min().unwrap_or_default()
        })
        .collect();
    times.sort_unstable();
    let below = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    println!("real lines: {} read, median {:.1?}, 90 % below {:.1?}", times.len(), below(50), below(90));
}

fn world() -> World {
    let env = [("HOME", "/home/someone"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
    World::new(env.into_iter().collect(), PathBuf::from("/"), Caution::Gate)
}

/// Commands that mean nothing.
struct Nothing;

impl Verbs for Nothing {
    fn knows(&self, _name: &BStr) -> bool {
        true
    }

    fn simple(&mut self, _command: &SimpleCommand<'_>, _shell: &dyn ShellState, _plan: &mut Plan) -> Effect {
        Effect::default()
    }

    fn write(&mut self, _path: &Value, _dir: &Dir, _bytes: Option<&[u8]>, _shell: &dyn ShellState, _plan: &mut Plan) {}
}

const LINES: &[&str] = &[
    "ls -la",
    "git status --short && git diff --stat",
    "cd /tmp && git add -A && git commit -m \"fix: it's done\" && git push origin HEAD",
    "git commit -m \"$(cat <<'EOF'\nfeat: read (all) of it\n\n- it's `quoted`\nEOF\n)\"",
    "for f in a b c; do grep -rn \"$f\" src | head -5; done; echo \"$HOME/${x:-y}\" >/dev/null",
];

#[divan::bench(args = LINES)]
fn line(bencher: Bencher<'_, '_>, text: &str) {
    let world = world();
    bencher.bench(|| read_with(black_box(text.as_bytes()), &world, Shell::Bash, &mut Nothing));
}
