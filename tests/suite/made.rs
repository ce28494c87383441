//! Files that programs of the line make out of others and that it then publishes: read where they come from, and
//! never read as less than they hold. Long lines of innocent commands.

use std::fs;

use tyran::command::Shell;
use tyran::command::plan::{Outcome, Plan};
use tyran::command::read::read;
use tyran::world::{Caution, World};

use crate::support::{Sandbox, planted, shown};

/// Makes `out` of the files of the work tree.
const MAKERS: &[&str] = &[
    "wc -l a.txt > out",
    "wc -l *.txt | tail -1 > out",
    "sort a.txt | uniq -c | sort -rn | head -5 > out",
    "awk '{print $1}' a.txt | sort | uniq -c > out",
    "cat a.txt | column -t | sort -u > out",
    "jq -n '{a:1}' > out",
    "jq -rn '\"x\"' > out",
    "jq '.a=2' c.json > c2 && mv c2 out",
    "jq '.a=2' c.json > c2; cp c2 out",
    "jq .a c.json | tee out",
    "jq .a c.json | tee c2 out > /dev/null",
    "base64 a.txt | fold -w 20 > out",
    "printf '%s\\n' \"$(wc -l < a.txt)\" > out",
    "printf 'built %s by %s\\n' \"$(date)\" \"$(whoami)\" > out",
    "echo \"$(date) and $(whoami) and $(wc -l < a.txt)\" > out",
    "cat > out <<E\non $(date) by $(whoami)\nE",
    "cat <<< \"on $(date)\" > out",
    "envsubst < t.tmpl > out",
    "GREETING=hello envsubst '$GREETING' < t.tmpl > out",
];

/// The same where something of it is a secret: `@` is a file that holds one, outside of the repository.
const TELLING: &[&str] = &[
    "sort @ | uniq -c | sort -rn > out",
    "jq -Rn '[inputs]' < @ > out",
    "jq -R . @ > c2 && mv c2 out",
    "jq -R . @ | tee out > /dev/null",
    "cat @ | column -t | sort -u > out",
    "jq -n '\"'$(cat @)'\"' > out",
    "printf '%s %s %s\\n' \"$(date)\" \"$(cat @)\" \"$(whoami)\" > out",
    "echo \"$(date) $(cat @) $(date)\" > out",
    "echo \"$(date)\" \"$(cat @)\" \"$(date)\" > out",
    "x=\"$(date) $(cat @) $(date)\"; echo \"$x\" > out",
    "x=\"$(date) $(cat @) $(date)\"; echo \"${x%a}\" > out",
    "cat > out <<E\n$(date) $(cat @) $(date)\nE",
    "cat <<< \"$(date) $(cat @) $(date)\" > out",
    "cat <<< \"$(date) $(cat @) $(date)\" | sort > out",
    "GREETING=$(cat @) envsubst < t.tmpl > out",
];

fn work(sandbox: &Sandbox) -> String {
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "one two\nthree\n");
    repo.commit("b.txt", "four\n");
    repo.commit("c.json", "{\"a\": 1}\n");
    repo.commit("t.tmpl", "say $GREETING, ${GREETING}\n");
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    let secret = sandbox.path("secret.txt");
    fs::write(&secret, format!("GITHUB_TOKEN={}\n", planted::github_token(7))).unwrap();
    secret.display().to_string()
}

#[test]
fn what_programs_make_of_files_is_read_where_it_comes_from() {
    let sandbox = Sandbox::new();
    let secret = work(&sandbox);
    let code = |line: &str| {
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--engine", "embedded", "--", line]);
        let output = output.output().unwrap();
        (output.status.code(), shown(&output))
    };
    for maker in MAKERS {
        let line = format!("{maker}\ngit add out && git commit -qm x && git push -q");
        let (code, text) = code(&line);
        assert_eq!(code, Some(0), "{line}: {text}");
    }
    for maker in TELLING {
        let line = format!("{}\ngit add out && git commit -qm x && git push -q", maker.replace('@', &secret));
        let (code, text) = code(&line);
        assert!(code == Some(1) || code == Some(3), "{line}: {text}");
    }
}

