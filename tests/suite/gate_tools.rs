//! Tools other than the shell, sessions that are typed into, and what is left to git's own hooks.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tyran::host::table::{Host, Table};
use tyran::install::trial;

use super::gate::{assert_passed, assert_refused, fed, leaky};
use super::support::{Repo, Sandbox, planted, shown};

fn claude(sandbox: &Sandbox, dir: &Path, tool: &str, input: &Value) -> Output {
    asked(
        sandbox,
        "claude",
        &json!({"session_id": "s", "cwd": dir, "hook_event_name": "PreToolUse",
                                     "tool_name": tool, "tool_input": input}),
    )
}

fn codex(sandbox: &Sandbox, dir: &Path, command: &str) -> Output {
    asked(
        sandbox,
        "codex",
        &json!({"session_id": "s", "turn_id": "t", "cwd": dir, "hook_event_name": "PreToolUse",
                                    "tool_name": "Bash", "tool_input": {"command": command}}),
    )
}

fn asked(sandbox: &Sandbox, host: &str, event: &Value) -> Output {
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", host, "--deadline", "20"]);
    fed(command, event.to_string().as_bytes())
}

fn clean(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.repo("clean");
    repo.commit("readme.txt", "nothing here\n");
    repo
}

fn with_net(sandbox: &Sandbox) {
    let done = sandbox.tyran().args(["install", "git"]).output().unwrap();
    assert!(done.status.success(), "{}", shown(&done));
}

#[test]
fn message_that_a_program_prints_later_is_for_the_hooks_to_read_where_the_line_pushes() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    let bash = |line: &str| claude(&sandbox, &repo.dir, "Bash", &json!({ "command": line }));
    let unread = [
        r#"git commit --allow-empty -m "$(print-a-message)" && git push origin main"#,
        r#"M=$(print-a-message); git commit --allow-empty -am "fix: $(date) $M" && git push origin main"#,
        "print-a-message | git commit --allow-empty -F - && git push origin main",
        r#"git commit --allow-empty -m x && git tag -a v1 -m "$(print-a-message)" && git push origin v1 main"#,
    ];
    let plain = [
        r#"git commit --allow-empty -m "$(print-a-message)""#,
        r#"git commit --allow-empty -m "on $(date) by $(whoami), $(git rev-parse --short HEAD)" && git push origin main"#,
    ];
    for line in unread {
        assert_refused(&bash(line), "message");
    }
    plain.into_iter().for_each(|line| assert_passed(&bash(line)));
    with_net(&sandbox);
    unread.into_iter().chain(plain).for_each(|line| assert_passed(&bash(line)));
}

