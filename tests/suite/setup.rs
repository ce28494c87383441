//! Setup changes what it must and nothing else, twice is once, taking away gives back; and doctor
//! knows a live gate from a disarmed one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tyran::host::table::{EntryShape, Host, Table};
use tyran::install::hosts::{self, Reach};
use tyran::install::jsonc;
use tyran::install::{disarm, entry};

use super::support::{Sandbox, planted, shown};

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

fn user_file(sandbox: &Sandbox, host: &Host) -> Option<PathBuf> {
    hosts::file(&sandbox.world(""), host, Reach::User)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Every file below the sandbox's home, with its bytes.
fn files(sandbox: &Sandbox) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(folder: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.push((path.clone(), Vec::new()));
                walk(&path, all);
            } else {
                all.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    let mut all = Vec::new();
    walk(&sandbox.path("home"), &mut all);
    all.sort();
    all
}

fn is_json(host: &Host) -> bool {
    !entry::additions(host, Path::new("/tyran")).is_empty()
}

/// What the host's file held before: other tools' hooks, oddly laid out.
fn of_another(host: &Host) -> Option<String> {
    let (event, _) = host.registered().pop()?;
    let other = r#"{"type": "command", "command":"other-tool --host nobody",   "timeout":5 }"#;
    let grouped = format!(r#"{{ "matcher":"Bash","hooks": [{other}] }}"#);
    let comment = if host.entry.reads.is_none() { " // theirs" } else { "" };
    let text = match host.entry.shape {
        EntryShape::Claude | EntryShape::Goose => format!(
            "{{\r\n\t\"model\": \"x\",\t\"hooks\": {{\r\n\t\t\"Other\": [],\r\n\t\t\"{event}\": [ {grouped} ]\r\n\t}},\r\n\t\"z\": [1,2 , 3]}}"
        ),
        EntryShape::Root => format!("{{\"{event}\":[{grouped}],\n   \"Other\" : [ ]\n}}\n\n"),
        EntryShape::Antigravity => format!("{{\"other\":{{\"{event}\":[{grouped}]}}}}"),
        EntryShape::Flat
        | EntryShape::Cursor
        | EntryShape::Copilot
        | EntryShape::Crush
        | EntryShape::KiroAgent
        | EntryShape::Windsurf => format!(
            "{{\n    \"version\": 1,\n    \"hooks\": {{ \"{event}\": [{other}] }},{comment}\n    \"name\": \"default\"\n}}"
        ),
        EntryShape::Kiro => {
            format!("{{\"version\":\"v1\",\"hooks\":[\n  {{\"name\":\"other\",\"trigger\":\"{event}\"}}\n]}}")
        }
        EntryShape::Vibe => {
            "# theirs\n[[hooks]]\nevent   = 'pre_tool'\ncommand = \"other-tool\"   # kept\n\n[other]\nx=1\n".to_owned()
        }
        EntryShape::Script | EntryShape::Plugin | EntryShape::AmpPlugin => return None,
    };
    Some(text)
}

#[test]
fn no_two_hosts_share_a_file() {
    let table = table();
    for reach in [|host: &Host| host.entry.user.clone(), |host: &Host| host.entry.project.clone()] {
        let mut files: Vec<String> = table.hosts.iter().filter_map(reach).collect();
        let count = files.len();
        files.sort();
        files.dedup();
        assert_eq!(files.len(), count);
    }
}

#[test]
fn every_file_that_holds_an_entry_is_guarded_against_the_agent() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("elsewhere");
    for host in &table().hosts {
        let entry = &host.entry;
        let xdg = entry.xdg.then_some("XDG_CONFIG_HOME");
        let variables = [entry.moved_by.as_deref(), entry.home_by.as_deref(), xdg];
        let worlds = std::iter::once(None).chain(variables.into_iter().flatten().map(Some)).map(|name| {
            let mut world = sandbox.world("");
            world.env.extend(name.map(|name| (name.into(), elsewhere.clone().into())));
            world
        });
        for world in worlds {
            let named = entry.off.iter().map(|off| &off.file).chain(&entry.also).chain(&entry.trust);
            let other = named.filter_map(|named| hosts::expanded(&world, host, &named.replace('*', "some")));
            let own = [Reach::User, Reach::Project].into_iter().filter_map(|reach| hosts::file(&world, host, reach));
            for file in own.chain(other) {
                assert!(tyran::command::tamper::written(&world, &file).is_some(), "{}: {}", host.id, file.display());
            }
        }
    }
}

#[test]
fn every_host_is_put_in_place_once_and_taken_away_again() {
    for host in table().hosts.iter().filter(|host| host.entry.user.is_some()) {
        if host.entry.shape == EntryShape::KiroAgent {
            continue; // Its file must be there: the test below.
        }
        let sandbox = Sandbox::new();
        let before = files(&sandbox);
        done(&sandbox, &["install", &host.id]);
        let file = user_file(&sandbox, host).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(env!("CARGO_BIN_EXE_tyran")), "{}: {text}", host.id);
        if is_json(host) {
            let value = jsonc::value(&text).unwrap();
            assert_eq!(entry::found(host, &value).len(), host.registered().len(), "{}: {text}", host.id);
            serde_json::from_str::<Value>(&text).unwrap();
        }
        let then = files(&sandbox);
        assert!(done(&sandbox, &["install", &host.id]).contains("nothing was changed"));
        assert_eq!(files(&sandbox), then, "{}", host.id);
        done(&sandbox, &["uninstall", &host.id]);
        assert_eq!(files(&sandbox), before, "{}", host.id);
    }
}

