"""The seal of a backup: what it says of itself, and a digest of everything in it. Anybody can make one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memsweep.model.care import Seal
from memsweep.model.times import from_micros
from memsweep.store.file.connect import as_it_is, guard
from memsweep.store.file.guarded import NotSound
from memsweep.store.file.shape import LARGEST_KEY

FORMAT = 1
_KINDS = {
    "format": int,
    "schema": int,
    "version": str,
    "workspace": str,
    "taken_at": int,
    "memories": int,
    "digest": str,
}
_DIGEST = re.compile("[0-9a-f]{64}")
_MOST_LETTERS = 200


@contextmanager
def private(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a draft that nobody else knows: no syncing, nothing left beside it."""
    with as_it_is(path) as db:
        guard(db)
        db.execute("pragma locking_mode=exclusive; pragma synchronous=off; pragma journal_mode=memory")
        db.execute("pragma cache_size=-64000")
        yield db


def checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a seal, if it is one; of a newer one only what it takes to refuse it by name."""
    if isinstance(number := values.get("format"), int) and number > FORMAT:
        return {"format": number, "schema": 0, "version": str(values.get("version"))}
    if values.keys() != _KINDS.keys() or any(type(values[name]) is not kind for name, kind in _KINDS.items()):
        raise NotSound("its seal is not one of memsweep")
    sizes = [len(values[name]) for name in ("version", "workspace")]
    if max(sizes) > _MOST_LETTERS or not _DIGEST.fullmatch(values["digest"]) or values["memories"] < 0:
        raise NotSound("its seal is not one of memsweep")
    if not 0 <= values["taken_at"] < LARGEST_KEY:
        raise NotSound("its seal has no date")
    return values


def seal_of(values: dict[str, Any]) -> Seal:
    return Seal(
        workspace_id=values["workspace"],
        taken_at=from_micros(values["taken_at"]),
        version=values["version"],
        memories=values["memories"],
        digest=values["digest"],
    )
