"""Find the invariants of a workspace file that do not hold, and mend them inside the caller's transaction."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.care import Finding
from memsweep.model.forms import assembled, hash_text, piece_with
from memsweep.model.plan import PlanItem, digest_of
from memsweep.model.times import to_micros
from memsweep.store.file import care_sql, schema, values
from memsweep.store.file.connect import immediate, one, snapshot
from memsweep.store.file.meta import add_event, read_model
from memsweep.store.file.metadata_sql import definition as index_of
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

SAMPLES = 5
_FULL_TEXT = re.compile(r"using\s+fts5\s*\(", re.IGNORECASE)
DifferingFiles = Callable[[apsw.Connection, int], list[str]]
"""The vector files of a workspace whose vectors of this dimension are others than its rows say."""
Structure = dict[tuple[str, str], "StructureThing"]

# What SQLite says of a damage, and which invariant that is: the first that fits.
_DAMAGES = (
    (re.compile("fts5", re.IGNORECASE), "words_damaged"),
    (re.compile("in index|from index|entries in"), "index_damaged"),
    (re.compile("never used"), "page_lost"),
    (re.compile(r"value in \w+\.\w+$"), ""),  # named with its row by the look at the values
    (re.compile(""), "file_damaged"),
)
# With one of these, the other questions have no meaning.
_FATAL = {"file_damaged", "table_changed", "value_damaged"}
_OF_WORDS = {"chunk_without_words", "words_without_chunk"}


class StructureThing(NamedTuple):
    """A table, an index, a view: whose it is, and the statement that makes it."""

    table: str
    definition: str

    def can_be_made_again(self, kind: str) -> bool:
        """An index, a view or a full text: nothing is in them that is not elsewhere."""
        return kind in {"index", "view"} or self.definition.lower().startswith("create virtual")


def examine(
    db: apsw.Connection, differing_files: DifferingFiles | None = None, *, values_are_sound: bool = False
) -> list[Finding]:
    """Everything that is not as it should be, seen in one snapshot; comparing the words needs the write lock.

    The connection must be new: on one that has been used, SQLite takes a full text that another process has
    written to since for a damaged one.
    """
    with snapshot(db):
        found = examine_pages(db)
        if not values_are_sound and not _FATAL & {each.invariant for each in found}:
            found += finding("value_damaged", [values.place_of(db, damaged) for damaged in values.find(db)])
        if _FATAL & {each.invariant for each in found}:
            return found
        has_words = not any(each.invariant == "structure_changed" for each in found)
        found += [*_rows(db, skip=set() if has_words else _OF_WORDS), *_texts(db)]
        found += finding("plan_changed", [uid for _, uid in changed_plans(db)])
        if differing_files is not None and (model := read_model(db)) is not None:
            found += finding("vector_file_differs", differing_files(db, model.dimension))
    if has_words and not any("words" in each.invariant for each in found):
        with immediate(db):
            found += finding("words_differ", _differing_words(db))
    return found


def examine_pages(db: apsw.Connection) -> list[Finding]:
    """Return the findings about the file itself, whatever stands in it."""
    return [*_pages(db), *_structure(db)]


def changed_plans(db: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Plans that can still be applied and are not what their digest was made of: their keys and ids."""
    plans: list[Any] = db.execute(care_sql.UNUSED_PLANS).fetchall()
    for key, uid, digest in plans:
        rows: Iterable[Any] = db.execute(schema.PLAN_ITEMS, (key,))
        items = [PlanItem(kind, item, version, reason, json.loads(said)) for kind, item, version, reason, said in rows]
        if digest_of(items) != digest:
            yield key, uid


@functools.cache
def expected_structure() -> Structure:
    """Return the structure that the migrations make of an empty file."""
    db = apsw.Connection(":memory:")
    for migration in WORKSPACE_MIGRATIONS:
        db.execute(migration)
    return structure(db)


def structure(db: apsw.Connection) -> Structure:
    rows: Iterable[Any] = db.execute(care_sql.STRUCTURE)
    ours = ((kind, name, table, said or "") for kind, name, table, said in rows if not said or said != index_of(name))
    return {(kind, name): StructureThing(table, said) for kind, name, table, said in ours}


def full_texts() -> list[str]:
    return [name for (_, name), thing in expected_structure().items() if _FULL_TEXT.search(thing.definition)]


