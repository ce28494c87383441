//! The arguments of `git push` and `git send-pack`, read as git's own option parser reads them.
//!
//! Promise: every spelling that git 2.47 to 2.55 accepts (unique prefixes, `--no-X`, `--verify`,
//! bundles, values in the same or the next word, options after arguments) means here what it means
//! there. An option that is not in the tables is a [`Fault::Unmodelled`] that names it: a later git
//! might know it. What git itself turns down with a usage message is [`Parsed::Refused`].

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use bstr::{BString, ByteSlice};

use crate::payload::Fault;
use crate::text::SafeText;

/// What an option does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Takes none.
    None,
    /// Needs one: after `=`, in the rest of a bundle, or the next word.
    Needed,
    /// Takes one after `=` only.
    Optional,
}

/// One option of git's tables.
struct Known {
    long: &'static str,
    short: Option<u8>,
    value: Value,
    /// Whether `--no-` negates it (for one whose name starts with `no-`: whether leaving that out does).
    negatable: bool,
    set: Set,
}

/// Which part of the arguments an option sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Changes nothing that leaves.
    Nothing,
    Repo,
    All,
    Mirror,
    Delete,
    Tags,
    DryRun,
    Force,
    RecurseSubmodules,
    ReceivePack,
    Prune,
    NoVerify,
    FollowTags,
    Signed,
    PushOption,
    Stdin,
}

const fn flag(long: &'static str, short: Option<u8>, set: Set) -> Known {
    Known { long, short, value: Value::None, negatable: true, set }
}

const fn valued(long: &'static str, short: Option<u8>, value: Value, set: Set) -> Known {
    Known { long, short, value, negatable: true, set }
}

const fn fixed(long: &'static str, short: u8) -> Known {
    Known { long, short: Some(short), value: Value::None, negatable: false, set: Set::Nothing }
}

/// `git push` (builtin/push.c, 2.47 to 2.55).
const PUSH: &[Known] = &[
    flag("verbose", Some(b'v'), Set::Nothing),
    flag("quiet", Some(b'q'), Set::Nothing),
    valued("repo", None, Value::Needed, Set::Repo),
    flag("all", None, Set::All),
    flag("branches", None, Set::All),
    flag("mirror", None, Set::Mirror),
    flag("delete", Some(b'd'), Set::Delete),
    flag("tags", None, Set::Tags),
    flag("dry-run", Some(b'n'), Set::DryRun),
    flag("porcelain", None, Set::Nothing),
    flag("force", Some(b'f'), Set::Force),
    valued("force-with-lease", None, Value::Optional, Set::Force),
    flag("force-if-includes", None, Set::Nothing),
    valued("recurse-submodules", None, Value::Needed, Set::RecurseSubmodules),
    flag("thin", None, Set::Nothing),
    valued("receive-pack", None, Value::Needed, Set::ReceivePack),
    valued("exec", None, Value::Needed, Set::ReceivePack),
    flag("set-upstream", Some(b'u'), Set::Nothing),
    flag("progress", None, Set::Nothing),
    flag("prune", None, Set::Prune),
    flag("no-verify", None, Set::NoVerify),
    flag("follow-tags", None, Set::FollowTags),
    valued("signed", None, Value::Optional, Set::Signed),
    flag("atomic", None, Set::Nothing),
    valued("push-option", Some(b'o'), Value::Needed, Set::PushOption),
    fixed("ipv4", b'4'),
    fixed("ipv6", b'6'),
];

