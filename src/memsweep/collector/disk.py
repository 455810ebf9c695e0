"""Find the indexed files that are absent from the disk: three answers, of which only one is garbage."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memsweep.model.plan import PlanItem

FILE_IS_BACK = "its file is there again, or cannot be looked at"
FOLDER_IS_GONE = "the folder that was indexed is missing, empty or unreadable now"
_SECOND_LOOK_SECONDS = 2.0
"""Others wait to write meanwhile, and a network drive may be slow."""

Place = tuple[int, str, str]
"""The key of a memory, the root of its index and the path of its file."""


def missing_files(places: Iterable[Place]) -> set[int]:
    """Keys of files that are certainly gone. A root that is missing, empty or unreadable says nothing about them."""
    return {key for key, doubt in _look(places) if not doubt}


def unseen_roots(places: Iterable[Place]) -> dict[str, int]:
    """Roots that are missing, empty or unreadable, and how many files each of them has in the index."""
    counts = Counter(root for _, root, _ in places)
    return {root: count for root, count in sorted(counts.items()) if not _stands(root)}


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A look at all files before anybody has to wait; those of a plan are looked for once more."""

    places: Sequence[Place] = ()
    doubts: Mapping[int, str] = field(default_factory=dict)

    def kept(self, items: Sequence[PlanItem]) -> dict[int, str]:
        """Return the memories of a plan that may not go, since their files are not certainly gone, with the reason.

        Asked in the transaction of an apply. Where time does not allow a second look, the first decides.
        """
        planned = {item.key for item in items if item.kind == "memory" and item.reason == "missing_file"}
        deadline = time.monotonic() + _SECOND_LOOK_SECONDS
        again = _look(_until(deadline, [each for each in self.places if each[0] in planned]))
        return {key: doubt for key, doubt in {**self.doubts, **dict(again)}.items() if doubt and key in planned}


def first_look(places: Iterable[Place]) -> FirstLook:
    listed = list(places)
    return FirstLook(listed, dict(_look(listed)))


def _until(deadline: float, places: Iterable[Place]) -> Iterator[Place]:
    for place in places:
        if time.monotonic() >= deadline:
            return
        yield place


def _look(places: Iterable[Place]) -> Iterator[tuple[int, str]]:
    """For each file why it is not certainly gone, or nothing if it is."""
    standing: dict[str, bool] = {}
    for key, root, path in places:
        if root not in standing:
            standing[root] = _stands(root)
        yield key, (FILE_IS_BACK if not _is_gone(root, path) else "") if standing[root] else FOLDER_IS_GONE


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
