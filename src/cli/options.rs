//! Options that several subcommands share, and what follows from them.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::command::plan::GitContext;
use crate::judge::{Judged, Setup};
use crate::payload::ObjectId;
use crate::payload::assemble::Assembly;
use crate::report::{self, Colour, Format, Judgement, Reported, Suppressed, Terminal};
use crate::scan::Finding;
use crate::scan::fingerprint::{self, Fingerprint};
use crate::text::SafeText;
use crate::verdict::{Class, Refusal};
use crate::world::{Caution, World};

/// Which engines read the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// embedded; and gitleaks beside it where one is present, for payloads up to 16 MiB
    Auto,
    /// tyran's own engine alone
    Embedded,
    /// gitleaks alone; a refusal where there is none
    Gitleaks,
    /// both; a refusal where there is no gitleaks
    Both,
}

/// Options that every scan takes.
#[derive(Clone, Debug, Args)]
pub struct ScanOptions {
    /// How the result is written to standard output
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Write the result to a file as well, in another format (may be repeated)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = format_and_file)]
    pub report: Vec<(Format, PathBuf)>,
    /// Which engines read the payload
    #[arg(long, value_enum, default_value_t = EngineChoice::Auto)]
    pub engine: EngineChoice,
    /// tyran's configuration, instead of ~/.tyran/config.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Rules in gitleaks' TOML, instead of tyran's own
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Refuse when there is no answer after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub deadline: Option<Duration>,
    /// Threads that read and match (default: one per core, at most 8)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// Reads `FORMAT=FILE`.
fn format_and_file(text: &str) -> Result<(Format, PathBuf), String> {
    let (format, file) = text.split_once('=').ok_or_else(|| format!("{text:?} is not FORMAT=FILE"))?;
    let format = <Format as ValueEnum>::from_str(format, false)?;
    if file.is_empty() {
        return Err("the file has no name".to_owned());
    }
    Ok((format, PathBuf::from(file)))
}

/// Reads a number of seconds, fractions allowed: positive and finite.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if !number.is_finite() || number <= 0.0 {
        return Err("a deadline is a positive number of seconds".to_owned());
    }
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

impl ScanOptions {
    /// The world of this process, with the deadline counted from now.
    pub fn world(&self, directory: Option<&PathBuf>) -> Result<World, Refusal> {
        world(directory).map(|mut world| {
            world.deadline = self.deadline.map(|deadline| Instant::now() + deadline);
            world
        })
    }

    /// What a scan needs besides its payload.
    pub fn setup(&self, world: &World, compat: bool) -> Setup {
        Setup {
            engine: self.engine,
            rules: self.rules.clone(),
            config: self.config.clone(),
            compat,
            threads: self.threads.map(usize::from).unwrap_or_else(default_threads),
            progress: !self.quiet && std::io::stderr().is_terminal(),
            assembly: Assembly::of(world),
            remember: true,
        }
    }
}

/// The world of this process, in another directory when one is named (`-C`).
pub fn world(directory: Option<&PathBuf>) -> Result<World, Refusal> {
    let mut world = World::of_process(Caution::ByHand).map_err(|error| {
        Refusal::new(
            Class::File,
            format!("the current directory cannot be read: {error}"),
            "change to a directory that exists, then try again",
        )
    })?;
    if let Some(directory) = directory {
        let path = world.cwd.join(directory);
        world.cwd = path.canonicalize().map_err(|error| {
            Refusal::new(Class::Usage, format!("-C {}: {error}", path.display()), "name a directory that exists")
        })?;
    }
    Ok(world)
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(8))
}

impl ScanOptions {
    /// Writes what was judged to standard output, and returns the exit code it means.
    ///
    /// # Errors
    /// When standard output cannot be written to: an answer that nobody read is not a pass.
    pub fn report(&self, world: &World, judged: &Judged) -> Result<ExitCode, Refusal> {
        for (format, file) in &self.report {
            write_file(world, judged, *format, &world.cwd.join(file))?;
        }
        let terminal = Terminal::of_stdout(self.color, &world.env);
        if self.format == Format::Gitleaks
            && let Some(refusal) = judged.refusal()
            && refusal.class != Class::Finding
        {
            super::out::complain(format_args!("{refusal}"));
        }
        write(world, judged, self.format, &mut super::out::stdout(), &terminal)
    }

    /// The same to standard error, where people see what git's hooks say.
    ///
    /// # Errors
    /// When standard error cannot be written to.
    pub fn report_to_stderr(&self, world: &World, judged: &Judged) -> Result<ExitCode, Refusal> {
        let terminal = Terminal::of_stderr(self.color, &world.env);
        write(world, judged, self.format, &mut std::io::stderr().lock(), &terminal)
    }
}

