"""The operations that the campaigns cut, refuse and check; each can be done on the same prepared home.

`template()` makes a home with something for every one of them: memories, facts, an index that is out of date, a saved
plan, trash, a deleted workspace, a context window with a stash, a backup.
"""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memsweep.app import App
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import StoreError
from memsweep.schedule.background import Background
from tests.faults import lab

LONG = "Ada Lovelace wrote the first program for a machine that was never built. " * 60


@dataclass(frozen=True, slots=True)
class Known:
    """What of the prepared home the steps need by name."""

    memories: tuple[str, ...]
    planned: str
    receipt: str
    trashed: str
    workspace_receipt: str
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """An open home, and what is around it."""

    app: App
    place: Path
    known: Known
    number: int = 0
    """Sets texts and names of one step apart from those of another."""

    @property
    def repo(self) -> Path:
        """Where the template has it: the index knows its files by their whole path."""
        return template()[0] / "repo"

    @property
    def backup(self) -> Path:
        return self.place / "out" / "old.backup"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. An atomic one is seen by nobody half done, not even after a crash."""

    name: str
    act: Callable[[Scene], object]
    atomic: bool = True
    of_home: bool = False
    """Writes to the registry."""


def _add(scene: Scene) -> object:
    return scene.app.memory().remember(f"note {scene.number} about Grace Hopper 🐘", tags=["new", f"n{scene.number}"])


def _add_long(scene: Scene) -> object:
    return scene.app.memory().remember(
        f"{scene.number} {LONG}", thread_id="talk", relations=[{"from": "Ada", "relation": "wrote", "to": "Program"}]
    )


def _clear_window(scene: Scene) -> object:
    return scene.app.memory().context("talk").delete(confirm=True)


def _relate_many(scene: Scene) -> object:
    things = [{"name": f"Thing {scene.number}.{number}", "type": "concept"} for number in range(4)]
    names = [thing["name"] for thing in things]
    facts = [{"from": "Ada", "relation": "OWNS", "to": name} for name in names]
    return scene.app.memory().graph.relate_many({"entities": things, "relations": facts})


def _schedule(scene: Scene) -> object:
    """A run of the schedule says in its record what it could not do."""
    record = Background(scene.app).run()
    stopped = [item["stopped"] for item in (record or {}).get("outcomes", []) if item["stopped"]]
    if stopped:
        raise StoreError(stopped[0])
    return record


def _context_add(scene: Scene) -> object:
    segments = [{"text": f"turn {scene.number}.{number} of a talk", "type": "message"} for number in range(3)]
    return scene.app.memory().context("talk").add(segments)


STEPS: tuple[Step, ...] = (
    Step("add", _add),
    Step("add long", _add_long),
    Step("touch", lambda scene: scene.app.memory().remember("Ada knows Grace.", tags=[f"t{scene.number}"])),
    Step("pin", lambda scene: scene.app.memory().pin(scene.known.memories[0])),
    Step("relate", lambda scene: scene.app.memory().graph.relate("Ada", "MET", f"Person {scene.number}")),
    Step("relate many", _relate_many),
    Step("reinforce", lambda scene: scene.app.memory().graph.reinforce("Ada", "KNOWS", "Grace", reason="heard again")),
    Step("merge", lambda scene: scene.app.memory().graph.merge(["Ada L."], "Ada")),
    Step("index", lambda scene: scene.app.memory().code.index(scene.repo), atomic=False),
    Step("plan", lambda scene: scene.app.memory().sweep.plan("duplicates")),
    Step("apply", lambda scene: scene.app.memory().sweep.apply(scene.known.planned, confirm=True, allow_large=True)),
    Step("prune", lambda scene: scene.app.memory().sweep.prune("expired", confirm=True, allow_large=True)),
    Step("undo", lambda scene: scene.app.memory().sweep.undo(scene.known.receipt)),
    Step("recover", lambda scene: scene.app.memory().sweep.recover(scene.known.trashed)),
    Step("purge", lambda scene: scene.app.memory().sweep.purge(0, confirm=True)),
    Step("delete", lambda scene: scene.app.memory().delete(scene.known.memories[1], confirm=True)),
    Step("forever", lambda scene: scene.app.memory().delete(scene.known.memories[2], confirm=True, forever=True)),
    Step("clear", lambda scene: scene.app.memory().sweep.clear(CLEAR_PHRASE)),
    Step("context add", _context_add),
    Step("context compress", lambda s: s.app.memory().context("talk").compress(s.known.segments[:2], "in short")),
    Step("context stash", lambda s: s.app.memory().context("talk").prune(s.known.segments[2:3], strategy="stash")),
    Step("context restore", lambda scene: scene.app.memory().context("talk").restore(scene.known.segments[-1:])),
    Step("context delete", _clear_window),
    Step("compact", lambda scene: scene.app.memory().care.compact()),
    Step("doctor", lambda scene: scene.app.memory().care.doctor(repair=True)),
    Step("schedule", _schedule, atomic=False),
    Step("backup", lambda scene: scene.app.memory().care.backup(scene.place / "out" / f"new{scene.number}.backup")),
    Step("replace backup", lambda scene: scene.app.memory().care.backup(scene.backup, force=True)),
    Step("workspace create", lambda scene: scene.app.create_workspace(f"w{scene.number}", "made"), of_home=True),
    Step("first add", lambda s: s.app.memory(f"w{s.number}").remember("the first memory"), atomic=False, of_home=True),
    Step("workspace delete", lambda scene: scene.app.delete_workspace("other", confirm=True), of_home=True),
    Step("workspace undelete", lambda scene: scene.app.undo(scene.known.workspace_receipt), of_home=True),
    Step("restore", lambda scene: scene.app.restore(scene.backup, f"r{scene.number}"), of_home=True),
    Step("restore over", lambda scene: scene.app.restore(scene.backup, "default", replace=True), of_home=True),
    Step("workspace purge", lambda scene: scene.app.purge_workspaces(0), of_home=True),
)
BY_NAME = {step.name: step for step in STEPS}

READS: tuple[Step, ...] = (
    Step("search", lambda scene: scene.app.memory().search("Ada and Grace")),
    Step("stats", lambda scene: scene.app.memory().stats()),
    Step("get", lambda scene: scene.app.memory().get(scene.known.memories[0])),
    Step("trash", lambda scene: scene.app.memory().sweep.trash()),
    Step("segments", lambda scene: scene.app.memory().context("talk").segments(stashed=True)),
    Step("status", lambda scene: scene.app.memory().graph.status()),
    Step("related", lambda scene: scene.app.memory().graph.related("Ada", depth=2)),
    Step("audit", lambda scene: scene.app.memory().sweep.audit()),
    Step("explain", lambda scene: scene.app.memory().sweep.explain(scene.known.memories[0])),
    Step("examine", lambda scene: scene.app.memory().care.doctor()),
    Step("workspaces", lambda scene: scene.app.workspaces()),
)


@cache
def template() -> tuple[Path, Known]:
    """A place with a prepared home, made once a process, and what is in it."""
    folder = lab.lasting_place("template-")
    (folder / "out").mkdir()
    with lab.pinned(random.Random(0), lab.Clock()), lab.opened(folder / "home") as app:
        return folder, _prepare(app, folder)


def _prepare(app: App, folder: Path) -> Known:
    memory = app.memory()
    ids = [memory.remember(f"turn {number} with Grace Hopper", thread_id="talk").memory_id for number in range(4)]
    ids.append(memory.remember(LONG, tags=["long"]).memory_id)
    memory.remember(
        "Ada knows Grace.", relations=[{"from": "Ada", "relation": "knows", "to": "Grace"}], entities=["Ada"]
    )
    memory.remember("It was Ada L. who knew Charles.", entities=["Ada L."])
    for name in ("Charles", "Grace"):
        memory.graph.relate("Ada L.", "KNOWS", name, weight=0.4)
    memory.remember("This was said to expire.", expires_at="2026-01-01T00:00:00+00:00")
    memory.remember("One fact, said twice.")
    memory.remember("One fact, said twice.", thread_id="talk")
    gone = [memory.remember(f"deleted {number}, with Alan Turing").memory_id for number in range(2)]
    receipt = memory.delete(gone[0], confirm=True).id
    memory.delete(gone[1], confirm=True)
    _index_twice(app, folder / "repo")
    window = memory.context("talk")
    segments = window.add([{"text": f"segment {number} of a talk", "type": "log"} for number in range(16)]).segment_ids
    window.prune(segments[5:6], strategy="stash")
    memory.care.backup(folder / "out" / "old.backup")
    app.memory("other").remember("of another workspace")
    app.memory("gone").remember("of a deleted workspace")
    deleted = app.delete_workspace("gone", confirm=True)
    planned = memory.sweep.plan("stale_code").id
    return Known(tuple(ids), planned, receipt, gone[1], str(deleted.receipt_id), (*segments[:5], segments[5]))


def _index_twice(app: App, repo: Path) -> None:
    """The second run leaves a stale file; the folder changes once more after it."""
    repo.mkdir()
    (repo / "a.py").write_text("import os\n\n\ndef first():\n    return second()\n")
    (repo / "b.py").write_text("import sys\n\n\ndef second():\n    return 1\n")
    (repo / "c.md").write_text("# Notes\n\nAda wrote them.\n\n## More\n\nGrace read them.\n")
    app.memory().code.index(repo)
    (repo / "b.py").unlink()
    app.memory().code.index(repo)
    (repo / "a.py").write_text("import os\n\n\ndef first():\n    return 2\n\n\ndef third():\n    return 3\n")
    (repo / "d.md").write_text("# New\n\nA file that came later.\n")
    (repo / "c.md").unlink()


def copy_template(folder: Path) -> Known:
    """A copy of the prepared home and its backup."""
    source, known = template()
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("home", "out"):
        shutil.copytree(source / part, folder / part)
    return known
