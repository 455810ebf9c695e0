"""One index run of a root at a time, on one machine, whatever process it is in; a crash lets go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.errors import Conflict
from memsweep.model.text import content_hash

if TYPE_CHECKING:
    from filelock import BaseFileLock

WAIT_SECONDS = 120.0
PATIENT_SECONDS = 3600.0


@contextmanager
def one_at_a_time(folder: Path, workspace_id: str, root: str, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Wait for a run of the same root in the same workspace to end; say so if it does not."""
    from filelock import Timeout

    lock = _lock(folder, workspace_id, root, "run")
    try:
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        raise Conflict(
            f"another index run of {root} has been under way for more than {wait_seconds:.0f} s; nothing was changed.",
            hint="Try again when it has ended.",
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def next_in_line(folder: Path, workspace_id: str, root: str) -> Iterator[bool]:
    """Whether this is the only one who waits. A second need not: the first will see all that it would see."""
    from filelock import Timeout

    waiting, run = (_lock(folder, workspace_id, root, what) for what in ("next", "run"))
    try:
        waiting.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        run.acquire(timeout=PATIENT_SECONDS)
        run.release()
    finally:
        waiting.release()
    yield True


def _lock(folder: Path, workspace_id: str, root: str, what: str) -> BaseFileLock:
    from filelock import FileLock

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = content_hash("\0".join((workspace_id, root))).hex()
    return FileLock(folder / f"{name}.{what}.lock", mode=0o600)