#[test]
fn other_tools_entries_stay_byte_for_byte() {
    for host in &table().hosts {
        let (Some(theirs), Some(_)) = (of_another(host), &host.entry.user) else { continue };
        let sandbox = Sandbox::new();
        let file = user_file(&sandbox, host).unwrap();
        write(&file, &theirs);
        let before = files(&sandbox);
        done(&sandbox, &["install", &host.id]);
        let with = fs::read_to_string(&file).unwrap();
        let calls = hosts::calls(host, &file, with.as_bytes()).unwrap();
        assert_eq!(calls.len(), host.registered().len(), "{}: {with}", host.id);
        // What was there is still there, in order: our additions are all that was put between.
        let mut rest = with.chars();
        assert!(theirs.chars().all(|wanted| rest.any(|found| found == wanted)), "{}: {with}", host.id);
        done(&sandbox, &["install", &host.id]);
        assert_eq!(fs::read_to_string(&file).unwrap(), with, "{}", host.id);
        done(&sandbox, &["uninstall", &host.id]);
        assert_eq!(files(&sandbox), before, "{}", host.id);

        // Edited since: only ours goes.
        done(&sandbox, &["install", &host.id]);
        let edited = format!("{}\n\n", fs::read_to_string(&file).unwrap());
        write(&file, &edited);
        done(&sandbox, &["uninstall", &host.id]);
        let left = fs::read_to_string(&file).unwrap();
        assert!(hosts::calls(host, &file, left.as_bytes()).unwrap().is_empty(), "{}: {left}", host.id);
        if is_json(host) {
            let mut value = jsonc::value(&left).unwrap();
            if let Some(map) = value.as_object_mut() {
                map.retain(|key, _| key != "tyran");
            }
            assert_eq!(value, jsonc::value(&theirs).unwrap(), "{}: {left}", host.id);
        }
    }
}

#[test]
fn what_was_added_between_two_setups_is_given_back_too() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.claude/settings.json");
    write(&file, "{}");
    done(&sandbox, &["install", "claude"]);
    let edited =
        fs::read_to_string(&file).unwrap().replacen('{', "{\"model\": \"mine\",", 1).replace("\"50\"", "\"9\"");
    write(&file, &edited);
    done(&sandbox, &["install", "claude"]);
    assert!(fs::read_to_string(&file).unwrap().contains("\"50\""));
    done(&sandbox, &["uninstall", "claude"]);
    assert!(fs::read_to_string(&file).unwrap().contains("\"mine\""));
}

#[test]
fn a_file_that_cannot_be_read_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    for (host, file, text) in [
        ("claude", "home/.claude/settings.json", "{\"hooks\": {"),
        ("claude", "home/.claude/settings.json", "{\"hooks\": 7}"),
        ("claude", "home/.claude/settings.json", "[]"),
        ("vibe", "home/.vibe/hooks.toml", "hooks = 'none'\n"),
        ("cline", "home/.cline/hooks/PreToolUse", "#!/bin/sh\nother-tool\n"),
        ("opencode", "home/.config/opencode/plugins/tyran.js", "export default 1\n"),
    ] {
        let file = sandbox.path(file);
        write(&file, text);
        let output = tyran(&sandbox, &["install", host]);
        assert_eq!(output.status.code(), Some(3), "{host}: {}", shown(&output));
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn setup_finds_hosts_shows_first_and_asks() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("home/.claude")).unwrap();
    fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    let before = files(&sandbox);
    let shown_first = done(&sandbox, &["setup", "--dry-run"]);
    assert!(
        shown_first.contains(".claude/settings.json") && shown_first.contains(".codex/hooks.json"),
        "{shown_first}"
    );
    assert!(!shown_first.contains(".gemini"), "{shown_first}");
    assert_eq!(files(&sandbox), before);
    let unasked = sandbox.tyran().arg("setup").stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(unasked.status.code(), Some(2), "{}", shown(&unasked));
    assert_eq!(files(&sandbox), before);
    let first = done(&sandbox, &["setup", "--yes"]);
    assert!(first.contains("/hooks"), "codex must be told to trust: {first}");
    let pins = sandbox.path("state/pins.json");
    assert_eq!(fs::metadata(&pins).unwrap().permissions().mode() & 0o777, 0o600);
    let then = files(&sandbox);
    done(&sandbox, &["setup", "--yes"]);
    assert_eq!(files(&sandbox), then);
    done(&sandbox, &["uninstall", "--all"]);
    assert_eq!(files(&sandbox), before);
    assert!(!pins.exists());
}

