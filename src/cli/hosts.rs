//! `tyran hosts`: the host table, and what was established, when.

use std::process::ExitCode;

use clap::Args;
use jiff::civil::Date;
use serde_json::{Value, json};

use crate::host::table::{Host, Method};
use crate::verdict::{Class, Refusal};

use super::doctor::Format;
use super::install;
use super::out::say;

/// `tyran hosts`
#[derive(Debug, Args)]
pub struct Arguments {
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// Lists the rows.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let table = install::table()?;
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let rows =
        table.hosts.iter().map(|host| Ok((host, is_expired(host, today)?))).collect::<Result<Vec<_>, Refusal>>()?;
    match arguments.format {
        Format::Human => {
            for (host, expired) in rows {
                let verified = &host.verified;
                let seen = verified.probe_at.as_ref().unwrap_or(&verified.docs_at);
                let until = if expired { "EXPIRED" } else { "until" };
                say!(
                    "{:<12} {:<30} {:<28} {:<24} {seen}  {until} {}",
                    host.id,
                    host.product,
                    verified.host_version,
                    how(verified.method),
                    verified.expires
                )?;
            }
        }
        Format::Json => {
            let rows: Vec<Value> = rows.into_iter().map(|(host, expired)| object(host, expired)).collect();
            say!("{}", json!({ "hosts": rows }))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_expired(host: &Host, today: Date) -> Result<bool, Refusal> {
    let expires: Date = host.verified.expires.parse().map_err(|error| {
        Refusal::new(
            Class::Installation,
            format!("row {}: {:?} is not a date: {error}", host.id, host.verified.expires),
            "install tyran again",
        )
    })?;
    Ok(today >= expires)
}

fn object(host: &Host, expired: bool) -> Value {
    let verified = &host.verified;
    json!({
        "id": host.id,
        "surface": host.surface,
        "product": host.product,
        "user": host.entry.user,
        "project": host.entry.project,
        "plugin": host.entry.plugin,
        "shell_tools": host.shell_tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "asks_at": host.ask.events,
        "verified": {
            "host_version": verified.host_version,
            "method": how(verified.method),
            "docs_at": verified.docs_at,
            "docs_url": verified.docs_url,
            "probe_at": verified.probe_at,
            "expires": verified.expires,
            "expired": expired,
        },
    })
}

const fn how(method: Method) -> &'static str {
    match method {
        Method::Live => "driven live",
        Method::Code => "shipped code read",
        Method::Source => "public source read",
        Method::ThirdParty => "measured by others",
        Method::Docs => "documentation only",
    }
}
