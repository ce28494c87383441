"""A model that plays a part: it answers on the loopback in four wire formats.

The part is a list of turns, each a shell command or a call of a named tool. Every request is answered
with the turn that comes next, told by how many results of calls the conversation holds already; past
the last turn the model says that it is done. What it was shown as results is kept for whoever judges.
"""
import http.server
import json
import re
import threading

SHELLS = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "run_commands", "Execute")
DONE = "All done."


class Call:
    """One turn: a command for whatever shell tool is offered, or a call of a tool by its name."""

    def __init__(self, command=None, tool=None, args=None):
        self.command, self.tool, self.args = command, tool, args or {}


def tools_of(body):
    """(name, JSON schema, kind) of each tool that a request offers."""
    for entry in body.get("tools") or []:
        declared = entry.get("functionDeclarations") or entry.get("function_declarations")
        if declared:
            for one in declared:
                yield one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {}, "gemini"
        elif isinstance(entry.get("function"), dict):
            yield entry["function"]["name"], entry["function"].get("parameters") or {}, "chat"
        elif entry.get("type") == "namespace":
            for one in entry.get("tools") or []:
                yield one.get("name"), one.get("parameters") or {}, "namespace " + entry["name"]
        elif entry.get("name"):
            yield entry["name"], entry.get("input_schema") or entry.get("parameters") or {}, entry.get("type") or "tool"


def flat(value):
    """The text of a result, however deep it lies."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(flat(part) for part in value)
    if isinstance(value, dict):
        return flat(value["text"]) if "text" in value else json.dumps(value)
    return json.dumps(value)


def results_of(body):
    """The texts of all results of calls in a conversation, oldest first."""
    found = []
    for message in body.get("messages") or []:
        if message.get("role") == "tool":
            found.append(flat(message.get("content")))
        elif isinstance(message.get("content"), list):
            found += [flat(part.get("content")) for part in message["content"] if isinstance(part, dict) and part.get("type") == "tool_result"]
    for item in body.get("input") if isinstance(body.get("input"), list) else []:
        if str(item.get("type")).endswith("_output"):
            found.append(flat(item.get("output")))
    for content in body.get("contents") or []:
        found += [flat(part["functionResponse"].get("response")) for part in content.get("parts") or [] if "functionResponse" in part]
    return found


def kind_of(schema):
    kind = schema.get("type") or next((one.get("type") for one in schema.get("anyOf") or []), "string")
    kind = next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind
    return str(kind).lower()


def filled(schema, command, directory):
    """Arguments that a tool's schema asks for, with the command where commands go."""
    known = schema.get("properties") or {}
    place = next((name for name in ("command", "cmd", "commands") if name in known), "command")
    is_list = kind_of(known.get(place, {})) == "array"
    args = {place: ([command] if place == "commands" else ["bash", "-c", command]) if is_list else command}
    plain = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}
    for name in schema.get("required") or []:
        if name not in args:
            one = known.get(name, {})
            by_name = directory if name in ("cwd", "workdir", "directory", "dir_path") else "as asked"
            args[name] = (one.get("enum") or [plain.get(kind_of(one), by_name)])[0]
    return args


class Model:
    """The server; `url` is where it listens, `results` what the host showed it last."""

    def __init__(self, turns, directory):
        self.turns, self.directory, self.results, self.offered, self.requests = turns, directory, [], [], 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply({"object": "list", "data": [{"id": "probe-model", "object": "model", "owned_by": "probe"}], "models": []})

            do_HEAD = do_GET

            def do_POST(self):
                body = read_body(self)
                path = self.path.partition("?")[0]
                if path.endswith("count_tokens"):
                    self.reply({"input_tokens": 9})
                elif path.endswith(":countTokens"):
                    self.reply({"totalTokens": 9})
                elif path.endswith("/messages"):
                    anthropic(self, body, *model.next(body))
                elif path.endswith("/responses"):
                    responses(self, body, *model.next(body))
                elif path.endswith("/chat/completions"):
                    chat(self, body, *model.next(body))
                elif "enerateContent" in path:
                    gemini(self, body, *model.next(body), streamed="stream" in path)
                else:
                    self.reply({"error": {"message": "not here", "type": "not_found"}}, status=404)

            def reply(self, data, kind="application/json", status=200):
                data = data if isinstance(data, bytes) else json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    try:
                        self.wfile.write(data)
                    except BrokenPipeError:
                        pass

            def events(self, events, ending=b""):
                lines = b"".join((f"event: {name}\n".encode() if name else b"") + b"data: " + json.dumps(data).encode() + b"\n\n" for name, data in events)
                self.reply(lines + ending, "text/event-stream")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def next(self, body):
        """(text, call or None) for a request; a call is (id, tool, arguments, kind)."""
        self.requests += 1
        results = results_of(body)
        if len(results) >= len(self.results):
            self.results = results
        tools = {name: (schema, kind) for name, schema, kind in tools_of(body)}
        self.offered = self.offered or sorted(tools)
        place = len(results)
        if place >= len(self.turns):
            return DONE, None
        turn = self.turns[place]
        name = turn.tool or next((shell for shell in SHELLS if shell in tools), None)
        if name not in tools:
            # A side request of the host (a title, a summary): no part of the play.
            return DONE, None
        schema, kind = tools[name]
        if turn.command is not None:
            args = filled(schema, turn.command, self.directory)
        else:
            # A session that an earlier call opened is named by the newest number in its result.
            numbers = re.findall(r"(?:session|process|shell)\D{0,12}(\d+)", results[-1], re.I) if results else []
            session = int(numbers[-1]) if numbers else 0
            args = {key: session if value == "<session>" else value for key, value in turn.args.items()}
        return "", (f"call_{place}", name, args, kind)


