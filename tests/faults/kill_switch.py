"""The real `memsweep` in a process that ends itself: `-m tests.faults.kill_switch KIND N FOLDER REPORT ARGUMENTS…`.

It counts what happens to files in FOLDER and dies by SIGKILL at the N-th event of a kind; 0 lets it live. At a
peaceful end the counts are written to the file REPORT. The kinds:

before commit, after commit   a statement that ends a write transaction is about to run, or has run
before step                   a statement that may write is about to run, or Python is about to change a file
after step                    such a statement has run
"""

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.killing import READS, die, watch

KINDS = ("before commit", "after commit", "before step", "after step")
_ENDS = ("commit", "end", "release", "vacuum")


@dataclass(frozen=True, slots=True)
class Point:
    """When to die."""

    kind: str = ""
    number: int = 0


class KillSwitch:
    """Counts the events of this process, and ends it at one of them as hard as can be."""

    def __init__(self, point: Point, folder: Path) -> None:
        self._point, self._folder = point, os.fsencode(folder)
        self.counts: Counter[str] = Counter(dict.fromkeys(KINDS, 0))

    def install(self) -> None:
        watch(self._count, self._changed)

    def _count(self, side: str, statement: str, _: str) -> None:
        words = statement.lstrip().lower()
        if words.startswith(_ENDS):
            self._meet(f"{side} commit")
        elif not words.startswith(READS):
            self._meet(f"{side} step")

    def _changed(self, _: str, path: object) -> None:
        if self._is_ours(path):
            self._meet("before step")

    def _is_ours(self, path: object) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsencode(path).startswith(self._folder)

    def _meet(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == self._point.kind and self.counts[kind] == self._point.number:
            die()


def live(arguments: list[str], point: Point, folder: Path, report: Path) -> int:
    """Run the command line until it ends or dies; its exit status."""
    from memsweep.__main__ import main

    kill_switch = KillSwitch(point, folder)
    kill_switch.install()
    sys.argv = ["memsweep", *arguments]
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    report.write_text(json.dumps(kill_switch.counts))
    return status


if __name__ == "__main__":
    kind, number, folder, report, *arguments = sys.argv[1:]
    sys.exit(live(arguments, Point(kind, int(number)), Path(folder), Path(report)))
