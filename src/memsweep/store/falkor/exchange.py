"""One way to a server and back: commands that are written at once, and their answers in order.

The pipelines of the client library do the same, and take half as long again for hooks that nothing here uses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redis import exceptions as refused

from memsweep.forking import new_lock

Command = Sequence[Any]


class Broken(refused.ConnectionError):
    """The connection broke after something was sent: it may have been done."""


def exchanged(client: Any, commands: Sequence[Command]) -> list[Any]:
    """The answers to several commands, each done on its own; the first refusal is raised when all have been read."""
    sent = _send(client, commands)
    replies = sent.read()
    for reply in replies:
        if isinstance(reply, refused.ResponseError):
            raise reply
    return replies


class _Sent(NamedTuple):
    """A connection with so many answers to come; nobody else has it until they are read."""

    pool: Any
    connection: Any
    answers: int

    def read(self) -> list[Any]:
        try:
            return [self._reply() for _ in range(self.answers)]
        finally:  # where reading was cut short, the connection has closed itself: no answer is left to be mistaken
            self.pool.release(self.connection)

    def _reply(self) -> Any:
        with _closed_if_broken(self.connection):
            try:
                return self.connection.read_response()
            except refused.ResponseError as error:
                return error

    def is_of_this_process(self) -> bool:
        return bool(self.connection.pid == os.getpid())


def _send(client: Any, commands: Sequence[Command]) -> _Sent:
    pool = client.connection_pool
    connection = pool.get_connection()
    try:
        with _closed_if_broken(connection):
            connection.send_packed_command(connection.pack_commands(commands))
    except BaseException:
        pool.release(connection)
        raise
    return _Sent(pool, connection, len(commands))


@contextlib.contextmanager
def _closed_if_broken(connection: Any) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        connection.disconnect()
        if type(error) is refused.ConnectionError:  # not a refusal that the server answers with
            raise Broken(str(error)) from error
        raise


class Unawaited:
    """Commands that nobody waits for: whoever sends the next one reads their answers first.

    So all that this process asks for comes after them, as if it had waited.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._sent: list[_Sent] = []

    def send(self, client: Any, commands: Sequence[Command]) -> None:
        self._sent.append(_send(client, commands))

    def read(self) -> None:
        """Read the replies. Refused or lost ones are not told: whoever needs one to be done waits for it."""
        if not self._sent:
            return
        with self._lock:
            while self._sent:
                try:
                    _drained(self._sent[0])
                finally:
                    del self._sent[0]


def _drained(sent: _Sent) -> None:
    if not sent.is_of_this_process():  # the answers are for the process that this one was forked from
        sent.connection.disconnect()
        return
    try:
        sent.read()
    except refused.ConnectionError:
        return
