//! The options of staging commands (git 2.47; `git VERB -h`).

use super::options::{Spec, Takes, spec};

/// `add` and `stage`.
pub(super) const ADD: &[Spec] = &[
    spec("dry-run", Some(b'n'), Takes::Nothing),
    spec("verbose", Some(b'v'), Takes::Nothing),
    spec("interactive", Some(b'i'), Takes::Nothing),
    spec("patch", Some(b'p'), Takes::Nothing),
    spec("unified", Some(b'U'), Takes::Value),
    spec("inter-hunk-context", None, Takes::Value),
    spec("edit", Some(b'e'), Takes::Nothing),
    spec("force", Some(b'f'), Takes::Nothing),
    spec("update", Some(b'u'), Takes::Nothing),
    spec("renormalize", None, Takes::Nothing),
    spec("intent-to-add", Some(b'N'), Takes::Nothing),
    spec("all", Some(b'A'), Takes::Nothing),
    spec("ignore-removal", None, Takes::Nothing),
    spec("refresh", None, Takes::Nothing),
    spec("ignore-errors", None, Takes::Nothing),
    spec("ignore-missing", None, Takes::Nothing),
    spec("sparse", None, Takes::Nothing),
    spec("warn-embedded-repo", None, Takes::Nothing),
    spec("chmod", None, Takes::Value),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
];

/// `stash push` and `save`, `pop` and `apply`.
pub(super) const STASH: &[Spec] = &[
    spec("patch", Some(b'p'), Takes::Nothing),
    spec("staged", Some(b'S'), Takes::Nothing),
    spec("keep-index", Some(b'k'), Takes::Nothing),
    spec("include-untracked", Some(b'u'), Takes::Nothing),
    spec("all", Some(b'a'), Takes::Nothing),
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("message", Some(b'm'), Takes::Value),
    spec("index", None, Takes::Nothing),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
    spec("unified", Some(b'U'), Takes::Value),
    spec("inter-hunk-context", None, Takes::Value),
];

/// `rm`.
pub(super) const REMOVE: &[Spec] = &[
    spec("dry-run", Some(b'n'), Takes::Nothing),
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("cached", None, Takes::Nothing),
    spec("force", Some(b'f'), Takes::Nothing),
    spec("(recursive)", Some(b'r'), Takes::Nothing),
    spec("ignore-unmatch", None, Takes::Nothing),
    spec("sparse", None, Takes::Nothing),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
];

/// `mv`.
pub(super) const MOVE: &[Spec] = &[
    spec("verbose", Some(b'v'), Takes::Nothing),
    spec("dry-run", Some(b'n'), Takes::Nothing),
    spec("force", Some(b'f'), Takes::Nothing),
    spec("(skip)", Some(b'k'), Takes::Nothing),
    spec("sparse", None, Takes::Nothing),
];

/// `restore`.
pub(super) const RESTORE: &[Spec] = &[
    spec("source", Some(b's'), Takes::Value),
    spec("staged", Some(b'S'), Takes::Nothing),
    spec("worktree", Some(b'W'), Takes::Nothing),
    spec("ignore-unmerged", None, Takes::Nothing),
    spec("overlay", None, Takes::Nothing),
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("recurse-submodules", None, Takes::Attached),
    spec("progress", None, Takes::Nothing),
    spec("merge", Some(b'm'), Takes::Nothing),
    spec("conflict", None, Takes::Value),
    spec("ours", Some(b'2'), Takes::Nothing),
    spec("theirs", Some(b'3'), Takes::Nothing),
    spec("patch", Some(b'p'), Takes::Nothing),
    spec("ignore-skip-worktree-bits", None, Takes::Nothing),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
];

/// `reset`.
pub(super) const RESET: &[Spec] = &[
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("refresh", None, Takes::Nothing),
    spec("mixed", None, Takes::Nothing),
    spec("soft", None, Takes::Nothing),
    spec("hard", None, Takes::Nothing),
    spec("merge", None, Takes::Nothing),
    spec("keep", None, Takes::Nothing),
    spec("recurse-submodules", None, Takes::Attached),
    spec("patch", Some(b'p'), Takes::Nothing),
    spec("intent-to-add", Some(b'N'), Takes::Nothing),
    spec("pathspec-from-file", None, Takes::Value),
    spec("pathspec-file-nul", None, Takes::Nothing),
];

/// `apply`.
pub(super) const APPLY: &[Spec] = &[
    spec("exclude", None, Takes::Value),
    spec("include", None, Takes::Value),
    spec("(strip)", Some(b'p'), Takes::Value),
    spec("stat", None, Takes::Nothing),
    spec("numstat", None, Takes::Nothing),
    spec("summary", None, Takes::Nothing),
    spec("check", None, Takes::Nothing),
    spec("index", None, Takes::Nothing),
    spec("intent-to-add", Some(b'N'), Takes::Nothing),
    spec("cached", None, Takes::Nothing),
    spec("unsafe-paths", None, Takes::Nothing),
    spec("apply", None, Takes::Nothing),
    spec("3way", Some(b'3'), Takes::Nothing),
    spec("ours", None, Takes::Nothing),
    spec("theirs", None, Takes::Nothing),
    spec("union", None, Takes::Nothing),
    spec("build-fake-ancestor", None, Takes::Value),
    spec("(nul)", Some(b'z'), Takes::Nothing),
    spec("(context)", Some(b'C'), Takes::Value),
    spec("whitespace", None, Takes::Value),
    spec("ignore-space-change", None, Takes::Nothing),
    spec("ignore-whitespace", None, Takes::Nothing),
    spec("reverse", Some(b'R'), Takes::Nothing),
    spec("unidiff-zero", None, Takes::Nothing),
    spec("reject", None, Takes::Nothing),
    spec("allow-overlap", None, Takes::Nothing),
    spec("verbose", Some(b'v'), Takes::Nothing),
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("inaccurate-eof", None, Takes::Nothing),
    spec("recount", None, Takes::Nothing),
    spec("directory", None, Takes::Value),
    spec("allow-empty", None, Takes::Nothing),
];

/// `update-index` reads its words one by one and each acts at once; these forms touch only the index.
pub(super) const UPDATE_INDEX_PLAIN: &[&str] = &[
    "--add",
    "--remove",
    "--replace",
    "--force-remove",
    "--assume-unchanged",
    "--no-assume-unchanged",
    "--skip-worktree",
    "--no-skip-worktree",
    "--ignore-skip-worktree-entries",
    "--refresh",
    "--really-refresh",
    "--ignore-missing",
    "--ignore-submodules",
    "--unmerged",
    "--again",
    "-g",
    "--info-only",
    "--verbose",
    "-q",
    "--chmod=+x",
    "--chmod=-x",
    "--",
];

/// `checkout` and `switch`. Branch options differ between versions and verbs; what decides the content is
/// a revision, or paths.
pub(super) const CHECKOUT: &[Spec] = &[
    spec("(new)", Some(b'b'), Takes::Value),
    spec("(renew)", Some(b'B'), Takes::Value),
    spec("create", Some(b'c'), Takes::Value),
    spec("force-create", Some(b'C'), Takes::Value),
    spec("orphan", None, Takes::Value),
    spec("quiet", Some(b'q'), Takes::Nothing),
    spec("progress", None, Takes::Nothing),
    spec("detach", Some(b'd'), Takes::Nothing),
    spec("track", Some(b't'), Takes::Attached),
    spec("guess", None, Takes::Nothing),
    spec("overwrite-ignore", None, Takes::Nothing),
    spec("ignore-other-worktrees", None, Takes::Nothing),
];
