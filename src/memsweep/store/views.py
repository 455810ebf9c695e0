"""Memories and their pieces as answers show them: which columns of which things, and the value made of them. Pure.

An engine makes one query of a view; what it says for each column is read by name, and checked as the doctor does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from memsweep.model.columns import Column, Declaration, Side
from memsweep.model.listing import ListedMemory
from memsweep.model.memory import Memory, NamedThing, Superseding, last_seen
from memsweep.model.origin import stored_origin
from memsweep.model.search import Passage
from memsweep.model.shown import CodePlace
from memsweep.model.times import from_micros, moment_or_none
from memsweep.store.things.code import CODE_FILE, CODE_ROOT, CODE_SCOPE
from memsweep.store.things.memories import CHUNK, MEMORY, ORIGIN, THREAD


class Shown(NamedTuple):
    """A column of a thing, or the beginning or the length of its text."""

    of: Declaration
    column: str
    form: Literal["", "beginning", "length"] = ""

    @property
    def how(self) -> Column:
        return self.of.columns[self.column]


class View:
    """Columns of a thing and of what it refers to, by the names that they are read under."""

    def __init__(self, columns: Mapping[str, Shown], begins_at: tuple[Declaration, ...]) -> None:
        self.columns, self._certain = columns, begins_at
        self.is_of_chunks = CHUNK in begins_at

    def column(self, name: str) -> Column:
        return self.columns[name].how

    def reader(self, side: Side) -> Callable[[Sequence[Any]], dict[str, Any]]:
        """Return what makes values by name of those that an engine gives in order; damaged ones are refused."""
        steps = []
        for name, (of, column, form) in self.columns.items():
            how = of.columns[column]
            as_file = how.as_row if side == "node" else None
            way = how.from_file if side == "file" else how.from_node
            steps.append((name, how.fits, as_file, way, of in self._certain, form == "length"))

        def read(values: Sequence[Any]) -> dict[str, Any]:
            found = {}
            for (name, fits, as_file, way, is_certain, is_plain), value in zip(steps, values, strict=False):
                if (is_certain or value is not None) and not is_plain:
                    if not fits(value if as_file is None else as_file(value)):
                        raise ValueError(f"{name} is damaged: {value!r:.40}")
                    value = value if way is None or value is None else way(value)
                found[name] = value
            return found

        return read


def _columns(of: Declaration, *names: str, **others: str) -> Iterator[tuple[str, Shown]]:
    yield from ((name, Shown(of, name)) for name in names)
    yield from ((name, Shown(of, column)) for name, column in others.items())


_ORIGIN = ("door", "client", "client_version", "session", "tool", "tier")
_COMMON = dict[str, Shown](
    [
        *_columns(MEMORY, *(name for name, column in MEMORY.columns.items() if column.shown)),
        *_columns(THREAD, thread_id="id"),
        *_columns(ORIGIN, *_ORIGIN),
        *_columns(CODE_FILE, "path", "language", "lines", verified="verified_at"),
        *_columns(CODE_ROOT, root="path"),
        *_columns(CODE_SCOPE, run_verified="verified_at"),
    ]
)
WHOLE = View(dict(_columns(MEMORY, "key", "id", "text", "metadata", "version")) | _COMMON, (MEMORY,))
LISTED = View(
    {
        **dict(_columns(MEMORY, "key", "id")),
        "text": Shown(MEMORY, "text", "beginning"),
        "length": Shown(MEMORY, "text", "length"),
        **_COMMON,
    },
    (MEMORY,),
)
CODE_FILES = View(
    dict(
        [
            *_columns(MEMORY, "key", "id", "stale", "last_seen_at"),
            *_columns(CODE_FILE, "path", "language", "stamp", "digest", "read_at_ns", "lines", "functions", "classes"),
            *_columns(CODE_FILE, "scope", verified="verified_at"),
            *_columns(CODE_ROOT, root="path"),
            *_columns(CODE_SCOPE, run_verified="verified_at"),
        ]
    ),
    (MEMORY,),
)
HASHES = View(dict([*_columns(CHUNK, "hash"), *_columns(MEMORY, "id")]), (CHUNK, MEMORY))
PIECE = View(
    {
        **dict(_columns(CHUNK, "key", "text", "first_line", "last_line", "symbol", "symbol_kind", chunk_id="id")),
        **dict(_columns(MEMORY, memory_id="id")),
        **_COMMON,
    },
    (CHUNK, MEMORY),
)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer, of which each column that answers show is one."""
    origin = stored_origin(*(row.pop(name) for name in _ORIGIN))
    path, root, language, lines = (row.pop(name) for name in ("path", "root", "language", "lines"))
    symbol, kind = row.pop("symbol", ""), row.pop("symbol_kind", "")
    alone, run = row.pop("verified"), row.pop("run_verified")
    verified = alone if run is None else run
    made, seen, stale = row["created_at"], row["last_seen_at"], row["stale"]
    row["last_seen_at"] = last_seen(made, seen, stale=stale, verified_at=verified)
    moments = {name: moment_or_none(value) for name, value in row.items() if name.endswith("_at")}
    whole = f"{(root or '').rstrip('/')}/{path}"
    code = None if path is None else CodePlace(path, whole, language, lines, moment_or_none(verified), symbol, kind)
    return row | moments | {"origin": origin, "code": code}


def passage_of(row: dict[str, Any]) -> Passage:
    return Passage(**_shown(row))


def read_listed(
    read: Callable[[Sequence[Any]], dict[str, Any]], rows: Iterable[Sequence[Any]]
) -> dict[int, ListedMemory | None]:
    """By key, each with whether it is superseded at the end of its row; None for one that is damaged."""
    found: dict[int, ListedMemory | None] = {}
    for row in rows:
        try:
            found[row[0]] = ListedMemory(**_shown(read(row)), superseded=bool(row[-1]))
        except (TypeError, ValueError, ArithmeticError):  # the others can still be had
            found[row[0]] = None
    return found


def memory_of(
    row: dict[str, Any],
    chunks: int,
    *,
    things: Iterable[Sequence[Any]],
    changes: tuple[int, int | None],
    older: Iterable[Sequence[Any]],
    newer: Iterable[Sequence[Any]],
) -> Memory:
    """`changes` are how often it was revised and when last; `older` and `newer` are ids with times."""
    del row["key"]
    revisions, revised = changes
    return Memory(
        **_shown(row),
        chunk_count=chunks,
        entities=tuple(NamedThing(name, kind) for name, kind in things),
        revisions=revisions,
        revised_at=moment_or_none(revised),
        supersedes=_chain(older),
        superseded_by=_chain(newer),
    )


def _chain(rows: Iterable[Sequence[Any]]) -> tuple[Superseding, ...]:
    return tuple(Superseding(uid, from_micros(at)) for uid, at in rows)
