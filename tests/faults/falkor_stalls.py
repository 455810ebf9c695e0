"""Campaign: a writer on FalkorDB stands still for longer than its lease while others write, and then it goes on.

A seed takes one operation that writes, and another that comes in between. The first is stopped right before and right
after some of its commands; then its lease is over, the other one is done, and the first goes on. What it says has to
be so: with "done" the workspace is as if the two had come one after the other, with a refusal as if it had never been
asked for. The set of vectors has those of the graph and no others, and the doctor is content.
"""

import json
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memsweep import clock
from memsweep.app import App, make_app
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.settings import load_settings
from memsweep.store.falkor.engine import FalkorEngine
from tests.falkor.killed_at_each_command import Bench, KillSwitch
from tests.faults.falkor_acts import ACTS, Given, frozen_app, furnish
from tests.faults.falkor_kills import folder, shared_server

_STALLS = 8
Act = Callable[[App, Given], object]


MORE: dict[str, Act] = {
    "update": lambda app, g: app.memory().update(g["note"], text="Hub was seen with Ada in Paris."),
    "update of the newest": lambda app, g: app.memory().update(g["newest"], text="A comet was seen in Rome."),
    "delete": lambda app, g: app.memory().delete(g["note"], confirm=True),
    "delete forever": lambda app, g: app.memory().delete(g["newest"], confirm=True, forever=True),
    "purge": lambda app, g: app.memory().sweep.purge(0, confirm=True),
    "undo": lambda app, g: app.memory().sweep.undo(g["receipt"]),
    "clear": lambda app, g: app.memory().sweep.clear(CLEAR_PHRASE),
    "prune": lambda app, g: app.memory().sweep.prune("all", confirm=True, allow_large=True),
    "merge": lambda app, g: app.memory().graph.merge(["Hub"], "Ada"),
    "pin": lambda app, g: app.memory().pin(g["note"]),
    "repair": lambda app, g: app.memory().care.doctor(repair=True),
}
STALLED: dict[str, Act] = {**ACTS, **MORE}
MEANWHILE: dict[str, Act] = {
    "deleting and purging": lambda app, g: (app.memory().delete(g["newest"], confirm=True), MORE["purge"](app, g)),
    "another memory": lambda app, g: app.memory().remember("Something else was said by Lin."),
    "an update": lambda app, g: app.memory().update(g["newest"], text="No comet was seen by anybody."),
    "deleting for good": lambda app, g: app.memory().delete(g["newest"], confirm=True, forever=True),
}


def run(seed: int, stalls: int = _STALLS) -> dict[str, Any]:
    pairs = [(one, other) for other in MEANWHILE for one in STALLED]
    one, other = pairs[seed % len(pairs)]
    server = shared_server()
    with server.client() as client:
        client.flushall()
    url = f"{server.url}/stalled"
    variables = {"MEMSWEEP_HOME": str(folder() / "home"), "MEMSWEEP_STORE": url}
    given = furnished(variables)
    bench = Bench(FalkorEngine(url), server.port)
    stalled = Stalled(
        f"{one} with {other} in between",
        bench,
        lambda: STALLED[one](frozen_app(variables), given),
        lambda: MEANWHILE[other](_with_other_ids(frozen_app(variables)), given),
    )
    try:
        return stalled.at_some_commands(random.Random(seed), stalls)
    finally:
        bench.close()


def furnished(variables: dict[str, str]) -> dict[str, Any]:
    given = furnish(variables)
    app = make_app(load_settings(variables))
    memory = app.memory()
    gone = memory.remember("Something that was deleted about Charles.", entities=["Charles"])
    receipt = memory.delete(gone.memory_id, confirm=True).id
    newest = memory.remember("A comet was seen by Maria.", entities=["Maria"]).memory_id
    app.close()
    return {**given, "receipt": receipt, "newest": newest}


def _with_other_ids(app: App) -> App:
    clock._entropy.left = random.Random(2).randbytes(8 * 10_000)
    return app


@dataclass(frozen=True)
class Stalled:
    """One operation that stands still, and one that comes in between."""

    name: str
    bench: Bench
    act: Callable[[], object]
    other: Callable[[], object]

    def at_some_commands(self, chance: random.Random, stalls: int) -> dict[str, Any]:
        """What is wrong afterwards, of some commands; each time on the same workspace."""
        alone = self._done(self.other)
        after, before = self._done(self.act, self.other), self._done(self.other, self.act)
        self.bench.put_back()
        commands = len(self.bench.attempt(self.act, at=0, sent=False))
        assert commands, f"{self.name}: it is refused"
        points = [(at, sent) for at in range(1, commands + 1) for sent in (False, True)]
        chosen, violations = sorted(chance.sample(points, min(stalls, len(points)))), []
        for at, sent in chosen:
            self.bench.put_back()
            said = self._stall(at, sent)
            where = f"{self.name}, stopped {'after' if sent else 'before'} command {at} of {commands}: {said!r}"
            left = self.bench.state()
            if left not in ((alone, before) if said else (after, before)):
                violations.append(f"{where}: {_differences(left, before)}")
            violations += [f"{where}: {wrong}" for wrong in (*self.bench.findings(), *self._wrong_vectors())]
        return {"stalls": len(chosen), "violations": violations}

    def _done(self, *acts: Callable[[], object]) -> list[str]:
        """The state when these are done, one after the other."""
        self.bench.put_back()
        for act in acts:
            self.bench.attempt(act, at=0, sent=False)
        return self.bench.state()

    def _stall(self, at: int, sent: bool) -> str:
        """What it says in the end: nothing if it is done, else why not."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            _stop_at(at, sent, self.act, writing)
        os.close(writing)
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            self.bench.rest()
            self.bench.attempt(self.other, at=0, sent=False)
            os.kill(pid, signal.SIGCONT)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        if os.WIFSTOPPED(status):
            os.waitpid(pid, 0)
        self.bench.rest()
        return str(json.loads(said)) if said else "it was never stopped"

    def _wrong_vectors(self) -> list[str]:
        """Those in the set that are of nothing in the graph, and those that it should have."""
        members, come = self.bench.vectors()
        kept = {key for (key,) in self.bench.ask("MATCH (e:Embedding) RETURN e.key")}
        lost = {key for key in kept - members if key <= come}
        return [f"the set has {members - kept} too many and {lost} too few"] if members - kept or lost else []


def _stop_at(at: int, sent: bool, act: Callable[[], object], writing: int) -> None:
    try:
        KillSwitch(at, sent, signal.SIGSTOP)
        try:
            act()
            said = ""
        except MemsweepError as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps(said).encode())
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def _differences(left: list[str], wanted: list[str]) -> str:
    return f"too much: {sorted(set(left) - set(wanted))[:3]}, too little: {sorted(set(wanted) - set(left))[:3]}"
