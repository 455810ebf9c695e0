"""Random histories of an indexed folder: edits, runs of the index, merges, prunes, undos, recoveries and purges.

The law: once all merges are undone, after a last run and a last prune, what the files state in the live graph is what a
new index of the same folder states, and nothing else lives there.
"""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from memsweep.code.sandbox import Sandbox
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.services.memory import Memory
from tests.code.indexed_workspace import IndexedWorkspace
from tests.support import store_files
from tests.support.engines import Home
from tests.support.memory_disk import MEMORY_DISK

PATHS = ("a.py", "b.py", "sub/c.py")
BLOCKS = (
    "def alpha(x):\n    return beta(x) + 1\n",
    "def alpha(x):\n    return delta(x) - 1\n",
    "def beta(x):\n    return alpha(x) * 2\n",
    "class Shape(Base):\n    size = 1\n",
)
"""Few, so that several files state the same, and a name keeps living when a fact about it is gone."""
LIVE = {
    "entities": "select name_key, type_key from live_entity",
    "relations": """
        select s.name_key, s.type_key, r.relation_key, o.name_key, o.type_key from live_relation as r
        join entity as s on s.id = r.subject join entity as o on o.id = r.object""",
    "statements": """
        select f.path, s.name_key, s.type_key, r.relation_key, o.name_key, o.type_key from relation_source
        join live_memory as m on m.id = relation_source.memory join code_file as f on f.memory = m.id
        join live_relation as r on r.id = relation_source.relation
        join entity as s on s.id = r.subject join entity as o on o.id = r.object""",
    "mentions": """
        select f.path, c.position, e.name_key, e.type_key from live_mention as mention
        join chunk as c on c.id = mention.chunk join live_memory as m on m.id = c.memory
        join code_file as f on f.memory = m.id join live_entity as e on e.id = mention.entity""",
}
"""What lives in the graph, by names: ids and dates have a history, which a new index has not."""


@cache
def _sandbox() -> Sandbox:
    made = Sandbox(1)
    atexit.register(made.close)
    return made


