"""Forks children that die at a command to FalkorDB: `python -m tests.falkor.killed_at_each_command PORT OPERATION`.

It dies right before it sends its n-th command, or right after, without waiting for the reply; of commands that go
together it sends those before. One line of JSON says how often it died and what was wrong.
"""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import redis
from redis.connection import AbstractConnection

from memsweep.collector import collect
from memsweep.graph import facts
from memsweep.graph.facts import GraphDependencies
from memsweep.graph.merge import SplitRequest
from memsweep.model.care import RestoreRequest
from memsweep.model.memory import NamedThing
from memsweep.store.falkor.engine import FalkorEngine
from memsweep.store.falkor.transaction import GraphHandle
from tests.collector.killed_at_each_step import GONE, OPERATIONS, SPEC, Operation
from tests.collector.stores import NOW, store_with
from tests.falkor.both_engines import Side
from tests.support.counts import some_of, turns
from tests.support.killing import Verdict, in_child
from tests.support.waiting import wait_for

MERGED = ["ring one", "ring two"]


def _graphing(side: Any) -> GraphDependencies:
    return GraphDependencies(side.engine.open("default").graph, "tester", lambda: NOW, side.new_id)


def _merged(place: Any) -> str:
    """Merge in the file that becomes the graph."""
    told = facts.merge(_graphing(Side(place.app.engine, place.ticks)), MERGED, "shared", None)
    assert told.receipt_id is not None
    return told.receipt_id


ALL_OPERATIONS = {
    **OPERATIONS,
    "merge": Operation(lambda side, _: facts.merge(_graphing(side), MERGED, "shared", None)),
    "undo of a merge": Operation(lambda side, receipt: collect.undo(side.tools(), receipt), _merged),
    "split": Operation(
        lambda side, memory: facts.split(_graphing(side), SplitRequest("shared", NamedThing("part"), [], [memory])),
        lambda place: GONE,
    ),
}
_GREETINGS = {"HELLO", "CLIENT", "INFO", "MODULE", "AUTH", "SELECT"}
_READS = {"EXISTS", "GET", "GRAPH.RO_QUERY", "HGET", "HGETALL", "SCAN", "SMEMBERS"}


class KillSwitch:
    """Counts the commands of this process, and at one of them ends it as hard as can be, or makes it stand still."""

    def __init__(self, at: int, sent: bool, how: signal.Signals = signal.SIGKILL) -> None:
        self._at, self._sent, self._how = at, sent, how
        self.commands: list[str] = []
        self._last: Any = None
        self._send, self._pack = AbstractConnection.send_command, AbstractConnection.pack_commands
        kill_switch = self

        def send_command(connection: Any, *args: Any, **options: Any) -> None:
            if kill_switch._meets(args) and not sent:
                kill_switch.strike()
            kill_switch._send(connection, *args, **options)
            kill_switch._leave()

        def pack_commands(connection: Any, commands: Iterable[Any]) -> Any:
            together = list(commands)
            for number, command in enumerate(list(together)):
                if kill_switch._meets(command):
                    begun = number + sent
                    kill_switch._part(connection, together[:begun])
                    together = together[begun:]
                    kill_switch.strike()
            return kill_switch._pack(connection, together)

        AbstractConnection.send_command = send_command  # type: ignore[method-assign]
        AbstractConnection.pack_commands = pack_commands  # type: ignore[method-assign]

    def strike(self) -> None:
        self._at = -1
        os.kill(os.getpid(), self._how)

    def _meets(self, command: Any) -> bool:
        """Whether it is the one."""
        waits, self._last = command == self._last, command  # asked again until an index is ready: no step of its own
        if command[0] not in _GREETINGS and not waits:
            self.commands.append(command[0])
            return len(self.commands) == self._at
        return False

    def _leave(self) -> None:
        if self._sent and len(self.commands) == self._at:
            self.strike()

    def _part(self, connection: Any, commands: list[Any]) -> None:
        if commands:
            connection.send_packed_command(self._pack(connection, commands))


def attempt(act: Callable[[], object], at: int, sent: bool) -> list[str]:
    """Do it in a child of its own; the commands it sent, or none if it died, or failed, before it was done."""

    def work() -> list[str]:
        kill_switch = KillSwitch(at, sent)
        act()
        return kill_switch.commands

    return in_child(work, may_fail=True) or []