/// `git send-pack` (builtin/send-pack.c, 2.47 to 2.55).
const SEND_PACK: &[Known] = &[
    flag("verbose", Some(b'v'), Set::Nothing),
    flag("quiet", Some(b'q'), Set::Nothing),
    valued("receive-pack", None, Value::Needed, Set::ReceivePack),
    valued("exec", None, Value::Needed, Set::ReceivePack),
    valued("remote", None, Value::Needed, Set::Nothing),
    flag("all", None, Set::All),
    flag("dry-run", Some(b'n'), Set::DryRun),
    flag("mirror", None, Set::Mirror),
    flag("force", Some(b'f'), Set::Force),
    valued("signed", None, Value::Optional, Set::Signed),
    valued("push-option", None, Value::Needed, Set::PushOption),
    flag("progress", None, Set::Nothing),
    flag("thin", None, Set::Nothing),
    flag("atomic", None, Set::Nothing),
    flag("stateless-rpc", None, Set::Nothing),
    flag("stdin", None, Set::Stdin),
    flag("helper-status", None, Set::Nothing),
    valued("force-with-lease", None, Value::Optional, Set::Force),
    flag("force-if-includes", None, Set::Nothing),
];

/// Submodules that are pushed along (`push.recurseSubmodules`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recurse {
    /// None.
    #[default]
    Off,
    /// None, and git refuses when one would be needed.
    Check,
    /// Those with commits that their remote lacks.
    OnDemand,
    /// Those, and not the superproject.
    Only,
}

impl Recurse {
    /// Whether submodules are pushed.
    pub fn goes_down(self) -> bool {
        match self {
            Self::Off | Self::Check => false,
            Self::OnDemand | Self::Only => true,
        }
    }
}

/// Whether a push certificate is sent (`push.gpgSign`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signed {
    /// Never.
    #[default]
    Never,
    /// Always, or when the other side asks.
    Perhaps,
}

/// What the arguments say. `None` in an option is: nothing on the line, so configuration decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushArgs {
    /// `--repo`, used when there is no repository argument.
    pub repo: Option<BString>,
    /// The repository and the refspecs as written.
    pub operands: Vec<BString>,
    /// `--all`, `--branches`.
    pub all: bool,
    /// `--mirror`.
    pub mirror: bool,
    /// `--delete`.
    pub delete: bool,
    /// `--tags`.
    pub tags: bool,
    /// `--dry-run`: push options leave all the same, and hooks run.
    pub dry_run: bool,
    /// `--force`, `--force-with-lease` or `--mirror`: refs may be replaced by what does not contain them.
    pub force: bool,
    /// `--prune`.
    pub prune: bool,
    /// `--no-verify`: the pre-push hook does not run.
    pub no_verify: bool,
    /// `--follow-tags`.
    pub follow_tags: Option<bool>,
    /// `--signed`.
    pub signed: Option<Signed>,
    /// `--recurse-submodules`.
    pub recurse: Option<Recurse>,
    /// `--recurse-submodules=only-is-on-demand`, which git gives to its own children: `only` in the
    /// configuration then means on demand.
    pub only_is_on_demand: bool,
    /// `--receive-pack`, `--exec`.
    pub receive_pack: Option<BString>,
    /// `--push-option`; when there is any, those of the configuration are not sent.
    pub push_options: Vec<BString>,
    /// `--stdin`: refspecs come from standard input.
    pub stdin: bool,
}

/// The outcome of reading arguments.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// As they are.
    Args(Box<PushArgs>),
    /// git prints its usage or an error and sends nothing.
    Refused(SafeText),
}

/// Reads the arguments after `git push`.
///
/// # Errors
/// An option that is not modelled.
pub fn push(words: &[OsString]) -> Result<Parsed, Fault> {
    Reader { table: PUSH, command: "push" }.read(words)
}

/// Reads the arguments after `git send-pack`.
///
/// # Errors
/// An option that is not modelled.
pub fn send_pack(words: &[OsString]) -> Result<Parsed, Fault> {
    Reader { table: SEND_PACK, command: "send-pack" }.read(words)
}

/// Why reading stops early.
enum Stop {
    /// git stops too, with a message.
    Refused(SafeText),
    Fault(Fault),
}

struct Reader {
    table: &'static [Known],
    command: &'static str,
}

