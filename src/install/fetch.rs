//! An archive's bytes, from the project's release, a mirror, or a file.
//!
//! Promise: what comes back has at most as many bytes as allowed and came within the time allowed.
//! Whether it is the pinned archive is [`super::place`]'s to say, before anything is unpacked. By
//! default only HTTPS is spoken, across redirects too; plain HTTP only to a mirror that a person named
//! so, since the digest and not the channel is what is trusted.

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use crate::text::SafeText;
use crate::world::Environment;

use super::pins::Pin;

/// Where an archive is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The project's release.
    Release,
    /// A mirror: the archive's URL, or that of its folder, which ends in a slash.
    Mirror(String),
    /// A file on this machine.
    File(PathBuf),
}

/// What a transfer may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From start to end.
    pub total: Duration,
    /// Until a connection stands.
    pub connect: Duration,
    /// Without a byte coming.
    pub idle: Duration,
    /// How often the server may send us elsewhere. A release is two hops away.
    pub redirects: u32,
    /// Most bytes of an archive; the release's has 8 MB.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(600),
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            redirects: 5,
            bytes: 64 << 20,
        }
    }
}

/// Why an archive could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    /// `--from` names something that is neither.
    #[error("{0} is neither an http or https URL nor a file")]
    Origin(SafeText),
    /// The server said no.
    #[error("{url} answered {status}")]
    Status {
        /// What was asked.
        url: SafeText,
        /// The HTTP status.
        status: u16,
    },
    /// It sent us on too often.
    #[error("{url} sent us elsewhere more than {limit} times")]
    Redirects {
        /// What was asked.
        url: SafeText,
        /// How often it may.
        limit: u32,
    },
    /// A plain connection was asked for where only HTTPS is spoken.
    #[error("{url} leads to a connection that is not HTTPS")]
    NotHttps {
        /// What was asked.
        url: SafeText,
    },
    /// It took too long.
    #[error("{url} took too long: {what}")]
    TooSlow {
        /// What was asked.
        url: SafeText,
        /// In which step.
        what: SafeText,
    },
    /// It sent more than an archive has.
    #[error("{url} sent more than {limit} bytes")]
    TooLarge {
        /// What was asked.
        url: SafeText,
        /// The bound, in bytes.
        limit: u64,
    },
    /// It could not be reached, or broke off.
    #[error("{url}: {what}")]
    Connection {
        /// What was asked.
        url: SafeText,
        /// The reason.
        what: SafeText,
    },
    /// The environment names a proxy that cannot be used.
    #[error("the proxy {proxy} cannot be used: {what}")]
    Proxy {
        /// What is named.
        proxy: SafeText,
        /// The reason.
        what: SafeText,
    },
    /// A file could not be read.
    #[error("{path}: {what}")]
    File {
        /// Its path.
        path: SafeText,
        /// The system's reason.
        what: SafeText,
    },
}

impl Origin {
    /// What `--from` names.
    ///
    /// # Errors
    /// When it is a URL of another scheme.
    pub fn parse(named: &str) -> Result<Self, FetchFault> {
        let lower = named.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Ok(Self::Mirror(named.to_owned()));
        }
        if named.contains("://") {
            return Err(FetchFault::Origin(SafeText::quoted(named.as_bytes(), 200)));
        }
        Ok(Self::File(PathBuf::from(named)))
    }
}

/// The bytes of a pin's archive. `env` names proxies, as curl reads them; `progress` is told how many bytes came, and of how many where the server says so.
///
/// # Errors
/// As [`FetchFault`] tells.
pub fn archive(
    pin: &Pin,
    origin: &Origin,
    limits: Limits,
    env: &Environment,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Vec<u8>, FetchFault> {
    match origin {
        Origin::Release => download(&pin.url(), true, limits, env, progress),
        Origin::Mirror(url) => {
            let url = if url.ends_with('/') { format!("{url}{}", pin.archive) } else { url.clone() };
            let only_https = url.to_ascii_lowercase().starts_with("https://");
            download(&url, only_https, limits, env, progress)
        }
        Origin::File(path) => from_file(path, limits),
    }
}

fn from_file(path: &std::path::Path, limits: Limits) -> Result<Vec<u8>, FetchFault> {
    let shown = || SafeText::quoted(path.as_os_str().as_encoded_bytes(), 200);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(limits.bytes + 1).read_to_end(&mut bytes))
        .map_err(|error| FetchFault::File { path: shown(), what: error.to_string().into() })?;
    if bytes.len() as u64 > limits.bytes {
        return Err(FetchFault::TooLarge { url: shown(), limit: limits.bytes });
    }
    Ok(bytes)
}

