"""Random acts on a workspace: the log tells of each memory and each entity what happened to it, and nothing else.

What happened is seen without the log, by looking at every item before and after each act.
"""

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from memsweep.app import Memory
from memsweep.code.sandbox import Sandbox
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.model.audit import AuditEvent
from tests.code.indexed_workspace import IndexedWorkspace
from tests.support import store_files
from tests.support.engines import Home
from tests.support.memory_disk import MEMORY_DISK

NAMES = ("Ada", "Bob", "Carl", "Dora")
LONG_AGO = "2020-01-01"
ITEMS = """
    select uid, trash is null, pinned, stale, hex(content_hash) from memory
    union all select uid, trash is null, pinned, name, type from entity"""
"""What a person would call another state of it; when it was last seen is none."""
ONLY_LOOKED_AT = {"plan", "skip"}
MAY_KEEP = {"merge", "undo", "recover", "unmerge", "pin", "unpin", "import_graph"}
"""What may name something that is as it was: the entity that others became, what took its facts back, a second pin,
and an import that has seen it earlier or later."""
BY_INDEX = "index"
"""Names files. The names in them are too many, and are found by their files."""

States = dict[str, tuple[Any, ...]]
Histories = dict[str, list[AuditEvent]]


class AuditedWorkspace:
    """A workspace, and what was done to it."""

    def __init__(self, memory: Memory, root: Path, chance: random.Random) -> None:
        self.memory, self.root, self.chance = memory, root, chance
        self.known = dict.fromkeys(self.states())
        self.receipts: list[str] = []
        self.done: list[str] = []
        self.violations: list[str] = []

    def act(self, name: str) -> None:
        before, histories = self.states(), self.histories()
        self.done.append(name)
        try:
            ACTS[name](self)
        except MemsweepError as error:
            self.done[-1] += f" ({type(error).__name__})"
        after = self.states()
        self.known |= dict.fromkeys(after)
        for own in self.known:
            new = self.memory.sweep.audit(limit=200, subject=own)[::-1]
            is_name_in_files = name == BY_INDEX and own.startswith("ent")
            was = after.get(own) if is_name_in_files else before.get(own)
            for said in compared(own, was, after.get(own), histories.get(own, []), new):
                self.violations.append(f"{said}, after {', '.join(self.done)}")

    def states(self) -> States:
        with store_files.into(self.memory) as db:
            return {uid: tuple(rest) for uid, *rest in db.execute(ITEMS)}

    def histories(self) -> Histories:
        return {own: self.memory.sweep.audit(limit=200, subject=own)[::-1] for own in self.known}

    def some(self, kind: str, live: bool | None = None) -> str:
        found = [own for own, state in self.states().items() if own.startswith(kind) and live in (None, bool(state[0]))]
        return self.chance.choice(sorted(found, key=list(self.known).index)) if found else f"{kind}_000000000000"


def compared(
    own: str,
    before: tuple[Any, ...] | None,
    after: tuple[Any, ...] | None,
    old: list[AuditEvent],
    new: list[AuditEvent],
) -> Iterator[str]:
    """Where the log and what was seen differ."""
    if new[: len(old)] != old:
        yield f"the history of {own} is not what it was: {_actions(old)}, {_actions(new)}"
    fresh = {event.action for event in new[len(old) :]} - ONLY_LOOKED_AT
    if before != after and not fresh:
        yield f"{own} was {before}, is {after}, and nothing is told of it"
    if before == after and fresh - MAY_KEEP:
        yield f"{own} is as it was, {before}, and {sorted(fresh)} is told of it"
    if [event.at for event in new] != sorted(event.at for event in new):
        yield f"the history of {own} is out of order"


def _actions(events: list[AuditEvent]) -> list[str]:
    return [event.action for event in events]


def add(audited: AuditedWorkspace) -> None:
    names = audited.chance.sample(NAMES, audited.chance.randint(0, 2))
    more = {"expires_at": LONG_AGO} if audited.chance.random() < 0.5 else {}
    relations = [{"from": names[0], "relation": "knows", "to": names[-1]}] if len(names) > 1 else []
    text = f"note {audited.chance.randrange(10**6)} of {' and '.join(names)}"
    audited.memory.remember(text, entities=names, relations=relations, **more)