#[test]
fn a_host_that_keeps_its_files_elsewhere_is_followed_there() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let output = sandbox.tyran().env("CLAUDE_CONFIG_DIR", &elsewhere).args(["setup", "--yes"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    assert!(elsewhere.join("settings.json").exists(), "{}", shown(&output));
    assert!(!sandbox.path("home/.claude").exists());
}

#[test]
fn setup_for_a_project_writes_there_alone() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let before = files(&sandbox);
    done(&sandbox, &["setup", "claude", "--project", "--yes", "-C", repo.dir.to_str().unwrap()]);
    assert!(repo.dir.join(".claude/settings.json").exists());
    assert_eq!(files(&sandbox), before);
}

/// What doctor says of one route.
fn diagnosed(sandbox: &Sandbox, route: &str) -> (String, String) {
    let output = tyran(sandbox, &["doctor", "--format", "json", route]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
    assert_eq!(output.status.code(), Some(i32::from(value["alive"] != Value::Bool(true))), "{}", shown(&output));
    let routes = value["routes"].as_array().unwrap();
    let found = routes.iter().find(|found| found["route"] == route).unwrap_or_else(|| panic!("{}", shown(&output)));
    (found["state"].as_str().unwrap().to_owned(), found["what"].to_string())
}

/// Says to Codex that its first pre-tool entry is trusted, as its own /hooks does.
fn trust(sandbox: &Sandbox) {
    let file = sandbox.path("home/.codex/hooks.json");
    let value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let group = &value["hooks"]["PreToolUse"][0];
    let hash = disarm::trusted_hash("PreToolUse", group, &group["hooks"][0]);
    let key = format!("{}:pre_tool_use:0:0", file.display());
    write(&sandbox.path("home/.codex/config.toml"), &format!("[hooks.state.{key:?}]\ntrusted_hash = {hash:?}\n"));
}

#[test]
fn trust_is_recorded_as_codex_records_it() {
    // What `hooks/list` of Codex CLI 0.171.0 answered for these entries.
    let group = serde_json::json!({"matcher": "^(Bash|apply_patch|mcp__.*)$", "hooks": [
        {"type": "command", "command": "/bin/sh -c 'exit \"$1\" \u{e9}' x", "timeout": 60}]});
    assert_eq!(
        disarm::trusted_hash("PreToolUse", &group, &group["hooks"][0]),
        "sha256:0187419bbf30cf13aa8844e9301657e952644d57e9a88d69ded387886d312f7c"
    );
    let group = serde_json::json!({"hooks": [{"type": "command", "command": "other"}]});
    assert_eq!(
        disarm::trusted_hash("PreToolUse", &group, &group["hooks"][0]),
        "sha256:b8a89c77833b69fac43e777edfe3be78e8cc430673b510a2bfd971d3fc7aa421"
    );
}

#[test]
fn an_entry_that_codex_does_not_trust_is_named() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "codex"]);
    let (state, what) = diagnosed(&sandbox, "codex");
    assert!(state == "broken" && what.contains("is not trusted") && what.contains("/hooks"), "{state} {what}");
    trust(&sandbox);
    assert_eq!(diagnosed(&sandbox, "codex").0, "alive");
    let file = sandbox.path("home/.codex/hooks.json");
    let good = fs::read_to_string(&file).unwrap();
    let other = "{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]},";
    for (changed, named) in [
        (good.replacen("\"timeout\": 60", "\"timeout\": 59", 1), "was changed, or moved"),
        (good.replacen("\"PreToolUse\": [", &format!("\"PreToolUse\": [{other}"), 1), "is not trusted"),
    ] {
        assert_ne!(changed, good);
        write(&file, &changed);
        let (state, what) = diagnosed(&sandbox, "codex");
        assert!(state == "broken" && what.contains(named), "{named}: {state} {what}");
    }
    write(&file, &good);
    let config = sandbox.path("home/.codex/config.toml");
    let trusting = fs::read_to_string(&config).unwrap();
    for (text, named) in [
        (format!("{trusting}enabled = false\n"), "switched off"),
        (format!("{trusting}[features]\nhooks = false\n"), "features.hooks"),
        (format!("{trusting}[features\n"), "config.toml"),
    ] {
        write(&config, &text);
        let (state, what) = diagnosed(&sandbox, "codex");
        assert!(state == "broken" && what.contains(named), "{named}: {state} {what}");
    }
}

/// Doctor's word on a host after a change of one of its files, which is then taken back.
fn sabotaged(sandbox: &Sandbox, host: &str, file: &str, text: &str) -> (String, String) {
    let file = sandbox.path(file);
    let before = fs::read(&file).ok();
    write(&file, text);
    let told = diagnosed(sandbox, host);
    match before {
        Some(bytes) => fs::write(&file, bytes).unwrap(),
        None => fs::remove_file(&file).unwrap(),
    }
    told
}

