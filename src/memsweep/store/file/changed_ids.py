"""Note the memories and entities that something changes, whatever statements it consists of.

Triggers of the connection alone note their ids; the file never has them. They end with the transaction if that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from memsweep.store.file import care_sql


class Noticed:
    """The ids, once the changes have been made."""

    ids: tuple[str, ...] = ()


@contextmanager
def noticing(db: apsw.Connection) -> Iterator[Noticed]:
    """Inside a transaction of the caller's."""
    noticed = Noticed()
    db.execute(care_sql.BEGIN)
    yield noticed
    # A repair may meet ids that are no text; nobody can ask for those.
    rows: list[Any] = db.execute(care_sql.NOTICED).fetchall()
    found = (uid.decode(errors="replace") for (uid,) in rows)
    noticed.ids = tuple(uid for uid in found if "\ufffd" not in uid)
    db.execute(care_sql.END)
