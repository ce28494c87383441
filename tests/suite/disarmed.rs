//! Doctor looks where the host itself looks: every file, variable and folder that keeps an entry from being asked.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tyran::host::table::{EntryShape, Host, Slot, Table};
use tyran::install::hosts::{self, Reach};
use tyran::install::{disarm, entry};

use super::support::{Sandbox, shown};

fn table() -> Table {
    Table::builtin().unwrap()
}

fn tyran(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.tyran().args(args).output().unwrap()
}

fn done(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = tyran(sandbox, args);
    assert!(output.status.success(), "{args:?}: {}", shown(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Whether all of a route is alive, and what doctor says of it, with variables set.
fn diagnosed(sandbox: &Sandbox, route: &str, variables: &[(&str, &Path)]) -> (bool, String) {
    let mut command = sandbox.tyran();
    command.args(["doctor", "--format", "json", route]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
    let alive = value["alive"] == Value::Bool(true);
    assert_eq!(output.status.code(), Some(i32::from(!alive)), "{}", shown(&output));
    (alive, value["routes"].to_string())
}

#[test]
fn every_matcher_covers_what_its_row_knows() {
    for host in &table().hosts {
        let Some(matcher) = &host.entry.matcher else { continue };
        assert_eq!(disarm::uncovered(host, matcher), Vec::<String>::new(), "{}", host.id);
        let events = host.registered();
        let asked = events.iter().filter(|(_, slot)| *slot == Slot::PreTool);
        assert!(asked.filter(|(event, slot)| entry::matcher(host, event, *slot).is_some()).count() > 0, "{}", host.id);
    }
}

#[test]
fn a_matcher_is_read_as_its_host_reads_it() {
    let table = table();
    for (host, matcher, covers) in [
        ("claude", "Bash|PowerShell|Monitor|Write|Edit|MultiEdit|NotebookEdit", false),
        ("claude", ".*", true),
        ("kiro-cli2", "execute_bash|execute_cmd|fs_write|@.*", false),
        ("kiro-cli2", "execute_*", false),
        ("kiro-cli2", "*", true),
        ("antigravity", "run_command|write_to_file", false),
        ("vibe", "re:.*", true),
        ("vibe", "re:BASH", false),
        ("vibe", "bash", false),
        ("vibe", "**", true),
    ] {
        let missed = disarm::uncovered(table.host(host).unwrap(), matcher);
        assert_eq!(missed.is_empty(), covers, "{host} {matcher}: {missed:?}");
    }
}

#[test]
fn what_disarms_is_looked_for_in_every_file_of_the_host() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "copilot", "droid", "gemini", "qwen", "claude"]);
    let off = "{\"disableAllHooks\": true}";
    let elsewhere = sandbox.path("elsewhere.json");
    for (host, file, text, named, variable) in [
        ("copilot", ".github/hooks/off.json", off, "disableAllHooks", None),
        ("copilot", ".github/copilot/settings.local.json", off, "disableAllHooks", None),
        ("copilot", "home/.copilot/hooks/of another.json", off, "disableAllHooks", None),
        ("copilot", "home/.copilot/config.json", off, "disableAllHooks", None),
        ("droid", ".factory/settings.local.json", "{\"hooksDisabled\": true}", "hooksDisabled", None),
        (
            "gemini",
            "elsewhere.json",
            "{\"hooksConfig\": {\"enabled\": false}}",
            "hooksConfig.enabled",
            Some("GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
        ),
        ("qwen", "elsewhere.json", off, "disableAllHooks", Some("QWEN_CODE_SYSTEM_SETTINGS_PATH")),
        ("claude", ".claude/settings.local.json", off, "disableAllHooks", None),
        ("copilot", ".github/hooks/broken.json", "{", "not JSON", None),
    ] {
        assert!(diagnosed(&sandbox, host, &[]).0, "{host} before {file}");
        write(&sandbox.path(file), text);
        let variables: Vec<(&str, &Path)> = variable.map(|name| (name, elsewhere.as_path())).into_iter().collect();
        let (alive, told) = diagnosed(&sandbox, host, &variables);
        assert!(!alive && told.contains(named), "{host} {file}: {told}");
        fs::remove_file(sandbox.path(file)).unwrap();
    }
}

/// The system's own folders are root's: rows that name one of the sandbox in their place.
#[test]
fn files_of_a_folder_of_the_system_are_all_read() {
    let sandbox = Sandbox::new();
    let text = tyran::host::table::TEXT.replace("\"/etc/", &format!("\"{}/", sandbox.path("etc").display()));
    let moved = Table::parse(&text).unwrap();
    let world = sandbox.world("");
    for (host, file, text) in [
        ("claude", "etc/claude-code/managed-settings.json", "{\"disableAllHooks\": true}"),
        ("claude", "etc/claude-code/managed-settings.d/10-hooks.json", "{\"disableAllHooks\": true}"),
        ("claude", "etc/claude-code/managed-settings.d/a.json", "{\"allowManagedHooksOnly\": true}"),
        ("codex", "etc/codex/requirements.toml", "allow_managed_hooks_only = true\n"),
        ("codex", "etc/codex/config.toml", "[features]\nhooks = false\n"),
        ("gemini", "etc/gemini-cli/settings.json", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("gemini", "etc/gemini-cli/settings.json", "{\"hooksConfig\": {\"disabled\": [\"tyran\"]}}"),
        ("qwen", "etc/qwen-code/settings.json", "{\"disableAllHooks\": true}"),
    ] {
        let host = moved.host(host).unwrap();
        assert!(disarm::switched_off(&world, host).problems.is_empty(), "{}", host.id);
        write(&sandbox.path(file), text);
        let found = disarm::switched_off(&world, host);
        assert!(found.problems.len() == 1 && found.problems[0].contains("switches it off"), "{file}: {found:?}");
        fs::remove_file(sandbox.path(file)).unwrap();
    }
}

#[test]
fn a_profile_that_switches_hooks_off_is_told_of() {
    let sandbox = Sandbox::new();
    write(&sandbox.path("home/.codex/quick.config.toml"), "[features]\nhooks = false\n");
    let found = disarm::switched_off(&sandbox.world(""), table().host("codex").unwrap());
    assert!(found.problems.is_empty() && found.notes[0].contains("profile of that name"), "{found:?}");
}

#[test]
fn what_another_reader_cuts_out_of_a_text_is_seen() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.cursor/hooks.json");
    let other = |command: &str| {
        format!("{{\"version\": 1, // theirs\n\"hooks\": {{\"stop\": [{{\"command\": {command:?}}}]}}}}\n")
    };
    for (command, is_read) in [
        ("curl https://x.invalid/a", false),
        ("ls /*; ls */", false),
        ("ls src/*", true),
        ("echo '\"' /", true),
        ("echo done", true),
    ] {
        let text = other(command);
        write(&file, &text);
        let output = tyran(&sandbox, &["install", "cursor"]);
        assert_eq!(output.status.success(), is_read, "{command}: {}", shown(&output));
        if is_read {
            assert!(diagnosed(&sandbox, "cursor", &[]).0, "{command}");
            let changed = fs::read_to_string(&file).unwrap().replacen("// theirs", "", 1);
            assert!(changed.contains("// ") || !changed.contains("//"), "ours must hold none: {changed}");
            done(&sandbox, &["uninstall", "cursor"]);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{command}");
    }
    fs::remove_file(&file).unwrap();
    done(&sandbox, &["install", "cursor"]);
    let ours = fs::read_to_string(&file).unwrap();
    write(&file, ours.replacen("\"hooks\": {", "\"hooks\": {\"stop\": [{\"command\": \"curl http://x\"}],", 1));
    let (alive, told) = diagnosed(&sandbox, "cursor", &[]);
    assert!(!alive && told.contains("inside a text"), "{told}");
}

#[test]
fn a_host_that_reads_another_folder_as_it_is_started_is_named() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("elsewhere");
    for (host, variable, below) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot", "COPILOT_HOME", "hooks/tyran.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("vibe", "VIBE_HOME", "hooks.toml"),
        ("kilo", "KILO_CONFIG_DIR", "plugins/tyran.js"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/tyran.js"),
        ("crush", "XDG_CONFIG_HOME", "crush/crush.json"),
    ] {
        let moved = [(variable, elsewhere.as_path())];
        done(&sandbox, &["install", host]);
        assert!(diagnosed(&sandbox, host, &[]).0, "{host}");
        let (alive, told) = diagnosed(&sandbox, host, &moved);
        assert!(!alive && told.contains(variable) && told.contains("has no entry"), "{host}: {told}");
        // With an entry in both it does not matter which is read.
        let also = sandbox.tyran().envs(moved).args(["install", host]).output().unwrap();
        assert!(also.status.success() && elsewhere.join(below).exists(), "{host}: {}", shown(&also));
        assert!(diagnosed(&sandbox, host, &moved).0, "{host}: {}", diagnosed(&sandbox, host, &moved).1);
        assert!(diagnosed(&sandbox, host, &[]).0, "{host}");
        done(&sandbox, &["uninstall", host]);
        assert!(!elsewhere.join(below).exists(), "{host}");
    }
    // Put in place where the variable leads to, and started without it.
    let also = sandbox.tyran().env("CLAUDE_CONFIG_DIR", &elsewhere).args(["install", "claude"]).output().unwrap();
    assert!(also.status.success(), "{}", shown(&also));
    let (alive, told) = diagnosed(&sandbox, "claude", &[]);
    assert!(!alive && told.contains("CLAUDE_CONFIG_DIR is not set"), "{told}");
    assert!(diagnosed(&sandbox, "claude", &[("CLAUDE_CONFIG_DIR", &elsewhere)]).0);
    done(&sandbox, &["uninstall", "claude"]);
    // An entry of the project alone is read wherever the user's folder is.
    let repo = sandbox.repo("work");
    let dir = repo.dir.to_str().unwrap();
    done(&sandbox, &["install", "--repo", "-C", dir, "claude"]);
    for variables in [&[][..], &[("CLAUDE_CONFIG_DIR", elsewhere.as_path())]] {
        let output =
            sandbox.tyran().envs(variables.iter().copied()).args(["doctor", "-C", dir, "claude"]).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
    }
}

#[test]
fn another_tools_hook_is_told_of_wherever_the_host_takes_hooks_from() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "claude", "copilot", "droid"]);
    let event =
        |name: &str| format!("{{\"hooks\": {{\"{name}\": [{{\"type\": \"command\", \"command\": \"other\"}}]}}}}");
    for (host, file, text) in [
        ("claude", ".claude/settings.local.json", event("PreToolUse")),
        ("copilot", ".github/hooks/other.json", event("preToolUse")),
        ("droid", ".factory/settings.json", event("PreToolUse")),
    ] {
        assert!(!diagnosed(&sandbox, host, &[]).1.contains("net only"), "{host}");
        write(&sandbox.path(file), text);
        let (alive, told) = diagnosed(&sandbox, host, &[]);
        assert!(alive && told.contains("net only"), "{host}: {told}");
    }
}

