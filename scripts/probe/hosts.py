"""How each host is pointed at the model and started for one task, by its own documented settings.

A host's class says which row of the table it is, which npm package holds it, and how it is started;
`prepare` writes its settings into the throwaway home before `tyran setup` runs, `trust` does what a
person would do after it. Every key is a dummy.
"""
import json
import os
import pathlib
import re
import subprocess

TASK = "Run the shell command that you are told to run, once, then stop."


def write(path, data):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=2) + "\n")


class Host:
    row = ""
    packages = ()
    program = ""
    # What becomes of a call whose hook is gone, dead or late, without the net: True where it runs. The entry's
    # own guard refuses for a program that is gone or died, and kills a late one before the host stops waiting.
    open_when = {"missing": False, "killed": False, "crash": False, "slow": False}
    # Whether the tool's shell hides the user's git configuration, and git's own hooks with it.
    hides_the_net = False
    limit = 240

    def __init__(self, tools, node):
        self.tools, self.node = pathlib.Path(tools), node

    def path(self):
        return self.tools / self.row / "node_modules" / self.program

    def start(self, *words):
        return [str(self.path()), *words]

    def version(self):
        env = {"PATH": f"{self.node}:/usr/bin:/bin", "HOME": "/tmp"}
        done = subprocess.run(self.start("--version"), capture_output=True, text=True, env=env, timeout=120)
        found = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
        return found.group(0) if found else "unknown"

    def prepare(self, case):
        raise NotImplementedError

    def trust(self, case):
        pass

    def command(self, case):
        raise NotImplementedError


class Scripted(Host):
    """A host whose program is JavaScript for a newer node."""

    def start(self, *words):
        return [f"{self.node}/node", str(self.path()), *words]


