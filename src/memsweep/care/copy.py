"""Copy a workspace from one store to another. What an interrupted copy left is kept, and the next one goes on there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from memsweep.errors import Conflict
from memsweep.model.care import Backup, Restored, RestoreRequest
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.store.protocol import HomeKeeper, Keeper


def copy(
    origin: Keeper,
    there: HomeKeeper,
    request: RestoreRequest,
    progress: CopyProgress,
    version: str,
    clock: Callable[[], datetime],
) -> Restored:
    """By way of a sealed file in the folder of the progress: one moment of the source, which the target checks."""
    assert progress.folder is not None
    file = progress.folder / "copy"
    backup(origin, file, version=version, clock=clock, force=True, progress=progress)
    made = there.install(file, replace(request, now=clock()), progress)
    progress.end()
    return made


def free_kept(above: Path, before: datetime) -> None:
    """Remove what interrupted copies left that nobody has gone on with since a moment."""
    from filelock import FileLock

    for folder in above.glob("*/"):
        with contextlib.suppress(OSError):  # somebody is at it, or it has gone, or it waits for the next purge
            last = max(file.stat().st_mtime for file in (folder, *folder.iterdir()))
            if last <= before.timestamp():
                with FileLock(folder / "lock", mode=0o600, timeout=0):
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept_folder(above: Path, *named: str) -> Iterator[Path]:
    """A folder for one kind of copy, held by one process at a time; it stays if the copy is not completed."""
    from filelock import FileLock, Timeout

    folder = above / hashlib.blake2b("\0".join(named).encode(), digest_size=8).hexdigest()
    lock = FileLock(folder / "lock", mode=0o600)
    with plain_refusals(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Conflict(
                f"another process is making this copy of workspace {named[0]!r}.", hint="Let it finish."
            ) from None
    try:
        yield folder
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()


def backup(
    keeper: Keeper,
    path: str | os.PathLike[str],
    *,
    version: str,
    clock: Callable[[], datetime],
    force: bool = False,
    progress: CopyProgress | None = None,
) -> Backup:
    """Written whole or not at all; a file that is there is kept unless `force`."""
    target = Path(path).absolute()
    with draft_of(target, replace=force) as draft:
        seal = keeper.copy(draft, target, version, clock(), progress)
    return Backup(str(target), target.stat().st_size, seal)