#[test]
fn every_string_that_a_tool_sends_to_a_server_is_payload() {
    let sandbox = Sandbox::new();
    let secret = format!("GITHUB_TOKEN={}\n", planted::github_token(21));
    let halves = secret.split_at(20);
    for (tool, input) in [
        (
            "mcp__github__create_or_update_file",
            json!({"owner": "o", "repo": "r", "path": "a.env", "content": secret, "message": "m", "branch": "b"}),
        ),
        (
            "mcp__github__push_files",
            json!({"owner": "o", "repo": "r", "branch": "b", "message": "m", "files": [{"path": "x", "content": "y"}, {"path": "a", "content": secret}]}),
        ),
        ("mcp__github__create_gist", json!({"description": "d", "files": {"a.env": secret}})),
        ("mcp__github__create_gist", json!({"description": secret, "content": "x", "filename": "y"})),
        ("mcp__github__issue_write", json!({"method": "create", "title": "t", "body": secret})),
        ("mcp__github__add_issue_comment", json!({"issue_number": 1, "body": secret})),
        ("mcp__github__create_pull_request", json!({"title": secret, "head": "a", "base": "b"})),
        ("mcp__github__pull_request_review_write", json!({"event": "COMMENT", "body": secret})),
        ("mcp__github__create_repository", json!({"name": "n", "description": secret})),
        ("mcp__github__merge_pull_request", json!({"commit_message": secret})),
        ("mcp__gitlab__create_merge_request", json!({"description": secret})),
        ("mcp__gitlab__push_files", json!({"project_id": "1", "files": [{"file_path": "a", "content": secret}]})),
        ("mcp__gh__gist", json!({"action": "create", "files": [{"a": secret}]})),
        ("mcp__forge__issue", json!({"action": "create", "body": secret})),
        ("mcp__forge__get_or_act", json!({"action": "create_issue", "body": secret})),
        (
            "mcp__forge__graphql",
            json!({"query": "mutation($body: String!) { addComment(body: $body) { id } }", "variables": {"body": secret}}),
        ),
        ("mcp__github__create_and_get_issue", json!({"body": secret})),
        // Its name says that it reads.
        ("mcp__forge__get_graphql", json!({"query": format!("mutation {{ addComment(body: {secret:?}) {{ id }} }}")})),
        ("mcp__forge__request", json!({"method": "POST", "path": "/gists", "payload": {"deep": [{"er": secret}]}})),
        ("mcp__slack__chat", json!({"channel": "c", "blocks": secret})),
        ("mcp__forge__createSnippet", json!({"body": secret})),
        ("mcp__forge__update_wiki_page", json!({"keys": {secret.as_str(): 1}})),
        ("mcp__forge__post_lines", json!({"lines": [halves.0, halves.1]})),
        ("mcp__forge__call", json!({"arguments": json!({"title": "t", "body": secret}).to_string()})),
    ] {
        let output = claude(&sandbox, Path::new("/"), tool, &input);
        assert!(shown(&output).contains("1 secret"), "{tool}: {}", shown(&output));
        assert_refused(&output, "1 secret");
        assert!(!shown(&output).contains(&planted::github_token(21)), "{tool}");
    }
}

#[test]
fn tools_that_only_read_or_stay_on_this_machine_pass() {
    let sandbox = Sandbox::new();
    let secret = format!("GITHUB_TOKEN={}\n", planted::github_token(22));
    for (tool, input) in [
        ("mcp__github__get_file_contents", json!({"path": secret})),
        ("mcp__github__search_code", json!({"query": secret})),
        ("mcp__github__list_commits", json!({"sha": secret})),
        ("mcp__github__get_pull_request_comments", json!({"body": secret})),
        ("mcp__github__issue_read", json!({"method": "get_comments", "body": secret})),
        ("mcp__filesystem__write_file", json!({"path": "/tmp/a.env", "content": secret})),
        ("mcp__memory__create_entities", json!({"entities": [secret]})),
        ("Write", json!({"file_path": "/tmp/a.env", "content": secret})),
        ("TodoWrite", json!({"todos": [{"content": secret}]})),
        ("WebFetch", json!({"url": "https://example.invalid", "prompt": "x"})),
    ] {
        let output = claude(&sandbox, Path::new("/"), tool, &input);
        assert!(output.status.success() && output.stdout.is_empty(), "{tool}: {}", shown(&output));
    }
}

#[test]
fn clean_texts_for_a_server_pass() {
    let sandbox = Sandbox::new();
    for tool in ["mcp__github__create_issue", "mcp__github__push_files", "mcp__gh__create_gist", "mcp__x__anything"] {
        assert_passed(&claude(
            &sandbox,
            Path::new("/"),
            tool,
            &json!({"title": "Crash on start", "body": "It ends with 3."}),
        ));
    }
}

