"""Entities by their names. Inside the caller's transaction."""

from __future__ import annotations

import apsw

from memsweep.model.memory import NamedThing
from memsweep.model.text import case_key, name_key
from memsweep.store.file.connect import one
from memsweep.store.sqlite import graph_sql


def find_thing(db: apsw.Connection, thing: NamedThing) -> int | None:
    """The live entity of a name and a type; without a type, the one of that name that is surest."""
    if thing.type:
        found = one(db, graph_sql.FIND_TYPED, (name_key(thing.name), name_key(thing.type), case_key(thing.name)))
    else:
        found = one(db, graph_sql.FIND_NAMED, (name_key(thing.name), case_key(thing.name)))
    return None if found is None else int(found)


def key_of(db: apsw.Connection, name_or_id: str) -> int | None:
    """The key of a live entity by its id or its name."""
    found: int | None = one(db, graph_sql.FIND_BY_UID, (name_or_id,))
    if found is None:
        found = one(db, graph_sql.FIND_NAMED, (name_key(name_or_id), case_key(name_or_id)))
    return found
