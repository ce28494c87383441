//! What may be done with the place a report goes to.
//!
//! Promise: no escape sequence is written unless a terminal reads it, or a person asked for it.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

use crate::world::Environment;

/// Whether a person asked for colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What may be done with the place a report goes to.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    colour: bool,
}

impl Terminal {
    /// No colour: a file, a pipe, another program.
    pub fn plain() -> Self {
        Self { colour: false }
    }

    /// For standard output: `NO_COLOR` (no-color.org: set and not empty) and `TERM=dumb` are kept.
    pub fn of_stdout(asked: Colour, env: &Environment) -> Self {
        Self { colour: wants_colour(asked, env, std::io::stdout().is_terminal()) }
    }

    /// For standard error, in the same way.
    pub fn of_stderr(asked: Colour, env: &Environment) -> Self {
        Self { colour: wants_colour(asked, env, std::io::stderr().is_terminal()) }
    }

    /// Text in a style, or plain.
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn wants_colour(asked: Colour, env: &Environment, is_terminal: bool) -> bool {
    let is = |name: &str, test: fn(&std::ffi::OsStr) -> bool| {
        env.get(std::ffi::OsStr::new(name)).is_some_and(|value| test(value))
    };
    match asked {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            is_terminal && !is("NO_COLOR", |value| !value.is_empty()) && !is("TERM", |value| value == "dumb")
        }
    }
}

/// A secret was found.
pub(super) const FOUND: Style = AnsiColor::Red.on_default().bold();
/// It could not be checked.
pub(super) const UNCHECKED: Style = AnsiColor::Yellow.on_default().bold();
/// Nothing was found.
pub(super) const CLEAN: Style = AnsiColor::Green.on_default().bold();
/// A place.
pub(super) const PLACE: Style = Style::new().bold();
/// Beside the point.
pub(super) const ASIDE: Style = Style::new().dimmed();
