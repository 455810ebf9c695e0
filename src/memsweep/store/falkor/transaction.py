"""A transaction on FalkorDB, which has none of several queries: optimistic, with one query that does all of it.

FalkorDB runs one query whole or not at all, but MULTI does not roll back and scripts may not query a graph. So a
writer reads the workspace's revision and whatever it must know, decides in Python, and sends every change as a
single query of `CALL {...}` steps. That query finds nothing to do unless the revision is still the one that was
read, and raises it by one: of two writers who read the same revision, one succeeds and the other is refused.

That alone is correct. The *writer lease* (a key with an expiry, renewed while the writer works) only makes it
polite: others wait for it instead of failing at the end. A process that dies loses its lease by the server's clock,
and nothing has to be cleaned up, because nothing was written before that one query.

Two consequences for callers: a transaction never sees its own writes, and all of them must fit into one query.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from typing import Any

from memsweep.errors import StoreAway, StoreBusy
from memsweep.store.falkor import cypher
from memsweep.store.falkor.link import Command, Link, change_command, question
from memsweep.store.falkor.wire import Query, Row, rows_of, rows_of_each

_LEASE_MILLISECONDS = 10_000
_RENEW_SECONDS = 2.0
_PATIENCE_SECONDS = 30.0
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03)
_NODE_BYTES = 256
_SETTLE_EVERY = 5_000
# A lease need not outlast the server, so neither its log nor a replica hears of it, and nothing waits for a disk.
_TAKE = "redis.set_repl(redis.REPL_NONE) return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])"
_LEAVE = """
    redis.set_repl(redis.REPL_NONE)
    if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"""


class GraphHandle:
    """The graph of one workspace."""

    def __init__(self, link: Link, name: str) -> None:
        self.link = link
        self.name = name
        self.seen: dict[str, Any] = {}  # what the workspace last said of itself
        self.lasting: dict[Any, list[Any]] = {}  # rows that never go, by the read that found them
        self.tiers: dict[int, str] = {}  # of origins that were asked for
        self._steady: tuple[int, dict[Command, Any]] = -1, {}  # answers that hold for a revision

    def question(self, query: str, **values: Any) -> Command:
        return question(self.name, query, values)

    def ask(self, query: str, **values: Any) -> list[Row]:
        """Read; a replica may answer."""
        return rows_of(self.link.read(*self.question(query, **values)))

    def ask_all(self, *queries: Query) -> list[list[Row]]:
        """Several reads in one go; they do not see one moment unless the caller holds the writer lease."""
        return [rows_of(reply) for reply in self.link.read_all([question(self.name, *each) for each in queries])]

    def ask_together(self, *queries: Query) -> list[list[Row]]:
        """Several reads as one query: they see one moment."""
        return rows_of_each(self.link.read(*self._as_one(queries)))

    def _as_one(self, queries: Sequence[Query]) -> Command:
        values = {f"{name}_{n}": value for n, (_, given) in enumerate(queries) for name, value in given.items()}
        return question(self.name, cypher.together(tuple(query for query, _ in queries)), values)

    def look(self, revision: int, asked: Sequence[Command], steady: Collection[Command]) -> list[Any]:
        """Answers in one go, at the revision that the workspace was seen at last, or a later one.

        What is `steady` changes only with the revision, and is not asked again while that is the same.
        """
        known = self._steady_at(revision)
        sent = [command for command in asked if command not in known]
        answers = {**known, **dict(zip(sent, self.link.read_all(sent), strict=True))}
        self._steady = revision, {command: answers[command] for command in steady}
        return [answers[command] for command in asked]

    def looked_up(self, query: str) -> list[Row]:
        """Return steady values as the last look had them; asked for if none has, or if something was written."""
        revision, command = self.seen["revision"], self.question(query)
        known = self._steady_at(revision)
        if command not in known:
            known = {**known, command: self.link.read(*command)}
            self._steady = revision, known
        return rows_of(known[command])

    def _steady_at(self, revision: int) -> dict[Command, Any]:
        seen, known = self._steady
        return known if seen == revision else {}

    def meta(self) -> dict[str, Any]:
        """Return the description that the workspace has of itself."""
        ((found,),) = self.ask(cypher.META)
        self.seen = dict(found)
        return dict(found)

    def mark(self, query: str, **values: Any) -> None:
        """One small write beside all transactions: it takes no lease and raises no revision, so nobody waits for it."""
        self.link.send_unawaited([change_command(self.name, query, values)])

    def size_bytes(self) -> int:
        """The server counts whole megabytes; less is an estimate by the number of nodes."""
        answers = self.link.read("GRAPH.MEMORY", "USAGE", self.name)
        megabytes = answers.get(b"total_graph_sz_mb", 0) if isinstance(answers, dict) else answers[1]
        return int(megabytes) << 20 or self.ask(cypher.COUNT_NODES)[0][0] * _NODE_BYTES

    @contextmanager
    def writing(
        self,
        afterwards: Callable[[Mapping[str, Any]], None] | None = None,
        *,
        ahead: Sequence[Query] = (),
        reads: Sequence[Command] = (),
    ) -> Iterator[Transaction]:
        """Gather changes; leaving without an error makes them, all at once. `afterwards` runs under the same lease.

        What will be read and asked anyway can be asked `ahead`, in one go with taking the lease: first what is beside
        the graph.
        """
        change = self._begin(ahead, reads)
        try:
            yield change
            change.commit(leave=afterwards is None)
            if afterwards is not None:
                try:
                    afterwards(change.meta)
                except StoreAway:
                    change.left = True  # the change is made; whoever writes next does the rest
        except StoreAway:
            change.left = True  # nobody to say it to; the lease ends by itself
            raise
        finally:
            if not change.left:
                with suppress(StoreAway):
                    self.link.send_all([change.leave_command()])

    def _begin(self, ahead: Sequence[Query], reads: Sequence[Command]) -> Transaction:
        token = secrets.token_hex(8)
        take = ("EVAL", _TAKE, 1, f"{self.name}:writer", token, _LEASE_MILLISECONDS)
        asked = [*reads, self._as_one([(cypher.META, {}), *ahead])]
        try:
            taken, *replies = self.link.send_all([take, *asked], changing=False)
            if not taken:
                self._wait_for_lease(take)
                replies = self.link.read_all(asked)
        except StoreAway:
            raise
        except BaseException:
            self.link.send_all([leave_command(self.name, token)])
            raise
        ((meta,),), *rows = rows_of_each(replies[-1])
        self.seen = meta
        answers = {_asked(query): answer for query, answer in zip(ahead, rows, strict=True)}
        return Transaction(self, token, meta, answers, dict(zip(reads, replies[:-1], strict=True)))

    def _wait_for_lease(self, take: Command) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            time.sleep(pause)
            if self.link.write(*take):
                return
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"another process has been writing to this workspace for {_PATIENCE_SECONDS:g} s.",
                    hint="Try again.",
                )


class Transaction:
    """The reads of one transaction, and the changes that it gathers. Reads do not see gathered changes yet."""

    def __init__(
        self,
        graph: GraphHandle,
        token: str,
        meta: Mapping[str, Any],
        answers: Mapping[str, list[Row]],
        replies: Mapping[Command, Any],
    ) -> None:
        self.meta = dict(meta)
        self.lasting = graph.lasting
        self.new_vectors: list[Row] = []  # of a new memory, by key
        self.nodes: dict[str, dict[int, int]] = {}  # where the server has what was read, by label and key
        self.freed_chunks: set[int] = set()  # whose vectors leave the set
        self._graph, self._token = graph, token
        self._answers, self._replies = answers, replies
        self._steps: list[tuple[str, list[Any]]] = []
        self._beside: list[Command] = []
        self._set: dict[str, Any] = {}
        self._keys: int = self.meta["keys"]
        self._renewed = time.monotonic()
        self.left = False

    def ask(self, query: str, **values: Any) -> list[Row]:
        return self.ask_all((query, values))[0]

    def ask_all(self, *queries: Query) -> list[list[Row]]:
        """Return the answers; those asked for ahead are known, for nobody else writes meanwhile."""
        texts = [_asked(each) if self._answers else "" for each in queries]
        missing = [each for each, text in zip(queries, texts, strict=True) if text not in self._answers]
        if missing:
            self._renew()
        fresh = iter(self._graph.ask_all(*missing) if missing else ())
        return [self._answers[text] if text in self._answers else next(fresh) for text in texts]

    def read(self, *command: Any) -> Any:
        return self._replies[command] if command in self._replies else self._graph.link.read(*command)

    def nodes_of(self, label: str, keys: Collection[int]) -> list[int] | None:
        """Return the server's own ids of these, if they were read: by those a node costs a tenth of a lookup by key.

        A node stays where it is unless it is freed, which raises the revision; then nothing comes of this transaction.
        """
        known = self.nodes.get(label, {})
        return [known[key] for key in sorted(keys)] if known.keys() >= set(keys) else None

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

    def beside(self, commands: Iterable[Command]) -> None:
        """Commands that go out with the query, right before it, and are done whatever becomes of it."""
        self._beside += commands

    def set_meta(self, **values: Any) -> None:
        self.meta |= values
        self._set |= values

    def commit(self, *, leave: bool) -> None:
        """All of it in one query, and the writer lease is free again unless something follows."""
        if not self._steps and not self._set and self._keys == self.meta["keys"]:
            return
        values: dict[str, Any] = {f"rows{n}": rows for n, (_, rows) in enumerate(self._steps)}
        values |= {"revision": self.meta["revision"], "meta": {**self._set, "keys": self._keys}}
        query = cypher.all_at_once(tuple(cypher.spelled(step, rows) for step, rows in self._steps))
        commands = [*self._beside, change_command(self._graph.name, query, values)]
        if self.meta["keys"] // _SETTLE_EVERY != self._keys // _SETTLE_EVERY:
            commands.append(change_command(self._graph.name, cypher.SETTLE, {}))
        replies = self._graph.link.send_all([*commands, self.leave_command()] if leave else commands)
        self.left = leave
        if not rows_of(replies[len(self._beside)]):
            raise StoreBusy(
                "another process wrote to this workspace meanwhile; nothing was changed.", hint="Try again."
            )
        self._graph.seen = {**self.meta, "keys": self._keys, "revision": self.meta["revision"] + 1}

    def leave_command(self) -> Command:
        return leave_command(self._graph.name, self._token)

    def _renew(self) -> None:
        if time.monotonic() - self._renewed > _RENEW_SECONDS:
            self._graph.link.write("PEXPIRE", f"{self._graph.name}:writer", _LEASE_MILLISECONDS)
            self._renewed = time.monotonic()


def _asked(query: Query) -> str:
    """Return the text that tells a query from others."""
    return f"{query[0]} {query[1]!r}"


def writable(asked: GraphHandle | Transaction) -> Transaction:
    assert isinstance(asked, Transaction), "this was opened to be read"
    return asked


def leave_command(graph: str, token: str) -> Command:
    """Give the lease back, if it is still this writer's."""
    return "EVAL", _LEAVE, 1, f"{graph}:writer", token
