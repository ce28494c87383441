//! Who is answered, in whose words, and where each rule of the hook's runtime is broken on purpose:
//!
//! | rule | test |
//! |---|---|
//! | no objection is the row's own, never an approval | `gate::pass_is_no_objection_and_never_an_approval`, `gate::clean_push_passes_in_silence` |
//! | a refusal has the shape of the event and of whoever sent it | `gate::every_row_reads_its_recorded_event_and_answers_in_its_form`, [`whoever_sends_a_push_is_refused_in_its_own_form`] |
//! | events that cannot refuse are never blocked at | [`no_event_but_a_pre_tool_one_is_ever_blocked`] |
//! | an entry for an event that nobody knows is an error before input is read | `gate::unusable_entries_are_refused_before_any_input_is_read` |
//! | input that is too large, empty, malformed, no object, of another event or an unknown one refuses | `gate::events_that_cannot_be_read_are_refused`, `gate::another_event_than_registered_is_refused`, [`an_event_of_the_largest_size_is_read`] |
//! | own keys alone count | [`keys_of_another_object_are_no_keys`] |
//! | the answer names the event that was fired | [`an_answer_names_the_event_that_was_fired`] |
//! | the deadline holds against what blocks, spins or dies; what comes later is discarded | `gate::whatever_is_planted_ends_in_a_refusal`, `gate_tools::what_cannot_be_read_in_time_is_left_to_the_net_alone` |
//! | a panic, an abort, an unknown verdict or class, a missing dependency, an exit without a word refuse | `gate::whatever_is_planted_ends_in_a_refusal`, `setup::a_git_that_is_not_as_recorded_stops_gate_and_net` |
//! | output is written whole, or ends loudly | `gate::closed_output_ends_loudly`, `gate::stalled_output_ends_within_the_deadline`, `gate_tools::a_slow_reader_gets_the_whole_answer` |
//! | an answer keeps the host's limit, cut between characters, and says by how much | `gate::long_reasons_are_cut_on_a_character_boundary_and_say_by_how_much`, [`an_answer_of_just_the_limit_is_whole`], `gate_tools::an_answer_for_which_not_even_the_note_has_room_is_still_a_refusal` |
//! | what is written holds no forbidden character | `gate_tools::reasons_show_what_cannot_be_seen_and_hold_no_raw_control` |
//! | probes never block and never fail loudly | `gate::probes_never_block`, `gate_tools::probes_say_little_and_never_fail_loudly` |
//! | votes compose to the most restrictive | `gate::deny_beats_ask_beats_no_objection` |
//! | a question is asked where asking works, and of nobody else | [`a_question_is_put_where_the_entry_s_own_host_can_ask`], `gate::question_is_a_refusal_where_asking_does_not_work` |
//! | a table that is missing or malformed is an error | `gate::table_that_is_not_whole_is_an_error` |
//! | the journal says what, why and by whom | `gate::what_was_refused_is_in_the_journal_without_the_command` |

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tyran::host::emit::{Answer, Decision};
use tyran::host::event::{self, Call};
use tyran::host::table::{Host, LimitUnit, Shape, Slot, Table};
use tyran::install::trial;
use tyran::text::SafeText;
use tyran::verdict::{Class, Clearance, Question, Refusal, Verdict};

use super::gate::{assert_passed, assert_refused, fed, leaky};
use super::support::{Sandbox, shown};

fn table() -> Table {
    Table::builtin().unwrap()
}

fn asked(sandbox: &Sandbox, host: &str, dir: &Path, payload: &[u8]) -> Output {
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", host, "--deadline", "20"]).current_dir(dir);
    fed(command, payload)
}

/// A payload that would change a hook: a question where somebody can be asked.
fn tampering(host: &Host, event: &str, dir: &Path) -> Vec<u8> {
    trial::event(host, event, "rm .git/hooks/pre-push", dir).to_string().into_bytes()
}

