//! git's verbs: which there are, what each may start, and how its options are read.
//!
//! Facts of git 2.47 (`git --list-cmds=main`, each verb's `--git-completion-helper-all` and `-h`),
//! with verbs that later versions added up to 2.55. A verb that is in no list is an alias, a program
//! `git-VERB`, or a mistake.

use super::git_config::Does;
use super::options::Grammar;

/// Verbs that only read, print, or tend to the object store.
pub const READS: &str = "
    annotate blame bugreport cat-file check-attr check-ignore check-mailmap check-ref-format cherry column
    commit-graph count-objects credential credential-cache credential-cache--daemon credential-store describe diagnose
    diff diff-files diff-index diff-tree fmt-merge-msg for-each-ref fsck fsck-objects fsmonitor--daemon gc
    get-tar-commit-id grep help index-pack interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit
    maintenance merge-base merge-file merge-tree multi-pack-index name-rev pack-redundant pack-refs patch-id pickaxe
    prune prune-packed range-diff refs repack repo rerere rev-list rev-parse shortlog show show-branch show-index
    show-ref status stripspace unpack-file update-server-info var verify-commit verify-pack verify-tag version
    web--browse whatchanged write-tree hash-object difftool mergetool last-modified backfill
    sh-i18n--envsubst request-pull receive-pack merge-one-file merge-index difftool--helper checkout--worker
    submodule--helper url-parse";

/// Verbs that change refs, configuration, index or files and are looked at one by one.
pub const CHANGES: &str = "
    add apply bisect branch checkout checkout-index clean clone config fetch fetch-pack http-fetch init init-db mktag
    mktree mv pack-objects read-tree reflog remote replace reset restore rm sparse-checkout stage stash submodule
    switch symbolic-ref tag unpack-objects update-index update-ref worktree bundle archive format-patch fast-export
    for-each-repo hook merge-octopus merge-ours merge-recursive merge-recursive-ours merge-recursive-theirs
    merge-resolve merge-subtree remote-ext remote-fd remote-ftp remote-ftps remote-http remote-https upload-archive
    upload-archive--writer upload-pack daemon http-backend instaweb cvsserver shell gui gitk citool";

/// Verbs that make commits or publish.
pub const PUBLISHES: &str = "
    push send-pack http-push commit merge pull cherry-pick revert rebase am commit-tree fast-import replay
    filter-branch quiltimport notes send-email imap-send svn p4 subtree archimport cvsimport cvsexportcommit
    lfs annex flow review absorb autofixup revise filter-repo town machete spice branchless stash history rebase--interactive";

/// Whether git, or an extension that is in our tables, has this verb.
pub fn is_known(verb: &str) -> bool {
    [READS, CHANGES, PUBLISHES].iter().any(|verbs| verbs.split_ascii_whitespace().any(|known| known == verb))
}

/// Verbs of [`PUBLISHES`] and [`CHANGES`] that are programs of their own, not built in: git looks an
/// alias of that name up only when there is no such program.
pub fn is_extension(verb: &str) -> bool {
    "lfs annex flow review absorb autofixup revise filter-repo town machete spice branchless gui gitk citool subtree"
        .split_ascii_whitespace()
        .any(|known| known == verb)
}

/// What a verb may start programs for. A superset is harmless: programs of settings are few.
pub fn does(verb: &str) -> &'static [Does] {
    use Does::{Archives, Connects, Diffs, Edits, Filters, Mails, Merges, Opens, Refreshes, Sequences, Signs, Trails};
    match verb {
        "status" | "diff-files" | "diff-index" | "describe" | "ls-files" | "clean" | "mv" | "rm" | "update-index"
        | "fsmonitor--daemon" | "check-attr" | "check-ignore" | "rev-list" => &[Refreshes, Filters],
        "diff" | "show" | "range-diff" | "whatchanged" | "diff-tree" | "pickaxe" => &[Refreshes, Diffs, Signs, Filters],
        "log" | "blame" | "annotate" | "grep" | "cat-file" | "shortlog" => &[Refreshes, Diffs, Signs, Opens],
        "add" | "stage" | "apply" | "checkout" | "switch" | "restore" | "reset" | "read-tree" | "checkout-index"
        | "worktree" | "sparse-checkout" | "hash-object" => &[Refreshes, Filters, Diffs, Edits, Merges],
        "commit" => &[Refreshes, Filters, Edits, Signs, Trails, Diffs],
        "merge" | "cherry-pick" | "revert" | "am" | "stash" | "rebase" | "replay" | "merge-tree" | "merge-file" => {
            &[Refreshes, Filters, Merges, Edits, Sequences, Signs, Trails]
        }
        "pull" => &[Connects, Refreshes, Filters, Merges, Edits, Signs],
        // `fetch` looks at submodules by way of the index.
        "fetch" | "ls-remote" | "push" | "send-pack" | "fetch-pack" | "remote" | "http-push" | "http-fetch"
        | "credential" => &[Connects, Signs, Refreshes],
        "clone" | "submodule" => &[Connects, Filters, Refreshes],
        "archive" => &[Archives, Filters, Connects],
        "tag" | "commit-tree" | "notes" | "branch" | "interpret-trailers" | "config" => &[Edits, Signs, Trails],
        "verify-commit" | "verify-tag" => &[Signs],
        "difftool" | "mergetool" | "help" | "web--browse" | "instaweb" | "gui" => &[Opens, Diffs],
        "send-email" | "imap-send" => &[Mails, Edits, Connects],
        "format-patch" => &[Diffs],
        _ => &[],
    }
}