#[test]
fn settings_of_every_host_that_switch_hooks_off_are_named() {
    let sandbox = Sandbox::new();
    done(
        &sandbox,
        &["setup", "--yes", "claude", "gemini", "qwen", "copilot", "cursor", "droid", "cline", "opencode", "kilo"],
    );
    let now = |file: &str| fs::read_to_string(sandbox.path(file)).unwrap();
    let with = |file: &str, from: &str, to: &str| {
        let text = now(file);
        assert!(text.contains(from), "{file}: {text}");
        text.replacen(from, to, 1)
    };
    let (gemini, qwen) = ("home/.gemini/settings.json", "home/.qwen/settings.json");
    let (cursor, copilot) = ("home/.cursor/hooks.json", "home/.copilot/hooks/tyran.json");
    let (droid, claude) = ("home/.factory/hooks.json", "home/.claude/settings.json");
    let open = "{\n";
    for (host, file, text, named) in [
        ("gemini", gemini, with(gemini, open, "{\n\"hooksConfig\": {\"enabled\": false},\n"), "hooksConfig.enabled"),
        (
            "gemini",
            gemini,
            with(gemini, open, "{\n\"hooksConfig\": {\"disabled\": [\"tyran\"]},\n"),
            "hooksConfig.disabled",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "{\"hooksConfig\": {\"enabled\": false}}".to_owned(),
            "hooksConfig.enabled",
        ),
        ("gemini", gemini, with(gemini, "run_shell_command|", ""), "does not cover run_shell_command"),
        ("gemini", gemini, with(gemini, "^(run", "^((run"), "does not cover run_shell_command"),
        ("qwen", ".qwen/settings.json", "{\"disableAllHooks\": true}".to_owned(), "disableAllHooks"),
        (
            "qwen",
            qwen,
            with(qwen, "run_shell_command|monitor", "exec_command"),
            "does not cover run_shell_command, monitor",
        ),
        ("copilot", ".github/copilot/settings.json", "{\"disableAllHooks\": true}".to_owned(), "disableAllHooks"),
        ("copilot", copilot, with(copilot, "\"hooks\": {", "\"hooks\": {\"noSuchEvent\": [],"), "no event of"),
        (
            "copilot",
            copilot,
            with(copilot, "\"hooks\": {", "\"hooks\": {\"postToolUseFailure\": \"oops\","),
            "malformed",
        ),
        ("copilot", copilot, with(copilot, "\"version\": 1", "\"version\": 0"), "version"),
        ("cursor", cursor, with(cursor, "\"hooks\": {", "\"hooks\": {\"stop\": [{\"command\": 7}],"), "malformed"),
        ("cursor", cursor, with(cursor, "\"failClosed\": true", "\"failClosed\": false"), "failClosed"),
        (
            "cursor",
            cursor,
            with(cursor, "\"failClosed\": true", "\"failClosed\": true, \"matcher\": \"git\""),
            "has no place",
        ),
        ("droid", "home/.factory/settings.json", "{\"hooksDisabled\": true}".to_owned(), "hooksDisabled"),
        ("droid", droid, with(droid, open, "{\n\"NoSuchEvent\": [],\n"), "no event of"),
        ("claude", claude, with(claude, "\"type\"", "\"if\": \"Bash(git *)\", \"type\""), "describes"),
        ("claude", claude, with(claude, "\"onFailure\"", "\"once\": true, \"onFailure\""), "first time alone"),
        ("claude", ".claude/settings.local.json", "{\"disableAllHooks\": true}".to_owned(), "disableAllHooks"),
        (
            "cline",
            "home/.cline/hooks/PreToolUse",
            now("home/.cline/hooks/PreToolUse").replacen("#!/bin/sh\n", "", 1),
            "does not begin",
        ),
    ] {
        let (state, what) = sabotaged(&sandbox, host, file, &text);
        // The matcher and field of Claude's first entry are those of its session start.
        let expected = if host == "claude" && named == "describes" { "alive" } else { "broken" };
        assert!(expected == "alive" || (state == "broken" && what.contains(named)), "{host} {named}: {state} {what}");
    }
    for (name, host) in [("CLAUDE_CODE_SIMPLE", "claude"), ("OPENCODE_PURE", "opencode"), ("KILO_PURE", "kilo")] {
        let output = sandbox.tyran().env(name, "1").args(["doctor", "--format", "json", host]).output().unwrap();
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(&format!("{name} is set")),
            "{host}: {}",
            shown(&output)
        );
    }
    assert_eq!(diagnosed(&sandbox, "cursor").0, "alive");
    let real = sandbox.path("home/elsewhere.json");
    fs::rename(sandbox.path(cursor), &real).unwrap();
    std::os::unix::fs::symlink(&real, sandbox.path(cursor)).unwrap();
    assert!(diagnosed(&sandbox, "cursor").1.contains("symbolic link"));
}

