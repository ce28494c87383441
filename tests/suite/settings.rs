//! git's configuration read in the process, held to what git itself lists.

use std::fs;

use tyran::command::git_config::{InForce, Scope, listed};
use tyran::command::git_files::{parse, read};
use tyran::command::plan::GitContext;
use tyran::world::World;

use crate::support::Sandbox;

fn context(world: &World) -> GitContext {
    GitContext { dir: world.cwd.clone(), env: world.env.clone(), globals: Vec::new() }
}

fn with_settings(context: &GitContext, pairs: &[&str]) -> GitContext {
    let globals = pairs.iter().flat_map(|pair| ["-c".into(), pair.into()]).collect();
    GitContext { globals, ..context.clone() }
}

const FILES: &[&str] = &[
    "",
    "[user]\n\tname = A U Thor\n\temail = a@example.invalid\n",
    "[alias]\n\tp = push\n\tx = \"!f() { git push \\\"$@\\\"; }; f\"\n\tlong = log --oneline \\\n  --graph\n",
    "[Core]\n\tFileMode = true\n\tbare\n\tEditor = vim ; a comment\n\tpager = less -R # another\n",
    "[branch \"Feature/X\"]\n\tremote = origin\n\tmerge = refs/heads/x\n[remote \"a\\\"b\\\\c\"]\n\turl = x\n",
    "# comment\n; comment\n\n[a]\n  k1=v\n  k2 =   spaced   value  \n  k3 = \"  kept  \" \n  k4 = a\\tb\\nc\\\\d\n  k5 =\n  k6 = \"a;b\" c#d\n",
    "[a]\n\tk = one\n\tk = two\n[A]\n\tK = three\n[a \"S\"]\n\tk = four\n[a \"s\"]\n\tk = five\n",
    "[a]\n\tk = \"quo\"ted\"mid dle\" end\n\tl = x \"\" y\n\tm = \"\"\n\tn = \"\" \n",
    "[a]k=v\n",
    "[a.b]\n\tk = v\n",
    "[include]\n\tpath = other\n",
    "[includeIf \"gitdir:/\"]\n\tpath = other\n",
    "[a]\r\n\tk = v\r\n",
    "[a]\n\tk = v",
    "[extensions]\n\tworktreeConfig = true\n[core]\n\trepositoryformatversion = 1\n",
];

#[test]
fn settings_read_here_are_those_that_git_lists() {
    let sandbox = Sandbox::new();
    sandbox.repo("work");
    let world = sandbox.world("work");
    let config = sandbox.path("work/.git/config");
    let original = fs::read_to_string(&config).unwrap();
    let mut read_here = 0;
    for user in FILES {
        for repository in FILES {
            fs::write(sandbox.path("home/.gitconfig"), user).unwrap();
            fs::write(&config, [original.as_str(), repository].concat()).unwrap();
            let Some(here) = read(&world, &context(&world)) else { continue };
            read_here += 1;
            let git = listed(&world, &context(&world)).unwrap_or_else(|| panic!("git lists {user:?} {repository:?}"));
            assert_eq!(here, git, "{user:?} {repository:?}");
        }
    }
    assert!(read_here > 40, "only {read_here} were plain enough");
}

#[test]
fn settings_of_the_line_are_those_that_git_lists() {
    let sandbox = Sandbox::new();
    sandbox.repo("work");
    let world = sandbox.world("work");
    for pairs in [
        &["a.b=c"][..],
        &["Alias.X=push", "alias.X=!git push"],
        &["A.Sub.Section.Key=v=w"],
        &["core.bare"],
        &["core.hooksPath=", "user.name= A  U Thor "],
        &["a..b=c"],
        &["a.b.c=d\ne"],
        &["url.https://x=y/.insteadOf=z"],
    ] {
        let context = with_settings(&context(&world), pairs);
        let git = listed(&world, &context);
        match read(&world, &context) {
            Some(here) => assert_eq!(Some(here), git, "{pairs:?}"),
            None => assert!(pairs[0].starts_with("a..") || git.is_none(), "{pairs:?} is plain"),
        }
    }
}

#[test]
fn what_is_not_plain_is_left_to_git() {
    for text in [
        "[a]k=v\n",
        "[a.b]\n\tk = v\n",
        "[a]\r\n\tk = v\r\n",
        "k = v\n",
        "[a\n",
        "[a \"b\n\"]\n",
        "[a]\n\tk = \"open\n",
        "[a]\n\tk = \\q\n",
        "[a]\n\t1k = v\n",
        "\u{feff}[a]\n",
        "<<<<<<< HEAD\n",
    ] {
        assert_eq!(parse(text.as_bytes()), None, "{text:?}");
    }
    let sandbox = Sandbox::new();
    sandbox.repo("work");
    let world = sandbox.world("work");
    let plain = context(&world);
    assert!(read(&world, &plain).is_some());
    let with = |name: &str, value: &str| {
        let mut context = plain.clone();
        context.env.insert(name.into(), value.into());
        read(&world, &context)
    };
    assert_eq!(with("GIT_CONFIG_COUNT", "0"), None);
    assert_eq!(with("GIT_CONFIG_PARAMETERS", "'a.b'='c'"), None);
    assert_eq!(with("GIT_DIR", "x"), None);
    assert_eq!(with("GIT_CONFIG_NOSYSTEM", "maybe"), None);
    for pair in
        ["a=b", "=b", ".b=c", "a.=c", "a.1=c", "a b.c=d", "a.b.c\n.d=e", "include.path=x", "includeIf.gitdir:/.path=x"]
    {
        assert_eq!(read(&world, &with_settings(&plain, &[pair])), None, "{pair:?}");
    }
    let globals = vec!["--git-dir=.git".into()];
    assert_eq!(read(&world, &GitContext { globals, ..plain.clone() }), None);
    fs::write(sandbox.path("home/.gitconfig"), "[include]\n\tpath = x\n").unwrap();
    assert_eq!(read(&world, &plain), None);
}

#[test]
fn scopes_tell_the_users_files_from_the_repositorys() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.git(&["config", "alias.here", "status"]);
    fs::write(sandbox.path("home/.gitconfig"), "[alias]\n\tp = push\n").unwrap();
    let world = sandbox.world("work");
    let settings = read(&world, &context(&world)).unwrap();
    let scope = |key: &str| settings.iter().find(|setting: &&InForce| setting.key == key).unwrap().scope;
    assert_eq!(scope("alias.p"), Scope::User);
    assert_eq!(scope("alias.here"), Scope::Line);
}

#[test]
fn systems_file_is_the_one_that_git_reads() {
    let sandbox = Sandbox::new();
    sandbox.repo("work");
    let mut world = sandbox.world("work");
    world.env.remove(std::ffi::OsStr::new("GIT_CONFIG_NOSYSTEM"));
    let Some(here) = read(&world, &context(&world)) else {
        eprintln!("skipped: the files of this machine's git are not plain, so git is asked");
        return;
    };
    assert_eq!(Some(here), listed(&world, &context(&world)));
}