#[test]
fn a_link_that_leads_to_nothing_is_left_alone() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    symlink("../dotfiles/settings.json", &file).unwrap();
    let output = tyran(&sandbox, &["install", "claude"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("symbolic link"), "{}", shown(&output));
    // Another host is put in place all the same, and taking everything away minds it as little.
    fs::create_dir_all(sandbox.path("home/.qwen")).unwrap();
    let output = tyran(&sandbox, &["setup", "--yes"]);
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    assert!(diagnosed(&sandbox, "qwen", &[]).0);
    done(&sandbox, &["uninstall", "--all"]);
    assert_eq!(fs::read_link(&file).unwrap(), Path::new("../dotfiles/settings.json"));
    // Once it leads somewhere it is written through.
    write(&sandbox.path("home/dotfiles/settings.json"), "{}");
    done(&sandbox, &["install", "claude"]);
    assert!(
        file.is_symlink() && fs::read_to_string(sandbox.path("home/dotfiles/settings.json")).unwrap().contains("gate")
    );
}

#[test]
fn a_file_stays_that_of_its_owner() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root can make a file another's");
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.claude/settings.json");
    write(&file, "{}");
    std::os::unix::fs::chown(&file, Some(1234), Some(1234)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    for step in ["install", "uninstall"] {
        done(&sandbox, &[step, "claude"]);
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o777), (1234, 1234, 0o640), "{step}");
    }
}

