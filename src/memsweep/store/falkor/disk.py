"""Rewrite the files on a server's disk, so that nothing is left there of what was freed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.errors import StoreError

if TYPE_CHECKING:
    from memsweep.store.falkor.link import Link

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.02


class _Copy(NamedTuple):
    """A form in which the server keeps its data, the command that makes it anew, and how `INFO` speaks of that."""

    name: str
    command: str
    running: tuple[str, ...]
    outcome: str


_LOG = _Copy("log", "BGREWRITEAOF", ("aof_rewrite_in_progress", "aof_rewrite_scheduled"), "aof_last_bgrewrite_status")
_SNAPSHOT = _Copy("snapshot", "BGSAVE", ("rdb_bgsave_in_progress",), "rdb_last_bgsave_status")


def rewrite(link: Link, key: str) -> list[str]:
    """Have the log, or the snapshot where there is no log, made anew, and wait; what may still be there, in words.

    Replicas write logs of their own, which only they can be asked to make anew.
    """
    copy = _LOG
    try:
        forget_queries(link, key)
        if not _persistence(link, key)["aof_enabled"]:
            copy = _SNAPSHOT
            if not _takes_snapshots(link, key):
                return []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        _wait(link, key, copy, deadline)  # one that has begun before may still hold it
        link.at_node_of(key, copy.command)
        status = _wait(link, key, copy, deadline)
    except StoreError as error:
        return [_left(copy, error.message.rstrip("."))]
    return [] if status == "ok" else [_left(copy, f"its last attempt said {status!r}")]


def forget_queries(link: Link, key: str) -> None:
    """The server keeps the last queries of a graph, with all their values, in a stream beside it."""
    stream = f"telemetry{{{key}}}"
    link.at_node_of(stream, "UNLINK", stream)


def _persistence(link: Link, key: str) -> dict[str, Any]:
    said: dict[str, Any] = link.at_node_of(key, "INFO", "persistence")
    return said


def _takes_snapshots(link: Link, key: str) -> bool:
    said = link.at_node_of(key, "CONFIG", "GET", "save")
    values = said.values() if isinstance(said, dict) else said[1:]
    return any(bool(value) for value in values)


def _wait(link: Link, key: str, copy: _Copy, deadline: float) -> str:
    while any((said := _persistence(link, key))[name] for name in copy.running):
        if time.monotonic() > deadline:
            return "still running"
        time.sleep(_PAUSE_SECONDS)
    return str(said[copy.outcome])


def _left(copy: _Copy, why: str) -> str:
    return (
        f"The {copy.name} on the disk of the FalkorDB server may still have it: it could not be written anew ({why})."
        f" {copy.command} does it there."
    )