/// Writes what was judged to a file, whole or not at all.
fn write_file(world: &World, judged: &Judged, format: Format, path: &Path) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        let path = SafeText::quoted(path.as_os_str().as_encoded_bytes(), 300);
        Refusal::new(
            Class::File,
            format!("{path} could not be written: {error}"),
            "name a file that can be written, then try again",
        )
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
    write(world, judged, format, &mut file, &Terminal::plain())?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(permissions).map_err(cannot)?;
    file.persist(path).map_err(|error| cannot(error.error))?;
    Ok(())
}

/// Writes what was judged.
pub fn write(
    world: &World,
    judged: &Judged,
    format: Format,
    out: &mut dyn Write,
    terminal: &Terminal,
) -> Result<ExitCode, Refusal> {
    // They cost some milliseconds each. gitleaks' form has one of its own kind, and people are told few.
    let (kept, accepted) = match format {
        Format::Gitleaks => (vec![false; judged.findings.len()], vec![false; judged.suppressed.len()]),
        Format::Human => {
            let kept = judged.findings.iter().map(|(finding, _)| (finding, judged.policy.refuses(finding)));
            (report::tells_fingerprint(kept), vec![false; judged.suppressed.len()])
        }
        Format::Json | Format::Sarif | Format::Github => {
            (vec![true; judged.findings.len()], vec![true; judged.suppressed.len()])
        }
    };
    let findings = judged.findings.iter().map(|(finding, known)| (finding, known.as_ref()));
    let kept = fingerprints(findings.zip(kept));
    let suppressed = judged.suppressed.iter().map(|one| (&one.finding, one.fingerprint.as_ref()));
    let accepted = fingerprints(suppressed.zip(accepted));
    let reported: Vec<Reported<'_>> = judged
        .findings
        .iter()
        .zip(kept)
        .map(|((finding, _), fingerprint)| Reported { finding, refuses: judged.policy.refuses(finding), fingerprint })
        .collect();
    let suppressed: Vec<Suppressed<'_>> = judged
        .suppressed
        .iter()
        .zip(accepted)
        .map(|(suppressed, fingerprint)| Suppressed {
            finding: &suppressed.finding,
            fingerprint,
            by: suppressed.by.clone(),
            reason: suppressed.reason.clone(),
        })
        .collect();
    let commits = |id: &ObjectId| judged.repository.as_ref().and_then(|context| raw_commit(world, context, id));
    let judgement = Judgement {
        verdict: &judged.verdict,
        findings: &reported,
        suppressed: &suppressed,
        coverage: judged.coverage(),
        destinations: &judged.destinations,
        notes: &judged.notes,
        payload: judged.tally,
        elapsed: judged.elapsed,
        directory: &world.cwd,
        commits: &commits,
    };
    report::write(&judgement, format, out, terminal).and_then(|()| out.flush()).map_err(|error| {
        Refusal::new(
            Class::File,
            format!("the report could not be written: {error}"),
            "give the output a place that takes it, then try again",
        )
    })?;
    Ok(ExitCode::from(judged.verdict.exit_code()))
}

/// What `tyran allow` takes for each finding of which that is asked; empty for the others, and for those beyond
/// [`fingerprint::MOST`] that nobody has asked for yet.
fn fingerprints<'a>(
    findings: impl Iterator<Item = ((&'a Finding, Option<&'a Fingerprint>), bool)> + Clone,
) -> Vec<String> {
    let lacks = |known: Option<&Fingerprint>, asked: bool| asked && known.is_none();
    let lacking = findings.clone().filter(|((_, known), asked)| lacks(*known, *asked));
    let lacking: Vec<&Finding> = lacking.map(|((finding, _), _)| finding).collect();
    let mut made = Fingerprint::of_first(&lacking, fingerprint::MOST).into_iter();
    let told = findings.map(
        |((_, known), asked)| {
            if lacks(known, asked) { made.next().flatten() } else { known.filter(|_| asked).cloned() }
        },
    );
    told.map(|told| told.map_or_else(String::new, |told| told.to_string())).collect()
}

/// A commit's raw bytes, for author and date of a finding.
fn raw_commit(world: &World, context: &GitContext, id: &ObjectId) -> Option<Vec<u8>> {
    world.git(context, ["cat-file".to_owned(), "commit".to_owned(), id.to_string()]).stdout().ok()
}
