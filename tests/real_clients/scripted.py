"""A model on loopback that says what the script says: Anthropic's Messages and OpenAI's Responses, streamed."""

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMPACTING = ("CRITICAL: Respond with TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION")
SUMMARY = "<summary>A summary of the conversation.</summary>"


@dataclass(frozen=True)
class Step:
    """One answer of the model: what it says, the tools it calls, and how many tokens it claims to have read."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    input_tokens: int = 0


@dataclass
class ScriptedModel:
    """Answers requests of the agent's main loop in order, then says that it is done; keeps every request."""

    steps: list[Step] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, body: Mapping[str, Any]) -> Step:
        last = json.dumps([*body.get("messages", body.get("input", []))][-3:])
        with self._lock:
            if any(mark in last for mark in COMPACTING):
                return Step(SUMMARY)
            if path.startswith("/v1/messages") and not body.get("tools"):
                return Step('{"title": "scripted"}')
            self.requests.append(dict(body))
            return self.steps.pop(0) if self.steps else Step("Done.")

    def texts(self) -> list[str]:
        """Each request of the main loop as one text."""
        return [json.dumps(request, ensure_ascii=False) for request in self.requests]


@contextmanager
def scripted(*steps: Step) -> Iterator[ScriptedModel]:
    model = ScriptedModel(list(steps))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": model}))
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def do_CONNECT(self) -> None:
        """Whoever looks for the internet does not find it here."""
        self._json(403, {"error": "there is no internet here"})
        self.close_connection = True

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._json(200 if "models" in self.path else 404, {"data": [], "models": [], "object": "list"})

    def do_POST(self) -> None:
        path, body = self.path.partition("?")[0], self._body()
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": 100})
        elif path == "/v1/messages":
            self._say(body, list(_messages_events(self.model.answer(path, body))))
        elif path == "/v1/responses":
            self._say(body, list(_responses_events(self.model.answer(path, body))))
        else:
            self._json(404, {"error": {"message": "not scripted"}})

    def _body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        found = json.loads(raw or b"{}")
        return found if isinstance(found, dict) else {}

    def _say(self, body: Mapping[str, Any], events: Sequence[dict[str, Any]]) -> None:
        if not body.get("stream"):
            self._json(200, events[0].get("message") or events[-1]["response"])
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True

    def _json(self, status: int, value: Mapping[str, Any]) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


def _messages_events(step: Step) -> Iterator[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [{"type": "tool_use", "id": _id("toolu"), "name": name, "input": given} for name, given in step.calls]
    usage = {"input_tokens": step.input_tokens or 100, "output_tokens": 10}
    stop = "tool_use" if step.calls else "end_turn"
    message = {"id": _id("msg"), "type": "message", "role": "assistant", "model": "scripted", "content": blocks}
    yield {"type": "message_start", "message": {**message, "stop_reason": stop, "stop_sequence": None, "usage": usage}}
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if is_text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _responses_events(step: Step) -> Iterator[dict[str, Any]]:
    own = _id("resp")
    items: list[dict[str, Any]] = []
    if step.text:
        said = [{"type": "output_text", "text": step.text, "annotations": []}]
        items.append({"type": "message", "role": "assistant", "id": _id("msg"), "content": said})
    for name, given in step.calls:
        call = {"id": _id("fc"), "call_id": _id("call"), "name": name}
        kind = {"type": "custom_tool_call", "input": given} if isinstance(given, str) else {"type": "function_call"}
        items.append({**call, **kind, **({} if isinstance(given, str) else {"arguments": json.dumps(given)})})
    read = step.input_tokens or 100
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + 10,
    }
    yield {"type": "response.created", "response": {"id": own, "status": "in_progress", "output": []}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    done = {"id": own, "object": "response", "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:16]}"
