"""When memories were read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import apsw

from memsweep.model.text import to_json
from memsweep.model.times import to_micros
from memsweep.store.file.connect import BUSY_SECONDS, immediate
from memsweep.store.sqlite import sql


def mark_seen(db: apsw.Connection, seen: Mapping[str, datetime]) -> bool:
    """Note when memories were read, without waiting: whether it is done, or cannot be done at all.

    In a transaction that is not synced by itself: the next one that is takes it along, and if a power cut comes
    first, nothing is lost but a reading.
    """
    rows = to_json([(memory_id, to_micros(at)) for memory_id, at in seen.items()])
    synchronous = db.pragma("synchronous")
    db.set_busy_timeout(0)
    db.pragma("synchronous", "normal")
    try:
        with immediate(db):
            db.execute(sql.MARK_SEEN, (rows,))
    except (apsw.BusyError, apsw.LockedError):
        return False
    except apsw.Error:  # nothing may be written here, or there is no room: reading goes on
        return True
    finally:
        db.pragma("synchronous", synchronous)
        db.set_busy_timeout(int(BUSY_SECONDS * 1000))
    return True
