"""Memories and their pieces as answers show them: which columns of which things, and the value made of them. Pure.

An engine makes one query of a view; what it says for each column is read by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from memsweep.model.columns import Column, Convert, Declaration, Side
from memsweep.model.listing import ListedMemory
from memsweep.model.memory import CodePlace, Memory, NamedThing, Superseding
from memsweep.model.origin import UNKNOWN, stored_origin
from memsweep.model.search import Owner, Passage, Passages
from memsweep.model.times import from_micros, last_seen, moment_or_none
from memsweep.store.rows import RowReads, Show, sparing
from memsweep.store.things.code import CODE_FILE, CODE_ROOT, CODE_SCOPE
from memsweep.store.things.memories import CHUNK, MEMORY, ORIGIN, THREAD


class Shown(NamedTuple):
    """A column of a thing, or the beginning or the length of its text; or as a file keeps it, damaged or not."""

    of: Declaration
    column: str
    form: Literal["", "beginning", "length", "kept"] = ""

    @property
    def how(self) -> Column:
        return self.of.columns[self.column]

    def decoder(self, side: Side) -> Convert | None:
        """Return what makes a value of what an engine has, if that is not the value."""
        if self.form == "kept":
            return None if side == "file" else self.how.as_row
        way: Convert | None = getattr(self.how, f"from_{side}")
        return way


class View:
    """Columns of a thing and of what it refers to, by the names that they are read under."""

    def __init__(self, columns: Mapping[str, Shown], begins_at: tuple[Declaration, ...]) -> None:
        self.columns, self._certain = columns, begins_at
        self.is_of_chunks = CHUNK in begins_at

    def column(self, name: str) -> Column:
        return self.columns[name].how

    def reader(self, side: Side) -> Callable[[Sequence[Any]], dict[str, Any]]:
        """Return what makes values by name of those that an engine gives in order.

        What is not of its type is refused: it is damaged, and cannot be shown.
        """
        names = tuple(self.columns)
        kinds = [
            ()
            if each.form in ("length", "kept")
            else _kinds(each.how, side) + (type(None),) * (each.of not in self._certain)
            for each in self.columns.values()
        ]
        found = [(name, each.decoder(side)) for name, each in self.columns.items()]
        ways = [(name, way) for name, way in found if way is not None]
        sound: set[tuple[type, ...]] = set()

        def read(values: Sequence[Any]) -> dict[str, Any]:
            types = tuple(map(type, values))
            row = dict(zip(names, values, strict=False))
            if types not in sound:  # most rows are alike
                for name, kind, known in zip(names, types, kinds, strict=False):
                    if known and kind not in known:
                        raise TypeError(f"{name} is damaged: {row[name]!r:.40}")
                sound.add(types)
            for name, way in ways:
                if row[name] is not None:
                    row[name] = way(row[name])
            return row

        return read


_KINDS: dict[str, tuple[type, ...]] = {"text": (str,), "integer": (int, bool), "real": (float, int), "blob": (bytes,)}


def _kinds(how: Column, side: Side) -> tuple[type, ...]:
    """Return the types that a value of a column may have in an engine."""
    kinds = _KINDS[how.sql.split()[0]]
    if side == "node" and how.sql == "blob":
        kinds = _KINDS["text"]
    elif side == "node" and how.from_node in (tuple, list):
        kinds = (list,)
    return kinds + (type(None),) * how.null


def _columns(of: Declaration, *names: str, **others: str) -> Iterator[tuple[str, Shown]]:
    yield from ((name, Shown(of, name)) for name in names)
    yield from ((name, Shown(of, column)) for name, column in others.items())


_FILE = ("path", "root", "language", "lines", "verified", "run_verified")
_ORIGIN = ("door", "client", "client_version", "session", "tool", "tier")
_PARTS = frozenset({*_FILE, *_ORIGIN, "symbol", "symbol_kind"})
_FILE_OF, _ORIGIN_OF = itemgetter(*_FILE), itemgetter(*_ORIGIN)
_MOMENTS = [name for name, how in MEMORY.columns.items() if how.shown and name.endswith("_at")]
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
_KNOWN = [
    *_columns(MEMORY, "id", "stale"),
    *_columns(CODE_FILE, "path", "language", "stamp", "digest", "read_at_ns"),
    *_columns(CODE_ROOT, root="path"),
]
KNOWN_FILES = View(dict(_KNOWN), (MEMORY,))
COUNTED_FILES = View(dict([*_KNOWN, *_columns(CODE_FILE, "lines", "functions", "classes")]), (MEMORY,))
COUNTED = View(dict([*_columns(MEMORY, "source", "origin", "stale", "pinned", "expires_at")]), (MEMORY,))
VERIFIED = View(
    dict(
        [
            *_columns(MEMORY, "key", "id", "last_seen_at"),
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

OWNED = View(
    {
        **dict(_columns(CHUNK, "key")),
        "memory": Shown(MEMORY, "key"),
        "path": Shown(CODE_FILE, "path", "kept"),
        "tier": Shown(ORIGIN, "tier", "kept"),
        "created_at": Shown(MEMORY, "created_at", "kept"),
        "digest": Shown(CHUNK, "hash", "kept"),
    },
    (CHUNK, MEMORY),
)


def owners(rows: RowReads, keys: Collection[int]) -> dict[int, Owner]:
    """Return the memories that some live pieces are of, by the keys of the pieces."""
    (found,) = rows.ask(Show(OWNED, (("key", "in", keys),), spare=True))
    return {
        row["key"]: Owner(row["memory"], row["path"], row["tier"] or UNKNOWN.tier, row["created_at"], row["digest"])
        for row in found
        if row is not None
    }


def passages(rows: RowReads, keys: Collection[int]) -> Passages:
    """Return some live pieces that can be read, with what a reader needs of their memories."""
    (found,) = rows.ask(Show(PIECE, (("key", "in", keys),), spare=True))
    readable = list(filter(None, map(sparing(passage_of), found)))
    result = Passages((each.key, each) for each in readable)
    result.damaged = len(found) - len(readable)
    return result


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an answer, of which each column that answers show is one."""
    path, root, language, lines, alone, run = _FILE_OF(row)
    symbol, kind = row.get("symbol", ""), row.get("symbol_kind", "")
    verified = alone if run is None else run
    made, seen, stale = row["created_at"], row["last_seen_at"], row["stale"]
    shown = {name: value for name, value in row.items() if name not in _PARTS}
    shown["last_seen_at"] = last_seen(made, seen, stale=stale, verified_at=verified)
    created = from_micros(made)
    for name in _MOMENTS:
        if (at := shown[name]) is not None:
            shown[name] = created if at == made else from_micros(at)
    shown["origin"] = stored_origin(*_ORIGIN_OF(row))
    shown["code"] = None
    if path is not None:
        whole = f"{(root or '').rstrip('/')}/{path}"
        shown["code"] = CodePlace(path, whole, language, lines, moment_or_none(verified), symbol, kind)
    return shown


def passage_of(row: dict[str, Any]) -> Passage:
    return Passage(**_shown(row))


def read_listed(
    read: Callable[[Sequence[Any]], dict[str, Any]], rows: Iterable[Sequence[Any]]
) -> dict[int, ListedMemory | None]:
    """By key, each with whether it is superseded at the end of its row; None for one that is damaged."""
    listed = sparing(lambda row: ListedMemory(**_shown(read(row)), superseded=bool(row[-1])))
    return {row[0]: listed(row) for row in rows}


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
