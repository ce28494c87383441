//! The reader of command lines, held to what bash itself does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bstr::{BStr, BString};
use proptest::prelude::*;
use tyran::command::Shell;
use tyran::command::lex::{Dialect, MAX_TEXT_BYTES, Reader, Stop};
use tyran::command::plan::{Parsed, Plan};
use tyran::command::read::{read, read_here, read_with, with_stack};
use tyran::command::simple::{Dir, Effect, EnvChange, ShellState, SimpleCommand, Stdin, Value, Verbs};
use tyran::world::{Caution, World};

use crate::support::{Sandbox, planted, shared, shown};

/// A meaning of commands that only takes down what it is given.
#[derive(Default)]
struct Recorder {
    commands: Vec<Seen>,
    written: Vec<(Option<BString>, Option<Vec<u8>>)>,
}

#[derive(Debug)]
struct Seen {
    words: Vec<Option<BString>>,
    dir: Option<PathBuf>,
    stdin: Stdin,
    changes: Vec<(String, EnvChange)>,
    certain: bool,
    wrappers: Vec<&'static str>,
}

impl Verbs for Recorder {
    fn knows(&self, _name: &BStr) -> bool {
        true
    }

    fn simple(&mut self, command: &SimpleCommand<'_>, _shell: &dyn ShellState, _plan: &mut Plan) -> Effect {
        self.commands.push(Seen {
            words: command.words.iter().map(|word| word.known().map(BStr::to_owned)).collect(),
            dir: command.dir.known().map(Path::to_owned),
            stdin: command.stdin.clone(),
            changes: command
                .env
                .changes()
                .iter()
                .map(|(name, change)| (name.to_string_lossy().into_owned(), change.clone()))
                .collect(),
            certain: command.certainty == tyran::command::simple::Certainty::Always,
            wrappers: command.wrappers.clone(),
        });
        Effect::default()
    }

    fn write(&mut self, path: &Value, _dir: &Dir, bytes: Option<&[u8]>, _shell: &dyn ShellState, _plan: &mut Plan) {
        self.written.push((path.known().map(BStr::to_owned), bytes.map(<[u8]>::to_vec)));
    }
}

/// What the walk sees of a line, in a world of its own.
fn walked_in(text: &str, world: &World, shell: Shell) -> (Plan, Recorder) {
    let mut recorder = Recorder::default();
    let plan = read_with(text.as_bytes(), world, shell, &mut recorder);
    (plan, recorder)
}