#[test]
fn forges_are_known_by_their_words_where_a_host_does_not_mark_servers() {
    let sandbox = Sandbox::new();
    let secret = format!("GITHUB_TOKEN={}\n", planted::github_token(23));
    let call = json!({"title": "t", "body": secret});
    for (host, event) in [
        (
            "copilot",
            json!({"sessionId": "s", "timestamp": 1, "cwd": "/", "toolName": "gitlab-create_issue", "toolArgs": call}),
        ),
        (
            "copilot",
            json!({"sessionId": "s", "timestamp": 1, "cwd": "/", "toolName": "gl-create_snippet", "toolArgs": call.to_string()}),
        ),
        (
            "opencode",
            json!({"input": {"tool": "gitlab_create_issue", "sessionID": "s", "callID": "c"}, "output": {"args": call}, "directory": "/"}),
        ),
        // Words that only capitals part.
        (
            "copilot",
            json!({"sessionId": "s", "timestamp": 1, "cwd": "/", "toolName": "glCreateSnippet", "toolArgs": call}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "cwd": "/", "hook_event_name": "BeforeTool", "timestamp": "t", "tool_name": "mcp_forge_create_issue", "tool_input": call}),
        ),
        (
            "cline",
            json!({"clineVersion": "3", "workspaceRoots": ["/"], "tool_call": {"name": "use_mcp_tool",
            "input": {"server_name": "x", "tool_name": "create_issue", "arguments": call.to_string()}}}),
        ),
        (
            "cursor",
            json!({"cursor_version": "1", "hook_event_name": "beforeMCPExecution", "workspace_roots": ["/"],
            "tool_name": "create_issue", "tool_input": call.to_string()}),
        ),
        (
            "codex",
            json!({"session_id": "s", "turn_id": "t", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "mcp__forge__create_issue", "tool_input": call}),
        ),
    ] {
        let output = asked(&sandbox, host, &event);
        assert!(shown(&output).contains("1 secret"), "{host}: {}", shown(&output));
    }
}

#[test]
fn a_tool_that_pushes_or_commits_here_is_judged_as_git_doing_it() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let clean = clean(&sandbox);
    for (tool, input) in [
        ("mcp__git__git_push", json!({"repo_path": repo.dir})),
        ("mcp__git__git_push", json!({"path": repo.dir, "remote": "origin", "branch": "main"})),
        ("mcp__gitkraken__git_push", json!({"directory": repo.dir})),
        ("mcp__git__git", json!({"action": "push", "cwd": repo.dir})),
    ] {
        assert_refused(&claude(&sandbox, &clean.dir, tool, &input), "app.env");
    }
    assert_refused(&claude(&sandbox, &repo.dir, "mcp__git__git_push", &json!({})), "app.env");
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__git__git_push", &json!({"repo_path": clean.dir})));
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__git__git_status", &json!({"repo_path": repo.dir})));
    clean.write("late.env", format!("GITHUB_TOKEN={}\n", planted::github_token(24)));
    assert_passed(&claude(&sandbox, &clean.dir, "mcp__git__git_push", &json!({})));
    clean.git(&["add", "-A"]);
    assert_refused(
        &claude(&sandbox, &clean.dir, "mcp__git__git_commit", &json!({"repo_path": clean.dir, "message": "m"})),
        "late.env",
    );
}

#[test]
fn a_tool_that_pushes_here_may_push_tags() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    repo.git(&["checkout", "-q", "--detach"]);
    repo.commit("app.env", format!("GITHUB_TOKEN={}\n", planted::github_token(25)));
    repo.git(&["tag", "v1"]);
    repo.git(&["checkout", "-q", "main"]);
    let push = json!({"repo_path": repo.dir});
    assert_refused(&claude(&sandbox, &repo.dir, "mcp__git__git_push", &push), "app.env");
}

#[test]
fn a_tool_that_pushes_here_is_judged_by_the_remote_it_names() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    repo.git(&["push", "-q", "origin", "main"]);
    sandbox.repo("other");
    repo.git(&["remote", "add", "other", &sandbox.path("other.git").to_string_lossy()]);
    let to = |remote: &str| {
        let input = json!({"repo_path": repo.dir, "remote": remote});
        claude(&sandbox, &repo.dir, "mcp__git__git_push", &input)
    };
    assert_refused(&to("other"), "app.env");
    assert_passed(&to("origin"));
    for word in ["publish", "sync", "mirror"] {
        let input = json!({"repo_path": repo.dir, "remote": "other"});
        assert_refused(&claude(&sandbox, &repo.dir, &format!("mcp__git__git_{word}"), &input), "app.env");
    }
}

