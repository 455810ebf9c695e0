"""One transaction on a graph that knows none: read under the writer's place, then change all of it in one query.

A writer takes the place (a key with a short lease, so that a process that dies frees it) and reads the
revision. What it wants to change is gathered and sent as a single query, which the server does whole or
not at all, and which finds nothing to do unless the revision is still the one that was read. So the
lease is only there for politeness: two writers who both believe to have the place cannot both win.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memsweep.errors import StoreAway, StoreBusy
from memsweep.store.falkor import cypher
from memsweep.store.falkor.link import Link, change_command
from memsweep.store.falkor.wire import Row, rows_of

_LEASE_MILLISECONDS = 10_000
_RENEW_SECONDS = 2.0
_PATIENCE_SECONDS = 30.0
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03)
_NODE_BYTES = 256
_LEAVE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class Graph:
    """The graph of one workspace."""

    def __init__(self, link: Link, name: str) -> None:
        self.link = link
        self.name = name

    def ask(self, query: str, **values: Any) -> list[Row]:
        return self.link.ask(query, self.name, **values)

    def ask_all(self, *queries: tuple[str, dict[str, Any]]) -> list[list[Row]]:
        return self.link.ask_all(self.name, *queries)

    def meta(self) -> dict[str, Any]:
        """What the workspace says of itself."""
        ((found,),) = self.ask(cypher.META)
        return dict(found)

    def size_bytes(self) -> int:
        """The server counts whole megabytes; less is an estimate by the number of nodes."""
        told = self.link.read("GRAPH.MEMORY", "USAGE", self.name)
        megabytes = told.get(b"total_graph_sz_mb", 0) if isinstance(told, dict) else told[1]
        return int(megabytes) << 20 or self.ask(cypher.COUNT_NODES)[0][0] * _NODE_BYTES

    @contextmanager
    def writing(self, afterwards: Callable[[Mapping[str, Any]], None] | None = None) -> Iterator[Change]:
        """Gather changes; leaving without an error makes them, all at once. Then comes `afterwards`, still in place."""
        change = self._begin()
        try:
            yield change
            change.commit(leave=afterwards is None)
            if afterwards is not None:
                afterwards(change.meta)
        except StoreAway:
            change.left = True  # nobody to say it to; the lease ends by itself
            raise
        finally:
            if not change.left:
                self.link.send_all([change.leave_command()])

    def _begin(self) -> Change:
        token = secrets.token_hex(8)
        take = ("SET", f"{self.name}:writer", token, "NX", "PX", _LEASE_MILLISECONDS)
        look = ("GRAPH.RO_QUERY", self.name, cypher.META, "--compact")
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for attempt in range(10**9):
            taken, reply = self.link.send_all([take, look])
            if taken:
                return Change(self, token, rows_of(reply)[0][0])
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"another process has been writing to this workspace for {_PATIENCE_SECONDS:g} s.",
                    hint="Try again.",
                )
            time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        raise AssertionError("unreachable")


class Change:
    """What one transaction reads and will change. Reads do not see what was only gathered yet."""

    def __init__(self, graph: Graph, token: str, meta: Mapping[str, Any]) -> None:
        self.meta = dict(meta)
        self._graph, self._token = graph, token
        self._steps: list[tuple[str, list[Any]]] = []
        self._set: dict[str, Any] = {}
        self._keys: int = self.meta["keys"]
        self._renewed = time.monotonic()
        self.left = False

    def ask(self, query: str, **values: Any) -> list[Row]:
        self._renew()
        return self._graph.ask(query, **values)

    def ask_all(self, *queries: tuple[str, dict[str, Any]]) -> list[list[Row]]:
        self._renew()
        return self._graph.ask_all(*queries)

    def new_key(self) -> int:
        """Numbers that never come back, in the order of commits."""
        self._keys += 1
        return self._keys

    def do(self, step: str, rows: Iterable[Any]) -> None:
        """Gather a step: Cypher that does something with each `row`. Steps are done in the order they came."""
        wanted = list(rows)
        if not wanted:
            return
        if self._steps and self._steps[-1][0] == step:
            self._steps[-1][1].extend(wanted)
        else:
            self._steps.append((step, wanted))

    def set_meta(self, **values: Any) -> None:
        self.meta |= values
        self._set |= values

    def commit(self, *, leave: bool) -> None:
        """All of it in one query, and the writer's place is free again unless something follows."""
        if not self._steps and not self._set and self._keys == self.meta["keys"]:
            return
        values: dict[str, Any] = {f"rows{n}": rows for n, (_, rows) in enumerate(self._steps)}
        values |= {"revision": self.meta["revision"], "meta": {**self._set, "keys": self._keys}}
        query = cypher.all_at_once([step for step, _ in self._steps])
        commands = [change_command(self._graph.name, query, values)]
        reply, *_ = self._graph.link.send_all([*commands, self.leave_command()] if leave else commands)
        self.left = leave
        if not rows_of(reply):
            raise StoreBusy(
                "another process wrote to this workspace meanwhile; nothing was changed.", hint="Try again."
            )

    def leave_command(self) -> tuple[Any, ...]:
        return "EVAL", _LEAVE, 1, f"{self._graph.name}:writer", self._token

    def _renew(self) -> None:
        if time.monotonic() - self._renewed > _RENEW_SECONDS:
            self._graph.link.write("PEXPIRE", f"{self._graph.name}:writer", _LEASE_MILLISECONDS)
            self._renewed = time.monotonic()
