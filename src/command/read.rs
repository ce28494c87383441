//! The entry: a command line in, a plan out.

use std::ffi::OsString;

use crate::world::World;

use super::plan::{GitContext, Plan, Publish, PushRequest, PushVia, State, Unknown};

/// What would read a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// bash
    #[default]
    Bash,
    /// zsh
    Zsh,
}

/// What a command line would publish. Nothing of it is run.
pub fn read(text: &[u8], world: &World, _shell: Shell) -> Plan {
    let mut plan = Plan::empty();
    let words = std::str::from_utf8(text).ok().and_then(|text| shell_words::split(text).ok());
    match words.as_deref() {
        Some([git, push, args @ ..]) if git == "git" && push == "push" => {
            plan.publishes.push(Publish::Push(PushRequest {
                git: GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() },
                args: args.iter().map(|arg| Some(OsString::from(arg))).collect(),
                state: State::AsNow,
                via: PushVia::Push,
            }));
        }
        _ => plan.unknown.push(Unknown {
            what: "the reader of command lines knows a plain `git push` only".into(),
            span: 0..text.len(),
        }),
    }
    plan.conclude();
    plan
}
