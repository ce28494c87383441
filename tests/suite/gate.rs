//! The gate: one event in, exactly one answer out, whatever goes wrong.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tyran::host::emit::{Answer, Decision, compose};
use tyran::host::event::{self, Call};
use tyran::host::table::{Host, Shape, ShellState, Table, TableFault};
use tyran::install::trial;
use tyran::text::SafeText;
use tyran::verdict::Class;

use super::support::{Repo, Sandbox, planted, shared, shown};

fn table() -> Table {
    Table::builtin().unwrap()
}

/// Feeds an event to a gate.
pub fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A gate that refuses its own arguments need not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn gate(sandbox: &Sandbox, host: &str, input: &[u8]) -> Output {
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", host, "--deadline", "20"]);
    fed(command, input)
}

fn claude_event(dir: &Path, command: &str) -> Vec<u8> {
    json!({"session_id": "s", "cwd": dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
           "tool_input": {"command": command}})
    .to_string()
    .into_bytes()
}

/// A repository with a secret that a push would send.
pub fn leaky(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("work");
    repo.commit("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(3)));
    repo
}

/// A refusal that holds on Claude Code: exit 2, a reason, nothing on standard output.
pub fn assert_refused(output: &Output, says: &str) {
    assert_eq!(output.status.code(), Some(2), "{}", shown(output));
    assert!(output.stdout.is_empty(), "{}", shown(output));
    assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{says}\n{}", shown(output));
}

pub fn assert_passed(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", shown(output));
    assert!(output.stdout.is_empty(), "{}", shown(output));
}

#[test]
fn push_of_a_secret_is_refused_and_the_reason_does_not_hold_it() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let output = gate(&sandbox, "claude", &claude_event(&repo.dir, "git push origin main"));
    assert_refused(&output, "app.env");
    assert!(!String::from_utf8_lossy(&output.stderr).contains(&planted::github_token(3)));
}

#[test]
fn clean_push_passes_in_silence() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    repo.commit("readme.txt", "nothing here\n");
    assert_passed(&gate(&sandbox, "claude", &claude_event(&repo.dir, "git push origin main")));
}

#[test]
fn command_that_publishes_nothing_passes_in_silence() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    assert_passed(&gate(&sandbox, "claude", &claude_event(&repo.dir, "ls -la && git status")));
}

#[test]
fn tool_that_is_not_ours_passes_in_every_dialect() {
    let sandbox = Sandbox::new();
    let event = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Read",
                       "tool_input": {"file_path": "/etc/hosts"}});
    assert_passed(&gate(&sandbox, "claude", event.to_string().as_bytes()));
}

#[test]
fn events_that_cannot_be_read_are_refused() {
    let sandbox = Sandbox::new();
    let large = vec![b' '; (1 << 20) + 1];
    let no_command = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}).to_string();
    let no_tool = json!({"hook_event_name": "PreToolUse", "tool_input": {}}).to_string();
    let not_text =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": 7}}).to_string();
    let unknown = json!({"hook_event_name": "NoSuchEvent", "tool_name": "Bash", "tool_input": {}}).to_string();
    for (input, says) in [
        (&b""[..], "empty-input"),
        (b"  \n", "empty-input"),
        (b"{", "malformed-json"),
        (b"[]", "not-an-object"),
        (b"null", "not-an-object"),
        (&large, "input-too-large"),
        (no_command.as_bytes(), "no-command"),
        (no_tool.as_bytes(), "no-tool"),
        (not_text.as_bytes(), "no-command"),
        (unknown.as_bytes(), "unknown-event"),
    ] {
        assert_refused(&gate(&sandbox, "claude", input), says);
    }
}

#[test]
fn another_event_than_registered_is_refused() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--event", "PreToolUse"]);
    let event = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_refused(&fed(command, event.to_string().as_bytes()), "event-mismatch");
}

