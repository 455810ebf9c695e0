"""Keep a person's consent in the home: a project may use a workspace whose name it chose, or shares it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from memsweep.errors import BadSetting
from memsweep.regular import WRITING, read_regular

_NAME = "trusted.json"
_LONGEST = 1024**2


def is_trusted(home: Path, owner: str, workspace_id: str) -> bool:
    return workspace_id in trusted(home).get(owner, [])


def trusted(home: Path) -> dict[str, list[str]]:
    """Return what `read_trust` does; where that cannot be read, nobody agreed to anything."""
    try:
        return read_trust(home)
    except BadSetting:
        return {}


def read_trust(home: Path) -> dict[str, list[str]]:
    """The workspaces that each project may use beside its own."""
    path = home / _NAME
    try:
        found = json.loads(read_regular(path, _LONGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise BadSetting(f"{path} cannot be read.", hint="Correct it or move it away.") from None
    if not isinstance(found, dict) or not all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in found.values()
    ):
        raise BadSetting(f"{path} does not have the expected form.", hint="Move it away, and agree again.")
    return found


def change_trust(home: Path, owner: str, workspace_id: str, *, agreed: bool) -> bool:
    """Note that a person agreed, or no longer does; whether that is new."""
    from filelock import FileLock

    with FileLock(home / f"{_NAME}.lock", mode=0o600):
        known = read_trust(home)
        before = set(known.get(owner, []))
        after = before | {workspace_id} if agreed else before - {workspace_id}
        if after == before:
            return False
        known = {**known, owner: sorted(after)}
        _write(home / _NAME, {each: names for each, names in known.items() if names})
    return True


def _write(path: Path, known: dict[str, list[str]]) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(".draft")
    handle = os.open(draft, WRITING | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(known, out, ensure_ascii=True, indent=1)
        out.flush()
        os.fsync(out.fileno())
    os.replace(draft, path)