#[test]
fn a_tool_that_commits_files_here_stages_them() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    repo.write("late.env", format!("GITHUB_TOKEN={}\n", planted::github_token(26)));
    for input in [
        json!({"repo_path": repo.dir, "message": "m", "files": ["late.env"]}),
        json!({"repo_path": repo.dir, "message": "m", "action": "add"}),
    ] {
        assert_refused(&claude(&sandbox, &repo.dir, "mcp__git__git_commit", &input), "late.env");
    }
    assert_passed(&claude(
        &sandbox,
        &repo.dir,
        "mcp__git__git_commit",
        &json!({"repo_path": repo.dir, "message": "m"}),
    ));
}

#[test]
fn files_that_a_tool_uploads_are_payload() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    for (tool, input) in [
        (
            "mcp__github__upload_release_asset",
            json!({"owner": "o", "repo": "r", "file_path": repo.dir.join("app.env")}),
        ),
        ("mcp__slack__upload_file", json!({"files": ["app.env"]})),
        (
            "mcp__forge__attach",
            json!({"attachments": [{"path": format!("file://{}", repo.dir.join("app.env").display())}]}),
        ),
    ] {
        assert_refused(&claude(&sandbox, &repo.dir, tool, &input), "app.env");
    }
    // However many there are, the last is read too.
    let mut many: Vec<String> = (0..400).map(|place| format!("plain-{place}")).collect();
    many.iter().for_each(|name| std::fs::write(repo.dir.join(name), "nothing here\n").unwrap());
    many.push("app.env".to_owned());
    assert_refused(&claude(&sandbox, &repo.dir, "mcp__slack__upload_file", &json!({"files": many})), "app.env");
    // What is in the file that has the same name here is not what is sent.
    let other = json!({"owner": "o", "repo": "r", "path": "app.env", "content": "TOKEN=from-the-vault"});
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__github__create_or_update_file", &other));
}

#[test]
fn commands_in_the_input_of_any_tool_are_judged() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    for (tool, input) in [
        ("mcp__shell__run", json!({"command": "git push origin main"})),
        ("mcp__desktop__start_process", json!({"command": "git push origin main", "timeout_ms": 1})),
        ("mcp__shell__execute", json!({"cmd": "git", "args": ["push", "origin", "main"]})),
        ("mcp__x__create_task", json!({"title": "t", "script": "git push origin main"})),
        (
            "mcp__ide__executeCode",
            json!({"code": "import subprocess\nsubprocess.run(['git', 'push', 'origin', 'main'])"}),
        ),
        ("NewShell", json!({"command": "git push origin main"})),
        ("NewShell", json!({"commands": ["ls", "git push origin main"]})),
        ("tool_call", json!({"name": "run_shell_command", "arguments": {"command": "git push origin main"}})),
    ] {
        assert_refused(&claude(&sandbox, &repo.dir, tool, &input), "app.env");
    }
    assert_refused(&claude(&sandbox, &repo.dir, "NewShell", &json!({"commands": [7]})), "no-command");
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__ide__executeCode", &json!({"code": "print(1 + 1)"})));
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__shell__run", &json!({"command": "ls -la"})));
}

