"""Which indexed files are absent from the disk now: three answers, of which only one is garbage."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable


def missing_files(paths: Iterable[tuple[int, str, str]]) -> set[int]:
    """Keys of files that are certainly gone. A root that is missing, empty or unreadable says nothing about them."""
    by_root: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for key, root, path in paths:
        by_root[root].append((key, path))
    return {key for root, files in by_root.items() if _stands(root) for key, path in files if _is_gone(root, path)}


def _stands(root: str) -> bool:
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _is_gone(root: str, path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(os.path.join(root, path)).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