impl Reader {
    fn read(&self, words: &[OsString]) -> Result<Parsed, Fault> {
        let words: Vec<BString> = words.iter().map(|word| word.clone().into_vec().into()).collect();
        match self.read_words(&words) {
            Ok(args) => Ok(Parsed::Args(Box::new(args))),
            Err(Stop::Refused(why)) => Ok(Parsed::Refused(why)),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }

    fn read_words(&self, words: &[BString]) -> Result<PushArgs, Stop> {
        let mut args = PushArgs::default();
        let lone = words.len() == 1;
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_slice() {
                b"-h" if lone => return Err(self.help()),
                b"--help" | b"--help-all" => return Err(self.help()),
                b"--git-completion-helper" | b"--git-completion-helper-all" if lone => return Err(self.help()),
                b"--" | b"--end-of-options" => {
                    args.operands.extend(rest.cloned());
                    break;
                }
                [b'-', b'-', long @ ..] => self.long(long, &mut rest, &mut args)?,
                [b'-', bundle @ ..] if !bundle.is_empty() => self.bundle(bundle, &mut rest, &mut args)?,
                operand => args.operands.push(operand.into()),
            }
        }
        Ok(args)
    }

    fn help(&self) -> Stop {
        Stop::Refused(format!("git {} only prints its help", self.command).into())
    }

    /// A bundle of short options. A misspelt long option (`-all`) is an error of git's, but one that
    /// depends on its table of long names, so the name is asked for here too.
    fn bundle(&self, bundle: &[u8], rest: &mut std::slice::Iter<'_, BString>, args: &mut PushArgs) -> Result<(), Stop> {
        let mut left = bundle;
        while let Some((letter, after)) = left.split_first() {
            let Some(known) = self.table.iter().find(|known| known.short == Some(*letter)) else {
                if *letter == b'h' {
                    return Err(self.help());
                }
                return Err(self.unknown("-", bundle));
            };
            if known.value == Value::Needed {
                let value = if after.is_empty() { self.next_word(known, rest)? } else { after.into() };
                return self.apply(known, false, Some(value), args);
            }
            self.apply(known, false, None, args)?;
            left = after;
            if left.len() < bundle.len() && bundle.len() >= 3 && self.looks_like_long(bundle) {
                return Err(Stop::Refused(
                    format!("git {} takes -{} for a misspelt long option", self.command, SafeText::quoted(bundle, 40))
                        .into(),
                ));
            }
        }
        Ok(())
    }

    fn looks_like_long(&self, bundle: &[u8]) -> bool {
        bundle.starts_with(b"no-") || self.table.iter().any(|known| known.long.as_bytes().starts_with(bundle))
    }

    fn long(&self, word: &[u8], rest: &mut std::slice::Iter<'_, BString>, args: &mut PushArgs) -> Result<(), Stop> {
        let (name, value) = match word.split_once_str("=") {
            Some((name, value)) => (name, Some(BString::from(value))),
            None => (word, None),
        };
        let (known, negated) = self.lookup(name).ok_or_else(|| self.unknown("--", name))?;
        let value = match (value, known.value, negated) {
            (Some(_), Value::None, _) | (Some(_), _, true) => {
                return Err(Stop::Refused(
                    format!("git {} option --{} takes no value", self.command, known.long).into(),
                ));
            }
            (None, Value::Needed, false) => Some(self.next_word(known, rest)?),
            (value, _, _) => value,
        };
        self.apply(known, negated, value, args)
    }

    fn next_word(&self, known: &Known, rest: &mut std::slice::Iter<'_, BString>) -> Result<BString, Stop> {
        rest.next().cloned().ok_or_else(|| {
            Stop::Refused(format!("git {} option --{} lacks its value", self.command, known.long).into())
        })
    }

    fn unknown(&self, dashes: &str, name: &[u8]) -> Stop {
        let name = SafeText::quoted(name, 60);
        Stop::Fault(Fault::Unmodelled(format!("git {} option {dashes}{name}", self.command).into()))
    }

