//! Submodules that a push takes along are read with it.

use std::path::PathBuf;

use crate::support::payload::everything;
use crate::support::{Repo, Sandbox, shown};

use super::{UNASKED, payload, request};
use tyran::world::{Caution, World};

/// A superproject whose submodule has a commit that only it knows, and the superproject names.
fn with_submodule<'a>(sandbox: &'a Sandbox) -> (Repo<'a>, PathBuf) {
    let library = sandbox.repo("library");
    library.commit("lib.txt", "library\n");
    library.git(&["push", "-q", "origin", "main"]);
    let repo = sandbox.repo("work");
    let url = sandbox.path("library.git");
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url.to_str().unwrap(), "sub"]);
    repo.git(&["commit", "-q", "-m", "submodule"]);
    repo.git(&["push", "-q", "origin", "main"]);
    let inside = repo.dir.join("sub");
    for args in [&["config", "user.name", "A"][..], &["config", "user.email", "a@example.invalid"]] {
        sandbox.command("git").current_dir(&inside).args(args).status().unwrap();
    }
    std::fs::write(inside.join("more.txt"), "words of the submodule\n").unwrap();
    for args in [&["add", "-A"][..], &["commit", "-q", "-m", "more"]] {
        assert!(sandbox.command("git").current_dir(&inside).args(args).status().unwrap().success());
    }
    repo.git(&["commit", "-q", "-a", "-m", "newer submodule"]);
    (repo, inside)
}

fn read(repo: &Repo<'_>, globals: &[&str], args: &[&str]) -> String {
    let world = World::new(repo.sandbox.env().into_iter().collect(), repo.dir.clone(), Caution::Gate);
    everything(&payload(&world, &request(&repo.dir, repo.sandbox, globals, args), UNASKED).unwrap().payload)
}

#[test]
fn submodule_that_goes_along_is_read() {
    let words = "words of the submodule";
    for (globals, args, along) in [
        (&[][..], &["origin", "main"][..], false),
        (&[], &["--recurse-submodules=on-demand", "origin", "main"], true),
        (&[], &["--recurse-submodules=only", "origin", "main"], true),
        (&["-c", "push.recurseSubmodules=on-demand"], &["origin", "main"], true),
        (&["-c", "submodule.recurse=true"], &["origin", "main"], true),
        (&["-c", "push.recurseSubmodules=on-demand"], &["--no-recurse-submodules", "origin", "main"], false),
    ] {
        let sandbox = Sandbox::new();
        let (repo, inside) = with_submodule(&sandbox);
        assert_eq!(read(&repo, globals, args).contains(words), along, "{globals:?} {args:?}");
        let head = repo.sandbox.command("git").current_dir(&inside).args(["rev-parse", "HEAD"]).output().unwrap();
        let head = String::from_utf8(head.stdout).unwrap();
        let mut command = repo.sandbox.command("git");
        command.current_dir(&repo.dir).args(globals).arg("push").args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{globals:?} {args:?}: {}", shown(&output));
        let there = repo
            .sandbox
            .command("git")
            .arg("-C")
            .arg(sandbox.path("library.git"))
            .args(["cat-file", "-e", head.trim()])
            .status();
        assert_eq!(there.unwrap().success(), along, "{globals:?} {args:?}");
    }
}
