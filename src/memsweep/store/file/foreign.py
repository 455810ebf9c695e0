"""A file that was written elsewhere becomes rows in a file of our own: it is never adopted.

Anybody can compute a seal again, so it proves no origin. What counts: the schema is compared with ours before a
row is read, every value is looked at, and what can be made from the rows (indexes, full text) is made from them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.errors import StoreCorrupt, StoreError, StoreTooNew
from memsweep.model.care import Seal
from memsweep.store.drafts import scratch
from memsweep.store.file import care_sql, rows_sql, shape
from memsweep.store.file.connect import immediate, one, plain_errors
from memsweep.store.file.content import FORMAT, Content, NotSound, digest_of_rows, private, reading, seal_of
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.file.shape import Thing
from memsweep.store.named_files import Regular, copy_rest, opened, require_space

_HEAD_BYTES = 100
_MAGIC = b"SQLite format 3\0"


def header_problem(head: bytes, size: int) -> str:
    """Return what a backup of ours would not have; empty if nothing. SQLite itself believes more than this."""
    if len(head) < _HEAD_BYTES or not head.startswith(_MAGIC):
        return "it does not begin as an SQLite file does"
    page_size = _page_size(head)
    if page_size < 512 or page_size & (page_size - 1):
        return f"pages of {page_size} bytes"
    wrong = next((name for name, start, length, wanted in _FIELDS if _number(head, start, length) != wanted), "")
    if wrong:
        return f"its header has {wrong}"
    pages = _number(head, 28, 4)
    if size != pages * page_size:
        return f"{pages:,} pages of {page_size:,} bytes are not {size:,} bytes"
    return ""


def version_in_header(head: bytes) -> int:
    """The version_in_header of the schema that a file claims."""
    return _number(head, 60, 4)


def _page_size(head: bytes) -> int:
    said = _number(head, 16, 2)
    return 65536 if said == 1 else said


def _number(head: bytes, start: int, length: int) -> int:
    return int.from_bytes(head[start : start + length], "big")


# what is wrong if it is another: where it stands, how long, what it must be
_FIELDS = (
    ("another journal mode", 18, 1, 1),
    ("another journal mode", 19, 1, 1),
    ("reserved space", 20, 1, 0),
    ("another schema format", 44, 4, 4),
    ("vacuum pages", 52, 4, 0),
    ("another encoding than UTF-8", 56, 4, 1),
    ("incremental vacuum", 64, 4, 0),
    ("another application id", 68, 4, 0),
)


MOST_BYTES = 256 << 30
_COPIES = 2  # the file as it came, and the file that is made of it


class Taken(NamedTuple):
    """The result of taking in a backup: its seal, and a digest of its rows alone."""

    seal: Seal
    rows: str


def take_in(source: Path, target: Path, named: Path) -> Taken:
    """Fill an empty file of our own with the rows of a backup; it has the version that the backup has.

    `named` is what the file will be called, for errors to say.
    """
    try:
        with opened(source, MOST_BYTES) as file:
            head = file.read(_HEAD_BYTES)
            if wrong := header_problem(head, file.size):
                raise NotSound(wrong)
            require_space(target.parent, _COPIES * file.size, source)
            with scratch(target.parent, named.name) as copy:
                _copy(file, copy, named, head)
                with reading(copy) as there:
                    content, version = Content(there, copy), version_in_header(head)
                    values = _compared(content, source, version)
                    with plain_errors(named), private(target) as db:
                        _make(db, version, content, values)
                    return Taken(seal_of(values), content.rows_digest)
    except NotSound as error:
        raise StoreCorrupt(
            f"{source} is damaged or is not a backup of memsweep ({error!s:.160}); nothing was changed.",
            hint="Use another file that `memsweep backup` wrote.",
        ) from error


def _copy(file: Regular, copy: Path, named: Path, head: bytes) -> None:
    copy_rest(file, copy, named, head)
    if copy.stat().st_size != file.size:
        raise NotSound("it became shorter while it was read")


def _compared(content: Content, source: Path, version: int) -> dict[str, Any]:
    """The seal of a file whose schema is one of ours."""
    values = content.sealed()
    newest = len(WORKSPACE_MIGRATIONS)
    if values["format"] > FORMAT or max(values["schema"], version) > newest:
        raise StoreTooNew(
            f"{source} was written by a newer memsweep ({values['version']!r:.40}, schema"
            f" {max(values['schema'], version)}; this one knows {newest}); nothing was changed.",
            hint="Upgrade memsweep.",
        )
    if version != values["schema"] or not version:
        raise NotSound(f"its schema is of version {version}, its seal says {values['schema']}")
    content.compare(version)
    return values


def _make(db: apsw.Connection, version: int, content: Content, values: dict[str, Any]) -> None:
    """The rows in a schema of our own, all of them or nothing."""
    with immediate(db):
        for migration in WORKSPACE_MIGRATIONS[:version]:
            db.execute(migration)
        indexes = [thing for thing in shape.things(db) if thing.kind == "index" and thing.definition]
        for thing in indexes:  # made when all rows are there, which is quicker
            db.execute(rows_sql.drop_index(thing.name))
        try:
            promised = content.digest({name: value for name, value in values.items() if name != "digest"}, into=db)
            _finish(db, indexes, content)
        except apsw.ConstraintError as error:
            raise NotSound(str(error)) from error
        if promised != values["digest"]:
            raise NotSound("its content is not what was backed up")
        if digest_of_rows(db, content.tables) != content.rows_digest:
            raise StoreError("the rows did not arrive as they were read; nothing was changed.", hint="Try again.")
        if one(db, rows_sql.COUNT_LIVE) != values["memories"]:
            raise NotSound("it has another number of memories than its seal says")
        db.pragma("user_version", version)


def _finish(db: apsw.Connection, indexes: Iterable[Thing], content: Content) -> None:
    for name, last in content.sequences:
        db.execute(care_sql.SET_SEQUENCE, (name, last))
        db.execute(care_sql.ADD_SEQUENCE, (name, last))
    for thing in indexes:
        is_optional = thing.key in care_sql.MAY_BE_MISSING  # rows that are there twice are the doctor's
        with contextlib.suppress(*([apsw.ConstraintError] if is_optional else [])):
            db.execute(thing.definition or "")
    for statement in rows_sql.REBUILD_WORDS:
        db.execute(statement)
