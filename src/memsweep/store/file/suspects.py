"""Errors that may come from damaged rows, and what is looked into then."""

from __future__ import annotations

from pathlib import Path

import apsw

from memsweep.errors import StoreCorrupt

SUSPECTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, apsw.SQLError, apsw.ConstraintError)
"""What code that reads sound rows does not raise; with damaged ones it may."""


def explain(db: apsw.Connection, path: Path) -> StoreCorrupt | None:
    """Return the damage in a file, if that may be why reading it failed."""
    from memsweep.store.file import values  # late: it knows every column, and hardly any file is damaged

    return values.explain(db, path)
