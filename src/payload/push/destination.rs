//! What a push url leads to, and what is there already.
//!
//! Promise: an id counts as published only when the destination itself was asked now and said so; a
//! destination that was not asked, did not answer, or is not what its url says (a helper, another
//! program at the other end) has published nothing. In the gate nothing that configuration or the
//! command line names is run: a local path is asked through git's own `receive-pack`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::text::SafeText;
use crate::world::child::Job;
use crate::world::{Caution, Environment, World, look_up};

use super::config::Configuration;
use super::refs::object_id;
use super::resolve::Advertised;

/// Whether a destination over the network is asked for its refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Never: nothing there counts as published.
    Unasked,
    /// Asked, and waited for this long.
    Within(Duration),
}

/// What a url leads to (transport.c `transport_get`, connect.c `parse_connect_url`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A repository on this machine.
    Local(PathBuf),
    /// A host, through git's own ssh, git or http client.
    Host,
    /// A program, which does with the objects what it likes.
    Helper(BString),
}

impl Peer {
    /// Reads a url. `helper` is `remote.NAME.vcs`.
    pub fn of(url: &BStr, helper: Option<&BString>) -> Self {
        if let Some(helper) = helper {
            return Self::Helper(helper.clone());
        }
        if let Some((name, _)) = url.split_once_str("::").filter(|(name, _)| is_scheme(name)) {
            return Self::Helper(name.into());
        }
        let Some((scheme, rest)) = url.split_once_str("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            return if is_host_path(url) { Self::Host } else { Self::Local(path(url)) };
        };
        match scheme {
            b"file" => Self::Local(path(&percent_decoded(rest))),
            b"ssh" | b"git" | b"git+ssh" | b"ssh+git" | b"http" | b"https" => Self::Host,
            other => Self::Helper(other.into()),
        }
    }
}

impl Peer {
    /// Whether it is a path where nothing is, under none of the names that git tries (`enter_repo`):
    /// then git says so and nothing leaves. `dir` is where relative paths start from.
    pub fn is_absent(&self, dir: &Path) -> bool {
        let Self::Local(path) = self else { return false };
        // git expands `~` and `~user` on its own.
        if path.as_os_str().as_encoded_bytes().starts_with(b"~") {
            return false;
        }
        let mut with_suffix = dir.join(path).into_os_string();
        with_suffix.push(".git");
        let nothing =
            |path: &Path| matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound);
        nothing(&dir.join(path)) && nothing(Path::new(&with_suffix))
    }
}

fn is_scheme(name: &[u8]) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    name.first().is_some_and(u8::is_ascii_alphanumeric) && name.iter().all(|byte| inner(*byte))
}

/// `host:path`, as scp writes it: a colon before the first slash.
fn is_host_path(url: &[u8]) -> bool {
    match (url.find_byte(b':'), url.find_byte(b'/')) {
        (Some(colon), Some(slash)) => colon < slash,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let byte = after.get(..2).filter(|_| *first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok().filter(|byte| *byte != 0)
        });
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    decoded
}

fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

/// A url as it may be shown: without credentials, query and fragment.
pub fn shown(url: &BStr) -> SafeText {
    let cleaned = match url.split_once_str("://") {
        Some((scheme, rest)) => {
            let end = rest.find_byteset(b"?#").unwrap_or(rest.len());
            let rest = rest.get(..end).unwrap_or(rest);
            let (authority, path) = match rest.find_byte(b'/') {
                Some(slash) => rest.split_at(slash),
                None => (rest, &b""[..]),
            };
            let host = authority.rsplit_once_str("@").map_or(authority, |(_, host)| host);
            [scheme, b"://", host, path].concat()
        }
        None => url.to_vec(),
    };
    SafeText::quoted(&cleaned, 200)
}

/// Variables that name the program which leads to a host.
const WAYS: &[&str] = &["GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND"];

/// Asks destinations.
#[derive(Debug)]
pub struct Asker<'a> {
    /// The world.
    pub world: &'a World,
    /// The push's own view of git.
    pub git: &'a GitContext,
    /// Its configuration.
    pub config: &'a Configuration,
    /// The directory that relative paths start from.
    pub dir: &'a Path,
    /// Whether hosts are asked.
    pub network: Network,
}

/// What a destination said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advertisement {
    /// Its refs, now.
    Refs(Vec<Advertised>),
    /// Nothing, and why.
    Unknown(SafeText),
}