#[test]
fn whoever_sends_a_push_is_refused_in_its_own_form() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let table = table();
    let mut in_json = 0;
    for sender in table.hosts.iter().filter(|host| !host.recognise.is_empty()) {
        let event = &sender.events.pre_tool[0];
        let payload = trial::event(sender, event, "git push origin main", &repo.dir).to_string();
        for entry in ["claude", "gemini", "augment"] {
            let output = asked(&sandbox, entry, &repo.dir, payload.as_bytes());
            // Rows that are known by the same keys answer alike.
            let forms: Vec<&Host> =
                table.hosts.iter().filter(|host| host.recognise == sender.recognise || host.id == entry).collect();
            let is_form = |host: &&Host| {
                let wanted = Answer::of(&Decision::Refuse(Class::Finding, SafeText::new("x")), host, event);
                let keys = |text: &[u8]| {
                    serde_json::from_slice::<Value>(text)
                        .ok()
                        .and_then(|value| Some(value.as_object()?.keys().cloned().collect::<Vec<_>>()))
                };
                output.status.code() == Some(i32::from(wanted.exit))
                    && keys(&output.stdout) == keys(wanted.stdout.as_bytes())
            };
            let own = forms.iter().filter(|host| host.recognise == sender.recognise);
            assert!(own.copied().any(|host| is_form(&host)), "{} at {entry}: {}", sender.id, shown(&output));
            in_json += u32::from(sender.refuse.stdout != Shape::None && sender.refuse.stdout != Shape::Claude);
        }
    }
    assert!(in_json > 0);
}

#[test]
fn a_question_is_put_where_the_entry_s_own_host_can_ask() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let table = table();
    let mut put = 0;
    for host in &table.hosts {
        for event in &host.events.pre_tool {
            let payload = tampering(host, event, &repo.dir);
            if !matches!(event::read(&payload, &table, host, None).unwrap().call, Call::Shell(_)) {
                continue;
            }
            let output = asked(&sandbox, &host.id, &repo.dir, &payload);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_question =
                output.status.code() == Some(0) && (said.contains("\"ask\"") || said.contains("\"force_ask\""));
            assert_eq!(is_question, host.ask.events.contains(event), "{} {event}: {}", host.id, shown(&output));
            put += u32::from(is_question);
        }
    }
    assert!(put >= 5, "{put}");
    // Whoever reads the answer cannot ask, though the payload looks like that of one who can.
    let claude = table.host("claude").unwrap();
    let payload = tampering(claude, "PreToolUse", &repo.dir);
    for entry in ["codex", "droid", "gemini", "goose", "crush", "kiro", "devin"] {
        let output = asked(&sandbox, entry, &repo.dir, &payload);
        assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{entry}: {}", shown(&output));
    }
}

#[test]
fn an_answer_names_the_event_that_was_fired() {
    let sandbox = Sandbox::new();
    let repo = leaky(&sandbox);
    let table = table();
    for host in table.hosts.iter().filter(|host| host.refuse.stdout == Shape::Claude) {
        for event in &host.events.pre_tool {
            let payload = trial::event(host, event, "git push origin main", &repo.dir).to_string();
            let output = asked(&sandbox, &host.id, &repo.dir, payload.as_bytes());
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["hookSpecificOutput"]["hookEventName"], **event, "{}", host.id);
        }
    }
    // Asking does not work at Claude Code's other event, whatever the entry was registered for.
    let claude = table.host("claude").unwrap();
    let mut command = sandbox.tyran();
    command.args(["gate", "--host", "claude", "--event", "PreToolUse", "--deadline", "20"]);
    assert_refused(&fed(command, &tampering(claude, "PreSkillShellCommand", &repo.dir)), "tamper");
}