def read_body(handler):
    length = handler.headers.get("Content-Length")
    if length is not None:
        raw = handler.rfile.read(int(length))
    else:
        raw = b""
        while size := int(handler.rfile.readline().split(b";")[0] or b"0", 16):
            raw += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
    if handler.headers.get("Content-Encoding") == "gzip":
        import gzip
        raw = gzip.decompress(raw)
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def anthropic(out, body, text, call):
    block = {"type": "tool_use", "id": call[0], "name": call[1], "input": call[2]} if call else {"type": "text", "text": text}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    ending = "tool_use" if call else "end_turn"
    if not body.get("stream"):
        return out.reply({**message, "content": [block], "stop_reason": ending})
    start = {**block, "input": {}} if call else {**block, "text": ""}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(call[2])} if call else {"type": "text_delta", "text": text}
    steps = [("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
             ("content_block_start", {"index": 0, "content_block": start}),
             ("content_block_delta", {"index": 0, "delta": delta}), ("content_block_stop", {"index": 0}),
             ("message_delta", {"delta": {"stop_reason": ending, "stop_sequence": None}, "usage": {"output_tokens": 1}}), ("message_stop", {})]
    out.events([(name, {"type": name, **data}) for name, data in steps])


def responses(out, body, text, call):
    if call is None:
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    elif call[3] == "custom":
        item = {"id": "ct_1", "type": "custom_tool_call", "call_id": call[0], "name": call[1], "status": "completed", "input": str(next(iter(call[2].values()), ""))}
    else:
        item = {"id": "fc_1", "type": "function_call", "call_id": call[0], "name": call[1], "status": "completed", "arguments": json.dumps(call[2])}
        if call[3].startswith("namespace "):
            item["namespace"] = call[3].partition(" ")[2]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body.get("model"), "output": [item], "usage": usage}
    if not body.get("stream"):
        return out.reply(whole)
    steps = [("response.created", {"response": {**whole, "status": "in_progress", "output": []}}),
             ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}})]
    if call is None:
        steps.append(("response.output_text.delta", {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": text}))
    steps += [("response.output_item.done", {"output_index": 0, "item": item}), ("response.completed", {"response": whole})]
    out.events([(name, {"type": name, "sequence_number": place, **data}) for place, (name, data) in enumerate(steps)])


def chat(out, body, text, call):
    calls = [{"index": 0, "id": call[0], "type": "function", "function": {"name": call[1], "arguments": json.dumps(call[2])}}] if call else []
    said = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    ending, usage = "tool_calls" if call else "stop", {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    base = {"id": "chat_1", "created": 1, "model": body.get("model")}
    if not body.get("stream"):
        return out.reply({**base, "object": "chat.completion", "usage": usage, "choices": [{"index": 0, "message": said, "finish_reason": ending}]})
    part = lambda delta, end=None: (None, {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    last = (None, {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    out.events([part(said), part({}, ending), last], b"data: [DONE]\n\n")


def gemini(out, body, text, call, streamed):
    wanted = body.get("generationConfig") or {}
    if call is None and (wanted.get("responseMimeType") == "application/json" or wanted.get("responseJsonSchema")):
        # The host asks who speaks next, or which model to take.
        text = json.dumps({"reasoning": "done", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1, "complexity_reasoning": "plain"})
    part = {"functionCall": {"id": call[0], "name": call[1], "args": call[2]}} if call else {"text": text}
    answer = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
              "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "probe"}
    if not streamed:
        return out.reply(answer)
    return out.events([(None, answer)]) if "alt=sse" in out.path else out.reply([answer])