impl Advertisement {
    /// The refs, when it was asked and answered.
    pub fn refs(&self) -> Option<&[Advertised]> {
        match self {
            Self::Refs(refs) => Some(refs),
            Self::Unknown(_) => None,
        }
    }
}

impl Asker<'_> {
    /// What the destination of a url advertises. `receive_pack` is another program at the other end.
    pub fn ask(&self, url: &BStr, peer: &Peer, receive_pack: Option<&BString>) -> Advertisement {
        let receive_pack =
            receive_pack.filter(|program| *program != "git-receive-pack" && *program != "git receive-pack");
        match (peer, receive_pack) {
            (Peer::Helper(name), _) => Advertisement::Unknown(
                format!("the helper {} decides where it goes", SafeText::quoted(name, 60)).into(),
            ),
            (Peer::Local(path), None) => self.ask_path(path),
            (Peer::Local(path), Some(program)) if self.world.caution == Caution::ByHand => {
                self.ask_program(program, path)
            }
            (Peer::Host, None) => match self.network {
                Network::Unasked => Advertisement::Unknown("it was not asked".into()),
                Network::Within(_) if self.world.caution == Caution::Gate && self.names_programs() => {
                    Advertisement::Unknown("programs are named that git would run to ask it".into())
                }
                Network::Within(_) if self.goes_elsewhere() => {
                    Advertisement::Unknown("settings of this remote alone decide the way to it".into())
                }
                Network::Within(limit) => self.ask_host(url, limit),
            },
            (Peer::Local(_) | Peer::Host, Some(_)) => {
                Advertisement::Unknown("another program than git's receive-pack is at the other end".into())
            }
        }
    }

    /// A path: through git's own receive-pack, which says exactly what a push would be told.
    fn ask_path(&self, path: &Path) -> Advertisement {
        let context = self.peer_context();
        let words = [OsStr::new("receive-pack"), OsStr::new("--advertise-refs"), OsStr::new("--"), path.as_os_str()];
        match self.world.git(&context, words).stdout() {
            Ok(answer) => read_packets(&answer),
            Err(fault) => unknown(&fault),
        }
    }

    /// A path with another receive-pack, which git is about to run all the same; its input is closed, so
    /// that it says what is there and receives nothing.
    fn ask_program(&self, program: &BString, path: &Path) -> Advertisement {
        let Some(shell) = look_up(OsStr::new("sh"), self.world.var("PATH"), self.dir) else {
            return Advertisement::Unknown("no shell was found to ask with".into());
        };
        let mut script = program.to_vec();
        script.extend_from_slice(b" \"$@\"");
        let context = self.peer_context();
        let path_of_programs = self.world.var("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin")).to_owned();
        let mut env: Environment = context
            .env
            .iter()
            .filter(|(name, _)| *name == "HOME")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        env.insert("PATH".into(), path_of_programs);
        let job = Job {
            program: shell,
            args: vec!["-c".into(), OsString::from_vec(script), "receive-pack".into(), path.as_os_str().into()],
            env,
            dir: self.dir.to_owned(),
            input: Vec::new(),
            output_limit: 1 << 28,
            time_limit: self.world.time_left(Duration::from_secs(20)),
        };
        match job.run() {
            // It ends in an error, since nothing was sent to it.
            Ok(done) => read_packets(&done.stdout),
            Err(fault) => unknown(&fault),
        }
    }

    /// A host: through `git ls-remote`, without prompts and without asking longer than `limit`.
    fn ask_host(&self, url: &BStr, limit: Duration) -> Advertisement {
        // The url has been rewritten once, as git does; this rule, longer than any other that could
        // match, keeps it from being rewritten again.
        const PLACEHOLDER: &str = "tyran-push-destination:";
        let count =
            self.git.env.get(OsStr::new("GIT_CONFIG_COUNT")).and_then(|count| count.to_str()?.parse::<u32>().ok());
        let next = count.unwrap_or(0);
        let key = [b"url.", url.as_bytes(), b".insteadOf"].concat();
        let words = ["ls-remote", "--refs", "--upload-pack=git-upload-pack", "--", PLACEHOLDER];
        let world = self.world.until(std::time::Instant::now() + limit);
        let mut call = world
            .git(self.git, words)
            .var("GIT_CONFIG_COUNT", (next + 1).to_string())
            .var(format!("GIT_CONFIG_KEY_{next}"), OsString::from_vec(key))
            .var(format!("GIT_CONFIG_VALUE_{next}"), PLACEHOLDER)
            .over_the_network();
        // The way that git takes is the way to ask: another one could end at another host.
        let mut says_how = self.config.last("core.sshcommand").is_some();
        for name in WAYS {
            if let Some(value) = self.git.env.get(OsStr::new(name)) {
                call = call.var(name, value);
                says_how = true;
            }
        }
        if !says_how {
            call = call.var("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        match call.stdout() {
            Ok(answer) => read_listing(&answer),
            Err(fault) => unknown(&fault),
        }
    }

    /// Whether the configuration or the environment names a program that the way to a host would run.
    fn names_programs(&self) -> bool {
        let named = |key: &[u8]| {
            matches!(key, b"core.sshcommand" | b"core.askpass" | b"core.gitproxy")
                || (key.starts_with(b"credential.") && key.ends_with(b".helper"))
        };
        self.config.settings().any(|setting| named(&setting.key))
            || WAYS.iter().any(|name| self.git.env.contains_key(OsStr::new(name)))
    }

    /// Whether a remote has a proxy of its own, which a question by url would not take.
    fn goes_elsewhere(&self) -> bool {
        self.config.named("remote").any(|(_, variable, _)| variable == "proxy")
    }

    /// The other side's view of git: it runs in the push's directory, and of the environment it gets
    /// only what is not about this side's repository (`prepare_submodule_repo_env`, connect.c).
    fn peer_context(&self) -> GitContext {
        let kept = [
            "HOME",
            "XDG_CONFIG_HOME",
            "GIT_NAMESPACE",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM",
            "SUDO_UID",
        ];
        let env = self.git.env.iter().filter(|(name, _)| kept.iter().any(|kept| *name == *kept));
        GitContext {
            dir: self.dir.to_owned(),
            env: env.map(|(name, value)| (name.clone(), value.clone())).collect(),
            globals: Vec::new(),
        }
    }
}

