//! The hooks that git knows, and what the net does in each.

/// What the net does in a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The payload is read before the repository's own hook runs: its own hook may already send
    /// (Git LFS uploads from pre-push).
    CheckThenChain,
    /// The repository's own hook runs first: it may change what is recorded (formatters, message
    /// templates), and only the result counts.
    ChainThenCheck,
    /// Only the repository's own hook.
    ChainOnly,
}

/// Every hook of githooks(5), git 2.47 (`fsmonitor-watchman` runs only where `core.fsmonitor` names
/// it by path, so it needs no place in a hooks directory).
pub const ALL: &[(&str, Role)] = &[
    ("applypatch-msg", Role::ChainThenCheck),
    ("pre-applypatch", Role::ChainThenCheck),
    ("post-applypatch", Role::ChainOnly),
    ("pre-commit", Role::ChainThenCheck),
    ("pre-merge-commit", Role::ChainThenCheck),
    ("prepare-commit-msg", Role::ChainOnly),
    ("commit-msg", Role::ChainThenCheck),
    ("post-commit", Role::ChainOnly),
    ("pre-rebase", Role::ChainOnly),
    ("post-checkout", Role::ChainOnly),
    ("post-merge", Role::ChainOnly),
    ("pre-push", Role::CheckThenChain),
    ("pre-receive", Role::ChainOnly),
    ("update", Role::ChainOnly),
    ("proc-receive", Role::ChainOnly),
    ("post-receive", Role::ChainOnly),
    ("post-update", Role::ChainOnly),
    ("reference-transaction", Role::ChainOnly),
    ("push-to-checkout", Role::ChainOnly),
    ("pre-auto-gc", Role::ChainOnly),
    ("post-rewrite", Role::ChainOnly),
    ("sendemail-validate", Role::ChainOnly),
    ("post-index-change", Role::ChainOnly),
    ("p4-changelist", Role::ChainOnly),
    ("p4-prepare-changelist", Role::ChainOnly),
    ("p4-post-changelist", Role::ChainOnly),
    ("p4-pre-submit", Role::ChainOnly),
];

/// Hooks that git runs several times for each ref that changes, or each time it writes the index. A script there,
/// however short, costs some milliseconds each time (git 2.47: a push of 100 branches starts it 404 times), so one is placed
/// only once a repository is met that has such a hook of its own.
pub const AT_EVERY_CHANGE: [&str; 2] = ["reference-transaction", "post-index-change"];

/// What the net does in the hook of this name; `None` for a name that git does not know.
pub fn role(name: &str) -> Option<Role> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
}

/// Hooks in which the net checks something.
pub fn checked() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|(_, role)| *role != Role::ChainOnly).map(|(name, _)| *name)
}
