"""A real server over HTTP, and requests to it that no library has put right."""

import http.client
import itertools
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

from tests.support.client import Asked, ServerClient
from tests.support.environment import environment
from tests.support.waiting import PATIENCE, wait_for
from tests.support.warm_python import warm_python

MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"
_ADDRESS = re.compile(r"serves agents at http://[^/]*:(\d+)/mcp")
_ids = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class HttpServer:
    """A process that serves a home on a port of its own; what it says is in a file."""

    def __init__(
        self, home: Path, log: Path, arguments: Sequence[str], *, warm: bool = False, module: str = "", **settings: str
    ) -> None:
        """`module`: what to run instead of `memsweep serve --http`."""
        self.home, self.log, self._is_warm = home, log, warm
        program = warm_python() if warm else [sys.executable]
        served = [module] if module else ["memsweep", "serve", "--http", "--port", "0"]
        command = [*program, "-m", *served, *arguments]
        with log.open("wb") as errors:
            env = environment(home, **settings)
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=errors)
        wait_for(lambda: self._port() or self.process.poll() is not None, "the server")
        assert self._port(), log.read_text()
        self.port = int(self._port())

    def _port(self) -> str:
        found = _ADDRESS.search(self.log.read_text())
        return found.group(1) if found else ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def first_token(self) -> str:
        return (self.home / "http-token").read_text().strip()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str | None) -> Answer:
        """One request on a connection of its own. `host=None` leaves out what would be sent otherwise."""
        connection = self.connect()
        try:
            return ask(connection, method, path, body, **headers)
        finally:
            connection.close()

    def rpc(self, token: str, method: str, params: Mapping[str, Any] | None = None, **headers: str | None) -> Answer:
        """A request of the newest protocol, which needs no handshake."""
        connection = self.connect()
        try:
            return rpc(connection, token, method, params, **headers)
        finally:
            connection.close()

    def call(self, token: str, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        answer = self.rpc(token, "tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer
        return answer.json["result"]

    def raw(self, *pieces: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        for piece in pieces:
            connection.sendall(piece)
        return connection

    def end(self) -> int:
        """Ask it to stop, and wait until it has."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL if self._is_warm else signal.SIGTERM)
        return self.process.wait(PATIENCE)


def is_hung_up_on(connection: socket.socket) -> bytes:
    """All that comes until the server ends the connection, which it has to."""
    with connection:
        said = b""
        while part := connection.recv(1 << 16):
            said += part
        return said


def open_session(server: HttpServer, secret: str) -> dict[str, str]:
    """The headers of a session of the older protocol, whose answers are streams."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    opened = server.ask("POST", "/mcp", body, **plain, authorization=f"Bearer {secret}")
    return {**plain, "authorization": f"Bearer {secret}", "mcp-session-id": opened.headers["mcp-session-id"]}


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | Iterator[bytes] | None = None,
    **headers: str | None,
) -> Answer:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host="host" in given, skip_accept_encoding=True)
    for name, value in given.items():
        if value is not None:
            connection.putheader(name, value)
    is_chunked = body is not None and not isinstance(body, bytes)
    if is_chunked:
        connection.putheader("transfer-encoding", "chunked")
    elif body is not None and "content-length" not in given:
        connection.putheader("content-length", str(len(body)))  # type: ignore[arg-type]
    with suppress(BrokenPipeError, ConnectionResetError):  # who is refused early may not be read to the end
        connection.endheaders(body, encode_chunked=is_chunked)
    response = connection.getresponse()
    return Answer(response.status, {key.lower(): each for key, each in response.getheaders()}, response.read().decode())


def rpc_body(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    meta = {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientInfo": {"name": "raw", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    asked = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": {**(params or {}), "_meta": meta}}
    return json.dumps(asked).encode()


def rpc_headers(token: str, method: str, params: Mapping[str, Any] | None = None) -> dict[str, str]:
    return {
        **({"authorization": f"Bearer {token}"} if token else {}),
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **({"mcp-name": str(params["name"])} if params and "name" in params else {}),
    }


def rpc(
    connection: http.client.HTTPConnection,
    token: str,
    method: str,
    params: Mapping[str, Any] | None = None,
    **headers: str | None,
) -> Answer:
    known = {**rpc_headers(token, method, params), **{key.replace("_", "-"): each for key, each in headers.items()}}
    return ask(connection, "POST", "/mcp", rpc_body(method, params), **known)


@contextmanager
def serving(home: Path, log: Path, *arguments: str, warm: bool = True, **settings: str) -> Iterator[HttpServer]:
    """A server that has ended afterwards, without a word of anything that went wrong unseen."""
    server = HttpServer(home, log, arguments, warm=warm, **settings)
    try:
        yield server
    finally:
        server.end()
    assert "Traceback" not in log.read_text()


@contextmanager
def client_of(url: str, token: str, mode: str, asked: Asked | None = None) -> Iterator[ServerClient]:
    """The SDK's client over HTTP, of one generation of the protocol."""

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        assert asked is not None
        return await asked(params.message)

    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        http_client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
        stack.enter_context(portal.wrap_async_context_manager(http_client))
        asking = {} if asked is None else {"elicitation_callback": answer}
        transport = streamable_http_client(url, http_client=http_client)
        client = Client(transport, mode=mode, **asking)  # type: ignore[arg-type]
        stack.enter_context(portal.wrap_async_context_manager(client))
        yield ServerClient(portal, client)
