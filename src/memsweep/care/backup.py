"""Copy a workspace to a file while others write to it, and make a workspace from such a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memsweep.model.care import Backup
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.drafts import draft_of
from memsweep.store.ports.care import Keeper


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
