//! Every spelling of an option means what it means to git.

use super::*;

#[test]
fn every_prefix_of_every_option_is_taken_or_turned_down_as_git_does() {
    const LONG: &[&str] = &[
        "verbose",
        "quiet",
        "repo",
        "all",
        "branches",
        "mirror",
        "delete",
        "tags",
        "dry-run",
        "porcelain",
        "force",
        "force-with-lease",
        "force-if-includes",
        "recurse-submodules",
        "thin",
        "receive-pack",
        "exec",
        "set-upstream",
        "progress",
        "prune",
        "no-verify",
        "follow-tags",
        "signed",
        "atomic",
        "push-option",
        "ipv4",
        "ipv6",
        "verify",
        "no-no-verify",
        "nothing-like-it",
    ];
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("options");
    let mut spellings = BTreeSet::new();
    for long in LONG {
        for end in 1..=long.len() {
            for form in [format!("--{}", &long[..end]), format!("--no-{}", &long[..end]), format!("-{}", &long[..end])]
            {
                spellings.insert(form);
            }
        }
    }
    let (mut taken, mut differ) = (0, Vec::new());
    for spelling in &spellings {
        // The word after it is a value for an option that needs one, else the repository.
        let git =
            sandbox.command("git").current_dir(&repo.dir).args(["push", spelling, "no", "nowhere"]).output().unwrap();
        let said = String::from_utf8_lossy(&git.stderr).into_owned();
        let accepted = git.status.code() != Some(129) && !said.contains("bad ") && !said.contains("usage:");
        let ours = args::push(&words(&[spelling, "no", "nowhere"]));
        let ours_accepted = matches!(ours, Ok(Parsed::Args(_)));
        taken += u32::from(accepted);
        if accepted != ours_accepted {
            differ.push(format!("{spelling}: git {:?} {said:?}, here {ours:?}", git.status.code()));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(taken > 200, "only {taken} spellings were taken");
}

#[test]
fn an_unknown_option_is_refused_by_its_name() {
    let fault = args::push(&words(&["--teleport", "origin"])).unwrap_err();
    assert!(matches!(&fault, Fault::Unmodelled(what) if what.as_str().contains("--teleport")), "{fault}");
    let fault = args::push(&words(&["-fX", "origin"])).unwrap_err();
    assert!(matches!(&fault, Fault::Unmodelled(what) if what.as_str().contains("-fX")), "{fault}");
}

#[test]
fn skipping_the_hook_is_told_in_every_spelling() {
    let skips = |args: &[&str]| match args::push(&words(args)).unwrap() {
        Parsed::Args(args) => args.no_verify,
        Parsed::Refused(why) => panic!("{why}"),
    };
    for spelling in ["--no-verify", "--no-veri", "--no-verif"] {
        assert!(skips(&[spelling, "origin"]), "{spelling}");
        assert!(skips(&["origin", "main", spelling]), "{spelling} behind");
        assert!(!skips(&["--", "origin", spelling]), "{spelling} as a refspec");
        assert!(!skips(&["-o", spelling, "origin"]), "{spelling} as a value");
    }
    assert!(!skips(&["--no-verify", "--verify"]));
    assert!(!skips(&["--no-verify", "--no-no-verify"]));
}