def finding(invariant: str, found: list[str]) -> list[Finding]:
    """One finding with a few samples, or none."""
    return [Finding(invariant, len(found), tuple(found[:SAMPLES]))] if found else []


def _pages(db: apsw.Connection) -> Iterator[Finding]:
    lines = [line for (said,) in db.execute("pragma integrity_check") for line in str(said).splitlines()]
    lines = [line for line in lines if line != "ok" and not line.startswith("***")]
    kinds = [next(name for pattern, name in _DAMAGES if pattern.search(line)) for line in lines]
    for invariant, count in Counter(kind for kind in kinds if kind).items():
        samples = [line for line, kind in zip(lines, kinds, strict=True) if kind == invariant]
        yield Finding(invariant, count, tuple(samples[:SAMPLES]))


def _structure(db: apsw.Connection) -> list[Finding]:
    wanted, there = expected_structure(), structure(db)
    differing = [key for key, thing in wanted.items() if there.get(key) != thing]
    mendable = [key for key in differing if wanted[key].can_be_made_again(key[0])]
    own = tuple(f"{name}_" for _, name in mendable)  # the tables behind a full text come and go with it
    lost = [name for kind, name in differing if (kind, name) not in mendable and not name.startswith(own)]
    return [
        *finding("table_changed", lost),
        *finding("structure_changed", [name for kind, name in mendable if wanted[kind, name].table not in lost]),
        *finding("foreign_structure", [f"{kind} {name}" for kind, name in there if (kind, name) not in wanted]),
    ]


def _rows(db: apsw.Connection, skip: set[str]) -> Iterator[Finding]:
    for invariant, check in care_sql.CHECKS.items():
        if invariant not in skip:
            rows: list[Any] = db.execute(care_sql.sampled(check), (SAMPLES,)).fetchall()
            if rows:
                yield Finding(invariant, rows[0][1], tuple(sample.decode(errors="replace") for sample, _ in rows))


def _texts(db: apsw.Connection) -> list[Finding]:
    rows: Iterable[Any] = db.execute(care_sql.TEXTS)
    changed = [uid for uid, text, digest in rows if hashlib.blake2b(text, digest_size=16).digest() != digest]
    return finding("text_changed", changed)


def _differing_words(db: apsw.Connection) -> list[str]:
    """Full texts that do not say what the live rows say."""
    differing = []
    for table in full_texts():
        try:
            db.execute(care_sql.compare_words(table))
        except (apsw.CorruptError, UnicodeDecodeError):
            differing.append(table)
    return differing


@contextmanager
def noticing(db: apsw.Connection) -> Iterator[list[str]]:
    """Yield a list that gets the ids of changed memories and entities, whatever statements change them.

    Triggers of the connection alone note them; the file never has those. They end with the transaction if it fails.
    """
    noticed: list[str] = []
    db.execute(care_sql.BEGIN)
    yield noticed
    # A repair may meet ids that are no text; nobody can ask for those.
    rows: list[Any] = db.execute(care_sql.NOTICED).fetchall()
    found = (uid.decode(errors="replace") for (uid,) in rows)
    noticed += (uid for uid in found if "\ufffd" not in uid)
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
    note(db, cure, found, actor, now, tuple(noticed))
    return Mended(lost, tuple(noticed))


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


def _make_structure(db: apsw.Connection) -> None:
    there = structure(db)
    for (kind, name), thing in expected_structure().items():
        if thing.can_be_made_again(kind) and there.get((kind, name)) != thing:
            db.execute(care_sql.drop_thing(kind, name))
            db.execute(thing.definition)
    for table in set(full_texts()) - {name for _, name in there}:
        db.execute(care_sql.rebuild_words(table))


def _make_words(db: apsw.Connection) -> None:
    for table in full_texts():
        db.execute(care_sql.rebuild_words(table))


def _drop_plans(db: apsw.Connection) -> None:
    for key, _ in list(changed_plans(db)):
        for statement in care_sql.DROP_PLAN:
            db.execute(statement, (key,))


_MORE: dict[str, Callable[[apsw.Connection], None]] = {
    "duplicates": _make_structure,  # its unique indexes had to go for a moment
    "structure": _make_structure,
    "words": _make_words,
    "doubles": _make_words,
    "plans": _drop_plans,
    "values": next_generation,
    "texts": mend_texts,
    "vectors": next_generation,
    "vector_files": next_generation,
}
