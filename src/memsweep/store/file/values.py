"""Values that cannot be right: found in the rows, named, and mended. Inside the caller's transaction."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.errors import StoreCorrupt
from memsweep.model.columns import Column
from memsweep.model.forms import DROP, BadText, Row, Together, assembled, hash_text, piece_with
from memsweep.store.file import care_sql, rows_sql
from memsweep.store.file.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.things.every import COLUMNS, REGISTRY_COLUMNS, TABLES
from memsweep.store.things.registry import META_VALUES

_NAMED = 3


class Damaged(NamedTuple):
    """A row with values that cannot be right. Its key is its rowid, or 0 in a table that has none."""

    table: str
    row: dict[str, Any]
    columns: list[str]
    key: int


Recover = Callable[[apsw.Connection, Damaged, str], Any]


def find(db: apsw.Connection) -> Iterator[Damaged]:
    """Every damaged row of every table of ours that is in the file."""
    there: Iterable[Any] = db.execute(care_sql.TABLE_NAMES).fetchall()
    known = COLUMNS | REGISTRY_COLUMNS
    for table in [name for (name,) in there if name in known]:
        for key, row in _rows(db, table, list(known[table])):
            if wrong := misfits(table, row):
                yield Damaged(table, row, wrong, key)


def name_of(db: apsw.Connection, damaged: Damaged) -> str:
    """Return the id of the damaged value's memory if there is one, else its own: as people know it."""
    owner = None
    if damaged.table in care_sql.OWNERS:
        column, statement = care_sql.OWNERS[damaged.table]
        owner = _sound(db, statement, (damaged.row[column],))
    own = damaged.row.get("uid", damaged.row.get("name", damaged.row.get("path")))
    if "uid" in damaged.columns or not isinstance(own, str):
        own = None
    return owner or own or f"row {damaged.key or _number(damaged)} of {damaged.table}"


def place_of(db: apsw.Connection, damaged: Damaged) -> str:
    return f"{name_of(db, damaged)} ({', '.join(f'{damaged.table}.{name}' for name in damaged.columns)})"


def explain(db: apsw.Connection, path: Path) -> StoreCorrupt | None:
    """Return the damage in a file, if that may be why reading it failed."""
    try:
        places = [place_of(db, damaged) for damaged in find(db)] or _damaged_structure(db)
    except apsw.Error as error:
        places = [f"a page ({error})"] if isinstance(error, apsw.CorruptError | apsw.NotADBError) else []
    return damage_at(str(path), places)


def damage_at(what: str, places: Sequence[str]) -> StoreCorrupt | None:
    """Return the error that names damaged places; None without any."""
    if not places:
        return None
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    return StoreCorrupt(
        f"{what} is damaged: {', '.join(places[:_NAMED])}{more} cannot be read.",
        hint="`memsweep doctor` shows all of it; --repair saves what can be saved.",
    )


def _damaged_structure(db: apsw.Connection) -> list[str]:
    """Return the damage that rows do not show: an index, say, that finds what is not there."""
    lines = [line for (said,) in db.execute("pragma integrity_check(1)") for line in str(said).splitlines()]
    return [f"the file ({line})" for line in lines if line != "ok" and not line.startswith("***")]


def mend(db: apsw.Connection, now: int, recover: Recover | None = None) -> list[str]:
    """Write what is right, or the best that can be made of it, into every damaged row; what could not be saved.

    `recover` knows what is known elsewhere.
    """
    for index in care_sql.UNIQUE_NAMES:  # two names may become equal; the doctor unites such duplicates
        db.execute(care_sql.drop_thing("index", index))
    said = []
    for damaged in list(find(db)):
        said += _mend_row(db, damaged, now, recover or _recovered)
    return said