#[test]
fn unusable_entries_are_refused_before_any_input_is_read() {
    let sandbox = Sandbox::new();
    for args in [
        &["--host", "no-such-host"][..],
        &[],
        &["--host"],
        &["--host", "claude", "--no-such-option"],
        &["--host", "claude", "--event", "NoSuchEvent"],
        &["--host", "claude", "--deadline", "never"],
        &["--host", "claude", "--deadline", "-1"],
        &["--host", "claude", "--deadline", "0"],
        &["--host", "claude", "--deadline", "inf"],
    ] {
        let mut command = sandbox.tyran();
        command.arg("gate").args(args);
        assert_refused(&fed(command, b""), "usage");
    }
}

#[test]
fn usage_errors_end_in_the_host_s_own_form() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.tyran();
    command.args(["gate", "--no-such-option", "--host", "cline"]);
    let output = fed(command, b"");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["cancel"], true);
}

#[test]
fn refusal_of_a_usage_error_names_an_event_that_can_refuse() {
    let sandbox = Sandbox::new();
    for host in &table().hosts {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", &host.id, "--no-such-option", "1"]);
        let output = fed(command, b"{}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if host.refuse.stdout == Shape::Claude {
            let event = answer["hookSpecificOutput"]["hookEventName"].as_str();
            assert_eq!(event, host.events.pre_tool.first().map(String::as_str), "{}: {}", host.id, shown(&output));
        }
        assert_eq!(output.status.code(), Some(i32::from(host.refuse.exit)), "{}: {}", host.id, shown(&output));
        assert!(shown(&output).contains("the entry is not usable"), "{}: {}", host.id, shown(&output));
    }
}

#[test]
fn whatever_is_planted_ends_in_a_refusal() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let event = claude_event(&repo.dir, "git push origin main");
    for (plant, says) in [
        ("run=panic", "internal"),
        ("gate=panic", "internal"),
        ("gate=spin", "deadline-exceeded"),
        ("gate=sleep", "deadline-exceeded"),
        ("child=panic", "exited-without-decision"),
        ("child=exit", "exited-without-decision"),
        ("child=abort", "exited-without-decision"),
        ("child=overflow", "exited-without-decision"),
        ("child=memory", "tyran: refused"),
        ("child=nonsense", "exited-without-decision"),
        ("child=unknown-verdict", "unknown-verdict"),
        ("child=unknown-class", "unknown-verdict"),
        ("child=pass-with-a-class", "unknown-verdict"),
        ("child=spin", "deadline-exceeded"),
        ("child=sleep", "deadline-exceeded"),
    ] {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", "claude", "--deadline", "3"]).env("TYRAN_PLANT", plant);
        let output = fed(command, &event);
        assert_refused(&output, says);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_gate_that_its_host_kills_leaves_no_judgement_behind() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "60"]).env("TYRAN_PLANT", "child=sleep");
    let mut gate = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    gate.stdin.take().unwrap().write_all(&claude_event(&repo.dir, "git push origin main")).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", gate.id());
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let waits = std::time::Instant::now();
        while !holds() {
            assert!(waits.elapsed().as_secs() < 30, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let started = || std::fs::read_to_string(&children).unwrap().split_whitespace().next().map(str::to_owned);
    let is_judging =
        |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.ends_with(b"gate-child\0"));
    until("no judgement was started", &|| started().is_some_and(|pid| is_judging(&pid)));
    let pid = started().unwrap();
    // Long enough that it has come to its planted sleep.
    std::thread::sleep(Duration::from_millis(300));
    gate.kill().unwrap();
    gate.wait().unwrap();
    until("the judgement is left running", &|| !is_judging(&pid));
}

#[test]
fn closed_output_ends_loudly() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "cline", "--deadline", "20"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let event = json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {
        "name": "run_commands", "input": {"commands": ["git push origin main"]}}});
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
}