#[test]
fn no_event_but_a_pre_tool_one_is_ever_blocked() {
    let sandbox = Sandbox::new();
    let large = vec![b' '; (1 << 20) + 1];
    for host in &table().hosts {
        let others = Slot::ALL.into_iter().filter(|slot| !slot.can_refuse()).flat_map(|slot| host.events.of(slot));
        for event in others {
            for input in [&b""[..], b"{", b"[]", b"{}", &large] {
                let mut command = sandbox.tyran();
                command.args(["gate", "--host", &host.id, "--event", event]);
                let output = fed(command, input);
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(output.status.code(), Some(0), "{} {event}: {}", host.id, shown(&output));
                let words = ["deny", "block", "cancel", "ask", "continue"];
                assert!(!words.iter().any(|word| said.contains(word)), "{} {event}: {said}", host.id);
            }
        }
        // Large input is slow to hand over, and every row reads it alike.
        if host.id == "codex" {
            break;
        }
    }
}

#[test]
fn an_event_of_the_largest_size_is_read() {
    let sandbox = Sandbox::new();
    let event = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                       "tool_input": {"command": "ls"}});
    let mut bytes = event.to_string().into_bytes();
    bytes.resize(1 << 20, b' ');
    assert_passed(&asked(&sandbox, "claude", Path::new("/"), &bytes));
    bytes.push(b' ');
    assert_refused(&asked(&sandbox, "claude", Path::new("/"), &bytes), "input-too-large");
}

#[test]
fn keys_of_another_object_are_no_keys() {
    let sandbox = Sandbox::new();
    for payload in [
        json!({"hook_event_name": "PreToolUse", "__proto__": {"tool_name": "Read"}, "tool_input": {}}),
        json!({"hook_event_name": "PreToolUse", "constructor": {"tool_name": "Read"}}),
        json!({"hook_event_name": "PreToolUse", "tool_input": {"tool_name": "Read"}}),
        json!({"hook_event_name": "PreToolUse", "tool_name": ["Read"]}),
        json!({"hook_event_name": "PreToolUse", "tool_name": null}),
    ] {
        let output = asked(&sandbox, "claude", Path::new("/"), payload.to_string().as_bytes());
        assert_refused(&output, "no-tool");
    }
}

#[test]
fn an_answer_of_just_the_limit_is_whole() {
    for host in &table().hosts {
        let event = &host.events.pre_tool[0];
        let answer = |count: usize| {
            let text = SafeText::new(&"x".repeat(count));
            let answer = Answer::of(&Decision::Refuse(Class::Finding, text), host, event);
            if host.refuse.stdout == Shape::None { answer.stderr } else { answer.stdout }
        };
        let around = answer(1).len() - 1;
        // Shapes that say the reason twice have room for half of it.
        let copies = answer(2).len() - answer(1).len();
        let room = (host.limit.size - (around + 1 - copies)) / copies;
        assert!(matches!(host.limit.unit, LimitUnit::Utf16 | LimitUnit::Bytes));
        assert!(!answer(room).contains("left out"), "{}", host.id);
        let cut = answer(room + 1);
        assert!(cut.contains("characters left out") && cut.len() <= host.limit.size, "{}", host.id);
        // As much is kept as fits: one more character would not.
        let cut = answer(room * 3);
        assert!(cut.len() + 2 * copies > host.limit.size, "{}: {}", host.id, cut.len());
    }
}

#[test]
fn context_is_given_where_a_host_reads_it() {
    for host in &table().hosts {
        let Some(event) = host.events.session_start.first().or_else(|| host.events.post_tool.first()) else { continue };
        let nothing = Answer::context(host, event, "");
        assert_eq!((nothing.stdout.as_str(), nothing.exit), (host.pass.stdout.as_str(), 0), "{}", host.id);
        let told = Answer::context(host, event, "one line");
        // Claude's form, unless the row's JSON is of another kind.
        let reads = matches!(host.refuse.stdout, Shape::None) || host.ask.shape == Shape::Claude;
        assert_eq!(told.stdout.contains("one line"), reads, "{}: {}", host.id, told.stdout);
        if reads {
            let value: Value = serde_json::from_str(&told.stdout).unwrap();
            assert_eq!(value["hookSpecificOutput"]["hookEventName"], **event, "{}", host.id);
        }
    }
}

