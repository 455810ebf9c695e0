"""A mark beside a database file that says how much was committed, to notice a log that lost some of it.

SQLite ends a log silently at the first frame whose checksum is wrong: what was acknowledged after it is gone,
and nobody is told. The mark is written after each commit without a sync of its own. It says which log it
speaks of (the salts in the log's header), how many frames of it were committed, and how many rows were ever
made. All of that was durable before it was written, so the mark may be behind (a process was killed, two wrote
at once) and is never ahead: a database that has less than its mark has lost something. See ADR 14.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.forking import new_lock
from memsweep.regular import WRITING
from memsweep.store.file import schema

LOST_LOG = "lost"
DAMAGED = "damaged"


def place(path: Path, kind: str, what: str, ending: str) -> Path:
    """Return the place of something set aside from a database file."""
    return path.with_name(f"{path.stem}.{kind}-{what}{ending}")


def all_of(path: Path, kind: str = "*", ending: str = "") -> Iterator[Path]:
    kinds = (LOST_LOG, DAMAGED) if kind == "*" else (kind,)
    return (file for each in kinds for file in sorted(path.parent.glob(f"{path.stem}.{each}-*{ending}")))


def remove_all(path: Path) -> list[Path]:
    """Remove what was put aside of a database file; what cannot be removed."""
    kept = []
    for file in all_of(path):
        try:
            file.unlink(missing_ok=True)
        except OSError:
            kept.append(file)
    return kept


_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682
_WORD = 0xFFFFFFFF


def committed_frames(path: Path) -> int:
    """Return the number of frames up to the last commit before the log ends or is damaged."""
    try:
        with path.open("rb") as log:
            head = log.read(_HEADER.size)
            magic, _, page_size, _, *salts, first, second = _HEADER.unpack(head)
            if magic & ~1 != _WAL_MAGIC or (first, second) != _checksum(head[:24], 0, 0, magic):
                return 0
            count = committed = 0
            while len(frame := log.read(_FRAME.size + page_size)) == _FRAME.size + page_size:
                _, pages_after_commit, *found, one, two = _FRAME.unpack_from(frame)
                first, second = _checksum(frame[:8] + frame[_FRAME.size :], first, second, magic)
                if found != salts or (one, two) != (first, second):
                    break
                count += 1
                committed = count if pages_after_commit else committed
            return committed
    except (OSError, struct.error):
        return 0


def _checksum(data: bytes, first: int, second: int, magic: int) -> tuple[int, int]:
    """Fibonacci-weighted sums of 32-bit words, in the order of bytes that the magic number says."""
    words = struct.unpack(f"{'>' if magic & 1 else '<'}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second


_RECORD = struct.Struct("<8s8sqq")
_MAGIC = b"memswpm1"
_NO_LOG = bytes(8)
_SALTS_AT = 16


class Mark(NamedTuple):
    """The state of a database: the salts of its log, the committed frames in it, the rows that were ever made."""

    salts: bytes
    frames: int
    rows: int

    def has_lost(self, now: Mark) -> bool:
        """Return whether a database that was so far once, and is so far `now`, has lost something."""
        same_log = self.salts == now.salts != _NO_LOG
        return now.rows < self.rows or (same_log and now.frames < self.frames)


class Marker:
    """Writes the mark of one database file. The files stay open: opening them took longer than all the rest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = new_lock()
        self._log = self._mark = -1
        self._is_counted: bool | None = None

    def note(self, db: apsw.Connection) -> None:
        """After a commit: how far the database is. It must never fail what is committed already."""
        if not hasattr(os, "pwrite"):  # on Windows there is no mark: an open file would be in the way of SQLite
            return
        with contextlib.suppress(OSError, apsw.Error):
            self._open()
            if self._is_counted is None:
                self._is_counted = _is_counted(db)
            now = _state(db, self._log, self._is_counted)
            if now is not None:
                os.pwrite(self._mark, _record(now), 0)

    def close(self) -> None:
        handles, self._log, self._mark = (self._log, self._mark), -1, -1
        for handle in handles:
            if handle >= 0:
                os.close(handle)

    __del__ = close

    def _open(self) -> None:
        """While there is a connection, the log stays the same file."""
        if self._mark < 0:
            with self._lock:
                if self._log < 0:
                    self._log = _open_log(self._path)
                self._mark = os.open(_mark_of(self._path), WRITING, 0o600)


def notice(db: apsw.Connection, path: Path) -> None:
    """On a new connection, before it writes: compare the database with its mark; keep the log if it lost something."""
    mark = read(path)  # before the database is looked at, which others may be writing to
    if mark is None:
        return
    try:
        now = _state_of(db, path)
    except apsw.Error:
        return  # what is wrong with the file will be said by whoever reads it
    if now is None or not mark.has_lost(now) or _is_set_back(path, mark, now):
        return
    kept = _keep_log(path, mark, now)
    _warn(sentence(path.name, mark, now, kept))
    with contextlib.suppress(OSError):  # this loss has been noticed
        _mark_of(path).write_bytes(_record(now))