#[test]
fn stalled_output_ends_within_the_deadline() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "cline", "--deadline", "4"]);
    // A pipe that is full already and that nobody reads.
    let (reader, writer) = std::io::pipe().unwrap();
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    (&writer).write_all(&[b'x'; 4096]).unwrap();
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let event = json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {
        "name": "run_commands", "input": {"commands": ["git push origin main"]}}});
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let status = wait_timeout::ChildExt::wait_timeout(&mut child, Duration::from_secs(30)).unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(2));
    drop(reader);
}

#[test]
fn hostile_environment_weakens_nothing() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let fake = sandbox.path("fake");
    std::fs::create_dir(&fake).unwrap();
    let event = claude_event(&repo.dir, "git push origin main");
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "20"]);
    for (name, value) in [
        ("LD_PRELOAD", "/nonexistent.so"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("TYRAN_GITLEAKS_BIN", "/bin/true"),
        ("TYRAN_OFF", "1"),
        ("TYRAN_DISABLE", "1"),
        ("HOME", fake.to_str().unwrap()),
        ("GIT_TRACE2_EVENT", fake.join("trace").to_str().unwrap()),
    ] {
        command.env(name, value);
    }
    assert_refused(&fed(command, &event), "app.env");
    assert!(!fake.join("trace").exists());
}

/// A library that ends the process before `main`, as anything may that gets into the environment of an agent. A
/// gate that loaded it would end without an answer, which most hosts take for a pass.
#[cfg(target_os = "linux")]
#[test]
fn preloaded_library_has_no_say_in_the_gate() {
    let sandbox = Sandbox::new();
    let program = sandbox.tyran().get_program().to_owned();
    let head = std::fs::read(program).unwrap();
    if head[..4096].windows(7).any(|bytes| bytes == b"ld-linu") {
        eprintln!("skipped: this build is linked dynamically (no libc.a, or TYRAN_LINK=dynamic)");
        return;
    }
    let (source, library) = (sandbox.path("early.c"), sandbox.path("early.so"));
    std::fs::write(
        &source,
        "#include <unistd.h>\n__attribute__((constructor)) static void early(void) { _exit(0); }\n",
    )
    .unwrap();
    let built = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.unwrap().success());
    let git = std::process::Command::new("git").arg("--version").env("LD_PRELOAD", &library).output().unwrap();
    assert!(git.stdout.is_empty(), "the library ends other programs");

    let repo = leaky(&sandbox);
    let event = claude_event(&repo.dir, "git push origin main");
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--deadline", "20"]).env("LD_PRELOAD", &library);
    assert_refused(&fed(command, &event), "app.env");
}

/// The journal cannot be written then, and a signal would end the gate without an answer.
#[test]
fn limit_on_the_size_of_files_does_not_end_the_gate() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    for (line, is_refused) in [("git push origin main", true), ("ls", false)] {
        let gate = sandbox.tyran();
        let mut limited = sandbox.command("sh");
        limited.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]).arg(gate.get_program());
        limited.args(["gate", "--host", "claude", "--deadline", "20"]);
        for (name, value) in gate.get_envs() {
            limited.env(name, value.unwrap_or_default());
        }
        let output = fed(limited, &claude_event(&repo.dir, line));
        if is_refused {
            assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        } else {
            assert_passed(&output);
        }
    }
}

/// No host of the table sends words; one that begins to must not pass for it.
#[test]
fn command_in_words_is_one_command() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    for (words, is_push) in [
        (json!(["git", "push", "origin", "main"]), true),
        (json!(["bash", "-c", "git push origin main"]), true),
        (json!(["echo", "git push origin main"]), true),
        (json!(["git", "commit", "--dry-run", "-m", "git push it"]), false),
        (json!(["ls", "-la", "src"]), false),
    ] {
        let event = json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {
            "name": "run_commands", "input": {"commands": words}}});
        let answer: Value =
            serde_json::from_slice(&gate(&sandbox, "cline", event.to_string().as_bytes()).stdout).unwrap();
        assert_eq!(answer["cancel"] == true, is_push, "{words}: {answer}");
    }
}