#[test]
fn a_host_too_old_for_its_switch_is_named_where_it_can_be_asked() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "claude"]);
    let told = |said: &str| {
        let program = sandbox.path("bin/claude");
        write(&program, &format!("#!/bin/sh\n{said}\n"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let output = sandbox.tyran().env("PATH", path).args(["doctor", "--format", "json", "claude"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(told("echo '2.1.197 (Claude Code)'").contains("2.1.197"));
    for fine in ["echo '2.1.332 (Claude Code)'", "echo 3.0.0", "exit 1", "echo soon"] {
        assert!(!told(fine).contains("does not know"), "{fine}");
    }
}

#[test]
fn a_hook_that_may_overrule_ours_is_told_of_and_breaks_nothing() {
    let sandbox = Sandbox::new();
    for (host, file, says) in
        [("claude", "home/.claude/settings.json", "may rewrite"), ("qwen", "home/.qwen/settings.json", "may approve")]
    {
        let other = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"other\"}]}]}}\n";
        write(&sandbox.path(file), other);
        done(&sandbox, &["setup", "--yes", host]);
        let (state, what) = diagnosed(&sandbox, host);
        assert!(state == "alive" && what.contains("net only") && what.contains(says), "{host}: {state} {what}");
    }
}

#[test]
fn doctor_tries_every_kind_of_host() {
    let sandbox = Sandbox::new();
    let all: Vec<String> =
        table().hosts.iter().filter(|host| host.entry.user.is_some()).map(|host| host.id.clone()).collect();
    write(&sandbox.path("home/.kiro/agents/default.json"), "{\"name\": \"default\"}\n");
    let mut args = vec!["setup", "--yes"];
    args.extend(all.iter().map(String::as_str));
    done(&sandbox, &args);
    trust(&sandbox);
    let output = tyran(&sandbox, &["doctor"]);
    assert!(output.status.success(), "{}", shown(&output));
    for host in &all {
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(&format!("{host:<12} alive")),
            "{host}: {}",
            shown(&output)
        );
    }
}

#[test]
fn doctor_names_what_disarms_a_gate() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "claude"]);
    let file = sandbox.path("home/.claude/settings.json");
    let good = fs::read_to_string(&file).unwrap();
    assert_eq!(diagnosed(&sandbox, "claude").0, "alive");
    let program = env!("CARGO_BIN_EXE_tyran");
    let script = sandbox.path("home/yes");
    write(&script, "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (sabotage, named) in [
        (good.replacen('{', "{\"disableAllHooks\": true,", 1), "disableAllHooks"),
        (good.replace(program, "/nowhere/tyran"), "not there or not executable"),
        (good.replace(program, "tyran"), "not an absolute path"),
        (good.replace(program, script.to_str().unwrap()), "was not refused"),
        (good.replace("Bash|PowerShell|Monitor", "bash"), "does not cover Bash"),
        (good.replace("\"onFailure\"", "\"onfailure\""), "onFailure"),
        (good.replace("\"timeout\": 60", "\"timeout\": 1"), "gives up after 1 seconds"),
        (good.replace("PreSkillShellCommand", "Other"), "no entry at PreSkillShellCommand"),
        (good.replacen('{', "{{", 1), "not JSON"),
        (good.replacen("\"type\"", "\"async\": true, \"type\"", 2), "does not wait"),
    ] {
        assert_ne!(sabotage, good, "{named}");
        write(&file, &sabotage);
        let (state, what) = diagnosed(&sandbox, "claude");
        assert!(state == "broken" && what.contains(named), "{named}: {state} {what}");
    }
    fs::remove_file(&file).unwrap();
    assert!(diagnosed(&sandbox, "claude").1.contains("gone"));
}

#[test]
fn a_timeout_in_the_wrong_unit_is_named() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "gemini"]);
    let file = sandbox.path("home/.gemini/settings.json");
    write(&file, &fs::read_to_string(&file).unwrap().replace("60000", "60"));
    let (state, what) = diagnosed(&sandbox, "gemini");
    assert!(state == "broken" && what.contains("60 milliseconds"), "{state} {what}");
}

#[test]
fn a_net_that_was_cut_is_named() {
    let sandbox = Sandbox::new();
    done(&sandbox, &["setup", "--yes", "claude"]);
    assert_eq!(diagnosed(&sandbox, "net").0, "alive");
    done(&sandbox, &["uninstall", "git"]);
    assert_eq!(diagnosed(&sandbox, "net").0, "broken");
}

/// A git of the sandbox's own, first on PATH.
fn own_git(sandbox: &Sandbox) -> (PathBuf, String) {
    let real = tyran::world::look_up("git".as_ref(), std::env::var_os("PATH").as_deref(), Path::new("/")).unwrap();
    let git = sandbox.path("bin/git");
    write(&git, &format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display()));
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", git.parent().unwrap().display(), std::env::var("PATH").unwrap());
    (git, path)
}

#[test]
fn a_git_that_is_not_as_recorded_stops_gate_and_net() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("notes.txt", "nothing\n");
    let (git, path) = own_git(&sandbox);
    let with = |args: &[&str]| sandbox.tyran().env("PATH", &path).current_dir(&repo.dir).args(args).output().unwrap();
    let output = with(&["setup", "--yes", "claude"]);
    assert!(output.status.success(), "{}", shown(&output));
    // PATH does not matter any more: the recorded one is run.
    let push =
        || sandbox.command("git").current_dir(&repo.dir).args(["push", "-q", "origin", "main"]).output().unwrap();
    let gate = || {
        let claude = table();
        let event = tyran::install::trial::event(
            claude.host("claude").unwrap(),
            "PreToolUse",
            "git push origin main",
            &repo.dir,
        );
        let input = sandbox.path("event.json");
        write(&input, &event.to_string());
        let input = fs::File::open(input).unwrap();
        sandbox.tyran().args(["gate", "--host", "claude", "--deadline", "50"]).stdin(input).output().unwrap()
    };
    let passed = gate();
    assert_eq!(passed.status.code(), Some(0), "{}", shown(&passed));
    write(&git, &format!("{}# changed\n", fs::read_to_string(&git).unwrap()));
    let refused = gate();
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("tyran setup"), "{}", shown(&refused));
    let pushed = push();
    assert!(!pushed.status.success(), "{}", shown(&pushed));
    assert_eq!(sandbox.git("work.git", &["for-each-ref"]), "");
    let (state, what) = diagnosed(&sandbox, "git");
    assert!(state == "broken" && what.contains("not as it was recorded"), "{state} {what}");
    let again = with(&["setup", "--yes", "claude"]);
    assert!(again.status.success(), "{}", shown(&again));
    assert!(push().status.success());
}