class Bench:
    """A workspace on the server that can be put back as it was."""

    def __init__(self, engine: FalkorEngine, port: int) -> None:
        self.engine = engine
        self.graph = engine.graphs()["default"]
        self._pristine = f"{self.graph}:pristine"
        self._client = redis.Redis(port=port)
        self._copy(self.graph, self._pristine)
        self.before = self.state()

    def attempt(self, act: Callable[[], object], at: int, sent: bool) -> list[str]:
        known = self._clients()
        done = attempt(act, at, sent)
        wait_for(lambda: not self._clients() - known)  # what was sent is done even if nobody waits for it
        self.rest()
        return done

    def rest(self) -> None:
        """Until all that was sent is done; then nobody holds the lease."""
        wait_for(lambda: not self._is_busy(), "the server to come to rest")
        self._client.delete(f"{self.graph}:writer")  # its place would be free by itself after seconds

    def vectors(self) -> tuple[set[int], int]:
        """The keys in the set, and how far it has come."""
        members = self._client.execute_command("VRANDMEMBER", f"{self.graph}:vectors:0", 1_000_000)
        return set(map(int, members)), int(self._client.get(f"{self.graph}:indexed:0") or 0)

    def state(self) -> list[str]:
        """Every node and every edge."""
        nodes = self.ask("MATCH (n) RETURN labels(n), properties(n)")
        edges = self.ask("MATCH (a)-[r]->(b) RETURN type(r), properties(r), labels(a), a.key, labels(b), b.key")
        return sorted(map(repr, [*nodes, *edges]))

    def put_back(self) -> None:
        self._client.delete(self.graph)
        self._copy(self._pristine, self.graph)

    def findings(self) -> list[str]:
        return [found.invariant for found in self.engine.open("default").keeper.examine()]

    def close(self) -> None:
        self._client.close()
        self.engine.close()

    def ask(self, query: str) -> list[Any]:
        return GraphHandle(self.engine.link, self.graph).ask(query)

    def _copy(self, source: str, target: str) -> None:
        self._client.execute_command("GRAPH.COPY", source, target)
        for what in ("vectors:0", "indexed:0", "taken:0"):
            self._client.delete(f"{target}:{what}")
            if (dumped := self._client.dump(f"{source}:{what}")) is not None:
                self._client.restore(f"{target}:{what}", 0, dumped)

    def _clients(self) -> set[str]:
        return {each["id"] for each in self._client.client_list()}

    def _is_busy(self) -> bool:
        _, running, _, waiting, *_ = self._client.execute_command("GRAPH.INFO")
        return bool(running or waiting)


def killed(
    bench: Bench,
    act: Callable[[], object],
    choose: Callable[[list[str]], list[tuple[int, bool]]],
    *,
    again: bool = False,
) -> Verdict:
    """Let clients die at some of the commands of an act; with `again`, what is not begun is then done.

    The store may have pieces that belong to nothing before, or after; the doctor finds no others.
    """
    known = {"before": set(bench.findings())}
    commands = bench.attempt(act, at=0, sent=False)
    assert commands, "it failed unharmed"
    verdict = Verdict(bench.before, left := bench.state())
    known["done"] = set(bench.findings())
    for at, sent in choose(commands):
        if left != bench.before:
            bench.put_back()
        lived, left = bool(bench.attempt(act, at, sent)), bench.state()
        form = "done" if left == verdict.done else "before"
        looked = bench.findings() if again or form == "done" or at % 5 == 0 else []
        found = [each for each in looked if each not in known[form]]
        where = f"{'after' if sent else 'before'} command {at} of {len(commands)}"
        verdict.see(where, left, found, lived=lived)
        if again and left == bench.before:
            bench.attempt(act, at=0, sent=False)
            left = bench.state()
            verdict.problems += [f"killed {where}: the next attempt does not do it"] * (left != verdict.done)
    return verdict


def points(commands: list[str], thorough: bool) -> list[tuple[int, bool]]:
    """When to die: at some commands, those where another kind begins among them; or at all of them.

    Whether a read was sent makes no difference to what is stored, so only a thorough run dies right after one.
    """
    kinds = ["read" if command in _READS else command for command in commands]
    chosen = some_of(range(1, len(commands) + 1), 2, turns(kinds), thorough)
    after = [at for at in chosen if thorough or kinds[at - 1] != "read" or at == len(commands)]
    return sorted([(at, False) for at in chosen] + [(at, True) for at in after])


def main(port: int, name: str, thorough: bool) -> dict[str, Any]:
    operation, url = ALL_OPERATIONS[name], f"falkor://127.0.0.1:{port}/dying"
    with copied(url, operation) as (engine, given, ticks):
        bench = Bench(engine, port)

        def act() -> None:
            operation.run(Side(FalkorEngine(url), count(ticks)), given)  # type: ignore[arg-type]

        verdict = killed(bench, act, lambda commands: points(commands, thorough))
        bench.close()
    return verdict.told()


@contextmanager
def copied(url: str, operation: Operation) -> Iterator[tuple[FalkorEngine, Any, int]]:
    """The store in FalkorDB, prepared for the operation; what that needs; and how far the ids have come."""
    with store_with(SPEC) as place, tempfile.TemporaryDirectory() as folder:
        given = operation.prepare(place)
        draft = Path(folder) / "copy"
        draft.touch()
        place.app.engine.open("default").keeper.copy(draft, draft, "0", NOW)
        engine = FalkorEngine(url)
        engine.keeper.install(draft, RestoreRequest("default", True, "r", "tester", NOW))
        yield engine, given, next(place.ticks)


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], "thorough" in sys.argv)))