def _mend_row(db: apsw.Connection, damaged: Damaged, now: int, recover: Recover) -> list[str]:
    table, row, wrong, key = damaged
    name = name_of(db, damaged)
    known = {column: value for column in wrong if (value := recover(db, damaged, column)) is not None}
    left = [column for column in wrong if column not in known]
    values = mended(table, {**row, **known}, left, key, now)
    condition, address = _address(damaged)
    if values is None:
        db.execute(care_sql.drop_row(table, condition), address)
        return [f"{name}: a row of {table} was dropped, for {_said(row, left)}."]
    values = {**values, **known}
    db.execute(care_sql.set_values(table, list(values), condition), (*values.values(), *address))
    return [f"{name}: {_said(row, [column])}; it is {values[column]!r:.40} now ({table})." for column in left]


def _said(row: dict[str, Any], columns: Sequence[str]) -> str:
    return ", ".join(f"{column} was {shown(row[column])}" for column in columns)


def _number(damaged: Damaged) -> str:
    return " ".join(shown(value) for value in list(damaged.row.values())[:2])


def _rows(db: apsw.Connection, table: str, columns: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every row with its key. Text that is no UTF-8 stops the quick way; then all is read as bytes."""
    seen = 0
    try:
        for key, *values in db.execute(care_sql.rows_of(table, columns, has_key=has_rowid(table))):
            yield key, dict(zip(columns, values, strict=True))
            seen += 1
    except UnicodeDecodeError:
        yield from itertools.islice(exact_rows(db, table, columns), seen, None)


def exact_rows(
    db: apsw.Connection, table: str, columns: list[str], *, order: str = "", key: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with text that may be none; all, or the one with a key."""
    one = key is not None
    statement = care_sql.exact_rows_of(table, columns, has_key=has_rowid(table), order=order, one=one)
    for found, *read in db.execute(statement, (key,) if one else ()):
        yield found, dict(zip(columns, map(_decoded, read[::2], read[1::2]), strict=True))


def has_rowid(table: str) -> bool:
    return table not in _primary_keys(is_registry=table in REGISTRY_COLUMNS)


def _decoded(kind: str, raw: Any) -> Any:
    if kind != "text":
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return BadText(raw)


@functools.cache
def _primary_keys(*, is_registry: bool) -> dict[str, list[str]]:
    """The columns that a row is known by, of each table without rowids."""
    db = apsw.Connection(":memory:")
    for migration in REGISTRY_MIGRATIONS if is_registry else WORKSPACE_MIGRATIONS:
        db.execute(migration)
    found: dict[str, list[str]] = {}
    for (name,) in db.execute(care_sql.WITHOUT_ROWID).fetchall():
        rows: Iterable[Any] = db.execute(rows_sql.COLUMNS, (name,))
        found[str(name)] = [column for column, _, place in rows if place]
    return found


def _address(damaged: Damaged) -> tuple[str, list[Any]]:
    """A condition that finds the row and no other, and its values."""
    keys = _primary_keys(is_registry=damaged.table in REGISTRY_COLUMNS).get(damaged.table)
    if not keys:
        return "rowid = ?", [damaged.key]
    values = [damaged.row[key] for key in keys]
    parts = (f"{key} is cast(? as text)" if isinstance(value, BadText) else f"{key} is ?"
             for key, value in zip(keys, values, strict=True))  # fmt: skip
    return " and ".join(parts), [bytes(value) if isinstance(value, BadText) else value for value in values]


# What stands elsewhere too, and can be had without loss.
def _recovered(db: apsw.Connection, damaged: Damaged, column: str) -> Any:
    recover = _RECOVERIES.get((damaged.table, column))
    return None if recover is None else recover(db, damaged)


def _memory_text(db: apsw.Connection, damaged: Damaged) -> str | None:
    """From its chunks, if the hash says that they are all of it."""
    whole = assembled(_all(db, care_sql.PARTS, (damaged.key,)))
    return whole if whole is not None and hash_text(whole) == damaged.row["content_hash"] else None


def _chunk_text(db: apsw.Connection, damaged: Damaged) -> str | None:
    """From its memory: the piece that begins there and has its hash."""
    row = damaged.row
    whole, start = _sound(db, care_sql.TEXT_OF, (row["memory"],)), row["start"]
    if not isinstance(whole, str) or not isinstance(start, int) or start < 0:
        return None
    return piece_with(whole, start, row["hash"])


def _chunk_memory(db: apsw.Connection, damaged: Damaged) -> int | None:
    """The only memory that says this at this place."""
    row = damaged.row
    found = _all(db, care_sql.OWNER_OF_TEXT, {"text": row["text"], "start": row["start"], "trash": row["trash"]})
    return found[0][0] if len(found) == 1 else None


def _chunk_position(db: apsw.Connection, damaged: Damaged) -> int | None:
    found: int | None = _sound(db, care_sql.POSITION_OF, (damaged.row["memory"], damaged.key))
    return found


def _chunk_start(db: apsw.Connection, damaged: Damaged) -> int | None:
    whole, part = _sound(db, care_sql.TEXT_OF, (damaged.row["memory"],)), damaged.row["text"]
    found = whole.find(part) if isinstance(whole, str) and isinstance(part, str) else -1
    return found if found >= 0 else None


def _memory_tags(db: apsw.Connection, damaged: Damaged) -> str | None:
    tags = [tag for (tag,) in _all(db, care_sql.TAGS_OF, (damaged.key,)) if isinstance(tag, str)]
    return json.dumps(tags, ensure_ascii=False) if tags else None


_RECOVERIES: dict[tuple[str, str], Callable[[apsw.Connection, Damaged], Any]] = {
    ("memory", "text"): _memory_text,
    ("memory", "tags"): _memory_tags,
    ("chunk", "text"): _chunk_text,
    ("chunk", "memory"): _chunk_memory,
    ("chunk", "position"): _chunk_position,
    ("chunk", "start"): _chunk_start,
}


def _all(db: apsw.Connection, statement: str, values: Any) -> list[Any]:
    """The rows of a statement; none if one of them is damaged, too."""
    try:
        return db.execute(statement, values).fetchall()
    except (UnicodeDecodeError, apsw.SQLError):
        return []


def _sound(db: apsw.Connection, statement: str, values: tuple[Any, ...]) -> Any:
    found = _all(db, statement, values)
    return found[0][0] if found else None


# What is made from another column, and is made again with it.
_MADE_FROM = {"memory": {"text": ("content_hash", hash_text)}, "chunk": {"text": ("hash", hash_text)}}


def misfits(table: str, row: Row) -> list[str]:
    """The columns of a row that do not hold what they may hold."""
    columns = _columns(table, row)
    found = [name for name, column in columns.items() if not column.fits(row[name])]
    if not found:
        found = [name for rule in _together(table) if not rule.fits(row) for name in rule.columns]
    return found


def mended(table: str, row: Row, wrong: list[str], key: int, now: int) -> dict[str, Any] | None:
    """Return the new values of a row in place of wrong ones; None if the row means nothing without."""
    columns = _columns(table, row)
    sound = {name: value for name, value in row.items() if name not in wrong} | {"rowid": key, "now": now}
    values: dict[str, Any] = {}
    for name in sorted(wrong, key=lambda name: name.endswith(("_key", "hash"))):  # those are made from others
        if columns[name].fits(row[name]):
            values[name] = None  # sound by itself, but not together with another
            continue
        values[name] = sound[name] = columns[name].remedy(row[name], sound)
        if values[name] is DROP or not columns[name].fits(values[name]):
            return None
    for name, (made, make) in _MADE_FROM.get(table, {}).items():
        if name in values:
            values[made] = make(values[name])
    for rule in _together(table):
        if set(rule.columns) & set(wrong):
            values |= dict.fromkeys(rule.columns) if not rule.fits({**row, **values}) else {}
    return values


def shown(value: Any) -> str:
    """A damaged value in a few letters."""
    if isinstance(value, BadText):
        return "text that is no UTF-8"
    return "nothing" if value is None else f"{value!r:.30}"


def _columns(table: str, row: Row) -> Mapping[str, Column]:
    if table != "meta":
        return COLUMNS.get(table) or REGISTRY_COLUMNS[table]
    return COLUMNS["meta"] | ({"value": META_VALUES[row["key"]]} if row["key"] in META_VALUES else {})


def _together(table: str) -> tuple[Together, ...]:
    return TABLES[table].together if table in TABLES else ()
