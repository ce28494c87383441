//! `tyran log`: what was asked and answered.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::journal::{self, Record};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};

/// `tyran log`
#[derive(Debug, Args)]
pub struct Arguments {
    /// How records are written
    #[arg(long, value_enum, default_value_t = LogFormat::Human)]
    format: LogFormat,
    /// Only what ended in this decision
    #[arg(long, value_enum, value_name = "DECISION")]
    decision: Option<Decided>,
    /// Only what this host or hook asked
    #[arg(long, value_name = "HOST|HOOK")]
    of: Option<String>,
    /// Only this session
    #[arg(long)]
    session: Option<String>,
    /// At most this many, the newest
    #[arg(short = 'n', long, default_value_t = 50)]
    most: usize,
}

/// Decisions, as the journal names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decided {
    /// Nothing against it
    Pass,
    /// A person was to decide
    Ask,
    /// No
    Refuse,
}

impl Decided {
    fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// A line each
    Human,
    /// JSON, a line each
    Json,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let records = journal::records().map_err(|error| {
        Refusal::new(Class::File, format!("the journal cannot be read: {error}"), "make ~/.tyran/journal readable")
    })?;
    let wanted: Vec<&Record> = records.iter().filter(|record| arguments.wants(record)).collect();
    let from = wanted.len().saturating_sub(arguments.most);
    let mut out = super::out::stdout();
    for record in wanted.iter().skip(from) {
        let line = match arguments.format {
            LogFormat::Human => human(record),
            LogFormat::Json => serde_json::to_string(record).unwrap_or_default(),
        };
        writeln!(out, "{line}").map_err(|error| super::out::unwritten(&error))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn wants(&self, record: &Record) -> bool {
        let is = |wish: &Option<String>, value: &str| wish.as_deref().is_none_or(|wish| wish == value);
        self.decision.is_none_or(|decision| decision.word() == record.decision)
            && is(&self.of, &record.of)
            && is(&self.session, &record.session)
    }
}

fn human(record: &Record) -> String {
    let at = i64::try_from(record.at).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let at = at.map_or_else(|| "?".to_owned(), |at| at.to_string());
    let text = |field: &str| SafeText::quoted(field.as_bytes(), 120).to_string();
    format!(
        "{at}  {:7} {:18} {:4} {:14} {:>6} ms  {}",
        record.decision,
        text(&record.class),
        record.by,
        text(&record.of),
        record.millis,
        text(&record.dir)
    )
}