/// A directory that the host names from the session's own.
#[test]
fn a_directory_of_the_call_starts_from_that_of_the_session() {
    let table = table();
    for (host, key) in [("gemini", "dir_path"), ("crush", "working_dir"), ("augment", "cwd"), ("goose", "working_dir")]
    {
        let host = table.host(host).unwrap();
        let read = |named: Value| {
            let mut payload = trial::event(host, &host.events.pre_tool[0], "ls", Path::new("/work dir"));
            payload["tool_input"][key] = named;
            let event = event::understand(payload, &table, host, None).unwrap();
            match event.call {
                Call::Shell(commands) => commands[0].cwd.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read("sub".into()).as_deref(), Some(Path::new("/work dir/sub")), "{}", host.id);
        assert_eq!(read("/other".into()).as_deref(), Some(Path::new("/other")), "{}", host.id);
        assert_eq!(read("".into()).as_deref(), Some(Path::new("/work dir")), "{}", host.id);
    }
}

#[test]
fn a_list_that_comes_as_text_is_read_as_the_list_and_nothing_else_is() {
    let table = table();
    let cline = table.host("cline").unwrap();
    let texts = |commands: Value| {
        let payload = json!({"clineVersion": "", "workspaceRoots": ["/"], "tool_call": {"name": "run_commands", "input": {"commands": commands}}});
        let event = event::understand(payload, &table, cline, None).unwrap();
        match event.call {
            Call::Shell(commands) => commands.into_iter().map(|command| command.text).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(texts("[\"ls\", \"git push\"]".into()), ["ls", "git push", "ls 'git push'"]);
    for whole in ["[1]", "[]", "[ -f a ] && ls", "ls [\"a\"]", "[\"ls\", 1]"] {
        assert_eq!(texts(whole.into()), [whole]);
    }
    // Commands, and the words of one; a single one, and what cannot be a program's name, are commands alone.
    assert_eq!(texts(json!(["git", "push"])), ["git", "push", "git push"]);
    assert_eq!(texts(json!(["ls"])), ["ls"]);
    assert_eq!(texts(json!(["ls -la", "pwd"])), ["ls -la", "pwd"]);
    assert_eq!(texts(json!(["", "pwd"])), ["", "pwd"]);
    assert_eq!(texts(json!([{"command": "git"}, {"command": "push"}])), ["git", "push"]);
}

#[test]
fn a_session_is_told_at_its_start_what_is_active() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("work");
    let told = || {
        let mut command = sandbox.tyran();
        command.args(["gate", "--host", "claude", "--event", "SessionStart"]).current_dir(&repo.dir);
        let event = json!({"session_id": "s", "cwd": repo.dir, "hook_event_name": "SessionStart"});
        let output = fed(command, event.to_string().as_bytes());
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
        value["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    };
    assert!(told().contains("tyran install git"), "{}", told());
    assert!(sandbox.tyran().args(["install", "git"]).output().unwrap().status.success());
    assert!(told().contains("check every push") && !told().contains("tyran install git"), "{}", told());
}

#[test]
fn a_verdict_has_its_own_word_and_exit_code() {
    for class in Class::ALL {
        assert_eq!(Class::of_word(class.word()), Some(*class));
        let refusal = Refusal::new(*class, "what", "do");
        let refused = Verdict::Refuse(refusal.clone());
        assert_eq!((refused.word(), refused.exit_code()), ("refuse", class.exit_code()), "{}", class.word());
        assert!((1..=3).contains(&class.exit_code()), "{}", class.word());
        let asked = Verdict::Ask(Question { refusal });
        assert_eq!((asked.word(), asked.exit_code()), ("ask", 1));
    }
    assert_eq!(Class::of_word("pass"), None);
    let passed = Verdict::Pass(Clearance::nothing_published());
    assert_eq!((passed.word(), passed.exit_code()), ("pass", 0));
    assert!(Refusal::found(1).what.as_str().starts_with("1 secret would"));
    assert!(Refusal::found(2).what.as_str().starts_with("2 secrets would"));
}