#[test]
fn an_entry_whose_option_is_one_word_is_ours_too() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["install", "claude", "gemini"]);
    for (host, file, from, to) in [
        ("claude", "home/.claude/settings.json", "\"--host\",\"claude\"", "\"--host=claude\""),
        ("gemini", "home/.gemini/settings.json", "--host gemini", "--host=gemini"),
        (
            "gemini",
            "home/.gemini/settings.json",
            "--host gemini --event BeforeTool",
            "--event BeforeTool --host gemini",
        ),
        ("gemini", "home/.gemini/settings.json", "--deadline 50", "--deadline=50"),
    ] {
        let file = sandbox.path(file);
        let ours = fs::read_to_string(&file).unwrap();
        let changed = ours.replace(from, to);
        assert_ne!(changed, ours, "{from}: {ours}");
        write(&file, &changed);
        assert!(diagnosed(&sandbox, host, &[]).0, "{to}: {}", diagnosed(&sandbox, host, &[]).1);
        done(&sandbox, &["install", host]);
        assert_eq!(fs::read_to_string(&file).unwrap(), ours, "{to}");
        write(&file, changed.replacen('{', "{\n\"model\": \"mine\",", 1));
        done(&sandbox, &["uninstall", host]);
        assert!(!fs::read_to_string(&file).unwrap().contains("gate"), "{to}");
        fs::remove_file(&file).unwrap();
        done(&sandbox, &["install", host]);
    }
    let late = fs::read_to_string(sandbox.path("home/.gemini/settings.json")).unwrap();
    write(&sandbox.path("home/.gemini/settings.json"), late.replace("--deadline 50", "--deadline=90"));
    assert!(diagnosed(&sandbox, "gemini", &[]).1.contains("gives up after"));
}