fn unknown(fault: &dyn std::fmt::Display) -> Advertisement {
    Advertisement::Unknown(SafeText::quoted(fault.to_string().as_bytes(), 200))
}

/// `git ls-remote`'s lines.
fn read_listing(answer: &[u8]) -> Advertisement {
    let mut refs = Vec::new();
    for line in answer.lines() {
        match line.split_once_str("\t").map(|(oid, name)| (object_id(oid), name)) {
            Some((Ok(oid), name)) => refs.push(Advertised { name: name.into(), oid }),
            Some((Err(_), _)) | None => return Advertisement::Unknown("its list could not be read".into()),
        }
    }
    Advertisement::Refs(refs)
}

/// The packet lines with which receive-pack starts: ids and names, the first with capabilities after a
/// NUL; `.have` for what its alternates have, and a place holder when there is nothing.
fn read_packets(answer: &[u8]) -> Advertisement {
    let mut refs = Vec::new();
    let mut rest = answer;
    loop {
        let Some((line, after)) = packet(rest) else {
            return Advertisement::Unknown("its list could not be read".into());
        };
        rest = after;
        let Some(line) = line else { return Advertisement::Refs(refs) };
        let line = line.split_once_str("\0").map_or(line, |(line, _)| line).trim_end_with(|end| end == '\n');
        match read_ref(line) {
            Ok(found) => refs.extend(found),
            Err(_) => return Advertisement::Unknown("its list could not be read".into()),
        }
    }
}

fn read_ref(line: &[u8]) -> Result<Option<Advertised>, Fault> {
    let unreadable = || Fault::Destination("its list could not be read".into());
    if line.starts_with(b"version ") || line.starts_with(b"shallow ") {
        return Ok(None);
    }
    let (oid, name) = line.split_once_str(" ").ok_or_else(unreadable)?;
    let oid = object_id(oid)?;
    Ok((!oid.is_null()).then(|| Advertised { name: name.into(), oid }))
}

/// The first packet of `bytes` and what follows; `None` inside is the flush that ends a list.
fn packet(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (digits, rest) = bytes.split_at_checked(4)?;
    let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    match length {
        0 => Some((None, rest)),
        _ => rest.split_at_checked(length.checked_sub(4)?).map(|(line, rest)| (Some(line), rest)),
    }
}