#[test]
fn a_session_whose_input_is_not_shown_is_refused_at_its_opening_unless_the_net_holds() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    let opening = [
        "bash",
        "sh -l",
        "exec zsh",
        "python3",
        "python3 -i",
        "node",
        "env bash",
        "cat | sh",
        "vim notes.txt",
        "tmux",
        "bash -s",
        "ls && bash",
        "(sh)",
        "sudo -s",
        "/bin/dash",
        "git push --dry-run; bash",
        "git commit --dry-run; python3 -i",
        "psql -q -A",
        "lua -W -E",
    ];
    for command in opening {
        let output = codex(&sandbox, &repo.dir, command);
        assert!(shown(&output).contains("does not show"), "{command}: {}", shown(&output));
        assert_refused(&output, "tyran install git");
        // Where nothing can be typed later it is a command like others.
        let elsewhere = claude(&sandbox, &repo.dir, "Bash", &json!({"command": command}));
        assert!(!shown(&elsewhere).contains("does not show"), "{command}: {}", shown(&elsewhere));
    }
    for command in [
        "ls",
        "bash -c 'ls'",
        "python3 -c 'print(1)'",
        "echo ls | bash",
        "cat notes.txt",
        "git status",
        "sh < /dev/null",
        "grep -r x .",
    ] {
        assert_passed(&codex(&sandbox, &repo.dir, command));
    }
    let typing = json!({"cursor_version": "1", "hook_event_name": "preToolUse", "workspace_roots": [repo.dir], "cwd": repo.dir,
                        "tool_name": "WriteShellStdin", "tool_input": {"shell_id": 1}});
    assert!(shown(&asked(&sandbox, "cursor", &typing)).contains("deny"));
    with_net(&sandbox);
    for command in opening {
        assert_passed(&codex(&sandbox, &repo.dir, command));
    }
    assert!(!shown(&asked(&sandbox, "cursor", &typing)).contains("deny"));
}

#[test]
fn a_program_that_cannot_be_read_is_left_to_the_net_where_it_holds() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let program = repo.dir.join("publish.bin");
    std::fs::copy("/bin/true", &program).unwrap();
    let ask = |command: &str| claude(&sandbox, &repo.dir, "Bash", &json!({"command": command}));
    assert_refused(&ask("./publish.bin"), "app.env");
    with_net(&sandbox);
    assert_passed(&ask("./publish.bin"));
    // It is cut for this command, so everything here is read.
    for cut in ["GIT_CONFIG_GLOBAL=/dev/null ./publish.bin", "env -i ./publish.bin"] {
        let output = ask(cut);
        assert_eq!(output.status.code(), Some(2), "{cut}: {}", shown(&output));
    }
    repo.git(&["config", "core.hooksPath", "elsewhere"]);
    assert_refused(&ask("./publish.bin"), "app.env");
}

#[test]
fn a_host_whose_shell_hides_the_settings_has_no_net() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    std::fs::copy("/bin/true", repo.dir.join("publish.bin")).unwrap();
    with_net(&sandbox);
    let table = Table::builtin().unwrap();
    let hides = |host: &Host| host.tool_env.get("GIT_CONFIG_GLOBAL").is_some_and(|file| file == "/dev/null");
    let hosts: Vec<_> = table.hosts.iter().filter(|host| hides(host)).collect();
    assert!(!hosts.is_empty());
    for host in hosts {
        let event = trial::event(host, host.events.pre_tool.first().unwrap(), "./publish.bin", &repo.dir);
        let output = asked(&sandbox, &host.id, &event);
        assert!(shown(&output).contains("app.env"), "{}: {}", host.id, shown(&output));
    }
}

#[test]
fn a_file_that_guards_pushes_is_not_written_unasked() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    with_net(&sandbox);
    for file in
        [".git/hooks/pre-push", ".git/config", "../state/hooks/pre-push", "../home/.gitconfig", ".claude/settings.json"]
    {
        let path = repo.dir.join(file);
        for (tool, input) in [
            ("Write", json!({"file_path": path, "content": "x"})),
            ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
            ("mcp__filesystem__write_file", json!({"path": path, "content": "x"})),
            ("mcp__filesystem__edit_files", json!({"edits": [{"file": repo.dir.join("a.txt")}, {"file": path}]})),
        ] {
            let output = claude(&sandbox, &repo.dir, tool, &input);
            assert!(shown(&output).contains("tamper"), "{tool} {file}: {}", shown(&output));
        }
    }
    assert_passed(&claude(&sandbox, &repo.dir, "Write", &json!({"file_path": repo.dir.join("a.txt"), "content": "x"})));
    let read = json!({"path": repo.dir.join(".git/config")});
    assert_passed(&claude(&sandbox, &repo.dir, "mcp__filesystem__read_file", &read));
}