#[test]
fn several_commands_of_one_call_are_all_judged() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let event = json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {
        "name": "run_commands", "input": {"commands": ["ls", "git push origin main"]}}});
    let output = gate(&sandbox, "cline", event.to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["cancel"], true, "{}", shown(&output));
}

#[test]
fn texts_for_a_server_are_payload() {
    let sandbox = Sandbox::new();
    let secret = planted::github_token(4);
    let event = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "mcp__github__create_issue",
                       "tool_input": {"title": "x", "body": format!("GITHUB_TOKEN={secret}")}});
    assert_refused(&gate(&sandbox, "claude", event.to_string().as_bytes()), "1 secret");
    let reads = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "mcp__github__get_issue",
                       "tool_input": {"body": format!("GITHUB_TOKEN={secret}")}});
    assert_passed(&gate(&sandbox, "claude", reads.to_string().as_bytes()));
}

#[test]
fn probes_never_block() {
    let sandbox = Sandbox::new();
    for (event, input) in [
        ("SessionStart", json!({"session_id": "s", "cwd": "/", "hook_event_name": "SessionStart"}).to_string()),
        (
            "SessionStart",
            json!({"session_id": "s", "cwd": "/no/such/dir", "hook_event_name": "SessionStart"}).to_string(),
        ),
        ("PostToolUse", json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}}).to_string()),
    ] {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", "claude", "--event", event]);
        let output = fed(command, input.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{event}: {}", shown(&output));
    }
}

#[test]
fn every_row_reads_its_recorded_event_and_answers_in_its_form() {
    let Some(folder) = shared("facts/payloads") else { return };
    let table = table();
    for (file, host) in [
        ("claude-PreToolUse", "claude"),
        ("claude-PreSkillShellCommand", "claude"),
        ("codex-PreToolUse", "codex"),
        ("gemini-BeforeTool", "gemini"),
        ("qwen-PreToolUse", "qwen"),
        ("copilot-preToolUse", "copilot"),
        ("vscode-PreToolUse", "vscode"),
        ("cursor-beforeShellExecution", "cursor"),
        ("cursor-preToolUse", "cursor"),
        ("augment-PreToolUse", "augment"),
        ("cline-PreToolUse", "cline"),
        ("windsurf-pre_run_command", "windsurf"),
        ("devin-PreToolUse", "devin"),
        ("opencode-tool.execute.before", "opencode"),
        ("droid-PreToolUse", "droid"),
        ("goose-PreToolUse", "goose"),
        ("crush-PreToolUse", "crush"),
        ("kiro-PreToolUse", "kiro"),
        ("amp-tool.call", "amp"),
        ("antigravity-PreToolUse", "antigravity"),
        ("grok-pre_tool_use", "grok"),
        ("cowork-PreToolUse", "cowork"),
    ] {
        let bytes = std::fs::read(folder.join(format!("{file}.json"))).unwrap();
        let row = table.host(host).unwrap();
        let event =
            event::read(&bytes, &table, row, None).unwrap_or_else(|rejected| panic!("{file}: {:?}", rejected.fault));
        assert_eq!(event.host.id, host, "{file}");
        let Call::Shell(commands) = &event.call else { panic!("{file}: {:?}", event.call) };
        assert!(commands[0].text.contains("git push"), "{file}: {commands:?}");
        let answer =
            Answer::of(&Decision::Refuse(Class::Finding, SafeText::new("no, because")), event.host, &event.name);
        assert!(answer.exit != 0 || !answer.stdout.is_empty(), "{file}");
        assert!(format!("{}{}", answer.stdout, answer.stderr).contains("no, because"), "{file}");
    }
}