/// The hooks that a verb may run (githooks(5) of git 2.47, and measured: facts of commit creators).
/// The hooks of a push that only the other side runs are not among them.
pub fn hooks(verb: &str) -> &'static [&'static str] {
    match verb {
        "commit" => &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite"],
        "merge" => &["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"],
        "pull" => &[
            "pre-merge-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-merge",
            "pre-rebase",
            "post-checkout",
            "post-rewrite",
        ],
        "cherry-pick" | "revert" => &["prepare-commit-msg", "post-commit"],
        "rebase" => &["pre-rebase", "prepare-commit-msg", "post-checkout", "post-commit", "post-rewrite"],
        "am" => &["applypatch-msg", "pre-applypatch", "post-applypatch", "post-rewrite"],
        "checkout" | "switch" | "clone" | "worktree" => &["post-checkout"],
        "push" => &["pre-push"],
        "send-email" => &["sendemail-validate"],
        "gc" => &["pre-auto-gc"],
        "p4" => &["p4-pre-submit", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist"],
        _ => &[],
    }
}

/// Hooks that any change of refs or of the index runs.
pub const HOOKS_OF_CHANGES: &[&str] = &["reference-transaction", "post-index-change"];

/// How a verb's options are read, for those whose options decide what it means.
pub fn grammar(verb: &str) -> Grammar {
    Grammar(match verb {
        "push" => {
            "v/verbose q/quiet /repo= /all /branches /mirror d/delete /tags n/dry-run /porcelain f/force \
             /force-with-lease? /force-if-includes /recurse-submodules= /thin /receive-pack= /exec= u/set-upstream \
             /progress /prune /no-verify /follow-tags /signed? /atomic o/push-option= 4/ipv4! 6/ipv6!"
        }
        "commit" => {
            "q/quiet v/verbose F/file= /author= /date= m/message= c/reedit-message= C/reuse-message= /fixup= \
             /squash= /reset-author /trailer=! s/signoff t/template= e/edit /cleanup= /status S/gpg-sign? a/all \
             i/include /interactive p/patch o/only n/no-verify /dry-run /short /branch /ahead-behind /porcelain \
             /long z/null /amend /no-post-rewrite u/untracked-files? /pathspec-from-file= /pathspec-file-nul \
             /allow-empty /allow-empty-message U="
        }
        "merge" => {
            "n /stat /summary /log? /squash /commit e/edit /cleanup= /ff /ff-only! /rerere-autoupdate \
             /verify-signatures s/strategy= X/strategy-option= m/message= F/file=! /into-name= v/verbose q/quiet \
             /abort /quit /continue /allow-unrelated-histories /progress S/gpg-sign? /autostash /overwrite-ignore \
             /signoff /no-verify"
        }
        "pull" => {
            "v/verbose q/quiet /progress /recurse-submodules? r/rebase? n /stat /summary /log? /signoff? /squash \
             /commit /edit /cleanup= /ff /ff-only! /verify /verify-signatures /autostash s/strategy= \
             X/strategy-option= S/gpg-sign? /allow-unrelated-histories /all a/append /upload-pack= f/force t/tags \
             p/prune j/jobs? /dry-run k/keep /depth= /shallow-since= /shallow-exclude= /deepen= /unshallow! \
             /update-shallow /refmap=! o/server-option= 4/ipv4 6/ipv6 /negotiation-tip= /show-forced-updates \
             /set-upstream"
        }
        "cherry-pick" | "revert" => {
            "/quit! /continue! /abort! /skip! /cleanup= n/no-commit e/edit r s/signoff m/mainline= /rerere-autoupdate \
             /strategy= X/strategy-option= S/gpg-sign? x /ff /allow-empty /allow-empty-message \
             /keep-redundant-commits /empty=! /reference"
        }
        "rebase" => {
            "/onto= /keep-base /no-verify q/quiet v/verbose n/no-stat /signoff /committer-date-is-author-date \
             /reset-author-date /ignore-date C= /ignore-whitespace /whitespace= f/force-rebase /no-ff /continue! \
             /skip! /abort! /quit! /edit-todo! /show-current-patch! /apply! m/merge! i/interactive! /preserve-merges \
             /rerere-autoupdate /empty=! k/keep-empty /autosquash /update-refs S/gpg-sign? /autostash x/exec= \
             /allow-empty-message r/rebase-merges? /fork-point s/strategy= X/strategy-option= /root \
             /reschedule-failed-exec /reapply-cherry-picks"
        }
        "am" => {
            "i/interactive n/no-verify b/binary 3/3way q/quiet s/signoff u/utf8 k/keep /keep-non-patch m/message-id \
             /keep-cr c/scissors /quoted-cr=! /whitespace= /ignore-space-change /ignore-whitespace /directory= \
             /exclude= /include= C= p= /patch-format= /reject /resolvemsg= /continue! r/resolved! /skip! /abort! \
             /quit! /show-current-patch? /retry! /allow-empty! /committer-date-is-author-date /ignore-date \
             /rerere-autoupdate S/gpg-sign? /empty=! /rebasing"
        }
        "tag" => {
            "l/list! n? d/delete! v/verify! a/annotate m/message=! F/file= /trailer=! e/edit s/sign /cleanup= \
             u/local-user= f/force /create-reflog /column? /contains? /no-contains? /with? /without? /merged? \
             /no-merged? /omit-empty /sort= /points-at= /format= /color? i/ignore-case"
        }
        "branch" => {
            "v/verbose q/quiet t/track? /set-upstream u/set-upstream-to= /unset-upstream /color? r/remotes! \
             /contains? /no-contains? /with? /without? /abbrev? a/all! d/delete D m/move M /omit-empty c/copy C \
             l/list! /show-current /create-reflog /edit-description f/force /merged? /no-merged? /column? /sort= \
             /points-at= i/ignore-case /recurse-submodules /format="
        }
        "fetch" => {
            "v/verbose q/quiet /all /set-upstream a/append /atomic /upload-pack= f/force m/multiple t/tags n j/jobs= \
             /prefetch p/prune P/prune-tags /recurse-submodules? /dry-run /porcelain /write-fetch-head k/keep \
             u/update-head-ok /progress /depth= /shallow-since= /shallow-exclude= /deepen= /unshallow! /refetch! \
             /submodule-prefix= /recurse-submodules-default= /update-shallow /refmap=! o/server-option= 4/ipv4 \
             6/ipv6 /negotiation-tip= /negotiate-only /filter= /auto-maintenance /auto-gc /show-forced-updates \
             /write-commit-graph /stdin"
        }
        "clone" => {
            "v/verbose q/quiet /progress /reject-shallow n/no-checkout /bare /naked /mirror l/local /no-hardlinks \
             s/shared /recurse-submodules? /recursive? j/jobs= /template= /reference= /reference-if-able= \
             /dissociate o/origin= b/branch= /revision= u/upload-pack= /depth= /shallow-since= /shallow-exclude= \
             /single-branch /no-tags /shallow-submodules /separate-git-dir= /ref-format= c/config= /server-option= \
             4/ipv4! 6/ipv6! /filter= /also-filter-submodules /remote-submodules /sparse /bundle-uri="
        }
        "config" => {
            "/global /system /local /worktree f/file= /blob= /get /get-all /get-regexp /get-urlmatch /replace-all \
             /add /unset /unset-all /rename-section /remove-section l/list /fixed-value e/edit /get-color \
             /get-colorbool t/type= /bool /int /bool-or-int /bool-or-str /path /expiry-date z/null /name-only \
             /includes /show-origin /show-scope /show-names /default= /comment= /value= /url= /all /regexp /append"
        }
        "notes" => {
            "/ref= m/message= F/file= c/reedit-message= C/reuse-message= e/edit f/force /allow-empty /separator? /stripspace"
        }
        "commit-tree" => "p= m= F= S/gpg-sign?",
        "replay" => "/advance= /onto= /contained /ref-action? /revert=",
        "send-pack" => {
            "v/verbose q/quiet /receive-pack= /exec= /remote= /all n/dry-run /mirror f/force /signed? /push-option= \
             /progress /thin /atomic /stateless-rpc /stdin /helper-status /force-with-lease? /force-if-includes"
        }
        "stash" => {
            "k/keep-index S/staged p/patch q/quiet u/include-untracked a/all m/message= /pathspec-from-file= \
             /pathspec-file-nul /index"
        }
        "checkout" => {
            "b= B= l /guess /overlay q/quiet /recurse-submodules? /progress m/merge /conflict= d/detach t/track? f/force \
             /orphan= /overwrite-ignore /ignore-other-worktrees 2/ours! 3/theirs! p/patch /ignore-skip-worktree-bits \
             /pathspec-from-file= /pathspec-file-nul U="
        }
        "bundle create" => "q/quiet /quiet-progress /progress /all-progress /all-progress-implied /version=",
        "archive" => {
            "/format= /prefix= /add-file= /add-virtual-file= o/output= v/verbose l/list /remote= /exec= /mtime= /worktree-attributes"
        }
        "submodule foreach" => "q/quiet /recursive",
        "difftool" => {
            "g/gui d/dir-diff y/no-prompt /prompt /symlinks t/tool= /tool-help /trust-exit-code x/extcmd= /no-index \
             /cached"
        }
        "send-email" => "/dry-run",
        "hook run" => "/ignore-missing /to-stdin=",
        _ => "",
    })
}