#[test]
fn what_cannot_be_read_in_time_is_left_to_the_net_alone() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    let ask = |plant: &str, command: &str| {
        let mut gate = sandbox.tyran();
        gate.args(["gate", "--host", "claude", "--deadline", "4"]).env("TYRAN_PLANT", plant);
        let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                           "tool_input": {"command": command}});
        fed(gate, event.to_string().as_bytes())
    };
    for plant in ["reading=sleep", "reading=spin"] {
        assert_refused(&ask(plant, "git push origin main"), "deadline-exceeded");
    }
    with_net(&sandbox);
    for plant in ["reading=sleep", "reading=spin"] {
        assert_passed(&ask(plant, "git push origin main"));
        let cut = ask(plant, "git push --no-verify origin main");
        assert_refused(&cut, "bypass");
    }
    // What no hook of git's sees has nobody else to read it.
    assert_refused(&ask("reading=sleep", "gh gist create readme.txt"), "deadline-exceeded");
    // What died says nothing of the net.
    assert_refused(&ask("reading=abort", "git push origin main"), "exited-without-decision");
}

#[test]
fn probes_say_little_and_never_fail_loudly() {
    let sandbox = Sandbox::new();
    let large = vec![b' '; (1 << 20) + 1];
    let unknown = json!({"hook_event_name": "NoSuchEvent"}).to_string();
    let no_tool = json!({"hook_event_name": "PostToolUse"}).to_string();
    let no_command = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}}).to_string();
    let table = Table::builtin().unwrap();
    for host in ["claude", "codex", "gemini"] {
        let row = table.host(host).unwrap();
        let event = &row.events.post_tool[0];
        for input in [&b""[..], b"{", b"[]", &large, unknown.as_bytes(), no_tool.as_bytes(), no_command.as_bytes()] {
            let mut gate = sandbox.tyran();
            gate.args(["gate", "--host", host, "--event", event]);
            let output = fed(gate, input);
            assert_eq!(output.status.code(), Some(0), "{host}: {}", shown(&output));
            assert_eq!(output.stdout, row.pass.stdout.as_bytes(), "{host}: {}", shown(&output));
        }
        for plant in ["gate=panic", "gate=spin", "gate=sleep"] {
            let mut gate = sandbox.tyran();
            gate.args(["gate", "--host", host, "--event", event, "--deadline", "1"]).env("TYRAN_PLANT", plant);
            let output = fed(gate, no_tool.as_bytes());
            assert_eq!(output.status.code(), Some(0), "{host}: {}", shown(&output));
            assert!(output.stdout == row.pass.stdout.as_bytes() && !output.stderr.is_empty(), "{}", shown(&output));
        }
    }
    // A host that fires its pre-tool event at a probe's entry is told no.
    let mut gate = sandbox.tyran();
    gate.args(["gate", "--host", "claude", "--event", "PostToolUse"]);
    let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_refused(&fed(gate, event.to_string().as_bytes()), "event-mismatch");
}

#[test]
fn a_push_past_nothing_is_not_told_of() {
    let sandbox = Sandbox::new();
    let repo = clean(&sandbox);
    let mut push = sandbox.command("git");
    push.env_remove("GIT_COMMITTER_DATE").current_dir(&repo.dir).args(["push", "-q", "origin", "main"]);
    assert!(push.status().unwrap().success());
    let mut gate = sandbox.tyran();
    gate.args(["gate", "--host", "claude", "--event", "PostToolUse"]);
    let event = json!({"hook_event_name": "PostToolUse", "cwd": repo.dir, "tool_name": "Bash", "tool_input": {"command": "git push"}});
    assert_passed(&fed(gate, event.to_string().as_bytes()));
}

/// Every variable of tyran's own that the source names.
fn own_variables() -> std::collections::BTreeSet<String> {
    fn walk(folder: &Path, found: &mut std::collections::BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for (at, _) in text.match_indices("TYRAN_") {
                    let rest = &text[at..];
                    let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
                    found.insert(rest[..end].trim_end_matches('_').to_owned());
                }
            }
        }
    }
    let mut found = std::collections::BTreeSet::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    // What a build with debug assertions takes from tests, and from nobody else.
    found.retain(|name| !["TYRAN_STATE_DIR", "TYRAN_PLANT", "TYRAN"].contains(&name.as_str()));
    found.extend(
        ["TYRAN_OFF", "TYRAN_DISABLE", "TYRAN_SKIP", "TYRAN_ENGINE", "TYRAN_RULES", "TYRAN_CONFIG"].map(str::to_owned),
    );
    found
}

