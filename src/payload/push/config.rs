//! Configuration as the judged command would see it.
//!
//! Promise: every scope, include and condition counts as git itself lets it count, with `-c`,
//! `--config-env` and `GIT_CONFIG_*` of the command on top, because git is what is asked. The settings
//! that our own calls add are taken off again.

use bstr::{BStr, BString, ByteSlice};

use crate::command::plan::GitContext;
use crate::payload::Fault;
use crate::world::World;
use crate::world::git::FIXED_SETTINGS;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key; section and variable in lower case, as git prints it.
    pub key: BString,
    /// Its value; `None` for a key without one.
    pub value: Option<BString>,
}

/// All settings, in the order in which git reads them.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    settings: Vec<Setting>,
}

impl Configuration {
    /// Asks git.
    ///
    /// # Errors
    /// When git cannot read its configuration (then it cannot push either, but why is not known here).
    pub fn read(world: &World, git: &GitContext) -> Result<Self, Fault> {
        let listed = world.settings(git).map_err(Fault::from)?;
        let mut settings: Vec<Setting> = listed.iter().map(|(_, entry)| Setting::read(entry)).collect();
        let own = settings.len().saturating_sub(FIXED_SETTINGS);
        settings.truncate(own);
        Ok(Self { settings })
    }

    /// Whether settings hang on which branch is checked out.
    pub fn hangs_on_branch(&self) -> bool {
        self.settings().any(|setting| setting.key.starts_with(b"includeif.onbranch:"))
    }

    /// Every setting, in order.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// The last value of a key; a key without a value has the empty one.
    pub fn last(&self, key: &str) -> Option<&BStr> {
        self.settings.iter().rev().find(|setting| setting.key == key).map(Setting::text)
    }

    /// All values of a key, in order.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &BStr> {
        self.settings.iter().filter(move |setting| setting.key == key).map(Setting::text)
    }

    /// The last value of a key as a boolean. A value that is none makes git give up; it counts as
    /// true here, which only ever takes more along.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let setting = self.settings.iter().rev().find(|setting| setting.key == key)?;
        Some(setting.truth())
    }

    /// Settings of `section.NAME.variable`, as (name, variable, setting).
    pub fn named<'a>(&'a self, section: &'a str) -> impl Iterator<Item = (&'a BStr, &'a BStr, &'a Setting)> {
        self.settings.iter().filter_map(move |setting| {
            let (name, variable) = setting.named(section)?;
            Some((name, variable, setting))
        })
    }
}

impl Setting {
    fn read(entry: &[u8]) -> Self {
        match entry.split_once_str("\n") {
            Some((key, value)) => Self { key: key.into(), value: Some(value.into()) },
            None => Self { key: entry.into(), value: None },
        }
    }

    /// Its value; a key without a value has the empty one.
    pub fn text(&self) -> &BStr {
        self.value.as_ref().map_or(BStr::new(""), |value| value.as_bstr())
    }

    /// Its value as a boolean, see [`Configuration::flag`].
    pub fn truth(&self) -> bool {
        self.value.as_ref().is_none_or(|value| boolean(value).unwrap_or(true))
    }

    fn named(&self, section: &str) -> Option<(&BStr, &BStr)> {
        let rest = self.key.strip_prefix(section.as_bytes())?.strip_prefix(b".")?;
        let dot = rest.rfind_byte(b'.')?;
        let (name, variable) = rest.split_at(dot);
        Some((name.as_bstr(), variable.strip_prefix(b".")?.as_bstr()))
    }
}

/// A boolean as git reads one (`git_parse_maybe_bool`): words in any case, or a number.
pub fn boolean(value: &[u8]) -> Option<bool> {
    let lower = value.to_ascii_lowercase();
    match lower.as_slice() {
        b"true" | b"yes" | b"on" => Some(true),
        b"false" | b"no" | b"off" | b"" => Some(false),
        number => integer(number).map(|number| number != 0),
    }
}

/// A number with an optional sign, base prefix and unit (`git_parse_int`), lower case.
fn integer(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?.trim_start();
    let (text, unit) = match text.strip_suffix(['k', 'm', 'g']) {
        Some(number) => (
            number,
            match text.as_bytes().last() {
                Some(b'k') => 1 << 10,
                Some(b'm') => 1 << 20,
                _ => 1 << 30,
            },
        ),
        None => (text, 1),
    };
    let (digits, sign) = match text.strip_prefix('-') {
        Some(digits) => (digits, -1),
        None => (text.strip_prefix('+').unwrap_or(text), 1),
    };
    let number = if let Some(hexadecimal) = digits.strip_prefix("0x") {
        i64::from_str_radix(hexadecimal, 16)
    } else if let Some(octal) = digits.strip_prefix('0').filter(|octal| !octal.is_empty()) {
        i64::from_str_radix(octal, 8)
    } else {
        digits.parse()
    };
    Some(i128::from(number.ok()?) * sign * unit)
}
