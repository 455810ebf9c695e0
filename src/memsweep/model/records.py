"""Rows that hold somebody's words beside memories: what may stand in which column. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple


class Fields(NamedTuple):
    """The columns with words: texts, lists of texts, and JSON; and whether a row has a version, and can be trashed."""

    texts: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    versioned: bool = False
    trashable: bool = False
    has_id: bool = True

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.texts, *self.lists, *self.json)


FIELDS: dict[str, Fields] = {
    "revision": Fields(json=("before",), has_id=False),
    "memory_act": Fields(json=("said",), has_id=False),
    "origin": Fields(("client", "client_version", "session", "tool"), has_id=False),
    "entity": Fields(("name", "name_key", "type", "type_key"), versioned=True, trashable=True),
    "relation": Fields(("relation", "relation_key"), versioned=True, trashable=True),
    "segment": Fields(("text", "file_path", "topic_id", "task_id"), ("tags",), versioned=True, trashable=True),
    "thread": Fields(("uid",), has_id=False),
    "project": Fields(json=("config", "focus")),
    "plan": Fields(json=("summary",)),
    "receipt": Fields(("actor",), json=("skipped",)),
    "audit": Fields(("actor", "subject", "reason"), has_id=False),
}
"""By kind, in the order in which they are looked through: names come after the texts that they were found in."""


class Record(NamedTuple):
    """A row with its words; lists and JSON as they are written in Python."""

    kind: str
    key: int
    id: str
    version: int
    trash: int | None
    values: Mapping[str, Any]


def records_of(kind: str, rows: Iterable[Sequence[Any]], decoded: Collection[str]) -> list[Record]:
    """Rows of an engine: key, id, version, trash, then every column; what it keeps as JSON is `decoded`."""
    names = FIELDS[kind].all
    return [
        Record(
            kind,
            key,
            uid,
            version,
            trash,
            {name: json.loads(value) if name in decoded else value for name, value in zip(names, values, strict=True)},
        )
        for key, uid, version, trash, *values in rows
    ]


def digest_of(values: Mapping[str, Any]) -> str:
    said = json.dumps(dict(values), sort_keys=True)
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