#[test]
fn no_environment_makes_a_verdict_weaker() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let clean = clean(&sandbox);
    let setup = sandbox.tyran().args(["setup", "--yes", "claude"]).output().unwrap();
    assert!(setup.status.success(), "{}", shown(&setup));
    // Programs that say what is wanted of them, and leave a trace of having been run.
    let fake = sandbox.path("fake");
    std::fs::create_dir(&fake).unwrap();
    let ran = sandbox.path("ran");
    for name in ["git", "gitleaks", "tyran", "sh", "git-remote-https", "ssh"] {
        let program = fake.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n: > '{}'\nexit 0\n", ran.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", fake.display(), std::env::var("PATH").unwrap());
    let empty = sandbox.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut settings: Vec<Vec<(String, Option<String>)>> = vec![
        vec![("PATH".into(), Some(path))],
        vec![("PATH".into(), None)],
        vec![("HOME".into(), None)],
        vec![("HOME".into(), Some(text(&empty)))],
        vec![("LD_PRELOAD".into(), Some("/nonexistent/preload.so".into()))],
        vec![("LD_LIBRARY_PATH".into(), Some(text(&empty)))],
        vec![("BASH_ENV".into(), Some(text(&fake.join("sh"))))],
        vec![("TMPDIR".into(), Some("/nonexistent".into()))],
        vec![("XDG_CONFIG_HOME".into(), Some(text(&empty)))],
        vec![("GIT_EXEC_PATH".into(), Some(text(&fake)))],
        vec![("GIT_TRACE".into(), Some(text(&ran))), ("GIT_TRACE2_EVENT".into(), Some(text(&ran)))],
        vec![("GIT_SSH_COMMAND".into(), Some(text(&fake.join("ssh"))))],
        vec![
            ("GIT_CONFIG_GLOBAL".into(), Some("/dev/null".into())),
            ("GIT_CONFIG_SYSTEM".into(), Some("/dev/null".into())),
        ],
        vec![("GIT_CONFIG_NOSYSTEM".into(), None)],
        vec![
            ("GIT_CONFIG_COUNT".into(), Some("1".into())),
            ("GIT_CONFIG_KEY_0".into(), Some("core.hooksPath".into())),
            ("GIT_CONFIG_VALUE_0".into(), Some("/dev/null".into())),
        ],
        vec![("GIT_REPLACE_REF_BASE".into(), Some("refs/elsewhere/".into()))],
        vec![("GIT_NO_REPLACE_OBJECTS".into(), Some("1".into()))],
        vec![("GIT_ATTR_SOURCE".into(), Some("HEAD".into()))],
        vec![("GIT_PAGER".into(), Some(text(&fake.join("sh")))), ("GIT_EDITOR".into(), Some(text(&fake.join("sh"))))],
        vec![("GIT_OPTIONAL_LOCKS".into(), Some("0".into())), ("GIT_PROTOCOL".into(), Some("version=0".into()))],
    ];
    for name in own_variables() {
        settings.push(vec![(name.clone(), Some("1".to_owned()))]);
        settings.push(vec![(name, Some(text(&fake.join("gitleaks"))))]);
    }
    settings.push(settings.iter().flatten().filter(|(name, _)| name != "PATH" && name != "HOME").cloned().collect());
    let ask = |dir: &Path, set: &[(String, Option<String>)]| {
        let mut gate = sandbox.tyran();
        gate.args(["gate", "--host", "claude", "--deadline", "20"]);
        for (name, value) in set {
            match value {
                Some(value) => gate.env(name, value),
                None => gate.env_remove(name),
            };
        }
        let event = json!({"session_id": "s", "cwd": dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                           "tool_input": {"command": "git push origin main"}});
        fed(gate, event.to_string().as_bytes())
    };
    for set in &settings {
        let output = ask(&repo.dir, set);
        assert_eq!(output.status.code(), Some(2), "{set:?}: {}", shown(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{set:?}: {}", shown(&output));
        assert!(!ran.exists(), "{set:?} had something run");
    }
    // Nor does one stop a clean push by itself, where it says nothing of git.
    for set in settings.iter().filter(|set| set.iter().all(|(name, _)| name.starts_with("TYRAN_") || name == "HOME")) {
        assert_passed(&ask(&clean.dir, set));
    }
}

#[test]
fn a_slow_reader_gets_the_whole_answer() {
    use std::io::{Read, Write};
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    for place in 0..40_u64 {
        let name = format!("a-rather-long-name-of-a-folder/app{place}.env");
        repo.write(&name, format!("GITHUB_TOKEN={}\n", planted::github_token(300 + place)));
    }
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "change"]);
    let (mut reader, writer) = std::io::pipe().unwrap();
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    // A host that made its end non-blocking: a full pipe is no dead one.
    let flags =
        nix::fcntl::OFlag::from_bits_truncate(nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_GETFL).unwrap());
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETFL(flags | nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    let mut gate = sandbox.tyran();
    gate.args(["gate", "--host", "cline", "--deadline", "40"]);
    let mut child = gate.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    drop(gate);
    let event = json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {
        "name": "run_commands", "input": {"commands": ["git push origin main"]}}});
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let (mut said, mut part) = (Vec::new(), [0_u8; 700]);
    loop {
        let count = reader.read(&mut part).unwrap();
        if count == 0 {
            break;
        }
        said.extend_from_slice(&part[..count]);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let answer: Value = serde_json::from_slice(&said).unwrap();
    assert!(said.len() > 4096 && answer["cancel"] == true, "{}", said.len());
}

