//! Wrappers that need no more than a table: options, some operands, then a program.

use bstr::BStr;

use super::{Unwrapped, Wrapped};
use crate::command::simple::Value;

/// One row: what stands before the program.
pub(super) struct Row {
    name: &'static str,
    /// Words that must come first (`exec` of `bundle exec`), else it is no wrapper.
    verbs: &'static [&'static str],
    /// Options that take the next word as their value.
    with_value: &'static [&'static str],
    /// Operands before the program.
    operands: usize,
    /// Options that make it run nothing.
    inert: &'static [&'static str],
}

const fn row(name: &'static str, with_value: &'static [&'static str], operands: usize) -> Row {
    Row { name, verbs: &[], with_value, operands, inert: &[] }
}

const fn under(name: &'static str, verbs: &'static [&'static str], with_value: &'static [&'static str]) -> Row {
    Row { name, verbs, with_value, operands: 0, inert: &[] }
}

/// Sources: util-linux, coreutils, and the programs' own manuals, as of Debian 12.
const ROWS: &[Row] = &[
    row("nice", &["-n", "--adjustment"], 0),
    row("gnice", &["-n", "--adjustment"], 0),
    Row {
        name: "ionice",
        verbs: &[],
        with_value: &["-c", "-n", "--class", "--classdata"],
        operands: 0,
        inert: &["-p", "--pid"],
    },
    row("nohup", &[], 0),
    row("setsid", &[], 0),
    row("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    row("gstdbuf", &["-i", "-o", "-e"], 0),
    row("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    row("gtimeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    row("time", &["-f", "-o", "--format", "--output"], 0),
    row("gtime", &["-f", "-o", "--format", "--output"], 0),
    Row {
        name: "chrt",
        verbs: &[],
        with_value: &["-T", "-P", "-D"],
        operands: 1,
        inert: &["-p", "--pid", "-m", "--max"],
    },
    Row { name: "taskset", verbs: &[], with_value: &[], operands: 1, inert: &["-p", "--pid"] },
    row(
        "setpriv",
        &[
            "--reuid",
            "--regid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
            "--selinux-label",
            "--apparmor-profile",
        ],
        0,
    ),
    row("fakeroot", &["-l", "-s", "-i", "-b", "--lib", "--faked"], 0),
    row("eatmydata", &[], 0),
    row("catchsegv", &[], 0),
    row("unbuffer", &[], 0),
    row("proxychains", &["-f"], 0),
    row("proxychains4", &["-f"], 0),
    row("torsocks", &["-u", "-p"], 0),
    row("torify", &[], 0),
    row("dbus-run-session", &["--config-file", "--dbus-daemon"], 0),
    row("dbus-launch", &[], 0),
    row("xvfb-run", &["-n", "-s", "-e", "-f", "-p", "-w", "--server-args", "--error-file", "--auth-file"], 0),
    row("caffeinate", &["-t", "-w"], 0),
    row("numactl", &["-N", "-m", "-C", "-i", "-p"], 0),
    row("cgexec", &["-g"], 0),
    row("prlimit", &["-p"], 0),
    row("choom", &["-n", "-p"], 0),
    row(
        "unshare",
        &["-S", "-G", "-R", "-w", "--setuid", "--setgid", "--root", "--wd", "--map-users", "--map-groups"],
        0,
    ),
    row("nsenter", &["-t", "-S", "-G", "--target", "--setuid", "--setgid"], 0),
    row("firejail", &[], 0),
    row("strace", &["-o", "-e", "-p", "-s", "-u", "-E", "-a", "-I", "-O", "-S", "-X", "-b", "-P"], 0),
    row("ltrace", &["-o", "-e", "-p", "-s", "-u", "-a", "-l", "-n"], 0),
    row(
        "rlwrap",
        &[
            "-b", "-f", "-H", "-s", "-S", "-C", "-D", "-e", "-g", "-l", "-m", "-M", "-o", "-O", "-p", "-P", "-q", "-t",
            "-w", "-z",
        ],
        0,
    ),
    row("chronic", &[], 0),
    row("ifne", &[], 0),
    row("systemd-cat", &["-t", "-p", "--identifier", "--priority"], 0),
    row("systemd-inhibit", &[], 0),
    row(
        "systemd-run",
        &[
            "-p",
            "-u",
            "-M",
            "-H",
            "-E",
            "-d",
            "--property",
            "--unit",
            "--slice",
            "--setenv",
            "--working-directory",
            "--uid",
            "--gid",
            "--description",
            "--on-active",
            "--on-calendar",
        ],
        0,
    ),
    row("dotenv", &["-f", "-e", "--file"], 0),
    row("envdir", &[], 1),
    row("setlock", &[], 1),
    row("softlimit", &[], 0),
    under("bundle", &["exec"], &[]),
    under("poetry", &["run"], &["-C", "-P"]),
    under("pipenv", &["run"], &[]),
    under("pdm", &["run"], &["-p"]),
    under(
        "uv",
        &["run"],
        &["--with", "--python", "-p", "--project", "--directory", "--group", "--extra", "--env-file"],
    ),
    under("rye", &["run"], &[]),
    under("hatch", &["run"], &[]),
    under("pyenv", &["exec"], &[]),
    under("rbenv", &["exec"], &[]),
    under("nodenv", &["exec"], &[]),
    under("asdf", &["exec"], &[]),
    under("mise", &["exec", "x"], &["-C", "--cd"]),
    under("doppler", &["run"], &["-p", "-c", "--project", "--config"]),
    under("op", &["run"], &["--env-file"]),
    under("infisical", &["run"], &["--env", "--path", "--projectId"]),
    Row { name: "aws-vault", verbs: &["exec"], with_value: &["-d", "--duration"], operands: 1, inert: &[] },
    Row { name: "chamber", verbs: &["exec"], with_value: &[], operands: 1, inert: &[] },
    Row { name: "direnv", verbs: &["exec"], with_value: &[], operands: 1, inert: &[] },
    Row {
        name: "conda",
        verbs: &["run"],
        with_value: &["-n", "-p", "--name", "--prefix", "--cwd"],
        operands: 0,
        inert: &[],
    },
];

/// The row of a program.
pub(super) fn simple(base: &BStr) -> Option<&'static Row> {
    ROWS.iter().find(|row| base == row.name)
}

/// What a program of the table runs; `None` when its verb is another one.
pub(super) fn unwrap(row: &'static Row, arguments: &[Value]) -> Option<Unwrapped> {
    let mut rest = arguments;
    if !row.verbs.is_empty() {
        let (verb, others) = skip(row, arguments).split_first()?;
        let verb = verb.known()?;
        if !row.verbs.iter().any(|known| verb == *known) {
            return None;
        }
        rest = others;
    }
    let inert = rest
        .iter()
        .take_while(|word| word.known().is_some_and(|word| word.starts_with(b"-")))
        .filter_map(Value::known)
        .any(|word| row.inert.iter().any(|option| word == *option));
    if inert {
        return Some(Unwrapped::Nothing);
    }
    let mut rest = skip(row, rest);
    rest = rest.get(row.operands..).unwrap_or_default();
    // A separator may stand after the operands too (`aws-vault exec PROFILE -- PROGRAM`).
    if rest.first().and_then(Value::known).is_some_and(|word| word == "--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    Some(Unwrapped::one(Wrapped::words(row.name, rest.to_vec())))
}

fn skip<'a>(row: &Row, arguments: &'a [Value]) -> &'a [Value] {
    let with_value: Vec<&[u8]> = row.with_value.iter().map(|option| option.as_bytes()).collect();
    super::skip_options(arguments, &with_value)
}
