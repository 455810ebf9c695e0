"""Mending what the doctor found. Every function runs inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.care import Finding
from memsweep.model.forms import assembled, hash_text, piece_with
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, health, values
from memsweep.store.file.connect import one
from memsweep.store.file.meta import add_event


class Noticed:
    """The ids of the memories and entities that something changed, whatever statements it consisted of."""

    ids: tuple[str, ...] = ()


@contextmanager
def noticing(db: apsw.Connection) -> Iterator[Noticed]:
    """Note changes inside a transaction of the caller's.

    Triggers of the connection alone note them; the file never has those. They end with the transaction if it fails.
    """
    noticed = Noticed()
    db.execute(care_sql.BEGIN)
    yield noticed
    # A repair may meet ids that are no text; nobody can ask for those.
    rows: list[Any] = db.execute(care_sql.NOTICED).fetchall()
    found = (uid.decode(errors="replace") for (uid,) in rows)
    noticed.ids = tuple(uid for uid in found if "\ufffd" not in uid)
    db.execute(care_sql.END)


def mend_texts(db: apsw.Connection) -> None:
    memories: list[Any] = db.execute(care_sql.ALL_TEXTS).fetchall()
    for key, text, digest in memories:
        if hash_text(text) != digest:
            _mend_memory(db, key, text, digest)
    chunks: list[Any] = db.execute(care_sql.ALL_PIECES).fetchall()
    for key, memory, start, text, digest in chunks:
        if hash_text(text) != digest:
            _mend_chunk(db, key, memory, start, text, digest)


def _mend_memory(db: apsw.Connection, key: int, text: str, digest: bytes) -> None:
    parts: list[Any] = db.execute(care_sql.PARTS, (key,)).fetchall()
    whole = assembled(parts)
    if whole is not None and hash_text(whole) == digest:
        db.execute(care_sql.set_values("memory", ["text"], "id = ?"), (whole, key))
    elif whole == text:
        db.execute(care_sql.set_values("memory", ["content_hash"], "id = ?"), (hash_text(text), key))


def _mend_chunk(db: apsw.Connection, key: int, memory: int, start: int, text: str, digest: bytes) -> None:
    whole = one(db, care_sql.TEXT_OF, (memory,))
    piece = piece_with(whole, start, digest)
    if piece is not None:
        db.execute(care_sql.set_values("chunk", ["text"], "id = ?"), (piece, key))
    elif whole[start : start + len(text)] == text:
        db.execute(care_sql.set_values("chunk", ["hash"], "id = ?"), (hash_text(text), key))


CHANGES_VECTORS = frozenset({"values", "vectors", "vector_files"})
"""The cures after which searches must read the vectors anew."""


class Mended(NamedTuple):
    """The result of a repair: what could not be saved, and the ids of changed memories and entities."""

    lost: list[str]
    ids: tuple[str, ...]


def mend(db: apsw.Connection, cure: str, found: Sequence[Finding], actor: str, now: datetime) -> Mended:
    """Apply one cure: its statements, and what takes more than a statement."""
    with noticing(db) as noticed:
        lost = values.mend(db, to_micros(now)) if cure == "values" else []
        bound = {"actor": actor, "now": to_micros(now)}
        for statement in care_sql.CURES[cure]:
            db.execute(statement, bound if ":now" in statement else ())
        if cure in _MORE:
            _MORE[cure](db)
    note(db, cure, found, actor, now, noticed.ids)
    return Mended(lost, noticed.ids)


def next_generation(db: apsw.Connection) -> None:
    """So that every process reads the vectors again."""
    db.execute(care_sql.NEXT_GENERATION)


def note(
    db: apsw.Connection, cure: str, found: Sequence[Finding], actor: str, now: datetime, ids: tuple[str, ...] = ()
) -> None:
    add_event(db, repaired(cure, found, actor, now, ids))


def repaired(cure: str, found: Sequence[Finding], actor: str, now: datetime, ids: tuple[str, ...] = ()) -> AuditEvent:
    """Return the log's event about a cure."""
    return AuditEvent(now, actor, "repair", cure, {each.invariant: each.count for each in found}, ids=ids)


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
    "duplicates": _structure,  # its unique indexes had to go for a moment
    "structure": _structure,
    "words": _words,
    "doubles": _words,
    "plans": _plans,
    "values": next_generation,
    "texts": mend_texts,
    "vectors": next_generation,
    "vector_files": next_generation,
}
