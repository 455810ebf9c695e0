"""Mending what the doctor found. Every function runs inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import apsw

from memsweep.model.care import Finding
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, health, meta_sql, values
from memsweep.store.file.texts import mend_texts
from memsweep.store.stored import to_json


def mend(db: apsw.Connection, cure: str, found: Sequence[Finding], actor: str, now: datetime) -> list[str]:
    """Apply one cure: its statements, and what takes more than a statement; what could not be saved."""
    lost = values.mend(db, to_micros(now)) if cure == "values" else []
    bound = {"actor": actor, "now": to_micros(now)}
    for statement in care_sql.CURES[cure]:
        db.execute(statement, bound if ":now" in statement else ())
    if cure in _MORE:
        _MORE[cure](db)
    note(db, cure, found, actor, now)
    return lost


def next_generation(db: apsw.Connection) -> None:
    """So that every process reads the vectors again."""
    db.execute(care_sql.NEXT_GENERATION)


def note(db: apsw.Connection, cure: str, found: Sequence[Finding], actor: str, now: datetime) -> None:
    counts = to_json({finding.invariant: finding.count for finding in found})
    db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, "repair", cure, counts, ""))


def _structure(db: apsw.Connection) -> None:
    there = health.structure(db)
    for (kind, name), thing in health.expected_structure().items():
        if thing.can_be_made_again(kind) and there.get((kind, name)) != thing:
            db.execute(care_sql.drop_thing(kind, name))
            db.execute(thing.definition)
    for table in set(health.full_texts()) - {name for _, name in there}:
        db.execute(care_sql.rebuild_words(table))


def _words(db: apsw.Connection) -> None:
    for table in health.full_texts():
        db.execute(care_sql.rebuild_words(table))


def _plans(db: apsw.Connection) -> None:
    for key, _ in list(health.changed_plans(db)):
        for statement in care_sql.DROP_PLAN:
            db.execute(statement, (key,))


_MORE: dict[str, Callable[[apsw.Connection], None]] = {
    "twins": _structure,  # its unique indexes had to go for a moment
    "structure": _structure,
    "words": _words,
    "doubles": _words,
    "plans": _plans,
    "values": next_generation,
    "texts": mend_texts,
    "vectors": next_generation,
    "vector_files": next_generation,
}