/// What Vibe 3.0.3 takes of a table (vibe/core/hooks/models.py of its package): other types are errors there.
fn assert_vibe_takes(text: &str) {
    let file: toml::Table = text.parse().unwrap();
    for hook in file["hooks"].as_array().unwrap() {
        assert!(hook["name"].is_str() && hook["command"].is_str(), "{hook}");
        assert!(["pre_tool", "post_tool", "post_agent"].contains(&hook["type"].as_str().unwrap()), "{hook}");
        let optional = |key: &str, is_right: fn(&toml::Value) -> bool| hook.get(key).is_none_or(is_right);
        assert!(optional("match", toml::Value::is_str) && optional("strict", toml::Value::is_bool), "{hook}");
        assert!(optional("timeout", |value| value.is_integer() || value.is_float()), "{hook}");
    }
}

#[test]
fn vibes_tables_are_those_that_it_reads() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.vibe/hooks.toml");
    done(&sandbox, &["install", "vibe"]);
    let ours = fs::read_to_string(&file).unwrap();
    assert_vibe_takes(&ours);
    let asked: toml::Table = ours.parse().unwrap();
    let before =
        asked["hooks"].as_array().unwrap().iter().find(|hook| hook["type"].as_str() == Some("pre_tool")).unwrap();
    assert_eq!(before["strict"].as_bool(), Some(true));
    assert_eq!(before["timeout"].as_integer(), Some(60));
    assert!(diagnosed(&sandbox, "vibe", &[]).0, "{}", diagnosed(&sandbox, "vibe", &[]).1);
    for (from, to, named) in [
        ("strict = true", "strict = false", "strict"),
        ("timeout = 60", "timeout = 0.5", "gives up after"),
        ("match = \"*\"", "match = \"bash\"", "does not cover"),
        ("type = \"pre_tool\"", "type = \"post_agent\"", "no entry at pre_tool"),
    ] {
        let changed = ours.replace(from, to);
        assert_ne!(changed, ours, "{from}: {ours}");
        write(&file, changed);
        let (alive, told) = diagnosed(&sandbox, "vibe", &[]);
        assert!(!alive && told.contains(named), "{named}: {told}");
    }
    write(&file, format!("\u{feff}{ours}"));
    assert!(diagnosed(&sandbox, "vibe", &[]).1.contains("byte-order mark"));
    write(&file, &ours);
    // A project's table of the same name goes before ours.
    let theirs = "[[hooks]]\nname = \"tyran pre_tool\"\ntype = \"pre_tool\"\ncommand = \"true\"\n";
    write(&sandbox.path(".vibe/hooks.toml"), theirs);
    let (alive, told) = diagnosed(&sandbox, "vibe", &[]);
    assert!(!alive && told.contains("goes before ours"), "{told}");
}

