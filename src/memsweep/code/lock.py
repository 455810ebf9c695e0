"""One index run of a root at a time, on one machine, whatever process it is in; a crash lets go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.errors import Conflict, StoreReadOnly
from memsweep.model.text import content_hash

if TYPE_CHECKING:
    from filelock import BaseFileLock

WAIT_SECONDS = 120.0
PATIENT_SECONDS = 3600.0


@contextmanager
def one_at_a_time(folder: Path, workspace_id: str, root: str, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Wait for a run of the same root in the same workspace to end; say so if it does not."""
    lock = _lock(folder, workspace_id, root, "run")
    if not _acquired(lock, wait_seconds):
        raise _under_way(root, wait_seconds)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def next_in_line(folder: Path, workspace_id: str, root: str) -> Iterator[bool]:
    """Yield whether this is the only one who waits. A second need not: the first will see all that it would."""
    waiting, run = (_lock(folder, workspace_id, root, what) for what in ("next", "run"))
    if not _acquired(waiting, 0):
        yield False
        return
    try:
        if not _acquired(run, PATIENT_SECONDS):
            raise _under_way(root, PATIENT_SECONDS)
        run.release()
    finally:
        waiting.release()
    yield True


def _lock(folder: Path, workspace_id: str, root: str, what: str) -> BaseFileLock:
    from filelock import FileLock

    name = content_hash("\0".join((workspace_id, root))).hex()
    return FileLock(folder / f"{name}.{what}.lock", mode=0o600)


def _acquired(lock: BaseFileLock, wait_seconds: float) -> bool:
    from filelock import Timeout

    folder = Path(lock.lock_file).parent
    try:
        for part in (*reversed(folder.parents), folder):
            part.mkdir(mode=0o700, exist_ok=True)
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        return False
    except OSError as error:
        raise StoreReadOnly(
            f"{folder} cannot be written ({error.strerror}).", hint="Set MEMSWEEP_HOME to a folder that you can write."
        ) from None
    return True


def _under_way(root: str, seconds: float) -> Conflict:
    return Conflict(
        f"another index run of {root} has been under way for more than {seconds:.0f} s; nothing was changed.",
        hint="Try again when it has ended.",
    )
