"""Files that were put aside because they are damaged, beside the file that took their place.

They may hold what is purged later, so a purge removes them, and so does the purge of their workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