#[test]
fn an_answer_for_which_not_even_the_note_has_room_is_still_a_refusal() {
    use tyran::host::emit::{Answer, Decision};
    use tyran::text::SafeText;
    use tyran::verdict::Class;
    for size in ["0", "20", "60", "120"] {
        let text = tyran::host::table::TEXT.replace("size = 10000", &format!("size = {size}"));
        for host in &Table::parse(&text).unwrap().hosts {
            for reason in ["x".repeat(500), "\u{1F600}".repeat(500), "\u{7}".repeat(100), " ".to_owned()] {
                let answer = Answer::of(
                    &Decision::Refuse(Class::Finding, SafeText::new(&reason)),
                    host,
                    &host.events.pre_tool[0],
                );
                assert!(answer.exit != 0 || !answer.stdout.is_empty(), "{}", host.id);
                assert!(answer.exit == 0 || !answer.stderr.trim().is_empty(), "{}", host.id);
                if !answer.stdout.is_empty() {
                    let value: Value = serde_json::from_str(&answer.stdout).unwrap();
                    assert!(value.to_string().contains("tyran") || value.to_string().len() > 20, "{}", host.id);
                }
            }
        }
    }
}

#[test]
fn reasons_show_what_cannot_be_seen_and_hold_no_raw_control() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let name = "app\u{202e}\u{200b}\u{1b}[2J\r.env";
    repo.commit(name, format!("GITHUB_TOKEN={}\n", planted::github_token(31)));
    for (host, event) in [
        (
            "claude",
            json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push origin main"}}),
        ),
        (
            "cline",
            json!({"clineVersion": "", "workspaceRoots": [repo.dir], "tool_call": {"name": "run_commands", "input": {"commands": ["git push origin main"]}}}),
        ),
    ] {
        let output = asked(&sandbox, host, &event);
        let said = shown(&output);
        assert!(said.contains("app<U+202E>") && said.contains("<U+001B>"), "{host}: {said}");
        let forbidden = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
        assert!(
            !said.chars().any(|character| forbidden(character) || "\u{202e}\u{200b}".contains(character)),
            "{host}: {said:?}"
        );
    }
}