#[test]
fn another_host_s_payload_is_answered_in_its_own_form() {
    let Some(folder) = shared("facts/payloads") else { return };
    let table = table();
    let claude = table.host("claude").unwrap();
    for (file, host) in [
        ("cursor-preToolUse", "cursor"),
        ("vscode-PreToolUse", "vscode"),
        ("grok-pre_tool_use", "grok"),
        ("devin-PreToolUse", "devin"),
    ] {
        let bytes = std::fs::read(folder.join(format!("{file}.json"))).unwrap();
        let event = event::read(&bytes, &table, claude, None).unwrap();
        assert_eq!(event.host.id, host, "{file}");
    }
}

#[test]
fn whoever_sends_it_a_push_of_a_secret_is_refused_at_another_host_s_entry() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let table = table();
    for sender in &table.hosts {
        let event = sender.events.pre_tool.first().unwrap();
        let payload = trial::event(sender, event, "git push origin main", &repo.dir).to_string();
        for entry in ["claude", "codex", "cursor", "windsurf"] {
            let mut command = sandbox.tyran();
            // Some payloads do not say where.
            command.args(["gate", "--host", entry, "--deadline", "20"]).current_dir(&repo.dir);
            let output = fed(command, payload.as_bytes());
            let said = [output.stdout.as_slice(), &output.stderr].concat();
            assert!(
                String::from_utf8_lossy(&said).contains("tyran: refused"),
                "{} at {entry}: {}",
                sender.id,
                shown(&output)
            );
        }
    }
}

#[test]
fn long_reasons_are_cut_on_a_character_boundary_and_say_by_how_much() {
    let table = table();
    for host in &table.hosts {
        let event = &host.events.pre_tool[0];
        let reason = SafeText::new(&"\u{1F600}\"quoted\" ".repeat(4000));
        let answer = Answer::of(&Decision::Refuse(Class::Finding, reason), host, event);
        for text in [&answer.stdout, &answer.stderr] {
            assert!(text.encode_utf16().count() <= host.limit.size, "{}", host.id);
            assert!(text.is_empty() || text.contains("characters left out"), "{}", host.id);
        }
        if host.refuse.stdout != Shape::None {
            let _: Value = serde_json::from_str(&answer.stdout).unwrap();
        }
    }
}

#[test]
fn pass_is_no_objection_and_never_an_approval() {
    let table = table();
    for host in &table.hosts {
        let answer = Answer::of(&Decision::Pass, host, &host.events.pre_tool[0]);
        assert_eq!(answer.exit, 0);
        assert!(!answer.stdout.contains("permissionDecision"), "{}", host.id);
    }
}

#[test]
fn question_is_a_refusal_where_asking_does_not_work() {
    let table = table();
    let ask = Decision::Ask(Class::Tamper, SafeText::new("may it?"));
    for host in &table.hosts {
        for event in &host.events.pre_tool {
            let answer = Answer::of(&ask, host, event);
            if !host.ask.events.contains(event) {
                assert_eq!(
                    answer,
                    Answer::of(&Decision::Refuse(Class::Tamper, SafeText::new("may it?")), host, event),
                    "{}",
                    host.id
                );
            }
        }
    }
}

#[test]
fn deny_beats_ask_beats_no_objection() {
    let text = SafeText::new;
    let votes = [
        Decision::Pass,
        Decision::Ask(Class::Tamper, text("a")),
        Decision::Refuse(Class::Finding, text("r")),
        Decision::Pass,
    ];
    assert_eq!(compose(votes), Decision::Refuse(Class::Finding, text("r")));
    assert_eq!(
        compose([Decision::Pass, Decision::Ask(Class::Tamper, text("a"))]),
        Decision::Ask(Class::Tamper, text("a"))
    );
    assert_eq!(compose([Decision::Pass, Decision::Pass]), Decision::Pass);
    assert_eq!(compose([]), Decision::Pass);
}