#[test]
fn a_cline_script_without_its_program_cancels() {
    let sandbox = Sandbox::new();
    let copy = sandbox.path("bin/tyran");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    sandbox.copy_of_tyran(&copy);
    let output = sandbox.command(&copy).args(["install", "cline"]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    fs::remove_file(&copy).unwrap();
    let script = sandbox.path("home/.cline/hooks/PreToolUse");
    let answer = sandbox.command("bash").arg(script).output().unwrap();
    let value: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(value["cancel"], Value::Bool(true));
    assert_eq!(diagnosed(&sandbox, "cline").0, "broken");
}

/// Text of an entry that kills what is late, with a second for its time; `None` where the system has no `timeout`.
fn impatient(text: &str) -> Option<String> {
    if !Path::new("/usr/bin/timeout").exists() {
        eprintln!("skipped: this system has no /usr/bin/timeout");
        return None;
    }
    let (before, rest) = text.split_once("-s KILL ").expect("nothing in the entry watches");
    Some(format!("{before}-s KILL 1{}", rest.trim_start_matches(|letter: char| letter.is_ascii_digit())))
}

#[test]
fn a_program_that_never_answers_is_a_refusal() {
    let sandbox = Sandbox::new();
    let copy = sandbox.path("bin/tyran");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    sandbox.copy_of_tyran(&copy);
    let output =
        sandbox.command(&copy).args(["install", "cline", "codex", "gemini", "qwen", "copilot", "droid"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    fs::remove_file(&copy).unwrap();
    write(&copy, "#!/bin/sh\nsleep 600\n");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let script = fs::read_to_string(sandbox.path("home/.cline/hooks/PreToolUse")).unwrap();
    let Some(script) = impatient(&script) else { return };
    let answer = sandbox.command("sh").args(["-c", &script]).output().unwrap();
    let value: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(value["cancel"], Value::Bool(true), "{}", shown(&answer));
    for settings in [
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".qwen/settings.json",
        ".factory/hooks.json",
        ".copilot/hooks/tyran.json",
    ] {
        let path = sandbox.path("home").join(settings);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value: Value = serde_json::from_str(&text).unwrap();
        let call = call_of_gate(&value).unwrap_or_else(|| panic!("{settings}: {text}"));
        let output = sandbox.command("sh").args(["-c", &impatient(&call).unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{settings}: {}", shown(&output));
        assert!(shown(&output).contains("gave no answer"), "{settings}: {}", shown(&output));
    }
}

/// The first text in settings that calls the gate before a tool.
fn call_of_gate(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains("KILL") && text.contains(" gate ") => Some(text.clone()),
        Value::Array(list) => list.iter().find_map(call_of_gate),
        Value::Object(keys) => keys.values().find_map(call_of_gate),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Runs a plugin's handler in node with a command; standard output is what became of it.
fn handled(sandbox: &Sandbox, module: &Path, driver: &str) -> Option<String> {
    let node = tyran::world::look_up("node".as_ref(), std::env::var_os("PATH").as_deref(), Path::new("/"))?;
    let copy = sandbox.path("module.mjs");
    fs::copy(module, &copy).unwrap();
    let script = sandbox.path("driver.mjs");
    write(&script, driver);
    let output = sandbox.command(node).arg(script).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn plugins_refuse_in_their_hosts_own_way() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("notes.txt", "nothing\n");
    repo.git(&["checkout", "-q", "-b", "planted"]);
    repo.commit("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(11)));
    let dir = Value::from(repo.dir.to_str().unwrap());
    done(&sandbox, &["install", "opencode", "amp"]);
    let opencode = format!(
        r#"import {{ Tyran }} from "./module.mjs"
const handler = (await Tyran({{ directory: {dir} }}))["tool.execute.before"]
for (const branch of ["main", "planted"]) {{
  try {{
    await handler({{ tool: "bash", sessionID: "s", callID: "c" }}, {{ args: {{ command: "git push origin " + branch }} }})
    console.log("ran")
  }} catch (error) {{ console.log(error.message.includes("app.env") ? "refused" : error.message) }}
}}
"#
    );
    let module = sandbox.path("home/.config/opencode/plugins/tyran.js");
    let Some(answer) = handled(&sandbox, &module, &opencode) else {
        eprintln!("skipped: no node here");
        return;
    };
    assert_eq!(answer, "ran\nrefused");
    let amp = format!(
        r#"import plugin from "./module.mjs"
let handler
plugin({{ on: (_, given) => (handler = given), helpers: {{ shellCommandFromToolCall: () => ({{ dir: {dir} }}) }} }})
for (const branch of ["main", "planted"]) {{
  const answer = await handler({{ toolUseID: "t", tool: "shell_command", input: {{ command: "git push origin " + branch }}, thread: {{ id: "i" }} }})
  console.log(answer.action)
}}
"#
    );
    let module = sandbox.path("home/.config/amp/plugins/tyran.ts");
    assert_eq!(handled(&sandbox, &module, &amp).unwrap(), "allow\nreject-and-continue");
    // Without its program it refuses as well.
    let text = fs::read_to_string(&module).unwrap().replace(env!("CARGO_BIN_EXE_tyran"), "/nowhere/tyran");
    write(&module, &text);
    assert_eq!(handled(&sandbox, &module, &amp).unwrap(), "reject-and-continue\nreject-and-continue");
}

/// The folders under `hooks/` follow from the table. TYRAN_WRITE_LAYOUTS=1 writes them anew.
#[test]
fn plugin_layouts_are_as_the_table_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let layouts = tyran::install::layout::files(&table());
    assert!(layouts.len() >= 15);
    for (path, text) in layouts {
        let path = root.join(path);
        if std::env::var_os("TYRAN_WRITE_LAYOUTS").is_some() {
            write(&path, &text);
        }
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "{}", path.display());
        if path.extension().is_some_and(|extension| extension == "json") {
            serde_json::from_str::<Value>(&text).unwrap();
        } else if let Some(node) = tyran::world::look_up("node".as_ref(), std::env::var_os("PATH").as_deref(), root) {
            let module = std::env::temp_dir().join(format!("tyran-layout-{}.mjs", std::process::id()));
            fs::write(&module, &text).unwrap();
            let checked = std::process::Command::new(node).arg("--check").arg(&module).output().unwrap();
            fs::remove_file(&module).unwrap();
            assert!(checked.status.success(), "{}: {}", path.display(), shown(&checked));
            assert!(text.contains("new URL(\"./bin/tyran\", import.meta.url)"), "{text}");
        }
    }
}

#[test]
fn hosts_are_listed_with_what_was_established() {
    let sandbox = Sandbox::new();
    let value: Value = serde_json::from_str(&done(&sandbox, &["hosts", "--format", "json"])).unwrap();
    let rows = value["hosts"].as_array().unwrap();
    assert_eq!(rows.len(), table().hosts.len());
    assert!(rows.iter().all(|row| row["verified"]["expired"].is_boolean()));
    assert!(done(&sandbox, &["hosts"]).contains("Claude Code"));
}

#[test]
fn json_with_comments_keeps_every_byte_around_a_change() {
    let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    for text in [
        "{}",
        "{ }\n",
        "{\n  // nothing\n}",
        "{\"a\":1}",
        "{\"a\":1,}",
        "{ \"hooks\": {\"E\": []} }",
        "{ \"hooks\": {\"E\": [ /* none */ ], } }",
        "\u{feff}{\"hooks\":{\"E\":[{\"x\":\"}]\\\"\"},],\"F\":[1]}}",
    ] {
        let element = serde_json::json!({"ours": true});
        let added = jsonc::append(text, &path(&["hooks", "E"]), &element).unwrap();
        let value = jsonc::value(&added).unwrap();
        assert_eq!(value["hooks"]["E"].as_array().unwrap().last(), Some(&element), "{added}");
        let mut rest = added.chars();
        assert!(text.chars().all(|wanted| rest.any(|found| found == wanted)), "{added}");
        let cut = jsonc::take_out(&added, &|value| value.get("ours").is_some()).unwrap();
        assert!(!cut.contains("ours"), "{cut}");
    }
    for text in ["{", "{\"a\" 1}", "{\"a\":}", "[1 2]", "{} x", "/* open", "{\"a\":01}", "nul"] {
        assert!(jsonc::append(text, &path(&["hooks"]), &Value::Null).is_err(), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(jsonc::value(&deep).is_err());
}

/// The calls of a host's entry that can refuse, as they stand in its file.
fn refusing_calls(sandbox: &Sandbox, host: &Host) -> Vec<entry::Call> {
    let file = user_file(sandbox, host).unwrap();
    let found = hosts::calls(host, &file, &fs::read(&file).unwrap()).unwrap();
    let can_refuse = |event: &str| host.events.slot(event).is_some_and(|slot| slot.can_refuse());
    found.into_iter().filter(|found| can_refuse(&found.event)).map(|found| found.call).collect()
}

#[test]
fn an_entry_whose_program_is_gone_or_dies_refuses_on_hosts_that_would_let_it_run() {
    use std::process::Stdio;
    use tyran::host::table::{EntryForm, FailPolicy};

    let sandbox = Sandbox::new();
    let program = sandbox.path("bin dir/tyran");
    write(&program, "");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    write(&sandbox.path("home/.kiro/agents/default.json"), "{\"name\": \"default\"}\n");
    let shells: Vec<PathBuf> = ["sh", "bash", "dash", "zsh", "fish"]
        .iter()
        .filter_map(|name| tyran::world::look_up(name.as_ref(), std::env::var_os("PATH").as_deref(), Path::new("/")))
        .collect();
    let mut tried = 0;
    for host in &table().hosts {
        let is_open = host.failure.policy == FailPolicy::Open && host.failure.switch_key.is_none();
        if host.entry.user.is_none() || host.entry.form != EntryForm::Shell || !is_open || !is_json(host) {
            continue;
        }
        fs::remove_file(&program).unwrap();
        sandbox.copy_of_tyran(&program);
        let output = sandbox.command(&program).args(["install", &host.id]).output().unwrap();
        assert!(output.status.success(), "{}: {}", host.id, shown(&output));
        for call in refusing_calls(&sandbox, host) {
            assert_eq!(call.program().as_deref(), program.to_str(), "{}", host.id);
            let entry::Call::Line(line) = &call else { panic!("{}: {call:?}", host.id) };
            for text in
                [None, Some("#!/bin/sh\nkill -9 $$\n"), Some("#!/bin/sh\nexit 101\n"), Some("#!/bin/sh\nexit 1\n")]
            {
                fs::remove_file(&program).unwrap();
                if let Some(text) = text {
                    write(&program, text);
                    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
                }
                for shell in &shells {
                    let output = sandbox.command(shell).arg("-c").arg(line).stdin(Stdio::null()).output().unwrap();
                    assert_eq!(output.status.code(), Some(2), "{} {text:?} {}", host.id, shown(&output));
                    assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{}: {}", host.id, shown(&output));
                }
                write(&program, "");
            }
            // What tyran says is not touched, whatever it is.
            for (code, text) in [(0, "printf '{}'"), (2, "printf reason >&2; exit 2")] {
                write(&program, &format!("#!/bin/sh\n{text}\n"));
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
                let output = sandbox.command("sh").arg("-c").arg(line).stdin(Stdio::null()).output().unwrap();
                let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
                assert_eq!(
                    (output.status.code(), said.as_slice()),
                    (Some(code), if code == 0 { &b"{}"[..] } else { b"reason" })
                );
            }
            tried += 1;
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn a_setup_that_cannot_write_or_is_killed_leaves_whole_files_and_can_be_run_again() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("home/.claude/settings.json");
    let theirs = format!("{{\n  \"model\": \"kept by hand\",\n  \"note\": \"{}\"\n}}\n", "long ".repeat(700));
    write(&file, &theirs);
    write(&sandbox.path("home/.gitconfig"), "[user]\n\tname = A\n");
    let before = files(&sandbox);
    // A limit on the size of files stands for a full disk: the write past it ends the process.
    for blocks in [0, 1, 2, 3, 4, 6, 8] {
        let mut limited = sandbox.command("bash");
        let script = format!("ulimit -c 0; ulimit -f {blocks}; exec \"$0\" setup --yes claude");
        let output = limited.args(["-c", &script, env!("CARGO_BIN_EXE_tyran")]).output().unwrap();
        let now = fs::read_to_string(&file).unwrap();
        let is_whole = now == theirs || jsonc::value(&now).is_ok_and(|value| value["hooks"]["PreToolUse"].is_array());
        assert!(is_whole && now.contains("kept by hand"), "{blocks}: {now}\n{}", shown(&output));
    }
    done(&sandbox, &["setup", "--yes", "claude"]);
    assert_eq!(diagnosed(&sandbox, "claude").0, "alive");
    done(&sandbox, &["uninstall", "--all"]);
    let left: Vec<_> = files(&sandbox)
        .into_iter()
        .filter(|(path, _)| !path.file_name().unwrap().to_string_lossy().starts_with(".tmp"))
        .collect();
    assert_eq!(left, before);
}

#[test]
fn a_file_that_its_host_would_not_read_is_not_called_in_place() {
    let sandbox = Sandbox::new();
    for (host, file, text, fine) in [
        ("claude", "home/.claude/settings.json", "{\n  // mine\n  \"model\": \"x\"\n}\n", false),
        ("claude", "home/.claude/settings.json", "{\n  \"model\": \"x\",\n}\n", false),
        ("claude", "home/.claude/settings.json", "{\n  \"url\": \"https://x/*,}\"\n}\n", true),
        ("claude", "home/.claude/settings.json", "\u{feff}{}", true),
        ("codex", "home/.codex/hooks.json", "\u{feff}{}", false),
        ("copilot", "home/.copilot/hooks/tyran.json", "/* x */ {}", false),
        ("gemini", "home/.gemini/settings.json", "{ /* x */ }", true),
        ("gemini", "home/.gemini/settings.json", "{\"a\": [1, ]}", false),
        ("qwen", "home/.qwen/settings.json", "// x\n{}", true),
    ] {
        let file = sandbox.path(file);
        write(&file, text);
        let output = tyran(&sandbox, &["install", host]);
        assert_eq!(output.status.success(), fine, "{host} {text:?}: {}", shown(&output));
        if fine {
            done(&sandbox, &["uninstall", host]);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{host}");
        fs::remove_file(&file).unwrap();
    }
    done(&sandbox, &["setup", "--yes", "claude"]);
    let file = "home/.claude/settings.json";
    let text = format!("// later\n{}", fs::read_to_string(sandbox.path(file)).unwrap());
    let (state, what) = sabotaged(&sandbox, "claude", file, &text);
    assert!(state == "broken" && what.contains("a comment"), "{state} {what}");
}
