"""The socket, and the loop that serves it until a signal; begun requests are finished first."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import uvicorn
from sse_starlette.sse import AppStatus

from memsweep.errors import BadInput
from memsweep.web.connections import EndingServer, limits

if TYPE_CHECKING:
    from memsweep.server.http.door import Door

_FINISH_SECONDS = 30


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
        loop="asyncio",
        lifespan="on",
        log_config=None,
        timeout_graceful_shutdown=_FINISH_SECONDS,
        **limits(patience_seconds),
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


class _Server(EndingServer):
    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._door.end_streams()
        await super().shutdown(sockets)