#[test]
fn variables_are_put_into_a_text_as_envsubst_does() {
    let sandbox = Sandbox::new();
    let text = "a $A ${A} ${A $B$A_ $ $1 ${1} $$A \\$A ${B}x $AB é${A}\n$A";
    fs::write(sandbox.path("f"), text).unwrap();
    for words in ["", "'$A'", "'$A ${B}'", "'none'"] {
        let mut bash = sandbox.command("bash");
        bash.current_dir(sandbox.path("")).args(["-c", &format!("A=1 B='x y' envsubst {words} < f")]);
        let real = bash.output().unwrap();
        if !real.status.success() {
            eprintln!("no envsubst here");
            return;
        }
        let line = format!("touch \"$(A=1 B='x y' envsubst {words} < f)\"");
        let plan = read(line.as_bytes(), &sandbox.world(""), Shell::Bash);
        let known = plan.commands.iter().rev().find(|words| words.len() == 2).and_then(|words| words[1].clone());
        assert_eq!(known.unwrap(), real.stdout.as_slice(), "{words}");
    }
}

fn plan(line: &str) -> Plan {
    let env = [("HOME", "/home/someone"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
    let world = World::new(env.into_iter().collect(), "/".into(), Caution::ByHand);
    tyran::command::read::with_stack(|| read(line.as_bytes(), &world, Shell::Bash)).unwrap()
}

/// Lines of more commands, or deeper calls, than are followed; `@` is what is run.
fn long_lines() -> Vec<String> {
    let many = |each: &dyn Fn(usize) -> String, count: usize, joint: &str| {
        (0..count).map(each).collect::<Vec<_>>().join(joint)
    };
    vec![
        many(&|at| format!("echo {at}"), 16_000, "; ") + "; @",
        "for a in {1..32}; do for b in {1..32}; do for c in {1..32}; do @; done; done; done".to_owned(),
        format!("f0() {{ @; }}\n{}\nf40", many(&|at| format!("f{}() {{ f{at}; }}", at + 1), 40, "\n")),
        format!("f0() {{ @; }}\n{}\nf20", many(&|at| format!("f{0}() {{ f{at}; f{at}; }}", at + 1), 20, "\n")),
        format!("case $x in {}\n*) @;; esac", many(&|at| format!("a{at}) echo {at};;"), 13_000, "\n")),
    ]
}

#[test]
fn a_line_of_innocent_commands_is_innocent_however_long_it_is() {
    let innocent = [
        "ls -la",
        "echo \"$(date)\" > out.txt",
        "sort a.txt | uniq -c > /dev/null",
        "x=$(wc -l < f); test -z $x",
        "cd src && pwd > out.txt",
    ];
    let telling = [
        "git push",
        "eval \"$x\"",
        "make",
        "x=$(git push)",
        "echo x > .git/hooks/pre-push",
        "echo x > \"$f\"",
        "cd .git && echo x > config",
        "cd && echo x > bin/tyran",
        "cd \"$d\" && echo x > config",
        "cd /etc && echo x > gitconfig",
        "PATH=. ls",
        "read PATH",
        "./run",
        "$x",
        "xargs git",
        "cp a b",
        "env git push",
        "unset x; alias ls='git push'",
        "trap 'git push' EXIT",
        "echo ${x@P}",
    ];
    for line in long_lines() {
        let plan = plan(&line.replace('@', &innocent.join("; ")));
        assert_eq!(plan.outcome, Outcome::Inert, "{:?}", plan.unknown);
    }
    for command in telling {
        // Deeper than is followed.
        let line = long_lines().remove(2).replace('@', command);
        assert_ne!(plan(&line).outcome, Outcome::Inert, "{command}");
    }
    let line = long_lines().remove(0).replace('@', "git push");
    assert_ne!(plan(&line).outcome, Outcome::Inert, "behind the last command that is followed");
}

#[test]
fn what_helps_fits_what_cannot_be_known() {
    let sandbox = Sandbox::new();
    work(&sandbox);
    for (line, remedy) in [
        ("bash -c 'git push; echo \"'", "close what is open"),
        ("cd \"$(unread)\" && gh release create v1 a.txt", "name the directory"),
        ("printf '[alias]\\n z = push\\n' > g; git config include.path ../g; git z", "in place of the alias"),
    ] {
        let mut tyran = sandbox.tyran();
        let output = tyran.current_dir(sandbox.path("work")).args(["scan-command", "--", line]).output().unwrap();
        let text = shown(&output);
        assert!(!output.status.success() && text.contains(remedy), "{line}: {text}");
    }
}
