//! `tyran rules`: which rules are in force, what one of them says, and whether they hold.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::scan::embedded::{EmbeddedEngine, Mode, Options, Rule, RuleSet, RulesFault, trial};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};

/// `tyran rules list|show|check`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the rules in force
    List {
        /// How they are written
        #[arg(long, value_enum, default_value_t = Form::Human)]
        format: Form,
        /// Rules of a file, instead of tyran's own
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Show all that one rule says
    Show {
        /// Its id
        id: String,
        /// Rules of a file, instead of tyran's own
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
    /// Try every rule on its examples and counter-examples
    Check {
        /// Rules of a file, instead of tyran's own
        #[arg(long, value_name = "FILE")]
        rules: Option<PathBuf>,
    },
}

/// Forms of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One line each
    Human,
    /// An array of objects
    Json,
    /// The page docs/rules.md
    Markdown,
}

/// Lists, shows or checks.
///
/// # Errors
/// When the rules cannot be read, or there is no rule of that id.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let (text, code) = match &arguments.what {
        What::List { format, rules } => {
            let set = load(rules.as_ref())?;
            let text = match format {
                Form::Human => lines(&set),
                Form::Json => json_list(&set),
                Form::Markdown => page(&set),
            };
            (text, ExitCode::SUCCESS)
        }
        What::Show { id, rules } => {
            let set = load(rules.as_ref())?;
            let rule = set.rules().find(|rule| *rule.id == **id).ok_or_else(|| {
                let what = format!("there is no rule {}", SafeText::quoted(id.as_bytes(), 60));
                Refusal::new(Class::Usage, what, "see `tyran rules list`")
            })?;
            (shown(rule), ExitCode::SUCCESS)
        }
        What::Check { rules } => check(load(rules.as_ref())?)?,
    };
    let mut out = super::out::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| super::out::unwritten(&error))?;
    Ok(code)
}

fn load(path: Option<&PathBuf>) -> Result<Arc<RuleSet>, Refusal> {
    let set = match path {
        Some(path) => RuleSet::load(path, Mode::Strict),
        None => RuleSet::builtin_with_examples(),
    };
    set.map_err(|fault: RulesFault| Refusal::new(Class::Usage, fault.to_string(), "correct the rules"))
}

fn check(set: Arc<RuleSet>) -> Result<(String, ExitCode), Refusal> {
    let broken = |what: String| Refusal::internal(what);
    let engine =
        EmbeddedEngine::new(Arc::clone(&set), Options::default()).map_err(|fault| broken(fault.to_string()))?;
    let faults = trial::try_rules(&engine, set.rules());
    let mut text = String::new();
    for fault in &faults {
        let _ = writeln!(text, "{}", SafeText::new(&fault.to_string()));
    }
    let _ = writeln!(text, "{} rules tried, {} faults", set.len(), faults.len());
    Ok((text, if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }))
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn lines(set: &RuleSet) -> String {
    let mut text = String::new();
    for rule in set.rules() {
        let (severity, confidence) = (word(rule.severity), word(rule.confidence));
        let _ = writeln!(text, "{:<44} {severity:<9} {confidence:<7} {}", rule.id, SafeText::new(&rule.description));
    }
    text
}

fn json_list(set: &RuleSet) -> String {
    let rules = set.rules().map(|rule| {
        json!({
            "id": &*rule.id,
            "description": &*rule.description,
            "severity": rule.severity,
            "confidence": rule.confidence,
            "checksum": rule.checksum(),
            "url": rule.url.as_deref(),
            "remedy": remedy(rule),
        })
    });
    let mut text = serde_json::to_string_pretty(&rules.collect::<Vec<_>>()).unwrap_or_default();
    text.push('\n');
    text
}

/// What to do on a leak: what the rule says, else where the issuer's documentation is.
fn remedy(rule: &Rule) -> Option<String> {
    let own = rule.remedy.as_deref().map(str::to_owned);
    own.or_else(|| rule.url.as_deref().map(|url| format!("revoke it where it was issued, see {url}")))
}

/// The page of all rules for people, in Markdown.
pub fn page(set: &RuleSet) -> String {
    let mut text = String::from(
        "# Rules\n\nMade by `tyran rules list --format markdown`; do not edit. `tyran rules show ID` tells the rest of a \
         rule.\n\nSeverity says how bad a leak is, confidence how sure a finding is: high and medium refuse, low and note \
         are told only. *Checked* names what is computed about the value without asking anybody; a value that fails is a \
         note, or no finding.\n\n",
    );
    let _ = writeln!(text, "{} rules.\n", set.len());
    text.push_str("| rule | finds | severity | confidence | checked |\n|---|---|---|---|---|\n");
    for rule in set.rules() {
        let cell = |text: &str| text.replace('|', "\\|");
        let name = match &rule.url {
            Some(url) => format!("[{}]({url})", rule.id),
            None => rule.id.to_string(),
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} |",
            cell(&rule.description),
            word(rule.severity),
            word(rule.confidence),
            rule.checksum().unwrap_or("")
        );
    }
    text
}

fn shown(rule: &Rule) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<13} {}", SafeText::new(value));
        }
    };
    line("id", &rule.id);
    line("finds", &rule.description);
    line("severity", &word(rule.severity));
    line("confidence", &word(rule.confidence));
    line("shape", &rule.shapes.join("  or  "));
    line("names", &rule.names.join(", "));
    line("regex", rule.regex().unwrap_or_default());
    line("path", rule.path().unwrap_or_default());
    line("keywords", &rule.keywords.join(", "));
    if rule.entropy() > 0.0 {
        line("entropy", &format!("above {}", rule.entropy()));
    }
    if let Some(checksum) = rule.checksum() {
        line("checked", checksum);
        line("", explained(checksum));
    }
    line("documented", rule.url.as_deref().unwrap_or_default());
    line("on a leak", &remedy(rule).unwrap_or_default());
    for example in &rule.examples {
        line("example", example);
    }
    for example in &rule.counter_examples {
        line("not", example);
    }
    text
}

/// How values are weighed that only a name makes a secret.
fn explained(checksum: &str) -> &'static str {
    match checksum {
        "token-assignment" => {
            "the name must not speak against itself (`token_url`, `public_key`, `csrf_token`), and must be given the value, \
             not stand beside it; the value must be of a generator: 12 characters or more, letters that follow each other \
             as in no word, digits among them, and no lookup, path, identifier, UUID, public key or encoded dummy"
        }
        "password-assignment" | "password" | "user-password" | "encoded-password" | "encoded-user-password" => {
            "the value must be one that somebody could have chosen: 8 characters or more with digits or signs among letters, \
             or random; no variable, template, path or call, not made of words like `test` and `secret`, no run of the \
             keyboard"
        }
        "random-token" => "the value must be of a generator, or a UUID; no words, no identifier, no dummy",
        _ => "",
    }
}
