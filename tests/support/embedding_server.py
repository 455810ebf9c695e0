"""A small embedding server that speaks both protocols, well or badly as the test wishes."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class EmbeddingServer:
    """`mood` says how it answers; `asked` is what it was asked, `headers` with which headers."""

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.mood = "well"
        self.asked: list[list[str]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()  # ends the wait of a server in the mood "silent"
        self.fails_after = 10**9
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def settings(self, provider: str, model: str = "tiny", **more: str) -> dict[str, str]:
        path = "/v1" if provider == "openai" else ""
        return {
            "MEMSWEEP_EMBEDDING_PROVIDER": provider,
            "MEMSWEEP_EMBEDDING_URL": self.url + path,
            "MEMSWEEP_EMBEDDING_MODEL": model,
            **more,
        }

    def vector(self, text: str) -> list[float]:
        """Words decide: texts that share words are close."""
        rows = [hashlib.sha256(word.encode()).digest() for word in text.lower().split()]
        sums = [sum(row[at] - 127.5 for row in rows) for at in range(self.dimension)]
        return [value / 128 for value in sums]

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _answer(self, path: str, texts: list[str]) -> tuple[int, bytes]:
        mood = "error" if len(self.asked) > self.fails_after else self.mood
        rows: list[Any] = [self.vector(text) for text in texts]
        match mood:
            case "error":
                return 500, b"the model fell over"
            case "unknown model":
                return 404, b'{"error": "model not found"}'
            case "redirect":
                return 302, b""
            case "no json":
                return 200, b"<html>hello</html>"
            case "not utf-8":
                return 200, b"\xff\xfe\x00"
            case "another shape":
                return 200, b'{"result": []}'
            case "a list":
                return 200, b"[]"
            case "too few":
                rows = rows[:-1]
            case "too many":
                rows = [*rows, rows[0]]
            case "ragged":
                rows = [[*row, 1.0] if at % 2 else row for at, row in enumerate([*rows, *rows])][: len(rows)]
                rows[-1] = rows[-1][:-1] if len(rows) > 1 else "text"
            case "words":
                rows = ["a", "b"]
            case "nan":
                rows[0] = [float("nan")] * self.dimension
            case "infinite":
                rows[0] = [1e400] * self.dimension
            case "null":
                rows[0] = [None] * self.dimension
            case "empty rows":
                rows = [[] for _ in rows]
            case "nothing":
                rows = []
            case "silent":
                self.released.wait()
        if path.endswith("/api/embed"):
            return 200, json.dumps({"embeddings": rows}).encode()
        items = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
        return 200, json.dumps({"data": items[::-1]}).encode()

    def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append(body["input"])
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, answer = server._answer(self.path, body["input"])
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.send_header("Location", server.url)
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass  # the client has hung up

            def log_message(self, *_: object) -> None: ...

        return Handler
