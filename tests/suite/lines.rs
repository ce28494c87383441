//! Lines as agents and people write them: the corpora of `tests/lines`, each held to what it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tyran::command::Shell;
use tyran::command::plan::{Outcome, Parsed, Plan};
use tyran::command::read::{read_here, with_stack};
use tyran::world::{Caution, World};

use crate::support::Sandbox;

/// The lines of a corpus: a command each; `|` at the beginning goes on with the one before.
fn lines(corpus: &str) -> Vec<String> {
    let (_, body) = corpus.split_once("\n\n").unwrap();
    let mut lines: Vec<String> = Vec::new();
    for line in body.lines() {
        match (line.strip_prefix('|'), lines.last_mut()) {
            (Some(rest), Some(last)) => {
                last.push('\n');
                last.push_str(rest);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// A project like many: a package, targets, scripts, tools that a package manager put there, hooks.
struct Project {
    sandbox: Sandbox,
}

const FILES: &[(&str, &str)] = &[
    (
        "package.json",
        r#"{"name":"x","version":"1.0.0","scripts":{"test":"jest --ci","build":"tsc -p . && node scripts/build.js",
            "lint":"eslint .","dev":"vite","release":"git push --follow-tags","start":"node index.js","prepare":"husky",
            "e2e":"playwright test","typecheck":"tsc --noEmit"}}"#,
    ),
    ("index.js", "console.log(1)\n"),
    ("scripts/build.js", "console.log(1)\n"),
    ("script.js", "console.log(1)\n"),
    ("script.py", "import os\nprint(1)\n"),
    ("rel.py", "import subprocess\nsubprocess.run(['git', 'push'])\n"),
    (
        "Makefile",
        "all: build\nbuild:\n\tcc -o a src/a.c\ntest: build\n\t./a --test\n\tpytest -q\nlint:\n\truff check .\nclean:\n\trm -rf build a\npush:\n\tgit push origin main\nfmt:\n\tcargo fmt\n",
    ),
    ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n"),
    ("justfile", "test:\n  cargo test\ndeploy:\n  git push prod main\n"),
    ("src/a.c", "int main(void) { return 0; }\n"),
    ("tests/test_a.py", "def test_a():\n    assert True\n"),
    (".gitignore", "node_modules\n.venv\n"),
    (".husky/pre-commit", "npm test\n"),
    (
        ".venv/bin/activate",
        "VIRTUAL_ENV=$PWD/.venv\nexport VIRTUAL_ENV\nPATH=\"$VIRTUAL_ENV/bin:$PATH\"\nexport PATH\n",
    ),
];

const PROGRAMS: &[(&str, &str)] = &[
    ("gradlew", "#!/bin/sh\nexec java -jar gradle/wrapper/gradle-wrapper.jar \"$@\"\n"),
    ("scripts/build.sh", "#!/bin/bash\nset -euo pipefail\nnpm ci\nnpm run build\n"),
    ("scripts/release.sh", "#!/bin/bash\nset -e\ngit tag \"v$1\"\ngit push origin \"v$1\"\n"),
    ("node_modules/.bin/jest", "#!/usr/bin/env node\nconsole.log(1)\n"),
    ("node_modules/.bin/eslint", "#!/usr/bin/env node\nconsole.log(1)\n"),
    ("node_modules/.bin/tsc", "#!/usr/bin/env node\nconsole.log(1)\n"),
    (".venv/bin/pytest", "#!/usr/bin/env python3\nimport pytest\n"),
    (".venv/bin/python", "#!/usr/bin/env python3\n"),
    (".venv/bin/pip", "#!/usr/bin/env python3\nimport pip\n"),
    (".git/hooks/pre-push", "#!/bin/sh\nexit 0\n"),
    (".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n"),
];

impl Project {
    fn new() -> Self {
        let project = Self { sandbox: Sandbox::new() };
        let repo = project.sandbox.repo("work");
        for (path, text) in FILES {
            repo.write(path, text);
        }
        repo.commit("a.txt", "one\n");
        repo.git(&["push", "-q", "-u", "origin", "main"]);
        repo.commit("b.txt", "two\n");
        repo.git(&["branch", "topic"]);
        repo.git(&["tag", "v1"]);
        repo.write("b.txt", "three\n").write("untracked.txt", "u\n");
        for (path, text) in PROGRAMS {
            repo.write(path, text);
            fs::set_permissions(repo.dir.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (path, text) in [(".claude/settings.json", "{}"), (".tyran/config.toml", ""), (".gitconfig", "")] {
            let path = project.sandbox.path("home").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    /// The world of its work tree, with no program on PATH but the system's and git.
    fn world(&self) -> World {
        let git = World::of_process(Caution::ByHand).unwrap().git_program().unwrap().parent().unwrap().to_owned();
        let mut env: tyran::world::Environment = self.sandbox.env().into_iter().collect();
        let path = std::env::join_paths([git, PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
        env.insert("PATH".into(), path);
        World::new(env, self.sandbox.path("work"), Caution::ByHand)
    }
}

fn plan(text: &str, world: &World) -> Plan {
    with_stack(|| read_here(text.as_bytes(), world, Shell::Bash)).unwrap()
}

/// Lines of a corpus whose plan is not what it should be.
fn wrong(corpus: &str, is_right: impl Fn(&Plan) -> bool) -> Vec<String> {
    let project = Project::new();
    let world = project.world();
    let told = |plan: &Plan| {
        let shown = plan.to_json().unwrap();
        let part = |name: &str| shown[name].to_string();
        format!(
            "{} {} {} {}",
            part("outcome"),
            part("publishes"),
            part("unknown"),
            part("bypass") + &part("tamper") + &part("opaque")
        )
    };
    let lines = lines(corpus);
    assert!(lines.len() > 40, "the corpus is there");
    let plans = lines.into_iter().map(|line| (plan(&line, &world), line));
    plans.filter(|(plan, _)| !is_right(plan)).map(|(plan, line)| format!("{line:?}: {}", told(&plan))).collect()
}

#[test]
fn everyday_work_is_inert() {
    let wrong = wrong(include_str!("../lines/inert.txt"), |plan| plan.outcome == Outcome::Inert);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_that_cannot_be_read_are_never_refused_for_that() {
    let wrong = wrong(include_str!("../lines/opaque.txt"), |plan| {
        plan.outcome == Outcome::Publishes && !plan.opaque.is_empty()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_spelling_that_publishes_is_seen() {
    let wrong = wrong(include_str!("../lines/publishes.txt"), |plan| {
        plan.outcome == Outcome::Publishes && !plan.publishes.is_empty()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_switch_of_a_control_is_seen() {
    let wrong = wrong(include_str!("../lines/bypass.txt"), |plan| !plan.bypass.is_empty());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_change_of_a_control_is_seen() {
    let wrong = wrong(include_str!("../lines/tamper.txt"), |plan| !plan.tamper.is_empty());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A plan without the places in the text and the list of commands, which a change of the text moves.
fn essence(text: &str, world: &World) -> Value {
    let mut shown = plan(text, world).to_json().unwrap();
    for unknown in shown["unknown"].as_array_mut().unwrap() {
        let fields = unknown.as_object_mut().unwrap();
        fields.remove("from");
        fields.remove("to");
    }
    shown["commands"] = Value::Null;
    shown
}

#[test]
fn comments_groups_and_blank_lines_change_no_plan() {
    let project = Project::new();
    let world = project.world();
    let mut wrong = Vec::new();
    for corpus in [include_str!("../lines/publishes.txt"), include_str!("../lines/bypass.txt")] {
        for line in lines(corpus).into_iter().filter(|line| !line.contains("<<")) {
            let plain = essence(&line, &world);
            for varied in [
                format!("# git push --no-verify\n{line}"),
                format!("\n\n{line}\n\n# done: git push\n"),
                format!("true\n{line}"),
                format!("{{ {line}\n}}"),
            ] {
                if essence(&varied, &world) != plain {
                    wrong.push(format!("{varied:?}\n  {}\n  {plain}", essence(&varied, &world)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_bash_finds_well_formed_is_read_whole() {
    let project = Project::new();
    let world = project.world();
    let mut lines: Vec<String> = [
        include_str!("../lines/inert.txt"),
        include_str!("../lines/publishes.txt"),
        include_str!("../lines/tamper.txt"),
    ]
    .into_iter()
    .flat_map(lines)
    .collect();
    // Damaged lines: some are still well-formed, most are not.
    let damaged: Vec<String> = lines
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 5 == 0)
        .filter_map(|(at, line)| {
            let (place, _) = line.char_indices().nth((at * 7) % line.chars().count())?;
            let mut line = line.clone();
            line.remove(place);
            Some(line)
        })
        .collect();
    lines.extend(damaged);
    let well_formed = |line: &str| {
        let mut bash = project.sandbox.command("bash");
        bash.args(["--norc", "-n", "-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        bash.status().unwrap().success()
    };
    let wrong: Vec<&String> =
        lines.iter().filter(|line| well_formed(line) && plan(line, &world).parsed != Parsed::Whole).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn plan_is_told_in_words_that_name_what_to_do() {
    let project = Project::new();
    let world = project.world();
    let told = |text: &str| plan(text, &world).told(text.as_bytes());
    let begins = |text: &str, sentence: &str| {
        let told = told(text);
        assert!(told.starts_with(sentence), "{text}\n{told}");
    };
    begins("ls", "Publishes nothing");
    begins("git push", "Publishes: what would leave is scanned first");
    begins("git commit -m x", "Publishes: what it records is scanned first");
    begins("node script.js", "May publish: it runs programs that tyran cannot read");
    begins("cd \"$(head -1 d)\" && git push", "Cannot be known");
    begins("git push --no-verify", "Switches a control off");
    begins("rm .git/hooks/pre-push", "Changes a control");
    assert!(told("git push --no-verify").contains("instead: "));
    assert!(told("cd \"$(head -1 d)\" && git push").contains("at `git push` (byte 21)"));
    assert!(told("git push; )").contains("syntax error, and run nothing"));
    assert!(told("git push\n)").contains("syntax error, after the commands above"));
    assert!(told("git commit -m \"$(cat a.txt)\"").contains("a.txt, whose text the line pastes in"));
    // Nothing of the line reaches the terminal as it is.
    assert!(!told("git commit -m $'\\e[31m'").contains('\u{1b}'));
}

#[test]
fn find_enters_the_repositories_that_are_there() {
    let project = Project::new();
    let world = project.world();
    let found = plan("find . -name .git -execdir git push \\;", &world);
    assert_eq!(found.outcome, Outcome::Publishes);
    assert_eq!(found.publishes.len(), 1, "{:?}", found.publishes);
    assert_eq!(plan("find / -name .git -execdir git push \\;", &world).outcome, Outcome::Unknowable);
}
