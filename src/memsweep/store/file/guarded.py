"""Reading a file that we did not write: nothing in it is run, and neither time nor memory has no end."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memsweep.errors import StoreError
from memsweep.forking import stores
from memsweep.store.file import care_sql

MOST_VALUE_BYTES = 64 << 20
_MOST_SCHEMA_BYTES = 20_000  # of one object; ours have less than a thousand
_STEPS_A_LOOK = 1000
_SCHEMA_LOOKS = 20  # ours takes about one
_LOOKS_A_MEGABYTE = 50_000  # a row of ten bytes takes less than a hundred steps to check and to read
_CONFIG = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
}
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: _MOST_SCHEMA_BYTES,
    apsw.SQLITE_LIMIT_SQL_LENGTH: _MOST_SCHEMA_BYTES,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 20,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 8,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# These speak of the machine, everything else of the file.
_OF_THE_MACHINE = (apsw.IOError, apsw.FullError, apsw.NoMemError, apsw.CantOpenError, apsw.PermissionsError)


class NotSound(Exception):
    """A file is not as memsweep would have written it; the message says where."""


class Guarded:
    """A connection that reads the tables it was allowed to, as long as the size of the file can explain it."""

    def __init__(self, db: apsw.Connection, size: int) -> None:
        self.db = db
        self._size, self._looks = size, _SCHEMA_LOOKS
        self._tables: Collection[str] = ("sqlite_master",)
        db.set_progress_handler(self._is_over, _STEPS_A_LOOK)
        db.authorizer = self._judge

    def allow(self, tables: Collection[str]) -> None:
        """The schema was compared: these tables may be read from now on, whole rows of them."""
        self._tables = tables
        self._looks = _SCHEMA_LOOKS + self._size * _LOOKS_A_MEGABYTE // 1_000_000
        self.db.limit(apsw.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)

    def _is_over(self) -> bool:
        self._looks -= 1
        return self._looks < 0

    def _judge(self, action: int, first: str | None, *_: str | None) -> int:
        match action:
            case apsw.SQLITE_SELECT:
                allowed = True
            case apsw.SQLITE_READ:
                allowed = first in self._tables
            case apsw.SQLITE_PRAGMA:
                allowed = first == "quick_check"
            case _:
                allowed = False
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


@contextmanager
def reading(path: Path) -> Iterator[Guarded]:
    """Open a private copy. Journals beside it are not played, virtual tables are not known."""
    with stores:
        with file_errors(path):
            db = _open(path)
        with contextlib.closing(db):
            yield Guarded(db, path.stat().st_size)


def _open(path: Path) -> apsw.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.drop_modules(None)
    for option, value in _CONFIG.items():
        db.config(option, value)
    for kind, most in _LIMITS.items():
        db.limit(kind, most)
    db.execute(care_sql.SETUP)
    return db


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Tell errors of the disk from those of the file."""
    try:
        yield
    except _OF_THE_MACHINE as error:
        raise StoreError(
            f"a copy in {path.parent} could not be read ({error}); nothing was changed.",
            hint="Check the disk and the memory of this machine.",
        ) from error
    except apsw.InterruptError:
        raise NotSound("reading it does not come to an end") from None
    except apsw.TooBigError:
        raise NotSound(f"a row of more than {MOST_VALUE_BYTES:,} bytes") from None
    except UnicodeDecodeError as error:
        raise NotSound(f"text that is not UTF-8 ({error.reason})") from None
    except apsw.Error as error:
        raise NotSound(str(error)) from error