class History:
    """A folder, a workspace that follows it, and what was done to both."""

    def __init__(self, folder: Path, engine: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.root = folder / "root"
        self.root.mkdir()
        (self.root / "kept.py").write_text("def kept():\n    return alpha(1)\n")
        self.home = Home(engine, folder / "home")
        self.workspace = IndexedWorkspace(folder / "home", _sandbox(), **self.home.settings)
        self.memory = self.workspace.memory
        self.receipts: list[str] = []
        self.merged: list[str] = []
        self.done: list[str] = []
        self.before: dict[str, str] = {}

    def close(self) -> None:
        self.workspace.__exit__()
        self.home.close()

    def take(self, step: Callable[[History], None]) -> None:
        self.done.append(step.__name__)
        try:
            step(self)
        except MemsweepError as error:
            self.done[-1] += f" ({type(error).__name__})"

    def noted(self, receipt_id: str) -> None:
        self.receipts.append(receipt_id)


# what people do to a folder


def write(h: History) -> None:
    text = "\n".join(h.chance.sample(BLOCKS, h.chance.choice((1, 1, 2))))
    place = h.root / h.chance.choice(PATHS)
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    h.done[-1] += f" {place.relative_to(h.root)}"


def put_back(h: History) -> None:
    """A file as it once was, as after a checkout."""
    lost = [path for path in h.before if not (h.root / path).exists()]
    path = h.chance.choice(lost or PATHS)
    if path in h.before:
        (h.root / path).parent.mkdir(exist_ok=True)
        (h.root / path).write_text(h.before[path])
    h.done[-1] += f" {path}"


def remove(h: History) -> None:
    there = [path for path in PATHS if (h.root / path).exists()]
    place = h.root / h.chance.choice(there or PATHS)
    if place.exists():
        h.before[str(place.relative_to(h.root))] = place.read_text()
        place.unlink()
    h.done[-1] += f" {place.relative_to(h.root)}"


def move(h: History) -> None:
    old, new = (h.root / path for path in h.chance.sample(PATHS, 2))
    if old.exists():
        new.parent.mkdir(exist_ok=True)
        old.replace(new)
    h.done[-1] += f" {old.relative_to(h.root)} to {new.relative_to(h.root)}"


# what memsweep does


def index(h: History) -> None:
    h.memory.code.index(h.root)


def prune(h: History) -> None:
    strategy = h.chance.choice(("stale_code", "all", "all", "unreachable_entities"))
    h.noted(h.memory.sweep.prune(strategy, confirm=True, allow_large=True).id)
    h.done[-1] += f" {strategy}"


def delete(h: History) -> None:
    found = h.memory.search(h.chance.choice(("alpha", "beta", "import", "class")), limit=20).hits
    ids = sorted({hit.passage.memory_id for hit in found})
    if ids:
        h.noted(h.memory.delete(h.chance.choice(ids), confirm=True).id)


def clear(h: History) -> None:
    if h.chance.random() < 0.3:
        h.noted(h.memory.sweep.clear(CLEAR_PHRASE).id)


def undo(h: History) -> None:
    if h.receipts:
        last = len(h.receipts) - 1
        number = last if h.chance.random() < 0.5 else h.chance.randrange(len(h.receipts))
        h.done[-1] += f" {number}"
        h.memory.sweep.undo(h.receipts[number])


def recover(h: History) -> None:
    items, _ = h.memory.sweep.trash(limit=50)
    ids = [item.id for item in items if item.kind == "memory"]
    if ids:
        h.memory.sweep.recover(h.chance.choice(sorted(ids)))


def purge(h: History) -> None:
    if h.chance.random() < 0.5:
        h.memory.sweep.purge(0, confirm=True)


def merge(h: History) -> None:
    """Two names that are one for a while."""
    gone, into = h.chance.sample(("alpha", "beta", "delta", "kept"), 2)
    h.merged.append(str(h.memory.graph.merge([gone], into).receipt_id))
    h.noted(h.merged[-1])
    h.done[-1] += f" {gone} into {into}"


def edit(h: History) -> None:
    write(h)
    index(h)


def lose(h: History) -> None:
    """A file goes, and what is left of it is collected."""
    remove(h)
    index(h)
    prune(h)


def regain(h: History) -> None:
    put_back(h)
    index(h)


STEPS = (edit, edit, edit, edit, lose, lose, lose, regain, regain, regain, write, move, index, prune)
STEPS += (delete, delete, clear, undo, undo, undo, recover, recover, purge)
MERGING = (*(step for step in STEPS if step is not purge), merge, merge, merge)
"""Without a purge, after which a merge is there for good."""


def run(seed: int, engine: str = "sqlite", steps: int = 24) -> dict[str, Any]:
    """One history, and what was wrong after it."""
    folder = Path(tempfile.mkdtemp(prefix="memsweep-index-", dir=MEMORY_DISK))
    history = History(folder, engine, seed)
    try:
        for step in (write, write, write, write, index):
            history.take(step)
        for _ in range(history.chance.randrange(4, steps)):
            history.take(history.chance.choice(MERGING if seed % 4 == 3 else STEPS))
        violations = [f"{each} (after {', '.join(history.done)})" for each in settled(history)]
    finally:
        history.close()
        shutil.rmtree(folder, ignore_errors=True)
    return {"histories": 1, "operations": len(history.done), "violations": violations}


def settled(history: History) -> list[str]:
    """What differs from a new index after a last run and a last prune."""
    for receipt in reversed(history.merged):
        try:
            history.memory.sweep.undo(receipt)
        except MemsweepError as error:
            if "undone already" not in error.message:
                return []  # what it kept is in the trash
    fresh = history.workspace.app.memory("fresh")
    found = []
    for memory in (history.memory, fresh):
        memory.code.index(history.root)
        memory.sweep.prune("all", confirm=True, allow_large=True)
    was, wanted = live(history.memory), live(fresh)
    for name in LIVE:
        if ghosts := was[name] - wanted[name]:
            found.append(f"{name} that no file states: {sorted(ghosts)[:3]}")
        if lost := wanted[name] - was[name]:
            found.append(f"{name} that are missing: {sorted(lost)[:3]}")
    found += [f"the doctor finds {each.invariant}" for each in history.memory.care.doctor().findings]
    return found


def live(memory: Memory) -> dict[str, Counter[tuple[Any, ...]]]:
    with store_files.into(memory) as db:
        return {name: Counter(map(tuple, db.execute(statement))) for name, statement in LIVE.items()}
