"""Limit a connection, the same at every door that speaks HTTP: how long, how many, how much."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memsweep.deadline import end_process_within

_IDLE_SECONDS = 60
MOST_CONNECTIONS = 512
_MOST_HEAD_BYTES = 64 * 1024
_CLOSE_SECONDS = 5


def limits(patience_seconds: float) -> dict[str, Any]:
    """Of uvicorn's configuration; `patience_seconds`: how long a client may take to send the head of a request."""
    return {
        "http": partial(_PatientProtocol, patience_seconds=patience_seconds),
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": MOST_CONNECTIONS + 1,  # which this one more must not reach
        "timeout_keep_alive": _IDLE_SECONDS,
        "h11_max_incomplete_event_size": _MOST_HEAD_BYTES,
    }


class EndingServer(uvicorn.Server):
    """A server whose process ends when it was told to, also where a call goes on."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        end_process_within((self.config.timeout_graceful_shutdown or 0) + _CLOSE_SECONDS)
        await super().shutdown(sockets)


class _PatientProtocol(H11Protocol):
    """Uvicorn waits for the head of a request for ever; this one hangs up on who never sends it.

    Where there are too many connections, one on which nothing is being answered gives its place to a new one.
    """

    def __init__(self, *arguments: Any, patience_seconds: float, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience_seconds = patience_seconds
        self._giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Gathering(transport, self.loop))  # type: ignore[arg-type]
        self._idle_since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_since = self.loop.time()
        if self.conn.trailing_data[0] and not self._is_answering():  # the next request has begun already
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _make_room(self) -> None:
        """Hang up on who has been idle longest at the address that has most of the idle connections."""
        known: set[Any] = self.connections - {self}
        others = [each for each in known if not each._is_answering()]
        of_address = Counter(each.address for each in others)
        if others:
            left = min(others, key=lambda each: (-of_address[each.address], each._idle_since))
            self.connections.discard(left)  # at once, and not only when the loop comes to it
            left.transport.close()

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

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


class _Gathering:
    """A transport that sends the head and the body of an answer together: whoever waits for it wakes up once."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._kept: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if data and not self._kept:
            self._loop.call_soon(self._send)
        self._kept += [data] if data else []

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        kept, self._kept = self._kept, []
        if kept:
            self._transport.write(b"".join(kept))
