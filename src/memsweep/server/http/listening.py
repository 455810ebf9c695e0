"""The socket, and the loop that serves it until a signal; begun requests are finished first."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from sse_starlette.sse import AppStatus
from uvicorn.protocols.http.h11_impl import H11Protocol

from memsweep.errors import BadInput

if TYPE_CHECKING:
    from memsweep.server.http.door import Door

_IDLE_SECONDS = 60
_FINISH_SECONDS = 30
_MOST_CONNECTIONS = 512
_MOST_HEAD_BYTES = 64 * 1024


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens already: whoever comes early waits."""
    plain = "127.0.0.1" if host.lower() == "localhost" else host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        listener = socket.create_server((plain, port), family=family, backlog=128)
    except OSError as error:
        raise BadInput(
            f"cannot listen on {host}:{port} ({error.strerror or error}).",
            hint="Choose another --port, or stop what is there.",
        ) from None
    # asyncio lets answers go at once on a socket that says it is TCP; otherwise each waits 40 ms for its client.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


def serve_until_signalled(door: Door, listener: socket.socket, patience_seconds: float) -> None:
    """`patience_seconds`: how long a client may take to send the head of a request."""
    # The library would cut off answers that are being streamed; ours are finished, and only endless ones are ended.
    AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
    config = uvicorn.Config(
        door.asgi,
        http=partial(_PatientProtocol, patience_seconds=patience_seconds),  # type: ignore[arg-type]
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_FINISH_SECONDS,
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
    )
    with _signals_end_quietly():
        _Server(config, door).run(sockets=[listener])


@contextlib.contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """Uvicorn sends itself the signal again when all is done; there is nothing left to end by then."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: None) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.end_streams()
        await super().shutdown(sockets)


class _PatientProtocol(H11Protocol):
    """Uvicorn waits for the head of a request for ever; this one hangs up on who never sends it."""

    def __init__(self, *arguments: Any, patience_seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience_seconds = patience_seconds
        self._giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.trailing_data[0] and not self._is_answering():  # the next request has begun already
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        """From the first byte on; what comes drop by drop gets no more time."""
        if self._giving_up is None:
            self._giving_up = self.loop.call_later(self._patience_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
