"""Somebody who works on a workspace of FalkorDB and keeps a book of what was acknowledged."""

import random

from memsweep.app import App


class Bookkeeper:
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
                memory.sweep.undo(receipt)
                self.live.add(self.trash.pop(receipt))
            elif self.live and chance.random() < 0.4:
                uid = chance.choice(sorted(self.live))
                self.asked = "delete", uid
                self.trash[memory.delete(uid, confirm=True).id] = uid
                self.live.remove(uid)
            else:
                text = f"note {chance.random()} of Ada and Grace"
                self.asked = "add", text
                self.live.add(memory.remember(text, entities=["Ada", "Grace"]).memory_id)

    def compare(self, app: App) -> None:
        """Nothing acknowledged is lost; the one thing that was under way is whole, and goes into the book."""
        rows = app.engine.open("default")._graph.ask("MATCH (m:Memory) RETURN m.id, m.text")
        there = dict(map(tuple, rows))
        what, which = self.asked
        unknown = {uid for uid, text in there.items() if what == "add" and text == which}
        undone = {which} if what == "undo" and which in there else set()
        gone = {which} if what == "delete" and which not in there else set()
        assert there.keys() == (self.live | unknown | undone) - gone
        self.live = set(there)
        self.trash = {receipt: uid for receipt, uid in self.trash.items() if uid not in there}