def _warn(said: str) -> None:
    import logging  # late: hardly any file has lost something, and hooks start many times a session

    logging.getLogger("memsweep.store").warning("%s", said)


def _is_set_back(path: Path, mark: Mark, now: Mark) -> bool:
    """Return whether the log is only to be begun anew: all of it is in the file, but it could not be cut."""
    return now.frames == 0 and now.rows >= mark.rows and committed_frames(Path(f"{path}-wal")) >= mark.frames


def read(path: Path) -> Mark | None:
    """The mark of a database file; None if there is none, or it is not whole."""
    try:
        data = _mark_of(path).read_bytes()
    except OSError:
        return None
    if len(data) != _RECORD.size + 4:
        return None
    magic, *values = _RECORD.unpack_from(data)
    mark = Mark(*values)
    return mark if magic == _MAGIC and data == _record(mark) else None


def change_number(db: apsw.Connection, path: Path) -> str:
    """Another one after every commit of whichever process; seldom another one although nothing has changed.

    The time of the file tells apart two states without a log, between which a log came and went.
    """
    said = f"{_state_of(db, path)} {path.name} {path.stat().st_mtime_ns}"
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


class Loss(NamedTuple):
    """A loss that was noticed: the note about it, what it says, and the log that was kept if there was one."""

    note: Path
    said: str
    log: Path | None


def losses(path: Path) -> list[Loss]:
    """Return the losses of a database file that no repair has acknowledged."""
    found = []
    for file in all_of(path, LOST_LOG, ".json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            log = file.with_suffix(".wal")
            found.append(Loss(file, str(json.loads(file.read_bytes())["said"]), log if log.exists() else None))
    return found


def acknowledge(path: Path) -> list[str]:
    """Say what was lost once more; then it counts as known. The logs stay until the next purge."""
    found = losses(path)
    for loss in found:
        loss.note.unlink(missing_ok=True)
    return [loss.said for loss in found]


def sentence(name: str, mark: Mark, now: Mark, log: Path | None) -> str:
    gone = f"{mark.frames - now.frames:,} pages of its log" if mark.salts == now.salts else "the end of its log"
    if mark.rows > now.rows:
        gone = f"{mark.rows - now.rows:,} rows"
    kept = f"; the damaged log is kept as {log} until the next purge" if log else ""
    return f"{name} has lost writes that were acknowledged ({gone}){kept}."


def _mark_of(path: Path) -> Path:
    return path.with_name(path.name + "-mark")


def _state_of(db: apsw.Connection, path: Path) -> Mark | None:
    try:
        log = _open_log(path)
    except OSError:
        log = -1
    try:
        return _state(db, log, _is_counted(db))
    finally:
        if log >= 0:
            os.close(log)


def _state(db: apsw.Connection, log: int, is_counted: bool) -> Mark | None:
    """Return how far the database is; None if its log was begun anew in between, or there can be none."""
    before = _salts(log)
    frames, _ = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    if before != _salts(log) or frames < 0:
        return None
    rows = _value(db, schema.ROWS_EVER) if is_counted else 0
    return Mark(before, frames if before != _NO_LOG else 0, rows)


def _is_counted(db: apsw.Connection) -> bool:
    return bool(_value(db, schema.HAS_COUNTERS))


def _value(db: apsw.Connection, statement: str) -> Any:
    found: Any = db.execute(statement).fetchone()
    return found[0]


def _open_log(path: Path) -> int:
    return os.open(f"{path}-wal", os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _salts(log: int) -> bytes:
    """Return the salts of the log: SQLite changes them whenever it begins at the front again."""
    found = os.pread(log, len(_NO_LOG), _SALTS_AT) if log >= 0 else b""
    return found if len(found) == len(_NO_LOG) else _NO_LOG


def _record(mark: Mark) -> bytes:
    """Written in one go, so that whoever reads sees the old one or the new one; the checksum tells if not."""
    data = _RECORD.pack(_MAGIC, *mark)
    return data + zlib.crc32(data).to_bytes(4, "little")


def _keep_log(path: Path, mark: Mark, now: Mark) -> Path | None:
    """Copy the damaged log before it is overwritten, and leave a note for the doctor. One for each loss."""
    which = f"{mark.salts.hex()}-{mark.frames:x}-{mark.rows:x}"
    log, file = (place(path, LOST_LOG, which, ending) for ending in (".wal", ".json"))
    try:
        handle = os.open(file, WRITING | os.O_EXCL, 0o600)
    except OSError:
        return log if log.exists() else None
    kept = None
    with os.fdopen(handle, "w") as out:
        with contextlib.suppress(OSError):
            if os.stat(f"{path}-wal").st_size:
                import shutil

                log.touch(0o600)
                shutil.copyfile(f"{path}-wal", log)
                kept = log
        json.dump({"said": sentence(path.name, mark, now, kept)}, out)
    return kept
