//! Lines as zsh reads them. The words that git gets were taken from zsh 5.9 itself, with a git that notes them.

use std::path::PathBuf;

use tyran::command::Shell;
use tyran::command::plan::{Parsed, Plan};
use tyran::command::read::read;
use tyran::world::{Caution, World};

fn plan(line: &str) -> Plan {
    let env = [("HOME", "/home/someone"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.into(), value.into()));
    let world = World::new(env.into_iter().collect(), PathBuf::from("/"), Caution::ByHand);
    read(line.as_bytes(), &world, Shell::Zsh)
}

/// The calls of git, what is not known shown as `?`.
fn calls(plan: &Plan) -> Vec<String> {
    let words = |words: &Vec<Option<bstr::BString>>| {
        let shown =
            words.iter().map(|word| word.as_ref().map_or("?".to_owned(), |word| word.to_string().replace(' ', "_")));
        shown.collect::<Vec<_>>().join(" ")
    };
    plan.commands.iter().map(words).filter(|line| line == "git" || line.starts_with("git ")).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    for (line, expected) in cases {
        let plan = plan(line);
        assert_eq!(plan.parsed, Parsed::Whole, "{line}: {:?}", plan.unknown);
        assert_eq!(calls(&plan), *expected, "{line}");
    }
}

#[test]
fn subscripts_and_modifiers_stand_behind_plain_names() {
    check(&[
        ("x=push; git $x[1]", &["git p"]),
        ("x=xpush; git $x[2,-1] ${x[2,5]} ${x[-4,-1]}", &["git push push push"]),
        ("a=(git push); $a[1] $a[2]", &["git push"]),
        ("a=(git push); $a[-2] ${a[-1]}", &["git push"]),
        ("a=(x git push origin); $a[2,3] $a[4,-1]", &["git push origin"]),
        ("a=(x push); git \"$a[2]\" \"${a[2]}\"", &["git push push"]),
        ("a=(x push); git $a[3]$a[2]", &["git push"]),
        ("i=2; a=(x push); git $a[$i] $a[i]", &["git push ?"]),
        ("typeset -A m; m=(k push); git $m[k]", &["git ?"]),
        ("m[k]=push; git $m[k]", &["git ?"]),
        ("a=(x y); a[2]=push; git $a[2]", &["git push"]),
        ("v=PUSH; git ${v:l} $v:l \"$v:l\" ${v:u:l}", &["git push push push push"]),
        ("p=/a/b.c; git $p:t $p:h $p:e $p:r $p:t:r", &["git b.c /a c /a/b b"]),
        ("v=a; git $v:s/a/push/ $v:gs/a/b/c", &["git ? ?"]),
        ("v=a; git $v:v $v:/x \"$v:8080\"", &["git a:v a:/x a:8080"]),
        ("a=(x y z); git $#a ${#a} $#a[1]", &["git 3 3 1"]),
        ("git $commands[ls] $path[1] $aliases[x]", &["git ? /usr/bin ?"]),
        ("v='a b'; git $=v", &["git ?"]),
        ("v=a; git $+v ${+v}", &["git ? ?"]),
    ]);
}

#[test]
fn arrays_are_all_their_elements() {
    check(&[
        ("c=(git push); $c", &["git push"]),
        ("c=(git '' push); $c", &["git push"]),
        ("c=(push origin); git \"$c\"", &["git push_origin"]),
        ("c=(git push); \"${c[@]}\"", &["git push"]),
        ("c=(git push); \"$c[@]\"", &["git push"]),
        ("c=(git push origin); ${c[1]} ${c:1}", &["git push origin"]),
        ("c=(); c+=(git); c+=(push); $c", &["git push"]),
        ("f() { git $argv $argv[1] }; f push x", &["git push x push"]),
        ("f() { local -a x; x=($@); git $x[2] }; f a push", &["git push"]),
        ("set -- push; git $argv", &["git push"]),
        ("setopt ksh_arrays; a=(git push); ${a[0]} ${a[1]}; $a", &["git push", "git"]),
        ("setopt KSH_ARRAYS; a=(git push); ${a[@]}", &["git push"]),
    ]);
}