#[test]
fn table_that_is_not_whole_is_an_error() {
    let text = tyran::host::table::TEXT;
    assert!(matches!(Table::parse(""), Err(TableFault::Malformed(_))));
    assert!(matches!(Table::parse("schema_version = 1\nhosts = []\n"), Err(TableFault::Empty)));
    assert!(matches!(
        Table::parse(&text.replacen("schema_version = 1", "schema_version = 9", 1)),
        Err(TableFault::Version(9))
    ));
    assert!(matches!(Table::parse(&format!("{text}\nunknown = 1\n")), Err(TableFault::Malformed(_))));
    assert!(matches!(Table::parse(&text.replacen("id = \"codex\"", "id = \"claude\"", 1)), Err(TableFault::Twice(_))));
    assert!(matches!(Table::parse(&text.replacen("exit = 2", "exit = 0", 1)), Err(TableFault::Row { .. })));
}

#[test]
fn prepared_rows_are_those_of_the_table() {
    let table = table();
    let prepared = Table::prepared().unwrap();
    assert_eq!(format!("{:?}", prepared.hosts), format!("{:?}", table.hosts));
    for host in &table.hosts {
        let one = Table::of_one(&host.id).unwrap().unwrap();
        assert_eq!(format!("{:?}", one.hosts), format!("{:?}", [host]));
    }
    assert!(Table::of_one("no-such-host").unwrap().is_none());
}

/// Whoever sends a payload, a gate that was given one row reads it as one that has them all.
#[test]
fn one_row_is_enough_only_where_the_whole_table_says_the_same() {
    let Some(folder) = shared("facts/payloads") else { return };
    let table = table();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let payload = event::object(&bytes).unwrap();
        for host in &table.hosts {
            if event::is_of(&payload, host) {
                let read = event::read(&bytes, &table, host, None);
                let id = read.map_or_else(
                    |rejected| rejected.host.map(|host| host.id.clone()),
                    |event| Some(event.host.id.clone()),
                );
                assert!(id.is_none() || id.as_deref() == Some(&host.id), "{}: {} {id:?}", path.display(), host.id);
            }
        }
    }
}

#[test]
fn dates_of_the_table_are_dates() {
    for Host { id, verified, .. } in &table().hosts {
        for date in [Some(&verified.docs_at), verified.probe_at.as_ref(), Some(&verified.expires)].into_iter().flatten()
        {
            assert!(date.parse::<jiff::civil::Date>().is_ok(), "{id}: {date}");
        }
    }
}

#[test]
fn push_past_the_hooks_is_told_after_the_call() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    assert!(sandbox.tyran().args(["install", "git"]).output().unwrap().status.success());
    repo.commit("readme.txt", "nothing here\n");
    let told = |repo: &Repo<'_>| {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", "claude", "--event", "PostToolUse"]);
        let event = json!({"hook_event_name": "PostToolUse", "cwd": repo.dir, "tool_name": "Bash", "tool_input": {"command": "make release"}});
        String::from_utf8(fed(command, event.to_string().as_bytes()).stdout).unwrap()
    };
    let push = |args: &[&str]| {
        // The reflog's time must be now: the sandbox's fixed date is long ago.
        let mut command = sandbox.command("git");
        command.env_remove("GIT_COMMITTER_DATE").current_dir(&repo.dir);
        assert!(command.args(["push", "-q"]).args(args).args(["origin", "main"]).status().unwrap().success());
    };
    push(&[]);
    assert!(!told(&repo).contains("did not see"), "{}", told(&repo));
    repo.commit("readme.txt", "more\n");
    push(&["--no-verify"]);
    assert!(told(&repo).contains("origin/main changed by a push that git's hooks did not see"), "{}", told(&repo));
}