fn download(
    url: &str,
    only_https: bool,
    limits: Limits,
    env: &Environment,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Vec<u8>, FetchFault> {
    let agent = ureq::Agent::config_builder()
        .https_only(only_https)
        .proxy(proxy(url, env)?)
        .max_redirects(limits.redirects)
        .timeout_global(Some(limits.total))
        .timeout_connect(Some(limits.connect))
        .timeout_recv_response(Some(limits.total.min(limits.idle)))
        .timeout_per_read(Some(limits.idle))
        .user_agent(concat!("tyran/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let fault = |error: ureq::Error| fault_of(without_credentials(url), limits, error);
    let response = agent.get(url).call().map_err(fault)?;
    let promised = response.body().content_length();
    let mut reader = response.into_body().into_with_config().limit(limits.bytes.saturating_add(2)).reader();
    let mut bytes = Vec::new();
    let mut piece = vec![0u8; 64 << 10];
    loop {
        let count = reader.read(&mut piece).map_err(|error| fault(ureq::Error::from(error)))?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
        if bytes.len() as u64 > limits.bytes {
            return Err(FetchFault::TooLarge { url: without_credentials(url), limit: limits.bytes });
        }
        progress(bytes.len() as u64, promised);
    }
    match promised {
        Some(promised) if promised != bytes.len() as u64 => Err(FetchFault::Connection {
            url: without_credentials(url),
            what: format!("it sent {} of {promised} bytes", bytes.len()).into(),
        }),
        Some(_) | None => Ok(bytes),
    }
}

/// The proxy for a URL, by curl's rules: the scheme's own variable, then `all_proxy`; hosts in
/// `no_proxy` are reached without. Upper-case `HTTP_PROXY` is not read, since a CGI server sets it
/// from a request's header.
fn proxy(url: &str, env: &Environment) -> Result<Option<ureq::Proxy>, FetchFault> {
    let var = |name: &&str| {
        let value = env.get(std::ffi::OsStr::new(name))?.to_string_lossy().into_owned();
        Some(value).filter(|value| !value.trim().is_empty())
    };
    let names: &[&str] = if url.to_ascii_lowercase().starts_with("https://") {
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else {
        &["http_proxy", "all_proxy", "ALL_PROXY"]
    };
    let Some(named) = names.iter().find_map(var) else { return Ok(None) };
    let unusable =
        |error: ureq::Error| FetchFault::Proxy { proxy: without_credentials(&named), what: error.to_string().into() };
    let read = ureq::Proxy::new(named.trim()).map_err(unusable)?;
    let mut builder = ureq::Proxy::builder(read.protocol()).host(read.host()).port(read.port());
    if let Some(user) = read.username() {
        builder = builder.username(user);
    }
    if let Some(password) = read.password() {
        builder = builder.password(password);
    }
    let excepted = ["no_proxy", "NO_PROXY"].iter().find_map(var).unwrap_or_default();
    for host in excepted.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        builder = builder.no_proxy(host);
    }
    builder.build().map(Some).map_err(unusable)
}

/// A URL without the user and password that a mirror's may hold, nor its query, which may hold a token.
fn without_credentials(url: &str) -> SafeText {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    SafeText::quoted(format!("{scheme}://{host}{path}").as_bytes(), 300)
}

fn fault_of(url: SafeText, limits: Limits, error: ureq::Error) -> FetchFault {
    match error {
        ureq::Error::StatusCode(status) => FetchFault::Status { url, status },
        ureq::Error::TooManyRedirects => FetchFault::Redirects { url, limit: limits.redirects },
        ureq::Error::RequireHttpsOnly(_) => FetchFault::NotHttps { url },
        ureq::Error::Timeout(what) => FetchFault::TooSlow { url, what: what.to_string().into() },
        ureq::Error::BodyExceedsLimit(limit) => FetchFault::TooLarge { url, limit },
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            FetchFault::TooSlow { url, what: error.to_string().into() }
        }
        // The library's enum is open: whatever else it says, the connection did not serve.
        other => FetchFault::Connection { url, what: other.to_string().into() },
    }
}