class Claude(Host):
    row, packages, program = "claude", ("@anthropic-ai/claude-code@2.1.332",), ".bin/claude"
    # `onFailure: "block"`
    open_when = {"missing": False, "killed": False, "crash": False, "slow": False}

    def prepare(self, case):
        write(case.home / ".claude.json", {"hasCompletedOnboarding": True, "autoUpdates": False})
        (case.home / ".claude").mkdir()
        case.env.update(ANTHROPIC_BASE_URL=case.model.url, ANTHROPIC_API_KEY="dummy", IS_SANDBOX="1",
                        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1", DISABLE_ERROR_REPORTING="1")

    def command(self, case):
        return self.start("-p", TASK, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions")


class Codex(Scripted):
    row, packages, program = "codex", ("@openai/codex@0.171.0",), ".bin/codex"

    def prepare(self, case):
        write(case.home / ".codex/config.toml", f'''model = "gpt-5.1-codex"
model_provider = "probe"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.probe]
name = "probe"
base_url = "{case.model.url}/v1"
env_key = "PROBE_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[projects."{case.work}"]
trust_level = "trusted"
''')
        case.env["PROBE_KEY"] = "dummy"

    def trust(self, case):
        """What /hooks does when a person says that an entry is trusted."""
        if not case.trusted:
            return
        server = subprocess.Popen(self.start("app-server"), env=case.env, cwd=case.work, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def ask(number, method, params):
            server.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == number and ("result" in answer or "error" in answer):
                    return answer.get("result")
        ask(1, "initialize", {"clientInfo": {"name": "probe", "title": "probe", "version": "0"}})
        server.stdin.write(json.dumps({"method": "initialized"}) + "\n")
        listed = ask(2, "hooks/list", {"cwds": [str(case.work)]})
        state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for entry in listed["data"] for hook in entry["hooks"]}
        ask(3, "config/batchWrite", {"edits": [{"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}]})
        server.stdin.close()
        server.terminate()
        server.wait(20)

    def command(self, case):
        return self.start("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TASK)


class Gemini(Scripted):
    row, packages, program = "gemini", ("@google/gemini-cli@0.61.0",), ".bin/gemini"
    hides_the_net = True
    folder, auth = ".gemini", "gemini-api-key"

    def prepare(self, case):
        write(case.home / self.folder / "settings.json", {
            "security": {"auth": {"selectedType": self.auth}}, "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False}, "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}})
        case.env.update(GEMINI_API_KEY="dummy", GOOGLE_GEMINI_BASE_URL=case.model.url, GEMINI_CLI_NO_RELAUNCH="true")

    def command(self, case):
        return self.start("-p", TASK, "-m", "gemini-2.5-flash", "--skip-trust", "--yolo")


class Qwen(Gemini):
    row, packages, program = "qwen", ("@qwen-code/qwen-code@0.24.4",), ".bin/qwen"
    hides_the_net = False
    folder, auth = ".qwen", "openai"

    def prepare(self, case):
        super().prepare(case)
        case.env.update(OPENAI_API_KEY="dummy", OPENAI_BASE_URL=case.model.url + "/v1", OPENAI_MODEL="probe-model",
                        QWEN_TELEMETRY_ENABLED="false", QWEN_CODE_NO_RELAUNCH="true")

    def command(self, case):
        return self.start("-p", TASK, "--auth-type", "openai", "--model", "probe-model", "--yolo")


class Copilot(Scripted):
    row, packages, program = "copilot", ("@github/copilot@1.0.102",), ".bin/copilot"

    def prepare(self, case):
        write(case.home / ".copilot/settings.json", {"banner": "never", "trusted_folders": [str(case.work)]})
        case.env.update(COPILOT_OFFLINE="true", COPILOT_PROVIDER_BASE_URL=case.model.url + "/v1", COPILOT_PROVIDER_TYPE="openai",
                        COPILOT_PROVIDER_API_KEY="dummy", COPILOT_MODEL="probe-model", COPILOT_AUTO_UPDATE="false")

    def command(self, case):
        return self.start("-p", TASK, "--allow-all-tools", "--allow-all-paths")


class Cline(Host):
    row, packages, program = "cline", ("cline@3.0.65",), ".bin/cline"
    # The script in between refuses for whatever it starts, and kills what is late: the host waits two minutes.

    def prepare(self, case):
        case.env.update(CLINE_TELEMETRY_DISABLED="1", DO_NOT_TRACK="1", CLINE_NO_AUTO_UPDATE="1")
        subprocess.run(self.start("auth", "-p", "openai-compatible", "-k", "dummy", "-m", "probe-model", "-b", case.model.url + "/v1"),
                       env=case.env, cwd=case.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        (case.home / ".cline").mkdir(exist_ok=True)

    def command(self, case):
        return self.start("--json", "-P", "openai-compatible", "-m", "probe-model", "-t", "200", TASK)


class OpenCode(Host):
    row, packages, program = "opencode", ("opencode-ai@1.18.33",), ".bin/opencode"
    plugin = "@opencode-ai/plugin@1.18.33"
    open_when = {"missing": False, "killed": False, "crash": False, "slow": False}
    folder, file, prefix = ".config/opencode", "opencode.json", "OPENCODE"

    def prepare(self, case):
        folder = case.home / self.folder
        options = {"baseURL": case.model.url + "/v1", "apiKey": "dummy"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "probe", "options": options, "models": {"probe-model": {"name": "probe", "tool_call": True}}}
        write(folder / self.file, {"model": "probe/probe-model", "small_model": "probe/probe-model", "autoupdate": False, "share": "disabled",
                                   "provider": {"probe": provider}, "permission": {"bash": "allow", "edit": "allow", "external_directory": "allow"}})
        # The host fetches the package that plugins may import; here there is no registry to fetch it from.
        ready = self.tools / (self.row + "-plugin")
        os.symlink(ready / "node_modules", folder / "node_modules")
        for name in ("package.json", "package-lock.json"):
            write(folder / name, (ready / name).read_text())
        for name in ("DISABLE_AUTOUPDATE", "DISABLE_MODELS_FETCH", "DISABLE_LSP_DOWNLOAD", "DISABLE_SHARE", "DISABLE_DEFAULT_PLUGINS"):
            case.env[f"{self.prefix}_{name}"] = "1"
        case.env[f"{self.prefix}_TELEMETRY_LEVEL"] = "off"

    def command(self, case):
        return self.start("run", "-m", "probe/probe-model", TASK)


class Kilo(OpenCode):
    row, packages, program = "kilo", ("@kilocode/cli-linux-x64@7.7.9",), "@kilocode/cli-linux-x64/bin/kilo"
    plugin = "@kilocode/plugin@7.3.1"
    folder, file, prefix = ".config/kilo", "kilo.json", "KILO"


class Droid(Host):
    row, packages, program = "droid", ("@factory/cli-linux-x64@0.225.2",), "@factory/cli-linux-x64/bin/droid"

    def prepare(self, case):
        write(case.home / ".factory/settings.json", {"cloudSessionSync": False, "customModels": [{
            "model": "probe-model", "displayName": "probe", "baseUrl": case.model.url + "/v1", "apiKey": "dummy",
            "provider": "generic-chat-completion-api", "maxOutputTokens": 4096}]})
        case.env.update(FACTORY_DROID_AUTO_UPDATE_ENABLED="false", FACTORY_OTEL_ENABLED="false", FACTORY_DISABLE_KEYRING="1", FACTORY_AIRGAP_ENABLED="true")

    def command(self, case):
        return self.start("exec", "-m", "custom:probe-model", "--skip-permissions-unsafe", TASK)


class Vibe(Host):
    """Of Python's package index: `--install` makes an environment for it, with the newest Python that is found."""
    row, wheel = "vibe", "mistral-vibe==3.0.3"
    # `strict = true`
    open_when = {"missing": False, "killed": False, "crash": False, "slow": False}

    def path(self):
        return self.tools / self.row / "bin" / "vibe"

    def prepare(self, case):
        write(case.home / ".vibe/config.toml", f'''active_model = "probe"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
[[providers]]
name = "probe"
api_base = "{case.model.url}/v1"
api_key_env_var = "PROBE_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "probe-model"
provider = "probe"
alias = "probe"
''')
        case.env["PROBE_KEY"] = "dummy"

    def command(self, case):
        return self.start("-p", TASK, "--auto-approve", "--trust")


HOSTS = {host.row: host for host in (Claude, Codex, Gemini, Qwen, Copilot, Cline, OpenCode, Kilo, Droid, Vibe)}