    /// The option that a long name means, and whether it is negated. `None` is unknown or ambiguous.
    /// (parse-options.c: an exact name wins, else the only one that it is a prefix of.)
    fn lookup(&self, name: &[u8]) -> Option<(&'static Known, bool)> {
        let (stem, negations) = match name.strip_prefix(b"no-") {
            Some(stem) => match stem.strip_prefix(b"no-") {
                Some(stem) => (stem, 2),
                None => (stem, 1),
            },
            None => (name, 0),
        };
        let mut abbreviated = None;
        let mut ambiguous = false;
        for known in self.table {
            let (long, starts_negated) = match known.long.strip_prefix("no-") {
                Some(long) => (long, true),
                None => (known.long, false),
            };
            if negations == 2 && !starts_negated {
                continue;
            }
            // `--no-verify` sets an option that is called so; `--verify` and `--no-no-verify` unset it.
            let unset = (negations == 1) != starts_negated;
            if unset && !known.negatable {
                continue;
            }
            if stem == long.as_bytes() {
                return Some((known, unset));
            }
            let very_short = known.negatable && b"no-".starts_with(name);
            if long.as_bytes().starts_with(stem) || very_short {
                ambiguous |= abbreviated.is_some();
                abbreviated = Some((known, unset));
            }
        }
        abbreviated.filter(|_| !ambiguous)
    }

    fn apply(&self, known: &Known, unset: bool, value: Option<BString>, args: &mut PushArgs) -> Result<(), Stop> {
        match known.set {
            Set::Nothing => {}
            Set::Repo => args.repo = value,
            Set::All => args.all = !unset,
            Set::Mirror => (args.mirror, args.force) = (!unset, !unset),
            Set::Delete => args.delete = !unset,
            Set::Tags => args.tags = !unset,
            Set::DryRun => args.dry_run = !unset,
            Set::Force => args.force = !unset,
            Set::ReceivePack => args.receive_pack = value,
            Set::Prune => args.prune = !unset,
            Set::NoVerify => args.no_verify = !unset,
            Set::FollowTags => args.follow_tags = Some(!unset),
            Set::Stdin => args.stdin = !unset,
            Set::PushOption => match value {
                Some(value) => args.push_options.push(value),
                None => args.push_options.clear(),
            },
            Set::Signed => args.signed = Some(self.signed(unset, value)?),
            Set::RecurseSubmodules => self.recurse(unset, value, args)?,
        }
        Ok(())
    }

    fn signed(&self, unset: bool, value: Option<BString>) -> Result<Signed, Stop> {
        if unset {
            return Ok(Signed::Never);
        }
        let Some(value) = value else { return Ok(Signed::Perhaps) };
        read_signed(&value)
            .ok_or_else(|| Stop::Refused(format!("git {} does not know this --signed value", self.command).into()))
    }

    fn recurse(&self, unset: bool, value: Option<BString>, args: &mut PushArgs) -> Result<(), Stop> {
        if unset {
            args.recurse = Some(Recurse::Off);
            return Ok(());
        }
        let value = value.unwrap_or_default();
        if value == "only-is-on-demand" {
            args.only_is_on_demand = true;
            if args.recurse == Some(Recurse::Only) {
                args.recurse = Some(Recurse::OnDemand);
            }
            return Ok(());
        }
        let read = read_recurse(&value)
            .ok_or_else(|| Stop::Refused("git push does not know this --recurse-submodules value".into()))?;
        args.recurse = Some(read);
        Ok(())
    }
}

/// A value of `--signed` or `push.gpgSign`.
pub fn read_signed(value: &[u8]) -> Option<Signed> {
    match super::config::boolean(value) {
        Some(true) => Some(Signed::Perhaps),
        Some(false) => Some(Signed::Never),
        None => value.eq_ignore_ascii_case(b"if-asked").then_some(Signed::Perhaps),
    }
}

/// A value of `--recurse-submodules` or `push.recurseSubmodules`; git turns down `yes`.
pub fn read_recurse(value: &[u8]) -> Option<Recurse> {
    match value {
        b"on-demand" => Some(Recurse::OnDemand),
        b"check" => Some(Recurse::Check),
        b"only" => Some(Recurse::Only),
        _ => (super::config::boolean(value) == Some(false)).then_some(Recurse::Off),
    }
}