#[test]
fn vibes_file_keeps_its_line_ends_and_every_byte_of_others() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.vibe/hooks.toml");
    for theirs in [
        "# mine\r\n[[hooks]]\r\nname = 'a'\r\ntype = 'post_agent'\r\ncommand = 'x'  # kept\r\n\r\n[other]\r\nx = 1\r\n",
        "[[hooks]]\nname = \"a\"\ntype = \"post_agent\"\ncommand = \"\"\"\n[[hooks]]\nname = 'no table'\n\"\"\"\n",
        "x = 1 # no line end",
        "\n\n",
        "",
    ] {
        write(&file, theirs);
        done(&sandbox, &["install", "vibe"]);
        let with = fs::read_to_string(&file).unwrap();
        assert!(with.starts_with(theirs), "{with:?}");
        if theirs.contains("\r\n") {
            assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{with:?}");
        }
        assert_vibe_takes(&with);
        done(&sandbox, &["uninstall", "vibe"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
        // Edited since, before ours and after.
        done(&sandbox, &["install", "vibe"]);
        let end = if theirs.contains("\r\n") { "\r\n" } else { "\n" };
        let after = format!("{end}[[hooks]]{end}name = 'b'{end}type = 'post_tool'{end}command = 'y'{end}");
        let edited = format!("# first{end}{}{after}", fs::read_to_string(&file).unwrap());
        write(&file, &edited);
        done(&sandbox, &["uninstall", "vibe"]);
        let left = fs::read_to_string(&file).unwrap();
        let ended =
            if theirs.is_empty() || theirs.ends_with('\n') { theirs.to_owned() } else { format!("{theirs}{end}") };
        assert_eq!(left, format!("# first{end}{ended}{after}"), "{edited:?}");
    }
    for (text, why) in
        [("\u{feff}x = 1\n", "byte-order mark"), ("hooks = []\n", "not a list of tables"), ("[hooks]\n", "not a list")]
    {
        write(&file, text);
        let output = tyran(&sandbox, &["install", "vibe"]);
        assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{}", shown(&output));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_hooks_path_of_a_work_tree_is_no_success_and_has_a_way_out() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("a.txt", "nothing\n");
    let noted = sandbox.path("noted");
    write(&repo.dir.join(".gh/pre-push"), format!("#!/bin/sh\necho ran >> {}\n", noted.display()));
    fs::set_permissions(repo.dir.join(".gh/pre-push"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    repo.git(&["config", "--worktree", "core.hooksPath", ".gh"]);
    let install = || sandbox.tyran().current_dir(&repo.dir).args(["install", "git", "--repo"]).output().unwrap();
    let output = install();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let todo = told.lines().find_map(|line| line.strip_prefix("do:")).unwrap().trim().to_owned();
    // The command works when it is pasted.
    let tyran = sandbox.tyran();
    let folder = Path::new(tyran.get_program()).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let pasted = sandbox.command("sh").env("PATH", path).current_dir(&repo.dir).args(["-c", &todo]).output().unwrap();
    assert!(pasted.status.success(), "{todo}: {}", shown(&pasted));
    let doctor = sandbox.tyran().current_dir(&repo.dir).args(["doctor", "net"]).output().unwrap();
    assert!(doctor.status.success(), "{}", shown(&doctor));
    repo.git(&["push", "-q", "origin", "main"]);
    assert_eq!(fs::read_to_string(&noted).unwrap(), "ran\n", "their own hook runs all the same");
}

#[test]
fn without_the_program_a_hook_says_how_to_take_itself_away() {
    for (scope, before) in
        [(&[][..], None), (&[][..], Some("mine")), (&["--repo"][..], None), (&["--repo"], Some(".gh"))]
    {
        let sandbox = Sandbox::new();
        let repo = sandbox.repo("work");
        repo.commit("a.txt", "nothing\n");
        let own = if scope.is_empty() { "--global" } else { "--local" };
        if let Some(path) = before {
            repo.git(&["config", own, "core.hooksPath", path]);
        }
        let copy = sandbox.path("bin/tyran");
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        sandbox.copy_of_tyran(&copy);
        let installed =
            sandbox.command(&copy).current_dir(&repo.dir).args(["install", "git"]).args(scope).output().unwrap();
        assert!(installed.status.success(), "{}", shown(&installed));
        fs::remove_file(&copy).unwrap();
        let push =
            || sandbox.command("git").current_dir(&repo.dir).args(["push", "-q", "origin", "main"]).output().unwrap();
        let refused = push();
        assert!(!refused.status.success(), "{}", shown(&refused));
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        let todo = told.split("take its hooks away with: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let pasted = sandbox.command("sh").current_dir(&repo.dir).args(["-c", &todo]).output().unwrap();
        assert!(pasted.status.success(), "{todo}: {}", shown(&pasted));
        let now =
            sandbox.command("git").current_dir(&repo.dir).args(["config", "--get", "core.hooksPath"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&now.stdout).trim(), before.unwrap_or_default(), "{todo}");
        assert!(push().status.success());
    }
}

#[test]
fn what_is_wrong_with_tyrans_own_folder_is_named() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "claude"]);
    let alive = || diagnosed(&sandbox, "state", &[]);
    assert!(alive().0, "{}", alive().1);
    for (file, text, named) in [
        ("state/config.toml", "[x\n", "config.toml"),
        ("state/config.toml", "no_such_key = 1\n", "no_such_key"),
        ("state/net.json", "{", "net.json"),
        ("state/journal", "", "journal"),
        ("state/cache", "", "cache"),
    ] {
        let path = sandbox.path(file);
        let aside = sandbox.path("aside");
        let was_there = path.exists();
        if was_there {
            fs::rename(&path, &aside).unwrap();
        }
        write(&path, text);
        let (is_alive, told) = alive();
        assert!(!is_alive && told.contains(named), "{file}: {told}");
        fs::remove_file(&path).unwrap();
        if was_there {
            fs::rename(&aside, &path).unwrap();
        }
    }
    for (path, mode) in
        [("state", 0o777), ("state/hooks", 0o775), ("state/hooks/pre-push", 0o757), ("state/pins.json", 0o666)]
    {
        let path = sandbox.path(path);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let (is_alive, told) = alive();
        assert!(!is_alive && told.contains("chmod go-w"), "{}: {told}", path.display());
        fs::set_permissions(&path, before).unwrap();
    }
    assert!(alive().0);
}

#[test]
fn a_hooks_path_below_the_home_is_ours_however_it_is_spelled() {
    let sandbox = Sandbox::new();
    let state = sandbox.path("home/.tyran");
    let repo = sandbox.repo("work");
    let with_state = |args: &[&str]| {
        sandbox.tyran().env("TYRAN_STATE_DIR", &state).current_dir(&repo.dir).args(args).output().unwrap()
    };
    assert!(with_state(&["install", "git"]).status.success());
    for (spelled, is_ours) in
        [("~/.tyran/hooks", true), ("~/.tyran/hooks/", true), ("~/other", false), ("~root/.tyran/hooks", false)]
    {
        repo.git(&["config", "--global", "core.hooksPath", spelled]);
        let output = with_state(&["doctor", "net"]);
        assert_eq!(output.status.success(), is_ours, "{spelled}: {}", shown(&output));
    }
}

#[test]
fn no_row_of_tables_has_another_shape_than_is_read_here() {
    for Host { id, entry, .. } in &table().hosts {
        assert_eq!(entry::event_key(entry.shape).is_some(), entry.shape == EntryShape::Vibe, "{id}");
        assert_eq!(
            entry.user.as_deref().is_some_and(|file| file.ends_with(".toml")),
            entry.shape == EntryShape::Vibe,
            "{id}"
        );
        assert!(
            entry.user.is_none()
                || hosts::file(&Sandbox::new().world(""), table().host(id).unwrap(), Reach::User).is_some()
        );
    }
}