#[test]
fn what_was_refused_is_in_the_journal_without_the_command() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    gate(&sandbox, "claude", &claude_event(&repo.dir, "git push origin main"));
    let output = sandbox.tyran().args(["log", "--format", "json"]).output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((record["decision"].as_str(), record["of"].as_str()), (Some("refuse"), Some("claude")));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("git push"));
    // Why: the class itself, whatever the text says.
    gate(&sandbox, "claude", &claude_event(&repo.dir, "git push --no-verify origin main"));
    gate(&sandbox, "claude", &claude_event(&repo.dir, "tyran uninstall --all"));
    let write = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Write",
                       "tool_input": {"file_path": repo.dir.join(".git/hooks/pre-push"), "content": "(finding)"}});
    gate(&sandbox, "claude", write.to_string().as_bytes());
    let output = sandbox.tyran().args(["log", "--format", "json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<(String, String)> =
        records.map(|one| (one["decision"].as_str().unwrap().into(), one["class"].as_str().unwrap().into())).collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(decision, class)| (decision.as_str(), class.as_str())).collect();
    assert_eq!(told, [("refuse", "finding"), ("refuse", "bypass"), ("ask", "tamper"), ("ask", "tamper")]);
}

#[test]
fn deep_text_is_answered_whatever_the_stack_is_at_the_start() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "echo $(".repeat(depth), ")".repeat(depth));
    let quoted = (0..6).fold("git push origin main".to_owned(), |inner, _| format!("bash -c {}", quote(&inner)));
    for (text, says) in [
        (nested(8, "git push origin main"), "app.env"),
        (nested(33, "git push origin main"), "could not check (un"),
        (nested(20_000, "git push origin main"), "unreadable"),
        (nested(24, &quoted), "could not check (un"),
        (format!("{}git push origin main{}", "( ".repeat(33), " )".repeat(33)), "tyran"),
    ] {
        for stack in ["512", "8192", "unlimited"] {
            let mut command = sandbox.command("bash");
            let limited = format!("ulimit -Ss {stack}; exec \"$0\" gate --host claude --deadline 20");
            command.args(["-c", &limited, env!("CARGO_BIN_EXE_tyran")]);
            assert_refused(&fed(command, &claude_event(&repo.dir, &text)), says);
        }
    }
}

#[test]
fn line_is_read_as_the_tool_s_own_shell_reads_it() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    // bash parts what a variable holds into words, which zsh does not.
    for text in ["words='push origin main'; git $words", "set -- push origin main; git $*"] {
        assert_refused(&gate(&sandbox, "claude", &claude_event(&repo.dir, text)), "app.env");
    }
}

#[test]
fn what_later_calls_find_counts_where_the_shell_lives_on() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let table = table();
    let answer = |host: &Host| {
        let event = host.events.pre_tool.first().unwrap();
        let payload = trial::event(host, event, "function git { :; }", &repo.dir);
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", &host.id, "--deadline", "20"]).current_dir(&repo.dir);
        let output = fed(command, payload.to_string().as_bytes());
        String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).contains("tyran: refused")
    };
    let (mut kept, mut lost) = (0, 0);
    for host in table.hosts.iter().filter(|host| host.tools.typing.is_empty()) {
        match host.shell_state {
            ShellState::Full | ShellState::Unknown => {
                assert!(answer(host), "{}", host.id);
                kept += 1;
            }
            ShellState::Fresh | ShellState::Cwd => {
                assert!(!answer(host), "{}", host.id);
                lost += 1;
            }
        }
    }
    assert!(kept > 0 && lost > 0, "{kept} {lost}");
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn push_in_a_directory_that_cannot_be_known_is_refused_also_where_every_repository_has_the_net() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    sandbox.tyran().args(["install", "git"]).output().unwrap();
    // The settings of the directory itself decide whether the hooks run, and nobody knows which it is.
    let elsewhere = sandbox.repo("elsewhere");
    elsewhere.git(&["config", "core.hooksPath", ".husky/_"]);
    elsewhere.write("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(5)));
    elsewhere.git(&["add", "-A"]);
    elsewhere.git(&["commit", "-q", "-m", "change"]);
    let command = "cd \"$(cat ../where)\" && git push origin main";
    assert_refused(&gate(&sandbox, "claude", &claude_event(&repo.dir, command)), "unknowable");
    elsewhere.git(&["push", "-q", "origin", "main"]);
    assert_ne!(sandbox.git("elsewhere.git", &["for-each-ref"]), "", "the hooks stood in the way after all");
}