def delete(audited: AuditedWorkspace) -> None:
    audited.receipts.append(audited.memory.delete(audited.some("mem", True), confirm=True).id)


def delete_for_good(audited: AuditedWorkspace) -> None:
    audited.memory.delete(audited.some("mem", True), confirm=True, forever=True)


def recover(audited: AuditedWorkspace) -> None:
    audited.memory.sweep.recover(audited.some("mem", False))


def prune(audited: AuditedWorkspace) -> None:
    strategy = audited.chance.choice(("expired", "stale_code", "orphaned_entities", "all"))
    audited.receipts.append(audited.memory.sweep.prune(strategy, confirm=True, allow_large=True).id)


def plan(audited: AuditedWorkspace) -> None:
    audited.memory.sweep.plan("all")


def undo(audited: AuditedWorkspace) -> None:
    audited.memory.sweep.undo(audited.chance.choice(audited.receipts or ["rcpt_none"]))


def purge(audited: AuditedWorkspace) -> None:
    audited.memory.sweep.purge(0, confirm=True)


def pin(audited: AuditedWorkspace) -> None:
    audited.memory.pin(audited.some("mem", True), audited.chance.random() < 0.7)


def merge(audited: AuditedWorkspace) -> None:
    gone, into = audited.chance.sample(NAMES, 2)
    audited.receipts.append(str(audited.memory.graph.merge([gone], into).receipt_id))


def take_in(audited: AuditedWorkspace) -> None:
    dump = json.loads(audited.memory.graph.dump("json"))
    for row in dump["entities"]:
        row["pinned"] = audited.chance.random() < 0.3
        row["name"] += audited.chance.choice(("", "", " II"))
    audited.memory.graph.load(json.dumps(dump), "json")


def index(audited: AuditedWorkspace) -> None:
    path = audited.root / audited.chance.choice(("a.py", "b.py"))
    if path.exists() and audited.chance.random() < 0.4:
        path.unlink()
    else:
        path.write_text(f"def f{audited.chance.randrange(3)}():\n    return g()\n")
    audited.memory.code.index(audited.root)


def clear(audited: AuditedWorkspace) -> None:
    audited.receipts.append(audited.memory.sweep.clear(CLEAR_PHRASE).id)


ACTS: dict[str, Callable[[AuditedWorkspace], None]] = {
    each.__name__: each
    for each in (add, delete, delete_for_good, recover, prune, plan, undo, purge, pin, merge, take_in, index, clear)
}
WEIGHTS = {"add": 8, "delete": 3, "recover": 2, "undo": 4, "prune": 3, "index": 3, "merge": 2}


@cache
def _sandbox() -> Sandbox:
    return Sandbox(1)


@contextmanager
def _memory(folder: Path, engine: str) -> Iterator[Memory]:
    home = Home(engine, folder / "home")
    try:
        with IndexedWorkspace(folder / "home", _sandbox(), **home.settings) as workspace:
            yield workspace.memory
    finally:
        home.close()


def run(seed: int, engine: str = "sqlite") -> dict[str, Any]:
    chance = random.Random(seed)
    names = chance.choices(list(ACTS), [WEIGHTS.get(name, 1) for name in ACTS], k=chance.randint(8, 30))
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as name:
        folder = Path(name)
        (folder / "root").mkdir()
        (folder / "root/kept.py").write_text("def kept():\n    return 1\n")
        with _memory(folder, engine) as memory:
            memory.remember("The first note makes the workspace.")
            audited = AuditedWorkspace(memory, folder / "root", chance)
            for each in names:
                audited.act(each)
            return {
                "lives": len(audited.known),
                "acts": len(audited.done),
                "refused": sum("(" in each for each in audited.done),
                "events": sum(len(histories) for histories in audited.histories().values()),
                "violations": audited.violations[:5],
            }
