//! How long a command line takes from text to the commands in it, without what they mean.
//! The gate reads one on every tool call, so the median has to stay within 10 µs.

use std::path::PathBuf;

use bstr::BStr;
use divan::{Bencher, black_box};
use tyran::command::Shell;
use tyran::command::plan::Plan;
use tyran::command::read::read_with;
use tyran::command::simple::{Dir, Effect, ShellState, SimpleCommand, Value, Verbs};
use tyran::world::{Caution, World};

fn main() {
    divan::main();
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
    let env = [("HOME", "/home/someone"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
    let world = World::new(env.into_iter().collect(), PathBuf::from("/"), Caution::Gate);
    bencher.bench(|| read_with(black_box(text.as_bytes()), &world, Shell::Bash, &mut Nothing));
}
