"""Children that die in a collection: `python -m tests.collector.killed_at_each_step OPERATION [thorough]`.

A step is any statement. One line of JSON says how often it died and what was wrong.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from memsweep.app import make_app
from memsweep.collector import collect, update
from memsweep.model.memory import MemoryDraft, NewMemory
from memsweep.model.revision import Piece
from memsweep.settings import load_settings
from tests.collector.stores import (
    MODEL,
    NOW,
    Link,
    Note,
    Place,
    StoreSpec,
    Thing,
    broken,
    store_with,
    vector_of,
    write_rows,
)
from tests.secrets.lines import positives
from tests.support import store_files
from tests.support.killing import kill_at_steps

STATEMENTS = {"reads": True, "files": False}
SECRET = next(line.text for line in positives() if line.kind == "aws-access-key")
SPEC = StoreSpec(
    notes=(
        Note("def gone(): pass", path="gone.py", stale=True, chunks=2, tags=("red",), thread="talk"),
        Note("def away(): pass", path="away.py", stale=True),
        Note("a note that lives", tags=("red", "blue"), thread="talk"),
        Note("a pinned one", pinned=True),
        Note(f"the deploy key is {SECRET}", tags=("red", SECRET)),
    ),
    things=(Thing("gone"), Thing("ring one"), Thing("ring two"), Thing("shared"), Thing("told", explicit=True)),
    links=(Link(0, 1, sources=(0,)), Link(1, 2), Link(2, 0), Link(3, 4, explicit=True), Link(0, 3, sources=(0, 1))),
    mentions=((0, 0, 0), (0, 1, 3), (2, 0, 3)),
    strays=((1,),),
)
GONE, AWAY, NOTE, PINNED, TELLING = (f"mem_{n:012}" for n in (1, 2, 3, 4, 5))


@dataclass(frozen=True)
class Operation:
    """`prepare` brings the store to where `run` begins; it may hand something on."""

    run: Callable[[Place, Any], object]
    prepare: Callable[[Place], Any] = lambda place: None


def _planned(place: Place) -> str:
    return collect.plan(place.tools(), "all").id


def _pruned(place: Place) -> str:
    return collect.plan_and_apply(place.tools(), "all", confirm=True).id


def _pruned_and_made_again(place: Place) -> str:
    receipt = _pruned(place)
    again = StoreSpec(
        notes=(Note("def gone(): return 1", path="gone.py"),),
        things=(Thing("gone"), Thing("ring one")),
        links=(Link(0, 1),),
        mentions=((0, 0, 0),),
    )
    write_rows(place.file, again)
    return receipt


def _buried(place: Place) -> None:
    collect.delete(place.tools(), NOTE, confirm=True, forever=True)


def _redacted(place: Place) -> str:
    return collect.plan_and_apply(place.tools(), "secrets", confirm=True).id


def _planned_redaction(place: Place) -> str:
    return collect.plan(place.tools(), "secrets").id


def _update(place: Place, _: Any) -> object:
    return update.update(place.tools(), NOTE, update.CheckedUpdate("another text", ("green",)), new_text)


def new_text(text: str) -> update.NewText:
    """Cut and embedded as the notes of the store are."""
    piece = Piece("chk_new", text, 0, 1, 1, vector_of(text))
    return update.NewText((piece,), MODEL, NewMemory("", MemoryDraft(text), b"", (), (), (), NOW))


def _updated(place: Place) -> str:
    receipt = update.update(place.tools(), NOTE, update.CheckedUpdate("another text", ("green",)), new_text).receipt_id
    assert receipt is not None
    return receipt


OPERATIONS = {
    "update": Operation(_update),
    "undo of an update": Operation(lambda place, receipt: collect.undo(place.tools(), receipt), _updated),
    "redaction": Operation(lambda place, plan: collect.apply(place.tools(), plan, confirm=True), _planned_redaction),
    "undo of a redaction": Operation(lambda place, receipt: collect.undo(place.tools(), receipt), _redacted),
    "purge of a redaction": Operation(lambda place, _: collect.purge(place.tools(), 0, confirm=True), _redacted),
    "plan": Operation(lambda place, _: collect.plan(place.tools(), "all")),
    "apply": Operation(lambda place, plan: collect.apply(place.tools(), plan, confirm=True), _planned),
    "prune": Operation(lambda place, _: collect.plan_and_apply(place.tools(), "all", confirm=True)),
    "undo": Operation(lambda place, receipt: collect.undo(place.tools(), receipt), _pruned),
    "undo with conflicts": Operation(
        lambda place, receipt: collect.undo(place.tools(), receipt), _pruned_and_made_again
    ),
    "recover": Operation(lambda place, _: collect.recover(place.tools(), GONE), _pruned),
    "purge": Operation(lambda place, _: collect.purge(place.tools(), 0, confirm=True), _pruned),
    "delete": Operation(lambda place, _: collect.delete(place.tools(), NOTE, confirm=True)),
    "delete forever": Operation(lambda place, _: collect.delete(place.tools(), AWAY, confirm=True, forever=True)),
    "clear": Operation(lambda place, _: collect.clear(place.tools(), collect.CLEAR_PHRASE)),
    "pin": Operation(lambda place, _: collect.pin(place.tools(), GONE, True)),
    "remove tombstone": Operation(lambda place, _: collect.remove_tombstone(place.tools(), NOTE), _buried),
}


def everything(file: Path) -> dict[str, list[str]]:
    """Every row of every table, the collection's own records too."""
    with store_files.open_file(file) as db:
        tables = db.execute("select name from pragma_table_list where schema = 'main' and type in ('table', 'shadow')")
        names = [name for (name,) in tables if not name.startswith(("chunk_fts", "segment_fts"))]
        return {name: sorted(map(repr, db.execute(f'select * from "{name}"'))) for name in names}


def run(operation: Operation, home: Path, given: Any, ticks: int) -> None:
    operation.run(Place(home, make_app(load_settings({"MEMSWEEP_HOME": str(home)})), ticks=count(ticks)), given)


def look(home: Path, at: int) -> tuple[Any, list[str]]:
    file = store_files.file_of(home)
    return everything(file), broken(file)


def main(name: str, thorough: bool) -> dict[str, Any]:
    operation = OPERATIONS[name]
    with store_with(SPEC) as origin:
        given = operation.prepare(origin)
        ticks = next(origin.ticks)
        origin.app.close()
        act = partial(run, operation, given=given, ticks=ticks)
        return kill_at_steps(origin.home, act, look, thorough, **STATEMENTS).told()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], "thorough" in sys.argv)))