#[test]
fn values_are_split_only_where_an_option_says_so() {
    check(&[
        ("c='git push'; $c; true", &[]),
        ("setopt sh_word_split; c='git push'; $c", &["git push"]),
        ("setopt shwordsplit; c='push origin'; git $c", &["git push origin"]),
        ("set -o shwordsplit; c='push origin'; git $c", &["git push origin"]),
        ("set -y; c='push origin'; git $c", &["git push origin"]),
        ("emulate sh; c='push origin'; git $c", &["git push origin"]),
        ("emulate -R ksh; a=(git push); $a ${a[1]}", &["git push"]),
        ("git $(echo push origin)", &["git push origin"]),
        ("git `echo push origin`", &["git push origin"]),
        ("git \"$(echo push origin)\"", &["git push_origin"]),
        ("emulate sh -c 'git push'", &["git push"]),
        ("emulate bash -c 'c=\"git push\"; $c'", &["git push"]),
        ("emulate -L zsh; c=(git push); $c", &["git push"]),
    ]);
}

#[test]
fn forms_that_only_zsh_has_are_read() {
    check(&[
        ("() { git $1 } push", &["git push"]),
        ("function { git push }", &["git push"]),
        ("function { git $1 } push origin; git log", &["git push", "git log"]),
        ("() git push", &["git push"]),
        ("f g() { git push }; g", &["git push"]),
        ("f() git push; f", &["git push"]),
        ("case x { (x) git push ;; }", &["git push"]),
        ("case x { x) git push }", &["git push"]),
        ("case x in (x|y) git push;; esac", &["git push"]),
        ("if (true) git push", &["git push"]),
        ("if [[ 1 ]] git push; git log", &["git push", "git log"]),
        ("if (( 1 )) { git push } else { git log }", &["git push", "git log"]),
        ("if (true) git push && git log", &["git push", "git log"]),
        ("until [[ 1 ]] git push; git log", &["git push", "git log"]),
        ("while (( 1 )) { git push; break }", &["git push"]),
        ("for x (a b) git $x && git log $x", &["git a", "git log a", "git b", "git log b"]),
        ("if; then git push; fi", &["git push"]),
        ("; git push", &["git push"]),
        ("git push &&", &["git push"]),
        ("git push && ; git log", &["git push", "git log"]),
        ("git push ||\n", &["git push"]),
        ("(git push &&)", &["git push"]),
        ("[[ a == (a|b) ]] && git push", &["git push"]),
        ("[[ a == (a|b)* && b != (c) ]] || git push", &["git push"]),
        ("git push (x) y", &["git push ? y"]),
        ("x=pullx; git ${${x/ll/sh}%x}", &["git ?"]),
        ("git ${$(echo push)%x} ${${:-x}:-y}z", &["git ? ?"]),
        ("print -l ${(M)${(f)\"$(git log)\"}:#*x*}", &["git log"]),
        ("x=${${(s:,:)${:-git,log}}[1]}; git log", &["git log"]),
        ("{git push}", &["git push"]),
        ("{git push} 2>/dev/null; git log", &["git push", "git log"]),
        ("if [[ 1 ]] {git push}", &["git push"]),
        ("f() {git push}; f", &["git push"]),
        ("git {push,origin} HEAD@{1} @{u}", &["git push origin HEAD@{1} @{u}"]),
        ("git x{a,b}y {} {push} '}' \"}\"", &["git xay xby {} {push} } }"]),
        ("echo ${(e):-'$(git push)'}", &["git push"]),
        ("x='$(git push)'; echo ${(e)x}", &["git push"]),
        ("setopt prompt_subst; x='$(git push)'; print -P $x", &["git push"]),
        ("setopt extendedglob; echo (#i)X*(N); git push", &["git push"]),
        ("{ git log } always { git push }", &["git log", "git push"]),
    ]);
}

#[test]
fn text_that_cannot_be_read_is_not_called_innocent() {
    for line in ["git $1 ) push", "c=(git push\n$c", "x=git; $x push }", "gh pr create ) "] {
        let plan = plan(line);
        assert!(plan.parsed != Parsed::Whole && !plan.unknown.is_empty(), "{line}");
    }
}
