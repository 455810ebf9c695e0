"""The origins of rows, inside the caller's transaction."""

from __future__ import annotations

from dataclasses import asdict

import apsw

from memsweep.model.origin import UNKNOWN, Origin
from memsweep.store.file.connect import one
from memsweep.store.sqlite import origin_sql


def origin_key(db: apsw.Connection, origin: Origin) -> int | None:
    """Return the key by which rows refer to an origin: it is stored once. None for an unknown one."""
    if origin == UNKNOWN:
        return None
    values = asdict(origin)
    found: int | None = one(db, origin_sql.FIND, values)
    return found if found is not None else int(one(db, origin_sql.ADD, values))