fn nowhere() -> World {
    let env = [("HOME", "/home/someone"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
    World::new(env.into_iter().collect(), PathBuf::from("/"), Caution::ByHand)
}

fn walked(text: &str) -> (Plan, Recorder) {
    walked_in(text, &nowhere(), Shell::Bash)
}

/// The commands as words, what is not known shown as `?`.
fn lines(recorder: &Recorder) -> Vec<String> {
    let words = |seen: &Seen| {
        let words = seen.words.iter().map(|word| word.as_ref().map_or("?".to_owned(), BString::to_string));
        words.collect::<Vec<_>>().join(" ")
    };
    recorder.commands.iter().map(words).collect()
}

/// The commands of a line that are called git.
fn git_calls(text: &str) -> Vec<String> {
    lines(&walked(text).1).into_iter().filter(|line| line == "git" || line.starts_with("git ")).collect()
}

/// A folder with a `git` that notes its arguments, and what bash makes of a line there.
struct Bash {
    sandbox: Sandbox,
}

impl Bash {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("bin")).unwrap();
        fs::create_dir(sandbox.path("calls")).unwrap();
        let stub = "#!/bin/bash\nn=$(mktemp \"$CALLS/XXXXXXXX\")\nprintf '%s\\0' \"$@\" >\"$n\"\n";
        fs::write(sandbox.path("bin/git"), stub).unwrap();
        fs::set_permissions(sandbox.path("bin/git"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { sandbox }
    }

    /// The arguments of each git that bash starts.
    fn run(&self, text: &str) -> Vec<Vec<String>> {
        for call in fs::read_dir(self.sandbox.path("calls")).unwrap() {
            fs::remove_file(call.unwrap().path()).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", self.sandbox.path("bin").display());
        let mut bash = self.sandbox.command("bash");
        bash.args(["--norc", "-c", text]).env("PATH", path).env("CALLS", self.sandbox.path("calls"));
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let calls = fs::read_dir(self.sandbox.path("calls")).unwrap();
        let words = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.split_terminator('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        calls.map(|call| words(fs::read(call.unwrap().path()).unwrap())).filter(|words| words != &[""]).collect()
    }
}

/// Lines whose git calls bash itself is asked for; every word of each call has to be known.
const EXACT: &[&str] = &[
    "git push",
    "g''it \"pu\"sh; \\git 'log'",
    "{git,push}; git {a,b}{1,2} {3..1}",
    "G=git; $G push; c='git log -1'; $c; \"$G\" \"a  b\"",
    "a=(git push 'x y'); \"${a[@]}\"; ${a[0]} ${#a[@]} \"${a[2]}\"",
    "git ${x:-push} ${y:+no} ${z-'a b'}; v=xpushx; git ${v#x} ${v%x} ${v:1:4} ${v/push/pull} ${v^^}",
    "n=v v=push; git ${!n}; printf -v w %s log; git $w; read r <<<status; git $r",
    "git $(echo push) \"$(printf '%s %s' a b)\" $(basename /a/b.txt .txt) `echo c d`",
    "x=4; git $((1 + 2 * 3)) $((x + -1)) $[2-1]; PATH=~:$PATH:~/b; git \"${PATH##*:}\"",
    "IFS=:; c=git:push; $c; unset IFS; d='a b'; git $d",
    "set -- push origin; git \"$@\"; git \"$1\" \"$#\"; shift; git $*",
    "f() { local v=in; git \"$v\" \"$@\"; }; v=out; f 1 '2 3'; git $v",
    "f() { g; }; g() { git deep; }; f; f() { git again; }; f",
    "for x in a 'b c'; do git $x; done; for i in {1..3}; do git n$i; done",
    "case x in y) git no;; x) git yes;& z) git falls;; *) git no;; esac",
    "eval 'git one; git two'; eval git three '\"four five\"'",
    "bash -c 'git \"$0\" \"$@\"' zero one 'two three'; sh -ec 'git x && git y'",
    "bash <<'EOF'\ngit from input\nEOF\necho git piped | sh; printf 'git %s\\n' a b | bash",
    "bash <<<'git here'; bash <(echo git substituted); source <(echo git sourced); . /dev/stdin <<<'git dot'",
    "cat <<'EOF' >s.sh\ngit script \"$1\"\nEOF\nbash s.sh arg; . ./s.sh other",
    "env A=1 git e; env -u A -C / git f; nice -n 5 timeout 9 git g; nohup git h; env -S 'git i j'",
    "echo a b | xargs git; printf 'x\\ny\\n' | xargs -n1 git; echo z | xargs -I% git 'p%q'",
    "trap 'git trapped' EXIT; git before",
    "git >/dev/null push 2>&1; >/dev/null git log; git a {fd}>/dev/null 3>&1 2>/dev/null",
    "shopt -s expand_aliases\nalias g=git h='g '\nalias sub=push\ng log; h sub",
    "echo \"${x:-'$(git quoted)'}\"; cat <<EOF\n${x:-'$(git here)'} `git bt` $((1+$(git ar >/dev/null; echo 1)))\nEOF",
    "x='a[$(git hidden)]'; echo $((x)); test -v 'a[$(git tested)]'; read 'b[$(git read)]' <<<1",
    "echo $((git a) | cat); ((git b); git c); echo $( (git d) )",
    "cat <<EOF\nEO\\\nF\ngit after\nEOF",
    "echo $(cat <<EOF)\ntext\nEOF\ngit late",
    "echo $(cat <<EOF\nbody\nEOF ); git delimited",
    "git \\\n  push \\\n  origin; gi\\\nt joined; $\\\n(git sub)",
    "git first\n)\ngit never",
    "if git c; then git t; elif git e; then :; else git o; fi; while git w; do break; done; until git u; do :; done",
    "! git neg; time git timed; { git group; } && (git sub) || git no",
    "exec 3<<<'git fd three'; bash <&3",
    "mapfile -t lines <<<$'git\\npush'; \"${lines[@]}\"",
    "while read -r a b; do git \"$b\" \"$a\"; done <<<'one two'",
    "declare -n ref=target; target=push; git $ref; declare -l low=PUSH; git $low",
    "command git c; builtin eval git b; exec -a other git e",
    "git $((1 + 1)\\\n) \"$((2\\\n+ 2)\\\n)\" $(\\\n(3 + 3))",
    "git \"a\\\nb\" $'c\\x64\\'e' $\"f\" '' \"\"; git a#b # git no",
    "echo Z2l0IGRlY29kZWQ= | base64 -d | sh",
    "echo $((1+$(echo \"${u:-\"$(cat <<EOF\nit's ) $(git twice) \"\nEOF)\"}\"\necho 1)))",
    "set -e; x=$(false; echo push); git $x",
    "for d in a b; do git $d && break; done; git end; while :; do git once; break; done",
    "f() { return 1; git no; }; f || git failed; f && git no; (exit 3) || git exited",
];

#[test]
fn every_git_call_that_bash_makes_is_found_with_its_words() {
    let bash = Bash::new();
    let mut wrong = Vec::new();
    for text in EXACT {
        let found = lines(&walked_in(text, &bash.sandbox.world(""), Shell::Bash).1);
        for call in bash.run(text) {
            let line = std::iter::once("git".to_owned()).chain(call).collect::<Vec<_>>().join(" ");
            if !found.contains(&line) {
                wrong.push(format!("{text:?}\n  bash ran {line:?}\n  found    {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tricky_lines_are_read_as_bash_reads_them() {
    let Some(file) = shared("cases/commands/parser-cases.jsonl") else { return };
    let mut wrong = Vec::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["cmd"].as_str().unwrap();
        let (plan, _) = walked(text);
        let verbs: Vec<Option<String>> = plan
            .commands
            .iter()
            .filter(|words| words.first().is_some_and(|name| name.as_ref().is_some_and(|name| name.ends_with(b"git"))))
            .map(|words| words.get(1).and_then(|word| word.as_ref().map(BString::to_string)))
            .collect();
        for ran in case["ran"].as_array().unwrap() {
            let verb = ran[0].as_str().map(str::to_owned);
            if !verbs.contains(&verb) {
                wrong.push(format!("{}: {verb:?} not in {verbs:?}", case["id"]));
            }
        }
        if plan.parsed != Parsed::Whole && case["partial_ok"].as_bool() != Some(true) {
            wrong.push(format!("{}: read in part", case["id"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_that_is_data_is_no_command() {
    for text in [
        "echo 'git push'",
        "# git push",
        "cat <<'EOF'\n$(git push)\nEOF",
        "cat <<EOF\n\\$(git push) \\`git push\\`\nEOF",
        "echo \"it's 1) git push\" # and git push",
        "x='git push'; y=\"$x\"",
        "printf '%s' 'git push' >notes.txt",
        "[[ 'git push' =~ push ]]; case 'git push' in git*) ;; esac",
        "awk '/git push/ { print $1 }' f; sed 's/git push/x/' f; find . -name 'git push'",
    ] {
        assert_eq!(git_calls(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn directory_follows_cd_and_comes_back() {
    let sandbox = Sandbox::new();
    for folder in ["a", "b", "a/c", "first-one", "other-one"] {
        fs::create_dir(sandbox.path(folder)).unwrap();
    }
    let dirs_in = |text: &str, shell| {
        let (_, recorder) = walked_in(text, &sandbox.world(""), shell);
        let below = |dir: &PathBuf| dir.strip_prefix(sandbox.path("")).unwrap().display().to_string();
        recorder
            .commands
            .iter()
            .filter(|seen| seen.words[0].as_ref().is_some_and(|name| name == "git"))
            .map(|seen| seen.dir.as_ref().map_or("?".to_owned(), below))
            .collect::<Vec<_>>()
    };
    let dirs = |text: &str| dirs_in(text, Shell::Bash);
    assert_eq!(dirs("cd a && git x; cd c; git x; cd ../../b; git x; cd -; git x"), ["a", "a/c", "b", "a/c"]);
    assert_eq!(dirs("(cd a; git x); git x; { cd b; }; git x"), ["a", "", "b"]);
    assert_eq!(dirs("cd a | git x; cd b & git x"), ["", ""]);
    assert_eq!(dirs("pushd a; git x; popd; git x; env -C b git x; git x"), ["a", "", "b", ""]);
    assert_eq!(dirs("cd missing || git x"), [""]);
    assert_eq!(dirs("set -e; cd a; git x"), ["a"]);
    assert_eq!(dirs("f() { cd a; }; f; git x; for d in c ..; do cd $d; git x; done"), ["a", "a/c", "a"]);
    assert_eq!(dirs("if true; then cd a; else cd b; fi; git x"), ["a"]);
    assert_eq!(dirs("if test -d q; then cd a; else cd b; fi; git x"), ["a", "b"]);
    assert_eq!(dirs("cd \"$(head -1 d)\" && git x"), ["?"]);
    assert_eq!(dirs("CDPATH=a; cd c; git x; cd \"$OLDPWD\"; git x"), ["a/c", ""]);
    assert_eq!(dirs("cd a/..; git x; cd ./a/c/../; git x"), ["", "a"]);
    // As bash 5.2 has the stack.
    assert_eq!(dirs("pushd a; pushd ../b; pushd +1; git x; pushd +1; git x"), ["a", ""]);
    assert_eq!(dirs("pushd a; pushd ../b; pushd -0; git x; pushd -0; git x"), ["", "a"]);
    assert_eq!(dirs("pushd -n a; git x; popd; git x"), ["", "a"]);
    assert_eq!(dirs("pushd a; pushd +7 || git x"), ["a"]);
    assert_eq!(dirs("pushd a; popd +0; git x"), ["a", "?"]);
    assert_eq!(dirs("shopt -s cdable_vars; q=$PWD/b; cd q; git x; cd ../a; git x"), ["b", "a"]);
    assert_eq!(dirs("shopt -s cdable_vars; a=$PWD/b; cd a; git x"), ["a"]);
    // Only a shell that a person types into enters a directory by its name.
    assert_eq!(dirs("shopt -s autocd; ./a; git x"), ["a", ""]);
    let dirs = |text: &str| dirs_in(text, Shell::Zsh);
    assert_eq!(dirs("cd -q a; git x; pushd -q ../b; git x"), ["a", "b"]);
    assert_eq!(dirs("cd first-one; cd first other; git x"), ["other-one"]);
    assert_eq!(dirs("setopt auto_pushd; cd a; cd c; popd; git x; popd; git x"), ["a", ""]);
    assert_eq!(dirs("q=$PWD/b; setopt CDABLE_VARS; cd q; git x"), ["b"]);
    assert_eq!(dirs("cd a; cd -1; git x"), ["a", "?"]);
}

#[test]
fn environment_is_what_the_command_would_see() {
    let change = |text: &str, name: &str| {
        let (_, recorder) = walked(text);
        let seen = recorder.commands.iter().find(|seen| seen.words[0].as_ref().is_some_and(|name| name == "git"));
        seen.unwrap().changes.iter().find(|(known, _)| known == name).map(|(_, change)| change.clone())
    };
    let set = |value: &str| Some(EnvChange::Set(value.into()));
    assert_eq!(change("V=1 git x", "V"), set("1"));
    assert_eq!(change("V=1; git x", "V"), None);
    assert_eq!(change("export V=1; git x", "V"), set("1"));
    assert_eq!(change("V=1; export V; V=2; git x", "V"), set("2"));
    assert_eq!(change("HOME=/h; git x", "HOME"), set("/h"));
    assert_eq!(change("unset HOME; git x", "HOME"), Some(EnvChange::Unset));
    assert_eq!(change("env V=1 W=2 git x", "W"), set("2"));
    assert_eq!(change("sudo V=1 git x", "V"), set("1"));
    assert_eq!(change("set -a; V=1; git x", "V"), set("1"));
    assert_eq!(change("declare -x V=1; git x", "V"), set("1"));
    assert_eq!(change("V=1 true; git x", "V"), None);
    assert!(matches!(change("export V=$(unknown); git x", "V"), Some(EnvChange::Unknown(_))));
    assert!(matches!(change("if test -d q; then export V=1; fi; git x", "V"), Some(EnvChange::Unknown(_))));
}

#[test]
fn what_cannot_be_known_is_said() {
    for text in ["eval \"$X$(unknown)\"", "bash -c \"$(curl x)\"", "curl x | sh", ". <(curl x)", "export $(unknown)"] {
        let (plan, _) = walked(text);
        assert!(!plan.opaque.is_empty(), "{text}: {plan:?}");
    }
    let (_, recorder) = walked("git push \"$(unknown)\" a$(unknown)b $(unknown)");
    let git = recorder.commands.iter().find(|seen| seen.words[0].as_ref().is_some_and(|name| name == "git"));
    assert_eq!(git.unwrap().words.iter().filter(|word| word.is_none()).count(), 3);
}

#[test]
fn unknown_word_that_may_vanish_leaves_the_next_as_the_name() {
    assert!(git_calls("$(unknown) git push").contains(&"git push".to_owned()));
}

#[test]
fn function_of_a_branch_hides_no_program() {
    assert!(git_calls("test -d q && git() { echo; }; git push").contains(&"git push".to_owned()));
    assert!(git_calls("if c; then git() { :; }; else unset -f git; fi; git push").contains(&"git push".to_owned()));
    assert_eq!(git_calls("git() { :; }; git push"), Vec::<String>::new());
}

#[test]
fn alias_of_a_branch_makes_the_line_opaque() {
    let (plan, _) = walked("shopt -s expand_aliases\nif c; then alias git=echo; fi\ngit push");
    assert!(!plan.opaque.is_empty());
}

#[test]
fn certainty_is_lost_in_branches_only() {
    let certain = |text: &str| {
        let (_, recorder) = walked(text);
        recorder
            .commands
            .iter()
            .filter(|seen| seen.words[0].as_ref().is_some_and(|name| name == "git"))
            .all(|seen| seen.certain)
    };
    assert!(certain("git x; (git x); { git x; }; true && git x; for i in 1; do git x; done; f() { git x; }; f"));
    for text in [
        "if c; then git x; fi",
        "c || git x",
        "while c; do git x; done",
        "case $(c) in a) git x;; esac",
        "f() { git x; }",
        "exit; git x",
    ] {
        assert!(!certain(text), "{text}");
    }
}

#[test]
fn input_reaches_the_command_that_reads_it() {
    let stdin = |text: &str| {
        let (_, mut recorder) = walked(text);
        recorder.commands.retain(|seen| seen.words[0].as_ref().is_some_and(|name| name == "git"));
        recorder.commands.remove(0).stdin
    };
    assert_eq!(stdin("git commit -F - <<'EOF'\na $x\nEOF"), Stdin::Text(b"a $x\n".to_vec()));
    assert_eq!(stdin("git commit -F - <<<text"), Stdin::Text(b"text\n".to_vec()));
    assert_eq!(stdin("printf '%s' a b | git x"), Stdin::Text(b"ab".to_vec()));
    assert_eq!(stdin("{ echo a; echo b; } | cat | git x"), Stdin::Text(b"a\nb\n".to_vec()));
    assert_eq!(stdin("git x </dev/null"), Stdin::Empty);
    assert_eq!(stdin("git x <file"), Stdin::File("/file".into()));
    assert_eq!(stdin("git x"), Stdin::Inherited);
    assert!(matches!(stdin("unknown | git x"), Stdin::Unknown(_)));
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_makes_up_is_not_read() {
    // Reading /proc/kmsg waits for the next message.
    for text in
        ["sh /proc/version", ". /proc/version", "cat /proc/kmsg | sh", "sh < /proc/kmsg", "/proc/kmsg", "sh /proc/[k]*"]
    {
        let plan = read(text.as_bytes(), &nowhere(), Shell::Bash);
        assert!(!plan.opaque.is_empty(), "{text}");
    }
}

#[test]
fn items_beyond_those_that_are_followed_are_a_command_that_is_not_known() {
    let items: String = (0..40).map(|item| format!(" i{item}")).collect();
    for text in [
        format!("printf '%s\\n'{items} | xargs -n1 git push origin"),
        format!("printf '%s\\n'{items} | xargs -I% git push origin %"),
        format!("printf '%s\\n'{items} | xargs -L1 git push origin"),
    ] {
        let (_, recorder) = walked(&text);
        let pushes: Vec<&Seen> = recorder.commands.iter().filter(|seen| seen.wrappers == ["xargs"]).collect();
        assert!(
            pushes.iter().any(|seen| seen.words.last().unwrap().as_ref().is_some_and(|word| word == "i0")),
            "{text}"
        );
        assert!(pushes.iter().any(|seen| seen.words.last().unwrap().is_none()), "{text}");
    }
    let (plan, _) = walked(&format!("parallel git push origin :::{items}"));
    assert!(plan.opaque.iter().any(|opaque| opaque.program.as_str().contains("many")), "{:?}", plan.opaque);
}

#[test]
fn files_that_the_line_writes_are_known() {
    let (_, recorder) =
        walked("cat <<'E' >a; echo b >>a; echo c | tee d; unknown >e; if c; then echo f >g; fi\nbody\nE");
    let written: Vec<(&[u8], Option<&[u8]>)> =
        recorder.written.iter().map(|(path, bytes)| (path.as_ref().unwrap().as_slice(), bytes.as_deref())).collect();
    let expected: Vec<(&[u8], Option<&[u8]>)> =
        vec![(b"a", Some(b"body\n")), (b"a", Some(b"body\nb\n")), (b"d", Some(b"c\n")), (b"e", None), (b"g", None)];
    assert_eq!(written, expected);
}

#[test]
fn wrappers_are_named_from_the_outside_in() {
    let (_, recorder) = walked("sudo -u someone env A=1 timeout 5 git push");
    assert_eq!(recorder.commands[0].wrappers, ["sudo", "env", "timeout"]);
    assert_eq!(lines(&recorder), ["git push"]);
}

#[test]
fn every_wrapper_shows_what_it_runs() {
    for text in [
        "sudo git push",
        "sudo -E -u x -- git push",
        "doas -u x git push",
        "nice git push",
        "ionice -c3 git push",
        "nohup git push",
        "setsid -w git push",
        "stdbuf -oL git push",
        "timeout -k 1 9 git push",
        "chrt -b 0 git push",
        "taskset 1 git push",
        "setpriv --no-new-privs git push",
        "fakeroot git push",
        "flock /tmp/l git push",
        "flock /tmp/l -c 'git push'",
        "xargs -a /dev/null git push",
        "su root -c 'git push'",
        "chroot / git push",
        "env -vS 'git push'",
        "env -i git push",
        "find . -exec git push \\;",
        "find . -exec sh -c 'git push' \\;",
        "watch git push",
        "script -qc 'git push' /dev/null",
        "ssh host 'git push'",
        "parallel git ::: push",
        "busybox sh -c 'git push'",
        "time -p git push",
        "/usr/bin/time -v git push",
        "awk 'BEGIN{system(\"git push\")}'",
        "sed -n '1e git push' f",
        "tar --to-command='git push' -xf t",
        "split --filter='git push' f",
        "exec git push",
        "coproc git push",
        "systemd-run --user git push",
        "bundle exec git push",
        "direnv exec . git push",
        "find . -execdir git push \\;",
        "unshare -r git push",
        "strace -f -o /dev/null git push",
    ] {
        assert!(git_calls(text).contains(&"git push".to_owned()), "{text}: {:?}", lines(&walked(text).1));
    }
}

#[test]
fn scripts_on_disk_are_walked() {
    let sandbox = Sandbox::new();
    let write = |path: &str, text: &str| {
        fs::write(sandbox.path(path), text).unwrap();
        fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("plain.sh", "git push \"$1\"\n");
    write("run", "#!/usr/bin/env bash\nset -e\ngit push \"$@\"\n");
    write("Makefile", "V = origin\nall: dep\n\t@git push $(V)\ndep:\n\tgit log\nother:\n\tgit no\n");
    write("package.json", r#"{"scripts":{"prerelease":"git add .","release":"git push"}}"#);
    write("justfile", "release: build\n    git push\nbuild:\n    git add .\n");
    let calls = |text: &str| lines(&walked_in(text, &sandbox.world(""), Shell::Bash).1);
    assert_eq!(calls("bash plain.sh origin"), ["git push origin"]);
    assert_eq!(calls("./run a b"), ["git push a b"]);
    assert_eq!(calls(". ./plain.sh x"), ["git push x"]);
    let mut made = calls("make");
    made.sort();
    assert_eq!(made, ["git log", "git push origin"]);
    assert_eq!(calls("npm run release"), ["git add .", "git push"]);
    assert_eq!(calls("just release"), ["git push", "git add ."]);
    assert_eq!(calls("make -n"), Vec::<String>::new());
}

#[test]
fn zsh_has_rules_of_its_own() {
    for text in [
        "noglob git push",
        "- git push",
        "for d (a b) git push",
        "foreach d (a); git push; end",
        "if [[ -d x ]] { git push }",
        "{ false } always { git push }",
        "f() git push; f",
        "git push &|",
        "alias gp='git push'; eval gp",
        "cat =(git push)",
        "=git push",
        "TRAPEXIT() { git push }",
        "repeat 2 git push",
        "() { git push }",
    ] {
        let (plan, recorder) = walked_in(text, &nowhere(), Shell::Zsh);
        assert!(lines(&recorder).contains(&"git push".to_owned()), "{text}: {:?} {:?}", lines(&recorder), plan.unknown);
    }
}

#[test]
fn lines_before_a_syntax_error_have_run() {
    let (plan, recorder) = walked("git push\nif true; then\n)");
    assert_eq!(plan.parsed, Parsed::Partial);
    assert_eq!(lines(&recorder), ["git push"]);
    let (plan, recorder) = walked("ls )\ngit push");
    assert_eq!((plan.parsed, lines(&recorder).len()), (Parsed::Partial, 0));
    assert!(!plan.unknown.is_empty(), "what stands behind the error could publish");
}

/// Texts at and past every limit.
fn hostile() -> Vec<String> {
    let repeated =
        |open: &str, close: &str, count: usize| format!("{}git push{}", open.repeat(count), close.repeat(count));
    let mut texts = vec![
        "a".repeat(MAX_TEXT_BYTES + 1),
        "echo a\0b; git push".to_owned(),
        "time ".repeat(20_000) + "git push",
        "! ".repeat(20_000) + "git push",
        "a|".repeat(20_000) + "b",
        "a&&".repeat(20_000) + "b",
        "f() { f; f; }; f".to_owned(),
        ":(){ :|:& };:".to_owned(),
        "eval 'eval \"$0\"'".to_owned(),
        "x='eval \"$x\"'; eval \"$x\"".to_owned(),
        "alias a='b b ' b='a a '\nshopt -s expand_aliases\na\na".to_owned(),
        format!("x={}; for i in {{1..1000}}; do x=$x$x; done; git $x", "a".repeat(1000)),
        "{a,b}".repeat(64),
        "{1..100000}{1..100000}".to_owned(),
        format!("case x in {} esac", "y) ;; ".repeat(20_000)),
        "a".repeat(100_000) + "*?[a-z]".repeat(1000).as_str(),
        "cat <<E\n".repeat(3000),
        "declare -n x=y; declare -n y=x; x=1; git $x".to_owned(),
    ];
    for count in [90, 110, 5000] {
        for (open, close) in [
            ("$(", ")"),
            ("\"$(", ")\""),
            ("(", ")"),
            ("{ ", "; }"),
            ("((", "))"),
            ("$((", "))"),
            ("${x:-", "}"),
            ("if ", "; then :; fi"),
            ("for i in 1; do ", "; done"),
            ("<(", ")"),
            ("[[ ", " ]]"),
            ("f() { ", "; }"),
            ("case x in x) ", ";; esac"),
            ("a[", "]=1"),
            ("`", "`"),
            ("$[", "]"),
            ("bash -c '", "'"),
            ("@(", ")"),
            ("coproc ", ""),
            ("\"${x:-'", "'}\""),
            ("$(cat <<E\n", "\nE\n)"),
            ("function f ", ""),
            ("a=(", ")"),
        ] {
            texts.push(repeated(open, close, count));
        }
    }
    texts
}

/// Whether the git in a hostile text stands where bash runs it, and not in a word or an expression.
fn runs_git(text: &str) -> bool {
    let words = ["bash -c", "[[", "((", "${", "a[", "$[", "@(", "a=("];
    text.contains("git push") && !words.iter().any(|open| text.contains(open))
}

#[test]
fn limits_end_in_a_plan_even_on_a_small_stack() {
    // The caller's stack is 64 KiB; the reader brings its own.
    let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(|| {
        for text in hostile() {
            let started = std::time::Instant::now();
            let plan = read(text.as_bytes(), &nowhere(), Shell::Bash);
            let start = text.get(..40).unwrap_or(&text).to_owned();
            let seen = plan.commands.iter().flatten().flatten().any(|word| word == "push");
            let said = !plan.unknown.is_empty() || plan.parsed != Parsed::Whole;
            assert!(seen || said || !runs_git(&text), "{start}");
            assert!(started.elapsed().as_secs() < 60, "{start}");
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn depth_is_a_limit_and_not_a_crash() {
    let deep = format!("{}{}", "$(".repeat(5000), ")".repeat(5000));
    let stopped = with_stack(|| Reader::new(deep.as_bytes(), Dialect::Bash).unwrap().next_line().err());
    assert!(matches!(stopped, Some(Some(Stop::Limit(_)))), "{stopped:?}");
}

#[test]
fn plan_of_the_program_is_json_and_keeps_its_contract() {
    let sandbox = Sandbox::new();
    let output = sandbox.tyran().args(["plan", "--format", "json", "--", "echo $(unknown) >f"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plan["parsed"], "whole");
    assert_eq!(plan["commands"], serde_json::json!([["unknown"], ["echo", null]]));
    for key in ["outcome", "publishes", "unknown", "bypass"] {
        assert!(plan.get(key).is_some(), "{key}");
    }
}

#[test]
fn plans_of_many_lines_come_back_in_order() {
    use std::io::Write;
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("there")).unwrap();
    let mut child =
        sandbox.tyran().args(["plan", "--jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"cmd\":\"ls a\"}\n{\"cmd\":\"ls b\",\"cwd\":\"there\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let plans: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let words: Vec<&serde_json::Value> = plans.iter().map(|plan| &plan["commands"][0][1]).collect();
    assert_eq!(words, ["a", "b"], "{}", shown(&output));
}

/// So many lines at once are answered by several threads.
#[test]
fn plans_of_a_thousand_lines_come_back_in_order_and_up_to_the_first_that_is_none() {
    let sandbox = Sandbox::new();
    let mut input: String = (0..1000).map(|number| format!("{{\"cmd\":\"ls {number}; (cd x && ls)\"}}\n")).collect();
    input.push_str("{\"command\":\"ls\"}\n{\"cmd\":\"ls\"}\n");
    let mut command = sandbox.tyran();
    command.args(["plan", "--jsonl"]);
    let output = crate::gate::fed(command, input.as_bytes());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let plans: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(plans.len(), 1000, "{}", String::from_utf8_lossy(&output.stderr));
    for (number, plan) in plans.iter().enumerate() {
        assert_eq!(plan["commands"][0][1], number.to_string());
    }
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing field `cmd`"), "{}", shown(&output));
    assert_eq!(output.status.code(), Some(2));
}

/// What a plan is compared by: its commands and its outcome.
fn essence(text: &str) -> (Vec<Vec<Option<BString>>>, Parsed, usize) {
    let (plan, _) = walked(text);
    (plan.commands, plan.parsed, plan.opaque.len())
}

/// Lines made of common pieces.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof!["[a-z]{1,6}", Just("push".to_owned()), Just("origin".to_owned()), Just("-m".to_owned())];
    let simple = prop::collection::vec(word, 1..4).prop_map(|words| format!("git {}", words.join(" ")));
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one}; {other}")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one} && {other}")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one} | {other}")),
            inner.clone().prop_map(|one| format!("({one})")),
            inner.clone().prop_map(|one| format!("echo \"$({one})\"")),
            inner.clone().prop_map(|one| format!("if true; then {one}; fi")),
            inner.clone().prop_map(|one| format!("for i in a b; do {one}; done")),
            inner.prop_map(|one| format!("{{ {one}; }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn comment_changes_nothing(line in line(), comment in "[ -~]{0,20}") {
        prop_assert_eq!(essence(&line), essence(&format!("# {comment}\n{line} # {comment}\n# {comment}")));
    }

    #[test]
    fn continuation_at_any_byte_outside_quotes_changes_nothing(line in line(), at in any::<prop::sample::Index>()) {
        let at = at.index(line.len());
        let joined = format!("{}\\\n{}", &line[..at], &line[at..]);
        prop_assert_eq!(essence(&line), essence(&joined));
    }

    #[test]
    fn harmless_quoting_changes_nothing(line in line(), mark in prop_oneof![Just("''"), Just("\"\""), Just("$''")]) {
        let quoted = line.replace("git ", &format!("g{mark}it "));
        prop_assert_eq!(essence(&line), essence(&quoted));
    }

    #[test]
    fn any_bytes_give_a_plan(bytes in prop::collection::vec(prop_oneof![
        any::<u8>(), prop::sample::select(b"$(){}[]<>|&;`'\"\\\n #=*?!~gitpush".to_vec())
    ], 0..200), zsh in any::<bool>()) {
        let mut recorder = Recorder::default();
        let shell = if zsh { Shell::Zsh } else { Shell::Bash };
        let plan = with_stack(|| read_with(&bytes, &nowhere(), shell, &mut recorder));
        prop_assert!(plan.is_some());
    }
}

/// Mutates known lines at random for a while; run by `scripts/fuzz-reader`.
#[test]
#[ignore = "runs as long as TYRAN_FUZZ_SECONDS says"]
fn mutated_lines_give_a_plan() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("TYRAN_FUZZ_SECONDS").unwrap_or(10);
    let first = number("TYRAN_FUZZ_SEED").unwrap_or(0) << 32;
    let mut seeds: Vec<Vec<u8>> = EXACT.iter().map(|text| text.as_bytes().to_vec()).collect();
    if let Some(file) = shared("cases/commands/corpus.jsonl") {
        for line in fs::read_to_string(file).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            seeds.push(case["cmd"].as_str().unwrap().as_bytes().to_vec());
        }
    }
    seeds.retain(|seed| seed.len() < 4096);
    let started = std::time::Instant::now();
    let (mut round, mut slowest) = (0_u64, (std::time::Duration::ZERO, Vec::new()));
    while started.elapsed().as_secs() < seconds {
        round += 1;
        let text = mutated(&seeds, first + round);
        let before = std::time::Instant::now();
        let zsh = round % 4 == 0;
        let mut recorder = Recorder::default();
        let shell = if zsh { Shell::Zsh } else { Shell::Bash };
        // Every third text with the real meaning of commands, which looks at files too.
        let plan = with_stack(|| match round % 3 {
            0 => read_here(&text, &nowhere(), shell),
            _ => read_with(&text, &nowhere(), shell, &mut recorder),
        });
        assert!(plan.is_some(), "panicked on {:?}", BString::new(text));
        if before.elapsed() > slowest.0 {
            slowest = (before.elapsed(), text);
        }
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: not known");
    eprintln!("{round} texts; {memory}; the slowest took {:?}: {:?}", slowest.0, BString::new(slowest.1));
}

/// A seed with pieces cut out, doubled, or taken from another seed.
fn mutated(seeds: &[Vec<u8>], round: u64) -> Vec<u8> {
    let numbers: Vec<usize> = planted::characters(round, "0123456789", 80)
        .as_bytes()
        .chunks(8)
        .map(|digits| std::str::from_utf8(digits).unwrap().parse().unwrap())
        .collect();
    let pick = |index: usize, below: usize| numbers[index % numbers.len()] % below.max(1);
    let mut text = seeds[pick(0, seeds.len())].clone();
    let tokens: &[&[u8]] = &[
        b"$(",
        b")",
        b"'",
        b"\"",
        b"`",
        b"\\",
        b"\n",
        b"<<E\n",
        b"((",
        b"))",
        b"${",
        b"}",
        b"{",
        b";;",
        b"esac",
        b"#",
        b"&",
        b"|",
        b"[[",
        b"]]",
        b"case x in ",
        b"function ",
    ];
    for step in 0..1 + pick(1, 4) {
        let at = pick(2 + step, text.len() + 1).min(text.len());
        match pick(3 + step, 4) {
            0 => drop(text.drain(at..(at + 1 + pick(4, 9)).min(text.len()))),
            1 => drop(text.splice(at..at, tokens[pick(5 + step, tokens.len())].iter().copied())),
            2 => {
                let other = &seeds[pick(6 + step, seeds.len())];
                let from = pick(7, other.len() + 1).min(other.len());
                drop(text.splice(at..at, other[from..].iter().copied()));
            }
            _ => {
                let piece = text[at..(at + 1 + pick(8, 30)).min(text.len())].to_vec();
                drop(text.splice(at..at, piece));
            }
        }
    }
    text
}
