"""Campaign: keys that were stored while the gate was off are redacted and purged by processes that are killed.

Whatever is killed when, the doctor finds nothing; a redaction is done or not begun; once it is done no row but those
of the receipt holds a key, and after the purge no byte of one is in any file. An undo brings back what was there.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from memsweep.app import make_app
from memsweep.services.memory import Memory
from memsweep.settings import load_settings
from tests.faults.leaks import DOORS, Leaks
from tests.support import store_files
from tests.support.killing import at_step, in_child

OPERATIONS = 8
_KILLS = 3
_STATEMENTS = 250


class Redactions:
    """One home, which only children open."""

    def __init__(self, chance: Random, folder: Path) -> None:
        self.chance, self.home = chance, folder / "home"
        self.kills = 0
        self.violations: list[str] = []
        self.keys: list[str] = in_child(lambda: self._fill(folder))

    def _fill(self, folder: Path) -> list[str]:
        leaks = Leaks(self.chance, folder, MEMSWEEP_SECRETS_ACTION="off")
        for _ in range(OPERATIONS):
            self.chance.choice(DOORS)(leaks)
        found = [hit for hit in leaks.memory.search("", limit=50).hits if hit.passage.memory_id]
        for hit in found[:2]:
            leaks.memory.delete(hit.passage.memory_id, confirm=True)
        note = leaks.memory.remember("It was like this.").memory_id
        leaks.memory.update(note, text=leaks.text())
        leaks.memory.update(note, text="It is clean.")
        leaks.close()
        return leaks.keys

    def do(self, act: Callable[[Memory], Any], at: int = 0) -> Any:
        """Something in a process of its own, which is killed before its n-th statement."""

        def acted() -> Any:
            if at:
                at_step(at - 1, reads=True, files=False)
            app = make_app(load_settings({"MEMSWEEP_HOME": str(self.home)}))
            said = act(app.memory())
            app.close()
            return said

        return in_child(acted, may_fail=True)

    def disturbed(self, act: Callable[[Memory], Any]) -> Any:
        """Killed a few times, then done."""
        for _ in range(self.chance.randrange(_KILLS + 1)):
            said = self.do(act, self.chance.randrange(1, _STATEMENTS))
            self.kills += said is None
            self.look()
            if said is not None:
                return said
        return self.do(act)

    def look(self) -> None:
        found = self.do(lambda memory: [each.invariant for each in memory.care.doctor().findings])
        self.violations += [f"doctor: {each}" for each in found or ["nothing, for it failed"]] if found != [] else []

    def rows(self, *, without: str = "") -> bytes:
        """Every value of every table that is no index."""
        with store_files.open_file(store_files.file_of(self.home)) as db:
            tables = [name for (name,) in db.execute("select name from pragma_table_list where type = 'table'")]
            kept = (name for name in tables if name != without and not name.startswith("sqlite_"))
            return repr([list(db.execute(f'select * from "{name}"')) for name in kept]).encode()

    def keys_in(self, content: bytes, where: str) -> None:
        self.violations += [f"{key[:12]}… is in {where}" for key in dict.fromkeys(self.keys) if key.encode() in content]


def _redact(memory: Memory) -> str:
    return memory.sweep.prune("secrets", confirm=True).id


def _texts(memory: Memory) -> list[str]:
    return sorted(repr(hit.passage.text) for hit in memory.search("", limit=50).hits)


def run(seed: int) -> dict[str, Any]:
    chance = Random(seed)
    with tempfile.TemporaryDirectory(prefix="memsweep-redactions-") as folder:
        made = Redactions(chance, Path(folder))
        before = made.do(_texts)
        receipt = made.disturbed(_redact)
        made.keys_in(made.rows(without="revision"), "a row outside of the trash")
        if chance.random() < 0.4 and receipt:
            made.disturbed(lambda memory: memory.sweep.undo(receipt).totals.memories)
            if made.do(_texts) != before:
                made.violations.append("the undo left other texts than there were")
            made.disturbed(_redact)
        made.disturbed(lambda memory: memory.sweep.purge(0, confirm=True).revisions)
        made.do(lambda memory: memory.sweep.purge(0, confirm=True).revisions)
        made.look()
        files = [file for file in made.home.rglob("*") if file.is_file()]
        made.keys_in(b"\0".join(file.read_bytes() for file in files), "a file")
    return {"kills": made.kills, "keys": len(made.keys), "violations": made.violations}
