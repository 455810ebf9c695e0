"""Index runs whose process is killed, and collections whose FalkorDB server is: nothing lost, nothing by half."""

from __future__ import annotations

import os
import random
import sys
import threading
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import StoreError
from tests.falkor.servers import Start, opened
from tests.support import falkor
from tests.support.commands import run

pytestmark = pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
TIMES = int(os.environ.get("MEMSWEEP_SOAK", "1"))


@pytest.mark.soak
def test_an_index_run_on_falkor_killed_at_any_command_is_mended_by_the_next(start: Start, tmp_path: Path) -> None:
    order = [str(start().port), str(tmp_path), str(10 * TIMES)]
    ran = run([sys.executable, "-m", "tests.falkor.dying_index", *order], home=None)
    assert ran.status == 0, ran.err
    assert ran.json["problems"] == []
    assert ran.json["commands"] > 20


class Careful:
    """Works on a workspace and keeps a book of what was acknowledged; what was asked last may be done or not."""

    def __init__(self) -> None:
        self.live: set[str] = set()
        self.trash: dict[str, str] = {}
        self.asked: tuple[str, str] = ("", "")

    def work(self, app: App, chance: random.Random) -> None:
        memory = app.memory()
        while True:
            if self.trash and chance.random() < 0.25:
                receipt = next(iter(self.trash))
                self.asked = "undo", self.trash[receipt]
                memory.undo(receipt)
                self.live.add(self.trash.pop(receipt))
            elif self.live and chance.random() < 0.4:
                uid = chance.choice(sorted(self.live))
                self.asked = "delete", uid
                self.trash[memory.delete(uid, confirm=True).id] = uid
                self.live.remove(uid)
            else:
                text = f"note {chance.random()} of Ada and Grace"
                self.asked = "add", text
                self.live.add(memory.add(text, entities=["Ada", "Grace"]).memory_id)

    def compare(self, app: App) -> None:
        """Nothing acknowledged is lost; the one thing that was under way is whole, and goes into the book."""
        rows = app.engine.open("default").graph._graph.ask("MATCH (m:Memory) RETURN m.id, m.text")
        there = dict(map(tuple, rows))
        what, which = self.asked
        unknown = {uid for uid, text in there.items() if what == "add" and text == which}
        undone = {which} if what == "undo" and which in there else set()
        gone = {which} if what == "delete" and which not in there else set()
        assert there.keys() == (self.live | unknown | undone) - gone
        self.live = set(there)
        self.trash = {receipt: uid for receipt, uid in self.trash.items() if uid not in there}


@pytest.mark.soak
def test_a_falkor_that_is_killed_in_the_middle_of_collections_loses_nothing_and_halves_nothing(
    start: Start, tmp_path: Path
) -> None:
    server, book, chance = start(durable=True), Careful(), random.Random(31)
    for _ in range(4 * TIMES):
        with opened(server.url, tmp_path) as app:
            killer = threading.Timer(0.3 + chance.random(), server.kill)
            killer.start()
            with pytest.raises(StoreError):
                book.work(app, chance)
            killer.join()
        server.start()
        with opened(server.url, tmp_path) as app:
            if app.workspaces():
                graph = app.engine.open("default").graph._graph
                graph.link.write("DEL", f"{graph.name}:writer")  # the lease would end by itself
                book.compare(app)
                assert app.memory().doctor().findings == ()
    assert book.live
